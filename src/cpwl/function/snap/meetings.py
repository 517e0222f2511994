"""Where the laws of a float complex meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.function.snap.faces import Face

__all__ = ["Meetings"]


@dataclass(frozen=True, slots=True, eq=False)
class Meetings:
    """Where laws meet: faces of codimension 2, pairs with a facet in common, and parallel facets far out."""

    faces: Sequence[Face]
    pairs: Sequence[tuple[int, int]]
    parallel: Callable[[NDArray[np.float64]], list[tuple[int, ...]]]
    """For laws of one output, the triples with parallel facets on one unbounded region."""
    unbounded: bool
