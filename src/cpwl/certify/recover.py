"""Reads a max of mins off the weights of a network: which neurons make which maximum, layer by layer.

A maximum of two values is three neurons, ``max(u, v) = s(v - u) + s(u) - s(-u)``, a value carried on is two. All neurons of a value
are read by the next layer with one vector of weights, up to sign: that tells them apart. Nothing here is trusted: what is found is
written into the proof and verified there against the weights.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import ExactLayer, Network, exact_layers

__all__ = ["Group", "NotRecognised", "Wiring", "recover"]

Vector = dict[int, Fraction]
Lattice = tuple[int, frozenset[frozenset[int]]]


class NotRecognised(Exception):
    """The network is not built as a max of mins; the text says where."""


@dataclass(frozen=True, slots=True)
class Group:
    """A value: the maximum of two references (or one, carried on) with its neurons and their signs in it."""

    references: tuple[int, ...]
    neurons: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wiring:
    """The groups of every hidden layer, the value of each output, and the rows that each output computes."""

    layers: tuple[tuple[Group, ...], ...]
    output: tuple[int, ...]
    rows: tuple[tuple[tuple[int, ...], ...], ...]


def recover(network: Network, components: list[NDArray[np.object_]]) -> Wiring:
    """The wiring of a max-min network for the given components ``(k, n + 1)``, one table an output.

    Values of level 0 are numbered through all tables. Raises `NotRecognised` where the pattern ends.
    """
    layers = [_rows(layer) for layer in exact_layers(network)]
    wiring: list[list[Group]] = [[] for _ in layers[:-1]]
    output, rows = [], []
    start = 0
    for o, table in enumerate(components):
        reference, lattice = _recover_output(layers, wiring, o, table, start)
        output.append(reference)
        rows.append(tuple(sorted(tuple(sorted(row)) for row in lattice[1])))
        start += len(table)
    return Wiring(tuple(tuple(groups) for groups in wiring), tuple(output), tuple(rows))


def _rows(layer: ExactLayer) -> tuple[list[Vector], list[Fraction]]:
    weight, bias = layer
    assert isinstance(weight, RationalMatrix)
    vectors: list[Vector] = [{} for _ in range(weight.shape[0])]
    for i, j, value in zip(weight.rows.tolist(), weight.indices.tolist(), weight.data, strict=True):
        vectors[i][j] = value
    return vectors, list(bias)


def _recover_output(
    layers: list[tuple[list[Vector], list[Fraction]]],
    wiring: list[list[Group]],
    output: int,
    table: NDArray[np.object_],
    start: int,
) -> tuple[int, Lattice]:
    reading = [layers[-1][0][output]]
    grouped: list[list[tuple[tuple[int, ...], tuple[int, ...]]]] = []
    for number in range(len(layers) - 1, 0, -1):
        groups = _groups(reading, number)
        grouped.append(groups)
        reading = [layers[number - 1][0][i] for neurons, _ in groups for i in neurons]
    # A network that begins with minima reads negative components, else positive ones; a table may hold both f and -f.
    reasons = []
    for sign in (1, -1):
        values = _Level(table, start, sign)
        found: list[list[Group]] = []
        try:
            for number, groups in enumerate(reversed(grouped), start=1):
                found.append([])
                values = _next_level(layers[number - 1], groups, values, found[-1], len(wiring[number - 1]), number)
            vectors, bias = layers[-1]
            reference = values.find(vectors[output], bias[output], f"output {output}")
            if values.lattice(reference)[0] < 0:
                raise NotRecognised(f"output {output} is the negative of a max of mins")
        except NotRecognised as reason:
            reasons.append(reason)
            continue
        for layer, groups_found in zip(wiring, found, strict=True):
            layer += groups_found
        return reference, values.lattice(reference)
    raise reasons[0]


def _groups(reading: list[Vector], number: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Neurons of one layer by the weights with which they are read, up to sign: (neurons, signs)."""
    columns: dict[int, list[tuple[int, Fraction]]] = defaultdict(list)
    for reader, vector in enumerate(reading):
        for neuron, weight in vector.items():
            columns[neuron].append((reader, weight))
    classes: dict[tuple[tuple[int, Fraction], ...], list[tuple[int, int]]] = defaultdict(list)
    for neuron in sorted(columns):
        column = columns[neuron]
        side = 1 if column[0][1] > 0 else -1
        classes[tuple((reader, side * weight) for reader, weight in column)].append((neuron, side))
    groups = []
    for members in classes.values():
        if len(members) not in (2, 3):
            neurons = [neuron for neuron, _ in members]
            raise NotRecognised(f"neurons {neurons[:6]} of layer {number} are read alike, which no maximum does")
        groups.append((tuple(n for n, _ in members), tuple(s for _, s in members)))
    return groups


class _Level:
    """The values of one level: how each is read off the layer's neurons, and what it stands for."""

    def __init__(self, table: NDArray[np.object_] | None, start: int, sign: int = 1) -> None:
        self.start, self.sign = start, sign
        self.vectors: list[Vector] = []
        self.meaning: list[Lattice] = []
        self.table = table
        self._owner: dict[int, int] = {}
        self._exact: dict[tuple[Fraction, ...], int] = {}
        if table is not None:
            self.meaning = [(1, frozenset([frozenset([start + m])])) for m in range(len(table))]
            self._exact = {tuple(row): m for m, row in enumerate(table)}
            self._view = table.astype(np.float64)

    def add(self, vector: Vector, meaning: Lattice) -> None:
        for neuron in vector:
            self._owner[neuron] = len(self.vectors)
        self.vectors.append(vector)
        self.meaning.append(meaning)

    def find(self, vector: Vector, constant: Fraction, where: str) -> int:
        """The reference whose value is read with that vector."""
        if self.table is not None:
            return self._find_component(vector, constant)
        if constant != 0:
            raise NotRecognised(f"{where} has a bias, which no maximum has")
        k = self._owner.get(next(iter(vector), -1))
        if k is None:
            raise NotRecognised(f"{where} does not read a value of the layer before")
        for sign in (1, -1):
            if vector == {i: sign * w for i, w in self.vectors[k].items()}:
                return sign * (self.start + k + 1)
        raise NotRecognised(f"{where} does not read one value of the layer before")

    def _find_component(self, vector: Vector, constant: Fraction) -> int:
        """The component that is meant: equal, or the nearest where weights were rounded."""
        assert self.table is not None
        n = self.table.shape[1] - 1
        row = [self.sign * vector.get(j, Fraction(0)) for j in range(n)] + [self.sign * constant]
        m = self._exact.get(tuple(row))
        if m is None:
            m = int(np.argmin(np.abs(self._view - np.array([float(v) for v in row])).max(axis=1)))
        return self.sign * (self.start + m + 1)

    def lattice(self, reference: int) -> Lattice:
        sign, rows = self.meaning[abs(reference) - 1 - self.start]
        return (sign if reference > 0 else -sign), rows


def _next_level(
    layer: tuple[list[Vector], list[Fraction]],
    groups: list[tuple[tuple[int, ...], tuple[int, ...]]],
    before: _Level,
    found: list[Group],
    start: int,
    number: int,
) -> _Level:
    after = _Level(None, start)
    vectors, bias = layer
    for neurons, signs in groups:
        third, j, k = _roles(vectors, bias, neurons, signs, number)
        where = f"neuron {j} of layer {number}"
        u = before.find(vectors[j], bias[j], where)
        if third is None:
            group, vector = Group((u,), (j, k)), {j: Fraction(1), k: Fraction(-1)}
            meaning = before.lattice(u)
        else:
            total = _add(vectors[third], vectors[j])
            v = before.find(total, bias[third] + bias[j], f"neuron {third} of layer {number}")
            group, vector = Group((u, v), (third, j, k)), {third: Fraction(1), j: Fraction(1), k: Fraction(-1)}
            meaning = _maximum(before.lattice(u), before.lattice(v), number)
        found.append(group)
        after.add(vector, meaning)
    return after


def _roles(
    vectors: list[Vector], bias: list[Fraction], neurons: tuple[int, ...], signs: tuple[int, ...], number: int
) -> tuple[int | None, int, int]:
    """Which neuron is ``s(v - u)`` (None for a carry), which ``s(u)`` and which ``s(-u)``."""
    sides = dict(zip(neurons, signs, strict=True))
    for third in neurons if len(neurons) == 3 else (None,):
        j, k = (i for i in neurons if i != third)
        opposite = bias[j] == -bias[k] and vectors[j] == {c: -w for c, w in vectors[k].items()}
        if not opposite or sides[j] == sides[k]:
            continue
        # The value is read with sign + on s(v - u) and s(u); for a carry either sign will do.
        side = sides[third] if third is not None else sides[j]
        return (third, j, k) if sides[j] == side else (third, k, j)
    raise NotRecognised(f"neurons {list(neurons)} of layer {number} do not make a maximum")


def _add(one: Vector, two: Vector) -> Vector:
    total = dict(one)
    for column, weight in two.items():
        value = total.get(column, Fraction(0)) + weight
        if value == 0:
            total.pop(column, None)
        else:
            total[column] = value
    return total


def _maximum(one: Lattice, two: Lattice, number: int) -> Lattice:
    if one[0] != two[0]:
        raise NotRecognised(f"layer {number} takes the maximum of a max of mins and a negative one")
    if one[0] > 0:
        return 1, one[1] | two[1]
    return -1, frozenset(a | b for a in one[1] for b in two[1])
