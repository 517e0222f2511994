"""The pieces as a binary search tree: at each node on which side of a plane a point is, at each leaf a law.

Tøndel, Johansen and Bemporad, "Evaluation of piecewise affine control via binary search tree" (2003). The planes are
those of the pieces' facets. At a node the plane is taken that leaves the fewest laws on its worse side; pieces that it
cuts are cut, exactly, so that nothing stays that cannot be reached. A node with one law left is a leaf. Two pieces that
no plane of a facet separates would overlap, so every path ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError
from cpwl.exact.integers import signs_at, unit_view
from cpwl.function.cpwl import CPWL
from cpwl.geometry.cells import Cell, cell_of, cut
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.generators import plane_rows

__all__ = ["Leaf", "Tree", "search_tree"]

_SIGNS = 3 * 10**7  # pieces times planes
_NODES = 40  # nodes for each piece
_ROWS = 64  # rows of a piece in many dimensions, whose corners are too many

_Signs: TypeAlias = NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """What is known at a leaf: its law, and the sides of planes that lead there."""

    law: int
    path: tuple[tuple[int, int], ...]
    """Pairs of a plane and the side, -1 where it is at most 0 and 1 where it is positive."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A search tree. A child that is not negative is a node, and ``-1 - k`` is law number `k`; node 0 is the root."""

    planes: NDArray[np.object_]
    """Integer rows ``(a, -b)``: the second child where ``a . x > b``."""
    plane: NDArray[np.int64]
    """The plane of each node."""
    children: NDArray[np.int64]
    laws: NDArray[np.object_]
    """Integer rows ``(gradient, offset, 1) * denominator``, ``(laws, m, n + 2)``."""
    leaves: tuple[Leaf, ...]
    boundary: NDArray[np.object_]
    """Rows ``(a, -b)`` of the domain: all of it has ``a . x <= b``."""

    @property
    def depth(self) -> int:
        """How many planes are looked at, at most."""
        return max(len(leaf.path) for leaf in self.leaves)


def search_tree(p: CPWL) -> Tree:
    """A tree for an exactly consistent function; outside the domain it has the law of some piece.

    >>> tree = search_tree(CPWL.from_breakpoints([0, 1, 2], [0, 1, 0], left_slope=0, right_slope=0))
    >>> tree.planes.tolist(), tree.children.tolist(), tree.depth
    ([[1, -1], [1, 0], [1, -2]], [[1, 2], [-1, -2], [-3, -1]], 2)
    """
    if p.tol:
        raise InputError("a search tree needs data that is exactly consistent: take `p.snap().function`")
    return _Builder(p).tree()


class _Builder:
    """Cells, the law of each, and on which sides of every plane they are."""

    def __init__(self, p: CPWL) -> None:
        self.dim = p.dim
        numbered = hyperplanes(p.polyhedra, 0.0)
        self.planes = plane_rows(p.polyhedra, numbered)
        self.view = unit_view(self.planes)
        rows = np.diff(p.polyhedra.start).max(initial=0)
        if p.num_pieces * max(len(self.planes), 1) > _SIGNS or (p.dim > 3 and rows > _ROWS):
            message = f"a search tree of {p.num_pieces:,} pieces with {len(self.planes):,} planes would take too long"
            raise LimitError(f"{message}; take the network")
        self.most = _NODES * p.num_pieces + 100
        laws, law = np.unique(p.component, axis=0, return_inverse=True)
        _, first = np.unique(law.ravel(), return_index=True)
        order = np.argsort(np.argsort(first))  # laws in the order of the pieces
        self.laws = p.laws.integer()[np.sort(first)]
        assert len(self.laws) == len(laws)
        self.cells: list[Cell] = []
        self.law: list[int] = []
        self.own: list[NDArray[np.int64]] = []
        self.sides: list[tuple[_Signs, _Signs]] = []
        by_piece = np.split(np.arange(len(numbered.number)), p.polyhedra.start[1:-1])
        for i, own in enumerate(by_piece):
            planes = numbered.number[own]
            oriented = self.planes[planes] * numbered.side[own, None].astype(object)
            cell = cell_of([tuple(row) for row in oriented.tolist()], p.dim)
            if _is_solid(cell, p.dim):
                self._add(cell, int(order[law.ravel()[i]]), np.unique(planes))

    def _add(self, cell: Cell, law: int, own: NDArray[np.int64]) -> int:
        places = np.array(cell.places, dtype=object)
        signs = signs_at(self.planes, places, self.view) if len(self.planes) else np.zeros((0, 1))
        self.cells.append(cell)
        self.law.append(law)
        self.own.append(own)
        self.sides.append((signs.min(axis=1).astype(np.int8), signs.max(axis=1).astype(np.int8)))
        return len(self.cells) - 1

    def tree(self) -> Tree:
        if not self.cells:
            raise InputError("no piece of the function has an interior: there is nothing to search")
        above = np.array([high for _, high in self.sides]).max(axis=0)
        below = np.array([low for low, _ in self.sides]).min(axis=0)
        boundary = np.concatenate([self.planes[above <= 0], -self.planes[below >= 0]])
        plane: list[int] = []
        children: list[list[int]] = []
        leaves: list[Leaf] = []
        root = list(range(len(self.cells)))
        waiting: list[tuple[list[int], tuple[tuple[int, int], ...], int, int]] = [(root, (), -1, 0)]
        while waiting:
            members, path, parent, slot = waiting.pop()
            laws = {self.law[i] for i in members}
            number = -1 - next(iter(laws)) if len(laws) == 1 else len(plane)
            if parent >= 0:
                children[parent][slot] = number
            if number < 0:
                leaves.append(Leaf(-1 - number, path))
                continue
            best = self._best(members)
            parts = self._split(members, best)
            plane.append(best)
            children.append([0, 0])
            if len(plane) > self.most:
                raise LimitError("the search tree has too many nodes; take the network")
            waiting += [(parts[k], (*path, (best, 2 * k - 1)), number, k) for k in (1, 0)]
        used, plane_of = np.unique(np.array(plane, dtype=np.int64), return_inverse=True)
        first = np.unique(plane_of, return_index=True)[1]
        rank = np.argsort(np.argsort(first))
        order = used[np.argsort(first)]
        renamed = {int(old): k for k, old in enumerate(order)}
        return Tree(
            self.planes[order],
            rank[plane_of].astype(np.int64),
            np.array(children, dtype=np.int64).reshape(-1, 2),
            self.laws,
            tuple(Leaf(leaf.law, tuple((renamed[i], side) for i, side in leaf.path)) for leaf in leaves),
            boundary,
        )

    def _best(self, members: list[int]) -> int:
        """The plane with the fewest laws, then pieces, on its worse side."""
        members = sorted(members, key=lambda i: self.law[i])
        candidates = np.unique(np.concatenate([self.own[i] for i in members]))
        low = np.array([self.sides[i][0][candidates] for i in members]) < 0
        high = np.array([self.sides[i][1][candidates] for i in members]) > 0
        law = np.array([self.law[i] for i in members])
        start = np.flatnonzero(np.diff(law, prepend=-1))
        laws = [np.logical_or.reduceat(side, start, axis=0).sum(axis=0) for side in (low, high)]
        pieces = [side.sum(axis=0) for side in (low, high)]
        useful = (pieces[0] > 0) & (pieces[1] > 0)
        if not useful.any():
            raise InputError("two pieces of the function overlap: `p.doctor()` says which")
        keys = (candidates, np.maximum(*pieces), laws[0] + laws[1], np.maximum(*laws), ~useful)
        return int(candidates[np.lexsort(keys)[0]])

    def _split(self, members: list[int], plane: int) -> tuple[list[int], list[int]]:
        """The cells on either side, those that the plane cuts cut in two."""
        below: list[int] = []
        above: list[int] = []
        row = tuple(self.planes[plane].tolist())
        for i in members:
            low, high = (int(side[plane]) for side in self.sides[i])
            if low < 0 < high:
                for part, side in ((below, row), (above, tuple(-v for v in row))):
                    part.append(self._add(cut(self.cells[i], side), self.law[i], self.own[i]))
            elif low < 0:
                below.append(i)
            elif high > 0:
                above.append(i)
        return below, above


def _is_solid(cell: Cell, dim: int) -> bool:
    """Whether it has an interior."""
    if not cell.has_point:
        return False
    places = cell.places
    return int(fmpz_mat(len(places), dim + 1, [v for x in places for v in x]).rank()) == dim + 1
