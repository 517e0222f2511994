"""Multiplexed windows: a neuron that is another law of a convex function in every tile, O(sqrt(cells)) neurons.

The box of the domain is covered by *systems* of boxes, the *tiles*; tiles of one system are apart. A *slot* has a block
of cells for each tile of a system: the law of one cell, and a hinge for each further cell. It is that block on the
tile, and outside of all tiles it is not above the convex function, because a penalty grows faster than the laws do. So
the convex function is the maximum over the slots: as many as there are blocks in one tile. See docs/theory/windows.md,
Theorem 11.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product, zip_longest
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.windows.lifting import Cells, Lifting, to_floats, values_at
from cpwl.construct.windows.lowering import MOST, maxima, rounded_up, tree_neurons
from cpwl.geometry.generators import box_pairs
from cpwl.network.network import Network
from cpwl.network.program import Row, chained, rows_of

_CLOSE = 1e-9  # of the size of the terms: a cell that is so near to a tile is counted among its cells
_FAR = 2**48  # tiles from the origin: ends of tiles are exact in float64
_THIN = 32.0
_PERIODS = (2, 3)  # of bricks: cuts after which a long tile of the plane is broken
_SIZES = (5, MOST)  # of blocks at most: hinges of larger ones fit together less well from tile to tile
_WORTH = 1.5  # neurons of a side for each cell that meets the fullest tile: 1.4 to 1.6 were counted
_BESIDE = 64  # cells that a block may take: those with the largest laws in the middle of its root
_STEEP = 8.0  # times the range of the heights: hinges with larger penalties, at slivers, cost too much accuracy
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
    def most(self) -> NDArray[np.int64]:
        """Of each system: the most cells that meet one of its tiles. Slots for single cells would be so many."""
        found = np.zeros(int(self.system.max()) + 1, dtype=np.int64)
        np.maximum.at(found, self.system, np.bincount(self.tile, minlength=len(self.tiles)))
        return found

    @property
    def fixed(self) -> int:
        """The neurons of layers 1 and 2; in layer 1 a few more, by the near ends that are chosen."""
        n = len(self.step)
        ends = sum(len(np.unique(self.tiles[:, side, i])) for side in (0, 1) for i in range(n))
        return ends + n + (n + 1) * len(self.tiles)

    def neurons(self, sides: int) -> float:
        """About those of the network for so many convex functions."""
        return self.fixed + _WORTH * sides * int(self.most.sum())


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
            found = [(one.neurons(sides), one) for one in made if one is not None]
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


# --- Blocks of cells in slots -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The blocks of one side: ``F = A_0 + s(h_1) + ... + s(h_k)``, with `A_0` the law of the first of ``k + 1`` cells.

    ``h_i`` is ``A_i - A_0`` less some earlier ``h_j``, so that `F` is nowhere less than the law `A_i` of its cell `i`,
    whichever those are. Near its tile it is nowhere above `W`; so it is `W` on its cells.
    """

    tile: NDArray[np.int64]
    """``(B,)``"""
    slot: NDArray[np.int64]
    """``(B,)``"""
    cells: NDArray[np.int64]
    """``(B, MOST)``: -1 after the last cell."""
    forms: NDArray[np.object_]
    """``(B, MOST, n + 1)``: `A_0`, then the `h_i`."""

    @property
    def width(self) -> NDArray[np.int64]:
        """Of each slot: the most cells of its blocks. It has a neuron for each."""
        most = np.zeros(int(self.slot.max()) + 1, dtype=np.int64)
        np.maximum.at(most, self.slot, (self.cells >= 0).sum(axis=1))
        return most


def blocks_in(cells: Cells, lifting: Lifting, tiling: Tiling, bodies: Bodies) -> list[Blocks]:
    """Blocks of every side, with all cells of every tile: floats propose, rationals decide."""
    ends = (tiling.tiles[:, 0] - 1) * tiling.step, (tiling.tiles[:, 1] + 1) * tiling.step
    tile, cell = box_pairs(*ends, (bodies.low, bodies.high)).T
    first = np.searchsorted(tile, np.arange(len(tiling.tiles) + 1))
    near = [np.unique(cells.corners[cell[a:b]]) for a, b in pairwise(first)]
    return [_of_side(cells, lifting, side, tiling, near) for side in range(len(lifting.laws))]


def slot_neurons(blocks: list[Blocks]) -> int:
    """The neurons of all slots, and of the maxima over them."""
    return sum(int(own.width.sum()) for own in blocks) + tree_neurons([len(own.width) for own in blocks])


_Block = tuple[int, list[int], list[list[int]]]
"""A tile; cells; and of each but the first which hinges before its own are positive on it."""


def _of_side(cells: Cells, lifting: Lifting, side: int, tiling: Tiling, near: list[NDArray[np.int64]]) -> Blocks:
    """In each system, blocks of the size with the fewest neurons."""
    first, chosen = np.searchsorted(tiling.tile, np.arange(len(tiling.tiles) + 1)), list[_Block]()
    sign = np.where(_near(lifting, tiling), -1.0, 1.0)
    for system in range(len(tiling.most)):
        tables = [
            _Table(cells, lifting, side, tiling, int(t), sign[t], tiling.cell[first[t] : first[t + 1]], near[t])
            for t in np.flatnonzero(tiling.system == system)
        ]
        found = [[table.blocks(size) for table in tables] for size in _SIZES]
        chosen += [block for own in min(found, key=_slot_cost) for block in own]
    chosen.sort(key=lambda block: (block[0], -len(block[1])))
    made = _exact(lifting.laws[side], chosen, tiling)
    good = _valid(cells, lifting, side, made, near).tolist()
    if all(good):
        return made
    single = [
        (t, [c], list[list[int]]()) for fine, (t, own, _) in zip(good, chosen, strict=True) if not fine for c in own
    ]
    kept = [block for fine, block in zip(good, chosen, strict=True) if fine]
    return _exact(lifting.laws[side], sorted(kept + single, key=lambda block: (block[0], -len(block[1]))), tiling)


def _slot_cost(found: list[list[_Block]]) -> int:
    """Neurons of the slots of a system, and of their maxima: the largest blocks of all tiles in one slot, and so on."""
    sizes = [sorted((len(own) for _, own, _ in blocks), reverse=True) for blocks in found]
    return sum(max(rank) + 2 for rank in zip_longest(*sizes, fillvalue=0))


class _Table:
    """The cells of a tile: their laws of one side at all corners near it, in floats.

    A block takes any cell on which it is affine, as that decides the hinge. The hinge with the smallest values comes
    first. What does not fit does not fit later, since blocks only grow.
    """

    def __init__(
        self,
        cells: Cells,
        lifting: Lifting,
        side: int,
        tiling: Tiling,
        tile: int,
        sign: NDArray[np.float64],
        own: NDArray[np.int64],
        near: NDArray[np.int64],
    ) -> None:
        laws, heights = lifting.views
        self.slope, self.step = laws[side, own, :-1] * sign, tiling.step
        self.reach = (tiling.tiles[tile, 1] - tiling.tiles[tile, 0] + 1) * tiling.step
        corner = np.where(sign < 0, tiling.tiles[tile, 1], tiling.tiles[tile, 0]) * tiling.step
        low = laws[side, own, :-1] @ corner + laws[side, own, -1] - np.maximum(-self.slope, 0.0) @ self.reach
        self.depth = float(heights[side].min()) - low  # how far each law falls on the tile
        self.limit = _STEEP * float(np.ptp(heights[side]))
        self.tile, self.own = tile, own
        values = laws[side, own] @ np.column_stack([cells.points[near], np.ones(len(near))]).T
        self.low, self.corners = values.min(axis=1), len(near)
        self.values = np.hstack([values, self.slope])  # with the slopes away from the near ends
        self.beside = laws[side, own] @ np.column_stack([cells.middles()[own], np.ones(len(own))]).T
        self.most = heights[side, near]
        self.close = _CLOSE * float(np.ptp(self.most))
        self.has = np.zeros(values.shape)
        self.has[np.arange(len(own))[:, None], np.searchsorted(near, cells.corners[own])] = 1.0

    def blocks(self, size: int) -> list[_Block]:
        """Blocks of so many cells or fewer; first around the cell whose law is never low: roots are made positive."""
        free = np.ones(len(self.own), dtype=bool)
        order = np.argsort(-self.low, kind="stable").tolist()
        return [self._grown(c, free, size) for c in order if free[c]]

    def _grown(self, root: int, free: NDArray[np.bool_], size: int) -> _Block:
        count, own, before = self.corners, [root], list[list[int]]()
        room = self.most + self.close - self.values[root, :count]
        free[root] = False
        left = np.flatnonzero(free)
        if self.depth[root] > self.limit:
            left = left[:0]  # a root with hinges is to be made positive
        if len(left) > _BESIDE:
            left = np.sort(left[np.argpartition(-self.beside[left, root], _BESIDE)[:_BESIDE]])
        law = np.repeat(self.values[root][None], len(left), axis=0)  # of the block on each of these cells
        positive = np.zeros((len(left), size), dtype=bool)
        while len(own) < size and len(left):
            hinge = self.values[left] - law
            away = hinge[:, count:]
            penalty = np.maximum(-away, 0.0) @ self.reach + (np.maximum(away, 0.0) * self.step).max(axis=1)
            fits = (hinge[:, :count] <= room).all(axis=1) & (penalty <= self.limit)
            rise = np.maximum(hinge[:, :count], 0.0)
            k = int(np.argmin(np.where(fits, rise.sum(axis=1), np.inf)))
            if not fits[k]:
                break
            before.append(np.flatnonzero(positive[k]).tolist())
            own.append(int(left[k]))
            free[left[k]] = False
            room, step = room - rise[k], hinge[k, :count]
            above, below = (self.has[left] @ np.stack([step > self.close, step < -self.close], axis=1)).T > 0
            positive[:, len(own) - 1] = up = above & ~below
            law[up] += hinge[k]
            stays = fits & ~(above & below)
            stays[k] = False
            left, law, positive = left[stays], law[stays], positive[stays]
        return self.tile, self.own[own].tolist(), before


def _exact(laws: NDArray[np.object_], chosen: list[_Block], tiling: Tiling) -> Blocks:
    """Blocks with their forms and slots; they are in order of their tiles, and large ones come first."""
    count = len(chosen)
    tile = np.array([t for t, _, _ in chosen], dtype=np.int64)
    cells = np.array([[*own, *[-1] * (MOST - len(own))] for _, own, _ in chosen], dtype=np.int64)
    forms = np.full((count, MOST, laws.shape[1]), fmpq(0), dtype=object)
    forms[:, 0] = laws[cells[:, 0]]
    for i in range(1, MOST):
        has = np.flatnonzero(cells[:, i] >= 0)
        form = laws[cells[has, i]] - forms[has, 0]
        for j in range(1, i):
            on = np.array([j in chosen[k][2][i - 1] for k in has.tolist()], dtype=bool)
            form[on] = form[on] - forms[has[on], j]
        forms[has, i] = form
    rank = np.arange(count) - np.searchsorted(tile, tile)
    slots = np.zeros(len(tiling.most), dtype=np.int64)
    np.maximum.at(slots, tiling.system[tile], rank + 1)
    return Blocks(tile, (np.cumsum(slots) - slots)[tiling.system[tile]] + rank, cells, forms)


def _valid(
    cells: Cells, lifting: Lifting, side: int, blocks: Blocks, near: list[NDArray[np.int64]]
) -> NDArray[np.bool_]:
    """Whether each block is nowhere above the heights of the corners near its tile."""
    points, heights = np.column_stack([cells.points, np.ones(len(cells.points))]), lifting.views[1][side]
    forms, several = to_floats(blocks.forms), blocks.cells[:, 1] >= 0
    first, found = np.searchsorted(blocks.tile, np.arange(len(near) + 1)), list[NDArray[np.int64]]()
    for at, (a, b) in zip(near, pairwise(first), strict=True):
        own = a + np.flatnonzero(several[a:b])
        value = forms[own] @ points[at].T
        terms = (np.abs(forms[own]) @ np.abs(points[at]).T).sum(axis=1) + np.abs(heights[at])
        value = value[:, 0] + np.maximum(value[:, 1:], 0.0).sum(axis=1)
        k, corner = np.nonzero(heights[at] - value < _CLOSE * terms)
        found.append(np.stack([own[k], at[corner]]))
    block, corner = np.concatenate(found, axis=1)
    exact = values_at(blocks.forms[block, 0], cells.places[corner])
    for i in range(1, MOST):
        has = np.flatnonzero(blocks.cells[block, i] >= 0)
        step = values_at(blocks.forms[block[has], i], cells.places[corner[has]])
        exact[has] += np.where(step > 0, step, fmpq(0))
    good = np.ones(len(blocks.tile), dtype=bool)
    good[block[exact > lifting.heights[side, corner]]] = False
    return good


# --- From tiles to layers ---------------------------------------------------------------------------------------------


def lower_tiles(
    cells: Cells,
    lifting: Lifting,
    tiling: Tiling,
    blocks: list[Blocks],
    share: NDArray[np.object_],
    base: NDArray[np.object_],
) -> Network:
    """The network whose output `j` is ``base[j] + sum_k share[j, k] (U_k - W)``."""
    near = _near(lifting, tiling)
    knots, first = _first(tiling, near)
    third: list[Row] = []
    lists: list[list[dict[int, fmpq]]] = [[] for _ in blocks]
    constants = np.full(len(blocks), fmpq(0), dtype=object)
    for side in (*range(1, len(blocks)), 0):
        lowest = -rounded_up(-min(lifting.heights[side]), _unit(lifting))
        slots = _Slots(blocks[side], lowest, near, tiling, _unit(lifting))
        lists[side] = slots.groups(len(third))
        constants[side] = slots.above - lowest
        third += slots.rows()
    chain = [first, _second(tiling, near, knots), third, *maxima(lists, share, base, constants)]
    return chained(chain, cells.dim)


def _unit(lifting: Lifting) -> fmpq:
    return fmpq(2) ** int(np.floor(np.log2(lifting.range)) - 8)


_exact_floats = np.frompyfunc(lambda x: fmpq(*float(x).as_integer_ratio()), 1, 1)


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
    bias = -sign * _exact_floats(place * tiling.step[axis])
    layer = [Row({i: own}, shift) for (i, _, _), own, shift in zip(knots, sign, bias, strict=True)]
    return {knot: k for k, knot in enumerate(knots)}, layer


def _second(tiling: Tiling, near: NDArray[np.int64], knots: dict[tuple[int, int, int], int]) -> list[Row]:
    """Layer 2: for each tile ``s(1 - o)`` and ``s(u_i - M_i o)``, `o` the distance from the tile in steps."""
    n, step, rows = len(tiling.step), _exact_floats(tiling.step), []
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
    """The slots of one side, neurons of layer 3: roots ``s(Phi + B)``, each with hinges ``s(Phi)`` after it.

    All roots have one penalty, and one constant `B` that makes those with hinges positive; a hinge has its own penalty.
    """

    def __init__(self, blocks: Blocks, lowest: fmpq, near: NDArray[np.int64], tiling: Tiling, unit: fmpq) -> None:
        block, place = np.nonzero(blocks.cells >= 0)
        self.width = blocks.width
        self.first = np.cumsum(self.width) - self.width
        self.neuron, tile = self.first[blocks.slot[block]] + place, blocks.tile[block]
        n, step, zero, root = len(tiling.step), _exact_floats(tiling.step), fmpq(0), place == 0
        at = _exact_floats(np.where(near, tiling.tiles[:, 1], tiling.tiles[:, 0]) * tiling.step)[tile]
        length = ((tiling.tiles[:, 1] - tiling.tiles[:, 0]).astype(object) * step)[tile]
        form = blocks.forms[block, place]
        start = values_at(form, np.concatenate([at, np.full((len(tile), 1), fmpq(1), dtype=object)], axis=1))
        start = start - np.where(root, lowest, zero)
        slope = form[:, :-1] * np.where(near, fmpq(-1), fmpq(1))[tile]
        falls, rises = np.where(slope < 0, -slope, zero), np.where(slope > 0, slope, zero)
        need = np.full(int(self.width.sum()), zero, dtype=object)
        np.maximum.at(need, self.neuron, (falls * (length + step)).sum(axis=1) + (rises * step).max(axis=1))
        need[self.first] = max(need[self.first])
        penalty = np.array([rounded_up(own, unit) for own in need], dtype=object)
        short = -(start + penalty[self.neuron])
        depth = (np.where(short > 0, short, zero) + (falls * length).sum(axis=1))[root & (blocks.cells[block, 1] >= 0)]
        above = rounded_up(max([*depth, zero]), unit)
        self.above = penalty[0] + above
        self.bias = -penalty
        self.bias[self.first] = above
        self.columns = (n + 1) * tile[:, None] + np.arange(n + 1)
        self.values = np.concatenate([(start + penalty[self.neuron])[:, None], slope], axis=1)

    def rows(self) -> list[Row]:
        """Of layer 3."""
        rows = np.repeat(self.neuron, self.columns.shape[1])
        return rows_of(rows.tolist(), self.columns.ravel(), self.values.ravel(), self.bias)

    def groups(self, row: int) -> list[dict[int, fmpq]]:
        """Each slot as a sum of neurons of layer 3, which begin at this row."""
        return [
            {row + a + i: fmpq(1) for i in range(size)}
            for a, size in zip(self.first.tolist(), self.width.tolist(), strict=True)
        ]
