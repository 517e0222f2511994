"""Where lines cross in a convex domain of the plane: points at which everything that bends on them only is decided."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import sign
from cpwl.function.bends.edges import cross

__all__ = ["crossings"]


def crossings(forms: NDArray[np.object_], boundary: NDArray[np.object_], *, bounded: bool) -> NDArray[np.object_]:
    """All points ``(X, Y, W)`` of the domain on two of the forms or edges; ``W = 0`` for directions of the domain.

    The domain is where all `boundary` forms are at least 0.
    """
    infinity = np.array([[0, 0, 1]], dtype=object)
    every = np.concatenate([forms, boundary] if bounded else [forms, boundary, infinity])
    one, two = np.triu_indices(len(every), 1)
    points = cross(every[one], every[two])
    points = points[(points != 0).any(axis=1)]
    points = points * np.where(sign(points[:, 2]) < 0, -1, 1).astype(object)[:, None]
    far = points[:, 2] == 0
    points = points[~far] if bounded else np.concatenate([points, -points[far]])
    return points[((points @ boundary.T) >= 0).all(axis=1)] if len(boundary) else points
