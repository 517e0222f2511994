"""Control laws of multiparametric programs: from active sets, JSON documents and PPOPT, all in rationals."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.documents.read import read_json
from cpwl.doors import check_count, check_list, check_path, check_switch, within_float64
from cpwl.errors import CpwlWarning, InputError
from cpwl.exact.rational import negative_direction
from cpwl.files import reading
from cpwl.function.cpwl import CPWL
from cpwl.function.make import polyhedra_from_integers
from cpwl.function.parts import Known, Laws, Parts
from cpwl.geometry.bodies import irredundant
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.probe import Probe
from cpwl.mpqp.explore import explore
from cpwl.mpqp.plan import Plan, mpc
from cpwl.mpqp.program import (
    CONSTANTS,
    NAMES,
    CriticalRegion,
    Program,
    allowed,
    critical_region,
    integer_laws,
)
from cpwl.mpqp.solve import check_program, chosen_outputs, law_of, solve_linear, value_on

# The function of a multiparametric program: the regions of its active sets, with the optimisers or the value.


def distinct_regions(program: Program, active_sets: Sequence[Sequence[int]]) -> list[CriticalRegion | None]:
    """The critical region of each active set; None where it is empty, or that of an earlier one."""
    seen: set[Any] = set()
    regions: list[CriticalRegion | None] = []
    for active in active_sets:  # each has a system of equations of its own
        region = critical_region(program, [int(i) for i in active])
        key = None if region is None else (region.tight, tuple(region.law.entries()))
        regions.append(None if region is None or key in seen else region)
        seen.add(key)
    return regions


def law_of_regions(
    program: Program, regions: Sequence[CriticalRegion | None], outputs: Any, complete: bool = False
) -> CPWL:
    """The function with these regions: decision variables `outputs`, all if None, or the optimal value ("value").

    If it is to be complete, and `Q` is positive definite, missing regions are added. Otherwise the domain is what the
    constraints allow, as far as the facets of the regions tell: a region that is missing at its boundary is a gap, too.
    The value of a linear program with parameters in right-hand sides is convex and has one law for each multiplier of
    the program: it is solved for, whatever regions there are, however they overlap, and although optimisers may jump.
    """
    there = [region for region in regions if region is not None]
    if not there:
        raise InputError("no active set has a region: there is no function")
    if outputs == "value" and program.is_linear and not any(program.H.entries()):
        return solve_linear(program, outputs, {}).merge()
    if complete and outputs != "value" and negative_direction(program.Q) is None:
        return _completed(program, regions, outputs)
    laws = [value_on(program, region.law, i) if outputs == "value" else region.law for i, region in enumerate(there)]
    chosen = [0] if outputs == "value" else chosen_outputs(outputs, program.moves)
    dim = program.inputs
    polyhedra = polyhedra_from_integers([region.rows.tolist() for region in there], dim)
    probe = Probe(0.0)
    inner = [probe.interior(body) for body in polyhedra]
    solid = np.array([i for i, point in enumerate(inner) if point is not None], dtype=np.int64)
    _tell_dropped(len(regions), len(regions) - len(solid))
    if len(solid) == 0:
        raise InputError("no active set has a region with an interior: there is no function")
    points = np.array([inner[i] for i in solid], dtype=object)
    polyhedra = irredundant(polyhedra.take(solid), points)
    domain = allowed(program, polyhedra)
    exact = np.array([integer_laws(laws[i])[chosen] for i in solid], dtype=object)
    return CPWL.from_parts(Parts(polyhedra, Laws.from_integer(exact), domain, 0.0, None, Known(points)))


def _tell_dropped(count: int, dropped: int) -> None:
    if dropped:
        message = f"{dropped} of {count} active sets have no region of their own, and were dropped"
        warnings.warn(message, CpwlWarning, stacklevel=5)


def _completed(program: Program, given: Sequence[CriticalRegion | None], outputs: Any) -> CPWL:
    """The function of all regions of the program; a warning says which were missing."""
    chosen = chosen_outputs(outputs, program.moves)
    seeds = {tuple(sorted(region.tight)) for region in given if region is not None}
    regions = explore(program, sorted(seeds))
    missing = [region for region in regions if region.tight not in seeds]
    _tell_dropped(len(given), len(given) - len(regions) + len(missing))
    if missing:
        radii = sorted((_radius(region.rows) for region in missing), reverse=True)
        are = "1 region was missing and has" if len(missing) == 1 else f"{len(missing)} regions were missing and have"
        message = f"{are} been added: the largest has radius {radii[0]:.3g} (in the largest coordinate)"
        thin = sum(radius < _THIN for radius in radii)
        message += f"; {thin} {'is' if thin == 1 else 'are'} thinner than {_THIN:g}" if 0 < thin < len(radii) else ""
        warnings.warn(message, CpwlWarning, stacklevel=5)
    return law_of(program, regions, chosen)


_THIN = 1e-15  # a region that solvers in floats cannot see


def _radius(rows: NDArray[np.object_]) -> float:
    """The radius of a largest ball inside ``a.x <= b``, in the largest norm, exactly but for the last rounding."""
    wide = np.column_stack([rows[:, :-1], np.abs(rows[:, :-1]).sum(axis=1), rows[:, -1]])
    body = polyhedra_from_integers([wide.tolist()], rows.shape[1])[0]
    best = LinearProgram(body.A, body.b).maximize_exactly(body.integer(), [0] * (rows.shape[1] - 1) + [1])
    return math.inf if best.value is None else float(best.value)


@within_float64()
def from_active_sets(
    program: Mapping[str, Any],
    active_sets: Sequence[Sequence[int]],
    *,
    outputs: Any = None,
    equalities: int = 0,
    complete: bool = True,
) -> CPWL:
    """The optimiser of ``min 1/2 u'Qu + (H x + c)'u`` over ``A u <= b + F x`` as a function of ``x``, exactly.

    Regions and laws are computed in rationals from the active sets, so the function is exactly consistent and
    equality can be proved. Floats count with their exact values; write "0.1" or a `Fraction` for other numbers.

    Parameters
    ----------
    program
        The matrices `Q` (absent: a linear program), `H`, `c`, `A`, `F`, `b`, and `A_t`, `b_t` with
        ``A_t x <= b_t``; for values of linear programs also `c_t` and `c_c`, which add ``c_t'x + c_c``.
    active_sets
        For each region, the indices of the rows of `A` that are tight.
    outputs
        Which decision variables: a number, a list, a slice, or all if None. "value": the optimal value of a linear
        program, which is continuous where its optimisers may jump. If `H` is 0, it is solved for without active sets.
    equalities
        The number of rows, from the first, that are equations.
    complete
        Where `Q` is positive definite, missing regions are found and added, with a warning that says how many and how
        large they are, and it is proved that none is missing (see `cpwl.solve_mpqp`). With ``complete=False``, and for
        other programs, regions that are missing are gaps for `doctor`.

    Returns
    -------
    CPWL
        The function, complete, or not examined yet.

    Raises
    ------
    InputError
        If shapes do not match, or an active set does not determine the optimiser.

    >>> box = {"A": [[1], [-1]], "b": [1, 1], "F": [[0], [0]], "A_t": [[1], [-1]], "b_t": [4, 4]}
    >>> p = from_active_sets({"Q": [[1]], "H": [[-1]], "c": [0], **box}, [[], [0], [1]])
    >>> p([[-3.0], [0.5], [2.0]]).ravel()
    array([-1. ,  0.5,  1. ])
    """
    check_program(program)
    check_list(active_sets, "active_sets")
    check_count(equalities, "equalities", least=0)
    check_switch(complete, "complete")
    for active in active_sets:
        check_list(active, "active_sets")
        for row in active:
            check_count(row, "active_sets", least=0)
    made = Program.from_matrices(dict(program), equalities)
    return law_of_regions(made, distinct_regions(made, active_sets), outputs, complete)


# Control laws in JSON, as programs around PPOPT save them: the matrices of the program, and active sets.


def read_mpqp(path: str | os.PathLike[str], *, complete: bool = True) -> CPWL:
    """The control law in a JSON file ``{"proc": matrices, "pieces": [{"act": rows}, ..], "m": outputs}``.

    `proc` has the matrices of the program as `from_active_sets` takes them, and active sets refer to its rows. Of the
    decision variables the first `m` are taken, all if it is not there. Decimal numbers are read as decimals: 0.1 is one
    tenth. What else is in the file is not looked at. Missing regions are added, as `from_active_sets` does.
    """
    check_path(path, "read_mpqp")
    data = read_json(path, decimal=str)
    with reading(path):
        program, active, outputs = _parts(data)
        return from_active_sets(program, active, outputs=outputs, complete=complete)


def _parts(data: Any) -> tuple[dict[str, Any], list[list[int]], Any]:
    if not isinstance(data, dict) or not isinstance(data.get("proc"), dict) or not isinstance(data.get("pieces"), list):
        raise InputError('a control law has "proc", the matrices of its program, and "pieces", with an active set each')
    for number, piece in enumerate(data["pieces"]):
        if not isinstance(piece, dict) or not isinstance(piece.get("act"), list):
            raise InputError(f'pieces[{number}] has no list "act" of active rows', piece=number)
    wrong = [name for name in NAMES if name in data["proc"] and not _is_numbers(data["proc"][name])]
    if wrong:
        raise InputError(f'"{wrong[0]}" of the program must be a list of numbers, or of rows of them', name=wrong[0])
    first = data.get("m")
    if first is not None and (not isinstance(first, int) or isinstance(first, bool) or first < 1):
        raise InputError('"m", the number of outputs, must be a whole number of at least 1')
    outputs = None if first is None else slice(0, first)
    return data["proc"], [piece["act"] for piece in data["pieces"]], outputs


def _is_numbers(value: Any) -> bool:
    rows = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    return all(isinstance(row, list) and all(type(v) in (int, str) for v in row) for row in rows)


# Plants in JSON: the arguments of `cpwl.mpc` by name.


_PLANT = ("A", "B", "Q", "R", "N", "u", "x", "du", "P", "terminal", "x0", "soft", "reference")


def read_plant(path: str | os.PathLike[str]) -> Plan:
    """The controller in a JSON file with the arguments of `cpwl.mpc`: ``{"A": .., "B": .., "Q": .., "R": .., "N": 5}``.

    Bounds are lists ``[low, high]`` or ``[G, h]``. Decimal numbers are read as decimals: 0.1 is one tenth. A "note" is
    not looked at.
    """
    check_path(path, "read_plant")
    data = read_json(path, decimal=str)
    with reading(path):
        if not isinstance(data, dict):
            raise InputError(f"a plant is an object with {', '.join(_PLANT[:5])} and constraints")
        if "format" in data:
            raise InputError('this is a file of another kind (it has a "format"), not a plant: `cpwl info` says which')
        wrong = sorted(data.keys() - {*_PLANT, "note"})
        if wrong:
            raise InputError(f'"{wrong[0]}" is not known: a plant has {", ".join(_PLANT)}', name=wrong[0])
        if isinstance(data.get("N"), str):  # a decimal
            raise InputError(f'"N" must be a whole number, not {data["N"]:.50}')
        try:
            return mpc(**{key: data[key] for key in _PLANT if key in data})
        except TypeError as error:
            raise InputError(str(error)) from error


# PPOPT's solutions, by their active sets; PPOPT itself is not needed.


_NEAR = 1e-3  # a law that is farther off than this, relative, belongs to another program


@within_float64()
def from_ppopt(solution: Any, *, outputs: Any = None, complete: bool = True) -> CPWL:
    """The exact control law of a PPOPT `Solution`, recomputed from its active sets instead of its floats.

    Regions and laws are recomputed in rationals from the active sets and the matrices of ``solution.program``. The
    function is exactly consistent, so that it compiles to a small network and equality can be proved. Regions
    that PPOPT missed are found and added. (PPOPT marks every solution as overlapping; this mark is ignored. Several
    active sets for one region are united.)

    Parameters
    ----------
    solution : ppopt.solution.Solution
        The result of PPOPT's `solve_mpqp`.
    outputs
        Which decision variables: a number, a list, a slice (``slice(0, m)`` is the first move of `m` inputs), or all if
        None. "value": the optimal value of a linear program; its optimisers may jump where they are not unique, and
        then `doctor` and `compile` refuse them, but its value never does.
    complete
        Add missing regions of a strictly convex program, with a warning that says how many and how large they are.
        With ``complete=False`` they are gaps for `doctor`, with a witness.

    Returns
    -------
    CPWL
        The function, meant exactly; its domain is the set of parameters that the constraints allow.

    Raises
    ------
    InputError
        For mixed-integer programs, whose optimisers jump, and if active sets do not fit the matrices.
    """
    check_switch(complete, "complete")
    program, regions = getattr(solution, "program", None), getattr(solution, "critical_regions", None)
    if program is None or regions is None:
        kind = type(solution).__name__
        raise InputError(f"`from_ppopt` takes a PPOPT Solution, with `program` and `critical_regions`, not a {kind}")
    if any(getattr(region, "y_fixation", None) is not None for region in regions):
        raise InputError("this is the solution of a mixed-integer program: its optimiser jumps, and is not continuous")
    if len(regions) == 0:
        raise InputError("this solution has no critical regions: PPOPT has found none")
    matrices = {name: getattr(program, name, None) for name in (*NAMES, *CONSTANTS)}
    made = Program.from_matrices(matrices, len(getattr(program, "equality_indices", None) or ()))
    found = distinct_regions(made, [region.active_set for region in regions])
    _check_laws(regions, found)
    return law_of_regions(made, found, outputs, complete)


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
