"""Which components stay above, and which below, the function on each piece.

``above[i, m]`` says ``f_m >= p`` on piece `i` (the paper's set `A_i`), ``below[i, m]`` says ``f_m <= p`` there.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.function import CPWL
from cpwl.function.mesh_order import mesh_signs
from cpwl.function.piece_order import PieceOrder

__all__ = ["Order", "Progress", "order_components", "value_tolerance"]

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The two relations between pieces and components of one output, and the LPs that were needed."""

    above: NDArray[np.bool_]
    below: NDArray[np.bool_]
    solves: int


def value_tolerance(p: CPWL, output: int) -> float:
    """What counts as equal values for float data: `tol` times the size of the terms of ``g.x + o``.

    For exact data it is the integer 0, which rounds nothing that it is added to.
    """
    if p.tol == 0:
        return 0
    slopes = np.abs(p.laws.gradient[:, output]).max(axis=0, initial=0.0)
    reach = np.abs(p.polyhedra.b / np.abs(p.polyhedra.A).max(axis=1)).max(initial=0.0)
    return float(p.tol * (slopes.sum() * reach + np.abs(p.laws.offset[:, output]).max(initial=0.0)))


def order_components(
    p: CPWL, output: int, *, executor: Executor | None = None, progress: Progress | None = None
) -> Order:
    """Decides both relations for every piece and component of one output (step 5 of Algorithm 1).

    The corners of a simplex decide everything on it, so a triangulated table needs no linear program. Other
    pieces are decided one at a time; an `executor` shares them out, and the result does not depend on it.
    """
    if p.mesh is not None:
        signs = mesh_signs(p, output)
        corners = p.mesh.simplices
        above = np.stack([signs[:, c] >= 0 for c in corners.T]).all(axis=0).T
        below = np.stack([signs[:, c] <= 0 for c in corners.T]).all(axis=0).T
        return Order(np.asarray(above), np.asarray(below), 0)
    work = PieceOrder.of(p, output, value_tolerance(p, output))
    blocks = np.array_split(np.arange(p.num_pieces), min(p.num_pieces, 64))
    results: list[Any] = []
    for result in map(work, blocks) if executor is None else executor.map(work, blocks):
        results.append(result)
        if progress is not None:
            progress(sum(len(r[0]) for r in results), p.num_pieces, "ordering components")
    above, below = (np.concatenate([r[k] for r in results]) for k in (0, 1))
    return Order(above, below, sum(r[2] for r in results))
