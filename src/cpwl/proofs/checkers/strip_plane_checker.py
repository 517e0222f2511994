"""The plane geometry of strip_checker.py, which needs it beside it: pieces, and where a sum of hinges and gates bends.

Only the standard library, only integers and fractions. Why this is a proof is in docs/strips.md.
"""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

Row = tuple[int, int, int]  # a xi + b eta + c up to a positive factor, or a point (W xi, W eta, W) with W > 0
Scaled = tuple[Row, int]  # a row over a positive denominator
Affine = list[Fraction]  # a xi + b eta + c
Parts = list[tuple[Fraction, Scaled]]  # a sum of factors times hinges
Jumps = dict[Row, list[tuple[Fraction, Fraction, Fraction]]]  # by line: from xi, to xi, jump of the slope in eta
Edge = tuple[Row, Fraction, Fraction, int, int]  # a line, a range of xi, and the pieces above and below it there
ZERO = Fraction(0)


def whole(f: Affine) -> Scaled:
    d = math.lcm(*(x.denominator for x in f))
    a, b, c = (x.numerator * (d // x.denominator) for x in f)
    return (a, b, c), d


def dot(u: Row, v: Row) -> int:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def cross(u: Row, v: Row) -> Row:
    """The line through two points, or the point on two lines."""
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


def divided(row: Row, sign: int) -> Row:
    """The row without a common divisor, turned if the sign is negative."""
    divisor = math.gcd(*row) if sign > 0 else -math.gcd(*row)
    return row[0] // divisor, row[1] // divisor, row[2] // divisor


def value(f: Affine, x: Row) -> Fraction:
    return (f[0] * x[0] + f[1] * x[1] + f[2] * x[2]) / x[2]


def around(polygon: list[Row]) -> list[tuple[Row, Row]]:
    return list(zip(polygon, polygon[1:] + polygon[:1], strict=True))


def cut(polygon: list[Row], row: Row) -> list[Row]:
    """The part of a convex polygon, its corners in order, where the row is at least 0."""
    kept = []
    for p, q in around(polygon):
        u, v = dot(row, p), dot(row, q)
        kept += [p] if u >= 0 else []
        if u * v < 0:
            a, b, c = (abs(v) * x + abs(u) * y for x, y in zip(p, q, strict=True))
            kept.append(divided((a, b, c), 1))
    return kept


def between(polygon: list[Row], begin: Fraction, end: Fraction) -> list[Row]:
    left = cut(polygon, (begin.denominator, 0, -begin.numerator))
    return cut(left, (-end.denominator, 0, end.numerator))


def hull(points: list[Row]) -> list[Row]:
    """The corners of the convex hull, turning left; fewer than three if it has no interior."""
    order = sorted({divided(x, 1) for x in points}, key=lambda x: (Fraction(x[0], x[2]), Fraction(x[1], x[2])))
    corners: list[Row] = []
    for sequence in (order, order[::-1]):
        chain: list[Row] = []
        for x in sequence:
            while len(chain) > 1 and dot(cross(chain[-2], chain[-1]), x) <= 0:
                chain.pop()
            chain.append(x)
        corners += chain[:-1]
    return corners


class Piece(NamedTuple):
    corners: list[Row]  # turning left
    laws: list[Affine]  # one an output
    begin: Fraction  # the range of xi
    end: Fraction
    sides: list[Row]  # at least 0 on the piece, one for each edge


class Frame(NamedTuple):
    """xi = t . x and eta = u . x."""

    t: list[int]
    u: list[int]

    def affine(self, a: Fraction, b: Fraction, c: Fraction) -> Affine:
        """``a x + b y + c`` as a function of xi and eta."""
        (t, v), (u, w) = self.t, self.u
        return [Fraction(a * w - b * u) / (t * w - v * u), Fraction(b * t - a * v) / (t * w - v * u), Fraction(c)]

    def piece(self, checker: Any, piece: Any, where: str) -> Piece | None:
        """The piece as a polygon; None if it is empty."""
        points = piece.corners or checker.region(2, [row for row, _ in piece.rows.values()]).generators()
        if not any(g[2] for g in points):
            return None
        checker.need(all(g[2] for g in points), where, "it is unbounded")
        (t, v), (u, w) = self.t, self.u
        places = [(t * x + v * y, u * x + w * y, d) for x, y, d in points]
        corners, laws = hull(places), []
        checker.need(len(corners) > 2, where, "it has no interior")
        for law, d in piece.laws:
            if not piece.corners:
                laws.append(self.affine(*(Fraction(x, d) for x in law)))
                continue
            total = [ZERO, ZERO, ZERO]  # from the values at the corners: the sum of these times hat functions
            for i, z in enumerate(law):
                side = cross(places[i - 2], places[i - 1])
                share = Fraction(z * places[i][2], d * dot(side, places[i]))
                total = [s + share * x for s, x in zip(total, side, strict=True)]
            laws.append(total)
        xi = [Fraction(x[0], x[2]) for x in corners]
        return Piece(corners, laws, min(xi), max(xi), [cross(p, q) for p, q in around(corners)])


class Bends:
    """Where a sum of hinges and gates bends in a strip: by line, the jump at the far left, and its steps."""

    def __init__(self, checker: Any, where: str, begin: Fraction, end: Fraction) -> None:
        self.need, self.where, self.begin, self.end = checker.need, where, begin, end
        self.first: dict[Row, Fraction] = defaultdict(Fraction)
        self.steps: dict[Row, dict[Fraction, Fraction]] = defaultdict(lambda: defaultdict(Fraction))

    def hinge(self, factor: Fraction, row: Row, d: int) -> None:
        if row[1]:
            self.first[divided(row, row[1])] += factor * abs(Fraction(row[1], d))
        elif row[0]:
            vertical = self.begin < Fraction(-row[2], row[0]) < self.end
            self.need(not vertical, self.where, "a hinge bends on a vertical line")

    def gate(self, factor: Fraction, parts: Parts) -> None:
        """``factor relu(sum of w relu(l))`` for lines through one point bends on rays from there."""
        parts = [(w, (row, d)) for w, (row, d) in parts if row[0] or row[1] or row[2] > 0]
        self.need(all(row[1] for _, (row, _) in parts), self.where, "a gate has a constant or vertical part")
        if len(parts) < 2:
            for w, (row, d) in parts:
                self.hinge(factor * max(w, ZERO), row, d)
            return
        meet = next((x for _, (row, _) in parts if (x := cross(parts[0][1][0], row))[2]), (0, 0, 0))
        x = divided(meet, meet[2]) if meet[2] else meet
        together = meet[2] and not any(dot(row, x) for _, (row, _) in parts)
        self.need(together, self.where, "the lines of a gate do not meet in one point")
        rates = [(w, Fraction(row[1], d), Fraction(-row[0], row[1])) for w, (row, d) in parts]
        for side in (1, -1):  # to the right of the point, and to the left
            for slope, jump in self.kinks([(w, side * k, q) for w, k, q in rates]).items():
                a, b = -slope.numerator * x[2], slope.denominator * x[2]
                line = divided((a, b, -(a * x[0] + b * x[1]) // x[2]), 1)
                self.steps[line][Fraction(x[0], x[2])] += side * factor * jump
                self.first[line] += factor * jump if side < 0 else 0

    def kinks(self, parts: list[tuple[Fraction, Fraction, Fraction]]) -> dict[Fraction, Fraction]:
        """Kinks of ``relu(f)`` for ``f(p) = sum of w relu(k (p - q))``; it must not end in a positive constant."""
        f = {q: sum((w * max(k * (q - r), ZERO) for w, k, r in parts), ZERO) for _, _, q in parts}
        first, *_, last = places = sorted(f)
        before, after = (sum((w * k for w, k, _ in parts if s * k > 0), ZERO) for s in (-1, 1))
        vertical = (f[first] > 0 and not before) or (f[last] > 0 and not after)
        self.need(not vertical, self.where, "a gate bends on a vertical line")
        zeros = [p + (q - p) * f[p] / (f[p] - f[q]) for p, q in pairwise(places) if f[p] * f[q] < 0]
        zeros += [first - f[first] / before] if f[first] * before > 0 else []
        zeros += [last - f[last] / after] if f[last] * after < 0 else []
        f |= dict.fromkeys(zeros, ZERO)
        places = sorted(f)  # between two of them f has one sign
        slopes = [before if f[places[0]] > 0 or before < 0 else ZERO]
        slopes += [(f[q] - f[p]) / (q - p) if f[p] > 0 or f[q] > 0 else ZERO for p, q in pairwise(places)]
        slopes += [after if f[places[-1]] > 0 or after > 0 else ZERO]
        return {p: v - u for p, (u, v) in zip(places, pairwise(slopes), strict=True) if u != v}

    def jumps(self) -> Jumps:
        """For each line its intervals inside the strip with a jump that is not 0."""
        found: Jumps = defaultdict(list)
        for line in {**self.first, **self.steps}:
            jump, at = self.first.get(line, ZERO), self.begin
            for place, step in [*sorted(self.steps.get(line, {}).items()), (self.end, ZERO)]:
                stop = min(max(place, self.begin), self.end)
                if jump and stop > at:
                    found[line].append((at, stop, jump))
                at, jump = stop, jump + step
        return found


class Strip(NamedTuple):
    """A system, ``affine + sum of factors times hinges and gates``, for begin <= xi <= end."""

    where: str
    output: int
    begin: Fraction
    end: Fraction
    affine: Affine
    hinges: Parts
    gates: list[tuple[Fraction, Parts]]

    def at(self, x: Row) -> Fraction:
        sums = [*((c, [(Fraction(1), hinge)]) for c, hinge in self.hinges), *self.gates]
        inner = [(c, sum((w * Fraction(max(0, dot(row, x)), d) for w, (row, d) in parts), ZERO)) for c, parts in sums]
        return value(self.affine, x) + sum((c * v for c, v in inner if v > 0), ZERO) / x[2]

    def check(self, checker: Any, pieces: list[Piece], edges: list[Edge], start: Row) -> None:
        """The system is the law on every piece here: it does not bend inside, and jumps as the laws do."""
        bends = Bends(checker, self.where, self.begin, self.end)
        for c, (row, d) in self.hinges:
            bends.hinge(c, row, d)
        for c, parts in self.gates:
            bends.gate(c, parts)
        jumps = bends.jumps()
        here = {j for j, piece in enumerate(pieces) if piece.begin < self.end and piece.end > self.begin}
        checker.spend(2 * len(jumps) * len(here) + len(edges) // 2, self.where)
        for line, intervals in jumps.items():
            for j in here:
                if ends := inside(pieces[j], line):
                    bent = any(max(ends[0], a) < min(ends[1], b) for a, b, _ in intervals)
                    checker.need(not bent, self.where, f"the network bends inside piece {j}")
        beside: dict[int, list[int]] = {j: [] for j in here}
        for line, begin, end, above, below in edges:
            begin, end = max(begin, self.begin), min(end, self.end)
            if begin < end:
                jump = next((jump for a, b, jump in jumps.get(line, []) if a <= begin < b), ZERO) / line[1]
                gap = zip(pieces[above].laws[self.output], pieces[below].laws[self.output], line, strict=True)
                good = all(u - v == jump * w for u, v, w in gap)
                checker.need(good, self.where, f"between pieces {below} and {above} it does not jump as the laws do")
                beside[above].append(below)
                beside[below].append(above)
        self.compare(checker, pieces, beside, start)

    def compare(self, checker: Any, pieces: list[Piece], beside: dict[int, list[int]], start: Row) -> None:
        """Values on one piece, from which all those follow that are reached from it; and so on."""
        left = set(beside)
        todo = [j for j in beside if all(dot(side, start) >= 0 for side in pieces[j].sides)][:1]
        while left:
            j = (todo or [*left])[0]
            for x in between(pieces[j].corners, self.begin, self.end):
                same = self.at(x) == value(pieces[j].laws[self.output], x)
                checker.need(same, self.where, f"network and function differ on piece {j}")
            todo = [j]
            left.discard(j)
            while todo:
                more = left.intersection(beside[todo.pop()])
                left -= more
                todo += more


def inside(piece: Piece, line: Row) -> tuple[Fraction, Fraction] | None:
    """The range of xi of a line inside a piece; None if it does not pass through the interior."""
    values = [dot(line, x) for x in piece.corners]
    if min(values) >= 0 or max(values) <= 0:
        return None
    found = [Fraction(x[0], x[2]) for x, v in zip(piece.corners, values, strict=True) if v == 0]
    for (p, q), (u, v) in zip(around(piece.corners), zip(values, values[1:] + values[:1], strict=True), strict=True):
        if u * v < 0:
            found.append(Fraction(abs(v) * p[0] + abs(u) * q[0], abs(v) * p[2] + abs(u) * q[2]))
    return min(found), max(found)


def find_edges(checker: Any, pieces: list[Piece]) -> list[Edge]:
    """Pairs of pieces that have part of an edge in common, on a line that is not vertical."""
    known: dict[Row, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for j, piece in enumerate(pieces):
        for (p, q), side in zip(around(piece.corners), piece.sides, strict=True):
            if side[1]:
                ends = sorted([Fraction(p[0], p[2]), Fraction(q[0], q[2])])
                known[divided(side, side[1])][side[1] < 0].append((*ends, j))
    checker.spend(2 * sum(len(above) * len(below) for above, below in known.values()), "edges")
    pairs = [(line, one, two) for line, (above, below) in known.items() for one in above for two in below]
    both = [(line, max(a, c), min(b, d), j, i) for line, (a, b, j), (c, d, i) in pairs]
    return [edge for edge in both if edge[1] < edge[2]]
