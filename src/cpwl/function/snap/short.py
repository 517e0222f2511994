"""Short rationals near floats: a fraction of small numbers if one is close by, else a dyadic number on a grid."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL
from cpwl.function.scale import scale_of

__all__ = ["FINE", "Numbers", "meant", "meant_laws", "short", "simple"]

_LARGEST = 1000  # denominator of a simple number
_MEANT = 1e-3  # of the tolerance: what is nearer to a simple number is meant to be it
_LAST = 2.0**-50  # four units in the last place: what rounding leaves of a 0
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


def meant(p: CPWL, output: int) -> NDArray[np.object_]:
    """The components of one output of float data, rows ``(gradient, offset)`` of rationals, as they were meant.

    What is next to a simple number, such as 0, is that number: within a part of the tolerance, relative to the laws of
    that output, or within rounding of the largest law of all outputs.
    """
    unit = scale_of(p.polyhedra, p.laws, p.tol).unit
    units = np.append(np.full(p.dim, 1 / unit), 1.0)
    near = p.components(output).coefficients()[:, 0]
    own, whole = (float(np.abs(laws / units).max(initial=0.0)) for laws in (near, p.laws.coefficients()))
    little = (max(_MEANT * p.tol * own, _LAST * whole) * units).tolist()
    found = np.empty(near.shape, dtype=object)
    found[:] = [list(map(simple, row, little)) for row in near.tolist()]
    return found


def meant_laws(p: CPWL) -> NDArray[np.object_]:
    """The law that each output of each piece takes, its coefficients as they were meant, as integer rows."""
    found = np.empty((p.num_pieces, p.outputs, p.dim + 2), dtype=object)
    for j in range(p.outputs):
        laws = p.components(j)
        rows = laws.integer()[:, 0]
        if laws.exact is None:
            near = meant(p, j)
            whole = np.column_stack([near, fraction_array(np.ones(len(near)))])
            rows = integer_rows(np.zeros(whole.shape), whole)
        found[:, j] = rows[p.component[:, j]]
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
