"""Gates in normal form, each once, with the hidden layer that each needs."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import gcd
from operator import mul
from typing import TypeAlias

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from cpwl.construct.blocks.common import Rational
from cpwl.errors import ConstructionError, InternalError
from cpwl.geometry.complex import Complex, Flat
from cpwl.search import family_cover

# Sums of an affine function, hinges ``s(l)`` and gates ``[l > 0] d``: the formal functions that gates are made of.
#
# The normal form of ``[l > 0] d`` is linear in `d`, with ``[l > 0] b l = b s(l)``, ``[l > 0] s(l) = s(l)`` and
# ``[l > 0] [l > 0] d = [l > 0] d`` (docs/theory/local_gates.md). All coefficients are rationals.


ZERO = fmpq(0)
Plane = tuple[int, ...]
"""The affine function ``a.x + b`` as integers ``(a, b)`` without a common divisor."""


def dot(a: Sequence[Rational], b: Sequence[Rational]) -> Rational:
    """The sum of products of entries."""
    return sum(map(mul, a, b), 0)  # equally long; asked millions of times


class Planes:
    """Numbers hyperplanes, each oriented so that one reference point has ``l < 0``.

    Then all hinges and gates vanish near that point, and the affine part of a sum is what the sum is there: one law
    rather than a sum of many, with few digits.
    """

    def __init__(self, reference: Plane) -> None:
        self.reference = reference
        self.rows: list[Plane] = []
        self.directions: list[Plane] = []
        """For each plane the primitive normal, first entry positive: what parallel planes have in common."""
        self._number: dict[Plane, int] = {}

    def number(self, row: Plane) -> tuple[int, int]:
        """The number of the hyperplane of a primitive row, and the sign of the row against its orientation."""
        value = dot(row, self.reference) or next(v for v in row if v)
        sign = -1 if value > 0 else 1
        oriented = row if sign > 0 else tuple(-v for v in row)
        if oriented not in self._number:
            self._number[oriented] = len(self.rows)
            self.rows.append(oriented)
            divisor = gcd(*row[:-1]) * (1 if next(v for v in row if v) > 0 else -1)
            self.directions.append(tuple(v // divisor for v in row[:-1]))
        return self._number[oriented], sign


class Terms:
    """``affine + sum of hinges + sum of gates``: coefficients by the number of the plane, of the gate."""

    __slots__ = ("affine", "gates", "hinges")

    def __init__(self, size: int) -> None:
        self.affine: list[Rational] = [ZERO] * size
        self.hinges: dict[int, Rational] = {}
        self.gates: dict[int, Rational] = {}

    def copy(self) -> Terms:
        """The same terms, to be changed."""
        new = Terms(0)
        new.affine, new.hinges, new.gates = list(self.affine), dict(self.hinges), dict(self.gates)
        return new

    def add_affine(self, row: Sequence[Rational], factor: Rational) -> None:
        """Adds a multiple of an affine function."""
        self.affine = [a + factor * v for a, v in zip(self.affine, row, strict=True)]

    def add_hinge(self, plane: int, factor: Rational) -> None:
        """Adds a multiple of a hinge."""
        _accumulate(self.hinges, plane, factor)

    def add_gate(self, gate: int, factor: Rational) -> None:
        """Adds a multiple of a gate."""
        _accumulate(self.gates, gate, factor)

    def times(self, factor: Rational) -> Terms:
        """A multiple of the terms."""
        new = Terms(0)
        new.affine = [factor * v for v in self.affine]
        new.hinges = {k: factor * v for k, v in self.hinges.items()}
        new.gates = {k: factor * v for k, v in self.gates.items()}
        return new

    def is_zero(self) -> bool:
        """Whether nothing is left."""
        return self.is_constant() and self.affine[-1] == 0

    def is_constant(self) -> bool:
        """Whether only a number is left."""
        return not self.hinges and not self.gates and all(v == 0 for v in self.affine[:-1])

    def pattern(self) -> Hashable:
        """Which terms there are, but for the number added: the same for terms that are proportional."""
        return frozenset(self.hinges), frozenset(self.gates), tuple(v != 0 for v in self.affine[:-1])

    def ratio(self, other: Terms, *, constant: bool = True) -> Rational | None:
        """The factor for which these terms are that multiple of the others; None if there is none.

        Without `constant` that is up to a number added. Both must have the same pattern, and not be constant.
        """
        mine, theirs = ([*t.hinges.items(), *t.gates.items()] for t in (self, other))
        pairs = [(v, (other.hinges if i < len(self.hinges) else other.gates)[k]) for i, (k, v) in enumerate(mine)]
        last = len(self.affine) - (not constant)
        pairs += zip(self.affine[:last], other.affine[:last], strict=True)
        assert len(mine) == len(theirs)
        top, bottom = next(pair for pair in pairs if pair[1] != 0)
        return top / bottom if all(a * bottom == b * top for a, b in pairs) else None


@dataclass(slots=True)
class Gate:
    """``[l > 0] d``: the plane of `l`, the terms `d`, which vanish on it, the codimension of its faces, the layer."""

    plane: int
    content: Terms
    codimension: int
    layer: int = 0


def _accumulate(table: dict[int, Rational], key: int, value: Rational) -> None:
    total = table.get(key, ZERO) + value
    if total == 0:
        table.pop(key, None)
    else:
        table[key] = total


# What a function looks like near each face of its complex: laws, jumps across facets, and where it needs a gate.


@dataclass(frozen=True, slots=True)
class Bend:
    """``p = law[minus] + jump s(l)`` near a facet; `plane` is None where the function does not bend."""

    minus: int
    plane: int | None
    jump: Rational


class LocalFunctions:
    """One output of a function on a complex: `laws` are integer rows ``(gradient, offset, 1) * denominator``."""

    def __init__(self, complex_: Complex, laws: NDArray[np.object_], planes: Planes) -> None:
        self.complex, self.planes = complex_, planes
        self.laws = [[fmpq(int(v), int(row[-1])) for v in row[:-1]] for row in laws]
        self.generators: list[Plane] = [tuple(int(v) for v in row) for row in complex_.generators]
        self.bends: dict[int, Bend] = {i: self._bend(i) for i in complex_.interior(complex_.dim - 1)}
        self._signs: dict[tuple[int, int], int] = {}
        self._flats: dict[tuple[int, int], Flat] = {}
        self._directions: dict[int, list[list[int]]] = {}
        self._sides: dict[tuple[int, int], tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}

    def together(self, others: Sequence[LocalFunctions]) -> LocalFunctions:
        """What only says where this or one of the other functions on the complex bends."""
        new = copy(self)
        new.laws = []
        for f in others:
            new.bends = {i: f.bends[i] if b.plane is None else b for i, b in new.bends.items()}
        return new

    def sides(self, d: int, i: int, signs: dict[int, int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The interior faces ``(e, j)`` above a face that are strictly on the two sides, given generators' signs."""
        own = set(self.complex.faces[d].members[i])
        plus, minus = [], []
        for e in range(d + 1, self.complex.dim + 1):
            faces = self.complex.faces[e]
            for j in self.complex.above(d, e)[i]:
                if faces.boundary[j]:
                    continue
                found = {signs[g] for g in faces.members[j] if g not in own}
                if found == {1}:
                    plus.append((e, j))
                elif found == {-1}:
                    minus.append((e, j))
        return plus, minus

    def sides_of(self, d: int, i: int, plane: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The same for a hyperplane through the face."""
        return self.sides(d, i, {g: self.sign(plane, g) for g in self._star(d, i)})

    def generic_sides(self, d: int, i: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The same for a hyperplane through the face that contains no further generator of its star.

        Its directions come from one fixed sequence, so that it has the same sense along parallel faces.
        """
        if (d, i) not in self._sides:
            self._sides[d, i] = self._generic_sides(d, i)
        return self._sides[d, i]

    def _generic_sides(self, d: int, i: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        star = self._star(d, i) - set(self.complex.faces[d].members[i])
        for seed in range(100):
            row = self._through(d, i, seed)
            values = {g: dot(row, self.generators[g]) for g in star}
            if all(values.values()):
                return self.sides(d, i, {g: (v > 0) - (v < 0) for g, v in values.items()})
        raise ConstructionError(f"no generic hyperplane through face {i} of dimension {d} was found")

    def bend_planes(self, d: int, i: int) -> list[int]:
        """The planes on which the function bends at a face of codimension at least 2."""
        above = self.complex.above(d, self.complex.dim - 1)[i]
        found = {self.bends[j].plane for j in above if j in self.bends}
        return sorted(p for p in found if p is not None)

    def flat(self, d: int, i: int) -> Flat:
        """The affine hull of a face."""
        if (d, i) not in self._flats:
            self._flats[d, i] = self.complex.flat(d, i)
        return self._flats[d, i]

    def bends_straight(self, i: int) -> bool:
        """Whether at a face of codimension 2 each plane keeps its jump: then the function needs no gate there."""
        n = self.complex.dim
        jumps: dict[int, list[Rational]] = defaultdict(list)
        for j in self.complex.above(n - 2, n - 1)[i]:
            bend = self.bends[j]
            if bend.plane is not None:
                jumps[bend.plane].append(bend.jump)
        return all(len(w) == 2 and w[0] == w[1] for w in jumps.values())

    def _bend(self, i: int) -> Bend:
        n = self.complex.dim
        sides = self.complex.above(n - 1, n)[i]
        if len(sides) != 2:
            raise ConstructionError(
                f"{len(sides)} pieces have one facet in common: pieces overlap, or one is repeated", cells=tuple(sides)
            )
        a, b = sides
        difference = [x - y for x, y in zip(self.laws[a], self.laws[b], strict=True)]
        if not any(difference):
            return Bend(a, None, fmpq(0))
        facet = set(self.complex.faces[n - 1].members[i])
        if any(dot(difference, self.generators[g]) != 0 for g in facet):
            raise ConstructionError(
                f"the laws of cells {a} and {b} differ on the facet that they share, so this data is not exactly "
                "continuous; take `p.snap().function`, or exact numbers",
                cells=(a, b),
            )
        row = _primitive(difference)
        plane, sign = self.planes.number(row)
        k = next(k for k, v in enumerate(row) if v)
        jump = difference[k] / row[k] * sign  # law_a - law_b = jump * l
        outside = next(g for g in self.complex.faces[n].members[a] if g not in facet)
        a_is_plus = dot(self.planes.rows[plane], self.generators[outside]) > 0
        return Bend(b, plane, jump) if a_is_plus else Bend(a, plane, -jump)

    def _star(self, d: int, i: int) -> set[int]:
        n = self.complex.dim
        cells = self.complex.faces[n].members
        return {g for j in self.complex.above(d, n)[i] for g in cells[j]}

    def sign(self, plane: int, generator: int) -> int:
        """On which side of a plane a generator is."""
        key = (plane, generator)
        if key not in self._signs:
            value = dot(self.planes.rows[plane], self.generators[generator])
            self._signs[key] = (value > 0) - (value < 0)
        return self._signs[key]

    def _through(self, d: int, i: int, seed: int) -> Sequence[int]:
        """An integer hyperplane through a face, with pseudo-random directions, positive along the last of them."""
        size = self.complex.dim + 1
        if seed not in self._directions:
            draw = random.Random(seed)
            self._directions[seed] = [[draw.randint(-999, 999) for _ in range(size - 1)] + [0] for _ in range(size)]
        extra = self._directions[seed]
        own = [list(self.generators[g]) for g in self.complex.faces[d].members[i]]
        rows = fmpz_mat(own + extra[: size - 2 - d])
        kernel, rank = rows.nullspace()
        if rank != 1:
            return [0] * size
        row = [int(kernel[k, 0]) for k in range(size)]
        return row if dot(row, extra[-1]) > 0 else [-v for v in row]


def reference_point(complex_: Complex) -> tuple[int, ...]:
    """A homogeneous integer point inside the cell that is nearest to the middle, in no special position.

    Distances are relative to the extent of each coordinate: units change nothing.
    """
    view = np.array(complex_.generators / np.abs(complex_.generators).max(axis=1)[:, None], dtype=np.float64)
    finite = view[:, -1] > 0
    places = view[finite, :-1] / view[finite, -1:]
    middle, extent = places.mean(axis=0), np.ptp(places, axis=0)
    centre = np.full(len(view), np.inf)
    centre[finite] = (np.abs(places - middle) / np.where(extent > 0, extent, 1)).max(axis=1)
    cells = complex_.faces[-1].members
    nearest = min(range(len(cells)), key=lambda j: (max(min(centre[g], 1e300) for g in cells[j]), j))
    draw = random.Random(0)
    total = [0] * complex_.generators.shape[1]
    for g in cells[nearest]:
        row = [int(v) for v in complex_.generators[g]]
        weight = fmpq(draw.randint(10**5, 2 * 10**5), max(1, row[-1]))
        total = [t + weight * v for t, v in zip(total, row, strict=True)]
    return _primitive(total)


def _primitive(values: Sequence[Rational]) -> Plane:
    """The integers without a common divisor that are positively proportional to rationals."""
    row = fmpq_mat(1, len(values), list(values)).numer_denom()[0]
    whole = [int(v) for v in row.entries()]
    divisor = gcd(*whole)
    return tuple(v // divisor for v in whole)


# Where a function needs a gate: faces at which it is not already given by what it is near larger faces.
#
# At a face `F` take the hyperplane of the local formula generic: ``p_F = g- + [l > 0] (g+ - g-)``. If `g+` and `g-`
# are formally equal then ``p_F = g+``, and `F` costs nothing: crossings, cuts that are no bends
# (docs/theory/local_gates.md).


# A formal function: -1 - i is the coordinate i of the affine part, p >= 0 the hinge on plane p, and (p, key) is what
# `key` stands for, gated on plane p.
_Key: TypeAlias = "int | tuple[int, _Key]"
_Formal = dict[_Key, Rational]


def find_needs(local: LocalFunctions) -> list[set[int]]:
    """For each dimension ``d <= n - 2`` the interior faces that need a gate, exactly."""
    n = local.complex.dim
    needs: list[set[int]] = [set() for _ in range(max(0, n - 1))]
    if n >= 2:
        needs[n - 2] = {i for i in local.complex.interior(n - 2) if not local.bends_straight(i)}
    test = _FormalTest(local, needs)
    for d in range(n - 3, -1, -1):
        needs[d] = {i for i in local.complex.interior(d) if not test.is_superfluous(d, i)}
    return needs


class _FormalTest:
    def __init__(self, local: LocalFunctions, needs: list[set[int]]) -> None:
        self.local, self.needs = local, needs
        self._known: dict[tuple[int, int], _Formal] = {}
        self._planes: dict[int, dict[Flat, int]] = {}

    def is_superfluous(self, d: int, i: int) -> bool:
        """Whether the two sides of a generic hyperplane through the face are formally equal."""
        above = [j for j in self.local.complex.above(d, d + 1)[i] if j in self.needs[d + 1]]
        # A gate that ends at this face has nothing to cancel it on the other side.
        count = Counter(self.local.flat(d + 1, j) for j in above)
        if any(number == 1 for number in count.values()):
            return False
        plus, minus = self.local.generic_sides(d, i)
        value = self._sum(d, plus)
        if value != self._sum(d, minus):
            return False
        self._known[d, i] = value
        return True

    def _sum(self, d: int, faces: Iterable[tuple[int, int]]) -> _Formal:
        total: _Formal = defaultdict(fmpq)
        for e, j in faces:
            sign = (-1) ** (e - d - 1)
            for key, value in self._formal(e, j).items():
                total[key] += sign * value
        return {key: value for key, value in total.items() if value != 0}

    def _formal(self, d: int, i: int) -> _Formal:
        if (d, i) not in self._known:
            self._known[d, i] = self._make(d, i)
        return self._known[d, i]

    def _make(self, d: int, i: int) -> _Formal:
        local, n = self.local, self.local.complex.dim
        if d >= n - 1:
            bend = local.bends[i] if d < n else None
            law = local.laws[i if bend is None else bend.minus]
            value: _Formal = {-1 - k: v for k, v in enumerate(law) if v != 0}
            if bend is not None and bend.plane is not None:
                value[bend.plane] = bend.jump
            return value
        if i not in self.needs[d]:
            return self._sum(d, local.generic_sides(d, i)[0])
        plane = self._plane(d, i)
        plus, minus = local.sides_of(d, i, plane)
        low = self._sum(d, minus)
        difference = _formal_sum(self._sum(d, plus), low, -1)
        return _formal_sum(low, self._gated(plane, difference), 1)

    def _plane(self, d: int, i: int) -> int:
        """One plane for all faces of a flat, so that equal functions get equal forms."""
        if d not in self._planes:
            found: dict[Flat, int] = {}
            for j in sorted(self.needs[d]):
                flat, plane = self.local.flat(d, j), self.local.bend_planes(d, j)[0]
                found[flat] = min(plane, found.get(flat, plane))
            self._planes[d] = found
        return self._planes[d][self.local.flat(d, i)]

    def _gated(self, plane: int, d: _Formal) -> _Formal:
        """The normal form of ``[l > 0] d``."""
        row = self.local.planes.rows[plane]
        affine = [d.get(-1 - k, fmpq(0)) for k in range(len(row))]
        along = dot(affine[:-1], row[:-1]) / fmpq(dot(row[:-1], row[:-1]))
        result: _Formal = {plane: along}
        for k, (a, v) in enumerate(zip(affine, row, strict=True)):
            result[(plane, -1 - k)] = a - along * v
        for key, value in d.items():
            if isinstance(key, tuple):
                result[key if key[0] == plane else (plane, key)] = value
            elif key >= 0:
                new: _Key = plane if key == plane else (plane, key)
                result[new] = result.get(new, fmpq(0)) + value
        return {key: value for key, value in result.items() if value != 0}


def _formal_sum(one: _Formal, two: _Formal, factor: int) -> _Formal:
    total = dict(one)
    for key, value in two.items():
        total[key] = total.get(key, fmpq(0)) + factor * value
    return {key: value for key, value in total.items() if value != 0}


# Faces of codimension 2 that have their gate in common: pieces of one edge, however cells cut it.
#
# On the rays of a plane at such a face a function has two jumps; that on the one side less that on the other is the
# *change* of the plane. With changes and flat the gate ``[l > 0] (g+ - g-)`` is known, but for a multiple of ``s(l)``,
# on every plane `l` through the flat. So faces of one flat with the same changes share one gate, and the way in which
# they are used adds up.


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """For each face the first one with the same gate, and for that one two planes on which something changes."""

    first: dict[int, int] = field(default_factory=dict)
    changing: dict[int, tuple[int, int]] = field(default_factory=dict)

    def across(self, i: int, plane: int) -> int:
        """A plane through a face other than the given one, the same for all faces of its pool."""
        one, two = self.changing[self.first[i]]
        return two if one == plane else one


def pool(functions: Sequence[LocalFunctions], groups: dict[int, int]) -> Pools:
    """The faces of codimension 2 at which all of the functions change alike, within each of some groups.

    Groups that meet where something else happens are left apart: their uses differ, and adding them up may make gates
    of a new kind.
    """
    pools = Pools()
    known: dict[Hashable, int] = {}
    for i, group in sorted(groups.items()):
        planes, changes = _changes(functions, i)
        pools.first[i] = known.setdefault((group, changes), i)
        pools.changing[i] = (planes[0], planes[-1])
    return pools


def jump_beside(local: LocalFunctions, i: int, plane: int, across: int) -> Rational:
    """The jump on a plane at a face of codimension 2, on the positive side of another plane through the face."""
    for j, outside in _facets(local, i):
        if local.bends[j].plane == plane and local.sign(across, outside) > 0:
            return local.bends[j].jump
    return ZERO


def _facets(local: LocalFunctions, i: int) -> list[tuple[int, int]]:
    """The facets at a face of codimension 2, each with a generator that is not on the face."""
    n = local.complex.dim
    own = set(local.complex.faces[n - 2].members[i])
    members = local.complex.faces[n - 1].members
    return [(j, next(g for g in members[j] if g not in own)) for j in local.complex.above(n - 2, n - 1)[i]]


def _changes(functions: Sequence[LocalFunctions], i: int) -> tuple[list[int], Hashable]:
    """The planes on which a jump changes at the face, and by how much, oriented by the first and the last of them."""
    local = functions[0]
    rays: dict[tuple[int, int], list[tuple[int, Rational]]] = defaultdict(list)
    for j, outside in _facets(local, i):
        for k, f in enumerate(functions):
            plane = f.bends[j].plane
            if plane is not None:
                rays[k, plane].append((outside, f.bends[j].jump))
    bent = {key: pair for key, pair in rays.items() if len(pair) == 1 or pair[0][1] != pair[1][1]}
    planes = sorted({plane for _, plane in bent})
    changes = []
    for (k, plane), pair in sorted(bent.items()):
        across = planes[0] if plane != planes[0] else planes[-1]
        total = sum((local.sign(across, g) * jump for g, jump in pair), fmpq(0))
        changes.append((k, plane, int(total.p), int(total.q)))
    return planes, tuple(changes)


# From faces to gates, from vertices up: which planes carry the gates, and what each gate is made of.
#
# ``U[F]`` says how the local function `p_F` enters the outputs and the gates so far. Faces of one codimension that lie
# on one plane and are used in proportion share one gate, so planes are chosen by set cover
# (docs/theory/local_gates.md).
# Then `U` is pushed to the faces above by the local formula, down to facets and cells, which are hinges and laws.


OUTPUT = -1
_TRIES = 8
_WORK = 1500  # faces that need a gate, over all tries
_Use = dict[int, int]
_Kind = tuple[tuple[int, int], ...]


class Shared:
    """All gates of one output, and the terms of the output itself; gates of high codimension come first."""

    def __init__(self, local: LocalFunctions) -> None:
        self.local = local
        self.output = Terms(local.complex.dim + 1)
        self.gates: list[Gate] = []
        self.users: list[_Kind] = []
        self._numbers: dict[tuple[int, int, _Kind], int] = {}
        self.corrections: list[tuple[int, int, int, int]] = []
        """For faces that have another one's gate: which, the plane, and a plane that says which jump to look at."""
        self.uses: list[list[_Use]] = [[{} for _ in range(len(faces))] for faces in local.complex.faces]

    @property
    def cost(self) -> int:
        """The number of neurons above the first layer, up to what does not depend on choices."""
        return sum(gate.codimension - 1 for gate in self.gates)

    def of(self, local: LocalFunctions) -> Shared:
        """The same planes and uses for another function on the complex, without terms."""
        new = Shared(local)
        new.gates = [Gate(gate.plane, Terms(local.complex.dim + 1), gate.codimension) for gate in self.gates]
        new.users, new.uses, new.corrections = self.users, self.uses, self.corrections
        return new

    def gate(self, codimension: int, plane: int, kind: _Kind) -> int:
        """The gate of that plane and use, made if it is new."""
        key = (codimension, plane, kind)
        if key not in self._numbers:
            self._numbers[key] = len(self.gates)
            self.gates.append(Gate(plane, Terms(self.local.complex.dim + 1), codimension))
            self.users.append(kind)
        return self._numbers[key]

    def content(self, user: int) -> Terms:
        """The terms of a gate, or of the output."""
        return self.output if user == OUTPUT else self.gates[user].content


def share_gates(local: LocalFunctions) -> Shared:
    """Top formula, local formulas and set covers for one output.

    Among covers of equal size at the vertices some lead to fewer gates further up, so several are tried.
    """
    best = _best(local, find_needs(local), [local])
    _collect(best)
    return best


def share_jointly(functions: Sequence[LocalFunctions]) -> list[Shared]:
    """The same for several outputs with one choice of planes, so that what they have in common meets in one place."""
    needs = [set[int]().union(*found) for found in zip(*map(find_needs, functions), strict=True)]
    best = _best(functions[0].together(functions[1:]), needs, functions)
    parts = [best.of(local) for local in functions]
    for part in parts:
        _collect(part)
    return parts


def _best(local: LocalFunctions, needs: list[set[int]], functions: Sequence[LocalFunctions]) -> Shared:
    size = sum(len(found) for found in needs)
    tries = max(1, min(_TRIES, _WORK // max(1, size))) if size else 1
    pools = pool(functions, _groups(local, needs, len(needs) - 1)) if needs else Pools()
    ways = [(pools, seed) for seed in range(tries)]
    if any(i != first for i, first in pools.first.items()):
        ways.append((Pools(), 0))
    return min((_share(local, needs, *way) for way in ways), key=lambda shared: shared.cost)


def _share(local: LocalFunctions, needs: list[set[int]], pools: Pools, seed: int) -> Shared:
    n, shared = local.complex.dim, Shared(local)
    for d, values in enumerate(local.complex.coefficients()):
        for i in values.nonzero()[0].tolist():
            shared.uses[d][i][OUTPUT] = int(values[i])
    for d in range(n - 1):
        alike = pools.first if d == n - 2 else {}
        used = [i for i in local.complex.interior(d) if shared.uses[d][i]]
        pooled: dict[int, _Use] = defaultdict(dict)
        for i in used:
            if i in needs[d]:
                _add(pooled[alike.get(i, i)], shared.uses[d][i], 1)
        chosen = _choose(shared, needs, d, {i: use for i, use in pooled.items() if use}, seed)
        for i, (plane, kind) in chosen.items():
            _push_gate(shared, d, i, shared.gate(n - d, plane, kind), plane, _kind(pooled[i])[1])
        for i in used:
            if i not in needs[d]:
                low = local.generic_sides(d, i)[0]
            else:  # where all uses of a gate cancel any plane will do, as long as it is the same
                first = alike.get(i, i)
                plane = chosen[first][0] if first in chosen else local.bend_planes(d, first)[0]
                low = local.sides_of(d, i, plane)[1]
                if i != first:
                    shared.corrections.append((i, first, plane, pools.across(i, plane)))
            for e, j in low:
                _push(shared, e, j, shared.uses[d][i], (-1) ** (e - d - 1))
    return shared


def _choose(
    shared: Shared, needs: list[set[int]], d: int, uses: dict[int, _Use], seed: int
) -> dict[int, tuple[int, _Kind]]:
    """A plane for each face that needs a gate: few pairs (plane, use)."""
    local = shared.local
    group = _groups(local, needs, d)
    planes: dict[int, set[int]] = defaultdict(set)
    for i in sorted(needs[d]):
        planes[group.get(i, i)].update(local.bend_planes(d, i))
    sets: dict[tuple[int, _Kind], list[int]] = defaultdict(list)
    for i, use in uses.items():
        kind = _kind(use)[0]
        for plane in sorted(planes[group.get(i, i)]):
            sets[plane, kind].append(i)
    return family_cover(sets, family=lambda key: local.planes.directions[key[0]], seed=seed)


def _groups(local: LocalFunctions, needs: list[set[int]], d: int) -> dict[int, int]:
    """Faces of one flat that meet in a face without a gate are one face cut in two: they go together."""
    leader: dict[int, int] = {}

    def find(i: int) -> int:
        while leader.get(i, i) != i:
            i = leader[i]
        return i

    if d == 0:
        return leader
    above = local.complex.above(d - 1, d)
    for v in local.complex.interior(d - 1):
        if v in needs[d - 1]:
            continue
        flats: dict[object, int] = {}
        for i in above[v]:
            if i in needs[d]:
                first = flats.setdefault(local.flat(d, i), i)
                leader[find(i)] = find(first)
    return {i: find(i) for i in leader}


def _kind(use: _Use) -> tuple[_Kind, int]:
    """What proportional uses have in common, and the factor."""
    items = sorted(use.items())
    factor = gcd(*(v for _, v in items)) * (1 if items[0][1] > 0 else -1)
    return tuple((user, v // factor) for user, v in items), factor


def _push_gate(shared: Shared, d: int, i: int, gate: int, plane: int, factor: int) -> None:
    """The terms of ``[l > 0] (g+ - g-)``."""
    for side, faces in zip((1, -1), shared.local.sides_of(d, i, plane), strict=True):
        for e, j in faces:
            _push(shared, e, j, {gate: side * factor}, (-1) ** (e - d - 1))


def _push(shared: Shared, e: int, j: int, use: _Use, sign: int) -> None:
    _add(shared.uses[e][j], use, sign)


def _add(target: _Use, use: _Use, sign: int) -> None:
    for user, value in use.items():
        total = target.get(user, 0) + sign * value
        if total:
            target[user] = total
        else:
            target.pop(user, None)


def _collect(shared: Shared) -> None:
    """Facets become hinges, cells laws: the terms of every gate and of the output."""
    local, n = shared.local, shared.local.complex.dim
    laws: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for cell, use in enumerate(shared.uses[n]):
        for user, value in use.items():
            laws[user][cell] += value
    for facet, bend in local.bends.items():
        for user, value in shared.uses[n - 1][facet].items():
            laws[user][bend.minus] += value
            if bend.plane is not None:
                shared.content(user).add_hinge(bend.plane, value * bend.jump)
    for i, first, plane, across in shared.corrections:
        more = jump_beside(local, i, plane, across) - jump_beside(local, first, plane, across)
        if more != 0:
            for user, value in shared.uses[n - 2][i].items():
                shared.content(user).add_hinge(plane, value * more)
    for user, cells in laws.items():
        content = shared.content(user)
        for cell, value in sorted(cells.items()):
            if value:
                content.add_affine(local.laws[cell], fmpq(value))


@dataclass(frozen=True, slots=True, eq=False)
class GateSum:
    """Outputs as sums of hinges and gates; a gate's content uses gates with smaller numbers and layers only."""

    planes: Sequence[Plane]
    gates: Sequence[Gate]
    outputs: Sequence[Terms]

    @property
    def depth(self) -> int:
        """The number of hidden layers."""
        return max((gate.layer for gate in self.gates), default=1)

    @property
    def cost(self) -> int:
        """The number of neurons, up to what all gate sums for a function have in common."""
        planes = {gate.plane for gate in self.gates}
        for terms in [*self.outputs, *(gate.content for gate in self.gates)]:
            planes.update(terms.hinges)
        return len(planes) + sum(gate.layer - 1 for gate in self.gates)


def settle(planes: Planes, parts: Sequence[Shared]) -> GateSum:
    """Brings all gates to normal form, from the lowest up, and merges those that are proportional."""
    gates: list[Gate] = []
    known: dict[Hashable, list[int]] = defaultdict(list)
    for shared in parts:
        for number in reversed(range(len(shared.gates))):  # the users of a gate have smaller numbers
            gate = shared.gates[number]
            users = [(shared.content(user), fmpq(factor)) for user, factor in shared.users[number]]
            _normalise(gate, planes.rows[gate.plane], gates, users)
            if gate.content.is_zero():
                continue
            if not gate.content.hinges and not gate.content.gates:
                raise InternalError("the two sides of a gate differ on its plane", plane=planes.rows[gate.plane])
            alike = known[gate.plane, gate.content.pattern()]
            ratios = ((other, gate.content.ratio(gates[other].content)) for other in alike)
            same, ratio = next(((g, r) for g, r in ratios if r is not None), (len(gates), fmpq(1)))
            if same == len(gates):
                gate.layer = 1 + max((gates[g].layer for g in gate.content.gates), default=1)
                alike.append(same)
                gates.append(gate)
            for content, factor in users:
                content.add_gate(same, factor * ratio)
    return GateSum(planes.rows, gates, [shared.output for shared in parts])


def _normalise(gate: Gate, row: Plane, gates: Sequence[Gate], users: Sequence[tuple[Terms, Rational]]) -> None:
    """Takes out of ``[l > 0] d`` what is a hinge or a gate on `l` itself, and gives it to the users."""
    content = gate.content
    along = dot(content.affine[:-1], row[:-1]) / fmpq(dot(row[:-1], row[:-1]))
    if along != 0:
        content.add_affine(row, -along)
    hinge = along + content.hinges.pop(gate.plane, fmpq(0))
    own = {g: content.gates.pop(g) for g in list(content.gates) if gates[g].plane == gate.plane}
    for terms, factor in users:
        if hinge != 0:
            terms.add_hinge(gate.plane, factor * hinge)
        for g, value in own.items():
            terms.add_gate(g, factor * value)
