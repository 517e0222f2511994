"""How far the value that a search tree computes is from the function, on a bounded domain, whatever the rounding.

The sum of a plane is computed within ``d``, so the leaf that is reached may be a neighbour of the right one: the point
satisfies the rows of that leaf only up to ``d`` each. Let `R` be the region of the leaf within the domain, and `R'` the
same with every row of the path moved out by its ``d``. From each corner of `R'` go towards a point inside `R` until `R`
is reached: if no corner goes farther than ``e`` (largest coordinate), then every `x` of `R'` has a `y` in `R` within
``e``, the same mean of the ends. The function is the law at `y`; so law and function differ at `x` by at most
``e (|grad law|_1 + L)``, `L` the largest slope of the function. Rounding of the law itself is added. All is rational.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.geometry.cells import Cell, cell_of
from cpwl.io.c.text import NetworkTables, TreeTables, law_row, scaled_plane
from cpwl.io.c.tree import Leaf

__all__ = ["network_values", "row_sums", "sum_error", "tree_error", "tree_values"]

_STEPS = 20_000  # rows of all leaves, times the square of the dimension: a few seconds
_Row = tuple[Fraction, ...]


def tree_error(tables: TreeTables) -> float | None:
    """The largest difference from the function for points of the domain of that type.

    None where the domain is not bounded, or has too many leaves to look at.
    """
    tree = tables.tree
    boundary = [_oriented(row, 1) for row in tree.boundary]
    box = _reach(cell_of([_whole(row) for row in boundary], tables.planes.shape[1] - 1))
    if box is None or sum(len(leaf.path) + len(boundary) for leaf in tree.leaves) * len(box) ** 2 > _STEPS:
        return None
    planes = [tuple(scaled_plane(row)) for row in tree.planes]
    slack = [_short(sum_error(row, used, box, tables.dtype)) for row, used in zip(planes, tables.planes, strict=True)]
    laws = [[law_row(law) for law in laws] for laws in tree.laws]
    own = [
        max(sum_error(row, used, box, tables.dtype) for row, used in zip(rows, typed, strict=True))
        for rows, typed in zip(laws, tables.laws, strict=True)
    ]
    slopes = [max(sum(map(abs, row[1:]), Fraction(0)) for row in rows) for rows in laws]
    steepest = max(slopes)
    worst = Fraction(0)
    for leaf in tree.leaves:
        away = _farthest(leaf, planes, slack, boundary)
        worst = max(worst, own[leaf.law] + away * (slopes[leaf.law] + steepest))
    return float(np.nextafter(float(worst), np.inf))


def sum_error(exact: Sequence[Fraction], used: Sequence[float], box: Sequence[Fraction], dtype: str) -> Fraction:
    """How far the computed sum of a row is from the exact one, on the box ``|x_i| <= box[i]``."""
    kind = np.finfo(dtype)
    unit, tiny = Fraction(float(kind.eps)) / 2, Fraction(float(kind.tiny))
    k = len(exact)  # roundings on the way of each term: a product and the sums
    reach = [Fraction(1), *box]
    moved = sum((abs(Fraction(float(u)) - e) * r for u, e, r in zip(used, exact, reach, strict=True)), Fraction(0))
    size = sum((abs(Fraction(float(u))) * r for u, r in zip(used, reach, strict=True)), Fraction(0))
    return moved + k * unit / (1 - k * unit) * size + k * tiny


def _farthest(leaf: Leaf, planes: Sequence[_Row], slack: Sequence[Fraction], boundary: Sequence[_Row]) -> Fraction:
    """How far a point that reaches the leaf can be from its region, in the largest coordinate."""
    rows = [*boundary, *(tuple(-side * v for v in planes[k]) for k, side in leaf.path)]
    moved = [Fraction(0)] * len(boundary) + [slack[k] for k, _ in leaf.path]
    region = cell_of([_whole(row) for row in rows], len(rows[0]) - 1)
    corners = _points(region)
    # Rows that touch nothing bound nothing; leaving them out makes R' larger, if anything.
    held = [i for i, row in enumerate(rows) if any(_value(row, x) == 0 for x in corners)]
    wide = cell_of([_whole((rows[i][0] - moved[i], *rows[i][1:])) for i in held], len(rows[0]) - 1)
    middle = tuple(Fraction(sum(map(float, xs)) / len(corners)) for xs in zip(*corners, strict=True))
    inside = [(rows[i], _value(rows[i], middle)) for i in held]
    if any(depth >= 0 for _, depth in inside):  # too thin for floats
        middle = tuple(sum(xs, Fraction(0)) / len(corners) for xs in zip(*corners, strict=True))
        inside = [(rows[i], _value(rows[i], middle)) for i in held]
    farthest = Fraction(0)
    for corner in _points(wide):
        values = [(_value(row, corner), depth) for row, depth in inside]
        part = max((above / (above - depth) for above, depth in values if above > 0), default=Fraction(0))
        farthest = max(farthest, part * max(abs(m - c) for m, c in zip(middle, corner, strict=True)))
    return farthest


def _short(x: Fraction) -> Fraction:
    """The next power of two: short numbers are fast."""
    return Fraction(2) ** (x.numerator.bit_length() - x.denominator.bit_length() + 1)


def _oriented(row: Sequence[int], side: int) -> _Row:
    """``(-b, a)`` of the row ``(a, -b)``: at most 0 inside."""
    return tuple(Fraction(side * int(v)) for v in (row[-1], *row[:-1]))


def _whole(row: _Row) -> tuple[int, ...]:
    """Integers ``(a, -b)`` proportional to the row ``(-b, a)``."""
    below = int(np.lcm.reduce([v.denominator for v in row], dtype=object))
    return tuple(int(v * below) for v in (*row[1:], row[0]))


def _value(row: _Row, x: Sequence[Fraction]) -> Fraction:
    return sum((a * v for a, v in zip(row[1:], x, strict=True)), row[0])


def _points(cell: Cell) -> list[tuple[Fraction, ...]]:
    """The corners of a bounded cell."""
    return [tuple(Fraction(v, place[-1]) for v in place[:-1]) for place, _ in cell.rays]


def _reach(cell: Cell) -> list[Fraction] | None:
    """The largest size of each coordinate; None if the cell is not bounded."""
    if cell.lines or any(place[-1] == 0 for place, _ in cell.rays):
        return None
    return [max(map(abs, xs)) for xs in zip(*_points(cell), strict=True)]


# What the C code computes, bit for bit, in NumPy: the stated order of summation is this one.
#
# A sum starts with the constant (bias, offset) and adds products in the order of the columns; every product and every
# sum
# is rounded to the type. ReLU is ``z < 0 ? 0 : z``. A tree goes to the second child where the sum of a plane is above
# 0.


Array = NDArray[Any]


def network_values(tables: NetworkTables, x: Array) -> Array:
    """Values ``(N, m)`` at points ``(N, n)`` of the type."""
    h = x.T
    for i, (weight, bias) in enumerate(tables.network.layers):
        if i:
            h = np.where(h < 0, h.dtype.type(0), h)
        h = _affine(weight, bias.astype(tables.dtype), h, tables.dtype)
    return h.T


def _affine(weight: Any, bias: Array, h: Array, dtype: str) -> Array:
    """``b + W h``, term by term; rows that have no term left stay as they are."""
    z = np.repeat(bias[:, None], h.shape[1], axis=1)
    data, length = weight.data.astype(dtype), np.diff(weight.indptr)
    for k in range(int(length.max(initial=0))):
        rows = np.flatnonzero(length > k)
        entry = weight.indptr[rows] + k
        z[rows] += data[entry, None] * h[weight.indices[entry]]
    return z


def tree_values(tables: TreeTables, x: Array) -> Array:
    """Values ``(N, m)`` at points ``(N, n)`` of the type."""
    tree = tables.tree
    node = np.zeros(len(x), dtype=np.int64) if len(tree.plane) else np.full(len(x), -1)
    while (inner := np.flatnonzero(node >= 0)).size:
        at = node[inner]
        side = row_sums(tables.planes[tree.plane[at]], x[inner]) > 0
        node[inner] = tree.children[at, side.astype(np.int64)]
    laws = tables.laws[-1 - node]
    return np.stack([row_sums(laws[:, j], x) for j in range(laws.shape[1])], axis=1)


def row_sums(rows: Array, x: Array) -> Array:
    """``r_0 + r_1 x_1 + ..``, from left to right."""
    total = rows[:, 0].copy()
    for i in range(x.shape[1]):
        total += rows[:, i + 1] * x[:, i]
    return total
