"""Face-to-face complexes: faces of all dimensions, what contains what, and which faces lie in the boundary.

A face is the set of its generators, which are integer rows ``(x, 1) * w`` with ``w > 0`` for vertices and ``(r, 0)``
for extreme rays. Homogeneously, an unbounded polyhedron is a cone like any other, and its faces at infinity, all of
whose generators are rays, are faces too; they count as boundary.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import fmpq_mat, fmpz_mat
from numpy.typing import NDArray

__all__ = ["Complex", "Faces", "Flat", "from_cells", "from_simplices"]

Flat = tuple[tuple[int, int], ...]
"""The affine hull of a face, as the entries ``p/q`` of a reduced echelon matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class Faces:
    """The faces of one dimension: sorted generator numbers of each, and whether it lies in the boundary."""

    members: tuple[tuple[int, ...], ...]
    boundary: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True, eq=False)
class Complex:
    """A face-to-face complex of `n`-dimensional cells; ``faces[d]`` are its faces of dimension `d`, cells last.

    >>> square = from_simplices(np.array([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=object),
    ...                         np.array([[0, 1, 2], [1, 2, 3]]))
    >>> [len(faces) for faces in square.faces], square.euler()
    ([4, 5, 2], 1)
    >>> square.coefficients()[1]
    array([0, 0, 1, 0, 0])
    """

    generators: NDArray[np.object_]
    faces: tuple[Faces, ...]
    pairs: dict[tuple[int, int], NDArray[np.int64]]
    """``pairs[d, e]``: rows (face of dimension `d`, face of dimension `e` that contains it)."""
    _above: dict[tuple[int, int], list[list[int]]] = field(default_factory=dict)

    @property
    def dim(self) -> int:
        return len(self.faces) - 1

    @property
    def is_bounded(self) -> bool:
        """Whether there are no rays."""
        return bool((self.generators[:, -1] > 0).all())

    def above(self, d: int, e: int) -> list[list[int]]:
        """For each face of dimension `d` the faces of dimension ``e > d`` that contain it."""
        if (d, e) not in self._above:
            lists: list[list[int]] = [[] for _ in range(len(self.faces[d]))]
            for low, high in self.pairs[d, e].tolist():
                lists[low].append(high)
            self._above[d, e] = lists
        return self._above[d, e]

    def interior(self, d: int) -> list[int]:
        """The faces of dimension `d` that are not in the boundary."""
        return [int(i) for i in np.flatnonzero(~self.faces[d].boundary)]

    def is_finite(self, d: int, i: int) -> bool:
        """Whether a face has a vertex, and so is not at infinity."""
        return any(self.generators[g, -1] > 0 for g in self.faces[d].members[i])

    def is_bounded_face(self, d: int, i: int) -> bool:
        """Whether a face has no ray."""
        return all(self.generators[g, -1] > 0 for g in self.faces[d].members[i])

    def euler(self) -> int:
        """The alternating number of faces, those at infinity included: 1 for a convex domain."""
        return sum((-1) ** d * len(faces) for d, faces in enumerate(self.faces))

    def coefficients(self) -> list[NDArray[np.int64]]:
        """The integers ``c_F`` with ``p = sum c_F p_F`` on the domain, 0 for boundary faces.

        Brianchon-Gram gives ``(-1)^dim F``; then each boundary face `B` is replaced by the faces above it, since
        ``sum_{G >= B} (-1)^dim G p_G = 0`` on the tangent cone of the domain at `B`
        (docs/theory/local_gates.md).
        """
        n = self.dim
        c = [np.full(len(faces), (-1) ** d, dtype=np.int64) for d, faces in enumerate(self.faces)]
        for d in range(n + 1):
            for e in range(d + 1, n + 1):
                low, high = self.pairs[d, e].T
                away = self.faces[d].boundary[low]
                np.add.at(c[e], high[away], (-1) ** (e - d - 1) * c[d][low[away]])
            c[d][self.faces[d].boundary] = 0
        return c

    def flat(self, d: int, i: int) -> Flat:
        """The affine hull of a face, the same for all faces that span it."""
        rows = [[int(v) for v in self.generators[g]] for g in self.faces[d].members[i]]
        reduced, rank = fmpq_mat(fmpz_mat(rows)).rref()
        entries = [reduced[a, b] for a in range(rank) for b in range(len(rows[0]))]
        return tuple((int(v.p), int(v.q)) for v in entries)


def from_simplices(corners: NDArray[np.object_], simplices: NDArray[np.int64]) -> Complex:
    """The complex of simplices that meet face to face; cell `i` is simplex `i`.

    A facet of one simplex only is taken for boundary.
    """
    cells = np.sort(simplices, axis=1)
    n = cells.shape[1] - 1
    subsets = [list(itertools.combinations(range(n + 1), d + 1)) for d in range(n + 1)]
    members: list[NDArray[np.int64]] = []
    place: list[NDArray[np.int64]] = []  # place[d][i, k]: the number of the k-th d-face of simplex i
    for d in range(n):
        every = cells[:, np.array(subsets[d])].reshape(-1, d + 1)
        distinct, inverse = np.unique(every, axis=0, return_inverse=True)
        members.append(distinct)
        place.append(inverse.reshape(len(cells), -1))
    members.append(cells)
    place.append(np.arange(len(cells))[:, None])
    pairs = {}
    for d, e in itertools.combinations(range(n + 1), 2):
        inside = [(a, b) for a, s in enumerate(subsets[d]) for b, t in enumerate(subsets[e]) if set(s) <= set(t)]
        both = [np.stack([place[d][:, a], place[e][:, b]], axis=1) for a, b in inside]
        pairs[d, e] = np.unique(np.concatenate(both), axis=0)
    lists = [[tuple(row) for row in rows.tolist()] for rows in members]
    return _assemble(corners, lists, pairs)


def from_cells(
    generators: NDArray[np.object_], cells: Sequence[Sequence[int]], facets: Sequence[Sequence[Sequence[int]]]
) -> Complex:
    """The complex of cells that meet face to face, each given by its generators and its facets, infinity included.

    The faces of a cell are the intersections of its facets.
    """
    n = generators.shape[1] - 1
    number: list[dict[frozenset[int], int]] = [{} for _ in range(n)]
    pairs: dict[tuple[int, int], set[tuple[int, int]]] = {t: set() for t in itertools.combinations(range(n + 1), 2)}
    rank: dict[frozenset[int], int] = {}
    for i, cell in enumerate(cells):
        own = _closure([frozenset(f) for f in facets[i]])
        for face in own:
            if face not in rank:
                rank[face] = fmpz_mat([[int(v) for v in generators[g]] for g in sorted(face)]).rank() - 1
        ranked = sorted(own, key=lambda face: (rank[face], sorted(face)))
        places = [(rank[f], number[rank[f]].setdefault(f, len(number[rank[f]])), f) for f in ranked]
        places.append((n, i, frozenset(cell)))
        for (d, a, low), (e, b, high) in itertools.combinations(places, 2):
            if d < e and low < high:
                pairs[d, e].add((a, b))
    lists = [[tuple(sorted(face)) for face in table] for table in number]
    lists.append([tuple(sorted(cell)) for cell in cells])
    arrays = {key: np.array(sorted(found), dtype=np.int64).reshape(-1, 2) for key, found in pairs.items()}
    return _assemble(generators, lists, arrays)


def _closure(facets: list[frozenset[int]]) -> set[frozenset[int]]:
    """All nonempty intersections of facets."""
    found, waiting = set(facets), list(facets)
    while waiting:
        face = waiting.pop()
        for facet in facets:
            meet = face & facet
            if meet and meet not in found:
                found.add(meet)
                waiting.append(meet)
    return found


def _assemble(
    generators: NDArray[np.object_],
    members: list[list[tuple[int, ...]]],
    pairs: dict[tuple[int, int], NDArray[np.int64]],
) -> Complex:
    n = len(members) - 1
    boundary = [_at_infinity(generators, faces) for faces in members]
    if n:
        boundary[n - 1] |= np.bincount(pairs[n - 1, n][:, 0], minlength=len(members[n - 1])) == 1
    for d in range(n - 1):
        low, high = pairs[d, n - 1].T
        boundary[d][low[boundary[n - 1][high]]] = True
    faces = tuple(Faces(tuple(m), b) for m, b in zip(members, boundary, strict=True))
    for array in (generators, *boundary, *pairs.values()):
        array.setflags(write=False)
    return Complex(generators, faces, pairs)


def _at_infinity(generators: NDArray[np.object_], faces: Sequence[tuple[int, ...]]) -> NDArray[Any]:
    ray = np.asarray(generators[:, -1] == 0, dtype=bool)
    if not ray.any():
        return np.zeros(len(faces), dtype=bool)
    return np.array([all(ray[g] for g in face) for face in faces], dtype=bool)
