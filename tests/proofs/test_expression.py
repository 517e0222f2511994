"""Expressions of maxima and minima: found by separation, put into layers, lowered to plain networks, read back."""

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from cpwl import CPWL
from cpwl.construct.blocks.schedule import Affine, AtomTable, Extremum, Sum, lower_values, rounded_down
from cpwl.construct.lattice.separate import arrange, contenders, depth
from cpwl.construct.lattice.sides import Held, find_sides, parts_of
from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import Span
from cpwl.function.domain import box_around
from cpwl.function.order import PieceOrder, order_components
from cpwl.geometry.probe import Probe
from support.functions import delaunay

numbers = st.fractions(-3, 3, max_denominator=4)


def affine(n):
    return st.lists(numbers, min_size=n + 1, max_size=n + 1).map(lambda law: Affine(tuple(law)))


def values_in(n):
    """Random expressions, with sums among them."""
    return st.recursive(
        affine(n),
        lambda inner: st.one_of(
            st.builds(Extremum, st.sampled_from(["max", "min"]), inner, inner),
            st.lists(st.tuples(numbers, inner), min_size=1, max_size=3).map(lambda terms: Sum(tuple(terms))),
        ),
        max_leaves=8,
    )


def evaluate(value, x):
    """The value at a point, as it is written."""
    if isinstance(value, Affine):
        return value.law[-1] + sum(g * v for g, v in zip(value.law, x, strict=False))
    if isinstance(value, Extremum):
        return (max if value.kind == "max" else min)(evaluate(value.one, x), evaluate(value.two, x))
    return sum((c * evaluate(term, x) for c, term in value.terms), Fraction(0))


# --- lowering -----------------------------------------------------------------------------------------------------


@given(st.integers(1, 3), st.booleans(), st.data())
@settings(max_examples=50)
def test_a_lowered_network_computes_its_values(n, bounded, data):
    """Random expressions, several outputs: the network has their values at rational points of the box, or of R^n."""
    values = data.draw(st.lists(values_in(n), min_size=1, max_size=3))
    box = [(Fraction(-1), Fraction(1, 3))] * n if bounded else None
    network = lower_values(values, n, box).network()
    rng = np.random.default_rng(0)
    low, high = (-12, 5) if bounded else (-90, 91)
    points = fraction_array(rng.integers(low, high, (12, n))) / 12
    expected = [[evaluate(value, x) for value in values] for x in points]
    assert network(points).tolist() == expected


@given(st.integers(1, 3), st.data())
@settings(max_examples=25)
def test_bounds_of_values_hold(n, data):
    """The bounds that a carrier relies on contain the value at all corners of the box and at points inside."""
    value = data.draw(values_in(n))
    table = AtomTable(n, [(Fraction(-1), Fraction(2))] * n)
    low, high = table.bounds(table.value(value))
    for x in itertools.product([Fraction(-1), Fraction(1, 7), Fraction(2)], repeat=n):
        assert low <= evaluate(value, x) <= high


def plane(*law):
    return Affine(tuple(map(Fraction, law)))


X, Y, ONE = plane(1, 0, 0), plane(0, 1, 0), plane(0, 0, 1)
UNIT = [(Fraction(0), Fraction(1))] * 2


def neurons(*values, box=UNIT):
    return lower_values(values, 2, box).network().sizes.neurons


def test_maximum_and_minimum_share_a_neuron():
    """Both of one pair: one atom and two carriers on a box; proportional and opposite differences are the same atom."""
    assert neurons(Extremum("max", X, Y), Extremum("min", X, Y)) == 3
    triple = Extremum("min", plane(3, 0, 0), plane(0, 3, 0))
    double = Sum(((Fraction(2), Extremum("max", Y, X)), (Fraction(-1), triple)))
    assert neurons(Extremum("max", X, Y), double) == 3


def test_what_is_affine_needs_no_hidden_layer():
    """A sum whose maxima cancel is affine."""
    both = Sum(((Fraction(1), Extremum("max", X, Y)), (Fraction(1), Extremum("min", X, Y))))
    assert lower_values([both], 2, None).network().sizes.depth == 1


def chain(laws, kind="max"):
    value = laws[0]
    for law in laws[1:]:
        value = Extremum(kind, law, value)
    return value


@pytest.mark.parametrize("count", [3, 6, 9])
def test_a_chain_takes_one_neuron_a_step_and_the_carriers(count):
    """On a box in the plane: a neuron for each step; two carry the inputs, one is enough at the end."""
    laws = [plane(k, k * k, k % 3) for k in range(1, count + 1)]
    assert neurons(chain(laws)) == (count - 1) + 2 * (count - 2) + 1


def test_only_the_sum_of_finished_terms_is_carried():
    """Ten hinges and one value that needs three more layers: their sum passes each of them in one neuron."""
    hinges = [Extremum("max", plane(k, 1, -k), plane(0, 0, 0)) for k in range(1, 11)]
    deep = chain([plane(k, k * k, k % 3) for k in range(5)])
    together = Sum(((Fraction(1), deep), *((Fraction(1), hinge) for hinge in hinges)))
    assert neurons(together) <= neurons(deep) + 10 + 3


@given(st.fractions())
def test_rounding_down(x):
    """Not larger, and at most one part in 128 smaller."""
    assert x - abs(x) / 128 <= rounded_down(x) <= x


four = st.lists(st.integers(-2, 2), min_size=4, max_size=4)


@given(st.lists(four, max_size=6), four)
def test_span(vectors, other):
    """Its rank is that of the matrix; a vector is expressed iff it adds nothing to the rank, and then exactly."""
    span = Span()
    chosen = [v for v in vectors if span.insert({k: Fraction(x) for k, x in enumerate(v) if x})]

    def rank(rows):
        return fmpq_mat(len(rows), 4, [fmpq(x) for row in rows for x in row]).rank() if rows else 0

    assert span.rank == len(chosen) == rank(vectors)
    found = span.express({k: Fraction(x) for k, x in enumerate(other) if x})
    assert (found is not None) == (rank([*vectors, other]) == span.rank)
    if found is not None:
        assert [sum(c * chosen[i][k] for i, c in found.items()) for k in range(4)] == other


# --- separation ---------------------------------------------------------------------------------------------------


def is_true(formula, members):
    if formula.kind is None:
        return formula.component in members
    return (any if formula.kind == "max" else all)(is_true(part, members) for part in formula.parts)


@st.composite
def tables(draw):
    """Two tables of sets, every two of them with something in common."""
    k = draw(st.integers(1, 6))
    rows = draw(st.lists(st.sets(st.integers(0, k - 1), min_size=1), min_size=1, max_size=6))
    some = draw(st.lists(st.sets(st.integers(0, k - 1)), min_size=1, max_size=6))
    columns = [column | {min(row) for row in rows if not row & column} for column in some]
    return tuple(np.array([[m in s for m in range(k)] for s in sets], dtype=bool) for sets in (rows, columns))


@given(tables())
@settings(max_examples=100)
def test_a_formula_separates(both):
    """It is true on every row and false off every column, by evaluating it; and its counts are right."""
    above, below = both
    formula = contenders(above, below, 1, work=2000)[0]
    assert all(is_true(formula, set(np.flatnonzero(row))) for row in above)
    assert not any(is_true(formula, set(np.flatnonzero(~row))) for row in below)
    assert len(re.findall("[0-9]+", str(formula))) == formula.leaves


@given(tables(), st.integers(0, 6))
@settings(max_examples=60)
def test_an_arrangement_keeps_to_its_layers(both, layers):
    """The value is the formula, in at most that number of layers, or the fewest that it takes."""
    above, below = both
    formula = contenders(above, below, 1, work=500)[0]
    k = above.shape[1]
    laws = [Affine(tuple(Fraction(int(i == m)) for i in range(k + 1))) for m in range(k)]
    value = arrange(formula, laws, layers)
    assert depth(value) <= max(layers, formula.depth)
    for truth in itertools.product([Fraction(0), Fraction(1)], repeat=k):
        assert evaluate(value, truth) == is_true(formula, {m for m in range(k) if truth[m]})


def test_few_leaves_where_few_are_enough():
    """Minima with a common member are factored; a convex function is one maximum, a concave one a minimum."""
    factored = contenders(np.array([[1, 1, 0], [1, 0, 1]], bool), np.array([[1, 0, 0], [0, 1, 1]], bool), 1)[0]
    assert str(factored) in ("min(0, max(1, 2))", "min(0, max(2, 1))", "min(max(1, 2), 0)")
    assert contenders(np.eye(5, dtype=bool), np.ones((1, 5), dtype=bool), 1)[0].kind == "max"
    assert contenders(np.ones((1, 5), dtype=bool), np.eye(5, dtype=bool), 1)[0].kind == "min"


# --- parts of pieces ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4])
def test_cut_parts_are_spanned_by_what_rows_leave(n):
    """A simplex, cut again and again: what is above on a part by its places is exactly what linear programs say."""
    p = delaunay(n, n + 4, 3)
    order, probe = PieceOrder.of(p, 0, 0), Probe(0.0)
    part = parts_of(p, 0, probe)[0]
    held = Held(p.polyhedra[0], part.own, probe)
    for m, law in enumerate(order.differences(part.own)):
        one, two = part.cut(law), held.cut(law)
        assert (one is None) == (two is None)
        if one is None:
            continue
        part, held = one[m % 2], two[m % 2]
        nothing = np.zeros(len(order.laws), dtype=bool)
        assert (part.above(order, nothing) == held.above(order, nothing)).all()
        rows, x = held.body.integer(), part.point()
        assert ((rows[:, :-1] * x[:-1]).sum(axis=1) < rows[:, -1] * x[-1]).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "points"), [(2, 24), (3, 12), (4, 9)])
def test_sides_have_a_component_in_common(n, points, seed):
    """Every row above meets every row below, and no row contains another of its kind."""
    p = delaunay(n, points, seed)
    sides = find_sides(p, 0, order_components(p, 0))
    assert (sides.above.astype(int) @ sides.below.T.astype(int) > 0).all()
    for table in (sides.above, sides.below):
        sets = [frozenset(np.flatnonzero(row)) for row in table]
        assert not any(a <= b for a, b in itertools.permutations(sets, 2))


def test_boxes():
    """The box of triangles, of bounded pieces, and none where a piece has no end."""
    assert box_around(delaunay(2, 8, 1)) is not None
    square = CPWL.from_pieces([[[1, 0], [-1, 0], [0, 3], [0, -1]]], [[1, 1, 2, 0]], [[1, 1]], [0])
    assert box_around(square) == [(-1, 1), (0, Fraction(2, 3))]
    assert box_around(CPWL.from_maxmin([[1, 0], [-1, 0]], [[0], [1]])) is None
