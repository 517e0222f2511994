"""Bounds rounded outwards to few bits: weights that are exact in every float format, and bounds all the same."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["rounded_up"]

_BITS = 8


def rounded_up(x: float) -> Fraction:
    """A number of 8 bits that is larger than `x`; 0 if `x` is not positive.

    >>> rounded_up(0.3), rounded_up(-2.0)
    (Fraction(77, 256), Fraction(0, 1))
    """
    if not x > 0:
        return Fraction(0)
    mantissa, exponent = math.frexp(x)
    top = math.floor(mantissa * 2**_BITS) + 1
    return Fraction(top) * Fraction(2) ** (exponent - _BITS)
