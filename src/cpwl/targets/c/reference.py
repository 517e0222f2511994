"""What the C code computes, bit for bit, in NumPy: the stated order of summation is this one.

A sum starts with the constant (bias, offset) and adds products in the order of the columns; every product and every sum
is rounded to the type. ReLU is ``z < 0 ? 0 : z``. A tree goes to the second child where the sum of a plane is above 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.targets.c.tables import NetworkTables, TreeTables

__all__ = ["network_values", "row_sums", "tree_values"]

Array = NDArray[Any]


def network_values(tables: NetworkTables, x: Array) -> Array:
    """Values ``(N, m)`` at points ``(N, n)`` of the type."""
    h = x.T
    for i, (weight, bias) in enumerate(tables.network.layers):
        if i:
            h = np.where(h < 0, h.dtype.type(0), h)
        h = _affine(weight, bias.astype(tables.dtype), h, tables.dtype)
    return h.T


def _affine(weight: Any, bias: Array, h: Array, dtype: str) -> Array:
    """``b + W h``, term by term; rows that have no term left stay as they are."""
    z = np.repeat(bias[:, None], h.shape[1], axis=1)
    data, length = weight.data.astype(dtype), np.diff(weight.indptr)
    for k in range(int(length.max(initial=0))):
        rows = np.flatnonzero(length > k)
        entry = weight.indptr[rows] + k
        z[rows] += data[entry, None] * h[weight.indices[entry]]
    return z


def tree_values(tables: TreeTables, x: Array) -> Array:
    """Values ``(N, m)`` at points ``(N, n)`` of the type."""
    tree = tables.tree
    node = np.zeros(len(x), dtype=np.int64) if len(tree.plane) else np.full(len(x), -1)
    while (inner := np.flatnonzero(node >= 0)).size:
        at = node[inner]
        side = row_sums(tables.planes[tree.plane[at]], x[inner]) > 0
        node[inner] = tree.children[at, side.astype(np.int64)]
    laws = tables.laws[-1 - node]
    return np.stack([row_sums(laws[:, j], x) for j in range(laws.shape[1])], axis=1)


def row_sums(rows: Array, x: Array) -> Array:
    """``r_0 + r_1 x_1 + ..``, from left to right."""
    total = rows[:, 0].copy()
    for i in range(x.shape[1]):
        total += rows[:, i + 1] * x[:, i]
    return total
