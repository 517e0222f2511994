"""Algorithm 1 of the paper, as printed: ``p = max_i min_{m in A_i} f_m`` with one row for each piece.

It is wrong on many valid inputs: a row may exceed `p` away from its piece. So every row is tested, unless the
caller asks for the construction as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cpwl.bounds import algorithm1, r
from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import max_of_mins, outputs_together, rows_of
from cpwl.construct.plan import Least, Plan
from cpwl.errors import ConstructionError
from cpwl.function.answers import point_text
from cpwl.function.order import Excess, find_excess
from cpwl.network import Network


def plan(analysis: Analysis) -> Plan:
    """The plan of Algorithm 1's network; the rows of all outputs are tested if the options ask for it.

    Raises `ConstructionError` with a witness where the max-min form is not the function.

    >>> from cpwl.function import CPWL
    >>> plan(Analysis(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))).sizes.neurons
    3
    """
    source = _source(analysis)
    networks = [_network(source, j) for j in range(source.function.outputs)]
    return Plan.of("paper", outputs_together(networks), analysis.sample.points)


def least(analysis: Analysis) -> Least:
    """The exact size of Algorithm 1's network from the lengths of its rows; before these are known, as if all were 1.

    Several outputs share equal neurons of their first layers. What is not there are the later layers of the maximum.

    >>> from cpwl.function import CPWL
    >>> known = Analysis(CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=0))
    >>> least(known).neurons, plan(known).sizes.neurons, least(known).neurons
    (8, 17, 17)
    """
    analysis = _source(analysis)
    p = analysis.function
    rows = analysis.row_sizes if analysis.knows_orders else [[1] * p.num_pieces] * p.outputs
    counts = [algorithm1(own) for own in rows]
    neurons = counts[0].neurons if p.outputs == 1 else r(-(-p.num_pieces // 2))
    return Least(neurons, "the formula of Algorithm 1", max(count.layers for count in counts))


def _source(analysis: Analysis) -> Analysis:
    """The exact function near float data if it has as many pieces, a row for each: a proof finds it, too."""
    exact = analysis.simplest
    return exact if exact.function.num_pieces == analysis.function.num_pieces else analysis


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
