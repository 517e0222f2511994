"""The function of a multiparametric program: the regions of its active sets, with the optimisers or the value."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from cpwl.errors import CpwlWarning, InputError
from cpwl.exact.integers import primitive
from cpwl.function.cpwl import CPWL
from cpwl.function.known import Known
from cpwl.function.make.maxmin import polyhedra_from_integers
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.irredundant import irredundant
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe
from cpwl.sources.mpqp.critical_region import CriticalRegion, critical_region
from cpwl.sources.mpqp.program import Program

__all__ = ["distinct_regions", "law_of_regions"]


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


def law_of_regions(program: Program, regions: Sequence[CriticalRegion | None], outputs: Any) -> CPWL:
    """The function with these regions: decision variables `outputs`, all if None, or the optimal value ("value").

    The domain is what the constraints allow, as far as the facets of the regions tell: a region that is missing at its
    boundary is a gap, too.
    """
    there = [region for region in regions if region is not None]
    if not there:
        raise InputError("no active set has a region: there is no function")
    laws = [_value(program, region, i) if outputs == "value" else region.law for i, region in enumerate(there)]
    chosen = [0] if outputs == "value" else _chosen(outputs, program.moves)
    dim = program.inputs
    polyhedra = polyhedra_from_integers([[_half_space(row) for row in region.rows] for region in there], dim)
    probe = Probe(0.0)
    inner = [probe.interior(body) for body in polyhedra]
    solid = np.array([i for i, point in enumerate(inner) if point is not None], dtype=np.int64)
    if len(solid) < len(regions):
        dropped = len(regions) - len(solid)
        message = f"{dropped} of {len(regions)} active sets have no region of their own, and were dropped"
        warnings.warn(message, CpwlWarning, stacklevel=4)
    if len(solid) == 0:
        raise InputError("no active set has a region with an interior: there is no function")
    points = np.array([inner[i] for i in solid], dtype=object)
    polyhedra = irredundant(polyhedra.take(solid), points)
    exact = np.array([[_integer_law(laws[i], j) for j in chosen] for i in solid], dtype=object)
    domain = _domain(program, polyhedra)
    return CPWL.from_parts(Parts(polyhedra, Laws.from_integer(exact), domain, 0.0, None, Known(points)))


def _chosen(outputs: Any, moves: int) -> list[int]:
    """The numbers of the decision variables that were asked for."""
    if outputs is None:
        return list(range(moves))
    given = list(range(moves))[outputs] if isinstance(outputs, slice) else outputs
    numbers: list[Any] = [given] if np.ndim(given) == 0 else list(given)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number < moves:
            known = f'numbers from 0 to {moves - 1}, a slice, or "value"'
            raise InputError(f"`outputs` must be {known}, not {outputs!r:.50}")
    if not numbers:
        raise InputError("`outputs` is empty: name at least one decision variable")
    return [int(number) for number in numbers]


def _value(program: Program, region: CriticalRegion, number: int) -> Any:
    """The optimal value on a region, ``(H x + c)'u + d'x + e``, if it is affine there."""
    if not program.is_linear or program.slope.nrows() == 0:
        raise InputError(
            '`outputs="value"` is for linear programs: the value of a quadratic one is not piecewise linear'
        )
    n = program.inputs
    product = program.H.transpose() * region.law  # row k: what multiplies x_k
    if any(product[k, j] + product[j, k] for k in range(n) for j in range(k + 1)):
        message = "both the objective and the constraints depend on the parameters"
        raise InputError(f"the value is not affine on region {number}: {message}", piece=number)
    value = program.c.transpose() * region.law + program.slope
    for k in range(n):
        value[0, k] += product[k, n]
    return value


def _half_space(row: Sequence[Any]) -> tuple[int, ...]:
    """``r (x, 1) >= 0`` as an integer row ``(a, b)`` of ``a.x <= b``."""
    below = math.lcm(*(int(v.q) for v in row))
    whole = [int(v.p) * (below // int(v.q)) for v in row]
    return (*(-v for v in whole[:-1]), whole[-1])


def _integer_law(law: Any, output: int) -> list[int]:
    """``(gradient, offset, 1) * denominator``."""
    row = [law[output, j] for j in range(law.ncols())]
    below = math.lcm(*(int(v.q) for v in row))
    return [*(int(v.p) * (below // int(v.q)) for v in row), below]


def _domain(program: Program, polyhedra: Polyhedra) -> Polyhedron:
    """The parameters that are allowed: ``A_t x <= b_t``, and every facet with nothing beyond it that is valid.

    A row ``a.x <= b`` is valid if no feasible pair ``(u, x)`` violates it: a linear program, decided in rationals. If
    the regions are all there, their union is convex and has such facets only, so that this is their union.
    """
    planes = hyperplanes(polyhedra, 0.0)
    rows = primitive(polyhedra.integer())
    one_sided = []
    for number in range(int(planes.number.max(initial=-1)) + 1):
        own = np.flatnonzero(planes.number == number)
        if len(set(planes.side[own].tolist())) == 1:
            one_sided.append(tuple(rows[own[0]]))
    bounds = [
        _half_space([-program.A_t[i, j] for j in range(program.inputs)] + [program.b_t[i, 0]])
        for i in range(program.A_t.nrows())
    ]
    known = {tuple(row) for row in primitive(np.array(bounds, dtype=object))}
    feasible = _feasible(program)
    lp = LinearProgram(feasible.A, feasible.b)
    valid = [row for row in one_sided if row not in known and _is_valid(lp, feasible, row, program.moves)]
    return polyhedra_from_integers([[*bounds, *valid]], program.inputs)[0]


def _feasible(program: Program) -> Polyhedron:
    """All pairs ``(u, x)`` that the constraints allow."""
    rows = []
    for i in range(program.A.nrows()):
        row = [-program.A[i, j] for j in range(program.moves)] + [program.F[i, j] for j in range(program.inputs)]
        rows.append(_half_space([*row, program.b[i, 0]]))
        if i < program.equalities:
            rows.append(_half_space([*(-v for v in row), -program.b[i, 0]]))
    zero = program.b[0, 0] * 0
    for i in range(program.A_t.nrows()):
        row = [zero] * program.moves + [-program.A_t[i, j] for j in range(program.inputs)]
        rows.append(_half_space([*row, program.b_t[i, 0]]))
    return polyhedra_from_integers([rows], program.moves + program.inputs)[0]


def _is_valid(lp: LinearProgram, feasible: Polyhedron, row: tuple[int, ...], moves: int) -> bool:
    best = lp.maximize_exactly(feasible.integer(), [0] * moves + list(row[:-1]))
    return best.status == "optimal" and best.value is not None and best.value <= row[-1]
