"""The exact network that a network of rounded weights was made from, where it computes maxima and minima.

Layer by layer every neuron is written in inputs and atoms, and what it reads is moved to the nearest thing that it can
mean: a difference of two components, a component that is carried, an input; atoms with simple factors. Weights that
make exactly that out of the neurons below are then unique where those are independent. Nothing here is trusted: what
comes out is a network with a proof of its own, and how far the rounded one is from it is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.span import Span
from cpwl.exact.sparse import RationalMatrix
from cpwl.network import Network
from cpwl.proofs.no_proof import NotRecognised
from cpwl_check.expression import total
from cpwl_check.pieces import plus

__all__ = ["restore"]

Form = dict[int, Fraction | int]
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
        if is_unit and (carries or abs(float(constant)) <= _NEAR):
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
        order = np.argsort(apart.max(axis=1) + 1e-6 * apart.sum(axis=1), kind="stable")[:_GUESSES]
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
