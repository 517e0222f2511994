"""The lifting: a convex `W`, affine on every cell, such that ``U = W + p`` is convex, too; and as low as can be.

With heights ``W(v) = sum_i s_i (x_i - c_i)^2 + w_v`` at the corners of simplices, convexity is one inequality for each
inner facet: with `T` on one side and `b` the corner beyond, ``W(b) - W_T(b) >= max(0, p_T(b) - p(b))``. A linear
program makes `w` and the peak of what is above the squares small, with a margin; the heights are rounded to dyadics,
and every jump is looked at in rationals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack, vstack

from cpwl.exact.integers import adjugate, quotient, ratio_view
from cpwl.function.parts import Mesh, shared_facets
from cpwl.geometry.complex import Complex
from cpwl.search import highs_takes, highs_with

__all__ = [
    "Cells",
    "Lifting",
    "Simplicial",
    "first_cell",
    "lift",
    "of_complex",
    "of_table",
    "peaks",
    "rationals",
    "settle",
    "simplicial",
    "smallest",
    "solve",
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


# One large sparse linear program in floats: HiGHS's interior point method, without crossover and without presolve.


_OPTIONS: dict[str, Any] = {
    "solver": "ipm",
    "run_crossover": "off",  # any point near the best will do
    "presolve": "off",  # it calls some feasible programs infeasible
    "threads": 1,
    "ipm_iteration_limit": 300,  # 60 do for 10,000 cells; limits are no seconds: a busy machine finds the same network
    "simplex_iteration_limit": 100_000,  # 36,000 were the most for a control law at hand
}


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A point; whether HiGHS calls it optimal is in `optimal`."""

    point: NDArray[np.float64]
    optimal: bool


def solve(
    cost: NDArray[np.float64],
    rows: csr_array[Any, tuple[int, int]],
    low: NDArray[np.float64],
    least: NDArray[np.float64],
    **options: Any,
) -> Solved:
    """Minimise ``cost . x`` subject to ``rows @ x >= low`` and ``x >= least``.

    >>> found = solve(np.ones(2), csr_array([[1.0, 2.0]]), np.array([4.0]), np.zeros(2))
    >>> found.optimal, [round(float(v), 4) for v in found.point]
    (True, [0.0, 2.0])
    """
    table, highs = csr_array(rows), highs_with(_OPTIONS | options)
    ends = (least, np.full(len(cost), np.inf)), (low, np.full(len(low), np.inf))
    highs_takes(highspy.HighsLp(), highs, cost, (table.indptr, table.indices, table.data), *ends)
    highs.run()
    optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return Solved(np.array(highs.getSolution().col_value), optimal)


_MARGIN = 1e-5  # of the range of the values: by how much every facet bends at least, so that rounding can do no harm
_ROUNDING = 1e-9  # of the largest natural bend: what squares do not bend at all bends less in floats
_LEAST = 1e-2  # of the margin, where simplices are flat
_PEAK = 1.0  # what the peak costs in the objective
_HEIGHT = 6.0  # and what the size of w costs
_SQUARES = 1e-3  # and their factors
_LACK = 1e6  # and what it costs that a facet bends less than it should
_UNIT = 1e3  # of heights, in the program: they are much larger than the jumps, and solvers expect sizes near 1
_ROOM = 0.9  # of the margin, that a solver may leave unused: exact jumps decide
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
        weight = (heights * self.corners[:, -1])[self.simplices]
        return quotient((self.adj * weight[:, None, :]).sum(axis=2), self.det * (1 << max(bits, 0)))


def _beyond(corners: NDArray[np.int64], one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int64]:
    """The corner of each second cell that the first does not have."""
    other = (corners[two][:, :, None] == corners[one][:, None, :]).any(axis=2)
    return np.asarray(np.take_along_axis(corners[two], np.argmin(other, axis=1)[:, None], axis=1)[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class Needed:
    """By how much each facet must bend, the values of `p` at the corners, and the squares that heights are above."""

    jump: NDArray[np.float64]
    margin: NDArray[np.float64]
    """How much of that is there for rounding."""
    square: NDArray[np.float64]
    """``(V, n)``: ``(x_i - c_i)^2`` over the square of the domain's length on that axis."""
    centre: NDArray[np.float64]
    length: NDArray[np.float64]
    range: float
    unit: float
    """What the factors of the squares will be about."""

    @classmethod
    def of(cls, cells: Cells, shape: Simplicial) -> Needed:
        values = to_floats(values_of(cells))
        spread = float(np.ptp(values, axis=1).max()) or 1.0
        bend = np.stack([shape.jumps @ z for z in values])
        low, high = cells.points.min(axis=0), cells.points.max(axis=0)
        length = high - low
        centre = (low + high) / 2
        square = ((cells.points - centre) / length) ** 2
        # A facet of flat simplices bends little whatever the heights are: ask for as little there.
        natural = shape.jumps @ square.sum(axis=1)
        natural = np.where(natural > _ROUNDING * np.abs(natural).max(initial=0.0), natural, 0.0)
        usual = float(np.median(natural)) or 1.0
        margin = _MARGIN * np.clip(natural / usual, _LEAST, 1.0)
        return cls(
            np.maximum(0.0, -bend).max(axis=0) / spread + margin, margin, square, centre, length, spread, 1 / usual
        )


def peaks(cells: Cells, square: NDArray[np.float64], centre: Any, length: Any) -> tuple[Any, NDArray[np.float64]]:
    """Means over the corners of each cell, and how far the means of the squares are above those at the middle."""
    q, k = cells.corners.shape
    rows = np.repeat(np.arange(q), k)
    mean = csr_array((np.full(q * k, 1 / k), (rows, cells.corners.ravel())), shape=(q, len(cells.points)))
    return mean, mean @ square - ((cells.middles() - centre) / length) ** 2


def smallest(cells: Cells, shape: Simplicial, needed: Needed) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Heights in units of the range, and the factors of the squares; None if HiGHS finds none."""
    V, n = needed.square.shape
    mean, above = peaks(cells, needed.square, needed.centre, needed.length)
    q = len(above)
    jumps, squared = shape.jumps, shape.jumps @ needed.square
    # w = y - t with y >= 0; columns: y, the factors of the squares, t, the peak, and what every jump lacks.
    F = len(needed.jump)
    lack = csr_array(np.ones((F, 1)))
    rows = vstack(
        [
            hstack([jumps, csr_array(squared), csr_array((F, 2)), lack]),
            hstack([-diags_array(np.ones(V)), csr_array((V, n)), csr_array(np.full((V, 1), 2.0)), csr_array((V, 2))]),
            hstack([-mean, csr_array(-above), csr_array(np.ones((q, 2))), csr_array((q, 1))]),
        ]
    )
    low = np.concatenate([needed.jump, np.zeros(V + q)])
    # That nothing be lacking could be a constraint, but then the solver would give up on some programs too early.
    cost = np.concatenate([np.zeros(V), np.full(n, _SQUARES), [_HEIGHT, _PEAK, _LACK]])
    for solver, size in (("ipm", _UNIT), ("ipm", 1.0), ("simplex", _UNIT)):
        unit = np.concatenate([np.full(V, size), np.full(n, needed.unit), [size, size, 1.0]])
        table, scale = _scaled(csr_array(rows), unit)
        found = solve(cost * unit, table, low * scale, np.zeros(len(cost)), solver=solver)
        if len(found.point) == len(cost) and np.isfinite(found.point).all():
            x = found.point * unit
            factor = np.maximum(x[V : V + n], 0.0)
            heights = needed.square @ factor + x[:V] - x[V + n]
            if (jumps @ heights >= needed.jump - _ROOM * needed.margin).all():
                return heights, factor
            if found.optimal and x[-1] > 10 * _MARGIN:
                return None  # something is lacking, and not by rounding
    return None


def _scaled(rows: Any, unit: NDArray[np.float64]) -> tuple[Any, NDArray[np.float64]]:
    """The rows with columns in these units, each with largest entry 1, and the factors of the rows."""
    table = csr_array(rows @ diags_array(unit))
    scale = 1 / np.maximum(abs(table).max(axis=1).toarray().ravel(), 1e-300)
    return csr_array(diags_array(scale) @ table), scale


def lift(cells: Cells) -> Lifting | None:
    """Heights of simplices, rounded to dyadics, that are convex for certain; None if none were found."""
    shape = Simplicial.of(cells)
    needed = Needed.of(cells, shape)
    found = smallest(cells, shape, needed)
    if found is None:
        return None
    heights, factor = found
    with np.errstate(all="ignore"):
        squares = factor * needed.range / needed.length / needed.length
    if not np.isfinite(squares).all():
        return None  # the domain is so small that its square is beyond float64
    for bits in (_BITS, _BITS + 8, _BITS + 16, _BITS + 24):
        exponent = bits - int(np.ceil(np.log2(needed.range)))
        whole = np.asarray(_whole(np.round(np.ldexp(heights * needed.range, exponent))), dtype=object)
        if not _convex(shape, whole):
            continue
        laws = _law_rationals(shape.laws(whole, exponent), exponent)
        lifted = settle(cells, laws, squares, needed.centre)
        if lifted is not None:
            return lifted
    return None


_whole = np.frompyfunc(int, 1, 1)


def _law_rationals(rows: NDArray[np.object_], exponent: int) -> NDArray[np.object_]:
    scale = 1 << max(-exponent, 0)
    make = np.frompyfunc(lambda a, b: fmpq(int(a) * scale, int(b)), 2, 1)
    return np.asarray(make(rows[:, :-1], rows[:, -1:]), dtype=object)


def _convex(shape: Simplicial, heights: NDArray[np.object_]) -> bool:
    names, factors = shape.exact
    return bool(((factors * heights[names]).sum(axis=1) >= 0).all())


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
