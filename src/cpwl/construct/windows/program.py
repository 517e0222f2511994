"""One large sparse linear program in floats: HiGHS's interior point method, without crossover and without presolve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["Solved", "solve"]

_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "solver": "ipm",
    "run_crossover": "off",  # any point near the best will do
    "presolve": "off",  # it calls some feasible programs infeasible
    "threads": 1,
}


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A point, and the multipliers of the rows; whether HiGHS calls it optimal is in `optimal`."""

    point: NDArray[np.float64]
    duals: NDArray[np.float64]
    optimal: bool


def solve(
    cost: NDArray[np.float64],
    rows: csr_array[Any, tuple[int, int]],
    low: NDArray[np.float64],
    least: NDArray[np.float64],
    **options: Any,
) -> Solved:
    """Minimise ``cost . x`` subject to ``rows @ x >= low`` and ``x >= least``.

    >>> found = solve(np.ones(2), csr_array([[1.0, 2.0]]), np.array([4.0]), np.zeros(2))
    >>> found.optimal, [round(float(v), 4) for v in found.point]
    (True, [0.0, 2.0])
    """
    table = csr_array(rows)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(low)
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = least, np.full(len(cost), highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = low, np.full(len(low), highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = table.indptr, table.indices, table.data
    highs = highspy.Highs()
    for name, value in (_OPTIONS | options).items():
        highs.setOptionValue(name, value)
    highs.passModel(lp)
    highs.run()
    answer = highs.getSolution()
    optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return Solved(np.array(answer.col_value), np.array(answer.row_dual), optimal)
