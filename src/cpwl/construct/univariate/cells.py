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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, TypeVar, cast

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.exact.integers import ratio_view
from cpwl.function.bends.profile import Profile

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
class LineCells:
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


def cells_for(classes: Classes, slots: tuple[int, ...], most: int | None = None) -> LineCells | None:
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
) -> LineCells:
    """Cells end where the next one begins, less the separator; `single`: its cell and place, or the last two of all."""
    cells = list(zip(starts, [s - 2 for s in starts[1:]] + [m], strict=True))
    if single is None:
        singles: tuple[int, ...] = ()
    elif single[1] == single[0] + 1 == m - 1 and classes.overflow(starts[-1], slots) == single[0]:
        singles = single
    else:
        singles = (single[1],)
    return LineCells(slots, tuple(cells), singles)


def best_cells(classes: Classes) -> list[LineCells]:
    """The plans with the fewest neurons, and some with one more, best first; none if there are too few breakpoints."""
    found: dict[tuple[int, ...], LineCells | None] = {}
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
        total = np.sqrt(2 * classes.count * max(1, len(sizes) // 2))
        for share in (1.0, 0.8, 1.25):  # slots in proportion
            slots = tuple(min(size, max(1, round(share * total * size / sum(sizes)))) for size in sizes)
            _descend(
                neurons,
                slots,
                max(1, int(total / 4)),
                lambda t: all(0 <= v <= size for v, size in zip(t, sizes, strict=True)),
            )
    plans = [c for c in found.values() if c is not None and len(c.cells) > 1 and c.neurons <= best + 1]
    return sorted(plans, key=lambda c: (c.neurons, c.slots))[:64]


_Counts = TypeVar("_Counts", bound=tuple[int, ...])


def _descend(
    neurons: Callable[[_Counts], int], slots: _Counts, step: int, allowed: Callable[[tuple[int, ...]], bool]
) -> None:
    """Local search: change one number of slots or move between two, in steps that get smaller."""
    value = neurons(slots)
    unit = np.eye(len(slots), dtype=np.int64)
    while step:
        ways = [s * row for row in unit for s in (1, -1)] + [a - b for a in unit for b in unit if (a != b).any()]
        moves = [cast(_Counts, tuple((np.array(slots) + step * way).tolist())) for way in ways]
        better = min(((neurons(t), t) for t in moves if allowed(t)), default=(value, slots))
        if better[0] < value:
            value, slots = better
        else:
            step //= 2


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
    def plan(self) -> LineCells:
        """The cells alone."""
        return LineCells(self.slots, self.cells, self.singles)

    @property
    def neurons(self) -> int:
        """Without what carries affine parts: knots, one more, slots, and two that switch, in layers two and three."""
        return self.plan.neurons + 2


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A cell on the way, and the way before it."""

    begin: int
    sign: int
    turn: int
    active: bool
    before: _Prefix | None


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
    states: dict[tuple[int, int], tuple[int, _Prefix | None]] = dict.fromkeys(product((1, -1), (1, -1)), (0, None))
    step = 0
    while most is None or 2 * step <= most:
        following: dict[tuple[int, int], tuple[int, _Prefix | None]] = {}
        done: list[tuple[int, _Prefix]] = []
        for (sign, last), (begin, way) in states.items():
            for turn, active in product((1, -1), (True, False)):
                if turn != last and (sign > 0 or not active):
                    continue
                room = tuple(slots[0 if s > 0 else 1] + (slots[2] if active and s == turn else 0) for s in signs)
                end = classes.overflow(begin, room)
                if active and not _has(classes, signs, turn, begin, end):
                    continue
                cell = _Prefix(begin, sign, turn, active, way)
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


def _switch_finished(slots: Slots3, last: _Prefix, rest: int, m: int) -> Switching:
    ways: list[_Prefix] = []
    way: _Prefix | None = last
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
        _descend(neurons, slots, max(1, total // 4), lambda t: min(t) >= 0 and t[2] > 0)
    plans = [p for p in found.values() if p is not None and len(p.cells) > 1 and p.neurons < limit]
    return sorted(plans, key=lambda p: (p.neurons, p.slots))[:16]


# Slots: second-layer neurons that make one breakpoint in every cell, and the affine part that is left beside them.
#
# On cell `j` slot `i` reads ``Z = -s w (t - z)``: `z` a breakpoint, ``w > 0`` the size of its jump, and `s` the sign
# that `Z` has where the cell begins. ``sigma relu(Z)`` then bends at `z` by ``sigma w``. In a cell that has no
# breakpoint for it, `Z` is 0. Between cells `Z` goes straight, and has no other sign there than at the ends. So `Z`
# bends at knots only, and so does ``A = g - sum_i sigma_i relu(Z_i)``.


Objects = NDArray[np.object_]
rational = np.frompyfunc(fmpq, 2, 1)


@dataclass(frozen=True, slots=True, eq=False)
class LineSlots:
    """For each slot its output; for each slot and cell the sign of its bend, where it is, and whether `Z` turns."""

    output: NDArray[np.int64]
    sigma: NDArray[np.int64]
    """``(slots, cells)``."""
    which: NDArray[np.int64]
    """The breakpoint where it bends, ``(slots, cells)``; -1 for none: then `Z` is 0 there."""
    turning: NDArray[np.bool_]
    """Whether the sign after the cell is another than before, ``(slots, cells)``; so where it bends."""

    def signs(self, start: NDArray[np.int64]) -> NDArray[np.int64]:
        """The signs of all slots where each cell begins, and at the end, from those at the very beginning."""
        turns = np.cumprod(np.where(self.turning, -1, 1), axis=1)
        return start[:, None] * np.column_stack([np.ones(len(turns), dtype=np.int64), turns])

    def sizes(self, profile: Profile, cell: int) -> Objects:
        """The sizes of the bends in one cell, 0 for none."""
        which = self.which[:, cell]
        found = np.full(len(which), fmpq(0), dtype=object)
        bent = np.flatnonzero(which >= 0)
        found[bent] = rational(
            abs(profile.jump[which[bent], self.output[bent]]), profile.below[which[bent], self.output[bent]]
        )
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Bent:
    """Functions that bend at the knots: values there ``(f, r)``, and the slopes left and right of all of them."""

    values: Objects
    left: Objects
    right: Objects


def slots_of(profile: Profile, plan: LineCells, kinds: tuple[tuple[int, int], ...]) -> LineSlots:
    """Slots of one sign each, as many of each class as planned."""
    output = np.repeat([o for o, _ in kinds], plan.slots)
    sigma = np.repeat([s for _, s in kinds], plan.slots)[:, None] * np.ones(len(plan.cells), dtype=np.int64)
    slots = deal(profile, plan, output, sigma, np.ones(sigma.shape, dtype=bool))
    used = (slots.which >= 0).any(axis=1)  # not if all breakpoints of a class are knots
    return LineSlots(output[used], sigma[used], slots.which[used], slots.turning[used])


def deal(
    profile: Profile, plan: LineCells, output: NDArray[np.int64], sigma: NDArray[np.int64], ready: NDArray[np.bool_]
) -> LineSlots:
    """Breakpoints of each cell dealt out to the slots of their class that are ready; the others are 0 in that cell.

    In a separator `Z` goes from its value where a cell ends to that where the next one begins, and both have the same
    sign. The larger the one, the larger the other is chosen: steep separators have large weights, which round.
    """
    signs = np.where(profile.jump > 0, 1, np.where(profile.jump < 0, -1, 0))
    signs[list(plan.singles)] = 0
    places, sizes = ratio_view(*profile.places.T), np.abs(ratio_view(profile.jump, profile.below))
    which = np.full(sigma.shape, -1, dtype=np.int64)
    reached = np.zeros(len(sigma))  # the size of each `Z` where the last cell ends
    for j, (begin, end) in enumerate(plan.cells):
        for o, s in product(range(profile.outputs), (1, -1)):
            members = begin + np.flatnonzero(signs[begin:end, o] == s)
            rows = np.flatnonzero((output == o) & (sigma[:, j] == s) & ready[:, j])
            assert len(members) <= len(rows)
            rows = rows[np.argsort(-reached[rows], kind="stable")]
            if j:
                members = members[np.argsort((places[begin - 1] - places[members]) * sizes[members, o], kind="stable")]
            which[rows[: len(members)], j] = members
        if end < len(places):
            at = which[:, j]
            reached = np.where(at >= 0, (places[end] - places[at]) * sizes[at, output], 0.0)
    return LineSlots(output, sigma, which, ready)


def knots_of(plan: LineCells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The breakpoints that are knots, in order, and the cell that each of them ends, begins, or is inside."""
    knots = [(end, j) for j, (_, end) in enumerate(plan.cells[:-1])]
    knots += [(begin - 1, j + 1) for j, (begin, _) in enumerate(plan.cells[1:])]
    knots += [(i, next(j for j, (begin, end) in enumerate(plan.cells) if begin <= i < end)) for i in plan.singles]
    knots.sort()
    return np.array([k for k, _ in knots], dtype=np.int64), np.array([j for _, j in knots], dtype=np.int64)


def values_at_knots(slots: LineSlots, profile: Profile, plan: LineCells, start: NDArray[np.int64]) -> Objects:
    """``Z`` of all slots at the knots, ``(slots, r)``."""
    knots, cell = knots_of(plan)
    sign = slots.signs(start)
    values = np.empty((len(slots.output), len(knots)), dtype=object)
    for r, (k, j) in enumerate(zip(knots, cell, strict=True)):
        zeros = rational(*profile.places[np.maximum(slots.which[:, j], 0)].T)
        values[:, r] = -sign[:, j].astype(object) * slots.sizes(profile, j) * (_place(profile, k) - zeros)
    return values


def residuals(slots: LineSlots, profile: Profile, plan: LineCells, start: NDArray[np.int64]) -> Bent:
    """``A = g - sum sigma relu(Z)`` of each output."""
    knots, cell = knots_of(plan)
    inside: list[list[int]] = [[] for _ in plan.cells]
    for k, j in zip(knots.tolist(), cell, strict=True):
        if plan.cells[j][0] <= k < plan.cells[j][1]:
            inside[j].append(k)
    sign = slots.signs(start)
    values = np.empty((profile.outputs, len(knots)), dtype=object)
    outer = np.empty((profile.outputs, 2), dtype=object)
    for o in range(profile.outputs):
        mine = slots.output == o
        laws = [
            _on_cell(profile, plan.cells[j], o, slots.which[mine, j], sign[mine, j] > 0, inside[j])
            for j in range(len(plan.cells))
        ]
        for r, (k, j) in enumerate(zip(knots, cell, strict=True)):
            t = _place(profile, k)
            values[o, r] = laws[j][0] * t + laws[j][1]
            values[o, r] += sum((_jump(profile, i, o) * (t - _place(profile, i)) for i in inside[j] if i < k), fmpq(0))
        outer[o] = laws[0][0], laws[-1][0] + sum((_jump(profile, i, o) for i in inside[-1]), fmpq(0))
    return Bent(values, outer[:, 0], outer[:, 1])


def _on_cell(
    profile: Profile,
    cell: tuple[int, int],
    o: int,
    which: NDArray[np.int64],
    positive: NDArray[np.bool_],
    inside: list[int],
) -> tuple[fmpq, fmpq]:
    """`A` on a cell before its first single: `g` where it begins, bent as the positive slots bend; or from its end.

    A positive slot is ``-w (t - z)`` where the cell begins. If none is positive, `A` is the law of `g` where the cell
    begins; if all are, the one where it ends (but for singles).
    """
    some = which[positive & (which >= 0)].tolist()
    others = which[~positive & (which >= 0)].tolist()
    if len(some) <= len(others):
        a, b = _law(profile, cell[0], o)
        bends, way = some, 1
    else:
        a, b = _law(profile, cell[1], o)
        bends, way = others + inside, -1
    for k in bends:
        jump = way * _jump(profile, k, o)
        a, b = a + jump, b - jump * _place(profile, k)
    return a, b


def _law(profile: Profile, piece: int, o: int) -> tuple[Any, Any]:
    a, b, d = (int(v) for v in profile.laws[piece, o])
    return fmpq(a, d), fmpq(b, d)


def _place(profile: Profile, i: int) -> fmpq:
    return fmpq(*profile.places[i])


def _jump(profile: Profile, i: int, o: int) -> fmpq:
    return fmpq(profile.jump[i, o], profile.below[i, o])


# How the affine part `A` passes the second layer: by one neuron if it has a bound, else by two.
#
# The sign `e` with which a slot begins is free, and decides about the outer slopes of ``A = g - sum sigma relu(Z)``:
# ``A'(-oo) = g' + sum over e > 0 of sigma u`` and ``A'(oo) = g' - sum over slots that end positive of sigma v``, with
# `u` and `v` the sizes of the bends in the first and in the last cell. If the first is at most 0 and the last at least
# 0, or the other way round, `A` has a bound: ``A = relu(A + C) - C``, or ``A = C - relu(C - A)``.


Start = tuple[NDArray[np.int64], list[int]]
"""Signs with which slots begin; for each output 1 if `A` is bounded below, -1 if above, 0 if it takes two neurons."""
_TRIES = 20_000
_MIXED = 200  # slots up to which signs may differ: A then sums up jumps, and its weights have long numerators


def start_signs(profile: Profile, slots: LineSlots, given: NDArray[np.int64] | None = None) -> Start:
    """Signs that give `A` a bound where there are such, all of one class equal if possible.

    `given` has 1 or -1 for slots whose sign is not free, and 0 for the others.
    """
    given = np.zeros(len(slots.output), dtype=np.int64) if given is None else given
    start = np.where(given == 0, -1, given)
    ends = slots.signs(start)[:, -1]
    first, last = (slots.sigma[:, j].astype(object) * slots.sizes(profile, j) for j in (0, -1))
    bounded = []
    for o in range(profile.outputs):
        if any(profile.rest[o]):
            bounded.append(0)
            continue
        mine = np.flatnonzero((slots.output == o) & (given == 0))
        slopes = [fmpq(int(law[0]), int(law[2])) for law in (profile.laws[0, o], profile.laws[-1, o])]
        for i in np.flatnonzero((slots.output == o) & (given != 0)):
            slopes[0] += first[i] if start[i] > 0 else 0
            slopes[1] -= last[i] if ends[i] > 0 else 0
        found = _search(slopes, slots, (first, last), mine, profile.low, profile.high)
        bounded.append(0 if found is None else found[0])
        if found is not None:
            start[mine] = found[1]
    return start, bounded


def _search(
    slopes: list[fmpq],
    slots: LineSlots,
    bends: tuple[Objects, Objects],
    mine: NDArray[np.int64],
    low: Fraction | None,
    high: Fraction | None,
) -> tuple[int, NDArray[np.int64]] | None:
    """One output: in each class the slots with the largest ``u / v`` begin with +; none and all of them come first."""
    first, last = bends
    groups = [mine[slots.sigma[mine, 0] == s] for s in (1, -1)]
    groups = [_by_ratio(first, last, group) for group in groups if len(group)]
    ends = slots.signs(np.ones(len(slots.output), dtype=np.int64))[:, -1]
    tables = []
    for group in groups:
        # How the slopes of A change if the first c slots begin with + and the others with -.
        before = np.concatenate([[fmpq(0)], np.cumsum(first[group])])
        plus = np.concatenate([[fmpq(0)], np.cumsum(np.where(ends[group] > 0, last[group], fmpq(0)))])
        minus = np.concatenate([[fmpq(0)], np.cumsum(np.where(ends[group] < 0, last[group], fmpq(0)))])
        tables.append((before, plus + (minus[-1] - minus)))
    for choice in itertools.islice(_choices([len(group) for group in groups]), _TRIES):
        a = slopes[0] + sum((t[0][c] for t, c in zip(tables, choice, strict=True)), fmpq(0))
        b = slopes[1] - sum((t[1][c] for t, c in zip(tables, choice, strict=True)), fmpq(0))
        for way in (1, -1):
            if (low is not None or way * a <= 0) and (high is not None or way * b >= 0):
                start = -np.ones(len(slots.output), dtype=np.int64)
                for group, c in zip(groups, choice, strict=True):
                    start[group[:c]] = 1
                return way, start[mine]
    return None


def _choices(sizes: list[int]) -> Iterator[tuple[int, ...]]:
    """How many of each class begin with +: none or all of them; all of a class; any number."""
    yield tuple(0 for _ in sizes)
    yield tuple(sizes)
    if sum(sizes) <= _MIXED:
        yield from itertools.product(*((0, size) for size in sizes))
        yield from itertools.product(*(range(size + 1) for size in sizes))


def _by_ratio(first: Objects, last: Objects, group: NDArray[np.int64]) -> NDArray[np.int64]:
    ratio = [float(first[i] / last[i]) if last[i] else np.inf for i in group]
    return group[np.argsort(-np.array(ratio), kind="stable")]
