"""Neurons that are always off, or always on, on a domain."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.exact.flint import from_flint, to_flint
from cpwl.exact.sparse import RationalMatrix, stack_rows
from cpwl.geometry.box import Range
from cpwl.geometry.polyhedra import Domain
from cpwl.network import Network
from cpwl.network.network import ExactLayer, exact_layers
from cpwl.passes.ranges import ranges
from cpwl.passes.rewrite import Layers, Removal, rebuilt, rewrite

__all__ = ["fold_stable"]


def fold_stable(network: Network, domain: Domain = None) -> Network:
    """The same function on the domain, without neurons that are always off, and with few that are always on.

    1. ``z <= 0`` on the domain: the output is 0.
    2. ``z >= 0`` on the domain: the output is `z`. If the weights `C` with which the next layer reads all such neurons
       of a layer have rank `r`, ``C = B R``, then `r` neurons ``R z + shift`` pass all that is read, with a shift that
       keeps them positive.

    >>> network = Network([([[1], [1], [-1]], [1, 2, -2]), ([[1, 1, 1]], [0])])
    >>> fold_stable(network, ([[1], [-1]], [1, 1])).sizes.neurons
    1
    """
    bounds = ranges(list(exact_layers(network)), domain)
    off = rewrite(network, lambda _, l: _off(bounds[l]))
    if len(off.layers) < len(network.layers):
        return off
    bounds = ranges(list(exact_layers(off)), domain) if off is not network else bounds
    layers: Layers = list(exact_layers(off))
    changed = False
    for l in range(len(layers) - 1):
        fewer = _on(layers[l], layers[l + 1], bounds[l])
        if fewer is not None:
            layers[l : l + 2] = fewer
            changed = True
    return rebuilt(off, layers) if changed else off


def _off(bounds: list[Range]) -> Removal | None:
    idle = [k for k, (_, high) in enumerate(bounds) if high is not None and high <= 0]
    return Removal({k: {} for k in idle}, {}) if idle else None


def _on(layer: ExactLayer, after: ExactLayer, bounds: list[Range]) -> tuple[ExactLayer, ExactLayer] | None:
    """The layer and the next with `r` neurons in place of all that are always on; None if that is not fewer."""
    on = [k for k, (low, _) in enumerate(bounds) if low is not None and low >= 0]
    if len(on) < 2:
        return None
    reads = after[0].toarray()[:, on]
    basis, factors = _factored(reads)
    if not 0 < len(basis) < len(on):
        return None
    shift = [_least(row, [bounds[k] for k in on]) for row in basis]
    if any(s is None for s in shift):
        return None
    moved = np.array([-s for s in shift if s is not None], dtype=object)
    rest = np.setdiff1d(np.arange(len(bounds)), on)
    weight, bias = layer
    mixed = RationalMatrix.from_dense(basis) @ weight.take_rows(on)
    own = (stack_rows([weight.take_rows(rest), mixed]), np.concatenate([bias[rest], basis.dot(bias[on]) + moved]))
    columns = np.concatenate([after[0].toarray()[:, rest], factors], axis=1)
    return own, (RationalMatrix.from_dense(columns), after[1] - factors.dot(moved))


def _factored(matrix: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """`R` and `B` with ``matrix = B R``, `R` in reduced echelon form and without rows of 0."""
    rows, columns = matrix.shape
    reduced, rank = fmpq_mat(rows, columns, [to_flint(v) for v in matrix.ravel()]).rref()
    entries = [from_flint(reduced[i, j]) for i in range(rank) for j in range(columns)]
    basis = np.array(entries, dtype=object).reshape(rank, columns)
    pivots = [next(j for j in range(columns) if basis[i, j] != 0) for i in range(rank)]
    return basis, matrix[:, pivots]


def _least(row: NDArray[np.object_], bounds: list[Range]) -> Fraction | None:
    """A lower bound of a combination of neurons, at most 0; None if there is none."""
    total = Fraction(0)
    for c, (low, high) in zip(row, bounds, strict=True):
        end = low if c > 0 else high
        if c and end is None:
            return None
        total += c * end if c and end is not None else 0
    return min(total, Fraction(0))
