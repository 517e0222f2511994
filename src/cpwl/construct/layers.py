"""Pieces of a network with two hidden layers: the layers come back.

**Theorem.** Let cells cover the domain, each on one side of all hyperplanes ``h_i = 0``, with laws `f`. Let
``z_j = a_j x + b_j + sum_i c_ji s(h_i)`` have one sign at all corners and rays of each cell, ``S_j = 1`` where that is
positive, and let ``f - sum_j v_j S_j z_j = A x + B + sum_i d_i s(h_i)`` on all cells. Then the function is
``A x + B + sum_i d_i s(h_i) + sum_j v_j s(z_j)``. *Proof.* `z_j` is affine on a cell, so ``s(z_j) = S_j z_j`` there.

`cpwl.function.layers` proposes forms and neurons. Here free weights and signs are chosen, and the hypotheses are
checked in rationals before there is a plan. ``s(h) = s(-h) + h``: turning forms moves affine terms, and turned the
right way, no neuron of the second layer needs any. See docs/layers.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import lifted
from cpwl.construct.blocks.schedule import AtomTable, Form, Interval, combine, lowered
from cpwl.construct.plan import Least, Plan
from cpwl.errors import ConstructionError
from cpwl.exact.integers import sign
from cpwl.exact.rational import reduced_rows, solution, to_float
from cpwl.function import CPWL
from cpwl.function.domain import box_around
from cpwl.function.layers import MOST_PIECES, Layered, find_layers, sure_forms
from cpwl.geometry.bodies import stacked
from cpwl.geometry.probe import Probe
from cpwl.network import Network

_BITS = 14  # free signs of which all choices are tried
_TURNS = 24  # choices of turned neurons of the second layer that are carried through
_TRIES = 6  # choices of signs that are carried through

_FREE = 16  # weights of a neuron that nothing settles: more are those of no network, and their programs take minutes
_Rationals = NDArray[np.object_]


def plan(analysis: Analysis) -> Plan:
    """The plan of the network with two hidden layers whose pieces these are.

    Raises `ConstructionError` if no such network is found.

    >>> p = CPWL.from_maxmin([[1, 1, 0], [-1, 1, 0], [0, 0, 0]], [[0], [1], [2]])  # s(|x| + y)
    >>> made = plan(Analysis(p)).build()
    >>> (made([[3, -1], [-3, 1], [1, -5]]) == p([[3, -1], [-3, 1], [1, -5]])).all(), len(made.layers)
    (np.True_, 3)
    """
    exact = analysis.exact
    small = exact.essential.function
    network = _smallest(small)
    if small is not exact.function:
        network = lifted(exact.function, exact.divided.coordinates, network)
    return Plan.of("layers", network, analysis.sample.points)


def least(analysis: Analysis) -> Least | None:
    """At least one neuron for each hyperplane with two different jumps, and one in the second layer.

    >>> p = CPWL.from_maxmin([[1, 1, 0], [-1, 1, 0], [0, 0, 0]], [[0], [1], [2]])
    >>> least(Analysis(p)).neurons, plan(Analysis(p)).sizes.neurons
    (1, 6)
    """
    p = analysis.exact.essential.function
    if p.dim < 2 or p.num_pieces > MOST_PIECES:
        return None
    count = sure_forms(p)
    return Least(count + 1, f"{count} hyperplanes with two different jumps are in its first layer", 3)


def _smallest(p: CPWL) -> Network:
    """The smallest network of the first layers that are those of one."""
    for found in find_layers(p):
        made = min(
            _networks(found, box_around(p)), key=lambda made: (made.sizes.neurons, made.sizes.nonzeros), default=None
        )
        if made is not None:
            return made
    raise ConstructionError("no weights were found for which two hidden layers bend as this function does")


def _networks(found: Layered, box: Sequence[Interval] | None) -> Iterator[Network]:
    """Networks with signs of the first layer chosen in different ways; each satisfies the theorem."""
    rows = _Rows(found)
    for turned in _turnings(rows):
        weights = _weights(rows, turned)
        direct = None if weights is None else _direct(rows, weights[0])
        if weights is None or direct is None:  # other signs leave the same
            return
        u, free = weights
        yield _assembled(rows, turned, u, direct, box)
        other = _without_rest(rows, turned, u, free, direct)
        left = None if other is None else _direct(rows, other)
        if other is not None and left is not None:
            yield _assembled(rows, turned, other, left, box)


@dataclass(frozen=True, eq=False)  # without slots: `cached_property` keeps its values in the instance's dictionary
class _Rows:
    """What is linear in the weights ``(a, b, c)`` of a neuron: its values at places, and its forms on regions."""

    found: Layered

    @property
    def dim(self) -> int:
        return int(self.found.forms.shape[1]) - 1

    @cached_property
    def values(self) -> _Rationals:
        """``(places, n + 1 + k)``: coordinates, and the positive parts of all forms."""
        at = self.found.places.dot(self.found.forms.T)
        return np.concatenate([self.found.places, np.maximum(at, 0)], axis=1)

    @cached_property
    def solutions(self) -> list[tuple[_Rationals, _Rationals]]:
        """For each neuron one solution of its equations, and a basis of what may be added."""
        every = [solution(neuron.equations) for neuron in self.found.neurons]
        assert None not in every
        return [one for one in every if one is not None]

    @cached_property
    def bits(self) -> _Rationals:
        """``(regions, k)``: 1 where a form is positive."""
        return self.found.sides.astype(np.int64).astype(object)

    def forms_of(self, u: _Rationals) -> _Rationals:
        """``(regions, n + 1)``: the affine function that a neuron with these integer weights is on each region."""
        n = self.dim + 1
        return np.asarray(u[:n] + (self.bits * u[n:]).dot(self.found.forms))

    @cached_property
    def touching(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a region and a place of one of its cells, each once."""
        owner = np.repeat(self.found.region, np.diff(self.found.start))
        region, place = np.unique(np.stack([owner, self.found.member], axis=1), axis=0).T
        return region, place

    @cached_property
    def demands(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each neuron places, and the sign that it must have there (or 0): where it has no hinge."""
        return [self._demands(j) for j in range(len(self.found.neurons))]

    def _demands(self, j: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Regions without a hinge are on one side: that of their places on regions whose side is known."""
        regions, places = self.touching
        known = np.isin(np.arange(len(self.found.sides)), self.found.neurons[j].regions)
        at = np.zeros(len(self.found.places), dtype=np.int64)
        seen = np.unique(places[known[regions]])
        at[seen] = sign(_whole(self.values[seen], self.solutions[j][0]))
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
    scale = math.lcm(*(v.denominator for v in u))
    return np.asarray(rows.dot(np.array([int(v * scale) for v in u], dtype=object)))


# Signs of the first layer.


def _turnings(rows: _Rows) -> Iterator[NDArray[np.bool_]]:
    """Which forms to turn, the most promising choice first: no neuron needs affine terms, or few directions do."""
    n, forms = rows.dim, rows.found.forms
    k = len(forms)
    conditions = []
    for one, basis in rows.solutions:
        unseen = (basis[:, n + 1 :] != 0).any(axis=0)
        for q in _complement(forms[unseen, :n], n):
            slope = forms[:, :n].dot(q)
            conditions.append(np.append(np.where(unseen, 0, one[n + 1 :] * slope), -(one[:n] * q).sum()))
    table = np.array(conditions, dtype=object).reshape(len(conditions), k + 1)
    yielded = 0
    for bits in _binaries(table, k):
        yield bits
        yielded += 1
        if yielded == _TRIES:
            return
    if not yielded and k <= _BITS:
        yield from _fewest_directions(rows)
    if not yielded:
        yield np.zeros(k, dtype=bool)


def _fewest_directions(rows: _Rows) -> list[NDArray[np.bool_]]:
    """All choices whose affine terms, of neurons without free weights, span the fewest directions; floats propose."""
    n, forms = rows.dim, rows.found.forms
    seen = [one for one, basis in rows.solutions if not len(basis)]
    k = len(forms)
    if not seen or n < 2:
        return []
    choices = (np.arange(1 << k)[:, None] >> np.arange(k) & 1).astype(np.float64)
    slope = np.array([to_float(one[:n]) for one in seen])
    change = np.array([to_float(one[n + 1 :, None] * forms[:, :n]) for one in seen])
    size = np.abs(slope).max(axis=1) + np.abs(change).max(axis=(1, 2))
    left = (slope[None] + np.einsum("bk,rkn->brn", choices, change)) / size[None, :, None]
    values = np.linalg.svd(left, compute_uv=False)
    rank = (values > 1e-9).sum(axis=1)
    order = np.lexsort((values.sum(axis=1), rank))[:_TRIES]
    return [choices[b] > 0 for b in order if rank[b] < n]


def _complement(vectors: _Rationals, n: int) -> _Rationals:
    """A basis of what is orthogonal to all vectors."""
    rows = np.concatenate([vectors, np.zeros((len(vectors), 1), dtype=np.int64).astype(object)], axis=1)
    found = solution(reduced_rows(rows.reshape(len(vectors), n + 1)))
    assert found is not None
    return found[1]


def _binaries(rows: _Rationals, count: int) -> Iterator[NDArray[np.bool_]]:
    """Solutions in 0 and 1 of ``rows[:, :-1] x = rows[:, -1]``; of very many free bits only some are tried."""
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
    n, forms = rows.dim, rows.found.forms
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
            basis = reduced_rows(np.concatenate([basis, _affine(rows, turned, u[0])[None, :n]]))
        found[j] = u
    return [found[j][0] for j in range(len(found))], [found[j][1] for j in range(len(found))]


def _affine(rows: _Rows, turned: NDArray[np.bool_], u: _Rationals) -> _Rationals:
    """The affine part of ``(a, b, c)`` when some forms are turned: ``s(h) = s(-h) + h``."""
    n = rows.dim
    return np.asarray(u[: n + 1] + (u[n + 1 :] * turned.astype(np.int64).astype(object)).dot(rows.found.forms))


def _signed(rows: _Rows, j: int, conditions: _Rationals) -> tuple[_Rationals, _Rationals] | None:
    """Weights of a neuron that satisfy more equations and have its signs at all places, and what may be added."""
    solved = solution(reduced_rows(np.concatenate([rows.found.neurons[j].equations, conditions])))
    if solved is None:
        return None
    (one, basis), (places, side) = solved, rows.demands[j]
    if (_whole(rows.values[places], one) * side >= 0).all():
        return one, basis
    if len(basis) > _FREE:
        return None
    scale = math.lcm(*(v.denominator for v in one), *(v.denominator for v in basis.ravel()))
    table = _integers(np.concatenate([one[None], basis]) * scale)
    y = _nonnegative(rows.values[places].dot(table.T) * side.astype(object)[:, None])
    return None if y is None else (np.asarray(one + y.dot(basis)), basis)


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
    found = rows.found
    products = [neuron.v[:, None] * own for neuron, own in zip(found.neurons, u, strict=True)]
    scale = math.lcm(*(v.denominator for block in (found.laws, *products) for v in block.ravel()))
    rest = _integers(found.laws * scale)
    for own, product in zip(u, products, strict=True):
        at = sign(_whole(rows.values, own))[found.member]
        low, high = np.minimum.reduceat(at, found.start[:-1]), np.maximum.reduceat(at, found.start[:-1])
        if ((low < 0) & (high > 0)).any():
            return None
        on = np.flatnonzero(high > 0)
        for o, weights in enumerate(_integers(product * scale)):
            rest[on, o] -= rows.forms_of(weights)[found.region[on]]
    left = rest[np.unique(found.region, return_index=True)[1]]
    if (rest != left[found.region]).any():
        return None
    direct = _of_first_layer(rows, left)
    holds = all((left[:, o] == rows.forms_of(own)).all() for o, own in enumerate(direct))
    return direct / Fraction(scale) if holds else None


def _of_first_layer(rows: _Rows, left: _Rationals) -> _Rationals:
    """``(A, B, d)`` from regions that differ in one form each."""
    found = rows.found
    number = {tuple(side): r for r, side in enumerate(found.sides.tolist())}
    d = np.zeros((left.shape[1], len(found.forms)), dtype=object)
    for i in range(len(found.forms)):
        c = int(np.argmax(found.forms[i] != 0))
        for side, r in number.items():
            other = number.get((*side[:i], not side[i], *side[i + 1 :])) if side[i] else None
            if other is not None:
                d[:, i] = _over(left[r, :, c] - left[other, :, c], found.forms[i, c])
                break
    return np.concatenate([left[0] - (d * rows.bits[0]).dot(found.forms), d], axis=1)


# The network.


def _all(rows: _Rows, turned: NDArray[np.bool_], weights: list[_Rationals] | _Rationals) -> _Rationals:
    """Weights ``(a, b, c)`` as they are when forms are turned, one row each."""
    n = rows.dim
    made = [np.concatenate([_affine(rows, turned, own), own[n + 1 :]]) for own in weights]
    return np.array(made, dtype=object).reshape(len(made), n + 1 + len(turned))


def _without_rest(
    rows: _Rows, turned: NDArray[np.bool_], u: list[_Rationals], free: list[_Rationals], direct: _Rationals
) -> list[_Rationals] | None:
    """Free weights with which turned neurons of the second layer leave nothing direct; None if none were found.

    Let `w` be what may be added to `z_j`; it is 0 but for places where `z_j` has one sign, `S` = 0 or 1. Turned (t = 1)
    or not (t = 0), the direct part changes by ``(t - S) v_j w``. Where no `w` matters, `t` solves equations of its own.
    """
    n, found = rows.dim, rows.found
    v = np.array([neuron.v for neuron in found.neurons], dtype=object).reshape(len(u), found.laws.shape[1])
    second, rest = _all(rows, turned, u), _all(rows, turned, direct)
    steps: list[tuple[int, _Rationals, int]] = []
    for j, basis in enumerate(free):
        places, side = rows.demands[j]
        for w in basis:
            signs = set(side[np.asarray(_whole(rows.values[places], w) != 0, dtype=bool)].tolist())
            if len(signs) == 1:
                steps.append((j, w, int(signs.pop() > 0)))
    if not steps:
        return None
    moved = _all(rows, turned, [w for _, w, _ in steps])
    columns = np.array([i for i in range(rest.shape[1]) if i != n])
    seen = columns[(moved[:, columns] == 0).all(axis=0)]
    conditions = [np.column_stack([(v[:, o, None] * second[:, seen]).T, -rest[o, seen]]) for o in range(len(rest))]
    for bits in itertools.islice(_binaries(np.concatenate(conditions), len(u)), _TURNS):
        live = [k for k, (j, _, on) in enumerate(steps) if bits[j] != on]
        change = np.array([v[steps[k][0]] * (-1 if steps[k][2] else 1) for k in live], dtype=object)
        left = rest + v[bits].T.dot(second[bits])
        equations = [
            np.column_stack([(change[:, o, None] * moved[live][:, columns]).T, -left[o, columns]])
            if live
            else -left[o, columns, None]
            for o in range(len(rest))
        ]
        solved = solution(reduced_rows(np.concatenate(equations)))
        if solved is None:
            continue
        step = _added(rows, u, [(steps[k][0], steps[k][1]) for k in live], solved)
        if step is not None:
            return step
    return None


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


def _assembled(
    rows: _Rows,
    turned: NDArray[np.bool_],
    u: list[_Rationals],
    direct: _Rationals,
    box: Sequence[Interval] | None,
) -> Network:
    """Turned forms; neurons, turned where that leaves nothing direct, and the rest; what they need is carried."""
    n, found = rows.dim, rows.found
    v = np.array([neuron.v for neuron in found.neurons], dtype=object).reshape(len(u), found.laws.shape[1])
    second, rest = _all(rows, turned, u), _all(rows, turned, direct)
    columns = [i for i in range(rest.shape[1]) if i != n]
    conditions = np.concatenate(
        [np.column_stack([(v[:, o, None] * second[:, columns]).T, -rest[o, columns]]) for o in range(len(rest))]
    )
    bits = next(_binaries(conditions, len(u)), None) if len(u) else None
    if bits is not None:
        rest = rest + v[bits].T.dot(second[bits])
        second[bits] = -second[bits]
    forms = found.forms * np.where(turned, -1, 1).astype(object)[:, None]
    table = AtomTable(n, box)
    first = [table.relu(_form(form)) for form in forms]
    outputs = [_sum(row, first) for row in rest]
    for row, weights in zip(second, v, strict=True):
        made = table.relu(_sum(row, first))
        outputs = [combine(one, weight, made) for one, weight in zip(outputs, weights, strict=True)]
    lowering = lowered(table, outputs)
    assert lowering is not None
    return lowering.network()


def _form(row: _Rationals) -> Form:
    return {j: Fraction(x) for j, x in enumerate(row) if x}


def _sum(row: _Rationals, first: list[Form]) -> Form:
    """``a x + b + sum_i c_i s(h_i)`` for a row ``(a, b, c)``."""
    n = len(row) - len(first)
    total = _form(row[:n])
    for factor, form in zip(row[n:], first, strict=True):
        total = combine(total, factor, form)
    return total


def _integers(values: Any) -> _Rationals:
    return np.asarray(np.frompyfunc(int, 1, 1)(values))


_over = np.frompyfunc(Fraction, 2, 1)
