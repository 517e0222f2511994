"""The lifting: a convex `W`, affine on every cell, such that ``U = W + p`` is convex, too; and as low as can be.

With heights ``W(v) = sum_i s_i (x_i - c_i)^2 + w_v`` at the corners of simplices, convexity is one inequality for each
inner facet: with `T` on one side and `b` the corner beyond, ``W(b) - W_T(b) >= max(0, p_T(b) - p(b))``. A linear
program makes `w` and the peak of what is above the squares small, with a margin; the heights are rounded to dyadics,
and every jump is looked at in rationals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
import scipy
from flint import fmpq
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, diags_array, eye_array, vstack

from cpwl.exact.integers import adjugate, quotient, ratio_view
from cpwl.function.parts import Mesh, shared_facets
from cpwl.geometry.complex import Complex
from cpwl.search import highs_takes, highs_with

__all__ = [
    "Cells",
    "Lifting",
    "Needed",
    "Simplicial",
    "corner",
    "first_cell",
    "lift",
    "lowest",
    "of_complex",
    "of_table",
    "rationals",
    "settle",
    "simplicial",
    "to_floats",
    "values_at",
    "values_of",
]

# The cells of a function on a bounded domain: corners, laws, and who meets whom in a facet; all numbers exact.


_ratio = np.frompyfunc(lambda a, b: fmpq(int(a), int(b)), 2, 1)
_float = np.frompyfunc(lambda x: int(x.p) / int(x.q), 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Convex cells that cover a convex set, and an affine law for every output on each of them.

    Rationals are ``fmpq``; points are rows ``(x, 1)``, laws rows ``(gradient, offset)``.
    """

    whole: NDArray[np.object_]
    """``(V, n + 1)``: the corners as integers ``(x, 1) * d``."""
    places: NDArray[np.object_]
    """The same as rationals ``(x, 1)``."""
    points: NDArray[np.float64]
    """``(V, n)``: their float view."""
    corners: NDArray[np.int64]
    """``(q, k)``: the numbers of each cell's corners; where there are fewer than `k`, the first comes again."""
    laws: NDArray[np.object_]
    """``(m, q, n + 1)``"""
    pairs: NDArray[np.int64]
    """``(F, 2)``: cells that meet in a facet."""

    @property
    def dim(self) -> int:
        """The number of inputs."""
        return int(self.points.shape[1])

    def middles(self) -> NDArray[np.float64]:
        """A point inside each cell: the mean of its corners."""
        return np.asarray(self.points[self.corners].mean(axis=1))


def rationals(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """Integer rows ``(x, 1) * denominator`` as rationals, the last column left out."""
    return np.asarray(_ratio(rows[..., :-1], rows[..., -1:]), dtype=object)


def to_floats(values: NDArray[np.object_]) -> NDArray[np.float64]:
    """Rationals as doubles, each correctly rounded."""
    return np.asarray(_float(values), dtype=np.float64)


def values_at(laws: NDArray[np.object_], places: NDArray[np.object_]) -> NDArray[np.object_]:
    """Laws at points, row by row; the arrays broadcast."""
    return np.asarray((laws * places).sum(axis=-1), dtype=object)


def simplicial(whole: NDArray[np.object_], simplices: NDArray[np.int64], laws: NDArray[np.object_]) -> Cells:
    """Simplices on corners ``(x, 1) * d`` in integers; laws ``(m, q, n + 1)``."""
    size = simplices.shape[1]
    one, two = shared_facets(simplices).pairs()
    used, number = np.unique(simplices, return_inverse=True)
    corners = number.reshape(simplices.shape).astype(np.int64)
    return Cells(whole[used], *_places(whole[used]), corners, laws, np.stack([one // size, two // size], axis=1))


def of_table(mesh: Mesh, laws: NDArray[np.object_]) -> Cells:
    """The cells of a triangulated table; `laws` are the integer rows of its function, ``(q, m, n + 2)``."""
    return simplicial(mesh.corners, mesh.simplices, rationals(laws).transpose(1, 0, 2))


def of_complex(complex_: Complex, laws: NDArray[np.object_]) -> Cells:
    """The cells of a bounded face-to-face complex, with their laws."""
    n = complex_.dim
    members = complex_.faces[n].members
    most = max(map(len, members))
    corners = np.array([[*own, *[own[0]] * (most - len(own))] for own in members], dtype=np.int64)
    sides = complex_.above(n - 1, n)
    pairs = np.array([sides[f] for f in complex_.interior(n - 1)], dtype=np.int64).reshape(-1, 2)
    return Cells(complex_.generators, *_places(complex_.generators), corners, laws, pairs)


def _places(whole: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """Points ``(x, 1)`` as rationals, and `x` in floats."""
    exact = rationals(whole)
    return np.concatenate([exact, np.full((len(whole), 1), fmpq(1), dtype=object)], axis=1), to_floats(exact)


def first_cell(cells: Cells) -> NDArray[np.int64]:
    """For each corner a cell that has it."""
    first = np.empty(len(cells.places), dtype=np.int64)
    first[cells.corners.ravel()] = np.repeat(np.arange(len(cells.corners)), cells.corners.shape[1])
    return first


def values_of(cells: Cells) -> NDArray[np.object_]:
    """``(m, V)``: the values of `p` at the corners."""
    return values_at(cells.laws[:, first_cell(cells)], cells.places)


# Linear programs in floats: HiGHS's simplex method for corners, an interior point method for the one large program.


_OPTIONS: dict[str, Any] = {
    "solver": "simplex",
    "presolve": "off",  # it calls some feasible programs infeasible
    "threads": 1,
    "simplex_iteration_limit": 100_000,  # 36,000 were the most for a control law at hand
}


def corner(
    cost: NDArray[np.float64],
    rows: csr_array[Any, tuple[int, int]],
    low: NDArray[np.float64],
    least: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Minimise ``cost . x`` subject to ``rows @ x >= low`` and ``x >= least``; empty if HiGHS has no point.

    >>> corner(np.ones(2), csr_array([[1.0, 2.0]]), np.array([4.0]), np.zeros(2)).tolist()
    [0.0, 2.0]
    """
    highs = highs_with(_OPTIONS)
    ends = (least, np.full(len(cost), np.inf)), (low, np.full(len(low), np.inf))
    highs_takes(highspy.HighsLp(), highs, cost, (rows.indptr, rows.indices, rows.data), *ends)
    highs.run()
    return np.array(highs.getSolution().col_value)


_STEPS = 150  # 20 to 40 do; a limit in seconds would make the network depend on the machine
_CLOSE = 1e-8  # of the optimal value: nearer than that floats do not come
_SHORT = 0.995  # of the way to the boundary
_TINY = 1e-13  # of the diagonal, added to it: columns may depend on each other

_Test = Callable[[NDArray[np.float64]], bool]


def interior(
    cost: NDArray[np.float64], table: Table, low: NDArray[np.float64], x: NDArray[np.float64], near: float, good: _Test
) -> NDArray[np.float64]:
    """A good point where ``cost . x`` is minimal subject to ``table @ x >= low``, but for a share, or the best one.

    Mehrotra's predictor and corrector (SIAM J. Optim. 2, 1992), from an `x` inside.

    >>> table = Table(csr_array(np.eye(2)), np.zeros((2, 0)))
    >>> found = interior(np.ones(2), table, np.ones(2), np.full(2, 5.0), 1e-3, lambda _: True)
    >>> bool(0 <= found.sum() - 2 < 3e-3)
    True
    """
    slack = table.times(x) - low
    price = abs(cost @ x) / len(low) / slack
    for _ in range(_STEPS):
        gap, size = slack @ price, 1 + abs(cost @ x)
        if gap < _CLOSE * size or (gap < near * size and good(x)):
            break
        newton = _Newton(table, slack, price, cost - table.turned(price), table.times(x) - low - slack)
        _, change, prices = newton.direction(-slack * price)
        ahead = (slack + _step(slack, change) * change) @ (price + _step(price, prices) * prices)
        aim = (ahead / gap) ** 3 * gap / len(low) - slack * price - change * prices
        move, change, prices = newton.direction(aim)
        far = _SHORT * _step(slack, change)
        x, slack, price = x + far * move, slack + far * change, price + _SHORT * _step(price, prices) * prices
    return x


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A matrix ``[rows more]``: sparse columns, and a few that are not."""

    rows: csr_array[Any, tuple[int, int]]
    more: NDArray[np.float64]

    def times(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """``[rows more] @ x``"""
        k = self.rows.shape[1]
        return np.asarray(self.rows @ x[:k] + self.more @ x[k:])

    def turned(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """``[rows more].T @ z``"""
        return np.concatenate([self.rows.T @ z, self.more.T @ z])


class _Newton:
    """Directions from a point: a sparse factorisation for the columns of `rows`, those of `more` by elimination."""

    def __init__(
        self,
        table: Table,
        slack: NDArray[np.float64],
        price: NDArray[np.float64],
        rest: NDArray[np.float64],
        drift: NDArray[np.float64],
    ) -> None:
        self.table, self.slack, self.price, self.rest, self.drift = table, slack, price, rest, drift
        self.weight = price / slack
        turned, weighted = table.rows.T, self.weight[:, None] * table.more
        square = csc_array(turned @ diags_array(self.weight) @ table.rows)
        square = csc_array(square + diags_array(_TINY * square.diagonal() + 1e-300))
        self.factors = scipy.sparse.linalg.splu(
            square, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        self.beside = turned @ weighted
        self.through = self.factors.solve(self.beside)
        self.small = table.more.T @ weighted - self.beside.T @ self.through

    def direction(self, aim: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """The change of `x`, slack and price for which ``slack * price`` changes by `aim`, to first order."""
        right = self.table.turned((aim - self.price * self.drift) / self.slack) - self.rest
        move = self._solved(right)
        move = move + self._solved(right - self.table.turned(self.weight * self.table.times(move)))
        change = self.table.times(move) + self.drift
        return move, change, (aim - self.price * change) / self.slack

    def _solved(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        k = len(self.beside)
        first = self.factors.solve(right[:k])
        last = np.linalg.solve(self.small, right[k:] - self.beside.T @ first)
        return np.concatenate([first - self.through @ last, last])


def _step(value: NDArray[np.float64], change: NDArray[np.float64]) -> float:
    """How far positive values can change and not be negative, at most 1."""
    falls = change < 0
    return min(1.0, float((-value[falls] / change[falls]).min(initial=np.inf)))


_MARGIN = 1e-5  # of the range of the values: by how much every facet bends at least, so that rounding can do no harm
_ROUNDING = 1e-9  # of the largest natural bend: what squares do not bend at all bends less in floats
_LEAST = 1e-2  # of the margin, where simplices are flat
_COSTS = (1e-3, 6.0, 1.0)  # of the factors of the squares, of the size of what is above them, and of its peak
_LACK = 1e4  # times about the factors of the squares: what it costs that a facet bends too little
_NEAR = 0.1  # of the lowest: inside, hinges in tiles fit together better (10,000 triangles: 1,329 neurons, not 1,727)
_FEW = 100  # corners up to which the lowest is found: more facets do not bend at all, which blocks need
_ROOM = 0.9  # of the margin, that may be left unused: exact jumps decide
_BITS = 24  # of heights, relative to the range


@dataclass(frozen=True, slots=True, eq=False)
class Lifting:
    """Laws and heights of `W` and of every ``U = W + p``; `W` is side 0, output `j` is side ``j + 1``."""

    laws: NDArray[np.object_]
    """``(m + 1, q, n + 1)``"""
    heights: NDArray[np.object_]
    """``(m + 1, V)``: at the corners."""
    squares: NDArray[np.float64]
    """``s_i``, for each axis."""
    centre: NDArray[np.float64]
    range: float
    """Of the values of `p` at the corners, the largest over the outputs."""
    views: tuple[NDArray[np.float64], NDArray[np.float64]]
    """Laws and heights as floats."""


@dataclass(frozen=True, slots=True, eq=False)
class Simplicial:
    """What a table's heights decide: integer corners, determinants and adjugates, and the jump at every inner facet."""

    corners: NDArray[np.object_]
    simplices: NDArray[np.int64]
    det: NDArray[np.object_]
    adj: NDArray[np.object_]
    jumps: csr_array[Any, tuple[int, int]]
    """``jumps @ heights``: of each facet the jump at the corner beyond it, largest coefficient 1."""
    exact: tuple[NDArray[np.int64], NDArray[np.object_]]
    """The same, not scaled: numbers of corners ``(F, n + 2)`` and integer coefficients, one positive factor a row."""

    @classmethod
    def of(cls, cells: Cells) -> Simplicial:
        whole = cells.whole
        det, adj = adjugate(whole[cells.corners])
        one, two = cells.pairs.T
        beyond = _beyond(cells.corners, one, two)
        # place_b = sum c_k place_k / det, so d_b W(b) det = sum c_k d_k W(k) + det * jump * d_b.
        share = (whole[beyond][:, :, None] * adj[one]).sum(axis=1) * whole[cells.corners[one], -1]
        factors = np.concatenate([-share, (whole[beyond, -1] * det[one])[:, None]], axis=1)
        factors = factors * np.where(det[one] < 0, -1, 1)[:, None]
        names = np.concatenate([cells.corners[one], beyond[:, None]], axis=1)
        largest = np.abs(factors).max(axis=1)
        view = ratio_view(factors, largest[:, None])
        rows = np.repeat(np.arange(len(one)), names.shape[1])
        table = csr_array((view.ravel(), (rows, names.ravel())), shape=(len(one), len(whole)))
        return cls(whole, cells.corners, det, adj, table, (names, factors))

    def laws(self, heights: NDArray[np.object_], bits: int) -> NDArray[np.object_]:
        """The laws of the heights ``heights / 2^bits`` on the simplices, integer rows with their denominators."""
        weight = (heights * self.corners[:, -1] * (1 << max(-bits, 0)))[self.simplices]
        return quotient((self.adj * weight[:, None, :]).sum(axis=2), self.det * (1 << max(bits, 0)))


def _beyond(corners: NDArray[np.int64], one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int64]:
    """The corner of each second cell that the first does not have."""
    other = (corners[two][:, :, None] == corners[one][:, None, :]).any(axis=2)
    return np.asarray(np.take_along_axis(corners[two], np.argmin(other, axis=1)[:, None], axis=1)[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class Needed:
    """By how much each facet must bend, and the squares that heights are above."""

    jump: NDArray[np.float64]
    margin: NDArray[np.float64]
    """How much of that is there for rounding."""
    square: NDArray[np.float64]
    """``(V, n)``: ``(x_i - c_i)^2`` over the square of the domain's length on that axis."""
    centre: NDArray[np.float64]
    length: NDArray[np.float64]
    range: float
    """Of the values of `p` at the corners; jumps are in this unit."""

    @classmethod
    def of(cls, cells: Cells, shape: Simplicial) -> Needed:
        values = to_floats(values_of(cells))
        bend = np.stack([shape.jumps @ z for z in values])
        frame = cls.around(cells, np.maximum(0.0, -bend).max(axis=0), values)
        # A facet of flat simplices bends little whatever the heights are: ask for as little there.
        natural = shape.jumps @ frame.square.sum(axis=1)
        natural = np.where(natural > _ROUNDING * np.abs(natural).max(initial=0.0), natural, 0.0)
        margin = _MARGIN * np.clip(natural / (float(np.median(natural)) or 1.0), _LEAST, 1.0)
        return replace(frame, jump=frame.jump - frame.margin + margin, margin=margin)

    @classmethod
    def around(cls, cells: Cells, lack: NDArray[np.float64], values: NDArray[np.float64]) -> Needed:
        """With the same margin for every facet; `lack` is what `p` bends downwards there."""
        spread = float(np.ptp(values, axis=1).max()) or 1.0
        low, high = cells.points.min(axis=0), cells.points.max(axis=0)
        centre, length = (low + high) / 2, high - low
        square = ((cells.points - centre) / length) ** 2
        return cls(lack / spread + _MARGIN, np.full(len(lack), _MARGIN), square, centre, length, spread)

    def squares(self, factor: NDArray[np.float64]) -> NDArray[np.float64]:
        """Their factors in the units of the function."""
        with np.errstate(all="ignore"):
            return np.asarray(factor * self.range / self.length / self.length)


def lowest(
    cells: Cells, needed: Needed, jumps: Any, heights: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Numbers `x` with ``jumps @ x >= needed.jump`` nearly, and the factors of the squares below ``heights @ x``.

    What is above the squares is small at the corners, and its peak at the middles of cells; None if there are none.
    """
    (V, n), (q, corners), F = needed.square.shape, cells.corners.shape, len(needed.jump)
    at, count = (np.repeat(np.arange(q), corners), cells.corners.ravel()), heights.shape[1]
    mean = csr_array((np.full(q * corners, 1 / corners), at), shape=(q, V)) @ heights
    middle = ((cells.middles() - needed.centre) / needed.length) ** 2
    # More columns: the factors of the squares, the size, the peak, and what every jump lacks.
    rows = vstack([csr_array(own) for own in (jumps, -heights, heights, -mean, csr_array((n + 3, count)))])
    one, none = np.ones, np.zeros
    more = np.block(
        [
            [none((F, n + 2)), one((F, 1))],
            [needed.square, one((V, 1)), none((V, 2))],
            [-needed.square, one((V, 1)), none((V, 2))],
            [middle, none((q, 1)), one((q, 1)), none((q, 1))],
            [np.eye(n + 3)],
        ]
    )
    low = np.concatenate([needed.jump, none(2 * V + q + n + 3)])
    unit = q ** (2 / n)  # about the factors of the squares that bend facets by 1
    start = np.concatenate([none(count), np.full(n, unit), [n * unit, unit, 1 + needed.jump.max(initial=0.0)]])

    def convex(x: NDArray[np.float64]) -> bool:
        return bool((jumps @ x[:count] >= needed.jump - _ROOM * needed.margin).all())

    # That nothing be lacking could be a constraint, but then no point inside would be known.
    cost = np.concatenate([none(count), np.full(n, _COSTS[0]), [*_COSTS[1:], _LACK * unit]])
    found = interior(cost, Table(csr_array(rows), more), low, start, _NEAR if V > _FEW else _CLOSE, convex)
    return (found[:count], found[count : count + n]) if convex(found) else None


def lift(cells: Cells) -> Lifting | None:
    """Heights of simplices, rounded to dyadics, that are convex for certain; None if none were found."""
    shape = Simplicial.of(cells)
    needed = Needed.of(cells, shape)
    found = lowest(cells, needed, shape.jumps, eye_array(len(cells.points), format="csr"))
    if found is None:
        return None
    heights, factor = found
    squares = needed.squares(factor)
    if not np.isfinite(squares).all():
        return None  # the domain is so small that its square is beyond float64
    for bits in (_BITS, _BITS + 8, _BITS + 16, _BITS + 24):
        exponent = bits - int(np.ceil(np.log2(needed.range)))
        whole = np.asarray(_whole(np.round(np.ldexp(heights * needed.range, exponent))), dtype=object)
        lifted = settle(cells, rationals(shape.laws(whole, exponent)), squares, needed.centre)
        if lifted is not None:
            return lifted
    return None


_whole = np.frompyfunc(int, 1, 1)


def settle(
    cells: Cells, laws: NDArray[np.object_], squares: NDArray[np.float64], centre: NDArray[np.float64]
) -> Lifting | None:
    """`W` and all ``U``, if every facet bends upwards or not at all in each of them: decided in rationals."""
    sides = np.concatenate([laws[None], laws[None] + cells.laws])
    one, two = cells.pairs.T
    for own in sides:
        change = own[two] - own[one]
        for k in range(cells.corners.shape[1]):
            if (values_at(change, cells.places[cells.corners[two, k]]) < 0).any():
                return None
    heights = values_at(sides[:, first_cell(cells)], cells.places)
    spread = float(np.ptp(to_floats(heights[1:] - heights[:1]), axis=1).max()) or 1.0
    return Lifting(sides, heights, squares, centre, spread, (to_floats(sides), to_floats(heights)))
