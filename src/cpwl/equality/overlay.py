"""The cells of a network laid over the pieces of a function: which cell is inside which piece.

A cell is inside a piece iff its corners and rays are. A piece that has all of a cell's neighbours across facets that
are not in its own boundary is filled by its cells: a convex set cannot be left except through its boundary. So facets
and corners alone, without a linear program, show that there is nothing else to compare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.function import CPWL
from cpwl.geometry.ranges import ranges
from cpwl.geometry.sides import sides
from cpwl.regions.cells import Cells

__all__ = ["Overlay", "overlay"]

_BLOCK = 1 << 22  # products held at once


@dataclass(frozen=True, slots=True, eq=False)
class Overlay:
    """Pairs of a cell and a piece that holds all of it, and what follows."""

    cell: NDArray[np.int64]
    piece: NDArray[np.int64]
    filled: NDArray[np.bool_]
    """For each piece whether the cells in it are all there is of it: nothing else of the network is in it."""
    covered: NDArray[np.bool_]
    """For each cell whether it is in a piece."""


def overlay(found: Cells, p: CPWL) -> Overlay:
    """Lays all cells, with their generators in integers, over the pieces; the cells cover all of the domain."""
    assert found.generators is not None
    rows, own = primitive(p.polyhedra.integer()), primitive(found.polyhedra.integer())
    number = _numbers(np.concatenate([rows, own]))
    of_piece, of_cell = number[: len(rows)], number[len(rows) :]
    cell, piece = _candidates(found.inside, p)
    inside = _contained(found, rows, p, cell, piece, of_piece, of_cell)
    cell, piece = cell[inside], piece[inside]
    covered = np.zeros(len(found), dtype=bool)
    covered[cell] = True
    return Overlay(cell, piece, _filled(found, p, cell, piece, of_piece, of_cell), covered)


def _numbers(rows: NDArray[np.object_]) -> NDArray[np.int64]:
    """Equal numbers for equal rows."""
    known: dict[tuple[int, ...], int] = {}
    return np.array([known.setdefault(tuple(row), len(known)) for row in rows.tolist()], dtype=np.int64)


def _candidates(points: NDArray[np.float64], p: CPWL) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a point and a piece that may hold it, as far as floats can see."""
    A, b, start = p.polyhedra.A, p.polyhedra.b, p.polyhedra.start
    cells, pieces = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    empty = np.flatnonzero(np.diff(start) == 0)  # a piece without rows holds everything
    step = max(1, _BLOCK // max(1, len(b)))
    for first in range(0, len(points), step):
        x = points[first : first + step]
        bad = A @ x.T - b[:, None] > 1e-9 * (np.abs(A) @ np.abs(x.T) + np.abs(b)[:, None])
        count = np.zeros((p.num_pieces, len(x)), dtype=np.int64)
        if len(b):
            some = np.flatnonzero(np.diff(start) > 0)
            count[some] = np.add.reduceat(bad, start[some], axis=0, dtype=np.int64)
        count[empty] = 0
        i, c = np.nonzero(count == 0)
        cells.append(first + c)
        pieces.append(i)
    return np.concatenate(cells), np.concatenate(pieces)


def _contained(
    found: Cells,
    rows: NDArray[np.object_],
    p: CPWL,
    cell: NDArray[np.int64],
    piece: NDArray[np.int64],
    of_piece: NDArray[np.int64],
    of_cell: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which of the pairs are a cell inside a piece: at all corners and along all rays all rows hold."""
    assert found.generators is not None
    start = p.polyhedra.start
    row, pair = ranges(start[piece], np.diff(start)[piece])
    # A row that is one of the cell's own holds on it.
    size = int(max(of_piece.max(initial=0), of_cell.max(initial=0))) + 1
    known = np.isin(cell[pair] * size + of_piece[row], found.polyhedra.owner * size + of_cell)
    row, pair = row[~known], pair[~known]
    member, question = ranges(found.start[cell[pair]], np.diff(found.start)[cell[pair]])
    place, asked = found.member[member], row[question]
    good = np.ones(len(cell), dtype=bool)
    good[pair[question[sides(rows, found.generators, asked, place) > 0]]] = False
    return good


def _filled(
    found: Cells,
    p: CPWL,
    cell: NDArray[np.int64],
    piece: NDArray[np.int64],
    of_piece: NDArray[np.int64],
    of_cell: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """The pieces whose cells have neighbours only in the same piece, or across rows of the piece or the domain."""
    facets = np.searchsorted(found.polyhedra.owner, np.arange(len(found) + 1))
    facet, pair = ranges(facets[cell].astype(np.int64), np.diff(facets)[cell].astype(np.int64))
    beyond = found.neighbour[facet]
    within = np.isin(beyond * p.num_pieces + piece[pair], cell * p.num_pieces + piece) & (beyond >= 0)
    size = int(max(of_piece.max(initial=0), of_cell.max(initial=0))) + 1
    border = np.isin(piece[pair] * size + of_cell[facet], p.polyhedra.owner * size + of_piece)
    leak = ~(within | border | (beyond < 0))
    filled = np.zeros(p.num_pieces, dtype=bool)
    filled[piece] = True
    filled[piece[pair[leak]]] = False
    return filled
