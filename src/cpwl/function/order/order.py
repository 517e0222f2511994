"""Which components stay above, and which below, the function on each piece.

``above[i, m]`` says ``f_m >= p`` on piece `i` (the paper's set `A_i`), ``below[i, m]`` says ``f_m <= p`` there.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.executors import spread
from cpwl.function.cpwl import CPWL
from cpwl.function.order.at_generators import order_at_generators
from cpwl.function.order.on_cones import order_on_cones
from cpwl.function.order.on_mesh import mesh_signs
from cpwl.function.order.on_pieces import PieceOrder
from cpwl.function.order.within_tolerance import order_within
from cpwl.function.parts import Mesh
from cpwl.function.scale import scale_of
from cpwl.geometry.generators import generators
from cpwl.limits import check_memory
from cpwl.progress import Progress

__all__ = ["Order", "order_components", "value_tolerance"]

_BLOCK = 1 << 22  # signs in one temporary array


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The two relations between pieces and components of one output, and the LPs that were needed."""

    above: NDArray[np.bool_]
    below: NDArray[np.bool_]
    solves: int


def value_tolerance(p: CPWL) -> float:
    """What counts as equal values for float data: `tol` of the largest values, and not less than rounding (`Scale`).

    All outputs count together, so that one that is 0 up to rounding is 0. For exact data it is the integer 0, which
    rounds nothing that it is added to.
    """
    if p.tol == 0:
        return 0
    return float(scale_of(p.polyhedra, p.laws, p.tol).slack(p.tol).max(initial=0.0))


def order_components(
    p: CPWL, output: int, *, executor: Executor | None = None, progress: Progress | None = None
) -> Order:
    """Decides both relations for every piece and component of one output (step 5 of Algorithm 1).

    The corners of a simplex decide everything on it, so a triangulated table needs no linear program; nor do exact
    pieces with few rows, which are decided at their corners and rays, and float pieces that are bounded or have
    independent rows. Other pieces are decided one at a time; an `executor` shares them out, and the result does not
    depend on it.
    """
    count = int(p.component[:, output].max()) + 1
    check_memory(
        2.0 * p.num_pieces * count,
        f"comparing {count:,} components on {p.num_pieces:,} pieces",
        'Use construction="gates", which compares neighbours only.',
    )
    if p.mesh is not None:
        return _order_on_mesh(p, p.mesh, output, count, progress)
    work = PieceOrder.of(p, output, value_tolerance(p))
    if p.tol:
        above, below, known = order_on_cones(p.polyhedra, work.laws, work.component, p.tol, work.slack)
        if not known.all():
            *corners, bounded = order_within(p.polyhedra, work.laws, work.component, work.unit, work.slack)
            new = bounded & ~known
            above[new], below[new] = corners[0][new], corners[1][new]
            known = known | bounded
    else:
        spanned = generators(p.polyhedra)
        above, below = order_at_generators(work.laws, work.component, spanned)
        known = spanned.known
    left = np.flatnonzero(~known)
    done, solves = p.num_pieces - len(left), 0
    blocks = np.array_split(left, min(len(left), 64)) if len(left) else []
    answers = spread(PieceOrder.__call__, work, blocks, executor)
    for block, (over, under, count) in zip(blocks, answers, strict=True):
        above[block], below[block] = over, under
        done, solves = done + len(block), solves + count
        if progress is not None:
            progress(done, p.num_pieces, "ordering components")
    return Order(above, below, solves)


def _order_on_mesh(p: CPWL, mesh: Mesh, output: int, count: int, progress: Progress | None) -> Order:
    """The order at the corners of simplices, some components at a time."""
    above = np.ones((p.num_pieces, count), dtype=bool)
    below = np.ones_like(above)
    step = max(1, _BLOCK // len(mesh.points))
    for first in range(0, count, step):
        some = slice(first, first + step)
        signs = mesh_signs(p, output, some)
        for corner in mesh.simplices.T:
            above[:, some] &= signs.T[corner] >= 0
            below[:, some] &= signs.T[corner] <= 0
        if progress is not None:
            progress(min(first + step, count), count, "ordering components")
    return Order(above, below, 0)
