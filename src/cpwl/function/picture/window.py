"""The box in which a function is drawn: all of a bounded domain, otherwise where it bends and some room around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.function.cpwl import CPWL
from cpwl.geometry.polyhedra import box_polyhedron

__all__ = ["box_rows", "window_of"]

_ROOM = 0.3  # of the width, on each side, where the domain goes on
_FEW = 50  # corners up to which none is far off for a picture


def window_of(p: CPWL, box: tuple[Any, Any] | None = None) -> NDArray[np.float64]:
    """Rows ``(low, high)``, one an input; `box`, where given, is taken as it is.

    >>> from cpwl.function import CPWL
    >>> window_of(CPWL.from_simplices([[0, 0], [4, 0], [0, 2]], [[0, 1, 2]], [1, 2, 3])).tolist()
    [[0.0, 4.0], [0.0, 2.0]]
    >>> window_of(CPWL.from_breakpoints([0, 4], [0, 1], left_slope=0)).tolist()
    [[-1.0, 1.0]]
    """
    if box is not None:
        return box_rows(box, p.dim)
    if p.mesh is not None:
        corners = p.mesh.points[np.unique(p.mesh.simplices)]
        return _wide(corners.min(axis=0), corners.max(axis=0))
    found = p.polyhedra.extents()
    points = found.points[np.isfinite(found.points).all(axis=1)]
    if len(points) == 0:
        return np.tile([-1.0, 1.0], (p.dim, 1))
    if len(found.rays) == 0:
        return _wide(points.min(axis=0), points.max(axis=0))
    if len(points) > _FEW:  # nearly parallel facets meet far away; nobody wants to see that
        low, high = np.quantile(points, [0.02, 0.98], axis=0)
    else:
        low, high = points.min(axis=0), points.max(axis=0)
    # Corners of float data are where rounding has put them; those of exact data may have units far apart.
    noise = 1e3 * p.tol * float(np.abs(points).max())
    low, high = np.where(_flat(low, high, noise), (low + high) / 2, [low, high])
    span = float((high - low).max())
    if not span:
        return _wide(low, high)
    # Where all corners have one coordinate in common, as much is seen of it as of the widest.
    room = np.where(high > low, _ROOM * (high - low), (0.5 + _ROOM) * span)
    return _wide(low - room, high + room)


def box_rows(box: tuple[Any, Any], dim: int) -> NDArray[np.float64]:
    """A box as rows ``(low, high)``."""
    bound = box_polyhedron(box, dim).b
    return np.stack([-bound[dim:], bound[:dim]], axis=1)


def _flat(low: NDArray[np.float64], high: NDArray[np.float64], noise: float = 0.0) -> NDArray[np.bool_]:
    """Coordinates in which all corners are the same, but for rounding."""
    flat: NDArray[np.bool_] = high - low <= 1e-9 * np.maximum(np.abs(low), np.abs(high)) + noise
    return flat


def _wide(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The box, with some width in every direction."""
    room = np.where(_flat(low, high), np.maximum(1.0, np.abs(low) * 0.5), 0.0)
    box = np.stack([low - room, high + room], axis=1)
    # Corners are floats: ends that are off a short decimal by rounding are that decimal.
    return np.array([[float(f"{end:.12g}") for end in row] for row in box])
