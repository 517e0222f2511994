"""The span of sparse rational vectors, grown one vector at a time, and coordinates in it."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpq

from cpwl.exact.flint import from_flint, to_flint

__all__ = ["Span", "Vector"]

Vector = dict[int, Fraction]
_Inner = dict[int, fmpq]  # many times faster than fractions


class Span:
    """Independent vectors, and every vector of their span in terms of them.

    >>> span = Span()
    >>> [span.insert({0: Fraction(1), 1: Fraction(k)}) for k in (2, 3, 4)]
    [True, True, False]
    >>> span.express({1: Fraction(5)}), span.express({2: Fraction(1)})
    ({0: Fraction(-5, 1), 1: Fraction(5, 1)}, None)
    """

    def __init__(self) -> None:
        self.rank = 0
        self._rows: dict[int, tuple[_Inner, _Inner]] = {}  # by pivot: a row with 1 there, and what it is made of

    def insert(self, vector: Vector) -> bool:
        """Whether the vector was independent of those before, and is now the next one."""
        rest, made = self._reduce(vector)
        if not rest:
            return False
        pivot = min(rest, key=lambda key: (_length(rest[key]), key))  # a short number keeps all numbers short
        scale = 1 / rest[pivot]
        made = {key: -value * scale for key, value in made.items()}
        made[self.rank] = scale
        self._rows[pivot] = ({key: value * scale for key, value in rest.items()}, made)
        self.rank += 1
        return True

    def express(self, vector: Vector) -> Vector | None:
        """Factors of the inserted vectors, by number; None if the vector is outside."""
        rest, made = self._reduce(vector)
        return None if rest else {key: from_flint(value) for key, value in made.items()}

    def _reduce(self, vector: Vector) -> tuple[_Inner, _Inner]:
        """What is left of a vector, and the factors of what was taken off."""
        rest = {key: to_flint(value) for key, value in vector.items() if value}
        made: _Inner = {}
        for pivot in self._rows:  # in order: earlier rows may contain pivots of later ones, not the other way round
            if pivot in rest:
                factor = rest[pivot]
                row, origin = self._rows[pivot]
                _add(rest, -factor, row)
                _add(made, factor, origin)
        return rest, made


def _length(x: fmpq) -> int:
    return int(x.p).bit_length() + int(x.q).bit_length()


def _add(total: _Inner, factor: fmpq, vector: _Inner) -> None:
    for key, value in vector.items():
        changed = total[key] + factor * value if key in total else factor * value
        if changed:
            total[key] = changed
        else:
            total.pop(key, None)
