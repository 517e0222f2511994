"""A point moved exactly onto hyperplanes that it is near, in as few coordinates as there are hyperplanes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.exact.rational import from_flint, to_flint

__all__ = ["independent", "onto"]


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
