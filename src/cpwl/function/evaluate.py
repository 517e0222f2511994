"""Values of a piecewise-linear function at many points."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cpwl.doors import within_float64
from cpwl.errors import InputError, counted
from cpwl.exact.rational import fraction_array, to_float, unmasked
from cpwl.function.cpwl import CPWL
from cpwl.geometry.locate import locate, locate_one


def evaluate(p: CPWL, x: ArrayLike) -> NDArray[Any]:
    """Values at points, in floats or rationals as the points are; see `CPWL.__call__`."""
    one = _one_point(p, x)
    piece = -1 if one is None else locate_one(p.polyhedra, one, p.tol)
    if one is not None and piece >= 0:
        value: NDArray[Any] = p.laws.gradient[piece] @ one + p.laws.offset[piece]
        return value[None] if type(x) is np.ndarray and x.ndim == 2 else value
    return _evaluate(p, x)


def _one_point(p: CPWL, x: ArrayLike) -> NDArray[np.float64] | None:
    """A single point of floats as an array ``(n,)``, also of a batch of one; None for anything else."""
    if type(x) is np.ndarray and x.dtype == np.float64 and x.shape == (1, p.dim):
        return cast("NDArray[np.float64]", x[0])
    if type(x) is float and p.dim == 1:
        return np.array([x])
    if isinstance(x, (list, tuple)) and all(type(v) is float for v in x):
        x = np.array(x)
    if type(x) is np.ndarray and x.dtype == np.float64 and x.shape == (p.dim,) and p.dim > 1:
        return x
    return None


@within_float64()
def _evaluate(p: CPWL, x: ArrayLike) -> NDArray[Any]:
    points, single = as_points(x, p.dim)
    values = _exact_values(p, points) if points.dtype == object else _float_values(p, points)
    return values[0] if single else values


def as_points(x: ArrayLike, dim: int) -> tuple[NDArray[Any], bool]:
    """Points as ``(N, n)``, float64 or `Fraction`, and whether a single point ``(n,)`` was meant."""
    unmasked(x, "x")
    try:
        points = np.asarray(x)
    except ValueError:
        raise InputError("`x` is ragged: all points must have the same number of coordinates") from None
    if points.dtype.kind not in "OUSfiu":
        raise InputError(f"`x` must hold numbers, not {points.dtype}")
    points = fraction_array(points) if points.dtype.kind in "OUS" else points.astype(np.float64)
    single = points.ndim == 0 or (points.ndim == 1 and dim != 1)
    if points.ndim == 0:
        points = points.reshape(1)
    if points.ndim == 1:
        points = points.reshape((-1, 1) if dim == 1 else (1, -1))
    if points.ndim != 2 or points.shape[1] != dim:
        raise InputError(f"`x` must be (N, {dim}) for a function of {counted(dim, 'input')}, not {np.shape(x)}")
    return points, single


def find_pieces(p: CPWL, x: NDArray[np.float64]) -> NDArray[np.int64]:
    """The number of a piece that holds each point, or -1 outside the domain."""
    bad = np.asarray(~np.isfinite(x).all(axis=1))
    safe = np.where(bad[:, None], 0.0, x)
    piece = locate(p.polyhedra, safe, p.tol)
    piece[bad] = -1
    return piece


def _float_values(p: CPWL, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Float values ``(N, m)``, NaN outside."""
    piece = find_pieces(p, x)
    value = np.einsum("pmn,pn->pm", p.laws.gradient[piece], x) + p.laws.offset[piece]
    value[piece < 0] = np.nan
    return np.asarray(value, dtype=np.float64)


def _exact_values(p: CPWL, x: NDArray[np.object_]) -> NDArray[np.object_]:
    """Rational values ``(N, m)`` at rational points, None outside; the float location only proposes."""
    rows, laws = p.polyhedra.integer(), p.laws.integer()
    start = p.polyhedra.start
    guess = find_pieces(p, to_float(x))
    result = np.full((len(x), p.outputs), None, dtype=object)
    for k, point in enumerate(x):
        piece = int(guess[k])
        held = piece >= 0 and _holds(rows[start[piece] : start[piece + 1]], point)
        if not held:
            inside = np.ones(p.num_pieces, dtype=bool)
            ok = (rows[:, :-1] * point).sum(axis=1) <= rows[:, -1]
            np.logical_and.at(inside, p.polyhedra.owner, ok.astype(bool))
            if not inside.any():
                continue
            piece = int(np.argmax(inside))
        law = laws[piece]
        result[k] = [Fraction((r[:-2] * point).sum() + r[-2]) / r[-1] for r in law]
    return result


def _holds(rows: NDArray[np.object_], point: NDArray[np.object_]) -> bool:
    return bool(((rows[:, :-1] * point).sum(axis=1) <= rows[:, -1]).all())
