"""Rows and laws of programs as integers, and the set of parameters that the constraints allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cpwl.exact.integers import primitive
from cpwl.function.make.maxmin import polyhedra_from_integers
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.sources.mpqp.program import Program

__all__ = ["allowed", "half_space", "integer_law"]


def half_space(row: Sequence[Any]) -> tuple[int, ...]:
    """``r (x, 1) >= 0`` as an integer row ``(a, b)`` of ``a.x <= b``."""
    below = math.lcm(*(int(v.q) for v in row))
    whole = [int(v.p) * (below // int(v.q)) for v in row]
    return (*(-v for v in whole[:-1]), whole[-1])


def integer_law(law: Any, output: int) -> list[int]:
    """``(gradient, offset, 1) * denominator``."""
    row = [law[output, j] for j in range(law.ncols())]
    below = math.lcm(*(int(v.q) for v in row))
    return [*(int(v.p) * (below // int(v.q)) for v in row), below]


def allowed(program: Program, polyhedra: Polyhedra) -> Polyhedron:
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
        half_space([-program.A_t[i, j] for j in range(program.inputs)] + [program.b_t[i, 0]])
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
        rows.append(half_space([*row, program.b[i, 0]]))
        if i < program.equalities:
            rows.append(half_space([*(-v for v in row), -program.b[i, 0]]))
    zero = program.b[0, 0] * 0
    for i in range(program.A_t.nrows()):
        row = [zero] * program.moves + [-program.A_t[i, j] for j in range(program.inputs)]
        rows.append(half_space([*row, program.b_t[i, 0]]))
    return polyhedra_from_integers([rows], program.moves + program.inputs)[0]


def _is_valid(lp: LinearProgram, feasible: Polyhedron, row: tuple[int, ...], moves: int) -> bool:
    best = lp.maximize_exactly(feasible.integer(), [0] * moves + list(row[:-1]))
    return best.status == "optimal" and best.value is not None and best.value <= row[-1]
