"""Expressions of affine functions, sums and maxima: all that a piecewise-linear formula is made of.

``min(a, b) = -max(-a, -b)``, ``abs(a) = max(a, -a)``, ``relu(a) = max(a, 0)``. What can be computed at once is: sums of
affine functions are affine, a maximum inside a maximum is one maximum, and of parallel members the highest is kept.

Parts are shared: ``abs(a)`` has `a` in it twice, so that a text with `k` of them nested writes down 2^k parts,
of which `k` are different. Each knows a digest of what it is, by which it is compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import TypeAlias

from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import fraction


@dataclass(frozen=True, slots=True)
class Affine:
    """``sum of slopes[v] * v + constant`` over variables `v`, by name; no slope is 0."""

    slopes: tuple[tuple[str, Fraction], ...]
    constant: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What is compared by its digest alone."""

    digest: bytes = field(init=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Part) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, slots=True, eq=False)
class Sum(_Part):
    """``base + sum of factor * term``, all terms maxima."""

    base: Affine
    terms: tuple[tuple[Fraction, Max], ...]

    def __post_init__(self) -> None:
        parts = (repr(factor).encode() + term.digest for factor, term in self.terms)
        object.__setattr__(self, "digest", _digest(b"sum", _bytes(self.base), *parts))


@dataclass(frozen=True, slots=True, eq=False)
class Max(_Part):
    """The largest of at least two members."""

    members: tuple[Expression, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", _digest(b"max", *map(_bytes, self.members)))


Expression: TypeAlias = Affine | Sum | Max
_ZERO = Fraction(0)


def _bytes(part: Expression) -> bytes:
    return repr(part).encode() if isinstance(part, Affine) else part.digest


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
        base = part.base if isinstance(part, Sum) else part
        for name, slope in base.slopes:
            slopes[name] = slopes.get(name, _ZERO) + slope
        constant += base.constant
        for factor, term in part.terms if isinstance(part, Sum) else ():
            factors[term] = factors.get(term, _ZERO) + factor
    base = Affine(tuple(sorted((name, slope) for name, slope in slopes.items() if slope)), constant)
    terms = tuple((factor, term) for term, factor in factors.items() if factor)
    if not terms:
        return base
    if terms[0][0] == 1 and len(terms) == 1 and not base.slopes and not base.constant:
        return terms[0][1]
    return Sum(base, terms)


def scaled(factor: Fraction, part: Expression) -> Expression:
    """A constant times an expression."""
    if factor == 1:
        return part
    if isinstance(part, Affine):
        slopes = tuple((name, factor * slope) for name, slope in part.slopes) if factor else ()
        return Affine(slopes, factor * part.constant)
    if factor == 0:
        return Affine((), _ZERO)
    if isinstance(part, Max):
        return Sum(Affine((), _ZERO), ((factor, part),))
    base = scaled(factor, part.base)
    assert isinstance(base, Affine)
    return add([base, Sum(Affine((), _ZERO), tuple((factor * f, term) for f, term in part.terms))])


def maximum(parts: Sequence[Expression]) -> Expression:
    """The largest of expressions."""
    highest: dict[tuple[tuple[str, Fraction], ...], Affine] = {}
    others: dict[Expression, None] = {}
    for part in parts:
        for member in part.members if isinstance(part, Max) else (part,):
            if not isinstance(member, Affine):
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
    reader = _Reader(text)
    outputs = reader.outputs()
    reader.end()
    return outputs


class _Reader:
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
        if self.takes("["):
            found = self.list("]")
            self.expect("]")
            return found
        return self.list("")

    def list(self, closing: str) -> tuple[Expression, ...]:
        found = self.several()
        while self.takes(","):
            if self.kind == "end" or self.word == closing:
                break
            found = (*found, *self.several())
        return found

    def several(self) -> tuple[Expression, ...]:
        """A sum; or a list in round brackets that is all there is."""
        if self.at == len(self.text) - len(self.text.lstrip()) and self.word == "(" and self.is_tuple():
            self.step()
            found = self.list(")")
            self.expect(")")
            return found
        return (self.sum(),)

    def is_tuple(self) -> bool:
        """Whether the bracket here closes at the very end, with a comma directly inside."""
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
                return Affine((), fraction(word))
            except InputError as error:
                raise self.refuse(str(error), at) from None
        if kind == "name":
            return (
                self.call(word, at)
                if self.word == "(" and self.kind == "sign"
                else Affine(((word, Fraction(1)),), _ZERO)
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
    return part.constant if isinstance(part, Affine) and not part.slopes else None


_FUNCTIONS: dict[str, tuple[int, int | None, Callable[[Sequence[Expression]], Expression]]] = {
    "abs": (1, 1, lambda a: maximum([a[0], scaled(Fraction(-1), a[0])])),
    "relu": (1, 1, lambda a: maximum([a[0], Affine((), Fraction(0))])),
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
