"""Sums of an affine function, hinges ``s(l)`` and gates ``[l > 0] d``: the formal functions that gates are made of.

The normal form of ``[l > 0] d`` is linear in `d`, with ``[l > 0] b l = b s(l)``, ``[l > 0] s(l) = s(l)`` and
``[l > 0] [l > 0] d = [l > 0] d`` (docs/theory/local_gates.md). All coefficients are rationals.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import gcd
from operator import mul

from flint import fmpq

from cpwl.construct.blocks.common import Rational

ZERO = fmpq(0)
Plane = tuple[int, ...]
"""The affine function ``a.x + b`` as integers ``(a, b)`` without a common divisor."""


def dot(a: Sequence[Rational], b: Sequence[Rational]) -> Rational:
    """The sum of products of entries."""
    return sum(map(mul, a, b), 0)  # equally long; asked millions of times


class Planes:
    """Numbers hyperplanes, each oriented so that one reference point has ``l < 0``.

    Then all hinges and gates vanish near that point, and the affine part of a sum is what the sum is there: one law
    rather than a sum of many, with few digits.
    """

    def __init__(self, reference: Plane) -> None:
        self.reference = reference
        self.rows: list[Plane] = []
        self.directions: list[Plane] = []
        """For each plane the primitive normal, first entry positive: what parallel planes have in common."""
        self._number: dict[Plane, int] = {}

    def number(self, row: Plane) -> tuple[int, int]:
        """The number of the hyperplane of a primitive row, and the sign of the row against its orientation."""
        value = dot(row, self.reference) or next(v for v in row if v)
        sign = -1 if value > 0 else 1
        oriented = row if sign > 0 else tuple(-v for v in row)
        if oriented not in self._number:
            self._number[oriented] = len(self.rows)
            self.rows.append(oriented)
            divisor = gcd(*row[:-1]) * (1 if next(v for v in row if v) > 0 else -1)
            self.directions.append(tuple(v // divisor for v in row[:-1]))
        return self._number[oriented], sign


class Terms:
    """``affine + sum of hinges + sum of gates``: coefficients by the number of the plane, of the gate."""

    __slots__ = ("affine", "gates", "hinges")

    def __init__(self, size: int) -> None:
        self.affine: list[Rational] = [ZERO] * size
        self.hinges: dict[int, Rational] = {}
        self.gates: dict[int, Rational] = {}

    def copy(self) -> Terms:
        """The same terms, to be changed."""
        new = Terms(0)
        new.affine, new.hinges, new.gates = list(self.affine), dict(self.hinges), dict(self.gates)
        return new

    def add_affine(self, row: Sequence[Rational], factor: Rational) -> None:
        """Adds a multiple of an affine function."""
        self.affine = [a + factor * v for a, v in zip(self.affine, row, strict=True)]

    def add_hinge(self, plane: int, factor: Rational) -> None:
        """Adds a multiple of a hinge."""
        _accumulate(self.hinges, plane, factor)

    def add_gate(self, gate: int, factor: Rational) -> None:
        """Adds a multiple of a gate."""
        _accumulate(self.gates, gate, factor)

    def times(self, factor: Rational) -> Terms:
        """A multiple of the terms."""
        new = Terms(0)
        new.affine = [factor * v for v in self.affine]
        new.hinges = {k: factor * v for k, v in self.hinges.items()}
        new.gates = {k: factor * v for k, v in self.gates.items()}
        return new

    def is_zero(self) -> bool:
        """Whether nothing is left."""
        return self.is_constant() and self.affine[-1] == 0

    def is_constant(self) -> bool:
        """Whether only a number is left."""
        return not self.hinges and not self.gates and all(v == 0 for v in self.affine[:-1])

    def pattern(self) -> Hashable:
        """Which terms there are, but for the number added: the same for terms that are proportional."""
        return frozenset(self.hinges), frozenset(self.gates), tuple(v != 0 for v in self.affine[:-1])

    def ratio(self, other: Terms, *, constant: bool = True) -> Rational | None:
        """The factor for which these terms are that multiple of the others; None if there is none.

        Without `constant` that is up to a number added. Both must have the same pattern, and not be constant.
        """
        mine, theirs = ([*t.hinges.items(), *t.gates.items()] for t in (self, other))
        pairs = [(v, (other.hinges if i < len(self.hinges) else other.gates)[k]) for i, (k, v) in enumerate(mine)]
        last = len(self.affine) - (not constant)
        pairs += zip(self.affine[:last], other.affine[:last], strict=True)
        assert len(mine) == len(theirs)
        top, bottom = next(pair for pair in pairs if pair[1] != 0)
        return top / bottom if all(a * bottom == b * top for a, b in pairs) else None


@dataclass(slots=True)
class Gate:
    """``[l > 0] d``: the plane of `l`, the terms `d`, which vanish on it, the codimension of its faces, the layer."""

    plane: int
    content: Terms
    codimension: int
    layer: int = 0


def _accumulate(table: dict[int, Rational], key: int, value: Rational) -> None:
    total = table.get(key, ZERO) + value
    if total == 0:
        table.pop(key, None)
    else:
        table[key] = total
