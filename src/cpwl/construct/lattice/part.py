"""Parts of pieces, cut along planes: by their corners and rays where these are known, else by their rows.

A polyhedron without lines is spanned by its corners and extreme rays, in homogeneous coordinates ``(x, 1)`` and
``(r, 0)``. Where ``law >= 0`` it is spanned by those of them with ``law >= 0``, and by the places where edges cross the
plane: ``b u + a v`` for neighbours with values `a` and `-b` (double description: Motzkin, Raiffa, Thompson and Thrall
1953; two are neighbours iff no third is on all planes that both are on). Then signs at places decide everything, and no
linear program is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.lattice.repair import cut
from cpwl.errors import InputError
from cpwl.exact.integers import primitive, sign, unit_view
from cpwl.function import CPWL
from cpwl.function.order.on_pieces import PieceOrder
from cpwl.geometry.corners import Corners
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["Held", "Part", "laws_less_own", "parts_of"]


class Part(Protocol):
    """Part of a piece, with the number of its own component."""

    @property
    def own(self) -> int:
        """The component that the function follows there."""

    def point(self) -> NDArray[Any]:
        """A place ``(x, 1)`` inside, up to a positive factor."""

    def cut(self, law: NDArray[Any]) -> tuple[Part, Part] | None:
        """The parts where the law is at most 0 and at least 0; None if one of them has no interior."""

    def above(self, order: PieceOrder, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The components that are above its own; what is known stays so."""


def parts_of(p: CPWL, output: int, probe: Probe) -> list[Part]:
    """The pieces as parts."""
    own = p.component[:, output]
    if p.tol:
        return [Held(p.polyhedra[i], int(own[i]), probe) for i in range(p.num_pieces)]
    if p.mesh is not None:
        every = 2 ** (p.dim + 1) - 1
        tight = tuple(every - 2**k for k in range(p.dim + 1))  # corner k is on all facets but one
        cells = zip(p.mesh.simplices, own, strict=True)
        return [Spanned(p.mesh.corners[cell], tight, p.dim + 1, int(c)) for cell, c in cells]
    spanned = generators(p.polyhedra)
    parts: list[Part] = []
    for i, known in enumerate(spanned.known):
        body = p.polyhedra[i]
        places = spanned.places[spanned.member[spanned.start[i] : spanned.start[i + 1]]]
        parts.append(_spanned(body, places, int(own[i])) if known else Held(body, int(own[i]), probe))
    return parts


def _spanned(body: Polyhedron, places: NDArray[np.object_], own: int) -> Spanned:
    rows = body.integer()
    rows = np.concatenate([np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1), [[0] * body.dim + [1]]])
    on = (rows[:, None] * places[None]).sum(axis=2) == 0  # the plane at infinity comes last
    tight = tuple(sum(2**r for r in np.flatnonzero(column).tolist()) for column in on.T)
    return Spanned(places, tight, len(rows), own)


@dataclass(frozen=True, slots=True, eq=False)
class Spanned:
    """A part by the integer places that span it, and for each the bits of the planes that it is on."""

    places: NDArray[np.object_]
    tight: tuple[int, ...]
    planes: int
    own: int

    def point(self) -> NDArray[Any]:
        weight = self.places[:, -1]
        factor = np.array([max(1, weight.max() // w) if w else 1 for w in weight], dtype=object)
        return np.asarray((self.places * factor[:, None]).sum(axis=0))  # about the mean of the corners, in integers

    def cut(self, law: NDArray[Any]) -> tuple[Part, Part] | None:
        values = (self.places * law).sum(axis=1)
        signs = sign(values)
        if not ((signs > 0).any() and (signs < 0).any()):
            return None
        plane = 1 << self.planes
        tight = [t | plane if s == 0 else t for t, s in zip(self.tight, signs, strict=True)]
        pairs = [
            (u, v)
            for u in np.flatnonzero(signs > 0).tolist()
            for v in np.flatnonzero(signs < 0).tolist()
            if self._are_neighbours(u, v)
        ]
        one, two = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        between = primitive(self.places[two] * values[one, None] - self.places[one] * values[two, None])
        new = [self.tight[u] & self.tight[v] | plane for u, v in pairs]
        halves = []
        for side in (-1, 1):
            kept = np.flatnonzero(signs * side >= 0)
            places = np.concatenate([self.places[kept], between])
            halves.append(Spanned(places, (*(tight[k] for k in kept), *new), self.planes + 1, self.own))
        return halves[0], halves[1]

    def _are_neighbours(self, u: int, v: int) -> bool:
        common = self.tight[u] & self.tight[v]
        if common.bit_count() < self.places.shape[1] - 2:
            return False
        return not any(common & t == common for w, t in enumerate(self.tight) if w not in (u, v))

    def above(self, order: PieceOrder, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        result = known.copy()
        unknown = np.flatnonzero(~known)
        laws, view = laws_less_own(order, self.own)
        assert view is not None
        result[unknown] = (Corners(self.places).signs(laws[unknown], view[unknown]) >= 0).all(axis=1)
        return result


@lru_cache(maxsize=64)  # parts of one piece ask again and again
def laws_less_own(order: PieceOrder, own: int) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """All components less one, and for exact data the same as floats, each row scaled to size 1."""
    laws = order.differences(own)
    return laws, unit_view(laws) if laws.dtype == object else None


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A part by the rows that hold there."""

    body: Polyhedron
    own: int
    probe: Probe

    def point(self) -> NDArray[Any]:
        inside = self.probe.interior(self.body)
        if inside is None:
            raise InputError("a piece has no interior: leave it out, as `compile` does unless `check` is False")
        return np.append(inside, 1)

    def halves(self, law: NDArray[Any]) -> tuple[Held, Held]:
        """Both parts, whether they have an interior or not."""
        return Held(cut(self.body, law), self.own, self.probe), Held(cut(self.body, -law), self.own, self.probe)

    def cut(self, law: NDArray[Any]) -> tuple[Part, Part] | None:
        if not law[:-1].any():
            return None  # a parallel component cuts nothing
        halves = self.halves(law)
        return None if any(self.probe.interior(half.body) is None for half in halves) else halves

    def above(self, order: PieceOrder, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return order.above_on(self.probe, self.body, self.own, known)
