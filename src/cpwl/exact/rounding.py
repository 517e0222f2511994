"""Rounding in a known direction: numbers that are short, and never on the wrong side of the exact ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

__all__ = ["doubles_around", "outwards", "upwards"]

_HUGE = 10**300


def upwards(x: Fraction) -> Fraction:
    """A rational with at most 53 binary digits that is not smaller than `x`, the next double but one at most.

    Zero stays zero, and what no double reaches stays as it is.

    >>> upwards(Fraction(1, 2)) - Fraction(1, 2) == Fraction(1, 2**53), upwards(Fraction(0))
    (True, Fraction(0, 1))
    """
    if x == 0 or abs(x) > _HUGE:
        return x
    return Fraction(math.nextafter(float(x), math.inf))


def doubles_around(
    low: Iterable[Fraction | float], high: Iterable[Fraction | float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Doubles below the numbers `low` and above the numbers `high`: a box of floats around a box of rationals.

    >>> low, high = doubles_around([Fraction(1, 3)], [Fraction(1, 3)])
    >>> bool(low[0] < Fraction(1, 3) < high[0])
    True
    """
    below = np.array([math.nextafter(float(v), -math.inf) for v in low], dtype=np.float64)
    above = np.array([math.nextafter(float(v), math.inf) for v in high], dtype=np.float64)
    return below, above


def outwards(value: Any, bits: int = 16) -> Any:
    """The next number (of flint) away from zero with few binary digits.

    >>> outwards(fmpq(1, 3), 4), outwards(fmpq(-37), 3)
    (11/32, -40)
    """
    top, bottom = abs(int(value.p)), int(value.q)
    shift = bits - (top.bit_length() - bottom.bit_length())
    scaled, below = (top << shift, bottom) if shift >= 0 else (top, bottom << -shift)
    whole = -(-scaled // below)
    result = fmpq(whole, 1 << shift) if shift >= 0 else fmpq(whole << -shift)
    return result if value >= 0 else -result
