"""Neurons of size 1: the same cells and the same laws, without numbers that overflow when they are multiplied."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import LimitError
from cpwl.exact.rational import is_exact_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import ExactLayer, Network, assemble, exact_layers, float_layer

__all__ = ["balanced"]

_LARGE = 2.0**200  # sizes up to which nothing is done: squares and products of them are far from the ends of float64


def balanced(network: Network) -> Network:
    """The network itself if its numbers are of ordinary size; else one with every hidden neuron near size 1.

    ``relu(c z) = c relu(z)`` for ``c > 0``: a neuron is divided by a power of two, and whoever reads it multiplies. No
    sign of any neuron changes anywhere, and nothing is rounded: a number that no double holds is kept as a rational.

    >>> tiny = balanced(Network([([[2.0**-600]], [2.0**-600]), ([[2.0**600]], [0.0])]))
    >>> tiny.layers[0][0].data, tiny.layers[1][0].data
    (array([1.]), array([1.]))
    """
    if _is_ordinary(network):
        return network
    layers: list[ExactLayer] = []
    shift = np.zeros(network.inputs, dtype=np.int64)
    last = len(network.layers) - 1
    for l, (weight, bias) in enumerate(exact_layers(network)):
        data = np.array([v * Fraction(2) ** int(shift[j]) for v, j in zip(weight.data, weight.indices, strict=True)])
        size = _exponents(data.astype(object), weight.rows, bias) if l < last else np.zeros(len(bias), dtype=np.int64)
        scale = np.array([Fraction(2) ** -int(e) for e in size], dtype=object)
        entries = (data * scale[weight.rows]).astype(object) if len(data) else data.astype(object)
        layers.append((RationalMatrix(weight.shape, weight.indptr, weight.indices, entries), bias * scale))
        shift = size
    try:
        floats = [float_layer(layer) for layer in layers]
    except (LimitError, OverflowError):
        raise LimitError("the weights are out of range: laws are larger than any float64; scale the outputs") from None
    exact = network.exact is not None or not all(is_exact_float(w.data) and is_exact_float(b) for w, b in layers)
    return assemble(floats, layers if exact else None)


def _is_ordinary(network: Network) -> bool:
    numbers = np.abs(np.concatenate([part for weight, bias in network.layers for part in (weight.data, bias)]))
    numbers = numbers[numbers > 0]
    return len(numbers) == 0 or bool(numbers.max() < _LARGE and numbers.min() > 1 / _LARGE)


def _exponents(data: NDArray[np.object_], rows: NDArray[np.int64], bias: NDArray[np.object_]) -> NDArray[np.int64]:
    """For each row the binary exponent of its largest number, bias included; 0 for a row of zeros."""
    lowest = np.iinfo(np.int64).min
    result = np.array([_exponent(v) if v else lowest for v in bias], dtype=np.int64)
    np.maximum.at(result, rows, np.array([_exponent(v) if v else lowest for v in data], dtype=np.int64))
    return np.where(result == lowest, 0, result)


def _exponent(value: Fraction) -> int:
    return abs(value.numerator).bit_length() - value.denominator.bit_length()
