"""Which breakpoints become knots of the first layer, and how many slots the second layer has: a plan for two layers.

Consecutive breakpoints form *cells*, with a pair of breakpoints, a *separator*, between two cells. The breakpoints of
separators are knots, so that a second-layer neuron may be any affine function on every cell: a *slot*, which makes one
breakpoint of its own sign in every cell. A cell thus has room for as many breakpoints of a class (an output and a sign)
as the class has slots. Single breakpoints inside a cell may be knots, too.

For given slots the cells are taken as long as possible from left to right: a cell that begins later ends no earlier, so
with separators alone nothing is lost. A single may save one more; at most one is used, since two of them cost as much
as a separator, which also empties the cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cells", "Classes", "best_cells", "cells_for"]

_PAIRS = 10_000  # combinations of slots that are all tried; beyond, a local search


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The breakpoints of each class, an output and a sign, with lists that make looking up fast."""

    kinds: tuple[tuple[int, int], ...]
    places: tuple[list[int], ...]
    """The breakpoints of the class in order, then `count`."""
    before: tuple[list[int], ...]
    """How many breakpoints of the class come before each breakpoint."""
    count: int

    @classmethod
    def from_signs(cls, signs: NDArray[np.int64]) -> Classes:
        """From the signs of the jumps, ``(m, k)``; classes without members are left out.

        >>> Classes.from_signs(np.array([[1], [-1], [1]])).places
        ([0, 2, 3], [1, 3])
        """
        count = len(signs)
        kinds, places, before = [], [], []
        for o, s in itertools.product(range(signs.shape[1]), (1, -1)):
            member = signs[:, o] == s
            if member.any():
                kinds.append((o, s))
                places.append([*np.flatnonzero(member).tolist(), count])
                before.append([0, *np.cumsum(member).tolist(), int(member.sum())])
        return cls(tuple(kinds), tuple(places), tuple(before), count)

    def overflow(self, start: int, slots: tuple[int, ...], skipped: int | None = None) -> int:
        """The first breakpoint that finds no slot in a cell that begins at `start`; `count` if all do."""
        end = self.count
        for places, before, room in zip(self.places, self.before, slots, strict=True):
            last = len(places) - 1
            i = before[start] + room
            if skipped is not None and before[skipped + 1] > before[skipped]:
                i += 1
            if i < last and places[i] < end:
                end = places[i]
        return end


@dataclass(frozen=True, slots=True)
class Cells:
    """Slots of each class; cells as ranges of breakpoints; knots inside cells."""

    slots: tuple[int, ...]
    cells: tuple[tuple[int, int], ...]
    singles: tuple[int, ...]

    @property
    def knots(self) -> int:
        """How many breakpoints are knots: two between any two cells, and the singles."""
        return 2 * (len(self.cells) - 1) + len(self.singles)

    @property
    def neurons(self) -> int:
        """Neurons without those that carry the affine parts: one a knot, one more in the first layer, the slots."""
        return self.knots + 1 + sum(self.slots)


def cells_for(classes: Classes, slots: tuple[int, ...], most: int | None = None) -> Cells | None:
    """Cells with few knots for the given slots; None if they are more than `most`.

    >>> signs = np.ones((10, 1), dtype=np.int64)
    >>> cells_for(Classes.from_signs(signs), (4,)).cells
    ((0, 4), (6, 10))
    """
    m, room = classes.count, sum(slots)
    # Without and with a single so far: where each cell begins, and (with) in which cell it is and where.
    plain, marked = [0], None
    single: tuple[int, int] | None = None
    step = 0
    while most is None or 2 * step <= most:
        if most is not None and _behind(plain, marked, room, m, most):
            return None
        end = classes.overflow(plain[-1], slots)
        if end >= m:
            return _finished(slots, plain, None, m, classes)
        skipping = classes.overflow(plain[-1], slots, end)
        going = None if marked is None else classes.overflow(marked[-1], slots)
        if going is None or skipping >= going:
            marked, single = list(plain), (step, end)
            going = skipping
        assert marked is not None
        if going >= m and (most is None or 2 * step + 1 <= most):
            return _finished(slots, marked, single, m, classes)
        if end + 2 >= m:
            return (
                None
                if most is not None and 2 * step + 2 > most
                else _finished(slots, plain, (end, end + 1), m, classes)
            )
        plain.append(end + 2)
        if going + 2 < m:
            marked.append(going + 2)
        else:
            marked = None
        step += 1
    return None


def _behind(plain: list[int], marked: list[int] | None, room: int, m: int, most: int) -> bool:
    """Whether there must be more than `most` knots in the end, without and with a single so far.

    ``K`` more knots make at most ``K / 2 + 1`` cells, so for `R` breakpoints ``(K / 2 + 1) room + K >= R``.
    """
    ways = [(plain, 0)] if marked is None else [(plain, 0), (marked, 1)]
    return all(
        (2 * len(starts) - 2 + single) * (room + 2) + 2 * (m - starts[-1] - room) > most * (room + 2)
        for starts, single in ways
    )


def _finished(
    slots: tuple[int, ...], starts: list[int], single: tuple[int, int] | None, m: int, classes: Classes
) -> Cells:
    """Cells end where the next one begins, less the separator; `single`: its cell and place, or the last two of all."""
    cells = list(zip(starts, [s - 2 for s in starts[1:]] + [m], strict=True))
    if single is None:
        singles: tuple[int, ...] = ()
    elif single[1] == single[0] + 1 == m - 1 and classes.overflow(starts[-1], slots) == single[0]:
        singles = single
    else:
        singles = (single[1],)
    return Cells(slots, tuple(cells), singles)


def best_cells(classes: Classes) -> list[Cells]:
    """The plans with the fewest neurons, and some with one more, best first; none if there are too few breakpoints."""
    found: dict[tuple[int, ...], Cells | None] = {}
    best = classes.count

    def neurons(slots: tuple[int, ...]) -> int:
        nonlocal best
        if slots not in found:
            found[slots] = cells_for(classes, slots, best + 1 - sum(slots))
        cells = found[slots]
        if cells is None or len(cells.cells) < 2:
            return classes.count + sum(slots)
        best = min(best, cells.neurons)
        return cells.neurons

    sizes = [len(places) - 1 for places in classes.places]
    reach = int(2 * np.sqrt(2 * classes.count * len(sizes))) + 4
    ranges = [range(min(size, reach) + 1) for size in sizes]
    if np.prod([float(len(r)) for r in ranges]) <= _PAIRS:
        for slots in itertools.product(*ranges):
            if sum(slots) < best:
                neurons(slots)
    else:
        _descend(neurons, sizes, classes.count)
    plans = [c for c in found.values() if c is not None and len(c.cells) > 1 and c.neurons <= best + 1]
    return sorted(plans, key=lambda c: (c.neurons, c.slots))[:64]


def _descend(neurons: Callable[[tuple[int, ...]], int], sizes: list[int], count: int) -> None:
    """Local search: from slots in proportion, change one or move between two, in steps that get smaller."""
    outputs = max(1, len(sizes) // 2)
    total = np.sqrt(2 * count * outputs)
    for share in (1.0, 0.8, 1.25):
        slots = tuple(min(size, max(1, round(share * total * size / sum(sizes)))) for size in sizes)
        value = neurons(slots)
        step = max(1, int(total / 4))
        while step:
            moves = [_moved(slots, {i: s}) for i in range(len(sizes)) for s in (step, -step)]
            moves += [
                _moved(slots, {i: step, j: -step}) for i in range(len(sizes)) for j in range(len(sizes)) if i != j
            ]
            scored = [(neurons(t), t) for t in moves if all(0 <= v <= size for v, size in zip(t, sizes, strict=True))]
            better = min(scored, default=(value, slots))
            if better[0] < value:
                value, slots = better
            else:
                step //= 2


def _moved(slots: tuple[int, ...], by: dict[int, int]) -> tuple[int, ...]:
    return tuple(v + by.get(i, 0) for i, v in enumerate(slots))
