"""Layers that only pass affine functions: two affine maps in a row are one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cpwl.geometry.box import Range
from cpwl.geometry.polyhedra import Domain
from cpwl.network import Network
from cpwl.network.network import ExactLayer, exact_layers
from cpwl.passes.dependent import passed_functions
from cpwl.passes.ranges import ranges
from cpwl.passes.rewrite import Layers, rebuilt

__all__ = ["fold_linear"]


def fold_linear(network: Network, domain: Domain = None) -> Network:
    """The same function without hidden layers in which every neuron is always on, or half of an opposite pair.

    A pair counts if all that read it read ``c (relu(z) - relu(-z)) = c z``. Such layers come from padding with
    identities (Algorithm 5 of the paper). The layer goes with all its neurons.

    >>> network = Network([([[1], [-1]], [0, 0]), ([[2, -2], [-1, 1]], [0, 1]), ([[1, 1]], [0])])
    >>> fold_linear(network)
    Network(1 -> 2 -> 1)
    """
    layers: Layers = list(exact_layers(network))
    bounds = ranges(layers, domain)
    l, changed = 0, False
    while l < len(layers) - 1:
        folded = _folded(layers[l], layers[l + 1], bounds[l])
        if folded is None:
            l += 1
        else:
            layers[l : l + 2] = [folded]
            del bounds[l]
            changed = True
    return rebuilt(network, layers) if changed else network


def _folded(layer: ExactLayer, after: ExactLayer, bounds: list[Range]) -> ExactLayer | None:
    """The product of the two maps, if nothing between them bends."""
    weight, bias = layer
    passed = passed_functions(layer, bounds)
    if sum(1 if f.opposite is None else 2 for f in passed) < len(bias):
        return None
    columns = after[0].toarray()
    for f in passed:
        if f.opposite is not None and (columns[:, f.opposite] != -f.factor * columns[:, f.neuron]).any():
            return None
    rows = np.array([f.neuron for f in passed], dtype=np.int64)
    reads = np.full(after[0].shape, Fraction(0), dtype=object)
    reads[:, rows] = columns[:, rows]
    matrix = type(weight).from_dense(reads)
    return matrix @ weight, after[1] + matrix @ bias
