"""The health of a function given by half-spaces: facet by facet, with linear programs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cpwl.function.doctor.agreement import Agreement
from cpwl.function.doctor.report import Finding, Kind, point_text
from cpwl.geometry.facet_cover import FacetCover
from cpwl.geometry.facets import Facet, facets_of, hyperplanes
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["PieceDoctor"]


class _Enough(Exception):
    """One error is known, and no more were asked for."""


class PieceDoctor:
    """One examination: holds the probe, the hyperplanes and what was found so far."""

    def __init__(self, p: CPWL) -> None:
        self.p = p
        self.exact = p.tol == 0
        self.polyhedra = replace(p.polyhedra, exact=p.polyhedra.integer()) if self.exact else p.polyhedra
        self.probe = Probe(p.tol, p.polyhedra.unit())
        self.planes = hyperplanes(self.polyhedra, p.tol)
        self.cover = FacetCover(self.polyhedra, self.planes, self.probe)
        self.found: list[Finding] = []
        self.facets: dict[int, list[Facet]] = {}
        self._one_is_enough = False
        # Per piece: the hyperplanes it has rows on, with the side. Pieces on two sides of one do not overlap.
        self.sides: list[set[tuple[int, int]]] = [set() for _ in range(p.num_pieces)]
        for i, key in zip(self.polyhedra.owner, self._keys(), strict=True):
            self.sides[i].add(key)

    def findings(self) -> list[Finding]:
        """Everything that is wrong, in the order of the examination."""
        self.inside = self._inner_points()
        self.solid = [i for i, x in enumerate(self.inside) if x is not None]
        for i in sorted(set(range(self.p.num_pieces)) - set(self.solid)):
            self._flat(i)
        if not self.solid:
            self._add("gap", "there is nothing: no piece has an interior.", (), None, 0.0)
            return self.found
        centers = self._centers()
        self._boxes()
        self._overlaps_at_centers(centers)
        on_plane: dict[int, list[Facet]] = defaultdict(list)
        self._find_facets()
        for facets in self.facets.values():
            for facet in facets:
                on_plane[int(self.planes.number[facet.row])].append(facet)
        outer = [facet for group in on_plane.values() for facet in self._examine_plane(group)]
        self._examine_boundary(outer)
        return self.found

    def look_only(self) -> list[Finding]:
        """Finds what notes are about, of a function that was proved complete: nothing is wrong with it."""
        self.inside = self._inner_points()
        self.solid = list(range(self.p.num_pieces))
        self._centers()
        self._find_facets()
        return self.found

    def _inner_points(self) -> list[NDArray[Any] | None]:
        """A point inside each piece, None for one without interior; what the maker knows is taken."""
        known = self.p.known
        if known is not None and known.inner is not None and (known.inner.dtype == object or not self.exact):
            return list(known.inner)
        return [self.probe.interior(body) for body in self.polyhedra]

    def _centers(self) -> NDArray[np.float64]:
        centers = np.array([np.asarray(x, dtype=np.float64) for x in self.inside if x is not None])
        self.agreement = Agreement(self.p, self.polyhedra, float(np.abs(centers).max(initial=0.0)) + self.probe.unit)
        return centers

    def _find_facets(self) -> None:
        self.facets = {i: facets_of(self.polyhedra, self.planes, i, self.probe) for i in self.solid}

    def first_error(self) -> Finding | None:
        """The first error that the examination comes to."""
        self._one_is_enough = True
        try:
            self.findings()
        except _Enough:
            return self.found[-1]
        return None

    def _keys(self) -> list[tuple[int, int]]:
        return list(zip(self.planes.number.tolist(), self.planes.side.tolist(), strict=True))

    def _add(self, kind: Kind, message: str, pieces: tuple[int, ...], point: NDArray[Any] | None, size: float) -> None:
        self.found.append(Finding(kind, "error", message, pieces, point, size))
        if self._one_is_enough:
            raise _Enough

    # --- pieces -----------------------------------------------------------------------------------------------

    def _flat(self, i: int) -> None:
        value, _ = self.probe.maximum(self.polyhedra[i], [0] * self.p.dim)
        kind: Kind = "empty piece" if value == -np.inf else "flat piece"
        text = "is empty" if kind == "empty piece" else "has no interior"
        self.found.append(Finding(kind, "note", f"piece {i} {text}; it is left out.", (i,), None, 0.0))

    def _boxes(self) -> None:
        """Bounding boxes in floats, a little wide: pieces whose boxes are apart do not meet."""
        n = self.p.dim
        self.low = np.full((self.p.num_pieces, n), -np.inf)
        self.high = np.full((self.p.num_pieces, n), np.inf)
        if n > 3 or len(self.solid) < 16:
            return
        for i in self.solid:
            self.low[i], self.high[i] = self.probe.box(self.polyhedra[i])

    def _apart(self, i: int, j: int, plane: int | None = None) -> bool:
        """A quick proof that two pieces do not overlap (with `plane`: not even in a facet on it)."""
        if (self.low[i] > self.high[j]).any() or (self.low[j] > self.high[i]).any():
            return True
        return any((h, -s) in self.sides[j] for h, s in self.sides[i] if h != plane)

    def _overlaps_at_centers(self, centers: NDArray[np.float64]) -> None:
        for i, x in zip(self.solid, centers, strict=True):
            for j in self._holding(x, -1e-9):
                if j != i:
                    self._overlap(min(i, j), max(i, j), x)

    def _holding(self, x: NDArray[np.float64], slack: float) -> list[int]:
        """The pieces with interior that hold a point, each row given a relative slack."""
        rows = self.polyhedra
        bad = rows.A @ x - rows.b > slack * (np.abs(rows.A) @ np.abs(x) + np.abs(rows.b))
        out = np.zeros(self.p.num_pieces, dtype=bool)
        np.logical_or.at(out, rows.owner, bad)
        return [int(j) for j in np.flatnonzero(~out) if self.inside[j] is not None]

    def _overlap(self, i: int, j: int, x: NDArray[Any]) -> None:
        if any(f.kind == "overlap" and f.pieces == (i, j) for f in self.found):
            return
        size, place = self.agreement.largest(i, j, self._common(i, j), x, self.probe)
        text = f"pieces {i} and {j} overlap"
        if size <= self.agreement.slack:
            message = f"{text} around x = {point_text(x)}, where their laws agree."
            self.found.append(Finding("overlap", "note", message, (i, j), x, float(size)))
            return
        message = f"{text}: at x = {point_text(place)} {self.agreement.text(i, j, place)}."
        self._add("overlap", message, (i, j), place, float(size))

    def _common(self, i: int, j: int) -> Polyhedron:
        both = self.polyhedra.take(np.array([i, j]))
        return Polyhedron(both.A, both.b, both.exact)

    # --- one hyperplane ---------------------------------------------------------------------------------------

    def _examine_plane(self, group: list[Facet]) -> list[Facet]:
        """Compares the two sides of one hyperplane; returns facets with a point that nothing covers."""
        plane = int(self.planes.number[group[0].row])
        sides = {s: [f for f in group if self.planes.side[f.row] == s] for s in (1, -1)}
        for side in sides.values():
            for k, a in enumerate(side):
                for b in side[k + 1 :]:
                    if not self._apart(a.piece, b.piece, plane):
                        self._same_side(a.piece, b.piece)
        for a in sides[1]:
            for b in sides[-1]:
                agree = self.agreement.on_plane(a.piece, b.piece, a.row)
                if not agree and not self._apart(a.piece, b.piece, plane):
                    self._opposite(a, b)
        outer = []
        for s, side in sides.items():
            for facet in side:
                near = [f.piece for f in sides[-s] if not self._apart(facet.piece, f.piece, plane)]
                point = self.cover.uncovered(facet, near)
                if point is not None:
                    outer.append(Facet(facet.piece, facet.row, point))
        return outer

    def _same_side(self, i: int, j: int) -> None:
        point = self.probe.interior(self._common(i, j))
        if point is not None:
            self._overlap(min(i, j), max(i, j), point)

    def _opposite(self, a: Facet, b: Facet) -> None:
        i, j = sorted((a.piece, b.piece))
        contact = self.cover.body(a, [b.piece])
        point = self.probe.interior(contact, on=[0])
        if point is None:
            return
        size, place = self.agreement.largest(i, j, self.cover.closed(contact), point, self.probe)
        if size <= self.agreement.slack:
            return
        advice = "" if self.exact else f" If your data is rounded, pass a larger `tol` than {self.p.tol:g}."
        message = (
            f"pieces {i} and {j} disagree on their common facet: at x = {point_text(place)} "
            f"{self.agreement.text(i, j, place)}.\n  The function is not continuous there.{advice}"
        )
        self._add("jump", message, (i, j), place, float(size))

    # --- the boundary -----------------------------------------------------------------------------------------

    def _examine_boundary(self, outer: list[Facet]) -> None:
        """Facets with nothing beyond must lie in the boundary of a convex domain."""
        domain = self.p.domain
        seen: set[tuple[int, int]] = set()
        keys = self._keys()
        for facet in outer:
            if self._inside_another(facet):
                continue
            if domain is not None:
                if not self._on_boundary(domain, facet.point):
                    message = (
                        f"there is a gap beyond piece {facet.piece}: nothing covers the other side of its facet at "
                        f"x = {point_text(facet.point)}, which is not on the boundary of the domain."
                    )
                    self._add("gap", message, (facet.piece,), facet.point, 0.0)
            elif keys[facet.row] not in seen:
                seen.add(keys[facet.row])
                self._check_convex(facet, keys[facet.row])
        if domain is not None and len(domain.b):
            self._check_inside(domain)

    def _inside_another(self, facet: Facet) -> bool:
        """Whether the uncovered point lies inside some other piece: then the pieces overlap."""
        for j in self._holding(np.asarray(facet.point, dtype=np.float64), 1e-9):
            i = facet.piece
            if j == i or self._apart(i, j):
                continue
            common = self.probe.interior(self._common(i, j))
            if common is not None:
                self._overlap(min(i, j), max(i, j), common)
                return True
        return False

    def _on_boundary(self, domain: Polyhedron, x: NDArray[Any]) -> bool:
        if self.exact:
            rows = domain.integer()
            return bool(((rows[:, :-1] * x).sum(axis=1) == rows[:, -1]).any())
        gap = np.abs(domain.A @ x - domain.b)
        return bool((gap <= 1e3 * self.p.tol * (np.abs(domain.A) @ np.abs(x) + np.abs(domain.b))).any())

    def _check_convex(self, facet: Facet, key: tuple[int, int]) -> None:
        """No piece may reach beyond the hyperplane of a boundary facet."""
        rows = self.polyhedra
        row = np.append(rows.A[facet.row], rows.b[facet.row]) if rows.exact is None else rows.exact[facet.row]
        for j in self.solid:
            if key in self.sides[j]:
                continue
            value, point = self.probe.maximum(rows[j], row[:-1])
            slack = 0 if self.exact else 1e3 * self.p.tol * (np.abs(row[:-1]) @ np.abs(point) + abs(row[-1]))
            if value > row[-1] + slack:
                far = np.asarray(self.inside[j]) if np.isinf(float(value)) else point
                message = (
                    f"the domain is not convex, or has a gap: nothing covers the other side of piece "
                    f"{facet.piece} at x = {point_text(facet.point)}, but piece {j} reaches beyond that facet, "
                    f"as far as {point_text(far)}."
                )
                self._add("domain not convex", message, (facet.piece, j), facet.point, 0.0)
                return

    def _check_inside(self, domain: Polyhedron) -> None:
        """No piece may stick out of the domain that was asserted."""
        rows = domain.integer() if self.exact else np.column_stack([domain.A, domain.b])
        for i in self.solid:
            answers = self.probe.maxima(self.polyhedra[i], [row[:-1] for row in rows])
            for row, (value, point) in zip(rows, answers, strict=True):
                slack = 0
                if not self.exact:
                    slack = 1e3 * self.p.tol * (np.abs(row[:-1]).max() * self.probe.unit + abs(row[-1]))
                if value > row[-1] + slack:
                    where = np.asarray(self.inside[i]) if np.isinf(float(value)) else point
                    message = (
                        f"piece {i} sticks out of the domain, at x = {point_text(where)}: "
                        f"leave `domain` out, or cut the piece."
                    )
                    self._add("outside domain", message, (i,), where, 0.0)
                    break
