"""Polyhedral cells: which `W` are affine on them, exactly, and the lowest of these that is convex enough.

Across a facet `W` changes by a multiple ``t_f d_f`` of the change ``d_f`` of `p` (of a mean of its outputs), and around
every face of codimension 2 these changes add up to 0. Where three laws meet there all `t` are equal, and where two
hyperplanes cross those on each are; what is left is solved in rationals. A linear program in the few numbers that
remain free finds the heights; they are rounded to dyadics, and all else follows from them exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.construct.windows.cells import Cells, first_cell, to_floats, values_at, values_of
from cpwl.construct.windows.lifting import Lifting, peaks, settle
from cpwl.construct.windows.program import solve
from cpwl.errors import ConstructionError, LimitError
from cpwl.geometry.complex import Complex

__all__ = ["lift_polyhedral"]

_MARGIN = 1e-5
_MANY = 2_000_000  # numbers in the tables below
_COSTS = (1e-3, 6.0, 1.0, 1e6)  # of squares, of the size of what is above them, of the peak, of what jumps lack


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """All `W` up to affine functions: law `c` is ``sum_k y_k laws[k, c]``, and ``t_f = sum_k y_k factors[f, k]``."""

    laws: NDArray[np.object_]
    factors: NDArray[np.object_]
    change: NDArray[np.object_]
    """``d_f``"""


def lift_polyhedral(cells: Cells, complex_: Complex) -> Lifting | None:
    """The lowest lifting that is affine on the cells; None if none was found."""
    space = _space(cells, complex_)
    values = to_floats(values_of(cells))
    spread = float(np.ptp(values, axis=1).max()) or 1.0
    low, high = cells.points.min(axis=0), cells.points.max(axis=0)
    centre, length = (low + high) / 2, high - low
    found = _smallest(cells, space, spread, centre, length)
    if found is None:
        return None
    y, affine, factor = found
    heights = to_floats(values_at(space.laws[:, first_cell(cells)], cells.places))
    size = np.maximum(np.abs(heights).max(axis=1), 1e-300)
    with np.errstate(all="ignore"):
        squares = factor * spread / length / length
    if not np.isfinite(squares).all():
        return None  # the domain is so small that its square is beyond float64
    for bits in (24, 32, 40, 48):
        rounded = [_dyadic(v, spread / s, bits) for v, s in zip(y, size, strict=True)]
        base = [_dyadic(v, spread / r, bits) for v, r in zip(affine, [*length, 1.0], strict=True)]
        laws = np.broadcast_to(np.array(base, dtype=object), cells.laws.shape[1:])
        if rounded:
            laws = laws + (np.array(rounded, dtype=object)[:, None, None] * space.laws).sum(axis=0)
        lifted = settle(cells, laws, squares, centre)
        if lifted is not None:
            return lifted
    return None


def _dyadic(value: float, unit: float, bits: int) -> fmpq:
    e = bits - int(np.ceil(np.log2(unit)))
    return fmpq(int(np.round(np.ldexp(value, e)))) * fmpq(2) ** -e


def _space(cells: Cells, complex_: Complex) -> _Space:
    """Relations around ridges, solved; then laws, from cell to cell."""
    one, two = cells.pairs.T
    weights = np.array([fmpq(1, 1 + 7 * j) for j in range(len(cells.laws))], dtype=object)
    change = (weights[:, None, None] * (cells.laws[:, two] - cells.laws[:, one])).sum(axis=0)
    bends = np.flatnonzero((cells.laws[:, two] != cells.laws[:, one]).any(axis=(0, 2)))
    if not all((change[f] != 0).any() for f in bends):
        raise ConstructionError("a mean of the outputs does not bend where they do")
    group, relations = _relations(complex_, change, set(bends.tolist()))
    factors = _solved(group, relations, len(change))
    q, count = len(cells.corners), factors.shape[1]
    if q * max(count, 1) * (cells.dim + 1) > _MANY:
        raise LimitError(f"{count} numbers are free on {q} polyhedral cells: too many for exact tables")
    laws = np.full((count, q, cells.dim + 1), fmpq(0), dtype=object)
    near: list[list[tuple[int, int, int]]] = [[] for _ in range(q)]
    for f, (a, b) in enumerate(cells.pairs.tolist()):
        near[a].append((b, f, 1))
        near[b].append((a, f, -1))
    reached, waiting = {0}, [0]
    while waiting:
        a = waiting.pop()
        for b, f, sign in near[a]:
            if b not in reached:
                laws[:, b] = laws[:, a] + sign * factors[f][:, None] * change[f][None]
                reached.add(b)
                waiting.append(b)
    return _Space(laws, factors, change)


def _relations(
    complex_: Complex, change: NDArray[np.object_], bends: set[int]
) -> tuple[list[int], list[dict[int, fmpq]]]:
    """Facets whose factors are equal (the number of one of them), and the other relations."""
    n = complex_.dim
    inner = complex_.interior(n - 1)
    number = {f: k for k, f in enumerate(inner)}
    sides = complex_.above(n - 1, n)
    parent = list(range(len(inner)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]
        return k

    rest: list[dict[int, fmpq]] = []
    for ridge in complex_.interior(n - 2) if n > 1 else ():
        around = _around([(number[f], sides[f][0], sides[f][1]) for f in complex_.above(n - 2, n - 1)[ridge]])
        own = [(k, sign) for k, sign in around if k in bends]
        if not own:
            continue
        table = fmpq_mat(n + 1, len(own), [sign * change[k][i] for i in range(n + 1) for k, sign in own])
        reduced, rank = table.rref()
        for i in range(rank):
            row = {own[j][0]: reduced[i, j] for j in range(len(own)) if reduced[i, j] != 0}
            if len(row) == 2 and sum(row.values(), fmpq(0)) == 0:
                a, b = (root(k) for k in row)
                parent[a] = b
            else:
                rest.append(row)
    return [root(k) for k in range(len(inner))], rest


def _around(facets: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Facets ``(f, one, two)`` around a ridge, in cyclic order, each with its sense."""
    found = []
    at, rest = facets[0][1], list(facets)
    while rest:
        f, one, two = next(x for x in rest if at in x[1:])
        rest.remove((f, one, two))
        found.append((f, 1 if at == one else -1))
        at = two if at == one else one
    return found


def _solved(group: list[int], relations: list[dict[int, fmpq]], facets: int) -> NDArray[np.object_]:
    """The factors of all facets in terms of those that are free."""
    names = sorted(set(group))
    place = {k: i for i, k in enumerate(names)}
    rows: dict[tuple[tuple[int, fmpq], ...], dict[int, fmpq]] = {}
    for relation in relations:
        total: dict[int, fmpq] = {}
        for k, value in relation.items():
            total[place[group[k]]] = total.get(place[group[k]], fmpq(0)) + value
        total = {k: v for k, v in total.items() if v != 0}
        if total:
            lead = total[min(total)]
            total = {k: v / lead for k, v in sorted(total.items())}
            rows.setdefault(tuple((k, str(v)) for k, v in total.items()), total)
    if len(rows) * len(names) > _MANY:
        raise LimitError(f"{len(rows)} relations between {len(names)} factors: too many for exact tables")
    width = len(names)
    pivots: dict[int, dict[int, fmpq]] = {}
    if rows:
        entries = [row.get(j, fmpq(0)) for row in rows.values() for j in range(width)]
        reduced, rank = fmpq_mat(len(rows), width, entries).rref()
        for i in range(rank):
            row = {j: reduced[i, j] for j in range(width) if reduced[i, j] != 0}
            pivots[min(row)] = row
    free = [j for j in range(width) if j not in pivots]
    column = {j: k for k, j in enumerate(free)}
    own = np.full((width, len(free)), fmpq(0), dtype=object)
    for j in range(width):
        if j in column:
            own[j, column[j]] = fmpq(1)
        else:
            for k, v in pivots[j].items():
                if k != j:
                    own[j, column[k]] = -v
    return own[[place[k] for k in group]].reshape(facets, len(free))


def _smallest(
    cells: Cells, space: _Space, spread: float, centre: NDArray[np.float64], length: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None:
    """The free numbers, the affine part and the factors of the squares, in floats."""
    n, V, count = cells.dim, len(cells.points), len(space.laws)
    one, two = cells.pairs.T
    at = values_at(space.change[:, None], cells.places[cells.corners[two]])
    far = np.abs(to_floats(at))
    size = to_floats(np.take_along_axis(at, far.argmax(axis=1)[:, None], axis=1)[:, 0])  # of d_f in the second cell
    bent = np.flatnonzero(size)
    height = to_floats(values_at(space.laws[:, first_cell(cells)], cells.places)).T.reshape(V, count) / spread
    unit = np.maximum(np.abs(height).max(axis=0, initial=0.0), 1e-300)
    height = height / unit
    jumps = to_floats(space.factors[bent]) * size[bent, None] / spread / unit
    change = cells.laws[:, two[bent]] - cells.laws[:, one[bent]]
    corner = cells.corners[two[bent], far[bent].argmax(axis=1)]
    need = np.maximum(0.0, -to_floats(values_at(change, cells.places[corner]))).max(axis=0, initial=0.0) / spread
    square = ((cells.points - centre) / length) ** 2
    affine = np.column_stack([(cells.points - centre) / length, np.ones(V)])
    mean, above = peaks(cells, square, centre, length)
    middle = mean @ square - above
    # Columns: the free numbers, the affine part, the squares, t, the peak, what is lacking.
    F, q = len(bent), len(cells.corners)
    rows = np.block(
        [
            [jumps, np.zeros((F, n + 1 + n + 2)), np.ones((F, 1))],
            [-height, -affine, square, np.ones((V, 1)), np.zeros((V, 2))],
            [height, affine, -square, np.ones((V, 1)), np.zeros((V, 2))],
            [-mean @ height, -mean @ affine, middle, np.zeros((q, 1)), np.ones((q, 1)), np.zeros((q, 1))],
        ]
    )
    low = np.concatenate([need + _MARGIN, np.zeros(2 * V + q)])
    cost = np.concatenate([np.zeros(count + n + 1), np.full(n, _COSTS[0]), _COSTS[1:]])
    least = np.concatenate([np.full(count + n + 1, -np.inf), np.zeros(n + 3)])
    for solver in ("ipm", "simplex"):
        point = solve(cost, csr_array(rows), low, least, solver=solver).point
        if len(point) == len(cost) and (jumps @ point[:count] >= need + 0.5 * _MARGIN).all():
            flat = point[count : count + n + 1] * spread
            slope = flat[:-1] / length
            offset = flat[-1] - slope @ centre
            squares = np.maximum(point[count + n + 1 : count + 2 * n + 1], 0.0)
            return point[:count] / unit, np.append(slope, offset), squares
    return None
