"""Fitted objects that are piecewise linear: interpolants of SciPy, NumPy's `interp`, and regression trees."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import within_float64
from cpwl.errors import CpwlWarning, InputError
from cpwl.exact.rational import unmasked
from cpwl.function.answers import point_text
from cpwl.function.cpwl import CPWL

# How far a multilinear table is from the piecewise-linear one on the Kuhn triangulation of the same grid.
#
# In a cell, with coordinates `s` in the unit cube, a multilinear function is ``sum over S of c_S prod_S s_i``; its
# interpolant on the Kuhn simplices (the Lovász extension) is ``sum over S of c_S min_S s_i``. So they differ by the sum
# of ``c_S (min_S s - prod_S s)`` over sets of two and more, and each bracket is between 0 and its value where all `s_i`
# are ``|S|^(-1 / (|S| - 1))``. For two inputs that is ``|c| / 4`` in the middle of a cell, exactly.


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


_CONTINUOUS = 1e-9  # jumps of splines up to this, relative, are rounding
_KNOWN = (
    "Delaunay (with values), LinearNDInterpolator, RegularGridInterpolator, interp1d, PPoly and BSpline of degree 1"
)


def from_scipy(source: Any, values: Any = None) -> CPWL:
    """The function of a SciPy interpolator, on the set that it interpolates, or beyond if it extrapolates.

    | object | function |
    |---|---|
    | `Delaunay` with `values` at its points, `LinearNDInterpolator` | affine on each simplex, exactly |
    | `RegularGridInterpolator` with method "linear" | each cell cut into simplices (Kuhn); a warning says how far off |
    | `PPoly` and `BSpline` of degree 1, `interp1d` | through the values at the breakpoints |

    Parameters
    ----------
    source
        The object.
    values
        For `Delaunay` one number, or `m` of them, for each point.

    Returns
    -------
    CPWL
        The function; coordinates and values are taken exactly.

    Raises
    ------
    InputError
        If the object is not piecewise linear, or not continuous.

    Warns
    -----
    CpwlWarning
        If a multilinear table differs from its triangulation: by how much, and where.

    >>> from scipy.spatial import Delaunay
    >>> from_scipy(Delaunay([[0, 0], [1, 0], [0, 1]]), [1, 2, 3])([[0.25, 0.5]])
    array([[2.25]])
    """
    kind = type(source).__name__
    if hasattr(source, "simplices") and hasattr(source, "points"):
        if values is None:
            raise InputError("a Delaunay triangulation needs `values`, one for each of its points")
        return CPWL.from_simplices(_real(source.points, "points"), source.simplices, _real(values, "values"))
    if values is not None:
        raise InputError(f"`values` are for a Delaunay triangulation; a {kind} has its own")
    if hasattr(source, "tri") and hasattr(source, "values") and "Linear" in kind:
        return _of_simplices(source)
    if hasattr(source, "grid") and hasattr(source, "values"):
        return _of_grid(source)
    if hasattr(source, "c") and hasattr(source, "x"):
        return _of_polynomials(source, kind)
    if hasattr(source, "t") and hasattr(source, "k") and hasattr(source, "c"):
        return _of_spline(source)
    if hasattr(source, "x") and hasattr(source, "y") and hasattr(source, "_kind"):
        return _of_interp1d(source)
    raise InputError(f"`from_scipy` reads {_KNOWN}, not a {kind}")


def from_interp(x: Any, y: Any) -> CPWL:
    """The function ``numpy.interp(., x, y)``: straight between breakpoints, and constant beyond the first and last.

    >>> from_interp([0, 1], [0, 1])([[-1.0], [0.5], [3.0]]).ravel()
    array([0. , 0.5, 1. ])
    """
    return CPWL.from_breakpoints(x, y, left_slope=0, right_slope=0)


def _real(values: Any, name: str) -> NDArray[Any]:
    array = np.asarray(unmasked(values, name))
    if array.dtype.kind == "c":
        raise InputError(f"`{name}` are complex numbers; a function here has real values", name=name)
    return array


def _of_simplices(source: Any) -> CPWL:
    points = np.asarray(source.tri.points)
    if getattr(source, "scale", None) is not None:  # `rescale=True`: the triangulation is that of scaled points
        points = points * source.scale + source.offset
    values = _real(source.values, "values")
    return CPWL.from_simplices(points, source.tri.simplices, values.reshape(len(points), -1))


def _of_grid(source: Any) -> CPWL:
    method = getattr(source, "method", "linear")
    if method != "linear":
        raise InputError(f'a RegularGridInterpolator with method "{method}" is not read; make it with method="linear"')
    axes = [np.asarray(unmasked(axis, f"grid[{i}]"), dtype=np.float64) for i, axis in enumerate(source.grid)]
    values = _real(source.values, "values")
    off = deviation(axes, values)
    if off.size > 0:
        most = "" if off.bound <= off.size else f", and by at most {off.bound:.6g} anywhere"
        warnings.warn(
            "a multilinear table is not piecewise linear; its cells were cut into simplices, and the two differ by "
            f"{off.size:.6g} at x = {point_text(off.at)}{most}",
            CpwlWarning,
            stacklevel=3,
        )
    return CPWL.from_grid(axes, values)


def _of_polynomials(source: Any, kind: str) -> CPWL:
    """`PPoly`: ``sum of c[k, i] (x - x[i])^(K - k)`` on the interval `i`."""
    coefficients, x = _real(source.c, "c"), np.asarray(source.x, dtype=np.float64)
    if kind in ("BPoly", "NdPPoly"):
        raise InputError(f"a {kind} is not read; SciPy's `PPoly.from_bernstein_basis` makes a PPoly of a BPoly")
    if getattr(source, "extrapolate", True) == "periodic":
        raise InputError("a periodic spline has infinitely many pieces; make it with extrapolate=True")
    for power in range(len(coefficients) - 1, 1, -1):
        steep = np.abs(coefficients[len(coefficients) - 1 - power]).reshape(len(x) - 1, -1).max(axis=1)
        if steep.any():
            i = int(np.argmax(steep))
            degree = f"degree {power} between {x[i]:.6g} and {x[i + 1]:.6g}"
            raise InputError(f"this {kind} is not piecewise linear: it has {degree}", piece=i)
    proper = np.flatnonzero(np.diff(x))  # knots of splines are repeated at the ends
    flat = coefficients.reshape(len(coefficients), len(x) - 1, -1)[:, proper]
    x = np.append(x[proper], x[-1])
    start = flat[-1]
    slope = flat[-2] if len(flat) > 1 else np.zeros_like(start)
    end = start + slope * np.diff(x)[:, None]
    _check_joints(x, start, end, kind)
    y = np.concatenate([start, end[-1:]])
    return _through(x, y, source, slope) if x[0] < x[-1] else _through(x[::-1], y[::-1], source, slope[::-1])


def _check_joints(x: NDArray[np.float64], start: NDArray[Any], end: NDArray[Any], kind: str) -> None:
    """Refuse a jump, with the largest one and its place."""
    jump = np.abs(start[1:] - end[:-1]).max(axis=1, initial=0.0)
    if not len(jump):
        return
    i = int(np.argmax(jump))
    if jump[i] > _CONTINUOUS * (np.abs(start).max() + np.abs(end).max()):
        values = f"from {_shown(end[i])} to {_shown(start[i + 1])}"
        message = f"this {kind} is not continuous: at x = {x[i + 1]:.6g} it jumps {values}, by {jump[i]:.6g}"
        raise InputError(message, point=x[i + 1], size=float(jump[i]))


def _shown(values: NDArray[Any]) -> str:
    return ", ".join(f"{v:.6g}" for v in values[:4])


def _through(x: NDArray[np.float64], y: NDArray[Any], source: Any, slope: NDArray[Any]) -> CPWL:
    """Through the breakpoints; beyond them on the outer lines where the source extrapolates, else nowhere."""
    if getattr(source, "extrapolate", True) in (True, None, 1):
        return CPWL.from_breakpoints(x, y, left_slope=slope[0], right_slope=slope[-1])
    return CPWL.from_grid([x], y)


def _of_spline(source: Any) -> CPWL:
    if source.k != 1:
        raise InputError(f"a spline of degree {source.k} is not piecewise linear; degree 1 is")
    from scipy.interpolate import PPoly

    return _of_polynomials(PPoly.from_spline(source, extrapolate=source.extrapolate), "BSpline")


def _of_interp1d(source: Any) -> CPWL:
    if source._kind != "linear":
        raise InputError(f'interp1d of kind "{source._kind}" is not read; kind="linear" is')
    if source.axis % source.y.ndim != 0 and source.y.ndim > 1:
        raise InputError("interp1d along another axis than the first is not read; make it with axis=0")
    x, y = np.asarray(source.x, dtype=np.float64), _real(source.y, "y").reshape(len(source.x), -1)
    if isinstance(source.fill_value, str) and source.fill_value == "extrapolate":
        return CPWL.from_breakpoints(x, y)
    return CPWL.from_grid([x], y)


# Regression trees, with a constant or an affine law in each leaf: functions only if they do not jump.
#
# A leaf is a box. Two leaves meet in a facet if one ends where the other begins in one coordinate and they overlap in
# all others; there they differ by an affine function on a box, which is largest at a corner.


_ROUNDING = 1e-9  # models that agree up to this, relative, are meant to agree
_BLOCK = 1 << 22  # numbers in one temporary array


@dataclass(frozen=True, slots=True, eq=False)
class _Leaves:
    """Boxes ``low < x <= high``, infinite where there is no bound, with laws ``gradient x + offset``."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gradient: NDArray[np.float64]
    offset: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Jump:
    size: float
    at: NDArray[np.float64]
    values: tuple[NDArray[np.float64], NDArray[np.float64]]


@within_float64()
def from_tree(model: Any) -> CPWL:
    """The function of a continuous regression tree; a tree that is not continuous is refused with its largest jump.

    A `DecisionTreeRegressor` of scikit-learn has a constant in each leaf, and so jumps unless it has one leaf, or
    leaves of equal values. A `LinearTreeRegressor` (linear-tree) has a linear model in each leaf, and jumps unless the
    models happen to agree where their leaves meet.

    Raises
    ------
    InputError
        With the largest jump, its place, and the values on both sides.
    """
    leaves = _leaves(model)
    jump = _largest_jump(leaves)
    if jump is not None and jump.size > _ROUNDING * (1 + max(np.abs(v).max(initial=0.0) for v in jump.values)):
        _refuse(jump, type(model).__name__)
    A, b = zip(*(_rows(low, high) for low, high in zip(leaves.low, leaves.high, strict=True)), strict=True)
    everywhere = np.zeros((0, leaves.low.shape[1])), np.zeros(0)
    return CPWL.from_pieces(A, b, leaves.gradient, leaves.offset, domain=everywhere)


def _refuse(jump: _Jump, kind: str) -> None:
    place = point_text(jump.at)
    if np.isinf(jump.size):
        said = f"two leaves that meet at x = {place} differ by more and more along their common facet"
    else:
        one, other = (", ".join(f"{v:.6g}" for v in value[:4]) for value in jump.values)
        said = f"the largest jump is {jump.size:.6g}, at x = {place}, from {one} to {other}"
    raise InputError(f"this {kind} is not continuous: {said}", point=jump.at, size=jump.size)


def _leaves(model: Any) -> _Leaves:
    kind = type(model).__name__
    if hasattr(model, "estimators_"):
        raise InputError(f"a {kind} is a sum of many trees; such a sum is constant on boxes and jumps between them")
    if hasattr(model, "tree_"):
        return _of_sklearn(model.tree_, kind)
    if hasattr(model, "_leaves") and isinstance(model._leaves, dict):
        return _of_linear_tree(model)
    raise InputError(f"`from_tree` takes a fitted DecisionTreeRegressor or LinearTreeRegressor, not a {kind}")


def _of_sklearn(tree: Any, kind: str) -> _Leaves:
    if "Classifier" in kind:
        raise InputError(f"a {kind} gives classes, not numbers")
    n = int(tree.n_features)
    boxes, values = [], []
    stack = [(0, np.full(n, -np.inf), np.full(n, np.inf))]
    while stack:  # a tree is walked node by node
        node, low, high = stack.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left == right:
            boxes.append((low, high))
            values.append(np.ravel(tree.value[node]).astype(np.float64))
            continue
        feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
        below, above = high.copy(), low.copy()
        below[feature], above[feature] = threshold, threshold
        stack += [(right, above, high), (left, low, below)]
    lows, highs = (np.array(side) for side in zip(*boxes, strict=True))
    offset = np.array(values)
    return _Leaves(lows, highs, np.zeros((*offset.shape, n)), offset)


def _of_linear_tree(model: Any) -> _Leaves:
    """linear-tree keeps the conditions of each leaf as (column, "L" or "R", threshold)."""
    n = int(model.n_features_in_)
    if getattr(model, "linear_features", None) is not None and len(np.atleast_1d(model._linear_features)) != n:
        raise InputError("a tree whose leaves use only some of the features is not read; make it with all of them")
    nodes = list(model._leaves.values()) or [next(iter(model._nodes.values()))]
    lows, highs = np.full((len(nodes), n), -np.inf), np.full((len(nodes), n), np.inf)
    gradient, offset = [], []
    for i, node in enumerate(nodes):
        for column, side, threshold in node.threshold:
            if side == "L":
                highs[i, column] = min(highs[i, column], float(threshold))
            else:
                lows[i, column] = max(lows[i, column], float(threshold))
        if not hasattr(node.model, "coef_"):
            raise InputError(f"a leaf holds a {type(node.model).__name__}, which is not a linear model")
        slopes = np.atleast_2d(np.asarray(node.model.coef_, dtype=np.float64))
        gradient.append(slopes)
        offset.append(np.broadcast_to(np.asarray(node.model.intercept_, dtype=np.float64).ravel(), len(slopes)))
    return _Leaves(lows, highs, np.array(gradient), np.array(offset))


def _largest_jump(leaves: _Leaves) -> _Jump | None:
    """The largest difference on a common facet, over all pairs of leaves; None if none meet."""
    count, n = leaves.low.shape
    best: _Jump | None = None
    step = max(1, _BLOCK // (count * n))
    for first in range(0, count, step):
        part = slice(first, first + step)
        low = np.maximum(leaves.low[part, None], leaves.low[None])
        high = np.minimum(leaves.high[part, None], leaves.high[None])
        touch = (leaves.high[part, None] == leaves.low[None]) & np.isfinite(low)  # this one ends where that one begins
        overlap = low < high
        for k in range(n):
            meets = touch[..., k] & np.delete(overlap, k, axis=-1).all(axis=-1)
            for i, j in np.argwhere(meets):
                found = _jump(leaves, first + int(i), int(j), low[i, j], high[i, j])
                if best is None or found.size > best.size:
                    best = found
    return best


def _jump(leaves: _Leaves, i: int, j: int, low: NDArray[np.float64], high: NDArray[np.float64]) -> _Jump:
    """The largest difference of two laws on the box that is their common facet: of each output at one corner."""
    slope, constant = leaves.gradient[j] - leaves.gradient[i], leaves.offset[j] - leaves.offset[i]
    bounded = np.isfinite(low) & np.isfinite(high)
    least = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
    centre = least / 2 + np.where(np.isfinite(high), high, least) / 2
    if slope[:, ~bounded].any():
        return _Jump(np.inf, centre, (np.zeros(0), np.zeros(0)))
    upwards = slope * np.where(slope @ centre + constant < 0, -1, 1)[:, None]
    corners = np.where(upwards == 0, centre, np.where(upwards > 0, high, low))
    sizes = np.abs((slope * corners).sum(axis=1) + constant)
    at = corners[np.argmax(sizes)]
    one, other = (leaves.gradient[k] @ at + leaves.offset[k] for k in (i, j))
    return _Jump(float(sizes.max()), at, (one, other))


def _rows(low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    unit = np.eye(len(low))
    above, below = np.isfinite(high), np.isfinite(low)
    return np.vstack([unit[above], -unit[below]]), np.concatenate([high[above], -low[below]])
