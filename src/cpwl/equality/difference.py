"""The difference of two networks as one network, exactly, with what they have in common shared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix
from cpwl.network import Network
from cpwl.network.algorithms import side_by_side
from cpwl.network.network import assemble, exact_layers, float_layer
from cpwl.passes.simplify import drop_unused, merge_proportional, rebuilt

__all__ = ["difference", "law_of_pattern"]


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
    work = assemble([float_layer(layer) for layer in layers], layers)
    before = None
    while work is not before:  # what goes may make others equal, or constant
        before, work = work, merge_proportional(drop_unused(work))
    return rebuilt(assemble(work.layers), exact_layers(work))  # of floats, where they hold it


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
