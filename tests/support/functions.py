"""Functions that the tests share, each small enough to check by hand."""

import itertools

import numpy as np
from scipy.spatial import Delaunay

from cpwl import CPWL
from cpwl.show import bundled

five_pieces = bundled.five_pieces


def five_pieces_value(x, y):
    return 0 if y <= 0 else min(y, 1 - 3 * y + abs(x))


def three_piece_cut() -> CPWL:
    """docs/theory/algorithm_1.md: p = min(0, |y| - x + 1), with {p = 0} cut into three pieces."""
    A = [
        [[1, 0]],
        [[-1, 0], [1, -1], [0, -1]],
        [[-1, 0], [1, 1], [0, 1]],
        [[-1, 1], [0, -1]],
        [[-1, -1], [0, 1]],
    ]
    b = [[0], [0, 1, 0], [0, 1, 0], [-1, 0], [-1, 0]]
    return CPWL.from_pieces(A, b, [[0, 0], [0, 0], [0, 0], [-1, 1], [-1, -1]], [0, 0, 0, 1, 1])


def abs_sum(n: int = 2) -> CPWL:
    """|x_1| + ... + |x_n| on its orthants."""
    signs = list(itertools.product((1, -1), repeat=n))
    A = [[[-s if i == j else 0 for j in range(n)] for i, s in enumerate(sign)] for sign in signs]
    return CPWL.from_pieces(A, [[0] * n] * len(signs), signs, [0] * len(signs))


def delaunay(n: int, points: int, seed: int) -> CPWL:
    """A random interpolant on the Delaunay triangulation of random points, values N(0, 1)."""
    rng = np.random.default_rng(seed)
    P = rng.random((points, n))
    return CPWL.from_simplices(P, Delaunay(P).simplices, rng.standard_normal(points))


def boxes(corners, laws) -> CPWL:
    """Pieces that are boxes, given as pairs (low, high), with laws (gradient, offset)."""
    A, b = [], []
    for low, high in corners:
        n = len(low)
        A.append(np.concatenate([np.eye(n, dtype=int), -np.eye(n, dtype=int)]).tolist())
        b.append([*high, *(-v for v in low)])
    return CPWL.from_pieces(A, b, [g for g, _ in laws], [o for _, o in laws])
