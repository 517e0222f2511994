"""A multiparametric quadratic or linear program, with every number taken at its exact value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.flint import to_flint
from cpwl.exact.rational import fraction_array, unmasked

__all__ = ["Program", "exact_matrix"]

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
