"""What each slot holds in each strip: affine functions of the frame's coordinates, exact.

A base has a point in its gap. There all its hinges and gates are 0 (hinges are oriented away from it), so the affine
part is the law at that point (docs/theory/strips.md, sweep)::

    f = law + sum over bars at the base, or ending in the boundary inside the strip, of jump relu(+-l) + sum_v S_v

`S_v` has the steps of the jumps at `v`, on the side away from the base. With ``X`` the distance from `v` in `xi` to
that side and ``Y = eta - eta_v``, it is ``X gamma(Y / X)`` for ``X > 0`` and 0 elsewhere. Since the steps balance,
`gamma` is 0 outside its first and last kink ``p_1, p_d``: a difference of two concave functions, each a *gate*::

    relu(relu(c (Y - p_1 X)) - sum_i relu(D_i (Y - p_i X))),     c = sum_i D_i (p_d - p_i) / (p_d - p_1)

On ``X <= 0`` what is inside is at most 0, as ``c <= sum_i D_i``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq

from cpwl.construct.blocks.common import Rational
from cpwl.construct.strips.cuts import Cuts, Floats, Ints, Objects, StripSweep
from cpwl.errors import ConstructionError, LimitError
from cpwl.function import CPWL
from cpwl.function.evaluate import find_pieces

Affine = tuple[Rational, Rational, Rational]
ZERO: Affine = (fmpq(0), fmpq(0), fmpq(0))


@dataclass(frozen=True, slots=True)
class Base:
    """A point where sweeps begin, in the frame, and the piece that holds it."""

    xi: Fraction
    eta: Fraction
    piece: int


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """The slots of a system for one output: ``(slots, strips, 3)`` arrays of rationals, and how they are wired."""

    hinges: Objects
    signs: Ints
    """Of the hinges."""
    gates: Objects
    """For each gate `l` and its `m_i`."""
    wiring: tuple[tuple[int, int], ...]
    """Sign and number of kinks of each gate."""
    law: Objects
    """``(strips, 3)``: affine parts."""


@dataclass(frozen=True, slots=True)
class _HingeForm:
    sign: int
    form: Affine


@dataclass(frozen=True, slots=True)
class _GateForm:
    sign: int
    outer: Affine
    inner: tuple[Affine, ...]


def short(x: float, room: float) -> Fraction:
    """A number of few bits within `room` of `x`.

    >>> short(0.3, 0.1)
    Fraction(5, 16)
    """
    if not (math.isfinite(x) and 0 < room < math.inf):
        raise LimitError(
            "the coordinates of this function differ too much in size for strips in float64; use another construction"
        )
    unit = Fraction(2) ** int(np.frexp(room)[1] - 1)
    return round(Fraction(x) / unit) * unit


def find_bases(p: CPWL, cuts: Cuts) -> dict[int, Base]:
    """For each gap that needs one a point in it, away from all bars, and a piece that holds it."""
    sweep = cuts.sweep
    found: dict[int, tuple[Fraction, Fraction]] = {}
    for q in sorted({*cuts.gaps, *cuts.bases}):
        low, high = sweep.gap(q)
        xi = short((low + high) / 2, (high - low) / 16)
        found[q] = (xi, _level(sweep, q, float(xi)))
    t, u, d = sweep.frame.t, sweep.frame.u, sweep.frame.determinant
    places = [((x * u[1] - y * t[1]) / d, (y * t[0] - x * u[0]) / d) for x, y in found.values()]
    pieces = find_pieces(p, np.array([[float(v) for v in place] for place in places]))
    rows, start = p.polyhedra.integer(), p.polyhedra.start
    bases = {}
    for (q, (xi, eta)), place, guess in zip(found.items(), places, pieces.tolist(), strict=True):
        piece = guess
        if guess < 0 or not _holds(rows[start[guess] : start[guess + 1]], place):
            held = (i for i in range(p.num_pieces) if _holds(rows[start[i] : start[i + 1]], place))
            piece = next(held, -1)
        if piece < 0:
            raise ConstructionError(f"no piece contains the point ({place[0]}, {place[1]}) of the domain", point=place)
        bases[q] = Base(xi, eta, int(piece))
    return bases


def _holds(rows: Objects, x: tuple[Fraction, Fraction]) -> bool:
    return all(a * x[0] + b * x[1] <= c for a, b, c in rows)


def _level(sweep: StripSweep, q: int, xi: float) -> Fraction:
    """A height in the domain at `xi`, in a wide space between bars near the middle."""
    low, high = section(sweep.corners, xi, xi)
    heights = [np.array([low, high])]
    for bars, (first, last) in zip(sweep.bars, sweep.span, strict=True):
        rows = sweep.view[bars.line[(first < q) & (q <= last)]]
        heights.append(-(rows[:, 0] * xi + rows[:, 2]) / rows[:, 1])
    levels = np.sort(np.clip(np.concatenate(heights), low, high))
    room, middle = np.diff(levels), (levels[1:] + levels[:-1]) / 2
    k = int(np.argmax(room * (1.1 - np.abs(2 * (middle - low) / (high - low) - 1))))
    return short(float(middle[k]), float(room[k]) / 8)


def section(corners: Floats, begin: float, end: float) -> tuple[float, float]:
    """The range of heights of a convex polygon between two abscissae."""
    x, y = corners.T
    inside = (x >= begin) & (x <= end)
    heights = [y[inside]]
    for at in (begin, end):
        one, two = np.flatnonzero(x <= at), np.flatnonzero(x >= at)
        i, k = (grid.ravel() for grid in np.meshgrid(one, two))
        apart = x[k] > x[i]
        i, k = i[apart], k[apart]
        heights.append(y[i] + (y[k] - y[i]) * (at - x[i]) / (x[k] - x[i]))
    every = np.concatenate(heights)
    return float(every.min()), float(every.max())


def fill_slots(p: CPWL, cuts: Cuts, bases: dict[int, Base], output: int) -> list[System]:
    """The slots of one output, as few as the tally of `cuts` says: every other base belongs to the same system.

    Strip `k` lies between the slabs of bases ``k - 1`` and `k`. A system keeps the hinges of a base on both sides of
    its slab, and changes its gates there; all changes at the slabs of the other system.
    """
    sweep = cuts.sweep
    ends = [0, *cuts.gaps, len(sweep.event)]
    stars = _StarGates(sweep, output)
    systems = []
    for first in range(min(2, len(cuts.bases))):
        own = range(first, len(cuts.bases), 2)
        hinges = [_hinges(sweep, output, bases[cuts.bases[k]], ends[k], ends[k + 1], cuts.bases[k]) for k in own]
        halves = []
        for k in own:
            q = cuts.bases[k]
            halves += [stars.gates(ends[k], q, q, cuts.cap), stars.gates(q, ends[k + 1], q, cuts.cap)]
        if not cuts.slabs:
            halves = [halves[0] + halves[1]]
        strips = np.arange(len(cuts.bases) + 1) if cuts.slabs else np.zeros(1, dtype=np.int64)
        at = np.clip(strips - first, 0, len(halves) - 1)  # its half strip on each strip
        columns, signs = _columns(hinges)
        gates, wiring = _wired(halves)
        laws = np.array([_law(p, sweep, bases[cuts.bases[k]].piece, output) for k in own], dtype=object)
        lines, rows = _table(columns, len(hinges)), _table(gates, len(halves))
        signs_ = np.array(signs, dtype=np.int64)
        systems.append(System(lines[:, at // 2], signs_, rows[:, at], wiring, laws.reshape(-1, 3)[at // 2]))
    return systems


def _table(columns: list[list[Affine]], strips: int) -> Objects:
    table = np.empty((len(columns), strips, 3), dtype=object)
    for i, column in enumerate(columns):
        for k, form in enumerate(column):
            table[i, k] = form
    return table


def _law(p: CPWL, sweep: StripSweep, piece: int, output: int) -> Affine:
    row = p.laws.integer()[piece, output]
    form, d = sweep.frame.rows(row[None, :3])
    a, b, c = (fmpq(int(v), int(row[3]) * d) for v in form[0])
    return a, b, c


def _scaled(sweep: StripSweep, line: int, factor: Fraction) -> Affine:
    below = int(sweep.divisor[line]) * factor.denominator
    a, b, c = (fmpq(int(v) * factor.numerator, below) for v in sweep.rows[line])
    return a, b, c


def _hinges(sweep: StripSweep, output: int, base: Base, begin: int, end: int, q: int) -> list[_HingeForm]:
    """The hinges of a strip, from below upwards where they are at its base."""
    bars, (first, last) = sweep.bars[output], sweep.span[output]
    chosen = (first < q) & (q <= last)
    chosen |= sweep.enters[output] & (first >= q) & (first < end)
    chosen |= sweep.leaves[output] & (last < q) & (last >= begin)
    which = np.flatnonzero(chosen)
    rows = sweep.view[bars.line[which]]
    height = -(rows[:, 0] * float(base.xi) + rows[:, 2]) / rows[:, 1]
    found = []
    for i in which[np.argsort(height, kind="stable")].tolist():
        jump, line = bars.jump[i], int(bars.line[i])
        a, b, c = sweep.rows[line]
        below = a * base.xi + b * base.eta + c < 0  # the base point is below the line
        sign = 1 if jump > 0 else -1
        found.append(_HingeForm(sign, _scaled(sweep, line, abs(jump) if below else -abs(jump))))
    return found


@dataclass(frozen=True, slots=True)
class _Kink:
    sign: int
    slope: Rational
    rate: Rational
    form: Affine


class _StarGates:
    """The gates of the points of `V*`, for one output."""

    def __init__(self, sweep: StripSweep, output: int) -> None:
        self.sweep, self.output = sweep, output
        vertex, self.line, self.number = sweep.kinks[output]
        self.start = np.searchsorted(vertex, np.arange(len(sweep.vertex) + 1))
        self.order = np.argsort(sweep.vertex, kind="stable")
        self.sorted = sweep.vertex[self.order]

    def gates(self, begin: int, end: int, q: int, cap: int) -> list[_GateForm]:
        """Of the points at events ``begin .. end - 1``, swept away from gap `q`."""
        found = []
        for k in range(np.searchsorted(self.sorted, begin), np.searchsorted(self.sorted, end)):
            found += self._star(int(self.order[k]), 1 if self.sorted[k] >= q else -1, cap)
        return found

    def _star(self, v: int, side: int, cap: int) -> list[_GateForm]:
        """Both gates of a point, split into such of at most `cap` kinks."""
        own = range(self.start[v], self.start[v + 1])
        # Mirrored, slopes change their sign and so their order.
        kinks = [_Kink(*self._kink(i, side)) for i in (own if side > 0 else reversed(own))]
        found = []
        for sign in (1, -1):
            inner = [kink for kink in kinks[1:-1] if kink.sign == sign]
            for k in range(0, len(inner), cap):
                part = inner[k : k + cap]
                first, last = kinks[0], kinks[-1]
                total = sum((m.rate * (last.slope - m.slope) for m in part), fmpq(0)) / (last.slope - first.slope)
                a, b, c = (v * total / first.form[1] for v in first.form)
                found.append(_GateForm(sign, (a, b, c), tuple(m.form for m in part)))
        return found

    def _kink(self, i: int, side: int) -> tuple[int, Rational, Rational, Affine]:
        """The sign of the gate that a step belongs to, its slope, the rate ``D`` and the form ``D (Y - p X)``."""
        line = int(self.line[i])
        step = self.sweep.steps[self.number[i], self.output]
        sign = -side if (step > 0) == (self.sweep.right[line] > 0) else side
        form = _scaled(self.sweep, line, abs(step))
        return sign, -form[0] / form[1] * side, form[1], form


def _wired(halves: list[list[_GateForm]]) -> tuple[list[list[Affine]], tuple[tuple[int, int], ...]]:
    """The parts of the gates as lists of what they hold in each half strip, and how they are wired."""
    columns: list[list[Affine]] = []
    wiring: list[tuple[int, int]] = []
    for sign in (1, -1):
        ranked = [sorted((g for g in own if g.sign == sign), key=lambda g: -len(g.inner)) for own in halves]
        for k in range(max(map(len, ranked))):
            held = [own[k] if k < len(own) else _GateForm(sign, ZERO, ()) for own in ranked]
            size = max(len(g.inner) for g in held)
            columns.append([g.outer for g in held])
            columns += [[g.inner[i] if i < len(g.inner) else ZERO for g in held] for i in range(size)]
            wiring.append((sign, size))
    return columns, tuple(wiring)


def _columns(hinges: list[list[_HingeForm]]) -> tuple[list[list[Affine]], list[int]]:
    """Slots for hinges, those with a plus first."""
    columns, signs = [], []
    for sign in (1, -1):
        own = [[h.form for h in strip if h.sign == sign] for strip in hinges]
        count = max(map(len, own), default=0)
        columns += [[x[k] if k < len(x) else ZERO for x in own] for k in range(count)]
        signs += [sign] * count
    return columns, signs


# Slabs: where the affine functions that the slots hold change from strip to strip.
#
# In a slab ``[a, b] x [low, high]`` lie the lines ``xi = a``, ``xi = b`` and a diagonal. Their hinges span all affine
# functions, so right of the slab a sum of first-layer neurons can be any affine function, whatever it was to the left;
# in the slab it is junk, between its values at the corners. Slabs lie inside the gaps of the bases, and all numbers
# have few bits.


@dataclass(frozen=True, slots=True)
class Slab:
    """``[begin, end] x [low, high]`` in the frame, with its diagonal from the lower left to the upper right."""

    begin: Fraction
    end: Fraction
    low: Fraction
    high: Fraction
    steep: float
    """How steeply a way must go at most from the nearer of the lines to a point of the domain in the slab."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The slabs, and between them the lines where the systems change roles."""

    slabs: tuple[Slab, ...]
    turns: tuple[Fraction, ...]
    steep: tuple[tuple[float, float], ...]
    """How steeply a way must go at most from a turn to a point of the domain before the slabs to the left, right."""
    origin: tuple[Fraction, Fraction]
    """A point below and to the left of the domain."""
    corner: tuple[Fraction, Fraction]
    """A point above and to the right of it."""
    unit: tuple[Fraction, Fraction]
    """Powers of two, about the width and the height of the domain."""


def place_slabs(cuts: Cuts, *, tall: bool = False) -> Geometry:
    """A slab in the middle of the gap of each base, and a turn in the middle of each gap that is cut.

    Tall slabs are as high as the whole domain, others as what they have of it.
    """
    sweep, corners = cuts.sweep, cuts.sweep.corners
    (x_low, y_low), (x_high, y_high) = corners.min(axis=0), corners.max(axis=0)
    room_x, room_y = x_high - x_low, y_high - y_low
    origin = (_below(x_low, room_x), _below(y_low, room_y))
    corner = (-_below(-x_high, room_x), -_below(-y_high, room_y))
    slabs, turns = [], []
    for q in cuts.bases if cuts.slabs else ():
        u, w = sweep.gap(q)
        width = Fraction(2) ** int(np.frexp(0.6 * (w - u))[1] - 1)
        middle = short((u + w) / 2, (w - u) / 64)
        a, b = middle - width / 2, middle + width / 2
        steep = max(_steep(sweep, float(a), float(a), float(middle)), _steep(sweep, float(b), float(middle), float(b)))
        low, high = (origin[1], corner[1]) if tall else _range(sweep, a, b)
        slabs.append(Slab(a, b, low, high, steep))
    for q in cuts.gaps:
        u, w = sweep.gap(q)
        turns.append(short((u + w) / 2, (w - u) / 16))
    steeps = [
        (_steep(sweep, float(z), float(one.end), float(z)), _steep(sweep, float(z), float(z), float(two.begin)))
        for z, one, two in zip(turns, slabs[:-1], slabs[1:], strict=True)
    ]
    return Geometry(tuple(slabs), tuple(turns), tuple(steeps), origin, corner, (_power(room_x), _power(room_y)))


def _steep(sweep: StripSweep, at: float, begin: float, end: float) -> float:
    """The steepest of the shortest ways from the section of the domain at one end of an interval to its points."""
    left, right = sweep.corners[:, 0].min(), sweep.corners[:, 0].max()
    if not left <= at <= right:
        return 0.0
    low, high = section(sweep.corners, at, at)
    other = min(max(begin + end - at, left), right)
    points = [(x, y) for x, y in sweep.corners.tolist() if begin <= x <= end]
    points += [(other, y) for y in section(sweep.corners, other, other)]
    ways = [max(0.0, y - high, low - y) / abs(x - at) for x, y in points if x != at]
    return max(ways, default=0.0) * 1.001


def _range(sweep: StripSweep, begin: Fraction, end: Fraction) -> tuple[Fraction, Fraction]:
    """Short numbers below and above the domain between two abscissae."""
    low, high = section(sweep.corners, float(begin), float(end))
    room = float(np.ptp(sweep.corners[:, 1]))
    return _below(low, room), -_below(-high, room)


def _below(x: float, room: float) -> Fraction:
    """A short number that is less than `x` by at most a sixteenth of `room`."""
    unit = _power(room) / 16
    return (Fraction(x) - unit / 2**20) // unit * unit


def _power(room: float) -> Fraction:
    return Fraction(2) ** int(np.frexp(room)[1] - 1)
