"""A multiparametric quadratic or linear program, with every number taken at its exact value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import primitive
from cpwl.exact.rational import exact_matrix, fraction_array, fractions_of, from_flint, text, to_flint, unmasked
from cpwl.function.make import polyhedra_from_integers
from cpwl.geometry.polyhedra import Polyhedron

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
    def right(self) -> Any:
        """``b + F x`` as a matrix times ``(x, 1)``."""
        return beside(self.F, self.b)

    @property
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
    whole = np.array([int(v) for v in matrix.numer_denom()[0].entries()], dtype=object)
    rows = primitive(whole.reshape(matrix.nrows(), matrix.ncols()))
    return np.concatenate([-rows[:, :-1], rows[:, -1:]], axis=1)
