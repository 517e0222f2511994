"""Components of float data as they were meant: coefficients next to a simple number, such as 0, are that number.

Laws that a solver leaves constant but for rounding are constant then, and cost a lattice nothing to carry. A function
of the data alone, so that a proof finds the same laws in a network.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL
from cpwl.function.snap.short import meant
from cpwl.function.snap.snap import snap

__all__ = ["meant_components"]


def meant_components(p: CPWL, output: int) -> NDArray[np.object_]:
    """The components of one output as rows ``(gradient, offset)`` of rationals; as they are where the data is exact.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[3.0]], [[-1.0]]], [[1.0], [-0.3333333333333333]], [[1e-16], [3.1]], [0.0, -3.1 / 3])
    >>> meant_components(p, 0)[0]
    array([Fraction(0, 1), Fraction(0, 1)], dtype=object)
    """
    if p.tol and snap(p, p.tol).way != "exact":
        return meant(p, output)
    rows = p.components(output).integer()[:, 0]
    return np.asarray(fraction_array(rows[:, :-1]) / rows[:, -1:])
