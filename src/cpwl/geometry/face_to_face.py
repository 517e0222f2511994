"""Pieces given by half-spaces as a face-to-face complex: vertices and rays exactly, and cuts where facets do not match.

A cell is held doubly, by rows ``h.(x, 1) >= 0`` (that of infinity, ``1 >= 0``, included) and by generators; cutting it
by a hyperplane is one step of the double description method, in integers.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import gcd
from operator import mul

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.errors import ConstructionError, LimitError
from cpwl.exact.integers import primitive
from cpwl.exact.signs import signs_at
from cpwl.geometry.complex import Complex, from_cells
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["complex_of"]

_Vector = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Cell:
    """A pointed polyhedron with interior: its piece, its irredundant rows, its generators, and who is on which row."""

    piece: int
    rows: tuple[_Vector, ...]
    generators: tuple[_Vector, ...]

    def facet(self, row: _Vector) -> frozenset[_Vector]:
        return frozenset(g for g in self.generators if _dot(row, g) == 0)


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
    facets = [[[number[g] for g in cell.facet(row)] for row in cell.rows] for cell in cells]
    generators = np.array(list(number), dtype=object).reshape(len(number), polyhedra.dim + 1)
    return from_cells(generators, members, facets), np.array([cell.piece for cell in cells], dtype=np.int64)


def _cells(polyhedra: Polyhedra) -> list[_Cell]:
    """The pieces with interior; where one contains a line and another does not, cut by that one's rows first."""
    rows = primitive(polyhedra.integer())
    inward = np.concatenate([-rows[:, :-1], rows[:, -1:]], axis=1)
    lists = [_distinct(inward[polyhedra.start[i] : polyhedra.start[i + 1]]) for i in range(len(polyhedra))]
    spanning = _spanning([row for own in lists for row in own], polyhedra.dim)
    cells = []
    for i, own in enumerate(lists):
        start = _spanning(own, polyhedra.dim)
        if len(start) == polyhedra.dim:
            cells += _inside([_cone(i, start)], own)
        else:
            # The piece contains a line that others do not: it is cut along rows of others until it contains none.
            more = _spanning([*start, *spanning], polyhedra.dim)[len(start) :]
            cells += _inside(_wedges(i, start, more), own)
    if not cells:
        raise ConstructionError("no piece has an interior")
    return cells


def _distinct(rows: NDArray[np.object_]) -> list[_Vector]:
    return list(dict.fromkeys(tuple(int(v) for v in row) for row in rows))


def _spanning(rows: list[_Vector], dim: int) -> list[_Vector]:
    """The first rows with linearly independent normals."""
    chosen: list[_Vector] = []
    for row in rows:
        if len(chosen) < dim and _rank([r[:-1] for r in [*chosen, row]]) > len(chosen):
            chosen.append(row)
    return chosen


def _wedges(piece: int, rows: list[_Vector], more: list[_Vector]) -> list[_Cell]:
    """The cone of some rows, cut along further ones, as cones without lines."""
    cones = [rows]
    for row in more:
        cones = [[*cone, side] for cone in cones for side in (row, tuple(-v for v in row))]
    if any(len(cone) < len(cone[0]) - 1 for cone in cones):
        raise ConstructionError(f"piece {piece} contains a line, and so do all others: divide by it first", piece=piece)
    return [_cone(piece, cone) for cone in cones]


def _cone(piece: int, rows: list[_Vector]) -> _Cell:
    """The simplicial cone of as many independent rows as dimensions, with its facet at infinity."""
    size = len(rows[0])
    infinity = (0,) * (size - 1) + (1,)
    every = (*rows, infinity)
    inverse = fmpz_mat([list(row) for row in every]).inv().numer_denom()[0]
    columns = [tuple(int(inverse[i, j]) for i in range(size)) for j in range(size)]
    return _Cell(piece, every, tuple(_reduced(c) for c in columns))


def _inside(cells: list[_Cell], rows: list[_Vector]) -> list[_Cell]:
    """The parts of cells where all rows hold, as far as they have an interior."""
    for row in rows:
        parts = [_cut(cell, row)[0] for cell in cells]
        cells = [part for part in parts if part is not None]
    return cells


def _cut(cell: _Cell, h: _Vector) -> tuple[_Cell | None, _Cell | None]:
    """The parts of a cell where ``h >= 0`` and where ``h <= 0``; None for a part without interior."""
    value = [_dot(h, g) for g in cell.generators]
    if all(v >= 0 for v in value):
        return cell, None
    if all(v <= 0 for v in value):
        return None, cell
    on = [frozenset(k for k, row in enumerate(cell.rows) if _dot(row, g) == 0) for g in cell.generators]
    plus = [i for i, v in enumerate(value) if v > 0]
    minus = [i for i, v in enumerate(value) if v < 0]
    new = []
    for i in plus:
        for j in minus:
            common = on[i] & on[j]  # an edge joins the two iff no third generator is on all rows that they share
            if not any(common <= on[k] for k in range(len(on)) if k not in (i, j)):
                pair = zip(cell.generators[i], cell.generators[j], strict=True)
                new.append(_reduced(tuple(value[i] * b - value[j] * a for a, b in pair)))
    kept = [cell.generators[i] for i, v in enumerate(value) if v == 0] + new
    return (
        _trimmed(cell, h, [cell.generators[i] for i in plus] + kept),
        _trimmed(cell, tuple(-v for v in h), [cell.generators[i] for i in minus] + kept),
    )


def _trimmed(cell: _Cell, h: _Vector, generators: list[_Vector]) -> _Cell | None:
    if all(g[-1] == 0 for g in generators):
        return None
    size = len(h)
    rows = []
    for row in (*cell.rows, h):
        held = [g for g in generators if _dot(row, g) == 0]
        if len(held) >= size - 1 and _rank(held) == size - 1:
            rows.append(row)
    return _Cell(cell.piece, tuple(rows), tuple(generators))


def _cut_all(cell: _Cell, rows: list[_Vector]) -> list[_Cell]:
    parts = [cell]
    for row in rows:
        parts = [new for part in parts for new in _cut(part, row) if new is not None]
    return parts


def _cuts(cells: list[_Cell]) -> dict[int, set[_Vector]]:
    """For each cell the rows of neighbours that divide a facet which they share in part."""
    owners: dict[frozenset[_Vector], list[tuple[int, _Vector]]] = defaultdict(list)
    for i, cell in enumerate(cells):
        for row in cell.rows:
            if any(row[:-1]):
                owners[cell.facet(row)].append((i, row))
    alone = [(facet, *own[0]) for facet, own in owners.items() if len(own) == 1]
    alone = _off_boundary(cells, alone)
    place: dict[_Vector, list[tuple[frozenset[_Vector], int, _Vector]]] = defaultdict(list)
    for facet, i, row in alone:
        place[row].append((facet, i, row))
    probe, cuts = Probe(0.0), defaultdict[int, set[_Vector]](set)
    for facet, i, row in alone:
        for other, j, _ in place.get(tuple(-v for v in row), ()):
            if i < j:
                mine, yours = _dividing(cells[j], row, other, facet), _dividing(cells[i], row, facet, other)
                if (mine or yours) and _overlap(probe, cells[i], cells[j], row):
                    cuts[i] |= mine
                    cuts[j] |= yours
    if alone and not cuts:
        piece = cells[alone[0][1]].piece
        raise ConstructionError(
            f"piece {piece} has a facet inside the domain with nothing on its other side: see `p.doctor()`", piece=piece
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
    for row in cell.rows:
        if not any(row[:-1]) or row == plane or tuple(-v for v in row) == plane:
            continue
        values = [_dot(row, g) for g in facet]
        if min(values) < 0 < max(values):
            held = [g for g in own if _dot(row, g) == 0]
            if len(held) >= size - 2 and _rank(held) == size - 2:
                found.add(max(row, tuple(-v for v in row)))
    return found


def _overlap(probe: Probe, one: _Cell, two: _Cell, row: _Vector) -> bool:
    """Whether two cells on the two sides of a hyperplane share a part of it with interior."""
    other = tuple(-v for v in row)
    rows = [row, *(r for r in (*one.rows, *two.rows) if r not in (row, other) and any(r[:-1]))]
    outward = np.array([[*(-v for v in r[:-1]), r[-1]] for r in rows], dtype=object)
    scale = np.abs(outward[:, :-1]).max(axis=1)
    view = np.asarray(outward / scale[:, None], dtype=np.float64)
    return probe.interior(Polyhedron(view[:, :-1].copy(), view[:, -1].copy(), outward), on=[0]) is not None


def _dot(a: _Vector, b: _Vector) -> int:
    return sum(map(mul, a, b))  # both have n + 1 entries; asked millions of times


def _rank(rows: list[_Vector]) -> int:
    return int(fmpz_mat([list(row) for row in rows]).rank())


def _reduced(row: _Vector) -> _Vector:
    divisor = gcd(*row)
    return tuple(v // divisor for v in row)
