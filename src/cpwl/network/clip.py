"""Inputs moved to the nearest point of a box, by two layers in front of a network.

``a = relu(x - low)`` and ``k = relu((high - low) - a)``: then ``high - k`` is `x` moved into the box, coordinate by
coordinate. Far away nothing large is left to cancel: `k` is exactly 0 above the box, and ``high - low`` below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import ExactLayer, Network, assemble, exact_layers, float_layer

__all__ = ["Clipped", "clipped", "unclipped"]


@dataclass(frozen=True, slots=True, eq=False)
class Clipped:
    """A network that moves its input into the box first, as the box and the network behind."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    inner: Network


def clipped(network: Network, low: Sequence[Fraction], high: Sequence[Fraction]) -> Network:
    """The network ``x -> network(nearest point of the box to x)``: 2 more neurons for each input, in 2 more layers.

    >>> inside = clipped(Network([([[2]], [1])]), [Fraction(0)], [Fraction(3)])
    >>> inside([[-5.0], [1.0], [9.0]]).ravel().tolist(), inside
    ([1.0, 3.0, 7.0], Network(1 -> 1 -> 1 -> 1))
    """
    n = network.inputs
    below, above = fraction_array(np.array(list(low), dtype=object)), fraction_array(np.array(list(high), dtype=object))
    (weight, bias), *rest = exact_layers(network)
    layers: list[ExactLayer] = [
        (_diagonal(1, n), -below),
        (_diagonal(-1, n), above - below),
        (-weight, fraction_array(bias + weight @ above)),
        *rest,
    ]
    return assemble([float_layer(layer) for layer in layers], layers)


def unclipped(network: Network) -> Clipped | None:
    """The box and the network behind, if the first two layers move the input into a box; else None.

    >>> found = unclipped(clipped(Network([([["1/3"]], [1])]), [Fraction(0)], [Fraction(3)]))
    >>> found.low, found.high, found.inner([["1/2"]])
    ((Fraction(0, 1),), (Fraction(3, 1),), array([[Fraction(7, 6)]], dtype=object))
    >>> unclipped(Network([([["1/3"]], [1])])) is None
    True
    """
    n = network.inputs
    if len(network.layers) < 3 or any(weight.shape != (n, n) or weight.nnz != n for weight, _ in network.layers[:2]):
        return None
    (first, minus_low), (second, width), (weight, bias), *rest = exact_layers(network)
    for layer, sign in ((first, 1), (second, -1)):
        if layer.rows.tolist() != layer.indices.tolist() or not all(v == sign for v in layer.data):
            return None
    if any(w < 0 for w in width):
        return None
    low, high = -minus_low, width - minus_low
    layers: list[ExactLayer] = [(-weight, fraction_array(bias + weight @ high)), *rest]
    inner = assemble([float_layer(layer) for layer in layers], layers)
    return Clipped(tuple(map(Fraction, low)), tuple(map(Fraction, high)), inner)


def _diagonal(value: int, n: int) -> RationalMatrix:
    return RationalMatrix.from_triples(range(n), range(n), [Fraction(value)] * n, (n, n))
