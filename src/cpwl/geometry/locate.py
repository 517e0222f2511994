"""Point location: which polyhedron holds each of many points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["locate", "locate_in_boxes"]

_BLOCK = 10_000_000  # numbers in one temporary array
_POINTS = 1 << 17  # points that wait at the same time
_ULP = np.finfo(np.float64).eps
_PAD = 1e-9  # how much wider than it is a cell is taken, in cells


def locate(polyhedra: Polyhedra, x: NDArray[np.float64], tol: float = 0.0) -> NDArray[np.int64]:
    """The number of a polyhedron that holds each point, or -1 where none does.

    A point within rounding of a boundary (or within `tol`, relative to the size of the coordinates) belongs to the
    polyhedron that it violates least.
    """
    if polyhedra.dim == 1:
        on_line = _locate_on_line(polyhedra, x[:, 0], tol)
        if on_line is not None:
            return on_line
    found = np.full(len(x), -1, dtype=np.int64)
    step = max(1, _BLOCK // max(1, len(polyhedra.b)))
    planes = _Planes.of(polyhedra)
    for first in range(0, len(x), step):
        block = slice(first, first + step)
        found[block] = _locate_block(polyhedra, planes, x[block], tol)
    return found


def _locate_on_line(polyhedra: Polyhedra, x: NDArray[np.float64], tol: float) -> NDArray[np.int64] | None:
    """The same for intervals that do not overlap by more than rounding, by bisection; None if some do."""
    low, high = np.full(len(polyhedra), -np.inf), np.full(len(polyhedra), np.inf)
    a, owner = polyhedra.A[:, 0], polyhedra.owner
    with np.errstate(over="ignore"):
        end = polyhedra.b / a
    np.minimum.at(high, owner[a > 0], end[a > 0])
    np.maximum.at(low, owner[a < 0], end[a < 0])
    slack = 16 * _ULP + tol
    some = np.flatnonzero(low <= high)
    order = some[np.lexsort((high[some], low[some]))]
    low, high = low[order], high[order]
    if not len(order):
        return np.full(len(x), -1, dtype=np.int64)
    if np.isinf(low[1:]).any() or np.isinf(high[:-1]).any():
        return None
    if (low[1:] < high[:-1] - slack * np.abs(high[:-1])).any():
        return None
    last, unit = len(order) - 1, np.abs(np.concatenate([low[1:], high[:-1]])).max(initial=0.0)
    best, gap = np.full(len(x), -1, dtype=np.int64), np.full(len(x), np.inf)
    # The interval that begins at or before the point, or within rounding the one before or after it.
    at = np.searchsorted(low, x, side="right") - 1
    for near in (at, at - 1, at + 1):
        k = np.clip(near, 0, last)
        off = np.maximum(low[k] - x, x - high[k])
        end = np.where(low[k] > x, low[k], high[k])
        room = slack * np.abs(np.where(np.isinf(end), 0.0, end)) + tol * unit
        nearer = (off <= room) & (np.maximum(off, 0) < gap)
        best[nearer], gap[nearer] = order[k[nearer]], np.maximum(off[nearer], 0)
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Planes:
    """The distinct rows of a stack, up to sense: row `r` is ``sense[r] * (A, b)[number[r]]``."""

    A: NDArray[np.float64]
    b: NDArray[np.float64]
    number: NDArray[np.int64]
    sense: NDArray[np.float64]

    @classmethod
    def of(cls, polyhedra: Polyhedra) -> _Planes:
        """Pieces cut by few hyperplanes have few distinct rows; where they have many, nothing is gained or lost."""
        A, b, count = polyhedra.A, polyhedra.b, len(polyhedra.b)
        if polyhedra.dim > 2 and count:
            sense = np.sign(A[np.arange(count), np.argmax(A != 0, axis=1)])
            rows = np.column_stack([A, b]) * sense[:, None] + 0.0
            rows = np.ascontiguousarray(rows)  # equal rows are equal bytes only if they lie one after the other
            keys = rows.view(f"V{rows.shape[1] * rows.itemsize}").ravel()
            _, first, number = np.unique(keys, return_index=True, return_inverse=True)
            if 4 * len(first) < count:
                return cls(rows[first, :-1], rows[first, -1], number, sense)
        return cls(A, b, np.arange(count), np.ones(count))

    def gap(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """``a.x - b`` for every point and row of the stack."""
        value = x @ self.A.T - self.b
        return value if len(self.b) == len(self.number) else value[:, self.number] * self.sense

    def size(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """``|a|.|x| + |b|``, the size of its terms."""
        value = np.abs(x) @ np.abs(self.A).T + np.abs(self.b)
        return value if len(self.b) == len(self.number) else value[:, self.number]


def locate_in_boxes(
    polyhedra: Polyhedra,
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    x: NDArray[np.float64],
    tol: float = 0.0,
) -> NDArray[np.int64]:
    """The same for bounded polyhedra with known bounding boxes and equal numbers of rows, through a grid."""
    size = len(polyhedra.b) // len(polyhedra)
    # A bound on the rounding of a.x - b for all x in the box, plus the relative tolerance of the data.
    reach = np.repeat(np.maximum(np.abs(lower), np.abs(upper)), size, axis=0)
    b = polyhedra.b + _slack(polyhedra.A, reach, polyhedra.b, tol)
    A, b = polyhedra.A.reshape(-1, size, polyhedra.dim), b.reshape(-1, size)
    # Small cells take time to fill, and save time for each point.
    grid = _grid(lower, upper, 2.0 if len(x) > len(polyhedra) and polyhedra.dim == 2 else 1.0)
    first, members = _buckets(A, b, lower, upper, *grid)
    # One array a coordinate, in the order of the buckets: a bucket's polyhedra lie side by side in memory.
    rows = [column[members] for column in (*np.moveaxis(A, 2, 0), b)]
    found = np.full(len(x), -1, dtype=np.int64)
    for start in range(0, len(x), _POINTS):
        block = slice(start, start + _POINTS)
        found[block] = _first_holding(rows, first, x[block], upper.max(axis=0), *grid)
    return np.where(found < 0, -1, members[found])


def _first_holding(
    rows: list[NDArray[np.float64]],
    first: NDArray[np.int64],
    x: NDArray[np.float64],
    top: NDArray[np.float64],
    origin: NDArray[np.float64],
    cell: NDArray[np.float64],
    shape: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The place, in its bucket, of the first polyhedron that holds each point; -1 if none does."""
    found = np.full(len(x), -1, dtype=np.int64)
    waiting = np.flatnonzero(((x >= origin) & (x <= top)).all(axis=1))
    column = _cell_number(x[waiting], origin, cell, shape)
    place, end = first[column], first[column + 1]
    coordinates = [np.ascontiguousarray(c[waiting]) for c in x.T]
    *slopes, b = rows
    while len(waiting):
        left = np.flatnonzero(place < end)
        waiting, place, end = waiting[left], place[left], end[left]
        coordinates = [c[left] for c in coordinates]
        value = slopes[0][place] * coordinates[0][:, None]
        for slope, c in zip(slopes[1:], coordinates[1:], strict=True):
            value += slope[place] * c[:, None]
        inside = (value <= b[place]).all(axis=1)
        found[waiting[inside]] = place[inside]
        left = np.flatnonzero(~inside)
        waiting, place, end = waiting[left], place[left] + 1, end[left]
        coordinates = [c[left] for c in coordinates]
    return found


def _slack(A: NDArray[np.float64], x: NDArray[np.float64], b: NDArray[np.float64], tol: float) -> NDArray[np.float64]:
    """A bound on the rounding of ``a.x - b``, plus the relative tolerance of the data."""
    size = (np.abs(A) * np.abs(x)).sum(axis=-1) + np.abs(b)
    return np.asarray((2 * (A.shape[-1] + 3) * _ULP + tol) * size)


def _locate_block(polyhedra: Polyhedra, planes: _Planes, x: NDArray[np.float64], tol: float) -> NDArray[np.int64]:
    gap = planes.gap(x)
    found = _least(polyhedra, gap, 0.0)
    near = np.flatnonzero(found < 0)
    if len(near):
        size = planes.size(x[near])
        if tol:  # Noise does not vanish where the coordinates do.
            size += polyhedra.unit(tol) * np.abs(polyhedra.A).sum(axis=1)
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


def _grid(
    lower: NDArray[np.float64], upper: NDArray[np.float64], fine: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Origin, cell size and shape of a grid: cells the size of a usual box, or smaller by a factor."""
    origin, top = lower.min(axis=0), upper.max(axis=0)
    span = np.where(top > origin, top - origin, 1.0)
    usual = np.maximum(np.median(upper - lower, axis=0), span / len(lower) ** (1 / lower.shape[1])) / fine
    shape = np.clip(np.ceil(span / np.where(usual > 0, usual, span)), 1, 1 << 12).astype(np.int64)
    # A few large boxes among small ones would meet very many cells.
    most = len(lower) * 4 * (1.0 + fine) ** lower.shape[1]
    while (np.ceil((upper - lower) / (span / shape)) + 1).prod(axis=1).sum() > most and shape.max() > 1:
        shape = (shape + 1) // 2
    return origin, span / shape, shape


def _cell_number(
    x: NDArray[np.float64],
    origin: NDArray[np.float64],
    cell: NDArray[np.float64],
    shape: NDArray[np.int64],
) -> NDArray[np.int64]:
    index = np.clip(((x - origin) / cell).astype(np.int64), 0, shape - 1)
    return np.asarray(np.ravel_multi_index(tuple(index.T), tuple(shape)), dtype=np.int64)


def _buckets(
    A: NDArray[np.float64],
    b: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    origin: NDArray[np.float64],
    cell: NDArray[np.float64],
    shape: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Compressed lists: the polyhedra that may meet each cell, as far as boxes and single rows tell."""
    low = np.clip(np.floor((lower - origin) / cell - _PAD).astype(np.int64), 0, shape - 1)
    high = np.clip(np.floor((upper - origin) / cell + _PAD).astype(np.int64), 0, shape - 1)
    extent = high - low + 1
    count = extent.prod(axis=1)
    owner = np.repeat(np.arange(len(lower)), count)
    rest = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    index = np.empty((len(owner), lower.shape[1]), dtype=np.int64)
    for axis in range(lower.shape[1]):
        index[:, axis] = low[owner, axis] + rest % extent[owner, axis]
        rest = rest // extent[owner, axis]
    step = 1 << 18
    keep = [_may_meet(A, b, owner[i : i + step], index[i : i + step], origin, cell) for i in range(0, len(owner), step)]
    kept = np.flatnonzero(np.concatenate(keep))
    owner, number = owner[kept], np.ravel_multi_index(tuple(index[kept].T), tuple(shape))
    order = np.argsort(number, kind="stable")
    first = np.searchsorted(number[order], np.arange(int(shape.prod()) + 1)).astype(np.int64)
    return first, owner[order]


def _may_meet(
    A: NDArray[np.float64],
    b: NDArray[np.float64],
    owner: NDArray[np.int64],
    index: NDArray[np.int64],
    origin: NDArray[np.float64],
    cell: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Whether no row of the polyhedron has the whole cell on its other side; the cell is taken a little wide."""
    least, size = -b[owner], np.abs(b[owner])
    for axis in range(len(origin)):
        slope = A[owner, :, axis]
        one = (origin[axis] + (index[:, axis] - _PAD) * cell[axis])[:, None]
        two = (origin[axis] + (index[:, axis] + 1 + _PAD) * cell[axis])[:, None]
        least += np.minimum(slope * one, slope * two)
        size += np.abs(slope) * np.maximum(np.abs(one), np.abs(two))
    return np.asarray((least <= 4 * (len(origin) + 3) * _ULP * size).all(axis=1))
