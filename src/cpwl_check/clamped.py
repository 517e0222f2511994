"""Check a proof for clamped gates, kind "clamped".

**Theorem.** The neurons of the last hidden layer are called takers, those of the layer before halves. A bump is the
larger one of the outputs of its one or two halves. Let D be the region that the limits leave. If

(1) there are two inputs, and D has an interior, `clamped`
(2) on each of its triangles, none of them flat, a bump is the law that it has at the corners, `Halves.need_equal`
(3) on what its triangles leave of D a bump is 0, `read_bumps`, `Halves.need_most`
(4) the triangles of bumps with the same taker lie in boxes that do not overlap, `need_apart`
(5) a taker of bumps reads their first halves with weight 1, their second ones with weight -1, and nothing else; other
    takers that outputs read have no negative weight or bias, `combine`
(6) with takers of bumps replaced by the bumps less their second halves, and others by what they read, no half is left
    in an output: it is a constant plus a sum of factors times bumps, `combine`
(7) every piece that is not empty is bounded and lies in D, `clamped`
(8) on every piece that sum is the law, `check_piece`

then the network is the function on every piece. (Of the bumps of a taker at most one is not 0 off the edges of the
boxes; the points off these are dense in D because D has an interior, and both sides are continuous.) Why this is a
proof is in docs/proof.md, in the words used here.
"""

import math
from collections import defaultdict
from fractions import Fraction
from typing import Any, NamedTuple

from cpwl_check.budget import each, long, need, share, spend
from cpwl_check.cones import Cone, dot, outside, overlap, piece_cone, region, show
from cpwl_check.pieces import Law, Layers, Piece, common, half_space, laws_of, over_one
from cpwl_check.reading import Rational, read, read_proof

Row = list[int]  # an affine function, by integer multiples of its coefficients, or a point
LIMIT = 20000  # regions into which one question may be cut


class Neuron(NamedTuple):
    """`scale` times what a neuron reads, in terms of `scale` times what the neurons before it give: all integers."""

    terms: list[tuple[int, int]]
    bias: int
    scale: int


class Triangle(NamedTuple):
    """A triangle of a star, and the bump on it, divided by a positive number."""

    corners: list[Row]
    rows: list[Row]  # at least 0 inside
    law: Row
    divisor: int


class Bump(NamedTuple):
    """What the halves make: zero but on the triangles."""

    neuron: int
    halves: list[int]
    triangles: list[Triangle]


def added(u: Row, c: int, v: Row) -> Row:
    return [x + c * y for x, y in zip(u, v, strict=True)]


def whole(layers: Layers, n: int) -> list[list[Neuron]]:
    """The hidden layers in integers."""
    result: list[list[Neuron]] = []
    scales = [1] * n
    for layer in layers[:-1]:
        neurons = []
        for form in layer:
            items = [(j, Fraction(w) / (scales[j] if j < len(scales) else 1)) for j, w in form.items()]
            d = common(w.denominator for _, w in items)
            spend(len(items) * (1 + long(d)), "network")
            numbers = {j: int(w * d) for j, w in items}
            bias = numbers.pop(len(scales), 0)
            neurons.append(Neuron(list(numbers.items()), bias, d))
        result.append(neurons)
        scales = [neuron.scale for neuron in neurons]
    return result


class Halves:
    """What neurons are on regions: affine, or at most something. Layer -1 are the inputs."""

    def __init__(self, layers: list[list[Neuron]], n: int) -> None:
        self.layers, self.n, self.top = layers, n, len(layers) - 2

    def value(self, l: int, i: int, x: Row, known: dict[Any, int], most: bool = False) -> int:
        """Of a neuron of layer `l` at a point, of layer -1 a coordinate. With `most` a bound above, sublinear: at a sum
        of points it is at most the sum of what it is at each."""
        if l < 0:
            return x[i]
        if (l, i) not in known:
            terms, bias, _ = self.layers[l][i]
            spend(1 + len(terms), "halves")
            read = (c * self.value(l - 1, j, x, known, most) for j, c in terms if c > 0 or l == 0 or not most)
            known[l, i] = max(0, bias * x[-1] + sum(read))
            spend(len(terms) * long(known[l, i]), "halves")
        return known[l, i]

    def reads(self, l: int, i: int, cone: Cone, known: dict[Any, Any]) -> tuple[Row | None, Row]:
        """What a neuron reads on the cone if that is affine there; else None, and a row whose zeros cut the cone."""
        terms, bias, _ = self.layers[l][i]
        total = [0] * self.n + [bias]
        for j, c in terms:
            if l == 0:
                total[j] += c
                continue
            law, cut = self.law(l - 1, j, cone, known)
            if law is None:
                return None, cut
            total = added(total, c, law)
        return total, total

    def law(self, l: int, i: int, cone: Cone, known: dict[Any, Any]) -> tuple[Row | None, Row]:
        """The same for what a neuron gives."""
        if (l, i) not in known:
            terms, _, scale = self.layers[l][i]
            spend(2 + len(terms) * (1 + long(scale)), "halves")
            row, cut = self.reads(l, i, cone, known)
            side = 0 if row is None else cone.side(row)
            known[l, i] = (None, cut) if side == 0 else (row, cut) if side > 0 else ([0] * (self.n + 1), cut)
        result: tuple[Row | None, Row] = known[l, i]
        return result

    def need_most(self, i: int, law: Row, divisor: int, cone: Cone, where: str) -> None:
        """Shows that half `i` reads at most the law over the divisor, at generators or else at those of parts."""
        terms, bias, scale = self.layers[self.top][i]
        todo = [cone]
        for part in each(todo, LIMIT, where, f"this is not shown with {LIMIT} regions"):
            known: dict[Any, Any] = {}
            rest, bent = added([0] * self.n + [divisor * bias], -scale, law), []
            for j, c in terms:
                own, cut = self.law(self.top - 1, j, part, known)
                if own is None:
                    bent.append((j, c * divisor, cut))
                else:
                    rest = added(rest, c * divisor, own)
            worst, at, above = 0, list[int](), dict[Any, int]()
            generators = part.generators()
            spend(len(generators) * (3 + len(terms)), where)
            for g in generators:
                bound: dict[Any, int] = {}
                high = dot(rest, g) + sum(c * self.value(self.top - 1, j, g, bound, True) for j, c, _ in bent if c > 0)
                worst, at, above = (high, g, bound) if high > worst else (worst, at, above)
            if worst:
                real: dict[Any, int] = {}
                lost = [-c * self.value(self.top - 1, j, at, real) for j, c, _ in bent]
                lost = [
                    v + max(c, 0) * self.value(self.top - 1, j, at, above, True)
                    for v, (j, c, _) in zip(lost, bent, strict=True)
                ]
                need(worst <= sum(lost), where, f"half {i} is too large at {show(at)}", [at])
                cut = bent[lost.index(max(lost))][2]
                todo += [part.cut(cut), part.cut([-v for v in cut])]

    def need_equal(self, halves: list[int], triangle: Triangle, cone: Cone, where: str) -> None:
        """Shows that on a triangle one of the halves is the law, and the others are at most that."""
        todo = [cone]
        for part in each(todo, LIMIT, where, f"this is not shown with {LIMIT} regions"):
            known: dict[Any, Any] = {}
            found = [self.reads(self.top, i, part, known) for i in halves]
            same = [i for i, (row, _) in zip(halves, found, strict=True) if row and self.is_law(i, row, triangle)]
            if same:
                for i in halves:
                    if i != same[0]:
                        self.need_most(i, triangle.law, triangle.divisor, part, where)
                continue
            cuts = [cut for row, cut in found if row is None]
            need(cuts, where, "none of the halves is the bump on a part of a triangle")
            todo += [part.cut(cuts[0]), part.cut([-v for v in cuts[0]])]

    def is_law(self, i: int, row: Row, triangle: Triangle) -> bool:
        scale = self.layers[self.top][i].scale
        return [v * triangle.divisor for v in row] == [v * scale for v in triangle.law]


def make_triangle(corners: list[Row], values: list[Fraction], where: str) -> Triangle:
    """The affine function with these values at the corners, which must not be on one line."""
    rows, total = [], [Fraction(0)] * 3
    for k, value in enumerate(values):
        u, v = corners[k - 2], corners[k - 1]
        row = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
        at = dot(row, corners[k])
        need(at, where, "a triangle is flat")
        rows.append(row if at > 0 else [-x for x in row])
        share = value * corners[k][2] / at
        total = [x + share * y for x, y in zip(total, row, strict=True)]
    law, divisor = over_one(total)
    return Triangle(corners, rows, law, divisor)


def read_bumps(proof: Any, halves: Halves, points: list[Row], domain: Cone) -> list[Bump]:
    """The bumps, each shown to be what its halves make, and 0 elsewhere in the region."""
    bumps = []
    width, last = len(halves.layers[-2]), len(halves.layers[-1])
    for b, entry in enumerate(proof):
        where = f"bump {b}"
        shape = {"neuron": range(last), "halves": [range(width)], "triangles": [[range(len(points)), 3]]}
        neuron, own, stars = read(entry, shape, where)
        need(len(own) in (1, 2), where, "it must have one half or two")
        triangles = []
        for star in stars:
            spend(20, where)
            heights = [max(height(halves, i, points[v]) for i in own) for v in star]
            triangles.append(make_triangle([points[v] for v in star], heights, where))
        bumps.append(Bump(neuron, own, triangles))
    for b, bump in share(bumps):
        for triangle in bump.triangles:
            halves.need_equal(bump.halves, triangle, region(2, triangle.rows), f"bump {b}")
        for part in outside(domain, [triangle.rows for triangle in bump.triangles]):
            for i in bump.halves:
                halves.need_most(i, [0, 0, 0], 1, part, f"bump {b}")
    return bumps


def height(halves: Halves, i: int, x: Row) -> Fraction:
    return Fraction(halves.value(halves.top, i, x, {}), halves.layers[halves.top][i].scale * x[-1])


def need_apart(bumps: list[Bump]) -> None:
    """Bumps that one neuron takes lie in boxes that do not overlap."""
    boxes: dict[int, list[Any]] = defaultdict(list)
    for bump in bumps:
        corners = [place(x) for triangle in bump.triangles for x in triangle.corners]
        boxes[bump.neuron].append([(min(axis), max(axis)) for axis in zip(*corners, strict=True)])
    for neuron, own in boxes.items():
        need(overlap(list(zip(own, own, strict=True))) is None, f"neuron {neuron}", "two of its bumps overlap")


def combine(layers: Layers, bumps: list[Bump]) -> list[tuple[Fraction, list[Fraction]]]:
    """Each output as a constant plus a sum of factors times bumps. A neuron of bumps gives what they are less what
    their second halves give; others must be sums of what is at least 0. In the outputs all halves must cancel."""
    last, width = layers[-2], len(layers[-3])
    taken: dict[int, dict[int, int]] = defaultdict(dict)
    for bump in bumps:
        for i, sign in zip(bump.halves, (1, -1), strict=False):
            need(i not in taken[bump.neuron], f"neuron {bump.neuron}", f"it has half {i} twice")
            taken[bump.neuron][i] = sign
    for d, meant in taken.items():
        need(last[d] == meant, f"neuron {d}", "it does not read its first halves minus its second halves")
    result = []
    for o, form in enumerate(layers[-1]):
        rest: dict[int, Fraction] = defaultdict(Fraction)
        spend(len(bumps) + sum(1 + len(taken.get(d, last[d]) if d < len(last) else ()) for d in form), f"output {o}")
        for d, c in form.items():
            if d in taken:
                for i, sign in taken[d].items():
                    rest[i] -= c if sign < 0 else 0
            elif d < len(last):
                need(min(last[d].values(), default=0) >= 0, f"neuron {d}", "it may be negative before ReLU")
                for i, w in last[d].items():
                    rest[i] += c * w
            else:
                rest[width] += c
        constant = rest.pop(width, Fraction(0))
        need(not any(rest.values()), f"output {o}", "halves of bumps are left in it")
        result.append((constant, [Fraction(form.get(bump.neuron, 0)) for bump in bumps]))
    return result


class Places:
    """Triangles by the tiles of a grid that they meet, to find those near a piece."""

    def __init__(self, bumps: list[Bump]) -> None:
        corners = [place(x) for bump in bumps for triangle in bump.triangles for x in triangle.corners]
        self.low, high = ([f(axis) for axis in zip(*corners, strict=True)] for f in (min, max))
        self.count = 1 + math.isqrt(len(corners))
        self.step = [(b - a) / self.count for a, b in zip(self.low, high, strict=True)]
        self.tiles: dict[tuple[int, int], list[tuple[int, Triangle]]] = defaultdict(list)
        for b, bump in enumerate(bumps):
            for triangle in bump.triangles:
                keys = self.keys(triangle.corners)
                spend(20 + 2 * len(keys), f"bump {b}")
                for key in keys:
                    self.tiles[key].append((b, triangle))

    def keys(self, corners: list[Row]) -> list[tuple[int, int]]:
        ranges = []
        for axis, low, step in zip(zip(*map(place, corners), strict=True), self.low, self.step, strict=True):
            ends = [min(max(math.floor((v - low) / step), -1), self.count) for v in (min(axis), max(axis))]
            ranges.append(range(ends[0], ends[1] + 1))
        return [(i, j) for i in ranges[0] for j in ranges[1]]

    def near(self, corners: list[Row]) -> list[tuple[int, Triangle]]:
        held = [self.tiles.get(key, []) for key in self.keys(corners)]
        spend(len(held) + sum(map(len, held)), "tiles")
        found = {id(entry[1]): entry for own in held for entry in own}
        return list(found.values())


def place(x: Row) -> list[Fraction]:
    return [Fraction(v, x[-1]) for v in x[:-1]]


def check_piece(piece: Piece, cone: Cone, sums: Any, near: list[tuple[int, Triangle]], j: int) -> None:
    """On the piece, cut where triangles end inside it, every output has its law."""
    todo, laws = [cone], laws_of(piece)
    for part in each(todo, LIMIT, f"piece {j}", f"this is not shown with {LIMIT} regions"):
        inside: dict[int, Triangle] = {}
        cut: Row | None = None
        spend(4 * len(near), f"piece {j}")
        for b, triangle in near:
            sides = [part.side(row) for row in triangle.rows]
            if min(sides) > 0:
                inside[b] = triangle
            elif min(sides) == 0:  # otherwise it is on the other side of an edge
                cut = triangle.rows[sides.index(0)]
        if cut is not None:
            todo += [part.cut(cut), part.cut([-v for v in cut])]
            continue
        for o, (constant, factors) in enumerate(sums):
            spend(6 * len(inside) + 20 * (len(part.rays) + len(part.lines)), f"piece {j}")
            total = [Fraction(0), Fraction(0), constant]
            for b, triangle in inside.items():
                factor = factors[b] / triangle.divisor
                total = [x + factor * y for x, y in zip(total, triangle.law, strict=True)]
            law, d = laws[o]
            for x in part.generators():
                same = sum(v * y for v, y in zip(total, x, strict=True)) * d == dot(law, x)
                where = f"output {o}, piece {j}"
                need(same, where, f"network and function differ at {show(x)}", [x])


def clamped(law: Law, layers: Layers, proof: Any) -> Fraction:
    """0, if the proof shows that the network is the function on every piece."""
    n = law.n
    body = {"limits": [[Rational, 3]], "points": [[Rational, 2]], "bumps": [Any]}
    _, limits, places, entries = read_proof(proof, "clamped", 2, 0, body)
    need(n == 2 and 4 <= len(layers) < 100, "network", "it needs two inputs, and three hidden layers or more")
    rows = [half_space(row)[0] for row in limits]
    points = [over_one([*x, 1])[0] for x in places]
    halves, domain = Halves(whole(layers, n), n), region(n, rows)
    need(domain.is_solid(), "limits", "the region that they leave has no interior")
    bumps = read_bumps(entries, halves, points, domain)
    need(bumps and all(bump.triangles for bump in bumps), "bumps", "there are none, or one has no triangle")
    need_apart(bumps)
    sums, near = combine(layers, bumps), Places(bumps)
    for j, piece in share(law.pieces):
        cone = piece_cone(piece, n)
        ends = cone.generators()
        if any(g[-1] for g in ends):  # otherwise the piece is empty
            need(all(g[-1] for g in ends), f"piece {j}", "it is not bounded")
            need(all(dot(row, g) >= 0 for row in rows for g in ends), "limits", f"piece {j} is not inside")
            check_piece(piece, cone, sums, near.near(ends), j)
    return Fraction(0)
