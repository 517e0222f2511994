"""Is a row of a polyhedron redundant? Its polar dual, around an inner point, answers both ways.

With the inner point `x` as origin, row `i` becomes the point ``p_i = a_i / (b_i - a_i.x)``. The row is redundant iff
`p_i` is in the convex hull of 0 and the other points, and the weights say why; otherwise the ray from the nearest point
of the hull to `p_i` is one that meets row `i` before all others. The nearest point is a problem of nonnegative least
squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

__all__ = ["Polar"]

_MARGIN = 1e-5  # rows that miss a cell, or reach into it, by less than this, relative, are left to integers
_CLEAR = 1e-9
_WIDE = 32.0  # how far a cell may reach, in its own frame


@dataclass(slots=True, eq=False)
class Polar:
    """One polyhedron ``a.x <= b`` seen from inside; `frame` makes it round.

    `noise` bounds the error of each slack, `error` that of each number in `a`.

    >>> square = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, 1]])
    >>> polar = Polar(square, np.array([1.0, 1, 1, 1, 3]), np.zeros(2), np.eye(2), np.zeros(5), 0 * square)
    >>> polar.decide(4)[0] is None, polar.decide(0)[1]
    (False, array([ 1.  , -0.25]))
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    x: NDArray[np.float64]
    frame: NDArray[np.float64]
    noise: NDArray[np.float64]
    error: NDArray[np.float64]

    def decide(self, k: int) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
        """Rows that imply row `k`, or a point inside facet `k`; neither if floats cannot tell."""
        slack = self.b - self.a @ self.x
        if not (slack > 2 * self.noise).all():
            return None, None
        hull = np.vstack([(self.a @ self.frame / slack[:, None]).T, np.ones(len(self.b))])
        target = hull[:, k] * (1 + _MARGIN)  # a little farther out, so that an answer has that much to spare
        target[-1] = 1.0
        hull[:-1, k] = 0.0  # the origin in its place
        weight, distance = _nearest(hull, target)
        if weight is None:
            return None, None
        doubt = (self.noise + _WIDE * (self.error @ np.abs(self.frame)).sum(axis=1)) / slack
        if distance <= 1e-11 * (1 + np.abs(target).max()):
            weight[k] = 0.0
            return np.flatnonzero(weight > 0) if weight @ doubt + doubt[k] < _MARGIN / 2 else None, None
        way = self.frame @ (target - hull @ weight)[:-1]
        speed = self.a @ way / slack
        off = self.error @ np.abs(way) / slack + np.abs(speed) * (self.noise / slack + 1e-14)
        others = np.delete(speed + off, k)
        if not speed[k] - off[k] > max(others.max(initial=0.0), 0.0) * (1 + _CLEAR):
            return None, None
        return None, np.asarray(self.x + way / speed[k])


def _nearest(hull: NDArray[np.float64], target: NDArray[np.float64]) -> tuple[NDArray[np.float64] | None, float]:
    """Weights of the nearest point and its distance; None where floats fail."""
    if not (np.isfinite(hull).all() and np.isfinite(target).all()):
        return None, np.inf
    try:
        weight, distance = nnls(hull, target)
    except RuntimeError:  # too many iterations
        return None, np.inf
    return weight, float(distance)
