"""Few sets that cover everything, where sets come in families: the parallel planes of a grid, say."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array

from cpwl.search.binary_program import cheapest_choice

__all__ = ["family_cover"]

_SMALL = 400  # elements up to which the integer program is tried
_FAMILIES = 6
_SHARE = 0.05  # of the elements that a family must have to be worth a try
_FEW = 700  # memberships up to which it is tried for a given seed, which makes it harder
_NODES = 20  # of its search; a limit in seconds would make the result depend on the machine

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
    if count > 1 and small:
        found = _binary_program(sets, best, seed)
        if found is not None and len(set(found.values())) < count:
            return found
    return best


def _best_greedy(sets: Mapping[S, Sequence[int]], family: Callable[[S], Hashable]) -> dict[int, S]:
    families: dict[Hashable, int] = defaultdict(int)
    for key, members in sets.items():
        families[family(key)] += len(members)
    some = len({e for members in sets.values() for e in members}) * _SHARE
    largest = [
        name for name in sorted(families, key=lambda name: -families[name])[:_FAMILIES] if families[name] >= some
    ]
    tries = [_greedy(sets, set())]
    if len(families) > 1:
        tries += [_greedy(sets, {key for key in sets if family(key) == name}) for name in largest]
    return min(tries, key=lambda chosen: len(set(chosen.values())))


def _greedy(sets: Mapping[S, Sequence[int]], preferred: set[S]) -> dict[int, S]:
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


def _binary_program(sets: Mapping[S, Sequence[int]], known: Mapping[int, S], seed: int) -> dict[int, S] | None:
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
    options = {"mip_max_nodes": 1 if seed else _NODES, "mip_rel_gap": 0.05 if seed else 0.0}
    low, high = np.ones(len(elements)), np.full(len(elements), np.inf)
    found = cheapest_choice(cost, holds, low, high, start, options)
    if found is None:
        return None
    taken = sorted(found.tolist(), key=lambda k: (-len(sets[keys[k]]), k))
    chosen = _assigned(sets, [keys[k] for k in taken])
    return chosen if len(chosen) == len(elements) else None
