"""The functions that the demonstration compiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay

from cpwl.errors import InternalError
from cpwl.function import CPWL
from cpwl.function.shallow import random_shallow
from cpwl.io.json import load

__all__ = ["Example", "bundled_examples", "five_pieces"]


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A function with a name, and the cube ``[low, high]^n`` in which it is drawn."""

    name: str
    slug: str
    """The name of its files."""
    about: str
    """A sentence on where it comes from."""
    function: CPWL
    low: float
    high: float


def five_pieces() -> CPWL:
    """The smallest function known to us on which Algorithm 1 is wrong (docs/theory/algorithm_1.md).

    ``p(x, y) = 0`` for ``y <= 0`` and ``min(y, 1 - 3 y + |x|)`` for ``y >= 0``. On ``y <= 0`` only the
    component 0 stays above `p`, so its row is 0 and the max-min form is never negative; but `p` is:

    >>> float(five_pieces()([[0.0, 1.0]])[0, 0])
    -2.0
    """
    A = [
        [[0, 1]],
        [[-1, 0], [0, -1], [-1, 4]],
        [[1, 0], [0, -1], [1, 4]],
        [[-1, 0], [1, -4]],
        [[1, 0], [-1, -4]],
    ]
    b = [[0], [0, 0, 1], [0, 0, 1], [0, -1], [0, -1]]
    gradient, offset = [[0, 0], [0, 1], [0, 1], [1, -3], [-1, -3]], [0, 0, 0, 1, 1]
    return CPWL.from_pieces(A, b, gradient, offset)


def bundled_examples() -> Iterator[Example]:
    """The examples of the demonstration, in order."""
    # No rows at all: one piece, the whole space.
    affine = CPWL.from_pieces([[[0, 0, 0]]], [[0]], [[2, -1, "1/3"]], [1])
    yield Example("affine", "affine", "2 x - y + z / 3 + 1: no hidden neuron at all.", affine, -1, 1)
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    quadrants = [[[-s, 0], [0, -t]] for s, t in signs]
    norm = CPWL.from_pieces(quadrants, [[0, 0]] * 4, signs, [0] * 4)
    yield Example("|x| + |y|", "norm", "The sum norm in the plane, linear on each quadrant.", norm, -2, 2)
    about = "A damped wave through 31 breakpoints with rational values."
    yield Example("wave, 1-D", "wave", about, _wave(), -17, 17)
    about = "Terrain heights at 5 x 5 points, linear on 32 triangles."
    yield Example("5 x 5 table", "table", about, _table(), 0, 4)
    about = "One of the paper's random functions, with all its 32 pieces."
    yield Example("random, 10-D", "random", about, random_shallow(10, 5, seed=0), -3, 3)
    about = "Explicit model-predictive control of a double integrator, in floats."
    yield Example("MPC law", "mpc", about, _mpc(), -5, 5)
    about = "Heights at 48 scattered places, linear on their Delaunay triangles."
    yield Example("Delaunay, 2-D", "plane", about, _plane(), 0, 100)
    about = "Random values at 16 random points of space, linear on their Delaunay tetrahedra."
    yield Example("Delaunay, 3-D", "space", about, _space(), -10, 10)
    about = "0 below the axis and min(y, 1 - 3 y + |x|) above. Five pieces are enough for Algorithm 1 to fail."
    yield Example("five pieces", "five_pieces", about, five_pieces(), -4, 4)


def _wave() -> CPWL:
    x = list(range(-15, 16))
    y = [Fraction(round(1000 * math.cos(v * v / 24 + v / 9) * math.exp(-abs(v) / 14)), 1000) for v in x]
    return CPWL.from_breakpoints(x, y, left_slope=Fraction(1, 3), right_slope=0)


def _table() -> CPWL:
    heights = [[0, 1, 1, 0, 0], [1, 3, 4, 1, 0], [0, 4, 7, 3, 1], [0, 2, 3, 2, -1], [0, 0, 1, -1, -3]]
    return CPWL.from_grid([range(5), range(5)], heights)


def _plane() -> CPWL:
    """Two hills and a hollow as a surveyor sees them: at whole numbers of paces, to the foot, and never quite right."""
    rng = np.random.default_rng(7)
    places = np.concatenate([[[0, 0], [100, 0], [100, 100], [0, 100]], rng.integers(4, 97, (44, 2))])
    x, y = places.T / 50 - 1
    heights = 60 * np.exp(-3 * ((x + 0.4) ** 2 + (y - 0.3) ** 2)) + 45 * np.exp(-5 * ((x - 0.5) ** 2 + (y + 0.4) ** 2))
    heights -= 30 * np.exp(-4 * ((x - 0.3) ** 2 + (y - 0.6) ** 2))
    return _interpolant(places, np.rint(heights + rng.normal(0, 4, len(places))).astype(np.int64))


def _space() -> CPWL:
    rng = np.random.default_rng(5)
    return _interpolant(rng.integers(-10, 11, (16, 3)), rng.integers(-10, 11, 16))


def _interpolant(points: NDArray[np.int64], values: NDArray[np.int64]) -> CPWL:
    # Whole numbers keep the rationals of the proof short.
    return CPWL.from_simplices(points, Delaunay(points).simplices, values)


def _mpc() -> CPWL:
    with as_file(files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json")) as path:
        law = load(path)
    if not isinstance(law, CPWL):
        raise InternalError("the bundled control law is not a function")
    return law
