"""Equal neurons of the first layer made one: what networks side by side have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import ExactLayer, Network, assemble, exact_layers, float_layer

__all__ = ["share_first_layer"]


def share_first_layer(network: Network) -> Network:
    """The same function, with first-layer neurons of equal weights and bias computed once.

    Equal means equal as numbers, so nothing is rounded. Returns its input when all neurons differ.

    >>> twice = Network([([[1.0], [1.0], [-1.0]], [0, 0, 0]), ([[1.0, 2.0, 1.0]], [0])])
    >>> share_first_layer(twice)
    Network(1 -> 2 -> 1)
    """
    if len(network.layers) < 2:
        return network
    layers = list(exact_layers(network))
    weight, bias = layers[0]
    keys: dict[tuple[object, ...], int] = {}
    which = np.array([keys.setdefault(_key(weight, bias, i), len(keys)) for i in range(len(bias))])
    if len(keys) == len(bias):
        return network
    first = np.unique(which, return_index=True)[1]
    layers[0] = _rows(weight, bias, first)
    after, after_bias = layers[1]
    merged = RationalMatrix.from_triples(after.rows, which[after.indices], after.data, (after.shape[0], len(first)))
    layers[1] = (merged, after_bias)
    return assemble([float_layer(layer) for layer in layers], None if network.exact is None else layers)


def _key(weight: RationalMatrix, bias: NDArray[np.object_], i: int) -> tuple[object, ...]:
    entries = slice(weight.indptr[i], weight.indptr[i + 1])
    return (*weight.indices[entries].tolist(), *weight.data[entries].tolist(), bias[i])


def _rows(weight: RationalMatrix, bias: NDArray[np.object_], rows: NDArray[np.int64]) -> ExactLayer:
    place = np.full(weight.shape[0], -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    keep = place[weight.rows] >= 0
    chosen = RationalMatrix.from_triples(
        place[weight.rows[keep]], weight.indices[keep], weight.data[keep], (len(rows), weight.shape[1])
    )
    return chosen, bias[rows]
