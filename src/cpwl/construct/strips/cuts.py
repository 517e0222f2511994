"""Where to cut a domain into strips: as few neurons as a local search finds, counted exactly.

A choice is a list of gaps for *bases*, where sweeps begin, and of gaps to cut in between. What a base needs on either
side, up to the cuts, is counted by differences of running sums: hinges (the bars that cross the base or end in the
boundary before the cuts) and gates of each size, by sign. Every other base belongs to the same system, and a slot of a
system serves all its bases and both their sides, so each kind costs its maximum over these half strips. A gate with `a`
kinks takes ``a + 2`` neurons, so with ``N_a`` = gates with at least `a` kinks they take ``2 max N_1 + sum_a max N_a``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import ConstructionError
from cpwl.exact.integers import ratio_view, sign
from cpwl.function.bends.planar import PlanarBends

# A function of two inputs as seen by a vertical line that sweeps across its domain, in a direction that can be chosen.
#
# In the frame ``xi = t.x``, ``eta = u.x`` every bend line is ``A xi + B eta + C = 0``, ``B > 0``. Along it the jump is
# a step function of `xi`. *Events* are the places where it changes: the points of `V*`, and the ends of bend lines in
# the boundary of the domain. Between two consecutive events is a *gap*; gap `q` lies before event `q`. Floats order the
# events; only gaps that are wide beyond all rounding are ever used, so that every decision about them is right.


_TURNS = ((1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (1, 2), (2, -1), (1, -2))
_MORE = tuple((n, s * m) for n, m in ((7, 3), (3, 7), (16, 1), (1, 16), (29, 13), (13, 29), (101, 7)) for s in (1, -1))
_SAFE = 1e-11  # gaps narrower than this, relative to the coordinates, are not used

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Objects = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Frame:
    """``xi = t.x`` and ``eta = u.x`` for integer rows `t`, `u`."""

    t: tuple[int, int]
    u: tuple[int, int]

    @property
    def determinant(self) -> int:
        """Of the matrix with rows `t` and `u`."""
        return self.t[0] * self.u[1] - self.t[1] * self.u[0]

    def rows(self, forms: Objects) -> tuple[Objects, int]:
        """Forms ``(a, b, c)`` in x as forms in ``(xi, eta)``, times the positive number returned."""
        d = self.determinant
        s = 1 if d > 0 else -1
        a, b, c = forms.T
        alpha, beta = (a * self.u[1] - b * self.u[0]) * s, (b * self.t[0] - a * self.t[1]) * s
        return np.column_stack([alpha, beta, c * abs(d)]).astype(object), abs(d)

    def points(self, places: Objects) -> Floats:
        """``(xi, eta)`` of points ``(X, Y, W)``, each correctly rounded."""
        both = np.column_stack([places[:, :2].dot(np.array(row, dtype=object)) for row in (self.t, self.u)])
        return ratio_view(both.reshape(-1, 2).astype(object), places[:, 2:])


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Maximal segments of bend lines with one jump that is not 0, for one output, along the directions of the lines.

    A bar runs from the point `first` of `V*` to `last`; -1 is the boundary of the domain.
    """

    line: Ints
    first: Ints
    last: Ints
    jump: Objects


def find_bars(bends: PlanarBends, output: int) -> Bars:
    """The bars of one output, in the order of the lines."""
    moving = np.flatnonzero(np.asarray(bends.step[:, output] != 0))
    along = bends.lines[bends.line[moving]]
    places = bends.vertices[bends.vertex[moving]]
    place = ratio_view(along[:, 1] * places[:, 0] - along[:, 0] * places[:, 1], places[:, 2] * _size(along))
    order = moving[np.lexsort((place, bends.line[moving]))]
    steps: dict[int, list[int]] = {}
    for i in order.tolist():
        steps.setdefault(int(bends.line[i]), []).append(i)
    found: list[tuple[int, int, int, Fraction]] = []
    for h, start in enumerate(bends.start[:, output].tolist()):  # A loop over lines: each has its own running sum.
        jump, at = start, -1
        for i in _exact_order(bends, steps.get(h, [])):
            v = int(bends.vertex[i])
            if jump:
                found.append((h, at, v, jump))
            jump, at = jump + bends.step[i, output], v
        if jump:
            found.append((h, at, -1, jump))
    line, first, last = (np.array([bar[k] for bar in found], dtype=np.int64) for k in range(3))
    jumps = np.empty(len(found), dtype=object)
    jumps[:] = [bar[3] for bar in found]
    return Bars(line, first, last, jumps)


def _size(along: Objects) -> Objects:
    return np.maximum(np.abs(along[:, 0]), np.abs(along[:, 1]))


def _exact_order(bends: PlanarBends, steps: list[int]) -> list[int]:
    """Steps on one line in the order of its direction; floats have sorted them up to ties."""
    if len(steps) < 2:
        return steps
    a, b, _ = bends.lines[bends.line[steps[0]]]
    places = [bends.vertices[bends.vertex[i]] for i in steps]
    key = [Fraction(int(b * x - a * y), int(w)) for x, y, w in places]
    return [steps[i] for i in sorted(range(len(steps)), key=key.__getitem__)]


@dataclass(frozen=True, slots=True, eq=False)
class StripSweep:
    """All that a sweep in one frame meets; lists run over outputs."""

    frame: Frame
    rows: Objects
    """``(k, 3)`` integers: the forms of the bend lines in ``(xi, eta)``, rising with `eta`."""
    divisor: Objects
    """Jumps are multiples of `rows / divisor`."""
    view: Floats
    """`rows / divisor` in floats."""
    right: Ints
    """1 if the line runs to the right, -1 if it runs to the left."""
    corners: Floats
    """The corners of the domain in the frame."""
    event: Floats
    """`xi` of the events, in order."""
    vertex: Ints
    """The event of each point of `V*`."""
    width: Floats
    """Of the gaps, one more than events."""
    bars: list[Bars]
    span: list[tuple[Ints, Ints]]
    """Each bar crosses the gaps ``first < q <= last`` of these events (its left and its right end)."""
    enters: list[NDArray[np.bool_]]
    """Whether the left end of a bar is in the boundary."""
    leaves: list[NDArray[np.bool_]]
    kinks: list[tuple[Ints, Ints, Ints]]
    """Steps by (vertex, line, number in `PlanarBends`), sorted by vertex and slope; only those that are not 0."""
    signs: list[Ints]
    """Of the changes of the jumps at `kinks`, going to the right."""
    steps: Objects
    """Those of `PlanarBends`."""

    def gap(self, q: int) -> tuple[float, float]:
        """The ends of a gap."""
        low, high = float(self.corners[:, 0].min()), float(self.corners[:, 0].max())
        return (self.event[q - 1] if q else low), (self.event[q] if q < len(self.event) else high)

    @property
    def safe(self) -> NDArray[np.bool_]:
        """Gaps that are wide beyond rounding."""
        return self.width > _SAFE * max(float(np.abs(self.corners[:, 0]).max()), 1e-300)


def frames(bends: PlanarBends) -> list[Frame]:
    """Directions in which no bend line is vertical: along the axes, then turned ones, in units of the domain's size."""
    x = ratio_view(bends.corners[:, :2], bends.corners[:, 2:])
    size = np.frexp(np.ptp(x, axis=0))[1]
    e, f = (int(v) for v in size - size.min())  # xi = n x / 2^e + m y / 2^f, times a power of two
    found = []
    slopes = bends.lines[:, :2]
    for n, m in (*_TURNS, *_MORE):
        t, u = _short(n << f, m << e), _short(-m << f, n << e)
        vertical = sign(slopes[:, 0] * t[1] - slopes[:, 1] * t[0]) == 0
        if not vertical.any():
            found.append(Frame(t, u))
        if len(found) >= len(_TURNS):
            break
    return found


def _short(a: int, b: int) -> tuple[int, int]:
    while a % 2 == 0 and b % 2 == 0:
        a, b = a // 2, b // 2
    return a, b


def sweep(bends: PlanarBends, frame: Frame, bars: list[Bars], signs: list[Ints] | None = None) -> StripSweep:
    """The events of a sweep in this frame; `signs` of the steps of each output, if they are known."""
    rows, d = frame.rows(bends.lines)
    rising = np.where(rows[:, 1] > 0, 1, -1)
    right = np.where(np.asarray(bends.lines[:, 1] * frame.t[0] - bends.lines[:, 0] * frame.t[1] > 0), 1, -1)
    rows = rows * rising.astype(object)[:, None]
    divisor = bends.scale * d
    corners = frame.points(bends.corners)
    view = ratio_view(rows, divisor[:, None])
    slope = ratio_view(-rows[:, 0], rows[:, 1])
    x, y, w = (int(v) for v in bends.corners[0])
    x0, y0 = (row[0] * x + row[1] * y for row in (frame.t, frame.u))
    lines, edges = (_from(forms, x0, y0, w) for forms in (rows, frame.rows(bends.boundary)[0]))
    ends = _ends(lines, edges) + float(Fraction(x0, w))
    xi = frame.points(bends.vertices)[:, 0]
    sides = []
    for bar in bars:
        turned = right[bar.line] < 0
        left, last = np.where(turned, bar.last, bar.first), np.where(turned, bar.first, bar.last)
        sides.append((bar.line, left, last))
    rim = [np.concatenate([ends[line[v < 0], k] for line, *both in sides for v in (both[k],)]) for k in (0, 1)]
    every = np.concatenate([xi, *rim])
    order = np.argsort(every, kind="stable")
    place = np.empty(len(every), dtype=np.int64)
    place[order] = np.arange(len(every))
    span, enters, leaves = _spans(sides, place, len(xi), len(rim[0]))
    event = every[order]
    low, high = corners[:, 0].min(), corners[:, 0].max()
    width = np.diff(np.concatenate([[low], event, [high]]))
    kinks = [_kinks(bends, o, rows, slope) for o in range(len(bars))]
    steps = [sign(bar_steps) for bar_steps in bends.step.T] if signs is None else signs
    turned_signs = [steps[o][number] * right[line] for o, (_, line, number) in enumerate(kinks)]
    at = place[: len(xi)]
    fixed = (frame, rows, divisor, view, right, corners, event, at, width)
    return StripSweep(*fixed, bars, span, enters, leaves, kinks, turned_signs, bends.step)


def _from(rows: Objects, x: int, y: int, w: int) -> Floats:
    """Forms in coordinates from the point ``(x / w, y / w)``, as floats of one size: far from 0 nothing cancels."""
    moved = np.column_stack([rows[:, :2] * w, rows[:, 0] * x + rows[:, 1] * y + rows[:, 2] * w]).astype(object)
    return ratio_view(moved, np.maximum(np.abs(moved[:, 0]), np.abs(moved[:, 1]))[:, None])


def _ends(lines: Floats, edges: Floats) -> Floats:
    """`xi` where each line enters and leaves the domain, on which all edges are at least 0."""
    slope, level = -lines[:, 0] / lines[:, 1], -lines[:, 2] / lines[:, 1]
    rate = edges[None, :, 0] + edges[None, :, 1] * slope[:, None]  # along the line an edge is rate xi + value
    value = edges[None, :, 2] + edges[None, :, 1] * level[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        at = -value / rate
    flat = np.abs(rate) < 1e-14 * (np.abs(edges[None, :, 0]) + np.abs(edges[None, :, 1] * slope[:, None]))
    first = np.where((rate > 0) & ~flat, at, -np.inf).max(axis=1)
    last = np.where((rate < 0) & ~flat, at, np.inf).min(axis=1)
    return np.column_stack([first, last])


def _spans(
    sides: list[tuple[Ints, Ints, Ints]], place: Ints, vertices: int, entries: int
) -> tuple[list[tuple[Ints, Ints]], list[NDArray[np.bool_]], list[NDArray[np.bool_]]]:
    """The events at the two ends of each bar; those in the boundary are numbered after the points, entries first."""
    span, enters, leaves = [], [], []
    base = [vertices, vertices + entries]
    for _, *both in sides:
        found = []
        for k, v in enumerate(both):
            number = v.copy()
            outside = np.flatnonzero(v < 0)
            number[outside] = base[k] + np.arange(len(outside))
            base[k] += len(outside)
            found.append(place[number])
        span.append((found[0], found[1]))
        enters.append(np.asarray(both[0] < 0))
        leaves.append(np.asarray(both[1] < 0))
    return span, enters, leaves


def _kinks(bends: PlanarBends, output: int, rows: Objects, slope: Floats) -> tuple[Ints, Ints, Ints]:
    """The steps that are not 0, by vertex and slope; slopes that round to one number are compared exactly."""
    number = np.flatnonzero(np.asarray(bends.step[:, output] != 0))
    number = number[np.lexsort((slope[bends.line[number]], bends.vertex[number]))]
    vertex, line = bends.vertex[number], bends.line[number]
    tied = (vertex[1:] == vertex[:-1]) & (slope[line[1:]] == slope[line[:-1]])
    for v in np.unique(vertex[1:][tied]):
        own = np.flatnonzero(vertex == v)
        exact = [Fraction(int(-rows[line[i], 0]), int(rows[line[i], 1])) for i in own]
        number[own] = number[own[sorted(range(len(own)), key=exact.__getitem__)]]
    return vertex, bends.line[number], number


CAPS = (2, 3, 4, 6)  # the most kinks of one gate
_BASES = 14  # gaps tried as the base of a strip
_WINDOW = 12  # gaps tried for a cut on either side of where it is
_REFINED = 6  # choices that the local search starts from, at least
_CUTS = 120  # cuts in all of them, at least
_SHARPNESS = (0.5, 1.0, 2.0, 4.0)  # of the smooth maximum that it lowers
_PASSES = 3  # over all cuts, for each sharpness
_LARGE = 60.0
_SHARED = 2  # coordinates
_SLAB, _OFF = 3, 2  # neurons of a slab, and those that turn all gates off in slabs
_CARRIED, _SWITCHED = 2, 8  # what one system and what two need beside their slots, for each output


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Bases of strips and the cuts between them, as gaps, with the number of neurons they lead to."""

    sweep: StripSweep
    cap: int
    """The most kinks of one gate; larger ones are split."""
    gaps: tuple[int, ...]
    bases: tuple[int, ...]
    neurons: int
    slabs: bool
    """Whether gates change at the bases; a single base may do without."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Running counts along a sweep: by gap, output and sign (0: plus)."""

    cap: int
    crossing: Ints
    """``(gaps, m, 2)``: bars that cross the gap."""
    entered: Ints
    """Bars that have begun in the boundary before the gap."""
    left: Ints
    """Bars that have ended in the boundary before the gap."""
    gates: Ints
    """``(gaps, m, 2, cap)``: gates with at least 1, .., cap kinks at points before the gap, swept to the right."""
    cut: NDArray[np.bool_]
    """Gaps wide enough to cut in."""
    base: NDArray[np.bool_]
    """Gaps wide enough for the slab of a base."""
    weights: Floats
    """What one more of each feature of a half strip costs: one for each hinge and kink, two more for each gate."""

    def halves(self, begin: Ints, end: Ints, base: Ints) -> Ints:
        """Features of the left and right halves of strips: by output and sign `N_1 .. N_cap`, and hinges of both."""
        right = self.gates[end] - self.gates[base]
        left = (self.gates[base] - self.gates[begin])[..., ::-1, :]  # swept to the left, signs are exchanged
        hinges = self.crossing[base] + self.entered[end] - self.entered[base] + self.left[base] - self.left[begin]
        both = np.stack([np.concatenate([own, hinges[..., None]], axis=-1) for own in (left, right)], axis=-4)
        return np.asarray(both.reshape(*both.shape[:-3], -1))

    def neurons(self, gaps: Ints, bases: Ints) -> int:
        """All hidden neurons of the network with these cuts, and a slab at each base."""
        outputs, last = self.crossing.shape[1], len(self.crossing) - 1
        ends = np.concatenate([[0], gaps, [last]]).astype(np.int64)
        rows = self.halves(ends[:-1], ends[1:], bases)
        slots = sum(float(rows[k::2].max(axis=(0, 1)) @ self.weights) for k in range(min(2, len(bases))))
        return int(fixed_neurons(len(bases), outputs) + slots)

    def alone(self, bases: Ints) -> Ints:
        """The same for one base and no slab: gates of both halves."""
        outputs, last = self.crossing.shape[1], len(self.crossing) - 1
        rows = self.halves(np.zeros_like(bases), np.full_like(bases, last), bases)
        rows = rows.reshape(len(bases), 2, -1, self.cap + 1)
        gates = rows[..., :-1].sum(axis=1)
        both = np.concatenate([gates, rows[:, 0, :, -1:]], axis=-1).reshape(len(bases), -1)
        return np.asarray(both @ self.weights + fixed_neurons(0, outputs)).astype(np.int64)


def fixed_neurons(slabs: int, outputs: int) -> int:
    """All neurons but those of hinges and gates: coordinates, slabs, two that turn gates off there, and carriers.

    >>> fixed_neurons(0, 1), fixed_neurons(1, 1), fixed_neurons(2, 1)
    (4, 9, 18)
    """
    beside = (_SWITCHED if slabs > 1 else _CARRIED) * outputs
    return _SHARED + beside + (_SLAB * slabs + _OFF if slabs else 0)


def tally(sweep: StripSweep, cap: int) -> Tally:
    """The running counts of a sweep, with gates of at most `cap` kinks."""
    gaps, m = len(sweep.event) + 1, len(sweep.bars)
    crossing, entered, left = (np.zeros((gaps + 1, m, 2), dtype=np.int64) for _ in range(3))
    gates = np.zeros((gaps, m, 2, cap), dtype=np.int64)
    for o, bars in enumerate(sweep.bars):
        minus = np.asarray(bars.jump < 0).astype(np.int64)
        first, last = sweep.span[o]
        _add(crossing, first + 1, o, minus, 1)
        _add(crossing, last + 1, o, minus, -1)
        for counts, chosen, at in ((entered, sweep.enters[o], first), (left, sweep.leaves[o], last)):
            _add(counts, at[chosen] + 1, o, minus[chosen], 1)
        for s, number in enumerate(_inner(sweep, o)):
            full, rest = np.divmod(number, cap)
            more = full[:, None] + (rest[:, None] >= np.arange(1, cap + 1))
            gates[sweep.vertex + 1, o, s] += more  # each point is an event of its own
    crossing, entered, left, gates = (np.cumsum(a, axis=0)[:gaps] for a in (crossing, entered, left, gates))
    wide = sweep.width >= 0.5 * np.ptp(sweep.corners[:, 0]) / gaps
    safe = sweep.safe
    weights = np.tile([3.0, *[1.0] * cap], 2 * m)
    return Tally(cap, crossing, entered, left, gates, safe & _inside(gaps), safe & wide & _inside(gaps), weights)


def _add(counts: Ints, gap: Ints, output: int, minus: Ints, number: int) -> None:
    for s in (0, 1):
        counts[:, output, s] += number * np.bincount(gap[minus == s], minlength=len(counts))


def _inside(gaps: int) -> NDArray[np.bool_]:
    inside = np.ones(gaps, dtype=bool)
    inside[[0, -1]] = False
    return inside


def _inner(sweep: StripSweep, output: int) -> tuple[Ints, Ints]:
    """For each point of `V*` the inner kinks that fall and those that rise, along its sorted slopes."""
    vertex, _, _ = sweep.kinks[output]
    inner = np.zeros(len(vertex), dtype=bool)
    if len(vertex) > 2:
        inner[1:-1] = (vertex[1:-1] == vertex[:-2]) & (vertex[1:-1] == vertex[2:])
    falls = sweep.signs[output] < 0
    count = len(sweep.vertex)
    return (
        np.bincount(vertex[inner & falls], minlength=count),
        np.bincount(vertex[inner & ~falls], minlength=count),
    )


def choose_cuts(sweeps: list[StripSweep], count: int | None = None) -> Cuts:
    """The best cuts found among all directions, caps and numbers of strips, or with `count` strips if that is given."""
    starts: list[tuple[int, int, Tally, Ints, Ints]] = []
    best: tuple[int, int, int, Ints, Ints, bool] | None = None
    none = np.zeros(0, dtype=np.int64)
    for i, one in enumerate(sweeps):
        for cap in CAPS:
            counts = tally(one, cap)
            for strips in _numbers(counts) if count is None else [count]:
                found = _even(counts, strips)
                if found is not None:
                    starts.append((counts.neurons(*found), i, counts, *found))
            if count in (None, 1) and len(every := np.flatnonzero(one.safe)):
                sizes = counts.alone(every)
                k = int(np.argmin(sizes))
                if best is None or sizes[k] < best[0]:
                    best = (int(sizes[k]), i, cap, none, every[[k]], False)
    starts.sort(key=lambda start: start[0])
    taken = list[tuple[int, int, int]]()
    for size, i, counts, gaps, bases in starts:
        if any((i, counts.cap) == key[:2] and abs(key[2] - len(gaps)) <= len(gaps) // 20 for key in taken):
            continue
        taken.append((i, counts.cap, len(gaps)))
        size, gaps, bases = _refine(counts, gaps, bases)
        if best is None or size < best[0]:
            best = (size, i, counts.cap, gaps, bases, True)
        if len(taken) >= _REFINED and len(taken) * len(gaps) > _CUTS:
            break
    if best is None:
        raise ConstructionError("no direction separates the points where the function bends")
    size, i, cap, gaps, bases, slabs = best
    return Cuts(sweeps[i], cap, tuple(gaps.tolist()), tuple(bases.tolist()), size, slabs)


def _numbers(counts: Tally) -> list[int]:
    """Numbers of strips to try, around where knots and gates balance."""
    total = counts.gates[-1].sum() + 2 * counts.gates[-1, :, :, 0].sum()
    best = max(1.0, (total / _SLAB) ** 0.5)
    return sorted({1, 2, 3, 4, 5, 6, *(int(best * f) for f in (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35) if best * f >= 1)})


def _even(counts: Tally, strips: int) -> tuple[Ints, Ints] | None:
    """Cuts that share out the gates evenly, and the best bases between them; None if there are no gaps for these."""
    load = counts.gates.sum(axis=(1, 2, 3)) + counts.gates[..., 0].sum(axis=(1, 2)) * 2.0
    gaps = np.searchsorted(load, load[-1] * np.arange(1, strips) / strips).astype(np.int64)
    gaps = np.unique(gaps[counts.cut[gaps]])
    ends = np.concatenate([[0], gaps, [len(load) - 1]]).astype(np.int64)
    q, some = _candidates(counts, ends[:-1], ends[1:])
    while len(gaps) and not some.all():  # a strip without a base joins its neighbour
        gaps = np.delete(gaps, max(0, int(np.argmin(some)) - 1))
        ends = np.concatenate([[0], gaps, [len(load) - 1]]).astype(np.int64)
        q, some = _candidates(counts, ends[:-1], ends[1:])
    if not some.all():
        return None
    cost = counts.halves(ends[:-1, None], ends[1:, None], q).max(axis=-2) @ counts.weights
    return gaps, np.asarray(q[np.arange(len(q)), np.argmin(cost, axis=1)])


def _candidates(counts: Tally, begin: Ints, end: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """For each strip some gaps inside it that may be its base, in a last axis; and whether there are any."""
    every = np.flatnonzero(counts.base)
    if len(every) == 0:
        return np.zeros((len(begin), 1), dtype=np.int64), np.zeros(len(begin), dtype=bool)
    first = np.searchsorted(every, begin, side="right")
    last = np.searchsorted(every, end) - 1
    share = np.linspace(0.0, 1.0, _BASES)
    index = first[..., None] + np.rint(share * np.maximum(last - first, 0)[..., None]).astype(np.int64)
    return every[np.minimum(index, len(every) - 1)], np.asarray(first <= last)


def _refine(counts: Tally, gaps: Ints, bases: Ints) -> tuple[int, Ints, Ints]:
    """Moves one cut at a time, and the bases beside it, to lower a smooth maximum; keeps the best that was seen."""
    if len(gaps) == 0:
        every = np.flatnonzero(counts.base)
        sizes = [counts.neurons(gaps, every[[k]]) for k in range(len(every))]
        return min(sizes), gaps, every[[int(np.argmin(sizes))]]
    best = (counts.neurons(gaps, bases), gaps.copy(), bases.copy())
    gaps, bases = gaps.copy(), bases.copy()
    for sharpness in _SHARPNESS:
        for _ in range(_PASSES):
            before = (gaps.copy(), bases.copy())
            _pass(counts, gaps, bases, sharpness)
            size = counts.neurons(gaps, bases)
            if size < best[0]:
                best = (size, gaps.copy(), bases.copy())
            if np.array_equal(before[0], gaps) and np.array_equal(before[1], bases):
                break
    return best


def _pass(counts: Tally, gaps: Ints, bases: Ints, sharpness: float) -> None:
    """Each cut in turn goes where ``sum of weight log(sum over half strips of exp(sharpness feature))`` is least.

    Sums run over every other strip: those of one system.
    """
    ends = np.concatenate([[0], gaps, [len(counts.base) - 1]]).astype(np.int64)
    rows, weight = counts.halves(ends[:-1], ends[1:], bases), counts.weights
    top = [rows[k::2].max(axis=(0, 1)) for k in (0, 1)]
    power = np.stack([np.exp(sharpness * (row - top[k % 2])).sum(axis=0) for k, row in enumerate(rows)])
    total = [power[k::2].sum(axis=0) for k in (0, 1)]
    for k in range(len(gaps)):  # A loop over cuts: each sees where the others have moved.
        begin, end, own, next_ = int(ends[k]), int(ends[k + 2]), k % 2, (k + 1) % 2
        g = np.arange(max(begin + 1, int(gaps[k]) - _WINDOW), min(end, int(gaps[k]) + _WINDOW + 1))
        g = g[counts.cut[g]]
        rest = [np.maximum(total[own] - power[k], 1e-300), np.maximum(total[next_] - power[k + 1], 1e-300)]
        one, first, some = _best_bases(counts, np.full_like(g, begin), g, rest[0], top[own], sharpness)
        two, second, more = _best_bases(counts, g, np.full_like(g, end), rest[1], top[next_], sharpness)
        cost = (np.log(rest[0] + one) + np.log(rest[1] + two)) @ weight
        cost[~(some & more)] = np.inf
        if len(g) and np.isfinite(cost).any():
            i = int(np.argmin(cost))
            gaps[k] = ends[k + 1] = g[i]
            bases[k], bases[k + 1] = first[i], second[i]
            power[k], power[k + 1] = one[i], two[i]
            total[own], total[next_] = rest[0] + one[i], rest[1] + two[i]


def _best_bases(
    counts: Tally, begin: Ints, end: Ints, rest: Floats, top: Ints, sharpness: float
) -> tuple[Floats, Ints, NDArray[np.bool_]]:
    """For each strip what it adds with its best base, that base, and whether there is one."""
    q, some = _candidates(counts, begin, end)
    rows = counts.halves(begin[:, None], end[:, None], q)
    power = np.exp(np.minimum(sharpness * (rows - top), _LARGE)).sum(axis=-2)
    cost = np.log(rest + power) @ counts.weights
    each, best = np.arange(len(q)), np.argmin(cost, axis=1) if len(q) else np.zeros(0, dtype=np.int64)
    return power[each, best], q[each, best], some
