"""Repair of the paper's rows: a piece whose row exceeds the function elsewhere is split until none does.

If row `A_i` exceeds `p` at `y`, then for every `x` in piece `i` some component has ``f_m(x) >= p(x)`` and
``f_m(y) <= p(y)`` (the one-dimensional lemma on the segment from `x` to `y`, which lies in the convex domain).
So the sets ``f_m >= p`` over those `m` cover the piece, none of them contains it, and the boundary of one cuts
its interior: split there. It ends at the latest when no ``f_a = f_b`` cuts a piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import ConstructionError, InputError
from cpwl.function import CPWL
from cpwl.function.doctor.report import point_text
from cpwl.function.order.on_pieces import PieceOrder
from cpwl.function.order.order import Order
from cpwl.function.order.rows import Excess, RowTest
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe
from cpwl.progress import Progress

__all__ = ["Region", "cut", "repair"]


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Part of a piece, and the components that stay above the function on it."""

    body: Polyhedron
    own: int
    above: NDArray[np.bool_]


def repair(
    p: CPWL, output: int, order: Order, work: PieceOrder, progress: Progress | None = None
) -> tuple[list[Region], int]:
    """Regions that cover the pieces and whose rows are valid, and the number of splits it took."""
    test = RowTest(p, output, order)
    probe = Probe(p.tol)
    waiting = [Region(p.polyhedra[i], int(p.component[i, output]), order.above[i]) for i in range(p.num_pieces)]
    waiting.reverse()
    valid: dict[bytes, bool] = {}
    regions: list[Region] = []
    splits = 0
    while waiting:
        region = waiting.pop()
        key = region.above.tobytes()
        excess = None if key in valid else test.find_excess(np.flatnonzero(region.above))
        if excess is None:
            valid[key] = True
            regions.append(region)
        else:
            waiting += _split(p, output, work, probe, region, excess)
            splits += 1
        if progress is not None:
            progress(len(regions), len(regions) + len(waiting), "repairing rows")
    return regions, splits


def _split(p: CPWL, output: int, work: PieceOrder, probe: Probe, region: Region, excess: Excess) -> list[Region]:
    """The two sides of the component that is low at the witness and high on most of the region."""
    differences = work.differences(region.own)
    y = np.append(excess.point, 1)
    # f_m(y) <= p(y), read as: f_m - f_own is at most p - f_own there.
    own_at_y = work.differences(int(p.component[excess.piece, output]))
    low = np.array([(law * y).sum() <= work.slack for law in own_at_y])
    bends = np.array([law[:-1].any() for law in differences], dtype=bool)  # a parallel component cuts nothing
    candidates = np.flatnonzero(low & ~region.above & bends)
    points = _sample(probe, region.body)
    likely = np.array([np.asarray(x, dtype=np.float64) for x in points])  # only to choose where to cut first
    largest = np.abs(differences).max(axis=1)
    view = np.asarray(differences / np.where(largest == 0, 1, largest)[:, None], dtype=np.float64)
    shares = (likely @ view[candidates].T >= 0).mean(axis=0)
    for k in np.argsort(np.negative(shares), kind="stable"):
        m = int(candidates[k])
        high, less = (cut(region.body, side) for side in (-differences[m], differences[m]))
        if probe.interior(high) is not None and probe.interior(less) is not None:
            return [_narrowed(work, probe, region, body) for body in (less, high)]
    between = f"no component explains the values between x = {point_text(excess.point)} and x = "
    between += point_text(points[0][:-1])
    if p.tol:  # slack in every decision: this need not be the caller's mistake
        raise ConstructionError(f"{between}, as far as can be told from data with noise", point=excess.point)
    raise InputError(
        f"the domain is not convex: {between}; `p.doctor()` says where it is not",
        point=excess.point,
        other=points[0][:-1],
    )


def cut(body: Polyhedron, law: NDArray[Any]) -> Polyhedron:
    """The part of the polyhedron where ``law <= 0``."""
    row = np.append(law[:-1], -law[-1])
    if row.dtype != object:
        return Polyhedron(np.concatenate([body.A, row[None, :-1]]), np.append(body.b, row[-1]))
    view = np.asarray(row / np.abs(row[:-1]).max(), dtype=np.float64)
    exact = np.concatenate([body.integer(), row[None]])
    return Polyhedron(np.concatenate([body.A, view[None, :-1]]), np.append(body.b, view[-1]), exact)


def _narrowed(work: PieceOrder, probe: Probe, region: Region, body: Polyhedron) -> Region:
    above = work.above_on(probe, body, region.own, region.above)
    return Region(body, region.own, above)


def _sample(probe: Probe, body: Polyhedron) -> list[NDArray[Any]]:
    """Points ``(x, 1)`` of the region: an interior one, and corners in fixed directions with their means."""
    inside = probe.interior(body)
    assert inside is not None
    n = body.dim
    directions = [np.cos(1.0 + 2.3 * np.arange(n) + 1.7 * k) for k in range(2 * n + 2)]
    rough = Probe(1e-9)
    found = [rough.maximum(body, d) for d in directions]
    corners = [point for value, point in found if np.isfinite(float(value))]
    center = np.asarray(inside, dtype=np.float64)
    points = [center, *corners, *((center + c) / 2 for c in corners)]
    return [np.append(inside, 1), *(np.append(x, 1.0) for x in points)]
