"""The pieces as binary search trees: at each node on which side of a plane a point is, at each leaf a law.

Tøndel, Johansen and Bemporad, "Evaluation of piecewise affine control via binary search tree" (2003). The planes are
those of the pieces' facets. At a node the plane is taken that leaves the fewest laws on its worse side; pieces that it
cuts are cut, exactly, so that nothing stays that cannot be reached. A node with one law left is a leaf. Two pieces that
no plane of a facet separates would overlap, so every path ends.

There is one tree for all pieces, or, behind a grid of buckets, a short one for each bucket: the pieces are first cut
by the planes between buckets. The buckets at the rim have no outer planes, so that every point is in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TypeAlias, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError
from cpwl.exact.integers import number_rows, signs_at, unit_view
from cpwl.function.cpwl import CPWL
from cpwl.geometry.cells import Cell, cell_of, cut
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.generators import plane_rows

_SIGNS = 3 * 10**7  # pieces times planes
_NODES = 40  # nodes for each piece
_ROWS = 64  # rows of a piece in many dimensions, whose corners are too many

_Signs: TypeAlias = NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """What is known at a leaf: its law, its bucket, and the sides of planes that lead there."""

    law: int
    path: tuple[tuple[int, int], ...]
    """Pairs of a plane and the side, -1 where it is at most 0 and 1 where it is positive."""
    places: tuple[tuple[int, ...], ...]
    """Corners and rays, homogeneous, of the cells that are left; their hull is the region of the leaf."""
    bucket: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """A grid of ``counts`` buckets: on axis `i`, ``(x_i - start_i) * scale_i`` rounded down, but within the grid."""

    counts: tuple[int, ...]
    start: tuple[Fraction, ...]
    """Numbers of float32, as `scale`."""
    scale: tuple[Fraction, ...]

    def plane(self, axis: int, number: int) -> tuple[int, ...]:
        """The integer row ``(a, -b)`` of the plane before bucket `number`."""
        at = self.start[axis] + number / self.scale[axis]
        row = [0] * (len(self.counts) + 1)
        row[axis], row[-1] = at.denominator, -at.numerator
        return tuple(row)


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Search trees. A child that is not negative is a node, and ``-1 - k`` is law number `k`."""

    planes: NDArray[np.object_]
    """Integer rows ``(a, -b)``: the second child where ``a . x > b``."""
    plane: NDArray[np.int64]
    """The plane of each node."""
    children: NDArray[np.int64]
    laws: NDArray[np.object_]
    """Integer rows ``(gradient, offset, 1) * denominator``, ``(laws, m, n + 2)``."""
    leaves: tuple[Leaf, ...]
    roots: NDArray[np.int64]
    """The root of each bucket, the last axis first; without buckets one."""
    buckets: Buckets | None = None

    @property
    def depth(self) -> int:
        """How many planes are looked at, at most."""
        return max(len(leaf.path) for leaf in self.leaves)


def search_tree(p: CPWL, *, buckets: bool = False) -> Tree:
    """A tree for an exactly consistent function; outside the domain it has the law of some piece.

    With `buckets`, a grid of about as many buckets as there are pieces, and a tree for each.

    >>> tree = search_tree(CPWL.from_breakpoints([0, 1, 2], [0, 1, 0], left_slope=0, right_slope=0))
    >>> tree.planes.tolist(), tree.children.tolist(), tree.depth
    ([[1, -1], [1, 0], [1, -2]], [[1, 2], [-1, -2], [-3, -1]], 2)
    """
    if p.tol:
        raise InputError("a search tree needs data that is exactly consistent: take `p.snap().function`")
    return _TreeBuilder(p, buckets).tree()


@dataclass(frozen=True, slots=True, eq=False)
class _CutPiece:
    """A piece, or what cuts have left of it: its law, the planes of its facets, and its sides of the planes at hand."""

    cell: Cell
    law: int
    own: NDArray[np.int64]
    low: _Signs
    high: _Signs


class _TreeBuilder:
    """The planes of all pieces, the cells of the pieces, and the nodes and leaves found so far."""

    def __init__(self, p: CPWL, buckets: bool) -> None:
        numbered = hyperplanes(p.polyhedra, 0.0)
        self.planes = plane_rows(p.polyhedra, numbered)
        rows = np.diff(p.polyhedra.start).max(initial=0)
        if (p.num_pieces * max(len(self.planes), 1) > _SIGNS and not buckets) or (p.dim > 3 and rows > _ROWS):
            message = f"a search tree of {p.num_pieces:,} pieces with {len(self.planes):,} planes would take too long"
            raise LimitError(f"{message}; take the network")
        self.most = _NODES * p.num_pieces + 100
        self.cuts = 0
        first, law = number_rows(p.component.astype(object))
        self.laws = p.laws.integer()[first]
        self.pieces: list[tuple[Cell, int, NDArray[np.int64]]] = []
        for i, own in enumerate(np.split(np.arange(len(numbered.number)), p.polyhedra.start[1:-1])):
            planes = numbered.number[own]
            oriented = self.planes[planes] * numbered.side[own, None].astype(object)
            cell = cell_of([tuple(row) for row in oriented.tolist()], p.dim)
            if cell.is_solid:
                self.pieces.append((cell, int(law[i]), np.unique(planes)))
        if not self.pieces:
            raise InputError("no piece of the function has an interior; `p.doctor()` lists the pieces")
        self.buckets = _buckets([cell for cell, _, _ in self.pieces], p.dim) if buckets else None
        self.number: dict[int, int] = {}  # of the planes that nodes have, in order
        self.plane: list[int] = []
        self.children: list[list[int]] = []
        self.leaves: list[Leaf] = []

    def tree(self) -> Tree:
        whole = np.zeros(1 if self.buckets is None else prod(self.buckets.counts), dtype=np.int64)
        if self.buckets is None:
            whole[0] = self._grow(self.pieces, ())
        else:
            for bucket, pieces in self._in_buckets():
                number = int(np.ravel_multi_index(bucket, self.buckets.counts))
                # A bucket without a piece is outside the domain.
                whole[number] = self._grow(pieces, bucket) if pieces else -1
        return Tree(
            self.planes[list(self.number)],
            np.array(self.plane, dtype=np.int64),
            np.array(self.children, dtype=np.int64).reshape(-1, 2),
            self.laws,
            tuple(self.leaves),
            whole,
            self.buckets,
        )

    def _in_buckets(self) -> Iterator[tuple[tuple[int, ...], list[tuple[Cell, int, NDArray[np.int64]]]]]:
        """The buckets with the parts of pieces in them; halves of the grid, halves of these, and so on."""
        assert self.buckets is not None
        waiting = [([(0, count) for count in self.buckets.counts], self.pieces)]
        while waiting:
            sides, pieces = waiting.pop()
            axis = int(np.argmax([high - low for low, high in sides]))
            low, high = sides[axis]
            if high - low == 1 or not pieces:
                for bucket in product(*(range(*side) for side in sides)):
                    yield bucket, pieces
                continue
            middle = (low + high) // 2
            row = self.buckets.plane(axis, middle)
            below, above = [], []
            for cell, law, own in pieces:
                values = [row[axis] * place[axis] + row[-1] * place[-1] for place in cell.places]
                if min(values) < 0 < max(values):
                    below.append((self._cut(cell, row), law, own))
                    above.append((self._cut(cell, tuple(-v for v in row)), law, own))
                else:
                    (below if max(values) <= 0 else above).append((cell, law, own))
            waiting.append(([*sides[:axis], (low, middle), *sides[axis + 1 :]], below))
            waiting.append(([*sides[:axis], (middle, high), *sides[axis + 1 :]], above))

    def _cut(self, cell: Cell, row: tuple[int, ...]) -> Cell:
        self.cuts += 1
        if self.cuts > self.most:
            raise LimitError("the search tree cuts pieces into too many parts; use the network")
        return cut(cell, row)

    def _grow(self, pieces: list[tuple[Cell, int, NDArray[np.int64]]], bucket: tuple[int, ...]) -> int:
        """The root of a tree for some pieces."""
        if len({law for _, law, _ in pieces}) == 1:
            self.leaves.append(Leaf(pieces[0][1], (), _corners([cell for cell, _, _ in pieces]), bucket))
            return -1 - pieces[0][1]
        near = np.unique(np.concatenate([own for _, _, own in pieces]))
        planes = self.planes[near]
        view = unit_view(planes)

        def part(cell: Cell, law: int, own: NDArray[np.int64]) -> _CutPiece:
            signs = signs_at(planes, np.array(cell.places, dtype=object), view)
            return _CutPiece(cell, law, own, signs.min(axis=1).astype(np.int8), signs.max(axis=1).astype(np.int8))

        def split(parts: list[_CutPiece], plane: int) -> tuple[list[_CutPiece], list[_CutPiece]]:
            """The cells on either side, those that the plane cuts cut in two."""
            below: list[_CutPiece] = []
            above: list[_CutPiece] = []
            row = tuple(planes[plane].tolist())
            for one in parts:
                if one.low[plane] < 0 < one.high[plane]:
                    for side, sense in ((below, row), (above, tuple(-v for v in row))):
                        side.append(part(self._cut(one.cell, sense), one.law, one.own))
                elif one.low[plane] < 0:
                    below.append(one)
                elif one.high[plane] > 0:
                    above.append(one)
            return below, above

        root = len(self.plane)
        places = [part(cell, law, np.searchsorted(near, own)) for cell, law, own in pieces]
        waiting: list[tuple[list[_CutPiece], tuple[tuple[int, int], ...], int, int]] = [(places, (), -1, 0)]
        while waiting:
            parts, path, parent, slot = waiting.pop()
            laws = {one.law for one in parts}
            number = -1 - next(iter(laws)) if len(laws) == 1 else len(self.plane)
            if parent >= 0:
                self.children[parent][slot] = number
            if number < 0:
                self.leaves.append(Leaf(-1 - number, path, _corners([one.cell for one in parts]), bucket))
                continue
            best = _best(parts)
            halves = split(parts, best)
            plane = self.number.setdefault(int(near[best]), len(self.number))
            self.plane.append(plane)
            self.children.append([0, 0])
            if len(self.plane) > self.most:
                raise LimitError("the search tree has too many nodes; use the network")
            waiting += [(halves[k], (*path, (plane, 2 * k - 1)), number, k) for k in (1, 0)]
        return root


def _best(parts: list[_CutPiece]) -> int:
    """The plane with the fewest laws, then pieces, on its worse side."""
    parts = sorted(parts, key=lambda one: one.law)
    candidates = np.unique(np.concatenate([one.own for one in parts]))
    low = np.array([one.low[candidates] for one in parts]) < 0
    high = np.array([one.high[candidates] for one in parts]) > 0
    law = np.array([one.law for one in parts])
    start = np.flatnonzero(np.diff(law, prepend=-1))
    laws = [np.logical_or.reduceat(side, start, axis=0).sum(axis=0) for side in (low, high)]
    pieces = [side.sum(axis=0) for side in (low, high)]
    useful = (pieces[0] > 0) & (pieces[1] > 0)
    if not useful.any():
        raise InputError("two pieces of the function overlap: `p.doctor()` says which")
    keys = (candidates, np.maximum(*pieces), laws[0] + laws[1], np.maximum(*laws), ~useful)
    return int(candidates[np.lexsort(keys)[0]])


def _corners(cells: list[Cell]) -> tuple[tuple[int, ...], ...]:
    return tuple({place: None for cell in cells for place in cell.places})


def _buckets(cells: list[Cell], dim: int) -> Buckets:
    """About as many buckets as cells, the same number along each axis, over all corners."""
    corners = np.array([[v / x[-1] for v in x[:-1]] for cell in cells for x in cell.places if x[-1] > 0]).reshape(
        -1, dim
    )
    count = max(2, round(len(cells) ** (1 / dim)))
    start, scale = [], []
    for axis in range(dim):
        low, high = (corners[:, axis].min(), corners[:, axis].max()) if len(corners) else (0.0, 1.0)
        size, power = np.frexp(count / (high - low) if high > low else 1.0)
        with np.errstate(over="ignore", under="ignore"):
            numbers = np.array([low, np.ldexp(round(size * 64) / 64, power)]).astype(np.float32)
        if not np.isfinite(numbers).all() or numbers[1] == 0:
            raise LimitError(f"the pieces along x[{axis}] are too large or too small for buckets; use a tree")
        start.append(Fraction(float(numbers[0])))
        scale.append(Fraction(float(numbers[1])))
    return Buckets((count,) * dim, tuple(start), tuple(scale))


def law_row(law: NDArray[np.object_]) -> list[Fraction]:
    """``(offset, gradient)`` of the integer row ``(gradient, offset, 1) * denominator``."""
    return [Fraction(int(v), int(law[-1])) for v in (law[-2], *law[:-2])]


# How far the value that a search tree computes is from the function, on a bounded domain, whatever the rounding.
#
# The sum of a plane is computed within ``d``, so the leaf that is reached may be a neighbour of the right one: the
# point satisfies row `r` of the path to that leaf (planes of nodes and of buckets) only up to ``d_r``. Let `R` be the
# region of the leaf within the convex domain, and `c` the mean of its corners, ``e_r`` deep in row `r`. If `x` violates
# each row by at most ``d_r``, then ``y = c + t (x - c)`` is in `R` for ``t = min e_r / (e_r + d_r)``; so `x` is in the
# ``1/t``-fold of `R` around `c`, and ``|x - y| <= max(d_r / e_r) max |z - c|`` over the corners `z` of `R`. The
# function is the law at `y`; so law and function differ at `x` by at most ``|x - y| (|grad law|_1 + L)``, `L` the
# largest slope of the function between `x` and `y`, that is in the bucket of the leaf and those around it. Rounding of
# the law itself is added. ``e_r`` is the mean of the depths of the corners: exact integers, so that their sum in floats
# is off by no more than ``_ABOVE`` makes up for.


_ABOVE = 1 + 1e-9


def tree_box(tree: Tree) -> list[Fraction] | None:
    """How large each coordinate is at most, and a little more; None if the domain is not bounded."""
    if any(place[-1] == 0 for leaf in tree.leaves for place in leaf.places):
        return None
    reach = np.abs([[v / x[-1] for v in x[:-1]] for leaf in tree.leaves for x in leaf.places]).max(axis=0)
    return [Fraction(v * _ABOVE) for v in reach.tolist()]


def tree_error(tree: Tree, slack: Sequence[Fraction], own: Sequence[Fraction], off: Sequence[Fraction]) -> float:
    """The largest difference from the function, if each plane (an integer row) is computed within its `slack`.

    The laws are computed within `own`, and places in units of buckets within `off` along each axis.
    """
    laws = [[law_row(law) for law in laws] for laws in tree.laws]
    slopes = np.array([float(max(sum(map(abs, row[1:]), Fraction(0)) for row in rows)) for rows in laws])
    around, sides = _slopes_around(tree, slopes), _sides(tree, off)
    units = [max(map(abs, row)) for row in tree.planes]
    worst, slacks, owns = 0.0, [float(v / u) for v, u in zip(slack, units, strict=True)], [float(v) for v in own]
    for leaf in tree.leaves:
        rows: list[_Side] = [([-side * v for v in tree.planes[k]], units[k], slacks[k]) for k, side in leaf.path]
        rows += [row for i, k in enumerate(leaf.bucket) for row in sides[i][k]]
        steep = slopes[leaf.law] + around[leaf.bucket]
        worst = max(worst, owns[leaf.law] + _farthest(rows, leaf.places) * float(steep))
    return float(worst * _ABOVE)


def _slopes_around(tree: Tree, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest slope in each bucket and those around it."""
    grid = tree.buckets
    found = np.zeros(() if grid is None else grid.counts)
    for leaf in tree.leaves:
        found[leaf.bucket] = max(found[leaf.bucket], slopes[leaf.law])
    return found if grid is None else cast("NDArray[np.float64]", scipy.ndimage.maximum_filter(found, size=3))


_Side: TypeAlias = tuple[Sequence[int], int, float]  # a row, a unit for numbers beyond floats, and a width in it


def _sides(tree: Tree, off: Sequence[Fraction]) -> list[list[list[_Side]]]:
    """The planes of each bucket along each axis, at most 0 inside, and how far off the place of a point can be."""
    grid = tree.buckets
    found: list[list[list[_Side]]] = []
    for i, count in enumerate(() if grid is None else grid.counts):
        assert grid is not None
        rows = [grid.plane(i, k) for k in range(count + 1)]
        units = [max(map(abs, row)) for row in rows]
        offs = [float(off[i] / grid.scale[i] * row[i] / unit) for row, unit in zip(rows, units, strict=True)]
        below = [[([-v for v in rows[k]], units[k], offs[k])] if k else [] for k in range(count)]
        above = [[(rows[k + 1], units[k + 1], offs[k + 1])] if k + 1 < count else [] for k in range(count)]
        found.append([[*low, *high] for low, high in zip(below, above, strict=True)])
    return found


def _farthest(rows: Sequence[_Side], corners: Sequence[Sequence[int]]) -> float:
    """How far a point that reaches a leaf can be from its region, in the largest coordinate."""
    share = 0.0
    for row, unit, off in rows:
        depths = [-sum(a * v for a, v in zip(row, z, strict=True)) / (z[-1] * unit) for z in corners]
        share = max(share, off * len(depths) / sum(depths))
    at = np.array([[v / z[-1] for v in z[:-1]] for z in corners])
    far = np.abs(at - at.mean(axis=0)).max() + 1e-14 * np.abs(at).max()
    return float(share * far) * _ABOVE
