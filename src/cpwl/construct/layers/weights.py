"""Weights of one hidden layer over the layers below it: the equations, signs and free parts that they have.

The *features* below are the coordinates and the positive parts of the last known layer (`cpwl.function.layers`). On a
region of these each is affine, and so is a neuron with weights ``(a, b, c)`` over them. Its equations come from the
bends, its signs from cells that the equations leave open, and what satisfies both is a polyhedron: a point of it will
do. `direct_terms` checks the hypotheses of the theorem (`cpwl.construct.layers.plan`) for the weights that were found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import sign
from cpwl.exact.rational import reduced_rows, solution
from cpwl.function.layers import Layered, consistent
from cpwl.geometry.bodies import stacked
from cpwl.geometry.probe import Probe

Rationals = NDArray[np.object_]
FREE = 16  # weights of a neuron that nothing settles: more are those of no network, and their programs take minutes


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Forms that may be turned, over coordinates and 1, and what is read after them.

    A reader has weights ``(a, b, c)`` over coordinates, 1 and positive parts of the forms, and a basis of what may be
    added to them. After the last layer the outputs are readers.
    """

    forms: Rationals
    readers: list[tuple[Rationals, Rationals]]
    room: float

    @property
    def dim(self) -> int:
        return int(self.forms.shape[1]) - 1

    def slopes(self, turned: NDArray[np.bool_], weights: Rationals) -> Rationals:
        """The weights `a` of readers if some forms are turned: ``s(h) = s(-h) + h``."""
        n, on = self.dim, turned.astype(np.int64).astype(object)
        return np.asarray(weights[..., :n] + (weights[..., n + 1 :] * on).dot(self.forms[:, :n]))


@dataclass(frozen=True, eq=False)  # without slots: `cached_property` keeps its values in the instance's dictionary
class LayerRows:
    """What is linear in the weights ``(a, b, c)`` of a neuron: its values at places, and its forms on regions.

    Coordinates, of which `dim` have weights `a` and one is 1, are the inputs and the positive parts of all layers but
    the last known one, whose positive parts have weights `c`.
    """

    found: Layered

    @property
    def dim(self) -> int:
        return int(self.forms.shape[1]) - 1

    @property
    def forms(self) -> Rationals:
        """The last known layer over coordinates."""
        return self.found.cells.forms

    @cached_property
    def values(self) -> Rationals:
        """``(places, dim + 1 + k)``: coordinates, and the positive parts of all forms."""
        at = self.found.cells.coordinates
        return np.concatenate([at, np.maximum(at.dot(self.forms.T), 0)], axis=1)

    @cached_property
    def solutions(self) -> list[tuple[Rationals, Rationals]]:
        """For each neuron one solution of its equations, and a basis of what may be added."""
        every = [solution(neuron.equations) for neuron in self.found.neurons]
        assert None not in every
        return [one for one in every if one is not None]

    @cached_property
    def reading(self) -> Reading:
        """What is read after the last known layer: the next one, and if that is the last, what outputs read past it."""
        readers = list(self.solutions)
        signed = [_signed(self, j, np.zeros((0, self.values.shape[1] + 1), dtype=object)) for j in range(len(readers))]
        u, free = [own[0] for own in signed if own], [own[1] for own in signed if own]
        direct = direct_terms(self, u) if self.found.last and len(u) == len(readers) else None
        if direct is not None:
            steps = steps_of(self, free)
            own = [k for k, on in enumerate(steps.on) if on]
            for o, one in enumerate(direct):
                moved = [self.outgoing[steps.owner[k], o] * steps.weights[k] for k in own]
                readers.append((one, np.array(moved, dtype=object).reshape(len(own), len(one))))
        return Reading(self.forms, readers, self.found.room)

    @cached_property
    def outgoing(self) -> Rationals:
        """``(neurons, m)``: the weights with which outputs read the neurons of a last layer."""
        v = np.array([neuron.v for neuron in self.found.neurons], dtype=object)
        return v.reshape(len(v), self.found.laws.shape[1])

    def forms_of(self, u: Rationals) -> Rationals:
        """``(regions, n + 1)``: the affine function that a neuron with these integer weights is on each region."""
        return np.asarray(np.tensordot(u, self.found.cells.features, axes=(0, 1)))

    def signs(self, places: Any, u: Rationals) -> NDArray[np.int64]:
        """The sign of a neuron at some places; 0 where there is room for it."""
        at, whole = self.values[places], whole_row(u)
        value = at.dot(whole)
        if not self.found.room:
            return sign(value)
        return np.asarray(np.where(np.abs(value) <= self.margin(at, whole), 0, sign(value)), dtype=np.int64)

    def margin(self, values: Rationals, whole: Rationals) -> Rationals:
        """What a neuron with integer weights may be off at places, as integers."""
        return np.asarray(np.abs(values).dot(np.abs(whole)) // int(1 / self.found.room))

    @cached_property
    def sizes(self) -> Rationals:
        """The size of each feature: weights times these are all of one size."""
        return np.asarray(np.maximum(np.abs(self.found.cells.features).max(axis=(0, 2)), 1))

    @property
    def units(self) -> Rationals:
        """The same where equations may be off; 1 where they may not."""
        return self.sizes if self.found.room else np.ones(len(self.sizes), dtype=np.int64).astype(object)

    @cached_property
    def touching(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a region and a place of one of its cells, each once."""
        cells = self.found.cells
        owner = np.repeat(cells.region, np.diff(cells.start))
        region, place = np.unique(np.stack([owner, cells.member], axis=1), axis=0).T
        return region, place

    @cached_property
    def demands(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each neuron places, and the sign that it must have there (or 0): where its equations leave it open."""
        return [self._demands(j) for j in range(len(self.found.neurons))]

    def _demands(self, j: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Regions without a hinge are on one side: that of their places on regions where the neuron is known."""
        regions, places = self.touching
        features, (one, basis) = self.found.cells.features, self.solutions[j]
        known = np.ones(len(features), dtype=bool)
        for w in basis:
            known &= (np.tensordot(whole_row(w), features, axes=(0, 1)) == 0).all(axis=1)
        at = np.zeros(len(self.values), dtype=np.int64)
        seen = np.unique(places[known[regions]])
        at[seen] = self.signs(seen, one)
        side = np.zeros(len(known), dtype=np.int64)
        while True:
            total = np.zeros(len(known), dtype=np.int64)
            np.add.at(total, regions, at[places])
            new = ~known & (side == 0) & (total != 0)
            if not new.any():
                break
            side[new] = np.sign(total[new])
            on = new[regions] & (at[places] == 0)
            at[places[on]] = side[regions[on]]
        where = ~known[regions] & (side[regions] != 0)
        return places[where], side[regions[where]]


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """What may be added to neurons: whose it is, weights, and whether the neuron is positive where they matter.

    Let `w` be 0 but for places where `z_j` has one sign, `S` = 0 or 1. Whether neuron `j` is turned (t = 1) or not
    (t = 0), what it leaves to others changes by ``(t - S) w``.
    """

    owner: list[int]
    weights: list[Rationals]
    on: NDArray[np.bool_]
    moved: Rationals
    """The weights over the coordinates of the next layer, in its units."""


def steps_of(rows: LayerRows, free: list[Rationals]) -> Steps:
    """Steps from the free weights of all neurons."""
    owner, steps, on = [], [], []
    for j, basis in enumerate(free):
        places, side = rows.demands[j]
        for w in basis:
            signs = set(side[np.asarray(_whole(rows.values[places], w) != 0, dtype=bool)].tolist())
            if len(signs) == 1:
                owner.append(j)
                steps.append(w)
                on.append(signs.pop() > 0)
    return Steps(owner, steps, np.array(on, dtype=bool), np.zeros((len(owner), 0), dtype=object))


# Weights of a neuron.


def weights_of(rows: LayerRows, turned: NDArray[np.bool_]) -> tuple[list[Rationals], list[Rationals]] | None:
    """The weights ``(a, b, c)`` of all neurons, affine terms in few directions, and what may be added to each.

    None if a neuron has no weights with its signs, whichever forms are turned. Neurons without free weights come first:
    what they need is needed.
    """
    n, forms = rows.dim, rows.forms
    basis = np.zeros((0, n), dtype=object)
    found: dict[int, tuple[Rationals, Rationals]] = {}
    for j in sorted(range(len(rows.solutions)), key=lambda j: len(rows.solutions[j][1])):
        across = complement(basis, n)
        pure = np.concatenate(
            [
                across,
                np.zeros((len(across), 1), dtype=object),
                across.dot(forms[:, :n].T) * turned.astype(np.int64).astype(object),
                np.zeros((len(across), 1), dtype=object),
            ],
            axis=1,
        )
        u = _signed(rows, j, pure)
        if u is None:
            u = _signed(rows, j, pure[:0])
            if u is None:
                return None
            basis = reduced_rows(np.concatenate([basis, rows.reading.slopes(turned, u[0])[None]]))
        found[j] = u
    return [found[j][0] for j in range(len(found))], [found[j][1] for j in range(len(found))]


def _signed(rows: LayerRows, j: int, conditions: Rationals) -> tuple[Rationals, Rationals] | None:
    """Weights of a neuron that satisfy more equations and have its signs at all places, and what may be added."""
    neuron, room = rows.found.neurons[j], rows.found.room
    solved = solved_equations(neuron.hinges if room else neuron.equations, conditions, room)
    if solved is None:
        return None
    (one, basis), (places, side) = solved, rows.demands[j]
    if (rows.signs(places, one) * side >= 0).all():
        return one, basis
    if not 0 < len(basis) <= FREE:
        return None
    basis = np.array([w / Fraction(2) ** _exponent(w * rows.sizes) for w in basis], dtype=object)  # of the size of z
    scale = math.lcm(*(v.denominator for v in one), *(v.denominator for v in basis.ravel()))
    table = whole_numbers(np.concatenate([one[None], basis]) * scale)
    value = rows.values[places].dot(table.T) * side.astype(object)[:, None]
    if rows.found.room:
        value[:, 0] += rows.margin(rows.values[places], table[0])
    y = nonnegative(value)
    return None if y is None else (np.asarray(one + y.dot(basis)), basis)


def _exponent(values: Rationals) -> int:
    """The power of two that the largest value is about as large as."""
    largest = max(abs(v) for v in values)
    return int(largest.numerator.bit_length() - largest.denominator.bit_length())


def solved_equations(
    rows: Rationals, conditions: Rationals, room: float, size: float = 0.0
) -> tuple[Rationals, Rationals] | None:
    """One solution of equations that may be off, and of conditions that may not, and what may be added to it."""
    exact = solution(reduced_rows(np.concatenate([rows, conditions])))
    start = solution(reduced_rows(conditions)) if exact is None and room else None
    if start is None:
        return exact
    one, basis = start
    table = np.column_stack([rows[:, :-1].dot(basis.T), rows[:, -1] - rows[:, :-1].dot(one)])
    fitted = consistent(table, room, size)
    found = None if fitted is None else solution(fitted)
    return None if found is None else (one + found[0].dot(basis), found[1].dot(basis))


def nonnegative(value: Rationals) -> Rationals | None:
    """A point `y`, 0 if that will do, with ``value[:, 0] + value[:, 1:] . y >= 0``; None if there is none. Integers."""
    if (value[:, 0] >= 0).all():
        return np.full(value.shape[1] - 1, Fraction(0), dtype=object)
    steps = np.asarray((value[:, 1:] != 0).any(axis=1), dtype=bool)
    if not steps.any() or (value[~steps, 0] < 0).any():
        return None
    if value.shape[1] - 1 > FREE:
        return None
    free = np.column_stack([-value[steps, 1:], value[steps, 0]])
    distinct = np.array(list(dict.fromkeys(map(tuple, free.tolist()))), dtype=object)
    return point_of(distinct)


def point_of(rows: Rationals) -> Rationals | None:
    """A point with ``a . y <= b`` for all integer rows, with short numbers if those do."""
    divisor = np.array([math.gcd(*row) for row in rows.tolist()], dtype=object)
    body = stacked(rows // divisor[:, None], np.array([0, len(rows)], dtype=np.int64))[0]
    probe = Probe(0.0)
    y = probe.interior(body)
    if y is None:
        value, y = probe.maximum(body, [0] * (rows.shape[1] - 1))
        return None if value == -np.inf else y
    for below in (1, 1 << 4, 1 << 10, 1 << 20):
        short = np.array([Fraction(round(v * below), below) for v in y], dtype=object)
        if (rows[:, :-1].dot(short) <= rows[:, -1]).all():
            return short
    return y


def complement(vectors: Rationals, n: int) -> Rationals:
    """A basis of what is orthogonal to all vectors."""
    rows = np.concatenate([vectors, np.zeros((len(vectors), 1), dtype=np.int64).astype(object)], axis=1)
    found = solution(reduced_rows(rows.reshape(len(vectors), n + 1)))
    assert found is not None
    return found[1]


# The theorem.


def direct_terms(rows: LayerRows, u: list[Rationals]) -> Rationals | None:
    """Check the hypotheses of the theorem, and return ``(A, B, d)`` of each output; None if one does not hold.

    All in integers, with one denominator.
    """
    cells, neurons, laws = rows.found.cells, rows.found.neurons, rows.found.laws[rows.found.cells.piece]
    products = [neuron.v[:, None] * own for neuron, own in zip(neurons, u, strict=True)]
    scale = math.lcm(*(v.denominator for block in (laws, *products) for v in block.ravel()))
    rest = whole_numbers(laws * scale)
    for own, product in zip(u, products, strict=True):
        at = rows.signs(slice(None), own)[cells.member]
        low, high = np.minimum.reduceat(at, cells.start[:-1]), np.maximum.reduceat(at, cells.start[:-1])
        if ((low < 0) & (high > 0)).any():
            return None
        on = np.flatnonzero(high > 0)
        for o, weights in enumerate(whole_numbers(product * scale)):
            rest[on, o] -= rows.forms_of(weights)[cells.region[on]]
    left = rest[np.unique(cells.region, return_index=True)[1]]
    if rows.found.room:
        return _near_direct(rows, rest / Fraction(scale))
    if (rest != left[cells.region]).any():
        return None
    direct = _of_features(rows, left)
    holds = direct is not None and all((left[:, o] == rows.forms_of(own)).all() for o, own in enumerate(direct))
    return direct / Fraction(scale) if direct is not None and holds else None


def _near_direct(rows: LayerRows, rest: Rationals) -> Rationals | None:
    """The weights ``(A, B, d)`` of each output that the rest on cells has by least squares; None if it is not near."""
    cells, found = rows.found.cells, []
    for own in np.swapaxes(rest, 0, 1):
        table = np.concatenate(
            [np.concatenate([cells.features[r], left[None]]).T for r, left in zip(cells.region, own, strict=True)]
        )
        fitted = consistent(table, rows.found.room)
        solved = None if fitted is None else solution(fitted)
        if solved is None:
            return None
        found.append(solved[0])
    return np.array(found, dtype=object)


def _of_features(rows: LayerRows, left: Rationals) -> Rationals | None:
    """The weights ``(A, B, d)`` of a rest on regions, from one of them and pairs that differ in one neuron."""
    cells = rows.found.cells
    number = {tuple(side): r for r, side in enumerate(cells.sides.tolist())}
    some = {0}
    for i in range(cells.sides.shape[1]):
        for side, r in number.items():
            other = number.get((*side[:i], not side[i], *side[i + 1 :])) if side[i] else None
            if other is not None:
                some |= {r, other}
                break
    table = np.concatenate([np.concatenate([cells.features[r], left[r]]).T for r in sorted(some)])
    count, outputs = cells.features.shape[1], left.shape[1]
    solved = [solution(reduced_rows(table[:, [*range(count), count + o]])) for o in range(outputs)]
    found = [one[0] for one in solved if one is not None]
    return np.array(found, dtype=object) if len(found) == outputs else None


# Integers.


def _whole(rows: Rationals, u: Rationals) -> Rationals:
    """``rows . u`` up to a positive factor, in integers."""
    return np.asarray(rows.dot(whole_row(u)))


def whole_row(u: Rationals) -> Rationals:
    """Rationals times their common denominator."""
    scale = math.lcm(*(v.denominator for v in u))
    return np.array([int(v * scale) for v in u], dtype=object)


def largest(values: Rationals) -> float:
    return float(np.abs(values).max(initial=0))


def whole_numbers(values: Any) -> Rationals:
    return np.asarray(np.frompyfunc(int, 1, 1)(values))
