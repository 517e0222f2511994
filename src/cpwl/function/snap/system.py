"""Exact laws from one system: all relations in which hyperplanes go straight through others, solved at once.

A jump is a number times the row of its line (`lines`, `rows`). Laws and numbers of jumps satisfy linear equations with
short coefficients (`formal`): ``f_a - f_b = x r`` for each jump on a line with the row `r`, ``f1 - f2 + f3 - f4 = 0``
for each crossing. Facets of unbounded regions may meet far out, as parallel ones do: the slope of a jump is then in the
span of fewer others than there are dimensions, ``f_a - f_b = x_1 r_1 + .. + y``. Networks of ReLUs satisfy all of them
whatever their rows are: a line is a neuron in one cell of the layers before it.

Several outputs bend in the same places: every jump then has a row, and only its number differs from output to output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.function.snap.formal import Form, Formal
from cpwl.function.snap.lines import Lines, lines_of, sort
from cpwl.function.snap.relations import Relation, smoothed
from cpwl.function.snap.rows import Rows, slope_share
from cpwl.function.snap.short import FINE, Numbers, short

__all__ = ["Places", "solve_outputs", "solve_system"]

_Floats = NDArray[np.float64]
_Law = list[Fraction]
_Pair = tuple[int, int]
_Equation = tuple[dict[int, Fraction], Form]
_SNUG = 1e-3  # of what values may be off: so near must a simple number be to be meant


@dataclass(frozen=True, slots=True)
class Places:
    """Where laws meet: the pairs with a facet in common, triples around faces of codimension 2, and whether far out."""

    pairs: Sequence[_Pair]
    triples: Sequence[tuple[int, int, int]]
    unbounded: bool


def solve_system(
    near: _Floats,
    relations: Sequence[Relation],
    far: Sequence[_Pair],
    weight: _Floats,
    little: float,
    independent: bool = False,
) -> list[_Law]:
    """Laws near floats that satisfy the relations, or `Unfit`; `near` should satisfy them but for rounding.

    `far` are pairs of laws whose facets may meet others far out; free rows are made `independent`, if asked for.
    """
    rows = _rows(near, lines_of(relations), weight, little, independent)
    rows.express(everything=False, unbounded=len(far) > 0)
    return rows.resolved(lambda: _laws(rows, near, relations, far))


def solve_outputs(
    near: _Floats,
    share: _Floats,
    relations: Sequence[Relation],
    places: Places,
    weight: _Floats,
    little: float,
    independent: bool = False,
) -> list[list[_Law]]:
    """For each law its outputs, near floats ``near[k, j]``, which bend where their combination by `share` does."""
    whole = smoothed(np.einsum("j,kjn->kn", share, near), relations, weight, little)
    rows = _rows(whole, lines_of(relations, places.pairs, places.triples), weight, little, independent)
    rows.express(everything=True, unbounded=places.unbounded)
    outputs = rows.resolved(lambda: [_laws(rows, near[:, j], relations, ()) for j in range(near.shape[1])])
    return [list(laws) for laws in zip(*outputs, strict=True)]


def _rows(near: _Floats, lines: Lines, weight: _Floats, little: float, independent: bool) -> Rows:
    snug = _SNUG * little / (FINE * float(np.abs(near * weight).max()))
    return Rows(near, lines, weight, little, snug, independent)


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
