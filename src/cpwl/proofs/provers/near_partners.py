"""Points and directions of a polyhedron near given ones, and how fast what differs may grow: proposals in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.errors import SolverError
from cpwl.exact.flint import from_flint, to_flint
from cpwl.geometry.linear_program import LinearProgram
from cpwl.proofs.no_proof import NoProof

__all__ = ["NotNear", "Point", "distance", "least_slope", "nearest"]

Point = list[Fraction]
Rows = Sequence[Sequence[int]]


class NotNear(NoProof):
    """There is no consistent function near the data, or it is not near enough to prove anything."""


def distance(x: Point, y: Point) -> Fraction:
    """The largest difference of coordinates."""
    return max(abs(u - v) for u, v in zip(x, y, strict=True))


def nearest(rows: Rows, x: Point, places: list[Point], last: int) -> Point | None:
    """A point near `x` where all rows ``(c, d)`` have ``c . x + d last >= 0``: `x` itself, one of `places`, or the foot
    of `x` on some rows, of which one more is taken as long as one is negative there."""
    foot: Point | None = x
    active: list[int] = []
    while foot is not None:
        place = [*foot, Fraction(last)]
        values = [sum((a * v for a, v in zip(row, place, strict=True)), Fraction(0)) for row in rows]
        if min(values, default=0) >= 0:
            break
        sizes = [float(value) / float(max(map(abs, row[:-1])) or 1) for value, row in zip(values, rows, strict=True)]
        active.append(int(np.argmin(sizes)))
        foot = _foot([rows[r] for r in active], x, last) if len(active) <= len(x) else None
    if foot is not None and not active:
        return x
    found = [*places, foot] if foot is not None else places
    return min(found, key=lambda y: distance(x, y), default=None)


def _foot(rows: Rows, x: Point, last: int) -> Point | None:
    """The point nearest to `x` where all these rows are 0; None if they are dependent."""
    A = fmpq_mat([[to_flint(v) for v in row[:-1]] for row in rows])
    values = A * fmpq_mat([[to_flint(v)] for v in x]) + fmpq_mat([[to_flint(row[-1] * last)] for row in rows])
    try:
        step = A.transpose() * (A * A.transpose()).solve(values)
    except ZeroDivisionError:
        return None
    return [v - from_flint(step[k, 0]) for k, v in enumerate(x)]


def least_slope(
    corners: list[list[Fraction]], off: list[Fraction], rays: list[list[Fraction]], away: list[Fraction], reach: float
) -> list[Fraction]:
    """`h` with ``h . r >= away`` for all rays and small ``a + reach |h|_1``, where ``a + h . v >= off`` at corners.

    Floats propose; what is missing is made up for along a direction that all rays rise in.
    """
    n = len(rays[0])
    size = max(float(max(away)) * reach, float(max(off)), 1e-300)
    V, R = np.array(corners, dtype=np.float64) / reach, np.array(rays, dtype=np.float64)
    at_corners = np.column_stack([np.ones(len(V)), V, -V])
    along = np.column_stack([np.zeros(len(R)), R, -R])
    least = np.concatenate([np.array(off, dtype=np.float64) / size, np.array(away, dtype=np.float64) * reach / size])
    found = _smallest(np.concatenate([at_corners, along]), least)
    rising = _smallest(along[:, 1:], np.ones(len(R)))
    if rising is None:
        raise NotNear("a region of the data contains a line")
    slope = np.zeros(n) if found is None else found[1 : n + 1] - found[n + 1 :]
    h = [Fraction(float(v) * size / reach) for v in slope]
    up = [Fraction(float(v)) for v in rising[:n] - rising[n:]]
    short = max(e - sum(u * v for u, v in zip(h, ray, strict=True)) for e, ray in zip(away, rays, strict=True))
    if short > 0:
        rise = min(sum(u * v for u, v in zip(up, ray, strict=True)) for ray in rays)
        if rise <= 0:
            raise NotNear("a region of the data is too wide to bound what its laws differ by")
        h = [u + short / rise * v for u, v in zip(h, up, strict=True)]
    return h


def _smallest(rows: NDArray[np.float64], least: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The ``x >= 0`` with ``rows x >= least`` and the smallest sum, in floats; None if there is none."""
    count = rows.shape[1]
    program = LinearProgram(np.concatenate([-rows, -np.eye(count)]), np.append(-least, np.zeros(count)))
    try:
        found = program.propose(-np.ones(count))
    except SolverError:
        return None
    return found.point if found.status == "optimal" else None
