"""Few lines through all given points: a set cover, by HiGHS's MIP if it is small and greedily beyond."""

from __future__ import annotations

import heapq

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["cover"]

_MOST = 1500  # points up to which the MIP is asked
_NODES = 2000  # a limit on nodes, unlike one on time, gives the same answer every time
_SECONDS = 20.0


def cover(point: NDArray[np.int64], line: NDArray[np.int64], cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Lines of small total cost such that every point is on one: `point[i]` is on `line[i]`.

    >>> cover(np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), np.ones(2))
    array([0, 1])
    """
    count = int(point.max(initial=-1)) + 1
    table = csr_array((np.ones(len(point)), (point, line)), shape=(count, len(cost)))
    chosen = _greedy(table, cost)
    return _mip(table, cost, chosen) if count <= _MOST else chosen


def _greedy(table: csr_array, cost: NDArray[np.float64]) -> NDArray[np.int64]:
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
        best = max(lines[i], key=lambda h: (gain[h] / cost[h], -min(useful[j] for j in points[h] if not covered[j]), -h))
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


def _mip(table: csr_array, cost: NDArray[np.float64], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cheapest cover, or the best one found within the limits; at worst the one given."""
    rows, columns = table.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, rows
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = np.zeros(columns), np.ones(columns)
    lp.row_lower_, lp.row_upper_ = np.ones(rows), np.full(rows, highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = table.indptr, table.indices, table.data
    lp.integrality_ = [highspy.HighsVarType.kInteger] * columns
    highs = highspy.Highs()
    options = {"output_flag": False, "threads": 1, "mip_max_nodes": _NODES, "time_limit": _SECONDS, "mip_abs_gap": 0.01}
    for name, value in {**options, "mip_rel_gap": 0.0}.items():
        highs.setOptionValue(name, value)
    highs.passModel(lp)
    given = np.zeros(columns)
    given[start] = 1.0
    known = highspy.HighsSolution()
    known.col_value = given.tolist()
    highs.setSolution(known)
    highs.run()
    found = np.flatnonzero(np.array(highs.getSolution().col_value[:columns]) > 0.5)
    covers = len(found) and (np.bincount(table.indices, minlength=columns) >= 0).all()
    reached = np.zeros(columns)
    reached[found] = 1.0
    covers = covers and bool((table @ reached > 0.5).all())
    return found.astype(np.int64) if covers and cost[found].sum() <= cost[start].sum() else start
