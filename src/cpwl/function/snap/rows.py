"""Exact rows for lines of jumps: free ones, the *symbols*, and those that are bent at others, as sums of symbols.

A line that is bent at no other has a free row. Lines joined by bends are a chain: at a bend with the line of row `r`
the row changes by a multiple of `r`, so a chain has one free row and a number for each bend, such that the multiples
add up to 0 around every circle. Rows are scaled such that the two jumps at a bend have the same number.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cpwl.function.snap.complex import Unfit
from cpwl.function.snap.formal import Dependent, Form, Formal
from cpwl.function.snap.lines import Joint, Lines, sort
from cpwl.function.snap.short import FINE, Numbers, short

__all__ = ["Rows", "slope_share"]

_Floats = NDArray[np.float64]
_Law = list[Fraction]
_Pair = tuple[int, int]
_Row = dict[int, Fraction]
_Any = TypeVar("_Any")
_MOST = 20_000  # sets of rows that are looked through
_SAME = 1e-7  # numbers of bends that differ by less, relative, are meant to be equal
_PARALLEL = 1e-9  # slopes that differ by less, relative, are meant to be parallel


class Rows:
    """The rows of lines, in floats (`view`) and as sums of symbols (`row`); the constant 1 is the first symbol."""

    def __init__(
        self, near: _Floats, lines: Lines, weight: _Floats, little: float, snug: float, independent: bool = False
    ) -> None:
        self.near, self.lines, self.weight, self.little, self.snug = near, lines, weight, little, snug
        self.independent = independent
        self.symbols: list[_Law] = [[Fraction(0)] * (len(weight) - 1) + [Fraction(1)]]
        self.view: dict[int, _Floats] = {}
        self.row: dict[int, _Row] = {}
        self.chain: dict[int, int] = {}
        self.pairs: dict[int, list[_Pair]] = {}
        for pair, line in lines.line.items():
            self.pairs.setdefault(line, []).append(pair)

    def jump(self, pair: _Pair) -> _Floats:
        return np.asarray(self.near[pair[0]] - self.near[pair[1]])

    def size(self, row: _Floats) -> float:
        """How large a row counts."""
        return float(np.abs(row * self.weight).max())

    def sizes(self) -> _Floats:
        """How large each symbol counts."""
        return np.array([self.size(np.array(symbol, dtype=np.float64)) for symbol in self.symbols])

    def share(self, vector: _Floats, row: _Floats) -> float:
        """The multiple of a row that is nearest to a vector."""
        row, vector = row * self.weight, vector * self.weight
        return float(row @ vector / (row @ row))

    def along(self, jump: _Floats) -> tuple[int, ...] | None:
        """The fewest lines with known rows whose slopes span that of a jump, less than there are dimensions."""
        lines = list(self.row)
        slopes = np.array([self.view[line][:-1] for line in lines]).reshape(-1, len(jump) - 1)
        for size in range(1, len(jump) - 1):
            known = lines if size == 1 else [line for line in lines if len(self.row[line]) == 1]
            found = _spanning(slopes[[lines.index(line) for line in known]], jump[:-1], size)
            if found is not None:
                return tuple(known[k] for k in found)
        return None

    def express(self, everything: bool, unbounded: bool) -> None:
        """Rows for lines that are straight, for those that are bent into such, or for all; in the order of levels.

        Rows that far out meet others, in `unbounded` pieces, are to do so still.
        """
        inner, chains = self._chains(everything)
        waiting = list(range(len(chains)))
        while waiting:
            ready = [k for k in waiting if all(self._line(joint) in self.row for joint in inner[k])]
            if not ready:
                raise Unfit("hyperplanes are bent at each other in a circle")
            for k in ready:
                self.resolved(partial(self._express, chains[k], inner[k], unbounded))
            waiting = [k for k in waiting if k not in set(ready)]

    def resolved(self, step: Callable[[], _Any]) -> _Any:
        """What a step finds once all symbols that it shows to depend on others are written as these."""
        for _ in self.symbols:
            try:
                return step()
            except Dependent as found:
                if not self._substitute(found.share):
                    raise
        return step()

    def _substitute(self, share: dict[int, Fraction]) -> bool:
        """Writes the symbol that counts most in a combination that is 0 as what the others make of it, if one does."""
        sizes = self.sizes()
        last = max(share, key=lambda s: (s > 0) * abs(float(share[s])) * sizes[s], default=0)
        if last == 0:
            return False
        instead = {s: -x / share[last] for s, x in share.items() if s != last}
        for row in self.row.values():
            part = row.pop(last, Fraction(0))
            for s, x in instead.items() if part else ():
                row[s] = row.get(s, Fraction(0)) + part * x
                if not row[s]:
                    del row[s]
        return True

    def _line(self, joint: Joint) -> int:
        return self.lines.line[sort(joint.line)]

    def _chains(self, everything: bool) -> tuple[list[list[Joint]], list[list[int]]]:
        """The bends of each group of lines that they join, and the groups: all, or those with a straight line."""
        lines, group = self.lines, list(range(len(self.pairs)))

        def find(k: int) -> int:
            while group[k] != k:
                group[k] = group[group[k]]
                k = group[k]
            return k

        for joint in lines.joints:
            group[find(lines.line[sort(joint.one)])] = find(lines.line[sort(joint.two)])
        wanted = {find(line) for line in (range(len(group)) if everything else lines.straight)}
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

    def _express(self, chain: list[int], joints: list[Joint], unbounded: bool) -> None:
        """Rows for a chain of lines: one is a symbol, others differ from it by multiples of rows that are known."""
        root = max(chain, key=lambda line: max(self.size(self.jump(pair)) for pair in self.pairs[line]))
        self.view[root] = self._unit(root)
        self._normalize(root, chain)
        numbers, equations = Numbers(self.snug), []
        steps: dict[int, list[tuple[int, float]]] = {}
        fine = FINE * self.size(self.view[root])
        for joint in joints:
            one, two, line = self.lines.line[sort(joint.one)], self.lines.line[sort(joint.two)], self._line(joint)
            step = self.share(self.view[two] - self.view[one], self.view[line])
            x, turn = self._step(step, self.chain[line], steps, numbers, fine / self.size(self.view[line]))
            form = {(s, x): -turn * part for s, part in self.row[line].items()}
            equations.append(({two: Fraction(1), one: Fraction(-1)}, form))
        for other in chain if joints and unbounded else ():
            known = self.along(self.view[other])
            if known is not None:
                form = self.parallel_form(self.view[other], known, numbers, fine)
                equations.append(({other: Fraction(1)}, form))
        largest = max(self.size(self.jump(pair)) for line in chain for pair in self.pairs[line])
        slack = 100 * self.little * self.size(self.view[root]) / largest
        system = Formal(numbers.near, self.symbols, self.sizes(), slack, numbers.chosen if self.independent else None)
        for vectors, form in equations:
            system.add(vectors, form)
        found = system.numbers(numbers.chosen)
        rows = system.sums(sorted(chain, key=lambda line: line != root), found, self._symbol)
        self.row.update(rows)
        self.chain.update(dict.fromkeys(chain, root))

    def _step(
        self, step: float, chain: int, known: dict[int, list[tuple[int, float]]], numbers: Numbers, fine: float
    ) -> tuple[int, int]:
        """The number of a bend, and its sign: the same wherever one chain is bent at another by as much."""
        for k, other in known.setdefault(chain, []):
            if abs(abs(step) - abs(other)) <= _SAME * abs(other):
                return k, 1 if step * other > 0 else -1
        known[chain].append((numbers.new(step, fine), step))
        return known[chain][-1][0], 1

    def parallel_form(self, jump: _Floats, lines: tuple[int, ...], numbers: Numbers, fine: float) -> Form:
        """``-(x_1 r_1 + .. + y)`` with new numbers, `r` the rows of some lines without their constants."""
        views = np.array([self.view[line] for line in lines])
        shares = np.linalg.lstsq(views[:, :-1].T, jump[:-1], rcond=None)[0]
        form, rest = {}, jump[-1]
        for line, view, share in zip(lines, views, shares.tolist(), strict=True):
            x = numbers.new(share, fine / self.size(view))
            rest -= share * (view[-1] - float(self.row[line].get(0, Fraction(0))))
            for s, part in self.row[line].items():
                if s:
                    form[s, x] = -part
        form[0, numbers.new(float(rest), fine)] = Fraction(-1)
        return form

    def _unit(self, line: int) -> _Floats:
        """The row of a line in floats, from its largest jump, scaled to a largest slope of 1."""
        largest = self.jump(max(self.pairs[line], key=lambda pair: self.size(self.jump(pair))))
        steepest = largest[int(np.argmax(np.abs(largest[:-1])))]
        if steepest == 0:
            raise Unfit("two laws that meet differ by a constant")
        return np.asarray(largest / steepest)

    def _normalize(self, root: int, chain: list[int]) -> None:
        """Float rows of a chain, scaled such that the numbers of jumps in one class are equal; by large jumps first."""
        jumps: dict[int, list[tuple[float, _Pair, int, int]]] = {}
        on: dict[int, list[int]] = {line: [] for line in chain}
        for line in chain:
            for pair in self.pairs[line]:
                class_, turn = self.lines.number[pair]
                jumps.setdefault(class_, []).append((self.size(self.jump(pair)), pair, line, turn))
                on[line].append(class_)
        done: set[int] = set()
        heap = [(-self.size(self.jump(pair)), self.lines.number[pair][0]) for pair in self.pairs[root]]
        heapq.heapify(heap)
        while heap:
            _, class_ = heapq.heappop(heap)
            if class_ in done:
                continue
            done.add(class_)
            some = sorted(jumps[class_], reverse=True)
            pair, line, turn = next(entry[1:] for entry in some if entry[2] in self.view)
            number = turn * self.share(self.jump(pair), self.view[line])
            for _, pair, line, turn in some:
                if line not in self.view:
                    self.view[line] = turn * self.jump(pair) / number
                    for other in on[line]:
                        heapq.heappush(heap, (-max(x for x, _, place, _ in jumps[other] if place == line), other))

    def _symbol(self, line: int) -> _Row:
        """The row of a line that is free: a symbol of its own, or by one that is equal or parallel to it."""
        view = self.view[line]
        fine = FINE * self.size(view)
        for s, symbol in enumerate(self.symbols[1:], start=1):
            known = np.array(symbol, dtype=np.float64)
            factor = slope_share(view, known)
            if np.abs(view[:-1] - factor * known[:-1]).max() <= _PARALLEL * np.abs(view[:-1]).max():
                exact = short(factor, FINE * self.size(view) / self.size(known), self.snug)
                apart = short(view[-1] - float(exact) * known[-1], fine, self.snug)
                small = abs(apart) <= 100 * self.little * self.size(view) / self.size(self.near)
                return {s: exact} if small else {s: exact, 0: apart}
        self.symbols.append([short(x, fine / w, self.snug) for x, w in zip(view, self.weight, strict=True)])
        return {len(self.symbols) - 1: Fraction(1)}


def slope_share(jump: _Floats, row: _Floats) -> float:
    """The multiple of a row whose slopes are nearest to those of a jump."""
    return float(jump[:-1] @ row[:-1] / (row[:-1] @ row[:-1]))


def _spanning(slopes: _Floats, wanted: _Floats, size: int) -> tuple[int, ...] | None:
    """Numbers of so many slopes that span one that is wanted, if there are such; the first found."""
    sets = np.array(list(itertools.combinations(range(len(slopes)), size)), dtype=np.int64).reshape(-1, size)
    if len(sets) == 0 or len(sets) > _MOST:
        return None
    basis = slopes[sets] / np.linalg.norm(slopes[sets], axis=2, keepdims=True)
    gram = basis @ basis.transpose(0, 2, 1)
    apart = np.linalg.det(gram) > 1e-10
    share = np.linalg.solve(np.where(apart[:, None, None], gram, np.eye(size)), basis @ wanted[:, None])
    off = np.abs(wanted - (share * basis).sum(axis=1)).max(axis=1)
    fits = np.flatnonzero(apart & (off <= _PARALLEL * np.abs(wanted).max()))
    return tuple(sets[fits[0]].tolist()) if len(fits) else None
