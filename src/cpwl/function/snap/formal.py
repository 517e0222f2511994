"""Linear equations among vectors that are sums of numbers times known vectors, solved as if these were independent.

Unknown are vectors ``u_k`` and numbers ``x_c``; an equation is ``sum a_k u_k + sum b_sc x_c s = 0`` with known vectors
`s`, the symbols. Vectors are eliminated first. An equation without any is ``sum_s (sum_c b_sc x_c) s = 0``, and it
holds if every bracket is 0: equations in numbers whose coefficients do not depend on the symbols at all. So what is
free can be any short number nearby, and what is not free is a short sum of products of such. That brackets are 0 is
more than is asked for; whether they are so, within rounding, floats tell. Where they are not, the symbols are
dependent: either their coordinates give the equations, or one symbol is taken for what it is in terms of the others,
and everything begins anew (`Dependent`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cpwl.function.snap.complex import Unfit

__all__ = ["Dependent", "Form", "Formal"]

_Floats = NDArray[np.float64]
_Vector = list[Fraction]
_Sums = dict[int, dict[int, Fraction]]
_Key = TypeVar("_Key")
_Choice = Callable[[int], Fraction]
Form = dict[tuple[int, int], Fraction]
"""``{(s, c): b}`` is the sum of ``b x_c s``, by numbers of symbols and of unknown numbers."""


class Dependent(Unfit):
    """Symbols of which a combination is 0 but for rounding: ``sum share[s] s = 0``."""

    def __init__(self, share: dict[int, Fraction]) -> None:
        super().__init__("hyperplanes that were taken for free depend on each other")
        self.share = share


class Formal:
    """A system of such equations; `numbers` are floats near the unknown ones.

    `size[s]` is how large a symbol counts, and `slack` what may be left of an equation that is meant. With `chosen`,
    which says what numbers are to be if they are free, symbols must be independent.
    """

    def __init__(
        self, numbers: _Floats, symbols: list[_Vector], size: _Floats, slack: float, chosen: _Choice | None = None
    ) -> None:
        self.near, self.symbols, self.size, self.slack = numbers, symbols, size, slack
        self.chosen = chosen
        self._vectors: dict[int, tuple[dict[int, Fraction], Form]] = {}
        self._numbers: dict[int, dict[int, Fraction]] = {}

    def add(self, vectors: Mapping[int, Fraction], form: Form) -> None:
        """One more equation; raises `Unfit` if it does not hold near the floats."""
        left, rest = self._reduced(vectors, form)
        if left:
            pivot = _pivot(left)
            unit = -left.pop(pivot)
            self._vectors[pivot] = (
                {k: x / unit for k, x in left.items()},
                {key: x / unit for key, x in rest.items()},
            )
            return
        brackets: dict[int, dict[int, Fraction]] = {}
        for (symbol, number), x in rest.items():
            brackets.setdefault(symbol, {})[number] = x
        left_over = {s: abs(sum(float(x) * self.near[c] for c, x in row.items())) for s, row in brackets.items()}
        dependent = sum(off * self.size[s] > self.slack for s, off in left_over.items())
        if not dependent:
            for row in brackets.values():
                self._bracket(row)
        elif self.chosen is not None and dependent > 1:
            numbers = self.numbers(self.chosen)
            share = {s: sum((x * numbers[c] for c, x in row.items()), Fraction(0)) for s, row in brackets.items()}
            raise Dependent({s: x for s, x in share.items() if x})
        else:
            self._coordinates(brackets)

    def _coordinates(self, brackets: dict[int, dict[int, Fraction]]) -> None:
        """An equation of dependent symbols, coordinate by coordinate."""
        views = np.array([[float(x) for x in symbol] for symbol in self.symbols])
        weight = self.size.max() / np.abs(views).max(axis=0, initial=1e-300)
        for t in range(len(self.symbols[0])):
            row: dict[int, Fraction] = {}
            for symbol, part in brackets.items():
                _add(row, part, self.symbols[symbol][t])
            off = abs(sum(float(x) * self.near[c] for c, x in row.items()))
            if off * weight[t] > 10 * self.slack:
                raise Unfit("jumps of laws do not add up around the places where they meet")
            self._bracket(row)

    def _reduced(self, vectors: Mapping[int, Fraction], form: Form) -> tuple[dict[int, Fraction], Form]:
        """The equation with all vectors replaced that are known in terms of others."""
        left, rest = {k: x for k, x in vectors.items() if x}, dict(form)
        while known := [k for k in left if k in self._vectors]:
            for k in known:
                share, (others, more) = left.pop(k, Fraction(0)), self._vectors[k]  # others may have cancelled it
                _add(left, others, share)
                _add(rest, more, share)
        return left, rest

    def _bracket(self, row: dict[int, Fraction]) -> None:
        while known := [c for c in row if c in self._numbers]:
            for c in known:
                _add(row, self._numbers[c], row.pop(c, Fraction(0)))
        if row:
            pivot = _pivot(row)
            unit = -row.pop(pivot)
            self._numbers[pivot] = {c: x / unit for c, x in row.items()}

    def numbers(self, chosen: Callable[[int], Fraction]) -> list[Fraction]:
        """The unknown numbers; those that are free as `chosen`."""
        found: dict[int, Fraction] = {c: chosen(c) for c in range(len(self.near)) if c not in self._numbers}
        for c, row in reversed(self._numbers.items()):  # what is in a later row was not known to an earlier one
            found[c] = sum((x * found[k] for k, x in row.items()), Fraction(0))
        return [found[c] for c in range(len(self.near))]

    def vectors(self, count: int, numbers: list[Fraction], chosen: Callable[[int], _Vector]) -> list[_Vector]:
        """The unknown vectors; those that are free as `chosen`."""
        found: dict[int, _Vector] = {k: chosen(k) for k in range(count) if k not in self._vectors}
        for k, (others, form) in reversed(self._vectors.items()):
            terms = [(x, found[other]) for other, x in others.items()]
            terms += [(x * numbers[c], self.symbols[s]) for (s, c), x in form.items()]
            found[k] = [sum((x * v[t] for x, v in terms), Fraction(0)) for t in range(len(self.symbols[0]))]
        return [found[k] for k in range(count)]

    def sums(self, which: list[int], numbers: list[Fraction], symbol: Callable[[int], dict[int, Fraction]]) -> _Sums:
        """The unknown vectors as sums of symbols; `symbol` says what those that are free are to be."""
        found: _Sums = {k: symbol(k) for k in which if k not in self._vectors}
        for k, (others, form) in reversed(self._vectors.items()):
            row: dict[int, Fraction] = {}
            for other, x in others.items():
                _add(row, found[other], x)
            for (s, c), x in form.items():
                _add(row, {s: x}, numbers[c])
            found[k] = row
        return found


def _add(row: dict[_Key, Fraction], more: Mapping[_Key, Fraction], share: Fraction) -> None:
    """``row += share * more``, without zeros."""
    for key, x in more.items():
        row[key] = row.get(key, Fraction(0)) + share * x
        if not row[key]:
            del row[key]


def _pivot(row: Mapping[int, Fraction]) -> int:
    """What to solve for: something with a coefficient of 1, if there is one; the last of these."""
    return max(row, key=lambda k: (abs(row[k]) == 1, k))
