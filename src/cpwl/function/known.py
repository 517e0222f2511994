"""What the maker of a function knows about its pieces: whoever asks later need not find it out again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Known"]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Facts about the pieces of one function; whoever sets them vouches for them. Arrays are read-only.

    ``extract`` fills it in, and ``CPWL(..., known=Known(...))`` carries it; doctor, merge, neighbours and
    sample read it. Steps that change the pieces keep what is still true (`take`), and drop the rest.

    >>> known = Known(np.array([[-1.0], [1.0]]), np.array([[0, 1, 0]]), complete=True)
    >>> known.take(np.array([1])).inner, known.take(np.array([1])).complete
    (array([[1.]]), False)
    """

    inner: NDArray[Any] | None = None
    """``(q, n)``: a point strictly inside each piece, rational (objects) or float."""
    neighbours: NDArray[np.int64] | None = None
    """Rows ``(i, j, r)``: pieces `i` and `j` have one and the same facet, on the hyperplane of row `r` of the stack,
    which is a row of piece `i`. All facets inside the domain are there, each once or in both senses, and a row that is
    not there has no other piece beyond it."""
    complete: bool = False
    """Proved: each piece has an interior, they cover the (convex) domain once, and neighbours agree where they meet."""

    def __post_init__(self) -> None:
        for array in (self.inner, self.neighbours):
            if array is not None:
                array.setflags(write=False)

    def take(self, which: NDArray[np.int64]) -> Known:
        """What is known of some of the pieces, in that order: their inner points, and neighbours no longer.

        Rows have other numbers then, and a facet may have lost its neighbour.
        """
        return Known(None if self.inner is None else self.inner[which])

    def on_coordinates(self, coordinates: NDArray[np.int64]) -> Known:
        """What is known on the subspace of essential coordinates, which is a part of the domain times a subspace.

        The pieces, seen along the lineality space, are the same; an inner point is found from another one only if the
        coordinates that are left out are 0 there.
        """
        inner = self.inner
        if inner is not None:
            rest = np.delete(np.arange(inner.shape[1]), coordinates)
            inner = None if (inner[:, rest] != 0).any() else inner[:, coordinates]
        return Known(inner, self.neighbours, self.complete)
