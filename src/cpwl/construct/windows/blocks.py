"""Blocks of cells: one affine law, and one hinge for each further cell, along a tree of facets.

On the cells of a block ``F_B = W_0 + sum_f s(W_b - W_a)`` is `W`, if it is nowhere above `W`; and that is so iff it is
not above at any corner of the mesh, for it is convex and `W` is affine on every cell. The same hinges, with other
factors, serve `W` and every ``U``: across a facet all laws change by multiples of one form. Cells are taken greedily,
those with the fewest free neighbours first; the root is the cell from which the terms are smallest.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.windows.cells import Cells, values_at
from cpwl.construct.windows.lifting import Lifting

__all__ = ["Block", "blocks_of"]

_MOST = 8  # cells in a block: its support is a union of 2^(cells - 1) parts
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
        root, edges = c, tree
        grown = True
        while grown and len(own) < _MOST:
            grown = False
            beyond = [(self.count[b], b, a) for a in own for b in self.near[a] if self.free[b] and (a, b) not in tried]
            for _, b, a in sorted(beyond):
                tried.add((a, b))
                less = slack - np.maximum(0.0, (self.laws[:, b] - self.laws[:, a]) @ self.ones.T)
                if less.min() < -self.close:
                    continue
                size, new, turned = self.best_root([*own, b], [*tree, (a, b)])
                if size <= self.limit:
                    own, tree, slack = [*own, b], [*tree, (a, b)], less
                    root, edges, grown = new, turned, True
                    self.take(b)
                    break
        return Block((root, *(x for x in own if x != root)), tuple(edges))

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
