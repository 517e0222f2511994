"""From neurons that read each other across layers to a network: a plain chain, without skip links.

What a layer reads from layers before the one below it has to be carried through. A neuron is not negative, so
``relu(s) = s`` carries it with one neuron a layer; an input, or any other form `f`, takes the pair ``relu(f)``,
``relu(-f)``, and a form of neurons with factors of one sign takes one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from cpwl.exact.rational import fraction_array, is_exact_float, to_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import Network
from cpwl.network.program.affine import Forms, rational_matrix
from cpwl.network.program.tape import Tape, Tensor

__all__ = ["network_of"]


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
        carried = _carry(rational_matrix(earlier), 0 if positive else tape.inputs)
        layers.append(_layer(_beside(rational_matrix(recent), carried.readers), rows.bias))
        rows = Forms.stack([*(group.before for group in own), carried.forms])
    layers.append(_layer(_split(rows.weight, np.arange(tape.inputs))[0], rows.bias))
    return Network(layers[::-1])


@dataclass(frozen=True, slots=True, eq=False)
class _Carried:
    """What carriers read, and how the layer above puts what it needs together from them."""

    forms: Forms
    readers: RationalMatrix


def _carry(needed: RationalMatrix, signed: int) -> _Carried:
    """Carriers for the given rows: in each group that shares atoms, the rows or the atoms, whichever cost less.

    The first `signed` atoms may be negative.
    """
    directions, direction, factor = _directions(needed)
    distinct = needed.take_rows(directions)
    atoms, place = np.unique(distinct.indices, return_inverse=True)
    count = len(directions)
    links = csr_array((np.ones(len(place)), (distinct.rows, count + place)), shape=(count + len(atoms),) * 2)
    label = connected_components(links, directed=False)[1]
    single = np.array([_is_positive(distinct, i, signed) for i in range(count)], dtype=bool)
    row_cost = np.bincount(label[:count], np.where(single, 1, 2), minlength=label.max() + 1)
    atom_cost = np.bincount(label[count:], np.where(atoms >= signed, 1, 2), minlength=label.max() + 1)
    by_row = row_cost < atom_cost
    plan = _Plan(needed.shape)
    number = {}
    for i in np.flatnonzero(by_row[label[:count]]):
        number[int(i)] = plan.add(distinct.take_rows([i]), bool(single[i]))
    where = {}
    for k in np.flatnonzero(~by_row[label[count:]]):
        atom = int(atoms[k])
        unit = RationalMatrix.from_triples([0], [atom], [Fraction(1)], (1, needed.shape[1]))
        where[atom] = plan.add(unit, atom >= signed)
    for row in range(needed.shape[0]):
        entries = range(int(needed.indptr[row]), int(needed.indptr[row + 1]))
        if len(entries) and int(direction[row]) in number:
            plan.read(row, number[int(direction[row])], factor[row])
        else:
            for e in entries:
                plan.read(row, where[int(needed.indices[e])], needed.data[e])
    return plan.done()


class _Plan:
    """Carriers as they are chosen: rows to read, and the triples of who reads them."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.rows, self.width = shape
        self.forms: list[RationalMatrix] = []
        self.triples: list[tuple[int, int, Fraction]] = []
        self.pair: dict[int, bool] = {}

    def add(self, form: RationalMatrix, single: bool) -> int:
        """The number of the carrier of a form, one neuron or the first of two."""
        number = len(self.forms)
        self.forms += [form] if single else [form, -form]
        self.pair[number] = not single
        return number

    def read(self, row: int, carrier: int, factor: Fraction) -> None:
        self.triples.append((row, carrier, factor))
        if self.pair[carrier]:
            self.triples.append((row, carrier + 1, -factor))

    def done(self) -> _Carried:
        parts = [Forms(form, np.zeros(1)) for form in self.forms]
        rows, columns, factors = zip(*self.triples, strict=True)
        values = np.array(factors, dtype=object)
        readers = RationalMatrix.from_triples(rows, columns, values, (self.rows, len(self.forms)))
        return _Carried(Forms.stack(parts), readers)


def _directions(rows: RationalMatrix) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Fraction]]:
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
    chosen = np.array([_representative(rows, members) for members in numbers.values()], dtype=np.int64)
    factor = [leading[i] / leading[chosen[d]] if d >= 0 else Fraction(0) for i, d in enumerate(direction)]
    return chosen, direction, factor


def _representative(rows: RationalMatrix, members: list[int]) -> int:
    """The first of some proportional rows whose first entry is positive, or else the first of them."""
    return next((i for i in members if rows.data[rows.indptr[i]] > 0), members[0])


def _is_positive(rows: RationalMatrix, i: int, signed: int) -> bool:
    """Whether a row has atoms only that are never negative, with positive factors."""
    entries = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
    return bool((rows.indices[entries] >= signed).all() and (rows.data[entries] > 0).all())


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
