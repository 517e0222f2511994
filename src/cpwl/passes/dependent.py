"""Neurons that are linear combinations of others: what several neurons pass unchanged need be passed only once.

A pair ``relu(z)``, ``relu(-z)`` passes `z`, their difference, and so does a neuron that is always on. If a layer passes
more functions than are linearly independent, up to constants, one of them follows from the others, and with it one of
its neurons: ``relu(-z) = relu(z) - z``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq_mat

from cpwl.exact.flint import from_flint, to_flint
from cpwl.geometry.box import Range
from cpwl.geometry.polyhedra import Domain
from cpwl.network import Network
from cpwl.network.network import ExactLayer, exact_layers
from cpwl.passes.ranges import ranges
from cpwl.passes.rewrite import Layers, Removal, proportional, rewrite

__all__ = ["Passed", "passed_functions", "remove_dependent"]


@dataclass(frozen=True, slots=True)
class Passed:
    """The layer passes what `neuron` reads: ``z = relu(z) - factor relu(opposite)``; no opposite: it is always on."""

    neuron: int
    opposite: int | None
    factor: Fraction


def remove_dependent(network: Network, domain: Domain = None) -> Network:
    """The same function with no function passed that follows from others that are passed.

    >>> rows = [[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1]]
    >>> network = Network([(rows, [0] * 6), ([[1, 2, 3, 4, 5, 6]], [0])])
    >>> remove_dependent(network).sizes.neurons
    5
    """
    bounds = ranges(list(exact_layers(network)), domain)
    return rewrite(network, lambda layers, l: _dependent(layers, l, bounds[l]))


def passed_functions(layer: ExactLayer, bounds: list[Range]) -> list[Passed]:
    """Which affine functions the layer passes unchanged. Proportional neurons must have been merged."""
    weight, bias = layer
    seen: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, Fraction]] = {}
    found = []
    for k in range(len(bias)):
        if weight.indptr[k] == weight.indptr[k + 1]:
            continue
        low = bounds[k][0]
        if low is not None and low >= 0:
            found.append(Passed(k, None, Fraction(0)))
            continue
        columns, row, factor = proportional(layer, k)
        opposite = (columns, tuple(-v for v in row))
        if opposite in seen:
            i, unit = seen.pop(opposite)
            found.append(Passed(i, k, unit / factor))
        else:
            seen[columns, row] = (k, factor)
    return found


def _dependent(layers: Layers, l: int, bounds: list[Range]) -> Removal | None:
    """One neuron of every passed function that is a combination of earlier ones."""
    weight, bias = layers[l]
    passed = passed_functions(layers[l], bounds)
    if len(passed) < 2:
        return None
    rows = weight.take_rows([f.neuron for f in passed])
    used = np.unique(rows.indices)
    columns = np.searchsorted(used, rows.indices)
    matrix = fmpq_mat(len(used), len(passed))  # one column a function
    for i, j, v in zip(rows.rows, columns, rows.data, strict=True):
        matrix[int(j), int(i)] = to_flint(v)
    reduced, rank = matrix.rref()
    if rank == len(passed):
        return None
    pivots = [next(j for j in range(len(passed)) if reduced[i, j] != 0) for i in range(rank)]
    terms: dict[int, dict[int, Fraction]] = {}
    constant: dict[int, Fraction] = {}
    for u in sorted(set(range(len(passed))) - set(pivots)):
        own = passed[u]
        shares = {pivots[i]: from_flint(reduced[i, u]) for i in range(rank) if reduced[i, u]}
        value: dict[int, Fraction] = {}
        rest = Fraction(bias[own.neuron])
        for p, c in shares.items():  # what own passes, in terms of what the pivots pass
            rest -= c * bias[passed[p].neuron]
            value[passed[p].neuron] = value.get(passed[p].neuron, Fraction(0)) + c
            other = passed[p].opposite
            if other is not None:
                value[other] = value.get(other, Fraction(0)) - c * passed[p].factor
        if own.opposite is None:
            terms[own.neuron], constant[own.neuron] = value, rest
        else:  # relu(opposite) = (relu(z) - z) / factor
            terms[own.opposite] = {k: -v / own.factor for k, v in value.items()} | {own.neuron: 1 / own.factor}
            constant[own.opposite] = -rest / own.factor
    return Removal(terms, constant)
