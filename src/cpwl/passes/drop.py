"""Neurons that nothing reads, and neurons that are constant."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cpwl.network import Network
from cpwl.passes.rewrite import Layers, Removal, rewrite

__all__ = ["drop_unused"]


def drop_unused(network: Network) -> Network:
    """The same function without neurons of outgoing weights 0, and with constant neurons added to the next bias.

    1. All outgoing weights are 0: the output is never used.
    2. All incoming weights are 0: the output is ``relu(bias)``.

    >>> network = Network([([[1], [0], [2]], [0, 3, 0]), ([[1, 1, 0]], [0])])
    >>> drop_unused(network)
    Network(1 -> 1 -> 1)
    """
    return rewrite(rewrite(network, _constants), _unread, backwards=True)


def _unread(layers: Layers, l: int) -> Removal | None:
    after = layers[l + 1][0]
    idle = np.setdiff1d(np.arange(after.shape[1]), after.indices)
    return Removal({int(k): {} for k in idle}, {}) if len(idle) else None


def _constants(layers: Layers, l: int) -> Removal | None:
    weight, bias = layers[l]
    fixed = np.flatnonzero(np.diff(weight.indptr) == 0)
    constant = {int(k): max(Fraction(bias[k]), Fraction(0)) for k in fixed}
    return Removal({k: {} for k in constant}, constant) if constant else None
