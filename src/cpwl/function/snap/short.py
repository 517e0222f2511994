"""Short rationals near floats: a fraction of small numbers if one is close by, else a dyadic number on a grid."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["FINE", "Numbers", "meant", "short", "simple"]

_LARGEST = 1000  # denominator of a simple number
_MEANT = 1e-3  # of the tolerance: what is nearer to a simple number is meant to be it
FINE = 2.0**-54
"""How far from a float, relative to the largest of its kind, does not matter."""


def short(x: float, fine: float, snug: float) -> Fraction:
    """The number near `x` to use: a multiple of about `fine`, or simple and nearer than `snug` times as much.

    >>> short(1 / 3 + 1e-15, 2.0**-54, 100), short(math.pi, 2.0**-4, 1e-9)
    (Fraction(1, 3), Fraction(25, 8))
    """
    exact = Fraction(x)
    near = exact.limit_denominator(_LARGEST)
    if abs(near - exact) <= fine * snug:
        return near
    grid = Fraction(2) ** math.floor(math.log2(fine))
    return round(exact / grid) * grid


def simple(x: float, little: float) -> Fraction:
    """The simplest rational nearer than a `little`, if it is simple; else the float.

    >>> simple(1 / 3, 1e-12), simple(1e-15, 1e-12), simple(0.123456789, 1e-12) == Fraction(0.123456789)
    (Fraction(1, 3), Fraction(0, 1), True)
    """
    exact = Fraction(x)
    near = exact.limit_denominator(_LARGEST)
    return near if abs(near - exact) <= little else exact


def meant(laws: NDArray[np.float64], unit: float, tol: float) -> NDArray[np.object_]:
    """Rows ``(gradient, offset)`` of laws in rationals: what is next to a simple number is that number.

    `unit` is the size of the coordinates, and `tol` what the data may be off by, relative.

    >>> meant(np.array([[1e-16, 3.1]]), 1.0, 1e-9)[0, 0]
    Fraction(0, 1)
    """
    units = np.append(np.full(laws.shape[1] - 1, 1 / unit), 1.0)
    little = (_MEANT * tol * float(np.abs(laws / units).max(initial=0.0)) * units).tolist()
    found = np.empty(laws.shape, dtype=object)
    found[:] = [list(map(simple, row, little)) for row in laws.tolist()]
    return found


class Numbers:
    """Unknown numbers: floats near them, how fine each must be, and how near a simple one is meant."""

    def __init__(self, snug: float) -> None:
        self._near: list[float] = []
        self._fine: list[float] = []
        self._snug = snug

    def new(self, near: float, fine: float) -> int:
        """One more, and its index."""
        self._near.append(near)
        self._fine.append(fine)
        return len(self._near) - 1

    @property
    def near(self) -> NDArray[np.float64]:
        return np.array(self._near)

    def chosen(self, k: int) -> Fraction:
        """A short rational near number `k`."""
        return short(self._near[k], self._fine[k], self._snug)
