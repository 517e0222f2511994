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

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import lifted
from cpwl.construct.blocks.schedule import AtomTable, Form, Interval, combine, lowered
from cpwl.construct.layers.weights import (
    FREE,
    LayerRows,
    Rationals,
    Reading,
    Steps,
    complement,
    direct_terms,
    largest,
    nonnegative,
    point_of,
    solved_equations,
    steps_of,
    weights_of,
    whole_numbers,
    whole_row,
)
from cpwl.construct.plan import Least, Plan
from cpwl.errors import ConstructionError
from cpwl.exact.rational import reduced_rows, to_float
from cpwl.function import CPWL
from cpwl.function.layers import MOST_PIECES, Layered, find_layers, next_layer, sure_forms
from cpwl.network import Network
from cpwl.search import feasible_choice

_BITS = 14  # free signs of which all choices are tried
_FAR = 100.0  # steps of free weights, as multiples of what matters, within which a program looks for them
_OPTIONS = {"mip_max_nodes": 2_000, "mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}
_CHOICES = 1 << 10  # choices of signs of which the directions of affine terms are counted
_ROOM = 1e-9  # how far equations may be off for pieces of floats, relative to their numbers
_NEAR = 1e-6  # of the range of float data: how far a network for it may be off
_TRIES = 6  # choices of signs that are carried through

_Choice = tuple[list[Rationals], NDArray[np.bool_]]  # weights, and which neurons to turn
_Conditions = tuple[Rationals, Rationals, Rationals]


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
    rows = LayerRows(found)
    for turned in itertools.chain([] if first is None else [first], _turnings(rows.reading)):
        weights = weights_of(rows, turned)
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


def _after(rows: LayerRows, turned: NDArray[np.bool_], u: list[Rationals]) -> Layered | _Ends | None:
    """The layer that follows these weights, or after the last one the outputs; None if there is none."""
    second = _all(rows, turned, u)
    if rows.found.last:
        direct = direct_terms(rows, u)
        return None if direct is None else _Ends(second, _all(rows, turned, direct))
    forms = rows.forms * np.where(turned, -1, 1).astype(object)[:, None]
    try:
        return next_layer(rows.found, forms, second)
    except ConstructionError:
        return None


def _continued(
    rows: LayerRows, turned: NDArray[np.bool_], after: Layered | _Ends, first: NDArray[np.bool_] | None
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

    neurons: Rationals
    direct: Rationals
    """What outputs read besides these neurons."""


def _reading(rows: LayerRows, after: Layered | _Ends) -> Reading:
    """What is read after a layer."""
    if isinstance(after, Layered):
        return LayerRows(after).reading
    unit, order = rows.units, _constant_last(rows)
    v, own = rows.outgoing, (after.direct * unit)[:, order]
    readers = [
        (np.concatenate([one, v[:, o]]), np.zeros((0, len(one) + len(v)), dtype=object)) for o, one in enumerate(own)
    ]
    return Reading((after.neurons * unit)[:, order], readers, rows.found.room)


def _constant_last(rows: LayerRows) -> list[int]:
    """The features in the order of the coordinates of the next layer."""
    n = rows.dim
    return [*range(n), *range(n + 1, n + 1 + len(rows.forms)), n]


# Which forms of a layer to turn.


def _turnings(reading: Reading) -> Iterator[NDArray[np.bool_]]:
    """Which forms to turn, the most promising choice first: no reader needs coordinates, or few directions do."""
    k, steps = len(reading.forms), Steps([], [], np.zeros(0, dtype=bool), np.zeros((0, reading.dim), dtype=object))
    turns, _, rest = _conditions(reading, steps)
    table, yielded = np.concatenate([turns, rest], axis=1), False
    for bits in itertools.islice(_binaries(table, k, reading.room), _TRIES):
        yield bits
        yielded = True
    if not yielded:
        yield from _fewest_directions(reading, steps)
        yield np.zeros(k, dtype=bool)


def _conditions(reading: Reading, steps: Steps) -> _Conditions:
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
        for q in complement(loose, n):
            turns.append(weights * forms[:, :n].dot(q))
            moves.append(weights[steps.owner] * moved.dot(q))
            rest.append([-(one[:n] * q).sum()])
    parts = ((turns, len(forms)), (moves, len(moved)), (rest, 1))
    first, second, third = (np.array(part, dtype=object).reshape(len(rest), width) for part, width in parts)
    return first, second, third


def _fewest_directions(reading: Reading, steps: Steps) -> list[NDArray[np.bool_]]:
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

    def __init__(self, reading: Reading, steps: Steps) -> None:
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


def _binaries(rows: Rationals, count: int, room: float) -> Iterator[NDArray[np.bool_]]:
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


# The network.


def _all(rows: LayerRows, turned: NDArray[np.bool_], weights: list[Rationals] | Rationals) -> Rationals:
    """Weights ``(a, b, c)`` as they are when forms are turned, one row each."""
    n, on = rows.dim, turned.astype(np.int64).astype(object)
    made = np.array(list(weights), dtype=object).reshape(len(weights), n + 1 + len(on))
    return np.concatenate([made[:, : n + 1] + (made[:, n + 1 :] * on).dot(rows.forms), made[:, n + 1 :]], axis=1)


def _for_readers(
    rows: LayerRows, turned: NDArray[np.bool_], u: list[Rationals], free: list[Rationals], after: Reading
) -> _Choice | None:
    """Free weights with which few coordinates are read past the next layer, and which of its neurons to turn then."""
    made, order = _all(rows, turned, u) * rows.units, _constant_last(rows)[:-1]
    steps = steps_of(rows, free)
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


def _past(after: Reading, steps: Steps, bits: NDArray[np.bool_]) -> Rationals:
    """What steps satisfy, as rows with a right-hand side, if some readers may read coordinates past the layer.

    A reader alone, with steps of its own, settles some of its free weights and its multiples of what readers before it
    need. What it does not settle is left open.
    """
    n = after.dim
    live = bits[steps.owner] != steps.on
    moved = steps.moved * (np.where(steps.on, -1, 1) * live).astype(object)[:, None]
    needed: list[tuple[Rationals, Rationals]] = []
    found = [np.zeros((0, len(live) + 1), dtype=object)]
    for one, basis in sorted(after.readers, key=lambda pair: len(pair[1])):
        own = after.slopes(bits, one)
        alone = np.concatenate([after.slopes(bits, basis), *(base[None] for base, _ in needed), moved, -own[None]]).T
        solved = solved_equations(alone, alone[:0], after.room, largest(own))
        if solved is None:
            needed.append((own, one[n + 1 :][steps.owner][:, None] * moved))
            continue
        one = one + solved[0][: len(basis)].dot(basis)
        left = reduced_rows(solved[1][:, : len(basis)].dot(basis))
        own, move = after.slopes(bits, one), one[n + 1 :][steps.owner][:, None] * moved
        for factor, (base, step) in zip(solved[0][len(basis) :], needed, strict=False):
            own, move = own + factor * base, move + factor * step
        unseen = (left[:, n + 1 :] != 0).any(axis=0)[steps.owner]
        across = complement(np.concatenate([after.slopes(bits, left), moved[unseen]]), n)
        found.append(np.column_stack([across.dot(move.T), -across.dot(own)]))
    return np.concatenate(found)


def _moved(
    rows: LayerRows, u: list[Rationals], steps: Steps, bits: NDArray[np.bool_], table: Rationals
) -> list[Rationals] | None:
    """Weights with multiples of steps added that satisfy these equations; None if none were found."""
    live = np.flatnonzero(bits[steps.owner] != steps.on)
    table = table[:, [*live, -1]]
    solved = solved_equations(table, table[:0], rows.found.room, largest(table))
    return None if solved is None else _added(rows, u, [(steps.owner[k], steps.weights[k]) for k in live], solved)


def _program(rows: LayerRows, u: list[Rationals], found: Steps, conditions: _Conditions) -> NDArray[np.bool_] | None:
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
        table = np.array([whole_row(steps[k]) for k in own], dtype=object)
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
    rows: LayerRows, u: list[Rationals], steps: list[tuple[int, Rationals]], solved: tuple[Rationals, Rationals]
) -> list[Rationals] | None:
    """Weights with multiples of `steps` added, of all that were solved for some with which neurons keep their signs."""
    one, basis = solved
    basis = basis if len(basis) <= FREE else basis[:0]
    tables, values = {}, []
    for j in {j for j, _ in steps}:
        own = [k for k, (i, _) in enumerate(steps) if i == j]
        w = np.array([steps[k][1] for k in own], dtype=object)
        table = np.concatenate([(u[j] + one[own].dot(w))[None], basis[:, own].dot(w)])
        places, side = rows.demands[j]
        scale = math.lcm(*(x.denominator for x in table.ravel()))
        values.append(rows.values[places].dot(whole_numbers(table * scale).T) * side.astype(object)[:, None])
        tables[j] = table
    y = nonnegative(np.concatenate(values)) if values else np.zeros(0, dtype=object)
    if y is None:
        return None
    return [u[j] if j not in tables else tables[j][0] + y.dot(tables[j][1:]) for j in range(len(u))]


def _assembled(rows: LayerRows, turned: NDArray[np.bool_], ends: _Ends, bits: NDArray[np.bool_]) -> Network:
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
    table = _AtCorners(inputs, found.cells.bodies.places)
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


class _AtCorners(AtomTable):
    """Atoms that are affine on cells: forms have the bounds that they have at corners and along rays."""

    def __init__(self, inputs: int, places: Rationals) -> None:
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

    def _values(self, form: Form) -> tuple[Rationals, Fraction]:
        """Integers at all places, and their unit."""
        factors = {key: value * self.at[key][1] for key, value in form.items()}
        scale = math.lcm(*(factor.denominator for factor in factors.values()))
        total = sum(int(factor * scale) * self.at[key][0] for key, factor in factors.items())
        return np.asarray(total), Fraction(1, scale)

    def _at_corners(self, value: Rationals) -> list[Fraction]:
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
        y = point_of(np.column_stack([-along, np.full(len(along), -1, dtype=object)])) if len(along) else None
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


def _sum(row: Rationals, forms: list[Form]) -> Form:
    """A sum of forms with factors."""
    total: Form = {}
    for factor, form in zip(row, forms, strict=True):
        total = combine(total, factor, form) if factor else total
    return total


_over = np.frompyfunc(Fraction, 2, 1)
