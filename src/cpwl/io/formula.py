"""`parse`: a formula in text as a function, or as a network."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_path, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.exact.sparse import RationalMatrix
from cpwl.files import read_bytes
from cpwl.function.cpwl import CPWL
from cpwl.function.make import polyhedra_from_integers
from cpwl.function.parts import Known, Laws, Parts
from cpwl.geometry.bodies import irredundant
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.geometry.probe import Probe
from cpwl.io.expression import Affine, Expression, Max, natural_key, read_formula
from cpwl.network.network import Network
from cpwl.network.program import Tape, Tensor, network_of
from cpwl.passes.simplify import simplify

__all__ = ["Formula", "function_of", "parse", "read_formula_file"]

# The pieces of expressions, found from the inside out: a cell is split only where it is, never what cannot happen.
#
# On a cell where all members of a maximum are affine, each member has the part where it is the largest. A sum has the
# cells of its terms, each found within those of the terms before it. Whether a part has an interior is decided in
# rationals, one linear program each. So the parts cover the domain once, and the function is continuous by
# construction.


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
                "  `cpwl.io.Formula.from_text(text).network()` makes a network of it without its pieces."
            )

    def inside(self, rows: tuple[_Row, ...]) -> NDArray[np.object_] | None:
        """A point inside, or None."""
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
                (inner, tuple(a + factor * b if b else a for a, b in zip(law, extra, strict=True)))
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
            self.spend(len(proper) * self.dim)
            inner = cell.inner if _is_inside(cell.inner, rows) else self.inside(proper)
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


def _is_inside(point: NDArray[np.object_] | None, rows: Sequence[_Row]) -> bool:
    """Whether a point is strictly inside all half-spaces that cut something off."""
    proper = [row for row in rows if any(row[:-1])]
    if point is None:
        return False
    return all(sum(a * x for a, x in zip(row[:-1], point, strict=True) if a) < row[-1] for row in proper)


def _below(a: _Law, b: _Law) -> _Row:
    """The half-space ``a <= b`` in primitive integers."""
    row = [*(p - q if q else p for p, q in zip(a[:-1], b[:-1], strict=True)), b[-1] - a[-1]]
    below = math.lcm(*(v.denominator for v in row))
    whole = [v.numerator * (below // v.denominator) for v in row]
    divisor = math.gcd(*whole) or 1
    return tuple(v // divisor for v in whole)


def _integers(law: _Law) -> list[int]:
    """``(gradient, offset, 1) * denominator``."""
    below = math.lcm(*(v.denominator for v in law))
    return [*(v.numerator * (below // v.denominator) for v in law), below]


# The network of expressions as they stand: ``max(a, b) = a + relu(b - a)``, in pairs.


def network_of_expressions(outputs: Sequence[Expression], variables: Sequence[str]) -> Network:
    """A network that computes the expressions; each subexpression is computed once."""
    writer = _Writer(variables)
    parts = [writer.tensor(output) for output in outputs]
    joined, _ = writer.tape.joined(parts)
    return network_of(writer.tape, joined)


class _Writer:
    def __init__(self, variables: Sequence[str]) -> None:
        self.place = {name: i for i, name in enumerate(variables)}
        self.tape = Tape(len(variables))
        self.input = self.tape.input((len(variables),))
        self.known: dict[Expression, Tensor] = {}

    def tensor(self, part: Expression) -> Tensor:
        """The expression as a tensor with one entry."""
        if part not in self.known:
            self.known[part] = self._written(part)
        return self.known[part]

    def _written(self, part: Expression) -> Tensor:
        if isinstance(part, Affine):
            return self._affine(part)
        if isinstance(part, Max):
            return self._largest(part)
        total = self._affine(part.base)
        for factor, term in part.terms:
            total = total.plus(self.tensor(term).times(_exact([factor])))
        return total

    def _affine(self, part: Affine) -> Tensor:
        slopes = [slope for _, slope in part.slopes]
        columns = np.array([self.place[name] for name, _ in part.slopes], dtype=np.int64)
        row = RationalMatrix.from_triples(
            np.zeros(len(slopes), dtype=np.int64), columns, _exact(slopes), (1, self.tape.inputs)
        )
        return self.input.linear(row, (1,)).plus(_exact([part.constant]))

    def _largest(self, part: Max) -> Tensor:
        """Of a constant and one more member a single neuron makes a maximum."""
        constants = [m for m in part.members if isinstance(m, Affine) and not m.slopes]
        others = [self.tensor(m) for m in part.members if not (isinstance(m, Affine) and not m.slopes)]
        best = self.tape.largest(others)
        return self.tape.maximum(best, _exact([constants[0].constant])) if constants else best


def _exact(values: Sequence[Fraction]) -> NDArray[np.object_]:
    return np.array(values, dtype=object)


@dataclass(frozen=True, slots=True)
class Formula:
    """Piecewise-linear expressions in named variables.

    >>> formula = Formula.from_text("max(x1 - x10, x2), 0.1*x1")
    >>> formula.variables
    ('x1', 'x2', 'x10')
    >>> formula.network()
    Network(3 -> 5 -> 2)
    """

    outputs: tuple[Expression, ...]
    variables: tuple[str, ...]
    """In the order of the coordinates."""

    @classmethod
    def from_text(cls, text: str, *, variables: Sequence[str] | None = None) -> Formula:
        """The formula that a text writes down, as `parse` reads it."""
        if not isinstance(text, str):
            raise InputError(f"a formula is a string, not a {type(text).__name__}")
        outputs = read_formula(text)
        used: set[str] = set()
        seen: set[Max] = set()
        for output in outputs:
            _collect(output, used, seen)
        if variables is None:
            if not used:
                raise InputError("the formula has no variables; `variables` says which inputs the function has")
            return cls(outputs, tuple(sorted(used, key=natural_key)))
        names = [variables] if isinstance(variables, str) else list(variables)
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise InputError("`variables` must be different names, such as ('x', 'y')")
        missing = sorted(used - set(names))
        if missing:
            raise InputError(f"the formula has a variable `{missing[0]}` that is not among `variables`: {names}")
        return cls(outputs, tuple(names))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, variables: Sequence[str] | None = None) -> Formula:
        """The formula in a text file; ``#`` starts a remark."""
        check_path(path, "from_file")
        name = os.fspath(path)
        try:
            return cls.from_text(read_bytes(name).decode("utf-8-sig"), variables=variables)
        except UnicodeDecodeError as error:
            raise InputError(f"{name} is not UTF-8 text, from byte {error.start} on", path=name) from error
        except (InputError, LimitError) as error:
            raise type(error)(f"{name}: {error}", **{**error.details, "path": name}) from error

    @within_float64()
    def function(self, *, domain: Domain = None, box: tuple[Any, Any] | None = None) -> CPWL:
        """The function with its pieces, on all of R^n or on a domain; `compile` looks at `network`, too."""
        p = function_of(self.outputs, self.variables, as_domain(domain, len(self.variables), box=box))
        return replace(p, known=replace(p.known or Known(), network=self.network))

    @within_float64()
    def network(self) -> Network:
        """The network that computes the formula as it stands, without looking for its pieces."""
        return simplify(network_of_expressions(self.outputs, self.variables))


def parse(
    text: str,
    *,
    variables: Sequence[str] | None = None,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
) -> CPWL:
    """The function that a formula writes down, exactly.

    There are numbers, variables, ``+``, ``-``, products with constants, quotients by them, and `abs`, `relu`,
    ``clip(x, low, high)``, `max` and `min`; several outputs stand between commas. Numbers are decimal: 0.1 is one
    tenth, and 1/3 one third. Nothing is evaluated as a program.

    Parameters
    ----------
    text
        The formula.
    variables
        The names of the inputs, in order. By default those in the formula, sorted, numbers in them by size: x2 before
        x10.
    domain, box
        Where: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; all of R^n if neither is given.

    Returns
    -------
    CPWL
        The function with its pieces; `Formula` has the network as well.

    Raises
    ------
    InputError
        Where the text is no formula of this kind, with the place.

    >>> p = parse("max(min(x + 2*y - 1, 3), -x)")
    >>> p
    CPWL(R^2 -> R^1, 4 pieces, 3 components, exact)
    >>> p([["1/10", 0]])
    array([[Fraction(-1, 10)]], dtype=object)
    """
    return Formula.from_text(text, variables=variables).function(domain=domain, box=box)


def read_formula_file(path: str | os.PathLike[str]) -> CPWL:
    """The function of the formula in a text file."""
    return Formula.from_file(path).function()


def _collect(part: Expression, names: set[str], seen: set[Max]) -> None:
    """The names of variables; what is in several places is looked at once."""
    if isinstance(part, Max):
        if part not in seen:
            seen.add(part)
            for member in part.members:
                _collect(member, names, seen)
        return
    names.update(name for name, _ in (part if isinstance(part, Affine) else part.base).slopes)
    for _, term in () if isinstance(part, Affine) else part.terms:
        _collect(term, names, seen)
