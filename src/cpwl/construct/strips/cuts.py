"""Where to cut a domain into strips: as few neurons as a local search finds, counted exactly.

A choice is a list of gaps to cut in and, for each strip, a gap where its sweeps begin, its *base*. What a strip needs
is counted by differences of running sums: hinges (the bars that cross the base or end in the boundary inside the strip)
and gates of each size, by sign. A slot serves all strips, so each kind costs its maximum over the strips.
A gate with `a` kinks takes ``a + 2`` neurons, so with ``N_a`` = gates with at least `a` kinks they take
``2 max N_1 + sum_a max N_a``; a gate slot that a strip leaves free can hold one of its hinges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.strips.sweep import Floats, Ints, Sweep
from cpwl.errors import ConstructionError

__all__ = ["Cuts", "Tally", "choose_cuts", "tally"]

_CAPS = (2, 3, 4, 6)
_BASES = 14  # gaps tried as the base of a strip
_WINDOW = 12  # gaps tried for a cut on either side of where it is
_REFINED = 4  # choices that the local search starts from, at least
_CUTS = 120  # cuts in all of them, at least
_SHARPNESS = (0.5, 1.0, 2.0, 4.0)  # of the smooth maximum that it lowers
_PASSES = 3  # over all cuts, for each sharpness
_LARGE = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Cuts in `gaps` and the bases of the strips between them, with the number of neurons they lead to."""

    sweep: Sweep
    cap: int
    """The most kinks of one gate; larger ones are split."""
    gaps: tuple[int, ...]
    bases: tuple[int, ...]
    neurons: int


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Running counts along a sweep: by gap, output and sign (0: plus)."""

    cap: int
    crossing: Ints
    """``(gaps, m, 2)``: bars that cross the gap."""
    entered: Ints
    """Bars that have begun in the boundary before the gap."""
    left: Ints
    """Bars that have ended in the boundary before the gap."""
    gates: Ints
    """``(gaps, m, 2, cap)``: gates with at least 1, .., cap kinks at points before the gap, swept to the right."""
    cut: NDArray[np.bool_]
    """Gaps wide enough to cut in."""
    base: NDArray[np.bool_]
    """Gaps wide enough for a base."""
    weights: Floats
    """What one more of each feature of a strip costs: two for a gate, one for each kink and each hinge."""

    def strip(self, begin: Ints, end: Ints, base: Ints) -> Ints:
        """Features of strips: for each output and sign the numbers `N_1 .. N_cap`, and gates and hinges together."""
        after, before = self.gates[end] - self.gates[base], self.gates[base] - self.gates[begin]
        gates = after + before[..., ::-1, :]  # swept to the left, signs are exchanged
        hinges = self.crossing[base] + self.entered[end] - self.entered[base] + self.left[base] - self.left[begin]
        both = np.concatenate([gates, (hinges + gates[..., 0])[..., None]], axis=-1)
        return np.asarray(both.reshape(*both.shape[:-3], -1))

    def crossings(self, gaps: Ints) -> Ints:
        """Features of cuts: the hinges of the second system."""
        return np.asarray(self.crossing[gaps].reshape(*np.shape(gaps), -1))

    def neurons(self, gaps: Ints, bases: Ints) -> int:
        """All hidden neurons of the network with these cuts."""
        outputs, last = self.crossing.shape[1], len(self.crossing) - 1
        ends = np.concatenate([[0], gaps, [last]]).astype(np.int64)
        one = self.strip(ends[:-1], ends[1:], bases).max(axis=0)
        slots = int((one * self.weights).sum())
        if len(gaps) == 0:
            return int(2 + slots + 2 * outputs)
        two = int(self.crossings(gaps).max(axis=0).sum())
        knots = 3 * len(gaps) + 2 * (len(gaps) - 1)
        return int(2 + knots + slots + two + 8 * outputs)


def tally(sweep: Sweep, cap: int) -> Tally:
    """The running counts of a sweep, with gates of at most `cap` kinks."""
    gaps, m = len(sweep.event) + 1, len(sweep.bars)
    crossing, entered, left = (np.zeros((gaps + 1, m, 2), dtype=np.int64) for _ in range(3))
    gates = np.zeros((gaps, m, 2, cap), dtype=np.int64)
    for o, bars in enumerate(sweep.bars):
        minus = np.asarray(bars.jump < 0).astype(np.int64)
        first, last = sweep.span[o]
        _add(crossing, first + 1, o, minus, 1)
        _add(crossing, last + 1, o, minus, -1)
        for counts, chosen, at in ((entered, sweep.enters[o], first), (left, sweep.leaves[o], last)):
            _add(counts, at[chosen] + 1, o, minus[chosen], 1)
        for s, number in enumerate(_inner(sweep, o)):
            full, rest = np.divmod(number, cap)
            more = full[:, None] + (rest[:, None] >= np.arange(1, cap + 1))
            gates[sweep.vertex + 1, o, s] += more  # each point is an event of its own
    crossing, entered, left, gates = (np.cumsum(a, axis=0)[:gaps] for a in (crossing, entered, left, gates))
    wide = sweep.width >= 0.5 * np.ptp(sweep.corners[:, 0]) / gaps
    safe = sweep.safe
    weights = np.tile([2.0, *[1.0] * cap], 2 * m)
    return Tally(cap, crossing, entered, left, gates, safe & wide & _inside(gaps), safe, weights)


def _add(counts: Ints, gap: Ints, output: int, minus: Ints, number: int) -> None:
    for s in (0, 1):
        counts[:, output, s] += number * np.bincount(gap[minus == s], minlength=len(counts))


def _inside(gaps: int) -> NDArray[np.bool_]:
    inside = np.ones(gaps, dtype=bool)
    inside[[0, -1]] = False
    return inside


def _inner(sweep: Sweep, output: int) -> tuple[Ints, Ints]:
    """For each point of `V*` the inner kinks that fall and those that rise, along its sorted slopes."""
    vertex, _, _ = sweep.kinks[output]
    inner = np.zeros(len(vertex), dtype=bool)
    if len(vertex) > 2:
        inner[1:-1] = (vertex[1:-1] == vertex[:-2]) & (vertex[1:-1] == vertex[2:])
    falls = sweep.signs[output] < 0
    count = len(sweep.vertex)
    return (
        np.bincount(vertex[inner & falls], minlength=count),
        np.bincount(vertex[inner & ~falls], minlength=count),
    )


def choose_cuts(sweeps: list[Sweep], count: int | None = None) -> Cuts:
    """The best cuts found among all directions, caps and numbers of strips, or with `count` strips if that is given."""
    starts: list[tuple[int, int, Tally, Ints, Ints]] = []
    for i, one in enumerate(sweeps):
        for cap in _CAPS:
            counts = tally(one, cap)
            for strips in _numbers(counts) if count is None else [count]:
                gaps = _even(one, counts, strips)
                bases = _bases(counts, gaps)
                if bases is not None:
                    starts.append((counts.neurons(gaps, bases), i, counts, gaps, bases))
    if not starts:
        raise ConstructionError("in no direction is there a gap between the points where the function bends")
    starts.sort(key=lambda start: start[0])
    size, i, counts, gaps, bases = starts[0]
    best, taken = (size, i, counts.cap, gaps, bases), list[tuple[int, int, int]]()
    for _, i, counts, gaps, bases in starts:
        if any((i, counts.cap) == key[:2] and abs(key[2] - len(gaps)) <= len(gaps) // 20 for key in taken):
            continue
        taken.append((i, counts.cap, len(gaps)))
        size, gaps, bases = _refine(counts, gaps, bases)
        best = min(best, (size, i, counts.cap, gaps, bases), key=lambda found: found[0])
        if len(taken) >= _REFINED and len(taken) * len(gaps) > _CUTS:
            break
    size, i, cap, gaps, bases = best
    return Cuts(sweeps[i], cap, tuple(gaps.tolist()), tuple(bases.tolist()), size)


def _numbers(counts: Tally) -> list[int]:
    """Numbers of strips to try, around where knots and gates balance."""
    total = counts.gates[-1].sum() + counts.gates[-1, :, :, 0].sum()
    best = max(1.0, (total / 5) ** 0.5)
    return sorted({1, 2, 3, 4, 5, 6, *(int(best * f) for f in (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35) if best * f >= 1)})


def _even(sweep: Sweep, counts: Tally, strips: int) -> Ints:
    """Cuts that share out the gates evenly, each in the widest gap around."""
    load = counts.gates.sum(axis=(1, 2, 3)) + counts.gates[..., 0].sum(axis=(1, 2)) * 1.0
    chosen: list[int] = []
    for k in range(1, strips):
        q = int(np.searchsorted(load, load[-1] * k / strips))
        near = np.arange(max(q - 2, 1), min(q + 3, len(load) - 1))
        near = near[counts.cut[near] & (near > (chosen[-1] if chosen else 0))]
        if len(near):
            chosen.append(int(near[np.argmax(sweep.width[near])]))
    return np.array(chosen, dtype=np.int64)


def _candidates(counts: Tally, begin: Ints, end: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """For each strip some gaps that may be its base, in a last axis; and whether there are any."""
    every = np.flatnonzero(counts.base)
    first = np.searchsorted(every, begin)
    last = np.searchsorted(every, end, side="right") - 1
    share = np.linspace(0.0, 1.0, _BASES)
    index = first[..., None] + np.rint(share * np.maximum(last - first, 0)[..., None]).astype(np.int64)
    return every[np.minimum(index, len(every) - 1)], np.asarray(first <= last)


def _bases(counts: Tally, gaps: Ints) -> Ints | None:
    """For each strip the base with the fewest hinges; None if there is a strip without any."""
    if not counts.base.any():
        return None
    ends = np.concatenate([[0], gaps, [len(counts.base) - 1]]).astype(np.int64)
    q, some = _candidates(counts, ends[:-1], ends[1:])
    if not some.all():
        return None
    cost = counts.strip(ends[:-1, None], ends[1:, None], q) @ counts.weights
    return np.asarray(q[np.arange(len(q)), np.argmin(cost, axis=1)])


def _refine(counts: Tally, gaps: Ints, bases: Ints) -> tuple[int, Ints, Ints]:
    """Moves one cut at a time, and the bases beside it, to lower a smooth maximum; keeps the best that was seen."""
    best = (counts.neurons(gaps, bases), gaps.copy(), bases.copy())
    gaps, bases = gaps.copy(), bases.copy()
    if len(gaps) == 0:
        return best
    for sharpness in _SHARPNESS:
        for _ in range(_PASSES):
            before = (gaps.copy(), bases.copy())
            _pass(counts, gaps, bases, sharpness)
            size = counts.neurons(gaps, bases)
            if size < best[0]:
                best = (size, gaps.copy(), bases.copy())
            if np.array_equal(before[0], gaps) and np.array_equal(before[1], bases):
                break
    return best


def _pass(counts: Tally, gaps: Ints, bases: Ints, sharpness: float) -> None:
    """Each cut in turn goes where ``sum of weight log(sum over strips of exp(sharpness feature))`` is least."""
    ends = np.concatenate([[0], gaps, [len(counts.base) - 1]]).astype(np.int64)
    rows, across = counts.strip(ends[:-1], ends[1:], bases), counts.crossings(gaps)
    top, peak, weight = rows.max(axis=0), across.max(axis=0), counts.weights
    power, wave = np.exp(sharpness * (rows - top)), np.exp(sharpness * (across - peak))
    total, sea = power.sum(axis=0), wave.sum(axis=0)
    for k in range(len(gaps)):  # A loop over cuts: each sees where the others have moved.
        begin, end = int(ends[k]), int(ends[k + 2])
        g = np.arange(max(begin + 1, int(gaps[k]) - _WINDOW), min(end, int(gaps[k]) + _WINDOW + 1))
        g = g[counts.cut[g]]
        rest, calm = np.maximum(total - power[k] - power[k + 1], 1e-300), np.maximum(sea - wave[k], 0.0)
        one, first, some = _best_bases(counts, np.full_like(g, begin), g, rest, top, sharpness)
        two, second, more = _best_bases(counts, g, np.full_like(g, end), rest + one, top, sharpness)
        cross = np.exp(np.minimum(sharpness * (counts.crossings(g) - peak), _LARGE))
        cost = np.log(rest + one + two) @ weight + np.log(calm + cross).sum(axis=1)
        cost[~(some & more)] = np.inf
        if len(g) and np.isfinite(cost).any():
            i = int(np.argmin(cost))
            gaps[k] = ends[k + 1] = g[i]
            bases[k], bases[k + 1] = first[i], second[i]
            power[k], power[k + 1], wave[k] = one[i], two[i], cross[i]
            total, sea = rest + one[i] + two[i], calm + cross[i]


def _best_bases(
    counts: Tally, begin: Ints, end: Ints, rest: Floats, top: Ints, sharpness: float
) -> tuple[Floats, Ints, NDArray[np.bool_]]:
    """For each strip what it adds with its best base, that base, and whether there is one."""
    q, some = _candidates(counts, begin, end)
    rows = counts.strip(begin[:, None], end[:, None], q)
    power = np.exp(np.minimum(sharpness * (rows - top), _LARGE))
    cost = np.log(np.broadcast_to(rest, (len(q), rows.shape[-1]))[:, None] + power) @ counts.weights
    each, best = np.arange(len(q)), np.argmin(cost, axis=1) if len(q) else np.zeros(0, dtype=np.int64)
    return power[each, best], q[each, best], some
