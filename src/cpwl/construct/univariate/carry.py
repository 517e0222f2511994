"""How the affine part `A` passes the second layer: by one neuron if it has a bound, else by two.

The sign `e` with which a slot begins is free, and decides about the outer slopes of ``A = g - sum sigma relu(Z)``:
``A'(-oo) = g' + sum over e > 0 of sigma u`` and ``A'(oo) = g' - sum over slots that end positive of sigma v``, with `u`
and `v` the sizes of the bends in the first and in the last cell. If the first is at most 0 and the last at least 0, or
the other way round, `A` has a bound: ``A = relu(A + C) - C``, or ``A = C - relu(C - A)``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.univariate.slots import Slots
from cpwl.function.bends.profile import Profile

__all__ = ["Start", "start_signs"]

Start = tuple[NDArray[np.int64], list[int]]
"""Signs with which slots begin; for each output 1 if `A` is bounded below, -1 if above, 0 if it takes two neurons."""
Objects = NDArray[np.object_]
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
