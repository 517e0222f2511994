"""A small monotone expression that is the function: maxima and minima of components that tell all parts apart.

Let every part `X` have its set ``A(X)`` of components above the function, every part `Y` its set ``D(Y)`` of
components below (`sides`). An expression of maxima and minima is *at least* the function on `X` if it is true when
the members of ``A(X)`` are true, others false, maximum read as "or" and minimum as "and"; it is *at most* the
function on `Y` if it is false when the members of ``D(Y)`` are false and the others true. So any monotone formula
that is true on all ``A(X)`` and false on the complements of all ``D(Y)`` is the function; max-min and min-max forms
are two of many. The fewest leaves of such a formula are the fewest leaves of a protocol for the game of Karchmer and
Wigderson (1990): a rectangle of rows `X` and columns `Y` is split by rows (a maximum) or columns (a minimum) until
one component is in all ``A(X)`` and ``D(Y)``.

The search is greedy from the top, cuts off what is not needed, and then builds parts of the formula again in other
ways while that makes it smaller. Sets of rows and columns are bits of integers. Random choices come from fixed seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from random import Random

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.blocks.schedule import Affine, Extremum, Kind, Sum, Value

_WORK = 4_000  # looks at components that all tries together may take, for each component
_STARTS = 30  # formulas made from the top
_FINISHED = 2  # of which these share the work of improving
_FURTHER = 6  # more that share a quarter of it: they may share more differences
_PATIENCE = 20  # tries a leaf without success
_SMALL = 100  # leaves of a part that is built again


@dataclass(frozen=True, slots=True, eq=False)
class LatticeFormula:
    """A component, or a maximum or minimum of several formulas of another kind.

    `rows` are the bits of the rows on which it is true, `columns` those of the columns on which it is false; `leaves`
    counts components, `joins` the pairs of formulas that are no components and are joined; `depth`: the fewest layers.
    """

    kind: Kind | None
    parts: tuple[LatticeFormula, ...]
    component: int
    rows: int
    columns: int
    leaves: int
    joins: int
    depth: int

    @property
    def cost(self) -> int:
        """Neurons on a bounded domain, less those that carry the inputs: one a step, two a join."""
        return self.leaves - 1 + self.joins

    def __str__(self) -> str:
        """As it is written.

        >>> str(contenders(np.array([[1, 0, 1], [0, 1, 1]], bool), np.array([[1, 1, 0], [1, 0, 1]], bool), 1)[0])
        'max(0, min(1, 2))'
        """
        if self.kind is None:
            return str(self.component)
        return f"{self.kind}({', '.join(map(str, self.parts))})"


def contenders(
    above: NDArray[np.bool_], below: NDArray[np.bool_], inputs: int, *, work: int | None = None
) -> list[LatticeFormula]:
    """Formulas that are true on all rows of `above` and false off all rows of `below`, the best first.

    Every row of `above` must have a component in common with every row of `below`; a layer costs `inputs` neurons.
    Formulas that are as good may need different numbers of neurons all the same: which components are joined decides
    which differences of them are shared. A deeper one costs no more where another output has as many layers.
    """
    work = _WORK * above.shape[1] if work is None else work
    game = _Game(above, below, Random(0))
    found = [game.solve()]
    for seed in range(_STARTS):
        game.spread = (0.1, 0.2, 0.3)[seed % 3]
        found.append(game.solve())
        if game.looks > work // 4:
            break
    found.sort(key=lambda formula: total_cost(formula, inputs, 0))
    start, better = game.looks, []
    for k, formula in enumerate(found[:_FINISHED], 1):
        better.append(game.improve(formula, start + (work - start) * k // _FINISHED))
    every = [*better, *found]
    start = game.looks
    for k, formula in enumerate(found[_FINISHED : _FINISHED + _FURTHER], 1):
        every.append(game.improve(formula, start + work * k // (4 * _FURTHER)))
    best = min(every, key=lambda formula: total_cost(formula, inputs, 0))
    return [best, *{str(f): f for f in every if f is not best}.values()]


def first_formula(above: NDArray[np.bool_], below: NDArray[np.bool_]) -> LatticeFormula:
    """The formula with which the search of `contenders` starts."""
    return _Game(above, below, Random(0)).solve()


def max_min_rows(above: NDArray[np.bool_], below: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Few rows of few components: the maximum over rows of the minimum over components tells all parts apart.

    Of each ``A(X)`` enough components to have one in every ``D(Y)``, chosen greedily; a common favourite makes rows
    alike. Then what is not needed is cut off.

    >>> max_min_rows(np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]], bool), np.array([[1, 1, 0], [1, 0, 1]], bool))
    [array([0]), array([1, 2])]
    """
    game, rank = _Game(above, below, Random(0)), below.sum(axis=0)
    rows: dict[frozenset[int], None] = {}
    for members in map(np.flatnonzero, above):
        chosen, waiting = list[int](), np.ones(len(below), dtype=bool)
        while waiting.any():
            hits = below[np.ix_(waiting, members)].sum(axis=0)
            chosen.append(int(members[np.lexsort((-rank[members], -hits))[0]]))
            waiting &= ~below[:, chosen[-1]]
        rows[frozenset(chosen)] = None
    minima = [_joined("min", [game.leaf[m] for m in sorted(row, key=lambda m: rank[m])]) for row in rows]
    formula = _joined("max", minima)
    for _ in range(2):  # a row that was cut may do for another
        formula = game.tighten(formula, game.rows, game.columns)
    kept = formula.parts if formula.kind == "max" else (formula,)
    return [np.array(sorted(leaf.component for leaf in part.parts or (part,))) for part in kept]


def _joined(kind: Kind, parts: list[LatticeFormula]) -> LatticeFormula:
    return _combine(kind, parts) if len(parts) > 1 else parts[0]


def total_cost(formula: LatticeFormula, inputs: int, layers: int) -> int:
    """Neurons of a formula in a network with at least that many layers, each of which carries the inputs."""
    return formula.cost + inputs * max(formula.depth, layers)


class _Game:
    """Rows, columns and, for each component, the bits of the rows and columns that have it."""

    def __init__(self, above: NDArray[np.bool_], below: NDArray[np.bool_], random: Random) -> None:
        self.random, self.spread = random, 0.0
        self.rows, self.columns = (1 << len(above)) - 1, (1 << len(below)) - 1
        bits = [[_bits(column) for column in table.T] for table in (above, below)]
        self.leaf = [LatticeFormula(None, (), m, r, c, 1, 0, 0) for m, (r, c) in enumerate(zip(*bits, strict=True))]
        self.looks = 0

    def solve(self) -> LatticeFormula:
        """A formula for all rows and columns."""
        return self.tighten(self._solve(self.rows, self.columns, self.leaf), self.rows, self.columns)

    def _solve(self, rows: int, columns: int, leaves: Sequence[LatticeFormula]) -> LatticeFormula:
        """Steps ``min(f, .)`` with `f` in all rows, or ``max(f, .)`` with `f` in all columns, then a join of two."""
        steps: list[tuple[Kind, LatticeFormula]] = []
        while True:
            leaves, scored, whole = self._look(rows, columns, leaves)
            if whole is not None or not scored:
                break
            _, k, kind = self._pick(scored)
            steps.append((kind, leaves[-k]))
            if kind == "min":
                columns &= ~leaves[-k].columns
            else:
                rows &= ~leaves[-k].rows
        core = self._join(rows, columns, leaves) if whole is None else whole
        for kind, f in reversed(steps):
            core = _combine(kind, (f, core))
        return core

    def _look(
        self, rows: int, columns: int, leaves: Sequence[LatticeFormula]
    ) -> tuple[list[LatticeFormula], list[tuple[float, int, Kind]], LatticeFormula | None]:
        """The components of some rows and columns, those in all rows or in all columns, and one that is in both."""
        kept: list[LatticeFormula] = []
        scored: list[tuple[float, int, Kind]] = []
        whole = None
        height, width = rows.bit_count(), columns.bit_count()
        for f in leaves:
            r, c = f.rows & rows, f.columns & columns
            if r and c:
                if r == rows:
                    if c == columns and whole is None:
                        whole = f
                    scored.append((c.bit_count() / width, -len(kept), "min"))
                elif c == columns:
                    scored.append((r.bit_count() / height, -len(kept), "max"))
                kept.append(f)
        self.looks += len(kept)
        return kept, scored, whole

    def _join(self, rows: int, columns: int, leaves: Sequence[LatticeFormula]) -> LatticeFormula:
        """The largest rectangle of one component, what is left of its longer side, and the rest."""
        height, width = rows.bit_count(), columns.bit_count()
        scored: list[tuple[float, int, Kind]] = []
        for k, f in enumerate(leaves):
            a, b = (f.rows & rows).bit_count() / height, (f.columns & columns).bit_count() / width
            scored.append((a * b, -k, "max" if a >= b else "min"))
        _, k, kind = self._pick(scored)
        f = leaves[-k]
        if kind == "max":
            one = _combine("min", (f, self._solve(rows & f.rows, columns & ~f.columns, leaves)))
            rest = rows & ~one.rows
            return _combine("max", (one, self._solve(rest, columns, leaves))) if rest else one
        one = _combine("max", (f, self._solve(rows & ~f.rows, columns & f.columns, leaves)))
        rest = columns & ~one.columns
        return _combine("min", (one, self._solve(rows, rest, leaves))) if rest else one

    def _pick(self, scored: list[tuple[float, int, Kind]]) -> tuple[float, int, Kind]:
        """The best one, or at random one that is nearly as good."""
        best = max(scored)
        if self.spread == 0:
            return best
        return self.random.choice([s for s in scored if s[0] >= best[0] * (1 - self.spread)])

    def tighten(self, formula: LatticeFormula, rows: int, columns: int) -> LatticeFormula:
        """Without parts that are not needed for these rows and columns."""
        if formula.kind is None:
            return formula
        parts = list(formula.parts)
        for part in sorted(parts, key=lambda f: -f.leaves):
            others = [f for f in parts if f is not part]
            if others and _needed(formula.kind, others, rows, columns) == 0:
                parts = others
        for k in range(len(parts)):
            parts[k] = self.tighten(parts[k], *self._need(formula.kind, parts, k, rows, columns))
        return _joined(formula.kind, parts)

    def _need(self, kind: Kind, parts: list[LatticeFormula], k: int, rows: int, columns: int) -> tuple[int, int]:
        """What part `k` is needed for: rows (of a maximum) or columns (of a minimum) that no other part has."""
        need = _needed(kind, parts[:k] + parts[k + 1 :], rows, columns)
        return (need, columns) if kind == "max" else (rows, need)

    def improve(self, formula: LatticeFormula, limit: int) -> LatticeFormula:
        """The formula with small parts built again, at random, until so many components have been looked at."""
        self.spread = 0.3
        idle = 0
        while self.looks < limit and formula.leaves > 2 and idle < _PATIENCE * formula.leaves:
            before = (formula.cost, formula.depth)
            formula = self._build_again(formula, self.rows, self.columns)
            idle = 0 if (formula.cost, formula.depth) < before else idle + 1
        return self.tighten(formula, self.rows, self.columns)

    def _build_again(self, formula: LatticeFormula, rows: int, columns: int) -> LatticeFormula:
        """The formula with one part, or itself, built again; the same if that is no better."""
        inner = [k for k, part in enumerate(formula.parts) if part.leaves > 2]
        if inner and (formula.leaves > _SMALL or self.random.random() < 0.7):
            assert formula.kind is not None
            parts = list(formula.parts)
            k = self.random.choices(inner, [parts[k].leaves for k in inner])[0]
            need = self._need(formula.kind, parts, k, rows, columns)
            if not all(need):
                del parts[k]  # nothing needs it any more
                return _joined(formula.kind, parts)
            parts[k] = self._build_again(parts[k], *need)
            return formula if parts[k] is formula.parts[k] else _combine(formula.kind, parts)
        other = self.tighten(self._solve(rows, columns, self.leaf), rows, columns)
        return other if (other.cost, other.depth) <= (formula.cost, formula.depth) else formula


def _needed(kind: Kind, parts: Sequence[LatticeFormula], rows: int, columns: int) -> int:
    """The rows on which no part of a maximum is true, or the columns on which no part of a minimum is false."""
    if kind == "max":
        return rows & ~reduce(or_, (f.rows for f in parts), 0)
    return columns & ~reduce(or_, (f.columns for f in parts), 0)


def _combine(kind: Kind, parts: Sequence[LatticeFormula]) -> LatticeFormula:
    """The maximum or minimum, parts of the same kind taken apart."""
    flat = tuple(g for f in parts for g in (f.parts if f.kind == kind else (f,)))
    some, every = (or_, and_) if kind == "max" else (and_, or_)
    rows, columns = reduce(some, (f.rows for f in flat)), reduce(every, (f.columns for f in flat))
    inner = sum(f.kind is not None for f in flat)
    joins = max(inner - 1, 0) + sum(f.joins for f in flat)
    # Parts done after `d` layers are joined in `t` iff all ``2^d`` together are at most ``2^t``.
    fewest = (sum(1 << f.depth for f in flat) - 1).bit_length()
    return LatticeFormula(kind, flat, -1, rows, columns, sum(f.leaves for f in flat), joins, fewest)


def _bits(column: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little")


# Expressions of maxima and minima, put into an order of computation: what is joined with what, in how many layers.
#
# A `Value` is an affine function, the maximum or minimum of two values, or a sum. ``max(a, b) = a + s(b - a)`` takes
# one neuron, and nothing else if `a` is affine, since all affine functions pass a layer together; if neither is affine
# one of the two has to be carried beside. So components are best added one at a time, to as many values in parallel as
# there are; but every layer costs the neurons that carry the affine functions. `arrange` keeps to a number of layers
# with as few joins of two values that are not affine as it takes.


def arrange(formula: LatticeFormula, laws: Sequence[Affine], layers: int) -> Value:
    """The formula as a value that is done after at most that number of layers, or as few as it takes if that is more.

    >>> formula = first_formula(np.eye(4, dtype=bool), np.ones((1, 4), dtype=bool))
    >>> x = [Affine((m, 0)) for m in range(4)]
    >>> depth(arrange(formula, x, 3)), depth(arrange(formula, x, 2))
    (3, 2)
    """
    if formula.kind is None:
        return laws[formula.component]
    ordered = sorted(formula.parts, key=lambda part: (-part.depth, -part.leaves))
    return _join(formula.kind, ordered, [2**part.depth for part in ordered], laws, max(layers, formula.depth))


def depth(value: Value) -> int:
    """After how many layers it is done."""
    if isinstance(value, Extremum):
        return 1 + max(depth(value.one), depth(value.two))
    return max((depth(term) for _, term in value.terms), default=0) if isinstance(value, Sum) else 0


def _join(kind: Kind, parts: list[LatticeFormula], need: list[int], laws: Sequence[Affine], layers: int) -> Value:
    """The parts, deepest first, joined within the layers: a component last while the others can be done before."""
    if len(parts) == 1:
        return arrange(parts[0], laws, layers)
    half = 2 ** (layers - 1)
    if parts[-1].kind is None and sum(need[:-1]) <= half:
        last = laws[parts[-1].component]
        return Extremum(kind, last, _join(kind, parts[:-1], need[:-1], laws, layers - 1))
    # Powers of two in falling order fill one half exactly; components go where there is room, so that few are joined.
    cut, filled = 1, need[0]
    while cut < len(parts) - 1 and filled + need[cut] <= half:
        filled += need[cut]
        cut += 1
    one, two = ((parts[s], need[s]) for s in (slice(0, cut), slice(cut, None)))
    return Extremum(kind, _join(kind, *one, laws, layers - 1), _join(kind, *two, laws, layers - 1))
