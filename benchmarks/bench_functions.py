"""The functions that benchmarks measure, each from a seed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay

from cpwl.function import CPWL

__all__ = ["convex", "delaunay", "grid", "noisy", "random_breakpoints", "rational_delaunay", "triangles"]


def delaunay(n: int, points: int, seed: int) -> CPWL:
    """Random points in the unit box and its corners, values N(0, 1).

    >>> delaunay(2, 22, 0).num_pieces
    46
    """
    x, cells, values = _table(n, points, seed)
    return CPWL.from_simplices(x, cells, values)


def triangles(count: int, seed: int = 0) -> CPWL:
    """A random triangulation of the unit square with exactly that (even) number of triangles.

    >>> triangles(10).num_pieces
    10
    """
    return delaunay(2, count // 2 - 1, seed)


def rational_delaunay(points: int, seed: int) -> CPWL:
    """The same in the plane with coordinates and values in thousandths: rationals that no float holds."""
    x, cells, values = _table(2, points, seed)
    whole = np.rint(x * 10**6).astype(np.int64)
    exact = [[Fraction(int(v), 10**6) for v in row] for row in whole]
    heights = [Fraction(int(v), 1000) for v in np.rint(values * 1000)]
    return CPWL.from_simplices(exact, cells, heights)


def grid(n: int, cells: int, seed: int) -> CPWL:
    """A uniform grid of `cells` in each direction, each cut into n! simplices, values N(0, 1)."""
    values = np.random.default_rng(seed).standard_normal((cells + 1,) * n)
    return CPWL.from_grid([np.arange(cells + 1.0)] * n, values)


def noisy(p: CPWL, noise: float = 1e-13, seed: int = 0) -> CPWL:
    """The pieces of a function as half-spaces of length 1 and laws, every number off by some noise, relative.

    >>> noisy(random_breakpoints(3, 0)).tol
    1e-09
    """
    rng = np.random.default_rng(seed)

    def off(a: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(a * (1 + noise * rng.standard_normal(a.shape)))

    lengths = [np.linalg.norm(body.A, axis=1) for body in p.polyhedra]
    return CPWL.from_pieces(
        [off(body.A / length[:, None]) for body, length in zip(p.polyhedra, lengths, strict=True)],
        [off(body.b / length) for body, length in zip(p.polyhedra, lengths, strict=True)],
        off(p.laws.gradient),
        off(p.laws.offset),
    )


def random_breakpoints(count: int, seed: int) -> CPWL:
    """A function of one variable with that many breakpoints, slopes N(0, 1).

    >>> random_breakpoints(20, 0).num_pieces
    21
    """
    rng = np.random.default_rng(seed)
    x, slopes = np.arange(count), rng.integers(-1000, 1001, count + 1)
    y = np.concatenate([[0], np.cumsum(slopes[1:-1])])
    return CPWL.from_breakpoints(x, y, left_slope=int(slopes[0]), right_slope=int(slopes[-1]))


def convex(planes: int, seed: int) -> CPWL:
    """The maximum of that many tangent planes of a paraboloid, in the plane: each is the largest somewhere.

    >>> convex(20, 0).num_pieces
    20
    """
    x = np.random.default_rng(seed).integers(-1000, 1001, (planes, 2))
    gradient, offset = 2 * x, -(x**2).sum(axis=1)
    others = [np.delete(np.arange(planes), i) for i in range(planes)]
    A = [gradient[j] - gradient[i] for i, j in enumerate(others)]
    b = [offset[i] - offset[j] for i, j in enumerate(others)]
    return CPWL.from_pieces(A, b, gradient, offset)


def _table(n: int, points: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * n)).reshape(n, -1).T
    x = np.concatenate([rng.random((points, n)), corners])
    return x, Delaunay(x).simplices, rng.standard_normal(len(x))
