"""Proofs of kind "columns": accepted by the stand-alone checker, and refused when anything in them is wrong."""

import copy
from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, Network, certify, compile
from cpwl.documents.write import function_document, network_document
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from support.proofs import rounded

GRIDS = {
    "line": ([range(5)], None),
    "plane": ([range(4), range(3)], None),
    "uneven plane": ([[0, 1, 3], [0, 2, 3, 4]], None),
    "space": ([range(3), range(4), range(3)], None),
    "uneven space, two outputs": ([[0, 1, 3], [0, 2, 3], [0, 1]], 2),
    "four inputs": ([range(3), range(2), range(3), range(2)], None),
}


def grid(name):
    axes, outputs = GRIDS[name]
    shape = [len(axis) for axis in axes] + ([outputs] if outputs else [])
    return CPWL.from_grid([list(axis) for axis in axes], np.random.default_rng(7).integers(-9, 10, shape))


def triple(name):
    """The function, the network and the proof as documents."""
    p = grid(name)
    network = compile(p, construction="columns").network
    proof = certify(p, network)
    assert proof.proved, proof.reason
    return function_document(p), network_document(network), proof.document


def refused(function, network, proof, match=None):
    with pytest.raises(Refused, match=match):
        check(function, network, proof)


@pytest.mark.parametrize("name", GRIDS)
def test_equality_is_proved(name):
    """By this kind, and the checker says 0."""
    function, network, proof = triple(name)
    assert proof["kind"] == "columns"
    assert check(function, network, proof) == 0


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("size", ["1/10", "-1/1000000000000000000000000000000"])
def test_no_weight_may_be_off(name, size):
    """Every layer, some twenty weights and biases each: off by very little, and nothing is proved."""
    function, network, proof = triple(name)
    rng = np.random.default_rng(1)
    for layer in network["layers"]:
        for _ in range(20):
            changed = copy.deepcopy(layer)
            if changed["entries"] and rng.random() < 0.7:
                entry = changed["entries"][int(rng.integers(len(changed["entries"])))]
                entry[2] = str(Fraction(entry[2]) + Fraction(size))
            else:
                k = int(rng.integers(len(changed["bias"])))
                changed["bias"][k] = str(Fraction(changed["bias"][k]) + Fraction(size))
            layers = [changed if other is layer else other for other in network["layers"]]
            refused(function, network | {"layers": layers}, proof)


@pytest.mark.parametrize("name", ["plane", "uneven space, two outputs"])
def test_no_value_may_be_off(name):
    """A table with another value at one point is not the network's."""
    function, network, proof = triple(name)
    for k in range(len(function["values"])):
        values = copy.deepcopy(function["values"])
        values[k][-1] = str(Fraction(values[k][-1]) + Fraction(1, 10**30))
        refused(function | {"values": values}, network, proof)


def test_hypothesis_1_places_follow_each_other():
    function, network, proof = triple("plane")
    axes = copy.deepcopy(proof["axes"])
    axes[0][1], axes[0][2] = axes[0][2], axes[0][1]
    refused(function, network, proof | {"axes": axes}, "do not follow each other")


def test_hypothesis_2_corners_are_points_of_the_grid():
    function, network, proof = triple("plane")
    axes = copy.deepcopy(proof["axes"])
    axes[1][1] = "3/2"
    refused(function, network, proof | {"axes": axes}, "not a point of the grid")


def test_hypothesis_2_corners_have_one_value():
    """A point written twice with two values."""
    function, network, proof = triple("plane")
    points, values = [*function["points"], function["points"][0]], [*function["values"], [99]]
    simplices = [
        [len(points) - 1 if v == 0 else v for v in s] if i == 0 else s for i, s in enumerate(function["simplices"])
    ]
    assert simplices != function["simplices"]
    refused(function | {"points": points, "values": values, "simplices": simplices}, network, proof, "another value")


def test_hypothesis_3_pieces_follow_the_diagonals():
    """A box cut along the other diagonal."""
    function, network, proof = triple("plane")
    place = {tuple(x): i for i, x in enumerate(function["points"])}
    a, b, c, d = (place[x] for x in ((0, 0), (1, 0), (0, 1), (1, 1)))
    rest = [s for s in function["simplices"] if not set(s) <= {a, b, c, d}]
    refused(function | {"simplices": [*rest, [a, b, c], [b, c, d]]}, network, proof, "one axis after the other")


def test_hypothesis_3_pieces_are_simplices():
    function, network, proof = triple("line")
    piece = {"A": [[1], [-1]], "b": [1, 0], "gradient": [[0]], "offset": [0]}
    pieces = {k: v for k, v in function.items() if k not in ("points", "simplices", "values")} | {"pieces": [piece]}
    refused(pieces, network, proof, "not a simplex")


def test_hypothesis_4_every_point_has_a_value():
    function, network, proof = triple("plane")
    corner = function["points"].index([0, 0])
    rest = [s for s in function["simplices"] if corner not in s]
    refused(function | {"simplices": rest}, network, proof, "no value at point")


def test_hypothesis_4_no_value_is_below_the_base():
    function, network, proof = triple("plane")
    refused(function, network, proof | {"bases": [100]}, "above a value")


def test_hypothesis_5_hinges_are_where_they_should_be():
    function, network, proof = triple("space")
    layers = copy.deepcopy(network["layers"])
    layers[0]["bias"][0] = str(Fraction(layers[0]["bias"][0]) + 1)
    refused(function, network | {"layers": layers}, proof, "hinge 0")


def test_hypothesis_5_nothing_bends_between_places():
    function, network, proof = triple("uneven plane")
    layers = copy.deepcopy(network["layers"])
    layers[0]["bias"][1] = str(Fraction(layers[0]["bias"][1]) + Fraction(1, 7))
    refused(function, network | {"layers": layers}, proof, "bends between places")


def test_hypothesis_7_columns_end_as_they_should():
    function, network, proof = triple("plane")
    layers = copy.deepcopy(network["layers"])
    layers[2]["entries"][0][2] = 2
    refused(function, network | {"layers": layers}, proof, "layer 1 of the columns")


def test_hypothesis_8_the_output_adds_up_the_columns():
    function, network, proof = triple("plane")
    layers = copy.deepcopy(network["layers"])
    layers[-1]["entries"] = layers[-1]["entries"][1:]
    refused(function, network | {"layers": layers}, proof, "output")


def test_rounded_weights_have_a_bound():
    """Through the exact network."""
    p = CPWL.from_grid([[0, 1, 3], [0, 2, 5], [0, 1]], np.random.default_rng(0).standard_normal((3, 3, 2)))
    network = compile(p, construction="columns").network
    proof = certify(p, rounded(network, np.float32), rounded_from=network)
    assert proof.proved
    assert 0 < proof.error_bound < Fraction(1, 1000)


def test_another_network_is_not_proved_by_this_kind():
    """A constant one for a table that is not."""
    function, _, proof = triple("line")
    refused(function, network_document(Network([([[0]], [1])])), proof, "too few layers")
