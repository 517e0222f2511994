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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError
from cpwl.exact.integers import primitive
from cpwl.exact.rational import fraction_array, to_flint, unmasked
from cpwl.function.make import polyhedra_from_integers
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron

__all__ = ["CriticalRegion", "Program", "allowed", "critical_region", "half_space", "integer_law"]

# A multiparametric quadratic or linear program, with every number taken at its exact value.


_NAMES = ("Q", "H", "c", "A", "F", "b", "A_t", "b_t")


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """``min 1/2 u'Qu + (H x + c)'u + d'x + e`` over ``A u <= b + F x``, for all `x` with ``A_t x <= b_t``.

    The first `equalities` rows of `A` are equations. All matrices are rational (``fmpq_mat``); vectors are columns.
    """

    Q: Any
    H: Any
    c: Any
    A: Any
    F: Any
    b: Any
    A_t: Any
    b_t: Any
    equalities: int = 0
    slope: Any = None
    """``(d, e)`` as a row of `n + 1` numbers."""

    @classmethod
    def from_matrices(cls, given: dict[str, Any], equalities: int = 0) -> Program:
        """The program of the matrices Q (absent: a linear program), H, c, A, F, b, A_t, b_t, and c_t, c_c if given."""
        missing = [name for name in _NAMES[1:] if given.get(name) is None]
        if missing:
            raise InputError(f"the program has no `{missing[0]}`; it takes {', '.join(_NAMES)}", name=missing[0])
        A = _table(given["A"], "A")
        rows, moves = A.shape
        H = _table(given["H"], "H")
        n = H.shape[1]
        Q = np.zeros((moves, moves), dtype=object) if given.get("Q") is None else _table(given["Q"], "Q")
        parts = {"Q": Q, "H": H, "A": A, "F": _table(given["F"], "F"), "A_t": _table(given["A_t"], "A_t")}
        parts |= {name: _column(given[name], name) for name in ("c", "b", "b_t")}
        wanted = {"Q": (moves, moves), "H": (moves, n), "F": (rows, n), "c": (moves, 1), "b": (rows, 1)}
        wanted |= {"A_t": (len(parts["b_t"]), n)}
        for name, shape in wanted.items():
            if parts[name].shape != shape:
                raise InputError(f"`{name}` must be {shape}, not {parts[name].shape}, with `A` {A.shape}", name=name)
        if not 0 <= equalities <= rows:
            raise InputError(f"there are {equalities} equations among {rows} rows")
        if (Q != Q.T).any():
            Q = (Q + Q.T) / 2  # what a quadratic form depends on
        matrices = {name: exact_matrix(Q if name == "Q" else part) for name, part in parts.items()}
        return cls(**matrices, equalities=equalities, slope=exact_matrix(_slope(given, n)))

    @property
    def inputs(self) -> int:
        """The number of parameters `n`."""
        return int(self.F.ncols())

    @property
    def moves(self) -> int:
        """The number of decision variables."""
        return int(self.A.ncols())

    @property
    def is_linear(self) -> bool:
        """Whether there is no quadratic term."""
        return not any(self.Q.entries())


def exact_matrix(table: NDArray[np.object_]) -> Any:
    """An ``fmpq_mat`` of a matrix of rationals."""
    return fmpq_mat(*table.shape, [to_flint(v) for v in table.ravel()])


def _table(values: Any, name: str) -> NDArray[np.object_]:
    try:
        table = fraction_array(unmasked(values, name))
    except InputError as error:
        raise InputError(f"`{name}`: {error}", name=name) from error
    except ValueError:
        raise InputError(f"`{name}` is ragged: all its rows must have the same length", name=name) from None
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(f"`{name}` must be a matrix, not an array of shape {table.shape}", name=name)
    return table


def _column(values: Any, name: str) -> NDArray[np.object_]:
    """A vector as a column, whether it is written as a list, a column or a row."""
    table = np.asarray(unmasked(values, name), dtype=object)
    return _table(table.reshape(-1, 1) if max(table.shape, default=1) == table.size else table, name)


def _slope(given: dict[str, Any], n: int) -> NDArray[np.object_]:
    """The terms of the objective that do not depend on `u`."""
    if given.get("Q_t") is not None and np.any(np.asarray(given["Q_t"], dtype=object) != 0):
        return np.full((0, n + 1), None, dtype=object)
    slope = np.zeros(n, dtype=object) if given.get("c_t") is None else _column(given["c_t"], "c_t")[:, 0]
    constant = np.zeros(1, dtype=object) if given.get("c_c") is None else _column(given["c_c"], "c_c")[:, 0]
    if len(slope) != n or len(constant) != 1:
        raise InputError(f"`c_t` must have {n} numbers and `c_c` one, not {len(slope)} and {len(constant)}")
    return np.concatenate([slope, constant])[None]


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


# Rows and laws of programs as integers, and the set of parameters that the constraints allow.


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
