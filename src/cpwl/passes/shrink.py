"""`shrink`: fewer neurons, where the weights that read a layer may be chosen anew.

All neurons are affine on each cell of a network. So the output of a neuron is known from its values at the corners of
all cells, and its slopes along their rays: its values at *places*. Let ``h_i`` be the outputs of a layer, and 1.

**Lemma.** Let ``F >= 0`` be affine on each cell. Then ``F = relu(z)`` with ``z = sum_i w_i h_i`` if ``z = F`` at all
places of cells on which `F` is not 0, and ``z <= 0`` at all other places. *Proof.* `z` is affine on each cell. On a
cell of the first kind it equals ``F >= 0``; on any other it is at most 0, and `F` is 0. ∎

So the weights of a neuron with the output `F` are the solutions of linear equations and inequalities. Two moves:

1. *Remove* neuron `i`: all neurons of the next layer have weights with ``w_i = 0``.
2. *Merge* neurons `a` and `b` that are read with proportional weights `v` and ``c v``: one neuron has the output
   ``F = h_a + c h_b``, or ``F = -(h_a + c h_b)``, whichever is nowhere negative.

No move changes the output of another neuron, so outputs at places are computed once. Residues modulo a prime tell which
places are independent and which equations have no solution. Weights are computed and tested in rationals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz_mat, nmod_mat
from numpy.typing import NDArray

from cpwl.exact.integers import ratio_view
from cpwl.exact.rational import pivots, reduced_rows, solution
from cpwl.exact.sparse import RationalMatrix
from cpwl.geometry.generators import Generators
from cpwl.geometry.linear_program import LinearProgram
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.passes.simplify import rebuilt

_PRIME = 2**61 - 1
_NEAR = 1e-9  # by how much a solution of floats may be on the wrong side
_BELOW = (1, 1 << 4, 60, 1 << 10, 2520, 1 << 20, 1 << 40)  # denominators of free weights that are tried
_Rationals = NDArray[np.object_]


def shrink(network: Network, cells: Generators, effort: float) -> Network:
    """A network with fewer neurons that is equal on the union of the cells, or the network itself.

    All neurons must be affine on each cell. `effort` limits the work, in millions of outputs of neurons that are read.

    >>> network = Network([([[1], [1], [1]], [0, -1, -2]), ([[1, 0, 0], [0, 1, -1]], [-3, 0]), ([[1, 2]], [0])])
    >>> places = np.array([[0, 1], [1, 1], [2, 1], [3, 1]], dtype=object)
    >>> shrink(network, Generators(places, np.array([0, 1, 1, 2, 2, 3]), np.array([0, 2, 4, 6])), 1.0)
    Network(1 -> 2 -> 1 -> 1)
    """
    best = network
    for first, second in ((_Work.remove, _Work.merge), (_Work.merge, _Work.remove)):  # neither order is always better
        work = _Work(network, cells, effort / 2)
        before = work.neurons + 1
        while work.left > 0 and work.neurons < before:
            before = work.neurons
            for move in (first, second):
                for l in work.layers():
                    move(work, l)
        if work.neurons < best.sizes.neurons:
            best = rebuilt(network, work.result())
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """The weights of a neuron: ``weights + y . free`` for every `y` with which it is not positive at places `off`."""

    weights: _Rationals
    free: _Rationals
    off: Any
    """The outputs of the layer below at those places, an integer matrix of flint, one row a place."""

    def signed(self) -> _Fit | None:
        """The same with weights that are not positive there; None if none were found."""
        table = _scaled(np.concatenate([self.weights[None], self.free]))
        value = _array(self.off * _flint(-table).transpose())
        if (value[:, 0] >= 0).all():
            return self
        y = _proposed(value) if len(self.free) else None
        return None if y is None else replace(self, weights=self.weights + y.dot(self.free))

    def without(self, k: int) -> _Fit | None:
        """The same with weight `k` equal to 0; None if that is impossible."""
        at = next((i for i, row in enumerate(self.free) if row[k]), None)
        if at is None:
            return None if self.weights[k] else self
        step = self.free[at] / self.free[at, k]
        rest = np.delete(self.free, at, axis=0)
        rest = rest - rest[:, k, None] * step
        if not self.weights[k]:
            return replace(self, free=rest)
        return replace(self, weights=self.weights - self.weights[k] * step, free=rest).signed()


def _proposed(value: _Rationals) -> _Rationals | None:
    """A point `y` of short numbers with ``value[:, 0] + value[:, 1:] . y >= 0``; floats propose, integers decide."""
    steps = np.asarray((value[:, 1:] != 0).any(axis=1), dtype=bool)
    if (value[~steps, 0] < 0).any():
        return None
    value = value[steps]
    bits = [max(int(abs(v)).bit_length() for v in column) for column in value.T]
    rows = value * np.array([1 << max(bits) - own for own in bits], dtype=object)  # so that all columns matter alike
    view = ratio_view(rows, np.abs(rows).max(axis=1)[:, None])
    top = np.append(np.zeros(view.shape[1] - 1), 1.0)
    program = LinearProgram(
        np.vstack([np.column_stack([-view[:, 1:], np.ones(len(view))]), top]), np.append(view[:, 0], 1.0)
    )
    found = program.maximize(top)
    if found.status != "optimal" or found.value < -_NEAR:
        return None
    for below in _BELOW:
        y = np.array([below, *(round(v * below) for v in found.point[:-1])], dtype=object)
        if (rows.dot(y) >= 0).all():
            unit = [Fraction(2) ** (bits[0] - own) for own in bits[1:]]
            return np.asarray(y[1:] * np.array(unit, dtype=object) / below)
    return None


class _Work:
    """A network that is being changed, with the outputs of its layers at places."""

    def __init__(self, network: Network, cells: Generators, effort: float) -> None:
        used, member = np.unique(cells.member, return_inverse=True)
        self.member, self.start, self.left = member.ravel(), cells.start, effort * 1e6
        self.outputs: list[_Rationals] = [cells.places[used].T]
        """Of the inputs and of each hidden layer, then 1: integers, to be multiplied by `units`."""
        self.units: list[_Rationals] = [np.full(network.inputs + 1, Fraction(1), dtype=object)]
        self.weights: list[_Rationals] = []
        """Of each layer over the outputs below, bias last."""
        for weight, bias in exact_layers(network):
            rows = np.column_stack([weight.toarray(), bias]) * self.units[-1]
            scale = np.array([Fraction(math.lcm(*(v.denominator for v in row))) for row in rows], dtype=object)
            z = _array(_flint(rows * scale[:, None]) * _flint(self.outputs[-1]))
            self.weights.append(rows * scale[:, None])
            self.outputs.append(np.concatenate([np.maximum(z, 0), self.outputs[0][-1:]]))
            self.units.append(np.array([*(1 / scale), Fraction(1)], dtype=object))

    @property
    def neurons(self) -> int:
        """How many hidden neurons are left."""
        return sum(map(len, self.weights[:-1]))

    def layers(self) -> Iterator[int]:
        """The hidden layers, the last one first, as indices of `outputs`."""
        return reversed(range(1, len(self.weights)))

    def result(self) -> list[tuple[RationalMatrix, _Rationals]]:
        """The layers, in the units of the network."""
        tables = []
        for l, rows in enumerate(self.weights):
            own = rows * self.units[l + 1][: len(rows), None] / self.units[l]
            tables.append((RationalMatrix.from_dense(own[:, :-1]), own[:, -1]))
        return tables

    def _must(self, target: _Rationals) -> NDArray[np.bool_]:
        """The places of all cells on which the target is not 0."""
        cells = np.logical_or.reduceat(np.asarray(target != 0, dtype=bool)[self.member], self.start[:-1])
        must = np.zeros(len(target), dtype=bool)
        must[self.member[np.repeat(cells, np.diff(self.start))]] = True
        return must

    def _read(self, l: int, must: NDArray[np.bool_]) -> _Rationals:
        """The outputs of a layer at these places, which counts as work."""
        self.left -= self.outputs[l].size
        return self.outputs[l][:, must]

    # Remove neurons.

    def remove(self, l: int) -> None:
        """Remove neurons of a hidden layer, one after the other, as long as all that read them have other weights."""
        fits = list(self._fits(l)) if self.left > 0 else []
        gone = list[int]()
        for k in range(len(self.outputs[l]) - 1 if fits else 0):
            if self.left <= 0 or len(gone) == len(self.outputs[l]) - 2:  # a layer keeps a neuron
                break
            if any(fit.weights[k] and not fit.free[:, k].any() for fit in fits):
                continue
            self.left -= self.outputs[l].size
            without = _all(fit.without(k) for fit in fits)
            if without is not None:
                fits = without
                gone.append(k)
        if gone:
            self.weights[l] = np.delete(np.array([fit.weights for fit in fits], dtype=object), gone, axis=1)
            self._forget(l, gone)

    def _fits(self, l: int) -> Iterator[_Fit]:
        """Those of all neurons that read a layer, and of the outputs of the network, which are fixed everywhere."""
        last = l + 1 == len(self.weights)
        for j, weights in enumerate(self.weights[l]):
            must = np.ones(len(self.outputs[0].T), dtype=bool) if last else self._must(self.outputs[l + 1][j])
            yield _Fit(weights, self._free(self._read(l, must)), _flint(self.outputs[l][:, ~must].T))

    @staticmethod
    def _free(table: _Rationals) -> _Rationals:
        """A basis of the weights that give 0 at all places of a table."""
        some = pivots(*_modular(table).rref())  # independent places
        if len(some) == len(table):
            return np.zeros((0, len(table)), dtype=object)
        found = solution(reduced_rows(np.insert(table[:, some].T, len(table), 0, axis=1)))
        assert found is not None
        return found[1] if _vanish(found[1], table) else found[1][:0]  # else the prime is an unlucky one

    def _forget(self, l: int, gone: list[int]) -> None:
        self.outputs[l] = np.delete(self.outputs[l], gone, axis=0)
        self.units[l] = np.delete(self.units[l], gone)
        self.weights[l - 1] = np.delete(self.weights[l - 1], gone, axis=0)

    # Merge neurons.

    def merge(self, l: int) -> None:
        """Merge pairs of neurons of a hidden layer."""
        a = 0
        while a < len(self.outputs[l]) - 1:
            b = a + 1
            while b < len(self.outputs[l]) - 1 and self.left > 0:
                b += not self._merged(l, a, b)
            a += 1

    def _merged(self, l: int, a: int, b: int) -> bool:
        """Whether neuron `a` could take the place of both."""
        v, other = self.weights[l][:, a], self.weights[l][:, b]
        i = next((i for i, x in enumerate(v) if x), None)
        if i is None or not other[i] or (v * other[i] != other * v[i]).any():
            return False
        c = other[i] / v[i]
        total = self.outputs[l][a] * c.denominator + self.outputs[l][b] * c.numerator
        turned = -1 if (total < 0).any() else 1
        if turned < 0 and (total > 0).any():
            return False
        fit = self._fitted(l - 1, total * turned)
        if fit is None:
            return False
        self.weights[l - 1][a], self.outputs[l][a] = fit.weights, total * turned
        self.weights[l][:, a] = v / Fraction(c.denominator * turned)
        self.weights[l] = np.delete(self.weights[l], b, axis=1)
        self._forget(l, [b])
        return True

    def _fitted(self, l: int, target: _Rationals) -> _Fit | None:
        """Weights over a layer with which a neuron has this output."""
        must = self._must(target)
        table = np.concatenate([self._read(l, must), target[None, must]])
        reduced, rank = _modular(table.T).rref()
        if rank and all(reduced[rank - 1, k] == 0 for k in range(len(table) - 1)):
            return None
        found = solution(reduced_rows(table[:, pivots(*_modular(table).rref())].T))
        if found is None:
            return None
        weights, free = found
        both = np.concatenate([weights[None], free])
        given = np.insert(both, len(weights), [-1, *([0] * len(free))], axis=1)
        if not _vanish(given, table):
            return None
        return _Fit(weights, free, _flint(self.outputs[l][:, ~must].T)).signed()


def _all(fits: Iterable[_Fit | None]) -> list[_Fit] | None:
    """All of them, unless one is None; what comes after is not computed."""
    found = list[_Fit]()
    for fit in fits:
        if fit is None:
            return None
        found.append(fit)
    return found


def _modular(table: _Rationals) -> Any:
    return nmod_mat(*table.shape, (table % _PRIME).ravel().tolist(), _PRIME)


def _flint(table: _Rationals) -> Any:
    return fmpz_mat(*table.shape, [int(v) for v in table.ravel()])


def _array(table: Any) -> _Rationals:
    return np.array([int(v) for v in table.entries()], dtype=object).reshape(table.nrows(), table.ncols())


def _scaled(rows: _Rationals) -> _Rationals:
    """Rationals times one common denominator."""
    return np.asarray(rows * math.lcm(*(v.denominator for v in rows.ravel())), dtype=object)


def _vanish(rows: _Rationals, table: _Rationals) -> bool:
    """Whether ``rows . table`` is 0."""
    return not any((_flint(_scaled(rows)) * _flint(table)).entries())
