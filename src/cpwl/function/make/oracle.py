"""Algorithm 6: find the law of each piece by observing an unknown function inside one ball a piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.rational import as_reals
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["parts_of_oracle"]

_TOL = 1e-9


def parts_of_oracle(f: Callable[[Any], Any], A: Sequence[Any], b: Sequence[Any], centers: Any, radii: Any) -> Parts:
    """Laws from ``n + 1`` observations a ball; one more tests that `f` is affine there.

    The observed points are the centre `c`, ``c + s e_k`` and ``c - s (1, ..., 1) / n`` with half the radius
    as `s`: all of them inside the ball, whatever the rounding.
    """
    center, _ = as_reals(centers, "centers")
    radius, _ = as_reals(radii, "radii")
    if len(A) == 0:
        raise InputError("there are no pieces: `A` is empty")
    if center.ndim != 2 or radius.shape != (len(A),) or len(center) != len(A):
        raise InputError(
            f"`centers` must be ({len(A)}, n) and `radii` ({len(A)},) for {len(A)} pieces, "
            f"not {center.shape} and {radius.shape}"
        )
    polyhedra = Polyhedra.from_lists(A, b, dim=center.shape[1])
    _check_balls(polyhedra, center, radius)
    n = center.shape[1]
    steps = np.concatenate([np.zeros((1, n)), np.eye(n), np.full((1, n), -1.0 / n)]) * 0.5
    points = center[:, None, :] + radius[:, None, None] * steps
    values = _observe(f, points.reshape(-1, n)).reshape(len(A), n + 2, -1)
    # The steps actually taken, after rounding, so that the slopes are those of the observed points.
    taken = np.einsum("ikk->ik", points[:, 1 : n + 1] - points[:, :1])
    gradient = np.swapaxes((values[:, 1 : n + 1] - values[:, :1]) / taken[..., None], 1, 2)
    offset = values[:, 0] - np.einsum("imn,in->im", gradient, center)
    predicted = np.einsum("imn,in->im", gradient, points[:, -1]) + offset
    scale = np.abs(values).max(axis=(1, 2)) + np.abs(offset).max(axis=1)
    wrong = np.flatnonzero((np.abs(predicted - values[:, -1]).max(axis=1)) > _TOL * np.maximum(scale, 1e-300))
    if len(wrong):
        i = int(wrong[0])
        raise InputError(
            f"`f` is not affine on the ball of piece {i}: at x = {_text(points[i, -1])} it is "
            f"{_text(values[i, -1])}, but its values at {n + 1} other points predict {_text(predicted[i])}",
            piece=i,
            point=points[i, -1],
        )
    return Parts(polyhedra, Laws(gradient, offset), None, _TOL)


def _check_balls(polyhedra: Polyhedra, center: NDArray[np.float64], radius: NDArray[np.float64]) -> None:
    small = np.flatnonzero(~(radius > 0))
    if len(small):
        i = int(small[0])
        raise InputError(
            f"the ball of piece {i} must have a positive radius, not {radius[i]}", piece=i, point=center[i]
        )
    owner = polyhedra.owner
    length = np.linalg.norm(polyhedra.A, axis=1)
    reach = (polyhedra.A * center[owner]).sum(axis=1) + length * radius[owner]
    slack = 1e-12 * ((np.abs(polyhedra.A) * np.abs(center[owner])).sum(axis=1) + np.abs(polyhedra.b))
    out = np.flatnonzero(reach > polyhedra.b + slack)
    if len(out):
        row = int(out[0])
        i = int(owner[row])
        far = center[i] + radius[i] * polyhedra.A[row] / length[row]
        raise InputError(
            f"the ball of piece {i} sticks out of it: x = {_text(far)} is in the ball but violates row "
            f"{row - int(polyhedra.start[i])} of `A[{i}] x <= b[{i}]`",
            piece=i,
            point=far,
        )


def _observe(f: Callable[[Any], Any], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of `f`, called once with all points if it takes them, else point by point."""
    try:
        values = np.asarray(f(points.copy()), dtype=np.float64)
        batched = values.ndim in (1, 2) and len(values) == len(points)
    except Exception:  # `f` is the caller's: any failure on an array only says that it wants single points.
        batched = False
    if not batched:
        values = np.array([np.asarray(f(point.copy()), dtype=np.float64).ravel() for point in points])
    if not np.isfinite(values).all():
        i = int(np.flatnonzero(~np.isfinite(values.reshape(len(points), -1)).all(axis=1))[0])
        raise InputError(f"`f` is not finite at x = {_text(points[i])}", point=points[i])
    return values


def _text(x: NDArray[np.float64]) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in np.ravel(x)[:8]) + (", ...)" if np.size(x) > 8 else ")")
