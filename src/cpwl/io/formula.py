"""Formulas: read from text, and made a function or a network. All of one is affine functions, sums and maxima.

``min(a, b) = -max(-a, -b)``, ``abs(a) = max(a, -a)``, ``relu(a) = max(a, 0)``. What can be computed at once is: sums of
affine functions are affine, a maximum inside a maximum is one maximum, and of parallel members the highest is kept.

Parts are shared: ``abs(a)`` has `a` in it twice, so that a text with `k` of them nested writes down 2^k parts,
of which `k` are different. Each knows a digest of what it is, by which it is compared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.doors import check_path, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import fraction
from cpwl.exact.sparse import RationalMatrix
from cpwl.files import read_text, reading
from cpwl.function.algebra import arithmetic
from cpwl.function.algebra.extremes import greatest, restrict
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import Known
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.geometry.probe import Probe
from cpwl.network.network import Network
from cpwl.network.program import Tape, Tensor, network_of
from cpwl.passes.simplify import simplify


@dataclass(frozen=True, slots=True)
class AffineForm:
    """``sum of slopes[v] * v + constant`` over variables `v`, by name; no slope is 0."""

    slopes: tuple[tuple[str, Fraction], ...]
    constant: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class _Digested:
    """What is compared by its digest alone."""

    digest: bytes = field(init=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Digested) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, slots=True, eq=False)
class SumOfMaxima(_Digested):
    """``base + sum of factor * term``, all terms maxima."""

    base: AffineForm
    terms: tuple[tuple[Fraction, Max], ...]

    def __post_init__(self) -> None:
        parts = (repr(factor).encode() + term.digest for factor, term in self.terms)
        object.__setattr__(self, "digest", _digest(b"sum", _bytes(self.base), *parts))


@dataclass(frozen=True, slots=True, eq=False)
class Max(_Digested):
    """The largest of at least two members."""

    members: tuple[Expression, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", _digest(b"max", *map(_bytes, self.members)))


Expression: TypeAlias = AffineForm | SumOfMaxima | Max
_ZERO = Fraction(0)


def _bytes(part: Expression) -> bytes:
    return repr(part).encode() if isinstance(part, AffineForm) else part.digest


def _digest(*parts: bytes) -> bytes:
    return sha256(b"".join(sha256(part).digest() for part in parts)).digest()


def add(parts: Sequence[Expression]) -> Expression:
    """The sum of expressions."""
    slopes: dict[str, Fraction] = {}
    constant = _ZERO
    factors: dict[Max, Fraction] = {}
    for part in parts:
        if isinstance(part, Max):
            factors[part] = factors.get(part, _ZERO) + 1
            continue
        base = part.base if isinstance(part, SumOfMaxima) else part
        for name, slope in base.slopes:
            slopes[name] = slopes.get(name, _ZERO) + slope
        constant += base.constant
        for factor, term in part.terms if isinstance(part, SumOfMaxima) else ():
            factors[term] = factors.get(term, _ZERO) + factor
    base = AffineForm(tuple(sorted((name, slope) for name, slope in slopes.items() if slope)), constant)
    terms = tuple((factor, term) for term, factor in factors.items() if factor)
    if not terms:
        return base
    if terms[0][0] == 1 and len(terms) == 1 and not base.slopes and not base.constant:
        return terms[0][1]
    return SumOfMaxima(base, terms)


def scaled(factor: Fraction, part: Expression) -> Expression:
    """A constant times an expression."""
    if factor == 1:
        return part
    if isinstance(part, AffineForm):
        slopes = tuple((name, factor * slope) for name, slope in part.slopes) if factor else ()
        return AffineForm(slopes, factor * part.constant)
    if factor == 0:
        return AffineForm((), _ZERO)
    if isinstance(part, Max):
        return SumOfMaxima(AffineForm((), _ZERO), ((factor, part),))
    base = scaled(factor, part.base)
    assert isinstance(base, AffineForm)
    return add([base, SumOfMaxima(AffineForm((), _ZERO), tuple((factor * f, term) for f, term in part.terms))])


def maximum(parts: Sequence[Expression]) -> Expression:
    """The largest of expressions."""
    highest: dict[tuple[tuple[str, Fraction], ...], AffineForm] = {}
    others: dict[Expression, None] = {}
    for part in parts:
        for member in part.members if isinstance(part, Max) else (part,):
            if not isinstance(member, AffineForm):
                others[member] = None
            elif member.slopes not in highest or member.constant > highest[member.slopes].constant:
                highest[member.slopes] = member
    members = (*highest.values(), *others)
    return members[0] if len(members) == 1 else Max(members)


def minimum(parts: Sequence[Expression]) -> Expression:
    """The least of expressions."""
    less = Fraction(-1)
    return scaled(less, maximum([scaled(less, part) for part in parts]))


# From text to expressions: a grammar of a few lines, nothing is ever evaluated as a program.
#
#     formula = list | "(" list ")" | "[" list "]"
#     list    = sum { "," sum } [ "," ]
#     sum     = product { ("+" | "-") product }
#     product = sign { ("*" | "/") sign }
#     sign    = { "+" | "-" } atom
#     atom    = number | name | name "(" list ")" | "(" sum ")"
#
# Of the factors of a product all but one are constant, and divisors are. Numbers are decimal: 0.1 is one tenth.


_DEEP = 60  # brackets inside brackets
_LONG = 2**20  # characters
_DIGITS = 2**14  # binary digits of a number
_TOKEN = re.compile(  # possessive: nothing is tried twice
    r"(?:\s++|#[^\n]*+)*+"
    r"(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|[^\s#]))"
)
_CALLS = "abs, relu, clip, max and min"


def read_formula(text: str) -> tuple[Expression, ...]:
    """The outputs that a text writes down, one expression each."""
    if len(text) > _LONG:
        raise LimitError(f"the formula has {len(text):,} characters; we read {_LONG:,}")
    reader = _Parser(text)
    outputs = reader.outputs()
    reader.end()
    return outputs


class _Parser:
    """Reads from left to right; `kind`, `word` and `at` are the next token and its place."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.next_at, self.depth = text, 0, 0, 0
        self.kind, self.word = "", ""
        self.step()

    def step(self) -> None:
        """To the next token."""
        found = _TOKEN.match(self.text, self.next_at)
        if found is None:  # nothing but space is left
            self.kind, self.word, self.at = "end", "the end", len(self.text)
            return
        self.kind = str(found.lastgroup)
        self.word, self.at, self.next_at = found[self.kind], found.start(self.kind), found.end()

    def refuse(self, message: str, at: int | None = None) -> InputError:
        """An error with the place of the token, as line and column where there are several lines."""
        at = self.at if at is None else at
        line, column = self.text.count("\n", 0, at) + 1, at - (self.text.rfind("\n", 0, at) + 1) + 1
        where = f"line {line} column {column}" if "\n" in self.text.strip() else f"column {column}"
        return InputError(f"the formula cannot be read at {where}: {message}", line=line, column=column)

    def takes(self, *words: str) -> bool:
        """Whether the next token is one of the signs; then it is taken."""
        if self.kind != "sign" or self.word not in words:
            return False
        self.step()
        return True

    def expect(self, word: str) -> None:
        if not self.takes(word):
            raise self.refuse(f"expected `{word}`, found {self.shown()}")

    def end(self) -> None:
        if self.kind == "end":
            return
        if self.kind in ("name", "number") or self.word in "([":
            raise self.refuse(f"expected an operator before {self.shown()}; write 2*x for a product")
        raise self.refuse(f"{self.shown()} is unexpected")

    def shown(self) -> str:
        return self.word if self.kind == "end" else f"`{self.word[:40]}`"

    def outputs(self) -> tuple[Expression, ...]:
        """One output, or several between commas, with or without brackets around all of them."""
        closing = {"[": "]", "(": ")"}.get(self.word, "") if self.word == "[" or self.is_tuple() else ""
        if closing:
            self.step()
        found = [self.sum()]
        while self.takes(",") and self.kind != "end" and self.word != closing:
            found.append(self.sum())
        if closing:
            self.expect(closing)
        return tuple(found)

    def is_tuple(self) -> bool:
        """Whether a round bracket here closes at the very end, with a comma directly inside."""
        depth, comma = 0, False
        for place, sign in enumerate(self.text[self.at :], self.at):
            depth += (sign in "([") - (sign in ")]")
            comma |= sign == "," and depth == 1
            if depth == 0:
                return comma and not self.text[place + 1 :].strip()
        return False

    def sum(self) -> Expression:
        parts = [self.product()]
        while self.kind == "sign" and self.word in "+-":
            minus = self.word == "-"
            self.step()
            part = self.product()
            parts.append(scaled(Fraction(-1), part) if minus else part)
        return parts[0] if len(parts) == 1 else add(parts)

    def product(self) -> Expression:
        found = self.signed()
        while self.kind == "sign" and self.word in ("*", "/"):
            word, at = self.word, self.at
            self.step()
            other = self.signed()
            found = self.divided(found, other, at) if word == "/" else self.multiplied(found, other, at)
        if self.kind == "sign" and self.word in ("**", "^"):
            raise self.refuse("powers are not piecewise linear")
        return found

    def multiplied(self, a: Expression, b: Expression, at: int) -> Expression:
        constant, other = (a, b) if _constant(a) is not None else (b, a)
        factor = _constant(constant)
        if factor is None:
            raise self.refuse("a product of two variable factors is not piecewise linear", at)
        return self.moderate(scaled(factor, other), at)

    def divided(self, a: Expression, b: Expression, at: int) -> Expression:
        divisor = _constant(b)
        if divisor is None:
            raise self.refuse("a quotient by something variable is not piecewise linear", at)
        if divisor == 0:
            raise self.refuse("this divides by 0", at)
        return self.moderate(scaled(1 / divisor, a), at)

    def moderate(self, part: Expression, at: int) -> Expression:
        """Refuse numbers that grow without bound: a long product of long numbers."""
        value = _constant(part)
        if value is not None and max(value.numerator.bit_length(), value.denominator.bit_length()) > _DIGITS:
            raise self.refuse("this number has too many digits", at)
        return part

    def signed(self) -> Expression:
        minus = False
        while self.kind == "sign" and self.word in "+-":
            minus ^= self.word == "-"
            self.step()
        part = self.atom()
        return scaled(Fraction(-1), part) if minus else part

    def atom(self) -> Expression:
        at, word, kind = self.at, self.word, self.kind
        self.step()
        if kind == "number":
            try:
                return AffineForm((), fraction(word))
            except InputError as error:
                raise self.refuse(str(error), at) from None
        if kind == "name":
            return (
                self.call(word, at)
                if self.word == "(" and self.kind == "sign"
                else AffineForm(((word, Fraction(1)),), _ZERO)
            )
        if kind == "sign" and word == "(":
            with_brackets = self.inside(at)
            part = self.sum()
            self.depth = with_brackets
            self.expect(")")
            return part
        shown = word if kind == "end" else f"`{word[:40]}`"
        raise self.refuse(f"expected a number, a variable or a bracket, found {shown}", at)

    def inside(self, at: int) -> int:
        """One bracket deeper; the depth to go back to."""
        before = self.depth
        self.depth += 1
        if self.depth > _DEEP:
            raise self.refuse(f"brackets are nested more than {_DEEP} deep", at)
        return before

    def call(self, name: str, at: int) -> Expression:
        if name not in _FUNCTIONS:
            raise self.refuse(f"`{name[:40]}` is not a supported function; supported are {_CALLS}", at)
        before = self.inside(at)
        self.step()
        arguments = [self.sum()]
        while self.takes(","):
            arguments.append(self.sum())
        self.depth = before
        self.expect(")")
        least, most, make = _FUNCTIONS[name]
        if not least <= len(arguments) <= (most or len(arguments)):
            wanted = str(least) if least == most else f"at least {least}"
            raise self.refuse(f"`{name}` takes {wanted} arguments, not {len(arguments)}", at)
        return make(arguments)


def _constant(part: Expression) -> Fraction | None:
    return part.constant if isinstance(part, AffineForm) and not part.slopes else None


_FUNCTIONS: dict[str, tuple[int, int | None, Callable[[Sequence[Expression]], Expression]]] = {
    "abs": (1, 1, lambda a: maximum([a[0], scaled(Fraction(-1), a[0])])),
    "relu": (1, 1, lambda a: maximum([a[0], AffineForm((), Fraction(0))])),
    "clip": (3, 3, lambda a: minimum([maximum([a[0], a[1]]), a[2]])),
    "max": (1, None, maximum),
    "min": (1, None, minimum),
}


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """To sort by: digits by their value, so that x2 comes before x10.

    >>> sorted(["x10", "x9", "a"], key=natural_key)
    ['a', 'x9', 'x10']
    """
    return tuple((1, 0, word) if not word.isdecimal() else (0, int(word), "") for word in re.findall(r"\d+|\D+", name))


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
        if isinstance(part, AffineForm):
            return highest([part])
        if isinstance(part, Max):
            flat = [member for member in part.members if isinstance(member, AffineForm)]
            bent = [made(member) for member in part.members if not isinstance(member, AffineForm)]
            return _joined([highest(flat), *bent] if flat else bent, lambda p, q: greatest((p, q)))
        if domain is None and (rank := _independent_hinges(part)) >= _MOST.bit_length():
            raise _too_many(f"at least 2^{rank} pieces")
        return _joined(
            [highest([part.base]), *(arithmetic.times(made(term), factor) for factor, term in part.terms)],
            arithmetic.add,
        )

    def highest(members: Sequence[AffineForm]) -> CPWL:
        """The maximum of affine functions."""
        if (numbers := len(members) ** 2 * len(place)) > _NUMBERS:
            raise _too_many(f"{len(members):,} pieces in R^{len(place)} with {numbers:,} numbers")
        laws = [[Fraction(0)] * len(place) + [member.constant] for member in members]
        for law, member in zip(laws, members, strict=True):
            for name, slope in member.slopes:
                law[place[name]] = slope
        p = CPWL.from_maxmin(laws, [[m] for m in range(len(laws))])
        return p if domain is None else restrict(p, domain=domain)

    p = arithmetic.side_by_side([made(output) for output in outputs])
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


def _independent_hinges(part: SumOfMaxima) -> int:
    """A number `r` such that the sum has at least ``2^r`` pieces on R^n; 0 if that is not known.

    A sum of maxima of two affine functions bends on the whole hyperplane on which two are equal, unless terms cancel
    there; hyperplanes with `r` independent normals have ``2^r`` cells, and no piece crosses one.
    """
    bend: dict[tuple[tuple[str, Fraction], ...], Fraction] = {}
    for factor, term in part.terms:
        if len(term.members) != 2 or not all(isinstance(member, AffineForm) for member in term.members):
            return 0
        one, two = (member for member in term.members if isinstance(member, AffineForm))
        step = dict(one.slopes) | {"": one.constant}
        for name, value in (*two.slopes, ("", two.constant)):
            step[name] = step.get(name, Fraction(0)) - value
        row = sorted((name, value) for name, value in step.items() if value)
        if not row or not row[-1][0]:  # parallel: no bend
            continue
        plane = tuple((name, value / row[-1][1]) for name, value in row)
        bend[plane] = bend.get(plane, Fraction(0)) + factor * abs(row[-1][1])
    rows = [[(name, value) for name, value in plane if name] for plane, change in bend.items() if change]
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
        if isinstance(part, AffineForm):
            slopes = [slope for _, slope in part.slopes]
            columns = np.array([place[name] for name, _ in part.slopes], dtype=np.int64)
            rows = np.zeros(len(slopes), dtype=np.int64)
            row = RationalMatrix.from_triples(rows, columns, _exact(slopes), (1, len(variables)))
            return x.linear(row, (1,)).plus(_exact([part.constant]))
        if isinstance(part, Max):  # of a constant and one more member a single neuron makes a maximum
            constants = [m for m in part.members if isinstance(m, AffineForm) and not m.slopes]
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
    names.update(name for name, _ in (part if isinstance(part, AffineForm) else part.base).slopes)
    for _, term in () if isinstance(part, AffineForm) else part.terms:
        _collect(term, names, seen)
