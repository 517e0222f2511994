"""The functions that the demonstration compiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import as_file, files

from cpwl.errors import InternalError
from cpwl.formats.json import load
from cpwl.function import CPWL
from cpwl.function.shallow import random_shallow

__all__ = ["Example", "bundled_examples", "five_pieces"]


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A function with a name, and the cube ``[low, high]^n`` in which it is sampled and drawn."""

    name: str
    slug: str
    """The name of its files."""
    about: str
    """A sentence on where it comes from."""
    function: CPWL
    low: float
    high: float
    construction: str = "auto"


def five_pieces() -> CPWL:
    """The smallest function known to us on which Algorithm 1 is wrong (THEORY, section 1.1).

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
    about = "A damped wave through 31 points with rational values."
    yield Example("31 breakpoints", "breakpoints", about, _wave(), -17, 17)
    about = "Terrain heights at 5 x 5 points, linear on 32 triangles."
    yield Example("5 x 5 table", "table", about, _table(), 0, 4)
    about = "One of the paper's random functions, with all its 32 pieces."
    yield Example("random, 10-D", "random", about, random_shallow(10, 5, seed=0), -3, 3)
    about = "Explicit model-predictive control of a double integrator, in floats."
    yield Example("MPC law", "mpc", about, _mpc(), -5, 5)
    about = "0 below the axis and min(y, 1 - 3 y + |x|) above: Algorithm 1 of the paper is wrong here."
    yield Example("five pieces", "five_pieces", about, five_pieces(), -4, 4, "paper")


def _wave() -> CPWL:
    x = list(range(-15, 16))
    y = [Fraction(round(1000 * math.cos(v * v / 24 + v / 9) * math.exp(-abs(v) / 14)), 1000) for v in x]
    return CPWL.from_breakpoints(x, y, left_slope=Fraction(1, 3), right_slope=0)


def _table() -> CPWL:
    heights = [[0, 1, 1, 0, 0], [1, 3, 4, 1, 0], [0, 4, 7, 3, 1], [0, 2, 3, 2, -1], [0, 0, 1, -1, -3]]
    return CPWL.from_grid([range(5), range(5)], heights)


def _mpc() -> CPWL:
    with as_file(files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json")) as path:
        law = load(path)
    if not isinstance(law, CPWL):
        raise InternalError("the bundled control law is not a function")
    return law
