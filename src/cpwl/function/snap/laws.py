"""Exact laws near float laws that satisfy relations: fixed one after the other, each where its relations leave it.

A law that at its turn has no relation with enough fixed laws is free: it becomes the simplest rational nearby. One
relation leaves it a point, a line or a plane, of which it takes a point with dyadic coordinates; several are
intersected exactly. Laws with at most one live relation come last, again and again (peeling), so that numbers grow by
the bits of one float a level. Where relations cannot all hold near the float law, one is broken.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.exact.rational import from_flint, to_flint
from cpwl.function.snap.complex import Unfit
from cpwl.function.snap.orders import in_rounds
from cpwl.function.snap.relations import Relation, rank_of, smoothed
from cpwl.function.snap.short import FINE, short, simple
from cpwl.function.snap.system import solve_system

__all__ = ["CLOSE", "Fixed", "fix_in_turn", "fix_laws"]

_Floats = NDArray[np.float64]
_Law = list[Fraction]
_BITS = 2500  # of the numbers of a law
CLOSE = 1e-2
"""Of what values may be off: what is nearer needs no second try."""
_TRIES = 24  # orders in which laws are fixed
_WORK = 3000  # laws fixed over all tries
_REPAIRS = 2  # times that laws which were broken are fixed first
_SHORT = 200  # bits of numbers with which nothing takes long


@dataclass(frozen=True, slots=True)
class Fixed:
    """Exact laws, and those that do not satisfy all their relations."""

    laws: list[_Law]
    broken: frozenset[int]

    @property
    def bits(self) -> int:
        """The length of the longest number."""
        return max(_bits(law) for law in self.laws)


@dataclass(frozen=True, slots=True)
class _Flat:
    """An affine subspace of laws: a point and directions."""

    point: _Law
    directions: list[_Law]


def fix_laws(
    laws: _Floats, relations: Sequence[Relation], weight: _Floats, little: float, far: Sequence[tuple[int, int]] = ()
) -> Fixed:
    """Exact laws by one system, or else by the order of several that breaks the fewest and has the fewest bits.

    `laws` ``(k, n + 1)``, offset last; `weight` makes coefficients comparable, `little` is what values may be off;
    `far` are pairs with facets in unbounded pieces.
    """
    near = smoothed(laws, relations, weight, little)
    at_once = _at_once(near, relations, far, weight, little)
    if at_once is not None:
        return Fixed(at_once, frozenset())
    return fix_in_turn(laws, near, relations, weight, little)


def fix_in_turn(laws: _Floats, near: _Floats, relations: Sequence[Relation], weight: _Floats, little: float) -> Fixed:
    """Exact laws one after the other, in the order of several that breaks the fewest and has the fewest bits.

    `near` are the laws once the relations hold but for rounding.
    """
    whole = [_is_simple(law, 1e-3 * little / weight) for law in laws]
    fixing, best = _Fixing(near, relations, weight, little), None
    tries = max(3, min(_TRIES, _WORK // len(laws)))
    for seed in range(2 * tries):
        random = Random(seed)
        order = _order(whole, relations, seed) if seed % 2 else in_rounds(whole, relations, len(weight), random)
        found = fixing.run(order)
        for _ in range(_REPAIRS):
            if not found.broken:
                break
            found = fixing.run([*found.broken, *(law for law in order if law not in found.broken)])
        if best is None or (len(found.broken), found.bits) < (len(best.broken), best.bits):
            best = found
        hopeless = len(best.broken) > 2 + 0.05 * len(laws)
        if seed >= 4 if best.broken and hopeless else not best.broken and (seed >= tries or best.bits <= _SHORT):
            break
    assert best is not None
    return best


def _at_once(
    near: _Floats, relations: Sequence[Relation], far: Sequence[tuple[int, int]], weight: _Floats, little: float
) -> list[_Law] | None:
    """The laws of one system, if they are near and satisfy what is not in it, too."""
    best: tuple[float, list[_Law] | None] = (100 * little, None)
    for independent in (False, True):
        try:
            found = solve_system(near, relations, far, weight, little, independent)
        except Unfit:
            continue
        away = float(np.abs((np.array(found, dtype=np.float64) - near) * weight).max())
        if away <= best[0] and all(relation.holds(found) for relation in relations):
            best = (away, found)
        if best[0] <= CLOSE * little:
            break
    return best[1]


def _order(whole: list[bool], relations: Sequence[Relation], seed: int) -> list[int]:
    """Laws of simple numbers first, those with few live relations last; ties in an order of their own for each seed."""
    count = len(whole)
    live: list[set[int]] = [set() for _ in range(count)]
    left = [set(relation.laws) for relation in relations]
    for j, some in enumerate(left):
        for law in some:
            live[law].add(j)
    tie = np.random.default_rng(seed).permutation(count).tolist() if seed else [0] * count
    heap = [(whole[law], len(live[law]), tie[law], law) for law in range(count)]
    heapq.heapify(heap)
    order: list[int] = []
    done = [False] * count
    while heap:
        _, size, _, law = heapq.heappop(heap)
        if done[law] or size != len(live[law]):
            continue
        done[law] = True
        order.append(law)
        for j in live[law]:
            left[j].discard(law)
            if len(left[j]) <= relations[j].needed:
                for other in left[j]:
                    if j in live[other]:
                        live[other].discard(j)
                        heapq.heappush(heap, (whole[other], len(live[other]), tie[other], other))
        live[law] = set()
    return order[::-1]


class _Fixing:
    """One pass through the laws in some order."""

    def __init__(self, near: _Floats, relations: Sequence[Relation], weight: _Floats, little: float) -> None:
        self.near, self.weight, self.little = near, weight, little
        self.fine = FINE * float(np.abs(near * weight).max(initial=1e-300))
        self.snug = 1e-3 * little / self.fine
        self.law: dict[int, _Law] = {}
        self.about: list[list[Relation]] = [[] for _ in near]
        for relation in relations:
            for law in set(relation.laws):
                self.about[law].append(relation)

    def run(self, order: Sequence[int]) -> Fixed:
        self.law.clear()
        broken = set()
        for law in order:
            flats = [flat for flat in (self._flat(law, relation) for relation in self.about[law]) if flat is not None]
            found = self._meet(law, flats)
            if found is None:
                broken.add(law)
                found = self._as_many(law, flats)
            self.law[law] = found
        return Fixed([self.law[k] for k in range(len(self.near))], frozenset(broken))

    def _flat(self, law: int, relation: Relation) -> _Flat | None:
        """Where a relation with enough fixed laws leaves a law."""
        fixed = [o for o in dict.fromkeys(relation.laws) if o != law and o in self.law]
        if len(fixed) < relation.needed and not relation.sizes:
            return None
        f, ring = self.law, relation.laws
        if relation.kind == "parallel":
            a, b = max(itertools.combinations(fixed, 2), key=lambda two: self._slopes_apart(*two))
            step = [*_minus(f[b], f[a])[:-1], Fraction(0)]
            return _Flat(f[a], [step, [Fraction(0)] * (len(step) - 1) + [Fraction(1)]])
        if relation.kind == "cross":
            k = ring.index(law)
            before, over, after = (f[ring[k - j]] for j in (1, 2, 3))
            return _Flat([x - y + z for x, y, z in zip(before, over, after, strict=True)], [])
        if relation.kind == "straight":  # f4 - f3 along f1 - f2
            mate, p, q = {0: (1, 3, 2), 1: (0, 3, 2), 2: (3, 0, 1), 3: (2, 0, 1)}[ring.index(law)]
            return _Flat(f[ring[mate]], [_minus(f[ring[p]], f[ring[q]])])
        if relation.sizes:
            return self._along(law, relation)
        a, b, c = self._best_three(fixed)
        return _Flat(f[a], [_minus(f[b], f[a]), _minus(f[c], f[a])])

    def _along(self, law: int, relation: Relation) -> _Flat | None:
        """A law of one of several outputs: along the differences that are known, beside another law of its output."""
        base, pairs = None, []
        for group in relation.groups:
            fixed = [o for o in group if o != law and o in self.law]
            if law in group and fixed:
                base = fixed[0]
            pairs += [(o, fixed[0]) for o in fixed[1:]]
        if base is None or len(pairs) < relation.directions:
            return None
        best = max(itertools.combinations(pairs, relation.directions), key=self._area)
        steps = [_minus(self.law[a], self.law[b]) for a, b in best]
        return _Flat(self.law[base], steps) if rank_of(steps) == relation.directions else None

    def _area(self, pairs: tuple[tuple[int, int], ...]) -> float:
        """How far differences are from depending on each other."""
        view = np.array([self.near[a] - self.near[b] for a, b in pairs]) * self.weight
        return float(np.linalg.svd(view, compute_uv=False)[-1])

    def _slopes_apart(self, a: int, b: int) -> float:
        return float(np.abs(self.near[a, :-1] - self.near[b, :-1]).max())

    def _best_three(self, fixed: list[int]) -> tuple[int, ...]:
        """Three laws that are farthest from lying on a line."""

        def spread(three: tuple[int, ...]) -> float:
            view = self.near[list(three)] * self.weight
            values = np.linalg.svd(view[1:] - view[0], compute_uv=False)
            return float(values[1] / max(values[0], 1e-300) * values[1])

        return max(itertools.islice(itertools.combinations(fixed, 3), 60), key=spread)

    def _meet(self, law: int, flats: list[_Flat]) -> _Law | None:
        """A point of all flats near the float law; with no flats the simplest point nearby."""
        if not flats:
            return self.simplest(law)
        first, *rest = sorted(flats, key=lambda flat: len(flat.directions))
        common = _intersection(first, rest) if rest else first
        return None if common is None else self._nearest(law, common)

    def simplest(self, law: int) -> _Law:
        """A law with short numbers nearby."""
        pairs = zip(self.near[law].tolist(), self.weight.tolist(), strict=True)
        return [short(x, self.fine / weight, self.snug) for x, weight in pairs]

    def _as_many(self, law: int, flats: list[_Flat]) -> _Law:
        """As many relations as can hold, one after the other."""
        kept: list[_Flat] = []
        found = [Fraction(x) for x in self.near[law].tolist()]
        for flat in flats:
            more = self._meet(law, [*kept, flat])
            if more is not None:
                kept, found = [*kept, flat], more
        return found

    def _nearest(self, law: int, flat: _Flat) -> _Law | None:
        """A point of the flat as near to the float law as floats tell; None if that is not near, or too long."""
        target = self.near[law]
        point = flat.point
        if flat.directions:
            base = np.array(point, dtype=np.float64)
            steps = np.array(flat.directions, dtype=np.float64).T * self.weight[:, None]
            share = np.linalg.lstsq(steps, (target - base) * self.weight, rcond=1e-13)[0]
            lengths = np.abs(steps).max(axis=0)
            for x, step, length in zip(share.tolist(), flat.directions, lengths.tolist(), strict=True):
                factor = short(x, self.fine / max(length, 1e-300), self.snug)
                point = [a + factor * b for a, b in zip(point, step, strict=True)]
        away = np.abs((np.array(point, dtype=np.float64) - target) * self.weight).max()
        return point if away <= 100 * self.little and _bits(point) <= _BITS else None


def _intersection(first: _Flat, rest: list[_Flat]) -> _Flat | None:
    """The points of all flats, exactly: the coefficients of the first one's directions that the others allow."""
    sizes = [len(flat.directions) for flat in (first, *rest)]
    offset = list(itertools.accumulate(sizes, initial=0))
    total, own = offset[-1], sizes[0]
    rows = []
    for k, flat in enumerate(rest, start=1):
        for t, (a, b) in enumerate(zip(flat.point, first.point, strict=True)):
            row = [Fraction(0)] * (total + 1)
            row[:own] = [step[t] for step in first.directions]
            row[offset[k] : offset[k + 1]] = [-step[t] for step in flat.directions]
            row[total] = a - b
            rows.append(row)
    matrix = fmpq_mat(len(rows), total + 1, [to_flint(x) for row in rows for x in row])
    reduced, rank = matrix.rref()
    pivots = [next(j for j in range(total + 1) if reduced[i, j] != 0) for i in range(rank)]
    if total in pivots:
        return None
    free = [j for j in range(total) if j not in pivots]

    def solution(column: int, sign: int) -> list[Fraction]:
        """The coefficients of the first flat's directions: of the right side, or of a free one."""
        values = {p: sign * from_flint(reduced[i, column]) for i, p in enumerate(pivots)}
        return [values.get(k, Fraction(int(k == column))) for k in range(own)]

    point = _combined(first.point, first.directions, solution(total, 1))
    origin = [Fraction(0)] * len(first.point)
    steps = [_combined(origin, first.directions, solution(j, -1)) for j in free]
    return _Flat(point, [step for step in steps if any(step)])


def _combined(point: _Law, directions: list[_Law], share: list[Fraction]) -> _Law:
    for x, step in zip(share, directions, strict=True):
        point = [a + x * b for a, b in zip(point, step, strict=True)]
    return point


def _minus(f: _Law, g: _Law) -> _Law:
    return [a - b for a, b in zip(f, g, strict=True)]


def _is_simple(law: _Floats, little: _Floats) -> bool:
    """Whether all numbers of a law are meant to be simple ones, such as 0 and 1."""
    pairs = zip(law.tolist(), little.tolist(), strict=True)
    return all(simple(x, slack).denominator <= 64 for x, slack in pairs)


def _bits(law: _Law) -> int:
    return max(max(x.numerator.bit_length(), x.denominator.bit_length()) for x in law)
