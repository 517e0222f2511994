"""How rounding grows on the way through a network: a bound that holds with high probability, for long sums too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

__all__ = ["noise"]

Layers = Sequence[tuple[Any, NDArray[np.float64]]]
_BLOCK = 2**20  # activations held at once
_WORK = 2**25  # products in all


def noise(layers: Layers, points: ArrayLike) -> float:
    """The largest standard deviation of an output over some points, in units of the roundoff of the format.

    Every rounding counts as an independent relative error of one unit. Weights are rounded unless they are short,
    products unless the weight is a power of two, and so is every partial sum: in a sum of 400 terms the 399 partial
    sums count, in the order of the weights, which is that of runtimes. (Several sums side by side, as in vector units,
    have smaller partial sums.)
    Terms that are 0 round nothing. The error of a neuron reaches the output with the slope that it has there: errors
    that cancel, as in ``a + relu(b - a)``, do so here too. Roundings behave as if they were independent (Higham and
    Mary 2019): two deviations are more than any error seen (docs/theory/float_quality.md).

    >>> noise([(csr_array([[3.0, 4.0, 0.1]]), np.zeros(1))], [[1.0, 1.0, 0.0]])  # 3^2 + (3 + 4)^2, and 4 is exact
    7.615773105863909
    """
    x = np.atleast_2d(np.asarray(points, dtype=np.float64))
    # Fewer points for a large network: a prediction may not take longer than the network took to build.
    work = sum(weight.nnz + weight.shape[0] for weight, _ in layers)
    x = x[:: max(1, -(-len(x) * work // _WORK))]
    step = max(1, _BLOCK // max(weight.shape[0] for weight, _ in layers))
    with np.errstate(over="ignore", invalid="ignore"):  # squares beyond float64: nothing can be predicted
        blocks = [_variance(layers, x[i : i + step]) for i in range(0, len(x), step)]
    return float(np.sqrt(max(blocks, default=0.0)))


def _variance(layers: Layers, x: NDArray[np.float64]) -> float:
    value, on, local = x.T, [], []
    for weight, bias in layers:
        value, variance = _layer(csr_array(weight), bias, value)
        local.append(variance)
        on.append(value > 0)
        value = np.maximum(value, 0.0)
    most = 0.0
    for o in range(layers[-1][0].shape[0]):
        slope = np.zeros(local[-1].shape)
        slope[o] = 1.0
        total = local[-1][o]
        for k in range(len(layers) - 2, -1, -1):
            slope = (layers[k + 1][0].T @ slope) * on[k]
            total = total + (slope**2 * local[k]).sum(axis=0)
        most = max(most, float(np.nan_to_num(total, nan=np.inf, posinf=np.inf).max(initial=0.0)))
    return most


def _layer(
    weight: Any, bias: NDArray[np.float64], value: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums of a layer, and the variances of their roundings, term by term: of all rows at once, the longest first.

    A loop over the terms of the longest row.
    """
    count = np.diff(weight.indptr)
    order = np.argsort(-count, kind="stable")
    start = weight.indptr[order]
    # Short weights are what they are in any format; others are rounded once themselves.
    rounded = (np.abs(np.frexp(weight.data)[0]) != 0.5) + _is_long(weight.data)
    total, variance = np.zeros((2, len(order), value.shape[1]))
    rows = np.searchsorted(-count[order], -np.arange(count.max(initial=0)), side="left")  # longer than `k` terms
    for k, r in enumerate(rows.tolist()):
        at = start[:r] + k
        term = weight.data[at, None] * value[weight.indices[at]]
        sums = total[:r] != 0
        total[:r] += term
        variance[:r] += term**2 * rounded[at, None] + np.where(sums & (term != 0), total[:r] ** 2, 0.0)
    back = np.argsort(order, kind="stable")
    total, variance, shift = total[back], variance[back], bias[:, None]
    with_bias = total + shift
    variance += np.where(_is_long(shift), shift**2, 0.0) + np.where((total != 0) & (shift != 0), with_bias**2, 0.0)
    return with_bias, variance


def _is_long(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """1 for numbers that float32 does not have."""
    return np.asarray(values.astype(np.float32) != values, dtype=np.int64)
