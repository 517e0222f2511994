"""Windows: where a block may be positive once a separable convex function is taken off it, and which blocks share.

``R(x) = sum_i R_i(x_i)`` interpolates ``s_i (x_i - c_i)^2`` at the knots of each axis, and ``R - C <= W`` at all
corners, hence everywhere. So the larger one of ``F_B - R + C`` and 0 is all of `F_B` that a maximum needs; it is 0
where ``F_B <= R - C``. `F_B` is the maximum of at most ``2^hinges`` affine functions, and ``{R - C < affine}`` has a
box that is found axis by axis. Blocks whose boxes do not overlap can be added instead of compared: they are a class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.blocks.colours import colours
from cpwl.construct.windows.blocks import Block
from cpwl.construct.windows.cells import Cells, to_floats
from cpwl.construct.windows.lifting import Lifting

__all__ = ["Windows", "best_windows", "tree_neurons"]

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
    constants = np.array([_up(max(row), unit) for row in over], dtype=object)
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


def _up(value: fmpq, unit: fmpq) -> fmpq:
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
