"""Which simplices of a table have a facet in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["SharedFacets", "shared_facets"]


@dataclass(frozen=True, slots=True, eq=False)
class SharedFacets:
    """Facets with equal corners: the group `g` has the facets ``order[first[g]:first[g] + count[g]]``.

    Facets are numbered simplex by simplex: facet ``i (n + 1) + k`` is the one of simplex `i` without its corner `k`.
    """

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]

    def alone(self) -> NDArray[np.int64]:
        """The facets of one simplex only."""
        return np.asarray(self.order[self.first[self.count == 1]])

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The facets that exactly two simplices have."""
        pair = self.first[self.count == 2]
        return self.order[pair], self.order[pair + 1]


def shared_facets(simplices: NDArray[np.int64]) -> SharedFacets:
    """The facets of all simplices (rows of corner numbers), grouped by their corners.

    >>> shared_facets(np.array([[0, 1, 2], [1, 2, 3]])).pairs()
    (array([0]), array([5]))
    """
    q, size = simplices.shape
    facets = np.stack([np.delete(simplices, k, axis=1) for k in range(size)], axis=1).reshape(q * size, size - 1)
    facets = np.sort(facets, axis=1)
    order = np.lexsort(facets.T[::-1]).astype(np.int64)
    new = np.ones(len(order), dtype=bool)
    new[1:] = (facets[order][1:] != facets[order][:-1]).any(axis=1)
    first = np.flatnonzero(new).astype(np.int64)
    return SharedFacets(order, first, np.diff(np.append(first, len(order))))
