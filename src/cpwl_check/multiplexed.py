"""Check a proof for multiplexed windows, kind "multiplexed".

Let the box of the function be the smallest around the corners of all pieces, and s(z) = max(0, z). A *tile* is a box
with ends lo_i, hi_i. Its reach g_i > 0 says how far out it acts: let o(x) be the sum over i of
(s(lo_i - x_i) + s(x_i - hi_i)) / g_i. On every axis one end is near, c_i; u_i = s(x_i - c_i) if that is the lower one,
s(c_i - x_i) if it is the upper one, and D_i is the largest u_i on the tile. Its neurons are psi_0 = s(1 - o) and
psi_i = s(u_i - M_i o). A *channel* is Phi = sum over tiles of (A(c) + k) psi_0 + sum_i w_i psi_i, less k: for each of
some tiles it has a law A(x) = A(c) + sum_i w_i (+-)(x_i - c_i), the i-th sign that of u_i; k is its penalty. A *slot*
is a channel, its root, plus the sum of s(Phi) over others, its hinges. For a tile with the root's law A_0 and laws H
of hinges, F = A_0 + sum of s(H) is its *block*. A *side* is a list of slots, and its value is the largest of them plus
a constant B.

**Theorem.** If

(1) every piece with a point is bounded, and may be cut into parts; their corners are known, `windows.parts_of`
(2) the first hidden layer reads x_i - X or X - x_i, for knots X, `windows.read_knots`
(3) the second has psi_0 .. psi_n of each tile, with c_i not inside the tile and M_i >= D_i + g_i, `read_tiles`
(4) the third has, for each slot, its root plus B and then its hinges; the roots of a side have one B and one penalty,
    and where a hinge has a law, its root has one, `read_blocks`
(5) the boxes with ends lo_i - g_i, hi_i + g_i of the tiles of one slot do not overlap, `need_apart`
(6) for every law of a channel k >= sum over w_i < 0 of |w_i| M_i + the largest of 0 and w_i g_i, k >= 0; and for those
    of roots, where the block has a hinge, B >= k + s(-A(c) - k) + sum over w_i < 0 of |w_i| D_i; B >= k, `read_blocks`
(7) each part names a tile and a slot of every side. Its block F there is not negative at the part's corners, is at a
    corner what those of other parts are, and in the middle, the mean of the corners, it is the mean of these values,
    `own_values`
(8) if the box around a part meets the inside of a box of (5), no block that a slot has for this tile is larger at the
    part's corners than these values, `need_largest`
(9) every part is covered by tiles for which some block of each side is in the middle of the part the mean of (7),
    `need_covered`
(10) the layers after the third take the maxima over the slots of each side, `windows.read_maxima`
(11) each output is a sum of multiples of the sides' values and a constant; at the corners of every part that sum is the
    value of the piece's law, `windows.need_values`

then the network is the function on every piece.

*Proof.* (a) A convex function that is in the middle of a part the mean of its values at the corners is affine there: an
affine function below it that touches it in the middle must touch it at all corners, and it is above it nowhere. So by
(7) there is W, affine on every part and not negative, with the values of (7). By (8) a block near the part is at most
W on it, as it is convex; and where it is W in the middle, it is W, by the same argument. (b) psi_i is 0 where o >= 1:
u_i <= D_i + g_i o <= M_i o. So by (5) at most one tile of a slot acts at a point. On a tile o = 0, psi_0 = 1, psi_i =
u_i, and Phi = A; where a channel has no law for the tile that acts, or none acts, Phi = -k <= 0. (c) Let x be in a
part, and o = o(x) < 1 for a tile of a slot. Here u_i <= D_i + g_i <= M_i. So psi_i <= u_i psi_0, as M_i >= u_i, and
u_i psi_0 - psi_i <= M_i o, whether psi_i is 0 or not. Hence for a channel with the law A, Phi <= psi_0 (A(c) + sum w_i
u_i) + o (sum over w_i < 0 of |w_i| M_i - k). The bracket is A(x) plus w_i times what x_i is beyond the near end,
summed: at most A(x) + o max(0, w_i g_i). With (6) Phi <= psi_0 A(x), and s(Phi) <= psi_0 s(A(x)). So the slot is at
most psi_0 F(x) for its block F, and that is at most W(x): x is inside the box of (8), psi_0 is at most 1, and W(x) is
not negative. If no tile acts, the slot is -k <= 0 <= W(x). (d) By (9) the largest slot is W on the part. (e) The
layer has s(Phi + B) for a root. On the box psi_i <= D_i, so by (6) Phi + B is not negative where the tile that acts, if
any, has a hinge of the slot. Elsewhere its hinges are 0, and the slot is at least -B in place of less: -B <= 0 <= W(x).
So a slot plus B is not negative, and the maxima of (10) are maxima. (f) Both
sides of (11) are affine on a part.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

from cpwl_check.budget import Refused, need, spend, total
from cpwl_check.cones import outside, overlap, piece_cone, show
from cpwl_check.pieces import Form, Forms, Law, Layers, half_space, over_one, plus
from cpwl_check.windows import ZERO, Clamp, Knot, Part, Row, need_values, read_knots, read_maxima, read_sides

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
    """The constant B; and of each tile its blocks, by the neuron of the third layer that is the root of their slot."""

    above: Fraction
    blocks: list[dict[int, Clamp]]


def multiplexed(law: Law, layers: Layers, proof: Any) -> Fraction:
    """0, if the network is the function on every piece; or `Refused`."""
    need(len(layers) >= 4, "network", "it needs three hidden layers or more")
    n, count = law.n, len(layers[2])
    sides, places, parts, (low, high) = read_sides(law, layers, proof, "multiplexed", len(layers[1]) // (n + 1))
    known = read_tiles(layers[1], read_knots(layers[0], n), low, high)
    need_apart(layers[2], sides, known)
    found = [read_blocks(layers[2], side, known) for side in sides]
    factors, constants = read_maxima(layers, sides)
    middles = [middle([places[v] for v in part.corners]) for part in parts]
    values = [own_values(s, side, parts, middles, places, count) for s, side in enumerate(found)]
    largest = need_largest(known, found, parts, places, values)
    need_covered(law, known, found, parts, middles, places, values, largest)
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


def read_blocks(layer: Forms, side: list[list[int]], tiles: list[Tile]) -> Side:
    """(4) and (6): the penalty of the roots is the least one that is large enough. Layers have A(c) + k and B - k."""
    bias, penalty, above = len(tiles) * (len(tiles[0].ends) + 1), ZERO, None
    found: list[list[dict[int, list[Any]]]] = []
    for root, *hinges in side:
        where, constant = f"slot {root}", Fraction(layer[root].get(bias, 0))
        above = constant if above is None else above
        need(constant == above >= 0, where, "its bias is negative, or not that of the others of its side")
        own, least, deep = read_channel(layer[root], tiles, where)
        penalty = max(penalty, least)
        found.append([own])
        for k in hinges:
            where, constant = f"hinge {k}", Fraction(layer[k].get(bias, 0))
            hinge, least, _ = read_channel(layer[k], tiles, where)
            need(-constant >= least, where, "its penalty is too small")
            need(all(t in own for t in hinge), where, "its slot has no law for one of its tiles")
            need(all(above >= deep[t] for t in hinge), where, "its root may be negative")
            found[-1].append({t: [start + constant, *slopes] for t, (start, *slopes) in hinge.items()})
    assert above is not None
    blocks: list[dict[int, Clamp]] = [{} for _ in tiles]
    for (root, *_), (own, *others) in zip(side, found, strict=True):
        for t, (start, *slopes) in own.items():
            rows = [law_of(tiles[t], v) for v in ([start - penalty, *slopes], *(h[t] for h in others if t in h))]
            flat, scale = over_one([c for row in rows for c in row])
            width = len(rows[0])
            first, *rest = (flat[i : i + width] for i in range(0, len(flat), width))
            blocks[t][root] = Clamp(first, rest, scale)
    return Side(above + penalty, blocks)


def read_channel(form: Form, tiles: list[Tile], where: str) -> tuple[dict[int, list[Any]], Fraction, dict[int, Any]]:
    """Of each tile what is read of its neurons; the penalty that it takes, and how far it falls below 0 there."""
    n, own, deep = len(tiles[0].ends), dict[int, list[Any]](), dict[int, Any]()
    penalty: Fraction = ZERO
    spend(4 * len(form), where)
    for j, w in form.items():
        if j < len(tiles) * (n + 1):
            own.setdefault(j // (n + 1), [0] * (n + 1))[j % (n + 1)] = w
    for t, (start, *slopes) in own.items():
        tile = tiles[t]
        spend(8 * n, where)
        falls = [(-w, m, d) for w, m, d in zip(slopes, tile.steep, tile.length, strict=True) if w < 0]
        rise = max(0, *(w * g for w, g in zip(slopes, tile.reach, strict=True)))
        penalty = max(penalty, Fraction(sum(w * m for w, m, _ in falls) + rise))
        deep[t] = max(0, -start) + sum(w * d for w, _, d in falls)
    return own, penalty, deep


def law_of(tile: Tile, own: list[Any]) -> list[Any]:
    """The law with a value at the near ends and slopes away from them."""
    start, *slopes = own
    slope = [w * sign for w, (sign, _) in zip(slopes, tile.near, strict=True)]
    return [*slope, start - sum(w * place for w, (_, place) in zip(slope, tile.near, strict=True))]


def need_apart(layer: Forms, sides: list[list[list[int]]], tiles: list[Tile]) -> None:
    """(5), for all tiles that slots connect with each other."""
    n, root = len(tiles[0].ends), list(range(len(tiles)))

    def find(t: int) -> int:
        while root[t] != t:
            root[t] = t = root[root[t]]
        return t

    for side in sides:
        for group in side:
            own = {j // (n + 1) for k in group for j in layer[k] if j < (n + 1) * len(tiles)}
            spend(4 * sum(len(layer[k]) for k in group), "slots")
            for t in own:
                root[find(t)] = find(next(iter(own)))
    systems: dict[int, list[int]] = {}
    for t in range(len(tiles)):
        systems.setdefault(find(t), []).append(t)
    for members in systems.values():
        both = overlap([(tiles[t].wide(), t) for t in members])
        need(both is None, f"tiles {both}", "they are too near for one slot")


# --- Values -----------------------------------------------------------------------------------------------------------


def middle(ends: list[Row]) -> Row:
    """The mean of some places.

    >>> middle([[0, 1], [1, 2]])
    [1, 4]
    """
    common = lcm(*(x[-1] for x in ends))
    return [sum(column) for column in zip(*([c * (common // x[-1]) for c in x] for x in ends), strict=True)]


def is_mean(block: Clamp, x: Row, values: list[Fraction]) -> bool:
    """Whether a block is at a place the mean of some values."""
    return Fraction(block.at(x) * len(values), block.scale * x[-1]) == sum(values)


def own_values(
    s: int, side: Side, parts: list[Part], middles: list[Row], places: list[Row], count: int
) -> list[Fraction]:
    """(7), and the value of the side at every corner."""
    values: list[Fraction | None] = [None] * len(places)
    for part, x in zip(parts, middles, strict=True):
        where = f"piece {part.piece}"
        need(len(part.names) > s, where, f"it names no slot of side {s}")
        tile, slot = divmod(part.names[s], count)
        need(slot in side.blocks[tile], where, f"it names no block of side {s}")
        block = side.blocks[tile][slot]
        spend(4 * (2 + len(part.corners)) * (1 + len(block.hinges)) * len(block.affine), where)
        own = [Fraction(block.at(places[v]), block.scale * places[v][-1]) for v in part.corners]
        for v, value in zip(part.corners, own, strict=True):
            if value < 0 or values[v] not in (None, value):
                raise Refused(f"{where}: a negative or another value of side {s} at {show(places[v])}", [places[v]])
            values[v] = value
        need(not own or is_mean(block, x, own), where, f"slot {slot} of side {s} is not affine there")
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
) -> list[list[dict[int, set[int]]]]:
    """(8); and of each side and tile, at each corner, which blocks have the side's value there."""
    index = Index([tile.wide() for tile in tiles])
    near: list[set[int]] = [set() for _ in tiles]
    for part in parts:
        if part.corners:
            for t in index.meeting(around(part, places, len(tiles[0].ends))):
                near[t].update(part.corners)
    largest: list[list[dict[int, set[int]]]] = []
    for s, side in enumerate(sides):
        own = [(x, v.numerator * x[-1], v.denominator) for x, v in zip(places, values[s], strict=True)]
        largest.append([{v: set() for v in corners} for corners in near])
        for t, corners in enumerate(near):
            for slot, block in side.blocks[t].items():
                spend(len(places[0]) * len(corners) * (1 + len(block.hinges)) // 2, f"tile {t}")
                for v in corners:
                    x, above, below = own[v]
                    less = block.at(x) * below - above * block.scale
                    if less > 0:
                        raise Refused(f"tile {t}, slot {slot}: its block is too large at {show(x)}", [x])
                    if less == 0:
                        largest[s][t][v].add(slot)
    return largest


def need_covered(
    law: Law,
    tiles: list[Tile],
    sides: list[Side],
    parts: list[Part],
    middles: list[Row],
    places: list[Row],
    values: list[list[Fraction]],
    largest: list[list[dict[int, set[int]]]],
) -> None:
    """(9): only blocks that have the value of the side at all corners can have it in the middle."""
    n, index = law.n, Index([tile.ends for tile in tiles])
    for part, x in zip(parts, middles, strict=True):
        if not part.corners:
            continue
        where, box, own = f"piece {part.piece}", around(part, places, n), list[int]()
        means = [[value[v] for v in part.corners] for value in values]
        for t in index.meeting(box):
            there = [set.intersection(*(at[t][v] for v in part.corners)) for at in largest]
            spend(8 * n + 4 * len(part.corners) + sum(len(x) * len(k) for k in there), where)
            blocks = [[side.blocks[t][k] for k in k_there] for side, k_there in zip(sides, there, strict=True)]
            if all(any(is_mean(b, x, mean) for b in k) for k, mean in zip(blocks, means, strict=True)):
                own.append(t)
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
