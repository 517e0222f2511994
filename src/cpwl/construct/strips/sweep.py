"""A function of two inputs as seen by a vertical line that sweeps across its domain, in a direction that can be chosen.

In the frame ``xi = t.x``, ``eta = u.x`` every bend line is ``A xi + B eta + C = 0``, ``B > 0``. Along it the jump is a
step function of `xi`. *Events* are the places where it changes: the points of `V*`, and the ends of bend lines in
the boundary of the domain. Between two consecutive events is a *gap*; gap `q` lies before event `q`. Floats order the
events; only gaps that are wide beyond all rounding are ever used, so that every decision about them is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import ratio_view, sign
from cpwl.function.bends.planar import PlanarBends

__all__ = ["Bars", "Frame", "Sweep", "find_bars", "frames", "sweep"]

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
class Sweep:
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


def sweep(bends: PlanarBends, frame: Frame, bars: list[Bars], signs: list[Ints] | None = None) -> Sweep:
    """The events of a sweep in this frame; `signs` of the steps of each output, if they are known."""
    rows, d = frame.rows(bends.lines)
    rising = np.where(rows[:, 1] > 0, 1, -1)
    right = np.where(np.asarray(bends.lines[:, 1] * frame.t[0] - bends.lines[:, 0] * frame.t[1] > 0), 1, -1)
    rows = rows * rising.astype(object)[:, None]
    divisor = bends.scale * d
    corners = frame.points(bends.corners)
    edges = ratio_view(*_scaled(frame, bends.boundary))
    view = ratio_view(rows, divisor[:, None])
    slope = ratio_view(-rows[:, 0], rows[:, 1])
    ends = _ends(view, edges)
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
    return Sweep(*fixed, bars, span, enters, leaves, kinks, turned_signs, bends.step)


def _scaled(frame: Frame, forms: Objects) -> tuple[Objects, Objects]:
    rows, _ = frame.rows(forms)
    return rows, np.maximum(np.abs(rows[:, 0]), np.abs(rows[:, 1]))[:, None]


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
