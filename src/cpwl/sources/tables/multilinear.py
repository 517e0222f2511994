"""How far a multilinear table is from the piecewise-linear one on the Kuhn triangulation of the same grid.

In a cell, with coordinates `s` in the unit cube, a multilinear function is ``sum over S of c_S prod_S s_i``; its
interpolant on the Kuhn simplices (the Lovász extension) is ``sum over S of c_S min_S s_i``. So they differ by the sum
of ``c_S (min_S s - prod_S s)`` over sets of two and more, and each bracket is between 0 and its value where all `s_i`
are ``|S|^(-1 / (|S| - 1))``. For two inputs that is ``|c| / 4`` in the middle of a cell, exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Deviation", "deviation"]


@dataclass(frozen=True, slots=True, eq=False)
class Deviation:
    """The largest difference that was found, where, and how much it can be at most (the same for two inputs)."""

    size: float
    at: tuple[float, ...]
    bound: float


def deviation(axes: Sequence[NDArray[np.float64]], values: NDArray[np.float64]) -> Deviation:
    """The largest difference between a multilinear table and its Kuhn interpolant, all outputs together.

    >>> found = deviation([np.array([0.0, 2.0]), np.array([0.0, 1.0])], np.array([[0.0, 0.0], [0.0, 1.0]]))
    >>> found.size, found.at, found.bound
    (0.25, (1.0, 0.5), 0.25)
    """
    n = len(axes)
    table = np.asarray(values, dtype=np.float64)
    flat = table.reshape(*table.shape[:n], -1)
    terms = {s: _mixed(flat, s) for k in range(2, n + 1) for s in itertools.combinations(range(n), k)}
    if not terms:
        return Deviation(0.0, tuple(float(axis[0]) for axis in axes), 0.0)
    bound = sum(np.abs(term) * _most(len(s)) for s, term in terms.items())
    best, where, cell = -1.0, np.zeros(n), np.zeros(n, dtype=np.int64)
    for s in _places(n):
        gap = np.abs(sum(term * (s[list(key)].min() - s[list(key)].prod()) for key, term in terms.items()))
        place = np.unravel_index(int(np.argmax(gap)), gap.shape)
        if gap[place] > best:
            best, where, cell = float(gap[place]), s, np.array(place[:n])
    at = tuple(float(axis[i] + t * (axis[i + 1] - axis[i])) for axis, i, t in zip(axes, cell, where, strict=True))
    return Deviation(best, at, float(np.max(bound)))


def _mixed(values: NDArray[np.float64], directions: tuple[int, ...]) -> NDArray[np.float64]:
    """The coefficient ``c_S`` of each cell: differences along S at the lower corner in all other directions."""
    n = values.ndim - 1
    for axis in range(n):
        if axis in directions:
            values = np.diff(values, axis=axis)
        else:
            values = np.take(values, np.arange(values.shape[axis] - 1), axis=axis)
    return values


def _most(k: int) -> float:
    s = float(np.power(k, -1.0 / (k - 1)))
    return float(s - np.power(s, k))


def _places(n: int) -> list[NDArray[np.float64]]:
    """Where to look in a cell: the middle and the places where a bracket is largest; more for three and more inputs."""
    middle = np.full(n, 0.5)
    if n == 2:
        return [middle]
    levels = (0.25, 0.4, 0.5, 0.577, 0.63, 0.75, 1.0) if n == 3 else (0.4, 0.5, 0.6, 1.0)
    grid = itertools.product(levels, repeat=n) if n <= 4 else ()
    return [middle, *(np.full(n, k ** (-1.0 / (k - 1))) for k in range(2, n + 1)), *map(np.array, grid)]
