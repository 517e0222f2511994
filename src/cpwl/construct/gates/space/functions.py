"""What a function looks like near each face of its complex: laws, jumps across facets, and where it needs a gate."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from math import gcd

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from cpwl.construct.blocks.rational import Rational
from cpwl.construct.gates.space.terms import Plane, Planes, dot
from cpwl.errors import ConstructionError
from cpwl.geometry.complex import Complex, Flat

__all__ = ["Bend", "LocalFunctions", "reference_point"]


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
        draw = random.Random(seed)
        extra = [[draw.randint(-999, 999) for _ in range(size - 1)] + [0] for _ in range(size)]
        own = [list(self.generators[g]) for g in self.complex.faces[d].members[i]]
        rows = fmpz_mat(own + extra[: size - 2 - d])
        kernel, rank = rows.nullspace()
        if rank != 1:
            return [0] * size
        row = [int(kernel[k, 0]) for k in range(size)]
        return row if dot(row, extra[-1]) > 0 else [-v for v in row]


def reference_point(complex_: Complex) -> tuple[int, ...]:
    """A homogeneous integer point inside the cell that is nearest to the middle, in no special position."""
    view = np.array([[float(v) for v in row] for row in complex_.generators / _scale(complex_.generators)[:, None]])
    finite = view[:, -1] > 0
    places = view[finite, :-1] / view[finite, -1:]
    middle = places.mean(axis=0)
    centre = np.full(len(view), np.inf)
    centre[finite] = np.abs(places - middle).max(axis=1)
    cells = complex_.faces[-1].members
    nearest = min(range(len(cells)), key=lambda j: (max(min(centre[g], 1e300) for g in cells[j]), j))
    draw = random.Random(0)
    total = [0] * complex_.generators.shape[1]
    for g in cells[nearest]:
        row = [int(v) for v in complex_.generators[g]]
        weight = fmpq(draw.randint(10**5, 2 * 10**5), max(1, row[-1]))
        total = [t + weight * v for t, v in zip(total, row, strict=True)]
    return _primitive(total)


def _scale(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.asarray(np.abs(rows).max(axis=1), dtype=object)


def _primitive(values: Sequence[Rational]) -> Plane:
    """The integers without a common divisor that are positively proportional to rationals."""
    row = fmpq_mat(1, len(values), list(values)).numer_denom()[0]
    whole = [int(v) for v in row.entries()]
    divisor = gcd(*whole)
    return tuple(v // divisor for v in whole)
