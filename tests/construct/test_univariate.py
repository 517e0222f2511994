"""Functions on a line: every network is proved, and sizes are what theory says."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cpwl import CPWL, ConstructionError, certify
from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.hinges import flips_of
from cpwl.construct.plan import Options
from cpwl.construct.select import predicted_error
from cpwl.construct.table import TABLE
from cpwl.construct.univariate.cells import Classes, cells_for, switching_for
from cpwl.construct.univariate.plan import _Segments, _ways
from cpwl.function.bends.profile import profile_of
from support.constructions import find_hinges, planned, univariate
from support.line_functions import from_jumps, random_function, ridge, small_function
from support.proofs import prove_line

REACH = {20: 14, 50: 21, 100: 30, 400: 59}
BLOCKS = {20: 15, 50: 25, 100: 33, 400: 62}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("layers", [1, 2, 3])
@given(seed=st.integers(0, 10**6), bounded=st.booleans())
def test_every_network_is_proved_equal(layers, seed, bounded):
    """The stand-alone checker accepts every network, of any number of layers, on the line and on an interval."""
    p = small_function(seed, bounded=bounded)
    try:
        network = univariate(p, layers=layers)
    except ConstructionError:
        assert layers > 1  # too few breakpoints
        return
    assert network.sizes.depth <= layers + 1
    prove_line(p, network)


@given(seed=st.integers(0, 10**6), outputs=st.integers(2, 3))
def test_several_outputs_are_proved_equal(seed, outputs):
    """With one layer all outputs share their breakpoints, with two they share the knots; both are proved."""
    p = small_function(seed, outputs)
    places = profile_of(p).places
    shallow = univariate(p, layers=1)
    assert shallow.sizes.neurons in (len(places), len(places) + 1)
    for network in (shallow, univariate(p)):
        prove_line(p, network)


@pytest.mark.parametrize("m", [20, 50, 100])
def test_sizes_of_mixed_signs(m):
    """Means over ten random functions are within what the project set out to reach, and above the lower bound."""
    sizes = [univariate(random_function(m, seed)).sizes.neurons for seed in range(10)]
    assert np.mean(sizes) <= REACH[m]
    assert min(sizes) >= 2 * math.sqrt(2 * m + 2) - 2


@pytest.mark.parametrize("m", [20, 50, 100])
def test_sizes_of_blocks(m):
    """All positive, then all negative: with three layers hardly more than for mixed signs, where two need 4 sqrt(m)."""
    sizes = [univariate(random_function(m, seed, "blocks")).sizes.neurons for seed in range(5)]
    assert np.mean(sizes) <= BLOCKS[m]


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "most"), [("mixed", REACH[400]), ("blocks", BLOCKS[400]), ("convex", 56)])
def test_sizes_of_400_breakpoints(pattern, most):
    """The same for 400, with proofs."""
    functions = [random_function(400, seed, pattern) for seed in range(10)]
    made = [univariate(p) for p in functions]
    assert np.mean([network.sizes.neurons for network in made]) <= most
    prove_line(functions[0], made[0])


def test_convex_functions_come_near_the_lower_bound():
    """All jumps positive: cells are full, and two neurons above the bound are enough."""
    for m in (30, 60, 120):
        neurons = univariate(random_function(m, 1, "convex")).sizes.neurons
        assert neurons <= 2 * math.sqrt(2 * m + 2) + 2


@given(seed=st.integers(0, 10**6), bounded=st.booleans())
def test_predicted_neurons_are_built(seed, bounded):
    """What a plan counts is what it builds, for two and three layers; one layer has no fewer than it counts."""
    p = small_function(seed, bounded=bounded)
    for way in _ways(Analysis(p), None):
        built = way.build(way.whole).sizes.neurons
        assert built == way.neurons if way.hidden > 1 else built in (way.neurons, way.neurons + 1)


@given(seed=st.integers(0, 10**6), outputs=st.integers(1, 2), bounded=st.booleans(), share=st.floats(0, 1))
def test_segments_are_proved_equal(seed, outputs, bounded, share):
    """However many segments there are, the network is the function, with one neuron for each and one more."""
    p = small_function(seed, outputs, bounded)
    for way in _ways(Analysis(p), None):
        if way.cells is None:
            continue
        whole = way.build(way.whole)
        leading = _Segments.of(profile_of(p), way.cells, whole).within(share)
        network = way.build(leading)
        segments = int(leading.sum())
        assert network.sizes.neurons == whole.sizes.neurons + (segments + 1 if segments > 1 else 0)
        prove_line(p, network)


@pytest.mark.parametrize("rest", [[0, 0], [3, 1]])
def test_segments_of_one_direction(rest):
    """A function of 2x - y, plus a linear one: a pair of neurons carries the linear part past the segments, too."""
    p = ridge(random_function(30, 5), [2, -1], rest)
    way = next(way for way in _ways(Analysis(p), 2) if way.hidden == 2)
    leading = _Segments.of(profile_of(p), way.cells, way.build(way.whole)).within(0.0)
    assert leading.sum() > 2
    assert certify(p, way.build(leading)).document["kind"] == "line"


@pytest.mark.parametrize("kind", ["even", "uneven", "walk"])
def test_many_breakpoints_are_as_accurate_as_predicted(kind):
    """10,000 breakpoints: few segments, if any, reach the error asked for; float64 stays within what is predicted."""
    rng, m = np.random.default_rng(1), 10_000
    t = np.exp(8 * np.sort(rng.uniform(0, 1, m))) if kind == "uneven" else np.arange(m) / 8
    v = np.cumsum(rng.normal(size=m)) if kind == "walk" else rng.normal(size=m)
    p = CPWL.from_breakpoints(t.tolist(), v.tolist())
    known = Analysis(p, Options(precision="float64", max_error=1e-9))
    plan = TABLE["univariate"].plan(known)
    error = predicted_error(plan, "float64", known.sample.range)
    assert error <= 1e-9
    assert plan.sizes.neurons <= 300
    assert plan.sizes.depth == (3 if kind == "walk" else 4)
    x = np.concatenate([t[::5], t[-500:], rng.uniform(t[0], t[-1], 1000)])
    off = np.abs(plan.build()(x[:, None])[:, 0] - np.interp(x, t, v)).max() / known.sample.range
    assert 0.0 < off <= error


@pytest.mark.parametrize("minimize", ["neurons", "depth", "width", "nonzeros"])
def test_the_plan_has_the_smallest_network(minimize):
    """`minimize` picks among one, two and three layers, and the sizes of the plan are those of the network."""
    p = random_function(40, 3)
    plan = planned("univariate", p, minimize=minimize)
    assert plan.sizes == plan.build().sizes
    every = [univariate(p, layers=layers).sizes for layers in (1, 2, 3)]
    assert getattr(plan.sizes, minimize) == min(getattr(sizes, minimize) for sizes in every)


@given(st.lists(st.integers(-4, 4).filter(bool), min_size=1, max_size=9), st.integers(-6, 6))
def test_the_flip_rule(jumps, slope):
    """m neurons suffice iff some jumps add up to minus the slope on the left; all sets are tried here."""
    p = from_jumps(range(len(jumps)), jumps, slope)
    sums = {sum(T) for r in range(len(jumps) + 1) for T in itertools.combinations(jumps, r)}
    extra = 0 if -slope in sums else 1
    network = univariate(p, layers=1)
    assert network.sizes.neurons == len(jumps) + extra
    assert (flips_of(profile_of(p)) is not None) == (extra == 0)
    assert len(find_hinges(p).rows) == len(jumps)  # found from all pairs of pieces and breakpoints


def test_a_constant_piece_saves_a_neuron_however_many_breakpoints():
    """Hinges left of a constant piece are flipped, and the affine part is gone."""
    t = np.arange(200)
    p = CPWL.from_breakpoints(t, np.where(t < 100, (t - 99) ** 2, (t - 100) ** 2))
    assert univariate(p, layers=1).sizes.neurons == len(profile_of(p).places)


@pytest.mark.parametrize("rest", [[0, 0, 0], [0, 5, 1]])
def test_functions_of_one_direction(rest):
    """A function of 2x - y + 3z, plus a linear one, in R^3: the same constructions, proved."""
    line = small_function(11)
    p = ridge(line, [2, -1, 3], rest)
    network = univariate(p, layers=2)
    assert network.sizes.neurons <= univariate(line, layers=2).sizes.neurons + (3 if any(rest) else 0)
    assert certify(p, network).document["kind"] == "line"
    assert certify(p, univariate(p, layers=1)).proved


def test_a_table_that_bends_in_one_direction():
    """A grid in the plane whose values depend on x alone, but for a linear part in y."""
    values = [[f + 2 * j for j in range(3)] for f in (0, 3, 1, 4, 1, 5)]
    p = CPWL.from_grid([range(6), range(3)], values)
    network = univariate(p, layers=2)
    assert certify(p, network).proved


@given(seed=st.integers(0, 10**6))
def test_pieces_in_any_order(seed):
    """The order of pieces, repeated rows and cuts where the law goes on do not matter."""
    p = small_function(seed)
    rows, start, laws = p.polyhedra.integer(), p.polyhedra.start, p.laws.integer()[:, 0]
    order = np.random.default_rng(seed).permutation(p.num_pieces)
    own = [rows[start[i] : start[i + 1]] for i in order]
    A, b = [[[r[0]] for r in (*body, *body)] for body in own], [[r[1] for r in (*body, *body)] for body in own]
    gradient = [[Fraction(laws[i][0], laws[i][2])] for i in order]
    q = CPWL.from_pieces(A, b, gradient, [Fraction(laws[i][1], laws[i][2]) for i in order])
    assert univariate(q).sizes == univariate(p).sizes
    prove_line(q, univariate(q))


def test_tiny_jumps_are_breakpoints():
    """A jump of 1e-30 is a breakpoint, and is kept."""
    jumps = [Fraction(1, 10**30)] + [Fraction(-1) ** i for i in range(15)]
    p = from_jumps(range(16), jumps, 0)
    assert len(profile_of(p).places) == 16
    prove_line(p, univariate(p, layers=2))


def test_an_affine_function_has_no_neurons():
    """Without breakpoints one affine map is left."""
    p = CPWL.from_breakpoints([0, 1], [1, 3])
    assert univariate(p).sizes.neurons == 0


def test_other_functions_are_refused():
    """Bends in two directions, data with a tolerance and too few breakpoints: each with its reason."""
    with pytest.raises(ConstructionError, match="several directions: see piece"):
        univariate(CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0], [1], [2]]))
    with pytest.raises(ConstructionError, match="tolerance"):
        univariate(CPWL.from_pieces([[[1.0]], [[-1.0]]], [[0.1], [-0.1]], [[0.0], [1.0]], [0.0, -0.1]))
    with pytest.raises(ConstructionError, match="too few"):
        univariate(from_jumps([0, 1], [1, 1], 0), layers=2)
    with pytest.raises(ConstructionError, match="jumps where x = 0"):
        univariate(CPWL.from_pieces([[[1]], [[-1]]], [[0], [0]], [[0], [1]], [0, 1]))


# --- Plans -----------------------------------------------------------------------------------------------------------


def fewest_knots(signs, slots):
    """All sets of knots, the smallest first: two neighbours empty the cell, others are left out."""
    for size in range(len(signs) + 1):
        for knots in itertools.combinations(range(len(signs)), size):
            used, i = {1: 0, -1: 0}, 0
            while i < len(signs) and all(used[s] <= slots[s] for s in used):
                if i in knots and i + 1 in knots:
                    used, i = {1: 0, -1: 0}, i + 1
                elif i not in knots:
                    used[signs[i]] += 1
                i += 1
            if all(used[s] <= slots[s] for s in used):
                return size
    raise AssertionError


@given(st.lists(st.sampled_from([1, -1]), min_size=2, max_size=10), st.integers(1, 3), st.integers(1, 3))
def test_cells_hold_their_breakpoints_with_few_knots(signs, plus, minus):
    """No cell has more breakpoints of a sign than slots, and the knots are at most one more than the fewest."""
    classes = Classes.from_signs(np.array(signs)[:, None])
    slots = {1: plus, -1: minus}
    plan = cells_for(classes, tuple(slots[s] for _, s in classes.kinds))
    for begin, end in plan.cells:
        inside = [signs[i] for i in range(begin, end) if i not in plan.singles]
        assert all(inside.count(s) <= slots[s] for s in slots)
    covered = [i for begin, end in plan.cells for i in range(begin, end)]
    assert len(covered) + 2 * (len(plan.cells) - 1) == len(signs)
    assert fewest_knots(signs, slots) <= plan.knots <= fewest_knots(signs, slots) + 1


@given(
    st.lists(st.sampled_from([1, -1]), min_size=4, max_size=40), st.tuples(*[st.integers(0, 2)] * 2, st.integers(1, 4))
)
def test_switching_slots_change_only_where_they_are_negative(signs, slots):
    """Room in every cell, and what the switching slots make changes only where their sign is negative."""
    plan = switching_for(Classes.from_signs(np.array(signs)[:, None]), slots)
    assume(plan is not None)
    sign = plan.start
    for j, (begin, end) in enumerate(plan.cells):
        inside = [signs[i] for i in range(begin, end) if i not in plan.singles]
        extra = slots[2] if plan.active[j] else 0
        assert inside.count(1) <= slots[0] + (extra if plan.turns[j] > 0 else 0)
        assert inside.count(-1) <= slots[1] + (extra if plan.turns[j] < 0 else 0)
        assert j == 0 or plan.turns[j] == plan.turns[j - 1] or sign < 0
        sign = -sign if plan.active[j] else sign
