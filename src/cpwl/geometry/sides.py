"""On which side of hyperplanes places are: floats first, integers where a rounding bound cannot tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import sign, unit_view

__all__ = ["sides"]

_BLOCK = 1 << 22  # products held at once


def sides(
    rows: NDArray[np.object_], places: NDArray[np.object_], row: NDArray[np.int64], place: NDArray[np.int64]
) -> NDArray[np.int8]:
    """The sign of ``a.x - b`` for pairs of a row and a place, of ``a.r`` for a ray: floats, and integers in doubt.

    >>> rows, places = np.array([[1, 0, 2]], dtype=object), np.array([[2, 5, 1], [7, 0, 3], [-1, 0, 0]], dtype=object)
    >>> sides(rows, places, np.zeros(3, dtype=np.int64), np.arange(3))
    array([ 0,  1, -1], dtype=int8)
    """
    wall, view = unit_view(rows), unit_view(places)
    result = np.empty(len(row), dtype=np.int8)
    step = max(1, _BLOCK // rows.shape[1])
    for first in range(0, len(row), step):
        r, k = row[first : first + step], place[first : first + step]
        terms = wall[r] * view[k]
        value = terms[:, :-1].sum(axis=1) - terms[:, -1]
        signs = np.sign(value).astype(np.int8)
        doubt = np.flatnonzero(np.abs(value) <= 1e-12 * np.abs(terms).sum(axis=1) + 1e-290)
        exact = rows[r[doubt]] * places[k[doubt]]
        signs[doubt] = sign(exact[:, :-1].sum(axis=1) - exact[:, -1])
        result[first : first + step] = signs
    return result
