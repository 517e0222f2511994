"""The plane on which a neuron changes its sign, exactly: segments from positive to negative points cross it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.network import Network
from cpwl.network.evaluate import evaluate, evaluate_exact
from cpwl.network.network import exact_layers

__all__ = ["zero_plane"]

_HALVINGS = 20  # after which the neuron should be linear between the two ends


def zero_plane(
    network: Network, layer: int, neuron: int, points: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[int, ...] | None:
    """Integers ``(a, c)``, first slope positive, with the neuron 0 on ``a.x + c = 0``; None if it is so on no plane.

    `layer` counts affine maps from 0; `values` are those of the neuron at some points. One crossing more than needed is
    looked at, so that most wrong planes are seen.
    """
    n = network.inputs
    found: list[list[int]] = []
    for row in _crossings(network, layer, neuron, points, values):
        if len(found) == n:
            return _plane(found, row)
        if fmpz_mat([*found, row]).rank() == len(found) + 1:
            found.append(row)
    return None


def _plane(found: list[list[int]], another: list[int]) -> tuple[int, ...] | None:
    """The plane through `n` points, if it goes through another one."""
    null = fmpz_mat(found).nullspace()[0]
    plane = [int(null[i, 0]) for i in range(len(another))]
    if not any(plane[:-1]) or sum(a * b for a, b in zip(plane, another, strict=True)) != 0:
        return None
    divisor = math.gcd(*plane) * (1 if next(v for v in plane if v) > 0 else -1)
    return tuple(v // divisor for v in plane)


def _crossings(
    network: Network, layer: int, neuron: int, points: NDArray[np.float64], values: NDArray[np.float64]
) -> list[list[int]]:
    """Points ``(x, 1)``, in integers, where the neuron is 0: found by halving in floats, then from two exact values."""
    pick, count = np.array([neuron]), 2 * network.inputs + 1
    weight, bias = network.layers[layer]
    layers = [*network.layers[:layer], (weight[pick], bias[pick])]
    order = np.argsort(values, kind="stable")
    above = order[::-1][np.arange(count) % max(1, int((values > 0).sum()))]
    below = order[(3 * np.arange(count) // 2) % max(1, int((values < 0).sum()))]
    up, down = points[above], points[below]
    for _ in range(_HALVINGS):
        middle = (up + down) / 2
        positive = evaluate(layers, middle)[:, 0] > 0
        up, down = np.where(positive[:, None], middle, up), np.where(positive[:, None], down, middle)
    whole, shift = exact_layers(network)[layer]
    exact = [*exact_layers(network)[:layer], (whole.take_rows(pick), shift[pick])]
    # From two values where it is positive: on the other side it may be 0 for a while.
    near, far = fraction_array(up), fraction_array(up + (up - down))
    at = evaluate_exact(exact, np.concatenate([near, far]))[:, 0]
    crossings = []
    for x, y, low, high in zip(near, far, at[:count], at[count:], strict=True):
        if high > low > 0:
            root = [*(x - (y - x) * (low / (high - low))), Fraction(1)]
            scale = math.lcm(*(v.denominator for v in root))
            crossings.append([int(v * scale) for v in root])
    return crossings
