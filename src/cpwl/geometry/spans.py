"""What spans polyhedra: corners and rays in homogeneous coordinates, numbered once for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import unit_view
from cpwl.geometry.generators import Generators

__all__ = ["Spans"]


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Polyhedron `i` is spanned by the places ``member[start[i]:start[i + 1]]``; by none: nobody has looked.

    >>> from cpwl.geometry.generators import generators
    >>> from cpwl.geometry.polyhedra import Polyhedra
    >>> spans = Spans.of(generators(Polyhedra.from_lists([[[1], [-1]], [[-1]]], [[3, 1], [-3]])))
    >>> spans.view[spans.of_piece(0)].tolist(), spans.view[spans.of_piece(1)].tolist()
    ([[1.0, 0.3333333333333333], [-1.0, 1.0]], [[1.0, 0.3333333333333333], [1.0, 0.0]])
    """

    view: NDArray[np.float64]
    """Rows ``(x, 1) * w`` with ``w > 0`` for a corner and ``(r, 0)`` for a ray; the largest entry is 1, and none is off
    by more than 1e-10."""
    exact: NDArray[np.object_] | None
    """The same in integers, up to positive factors, where decisions are to be exact."""
    start: NDArray[np.int64]
    member: NDArray[np.int64]
    rank: int
    """In how many directions the polyhedra end: so many independent rows, with the one at infinity, hold a place."""

    @classmethod
    def of(cls, found: Generators) -> Spans:
        """Corners and rays that were computed exactly."""
        return cls(unit_view(found.places), found.places, found.start, found.member, found.places.shape[1] - 1)

    @classmethod
    def of_simplices(
        cls, points: NDArray[np.float64], corners: NDArray[np.object_], simplices: NDArray[np.int64]
    ) -> Spans:
        """The corners of simplices: `points` as floats, and in integers ``(x, 1) * w``."""
        count, size = simplices.shape
        view = np.column_stack([points, np.ones(len(points))])
        view /= np.abs(view).max(axis=1, keepdims=True)
        start = np.arange(0, count * size + 1, size, dtype=np.int64)
        return cls(view, corners, start, simplices.ravel(), size - 1)

    def of_piece(self, i: int) -> NDArray[np.int64]:
        """The places that span polyhedron `i`."""
        return self.member[self.start[i] : self.start[i + 1]]
