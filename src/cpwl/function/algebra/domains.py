"""A function on less of the space, or on all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpwl.doors import within_float64
from cpwl.errors import InputError
from cpwl.function.algebra.border import is_border
from cpwl.function.algebra.pieces import common_domain, exactly, function_of, pieces_of
from cpwl.function.doctor.examine import first_error
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.bodies import stacked
from cpwl.geometry.overlay import cut_by, repeated
from cpwl.geometry.polyhedra import Polyhedron, as_domain

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["extend", "restrict"]


@within_float64()
def restrict(p: CPWL, domain: Any = None, *, box: Any = None) -> CPWL:
    """The function on a part of its domain: ``(A, b)`` for ``A x <= b``, or ``box=(low, high)``.

    Where the domain reaches beyond that of the function, the function is not defined.

    >>> from cpwl import CPWL
    >>> CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0).restrict(box=("1/3", 5)).num_pieces
    1
    """
    body = as_domain(domain, p.dim, box=box)
    if body is None:
        return p
    whole = exactly(p)
    number, bodies = pieces_of(whole)
    kept, cells = cut_by(bodies, np.arange(len(bodies)), repeated(body, len(bodies)))
    if not len(cells):
        raise InputError("the function is not defined at any inner point of this domain")
    return function_of(whole, cells, whole.laws.integer()[number[kept]], common_domain(whole.domain, body))


@within_float64()
def extend(p: CPWL) -> CPWL:
    """The function on all of R^n: every piece at the border of the domain goes on with its law.

    `InputError` with a point where that is not continuous, or where two pieces would meet beyond the border.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2]], [0, 1, 5]).extend()
    >>> p([["-3"], ["4"]]).ravel()
    array([Fraction(-3, 1), Fraction(13, 1)], dtype=object)
    """
    whole = exactly(p)
    number, bodies = pieces_of(whole)
    inner = np.flatnonzero(~is_border(bodies))
    start = np.searchsorted(bodies.polyhedra.owner[inner], np.arange(len(bodies) + 1)).astype(np.int64)
    rows = bodies.rows[inner]
    everywhere = Polyhedron(np.zeros((0, p.dim)), np.zeros(0))
    laws = Laws.from_integer(whole.laws.integer()[number])
    made = type(p).from_parts(Parts(stacked(rows, start), laws, everywhere, 0.0))
    error = first_error(made)
    if error is not None:
        raise InputError(
            f"the pieces at the border do not go on to a function on all of R^{p.dim}: {error.message}",
            point=error.point,
        )
    return made
