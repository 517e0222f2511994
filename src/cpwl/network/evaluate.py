"""The values of a network at many points, in float64 or in rationals, within bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array

__all__ = ["evaluate", "evaluate_exact"]

# Activations held at once: a megabyte of doubles, which stays in the processor's cache, but a few points in any case;
# and products of rationals, each of which is an object.
_BLOCK = 2**17
_FEWEST = 16
_EXACT_BLOCK = 2**18
# Dense products run about 16 times as many multiplications a second as sparse ones do, once enough points
# share the cost of writing the dense matrix.
_DENSITY = 16
_DENSE_POINTS = 16
_DENSE_ENTRIES = 2**24


def evaluate(layers: Sequence[tuple[Any, Any]], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The outputs ``(N, m)`` at the points `x` ``(N, n)``, in float64."""
    weights = [_operator(weight, len(x)) for weight, _ in layers]
    widest = max(max(weight.shape) for weight, _ in layers)
    result = np.empty((len(x), layers[-1][0].shape[0]))
    for block in _blocks(len(x), max(_FEWEST, _BLOCK // widest)):
        # One column a point: a sparse matrix times a dense one runs along the rows of both.
        h = np.ascontiguousarray(x[block].T)
        for i, (weight, (_, bias)) in enumerate(zip(weights, layers, strict=True)):
            if i:
                np.maximum(h, 0.0, out=h)
            h = weight @ h
            h += bias[:, None]
        result[block] = h.T
    return result


def evaluate_exact(layers: Sequence[tuple[Any, Any]], x: NDArray[np.object_]) -> NDArray[np.object_]:
    """The outputs ``(N, m)`` at the points `x` ``(N, n)``, as `Fraction` and without any rounding."""
    widest = max(weight.nnz + max(weight.shape) for weight, _ in layers)
    result = np.empty((len(x), layers[-1][0].shape[0]), dtype=object)
    for block in _blocks(len(x), _EXACT_BLOCK // widest):
        h = x[block].T
        for i, (weight, bias) in enumerate(layers):
            if i:
                h = np.where(h > 0, h, 0)
            h = weight @ h + bias[:, None]
        result[block] = h.T
    return fraction_array(result)


def _blocks(points: int, size: int) -> Iterator[slice]:
    size = max(1, size)
    return (slice(start, start + size) for start in range(0, points, size))


def _operator(weight: Any, points: int) -> Any:
    rows, columns = weight.shape
    entries = rows * columns
    dense = entries <= _DENSE_ENTRIES and weight.nnz * _DENSITY >= entries and points >= _DENSE_POINTS
    return weight.toarray() if dense else weight
