"""Where a function needs a gate: faces at which it is not already given by what it is near larger faces.

At a face `F` take the hyperplane of the local formula generic: ``p_F = g- + [l > 0] (g+ - g-)``. If `g+` and `g-`
are formally equal then ``p_F = g+``, and `F` costs nothing: crossings, cuts that are no bends
(docs/theory/local_gates.md).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from flint import fmpq

from cpwl.construct.blocks.rational import Rational
from cpwl.construct.gates.space.functions import LocalFunctions
from cpwl.construct.gates.space.terms import dot
from cpwl.geometry.complex import Flat

__all__ = ["find_needs"]

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
        difference = _add(self._sum(d, plus), low, -1)
        return _add(low, self._gated(plane, difference), 1)

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


def _add(one: _Formal, two: _Formal, factor: int) -> _Formal:
    total = dict(one)
    for key, value in two.items():
        total[key] = total.get(key, fmpq(0)) + factor * value
    return {key: value for key, value in total.items() if value != 0}
