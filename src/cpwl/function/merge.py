"""Fewer pieces for the same function: pieces of one law whose union is convex become one.

Let `P` and `Q` have interiors and lie on the two sides of a hyperplane `H`. Their union is convex iff every facet of
each, other than the one on `H`, bounds the other one, too. (If so, a point that satisfies all those rows is in `P` or
in `Q`, according to its side of `H`. If not, walk from inside a facet of `P` off `H` to a point of `Q` beyond it: the
way leaves `P` at once and is not yet in `Q`.) The union then has exactly those facets. It is the case without overlap
of Bemporad, Fukuda and Torrisi, "Convexity recognition of the union of polyhedra", 2001.

Which merges are made matters: five rectangles around a square may be stuck where a square cut along lines is not. So
hyperplanes are undone whole, while there is one across which all neighbours of one law merge, before any other merge
is made; pieces that were cut by hyperplanes in general position come back.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cpwl.function.components import label_maps
from cpwl.function.lineality import essential_coordinates, on_coordinates
from cpwl.function.parts import Mesh, Parts
from cpwl.geometry.facets import Facet, Hyperplanes, facets_of, hyperplanes, redundant_rows, rows_of
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.geometry.probe import Probe

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["Group", "merge", "plan_merge"]

_Key = tuple[int, int]  # a hyperplane, and a side of it or a component on it


@dataclass(frozen=True, slots=True)
class Group:
    """Pieces that become one, and the rows (of the stack of all pieces) that bound it."""

    members: tuple[int, ...]
    rows: tuple[int, ...]


def merge(p: CPWL) -> CPWL:
    """The same function in fewer pieces, or `p` itself if no two pieces can be merged.

    Exactly for exact data. For float data a row bounds a piece within `tol`, relative, and the law of the first
    piece stands for those of its component.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[1]], [[-1], [1]], [[-1]]], [[0], [0, 2], [-2]], [[0], [1], [1]], [0, 0, 0])
    >>> merge(p).num_pieces
    2
    """
    coordinates = essential_coordinates(p)
    small = p if len(coordinates) == p.dim else on_coordinates(p, coordinates)
    polyhedra = replace(small.polyhedra, exact=small.polyhedra.integer()) if p.tol == 0 else small.polyhedra
    planes, probe, component = hyperplanes(polyhedra, p.tol), Probe(p.tol), label_maps(p.component)
    facets: dict[int, list[Facet]] = {}
    # A loop over pieces: each takes linear programs of its own, unless it is a simplex.
    for i in _with_neighbours(polyhedra.owner, planes.number, planes.side, component):
        if p.mesh is not None:
            facets[i] = _facets_of_simplex(p.mesh, i)
        elif probe.interior(polyhedra[i]) is not None:
            facets[i] = facets_of(polyhedra, planes, i, probe)
    groups = plan_merge(polyhedra, planes, component, facets, probe, p.mesh)
    return _merged(p, groups) if groups else p


def plan_merge(
    polyhedra: Polyhedra,
    planes: Hyperplanes,
    component: NDArray[np.int64],
    facets: dict[int, list[Facet]],
    probe: Probe,
    mesh: Mesh | None = None,
) -> list[Group]:
    """The groups of two and more pieces that become one, by their first members.

    `facets` has those of every piece that may be merged. For exact data the stack must carry its integers.
    """
    every = np.array([(f.piece, f.row) for found in facets.values() for f in found], dtype=np.int64).reshape(-1, 2)
    owner, row = every.T
    bodies = {}
    for i in _with_neighbours(owner, planes.number[row], planes.side[row], component):
        own = {(int(planes.number[f.row]), int(planes.side[f.row])): f for f in facets[i]}
        loose = frozenset[int]()
        if probe.tol:
            redundant = {r for r, _ in redundant_rows(polyhedra, planes, facets[i], probe)}
            rows = range(int(polyhedra.start[i]), int(polyhedra.start[i + 1]))
            loose = frozenset(rows) - redundant - {f.row for f in facets[i]}
        corners = None if mesh is None else mesh.simplices[i]
        bodies[i] = _Body((i,), own, loose, corners)
    return _Merger(polyhedra, planes, component, bodies, probe, mesh).run()


def _with_neighbours(
    owner: NDArray[np.int64], number: NDArray[np.int64], side: NDArray[np.int64], component: NDArray[np.int64]
) -> list[int]:
    """The pieces with a row on a hyperplane that has a row of the same component on its other side."""
    place = number * (component.max(initial=0) + 1) + component[owner]
    both = np.intersect1d(place[side > 0], place[side < 0])
    return [int(i) for i in np.unique(owner[np.isin(place, both)])]


def _facets_of_simplex(mesh: Mesh, i: int) -> list[Facet]:
    """All rows of a simplex are facets, row `k` the one without corner `k`."""
    size = mesh.simplices.shape[1]
    points = mesh.points[mesh.simplices[i]]
    middle = (points.sum(axis=0) - points) / (size - 1)
    return [Facet(i, i * size + k, middle[k]) for k in range(size)]


def _merged(p: CPWL, groups: list[Group]) -> CPWL:
    """The function with each group as one piece, in the place of its first member."""
    start = p.polyhedra.start
    rows = {i: np.arange(start[i], start[i + 1]) for i in range(p.num_pieces)}
    for group in groups:
        rows[group.members[0]] = np.array(group.rows, dtype=np.int64)
        for i in group.members[1:]:
            del rows[i]
    chosen = np.concatenate(list(rows.values())).astype(np.int64)
    lengths = [len(r) for r in rows.values()]
    exact = None if p.polyhedra.exact is None else p.polyhedra.exact[chosen]
    polyhedra = Polyhedra(p.polyhedra.A[chosen], p.polyhedra.b[chosen], np.cumsum([0, *lengths], dtype=np.int64), exact)
    laws = p.laws.take(np.array(list(rows), dtype=np.int64))
    return type(p)._from_parts(Parts(polyhedra, laws, p.domain, p.tol))


@dataclass(frozen=True, slots=True, eq=False)
class _Body:
    """A piece, or pieces that were merged."""

    members: tuple[int, ...]
    facets: dict[_Key, Facet]
    loose: frozenset[int]
    """Float data: rows that cut something off, but in no facet large enough to be seen."""
    corners: NDArray[np.int64] | None
    """Points of the mesh whose convex hull it is, if there is a mesh."""

    def rows(self) -> list[int]:
        return sorted({f.row for f in self.facets.values()} | self.loose)


class _Merger:
    """The bodies so far, and for each hyperplane and component the bodies with facets on its two sides."""

    def __init__(
        self,
        polyhedra: Polyhedra,
        planes: Hyperplanes,
        component: NDArray[np.int64],
        bodies: dict[int, _Body],
        probe: Probe,
        mesh: Mesh | None,
    ) -> None:
        self.polyhedra, self.planes, self.component = polyhedra, planes, component
        self.bodies, self.probe, self.mesh = bodies, probe, mesh
        self.next = len(polyhedra)
        self.on: dict[_Key, dict[int, set[int]]] = defaultdict(lambda: {1: set(), -1: set()})
        for i, body in bodies.items():
            self._enter(i, body)
        # What is still to be tried: whole hyperplanes first, then single merges.
        self.whole = {place for place, sides in self.on.items() if sides[1] and sides[-1]}
        self.single = set(self.whole)
        self.refused: set[tuple[int, int]] = set()

    def run(self) -> list[Group]:
        while self._undo_hyperplanes() or self._merge_some():
            pass
        merged = [body for body in self.bodies.values() if len(body.members) > 1]
        return sorted((Group(body.members, tuple(body.rows())) for body in merged), key=lambda g: g.members)

    def _undo_hyperplanes(self) -> bool:
        """Merges across hyperplanes across which everything of one law can be merged."""
        changed = False
        while self.whole:
            places = sorted(self.whole)
            self.whole.clear()
            for place in places:
                pairs = self._touching(place)
                if pairs and all(self._is_convex(a, b, place[0]) for a, b in pairs):
                    changed = True
                    for a, b in pairs:
                        self._join(a, b, place)
        return changed

    def _merge_some(self) -> bool:
        """Merges what can be merged across the first hyperplane where anything can."""
        for place in sorted(self.single):
            self.single.discard(place)
            pairs = [(a, b) for a, b in self._touching(place) if self._is_convex(a, b, place[0])]
            for a, b in pairs:
                self._join(a, b, place)
            if pairs:
                return True
        return False

    def _touching(self, place: _Key) -> list[tuple[int, int]]:
        """Bodies on the two sides of a hyperplane, of which one has roughly the facet's point of the other."""
        one, two = (sorted(self.on[place][side]) for side in (1, -1))
        if not one or not two:
            return []
        there = self._holding(two, one, (place[0], 1)) | self._holding(one, two, (place[0], -1)).T
        return [(one[i], two[j]) for i, j in np.argwhere(there)]

    def _holding(self, hold: list[int], ask: list[int], key: _Key) -> NDArray[np.bool_]:
        """``[i, j]``: whether body `hold[j]` has, roughly, the point of body `ask[i]` on a hyperplane."""
        points = np.array([np.asarray(self.bodies[i].facets[key].point, dtype=np.float64) for i in ask])
        rows = [self.bodies[j].rows() for j in hold]
        stack = np.concatenate(rows).astype(np.int64)
        A, b = self.polyhedra.A[stack], self.polyhedra.b[stack]
        rough = max(1e-7, 10 * self.probe.tol)
        bad = points @ A.T - b > rough * (np.abs(points) @ np.abs(A).T + np.abs(b))
        start = np.cumsum([0] + [len(r) for r in rows[:-1]])
        return np.asarray(~np.logical_or.reduceat(bad, start, axis=1))

    def _is_convex(self, a: int, b: int, plane: int) -> bool:
        """Whether the union of two bodies on the two sides of a hyperplane is convex."""
        if (a, b) in self.refused:
            return False
        one, two = self.bodies[a], self.bodies[b]
        if self._bounds(one, two, plane) and self._bounds(two, one, plane):
            return True
        self.refused.add((a, b))
        return False

    def _bounds(self, one: _Body, two: _Body, plane: int) -> bool:
        """Whether all rows of one body, but for those on the hyperplane, hold on the other."""
        number, side = self.planes.number, self.planes.side
        rows = [r for r in one.rows() if number[r] != plane and (number[r], side[r]) not in two.facets]
        if any((number[r], -side[r]) in two.facets for r in rows):
            return False
        A, b = self.polyhedra.A[rows], self.polyhedra.b[rows]
        points = self._points(two)
        far = np.abs(A).sum(axis=1) * (1 + np.abs(points).max(initial=0.0)) + np.abs(b)
        if (points @ A.T - b > max(1e-9, 2 * self.probe.tol) * far).any():
            return False
        if self.mesh is not None:
            corners, left = self.mesh.corners[two.corners], self.polyhedra.integer()[rows]
            return bool((corners[:, :-1] @ left[:, :-1].T <= corners[:, -1:] * left[:, -1]).all())
        return self.probe.bounds(rows_of(self.polyhedra, two.rows()), rows_of(self.polyhedra, rows))

    def _points(self, body: _Body) -> NDArray[np.float64]:
        """Points of a body that refute most rows quickly."""
        if self.mesh is not None:
            return self.mesh.points[body.corners]
        points = [np.asarray(f.point, dtype=np.float64) for f in body.facets.values()]
        return np.array(points).reshape(-1, self.polyhedra.dim)

    def _join(self, a: int, b: int, place: _Key) -> None:
        """Replaces two bodies by their union, unless one of them is gone already."""
        if a not in self.bodies or b not in self.bodies:
            return
        one, two = self._leave(a), self._leave(b)
        facets = dict(one.facets)
        for key, facet in two.facets.items():
            if key not in facets or facet.row < facets[key].row:
                facets[key] = facet
        facets = {key: facet for key, facet in facets.items() if key[0] != place[0]}
        members = tuple(sorted(one.members + two.members))
        joined = _Body(members, facets, one.loose | two.loose, self._corners(one, two, facets))
        self.bodies[self.next] = joined
        self._enter(self.next, joined)
        self.next += 1
        places = {(h, place[1]) for h, _ in facets}
        self.whole |= places
        self.single |= places

    def _corners(self, one: _Body, two: _Body, facets: dict[_Key, Facet]) -> NDArray[np.int64] | None:
        """The corners of a union; those on fewer rows than there are dimensions are inside a face."""
        if self.mesh is None or one.corners is None or two.corners is None:
            return None
        corners = np.union1d(one.corners, two.corners)
        rows = [f.row for f in facets.values()]
        A, b, x = self.polyhedra.A[rows], self.polyhedra.b[rows], self.mesh.points[corners]
        tight = np.abs(x @ A.T - b) <= 1e-9 * (np.abs(x) @ np.abs(A).T + np.abs(b))
        return np.asarray(corners[tight.sum(axis=1) >= self.polyhedra.dim])

    def _enter(self, i: int, body: _Body) -> None:
        for h, s in body.facets:
            self.on[h, int(self.component[body.members[0]])][s].add(i)

    def _leave(self, i: int) -> _Body:
        body = self.bodies.pop(i)
        for h, s in body.facets:
            self.on[h, int(self.component[body.members[0]])][s].discard(i)
        return body
