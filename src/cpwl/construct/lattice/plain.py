"""Max-min networks that are right on every input: valid rows, few and short.

Start from the paper's rows, repair those that exceed the function (`repair`), shorten each row to members that
keep it below, drop rows that others make superfluous, and keep a few rows that reach every region.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.max_of_mins import max_of_mins
from cpwl.construct.lattice.sides import Region, repair
from cpwl.function.order import Order, PieceOrder, RowTest, value_tolerance
from cpwl.network import Network

__all__ = ["PlainLattice", "plain_lattice"]


@dataclass(frozen=True, slots=True, eq=False)
class PlainLattice:
    """A max-min network for one output, its rows, and what it took."""

    network: Network
    rows: tuple[tuple[int, ...], ...]
    splits: int
    solves: int


def plain_lattice(analysis: Analysis, output: int = 0) -> PlainLattice:
    """A max-min network whose rows never exceed the function and reach it on every piece.

    >>> from cpwl.function import CPWL
    >>> made = plain_lattice(Analysis(CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=0)))
    >>> made.rows, made.splits
    (((0,), (1, 2)), 0)
    """
    small, order = analysis.essential.function, analysis.orders[output]
    work = PieceOrder.of(small, output, value_tolerance(small))
    regions, splits = repair(small, output, order, work, analysis.options.progress)
    test = RowTest(small, output, order)
    short = {_shorten(test, order, region.above) for region in regions}
    rows = _cover(_without_supersets(sorted(short, key=lambda r: (len(r), r))), regions)
    network = max_of_mins(analysis.function.components(output), [np.array(row) for row in rows])
    return PlainLattice(network, tuple(rows), splits, test.probe.solves)


def _shorten(test: RowTest, order: Order, above: NDArray[np.bool_]) -> tuple[int, ...]:
    """Few members of a valid row that are still valid together.

    One member below `p` on a piece keeps the row below it there: a hitting set, chosen greedily. Pieces where
    only several members together do so are looked at last; there the row grows until the linear program is
    content.
    """
    members = np.flatnonzero(above)
    hits = order.below[:, members]
    open_pieces = hits.any(axis=1)
    chosen: list[int] = []
    rank = order.below.sum(axis=0)[members] / (len(hits) + 1)  # a common favourite makes rows alike
    while open_pieces.any():
        k = int(np.argmax(hits[open_pieces].sum(axis=0) + rank))
        chosen.append(int(members[k]))
        open_pieces &= ~hits[:, k]
    row = np.array(sorted(chosen), dtype=np.int64)
    if len(row) == len(members) or (len(row) and test.find_excess(row) is None):
        return tuple(row.tolist())
    rest = [int(m) for m in members[np.argsort(-rank, kind="stable")] if m not in chosen]
    return _grown(test, row, rest)


def _grown(test: RowTest, row: NDArray[np.int64], rest: list[int]) -> tuple[int, ...]:
    """The row with members that lower it at each excess found, until there is none."""
    excess = test.find_excess(row) if len(row) else None
    while len(row) == 0 or excess is not None:
        if excess is None:
            best = rest[0]
        else:
            x = np.append(excess.point, 1)
            values = [test.value(m, x) for m in rest]
            best = rest[int(np.argmin(values))]
        rest = [m for m in rest if m != best]
        row = np.array(sorted([*row.tolist(), best]), dtype=np.int64)
        excess = test.find_excess(row)
    return tuple(row.tolist())


def _without_supersets(rows: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Rows that contain no other row: a superset has a smaller minimum and adds nothing to the maximum."""
    kept: list[frozenset[int]] = []
    for row in rows:
        members = frozenset(row)
        if not any(other <= members for other in kept):
            kept.append(members)
    return [tuple(sorted(row)) for row in kept]


def _cover(rows: list[tuple[int, ...]], regions: Sequence[Region]) -> list[tuple[int, ...]]:
    """Few rows such that every region has one inside its `above`: greedy, by regions reached for each member."""
    above = np.array([region.above for region in regions])
    reached = np.array([above[:, list(row)].all(axis=1) for row in rows])
    length = np.array([len(row) + 1 for row in rows])
    chosen: list[int] = []
    waiting = np.ones(len(regions), dtype=bool)
    while waiting.any():
        k = int(np.argmax(reached[:, waiting].sum(axis=1) / length))
        chosen.append(k)
        waiting &= ~reached[k]
    return [rows[k] for k in sorted(chosen)]
