"""Which of a few places span the others, exactly."""

from __future__ import annotations

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.exact.simplex import maximize

__all__ = ["extreme_places", "rank"]


def rank(places: NDArray[np.object_]) -> int:
    """The rank of integer rows."""
    return int(fmpz_mat(*places.shape, places.ravel().tolist()).rank()) if len(places) else 0


def extreme_places(places: NDArray[np.object_]) -> NDArray[np.object_]:
    """Places, corners ``(x, 1) w`` and rays ``(r, 0)``, that are no nonnegative combination of the others.

    >>> extreme_places(np.array([[0, 1], [1, 1], [3, 2], [2, 1]], dtype=object)).tolist()
    [[0, 1], [2, 1]]
    """
    if len(places) <= 2 or rank(places) == len(places):
        return places
    kept = list(range(len(places)))
    for k in range(len(places)):
        others = [i for i in kept if i != k]
        if _is_combination(places[k], places[others]):
            kept = others
    return places[kept]


def _is_combination(place: NDArray[np.object_], others: NDArray[np.object_]) -> bool:
    """Whether no hyperplane through the origin parts the place from the others (Farkas)."""
    if not len(others):
        return False
    zero = np.zeros((len(others), 1), dtype=object)
    rows = np.column_stack([others, zero])
    return maximize(rows, [int(v) for v in place]).status == "optimal"
