"""How rounding grows on the way through a network: a prediction, not a bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

__all__ = ["noise"]

Layers = Sequence[tuple[Any, NDArray[np.float64]]]
_BLOCK = 2**22  # activations held at once
_WORK = 2**28  # products in all


def noise(layers: Layers, points: ArrayLike) -> float:
    """The largest standard deviation of an output over some points, in units of the roundoff of the format.

    Every rounding counts as an independent relative error of one unit: a sum is off by a variance of
    ``sum (w a)^2 + b^2``, where products with powers of two are not rounded, and a sum of two terms once. What a
    neuron is off reaches the output with the slope that it has there: errors that cancel, as in
    ``a + relu(b - a)``, do so here too. The largest error seen over many points is then about the unit roundoff times
    this, up to a factor of 4 either way (docs/theory/float_quality.md).

    >>> noise([(csr_array([[3.0, 4.0, 0.1]]), np.zeros(1))], [[1.0, 1.0, 0.0]])
    5.0
    """
    x = np.atleast_2d(np.asarray(points, dtype=np.float64))
    # Fewer points for a large network: a prediction may not take longer than the network took to build.
    work = sum(weight.nnz + weight.shape[0] for weight, _ in layers)
    x = x[:: max(1, -(-len(x) * work // _WORK))]
    step = max(1, _BLOCK // max(weight.shape[0] for weight, _ in layers))
    with np.errstate(over="ignore", invalid="ignore"):  # squares beyond float64: nothing can be predicted
        squares = [_squares(weight, bias) for weight, bias in layers]
        blocks = [_variance(layers, squares, x[i : i + step]) for i in range(0, len(x), step)]
    return float(np.sqrt(max(blocks, default=0.0)))


def _variance(layers: Layers, squares: Layers, x: NDArray[np.float64]) -> float:
    value, on, local = x.T, [], []
    for (weight, bias), (squared, constant) in zip(layers, squares, strict=True):
        local.append(squared @ value**2 + constant[:, None])
        value = weight @ value + bias[:, None]
        local[-1] += ((np.diff(weight.indptr) + (bias != 0)) == 2)[:, None] * value**2
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


def _squares(weight: Any, bias: NDArray[np.float64]) -> tuple[Any, NDArray[np.float64]]:
    """What the products and sums of one layer add to the variance, but for sums of two terms."""
    count = np.diff(weight.indptr)
    many = count + (bias != 0) > 2
    power_of_two = np.abs(np.frexp(weight.data)[0]) == 0.5
    rounded = np.repeat(many, count) | ~power_of_two
    squared = csr_array((np.where(rounded, weight.data, 0.0) ** 2, weight.indices, weight.indptr), shape=weight.shape)
    return squared, np.where(many, bias**2, 0.0)
