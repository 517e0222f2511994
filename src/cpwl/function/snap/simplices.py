"""Simplices given by rounded half-spaces and laws, put together again from their welded corners.

Around a corner of a triangulation there are more laws than can meet exactly by chance. But a triangulated table is
exactly consistent whatever its numbers are: each corner takes the middle of what the laws around it say there.
"""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import CpwlWarning
from cpwl.function.make import parts_of_simplices
from cpwl.function.parts import Laws, Parts
from cpwl.function.snap.complex import FloatComplex, Unfit

__all__ = ["pulled", "simplices_of", "simplices_of_piece", "table"]

_THIN = 1e-6  # of the box around a piece: triangles of less are next to nothing


def simplices_of(complex_: FloatComplex) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The corners of each piece, and the number of the piece, if all pieces are simplices.

    A simplex thinner than the noise has the welded corners that satisfy all its rows.
    """
    n = complex_.dim
    if complex_.box is not None:
        raise Unfit("a piece is unbounded")
    cells, pieces = [], []
    for i, own in enumerate(complex_.own):
        if len(own) <= n:
            A, b = complex_.rows(i)
            own = np.flatnonzero((complex_.vertices @ A.T - b <= complex_.widths[:, None]).all(axis=1))
            if len(own) <= n:
                continue
        if len(own) != n + 1:
            raise Unfit(f"piece {i} is not a simplex")
        cells.append(own)
        pieces.append(i)
    if not cells:
        raise Unfit("no piece has an interior")
    return np.array(cells), np.array(pieces)


def table(exact: NDArray[np.object_], laws: Laws, cells: NDArray[np.int64], pieces: NDArray[np.int64]) -> Parts:
    """The table on `exact` corners: at each the middle of what the laws of the pieces around say, as far from the
    least as from the largest."""
    vertices = exact.astype(np.float64)
    owner, corner = np.repeat(pieces, cells.shape[1]), cells.ravel()
    values = np.einsum("kmn,kn->km", laws.gradient[owner], vertices[corner]) + laws.offset[owner]
    used, number = np.unique(corner, return_inverse=True)
    low, high = (np.full((len(used), laws.outputs), side * np.inf) for side in (1, -1))
    np.minimum.at(low, number.ravel(), values)
    np.maximum.at(high, number.ravel(), values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CpwlWarning)  # of simplices without interior
        parts = parts_of_simplices(exact[used], number.reshape(cells.shape), low + (high - low) / 2)
    if len(parts.polyhedra) != len(cells):
        raise Unfit("some of the simplices have no interior")
    return parts


def pulled(complex_: FloatComplex) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every piece cut into simplices by pulling its first vertex, face by face: they meet if the pieces do."""
    n = complex_.dim
    if complex_.box is not None:
        raise Unfit("unbounded pieces are not triangulated")
    extra = sum(len(complex_.cells[i]) - len(complex_.own[i]) for i in complex_.solid)
    if extra and n > 2:
        raise Unfit(f"pieces do not meet face to face: {extra} corners lie in faces of others")
    cells: list[tuple[int, ...]] = []
    pieces: list[int] = []
    for i in complex_.solid:
        parts = _fan(complex_, i) if n == 2 else _pull(complex_, i)
        cells += parts
        pieces += [i] * len(parts)
    return np.array(cells), np.array(pieces)


def simplices_of_piece(
    complex_: FloatComplex, i: int, centre: int
) -> tuple[list[tuple[int, ...]], list[Fraction] | None]:
    """The simplices of a piece; around its centre, which has that number, where there are none else."""
    if complex_.dim > 2:
        if len(complex_.cells[i]) != len(complex_.own[i]):
            raise Unfit(f"corners of others lie in faces of piece {i}, which would have to be cut up")
        return _pull(complex_, i), None
    found = _fan(complex_, i)
    x = complex_.vertices[np.array(found)]
    one, two = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    size = np.ptp(complex_.vertices[complex_.cells[i]], axis=0).prod()
    if (np.abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]) > _THIN * size).all():
        return found, None
    around = complex_.vertices[complex_.cells[i]] - complex_.centres[i]
    ring = complex_.cells[i][np.argsort(np.arctan2(around[:, 1], around[:, 0]))].tolist()
    sides = zip(ring, ring[1:] + ring[:1], strict=True)
    return [(u, v, centre) for u, v in sides], [Fraction(x) for x in complex_.centres[i].tolist()]


def _fan(complex_: FloatComplex, i: int) -> list[tuple[int, ...]]:
    """Triangles of a polygon, with the corners of others on its sides: from the vertex that leaves the fattest."""
    cell = complex_.cells[i]
    around = complex_.vertices[cell] - complex_.centres[i]
    cell = cell[np.argsort(np.arctan2(around[:, 1], around[:, 0]))]
    points, count = complex_.vertices[cell], len(cell)
    best: tuple[float, list[tuple[int, ...]]] = (-np.inf, [])
    for s in range(count):
        ring = np.roll(np.arange(count), -s)
        one, two = points[ring[1:-1]] - points[s], points[ring[2:]] - points[s]
        area = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
        if area.min() > best[0]:
            best = (float(area.min()), [tuple(cell[[s, u, v]].tolist()) for u, v in pairwise(ring[1:])])
    return best[1]


def _pull(complex_: FloatComplex, i: int) -> list[tuple[int, ...]]:
    cell, on = complex_.cells[i], complex_.on[i]
    sets = {frozenset(cell[on[:, r]].tolist()) for r in range(on.shape[1]) if on[:, r].sum() >= complex_.dim}
    facets = [face for face in sets if not any(face < other for other in sets)]

    def pull(face: frozenset[int], dim: int) -> list[tuple[int, ...]]:
        if dim == 0:
            return [tuple(face)]
        first = min(face)
        parts = {face & other for other in facets} - {face}
        sides = [part for part in parts if len(part) >= dim and not any(part < other for other in parts)]
        return [(first, *rest) for side in sides if first not in side for rest in pull(side, dim - 1)]

    return pull(frozenset(cell.tolist()), complex_.dim)
