"""The cells of a network laid over the pieces of a function: which cell is inside which piece.

A cell is inside a piece iff its corners and rays are. A piece that has all of a cell's neighbours across facets that
are not in its own boundary is filled by its cells: a convex set cannot be left except through its boundary. So facets
and corners alone, without a linear program, show that there is nothing else to compare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive, sign, unit_view
from cpwl.function import CPWL
from cpwl.regions.cells import Cells
from cpwl.regions.subdivide.faces import ranges

__all__ = ["Overlay", "box_pairs", "overlay", "sides"]

_BLOCK = 1 << 22  # products held at once
_FEW = 1 << 12  # pairs that are compared at once


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


def sides(
    rows: NDArray[np.object_], places: NDArray[np.object_], row: NDArray[np.int64], place: NDArray[np.int64]
) -> NDArray[np.int8]:
    """The sign of ``a.x - b`` for pairs of a row and a place, of ``a.r`` for a ray: floats, and integers in doubt.

    >>> rows, places = np.array([[1, 0, 2]], dtype=object), np.array([[2, 5, 1], [7, 0, 3], [-1, 0, 0]], dtype=object)
    >>> sides(rows, places, np.zeros(3, dtype=np.int64), np.arange(3))
    array([ 0,  1, -1], dtype=int8)
    """
    wall, view = unit_view(rows), unit_view(places)
    result = np.empty(len(row), dtype=np.int8)
    step = max(1, _BLOCK // rows.shape[1])
    for first in range(0, len(row), step):
        r, k = row[first : first + step], place[first : first + step]
        terms = wall[r] * view[k]
        value = terms[:, :-1].sum(axis=1) - terms[:, -1]
        signs = np.sign(value).astype(np.int8)
        doubt = np.flatnonzero(np.abs(value) <= 1e-12 * np.abs(terms).sum(axis=1) + 1e-290)
        exact = rows[r[doubt]] * places[k[doubt]]
        signs[doubt] = sign(exact[:, :-1].sum(axis=1) - exact[:, -1])
        result[first : first + step] = signs
    return result


def box_pairs(
    low: NDArray[np.float64], high: NDArray[np.float64], others: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Pairs ``(i, j)`` of boxes of two families that meet, in order: halved in turn along each axis until few are left.

    >>> box_pairs(np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]]), (np.array([[0.5]]), np.array([[2.5]])))
    array([[0, 0],
           [1, 0]])
    """
    found = [np.zeros((0, 2), dtype=np.int64)]
    waiting = [(np.arange(len(low)), np.arange(len(others[0])), 0, 0)]
    while waiting:
        one, two, axis, idle = waiting.pop()
        if len(one) * len(two) <= _FEW or idle == low.shape[1]:
            meet = (low[one][:, None] <= others[1][two]).all(axis=2) & (others[0][two] <= high[one][:, None]).all(
                axis=2
            )
            i, j = np.nonzero(meet)
            found.append(np.stack([one[i], two[j]], axis=1))
            continue
        middle = np.clip(np.concatenate([low[one, axis], others[0][two, axis]]), -1e300, 1e300)
        at = float(np.median(middle))
        parts = [
            (one[low[one, axis] <= at], two[others[0][two, axis] <= at]),
            (one[high[one, axis] > at], two[others[1][two, axis] > at]),
        ]
        useless = max(len(a) * len(b) for a, b in parts) > 0.75 * len(one) * len(two)
        turn = (axis + 1) % low.shape[1]
        if useless:
            waiting.append((one, two, turn, idle + 1))
        else:
            waiting += [(a, b, turn, 0) for a, b in parts]
    return np.unique(np.concatenate(found), axis=0)


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
