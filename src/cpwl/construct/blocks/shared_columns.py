"""Several outputs in terms of few: what depends linearly on other outputs is not made again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.exact.flint import from_flint, to_flint

__all__ = ["shared_columns"]


def shared_columns(columns: NDArray[np.object_]) -> tuple[list[int], NDArray[np.object_]]:
    """Columns that are independent, and all of them in terms of these: what is proportional is made only once.

    >>> basis, share = shared_columns(np.array([[1, 2], [3, 6]], dtype=object))
    >>> basis, share.tolist()
    ([0], [[Fraction(1, 1)], [Fraction(2, 1)]])
    """
    count, m = columns.shape
    if m == 1:
        return [0], np.array([[Fraction(1)]], dtype=object)
    entries = [to_flint(v) for v in columns.ravel()]
    reduced, rank = fmpq_mat(count, m, entries).rref()
    basis = [next(j for j in range(m) if reduced[i, j] != 0) for i in range(rank)]
    share = [[from_flint(reduced[i, j]) for i in range(rank)] for j in range(m)]
    return basis, np.array(share, dtype=object).reshape(m, rank)
