"""Corners, rays, ranks and essential coordinates of many pieces at once, against slower exact ways."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from cpwl import CPWL
from cpwl.exact.integers import adjugate, common_denominator, primitive, sign
from cpwl.function.lineality import essential_coordinates, on_coordinates
from cpwl.function.order import order_at_generators
from cpwl.geometry.generators import Generators, generators
from cpwl.geometry.polyhedra import Polyhedra
from shallow import from_hidden_layer, random_shallow
from support.functions import abs_sum, five_pieces

small = st.integers(-3, 3)


@st.composite
def stacks(draw):
    """Polyhedra in one to four dimensions with few rows, some shared, some empty, flat or with lines in them."""
    n = draw(st.integers(1, 4))
    rows = draw(st.lists(st.tuples(*[small] * (n + 1)).filter(lambda r: any(r[:-1])), min_size=1, max_size=7))
    pieces = draw(
        st.lists(st.lists(st.tuples(st.sampled_from(rows), st.sampled_from((1, -1))), max_size=7), min_size=1)
    )
    A = [np.array([[s * v for v in r[:-1]] for r, s in piece], dtype=int).reshape(-1, n) for piece in pieces]
    b = [np.array([s * r[-1] for r, s in piece], dtype=int) for piece in pieces]
    return Polyhedra.from_lists(A, b, dim=n)


@given(stacks())
def test_generators_are_those_of_one_polyhedron_at_a_time(stack):
    """Whatever is decided for a stack is what trying all subsets of rows gives for each polyhedron alone."""
    found = generators(stack)
    for i, body in enumerate(stack):
        slow = _corners(body.integer())
        own = found.places[found.member[found.start[i] : found.start[i + 1]]]
        if found.known[i]:
            assert slow is not None
            assert {tuple(place) for place in own} == {tuple(place) for place in slow}
            assert len(own) == len({tuple(place) for place in own})
        else:
            assert slow is None


def order_at(laws, places):
    """``[g, c, m]``: whether ``f_m >= f_c``, and whether ``f_m <= f_c``, each place taken for a piece with each law."""
    k, size = len(laws), len(places)
    spanned = Generators(places, np.repeat(np.arange(size), k), np.arange(size * k + 1))
    above, below, known = order_at_generators(laws, np.tile(np.arange(k), size), spanned)
    assert known.all()
    return above.reshape(size, k, k), below.reshape(size, k, k)


@given(st.data())
def test_components_are_in_the_order_of_rational_values(data):
    """Components are compared as their rational values are, also where floats see no difference."""
    n, k = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 6))
    close = st.builds(lambda a, b: a * 10**40 + b, small, small)
    law = st.tuples(*[st.one_of(small, close)] * (n + 1), st.integers(1, 3))
    laws = np.array(data.draw(st.lists(law, min_size=k, max_size=k)), dtype=object)
    place = st.tuples(*[small] * n, st.integers(0, 2))
    places = np.array(data.draw(st.lists(place, min_size=1, max_size=4)), dtype=object)
    above, below = order_at(laws, places)
    for at, over, under in zip(places, above, below, strict=True):
        values = [Fraction((law[:-1] * at).sum(), law[-1]) for law in laws]
        assert over.tolist() == [[f >= own for f in values] for own in values]
        assert under.tolist() == [[f <= own for f in values] for own in values]


def test_differences_of_1e_minus_30_are_seen():
    """Two laws that differ by 1e-30 at a corner, where all floats agree, are told apart."""
    wide = 10**30
    laws = np.array([[wide, 0, wide], [wide, 1, wide]], dtype=object)
    above, _ = order_at(laws, np.array([[7, 1]], dtype=object))
    assert above[0].tolist() == [[True, True], [False, True]]


def test_values_near_the_end_of_the_floats_are_compared():
    """Values that overflow a float are compared in integers."""
    big = int(1.5e308)
    laws = np.array([[big, big, 1], [big, big + 1, 1], [-big, -big, 1]], dtype=object)
    above, _ = order_at(laws, np.array([[1, 1]], dtype=object))
    assert above[0].tolist() == [[True, True, False], [False, True, False], [True, True, True]]


@pytest.mark.parametrize("p", [five_pieces(), abs_sum(3), random_shallow(3, 5, 0), random_shallow(1, 9, 2)])
def test_blocks_change_nothing(p, monkeypatch):
    """The order of components does not depend on how many pieces are compared at a time."""
    laws, spanned = p.components(0).integer()[:, 0], generators(p.polyhedra)
    whole = order_at_generators(laws, p.component[:, 0], spanned)
    monkeypatch.setattr("cpwl.function.order._BLOCK", 1)
    monkeypatch.setattr("cpwl.geometry.generators._BLOCK", 1)
    parts = order_at_generators(laws, p.component[:, 0], generators(p.polyhedra))
    for one, two in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, two)


def rank_of(rows):
    return fmpz_mat([[int(v) for v in row] for row in rows]).rank() if len(rows) else 0


@given(st.integers(4, 7), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_essential_coordinates_keep_the_rank(n, width, seed):
    """As many coordinates as rows and slopes have rank, and none of that rank is lost on them."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(-2, 3, (width, n))
    weight[:, 0] += 5
    p = from_hidden_layer(weight, rng.integers(-2, 3, width), rng.integers(1, 4, width))
    chosen = essential_coordinates(p)
    laws = p.laws.integer()[:, 0]
    slopes = laws[:, :-2] * laws[0, -1] - laws[0, :-2] * laws[:, -1:]
    rows = np.concatenate([p.polyhedra.integer()[:, :-1], slopes])
    assert len(chosen) == max(1, rank_of(rows))
    assert rank_of(rows[:, chosen]) == rank_of(rows)
    assert on_coordinates(p, chosen).num_components == p.num_components


def test_slopes_outside_the_span_of_the_rows_count():
    """Laws that differ in a direction of no row (a function that is not continuous) keep that direction."""
    p = CPWL.from_pieces([[[1, 0, 0, 0]], [[-1, 0, 0, 0]]], [[0], [0]], [[0, 0, 0, 0], [0, 0, 1, 0]], [0, 0])
    assert essential_coordinates(p).tolist() == [0, 2]


def test_large_denominators_are_not_made_common():
    """One denominator for all rows is refused where it would be far larger than any of theirs."""
    primes = [10**9 + 7, 10**9 + 9, 998244353, 10**9 + 21, 10**9 + 33, 10**9 + 87, 10**9 + 93, 10**9 + 97]
    assert common_denominator(np.array([[1, d] for d in primes], dtype=object)) is None
    whole, below = common_denominator(np.array([[1, 4], [1, 6]], dtype=object))
    assert (whole.ravel().tolist(), below) == ([3, 2], 12)


def test_a_stack_of_empty_polyhedra():
    """A stack of which no polyhedron has a corner, as floats see at once, is not decided, and that is all."""
    empty = Polyhedra.from_lists([[[1, 0], [0, 1], [-1, -1], [1, 1], [-1, 0], [0, -1]]], [[0, 0, -9, -5, -2, -2]])
    assert not generators(empty).known.any()
    strips = Polyhedra.from_lists([[[1, 0], [-1, 0]]], [[1, 1]])
    assert not generators(strips).known.any()


def _corners(rows):
    """The slow reference: corners and rays by all subsets of rows; None if there are many, or if there is none."""
    n = rows.shape[1] - 1
    if len(rows) < n or math.comb(len(rows), n) + math.comb(len(rows), n - 1) > 400:
        return None
    points = _points(rows, n)
    if len(points) == 0:
        return None  # empty, or it contains a line
    return np.concatenate([points, _rays(rows, n)])


def _points(rows, n):
    subsets = np.array(list(itertools.combinations(range(len(rows)), n)), dtype=np.int64)
    chosen = rows[subsets]
    det, adj = adjugate(chosen[..., :-1])
    regular = det != 0
    det, adj, right = det[regular], adj[regular], chosen[regular][..., -1]
    x = (adj * right[:, None, :]).sum(axis=2) * sign(det)[:, None]
    places = np.column_stack([x, np.abs(det)])
    inside = (places[:, None, :-1] * rows[None, :, :-1]).sum(axis=2) <= places[:, -1:] * rows[None, :, -1]
    return _distinct(places[inside.all(axis=1)])


def _rays(rows, n):
    """Directions held by ``n - 1`` rows: the kernel of each such subset, if it is a line, in both senses."""
    subsets = list(itertools.combinations(range(len(rows)), n - 1))
    if n == 1:
        kernel = np.array([[1]], dtype=object)
    else:
        chosen = rows[np.array(subsets, dtype=np.int64)][..., :-1]
        minors = [_minor(chosen, j) * (-1) ** j for j in range(n)]
        kernel = np.stack(minors, axis=1)
    directions = np.concatenate([kernel, -kernel])
    directions = directions[(directions != 0).any(axis=1)]
    falling = (directions[:, None] * rows[None, :, :-1]).sum(axis=2) <= 0
    rays = directions[falling.all(axis=1)]
    return _distinct(np.column_stack([rays, np.zeros(len(rays), dtype=np.int64)]).astype(object))


def _minor(matrices, column):
    rest = np.delete(matrices, column, axis=2)
    return adjugate(rest)[0]


def _distinct(places):
    keys = dict.fromkeys(tuple(row) for row in primitive(places))
    return np.array(list(keys), dtype=object).reshape(len(keys), places.shape[1])
