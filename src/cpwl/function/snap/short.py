"""Short rationals near floats: a fraction of small numbers if one is close by, else a dyadic number on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["Short"]


@dataclass(frozen=True, slots=True)
class Short:
    """How near a number with a denominator up to 1000 must be to be meant, as a multiple of the grid's width."""

    little: float
    fine: float

    def number(self, x: float, fine: float) -> Fraction:
        """The number near `x` to use; `fine` is how far from it does not matter."""
        exact = Fraction(x)
        simple = exact.limit_denominator(1000)
        if abs(simple - exact) <= fine * (self.little / self.fine):
            return simple
        grid = Fraction(2) ** math.floor(math.log2(fine))
        return round(exact / grid) * grid

    def vector(self, x: NDArray[np.float64], fine: NDArray[np.float64]) -> list[Fraction]:
        return [self.number(v, d) for v, d in zip(x.tolist(), fine.tolist(), strict=True)]
