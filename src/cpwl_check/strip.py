"""Check a network of strips, kind "strip".

**Theorem.** Every output is ``g_2 + relu(P) - relu(X)`` with ``P = g_1 - g_2 + X``, or without a switch ``g_1``, with
systems g_1, g_2 of hinges and gates. If

(1) pieces are bounded with interior, and lie between the first and the last break, `Frame.piece`, `strip`; with steps,
    each neuron of the second layer is a sum of two hinges of the inputs on their convex hull, `merged`
(2) neurons that are claimed to be linear read nothing negative, P and X have the signs that choose the system that is
    said to be right on each interval, or P rises from 0 there, `Bound.holds`, `rises`, `steepness`, `walk_through`
(3) gates read hinges and a function of xi, a damper, which is at most 0 between breaks, and 0 where P rises and where
    gates count; where the gates of the right system do not count, they are 0 at one end of the interval, and what they
    read falls from there, `Circuit`, `Damper.step`, `walk_through`, `Bends.is_off`
(4) no knot of the right system bends inside an interval, but those of gates that do not count, and of hinges that are
    not positive there, `System.step`
(5) inside a strip a system bends inside no piece, and across every edge it jumps as the laws do, `Strip.check`
(6) on one piece of each connected part of a strip its values are those of the law, `Strip.compare`

then the network is the function on every piece.
Why this is a proof is in docs/strips.md, in the words used here.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from cpwl_check.budget import long, need, spend, total
from cpwl_check.cones import dot, region
from cpwl_check.pieces import Law, Layers, Piece, common, laws_of, plus
from cpwl_check.reading import Rational, read, read_proof

Row = tuple[int, int, int]  # a xi + b eta + c up to a positive factor, or a point (W xi, W eta, W) with W > 0
Scaled = tuple[Row, int]  # a row over a positive denominator
Affine = list[Fraction]  # a xi + b eta + c
Atom = tuple[int, int]  # the output of a neuron: its hidden layer, its number
Form = dict[Atom, Fraction]  # a sum of factors times atoms
Parts = list[tuple[Fraction, Scaled]]  # a sum of factors times hinges
Jumps = dict[Row, list[tuple[Fraction, Fraction, Fraction]]]  # by line: from xi, to xi, jump of the slope in eta
Edge = tuple[Row, Fraction, Fraction, int, int]  # a line, a range of xi, and the pieces above and below it there
ONE: Atom = (-1, 0)  # the number 1
ZERO = Fraction(0)
CELLS = 16  # into which an interval may be cut


# --- The plane: pieces, and where a sum of hinges and gates bends -----------------------------------------------------


def whole(f: Affine) -> Scaled:
    d = common(x.denominator for x in f)
    a, b, c = (x.numerator * (d // x.denominator) for x in f)
    return (a, b, c), d


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


class Polygon(NamedTuple):
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

    def piece(self, piece: Piece, where: str) -> Polygon | None:
        """The piece as a polygon; None if it is empty."""
        points = piece.corners or region(2, [row for row, _ in piece.rows.values()]).generators()
        if not any(g[2] for g in points):
            return None
        need(all(g[2] for g in points), where, "it is unbounded")
        (t, v), (u, w) = self.t, self.u
        spend(20 * (len(points) + len(piece.laws)), where)
        places = [(t * x + v * y, u * x + w * y, d) for x, y, d in points]
        corners = hull(places)
        need(len(corners) > 2, where, "it has no interior")
        laws = [self.affine(*(Fraction(x, d) for x in law)) for law, d in laws_of(piece)]
        xi = [Fraction(x[0], x[2]) for x in corners]
        return Polygon(corners, laws, min(xi), max(xi), [cross(p, q) for p, q in around(corners)])


class Bends:
    """Where a sum of hinges and gates bends in a strip: by line, the jump at the far left, and its steps."""

    def __init__(self, where: str, begin: Fraction, end: Fraction) -> None:
        self.where, self.begin, self.end = where, begin, end
        self.first: dict[Row, Fraction] = defaultdict(Fraction)
        self.steps: dict[Row, dict[Fraction, Fraction]] = defaultdict(lambda: defaultdict(Fraction))

    def hinge(self, factor: Fraction, row: Row, d: int) -> None:
        if row[1]:
            self.first[divided(row, row[1])] += factor * abs(Fraction(row[1], d))
        elif row[0]:
            vertical = self.begin < Fraction(-row[2], row[0]) < self.end
            need(not vertical, self.where, "a hinge bends on a vertical line")

    def gate(self, factor: Fraction, parts: Parts) -> None:
        """``factor relu(sum of w relu(l))`` for lines through one point bends on rays from there."""
        parts = [(w, (row, d)) for w, (row, d) in parts if row[0] or row[1] or row[2] > 0]
        need(all(row[1] for _, (row, _) in parts), self.where, "a gate has a constant or vertical part")
        if len(parts) < 2:
            for w, (row, d) in parts:
                self.hinge(factor * max(w, ZERO), row, d)
            return
        meet = next((x for _, (row, _) in parts if (x := cross(parts[0][1][0], row))[2]), (0, 0, 0))
        x = divided(meet, meet[2]) if meet[2] else meet
        together = meet[2] and not any(dot(row, x) for _, (row, _) in parts)
        need(together, self.where, "the lines of a gate do not meet in one point")
        rates = [(w, Fraction(row[1], d), Fraction(-row[0], row[1])) for w, (row, d) in parts]
        for side in (1, -1):  # to the right of the point, and to the left
            for slope, jump in self.kinks([(w, side * k, q) for w, k, q in rates]).items():
                a, b = -slope.numerator * x[2], slope.denominator * x[2]
                line = divided((a, b, -(a * x[0] + b * x[1]) // x[2]), 1)
                self.steps[line][Fraction(x[0], x[2])] += side * factor * jump
                self.first[line] += factor * jump if side < 0 else 0

    def is_off(self, parts: Parts, at: Fraction) -> bool:
        """Whether a gate that `gate` has accepted is 0 on the whole line ``xi = at``."""
        parts = [(w, (row, d)) for w, (row, d) in parts if row[0] or row[1] or row[2] > 0]
        if all(w <= 0 for w, _ in parts):
            return True
        meet = next((x for _, (row, _) in parts if (x := cross(parts[0][1][0], row))[2]), (0, 0, 0))
        side = (at * meet[2] - meet[0]) * (1 if meet[2] > 0 else -1)
        rates = [(w, Fraction(row[1], d) * (1 if side > 0 else -1), Fraction(-row[0], row[1])) for w, (row, d) in parts]
        # Beside the point it is homogeneous. No function but 0 is relu of something without kinks: it is no constant.
        return bool(meet[2] and side and not self.kinks(rates))

    def kinks(self, parts: list[tuple[Fraction, Fraction, Fraction]]) -> dict[Fraction, Fraction]:
        """Kinks of ``relu(f)`` for ``f(p) = sum of w relu(k (p - q))``; it must not end in a positive constant."""
        spend(2 * len(parts) * (4 + len(parts)), self.where)
        f = {q: total((w * max(k * (q - r), ZERO) for w, k, r in parts), self.where) for _, _, q in parts}
        first, *_, last = places = sorted(f)
        before, after = (total((w * k for w, k, _ in parts if s * k > 0), self.where) for s in (-1, 1))
        vertical = (f[first] > 0 and not before) or (f[last] > 0 and not after)
        need(not vertical, self.where, "a gate bends on a vertical line")
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
    off: list[Fraction]

    def at(self, x: Row) -> Fraction:
        sums = [*((c, [(Fraction(1), hinge)]) for c, hinge in self.hinges), *self.gates]
        read = ((c, [w * Fraction(max(0, dot(row, x)), d) for w, (row, d) in parts]) for c, parts in sums)
        inner = ((c, total(parts, self.where)) for c, parts in read)
        return value(self.affine, x) + total((c * v for c, v in inner if v > 0), self.where) / x[2]

    def check(self, pieces: list[Polygon], here: list[int], edges: list[Edge], start: Row) -> None:
        """The system is the law on every piece here: it does not bend inside, and jumps as the laws do."""
        spend(4 * (len(self.hinges) + len(self.gates)) + len(here), self.where)
        bends = Bends(self.where, self.begin, self.end)
        for c, (row, d) in self.hinges:
            bends.hinge(c, row, d)
        for c, parts in self.gates:
            bends.gate(c, parts)
            for at in self.off:
                need(bends.is_off(parts, at), self.where, "a gate is on where gates begin not to count")
        jumps = bends.jumps()
        number: dict[Row, int] = {}  # of corners, of which pieces share most
        names = [(j, [number.setdefault(x, len(number)) for x in pieces[j].corners]) for j in here]
        spend(len(jumps) * (len(number) + sum(1 + len(own) // 4 for _, own in names)) + len(edges), self.where)
        for line, intervals in jumps.items():
            heights = [dot(line, x) for x in number]
            for j, own in names:
                values = [heights[k] for k in own]
                if min(values) < 0 < max(values):
                    ends = inside(pieces[j], values)
                    bent = any(max(ends[0], a) < min(ends[1], b) for a, b, _ in intervals)
                    need(not bent, self.where, f"the network bends inside piece {j}")
        beside: dict[int, list[int]] = {j: [] for j in here}
        for line, begin, end, above, below in edges:
            begin, end = max(begin, self.begin), min(end, self.end)
            if begin < end:
                jump = next((jump for a, b, jump in jumps.get(line, []) if a <= begin < b), ZERO) / line[1]
                gap = zip(pieces[above].laws[self.output], pieces[below].laws[self.output], line, strict=True)
                good = all(u - v == jump * w for u, v, w in gap)
                need(good, self.where, f"between pieces {below} and {above} it does not jump as the laws do")
                beside[above].append(below)
                beside[below].append(above)
        self.compare(pieces, beside, start)

    def compare(self, pieces: list[Polygon], beside: dict[int, list[int]], start: Row) -> None:
        """Values on one piece, from which all those follow that are reached from it; and so on."""
        left = set(beside)
        todo = [j for j in beside if all(dot(side, start) >= 0 for side in pieces[j].sides)][:1]
        while left:
            spend(1 + len(left) // 16, self.where)
            j = (todo or [*left])[0]
            for x in between(pieces[j].corners, self.begin, self.end):
                same = self.at(x) == value(pieces[j].laws[self.output], x)
                need(same, self.where, f"network and function differ on piece {j}")
            todo = [j]
            left.discard(j)
            while todo:
                more = left.intersection(beside[todo.pop()])
                left -= more
                todo += more


def by_interval(breaks: list[Fraction], ranges: list[tuple[Fraction, Fraction]]) -> list[list[int]]:
    """For each interval between breaks the numbers of the ranges that meet its inside."""
    found: list[list[int]] = [[] for _ in breaks[1:]]
    for k, (begin, end) in enumerate(ranges):
        meets = found[max(0, bisect_right(breaks, begin) - 1) : bisect_left(breaks, end)]
        spend(10 + len(meets), "breaks")
        for own in meets:
            own.append(k)
    return found


def inside(piece: Polygon, values: list[int]) -> tuple[Fraction, Fraction]:
    """The range of xi of a line inside a piece, by the values of its row at the corners, which have both signs."""
    found = [Fraction(x[0], x[2]) for x, v in zip(piece.corners, values, strict=True) if v == 0]
    for (p, q), (u, v) in zip(around(piece.corners), zip(values, values[1:] + values[:1], strict=True), strict=True):
        if u * v < 0:
            found.append(Fraction(abs(v) * p[0] + abs(u) * q[0], abs(v) * p[2] + abs(u) * q[2]))
    return min(found), max(found)


def find_edges(pieces: list[Polygon]) -> list[Edge]:
    """Pairs of pieces that have part of an edge in common, on a line that is not vertical."""
    known: dict[Row, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for j, piece in enumerate(pieces):
        for (p, q), side in zip(around(piece.corners), piece.sides, strict=True):
            if side[1]:
                ends = sorted([Fraction(p[0], p[2]), Fraction(q[0], q[2])])
                known[divided(side, side[1])][side[1] < 0].append((*ends, j))
    spend(2 * sum(len(above) * len(below) for above, below in known.values()), "edges")
    pairs = [(line, one, two) for line, (above, below) in known.items() for one in above for two in below]
    both = [(line, max(a, c), min(b, d), j, i) for line, (a, b, j), (c, d, i) in pairs]
    return [edge for edge in both if edge[1] < edge[2]]


# --- The network ------------------------------------------------------------------------------------------------------


class Circuit:
    """`reads[l][i]`: what a hidden neuron reads, in atoms; neurons that are claimed to be linear are no atoms."""

    def __init__(self, layers: Layers, linear: list[list[int]], frame: Frame) -> None:
        self.knots = [whole(frame.affine(*(Fraction(f.get(i, 0)) for i in range(3)))) for f in layers[0]]
        self.reads: list[list[Form]] = [[]]
        values: list[Form] = [{(0, i): Fraction(1)} for i in range(len(self.knots))]
        for l, layer in enumerate(layers[1:], 1):
            forms = []
            for weights in layer:
                read: Form = defaultdict(Fraction)
                for j, w in weights.items():
                    spend(2 + (2 * len(values[j]) if j < len(values) else 0) + long(w), f"layer {l}")
                    for atom, x in values[j].items() if j < len(values) else [(ONE, Fraction(1))]:
                        read[atom] += w * x
                forms.append({atom: x for atom, x in read.items() if x})
            self.reads.append(forms)
            known = range(len(forms)) if l > len(linear) else linear[l - 1]
            values = [form if i in known else {(l, i): Fraction(1)} for i, form in enumerate(forms)]
            first: dict[Any, int] = {}
            for i, form in enumerate(forms):  # of functions of xi, relu(-F) is relu(F) - F, if there is a relu(F)
                if l == 1 and not any(k == 0 and self.knots[m][0][1] for k, m in form):
                    s = first.setdefault((frozenset(form), abs(form.get(ONE, ZERO))), i)
                    if s != i and not {s, i} & {*known} and not plus(forms[s], 1, form):
                        values[i] = plus(values[s], 1, form)
        self.outputs = values
        flat = {i for i, form in enumerate(self.reads[1]) if self.of_xi(form)}
        self.gates: list[dict[int, Fraction]] = []  # the hinges that a neuron of the third layer reads
        self.dampers: list[Form] = []  # what they read else, up to positive factors
        self.damped: list[tuple[int, Fraction]] = []  # which of these, and the factor
        places: dict[Any, int] = {}
        for g, form in enumerate(self.reads[2] if len(layers) > 3 else []):
            spend(2 * len(form), "network")
            carries = g in linear[1]
            self.gates.append({i: w for (l, i), w in form.items() if l == 1 and i not in flat})
            rest = {} if carries else {(l, i): w for (l, i), w in form.items() if l < 1 or i in flat}
            good = self.of_xi({atom: w for atom, w in rest.items() if atom[0] < 1})
            need(good and all(l < 2 for l, _ in rest), f"gate {g}", "it must read hinges and a function of xi only")
            size = abs(rest[min(rest)]) if rest else ZERO
            key = frozenset((atom, w / size) for atom, w in rest.items())
            if rest and key not in places:
                places[key] = len(self.dampers)
                self.dampers.append(dict(key))
            self.damped.append((places.get(key, -1), size))

    def of_xi(self, form: Form) -> bool:
        """Whether this is a function of xi alone, without hinges."""
        return all(l < 0 or (l == 0 and not self.knots[i][0][1]) for l, i in form)

    def falls(self, form: Form) -> list[tuple[int, Fraction]]:
        """Hinges with factors: a form falls at most as fast as its row on knots, and the falling ones of these, do."""
        sums: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for (l, i), x in form.items():
            spend(2 * (1 + (len(self.gates[i]) if l == 2 else 0)), "network")
            for s, w in self.gates[i].items() if l == 2 else [(i, Fraction(1))] if l == 1 else []:
                sums[s, x * w > 0] += x * w
        return [(s, x) for (s, _), x in sums.items()]

    def below(self, form: Form, sign: int) -> dict[int, Fraction]:
        """Hinges with factors: less their sum, ``sign * form`` is at least its row on knots."""
        sums: dict[int, Fraction] = defaultdict(Fraction)
        for (l, i), x in form.items():
            spend(2 * (1 + (len(self.gates[i]) if l == 2 else 0)), "network")
            if l > 0 and sign * x < 0:  # a gate is at most the sum of its positive terms: its damper is at most 0
                for s, w in self.gates[i].items() if l == 2 else [(i, Fraction(1))]:
                    sums[s] += abs(x) * max(w, ZERO)
        return sums


class Walk:
    """Rows on knots, from left to right: what they are with the knots on that are on."""

    def __init__(self, knots: list[Scaled], rows: dict[Any, Form]) -> None:
        self.knots, self.on, self.integers = knots, [False] * len(knots), dict[Any, Scaled]()
        self.now = {name: [ZERO, ZERO, form.get(ONE, ZERO)] for name, form in rows.items()}
        self.readers: list[list[tuple[Any, Fraction]]] = [[] for _ in knots]
        for name, form in rows.items():
            for (l, k), x in form.items():
                if l == 0:
                    self.readers[k].append((name, x))

    def set(self, k: int, on: bool) -> bool:
        """Whether the knot has changed."""
        changed, self.on[k] = self.on[k] != on, on
        row, d = self.knots[k]
        spend(6 * len(self.readers[k]) * (1 + long(d)) if changed else 0, "knots")
        for name, x in self.readers[k] if changed else []:
            w = (x if on else -x) / d
            self.now[name] = [u + w * v for u, v in zip(self.now[name], row, strict=True)]
            self.integers.pop(name, None)
        return changed

    def row(self, name: Any) -> Scaled:
        if name not in self.integers:
            self.integers[name] = whole(self.now[name])
        return self.integers[name]


class Bound(NamedTuple):
    """The claim that `sign` times something is at least 0: its row on knots, and hinges that bound the rest."""

    name: Any
    sign: int
    hinges: dict[int, Fraction]

    def holds(self, walk: Walk, x: Row, high: dict[int, int], bits: int) -> bool:
        """Whether that is so at a point, with values times 2^bits rounded to the safe side."""
        row, d = walk.row(self.name)
        low = (self.sign * dot(row, x) << bits) // (d * x[2])
        for s, factor in self.hinges.items():
            if s not in high:
                hinge, e = walk.row((1, s))
                high[s] = max(0, -((-dot(hinge, x) << bits) // (e * x[2])))
            low += (-high[s] * factor.numerator) // factor.denominator
        return bool(low >= 0)


def rises(walk: Walk, row: Scaled, falls: list[tuple[int, Fraction]], steep: Fraction, bits: int) -> bool:
    """Whether a row and hinges rise, where these knots are on, in all directions (1, s) with ``|s| <= steep``.

    Times 2^bits, rounded to the safe side."""
    (a, b, _), d = row
    n, m = steep.numerator, steep.denominator
    low = ((a * m - abs(b) * n) << bits) // (d * m)
    for s, factor in falls:
        (a, b, _), d = walk.row((1, s))
        most = abs(b) * n - (a if factor > 0 else -a) * m  # it falls at most at this rate, or not at all
        low += (-abs(factor.numerator) * max(0, most) << bits) // (d * m * factor.denominator)
    return low >= 0


class Damper:
    """A function of xi that gates read, and its values on one interval after the other."""

    def __init__(self, name: Any, form: Form, circuit: Circuit) -> None:
        self.name, self.hinges = name, {i: w for (l, i), w in form.items() if l == 1}
        self.knots = {k for f in (form, *(circuit.reads[1][s] for s in self.hinges)) for l, k in f if l == 0}
        self.now: Affine = [ZERO, ZERO, ZERO]

    def step(self, walk: Walk, begin: Fraction, end: Fraction, uncut: dict[int, bool], where: str) -> bool:
        """Sees to it that it is affine here and at most 0; whether it is 0."""
        spend(8 * (1 + len(self.hinges)), where)
        need(self.knots <= uncut.keys(), where, "a damper bends there")
        self.now = list(walk.now[self.name])
        for s, w in self.hinges.items():
            (a, _, c), d = walk.row((1, s))
            two = [a * x + c for x in (begin, end)]
            need(min(two) >= 0 or max(two) <= 0, where, "a damper bends there")
            if max(two) > 0:
                self.now = [u + w * Fraction(v, d) for u, v in zip(self.now, (a, 0, c), strict=True)]
        slope, _, level = self.now
        need(slope * begin + level <= 0 and slope * end + level <= 0, where, "a damper is positive")
        return slope == level == 0


def steepness(pieces: list[Polygon], polygon: list[Row], at: Fraction, where: str) -> Fraction:
    """How steep ways must be, at most, from the section of a polygon at one of its ends to all its points.

    That section must be covered by pieces that go on to both sides of it."""
    ends = [Fraction(x[1], x[2]) for x in polygon if Fraction(x[0], x[2]) == at]
    cover = []
    for piece in pieces:
        if piece.begin < at < piece.end:
            own = [Fraction(x[1], x[2]) for x in between(piece.corners, at, at)]
            cover.append((min(own), max(own)))
    need(ends and cover, where, "no piece covers the line where the switch begins")
    reach = min(ends)
    for low, high in sorted(cover):
        reach = max(reach, high) if low <= reach else reach
    need(reach >= max(ends), where, "pieces do not cover the line where the switch begins")
    others = [(Fraction(x[0], x[2]), Fraction(x[1], x[2])) for x in polygon]
    ways = [max(ZERO, y - max(ends), min(ends) - y) / abs(x - at) for x, y in others if x != at]
    return max(ways, default=ZERO)


class System:
    """A sum of atoms, and the strips on which its hinges do not change."""

    def __init__(self, output: int, number: int, form: Form, circuit: Circuit) -> None:
        self.output, self.number, self.circuit = output, number, circuit
        self.hinges = {i: x for (l, i), x in form.items() if l == 1}
        self.gates = {i: x for (l, i), x in form.items() if l == 2}
        of_gates = {s for g in self.gates for s in circuit.gates[g]}
        self.affine = {k for l, k in form if l == 0}
        self.reads = {s: {k for l, k in circuit.reads[1][s] if l == 0} for s in {*self.hinges, *of_gates}}
        self.knots = self.affine.union(*self.reads.values())
        self.strips: list[Any] = []
        self.hidden: set[int] = set()  # hinges that are not positive on this interval
        self.goes_on = False
        self.waits: Fraction | None = None  # where the next strip must begin, with gates that are off

    def step(self, walk: Walk, begin: Fraction, end: Fraction, changed: set[int], off: int, where: str) -> None:
        """One more interval: part of the last strip, or the first of another, with gates if they count."""
        known = self.waits in (None, begin) and not (off and self.waits)
        need(known, where, "gates that do not count must end where they are off")
        if off == 1:  # gates are off where the last strip ends
            need(self.goes_on and self.strips[-1].end == begin, where, "gates must be off where this begins")
            self.strips[-1].off.append(begin)
        if self.goes_on and not off and not self.knots & changed:
            self.strips[-1] = self.strips[-1]._replace(end=end)
            return
        hinges = [(x, walk.row((1, s))) for s, x in self.hinges.items() if s not in self.hidden]
        reads = {} if off else {g: self.circuit.gates[g] for g in self.gates}
        spend(4 * (1 + len(self.hinges) + len(self.gates) + sum(map(len, reads.values()))), "strips")
        gates = [(self.gates[g], [(w, walk.row((1, s))) for s, w in own.items()]) for g, own in reads.items()]
        name = f"output {self.output}, system {self.number}, strip {len(self.strips)}"
        places = [] if self.waits is None else [begin]
        affine = walk.now["system", self.output, self.number]
        self.strips.append(Strip(name, self.output, begin, end, affine, hinges, gates, places))
        self.goes_on, self.waits = not off, end if off == 2 else None


def cells(knots: list[Scaled], polygon: list[Row]) -> tuple[dict[int, bool], list[tuple[list[Row], dict[int, bool]]]]:
    """The states of knots that do not cut a polygon, and its parts with the states of those that do."""
    on, parts = dict[int, bool](), [(polygon, dict[int, bool]())]
    for k, (row, _) in enumerate(knots):
        values = [dot(row, x) for x in polygon]
        if min(values) >= 0 or max(values) <= 0:
            on[k] = max(values) > 0
        elif len(parts) <= CELLS:
            two = ((False, (-row[0], -row[1], -row[2])), (True, row))
            parts = [(cut(p, side), states | {k: s}) for p, states in parts for s, side in two]
            parts = [(p, states) for p, states in parts if len(hull(p)) > 2]
    return on, parts


def walk_through(
    circuit: Circuit, bounds: list[list[Bound]], rows: dict[Any, Form], systems: list[System], plan: Any
) -> None:
    """From interval to interval: shows the signs that are claimed there, and finds the strips of the systems."""
    pieces, near, breaks, right, bits = plan
    walk = Walk(circuit.knots, rows)
    dampers = [Damper(("damper", i), form, circuit) for i, form in enumerate(circuit.dampers)]
    for i, ((begin, end), (number, start, off)) in enumerate(zip(pairwise(breaks), right, strict=True)):
        where = f"interval {i}"
        here = [pieces[j] for j in near[i]]
        spend(20 * len(here), where)
        polygon = hull([x for piece in here for x in between(piece.corners, begin, end)])
        if len(polygon) < 3:
            continue
        spend(len(circuit.knots) * len(polygon), where)
        on, parts = cells(circuit.knots, polygon)
        need(len(parts) <= CELLS, where, "too many knots bend here")
        changed = {k for k, state in on.items() if walk.set(k, state)}
        still = [damper.step(walk, begin, end, on, where) for damper in dampers]
        need(all(still) or (off and not start), where, "a damper is not 0")
        steep = {k: steepness(here, polygon, end if k == 2 else begin, where) for k in {start, off} if k}
        if start:
            beside = i - 1 if start == 1 else i + 1
            other = 0 <= beside < len(right) and right[beside][0] != number
            need(other, where, "the other system is not right where this one begins")
        own = [system for system in systems if system.number == number]
        for system in own:
            bent = system.affine | (set() if off else system.knots)
            need(bent <= on.keys(), where, f"system {number} of output {system.output} bends there")
            system.hidden = {s for s in system.hinges if not system.reads[s] <= on.keys()}
        for part, states in parts:
            changed |= {k for k, state in states.items() if walk.set(k, state)}
            way = (1 if number == 1 else -1) * (1 if start == 1 else -1)
            for name in rows if start else ():
                if name[0] == "P":
                    falls = [(s, way * x) for s, x in circuit.falls(rows[name])]
                    good = rises(walk, turned(walk.row(name), way), falls, steep[start], bits)
                    need(good, where, "the sign of P is not shown: it does not rise")
            for system in own if off else ():
                for g in system.gates:
                    way, (k, size) = -1 if off == 1 else 1, circuit.damped[g]
                    row = [way * size * v for v in dampers[k].now] if size else [ZERO] * 3
                    falls = [(s, way * w) for s, w in circuit.gates[g].items()]
                    spend(4 * len(falls), where)
                    need(rises(walk, whole(row), falls, steep[off], bits), where, f"gate {g} may be on")
                on_here = (s for s in system.hidden if any(dot(walk.row((1, s))[0], x) > 0 for x in part))
                spend(len(system.hidden) * len(part), where)
                need(next(on_here, None) is None, where, f"system {number} of output {system.output} bends there")
            claimed = bounds[2 * number + (start > 0)]
            spend(len(part) * sum(2 + len(b.hinges) for b in claimed) * (1 + bits // 500) // 2, where)
            for x in part:
                high: dict[int, int] = {}
                wrong = next((b for b in claimed if not b.holds(walk, x, high, bits)), None)
                need(wrong is None, where, f"the sign of {wrong and wrong.name} is not shown")
        for system in systems:
            if system.number == number:
                system.step(walk, begin, end, changed, off, where)
            else:
                system.goes_on = False
    for system in systems:
        need(system.waits is None, "right", "gates that do not count must end where they are off")


def merged(layers: Layers, frame: Frame, domain: list[Row]) -> Layers:
    """The network with its first two layers as one, on a convex domain.

    If ``f >= 0`` where ``h <= 0``, and ``c >= 0``, then ``relu(f - c relu(h)) = relu(f - c h) - c relu(-h)``: where h
    is positive, both read ``f - c h``, and elsewhere both sides are f, as ``f - c h >= f >= 0``."""
    first = [[Fraction(weights.get(i, 0)) for i in range(3)] for weights in layers[0]]
    spend(20 * len(first) * len(domain), "layer 0")
    on = {i for i, f in enumerate(first) if all(value(frame.affine(*f), x) >= 0 for x in domain)}
    knots: list[Affine] = []
    reads: list[dict[int, Fraction]] = []
    for k, weights in enumerate(layers[1]):
        where = f"layer 1, neuron {k}"
        spend(20 * (len(weights) + len(domain)), where)
        constant = [ZERO, ZERO, Fraction(1)]
        ramps = {j: Fraction(w) for j, w in weights.items() if j < len(first) and j not in on}
        need(len(ramps) < 2, where, "it reads two ramps")
        parts = [(Fraction(w), first[j] if j < len(first) else constant) for j, w in weights.items() if j not in ramps]
        f = [total((w * v[i] for w, v in parts), where) for i in range(3)]
        reads.append({len(knots): Fraction(1)})
        for j, w in ramps.items():
            need(w < 0, where, "it grows with a ramp")
            beyond = cut(domain, whole(frame.affine(*(-v for v in first[j])))[0])
            good = all(value(frame.affine(*f), x) >= 0 for x in beyond)
            need(good, where, "it is not shown to be positive where its ramp is 0")
            f = [u + w * v for u, v in zip(f, first[j], strict=True)]
            reads[-1][len(knots) + 1] = w
        knots.append(f)
        knots += [[-v for v in first[j]] for j in ramps]
    after: Layers = [[dict(enumerate(f)) for f in knots], []]
    for weights in layers[2]:
        slots: dict[int, Rational] = defaultdict(Fraction)
        for j, factor in weights.items():
            spend(6 + long(factor), "layer 2")
            for knot, x in reads[j].items() if j < len(reads) else [(len(knots), Fraction(1))]:
                slots[knot] += factor * x
        after[1].append({knot: x for knot, x in slots.items() if x})
    return [*after, *layers[3:]]


def turned(row: Scaled, sign: int) -> Scaled:
    (a, b, c), d = row
    return (sign * a, sign * b, sign * c), d


def strip(law: Law, layers: Layers, proof: Any) -> Fraction:
    """0, if the proof shows that the network is the function on every piece."""
    n, outputs, given = law.n, law.outputs, law.pieces
    need(n == 2 and len(layers[-1]) == outputs, "files", "this is not a network of strips")
    body = {"frame": [[Rational, 2], 2], "bits": range(10**5), "breaks": [Rational], "right": [[range(3), 3]]}
    more = {"linear": [[Any]], "chi": [Any, outputs], "starts": [[Rational, 2]]}
    _, (t, u), bits, breaks, right, linear, chi, starts = read_proof(proof, "strip", 2, 0, body | more)
    steps = len(layers) - len(linear) == 3
    good = len(linear) in (2, 3) and (steps or len(layers) - len(linear) == 2)
    need(good, "linear", "there must be two or three lists, for all hidden layers but the first, or with steps but two")
    need(
        all(type(v) is int for v in t + u) and t[0] * u[1] != t[1] * u[0], "frame", "these are not independent integers"
    )
    frame, breaks = Frame(t, u), [Fraction(x) for x in breaks]
    found = [frame.piece(piece, f"piece {j}") for j, piece in enumerate(given)]
    pieces = [piece for piece in found if piece is not None]
    if steps:
        layers = merged(layers, frame, hull([x for piece in pieces for x in piece.corners]))
    linear = [read(own, [range(len(layers[l]))], f"linear[{l - 1}]") for l, own in enumerate(linear, 1)]
    circuit = Circuit(layers, linear, frame)
    need(len(breaks) == len(right) + 1 > 1 and all(x < y for x, y in pairwise(breaks)), "breaks", "they must grow")
    all_in = pieces and all(breaks[0] <= piece.begin and piece.end <= breaks[-1] for piece in pieces)
    need(all_in, "breaks", "not all pieces are between them, or there are none")
    rows, bounds, systems = claims(circuit, linear, chi)
    one = all(number == 1 and not start for number, start, _ in right)
    need(len(systems) > outputs or one, "right", "there is no second system")
    need(all(number for number, _, _ in right), "right", "one of the systems must be right")
    near = by_interval(breaks, [(piece.begin, piece.end) for piece in pieces])
    walk_through(circuit, bounds, rows, systems, (pieces, near, breaks, right, bits))
    edges = find_edges(pieces)
    beside = by_interval(breaks, [(begin, end) for _, begin, end, _, _ in edges])
    for i, part in enumerate(part for system in systems for part in system.strips):
        xi, eta = starts[i] if i < len(starts) else (0, 0)
        own = slice(bisect_left(breaks, part.begin), bisect_left(breaks, part.end))
        here, on = (sorted(set().union(*found[own])) for found in (near, beside))
        part.check(pieces, here, [edges[k] for k in on], whole([Fraction(xi), Fraction(eta), Fraction(1)])[0])
    return ZERO


def claims(circuit: Circuit, linear: list[list[int]], chi: list[Any]) -> tuple[Any, Any, Any]:
    """All rows on knots, the signs to be shown on intervals of each kind, and the systems.

    ``out = g_2 + relu(P) - relu(X)`` with ``P = g_1 - g_2 + X``; without a switch ``out = g_1``."""
    rows: dict[Any, Form] = {(1, s): form for s, form in enumerate(circuit.reads[1])}
    named: dict[Any, Form] = {("linear", l, i): circuit.reads[l][i] for l, own in enumerate(linear, 1) for i in own}
    signs, systems = dict.fromkeys(named, (1,) * 6), []
    for o, form in enumerate(circuit.outputs):
        switches = [atom for atom in form if atom[0] == 3]
        parts = [form]
        if switches:
            (c,) = read(chi[o], [range(len(circuit.reads[1])), 1], f"chi[{o}]")
            factor, weight = form[switches[0]], form.get((1, c), ZERO)
            need(factor > 0 > weight, f"output {o}", "this is not a switch")
            two = {atom: x for atom, x in form.items() if atom not in (switches[0], (1, c))}
            P, X = plus({}, factor, circuit.reads[3][switches[0][1]]), plus({}, -weight, circuit.reads[1][c])
            parts = [plus(plus(two, 1, P), -1, X), two]
            named |= {("P", o): P, ("X", o): X}
            # By the system that is right on an interval, and whether P rises from 0 there.
            signs |= {("P", o): (0, 0, 1, 0, -1, 0), ("X", o): (0, 0, 1, 1, -1, -1)}
        for number, part in enumerate(parts, 1):
            named["system", o, number] = part
            systems.append(System(o, number, part, circuit))
    need(len(systems) in (len(chi), 2 * len(chi)), "network", "not all outputs have a switch")
    for name, form in named.items():
        need(all(l < 3 for l, _ in form), str(name), "it reads a switch")
    rows |= {("damper", i): form for i, form in enumerate(circuit.dampers)}
    shown = [{name: s[k] for name, s in signs.items() if s[k]} for k in range(6)]
    bounds = [[Bound(name, s, circuit.below(named[name], s)) for name, s in own.items()] for own in shown]
    return rows | named, bounds, systems
