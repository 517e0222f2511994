"""Control laws from a program and its active sets, whoever has found them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cpwl.doors import check_count, check_list, within_float64
from cpwl.errors import InputError
from cpwl.function.cpwl import CPWL
from cpwl.sources.mpqp.law import distinct_regions, law_of_regions
from cpwl.sources.mpqp.program import Program

__all__ = ["from_active_sets"]


@within_float64()
def from_active_sets(
    program: Mapping[str, Any], active_sets: Sequence[Sequence[int]], *, outputs: Any = None, equalities: int = 0
) -> CPWL:
    """The optimiser of ``min 1/2 u'Qu + (H x + c)'u`` over ``A u <= b + F x`` as a function of ``x``, exactly.

    Regions and laws are computed in rationals from the active sets, so the function is consistent by construction and
    what is proved about it is equality. Floats are the rationals that they are; write "0.1" or a `Fraction` for others.

    Parameters
    ----------
    program
        The matrices `Q` (absent: a linear program), `H`, `c`, `A`, `F`, `b`, and `A_t`, `b_t` with
        ``A_t x <= b_t``; for values of linear programs also `c_t` and `c_c`, which add ``c_t'x + c_c``.
    active_sets
        For each region the numbers of the rows of `A` that hold as equations.
    outputs
        Which decision variables: a number, a list, a slice, or all if None. "value": the optimal value of a linear
        program, which is continuous where its optimisers may jump.
    equalities
        How many rows, the first ones, are equations.

    Returns
    -------
    CPWL
        The function, not examined yet: regions that are missing are gaps for `doctor`.

    Raises
    ------
    InputError
        Where matrices do not fit, or an active set does not determine the optimiser.

    >>> box = {"A": [[1], [-1]], "b": [1, 1], "F": [[0], [0]], "A_t": [[1], [-1]], "b_t": [4, 4]}
    >>> p = from_active_sets({"Q": [[1]], "H": [[-1]], "c": [0], **box}, [[], [0], [1]])
    >>> p([[-3.0], [0.5], [2.0]]).ravel()
    array([-1. ,  0.5,  1. ])
    """
    if not isinstance(program, Mapping):
        raise InputError(f"`program` must map names to matrices, not be a {type(program).__name__}")
    check_list(active_sets, "active_sets")
    check_count(equalities, "equalities", least=0)
    for active in active_sets:
        check_list(active, "active_sets")
        for row in active:
            check_count(row, "active_sets", least=0)
    made = Program.from_matrices(dict(program), equalities)
    return law_of_regions(made, distinct_regions(made, active_sets), outputs)
