"""Small binary programs by HiGHS, the same answer every time: limits are on nodes, and one thread works."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["cheapest_choice"]

_OPTIONS: dict[str, Any] = {"output_flag": False, "threads": 1, "time_limit": 60.0}


def cheapest_choice(
    cost: NDArray[np.float64],
    rows: csr_array[Any, tuple[int, int]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    start: NDArray[np.int64],
    options: dict[str, Any],
) -> NDArray[np.int64] | None:
    """Columns of small total cost with ``low <= rows . x <= high`` where `x` is 1 on them; None if none was found.

    `start` is a choice that is known to do; `options` are those of HiGHS, such as a limit on nodes.

    >>> table = csr_array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> ones = np.ones(2)
    >>> cheapest_choice(np.ones(3), table, ones, ones, np.array([0, 2]), {"mip_max_nodes": 9})
    array([1])
    """
    columns = len(cost)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, rows.shape[0]
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = np.zeros(columns), np.ones(columns)
    lp.row_lower_, lp.row_upper_ = low, high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
    lp.integrality_ = [highspy.HighsVarType.kInteger] * columns
    highs = highspy.Highs()
    for name, value in (_OPTIONS | options).items():
        highs.setOptionValue(name, value)
    highs.passModel(lp)
    known = highspy.HighsSolution()
    known.col_value = np.isin(np.arange(columns), start).astype(np.float64).tolist()
    highs.setSolution(known)
    highs.run()
    found = np.array(highs.getSolution().col_value)
    return np.flatnonzero(found > 0.5) if len(found) == columns else None
