"""How large must the multiplier of a gate be? The range of ``-d / l`` over the domain, never from samples.

A gate glues along a line ``l = 0`` on which ``d = sum_H c_H relu(h_H)`` vanishes. ``d + M l`` has the sign of `l` on the
domain iff ``M >= sup(-d/l)``, and the opposite sign iff ``M <= inf(-d/l)``. On a cell of the arrangement of the lines
``h_H = 0`` and the domain's edges ``d + M l`` is affine, so its sign is decided at corners and along extreme rays: at
the crossings of these lines and, if the domain is unbounded, of the line at infinity. Crossings are exact integers;
quotients of them are rounded once, and what rounding can do to the rest is added to the range.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.planar_edges import cross
from cpwl.exact.integers import ratio_view, sign

__all__ = ["rounded_up", "sharp_range", "star_range"]

_BITS = 8
_ULP = float(np.finfo(np.float64).eps)


def rounded_up(x: float) -> Fraction:
    """A number of 8 bits that is larger than `x`; 0 if `x` is not positive.

    >>> rounded_up(0.3), rounded_up(-2.0)
    (Fraction(77, 256), Fraction(0, 1))
    """
    if not x > 0:
        return Fraction(0)
    mantissa, exponent = math.frexp(x)
    top = math.floor(mantissa * 2**_BITS) + 1
    return Fraction(top) * Fraction(2) ** (exponent - _BITS)


def sharp_range(
    line: NDArray[np.object_],
    hinges: NDArray[np.object_],
    jump: NDArray[np.float64],
    boundary: NDArray[np.object_],
    bounded: bool,
) -> tuple[float, float]:
    """Bounds on ``-d / l`` over the domain where all `boundary` forms are at least 0, tight up to rounding.

    Takes time in the cube of the number of hinges.
    """
    others = [hinges, boundary] if bounded else [hinges, boundary, np.array([[0, 0, 1]], dtype=object)]
    forms = np.concatenate(others)
    one, two = np.triu_indices(len(forms), 1)
    points = cross(forms[one], forms[two])
    points = points[(points != 0).any(axis=1)]
    turn = np.where(sign(points[:, 2]) < 0, -1, 1).astype(object)
    points = points * turn[:, None]
    far = points[points[:, 2] == 0]
    points = np.concatenate([points, -far]) if not bounded else points[points[:, 2] != 0]
    if len(boundary):
        points = points[((points @ boundary.T) >= 0).all(axis=1)]
    return _range_at(points, line, hinges, jump)


def star_range(
    line: NDArray[np.object_], normals: NDArray[np.object_], jump: NDArray[np.float64]
) -> tuple[float, float]:
    """The same for the hinges through one point of the line, over all of the plane: it depends on the direction only.

    The ranges of the points on a gate line add up to bounds for the whole gate, in time linear in their number.
    """
    ways = np.column_stack([normals[:, 1], -normals[:, 0]])
    return _range_at(np.concatenate([ways, -ways]), line[:2], normals, jump)


def _range_at(
    points: NDArray[np.object_], line: NDArray[np.object_], hinges: NDArray[np.object_], jump: NDArray[np.float64]
) -> tuple[float, float]:
    """The least and largest ``-d / l`` at the points (homogeneous), outwards by what rounding can do."""
    below = points @ line
    points, below = points[below != 0], below[below != 0]
    if len(points) == 0:
        return 0.0, 0.0
    above = points @ hinges.T
    share = ratio_view(np.where(above > 0, above, 0), np.abs(below)[:, None])
    value = -(share @ jump) * sign(below)
    slack = (len(jump) + 4) * _ULP * (share @ np.abs(jump))
    return float((value - slack).min()), float((value + slack).max())
