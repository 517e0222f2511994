"""Functions of one variable given by breakpoints."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import as_reals, fraction_array, has_floats
from cpwl.function.make.segments import dyadic, float_segments, segments
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron

__all__ = ["parts_of_breakpoints"]

_numerator = np.frompyfunc(lambda v: v.numerator, 1, 1)
_denominator = np.frompyfunc(lambda v: v.denominator, 1, 1)


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
    if len(place) > 1 and place[0] > place[-1]:  # from right to left: the same points, read from the other end
        place, value = place[::-1], value[::-1]
        place_exact = None if place_exact is None else place_exact[::-1]
        value_exact = None if value_exact is None else value_exact[::-1]
    at = _homogeneous(place, place_exact)
    _check_increasing(place, at if place_exact is not None else None)
    if place_exact is None and value_exact is None:
        inner = float_segments(place, value)
    else:
        height = _homogeneous(value, value_exact)
        inner = segments(np.stack([at[:-1, None], at[1:, None]]), np.stack([height[:-1], height[1:]]))
    # Each outer piece starts at its breakpoint with the slope given; without one, the outer segment goes on.
    exact_value = value if value_exact is None else value_exact
    laws = [inner]
    if left is not None:
        laws.insert(0, _through(at[0], fraction_array(exact_value[0]), left))
    if right is not None:
        laws.append(_through(at[-1], fraction_array(exact_value[-1]), right))
    knots = slice(0 if left is not None else 1, len(at) if right is not None else len(at) - 1)
    every = Laws.from_integer(np.concatenate(laws))
    floats = any(map(has_floats, (x, y, left_slope, right_slope)))
    return Parts(_intervals(at[knots], place[knots]), every, _line(), 0.0, floats=floats)


def _check_increasing(place: NDArray[np.float64], at: NDArray[np.object_] | None) -> None:
    """Floats are compared as they are, and rationals `at` by cross products."""
    wrong = place[1:] <= place[:-1] if at is None else at[1:, 0] * at[:-1, 1] <= at[:-1, 0] * at[1:, 1]
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        pair = f"{place[i]} is followed by {place[i + 1]}"
        raise InputError(f"`x` must increase, or decrease, from one to the next: {pair}; sort the points", where=i + 1)


def _slope(slope: Any, name: str, value: NDArray[np.float64]) -> NDArray[np.object_] | None:
    if slope is None:
        return None
    array = fraction_array(slope)
    if array.shape not in ((), value.shape[1:]):
        raise InputError(f"`{name}` must be a number, or one for each of {value.shape[1]} outputs")
    return np.broadcast_to(array, value.shape[1:])


def _homogeneous(view: NDArray[np.float64], exact: NDArray[np.object_] | None) -> NDArray[np.object_]:
    """Rows ``(numerator, denominator)`` of all numbers."""
    if exact is None:
        return dyadic(view)
    return np.stack([_numerator(exact), _denominator(exact)], axis=-1)


def _through(at: NDArray[np.object_], height: NDArray[np.object_], slope: Any) -> NDArray[np.object_]:
    x = Fraction(at[0], at[1])
    rows = [[s, h - s * x, Fraction(1)] for s, h in zip(slope, height, strict=True)]
    exact = np.array(rows, dtype=object)
    return integer_rows(np.zeros(exact.shape), exact)[None]


def _intervals(knots: NDArray[np.object_], view: NDArray[np.float64]) -> Polyhedra:
    """The closed intervals that the knots cut the line into: ``d x <= x_i`` and ``-d x <= -x_i``."""
    upper = knots[:, ::-1]
    both = np.stack([upper, -upper], axis=1).reshape(-1, 2)
    start = np.concatenate([[0], np.arange(1, 2 * len(knots), 2), [2 * len(knots)]]).astype(np.int64)
    if len(knots) == 0:
        start = np.zeros(2, dtype=np.int64)
    left = np.tile([1.0, -1.0], len(knots))[:, None]
    return Polyhedra(left, np.repeat(view, 2) * left[:, 0] + 0.0, start, both)  # no -0.0


def _line() -> Polyhedron:
    return Polyhedron(np.zeros((0, 1)), np.zeros(0))
