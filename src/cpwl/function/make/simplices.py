"""Triangulated tables: laws and half-spaces of simplices, exactly and all at once."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import CpwlWarning, InputError
from cpwl.exact.integers import adjugate, integer_rows, primitive, quotient, ratio_view, sign
from cpwl.exact.rational import as_reals, fraction_array, has_floats
from cpwl.function.parts import Laws, Mesh, Parts
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.limits import check_memory

__all__ = ["kuhn_simplices", "parts_of_grid", "parts_of_simplices"]


def parts_of_simplices(points: Any, simplices: Any, values: Any) -> Parts:
    """Pieces and laws of the interpolant that is `values[v]` at `points[v]` and affine on each simplex.

    With corners as rows ``(x, 1)`` of a matrix `M`, the barycentric coordinates of `x` are ``(x, 1) M^-1``:
    their signs are the half-spaces, and the law is their mean with the values as weights.
    """
    view, exact = as_reals(points, "points")
    if view.ndim != 2 or 0 in view.shape:
        raise InputError(f"`points` must be (V, n), not {view.shape}")
    heights, heights_exact = _values(values, len(view))
    corners_of = _indices(simplices, *view.shape)
    ones = np.ones((len(view), 1))
    exact = None if exact is None else np.column_stack([exact, fraction_array(ones)])
    corners = integer_rows(np.column_stack([view, ones]), exact)
    det, adj = adjugate(corners[corners_of])
    flat = np.flatnonzero(det == 0)
    if len(flat):
        warnings.warn(
            f"{len(flat)} of {len(det)} simplices have no interior and were dropped, the first is {flat[0]}",
            CpwlWarning,
            stacklevel=4,
        )
        keep = np.flatnonzero(det != 0)
        corners_of, det, adj = corners_of[keep], det[keep], adj[keep]
        if len(keep) == 0:
            raise InputError("no simplex has an interior", piece=int(flat[0]))
    laws = _laws(corners, corners_of, det, adj, heights, heights_exact)
    mesh = Mesh(view, corners, corners_of, heights, heights_exact)
    return Parts(_half_spaces(det, adj), laws, None, 0.0, mesh, floats=has_floats(points) or has_floats(values))


def parts_of_grid(axes: Sequence[Any], values: Any, triangulation: str) -> Parts:
    """A table on a rectangular grid, each box cut into ``n!`` simplices along its diagonal (Kuhn)."""
    if triangulation != "kuhn":
        raise InputError(f'`triangulation` must be "kuhn", not {str(triangulation)[:50]}')
    n = len(axes)
    if n == 0:
        raise InputError("`axes` is empty: give one list of coordinates for each input")
    lines = [as_reals(axis, f"axes[{i}]") for i, axis in enumerate(axes)]
    for i, (line, _) in enumerate(lines):
        if line.ndim != 1 or len(line) < 2 or not ((np.diff(line) > 0).all() or (np.diff(line) < 0).all()):
            raise InputError(f"`axes[{i}]` must hold at least two numbers that increase, or decrease", axis=i)
    shape = tuple(len(line) for line, _ in lines)
    exact_axes = [fraction_array(line if exact is None else exact) for line, exact in lines]
    rounded = any(exact is not None for _, exact in lines)
    grid = np.meshgrid(*(exact_axes if rounded else [line for line, _ in lines]), indexing="ij")
    view, whole = as_reals(values, "values")
    table = view if whole is None else whole
    if table.shape[:n] != shape:
        raise InputError(f"`values` must start with the shape {shape} of the grid, not {table.shape}")
    # A table whose axis goes down is the table whose axis goes up, read from the other end.
    upward = tuple(slice(None, None, 1 if line[0] < line[1] else -1) for line, _ in lines)
    points = np.stack([g[upward].ravel() for g in grid], axis=1)
    heights = table[upward].reshape(len(points), *table.shape[n:])
    parts = parts_of_simplices(points, kuhn_simplices(shape), heights)
    return replace(parts, floats=has_floats(list(axes)) or has_floats(values))


def kuhn_simplices(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Corner numbers (row-major) of the Kuhn triangulation of a grid with that many points an axis.

    >>> kuhn_simplices((2, 2))
    array([[0, 2, 3],
           [0, 1, 3]])
    """
    count, n = math.prod(length - 1 for length in shape) * math.factorial(len(shape)), len(shape)
    check_memory(8.0 * (n + 1) ** 2 * count, f"a grid of {count:,} simplices", "Take fewer points or fewer inputs.")
    stride = np.array([int(np.prod(shape[i + 1 :])) for i in range(len(shape))], dtype=np.int64)
    lowest = np.zeros(1, dtype=np.int64)
    for i, length in enumerate(shape):
        lowest = (lowest[:, None] + stride[i] * np.arange(length - 1)).ravel()
    paths = np.array(
        [np.cumsum([0, *(stride[i] for i in order)]) for order in itertools.permutations(range(len(shape)))]
    )
    simplices: NDArray[np.int64] = (lowest[:, None, None] + paths).reshape(-1, len(shape) + 1)
    return simplices


def _values(values: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.object_] | None]:
    view, exact = as_reals(values, "values")
    if view.ndim == 1:
        view, exact = view[:, None], None if exact is None else exact[:, None]
    if view.ndim != 2 or len(view) != count:
        raise InputError(f"`values` must be ({count},) or ({count}, m) for {count} points, not {np.shape(values)}")
    return view, exact


def _indices(simplices: Any, count: int, dim: int) -> NDArray[np.int64]:
    try:
        corners_of = np.asarray(simplices)
    except ValueError:
        raise InputError(f"`simplices` is ragged: each must have {dim + 1} point numbers") from None
    if corners_of.ndim != 2 or corners_of.shape[1] != dim + 1 or corners_of.dtype.kind not in "iu":
        raise InputError(
            f"`simplices` must be integers (q, {dim + 1}) in dimension {dim}; "
            f"they are {corners_of.dtype} {corners_of.shape}"
        )
    if len(corners_of) == 0:
        raise InputError("there are no pieces: `simplices` is empty")
    wrong = np.flatnonzero(((corners_of < 0) | (corners_of >= count)).any(axis=1))
    if len(wrong):
        i = int(wrong[0])
        raise InputError(f"simplex {i} names a point outside 0..{count - 1}: {corners_of[i].tolist()}", piece=i)
    return corners_of.astype(np.int64)


def _half_spaces(det: NDArray[np.object_], adj: NDArray[np.object_]) -> Polyhedra:
    q, size = adj.shape[:2]
    inward = np.swapaxes(adj, 1, 2) * np.asarray(sign(det), dtype=object)[:, None, None]
    rows = primitive(np.concatenate([-inward[..., :-1], inward[..., -1:]], axis=-1)).reshape(-1, size)
    scale = np.abs(rows[:, :-1]).max(axis=1)
    view = ratio_view(rows, scale[:, None])
    start = np.arange(0, q * size + 1, size, dtype=np.int64)
    return Polyhedra(view[:, :-1].copy(), view[:, -1].copy(), start, rows)


def _laws(
    corners: NDArray[np.object_],
    corners_of: NDArray[np.int64],
    det: NDArray[np.object_],
    adj: NDArray[np.object_],
    heights: NDArray[np.float64],
    heights_exact: NDArray[np.object_] | None,
) -> Laws:
    outputs = []
    for j in range(heights.shape[1]):
        view = np.column_stack([heights[:, j], np.ones(len(heights))])
        exact = None if heights_exact is None else heights_exact[:, j]
        exact = None if exact is None else np.column_stack([exact, fraction_array(np.ones(len(exact)))])
        top, bottom = integer_rows(view, exact)[corners_of].transpose(2, 0, 1)
        common = np.lcm.reduce(bottom, axis=1)
        weight = top * (common[:, None] // bottom) * corners[corners_of][..., -1]
        outputs.append(quotient((adj * weight[:, None, :]).sum(axis=2), common * det))
    return Laws.from_integer(np.stack(outputs, axis=1))
