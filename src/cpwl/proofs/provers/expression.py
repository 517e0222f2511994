"""Reads an expression of maxima and minima off the weights of a network, and proves that it is the function.

What each neuron reads is written in inputs and atoms, ReLUs of such forms. A maximum is ``u + s(v - u)``: so in the
form of a value the atom that was made last says which maximum or minimum it is, and of what. Neurons that only carry
a value past a layer are at least 0 wherever they are looked at. Nothing here is trusted: the stand-alone checker does
the same with proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import integer_rows, primitive
from cpwl.exact.rational import text
from cpwl.exact.sparse import RationalMatrix, Span
from cpwl.function import CPWL
from cpwl.function.lineality import divided
from cpwl.function.order import order_components, value_tolerance
from cpwl.network import Network
from cpwl.progress import Progress
from cpwl.proofs.entries import Entry, NoProof, NotRecognised, Prover, counted_rows
from cpwl.proofs.question import Proposal, Question, proof_head
from cpwl_check.expression import Circuit, read_values, total
from cpwl_check.pieces import plus

Form = dict[int, Fraction | int]
Table = NDArray[np.object_]
_TRIES = 20_000  # atoms to try as the last one, over all forms
_FIRST = 500  # of these until the first value is found: 133 networks of the catalogue had it within 8
_ROUNDS = 20  # of reading the network
_DEEPEST = 64  # cuts that led to one region
_BLOCK = 256  # pieces whose members are looked for together
_SPANNED = 3  # inputs up to which the corners of a piece are few


def propose_expression(question: Question) -> Iterator[Proposal]:
    """The expression of a network of maxima and minima, and trees that show it to be the function.

    The bound is 0 for exact data. Raises `NotRecognised` for other networks, and `Shortfall`.
    """
    p, box = question.p, question.box
    tables = question.tables if question.meant is None else question.meant
    try:
        number, reader, outputs = _recognised(question, tables)
    except NotRecognised:
        if question.meant is None:
            raise
        tables = question.tables
        number, reader, outputs = _recognised(question, tables)
    whole = _Whole(p, question.progress)
    claims = [_Claim(whole, o, tables[o], number, reader.values, outputs[o]) for o in range(p.outputs)]
    below, reach = ([claim.trees(side) for claim in claims] for side in (1, -1))
    document = {
        **proof_head("expression", p.dim, whole.shortfall),
        "components": [[text(Fraction(v)) for v in law] for law in number],
        "values": [[kind, u, v] for kind, u, v in reader.values],
        "output": outputs,
        "box": None if box is None else box.document(),
        "below": below,
        "reach": reach,
    }
    yield Proposal(whole.shortfall, document)


def _recognised(question: Question, tables: list[Table]) -> tuple[dict[tuple[Any, ...], int], _Reader, list[int]]:
    """The numbers of the components, the values of the network in terms of them, and which are the outputs."""
    p, box = question.p, question.box
    number = _numbers(tables)
    ends = None if box is None else list(zip(box.low, box.high, strict=True))
    layers = question.layers
    try:
        reader, outputs = _read(layers, number, ends, question.always_on, p.dim)
    except NotRecognised:  # values that are carried by two neurons of opposite signs need not be on anywhere
        reader, outputs = _read(layers, number, ends, [np.zeros_like(on) for on in question.always_on], p.dim)
    return number, reader, outputs


def restored(question: Question) -> Network:
    """The exact network that a rounded one was made from, as far as can be guessed."""
    return restore(question.layers, question.always_on, list(_numbers(question.tables)), question.p.dim)


def _numbers(tables: list[Table]) -> dict[tuple[Any, ...], int]:
    """The components of all outputs, each once."""
    number: dict[tuple[Any, ...], int] = {}
    for table in tables:
        for row in table:
            number.setdefault(tuple(row), len(number))
    return number


class _Reader:
    """Neurons as forms, and forms as values: ``(kind, part, part)``, numbered after the components."""

    def __init__(self, number: dict[tuple[Any, ...], int], ends: Any, dim: int) -> None:
        self.circuit = Circuit(dim, ends)
        self.dim = dim
        self.values: list[tuple[str, int, int]] = []
        self.count = len(number)
        leaves = ({i: v for i, v in enumerate(law) if v} for law in number)
        self._known: dict[frozenset[Any], int | None] = {_key(form): m for m, form in enumerate(leaves)}
        self._layer: dict[int, int] = {}
        self._tries = _TRIES

    def trace(self, layers: list[list[Form]], on: list[NDArray[np.bool_]]) -> list[Form]:
        """The outputs as forms, with neurons that are always on taken for what they read."""
        neurons: list[Form] = [{i: 1} for i in range(self.dim)]
        for number, layer in enumerate(layers):
            neurons = [*neurons, {self.dim: 1}]
            reads = [total(weights, neurons) for weights in layer]
            if max(map(len, reads)) > 2 * len(layers) + self.dim + 1:
                raise NotRecognised("a neuron reads more than a difference of two values")
            if number == len(layers) - 1:
                return reads
            neurons = [
                self._relu(z, w, number, bool(on[number][i])) for i, (z, w) in enumerate(zip(reads, layer, strict=True))
            ]
            for atom in self.circuit.atoms.values():
                self._layer.setdefault(atom, number)
        raise AssertionError("a network has a layer")

    def _relu(self, form: Form, weights: Form, layer: int, on: bool) -> Form:
        """As the checker has it, but for neurons that are on as far as is known."""
        if on or (layer > 0 and min(weights.values(), default=0) >= 0):
            return form
        return {} if layer > 0 and max(weights.values()) <= 0 else self.circuit.relu(form)

    def value(self, form: Form) -> int:
        """The number of the value with this form."""
        self._names = {atom: name for name, atom in self.circuit.atoms.items()}
        found = self._value(form)
        if found is None:
            raise NotRecognised("the network is not a max-min expression of the components")
        return found

    def _value(self, form: Form) -> int | None:
        key = _key(form)
        if key not in self._known:
            self._known[key] = None  # until it is found
            self._known[key] = next(self._splits(form), None)
        return self._known[key]

    def _splits(self, form: Form) -> Iterator[int]:
        """Ways to write the form as a maximum or minimum of two values, the last atom first."""
        atoms = sorted((i for i in form if i > self.dim), key=lambda i: -self._layer[i - self.dim - 1])
        for i in atoms:
            self._tries -= 1
            if self._tries < (0 if self.values else _TRIES - _FIRST):
                return
            c = form[i]
            atom: Form = {i: 1}
            one = plus(form, -c, atom)
            step = dict(self._names[i - self.dim - 1])
            two = plus(one, c, step)  # u + c s(z) = max(u, u + c z) for c > 0, min for c < 0
            u = self._value(one)
            v = None if u is None else self._value(two)
            if u is not None and v is not None:
                self.values.append(("max" if c > 0 else "min", u, v))
                yield self.count + len(self.values) - 1


def _key(form: Form) -> frozenset[Any]:
    return frozenset(form.items())


def _read(
    layers: list[list[Form]], number: dict[tuple[Any, ...], int], ends: Any, on: list[NDArray[np.bool_]], dim: int
) -> tuple[_Reader, list[int]]:
    """The values of the network and the number of each output, as the checker will find them.

    A step that happens to be on wherever it was looked at was taken for a carrier: then it is read once more as a step.
    """
    for _ in range(_ROUNDS):
        reader = _Reader(number, ends, dim)
        outputs = [reader.value(form) for form in reader.trace(layers, on)]
        circuit = Circuit(dim, ends)
        components = [list(law) for law in number]
        values = read_values(components, [list(v) for v in reader.values], circuit)
        forms, steps = _trace(layers, circuit, on)
        if all(not plus(form, -1, values[k].form) for form, k in zip(forms, outputs, strict=True)):
            return reader, outputs
        if not steps:
            break
        lowest = steps[0][0]  # what is above may be wrong only because of these
        on[lowest][[i for layer, i in steps if layer == lowest]] = False
    raise NotRecognised("a neuron is not shown to carry a value on the domain")


def _trace(
    layers: list[list[Form]], circuit: Circuit, on: list[NDArray[np.bool_]]
) -> tuple[list[Form], list[tuple[int, int]]]:
    """The outputs as the checker finds them, and the neurons that were taken for carriers and are not shown to be."""
    steps = []
    neurons: list[Form] = [{i: 1} for i in range(circuit.n)]
    for number, layer in enumerate(layers):
        neurons = [*neurons, {circuit.n: 1}]
        reads = [total(weights, neurons) for weights in layer]
        if number == len(layers) - 1:
            break
        neurons = [circuit.relu(z, w if number else None) for z, w in zip(reads, layer, strict=True)]
        steps += [(number, i) for i, z in enumerate(reads) if on[number][i] and neurons[i] != z]
    return reads, steps


class Shortfall(NoProof):
    """The expression is not the function: no proof of another kind will do."""

    def __init__(self, message: str, points: list[Any]) -> None:
        super().__init__(message, points, settles=True)


class _Whole:
    """What the claims of all outputs share; the error `shortfall` that they need."""

    def __init__(self, p: CPWL, progress: Progress | None) -> None:
        self.full, self.progress = p, progress
        self.small = divided(p)
        self.p = self.small.function
        self.shortfall = Fraction(0)
        self.prover = Prover()
        # Rows keep the scale that they have on all coordinates, which is that of the checker.
        self.columns = np.append(self.small.coordinates, p.dim)
        self.rows = [rows[:, self.columns] for rows in counted_rows(p)]
        self.own_rows = None if self.p.mesh is None else p.dim + 1


class _Claim:
    """The trees that prove the expression of one output to be at most, or at least, the function."""

    def __init__(
        self,
        whole: _Whole,
        o: int,
        table: Table,
        number: dict[tuple[Any, ...], int],
        values: list[tuple[str, int, int]],
        output: int,
    ) -> None:
        self.whole, self.p = whole, whole.p
        self.order = order_components(self.p, o)
        # What is exact needs no float view.
        full = integer_rows(np.zeros(0), np.column_stack([table, np.ones(len(table), dtype=object)]))
        self.components = full[:, np.append(whole.columns, whole.full.dim + 1)]
        self.own = self.p.laws.integer()[:, o]
        self.full = full, whole.full.laws.integer()[:, o]
        self.slack = value_tolerance(self.p)
        self.spanned = whole.full.tol == 0 and self.p.mesh is None and self.p.dim <= _SPANNED
        self._kept: dict[tuple[int, int, int], Entry] = {}
        self.values, self.output, self.count = values, output, len(number)
        self.own_number = {m: number[tuple(row)] for m, row in enumerate(table)}
        self.own_rows = np.array(list(self.own_number.values()), dtype=np.int64)

    def trees(self, side: int) -> list[dict[str, Any]]:
        """One tree a piece: members below the function (side 1) or above it (side -1)."""
        known = self.order.below if side > 0 else self.order.above
        found = []
        for j, members in enumerate(self._settling_each(side, known)):
            if members is None:
                found.append(self._region(j, side, self.whole.rows[j], 0, known[j]))
            elif self.spanned and len(members) > 2 * len(self.whole.rows[j]):  # the order is exact, and corners are few
                found.append({"corners": [self.own_number[m] for m in members]})
            else:
                place = f"the expression is not {_word(side)} the function on piece {j}"
                stated = self._stated(j, members, side)
                entries = {m: stated.get(m) or self._accept(self._entry(j, m, side), place) for m in members}
                found.append(self._leaf_of(entries))
            if self.whole.progress is not None:
                self.whole.progress(j + 1, self.p.num_pieces, "proving")
        return found

    def _leaf_of(self, entries: dict[int, Any]) -> dict[str, Any]:
        document = {str(self.own_number[m]): e.document(self.whole.own_rows) for m, e in entries.items()}
        return {"members": document}

    def _settling_each(self, side: int, known: NDArray[np.bool_]) -> Iterator[list[int] | None]:
        """For each piece few of its members that settle the expression together; None where they do not."""
        for first in range(0, len(known), _BLOCK):
            some = known[first : first + _BLOCK].T
            yield from self._settling(side, np.where(some, 1.0, np.inf))

    def _settling(self, side: int, price: NDArray[np.float64]) -> list[list[int] | None]:
        """For each column of prices, one a member, few members that settle the expression together, cheap ones first.

        Bottom up what it costs to settle a value, top down by which members it is done: of a maximum that is to be true
        one of the two is enough, and the cheaper one is taken.
        """
        cost = np.full((self.count + len(self.values), price.shape[1]), np.inf)
        cost[self.own_rows] = price
        for k, (kind, u, v) in enumerate(self.values, self.count):
            if (kind == "max") == (side < 0):  # one of the two is enough
                np.minimum(cost[u], cost[v], out=cost[k])
            else:
                np.add(cost[u], cost[v], out=cost[k])
        found = np.isfinite(cost[self.output])
        return [self._taken(side, cost[:, j]) if found[j] else None for j in range(price.shape[1])]

    def _taken(self, side: int, cost: NDArray[np.float64]) -> list[int]:
        """The members by which the output is settled."""
        todo, seen = [self.output], {self.output}
        while todo:
            k = todo.pop()
            if k < self.count:
                continue
            kind, u, v = self.values[k - self.count]
            both = (u, v) if (kind == "max") != (side < 0) else (u if cost[u] <= cost[v] else v,)
            todo += [part for part in both if part not in seen]
            seen.update(both)
        return [m for m, number in self.own_number.items() if number in seen]

    def _difference(self, j: int, m: int, side: int) -> Table:
        """``side (p_j - f_m)`` as integers ``(g, o, d)``."""
        return _less(self.own[j], self.components[m], side)

    def _cut(self, j: int, m: int) -> Table:
        """``p_j <= f_m`` as a row on all coordinates, without a common divisor, as the checker scales it."""
        components, own = self.full
        law = _less(own[j], components[m], -1)
        return np.asarray(primitive(np.append(-law[:-2], law[-2])[None])[0])

    def _sides(self, rows: Table, cut: Table) -> list[Table]:
        """A region with the cut, and with its opposite."""
        return [np.concatenate([rows, c[None, self.whole.columns]]) for c in (cut, -cut)]

    def _stated(self, j: int, members: list[int], side: int) -> dict[int, Entry]:
        """Entries of those for which a row of piece `j` says it, as on the pieces of a maximum, and of its law."""
        if self.p.mesh is not None or not members:
            return {}
        rows, found = self.whole.rows[j], dict[int, Entry]()
        number = {tuple(row): r for r, row in enumerate(primitive(rows).tolist())}
        laws = np.array([self._difference(j, m, side) for m in members], dtype=object)
        for m, law, row in zip(members, laws, primitive(np.column_stack([-laws[:, :-2], laws[:, -2]])), strict=True):
            r = number.get(tuple(row))
            if not law[:-1].any():
                found[m] = Entry({}, Fraction(0))
            elif r is not None and row[:-1].any():
                i = int(np.flatnonzero(row)[0])
                found[m] = Entry({r: Fraction(-law[i], law[-1] * rows[r][i])}, Fraction(0))
        return found

    def _entry(self, j: int, m: int, side: int) -> Entry:
        """``side (p_j - f_m)`` from below on the whole piece `j`."""
        key = (j, m, side)
        if key not in self._kept:
            if self.p.mesh is not None:  # decided at the corners, exactly, by the order of components
                known = self.order.below[j, m] if side > 0 else self.order.above[j, m]
                self._kept[key] = Entry({}, Fraction(0) if known else None)
            else:
                self.whole.prover.load(self.whole.rows[j])
                self._kept[key] = self.whole.prover.least(self._difference(j, m, side))
        return self._kept[key]

    def _accept(self, entry: Entry, message: str) -> Entry:
        """An entry whose shortfall is within the tolerance of the data; exact data has none."""
        if entry.empty:
            return entry
        if entry.t is None or -entry.t > 100 * self.slack:
            raise Shortfall(message, self._witnesses(entry))
        self.whole.shortfall = max(self.whole.shortfall, -entry.t)
        return entry

    def _witnesses(self, entry: Entry) -> list[Any]:
        if entry.point is None:
            return []
        x = np.array(entry.point, dtype=object)
        points = [x] if entry.ray is None else [x + k * np.array(entry.ray, dtype=object) for k in (0, 1, 1000)]
        return [self.whole.small.lift(point) for point in points]

    def _inner_point(self, rows: Table) -> Table | None:
        """A point of the region, inside it if it has an interior; None if it is empty."""
        wide = np.column_stack([rows[:, :-1], np.abs(rows[:, :-1]).sum(axis=1), rows[:, -1]])
        cap = np.array([[0] * self.p.dim + [1, 1]], dtype=object)
        self.whole.prover.load(np.concatenate([wide, cap]))
        goal = np.array([0] * self.p.dim + [-1, 0, 1], dtype=object)
        found = self.whole.prover.least(goal)
        return None if found.empty or found.point is None else np.array(found.point[:-1], dtype=object)

    def _region(self, j: int, side: int, rows: Table, depth: int, known: NDArray[np.bool_]) -> dict[str, Any]:
        """A leaf if members that settle it at a point do so on the whole region; else a cut along one that does not."""
        if depth > _DEEPEST:
            raise Shortfall(f"piece {j} needs too many cuts", [])
        inner = self._inner_point(rows)
        price = np.ones((len(self.components), 1))
        if inner is not None:
            right = self._is_right(j, side, inner)
            price[:, 0] = np.where(right, np.where(known, 1.0, 1001.0), np.inf)
        (members,) = self._settling(side, price)
        if members is None:
            points = [] if inner is None else [self.whole.small.lift(inner)]
            raise Shortfall(f"the expression is not {_word(side)} the function on piece {j}", points)
        entries = {}
        for m in members:
            self.whole.prover.load(rows)
            entry = self.whole.prover.least(self._difference(j, m, side))
            if not entry.empty and (entry.t is None or -entry.t > 100 * self.slack):
                cut = self._cut(j, m)
                below, above = (self._region(j, side, part, depth + 1, known) for part in self._sides(rows, cut))
                return {"cut": [int(v) for v in cut], "below": below, "above": above}
            entries[m] = self._accept(entry, "")
        return self._leaf_of(entries)

    def _is_right(self, j: int, side: int, x: Table) -> NDArray[np.bool_]:
        """Which components are on that side of the law of piece `j` at a point, but for the tolerance of the data."""
        place = [Fraction(v) for v in x]
        w = math.lcm(*(v.denominator for v in place))
        at = np.array([int(v * w) for v in place] + [w], dtype=object)
        own = self.own[j]
        values = self.components[:, :-1].dot(at) * own[-1] - own[:-1].dot(at) * self.components[:, -1]
        least = Fraction(-100 * self.slack) * w * int(own[-1])  # in units of 1 / (w d e)
        return np.asarray(-side * values * least.denominator >= least.numerator * self.components[:, -1], dtype=bool)


def _less(f: Table, g: Table, side: int) -> Table:
    """``side (f - g)`` for laws as integers ``(gradient, offset, denominator)``."""
    top = side * (f[:-1] * g[-1] - g[:-1] * f[-1])
    return np.append(top, f[-1] * g[-1])


def _word(side: int) -> str:
    return "at most" if side > 0 else "at least"


# The exact network that a network of rounded weights was made from, where it computes maxima and minima.
#
# Layer by layer every neuron is written in inputs and atoms, and what it reads is moved to the nearest thing that it
# can mean: a difference of two components, a component that is carried, an input; atoms with simple factors. Weights
# that make exactly that out of the neurons below are then unique where those are independent. Nothing here is
# trusted: what comes out is a network with a proof of its own, and how far the rounded one is from it is measured.


_NEAR = 1e-4  # relative: what counts as rounding
_GUESSES = 8  # that are nearest
_PAIRS = 2_000_000  # differences of components that are looked at


def restore(
    layers: list[list[Form]], on: list[NDArray[np.bool_]], components: Sequence[tuple[Any, ...]], dim: int
) -> Network:
    """The exact network, if there is one to be guessed; `on` says which neurons are always on, a guess too."""
    meanings = _Meanings(components, dim)
    neurons: list[Form] = [{i: 1} for i in range(dim)]
    exact = []
    for number, layer in enumerate(layers):
        last = number == len(layers) - 1
        below: list[Form] = [*neurons, {dim: 1}]
        rows: list[Form] = []
        reads: list[Form] = []
        for i, weights in enumerate(layer):
            rough = total(weights, below)
            carries = not last and bool(on[number][i] or (number > 0 and min(weights.values(), default=0) >= 0))
            row, meant = _first_solved(weights, below, meanings.nearest(rough, carries, last))
            rows.append(row)
            off = not last and number > 0 and max(weights.values(), default=0) <= 0
            reads.append({} if off else meant if carries or last else meanings.relu(meant))
        exact.append((rows, len(neurons)))
        neurons = reads
    return Network([_matrix(rows, width) for rows, width in exact])


class _Meanings:
    """What a neuron can mean, and the atoms found so far, each with the form that it was made of."""

    def __init__(self, components: Sequence[tuple[Any, ...]], dim: int) -> None:
        if len(components) ** 2 > _PAIRS:
            raise NotRecognised("there are too many components to guess what rounded weights mean")
        self.components, self.dim = components, dim
        table = np.array([[float(v) for v in law] for law in components])
        self.size = np.maximum(np.abs(table).max(axis=0), 1e-300)
        pairs = (table[:, None] - table[None]).reshape(-1, dim + 1)
        self.table = np.concatenate([table, -table, pairs])
        self.wide = np.concatenate([self.table, self.table * (np.arange(dim + 1) < dim)])  # and all without constants
        self._atoms: dict[tuple[Any, ...], tuple[int, Fraction]] = {}

    def nearest(self, rough: Form, carries: bool, last: bool) -> Iterator[Form]:
        """Forms that may be meant by one whose numbers were rounded, the nearest first."""
        atoms: Form = {}
        for key, value in rough.items():
            if key > self.dim:
                near = (Fraction(value).limit_denominator(d) for d in (1, 10, 100))
                factor = next((f for f in near if abs(float(value - f)) <= _NEAR / 10), None)
                if factor is None:
                    raise NotRecognised("an atom is read with a factor that nothing explains")
                if factor:
                    atoms[key] = factor
        affine = {key: value for key, value in rough.items() if key <= self.dim}
        if not atoms and not last:
            yield from self._input(affine, carries)
        yield from ({**law, **atoms} for law in self._affine(affine, carries, last))

    def _input(self, affine: Form, carries: bool) -> Iterator[Form]:
        """An input or its negative, if that is what is read; with a constant if it is carried by one neuron."""
        large = [key for key, value in affine.items() if key < self.dim and abs(float(value)) > _NEAR]
        constant = affine.get(self.dim, 0)
        is_unit = len(large) == 1 and abs(abs(float(affine[large[0]])) - 1) <= _NEAR
        if is_unit and (carries or abs(float(constant)) <= _NEAR * min(1.0, self.size[-1])):
            sign = 1 if affine[large[0]] > 0 else -1
            yield {large[0]: sign, **({self.dim: constant} if carries and constant else {})}

    def _affine(self, affine: Form, carries: bool, last: bool) -> Iterator[Form]:
        """The nearest component (of an output), difference of two (of a step), or either of them up to a constant."""
        k = len(self.components)
        given = np.array([float(affine.get(i, 0)) for i in range(self.dim + 1)])
        table = self.table[:k] if last else self.table if carries else self.wide
        apart = np.abs(table - given) / np.maximum(self.size, np.abs(given))
        if carries:
            # Any constant may have been added; that only atoms are carried is the last guess.
            apart[:, -1] = ~table.any(axis=1) * 1e-12
        far = apart.max(axis=1) + 1e-6 * apart.sum(axis=1)
        far[len(self.table) :] += 1e-6  # a constant that is left out is the later guess
        order = np.argsort(far, kind="stable")[:_GUESSES]
        for best in order[apart[order].max(axis=1) <= _NEAR].tolist():
            law = self._law(best % len(self.table))
            if carries or best >= len(self.table):
                law.pop(self.dim, None)
            if carries and affine.get(self.dim):
                law[self.dim] = affine[self.dim]
            yield law

    def _law(self, number: int) -> Form:
        """A row of the table, exactly."""
        k = len(self.components)
        if number < 2 * k:
            sign = 1 if number < k else -1
            return {i: sign * v for i, v in enumerate(self.components[number % k]) if v}
        a, b = (self.components[m] for m in divmod(number - 2 * k, k))
        return {i: v - w for i, (v, w) in enumerate(zip(a, b, strict=True)) if v != w}

    def relu(self, form: Form) -> Form:
        """The ReLU of a form: an atom, counted in units of the form that it was first made of."""
        keys = sorted(key for key in form if key != self.dim)
        if not keys:
            constant = form.get(self.dim, 0)
            return {self.dim: constant} if constant > 0 else {}
        lead = Fraction(form[keys[0]])
        name = tuple((key, form[key] / lead) for key in sorted(form))
        atom, unit = self._atoms.setdefault(name, (len(self._atoms), lead))
        step: Form = {self.dim + 1 + atom: abs(lead / unit)}
        return step if (lead > 0) == (unit > 0) else plus(form, 1, step)


def _first_solved(weights: Form, below: list[Form], guesses: Iterator[Form]) -> tuple[Form, Form]:
    """The first guess that the neurons below can make, and the weights with which they do."""
    for meant in guesses:
        row = _solve(weights, below, meant)
        if row is not None:
            return row, meant
    raise NotRecognised("a neuron reads nothing that the components explain")


def _solve(weights: Form, below: list[Form], meant: Form) -> Form | None:
    """Weights near the given ones with which the neurons below make exactly what is meant."""
    bias = len(below) - 1
    span, chosen, rest = Span(), [], dict(meant)
    for j in [*(j for j in sorted(weights) if j != bias), bias]:
        if span.insert({key: Fraction(value) for key, value in below[j].items()}):
            chosen.append(j)
        else:
            rest = plus(rest, -weights.get(j, 0), below[j])  # it depends on others: left as it is
    found = span.express({key: Fraction(value) for key, value in rest.items()})
    if found is None:
        return None
    kept = {j: w for j, w in weights.items() if j not in chosen}
    return {**kept, **{chosen[k]: w for k, w in found.items()}}


def _matrix(rows: list[Form], width: int) -> tuple[RationalMatrix, NDArray[np.object_]]:
    """Weights and biases of a layer."""
    entries = [(i, j, Fraction(w)) for i, row in enumerate(rows) for j, w in sorted(row.items()) if j < width]
    where = np.array([(i, j) for i, j, _ in entries], dtype=np.int64).reshape(-1, 2)
    data = np.array([w for _, _, w in entries], dtype=object)
    bias = np.array([Fraction(row.get(width, 0)) for row in rows], dtype=object)
    return RationalMatrix.from_triples(where[:, 0], where[:, 1], data, (len(rows), width)), bias
