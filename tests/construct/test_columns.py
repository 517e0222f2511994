"""Columns: networks that equal tables on Kuhn grids, point by point in rationals; their sizes and errors."""

from fractions import Fraction
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from cpwl import CPWL, ConstructionError, compile
from cpwl.construct.columns.plan import best_axis, column_layers, contenders
from cpwl.exact.rational import fraction_array
from cpwl.function.parts import kuhn_grid

STEPS = [(1,), (4,), (1, 1), (3, 2), (2, 5), (1, 3, 2), (3, 3, 3), (2, 1, 2, 2), (1, 2, 1, 1, 2)]


def columns(p):
    return compile(p, construction="columns").network


def some_points(axes, rng, count=60):
    """Rational points of the box of the axes, those of the grid and of its edges among them."""
    low, high = [Fraction(min(a)) for a in axes], [Fraction(max(a)) for a in axes]
    steps = rng.integers(0, 61, (count, len(axes)))
    points = [[a + (b - a) * Fraction(int(s), 60) for a, b, s in zip(low, high, row, strict=True)] for row in steps]
    return points + [list(map(Fraction, rng.choice(np.array(axes[0]), 1)))[:1] + points[0][1:] for _ in range(3)]


def interpolated(axes, values, x):
    """The Kuhn interpolant by sorting: start at the low corner of the box, and go up along the largest parts first."""
    place, part = [], []
    for axis, v in zip(axes, x, strict=True):
        k = max(i for i in range(len(axis) - 1) if axis[i] <= v)
        place.append(k)
        part.append(Fraction(v - axis[k]) / (axis[k + 1] - axis[k]))
    value = Fraction(int(values[tuple(place)]))
    for i in sorted(range(len(x)), key=lambda i: -part[i]):
        before = values[tuple(place)]
        place[i] += 1
        value += part[i] * int(values[tuple(place)] - before)
    return value


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "steps", [(1,), (4,), (1, 1), (3, 2), (2, 5), (1, 3, 2), (3, 3, 3), (2, 1, 2, 2), (1, 2, 1, 1, 2)]
)
@pytest.mark.parametrize("even", [True, False])
def test_equal_to_interpolation_by_sorting(steps, even):
    """At rational points the network is the interpolant, computed here by sorting coordinates."""
    rng = np.random.default_rng(sum(steps) + even)
    axes = [list(range(m + 1)) if even else np.cumsum(rng.integers(1, 5, m + 1)).tolist() for m in steps]
    values = rng.integers(-9, 10, [m + 1 for m in steps])
    points = some_points(axes, rng)
    found = columns(CPWL.from_grid(axes, values))(fraction_array(points))
    assert found[:, 0].tolist() == [interpolated(axes, values, x) for x in points]


@settings(max_examples=25)
@given(st.integers(2, 9), st.integers(0, 2**30))
def test_tournament_is_the_difference_of_extremes(n, seed):
    """The neurons of a column give ``s(min A - max B)`` for any increasing S and any place, in any dimension."""
    rng = np.random.default_rng(seed)
    height = [Fraction(int(v)) for v in rng.integers(0, 9, 6)]
    foot, steps = rng.integers(0, 4, n - 1).tolist(), [3] * (n - 1)

    def integral(y):
        k = int(np.floor(y))
        full = sum((height[min(max(i, 0), 5)] for i in range(min(k, 0), max(k, 0))), Fraction(0))
        return (full if k >= 0 else -full) + height[min(max(k, 0), 5)] * (y - k)

    near = [Fraction(v) + Fraction(int(rng.integers(-12, 13)), 10) for v in foot]
    t = [Fraction(0), *(min(max(x, Fraction(0)), Fraction(3)) - v for x, v in zip(near, foot, strict=True))]
    y = Fraction(int(rng.integers(0, 50)), 10)
    forms = {("A", c): integral(y + 1 - v) for c, v in enumerate(t)} | {
        ("B", c): integral(y - v) for c, v in enumerate(t)
    }
    a, b = ([forms[kind, c] for c in range(n)] for kind in "AB")
    below = forms
    for layer in column_layers(*contenders(foot, steps)):
        read = [sum((f * below[k, i] for k, i, f in row.terms), Fraction(row.clamp) * max(height)) for row in layer]
        below = {("", i): max(v, Fraction(0)) for i, v in enumerate(read)}
    assert list(below.values()) == [max(Fraction(0), min(a) - max(b))]


def test_several_outputs_share_hinges():
    """Two outputs cost less than twice one, and each is its own table."""
    values = np.random.default_rng(0).integers(-5, 6, (4, 4, 4, 2))
    both = columns(CPWL.from_grid([range(4)] * 3, values))
    one, two = (columns(CPWL.from_grid([range(4)] * 3, values[..., k])) for k in (0, 1))
    assert both.sizes.neurons < one.sizes.neurons + two.sizes.neurons
    x = fraction_array([["1/3", "5/2", "7/5"], [0, "3/7", 3]])
    assert both(x).tolist() == np.concatenate([one(x), two(x)], axis=1).tolist()


@pytest.mark.parametrize("mirrored", [(0,), (1,), (0, 2), (0, 1, 2)])
def test_diagonals_of_any_sense(mirrored):
    """A table whose axes are turned round is a grid as well; turning all of them changes nothing."""
    p = CPWL.from_grid([[0, 1, 3], [0, 2, 3], [0, 1]], np.random.default_rng(1).integers(-5, 6, (3, 3, 2)))
    points = p.mesh.points.copy()
    points[:, mirrored] *= -1
    q = CPWL.from_simplices(points, p.mesh.simplices, p.mesh.values)
    x = fraction_array([["1/3", "5/2", "2/5"], [0, "3/7", 1], [3, 3, 1]])
    turned = x.copy()
    turned[:, mirrored] *= -1
    assert columns(q)(turned).tolist() == p(x).tolist()


def test_columns_at_the_base_cost_nothing():
    """A table that is 0 but for one point needs the column of that point only."""
    values = np.zeros((5, 5, 5), dtype=int)
    values[2, 2, 2] = 1
    assert columns(CPWL.from_grid([range(5)] * 3, values)).sizes.neurons == 4 + 12 + 12 + 9


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("n", "m", "reach"), [(2, 8, 60), (3, 4, 251), (3, 8, 775), (4, 3, 733)])
def test_sizes_and_errors(n, m, reach):
    """Fewer neurons than asked for; in float32 the error is a few units of rounding, in float64 it is 1e-13 or less."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal([m + 1] * n)
    p = CPWL.from_grid([range(m + 1)] * n, values)
    network = columns(p)
    assert network.sizes.neurons <= reach
    x = rng.uniform(0, m, (4000, n)).astype(np.float32)
    h, true = x, p(x.astype(float))
    for k, (weight, bias) in enumerate(network.layers):
        z = h @ weight.toarray().T.astype(np.float32) + bias.astype(np.float32)
        h = z if k == len(network.layers) - 1 else np.maximum(z, 0)
    spread = np.ptp(values)
    assert np.abs(h - true).max() <= 1e-5 * spread
    assert np.abs(network(x.astype(float)) - true).max() <= 1e-13 * spread


def test_sum_along_the_longest_axis():
    """Columns are as many as points of the other axes, so the longest axis is summed along."""
    assert [best_axis(steps) for steps in ((9, 2, 2), (2, 9, 2), (3, 3))] == [0, 1, 1]


@pytest.mark.parametrize("change", ["a point less", "another diagonal", "half-spaces"])
def test_what_is_no_kuhn_grid_is_refused(change):
    """With a reason; "auto" takes something else."""
    p = CPWL.from_grid([range(3)] * 2, [[0, 1, 0], [2, 0, 1], [0, 0, 3]])
    points, simplices, values = p.mesh.points, p.mesh.simplices.tolist(), p.mesh.values
    if change == "a point less":
        keep = [s for s in simplices if 8 not in s]
        p = CPWL.from_simplices(points, keep, values)
    elif change == "another diagonal":
        place = {tuple(x): i for i, x in enumerate(points.tolist())}
        a, b, c, d = (place[1 + i, 1 + j] for i, j in product((0, 1), repeat=2))
        rest = [s for s in simplices if not set(s) <= {a, b, c, d}]
        p = CPWL.from_simplices(points, [*rest, [a, b, c], [b, c, d]], values)
    else:
        p = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[0, 0], [1, 0]], [0, 0])
    with pytest.raises(ConstructionError, match="grid"):
        compile(p, construction="columns", check=False)


def test_grid_of_a_table_is_found_again():
    """Axes and values, whatever the order of points and simplices."""
    rng = np.random.default_rng(2)
    axes, values = [[0, 1, 4], [-2, 5]], rng.integers(-9, 10, (3, 2))
    p = CPWL.from_grid(axes, values)
    order = rng.permutation(6)
    q = CPWL.from_simplices(p.mesh.points[order], np.argsort(order)[p.mesh.simplices][::-1], p.mesh.values[order])
    grid = kuhn_grid(q.mesh)
    assert [axis.tolist() for axis in grid.axes] == axes
    assert grid.values[..., 0].tolist() == values.tolist()
