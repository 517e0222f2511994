"""What is seen of the pieces in a rectangle: convex polygons, clipped and not sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cpwl.function.cpwl import CPWL

__all__ = ["Array", "Polygon", "clip", "polygons"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Polygon:
    """What is seen of a piece in a square: its corners ``(v, 2)`` in order, and its law ``a x + b y + c``."""

    corners: Array
    law: Array

    @property
    def values(self) -> Array:
        """The function at the corners."""
        return np.asarray(self.corners @ self.law[:2] + self.law[2])


def clip(corners: Array, normal: Array, bound: float) -> Array:
    """The part of a convex polygon where ``normal . x <= bound`` (Sutherland and Hodgman, one half-plane).

    >>> clip(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]), np.array([1.0, 0.0]), 0.5)
    array([[0. , 0. ],
           [0.5, 0. ],
           [0.5, 1. ],
           [0. , 1. ]])
    """
    excess = corners @ normal - bound
    kept: list[Array] = []
    for i in range(len(corners)):
        j = (i + 1) % len(corners)
        if excess[i] <= 0:
            kept.append(corners[i])
        if excess[i] * excess[j] < 0:
            kept.append(corners[i] + (corners[j] - corners[i]) * excess[i] / (excess[i] - excess[j]))
    return np.array(kept).reshape(-1, 2)


def polygons(
    p: CPWL, low: ArrayLike, high: ArrayLike, *, through: Array | None = None, output: int = 0
) -> list[Polygon]:
    """The pieces of one output between `low` and `high`, numbers for both coordinates or one for each.

    With more than two inputs, on the plane of the first two that goes through a point (default: 0).

    >>> from cpwl.function import CPWL
    >>> absolute = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[-1, 0], [1, 0]], [0, 0])
    >>> [len(polygon.corners) for polygon in polygons(absolute, -1, 1)]
    [4, 4]
    """
    (left, bottom), (right, top) = (np.broadcast_to(np.asarray(v, dtype=np.float64), 2) for v in (low, high))
    frame = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
    others = np.zeros(p.dim - 2) if through is None else through[2:]
    found = []
    # A loop over pieces: pictures are for people, who tell apart a few hundred at most.
    for piece, slope, offset in zip(p.polyhedra, p.laws.gradient[:, output], p.laws.offset[:, output], strict=True):
        corners = frame
        for normal, bound in zip(piece.A[:, :2], piece.b - piece.A[:, 2:] @ others, strict=True):
            corners = clip(corners, normal, float(bound))
        if len(corners) > 2:
            found.append(Polygon(corners, np.array([*slope[:2], offset + slope[2:] @ others])))
    return found
