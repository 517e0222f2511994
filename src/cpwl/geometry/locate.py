"""Point location: which polyhedron holds each of many points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["locate", "locate_in_boxes"]

_BLOCK = 10_000_000  # numbers in one temporary array
_ULP = np.finfo(np.float64).eps


def locate(polyhedra: Polyhedra, x: NDArray[np.float64], tol: float = 0.0) -> NDArray[np.int64]:
    """The number of a polyhedron that holds each point, or -1 where none does.

    A point within rounding of a boundary (or within `tol`, relative) belongs to the polyhedron that it
    violates least.
    """
    found = np.full(len(x), -1, dtype=np.int64)
    step = max(1, _BLOCK // max(1, len(polyhedra.b)))
    for first in range(0, len(x), step):
        block = slice(first, first + step)
        found[block] = _locate_block(polyhedra, x[block], tol)
    return found


def locate_in_boxes(
    polyhedra: Polyhedra,
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    x: NDArray[np.float64],
    tol: float = 0.0,
) -> NDArray[np.int64]:
    """The same for bounded polyhedra with known bounding boxes and equal numbers of rows, through a grid."""
    size = len(polyhedra.b) // len(polyhedra)
    A = polyhedra.A.reshape(len(polyhedra), size, polyhedra.dim)
    b = polyhedra.b.reshape(len(polyhedra), size)
    origin, cell, shape = _grid(lower, upper)
    first, members = _buckets(lower, upper, origin, cell, shape)
    inside = ((x >= origin) & (x <= upper.max(axis=0))).all(axis=1)
    column = np.zeros(len(x), dtype=np.int64)
    column[inside] = _cell_number(x[inside], origin, cell, shape)
    found = np.full(len(x), -1, dtype=np.int64)
    waiting = np.flatnonzero(inside)
    turn = 0
    while len(waiting):
        place = first[column[waiting]] + turn
        waiting, place = _still(waiting, place, first, column)
        piece = members[place]
        gap = np.einsum("pij,pj->pi", A[piece], x[waiting]) - b[piece]
        ok = (gap <= _slack(A[piece], x[waiting][:, None, :], b[piece], tol)).all(axis=1)
        found[waiting[ok]] = piece[ok]
        waiting = waiting[~ok]
        turn += 1
    return found


def _slack(A: NDArray[np.float64], x: NDArray[np.float64], b: NDArray[np.float64], tol: float) -> NDArray[np.float64]:
    """A bound on the rounding of ``a.x - b``, plus the relative tolerance of the data."""
    size = (np.abs(A) * np.abs(x)).sum(axis=-1) + np.abs(b)
    return np.asarray((2 * (A.shape[-1] + 3) * _ULP + tol) * size)


def _locate_block(polyhedra: Polyhedra, x: NDArray[np.float64], tol: float) -> NDArray[np.int64]:
    gap = x @ polyhedra.A.T - polyhedra.b
    found = _least(polyhedra, gap, 0.0)
    near = np.flatnonzero(found < 0)
    if len(near):
        size = np.abs(x[near]) @ np.abs(polyhedra.A).T + np.abs(polyhedra.b)
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
    lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    origin, top = lower.min(axis=0), upper.max(axis=0)
    # About as many cells as boxes, but never cells much smaller than a usual box.
    span = np.where(top > origin, top - origin, 1.0)
    usual = np.maximum(np.median(upper - lower, axis=0), span / len(lower) ** (1 / lower.shape[1]))
    shape = np.clip(np.ceil(span / np.where(usual > 0, usual, span)), 1, 1 << 12).astype(np.int64)
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
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    origin: NDArray[np.float64],
    cell: NDArray[np.float64],
    shape: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Compressed lists: the boxes that meet each cell, one ulp of the grid wider than they are."""
    pad = 1e-9
    low = np.clip(np.floor((lower - origin) / cell - pad).astype(np.int64), 0, shape - 1)
    high = np.clip(np.floor((upper - origin) / cell + pad).astype(np.int64), 0, shape - 1)
    extent = high - low + 1
    count = extent.prod(axis=1)
    owner = np.repeat(np.arange(len(lower)), count)
    rest = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    number = np.zeros(len(owner), dtype=np.int64)
    for axis in range(lower.shape[1]):
        number = number * shape[axis] + low[owner, axis] + rest % extent[owner, axis]
        rest = rest // extent[owner, axis]
    order = np.argsort(number, kind="stable")
    first = np.searchsorted(number[order], np.arange(int(shape.prod()) + 1)).astype(np.int64)
    return first, owner[order]


def _still(
    waiting: NDArray[np.int64],
    place: NDArray[np.int64],
    first: NDArray[np.int64],
    column: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    left = place < first[column[waiting] + 1]
    return waiting[left], place[left]
