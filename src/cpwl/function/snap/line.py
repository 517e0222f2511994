"""Functions of one input in floats: laws joined in order, and straight runs of breakpoints made one segment each.

Samples of ``|x|`` at 101 floats are off two lines by rounding, and the function through them bends a hundred times. A
run is straight if all its points are within a little of its chord. The chords of the longest runs, one after the other,
meet at points of the data, so that the function between them is continuous and nowhere farther off than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import homogeneous
from cpwl.exact.rational import is_exact_float
from cpwl.function.cpwl import CPWL, Moved, Snapped
from cpwl.function.doctor.first_error import first_error, in_order
from cpwl.function.make import parts_of_breakpoints, parts_of_simplices, polyhedra_from_integers
from cpwl.function.parts import Laws, Parts, label_maps
from cpwl.function.snap.short import meant_laws, simple
from cpwl.geometry.polyhedra import intervals

_Line: TypeAlias = tuple[Fraction, Fraction]  # slope and offset
_Joint: TypeAlias = tuple[Fraction, list[Fraction]]  # a place, and the values there
_NEXT = 1e-3  # of the tolerance: a joint that is nearer to a simple number is there

_COARSE = 2.0**10  # units in the last place: a rounded number is a multiple of so many once in a thousand times
_FEW = 0.1  # of the breakpoints: fewer are not worth a distance


def in_runs(p: CPWL, tol: float) -> Parts | None:
    """The function with every run that is straight within `tol`, relative to its values, as one segment.

    None where that saves next to nothing, or a number is no float: numbers that are no floats are meant as they are.
    """
    if p.num_pieces < 3:
        return None
    line = in_order(p)
    if line is None or (p.mesh is None and (line.low, line.high) != (None, None)):
        return None
    if not _bends_little(p, line.order, tol):
        return None
    laws, order = p.laws.integer(), line.order
    places = [Fraction(*end) for end in line.ends]
    if line.low is not None and line.high is not None:
        places = [line.low, *places, line.high]
    if len(places) < 3:
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


def snap_line(rough: CPWL) -> Snapped:
    """Proposes an exactly continuous function of one input near float data: its laws, joined one after the other.

    Pieces come in order from left to right, neighbours of one law as one. Two laws meet where they are equal, if that
    is near the joint of the data; else at that joint, at the mean of their values, and a segment that ends there is
    straight between its ends. So nothing jumps, whatever the numbers are.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[3.0]], [[-1.0]]], [[1.0], [-0.3333333333333333]], [[0.0], [3.0]], [0.0, -1.0])
    >>> snap_line(p).function.polyhedra.integer()
    array([[3, 1],
           [-3, -1]], dtype=object)
    """
    error = first_error(rough)
    if error is not None:
        return Snapped(None, Moved(), f"not a function within the tolerance {rough.tol:g}: {error.message}")
    low, high = intervals(rough.polyhedra)
    reach = float(np.abs([*low[np.isfinite(low)], *high[np.isfinite(high)]]).max(initial=0.0)) or 1.0
    solid = np.flatnonzero(high - low > rough.tol * reach)
    order = solid[np.lexsort((high[solid], low[solid]))]
    runs = np.split(order, np.flatnonzero(np.diff(label_maps(rough.component)[order])) + 1)
    exact = meant_laws(rough)
    laws = [[(Fraction(g, d), Fraction(o, d)) for g, o, d in exact[run[0]].tolist()] for run in runs]
    joints: list[_Joint] = []
    for k, (f, g) in enumerate(pairwise(laws)):
        x = _meeting(f, g, float(high[runs[k]].max() + low[runs[k + 1]].min()) / 2, rough.tol * reach)
        joints.append((x, [(a * x + b + c * x + d) / 2 for (a, b), (c, d) in zip(f, g, strict=True)]))
    places = [_outer(rough, int(order[0]), -1), *(x for x, _ in joints), _outer(rough, int(order[-1]), 1)]
    if any(x is not None and y is not None and x >= y for x, y in pairwise(places)):
        return Snapped(None, Moved(), "neighbouring laws meet in another order than their pieces come in.")
    ends = pairwise([None, *joints, None])
    made = np.array([_segment(*both, law) for both, law in zip(ends, laws, strict=True)], dtype=object)
    pieces = polyhedra_from_integers([_interval(x, y) for x, y in pairwise(places)], 1)
    parts = Parts(pieces, Laws.from_integer(homogeneous(made)), rough.domain, 0.0)
    found = _moved_on_line(rough, runs, parts, np.stack([low, high], axis=1), reach)
    far = max(found.moved.value, found.moved.facet)
    if far > rough.tol:
        return Snapped(None, Moved(), f"something would move by {far:.2g}, relative, which is more than {rough.tol:g}.")
    return replace(found, flat=tuple(np.setdiff1d(np.arange(rough.num_pieces), solid).tolist()))


def _outer(p: CPWL, piece: int, side: int) -> Fraction | None:
    """Where the domain ends on one side, beyond its outermost piece; None if it has no end."""
    rows = (p.polyhedra[piece] if p.domain is None else p.domain).integer().tolist()
    ends = [Fraction(b, a) for a, b in rows if a * side > 0]
    return None if not ends else min(ends) if side > 0 else max(ends)


def _meeting(f: Sequence[_Line], g: Sequence[_Line], joint: float, little: float) -> Fraction:
    """Where the laws of most different slopes are equal, if that is near the joint; else the joint."""
    (a, b), (c, d) = max(zip(f, g, strict=True), key=lambda pair: abs(pair[0][0] - pair[1][0]))
    if a != c and abs((d - b) / (a - c) - Fraction(joint)) <= little:
        return (d - b) / (a - c)
    return simple(joint, _NEXT * little)


def _segment(one: _Joint | None, two: _Joint | None, law: Sequence[_Line]) -> list[_Line]:
    """The laws between two joints; the first and the last segment have the slopes of their law."""
    if one is None and two is None:
        return list(law)
    if one is None or two is None:
        x, values = next(joint for joint in (one, two) if joint is not None)
        return [(a, v - a * x) for (a, _), v in zip(law, values, strict=True)]
    (x, start), (y, end) = one, two
    slopes = [(v - u) / (y - x) for u, v in zip(start, end, strict=True)]
    return [(a, u - a * x) for a, u in zip(slopes, start, strict=True)]


def _interval(low: Fraction | None, high: Fraction | None) -> NDArray[np.object_]:
    """Integer rows ``(a, b)`` of an interval."""
    rows = [] if high is None else [[high.denominator, high.numerator]]
    rows += [] if low is None else [[-low.denominator, -low.numerator]]
    return np.array(rows, dtype=object).reshape(-1, 2)


def _moved_on_line(
    p: CPWL, runs: list[NDArray[np.int64]], parts: Parts, ends: NDArray[np.float64], reach: float
) -> Snapped:
    """The function, with how far laws are moved on their pieces, and joints from the ends of pieces."""
    owner = np.concatenate(runs)
    number = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
    slope = parts.laws.gradient[number, :, 0] - p.laws.gradient[owner, :, 0]
    offset = parts.laws.offset[number] - p.laws.offset[owner]
    largest, level = np.abs(p.laws.gradient[..., 0]).max(axis=0), np.abs(p.laws.offset).max(axis=0)
    scale = largest * reach + level
    scale = np.where(scale > 0, np.maximum(scale, 1e-6 * scale.max()), 1.0)  # noise alone has no size of its own
    at = np.clip(ends[owner], -reach, reach)
    value = np.abs(slope[:, None] * at[..., None] + offset[:, None]) / scale
    new = np.stack(intervals(parts.polyhedra), axis=1)
    outer = np.array([[ends[run].min(), ends[run].max()] for run in runs])
    known = np.isfinite(new) & np.isfinite(outer)
    facet = np.abs(np.subtract(new, outer, where=known, out=np.zeros_like(new))) / reach
    change = np.abs(slope).max(axis=0) / np.where(largest > 0, largest, 1.0)
    shift = np.abs(offset).max(axis=0) / scale
    moved = Moved(float(max(change.max(), shift.max())), float(value.max()), float(facet.max()))
    where = tuple(at[np.unravel_index(np.argmax(value), value.shape)[:2]][None].tolist()) if moved.value else None
    count = int(((slope != 0) | (offset != 0)).any(axis=1).sum())
    return Snapped(CPWL.from_parts(parts), moved, "", "line", count, int((facet > 0).sum()), where=where)


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


def _bends_little(p: CPWL, order: NDArray[np.int64], tol: float) -> bool:
    """Whether at many places the function leaves the line before it by next to nothing, as far as to the next place."""
    low, high = (ends[order] for ends in intervals(p.polyhedra))
    slope = p.laws.gradient[order, :, 0]
    width = np.where(np.isfinite(high - low), high - low, 0.0)
    away = np.abs(np.diff(slope, axis=0)) * np.minimum(width[:-1], width[1:])[:, None]
    size = np.abs(p.laws.offset).max(axis=0) + np.abs(slope).max(axis=0) * np.abs(low[np.isfinite(low)]).max(
        initial=0.0
    )
    return bool((away <= tol * size).all(axis=1).mean() > _FEW) if len(away) else False


def _value(law: NDArray[np.object_], x: Fraction) -> Fraction:
    return Fraction(law[0] * x.numerator + law[1] * x.denominator, law[2] * x.denominator)
