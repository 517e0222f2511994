"""Which pieces of one law have a convex union?

Pieces with interiors that do not overlap have a convex union iff each of their facets bounds all of them or is covered
by others of them; the union is then bounded by the facets of the first kind. (For two pieces this is the test of
Bemporad, Fukuda and Torrisi, "Convexity recognition of the union of polyhedra", 2001. In general: leave the union
across a facet that is not wholly covered, towards a member beyond it.) So whatever convex union holds two pieces also
holds everything on the other side of each facet that does not bound both: what must be added, again and again, is
known, and the least convex union of two neighbours is found, or there is none. If there is none, there never will be.

Which merges are made matters where the region of a law is not convex. Two orders are tried: large unions first; and
before that hyperplanes undone whole, while there is one across which all neighbours of one law merge, because pieces
that were cut by hyperplanes come back in this way.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.function.merge.contacts import Contacts, Key
from cpwl.geometry.facets import Facet, Hyperplanes, rows_of
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.geometry.probe import Probe
from cpwl.geometry.spans import Spans

__all__ = ["Body", "Group", "Merger"]

_MOST = 256  # bodies in a least union; finding it takes the square of that
_MANY = 4096  # neighbours up to which more than two bodies are merged at once


@dataclass(frozen=True, slots=True)
class Group:
    """Pieces that become one, and the rows (of the stack of all pieces) that bound it."""

    members: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A piece, or pieces that were merged."""

    members: tuple[int, ...]
    facets: dict[Key, Facet]
    loose: frozenset[int]
    """Float data: rows that cut something off, but in no facet large enough to be seen."""
    corners: NDArray[np.int64] | None
    """The places that span it, where they are known."""

    def rows(self) -> list[int]:
        return sorted({f.row for f in self.facets.values()} | self.loose)


class Merger:
    """The bodies so far, by numbers of their own, and for each piece the body that it is in."""

    def __init__(
        self,
        polyhedra: Polyhedra,
        planes: Hyperplanes,
        contacts: Contacts,
        bodies: dict[int, Body],
        probe: Probe,
        spans: Spans | None,
    ) -> None:
        self.polyhedra, self.planes, self.contacts = polyhedra, planes, contacts
        self.bodies, self.probe, self.spans = bodies, probe, spans
        self.body_of = {i: i for i in bodies}
        self.next = len(polyhedra)
        self._points = {i: self._points_of(body) for i, body in bodies.items()}
        self._known: dict[tuple[int, int], bool] = {}  # whether a row bounds a body
        self._refused: set[tuple[int, int]] = set()

    def run(self) -> list[Group]:
        """Merges what can be merged: whole regions, then in two orders of which the better one is kept."""
        for region in self.contacts.regions():
            self._join(self._union(region, len(region)))
        before, place = self.bodies, self.body_of
        outcomes = []
        for whole in (True, False):
            self.bodies, self.body_of = dict(before), dict(place)
            undone = False
            while whole and self._undo_hyperplanes():
                undone = True
            self._merge_the_rest()
            outcomes.append(self.bodies)
            if whole and not undone:  # the other order is the same
                break
        merged = [body for body in min(outcomes, key=len).values() if len(body.members) > 1]
        return sorted((Group(body.members, tuple(body.rows())) for body in merged), key=lambda g: g.members)

    def _undo_hyperplanes(self) -> bool:
        """Merges pairs across hyperplanes across which all neighbours of one law merge."""
        changed = False
        for edges in self.contacts.edges:
            pairs = self._pairs(edges)
            if not pairs or not self._refused.isdisjoint(pairs):
                continue
            unions = []
            for pair in pairs:
                union = self._union(pair, 2)
                if union is None:
                    self._refused.add(pair)
                    break
                unions.append(union)
            else:
                changed = True
                for union in unions:
                    self._join(union)
        return changed

    def _merge_the_rest(self) -> None:
        """Merges least convex unions of neighbours, large ones first. What has none now will never have one."""
        edges = [edge for edges in self.contacts.edges for edge in edges]
        most = _MOST if len(edges) <= _MANY else 2
        unions = {pair: self._union(pair, most) for pair in self._pairs(edges)}
        sizes = {pair: len(union[0]) for pair, union in unions.items() if union is not None}
        first = {a: self.bodies[a].members[0] for pair in sizes for a in pair}
        for a, b in sorted(sizes, key=lambda pair: (-sizes[pair], pair)):
            for pair in self._pairs([(first[a], first[b])]):
                self._join(self._union(pair, most))

    def _pairs(self, edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The bodies that the pieces are in, where they are two."""
        pairs = {(self.body_of[i], self.body_of[j]) for i, j in edges}
        return sorted((a, b) for a, b in pairs if a != b)

    # --- the least convex union -------------------------------------------------------------------------------

    def _union(self, start: Sequence[int], most: int) -> tuple[list[int], set[Key]] | None:
        """The least convex union of bodies with those given in it, and the sides that do not bound it.

        None if there is none, or it takes more than `most` bodies.
        """
        members, inner, seen = list(start), set[Key](), 0
        bounding: dict[Key, int] = {}  # a row for each side that bounds all members seen so far
        while True:
            rows, fresh = self._rows(members[seen:], inner, bounding), members[seen:]
            refuted = self._refuted(bounding, fresh) | self._refuted(rows, members)
            if self._beyond(members, refuted, sure=False) is None:
                return None
            inner |= refuted
            inner |= self._failing({k: r for k, r in bounding.items() if k not in inner}, fresh)
            inner |= self._failing({k: r for k, r in rows.items() if k not in inner}, members)
            bounding = {k: r for k, r in (bounding | rows).items() if k not in inner}
            beyond = self._beyond(members, inner, sure=True)
            if beyond is None or not self._loose_rows_hold(members):
                return None
            seen = len(members)
            members += sorted(beyond - set(members))
            if len(members) == seen:
                return members, inner
            if len(members) > most:
                return None

    def _rows(self, members: list[int], *known: Container[Key]) -> dict[Key, int]:
        """The first row for each side of a hyperplane that members lie on and that is not known yet."""
        rows: dict[Key, int] = {}
        for i in members:
            for key, facet in self.bodies[i].facets.items():
                if key not in rows:
                    if not any(key in keys for keys in known):
                        rows[key] = facet.row
                elif facet.row < rows[key]:
                    rows[key] = facet.row
        return rows

    def _beyond(self, members: list[int], inner: set[Key], *, sure: bool) -> set[int] | None:
        """All bodies across facets on the given sides; None where something else is there, too.

        Without `sure` only facets that have no neighbour at all are found out.
        """
        found = set[int]()
        for i in members:
            for key in inner.intersection(self.bodies[i].facets):
                for piece in self.bodies[i].members:
                    if key not in self.contacts.facets[piece]:
                        continue
                    near = self.contacts.neighbours.get((piece, key))
                    if near is None or (sure and not self.contacts.is_covered(piece, key)):
                        return None
                    found.update(self.body_of[j] for j in near)
        return found

    def _refuted(self, rows: dict[Key, int], members: list[int]) -> set[Key]:
        """The sides that a known point, or a facet on the other side, shows not to bound all members."""
        found = {(h, s) for h, s in rows if any((h, -s) in self.bodies[i].facets for i in members)}
        left = [key for key in rows if key not in found]
        if not left or all(self.bodies[i].corners is not None for i in members):  # corners decide all of it below
            return found
        points = np.concatenate([self._points[i] for i in members])
        reach = np.abs(points[:, :-1]).max(axis=1, keepdims=True, initial=0.0)
        which = [rows[key] for key in left]
        A, b = self.polyhedra.A[which], self.polyhedra.b[which]
        margin = max(1e-9, 2 * self.probe.tol)
        for first in range(0, len(left), 64):
            a, c = A[first : first + 64], b[first : first + 64]
            far = np.abs(a).sum(axis=1) * (points[:, -1:] + reach) + np.abs(c) * points[:, -1:]
            wrong = (points[:, :-1] @ a.T - c * points[:, -1:] > margin * far).any(axis=0)
            found |= {left[first + int(k)] for k in np.flatnonzero(wrong)}
        return found

    def _failing(self, rows: dict[Key, int], members: list[int]) -> set[Key]:
        """The sides of rows that do not hold on members: exactly, or within the tolerance of float data."""
        if not rows:
            return set()
        spanned = [i for i in members if self.bodies[i].corners is not None]
        failing = self._cut_off(rows, spanned) if spanned else set()
        others = [i for i in members if self.bodies[i].corners is None]
        for key, row in rows.items():
            asked = (i for i in others if key not in self.bodies[i].facets)
            if key not in failing and not all(self._bounds(row, i) for i in asked):
                failing.add(key)
        return failing

    def _cut_off(self, rows: dict[Key, int], members: list[int]) -> set[Key]:
        """The rows that do not hold at some corner or along some ray; integers decide where floats cannot tell."""
        assert self.spans is not None
        keys, which = list(rows), list(rows.values())
        corners, owner = self._places(members)
        a, c, places = self.polyhedra.A[which], self.polyhedra.b[which], self.spans.view[corners]
        value = places[:, :-1] @ a.T - places[:, -1:] * c
        if self.probe.tol:
            size = self.probe.unit * places[:, -1:] + np.abs(places[:, :-1]).max(axis=1, keepdims=True)
            beyond = value > self.probe.tol * np.abs(a).sum(axis=1) * size
        else:
            beyond = value > -1e-9 * (np.abs(a).sum(axis=1) + np.abs(c))
        # A facet of a member bounds it.
        own = np.array([[key in self.bodies[i].facets for key in keys] for i in members])
        beyond &= ~own[owner]
        if not self.probe.tol and beyond.any():
            assert self.spans.exact is not None
            assert self.polyhedra.exact is not None
            place, row = np.nonzero(beyond)
            at, exact = self.spans.exact[corners[place]], self.polyhedra.exact[np.array(which)[row]]
            wrong = (at[:, :-1] * exact[:, :-1]).sum(axis=1) > at[:, -1] * exact[:, -1]
            beyond[place, row] = wrong.astype(bool)
        return {keys[k] for k in np.flatnonzero(beyond.any(axis=0))}

    def _places(self, members: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places that span members, and the member of each."""
        every = [c for i in members if (c := self.bodies[i].corners) is not None]
        return np.concatenate(every), np.repeat(np.arange(len(every)), [len(c) for c in every])

    def _bounds(self, row: int, i: int) -> bool:
        if (row, i) not in self._known:
            whole = rows_of(self.polyhedra, self.bodies[i].rows())
            self._known[row, i] = self.probe.bounds(whole, rows_of(self.polyhedra, [row]))
        return self._known[row, i]

    def _loose_rows_hold(self, members: list[int]) -> bool:
        loose = {row for i in members for row in self.bodies[i].loose}
        return all(self._bounds(row, i) for row in loose for i in members)

    # --- bodies -----------------------------------------------------------------------------------------------

    def _join(self, union: tuple[list[int], set[Key]] | None) -> None:
        """Replaces bodies by their convex union, if there is one."""
        if union is None:
            return
        bodies = [self.bodies.pop(i) for i in union[0]]
        facets: dict[Key, Facet] = {}
        for body in bodies:
            for key, facet in body.facets.items():
                if key not in union[1] and (key not in facets or facet.row < facets[key].row):
                    facets[key] = facet
        members = tuple(sorted(i for body in bodies for i in body.members))
        loose = frozenset(row for body in bodies for row in body.loose)
        joined = Body(members, facets, loose, self._corners_of(bodies, facets))
        self.bodies[self.next] = joined
        self._points[self.next] = self._points_of(joined)
        self.body_of.update(dict.fromkeys(members, self.next))
        self.next += 1

    def _points_of(self, body: Body) -> NDArray[np.float64]:
        """Points of a body, and rays, that refute most rows quickly: in homogeneous coordinates."""
        if body.corners is not None:
            assert self.spans is not None
            return np.asarray(self.spans.view[body.corners])
        points = np.array([np.asarray(f.point, dtype=np.float64) for f in body.facets.values()])
        points = points.reshape(-1, self.polyhedra.dim)
        return np.column_stack([points, np.ones(len(points))])

    def _corners_of(self, bodies: list[Body], facets: dict[Key, Facet]) -> NDArray[np.int64] | None:
        """What spans a union; places on fewer rows than there are dimensions are inside a face."""
        every = [body.corners for body in bodies if body.corners is not None]
        if len(every) < len(bodies):
            return None
        assert self.spans is not None
        corners = np.unique(np.concatenate(every))
        rows = [f.row for f in facets.values()]
        A, b, x = self.polyhedra.A[rows], self.polyhedra.b[rows], self.spans.view[corners]
        tight = np.abs(x[:, :-1] @ A.T - x[:, -1:] * b) <= 1e-9 * (np.abs(A).sum(axis=1) + np.abs(b))
        return np.asarray(corners[tight.sum(axis=1) + (x[:, -1] == 0) >= self.spans.rank])
