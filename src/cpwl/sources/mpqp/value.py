"""The optimal value of a linear program as a function of its parameters.

If only the right-hand sides depend on the parameters, the value is convex: by duality each law ``-m'(b + F x)`` with
multipliers ``m >= 0`` is at most the value everywhere, and equal to it on its region. So the value is the largest law,
whatever regions the solver has found for it, however they overlap, and although optimisers may jump. That no law is
missing is proved at the corners of the pieces: there a linear program has the value of the largest law, and what is
convex and not larger at the corners is not larger between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from cpwl.errors import InputError
from cpwl.exact.flint import from_flint, to_flint
from cpwl.function.cpwl import CPWL
from cpwl.function.known import Known
from cpwl.function.make.maxmin import polyhedra_from_integers
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.generators import generators
from cpwl.geometry.irredundant import irredundant
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe
from cpwl.sources.mpqp.allowed import half_space, integer_law
from cpwl.sources.mpqp.critical_region import CriticalRegion
from cpwl.sources.mpqp.program import Program

__all__ = ["convex_value", "value_on"]


def value_on(program: Program, region: CriticalRegion, number: int) -> Any:
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


def convex_value(program: Program, laws: Sequence[Any], domain: Polyhedron) -> CPWL:
    """The largest of these laws on the domain, if that is the value of the program; refused if a law is missing."""
    distinct = {tuple(law.entries()): law for law in laws}
    keys = list(distinct)
    bounds = [tuple(int(v) for v in row) for row in domain.integer()]
    rows, which = [], []
    for key in keys:
        above = [half_space([a - b for a, b in zip(key, other, strict=True)]) for other in keys if other != key]
        if all(any(row[:-1]) or row[-1] >= 0 for row in above):
            rows.append([*bounds, *(row for row in above if any(row[:-1]))])
            which.append(key)
    stack = polyhedra_from_integers(rows, program.inputs)
    probe = Probe(0.0)
    inner = [probe.interior(body) for body in stack]
    solid = np.array([i for i, point in enumerate(inner) if point is not None], dtype=np.int64)
    points = np.array([inner[i] for i in solid], dtype=object)
    pieces = irredundant(stack.take(solid), points)
    chosen = [distinct[which[i]] for i in solid]
    _check_corners(program, pieces, chosen)
    exact = np.array([[integer_law(law, 0)] for law in chosen], dtype=object)
    return CPWL.from_parts(Parts(pieces, Laws.from_integer(exact), domain, 0.0, None, Known(points)))


def _check_corners(program: Program, pieces: Polyhedra, laws: Sequence[Any]) -> None:
    """Refuse pieces at a corner of which the value is above the law: a region is missing there."""
    found = generators(pieces)
    if not found.known.all() or any(found.places[k, -1] == 0 for k in np.unique(found.member)):
        raise InputError("the value is read on bounded domains only: give bounds `A_t x <= b_t` on all parameters")
    known: dict[int, Fraction] = {}
    for i, law in enumerate(laws):
        row = [from_flint(v) for v in law.entries()]
        for k in found.member[found.start[i] : found.start[i + 1]].tolist():
            place = found.places[k]
            x = [Fraction(int(v), int(place[-1])) for v in place[:-1]]
            if k not in known:
                known[k] = _value_at(program, x)
            here = sum((a * b for a, b in zip(row, x, strict=False)), row[-1])
            if here != known[k]:
                at = ", ".join(f"{float(v):.6g}" for v in x)
                message = f"the value is {float(known[k]):.6g} at x = ({at}), and the regions say {float(here):.6g}"
                raise InputError(f"a region is missing: {message}", point=np.array(x, dtype=object), piece=i)


def _value_at(program: Program, x: Sequence[Fraction]) -> Fraction:
    """The optimal value for one parameter, in rationals."""
    point = [to_flint(v) for v in x]
    rows: list[tuple[int, ...]] = []
    for i in range(program.A.nrows()):
        right = sum((program.F[i, j] * point[j] for j in range(program.inputs)), program.b[i, 0])
        left = [-program.A[i, j] for j in range(program.moves)]
        rows.append(half_space([*left, right]))
        if i < program.equalities:
            rows.append(half_space([*(-v for v in left), -right]))
    body = polyhedra_from_integers([rows], program.moves)[0]
    objective = [-from_flint(program.c[j, 0]) for j in range(program.moves)]
    best = LinearProgram(body.A, body.b).maximize_exactly(body.integer(), objective)
    if best.status != "optimal" or best.value is None:
        raise InputError(f"the program has no optimum at x = ({', '.join(f'{float(v):.6g}' for v in x)})")
    constant = sum((from_flint(program.slope[0, j]) * x[j] for j in range(program.inputs)), Fraction(0))
    return constant + from_flint(program.slope[0, program.inputs]) - best.value
