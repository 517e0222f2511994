"""Exact laws from one system: all relations in which hyperplanes go straight through others, solved at once.

A jump is a number times the row of its line (`lines`). Rows of lines that end nowhere on others are free; where a line
is bent at another its row changes by a multiple of that one's. With all rows expressed by free ones, the *symbols*, laws
and numbers of jumps satisfy linear equations with short coefficients (`formal`): ``f_a - f_b = x r`` for each jump on a
line, ``f1 - f2 + f3 - f4 = 0`` for each crossing, and for parallel facets of an unbounded region ``f_a - f_b = x r + y``
with the row of their direction. Networks of ReLUs satisfy all of them formally: a line is a neuron in one cell of the
layers before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.function.snap.complex import Unfit
from cpwl.function.snap.formal import Form, Formal
from cpwl.function.snap.lines import Joint, Lines, lines_of, sign, sort
from cpwl.function.snap.relations import Relation
from cpwl.function.snap.short import Short

__all__ = ["solve_system"]

_Floats = NDArray[np.float64]
_Law = list[Fraction]
_Pair = tuple[int, int]
_Row = dict[int, Fraction]
"""A row as a sum of symbols."""
_Vectors = dict[int, Fraction]


def solve_system(near: _Floats, relations: Sequence[Relation], weight: _Floats, little: float) -> list[_Law]:
    """Laws near floats that satisfy the relations, or `Unfit`; `near` should satisfy them but for rounding."""
    rows = _Rows(near, relations, weight, little)
    rows.express()
    return _laws(rows)


@dataclass(eq=False)
class _Numbers:
    """Unknown numbers: floats near them, and how fine they must be."""

    near: list[float] = field(default_factory=list)
    fine: list[float] = field(default_factory=list)

    def new(self, near: float, fine: float) -> int:
        self.near.append(near)
        self.fine.append(fine)
        return len(self.near) - 1


class _Rows:
    """The rows of lines, in floats and as sums of symbols."""

    def __init__(self, near: _Floats, relations: Sequence[Relation], weight: _Floats, little: float) -> None:
        self.near, self.relations, self.weight, self.little = near, relations, weight, little
        self.lines: Lines = lines_of(relations)
        self.scale = float(np.abs(near * weight).max())
        self.short = Short(1e-3 * little, 2.0**-54 * self.scale)
        self.one = np.append(np.zeros(len(weight) - 1), 1.0)
        self.symbols: list[_Law] = [[Fraction(int(x)) for x in self.one]]  # the constant 1 is the first
        self.view: dict[int, _Floats] = {}
        self.row: dict[int, _Row] = {}
        self.pairs: dict[int, list[_Pair]] = {}
        for pair, line in self.lines.line.items():
            self.pairs.setdefault(line, []).append(pair)

    def jump(self, pair: _Pair) -> _Floats:
        return np.asarray(self.near[pair[0]] - self.near[pair[1]])

    def size(self, row: _Floats) -> float:
        return float(np.abs(row * self.weight).max())

    def share(self, vector: _Floats, row: _Floats) -> float:
        """The multiple of a row that is nearest to a vector."""
        row, vector = row * self.weight, vector * self.weight
        return float(row @ vector / (row @ row))

    def express(self) -> None:
        """Rows for all lines that are straight, and for those that are bent into such; in the order of levels."""
        inner, chains = self._chains()
        done: set[int] = set()
        while len(done) < len(chains):
            ready = [
                k for k in range(len(chains)) if k not in done and all(self._line(j) in self.row for j in inner[k])
            ]
            if not ready:
                raise Unfit("hyperplanes are bent at each other in a circle")
            for k in ready:
                self._express(chains[k], inner[k])
                done.add(k)

    def _line(self, joint: Joint) -> int:
        return self.lines.line[sort(joint.line)]

    def _chains(self) -> tuple[list[list[Joint]], list[list[int]]]:
        """The lines in groups joined by bends, those with a straight line; and the bends of each group."""
        lines, group = self.lines, list(range(len(self.pairs)))

        def find(k: int) -> int:
            while group[k] != k:
                group[k] = group[group[k]]
                k = group[k]
            return k

        for joint in lines.joints:
            group[find(lines.line[sort(joint.one)])] = find(lines.line[sort(joint.two)])
        wanted = {find(line) for line in lines.straight}
        members: dict[int, list[int]] = {}
        for line in range(len(group)):
            if find(line) in wanted:
                members.setdefault(find(line), []).append(line)
        inner: dict[int, list[Joint]] = {k: [] for k in members}
        for joint in lines.joints:
            one, two = lines.line[sort(joint.one)], lines.line[sort(joint.two)]
            if find(one) in inner and one != two:
                inner[find(one)].append(joint)
        return list(inner.values()), list(members.values())

    def _express(self, chain: list[int], joints: list[Joint]) -> None:
        """Rows for a chain of lines: one is a symbol, others differ from it by multiples of rows that are known."""
        root = max(chain, key=lambda line: max(self.size(self.jump(pair)) for pair in self.pairs[line]))
        self.view[root] = self._unit(root)
        self._normalize(root, joints)
        numbers = _Numbers()
        ends = [(self.lines.line[sort(j.one)], self.lines.line[sort(j.two)], self._line(j)) for j in joints]
        for one, two, line in ends:
            step = self.share(self.view[two] - self.view[one], self.view[line])
            numbers.new(step, 2.0**-54 * self.size(self.view[root]) / self.size(self.view[line]))
        largest = max(self.size(self.jump(pair)) for line in chain for pair in self.pairs[line])
        slack = 100 * self.little * self.size(self.view[root]) / largest
        system = Formal(np.array(numbers.near), self.symbols, self.sizes(), slack)
        for k, (one, two, line) in enumerate(ends):
            system.add({two: Fraction(1), one: Fraction(-1)}, {(s, k): -x for s, x in self.row[line].items()})
        steps = system.numbers(lambda k: self.short.number(numbers.near[k], numbers.fine[k]))
        self.row[root] = self._symbol(root)
        self._walk(root, ends, steps)

    def sizes(self) -> _Floats:
        """How large each symbol counts."""
        return np.array([self.size(np.array(symbol, dtype=np.float64)) for symbol in self.symbols])

    def _unit(self, line: int) -> _Floats:
        """The row of a line in floats, from its largest jump, scaled to a largest slope of 1."""
        largest = self.jump(max(self.pairs[line], key=lambda pair: self.size(self.jump(pair))))
        steepest = largest[int(np.argmax(np.abs(largest[:-1])))]
        if steepest == 0:
            raise Unfit("two laws that meet differ by a constant")
        return np.asarray(largest / steepest)

    def _normalize(self, root: int, joints: list[Joint]) -> None:
        """Float rows of a chain, scaled such that at a bend the numbers on both sides are equal."""
        near: dict[int, list[tuple[_Pair, _Pair]]] = {}
        for joint in joints:
            for one, two in ((joint.one, joint.two), (joint.two, joint.one)):
                near.setdefault(self.lines.line[sort(one)], []).append((one, two))
        waiting = deque([root])
        while waiting:
            line = waiting.popleft()
            for one, two in near.get(line, []):
                other = self.lines.line[sort(two)]
                if other not in self.view:
                    self.view[other] = self.jump(two) / self.share(self.jump(one), self.view[line])
                    waiting.append(other)

    def _symbol(self, line: int) -> _Row:
        """The row of a line as a symbol of its own, or by one that is equal or parallel to it."""
        view = self.view[line]
        for s, symbol in enumerate(self.symbols[1:], start=1):
            known = np.array(symbol, dtype=np.float64)
            factor = view[:-1] @ known[:-1] / (known[:-1] @ known[:-1])
            if np.abs(view[:-1] - factor * known[:-1]).max() <= 1e-9 * np.abs(view[:-1]).max():
                apart = view[-1] - factor * known[-1]
                self.view[line] = view / factor
                if abs(apart) <= 1e2 * self.little / self.scale * self.size(view):
                    return {s: Fraction(1)}
                return {s: Fraction(1), 0: self.short.number(apart / factor, 2.0**-54 * self.size(view / factor))}
        self.symbols.append(self.short.vector(view, 2.0**-54 * self.size(view) / self.weight))
        return {len(self.symbols) - 1: Fraction(1)}

    def _walk(self, root: int, ends: list[tuple[int, int, int]], steps: list[Fraction]) -> None:
        near: dict[int, list[tuple[int, int, Fraction]]] = {}
        for (one, two, line), step in zip(ends, steps, strict=True):
            near.setdefault(one, []).append((two, line, step))
            near.setdefault(two, []).append((one, line, -step))
        waiting = deque([root])
        while waiting:
            here = waiting.popleft()
            for other, line, step in near.get(here, []):
                if other not in self.row:
                    row = dict(self.row[here])
                    for s, x in self.row[line].items():
                        row[s] = row.get(s, Fraction(0)) + step * x
                    self.row[other] = {s: x for s, x in row.items() if x}
                    waiting.append(other)


def _laws(rows: _Rows) -> list[_Law]:
    """The laws: equations for jumps on lines with rows, for crossings, for parallel facets."""
    lines, numbers = rows.lines, _Numbers()
    number: dict[int, int] = {}
    equations: list[tuple[_Vectors, Form]] = []
    same = _classes(rows)
    for pair, line in lines.line.items():
        if line not in rows.row:
            continue
        class_, turn = same[lines.equal[pair][0]]
        turn *= lines.equal[pair][1]
        if class_ not in number:
            share = turn * rows.share(rows.jump(pair), rows.view[line])
            number[class_] = numbers.new(share, 2.0**-54 * rows.scale / rows.size(rows.view[line]))
        form = {(s, number[class_]): -turn * x for s, x in rows.row[line].items()}
        equations.append(({pair[0]: Fraction(1), pair[1]: Fraction(-1)}, form))
    for relation in rows.relations:
        if relation.kind == "cross":
            equations.append((_sum_of(relation.laws), {}))
        elif relation.kind == "parallel":
            equations += _parallel(rows, relation.laws, numbers)
    system = Formal(np.array(numbers.near), rows.symbols, rows.sizes(), 100 * rows.little)
    for vectors, form in equations:
        system.add(vectors, form)
    found = system.numbers(lambda k: rows.short.number(numbers.near[k], numbers.fine[k]))
    fine = 2.0**-54 * rows.scale / rows.weight
    return system.vectors(len(rows.near), found, lambda k: rows.short.vector(rows.near[k], fine))


def _sum_of(ring: tuple[int, ...]) -> _Vectors:
    """``f1 - f2 + f3 - f4``; a law may be in it twice."""
    found: _Vectors = {}
    for k, law in enumerate(ring):
        found[law] = found.get(law, Fraction(0)) + (-1) ** k
    return found


def _classes(rows: _Rows) -> dict[int, tuple[int, int]]:
    """Classes of jumps on lines with rows, those on the two sides of a bend as one, up to sign."""
    lines = rows.lines
    parent = {k: (k, 1) for k, _ in lines.equal.values()}

    def find(k: int) -> tuple[int, int]:
        turn = 1
        while parent[k][0] != k:
            k, more = parent[k]
            turn *= more
        return k, turn

    for joint in lines.joints:
        if lines.line[sort(joint.one)] in rows.row:
            (p, s), (q, t) = (lines.equal[sort(pair)] for pair in (joint.one, joint.two))
            (p, u), (q, v) = find(p), find(q)
            if p != q:
                parent[p] = (q, s * t * u * v * sign(joint.one) * sign(joint.two))
    return {k: find(k) for k in parent}


def _parallel(rows: _Rows, laws: tuple[int, ...], numbers: _Numbers) -> list[tuple[_Vectors, Form]]:
    """Three laws with parallel facets: their differences along the row of one line, or of one another, and constants."""
    pairs = [(laws[0], laws[1]), (laws[0], laws[2])]
    free = [pair for pair in pairs if rows.lines.line.get(pair, -1) not in rows.row]
    first, second = sorted(pairs, key=lambda pair: np.abs(rows.jump(pair)[:-1]).max())
    line = _along(rows, rows.jump(second))
    if line is None:
        ratio = _slope_share(rows.jump(first), rows.jump(second))
        step = rows.jump(first) - ratio * rows.jump(second)
        y = numbers.new(float(step[-1]), 2.0**-54 * rows.scale)
        exact = rows.short.number(ratio, 2.0**-54)
        vectors: _Vectors = {first[1]: Fraction(-1), second[1]: exact}
        vectors[laws[0]] = 1 - exact
        return [(vectors, {(0, y): Fraction(-1)})] if free else []
    view, found = rows.view[line], []
    for pair in free:
        jump = rows.jump(pair)
        share = _slope_share(jump, view)
        x = numbers.new(share, 2.0**-54 * rows.scale / rows.size(view))
        y = numbers.new(float(jump[-1] - share * view[-1]), 2.0**-54 * rows.scale)
        form = {(s, x): -part for s, part in rows.row[line].items() if s}
        # The row's own constant may as well be part of the free one.
        numbers.near[y] += share * float(rows.row[line].get(0, Fraction(0)))
        found.append(({pair[0]: Fraction(1), pair[1]: Fraction(-1)}, {**form, (0, y): Fraction(-1)}))
    return found


def _slope_share(jump: _Floats, row: _Floats) -> float:
    return float(jump[:-1] @ row[:-1] / (row[:-1] @ row[:-1]))


def _along(rows: _Rows, jump: _Floats) -> int | None:
    """A line whose row is parallel to a jump."""
    for line, view in rows.view.items():
        off = jump[:-1] - _slope_share(jump, view) * view[:-1]
        if np.abs(off).max() <= 1e-9 * np.abs(jump[:-1]).max():
            return line
    return None
