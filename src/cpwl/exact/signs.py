"""Floats first, integers if in doubt: the signs of scalar products of integer rows, exactly.

The bound. `unit_view` rounds every entry once. A product of two such entries is rounded once more, and a sum of `m` of
them `m - 1` times. So a sum is off by at most ``(m + 2) u`` of the sum of the sizes of its terms, up to higher orders,
with ``u = eps / 2``; `rounding` allows eight times that. Entries and products that underflow are off by the smallest
float, which the smallest normal one covers for any `m` that fits into memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import sign, unit_view

__all__ = ["rounding", "sides", "signs_at"]

_EPS, _TINY = np.finfo(np.float64).eps, np.finfo(np.float64).tiny
_BLOCK = 1 << 22  # products held at once

Floats = NDArray[np.float64]
Integers = NDArray[np.object_]


def rounding(size: Floats, terms: int, largest: float = 1.0) -> Floats:
    """What a sum of products may be off by, if each factor was rounded once: a sum within that has no sign yet.

    `size` is the sum of the sizes of its `terms` products, and `largest` what one factor of a product is at most, the
    other being at most 1.
    """
    return np.asarray(4 * (terms + 2) * _EPS * size + _TINY * max(1.0, largest))


def signs_at(rows: Integers, places: Integers, view: Floats | None = None) -> NDArray[np.int64]:
    """``[r, k]``: the sign of the scalar product of row `r` and place `k`.

    `view` is ``unit_view(rows)``, for those who ask about the same rows again.

    >>> signs_at(np.array([[1, 0, -2]], dtype=object), np.array([[2, 5, 1], [7, 0, 3], [-1, 0, 0]], dtype=object))
    array([[ 0,  1, -1]])
    """
    left, right = unit_view(rows) if view is None else view, unit_view(places)
    value, size = left @ right.T, np.abs(left) @ np.abs(right).T
    found = np.sign(value).astype(np.int64)
    row, place = np.nonzero(np.abs(value) <= rounding(size, rows.shape[1]))
    found[row, place] = sign((rows[row] * places[place]).sum(axis=1))
    return found


def sides(rows: Integers, places: Integers, row: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int8]:
    """The sign of ``a.x - b`` for pairs of a row ``(a, b)`` and a corner ``(x, 1) * w``; of ``a.r`` for a ray.

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
        found = np.sign(value).astype(np.int8)
        doubt = np.flatnonzero(np.abs(value) <= rounding(np.abs(terms).sum(axis=1), rows.shape[1]))
        # Polyhedra that have a row and a place in common ask the same question.
        asked, answer = np.unique(np.stack([r[doubt], k[doubt]], axis=1), axis=0, return_inverse=True)
        exact = rows[asked[:, 0]] * places[asked[:, 1]]
        found[doubt] = sign(exact[:, :-1].sum(axis=1) - exact[:, -1])[answer.ravel()]
        result[first : first + step] = found
    return result
