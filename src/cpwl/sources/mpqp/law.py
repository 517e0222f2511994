"""The function of a multiparametric program: the regions of its active sets, with the optimisers or the value."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from cpwl.errors import CpwlWarning, InputError
from cpwl.function.cpwl import CPWL
from cpwl.function.known import Known
from cpwl.function.make.maxmin import polyhedra_from_integers
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.irredundant import irredundant
from cpwl.geometry.probe import Probe
from cpwl.sources.mpqp.allowed import allowed, half_space, integer_law
from cpwl.sources.mpqp.critical_region import CriticalRegion, critical_region
from cpwl.sources.mpqp.program import Program
from cpwl.sources.mpqp.value import convex_value, value_on

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
    laws = [value_on(program, region, i) if outputs == "value" else region.law for i, region in enumerate(there)]
    chosen = [0] if outputs == "value" else _chosen(outputs, program.moves)
    dim = program.inputs
    polyhedra = polyhedra_from_integers([[half_space(row) for row in region.rows] for region in there], dim)
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
    domain = allowed(program, polyhedra)
    if outputs == "value" and not any(program.H.entries()):
        return convex_value(program, [laws[i] for i in solid], domain)
    exact = np.array([[integer_law(laws[i], j) for j in chosen] for i in solid], dtype=object)
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
