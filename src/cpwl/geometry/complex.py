"""Face-to-face complexes: faces of all dimensions, what contains what, and which faces lie in the boundary.

A face is the set of its generators, which are integer rows ``(x, 1) * w`` with ``w > 0`` for vertices and ``(r, 0)``
for extreme rays. Homogeneously, an unbounded polyhedron is a cone like any other, and its faces at infinity, all of
whose generators are rays, are faces too; they count as boundary.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import mul
from typing import Any

import numpy as np
from flint import fmpq_mat, fmpz_mat
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.errors import ConstructionError, LimitError
from cpwl.exact.integers import primitive, signs_at
from cpwl.geometry.cells import Cell, cell_of, cut
from cpwl.geometry.polyhedra import Polyhedra, fact

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


_PAIRS = 10**7  # of a face and one that contains it, or of facets of one face: some ten seconds


def from_cells(
    generators: NDArray[np.object_], cells: Sequence[Sequence[int]], facets: Sequence[Sequence[Sequence[int]]]
) -> Complex:
    """The complex of cells that meet face to face, each given by its generators and its facets, infinity included.

    Faces are numbered in the order of the first cells that have them.
    """
    n = generators.shape[1] - 1
    faces, inside = _faces(n, [[frozenset(facet) for facet in own] for own in facets])
    lists, place = list[list[tuple[int, ...]]](), list[NDArray[np.int64]]()
    for d in range(n):
        first = np.minimum.reduceat(inside[d, n].indices, inside[d, n].indptr[:-1]).tolist()
        members = [tuple(sorted(face)) for face in faces[d]]
        order = sorted(range(len(members)), key=lambda k: (first[k], members[k]))
        lists.append([members[k] for k in order])
        place.append(np.argsort(order))
    lists.append([tuple(sorted(cell)) for cell in cells])
    place.append(np.arange(len(cells)))
    pairs = {}
    for (d, e), matrix in inside.items():
        low, high = matrix.nonzero()
        both = np.stack([place[d][low], place[e][high]], axis=1)
        pairs[d, e] = both[np.lexsort(both.T[::-1])]
    return _assemble(generators, lists, pairs)


def _faces(
    n: int, facets: list[list[frozenset[int]]]
) -> tuple[list[list[frozenset[int]]], dict[tuple[int, int], csr_array[Any, tuple[int, int]]]]:
    """The faces of each dimension below `n`, and ``inside[d, e]``: not 0 where one of `d` is part of one of `e`.

    The facets of a face are its largest intersections with the other facets of a face above it: each face is looked at
    once, however many cells have it. What contains what is a product of what is a facet of what.
    """
    faces: list[list[frozenset[int]]] = [[] for _ in range(n)]
    inside: dict[tuple[int, int], csr_array[Any, tuple[int, int]]] = {}
    above, work = facets, 0
    for d in range(n - 1, -1, -1):
        number: dict[frozenset[int], int] = {}
        below: list[list[frozenset[int]]] = []
        for own in above:
            for face in own:
                if number.setdefault(face, len(number)) == len(below):
                    below.append(_largest([face & other for other in own if other is not face]) if d else [])
                    work += len(own) ** 2 // 2
            if work > _PAIRS:
                raise _too_many_faces(len(facets), n)
        faces[d] = list(number)
        place = np.array([number[face] for own in above for face in own], dtype=np.int64)
        start = np.cumsum([0, *map(len, above)])
        ones = np.ones(len(place), dtype=np.int64)
        inside[d, d + 1] = csr_array(csr_array((ones, place, start), shape=(len(above), len(number))).T)
        for e in range(d + 2, n + 1):
            inside[d, e] = csr_array((inside[d, d + 1] @ inside[d + 1, e]).sign())
            work += inside[d, e].nnz
        if work > _PAIRS:
            raise _too_many_faces(len(facets), n)
        above = below
    return faces, inside


def _too_many_faces(cells: int, n: int) -> LimitError:
    return LimitError(f"the pieces have too many faces: {cells} cells in R^{n} have more than {_PAIRS:,} pairs of them")


def _largest(sets: list[frozenset[int]]) -> list[frozenset[int]]:
    """Those that are part of no other."""
    distinct = sorted(set(sets), key=len, reverse=True)
    found: list[frozenset[int]] = []
    for one in distinct:
        if one and not any(one < other for other in found):
            found.append(one)
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


# Pieces given by half-spaces as a face-to-face complex: vertices and rays exactly, and cuts where facets do not match.
#
# A cell is held doubly (`cells`), by rows ``h.(x, 1) >= 0``, that of infinity, ``1 >= 0``, included, and by generators.


_Vector = tuple[int, ...]


class _Cell:
    """A polyhedron with interior: its piece, and the rows that cut it out of the space, the one of infinity first."""

    def __init__(self, piece: int, walls: tuple[_Vector, ...], body: Cell) -> None:
        self.piece, self.walls, self.body = piece, walls, body

    @property
    def generators(self) -> list[_Vector]:
        return [place for place, _ in self.body.rays]

    @cached_property
    def facets(self) -> dict[_Vector, frozenset[_Vector]]:
        """The generators on each row that is not redundant."""
        found = {}
        for k, row in enumerate(self.walls):
            held = [place for place, tight in self.body.rays if tight >> k & 1]
            if len(held) >= len(row) - 1 and _rank(held) == len(row) - 1:
                found[row] = frozenset(held)
        return found


def complex_of(polyhedra: Polyhedra, *, limit: int = 20_000) -> tuple[Complex, NDArray[np.int64]]:
    """The complex of pieces that cover a convex domain without overlap, and the piece of each of its cells.

    Pieces that do not meet face to face are cut until they do; none may contain a line once all that they have in
    common is divided out.

    >>> halves = Polyhedra.from_lists([[[1, 0]], [[-1, 0], [0, 1]], [[-1, 0], [0, -1]]], [[0], [0, 0], [0, 0]])
    >>> complex_, piece = complex_of(halves)
    >>> piece, [len(faces) for faces in complex_.faces]
    (array([0, 0, 1, 2]), [5, 8, 4])
    """
    cells = _cells(polyhedra)
    while True:
        cuts = _cuts(cells)
        if not cuts:
            break
        cells = [part for i, cell in enumerate(cells) for part in _cut_all(cell, sorted(cuts.get(i, ())))]
        if len(cells) > limit:
            raise LimitError(f"the pieces do not meet face to face, and cutting them makes more than {limit} cells")
    number: dict[_Vector, int] = {}
    for cell in cells:
        for g in cell.generators:
            number.setdefault(g, len(number))
    members = [[number[g] for g in cell.generators] for cell in cells]
    facets = [[[number[g] for g in facet] for facet in cell.facets.values()] for cell in cells]
    generators = np.array(list(number), dtype=object).reshape(len(number), polyhedra.dim + 1)
    return from_cells(generators, members, facets), np.array([cell.piece for cell in cells], dtype=np.int64)


def _most_cells(polyhedra: Polyhedra) -> int:
    return 200 + 2 * len(polyhedra)  # each is about a hinge


@fact
def few_cells(polyhedra: Polyhedra) -> tuple[Complex, NDArray[np.int64]] | None:
    """The complex of pieces given by half-spaces; None if they do not meet face to face, by far."""
    try:
        return complex_of(polyhedra, limit=_most_cells(polyhedra))
    except LimitError:
        return None


def many_cells(polyhedra: Polyhedra) -> str:
    """How many cells there are where the complex has more than "auto" makes if it has a network; else ""."""
    if few_cells(polyhedra) is not None:
        return ""
    return f"more than {_most_cells(polyhedra):,} cells, into which {len(polyhedra):,} pieces are cut"


def _cells(polyhedra: Polyhedra) -> list[_Cell]:
    """The pieces with interior; where one contains a line and another does not, cut by that one's rows first."""
    rows = primitive(polyhedra.integer())
    inward = np.concatenate([-rows[:, :-1], rows[:, -1:]], axis=1)
    lists = [list(dict.fromkeys(map(tuple, part.tolist()))) for part in np.split(inward, polyhedra.start[1:-1])]
    every, cells = list(dict.fromkeys(row for own in lists for row in own)), list[_Cell]()
    infinity = (0,) * polyhedra.dim + (1,)
    for i, own in enumerate(lists):
        waiting = [_Cell(i, (infinity, *own), cell_of([[-v for v in row] for row in own], polyhedra.dim))]
        while waiting:
            cell = waiting.pop()
            if not cell.body.is_solid:
                continue
            if not cell.body.lines:
                cells.append(cell)
                continue
            # It contains a line that others do not: it is cut along rows of others until it contains none.
            row = next((h for h in every if any(_dot(h, line) for line in cell.body.lines)), None)
            if row is None:
                raise ConstructionError(f"piece {i} contains a line, and so do all others: divide by it first", piece=i)
            waiting += [_half(cell, tuple(-v for v in row)), _half(cell, row)]
    if not cells:
        raise ConstructionError("no piece has an interior")
    return cells


def _half(cell: _Cell, h: _Vector) -> _Cell:
    """The part of a cell where ``h >= 0``."""
    return _Cell(cell.piece, (*cell.walls, h), cut(cell.body, tuple(-v for v in h)))


def _cut_all(cell: _Cell, rows: list[_Vector]) -> list[_Cell]:
    parts = [cell]
    for row in rows:
        both = [(part, [_dot(row, g) for g in part.generators]) for part in parts]
        parts = [part for part, values in both if min(values) >= 0 or max(values) <= 0]
        halves = [_half(part, h) for part, _ in both if part not in parts for h in (row, tuple(-v for v in row))]
        parts += [half for half in halves if half.body.has_point]
    return parts


def _cuts(cells: list[_Cell]) -> dict[int, set[_Vector]]:
    """For each cell the rows of neighbours that divide a facet which they share in part."""
    owners: dict[frozenset[_Vector], list[tuple[int, _Vector]]] = defaultdict(list)
    for i, cell in enumerate(cells):
        for row, facet in cell.facets.items():
            if any(row[:-1]):
                owners[facet].append((i, row))
    alone = [(facet, *own[0]) for facet, own in owners.items() if len(own) == 1]
    alone = _off_boundary(cells, alone)
    place: dict[_Vector, list[tuple[frozenset[_Vector], int, _Vector]]] = defaultdict(list)
    for facet, i, row in alone:
        place[row].append((facet, i, row))
    cuts = defaultdict[int, set[_Vector]](set)
    for facet, i, row in alone:
        for other, j, _ in place.get(tuple(-v for v in row), ()):
            if i < j:
                mine, yours = _dividing(cells[j], row, other, facet), _dividing(cells[i], row, facet, other)
                if (mine or yours) and _overlap(cells[i], cells[j], row):
                    cuts[i] |= mine
                    cuts[j] |= yours
    if alone and not cuts:
        piece = cells[alone[0][1]].piece
        raise ConstructionError(
            f"piece {piece} has a facet inside the domain and no piece lies on its other side: see `p.doctor()`",
            piece=piece,
        )
    return {i: rows for i, rows in cuts.items() if rows}


def _off_boundary(
    cells: list[_Cell], alone: list[tuple[frozenset[_Vector], int, _Vector]]
) -> list[tuple[frozenset[_Vector], int, _Vector]]:
    """The facets whose hyperplanes have something of the domain on their other side."""
    if not alone:
        return []
    places = np.array(list({g for cell in cells for g in cell.generators}), dtype=object)
    signs = signs_at(np.array([row for _, _, row in alone], dtype=object), places)
    return [entry for entry, values in zip(alone, signs, strict=True) if (values < 0).any()]


def _dividing(cell: _Cell, plane: _Vector, own: frozenset[_Vector], facet: frozenset[_Vector]) -> set[_Vector]:
    """The rows that bound the `own` facet of a cell and have parts of a neighbour's facet strictly on both sides.

    Oriented alike. Rows of the cell that do not bound that facet need not cut the neighbour.
    """
    found, size = set(), len(plane)
    for row in cell.facets:
        if not any(row[:-1]) or row == plane or tuple(-v for v in row) == plane:
            continue
        values = [_dot(row, g) for g in facet]
        if min(values) < 0 < max(values):
            held = [g for g in own if _dot(row, g) == 0]
            if len(held) >= size - 2 and _rank(held) == size - 2:
                found.add(max(row, tuple(-v for v in row)))
    return found


def _overlap(one: _Cell, two: _Cell, row: _Vector) -> bool:
    """Whether two cells on the two sides of a hyperplane share a part of it with interior.

    The facet of the first is cut by the rows of the second, without a coordinate that the hyperplane gives.
    """
    k = next(k for k, v in enumerate(row) if v)

    def on_facet(rows: Iterable[_Vector]) -> list[list[int]]:
        sign = 1 if row[k] > 0 else -1
        found = ([sign * (h[k] * r - row[k] * v) for v, r in zip(h, row, strict=True)] for h in rows)
        return [h[:k] + h[k + 1 :] for h in found if any(h)]

    return cell_of(on_facet([*one.facets, *two.facets]), len(row) - 2).is_solid


def _dot(a: _Vector, b: _Vector) -> int:
    return sum(map(mul, a, b))  # both have n + 1 entries; asked millions of times


def _rank(rows: list[_Vector]) -> int:
    return int(fmpz_mat([list(row) for row in rows]).rank())
