"""Algorithm 4 of the paper: the composition of two networks."""

from __future__ import annotations

import numpy as np

from cpwl.errors import InputError
from cpwl.network.network import Network, assemble, exact_layers, float_layer

__all__ = ["end_to_end"]


def end_to_end(first: Network, second: Network) -> Network:
    """The network ``x -> second(first(x))``: depth ``l_1 + l_2 - 1``, neurons ``n_1 + n_2``.

    Algorithm 4: the last layer of `first` and the first layer of `second` become one affine layer
    ``W_2 (W_1 h + b_1) + b_2``. It is computed in rationals if either network is rational; for two float
    networks it is computed, and rounded, in float64.

    >>> absolute = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> hat = Network([([[1], [-1]], [-1, 1]), ([[1, 1]], [0])])
    >>> end_to_end(absolute, hat)
    Network(1 -> 2 -> 2 -> 1)
    >>> end_to_end(absolute, hat)([[-1.0], [0.0], [2.0]]).ravel()
    array([0., 1., 1.])
    """
    if first.outputs != second.inputs:
        sizes = f"gives {first.outputs} outputs, but the second takes {second.inputs} inputs"
        raise InputError(f"the first network {sizes}", outputs=first.outputs, inputs=second.inputs)
    before, after = first.layers[:-1], second.layers[1:]
    if first.exact is None and second.exact is None:
        (inner, inner_bias), (outer, outer_bias) = first.layers[-1], second.layers[0]
        with np.errstate(over="ignore"):
            return assemble([*before, (outer @ inner, outer @ inner_bias + outer_bias), *after])
    left, right = exact_layers(first), exact_layers(second)
    merged = (right[0][0] @ left[-1][0], right[0][0] @ left[-1][1] + right[0][1])
    return assemble([*before, float_layer(merged), *after], [*left[:-1], merged, *right[1:]])
