"""Check a proof for multiplexed windows, kind "multiplexed".

Let the box of the function be the smallest around the corners of all pieces, and s(z) = max(0, z). A *tile* is a box
with ends lo_i, hi_i. Its reach g_i > 0 says how far out it acts: let o(x) be the sum over i of
(s(lo_i - x_i) + s(x_i - hi_i)) / g_i. On every axis one end is near, c_i; u_i = s(x_i - c_i) if that is the lower one,
s(c_i - x_i) if it is the upper one, and D_i is the largest u_i on the tile. Its neurons are psi_0 = s(1 - o) and
psi_i = s(u_i - M_i o). A *slot* is Phi = sum over tiles of (A(c) + k) psi_0 + sum_i w_i psi_i, less k: for each of some
tiles it has a law A(x) = A(c) + sum_i w_i (+-)(x_i - c_i), the i-th sign that of u_i; k is the penalty of its side. A
*side* is a list of slots, and its value M is the largest of them plus a constant B.

**Theorem.** If

(1) every piece with a point is bounded, and may be cut into parts; their corners are known, `windows.parts_of`
(2) the first hidden layer reads x_i - X or X - x_i, for knots X, `windows.read_knots`
(3) the second has psi_0 .. psi_n of each tile, with c_i not inside the tile and M_i >= D_i + g_i, `read_tiles`
(4) the third reads a - b and b + B for pairs of slots a, b of one side, or b + B, `read_slots`
(5) the boxes with ends lo_i - g_i, hi_i + g_i of the tiles of one slot do not overlap, `need_apart`
(6) for every law of a slot k >= sum over w_i < 0 of |w_i| M_i + the largest of 0 and w_i g_i; and for those of b
    B >= k + s(-A(c) - k) + sum over w_i < 0 of |w_i| D_i, with k >= 0, `read_slots`
(7) each part names a tile and a slot of every side, whose law A there is not negative at the part's corners, and is at
    a corner what those of other parts are, `own_values`
(8) if the box around a part meets the inside of a box of (5), no law that a slot has for this tile is larger than the
    part's at its corners, `need_largest`
(9) every part is covered by tiles for which some slot of each side has the part's law, `need_covered`
(10) the layers after the third take the maxima over the slots of each side, `windows.read_maxima`
(11) each output is a sum of multiples of the sides' values and a constant; at the corners of every part that sum is the
    value of the piece's law, `windows.need_values`

then the network is the function on every piece.

*Proof.* (a) psi_i is 0 where o >= 1: u_i <= D_i + g_i o <= M_i o. So by (5) at most one tile of a slot acts at a
point. On a tile o = 0, psi_0 = 1, psi_i = u_i, and Phi = A. (b) Let x be in a part with law W, and o = o(x) < 1 for a
tile of a slot. x is inside the box of (8), so A(x) <= W(x); and W(x) >= 0 by (7). Here u_i <= D_i + g_i <= M_i. So
psi_i <= u_i psi_0, as M_i >= u_i, and u_i psi_0 - psi_i <= M_i o, whether psi_i is 0 or not. Hence Phi <= psi_0 (A(c)
+ sum w_i u_i) + o (sum over w_i < 0 of |w_i| M_i - k). The bracket is A(x) plus w_i times what x_i is beyond the near
end, summed: at most A(x) + o max(0, w_i g_i). With (6) Phi <= psi_0 A(x) <= W(x). If no tile acts, Phi = -k <= 0 <=
W(x). (c) By (9) the largest slot is W on the part. (d) On the box psi_i <= D_i, so b + B >= 0 by (6); s(a - b) + s(b
+ B) = max(a, b) + B is not negative, and the maxima of (10) are maxima. (e) Both sides of (11) are affine on a part.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from cpwl_check.budget import Refused, need, spend, total
from cpwl_check.cones import dot, outside, overlap, piece_cone, show
from cpwl_check.pieces import Form, Forms, Law, Layers, Vector, half_space, over_one, plus
from cpwl_check.windows import ZERO, Knot, Part, Row, need_values, read_knots, read_maxima, read_sides

Ends = list[tuple[Fraction, Fraction]]


class Tile(NamedTuple):
    """Ends and reach on each axis; the sign and the place of the near end; D and M."""

    ends: Ends
    reach: list[Fraction]
    near: list[tuple[int, Fraction]]
    length: list[Fraction]
    steep: list[Fraction]

    def wide(self) -> Ends:
        """A box outside of which the tile does not act; on an axis on which it is as long as the function's, any."""
        return [(a - (g or 1), b + (g or 1)) for (a, b), g in zip(self.ends, self.reach, strict=True)]


class Side(NamedTuple):
    """The constant B; and of each tile its laws, which say what slots they are in by a neuron of the third layer."""

    above: Fraction
    laws: list[dict[int, Vector]]


def multiplexed(law: Law, layers: Layers, proof: Any) -> Fraction:
    """0, if the network is the function on every piece; or `Refused`."""
    need(len(layers) >= 4, "network", "it needs three hidden layers or more")
    n, count = law.n, len(layers[2])
    sides, places, parts, (low, high) = read_sides(law, layers, proof, "multiplexed", len(layers[1]) // (n + 1))
    known = read_tiles(layers[1], read_knots(layers[0], n), low, high)
    need_apart(layers[2], sides, known)
    found = [read_slots(layers[2], side, known) for side in sides]
    factors, constants = read_maxima(layers, sides)
    values = [own_values(s, side, parts, places, count) for s, side in enumerate(found)]
    need_largest(known, found, parts, places, values)
    need_covered(law, known, found, parts, places, count)
    more = [total((f * side.above for f, side in zip(own, found, strict=True)), "output") for own in factors]
    need_values(law, places, parts, values, factors, [a + b for a, b in zip(constants, more, strict=True)])
    return ZERO


# --- Layers -----------------------------------------------------------------------------------------------------------


def read_tiles(layer: Forms, knots: list[Knot], low: list[Fraction], high: list[Fraction]) -> list[Tile]:
    """(3)"""
    n, tiles = len(low), []
    need(len(layer) % (n + 1) == 0, "layer 1", f"the number of its neurons is not a multiple of {n + 1}")
    for t in range(len(layer) // (n + 1)):
        where = f"tile {t}"
        first, *others = layer[(n + 1) * t : (n + 1) * (t + 1)]
        spend(8 * sum(map(len, (first, *others))), where)
        need(first.get(len(knots)) == 1, where, "its first neuron does not have the bias 1")
        away = {k: w for k, w in first.items() if k < len(knots)}
        ends, reach, seen = [[a, b] for a, b in zip(low, high, strict=True)], dict[int, Fraction](), set[Any]()
        for k, w in away.items():
            sign, i, place = knots[k]
            need(w < 0 and (i, sign) not in seen, where, "its first neuron is not a distance")
            need(reach.setdefault(i, Fraction(-1 / Fraction(w))) * w == -1, where, f"it has two reaches on axis {i}")
            seen.add((i, sign))
            ends[i][sign > 0] = place
        need(all(a <= b for a, b in ends), where, "it is empty")
        made = [(a, b) for a, b in ends]
        tiles.append(with_near(made, [reach.get(i, ZERO) for i in range(n)], away, others, knots, where))
    return tiles


def with_near(ends: Ends, reach: list[Fraction], away: Form, others: Forms, knots: list[Knot], where: str) -> Tile:
    """The tile, with what its other neurons say."""
    near, length, steep = [], [], []
    for i, form in enumerate(others):
        at = next(iter(away), None)
        times = ZERO if at is None else Fraction(form.get(at, 0)) / away[at]
        rest = plus(form, -times, away)
        fits = len(rest) == 1 and list(rest.values()) == [1] and len(knots) not in rest
        need(fits, where, f"neuron {i + 1} does not read one knot minus a multiple of the distance")
        sign, axis, place = knots[next(iter(rest))]
        low, high = ends[i]
        need(axis == i and (place <= low if sign > 0 else place >= high), where, f"neuron {i + 1} has a knot inside")
        far = high - place if sign > 0 else place - low
        need(at is None or times >= far + reach[i], where, f"neuron {i + 1} does not fall fast enough")
        near.append((sign, place))
        length.append(far)
        steep.append(times)
    return Tile(ends, reach, near, length, steep)


def slots_of(layer: Forms, side: list[list[int]]) -> Iterator[tuple[int, Form, bool]]:
    """The slots of a side: the neuron that stands for each, its form, and whether it is the second of its pair."""
    for group in side:
        need(1 <= len(group) <= 2, f"neurons {group}", "slots are compared by pairs")
        lower = layer[group[-1]]
        spend(4 * sum(len(layer[k]) for k in group), f"neurons {group}")
        if len(group) == 2:
            yield group[0], plus(layer[group[0]], 1, lower), False
        yield group[-1], lower, True


def read_slots(layer: Forms, side: list[list[int]], tiles: list[Tile]) -> Side:
    """(4) and (6): the penalty is the least one that is large enough. Layers have A(c) + k and B - k."""
    n, bias = len(tiles[0].ends), len(tiles) * (len(tiles[0].ends) + 1)
    read_off: list[tuple[int, int, list[Any]]] = []
    penalty, above = ZERO, None
    for k, form, second in slots_of(layer, side):
        where, constant = f"slot {k}", Fraction(form.get(bias, 0))
        above = constant if above is None else above
        need(constant == above >= 0, where, "its bias is negative, or not that of the others of its side")
        own: dict[int, list[Any]] = {}
        for j, w in form.items():
            if j < bias:
                own.setdefault(j // (n + 1), [0] * (n + 1))[j % (n + 1)] = w
        for t, (start, *slopes) in own.items():
            tile = tiles[t]
            spend(8 * n, where)
            falls = [(-w, m, d) for w, m, d in zip(slopes, tile.steep, tile.length, strict=True) if w < 0]
            rise = max(0, *(w * g for w, g in zip(slopes, tile.reach, strict=True)))
            penalty = max(penalty, Fraction(sum(w * m for w, m, _ in falls) + rise))
            deep = max(0, -start) + sum(w * d for w, _, d in falls)
            need(not second or above >= deep, where, "it may be negative")
            read_off.append((t, k, [start, *slopes]))
    laws: list[dict[int, Vector]] = [{} for _ in tiles]
    for t, k, (start, *slopes) in read_off:
        laws[t][k] = law_of(tiles[t], start - penalty, slopes)
    assert above is not None
    return Side(above + penalty, laws)


def law_of(tile: Tile, start: Any, slopes: list[Any]) -> Vector:
    """The law with a value at the near ends and slopes away from them."""
    slope = [w * sign for w, (sign, _) in zip(slopes, tile.near, strict=True)]
    return over_one([*slope, start - sum(w * place for w, (_, place) in zip(slope, tile.near, strict=True))])


def need_apart(layer: Forms, sides: list[list[list[int]]], tiles: list[Tile]) -> None:
    """(5), for all tiles that slots connect with each other."""
    n, root = len(tiles[0].ends), list(range(len(tiles)))

    def find(t: int) -> int:
        while root[t] != t:
            root[t] = t = root[root[t]]
        return t

    for side in sides:
        for _, form, _ in slots_of(layer, side):
            own = {j // (n + 1) for j in form if j < (n + 1) * len(tiles)}
            spend(4 * len(form), "slots")
            for t in own:
                root[find(t)] = find(next(iter(own)))
    systems: dict[int, list[int]] = {}
    for t in range(len(tiles)):
        systems.setdefault(find(t), []).append(t)
    for members in systems.values():
        both = overlap([(tiles[t].wide(), t) for t in members])
        need(both is None, f"tiles {both}", "they are too near for one slot")


# --- Values -----------------------------------------------------------------------------------------------------------


def own_values(s: int, side: Side, parts: list[Part], places: list[Row], count: int) -> list[Fraction]:
    """(7), and the value of the side at every corner."""
    values: list[Fraction | None] = [None] * len(places)
    for part in parts:
        where = f"piece {part.piece}"
        need(len(part.names) > s, where, f"it names no slot of side {s}")
        tile, slot = divmod(part.names[s], count)
        need(slot in side.laws[tile], where, f"it names no law of side {s}")
        numbers, divisor = side.laws[tile][slot]
        spend(4 * len(part.corners) * len(numbers), where)
        for v in part.corners:
            x = places[v]
            value = Fraction(dot(numbers, x), divisor * x[-1])
            before = value if values[v] is None else values[v]
            if value < 0 or value != before:
                raise Refused(f"{where}: a negative or another value of side {s} at {show(x)}", [x])
            values[v] = value
    return [ZERO if value is None else value for value in values]


class Index:
    """Which boxes meet a box: by their intervals on one axis after the other."""

    def __init__(self, boxes: list[Ends]) -> None:
        self.root: dict[Any, Any] = {}
        for t, box in enumerate(boxes):
            node = self.root
            for interval in box[:-1]:
                node = node.setdefault(interval, {})
            node.setdefault(box[-1], []).append(t)

    def meeting(self, box: Ends) -> Iterator[int]:
        """Those whose insides meet a box."""
        nodes: list[Any] = [self.root]
        for low, high in box:
            spend(1 + sum(map(len, nodes)), "tiles")
            nodes = [below for node in nodes for (a, b), below in node.items() if a < high and low < b]
        for names in nodes:
            yield from names


def around(part: Part, places: list[Row], n: int) -> Ends:
    """The smallest box around a part."""
    rows = [[Fraction(c, places[v][-1]) for c in places[v][:n]] for v in part.corners]
    spend(4 * n * len(rows), f"piece {part.piece}")
    return [(min(column), max(column)) for column in zip(*rows, strict=True)]


def need_largest(
    tiles: list[Tile], sides: list[Side], parts: list[Part], places: list[Row], values: list[list[Fraction]]
) -> None:
    """(8)"""
    index = Index([tile.wide() for tile in tiles])
    near: list[set[int]] = [set() for _ in tiles]
    for part in parts:
        if part.corners:
            for t in index.meeting(around(part, places, len(tiles[0].ends))):
                near[t].update(part.corners)
    for s, side in enumerate(sides):
        own = [(x, v.numerator * x[-1], v.denominator) for x, v in zip(places, values[s], strict=True)]
        for t, corners in enumerate(near):
            spend(len(places[0]) * len(corners) * len(side.laws[t]) // 2, f"tile {t}")
            at = [own[v] for v in corners]
            for slot, (numbers, divisor) in side.laws[t].items():
                for x, above, below in at:
                    if dot(numbers, x) * below > above * divisor:
                        raise Refused(f"tile {t}, slot {slot}: its law is too large at {show(x)}", [x])


def need_covered(
    law: Law, tiles: list[Tile], sides: list[Side], parts: list[Part], places: list[Row], count: int
) -> None:
    """(9)"""
    n = law.n
    index = Index([tile.ends for tile in tiles])
    held = [[{(*v, d) for v, d in own.values()} for own in side.laws] for side in sides]
    for part in parts:
        if not part.corners:
            continue
        where, box = f"piece {part.piece}", around(part, places, n)
        names = [divmod(part.names[s], count) for s in range(len(sides))]
        keys = [(*side.laws[t][k][0], side.laws[t][k][1]) for side, (t, k) in zip(sides, names, strict=True)]
        own = [t for t in index.meeting(box) if all(key in own[t] for key, own in zip(keys, held, strict=True))]
        spend(8 * len(own) * n, where)
        fits = (all(a <= c and d <= b for (a, b), (c, d) in zip(tiles[t].ends, box, strict=True)) for t in own)
        if any(fits):
            continue
        cone = part.cone or piece_cone(law.pieces[part.piece], n)
        rest = outside(cone, [rows_of(tiles[t].ends, box) for t in own])
        if rest:
            raise Refused(f"{where}: no tile that has its laws covers it near {show(rest[0].rays[0][0])}")


def rows_of(ends: Ends, box: Ends) -> list[Row]:
    """Rows that are not negative on a tile, without those that are so on all of a box."""
    rows = []
    for i, ((a, b), (c, d)) in enumerate(zip(ends, box, strict=True)):
        unit = [int(j == i) for j in range(len(box))]
        rows += [half_space([*unit, b])[0]] if b < d else []
        rows += [half_space([*(-u for u in unit), -a])[0]] if a > c else []
    return rows
