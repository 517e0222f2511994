"""Which pieces of one law touch across a facet, and do they cover it?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cpwl.function.mesh import shared_facets
from cpwl.function.parts import Mesh
from cpwl.geometry.facet_cover import FacetCover
from cpwl.geometry.facets import Facet, Hyperplanes
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.geometry.probe import Probe

__all__ = ["Contacts", "Key", "facets_by_rays", "facets_of_simplex", "twins_in_mesh"]

Key = tuple[int, int]
"""A hyperplane and the side of it that a row allows."""


class Contacts:
    """Contacts between pieces with one label: each facet's neighbours, and whether they cover all of it.

    `facets` has those of every piece that counts. For exact data the stack must carry its integers. `twins` has for
    rows the piece with the same facet on the other side, as `twins_in_mesh` or the maker of the function knows it: they
    touch without a question. Everything else is asked of linear programs, though only where hyperplane and label are
    the same; not even that if `all_known`.
    """

    def __init__(
        self,
        polyhedra: Polyhedra,
        planes: Hyperplanes,
        label: NDArray[np.int64],
        facets: dict[int, list[Facet]],
        probe: Probe,
        twins: dict[int, int] | None = None,
        *,
        all_known: bool = False,
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
        for (h, _), sides in sorted(place.items()):
            if sides[1] and sides[-1]:
                self._meet(h, sides[1], sides[-1], twins or {})
                self.edges.append([(i, j) for i in sides[1] for j in sorted(self.neighbours.get((i, (h, 1)), ()))])

    def regions(self) -> list[list[int]]:
        """The pieces in connected sets of two and more."""
        pairs = np.array([edge for edges in self.edges for edge in edges], dtype=np.int64).reshape(-1, 2)
        pieces, place = np.unique(pairs, return_inverse=True)
        one, two = place.reshape(-1, 2).T
        graph = coo_array((np.ones(len(one)), (one, two)), shape=(len(pieces), len(pieces)))
        region = connected_components(graph, directed=False)[1]
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
            sure = self._holding(h, left, right, 1) | self._holding(h, right, left, -1).T
            for a, i in enumerate(left):
                for b, j in enumerate(right):
                    if sure[a, b] or (not self._apart(i, j, h) and self._share(h, i, j)):
                        self._touch(h, i, j)

    def _touch(self, h: int, i: int, j: int) -> None:
        self.neighbours[i, (h, 1)].add(j)
        self.neighbours[j, (h, -1)].add(i)

    def _apart(self, i: int, j: int, h: int) -> bool:
        """Whether another hyperplane has the two on its two sides, too: then they share no facet."""
        return any((g, -s) in self.facets[j] for g, s in self.facets[i] if g != h)

    def _share(self, h: int, i: int, j: int) -> bool:
        contact = self.cover.body(self.facets[i][h, 1], [j])
        return self.probe.interior(contact, on=[0]) is not None

    def _holding(self, h: int, ask: list[int], hold: list[int], side: int) -> NDArray[np.bool_]:
        """``[i, j]``: whether the point of facet `ask[i]` is, by a margin, inside `hold[j]`: then they touch."""
        points = np.array([np.asarray(self.facets[i][h, side].point, dtype=np.float64) for i in ask])
        rows = [[f.row for key, f in self.facets[j].items() if key[0] != h] for j in hold]
        stack, lengths = np.array([r for own in rows for r in own], dtype=np.int64), [len(own) for own in rows]
        A, b = self.cover.polyhedra.A[stack], self.cover.polyhedra.b[stack]
        margin = max(1e-6, 100 * self.probe.tol)
        bad = b - points @ A.T <= margin * (np.abs(points) @ np.abs(A).T + np.abs(b))
        owner = np.repeat(np.arange(len(hold)), lengths)
        outside = np.zeros((len(ask), len(hold)), dtype=np.int64)
        np.add.at(outside.T, owner, bad.T)
        return np.asarray(outside == 0)


def facets_of_simplex(mesh: Mesh, i: int) -> list[Facet]:
    """All rows of a simplex are facets, row `k` the one without corner `k`."""
    size = mesh.simplices.shape[1]
    points = mesh.points[mesh.simplices[i]]
    middle = (points.sum(axis=0) - points) / (size - 1)
    return [Facet(i, i * size + k, middle[k]) for k in range(size)]


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


def twins_in_mesh(mesh: Mesh) -> dict[int, int]:
    """For each row of a mesh's simplices the simplex with the same facet, if there is exactly one."""
    size = mesh.simplices.shape[1]
    one, two = shared_facets(mesh.simplices).pairs()
    pairs: Iterable[tuple[int, int]] = zip(one.tolist(), two.tolist(), strict=True)
    return {row: other // size for a, b in pairs for row, other in ((a, b), (b, a))}
