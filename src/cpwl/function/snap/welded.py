"""Simplices given by rounded half-spaces and laws, put together again from their corners.

Around a corner of a triangulation there are more laws than can meet exactly by chance. But a triangulated table is
exactly consistent whatever its numbers are: so corners that nearly coincide become one, each takes the value of one of
its laws, and the laws follow from the values.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from cpwl.function.cpwl import CPWL
from cpwl.function.make import parts_of_simplices
from cpwl.function.snap.frame import Frame

__all__ = ["from_corners"]


def from_corners(frame: Frame, reach: float) -> CPWL | None:
    """The table on the corners of the pieces, simplex by simplex; None if that is not what they are.

    Corner `k` of a piece is the one off its facet number `k`. Corners closer than 10 tol, relative to `reach`, are one.
    """
    p, size = frame.p, frame.p.dim + 1
    if any(len(facets) != size for facets in frame.facets.values()) or len(frame.facets) < p.num_pieces:
        return None
    rows = np.array([[f.row for f in frame.facets[i]] for i in range(p.num_pieces)])
    others = np.array([np.delete(np.arange(size), k) for k in range(size)])
    try:
        corners = np.linalg.solve(p.polyhedra.A[rows[:, others]], p.polyhedra.b[rows[:, others]][..., None])[..., 0]
    except np.linalg.LinAlgError:  # as many facets as a simplex, but unbounded
        return None
    points = corners.reshape(-1, p.dim)
    pairs = cKDTree(points).query_pairs(10 * p.tol * reach, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(points), len(points)))
    number = connected_components(graph, directed=False)[1]
    cells = number.reshape(-1, size)
    if (np.diff(np.sort(cells, axis=1), axis=1) == 0).any():
        return None
    first = np.unique(number, return_index=True)[1]
    owner = first // size
    values = np.einsum("vmn,vn->vm", p.laws.gradient[owner], points[first]) + p.laws.offset[owner]
    return CPWL.from_parts(parts_of_simplices(points[first], cells, values))
