"""Proofs for rounded hinges and gates: the exact network inside, and how far the rounded one is off."""

import copy
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from cpwl import CPWL, Network, certify, compile
from cpwl.documents.write import function_document, network_document
from cpwl.exact.rational import fraction_array
from cpwl.io import from_onnx, to_onnx
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from cpwl_check.pieces import read_function, read_network
from cpwl_check.rounded import apart
from shallow import random_shallow
from support.functions import delaunay, five_pieces
from support.proofs import without_regions

GRID = CPWL.from_grid([range(4), range(4)], np.random.default_rng(0).random((4, 4)))
BOXES = CPWL.from_grid([range(3)] * 3, np.random.default_rng(1).random((3, 3, 3)))
CASES = {"triangles": delaunay(2, 12, 0), "grid": GRID, "boxes": BOXES, "line": random_shallow(3, 3, 0)}


@pytest.fixture(autouse=True)
def other_kinds():
    """These tests are about other kinds of proofs than "regions", which would come first."""
    with without_regions():
        yield


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


@pytest.mark.one_in(2)
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


@pytest.mark.one_in(2)
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
    heavy["layers"][0]["entries"][0][2] = str(Fraction(heavy["layers"][0]["entries"][0][2]) * Fraction(101, 100))
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
    """`certify=True` gives the smallest network that has a proof, with the proof."""
    made_of = compile(five_pieces(), certify=True)
    assert made_of.certificate is not None
    assert made_of.certificate.proved
    assert made_of.certificate.error_bound == 0


def engine_map(rows, columns):
    """A table of engine speed and load, as decimals."""
    speed, load = np.linspace(800, 6000, rows).round(1), np.linspace(0, 100, columns).round(1)
    x, y = np.meshgrid(speed, load, indexing="ij")
    return CPWL.from_grid([speed, load], (200 * np.sin(x / 2000) * np.cos(y / 40) + x / 100).round(2))


def farthest_seen(one, other, points):
    """The largest difference of two networks at rational points, exactly."""
    return max(abs(v - w) for a, b in zip(one(points), other(points), strict=True) for v, w in zip(a, b, strict=True))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("construction", ["columns", "gates", "clamped"])
def test_the_bound_is_near_what_is_seen(construction):
    """A map in float32: the proved bound is at most 5 times the largest difference at its corners and inner points."""
    p = engine_map(9, 7)
    exact = compile(p, construction=construction).network
    near = rounded(exact, np.float32)
    proof = certify(p, near, rounded_from=exact, max_error=1e-2)
    inner = p.mesh.points[p.mesh.simplices].mean(axis=1)
    seen = farthest_seen(exact, near, fraction_array(np.concatenate([p.mesh.points, inner])))
    assert seen <= proof.error_bound <= 5 * seen


def test_a_bound_below_what_is_seen_is_refused():
    """A statement of what is seen, less 1e-30, is false, and the checker refuses it."""
    p, near, proof = made("grid")
    exact = compile(p).network
    seen = farthest_seen(exact, near, fraction_array(p.mesh.points))
    document = proof.document | {"error_bound": str(seen - Fraction(1, 10**30))}
    with pytest.raises(Refused, match="error_bound"):
        check(function_document(p), network_document(near), document)


def random_pair(rng, n, size):
    """Two networks with the same layers, whose weights differ by about `size`, some of them not at all."""
    widths = [n, *rng.integers(1, 6, rng.integers(0, 4)).tolist(), 2]
    exact, near = [], []
    for before, after in pairwise(widths):
        table = fraction_array(rng.integers(-9, 10, (after, before + 1))) / int(rng.integers(1, 8))
        moved = fraction_array(rng.integers(-3, 4, table.shape)) * Fraction(size)
        exact.append((table[:, :-1], table[:, -1]))
        near.append(((table + moved)[:, :-1], (table + moved)[:, -1]))
    return Network(exact), Network(near)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", ["1e-30", "1e-7", "1/3"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_enclosures_hold_what_networks_do(n, size):
    """Random networks, on pieces of a table and on pieces with rows: no point of a piece has a larger difference."""
    rng = np.random.default_rng(n)
    grid = CPWL.from_grid([np.arange(-2, 3)[: 5 - n]] * n, np.zeros((5 - n,) * n))
    for p in (grid, replace(grid, mesh=None)):
        law = read_function(function_document(p))
        for _ in range(12):
            exact, near = random_pair(rng, n, size)
            layers = [read_network(network_document(network), n, 2) for network in (near, exact)]
            bound = apart(law, *layers, [Fraction(2)] * n)
            weights = fraction_array(rng.integers(0, 5, (40, n + 1))) + Fraction(1, 9)
            corners = fraction_array(grid.mesh.points[grid.mesh.simplices])[rng.integers(0, grid.num_pieces, 40)]
            points = (weights[:, :, None] * corners).sum(axis=1) / weights.sum(axis=1)[:, None]
            seen = farthest_seen(exact, near, np.concatenate([points, fraction_array(grid.mesh.points)]))
            assert seen <= bound
            assert apart(law, *layers, [Fraction(2)] * n, bound) <= bound
            if seen:
                with pytest.raises(Refused):
                    apart(law, *layers, [Fraction(2)] * n, seen - Fraction(1, 10**40))


@pytest.mark.parametrize("construction", ["gates", "columns", "clamped", "strips", "lattice"])
def test_the_exact_network_of_a_file_is_found(construction, tmp_path):
    """Weights from a float32 file are proved without `rounded_from`: a construction makes the exact network again."""
    to_onnx(compile(GRID, construction=construction).network, tmp_path / "net.onnx", dtype="float32")
    assert certify(GRID, from_onnx(tmp_path / "net.onnx")).proved


def test_other_rounded_networks_are_told_what_to_pass():
    """A network of floats that no construction makes: the reason names `rounded_from`."""
    exact = compile(GRID, construction="gates").network
    near = rounded(exact, np.float32)
    weight, bias = near.layers[0]
    moved = Network([(weight, bias * (1 + 2.0**-20)), *near.layers[1:]])
    assert "rounded_from=" in certify(GRID, moved).reason
    assert certify(GRID, moved, rounded_from=exact).proved
