"""Check a proof for windows on a convex lifting, kind "windows".

Let the box of the function be the smallest around the corners of all pieces, and s(z) = max(0, z). A *clamp* is a
neuron of the third hidden layer. It reads F - R, where R is a sum of convex functions of one input each, the same for
all clamps, and F is an affine function plus a sum of *hinges* s(h), h affine: convex, too. A *side* is a list of
classes of clamps; the sum over a class and then the largest over the classes is the value M of the side.

**Theorem.** If

(1) every piece with a point is bounded, and may be cut into parts; their corners are known, `parts_of`
(2) the first hidden layer reads x_i - X or X - x_i, for knots X, `read_knots`
(3) the second carries a neuron of the first, or reads what is affine on the box, `read_second`
(4) the third reads F - R: hinges with factors that are not negative, and the same R, convex, in all, `read_clamps`
(5) each part names one clamp of every side; none of its hinges changes its sign at the part's corners, and at these
    the clamp reads at least 0, `own_values`
(6) at every corner of every part no clamp of the side reads more than the one that the part names, `need_largest`
(7) clamps of one class have boxes that do not overlap, and are 0 on the function's box outside of theirs,
    `need_apart`
(8) the layers after the third take the maxima over the classes of each side, by pairs: max(a, b) = b + s(a - b), or
    carry a sum of what is not negative, `read_maxima`
(9) each output is a sum of multiples of the sides' values, of factors with the sum 0, and a constant; at the corners of
    every part that sum is the value of the piece's law, `need_values`

then the network is the function on every piece.

*Proof.* (a) A part P is the convex hull of its corners. The named clamp reads F - R with F affine on P, by (5): a
hinge that is not positive at any corner, or not negative at any, is affine on P. F - R is concave on P, so not negative
there. (b) Let F' - R be what another clamp of the side reads. F' is convex and F affine on P, so F' - F is at most 0 on
P if it is so at its corners: (6). At a corner outside the box of the other clamp that need not be looked at: there F' -
R is at most 0, which is at most F - R. (c) By (7) at every point at most one clamp of a class is positive, so that the
sum over a class is the largest of its members, or 0. With (a) and (b): M = F - R on P. (d) Classes are sums of what is
not negative, and so are the larger ones of two: they pass a layer. (e) An output is sum_k c_k M_k + c = sum_k c_k F_k +
c on P, as the c_k add up to 0. That is affine, and by (9) it is the law of the function at the corners, hence on P.
(f) Boxes: where hinges are h_1 .. h_k, F is the largest of 2^k affine functions A. Let m_i be the least value on axis i
of phi_i = R_i - (the i-th part of A), which is attained at a knot or an end. Where A > R, phi_i at x_i is less than the
constant of A less the other m_j: an interval, which `interval` finds between neighbouring knots.
"""

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from cpwl_check.budget import Refused, each, long, need, spend, total
from cpwl_check.cones import Cone, dot, minus, mix, overlap, piece_cone, show
from cpwl_check.pieces import Form, Forms, Law, Layers, over_one, read_cut, solved
from cpwl_check.reading import read, read_proof

ZERO = Fraction(0)
LIMIT = 10_000  # parts of one piece
Row = list[int]
Knot = tuple[int, int, Fraction]  # sign, input, place
Bends = dict[tuple[int, Fraction], Fraction]  # by how much the slope changes at a place of an input
FINE = 2**64  # boxes of clamps are rounded outwards to this part of the function's box


class Clamp(NamedTuple):
    """An affine function and hinges, as integer rows over one denominator: F is (affine + sum of s(hinge)) / scale."""

    affine: Row
    hinges: list[Row]
    scale: int

    def at(self, x: Row) -> int:
        """F at a place, times the scale and the last coordinate of x."""
        return dot(self.affine, x) + sum(max(0, dot(h, x)) for h in self.hinges)


def windows(law: Law, layers: Layers, proof: Any) -> Fraction:
    """0, if the network is the function on every piece; or `Refused`."""
    sides, places, parts, (low, high) = read_sides(law, layers, proof, "windows", 1)
    knots = read_knots(layers[0], law.n)
    second = read_second(layers[1], knots, low, high)
    clamps, bends = read_clamps(layers[2], second, knots, low, high)
    ground = make_ground(low, high, bends)
    factors, constants = read_maxima(layers, sides)
    for o, own in enumerate(factors):
        need(sum(own) == 0, f"output {o}", "the factors of the sides do not add up to 0")
    base = [ground.at(x) for x in places]
    boxes = need_apart(clamps, sides, ground)
    values = []
    for s, side in enumerate(sides):
        members = {k for group in side for k in group}
        value = own_values(s, members, clamps, parts, places, base)
        need_largest(members, clamps, boxes, places, value, ground)
        values.append(value)
    need_values(law, places, parts, values, factors, constants)
    return ZERO


# --- Places -----------------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """A piece or a part of it: the numbers of its corners, and the clamp of each side."""

    piece: int
    corners: list[int]
    names: list[int]
    cone: Cone | None
    """None for a whole simplex."""


def parts_of(law: Law, named: list[Any], count: int) -> tuple[list[Row], list[Part]]:
    """(1): all corners, and the parts of all pieces."""
    number: dict[tuple[int, ...], int] = {}
    parts = []
    for j, (piece, entry) in enumerate(zip(law.pieces, named, strict=True)):
        where = f"piece {j}"
        spend(4 * (law.n + 1) ** 2, where)
        if type(entry) is list and piece.corners:
            todo: list[tuple[Any, Any, list[Row]]] = [(entry, None, piece.corners)]
        else:
            cone = piece_cone(piece, law.n)
            todo = [(entry, cone, cone.generators())]
        for node, cone, ends in each(todo, LIMIT, where, f"it has more than {LIMIT} parts"):
            if (cut := read_cut(node, law.n, where)) is not None:
                row, below, above = cut
                sides = [(below, cone.cut(row)), (above, cone.cut(minus(row)))]
                todo += [(side, region, region.generators()) for side, region in sides]
                continue
            if not any(x[-1] for x in ends):
                ends = []  # it has no point
            need(all(x[-1] for x in ends), where, "it is not bounded")
            names = read(node, [range(count)], where)
            keys = [tuple(mix(1, x, 0, x)) for x in ends]
            parts.append(Part(j, [number.setdefault(key, len(number)) for key in keys], names, cone))
    return [list(key) for key in number], parts


def read_sides(law: Law, layers: Layers, proof: Any, kind: str, tiles: int) -> tuple[Any, list[Row], list[Part], Any]:
    """The sides, each neuron of the third layer in one group of one of them; all corners; the parts of all pieces, that
    name a neuron, or one of so many tiles with it; and the ends of the box of the function."""
    need(len(layers) >= 4, "network", "it needs three hidden layers or more")
    n, count = law.n, len(layers[2])
    shape = {"sides": [[[range(count)]]], "pieces": [Any, len(law.pieces)]}
    _, sides, named = read_proof(proof, kind, n, 0, shape)
    every = sorted(k for side in sides for group in side for k in group)
    need(sides and all(sides) and every == list(range(count)), "sides", "each neuron must be in one class of one side")
    places, parts = parts_of(law, named, tiles * count)
    spend(4 * n * len(places), "places")
    low, high = ([Fraction(f(Fraction(x[i], x[-1]) for x in places)) for i in range(n)] for f in (min, max))
    return sides, places, parts, (low, high)


# --- Layers -----------------------------------------------------------------------------------------------------------


def read_knots(layer: Forms, n: int) -> list[Knot]:
    """(2)"""
    knots = []
    for k, form in enumerate(layer):
        read = [(i, w) for i, w in form.items() if i < n]
        fits = len(read) == 1 and read[0][1] in (1, -1)
        need(fits, f"layer 0, neuron {k}", "it does not read one input, with weight 1 or -1")
        (i, sign) = read[0]
        knots.append((int(sign), i, -sign * Fraction(form.get(n, 0))))
    return knots


def split(
    form: Form, constant: Any, knots: list[Knot], low: list[Fraction], high: list[Fraction]
) -> tuple[list[Fraction], Bends]:
    """A sum of first neurons, on the box, as an affine function and multiples of s(x_i - X)."""
    n = len(low)
    affine = [ZERO] * n + [Fraction(constant)]
    bends: Bends = {}
    for k, weight in form.items():
        sign, i, place = knots[k]
        linear = place <= low[i] if sign > 0 else place >= high[i]
        if linear or sign < 0:  # s(X - x) = s(x - X) - (x - X)
            affine[i] += weight * sign
            affine[n] -= weight * sign * place
        if not linear:
            bends[i, place] = bends.get((i, place), ZERO) + weight
    return affine, {key: c for key, c in bends.items() if c}


def read_second(
    layer: Forms, knots: list[Knot], low: list[Fraction], high: list[Fraction]
) -> list[int | list[Fraction]]:
    """(3): of each neuron the first one that it carries, or the affine function that it reads."""
    found: list[int | list[Fraction]] = []
    for k, form in enumerate(layer):
        spend(2 + 4 * len(form), "layer 1")
        own = {i: w for i, w in form.items() if i < len(knots)}
        if len(form) == 1 and list(own.values()) == [1]:
            found.append(next(iter(own)))
            continue
        affine, bends = split(own, form.get(len(knots), 0), knots, low, high)
        need(not bends, f"layer 1, neuron {k}", "its input is not affine")
        found.append(affine)
    return found


def read_clamps(
    layer: Forms, second: list[Any], knots: list[Knot], low: list[Fraction], high: list[Fraction]
) -> tuple[list[Clamp], Bends]:
    """(4)"""
    clamps: list[Clamp] = []
    common: Bends | None = None
    for k, form in enumerate(layer):
        where = f"layer 2, neuron {k}"
        spend(4 * len(form), where)
        carried: Form = {}
        hinges = []
        for j, weight in form.items():
            if j < len(second) and isinstance(second[j], int):
                carried[second[j]] = carried.get(second[j], ZERO) + weight
            elif j < len(second):
                need(weight > 0, where, "a hinge has a negative factor")
                hinges.append([weight * c for c in second[j]])
        affine, bends = split(carried, form.get(len(second), 0), knots, low, high)
        common = bends if common is None else common
        need(bends == common, where, "its bends differ from those of the other neurons")
        flat, scale = over_one([c for row in (affine, *hinges) for c in row])
        width = len(affine)
        rows = [flat[i : i + width] for i in range(0, len(flat), width)]
        clamps.append(Clamp(rows[0], rows[1:], scale))
    need(all(c < 0 for c in (common or {}).values()), "layer 2", "the subtracted function is not convex")
    return clamps, common or {}


def read_maxima(layers: Layers, sides: list[list[list[int]]]) -> tuple[list[list[Fraction]], list[Fraction]]:
    """The maxima over the groups of each side, and of each output the factors of the sides and the constant."""
    forms = [[dict.fromkeys(group, 1) for group in side] for side in sides]
    level = 3
    while any(len(own) > 1 for own in forms):
        wanted: list[dict[int, int]] = []
        forms = [pairs(own, wanted) for own in forms]
        need(level < len(layers) - 1, "network", "it has too few layers for these classes")
        need(len(layers[level]) == len(wanted), f"layer {level}", f"it must have {len(wanted)} neurons")
        for k, (form, row) in enumerate(zip(layers[level], wanted, strict=True)):
            spend(2 + len(row), f"layer {level}")
            need(form == row, f"layer {level}, neuron {k}", "it neither compares two classes nor carries one")
        level += 1
    need(level == len(layers) - 1, "network", "it has too many layers for these classes")
    width = len(layers[level - 1])
    factors, constants = [], []
    for o, form in enumerate(layers[level]):
        own = [Fraction(form.get(next(iter(side[0])), 0)) for side in forms]
        wanted_form = {k: c for side, c in zip(forms, own, strict=True) for k in side[0] if c}
        rest = {k: w for k, w in form.items() if k != width}
        need(rest == wanted_form, f"output {o}", "it is not a sum of multiples of the sides")
        factors.append(own)
        constants.append(Fraction(form.get(width, 0)))
    return factors, constants


def pairs(forms: list[dict[int, int]], wanted: list[dict[int, int]]) -> list[dict[int, int]]:
    """The maxima of pairs, on neurons that are added to the wanted ones."""
    after = []
    for k in range(0, len(forms) - 1, 2):
        one, two = forms[k], forms[k + 1]
        wanted += [one | {j: -w for j, w in two.items()}, two]
        after.append({len(wanted) - 2: 1, len(wanted) - 1: 1})
    if len(forms) % 2:
        wanted.append(forms[-1])
        after.append({len(wanted) - 1: 1})
    return after


# --- Boxes of clamps: where one may be positive, axis by axis, (f) of the proof ---------------------------------------


class Ground(NamedTuple):
    """The box of the function, and the common R: its places on each axis and its values there, all times a unit. R
    is convex: slopes from one place to the next grow."""

    low: list[int]
    high: list[int]
    unit: int
    places: list[list[int]]
    values: list[list[int]]
    cost: int  # of a look at one place

    def at(self, x: Row) -> Fraction:
        """R at a place."""
        spend(len(self.low) * self.cost, "places")
        found = ZERO
        for c, places, values in zip(x, self.places, self.values, strict=False):
            k = max(0, bisect_right(places, c * self.unit // x[-1]) - 1)
            found += Fraction(values[k], self.unit)
            if rest := c * self.unit - places[k] * x[-1]:
                step = (values[k + 1] - values[k]) * rest
                found += Fraction(step, (places[k + 1] - places[k]) * self.unit * x[-1])
        return found

    def cell(self, i: int, above: int, below: int = 1) -> int:
        """The number of a place of axis i, `above / below` units, among FINE parts of the box, rounded down."""
        return (above - self.low[i] * below) * FINE // ((self.high[i] - self.low[i]) * below)


def make_ground(low: list[Fraction], high: list[Fraction], bends: Bends) -> Ground:
    places = [sorted({low[i], high[i], *(x for j, x in bends if j == i)}) for i in range(len(low))]
    values = []
    for i, own in enumerate(places):
        slope, value = ZERO, [ZERO]
        for x, after in pairwise(own):
            slope -= bends.get((i, x), 0)
            value.append(value[-1] + slope * (after - x))
            spend(8 + 4 * (long(slope) + long(value[-1])), "knots")
        values.append(value)
    flat, unit = [v for rows in (places, values) for own in rows for v in own], 1
    for v in flat:  # all numbers are going to be as long as the unit
        unit = math.lcm(unit, v.denominator)
        spend(1 + long(unit), "knots")
    spend(len(flat) * (unit.bit_length() // 256 + long(unit)), "knots")
    numbers, unit = over_one(flat)
    left = iter(numbers)
    at, heights = ([[next(left) for _ in own] for own in rows] for rows in (places, values))
    cost = 4 + max(map(long, numbers)) + max(map(len, places)).bit_length()
    return Ground([int(v * unit) for v in low], [int(v * unit) for v in high], unit, at, heights, cost)


def need_apart(clamps: list[Clamp], sides: Any, ground: Ground) -> list[list[tuple[int, int]] | None]:
    """(7): the boxes, in parts of the function's box, rounded outwards; None for a clamp that is 0 everywhere."""
    boxes = [box_of(clamp, ground) for clamp in clamps]
    for group in (group for side in sides for group in side):
        both = overlap([(b, k) for k in group if (b := boxes[k]) is not None])
        need(both is None, f"clamps {both}", "they are in one class, and their boxes overlap")
    return boxes


def box_of(clamp: Clamp, ground: Ground) -> list[tuple[int, int]] | None:
    """A box around where a clamp may be positive: over the affine functions whose maximum F is."""
    parts = [clamp.affine]
    for hinge in clamp.hinges:
        spend(4 * len(parts) * len(hinge), "boxes")
        parts += [[a + b for a, b in zip(part, hinge, strict=True)] for part in parts]
    found: list[tuple[int, int]] | None = None
    for part in parts:
        spend(ground.cost * sum(4 + long(c) + long(clamp.scale) for c in part), "boxes")
        axes = [Axis(ground, i, clamp.scale, c) for i, c in enumerate(part[:-1])]
        low = [axis.least() for axis in axes]
        least = [axis.phi(k) for axis, k in zip(axes, low, strict=True)]
        room = part[-1] * ground.unit - sum(least)
        if room > 0:
            ends = [axis.interval(k, room + v) for axis, k, v in zip(axes, low, least, strict=True)]
            before = found or ends
            found = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(before, ends, strict=True)]
    return found


class Axis(NamedTuple):
    """phi_i times a scale and the unit of the ground, for an affine function with this slope over the scale: convex."""

    ground: Ground
    i: int
    scale: int
    slope: int

    def phi(self, k: int) -> int:
        """At place k."""
        return self.ground.values[self.i][k] * self.scale - self.slope * self.ground.places[self.i][k]

    def least(self) -> int:
        """The place where it is least: the first after which it does not fall."""
        last = len(self.ground.places[self.i]) - 1
        return bisect_left(range(last), True, key=lambda k: self.phi(k + 1) >= self.phi(k))

    def interval(self, low: int, limit: int) -> tuple[int, int]:
        """Around where it is less than a limit, if it is so at place `low`, where it is least."""
        x, phi = self.ground.places[self.i], self.phi
        a = bisect_left(range(low), True, key=lambda k: phi(k) < limit)
        b = low + bisect_left(range(low + 1, len(x)), True, key=lambda k: phi(k) >= limit)
        begin, end = (x[a], 1), (x[b], 1)
        if a > 0:
            falls = phi(a - 1) - phi(a)
            begin = x[a] * falls - (x[a] - x[a - 1]) * (limit - phi(a)), falls
        if b < len(x) - 1:
            grows = phi(b + 1) - phi(b)
            end = x[b] * grows + (x[b + 1] - x[b]) * (limit - phi(b)), grows
        return self.ground.cell(self.i, *begin), self.ground.cell(self.i, *end) + 1


# --- Values -----------------------------------------------------------------------------------------------------------


def own_values(
    s: int,
    own: set[int],
    clamps: list[Clamp],
    parts: list[Part],
    places: list[Row],
    base: list[Fraction],
) -> list[Fraction]:
    """(5), and F at every corner: parts that share one must agree there."""
    values: list[Fraction | None] = [None] * len(places)
    for j, ends, names, _ in parts:
        need(len(names) > s and names[s] in own, f"piece {j}", f"it names no clamp of side {s}")
        clamp = clamps[names[s]]
        spend(2 * len(ends) * (1 + len(clamp.hinges)) * len(clamp.affine), f"piece {j}")
        for hinge in clamp.hinges:
            signs = [dot(hinge, places[v]) for v in ends]
            steady = not signs or min(signs) >= 0 or max(signs) <= 0
            need(steady, f"piece {j}", f"a hinge of clamp {names[s]} changes its sign there")
        for v in ends:
            x = places[v]
            value = Fraction(clamp.at(x), clamp.scale * x[-1])
            if values[v] not in (None, value):
                raise Refused(f"piece {j}: another value of side {s} at {show(x)}", [x])
            need(value >= base[v], f"piece {j}", f"clamp {names[s]} reads less than 0 at one of its corners")
            values[v] = value
    return [ZERO if value is None else value for value in values]


def need_largest(
    own: set[int],
    clamps: list[Clamp],
    boxes: list[list[tuple[int, int]] | None],
    places: list[Row],
    values: list[Fraction],
    ground: Ground,
) -> None:
    """(6): at the corners in the box of each clamp; outside it reads at most 0."""
    cells = [[ground.cell(i, c * ground.unit, x[-1]) for i, c in enumerate(x[:-1])] for x in places]
    order = sorted(range(len(places)), key=lambda v: cells[v][0])
    first = [cells[v][0] for v in order]
    for k in sorted(own):
        box, clamp = boxes[k], clamps[k]
        if box is None:
            continue
        near = order[bisect_left(first, box[0][0]) : bisect_right(first, box[0][1])]
        spend(len(near), f"clamp {k}")
        for v in near:
            if all(a <= c <= b for c, (a, b) in zip(cells[v], box, strict=True)):
                x, value = places[v], values[v]
                spend(2 * len(x) * (1 + len(clamp.hinges)), f"clamp {k}")
                if clamp.at(x) * value.denominator > value.numerator * clamp.scale * x[-1]:
                    raise Refused(f"clamp {k}: it is too large at {show(x)}", [x])


def need_values(
    law: Law,
    places: list[Row],
    parts: list[Part],
    values: list[list[Fraction]],
    factors: list[list[Fraction]],
    constants: list[Fraction],
) -> None:
    """(9)"""
    for o, (own, constant) in enumerate(zip(factors, constants, strict=True)):
        rows = zip(*values, strict=True)
        sums = [total((c * v for c, v in zip(own, row, strict=True)), "values", constant) for row in rows]
        for j, ends, _, cone in parts:
            where, piece, whole = f"output {o}, piece {j}", law.pieces[j], cone is None
            spend(4 * len(ends), where)
            numbers, divisor = piece.laws[o]
            if piece.corners and not whole:
                numbers, divisor = solved(piece._replace(laws=[piece.laws[o]]))[0]
            for k, v in enumerate(ends):
                x = places[v]
                meant = Fraction(numbers[k] if whole else Fraction(dot(numbers, x), x[-1])) / divisor
                if sums[v] != meant:
                    raise Refused(f"{where}: network and function differ at {show(x)}", [x])
