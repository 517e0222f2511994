"""Are the rows of a max-min form valid? The test of the *below* condition, row by row and piece by piece.

A row `B` stands for ``min_{m in B} f_m``. It is valid if that never exceeds `p`. On piece `j` one member that stays
below `p` proves it; otherwise a linear program looks for the largest excess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.order import Order, Progress, value_tolerance
from cpwl.function import CPWL
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["Excess", "find_excess"]


@dataclass(frozen=True, slots=True)
class Excess:
    """Row number `row` is larger than the function by `amount` at `point`, which lies in piece `piece`.

    `amount` is infinite where the excess grows without bound; then it is at least 1 at `point`.
    """

    row: int
    piece: int
    point: NDArray[Any]
    amount: float


def find_excess(
    p: CPWL,
    output: int,
    order: Order,
    rows: Sequence[NDArray[np.int64]],
    progress: Progress | None = None,
) -> Excess | None:
    """The first row that exceeds the function somewhere, with a witness; None if all are valid."""
    components = p.components(output)
    laws = components.integer()[:, 0] if p.tol == 0 else components.coefficients()[:, 0]
    slack = value_tolerance(p, output)
    probe = Probe(p.tol)
    seen: set[tuple[int, ...]] = set()
    for i, row in enumerate(rows):
        key = tuple(row.tolist())
        if key in seen:
            continue
        seen.add(key)
        for j in np.flatnonzero(~order.below[:, row].any(axis=1)):
            found = _largest_excess(probe, p, laws, row, int(j), int(p.component[j, output]))
            if found is not None and found[1] > slack:
                return Excess(i, int(j), found[0], float(found[1]))
        if progress is not None:
            progress(i + 1, len(rows), "checking rows")
    return None


def _largest_excess(
    probe: Probe, p: CPWL, laws: NDArray[Any], row: NDArray[np.int64], j: int, own: int
) -> tuple[NDArray[Any], Any] | None:
    """Maximise `v` with ``v <= f_m - f_own`` for all `m` in the row, on piece `j`."""
    body = p.polyhedra[j]
    exact = p.tol == 0
    piece_rows = body.integer() if exact else np.column_stack([body.A, body.b])
    if exact:
        f, g = laws[row], laws[own]
        d, e = f[:, -1:], g[-1]
        law = f[:, :-1] * e - g[:-1] * d  # (f_m - f_own) times d_m e
        above = np.column_stack([-law[:, :-1], d * e, law[:, -1:]])
    else:
        law = laws[row] - laws[own]
        above = np.column_stack([-law[:, :-1], np.ones(len(row)), law[:, -1]])
    inside = np.column_stack([piece_rows[:, :-1], piece_rows[:, -1] * 0, piece_rows[:, -1]])
    both = np.concatenate([above, inside])
    if exact:
        scale = np.abs(both[:, :-1]).max(axis=1)
        view = np.asarray(both / scale[:, None], dtype=np.float64)
        wide = Polyhedron(view[:, :-1], view[:, -1], both)
    else:
        wide = Polyhedron(both[:, :-1], both[:, -1])
    value, where = probe.maximum(wide, [0] * p.dim + [1])
    if value == -np.inf:
        return None
    if value == np.inf:
        point = probe.interior(_at_least_one(wide, exact))
        return None if point is None else (point[:-1], np.inf)
    return where[:-1], value


def _at_least_one(wide: Polyhedron, exact: bool) -> Polyhedron:
    """The same with ``v >= 1``: a place where an unbounded excess is seen."""
    row = np.zeros((1, wide.dim + 1))
    row[0, -2:] = -1
    whole = np.concatenate([wide.integer(), row.astype(np.int64).astype(object)]) if exact else None
    return Polyhedron(np.concatenate([wide.A, row[:, :-1]]), np.concatenate([wide.b, row[:, -1]]), whole)
