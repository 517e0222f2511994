"""PPOPT's solutions, by their active sets; PPOPT itself is not needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cpwl.doors import within_float64
from cpwl.errors import InputError
from cpwl.function.cpwl import CPWL
from cpwl.sources.mpqp.critical_region import CriticalRegion
from cpwl.sources.mpqp.law import distinct_regions, law_of_regions
from cpwl.sources.mpqp.program import Program

__all__ = ["from_ppopt"]

_MATRICES = ("Q", "H", "c", "A", "F", "b", "A_t", "b_t", "c_t", "c_c", "Q_t")
_NEAR = 1e-3  # a law that is farther off than this, relative, belongs to another program


@within_float64()
def from_ppopt(solution: Any, *, outputs: Any = None) -> CPWL:
    """The control law of a PPOPT `Solution`, exactly: not its floats, but what its active sets say.

    Regions and laws are recomputed in rationals from the active sets and the matrices of ``solution.program``. The
    function is exactly consistent, so that it compiles as small as can be and the certificate is of equality. Regions
    that PPOPT has lost are gaps for `doctor`, with a witness; regions that overlap are refused there, too. (PPOPT marks
    every solution as overlapping; that is not looked at. Several active sets for one region are united.)

    Parameters
    ----------
    solution : ppopt.solution.Solution
        What `solve_mpqp` has returned.
    outputs
        Which decision variables: a number, a list, a slice (``slice(0, m)`` is the first move of `m` inputs), or all if
        None. "value": the optimal value of a linear program; its optimisers may jump where they are not unique, and
        then `doctor` and `compile` refuse them, but its value never does.

    Returns
    -------
    CPWL
        The function, meant exactly; its domain is the set of parameters that the constraints allow.

    Raises
    ------
    InputError
        For mixed-integer programs, whose optimisers jump, and where active sets do not fit the matrices.
    """
    program, regions = getattr(solution, "program", None), getattr(solution, "critical_regions", None)
    if program is None or regions is None:
        kind = type(solution).__name__
        raise InputError(f"`from_ppopt` takes a PPOPT Solution, with `program` and `critical_regions`, not a {kind}")
    if any(getattr(region, "y_fixation", None) is not None for region in regions):
        raise InputError("this is the solution of a mixed-integer program: its optimiser jumps, and is not continuous")
    if len(regions) == 0:
        raise InputError("this solution has no critical regions: PPOPT has found none")
    matrices = {name: getattr(program, name, None) for name in _MATRICES}
    made = Program.from_matrices(matrices, len(getattr(program, "equality_indices", None) or ()))
    found = distinct_regions(made, [region.active_set for region in regions])
    _check_laws(regions, found)
    return law_of_regions(made, found, outputs)


def _check_laws(regions: Sequence[Any], found: Sequence[CriticalRegion | None]) -> None:
    """Refuse active sets whose laws are not those that the solver has found: they belong to another program."""
    for number, (region, exact) in enumerate(zip(regions, found, strict=True)):
        if exact is None:
            continue
        law = np.array([[float(v.p) / float(v.q) if v else 0.0 for v in row] for row in exact.law.tolist()])
        given = np.column_stack([np.asarray(region.A, dtype=np.float64), np.ravel(region.b)])
        if given.shape != law.shape or np.abs(given - law).max() > _NEAR * (1 + np.abs(law).max()):
            message = "the matrices of its program give another law, so they are not those that were solved"
            raise InputError(f"critical region {number} has an active set with which {message}", piece=number)
