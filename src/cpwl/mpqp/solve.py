"""`solve_mpqp`: the optimiser of a strictly convex or linear program as a function of its parameters, complete."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.doors import check_count, check_limit, check_path, chosen_numbers, heard, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import exact_matrix, fraction_array, fractions_of, from_flint, text, to_flint
from cpwl.executors import check_executor
from cpwl.function.cpwl import CPWL
from cpwl.function.make import polyhedra_from_integers
from cpwl.function.parts import Known, Laws, Parts
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.mpqp.explore import Edge, Lead, Region, corners, explore
from cpwl.mpqp.program import Program, beside, conic_basis, critical_region, half_spaces, integer_laws
from cpwl.progress import Shown, shows_progress
from cpwl.regions.tiles import Journal


@shows_progress
@within_float64()
def solve_mpqp(
    program: Mapping[str, Any],
    *,
    outputs: Any = None,
    equalities: int = 0,
    executor: Executor | None = None,
    max_regions: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Shown = None,
) -> CPWL:
    """The optimiser of ``min 1/2 u'Qu + (H x + c)'u`` over ``A u <= b + F x``, ``A_t x <= b_t``, for every `x`.

    `Q` must be positive definite. Without `Q`, `H` must be 0: the law is then a continuous optimiser of the linear
    program. All decisions are in rationals, without tolerances, and the result is proved complete: the
    domain of the function is the set of all feasible parameters. The function carries this proof, so that `certify` and
    ``compile(.., certify=True)`` prove that a network *is* the optimiser for all feasible parameters. The algorithm and
    its proof are in `cpwl.mpqp.explore`.

    Parameters
    ----------
    program
        The matrices `Q`, `H`, `c`, `A`, `F`, `b`, and `A_t`, `b_t` unless all parameters are allowed; `H`, `c` and `F`
        are 0 if omitted. Floats count with their exact values; write "0.1" or a `Fraction` for other numbers.
        Short decimals make short numbers.
    outputs
        Which decision variables: a number, a list, a slice (``slice(0, m)``: the first move of `m` inputs), or all.
        "value": the optimal value of a linear program, with ``c_t'x + c_c`` if these are given.
    equalities
        The number of rows of `A`, from the first, that are equations.
    executor : concurrent.futures.Executor, optional
        Runs the search in parallel. The result does not depend on it.
    max_regions
        Stop beyond this many regions.
    checkpoint
        A folder that stores the regions found so far: an interrupted search, even by ``kill -9``, continues from there.
    progress
        Called with the number of regions done, the number known, and "regions"; or "auto", for a bar.

    Returns
    -------
    CPWL
        The function, one piece for each critical region, in order of their sets of tight rows.

    Raises
    ------
    InputError
        If shapes do not match; if `Q` is not positive definite, with a `direction`; if no parameter is
        feasible, with the `multipliers` that show it; if all feasible ones satisfy an equation, with `equations`.
    LimitError
        Beyond `max_regions`: `details["active_sets"]` has the regions found; `cpwl.io.from_active_sets` continues.
        `details["law"]` is the law of a quadratic program on the regions found so far.

    Examples
    --------
    >>> box = {"A": [[1], [-1]], "b": [1, 1], "F": [[0], [0]], "A_t": [[1], [-1]], "b_t": [4, 4]}
    >>> law = solve_mpqp({"Q": [[1]], "H": [[-1]], "c": [0], **box})
    >>> law.num_pieces, law([[-3.0], [0.5], [2.0]]).ravel()
    (3, array([-1. ,  0.5,  1. ]))
    """
    check_program(program)
    check_count(equalities, "equalities", least=0)
    check_executor(executor)
    check_limit(max_regions)
    progress = heard(progress)
    made = Program.from_matrices(dict(program), equalities)
    options: dict[str, Any] = {"executor": executor, "max_regions": max_regions, "progress": progress}
    if checkpoint is None:
        return _solved(made, outputs, options)
    check_path(checkpoint, "solve_mpqp")
    with Journal(checkpoint, json.dumps(made.document()), keeps=(Region, Edge, Lead), question="solve_mpqp") as journal:
        law = _solved(made, outputs, {**options, "journal": journal})
        journal.finish()
    return law


def _solved(program: Program, outputs: Any, options: dict[str, Any]) -> CPWL:
    """The optimiser of a program; `options` are those of `explore`."""
    if program.is_linear:
        return solve_linear(program, outputs, options)
    chosen = chosen_outputs(outputs, program.moves)
    try:
        return law_of(program, explore(program, **options), chosen)
    except LimitError as error:
        found = error.details.pop("regions", None)
        if found:
            parts = _parts(program, found, chosen, None, Known(np.array([r.inner for r in found], dtype=object)))
            error.details["law"] = replace(CPWL.from_parts(parts), complete=False)
        raise


# Linear programs with parameters in right-hand sides.
#
# With ``eps u'u / 2`` added they are strictly convex, and for a small eps the optimiser, which is continuous, is one of
# the linear program (Mangasarian and Meyer 1979). Whether eps was small enough is decided by one exact linear program
# for each region: the value V is convex and the law's value L is affine and not smaller; if they are equal at a point
# inside, they are equal on the whole region. Its multipliers are those of the proof, for they are 0 where rows are not
# tight there, and rows that are tight inside are tight everywhere on the region.

_TRIES = 24
_NO_VALUE = '`outputs="value"` is for linear programs: the value of a quadratic one is not piecewise linear'


def solve_linear(program: Program, outputs: Any, options: dict[str, Any]) -> CPWL:
    """A continuous optimiser of a linear program, or its value."""
    if any(program.H.entries()):
        message = "its optimisers jump in general. Parameters may be in right-hand sides, `F`, only"
        raise InputError(
            f"the objective of this linear program depends on the parameters (`H` is not 0), so that {message}"
        )
    chosen = None if isinstance(outputs, str) and outputs == "value" else chosen_outputs(outputs, program.moves)
    eps = Fraction(1)
    for attempt in range(_TRIES):
        unit = np.array([[eps * int(i == j) for j in range(program.moves)] for i in range(program.moves)], dtype=object)
        regions = explore(replace(program, Q=exact_matrix(unit)), attempt=attempt, **options)
        multipliers = _multipliers(program, regions)
        if multipliers is not None:
            law = law_of(program, regions, chosen or [0], multipliers)
            return law if chosen is not None else _value_of(program, regions, law)
        eps /= 64
    raise LimitError("no continuous optimiser of this linear program was found: bound the parameters (`A_t`, `b_t`)")


def _multipliers(program: Program, regions: Sequence[Region]) -> list[dict[int, Fraction]] | None:
    """For each region multipliers that prove its law optimal; None if that of some region is not."""
    found = []
    for region in regions:  # a linear program each
        best, weights = optimum_at(program, list(region.inner))
        at = [*region.inner, Fraction(1)]
        u = [
            sum((int(a) * v for a, v in zip(row[:-1], at, strict=True)), Fraction(0)) / int(row[-1])
            for row in region.law
        ]
        if sum((c * v for c, v in zip(fractions_of(program.c), u, strict=True)), Fraction(0)) != best:
            return None
        found.append(weights)
    return found


def optimum_at(program: Program, x: Sequence[Fraction]) -> tuple[Fraction, dict[int, Fraction]]:
    """The least ``c'u`` for one parameter, exactly, and multipliers `y` of rows with ``c + A'y = 0`` that prove it."""
    point = fmpq_mat(len(x) + 1, 1, [*map(to_flint, x), fmpq(1)])
    left = beside(program.A * fmpq(-1), program.right * point)
    whole = half_spaces(left)
    rows = np.concatenate([whole, -whole[: program.equalities]])
    body = polyhedra_from_integers([rows.tolist()], program.moves)[0]
    best = LinearProgram(body.A, body.b).maximize_exactly(body.integer(), [-v for v in fractions_of(program.c)])
    if best.status != "optimal" or best.value is None or best.multipliers is None:
        raise InputError(f"the linear program is {best.status} at x = ({', '.join(f'{float(v):.6g}' for v in x)})")
    weights: dict[int, Fraction] = {}
    count, table = program.A.nrows(), program.A.tolist()
    for k, y in best.multipliers.items():
        i = k if k < count else k - count
        j = next(j for j, v in enumerate(table[i]) if v)
        factor = int(rows[k, j]) / from_flint(table[i][j])  # rows were scaled to integers, and some turned round
        weights[i] = weights.get(i, Fraction(0)) + y * factor
    return -best.value, {i: y for i, y in weights.items() if y}


def value_on(program: Program, law: Any, number: int) -> Any:
    """The optimal value on a region with this law, ``(H x + c)'u + d'x + e``, if it is affine there."""
    if not program.is_linear or program.slope.nrows() == 0:
        raise InputError(_NO_VALUE)
    n = program.inputs
    product = program.H.transpose() * law  # row k: what multiplies x_k
    if any(product[k, j] + product[j, k] for k in range(n) for j in range(k + 1)):
        message = "both the objective and the constraints depend on the parameters"
        raise InputError(f"the value is not affine on region {number}: {message}", piece=number)
    value = program.c.transpose() * law + program.slope
    for k in range(n):
        value[0, k] += product[k, n]
    return value


def _value_of(program: Program, regions: Sequence[Region], law: CPWL) -> CPWL:
    """The value ``c'u + d'x + e`` on the regions of an optimiser."""
    rows = []
    for k, region in enumerate(regions):
        table = exact_matrix(fraction_array(region.law[:, :-1]) / region.law[:, -1:])
        rows.append(integer_laws(value_on(program, table, k)))
    known = replace(law.known, optimal=None) if law.known is not None else None
    made = Laws.from_integer(np.array(rows, dtype=object))
    return CPWL.from_parts(Parts(law.polyhedra, made, law.domain, 0.0, None, known))


def check_program(program: Any) -> None:
    """Refuse what does not map names to matrices."""
    if not isinstance(program, Mapping):
        raise InputError(f"`program` must map names to matrices, not be a {type(program).__name__}")


def chosen_outputs(outputs: Any, moves: int) -> list[int]:
    """The numbers of the decision variables that were asked for."""
    if isinstance(outputs, str) and outputs == "value":
        raise InputError(_NO_VALUE)
    return list(range(moves)) if outputs is None else chosen_numbers(outputs, moves, "outputs")


def law_of(
    program: Program,
    regions: Sequence[Region],
    outputs: list[int],
    multipliers: Sequence[dict[int, Fraction]] | None = None,
) -> CPWL:
    """The function of all regions of a program; its domain is the set of feasible parameters.

    For a linear program there are multipliers for each region, which prove that it is optimal there.
    """
    edges = [
        tuple(row) for r in regions for row, there in zip(r.rows, r.beyond, strict=True) if isinstance(there, Edge)
    ]
    domain = polyhedra_from_integers([list(dict.fromkeys(edges))], program.inputs)[0]
    inner = np.array([region.inner for region in regions], dtype=object)
    optimal = Optimality(program, tuple(outputs), tuple(regions), None if multipliers is None else tuple(multipliers))
    known = Known(inner, _neighbours(regions), complete=True, optimal=optimal)
    return CPWL.from_parts(_parts(program, regions, outputs, domain, known))


def _parts(
    program: Program, regions: Sequence[Region], outputs: list[int], domain: Polyhedron | None, known: Known
) -> Parts:
    polyhedra = polyhedra_from_integers([region.rows.tolist() for region in regions], program.inputs)
    exact = np.array([region.law[outputs] for region in regions], dtype=object)
    return Parts(polyhedra, Laws.from_integer(exact), domain, 0.0, None, known)


def _neighbours(regions: Sequence[Region]) -> NDArray[np.int64] | None:
    """Rows ``(i, j, r)`` of regions that have the facet of row `r` in common; None if not all meet face to face."""
    number = {region.tight: i for i, region in enumerate(regions)}
    found, row = [], 0
    for i, region in enumerate(regions):
        for there in region.beyond:
            if not isinstance(there, Edge):
                if len(there) != 1:
                    return None
                found.append((i, number[there[0]], row))
            row += 1
    pairs = {(i, j) for i, j, _ in found}
    mutual = all((j, i) in pairs for i, j in pairs)
    return np.array(found, dtype=np.int64).reshape(-1, 3) if mutual else None


# What a proof says: that a function is the optimiser of a program, for all feasible parameters.


@dataclass(frozen=True, slots=True, eq=False)
class Optimality:
    """That the function of these regions is the optimiser of a program on all its feasible parameters."""

    program: Program
    outputs: tuple[int, ...]
    regions: tuple[Region, ...]
    multipliers: tuple[dict[int, Fraction], ...] | None = None
    """Of linear programs, for each region."""

    @property
    def active_sets(self) -> list[list[int]]:
        """The tight rows of each region."""
        return [list(region.tight) for region in self.regions]

    def document(self) -> dict[str, Any]:
        """The fields of a proof of kind "optimal" that do not depend on a network: see `cpwl_check.optimal`."""
        number = {region.tight: i for i, region in enumerate(self.regions)}
        edges: dict[tuple[int, ...], tuple[int, Edge]] = {}
        found = []
        for k, region in enumerate(self.regions):  # each has a system of equations of its own
            beyond: list[Any] = []
            for row, there in zip(region.rows, region.beyond, strict=True):
                if isinstance(there, Edge):
                    beyond.append({"edge": edges.setdefault(tuple(row), (len(edges), there))[0]})
                else:
                    beyond.append({"regions": [number[tight] for tight in there]})
            law = fraction_array(region.law[:, :-1]) / region.law[:, -1:]
            shown = {"rows": region.rows.tolist(), "law": [[text(v) for v in row] for row in law]}
            found.append({**shown, "bases": self._bases(k), "beyond": beyond})
        rows = [{"y": _weights(edge.y), "z": _weights(edge.z)} for _, edge in edges.values()]
        return {"program": self.program.document(), "outputs": list(self.outputs), "edges": rows, "regions": found}

    def _bases(self, k: int) -> list[dict[str, Any]]:
        """Tight rows with multipliers of region `k`: at each corner and ray those of one of them are not negative."""
        region = self.regions[k]
        if self.multipliers is not None:
            flat = [0] * self.program.inputs
            own = sorted(self.multipliers[k].items())
            return [{"rows": [i for i, _ in own], "multipliers": [[*flat, text(y)] for _, y in own]}]
        critical = critical_region(self.program, region.tight)
        assert critical is not None
        if len(critical.independent) == len(critical.tight):
            return [{"rows": list(critical.independent), "multipliers": _texts(critical.multipliers)}]
        found = {tuple(b): m for b, m in conic_basis(self.program, critical, corners(region.rows))}
        return [{"rows": list(basis), "multipliers": _texts(multipliers)} for basis, multipliers in found.items()]


def _texts(matrix: Any) -> list[list[int | str]]:
    flat, width = [text(v) for v in fractions_of(matrix)], matrix.ncols()
    return [flat[k : k + width] for k in range(0, len(flat), width)]


def _weights(weights: dict[int, Fraction]) -> dict[str, int | str]:
    return {str(i): text(y) for i, y in weights.items()}
