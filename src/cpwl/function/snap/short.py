"""Short rationals near floats: numbers as they were meant, and points moved onto hyperplanes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.exact.integers import homogeneous
from cpwl.exact.rational import from_flint, to_flint
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import scale_of

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
            rows = homogeneous(meant(p, j))
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


# A point moved exactly onto hyperplanes that it is near, in as few coordinates as there are hyperplanes.


def independent(normals: NDArray[np.float64], skew: float) -> list[int]:
    """The first of these rows of length 1, and each after it that is independent of those before, by more than `skew`.

    >>> independent(np.array([[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]), 1e-6)
    [0, 2]
    """
    chosen: list[int] = []
    for k in range(len(normals)):
        more = len(chosen) < normals.shape[1]
        if more and np.linalg.svd(normals[[*chosen, k]], compute_uv=False)[-1] > skew:
            chosen.append(k)
    return chosen


def onto(
    point: NDArray[np.object_], normals: NDArray[np.float64], rows: Sequence[Sequence[Any]]
) -> NDArray[np.object_]:
    """The point on all hyperplanes ``a . x = b``, independent rows ``(a, b)`` of rationals with these float `normals`.

    >>> onto(np.array([Fraction(1), Fraction(2)]), np.array([[0.6, 0.8]]), [[3, 4, 12]]).tolist()
    [Fraction(1, 1), Fraction(9, 4)]
    """
    moved: list[int] = []
    for _ in rows:
        free = [j for j in range(len(point)) if j not in moved]
        size = [abs(np.linalg.svd(normals[:, [*moved, j]], compute_uv=False)[-1]) for j in free]
        moved.append(free[int(np.argmax(size))])
    left = [[to_flint(row[j]) for j in moved] for row in rows]
    rest = [j for j in range(len(point)) if j not in moved]
    right = [[to_flint(row[-1] - sum((row[j] * point[j] for j in rest), Fraction(0)))] for row in rows]
    solved = fmpq_mat(left).solve(fmpq_mat(right))
    found = point.copy()
    found[moved] = [from_flint(solved[t, 0]) for t in range(len(moved))]
    return np.asarray(found)
