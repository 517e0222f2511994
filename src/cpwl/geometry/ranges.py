"""Runs of numbers one after the other: how stacked lists are gathered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["ranges"]


def ranges(start: NDArray[np.int64], length: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers ``start[i], ..., start[i] + length[i] - 1`` one after the other, and `i` for each.

    >>> ranges(np.array([5, 9]), np.array([2, 1]))
    (array([5, 6, 9]), array([0, 0, 1]))
    """
    owner = np.repeat(np.arange(len(start)), length)
    first = np.cumsum(length) - length
    return np.arange(len(owner)) + (start - first)[owner], owner
