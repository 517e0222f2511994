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
from cpwl.construct.plan import Plan
from cpwl.construct.strips.cuts import Cuts, Floats, Frame, Objects, choose_cuts, find_bars, frames, sweep
from cpwl.construct.strips.slots import FIRST, SECOND, Geometry, OutputSlots, Slab, fill_slots, find_bases, place_slabs
from cpwl.errors import ConstructionError
from cpwl.exact.integers import sign as sign_of
from cpwl.exact.rational import to_flint
from cpwl.function.bends.planar import PlanarBends
from cpwl.network import Network
from cpwl.network.program import Row, chained

# From slots and slabs to the layers of a plain network, all numbers exact.
#
# Per output, with `h` the hinges, `r` the affine part of a system, ``g_1 = r_1 + h_1 + gates`` and ``g_2 = r_2 +
# h_2``::
#
#     layer 2   all slots, s(chi), s(-chi), r_1 - r_2 + C_1, r_2 + C_2
#     layer 3   the gates, h_1 - h_2 + (r_1 - r_2) + s(chi) - s(-chi) + C_3, h_2 + r_2 - s(chi) + C_4
#     layer 4   s(g_1 - g_2 + chi), g_2 - s(chi) + C_4
#     output    their sum, less C_4
#
# which is ``g_2 + s(g_1 - g_2 + chi) - s(chi)``, the switch of docs/theory/strips.md: it is `g_1` where ``chi >= g_2
# - g_1`` and ``chi >= 0``, and `g_2` where ``chi <= g_2 - g_1`` and ``chi <= 0``. In floats `chi`, a sum of large
# terms, is off; but it is added and taken away as one and the same number, so that this does not matter. With one
# strip there is one system and no switch, and one layer less. The constants are bounds from values at the corners of
# slabs and intervals: there a sum of hinges, which is convex between them, is largest.


_MARGIN = 1.001
_SLACK = 1e-12  # for the rounding of a value, relative to its terms
Dense = tuple[Objects, Objects]
"""A layer as arrays of rationals, zeros included."""
_ZERO = fmpq(0)


def dense_layers(frame: Frame, geometry: Geometry, outputs: list[OutputSlots]) -> list[Dense]:
    """Weights and biases of the network of the slots of all outputs, which share the first layer."""
    blocks = [_Output(geometry, slots).layers() for slots in outputs]
    layers = [_first_layer(frame, geometry)]
    layers.append((np.concatenate([b[0][0] for b in blocks]), np.concatenate([b[0][1] for b in blocks])))
    layers += [_diagonal([b[k] for b in blocks]) for k in range(1, len(blocks[0]))]
    return layers


def to_network(layers: list[Dense]) -> Network:
    """The network with these layers."""
    rows = [zip(weight, bias, strict=True) for weight, bias in layers]
    return chained([[Row(dict(enumerate(row)), shift) for row, shift in own] for own in rows], 2)


def _first_layer(frame: Frame, geometry: Geometry) -> Dense:
    """Two coordinates, then for each slab, in x, ``(xi - a) / (b - a)``, the diagonal and ``(xi - b) / (b - a)``.

    A second slab has its first line from the first slab at whose end it begins.
    """
    forms = [(1 / geometry.unit[0], Fraction(0), -geometry.origin[0] / geometry.unit[0])]
    forms.append((Fraction(0), 1 / geometry.unit[1], -geometry.origin[1] / geometry.unit[1]))
    for number, slab in enumerate((*geometry.first, *geometry.second)):
        a, b, width, height = slab.begin, slab.end, slab.end - slab.begin, slab.high - slab.low
        if number < len(geometry.first):
            forms.append((1 / width, Fraction(0), -a / width))
        forms.append((1 / width, -1 / height, -a / width + slab.low / height))
        forms.append((1 / width, Fraction(0), -b / width))
    rows = np.array([[to_flint(v) for v in form] for form in forms], dtype=object)
    t, u = (np.array(row, dtype=object) for row in (frame.t, frame.u))
    return rows[:, :1] * t + rows[:, 1:2] * u, rows[:, 2]


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
    slots: OutputSlots

    def layers(self) -> list[Dense]:
        if not self.geometry.first:
            return self._one_strip()
        slots, geometry = self.slots, self.geometry
        corners = _Corners(geometry, slots)
        chi = _switch(geometry, corners)
        law, other = self._spread(slots.law[None], 1), self._spread(slots.second_law[None], 2)
        change = (law[0] - other[0], law[1] - other[1])
        lift = [to_flint(rounded_up(v)) for v in corners.lifts(chi)]
        slot_rows = [self._spread(slots.first, 1), self._spread(slots.second, 2)]
        carried = [(chi.row, chi.bias), (-chi.row, -chi.bias)]
        carried += [(change[0], change[1] + lift[0]), (other[0], other[1] + lift[1])]
        second = tuple(np.concatenate(parts) for parts in zip(*slot_rows, *carried, strict=True))
        n1, n2, gates = len(slots.first), len(slots.second), len(slots.gates)
        third, bias = self._gates(2, n1 + n2 + 4)
        third[gates, : len(slots.hinges)] = slots.hinges.tolist()
        third[gates, n1 : n1 + n2] = (-slots.second_hinges).tolist()
        third[gates + 1, n1 : n1 + n2] = slots.second_hinges.tolist()
        third[gates, n1 + n2] = third[gates, n1 + n2 + 2] = third[gates + 1, n1 + n2 + 3] = 1
        third[gates, n1 + n2 + 1] = third[gates + 1, n1 + n2] = -1
        bias[gates], bias[gates + 1] = lift[2] - lift[0], lift[3] - lift[1]
        fourth = np.full((2, gates + 2), 0, dtype=object)
        fourth[0, :gates] = [sign for sign, _ in slots.gates]
        fourth[0, gates] = fourth[1, gates + 1] = 1
        last = np.array([[1, 1]], dtype=object)
        ends = [(fourth, np.array([-lift[2], _ZERO], dtype=object)), (last, np.array([-lift[3]], dtype=object))]
        return [(second[0], second[1]), *((weight * fmpq(1), bias) for weight, bias in [(third, bias), *ends])]

    def _one_strip(self) -> list[Dense]:
        """One system: layer 2 has the slots and ``r + C``, layer 3 the gates and ``h + r + C'``."""
        slots = self.slots
        corners = _Corners(self.geometry, slots)
        law = self._spread(slots.law[None], 1)
        lift = [to_flint(rounded_up(v)) for v in corners.single_lifts()]
        rows, biases = self._spread(slots.first, 1)
        second = (np.concatenate([rows, law[0]]), np.concatenate([biases, law[1] + lift[0]]))
        n1, gates = len(slots.first), len(slots.gates)
        third, bias = self._gates(1, n1 + 1)
        third[gates, : len(slots.hinges)] = slots.hinges.tolist()
        third[gates, n1] = 1
        bias[gates] = lift[1] - lift[0]
        last = np.array([[*(sign for sign, _ in slots.gates), 1]], dtype=object)
        return [second, (third * fmpq(1), bias), (last * fmpq(1), np.array([-lift[1]], dtype=object))]

    def _gates(self, more: int, width: int) -> Dense:
        """The rows of the gates, ``l - sum m_i``, and empty ones."""
        gates = self.slots.gates
        weight = np.full((len(gates) + more, width), 0, dtype=object)
        at = len(self.slots.hinges)
        for k, (_, size) in enumerate(gates):
            weight[k, at] = 1
            weight[k, at + 1 : at + 1 + size] = -1
            at += 1 + size
        return weight, np.full(len(gates) + more, _ZERO, dtype=object)

    def _spread(self, table: Objects, system: int) -> Dense:
        """Rows on the first layer of what is `table[:, k]` on strip `k`.

        Across a slab a function changes by `d`: the three neurons take ``d(b, high)``, minus the rise of `d` in `eta`,
        and ``-d(a, low)``.
        """
        geometry = self.geometry
        slabs = geometry.first if system == 1 else geometry.second
        weight = np.full((len(table), _width(geometry)), _ZERO, dtype=object)
        start = table[:, 0]
        weight[:, 0] = start[:, 0] * to_flint(geometry.unit[0])
        weight[:, 1] = start[:, 1] * to_flint(geometry.unit[1])
        for k, slab in enumerate(slabs):
            change = table[:, k + 1] - table[:, k]
            (one, scale), two, three = _lines(geometry, k, system)
            weight[:, one] = _value(change, slab.end, slab.high) * to_flint(scale)
            weight[:, two] = -change[:, 1] * to_flint(slab.high - slab.low)
            weight[:, three] = -_value(change, slab.begin, slab.low)
        return weight, _value(start, *geometry.origin)


def _width(geometry: Geometry) -> int:
    """Of the first layer."""
    return 2 + 3 * len(geometry.first) + 2 * len(geometry.second)


def _lines(geometry: Geometry, k: int, system: int) -> tuple[tuple[int, Fraction], int, int]:
    """The neurons of slab `k`; that of its first line may be of another width, so a factor comes with it."""
    if system == 1:
        return (2 + 3 * k, Fraction(1)), 3 + 3 * k, 4 + 3 * k
    at = 2 + 3 * len(geometry.first) + 2 * k
    one, two = geometry.first[k], geometry.second[k]
    return (4 + 3 * k, (one.end - one.begin) / (two.end - two.begin)), at, at + 1


def _value(rows: Objects, x: Fraction, y: Fraction) -> Objects:
    return np.asarray(rows[:, 0] * to_flint(x) + rows[:, 1] * to_flint(y) + rows[:, 2], dtype=object)


@dataclass(frozen=True, slots=True, eq=False)
class _Switch:
    """`chi` as a row on the first layer, and its values at the ends of the intervals."""

    row: Objects
    bias: Objects
    ends: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Corners:
    """Values of all slots at the four corners of every interval, with room for rounding: ``(slots, intervals, 4)``."""

    geometry: Geometry
    slots: OutputSlots

    def _at(self, table: Objects, system: int) -> tuple[Floats, Floats]:
        view = to_floats(table)
        intervals = self.geometry.intervals
        strips = np.array([i.one if system == 1 else i.two for i in intervals])[:, [0, 0, 1, 1]]
        x = np.array([[float(v) for v in (i.begin, i.begin, i.end, i.end)] for i in intervals])
        y = np.array([[float(v) for v in (i.low, i.high, i.low, i.high)] for i in intervals])
        rows = view[:, strips]
        value = rows[..., 0] * x + rows[..., 1] * y + rows[..., 2]
        size = np.abs(rows[..., 0] * x) + np.abs(rows[..., 1] * y) + np.abs(rows[..., 2])
        return value, _SLACK * size

    def _sum(self, table: Objects, system: int) -> Floats:
        """An upper bound of the sum of the hinges in a table."""
        value, slack = self._at(table, system)
        return np.asarray(np.maximum(value + slack, 0.0).sum(axis=0) * (1 + _SLACK))

    def parts(self) -> dict[str, Floats]:
        """Bounds of sums at the corners: hinges of the systems and gates, each by sign."""
        slots, hinges = self.slots, self.slots.hinges
        outer, at = [], len(hinges)
        for sign, size in slots.gates:
            outer.append((at, sign))
            at += 1 + size
        found = {}
        for name, s in (("+", 1), ("-", -1)):
            found["h1" + name] = self._sum(slots.first[: len(hinges)][hinges == s], 1)
            found["g" + name] = self._sum(slots.first[[i for i, sign in outer if sign == s]], 1)
            if self.geometry.first:
                found["h2" + name] = self._sum(slots.second[slots.second_hinges == s], 2)
        return found

    def change(self) -> tuple[Floats, Floats]:
        """``r_1 - r_2`` and its rounding."""
        one, two = self._at(self.slots.law[None], 1), self._at(self.slots.second_law[None], 2)
        return one[0][0] - two[0][0], one[1][0] + two[1][0]

    def _gradients(self, table: Objects, system: int) -> tuple[Floats, Floats]:
        """Slopes of rows in the two parts that a diagonal leaves of every interval, ``(slots, intervals, 2, 2)``.

        And the rounding of those in `xi`, ``(slots, intervals, 1)``.
        """
        view = to_floats(table)
        found = np.zeros((len(view), len(self.geometry.intervals), 2, 2))
        slack = np.zeros((len(view), len(self.geometry.intervals), 1))
        for i, interval in enumerate(self.geometry.intervals):
            k, l = interval.one if system == 1 else interval.two
            found[:, i, 0], found[:, i, 1] = view[:, k, :2], view[:, l, :2]
            if k != l:
                a, b, low, high = (float(v) for v in (interval.begin, interval.end, interval.low, interval.high))
                change = view[:, l] - view[:, k]
                found[:, i, 0, 0] += (change @ np.array([b, high, 1.0])) / (b - a)
                found[:, i, 1, 0] += (change @ np.array([a, low, 1.0])) / (b - a)
                size = np.abs([max(abs(a), abs(b)), max(abs(low), abs(high)), 1.0])
                slack[:, i, 0] = _SLACK * ((np.abs(view[:, k]) + np.abs(view[:, l])) @ size) / (b - a)
        return found, slack

    def slopes(self) -> list[float]:
        """How fast `chi` must rise in each interval for ``g_1 - g_2 + chi`` to rise in all directions that matter."""
        slots = self.slots
        steep = np.array([interval.steep for interval in self.geometry.intervals])[:, None]
        inner = [s * w for s, size in slots.gates for w in (1, *[-1] * size)]
        signs = np.concatenate([slots.hinges, np.array(inner, dtype=np.int64)])
        (one, doubt), (two, more) = self._gradients(slots.law[None], 1), self._gradients(slots.second_law[None], 2)
        law = one[0] - two[0]
        need = steep * np.abs(law[..., 1]) - law[..., 0] + doubt[0] + more[0]
        for table, system, sign in ((slots.first, 1, signs), (slots.second, 2, -slots.second_hinges)):
            rows, doubt = self._gradients(table, system)
            steps = steep * np.abs(rows[..., 1]) - sign[:, None, None] * rows[..., 0] + doubt
            need = need + np.maximum(steps, 0.0).sum(axis=0)
        return [float(v) for v in need.max(axis=1)]

    def lifts(self, chi: _Switch) -> list[float]:
        """The constants that make the four carried sums positive."""
        part, (change, slack) = self.parts(), self.change()
        value, more = self._at(self.slots.second_law[None], 2)
        x = chi.ends[:, [0, 0, 1, 1]]
        low = [change - slack, value[0] - more[0]]
        low.append(low[0] + x - _SLACK * np.abs(x) - part["h1-"] - part["h2+"])
        low.append(low[1] - part["h2-"] - np.maximum(x, 0.0) * (1 + _SLACK))
        return [max(0.0, -float(v.min())) * _MARGIN + 1e-9 * float(np.abs(v).max()) for v in low]

    def single_lifts(self) -> list[float]:
        """The same for one strip."""
        part, (value, more) = self.parts(), self._at(self.slots.law[None], 1)
        low = [value[0] - more[0]]
        low.append(low[0] - part["h1-"])
        return [max(0.0, -float(v.min())) * _MARGIN + 1e-9 * float(np.abs(v).max()) for v in low]


def to_floats(table: Objects) -> Floats:
    """Rationals as floats, each correctly rounded."""
    flat = [int(v.p) / int(v.q) for v in table.ravel()]
    return np.array(flat, dtype=np.float64).reshape(table.shape)


def _switch(geometry: Geometry, corners: _Corners) -> _Switch:
    """`chi`: 0 where a first slab ends, and rising there so fast that ``g_1 - g_2 + chi`` rises with it.

    Since ``g_1 = g_2`` on that line, it is then negative in the slab before it and positive after it. In the first
    interval, which has no such line, `chi` is larger than ``g_2 - g_1`` is at its corners.
    """
    part, (change, slack) = corners.parts(), corners.change()
    below = (slack - change + part["h1-"] + part["g-"] + part["h2+"])[0].max()  # of g_2 - g_1, at first
    slopes = corners.slopes()
    least = float(max(slopes)) * 2.0**-20
    knots: list[tuple[Fraction, Fraction]] = []
    for i, interval in enumerate(geometry.intervals):
        rise = rounded_up(_MARGIN * max(slopes[i], least)) * (interval.end - interval.begin)
        if interval.right == SECOND:
            knots += [(interval.begin, -rise), (interval.end, Fraction(0))]
        elif interval.right == FIRST:
            first = rounded_up(_MARGIN * max(float(below), least * float(geometry.unit[0])))
            knots.append((interval.end, rise if i else first))
    return _through(geometry, knots)


def _through(geometry: Geometry, knots: list[tuple[Fraction, Fraction]]) -> _Switch:
    """The function of `xi` through these points, which bends on lines of slabs, as a row on the first layer."""
    place: dict[Fraction, tuple[int, Slab]] = {}
    for k, slab in enumerate(geometry.first):
        place[slab.begin], place[slab.end] = (2 + 3 * k, slab), (4 + 3 * k, slab)
    for k, slab in enumerate(geometry.second):
        place[slab.end] = (_lines(geometry, k, 2)[2], slab)
    slopes = [(v - y) / (u - x) for (x, y), (u, v) in pairwise(knots)]
    row = np.full((1, _width(geometry)), _ZERO, dtype=object)
    row[0, 0] = to_flint(slopes[0] * geometry.unit[0])
    for (x, _), before, after in zip(knots[1:-1], slopes[:-1], slopes[1:], strict=True):
        column, slab = place[x]
        row[0, column] += to_flint((after - before) * (slab.end - slab.begin))
    x0, y0 = knots[0]
    bias = y0 + slopes[0] * (geometry.origin[0] - x0)
    known = dict(knots)
    first = geometry.intervals[0].begin
    known[first] = bias + slopes[0] * (first - geometry.origin[0])
    ends = np.array([[float(known[i.begin]), float(known[i.end])] for i in geometry.intervals])
    return _Switch(row, np.array([to_flint(bias)], dtype=object), ends)


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


def lay_strips(analysis: Analysis, *, count: int | None = None) -> Layout | None:
    """A network with at most four hidden layers and ``O(sqrt V)`` neurons that equals `p` on its bounded domain.

    Pieces need not be triangles nor meet face to face. Exact data. `count` is the number of strips to cut into, as far
    as there are gaps; None: what takes the fewest neurons. There is none if no jump changes along its line: then one
    hidden layer of hinges does.

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
    p = analysis.solid.function
    cuts = _cuts(bends, count)
    bases = find_bases(p, cuts)
    slots = [fill_slots(p, cuts, bases, o) for o in range(p.outputs)]
    geometry = place_slabs(cuts)
    return Layout(cuts, geometry, dense_layers(cuts.sweep.frame, geometry, slots))


def _cuts(bends: PlanarBends, count: int | None) -> Cuts:
    bars = [find_bars(bends, o) for o in range(bends.start.shape[1])]
    signs = [sign_of(steps) for steps in bends.step.T]
    return choose_cuts([sweep(bends, frame, bars, signs) for frame in frames(bends)], count)


def plan(analysis: Analysis) -> Plan:
    """The plan of the network of `lay_strips`.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 2], [0, 0, 0]])
    >>> made = plan(Analysis(p))
    >>> made.sizes == made.build().sizes
    True
    """
    exact, points = analysis.exact, analysis.sample.points
    laid = lay_strips(exact)
    if laid is None:
        return Plan.of("strips", hinge_network(exact.solid), points)
    return Plan.of("strips", laid.network, points)
