"""The neurons of one column: ``s(min A - max B)``, where the A and the B come in the same order, whatever it is.

``A_c = S(x_n + 1 - t_c)`` and ``B_c = S(x_n - t_c)`` for one increasing `S`: the least A and the largest B belong to
the largest and to the least `t`. With ``D = A_1 - B_1``, ``a_i = A_1 - A_i`` and ``b_i = B_i - B_1`` a round is

    p_i = s(A_{2i-1} - A_{2i}),  A'_i = A_{2i-1} - p_i,  and likewise for B,

so ``D' = D - p_1 - q_1``, ``a'_i = a_{2i-1} - p_1 + p_i``. What passes a layer is clamped: `D` at 0 and ``a_{2i-1}``
at ``-K``, which is 0 where nothing was paired with it and it is compared next. Clamped, `D'` is at most 0 where `D` is
negative, and ``a'`` is larger than it should be, so that the result is only made smaller; where the result is positive
all `t` are in a window of length 1, so ``|a_i| <= max r <= K`` and nothing is clamped. Two that are compared with each
other alone need no `D`: ``min(A_1, A_2) - max(B_1, B_2) = min(U, V)`` for ``U = A_1 - B_2``, ``V = A_2 - B_1``, and
``s(min(U, V)) = s(s(U) - s(U - V))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Row", "column_layers", "contenders"]

Expression = dict[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class Row:
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
def column_layers(largest: tuple[int, ...], least: tuple[int, ...]) -> tuple[tuple[Row, ...], ...]:
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
    values: list[Expression], shifts: list[int], rows: list[Row]
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


def _row(expression: Expression, clamp: int = 0) -> Row:
    return Row(tuple((kind, number, factor) for (kind, number), factor in expression.items()), clamp)
