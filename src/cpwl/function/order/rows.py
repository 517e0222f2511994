"""Are the rows of a max-min form valid? The test of the *below* condition, row by row and piece by piece.

A row `B` stands for ``min_{m in B} f_m``. It is valid if that never exceeds `p`. On piece `j` one member that stays
below `p` proves it; otherwise a linear program looks for the largest excess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import ConstructionError, InternalError
from cpwl.function.cpwl import CPWL
from cpwl.function.order.order import Order, value_tolerance
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe
from cpwl.progress import Progress

__all__ = ["Excess", "RowTest", "find_excess"]


@dataclass(frozen=True, slots=True)
class Excess:
    """Row number `row` is larger than the function by `amount` at `point`, which lies in piece `piece`.

    `amount` is infinite where the excess grows without bound; then it is at least 1 at `point`.
    """

    row: int
    piece: int
    point: NDArray[Any]
    amount: float


class RowTest:
    """The *below* test for rows of one output of a function, one row at a time."""

    def __init__(self, p: CPWL, output: int, order: Order) -> None:
        self.p, self.order = p, order
        self.component = p.component[:, output]
        laws = p.components(output)
        self.laws = laws.integer()[:, 0] if p.tol == 0 else laws.coefficients()[:, 0]
        self.slack = value_tolerance(p)
        self.probe = Probe(p.tol)

    def find_excess(self, row: NDArray[np.int64], number: int = 0) -> Excess | None:
        """A point where the row exceeds the function, or None if it is valid."""
        for j in np.flatnonzero(~self.order.below[:, row].any(axis=1)):
            point, value = self._largest(row, int(j))
            if value > self.slack:
                return Excess(number, int(j), point, float(value))
        return None

    def value(self, m: int, at: NDArray[Any]) -> Any:
        """The value of component `m` at ``(x, 1)``."""
        law = self.laws[m]
        return (law * at).sum() if self.p.tol else Fraction((law[:-1] * at).sum()) / law[-1]

    def _largest(self, row: NDArray[np.int64], j: int) -> tuple[NDArray[Any], Any]:
        """The largest excess of the row on piece `j` and where; at a place with at least 1 if it has no bound."""
        program = self.program(row, j)
        value, where = self.probe.maximum(program, [0] * self.p.dim + [1])
        if value == np.inf:
            seen = self.probe.interior(_at_least_one(program))
            if seen is None and self.p.tol:
                message = f"whether a row stays below the function on piece {j} cannot be told from noise, far out"
                raise ConstructionError(message, row=row, piece=j)
            if seen is None:
                raise InternalError("an unbounded excess is nowhere 1", row=row, piece=j)
            return seen[:-1], value
        return where[:-1], value

    def program(self, row: NDArray[np.int64], j: int) -> Polyhedron:
        """The points ``(x, v)`` with ``v <= f_m - p`` for all `m` in the row and `x` in piece `j`."""
        body = self.p.polyhedra[j]
        own = self.laws[self.component[j]]
        if self.p.tol:
            law = self.laws[row] - own
            above = np.column_stack([-law[:, :-1], np.ones(len(row)), law[:, -1]])
            inside = np.column_stack([body.A, np.zeros(len(body.b)), body.b])
            both = np.concatenate([above, inside])
            return Polyhedron(both[:, :-1], both[:, -1])
        f = self.laws[row]
        d, e = f[:, -1:], own[-1]
        law = f[:, :-1] * e - own[:-1] * d  # (f_m - p) times d_m e
        above = np.column_stack([-law[:, :-1], d * e, law[:, -1:]])
        rows = body.integer()
        inside = np.column_stack([rows[:, :-1], rows[:, -1] * 0, rows[:, -1]])
        both = np.concatenate([above, inside])
        view = np.asarray(both / np.abs(both[:, :-1]).max(axis=1)[:, None], dtype=np.float64)
        return Polyhedron(view[:, :-1], view[:, -1], both)


def find_excess(
    p: CPWL, output: int, order: Order, rows: Sequence[NDArray[np.int64]], progress: Progress | None = None
) -> Excess | None:
    """The first of many rows that exceeds the function somewhere, with a witness; None if all are valid."""
    test = RowTest(p, output, order)
    seen: set[bytes] = set()
    for i, row in enumerate(rows):
        if row.tobytes() not in seen:
            seen.add(row.tobytes())
            excess = test.find_excess(row, i)
            if excess is not None:
                return excess
        if progress is not None:
            progress(i + 1, len(rows), "checking rows")
    return None


def _at_least_one(program: Polyhedron) -> Polyhedron:
    """The same with ``v >= 1``: a place where an unbounded excess is seen."""
    row = np.zeros((1, program.dim + 1))
    row[0, -2:] = -1
    exact = None
    if program.exact is not None:
        exact = np.concatenate([program.exact, row.astype(np.int64).astype(object)])
    return Polyhedron(np.concatenate([program.A, row[:, :-1]]), np.append(program.b, -1.0), exact)
