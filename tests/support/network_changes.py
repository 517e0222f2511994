"""Random networks, the same function in other clothes, and networks with one weight changed."""

import itertools
from fractions import Fraction

import numpy as np

from cpwl.network import Network
from cpwl.network.network import exact_layers

__all__ = ["box", "normal", "shuffled", "with_change"]


def box(n, low=-1, high=1):
    """The rows of the box ``[low, high]^n``."""
    return [*np.eye(n, dtype=int), *-np.eye(n, dtype=int)], [high] * n + [-low] * n


def shuffled(network, seed=0):
    """The same function in other clothes: hidden neurons permuted, scaled by powers of two, and one of them halved."""
    rng = np.random.default_rng(seed)
    layers = [[weight.toarray(), bias] for weight, bias in exact_layers(network)]
    for i in range(len(layers) - 1):
        order = rng.permutation(len(layers[i][1]))
        scale = np.array([Fraction(2) ** int(e) for e in rng.integers(-2, 3, len(order))], dtype=object)
        layers[i][0], layers[i][1] = layers[i][0][order] * scale[:, None], layers[i][1][order] * scale
        layers[i + 1][0] = layers[i + 1][0][:, order] / scale
        layers[i][0], layers[i][1] = (
            np.vstack([layers[i][0], layers[i][0][:1]]),
            np.append(layers[i][1], layers[i][1][0]),
        )
        half = layers[i + 1][0][:, :1] / 2
        layers[i + 1][0] = np.hstack([half, layers[i + 1][0][:, 1:], half])
    return Network(layers)


def with_change(network, layer, row, column, change):
    """The network with one weight changed."""
    layers = [[weight.toarray(), bias] for weight, bias in exact_layers(network)]
    layers[layer][0][row, column] += Fraction(change)
    return Network(layers)


def normal(sizes, seed=0):
    """A random float network."""
    rng = np.random.default_rng(seed)
    return Network([(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in itertools.pairwise(sizes)])
