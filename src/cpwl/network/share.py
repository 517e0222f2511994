"""Equal neurons of the first layer made one: what networks side by side have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import ExactLayer, Network, assemble, exact_layers, float_layer

__all__ = ["share_first_layer"]


def share_first_layer(network: Network, blocks: Sequence[int]) -> Network:
    """The same function, with first-layer neurons that occur in several blocks computed once.

    `blocks` has the number of first-layer neurons of each network that was put side by side. Equal means equal
    as numbers, so nothing is rounded. Within a block nothing is merged: its own structure stays readable.
    Returns its input when all blocks differ.

    >>> twice = Network([([[1.0], [-1.0], [1.0]], [0, 0, 0]), ([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0, 0])])
    >>> share_first_layer(twice, [2, 1])
    Network(1 -> 2 -> 2)
    """
    if len(network.layers) < 2:
        return network
    layers = list(exact_layers(network))
    weight, bias = layers[0]
    assert sum(blocks) == len(bias)
    block = np.repeat(np.arange(len(blocks)), blocks)
    seen: Counter[tuple[object, ...]] = Counter()
    numbers: dict[tuple[object, ...], int] = {}
    which = np.zeros(len(bias), dtype=np.int64)
    for i in range(len(bias)):
        key = _key(weight, bias, i)
        occurrence = seen[key, block[i]]
        seen[key, block[i]] += 1
        which[i] = numbers.setdefault((key, occurrence), len(numbers))
    if len(numbers) == len(bias):
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
