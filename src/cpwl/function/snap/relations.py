"""Relations that laws must satisfy exactly to meet where they are meant to, read off the faces of a float complex.

Laws are points of ``Q^(n+1)``. Around a face of codimension 2:

- three laws: nothing;
- four that cross, ``cross``: ``f1 - f2 + f3 - f4 = 0``, both hyperplanes go straight through each other;
- four with one straight hyperplane, ``straight``: ``f4 - f3`` is a multiple of ``f1 - f2``;
- otherwise, ``pencil``: all laws in the affine plane through three of them.

And three laws with parallel facets on an unbounded region, ``parallel``: gradients on a line.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from cpwl.exact.rational import exact_matrix
from cpwl.exact.sparse import Union
from cpwl.function.snap.complex import Face

_Floats = NDArray[np.float64]
_GAP = 300.0  # noise ends where the next distance is so many times as large
_ROUNDS = 4  # of a linear system for relations that are not
_WEIGHED = 4  # rounds of weighing changes
_DENSE = 4_000_000  # entries of a system that is solved as a full matrix


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation among laws; `laws` in the order of the face."""

    kind: Literal["cross", "straight", "pencil", "parallel"]
    laws: tuple[int, ...]

    @property
    def directions(self) -> int:
        """The dimension of what is left to a law if all others are fixed."""
        return {"cross": 0, "straight": 1}.get(self.kind, 2)

    @property
    def needed(self) -> int:
        """How many laws may be fixed before the relation says anything about the next."""
        return 2 if self.kind == "parallel" else 3

    def holds(self, laws: Mapping[int, Sequence[Fraction]] | Sequence[Sequence[Fraction]]) -> bool:
        """Whether exact laws satisfy it, exactly."""
        ring = [laws[k] for k in self.laws]
        if self.kind == "cross":
            return all(a - b + c - d == 0 for a, b, c, d in zip(*ring, strict=True))
        if self.kind == "straight":
            return rank_of([minus(ring[0], ring[1]), minus(ring[3], ring[2])]) < 2
        steps = [minus(law, ring[0]) for law in ring[1:]]
        return rank_of(steps) < 3 if self.kind == "pencil" else rank_of([step[:-1] for step in steps]) < 2


def minus(f: Sequence[Fraction], g: Sequence[Fraction]) -> list[Fraction]:
    """The difference of two laws."""
    return [a - b for a, b in zip(f, g, strict=True)]


def rank_of(rows: list[list[Fraction]]) -> int:
    """The rank of a matrix of rationals."""
    return int(exact_matrix(np.array(rows, dtype=object)).rank())


def noise_of(laws: _Floats, faces: Sequence[Face], weight: _Floats, little: float) -> float:
    """How far straight hyperplanes are from being straight, where only noise bends them: below a gap of all distances.

    Not more than 20 times a `little`, and 1e-14 of the values at least.
    """
    view = laws * weight
    rings = np.array([face.laws for face in faces if face.closed and len(set(face.laws)) == len(face.laws) == 4])
    if len(rings) == 0:
        return 20 * little
    one, two, three, four = view[rings.T]
    away = np.minimum(_off_lines(one - two, four - three), _off_lines(two - three, one - four))
    limit = below_gap(away[away <= 20 * little], 1e-14 * float(np.abs(view).max()))
    return min(10 * limit, 20 * little)


def below_gap(values: _Floats, least: float) -> float:
    """The largest of some values below the first gap, which is where the next one is many times as large."""
    for x in np.maximum(np.sort(values), least).tolist():
        if x > _GAP * least:
            break
        least = x
    return least


def _off_lines(u: _Floats, v: _Floats) -> _Floats:
    """How far each `v` is from the multiples of `u`."""
    share = (u * v).sum(axis=1) / np.maximum((u * u).sum(axis=1), 1e-300)
    return np.asarray(np.abs(v - share[:, None] * u).max(axis=1))


def relations_of(
    laws: _Floats, faces: Sequence[Face], parallel: Sequence[tuple[int, ...]], weight: _Floats, little: float
) -> list[Relation]:
    """The relations at all faces; `weight` makes coefficients comparable, values nearer than `little` are equal."""
    view, found = laws * weight, dict.fromkeys(Relation("parallel", triple) for triple in parallel)
    for face in faces:
        ring = face.laws
        if not face.closed or len(set(ring)) < 4:
            continue
        if len(ring) == 4:
            found[_of_four(view, ring, little) or Relation("pencil", ring)] = None
            continue
        found[Relation("pencil", ring)] = None
        if len(ring) == len(set(ring)):
            found.update(dict.fromkeys(_straight_through(view, ring, little)))
    distinct = {(r.kind, frozenset(r.laws)): r for r in reversed(found)}  # one for each kind and set of laws
    return list(distinct.values())[::-1]


def _of_four(view: _Floats, ring: tuple[int, ...], little: float) -> Relation | None:
    """What four laws in order satisfy, if one of their hyperplanes is straight."""
    one, two, three, four = view[list(ring)]
    if np.abs(one - two + three - four).max() <= little:
        return Relation("cross", ring)
    for k in (0, 1):
        turned = ring[k:] + ring[:k]
        one, two, three, four = view[list(turned)]
        if _off_line(one - two, four - three) <= little:
            return Relation("straight", turned)
    return None


def _off_line(u: _Floats, v: _Floats) -> float:
    """How far `v` is from the multiples of `u`."""
    return float(_off_lines(u[None], v[None])[0])


def _straight_through(view: _Floats, ring: tuple[int, ...], little: float) -> list[Relation]:
    """Hyperplanes that go straight through a face with more than four laws."""
    size, found = len(ring), []
    for i, j in itertools.combinations(range(size), 2):
        four = (ring[i], ring[(i + 1) % size], ring[j], ring[(j + 1) % size])
        if len(set(four)) == 4:
            u, v = view[four[0]] - view[four[1]], view[four[3]] - view[four[2]]
            if np.abs(u - v).max() <= little:
                found.append(Relation("cross", four))
            elif _off_line(u, v) <= little:
                found.append(Relation("straight", four))
    return found


def smoothed(laws: _Floats, relations: Sequence[Relation], weight: _Floats, most: float) -> _Floats:
    """The least change of the float laws that satisfies all relations to rounding, by least squares.

    No law may change by much more than `most`. If some have to change by much more than others, they are the ones that
    are off: changes are then weighed against those before, again and again, which leaves all others alone.
    """
    found = _satisfying(laws, relations, weight, most, np.ones(len(laws)))
    for _ in range(_WEIGHED):
        change = np.abs((found - laws) * weight).max(axis=1, initial=0.0)
        usual = np.quantile(change, 0.5) if len(change) else 0.0
        if change.max(initial=0.0) <= _GAP * max(usual, 1e-14 * np.abs(laws * weight).max(initial=0.0)):
            break
        ease = np.sqrt(np.maximum(change, 1e-6 * change.max()) / change.max())
        found = _satisfying(laws, relations, weight, most, ease)
    return found


def _satisfying(laws: _Floats, relations: Sequence[Relation], weight: _Floats, most: float, ease: _Floats) -> _Floats:
    """The least change, each law's divided by its `ease`, that satisfies all relations."""
    laws, size = laws.copy(), np.abs(laws * weight).max(initial=0.0)
    for _ in range(_ROUNDS):
        rows = [row for relation in relations for row in _equations(laws, relation, weight)]
        if not rows:
            return laws
        number = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        column, value = np.array([pair for row in rows for pair in row]).T
        system = coo_array((value, (number, column.astype(np.int64))), shape=(len(rows), len(laws))).tocsr()
        left = system @ laws
        if np.abs(left * weight).max() < 1e-15 * size:
            return laws
        change = ease[:, None] * _least_squares(csr_array(system.multiply(ease[None, :])), left)
        if np.abs(change * weight).max() > 100 * most:
            break  # relations that hardly depend on the laws would move them anywhere
        laws -= change
    return laws


def _least_squares(system: csr_array, right: _Floats) -> _Floats:
    """The smallest solution, directions that the system hardly sees left alone."""
    if system.shape[0] * system.shape[1] <= _DENSE:
        # By a pivoted QR decomposition: the same solution as by singular values, several times as fast.
        return np.asarray(scipy.linalg.lstsq(system.toarray(), right, cond=1e-7, lapack_driver="gelsy")[0])
    parts = [
        scipy.sparse.linalg.lsqr(system, part, atol=1e-15, btol=1e-15, conlim=1e7, iter_lim=2000)[0] for part in right.T
    ]
    return np.stack(parts, axis=1)


def _equations(laws: _Floats, relation: Relation, weight: _Floats) -> list[list[tuple[int, float]]]:
    """Linear equations ``sum c_i f_i = 0`` with coefficients for the laws as they are."""
    ring = relation.laws
    if relation.kind == "cross":
        return [list(zip(ring, (1.0, -1.0, 1.0, -1.0), strict=True))]
    view = laws[list(ring)] * weight
    if relation.kind == "straight":
        u, v = view[0] - view[1], view[3] - view[2]
        t = float(u @ v) / max(float(u @ u), 1e-300)
        scale = max(1.0, abs(t))
        return [list(zip(ring, (t / scale, -t / scale, 1 / scale, -1 / scale), strict=True))]
    if relation.kind == "pencil":
        some = sorted(set(ring))
        view = laws[some] * weight
        high = np.column_stack([view, np.full(len(some), np.abs(view).max() + 1e-300)])
        return [list(zip(some, row.tolist(), strict=True)) for row in np.linalg.svd(high.T)[2][3:]]
    return []


# Which jumps between laws lie on one hyperplane, and which are equal, read off the relations of the laws.
#
# A *jump* is the difference of two laws that meet. Where two hyperplanes go straight through each other the jumps on
# both sides of each are equal; where only one does, the jumps on its two sides are multiples of each other. So jumps
# fall into *lines*, all multiples of one row, and lines into *classes* of equal jumps. The other hyperplane is bent
# there: its two jumps differ by a multiple of the straight one, a *joint*.


_Pair = tuple[int, int]
_Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Joint:
    """``f_a - f_b`` and ``f_c - f_d``, with ``(a, b) = one`` and ``(c, d) = two``, differ by a multiple of a line."""

    one: _Pair
    two: _Pair
    line: _Pair
    """A pair of laws whose jump is on that line."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The jumps by pairs of laws ``a < b``."""

    line: dict[_Pair, int]
    number: dict[_Pair, tuple[int, int]]
    """The class of a jump, and 1 or -1 whether it is what the class has in common or the opposite. The two jumps at a
    bend are in one class: their rows differ, their numbers are equal."""
    straight: frozenset[int]
    """The lines with jumps that are not all equal."""
    joints: list[Joint]


def sort(pair: _Pair) -> _Pair:
    return (min(pair), max(pair))


def _join(union: Union[_Pair], one: _Pair, two: _Pair) -> None:
    """``f_a - f_b`` and ``f_c - f_d`` are one."""
    union.join(sort(one), sort(two), 1 if (one[0] < one[1]) == (two[0] < two[1]) else -1)


def lines_of(
    relations: Sequence[Relation], facets: Iterable[Sequence[_Pair]] = (), triples: Iterable[_Triple] = ()
) -> Lines:
    """Lines and classes of the jumps of all relations in which something is straight, and of shared `facets`.

    On one of these each pair of laws has its jump, for every output that bends there. `triples` are laws around faces
    with three of them: where all their jumps are on lines, one ends there, and another one is bent.
    """
    line, equal, bent = Union[_Pair](), Union[_Pair](), []
    pairs: dict[_Pair, None] = {}
    for first, *others in facets:
        pairs.update(dict.fromkeys(sort(pair) for pair in (first, *others)))
        for pair in others:
            _join(line, first, pair)
    known = list(pairs)
    for relation in relations:
        if relation.kind not in ("cross", "straight"):
            continue
        a, b, c, d = relation.laws
        pairs.update(dict.fromkeys(sort(pair) for pair in ((a, b), (b, c), (c, d), (d, a))))
        _join(line, (a, b), (d, c))
        if relation.kind == "cross":
            _join(line, (b, c), (a, d))
            _join(equal, (a, b), (d, c))
            _join(equal, (b, c), (a, d))
        else:
            bent.append(Joint((b, c), (a, d), (a, b)))
    roots = {root: k for k, root in enumerate(dict.fromkeys(line.find(pair)[0] for pair in pairs))}
    number = {pair: roots[line.find(pair)[0]] for pair in pairs}
    straight = frozenset([number[sort(joint.line)] for joint in bent] + [number[pair] for pair in known])
    joints = bent + _ends(triples, number, bent)
    for joint in joints:
        _join(equal, joint.one, joint.two)
    found = {pair: equal.find(pair) for pair in pairs}
    numbers = {root: k for k, root in enumerate(dict.fromkeys(root for root, _ in found.values()))}
    classes = {pair: (numbers[root], turn) for pair, (root, turn) in found.items()}
    return Lines(number, classes, straight, joints)


def _ends(triples: Iterable[_Triple], line: dict[_Pair, int], bent: Sequence[Joint]) -> list[Joint]:
    """Three laws around a face: the line that is bent least elsewhere, and has most jumps, is the one that ends."""
    size, bends = Counter(line.values()), Counter(line[sort(pair)] for joint in bent for pair in (joint.one, joint.two))
    found = []
    for a, b, c in triples:
        turns = [t for t in ((a, b, c), (b, c, a), (c, a, b)) if sort(t[:2]) in line]
        if len(turns) < 3:  # noise has hidden where two of them meet
            continue
        a, b, c = min(turns, key=lambda t: (bends[line[sort(t[:2])]], -size[line[sort(t[:2])]]))
        found.append(Joint((a, c), (b, c), (a, b)))
    return found


# In which order laws are fixed one after the other, so that all have a place and their numbers stay short.
#
# From the end: laws that one relation holds, given those before them, are taken in rounds, all that there are at a
# time. So each is made from few others, and numbers grow by the bits of one float a round. Where there are none, one is
# taken that has a place by counting, as the relations of a law fix no more numbers than it has; at worst one with the
# fewest.


def in_rounds(simple: Sequence[bool], relations: Sequence[Relation], size: int, random: Random) -> list[int]:
    """An order of laws of `size` numbers each; those of `simple` numbers come first, where they are free.

    >>> pencils = [Relation("pencil", (0, 1, 2, 3)), Relation("pencil", (1, 2, 3, 4))]
    >>> sorted(in_rounds([False] * 5, pencils, 3, Random(0))[:3])
    [1, 2, 3]
    """
    about: list[list[int]] = [[] for _ in simple]
    for k, relation in enumerate(relations):
        for law in set(relation.laws):
            about[law].append(k)
    left, rest, order = [len(set(relation.laws)) for relation in relations], set(range(len(simple))), list[int]()

    def live(law: int) -> list[int]:
        """The relations that say something about a law, given all others that are left."""
        return [k for k in about[law] if left[k] > relations[k].needed]

    while rest:
        some = [law for law in rest if not simple[law]] or list(rest)
        held = {law: live(law) for law in some}
        chosen = [law for law in some if len(held[law]) == 1]
        if not chosen and any(held.values()):
            # How many numbers of a law its relations fix, if they are independent.
            load = {law: sum(size - relations[k].directions for k in held[law]) for law in some if held[law]}
            placed = [law for law in load if load[law] <= size]
            least = min(load.values())
            chosen = [random.choice(placed or [law for law in load if load[law] == least])]
        chosen = chosen or some
        random.shuffle(chosen)
        for law in chosen:
            if held[law] and not live(law):
                continue  # another law of its relation was taken in this round: it may be free now
            order.append(law)
            rest.discard(law)
            for k in about[law]:
                left[k] -= 1
    return order[::-1]
