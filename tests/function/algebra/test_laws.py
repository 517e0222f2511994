"""The laws of arithmetic for functions, decided pointwise in rationals, and that results are functions at all."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import cpwl
from cpwl.exact.rational import fraction_array
from cpwl.function.doctor.first_error import first_error
from support.strategies import functions

dims = pytest.mark.parametrize("n", [1, 2, 3])
few = settings(max_examples=4)


def places(n, seed, *fs):
    """Rational points all over, and among the corners of the pieces."""
    rng = np.random.default_rng(seed)
    rough = fraction_array(rng.integers(-9, 10, (12, n))) / 2
    fine = fraction_array(rng.integers(-40, 41, (12, n))) / 7
    corners = [fraction_array(f.mesh.points[:6]) for f in fs if f.mesh is not None]
    return np.concatenate([rough, fine, *corners])


def values(f, x):
    """Values as a list, None where the function is not defined."""
    return [None if row[0] is None else list(row) for row in f(x)]


def pointwise(operation, x, *fs):
    """What an operation on numbers gives at points where all functions are defined."""
    table = zip(*(values(f, x) for f in fs), strict=True)
    return [None if None in row else [operation(*v) for v in zip(*row, strict=True)] for row in table]


def or_none(operation):
    """What an operation gives, None if it is refused."""
    try:
        return operation()
    except cpwl.InputError:
        return None


def common(p, q):
    """The sum, or None for domains without a common inner point."""
    try:
        return p + q
    except cpwl.InputError as error:
        if "no inner point in common" in str(error):
            return None
        raise


@pytest.mark.one_in(2)
@dims
@few
@given(data=st.data())
def test_sums_differences_and_multiples_are_pointwise(n, data):
    """Each operation agrees with its pointwise meaning, and makes a function without errors."""
    p, q = data.draw(functions(n)), data.draw(functions(n))
    x, total = places(n, 0, p, q), common(p, q)
    assume(total is not None)
    assert values(total, x) == pointwise(lambda a, b: a + b, x, p, q)
    assert values(p - q, x) == pointwise(lambda a, b: a - b, x, p, q)
    assert values("2/3" * p - 1, x) == pointwise(lambda a: Fraction(2, 3) * a - 1, x, p)
    assert values(2 - p, x) == values(-(p - 2), x)
    assert first_error(total) is None


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@few
@given(data=st.data())
def test_maxima_and_minima_are_pointwise(n, data):
    """``max``, ``min``, ``abs``, ``relu`` and ``clip``; and ``max + min`` is the sum, as functions."""
    p, q = data.draw(functions(n)), data.draw(functions(n))
    x, total = places(n, 1, p, q), common(p, q)
    assume(total is not None)
    highest, lowest = cpwl.maximum(p, q), cpwl.minimum(p, q)
    assert values(highest, x) == pointwise(max, x, p, q)
    assert values(lowest, x) == pointwise(min, x, p, q)
    assert values(abs(p), x) == pointwise(abs, x, p)
    assert values(p.relu(), x) == pointwise(lambda a: max(a, 0), x, p)
    assert values(p.clip(-1, "1/2"), x) == pointwise(lambda a: min(max(a, -1), Fraction(1, 2)), x, p)
    for f in (highest, lowest, abs(p)):
        assert first_error(f) is None
    assert cpwl.equal(highest + lowest, total)


@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.slow)])
@few
@given(data=st.data())
def test_associative_and_distributive(n, data):
    """``(p + q) + r = p + (q + r)``, ``max(p, q) + r = max(p + r, q + r)``, ``c max(p, q) = max(c p, c q)``."""
    p, q, r = (data.draw(functions(n, bounded=False)) for _ in range(3))
    total = common(p, q)
    assume(total is not None and common(total, r) is not None)
    assert cpwl.equal((p + q) + r, p + (q + r))
    assert cpwl.equal(cpwl.maximum(cpwl.maximum(p, q), r), cpwl.maximum(p, cpwl.maximum(q, r)))
    assert cpwl.equal(cpwl.maximum(p, q) + r, cpwl.maximum(p + r, q + r))
    assert cpwl.equal(3 * cpwl.maximum(p, q), cpwl.maximum(3 * p, 3 * q))


@pytest.mark.one_in(2)
@dims
@few
@given(data=st.data())
def test_several_outputs(n, data):
    """Outputs are taken and stacked; maxima go output by output; matrices act on values."""
    p, q = data.draw(functions(n, m=2)), data.draw(functions(n, m=2))
    x = places(n, 2, p, q)
    assert values(cpwl.stack([p[1], p[0]]), x) == [v and v[::-1] for v in values(p, x)]
    assert values([[1, 2], [0, -1], [3, 0]] @ p, x) == [v and [v[0] + 2 * v[1], -v[1], 3 * v[0]] for v in values(p, x)]
    if common(p, q) is not None:
        assert values(cpwl.maximum(p, q), x) == pointwise(max, x, p, q)
        assert values(cpwl.stack([p, q]), x) == [
            None if None in (a, b) else a + b for a, b in zip(values(p, x), values(q, x), strict=True)
        ]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (2, 3)])
@few
@given(data=st.data())
def test_composition_is_pointwise(n, k, data):
    """``p(q(x))`` wherever q is inside the domain of p; where it leaves it, the witness is outside."""
    q, p = data.draw(functions(n, m=k)), data.draw(functions(k))
    x = places(n, 3, q)
    expected = [None if v is None else values(p, fraction_array([v]))[0] for v in values(q, x)]
    made, point = composed(p, q)
    if point is None:
        assert first_error(made) is None
        assert values(made, x) == expected
    else:
        value = q(point[None])[0]
        assert value[0] is not None
        assert p(value[None])[0][0] is None
        # Where the image is in the border of the domain on a set without interior, nothing is claimed.
        found = [None] * len(x) if made is None else values(made, x)
        assert all(a is None or a == b for a, b in zip(found, expected, strict=True))


def composed(p, q):
    """The composition; or what is left of it and a point that leaves the domain of `p`."""
    try:
        return p.compose(q), None
    except cpwl.InputError as error:
        point = error.details["point"]
    try:
        return p.compose(q, outside="drop"), point
    except cpwl.InputError as error:
        if "never inside" in str(error):
            return None, point
        raise


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (2, 1), (1, 2), (3, 2), (2, 3)])
@few
@given(data=st.data())
def test_after_an_affine_map(n, k, data):
    """``p @ (A, b)`` is ``x -> p(A x + b)``, onto or not."""
    p = data.draw(functions(k, bounded=False))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    A, b = rng.integers(-2, 3, (k, n)), rng.integers(-2, 3, k)
    x = places(n, 4)
    made = or_none(lambda: p @ (A, b))
    assume(made is not None)
    expected = values(p, x @ fraction_array(A).T + fraction_array(b))
    found = values(made, x)
    assert all(a == b or (a is None and np.linalg.matrix_rank(A) < k) for a, b in zip(found, expected, strict=True))


@dims
@few
@given(data=st.data())
def test_restricted_and_extended(n, data):
    """A restriction is the function on the domain and nothing elsewhere; extending it back gives the same there."""
    p = data.draw(functions(n))
    x = places(n, 5, p)
    rows, right = [[1] * n, [-1] * n], [2, "7/2"]
    part = or_none(lambda: p.restrict(domain=(rows, right)))
    assume(part is not None)
    inside = [-Fraction(7, 2) <= sum(point) <= 2 for point in x]
    assert values(part, x) == [v if ok else None for v, ok in zip(values(p, x), inside, strict=True)]
    whole = or_none(part.extend)
    assume(whole is not None)
    assert all(v is None or v == w for v, w in zip(values(part, x), values(whole, x), strict=True))
    assert first_error(whole) is None


def test_a_corner_that_is_cut_out_of_the_outer_domain_is_noticed():
    """An outer function on an L: the diagonal runs through the corner that is missing, beyond no row of the border."""
    square = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    outer = cpwl.CPWL.from_pieces([square] * 3, [[1, 0, 1, 0], [2, -1, 1, 0], [1, 0, 2, -1]], [[0, 1]] * 3, [0] * 3)
    diagonal = cpwl.CPWL.from_pieces([[[1], [-1]]], [[2, 0]], [[[1], [1]]], [[0, 0]])
    with pytest.raises(cpwl.InputError, match="not continuous on a convex domain"):
        outer.compose(diagonal)
    kept = outer.compose(diagonal, outside="drop")
    assert kept([[Fraction(1, 2)]])[0, 0] == Fraction(1, 2)
    assert np.isnan(kept([[1.5]])[0, 0])


def test_a_maximum_is_defined_where_both_are():
    """A large piece that wins everywhere is cut by the corner that is missing from the other one's domain."""
    square = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    low = cpwl.CPWL.from_pieces([square] * 3, [[1, 0, 1, 0], [2, -1, 1, 0], [1, 0, 2, -1]], [[0, 1]] * 3, [0] * 3)
    high = cpwl.CPWL.from_pieces([square], [[2, 0, 2, 0]], [[0, 0]], [9])
    for made in (cpwl.maximum(low, high), cpwl.maximum(high, low)):
        assert made([[0.5, 1.5]])[0, 0] == made([[1.5, 0.5]])[0, 0] == 9
        assert np.isnan(made([[1.5, 1.5]])[0, 0])
