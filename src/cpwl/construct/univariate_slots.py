"""Slots: second-layer neurons that make one breakpoint in every cell, and the affine part that is left beside them.

On cell `j` slot `i` reads ``Z = -s w (t - z)``: `z` a breakpoint, ``w > 0`` (a share of) the size of its jump, and `s`
the sign that `Z` has where the cell begins. ``sigma relu(Z)`` then bends at `z` by ``sigma w``. In a cell where its
class has no breakpoint, `Z` is constant. Between cells `Z` goes straight and keeps its sign. So `Z` is given by its
values at the knots and its outer slopes, and so is ``A = g - sum_i sigma_i relu(Z_i)``, which bends at knots only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.univariate_cells import Cells
from cpwl.construct.univariate_profile import Profile

__all__ = ["Bent", "Slots", "bent_rows", "deal", "knots_of", "rational", "residuals", "slots_of"]

Objects = NDArray[np.object_]
rational = np.frompyfunc(fmpq, 2, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """For each slot its output and sign; for each slot and cell the zero and the size of its bend (0: none)."""

    output: NDArray[np.int64]
    sigma: NDArray[np.int64]
    """``(slots, cells)``."""
    which: NDArray[np.int64]
    """The breakpoint where it bends, ``(slots, cells)``; -1 for none."""
    size: Objects
    """The part of the jump that it makes, positive."""

    def signs(self, start: NDArray[np.int64]) -> NDArray[np.int64]:
        """The signs of all slots where each cell begins, and at the end, from those at the very beginning."""
        turns = np.cumprod(np.where(self.which >= 0, -1, 1), axis=1)
        return start[:, None] * np.column_stack([np.ones(len(turns), dtype=np.int64), turns])


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
    return Slots(output[used], sigma[used], slots.which[used], slots.size[used])


def deal(
    profile: Profile, plan: Cells, output: NDArray[np.int64], sigma: NDArray[np.int64], ready: NDArray[np.bool_]
) -> Slots:
    """Breakpoints dealt out to the slots of their class that are ready; if they are too few, several make the last."""
    jump = rational(*profile.jumps())
    signs = np.where(jump > 0, 1, np.where(jump < 0, -1, 0))
    knots = set(plan.singles)
    which = np.full(sigma.shape, -1, dtype=np.int64)
    size = np.full(sigma.shape, fmpq(0), dtype=object)
    for j, (begin, end) in enumerate(plan.cells):
        for o, s in product(range(profile.outputs), (1, -1)):
            members = [i for i in range(begin, end) if signs[i, o] == s and i not in knots]
            rows = np.flatnonzero((output == o) & (sigma[:, j] == s) & ready[:, j])
            assert len(members) <= len(rows)
            if members:
                dealt = np.minimum(np.arange(len(rows)), len(members) - 1)
                which[rows, j] = np.array(members)[dealt]
                together = np.where(dealt == len(members) - 1, len(rows) - len(members) + 1, 1)
                size[rows, j] = s * jump[which[rows, j], o] / together.astype(object)
    return Slots(output, sigma, which, size)


def knots_of(plan: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The breakpoints that are knots, in order, and the cell that each of them ends, begins, or is inside."""
    knots = [(end, j) for j, (_, end) in enumerate(plan.cells[:-1])]
    knots += [(begin - 1, j + 1) for j, (begin, _) in enumerate(plan.cells[1:])]
    knots += [(i, next(j for j, (begin, end) in enumerate(plan.cells) if begin <= i < end)) for i in plan.singles]
    knots.sort()
    return np.array([k for k, _ in knots], dtype=np.int64), np.array([j for _, j in knots], dtype=np.int64)


def affine_on_cells(slots: Slots, places: Objects, plan: Cells, start: NDArray[np.int64]) -> tuple[Objects, Objects]:
    """Slope and offset of every slot on every cell, ``(slots, cells)``."""
    sign = slots.signs(start)[:, :-1].astype(object)
    slope = -sign * slots.size
    offset = -slope * places[np.maximum(slots.which, 0)]
    for i, j in np.argwhere(slots.which < 0):
        if j > 0:  # goes on with the value at the end of the cell before
            offset[i, j] = slope[i, j - 1] * places[plan.cells[j - 1][1]] + offset[i, j - 1]
    for i in np.flatnonzero(slots.which[:, 0] < 0):  # begins with the value that the first bend needs
        j = int(np.argmax(slots.which[i] >= 0))
        if slots.which[i, j] < 0:  # there is none: all its breakpoints have become knots
            continue
        offset[i, :j] = slope[i, j] * places[plan.cells[j][0] - 1] + offset[i, j]
    return slope, offset


def bent_rows(slots: Slots, profile: Profile, plan: Cells, start: NDArray[np.int64]) -> tuple[Bent, Objects, Objects]:
    """What all slots read, by its values at the knots; and its slopes and offsets on the cells."""
    places = rational(profile.places[:, 0], profile.places[:, 1])
    slope, offset = affine_on_cells(slots, places, plan, start)
    knots, cell = knots_of(plan)
    return Bent(slope[:, cell] * places[knots] + offset[:, cell], slope[:, 0], slope[:, -1]), slope, offset


def residuals(
    slots: Slots, profile: Profile, plan: Cells, start: NDArray[np.int64], slope: Objects, offset: Objects
) -> Bent:
    """``A = g - sum sigma relu(Z)`` of each output."""
    knots, cell = knots_of(plan)
    inside: list[list[int]] = [[i for i in plan.singles if begin <= i < end] for begin, end in plan.cells]
    sign = slots.signs(start)[:, :-1]
    values = np.empty((profile.outputs, len(knots)), dtype=object)
    outer = np.empty((profile.outputs, 2), dtype=object)
    for o in range(profile.outputs):
        mine = slots.output == o
        laws = [
            _on_cell(profile, slots, plan, o, j, mine, sign, slope, offset, inside[j]) for j in range(len(plan.cells))
        ]
        for r, (k, j) in enumerate(zip(knots, cell, strict=True)):
            t = _place(profile, k)
            values[o, r] = laws[j][0] * t + laws[j][1]
            values[o, r] += sum((_jump(profile, i, o) * (t - _place(profile, i)) for i in inside[j] if i < k), fmpq(0))
        outer[o] = laws[0][0], laws[-1][0] + sum((_jump(profile, i, o) for i in inside[-1]), fmpq(0))
    return Bent(values, outer[:, 0], outer[:, 1])


def _on_cell(
    profile: Profile,
    slots: Slots,
    plan: Cells,
    o: int,
    j: int,
    mine: NDArray[np.bool_],
    sign: NDArray[np.int64],
    slope: Objects,
    offset: Objects,
    inside: list[int],
) -> tuple[fmpq, fmpq]:
    """`A` on cell `j` before its first single. Where all slots are negative at one end, it is the law of `g` there."""
    begin, end = plan.cells[j]
    active = slots.which[:, j] >= 0
    positive = mine & (sign[:, j] > 0)
    if (active[mine]).all() and positive.any() and positive[mine].all():
        a, b = _law(profile, end, o)
        for i in inside:
            a, b = a - _jump(profile, i, o), b + _jump(profile, i, o) * _place(profile, i)
        return a, b
    a, b = _law(profile, begin, o)
    for i in np.flatnonzero(positive):  # relu(Z) = Z there
        a, b = a - int(slots.sigma[i, j]) * slope[i, j], b - int(slots.sigma[i, j]) * offset[i, j]
    return a, b


def _law(profile: Profile, piece: int, o: int) -> tuple[Any, Any]:
    a, b, d = (int(v) for v in profile.laws[piece, o])
    return fmpq(a, d), fmpq(b, d)


def _place(profile: Profile, i: int) -> fmpq:
    return fmpq(*profile.places[i])


def _jump(profile: Profile, i: int, o: int) -> fmpq:
    return _law(profile, i + 1, o)[0] - _law(profile, i, o)[0]
