"""Check a proof for data that only nearly fits, kind "near".

**Theorem.** Let q be the function inside the proof and N the network. If

(1) N is within ``E + E' max|x_i|`` of q on every piece of q, by a proof of another kind, `near`
(2) every piece of the data is cut into regions, spanned by corners v, rays r and lines l, `farthest`; each line has a
    coordinate in which it is 1, and all else that spans the region is 0, `spanned`
(3) a region with law f has a piece S of q with law s, for every corner v a point v' of S, and for every ray r and line
    l a direction r' and a line l' of S; these are v, r and l themselves where that is possible, `Leaves`, `partners`.
    Simplices are not cut where S is one, too, and the partners of their corners are corners of S, `table`; elsewhere
    f is the affine function through the values at their corners, `by_coefficients`. Or a bounded region has no partner:
    it is cut by the neurons of N that are open, which are all that may have both signs on it, and ``a >= |N - f|`` at
    the corners of all parts, since N is affine there, `Cuts`
(4) J holds the gradient of N: on a box with all v and v', if the region is bounded, or else everywhere, `steepness`
(5) h is a vector with ``h . r >= e_r`` for all rays. Here ``e_v = |s(v') - f(v) + J . (v - v')| + E' |v - v'|``, at the
    worst of J and with the largest coordinate for the last norm, and the same with gradients for e_r and e_l; let
    ``a >= e_v - h . v`` for all corners, and ``b = |h|_1 + sum of (e_l + |h . l|)`` over the lines, `spread`
(6) the largest ``E + a`` and ``E' + b`` are at most the stated bound, `near`
(7) a jump, if one is named, is at a point of two pieces of the data, `unavoidable`

then ``|N - p|`` is at most the stated bound ``a + b max|x_i|`` on every piece of the data. For x is a mean of corners
plus sums of multiples of rays, which are not negative, and of lines, which are coordinates of x; the same sum of the
partners is a point y of S, and ``N(x) - f(x) = (N(y) - s(y)) + (s(y) - f(x)) + (N(x) - N(y))``. And no function at
all is nearer to both pieces than half of the jump: the part of the bound that the data makes unavoidable. Why this is
a proof is in docs/proof.md.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from cpwl_check.budget import Refused, long, longest, need, spend, work
from cpwl_check.cones import Cone, dot, minus, piece_cone
from cpwl_check.pieces import (
    FIXED,
    Bound,
    Form,
    Law,
    Layers,
    Piece,
    Vector,
    difference,
    fixed,
    laws_of,
    over_one,
    pair,
    read_bound,
    read_cut,
    read_function,
    unfixed,
)
from cpwl_check.reading import Rational, read, read_proof

Point = list[Fraction]
Interval = tuple[int, int]  # multiples of 2^-BITS
Sum = tuple[list[int], dict[int, int]]  # an affine function, and coefficients of neurons
ZERO = Fraction(0)
BITS = 256  # numbers of the network are enclosed by multiples of 2^-BITS


class Span(NamedTuple):
    """What spans a region; or, of its piece in the function inside, their partners."""

    corners: list[Point]
    rays: list[Point]  # the largest coordinate of each is 1 or -1
    lines: list[Point]  # each is 1 in a coordinate where all else is 0


def near(law: Law, layers: Layers, proof: Any, decide: Callable[[Law, Layers, Any], Bound]) -> Bound:
    """The proven bound: every piece is near one of a function for which the network has a proof of its own."""
    body = {"function": Any, "proof": {str: Any}, "pieces": [Any, len(law.pieces)], "jump": Any}
    stated, function, inner, trees, jump = read_proof({"jump": None} | proof, "near", law.n, Any, body)
    unavoidable(law, jump)
    bound = read_bound(stated)
    need(inner.get("kind") != "near", "proof.proof", "it must be about the function inside")
    meant = read_function(function)
    same = (meant.n, meant.outputs) == (law.n, law.outputs)
    need(same, "function", "its numbers of inputs and outputs differ from those of the network")
    start = pair(decide(meant, layers, inner))
    shown = [u + v for u, v in zip(start, farthest(law, meant, layers, trees, start[1]), strict=True)]
    for name, least, most in zip("ab", shown, pair(bound), strict=True):
        need(least <= most, "error_bound", f"its {name} is less than {float(least):.3g}, which is shown")
    return bound


def unavoidable(law: Law, jump: Any) -> Fraction:
    """Half of what two pieces of the data differ by at a point that both have; 0 if no jump is named."""
    if jump is None:
        return ZERO
    shape = {"pieces": [range(len(law.pieces)), 2], "point": [Rational, law.n], "output": range(law.outputs)}
    both, point, output = read(jump, shape, "jump")
    place, values = over_one([*point, 1])[0], []
    for i in both:
        piece = law.pieces[i]
        need(not piece.corners, "jump", "pieces of a table do not overlap")
        holds = all(dot(row, place) >= 0 for row, _ in piece.rows.values())
        need(holds, "jump", f"the point is not in piece {i}")
        f, d = piece.laws[output]
        values.append(Fraction(dot(f, place), d * place[-1]))
    return abs(values[0] - values[1]) / 2


def farthest(
    law: Law, meant: Law, layers: Layers, trees: list[Any], growth: Fraction = ZERO
) -> tuple[Fraction, Fraction]:
    """How far the data is from the function inside, ``a + b max|x_i|``, as an error of a network that is within
    `growth` times ``max|x_i|`` of that."""
    n, worst = law.n, (ZERO, ZERO)
    tables = {bool(p.corners) for p in [*law.pieces, *meant.pieces]}
    if tables == {True}:
        return table(law, meant, layers, trees, growth), ZERO
    need(all(not p.corners for p in meant.pieces), "function", "it has simplices, and the data has rows")
    law = by_coefficients(law)
    leaves = Leaves(meant, layers, growth)
    for j, (piece, tree) in enumerate(zip(law.pieces, trees, strict=True)):
        where = f"piece {j}"
        todo = [(tree, piece_cone(piece, n))]  # no recursion, which a deep tree would exhaust
        for node, part in todo:
            if not any(g[-1] for g, _ in part.rays):
                continue  # no point is in it
            if (cut := read_cut(node, n, where)) is not None:
                row, below, above = cut
                todo += [(below, part.cut(row)), (above, part.cut(minus(row)))]
                continue
            bound = leaves.shown(piece, part, node, where)
            worst = max(worst[0], bound[0]), max(worst[1], bound[1])
    return worst


def by_coefficients(law: Law) -> Law:
    """The data with laws held by their coefficients, those of simplices, too."""
    return law._replace(pieces=[p._replace(laws=laws_of(p)) for p in law.pieces])


class Leaves:
    """What leaves show, for one function inside and one network."""

    def __init__(self, meant: Law, layers: Layers, growth: Fraction) -> None:
        self.meant, self.layers, self.growth, n = meant, layers, growth, meant.n
        self.known: dict[Any, list[list[Interval]]] = {}  # slopes of the network on boxes
        self.usual = {"slope": [0] * n, "points": [], "directions": [], "lines": [], "box": None}
        self.shape = {"piece": range(len(meant.pieces)), "slope": [Rational, n], "box": Any}
        self.shape |= {name: [[Rational, n]] for name in ("points", "directions", "lines")}
        self.cuts: Cuts | None = None

    def shown(self, piece: Piece, part: Cone, node: Any, where: str) -> tuple[Fraction, Fraction]:
        """``(a, b)`` for the region `part` of a piece of the data."""
        n = self.meant.n
        if node == {"cut by": "neurons"}:
            self.cuts = self.cuts or Cuts(self.layers, n)
            return self.cuts.farthest(part, piece.laws, where), ZERO
        i, h, box, *named = read(self.usual | node if type(node) is dict else node, self.shape, where)
        other_piece = self.meant.pieces[i]
        rows = [row for row, _ in other_piece.rows.values()]
        spend(n * (len(part.rays) + len(part.lines)) * (2 + len(rows)), where)
        laws = list(zip(piece.laws, other_piece.laws, strict=True))
        if not part.lines and all(dot(row, g) >= 0 for row in rows for g, _ in part.rays):
            found = [inside(*pair, part.generators(), h, where) for pair in laws]
        else:
            span = spanned(part, where)
            other = partners(rows, span, named, where)
            steep = gradient(self.layers, n, span, other, box, self.known, where)
            off = [gaps(pair, span, other, J, self.growth) for pair, J in zip(laws, steep, strict=True)]
            found = [spread(span, e, h, where) for e in off]
        return max(a for a, _ in found), max(b for _, b in found)


class Program(NamedTuple):
    """What neurons read, each after those that it reads, and what the outputs are: affine functions of x and multiples
    of neurons before them."""

    neurons: list[Sum]
    outputs: list[Sum]


class Cuts:
    """A network with its weights rounded to multiples of 2^-FIXED, held as integers."""

    def __init__(self, layers: Layers, n: int) -> None:
        self.n, self.exact, self.depth, rounded = n, layers, len(layers), fixed(layers)
        self.rounded, self.off = unfixed(rounded), dict[int, Fraction | None]()
        before: list[Sum] = [([int(i == k) for k in range(n + 1)], {}) for i in range(n)]
        neurons: list[Sum] = []
        for depth, layer in enumerate(rounded):
            before.append(([0] * n + [1 << FIXED * depth], {}))
            now = [self.added(form, before) for form in layer]
            before = [([0] * (n + 1), {len(neurons) + k: 1}) for k in range(len(now))]
            neurons += now
        self.network = Program(neurons[: -len(now)], now)

    def farthest(self, part: Cone, laws: list[Vector], where: str) -> Fraction:
        """A bound on what network and laws differ by on a bounded region, sharp up to the rounding of weights: the
        region is cut by an open neuron, and so is either part, until the rounded network is affine on every part, and
        corners decide."""
        need(not part.lines and all(g[-1] for g, _ in part.rays), where, "it is not bounded, and to be cut by neurons")
        power = max((max(map(abs, g)) // g[-1]).bit_length() for g, _ in part.rays)
        if power not in self.off:
            self.off[power] = difference(self.rounded, self.exact, [Fraction(1 << power)] * self.n, Fraction(1))
        off = self.off[power]
        if off is None:
            raise Refused(f"{where}: the numbers of the network are too large to be cut by its neurons")
        worst, d = ZERO, 1 << FIXED * self.depth
        todo = [(part, self.network)]
        while todo:
            part, program = todo.pop()
            neurons, outputs = program = self.folded(program, part)
            if neurons:
                rows = [row for row, rest in neurons if not rest]  # the first one, at least
                row = rows[len(rows) // 2]
                todo += [(part.cut(row), program), (part.cut(minus(row)), program)]
                continue
            for (value, _), (f, e) in zip(outputs, laws, strict=True):
                step = [e * u - d * v for u, v in zip(value, f, strict=True)]
                part.pay(2, step, where)
                worst = max([worst, *(Fraction(abs(dot(step, g)), d * e * g[-1]) for g, _ in part.rays)])
        return worst + off

    def folded(self, program: Program, part: Cone) -> Program:
        """The open neurons on a bounded region, and the outputs.

        Open neurons are at least 0, and at most what bounds their own input. So the corners of the region bound the
        input of the next one. If it is nowhere negative, the neuron is its input; if it is nowhere positive, the neuron
        is 0; or else it is open, unless its input is affine and has one sign at all corners."""
        neurons: list[Sum] = []
        most: list[int] = []  # of the open neurons
        known: list[Sum] = []
        for row, rest in program.neurons:
            row, rest = self.added(rest, known, row)
            part.pay(1, row)
            sizes = [c * most[k] for k, c in rest.items()]
            values = [dot(row, g) // g[-1] for g, _ in part.rays]
            low, high = min(values) + sum(min(v, 0) for v in sizes), max(values) + sum(max(v, 0) for v in sizes)
            if low >= 0:
                known.append((row, rest))
            elif high < 0 or not (rest or any(dot(row, g) > 0 for g, _ in part.rays)):
                known.append(([0] * (self.n + 1), {}))
            else:
                known.append(([0] * (self.n + 1), {len(neurons): 1}))
                neurons.append((row, rest))
                most.append(high + 1)
        return Program(neurons, [self.added(rest, known, row) for row, rest in program.outputs])

    def added(self, form: dict[int, int], known: list[Sum], row: list[int] | None = None) -> Sum:
        """A sum of multiples of what neurons are, and of an affine function."""
        row, rest = row or [0] * (self.n + 1), dict[int, int]()
        for j, w in form.items():
            affine, others = known[j]
            if any(affine):
                row = [u + w * v for u, v in zip(row, affine, strict=True)]
            for k, c in others.items():
                rest[k] = rest.get(k, 0) + w * c
            spend(1 + len(others) + work(self.n + 1 + len(others), w.bit_length(), longest([row])), "network")
        return row, {k: c for k, c in rest.items() if c}


def table(law: Law, meant: Law, layers: Layers, leaves: list[Any], growth: Fraction) -> Fraction:
    """How far a table is from another one: every simplex has a partner, and its corners the nearest corners of that."""
    n, others, worst = law.n, meant.pieces, ZERO
    known: dict[Any, list[list[Interval]]] = {}
    for j, (piece, leaf) in enumerate(zip(law.pieces, leaves, strict=True)):
        where = f"piece {j}"
        shape = {"piece": range(len(others)), "box": Any}
        i, box = read({"box": None} | leaf if type(leaf) is dict else leaf, shape, where)
        spend(4 * n * n * (1 + len(piece.laws)), where)
        ours, theirs = ([[Fraction(v, p.scale) for v in x[:-1]] for x in p.corners] for p in (piece, others[i]))
        whose = [nearest(x, theirs) for x in ours]
        span, other = Span(ours, [], []), Span([theirs[k] for k in whose], [], [])
        steep = gradient(layers, n, span, other, box, known, where)
        for (f, d), (s, e), J in zip(piece.laws, others[i].laws, steep, strict=True):
            for v, k in enumerate(whose):
                size = piece.scale * others[i].scale
                pairs = zip(piece.corners[v], others[i].corners[k], strict=True)
                step = [a * others[i].scale - b * piece.scale for a, b in pairs][:-1]
                worst = max(worst, gap(Fraction(s[k], e) - Fraction(f[v], d), step, size, J, growth))
    return worst


def nearest(x: Point, others: list[Point]) -> int:
    """The number of a point near `x`: the nearest one, as floats see it; any would do."""
    here = view(x)
    away = [max(abs(u - v) for u, v in zip(here, view(y), strict=True)) for y in others]
    return away.index(min(away))


def inside(law: Vector, other: Vector, ends: list[list[int]], h: list[Any], where: str) -> tuple[Fraction, Fraction]:
    """The same as `spread` in integers, for a region that is its own partner, and without lines."""
    (one, d), (two, e) = law, other
    step = [u * e - v * d for u, v in zip(one, two, strict=True)]
    if not any(h) and all(g[-1] for g in ends):  # the same, without a fraction for each corner
        top, last = 0, 1
        for g in ends:
            value = abs(dot(step, g))
            top, last = (value, g[-1]) if value * last > top * g[-1] else (top, last)
        return Fraction(top, last * d * e), ZERO
    level = ZERO
    for g in ends:
        off = Fraction(abs(dot(step, g)), d * e) - sum(u * v for u, v in zip(h, g[:-1], strict=True))
        if g[-1]:
            level = max(level, off / g[-1])
        else:
            need(off <= 0, where, "along a ray the difference grows faster than the stated slope")
    return level, sum((abs(Fraction(x)) for x in h), ZERO)


def times(u: Any, v: Any) -> Fraction:
    return sum((x * y for x, y in zip(u, v, strict=True)), ZERO)


def view(x: Point) -> list[float]:
    return [float(v) if abs(v) < 10**300 else 1e300 for v in x]


def spanned(part: Cone, where: str) -> Span:
    """The corners, rays and lines of a region. A line is found by a coordinate in which the others are 0: it is made 1
    there, and taken off corners and rays until they are 0 there. So its factor in a sum x is that coordinate of x."""
    spend(4 * (1 + len(part.lines)) * sum(map(len, part.generators())), where)
    lines = [[Fraction(v) for v in line[:-1]] for line in part.lines]
    corners = [[Fraction(v, g[-1]) for v in g[:-1]] for g, _ in part.rays if g[-1]]
    rays = [[Fraction(v) for v in g[:-1]] for g, _ in part.rays if not g[-1]]
    for k, line in enumerate(lines):
        own = [c for c, v in enumerate(line) if v and not any(o[c] for o in lines if o is not line)]
        need(own, where, "no coordinate belongs to one of its lines alone")
        lines[k] = line = [v / line[own[0]] for v in line]
        for some in (corners, rays):
            some[:] = [[u - x[own[0]] * v for u, v in zip(x, line, strict=True)] for x in some]
    need(all(map(any, rays)), where, "one of its rays is a sum of its lines")
    sizes = [max(map(abs, ray)) for ray in rays]
    return Span(corners, [[v / size for v in ray] for ray, size in zip(rays, sizes, strict=True)], lines)


def partners(rows: list[list[int]], span: Span, named: list[list[Point]], where: str) -> Span:
    """For each corner, ray and line itself, if the piece with these rows has it, or the nearest one that is named."""
    found = []
    for what, some, others in zip(Span._fields, span, named, strict=True):
        last = int(what == "corners")  # of rays and lines the constants of rows are left out

        def fits(x: Any, what: str = what, last: int = last) -> bool:
            place = over_one([*x, last])[0]
            values = [dot(row, place) for row in rows]
            return not any(values) if what == "lines" else min(values, default=0) >= 0

        need(all(map(fits, others)), where, f"one of its {what} is not in the other piece")
        spend((len(some) + len(others)) * (2 + len(rows)) + len(some) * len(others), where)
        kept = []
        for x in some:
            own = fits(x)
            need(own or others, where, f"for one of its {what} the other piece is given none")
            kept.append(x if own else [Fraction(v) for v in others[nearest(x, others)]])
        found.append(kept)
    return Span(*found)


def gradient(layers: Layers, n: int, span: Span, other: Span, box: Any, known: dict[Any, Any], where: str) -> Any:
    """What holds the gradient of each output between the points of a region and their partners."""
    places = span.corners + other.corners
    if span == other:
        return [[(0, 0)] * n] * len(layers[-1])  # nothing is gone
    if span.rays or span.lines:
        sides = None
    elif box is None:
        sides = tuple(tuple(f(column) for column in zip(*places, strict=True)) for f in (min, max))
    else:
        low, high = sides = tuple(map(tuple, read(box, [[Rational, n], 2], where)))
        holds = all(l <= v <= u for x in places for l, v, u in zip(low, x, high, strict=True))
        need(holds, where, "a corner or its partner is outside the box")
    if sides not in known:
        spend(2 * sum(len(form) * (n + 1) for layer in layers for form in layer), where)
        known[sides] = steepness(layers, n, sides)
    return known[sides]


def gaps(
    pair: tuple[Vector, Vector], span: Span, other: Span, steep: list[Interval], growth: Fraction
) -> list[list[Fraction]]:
    """How far the network can be from the law at corners, and how fast it goes away along rays and lines."""
    (f, d), (s, e) = pair

    def off(x: Point, y: Point, last: int) -> Fraction:  # in integers, which is many times faster
        (u, p), (v, q) = over_one([*x, last]), over_one([*y, last])
        step = [a * q - b * p for a, b in zip(u[:-1], v[:-1], strict=True)]
        stays = Fraction(dot(s, v) * d * p - dot(f, u) * e * q, d * e * p * q)
        return gap(stays, step, p * q, steep, growth)

    pairs = zip(span, other, (1, 0, 0), strict=True)
    return [[off(x, y, last) for x, y in zip(some, theirs, strict=True)] for some, theirs, last in pairs]


def gap(stays: Fraction, step: list[int], size: int, steep: list[Interval], growth: Fraction) -> Fraction:
    """The most that ``stays + J . step / size`` can be, or minus that, and what growth adds on the way."""
    ends = [(l * c, h * c) for (l, h), c in zip(steep, step, strict=True) if c]
    low, high = (stays + Fraction(sum(map(side, ends)), size << BITS) for side in (min, max))
    return max(-low, high) + growth * Fraction(max(map(abs, step)), size)


def spread(span: Span, off: list[Point], h: list[Any], where: str) -> tuple[Fraction, Fraction]:
    """The bound ``a + b max|x_i|`` that a vector `h` shows: ``a + h . x`` at corners and along rays, lines besides."""
    corners, rays, lines = off
    for e, ray in zip(rays, span.rays, strict=True):
        need(e <= times(h, ray), where, "along a ray the difference grows faster than the stated slope")
    level = max(ZERO, *(e - times(h, v) for e, v in zip(corners, span.corners, strict=True)))
    rise = sum((e + abs(times(h, line)) for e, line in zip(lines, span.lines, strict=True)), ZERO)
    return level, rise + sum((abs(Fraction(x)) for x in h), ZERO)


def steepness(layers: Layers, n: int, box: Any) -> list[list[Interval]]:
    """For each output intervals that hold its derivatives on a box, or everywhere.

    A neuron is held as its value at the centre of the box and as derivatives, all in intervals of multiples of 2^-BITS.
    By the mean value theorem its values on the box follow; a ReLU of both signs has a derivative between 0 and that of
    what it reads, and keeps its value at the centre."""
    one, radius = 1 << BITS, None
    neurons: list[Any] = [((0, 0), {k: (one, one)}) for k in range(n)]
    if box is not None:
        centre = [int((l + u) * one) >> 1 for l, u in zip(*box, strict=True)]
        radius = [int(max(u * one - c, c - l * one)) + 1 for l, c, u in zip(box[0], centre, box[1], strict=True)]
        neurons = [((c, c), {k: (one, one)}) for k, c in enumerate(centre)]
    for depth, layer in enumerate(layers):
        neurons = [weighted(form, neurons) for form in layer]
        if depth + 1 < len(layers):
            neurons = [relu(neuron, radius) for neuron in neurons]
    return [[slope.get(k, (0, 0)) for k in range(n)] for _, slope in neurons]


def weighted(form: Form, neurons: list[Any]) -> Any:
    """What a neuron reads, given the neurons before it; the coefficient after theirs is its bias."""
    size = len(neurons)
    low, high = scaled(form.get(size, 0), (1 << BITS, 1 << BITS))
    slope: dict[int, tuple[int, int]] = {}
    for j, w in form.items():
        if j < size:
            value, slopes = neurons[j]
            spend(len(slopes) * (long(w) + long(value[1])), "network")
            l, u = scaled(w, value)
            low, high = low + l, high + u
            for k, interval in slopes.items():
                l, u = scaled(w, interval)
                before = slope.get(k, (0, 0))
                slope[k] = (before[0] + l, before[1] + u)
    return (low, high), slope


def scaled(w: Rational, interval: tuple[int, int]) -> tuple[int, int]:
    """A multiple of an interval, rounded outwards."""
    p, q = w.numerator, w.denominator
    l, u = interval if p >= 0 else interval[::-1]
    return p * l // q, -(-p * u // q)


def relu(neuron: Any, radius: list[int] | None) -> Any:
    """The ReLU of a neuron on a box with these half widths, or everywhere."""
    (low, high), slope = neuron
    if slope and radius is None:
        least, most = -1, 1
    else:
        away = sum(max(-l, u) * (radius or {})[k] for k, (l, u) in slope.items())
        least, most = low - (away >> BITS) - 1, high + (away >> BITS) + 1
    if least >= 0:
        return neuron
    if most <= 0:
        return (0, 0), {}
    return (max(low, 0), max(high, 0)), {k: (min(l, 0), max(u, 0)) for k, (l, u) in slope.items()}
