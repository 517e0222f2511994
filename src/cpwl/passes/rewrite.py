"""Rewriting a hidden layer: every neuron as an affine combination of those that are kept.

If the outputs of a layer are ``y = T y' + c`` with `y'` the outputs of the kept neurons, the next layer reads
``W T y' + (W c + b)``, and the function stays what it is. All passes that remove neurons do this, in rationals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import is_exact_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.network import Network
from cpwl.network.network import ExactLayer, assemble, exact_layers, float_layer

__all__ = ["Layers", "Removal", "proportional", "rebuilt", "remove", "rewrite"]

Layers = list[ExactLayer]


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """For each neuron that goes: the kept neurons, with factors, and the constant that its output equals."""

    terms: Mapping[int, Mapping[int, Fraction]]
    constant: Mapping[int, Fraction]


def rewrite(network: Network, find: Callable[[Layers, int], Removal | None], *, backwards: bool = False) -> Network:
    """What remains after `find` has named the neurons to remove in one hidden layer after the other."""
    layers: Layers = list(exact_layers(network))
    order: Iterable[int] = range(len(layers) - 1)
    changed = False
    for l in reversed(list(order)) if backwards else order:
        removal = find(layers, l) if l < len(layers) - 1 else None
        if removal is not None and removal.terms:
            layers, changed = remove(layers, l, removal), True
    return rebuilt(network, layers) if changed else network


def remove(layers: Layers, l: int, removal: Removal) -> Layers:
    """The layers without those neurons of hidden layer `l`."""
    weight, bias = layers[l]
    after, after_bias = layers[l + 1]
    keep = np.array([k for k in range(len(bias)) if k not in removal.terms], dtype=np.int64)
    constant = np.full(len(bias), Fraction(0), dtype=object)
    for k, value in removal.constant.items():
        constant[k] = value
    moved = after_bias + after @ constant
    if len(keep) == 0:  # a constant is all that is left
        return _constant(layers, l, moved)
    place = {int(k): j for j, k in enumerate(keep)}
    triples = [(k, j, Fraction(1)) for k, j in place.items()]
    triples += [(k, place[i], v) for k, terms in removal.terms.items() for i, v in terms.items()]
    rows, columns, values = zip(*triples, strict=True)
    into = RationalMatrix.from_triples(rows, columns, values, (len(bias), len(keep)))
    return [*layers[:l], (weight.take_rows(keep), bias[keep]), (after @ into, moved), *layers[l + 2 :]]


def _constant(layers: Layers, l: int, value: NDArray[np.object_]) -> Layers:
    for weight, bias in layers[l + 2 :]:
        value = weight @ (value * (value > 0)) + bias
    return [(RationalMatrix.from_triples([], [], [], (len(value), layers[0][0].shape[1])), value)]


def rebuilt(network: Network, layers: Sequence[ExactLayer]) -> Network:
    """The network of these layers: of floats, if the given one is and all numbers are doubles; else of rationals."""
    exact = network.exact is not None or not all(is_exact_float(w.data) and is_exact_float(b) for w, b in layers)
    return assemble([float_layer(layer) for layer in layers], list(layers) if exact else None)


def proportional(layer: ExactLayer, k: int) -> tuple[tuple[int, ...], tuple[int, ...], Fraction]:
    """What neuron `k` reads: columns, integers without a common divisor, bias last, and the positive factor of these.

    >>> proportional((RationalMatrix.from_dense([["1/2", 0, 1]]), np.array([Fraction(3)])), 0)
    ((0, 2), (1, 2, 6), Fraction(1, 2))
    """
    weight, bias = layer
    entries = slice(weight.indptr[k], weight.indptr[k + 1])
    values = [*weight.data[entries], bias[k]]
    below = math.lcm(*(v.denominator for v in values))
    whole = [v.numerator * (below // v.denominator) for v in values]
    divisor = math.gcd(*whole)
    return tuple(weight.indices[entries].tolist()), tuple(v // divisor for v in whole), Fraction(divisor, below)
