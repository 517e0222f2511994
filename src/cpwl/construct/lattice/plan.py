"""The lattice of all outputs: shared, or plain where sharing would be deep or would cancel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import max_of_mins, outputs_together
from cpwl.construct.lattice.separate import (
    Affine,
    Extremum,
    Formula,
    Kind,
    Value,
    arrange,
    contenders,
    max_min_rows,
)
from cpwl.construct.lattice.sides import Sides, find_sides
from cpwl.construct.plan import Least, Plan
from cpwl.construct.select import Candidate, measured_error, select
from cpwl.errors import CpwlError
from cpwl.exact.sparse import Span
from cpwl.function import CPWL
from cpwl.function.order import Order
from cpwl.function.snap.snap import meant_components
from cpwl.network import Network
from cpwl.network.program import Row, chained

# From values to a plain network: which atom in which layer, and what has to be carried past it.
#
# Every atom goes into the last layer that its readers leave it. What later layers need of atoms made before a layer,
# and of the inputs, has to pass it: a set of forms, constants aside. It is enough to carry a basis of their span. So
# all affine functions together take as many carriers as there are inputs, a sum of finished terms takes one, and what
# is needed only as a difference is carried as one.
#
# A carrier is one neuron where its form has a sign: on a bounded domain every form has, after adding a constant;
# elsewhere those with no input and atoms of one sign. Other forms take two neurons, or one if the layer has an atom of
# the form (its partner: ``z = s(z) - s(-z)``).


# Values written in inputs and atoms: every maximum and minimum is an affine combination of ReLUs.
#
# An *atom* is the ReLU of a form, and a *form* is a sum of inputs, a constant and atoms, with factors:
# ``max(u, v) = u + s(v - u)`` and ``min(u, v) = u - s(u - v)``. Forms are equal as numbers or not at all; ReLUs of
# proportional forms are one atom, of opposite ones too, since ``s(-z) = s(z) - z``. So what expressions have in common
# is
# made once, whatever they look like.


Form = dict[int, Fraction]  # keys: inputs 0 .. n - 1, the constant n, then atoms n + 1 + a; no zeros
Interval = tuple[Fraction, Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A value's form, and what it is the maximum or minimum of; nothing where it is affine or a sum."""

    form: Form
    kind: Kind | None = None
    parts: tuple[Made, ...] = ()


def combine(one: Form, factor: Fraction | int, two: Form) -> Form:
    """``one + factor * two``."""
    total = dict(one)
    for key, value in two.items():
        changed = total.get(key, 0) + factor * value
        if changed:
            total[key] = Fraction(changed)
        else:
            total.pop(key, None)
    return total


def residual(form: Form, inputs: int) -> Form:
    """The atoms of a form."""
    return {key: value for key, value in form.items() if key > inputs}


class AtomTable:
    """The atoms of some values, on a box or on all of R^n.

    >>> table = AtomTable(1, None)
    >>> x, minus = (Affine((Fraction(g), Fraction(0))) for g in (1, -1))
    >>> table.value(Extremum("max", x, minus)).form, table.value(Extremum("min", minus, x)).form
    ({0: Fraction(1, 1), 2: Fraction(1, 1)}, {0: Fraction(-1, 1), 2: Fraction(-1, 1)})
    >>> table.atoms
    [{0: Fraction(-2, 1)}]
    """

    def __init__(self, inputs: int, box: Sequence[Interval] | None) -> None:
        self.inputs, self.box = inputs, box
        self.atoms: list[Form] = []
        self.values: list[Made] = []
        self._named: dict[frozenset[tuple[int, Fraction]], list[Made]] = {}  # values by the atoms of their forms
        self._top: dict[int, Fraction] = {}  # bounds of atoms on the box
        self._bounds: dict[Made, Interval] = {}
        self._number: dict[tuple[tuple[int, Fraction], ...], tuple[int, Fraction]] = {}
        self._known: dict[int, tuple[Value, Made]] = {}  # by identity, which the value here preserves

    def value(self, value: Value) -> Made:
        """The form of a value."""
        if id(value) not in self._known:
            self._known[id(value)] = (value, self._make(value))
        return self._known[id(value)][1]

    def _make(self, value: Value) -> Made:
        if isinstance(value, Affine):
            return Made({key: Fraction(v) for key, v in enumerate(value.law) if v})
        if isinstance(value, Extremum):
            return self._extremum(value)
        total: Form = {}
        for factor, term in value.terms:
            total = combine(total, factor, self.value(term).form)
        return Made(total)

    def _extremum(self, value: Extremum) -> Made:
        parts = sorted((self.value(value.one), self.value(value.two)), key=lambda part: self._burden(part.form))
        (u, v), sign = (part.form for part in parts), 1 if value.kind == "max" else -1
        step = self.relu(combine(combine({}, sign, v), -sign, u))
        made = Made(combine(u, sign, step), value.kind, tuple(parts))
        self.values.append(made)
        self._named.setdefault(self._name(made.form), []).append(made)
        return made

    def _name(self, form: Form) -> frozenset[tuple[int, Fraction]]:
        return frozenset(residual(form, self.inputs).items())

    def _burden(self, form: Form) -> tuple[bool, bool, int]:
        """What it takes to carry a value: nothing if it is affine, less if its atoms have one sign."""
        signs = {value > 0 for key, value in form.items() if key > self.inputs}
        return bool(signs), len(signs) > 1, len(form)

    def relu(self, form: Form) -> Form:
        """The ReLU of a form, as a form."""
        lead = next((form[key] for key in sorted(form) if key != self.inputs), None)
        if lead is None:
            constant = form.get(self.inputs, Fraction(0))
            return {self.inputs: constant} if constant > 0 else {}
        name = tuple(sorted((key, value / lead) for key, value in form.items()))
        if name not in self._number:
            self._number[name] = (len(self.atoms), lead)
            self.atoms.append(form)
        atom, meant = self._number[name]
        step = {self.inputs + 1 + atom: abs(lead / meant)}
        return step if (lead > 0) == (meant > 0) else combine(form, 1, step)

    def least(self, form: Form) -> Fraction | None:
        """A lower bound of a form on the box: of a difference of two values plus something affine, from their bounds.

        A proof has to show the same, so that nothing better is used where there is such a difference.
        """
        if self.box is None:
            return None
        nothing = Made({})
        for one in (nothing, *self.values):
            name = self._name(combine(one.form, -1, form))
            found = [self._difference(form, one, two) for two in self._named.get(name, [] if name else [nothing])]
            if found:
                return max(found)
        bounds = self.range(form)
        return None if bounds is None else bounds[0]

    def _difference(self, form: Form, one: Made, two: Made) -> Fraction:
        rest, above, below = (
            self.range(combine(combine(form, -1, one.form), 1, two.form)),
            self.bounds(one),
            self.bounds(two),
        )
        assert rest is not None
        assert above is not None
        assert below is not None
        return rest[0] + above[0] - below[1]

    def bounds(self, value: Made) -> Interval | None:
        """Bounds of a value on the box, those of a maximum or minimum from the bounds of its parts."""
        if self.box is None:
            return None
        if value not in self._bounds:
            if value.kind is None:
                found = self.range(value.form)
            else:
                pick = max if value.kind == "max" else min
                ends = [self.bounds(part) or (ZERO, ZERO) for part in value.parts]
                found = (pick(low for low, _ in ends), pick(high for _, high in ends))
            assert found is not None
            self._bounds[value] = found
        return self._bounds[value]

    def _most(self, atom: int) -> Fraction:
        """An upper bound of an atom on the box."""
        if atom not in self._top:
            found = self.range(self.atoms[atom])
            self._top[atom] = ZERO if found is None else max(found[1], ZERO)
        return self._top[atom]

    def range(self, form: Form) -> Interval | None:
        """Bounds of a form on the box."""
        if self.box is None:
            return None
        low = high = form.get(self.inputs, Fraction(0))
        for key, value in form.items():
            if key != self.inputs:
                a, b = self.box[key] if key < self.inputs else (ZERO, self._most(key - self.inputs - 1))
                low, high = low + min(value * a, value * b), high + max(value * a, value * b)
        return low, high


def lower_values(values: Sequence[Value], inputs: int, box: Sequence[Interval] | None) -> Network:
    """The plain network whose outputs are the values, on the box; on all of R^n if there is none.

    >>> from cpwl.construct.lattice.separate import Affine, Extremum
    >>> x, y = Affine((ONE, ZERO, ZERO)), Affine((ZERO, ONE, ZERO))
    >>> lower_values([Extremum("max", x, y), Extremum("min", x, y)], 2, None)
    Network(2 -> 4 -> 2)
    >>> lower_values([Extremum("max", x, y), Extremum("min", x, y)], 2, [(ZERO, ONE)] * 2)
    Network(2 -> 3 -> 2)
    """
    lowering = _lower(values, inputs, box)
    assert lowering is not None
    return lowering.network()


@dataclass(frozen=True, slots=True, eq=False)
class Lowering:
    """The layers of values before their weights are made: what each neuron reads, and what each output is."""

    levels: list[_Level]
    outputs: list[Form]

    @property
    def size(self) -> tuple[int, int]:
        """Neurons and hidden layers."""
        return sum(len(level.reads) for level in self.levels[1:]), len(self.levels) - 1

    def network(self) -> Network:
        """All weights."""
        reads = [*(level.reads for level in self.levels[1:]), self.outputs]
        levels = zip(self.levels, reads, strict=True)
        return chained([[level.row(form) for form in forms] for level, forms in levels], self.levels[0].inputs)


def _lower(
    values: Sequence[Value], inputs: int, box: Sequence[Interval] | None, best: tuple[int, int] | None = None
) -> Lowering | None:
    """The layers of the values; None as soon as their size cannot be below `best`."""
    table = AtomTable(inputs, box)
    outputs = [table.value(value).form for value in values]
    work = _Schedule(table, outputs)
    levels = [_Level.of_inputs(inputs)]
    for number in range(1, work.layers + 1):
        done = sum(len(level.reads) for level in levels[1:])
        if best is not None and (done + sum(layer >= number for layer in work.late.values()), work.layers) >= best:
            return None
        levels.append(work.layer(number))
    return Lowering(levels, outputs)


@dataclass(slots=True)
class _Level:
    """The neurons of a layer, by the forms that they read, and the forms that can be read off them.

    `carried` are the neurons and the constant that make each vector of the span; atoms are read directly.
    """

    inputs: int
    reads: list[Form] = field(default_factory=list)
    atoms: dict[int, int] = field(default_factory=dict)
    span: Span = field(default_factory=Span)
    carried: list[tuple[dict[int, Fraction], Fraction]] = field(default_factory=list)

    @classmethod
    def of_inputs(cls, inputs: int) -> _Level:
        level = cls(inputs)
        for k in range(inputs):
            level.reads.append({k: ONE})
            level.carry({k: ONE}, {k: ONE}, ZERO)
        return level

    def carry(self, form: Form, neurons: dict[int, Fraction], constant: Fraction) -> bool:
        """Says that a form, without its constant, is the sum of neurons and a constant; False if it was known."""
        if not self.span.insert({key: value for key, value in form.items() if key != self.inputs}):
            return False
        self.carried.append((neurons, constant))
        return True

    def row(self, form: Form) -> Row:
        """Weights and bias with which a neuron reads a form."""
        row = {self.atoms[key]: value for key, value in form.items() if key in self.atoms}
        bias = form.get(self.inputs, ZERO)
        rest = {key: value for key, value in form.items() if key != self.inputs and key not in self.atoms}
        factors = self.span.express(rest)
        assert factors is not None, "a form that was not carried"
        for k, factor in factors.items():
            neurons, constant = self.carried[k]
            row = combine(row, factor, neurons)
            bias += factor * constant
        return Row(row, bias)


class _Schedule:
    """The layers of all atoms that the outputs need, and the carriers of each layer."""

    def __init__(self, table: AtomTable, outputs: list[Form]) -> None:
        self.table, self.inputs = table, table.inputs
        self.outputs = outputs
        used = self._used(outputs)
        early: dict[int, int] = {}
        for atom in used:
            early[atom] = 1 + max((early[key] for key in self._atoms(self._reads(atom))), default=0)
        self.layers = max(early.values(), default=0)
        self.late: dict[int, int] = {}
        for form in outputs:
            self._before(form, self.layers + 1)
        for atom in reversed(used):
            self._before(self._reads(atom), self.late[atom])

    def _reads(self, atom: int) -> Form:
        return self.table.atoms[atom - self.inputs - 1]

    def _atoms(self, form: Form) -> Iterator[int]:
        return (key for key in form if key > self.inputs)

    def _used(self, outputs: list[Form]) -> list[int]:
        """AtomTable that the outputs need, each after those that it reads: they are numbered in that order."""
        waiting = [key for form in outputs for key in self._atoms(form)]
        seen = set(waiting)
        while waiting:
            new = set(self._atoms(self._reads(waiting.pop()))) - seen
            seen |= new
            waiting += new
        return sorted(seen)

    def _before(self, form: Form, layer: int) -> None:
        for key in self._atoms(form):
            self.late[key] = min(self.late.get(key, layer), layer - 1)

    def layer(self, number: int) -> _Level:
        """The neurons of a layer: its atoms, then its carriers."""
        level = _Level(self.inputs)
        for atom, layer in sorted(self.late.items()):
            if layer == number:
                level.atoms[atom] = len(level.reads)
                level.reads.append(self._reads(atom))
        needed = self._needed(number)
        if needed:
            _Carriers(self.table, level, needed, self._values(number)).add()
        return level

    def _needed(self, number: int) -> list[Form]:
        """What later layers need of inputs and earlier atoms, without constants; each once."""
        readers = [self._reads(atom) for atom, layer in sorted(self.late.items()) if layer > number]
        parts = (self._old(form, number) for form in [*readers, *self.outputs])
        return list({tuple(sorted(form.items())): form for form in parts if form}.values())

    def _old(self, form: Form, number: int) -> Form:
        return {
            key: value
            for key, value in form.items()
            if key < self.inputs or (key > self.inputs and self.late[key] < number)
        }

    def _values(self, number: int) -> list[Made]:
        """Values that are done before the layer."""
        return [
            value
            for value in self.table.values
            if all(self.late.get(key, number) < number for key in self._atoms(value.form))
        ]


class _Carriers:
    """Chooses what one layer carries, and adds the neurons for it."""

    def __init__(self, table: AtomTable, level: _Level, needed: list[Form], values: list[Made]) -> None:
        self.table, self.level, self.needed, self.inputs = table, level, needed, table.inputs
        atoms, space = Span(), Span()
        for form in needed:
            atoms.insert(residual(form, self.inputs))
        slopes = {key for form in needed for key in form if key < self.inputs}
        for form in needed:
            if space.rank == len(slopes) + atoms.rank:
                break
            space.insert(form)
        self.apart = space.rank == len(slopes) + atoms.rank  # then every input is in the span, and all atoms apart
        self.slopes = sorted(slopes)
        inside = [v for v in values if atoms.express(residual(v.form, self.inputs)) is not None]
        if self.apart:
            inside = [v for v in inside if all(key in slopes for key in v.form if key < self.inputs)]
        else:
            inside = [v for v in inside if space.express(self._bare(v.form)) is not None]
        self.values = sorted(inside, key=lambda v: not self._has_sign(residual(v.form, self.inputs)))

    def add(self) -> None:
        """Carriers until everything that is needed can be read."""
        if self.apart:
            self._carry_affine()
        for value in self.values:
            if self.apart and self._has_sign(rest := residual(value.form, self.inputs)):
                self._carry(rest, None)
            else:
                bounds = self.table.bounds(value)
                self._carry(value.form, self._lower(value.form, bounds and bounds[0]))
        for form in self.needed:
            if self.level.span.express(form) is None:  # otherwise it is known already
                self._carry(form, self._lower(form, self.table.least(form)))

    def _lower(self, form: Form, least: Fraction | None) -> Fraction | None:
        """A little less than the bound, so that rounding does not make a carrier negative."""
        bounds = self.table.range(form)
        return None if least is None or bounds is None else least - (bounds[1] - bounds[0]) / 1024

    def _bare(self, form: Form) -> Form:
        return {key: value for key, value in form.items() if key != self.inputs}

    def _has_sign(self, form: Form) -> bool:
        """Whether a form without inputs is at least 0, or at most 0, for its atoms."""
        return len({value > 0 for key, value in form.items() if key > self.inputs}) == 1 and not any(
            key < self.inputs for key in form
        )

    def _carry_affine(self) -> None:
        """All inputs that are needed."""
        if self.table.box is None:
            self._add_partners()
        for key in self.slopes:
            self._carry({key: ONE}, self.table.least({key: ONE}))

    def _add_partners(self) -> None:
        """One more neuron makes the affine form of an atom of this layer known."""
        for atom, neuron in list(self.level.atoms.items()):
            form = self.table.atoms[atom - self.inputs - 1]
            if any(key > self.inputs or (key < self.inputs and key not in self.slopes) for key in form):
                continue
            partner = len(self.level.reads)
            if self.level.carry(form, {neuron: ONE, partner: -ONE}, -form.get(self.inputs, ZERO)):
                self.level.reads.append({key: -value for key, value in form.items()})

    def _carry(self, form: Form, least: Fraction | None) -> None:
        """A form, without its constant, by one neuron if it has a lower bound, else by two; nothing if it is known."""
        bare = self._bare(form)
        k = len(self.level.reads)
        if self._has_sign(bare):
            sign = ONE if next(iter(bare.values())) > 0 else -ONE
            if self.level.carry(bare, {k: sign}, ZERO):
                self.level.reads.append({key: sign * value for key, value in bare.items()})
        elif least is not None:
            lift = rounded_down(least)  # s(form - lift) = form - lift
            if self.level.carry(bare, {k: ONE}, lift - form.get(self.inputs, ZERO)):
                self.level.reads.append(combine(form, -1, {self.inputs: lift} if lift else {}))
        elif self.level.carry(bare, {k: ONE, k + 1: -ONE}, ZERO):
            self.level.reads += [bare, {key: -value for key, value in bare.items()}]


def rounded_down(x: Fraction) -> Fraction:
    """A number that is not larger, with few binary digits unless it has few already.

    >>> rounded_down(Fraction(1, 3)), rounded_down(Fraction(-3)), rounded_down(Fraction(-10001, 10))
    (Fraction(85, 256), Fraction(-3, 1), Fraction(-1004, 1))
    """
    binary = x.denominator & (x.denominator - 1) == 0
    if x == 0 or (binary and max(x.numerator.bit_length(), x.denominator.bit_length()) <= 16):
        return x
    size = x.numerator.bit_length() - x.denominator.bit_length()
    unit = Fraction(2) ** (size - 8)
    return (x / unit).__floor__() * unit


# The irredundant lattice of all outputs, lowered together: monotone expressions of components, few neurons.
#
# Steps: which components stay above and below on each piece (`order`); pieces cut until one component tells any two
# apart
# (`sides`); a small monotone expression that is right on all of them (`separate`); its operations put into layers
# (`expression`), written as ReLUs (`atoms`) and lowered to a plain network (`schedule`). See docs/lattice.md.


_MORE = (0, 1, 2, 4)  # layers beyond the fewest that are tried
_LARGE = 300  # leaves beyond which only the fewest are; the leaves of all formulas that are lowered
_FORMULAS = 12  # at most


@dataclass(frozen=True, slots=True, eq=False)
class SharedLattice:
    """The network for all outputs, the expression of each in its components, and what it took."""

    network: Network
    formulas: tuple[Formula, ...]
    sides: tuple[Sides, ...]

    @property
    def splits(self) -> int:
        """How often a piece was cut."""
        return sum(own.splits for own in self.sides)

    @property
    def solves(self) -> int:
        """How many linear programs that took."""
        return sum(own.solves for own in self.sides)

    def plain(self, p: CPWL) -> Network:
        """The maxima of minima of the components of `p` that the same tables give, each output by itself."""
        rows = [max_min_rows(own.above, own.below) for own in self.sides]
        return outputs_together([max_of_mins(p.components(j), own) for j, own in enumerate(rows)])


def shared_lattice(analysis: Analysis, orders: Sequence[Order] | None = None) -> SharedLattice:
    """A plain network of maxima and minima of the components that is `p` on its domain, all outputs together.

    With the `orders` that `relaxed` gives for a tolerance, it is within that of `p`.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=0)
    >>> made = shared_lattice(Analysis(p))
    >>> str(made.formulas[0]), made.network
    ('max(0, min(1, 2))', Network(1 -> 1 -> 1 -> 1))
    """
    p, small = analysis.function, analysis.essential.function
    orders = analysis.orders if orders is None else orders
    sides = tuple(find_sides(small, j, order, analysis.options.progress) for j, order in enumerate(orders))
    found = [contenders(own.above, own.below, p.dim) for own in sides]
    components = [meant_components(p, j) for j in range(p.outputs)]
    laws = [[Affine(tuple(row)) for row in rows] for rows in components]
    leaves = sum(formulas[0].leaves for formulas in found)
    # Of float data the proof reads the first formula best.
    count = 1 if p.tol else max(1, min(_FORMULAS, _LARGE // leaves))
    lowering, formulas = _smallest([formulas[:count] for formulas in found], laws, p.dim, analysis.box)
    return SharedLattice(lowering.network(), formulas, sides)


def _smallest(
    found: Sequence[Sequence[Formula]],
    laws: Sequence[Sequence[Affine]],
    inputs: int,
    box: Sequence[Interval] | None,
) -> tuple[Lowering, tuple[Formula, ...]]:
    """A small lowering of one formula an output: the first ones, then for each output in its turn the others."""
    chosen = [formulas[0] for formulas in found]
    best: Lowering | None = None
    for j, formulas in enumerate(found):
        for formula in formulas[min(j, 1) :]:
            tried = [*chosen[:j], formula, *chosen[j + 1 :]]
            lowering = _arranged(tried, laws, inputs, box, best)
            if lowering is not best:
                best, chosen = lowering, tried
    assert best is not None
    return best, tuple(chosen)


def _arranged(
    formulas: Sequence[Formula],
    laws: Sequence[Sequence[Affine]],
    inputs: int,
    box: Sequence[Interval] | None,
    best: Lowering | None,
) -> Lowering | None:
    """The smallest lowering of these formulas in few layers or more; the best one so far if none is smaller."""
    fewest = max(formula.depth for formula in formulas)
    most = max(formula.leaves - 1 for formula in formulas)
    for t in sorted({min(fewest + more, most) for more in (_MORE if most < _LARGE else (0,))}):
        values = [arrange(f, law, t) for f, law in zip(formulas, laws, strict=True)]
        lowering = _lower(values, inputs, box, None if best is None else best.size)
        if lowering is not None and (best is None or lowering.size < best.size):
            best = lowering
    return best


_PRIME = 2**20 - 3
_LAWS = 1500  # laws whose differences are all looked at: a million takes a second


def plan(analysis: Analysis) -> Plan:
    """The plan of a lattice; the search for a small expression is done here, its weights are all known then.

    >>> from cpwl.function import CPWL
    >>> plan(Analysis(CPWL.from_maxmin([[1, 0], [-1, 0]], [[0], [1]]))).sizes.neurons
    2
    """
    options, points = analysis.options, analysis.sample.points
    made, source = _of_exact(analysis), analysis.simplest
    if made is None:
        made, source = shared_lattice(analysis), analysis
    shared = Plan.of("lattice", made.network, points, solves=made.solves, splits=made.splits)
    small = Candidate.of(shared, analysis)
    if options.minimize != "depth" and small.error <= options.max_error:
        return shared
    # Sharing makes networks small and deep, and laws that nearly depend on each other may cancel: a plain tournament is
    # larger, may have fewer layers, and has weights 1 and -1 beyond its first layer.
    plain = Plan.of("lattice", made.plain(source.function), points, solves=made.solves, splits=made.splits)
    return select([small, Candidate.of(plain, analysis)], options.minimize, options.max_error).best.plan


def _of_exact(analysis: Analysis) -> SharedLattice | None:
    """Of float data, the lattice of the exact function near it; None if there is none, or none that is near enough."""
    if analysis.simplest is analysis:
        return None
    try:
        made = shared_lattice(analysis.simplest)
    except CpwlError:  # what is wrong is said in terms of the data
        return None
    error = measured_error(made.network, analysis)
    return made if error is None or error <= analysis.options.max_error else None


# --- a lower bound ------------------------------------------------------------------------------------------------


def least(analysis: Analysis) -> Least | None:
    """A bound on the neurons of any network of maxima and minima of the laws; None for float data, and beyond `_LAWS`.

    A maximum or minimum of two values takes a neuron, and values whose differences are proportional share it. At a
    point inside a piece each of the two values is one of the laws: let the neuron join the two. The neurons of an
    expression join all laws that it has, and it has all laws of the function. A neuron joins laws of one direction
    only, that of their difference: so the neurons are at least as many as the directions that it takes to join all
    laws; and a direction that joins the laws to `c` groups leaves ``c - 1`` to be joined by others.

    >>> from cpwl.function import CPWL
    >>> known = Analysis(CPWL.from_grid([[0, 1, 3], [0, 1, 3]], [[1, 0, 2], [0, 3, 0], [1, 0, 1]]))
    >>> least(known).neurons, plan(known).sizes.neurons
    (3, 13)
    """
    p = analysis.function
    if p.tol:
        return None
    found = []
    for j in range(p.outputs):
        laws = p.laws.integer()[p.representatives(j), j]
        if len(laws) <= _LAWS:
            found.append((_directions(laws), len(laws)))
    if not found:
        return None
    neurons, count = max(found)
    return Least(neurons, f"maxima and minima of {count} laws")


def _directions(laws: NDArray[np.object_]) -> int:
    """The fewest directions that can join all laws, counted modulo a prime: that makes directions equal, never apart.

    Along a direction laws fall into groups; it joins as many as there are laws less groups. A law that has `d` others
    in its group has a share of ``d / (d + 1)`` in that number.
    """
    count = len(laws)
    below = [int(v) % _PRIME for v in laws[:, -1]]
    if count == 1 or 0 in below:
        return 0
    inverse = np.array([pow(v, -1, _PRIME) for v in below], dtype=np.int64)
    rows = (laws[:, :-1] % _PRIME).astype(np.int64) * inverse[:, None] % _PRIME
    mix = np.random.default_rng(0).integers(1, _PRIME, (4, rows.shape[1]))
    u, *others = (rows[:, None, :] * mix % _PRIME).sum(axis=2).T % _PRIME
    one, two = np.triu_indices(count, 1)
    step = (u[one] - u[two]) % _PRIME
    slopes = [(v[one] - v[two]) % _PRIME for v in others]
    if not np.any([step, *slopes], axis=0).all():
        return 0  # laws that are equal modulo the prime
    over = _inverses(step)
    key = np.zeros(len(step), dtype=np.int64)
    for slope in slopes:
        key = key * _PRIME + slope * over % _PRIME
    key[step == 0] = -1
    _, direction = np.unique(key, return_inverse=True)
    member = np.concatenate([direction * count + one, direction * count + two])
    place, degree = np.unique(member, return_counts=True)
    joined = np.bincount(place // count, weights=degree / (degree + 1))
    total = np.cumsum(np.sort(joined)[::-1])
    return int(np.searchsorted(total, count - 1 - 1e-6)) + 1


def _inverses(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """Inverses modulo the prime, 0 of 0: by Fermat, of each or of a whole table, whichever is less."""
    if len(x) > _PRIME:
        return _inverses(np.arange(_PRIME))[x]
    power, square = np.ones_like(x), x
    for bit in range(_PRIME.bit_length()):
        if (_PRIME - 2) >> bit & 1:
            power = power * square % _PRIME
        square = square * square % _PRIME
    return power
