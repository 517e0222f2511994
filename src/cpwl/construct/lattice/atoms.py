"""Values written in inputs and atoms: every maximum and minimum is an affine combination of ReLUs.

An *atom* is the ReLU of a form, and a *form* is a sum of inputs, a constant and atoms, with factors:
``max(u, v) = u + s(v - u)`` and ``min(u, v) = u - s(u - v)``. Forms are equal as numbers or not at all; ReLUs of
proportional forms are one atom, of opposite ones too, since ``s(-z) = s(z) - z``. So what expressions have in common is
made once, whatever they look like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from cpwl.construct.lattice.expression import Affine, Extremum, Value

__all__ = ["AtomTable", "Bounded", "Form", "Interval", "combine", "residual"]

Form = dict[int, Fraction]  # keys: inputs 0 .. n - 1, the constant n, then atoms n + 1 + a; no zeros
Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value's form, and bounds of it on the box if there is one."""

    form: Form
    bounds: Interval | None


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
        self.values: list[Bounded] = []
        self._named: dict[frozenset[tuple[int, Fraction]], list[Bounded]] = {}  # values by the atoms of their forms
        self._top: list[Fraction] = []  # bounds of the atoms on the box
        self._number: dict[tuple[tuple[int, Fraction], ...], tuple[int, Fraction]] = {}
        self._known: dict[int, tuple[Value, Bounded]] = {}  # by identity, which the value here preserves

    def value(self, value: Value) -> Bounded:
        """The form of a value."""
        if id(value) not in self._known:
            self._known[id(value)] = (value, self._make(value))
        return self._known[id(value)][1]

    def _make(self, value: Value) -> Bounded:
        if isinstance(value, Affine):
            form = {key: Fraction(v) for key, v in enumerate(value.law) if v}
            return Bounded(form, self.range(form))
        if isinstance(value, Extremum):
            return self._extremum(value)
        total: Form = {}
        for factor, term in value.terms:
            total = combine(total, factor, self.value(term).form)
        return Bounded(total, self.range(total))

    def _extremum(self, value: Extremum) -> Bounded:
        parts = sorted((self.value(value.one), self.value(value.two)), key=lambda part: self._burden(part.form))
        (u, v), sign = (part.form for part in parts), 1 if value.kind == "max" else -1
        step = self.relu(combine(combine({}, sign, v), -sign, u))
        bounds = None
        if self.box is not None:
            pick = max if sign > 0 else min
            (a, b), (c, d) = (part.bounds or (Fraction(0), Fraction(0)) for part in parts)
            bounds = (pick(a, c), pick(b, d))
        made = Bounded(combine(u, sign, step), bounds)
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
            bounds = self.range(form)
            self._top.append(Fraction(0) if bounds is None else max(bounds[1], Fraction(0)))
        atom, meant = self._number[name]
        step = {self.inputs + 1 + atom: abs(lead / meant)}
        return step if (lead > 0) == (meant > 0) else combine(form, 1, step)

    def least(self, form: Form) -> Fraction | None:
        """A lower bound of a form on the box: of a difference of two values plus something affine, from their bounds.

        A proof has to show the same, so that nothing better is used where there is such a difference.
        """
        if self.box is None:
            return None
        nothing = Bounded({}, (Fraction(0), Fraction(0)))
        for one in (nothing, *self.values):
            name = self._name(combine(one.form, -1, form))
            found = [self._difference(form, one, two) for two in self._named.get(name, [] if name else [nothing])]
            if found:
                return max(found)
        bounds = self.range(form)
        return None if bounds is None else bounds[0]

    def _difference(self, form: Form, one: Bounded, two: Bounded) -> Fraction:
        rest = self.range(combine(combine(form, -1, one.form), 1, two.form))
        assert rest is not None
        assert one.bounds is not None
        assert two.bounds is not None
        return rest[0] + one.bounds[0] - two.bounds[1]

    def range(self, form: Form) -> Interval | None:
        """Bounds of a form on the box."""
        if self.box is None:
            return None
        low = high = form.get(self.inputs, Fraction(0))
        for key, value in form.items():
            if key != self.inputs:
                a, b = self.box[key] if key < self.inputs else (Fraction(0), self._top[key - self.inputs - 1])
                low, high = low + min(value * a, value * b), high + max(value * a, value * b)
        return low, high
