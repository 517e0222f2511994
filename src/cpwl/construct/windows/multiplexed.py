"""Multiplexed windows: a neuron that is another law of a convex function in every tile, O(sqrt(cells)) neurons.

The box of the domain is covered by *systems* of boxes, the *tiles*; tiles of one system are apart. A *slot* has one law
for each tile of a system. It is that law on the tile, and outside of all tiles it is not above the convex function,
because a penalty grows faster than the laws do. So the convex function is the maximum over the slots: as many as there
are laws in one tile, and not as there are laws. See docs/theory/windows.md, Theorem 11.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.windows.lifting import Cells, Lifting, to_floats, values_at
from cpwl.construct.windows.lowering import maxima, rounded_up, tree_neurons
from cpwl.geometry.generators import box_pairs
from cpwl.network.network import Network
from cpwl.network.program import Row, chained, rows_of

_CLOSE = 1e-9  # of the size of the terms: a cell that is so near to a tile is counted among its cells
_FAR = 2**48  # tiles from the origin: ends of tiles are exact in float64
_THIN = 32.0
_PERIODS = (2, 3)  # of bricks: cuts after which a long tile of the plane is broken
_PAIRS = 20_000_000  # pairs of a tile and a cell that are looked at for one tiling


@dataclass(frozen=True, slots=True, eq=False)
class Bodies:
    """Cells as floats see them: boxes, and rows ``(a, c)`` with ``a . x + c >= 0`` on them; those of cell `i` begin at
    ``start[i]``."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    rows: NDArray[np.float64]
    start: NDArray[np.int64]


def bodies_of(cells: Cells, lifting: Lifting) -> Bodies:
    """Each cell is where the law of the sum of all sides is not below those of its neighbours."""
    law = lifting.views[0].sum(axis=0)
    one = np.concatenate([cells.pairs[:, 0], cells.pairs[:, 1]])
    two = np.concatenate([cells.pairs[:, 1], cells.pairs[:, 0]])
    order = np.argsort(one, kind="stable")
    at = cells.points[cells.corners]
    start = np.searchsorted(one[order], np.arange(len(cells.corners) + 1))
    return Bodies(at.min(axis=1), at.max(axis=1), law[one[order]] - law[two[order]], start)


@dataclass(frozen=True, slots=True, eq=False)
class Tiling:
    """Tiles with their cells. Ends are whole multiples of the step of their axis, a power of two."""

    step: NDArray[np.float64]
    """``(n,)``: also how far outside of a tile its laws have died away."""
    box: NDArray[np.int64]
    """``(2, n)``: around the domain."""
    tiles: NDArray[np.int64]
    """``(K, 2, n)``"""
    system: NDArray[np.int64]
    """``(K,)``"""
    tile: NDArray[np.int64]
    cell: NDArray[np.int64]
    """Pairs of a tile and a cell that meets it, tile by tile."""

    @property
    def slots(self) -> NDArray[np.int64]:
        """Of each system: the most cells that meet one of its tiles."""
        most = np.zeros(int(self.system.max()) + 1, dtype=np.int64)
        np.maximum.at(most, self.system, np.bincount(self.tile, minlength=len(self.tiles)))
        return most

    def neurons(self, sides: int) -> int:
        """Of the network for so many convex functions; in layer 1 a few more, by the near ends that are chosen."""
        n, slots = len(self.step), int(self.slots.sum())
        ends = sum(len(np.unique(self.tiles[:, side, i])) for side in (0, 1) for i in range(n))
        return ends + n + (n + 1) * len(self.tiles) + sides * slots + tree_neurons([-(-slots // 2)] * sides)


def best_tiling(bodies: Bodies, sides: int, most: float) -> Tiling | None:
    """The tiling with the fewest neurons: more and more parts of all axes, then of one, as long as that helps.

    None if equal parts of all axes give more than `most` neurons.
    """
    n = bodies.low.shape[1]
    known: dict[tuple[int, ...], tuple[float, Tiling | None]] = {}

    def count(parts: tuple[int, ...]) -> float:
        if parts not in known:
            tiles = np.prod([2 * k - 1 if n > 2 else k for k in parts])  # at least, if cells meet all of them
            worth = min(parts) > 0 and (n + 1) * tiles <= most
            made = [_with_cells(*tiling, bodies) for tiling in _tilings(bodies, parts)] if worth else []
            found = [(float(one.neurons(sides)), one) for one in made if one is not None]
            known[parts] = min(found, key=lambda other: other[0], default=(np.inf, None))
        return known[parts][0]

    best = (2,) * n
    while min(count(tuple(k + d for k in best)) for d in (1, 2)) < count(best):
        best = tuple(k + 1 for k in best)
    while count(best) <= most:
        steps = [tuple(k + d * int(i in axes) for i, k in enumerate(best)) for d in (1, -1) for axes in _axes(n)]
        better = min(steps, key=count)
        if count(better) >= count(best):
            return known[best][1]
        best = better
    return None


def _axes(n: int) -> list[set[int]]:
    """All axes, and each alone."""
    return [set(range(n)), *({i} for i in range(n))]


def _tilings(
    bodies: Bodies, parts: tuple[int, ...]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64], list[list[Any]]]]:
    """Steps, the box and systems of tiles: with cuts at equal distances or at quantiles of the cells."""
    n, low, high = len(parts), bodies.low.min(axis=0), bodies.high.max(axis=0)
    middles = (bodies.low + bodies.high) / 2
    step = 2.0 ** np.floor(np.log2((high - low) / np.maximum(4.0 * n * max(parts), _THIN * len(middles) ** (1 / n))))
    box = np.stack([np.floor(low / step), np.ceil(high / step)])
    if np.abs(box).max() > _FAR:
        return
    share = [np.arange(1, k) / k for k in parts]
    even = [low[i] + (high[i] - low[i]) * own for i, own in enumerate(share)]
    for cuts in (even, [np.quantile(middles[:, i], own) for i, own in enumerate(share)]):
        whole = [np.unique(np.round(own / step[i])).astype(np.int64).tolist() for i, own in enumerate(cuts)]
        ends = [[int(box[0, i]), *own, int(box[1, i])] for i, own in enumerate(whole)]
        if all(b - a >= 4 * n for own in ends for a, b in pairwise(own)):
            yield step, box.astype(np.int64), grid(ends)
            for period in _PERIODS if n == 2 else ():
                yield step, box.astype(np.int64), bricks(ends, period)


def grid(ends: list[list[int]]) -> list[list[Any]]:
    """``n + 1`` systems: in system `j` a tile is near a cut in `j` axes, and away from all cuts in the others.

    Let `r` be the distances of a point from the nearest cuts in increasing order, and `j` the last number with
    ``r_j <= 2j - 1``, or 0: the others are more than ``2j + 1``, so that a tile of system `j` has it. Two tiles of
    system `j` are 2 apart: ``2j + 1 - (2j - 1)``.

    >>> [len(system) for system in grid([[0, 8, 16], [0, 8, 16]])]
    [4, 4, 1]
    """
    n = len(ends)
    systems: list[list[Any]] = []
    for j in range(n + 1):
        made: list[Any] = []
        for near in product((False, True), repeat=n):
            if sum(near) == j:
                axes = [
                    [(c - 2 * j + 1, c + 2 * j - 1) for c in own[1:-1]] if cut else _between(own, 2 * j + 1)
                    for own, cut in zip(ends, near, strict=True)
                ]
                made += product(*axes)
        systems += [made] if made else []
    return systems


def bricks(ends: list[list[int]], period: int) -> list[list[Any]]:
    """Three systems for the plane: boxes, and long tiles on the cuts of each axis.

    A long tile is broken at every few cuts of the other axis only, and there the long tile of that cut is not.

    >>> [len(system) for system in bricks([[0, 8, 16, 24], [0, 8, 16, 24]], 2)]
    [9, 4, 4]
    """
    x, y = ends
    long = []
    for own, other, first in ((x, y, 0), (y, x, period // 2)):
        made: list[Any] = []
        for i, c in enumerate(own[1:-1]):
            broken = [v for j, v in enumerate(other[1:-1]) if (i + j - first) % period == 0]
            made += [((c - 1, c + 1), side) for side in _between([other[0], *broken, other[-1]], 1)]
        long.append(made)
    systems = [list(product(_between(x, 1), _between(y, 1))), long[0], [(b, a) for a, b in long[1]]]
    return [system for system in systems if system]


def _between(ends: list[int], gap: int) -> list[tuple[int, int]]:
    """Intervals from cut to cut, away from the cuts.

    >>> _between([0, 8, 16], 1)
    [(0, 7), (9, 16)]
    """
    last = len(ends) - 2
    return [(a + (gap if k else 0), b - (gap if k < last else 0)) for k, (a, b) in enumerate(pairwise(ends))]


def _with_cells(
    step: NDArray[np.float64], box: NDArray[np.int64], systems: list[list[Any]], bodies: Bodies
) -> Tiling | None:
    """The tiles that some cell meets, with their cells; floats may find one that only nearly does."""
    tiles = np.array([tile for system in systems for tile in system], dtype=np.int64).transpose(0, 2, 1)
    if len(tiles) * len(bodies.low) > _PAIRS:
        return None
    system = np.repeat(np.arange(len(systems)), [len(own) for own in systems])
    low, high = tiles[:, 0] * step, tiles[:, 1] * step
    tile, cell = box_pairs(low, high, (bodies.low, bodies.high)).T
    count = np.diff(bodies.start)[cell]
    pair = np.repeat(np.arange(len(tile)), count)
    row = bodies.rows[np.repeat(bodies.start[cell] - np.cumsum(count) + count, count) + np.arange(len(pair))]
    middle, half = ((high + low) / 2)[tile[pair]], ((high - low) / 2)[tile[pair]]
    slope = np.abs(row[:, :-1])
    most = (row[:, :-1] * middle).sum(axis=1) + row[:, -1] + (slope * half).sum(axis=1)
    size = (slope * (np.abs(middle) + half)).sum(axis=1) + np.abs(row[:, -1])
    there = np.ones(len(tile), dtype=bool)
    there[pair[most < -_CLOSE * size]] = False
    tile, cell = tile[there], cell[there]
    used, tile = np.unique(tile, return_inverse=True)
    _, system = np.unique(system[used], return_inverse=True)
    return Tiling(step, box, tiles[used], system, tile, cell)


# --- From tiles to layers ---------------------------------------------------------------------------------------------


def lower_tiles(
    cells: Cells, lifting: Lifting, tiling: Tiling, share: NDArray[np.object_], base: NDArray[np.object_]
) -> Network:
    """The network whose output `j` is ``base[j] + sum_k share[j, k] (U_k - W)``."""
    near = _near(lifting, tiling)
    knots, first = _first(tiling, near)
    entries: list[tuple[Any, ...]] = []
    bias: list[NDArray[np.object_]] = []
    lists: list[list[dict[int, fmpq]]] = []
    constants: list[fmpq] = []
    order = (*range(1, len(lifting.laws)), 0)
    for side in order:
        lowest = -rounded_up(-min(lifting.heights[side]), _unit(lifting))
        slots = _Slots(lifting.laws[side], lowest, near, tiling, _unit(lifting))
        row = sum(len(b) for b in bias)
        entries.append(slots.entries(row))
        bias.append(slots.bias())
        lists.append(slots.groups(row))
        constants.append(slots.above - lowest)
    turned = np.argsort(order)
    rows, columns, values = (np.concatenate(column) for column in zip(*entries, strict=True))
    shift = np.concatenate(bias)
    chain = [
        first,
        _second(tiling, near, knots),
        rows_of(rows.tolist(), columns.tolist(), values, shift),
        *maxima([lists[k] for k in turned], share, base, np.array([constants[k] for k in turned])),
    ]
    return chained(chain, cells.dim)


def _unit(lifting: Lifting) -> fmpq:
    return fmpq(2) ** int(np.floor(np.log2(lifting.range)) - 8)


_exact = np.frompyfunc(lambda x: fmpq(*float(x).as_integer_ratio()), 1, 1)


def _near(lifting: Lifting, tiling: Tiling) -> NDArray[np.int64]:
    """``(K, n)``: the end of each tile from which its laws rise, mostly: 0 for the lower one, 1 for the upper one."""
    slope = lifting.views[0].sum(axis=0)[tiling.cell, :-1]
    first = np.searchsorted(tiling.tile, np.arange(len(tiling.tiles)))
    middle = np.minimum.reduceat(slope, first) + np.maximum.reduceat(slope, first)
    return (middle < 0).astype(np.int64)


def _first(tiling: Tiling, near: NDArray[np.int64]) -> tuple[dict[tuple[int, int, int], int], list[Row]]:
    """Layer 1: ``s(x_i - X)`` (0) and ``s(X - x_i)`` (1) for ends `X` of tiles; their numbers by (axis, way, X)."""
    n = len(tiling.step)
    used = set[tuple[int, int, int]]()
    for i in range(n):
        low, high = tiling.tiles[:, 0, i], tiling.tiles[:, 1, i]
        used |= {(i, 0, x) for x in np.unique([*high[high < tiling.box[1, i]], *low[near[:, i] == 0]]).tolist()}
        used |= {(i, 1, x) for x in np.unique([*low[low > tiling.box[0, i]], *high[near[:, i] == 1]]).tolist()}
    knots = sorted(used)
    axis, way, place = np.array(knots, dtype=np.int64).T
    sign = np.where(way == 0, fmpq(1), fmpq(-1))
    bias = -sign * _exact(place * tiling.step[axis])
    layer = [Row({i: own}, shift) for (i, _, _), own, shift in zip(knots, sign, bias, strict=True)]
    return {knot: k for k, knot in enumerate(knots)}, layer


def _second(tiling: Tiling, near: NDArray[np.int64], knots: dict[tuple[int, int, int], int]) -> list[Row]:
    """Layer 2: for each tile ``s(1 - o)`` and ``s(u_i - M_i o)``, `o` the distance from the tile in steps."""
    n, step, rows = len(tiling.step), _exact(tiling.step), []
    for tile, ends in zip(tiling.tiles.tolist(), near.tolist(), strict=True):
        away = [(knots.get((i, 1 - side, tile[side][i])), step[i]) for side in (0, 1) for i in range(n)]
        reach = [fmpq(1)] + [(tile[1][i] - tile[0][i] + 1) * step[i] for i in range(n)]
        for j, m in enumerate(reach):
            own = [(k, -m / g) for k, g in away if k is not None]
            if j:
                own.append((knots[j - 1, ends[j - 1], tile[ends[j - 1]][j - 1]], fmpq(1)))
            columns, values = zip(*own, strict=True) if own else ((), ())
            rows += rows_of([0] * len(own), columns, values, [int(j == 0)])
    return rows


class _Slots:
    """The slots of one side: a penalty, a constant that makes half of the slots positive, and which law is where.

    Pairs of slots are compared as ``max(a, b) + B = s(a - b) + s(b + B)``; the laws that fall lowest go to `a`.
    """

    def __init__(
        self, laws: NDArray[np.object_], lowest: fmpq, near: NDArray[np.int64], tiling: Tiling, unit: fmpq
    ) -> None:
        self.tiling, n = tiling, len(tiling.step)
        tile, laws = tiling.tile, laws[tiling.cell]
        step = _exact(tiling.step)
        at = _exact(np.where(near, tiling.tiles[:, 1], tiling.tiles[:, 0]) * tiling.step)[tile]
        length = ((tiling.tiles[:, 1] - tiling.tiles[:, 0]).astype(object) * step)[tile]
        ones = np.full((len(tile), 1), fmpq(1), dtype=object)
        self.start = values_at(laws, np.concatenate([at, ones], axis=1)) - lowest
        self.slope = laws[:, :-1] * np.where(near, fmpq(-1), fmpq(1))[tile]
        zero = fmpq(0)
        falls, rises = np.where(self.slope < 0, -self.slope, zero), np.where(self.slope > 0, self.slope, zero)
        need = (falls * (length + step)).sum(axis=1) + (rises * step).max(axis=1)
        self.penalty = rounded_up(max(need), unit)
        short = -(self.start + self.penalty)
        depth = np.where(short > 0, short, zero) + (falls * length).sum(axis=1)
        self.slot = self._assigned(to_floats(self.start - (falls * length).sum(axis=1)))
        second = self.slot >= self.pairs
        self.above = self.penalty + rounded_up(max([*depth[second], zero]), unit)
        self.n = n

    def _assigned(self, low: NDArray[np.float64]) -> NDArray[np.int64]:
        """The slot of each law of each tile: first those of `a` of all systems, then those of `b`."""
        slots, tile = self.tiling.slots, self.tiling.tile
        self.pairs, self.count = int(slots.sum()) // 2, int(slots.sum())
        odd = np.cumsum(slots % 2) * (slots % 2)
        first = slots // 2 + ((odd > 0) & (odd % 2 == 0))
        order = np.lexsort((low, tile))
        rank = np.empty(len(tile), dtype=np.int64)
        rank[order] = np.arange(len(tile)) - np.searchsorted(tile, tile)[order]
        system = self.tiling.system[tile]
        before_a, before_b = np.cumsum(first) - first, np.cumsum(slots - first) - (slots - first)
        is_a = rank < first[system]
        b = self.pairs + before_b[system] + rank - first[system]
        return np.asarray(np.where(is_a, before_a[system] + rank, b), dtype=np.int64)

    def entries(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.object_]]:
        """Of layer 3, from this row on: ``a - b`` and `b` of each pair, and a last `b`."""
        tile, n = self.tiling.tile, self.n
        columns = ((n + 1) * tile[:, None] + np.arange(n + 1)).ravel()
        values = np.concatenate([(self.start + self.penalty)[:, None], self.slope], axis=1).ravel()
        slot = np.repeat(self.slot, n + 1)
        is_a = slot < self.pairs
        pair = np.where(is_a, slot, slot - self.pairs)
        paired = is_a | (pair < self.pairs)
        own = np.where(is_a | ~paired, 2 * pair, 2 * pair + 1)
        other = paired & ~is_a  # taken off in the row of a - b
        rows = np.concatenate([row + own, row + 2 * pair[other]])
        return rows, np.concatenate([columns, columns[other]]), np.concatenate([values, -values[other]])

    def bias(self) -> NDArray[np.object_]:
        """Of layer 3."""
        result = np.full(self.count, fmpq(0), dtype=object)
        result[1 : 2 * self.pairs : 2] = self.above - self.penalty
        result[2 * self.pairs :] = self.above - self.penalty
        return result

    def groups(self, row: int) -> list[dict[int, fmpq]]:
        """The maxima of the pairs, on layer 3."""
        one = fmpq(1)
        pairs = [{row + 2 * k: one, row + 2 * k + 1: one} for k in range(self.pairs)]
        return pairs + [{row + 2 * self.pairs: one}] * (self.count % 2)
