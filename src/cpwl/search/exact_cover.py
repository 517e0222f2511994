"""Sets that hold every member exactly once: greedily, then by a binary program if there are not too many."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.search.binary_program import cheapest_choice

__all__ = ["exact_cover"]

_MOST = 1500  # members up to which the MIP is asked
_OPTIONS: dict[str, Any] = {
    "mip_max_nodes": 50,  # unlike a limit on time, it gives the same answer every time
    "mip_rel_gap": 1e-3,
}


def exact_cover(members: list[tuple[int, ...]], cost: NDArray[np.float64]) -> list[int]:
    """Sets of small total cost that are disjoint and hold every member of any: HiGHS's MIP if small, greedy beyond.

    There must be such sets; every set of one will do.

    >>> exact_cover([(0, 1), (1, 2), (0,), (1,), (2,)], np.array([1.0, 1.0, 0.5, 1.0, 1.0]))
    [1, 2]
    """
    numbers = {v: i for i, v in enumerate(sorted({v for own in members for v in own}))}
    row = [numbers[v] for own in members for v in own]
    column = [j for j, own in enumerate(members) for _ in own]
    table = csr_array((np.ones(len(row)), (row, column)), shape=(len(numbers), len(members)))
    start = _greedy(members, cost)
    if not members or len(numbers) > _MOST:
        return start
    found = _mip(table, cost, start)
    taken = np.isin(np.arange(len(members)), found).astype(np.float64)
    once = np.asarray(table @ taken) == 1.0
    return found if bool(once.all()) and cost[found].sum() <= cost[start].sum() else start


def _greedy(members: list[tuple[int, ...]], cost: NDArray[np.float64]) -> list[int]:
    """The member with the fewest sets left first (Karp and Sipser), by the cheapest set per member."""
    sets: dict[int, set[int]] = {}
    for j, own in enumerate(members):
        for v in own:
            sets.setdefault(v, set()).add(j)
    waiting = [(len(own), v) for v, own in sets.items()]
    heapq.heapify(waiting)
    chosen = []
    while waiting:
        known, v = heapq.heappop(waiting)
        if v not in sets or known != len(sets[v]):
            continue
        best = min(sets[v], key=lambda j: (cost[j] / len(members[j]), j))
        chosen.append(best)
        gone = {j for u in members[best] for j in sets[u]}
        for u in members[best]:
            del sets[u]
        for u in {u for j in gone for u in members[j] if u in sets}:
            sets[u] -= gone
            heapq.heappush(waiting, (len(sets[u]), u))
    return sorted(chosen)


def _mip(table: csr_array[Any, tuple[int, int]], cost: NDArray[np.float64], start: list[int]) -> list[int]:
    """The cheapest exact cover, or the best one found within the limits."""
    ones = np.ones(table.shape[0])
    found = cheapest_choice(cost, table, ones, ones, np.array(start, dtype=np.int64), _OPTIONS)
    return start if found is None else found.tolist()
