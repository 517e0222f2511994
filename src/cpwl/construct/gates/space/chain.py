"""A chain of rows as a network: scaled by powers of two, its sizes, its weights in floats and in rationals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.construct.blocks.rational import Rational
from cpwl.construct.gates.space.first_layer import Row
from cpwl.exact.flint import from_flint
from cpwl.exact.sparse import RationalMatrix
from cpwl.network import Network, Sizes

__all__ = ["Chain", "float_layers", "network_of", "scaled", "sizes_of"]

Chain = list[list[Row]]
"""The rows of every layer, the inputs' layer first and the outputs last."""


def scaled(chain: Chain) -> Chain:
    """The same network with every hidden neuron scaled by a power of two, so that its largest weight is about 1."""
    scale: list[int] | None = None  # exponents of the layer before; None for the inputs
    result = []
    for k, rows in enumerate(chain):
        new, exponents = [], []
        for row in rows:
            weights = row.weights
            if scale is not None:
                weights = {j: w * _power(scale[j]) if scale[j] else w for j, w in weights.items()}
            e = _exponent(weights.values()) if k + 1 < len(chain) else 0
            exponents.append(e)
            if e:
                down = _power(-e)
                new.append(Row({j: w * down for j, w in weights.items()}, row.bias * down))
            else:
                new.append(Row(weights, row.bias))
        result.append(new)
        scale = exponents
    return result


def sizes_of(chain: Chain) -> Sizes:
    """What the network of these rows costs.

    >>> sizes_of([[Row({0: fmpq(1)}, fmpq(0)), Row({0: fmpq(-1)}, fmpq(2))], [Row({0: fmpq(3)}, fmpq(0))]])
    Sizes(neurons=2, depth=2, width=2, nonzeros=3)
    """
    hidden = [len(rows) for rows in chain[:-1]]
    nonzeros = sum(len(row.weights) for rows in chain for row in rows)
    return Sizes(sum(hidden), len(chain), max(hidden, default=0), nonzeros)


def float_layers(chain: Chain, inputs: int) -> list[tuple[csr_array, NDArray[np.float64]]]:
    """The weights and biases in floats."""
    layers, width = [], inputs
    for rows in chain:
        start, columns = _places(rows)
        data = np.array([int(v.p) / int(v.q) for v in _entries(rows)], dtype=np.float64)
        weight = csr_array((data, columns, start), shape=(len(rows), width))
        layers.append((weight, np.array([int(row.bias.p) / int(row.bias.q) for row in rows])))
        width = len(rows)
    return layers


def network_of(chain: Chain, inputs: int) -> Network:
    """The network of some rows, in rationals."""
    layers, width = [], inputs
    for rows in chain:
        start, columns = _places(rows)
        owner = np.repeat(np.arange(len(rows)), np.diff(start))
        values = np.array([from_flint(v) for v in _entries(rows)], dtype=object)
        weight = RationalMatrix.from_triples(owner, columns, values, (len(rows), width))
        layers.append((weight, np.array([from_flint(row.bias) for row in rows], dtype=object)))
        width = len(rows)
    return Network(layers)


def _places(rows: Sequence[Row]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    start = np.cumsum([0, *(len(row.weights) for row in rows)], dtype=np.int64)
    return start, np.array([j for row in rows for j in row.weights], dtype=np.int64)


def _entries(rows: Sequence[Row]) -> list[Rational]:
    return [v for row in rows for v in row.weights.values()]


def _exponent(values: Iterable[Rational]) -> int:
    """The exponent of two that the largest of some numbers has, about."""
    largest = max((abs(w) for w in values), default=fmpq(1))
    return int(largest.p).bit_length() - int(largest.q).bit_length()


@lru_cache(maxsize=4096)
def _power(e: int) -> Rational:
    return fmpq(1 << e) if e >= 0 else fmpq(1, 1 << -e)
