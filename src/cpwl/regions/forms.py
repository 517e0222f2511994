"""The neurons of a network as linear forms on cells, in floats with error bounds and in integers.

Homogeneously, with ``x_0`` for the constant 1, a preactivation is a linear form ``(gradient, offset)`` in ``(x, x_0)``
on every cell where the signs of all earlier neurons are known. At ``x_0 = 0`` it is the slope along a direction, so
points and directions at infinity are treated alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.errors import LimitError, check_memory
from cpwl.exact.rational import is_exact_float, pivots
from cpwl.exact.sparse import RationalMatrix
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import ExactLayer, Network, assemble, exact_layer, exact_layers, float_layer

# Neurons of size 1: the same cells and the same laws, without numbers that overflow when they are multiplied.


_LARGE = 2.0**200  # sizes up to which nothing is done: squares and products of them are far from the ends of float64


def balanced(network: Network) -> Network:
    """The network itself if its numbers are of ordinary size; else one with every hidden neuron near size 1.

    ``relu(c z) = c relu(z)`` for ``c > 0``: a neuron is divided by a power of two, and whoever reads it multiplies. No
    sign of any neuron changes anywhere, and nothing is rounded: a number that no double holds is kept as a rational.

    >>> tiny = balanced(Network([([[2.0**-600]], [2.0**-600]), ([[2.0**600]], [0.0])]))
    >>> tiny.layers[0][0].data, tiny.layers[1][0].data
    (array([1.]), array([1.]))
    """
    if _is_ordinary(network):
        return network
    layers: list[ExactLayer] = []
    shift = np.zeros(network.inputs, dtype=np.int64)
    last = len(network.layers) - 1
    for l, (weight, bias) in enumerate(exact_layers(network)):
        data = np.array([v * Fraction(2) ** int(shift[j]) for v, j in zip(weight.data, weight.indices, strict=True)])
        size = _exponents(data.astype(object), weight.rows, bias) if l < last else np.zeros(len(bias), dtype=np.int64)
        scale = np.array([Fraction(2) ** -int(e) for e in size], dtype=object)
        entries = (data * scale[weight.rows]).astype(object) if len(data) else data.astype(object)
        layers.append((RationalMatrix(weight.shape, weight.indptr, weight.indices, entries), bias * scale))
        shift = size
    try:
        floats = [float_layer(layer) for layer in layers]
    except (LimitError, OverflowError):
        raise LimitError("the weights are out of range: laws are larger than any float64; scale the outputs") from None
    exact = network.exact is not None or not all(is_exact_float(w.data) and is_exact_float(b) for w, b in layers)
    return assemble(floats, layers if exact else None)


def _is_ordinary(network: Network) -> bool:
    numbers = np.abs(np.concatenate([part for weight, bias in network.layers for part in (weight.data, bias)]))
    numbers = numbers[numbers > 0]
    return len(numbers) == 0 or bool(numbers.max() < _LARGE and numbers.min() > 1 / _LARGE)


def _exponents(data: NDArray[np.object_], rows: NDArray[np.int64], bias: NDArray[np.object_]) -> NDArray[np.int64]:
    """For each row the binary exponent of its largest number, bias included; 0 for a row of zeros."""
    lowest = np.iinfo(np.int64).min
    result = np.array([_exponent(v) if v else lowest for v in bias], dtype=np.int64)
    np.maximum.at(result, rows, np.array([_exponent(v) if v else lowest for v in data], dtype=np.int64))
    return np.where(result == lowest, 0, result)


def _exponent(value: Fraction) -> int:
    return abs(value.numerator).bit_length() - value.denominator.bit_length()


EPS = float(np.finfo(np.float64).eps)
_TINY = 1e-290  # absolute: what underflow can hide
_MOST = 2**22  # integers held at once in a product


@dataclass(slots=True, eq=False)
class LayerForms:
    """One layer: its forms ``(width, cells, n + 1)`` on the cells that the layers before it make.

    `parent` is the cell of the level before, and `active` says which of that level's neurons are on.
    """

    parent: NDArray[np.int64]
    active: NDArray[np.bool_]
    rows: NDArray[np.float64]
    error: NDArray[np.float64]
    exact: NDArray[np.object_]
    known: NDArray[np.bool_]

    @property
    def cells(self) -> int:
        return int(self.rows.shape[1])


class NeuronForms:
    """All forms met so far. A reference is the place of a form in one long table: level by level, neuron, cell.

    Level 0 is the frame: ``x_0`` itself, at least 0, and the rows ``b - a.x >= 0`` of the domain. Level `l` is layer
    `l` of the network.
    """

    def __init__(self, network: Network, domain: Polyhedron | None) -> None:
        network = balanced(network)
        self.network, self.dim = network, network.inputs
        self.levels: list[LayerForms] = []
        self.offset: list[int] = [0]
        self._rows = self._errors = np.zeros((0, self.dim + 1))
        self._integer: list[tuple[Any, NDArray[np.object_]] | None] = [None] * len(network.layers)
        self._factor = [0] * len(network.layers)
        self._scale: list[int] = []  # of each layer: the product of the factors up to it
        self._rounded = network.exact is not None
        self._reliable = network.exact is None or _survives(network)
        self._start(domain)

    def fresh(self) -> NeuronForms:
        """The same network with the first layer only; what is known of it in integers is shared."""
        other = object.__new__(NeuronForms)
        other.__dict__.update(self.__dict__)
        other.levels, other.offset = self.levels[:2], self.offset[:3]
        # Full to the end: what comes next goes into arrays of its own.
        other._rows, other._errors = self.table[: self.offset[2]], self.table_error[: self.offset[2]]
        return other

    @property
    def table(self) -> NDArray[np.float64]:
        """The forms of all levels, one after the other."""
        return self._rows[: self.offset[-1]]

    @property
    def table_error(self) -> NDArray[np.float64]:
        """What may be wrong with each number of `table`."""
        return self._errors[: self.offset[-1]]

    def _start(self, domain: Polyhedron | None) -> None:
        n = self.dim
        rows = 0 if domain is None else len(domain.b)
        entries = (1 + rows + self.network.layers[0][0].shape[0]) * (n + 1)
        check_memory(40.0 * entries, f"forms in {n:,} inputs", "Regions are for networks with fewer inputs.")
        view, error = np.zeros((1 + rows, n + 1)), np.zeros((1 + rows, n + 1))
        exact = np.zeros((1 + rows, n + 1), dtype=np.int64).astype(object)
        view[0, n], exact[0, n] = 1.0, 1
        if domain is not None and rows:
            view[1:] = np.column_stack([-domain.A, domain.b])
            whole = domain.integer()
            exact[1:] = np.column_stack([-whole[:, :-1], whole[:, -1:]])
            if domain.exact is not None:
                error[1:] = 2 * EPS * np.abs(view[1:]) + _TINY
        none = np.zeros(1, dtype=np.int64)
        alone = np.zeros((1, 0), dtype=bool)
        known = np.ones(1, dtype=bool)
        self._append(LayerForms(none, alone, view[:, None], error[:, None], exact[:, None], known))
        weight, bias = self.network.layers[0]
        view = np.column_stack([weight.toarray(), bias])
        error = (EPS * np.abs(view) + _TINY) * self._rounded
        if not self._reliable:
            error[:] = np.inf
        self._append(self._level(none, alone, view[:, None], error[:, None]))

    def _level(self, parent: Any, active: Any, rows: NDArray[np.float64], error: NDArray[np.float64]) -> LayerForms:
        cells = rows.shape[1]
        return LayerForms(parent, active, rows, error, np.zeros((0, 0, 0), dtype=object), np.zeros(cells, dtype=bool))

    def _append(self, level: LayerForms) -> None:
        self.levels.append(level)
        size = self.dim + 1
        first = self.offset[-1]
        self.offset.append(first + level.rows.size // size)
        self._rows = _extended(self._rows, level.rows.reshape(-1, size), first)
        self._errors = _extended(self._errors, level.error.reshape(-1, size), first)

    def advance(self, parent: NDArray[np.int64], active: NDArray[np.bool_]) -> LayerForms:
        """The next layer's forms on new cells, which lie in cells `parent` of the last level."""
        level = self._level(parent, active, *self.compose(len(self.levels) - 1, parent, active))
        self._append(level)
        return level

    def compose(
        self, last: int, parent: NDArray[np.int64], active: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The forms of layer ``last + 1`` where `active` says which neurons of layer `last` are on; their errors."""
        before = self.levels[last]
        sparse, bias = self.network.layers[last]
        weight: Any = sparse if sparse.nnz * 8 < sparse.shape[0] * sparse.shape[1] else sparse.toarray()
        shape = (weight.shape[0], len(parent), self.dim + 1)
        on = active.T[:, :, None]
        with np.errstate(all="ignore"):
            # Not a product: infinity times 0 is not 0.
            rows = np.where(on, before.rows[:, parent], 0.0).reshape(len(on), -1)
            error = np.where(on, before.error[:, parent], 0.0).reshape(len(on), -1)
            size = abs(weight) @ np.abs(rows)
            value = np.asarray(weight @ rows).reshape(shape)
            value[:, :, -1] += bias[:, None]
            bound = (np.asarray(abs(weight) @ error)).reshape(shape)
            size = np.asarray(size).reshape(shape)
            size[:, :, -1] += np.abs(bias)[:, None]
            bound = bound * (1 + 8 * EPS * len(on)) + (len(on) + 5) * EPS * size
            bound[size > 0] += _TINY
        if not self._reliable:
            bound[:] = np.inf
        return value, bound

    # --- references ---------------------------------------------------------------------------------------------

    def reference(self, level: int, neuron: Any, cell: Any) -> Any:
        """The place of a form in the table."""
        return self.offset[level] + neuron * self.levels[level].cells + cell

    def decode(self, references: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Level, neuron and cell of each reference."""
        level = np.searchsorted(np.array(self.offset), references, side="right") - 1
        cells = np.array([each.cells for each in self.levels])[level]
        place = references - np.array(self.offset)[level]
        return level, place // cells, place % cells

    def exact_rows(self, references: NDArray[np.int64]) -> NDArray[np.object_]:
        """Integer rows that are positive multiples of the forms."""
        level, neuron, cell = self.decode(references)
        result = np.empty((len(references), self.dim + 1), dtype=object)
        for l in np.unique(level):
            here = np.flatnonzero(level == l)
            result[here] = self.exact_level(int(l), cell[here])[neuron[here], cell[here]]
        return result

    # --- integers -----------------------------------------------------------------------------------------------

    def exact_level(self, l: int, cells: NDArray[np.int64]) -> NDArray[np.object_]:
        """The table ``(width, cells, n + 1)`` of integer forms of a level, filled at least at the given cells."""
        todo = []
        for k in range(l, -1, -1):  # down to where all is known, then up again: networks may have thousands of layers
            missing = np.unique(cells[~self.levels[k].known[cells]])
            if not len(missing):
                break
            todo.append((k, missing))
            if k > 1:
                cells = self.levels[k].parent[missing]
            else:
                break
        for k, missing in reversed(todo):
            self._fill(k, missing)
        return self.levels[l].exact

    def _fill(self, l: int, missing: NDArray[np.int64]) -> None:
        """Works out a level at the given cells; the level below is known where it is needed."""
        level = self.levels[l]
        if level.exact.size == 0:
            level.exact = np.empty(level.rows.shape, dtype=object)
        weight, _ = self._layer(l - 1)
        step = max(1, _MOST // ((len(weight.data) + sum(map(int, weight.shape))) * (self.dim + 1)))
        for first in range(0, len(missing), step):
            some = missing[first : first + step]
            level.exact[:, some] = self.exact_compose(l - 1, level.parent[some], level.active[some])
            level.known[some] = True

    def exact_compose(self, last: int, parent: NDArray[np.int64], active: NDArray[np.bool_]) -> NDArray[np.object_]:
        """`compose` in integers, times `scale`; at ``last = 0`` the first layer itself."""
        weight, bias = self._layer(last)
        n = self.dim
        if last == 0:
            rows = np.zeros((weight.shape[0], 1, n + 1), dtype=np.int64).astype(object)
            rows[weight.rows, 0, weight.indices] = weight.data
            rows[:, 0, n] = bias
            return rows
        before = self.exact_level(last, parent)[:, parent]
        value: NDArray[np.object_] = weight @ np.where(active.T[:, :, None], before, 0)
        value[np.diff(weight.indptr) == 0] = 0  # an integer, like all the others
        value[:, :, n] += bias[:, None] * self.scale(last - 1)
        return value

    def scale(self, layer: int) -> int:
        """The integer that the forms of a layer were multiplied with."""
        for l in range(len(self._scale), layer + 1):
            self._layer(l)
            self._scale.append(self._factor[l] * (self._scale[-1] if l else 1))
        return self._scale[layer]

    def _layer(self, layer: int) -> tuple[Any, NDArray[np.object_]]:
        """The layer in integers: times the least common denominator of all its weights and biases."""
        found = self._integer[layer]
        if found is None:
            weight, bias = exact_layer(self.network, layer)
            factor = math.lcm(*(v.denominator for v in weight.data), *(v.denominator for v in bias))
            data = np.array([int(v * factor) for v in weight.data], dtype=object)
            whole = type(weight)(weight.shape, weight.indptr, weight.indices, data)
            found = whole, np.array([int(v * factor) for v in bias], dtype=object)
            self._integer[layer], self._factor[layer] = found, factor
        return found


def _extended(held: NDArray[np.float64], rows: NDArray[np.float64], first: int) -> NDArray[np.float64]:
    """The array with `rows` from place `first` on; twice as long when it is full, so that no level copies them all."""
    end = first + len(rows)
    if end > len(held):
        wider = np.empty((max(end, 2 * len(held)), held.shape[1]))
        wider[:first] = held[:first]
        held = wider
    held[first:end] = rows
    return held


def _survives(network: Network) -> bool:
    """Whether no weight is lost, or nearly so, when it is rounded to a float."""
    assert network.exact is not None
    for (weight, bias), (exact, exact_bias) in zip(network.layers, network.exact, strict=True):
        numbers = np.concatenate([np.abs(weight.data), np.abs(bias[bias != 0])])
        if weight.nnz != len(exact.data) or (bias != 0).sum() != (exact_bias != 0).sum():
            return False
        if len(numbers) and numbers.min() < _TINY:
            return False
    return True


# Directions in which anything can change.


def essential_rows(rows: NDArray[np.float64], exact: Callable[[], NDArray[np.object_]]) -> tuple[list[int], list[int]]:
    """Rows that are independent and as many as there can be, early ones first, and coordinates on which they stay so.

    Floats decide where a full rank is plain to see.
    """
    n = rows.shape[1]
    if len(rows) == 0:
        return [], []
    size = np.abs(rows).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        scaled = rows / np.where(size == 0, 1, size)
    if np.isfinite(scaled).all():
        scaled = _first_of_parallel(scaled)
        # As many rows, or columns, as there are of the other kind.
        tall = len(rows) >= n
        order = scipy.linalg.qr(scaled.T if tall else scaled, pivoting=True, mode="economic")[2]
        first = np.sort(order[: min(rows.shape)])
        values = np.linalg.svd(scaled[first] if tall else scaled[:, first], compute_uv=False)
        if values[-1] > 1e-6 * values[0] > 0:
            chosen, every = [int(i) for i in first], list(range(min(rows.shape)))
            return (chosen, every) if tall else (every, chosen)
    whole = fmpz_mat([[int(v) for v in row] for row in exact()])
    found = (matrix.rref() for matrix in (whole.transpose(), whole))
    chosen, columns = (pivots(reduced, rank) for reduced, _, rank in found)
    return chosen, columns


def _first_of_parallel(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows with 0 for those parallel to an earlier one: a row of the domain goes before a neuron that bends there,
    so that the facets of cells at the border are known to lie in it."""
    largest = np.abs(rows).argmax(axis=1)
    signed = rows * np.where(rows[np.arange(len(rows)), largest] < 0, -1.0, 1.0)[:, None]
    first = np.unique(np.round(signed, 9) + 0.0, axis=0, return_index=True)[1]
    kept = np.zeros_like(rows)
    kept[first] = rows[first]
    return kept


def first_rows(network: Network, forms: NeuronForms) -> tuple[list[int], list[int]]:
    """Independent rows among those of the domain and the first layer, and coordinates on which they stay so."""
    none = np.zeros(1, dtype=np.int64)
    levels = forms.levels[:2] if len(network.layers) > 1 else forms.levels[:1]
    view = np.concatenate([level.rows[:, 0, :-1] for level in levels])[1:]

    def exact() -> NDArray[np.object_]:
        return np.concatenate([forms.exact_level(l, none)[:, 0, :-1] for l in range(len(levels))])[1:]

    return essential_rows(view, exact)


def essential_dimension(network: Network, domain: Polyhedron | None) -> int:
    """The number of directions in which anything can change: the rank of the first layer and the domain."""
    return len(first_rows(network, NeuronForms(network, domain))[0])
