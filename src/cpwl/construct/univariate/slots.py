"""Slots: second-layer neurons that make one breakpoint in every cell, and the affine part that is left beside them.

On cell `j` slot `i` reads ``Z = -s w (t - z)``: `z` a breakpoint, ``w > 0`` the size of its jump, and `s` the sign that
`Z` has where the cell begins. ``sigma relu(Z)`` then bends at `z` by ``sigma w``. In a cell that has no breakpoint for
it, `Z` is 0. Between cells `Z` goes straight, and has no other sign there than at the ends. So `Z` bends at knots only,
and so does ``A = g - sum_i sigma_i relu(Z_i)``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.univariate.cells import Cells
from cpwl.function.bends.profile import Profile

__all__ = [
    "Bent",
    "Objects",
    "Slots",
    "deal",
    "knots_of",
    "rational",
    "residuals",
    "slots_of",
    "start_signs",
    "values_at_knots",
]

Objects = NDArray[np.object_]
rational = np.frompyfunc(fmpq, 2, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
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


def slots_of(profile: Profile, plan: Cells, kinds: tuple[tuple[int, int], ...]) -> Slots:
    """Slots of one sign each, as many of each class as planned."""
    output = np.repeat([o for o, _ in kinds], plan.slots)
    sigma = np.repeat([s for _, s in kinds], plan.slots)[:, None] * np.ones(len(plan.cells), dtype=np.int64)
    slots = deal(profile, plan, output, sigma, np.ones(sigma.shape, dtype=bool))
    used = (slots.which >= 0).any(axis=1)  # not if all breakpoints of a class are knots
    return Slots(output[used], sigma[used], slots.which[used], slots.turning[used])


def deal(
    profile: Profile, plan: Cells, output: NDArray[np.int64], sigma: NDArray[np.int64], ready: NDArray[np.bool_]
) -> Slots:
    """Breakpoints of each cell dealt out to the slots of their class that are ready; the others are 0 in that cell."""
    signs = np.where(profile.jump > 0, 1, np.where(profile.jump < 0, -1, 0))
    signs[list(plan.singles)] = 0
    which = np.full(sigma.shape, -1, dtype=np.int64)
    for j, (begin, end) in enumerate(plan.cells):
        for o, s in product(range(profile.outputs), (1, -1)):
            members = begin + np.flatnonzero(signs[begin:end, o] == s)
            rows = np.flatnonzero((output == o) & (sigma[:, j] == s) & ready[:, j])
            assert len(members) <= len(rows)
            which[rows[: len(members)], j] = members
    return Slots(output, sigma, which, ready)


def knots_of(plan: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The breakpoints that are knots, in order, and the cell that each of them ends, begins, or is inside."""
    knots = [(end, j) for j, (_, end) in enumerate(plan.cells[:-1])]
    knots += [(begin - 1, j + 1) for j, (begin, _) in enumerate(plan.cells[1:])]
    knots += [(i, next(j for j, (begin, end) in enumerate(plan.cells) if begin <= i < end)) for i in plan.singles]
    knots.sort()
    return np.array([k for k, _ in knots], dtype=np.int64), np.array([j for _, j in knots], dtype=np.int64)


def values_at_knots(slots: Slots, profile: Profile, plan: Cells, start: NDArray[np.int64]) -> Objects:
    """``Z`` of all slots at the knots, ``(slots, r)``."""
    knots, cell = knots_of(plan)
    sign = slots.signs(start)
    values = np.empty((len(slots.output), len(knots)), dtype=object)
    for r, (k, j) in enumerate(zip(knots, cell, strict=True)):
        zeros = rational(*profile.places[np.maximum(slots.which[:, j], 0)].T)
        values[:, r] = -sign[:, j].astype(object) * slots.sizes(profile, j) * (_place(profile, k) - zeros)
    return values


def residuals(slots: Slots, profile: Profile, plan: Cells, start: NDArray[np.int64]) -> Bent:
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


def start_signs(profile: Profile, slots: Slots, given: NDArray[np.int64] | None = None) -> Start:
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
    slots: Slots,
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
