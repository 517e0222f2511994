"""From neurons that read each other across layers to a network: a plain chain, without skip links.

What a layer reads from layers before the one below it has to be carried through. A neuron is not negative, so
``relu(s) = s`` carries it with one neuron a layer; an input, or any other form `f`, takes the pair ``relu(f)``,
``relu(-f)``, and a form of neurons with factors of one sign takes one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from cpwl.errors import LimitError, check_memory
from cpwl.exact.integers import linked
from cpwl.exact.rational import fraction_array, is_exact_float, to_float
from cpwl.exact.sparse import RationalMatrix, stack_rows
from cpwl.network.network import ExactLayer, Layer, Network, assemble

# Affine forms over the inputs and neurons of a network in the making, exactly.


_FEW = 10**6  # entries that always fit
_DIGITS = 2**14  # binary digits of a number; a product of 300 doubles has as many


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """Affine forms, one a row: ``weight s + bias``, with `s` the inputs and neurons written down so far.

    Numbers are float64 as long as nothing had to be computed, and rationals from then on: a product or a sum
    of doubles is rarely a double, and a network read from a file is to be the function that stands there.

    >>> from fractions import Fraction
    >>> x = Forms.unit(0, 2)
    >>> x.times(csr_array([[0.1, 0.2]])).times(csr_array([[0.1]])).weight.data[0] == Fraction(0.1) ** 2
    True
    """

    weight: Any
    bias: NDArray[Any]

    @classmethod
    def unit(cls, start: int, count: int) -> Forms:
        """The `count` inputs or neurons from number `start` on, themselves."""
        columns = np.arange(start, start + count)
        weight = csr_array((np.ones(count), columns, np.arange(count + 1)), shape=(count, start + count))
        return cls(weight, np.zeros(count))

    @classmethod
    def constant(cls, values: NDArray[Any]) -> Forms:
        """Forms that are constants."""
        return cls(csr_array((len(values), 0)), values)

    def __len__(self) -> int:
        return len(self.bias)

    @property
    def is_float(self) -> bool:
        """Whether the weights are still the doubles that were written down."""
        return not isinstance(self.weight, RationalMatrix)

    def take(self, index: NDArray[np.int64]) -> Forms:
        """The forms with the given numbers, in that order; forms may repeat."""
        _check_size(int(np.diff(self.weight.indptr)[index].sum()), self.is_float)
        weight = self.weight[index] if self.is_float else self.weight.take_rows(index)
        return Forms(weight, self.bias[index])

    def times(self, matrix: Any) -> Forms:
        """The forms ``matrix @ self``, for a sparse float or a rational matrix."""
        columns = self._distinct_units()
        if columns is not None:
            weight = _relabel(matrix, columns, self.weight.shape[1])
        else:
            _check_size(int(np.diff(self.weight.indptr)[matrix.indices].sum()), floats=False)
            weight = rational_matrix(matrix) @ rational_matrix(self.weight)
            _check_digits(weight.data)
        if not self.bias.any():
            return Forms(weight, np.zeros(matrix.shape[0]))
        return Forms(weight, rational_matrix(matrix) @ fraction_array(self.bias))

    def plus(self, other: Forms) -> Forms:
        """The sums of the forms of both, row by row."""
        width = max(self.weight.shape[1], other.weight.shape[1])
        a, b = _widen(self.weight, width), _widen(other.weight, width)
        _check_size(len(a.data) + len(b.data), self.is_float and other.is_float)
        if self.is_float and other.is_float and not (a != 0).multiply(b != 0).nnz:
            weight: Any = csr_array(a + b)
        else:
            a, b = rational_matrix(a), rational_matrix(b)
            rows, columns = np.concatenate([a.rows, b.rows]), np.concatenate([a.indices, b.indices])
            weight = RationalMatrix.from_triples(rows, columns, np.concatenate([a.data, b.data]), a.shape)
        if not self.bias.any() or not other.bias.any():
            return Forms(weight, self.bias if self.bias.any() else other.bias)
        return Forms(weight, fraction_array(self.bias) + fraction_array(other.bias))

    def scaled(self, factors: NDArray[Any]) -> Forms:
        """Each form times a factor of its own."""
        bias = self.bias
        if bias.any():
            sign = object not in (bias.dtype, factors.dtype) and bool((np.abs(factors) == 1).all())
            bias = bias * factors if sign else fraction_array(bias) * fraction_array(factors)
        return Forms(scale_rows(self.weight, factors), bias)

    @staticmethod
    def stack(parts: Sequence[Forms]) -> Forms:
        """All forms of the parts, one part after the other."""
        width = max(part.weight.shape[1] for part in parts)
        weights = [_widen(part.weight, width) for part in parts]
        bias = [part.bias for part in parts]
        if any(b.dtype == object for b in bias):
            bias = [fraction_array(b) for b in bias]
        if all(part.is_float for part in parts):
            return Forms(csr_array(vstack(weights, format="csr")), np.concatenate(bias))
        return Forms(stack_rows([rational_matrix(weight) for weight in weights]), np.concatenate(bias))

    def _distinct_units(self) -> NDArray[np.int64] | None:
        """The columns of forms that are distinct single inputs or neurons; None for any other."""
        weight = self.weight
        if not self.is_float or weight.nnz != len(self) or (np.diff(weight.indptr) != 1).any():
            return None
        if (weight.data != 1).any() or len(np.unique(weight.indices)) != len(self):
            return None
        return np.asarray(weight.indices, dtype=np.int64)


def _check_size(entries: int, floats: bool) -> None:
    """Refuse so many products or entries if they would not fit: two words for a float, an object for a rational."""
    if entries > _FEW:
        check_memory(entries * (24 if floats else 400), f"{entries:,} weights", "Read a smaller network.")


def _check_digits(numbers: NDArray[Any]) -> None:
    """Refuse numbers that have grown too long, as a few of them show: every product of doubles adds their digits."""
    for number in numbers[:: max(1, len(numbers) // 8)]:
        if max(number.numerator.bit_length(), number.denominator.bit_length()) > _DIGITS:
            raise LimitError(f"products of weights have grown to more than {_DIGITS:,} binary digits")


def rational_matrix(matrix: Any) -> RationalMatrix:
    """The exact value of a sparse matrix, float or rational."""
    return matrix if isinstance(matrix, RationalMatrix) else RationalMatrix.from_float(matrix)


def scale_rows(matrix: Any, factors: NDArray[Any]) -> Any:
    """The matrix with each row times a factor; it stays float where the factors are all 1 or -1."""
    if factors.dtype != object and not isinstance(matrix, RationalMatrix) and (np.abs(factors) == 1).all():
        data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
        return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    exact = rational_matrix(matrix)
    values, place = _fractions(factors)
    data = exact.data * values[place[exact.rows]]
    _check_digits(data)
    return RationalMatrix.from_triples(exact.rows, exact.indices, data, exact.shape)


def _fractions(factors: NDArray[Any]) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Distinct factors as rationals, and which of them each is; channels share a few of them."""
    if factors.dtype == object:
        return fraction_array(factors), np.arange(len(factors))
    values, place = np.unique(factors, return_inverse=True)
    return fraction_array(values), place


def _relabel(matrix: Any, columns: NDArray[np.int64], width: int) -> Any:
    if isinstance(matrix, RationalMatrix):
        return RationalMatrix.from_triples(matrix.rows, columns[matrix.indices], matrix.data, (matrix.shape[0], width))
    relabelled = csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=(matrix.shape[0], width))
    relabelled.sort_indices()
    return relabelled


def _widen(weight: Any, width: int) -> Any:
    if weight.shape[1] == width:
        return weight
    shape = (weight.shape[0], width)
    if isinstance(weight, RationalMatrix):
        return RationalMatrix(shape, weight.indptr, weight.indices, weight.data)
    return csr_array((weight.data, weight.indices, weight.indptr), shape=shape)


# Tensors whose entries are affine forms in neurons, and the operations that other programs write down.


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor that depends on the input: an affine form for each entry, in the order of the entries.

    `level` is the hidden layer whose neurons it reads; `rectified` says that it is what a ReLU gave.
    """

    shape: tuple[int, ...]
    forms: Forms
    level: int
    rectified: bool = False

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each entry, in the shape of the tensor: what moves numbers about moves entries."""
        return np.arange(len(self.forms), dtype=np.int64).reshape(self.shape)

    def take(self, numbers: NDArray[Any]) -> Tensor:
        """The tensor of the entries with the given numbers, in the shape of `numbers`."""
        index = np.asarray(numbers, dtype=np.int64)
        return replace(self, shape=index.shape, forms=self.forms.take(index.ravel()))

    def spread(self, shape: tuple[int, ...]) -> Tensor:
        """The tensor repeated to fill the shape, as NumPy broadcasts it."""
        return self if shape == self.shape else self.take(np.broadcast_to(self.numbers, shape))

    def linear(self, matrix: Any, shape: tuple[int, ...]) -> Tensor:
        """The entries ``matrix @ entries``, in the given shape."""
        return Tensor(shape, self.forms.times(matrix), self.level)

    def plus(self, other: Tensor | NDArray[Any]) -> Tensor:
        """The sum with a tensor, or with constants."""
        shape = np.broadcast_shapes(self.shape, other.shape)
        if isinstance(other, Tensor):
            forms = self.spread(shape).forms.plus(other.spread(shape).forms)
            return Tensor(shape, forms, max(self.level, other.level))
        constant = Forms.constant(np.broadcast_to(other, shape).ravel())
        return Tensor(shape, self.spread(shape).forms.plus(constant), self.level)

    def times(self, factors: NDArray[Any]) -> Tensor:
        """The entries times constants."""
        shape = np.broadcast_shapes(self.shape, factors.shape)
        forms = self.spread(shape).forms.scaled(np.broadcast_to(factors, shape).ravel())
        return Tensor(shape, forms, self.level)

    def __neg__(self) -> Tensor:
        return self.times(np.array(-1.0))

    def matmul(self, factor: NDArray[Any]) -> Tensor:
        """``self @ factor`` as NumPy multiplies, for a constant factor."""
        numbers = self.numbers[None] if len(self.shape) == 1 else self.numbers
        weight = factor[:, None] if factor.ndim == 1 else factor
        if numbers.shape[-1] != weight.shape[-2]:
            raise ValueError(f"shapes {self.shape} and {factor.shape} do not multiply")
        batch = np.broadcast_shapes(numbers.shape[:-2], weight.shape[:-2])
        full = (*batch, numbers.shape[-2], *weight.shape[-2:])
        shape = (*batch, numbers.shape[-2], weight.shape[-1])
        check_memory(40 * math.prod(full), f"a product of {math.prod(full):,} factors", "Read a smaller network.")
        out = np.arange(math.prod(shape)).reshape(shape)
        entries = (
            np.broadcast_to(a, full).ravel() for a in (weight[..., None, :, :], out[..., None, :], numbers[..., None])
        )
        values, rows, columns = entries
        matrix = _sparse(values, rows, columns, (out.size, numbers.size))
        if len(self.shape) == 1:
            shape = (*shape[:-2], shape[-1])
        return self.linear(matrix, shape[:-1] if factor.ndim == 1 else shape)

    @property
    def transposed(self) -> Tensor:
        """The tensor with its last two dimensions exchanged."""
        return self.take(self.numbers.swapaxes(-1, -2))


def _sparse(values: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    keep = values != 0
    matrix = csr_array((values[keep], (rows[keep], columns[keep])), shape=shape)
    matrix.sort_indices()
    return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Neurons:
    """Neurons of one hidden layer: ``relu(before)``, numbered from `start` on, after the inputs."""

    start: int
    level: int
    before: Forms


@dataclass(slots=True, eq=False)
class Tape:
    """The neurons written down so far, for a network of so many inputs.

    >>> tape = Tape(1)
    >>> tape.absolute(tape.input((1,))).forms.weight.toarray()
    array([[0., 1., 1.]])
    """

    inputs: int
    neurons: list[Neurons] = field(default_factory=list)
    count: int = 0

    def input(self, shape: tuple[int, ...]) -> Tensor:
        """The input as a tensor."""
        self.count = max(self.count, self.inputs)
        return Tensor(shape, Forms.unit(0, self.inputs), 0)

    def relu(self, x: Tensor) -> Tensor:
        """``max(0, x)``: one neuron for each entry, unless there is one already."""
        if x.rectified:
            return x
        group = Neurons(self.count, x.level + 1, x.forms)
        self.neurons.append(group)
        self.count += len(x.forms)
        return Tensor(x.shape, Forms.unit(group.start, len(x.forms)), group.level, True)

    def absolute(self, x: Tensor) -> Tensor:
        """``|x| = relu(x) + relu(-x)``."""
        return x if x.rectified else self.relu(x).plus(self.relu(-x))

    def leaky(self, x: Tensor, slope: NDArray[Any]) -> Tensor:
        """`x` where it is positive, ``slope x`` elsewhere: ``relu(x) - slope relu(-x)``."""
        return x if x.rectified else self.relu(x).plus(self.relu(-x).times(-slope))

    def clip(self, x: Tensor, low: Any, high: Any) -> Tensor:
        """``min(max(x, low), high)`` for numbers ``low <= high``; None is no bound."""
        low = None if low is None else np.asarray(low, dtype=np.float64)
        high = None if high is None else np.asarray(high, dtype=np.float64)
        if low is None:
            return x if high is None else self.minimum(x, high)
        above = self.relu(x.plus(-low)).plus(low)
        # Both neurons read `x` directly: max(x, low) - max(x, high) + high.
        return above if high is None else above.plus(-self.relu(x.plus(-high)))

    def maximum(self, a: Tensor, b: Tensor | NDArray[Any]) -> Tensor:
        """``max(a, b) = a + relu(b - a)``; with a constant, one neuron and nothing else."""
        if isinstance(b, Tensor):
            return a.plus(self.relu(b.plus(-a)))
        return self.relu(a.plus(-b)).plus(b)

    def minimum(self, a: Tensor, b: Tensor | NDArray[Any]) -> Tensor:
        """``min(a, b) = a - relu(a - b)``."""
        if isinstance(b, Tensor):
            return a.plus(-self.relu(a.plus(-b)))
        return (-self.relu((-a).plus(b))).plus(b)

    def largest(self, parts: Sequence[Tensor]) -> Tensor:
        """The largest of several tensors, entry by entry, in pairs."""
        parts = list(parts)
        while len(parts) > 1:
            pairs = [self.maximum(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + parts[len(parts) - len(parts) % 2 :]
        return parts[0]

    def joined(self, parts: Sequence[Tensor | NDArray[Any]]) -> tuple[Tensor, list[NDArray[np.int64]]]:
        """All entries of tensors and constants as one flat tensor, and the numbers of the entries of each."""
        forms = [p.forms if isinstance(p, Tensor) else Forms.constant(p.ravel()) for p in parts]
        ends = np.cumsum([0] + [len(f) for f in forms])
        numbers = [np.arange(s, e).reshape(p.shape) for s, e, p in zip(ends, ends[1:], parts, strict=False)]
        level = max((p.level for p in parts if isinstance(p, Tensor)), default=0)
        return Tensor((int(ends[-1]),), Forms.stack(forms), level), numbers


def network_of(tape: Tape, output: Tensor, *, positive: bool = False) -> Network:
    """The network from the input of the tape to `output`, its entries one after the other.

    `positive` says that inputs are never negative, so that they are carried like neurons.

    >>> tape = Tape(1)
    >>> x = tape.input((1,))
    >>> network_of(tape, tape.relu(x).plus(x))
    Network(1 -> 3 -> 1)
    """
    layers: list[tuple[Any, Any]] = []
    rows = output.forms
    for level in range(output.level, 0, -1):
        own = [group for group in tape.neurons if group.level == level]
        columns = np.concatenate([np.arange(g.start, g.start + len(g.before)) for g in own])
        recent, earlier = _split(rows.weight, columns)
        if not len(earlier.data):
            layers.append(_layer(recent, rows.bias))
            rows = Forms.stack([group.before for group in own])
            continue
        carried, readers = _carry(rational_matrix(earlier), 0 if positive else tape.inputs)
        layers.append(_layer(_beside(rational_matrix(recent), readers), rows.bias))
        rows = Forms.stack([*(group.before for group in own), carried])
    layers.append(_layer(_split(rows.weight, np.arange(tape.inputs))[0], rows.bias))
    return Network(layers[::-1])


def _carry(needed: RationalMatrix, signed: int) -> tuple[Forms, RationalMatrix]:
    """What carriers of the given rows read, and how the rows are put together from them: in each group that shares
    atoms, the rows or the atoms are carried, whichever cost less. The first `signed` atoms may be negative.
    """
    directions, direction, factor = _directions(needed)
    distinct = needed.take_rows(directions)
    atoms, place = np.unique(distinct.indices, return_inverse=True)
    count = len(directions)
    label = linked(np.stack([distinct.rows, count + place], axis=1), count + len(atoms))
    single = np.full(count, True)  # atoms that are never negative, with positive factors
    single[distinct.rows[~np.asarray((distinct.indices >= signed) & (distinct.data > 0), dtype=bool)]] = False
    row_cost = np.bincount(label[:count], np.where(single, 1, 2), minlength=label.max() + 1)
    atom_cost = np.bincount(label[count:], np.where(atoms >= signed, 1, 2), minlength=label.max() + 1)
    by_row = (row_cost < atom_cost)[label]
    chosen = np.flatnonzero(np.concatenate([by_row[:count], ~by_row[count:]]))
    number = np.full(len(label), -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    ones = np.full(len(atoms), Fraction(1), dtype=object)
    units = RationalMatrix((len(atoms), needed.shape[1]), np.arange(len(atoms) + 1), atoms.astype(np.int64), ones)
    pair = ~np.concatenate([single, atoms >= signed])[chosen]
    start = np.cumsum(1 + pair) - (1 + pair)
    carrier = np.repeat(np.arange(len(chosen)), 1 + pair)
    sign = np.where(np.arange(len(carrier)) == start[carrier], 1, -1)
    carried = scale_rows(stack_rows([distinct, units]).take_rows(chosen[carrier]), sign.astype(object))
    # Who reads what: a row the carrier of its direction, or those of its atoms.
    whole = (direction >= 0) & by_row[direction]
    entry = np.flatnonzero(~whole[needed.rows])
    reader = np.concatenate([np.flatnonzero(whole), needed.rows[entry]])
    read = number[np.concatenate([direction[whole], count + np.searchsorted(atoms, needed.indices[entry])])]
    value = np.concatenate([factor[whole], needed.data[entry]])
    both = pair[read]
    readers = RationalMatrix.from_triples(
        np.concatenate([reader, reader[both]]),
        np.concatenate([start[read], start[read][both] + 1]),
        np.concatenate([value, -value[both]]),
        (needed.shape[0], len(carrier)),
    )
    return Forms(carried, np.zeros(len(carrier))), readers


def _directions(rows: RationalMatrix) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.object_]]:
    """One row of each direction; the direction of each row, -1 for zero; and its multiple of that one row."""
    first: dict[Any, int] = {}
    numbers: dict[int, list[int]] = defaultdict(list)
    direction, leading = np.full(rows.shape[0], -1, dtype=np.int64), [Fraction(0)] * rows.shape[0]
    for i in range(rows.shape[0]):
        entries = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
        values = fraction_array(rows.data[entries])
        if len(values):
            key = (tuple(rows.indices[entries].tolist()), tuple(values / values[0]))
            direction[i] = first.setdefault(key, len(first))
            leading[i] = values[0]
            numbers[int(direction[i])].append(i)
    # Of proportional rows the first whose first entry is positive, or else the first of them.
    firsts = ((next((i for i in own if leading[i] > 0), own[0])) for own in numbers.values())
    chosen = np.array([*firsts], dtype=np.int64)
    factor = [leading[i] / leading[chosen[d]] if d >= 0 else Fraction(0) for i, d in enumerate(direction)]
    return chosen, direction, np.array(factor, dtype=object)


def _split(weight: Any, columns: NDArray[np.int64]) -> tuple[Any, Any]:
    """The given columns of the weight, in that order, and the weight without them."""
    place = np.full(max(weight.shape[1], int(columns.max()) + 1), -1, dtype=np.int64)
    place[columns] = np.arange(len(columns))
    if isinstance(weight, RationalMatrix):
        owner, at, data = weight.rows, weight.indices, weight.data
    else:
        owner, at, data = np.repeat(np.arange(weight.shape[0]), np.diff(weight.indptr)), weight.indices, weight.data
    mine = place[at] >= 0
    parts: list[Any] = []
    for keep, column, width in ((mine, place[at], len(columns)), (~mine, at, weight.shape[1])):
        shape = (weight.shape[0], width)
        if isinstance(weight, RationalMatrix):
            parts.append(RationalMatrix.from_triples(owner[keep], column[keep], data[keep], shape))
        else:
            numbers: Any = data[keep]
            parts.append(csr_array((numbers, (owner[keep], column[keep])), shape=shape))
    return parts[0], parts[1]


def _beside(a: RationalMatrix, b: RationalMatrix) -> RationalMatrix:
    rows, columns = np.concatenate([a.rows, b.rows]), np.concatenate([a.indices, b.indices + a.shape[1]])
    shape = (a.shape[0], a.shape[1] + b.shape[1])
    return RationalMatrix.from_triples(rows, columns, np.concatenate([a.data, b.data]), shape)


def _layer(weight: Any, bias: NDArray[Any]) -> tuple[Any, Any]:
    if isinstance(weight, RationalMatrix) and is_exact_float(weight.data):
        weight = weight.tofloat()
    if bias.dtype == object and is_exact_float(bias):
        bias = to_float(bias)
    return weight, bias


# Rows of neurons, layer by layer: what a construction that has chosen its layers hands over.


@dataclass(frozen=True, slots=True)
class Row:
    """One neuron before its ReLU: weights by column, and the bias; rationals of Python or of flint."""

    weights: dict[int, Any]
    bias: Any


Chain = list[list[Row]]
"""The rows of every layer, the inputs' layer first and the outputs last."""


def rows_of(rows: Iterable[int], columns: Iterable[int], values: Iterable[Any], bias: Iterable[Any]) -> list[Row]:
    """One row for each bias, with these entries; those at one place are added.

    >>> rows_of([0, 0], [1, 1], [2, 3], [7])
    [Row(weights={1: 5}, bias=7)]
    """
    made = [Row(dict[int, Any](), shift) for shift in bias]
    for i, j, value in zip(rows, columns, values, strict=True):
        own: dict[int, Any] = made[i].weights
        own[j] = own[j] + value if j in own else value
    return made


def pruned(chain: Chain) -> Chain:
    """The same chain without hidden neurons that nothing reads; a layer that is constant stays.

    >>> [len(rows) for rows in pruned([[Row({0: 1}, 0), Row({0: 2}, 0)], [Row({1: 3, 0: 0}, 1)]])]
    [1, 1]
    """
    chain = list(chain)
    for l in reversed(range(len(chain) - 1)):
        used = sorted({j for row in chain[l + 1] for j, w in row.weights.items() if w != 0})
        if used:
            place = {j: i for i, j in enumerate(used)}
            chain[l] = [chain[l][j] for j in used]
            read = [{place[j]: w for j, w in row.weights.items() if j in place} for row in chain[l + 1]]
            chain[l + 1] = [Row(weights, row.bias) for weights, row in zip(read, chain[l + 1], strict=True)]
    return chain


def chained(chain: Chain, inputs: int) -> Network:
    """The network of these rows; its floats are made here, and its weights become `Fraction` when someone asks.

    >>> chained([[Row({0: 1}, 0), Row({0: -1}, Fraction(1, 3))], [Row({1: 3, 0: 1}, 0)]], 1)(["-1/2"])
    array([Fraction(5, 2)], dtype=object)
    """
    layers: list[Layer] = []
    exact: list[ExactLayer] = []
    width = inputs
    for rows in chain:
        entries = [sorted((j, v) for j, v in row.weights.items() if v != 0) for row in rows]
        start = np.cumsum([0, *map(len, entries)], dtype=np.int64)
        columns = np.array([j for own in entries for j, _ in own], dtype=np.int64)
        values, biases = [v for own in entries for _, v in own], [row.bias for row in rows]
        shape = (len(rows), width)
        weight: Any = csr_array((_floats(values), columns.copy(), start.copy()), shape=shape)
        weight.eliminate_zeros()
        layers.append((weight, _floats(biases)))
        exact.append((RationalMatrix(shape, start, columns, partial(_exactly, values)), _exactly(biases)))
        width = len(rows)
    return assemble(layers, exact)


def _exactly(values: list[Any]) -> NDArray[np.object_]:
    found = np.empty(len(values), dtype=object)
    found[:] = [Fraction(int(v.numerator), int(v.denominator)) for v in values]
    return found


def _floats(values: list[Any]) -> NDArray[np.float64]:
    try:
        return np.array([int(v.numerator) / int(v.denominator) for v in values], dtype=np.float64)
    except OverflowError:
        raise LimitError("a weight is too large for float64") from None
