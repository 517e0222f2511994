"""Tables on Kuhn grids by direct lookup: the cell of a point, its parts in the cell in order, and ``n + 1`` reads.

Let ``T_i`` be the exact map of axis `i` to the numbers of its points, linear in between, and `P` the interpolant in
these numbers: ``p(x) = P(T(x))``. With the parts ``f`` of ``t = T(x)`` in its cell in falling order, and the values
``z_0, .., z_n`` met on the way from the lowest corner along these axes,

    P(t) = z_0 + f_1 (z_1 - z_0) + .. + f_n (z_n - z_(n-1)).

**Rounding.** The code computes some ``t'`` with ``|t'_i - T_i(x)| <= d_i`` on the domain, and takes the cell and the
parts of ``t'`` itself, which is exact (``t' - floor(t')`` is a number of the type). The slope of `P` along axis `i` is
everywhere a difference of two neighbours on that axis, at most ``D_i``; the box is convex; so
``|P(t') - P(T(x))| <= sum_i d_i D_i``, at grid lines and diagonals, too. To this is added what rounding does to the
values and to the sum.

**Axes.** On an even axis ``t' = (x - start) * scale``; on another one a binary search among the rounded points ``A_k``
gives `k`, and ``t' = k + (x - A_k) * scale_k``. Either is a piecewise-linear map up to its roundings, and its distance
from ``T_i`` is largest at a point of the axis or at an ``A_k``: finitely many rationals. ``t'`` is moved to the ends of
the axis, where ``T_i`` is at points outside: so a point outside has the value at the nearest point of the box.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import ConstructionError, InputError, LimitError
from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import KuhnGrid, kuhn_grid
from cpwl.io.c.text import CArray, Cost, c_type, growth, typed


@dataclass(frozen=True, slots=True, eq=False)
class GridAxis:
    """How a coordinate becomes a place on its axis: one `start` and `scale` if it is even, else one for each cell."""

    steps: int
    even: bool
    down: bool
    """Whether numbers rise as coordinates fall; then an axis that is searched has its points negated."""
    points: NDArray[Any]
    """Numbers of the type: the start of an even axis, or all points, rising."""
    scale: NDArray[Any]
    error: Fraction
    """How far a computed place can be from the exact one, on the domain."""


@dataclass(frozen=True, slots=True, eq=False)
class GridTables:
    """A Kuhn grid in one type: its axes, and ``(V, m)`` values in the order of their numbers, the last axis first."""

    grid: KuhnGrid
    dtype: str
    axes: tuple[GridAxis, ...]
    values: NDArray[Any]
    tables: tuple[CArray, ...]
    inputs: int
    outputs: int

    @property
    def strides(self) -> list[int]:
        """From a value to the next one along each axis."""
        counts = [axis.steps + 1 for axis in self.axes]
        return [prod(counts[i + 1 :]) for i in range(len(counts))]

    @property
    def cost(self) -> Cost:
        n, m = self.inputs, self.outputs
        search = sum(0 if axis.even else (axis.steps - 1).bit_length() for axis in self.axes)
        looked = 4 * n + search + n * (n - 1) // 2
        memory = n * (np.dtype(self.dtype).itemsize + 4)
        return Cost(sum(table.bytes for table in self.tables), n + n * m, looked, memory)

    def __str__(self) -> str:
        shape = " x ".join(str(axis.steps + 1) for axis in self.axes)
        searched = [str(i) for i, axis in enumerate(self.axes) if not axis.even]
        how = f"; binary search on the uneven axes x[{'], x['.join(searched)}]" if searched else ""
        return f"A table of {shape} points on a grid, interpolated on its triangulation (Kuhn){how}."

    def code(self, words: dict[str, str]) -> tuple[list[str], list[str]]:
        """Helpers and statements of the C code."""
        name, real, n = words["name"], words["real"], self.inputs
        strides = [stride * self.outputs for stride in self.strides]
        lines = [f"{real} f[{n}];", f"uint32_t step[{n}] = {{{', '.join(f'{s}u' for s in strides)}}};"]
        found, evens = [], 0
        for i, axis in enumerate(self.axes):
            if axis.even:
                found.append(f"step[{i}] * {name}_even(p[{i}], {name}_line[{evens}], {axis.steps}u, f + {i})")
                evens += 1
            else:
                at, sense = f"{name}_axis_{i}, {name}_scale_{i}", "-" if axis.down else ""
                found.append(f"step[{i}] * {name}_search({sense}p[{i}], {at}, {axis.steps}u, f + {i})")
        lines.append(f"const {real} *v = {name}_value;")
        lines += [f"v += {place};" for place in found]
        if n > 1:
            lines.append(f"{name}_sort(f, step);")
        lines.append(f"{name}_walk(v, f, step, y);")
        helpers = [_EVEN] if evens else []
        helpers += [_SEARCH] if evens < n else []
        helpers += [_SORT] if n > 1 else []
        return [*helpers, _WALK], lines


def grid_tables(p: CPWL, dtype: str) -> GridTables:
    """The tables of a function that is given as a Kuhn grid; `InputError` if it is not.

    >>> tables = grid_tables(CPWL.from_grid([[0, 1, 2], [0, 1, 3]], [[0, 1, 2], [3, 4, 5], [6, 7, 9]]), "float64")
    >>> [axis.even for axis in tables.axes], tables.cost.multiply_adds
    ([True, False], 4)
    """
    if p.mesh is None:
        raise InputError(
            'the form "grid" is for tables on grids (`CPWL.from_grid`); this function is given by half-spaces'
        )
    try:
        grid = kuhn_grid(p.mesh)
    except ConstructionError as error:
        raise InputError(f'the form "grid" is for tables on grids: {error}', **error.details) from None
    cells = np.unique(np.sort(p.mesh.simplices, axis=1), axis=0)
    full = factorial(p.dim) * prod(grid.steps)
    if len(cells) != full:
        raise InputError(
            f'the form "grid" is for tables on whole boxes: {full - len(cells)} of {full} simplices are missing'
        )
    axes = tuple(_axis(points, dtype, i) for i, points in enumerate(grid.axes))
    values = typed(grid.values.reshape(-1, grid.values.shape[-1]), dtype)
    largest = max(abs(Fraction(float(values.max()))), abs(Fraction(float(values.min()))))
    if values.size >= 2**32 or largest * (4 * p.dim + 4) > Fraction(float(np.finfo(dtype).max)):
        raise LimitError(f"the table is too long for a C header, or its values are too near the end of {dtype}")
    kind = c_type(dtype)
    lines = [[axis.points[0], axis.scale[0]] for axis in axes if axis.even]
    tables = [CArray("value", kind, values.ravel())]
    tables += [CArray("line", kind, np.array(lines, dtype=dtype))] if lines else []
    for i, axis in enumerate(axes):
        if not axis.even:
            tables += [CArray(f"axis_{i}", kind, axis.points), CArray(f"scale_{i}", kind, axis.scale)]
    return GridTables(grid, dtype, axes, values, tuple(tables), len(axes), values.shape[1])


def _axis(points: NDArray[np.object_], dtype: str, number: int) -> GridAxis:
    """Even where that is nearly as accurate as a search, which takes ``log2 m`` steps and ``2 m`` numbers."""
    steps = len(points) - 1
    even, searched = _even(points, dtype), _searched(points, dtype)
    unit = Fraction(float(np.finfo(dtype).eps)) / 2
    if even is not None and (searched is None or even.error <= 8 * (steps + 1) * unit + 2 * searched.error):
        return even
    if searched is None:
        raise LimitError(f"two points of axis {number} are one number of type {dtype}")
    return searched


def _even(points: NDArray[np.object_], dtype: str) -> GridAxis | None:
    """One start and one scale for all cells; None where they are beyond the type."""
    steps = len(points) - 1
    numbers = _finite([points[0], steps / (points[-1] - points[0])], dtype)
    if numbers is None:
        return None
    start, scale = (Fraction(float(v)) for v in numbers)
    off = max(abs((a - start) * scale - k) for k, a in enumerate(points))
    reach = max(abs(a - start) for a in (points[0], points[-1])) * abs(scale)
    tiny = Fraction(float(np.finfo(dtype).tiny))
    error = off + growth(2, dtype) * reach + tiny * (1 + abs(scale))
    return GridAxis(steps, True, bool(points[0] > points[-1]), numbers[:1], numbers[1:], error)


def _searched(points: NDArray[np.object_], dtype: str) -> GridAxis | None:
    """All points and a scale for each cell; None where two points are one number of the type."""
    down = bool(points[0] > points[-1])
    exact = [-a for a in points] if down else list(points)
    near = _finite(exact, dtype)
    if near is None or not (np.diff(near) > 0).all():
        return None
    used = [Fraction(float(v)) for v in near]
    width = [b - a for a, b in pairwise(used)]
    scale = _finite([1 / w for w in width], dtype)
    if scale is None:
        return None
    tiny, twice = Fraction(float(np.finfo(dtype).tiny)), growth(2, dtype)
    heights = [Fraction(float(v)) for v in scale]
    own = max(abs(h * w - 1) + twice * abs(h * w) + tiny * (1 + h) for h, w in zip(heights, width, strict=True))
    at_points = max(abs(_place(used, a) - k) for k, a in enumerate(exact))
    at_used = max(abs(_place(exact, a) - k) for k, a in enumerate(used))
    return GridAxis(len(exact) - 1, False, down, near, scale, own + max(at_points, at_used))


def _finite(numbers: list[Fraction], dtype: str) -> NDArray[Any] | None:
    try:
        return typed(numbers, dtype)
    except LimitError:
        return None


def _place(points: list[Fraction], x: Fraction) -> Fraction:
    """The number of `x` on an axis, exactly; the ends outside."""
    k = int(np.clip(bisect_right(points, x) - 1, 0, len(points) - 2))
    part = (x - points[k]) / (points[k + 1] - points[k])
    return k + min(max(part, Fraction(0)), Fraction(1))


def grid_error(tables: GridTables) -> float:
    """The largest difference from the function for points of the box of that type; see the top of this file."""
    exact, n = tables.grid.values, len(tables.axes)
    moved = sum((axis.error * np.abs(np.diff(exact, axis=i)).max() for i, axis in enumerate(tables.axes)), Fraction(0))
    used = fraction_array(tables.values.astype(np.float64)).reshape(exact.shape)
    rounded = np.abs(used - exact).max()
    size = np.abs(used).max() + sum(np.abs(np.diff(used, axis=i)).max() for i in range(n))
    tiny = Fraction(float(np.finfo(tables.dtype).tiny))
    # A difference, a product and up to n sums on the way of each term.
    worst = moved + rounded + growth(n + 2, tables.dtype) * size + 3 * n * tiny
    return float(np.nextafter(float(worst), np.inf))


def grid_values(tables: GridTables, x: NDArray[Any]) -> NDArray[Any]:
    """What the C code computes, bit for bit: ``(N, m)`` at points ``(N, n)`` of the type."""
    kind = np.dtype(tables.dtype).type
    at = np.zeros(len(x), dtype=np.int64)
    parts = np.empty_like(x)
    with np.errstate(over="ignore", invalid="ignore"):
        for i, (axis, stride) in enumerate(zip(tables.axes, tables.strides, strict=True)):
            if axis.even:
                t = (x[:, i] - axis.points[0]) * axis.scale[0]
                k = np.nan_to_num(np.clip(np.floor(t), 0, axis.steps - 1)).astype(np.int64)
                part = t - k.astype(tables.dtype)
            else:
                own = -x[:, i] if axis.down else x[:, i]
                k = np.clip(np.searchsorted(axis.points, own, side="right") - 1, 0, axis.steps - 1)
                part = (own - axis.points[k]) * axis.scale[k]
            parts[:, i] = np.where(part < 0, kind(0), np.where(part > 1, kind(1), part))
            at += stride * k
    order = np.argsort(-parts, axis=1, kind="stable")
    parts = np.take_along_axis(parts, order, axis=1)
    steps = np.array(tables.strides)[order]
    total = tables.values[at].copy()
    for j in range(x.shape[1]):
        after = at + steps[:, j]
        total += parts[:, j, None] * (tables.values[after] - tables.values[at])
        at = after
    return total


_EVEN = """\
static inline uint32_t {name}_even({real} x, const {real} *line, uint32_t steps, {real} *part)
{{
    {NAME}_AS_WRITTEN
    const {real} t = (x - line[0]) * line[1];
    const uint32_t k = t >= 0 ? (t < ({real})steps ? (uint32_t)t : steps - 1u) : 0u;
    const {real} f = t - ({real})k;
    *part = f < 0 ? 0 : f > 1 ? 1 : f;
    return k;
}}
"""
_SEARCH = """\
static inline uint32_t {name}_search({real} x, const {real} *axis, const {real} *scale, uint32_t steps, {real} *part)
{{
    {NAME}_AS_WRITTEN
    uint32_t k = 0;
    for (uint32_t left = steps; left > 1;) {{
        const uint32_t half = left / 2;
        k += x >= axis[k + half] ? half : 0u;
        left -= half;
    }}
    const {real} f = (x - axis[k]) * scale[k];
    *part = f < 0 ? 0 : f > 1 ? 1 : f;
    return k;
}}
"""
_SORT = """\
static inline void {name}_sort({real} *f, uint32_t *step)
{{
    for (uint32_t i = 1; i < {NAME}_INPUTS; ++i) {{
        for (uint32_t j = i; j > 0 && f[j - 1] < f[j]; --j) {{
            const {real} part = f[j];
            const uint32_t own = step[j];
            f[j] = f[j - 1];
            step[j] = step[j - 1];
            f[j - 1] = part;
            step[j - 1] = own;
        }}
    }}
}}
"""
_WALK = """\
static inline void {name}_walk(const {real} *v, const {real} *f, const uint32_t *step, {real} *y)
{{
    {NAME}_AS_WRITTEN
    for (uint32_t k = 0; k < {NAME}_OUTPUTS; ++k) {{
        y[k] = v[k];
    }}
    for (uint32_t i = 0; i < {NAME}_INPUTS; ++i) {{
        const {real} *next = v + step[i];
        for (uint32_t k = 0; k < {NAME}_OUTPUTS; ++k) {{
            y[k] += f[i] * (next[k] - v[k]);
        }}
        v = next;
    }}
}}
"""
