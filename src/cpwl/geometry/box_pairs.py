"""Boxes around polyhedra, and which of two families of boxes meet: before anything dearer is asked of pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import ratio_view
from cpwl.geometry.spans import Spans

__all__ = ["box_pairs", "boxes_around"]

_FEW = 1 << 12  # pairs that are compared at once


def box_pairs(
    low: NDArray[np.float64], high: NDArray[np.float64], others: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Pairs ``(i, j)`` of boxes of two families that meet, in order: halved in turn along each axis until few are left.

    >>> box_pairs(np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]]), (np.array([[0.5]]), np.array([[2.5]])))
    array([[0, 0],
           [1, 0]])
    """
    found = [np.zeros((0, 2), dtype=np.int64)]
    waiting = [(np.arange(len(low)), np.arange(len(others[0])), 0, 0)]
    while waiting:
        one, two, axis, idle = waiting.pop()
        if len(one) * len(two) <= _FEW or idle == low.shape[1]:
            meet = (low[one][:, None] <= others[1][two]).all(axis=2) & (others[0][two] <= high[one][:, None]).all(
                axis=2
            )
            i, j = np.nonzero(meet)
            found.append(np.stack([one[i], two[j]], axis=1))
            continue
        middle = np.clip(np.concatenate([low[one, axis], others[0][two, axis]]), -1e300, 1e300)
        at = float(np.median(middle))
        parts = [
            (one[low[one, axis] <= at], two[others[0][two, axis] <= at]),
            (one[high[one, axis] > at], two[others[1][two, axis] > at]),
        ]
        useless = max(len(a) * len(b) for a, b in parts) > 0.75 * len(one) * len(two)
        turn = (axis + 1) % low.shape[1]
        if useless:
            waiting.append((one, two, turn, idle + 1))
        else:
            waiting += [(a, b, turn, 0) for a, b in parts]
    return np.unique(np.concatenate(found), axis=0)


def boxes_around(spans: Spans, count: int, dim: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Boxes around pieces, a little wide; infinite where there is no bound, or where none was computed."""
    assert spans.exact is not None
    low, high = np.full((count, dim), -np.inf), np.full((count, dim), np.inf)
    places, lengths = spans.exact[spans.member], np.diff(spans.start)
    some = np.flatnonzero(lengths)
    if not len(some):
        return low, high
    ray = np.asarray(places[:, -1] == 0, dtype=bool)
    x = np.empty((len(places), dim))
    x[~ray] = ratio_view(places[~ray, :-1], places[~ray, -1:])
    bounds = []
    for way in (1, -1):
        # A ray leads to infinity, or along the box.
        x[ray] = np.where(np.asarray(places[ray, :-1] * way > 0, dtype=bool), np.inf, -np.inf)
        bounds.append(np.maximum.reduceat(np.where(ray[:, None], x, way * x), spans.start[some], axis=0))
    size = 1 + np.abs(np.where(ray[:, None], 0.0, x))
    margin = 1e-9 * np.maximum.reduceat(size, spans.start[some], axis=0)
    low[some], high[some] = -bounds[1] - margin, bounds[0] + margin
    return low, high
