"""Algorithm 1 of the paper, as printed: ``p = max_i min_{m in A_i} f_m`` with one row for each piece.

It is wrong on many valid inputs: a row may exceed `p` away from its piece. So every row is tested, unless the
caller asks for the construction as it is.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import eye_array

from cpwl.errors import ConstructionError
from cpwl.function import CPWL
from cpwl.function.doctor.report import point_text
from cpwl.function.lineality import divided
from cpwl.function.order.order import Order, order_components
from cpwl.function.order.rows import Excess, find_excess
from cpwl.function.parts import Laws
from cpwl.limits import check_memory
from cpwl.network import Network
from cpwl.network.end_to_end import end_to_end
from cpwl.network.extrema import extrema
from cpwl.network.extremum import extremum
from cpwl.network.maxmin import maxmin
from cpwl.progress import Progress

__all__ = ["max_of_mins", "paper"]

_BYTES = 96  # for a weight, as a float and as a rational, with what it takes to make them


def paper(
    p: CPWL,
    output: int = 0,
    *,
    order: Order | None = None,
    check: bool = True,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> tuple[Network, list[int]]:
    """Algorithm 1 for one output: the network and the sizes ``|A_i|``.

    Raises `ConstructionError` with a witness where the max-min form is not the function (``check=True``).

    >>> net, sizes = paper(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))
    >>> net.sizes.neurons, sizes
    (3, [1, 1])
    """
    if order is None or check:
        small = divided(p)
    if order is None:
        order = order_components(small.function, output, executor=executor, progress=progress)
    rows = [np.flatnonzero(row) for row in order.above]
    if check:
        excess = find_excess(small.function, output, order, rows, progress)
        if excess is not None:
            excess = replace(excess, point=small.lift(excess.point))
            raise _refuted(output, excess, rows[excess.row])
    return max_of_mins(p.components(output), rows), [len(row) for row in rows]


def max_of_mins(laws: Laws, rows: list[NDArray[np.int64]]) -> Network:
    """Steps 9-13 of Algorithm 1: min networks side by side, then the max of their outputs."""
    members = sum(len(row) for row in rows)
    # Three neurons for two members, with n weights each in the first layer and up to six in later ones.
    check_memory(
        _BYTES * members * (1.5 * laws.gradient.shape[-1] + 9),
        f"Algorithm 1's network of about {3 * members:,} neurons",
        'Use construction="gates" or "lattice", which need far fewer.',
    )
    if laws.exact is not None:
        return maxmin(laws.exact[:, 0], rows)
    minima = extrema(laws.gradient[:, 0], laws.offset[:, 0], rows, "min")
    return end_to_end(minima, extremum(eye_array(len(rows), format="csr"), np.zeros(len(rows)), "max"))


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
