"""Cheap sets that cover everything: greedily, then by a binary program if there are not too many elements.

In the words of points and lines: few lines through all given points.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, vstack

from cpwl.search.binary_program import cheapest_choice

__all__ = ["cover"]

_MOST = 1500  # points up to which the MIP is asked
_NODES = 10_000  # of the search, divided by the number of points
_OPTIONS: dict[str, Any] = {
    "mip_abs_gap": 0.9,  # less than a line from the best: proving the rest takes most of the time
    "mip_rel_gap": 0.0,
}


def cover(
    point: NDArray[np.int64], line: NDArray[np.int64], cost: NDArray[np.float64], alone: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Lines of small total cost such that every point is on one: `point[i]` is on `line[i]`.

    No two of the lines that want their points `alone` are chosen for one point; beyond the MIP none of them is.

    >>> cover(np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), np.ones(2))
    array([0, 1])
    """
    count = int(point.max(initial=-1)) + 1
    table = csr_array((np.ones(len(point)), (point, line)), shape=(count, len(cost)))
    alone = np.zeros(len(cost), dtype=bool) if alone is None else alone
    common = np.flatnonzero(~alone)
    chosen = common[_greedy(csr_array(table[:, common]), cost[common])]
    return _mip(table, cost, alone, chosen) if count <= _MOST else chosen


def _greedy(table: csr_array[Any, tuple[int, int]], cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """The point with the fewest lines left first (Karp and Sipser), by the line with the most open points a cost.

    A line is open as long as it has a point that is; among equals the one whose other points have few lines wins.
    """
    lines = [table.indices[table.indptr[i] : table.indptr[i + 1]].tolist() for i in range(table.shape[0])]
    turned = table.T.tocsr()
    points = [turned.indices[turned.indptr[h] : turned.indptr[h + 1]].tolist() for h in range(turned.shape[0])]
    gain = np.array([len(own) for own in points])
    useful = np.array([sum(gain[h] > 1 for h in own) for own in lines])
    waiting = [(int(useful[i]), i) for i in range(len(lines))]
    heapq.heapify(waiting)
    covered = np.zeros(len(lines), dtype=bool)
    chosen = []
    while waiting:
        known, i = heapq.heappop(waiting)
        if covered[i] or known != useful[i]:
            continue
        best = max(
            lines[i], key=lambda h: (gain[h] / cost[h], -min(useful[j] for j in points[h] if not covered[j]), -h)
        )
        chosen.append(best)
        for j in [j for j in points[best] if not covered[j]]:
            covered[j] = True
            for h in lines[j]:
                gain[h] -= 1
                if gain[h] == 1:  # it serves only one point more: no better than any other line there
                    k = next(k for k in points[h] if not covered[k])
                    useful[k] -= 1
                    heapq.heappush(waiting, (int(useful[k]), k))
    return np.array(sorted(set(chosen)), dtype=np.int64)


def _mip(
    table: csr_array[Any, tuple[int, int]],
    cost: NDArray[np.float64],
    alone: NDArray[np.bool_],
    start: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The cheapest cover, or the best one found within the limits; at worst the one given."""
    packed = csr_array(table @ diags_array(alone.astype(np.float64)))
    packed.eliminate_zeros()
    packed = packed[np.diff(packed.indptr) > 1]
    infinite = np.full(table.shape[0], np.inf)
    low = np.concatenate([np.ones(table.shape[0]), np.full(packed.shape[0], -np.inf)])
    high = np.concatenate([infinite, np.ones(packed.shape[0])])
    options = _OPTIONS | {"mip_max_nodes": 20 + _NODES // table.shape[0]}
    found = cheapest_choice(cost, csr_array(vstack([table, packed])), low, high, start, options)
    if found is None:
        return start
    taken = np.isin(np.arange(len(cost)), found).astype(np.float64)
    valid = bool((table @ taken > 0.5).all()) and bool((packed @ taken < 1.5).all())
    return found.astype(np.int64) if valid and cost[found].sum() <= cost[start].sum() else start
