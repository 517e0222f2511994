"""Corners and extreme rays of small polyhedra, exactly, by trying all subsets of rows.

For pieces with few rows in few dimensions this is cheaper than linear programs, and it decides every affine
function at once: one is at least 0 on a pointed polyhedron iff it is so at the corners and along the rays.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import adjugate, primitive, sign, unit_view

__all__ = ["Corners", "corners"]

_MOST = 400  # subsets of rows to try


@dataclass(frozen=True, slots=True, eq=False)
class Corners:
    """Integer rows ``(x, 1) * w`` with ``w > 0`` for corners, and ``(r, 0)`` for extreme rays."""

    places: NDArray[np.object_]

    def signs(self, laws: NDArray[np.object_], floats: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
        """The sign of each affine function ``(g, o)`` (integers) at each corner, and along each ray.

        Floats decide where a bound on their rounding allows it, integers elsewhere; `floats` is ``unit_view(laws)`` for
        those who ask about the same laws again.
        """
        view, f = unit_view(self.places), unit_view(laws) if floats is None else floats
        value, size = f @ view.T, np.abs(f) @ np.abs(view).T
        signs = np.sign(value).astype(np.int64)
        law, place = np.nonzero(np.abs(value) <= 4 * (laws.shape[1] + 2) * np.finfo(np.float64).eps * size)
        signs[law, place] = sign((laws[law] * self.places[place]).sum(axis=1))
        return signs


def corners(rows: NDArray[np.object_]) -> Corners | None:
    """The corners and rays of ``a.x <= b`` for integer rows ``(a, b)``.

    None if there are too many subsets to try, or if the polyhedron contains a line.

    >>> quadrant = np.array([[-1, 0, 0], [0, -1, 0]], dtype=object)
    >>> corners(quadrant).places.tolist()
    [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    """
    n = rows.shape[1] - 1
    if len(rows) < n or math.comb(len(rows), n) + math.comb(len(rows), n - 1) > _MOST:
        return None
    points = _points(rows, n)
    if len(points) == 0:
        return None  # empty, or it contains a line
    return Corners(np.concatenate([points, _rays(rows, n)]))


def _points(rows: NDArray[np.object_], n: int) -> NDArray[np.object_]:
    subsets = np.array(list(itertools.combinations(range(len(rows)), n)), dtype=np.int64)
    chosen = rows[subsets]
    det, adj = adjugate(chosen[..., :-1])
    regular = det != 0
    det, adj, right = det[regular], adj[regular], chosen[regular][..., -1]
    x = (adj * right[:, None, :]).sum(axis=2) * sign(det)[:, None]
    places = np.column_stack([x, np.abs(det)])
    inside = (places[:, None, :-1] * rows[None, :, :-1]).sum(axis=2) <= places[:, -1:] * rows[None, :, -1]
    return _distinct(places[inside.all(axis=1)])


def _rays(rows: NDArray[np.object_], n: int) -> NDArray[np.object_]:
    """Directions held by ``n - 1`` rows: the kernel of each such subset, if it is a line, in both senses."""
    subsets = list(itertools.combinations(range(len(rows)), n - 1))
    if n == 1:
        kernel = np.array([[1]], dtype=object)
    else:
        chosen = rows[np.array(subsets, dtype=np.int64)][..., :-1]
        minors = [_minor(chosen, j) * (-1) ** j for j in range(n)]
        kernel = np.stack(minors, axis=1)
    directions = np.concatenate([kernel, -kernel])
    directions = directions[(directions != 0).any(axis=1)]
    falling = (directions[:, None] * rows[None, :, :-1]).sum(axis=2) <= 0
    rays = directions[falling.all(axis=1)]
    return _distinct(np.column_stack([rays, np.zeros(len(rays), dtype=np.int64)]).astype(object))


def _minor(matrices: NDArray[np.object_], column: int) -> NDArray[np.object_]:
    rest = np.delete(matrices, column, axis=2)
    return adjugate(rest)[0]


def _distinct(places: NDArray[np.object_]) -> NDArray[np.object_]:
    keys = dict.fromkeys(tuple(row) for row in primitive(places))
    return np.array(list(keys), dtype=object).reshape(len(keys), places.shape[1])
