"""The law and the region of one active set, in rationals.

With the rows `a` of the active set as equations, the optimum and its multipliers solve
``[Q A_a'; A_a 0] (u, m) = (-H x - c, b_a + F_a x)``, so both are affine in `x`. They are optimal where all other rows
hold and no multiplier of an inequality is negative. Rows may be active without being named, or depend on each other
(the constraint qualification fails): let `T` be all rows that hold as equations wherever the law does. Then the law is
optimal where the other rows hold and minus the gradient of the objective is in the cone of the rows `T`, a polyhedron
that does not depend on which of several active sets led there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import primitive
from cpwl.exact.rational import independent, take
from cpwl.function.make import polyhedra_from_integers
from cpwl.geometry.cells import cone_of
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.mpqp.program import Program, beside, half_spaces


@dataclass(frozen=True, slots=True, eq=False)
class CriticalRegion:
    """Law ``u = law (x, 1)`` on ``a.x <= b`` for each integer row ``(a, b)``."""

    law: Any
    tight: frozenset[int]
    """The rows of the program that hold as equations wherever the law does."""
    independent: tuple[int, ...]
    """Some of them that span all of them."""
    multipliers: Any
    """Those of the independent rows, ``m = multipliers (x, 1)``."""
    rows: NDArray[np.object_]
    origin: tuple[tuple[str, int], ...]
    """Where each row comes from: the slack of a row, the multiplier of a row, a cone of several, or a bound on `x`."""


def critical_region(program: Program, active: Sequence[int]) -> CriticalRegion | None:
    """The region and law of an active set; None if it is empty, or flat because of equations among the parameters."""
    chosen = sorted({*range(program.equalities), *active})
    if chosen and not 0 <= chosen[-1] < program.A.nrows():
        raise InputError(f"active set {active} names a row outside 0..{program.A.nrows() - 1}", active=active)
    rows = independent(program.A, chosen)
    right = program.right
    try:
        law, multipliers = solve_kkt(program, rows, beside(program.H, program.c) * fmpq(-1), take(right, rows))
    except ZeroDivisionError:
        message = f"active set {active} does not determine the optimiser: the program is not strictly convex there"
        raise InputError(message, active=active) from None
    slack = right - program.A * law
    zero = [not any(row) for row in slack.tolist()]
    if not all(zero[i] for i in chosen):
        return None  # a dependent row holds on a hyperplane of parameters only
    tight = frozenset(i for i, z in enumerate(zero) if z)
    if len(tight) > len(rows):  # rows that were not named may be independent of those: their multipliers are 0
        more = independent(program.A, [*rows, *sorted(tight.difference(rows))])[len(rows) :]
        rows = [*rows, *more]
        multipliers = fmpq_mat(
            len(rows), program.inputs + 1, [*multipliers.entries(), *[0] * len(more) * (program.inputs + 1)]
        )
    others = [i for i in range(slack.nrows()) if i not in tight]
    known, origin = _signs(program, rows, tight, multipliers)
    origin += [("slack", i) for i in others] + [("bound", i) for i in range(program.A_t.nrows())]
    whole = np.concatenate([half_spaces(known), half_spaces(take(slack, others)), half_spaces(program.bounds)])
    level = np.array([not any(row[:-1]) for row in whole], dtype=bool)
    if (whole[level, -1] < 0).any():
        return None  # 0 <= b with b < 0
    kept = np.flatnonzero(~level)
    return CriticalRegion(law, tight, tuple(rows), multipliers, whole[kept], tuple(origin[k] for k in kept))


def solve_kkt(program: Program, rows: list[int], top: Any, bottom: Any) -> tuple[Any, Any]:
    """The matrices `u`, `m` with ``Q u + A_rows' m = top`` and ``A_rows u = bottom``, for independent rows."""
    moves, k, width = program.moves, len(rows), top.ncols()
    chosen = take(program.A, rows)
    left, turned = program.Q.tolist(), chosen.transpose().tolist() if k else [[] for _ in range(moves)]
    entries = [v for one, other in zip(left, turned, strict=True) for v in (*one, *other)]
    entries += [v for row in chosen.tolist() for v in (*row, *([fmpq(0)] * k))]
    right = fmpq_mat(moves + k, width, [*top.entries(), *bottom.entries()])
    found = fmpq_mat(moves + k, moves + k, entries).solve(right).entries()
    cut = moves * width
    return fmpq_mat(moves, width, found[:cut]), fmpq_mat(k, width, found[cut:])


def _signs(
    program: Program, rows: list[int], tight: frozenset[int], multipliers: Any
) -> tuple[Any, list[tuple[str, int]]]:
    """Where minus the gradient, ``A_rows' m``, is in the cone of the tight rows, as rows ``r (x, 1) >= 0``."""
    if len(tight) == len(rows) or not rows:
        own = [k for k, row in enumerate(rows) if row >= program.equalities]
        return take(multipliers, own), [("multiplier", rows[k]) for k in own]
    basis, every = take(program.A, rows), sorted(tight)
    gram = basis * basis.transpose()
    # Each tight row as a combination of the independent ones; the normals of their cone are the dual cone's rays.
    weights = half_spaces(gram.solve(basis * take(program.A, every).transpose()).transpose())
    weights[:, -1] *= -1
    equation = np.array([row < program.equalities for row in every], dtype=bool)
    cone = cone_of(np.concatenate([weights, -weights[equation]]).tolist(), len(rows))
    normals = fmpq_mat(len(cone.rays), len(rows), [v for ray, _ in cone.rays for v in ray])
    return normals * multipliers, [("cone", -1)] * len(cone.rays)


def conic_basis(program: Program, region: CriticalRegion, places: NDArray[np.object_]) -> list[tuple[list[int], Any]]:
    """For each place ``(x, w)`` of a region tight rows with multipliers, as matrices, that are not negative there.

    Minus the gradient is in the cone of the tight rows: while it has a negative coefficient in a basis, the first such
    row goes, and the first one beyond the span of the others comes; that ends (Schrijver 1986, section 7.1).
    """
    found: list[tuple[list[int], Any]] = []
    every, free = sorted(region.tight), program.equalities
    for place in places:
        at = fmpq_mat(len(place), 1, [fmpq(int(v)) for v in place])
        known = (basis for basis, m in found if _are_signs_right(basis, (m * at).entries(), free))
        if next(known, None) is not None:
            continue
        basis = sorted(region.independent)
        target = take(program.A, list(region.independent)).transpose() * region.multipliers
        while True:
            span = take(program.A, basis)
            gram = span * span.transpose()
            multipliers = gram.solve(span * target)
            values = (multipliers * at).entries()
            if _are_signs_right(basis, values, free):
                found.append((basis, multipliers))
                break
            out = next(k for k, (i, v) in enumerate(zip(basis, values, strict=True)) if i >= free and v < 0)
            side = gram.solve(span * take(program.A, every).transpose()).tolist()[out]
            basis = sorted(
                [
                    *(i for k, i in enumerate(basis) if k != out),
                    next(i for i, v in zip(every, side, strict=True) if v < 0 and i >= free),
                ]
            )
    return found


def _are_signs_right(basis: list[int], values: list[Any], free: int) -> bool:
    return all(v >= 0 for i, v in zip(basis, values, strict=True) if i >= free)


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
    bounds = [tuple(row) for row in half_spaces(program.bounds)]
    feasible = program.feasible()
    lp = LinearProgram(feasible.A, feasible.b)
    valid = [row for row in one_sided if row not in bounds and _is_valid(lp, feasible, row, program.moves)]
    return polyhedra_from_integers([[*bounds, *valid]], program.inputs)[0]


def _is_valid(lp: LinearProgram, feasible: Polyhedron, row: tuple[int, ...], moves: int) -> bool:
    best = lp.maximize_exactly(feasible.integer(), [0] * moves + list(row[:-1]))
    return best.status == "optimal" and best.value is not None and best.value <= row[-1]
