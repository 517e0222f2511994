"""Algorithm 3 of the paper: networks that share their input, as one network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import block_diag, csr_array, vstack

from cpwl.errors import InputError
from cpwl.exact.sparse import block_diagonal, stack_rows
from cpwl.network.end_to_end import end_to_end
from cpwl.network.identity import identity
from cpwl.network.network import ExactLayer, Layer, Network, assemble, exact_layers

__all__ = ["side_by_side"]


def side_by_side(networks: Sequence[Network]) -> Network:
    """The network ``x -> (g_1(x), ..., g_k(x))`` for networks `g_i` on the same R^n.

    Algorithm 3: shallower networks are followed by an identity (Algorithms 5 and 4), then first layers are
    stacked and all others put along a diagonal. With ``l = max l_i`` and `m_i` outputs it has depth `l`,
    ``sum n_i + 2 m_i (l - l_i)`` neurons and width at most ``sum max(w_i, 2 m_i)``.

    >>> relu = Network([([[1]], [0]), ([[1]], [0])])
    >>> double = Network([([[2]], [0])])
    >>> side_by_side([relu, double])
    Network(1 -> 3 -> 2)
    >>> side_by_side([relu, double])([-3.0])
    array([ 0., -6.])
    """
    networks = list(networks)
    if not networks:
        raise InputError("side by side needs at least one network")
    for i, network in enumerate(networks):
        if network.inputs != networks[0].inputs:
            message = f"network {i} takes {network.inputs} inputs, but network 0 takes {networks[0].inputs}"
            raise InputError(message, network=i)
    depth = max(len(network.layers) for network in networks)
    padded = [_deepen(network, depth) for network in networks]
    layers = [_combine([g.layers[i] for g in padded], first=i == 0) for i in range(depth)]
    if all(network.exact is None for network in networks):
        return assemble(layers)
    rational = [exact_layers(network) for network in padded]
    exact = [_combine_exact([g[i] for g in rational], first=i == 0) for i in range(depth)]
    return assemble(layers, exact)


def _deepen(network: Network, depth: int) -> Network:
    missing = depth - len(network.layers)
    return end_to_end(network, identity(network.outputs, missing + 1)) if missing else network


def _combine(layers: Sequence[Layer], first: bool) -> Layer:
    weights = [weight for weight, _ in layers]
    joint = vstack(weights, format="csr") if first else block_diag(weights, format="csr")
    return csr_array(joint), np.concatenate([bias for _, bias in layers])


def _combine_exact(layers: Sequence[ExactLayer], first: bool) -> ExactLayer:
    weights = [weight for weight, _ in layers]
    joint = stack_rows(weights) if first else block_diagonal(weights)
    return joint, np.concatenate([bias for _, bias in layers])
