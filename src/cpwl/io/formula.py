"""`parse`: a formula in text as a function, or as a network."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.doors import check_path, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.exact.sparse import RationalMatrix
from cpwl.files import read_text, reading
from cpwl.function.algebra.arithmetic import add, side_by_side, times
from cpwl.function.algebra.extremes import greatest, restrict
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import Known
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.geometry.probe import Probe
from cpwl.io.expression import Affine, Expression, Max, Sum, natural_key, read_formula
from cpwl.network.network import Network
from cpwl.network.program import Tape, Tensor, network_of
from cpwl.passes.simplify import simplify

# The pieces of expressions, from the inside out, by calculating with functions.


_MOST = 10_000  # pieces
_NUMBERS = 10**8  # in the rows of the pieces of a maximum, each with one for every other member: gigabytes


def function_of(outputs: Sequence[Expression], variables: Sequence[str], domain: Polyhedron | None) -> CPWL:
    """The function of some expressions in these variables, on a domain or on all of R^n."""
    if domain is not None and Probe(0.0).interior(domain) is None:
        raise InputError("the domain has no interior: there is no function on it")
    place = {name: i for i, name in enumerate(variables)}

    @cache
    def made(part: Expression) -> CPWL:
        if isinstance(part, Affine):
            return highest([part])
        if isinstance(part, Max):
            flat = [member for member in part.members if isinstance(member, Affine)]
            bent = [made(member) for member in part.members if not isinstance(member, Affine)]
            return _joined([highest(flat), *bent] if flat else bent, lambda p, q: greatest((p, q)))
        if domain is None and (rank := _independent_hinges(part)) >= _MOST.bit_length():
            raise _too_many(f"at least 2^{rank} pieces")
        return _joined([highest([part.base]), *(times(made(term), factor) for factor, term in part.terms)], add)

    def highest(members: Sequence[Affine]) -> CPWL:
        """The maximum of affine functions."""
        if (numbers := len(members) ** 2 * len(place)) > _NUMBERS:
            raise _too_many(f"{len(members):,} pieces in R^{len(place)} with {numbers:,} numbers")
        laws = [[Fraction(0)] * len(place) + [member.constant] for member in members]
        for law, member in zip(laws, members, strict=True):
            for name, slope in member.slopes:
                law[place[name]] = slope
        p = CPWL.from_maxmin(laws, [[m] for m in range(len(laws))])
        return p if domain is None else restrict(p, domain=domain)

    p = side_by_side([made(output) for output in outputs])
    return p.merge() if p.num_components < p.num_pieces else p


def _joined(parts: Sequence[CPWL], two: Callable[[CPWL, CPWL], CPWL]) -> CPWL:
    """One after the other, so that too many pieces are seen before they are far too many."""
    found = parts[0]
    for part in parts[1:]:
        found = two(found, part)
        if found.num_pieces > _MOST:
            raise _too_many(f"more than {_MOST:,} pieces")
    return found


def _too_many(what: str) -> LimitError:
    way = "`cpwl.io.Formula.from_text(text).network()` makes a network of it without its pieces."
    return LimitError(f"the formula has {what}.\n  {way}")


def _independent_hinges(part: Sum) -> int:
    """A number `r` such that the sum has at least ``2^r`` pieces on R^n; 0 if that is not known.

    A sum of maxima of two affine functions bends on the whole hyperplane on which two are equal, unless terms cancel
    there; hyperplanes with `r` independent normals have ``2^r`` cells, and no piece crosses one.
    """
    bend: dict[tuple[tuple[str, Fraction], ...], Fraction] = {}
    for factor, term in part.terms:
        if len(term.members) != 2 or not all(isinstance(member, Affine) for member in term.members):
            return 0
        one, two = (member for member in term.members if isinstance(member, Affine))
        step = dict(one.slopes) | {"": one.constant}
        for name, value in (*two.slopes, ("", two.constant)):
            step[name] = step.get(name, Fraction(0)) - value
        row = sorted((name, value) for name, value in step.items() if value)
        if not row or not row[-1][0]:  # parallel: no bend
            continue
        plane = tuple((name, value / row[-1][1]) for name, value in row)
        bend[plane] = bend.get(plane, Fraction(0)) + factor * abs(row[-1][1])
    rows = [[(name, value) for name, value in plane if name] for plane, jump in bend.items() if jump]
    place = {name: i for i, name in enumerate(sorted({name for row in rows for name, _ in row}))}
    normals = fmpq_mat(len(rows), len(place))
    for i, normal in enumerate(rows):
        for name, value in normal:
            normals[i, place[name]] = fmpq(value.numerator, value.denominator)
    return int(normals.rank())


# The network of expressions as they stand: ``max(a, b) = a + relu(b - a)``, in pairs.


def network_of_expressions(outputs: Sequence[Expression], variables: Sequence[str]) -> Network:
    """A network that computes the expressions; each subexpression is computed once."""
    place = {name: i for i, name in enumerate(variables)}
    tape = Tape(len(variables))
    x = tape.input((len(variables),))

    @cache
    def tensor(part: Expression) -> Tensor:
        """The expression as a tensor with one entry."""
        if isinstance(part, Affine):
            slopes = [slope for _, slope in part.slopes]
            columns = np.array([place[name] for name, _ in part.slopes], dtype=np.int64)
            rows = np.zeros(len(slopes), dtype=np.int64)
            row = RationalMatrix.from_triples(rows, columns, _exact(slopes), (1, len(variables)))
            return x.linear(row, (1,)).plus(_exact([part.constant]))
        if isinstance(part, Max):  # of a constant and one more member a single neuron makes a maximum
            constants = [m for m in part.members if isinstance(m, Affine) and not m.slopes]
            best = tape.largest([tensor(m) for m in part.members if m not in constants])
            return tape.maximum(best, _exact([constants[0].constant])) if constants else best
        total = tensor(part.base)
        for factor, term in part.terms:
            total = total.plus(tensor(term).times(_exact([factor])))
        return total

    return network_of(tape, tape.joined([tensor(output) for output in outputs])[0])


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
        """Parse a text, as `parse` does."""
        if not isinstance(text, str):
            raise InputError(f"a formula is a string, not a {type(text).__name__}")
        outputs = read_formula(text)
        used: set[str] = set()
        seen: set[Max] = set()
        for output in outputs:
            _collect(output, used, seen)
        if variables is None:
            if not used:
                raise InputError("the formula has no variables; name the inputs of the function with `variables`")
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
        """Read a formula from a text file; ``#`` starts a comment."""
        check_path(path, "from_file")
        with reading(path):
            return cls.from_text(read_text(path), variables=variables)

    @within_float64()
    def function(self, *, domain: Domain = None, box: tuple[Any, Any] | None = None) -> CPWL:
        """The function with its pieces, on all of R^n or on a domain; `compile` also considers `network`."""
        p = function_of(self.outputs, self.variables, as_domain(domain, len(self.variables), box=box))
        return replace(p, known=replace(p.known or Known(), network=self.network))

    @within_float64()
    def network(self) -> Network:
        """The network of the formula as written; its pieces are not computed."""
        return simplify(network_of_expressions(self.outputs, self.variables))


def parse(
    text: str,
    *,
    variables: Sequence[str] | None = None,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
) -> CPWL:
    """Parse a formula into a function, exactly.

    A formula has numbers, variables, ``+``, ``-``, products with constants, quotients by constants, and `abs`, `relu`,
    ``clip(x, low, high)``, `max` and `min`; commas separate several outputs. Numbers are decimals: 0.1 is one
    tenth, and 1/3 is one third. The text is never evaluated as a program.

    Parameters
    ----------
    text
        The formula.
    variables
        The names of the inputs, in order. By default the names in the formula, sorted, with numbers by size: x2 before
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
        If the text is not such a formula; the message names the position.

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
