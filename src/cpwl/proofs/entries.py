"""Entries of a proof: multipliers that show that an affine function is at least `t` on a region, in rationals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.exact.rational import text
from cpwl.exact.simplex import Optimum
from cpwl.function import CPWL
from cpwl.geometry.linear_program import LinearProgram
from cpwl.network.network import ExactLayer, Network, exact_layers

__all__ = ["Entry", "Group", "NoProof", "NotRecognised", "Prover", "Wiring", "counted_rows", "recover"]

# How a prover says that it has no proof.


class NoProof(Exception):
    """There is no proof of this kind.

    At one of `points` network and function may be seen to differ. If it `settles` the question, no other kind will do.
    """

    def __init__(self, message: str, points: Sequence[Any] = (), *, settles: bool = False) -> None:
        super().__init__(message)
        self.points = list(points)
        self.settles = settles


class NotRecognised(NoProof):
    """The network is not built as this kind of proof has it; the text says where."""


Integers = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Entry:
    """``h = sum lambda_r (b_r - a_r x) + t`` on a region; `t` is None where there is no such proof.

    Where `h` has no bound below, `point` and `ray` show it; where the region is empty, `empty` says so and
    `multipliers` prove it.
    """

    multipliers: dict[int, Fraction]
    t: Fraction | None
    empty: bool = False
    point: tuple[Fraction, ...] | None = None
    ray: tuple[Fraction, ...] | None = None

    def document(self, rows: int | None = None) -> dict[str, Any]:
        """The entry as it is written; with `rows`, as for a simplex: only cuts, numbered from `rows` on."""
        numbers = {str(r): text(y) for r, y in sorted(self.multipliers.items()) if rows is None or r >= rows}
        if self.empty:
            return {"empty": numbers}
        assert self.t is not None
        return {"lambda": numbers} if rows is not None else {"lambda": numbers, "t": text(self.t)}


def counted_rows(p: CPWL) -> list[Integers]:
    """For each piece its rows as the checker scales and counts them: without a common divisor, and none that says
    nothing, ``0 . x <= b`` with ``b >= 0``."""
    rows, start = primitive(p.polyhedra.integer()), p.polyhedra.start
    says = (rows[:, :-1] != 0).any(axis=1) | (rows[:, -1] < 0)
    return [rows[a:b][says[a:b]] for a, b in pairwise(start.tolist())]


class Prover:
    """Proves lower bounds of affine functions over regions, one exact linear program each."""

    def __init__(self) -> None:
        self._lp: LinearProgram | None = None
        self._rows: Integers | None = None

    def load(self, rows: Integers) -> None:
        """Go on with the region ``a.x <= b`` for each integer row ``(a, b)``."""
        if self._rows is rows:
            return
        scale = np.abs(rows[:, :-1]).max(axis=1) if len(rows) else np.ones(0)
        view = np.asarray(rows / scale[:, None], dtype=np.float64).reshape(rows.shape)
        if self._lp is None:
            self._lp = LinearProgram(view[:, :-1], view[:, -1])
        else:
            self._lp.load(view[:, :-1], view[:, -1])
        self._rows = rows

    def least(self, law: Integers) -> Entry:
        """The largest `t` for ``h = (g, o) / d``, given as integers ``(g, o, d)`` with ``d > 0``."""
        assert self._lp is not None
        assert self._rows is not None
        best = self._lp.maximize_exactly(self._rows, [-v for v in law[:-2]])
        return _entry(best, law)


def _entry(best: Optimum, law: Integers) -> Entry:
    d = law[-1]
    if best.status == "infeasible":
        assert best.multipliers is not None
        return Entry(best.multipliers, None, empty=True)
    if best.status == "unbounded":
        return Entry({}, None, point=best.point, ray=best.ray)
    assert best.multipliers is not None
    assert best.value is not None
    multipliers = {r: y / d for r, y in best.multipliers.items()}
    return Entry(multipliers, (law[-2] - best.value) / d, point=best.point)


# Reads a max of mins off the weights of a network: which neurons make which maximum, layer by layer.
#
# A maximum of two values is three neurons, ``max(u, v) = s(v - u) + s(u) - s(-u)``, a value carried on is two.
# All neurons of a value are read by the next layer with one vector of weights, up to sign: that tells them apart.
# From the output down each value is wanted with a sign; a maximum that is wanted with a minus is a minimum, so
# the signs say which component the first layer means. Nothing here is trusted: what is found is written into the
# proof and verified there against the weights.


Vector = dict[int, Fraction]
Rows = frozenset[frozenset[int]]


@dataclass(frozen=True, slots=True)
class Group:
    """A value: the maximum of two references (or one, carried on) and the neurons that make it."""

    references: tuple[int, ...]
    neurons: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wiring:
    """The groups of every hidden layer, the value of each output, and the rows that each output computes."""

    layers: tuple[tuple[Group, ...], ...]
    output: tuple[int, ...]
    rows: tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class _Layer:
    """An affine map as rows of weights and biases."""

    vectors: list[Vector]
    bias: list[Fraction]

    @classmethod
    def of(cls, layer: ExactLayer) -> _Layer:
        weight, bias = layer
        vectors: list[Vector] = [{} for _ in range(weight.shape[0])]
        for i, j, value in zip(weight.rows.tolist(), weight.indices.tolist(), weight.data, strict=True):
            vectors[i][j] = value
        return cls(vectors, list(bias))


def recover(network: Network, components: list[NDArray[np.object_]]) -> Wiring:
    """The wiring of a max-min network for the given components ``(k, n + 1)``, one table an output.

    Values of level 0 are numbered through all tables. Raises `NotRecognised` where the pattern ends.
    """
    layers = [_Layer.of(layer) for layer in exact_layers(network)]
    wiring: list[list[Group]] = [[] for _ in layers[:-1]]
    output, rows = [], []
    first = 0
    for o, table in enumerate(components):
        offsets = [len(groups) for groups in wiring]
        reference, groups_of, meaning = _recover_output(layers, o, _Components(table, first), offsets)
        for groups, found in zip(wiring, groups_of, strict=True):
            groups += found
        output.append(reference)
        rows.append(tuple(sorted(tuple(sorted(row)) for row in meaning)))
        first += len(table)
    return Wiring(tuple(tuple(groups) for groups in wiring), tuple(output), tuple(rows))


def _recover_output(
    layers: list[_Layer], output: int, components: _Components, offsets: list[int]
) -> tuple[int, list[list[Group]], Rows]:
    """Groups from the output down, then references up to the signs of level 0, then what the output means."""
    last = layers[-1]
    if len(layers) == 1:
        reference = components.find(last.vectors[output], last.bias[output], 1)
        return reference, [], components.meaning(reference)
    roles: list[list[tuple[int | None, int, int]]] = []
    reading = [last.vectors[output]]
    for number in range(len(layers) - 1, 0, -1):
        layer = layers[number - 1]
        roles.insert(0, [_roles(layer, neurons, signs, number) for neurons, signs in _classes(reading, number)])
        reading = [layer.vectors[i] for trio in roles[0] for i in trio if i is not None]
    levels = [_Values(trios, offset) for trios, offset in zip(roles, offsets, strict=True)]
    top = levels[-1].find(last.vectors[output], last.bias[output], f"output {output}")
    groups: list[list[Group]] = [[] for _ in levels]
    wanted = {abs(top) - 1 - offsets[-1]: 1 if top > 0 else -1}
    signs = [wanted]
    for number in range(len(levels), 1, -1):
        groups[number - 1], wanted = _above(layers[number - 1], levels[number - 1], levels[number - 2], wanted, number)
        signs.insert(0, wanted)
    groups[0] = _lowest(layers[0], levels[0], components, signs[0])
    return top, groups, _meaning(groups, signs, components, offsets)


def _classes(reading: list[Vector], number: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
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
    for members in classes.values():
        if len(members) not in (2, 3):
            neurons = [neuron for neuron, _ in members]
            raise NotRecognised(f"neurons {neurons[:6]} of layer {number} are read alike, which no maximum does")
    return [(tuple(n for n, _ in members), tuple(s for _, s in members)) for members in classes.values()]


def _roles(layer: _Layer, neurons: tuple[int, ...], signs: tuple[int, ...], number: int) -> tuple[int | None, int, int]:
    """Which neuron is ``s(v - u)`` (None for a carry), which ``s(u)`` and which ``s(-u)``."""
    sides = dict(zip(neurons, signs, strict=True))
    for third in neurons if len(neurons) == 3 else (None,):
        j, k = (i for i in neurons if i != third)
        opposite = layer.bias[j] == -layer.bias[k] and layer.vectors[j] == _negative(layer.vectors[k])
        if not opposite or sides[j] == sides[k]:
            continue
        # s(v - u) and s(u) are read with one sign; a carried value may be taken with either.
        return (third, j, k) if third is None or sides[j] == sides[third] else (third, k, j)
    raise NotRecognised(f"neurons {list(neurons)} of layer {number} do not make a maximum")


class _Values:
    """The values of one level and how each is read off the layer's neurons."""

    def __init__(self, trios: list[tuple[int | None, int, int]], offset: int) -> None:
        self.trios, self.offset = trios, offset
        self._vectors: list[Vector] = []
        self._owner: dict[int, int] = {}
        for k, (third, j, opposite) in enumerate(trios):
            vector = {j: Fraction(1), opposite: Fraction(-1)}
            if third is not None:
                vector[third] = Fraction(1)
            self._vectors.append(vector)
            self._owner.update(dict.fromkeys(vector, k))

    def find(self, vector: Vector, constant: Fraction, where: str) -> int:
        """The reference whose value is read with that vector."""
        if constant != 0:
            raise NotRecognised(f"{where} has a bias, which no maximum has")
        k = self._owner.get(next(iter(vector), -1))
        if k is not None:
            for sign in (1, -1):
                if vector == (self._vectors[k] if sign > 0 else _negative(self._vectors[k])):
                    return sign * (self.offset + k + 1)
        raise NotRecognised(f"{where} does not read one value of the layer before")


def _above(
    layer: _Layer, values: _Values, before: _Values, wanted: dict[int, int], number: int
) -> tuple[list[Group], dict[int, int]]:
    """The groups of a layer that reads hidden values, and the signs with which it wants them."""
    groups: list[Group] = []
    signs: dict[int, int] = {}
    for index, trio in enumerate(values.trios):
        pairs = _operands(layer, trio)
        where = f"neuron {trio[1]} of layer {number}"
        references = tuple(before.find(vector, constant, where) for vector, constant in pairs)
        groups.append(Group(references, tuple(i for i in trio if i is not None)))
        for reference in references:
            sign = wanted.get(index, 1) * (1 if reference > 0 else -1)
            if signs.setdefault(abs(reference) - 1 - before.offset, sign) != sign:
                raise NotRecognised(f"layer {number} wants one value with both signs")
    return groups, signs


def _lowest(layer: _Layer, values: _Values, components: _Components, wanted: dict[int, int]) -> list[Group]:
    """The groups of the first layer: the signs say whether a component or its negative is meant."""
    groups = []
    for k, trio in enumerate(values.trios):
        third, j, _ = trio
        sign = wanted.get(k, 1)
        u = components.find(layer.vectors[j], layer.bias[j], sign)
        references: tuple[int, ...] = (u,)
        if third is not None:
            references = (u, components.find_above(layer.vectors[third], layer.bias[third], sign, u))
        groups.append(Group(references, tuple(i for i in trio if i is not None)))
    return groups


def _operands(layer: _Layer, trio: tuple[int | None, int, int]) -> list[tuple[Vector, Fraction]]:
    """``u``, and ``v = (v - u) + u`` for a maximum, as they are read off the layer before."""
    third, j, _ = trio
    u = (layer.vectors[j], layer.bias[j])
    if third is None:
        return [u]
    return [u, (_add(layer.vectors[third], u[0]), layer.bias[third] + u[1])]


class _Components:
    """The components of one output, numbered from `first`."""

    def __init__(self, table: NDArray[np.object_], first: int) -> None:
        self.first = first
        self._table = table
        self._exact = {tuple(row): m for m, row in enumerate(table)}
        self._less: dict[int | None, NDArray[np.float64]] = {None: table.astype(np.float64)}

    def find(self, vector: Vector, constant: Fraction, sign: int) -> int:
        """The component that is meant, with that sign: equal, or the nearest where weights were rounded."""
        row = self._row(vector, constant, sign)
        m = self._exact.get(tuple(row))
        return sign * (self.first + 1 + (self._nearest(row, None) if m is None else m))

    def find_above(self, vector: Vector, constant: Fraction, sign: int, u: int) -> int:
        """The component `v` for which ``v - u`` is meant; rounding a difference loses less than rounding both."""
        row = self._row(vector, constant, sign)
        less = abs(u) - 1 - self.first
        m = self._exact.get(tuple(row + self._table[less]))
        return sign * (self.first + 1 + (self._nearest(row, less) if m is None else m))

    def _row(self, vector: Vector, constant: Fraction, sign: int) -> NDArray[np.object_]:
        slopes = [sign * vector.get(j, Fraction(0)) for j in range(self._table.shape[1] - 1)]
        return np.array([*slopes, sign * constant], dtype=object)

    def _nearest(self, row: NDArray[np.object_], less: int | None) -> int:
        """The component (less another) that comes closest, each number relative to its own size, as rounding is."""
        if less not in self._less:
            self._less[less] = (self._table - self._table[less]).astype(np.float64)
        table, given = self._less[less], row.astype(np.float64)
        size = np.maximum(np.abs(table), np.abs(given))
        apart = np.abs(table - given) / np.where(size == 0, 1.0, size)
        return int(np.lexsort((apart.sum(axis=1), apart.max(axis=1)))[0])

    def meaning(self, reference: int) -> Rows:
        return frozenset([frozenset([abs(reference) - 1])])


def _meaning(
    groups: list[list[Group]], signs: list[dict[int, int]], components: _Components, offsets: list[int]
) -> Rows:
    """The rows of the output, from level 0 up: wanted with +, a maximum joins rows; with -, it is a minimum."""
    before: list[Rows] = []
    for number, layer in enumerate(groups):
        after = []
        for k, group in enumerate(layer):
            if number == 0:
                parts = [components.meaning(r) for r in group.references]
            else:
                parts = [before[abs(r) - 1 - offsets[number - 1]] for r in group.references]
            if len(parts) == 1:
                after.append(parts[0])
            elif signs[number].get(k, 1) > 0:
                after.append(parts[0] | parts[1])
            else:
                after.append(frozenset(a | b for a in parts[0] for b in parts[1]))
        before = after
    return before[0]


def _negative(vector: Vector) -> Vector:
    return {column: -weight for column, weight in vector.items()}


def _add(one: Vector, two: Vector) -> Vector:
    total = dict(one)
    for column, weight in two.items():
        value = total.pop(column, Fraction(0)) + weight
        if value != 0:
            total[column] = value
    return total
