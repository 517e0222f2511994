"""Networks of a max of mins of components, and those of several outputs side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import eye_array

from cpwl.function.order import Order
from cpwl.function.parts import Laws
from cpwl.limits import check_memory
from cpwl.network import Network
from cpwl.network.algorithms import end_to_end, extrema, extremum, maxmin, share_first_layer, side_by_side

__all__ = ["max_of_mins", "outputs_together", "rows_of"]

_BYTES = 96  # for a weight, as a float and as a rational, with what it takes to make them


def rows_of(order: Order) -> list[NDArray[np.int64]]:
    """The paper's sets `A_i`: for each piece the components that stay above the function on it."""
    return [np.flatnonzero(row) for row in order.above]


def max_of_mins(laws: Laws, rows: list[NDArray[np.int64]]) -> Network:
    """Steps 9-13 of Algorithm 1: min networks side by side, then the max of their outputs.

    >>> from cpwl.function import CPWL
    >>> max_of_mins(CPWL.from_maxmin([[1, 0], [-1, 0]], [[0], [1]]).components(0), [np.array([0]), np.array([1])])
    Network(1 -> 3 -> 1)
    """
    members = sum(len(row) for row in rows)
    # Three neurons for two members, with n weights each in the first layer and up to six in later ones.
    check_memory(
        _BYTES * members * (1.5 * laws.gradient.shape[-1] + 9),
        f"Algorithm 1's network of about {3 * members:,} neurons",
        'Use construction="gates" or "lattice", which need far fewer.',
    )
    if laws.exact is not None:
        return maxmin(laws.exact[:, 0], rows)
    minima = extrema(laws.gradient[:, 0], laws.offset[:, 0], rows, "min")
    return end_to_end(minima, extremum(eye_array(len(rows), format="csr"), np.zeros(len(rows)), "max"))


def outputs_together(networks: list[Network]) -> Network:
    """One network per output, side by side, with what their first layers have in common shared."""
    if len(networks) == 1:
        return networks[0]
    first = [1 if len(n.layers) == 1 else n.layers[0][0].shape[0] for n in networks]
    depth = max(len(n.layers) for n in networks)
    first = [2 if len(n.layers) == 1 and depth > 1 else f for n, f in zip(networks, first, strict=True)]
    return share_first_layer(side_by_side(networks), first) if depth > 1 else side_by_side(networks)
