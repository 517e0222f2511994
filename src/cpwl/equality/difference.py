"""The difference of two networks as one network, exactly, with what they have in common shared."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array, is_exact_float, to_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.network.side_by_side import side_by_side

__all__ = ["difference", "law_of_pattern"]

Layer = tuple[RationalMatrix, NDArray[np.object_]]


def difference(a: Network, b: Network) -> Network:
    """The network ``x -> a(x) - b(x)`` without any rounding.

    Neurons with proportional inputs, ``relu(c z) = c relu(z)`` for ``c > 0``, are one neuron, constant ones become
    offsets, and what nobody reads is left out: of two networks that share their neurons little is left.

    >>> hat = Network([([[1.0], [2.0]], [0.0, -2.0]), ([[1.0, -1.0]], [0.0])])
    >>> same = Network([([[1.0], [1.0]], [-1.0, 0.0]), ([[-2.0, 1.0]], [0.0])])
    >>> difference(hat, same)
    Network(1 -> 1)
    """
    layers = list(exact_layers(side_by_side([a, b])))
    m = a.outputs
    weight, bias = layers[-1]
    rows = np.where(weight.rows < m, weight.rows, weight.rows - m)
    values = np.where(weight.rows < m, weight.data, -weight.data)
    last = RationalMatrix.from_triples(rows, weight.indices, values, (m, weight.shape[1]))
    layers[-1] = last, bias[:m] - bias[m:]
    for i in range(len(layers) - 1):
        layers[i], layers[i + 1] = _share(layers[i], layers[i + 1])
    for i in range(len(layers) - 1, 0, -1):
        read = np.unique(layers[i][0].indices)
        if len(read) == 0:  # nothing depends on the input from here on
            constant = RationalMatrix.from_triples([], [], [], (layers[i][0].shape[0], a.inputs))
            layers = [(constant, layers[i][1]), *layers[i + 1 :]]
            break
        layers[i] = _columns(layers[i][0], read), layers[i][1]
        layers[i - 1] = layers[i - 1][0].take_rows(read), layers[i - 1][1][read]
    return Network([_plain(layer) for layer in layers])


def law_of_pattern(network: Network, active: NDArray[np.bool_]) -> NDArray[np.object_]:
    """The affine map ``(gradient, offset)`` of the network, as rationals, where exactly these hidden neurons are on."""
    layers = exact_layers(network)
    h = np.concatenate([layers[0][0].toarray(), layers[0][1][:, None]], axis=1)
    start = 0
    for weight, bias in layers[1:]:
        on = active[start : start + len(h)]
        start += len(h)
        h = weight @ (h * on[:, None].astype(np.int64).astype(object))
        h[:, -1] += bias
    return fraction_array(h)


def _share(layer: Layer, above: Layer) -> tuple[Layer, Layer]:
    """One neuron for all whose inputs are proportional; constant ones go into the offsets above."""
    weight, bias = layer
    first: dict[Any, int] = {}
    kept: list[int] = []
    place = np.full(weight.shape[0], -1, dtype=np.int64)
    factor = np.full(weight.shape[0], Fraction(0), dtype=object)
    for i in range(weight.shape[0]):
        entries = slice(int(weight.indptr[i]), int(weight.indptr[i + 1]))
        values = weight.data[entries]
        if len(values) == 0:
            factor[i] = max(Fraction(bias[i]), Fraction(0))
            continue
        size = abs(Fraction(values[0]))
        key = tuple(weight.indices[entries].tolist()), tuple(v / size for v in values), bias[i] / size
        place[i] = first.setdefault(key, len(kept))
        if place[i] == len(kept):
            kept.append(i)
        lead = abs(Fraction(weight.data[weight.indptr[kept[place[i]]]]))
        factor[i] = size / lead
    upper, offset = above
    constant = place[upper.indices] < 0
    values = upper.data * factor[upper.indices]
    moved = np.full(len(offset), Fraction(0), dtype=object)
    np.add.at(moved, upper.rows[constant], values[constant])
    live = ~constant
    shape = (upper.shape[0], len(kept))
    joined = RationalMatrix.from_triples(upper.rows[live], place[upper.indices[live]], values[live], shape)
    return (weight.take_rows(kept), bias[kept]), (joined, offset + moved)


def _columns(weight: RationalMatrix, read: NDArray[np.int64]) -> RationalMatrix:
    columns = np.searchsorted(read, weight.indices)
    return RationalMatrix.from_triples(weight.rows, columns, weight.data, (weight.shape[0], len(read)))


def _plain(layer: Layer) -> tuple[Any, Any]:
    """The layer in floats where they hold it."""
    weight, bias = layer
    view = weight.tofloat() if is_exact_float(weight.data) else weight
    return view, to_float(bias) if is_exact_float(bias) else bias
