"""Algorithm 4 of the paper: the composition of two networks."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from cpwl.errors import InputError
from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import ExactLayer, Layer, Network, assemble, exact_layers, float_layer

__all__ = ["end_to_end"]

_SMALL = 2**26  # entries of such sums have products below 2^53


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
    joint = _in_integers(first.layers[-1], left[-1], second.layers[0], right[0])
    if joint is not None:
        return assemble([*before, joint[0], *after], [*left[:-1], joint[1], *right[1:]])
    merged = (right[0][0] @ left[-1][0], right[0][0] @ left[-1][1] + right[0][1])
    return assemble([*before, float_layer(merged), *after], [*left[:-1], merged, *right[1:]])


def _in_integers(
    inner: Layer, exact_inner: ExactLayer, outer: Layer, exact_outer: ExactLayer
) -> tuple[Layer, ExactLayer] | None:
    """The merged layer where floats compute it without rounding: small integers, as in all layers but the first."""
    for (weight, bias), (exact_weight, _) in ((inner, exact_inner), (outer, exact_outer)):
        if weight.nnz != exact_weight.nnz or bias.any() or weight.nnz * np.abs(weight.data).max(initial=0.0) > _SMALL:
            return None
        if (exact_weight.data != weight.data.astype(np.int64).astype(object)).any():
            return None
    if exact_inner[1].any() or exact_outer[1].any():
        return None
    weight = csr_array(outer[0] @ inner[0])
    weight.sum_duplicates()
    weight.eliminate_zeros()
    layer = (weight, np.zeros(weight.shape[0]))
    return layer, (RationalMatrix.from_float(weight), fraction_array(layer[1]))
