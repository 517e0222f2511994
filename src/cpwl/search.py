"""The programs that HiGHS solves; covers: cheap sets that cover everything, greedily, and by a binary program if few.

In the words of points and lines: few lines through all given points.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, vstack

# Every program that HiGHS solves is made here.

_Ends = tuple[NDArray[np.float64], NDArray[np.float64]]
_Rows = tuple[Any, Any, Any]


def highs_with(options: Mapping[str, Any]) -> highspy.Highs:
    """HiGHS with some of its options set, and silent."""
    highs = highspy.Highs()
    for name, value in ({"output_flag": False} | dict(options)).items():
        highs.setOptionValue(name, value)
    return highs


def highs_takes(
    lp: highspy.HighsLp, highs: highspy.Highs, cost: NDArray[np.float64], rows: _Rows, columns: _Ends, sums: _Ends
) -> bool:
    """Gives HiGHS the program ``min cost . x``, and says whether it takes it: some numbers are too large for it.

    `rows` are the arrays of a CSR matrix (start, index, value); `columns` are the least and the largest values of `x`,
    `sums` those of ``rows . x``. What else there is to say, such as names, is in `lp`.
    """
    (lp.col_lower_, lp.col_upper_), (lp.row_lower_, lp.row_upper_) = columns, sums
    lp.num_col_, lp.num_row_, lp.col_cost_ = len(cost), len(sums[0]), cost
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = rows
    return bool(highs.passModel(lp) != highspy.HighsStatus.kError)


# Small binary programs, the same answer every time: limits are on nodes, and one thread works.


_QUIET: dict[str, Any] = {"threads": 1, "time_limit": 60.0}


def cheapest_choice(
    cost: NDArray[np.float64],
    rows: csr_array[Any, tuple[int, int]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    start: NDArray[np.int64],
    options: dict[str, Any],
) -> NDArray[np.int64]:
    """Columns of small total cost with ``low <= rows . x <= high`` where `x` is 1 on them.

    `start` is a choice that is known to do, and stays where none is found that is no dearer; `options` are those of
    HiGHS, such as a limit on nodes.

    >>> table = csr_array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> ones = np.ones(2)
    >>> cheapest_choice(np.ones(3), table, ones, ones, np.array([0, 2]), {"mip_max_nodes": 9})
    array([1])
    """
    columns, lp, highs = len(cost), highspy.HighsLp(), highs_with(_QUIET | options)
    lp.integrality_ = [highspy.HighsVarType.kInteger] * columns
    whole = rows.indptr, rows.indices, rows.data
    highs_takes(lp, highs, cost, whole, (np.zeros(columns), np.ones(columns)), (low, high))
    known = highspy.HighsSolution()
    known.col_value = np.isin(np.arange(columns), start).astype(np.float64).tolist()
    highs.setSolution(known)
    highs.run()
    taken = np.array(highs.getSolution().col_value) > 0.5
    if len(taken) != columns or cost[taken].sum() > cost[start].sum():
        return start
    sums = rows @ taken.astype(np.float64)
    return np.flatnonzero(taken) if bool(((sums > low - 0.5) & (sums < high + 0.5)).all()) else start


def feasible_choice(
    rows: csr_array[Any, tuple[int, int]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    bits: int,
    most: float,
    options: dict[str, Any],
) -> NDArray[np.bool_] | None:
    """The first `bits` columns, 0 or 1, of an `x` with ``low <= rows . x <= high``; the others are within `most` of 0.

    None if none was found; floats propose.

    >>> table = csr_array([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]])
    >>> feasible_choice(table, np.array([2.5, 1.0]), np.array([2.5, 1.0]), 2, 9.0, {})
    array([ True, False])
    """
    columns, lp, highs = rows.shape[1], highspy.HighsLp(), highs_with(_QUIET | options)
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kInteger if k < bits else kinds.kContinuous for k in range(columns)]
    ends = np.where(np.arange(columns) < bits, 0.0, -most), np.where(np.arange(columns) < bits, 1.0, most)
    if not highs_takes(lp, highs, np.zeros(columns), (rows.indptr, rows.indices, rows.data), ends, (low, high)):
        return None
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.asarray(np.array(highs.getSolution().col_value[:bits]) > 0.5)


_MOST = 600  # points or members up to which the MIP is asked: beyond, it takes most of the time and saves 0.2 percent
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
    """The cheapest cover, or the best one found within the limits."""
    packed = csr_array(table @ diags_array(alone.astype(np.float64)))
    packed.eliminate_zeros()
    packed = packed[np.diff(packed.indptr) > 1]
    low = np.concatenate([np.ones(table.shape[0]), np.full(packed.shape[0], -np.inf)])
    high = np.concatenate([np.full(table.shape[0], np.inf), np.ones(packed.shape[0])])
    options = _OPTIONS | {"mip_max_nodes": 20 + _NODES // table.shape[0]}
    return cheapest_choice(cost, csr_array(vstack([table, packed])), low, high, start, options)


# Sets that hold every member exactly once: greedily, then by a binary program if there are not too many.


_EXACT_OPTIONS: dict[str, Any] = {
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
    start = _greedy_exact(members, cost)
    if not members or len(numbers) > _MOST:
        return start
    ones = np.ones(len(numbers))
    return [*map(int, cheapest_choice(cost, table, ones, ones, np.array(start, dtype=np.int64), _EXACT_OPTIONS))]


def _greedy_exact(members: list[tuple[int, ...]], cost: NDArray[np.float64]) -> list[int]:
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


# Few sets that cover everything, where sets come in families: the parallel planes of a grid, say.


_SMALL = 400  # elements up to which the integer program is tried
_FAMILIES = 6
_SHARE = 0.05  # of the elements that a family must have to be worth a try
_FEW = 700  # memberships up to which it is tried for a given seed, which makes it harder
_FAMILY_NODES = 20  # of its search; a limit in seconds would make the result depend on the machine

S = TypeVar("S", bound=Hashable)


def family_cover(
    sets: Mapping[S, Sequence[int]], *, family: Callable[[S], Hashable] = lambda _: None, seed: int = 0
) -> dict[int, S]:
    """For each element one of few sets that contain it: greedy, and for small inputs a binary program.

    Greedy also tries the sets of one large `family` first: the parallel planes of a grid beat any mixture. Another
    `seed` prefers other sets among equals.

    >>> family_cover({"a": [0, 1], "b": [1, 2], "c": [0, 1, 2]})
    {0: 'c', 1: 'c', 2: 'c'}
    """
    if seed:
        order = np.random.default_rng(seed).permutation(len(sets))
        keys = list(sets)
        sets = {keys[k]: sets[keys[k]] for k in order}
    best = _best_greedy(sets, family)
    count = len(set(best.values()))
    small = sum(map(len, sets.values())) <= _FEW if seed else len(best) <= _SMALL
    found = _binary_program(sets, best, seed) if count > 1 and small else best
    return found if len(set(found.values())) < count else best


def _best_greedy(sets: Mapping[S, Sequence[int]], family: Callable[[S], Hashable]) -> dict[int, S]:
    families: dict[Hashable, int] = defaultdict(int)
    for key, members in sets.items():
        families[family(key)] += len(members)
    some = len({e for members in sets.values() for e in members}) * _SHARE
    largest = [
        name for name in sorted(families, key=lambda name: -families[name])[:_FAMILIES] if families[name] >= some
    ]
    tries = [_greedy_family(sets, set())]
    if len(families) > 1:
        tries += [_greedy_family(sets, {key for key in sets if family(key) == name}) for name in largest]
    return min(tries, key=lambda chosen: len(set(chosen.values())))


def _greedy_family(sets: Mapping[S, Sequence[int]], preferred: set[S]) -> dict[int, S]:
    """Preferred sets first, then the largest, by what it still adds; equal ones in the order given."""
    keys = list(sets)
    heap = [(key not in preferred, -len(sets[key]), i) for i, key in enumerate(keys)]
    heapq.heapify(heap)
    covered: set[int] = set()
    taken: list[S] = []
    while heap:
        last, size, i = heapq.heappop(heap)
        new = [e for e in sets[keys[i]] if e not in covered]
        if len(new) < -size:
            if new:
                heapq.heappush(heap, (last, -len(new), i))
            continue
        if new:
            covered.update(new)
            taken.append(keys[i])
    return _assigned(sets, _needed(sets, taken))


def _needed(sets: Mapping[S, Sequence[int]], taken: Sequence[S]) -> list[S]:
    """The sets without those that the others make superfluous, small ones first."""
    times = Counter(e for key in taken for e in sets[key])
    kept = set(taken)
    for key in sorted(taken, key=lambda key: len(sets[key])):
        if all(times[e] > 1 for e in sets[key]):
            kept.discard(key)
            times.subtract(sets[key])
    return [key for key in taken if key in kept]


def _assigned(sets: Mapping[S, Sequence[int]], taken: Iterable[S]) -> dict[int, S]:
    """The first set for each element."""
    chosen: dict[int, S] = {}
    for key in taken:
        for e in sets[key]:
            chosen.setdefault(e, key)
    return dict(sorted(chosen.items()))


def _binary_program(sets: Mapping[S, Sequence[int]], known: Mapping[int, S], seed: int) -> dict[int, S]:
    """The fewest sets that a search of few nodes finds, from a known cover on."""
    keys = [key for key in sets if len(sets[key])]
    elements = sorted({e for key in keys for e in sets[key]})
    row = {e: i for i, e in enumerate(elements)}
    place = [(row[e], j) for j, key in enumerate(keys) for e in sets[key]]
    i, j = np.array(place, dtype=np.int64).T
    holds = csr_array((np.ones(len(place)), (i, j)), shape=(len(elements), len(keys)))
    cost = np.ones(len(keys))
    if seed:  # all of it together is less than one set
        cost += np.random.default_rng(seed).random(len(keys)) / (2 * len(elements))
    used = set(known.values())
    start = np.array([j for j, key in enumerate(keys) if key in used], dtype=np.int64)
    options = {"mip_max_nodes": 1 if seed else _FAMILY_NODES, "mip_rel_gap": 0.05 if seed else 0.0}
    low, high = np.ones(len(elements)), np.full(len(elements), np.inf)
    found = cheapest_choice(cost, holds, low, high, start, options)
    taken = sorted(found.tolist(), key=lambda k: (-len(sets[keys[k]]), k))
    return _assigned(sets, [keys[k] for k in taken])
