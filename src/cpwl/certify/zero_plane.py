"""The plane on which a neuron changes its sign, exactly: where segments between positive and negative points cross it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import fraction_array
from cpwl.network import Network
from cpwl.network.evaluate import evaluate_exact
from cpwl.network.network import exact_layers

__all__ = ["zero_plane"]

_HALVINGS = 30  # after which the neuron should be linear between the two ends


def zero_plane(
    network: Network, layer: int, neuron: int, points: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[int, ...] | None:
    """Integers ``(a, c)``, first slope positive, with the neuron 0 on ``a.x + c = 0``, from its values at points; None if they fit no plane.

    `layer` counts affine maps from 0. One crossing more than needed is looked at, so that most wrong planes are seen.
    """
    n = network.inputs
    weight, bias = exact_layers(network)[layer]
    pick = np.array([neuron])
    layers = [*exact_layers(network)[:layer], (weight.take_rows(pick), bias[pick])]

    def exact(x: NDArray[np.object_]) -> Fraction:
        found: Fraction = evaluate_exact(layers, x[None])[0, 0]
        return found

    above, below = np.argsort(-values)[: 2 * n + 2], np.argsort(values)[: 2 * n + 2]
    found: list[list[int]] = []
    for i, j in itertools.product(range(2 * n + 2), repeat=2):
        up, down = above[i % len(above)], below[(i + j) % len(below)]
        root = _crossing(exact, fraction_array(points[up]), fraction_array(points[down]))
        if root is None:
            continue
        row = integer_rows(np.zeros((1, n + 1)), np.array([[*root, Fraction(1)]], dtype=object))[0].tolist()
        if len(found) < n and fmpz_mat([*found, row]).rank() == len(found) + 1:
            found.append(row)
        elif len(found) == n:
            break
    if len(found) < n:
        return None
    plane = fmpz_mat(found).nullspace()[0]
    normal = [int(plane[i, 0]) for i in range(n + 1)]
    if not any(normal[:-1]) or sum(a * b for a, b in zip(normal, row, strict=True)):
        return None
    divisor = math.gcd(*normal) * (1 if next(v for v in normal if v) > 0 else -1)
    return tuple(v // divisor for v in normal)


def _crossing(
    exact: Callable[[NDArray[np.object_]], Fraction], up: NDArray[np.object_], down: NDArray[np.object_]
) -> NDArray[np.object_] | None:
    """The point between the two where the neuron is 0, if it is linear near there."""
    high, low = exact(up), exact(down)
    if high <= 0 or low >= 0:
        return None
    for _ in range(_HALVINGS):
        middle = (up + down) / 2
        value = exact(middle)
        if value > 0:
            up, high = middle, value
        else:
            down, low = middle, value
    return np.asarray(down + (up - down) * (-low / (high - low)))
