"""Tables on Kuhn grids by columns: ``O(V^(1 - 1/n))`` neurons for `V` points in any dimension, accurate in float32.

Let ``r = z - base > 0`` be the values of the grid ``{0 .. m}^n`` above a base. For a column `v`, a point of the grid of
the first ``n - 1`` axes, let ``S_v`` be the integral of the step function that is ``r(v, k)`` on ``[k, k + 1]``. With
``t_0 = 0`` and ``t_c = x_c - v_c``, on the grid

    p(x) = base + sum over columns of s( min_c S_v(x_n + 1 - t_c) - max_c S_v(x_n - t_c) ).

For a Kuhn hat is ``s(1 - s(a - tau) - s(tau - b))`` with ``a = max t``, ``b = min t``, ``tau = x_n - k``: the length of
the part of ``[k, k + 1]`` in ``I = [x_n - b, x_n + 1 - a]``. So the hats of a column, with their values, add up to the
integral over `I`, and where `I` is reversed all are 0 and the difference is negative. See docs/columns.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import Plan
from cpwl.errors import ConstructionError
from cpwl.function.parts import KuhnGrid, is_even, kuhn_grid
from cpwl.network.network import Network
from cpwl.network.program import Chain, Row, chained

# The neurons of one column: ``s(min A - max B)``, where the A and the B come in the same order, whatever it is.
#
# ``A_c = S(x_n + 1 - t_c)`` and ``B_c = S(x_n - t_c)`` for one increasing `S`: the least A and the largest B belong to
# the largest and to the least `t`. With ``D = A_1 - B_1``, ``a_i = A_1 - A_i`` and ``b_i = B_i - B_1`` a round is
#
#     p_i = s(A_{2i-1} - A_{2i}),  A'_i = A_{2i-1} - p_i,  and likewise for B,
#
# so ``D' = D - p_1 - q_1``, ``a'_i = a_{2i-1} - p_1 + p_i``. What passes a layer is clamped: `D` at 0 and ``a_{2i-1}``
# at ``-K``, which is 0 where nothing was paired with it and it is compared next. Clamped, `D'` is at most 0 where `D`
# is negative, and ``a'`` is larger than it should be, so that the result is only made smaller; where the result is
# positive all `t` are in a window of length 1, so ``|a_i| <= max r <= K`` and nothing is clamped. Two that are compared
# with each other alone need no `D`: ``min(A_1, A_2) - max(B_1, B_2) = min(U, V)`` for ``U = A_1 - B_2``,
# ``V = A_2 - B_1``, and ``s(min(U, V)) = s(s(U) - s(U - V))``.


Expression = dict[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class ColumnNeuron:
    """A neuron: coefficients of what it reads, and how often `K` is added.

    In the first layer it reads ``("A", c)`` and ``("B", c)``, later ``("", i)``: neuron `i` of the layer below.
    """

    terms: tuple[tuple[str, int, int], ...]
    clamp: int = 0


def contenders(foot: Sequence[int], steps: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Which `t` may be the largest, and which the least, on the column over `foot`.

    ``t_0 = 0`` and ``t_c = x_c - foot_c``: on the rim of the grid the sign of some `t` is known.

    >>> contenders([1, 0], [2, 2]), contenders([0, 2], [2, 2])
    (((1, 2), (0, 1)), ((1,), (2,)))
    """
    up = [c for c, v in enumerate(foot, start=1) if v == 0]
    down = [c for c, (v, m) in enumerate(zip(foot, steps, strict=True), start=1) if v == m]
    every = range(len(foot) + 1)
    largest = tuple(c for c in every if c not in down and not (c == 0 and up))
    least = tuple(c for c in every if c not in up and not (c == 0 and down))
    return largest, least


@lru_cache(maxsize=1024)
def column_layers(largest: tuple[int, ...], least: tuple[int, ...]) -> tuple[tuple[ColumnNeuron, ...], ...]:
    """The layers of a column; the last has one neuron, which is the column's value.

    >>> [len(layer) for layer in column_layers((0, 1), (0, 1))], [len(layer) for layer in column_layers((1,), (0,))]
    ([2, 1], [1])
    >>> [len(layer) for layer in column_layers((0, 1, 2), (0, 1, 2))]
    [5, 3, 1]
    """
    if len(largest) == 2 and largest == least:
        c, d = largest
        u, v = _sum(("A", c, 1), ("B", d, -1)), _sum(("A", d, 1), ("B", c, -1))
        return (_row(u), _row(_plus(u, v, -1))), (_row(_sum(("", 0, 1), ("", 1, -1))),)
    first, top = largest[0], least[0]
    difference = _sum(("A", first, 1), ("B", top, -1))
    above = [_sum(("A", first, 1), ("A", c, -1)) for c in largest[1:]]
    below = [_sum(("B", c, 1), ("B", top, -1)) for c in least[1:]]
    shift = [[0] * len(above), [0] * len(below)]
    layers = []
    while above or below:
        rows = [_row(difference)]
        next_difference = _sum(("", 0, 1))
        lists = []
        for k, expressions in enumerate((above, below)):
            expressions, shifts, won = _round(expressions, shift[k], rows)
            shift[k] = shifts
            lists.append(expressions)
            if won is not None:
                next_difference = _plus(next_difference, _sum(("", won, 1)), -1)
        layers.append(tuple(rows))
        difference, (above, below) = next_difference, lists
    return *layers, (_row(difference),)


def _round(
    values: list[Expression], shifts: list[int], rows: list[ColumnNeuron]
) -> tuple[list[Expression], list[int], int | None]:
    """One round on ``a_2, a_3, ..``: appends its neurons; the new values, how often `K` is in them, and who beat 1."""
    if not values:
        return [], [], None
    won = len(rows)
    rows.append(_row(values[0], -shifts[0]))
    kept, kept_shifts = [], []
    for i in range(1, len(values), 2):
        paired = i + 1 < len(values)
        clamp = 0 if not paired and i == 1 else 1
        rows.append(_row(values[i], clamp - shifts[i]))
        value = _sum(("", len(rows) - 1, 1), ("", won, -1))
        if paired:
            rows.append(_row(_plus(values[i + 1], values[i], -1), shifts[i] - shifts[i + 1]))
            value = _plus(value, _sum(("", len(rows) - 1, 1)), 1)
        kept.append(value)
        kept_shifts.append(clamp)
    return kept, kept_shifts, won


def _sum(*terms: tuple[str, int, int]) -> Expression:
    total: Expression = {}
    for kind, number, factor in terms:
        total[kind, number] = total.get((kind, number), 0) + factor
    return total


def _plus(a: Expression, b: Expression, factor: int) -> Expression:
    total = dict(a)
    for key, value in b.items():
        total[key] = total.get(key, 0) + factor * value
    return {key: value for key, value in total.items() if value}


def _row(expression: Expression, clamp: int = 0) -> ColumnNeuron:
    return ColumnNeuron(tuple((kind, number, factor) for (kind, number), factor in expression.items()), clamp)


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One column of one output: its foot on the other axes, its values above the base, its layers."""

    output: int
    foot: tuple[int, ...]
    height: NDArray[np.object_]
    layers: tuple[tuple[ColumnNeuron, ...], ...]


def best_axis(steps: tuple[int, ...]) -> int:
    """The axis to sum along that needs the fewest neurons, the last of equals.

    >>> best_axis((3, 9, 9)), best_axis((4, 4, 2))
    (2, 1)
    """
    return min(reversed(range(len(steps))), key=lambda h: _count(steps, h))


def _count(steps: tuple[int, ...], h: int) -> int:
    rest = steps[:h] + steps[h + 1 :]
    hinges = len(hinge_list((*rest, steps[h])))
    ends = product(*({0, 1, m} if m > 1 else {0, m} for m in rest))
    weights = [(foot, prod(m - 1 if 0 < v < m else 1 for v, m in zip(foot, rest, strict=True))) for foot in ends]
    return hinges + sum(times * sum(map(len, column_layers(*contenders(foot, rest)))) for foot, times in weights)


def _base(values: NDArray[np.object_]) -> Fraction:
    """What is below all values of an output, by a little: where a column is far it must be clearly negative.

    Where a whole column is at the least value, that is the base itself, and such columns cost nothing.
    """
    least, most = min(values.ravel()), max(values.ravel())
    flat = (values == least).all(axis=-1).any() if values.ndim > 1 else False
    return Fraction(least) if flat or most == least else least - Fraction(most - least) / 16


def lower(grid: KuhnGrid) -> Network:
    """The network of a grid.

    >>> from cpwl.function.parts import kuhn_grid
    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[1, 0, 2], [0, 3, 0], [1, 0, 1]])
    >>> lower(kuhn_grid(p.mesh))
    Network(2 -> 6 -> 4 -> 2 -> 1)
    """
    h = best_axis(grid.steps)
    order = (*(i for i in range(len(grid.steps)) if i != h), h)
    values = np.moveaxis(grid.values, -1, 0).transpose(0, *(i + 1 for i in order))
    steps = tuple(grid.steps[i] for i in order)
    bases = [_base(table) for table in values]
    columns = list(_columns(values, steps, bases))
    if not columns:  # every output is constant
        return chained([[Row({}, base) for base in bases]], len(steps))
    depth = max(len(column.layers) for column in columns)
    front, places = _places(grid, order)
    chain = [*front, _hinges(places, steps), _first_layer(columns, steps), *_later_layers(columns, depth, len(values))]
    return chained([*chain, _output(columns, depth, bases)], len(steps))


def _columns(values: NDArray[np.object_], steps: tuple[int, ...], bases: list[Fraction]) -> Iterator[_Column]:
    """The columns of all outputs, without those that are nowhere above the base."""
    for output, base in enumerate(bases):
        for foot in product(*(range(m + 1) for m in steps[:-1])):
            height = values[(output, *foot)] - base
            if height.any():
                yield _Column(output, foot, height, column_layers(*contenders(foot, steps[:-1])))


def _places(grid: KuhnGrid, order: tuple[int, ...]) -> tuple[Chain, list[Row]]:
    """The numbers ``u`` of places, axes in that order, as forms; with uneven axes on a layer before, which is first."""
    even = all(is_even(axis) for axis in grid.axes)
    front: list[Row] = []
    forms = []
    for i in order:
        axis = grid.axes[i]
        if even:
            scale = 1 / (axis[1] - axis[0])
            forms.append(Row({i: scale}, -axis[0] * scale))
            continue
        sense, weights = 1 if axis[1] > axis[0] else -1, dict[int, Fraction]()
        slopes = [Fraction(0), *(1 / abs(b - a) for a, b in pairwise(axis))]
        for place, (before, after) in zip(axis, pairwise(slopes), strict=False):
            if after != before:
                weights[len(front)] = after - before
                front.append(Row({i: sense}, -sense * place))
        forms.append(Row(weights, Fraction(0)))
    return [] if even else [front], forms


def hinge_list(steps: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """The hinges ``s(sign (w_c - j))`` as ``(c, sign, j)``: from the least middle of a column up, to the largest down.

    >>> hinge_list((2,))
    [(0, 1, 1), (0, -1, 1)]
    """
    found = []
    for c in range(len(steps)):
        middles = [_middle(c, steps, v) for v in ((0, steps[c - 1]) if c else (0,))]
        found += [(c, 1, j) for j in range(min(middles), steps[-1])]
        found += [(c, -1, j) for j in range(_low(c, steps) + 1, max(middles) + 1)]
    return found


def _hinges(places: list[Row], steps: tuple[int, ...]) -> list[Row]:
    """The first layer that reads numbers of places."""
    rows, top = [], places[-1]
    for c, sign, j in hinge_list(steps):
        foot = places[c - 1] if c else Row({}, 0)
        weights = {k: sign * (top.weights.get(k, 0) - foot.weights.get(k, 0)) for k in {**top.weights, **foot.weights}}
        rows.append(Row(weights, sign * (top.bias - foot.bias - j)))
    return rows


def _low(c: int, steps: tuple[int, ...]) -> int:
    """The least value of ``w_c``; the largest is the number of steps of the axis that is summed along."""
    return -steps[c - 1] if c else 0


def _middle(c: int, steps: tuple[int, ...], place: int) -> int:
    """The middle of ``w_c`` on the column whose foot has that place on axis `c`."""
    return (_low(c, steps) + steps[-1]) // 2 if len(steps) == 2 or not c else steps[-1] // 2 - place


def _first_layer(columns: list[_Column], steps: tuple[int, ...]) -> list[Row]:
    """The neurons that read ``A_c`` and ``B_c``."""
    number = {hinge: k for k, hinge in enumerate(hinge_list(steps))}
    rows = []
    for column in columns:
        for neuron in column.layers[0]:
            constant, weights = Fraction(neuron.clamp * max(column.height)), dict[int, Fraction]()
            for c in {c for _, c, _ in neuron.terms}:
                middle = _middle(c, steps, column.foot[c - 1] if c else 0)
                slopes, value = _read(neuron, column, steps, c, middle)
                constant += value
                for sign, j, change in _changes(slopes, _low(c, steps), middle):
                    weights[number[c, sign, j]] = change
            rows.append(Row(weights, constant))
    return rows


def _read(
    row: ColumnNeuron, column: _Column, steps: tuple[int, ...], c: int, middle: int
) -> tuple[NDArray[np.object_], Fraction]:
    """What a neuron reads along ``w_c``, a sum of ``S(w_c + k)``: slopes between whole numbers, value in the middle."""
    low, top = _low(c, steps), steps[-1]
    slopes, value = np.full(top - low, Fraction(0), dtype=object), Fraction(0)
    for kind, axis, factor in row.terms:
        if axis == c:
            shift = (column.foot[c - 1] if c else 0) + (kind == "A")
            slopes = slopes + factor * column.height[np.clip(np.arange(low + shift, top + shift), 0, top)]
            value += factor * _integral(column.height, middle + shift)
    return slopes, value


def _changes(slopes: NDArray[np.object_], low: int, middle: int) -> Iterator[tuple[int, int, Fraction]]:
    """The weights of the hinges of one `w`, as ``(sign, j, weight)``: how the slope changes, away from the middle."""
    before = Fraction(0)
    for j in range(middle, low + len(slopes)):
        yield 1, j, slopes[j - low] - before
        before = slopes[j - low]
    before = Fraction(0)
    for j in range(middle, low, -1):
        yield -1, j, before - slopes[j - 1 - low]
        before = slopes[j - 1 - low]


def _integral(height: NDArray[np.object_], end: int) -> Fraction:
    """``S(end)``: the integral from 0, the first and last value going on."""
    if end <= 0:
        return Fraction(end * height[0])
    inner = sum(height[: min(end, len(height))], Fraction(0))
    return Fraction(inner + max(0, end - len(height)) * height[-1])


def _later_layers(columns: list[_Column], depth: int, outputs: int) -> Iterator[list[Row]]:
    """The next rounds of the columns that are not done, and for each output one sum of those that are."""
    place = _numbering([len(column.layers[0]) for column in columns])
    carried: dict[int, int] = {}
    for level in range(1, depth):
        rows: list[Row] = []
        for column, start in zip(columns, place, strict=True):
            for neuron in column.layers[level] if level < len(column.layers) else ():
                weights = {start + i: factor for _, i, factor in neuron.terms}
                rows.append(Row(weights, neuron.clamp * max(column.height)))
        carries: dict[int, int] = {}
        for output in range(outputs):
            done = [s for c, s in zip(columns, place, strict=True) if c.output == output and len(c.layers) == level]
            before = [carried[output]] if output in carried else []
            if done or before:
                carries[output] = len(rows)
                rows.append(Row(dict.fromkeys((*done, *before), 1), 0))
        yield rows
        place = _numbering([len(c.layers[level]) if level < len(c.layers) else 0 for c in columns])
        carried = carries


def _numbering(lengths: list[int]) -> list[int]:
    return np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(int).tolist()  # type: ignore[no-any-return]


def _output(columns: list[_Column], depth: int, bases: list[Fraction]) -> list[Row]:
    """The base of each output, its columns that were done last, and the sum of the others."""
    owner = [column.output for column in columns if len(column.layers) == depth]
    owner += sorted({column.output for column in columns if len(column.layers) < depth})
    return [Row({k: 1 for k, o in enumerate(owner) if o == output}, base) for output, base in enumerate(bases)]


def plan(analysis: Analysis) -> Plan:
    """The plan of the network of a Kuhn grid; every weight is known before its size.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2]] * 3, [[[i * j * k for i in range(3)] for j in range(3)] for k in range(3)])
    >>> plan(Analysis(p)).sizes.depth
    5
    """
    mesh = analysis.exact.function.mesh
    if mesh is None:
        raise ConstructionError("columns are for tables on grids, and this function is given by half-spaces")
    return Plan.of("columns", lower(kuhn_grid(mesh)), analysis.sample.points)
