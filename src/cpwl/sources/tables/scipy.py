"""SciPy's interpolants that are piecewise linear, and NumPy's `interp`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import CpwlWarning, InputError
from cpwl.exact.rational import unmasked
from cpwl.function.cpwl import CPWL
from cpwl.sources.tables.multilinear import deviation

__all__ = ["from_interp", "from_scipy"]

_CONTINUOUS = 1e-9  # jumps of splines up to this, relative, are rounding
_KNOWN = (
    "Delaunay (with values), LinearNDInterpolator, RegularGridInterpolator, interp1d, PPoly and BSpline of degree 1"
)


def from_scipy(source: Any, values: Any = None) -> CPWL:
    """The function of a SciPy object: on what it interpolates, and nothing beyond, unless it extrapolates.

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
        For what is not piecewise linear, or not continuous.

    Warns
    -----
    CpwlWarning
        A multilinear table is not piecewise linear: how far it is off its triangulation, and where.

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
        where = ", ".join(f"{v:.6g}" for v in off.at)
        most = "" if off.bound <= off.size else f", and by at most {off.bound:.6g} anywhere"
        warnings.warn(
            "a multilinear table is not piecewise linear; its cells were cut into simplices, and the two differ by "
            f"{off.size:.6g} at x = ({where}){most}",
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
        raise InputError("a periodic spline has no end of pieces; make it with extrapolate=True")
    for power in range(len(coefficients) - 1, 1, -1):
        steep = np.abs(coefficients[len(coefficients) - 1 - power]).reshape(len(x) - 1, -1).max(axis=1)
        if steep.any():
            i = int(np.argmax(steep))
            degree = f"degree {power} between {x[i]:.6g} and {x[i + 1]:.6g}"
            raise InputError(f"this {kind} is not piecewise linear: it has {degree}", piece=i)
    proper = np.flatnonzero(np.diff(x) > 0)  # knots of splines are repeated at the ends
    flat = coefficients.reshape(len(coefficients), len(x) - 1, -1)[:, proper]
    x = np.append(x[proper], x[-1])
    start = flat[-1]
    slope = flat[-2] if len(flat) > 1 else np.zeros_like(start)
    end = start + slope * np.diff(x)[:, None]
    _check_joints(x, start, end, kind)
    y = np.concatenate([start, end[-1:]])
    return _through(x, y, source, slope)


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
    simplices = np.column_stack([np.arange(len(x) - 1), np.arange(1, len(x))])
    return CPWL.from_simplices(x[:, None], simplices, y)


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
    simplices = np.column_stack([np.arange(len(x) - 1), np.arange(1, len(x))])
    return CPWL.from_simplices(x[:, None], simplices, y)
