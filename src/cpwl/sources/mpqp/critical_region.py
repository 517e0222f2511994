"""The law and the region of one active set, in rationals.

With the rows `a` of the active set as equations, the optimum and its multipliers solve
``[Q A_a'; A_a 0] (u, m) = (-H x - c, b_a + F_a x)``, so both are affine in `x`. They are optimal where all other rows
hold and no multiplier of an inequality is negative. Rows may be active without being named, or depend on each other
(the constraint qualification fails): let `T` be all rows that hold as equations wherever the law does. Then the law is
optimal where the other rows hold and minus the gradient of the objective is in the cone of the rows `T`, a polyhedron
that does not depend on which of several active sets led there.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from flint import fmpq, fmpq_mat, fmpz_mat

from cpwl.errors import InputError, LimitError
from cpwl.sources.mpqp.program import Program

__all__ = ["CriticalRegion", "critical_region"]

_MOST = 3000  # sets of rows to try for the facets of a cone


@dataclass(frozen=True, slots=True, eq=False)
class CriticalRegion:
    """Law ``u = law (x, 1)`` on ``rows (x, 1) >= 0``; `tight` are the rows that hold as equations there."""

    law: Any
    tight: frozenset[int]
    rows: tuple[Any, ...]
    multipliers: Any
    """Those of the independent active rows, ``m = multipliers (x, 1)``."""
    independent: tuple[int, ...]


def critical_region(program: Program, active: list[int]) -> CriticalRegion | None:
    """The region and law of an active set; None if it is empty, or flat because of equations among the parameters."""
    chosen = sorted({*range(program.equalities), *active})
    if chosen and not 0 <= chosen[-1] < program.A.nrows():
        raise InputError(f"active set {active} names a row outside 0..{program.A.nrows() - 1}", active=active)
    rows = _independent(program.A, chosen)
    law, multipliers = _kkt(program, rows, active)
    right = _beside(program.F, program.b)
    slack = right - program.A * law
    zero = [not any(slack[i, j] for j in range(slack.ncols())) for i in range(slack.nrows())]
    if not all(zero[i] for i in chosen):
        return None  # a dependent row holds on a hyperplane of parameters only
    tight = frozenset(i for i, z in enumerate(zero) if z)
    others = [_row(slack, i) for i in range(slack.nrows()) if i not in tight]
    known = [] if len(tight) == len(rows) == 0 else _cone(program, rows, tight, multipliers)
    bounds = [_row(_beside(program.A_t * fmpq(-1), program.b_t), i) for i in range(program.A_t.nrows())]
    kept = [row for row in (*known, *others, *bounds) if any(row[:-1]) or row[-1] < 0]
    if any(not any(row[:-1]) for row in kept):
        return None  # 0 <= b with b < 0
    return CriticalRegion(law, tight, tuple(kept), multipliers, tuple(rows))


def _kkt(program: Program, rows: list[int], active: list[int]) -> tuple[Any, Any]:
    """Optimum and multipliers as matrices times ``(x, 1)``, for independent rows."""
    moves, n, k = program.moves, program.inputs, len(rows)
    matrix = fmpq_mat(moves + k, moves + k)
    right = fmpq_mat(moves + k, n + 1)
    for i in range(moves):
        for j in range(moves):
            matrix[i, j] = program.Q[i, j]
        for j in range(n):
            right[i, j] = -program.H[i, j]
        right[i, n] = -program.c[i, 0]
    for place, row in enumerate(rows):
        for j in range(moves):
            matrix[moves + place, j] = matrix[j, moves + place] = program.A[row, j]
        for j in range(n):
            right[moves + place, j] = program.F[row, j]
        right[moves + place, n] = program.b[row, 0]
    try:
        found = matrix.solve(right)
    except ZeroDivisionError:
        message = f"active set {active} does not determine the optimiser: the program is not strictly convex there"
        raise InputError(message, active=active) from None
    law = fmpq_mat(moves, n + 1, [found[i, j] for i in range(moves) for j in range(n + 1)])
    multipliers = [found[moves + i, j] for i in range(k) for j in range(n + 1)]
    return law, fmpq_mat(k, n + 1, multipliers)


def _cone(program: Program, rows: list[int], tight: frozenset[int], multipliers: Any) -> list[list[Any]]:
    """Where minus the gradient, ``A_rows' m``, is in the cone of the tight rows, as rows ``r (x, 1) >= 0``."""
    if len(tight) == len(rows):
        return [_row(multipliers, k) for k, row in enumerate(rows) if row >= program.equalities]
    basis = _take(program.A, rows)
    every = sorted(tight)
    gram = basis * basis.transpose()
    # Each tight row as a combination of the independent ones.
    weights = gram.solve(basis * _take(program.A, every).transpose()).transpose()
    is_equation = [row < program.equalities for row in every]
    return [_row(normal * multipliers, 0) for normal in _facets(weights, is_equation)]


def _facets(generators: Any, is_line: list[bool]) -> list[Any]:
    """Normals `y` with ``y g >= 0`` for all rows `g`, and 0 for lines: one for each facet of the cone of the rows."""
    count, rank = generators.nrows(), generators.ncols()
    lines = [i for i in range(count) if is_line[i]]
    rays = [i for i in range(count) if not is_line[i]]
    free = rank - 1 - len(lines)  # equations are independent of each other
    if free < 0:
        return []
    if math.comb(len(rays), free) > _MOST:
        raise LimitError(f"{count} constraints are active at once, of rank {rank}: too many to tell their cone apart")
    found: dict[tuple[Any, ...], Any] = {}
    for chosen in itertools.combinations(rays, free):
        normal = _normal(_take(generators, [*lines, *chosen]) if rank > 1 else fmpq_mat(0, 1))
        if normal is None:
            continue
        values = [*(generators * normal.transpose()).entries()]
        if all(v <= 0 for v in values):
            normal, values = normal * fmpq(-1), [-v for v in values]
        if all(v >= 0 for v in values) and any(values):
            found[tuple(i for i, v in enumerate(values) if v)] = normal
    return list(found.values())


def _normal(rows: Any) -> Any | None:
    """A row that is perpendicular to all rows, if there is but one."""
    size = rows.ncols()
    numerators = rows.numer_denom()[0] if rows.nrows() else fmpz_mat(0, size)
    kernel, nullity = numerators.nullspace()
    if nullity != 1:
        return None
    return fmpq_mat(1, size, [kernel[i, 0] for i in range(size)])


def _independent(matrix: Any, rows: list[int]) -> list[int]:
    """The first rows that span all of them."""
    if not rows:
        return []
    reduced, rank = _take(matrix, rows).transpose().rref()
    return [rows[next(j for j in range(len(rows)) if reduced[i, j])] for i in range(rank)]


def _take(matrix: Any, rows: list[int]) -> Any:
    width = matrix.ncols()
    return fmpq_mat(len(rows), width, [matrix[i, j] for i in rows for j in range(width)])


def _beside(left: Any, right: Any) -> Any:
    """``[left right]``."""
    entries = [v for i in range(left.nrows()) for v in (*_row(left, i), right[i, 0])]
    return fmpq_mat(left.nrows(), left.ncols() + 1, entries)


def _row(matrix: Any, i: int) -> list[Any]:
    return [matrix[i, j] for j in range(matrix.ncols())]
