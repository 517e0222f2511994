"""Check a proof for columns on a Kuhn grid, kind "columns".

On each axis i let place k have number k, and u_i(x) be the number of a place, linear in between. Let h be one axis, and
let v run over the places of the other axes (the columns). Above a base that no value is below let r_v(k) be the value
of column v at place k of axis h, continued by its ends, and S_v(y) the integral of the step function that is r_v(k) on
[k, k + 1], from 0 to y. It never decreases. Put w_0 = u_h, v_0 = 0 and w_c = u_h - u_c for every other axis c, and

    A_c = S_v(w_c + v_c + 1),  B_c = S_v(w_c + v_c),  R_v = s(min A_c - max B_c),  s(z) = max(0, z).

**Theorem.** If

(1) the places of every axis follow each other in one sense, `read_axes`
(2) every corner of every piece is a point of the grid, and has the value that all pieces give it, `read_grid`
(3) every piece is a simplex that goes up by one place of one axis after the other, `read_grid`
(4) every point of the grid has a value, and no value is below the base of its output, `heights`
(5) the first hidden layer reads, in its order, multiples of w_c - j and j - w_c by 1 for whole numbers j; where an axis
    is not even, through one layer more, of hinges at the places of the axes, `check_places`
(6) the next layer reads the sums of A_c and B_c that begin a column, `check_first`
(7) the layers after it read what ends a column, and carry sums of columns that have ended, `check_later`
(8) the output is the base and the sum of the columns, `check_later`

then the network is the function on every piece.

*Proof.* (a) On a simplex of (3) all u_i - k_i are between 0 and 1 in a fixed order, and the function is linear there.
The hat of a point (v, k), which is 1 there, 0 at all other points and linear on every simplex, is s(1 - s(a - y) - s(y
- b)) with a = max t_c, b = min t_c, t_0 = 0, t_c = u_c - v_c, y = u_h - k: the argument is linear on every simplex and
whole at its corners; it is 1 at (v, k) only, 0 at the other corners of simplices there, and at most 0 elsewhere; so
both sides are linear on every simplex and agree at the points of the grid. It is the length of the part of [k, k + 1]
in I = [u_h - b, u_h + 1 - a]. (b) So the hats of a column times its values add up to the integral of the step function
over I, which is min A_c - max B_c; if I is reversed all hats are 0 and that difference is at most 0. So base + sum of
R_v is the function. (c) Contenders: if some v_c is 0, t_c >= 0 = t_0, and where v_c is the last place, t_c <= 0; so t_0
or t_c need not be looked at for the maximum or the minimum. (d) Of two, min(A_1, A_2) - max(B_1, B_2) = min(U, V) with
U = A_1 - B_2, V = A_2 - B_1, as A and B come in the same order; and s(min(U, V)) = s(s(U) - s(U - V)). (e) Of more:
with D = A_1 - B_1, a_i = A_1 - A_i and b_i = B_i - B_1 a round joins neighbours, p_i = s(A_{2i-1} - A_{2i}), and then
D' = D - p_1 - q_1, a'_i = a_{2i-1} - p_1 + p_i. D passes a layer as s(D): where D < 0 the column is 0, and D' <= 0 from
then on. a_{2i-1} passes as s(a + K) - K; where a < -K this makes a' larger, hence the result smaller. With K the
largest value of the column above the base nothing is clamped where the column is positive, for there all t are in a
window of length 1, so that |a| <= K; and where the column is 0, smaller is still 0. K = 0 will do for the third of
three, whose a' = a - p_1 is compared next: then s(s(a) - p_1) = s(a - p_1). (f) A sum of columns is at least 0, and so
passes a layer.
"""

import functools
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, NamedTuple

from cpwl_check.budget import need, spend, total
from cpwl_check.pieces import Form, Forms, Law, Layers, plus
from cpwl_check.reading import Rational, read_proof

Sum = dict[Any, int]  # whole multiples of ("A", c), ("B", c), "K", or of neurons of a layer, by their numbers
Place = tuple[int, ...]
ZERO = Fraction(0)


class Grid(NamedTuple):
    """The axes in the order of the columns' coordinates, the summed one last, and the values above the bases."""

    order: list[int]
    axes: list[list[Fraction]]
    heights: list[dict[Place, list[Fraction]]]  # for each output, by the foot of the column
    bases: list[Fraction]

    def steps(self) -> list[int]:
        return [len(axis) - 1 for axis in self.axes]

    def low(self, c: int) -> int:
        """The least value of ``w_c``."""
        return -self.steps()[c - 1] if c else 0

    def middle(self, c: int, place: int) -> int:
        """From where the hinges of ``w_c`` open, on columns with that place on axis `c`."""
        return (self.low(c) + self.steps()[-1]) // 2 if not c or len(self.axes) == 2 else self.steps()[-1] // 2 - place


def columns(law: Law, layers: Layers, proof: Any) -> Fraction:
    """0, if the network is the function on every piece; or `Refused`."""
    shape = {"axis": range(law.n), "axes": [[Rational], law.n], "bases": [Rational, law.outputs]}
    _, axis, axes, bases = read_proof(proof, "columns", law.n, 0, shape)
    order = [*(i for i in range(law.n) if i != axis), axis]
    axes = read_axes(axes)
    values = read_grid(law, axes)
    ordered = [axes[i] for i in order]
    grid = Grid(order, ordered, heights(values, order, ordered, bases), [Fraction(b) for b in bases])
    rest = check_places(grid, layers)
    known = [
        (o, foot, height, column_layers(foot, grid.steps()[:-1]))
        for o, table in enumerate(grid.heights)
        for foot, height in table.items()
        if any(height)
    ]
    depth = max((len(rows) for *_, rows in known), default=1)
    need(len(rest) == depth + 1, "network", f"it must have {depth + 1} layers after the hinges")
    check_first(grid, known, rest[0])
    check_later(grid, known, rest, depth)
    return ZERO


# --- The table --------------------------------------------------------------------------------------------------------


def read_axes(axes: list[list[Any]]) -> list[list[Fraction]]:
    """(1)"""
    for i, axis in enumerate(axes):
        rising = all(a < b for a, b in pairwise(axis))
        falling = all(a > b for a, b in pairwise(axis))
        need(len(axis) > 1 and (rising or falling), f"axes[{i}]", "its places do not follow each other")
    return [[Fraction(v) for v in axis] for axis in axes]


def read_grid(law: Law, axes: list[list[Fraction]]) -> dict[Place, list[Fraction]]:
    """(2) and (3): the value of each output at the points of the grid."""
    number = [{v: k for k, v in enumerate(axis)} for axis in axes]
    values: dict[Place, list[Fraction]] = {}
    seen: dict[tuple[int, ...], Place | None] = {}
    for j, piece in enumerate(law.pieces):
        where = f"piece {j}"
        need(piece.corners, where, "it is not a simplex of a table")
        spend(4 * law.n * (law.n + 1), where)
        chain = []
        for g, corner in enumerate(piece.corners):
            key = (*corner, piece.scale)
            if key not in seen:
                places = [at.get(Fraction(x, piece.scale)) for at, x in zip(number, corner, strict=False)]
                seen[key] = None if None in places else tuple(k for k in places if k is not None)
            place = seen[key]
            need(place is not None, where, f"corner {g} is not a point of the grid")
            assert place is not None
            value = [Fraction(z[g], d) for z, d in piece.laws]
            need(values.setdefault(place, value) == value, where, f"corner {g} has another value elsewhere")
            chain.append(place)
        chain.sort(key=sum)
        steps = [[b - a for a, b in zip(x, y, strict=True)] for x, y in pairwise(chain)]
        one_by_one = all(min(step) == 0 and sum(step) == 1 for step in steps) or (law.n == 1 and steps == [[1]])
        need(one_by_one, where, "it does not go up by one place of one axis after the other")
    return values


def heights(
    values: dict[Place, list[Fraction]], order: list[int], axes: list[list[Fraction]], bases: list[Any]
) -> list[dict[Place, list[Fraction]]]:
    """(4): above the base, column by column."""
    found: list[dict[Place, list[Fraction]]] = [{} for _ in bases]
    back = [order.index(i) for i in range(len(order))]
    for foot in product(*(range(len(axis)) for axis in axes[:-1])):
        spend(2 * len(axes[-1]) * (len(axes) + len(bases)), "table")
        line = [(*foot, k) for k in range(len(axes[-1]))]
        points = [tuple(place[i] for i in back) for place in line]
        missing = [x for x in points if x not in values]
        need(not missing, "table", f"there is no value at point {missing[:1]} of the grid")
        for o, base in enumerate(bases):
            found[o][foot] = [values[x][o] - base for x in points]
            need(min(found[o][foot]) >= 0, f"bases[{o}]", f"it is above a value of column {foot}")
    return found


# --- The hinges -------------------------------------------------------------------------------------------------------


def check_places(grid: Grid, layers: Layers) -> Layers:
    """(5): the layers after the hinges."""
    n = len(grid.axes)
    even = all(b - a == axis[1] - axis[0] for axis in grid.axes for a, b in pairwise(axis))
    need(len(layers) > (1 if even else 2), "network", "it has too few layers")
    coordinate = {i: c for c, i in enumerate(grid.order)}
    knots = [(coordinate[i], grid.axes[coordinate[i]]) for i in range(n)]  # the inputs themselves
    if not even:
        knots = [front_neuron(grid, coordinate, k, form, n) for k, form in enumerate(layers[0])]
        layers = layers[1:]
    check_hinges(grid, layers[0], knots)
    return layers[1:]


def front_neuron(grid: Grid, coordinate: dict[int, int], k: int, form: Form, n: int) -> tuple[int, list[Any]]:
    """The axis of a neuron ``s(+-(x - place))`` before the hinges, and its values at the places of that axis."""
    used = [i for i in form if i < n]
    need(len(used) == 1, f"layer 0, neuron {k}", "it reads more or less than one input")
    c = coordinate[used[0]]
    spend(5 * len(grid.axes[c]), f"layer 0, neuron {k}")
    weight, bias = form[used[0]], form.get(n, 0)
    need(-bias / Fraction(weight) in grid.axes[c], f"layer 0, neuron {k}", "it bends between places")
    return c, [max(ZERO, weight * x + bias) for x in grid.axes[c]]


def at_places(form: Form, grid: Grid, knots: list[tuple[int, list[Any]]]) -> tuple[list[list[Fraction]], Fraction]:
    """What a neuron reads, as a sum of functions of one axis each: their values at the places; and its constant."""
    values = [[ZERO] * len(axis) for axis in grid.axes]
    for k, weight in form.items():
        if k < len(knots):
            c, own = knots[k]
            spend(2 * len(own), "hinges")
            values[c] = [a + weight * b for a, b in zip(values[c], own, strict=True)]
    return values, Fraction(form.get(len(knots), 0))


def check_hinges(grid: Grid, layer: Forms, knots: list[tuple[int, list[Any]]]) -> None:
    """Each neuron reads ``w_c - j`` or ``j - w_c``: it changes by that much from place to place, on every axis."""
    wanted = list(hinge_list(grid))
    need(len(layer) == len(wanted), "hinges", f"there are {len(layer)}, and not {len(wanted)}")
    last = len(grid.axes) - 1
    for k, (form, (c, sign, j)) in enumerate(zip(layer, wanted, strict=True)):
        spend(sum(map(len, grid.axes)) * 4, "hinges")
        values, constant = at_places(form, grid, knots)
        for i, line in enumerate(values):
            slope = sign if i == last else -sign if i == c - 1 else 0
            steady = all(b - a == slope for a, b in pairwise(line))
            need(steady, f"hinge {k}", f"it does not follow axis {i} as it should")
        start = sum((line[0] for line in values), constant)
        need(start == -sign * j, f"hinge {k}", "it bends at another place")


def hinge_list(grid: Grid) -> Iterator[tuple[int, int, int]]:
    """The hinges ``s(sign (w_c - j))`` in their order: (c, sign, j)."""
    for c in range(len(grid.axes)):
        first, last = (grid.middle(c, place) for place in (grid.steps()[c - 1] if c else 0, 0))
        yield from ((c, 1, j) for j in range(first, grid.steps()[-1]))
        yield from ((c, -1, j) for j in range(grid.low(c) + 1, last + 1))


# --- The columns ------------------------------------------------------------------------------------------------------


def column_layers(foot: Place, steps: list[int]) -> list[list[Sum]]:
    """What the neurons of a column read, layer by layer, as in (c), (d) and (e) of the proof."""
    spend(20 * (1 + len(foot)), "columns")
    zero = [c for c, v in enumerate(foot, 1) if v == 0]
    full = [c for c, (v, m) in enumerate(zip(foot, steps, strict=True), 1) if v == m]
    top = [c for c in range(len(foot) + 1) if c not in full and (c or not zero)]
    bottom = [c for c in range(len(foot) + 1) if c not in zero and (c or not full)]
    if len(top) == 2 and top == bottom:
        one, two = top
        u, v = {("A", one): 1, ("B", two): -1}, {("A", two): 1, ("B", one): -1}
        return [[u, mix((1, u), (-1, v))], [{0: 1, 1: -1}]]
    d: Sum = {("A", top[0]): 1, ("B", bottom[0]): -1}
    a = [{("A", top[0]): 1, ("A", c): -1} for c in top[1:]]
    b = [{("B", c): 1, ("B", bottom[0]): -1} for c in bottom[1:]]
    layers = []
    while a or b:
        neurons = [d]
        d = {0: 1}
        a, d = one_round(a, d, neurons)
        b, d = one_round(b, d, neurons)
        layers.append(neurons)
    return [*layers, [d]]


def one_round(values: list[Sum], d: Sum, neurons: list[Sum]) -> tuple[list[Sum], Sum]:
    """(e) for the list ``a_2, a_3, ..``: its neurons are added; the list after it, and `D'` so far."""
    if not values:
        return [], d
    winner = len(neurons)
    neurons.append(values[0])
    after = []
    for i in range(1, len(values), 2):
        pair = values[i : i + 2]
        clamp = 0 if i == 1 and len(pair) == 1 else 1
        neurons.append(mix((1, pair[0]), (clamp, {"K": 1})))
        value: Sum = {len(neurons) - 1: 1, "K": -clamp, winner: -1}
        if len(pair) == 2:
            neurons.append(mix((1, pair[1]), (-1, pair[0])))
            value[len(neurons) - 1] = 1
        after.append(value)
    return after, mix((1, d), (-1, {winner: 1}))


def mix(*parts: tuple[int, Sum]) -> Sum:
    return functools.reduce(lambda mixed, part: plus(mixed, *part), parts, Sum())


def check_first(grid: Grid, known: list[Any], layer: Forms) -> None:
    """(6): as a function of each ``w_c`` a neuron has the slopes of its sum, and the right value in the middle."""
    wanted = [(foot, height, row) for _, foot, height, rows in known for row in rows[0]]
    need(len(layer) == len(wanted), "columns", f"there are {len(layer)} neurons, not {len(wanted)}")
    numbers = {key: k for k, key in enumerate(hinge_list(grid))}
    for k, (form, (foot, height, row)) in enumerate(zip(layer, wanted, strict=True)):
        spend(4 * len(numbers), "columns")
        value, read = row.get("K", 0) * max(height), set()
        for c in range(len(grid.axes)):
            shift = foot[c - 1] if c else 0
            one, two = row.get(("A", c), 0), row.get(("B", c), 0)
            middle = grid.middle(c, shift)
            value += one * integral(height, middle + shift + 1) + two * integral(height, middle + shift)
            # Upwards the slope right of the hinge at j, downwards the one left of it.
            up = [(1, j, j) for j in range(middle, grid.steps()[-1])]
            down = [(-1, j, j - 1) for j in range(middle, grid.low(c), -1)]
            for side in (up, down):
                slope = ZERO
                for sign, j, right in side:
                    read.add(numbers[c, sign, j])
                    slope += sign * form.get(numbers[c, sign, j], 0)
                    true = one * step(height, right + shift + 1) + two * step(height, right + shift)
                    need(slope == true, f"column neuron {k}", f"its slope after {right} along w_{c} is wrong")
        need(form.get(len(numbers), 0) == value, f"column neuron {k}", "its value in the middle is wrong")
        need(form.keys() <= read | {len(numbers)}, f"column neuron {k}", "it reads a hinge that is not its own")


def step(height: list[Fraction], k: int) -> Fraction:
    return height[min(max(k, 0), len(height) - 1)]


def integral(height: list[Fraction], end: int) -> Fraction:
    """Of the step function from 0 to a whole number."""
    sign = 1 if end >= 0 else -1
    return sign * total((step(height, k) for k in range(min(end, 0), max(end, 0))), "columns")


def check_later(grid: Grid, known: list[Any], layers: Layers, depth: int) -> None:
    """(7) and (8): layer by layer the numbers of each column's neurons, and of the sums that are carried."""
    place, width = [], 0
    for *_, rows in known:
        place.append(width)
        width += len(rows[0])
    carried: dict[int, int] = {}
    for level in range(1, depth):
        wanted: list[dict[int, Fraction]] = []
        after = []
        for (_, _, height, rows), start in zip(known, place, strict=True):
            after.append(len(wanted))
            for row in rows[level] if level < len(rows) else ():
                bias = {width: row["K"] * max(height)} if row.get("K") else {}
                wanted.append({start + i: Fraction(v) for i, v in row.items() if i != "K"} | bias)
        sums = [
            ended(known, place, level, o) | ({carried[o]: Fraction(1)} if o in carried else {})
            for o in range(len(grid.bases))
        ]
        now = {}
        for o, form in enumerate(sums):
            if form:
                now[o] = len(wanted)
                wanted.append(form)
        compare(layers[level], wanted, f"layer {level} of the columns")
        place, carried, width = after, now, len(wanted)
    outputs = []
    for o, base in enumerate(grid.bases):
        form = ended(known, place, depth, o) | ({carried[o]: Fraction(1)} if o in carried else {})
        outputs.append(form | ({width: base} if base else {}))
    compare(layers[depth], outputs, "output")


def ended(known: list[Any], place: list[int], level: int, output: int) -> dict[int, Fraction]:
    """The columns of an output whose last layer is the one below `level`."""
    spend(1 + len(known) // 4, "columns")
    of = zip(known, place, strict=True)
    return {start: Fraction(1) for (o, _, _, rows), start in of if o == output and len(rows) == level}


def compare(layer: Forms, wanted: list[dict[int, Fraction]], where: str) -> None:
    need(len(layer) == len(wanted), where, f"it has {len(layer)} neurons, not {len(wanted)}")
    for k, (form, row) in enumerate(zip(layer, wanted, strict=True)):
        spend(4 * (1 + len(row)), where)
        need(form == row, f"{where}, neuron {k}", "its weights differ from the formula")
