"""`distance`: the exact supremum of |a - b|, against slow references, for functions and networks in any mixture."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from cpwl import CPWL, InputError, Network, compile, distance, equal, extract
from cpwl.equality.pieces import bounds_on_pairs, farthest_on_pairs
from cpwl.function.algebra.arithmetic import pieces_of


def table(rng, sizes, outputs=None):
    """A table of small rationals on a grid over [0, 1]^n."""
    axes = [[Fraction(i, k) for i in range(k + 1)] for k in sizes]
    shape = [k + 1 for k in sizes] + ([] if outputs is None else [outputs])
    return CPWL.from_grid(axes, rng.integers(-20, 21, shape).astype(object) * Fraction(1, 7))


def slow_in_the_plane(a, b):
    """The largest |a - b| at all crossings of lines of two grids over [0, 1]^2 with lines of either."""
    lines = {tuple(row) for p in (a, b) for row in p.polyhedra.integer().tolist()}
    points = set()
    for (a1, b1, c1), (a2, b2, c2) in combinations(lines, 2):
        if det := a1 * b2 - a2 * b1:
            x, y = Fraction(c1 * b2 - c2 * b1, det), Fraction(a1 * c2 - a2 * c1, det)
            if 0 <= x <= 1 and 0 <= y <= 1:
                points.add((x, y))
    x = np.array(sorted(points), dtype=object)
    return np.abs(a(x) - b(x)).max()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(4))
def test_two_tables_in_the_plane(seed):
    """All crossings of all lines are a slow reference; the point attains what is said, for networks, too."""
    rng = np.random.default_rng(seed)
    a, b = table(rng, (3, 2), 2), table(rng, (2, 2 + seed), 2)
    found = distance(a, b)
    assert found.largest == slow_in_the_plane(a, b)
    assert np.abs(a(found.point[None]) - b(found.point[None])).max() == found.largest
    net = compile(b).network
    for one, two in ((a, net), (net, a)):
        mixed = distance(one, two)
        assert mixed.largest == found.largest == equal(one, two).gap
        assert np.abs(a(mixed.point[None]) - net(mixed.point[None])).max() == mixed.largest
    assert distance(compile(a).network, net, box=([0, 0], [1, 1])).largest == found.largest
    assert distance(b, net).largest == 0


def test_functions_in_space_agree_with_the_algebra():
    """`CPWL.distance` goes another way: absolute values and maxima of functions."""
    rng = np.random.default_rng(1)
    a, b = table(rng, (2, 1, 1)), table(rng, (1, 1, 2))
    assert distance(a, b).largest == a.distance(b).largest


def test_without_bound_and_on_a_part():
    """On all of R^n the difference may grow; on a domain it does not, and where one is not defined it is refused."""
    net = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    line = CPWL.from_breakpoints([0], [0], left_slope=0, right_slope=1)
    assert distance(net, line).largest == math.inf
    assert distance(net, line, box=(-3, 1)).largest == 3
    assert distance(extract(net), net).largest == 0
    with pytest.raises(InputError, match="not defined at"):
        distance(CPWL.from_grid([[0, 1]], [0, 1]), net, box=(0, 2))
    with pytest.raises(InputError, match="only one of the two"):
        distance(CPWL.from_grid([[0, 1]], [0, 1]), CPWL.from_grid([[0, 2]], [0, 1]))


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_pairs_are_bounds(seed):
    """On each intersection the laws differ by at most the bound, exactly."""
    rng = np.random.default_rng(seed)
    a, b = table(rng, (5, 4), 2), table(rng, (4, 6), 2)
    (mine, first), (yours, second) = pieces_of(a), pieces_of(b)
    pairs = np.array([(i, j) for i in range(len(first)) for j in range(len(second))])
    laws, others = a.laws.integer()[mine], b.laws.integer()[yours]
    most = bounds_on_pairs(first, laws, second, others, pairs)
    assert np.isfinite(most).all()
    for pair, bound in zip(pairs, most, strict=True):
        found = farthest_on_pairs(first, laws, second, others, pair[None], None)
        assert found is None or found.size <= bound


def test_a_pair_without_bound_has_no_bound():
    """A body with a ray is cut, however near the laws are at its corners."""
    ramp = CPWL.from_breakpoints([0], [0], left_slope=0, right_slope=1)
    (mine, first), (yours, second) = pieces_of(ramp), pieces_of(2 * ramp)
    laws, others = ramp.laws.integer()[mine], (2 * ramp).laws.integer()[yours]
    assert (bounds_on_pairs(first, laws, second, others, np.array([[1, 1]])) == math.inf).all()
    assert distance(ramp, 2 * ramp).largest == math.inf
