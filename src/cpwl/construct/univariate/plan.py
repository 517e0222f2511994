"""Functions on a line, and those that bend in one direction only: one hidden layer, or more with far fewer neurons.

With `m` breakpoints one hidden layer needs `m` or `m + 1` neurons. Two need about ``2 sqrt(2m)`` if positive and
negative breakpoints are mixed or all of one kind, three about as many whatever their order. See docs/univariate.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.hinges import hinge_network, one_layer
from cpwl.construct.plan import Minimize, Plan
from cpwl.construct.select import predicted_error
from cpwl.construct.univariate.cells import (
    Bent,
    Classes,
    LineCells,
    LineSlots,
    Objects,
    Switching,
    best_cells,
    best_switching,
    deal,
    knots_of,
    rational,
    residuals,
    slots_of,
    start_signs,
    values_at_knots,
)
from cpwl.errors import ConstructionError, LimitError
from cpwl.exact.integers import common_denominator, ratio_view
from cpwl.exact.rational import fraction_array, from_flint, from_flint_array, to_flint, to_float, upwards
from cpwl.exact.sparse import RationalMatrix
from cpwl.function.bends.profile import Profile
from cpwl.network import Network
from cpwl.network.network import ExactLayer, Layer, assemble, float_layer

# Weights of functions that bend at knots, on a first layer of ``relu(t - x_j)`` and one ``relu(x_1 - t)``.
#
# The weight of a knot is by how much the slope changes there, of the first knot the slope to its right, of the last
# neuron minus the slope to its left; the bias is the value at the first knot.
#
# A slot has slope `S` and zero `z` on one cell and `S'` and `z'` on the next. Between their knots `e` and `b` it has
# slope ``(S' (b - z') - S (e - z)) / (b - e)``, so it changes by ``(S' (b - z') - S (b - z)) / (b - e)`` at `e` and by
# ``(S (e - z) - S' (e - z')) / (b - e)`` at `b`. All of that is done in integers, over one denominator of all places.
#
# Far from its knot a hinge is large, and its weights round it. *Segments* keep hinges short: a layer before the hinges
# has ``relu(a - t)`` for the end `a` of each segment, the first knot of the next one, and the hinge at `x_j` becomes
# ``relu(a - x_j - relu(a - t))``: ``t - x_j`` in the segment, and exactly ``a - x_j`` behind it. The last segment has
# ``relu(t - b)`` for its first knot `b`, and ``relu(relu(t - b) - (x_j - b))``. The weight of a knot that leads a
# segment is the whole slope to its right. One segment is the network without that layer.


Leading = NDArray[np.bool_]
"""For each knot whether a segment begins there, as at the first."""
_BLOCK = 2**16  # bends whose weights are computed at once
_fraction = np.frompyfunc(Fraction, 2, 1)
_numerator = np.frompyfunc(lambda v: int(v.p), 1, 1)
_denominator = np.frompyfunc(lambda v: int(v.q), 1, 1)


def bent_weights(functions: Bent, knots: Objects, leading: Leading) -> tuple[Objects, Objects]:
    """Weights of ``relu(t - x_j)`` and of ``relu(x_1 - t)``, and the bias, of functions given at the knots."""
    steps = np.diff(functions.values, axis=1) / np.diff(knots)
    slopes = np.concatenate([steps, functions.right[:, None]], axis=1)
    before = np.concatenate([slopes[:, :1], slopes[:, :-1]], axis=1)
    hinges = np.where(leading, slopes, slopes - before)
    weights = np.concatenate([hinges, -functions.left[:, None]], axis=1)
    return from_flint_array(weights), from_flint_array(functions.values[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class SlotWeights:
    """What slots read, exactly when asked for; now as floats, each rounded once, and where it is not 0."""

    slots: LineSlots
    profile: Profile
    plan: LineCells
    leading: Leading
    slope_sign: NDArray[np.int64]
    """The sign of the slope on each cell, ``(slots, cells)``."""
    view: NDArray[np.float64]
    """``(slots, r + 1)``."""
    filled: NDArray[np.bool_]
    bias: Objects

    def exact(self) -> Objects:
        """The weights that are not 0, row after row."""
        dense = np.empty(self.view.shape, dtype=object)
        every = _entries(self.slots, self.profile, self.plan, self.leading, self.slope_sign)
        for rows, columns, above, below in every:
            dense[rows, columns] = _fraction(above, below)
        return np.asarray(dense[self.filled], dtype=object)


def slot_weights(
    slots: LineSlots, profile: Profile, plan: LineCells, leading: Leading, start: NDArray[np.int64]
) -> SlotWeights:
    """The weights of all slots that begin with these signs."""
    slope_sign = -slots.signs(start)[:, :-1]
    knots, cell = knots_of(plan)
    shape = (len(slots.output), len(knots) + 1)
    view, filled = np.zeros(shape), np.zeros(shape, dtype=bool)
    for rows, columns, above, below in _entries(slots, profile, plan, leading, slope_sign):
        view[rows, columns] = ratio_view(above, below)
        filled[rows, columns] = above != 0
    # The first knot ends or is inside the first cell.
    assert cell[0] == 0
    which = np.maximum(slots.which[:, 0], 0)
    slope = slope_sign[:, 0].astype(object) * slots.sizes(profile, 0)
    bias = from_flint_array(slope * (fmpq(*profile.places[knots[0]]) - rational(*profile.places[which].T)))
    return SlotWeights(slots, profile, plan, leading, slope_sign, view, filled, np.asarray(bias, dtype=object))


_Entries = tuple[NDArray[np.int64], NDArray[np.int64], Objects, Objects]


def _entries(
    slots: LineSlots, profile: Profile, plan: LineCells, leading: Leading, slope_sign: NDArray[np.int64]
) -> Iterator[_Entries]:
    """Rows, columns, numerators and denominators of all weights that may be other than 0."""
    above, below, places = _tables(slots, profile, slope_sign)
    knots, _ = knots_of(plan)
    rows = np.arange(len(slots.output))
    end = np.array([e for _, e in plan.cells[:-1]])
    column = np.searchsorted(knots, end)
    yield rows, np.full(len(rows), len(knots)), -above(rows, 0), below(rows, 0)
    if knots[0] != end[0]:  # a single in the first cell
        yield rows, np.zeros(len(rows), dtype=np.int64), above(rows, 0), below(rows, 0)
    step = max(1, _BLOCK // max(1, len(rows)))
    for first in range(0, len(end), step):
        block = np.arange(first, min(first + step, len(end)))
        i, j = (axis.ravel() for axis in np.meshgrid(rows, block, indexing="ij"))
        used = (slots.which[i, j] >= 0) | (slots.which[i, j + 1] >= 0)
        i, j = i[used], j[used]
        e, b = places[end[j]], places[end[j] + 1]
        z, other_z = places[slots.which[i, j]], places[slots.which[i, j + 1]]
        below_one, below_two = below(i, j), below(i, j + 1)
        one, two = above(i, j) * below_two, above(i, j + 1) * below_one  # slopes over a common denominator
        under = below_one * below_two * (b - e)
        ends, begins = leading[column[j]], leading[column[j] + 1]  # there the weight is the whole slope
        yield _settled(i, column[j], two * (b - other_z) - one * (np.where(ends, e, b) - z), under)
        change = one * (e - z) - two * (e - other_z)
        yield _settled(i, column[j] + 1, np.where(begins, two * (b - e), change), under)


def _tables(slots: LineSlots, profile: Profile, slope_sign: NDArray[np.int64]) -> tuple[Any, Any, Objects]:
    """Numerator and denominator of the slope of a slot on a cell (0 / 1 where it is 0), and places up to one factor."""

    def above(i: NDArray[np.int64], j: Any) -> Objects:
        which, o = slots.which[i, j], slots.output[i]
        size = np.where(which >= 0, np.abs(profile.jump[which, o]), 0)
        return np.asarray(np.where(slope_sign[i, j] > 0, size, -size), dtype=object)

    def below(i: NDArray[np.int64], j: Any) -> Objects:
        which = slots.which[i, j]
        return np.asarray(np.where(which >= 0, profile.below[which, slots.output[i]], 1), dtype=object)

    common = common_denominator(profile.places)
    places = rational(*profile.places.T) if common is None else common[0][:, 0]
    return above, below, places


def _settled(rows: NDArray[np.int64], columns: NDArray[np.int64], above: Objects, under: Objects) -> _Entries:
    """Integers also where places had to be rationals."""
    if len(above) and not isinstance(above[0], int):
        ratio = above / under
        above, under = _numerator(ratio), _denominator(ratio)
    return rows, columns, above, under


def second_layer(
    weights: SlotWeights, rows: list[Objects], biases: list[Objects], width: int
) -> tuple[Layer, ExactLayer]:
    """The layer of slots with some dense rows below, as floats and in rationals."""
    extra = np.concatenate(rows)
    count = len(weights.view)
    filled = np.zeros((count + len(extra), width), dtype=bool)
    filled[:count, : weights.filled.shape[1]] = weights.filled
    filled[count:] = extra != 0
    view = np.zeros(filled.shape)
    view[:count, : weights.view.shape[1]] = weights.view
    bias = np.concatenate([weights.bias, *biases])
    try:
        view[count:], bias_view = to_float(extra), to_float(bias)
    except OverflowError:
        raise LimitError("a weight of the second layer is too large for float64") from None
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int64)
    indices = np.nonzero(filled)[1].astype(np.int64)
    tail = extra[filled[count:]]
    exact = RationalMatrix(filled.shape, indptr, indices, lambda: np.concatenate([weights.exact(), tail]))
    return (csr_array(view), bias_view), (exact, bias)


Range = tuple[Fraction | None, Fraction | None]


def two_layers_plan(profile: Profile, classes: Classes) -> tuple[LineCells, int] | None:
    """Cells and slots with the fewest neurons, and how many these are; None if there are too few breakpoints."""
    plans = best_cells(classes)
    if not plans:
        return None
    slanted = sum(any(form) for form in profile.rest)
    best, fewest = plans[0], plans[0].neurons + 2 * profile.outputs + 2 * slanted + 1
    for plan in plans:
        if plan.neurons + profile.outputs + 3 * slanted >= fewest:
            break
        slots = slots_of(profile, plan, classes.kinds)
        _, bounded = start_signs(profile, slots)
        neurons = plan.knots + 1 + len(slots.output) + 2 * slanted + sum(1 if way else 2 for way in bounded)
        if neurons < fewest:
            best, fewest = plan, neurons
    return best, fewest


def two_layers(profile: Profile, plan: LineCells, classes: Classes, leading: Leading) -> Network:
    """The network of these cells; what is left of ``rest . x`` passes both layers by a pair of neurons each."""
    slots = slots_of(profile, plan, classes.kinds)
    start, bounded = start_signs(profile, slots)
    affine = residuals(slots, profile, plan, start)
    knots = rational(*profile.places[knots_of(plan)[0]].T)
    first = first_layers(profile, knots, leading)
    rows, biases, ways = carried(profile, affine, knots, leading, bounded)
    weights = slot_weights(slots, profile, plan, leading, start)
    view, second = second_layer(weights, rows, biases, first[-1][0].shape[0])
    last = _output(slots, ways)
    return assemble([*map(float_layer, first), view, float_layer(last)], [*first, second, last])


def first_layers(profile: Profile, knots: Objects, leading: Leading) -> list[ExactLayer]:
    """Hinges at the knots, one to the left of the first, and pairs for each `rest`: one layer, or two for segments."""
    exact = from_flint_array(knots)
    starts = np.flatnonzero(leading)
    one = len(starts) == 1
    signs = np.ones(len(exact), dtype=np.int64) if one else np.repeat([-1, 1], [len(starts) - 1, 1])
    ends = exact if one else exact[np.append(starts[1:], starts[-1])]
    rows = [*np.outer(signs.astype(object), profile.direction), -profile.direction]
    bias = [*-signs * ends, exact[0]]
    for form in profile.rest:
        if any(form):
            rows += [form, -form]
            bias += [Fraction(0), Fraction(0)]
    first = RationalMatrix.from_dense(np.array(rows, dtype=object)), np.array(bias, dtype=object)
    if one:
        return [first]
    own = np.cumsum(leading) - 1  # the segment of each knot
    r, k, width = len(exact), len(starts), len(bias)  # the hinge to the left and the pairs, r and -r, pass
    pairs = np.arange(1, width - k)
    at = np.concatenate([np.arange(r + 1), r + pairs, r + pairs])
    reads = np.concatenate([own, [k], k + pairs, k + 1 + (pairs - 1 ^ 1)])
    values = np.concatenate([signs[own], [1], 0 * pairs + 1, 0 * pairs - 1])
    matrix = RationalMatrix.from_triples(at, reads, fraction_array(values), (r + width - k, width))
    return [first, (matrix, np.append(ends[own] - exact, np.full(width - k, Fraction(0))))]


def carried(
    profile: Profile, affine: Bent, knots: Objects, leading: Leading, bounded: list[int]
) -> tuple[list[Objects], list[Objects], list[list[tuple[int, Fraction]]]]:
    """The neurons that carry `A` of each output: rows, biases, and their signs with the shifts that they have."""
    slanted = [any(form) for form in profile.rest]
    width = len(knots) + 1 + 2 * sum(slanted)
    rows, biases = [], []
    ways: list[list[tuple[int, Fraction]]] = []
    for o, way in enumerate(bounded):
        own = Bent(affine.values[o : o + 1], affine.left[o : o + 1], affine.right[o : o + 1])
        row, constant = bent_weights(own, knots, leading)
        row, (least, most) = _wide(row, width), _range(profile, own, knots)
        if slanted[o]:
            pair = len(knots) + 1 + 2 * sum(slanted[:o])
            row[0, pair : pair + 2] = Fraction(1), Fraction(-1)
            least = most = None
        ways.append(moves(least, most, way))
        for s, shift in ways[-1]:
            rows.append(s * row)
            biases.append(s * constant + shift)
    return rows, biases, ways


def moves(least: Fraction | None, most: Fraction | None, way: int) -> list[tuple[int, Fraction]]:
    """Signs and shifts with which something of this range is carried: one neuron if it has a bound, else two."""
    if least is not None and (way >= 0 or most is None):
        return [(1, -least)]
    return [(1, Fraction(0)), (-1, Fraction(0))] if most is None else [(-1, most)]


def _wide(rows: Objects, width: int) -> Objects:
    """The rows with zeros behind."""
    full = np.full((len(rows), width), Fraction(0), dtype=object)
    full[:, : rows.shape[1]] = rows
    return full


def _range(profile: Profile, own: Bent, knots: Objects) -> Range:
    """The least and the largest value on the domain of a single function that bends at the knots; None: no bound."""
    values = list(own.values[0])
    open_low = open_high = False
    for end, at, knot, outward in (
        (profile.low, own.values[0, 0], knots[0], -own.left[0]),
        (profile.high, own.values[0, -1], knots[-1], own.right[0]),
    ):
        if end is not None:
            values.append(at + outward * abs(to_flint(end) - knot))
        elif outward < 0:
            open_low = True
        elif outward > 0:
            open_high = True
    return (None if open_low else from_flint_array(min(values))), (None if open_high else from_flint_array(max(values)))


def _output(slots: LineSlots, ways: list[list[tuple[int, Fraction]]]) -> ExactLayer:
    count = len(slots.output)
    rows, columns, values = [*slots.output], [*range(count)], [Fraction(int(s)) for s in slots.sigma[:, 0]]
    bias = []
    for o, way in enumerate(ways):
        for s, _ in way:
            rows.append(o)
            columns.append(len(columns))
            values.append(Fraction(s))
        bias.append(Fraction(0) if len(way) == 2 else -way[0][0] * way[0][1])
    return RationalMatrix.from_triples(rows, columns, values, (len(ways), len(columns))), np.array(bias, dtype=object)


# Three hidden layers on a line: about ``2 sqrt(2m)`` neurons, whatever the signs of the breakpoints.
#
# The group `G` of switching slots, ``G = sum relu(Z_i) >= 0``, is to count with sign + on some cells and with - on
# others, and it is 0 wherever that changes. With `X` a function that bends at the knots, at least `G` where the sign is
# + and 0 where it is -, ``relu(G - X)`` is 0 there and `G` here. So the function is ``v - 2 relu(G - X)``, where `v`
# counts `G` with sign +.


def switching_slots(profile: Profile, plan: Switching) -> tuple[LineSlots, NDArray[np.int64]]:
    """The slots of a plan; and for the switching ones the sign with which they begin, 0 for the others."""
    cells = len(plan.cells)
    plus, minus, both = plan.slots
    sigma = np.repeat([[1], [-1], [1]], plan.slots, axis=0) * np.ones(cells, dtype=np.int64)
    sigma[plus + minus :] = plan.turns
    ready = np.ones(sigma.shape, dtype=bool)
    ready[plus + minus :] = plan.active
    output = np.zeros(len(sigma), dtype=np.int64)
    given = np.repeat([0, 0, plan.start], (plus, minus, both))
    return deal(profile, plan.plan, output, sigma, ready), given


def carries(profile: Profile, plan: Switching) -> int:
    """How many neurons carry affine parts, in the second and in the third layer."""
    slots, given = switching_slots(profile, plan)
    bounded = start_signs(profile, slots, given)[1][0]
    return (1 if bounded else 2) + (1 if _least(profile) is not None or _least(_negative(profile)) is not None else 2)


def three_layers(profile: Profile, plan: Switching, leading: Leading) -> Network:
    """The network of a plan, for one output and a profile without `rest`."""
    if _least(profile) is None and _least(_negative(profile)) is not None:
        signs = (plan.slots[1], plan.slots[0], plan.slots[2])
        opposite = replace(plan, slots=signs, turns=tuple(-t for t in plan.turns))
        view, layers = _layers(_negative(profile), opposite, leading)
        layers[-1] = (-layers[-1][0], -layers[-1][1])
    else:
        view, layers = _layers(profile, plan, leading)
    place = len(layers) - 3
    return assemble([view if l == place else float_layer(layer) for l, layer in enumerate(layers)], layers)


def _layers(profile: Profile, plan: Switching, leading: Leading) -> tuple[Layer, list[ExactLayer]]:
    """All layers, and the float64 view of the one with slots."""
    slots, given = switching_slots(profile, plan)
    start, bounded = start_signs(profile, slots, given)
    values = values_at_knots(slots, profile, plan.plan, start)
    affine = residuals(slots, profile, plan.plan, start)
    index, cell = knots_of(plan.plan)
    knots = rational(*profile.places[index].T)
    switch, shift = bent_weights(_switch(slots, profile, values, start, given != 0, plan, cell), knots, leading)
    rows, biases, ways = carried(profile, affine, knots, leading, bounded)
    weights = slot_weights(slots, profile, plan.plan, leading, start)
    view, second = second_layer(weights, [switch, *rows], [shift, *biases], len(knots) + 1)
    return view, [*first_layers(profile, knots, leading), second, *_top(profile, plan, ways[0])]


def _switch(
    slots: LineSlots,
    profile: Profile,
    reads: Objects,
    start: NDArray[np.int64],
    group: NDArray[np.bool_],
    plan: Switching,
    cell: NDArray[np.int64],
) -> Bent:
    """`X`: on a cell with sign + at least `G` at its knots (`G` is convex there), on others 0; outside as steep."""
    values = np.where(reads[group] > 0, reads[group], fmpq(0)).sum(axis=0)
    turns = np.array(plan.turns)
    level = np.array([_up(max(values[cell == j])) if t > 0 else fmpq(0) for j, t in enumerate(turns)], dtype=object)
    ends = slots.signs(start)[:, [0, -1]]
    outer = []
    for side in (0, -1):
        rising = group & (ends[:, side] > 0)
        outer.append(_up(sum(slots.sizes(profile, side)[rising], fmpq(0))) if turns[side] > 0 else fmpq(0))
    return Bent(level[cell][None], np.array([-outer[0]], dtype=object), np.array([outer[1]], dtype=object))


def _up(x: fmpq) -> fmpq:
    """A short number that is not smaller."""
    return to_flint(upwards(from_flint(x)))


def _top(profile: Profile, plan: Switching, ways: list[tuple[int, Fraction]]) -> list[ExactLayer]:
    """The third layer, `v` and ``G - X``, and the output."""
    plus, minus, both = plan.slots
    sums = [Fraction(1)] * plus + [Fraction(-1)] * minus + [Fraction(1)] * both + [Fraction(0)]
    v = [*sums, *(Fraction(s) for s, _ in ways)]
    constant = Fraction(0) if len(ways) == 2 else -ways[0][0] * ways[0][1]
    gate = [Fraction(0)] * (plus + minus) + [Fraction(1)] * both + [Fraction(-1)] + [Fraction(0)] * len(ways)
    found = moves(_least(profile), None, 1)  # v is at least the function
    rows = [[s * c for c in v] for s, _ in found] + [gate]
    bias = [s * constant + shift for s, shift in found] + [Fraction(0)]
    output = [Fraction(s) for s, _ in found] + [Fraction(-2)]
    last = Fraction(0) if len(found) == 2 else -found[0][1]
    return [
        (RationalMatrix.from_dense(rows), np.array(bias, dtype=object)),
        (RationalMatrix.from_dense([output]), np.array([last], dtype=object)),
    ]


def _least(profile: Profile) -> Fraction | None:
    """The least value of the function, None if it has none."""
    laws, places = profile.laws[:, 0], profile.places
    if (profile.low is None and laws[0, 0] > 0) or (profile.high is None and laws[-1, 0] < 0):
        return None
    values = [Fraction(a * n + b * e, d * e) for (a, b, d), (n, e) in zip(laws, places, strict=False)]
    ends = ((profile.low, laws[0]), (profile.high, laws[-1]))
    values += [Fraction((law[0] * t + law[1]) / law[2]) for t, law in ends if t is not None]
    return min(values)


def _negative(profile: Profile) -> Profile:
    return replace(profile, laws=profile.laws * np.array([-1, -1, 1], dtype=object), jump=-profile.jump)


@dataclass(frozen=True, slots=True, eq=False)
class _Variant:
    """A network that can be built."""

    hidden: int
    """Hidden layers."""
    neurons: int
    """At least so many."""
    cells: LineCells | None
    build: Callable[[Leading], Network]
    """With these segments; without cells there are none."""

    @property
    def whole(self) -> Leading:
        """One segment."""
        return np.asarray(np.arange(0 if self.cells is None else self.cells.knots) == 0)


_MANY = 50_000  # breakpoints up to which three layers are planned


def smallest(
    analysis: Analysis, minimize: Minimize, layers: Literal[1, 2, 3] | None = None
) -> tuple[Network, _Variant]:
    """The smallest network of a function that bends in one direction: with so many hidden layers, or up to three.

    Raises `ConstructionError` for other functions.

    >>> from cpwl.function import CPWL
    >>> zigzag = Analysis(CPWL.from_breakpoints(range(30), [i % 2 for i in range(30)]))
    >>> smallest(zigzag, "neurons", 1)[0].sizes.neurons, smallest(zigzag, "neurons")[0].sizes.neurons
    (29, 14)
    """
    wanted = 1 if minimize == "depth" and layers is None else layers
    ways = [way for way in _ways(analysis, wanted) if wanted in (None, way.hidden)]
    if not ways:
        raise ConstructionError(f"{len(analysis.profile.places)} breakpoints are too few for {layers} hidden layers")
    best: tuple[Network, _Variant] | None = None
    for way in sorted(ways, key=lambda way: (way.neurons, way.hidden)):
        if best is not None and minimize == "neurons" and way.neurons >= best[0].sizes.neurons:
            break
        network = way.build(way.whole)
        if best is None or _cost(network, minimize) < _cost(best[0], minimize):
            best = network, way
    assert best is not None
    return best


def _cost(network: Network, minimize: Minimize) -> tuple[int, ...]:
    sizes = network.sizes
    return getattr(sizes, minimize), sizes.neurons, sizes.depth


def _ways(analysis: Analysis, wanted: int | None) -> Iterator[_Variant]:
    """What can be built, each with its number of neurons (for one layer: the least that it may be)."""
    profile: Profile = analysis.profile
    m = len(profile.places)
    if wanted in (None, 1):
        yield _Variant(1, m, None, lambda _: hinge_network(analysis) if profile.rest.any() else one_layer(profile))
    if m < 3 or wanted == 1:
        return
    classes = Classes.from_signs(np.where(profile.jump > 0, 1, np.where(profile.jump < 0, -1, 0)))
    found = two_layers_plan(profile, classes)
    least = m
    if found is not None:
        plan, neurons = found
        least = min(m, neurons)
        yield _Variant(2, neurons, plan, partial(two_layers, profile, plan, classes))
    if profile.outputs == 1 and not profile.rest.any() and (wanted == 3 or (wanted is None and m <= _MANY)):
        plans = best_switching(classes, 2 * m if wanted == 3 else least - 2)
        counted = [(switching.neurons + carries(profile, switching), i) for i, switching in enumerate(plans)]
        if counted:
            neurons, i = min(counted)
            yield _Variant(3, neurons, plans[i].plan, partial(three_layers, profile, plans[i]))


def plan(analysis: Analysis) -> Plan:
    """The plan of the smallest network with one, two or three hidden layers, in segments if it rounds too much.

    If no segments are accurate enough, the most accurate ones.

    >>> from cpwl.function import CPWL
    >>> made = plan(Analysis(CPWL.from_breakpoints(range(30), [i % 2 for i in range(30)])))
    >>> made.sizes.neurons, made.sizes == made.build().sizes
    (14, True)
    """
    options, cloud = analysis.options, analysis.sample
    network, way = smallest(analysis.exact, options.minimize)
    made = last = Plan.of("univariate", network, cloud.points)
    if way.cells is None or predicted_error(made, options.precision, cloud.range) <= options.max_error:
        return made
    cuts, share, segments = _Segments.of(analysis.exact.profile, way.cells, network), 1.0, 1
    while (error := predicted_error(last, options.precision, cloud.range)) > options.max_error and segments < cuts.most:
        share *= min(options.max_error / error, 0.9) ** 2
        leading = cuts.within(share)
        segments = int(leading.sum())
        last = Plan.of("univariate", way.build(leading), cloud.points)
        made = min(made, last, key=lambda plan: plan.magnitude)
    return made


@dataclass(frozen=True, slots=True, eq=False)
class _Segments:
    """Where segments may begin, and how much rounding each may have: a dynamic program over their ends."""

    leads: NDArray[np.int64]
    """Knots: the first, and those where cells begin."""
    cost: NDArray[np.float64]
    """Up to a factor the variance that a segment from one of them to another, or to the end, adds at the right end."""
    knots: int

    @property
    def most(self) -> int:
        """How many segments there can be."""
        return len(self.leads)

    @classmethod
    def of(cls, profile: Profile, plan: LineCells, network: Network) -> _Segments:
        """From the weights of one segment: knots of a segment count with their distance to its end."""
        knots, _ = knots_of(plan)
        leads = np.concatenate([[0], np.searchsorted(knots, [begin - 1 for begin, _ in plan.cells[1:]])])
        leads = np.unique(leads)
        places = ratio_view(*profile.places[knots].T)
        places = places - places[0]
        weights = network.layers[1][0].tocsc()[:, : len(knots)].toarray()
        sums = np.stack([(weights**2).sum(axis=0) * places**k for k in range(3)])
        before = np.concatenate([np.zeros((3, 1)), np.cumsum(sums, axis=1)], axis=1)
        slopes = (np.cumsum(weights, axis=1)[:, leads] ** 2).sum(axis=0)
        last = places[-1] if profile.high is None else float(profile.high - Fraction(*profile.places[knots[0]]))
        ends, stop = np.append(places[leads[1:]], last), np.append(leads[1:], len(knots))
        inner = before[:, None, stop] - before[:, leads + 1, None]
        cost = ends**2 * inner[0] - 2 * ends * inner[1] + inner[2] + slopes[:, None] * (ends - places[leads, None]) ** 2
        return cls(leads, np.where(stop > leads[:, None], np.maximum(cost, 0.0), np.inf), len(knots))

    def within(self, share: float) -> Leading:
        """The fewest segments that have this share of the variance of a single one, or as many as there can be."""
        least, back = self.cost[0], [np.zeros(len(self.leads), dtype=np.int64)]
        while least[-1] > share * self.cost[0, -1] and len(back) < len(self.leads):
            every = least[:-1, None] + self.cost[1:]
            back.append(1 + every.argmin(axis=0))
            least = every.min(axis=0)
        leading = np.zeros(self.knots, dtype=bool)
        at = len(self.leads) - 1
        for before in back[::-1]:
            leading[self.leads[before[at]]] = True
            at = before[at] - 1
        return leading
