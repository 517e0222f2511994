"""Layers that would be too large as dense matrices: split by rows, each part reading only the columns that it needs.

A part is `Gather` (the columns that its rows read), then a small `Gemm`; `Concat` puts the parts together. Rows that
read nearly the same columns belong together: they are taken in the order of the first column that they read, and the
outputs are put back in order by the next layer's columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.network.network import Network

__all__ = ["Part", "split_layers", "split_size"]

_ROWS = 64  # of a part


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some rows of a layer: the columns that they read, and the dense matrix on these."""

    columns: NDArray[np.int64]
    weight: NDArray[np.float64]
    bias: NDArray[np.float64]


def split_layers(network: Network) -> Iterator[list[Part]]:
    """The parts of each layer, in the order in which their outputs are put together."""
    place = np.arange(network.inputs, dtype=np.int64)  # where each output of the layer before is now
    for number, (weight, bias) in enumerate(network.layers, start=1):
        last = number == len(network.layers)
        order = np.arange(len(bias), dtype=np.int64) if last else _order(weight)
        moved = weight[order]
        parts = []
        for start in range(0, len(bias), _ROWS):
            rows = moved[start : start + _ROWS]
            read = np.unique(rows.indices)
            # A part that reads nothing still needs a column, to be multiplied by 0.
            read = read if len(read) else np.zeros(1, dtype=read.dtype)
            parts.append(Part(place[read], rows[:, read].toarray(), bias[order[start : start + _ROWS]]))
        yield parts
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))


def split_size(network: Network, itemsize: int) -> int:
    """The bytes of all parts, without making them."""
    total = 0
    for number, (weight, bias) in enumerate(network.layers, start=1):
        order = np.arange(len(bias)) if number == len(network.layers) else _order(weight)
        moved = weight[order]
        for start in range(0, len(bias), _ROWS):
            rows = moved[start : start + _ROWS]
            columns = max(len(np.unique(rows.indices)), 1)
            total += rows.shape[0] * (columns + 1) * itemsize + 8 * columns
    return total


def _order(weight: Any) -> NDArray[np.int64]:
    """Rows by the first column that they read; those that read nothing last."""
    length = np.diff(weight.indptr)
    first = np.full(len(length), weight.shape[1], dtype=np.int64)
    first[length > 0] = weight.indices[weight.indptr[:-1][length > 0]]
    return np.argsort(first, kind="stable").astype(np.int64)
