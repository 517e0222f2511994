"""The numbers of a network or a search tree in the type of the C code, and what they cost.

A table is a constant array of the header. Weights are held as they are, or, where they repeat and that is smaller, once
each in a pool with a short index for every use; a layer is held sparse, or dense where that is smaller. Neither changes
what is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import LimitError
from cpwl.network.network import Network, rounded
from cpwl.targets.c.tree import Tree

__all__ = ["Cost", "LayerTables", "NetworkTables", "Table", "TreeTables", "network_tables", "tree_tables"]

_UNSIGNED = ((2**8, "uint8_t"), (2**16, "uint16_t"), (2**32, "uint32_t"))
_SIGNED = ((2**7, "int8_t"), (2**15, "int16_t"), (2**31, "int32_t"))
_BYTES = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int8_t": 1, "int16_t": 2, "int32_t": 4, "float": 4, "double": 8}


@dataclass(frozen=True, slots=True)
class Cost:
    """What code costs: bytes of constants, multiply-adds and comparisons in the worst case, bytes of working memory."""

    flash: int
    multiply_adds: int
    comparisons: int
    stack: int

    def __str__(self) -> str:
        return f"{self.flash:,} bytes of constants, at most {self.multiply_adds:,} multiply-adds"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A constant array: the end of its name, its type in C, and its numbers, ``(k,)`` or ``(k, l)``."""

    name: str
    kind: str
    values: NDArray[Any]

    @property
    def bytes(self) -> int:
        return int(self.values.size) * _BYTES[self.kind]


@dataclass(frozen=True, slots=True, eq=False)
class LayerTables:
    """One affine map: rows and columns, and the names of its tables; without `column` and `start` it is dense."""

    rows: int
    columns: int
    products: int
    weight: str
    bias: str
    column: str = ""
    start: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class NetworkTables:
    """A network in one type: its layers as arrays, and as tables."""

    network: Network
    """The weights as the code has them."""
    dtype: str
    layers: tuple[LayerTables, ...]
    tables: tuple[Table, ...]
    pool: bool
    """Whether weights are held by their number in a pool."""

    @property
    def cost(self) -> Cost:
        hidden = [layer.rows for layer in self.layers[:-1]]
        widest = max(hidden, default=0)
        memory = (widest + (max(hidden[1:], default=0) if len(hidden) > 1 else 0)) * np.dtype(self.dtype).itemsize
        return Cost(
            sum(table.bytes for table in self.tables),
            sum(layer.products for layer in self.layers),
            sum(hidden),
            memory,
        )


@dataclass(frozen=True, slots=True, eq=False)
class TreeTables:
    """A search tree in one type: rows ``(constant, slopes)`` of planes, and of the laws, output by output."""

    tree: Tree
    dtype: str
    planes: NDArray[Any]
    laws: NDArray[Any]
    tables: tuple[Table, ...]

    @property
    def cost(self) -> Cost:
        n, m = self.planes.shape[1] - 1, self.laws.shape[1]
        flash = sum(table.bytes for table in self.tables)
        return Cost(flash, self.tree.depth * n + m * n, self.tree.depth, 0)


def c_type(dtype: str) -> str:
    """The name of the type in C."""
    return "float" if dtype == "float32" else "double"


def network_tables(network: Network, dtype: str) -> NetworkTables:
    """The tables of a network, every weight rounded to nearest.

    >>> tables = network_tables(Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])]), "float64")
    >>> tables.cost
    Cost(flash=44, multiply_adds=4, comparisons=2, stack=16)
    """
    network = rounded(network, dtype)
    layers = [(weight.copy(), bias) for weight, bias in network.layers]
    dense = [_dense_is_smaller(weight, dtype) for weight, _ in layers]
    values = [w.toarray().ravel() if full else w.data for (w, _), full in zip(layers, dense, strict=True)]
    pool, code = np.unique(np.concatenate(values), return_inverse=True)
    kind = c_type(dtype)
    short = _smallest(len(pool), _UNSIGNED)
    pooled = len(code) * _BYTES[short] + len(pool) * _BYTES[kind] < len(code) * _BYTES[kind]
    tables = [Table("value", kind, pool.astype(dtype))] if pooled else []
    ends = np.cumsum([0] + [len(v) for v in values])
    column_kind = _smallest(max(w.shape[1] for w, _ in layers), _UNSIGNED)
    start_kind = _smallest(max(w.nnz for w, _ in layers) + 1, _UNSIGNED)
    found = []
    for i, ((weight, bias), full) in enumerate(zip(layers, dense, strict=True)):
        numbers = code[ends[i] : ends[i + 1]] if pooled else values[i].astype(dtype)
        tables.append(Table(f"weight_{i + 1}", short if pooled else kind, numbers))
        tables.append(Table(f"bias_{i + 1}", kind, bias.astype(dtype)))
        sparse: dict[str, str] = {}
        if not full:
            tables.append(Table(f"column_{i + 1}", column_kind, weight.indices))
            tables.append(Table(f"start_{i + 1}", start_kind, weight.indptr))
            sparse = {"column": f"column_{i + 1}", "start": f"start_{i + 1}"}
        rows, columns = weight.shape
        found.append(LayerTables(rows, columns, len(numbers), f"weight_{i + 1}", f"bias_{i + 1}", **sparse))
    tables = [table for table in tables if table.values.size]
    return NetworkTables(network, dtype, tuple(found), tuple(tables), pooled)


def _dense_is_smaller(weight: Any, dtype: str) -> bool:
    """Whether zeros cost less than the places of the others; few products more count as little."""
    rows, columns = weight.shape
    item = np.dtype(dtype).itemsize
    place = _BYTES[_smallest(columns, _UNSIGNED)]
    start = _BYTES[_smallest(weight.nnz + 1, _UNSIGNED)]
    sparse = weight.nnz * (item + place) + (rows + 1) * start
    return bool(rows * columns * item <= sparse and rows * columns <= 1.25 * weight.nnz)


def tree_tables(tree: Tree, dtype: str) -> TreeTables:
    """The tables of a search tree, every number rounded to nearest; planes are scaled by powers of two first."""
    kind = c_type(dtype)
    planes = _typed([scaled_plane(row) for row in tree.planes], dtype, tree.planes.shape[1])
    laws = np.array([[_typed([law_row(law)], dtype, 0)[0] for law in laws] for laws in tree.laws], dtype=dtype)
    most = max(len(tree.plane), len(tree.laws)) + 1
    tables = [Table("law", kind, laws.reshape(len(laws), -1))]
    if len(tree.plane):
        tables.append(Table("plane", kind, planes))
        tables.append(Table("child", _smallest(most, _SIGNED), tree.children))
    if len(tree.plane) > len(tree.planes):
        tables.append(Table("plane_of", _smallest(len(tree.planes), _UNSIGNED), tree.plane))
    return TreeTables(tree, dtype, planes, laws, tuple(tables))


def scaled_plane(row: NDArray[np.object_]) -> list[Fraction]:
    """``(-b, a)`` of the row ``(a, -b)``, divided by a power of two so that the largest slope is about 1."""
    shift = max(abs(int(v)) for v in row[:-1]).bit_length() - 1
    return [Fraction(int(v), 1 << shift) for v in (row[-1], *row[:-1])]


def law_row(law: NDArray[np.object_]) -> list[Fraction]:
    """``(offset, gradient)`` of the integer row ``(gradient, offset, 1) * denominator``."""
    return [Fraction(int(v), int(law[-1])) for v in (law[-2], *law[:-2])]


def _typed(rows: Sequence[Sequence[Fraction]], dtype: str, width: int) -> NDArray[Any]:
    try:
        with np.errstate(over="ignore"):
            found = np.array([[float(v) for v in row] for row in rows], dtype=np.float64).astype(dtype)
    except OverflowError:
        raise LimitError(f"a number of the search tree is beyond {dtype}") from None
    if not np.isfinite(found).all():
        raise LimitError(f"a number of the search tree is beyond {dtype}")
    return found if len(rows) else np.zeros((0, width), dtype=dtype)


def _smallest(count: int, kinds: Sequence[tuple[int, str]]) -> str:
    """The smallest type that counts so far."""
    for most, name in kinds:
        if count <= most:
            return name
    raise LimitError(f"{count:,} entries are more than a C header should have")
