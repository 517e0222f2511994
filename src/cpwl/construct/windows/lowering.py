"""From blocks and windows to the layers of a plain network, all numbers exact.

Layer 1 has ``s(x_i - X)`` and ``s(X - x_i)`` for the knots `X` of every axis; layer 2 the hinges of the blocks, and
layer 1 again; layer 3 ``s(F_B - R + C)`` for each block and side; then come maxima over the classes, by pairs:
``max(a, b) = b + s(a - b)``, all sides in step. Each law is written from a knot near its cell, so that terms are small.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.blocks.common import colours
from cpwl.construct.windows.lifting import Cells, Lifting, to_floats, values_at
from cpwl.network.network import Network
from cpwl.network.program import Row, chained, rows_of

# Blocks of cells: one affine law, and one hinge for each further cell, along a tree of facets.
#
# On the cells of a block ``F_B = W_0 + sum_f s(W_b - W_a)`` is `W`, if it is nowhere above `W`; and that is so iff it
# is not above at any corner of the mesh, for it is convex and `W` is affine on every cell. The same hinges, with other
# factors, serve `W` and every ``U``: across a facet all laws change by multiples of one form. Cells are taken greedily,
# those with the fewest free neighbours first; the root is the cell from which the terms are smallest.


MOST = 8  # cells in a block: its support is a union of 2^(cells - 1) parts
_LIMIT = 30.0  # times the range: terms that are larger cost too much accuracy
_CLOSE = 2.0**-40  # of the size of the terms: what floats cannot tell is decided in rationals


@dataclass(frozen=True, slots=True)
class Block:
    """Cells, the root first, and the facets ``(from, to)`` of the tree, away from the root."""

    cells: tuple[int, ...]
    tree: tuple[tuple[int, int], ...]


def blocks_of(cells: Cells, lifting: Lifting) -> list[Block]:
    """Blocks that hold every cell once, each valid for all sides: floats propose, rationals decide."""
    proposed = _Growth(cells, lifting).all()
    good = _valid(cells, lifting, proposed)
    singles = [Block((c,), ()) for block, fine in zip(proposed, good, strict=True) if not fine for c in block.cells]
    return [block for block, fine in zip(proposed, good, strict=True) if fine] + singles


class _Growth:
    """The greedy choice. A Python loop over cells: each step depends on what is free."""

    def __init__(self, cells: Cells, lifting: Lifting) -> None:
        self.laws, self.heights = lifting.views
        self.corners = cells.corners
        self.ones = np.column_stack([cells.points, np.ones(len(cells.points))])
        # What the windows take off: about the squares of the lifting.
        self.base = ((cells.points - lifting.centre) ** 2) @ lifting.squares
        self.limit = _LIMIT * lifting.range
        self.close = 1e-9 * float(np.ptp(self.heights, axis=1).sum())
        q = len(cells.corners)
        self.near: list[list[int]] = [[] for _ in range(q)]
        for a, b in cells.pairs.tolist():
            self.near[a].append(b)
            self.near[b].append(a)
        self.free = np.ones(q, dtype=bool)
        self.count = np.array([len(own) for own in self.near], dtype=np.int64)
        self.queue = [(len(own), c) for c, own in enumerate(self.near)]
        heapq.heapify(self.queue)

    def all(self) -> list[Block]:
        found = []
        while self.queue:
            count, c = heapq.heappop(self.queue)
            if self.free[c] and count == self.count[c]:
                found.append(self.grow(c))
        return found

    def take(self, c: int) -> None:
        self.free[c] = False
        for b in self.near[c]:
            self.count[b] -= 1
            if self.free[b]:
                heapq.heappush(self.queue, (int(self.count[b]), b))

    def grow(self, c: int) -> Block:
        """The block around a cell."""
        own, tree, tried = [c], list[tuple[int, int]](), set[tuple[int, int]]()
        self.take(c)
        slack = self.heights - self.laws[:, c] @ self.ones.T
        ring = {b for a in self.near[c] for b in (a, *self.near[a])}
        close = np.unique(self.corners[[c, *ring]])
        root, edges = c, tree
        grown = True
        while grown and len(own) < MOST:
            grown = False
            beyond = [(self.count[b], b, a) for a in own for b in self.near[a] if self.free[b] and (a, b) not in tried]
            for _, b, a in sorted(beyond):
                tried.add((a, b))
                # What fails mostly fails near by; all corners of the mesh are looked at only where nothing does.
                if self._less(slack, a, b, close).min() < -self.close:
                    continue
                less = self._less(slack, a, b, slice(None))
                if less.min() < -self.close:
                    continue
                size, new, turned = self.best_root([*own, b], [*tree, (a, b)])
                if size <= self.limit:
                    own, tree, slack = [*own, b], [*tree, (a, b)], less
                    root, edges, grown = new, turned, True
                    self.take(b)
                    break
        return Block((root, *(x for x in own if x != root)), tuple(edges))

    def _less(self, slack: NDArray[np.float64], a: int, b: int, at: Any) -> NDArray[np.float64]:
        """What is left of the slack at some points, with the hinge from one cell to the next."""
        step = (self.laws[:, b] - self.laws[:, a]) @ self.ones[at].T
        return np.asarray(slack[:, at] - np.maximum(0.0, step))

    def best_root(self, own: list[int], tree: list[tuple[int, int]]) -> tuple[float, int, list[tuple[int, int]]]:
        """The size of the terms at the block's corners, from the root from which it is least, and the tree from it."""
        at = np.unique(self.corners[own])
        value = self.laws[:, own] @ self.ones[at].T  # sides, cells, corners
        start = np.abs(value - self.base[at]).max(axis=(0, 2))
        number = {c: i for i, c in enumerate(own)}
        steps = {}
        for a, b in tree:
            change = value[:, number[b]] - value[:, number[a]]
            steps[a, b], steps[b, a] = float(change.max()), float(-change.min())
        best: tuple[float, int, list[tuple[int, int]]] | None = None
        for i, r in enumerate(own):
            turned = _from_root(tree, r)
            size = max([float(start[i]), *(steps[edge] for edge in turned)])
            best = (size, r, turned) if best is None or size < best[0] else best
        assert best is not None
        return best


def _from_root(tree: list[tuple[int, int]], root: int) -> list[tuple[int, int]]:
    """The edges of a tree, each away from the root.

    >>> _from_root([(0, 1), (1, 2)], 2)
    [(2, 1), (1, 0)]
    """
    rest, reached, turned = list(tree), {root}, list[tuple[int, int]]()
    while rest:
        for k, (a, b) in enumerate(rest):
            if a in reached or b in reached:
                turned.append((a, b) if a in reached else (b, a))
                reached |= {a, b}
                del rest[k]
                break
    return turned


def _valid(cells: Cells, lifting: Lifting, blocks: list[Block]) -> NDArray[np.bool_]:
    """Whether each block is nowhere above the heights."""
    good = np.ones(len(blocks), dtype=bool)
    own, corner = _close(cells, lifting, blocks)
    edges = [edge for block in blocks for edge in block.tree]
    count = np.array([len(block.tree) for block in blocks])
    first = np.concatenate([[0], np.cumsum(count)])
    table = np.array(edges, dtype=np.int64).reshape(-1, 2)
    roots = np.array([block.cells[0] for block in blocks], dtype=np.int64)
    # One entry for each hinge of each block at each corner that is close.
    owner = np.repeat(np.arange(len(own)), count[own])
    within = np.arange(len(owner)) - np.repeat(np.cumsum(count[own]) - count[own], count[own])
    a, b = table[first[own[owner]] + within].T if len(owner) else np.zeros((2, 0), dtype=np.int64)
    for laws, heights in zip(lifting.laws, lifting.heights, strict=True):
        value = values_at(laws[roots[own]], cells.places[corner])
        if len(owner):
            steps = values_at(laws[b] - laws[a], cells.places[corner[owner]])
            np.add.at(value, owner, np.where(steps > 0, steps, fmpq(0)))
        good[own[value > heights[corner]]] = False
    return good


def _close(cells: Cells, lifting: Lifting, blocks: list[Block]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Blocks of several cells and the corners at which floats cannot tell whether they are below the heights."""
    laws, heights = lifting.views
    ones = np.column_stack([cells.points, np.ones(len(cells.points))])
    size = np.abs(ones)
    found = []
    for k, block in enumerate(blocks):
        if block.tree:
            a, b = np.array(block.tree).T
            value = laws[:, block.cells[0]] @ ones.T
            terms = np.abs(laws[:, block.cells[0]]) @ size.T + np.abs(heights)
            value = value + np.maximum(0.0, (laws[:, b] - laws[:, a]) @ ones.T).sum(axis=1)
            terms = terms + ((np.abs(laws[:, b]) + np.abs(laws[:, a])) @ size.T).sum(axis=1)
            at = np.flatnonzero((heights - value < _CLOSE * terms).any(axis=0))
            found.append(np.stack([np.full(len(at), k), at]))
    return tuple(np.concatenate(found, axis=1).astype(np.int64)) if found else (np.zeros(0, np.int64),) * 2


# Windows: where a block may be positive once a separable convex function is taken off it, and which blocks share.
#
# ``R(x) = sum_i R_i(x_i)`` interpolates ``s_i (x_i - c_i)^2`` at the knots of each axis, and ``R - C <= W`` at all
# corners, hence everywhere. So the larger one of ``F_B - R + C`` and 0 is all of `F_B` that a maximum needs; it is 0
# where ``F_B <= R - C``. `F_B` is the maximum of at most ``2^hinges`` affine functions, and ``{R - C < affine}`` has a
# box that is found axis by axis. Blocks whose boxes do not overlap can be added instead of compared: they are a class.


_TRIES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # parts of each axis
_ROUNDING = 2.0**-44  # relative: more than floats lose in a sum of a few terms


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Knots of every axis, `R` at them and between, the constants `C`, and the class of each block on every side."""

    knots: NDArray[np.object_]
    """``(n, T + 1)``, rising; the domain is between the first and the last."""
    base: NDArray[np.object_]
    """``(n, T + 1)``: `R_i` at the knots."""
    slopes: NDArray[np.object_]
    """``(n, T)``: of `R_i` between them."""
    constants: NDArray[np.object_]
    """`C` of each side."""
    classes: NDArray[np.int64]
    """``(m + 1, blocks)``"""

    @property
    def parts(self) -> int:
        """Of each axis."""
        return int(self.slopes.shape[1])


def tree_neurons(classes: list[int]) -> int:
    """The neurons that take the maxima over so many classes of each side, by pairs, all sides in step.

    >>> tree_neurons([5, 1]), tree_neurons([1, 1])
    (13, 0)
    """
    total = 0
    while max(classes) > 1:
        total += sum(classes)
        classes = [(k + 1) // 2 for k in classes]
    return total


def best_windows(cells: Cells, lifting: Lifting, blocks: list[Block]) -> Windows:
    """The number of parts with the fewest neurons: from a guess on, as long as it gets better on either side."""
    known: dict[int, tuple[int, Windows]] = {}

    def count(k: int) -> int:
        if not 0 <= k < len(_TRIES):
            return 10**9
        if k not in known:
            made = _windows(cells, lifting, blocks, _TRIES[k])
            known[k] = 4 * cells.dim * _TRIES[k] + tree_neurons((made.classes.max(axis=1) + 1).tolist()), made
        return known[k][0]

    guess = 0.5 * len(cells.points) ** (1 / cells.dim)
    best = int(np.argmin(np.abs(np.log(np.array(_TRIES) / guess))))
    while (better := min((best - 1, best, best + 1), key=count)) != best:
        best = better
    return known[best][1]


def _windows(cells: Cells, lifting: Lifting, blocks: list[Block], parts: int) -> Windows:
    knots, base = _base(cells, lifting, parts)
    slopes = (base[:, 1:] - base[:, :-1]) / (knots[:, 1:] - knots[:, :-1])
    over = _over(cells, knots, base, slopes) - lifting.heights
    unit = fmpq(2) ** int(np.floor(np.log2(lifting.range)) - 8)
    constants = np.array([rounded_up(max(row), unit) for row in over], dtype=object)
    parts_of, owner = _affine_parts(lifting, blocks)
    low, high = _boxes(parts_of, owner, len(blocks), to_floats(knots), to_floats(base), to_floats(constants))
    classes = np.stack([colours(a, b) for a, b in zip(low, high, strict=True)])
    return Windows(knots, base, slopes, constants, classes)


def _base(cells: Cells, lifting: Lifting, parts: int) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Knots with few bits, the first and last not inside the domain, and the squares there, with few bits, too."""
    knots, base = [], []
    for i in range(cells.dim):
        low, high = cells.points[:, i].min(), cells.points[:, i].max()
        e = 12 - int(np.ceil(np.log2(high - low)))
        inner = [fmpq(int(np.round(np.ldexp(low + (high - low) * k / parts, e)))) for k in range(1, parts)]
        ends = [fmpq(int(np.floor(np.ldexp(low, e)))), fmpq(int(np.ceil(np.ldexp(high, e))))]
        own = [k * fmpq(2) ** -e for k in (ends[0], *inner, ends[1])]
        size = max(float(lifting.squares[i]), lifting.range * 1e-6 / (high - low) ** 2)
        places = 7 - int(np.floor(np.log2(size)))
        factor = fmpq(int(np.round(np.ldexp(size, places)))) * fmpq(2) ** -places
        middle = fmpq(int(np.round(np.ldexp(lifting.centre[i], e)))) * fmpq(2) ** -e
        knots.append(own)
        base.append([factor * (k - middle) ** 2 for k in own])
    return np.array(knots, dtype=object), np.array(base, dtype=object)


def _over(
    cells: Cells, knots: NDArray[np.object_], base: NDArray[np.object_], slopes: NDArray[np.object_]
) -> NDArray[np.object_]:
    """`R` at the corners."""
    total = np.full(len(cells.places), fmpq(0), dtype=object)
    for i in range(cells.dim):
        x = cells.places[:, i]
        # Floats may choose the neighbouring part: there the larger line is the right one, for R is convex.
        near = np.clip(np.searchsorted(to_floats(knots[i]), cells.points[:, i]) - 1, 0, slopes.shape[1] - 1)
        lines = [
            base[i, k] + slopes[i, k] * (x - knots[i, k])
            for k in (np.clip(near + d, 0, slopes.shape[1] - 1) for d in (-1, 0, 1))
        ]
        total = total + np.maximum(np.maximum(lines[0], lines[1]), lines[2])
    return total


def rounded_up(value: fmpq, unit: fmpq) -> fmpq:
    """A multiple of the unit that is larger."""
    return ((value / unit).ceil() + 1) * unit


def _affine_parts(lifting: Lifting, blocks: list[Block]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """``(m + 1, parts, n + 1)``: the affine functions whose maximum each block is, and the block of each."""
    laws = lifting.views[0]
    found, owner = [], []
    for hinges in sorted({len(block.tree) for block in blocks}):
        own = [k for k, block in enumerate(blocks) if len(block.tree) == hinges]
        parts = laws[:, [blocks[k].cells[0] for k in own]][:, :, None]
        for j in range(hinges):
            a, b = np.array([blocks[k].tree[j] for k in own]).T
            parts = np.concatenate([parts, parts + (laws[:, b] - laws[:, a])[:, :, None]], axis=2)
        found.append(parts.reshape(len(laws), -1, laws.shape[2]))
        owner.append(np.repeat(own, 1 << hinges))
    return np.concatenate(found, axis=1), np.concatenate(owner).astype(np.int64)


def _boxes(
    parts: NDArray[np.float64],
    owner: NDArray[np.int64],
    count: int,
    knots: NDArray[np.float64],
    base: NDArray[np.float64],
    constants: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Boxes around ``{affine > R - C}``, joined over the parts of each block: ``(m + 1, blocks, n)`` each, outwards."""
    sides, n = len(parts), len(knots)
    low, high = np.full((sides, count, n), np.inf), np.full((sides, count, n), -np.inf)
    for side in range(sides):
        slope, offset = parts[side, :, :-1], parts[side, :, -1] + constants[side]
        phi = base[None] - slope[:, :, None] * knots[None]  # parts, axes, knots
        size = np.abs(base).max() * n + np.abs(slope[:, :, None] * knots[None]).max(axis=2).sum(axis=1)
        least = phi.min(axis=2)
        room = offset + _ROUNDING * (size + np.abs(offset)) - least.sum(axis=1)
        there = np.flatnonzero(room >= 0)
        inside = phi[there] - (room[there, None] + least[there])[:, :, None]  # at most 0: in the box
        first, last = _ends(inside, knots)
        np.minimum.at(low[side], owner[there], first)
        np.maximum.at(high[side], owner[there], last)
    empty = ~(low <= high).all(axis=2)
    low[empty], high[empty] = knots[:, 0], knots[:, 0]  # a block that is positive nowhere
    return low, high


def _ends(f: NDArray[np.float64], knots: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where convex functions, linear between the knots, begin and end to be at most 0; they are so at some knot."""
    count = knots.shape[1]
    within = f <= 0
    a = np.argmax(within, axis=2)
    b = count - 1 - np.argmax(within[:, :, ::-1], axis=2)
    axis = np.arange(len(knots))[None]

    def crossing(inner: NDArray[np.int64], outer: NDArray[np.int64]) -> NDArray[np.float64]:
        at = np.take_along_axis(f, np.stack([inner, outer], axis=2), axis=2)
        rise = at[..., 1] - at[..., 0]
        share = np.where(rise > 0, -at[..., 0] / np.where(rise > 0, rise, 1.0), 0.0)
        x, y = knots[axis, inner], knots[axis, outer]
        moved = x + (y - x) * np.minimum(share + _ROUNDING * 16, 1.0)
        return np.asarray(moved)

    return crossing(a, np.maximum(a - 1, 0)), crossing(b, np.minimum(b + 1, count - 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Forms:
    """Rows on the neurons of layer 1: entries ``(row, neuron, value)``, and one bias a row."""

    rows: NDArray[np.int64]
    neurons: NDArray[np.int64]
    values: NDArray[np.object_]
    bias: NDArray[np.object_]


def lower(
    cells: Cells,
    lifting: Lifting,
    blocks: list[Block],
    windows: Windows,
    share: NDArray[np.object_],
    base: NDArray[np.object_],
) -> Network:
    """The network whose output `j` is ``base[j] + sum_k share[j, k] (U_k - W)``."""
    knots = _Knots(cells, windows)
    edges = np.array([edge for block in blocks for edge in block.tree], dtype=np.int64).reshape(-1, 2)
    owner = np.repeat(np.arange(len(blocks)), [len(block.tree) for block in blocks])
    form, factors = _hinges(lifting, edges)
    bent = np.flatnonzero((factors != 0).any(axis=0))
    edges, owner, form, factors = edges[bent], owner[bent], form[bent], factors[:, bent]
    hinges = knots.forms(form, edges[:, 0])
    roots = np.array([block.cells[0] for block in blocks], dtype=np.int64)
    sides = len(lifting.laws)
    order = [(side, k) for side in (*range(1, sides), 0) for k in range(len(blocks))]
    side, block = np.array(order, dtype=np.int64).T
    clamps = knots.forms(lifting.laws[side, roots[block]], roots[block], windows.constants[side])
    carried = np.unique(clamps.neurons)
    used = np.unique(np.concatenate([carried, hinges.neurons]))
    start = {(s, k): i for i, (s, k) in enumerate(order)}
    at = np.array([[start[s, int(k)] for k in owner] for s in range(sides)], dtype=np.int64).reshape(sides, -1)
    chain = [
        knots.layer(used),
        _second(hinges, carried, used),
        _third(clamps, carried, at, factors, len(hinges.bias)),
        *maxima(_classes(side, windows.classes[side, block]), share, base, windows.constants),
    ]
    return chained(chain, cells.dim)


def _classes(side: NDArray[np.int64], colour: NDArray[np.int64]) -> list[list[dict[int, fmpq]]]:
    """Of each side the sums of the clamps of each class."""
    return [
        [
            {int(k): fmpq(1) for k in np.flatnonzero((side == s) & (colour == c))}
            for c in range(int(colour[side == s].max()) + 1)
        ]
        for s in range(int(side.max()) + 1)
    ]


def _hinges(lifting: Lifting, edges: NDArray[np.int64]) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """A form for each edge, and the factors with which every side changes by it across the facet, none negative."""
    change = lifting.laws[:, edges[:, 1]] - lifting.laws[:, edges[:, 0]]
    form = change.sum(axis=0)
    if len(edges) == 0:
        return form, change[:, :, 0]
    largest = np.argmax(np.abs(to_floats(form)), axis=1)
    pivot = np.take_along_axis(form, largest[:, None], axis=1)[:, 0]
    above = np.take_along_axis(change, np.broadcast_to(largest[None, :, None], (*change.shape[:2], 1)), axis=2)[..., 0]
    return form, np.asarray(above / np.where(pivot == 0, fmpq(1), pivot), dtype=object)


class _Knots:
    """Layer 1, and affine functions written on it."""

    def __init__(self, cells: Cells, windows: Windows) -> None:
        self.windows, self.count, self.dim = windows, windows.parts, cells.dim
        middles, knots = cells.middles(), to_floats(windows.knots)
        rows = range(self.dim)
        part = [np.clip(np.searchsorted(knots[i], middles[:, i]) - 1, 0, self.count - 1) for i in rows]
        self.part = np.stack(part, axis=1)
        nearer = [middles[:, i] - knots[i][part[i]] > knots[i][part[i] + 1] - middles[:, i] for i in rows]
        self.near = self.part + np.stack(nearer, axis=1)

    def number(self, axis: int, k: NDArray[np.int64], rising: bool) -> NDArray[np.int64]:
        """Of the neuron ``s(x - X_k)``, `k` before the last, or ``s(X_k - x)``, `k` after the first."""
        return np.asarray(2 * axis * self.count + k + (0 if rising else self.count - 1), dtype=np.int64)

    def layer(self, used: NDArray[np.int64]) -> list[Row]:
        """Those that are used."""
        axis, place = np.divmod(used, 2 * self.count)
        rising = place < self.count
        knot = np.where(rising, place, place - self.count + 1)
        sign = np.where(rising, fmpq(1), fmpq(-1))
        bias = -sign * self.windows.knots[axis, knot]
        return [Row({int(i): own}, shift) for i, own, shift in zip(axis, sign, bias, strict=True)]

    def forms(
        self, laws: NDArray[np.object_], cells: NDArray[np.int64], constants: NDArray[np.object_] | None = None
    ) -> _Forms:
        """Laws, each from the knots near a cell; with constants, `R` is taken off and they are added."""
        w, near, part = self.windows, self.near[cells], self.part[cells]
        axes = np.arange(self.dim)
        at = w.knots[axes, near]
        ones = np.full((len(laws), 1), fmpq(1), dtype=object)
        bias = values_at(laws, np.concatenate([at, ones], axis=1)) if len(laws) else laws[:, 0]
        slope = laws[:, :-1]
        found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.object_]]] = []
        if constants is not None:
            slope = slope - w.slopes[axes, part]
            bias = bias + constants - w.base[axes, near].sum(axis=1)
            found += self._bends(part)
        every = np.arange(len(laws))
        for i in range(self.dim):
            k = near[:, i]
            up, down = every[k < self.count], every[k > 0]
            found.append((up, self.number(i, k[up], True), slope[up, i]))
            found.append((down, self.number(i, k[down], False), -slope[down, i]))
        rows, neurons, values = (np.concatenate(column) for column in zip(*found, strict=True))
        there = values != 0
        return _Forms(rows[there], neurons[there], values[there], bias)

    def _bends(
        self, part: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.object_]]]:
        """Minus `R`, as far as it is not affine: what begins at the knots above the part, and at those below."""
        w = self.windows
        for i in range(self.dim):
            for j in range(1, self.count):
                rise = w.slopes[i, j] - w.slopes[i, j - 1]
                for rising in (True, False):
                    own = np.flatnonzero((part[:, i] < j) == rising)
                    number = self.number(i, np.full(len(own), j), rising)
                    yield own, number, np.full(len(own), -rise, dtype=object)


def _second(hinges: _Forms, carried: NDArray[np.int64], used: NDArray[np.int64]) -> list[Row]:
    """What is carried of layer 1, then the hinges."""
    rows = np.concatenate([np.arange(len(carried)), len(carried) + hinges.rows])
    columns = np.searchsorted(used, np.concatenate([carried, hinges.neurons]))
    values = np.concatenate([np.full(len(carried), fmpq(1), dtype=object), hinges.values])
    bias = np.concatenate([np.full(len(carried), fmpq(0), dtype=object), hinges.bias])
    return rows_of(rows.tolist(), columns.tolist(), values, bias)


def _third(
    clamps: _Forms, carried: NDArray[np.int64], at: NDArray[np.int64], factors: NDArray[np.object_], hinges: int
) -> list[Row]:
    """Root laws less `R`, and the hinges with their factors."""
    columns = np.concatenate([np.searchsorted(carried, clamps.neurons), *[len(carried) + np.arange(hinges)] * len(at)])
    rows = np.concatenate([clamps.rows, at.ravel()])
    values = np.concatenate([clamps.values, factors.ravel()])
    return rows_of(rows.tolist(), columns.tolist(), values, clamps.bias)


def maxima(
    lists: list[list[dict[int, fmpq]]],
    share: NDArray[np.object_],
    base: NDArray[np.object_],
    constants: NDArray[np.object_],
) -> Iterator[list[Row]]:
    """The layers after some neurons: of each side the maximum over forms on these, and the outputs.

    No form is ever negative. The maximum of side `s` is that side plus ``constants[s]``.
    """
    while max(map(len, lists)) > 1:
        rows: list[dict[int, fmpq]] = []
        lists = [list(_round(own, rows)) for own in lists]
        yield [Row(row, 0) for row in rows]
    last = [own[0] for own in lists]
    outputs = []
    for own in share:
        total: dict[int, fmpq] = {}
        for s, form in enumerate(last):
            factor = -sum(own, fmpq(0)) if s == 0 else own[s - 1]
            total |= {k: v * factor for k, v in form.items()}
        outputs.append(total)
    shift = base - (share * (constants[1:] - constants[0])).sum(axis=1)
    yield [Row(total, own) for total, own in zip(outputs, shift, strict=True)]


def _round(forms: list[dict[int, fmpq]], rows: list[dict[int, fmpq]]) -> Iterator[dict[int, fmpq]]:
    """Maxima of pairs: their neurons are added to `rows`; what they are, on these."""
    one = fmpq(1)
    for k in range(0, len(forms) - 1, 2):
        a, b = forms[k], forms[k + 1]
        rows += [a | {j: -v for j, v in b.items()}, b]
        yield {len(rows) - 2: one, len(rows) - 1: one}
    if len(forms) % 2:
        rows.append(forms[-1])
        yield {len(rows) - 1: one}
