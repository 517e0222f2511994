"""Polyhedra without most of their redundant rows: floats propose which to keep, corners decide in integers.

With an inner point as origin, row `i` becomes the point ``a_i / (b_i - a_i.x)``; the rows that matter are the corners
of the convex hull of these points and 0. What floats leave out is verified: a row holds on a polyhedron without lines
iff it holds at its corners and along its rays. A row that is kept in vain changes nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from cpwl.exact.integers import primitive
from cpwl.exact.signs import signs_at
from cpwl.geometry.facets import rows_of, trim
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["irredundant"]


def irredundant(polyhedra: Polyhedra, inner: NDArray[np.object_]) -> Polyhedra:
    """The same polyhedra, each with the interior point ``inner[i]``, by fewer rows; exact.

    >>> square = Polyhedra.from_lists([[[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]]], [[1, 1, 1, 1, 3]])
    >>> len(irredundant(square, np.zeros((1, 2), dtype=object)).b)
    4
    """
    kept = [_proposed(polyhedra, i, inner[i]) for i in range(len(polyhedra))]
    if polyhedra.dim == 1 or not any(len(rows) < _count(polyhedra, i) for i, rows in enumerate(kept)):
        return trim(polyhedra, 0.0)
    proposed = _stack(polyhedra, kept)
    found = generators(proposed)
    unsure = []
    for i, rows in enumerate(kept):  # each polyhedron has corners of its own
        left_out = np.setdiff1d(np.arange(polyhedra.start[i], polyhedra.start[i + 1]), rows)
        places = found.places[found.member[found.start[i] : found.start[i + 1]]]
        if len(left_out) and not (len(places) and _hold(rows_of(polyhedra, left_out.tolist()).integer(), places)):
            unsure.append(i)
    if not unsure:
        return proposed
    slow = trim(polyhedra.take(np.array(unsure)), 0.0)
    bodies = {i: slow[k] for k, i in enumerate(unsure)}
    parts = [bodies.get(i, proposed[i]) for i in range(len(polyhedra))]
    start = np.cumsum([0] + [len(part.b) for part in parts]).astype(np.int64)
    exact = np.concatenate([part.integer() for part in parts])
    return Polyhedra(np.concatenate([p.A for p in parts]), np.concatenate([p.b for p in parts]), start, exact)


def _count(polyhedra: Polyhedra, i: int) -> int:
    return int(polyhedra.start[i + 1] - polyhedra.start[i])


def _proposed(polyhedra: Polyhedra, i: int, inner: NDArray[np.object_]) -> NDArray[np.int64]:
    """The rows of one polyhedron that matter, as far as floats can tell; all of them where they cannot."""
    every = np.arange(polyhedra.start[i], polyhedra.start[i + 1])
    body = polyhedra[i]
    rows = primitive(body.integer())
    first = {tuple(row): k for k, row in reversed(list(enumerate(rows)))}
    distinct = np.array(sorted(first.values()), dtype=np.int64)
    x = np.asarray(inner, dtype=np.float64)
    A, b = body.A[distinct], body.b[distinct]
    slack = b - A @ x
    if len(distinct) <= polyhedra.dim or not (slack > 0).all():
        return every[distinct]
    points = np.vstack([A / slack[:, None], np.zeros(polyhedra.dim)])
    try:
        corners = ConvexHull(points).vertices
    except (QhullError, ValueError):  # flat: the polyhedron contains a line
        return every[distinct]
    return np.asarray(every[distinct[np.sort(corners[corners < len(distinct)])]])


def _stack(polyhedra: Polyhedra, kept: list[NDArray[np.int64]]) -> Polyhedra:
    start = np.cumsum([0] + [len(rows) for rows in kept]).astype(np.int64)
    body = rows_of(polyhedra, np.concatenate(kept).tolist())
    return Polyhedra(body.A, body.b, start, body.exact)


def _hold(rows: NDArray[np.object_], places: NDArray[np.object_]) -> bool:
    """Whether ``a.x <= b`` holds at all places, for all rows."""
    laws = np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1)
    return bool((signs_at(laws, places) <= 0).all())
