"""What C code does with points outside the domain: nothing, clip them to the box, or refuse them.

Ends of a box are rounded inwards: a number of the type is in the box iff it is between the rounded ends. A row of the
domain is moved out by what rounding can do to its sum, so that no point of the domain is refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.options import Outside
from cpwl.errors import InputError
from cpwl.function.box import box_around
from cpwl.function.cpwl import CPWL
from cpwl.function.domain import Box, box_to_clip, domain_box, domain_rows
from cpwl.geometry.box import bounding_box
from cpwl.geometry.polyhedra import box_polyhedron
from cpwl.targets.c.bound import sum_error
from cpwl.targets.c.reference import row_sums
from cpwl.targets.c.tables import scaled_plane
from cpwl.targets.c.text import Guard

__all__ = ["box_ends", "guard_of", "inside_box", "rounded_box"]


def guard_of(outside: Outside, domain: CPWL | Box | None, dtype: str) -> Guard:
    """What the code does with points outside; `InputError` where the domain does not allow it."""
    if outside == "free":
        return Guard(outside)
    if domain is None:
        raise InputError(f'`outside="{outside}"` needs a domain: a network has none of its own; give it as `box`')
    if outside == "clip" and isinstance(domain, CPWL):
        return Guard(outside, *rounded_box(box_to_clip(domain), dtype))
    ends = domain_box(domain) if isinstance(domain, CPWL) else domain
    if ends is not None:
        return Guard(outside, *rounded_box(ends, dtype))
    assert isinstance(domain, CPWL)
    around = box_around(domain)
    if around is None:
        raise InputError('`outside="error"` needs a bounded domain, and the domain of this function is not bounded')
    reach = [max(abs(low), abs(high)) for low, high in around]
    return Guard(outside, rows=np.array([_row(row, reach, dtype) for row in domain_rows(domain)], dtype=dtype))


def box_ends(box: tuple[Any, Any], dim: int) -> Box:
    """The ends of the box that a caller gives, exactly."""
    ends = bounding_box(box_polyhedron(box, dim)) or []
    return [Fraction(low or 0) for low, _ in ends], [Fraction(high or 0) for _, high in ends]


def rounded_box(ends: Box, dtype: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ends as numbers of the type, rounded inwards.

    >>> low, high = rounded_box(([Fraction(1, 3)], [Fraction(2, 3)]), "float64")
    >>> low[0] >= Fraction(1, 3), high[0] <= Fraction(2, 3)
    (True, True)
    """
    low = np.array([_towards(v, dtype, 1) for v in ends[0]], dtype=dtype)
    high = np.array([_towards(v, dtype, -1) for v in ends[1]], dtype=dtype)
    if not (low <= high).all():
        raise InputError(f"the domain has no number of type {dtype} in it")
    return low, high


def inside_box(guard: Guard, x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The points as the code goes on with them, and which of them it refuses."""
    refused: NDArray[np.bool_] = np.zeros(len(x), dtype=bool)
    if guard.outside == "clip" and guard.low is not None and guard.high is not None:
        x = np.where(x < guard.low, guard.low, np.where(x > guard.high, guard.high, x))
    elif guard.rows is not None:
        for row in guard.rows:
            refused |= ~(row_sums(np.broadcast_to(row, (len(x), len(row))), x) <= 0)
    elif guard.outside == "error" and guard.low is not None and guard.high is not None:
        refused |= ~((x >= guard.low) & (x <= guard.high)).all(axis=1)
    return x, refused


def _towards(value: Fraction, dtype: str, sense: int) -> Any:
    """The nearest number of the type that is not below (sense 1) or not above (-1) the value."""
    kind = np.dtype(dtype).type
    near = kind(float(value))
    if not np.isfinite(near):
        raise InputError(f"the domain reaches beyond {dtype}")
    while (Fraction(float(near)) - value) * sense < 0:
        near = np.nextafter(near, kind(sense * np.inf))
    return near


def _row(row: NDArray[np.object_], reach: list[Fraction], dtype: str) -> list[float]:
    """``(constant, slopes)`` of the row ``(a, b)``, moved out by what rounding does to its sum on the domain."""
    exact = scaled_plane(np.array([*row[:-1], -row[-1]], dtype=object))
    used = [float(np.dtype(dtype).type(float(v))) for v in exact]
    slack = 2 * float(sum_error(exact, used, reach, dtype))
    return [float(_towards(Fraction(used[0] - slack), dtype, -1)), *used[1:]]
