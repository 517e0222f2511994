"""One schedule of layers and carriers: forms over inputs and ReLUs of forms become a plain network of few neurons.

Lattices hand over maxima and minima (`Value`), hidden layers that were read off pieces hand over forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from cpwl.exact.sparse import Span
from cpwl.network import Network
from cpwl.network.program import Row, chained

Kind = Literal["max", "min"]


@dataclass(frozen=True, slots=True)
class Affine:
    """``g . x + o``, as the numbers ``(g, o)``."""

    law: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Extremum:
    """The maximum or the minimum of two values."""

    kind: Kind
    one: Value
    two: Value


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of values, each with its factor."""

    terms: tuple[tuple[Fraction, Value], ...]


Value = Affine | Extremum | Sum


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
# is made once, whatever they look like.


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

    def basis(self, forms: list[Form]) -> list[Form]:
        """Forms with the same span, those that are best to carry; a table that knows more may choose others."""
        return forms

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


def lowered(table: AtomTable, outputs: list[Form], best: tuple[int, int] | None = None) -> Lowering | None:
    """The layers of forms in the atoms of a table; None as soon as their size cannot be below `best`."""
    work = _Schedule(table, outputs)
    levels = [_Level.of_inputs(table.inputs)]
    for number in range(1, work.layers + 1):
        done = sum(len(level.reads) for level in levels[1:])
        if best is not None and (done + sum(layer >= number for layer in work.late.values()), work.layers) >= best:
            return None
        levels.append(work.layer(number))
    return Lowering(levels, outputs)


def lower_values(
    values: Sequence[Value], inputs: int, box: Sequence[Interval] | None, best: tuple[int, int] | None = None
) -> Lowering | None:
    """The layers of the network whose outputs are the values, on the box; on all of R^n if there is none.

    >>> x, y = Affine((ONE, ZERO, ZERO)), Affine((ZERO, ONE, ZERO))
    >>> lower_values([Extremum("max", x, y), Extremum("min", x, y)], 2, None).network()
    Network(2 -> 4 -> 2)
    >>> lower_values([Extremum("max", x, y), Extremum("min", x, y)], 2, [(ZERO, ONE)] * 2).network()
    Network(2 -> 3 -> 2)
    """
    table = AtomTable(inputs, box)
    return lowered(table, [table.value(value).form for value in values], best)


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
        self.space = space
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
        if self.table.box is None:
            self._add_partners()
        for key in self.slopes if self.apart else ():
            self._carry({key: ONE}, self.table.least({key: ONE}))
        for value in self.values:
            if self.apart and self._has_sign(rest := residual(value.form, self.inputs)):
                self._carry(rest, None)
            else:
                bounds = self.table.bounds(value)
                self._carry(value.form, self._lower(value.form, bounds and bounds[0]))
        for form in self.table.basis(self.needed):
            if self.level.span.express(form) is None:  # otherwise it is known already
                self._carry(form, self._lower(form, self.table.least(form)))

    def _lower(self, form: Form, least: Fraction | None) -> Fraction | None:
        """A little less than the bound, so that rounding does not make a carrier negative."""
        bounds = self.table.range(form)
        return least if least is None or bounds is None else least - (bounds[1] - bounds[0]) / 1024

    def _bare(self, form: Form) -> Form:
        return {key: value for key, value in form.items() if key != self.inputs}

    def _has_sign(self, form: Form) -> bool:
        """Whether a form without inputs is at least 0, or at most 0, for its atoms."""
        return len({value > 0 for key, value in form.items() if key > self.inputs}) == 1 and not any(
            key < self.inputs for key in form
        )

    def _add_partners(self) -> None:
        """One more neuron makes the form of an atom of this layer known; none of them costs less."""
        for atom, neuron in list(self.level.atoms.items()):
            form = self.table.atoms[atom - self.inputs - 1]
            if not self._is_needed(form):
                continue
            partner = len(self.level.reads)
            if self.level.carry(form, {neuron: ONE, partner: -ONE}, -form.get(self.inputs, ZERO)):
                self.level.reads.append({key: -value for key, value in form.items()})

    def _is_needed(self, form: Form) -> bool:
        """Whether a form is in the span of what is needed."""
        if self.apart:
            return all(key == self.inputs or key in self.slopes for key in form)
        return self.space.express(self._bare(form)) is not None

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
