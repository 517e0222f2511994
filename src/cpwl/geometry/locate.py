"""Point location: which polyhedron holds each of many points.

What the search needs is built once for a stack of polyhedra: sorted ends on a line, and a grid of buckets in up to four
dimensions; beyond, all rows are compared.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.geometry.polyhedra import Polyhedra, extents, fact, intervals, ranges

_BLOCK = 10_000_000  # numbers in one temporary array
_POINTS = 1 << 17  # points that wait at the same time
_UNSURE = 1 << 13  # of which these are compared with all that is near
_ULP = np.finfo(np.float64).eps
_PAD = 1e-9  # how much wider than it is a cell is taken, in cells
_DIMENSIONS = 4  # up to which there is a grid
_FEW = 8  # polyhedra that need none
_FAR = 1e150  # beyond, products may overflow
_SAMPLE = 256  # polyhedra whose corners say where the grid is to be fine
_MANY = 1 << 21  # sets of rows that are tried for boxes
_FULL = 2.0  # polyhedra in a bucket, in the mean, that are not divided further
_BATCH = 1 << 15  # points for which a finer grid is made
_CELLS, _FINE = 1 << 18, 1.2  # of the finer grid, and polyhedra in a bucket of it


def locate(polyhedra: Polyhedra, x: NDArray[np.float64], tol: float = 0.0) -> NDArray[np.int64]:
    """The number of a polyhedron that holds each point, or -1 where none does.

    A point within rounding of a boundary (or within `tol`, relative to the size of the coordinates) belongs to the
    polyhedron that it violates least.
    """
    line = _line(polyhedra, tol)
    if line is not None:
        return line.locate(x[:, 0])
    buckets = _buckets(polyhedra, tol, _CELLS if len(x) >= _BATCH else 0)
    if buckets is not None:
        return buckets.locate(x)
    found = np.full(len(x), -1, dtype=np.int64)
    step = max(1, _BLOCK // max(1, len(polyhedra.b)))
    for first in range(0, len(x), step):
        block = slice(first, first + step)
        found[block] = _locate_block(polyhedra, x[block], tol)
    return found


def locate_one(polyhedra: Polyhedra, x: NDArray[np.float64], tol: float = 0.0) -> int:
    """The number of a polyhedron that holds one point ``(n,)``, without any rounding; -1 where that is not seen.

    A few microseconds, once the search structure is there; `locate` says more.
    """
    at = x.tolist()
    if not all(-_FAR < v < _FAR for v in at):
        return -1
    line = _line(polyhedra, tol)
    if line is not None:
        k = bisect_right(line.begins, at[0]) - 1
        return int(line.order[k]) if k >= 0 and at[0] <= line.high[k] else -1
    buckets = _buckets(polyhedra, tol, 0)
    return -1 if buckets is None else buckets.locate_one(x, at)


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """Intervals that do not overlap by more than rounding, from left to right; `order` has their numbers."""

    order: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    begins: list[float]
    """As `low`."""
    slack: float
    room: float

    def locate(self, x: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the interval that holds each point, by bisection."""
        best, gap = np.full(len(x), -1, dtype=np.int64), np.full(len(x), np.inf)
        if not len(self.order):
            return best
        # The interval that begins at or before the point, or within rounding the one before or after it.
        at = np.searchsorted(self.low, x, side="right") - 1
        for near in (at, at - 1, at + 1):
            k = np.clip(near, 0, len(self.order) - 1)
            low, high = self.low[k], self.high[k]
            off = np.maximum(low - x, x - high)
            end = np.where(low > x, low, high)
            room = self.slack * np.abs(np.where(np.isinf(end), 0.0, end)) + self.room
            nearer = (off <= room) & (np.maximum(off, 0) < gap)
            best[nearer], gap[nearer] = self.order[k[nearer]], np.maximum(off[nearer], 0)
        return best


@fact
def _line(polyhedra: Polyhedra, tol: float) -> _Line | None:
    """The intervals in order; None in more dimensions, or if some overlap."""
    if polyhedra.dim != 1:
        return None
    low, high = intervals(polyhedra)
    slack = 16 * _ULP + tol
    some = np.flatnonzero(low <= high)
    order = some[np.lexsort((high[some], low[some]))]
    low, high = low[order], high[order]
    if np.isinf(low[1:]).any() or np.isinf(high[:-1]).any():
        return None
    if (low[1:] < high[:-1] - slack * np.abs(high[:-1])).any():
        return None
    return _Line(order, low, high, low.tolist(), slack, tol * polyhedra.unit(tol) if tol else 0.0)


def _locate_block(polyhedra: Polyhedra, x: NDArray[np.float64], tol: float) -> NDArray[np.int64]:
    gap = x @ polyhedra.A.T - polyhedra.b
    found = _least(polyhedra, gap, 0.0)
    # Noise does not vanish where the coordinates do; but terms small beside the largest coordinate count first.
    for rooms in (0.0, *([polyhedra.unit(tol) * np.abs(polyhedra.A).sum(axis=1)] if tol else [])):
        near = np.flatnonzero(found < 0)
        if len(near):
            size = np.abs(x[near]) @ np.abs(polyhedra.A).T + np.abs(polyhedra.b) + rooms
            size[size == 0] = 1.0
            found[near] = _least(polyhedra, gap[near] / size, 2 * (polyhedra.dim + 3) * _ULP + tol)
    return found


def _least(polyhedra: Polyhedra, gap: NDArray[np.float64], limit: float) -> NDArray[np.int64]:
    worst = np.full((len(gap), len(polyhedra)), -np.inf)
    filled = np.flatnonzero(np.diff(polyhedra.start))
    if len(filled):
        worst[:, filled] = np.maximum.reduceat(gap, polyhedra.start[filled], axis=1)
    best = np.argmin(worst, axis=1) if limit else np.argmax(worst <= 0, axis=1)
    holds = worst[np.arange(len(gap)), best] <= limit
    return np.where(holds, best, -1)


# A grid of buckets: each cell has the polyhedra that may meet it. The outer cells have no end.
#
# Halved along all axes again and again, a cell keeps those polyhedra of which no row has all of the cell on its other
# side. So unbounded polyhedra need no box, and what is kept in vain costs time and nothing else.


@dataclass(frozen=True, slots=True, eq=False)
class _Buckets:
    """Cell `c` has the polyhedra ``member[first[c]:first[c + 1]]``, in order; polyhedron `i` is ``A[i] x <= b[i]``."""

    origin: NDArray[np.float64]
    cell: NDArray[np.float64]
    size: int
    """Cells along each axis."""
    first: NDArray[np.int64]
    member: NDArray[np.int64]
    A: NDArray[np.float64]
    b: NDArray[np.float64]
    limit: float
    """How far a row may be violated, relative to the size of its terms."""
    unit: float
    axes: list[list[float]]
    """Origin and cell of each axis."""

    def locate_one(self, x: NDArray[np.float64], at: list[float]) -> int:
        """The number of a polyhedron that holds the point; -1 if none does without rounding."""
        number, last = 0, self.size - 1
        for v, (low, width) in zip(at, self.axes, strict=True):
            number = number * self.size + min(max(int((v - low) / width), 0), last)
        first, end = self.first[number : number + 2].tolist()
        if first == end:
            return -1
        some = self.member[first:end]
        held = np.asarray((self.A[some] @ x <= self.b[some]).all(axis=1))
        k = held.argmax()
        return int(some[k]) if held[k] else -1

    def locate(self, x: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the first polyhedron that holds each point; else of the one that it violates least."""
        found = np.full(len(x), -1, dtype=np.int64)
        for start in range(0, len(x), _POINTS):
            some = x[start : start + _POINTS]
            cell = _cell_number(some, self.origin, self.cell, self.size)
            with np.errstate(over="ignore", invalid="ignore"):  # far away
                held, unsure = self._holding(some, cell)
                for few in np.array_split(unsure, len(unsure) // _UNSURE + 1):
                    held[few] = self._least(some[few], cell[few])
            found[start : start + _POINTS] = held
        return found

    def _holding(self, x: NDArray[np.float64], cell: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first polyhedron that holds each point, and the points in buckets of which none does."""
        found = np.full(len(x), -1, dtype=np.int64)
        place, end = self.first[cell], self.first[cell + 1]
        waiting = some = np.flatnonzero(place < end)
        place, end = place[waiting], end[waiting]
        coordinates = [np.ascontiguousarray(c[waiting]) for c in x.T]
        while len(waiting):
            who = self.member[place]
            A = self.A[who]
            value = A[..., 0] * coordinates[0][:, None]
            for axis in range(1, len(coordinates)):
                value += A[..., axis] * coordinates[axis][:, None]
            inside = (value <= self.b[who]).all(axis=1)
            found[waiting[inside]] = who[inside]
            left = np.flatnonzero(~inside & (place + 1 < end))
            waiting, place, end = waiting[left], place[left] + 1, end[left]
            coordinates = [c[left] for c in coordinates]
        return found, some[found[some] < 0]

    def _least(self, x: NDArray[np.float64], cell: NDArray[np.int64]) -> NDArray[np.int64]:
        """The polyhedron that each point violates least, if that is no more than rounding."""
        if not len(x):
            return np.zeros(0, dtype=np.int64)
        entry, point = ranges(self.first[cell], self.first[cell + 1] - self.first[cell])
        who = self.member[entry]
        A, b, at = self.A[who], self.b[who], x[point]
        gap = np.einsum("kri,ki->kr", A, at) - b
        size = np.einsum("kri,ki->kr", np.abs(A), np.abs(at)) + np.abs(b)
        terms, worst = (
            (gap / np.where(total == 0, 1.0, total)).max(axis=1)
            for total in (size, size + self.unit * np.abs(A).sum(axis=2))
        )
        order = np.lexsort((np.where(terms <= self.limit, terms, self.limit + worst), point))
        best = order[np.searchsorted(point[order], np.arange(len(x)))]
        return np.where(worst[best] <= self.limit, who[best], -1)


@fact
def _buckets(polyhedra: Polyhedra, tol: float, cells: int) -> _Buckets | None:
    """The grid of a few cells for each polyhedron, or of up to `cells` if those are more; None for few polyhedra, in
    many dimensions, or where one has far more rows than the others."""
    n, count = polyhedra.dim, len(polyhedra)
    rows = np.diff(polyhedra.start)
    if not 2 <= n <= _DIMENSIONS or count <= _FEW or rows.max() * count > 8 * len(polyhedra.b):
        return None
    sample = polyhedra.take(np.unique(np.linspace(0, count - 1, _SAMPLE).astype(np.int64)))
    corners = extents(sample.A, sample.b, sample.start, rays=False).points
    if not len(corners) or not (np.abs(corners) < _FAR).all():
        return None
    low, high = corners.min(axis=0), corners.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    limit, unit = 2 * (n + 3) * _ULP + tol, polyhedra.unit(tol) if tol else 0.0
    A, b = np.zeros((count, int(rows.max()), n)), np.ones((count, int(rows.max())))  # 0 <= 1 where there is no row
    place = np.arange(len(polyhedra.b)) - polyhedra.start[polyhedra.owner]
    A[polyhedra.owner, place], b[polyhedra.owner, place] = polyhedra.A, polyhedra.b
    # What is violated by no more than the limit counts as met.
    reach = n * (float(np.abs(corners).max()) + unit)
    bodies = _Bodies(A, b + limit * (np.abs(b) + unit * np.abs(A).sum(axis=2)), *_boxes(A, b, limit, reach), limit)
    size, index, member = 1, np.zeros((count, n), dtype=np.int64), np.arange(count)
    factor = 4 if n == 2 else 2
    full, most = _FINE if cells else _FULL, max(4 * factor * count, cells)
    while len(member) > full * size**n and (factor * size) ** n <= most:
        finer = bodies.divided(index, member, low, width / (factor * size), size, factor)
        if len(finer[1]) > max(64 * count, 8 * cells):
            break
        size, (index, member) = factor * size, finer
    cell = np.asarray(np.ravel_multi_index(tuple(index.T), (size,) * n))
    order = np.lexsort((member, cell))
    first = np.searchsorted(cell[order], np.arange(size**n + 1)).astype(np.int64)
    member, axes = member[order], np.stack([low, width / size], axis=1).tolist()
    return _Buckets(low, width / size, size, first, member, A, b, limit, unit, axes)


@dataclass(frozen=True, slots=True, eq=False)
class _Bodies:
    """Polyhedra with equally many rows, and boxes around them."""

    A: NDArray[np.float64]
    b: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    limit: float

    def divided(
        self,
        index: NDArray[np.int64],
        member: NDArray[np.int64],
        origin: NDArray[np.float64],
        cell: NDArray[np.float64],
        size: int,
        factor: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a cell and a polyhedron, with each cell divided along all axes, as far as they may meet."""
        last = factor * size - 1
        inner = factor * index, factor * index + factor - 1
        ends = [
            np.clip(np.clip((box[member] - origin) / cell + pad, 0, last).astype(np.int64), *inner)
            for box, pad in ((self.low, -_PAD), (self.high, _PAD))
        ]
        extent = ends[1] - ends[0] + 1
        count = extent.prod(axis=1)
        cells, members = [index[:0]], [member[:0]]
        step = max(1, (1 << 20) // (factor ** len(origin) * self.A.shape[1]))
        for start in range(0, len(member), step):
            some = slice(start, start + step)
            rest, pair = ranges(np.zeros_like(count[some]), count[some])
            at = np.empty((len(pair), len(origin)), dtype=np.int64)
            for axis, (low, length) in enumerate(zip(ends[0][some].T, extent[some].T, strict=True)):
                at[:, axis] = low[pair] + rest % length[pair]
                rest = rest // length[pair]
            who = member[some][pair]
            meet = self._may_meet(who, at, origin, cell, last)
            cells.append(at[meet])
            members.append(who[meet])
        return np.concatenate(cells), np.concatenate(members)

    def _may_meet(
        self,
        who: NDArray[np.int64],
        at: NDArray[np.int64],
        origin: NDArray[np.float64],
        cell: NDArray[np.float64],
        last: int,
    ) -> NDArray[np.bool_]:
        """Whether no row has all of the cell, taken a little wide, on its other side."""
        b = self.b[who]
        least = -b
        for axis in range(len(origin)):
            slope, k = self.A[who, :, axis], at[:, axis]
            low = np.where(k == 0, -np.inf, origin[axis] + (k - _PAD) * cell[axis])[:, None]
            high = np.where(k == last, np.inf, origin[axis] + (k + 1 + _PAD) * cell[axis])[:, None]
            # x -> a x - limit |a x| is concave: it is least at an end, that at which a x is least.
            value = np.where(slope == 0, 0.0, slope) * np.where(slope > 0, low, np.where(slope < 0, high, 0.0))
            least += value * (1 - self.limit * np.sign(value))
        return np.asarray((least <= 4 * (len(origin) + 3) * _ULP * np.abs(b)).all(axis=1))


def _boxes(
    A: NDArray[np.float64], b: NDArray[np.float64], limit: float, reach: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Boxes around polyhedra, a little wide, for coordinates up to `reach`.

    Where multiples of `n` rows add up to ``x_i <= c``, that bounds coordinate `i`; the least `c` is the maximum.
    """
    count, size, n = A.shape
    low, high = np.full((count, n), -np.inf), np.full((count, n), np.inf)
    chosen = np.array(list(itertools.combinations(range(size), n)), dtype=np.int64).reshape(-1, n)
    if len(chosen) * count > _MANY:
        return low, high
    length = np.linalg.norm(A, axis=2)
    length[length == 0] = 1.0
    rows, right = A / length[..., None], b / length
    for some in chosen:
        det = np.linalg.det(rows[:, some])
        k = np.flatnonzero(np.abs(det) > 1e-4)
        shares = np.linalg.inv(rows[k][:, some])  # row i: with these weights the rows are x_i
        bound = np.einsum("kij,kj->ki", shares, right[k][:, some])
        spread = (1e-9 + 2 * limit) * np.einsum("kij,kj->ki", np.abs(shares), np.abs(right[k][:, some]) + reach)
        up, down = (shares >= 0).all(axis=2), (shares <= 0).all(axis=2)
        high[k] = np.where(up, np.minimum(high[k], bound + spread), high[k])
        low[k] = np.where(down, np.maximum(low[k], bound - spread), low[k])
    return low, high


def _cell_number(
    x: NDArray[np.float64], origin: NDArray[np.float64], cell: NDArray[np.float64], size: int
) -> NDArray[np.int64]:
    with np.errstate(over="ignore"):
        index = np.clip((x - origin) / cell, 0, size - 1).astype(np.int64)
    return np.asarray(np.ravel_multi_index(tuple(index.T), (size,) * len(origin)), dtype=np.int64)
