"""Proven error bounds are bounds, and useful: compared with the largest error that sampling finds.

The error of a network as it is used has two parts: rounded weights (`error_bound`) and rounded evaluation
(`evaluation_bound`). Here both together are compared with what evaluation in float64 and float32 really does at points
of the pieces; the true values are the laws in extended precision, which is 2,000 times finer than float64.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from cpwl import Certificate, Network, certify
from support.catalogue import compiled, function, names
from support.proofs import rounded
from support.rational_pieces import PieceData, piece_data, polygon_corners

FORMATS = {"float64": np.float64, "float32": np.float32}
BOTH = [(name, kind) for name in names("bounded") for kind in FORMATS]
extended = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs extended precision")


def long(x: Fraction) -> np.longdouble:
    """A rational in extended precision."""
    high = float(x)
    return np.longdouble(high) + np.longdouble(float(x - Fraction(high)))


def long_array(rows) -> np.ndarray:
    return np.array([[long(v) for v in row] for row in rows], dtype=np.longdouble)


def corners(p, piece: PieceData, j: int) -> np.ndarray:
    """The corners of a bounded piece: of a simplex, an interval or a polygon."""
    if p.mesh is not None:
        return p.mesh.points[p.mesh.simplices[j]]
    if p.dim == 1:
        return np.array([[float(row[1] / row[0])] for row in piece.rows])
    return np.array([[float(v) for v in x] for x in polygon_corners(piece.rows)])


def evaluate(network: Network, x: np.ndarray, dtype) -> np.ndarray:
    """The network as it runs in that format: every weight, product and sum."""
    h = x.astype(dtype).T
    for i, (weight, bias) in enumerate(network.layers):
        h = np.maximum(h, dtype(0)) if i else h
        h = weight.toarray().astype(dtype) @ h + bias.astype(dtype)[:, None]
    return h.T


@cache
def certificate(name: str, kind: str) -> tuple[Network, Certificate]:
    made = compiled(name, "lattice")
    assert made is not None
    network = rounded(made.network, FORMATS[kind])
    return network, certify(function(name), network, rounded_from=made.network)


@cache
def largest_error(name: str, kind: str, samples: int) -> float:
    """The largest error found at random points of the pieces and at their corners, as far as the format has them."""
    p, dtype = function(name), FORMATS[kind]
    network, _ = certificate(name, kind)
    rng = np.random.default_rng(0)
    worst = 0.0
    for j, piece in enumerate(piece_data(p)):
        ends = corners(p, piece, j)
        count = max(2, samples // p.num_pieces)
        # Some weights near 0 and 1: errors are largest towards corners and edges.
        share = rng.dirichlet(np.full(len(ends), 0.5), count)
        x = np.concatenate([ends, share @ ends]).astype(dtype)
        at = x.astype(np.longdouble)
        rows = long_array(piece.rows)
        x = x[(at @ rows[:, :-1].T <= rows[:, -1]).all(axis=1)]
        laws = long_array(piece.laws)
        true = x.astype(np.longdouble) @ laws[:, :-1].T + laws[:, -1]
        for block in np.array_split(np.arange(len(x)), len(x) // 20_000 + 1):
            error = np.abs(evaluate(network, x[block], dtype) - true[block])
            worst = max(worst, float(error.max(initial=0.0)))
    return worst


def total_bound(name: str, kind: str) -> float:
    """What is proved about the rounded network as it is evaluated."""
    _, proof = certificate(name, kind)
    assert isinstance(proof.error_bound, Fraction)
    assert proof.evaluation_bound is not None
    return float(proof.error_bound) + proof.evaluation_bound[kind]


@pytest.mark.one_in(8)
@extended
@pytest.mark.parametrize(("name", "kind"), BOTH)
def test_no_error_exceeds_its_bound(name, kind):
    """At 10^4 points and at all corners the error is within the bound."""
    assert largest_error(name, kind, 10**4) <= total_bound(name, kind)


@pytest.mark.one_in(8)
@extended
@pytest.mark.parametrize(("name", "kind"), BOTH)
def test_bounds_are_useful(name, kind):
    """The bound is at most 100 times the largest error at 10^4 points; more points can only find larger errors."""
    assert total_bound(name, kind) <= 100 * largest_error(name, kind, 10**4)


@extended
@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), BOTH)
def test_bounds_hold_at_a_million_points(name, kind):
    """The largest of 10^6 errors is at most the bound, and at least a hundredth of it."""
    error = largest_error(name, kind, 10**6)
    assert error <= total_bound(name, kind) <= 100 * error


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", names("bounded", without="float"))
def test_an_exact_network_evaluates_within_its_bound(name):
    """For exact weights the evaluation bound includes their rounding: in float64 the network keeps to it."""
    made = compiled(name, "lattice")
    assert made is not None
    proof = certify(function(name), made.network)
    assert proof.error_bound == 0
    assert proof.evaluation_bound is not None
    assert largest_error(name, "float64", 10**3) <= proof.evaluation_bound["float64"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", names("bounded"))
def test_float32_is_coarser_than_float64(name):
    """Both bounds are larger in the coarser format, by at most the ratio of the two, 2^29, and a little."""
    made = compiled(name, "lattice")
    assert made is not None
    fine, coarse = (certificate(name, kind)[1].evaluation_bound for kind in FORMATS)
    assert fine is not None
    assert coarse is not None
    assert fine["float64"] <= coarse["float32"] <= 2.0**29 * 1.01 * fine["float64"]


def evaluate_in_order(network: Network, x: np.ndarray, dtype, rng) -> np.ndarray:
    """The network with the terms of every sum, the bias among them, added one by one in a random order."""
    h = x.astype(dtype).T
    for i, (weight, bias) in enumerate(network.layers):
        h = np.maximum(h, dtype(0)) if i else h
        table = np.column_stack([weight.toarray(), bias]).astype(dtype)
        inputs = np.concatenate([h, np.ones((1, h.shape[1]), dtype)])
        h = np.zeros((len(table), h.shape[1]), dtype)
        for column in rng.permutation(table.shape[1]):
            h = h + table[:, column, None] * inputs[column]
    return h.T


@extended
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", ["kuhn_rationals", "star_fan", "delaunay_space", "three_outputs", "far_away"])
def test_bounds_hold_in_any_order_of_summation(name, kind):
    """Sums of terms in random orders keep to the bound, at random points of the table."""
    p, dtype = function(name), FORMATS[kind]
    network, _ = certificate(name, kind)
    rng = np.random.default_rng(1)
    for j, piece in enumerate(piece_data(p)):
        x = (rng.dirichlet(np.ones(p.dim + 1), 40) @ corners(p, piece, j)).astype(dtype)
        rows, laws = long_array(piece.rows), long_array(piece.laws)
        x = x[(x.astype(np.longdouble) @ rows[:, :-1].T <= rows[:, -1]).all(axis=1)]
        true = x.astype(np.longdouble) @ laws[:, :-1].T + laws[:, -1]
        error = np.abs(evaluate_in_order(network, x, dtype, rng) - true)
        assert error.max(initial=0.0) <= total_bound(name, kind)
