"""Which functions with bounded supports may share a neuron: colours of boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["colours"]


def colours(low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.int64]:
    """Few colours for boxes, rows of their lower and upper ends, such that those of one colour overlap nowhere.

    Boxes may touch. Large ones come first, each gets the first colour that is free.

    >>> colours(np.array([[0, 0], [1, 1], [2, 0]]), np.array([[2, 2], [3, 3], [4, 1]]))
    array([0, 1, 0])
    """
    result = np.full(len(low), -1, dtype=np.int64)
    for i in np.argsort(-np.prod(high - low, axis=1), kind="stable"):
        meets = (low < high[i]).all(axis=1) & (high > low[i]).all(axis=1)
        taken = set(result[meets].tolist())
        result[i] = next(k for k in range(len(low)) if k not in taken)
    return result
