"""Algorithm 1 of the paper, as printed: ``p = max_i min_{m in A_i} f_m`` with one row for each piece.

It is wrong on many valid inputs: a row may exceed `p` away from its piece. So every row is tested, unless the
caller asks for the construction as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.max_of_mins import max_of_mins, outputs_together, rows_of
from cpwl.construct.plan import Plan
from cpwl.errors import ConstructionError
from cpwl.function.answers import point_text
from cpwl.function.order import Excess, find_excess
from cpwl.network import Network

__all__ = ["plan"]


def plan(analysis: Analysis) -> Plan:
    """The plan of Algorithm 1's network; the rows of all outputs are tested if the options ask for it.

    Raises `ConstructionError` with a witness where the max-min form is not the function.

    >>> from cpwl.function import CPWL
    >>> plan(Analysis(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))).sizes.neurons
    3
    """
    networks = [_network(analysis, j) for j in range(analysis.function.outputs)]
    return Plan.of("paper", outputs_together(networks), analysis.sample.points)


def _network(analysis: Analysis, output: int) -> Network:
    p, order = analysis.function, analysis.orders[output]
    rows = rows_of(order)
    if analysis.options.check:
        excess = find_excess(analysis.essential.function, output, order, rows, analysis.options.progress)
        if excess is not None:
            excess = replace(excess, point=analysis.divided.lift(excess.point))
            raise _refuted(output, excess, rows[excess.row])
    return max_of_mins(p.components(output), rows)


def _refuted(output: int, excess: Excess, row: NDArray[np.int64]) -> ConstructionError:
    members = ", ".join(str(m) for m in row[:8]) + (", ..." if len(row) > 8 else "")
    amount = "without bound" if np.isinf(excess.amount) else f"by at least {excess.amount:.6g}"
    return ConstructionError(
        f"Algorithm 1 does not compute this function: the row of piece {excess.row}, the minimum of components "
        f"{{{members}}}, exceeds it {amount} at x = {point_text(excess.point)} in piece {excess.piece}.\n"
        f'  The paper\'s max-min form fails on some valid functions. Use construction="auto".',
        piece=excess.row,
        row=row,
        point=excess.point,
        where=excess.piece,
        amount=excess.amount,
        output=output,
    )
