"""Slots that change sign from cell to cell: a plan for three hidden layers, for breakpoints in blocks of equal sign.

With two layers a slot makes breakpoints of one sign. With a third, a group of slots, `G`, may make positive ones in
some cells and negative ones in others: see `univariate_three`. That may change only between cells where all of the
group are negative, and every cell in which they bend turns their signs. So a plan goes from left to right with four
states: the sign of the group where a cell begins, and which sign of breakpoints it made last; for each, the later the
cell begins the better.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from cpwl.construct.univariate.cells import Cells, Classes

__all__ = ["Switching", "best_switching", "switching_for"]

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
                return _finished(slots, cell, rest, m)
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


def _finished(slots: Slots3, last: _Way, rest: int, m: int) -> Switching:
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
