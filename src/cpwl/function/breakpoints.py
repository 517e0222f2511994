"""Functions of one variable given by breakpoints."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import integer_rows, quotient
from cpwl.exact.rational import as_reals, fraction_array
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron

__all__ = ["parts_of_breakpoints"]


def parts_of_breakpoints(x: Any, y: Any, left_slope: Any, right_slope: Any) -> Parts:
    """Pieces of the function through ``(x[i], y[i])``, straight between, with the given outer slopes."""
    place, place_exact = as_reals(x, "x")
    value, value_exact = as_reals(y, "y")
    if place.ndim != 1 or len(place) == 0 or value.ndim not in (1, 2) or len(value) != len(place):
        raise InputError(f"`x` must be (N,) with N >= 1 and `y` (N,) or (N, m), not {place.shape} and {value.shape}")
    if value.ndim == 1:
        value, value_exact = value[:, None], None if value_exact is None else value_exact[:, None]
    left, right = _slope(left_slope, "left_slope", value), _slope(right_slope, "right_slope", value)
    if len(place) == 1 and (left is None or right is None):
        raise InputError("a single breakpoint needs both `left_slope` and `right_slope`")
    at = _homogeneous(place[:, None], None if place_exact is None else place_exact[:, None])[:, 0]
    height = _homogeneous(value, value_exact)
    step = at[1:, 0] * at[:-1, 1] - at[:-1, 0] * at[1:, 1]
    if (step <= 0).any():
        i = int(np.flatnonzero(step <= 0)[0])
        message = f"`x` must increase: `x[{i}]` is {place[i]} and `x[{i + 1}]` is {place[i + 1]}"
        raise InputError(message, where=i + 1)
    # Each outer piece starts at its breakpoint with the slope given; without one, the outer segment goes on.
    laws = [_segments(at, height, step)]
    if left is not None:
        laws.insert(0, _through(at[0], height[0], left))
    if right is not None:
        laws.append(_through(at[-1], height[-1], right))
    knots = at[(0 if left is not None else 1) : (len(at) if right is not None else len(at) - 1)]
    return Parts(_intervals(knots), Laws.from_integer(np.concatenate(laws)), _line(), 0.0)


def _slope(slope: Any, name: str, value: NDArray[np.float64]) -> NDArray[np.object_] | None:
    if slope is None:
        return None
    array = fraction_array(slope)
    if array.shape not in ((), value.shape[1:]):
        raise InputError(f"`{name}` must be a number, or one for each of {value.shape[1]} outputs")
    return np.broadcast_to(array, value.shape[1:])


def _homogeneous(view: NDArray[np.float64], exact: NDArray[np.object_] | None) -> NDArray[np.object_]:
    flat = np.column_stack([view.ravel(), np.ones(view.size)])
    if exact is not None:
        exact = np.column_stack([exact.ravel(), fraction_array(np.ones(view.size))])
    return integer_rows(flat, exact).reshape(*view.shape, 2)


def _segments(at: NDArray[np.object_], height: NDArray[np.object_], step: NDArray[np.object_]) -> NDArray[np.object_]:
    """Laws between neighbours: slope ``(y1 - y0) / (x1 - x0)`` and offset ``y0 - slope x0``."""
    x0, d0, d1 = at[:-1, 0, None], at[:-1, 1, None], at[1:, 1, None]
    y0, e0, y1, e1 = height[:-1, :, 0], height[:-1, :, 1], height[1:, :, 0], height[1:, :, 1]
    rise = (y1 * e0 - y0 * e1) * d0 * d1  # slope = rise / (run e0 e1)
    run = step[:, None]
    offset = y0 * run * e1 * d0 - rise * x0  # over run e0 e1 d0
    return quotient(np.stack([rise * d0, offset], axis=-1), run * e0 * e1 * d0)


def _through(at: NDArray[np.object_], height: NDArray[np.object_], slope: Any) -> NDArray[np.object_]:
    x = Fraction(at[0], at[1])
    rows = [[s, Fraction(h[0], h[1]) - s * x, Fraction(1)] for s, h in zip(slope, height, strict=True)]
    exact = np.array(rows, dtype=object)
    return integer_rows(np.zeros(exact.shape), exact)[None]


def _intervals(knots: NDArray[np.object_]) -> Polyhedra:
    """The closed intervals that the knots cut the line into: ``d x <= x_i`` and ``-d x <= -x_i``."""
    upper = np.stack([knots[:, 1], knots[:, 0]], axis=1)
    both = np.stack([upper, -upper], axis=1).reshape(-1, 2)
    start = np.concatenate([[0], np.arange(1, 2 * len(knots), 2), [2 * len(knots)]]).astype(np.int64)
    if len(knots) == 0:
        start = np.zeros(2, dtype=np.int64)
    right = np.asarray(both[:, 1] / np.abs(both[:, 0]), dtype=np.float64)
    left = np.where(np.arange(len(both)) % 2 == 0, 1.0, -1.0)[:, None]
    return Polyhedra(left, right, start, both.reshape(-1, 2))


def _line() -> Polyhedron:
    return Polyhedron(np.zeros((0, 1)), np.zeros(0))
