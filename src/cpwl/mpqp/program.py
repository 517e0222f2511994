"""Multiparametric quadratic and linear programs, every number at its exact value, and the region of one active set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import primitive
from cpwl.exact.rational import (
    exact_matrix,
    fraction_array,
    fractions_of,
    from_flint,
    independent,
    take,
    text,
    to_flint,
    unmasked,
)
from cpwl.function.make import polyhedra_from_integers
from cpwl.geometry.cells import cone_of
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.polyhedra import Facts, Polyhedra, Polyhedron, fact

NAMES = ("Q", "H", "c", "A", "F", "b", "A_t", "b_t")
CONSTANTS = ("c_t", "c_c", "Q_t")  # of the value alone


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
    facts: Facts = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        tables = [(m.nrows(), m.ncols(), fractions_of(m)) for m in (*(getattr(self, k) for k in NAMES), self.slope)]
        return _remade, (tables, self.equalities)

    @classmethod
    def from_matrices(cls, given: dict[str, Any], equalities: int = 0) -> Program:
        """The program of the matrices Q (absent: a linear program), H, c, A, F, b, A_t, b_t, and c_t, c_c if given.

        `A_t` and `b_t` may be absent or empty: then all parameters are allowed. `H`, `c` or `F` that is absent is 0;
        one of `H` and `F` says how many parameters there are.

        >>> Program.from_matrices({"Q": [[1]], "H": [[-1]], "c": [0], "A": [[1]], "F": [[0]], "b": [1]}).inputs
        1
        """
        unknown = sorted(given.keys() - {*NAMES, *CONSTANTS})
        if unknown:
            raise InputError(f"a program has no `{unknown[0]}`; it takes {', '.join(NAMES)}", name=unknown[0])
        needed = ["A", "b", *(["F"] if given.get("H") is None else [])]
        missing = [name for name in needed if given.get(name) is None]
        if missing:
            raise InputError(f"the program has no `{missing[0]}`; it takes {', '.join(NAMES)}", name=missing[0])
        A = table_of(given["A"], "A")
        rows, moves = A.shape
        n = table_of(given["F"], "F").shape[1] if given.get("H") is None else table_of(given["H"], "H").shape[1]
        for name, shape in (("H", (moves, n)), ("F", (rows, n)), ("c", (moves,))):
            if given.get(name) is None:
                given = {**given, name: np.zeros(shape, dtype=np.int64)}
        H = table_of(given["H"], "H")
        Q = np.zeros((moves, moves), dtype=object) if given.get("Q") is None else table_of(given["Q"], "Q")
        parts = {"Q": Q, "H": H, "A": A, "F": table_of(given["F"], "F")}
        none = all(given.get(name) is None or _is_empty(given[name]) for name in ("A_t", "b_t"))
        parts["A_t"] = np.zeros((0, n), dtype=object) if none else table_of(given.get("A_t"), "A_t")
        parts["b_t"] = np.zeros((0, 1), dtype=object) if none else _column(given.get("b_t"), "b_t")
        parts |= {name: _column(given[name], name) for name in ("c", "b")}
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

    @property
    @fact
    def right(self) -> Any:
        """``b + F x`` as a matrix times ``(x, 1)``."""
        return beside(self.F, self.b)

    @property
    @fact
    def descent(self) -> Any:
        """``-(H x + c)`` as a matrix times ``(x, 1)``."""
        return beside(self.H, self.c) * fmpq(-1)

    @property
    @fact
    def conditions(self) -> list[list[Any]]:
        """The rows of ``[Q A'; A 0]``, of which the conditions of optimality for some rows of `A` are a part."""
        none = [fmpq(0)] * self.A.nrows()
        below = [[*row, *none] for row in self.A.tolist()]
        return [*beside(self.Q, self.A.transpose()).tolist(), *below]

    @property
    @fact
    def single(self) -> dict[int, int]:
        """The column of the only entry of each row of `A` with one entry."""
        entries = [[j for j, v in enumerate(row) if v] for row in self.A.tolist()]
        return {i: own[0] for i, own in enumerate(entries) if len(own) == 1}

    @property
    @fact
    def bounds(self) -> Any:
        """``b_t - A_t x`` as a matrix times ``(x, 1)``."""
        return beside(self.A_t * fmpq(-1), self.b_t)

    def pairs(self) -> Any:
        """Rows of `A`, opposites of equations, and then bounds, as a matrix: not negative times ``(u, x, 1)``."""
        both = [[-v for v in row] + other for row, other in zip(self.A.tolist(), self.right.tolist(), strict=True)]
        both += [[-v for v in row] for row in both[: self.equalities]]
        both += [[fmpq(0)] * self.moves + row for row in self.bounds.tolist()]
        return fmpq_mat(len(both), self.moves + self.inputs + 1, [v for row in both for v in row])

    def feasible(self) -> Polyhedron:
        """All pairs ``(u, x)`` that the constraints allow."""
        return polyhedra_from_integers([half_spaces(self.pairs()).tolist()], self.moves + self.inputs)[0]

    @property
    @fact
    def numerators(self) -> Any:
        """``b + F x - A u`` as integers times ``(u, x, 1)``, with one positive factor for all."""
        return beside(self.A * fmpq(-1), self.right).numer_denom()[0]

    def slack_of(self, law: Any) -> NDArray[np.object_]:
        """Where a law ``u = law (x, 1)`` satisfies each row of `A`, as a half-space of `x`."""
        above, below = law.numer_denom()
        unit = [below * int(i == j) for i in range(self.inputs + 1) for j in range(self.inputs + 1)]
        both = fmpz_mat(self.moves + self.inputs + 1, self.inputs + 1, [*above.entries(), *unit])
        return half_spaces(self.numerators * both)

    def document(self) -> dict[str, Any]:
        """The matrices as a proof has them: integers, or "p/q"."""
        found: dict[str, Any] = {"equalities": self.equalities}
        for name in NAMES:
            matrix = getattr(self, name)
            rows = [[text(from_flint(v)) for v in row] for row in matrix.tolist()]
            found[name] = [row[0] for row in rows] if name in ("c", "b", "b_t") else rows
        return found


def _remade(tables: list[tuple[int, int, list[Fraction]]], equalities: int) -> Program:
    """A program after it was sent to another process."""
    made = [fmpq_mat(rows, columns, [to_flint(v) for v in table]) for rows, columns, table in tables]
    return Program(**dict(zip(NAMES, made, strict=False)), equalities=equalities, slope=made[-1])


def _is_empty(given: Any) -> bool:
    try:
        return np.size(given) == 0
    except ValueError:  # rows of different lengths, about which `table_of` has a sentence
        return False


def table_of(values: Any, name: str) -> NDArray[np.object_]:
    """A matrix of rationals; an error says which one is wrong."""
    if values is None:
        raise InputError(f"`{name}` is missing", name=name)
    try:
        table = fraction_array(unmasked(values, name))
    except InputError as error:
        raise InputError(f"`{name}`: {error}", name=name) from error
    except ValueError:
        raise InputError(f"`{name}` is ragged: all its rows must have the same length", name=name) from None
    if table.ndim == 1:
        raise InputError(f"`{name}` must be a list of rows, not of numbers: [[1], [2]] has one column", name=name)
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(f"`{name}` must be a list of rows, not an array of shape {table.shape}", name=name)
    return table


def _column(values: Any, name: str) -> NDArray[np.object_]:
    """A vector as a column, whether it is written as a list, a column or a row."""
    table = np.asarray(unmasked(values, name), dtype=object)
    return table_of(table.reshape(-1, 1) if max(table.shape, default=1) == table.size else table, name)


def _slope(given: dict[str, Any], n: int) -> NDArray[np.object_]:
    """The terms of the objective that do not depend on `u`."""
    if given.get("Q_t") is not None and np.any(np.asarray(given["Q_t"], dtype=object) != 0):
        return np.full((0, n + 1), None, dtype=object)
    slope = np.zeros(n, dtype=object) if given.get("c_t") is None else _column(given["c_t"], "c_t")[:, 0]
    constant = np.zeros(1, dtype=object) if given.get("c_c") is None else _column(given["c_c"], "c_c")[:, 0]
    if len(slope) != n or len(constant) != 1:
        raise InputError(f"`c_t` must have {n} numbers and `c_c` one, not {len(slope)} and {len(constant)}")
    return np.concatenate([slope, constant])[None]


# Matrices of rationals, and their rows as integers.


def beside(left: Any, right: Any) -> Any:
    """``[left right]``."""
    entries = [v for one, other in zip(left.tolist(), right.tolist(), strict=True) for v in (*one, *other)]
    return fmpq_mat(left.nrows(), left.ncols() + right.ncols(), entries)


def half_spaces(matrix: Any) -> NDArray[np.object_]:
    """Each row ``r (x, 1) >= 0`` as a primitive integer row ``(a, b)`` of ``a.x <= b``.

    >>> half_spaces(fmpq_mat(1, 2, [fmpq(-1, 2), fmpq(3)])).tolist()
    [[1, 6]]
    """
    integers = matrix.numer_denom()[0] if isinstance(matrix, fmpq_mat) else matrix
    whole = np.array([int(v) for v in integers.entries()], dtype=object)
    rows = primitive(whole.reshape(matrix.nrows(), matrix.ncols()))
    return np.concatenate([-rows[:, :-1], rows[:, -1:]], axis=1)


# The law and the region of one active set, in rationals.
#
# With the rows `a` of the active set as equations, the optimum and its multipliers solve
# ``[Q A_a'; A_a 0] (u, m) = (-H x - c, b_a + F_a x)``, so both are affine in `x`. They are optimal where all other rows
# hold and no multiplier of an inequality is negative. Rows may be active without being named, or depend on each other
# (the constraint qualification fails): let `T` be all rows that hold as equations wherever the law does. Then the law
# is optimal where the other rows hold and minus the gradient of the objective is in the cone of the rows `T`, a
# polyhedron that does not depend on which of several active sets led there.


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
    try:
        law, multipliers = solve_kkt(program, rows, program.descent, take(program.right, rows))
    except ZeroDivisionError:
        message = f"active set {active} does not determine the optimiser: the program is not strictly convex there"
        raise InputError(message, active=active) from None
    slack = program.slack_of(law)
    zero = np.asarray((slack == 0).all(axis=1), dtype=bool)
    if not zero[chosen].all():
        return None  # a dependent row holds on a hyperplane of parameters only
    tight = frozenset(np.flatnonzero(zero).tolist())
    if len(tight) > len(rows):  # rows that were not named may be independent of those: their multipliers are 0
        more = independent(program.A, [*rows, *sorted(tight.difference(rows))])[len(rows) :]
        rows = [*rows, *more]
        multipliers = fmpq_mat(
            len(rows), program.inputs + 1, [*multipliers.entries(), *[0] * len(more) * (program.inputs + 1)]
        )
    known, origin = _signs(program, rows, tight, multipliers)
    origin += [("slack", i) for i in np.flatnonzero(~zero).tolist()]
    origin += [("bound", i) for i in range(program.A_t.nrows())]
    whole = np.concatenate([half_spaces(known), slack[~zero], half_spaces(program.bounds)])
    level = np.asarray((whole[:, :-1] == 0).all(axis=1), dtype=bool)
    if (whole[level, -1] < 0).any():
        return None  # 0 <= b with b < 0
    kept = np.flatnonzero(~level)
    return CriticalRegion(law, tight, tuple(rows), multipliers, whole[kept], tuple(origin[k] for k in kept))


def solve_kkt(program: Program, rows: list[int], top: Any, bottom: Any) -> tuple[Any, Any]:
    """The matrices `u`, `m` with ``Q u + A_rows' m = top`` and ``A_rows u = bottom``, for independent rows.

    A row with one entry gives one of `u` first, and its own multiplier last: only the others are a system.
    """
    moves, width, table = program.moves, top.ncols(), program.conditions
    every = [*range(moves), *(moves + r for r in rows)]  # what is unknown, and the equations
    value = dict(zip(every, [*top.tolist(), *bottom.tolist()], strict=True))  # right-hand sides, then solutions
    alone = {moves + r: program.single[r] for r in rows if r in program.single}
    fixed = list(alone.values())
    kept = [k for k in every if k not in alone and k not in fixed]

    def part(above: list[int], across: list[int]) -> Any:
        return fmpq_mat(len(above), len(across), [table[i][j] for i in above for j in across])

    def of(chosen: list[int]) -> Any:
        return fmpq_mat(len(chosen), width, [v for k in chosen for v in value[k]])

    top_fixed = of(fixed)
    value |= {j: [v / table[i][j] for v in value[i]] for i, j in alone.items()}
    value |= zip(kept, part(kept, kept).solve(of(kept) - part(kept, fixed) * of(fixed)).tolist(), strict=True)
    rest = top_fixed - part(fixed, [*fixed, *kept]) * of([*fixed, *kept])
    for (i, j), row in zip(alone.items(), rest.tolist(), strict=True):
        value[i] = [v / table[i][j] for v in row]
    return of(every[:moves]), of(every[moves:])


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


def integer_laws(law: Any) -> NDArray[np.object_]:
    """For each row of a matrix times ``(x, 1)``: ``(gradient, offset, 1) * denominator``.

    >>> integer_laws(fmpq_mat(1, 2, [fmpq(1, 2), fmpq(3)])).tolist()
    [[1, 6, 2]]
    """
    whole, below = law.numer_denom()
    table = np.array([*map(int, whole.entries())], dtype=object).reshape(law.nrows(), law.ncols())
    return primitive(np.concatenate([table, np.full((law.nrows(), 1), int(below), dtype=object)], axis=1))


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
