"""Exact geometry: a point x is held as integers, a positive multiple of (x, 1), a direction as (x, 0)."""

import functools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import and_, mul
from typing import Any, NamedTuple

from cpwl_check.budget import Refused, Undecided, aside, longest, spend, work
from cpwl_check.pieces import Law, Piece, Vector, over_one, solved


def dot(u: Sequence[int], v: Sequence[int]) -> int:
    return sum(map(mul, u, v))


def minus(v: list[int]) -> list[int]:
    return [-x for x in v]


def show(x: list[int]) -> str:
    short = [str(Fraction(v, x[-1] or 1)) for v in x[:-1]] if max(map(abs, x)) < 10**500 else "a place far away"
    return f"{'x =' if x[-1] else 'the end of'} {short}"


def mix(a: int, u: list[int], b: int, v: list[int]) -> list[int]:
    """``a u + b v``, up to a positive factor."""
    w = [a * x + b * y for x, y in zip(u, v, strict=True)]
    divisor = math.gcd(*w) or 1
    return [x // divisor for x in w]


class Cone(NamedTuple):
    """All sums of multiples of the lines and of non-negative multiples of the rays; at the same time, all places where
    some rows are at least 0. A ray has bit r set if row r is 0 there. No ray is a sum of others, up to lines."""

    lines: list[list[int]]
    rays: list[tuple[list[int], int]]
    rows: int
    bits: int  # of the longest number in lines and rays

    def generators(self) -> list[list[int]]:
        return [ray for ray, _ in self.rays] + self.lines + [minus(line) for line in self.lines]

    def pay(self, times: int, row: list[int], where: str = "geometry") -> None:
        """For a number of products of the row with lines and rays."""
        one = 1 + work(len(row), max(map(abs, row)).bit_length(), self.bits)
        spend(1 + times * (len(self.rays) + len(self.lines)) * one // 2, where)

    def cut(self, row: list[int]) -> "Cone":
        """The part where the row is at least 0 (double description: Motzkin, Raiffa, Thompson and Thrall 1953)."""
        bit, where, size = 1 << self.rows, "geometry", longest([row]) + 2 * self.bits
        self.pay(4, row)
        mixing = 1 + work(2 * len(row), size, size)
        for i, line in enumerate(self.lines):
            if v := dot(row, line):
                spend((len(self.lines) + len(self.rays)) * mixing, where)
                ray, v = (line, v) if v > 0 else (minus(line), -v)
                lines = [mix(v, g, -dot(row, g), ray) for g in self.lines[:i] + self.lines[i + 1 :]]
                rays = [(mix(v, g, -dot(row, g), ray), bits | bit) for g, bits in self.rays]
                longer = max(self.bits, longest(lines), longest(g for g, _ in rays))
                return Cone(lines, [*rays, (ray, bit - 1)], self.rows + 1, longer)
        values = [(dot(row, g), g, bits) for g, bits in self.rays]
        above, below = [x for x in values if x[0] > 0], [x for x in values if x[0] < 0]
        on = {bits | bit: g for v, g, bits in values if v == 0}
        # A new ray that is no sum of others is 0 in all independent rows but one; in as many before, without this one.
        few, one = len(row) - len(self.lines) - 2, 1 + self.rows // 256
        new: dict[int, tuple[int, list[int], int, list[int]]] = {}
        for u, g, b in above:
            known = len(new)
            new |= {b & c | bit: (u, h, -v, g) for v, h, c in below if (b & c).bit_count() >= few}
            spend(one * len(below) // 4 + 4 * (len(new) - known), where)
        # Of these, those are no sums of others for which no other one is 0 in more rows.
        spend(one * len(new) * (len(on) + len(new)) // 20, where)
        extreme = [b for b in new if not any(b & c == b != c for c in (*on, *new))]
        spend(len(extreme) * mixing, where)
        made = {b: mix(*new[b]) for b in extreme}
        rays = [(g, bits) for _, g, bits in above] + [(g, b) for b, g in (made | on).items()]
        return Cone(self.lines, rays, self.rows + 1, max(self.bits, longest(made.values())))

    def side(self, row: list[int]) -> int:
        """1 if the row is negative nowhere here, -1 if it is positive nowhere, 0 if it has both signs."""
        self.pay(1, row)
        if any(dot(row, line) for line in self.lines):
            return 0
        values = [dot(row, g) for g, _ in self.rays]
        return 1 if min(values, default=0) >= 0 else -1 if max(values) <= 0 else 0

    def is_solid(self) -> bool:
        """Whether the points of the cone have an interior: no row, not even that of (x, 1), is 0 on all of it."""
        return bool(self.rays) and not functools.reduce(and_, (bits for _, bits in self.rays))


def region(n: int, rows: list[list[int]]) -> Cone:
    """The cone over the points where all rows are at least 0."""
    spend((n + 1) ** 2 // 2, "geometry")
    unit = [[int(i == j) for j in range(n + 1)] for i in range(n + 1)]
    return functools.reduce(Cone.cut, [unit[n], *rows], Cone(unit, [], 0, 1))


def simplex_cone(corners: list[list[int]]) -> Cone:
    """The cone over a simplex: facet i is opposite corner i."""
    facets = 2 ** len(corners) - 1
    spend(len(corners) ** 2 // 8, "geometry")
    rays = [(mix(1, x, 0, x), facets - 2**i) for i, x in enumerate(corners)]
    return Cone([], rays, len(corners), longest(g for g, _ in rays))


def piece_cone(piece: Piece, n: int) -> Cone:
    return simplex_cone(piece.corners) if piece.corners else region(n, [row for row, _ in piece.rows.values()])


def rows_and_laws(piece: Piece) -> tuple[list[list[int]], list[Vector]]:
    """The rows of a piece, which are at least 0 on it, and the coefficients of its laws."""
    if not piece.corners:
        return [row for row, _ in piece.rows.values()], piece.laws
    count, outputs = len(piece.corners), len(piece.laws)
    units: list[Vector] = [([int(i == j) for j in range(count)], 1) for i in range(count)]
    found = solved(piece._replace(laws=[*piece.laws, *units]))
    return [mix(1, row, 0, row) for row, _ in found[outputs:]], found[:outputs]


def split(part: Cone, rows: list[list[int]]) -> tuple[Cone | None, list[Cone]]:
    """The part of a region where all rows are at least 0, None if it is flat or empty; and convex parts that cover the
    rest."""
    rest = []
    while (sides := [part.side(row) for row in rows]) and min(sides) == 0:
        cut = rows[sides.index(0)]
        rest.append(part.cut(minus(cut)))
        part = part.cut(cut)
    return (None, [*rest, part]) if min(sides, default=0) < 0 else (part, rest)


def outside(part: Cone, bodies: list[list[list[int]]]) -> list[Cone]:
    """Convex parts that cover what some bodies, each given by rows that are at least 0 on it, leave of a region."""
    rest = [part]
    for rows in bodies:
        rest = [one for each in rest for one in split(each, rows)[1]]
    return rest


def reduced(
    rows: Iterable[Sequence[int]], most: int, basis: dict[int, list[int]] | None = None
) -> dict[int, list[int]]:
    """A basis of what the rows span, with such a basis of others; by coordinates in which one member is not 0 and the
    others are. When there are `most`, the rest is not looked at."""
    basis = dict(basis or {})
    for given in rows:
        if len(basis) == most:
            break
        row = list(given)
        for j, other in basis.items():
            if row[j]:
                spend(4 + work(4 * len(row), longest([row]), longest([other])) + len(row), "geometry")
                row = mix(abs(other[j]), row, -row[j] * (1 if other[j] > 0 else -1), other)
        pivot = next((j for j, v in enumerate(row) if v), None)
        if pivot is not None:
            for j, other in basis.items():
                if other[pivot]:
                    spend(4 + work(4 * len(row), longest([row]), longest([other])) + len(row), "geometry")
                    basis[j] = mix(abs(row[pivot]), other, -other[pivot] * (1 if row[pivot] > 0 else -1), row)
            basis[pivot] = mix(1, row, 0, row)
        spend(4 + len(row), "geometry")
    return basis


def overlap(boxes: list[tuple[list[tuple[Any, Any]], Any]]) -> tuple[Any, Any] | None:
    """The names of two boxes whose insides meet; None if there are none. A box is given by its ends on each axis."""
    order = sorted(boxes)
    for place, (box, one) in enumerate(order):
        for other, two in (order[i] for i in range(place + 1, len(order))):
            if other[0][0] >= box[0][1]:
                break  # they are sorted by where they begin
            spend(2 * len(box), "boxes")
            if all(a[0] < b[1] and b[0] < a[1] for a, b in zip(box, other, strict=True)):
                return one, two
    return None


# --- What the statement is about --------------------------------------------------------------------------------------


def has_inner_point(rows: list[list[int]], n: int) -> bool:
    """Whether a point that is easily found is strictly inside: by relaxation in floats, verified exactly."""
    try:
        sizes = [math.hypot(*row[:-1]) or 1.0 for row in rows]
        unit = [[v / size for v in row] for row, size in zip(rows, sizes, strict=True)]
        x = [0.0] * n
        for step in range(40):
            spend(len(rows) * (8 + n) // 16, "pieces")
            values = [sum(map(mul, row, [*x, 1.0])) for row in unit]
            least = min(values, default=1.0)
            if least > 0:
                whole, d = over_one([Fraction(v) for v in x])
                return all(dot(row, [*whole, d]) > 0 for row in rows)
            push = 4.0 ** -(step // 2) - least
            x = [v + push * a for v, a in zip(x, unit[values.index(least)], strict=False)]
    except (OverflowError, ValueError):
        pass
    return False


def shape(piece: Piece, n: int) -> str:
    """Whether a piece is solid, flat or empty; or open, if that is not seen in a few steps."""
    if piece.corners or has_inner_point([row for row, _ in piece.rows.values()], n):
        return "solid"
    cone = aside(lambda: piece_cone(piece, n))
    if cone is None:
        return "open"
    return "solid" if cone.is_solid() else "flat" if any(g[-1] for g, _ in cone.rays) else "empty"


def need_substance(law: Law) -> None:
    """Hypothesis (3): of no pieces, or of pieces without interior, almost everything is true."""
    seen = set[str]()
    for piece in law.pieces:
        seen.add(shape(piece, law.n))
        if "solid" in seen:
            return
    count = len(law.pieces) + law.flat
    if "open" in seen:
        raise Undecided(f"function: whether one of {count} pieces has an interior, and there is something to prove")
    raise Refused(f"function: no piece has an interior, of {count}: there is nothing to prove")
