"""Functions on a line with breakpoints that rounding made: straight runs of them become one segment each.

Samples of ``|x|`` at 101 floats are off two lines by rounding, and the function through them bends a hundred times. A
run is straight if all its points are within a little of its chord. The chords of the longest runs, one after the other,
meet at points of the data, so that the function between them is continuous and nowhere farther off than that.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import is_exact_float
from cpwl.function.cpwl import CPWL
from cpwl.function.make import parts_of_breakpoints, parts_of_simplices
from cpwl.function.parts import Parts

__all__ = ["ends_of_runs", "in_runs"]

_COARSE = 2.0**10  # units in the last place: a rounded number is a multiple of so many once in a thousand times
_FEW = 0.1  # of the breakpoints: fewer are not worth a distance


def in_runs(p: CPWL, tol: float) -> Parts | None:
    """The function with every run that is straight within `tol`, relative to its values, as one segment.

    None where that saves next to nothing, or a number is no float: numbers that are no floats are meant as they are.
    """
    if p.num_pieces < 3:
        return None
    low, high = _ends(p)
    if (np.isinf(low) & np.isinf(high)).any():
        return None
    order = np.argsort(np.where(np.isfinite(low), low, high) + np.where(np.isfinite(high), high, low), kind="stable")
    if not _bends_little(p, low[order], high[order], order, tol):
        return None
    laws, places = p.laws.integer(), _places(p, order)
    if places is None or len(places) < 3:
        return None
    x = np.array(places, dtype=object)
    inner = laws[order[1:]] if p.mesh is None else np.concatenate([laws[order], laws[order[-1:]]])
    y = np.array([[_value(law, v) for law in each] for each, v in zip(inner, places, strict=True)], dtype=object)
    if not is_exact_float(x) or not is_exact_float(y):
        return None
    flat_x, flat_y = x.astype(np.float64), y.astype(np.float64)
    if is_coarse(flat_x) and all(map(is_coarse, flat_y.T)):
        return None
    little = tol * np.maximum(np.abs(flat_y).max(axis=0), 1e-300)
    if p.mesh is not None:
        kept = ends_of_runs(flat_x, flat_y, little)
        if len(kept) > (1 - _FEW) * len(x):
            return None
        steps = np.column_stack([np.arange(len(kept) - 1), np.arange(1, len(kept))])
        return parts_of_simplices(x[kept][:, None], steps, y[kept])
    return _on_line(x, y, (laws[order[0]], laws[order[-1]]), little)


def is_coarse(x: NDArray[np.float64]) -> bool:
    """Whether all floats are multiples of a unit that no rounding of the largest of them leaves: then none was rounded.

    >>> is_coarse(np.arange(9) / 8), is_coarse(np.arange(9) / 10)
    (True, False)
    """
    unit = _COARSE * np.spacing(np.abs(x).max(initial=0.0))
    return bool((np.remainder(x, unit) == 0).all())


def _on_line(
    x: NDArray[np.object_], y: NDArray[np.object_], outer: tuple[NDArray[np.object_], ...], little: NDArray[np.float64]
) -> Parts | None:
    """The outer segments keep their laws, which have no end, for as long as the points are near; runs are between."""
    left, right = (np.array([[_value(law, v) for law in each] for v in x], dtype=object) for each in outer)
    near_left, near_right = ((np.abs((y - line).astype(np.float64)) <= little).all(axis=1) for line in (left, right))
    first = int(np.argmin(near_left)) - 1 if not near_left.all() else len(x) - 1
    last = len(x) - int(np.argmin(near_right[::-1])) if not near_right.all() else 0
    first, last = max(first, 0), min(last, len(x) - 1)
    if first >= last:
        first = last - 1
    if first < 0:
        return None
    heights = y.copy()
    heights[first], heights[last] = left[first], right[last]
    part = slice(first, last + 1)
    kept = first + ends_of_runs(x[part].astype(np.float64), heights[part].astype(np.float64), little)
    if len(kept) > (1 - _FEW) * len(x):
        return None
    slopes = [[Fraction(law[0], law[-1]) for law in each] for each in outer]
    return parts_of_breakpoints(x[kept], heights[kept], slopes[0], slopes[1])


def ends_of_runs(x: NDArray[np.float64], y: NDArray[np.float64], little: NDArray[np.float64]) -> NDArray[np.int64]:
    """Numbers of the points at which runs end, the first and the last included.

    From each end on, the slopes of lines that pass all points so far within a `little` are an interval for each output;
    the next end is the last point, before the interval is empty, whose chord is in it.

    >>> ends_of_runs(np.arange(6.0), np.array([[0.0], [1], [2 + 1e-15], [3], [1], [-1]]), np.array([1e-14]))
    array([0, 3, 5])
    """
    ends, start, count = [0], 0, len(x)
    while start < count - 1:
        low, high = np.full(y.shape[1], -np.inf), np.full(y.shape[1], np.inf)
        best = start + 1
        for k in range(start + 1, count):
            run, rise = x[k] - x[start], y[k] - y[start]
            slope = rise / run
            if ((slope >= low) & (slope <= high)).all():
                best = k
            low, high = np.maximum(low, (rise - little) / run), np.minimum(high, (rise + little) / run)
            if (low > high).any():
                break
        ends.append(best)
        start = best
    return np.array(ends)


def _ends(p: CPWL) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where each interval begins and ends, in floats."""
    A, b = p.polyhedra.A[:, 0], p.polyhedra.b
    owner = np.repeat(np.arange(p.num_pieces), np.diff(p.polyhedra.start))
    low, high = np.full(p.num_pieces, -np.inf), np.full(p.num_pieces, np.inf)
    np.maximum.at(low, owner[A < 0], b[A < 0] / A[A < 0])
    np.minimum.at(high, owner[A > 0], b[A > 0] / A[A > 0])
    return low, high


def _bends_little(
    p: CPWL, low: NDArray[np.float64], high: NDArray[np.float64], order: NDArray[np.int64], tol: float
) -> bool:
    """Whether at many places the function leaves the line before it by next to nothing, as far as to the next place."""
    slope = p.laws.gradient[order, :, 0]
    width = np.where(np.isfinite(high - low), high - low, 0.0)
    away = np.abs(np.diff(slope, axis=0)) * np.minimum(width[:-1], width[1:])[:, None]
    size = np.abs(p.laws.offset).max(axis=0) + np.abs(slope).max(axis=0) * np.abs(low[np.isfinite(low)]).max(
        initial=0.0
    )
    return bool((away <= tol * size).all(axis=1).mean() > _FEW) if len(away) else False


def _places(p: CPWL, order: NDArray[np.int64]) -> list[Fraction] | None:
    """Where pieces meet, in order; for a table with its two ends. None for half-lines and bounded pieces."""
    if p.mesh is not None:
        return sorted({Fraction(int(v), int(d)) for v, d in p.mesh.corners[np.unique(p.mesh.simplices)].tolist()})
    rows, start = p.polyhedra.integer(), p.polyhedra.start
    places = []
    for k, i in enumerate(order.tolist()):
        own = rows[start[i] : start[i + 1]]
        above, below = ([Fraction(int(b), int(a)) for a, b in own.tolist() if side * a > 0] for side in (1, -1))
        if (k == 0 and below) or bool(above) == (k == len(order) - 1):
            return None
        if above:
            places.append(min(above))
    return places


def _value(law: NDArray[np.object_], x: Fraction) -> Fraction:
    return Fraction(law[0] * x.numerator + law[1] * x.denominator, law[2] * x.denominator)
