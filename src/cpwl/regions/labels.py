"""Which laws are equal, as rationals: floats with error bounds find the candidates, integers decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.function.parts import Laws
from cpwl.network.network import Network
from cpwl.regions.forms import EPS

__all__ = ["label_laws", "read_neurons"]


def label_laws(
    laws: Laws,
    error: NDArray[np.float64],
    network: Network,
    signs: NDArray[np.int8],
    exactly: Callable[[NDArray[np.int64]], NDArray[np.object_]],
) -> NDArray[np.int64]:
    """For each piece and output a number, equal iff the laws are, in order of first appearance.

    `error` bounds what the floats are off. Where an output reads the same neurons, by `signs`, its law is the same;
    `exactly` gives integer rows for some of the pieces.
    """
    count, outputs = laws.offset.shape
    if laws.exact is not None:
        return np.stack([_number_rows(laws.exact[:, j]) for j in range(outputs)], axis=1)
    view, reading = laws.coefficients(), read_neurons(network, signs)
    # Along a fixed generic direction equal laws are equal: a sort finds all that may be.
    generic = np.cos(1.0 + 2.3 * np.arange(view.shape[2]))
    result = np.empty((count, outputs), dtype=np.int64)
    for j in range(outputs):
        # Of pieces that read the same one is enough.
        _, first, member = np.unique(reading[:, j], return_index=True, return_inverse=True)
        at = view[first, j] @ generic
        unsure = error[first, j] @ np.abs(generic)
        unsure += 8 * view.shape[2] * EPS * (np.abs(view[first, j]) @ np.abs(generic))
        unsure = np.where(np.isfinite(unsure) & np.isfinite(at), unsure, np.inf)
        result[:, j] = _in_order(_decide(at, unsure, j, first, exactly)[member.ravel()])
    return result


def _decide(
    at: NDArray[np.float64],
    unsure: NDArray[np.float64],
    j: int,
    pieces: NDArray[np.int64],
    exactly: Callable[[NDArray[np.int64]], NDArray[np.object_]],
) -> NDArray[np.int64]:
    """Labels of laws that are `unsure` far from `at`; `pieces` says whose they are."""
    order = np.argsort(np.where(np.isfinite(at), at, 0.0), kind="stable")
    # A class goes on while some earlier member still reaches the next one.
    reach = np.maximum.accumulate((at + unsure)[order])
    new = np.concatenate([[True], ~((at - unsure)[order][1:] <= reach[:-1])])
    if np.isinf(unsure).any():
        new[1:] = False
    group = np.empty(len(at), dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    size = np.bincount(group)
    shared = np.flatnonzero(size[group] > 1)
    label = group * (len(at) + 1)
    if len(shared):
        label[shared] += _number_rows(exactly(pieces[shared])[:, j])
    return label


def _in_order(label: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same labels numbered in order of first appearance."""
    first, inverse = np.unique(label, return_index=True, return_inverse=True)[1:]
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]


def read_neurons(network: Network, signs: NDArray[np.int8]) -> NDArray[np.int64]:
    """For each piece and output a number, equal iff the output reads the same neurons that are on, directly or not.

    >>> hat = Network([([[1.0], [1.0]], [0.0, -1.0]), ([[1.0, -1.0]], [-2.0]), ([[1.0]], [0.0])])
    >>> read_neurons(hat, np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [1, 1, 1]])).ravel()
    array([0, 0, 0, 1])
    """
    weights = [_pattern(weight) for weight, _ in network.exact or network.layers]
    ends = np.cumsum([0, *(weight.shape[0] for weight in weights[:-1])])
    result = np.empty((len(signs), network.outputs), dtype=np.int64)
    for j in range(network.outputs):
        read = np.zeros(signs.shape, dtype=bool)
        reads = np.broadcast_to(weights[-1][[j]].toarray() != 0, (len(signs), weights[-1].shape[1]))
        for l in range(len(weights) - 2, -1, -1):
            own = slice(ends[l], ends[l + 1])
            read[:, own] = reads & (signs[:, own] > 0)
            if l:
                reads = np.asarray(weights[l].T @ read[:, own].T.astype(np.int32)).T > 0
        packed = np.packbits(read, axis=1)
        result[:, j] = np.unique(packed, axis=0, return_inverse=True)[1].ravel()
    return result


def _pattern(weight: Any) -> csr_array[Any, tuple[int, int]]:
    """1 where a weight is not 0, as a number of its own kind."""
    ones = np.asarray(weight.data != 0).astype(np.int32)
    return csr_array((ones, weight.indices, weight.indptr), shape=weight.shape)


def _number_rows(rows: NDArray[np.object_]) -> NDArray[np.int64]:
    numbers: dict[tuple[int, ...], int] = {}
    return np.array([numbers.setdefault(tuple(row), len(numbers)) for row in rows], dtype=np.int64)
