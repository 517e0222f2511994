"""Functions on a line for tests: from jumps, random ones, small ones with ties, and the same along a direction."""

from fractions import Fraction

import numpy as np

from cpwl import CPWL
from cpwl.exact.rational import fraction_array

__all__ = ["from_jumps", "random_function", "ridge", "small_function"]


def from_jumps(places, jumps, slope, value=0):
    """The function with these slope jumps, this slope to the left and this value at the first place."""
    t, w = fraction_array(places), fraction_array(jumps)
    slopes = Fraction(slope) + np.cumsum(w, axis=0)
    y = Fraction(value) + np.concatenate([[0 * slopes[0]], np.cumsum(slopes[:-1].T * np.diff(t), axis=-1).T])
    return CPWL.from_breakpoints(t, y, left_slope=np.full(w.shape[1:], Fraction(slope)), right_slope=slopes[-1])


def random_function(m, seed, pattern="mixed"):
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 1, m)) * m
    w = rng.normal(size=m)
    if pattern == "blocks":
        w = np.abs(w) * np.repeat([1, -1], [m - m // 2, m // 2])
    if pattern == "convex":
        w = np.abs(w)
    slope, value = rng.normal(size=2)
    return from_jumps(t, w, slope, value)


def small_function(seed, outputs=1, bounded=False):
    """A function with small integers, so that slopes repeat, jumps cancel and signs come in runs."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 24))
    x = np.sort(rng.choice(60, m, replace=False))
    step = rng.integers(-2, 3, (m, outputs))
    kind = int(rng.integers(3))
    y = (
        step
        if kind == 0
        else np.cumsum(np.cumsum(np.abs(step) if kind == 1 else np.sort(step, axis=0), axis=0), axis=0)
    )
    if bounded:
        return CPWL.from_simplices(x[:, None], [[i, i + 1] for i in range(m - 1)], y)
    return CPWL.from_breakpoints(x, y, left_slope=int(rng.integers(-3, 4)), right_slope=int(rng.integers(-3, 4)))


def ridge(p, direction, rest):
    """The function ``p(a . x) + rest . x``."""
    laws, bodies = p.laws.integer()[:, 0], [body.integer() for body in p.polyhedra]
    A = [[[int(row[0] * v) for v in direction] for row in body] for body in bodies]
    b = [[int(row[1]) for row in body] for body in bodies]
    gradient = [[Fraction(law[0] * v, law[2]) + r for v, r in zip(direction, rest, strict=True)] for law in laws]
    return CPWL.from_pieces(A, b, gradient, [Fraction(law[1], law[2]) for law in laws])
