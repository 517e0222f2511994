"""Proofs for rounded hinges and gates: the exact network inside, and how far the rounded one is off."""

import copy
from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, Network, certify, compile
from cpwl.documents.write import function_document, network_document
from cpwl.exact.rational import fraction_array
from cpwl.function.shallow import random_shallow
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from support.functions import delaunay, five_pieces

GRID = CPWL.from_grid([range(4), range(4)], np.random.default_rng(0).random((4, 4)))
BOXES = CPWL.from_grid([range(3)] * 3, np.random.default_rng(1).random((3, 3, 3)))
CASES = {"triangles": delaunay(2, 12, 0), "grid": GRID, "boxes": BOXES, "line": random_shallow(3, 3, 0)}


def rounded(network, dtype=np.float64):
    return Network(
        [
            (weight.toarray().astype(dtype).astype(float), bias.astype(dtype).astype(float))
            for weight, bias in network.layers
        ]
    )


def made(name, dtype=np.float32):
    """A function, its rounded network, and the certificate."""
    p = CASES[name]
    exact = compile(p).network
    near = rounded(exact, dtype)
    return p, near, certify(p, near, rounded_from=exact)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_the_bound_holds_and_the_checker_agrees(name, dtype):
    """At random rational points the rounded network is within the proven bound, which the checker proves again."""
    p, near, proof = made(name, dtype)
    assert proof.proved
    assert (proof.document["kind"] == "rounded") == (proof.error_bound != 0)
    bound = check(function_document(p), network_document(near), proof.document)
    assert bound == proof.error_bound
    x = fraction_array(np.random.default_rng(1).integers(0, 999, (60, p.dim))) / 999
    ours = p(x)
    a, b = bound if isinstance(bound, tuple) else (bound, 0)
    seen = [(abs(v - w), max(map(abs, y))) for (v,), (w,), y in zip(near(x), ours, x, strict=True) if w is not None]
    assert len(seen) > 20
    assert all(gap <= a + b * size for gap, size in seen)


def test_a_domain_without_bound_has_a_bound_that_grows():
    """On R^n the statement is a + b max |x_i|."""
    assert isinstance(made("line")[2].error_bound, tuple)
    assert isinstance(made("triangles")[2].error_bound, Fraction)


@pytest.mark.parametrize("name", CASES)
def test_wrong_statements_are_refused(name):
    """A smaller bound, another weight, a wrong exact network, another function, no box: all refused."""
    p, near, proof = made(name)
    function, network = function_document(p), network_document(near)
    smaller = copy.deepcopy(proof.document)
    bound = smaller["error_bound"]
    half = [str(Fraction(v) / 2) for v in (bound if isinstance(bound, list) else [bound])]
    smaller["error_bound"] = half if isinstance(bound, list) else half[0]
    heavy = copy.deepcopy(network)
    heavy["layers"][0]["entries"][0][2] = str(Fraction(heavy["layers"][0]["entries"][0][2]) * (1 + Fraction(1, 10**9)))
    inner = copy.deepcopy(proof.document)
    value = inner["network"]["layers"][-1]["bias"][0]
    inner["network"]["layers"][-1]["bias"][0] = str(Fraction(value) + Fraction(1, 10**30))
    for f, n, d in ((function, network, smaller), (function, heavy, proof.document), (function, network, inner)):
        with pytest.raises(Refused):
            check(f, n, d)
    other = function_document(five_pieces() if p.dim == 2 else delaunay(p.dim, 7, 9))
    with pytest.raises(Refused):
        check(other, network, proof.document)


def test_a_box_that_is_too_small_is_refused():
    """The box must hold every piece."""
    p, near, proof = made("grid")
    document = copy.deepcopy(proof.document)
    document["box"]["high"][0] = 2
    with pytest.raises(Refused, match="box"):
        check(function_document(p), network_document(near), document)


def test_auto_with_a_certificate_is_proved():
    """`certificate=True` gives the smallest network that has a proof, with the proof."""
    made_of = compile(five_pieces(), certificate=True)
    assert made_of.certificate is not None
    assert made_of.certificate.proved
    assert made_of.certificate.error_bound == 0
