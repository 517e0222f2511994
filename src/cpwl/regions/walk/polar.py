"""Is a row of a polyhedron redundant? Its polar dual, around an inner point, answers both ways.

With the inner point `x` as origin, row `i` becomes the point ``p_i = a_i / (b_i - a_i.x)``. The row is redundant iff
`p_i` is in the convex hull of 0 and the other points, and the weights say why; otherwise the ray from the nearest point
of the hull to `p_i` is one that meets row `i` before all others. The nearest point is a problem of nonnegative least
squares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

__all__ = ["MARGIN", "Polar"]

MARGIN = 1e-5  # rows that miss a cell, or reach into it, by less than this, relative, are left to integers
_CLEAR = 1e-9
_WIDE = 32.0  # how far a cell may reach, in its own frame


class Polar:
    """One polyhedron ``a.x <= b`` seen from inside; `frame` makes it round.

    `noise` bounds the error of each slack, `error` that of each number in `a`.

    >>> square = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, 1]])
    >>> polar = Polar(square, np.array([1.0, 1, 1, 1, 3]), np.zeros(2), np.eye(2), np.zeros(5), 0 * square)
    >>> polar.decide(4)[0] is None, polar.decide(0)[1]
    (False, array([ 1.  , -0.25]))
    """

    def __init__(
        self,
        a: NDArray[np.float64],
        b: NDArray[np.float64],
        x: NDArray[np.float64],
        frame: NDArray[np.float64],
        noise: NDArray[np.float64],
        error: NDArray[np.float64],
    ) -> None:
        self.a, self.x, self.frame, self.error = a, x, frame, error
        self.slack = b - a @ x
        with np.errstate(all="ignore"):
            self.noise = noise / self.slack
            self.doubt = self.noise + _WIDE * (error @ np.abs(frame)).sum(axis=1) / self.slack
            self.hull = np.vstack([(a @ frame / self.slack[:, None]).T, np.ones(len(b))])
        self.sound = bool((self.slack > 2 * noise).all() and np.isfinite(self.hull).all())

    def decide(self, k: int) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
        """Rows that imply row `k`, or a point inside facet `k`; neither if floats cannot tell."""
        if not self.sound:
            return None, None
        hull = self.hull.copy()
        target = hull[:, k] * (1 + MARGIN)  # a little farther out, so that an answer has that much to spare
        target[-1] = 1.0
        hull[:-1, k] = 0.0  # the origin in its place
        try:
            weight, distance = nnls(hull, target)
        except RuntimeError:  # too many iterations
            return None, None
        if distance <= 1e-11 * (1 + np.abs(target).max()):
            weight[k] = 0.0
            sure = weight @ self.doubt + self.doubt[k] < MARGIN / 2
            return np.flatnonzero(weight > 0) if sure else None, None
        way = self.frame @ (target - hull @ weight)[:-1]
        speed = self.a @ way / self.slack
        off = self.error @ np.abs(way) / self.slack + np.abs(speed) * (self.noise + 1e-14)
        others = np.delete(speed + off, k)
        if not speed[k] - off[k] > max(others.max(initial=0.0), 0.0) * (1 + _CLEAR):
            return None, None
        return None, np.asarray(self.x + way / speed[k])
