"""Proofs for float data: a consistent function near it, a proof for that, and how near it is."""

import copy
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from cpwl import CPWL, ConstructionError, Network, ProofError, certify, compile
from cpwl.documents.write import function_document, network_document
from cpwl.exact.rational import fraction_array
from cpwl.function.make.shallow import random_shallow
from cpwl.network.network import exact_layers
from support.catalogue import function, names
from support.functions import five_pieces, three_piece_cut
from support.proofs import checker, rounded
from support.rational_pieces import piece_data, points_in_pieces, with_noise

FLOAT = [name for name in names("float") if name in names("bounded")]


@cache
def made(name):
    """A float function, the network of gates near it, and its certificate; None where there is none."""
    p = function(name)
    try:
        network = compile(p, construction="gates").network
    except ConstructionError:
        return None
    return p, network, certify(p, network)


def with_proof(name):
    """The same, if it was proved by a function nearby."""
    found = made(name)
    if found is None or not found[2].proved or found[2].document["kind"] != "near":
        pytest.skip("no consistent function near it, or it needs none")
    return found


@pytest.mark.parametrize("name", FLOAT)
def test_the_bound_holds_on_every_piece(name):
    """At rational points of the pieces as they were given the network is within the bound of the law."""
    p, network, certificate = with_proof(name)
    pieces = piece_data(p)
    for j, x in points_in_pieces(p, 4, 0):
        value = network(fraction_array(np.array([x], dtype=object)))[0]
        laws = [sum((g * v for g, v in zip(law, [*x, 1], strict=True)), Fraction(0)) for law in pieces[j].laws]
        assert max(abs(u - v) for u, v in zip(value, laws, strict=True)) <= certificate.error_bound


@pytest.mark.parametrize("name", FLOAT)
def test_the_checker_agrees_and_refuses_a_smaller_bound(name):
    """The stand-alone checker shows the same bound, and nothing below it."""
    p, network, certificate = with_proof(name)
    documents = function_document(p), network_document(network), certificate.document
    assert checker.check(*documents) == certificate.error_bound
    less = certificate.document | {"error_bound": str(certificate.error_bound * Fraction(999, 1000))}
    with pytest.raises(checker.Refused):
        checker.check(*documents[:2], less)


def mpc():
    return with_proof("control_law")


def test_a_real_control_law_is_within_a_billionth():
    """The explicit MPC law: fewer neurons than regions, and a bound that says something."""
    p, network, certificate = mpc()
    assert network.sizes.neurons < p.num_pieces
    assert certificate.error_bound < Fraction(1, 10**9)


def test_rounded_weights_are_proved_too():
    """The float64 weights of the same network: the bound takes both in."""
    p, network, certificate = mpc()
    other = rounded(network, np.float64)
    proof = certify(p, other, rounded_from=network)
    assert proof.document["proof"]["kind"] == "rounded"
    assert certificate.error_bound < proof.error_bound < Fraction(1, 10**9)
    assert checker.check(function_document(p), network_document(other), proof.document) == proof.error_bound


def test_no_corrupted_proof_passes():
    """A wrong piece, a point outside, a missing tree, a moved law of the function inside: all refused."""
    p, network, certificate = mpc()
    head = function_document(p), network_document(network)

    def refused(change):
        document = copy.deepcopy(certificate.document)
        change(document)
        with pytest.raises(checker.Refused):
            checker.check(*head, document)

    refused(lambda d: d["pieces"].pop())
    refused(lambda d: d["pieces"].reverse())
    refused(lambda d: d["pieces"][0].update(point=[1000] * p.dim))
    refused(lambda d: d["pieces"].__setitem__(0, None))
    refused(lambda d: d["function"]["pieces"][0].update(offset=["1/7"]))
    refused(lambda d: d.update(proof=d))
    refused(lambda d: d["function"]["pieces"][0].update(b=[v + 1 for v in d["function"]["pieces"][0]["b"]]))


def test_a_network_that_is_off_is_not_proved():
    """A bias moved by 1e-3: a witness, never a proof."""
    p, network, _ = mpc()
    layers = [(w.toarray(), b.copy()) for w, b in exact_layers(network)]
    layers[-1][1][0] += Fraction(1, 1000)
    with pytest.raises(ProofError):
        certify(p, Network(layers))


UNBOUNDED = {
    "hinges": lambda: with_noise(random_shallow(2, 4, 3), 1e-13, 0),
    "hinges in space": lambda: with_noise(random_shallow(3, 3, 0), 1e-13, 1),
    "five pieces": lambda: with_noise(five_pieces(), 1e-12, 2),
}


@cache
def unbounded(name):
    p = UNBOUNDED[name]()
    network = compile(p, construction="gates").network
    return p, network, certify(p, network)


@pytest.mark.parametrize("name", sorted(UNBOUNDED))
def test_unbounded_data_is_proved_within_a_bound_that_grows(name):
    """At rational points of the pieces, far out too, the network is within a + b max|x_i| of the law; b is small."""
    p, network, certificate = unbounded(name)
    level, slope = certificate.error_bound
    assert certificate.document["kind"] == "near"
    assert level < Fraction(1, 10**9)
    assert slope < Fraction(1, 10**9)
    pieces = piece_data(p)
    for j, x in points_in_pieces(p, 6, 0):
        value = network(fraction_array(np.array([x], dtype=object)))[0]
        laws = [sum((g * v for g, v in zip(law, [*x, 1], strict=True)), Fraction(0)) for law in pieces[j].laws]
        assert max(abs(u - v) for u, v in zip(value, laws, strict=True)) <= level + slope * max(map(abs, x))


@pytest.mark.parametrize("name", sorted(UNBOUNDED))
def test_the_checker_refuses_unbounded_proofs_that_say_less(name):
    """A smaller a, a smaller b, none at all, a slope left out or turned, a region in another piece: all refused."""
    p, network, certificate = unbounded(name)
    head = function_document(p), network_document(network)
    assert checker.check(*head, certificate.document) == certificate.error_bound
    a, b = certificate.error_bound

    def leaves(tree):
        if tree is None:
            return []
        return [tree] if "piece" in tree else leaves(tree["below"]) + leaves(tree["above"])

    def refused(change):
        document = copy.deepcopy(certificate.document)
        change(document)
        with pytest.raises(checker.Refused):
            checker.check(*head, document)

    def at_slopes(document, change):
        for tree in document["pieces"]:
            for leaf in leaves(tree):
                if "slope" in leaf:
                    change(leaf)

    count = len(certificate.document["function"]["pieces"])
    refused(lambda d: d.update(error_bound=[str(a * Fraction(999, 1000)), str(b)]))
    refused(lambda d: d.update(error_bound=[str(a), str(b * Fraction(999, 1000))]))
    refused(lambda d: d.update(error_bound=str(a)))
    refused(lambda d: at_slopes(d, lambda leaf: leaf.pop("slope")))
    refused(lambda d: at_slopes(d, lambda leaf: leaf.update(slope=[str(-Fraction(v)) for v in leaf["slope"]])))
    refused(lambda d: at_slopes(d, lambda leaf: leaf.update(piece=(leaf["piece"] + 1) % count)))


def test_exactly_consistent_floats_on_the_whole_plane_are_proved_equal():
    """Integers in float arrays are what they say: the bound is 0, on all of R^2."""
    p = three_piece_cut()
    floats = CPWL.from_pieces(
        [body.integer()[:, :-1].astype(float) for body in p.polyhedra],
        [body.integer()[:, -1].astype(float) for body in p.polyhedra],
        p.laws.gradient,
        p.laws.offset,
    )
    assert floats.tol > 0
    network = compile(floats, construction="gates").network
    assert certify(floats, network).error_bound == 0
