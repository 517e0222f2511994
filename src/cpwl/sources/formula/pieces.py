"""The pieces of expressions, found from the inside out: a cell is split only where it is, never what cannot happen.

On a cell where all members of a maximum are affine, each member has the part where it is the largest. A sum has the
cells of its terms, each found within those of the terms before it. Whether a part has an interior is decided in
rationals, one linear program each. So the parts cover the domain once, and the function is continuous by construction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError
from cpwl.function.cpwl import CPWL
from cpwl.function.known import Known
from cpwl.function.make.maxmin import polyhedra_from_integers
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.irredundant import irredundant
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe
from cpwl.sources.formula.expression import Affine, Expression, Max

__all__ = ["function_of"]

_MOST = 10_000  # cells
_SMALL = 2000  # numbers in the rows of a candidate that counts as one
_Law = tuple[Fraction, ...]
_Row = tuple[int, ...]


class _Cell:
    """Rows of integers ``(a, b)``, ``a.x <= b``, a point inside if one is known, and the laws of parts known there."""

    __slots__ = ("inner", "known", "rows")

    def __init__(self, rows: tuple[_Row, ...], inner: NDArray[np.object_] | None, known: dict[Max, _Law]) -> None:
        self.rows, self.inner, self.known = rows, inner, known


def function_of(outputs: Sequence[Expression], variables: Sequence[str], domain: Polyhedron | None) -> CPWL:
    """The function of some expressions in these variables, on a domain or on all of R^n."""
    finder = _Finder(variables)
    start = () if domain is None else tuple(tuple(int(v) for v in row) for row in domain.integer())
    cells: list[tuple[_Cell, tuple[_Law, ...]]] = [(finder.whole(start), ())]
    for output in outputs:
        cells = finder.refined(cells, output)
    dim = len(variables)
    polyhedra = polyhedra_from_integers([cell.rows for cell, _ in cells], dim)
    inner = np.array([cell.inner for cell, _ in cells], dtype=object).reshape(len(cells), dim)
    if len(cells) > 1:
        polyhedra = irredundant(polyhedra, inner)
    exact = np.array([[_integers(law) for law in laws] for _, laws in cells], dtype=object)
    asserted = Polyhedron(np.zeros((0, dim)), np.zeros(0)) if domain is None else domain
    known = Known(inner, complete=True)
    p = CPWL.from_parts(Parts(polyhedra, Laws.from_integer(exact), asserted, 0.0, None, known))
    return p.merge() if p.num_components < p.num_pieces else p


class _Finder:
    def __init__(self, variables: Sequence[str]) -> None:
        self.place = {name: i for i, name in enumerate(variables)}
        self.dim = len(variables)
        self.probe = Probe(0.0)
        self.asked = 0

    def whole(self, rows: tuple[_Row, ...]) -> _Cell:
        """The domain; `InputError` if it has no interior."""
        inner = self.inside(rows)
        if inner is None:
            raise InputError("the domain has no interior: there is no function on it")
        return _Cell(rows, inner, {})

    def spend(self, work: int) -> None:
        """Counts candidates for pieces, and large ones as several, before they are looked at."""
        self.asked += 1 + work // _SMALL
        if self.asked > _MOST:
            raise LimitError(
                f"the formula has more than {_MOST:,} candidates for pieces.\n"
                "  `cpwl.Formula.from_text(text).network()` makes a network of it without its pieces."
            )

    def inside(self, rows: tuple[_Row, ...]) -> NDArray[np.object_] | None:
        """A point inside, or None."""
        self.spend(len(rows) * self.dim)
        if self.dim == 1:
            return _inside_interval(rows)
        return self.probe.interior(polyhedra_from_integers([rows], self.dim)[0])

    def pieces(self, part: Expression, cell: _Cell) -> list[tuple[_Cell, _Law]]:
        """Where in a cell an expression is affine, and its law there."""
        if isinstance(part, Affine):
            return [(cell, self.law(part))]
        if isinstance(part, Max):
            if part in cell.known:
                return [(cell, cell.known[part])]
            together: list[tuple[_Cell, tuple[_Law, ...]]] = [(cell, ())]
            for member in part.members:
                together = self.refined(together, member)
            return [found for within, laws in together for found in self.largest(within, laws, part)]
        found = [(cell, self.law(part.base))]
        for factor, term in part.terms:
            found = [
                (inner, tuple(a + factor * b for a, b in zip(law, extra, strict=True)))
                for within, law in found
                for inner, extra in self.pieces(term, within)
            ]
        return found

    def refined(
        self, cells: Sequence[tuple[_Cell, tuple[_Law, ...]]], part: Expression
    ) -> list[tuple[_Cell, tuple[_Law, ...]]]:
        return [(inner, (*laws, law)) for within, laws in cells for inner, law in self.pieces(part, within)]

    def largest(self, cell: _Cell, laws: Sequence[_Law], part: Max) -> list[tuple[_Cell, _Law]]:
        """The parts of a cell where each of some laws is the largest; there they are known to be the law of `part`."""
        distinct = list(dict.fromkeys(laws))
        if len(distinct) > 1:
            self.spend(len(distinct) ** 2 * self.dim)
        found = []
        for law in distinct:
            rows = [_below(other, law) for other in distinct if other != law]
            if any(not any(row[:-1]) and row[-1] < 0 for row in rows):
                continue  # parallel, and below
            proper = tuple(dict.fromkeys((*cell.rows, *(row for row in rows if any(row[:-1])))))
            proper = _tightest(proper) if self.dim == 1 else proper
            inner = cell.inner if len(proper) == len(cell.rows) else self.inside(proper)
            if inner is not None:
                found.append((_Cell(proper, inner, {**cell.known, part: law}), law))
        return found

    def law(self, part: Affine) -> _Law:
        law = [Fraction(0)] * self.dim + [part.constant]
        for name, slope in part.slopes:
            law[self.place[name]] = slope
        return tuple(law)


def _ends(rows: Iterable[_Row]) -> tuple[Fraction | None, Fraction | None]:
    """The ends of an interval, None where it has none."""
    low = max((Fraction(b, a) for a, b in rows if a < 0), default=None)
    high = min((Fraction(b, a) for a, b in rows if a > 0), default=None)
    return low, high


def _tightest(rows: tuple[_Row, ...]) -> tuple[_Row, ...]:
    """The rows of an interval that are its ends; all of them where there is none inside."""
    low, high = _ends(rows)
    if low is not None and high is not None and low >= high:
        return rows
    return tuple((a, b) for a, b in rows if a and Fraction(b, a) == (low if a < 0 else high))


def _inside_interval(rows: tuple[_Row, ...]) -> NDArray[np.object_] | None:
    """A point inside an interval, or None."""
    low, high = _ends(rows)
    if any(a == 0 and b < 0 for a, b in rows):
        return None
    if low is not None and high is not None:
        return None if low >= high else np.array([(low + high) / 2], dtype=object)
    return np.array([high - 1 if high is not None else Fraction(0) if low is None else low + 1], dtype=object)


def _below(a: _Law, b: _Law) -> _Row:
    """The half-space ``a <= b`` in primitive integers."""
    row = [*(p - q for p, q in zip(a[:-1], b[:-1], strict=True)), b[-1] - a[-1]]
    below = math.lcm(*(v.denominator for v in row))
    whole = [v.numerator * (below // v.denominator) for v in row]
    divisor = math.gcd(*whole) or 1
    return tuple(v // divisor for v in whole)


def _integers(law: _Law) -> list[int]:
    """``(gradient, offset, 1) * denominator``."""
    below = math.lcm(*(v.denominator for v in law))
    return [*(v.numerator * (below // v.denominator) for v in law), below]
