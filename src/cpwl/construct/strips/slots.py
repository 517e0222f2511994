"""What each slot holds in each strip: affine functions of the frame's coordinates, exact.

A strip has a base point in the gap of its base. There all its hinges and gates are 0 (hinges are oriented away from
it), so its affine part is the law at that point (docs/theory/strips.md, sweep)::

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
from itertools import pairwise

import numpy as np
from flint import fmpq

from cpwl.construct.blocks.common import Rational
from cpwl.construct.strips.cuts import Cuts, Floats, Ints, Objects, Sweep
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
class OutputSlots:
    """The slots of one output: ``(slots, strips, 3)`` arrays of rationals, and how they are wired."""

    first: Objects
    """Of the first system: hinges, then for each gate `l` and its `m_i`."""
    hinges: Ints
    """Signs of its hinges."""
    gates: tuple[tuple[int, int], ...]
    """Sign and number of kinks of each gate."""
    law: Objects
    """``(strips, 3)``: affine parts of the first system."""
    second: Objects
    """Of the second system, a strip around each cut: hinges only."""
    second_hinges: Ints
    second_law: Objects


@dataclass(frozen=True, slots=True)
class _Hinge:
    sign: int
    form: Affine


@dataclass(frozen=True, slots=True)
class _Gate:
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


def _level(sweep: Sweep, q: int, xi: float) -> Fraction:
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


def fill_slots(p: CPWL, cuts: Cuts, bases: dict[int, Base], output: int) -> OutputSlots:
    """All slots of one output, as few as the tally of `cuts` says."""
    sweep = cuts.sweep
    ends = [0, *cuts.gaps, len(sweep.event)]
    hinges, gates = [], []
    stars = _Stars(sweep, output)
    for k, q in enumerate(cuts.bases):
        hinges.append(_hinges(sweep, output, bases[q], ends[k], ends[k + 1], q))
        gates.append(stars.gates(ends[k], ends[k + 1], q, cuts.cap))
    first, signs, wiring = _first_system(hinges, gates)
    around = [_hinges(sweep, output, bases[q], q, q, q) for q in cuts.gaps]
    second, second_signs = _columns(around)
    laws = [_law(p, sweep, bases[q].piece, output) for q in cuts.bases]
    second_laws = [_law(p, sweep, bases[q].piece, output) for q in cuts.gaps]
    return OutputSlots(
        _table(first, len(cuts.bases)),
        np.array(signs, dtype=np.int64),
        wiring,
        np.array(laws, dtype=object).reshape(-1, 3),
        _table(second, len(cuts.gaps)),
        np.array(second_signs, dtype=np.int64),
        np.array(second_laws, dtype=object).reshape(-1, 3),
    )


def _table(columns: list[list[Affine]], strips: int) -> Objects:
    table = np.empty((len(columns), strips, 3), dtype=object)
    for i, column in enumerate(columns):
        for k, form in enumerate(column):
            table[i, k] = form
    return table


def _law(p: CPWL, sweep: Sweep, piece: int, output: int) -> Affine:
    row = p.laws.integer()[piece, output]
    form, d = sweep.frame.rows(row[None, :3])
    a, b, c = (fmpq(int(v), int(row[3]) * d) for v in form[0])
    return a, b, c


def _scaled(sweep: Sweep, line: int, factor: Fraction) -> Affine:
    below = int(sweep.divisor[line]) * factor.denominator
    a, b, c = (fmpq(int(v) * factor.numerator, below) for v in sweep.rows[line])
    return a, b, c


def _hinges(sweep: Sweep, output: int, base: Base, begin: int, end: int, q: int) -> list[_Hinge]:
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
        found.append(_Hinge(sign, _scaled(sweep, line, abs(jump) if below else -abs(jump))))
    return found


@dataclass(frozen=True, slots=True)
class _Kink:
    sign: int
    slope: Rational
    rate: Rational
    form: Affine


class _Stars:
    """The gates of the points of `V*`, for one output."""

    def __init__(self, sweep: Sweep, output: int) -> None:
        self.sweep, self.output = sweep, output
        vertex, self.line, self.number = sweep.kinks[output]
        self.start = np.searchsorted(vertex, np.arange(len(sweep.vertex) + 1))
        self.order = np.argsort(sweep.vertex, kind="stable")
        self.sorted = sweep.vertex[self.order]

    def gates(self, begin: int, end: int, q: int, cap: int) -> list[_Gate]:
        """Of the points at events ``begin .. end - 1``, swept away from gap `q`."""
        found = []
        for k in range(np.searchsorted(self.sorted, begin), np.searchsorted(self.sorted, end)):
            found += self._star(int(self.order[k]), 1 if self.sorted[k] >= q else -1, cap)
        return found

    def _star(self, v: int, side: int, cap: int) -> list[_Gate]:
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
                found.append(_Gate(sign, (a, b, c), tuple(m.form for m in part)))
        return found

    def _kink(self, i: int, side: int) -> tuple[int, Rational, Rational, Affine]:
        """The sign of the gate that a step belongs to, its slope, the rate ``D`` and the form ``D (Y - p X)``."""
        line = int(self.line[i])
        step = self.sweep.steps[self.number[i], self.output]
        sign = -side if (step > 0) == (self.sweep.right[line] > 0) else side
        form = _scaled(self.sweep, line, abs(step))
        return sign, -form[0] / form[1] * side, form[1], form


def _first_system(
    hinges: list[list[_Hinge]], gates: list[list[_Gate]]
) -> tuple[list[list[Affine]], list[int], tuple[tuple[int, int], ...]]:
    """Slots as lists of what they hold in each strip: hinges of either sign, then the parts of the gates."""
    columns: list[list[Affine]] = []
    wiring: list[tuple[int, int]] = []
    kept: list[list[_Hinge]] = [[] for _ in hinges]
    for sign in (1, -1):
        ranked = [sorted((g for g in own if g.sign == sign), key=lambda g: -len(g.inner)) for own in gates]
        count = max(map(len, ranked))
        sizes = [max(len(own[k].inner) for own in ranked if k < len(own)) for k in range(count)]
        own_hinges = [[h for h in own if h.sign == sign] for own in hinges]
        needed = max(0, *(len(h) + len(g) - count for h, g in zip(own_hinges, ranked, strict=True)))
        for k, (lines, full) in enumerate(zip(own_hinges, ranked, strict=True)):
            kept[k] += lines[:needed]
            full += [_Gate(sign, h.form, ()) for h in lines[needed:]]
        for k, size in enumerate(sizes):
            held = [own[k] if k < len(own) else _Gate(sign, ZERO, ()) for own in ranked]
            columns.append([g.outer for g in held])
            columns += [[g.inner[i] if i < len(g.inner) else ZERO for g in held] for i in range(size)]
            wiring.append((sign, size))
    first, signs = _columns(kept)
    return first + columns, signs, tuple(wiring)


def _columns(hinges: list[list[_Hinge]]) -> tuple[list[list[Affine]], list[int]]:
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
# in the slab it is junk, between its values at the corners. There are two systems of slabs in different places: those
# of
# the first lie inside the gaps that were cut, those of the second begin where they end and reach to the next gap, so
# that
# they share a line. All numbers have few bits.


BOTH, FIRST, SECOND = 0, 1, 2
"""Which system is right on an interval."""


@dataclass(frozen=True, slots=True)
class Slab:
    """``[begin, end] x [low, high]`` in the frame, with its diagonal from the lower left to the upper right."""

    begin: Fraction
    end: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    """A part of the domain between two lines, the strips of both systems at its two ends, and which is right."""

    begin: Fraction
    end: Fraction
    low: Fraction
    high: Fraction
    right: int
    one: tuple[int, int]
    two: tuple[int, int]
    steep: float
    """How steeply a way must go at most from the line where `chi` is 0 to a point of the domain in the interval."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The slabs of the two systems, and the intervals between all their lines, from left to right."""

    first: tuple[Slab, ...]
    second: tuple[Slab, ...]
    intervals: tuple[Interval, ...]
    origin: tuple[Fraction, Fraction]
    """A point below and to the left of the domain."""
    unit: tuple[Fraction, Fraction]
    """Powers of two, about the width and the height of the domain."""


def place_slabs(cuts: Cuts) -> Geometry:
    """Slabs for the gaps of `cuts`: a first one in the middle of each, second ones from its end into the next gap."""
    corners = cuts.sweep.corners
    (x_low, y_low), (x_high, y_high) = corners.min(axis=0), corners.max(axis=0)
    room_x, room_y = x_high - x_low, y_high - y_low
    left, right = _below(x_low, room_x), -_below(-x_high, room_x)
    inner, before = [], []
    for q in cuts.gaps:
        u, w = cuts.sweep.gap(q)
        width = Fraction(2) ** int(np.frexp(0.6 * (w - u))[1] - 1)
        middle = short((u + w) / 2, (w - u) / 64)
        inner.append((middle - width / 2, middle + width / 2))
        before.append(middle - width * Fraction(3, 4))  # so that the proof finds it from the slab
    outer = [(b, u) for (_, b), u in zip(inner[:-1], before[1:], strict=True)]
    breaks = [x for (a, b), u in zip(inner, before, strict=True) for x in (u, a, b)]
    intervals = _intervals(cuts.sweep, [left, *breaks, right], len(inner))
    origin = (left, _below(y_low, room_y))
    unit = (_power(room_x), _power(room_y))
    return Geometry(_slabs(cuts.sweep, inner), _slabs(cuts.sweep, outer), intervals, origin, unit)


def _intervals(sweep: Sweep, breaks: list[Fraction], cuts: int) -> tuple[Interval, ...]:
    """The right ones are, for each cut: first, both, second; and first after the last."""
    found = []
    for i, (begin, end) in enumerate(pairwise(breaks)):
        k, part = divmod(i, 3)
        right = (FIRST, BOTH, SECOND)[part]
        one = (k, k + 1) if part == 2 else (k, k)
        two = (max(k - 1, 0), min(k, max(cuts - 1, 0))) if part == 0 else (k, k)
        low, high = _range(sweep, begin, end)
        steep = _steep(sweep, float(end if right == SECOND else begin), float(begin), float(end))
        found.append(Interval(begin, end, low, high, right, one, two, steep))
    return tuple(found)


def _steep(sweep: Sweep, at: float, begin: float, end: float) -> float:
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


def _slabs(sweep: Sweep, ends: list[tuple[Fraction, Fraction]]) -> tuple[Slab, ...]:
    return tuple(Slab(a, b, *_range(sweep, a, b)) for a, b in ends)


def _range(sweep: Sweep, begin: Fraction, end: Fraction) -> tuple[Fraction, Fraction]:
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
