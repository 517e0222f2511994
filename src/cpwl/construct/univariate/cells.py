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
from itertools import product

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cells", "Classes", "Switching", "best_cells", "best_switching", "cells_for", "switching_for"]

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


# Slots that change sign from cell to cell: a plan for three hidden layers, for breakpoints in blocks of equal sign.
#
# With two layers a slot makes breakpoints of one sign. With a third, a group of slots, `G`, may make positive ones in
# some cells and negative ones in others: see `three_layers`. That may change only between cells where all of the
# group are negative, and every cell in which they bend turns their signs. So a plan goes from left to right with four
# states: the sign of the group where a cell begins, and which sign of breakpoints it made last; for each, the later the
# cell begins the better.


Slots3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Switching:
    """Slots for positive and negative breakpoints and for either; cells; what the last make, and whether, in each."""

    slots: Slots3
    cells: tuple[tuple[int, int], ...]
    singles: tuple[int, ...]
    turns: tuple[int, ...]
    """1 or -1: the sign of the breakpoints that the switching slots make in each cell."""
    active: tuple[bool, ...]
    start: int
    """The sign with which the switching slots begin."""

    @property
    def plan(self) -> Cells:
        """The cells alone."""
        return Cells(self.slots, self.cells, self.singles)

    @property
    def neurons(self) -> int:
        """Without what carries affine parts: knots, one more, slots, and two that switch, in layers two and three."""
        return self.plan.neurons + 2


@dataclass(frozen=True, slots=True)
class _Way:
    """A cell on the way, and the way before it."""

    begin: int
    sign: int
    turn: int
    active: bool
    before: _Way | None


def switching_for(classes: Classes, slots: Slots3, most: int | None = None) -> Switching | None:
    """The fewest knots for these slots; None if there are more than `most`, or one output is not all there is.

    >>> signs = np.repeat([1, -1], 10)[:, None]
    >>> switching_for(Classes.from_signs(signs), (0, 0, 4)).turns
    (1, 1, -1, -1)
    """
    if len({o for o, _ in classes.kinds}) != 1:
        return None
    signs = [s for _, s in classes.kinds]
    m = classes.count
    # state: sign where the next cell begins, sign made last -> where it begins, and the way to there
    states: dict[tuple[int, int], tuple[int, _Way | None]] = dict.fromkeys(product((1, -1), (1, -1)), (0, None))
    step = 0
    while most is None or 2 * step <= most:
        following: dict[tuple[int, int], tuple[int, _Way | None]] = {}
        done: list[tuple[int, _Way]] = []
        for (sign, last), (begin, way) in states.items():
            for turn, active in product((1, -1), (True, False)):
                if turn != last and (sign > 0 or not active):
                    continue
                room = tuple(slots[0 if s > 0 else 1] + (slots[2] if active and s == turn else 0) for s in signs)
                end = classes.overflow(begin, room)
                if active and not _has(classes, signs, turn, begin, end):
                    continue
                cell = _Way(begin, sign, turn, active, way)
                if end >= m - 2:
                    done.append((max(0, m - end), cell))
                    continue
                key = (-sign if active else sign, turn)
                if end + 2 > following.get(key, (0, None))[0]:
                    following[key] = (end + 2, cell)
        if done:
            rest, cell = min(done, key=lambda d: d[0])
            if most is None or 2 * step + rest <= most:
                return _switch_finished(slots, cell, rest, m)
        states, step = following, step + 1
        if not states:
            return None
    return None


def _has(classes: Classes, signs: list[int], turn: int, begin: int, end: int) -> bool:
    """Whether a breakpoint of that sign is in the cell."""
    if turn not in signs:
        return False
    before = classes.before[signs.index(turn)]
    return before[end] > before[begin]


def _switch_finished(slots: Slots3, last: _Way, rest: int, m: int) -> Switching:
    ways: list[_Way] = []
    way: _Way | None = last
    while way is not None:
        ways.append(way)
        way = way.before
    ways.reverse()
    begins = [w.begin for w in ways]
    cells = tuple(zip(begins, [b - 2 for b in begins[1:]] + [m], strict=True))
    singles = tuple(range(m - rest, m))
    return Switching(slots, cells, singles, tuple(w.turn for w in ways), tuple(w.active for w in ways), ways[0].sign)


def best_switching(classes: Classes, limit: int) -> list[Switching]:
    """Plans with fewer than `limit` neurons, as far as a local search finds them, best first."""
    m = classes.count
    found: dict[Slots3, Switching | None] = {}

    def neurons(slots: Slots3) -> int:
        if slots not in found:
            found[slots] = switching_for(classes, slots, limit - 3 - sum(slots))
        plan = found[slots]
        return 2 * m + sum(slots) if plan is None or len(plan.cells) < 2 else plan.neurons

    total = max(1, round(float(np.sqrt(2 * m))))
    for share in (0.0, 0.15, 0.3):
        fixed = round(share * total)
        slots: Slots3 = (fixed, fixed, max(1, total - 2 * fixed))
        value, step = neurons(slots), max(1, total // 4)
        while step:
            moves = [tuple(v + d for v, d in zip(slots, by, strict=True)) for by in _steps(step)]
            scored = [(neurons(t), t) for t in moves if min(t) >= 0 and t[2] > 0]  # type: ignore[arg-type]
            better = min(scored, default=(value, slots))
            if better[0] < value:
                value, slots = better  # type: ignore[assignment]
            else:
                step //= 2
    plans = [p for p in found.values() if p is not None and len(p.cells) > 1 and p.neurons < limit]
    return sorted(plans, key=lambda p: (p.neurons, p.slots))[:16]


def _steps(step: int) -> list[tuple[int, ...]]:
    """One number of slots up or down, or one up and another down."""
    unit = np.eye(3, dtype=np.int64) * step
    single = [tuple((s * row).tolist()) for row in unit for s in (1, -1)]
    return single + [tuple((a - b).tolist()) for a in unit for b in unit if (a != b).any()]
