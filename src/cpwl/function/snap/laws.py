"""Exact laws near float laws: simple numbers where all are meant to be such, else one system for all outputs.

Where more than two hyperplanes meet in places without need, as in laws of solvers, laws are fixed one after the other.
Every output has laws and relations of its own. What outputs share are hyperplanes: where several bend on one facet,
their jumps are multiples of one row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import exact_matrix, from_flint, pivots
from cpwl.function.snap.complex import Face, Meetings, Unfit
from cpwl.function.snap.relations import Relation, in_rounds, minus, noise_of, relations_of, smoothed
from cpwl.function.snap.short import FINE, short, simple
from cpwl.function.snap.system import Formal, Shared, solve_system

_Law = list[Fraction]
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_CLOSE = 1e-2  # of what values may be off: what is nearer needs no second try


def exact_laws(laws: _Floats, meetings: Meetings, reach: float, tol: float, in_turn: bool) -> list[list[_Law]]:
    """Exact laws near ``laws[k, j]`` for all outputs `j`, which meet and bend where they are meant to; or `Unfit`.

    All at once, or one law after the other (`in_turn`).
    """
    weight = np.append(np.full(laws.shape[2] - 1, reach), 1.0)
    size = np.abs(laws * weight).max(axis=(0, 2))
    scale = np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))  # outputs of about one size, nothing rounded
    every, number = _stacked(laws * scale[:, None])
    little = tol * float(np.abs(every * weight).max())
    faces = [[_renumbered(face, own) for face in meetings.faces] for own in number.T]
    noise = noise_of(every, [face for some in faces for face in some], weight, little)
    back = [Fraction(1 / s) for s in scale.tolist()]

    def relations(same: float) -> list[Relation]:
        found: list[Relation] = []
        for own, some in zip(number.T, faces, strict=True):
            triples = (tuple(sorted({int(own[k]) for k in three})) for three in meetings.parallel(every[own]))
            parallel = [three for three in dict.fromkeys(triples) if len(three) == 3]
            found += relations_of(every, some, parallel, weight, same)
        return found

    shared = _shared(number, meetings, faces)
    one_row = [Relation("straight", (a, b, d, c)) for pairs in shared.facets for (a, b), (c, d) in pairwise(pairs)]
    known = relations(noise)
    for times in (1, 10):  # what noise is was guessed
        meant = simple_laws(laws, times * noise / (scale[:, None] * weight))
        if meant is not None:
            numbers = {
                k: law for ks, row in zip(number.tolist(), meant, strict=True) for k, law in zip(ks, row, strict=True)
            }
            if all(relation.holds(numbers) for relation in (*known, *one_row)):
                return meant
    objection = Unfit("no laws")
    solve, more = (fix_in_turn, one_row) if in_turn else (partial(_at_once, shared=shared), [])
    for some in {tuple(some): some for some in (known, relations(20 * little))}.values():
        try:
            found = solve(every, [*some, *more], weight, little)
            return [[[x * s for x in found[k]] for k, s in zip(row, back, strict=True)] for row in number.tolist()]
        except Unfit as reason:
            objection = reason
    if in_turn or laws.shape[1] == 1:
        raise objection
    share = combination(laws, weight, meetings.pairs)
    whole = np.einsum("j,kjn->kn", np.array(share, dtype=np.float64), laws)
    exact = [law for (law,) in exact_laws(whole[:, None], meetings, reach, tol, in_turn)]
    return split_laws(exact, share, laws, meetings.pairs, weight, tol * float(np.abs(whole * weight).max()))


def _stacked(laws: _Floats) -> tuple[_Floats, _Ints]:
    """The distinct laws of all outputs, in order of appearance, and the number of each: what is free stays near."""
    every, number = dict[tuple[int, bytes], tuple[int, _Floats]](), []
    for j, output in enumerate(laws.transpose(1, 0, 2)):
        number.append([every.setdefault((j, law.tobytes()), (len(every), law))[0] for law in output + 0.0])
    return np.array([law for _, law in every.values()]), np.array(number).T


def _renumbered(face: Face, own: _Ints) -> Face:
    """A face with the laws of one output around it."""
    ring = [int(own[k]) for k in face.laws]
    laws = [law for k, law in enumerate(ring) if law != ring[k - 1] or (k == 0 and not face.closed)]
    return replace(face, laws=tuple(laws) or (ring[0],))


def _shared(number: _Ints, meetings: Meetings, faces: Sequence[Sequence[Face]]) -> Shared:
    """The facets on which several outputs bend, and three laws around a face; all pairs if pieces are unbounded."""
    facets, pairs = dict[tuple[tuple[int, int], ...], None](), dict[tuple[int, int], None]()
    for a, b in meetings.pairs:
        bent = number[a] != number[b]
        here = tuple((min(p), max(p)) for p in zip(number[a][bent].tolist(), number[b][bent].tolist(), strict=True))
        pairs.update(dict.fromkeys(here))
        if len(here) > 1:
            facets[here] = None
    rings = (face.laws for some in faces for face in some if face.closed and len(set(face.laws)) == len(face.laws) == 3)
    triples = [(a, b, c) for a, b, c in dict.fromkeys(rings)] if facets else []
    return Shared(list(facets), triples, list(pairs) if meetings.unbounded else [])


def _at_once(
    laws: _Floats, relations: Sequence[Relation], weight: _Floats, little: float, shared: Shared
) -> list[_Law]:
    """The laws of one system, if they are near and satisfy what is not in it, too; else `Unfit`."""
    near = smoothed(laws, relations, weight, little)
    best: tuple[float, list[_Law] | None] = (100 * little, None)
    for independent in (False, True):
        try:
            found = solve_system(near, relations, shared, weight, little, independent)
        except Unfit:
            continue
        away = float(np.abs((np.array(found, dtype=np.float64) - near) * weight).max())
        if away <= best[0] and all(relation.holds(found) for relation in relations):
            best = (away, found)
        if best[0] <= _CLOSE * little:
            break
    if best[1] is None:
        raise Unfit("one system does not have all laws")
    return best[1]


# One law after the other, each where its relations leave it.
#
# A law that at its turn has no relation with enough fixed laws is free: it becomes the simplest rational nearby. One
# relation leaves it a point, a line or a plane, of which it takes a point with dyadic coordinates; several are
# intersected exactly. Laws with at most one live relation come last, again and again (peeling), so that numbers grow by
# the bits of one float a level.


_BITS = 2500  # of the numbers of a law
_TRIES = 24  # orders in which laws are fixed
_WORK = 3000  # laws fixed over all tries
_REPAIRS = 2  # times that laws which were broken are fixed first
_SHORT = 200  # bits of numbers with which nothing takes long


@dataclass(frozen=True, slots=True)
class _Flat:
    """An affine subspace of laws: a point and directions."""

    point: _Law
    directions: list[_Law]


def fix_in_turn(laws: _Floats, relations: Sequence[Relation], weight: _Floats, little: float) -> list[_Law]:
    """Exact laws one after the other, in the order of several in which numbers are shortest; or `Unfit`.

    `laws` ``(k, n + 1)``, offset last; `weight` makes coefficients comparable, `little` is what values may be off.
    """
    near = smoothed(laws, relations, weight, little)
    whole = [_is_simple(law, 1e-3 * little / weight) for law in laws]
    fixing, best, bits = _Fixing(near, relations, weight, little), list[_Law](), _BITS
    tries = max(3, min(_TRIES, _WORK // len(laws)))
    for seed in range(tries + 1):
        order = in_rounds(whole, relations, len(weight), Random(seed))
        found, broken = fixing.run(order)
        for _ in range(_REPAIRS if broken else 0):
            found, broken = fixing.run([*broken, *(law for law in order if law not in broken)])
        longest = max(map(_bits, found))
        if not broken and longest <= bits:
            best, bits = found, longest
        if bits <= _SHORT or (seed >= 4 and not best and len(broken) > 2 + 0.05 * len(laws)):
            break
    if not best:
        raise Unfit("laws do not meet exactly with all that they are meant to meet")
    return best


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

    def run(self, order: Sequence[int]) -> tuple[list[_Law], list[int]]:
        """The laws, and those that do not satisfy all their relations."""
        self.law.clear()
        broken = []
        for law in order:
            flats = [flat for flat in (self._flat(law, relation) for relation in self.about[law]) if flat is not None]
            found = self._meet(law, flats)
            if found is None:
                broken.append(law)
                found = self.simplest(law)
            self.law[law] = found
        return [self.law[k] for k in range(len(self.near))], broken

    def _flat(self, law: int, relation: Relation) -> _Flat | None:
        """Where a relation with enough fixed laws leaves a law."""
        fixed = [o for o in dict.fromkeys(relation.laws) if o != law and o in self.law]
        if len(fixed) < relation.needed:
            return None
        f, ring = self.law, relation.laws
        if relation.kind == "parallel":
            slopes = self.near[:, :-1]
            a, b = max(itertools.combinations(fixed, 2), key=lambda two: np.abs(slopes[two[0]] - slopes[two[1]]).max())
            step = [*minus(f[b], f[a])[:-1], Fraction(0)]
            return _Flat(f[a], [step, [Fraction(0)] * (len(step) - 1) + [Fraction(1)]])
        if relation.kind == "cross":
            k = ring.index(law)
            before, over, after = (f[ring[k - j]] for j in (1, 2, 3))
            return _Flat([x - y + z for x, y, z in zip(before, over, after, strict=True)], [])
        if relation.kind == "straight":  # f4 - f3 along f1 - f2
            mate, p, q = {0: (1, 3, 2), 1: (0, 3, 2), 2: (3, 0, 1), 3: (2, 0, 1)}[ring.index(law)]
            return _Flat(f[ring[mate]], [minus(f[ring[p]], f[ring[q]])])
        a, b, c = self._best_three(fixed)
        return _Flat(f[a], [minus(f[b], f[a]), minus(f[c], f[a])])

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
    reduced, rank = exact_matrix(np.array(rows, dtype=object)).rref()
    held = pivots(reduced, rank)
    if total in held:
        return None
    free = [j for j in range(total) if j not in held]

    def solution(column: int, sign: int) -> list[Fraction]:
        """The coefficients of the first flat's directions: of the right side, or of a free one."""
        values = {p: sign * from_flint(reduced[i, column]) for i, p in enumerate(held)}
        return [values.get(k, Fraction(int(k == column))) for k in range(own)]

    point = _combined(first.point, first.directions, solution(total, 1))
    origin = [Fraction(0)] * len(first.point)
    steps = [_combined(origin, first.directions, solution(j, -1)) for j in free]
    return _Flat(point, [step for step in steps if any(step)])


def _combined(point: _Law, directions: list[_Law], share: list[Fraction]) -> _Law:
    for x, step in zip(share, directions, strict=False):
        point = [a + x * b for a, b in zip(point, step, strict=True)]
    return point


def _is_simple(law: _Floats, little: _Floats) -> bool:
    """Whether all numbers of a law are meant to be simple ones, such as 0 and 1."""
    pairs = zip(law.tolist(), little.tolist(), strict=True)
    return all(simple(x, slack).denominator <= 64 for x, slack in pairs)


def _bits(law: _Law) -> int:
    return max(max(x.numerator.bit_length(), x.denominator.bit_length()) for x in law)


# Outputs as shares of one exact combination of them: where their hyperplanes are bent at each other in a circle.
#
# Let `g` be the combination, with exact laws. Across a facet between laws `a` and `b` every output changes by ``c (g_a
# - g_b)`` with a number `c` of its own: a system (`Formal`) with the symbols ``g_a - g_b``. It is solved exactly, near
# the float laws, and the last output is what the combination leaves.


_Pair = tuple[int, int]


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

    candidates = [
        [Fraction(29 * (-1 if a < 0 else 1) ** j, 29 + abs(a) * j + 7 * j * j) for j in range(len(powers))]
        for a in (13, 5, -3, 17, -7, 11)
    ]
    return [x / Fraction(2) ** power for x, power in zip(max(candidates, key=least), powers, strict=True)]


def split_laws(
    whole: list[_Law], share: list[Fraction], laws: _Floats, pairs: Sequence[_Pair], weight: _Floats, little: float
) -> list[list[_Law]]:
    """For each law its outputs, whose combination by `share` is `whole`; `laws` ``(k, m, n + 1)`` are near them."""
    edges = list(dict.fromkeys((min(pair), max(pair)) for pair in pairs))
    steps = [minus(whole[a], whole[b]) for a, b in edges]
    view, (one, two) = np.array(steps, dtype=np.float64) * weight, np.array(edges, dtype=np.int64).reshape(-1, 2).T
    outputs = []
    for own in laws[:, :-1].transpose(1, 0, 2):
        near = ((own[one] - own[two]) * weight * view).sum(axis=1) / (view * view).sum(axis=1)
        order = np.argsort(-np.abs(near), kind="stable")  # the largest are free, and small ones follow from them
        system = Formal(near[order], steps, np.abs(view).max(axis=1), 100 * little)
        for x, e in enumerate(order.tolist()):
            system.add({edges[e][0]: Fraction(1), edges[e][1]: Fraction(-1)}, {(e, x): Fraction(-1)})
        numbers = system.numbers([Fraction(v) for v in near[order].tolist()].__getitem__)
        found = system.vectors(len(whole), numbers, [[Fraction(v) for v in law] for law in own.tolist()].__getitem__)
        if np.abs((np.array(found, dtype=np.float64) - own) * weight).max() > 1e3 * little:
            raise Unfit("several outputs bend in the same places only within rounding")
        outputs.append(found)
    rest = [
        minus(law, _combined([Fraction(0)] * len(law), [f[k] for f in outputs], share)) for k, law in enumerate(whole)
    ]
    return [[*(f[k] for f in outputs), [x / share[-1] for x in law]] for k, law in enumerate(rest)]


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
