"""Pieces cut until every two of them, or of their parts, are told apart by one component.

For a part `X` of a piece let ``A(X)`` be the components that stay above the function on it, and for a part `Y` let
``D(Y)`` be those that stay below. Where ``A(X)`` and ``D(Y)`` have a component in common for all `X` and `Y`, a
monotone expression can be right on both (`separate`). For points that is always so: on the segment from `x` to `y`,
which lies in the convex domain, some component has ``f_m(x) >= p(x)`` and ``f_m(y) <= p(y)`` (the one-dimensional
lemma). So if ``A(X)`` and ``D(Y)`` have nothing in common, take a point inside each: their component cuts one of the
two, and there it is cut. It ends at the latest when no ``f_a = f_b`` cuts a part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.lattice.part import Held, Part, laws_less_own, parts_of
from cpwl.errors import ConstructionError, InputError
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.doctor.report import point_text
from cpwl.function.order.on_pieces import PieceOrder
from cpwl.function.order.order import Order, value_tolerance
from cpwl.geometry.corners import Corners
from cpwl.geometry.probe import Probe
from cpwl.progress import Progress

__all__ = ["Sides", "find_sides"]

Table = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Rows ``above`` and ``below`` of components, every two with one in common; no row contains another of its kind."""

    above: Table
    below: Table
    splits: int
    solves: int


def find_sides(p: CPWL, output: int, order: Order, progress: Progress | None = None) -> Sides:
    """The two tables for one output, with pieces cut where they have to be.

    >>> from cpwl.function.order.order import order_components
    >>> p = CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=0)
    >>> sides = find_sides(p, 0, order_components(p, 0))
    >>> sides.above.astype(int).tolist(), sides.below.astype(int).tolist()
    ([[1, 0, 1], [0, 1, 1]], [[1, 1, 0], [1, 0, 1]])
    """
    work = _Cutting(p, output, order)
    while (pair := work.next_pair()) is not None:
        work.cut(*pair)
        if progress is not None:
            progress(work.splits, work.splits + int(work.apart.sum()), "telling pieces apart")
    return Sides(_smallest(work.members[0]), _smallest(work.members[1]), work.splits, work.probe.solves)


def _smallest(rows: Table) -> Table:
    """The rows that contain no other, each once, in order of first appearance."""
    rows = rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    common = rows.astype(np.float32) @ rows.T.astype(np.float32)
    inside = (common == rows.sum(axis=1)[None, :]) & ~np.eye(len(rows), dtype=bool)  # row j is inside row i
    return np.asarray(rows[~inside.any(axis=1)])


class _Cutting:
    """The parts above (side 0) and below (side 1), their components, and which have none in common."""

    def __init__(self, p: CPWL, output: int, order: Order) -> None:
        self.probe = Probe(p.tol)
        work = PieceOrder.of(p, output, value_tolerance(p))
        turned = work.laws.copy()
        turned[:, : p.dim + 1] *= -1
        self.orders = (work, replace(work, laws=turned))  # a component below is above for the negative function
        pieces = parts_of(p, output, self.probe)
        self.parts: tuple[list[Part], list[Part]] = (pieces, list(pieces))
        self.members = [order.above.copy(), order.below.copy()]
        self.apart = ~_meet(*self.members)
        self.splits = 0

    def next_pair(self) -> tuple[int, int] | None:
        """A pair with nothing in common whose parts are in most such pairs; None if there is none."""
        one, two = np.divmod(np.flatnonzero(self.apart), self.apart.shape[1])
        if len(one) == 0:
            return None
        k = int(np.argmax(self.apart.sum(axis=1)[one] + self.apart.sum(axis=0)[two]))
        return int(one[k]), int(two[k])

    def cut(self, i: int, j: int) -> None:
        """One of the two parts, along a component that tells points inside them apart."""
        pair = (i, j)
        inside = [self.parts[side][pair[side]].point() for side in (0, 1)]
        both = np.flatnonzero(np.logical_and(*(self._at_least(side, pair[side], inside[side]) for side in (0, 1))))
        choices = []
        for side in (0, 1):
            helps = self._helps(side, pair)
            choices += [(-helps[m], side, int(m)) for m in both if not self.members[side][pair[side], m]]
        for _, side, m in sorted(choices):
            part = self.parts[side][pair[side]]
            halves = part.cut(laws_less_own(self.orders[side], part.own)[0][m])
            if halves is not None:
                self._replace(side, pair[side], halves)
                return
        if self._is_thin(pair, choices):
            return
        x, y = (fraction_array(point[:-1]) / point[-1] for point in inside)
        if self.probe.tol:
            raise ConstructionError(
                f"no component explains the values between x = {point_text(y)} and x = {point_text(x)}: the domain is "
                "not convex, or the data too noisy to tell its components apart",
                point=y,
                other=x,
            )
        raise InputError(
            f"the domain is not convex: no component explains the values between x = {point_text(y)} and "
            f"x = {point_text(x)}; `p.doctor()` says where it is not",
            point=y,
            other=x,
        )

    def _is_thin(self, pair: tuple[int, int], choices: list[tuple[int, int, int]]) -> bool:
        """Whether a component is on the right side of a part but for a margin that is too thin to be anything.

        Noise moves the corner of a steep sliver by more than values may be off by. Then the part has the component.
        """
        for _, side, m in sorted(choices) if self.probe.tol else ():
            k = pair[side]
            part = self.parts[side][k]
            assert isinstance(part, Held)
            below, above = part.halves(laws_less_own(self.orders[side], part.own)[0][m])
            if self.probe.interior(below.body) is None and self.probe.interior(above.body) is not None:
                self.members[side][k, m] = True
                self.apart[(k, slice(None)) if side == 0 else (slice(None), k)] = self._apart_from(
                    side, self.members[side][k]
                )
                return True
        return False

    def _helps(self, side: int, pair: tuple[int, int]) -> NDArray[np.int64]:
        """For each component how many pairs with this part it would settle; one that settles this pair comes first."""
        others = self.members[1 - side]
        alone = self.apart[pair[0]] if side == 0 else self.apart[:, pair[1]]
        return np.asarray(others[alone].sum(axis=0) + len(others) * others[pair[1 - side]])

    def _replace(self, side: int, k: int, halves: tuple[Part, Part]) -> None:
        """The first half takes the place of the part, the second comes last."""
        known = self.members[side][k]
        rows = np.array([half.above(self.orders[side], known) for half in halves])
        self.parts[side][k] = halves[0]
        self.parts[side].append(halves[1])
        self.members[side] = np.concatenate([self.members[side], rows[1:]])
        self.members[side][k] = rows[0]
        apart = self.apart if side == 0 else self.apart.T
        new = np.array([self._apart_from(side, row) for row in rows])
        apart = np.concatenate([apart, new[1:]])
        apart[k] = new[0]
        self.apart = apart if side == 0 else apart.T
        self.splits += 1

    def _apart_from(self, side: int, row: Table) -> Table:
        """Which parts of the other side have no component in common with a row of this one."""
        return ~np.asarray((self.members[1 - side] & row).any(axis=1))

    def _at_least(self, side: int, k: int, x: NDArray[Any]) -> Table:
        """Which components are, at the point, on that side of the part's own."""
        laws, view = laws_less_own(self.orders[side], self.parts[side][k].own)
        if view is not None and not any(isinstance(v, Fraction) for v in x):
            return np.asarray(Corners(x[None]).signs(laws, view)[:, 0] >= 0)
        return np.asarray((laws * x).sum(axis=1) >= -self.orders[side].slack, dtype=bool)


def _meet(rows: Table, others: Table) -> Table:
    """Which rows have something in common."""
    return np.asarray(rows.astype(np.float32) @ others.T.astype(np.float32) > 0)
