"""Data with a tolerance, made exact for constructions that need exact bends."""

from __future__ import annotations

from cpwl.errors import ConstructionError
from cpwl.function import CPWL

__all__ = ["exact_function"]


def exact_function(p: CPWL) -> CPWL:
    """The function itself, or for data with a tolerance an exactly consistent one near it (`CPWL.snap`).

    >>> p = CPWL.from_breakpoints([0, 1, 2], [0, 1, 0])
    >>> exact_function(p) is p
    True
    """
    if p.tol == 0:
        return p
    snapped = p.snap(p.tol)
    if snapped.function is None:
        raise ConstructionError(f"there is no exact function near this data: {snapped.reason}", tol=p.tol)
    return snapped.function
