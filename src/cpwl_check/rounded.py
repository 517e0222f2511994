"""Check a proof for rounded weights, kind "rounded".

**Theorem.** If

(1) the exact network inside is within E of the function, by a proof of its own, `rounded`
(2) it has as many neurons in every layer as the network, `rounded`
(3) every piece lies in the box, if there is one, `pieces.need_inside`
(4) the outputs of the two are apart by no more than a (+ b max |x_i| without a box): bounds on the size of exact
    activations, and on how far the others are off, go from layer to layer, `difference`; or, with a box, enclosures of
    both on every piece do, `apart`
(5) the stated bound is at least E + a (and b), `rounded`

then ``|network - p|`` is at most the stated bound on every piece.

Enclosures, for (4): on a region every value of the exact network is an affine function up to a radius, and so is its
change, the value of the other network less that. A neuron reads sums of these, `reading`. If it reads z and z' in the
two networks, ``relu(z') - relu(z)`` is ``z' - z`` where both are at least 0, and 0 where neither is positive; it is
always between 0 and ``z' - z``, and equal to ``z' - z + relu(-z') - relu(-z)``, `relu`. Regions are boxes around many
pieces, then around fewer, and in the end single pieces, the hulls of their corners. A neuron that is settled on a
region is settled on all parts of it, `settled`. All numbers are multiples of 2^-BITS, rounded outwards; weights are
rounded to such numbers first, and `difference` bounds what that costs. Why this is a proof is in docs/proof.md.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from operator import add, mul
from typing import Any, NamedTuple

from cpwl_check.budget import Refused, need, spend
from cpwl_check.cones import piece_cone
from cpwl_check.pieces import FIXED as BITS
from cpwl_check.pieces import (
    Bound,
    Law,
    Layers,
    difference,
    fixed,
    need_inside,
    pair,
    read_bound,
    read_network,
    unfixed,
)
from cpwl_check.reading import Rational, read_proof

INSIDE = ("bends", "line", "clamped", "columns", "expression", "strip", "windows", "multiplexed")


def rounded(law: Law, layers: Layers, proof: Any, decide: Callable[[Law, Layers, Any], Bound]) -> Bound:
    """The proven bound: the weights are near those of an exact network that has a proof of its own."""
    n, outputs, pieces = law.n, law.outputs, law.pieces
    body = {"box": Any, "network": Any, "proof": {str: Any}}
    stated, box, meant, inner = read_proof(proof, "rounded", n, Any, body)
    need(inner.get("kind") in INSIDE, "proof.proof", "it must show equality, or a bound of its own")
    exact = read_network(meant, n, outputs)
    short = decide(law, exact, inner)
    assert isinstance(short, Fraction)  # of these kinds
    need([*map(len, exact)] == [*map(len, layers)], "network", "its layers are not those of the exact one")
    ends = need_inside(box, n, pieces)
    bound = read_bound(stated)
    for k in (0, 1):  # sizes and differences are at most a + b max |x_i|: first all the a, then all the b
        size = [Fraction(k)] * n if ends is None else [(1 - k) * x for x in sizes(ends)]
        off, most = difference(layers, exact, size, Fraction(1 - k)), pair(bound)[k] - (1 - k) * short
        if off is None or off > most:
            need(ends is not None and k == 0, "network", "its weights are off by more than error_bound, or by 10^300")
            apart(law, layers, exact, sizes(ends or []), most)
    return bound


def sizes(ends: list[tuple[Rational, Rational]]) -> list[Fraction]:
    return [max(abs(Fraction(x)), abs(Fraction(y))) for x, y in ends]


# --- Enclosures on pieces ---------------------------------------------------------------------------------------------

Coefficients = tuple[int, ...]  # of an affine function, the constant last


class Enclosed(NamedTuple):
    """A value of the exact network, and what it changes by: affine functions, each up to a radius."""

    value: Coefficients
    radius: int
    change: Coefficients
    change_radius: int


Term = tuple[int, int, int]  # the number of a neuron of the layer below, the weight, and what the weight changes by
Open = list[dict[int, tuple[Enclosed, list[Term]]]]  # what neurons read of settled ones, and which others they read


class Region(NamedTuple):
    """A box, or the hull of corners in it; `reach` is what it costs to round the numbers of an affine function."""

    low: list[int]
    high: list[int]
    corners: list[list[int]]
    reach: int

    def span(self, form: Coefficients, radius: int) -> tuple[int, int]:
        """Bounds of an affine function here."""
        if self.corners:
            values = [(sum(map(mul, form, x)), x[-1]) for x in self.corners]
            return min(v // d for v, d in values) - radius, max(-(-v // d) for v, d in values) + radius
        ends = [(c * l, c * h) if c > 0 else (c * h, c * l) for c, l, h in zip(form, self.low, self.high, strict=False)]
        low, high = (sum(side) >> BITS for side in zip(*ends, strict=True))
        return low + form[-1] - radius, high + 1 + form[-1] + radius


def apart(law: Law, layers: Layers, exact: Layers, size: list[Fraction], most: Fraction | None = None) -> Fraction:
    """How far the outputs of two networks can be apart on the pieces. Refused if it is not shown to be at most `most`;
    without one, a bound that would be shown."""
    n, where = law.n, "network"
    short, meant = fixed(layers), fixed(exact)
    lost = [difference(a, unfixed(b), size, Fraction(1)) for a, b in ((layers, short), (exact, meant))]
    need(None not in lost, where, "its weights are off by 10^300")
    rest = sum((x for x in lost if x is not None), Fraction(0))
    worst = 0 if most is None else math.floor((most - rest) * 2**BITS)
    cells = [x for piece in law.pieces if (x := [g for g, _ in piece_cone(piece, n).rays if g[-1]])]
    need(cells, where, "there is no piece to compare the networks on")
    boxes = [around(corners) for corners in cells]
    wide = [max(1, max(h[k] for _, h in boxes) - min(l[k] for l, _ in boxes)) for k in range(n)]
    reach = n + 2 + sum(math.floor(x) for x in size)
    todo = [(everything(short, meant, n), list(range(len(cells))))]
    while todo:
        state, some = todo.pop()
        low = [min(boxes[i][0][k] for i in some) for k in range(n)]
        high = [max(boxes[i][1][k] for i in some) for k in range(n)]
        spend(2 * n * len(some), where)
        state, off = settled(state, Region(low, high, cells[some[0]] if len(some) == 1 else [], reach))
        if off <= worst:
            continue
        if len(some) == 1:
            text = "its weights are off by more than error_bound on a piece"
            need(most is None, where, text, [cells[some[0]][0]])
            worst = off + off // 8  # a little more, for far fewer regions
            continue
        k = max(range(n), key=lambda k: Fraction(high[k] - low[k], wide[k]))
        some = sorted(some, key=lambda i: boxes[i][0][k] + boxes[i][1][k])
        todo += [(state, half) for half in (some[: len(some) // 2], some[len(some) // 2 :])]
    if worst < 0:
        raise Refused(f"{where}: its weights are off by more than error_bound")
    return Fraction(worst, 2**BITS) + rest


def around(corners: list[list[int]]) -> tuple[list[int], list[int]]:
    """The smallest box around corners, its sides in multiples of 2^-BITS."""
    columns = [[(x[k] << BITS, x[-1]) for x in corners] for k in range(len(corners[0]) - 1)]
    return [min(v // d for v, d in c) for c in columns], [max(-(-v // d) for v, d in c) for c in columns]


def everything(layers: list[list[dict[int, int]]], exact: list[list[dict[int, int]]], n: int) -> Open:
    """Nothing is settled yet but the inputs."""
    found: Open = []
    width = n
    for real, meant in zip(layers, exact, strict=True):
        layer = {}
        for i, (v, w) in enumerate(zip(real, meant, strict=True)):
            moved = {j: v.get(j, 0) - w.get(j, 0) for j in sorted(v.keys() | w.keys())}
            own = [*range(n), n] if not found else [None] * n + [width]
            value, change = (tuple(0 if k is None else form.get(k, 0) for k in own) for form in (w, moved))
            terms = [(j, w.get(j, 0), d) for j, d in moved.items() if j != width] if found else []
            layer[i] = Enclosed(value, 0, change, 0), terms
        found.append(layer)
        width = len(meant)
    return found


def settled(state: Open, where: Region) -> tuple[Open, int]:
    """What stays open on a region, and how far outputs can be apart there."""
    left: Open = []
    below: dict[int, tuple[Enclosed, bool]] = {}
    for depth, layer in enumerate(state):
        now: dict[int, tuple[Enclosed, bool]] = {}
        still: dict[int, tuple[Enclosed, list[Term]]] = {}
        for i, (known, terms) in layer.items():
            known = reading(known, [t for t in terms if t[0] in below and below[t[0]][1]], below, where.reach)
            terms = [t for t in terms if t[0] in below and not below[t[0]][1]]
            reads = reading(known, terms, below, where.reach)
            spend(10 + (1 + len(where.corners)) * (4 + len(known.value)) // 2, "network")
            gives, sure = (reads, False) if depth == len(state) - 1 else relu(reads, where)
            if gives is not None:  # it may be on
                now[i] = gives, sure and not terms
                still |= {} if now[i][1] else {i: (known, terms)}
        left.append(still)
        below = now
    spans = [where.span(x.change, x.change_radius) for x, _ in below.values()]
    return left, max(max(-low, high) for low, high in spans)


def reading(known: Enclosed, terms: list[Term], below: dict[int, tuple[Enclosed, bool]], reach: int) -> Enclosed:
    """What is known, and a weighted sum of neurons besides: ``w' a' - w a = w' (a' - a) + (w' - w) a``."""
    if not terms:
        return known
    spend(len(terms) * (1 + len(known.value)), "network")
    numbers, weights, moves = zip(*terms, strict=True)
    values, radii, changes, change_radii = zip(*(below[j][0] for j in numbers), strict=True)
    new = [*map(add, weights, moves)]
    value = (sum(map(mul, weights, column)) for column in zip(*values, strict=True))
    columns = zip(zip(*changes, strict=True), zip(*values, strict=True), strict=True)
    change = (sum(map(mul, new, one)) + sum(map(mul, moves, two)) for one, two in columns)
    radius = sum(map(mul, map(abs, weights), radii))
    change_radius = sum(map(mul, map(abs, new), change_radii)) + sum(map(mul, map(abs, moves), radii))
    return Enclosed(
        tuple(a + (b >> BITS) for a, b in zip(known.value, value, strict=True)),
        known.radius + (radius >> BITS) + reach,
        tuple(a + (b >> BITS) for a, b in zip(known.change, change, strict=True)),
        known.change_radius + (change_radius >> BITS) + reach,
    )


def relu(reads: Enclosed, where: Region) -> tuple[Enclosed | None, bool]:
    """The ReLU of what a neuron reads, None if it is 0; and whether that is so on all parts of the region."""
    value, radius, change, change_radius = reads
    low, high = where.span(value, radius)
    least, most = where.span(tuple(map(add, value, change)), radius + change_radius)
    if high <= 0 and most <= 0:
        return None, True
    if low >= 0 and least >= 0:
        return reads, True
    zero = (0,) * len(value)
    down, upper = where.span(change, change_radius)
    ways = (
        (change, change_radius, min(0, low), max(0, -least)),
        (zero, 0, -max(0, high), max(0, most)),
        (zero, 0, min(0, down), max(0, upper)),
    )
    change, change_radius, a, b = min(ways, key=lambda way: 2 * way[1] + way[3] - way[2])
    if high <= 0:
        value, radius = zero, 0
    elif low < 0:  # between the chord of its ends and what is parallel below
        part = (high << BITS) // (high - low)
        half = (-part * low >> BITS + 1) + 1
        value = tuple(part * c >> BITS for c in value)
        value = (*value[:-1], value[-1] + half)
        radius = (part * radius >> BITS) + half + where.reach + (high - low >> BITS) + 2
    change = (*change[:-1], change[-1] + (a + b >> 1))
    return Enclosed(value, radius, change, change_radius + (b - a >> 1) + 2), False
