"""A function on less of the space, or on all of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cpwl.doors import within_float64
from cpwl.errors import InputError
from cpwl.function.algebra.border import is_border
from cpwl.function.algebra.pieces import common_domain, exactly, function_of, pieces_of
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.first_error import first_error
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.bodies import stacked
from cpwl.geometry.overlay import cut_by, repeated
from cpwl.geometry.polyhedra import Polyhedron, as_domain

__all__ = ["extend", "restrict"]


@within_float64()
def restrict(p: CPWL, domain: Any = None, *, box: Any = None) -> CPWL:
    """The function on a part of its domain: ``(A, b)`` for ``A x <= b``, or ``box=(low, high)``."""
    body = as_domain(domain, p.dim, box=box)
    if body is None:
        return p
    whole = exactly(p)
    number, bodies = pieces_of(whole)
    kept, cells = cut_by(bodies, np.arange(len(bodies)), repeated(body, len(bodies)))
    if not len(cells):
        raise InputError("the function is not defined at any inner point of this domain")
    return function_of(cells, whole.laws.integer()[number[kept]], common_domain(whole.domain, body))


@within_float64()
def extend(p: CPWL) -> CPWL:
    """The function on all of R^n: every piece at the border of the domain goes on with its law."""
    whole = exactly(p)
    number, bodies = pieces_of(whole)
    inner = np.flatnonzero(~is_border(bodies))
    start = np.searchsorted(bodies.polyhedra.owner[inner], np.arange(len(bodies) + 1)).astype(np.int64)
    rows = bodies.rows[inner]
    everywhere = Polyhedron(np.zeros((0, p.dim)), np.zeros(0))
    laws = Laws.from_integer(whole.laws.integer()[number])
    made = CPWL.from_parts(Parts(stacked(rows, start), laws, everywhere, 0.0))
    error = first_error(made)
    if error is not None:
        raise InputError(
            f"the pieces at the border do not go on to a function on all of R^{p.dim}: {error.message}",
            point=error.point,
        )
    return made
