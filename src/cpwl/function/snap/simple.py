"""Laws of simple numbers: where every coefficient is next to a decimal, a dyadic number or a small fraction.

Networks with weights such as 0.25 or -1.3 have such laws, and more of their hyperplanes meet in a place than must. No
relation has to be solved then: with all numbers as they were meant, all relations hold.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["simple_laws"]

_Floats = NDArray[np.float64]
_CHANCE = 1e-3  # that a number taken at random is next to one of those that count as simple
_BASES = (2, 10)


def simple_laws(laws: _Floats, slack: _Floats) -> list[list[list[Fraction]]] | None:
    """The simple numbers nearer than `slack` to all coefficients of ``laws[k, j]``; None if one has none.

    >>> simple_laws(np.array([[[0.25 + 1e-14, 1 / 3]]]), np.full((1, 2), 1e-13))
    [[[Fraction(1, 4), Fraction(1, 3)]]]
    """
    known: dict[tuple[float, float], Fraction | None] = {}
    found: list[list[list[Fraction]]] = []
    for law in laws:
        found.append([])
        for row, widths in zip(law.tolist(), slack.tolist(), strict=True):
            numbers = [known.setdefault(key, _simple(*key)) for key in zip(row, widths, strict=True)]
            if None in numbers:
                return None
            found[-1].append([x for x in numbers if x is not None])
    return found


def _simple(x: float, slack: float) -> Fraction | None:
    """The number of the coarsest grid that is near, of powers of 2 or 10, or with the smallest denominator."""
    if slack <= 0:
        return Fraction(x)
    most, exact = _CHANCE / slack, Fraction(x)
    near: list[Fraction] = []
    for base in _BASES:
        step = 1
        while step <= most:
            grid = Fraction(round(exact * step), step)
            if abs(grid - exact) <= slack:
                near.append(grid)
                break
            step *= base
    fraction = exact.limit_denominator(max(1, int(most**0.5)))
    if abs(fraction - exact) <= slack:
        near.append(fraction)
    return min(near, key=lambda y: y.denominator, default=None)
