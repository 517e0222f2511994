"""Which laws are equal, as rationals: floats with error bounds find the candidates, integers decide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cpwl.function.parts import Laws
from cpwl.regions.forms import EPS

__all__ = ["label_laws"]


def label_laws(
    laws: Laws, error: NDArray[np.float64], exactly: Callable[[NDArray[np.int64]], NDArray[np.object_]]
) -> NDArray[np.int64]:
    """For each piece and output a number, equal iff the laws are, in order of first appearance.

    `error` bounds what the floats are off; `exactly` gives integer rows for some of the pieces.
    """
    count, outputs = laws.offset.shape
    if laws.exact is not None:
        return np.stack([_number_rows(laws.exact[:, j]) for j in range(outputs)], axis=1)
    view = laws.coefficients()
    # Along a fixed generic direction equal laws are equal: a sort finds all that may be.
    generic = np.cos(1.0 + 2.3 * np.arange(view.shape[2]))
    result = np.empty((count, outputs), dtype=np.int64)
    for j in range(outputs):
        at = view[:, j] @ generic
        unsure = error[:, j] @ np.abs(generic) + 8 * view.shape[2] * EPS * (np.abs(view[:, j]) @ np.abs(generic))
        unsure = np.where(np.isfinite(unsure) & np.isfinite(at), unsure, np.inf)
        result[:, j] = _decide(at, unsure, j, exactly)
    return result


def _decide(
    at: NDArray[np.float64],
    unsure: NDArray[np.float64],
    j: int,
    exactly: Callable[[NDArray[np.int64]], NDArray[np.object_]],
) -> NDArray[np.int64]:
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
        label[shared] += _number_rows(exactly(shared)[:, j])
    first, inverse = np.unique(label, return_index=True, return_inverse=True)[1:]
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]


def _number_rows(rows: NDArray[np.object_]) -> NDArray[np.int64]:
    numbers: dict[tuple[int, ...], int] = {}
    return np.array([numbers.setdefault(tuple(row), len(numbers)) for row in rows], dtype=np.int64)
