"""Rationals of flint, many times faster than `Fraction`, and the way there and back."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

__all__ = ["from_flint", "from_flint_array", "to_flint"]


def to_flint(x: Any) -> Any:
    """An int, or a `Fraction`, as an ``fmpq``.

    >>> to_flint(Fraction(2, 6)), to_flint(5)
    (1/3, 5)
    """
    return fmpq(int(x.numerator), int(x.denominator))


def from_flint(x: Any) -> Fraction:
    """An ``fmpq`` or ``fmpz`` as a `Fraction`.

    >>> from_flint(fmpq(1, 3))
    Fraction(1, 3)
    """
    return Fraction(int(x.p), int(x.q))


from_flint_array = np.frompyfunc(from_flint, 1, 1)
"""The same for object arrays of them, entry by entry."""
