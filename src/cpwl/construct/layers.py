"""Pieces of a network with two or more hidden layers: the layers come back.

**Theorem.** Let cells cover the domain, each on one side of all hyperplanes ``h_i = 0``, with laws `f`. Let
``z_j = a_j x + b_j + sum_i c_ji s(h_i)`` have one sign at all corners and rays of each cell, ``S_j = 1`` where that is
positive, and let ``f - sum_j v_j S_j z_j = A x + B + sum_i d_i s(h_i)`` on all cells. Then the function is
``A x + B + sum_i d_i s(h_i) + sum_j v_j s(z_j)``. *Proof.* `z_j` is affine on a cell, so ``s(z_j) = S_j z_j`` there.

With more layers the same holds for *coordinates* in place of `x`: the inputs and the positive parts of all layers but
the last known one, whose forms are the `h_i`. Each is affine on a cell, since cells are cut along all layers.

`cpwl.function.layers` proposes forms and neurons. Here free weights and signs are chosen, and the hypotheses are
checked in rationals before there is a plan. ``s(h) = s(-h) + h``: turning forms moves affine terms, and turned the
right way, no neuron of the next layer needs any. See docs/layers.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import lifted
from cpwl.construct.blocks.schedule import AtomTable, Form, Interval, combine, lowered
from cpwl.construct.plan import Least, Plan
from cpwl.errors import ConstructionError
from cpwl.exact.integers import sign
from cpwl.exact.rational import reduced_rows, solution, to_float
from cpwl.function import CPWL
from cpwl.function.layers import MOST_PIECES, Layered, consistent, find_layers, next_layer, sure_forms
from cpwl.geometry.bodies import stacked
from cpwl.geometry.probe import Probe
from cpwl.network import Network
from cpwl.search import feasible_choice

_BITS = 14  # free signs of which all choices are tried
_FAR = 100.0  # steps of free weights, as multiples of what matters, within which a program looks for them
_OPTIONS = {"mip_max_nodes": 2_000, "mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}
_CHOICES = 1 << 10  # choices of signs of which the directions of affine terms are counted
_ROOM = 1e-9  # how far equations may be off for pieces of floats, relative to their numbers
_NEAR = 1e-6  # of the range of float data: how far a network for it may be off
_TRIES = 6  # choices of signs that are carried through

_FREE = 16  # weights of a neuron that nothing settles: more are those of no network, and their programs take minutes
_Rationals = NDArray[np.object_]
_Choice = tuple[list[_Rationals], NDArray[np.bool_]]  # weights, and which neurons to turn
_Conditions = tuple[_Rationals, _Rationals, _Rationals]


def plan(analysis: Analysis) -> Plan:
    """The plan of the network with two or more hidden layers whose pieces these are.

    Raises `ConstructionError` if no such network is found.

    >>> p = CPWL.from_maxmin([[1, 1, 0], [-1, 1, 0], [0, 0, 0]], [[0], [1], [2]])  # s(|x| + y)
    >>> made = plan(Analysis(p)).build()
    >>> (made([[3, -1], [-3, 1], [1, -5]]) == p([[3, -1], [-3, 1], [1, -5]])).all(), len(made.layers)
    (np.True_, 3)
    """
    exact = analysis.exact
    small = exact.essential.function
    # The exact function near pieces of floats bends where a network does, by other weights: room for these.
    found, reasons = [], []
    for room in (0.0, _ROOM) if analysis.function.tol else (0.0,):
        try:
            network = _smallest(small, room)
            if small is not exact.function:
                network = lifted(exact.function, exact.divided.coordinates, network)
            if room and not _is_near(network, analysis):
                raise ConstructionError("the network that bends near this data is not near it")
            found.append(network)
        except ConstructionError as error:
            reasons.append(error)
    if not found:
        raise reasons[0]
    best = min(found, key=lambda made: made.sizes.neurons)
    return Plan.of("layers", best, analysis.sample.points)


def _is_near(network: Network, analysis: Analysis) -> bool:
    """Whether a network has the values of a function at sample points, as floats see it."""
    cloud = analysis.sample
    off = np.abs(network(cloud.points) - analysis.function(cloud.points))
    return bool(np.nanmax(off, initial=0.0) <= _NEAR * cloud.range)


def least(analysis: Analysis) -> Least | None:
    """At least one neuron for each hyperplane with two different jumps that cuts few pieces, and one in a later layer.

    >>> p = CPWL.from_maxmin([[1, 1, 0], [-1, 1, 0], [0, 0, 0]], [[0], [1], [2]])
    >>> least(Analysis(p)).neurons, plan(Analysis(p)).sizes.neurons
    (1, 6)
    """
    p = analysis.exact.essential.function
    if p.dim < 2 or p.num_pieces > MOST_PIECES:
        return None
    count = sure_forms(p)
    return Least(count + 1, f"{count} hyperplanes with two different jumps are in its first layer", 3)


def _smallest(p: CPWL, room: float = 0.0) -> Network:
    """The smallest network of the first layers that are those of one; with `room`, of one that is near."""
    for found in find_layers(p, room):
        made = min(_networks(found), key=lambda made: (made.sizes.neurons, made.sizes.nonzeros), default=None)
        if made is not None:
            return made
    raise ConstructionError("no weights were found for which hidden layers bend as this function does")


def _networks(found: Layered, first: NDArray[np.bool_] | None = None) -> Iterator[Network]:
    """Networks with signs of the last known layer chosen in different ways; each satisfies the theorem.

    Where other free weights let what is read after the next layer read that layer alone, these are tried first.
    """
    rows = _Rows(found)
    for turned in itertools.chain([] if first is None else [first], _turnings(rows.reading)):
        weights = _weights(rows, turned)
        if weights is None:
            return
        after = _after(rows, turned, weights[0])
        if after is None:  # other signs leave the same
            return
        other = _for_readers(rows, turned, *weights, _reading(rows, after))
        if other is not None:
            changed = _after(rows, turned, other[0])
            if changed is not None:
                yield from _continued(rows, turned, changed, other[1])
        yield from _continued(rows, turned, after, None)
        if not found.last:  # other signs leave the same to the layers after this one
            return


def _after(rows: _Rows, turned: NDArray[np.bool_], u: list[_Rationals]) -> Layered | _Ends | None:
    """The layer that follows these weights, or after the last one the outputs; None if there is none."""
    second = _all(rows, turned, u)
    if rows.found.last:
        direct = _direct(rows, u)
        return None if direct is None else _Ends(second, _all(rows, turned, direct))
    forms = rows.forms * np.where(turned, -1, 1).astype(object)[:, None]
    try:
        return next_layer(rows.found, forms, second)
    except ConstructionError:
        return None


def _continued(
    rows: _Rows, turned: NDArray[np.bool_], after: Layered | _Ends, first: NDArray[np.bool_] | None
) -> Iterator[Network]:
    """Networks that go on like that, with these signs first."""
    if isinstance(after, Layered):
        yield from _networks(after, first)
    else:
        bits = next(_turnings(_reading(rows, after))) if first is None else first
        yield _assembled(rows, turned, after, bits)


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """The last layer and the outputs, both over the features below."""

    neurons: _Rationals
    direct: _Rationals
    """What outputs read besides these neurons."""


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """Forms that may be turned, over coordinates and 1, and what is read after them.

    A reader has weights ``(a, b, c)`` over coordinates, 1 and positive parts of the forms, and a basis of what may be
    added to them. After the last layer the outputs are readers.
    """

    forms: _Rationals
    readers: list[tuple[_Rationals, _Rationals]]
    room: float

    @property
    def dim(self) -> int:
        return int(self.forms.shape[1]) - 1

    def slopes(self, turned: NDArray[np.bool_], weights: _Rationals) -> _Rationals:
        """The weights `a` of readers if some forms are turned: ``s(h) = s(-h) + h``."""
        n, on = self.dim, turned.astype(np.int64).astype(object)
        return np.asarray(weights[..., :n] + (weights[..., n + 1 :] * on).dot(self.forms[:, :n]))


def _reading(rows: _Rows, after: Layered | _Ends) -> _Reading:
    """What is read after a layer."""
    if isinstance(after, Layered):
        return _Rows(after).reading
    unit, order = rows.units, _constant_last(rows)
    v, own = rows.outgoing, (after.direct * unit)[:, order]
    readers = [
        (np.concatenate([one, v[:, o]]), np.zeros((0, len(one) + len(v)), dtype=object)) for o, one in enumerate(own)
    ]
    return _Reading((after.neurons * unit)[:, order], readers, rows.found.room)


def _constant_last(rows: _Rows) -> list[int]:
    """The features in the order of the coordinates of the next layer."""
    n = rows.dim
    return [*range(n), *range(n + 1, n + 1 + len(rows.forms)), n]


@dataclass(frozen=True, eq=False)  # without slots: `cached_property` keeps its values in the instance's dictionary
class _Rows:
    """What is linear in the weights ``(a, b, c)`` of a neuron: its values at places, and its forms on regions.

    Coordinates, of which `dim` have weights `a` and one is 1, are the inputs and the positive parts of all layers but
    the last known one, whose positive parts have weights `c`.
    """

    found: Layered

    @property
    def dim(self) -> int:
        return int(self.forms.shape[1]) - 1

    @property
    def forms(self) -> _Rationals:
        """The last known layer over coordinates."""
        return self.found.cells.forms

    @cached_property
    def values(self) -> _Rationals:
        """``(places, dim + 1 + k)``: coordinates, and the positive parts of all forms."""
        at = self.found.cells.coordinates
        return np.concatenate([at, np.maximum(at.dot(self.forms.T), 0)], axis=1)

    @cached_property
    def solutions(self) -> list[tuple[_Rationals, _Rationals]]:
        """For each neuron one solution of its equations, and a basis of what may be added."""
        every = [solution(neuron.equations) for neuron in self.found.neurons]
        assert None not in every
        return [one for one in every if one is not None]

    @cached_property
    def reading(self) -> _Reading:
        """What is read after the last known layer: the next one, and if that is the last, what outputs read past it."""
        readers = list(self.solutions)
        signed = [_signed(self, j, np.zeros((0, self.values.shape[1] + 1), dtype=object)) for j in range(len(readers))]
        u, free = [own[0] for own in signed if own], [own[1] for own in signed if own]
        direct = _direct(self, u) if self.found.last and len(u) == len(readers) else None
        if direct is not None:
            steps = _steps(self, free)
            own = [k for k, on in enumerate(steps.on) if on]
            for o, one in enumerate(direct):
                moved = [self.outgoing[steps.owner[k], o] * steps.weights[k] for k in own]
                readers.append((one, np.array(moved, dtype=object).reshape(len(own), len(one))))
        return _Reading(self.forms, readers, self.found.room)

    @cached_property
    def outgoing(self) -> _Rationals:
        """``(neurons, m)``: the weights with which outputs read the neurons of a last layer."""
        v = np.array([neuron.v for neuron in self.found.neurons], dtype=object)
        return v.reshape(len(v), self.found.laws.shape[1])

    def forms_of(self, u: _Rationals) -> _Rationals:
        """``(regions, n + 1)``: the affine function that a neuron with these integer weights is on each region."""
        return np.asarray(np.tensordot(u, self.found.cells.features, axes=(0, 1)))

    def signs(self, places: Any, u: _Rationals) -> NDArray[np.int64]:
        """The sign of a neuron at some places; 0 where there is room for it."""
        at, whole = self.values[places], _whole_row(u)
        value = at.dot(whole)
        if not self.found.room:
            return sign(value)
        return np.asarray(np.where(np.abs(value) <= self.margin(at, whole), 0, sign(value)), dtype=np.int64)

    def margin(self, values: _Rationals, whole: _Rationals) -> _Rationals:
        """What a neuron with integer weights may be off at places, as integers."""
        return np.asarray(np.abs(values).dot(np.abs(whole)) // int(1 / self.found.room))

    @cached_property
    def sizes(self) -> _Rationals:
        """The size of each feature: weights times these are all of one size."""
        return np.asarray(np.maximum(np.abs(self.found.cells.features).max(axis=(0, 2)), 1))

    @property
    def units(self) -> _Rationals:
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
            known &= (np.tensordot(_whole_row(w), features, axes=(0, 1)) == 0).all(axis=1)
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


def _whole(rows: _Rationals, u: _Rationals) -> _Rationals:
    """``rows . u`` up to a positive factor, in integers."""
    return np.asarray(rows.dot(_whole_row(u)))


def _whole_row(u: _Rationals) -> _Rationals:
    """Rationals times their common denominator."""
    scale = math.lcm(*(v.denominator for v in u))
    return np.array([int(v * scale) for v in u], dtype=object)


# Signs of the first layer.


def _turnings(reading: _Reading) -> Iterator[NDArray[np.bool_]]:
    """Which forms to turn, the most promising choice first: no reader needs coordinates, or few directions do."""
    k, steps = len(reading.forms), _Steps([], [], np.zeros(0, dtype=bool), np.zeros((0, reading.dim), dtype=object))
    turns, _, rest = _conditions(reading, steps)
    table, yielded = np.concatenate([turns, rest], axis=1), False
    for bits in itertools.islice(_binaries(table, k, reading.room), _TRIES):
        yield bits
        yielded = True
    if not yielded:
        yield from _fewest_directions(reading, steps)
        yield np.zeros(k, dtype=bool)


def _conditions(reading: _Reading, steps: _Steps) -> _Conditions:
    """What readers of the forms alone satisfy, linear in which forms are turned, in steps, and a constant.

    A step may be added to the form of its owner where that is compensated for. Of a reader with free weights only what
    they do not change counts.
    """
    n, forms, moved = reading.dim, reading.forms, steps.moved
    turns, moves, rest = [], [], []
    for one, basis in reading.readers:
        unseen = (basis[:, n + 1 :] != 0).any(axis=0)
        loose = np.concatenate([forms[unseen, :n], basis[:, :n], moved[unseen[steps.owner]]])
        weights = np.where(unseen, 0, one[n + 1 :])
        for q in _complement(loose, n):
            turns.append(weights * forms[:, :n].dot(q))
            moves.append(weights[steps.owner] * moved.dot(q))
            rest.append([-(one[:n] * q).sum()])
    parts = ((turns, len(forms)), (moves, len(moved)), (rest, 1))
    first, second, third = (np.array(part, dtype=object).reshape(len(rest), width) for part, width in parts)
    return first, second, third


def _fewest_directions(reading: _Reading, steps: _Steps) -> list[NDArray[np.bool_]]:
    """Choices whose slopes span the fewest directions: all of few forms, else from some on one by one."""
    if len(reading.readers) == 1:  # all choices leave it one direction
        return []
    k = len(reading.forms)
    count = _Directions(reading, steps)
    done: dict[tuple[bool, ...], int] = {}

    def look(bits: tuple[bool, ...]) -> int:
        if bits not in done:
            done[bits] = count(np.array(bits))
        return done[bits]

    if 1 << k <= _CHOICES:
        for choice in itertools.product((False, True), repeat=k):
            look(choice)
    rng = np.random.default_rng(k)
    while len(done) < min(_CHOICES, 1 << k):
        bits, better = tuple((rng.random(k) < 0.5).tolist()), True
        while better and len(done) < _CHOICES:
            near = [(*bits[:i], not bits[i], *bits[i + 1 :]) for i in range(k)]
            best = min(near, key=look)
            better = look(best) < look(bits)
            bits = best if better else bits
    order = sorted(done, key=lambda bits: done[bits])
    return [np.array(bits) for bits in order[:_TRIES] if done[bits] < reading.dim]


class _Directions:
    """How many directions readers need if forms are turned, those with few free weights first.

    What steps of forms may change is not counted. Floats propose.
    """

    def __init__(self, reading: _Reading, steps: _Steps) -> None:
        n = reading.dim
        forms = to_float(reading.forms[:, :n])
        size = np.abs(forms).max(axis=0, initial=0)
        size[size == 0] = 1.0
        self.forms, self.steps, self.moved = forms / size, steps, to_float(steps.moved) / size
        self.own = []
        for one, basis in sorted(reading.readers, key=lambda pair: len(pair[1])):
            table = to_float(np.concatenate([one[None], basis]))
            self.own.append((table[:, :n] / size, table[:, n + 1 :]))

    def __call__(self, bits: NDArray[np.bool_]) -> int:
        found = np.zeros((0, self.forms.shape[1]))
        live = bits[self.steps.owner] != self.steps.on
        for slopes, weights in self.own:
            parts = np.where(bits, weights, 0.0)[:, :, None] * self.forms
            left = slopes + parts.sum(axis=1)
            size = np.abs(slopes).max(axis=1) + np.abs(parts).max(axis=(1, 2))
            left /= np.where(size > 0, size, 1.0)[:, None]
            moved = self.moved[live & (weights[:, self.steps.owner] != 0).any(axis=0)]
            loose = np.concatenate([found, left[1:], moved])
            rest = left[0] - np.linalg.lstsq(loose.T, left[0], rcond=1e-9)[0] @ loose if len(loose) else left[0]
            if np.abs(rest).max() > 1e-7:
                found = np.concatenate([found, left[:1]])
        return len(found)


def _complement(vectors: _Rationals, n: int) -> _Rationals:
    """A basis of what is orthogonal to all vectors."""
    rows = np.concatenate([vectors, np.zeros((len(vectors), 1), dtype=np.int64).astype(object)], axis=1)
    found = solution(reduced_rows(rows.reshape(len(vectors), n + 1)))
    assert found is not None
    return found[1]


def _binaries(rows: _Rationals, count: int, room: float) -> Iterator[NDArray[np.bool_]]:
    """Solutions in 0 and 1 of ``rows[:, :-1] x = rows[:, -1]``; of very many free bits only some are tried.

    With room, at most one solution, which need not be exact.
    """
    if room:
        scaled = to_float(rows)
        scaled /= max(np.abs(scaled).max(initial=0), 1e-300)
        ends = scaled[:, -1] - 10 * room, scaled[:, -1] + 10 * room
        found = feasible_choice(csr_array(scaled[:, :-1]), *ends, count, 1.0, _OPTIONS)
        yield from [] if found is None else [found]
        return
    reduced = reduced_rows(rows)
    if len(reduced) and not reduced[-1, :-1].any():
        return
    pivots = [next(j for j, v in enumerate(row) if v) for row in reduced]
    free = [j for j in range(count) if j not in set(pivots)][:_BITS]
    choices = np.arange(1 << len(free))[:, None] >> np.arange(len(free)) & 1
    table = to_float(reduced) if len(reduced) else np.zeros((0, count + 1))
    value = table[:, -1] - choices @ table[:, free].T
    near = (np.abs(value - np.round(value)) < 1e-6) & (np.round(value) >= 0) & (np.round(value) <= 1)
    for choice in choices[near.all(axis=1)]:
        bits = np.zeros(count, dtype=np.int64)
        bits[free] = choice
        exact = reduced[:, -1] - (reduced[:, free] * choice.astype(object)).sum(axis=1)
        if all(v in (0, 1) for v in exact):
            bits[pivots] = [int(v) for v in exact]
            yield bits > 0


# Weights of the second layer.


def _weights(rows: _Rows, turned: NDArray[np.bool_]) -> tuple[list[_Rationals], list[_Rationals]] | None:
    """The weights ``(a, b, c)`` of all neurons, affine terms in few directions, and what may be added to each.

    None if a neuron has no weights with its signs, whichever forms are turned. Neurons without free weights come first:
    what they need is needed.
    """
    n, forms = rows.dim, rows.forms
    basis = np.zeros((0, n), dtype=object)
    found: dict[int, tuple[_Rationals, _Rationals]] = {}
    for j in sorted(range(len(rows.solutions)), key=lambda j: len(rows.solutions[j][1])):
        across = _complement(basis, n)
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


def _signed(rows: _Rows, j: int, conditions: _Rationals) -> tuple[_Rationals, _Rationals] | None:
    """Weights of a neuron that satisfy more equations and have its signs at all places, and what may be added."""
    neuron, room = rows.found.neurons[j], rows.found.room
    solved = _solved(neuron.hinges if room else neuron.equations, conditions, room)
    if solved is None:
        return None
    (one, basis), (places, side) = solved, rows.demands[j]
    if (rows.signs(places, one) * side >= 0).all():
        return one, basis
    if not 0 < len(basis) <= _FREE:
        return None
    basis = np.array([w / Fraction(2) ** _exponent(w * rows.sizes) for w in basis], dtype=object)  # of the size of z
    scale = math.lcm(*(v.denominator for v in one), *(v.denominator for v in basis.ravel()))
    table = _integers(np.concatenate([one[None], basis]) * scale)
    value = rows.values[places].dot(table.T) * side.astype(object)[:, None]
    if rows.found.room:
        value[:, 0] += rows.margin(rows.values[places], table[0])
    y = _nonnegative(value)
    return None if y is None else (np.asarray(one + y.dot(basis)), basis)


def _exponent(values: _Rationals) -> int:
    """The power of two that the largest value is about as large as."""
    largest = max(abs(v) for v in values)
    return int(largest.numerator.bit_length() - largest.denominator.bit_length())


def _solved(
    rows: _Rationals, conditions: _Rationals, room: float, size: float = 0.0
) -> tuple[_Rationals, _Rationals] | None:
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


def _nonnegative(value: _Rationals) -> _Rationals | None:
    """A point `y`, 0 if that will do, with ``value[:, 0] + value[:, 1:] . y >= 0``; None if there is none. Integers."""
    if (value[:, 0] >= 0).all():
        return np.full(value.shape[1] - 1, Fraction(0), dtype=object)
    steps = np.asarray((value[:, 1:] != 0).any(axis=1), dtype=bool)
    if not steps.any() or (value[~steps, 0] < 0).any():
        return None
    if value.shape[1] - 1 > _FREE:
        return None
    free = np.column_stack([-value[steps, 1:], value[steps, 0]])
    distinct = np.array(list(dict.fromkeys(map(tuple, free.tolist()))), dtype=object)
    return _point(distinct)


def _point(rows: _Rationals) -> _Rationals | None:
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


# The theorem.


def _direct(rows: _Rows, u: list[_Rationals]) -> _Rationals | None:
    """Check the hypotheses of the theorem, and return ``(A, B, d)`` of each output; None if one does not hold.

    All in integers, with one denominator.
    """
    cells, neurons, laws = rows.found.cells, rows.found.neurons, rows.found.laws[rows.found.cells.piece]
    products = [neuron.v[:, None] * own for neuron, own in zip(neurons, u, strict=True)]
    scale = math.lcm(*(v.denominator for block in (laws, *products) for v in block.ravel()))
    rest = _integers(laws * scale)
    for own, product in zip(u, products, strict=True):
        at = rows.signs(slice(None), own)[cells.member]
        low, high = np.minimum.reduceat(at, cells.start[:-1]), np.maximum.reduceat(at, cells.start[:-1])
        if ((low < 0) & (high > 0)).any():
            return None
        on = np.flatnonzero(high > 0)
        for o, weights in enumerate(_integers(product * scale)):
            rest[on, o] -= rows.forms_of(weights)[cells.region[on]]
    left = rest[np.unique(cells.region, return_index=True)[1]]
    if rows.found.room:
        return _near_direct(rows, rest / Fraction(scale))
    if (rest != left[cells.region]).any():
        return None
    direct = _of_features(rows, left)
    holds = direct is not None and all((left[:, o] == rows.forms_of(own)).all() for o, own in enumerate(direct))
    return direct / Fraction(scale) if direct is not None and holds else None


def _near_direct(rows: _Rows, rest: _Rationals) -> _Rationals | None:
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


def _of_features(rows: _Rows, left: _Rationals) -> _Rationals | None:
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


# The network.


def _all(rows: _Rows, turned: NDArray[np.bool_], weights: list[_Rationals] | _Rationals) -> _Rationals:
    """Weights ``(a, b, c)`` as they are when forms are turned, one row each."""
    n, on = rows.dim, turned.astype(np.int64).astype(object)
    made = np.array(list(weights), dtype=object).reshape(len(weights), n + 1 + len(on))
    return np.concatenate([made[:, : n + 1] + (made[:, n + 1 :] * on).dot(rows.forms), made[:, n + 1 :]], axis=1)


def _for_readers(
    rows: _Rows, turned: NDArray[np.bool_], u: list[_Rationals], free: list[_Rationals], after: _Reading
) -> _Choice | None:
    """Free weights with which few coordinates are read past the next layer, and which of its neurons to turn then."""
    made, order = _all(rows, turned, u) * rows.units, _constant_last(rows)[:-1]
    steps = _steps(rows, free)
    if not steps.owner:
        return None
    at = np.argmax(made[:, order] != 0, axis=1)
    each = np.arange(len(made))
    scale = np.asarray(_over(after.forms[each, at], 1) / made[:, order][each, at])
    moved = (_all(rows, turned, steps.weights) * rows.units)[:, order] * scale[steps.owner][:, None]
    steps = replace(steps, moved=moved)
    bits = _program(rows, u, steps, _conditions(after, steps))
    for choice in [*([] if bits is None else [bits]), *_fewest_directions(after, steps)]:
        table = _past(after, steps, choice)
        other = _moved(rows, u, steps, choice, table) if table.any() else None
        if other is not None:
            return other, choice
    return None


def _past(after: _Reading, steps: _Steps, bits: NDArray[np.bool_]) -> _Rationals:
    """What steps satisfy, as rows with a right-hand side, if some readers may read coordinates past the layer.

    A reader alone, with steps of its own, settles some of its free weights and its multiples of what readers before it
    need. What it does not settle is left open.
    """
    n = after.dim
    live = bits[steps.owner] != steps.on
    moved = steps.moved * (np.where(steps.on, -1, 1) * live).astype(object)[:, None]
    needed: list[tuple[_Rationals, _Rationals]] = []
    found = [np.zeros((0, len(live) + 1), dtype=object)]
    for one, basis in sorted(after.readers, key=lambda pair: len(pair[1])):
        own = after.slopes(bits, one)
        alone = np.concatenate([after.slopes(bits, basis), *(base[None] for base, _ in needed), moved, -own[None]]).T
        solved = _solved(alone, alone[:0], after.room, _size(own))
        if solved is None:
            needed.append((own, one[n + 1 :][steps.owner][:, None] * moved))
            continue
        one = one + solved[0][: len(basis)].dot(basis)
        left = reduced_rows(solved[1][:, : len(basis)].dot(basis))
        own, move = after.slopes(bits, one), one[n + 1 :][steps.owner][:, None] * moved
        for factor, (base, step) in zip(solved[0][len(basis) :], needed, strict=False):
            own, move = own + factor * base, move + factor * step
        unseen = (left[:, n + 1 :] != 0).any(axis=0)[steps.owner]
        across = _complement(np.concatenate([after.slopes(bits, left), moved[unseen]]), n)
        found.append(np.column_stack([across.dot(move.T), -across.dot(own)]))
    return np.concatenate(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """What may be added to neurons: whose it is, weights, and whether the neuron is positive where they matter.

    Let `w` be 0 but for places where `z_j` has one sign, `S` = 0 or 1. Whether neuron `j` is turned (t = 1) or not
    (t = 0), what it leaves to others changes by ``(t - S) w``.
    """

    owner: list[int]
    weights: list[_Rationals]
    on: NDArray[np.bool_]
    moved: _Rationals
    """The weights over the coordinates of the next layer, in its units."""


def _steps(rows: _Rows, free: list[_Rationals]) -> _Steps:
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
    return _Steps(owner, steps, np.array(on, dtype=bool), np.zeros((len(owner), 0), dtype=object))


def _moved(
    rows: _Rows, u: list[_Rationals], steps: _Steps, bits: NDArray[np.bool_], table: _Rationals
) -> list[_Rationals] | None:
    """Weights with multiples of steps added that satisfy these equations; None if none were found."""
    live = np.flatnonzero(bits[steps.owner] != steps.on)
    table = table[:, [*live, -1]]
    solved = _solved(table, table[:0], rows.found.room, _size(table))
    return None if solved is None else _added(rows, u, [(steps.owner[k], steps.weights[k]) for k in live], solved)


def _program(rows: _Rows, u: list[_Rationals], found: _Steps, conditions: _Conditions) -> NDArray[np.bool_] | None:
    """Which neurons to turn, so that steps of those whose side changes satisfy the conditions; floats propose."""
    owner, steps, on = found.owner, found.weights, found.on
    count = len(u)
    turns, moves, rest = (to_float(part) for part in conditions)
    size = max((np.abs(part).max(initial=0) for part in (turns, moves, rest)), default=0.0) if rows.found.room else 1.0
    turns, moves, rest = turns / (size or 1), moves * np.where(on, -1, 1) / (size or 1), rest / (size or 1)
    unit = np.abs(moves).max(axis=0, initial=0)
    unit[unit == 0] = 1.0
    tables, ends = [np.concatenate([turns, moves / unit], axis=1)], [rest.ravel()]
    low = [rest.ravel()]
    for k, j in enumerate(owner):  # a step is 0 where the neuron is turned to its own side
        for s in (1.0, -1.0):
            row = np.zeros(count + len(owner))
            row[count + k], row[j] = s, _FAR if on[k] else -_FAR
            tables.append(row[None])
            ends.append(np.array([_FAR if on[k] else 0.0]))
            low.append(np.array([-np.inf]))
    for j in sorted(set(owner)):
        places, side = rows.demands[j]
        own = [k for k, i in enumerate(owner) if i == j]
        table = np.array([_whole_row(steps[k]) for k in own], dtype=object)
        factor = np.array([Fraction(math.lcm(*(v.denominator for v in steps[k]))) for k in own])
        value = to_float(rows.values[places].dot(table.T)) * side[:, None] / to_float(factor) / unit[own]
        base = to_float(rows.values[places].dot(u[j])) * side
        size = np.abs(value).max(axis=1)
        some = size > 0
        made = np.zeros((some.sum(), count + len(owner)))
        made[:, [count + k for k in own]] = -value[some] / size[some, None]
        tables.append(made)
        ends.append(base[some] / size[some])
        low.append(np.full(some.sum(), -np.inf))
    rows_of = csr_array(np.concatenate(tables))
    return feasible_choice(rows_of, np.concatenate(low), np.concatenate(ends), count, _FAR, _OPTIONS)


def _added(
    rows: _Rows, u: list[_Rationals], steps: list[tuple[int, _Rationals]], solved: tuple[_Rationals, _Rationals]
) -> list[_Rationals] | None:
    """Weights with multiples of `steps` added, of all that were solved for some with which neurons keep their signs."""
    one, basis = solved
    basis = basis if len(basis) <= _FREE else basis[:0]
    tables, values = {}, []
    for j in {j for j, _ in steps}:
        own = [k for k, (i, _) in enumerate(steps) if i == j]
        w = np.array([steps[k][1] for k in own], dtype=object)
        table = np.concatenate([(u[j] + one[own].dot(w))[None], basis[:, own].dot(w)])
        places, side = rows.demands[j]
        scale = math.lcm(*(x.denominator for x in table.ravel()))
        values.append(rows.values[places].dot(_integers(table * scale).T) * side.astype(object)[:, None])
        tables[j] = table
    y = _nonnegative(np.concatenate(values)) if values else np.zeros(0, dtype=object)
    if y is None:
        return None
    return [u[j] if j not in tables else tables[j][0] + y.dot(tables[j][1:]) for j in range(len(u))]


def _assembled(rows: _Rows, turned: NDArray[np.bool_], ends: _Ends, bits: NDArray[np.bool_]) -> Network:
    """Turned forms; neurons, turned where that leaves little direct, and the rest; what they need is carried."""
    n, found, v = rows.dim, rows.found, rows.outgoing
    rest = ends.direct + v[bits].T.dot(ends.neurons[bits])
    second = ends.neurons * np.where(bits, -1, 1).astype(object)[:, None]
    if found.room:
        size = np.abs(rest * rows.units)
        small = size <= 10 * Fraction(found.room) * np.abs(ends.direct * rows.units).max()
        small[:, n] = False
        rest[small] = Fraction(0)
    inputs = found.laws.shape[2] - 1
    table = _Table(inputs, found.cells.bodies.places)
    made_of: list[Form] = [{i: Fraction(1)} for i in range(inputs + 1)]
    for forms in found.cells.layers[:-1]:
        made_of = [*made_of[:-1], *(table.relu(_sum(form, made_of)) for form in forms), made_of[-1]]
    made_of += [
        table.relu(_sum(form, made_of)) for form in rows.forms * np.where(turned, -1, 1).astype(object)[:, None]
    ]
    outputs = [_sum(row, made_of) for row in rest]
    for row, weights in zip(second, v, strict=True):
        made = table.relu(_sum(row, made_of))
        outputs = [combine(one, weight, made) for one, weight in zip(outputs, weights, strict=True)]
    lowering = lowered(table, outputs)
    assert lowering is not None
    return lowering.network()


class _Table(AtomTable):
    """Atoms that are affine on cells: forms have the bounds that they have at corners and along rays."""

    def __init__(self, inputs: int, places: _Rationals) -> None:
        super().__init__(inputs, None)
        self.at = {k: (own, Fraction(1)) for k, own in enumerate(places.T)}
        self.rays = np.asarray(places[:, -1] == 0, dtype=bool)

    def relu(self, form: Form) -> Form:
        """The ReLU of a form, as a form; its values are noted."""
        made = super().relu(form)
        for number in range(len(self.at) - self.inputs - 1, len(self.atoms)):
            value, unit = self._values(self.atoms[number])
            self.at[self.inputs + 1 + number] = np.maximum(value, 0), unit
        return made

    def _values(self, form: Form) -> tuple[_Rationals, Fraction]:
        """Integers at all places, and their unit."""
        factors = {key: value * self.at[key][1] for key, value in form.items()}
        scale = math.lcm(*(factor.denominator for factor in factors.values()))
        total = sum(int(factor * scale) * self.at[key][0] for key, factor in factors.items())
        return np.asarray(total), Fraction(1, scale)

    def _at_corners(self, value: _Rationals) -> list[Fraction]:
        corner, weight = value[~self.rays], self.at[self.inputs][0][~self.rays]
        return [Fraction(a, w) for a, w in zip(corner, weight, strict=True)]

    def range(self, form: Form) -> Interval | None:
        """The least and the largest value at corners; None if the form grows or falls without a bound."""
        value, unit = self._values(form)
        found = [] if value[self.rays].any() else self._at_corners(value)
        return (min(found) * unit, max(found) * unit) if found else None

    def basis(self, forms: list[Form]) -> list[Form]:
        """The same span by forms that are bounded below, where some form of it grows along every ray.

        Enough of that one makes any other form grow, too.
        """
        found = [self._values(form) for form in forms]
        along = np.array([value[self.rays] for value, _ in found], dtype=object).reshape(len(forms), -1).T
        along = along[np.asarray((along != 0).any(axis=1), dtype=bool)]
        y = _point(np.column_stack([-along, np.full(len(along), -1, dtype=object)])) if len(along) else None
        if y is None:
            return forms
        units = [combine({}, 1 / unit, form) for form, (_, unit) in zip(forms, found, strict=True)]
        grows, top = _sum(y, units), along.dot(y)
        lift = [math.ceil(max(0, *(-own / top))) for own in along.T]
        return [grows, *(combine(form, factor, grows) for form, factor in zip(units, lift, strict=True))]

    def least(self, form: Form) -> Fraction | None:
        """The least value of a form; None if it falls without a bound."""
        value, unit = self._values(form)
        return None if (value[self.rays] < 0).any() else min(self._at_corners(value)) * unit


def _size(values: _Rationals) -> float:
    return float(np.abs(values).max(initial=0))


def _sum(row: _Rationals, forms: list[Form]) -> Form:
    """A sum of forms with factors."""
    total: Form = {}
    for factor, form in zip(row, forms, strict=True):
        total = combine(total, factor, form) if factor else total
    return total


def _integers(values: Any) -> _Rationals:
    return np.asarray(np.frompyfunc(int, 1, 1)(values))


_over = np.frompyfunc(Fraction, 2, 1)
