"""What functions are, in plain Python rationals: the oracle of the soak. Nothing of the package is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Point", "Truth", "inside", "of_maxmin", "of_network", "of_table", "solve"]

Point = Sequence[Fraction]
Law = Sequence[Fraction]


@dataclass(frozen=True, slots=True)
class Truth:
    """A function by its definition: its value at a rational point, or None outside of its domain."""

    inputs: int
    outputs: int
    value: Callable[[Point], list[Fraction] | None]


def at(law: Law, x: Point) -> Fraction:
    """An affine function, its constant last, at a point."""
    return sum((g * v for g, v in zip(law, x, strict=False)), Fraction(law[-1]))


def of_maxmin(components: Sequence[Law], rows: Sequence[Sequence[int]]) -> Truth:
    """``max over rows of min over members``."""

    def value(x: Point) -> list[Fraction]:
        values = [at(law, x) for law in components]
        return [max(min(values[m] for m in row) for row in rows)]

    return Truth(len(components[0]) - 1, 1, value)


def of_network(layers: Sequence[tuple[Sequence[Law], Sequence[Fraction]]]) -> Truth:
    """Affine maps with a ReLU between any two of them."""

    def value(x: Point) -> list[Fraction]:
        h = list(x)
        for k, (weight, bias) in enumerate(layers):
            z = [
                sum((w * v for w, v in zip(row, h, strict=True)), Fraction(b))
                for row, b in zip(weight, bias, strict=True)
            ]
            h = z if k == len(layers) - 1 else [max(v, Fraction(0)) for v in z]
        return h

    return Truth(len(layers[0][0][0]), len(layers[-1][1]), value)


def of_table(
    points: Sequence[Point], simplices: Sequence[Sequence[int]], values: Sequence[Sequence[Fraction]]
) -> Truth:
    """Barycentric interpolation in the first simplex that holds the point."""
    inverses = [inverse([[*points[v], Fraction(1)] for v in simplex]) for simplex in simplices]

    def value(x: Point) -> list[Fraction] | None:
        for simplex, back in zip(simplices, inverses, strict=True):
            share = [
                sum((a * b for a, b in zip([*x, Fraction(1)], column, strict=True)), Fraction(0))
                for column in zip(*back, strict=True)
            ]
            if min(share) >= 0:
                corners = [values[v] for v in simplex]
                return [
                    sum((s * z[o] for s, z in zip(share, corners, strict=True)), Fraction(0))
                    for o in range(len(corners[0]))
                ]
        return None

    return Truth(len(points[0]), len(values[0]), value)


def inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """By Gauss and Jordan."""
    size = len(matrix)
    identity = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    return solve(matrix, identity)


def solve(matrix: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    """``X`` with ``matrix X = right``."""
    size = len(matrix)
    rows = [[*map(Fraction, a), *b] for a, b in zip(matrix, right, strict=True)]
    for k in range(size):
        pivot = next(i for i in range(k, size) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]


def inside(rows: Sequence[Law], x: Point, slack: Fraction = Fraction(0)) -> bool:
    """Whether ``a.x <= b`` for all rows ``(a, b)``, up to `slack` times the size of their terms."""
    for row in rows:
        terms = [g * v for g, v in zip(row, x, strict=False)]
        size = max([abs(t) for t in terms] + [abs(row[-1])], default=Fraction(0))
        if sum(terms, Fraction(0)) > row[-1] + slack * size:
            return False
    return True
