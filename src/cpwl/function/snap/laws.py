"""Exact laws near float laws that satisfy relations: fixed one after the other, each where its relations leave it.

First all at once, by one system (`system`). Else a law that at its turn has no relation with enough fixed laws is free:
it becomes the simplest rational nearby. One relation leaves it a point, a line or a plane, of which it takes a point
with dyadic coordinates; several are intersected exactly. Laws with at most one live relation come last, again and again
(peeling), so that numbers grow by the bits of one float a level. Where relations cannot all hold near the float law,
one is broken.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.exact.rational import from_flint, to_flint
from cpwl.function.snap.complex import Face, Meetings, Unfit
from cpwl.function.snap.relations import Relation, in_rounds, noise_of, rank_of, relations_of, smoothed
from cpwl.function.snap.short import FINE, short, simple
from cpwl.function.snap.system import Places, solve_outputs, solve_system

__all__ = ["CLOSE", "Broken", "Fixed", "combination", "exact_laws", "fix_in_turn", "simple_laws"]

_Law = list[Fraction]
_Floats = NDArray[np.float64]
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


def fix_in_turn(laws: _Floats, relations: Sequence[Relation], weight: _Floats, little: float) -> Fixed:
    """Exact laws one after the other, in the order of several that breaks the fewest and has the fewest bits.

    `laws` ``(k, n + 1)``, offset last; `weight` makes coefficients comparable, `little` is what values may be off.
    """
    near = smoothed(laws, relations, weight, little)
    whole = [_is_simple(law, 1e-3 * little / weight) for law in laws]
    fixing, best = _Fixing(near, relations, weight, little), None
    tries = max(3, min(_TRIES, _WORK // len(laws)))
    for seed in range(tries + 1):
        order = in_rounds(whole, relations, len(weight), Random(seed))
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
    laws: _Floats, relations: Sequence[Relation], weight: _Floats, little: float, far: Sequence[tuple[int, int]]
) -> list[_Law]:
    """The laws of one system, if they are near and satisfy what is not in it, too; else `Unfit`.

    `far` are pairs with facets in unbounded pieces.
    """
    near = smoothed(laws, relations, weight, little)
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
    if best[1] is None:
        raise Unfit("one system does not have all laws")
    return best[1]


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


# Several outputs on one exact complex: each bends only where a generic combination of all does.
#
# Let `g` be the combination, with exact laws. Across a facet between laws `a` and `b` every output changes by ``c (g_a
# - g_b)`` with a number `c` of its own, and around every face of codimension 2 these changes add up to 0. Three laws
# around a face have one `c`; four that cross have two; in general there are two linear equations a face. They are
# solved exactly, near the float laws, and the last output is what the combination leaves. Where all bends are of the
# kind that networks have, all outputs come from one system instead (`system`).


# Laws of simple numbers: where every coefficient is next to a decimal, a dyadic number or a small fraction.
#
# Networks with weights such as 0.25 or -1.3 have such laws, and more of their hyperplanes meet in a place than must. No
# relation has to be solved then: with all numbers as they were meant, all relations hold.


_CHANCE = 1e-3  # that a number taken at random is next to one of those that count as simple
_BASES = (2, 10)


def simple_laws(laws: _Floats, slack: _Floats) -> list[list[list[Fraction]]] | None:
    """The simple numbers nearer than `slack` to all coefficients of ``laws[k, j]``; None if one has none.

    >>> simple_laws(np.array([[[0.25 + 1e-14, 1 / 3]]]), np.full((1, 2), 1e-13))
    [[[Fraction(1, 4), Fraction(1, 3)]]]
    """
    known: dict[tuple[float, float], Fraction | None] = {}
    found: list[list[list[Fraction]]] = []
    for law in laws:
        found.append([])
        for row, widths in zip(law.tolist(), slack.tolist(), strict=True):
            numbers = [known.setdefault(key, _simple_number(*key)) for key in zip(row, widths, strict=True)]
            if None in numbers:
                return None
            found[-1].append([x for x in numbers if x is not None])
    return found


def _simple_number(x: float, slack: float) -> Fraction | None:
    """The number of the coarsest grid that is near, of powers of 2 or 10, or with the smallest denominator."""
    if slack <= 0:
        return Fraction(x)
    most, exact = _CHANCE / slack, Fraction(x)
    near: list[Fraction] = []
    for base in _BASES:
        step = 1
        while step <= most:
            grid = Fraction(round(exact * step), step)
            if abs(grid - exact) <= slack:
                near.append(grid)
                break
            step *= base
    fraction = exact.limit_denominator(max(1, int(most**0.5)))
    if abs(fraction - exact) <= slack:
        near.append(fraction)
    return min(near, key=lambda y: y.denominator, default=None)


_Pair = tuple[int, int]
_FEW = 3  # laws that may be in the way of all others


class Broken(Unfit):
    """Laws that cannot meet all that they are meant to meet."""

    def __init__(self, laws: frozenset[int]) -> None:
        super().__init__(f"{len(laws)} laws do not meet exactly with all that they are meant to meet")
        self.laws = laws


def exact_laws(laws: _Floats, meetings: Meetings, reach: float, tol: float) -> tuple[list[_Law], list[list[_Law]]]:
    """Exact laws near ``laws[k, j]``, and a combination of outputs that bends wherever one of them does; or `Unfit`."""
    weight = np.append(np.full(laws.shape[2] - 1, reach), 1.0)
    share = combination(laws, weight, meetings.pairs) if laws.shape[1] > 1 else [Fraction(1)]
    whole = np.einsum("j,kjn->kn", np.array(share, dtype=np.float64), laws)
    little = tol * float(np.abs(whole * weight).max())
    noise = noise_of(whole, meetings.faces, weight, little)
    simple = _simple(laws, whole, share, meetings, weight, noise)
    if simple is not None:
        return simple
    levels = dict.fromkeys((noise, 20 * little))  # what noise is was guessed
    known = {same: relations_of(whole, meetings.faces, meetings.parallel(whole), weight, same) for same in levels}
    tries = list({tuple(relations): relations for relations in known.values()}.values())
    objection: Unfit | None = None
    for at_once in (True, False):
        for relations in tries:
            try:
                return _with_relations(laws, whole, share, relations, meetings, weight, little, at_once)
            except Unfit as reason:
                objection = reason if objection is None or isinstance(reason, Broken) else objection
    assert objection is not None
    raise objection


def _simple(
    laws: _Floats,
    whole: _Floats,
    share: list[Fraction],
    meetings: Meetings,
    weight: _Floats,
    noise: float,
) -> tuple[list[_Law], list[list[_Law]]] | None:
    """Laws of simple numbers, if all have such and meet with them."""
    found = simple_laws(laws, noise / (np.abs(np.array(share, dtype=np.float64))[:, None] * weight))
    if found is None:
        return None
    together = _shared_out(found, share)
    relations = relations_of(whole, meetings.faces, meetings.parallel(whole), weight, noise)
    return (together, found) if all(relation.holds(together) for relation in relations) else None


def _shared_out(laws: list[list[_Law]], share: list[Fraction]) -> list[_Law]:
    """The combination of the outputs of each law."""
    return [
        [sum((s * x for s, x in zip(share, column, strict=True)), Fraction(0)) for column in zip(*law, strict=True)]
        for law in laws
    ]


def _with_relations(
    laws: _Floats,
    whole: _Floats,
    share: list[Fraction],
    relations: Sequence[Relation],
    meetings: Meetings,
    weight: _Floats,
    little: float,
    at_once: bool,
) -> tuple[list[_Law], list[list[_Law]]]:
    """Exact laws that satisfy relations, the combination of all outputs first."""
    if laws.shape[1] > 1 and at_once:
        found = _outputs_at_once(laws, share, relations, meetings, weight, little)
        if found is not None:
            return found
    if at_once:
        exact = _at_once(whole, relations, weight, little, meetings.pairs if meetings.unbounded else ())
    else:
        fixed = fix_in_turn(whole, relations, weight, little)
        if fixed.broken:
            raise Broken(fixed.broken)
        exact = fixed.laws
    if laws.shape[1] == 1:
        return exact, [[law] for law in exact]
    return exact, split_laws(exact, share, laws, meetings.faces, meetings.pairs, weight, little)


def _outputs_at_once(
    laws: _Floats,
    share: list[Fraction],
    relations: Sequence[Relation],
    meetings: Meetings,
    weight: _Floats,
    little: float,
) -> tuple[list[_Law], list[list[_Law]]] | None:
    """All outputs from one system, if they are near and their combination satisfies all relations."""
    triples = [face.laws for face in meetings.faces if face.closed and len(set(face.laws)) == len(face.laws) == 3]
    places = Places(meetings.pairs, [(a, b, c) for a, b, c in triples], meetings.unbounded)
    view = np.array(share, dtype=np.float64)
    best: tuple[float, tuple[list[_Law], list[list[_Law]]] | None] = (100 * little, None)
    for independent in (False, True):
        try:
            found = solve_outputs(laws, view, relations, places, weight, little, independent)
        except Unfit:
            continue
        whole = _shared_out(found, share)
        off = np.abs((np.array(found, dtype=np.float64) - laws) * weight).max(axis=(0, 2)) * np.abs(view)
        if off.max() <= best[0] and all(relation.holds(whole) for relation in relations):
            best = (float(off.max()), (whole, found))
        if best[0] <= CLOSE * little:
            break
    return best[1]


def combination(laws: _Floats, weight: _Floats, pairs: Sequence[_Pair] = ()) -> list[Fraction]:
    """Weights for outputs ``laws[k, j]``, which make them of about one size; of some the ones that cancel no jump.

    The jumps of `pairs` of laws are looked at, and the weights taken with which the smallest, relative, is largest.
    """
    sizes = np.abs(laws * weight).max(axis=(0, 2))
    powers = np.round(np.log2(np.where(sizes > 0, sizes, 1.0))).astype(int).tolist()
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    jumps = (laws[ends[:, 0]] - laws[ends[:, 1]]) * weight / np.exp2(powers)[:, None]
    largest = np.maximum(np.abs(jumps).max(axis=(1, 2)), 1e-300)

    def least(candidate: Iterable[Fraction]) -> float:
        whole = np.einsum("j,ejn->en", np.array(list(candidate), dtype=np.float64), jumps)
        return float((np.abs(whole).max(axis=1) / largest).min(initial=np.inf))

    steps = (13, 5, -3, 17, -7, 11) if len(powers) > 1 else (13,)
    candidates: list[list[Fraction]] = [
        [Fraction(29 * (-1 if a < 0 else 1) ** j, 29 + abs(a) * j + 7 * j * j) for j in range(len(powers))]
        for a in steps
    ]
    best: list[Fraction] = max(candidates, key=least)
    return [x / Fraction(2) ** power for x, power in zip(best, powers, strict=True)]


def split_laws(
    whole: list[_Law],
    share: list[Fraction],
    laws: _Floats,
    faces: Sequence[Face],
    pairs: Sequence[_Pair],
    weight: _Floats,
    little: float,
) -> list[list[_Law]]:
    """For each law its outputs, whose combination by `share` is `whole`; `laws` ``(k, m, n + 1)`` are near them."""
    edges = {pair: k for k, pair in enumerate(dict.fromkeys((min(p), max(p)) for p in pairs))}
    steps = [[x - y for x, y in zip(whole[a], whole[b], strict=True)] for a, b in edges]
    equations = _equations(edges, steps, faces)
    outputs = [_one_output(laws[:, j], edges, steps, equations, weight, little) for j in range(laws.shape[1] - 1)]
    last = []
    for k, law in enumerate(whole):
        rest = [x - sum(s * f[k][t] for s, f in zip(share, outputs, strict=False)) for t, x in enumerate(law)]
        last.append([x / share[-1] for x in rest])
    return [list(laws_of_one) for laws_of_one in zip(*outputs, last, strict=True)]


def _one_output(
    laws: _Floats,
    edges: dict[_Pair, int],
    steps: list[_Law],
    equations: list[dict[int, Fraction]],
    weight: _Floats,
    little: float,
) -> list[_Law]:
    """The laws of one output: nearly equal numbers taken as one, or each edge for itself, whichever fits."""
    broken: frozenset[int] | None = None
    for together in (1e-7, 0.0):
        change = _changes(laws, edges, steps, equations, weight, little if together else 0.0, together)
        found = _walked(laws, edges, steps, change)
        off = np.abs((np.array(found, dtype=np.float64) - laws) * weight).max(axis=1) > 1e3 * little
        apart = [
            (a, b)
            for (a, b), e in edges.items()
            if any(x - y != change[e] * z for x, y, z in zip(found[a], found[b], steps[e], strict=True))
        ]
        if not off.any() and not apart:
            return found
        wrong = frozenset(np.flatnonzero(off).tolist()) | _cover(apart)
        broken = wrong if broken is None or len(wrong) < len(broken) else broken
    if broken is None or len(broken) > _FEW + len(laws) // 5:
        raise Unfit("several outputs bend in the same places only within rounding")
    raise Broken(broken)


def _cover(pairs: Sequence[_Pair]) -> frozenset[int]:
    """One of each pair, those in most of them first."""
    left, found = list(pairs), set()
    while left:
        best = Counter(k for pair in left for k in pair).most_common(1)[0][0]
        found.add(best)
        left = [pair for pair in left if best not in pair]
    return frozenset(found)


def _equations(edges: dict[_Pair, int], steps: list[_Law], faces: Sequence[Face]) -> list[dict[int, Fraction]]:
    """Linear equations for the numbers of the edges: two for each face, in coordinates where it is not degenerate."""
    found: list[dict[int, Fraction]] = []
    for ring in {face.laws for face in faces if face.closed and len(face.laws) > 2}:
        around = []
        for a, b in zip(ring, ring[1:] + ring[:1], strict=True):
            pair = (min(a, b), max(a, b))
            if pair in edges:
                around.append((edges[pair], 1 if a < b else -1))
        if len(around) < len(ring):  # between two of these laws there is one that is loose
            continue
        view = np.array([steps[e] for e, _ in around], dtype=np.float64)
        for t in _independent(view):
            row: dict[int, Fraction] = {}
            for e, s in around:
                row[e] = row.get(e, Fraction(0)) + s * steps[e][t]
            found.append(row)
    return _distinct(found)


def _independent(view: _Floats) -> _Pair:
    """Two coordinates in which vectors of a plane are farthest from lying on a line."""

    def area(two: tuple[int, ...]) -> float:
        values = np.linalg.svd(view[:, list(two)], compute_uv=False)
        return float(values[1])

    one, two = max(itertools.combinations(range(view.shape[1]), 2), key=area)
    return one, two


def _changes(
    laws: _Floats,
    edges: dict[_Pair, int],
    steps: list[_Law],
    equations: list[dict[int, Fraction]],
    weight: _Floats,
    little: float,
    together: float,
) -> list[Fraction]:
    """For each edge by how much one output changes, exactly such that all equations hold; nearly equal ones are one."""
    if not edges:
        return []
    view = np.array(steps, dtype=np.float64) * weight
    ends = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    wanted = (laws[ends[:, 0]] - laws[ends[:, 1]]) * weight
    near = np.einsum("ij,ij->i", view, wanted) / np.einsum("ij,ij->i", view, view)
    group = _clusters(near, max(10 * little / np.abs(view).max(axis=1).min(), together * float(np.abs(near).max())))
    values = [Fraction(0)] * (int(group.max()) + 1)
    for k in range(len(values)):
        mean = float(near[group == k].mean())
        values[k] = Fraction(0) if abs(mean) <= 1e-6 * np.abs(near).max() else Fraction(mean)
    rows = _grouped(equations, group)
    # The largest values last, so that they are free, and small ones follow from them.
    order = sorted(range(len(values)), key=lambda k: abs(values[k]))
    flat = [to_flint(row.get(k, Fraction(0))) for row in rows for k in order]
    reduced, rank = fmpq_mat(len(rows), len(order), flat).rref()
    for i in range(rank):
        entries = [(j, reduced[i, j]) for j in range(len(order)) if reduced[i, j] != 0]
        terms = ((from_flint(x), order[j]) for j, x in entries[1:])
        values[order[entries[0][0]]] = -sum((x * values[k] for x, k in terms), Fraction(0))
    return [values[k] for k in group.tolist()]


def _clusters(values: _Floats, little: float) -> NDArray[np.int64]:
    """Numbers for values, equal where steps of a little lead from one to the other."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > little
    number = np.empty(len(values), dtype=np.int64)
    number[order] = np.concatenate([[0], np.cumsum(steps)])
    return number


def _grouped(equations: list[dict[int, Fraction]], group: NDArray[np.int64]) -> list[dict[int, Fraction]]:
    """The equations for groups of edges that have one number each."""
    found: list[dict[int, Fraction]] = []
    for equation in equations:
        row: dict[int, Fraction] = {}
        for e, x in equation.items():
            row[int(group[e])] = row.get(int(group[e]), Fraction(0)) + x
        found.append(row)
    return _distinct(found)


def _distinct(rows: Sequence[dict[int, Fraction]]) -> list[dict[int, Fraction]]:
    """Each equation once, without its zeros, and without those that have nothing else."""
    found = dict.fromkeys(tuple(sorted((k, x) for k, x in row.items() if x)) for row in rows)
    return [dict(row) for row in found if row]


def _walked(laws: _Floats, edges: dict[_Pair, int], steps: list[_Law], change: list[Fraction]) -> list[_Law]:
    """The laws of one output, from the first one on along edges."""
    near: list[list[tuple[int, int, int]]] = [[] for _ in laws]
    for (a, b), e in edges.items():
        near[a].append((b, e, -1))
        near[b].append((a, e, 1))
    found: dict[int, _Law] = {}
    for root in range(len(laws)):
        if root in found:
            continue
        if found:
            raise Unfit("the regions of the laws do not hang together")
        found[root] = [Fraction(x) for x in laws[root].tolist()]
        waiting = deque([root])
        while waiting:
            here = waiting.popleft()
            for other, e, s in near[here]:
                if other not in found:
                    c = s * change[e]
                    found[other] = [x + c * y for x, y in zip(found[here], steps[e], strict=True)]
                    waiting.append(other)
    return [found[k] for k in range(len(laws))]
