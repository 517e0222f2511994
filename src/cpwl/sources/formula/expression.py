"""Expressions of affine functions, sums and maxima: all that a piecewise-linear formula is made of.

``min(a, b) = -max(-a, -b)``, ``abs(a) = max(a, -a)``, ``relu(a) = max(a, 0)``. What can be computed at once is: sums of
affine functions are affine, a maximum inside a maximum is one maximum, and of parallel members the highest is kept.

Parts are shared: ``abs(a)`` has `a` in it twice, so that a text with `k` of them nested writes down 2^k parts,
of which `k` are different. Each knows a digest of what it is, by which it is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import TypeAlias

__all__ = ["Affine", "Expression", "Max", "Sum", "add", "maximum", "minimum", "scaled"]


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
