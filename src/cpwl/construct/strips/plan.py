"""Strips: fewer neurons than pieces for functions of two inputs on bounded domains, in four hidden layers.

The domain is cut into about ``sqrt(V)`` strips. A second-layer neuron is one arbitrary hinge in every strip, a *slot*:
between strips its weights on three first-layer neurons change it to another. So hinges and gates for one strip serve
all of them, and ``O(sqrt V)`` neurons are enough for `V` vertices. See docs/strips.md and
docs/theory/strips.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import fmpq

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import rounded_up
from cpwl.construct.blocks.hinges import hinge_network
from cpwl.construct.plan import Least, Plan
from cpwl.construct.select import Candidate, select
from cpwl.construct.strips.cuts import (
    CAPS,
    Cuts,
    Floats,
    Frame,
    Objects,
    choose_cuts,
    find_bars,
    fixed_neurons,
    frames,
    sweep,
)
from cpwl.construct.strips.slots import Geometry, System, fill_slots, find_bases, place_slabs
from cpwl.errors import ConstructionError
from cpwl.exact.integers import sign as sign_of
from cpwl.exact.rational import from_flint_array, to_flint, to_float
from cpwl.function import CPWL
from cpwl.function.bends.planar import PlanarBends
from cpwl.network import Network
from cpwl.network.program import Row, chained

# From slots and slabs to the layers of a plain network, all numbers exact.
#
# Per output, with `r` the affine part, `h` the hinges and `G` the gates of a system, ``g = r + h + G``::
#
#     layer 2   u, -u (all outputs); all slots, s(chi), s(-chi), r_1 - r_2 + C_1, r_2 + C_2
#     layer 3   the gates, h_1 - h_2 + (r_1 - r_2) + s(chi) - s(-chi) + C_3, h_2 + r_2 - s(chi) + C_4
#     layer 4   s(g_1 - g_2 + chi), g_2 - s(chi) + C_4
#     output    their sum, less C_4
#
# which is ``g_2 + s(g_1 - g_2 + chi) - s(chi)``, the switch of docs/theory/strips.md: it is `g_1` where ``chi >= g_2
# - g_1`` and ``chi >= 0``, and `g_2` where ``chi <= g_2 - g_1`` and ``chi <= 0``. In floats `chi`, a sum of large
# terms, is off; but it is added and taken away as one and the same number, so that this does not matter. With one
# base there is one system and no switch, and one layer less. `u` is 1 and -1 on strips in turn; a gate reads ``-M (1 -
# |u|)``, which is 0 there and turns it off in slabs. The constants are bounds from values at the corners of slabs and
# strips: there a sum of hinges, which is convex between them, is largest.


_MARGIN = 1.001
_SLACK = 1e-12  # for the rounding of a value, relative to its terms
Dense = tuple[Objects, Objects]
"""A layer as arrays of rationals, zeros included."""
_ZERO = fmpq(0)


def dense_layers(frame: Frame, geometry: Geometry, outputs: list[list[System]]) -> list[Dense]:
    """Weights and biases of the network of the slots of all outputs, which share the first layer and `u`."""
    blocks = [_Output(geometry, systems).layers() for systems in outputs]
    turns = np.full((2 if geometry.slabs else 0, _width(geometry)), _ZERO, dtype=object)
    if geometry.slabs:
        for k in range(len(geometry.slabs)):
            step = fmpq(-2 if k % 2 == 0 else 2)
            turns[0, 2 + 3 * k], turns[0, 4 + 3 * k] = step, -step
        turns[1] = -turns[0]
    level = np.array([fmpq(1), fmpq(-1)][: len(turns)], dtype=object)
    layers = [_first_layer(frame, geometry)]
    layers.append(
        (np.concatenate([turns, *(b[0][0] for b in blocks)]), np.concatenate([level, *(b[0][1] for b in blocks)]))
    )
    third = _diagonal([b[1] for b in blocks])
    off = np.concatenate([np.repeat(b[3][:, None], len(turns), axis=1) for b in blocks])
    layers.append((np.concatenate([off, third[0]], axis=1), third[1]))
    layers += [_diagonal([b[2][k] for b in blocks]) for k in range(len(blocks[0][2]))]
    return layers


def to_network(layers: list[Dense]) -> Network:
    """The network with these layers."""
    rows = [zip(weight, bias, strict=True) for weight, bias in layers]
    return chained([[Row(dict(enumerate(row)), shift) for row, shift in own] for own in rows], 2)


def _first_layer(frame: Frame, geometry: Geometry) -> Dense:
    """Two coordinates, then for each slab, in x, ``(xi - a) / (b - a)``, the diagonal and ``(xi - b) / (b - a)``."""
    forms = [(1 / geometry.unit[0], Fraction(0), -geometry.origin[0] / geometry.unit[0])]
    forms.append((Fraction(0), 1 / geometry.unit[1], -geometry.origin[1] / geometry.unit[1]))
    for slab in geometry.slabs:
        a, b, width, height = slab.begin, slab.end, slab.end - slab.begin, slab.high - slab.low
        forms.append((1 / width, Fraction(0), -a / width))
        forms.append((1 / width, -1 / height, -a / width + slab.low / height))
        forms.append((1 / width, Fraction(0), -b / width))
    rows = np.array([[to_flint(v) for v in form] for form in forms], dtype=object)
    t, u = (np.array(row, dtype=object) for row in (frame.t, frame.u))
    return rows[:, :1] * t + rows[:, 1:2] * u, rows[:, 2]


def with_steps(geometry: Geometry, layers: list[Dense]) -> list[Dense]:
    """The same functions with one more layer, in which nothing cancels: for slabs as high as the domain.

    With ``r = relu((b - xi) / (b - a))`` in the first layer, the second one has the *step* ``relu(1 - r)``, which is 0
    left of the slab and 1 right of it, ``relu((high - eta) / (high - low) - r)`` and ``relu(xi - b)``. These are
    ``n_1 - n_3``, ``n_2 - n_3`` and a multiple of ``n_3`` for the three neurons `n` of the slab in one layer.
    """
    count, (weight, bias) = len(geometry.slabs), layers[0]
    ramps = 4 + 3 * np.arange(count)  # n_3, of which ``r`` is the mirror image
    first = np.concatenate([weight[:2], -weight[ramps]]), np.concatenate([bias[:2], -bias[ramps]])
    second = np.full((_width(geometry), 2 + count), _ZERO, dtype=object)
    shift = np.full(len(second), _ZERO, dtype=object)
    second[0, 0] = second[1, 1] = fmpq(1)
    later = layers[1][0].copy()
    for k, slab in enumerate(geometry.slabs):
        step, height, room = 2 + 3 * k, to_flint(slab.high - slab.low), to_flint(geometry.unit[0])
        second[step, 2 + k] = second[step + 1, 2 + k] = fmpq(-1)
        second[step + 1, 1], second[step + 2, 0] = -to_flint(geometry.unit[1]) / height, fmpq(1)
        shift[step], shift[step + 1] = fmpq(1), to_flint(slab.high - geometry.origin[1]) / height
        shift[step + 2] = to_flint(geometry.origin[0] - slab.end) / room
        later[:, step + 2] = later[:, step : step + 3].sum(axis=1) * room / to_flint(slab.end - slab.begin)
    return [first, (second, shift), (later, layers[1][1]), *layers[2:]]


def _diagonal(blocks: list[Dense]) -> Dense:
    height, width = (sum(block[0].shape[k] for block in blocks) for k in (0, 1))
    weight = np.full((height, width), _ZERO, dtype=object)
    i = j = 0
    for block, _ in blocks:
        weight[i : i + block.shape[0], j : j + block.shape[1]] = block
        i, j = i + block.shape[0], j + block.shape[1]
    return weight, np.concatenate([bias for _, bias in blocks])


@dataclass(frozen=True, slots=True, eq=False)
class _Output:
    """Layers 2, 3, .. of one output."""

    geometry: Geometry
    systems: list[System]

    def layers(self) -> tuple[Dense, Dense, list[Dense], Objects]:
        """Layer 2 without `u`, layer 3, the others, and what layer 3 has on `u` and `-u`."""
        systems, geometry = self.systems, self.geometry
        bounds = [_Bounds(geometry, system) for system in systems]
        off = np.array([m for k, bound in enumerate(bounds) for m in bound.off(k)], dtype=object)
        gates = [sign for system in systems for sign, _ in system.wiring]
        slots = [self._spread(table) for system in systems for table in (system.hinges, system.gates)]
        laws = [self._spread(system.law[None]) for system in systems]
        if len(systems) == 1:
            lift = [to_flint(rounded_up(v)) for v in _single_lifts(bounds[0])]
            carried = [(laws[0][0], laws[0][1] + lift[0])]
        else:
            chi = _switch(geometry, bounds)
            lift = [to_flint(rounded_up(v)) for v in _lifts(bounds, chi)]
            carried = [(chi.row, chi.bias), (-chi.row, -chi.bias)]
            carried += [
                (laws[0][0] - laws[1][0], laws[0][1] - laws[1][1] + lift[0]),
                (laws[1][0], laws[1][1] + lift[1]),
            ]
        second = tuple(np.concatenate(parts) for parts in zip(*slots, *carried, strict=True))
        sums = len(systems)
        third = np.full((len(gates) + sums, len(second[1])), _ZERO, dtype=object)
        bias = np.full(len(third), _ZERO, dtype=object)
        bias[: len(off)] = -off
        g, at, last = 0, 0, len(second[1])
        for system, hinge_signs in zip(systems, ([1, 0], [-1, 1]), strict=False):
            for row, sign in zip(range(len(gates), len(third)), hinge_signs, strict=False):
                third[row, at : at + len(system.signs)] = [fmpq(sign * int(v)) for v in system.signs]
            at += len(system.signs)
            for _, size in system.wiring:
                third[g, at], third[g, at + 1 : at + 1 + size] = fmpq(1), fmpq(-1)
                g, at = g + 1, at + 1 + size
        off = np.concatenate([off, np.full(sums, _ZERO, dtype=object)])
        if len(systems) == 1:
            third[g, last - 1], bias[g] = fmpq(1), lift[1] - lift[0]
            final = np.array([[*map(fmpq, gates), fmpq(1)]], dtype=object)
            return (
                (second[0], second[1]),
                (third, bias),
                [(final, np.array([-lift[1]], dtype=object))],
                off,
            )
        third[g, last - 4 : last - 1] = [fmpq(1), fmpq(-1), fmpq(1)]
        third[g + 1, last - 4], third[g + 1, last - 1] = fmpq(-1), fmpq(1)
        bias[g], bias[g + 1] = lift[2] - lift[0], lift[3] - lift[1]
        fourth = np.full((2, len(third)), _ZERO, dtype=object)
        own = len(systems[0].wiring)
        fourth[0, :g] = [fmpq(v if k < own else -v) for k, v in enumerate(gates)]
        fourth[1, own:g] = [fmpq(v) for v in gates[own:]]
        fourth[0, g] = fourth[1, g + 1] = fmpq(1)
        ends = [(fourth, np.array([-lift[2], _ZERO], dtype=object))]
        ends.append((np.array([[fmpq(1), fmpq(1)]], dtype=object), np.array([-lift[3]], dtype=object)))
        return (second[0], second[1]), (third, bias), ends, off

    def _spread(self, table: Objects) -> Dense:
        """Rows on the first layer of what is `table[:, k]` on strip `k`.

        Across a slab a function changes by `d`: the three neurons take ``d(b, high)``, minus the rise of `d` in `eta`,
        and ``-d(a, low)``.
        """
        geometry = self.geometry
        weight = np.full((len(table), _width(geometry)), _ZERO, dtype=object)
        start = table[:, 0]
        weight[:, 0] = start[:, 0] * to_flint(geometry.unit[0])
        weight[:, 1] = start[:, 1] * to_flint(geometry.unit[1])
        for k, slab in enumerate(geometry.slabs):
            change = table[:, k + 1] - table[:, k]
            weight[:, 2 + 3 * k] = _value(change, slab.end, slab.high)
            weight[:, 3 + 3 * k] = -change[:, 1] * to_flint(slab.high - slab.low)
            weight[:, 4 + 3 * k] = -_value(change, slab.begin, slab.low)
        return weight, _value(start, *geometry.origin)


def _width(geometry: Geometry) -> int:
    """Of the first layer."""
    return 2 + 3 * len(geometry.slabs)


def _value(rows: Objects, x: Fraction, y: Fraction) -> Objects:
    return np.asarray(rows[:, 0] * to_flint(x) + rows[:, 1] * to_flint(y) + rows[:, 2], dtype=object)


class _Bounds:
    """Bounds of the parts of a system in boxes: a strip, a slab, and so on, from values at their corners.

    Arrays are by box and corner, or by strip, or by slab and the parts above and below its diagonal.
    """

    def __init__(self, geometry: Geometry, system: System) -> None:
        self.geometry, slabs = geometry, geometry.slabs
        breaks = [geometry.origin[0], *(x for slab in slabs for x in (slab.begin, slab.end)), geometry.corner[0]]
        self.x = np.array([[float(v) for v in pair] for pair in pairwise(breaks)])
        whole = (float(geometry.origin[1]), float(geometry.corner[1]))
        spans = [whole, *(span for slab in slabs for span in ((float(slab.low), float(slab.high)), whole))]
        self.y = np.array(spans)
        at = np.arange(len(breaks) - 1)
        self.strip = np.column_stack([at // 2, (at + 1) // 2])  # at the left and the right end of a box
        tables = (system.hinges, system.gates, system.law)
        self.hinges, self.gates, self.law = (to_float(from_flint_array(table)) for table in tables)
        self.signs, self.wiring = system.signs, system.wiring
        start = np.cumsum([0, *(1 + size for _, size in system.wiring)])
        self.outer, self.group = start[:-1], np.repeat(np.arange(len(system.wiring)), np.diff(start))
        self.inside = np.full(start[-1], -1)  # the sign of each slot of a gate inside it
        self.inside[self.outer] = 1
        self.gate_signs = np.array([sign for sign, _ in system.wiring], dtype=np.int64)
        self.value, self.slack = (v[0] for v in self._at(self.law[None]))
        self.sums, self.hinge_sums = dict[int, Floats](), dict[int, Floats]()
        for s in (1, -1):
            own = self.hinges[self.signs == s], self.gates[self.outer[self.gate_signs == s]]
            self.sums[s] = sum((self._sum(table) for table in own), np.zeros(self.value.shape))
            self.hinge_sums[s] = self._sum(own[0])

    def _at(self, view: Floats) -> tuple[Floats, Floats]:
        rows = view[:, self.strip[:, [0, 0, 1, 1]]]
        x, y = self.x[:, [0, 0, 1, 1]], self.y[:, [0, 1, 0, 1]]
        value = rows[..., 0] * x + rows[..., 1] * y + rows[..., 2]
        return value, _SLACK * (np.abs(rows[..., 0] * x) + np.abs(rows[..., 1] * y) + np.abs(rows[..., 2]))

    def _sum(self, view: Floats) -> Floats:
        """An upper bound of the sum of the hinges in a table."""
        value, slack = self._at(view)
        return np.asarray(np.maximum(value + slack, 0.0).sum(axis=0) * (1 + _SLACK))

    def falls(self, strip: int, sign: int, way: int, steep: float) -> float:
        """How fast ``sign`` times hinges and gates falls on a strip, at most, in directions ``(way, s)``."""
        own = np.concatenate([self.signs, self.gate_signs[self.group] * self.inside])
        rows = np.concatenate([self.hinges[:, strip], self.gates[:, strip]])
        return float(np.maximum(steep * np.abs(rows[:, 1]) - sign * way * own * rows[:, 0], 0.0).sum())

    def off(self, number: int) -> list[fmpq]:
        """For each gate the factor ``M`` of ``1 - |u|``, which rises at the rate 2 / width from both ends of a slab.

        Faster than what the gate reads else, at the slabs of its own system.
        """
        most = np.zeros(len(self.wiring))
        for k in range(number, len(self.geometry.slabs), 2):
            slab, (one, two) = self.geometry.slabs[k], (self.gates[:, k], self.gates[:, k + 1])
            a, b, low, high = (float(v) for v in (slab.begin, slab.end, slab.low, slab.high))
            width, change = b - a, two - one
            size = np.array([max(abs(a), abs(b)), max(abs(low), abs(high)), 1.0])
            doubt = _SLACK * ((np.abs(one) + np.abs(two)) @ size) / width
            above = np.abs(one[:, 1]), one[:, 0] + (change @ np.array([b, high, 1.0])) / width
            below = np.abs(two[:, 1]), two[:, 0] + (change @ np.array([a, low, 1.0])) / width
            for rise, slope in (above, below):
                for way in (1, -1):
                    need = np.maximum(slab.steep * rise + way * self.inside * slope + doubt, 0.0)
                    most = np.maximum(most, np.bincount(self.group, need, len(most)) * width / 2)
        return [to_flint(rounded_up(_MARGIN * float(v))) if v > 0 else _ZERO for v in most]


@dataclass(frozen=True, slots=True, eq=False)
class _Chi:
    """`chi` as a row on the first layer, and its values at the ends of the boxes."""

    row: Objects
    bias: Objects
    ends: Floats


def _switch(geometry: Geometry, bounds: list[_Bounds]) -> _Chi:
    """`chi`: 0 at the turns, and rising from there so fast that ``g_1 - g_2 + chi`` has its sign.

    In the strip around a turn it rises faster than ``g_1 - g_2`` falls. At the ends of a slab, and so inside it, it is
    larger than all of ``g_2 - g_1`` at the corners of the slab; also before the first slab and after the last one.
    """
    least = [_least(bounds[k % 2], bounds[1 - k % 2], k, len(geometry.slabs)) for k in range(len(geometry.slabs))]
    heights: list[Fraction] = []  # at the ends of the slabs
    for k, (turn, steep) in enumerate(zip(geometry.turns, geometry.steep, strict=True)):
        before, after = geometry.slabs[k].end, geometry.slabs[k + 1].begin
        needs = [least[k] / float(turn - before), least[k + 1] / float(after - turn)]
        for own, way in ((k, -1), (k + 1, 1)):
            one, two = bounds[own % 2], bounds[1 - own % 2]
            law, angle = one.law[k + 1] - two.law[k + 1], steep[max(way, 0)]
            size = np.abs(one.law[k + 1]) + np.abs(two.law[k + 1])
            fall = angle * abs(law[1]) - way * law[0] + _SLACK * (size[0] + angle * size[1])
            needs.append(float(fall) + one.falls(k + 1, 1, way, angle) + two.falls(k + 1, -1, way, angle))
        slope = rounded_up(_MARGIN * max(needs)) * (1 if k % 2 == 0 else -1)
        heights += [slope * (turn - before), slope * (turn - after)]
    heights = [heights[0], *heights, heights[-1]]  # as high at the outer ends
    row = np.full((1, _width(geometry)), _ZERO, dtype=object)
    places = [x for slab in geometry.slabs for x in (slab.begin, slab.end)]
    slopes = [Fraction(0), *((q - p) / (y - x) for (x, p), (y, q) in pairwise(zip(places, heights, strict=True)))]
    for i, (before_, after_) in enumerate(pairwise([*slopes, Fraction(0)])):
        slab = geometry.slabs[i // 2]
        row[0, 2 + 3 * (i // 2) + 2 * (i % 2)] = to_flint((after_ - before_) * (slab.end - slab.begin))
    levels = [float(v) for v in (heights[0], *heights, heights[-1])]
    return _Chi(row, np.array([to_flint(heights[0])], dtype=object), np.array(list(pairwise(levels))))


def _least(own: _Bounds, other: _Bounds, k: int, count: int) -> float:
    """How large `chi`, or `-chi`, must be where slab `k` is, for the own system to be chosen."""
    low = own.value - other.value - own.slack - other.slack - own.sums[-1] - other.sums[1]
    boxes = [2 * k + 1, *([0] if k == 0 else []), *([2 * count] if k == count - 1 else [])]
    return max(-float(low[boxes].min()), float(np.abs(low).max()) * 1e-9)


def _lifts(bounds: list[_Bounds], chi: _Chi) -> list[float]:
    """The constants that make the four carried sums positive."""
    one, two = bounds
    x = chi.ends[:, [0, 0, 1, 1]]
    low = [one.value - two.value - one.slack - two.slack, two.value - two.slack]
    low.append(low[0] + x - _SLACK * np.abs(x) - one.hinge_sums[-1] - two.hinge_sums[1])
    low.append(low[1] - two.sums[-1] - np.maximum(x, 0.0) * (1 + _SLACK))
    return [_lift(v) for v in low]


def _single_lifts(bound: _Bounds) -> list[float]:
    """The same for one system."""
    low = bound.value - bound.slack
    return [_lift(low), _lift(low - bound.hinge_sums[-1])]


def _lift(low: Floats) -> float:
    return max(0.0, -float(low.min())) * _MARGIN + 1e-9 * float(np.abs(low).max())


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where strips and slabs are, and the layers of the network as dense arrays of rationals."""

    cuts: Cuts
    geometry: Geometry
    layers: list[Dense]

    @property
    def network(self) -> Network:
        """The network with these layers."""
        return to_network(self.layers)


def lay_strips(analysis: Analysis, *, count: int | None = None, steps: bool = False) -> Layout | None:
    """A network with at most four hidden layers and ``O(sqrt V)`` neurons that equals `p` on its bounded domain.

    Pieces need not be triangles nor meet face to face. Exact data. `count` is the number of strips to cut into, as far
    as there are gaps; None: what takes the fewest neurons. `steps` are one more layer that makes it far more accurate.
    There is none if no jump changes along its line: then one hidden layer of hinges does.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 2], [0, 0, 0]])
    >>> float(lay_strips(Analysis(p)).network([1.0, 0.5])[0])
    0.5
    """
    dim = analysis.function.dim
    if dim != 2:
        raise ConstructionError(f"strips are for functions of 2 inputs, and this one has {dim}", dim=dim)
    bends = analysis.bends
    if not bends.bounded:
        raise ConstructionError("strips need a bounded domain, and this domain is unbounded")
    if len(bends.vertices) == 0:
        return None
    return _laid(analysis.solid.function, _cuts(bends, count), steps)


def _laid(p: CPWL, cuts: Cuts, steps: bool) -> Layout:
    """The network with these cuts."""
    bases = find_bases(p, cuts)
    slots = [fill_slots(p, cuts, bases, o) for o in range(p.outputs)]
    geometry = place_slabs(cuts, tall=steps)
    layers = dense_layers(cuts.sweep.frame, geometry, slots)
    return Layout(cuts, geometry, with_steps(geometry, layers) if steps and cuts.slabs else layers)


def _cuts(bends: PlanarBends, count: int | None) -> Cuts:
    bars = [find_bars(bends, o) for o in range(bends.start.shape[1])]
    signs = [sign_of(steps) for steps in bends.step.T]
    return choose_cuts([sweep(bends, frame, bars, signs) for frame in frames(bends)], count)


def plan(analysis: Analysis) -> Plan:
    """The plan of the network of `lay_strips`: with steps if it is not accurate enough without.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 2], [0, 0, 0]])
    >>> made = plan(Analysis(p))
    >>> made.sizes == made.build().sizes
    True
    """
    exact, points, options = analysis.exact, analysis.sample.points, analysis.options
    laid = lay_strips(exact)
    if laid is None:
        return Plan.of("strips", hinge_network(exact.solid), points)
    made = Candidate.of(Plan.of("strips", laid.network, points), analysis)
    if made.error <= options.max_error or not laid.cuts.slabs:
        return made.plan
    better = Plan.of("strips", _laid(exact.solid.function, laid.cuts, True).network, points)
    return select([made, Candidate.of(better, analysis)], options.minimize, options.max_error).best.plan


def least(analysis: Analysis) -> Least | None:
    """What gates and slabs take, whatever the direction, the cuts and the bases are (docs/auto.md has the proof).

    At a point where a jump changes along `d` lines there are ``d - 2`` inner kinks, and two more neurons for each gate.
    With `K` bases, one half strip of the larger system has at least its share ``1 / (2 ceil(K / 2))`` of all of them.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([range(4), range(4)], [[0, 3, 1, 2], [5, 3, 1, 0], [0, 2, 5, 4], [1, 0, 3, 0]])
    >>> least(Analysis(p)).neurons, plan(Analysis(p)).sizes.neurons
    (13, 20)
    """
    if analysis.function.dim != 2:
        return None
    bends = analysis.exact.bends
    count, outputs = len(bends.vertices), bends.start.shape[1]
    if not bends.bounded or count == 0:
        return None
    steps = (bends.step != 0).T.astype(bool)
    kinks = np.array([np.bincount(bends.vertex[own], minlength=count) - 2 for own in steps])
    taken = np.where(kinks > 0, kinks + 2 * -(-kinks // max(CAPS)), 0)
    total, most = taken.sum(axis=1), taken.max(axis=1)
    best, bases = fixed_neurons(0, outputs) + int(total.sum()), 1
    while (fixed := fixed_neurons(bases, outputs)) < best:
        shares = -(-total // (2 * -(-bases // 2)))
        best, bases = min(best, fixed + int(np.maximum(shares, most).sum())), bases + 1
    return Least(best, f"{count} points where a jump changes, with {kinks[kinks > 0].sum()} inner kinks", 4)
