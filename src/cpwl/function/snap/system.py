"""Exact laws from one system: all relations in which hyperplanes go straight through others, solved at once.

A jump is a number times the row of its line (`lines`, `rows`). Laws and numbers of jumps satisfy linear equations with
short coefficients (`formal`): ``f_a - f_b = x r`` for each jump on a line with the row `r`, ``f1 - f2 + f3 - f4 = 0``
for each crossing. Facets of unbounded regions may meet far out, as parallel ones do: the slope of a jump is then in the
span of fewer others than there are dimensions, ``f_a - f_b = x_1 r_1 + .. + y``. Networks of ReLUs satisfy all of them
whatever their rows are: a line is a neuron in one cell of the layers before it.

Where several outputs bend on one facet the jump has a row, and only its number differs from output to output.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import linked
from cpwl.function.snap.complex import Unfit
from cpwl.function.snap.relations import Joint, Lines, Relation, lines_of, sort
from cpwl.function.snap.short import FINE, Numbers, short

_Law = list[Fraction]
_Floats = NDArray[np.float64]
# Exact rows for lines of jumps: free ones, the *symbols*, and those that are bent at others, as sums of symbols.
#
# A line that is bent at no other has a free row. Lines joined by bends are a chain: at a bend with the line of row `r`
# the row changes by a multiple of `r`, so a chain has one free row and a number for each bend, such that the multiples
# add up to 0 around every circle. Rows are scaled such that the two jumps at a bend have the same number.


# Linear equations among vectors that are sums of numbers times known vectors, solved as if these were independent.
#
# Unknown are vectors ``u_k`` and numbers ``x_c``; an equation is ``sum a_k u_k + sum b_sc x_c s = 0`` with known
# vectors `s`, the symbols. Vectors are eliminated first. An equation without any is ``sum_s (sum_c b_sc x_c) s = 0``,
# and it holds if every bracket is 0: equations in numbers whose coefficients do not depend on the symbols at all. So
# what is free can be any short number nearby, and what is not free is a short sum of products of such. That brackets
# are 0 is more than is asked for; whether they are so, within rounding, floats tell. Where they are not, the symbols
# are dependent: either their coordinates give the equations, or one symbol is taken for what it is in terms of the
# others, and everything begins anew (`Dependent`).


_Vector = list[Fraction]
_Sums = dict[int, dict[int, Fraction]]
_Key = TypeVar("_Key")
_Choice = Callable[[int], Fraction]
Form = dict[tuple[int, int], Fraction]
"""``{(s, c): b}`` is the sum of ``b x_c s``, by numbers of symbols and of unknown numbers."""


class Dependent(Unfit):
    """Symbols of which a combination is 0 but for rounding: ``sum share[s] s = 0``."""

    def __init__(self, share: dict[int, Fraction]) -> None:
        super().__init__("hyperplanes that were taken for free depend on each other")
        self.share = share


class Formal:
    """A system of such equations; `numbers` are floats near the unknown ones.

    `size[s]` is how large a symbol counts, and `slack` what may be left of an equation that is meant. With `chosen`,
    which says what numbers are to be if they are free, symbols must be independent.
    """

    def __init__(
        self,
        numbers: _Floats,
        symbols: list[_Vector],
        size: _Floats,
        slack: float,
        chosen: _Choice | None = None,
    ) -> None:
        self.near, self.symbols, self.size, self.slack = numbers, symbols, size, slack
        self.chosen = chosen
        self._vectors: dict[int, tuple[dict[int, Fraction], Form]] = {}
        self._numbers: dict[int, dict[int, Fraction]] = {}

    def add(self, vectors: Mapping[int, Fraction], form: Form) -> None:
        """One more equation; raises `Unfit` if it does not hold near the floats."""
        left, rest = self._reduced(vectors, form)
        if left:
            pivot = _pivot(left)
            unit = -left.pop(pivot)
            self._vectors[pivot] = (
                {k: x / unit for k, x in left.items()},
                {key: x / unit for key, x in rest.items()},
            )
            return
        brackets: dict[int, dict[int, Fraction]] = {}
        for (symbol, number), x in rest.items():
            brackets.setdefault(symbol, {})[number] = x
        left_over = {s: abs(sum(float(x) * self.near[c] for c, x in row.items())) for s, row in brackets.items()}
        dependent = sum(off * self.size[s] > self.slack for s, off in left_over.items())
        if not dependent:
            for row in brackets.values():
                self._bracket(row)
        elif self.chosen is not None and dependent > 1:
            numbers = self.numbers(self.chosen)
            share = {s: sum((x * numbers[c] for c, x in row.items()), Fraction(0)) for s, row in brackets.items()}
            raise Dependent({s: x for s, x in share.items() if x})
        else:
            self._coordinates(brackets)

    def _coordinates(self, brackets: dict[int, dict[int, Fraction]]) -> None:
        """An equation of dependent symbols, coordinate by coordinate."""
        views = np.array([[float(x) for x in symbol] for symbol in self.symbols])
        weight = self.size.max() / np.abs(views).max(axis=0, initial=1e-300)
        for t in range(len(self.symbols[0])):
            row: dict[int, Fraction] = {}
            for symbol, part in brackets.items():
                _add(row, part, self.symbols[symbol][t])
            off = abs(sum(float(x) * self.near[c] for c, x in row.items()))
            if off * weight[t] > 10 * self.slack:
                raise Unfit("jumps of laws do not add up around the places where they meet")
            self._bracket(row)

    def _reduced(self, vectors: Mapping[int, Fraction], form: Form) -> tuple[dict[int, Fraction], Form]:
        """The equation with all vectors replaced that are known in terms of others."""
        left, rest = {k: x for k, x in vectors.items() if x}, dict(form)
        while known := [k for k in left if k in self._vectors]:
            for k in known:
                share, (others, more) = left.pop(k, Fraction(0)), self._vectors[k]  # others may have cancelled it
                _add(left, others, share)
                _add(rest, more, share)
        return left, rest

    def _bracket(self, row: dict[int, Fraction]) -> None:
        while known := [c for c in row if c in self._numbers]:
            for c in known:
                _add(row, self._numbers[c], row.pop(c, Fraction(0)))
        if row:
            pivot = _pivot(row)
            unit = -row.pop(pivot)
            self._numbers[pivot] = {c: x / unit for c, x in row.items()}

    def numbers(self, chosen: Callable[[int], Fraction]) -> list[Fraction]:
        """The unknown numbers; those that are free as `chosen`."""
        found: dict[int, Fraction] = {c: chosen(c) for c in range(len(self.near)) if c not in self._numbers}
        for c, row in reversed(self._numbers.items()):  # what is in a later row was not known to an earlier one
            found[c] = sum((x * found[k] for k, x in row.items()), Fraction(0))
        return [found[c] for c in range(len(self.near))]

    def vectors(self, count: int, numbers: list[Fraction], chosen: Callable[[int], _Vector]) -> list[_Vector]:
        """The unknown vectors; those that are free as `chosen`."""
        found: dict[int, _Vector] = {k: chosen(k) for k in range(count) if k not in self._vectors}
        for k, (others, form) in reversed(self._vectors.items()):
            terms = [(x, found[other]) for other, x in others.items()]
            terms += [(x * numbers[c], self.symbols[s]) for (s, c), x in form.items()]
            found[k] = [sum((x * v[t] for x, v in terms), Fraction(0)) for t in range(len(self.symbols[0]))]
        return [found[k] for k in range(count)]

    def sums(self, which: list[int], numbers: list[Fraction], symbol: Callable[[int], dict[int, Fraction]]) -> _Sums:
        """The unknown vectors as sums of symbols; `symbol` says what those that are free are to be."""
        found: _Sums = {k: symbol(k) for k in which if k not in self._vectors}
        for k, (others, form) in reversed(self._vectors.items()):
            row: dict[int, Fraction] = {}
            for other, x in others.items():
                _add(row, found[other], x)
            for (s, c), x in form.items():
                _add(row, {s: x}, numbers[c])
            found[k] = row
        return found


def _add(row: dict[_Key, Fraction], more: Mapping[_Key, Fraction], share: Fraction) -> None:
    """``row += share * more``, without zeros."""
    for key, x in more.items():
        row[key] = row.get(key, Fraction(0)) + share * x
        if not row[key]:
            del row[key]


def _pivot(row: Mapping[int, Fraction]) -> int:
    """What to solve for: something with a coefficient of 1, if there is one; the last of these."""
    return max(row, key=lambda k: (abs(row[k]) == 1, k))


_Row = dict[int, Fraction]
_Any = TypeVar("_Any")
_MOST = 20_000  # sets of rows that are looked through
_SAME = 1e-7  # numbers of bends that differ by less, relative, are meant to be equal
_PARALLEL = 1e-9  # slopes that differ by less, relative, are meant to be parallel


class Rows:
    """The rows of lines, in floats (`view`) and as sums of symbols (`row`); the constant 1 is the first symbol."""

    def __init__(
        self,
        near: _Floats,
        lines: Lines,
        weight: _Floats,
        little: float,
        snug: float,
        independent: bool = False,
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

    def express(self, unbounded: bool) -> None:
        """Rows for lines that are straight or shared, and for those that are bent into such; in the order of levels.

        Rows that far out meet others, in `unbounded` pieces, are to do so still.
        """
        inner, chains = self._chains()
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

    def _chains(self) -> tuple[list[list[Joint]], list[list[int]]]:
        """The bends of each group of lines that they join, and the groups: those with a straight line."""
        lines = self.lines
        ends = [(lines.line[sort(joint.one)], lines.line[sort(joint.two)]) for joint in lines.joints]
        group = linked(np.array(ends, dtype=np.int64).reshape(-1, 2), len(self.pairs)).tolist()
        wanted = {group[line] for line in lines.straight}
        members: dict[int, list[int]] = {}
        for line, own in enumerate(group):
            if own in wanted:
                members.setdefault(own, []).append(line)
        inner: dict[int, list[Joint]] = {k: [] for k in members}
        for joint, (one, two) in zip(lines.joints, ends, strict=True):
            if group[one] in inner and one != two:
                inner[group[one]].append(joint)
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


_Pair = tuple[int, int]
_Equation = tuple[dict[int, Fraction], Form]
_SNUG = 1e-3  # of what values may be off: so near must a simple number be to be meant


@dataclass(frozen=True, slots=True)
class Shared:
    """What several outputs have in common, by the numbers of their laws."""

    facets: Sequence[Sequence[_Pair]] = ()
    """For each facet on which several outputs bend the pairs of laws that meet there, one for each of these."""
    triples: Sequence[tuple[int, int, int]] = ()
    """Three laws of one output around a face of codimension 2."""
    far: Sequence[_Pair] = ()
    """All pairs that meet, where pieces are unbounded: their facets may meet others far out."""


def solve_system(
    near: _Floats,
    relations: Sequence[Relation],
    shared: Shared,
    weight: _Floats,
    little: float,
    independent: bool = False,
) -> list[_Law]:
    """Laws near floats that satisfy the relations, or `Unfit`; `near` should satisfy them but for rounding.

    Free rows are made `independent`, if asked for.
    """
    snug = _SNUG * little / (FINE * float(np.abs(near * weight).max()))
    rows = Rows(near, lines_of(relations, shared.facets, shared.triples), weight, little, snug, independent)
    rows.express(unbounded=len(shared.far) > 0)
    return rows.resolved(lambda: _laws(rows, near, relations, shared.far))


def _laws(rows: Rows, near: _Floats, relations: Sequence[Relation], far: Sequence[_Pair]) -> list[_Law]:
    """Laws near floats: equations for jumps on lines with rows, for crossings, for facets that meet far out."""
    numbers, scale = Numbers(rows.snug), rows.size(near)
    equations = _on_lines(rows, near, numbers, FINE * scale)
    equations += [(_alternating(relation.laws), {}) for relation in relations if relation.kind == "cross"]
    known = set()
    for pair in dict.fromkeys(map(sort, far)):
        if rows.lines.line.get(pair, -1) not in rows.row:
            jump = near[pair[0]] - near[pair[1]]
            lines = rows.along(jump)
            if lines is not None:
                known.add(pair)
                form = rows.parallel_form(jump, lines, numbers, FINE * scale)
                equations.append(({pair[0]: Fraction(1), pair[1]: Fraction(-1)}, form))
    for relation in relations:
        if relation.kind == "parallel":
            equations += _parallel(rows, near, relation.laws, known, numbers)
    slack = 100 * rows.little * scale / rows.size(rows.near)
    system = Formal(numbers.near, rows.symbols, rows.sizes(), slack, numbers.chosen if rows.independent else None)
    for vectors, form in equations:
        system.add(vectors, form)
    fine = (FINE * scale / rows.weight).tolist()

    def chosen(k: int) -> _Law:
        return [short(x, d, rows.snug) for x, d in zip(near[k].tolist(), fine, strict=True)]

    return system.vectors(len(near), system.numbers(numbers.chosen), chosen)


def _on_lines(rows: Rows, near: _Floats, numbers: Numbers, fine: float) -> list[_Equation]:
    """``f_a - f_b = x r`` for all jumps on lines with rows, one number `x` for each class of equal jumps."""
    jumps: dict[int, list[tuple[_Pair, int, int]]] = {}
    for pair, line in rows.lines.line.items():
        if line in rows.row:
            class_, turn = rows.lines.number[pair]
            jumps.setdefault(class_, []).append((pair, line, turn))
    found = []
    for some in jumps.values():
        views = np.array([turn * rows.view[line] for _, line, turn in some]) * rows.weight
        steps = np.array([near[a] - near[b] for (a, b), _, _ in some]) * rows.weight
        x = numbers.new(float((views * steps).sum() / (views * views).sum()), fine / float(np.abs(views).max()))
        for (a, b), line, turn in some:
            form = {(s, x): -turn * part for s, part in rows.row[line].items()}
            found.append(({a: Fraction(1), b: Fraction(-1)}, form))
    return found


def _alternating(ring: tuple[int, ...]) -> dict[int, Fraction]:
    """``f1 - f2 + f3 - f4``; a law may be in it twice."""
    found: dict[int, Fraction] = {}
    for k, law in enumerate(ring):
        found[law] = found.get(law, Fraction(0)) + (-1) ** k
    return found


def _parallel(rows: Rows, near: _Floats, laws: tuple[int, ...], known: set[_Pair], numbers: Numbers) -> list[_Equation]:
    """Three laws with parallel facets along no row that is known: one difference is a multiple of the other."""
    pairs = [(laws[0], laws[1]), (laws[0], laws[2])]
    if any(sort(pair) in known or rows.lines.line.get(sort(pair), -1) in rows.row for pair in pairs):
        return []
    first, second = sorted(pairs, key=lambda pair: np.abs(rows.jump(pair)[:-1]).max())
    lower, upper = near[first[0]] - near[first[1]], near[second[0]] - near[second[1]]
    ratio = short(slope_share(lower, upper), FINE, rows.snug)
    y = numbers.new(float(lower[-1] - float(ratio) * upper[-1]), FINE * rows.size(near))
    return [({laws[0]: 1 - ratio, first[1]: Fraction(-1), second[1]: ratio}, {(0, y): Fraction(-1)})]
