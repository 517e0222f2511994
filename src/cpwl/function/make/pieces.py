"""Pieces given as half-spaces with laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cpwl.errors import InputError
from cpwl.exact.rational import has_floats
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.polyhedra import Polyhedra, as_domain

__all__ = ["parts_of_pieces"]

_TOL = 1e-9  # of floats, relative


def parts_of_pieces(
    A: Sequence[Any],
    b: Sequence[Any],
    gradient: Any,
    offset: Any,
    domain: tuple[Any, Any] | None,
    tol: float | None,
) -> Parts:
    """Pieces ``A[i] x <= b[i]`` with their laws, shapes checked; nothing that costs an LP.

    Without `tol` rationals are meant exactly and floats within 1e-9. A positive `tol` says that the data is rounded,
    however it is written.
    """
    if tol is not None and not 0 <= tol < 1:
        raise InputError(f"`tol` must be at least 0 and less than 1, not {tol}")
    if len(A) == 0:
        raise InputError("there are no pieces: `A` is empty")
    dim = np.shape(gradient[0])[-1] if len(gradient) and np.ndim(gradient[0]) else None
    if dim is None:
        raise InputError("`gradient` must have one slope vector for each piece")
    polyhedra = Polyhedra.from_lists(A, b, dim=dim)
    laws = Laws.from_lists(gradient, offset, len(polyhedra), dim)
    asserted = as_domain(domain, dim)
    if tol is None:
        tol = _TOL if any(has_floats(v) for v in (A, b, gradient, offset, domain)) else 0.0
    return Parts(polyhedra, laws, asserted, float(tol))
