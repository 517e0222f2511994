"""Many small linear programs: one HiGHS model per polyhedron, only the objective changes between solves.

A float answer proposes; `maximize_exactly` takes its basis and proves or repairs it in rationals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.errors import SolverError
from cpwl.exact.integers import integer_rows
from cpwl.exact.simplex import Optimum, Status, maximize
from cpwl.search import highs_takes, highs_with

_STATUS: dict[Any, Status] = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kUnbounded: "unbounded",
    highspy.HighsModelStatus.kInfeasible: "infeasible",
}
_INFINITY = 1e15  # in units: a row this far away bounds nothing that floats can see
_OPTIONS: dict[str, Any] = {
    "presolve": "off",  # It costs more than it saves here, and blurs unbounded with infeasible.
    "solver": "simplex",
    "simplex_strategy": 1,
    "threads": 1,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}
# HiGHS can end in "unknown" on easy programs: after a warm start, or from a cold one with free variables. Such
# an answer is never read; the same program is solved another way.
_SECOND_TRIES: tuple[dict[str, Any], ...] = ({}, {"simplex_strategy": 4}, {"presolve": "on"})


@dataclass(frozen=True, slots=True)
class FloatOptimum:
    """What HiGHS says: a status, the value, a point, and the nonbasic rows and columns."""

    status: Status
    value: float
    point: NDArray[np.float64]


class LinearProgram:
    """Maximise linear functions over one polyhedron ``A x <= b``, again and again.

    >>> square = LinearProgram(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.array([1.0, 0, 1, 0]))
    >>> square.maximize([1.0, 3.0]).value
    4.0
    """

    __slots__ = ("_columns", "_empty", "_highs", "_loaded", "_refused", "_unit", "count", "dim", "solves")

    def __init__(self, A: Any, b: NDArray[np.float64], unit: float | None = None) -> None:
        self._highs = highs_with(_OPTIONS)
        self.solves = 0
        self.load(A, b, unit)

    def load(self, A: Any, b: NDArray[np.float64], unit: float | None = None) -> None:
        """Go on with another polyhedron; `unit` is the size of its coordinates, if that is known.

        `A` is an array, or a sparse one for programs that `propose` alone solves."""
        self.count, self.dim = A.shape
        self._loaded = A, b
        # Rows of any size are welcome, but a solver's tolerances are absolute.
        sparse = isinstance(A, csr_array)
        scale = abs(A).max(axis=1).toarray().ravel() if sparse else np.abs(A).max(axis=1, initial=0.0)
        scale[scale == 0] = 1.0
        A, b = csr_array(A / scale[:, None]) if sparse else A / scale[:, None], b / scale
        # So are coordinates: unless it is known, their unit is that of the right-hand sides.
        self._unit = _power_of_two(b if unit is None else np.array([unit]))
        b = b / self._unit
        b = np.where(b > _INFINITY, highspy.kHighsInf, b)
        self._empty = unit is not None and bool((b < -_INFINITY).any())
        self._columns = np.arange(self.dim, dtype=np.int32)
        lp, most = highspy.HighsLp(), np.full(self.dim, highspy.kHighsInf)
        lp.sense_ = highspy.ObjSense.kMaximize
        rows = _entries(A)
        ends = (-most, most), (np.full(self.count, -highspy.kHighsInf), b)
        # HiGHS takes 1e20 for infinity and refuses such rows: then only exact programs can be solved.
        self._refused = not highs_takes(lp, self._highs, np.zeros(self.dim), rows, *ends)

    def maximize(self, objective: Sequence[float] | NDArray[np.float64]) -> FloatOptimum:
        """The largest value of ``objective . x``; unbounded and infeasible are told apart.

        Every float is a rational: what HiGHS cannot solve in any way is solved exactly, and rounded.
        """
        try:
            return self.propose(objective)
        except SolverError:
            best = maximize(integer_rows(np.column_stack(self._loaded)), [Fraction(float(v)) for v in objective])
        if best.status == "infeasible":
            return FloatOptimum("infeasible", -math.inf, np.zeros(self.dim))
        at = best.point if best.status == "optimal" else best.ray
        value = math.inf if best.value is None or best.status == "unbounded" else float(best.value)
        return FloatOptimum(best.status, value, np.array([float(v) for v in at or ()]))

    def propose(self, objective: Sequence[float] | NDArray[np.float64]) -> FloatOptimum:
        """The same by HiGHS alone: `SolverError` where it does not know."""
        self.solves += 1
        if self._empty:
            return FloatOptimum("infeasible", -math.inf, np.zeros(self.dim))
        if self._refused:
            raise SolverError("HiGHS refused a linear program: its numbers are too large for it")
        cost = np.asarray(objective, dtype=np.float64)
        most = _power_of_two(cost)
        cost = cost / most
        self._highs.changeColsCost(self.dim, self._columns, cost)
        self._highs.run()
        status = self._highs.getModelStatus()
        for options in _SECOND_TRIES:
            if status in _STATUS:
                break
            status = self._try_again(options)
        if status not in _STATUS:
            name = self._highs.modelStatusToString(status)
            raise SolverError(f"HiGHS could not solve a linear program: {name}", objective=cost)
        point = np.array(self._highs.getSolution().col_value) * self._unit
        value = self._highs.getInfo().objective_function_value
        return FloatOptimum(_STATUS[status], float(value * self._unit * most), point)

    def maximize_exactly(self, rows: NDArray[np.object_], objective: Sequence[Any]) -> Optimum:
        """The exact optimum for the integer `rows` whose float view this program holds."""
        largest = max((abs(v) for v in objective), default=0) or 1  # integers may exceed any float
        try:
            self.propose(np.array([float(v / largest) for v in objective]))
        except SolverError:
            return maximize(rows, objective)
        basis = self._highs.getBasis()
        basic = highspy.HighsBasisStatus.kBasic
        active = [i for i, s in enumerate(basis.row_status) if s != basic]
        free = [j for j, s in enumerate(basis.col_status) if s != basic]
        return maximize(rows, objective, active, free)

    def _try_again(self, options: dict[str, Any]) -> Any:
        self._highs.clearSolver()
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self._highs.run()
        status = self._highs.getModelStatus()
        for name in options:
            self._highs.setOptionValue(name, _OPTIONS[name])
        return status


def _entries(A: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Where rows start, and columns and values of their entries other than 0."""
    if isinstance(A, csr_array):
        A.sum_duplicates()
        A.eliminate_zeros()
        return A.indptr, A.indices, A.data
    keep = A != 0
    return np.concatenate([[0], np.cumsum(keep.sum(axis=1))]), np.nonzero(keep)[1], A[keep]


def _power_of_two(values: NDArray[np.float64]) -> float:
    """The power of two just below the largest size: dividing by it rounds nothing."""
    largest = float(np.abs(values).max(initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if 0 < largest < math.inf else 1.0
