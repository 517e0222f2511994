"""Many breakpoints: integers in bulk give what rationals one by one give, and nothing is rounded on the way."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from cpwl import CPWL, InputError, Network
from cpwl.construct.univariate.cells import Classes, best_cells, cells_for, slots_of, start_signs
from cpwl.exact.integers import common_denominator, integer_rows
from cpwl.exact.rational import fraction_array
from cpwl.function.bends.profile import profile_of
from cpwl.function.make import segments
from support.constructions import univariate
from support.line_functions import from_jumps, random_function, small_function
from support.proofs import prove_line

moderate = st.floats(-1e3, 1e3)
extreme = st.floats(-1e300, 1e300, allow_subnormal=True)
whole = st.integers(-9, 9).map(float)
near = st.builds(lambda k, e: math.ldexp(k, -e), st.integers(-40, 40), st.integers(0, 60))


# --- Breakpoints ------------------------------------------------------------------------------------------------------


@given(st.sampled_from([moderate, extreme, whole, near]).flatmap(lambda v: st.lists(st.tuples(v, v), min_size=2)))
def test_segments_are_what_rationals_give(points):
    """Slope and offset between any two floats, in lowest terms: also far apart, tiny, equal, and through 0."""
    table = dict(points)
    x = np.array(sorted(table)) + 0.0
    y = np.array([table[v] for v in x.tolist()])
    at, height = (integer_rows(np.column_stack([v, np.ones(len(v))])) for v in (x, y))
    rows = segments(np.stack([at[:-1], at[1:]]), np.stack([height[:-1], height[1:]])).tolist()
    for (x0, x1), (y0, y1), row in zip(
        itertools.pairwise(map(Fraction, x)), itertools.pairwise(map(Fraction, y)), rows, strict=True
    ):
        slope = (y1 - y0) / (x1 - x0)
        assert [Fraction(v, row[2]) for v in row] == [slope, y0 - slope * x0, 1]
        assert row[2] > 0
        assert math.gcd(*row) == 1


@given(st.integers(0, 10**6))
def test_floats_and_fractions_give_the_same_function(seed):
    """A table of floats, and the same numbers as `Fraction`: equal rows, laws and components."""
    rng = np.random.default_rng(seed)
    x, y = np.unique(rng.integers(-20, 20, 12) / 8), rng.integers(-2, 3, (12, 2)) / 4
    y = y[: len(x)]
    third = Fraction(1, 3)  # so that the numbers stay fractions
    one = CPWL.from_breakpoints(x, y, left_slope=0, right_slope=1)
    two = CPWL.from_breakpoints(fraction_array(x) * third, fraction_array(y) * third, left_slope=0, right_slope=1)
    laws, thirds = one.laws.integer(), two.laws.integer()
    assert (laws[..., 0] * thirds[..., 2] == thirds[..., 0] * laws[..., 2]).all()
    assert (laws[..., 1] * thirds[..., 2] == 3 * thirds[..., 1] * laws[..., 2]).all()
    assert (one.component == two.component).all()


def test_components_are_numbered_as_they_appear():
    """Equal laws are one component; laws that only round to the same floats are not."""
    tiny = Fraction(1, 10**30)
    p = CPWL.from_breakpoints([0, 1, 2, 3, 4], [0, 1, 0, 1, 0], left_slope=1, right_slope=1 + tiny)
    assert p.component[:, 0].tolist() == [0, 0, 1, 2, 3, 4]
    assert p.laws.gradient[0] == p.laws.gradient[-1]


def test_places_must_increase_by_any_amount():
    """Neighbouring floats do, equal ones and rationals that round to the same float in the wrong order do not."""
    step = np.nextafter(1.0, 2.0)
    assert CPWL.from_breakpoints([1.0, step], [0.0, 1.0]).laws.integer()[0, 0].tolist() == [2**52, -(2**52), 1]
    for x in ([1.0, 1.0], [1, Fraction(10**30 - 1, 10**30)]):
        with pytest.raises(InputError, match="`x` must increase, or decrease, from one to the next"):
            CPWL.from_breakpoints(x, [0, 1])


# --- Weights ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.booleans())
def test_floats_are_the_exact_weights_rounded(seed, bounded):
    """The float64 view, made from integers, has every exact weight rounded once, and the same pattern."""
    p = small_function(seed, bounded=bounded)
    for network in (univariate(p), univariate(p, layers=1)):
        for (view, bias), (exact, exact_bias) in zip(network.layers, network.exact, strict=True):
            assert (view.indices == exact.indices).all()
            assert view.data.tolist() == [float(v) for v in exact.data]
            assert bias.tolist() == [float(v) for v in exact_bias]


def test_places_without_a_common_denominator():
    """Places over many primes: rationals take the place of integers, and the network is proved."""
    primes = [n for n in range(2, 400) if all(n % d for d in range(2, n))][:40]
    places = sorted(i + Fraction(1, q) for i, q in enumerate(primes))
    p = from_jumps(places, [(-1) ** (i // 3) for i in range(40)], 1)
    assert common_denominator(profile_of(p).places) is None
    prove_line(p, univariate(p, layers=2))


@pytest.mark.parametrize("pattern", ["mixed", "blocks", "convex"])
def test_idle_slots(pattern):
    """Slots without a breakpoint in a cell are 0 there, whatever the order of signs; proved for 150 breakpoints."""
    p = random_function(150, 5, pattern)
    prove_line(p, univariate(p, layers=2))


def test_signs_of_many_slots_are_equal():
    """Above 200 slots all of one output begin with one sign, so that the carried part has laws of the function."""
    p = random_function(50_000, 1, "mixed")
    profile = profile_of(p)
    classes = Classes.from_signs(np.where(profile.jump > 0, 1, -1))
    slots = slots_of(profile, best_cells(classes)[0], classes.kinds)
    assert len(slots.output) > 200
    assert len(set(start_signs(profile, slots)[0])) == 1


@given(st.lists(st.sampled_from([1, -1]), min_size=2, max_size=60), st.integers(1, 5), st.integers(1, 5))
def test_stopping_early_loses_no_plan(signs, plus, minus):
    """With a limit on the knots the plan is the same, or there is none, just if it would have more."""
    classes = Classes.from_signs(np.array(signs)[:, None])
    slots = tuple({1: plus, -1: minus}[s] for _, s in classes.kinds)
    plan = cells_for(classes, slots)
    for most in range(plan.knots + 3):
        limited = cells_for(classes, slots, most)
        assert (limited is None) == (most < plan.knots)
        assert limited is None or limited.knots == plan.knots


# --- A hundred thousand -----------------------------------------------------------------------------------------------


def relu_bends(knots, values, slopes):
    """Where the slope of ``relu(Z)`` changes, and to what, for `Z` that bends at knots; None for the far left."""
    ends = [None, *zip(knots, values, strict=True), None]
    found = []
    for begin, end, slope in zip(ends[:-1], ends[1:], slopes, strict=True):
        here = -slope if begin is None else begin[1] or slope  # its sign is that of Z where the interval begins
        there = slope if end is None else end[1] or -slope
        here, there = here or there, there or here
        found.append((begin and begin[0], slope if here > 0 else fmpq(0)))
        if here * there < 0:
            place, value = begin or end
            found.append((place - value / slope, slope if there > 0 else fmpq(0)))
    return found


def total(terms):
    """The sum, in pairs: denominators grow slowly."""
    while len(terms) > 1:
        terms = [sum(terms[i : i + 2], fmpq(0)) for i in range(0, len(terms), 2)]
    return terms[0]


def bends_of_two_layers(network):
    """All bends of a network with two hidden layers on a line, and its value at its first knot, by its weights alone.

    The first layer has a hinge at every knot and one more to the left, so a neuron of the second is affine between
    knots. Returns the slope at the far left, a dictionary of jumps, and the value.
    """
    rational = np.frompyfunc(lambda v: fmpq(v.numerator, v.denominator), 1, 1)
    (_, shift), (weight, bias), (last, constant) = network.exact
    knots = -rational(shift[:-1])
    outputs = last.toarray()[0]
    jumps, left, value = {}, [], [rational(constant)[0]]
    for sigma, row, at in zip(rational(outputs), rational(weight.toarray()), rational(bias), strict=True):
        slopes = [-row[-1], *np.cumsum(row[:-1])]
        values = [at, *(at + np.cumsum(slopes[1:-1] * np.diff(knots)))]
        before = None
        for place, slope in relu_bends(knots, values, slopes):
            if place is None:
                left.append(sigma * slope)
            elif slope != before:
                jumps.setdefault((int(place.p), int(place.q)), []).append(sigma * (slope - before))
            before = slope
        value.append(sigma * max(at, fmpq(0)))
    return total(left), {Fraction(*place): total(terms) for place, terms in jumps.items()}, total(value)


def check_every_bend(p, x, y):
    """The network's own bends, from its weights, are those of the table; so are its values at all of them."""
    network = univariate(p, layers=2)
    slope, jumps, value = bends_of_two_layers(network)
    places = sorted(place for place, jump in jumps.items() if jump != 0)
    assert places == [Fraction(v) for v in x[1:-1]]
    first = places.index(-network.exact[0][1][0])
    at = [fmpq(t.numerator, t.denominator) for t in places]
    slopes = [slope, *(slope + np.cumsum([jumps[t] for t in places]))]
    rise = np.cumsum([fmpq(0), *(np.array(slopes[1:-1]) * np.diff(at))])
    exact = fraction_array(y[1:-1])
    expected = [fmpq(v.numerator, v.denominator) for v in exact]
    assert (value + rise - rise[first] == np.array(expected)).all()
    ends = [fmpq(*Fraction(v).as_integer_ratio()) for v in (x[0], x[-1], y[0], y[-1])]
    assert (expected[0] - ends[2]) / (at[0] - ends[0]) == slopes[0]
    assert (ends[3] - expected[-1]) / (ends[1] - at[-1]) == slopes[-1]


@pytest.mark.parametrize("layer", [1, 2])
def test_the_reference_finds_a_wrong_weight(layer):
    """The comparison below passes for 60 breakpoints, and sees one weight moved by 1e-30."""
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.uniform(0, 1, 60)), rng.normal(size=60)
    p = CPWL.from_breakpoints(x, y)
    check_every_bend(p, x, y)
    network = univariate(p, layers=2)
    good = bends_of_two_layers(network)
    weight, bias = network.exact[layer]
    moved = weight.toarray()
    moved[0, 3] += Fraction(1, 10**30)
    changed = list(network.exact)
    changed[layer] = (moved, bias)
    assert bends_of_two_layers(Network(changed)) != good


@pytest.mark.slow
def test_a_hundred_thousand_breakpoints():
    """Floats, two layers: every breakpoint is there with its exact value, and the outer slopes are right."""
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.uniform(0, 1, 100_000)), rng.normal(size=100_000)
    p = CPWL.from_breakpoints(x, y)
    check_every_bend(p, x, y)
    assert univariate(p).sizes.neurons <= 2 * math.sqrt(2 * 10**5 + 2) + 10


@pytest.mark.slow
def test_one_layer_for_a_hundred_thousand_breakpoints():
    """One layer is right in rationals at some of them."""
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.uniform(0, 1, 100_000)), rng.normal(size=100_000)
    some = [1, 50_000, 99_998]
    network = univariate(CPWL.from_breakpoints(x, y), layers=1)
    assert (network(fraction_array(x[some])[:, None])[:, 0] == fraction_array(y[some])).all()
