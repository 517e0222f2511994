"""Fewer pieces for the same function: pieces of one law whose union is convex become one."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import method_of
from cpwl.exact.integers import linked, sides, unit_view
from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL, generators_of
from cpwl.function.form import Hulls, TooManyFaces, chains, facet_twins, hulls, unique_rows
from cpwl.function.form import facets as facets_by_corners
from cpwl.function.lineality import divided
from cpwl.function.parts import Parts, label_maps
from cpwl.geometry.facets import Facet, FacetCover, Hyperplanes, facets_of, hyperplanes, redundant_rows, rows_of
from cpwl.geometry.generators import Generators, generators
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, ranges
from cpwl.geometry.probe import Probe

# Which pieces of one law touch across a facet, and do they cover it?


Key = tuple[int, int]
"""A hyperplane and the side of it that a row allows."""


class Contacts:
    """Contacts between pieces with one label: each facet's neighbours, and whether they cover all of it.

    `facets` has those of every piece that counts. For exact data the stack must carry its integers. `twins` has for
    rows the piece with the same facet on the other side, as far as it is known: they touch without a question.
    Everything else is asked of linear programs, though only where hyperplane and label are the same; not even that if
    `all_known`.
    """

    def __init__(
        self,
        polyhedra: Polyhedra,
        planes: Hyperplanes,
        label: NDArray[np.int64],
        facets: dict[int, list[Facet]],
        probe: Probe,
        twins: dict[int, int],
        *,
        all_known: bool,
    ) -> None:
        self.all_known = all_known
        self.cover = FacetCover(polyhedra, planes, probe)
        self.probe = probe
        self.facets: dict[int, dict[Key, Facet]] = {
            i: {(int(planes.number[f.row]), int(planes.side[f.row])): f for f in own} for i, own in facets.items()
        }
        self.neighbours: dict[tuple[int, Key], set[int]] = defaultdict(set)
        self.edges: list[list[tuple[int, int]]] = []
        """Pairs of pieces that touch, in one list for each hyperplane and label."""
        self._whole: dict[tuple[int, Key], bool] = {}
        place: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(lambda: {1: [], -1: []})
        for i, own in self.facets.items():
            for h, s in own:
                place[h, int(label[i])][s].append(i)
        for (h, _), both in sorted(place.items()):
            if both[1] and both[-1]:
                self._meet(h, both[1], both[-1], twins)
                self.edges.append([(i, j) for i in both[1] for j in sorted(self.neighbours.get((i, (h, 1)), ()))])

    def regions(self) -> list[list[int]]:
        """The pieces in connected sets of two and more."""
        pairs = np.array([edge for edges in self.edges for edge in edges], dtype=np.int64).reshape(-1, 2)
        pieces, place = np.unique(pairs, return_inverse=True)
        region = linked(place.reshape(-1, 2), len(pieces))
        order = np.argsort(region, kind="stable")
        ends = np.flatnonzero(np.diff(region[order])) + 1
        return [part.tolist() for part in np.split(pieces[order], ends) if len(part)]

    def is_covered(self, i: int, key: Key) -> bool:
        """Whether the neighbours of a facet cover all of it."""
        if (i, key) not in self._whole:
            near = sorted(self.neighbours.get((i, key), ()))
            self._whole[i, key] = bool(near) and self.cover.uncovered(self.facets[i][key], near) is None
        return self._whole[i, key]

    def _meet(self, h: int, one: list[int], two: list[int], twins: dict[int, int]) -> None:
        """Finds the contacts between pieces on the two sides of one hyperplane."""
        left, there = [], set(two)
        for i in one:
            j = twins.get(self.facets[i][h, 1].row)
            if j is not None and j in there:
                self._touch(h, i, j)
                self._whole[i, (h, 1)] = self._whole[j, (h, -1)] = True
            else:
                left.append(i)
        right = [j for j in two if (j, (h, -1)) not in self._whole]
        if left and right and not self.all_known:
            for i, j in itertools.product(left, right):
                if not self._apart(i, j, h) and self.cover.touches(self.facets[i][h, 1], j):
                    self._touch(h, i, j)

    def _touch(self, h: int, i: int, j: int) -> None:
        self.neighbours[i, (h, 1)].add(j)
        self.neighbours[j, (h, -1)].add(i)

    def _apart(self, i: int, j: int, h: int) -> bool:
        """Whether another hyperplane has the two on its two sides, too: then they share no facet."""
        return any((g, -s) in self.facets[j] for g, s in self.facets[i] if g != h)


def facets_by_rays(polyhedra: Polyhedra, i: int, inner: NDArray[Any]) -> list[Facet]:
    """All rows as facets, where each is known to be one; the points are of the polyhedron, where a ray along the normal
    from the point inside leaves it, and need not be on that facet.
    """
    rows = slice(int(polyhedra.start[i]), int(polyhedra.start[i + 1]))
    A, b, x = polyhedra.A[rows], polyhedra.b[rows], np.asarray(inner, dtype=np.float64)
    speed, room = A @ A.T, np.maximum(b - A @ x, 0.0)
    with np.errstate(all="ignore"):
        length = np.where(speed > 0, room[:, None] / speed, np.inf).min(axis=0, initial=np.inf)
    points = x + np.where(np.isfinite(length), length, 0.0)[:, None] * A
    return [Facet(i, r, point) for r, point in zip(range(rows.start, rows.stop), points, strict=True)]


# Which pieces of one law have a convex union?
#
# Pieces with interiors that do not overlap have a convex union iff each of their facets bounds all of them or is
# covered by others of them; the union is then bounded by the facets of the first kind. (For two pieces this is the test
# of Bemporad, Fukuda and Torrisi, "Convexity recognition of the union of polyhedra", 2001. In general: leave the union
# across a facet that is not wholly covered, towards a member beyond it.) So whatever convex union holds two pieces also
# holds everything on the other side of each facet that does not bound both: what must be added, again and again, is
# known, and the least convex union of two neighbours is found, or there is none. If there is none, there never will be.
#
# Which merges are made matters where the region of a law is not convex. Two orders are tried: large unions first; and
# before that hyperplanes undone whole, while there is one across which all neighbours of one law merge, because pieces
# that were cut by hyperplanes come back in this way.


_MOST = 256  # bodies in a least union; finding it takes the square of that
_MANY = 4096  # neighbours up to which more than two bodies are merged at once


@dataclass(frozen=True, slots=True)
class Group:
    """Pieces that become one, and the rows (of the stack of all pieces) that bound it."""

    members: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
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
        bodies: dict[int, Merged],
        probe: Probe,
        spans: Generators | None,
    ) -> None:
        self.polyhedra, self.planes, self.contacts = polyhedra, planes, contacts
        self.bodies, self.probe = bodies, probe
        places: NDArray[Any] = np.zeros((0, polyhedra.dim + 1), dtype=object) if spans is None else spans.places
        self.places, self.view = places, unit_view(places) if places.dtype == object else places
        self.body_of = {i: i for i in bodies}
        self.next = len(polyhedra)
        self._known: dict[tuple[int, int], bool] = {}  # whether a row bounds a body
        self._refused: set[tuple[int, int]] = set()
        self._apart: dict[int, set[int]] = defaultdict(set)  # bodies without a least union: there never will be one

    def run(self) -> list[Group]:
        """Merges what can be merged: whole regions, then in two orders of which the better one is kept."""
        for region in self.contacts.regions():
            self._join(self._union(region, len(region)))
        before, place = dict(self.bodies), dict(self.body_of)
        self._merge_the_rest()
        best = self.bodies
        self.bodies, self.body_of = before, place
        undone = False
        while self._undo_hyperplanes():
            undone = True
        if undone:  # else the other order is the same
            self._merge_the_rest()
            best = min(self.bodies, best, key=len)
        merged = [body for body in best.values() if len(body.members) > 1]
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
        sizes = dict[tuple[int, int], int]()
        for pair in self._pairs(edges):
            union = self._union(pair, most)
            if union is None:
                self._keep_apart(*pair)
            else:
                sizes[pair] = len(union[0])
        first = {a: self.bodies[a].members[0] for pair in sizes for a in pair}
        for a, b in sorted(sizes, key=lambda pair: (-sizes[pair], pair)):
            for pair in self._pairs([(first[a], first[b])]):
                self._join(self._union(pair, most))

    def _keep_apart(self, one: int, two: int) -> None:
        self._apart[one].add(two)
        self._apart[two].add(one)

    def _pairs(self, edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The bodies that the pieces are in, where they are two."""
        pairs = {(self.body_of[i], self.body_of[j]) for i, j in edges}
        return sorted((a, b) for a, b in pairs if a != b)

    # --- the least convex union -------------------------------------------------------------------------------

    def _union(self, start: Sequence[int], most: int) -> tuple[list[int], set[Key]] | None:
        """The least convex union of bodies with those given in it, and the sides that do not bound it.

        None if there is none, or it takes more than `most` bodies. What holds two bodies that have no least union has
        none itself.
        """
        members, inner, seen = list(start), set[Key](), 0
        bounding: dict[Key, int] = {}  # a row for each side that bounds all members seen so far
        held = set[int]()
        while True:
            fresh = members[seen:]
            held.update(fresh)
            if not all(held.isdisjoint(self._apart.get(i, ())) for i in fresh):
                return None
            rows = self._rows(fresh, inner, bounding)
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
        """The sides that a facet on the other side shows not to bound all members."""
        return {(h, s) for h, s in rows if any((h, -s) in self.bodies[i].facets for i in members)}

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
        keys, which = list(rows), list(rows.values())
        corners, owner = self._places(members)
        a, c, places = self.polyhedra.A[which], self.polyhedra.b[which], self.view[corners]
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
            assert self.polyhedra.exact is not None
            place, row = np.nonzero(beyond)
            at, exact = self.places[corners[place]], self.polyhedra.exact[np.array(which)[row]]
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
        self.bodies[self.next] = Merged(members, facets, loose, self._corners_of(bodies, facets))
        self.body_of.update(dict.fromkeys(members, self.next))
        for i in union[0]:
            for j in self._apart.get(i, ()):
                self._keep_apart(self.next, j)
        self.next += 1

    def _corners_of(self, bodies: list[Merged], facets: dict[Key, Facet]) -> NDArray[np.int64] | None:
        """What spans a union; places on fewer rows than its rows have directions are inside a face.

        A union of pieces without lines may contain lines, and then no corner: its least faces are on fewer rows. The
        number of directions is taken rather too small, which keeps a place too many.
        """
        every = [body.corners for body in bodies if body.corners is not None]
        if len(every) < len(bodies):
            return None
        corners = np.unique(np.concatenate(every))
        rows = [f.row for f in facets.values()]
        A, b, x = self.polyhedra.A[rows], self.polyhedra.b[rows], self.view[corners]
        tight = np.abs(x[:, :-1] @ A.T - x[:, -1:] * b) <= 1e-9 * (np.abs(A).sum(axis=1) + np.abs(b))
        directions = np.linalg.matrix_rank(A / np.abs(A).max(axis=1, keepdims=True), tol=1e-6) if rows else 0
        return np.asarray(corners[tight.sum(axis=1) + (x[:, -1] == 0) >= directions])


# Whole unions at once, by the normal form: no linear program, and no pair of pieces is looked at.


_INPUTS = 4  # a simplex has (n + 1)! flags
_FLAGS = 5_000_000  # of all types of pieces, about
_SIGNS = 1 << 23  # of places and hyperplanes of one union: beyond, pieces are merged step by step


def whole_unions(polyhedra: Polyhedra, label: NDArray[np.int64], which: NDArray[np.int64], stack: Hulls) -> list[Group]:
    """Those of the pieces given that become one, where all that hang together have a convex union; `stack` is theirs.

    Theorem. Add up the chains of faces of pieces with one label (`cpwl.function.form`). If no union of facets that does
    not cancel is on a hyperplane with pieces on both sides, then the pieces cover the convex set between those
    hyperplanes equally often: once, if the sums are 1 and -1. (The number of pieces over a point changes only where
    facets do not cancel.)
    """
    if polyhedra.dim > _INPUTS or not len(stack.piece):
        return []
    try:
        found = chains(stack, _FLAGS)
    except TooManyFaces:
        return []
    flag = np.flatnonzero(found.row >= 0)
    part, row, piece = found.part[flag], found.row[flag], which[stack.piece]
    key = unique_rows(np.column_stack([found.flats[flag], label[piece][part]]))[1]
    total = np.bincount(key, weights=found.sign[flag]).astype(np.int64)[key]
    size = len(piece) + int(key.max(initial=-1)) + 1
    union = linked(np.stack([part, len(piece) + key], axis=1), size)[: len(piece)]
    good = np.bincount(union, minlength=size) > 1
    good[union[part[np.abs(total) > 1]]] = False
    good[np.bincount(union[found.part[found.row < 0]], minlength=size) > 1] = False  # two hold the end of all space
    left = (total != 0) & good[union[part]]
    walls, first = np.unique(
        np.stack([union[part[left]], stack.planes.number[row[left]]], axis=1), axis=0, return_index=True
    )
    good &= _hold_all(stack, union, walls, good)
    origin = ranges(polyhedra.start[piece], np.diff(polyhedra.start)[piece])[0]
    bounds = origin[row[left][first]]
    order = np.argsort(union, kind="stable")
    groups = []
    for own in np.split(order, np.flatnonzero(np.diff(union[order])) + 1):
        if good[union[own[0]]]:
            a, b = np.searchsorted(walls[:, 0], [union[own[0]], union[own[0]] + 1])
            groups.append(Group(tuple(sorted(piece[own].tolist())), tuple(sorted(bounds[a:b].tolist()))))
    return sorted(groups, key=lambda group: group.members)


def _hold_all(
    stack: Hulls, union: NDArray[np.int64], walls: NDArray[np.int64], good: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which unions have all their places on one side of each of their walls ``(union, hyperplane)``."""
    owner = np.repeat(np.arange(len(union)), np.diff(stack.start))
    line = np.arange(len(stack.member)) >= stack.start[1:][owner] - stack.lines[owner]
    places = np.unique(np.stack([union[owner], stack.member, line], axis=1), axis=0)
    begin = np.searchsorted(places[:, 0], np.arange(len(good) + 1)).astype(np.int64)
    many = np.bincount(walls[:, 0], minlength=len(good)) * np.diff(begin) > _SIGNS
    walls = walls[~many[walls[:, 0]]]
    entry, wall = ranges(begin[walls[:, 0]], np.diff(begin)[walls[:, 0]])
    rows = np.concatenate([stack.table[:, :-1], -stack.table[:, -1:]], axis=1)
    side = sides(rows, stack.places, walls[wall, 1], places[entry, 1])
    both = np.zeros((2, len(walls)), dtype=bool)
    for k, sense in enumerate((1, -1)):
        both[k, wall[(side == sense) | ((side != 0) & (places[entry, 2] > 0))]] = True
    result = ~many
    result[walls[both.all(axis=0), 0]] = False
    return np.asarray(result)


@method_of(CPWL, "merge")
def merge(p: CPWL) -> CPWL:
    """The same function in fewer pieces, or `p` itself if no pieces can be merged.

    Exactly for exact data. For float data a row bounds a piece within `tol`, relative, and the law of the first
    piece stands for those of its component. Corners and rays decide where they are cheap, linear programs elsewhere.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[1]], [[-1], [1]], [[-1]]], [[0], [0, 2], [-2]], [[0], [1], [1]], [0, 0, 0])
    >>> merge(p).num_pieces
    2
    """
    return merge_spanned(p, None)


def merge_spanned(p: CPWL, spans: Generators | None) -> CPWL:
    """The same with the corners and rays of the pieces, where they are known."""
    found = merge_with_groups(p, spans)[0].with_names_of(p)
    found.facts[merge] = True  # nobody need merge it again
    return found


def merge_with_groups(
    p: CPWL, spans: Generators | None = None, given: dict[int, list[Facet]] | None = None
) -> tuple[CPWL, list[tuple[int, ...]]]:
    """The same, and the numbers of the pieces that became one, for each that has several.

    `given`, if it is, has the facets of all pieces with interior.
    """
    if p.known is None or p.known.inner is None or p.known.neighbours is None:
        spans = None  # corners far away say nothing about what floats cannot see
    small = p if spans is not None else divided(p).function
    polyhedra = small.polyhedra.exactly() if p.tol == 0 else small.polyhedra
    planes, label = hyperplanes(polyhedra, p.tol), label_maps(p.component)
    probe = Probe.of(polyhedra, p.tol)
    known = _known_contacts(small)
    near = _with_neighbours(polyhedra.owner, planes.number, planes.side, label)
    if known is not None:
        near = _one_row_a_plane(polyhedra, planes, near)
        near = [i for i in near if not p.tol or _is_thick(polyhedra[i], known[0][i], p.tol)]
    if p.mesh is not None:
        spans = generators_of(p)
    elif spans is None and (known is not None or p.tol == 0):
        spans = _spans_of(polyhedra, near)
    number, twins, seen = np.array(near, dtype=np.int64), {} if known is None else known[1], None
    stack = _hulls(polyhedra, number, spans) if known is None and p.tol == 0 and spans is not None else None
    if stack is not None:
        unions = whole_unions(polyhedra, label, number, stack)
        if unions:
            whole = {union.members[0]: union.members for union in unions}
            gone = {i for members in whole.values() for i in members[1:]}
            before = [whole.get(i, (i,)) for i in range(p.num_pieces) if i not in gone]
            merged, further = merge_with_groups(_merged(p, unions))
            joined = {k for group in further for k in group}
            groups = [tuple(sorted(i for k in group for i in before[k])) for group in further]
            return merged, groups + [own for k, own in enumerate(before) if len(own) > 1 and k not in joined]
        seen = _seen_by_corners(polyhedra, number, stack)
    # A loop over pieces: each takes linear programs of its own, unless its corners are known.
    if seen is not None:
        facets, twins = seen
    elif given is not None:
        facets = {i: given[i] for i in near if i in given}
    elif known is not None:
        facets = {i: facets_by_rays(polyhedra, i, known[0][i]) for i in near}
    else:
        thick = [i for i in near if probe.interior(polyhedra[i]) is not None]
        facets = {i: facets_of(polyhedra, planes, i, probe) for i in thick}
    planned = _planned(polyhedra, planes, label, facets, probe, twins, spans, all_known=known is not None)
    return (_merged(p, planned) if planned else p), [group.members for group in planned]


def _planned(
    polyhedra: Polyhedra,
    planes: Hyperplanes,
    label: NDArray[np.int64],
    facets: dict[int, list[Facet]],
    probe: Probe,
    twins: dict[int, int],
    spans: Generators | None,
    *,
    all_known: bool,
) -> list[Group]:
    """The groups of two and more pieces that become one, by their first members; arguments as for `Contacts`."""
    every = np.array([(f.piece, f.row) for own in facets.values() for f in own], dtype=np.int64).reshape(-1, 2)
    owner, row = every.T
    near = _with_neighbours(owner, planes.number[row], planes.side[row], label)
    own = {i: facets[i] for i in near}
    contacts = Contacts(polyhedra, planes, label, own, probe, twins, all_known=all_known)
    bodies = {}
    for i in near:
        loose = frozenset[int]()
        if probe.tol and not all_known:
            redundant = {r for r, _ in redundant_rows(polyhedra, planes, facets[i], probe)}
            rows = range(int(polyhedra.start[i]), int(polyhedra.start[i + 1]))
            loose = frozenset(rows) - redundant - {f.row for f in facets[i]}
        corners = None if spans is None or spans.start[i] == spans.start[i + 1] else spans.of_piece(i)
        bodies[i] = Merged((i,), contacts.facets[i], loose, corners)
    return Merger(polyhedra, planes, contacts, bodies, probe, spans).run()


def _one_row_a_plane(polyhedra: Polyhedra, planes: Hyperplanes, which: list[int]) -> list[int]:
    """The pieces whose rows are all on different hyperplanes: float data may have facets too close to be told apart."""
    keys, count = np.unique(np.stack([polyhedra.owner, planes.number]), axis=1, return_counts=True)
    return [int(i) for i in np.setdiff1d(which, keys[0, count > 1])]


def _is_thick(body: Polyhedron, inner: NDArray[Any], tol: float) -> bool:
    """Whether a ball around the point that is large enough to be seen in float data is inside."""
    x = np.asarray(inner, dtype=np.float64)
    slack = (body.b - body.A @ x) / np.abs(body.A).sum(axis=1)
    return bool((slack > 2 * tol * (1 + np.abs(x).max(initial=0.0))).all())


def _spans_of(polyhedra: Polyhedra, which: list[int]) -> Generators:
    """Corners and rays of some pieces, where they are cheap."""
    found = generators(polyhedra.take(np.array(which, dtype=np.int64)))
    lengths = np.zeros(len(polyhedra), dtype=np.int64)
    lengths[which] = np.diff(found.start)
    return replace(found, start=np.concatenate([[0], np.cumsum(lengths)]))


def _hulls(polyhedra: Polyhedra, which: NDArray[np.int64], spans: Generators) -> Hulls | None:
    """Some exact pieces by what spans them; None if that would take too long."""
    try:
        return hulls(polyhedra.take(which), spans.take(which))
    except TooManyFaces:
        return None


def _seen_by_corners(
    polyhedra: Polyhedra, number: NDArray[np.int64], stack: Hulls
) -> tuple[dict[int, list[Facet]], dict[int, int]]:
    """The facets of those exact pieces that have an interior, and for each the piece with the same facet, if any."""
    own, piece = stack.polyhedra.owner, number[stack.piece]
    shift = polyhedra.start[piece] - stack.polyhedra.start[:-1]  # from rows of the stack to those of all pieces
    facets: dict[int, list[Facet]] = {int(i): [] for i in piece}
    spanning = np.split(stack.places[stack.member], stack.start[1:-1])
    ends = {int(i): None if lines else places for i, lines, places in zip(piece, stack.lines, spanning, strict=False)}
    who, row, inside = facets_by_corners(stack)
    for i, r, place in zip(number[who].tolist(), row.tolist(), inside, strict=True):
        facets[i].append(Facet(i, int(polyhedra.start[i]) + r, fraction_array(place[:-1]) / place[-1], ends[i]))
    twin = facet_twins(stack)
    paired = np.flatnonzero(twin >= 0)
    return facets, dict(zip((paired + shift[own[paired]]).tolist(), piece[twin[paired]].tolist(), strict=True))


def _known_contacts(p: CPWL) -> tuple[NDArray[Any], dict[int, int]] | None:
    """A point inside each piece, and the piece beyond each row, if the maker of the function knows both."""
    known = p.known
    if known is None or known.inner is None or known.neighbours is None:
        return None
    one, two, row = known.neighbours.T
    twins = dict(zip(row.tolist(), two.tolist(), strict=True))
    planes = hyperplanes(p.polyhedra, p.tol)
    # Each pair may be there in one sense only: the row of the other piece is the one on the same hyperplane.
    rows: dict[tuple[int, int], int] = {}
    for r, key in enumerate(zip(p.polyhedra.owner.tolist(), planes.number.tolist(), strict=True)):
        rows.setdefault(key, r)
    back = ((rows.get((j, int(planes.number[r]))), i) for i, j, r in zip(one.tolist(), two.tolist(), row, strict=True))
    return known.inner, twins | {r: i for r, i in back if r is not None and r not in twins}


def _with_neighbours(
    owner: NDArray[np.int64], number: NDArray[np.int64], side: NDArray[np.int64], label: NDArray[np.int64]
) -> list[int]:
    """The pieces with a row on a hyperplane that has a row of the same label on its other side."""
    place = number * (label.max(initial=0) + 1) + label[owner]
    both = np.intersect1d(place[side > 0], place[side < 0])
    return [int(i) for i in np.unique(owner[np.isin(place, both)])]


def _merged(p: CPWL, groups: list[Group]) -> CPWL:
    """The function with each group as one piece, in the place of its first member."""
    start = p.polyhedra.start
    rows = {i: np.arange(start[i], start[i + 1]) for i in range(p.num_pieces)}
    for group in groups:
        rows[group.members[0]] = np.array(group.rows, dtype=np.int64)
        for i in group.members[1:]:
            del rows[i]
    chosen = np.concatenate(list(rows.values())).astype(np.int64)
    first = np.cumsum([0, *(len(r) for r in rows.values())], dtype=np.int64)
    exact = None if p.polyhedra.exact is None else p.polyhedra.exact[chosen]
    polyhedra = Polyhedra(p.polyhedra.A[chosen], p.polyhedra.b[chosen], first, exact)
    laws = p.laws.take(np.array(list(rows), dtype=np.int64))
    known = p.known
    if known is not None:
        known = replace(known.take(np.array(list(rows))), complete=known.complete, optimal=known.optimal)
    merged = CPWL.from_parts(Parts(polyhedra, laws, p.domain, p.tol, known=known))
    return replace(merged, complete=p.complete)
