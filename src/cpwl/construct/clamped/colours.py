"""Which bumps may share a neuron: colours of boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["colours"]


def colours(boxes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Few colours for boxes ``(low_x, low_y, high_x, high_y)`` such that those of one colour overlap nowhere.

    Boxes may touch. Large ones come first, each gets the first colour that is free.

    >>> colours(np.array([[0, 0, 2, 2], [1, 1, 3, 3], [2, 0, 4, 1]]))
    array([0, 1, 0])
    """
    result = np.full(len(boxes), -1, dtype=np.int64)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for i in np.argsort(-area, kind="stable"):
        low, high = boxes[i, :2], boxes[i, 2:]
        meets = (boxes[:, :2] < high).all(axis=1) & (boxes[:, 2:] > low).all(axis=1)
        taken = set(result[meets].tolist())
        result[i] = next(k for k in range(len(boxes)) if k not in taken)
    return result
