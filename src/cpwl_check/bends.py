"""Check a proof for hinges and gates, kind "bends".

**Theorem.** Let D be the region that the limits leave. If

(1) every piece lies in D, `bends`
(2) every neuron above the first hidden layer that is read has the role that the proof says, on a region that contains
    D: a gate reads something that is at least 0 where its plane is and at most 0 where that is, a carry something that
    is at least 0, a zero something that is at most 0, `read_roles`, `Circuit.need_sign`; a gate perhaps everywhere,
    because this is so for fans of hinges, `of_fans`, or because what it reads is 0 on its plane and grows along a
    vector across it, `is_zero_on`, `slopes`
(3) on every plane that cuts a piece, the jump of the network's slope across it is 0 on the section, `Circuit.bends`,
    `Circuit.is_zero`, `need_affine`
(4) the affine function that the network is next to one point inside a piece is the law at the generators of the piece,
    for every piece and output, `check_piece`. It is found from the atoms that are open there, `Circuit.fold`; or from
    that of a piece on the other side of a common facet and the jump on the facet, `Known.across`
(5) a piece that is not empty and has no interior is cut by no plane, `need_affine`

then the network is the function on every piece.
Why the theorem holds is in docs/proof.md.
"""

import functools
import heapq
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import accumulate
from operator import mul, or_
from typing import Any, NamedTuple

from cpwl_check.budget import Refused, each, long, longest, need, share, spend, work
from cpwl_check.cones import Cone, dot, minus, mix, piece_cone, region, show
from cpwl_check.pieces import Form, Law, Layers, Piece, half_space, over_one
from cpwl_check.reading import Rational, read, read_proof

Steps = dict[frozenset[int], int]  # a sum of factors times products of indicators of half-spaces, see `Atom.side`
Jumps = dict[int, tuple[Steps, Fraction]]  # one for each plane, and what it is to be multiplied with
Terms = list[tuple[int, int]]  # factors and numbers of atoms
Output = tuple[tuple[list[int], Terms, int], Jumps]  # as `Circuit.whole` has it, and its bends
Facet = frozenset[tuple[int, ...]]  # its corners and rays
LIMIT = 20000  # regions into which one question may be cut


class Sides(NamedTuple):
    """On which side of all planes some places are, one bit for each: where one is positive, and where one is negative.
    Of a plane that is 1 if it is negative nowhere, -1 if it is positive nowhere, else 0."""

    above: int
    below: int

    def of(self, k: int) -> int:
        return 1 if not self.below >> k & 1 else -1 if not self.above >> k & 1 else 0

    def inside(self, one: "Sides") -> "Sides":
        """The sides of points next to these places in the direction of another one; of these the sides are `one`."""
        open = ~(self.above | self.below)
        return Sides(self.above | one.above & open, self.below | one.below & open)

    def at(self, side: int) -> int:
        """Of a point: 1, -1 or 0 where the form of a side, as in `Atom.side`, is positive, negative or 0."""
        k = abs(side)
        return ((self.above >> k & 1) - (self.below >> k & 1)) * (1 if side > 0 else -1)

    def around(self, one: "Sides") -> "Sides":
        """Of these places and of others."""
        return Sides(self.above | one.above, self.below | one.below)

    def cut(self) -> list[int]:
        """The planes with places on both sides."""
        found, left = [], self.above & self.below
        while left:
            found.append(left.bit_length() - 1)
            left ^= 1 << found[-1]
        return found


def local(steps: Steps, side: Callable[[int], int]) -> Steps:
    """The same where the planes are on these sides; a side of 0 leaves it open."""
    total: Steps = {}
    for product, factor in steps.items():
        signs = {s: side(abs(s)) * (1 if s > 0 else -1) for s in product}
        if -1 not in signs.values():
            rest = frozenset(s for s, sign in signs.items() if sign == 0)
            total[rest] = total.get(rest, 0) + factor
    return {product: factor for product, factor in total.items() if factor}


class Atom(NamedTuple):
    """The output of a neuron: relu(Y), which is Y where l >= 0 and 0 where l <= 0. For a hinge Y = l."""

    side: int  # l is plane k if this is k + 1, and minus plane k if this is -(k + 1)
    row: list[int]  # l
    affine: list[int]  # Y is this ..
    terms: Terms  # .. plus a sum of factors times atoms of lower numbers
    everywhere: bool = True  # that relu(Y) is so is known on all of R^n, and not only on a region


class Circuit:
    """What the neurons compute: forms with the coefficients of (x, 1), and that of atom i at place n + 1 + i."""

    def __init__(self, n: int, planes: list[list[int]]) -> None:
        self.n, self.planes, self.atoms, self.hinges = n, planes, list[Atom](), dict[int, int]()
        self.signs: dict[tuple[int, ...], Sides] = {}  # at places
        self.number = {tuple(v): s * (k + 1) for k, row in enumerate(planes) for s, v in ((1, row), (-1, minus(row)))}
        need(len(self.number) == 2 * len(planes), "planes", "an entry is repeated")

    def reads(self, weights: Form, before: list[Form | None], where: str) -> Form:
        """What a neuron with these weights reads."""
        total: dict[int, Rational] = {self.n: weights.get(len(before), 0)}
        for j, weight in weights.items():
            form = before[j] if j < len(before) else {}
            need(form is not None, where, f"it reads neuron {j}, which has no role")
            spend(2 + 2 * len(form or {}) + long(weight), where)
            for i, x in (form or {}).items():
                total[i] = total.get(i, 0) + weight * x
        return {i: x for i, x in total.items() if x}

    def whole(self, form: Form) -> tuple[list[int], Terms, int]:
        """A positive multiple of the form in integers: its affine part, its factors and atoms, and the multiple."""
        names = [i for i in form if i > self.n]
        numbers, d = over_one([form.get(i, 0) for i in range(self.n + 1)] + [form[i] for i in names])
        atoms = [(c, i - self.n - 1) for c, i in zip(numbers[self.n + 1 :], names, strict=True)]
        return numbers[: self.n + 1], atoms, d

    def hinge(self, form: Form) -> Form:
        """The ReLU of an affine form; relu(-l) is held as relu(l) - l."""
        row, _, d = self.whole(form)
        if not any(row[:-1]):
            return {self.n: form[self.n]} if row[-1] > 0 else {}
        side = self.side_of(row)
        if abs(side) not in self.hinges:
            self.hinges[abs(side)] = len(self.atoms)
            self.atoms.append(Atom(abs(side), self.planes[abs(side) - 1], self.planes[abs(side) - 1], []))
        more: Form = {self.n + 1 + self.hinges[abs(side)]: Fraction(math.gcd(*row), d)}
        return more if side > 0 else form | more

    def hinge_on(self, domain: Cone, form: Form) -> Form:
        """The same on the domain: where the form has one sign there, it is the form itself, or 0."""
        row, _, _ = self.whole(form)
        side = domain.side(row) if any(row[:-1]) else 0
        return self.hinge(form) if side == 0 else form if side > 0 else {}

    def row(self, side: int) -> list[int]:
        """The form of a side, as in `Atom.side`."""
        return self.planes[side - 1] if side > 0 else minus(self.planes[-side - 1])

    def side_of(self, row: list[int]) -> int:
        """The number, as in `Atom.side`, of what is positive where a row is; its plane is added if it is new."""
        plane = mix(1, row, 0, row)
        if tuple(plane) not in self.number:
            self.planes.append(plane)
            self.number |= {tuple(plane): len(self.planes), tuple(minus(plane)): -len(self.planes)}
        return self.number[tuple(plane)]

    def value(self, a: int, x: list[int], known: dict[int, int], most: bool = False) -> int:
        """Of an atom at a point; with `most` a bound above, at a sum of points at most the sum of those at each."""
        if a not in known:
            _, row, affine, terms, _ = self.atoms[a]
            spend(2 + len(terms) // 2 + len(row) // 8, "atoms")
            if most or affine is row:
                read = dot(affine, x) + sum(c * self.value(b, x, known, most) for c, b in terms if c > 0 or not most)
                known[a] = max(0, read)
            elif dot(row, x) > 0:
                known[a] = dot(affine, x) + sum(c * self.value(b, x, known) for c, b in terms)
            else:
                known[a] = 0
            spend(long(known[a]) * (1 + len(terms)), "atoms")
        return known[a]

    def need_sign(self, form: Form, sign: int, cone: Cone, where: str) -> None:
        """Shows that `sign` times the form is at least 0 on the cone: by its generators, or else by those of halves."""
        affine, terms, _ = self.whole(form)
        todo = [(cone, [sign * x for x in affine], {a: sign * c for c, a in terms})]
        for part, rest, factors in each(todo, LIMIT, where, f"the sign is not shown with {LIMIT} regions"):
            rest, factors = self.fold(part, rest, dict(factors))
            worst, place = 0, list[int]()
            generators = part.generators()
            spend(len(generators) * (3 + len(factors) + len(rest) // 8), where)
            for g in generators:
                # A concave bound: an atom is at least 0, and at most `most`. At generators only its values count.
                known: dict[int, int] = {}
                low = dot(rest, g) + sum(c * self.value(a, g, known, True) for a, c in factors.items() if c < 0)
                worst, place = (low, g) if low < worst else (worst, place)
            if worst:
                at, above = dict[int, int](), dict[int, int]()
                lost = {a: c * self.value(a, place, at) for a, c in factors.items()}
                lost |= {a: lost[a] - c * self.value(a, place, above, True) for a, c in factors.items() if c < 0}
                wrong = "this has the wrong sign at " + show(place)
                need(worst + sum(lost.values()) >= 0, where, wrong, [place])
                row = self.atoms[max(lost, key=lambda a: lost[a])].row
                todo += [(part.cut(r), rest, factors) for r in (row, minus(row))]

    def atom(self, row: list[int], form: Form, hinge: bool) -> Form:
        """The ReLU of a form with the sign of a row; where the row is a constant, it is the form or 0."""
        if hinge:
            return self.hinge(form)
        if not any(row[:-1]):
            return form if row[-1] > 0 else {}
        side = self.side_of(row)
        affine, terms, d = self.whole(form)
        self.atoms.append(Atom(side, self.row(side), affine, terms))
        return {self.n + len(self.atoms): Fraction(1, d)}

    def fold(self, part: Cone | Sides, rest: list[int], factors: dict[int, int]) -> tuple[list[int], dict[int, int]]:
        """The same sum on a cone or at a point; atoms that are Y, or 0, all over it are replaced by that."""
        kept, todo = {}, [-a for a in factors]  # the last atom first: others may come up that it reads
        heapq.heapify(todo)
        while todo:
            if c := factors.pop(a := -heapq.heappop(todo), 0):
                atom = self.atoms[a]
                side = part.side(atom.row) if isinstance(part, Cone) else part.at(atom.side)
                if side > 0:
                    count, held = (
                        len(rest) + len(atom.terms),
                        sum(factors.get(b, 0).bit_length() for _, b in atom.terms),
                    )
                    bits = longest([[d for d, _ in atom.terms], atom.affine])
                    spend(1 + count + (held >> 14) + work(count, c.bit_length(), bits), "atoms")
                    rest = [x + c * y for x, y in zip(rest, atom.affine, strict=True)]
                    for d, b in atom.terms:
                        if b not in factors:
                            heapq.heappush(todo, -b)
                        factors[b] = factors.get(b, 0) + c * d
                elif side == 0:
                    kept[a] = c
        return rest, kept

    def bends(self, form: Form, where: str) -> Jumps:
        """For each plane the jump of the slope across it, times a factor: a step function on the plane."""
        todo = [(Fraction(form[i]), i - self.n - 1, frozenset[int]()) for i in form if i > self.n]
        jumps: dict[int, dict[frozenset[int], Fraction]] = {}  # planes have few terms each, and short denominators
        for factor, a, inside in each(todo, 10**7, where, "there are too many products of indicators"):
            atom = self.atoms[a]
            if -atom.side not in inside:
                spend((len(inside) + len(atom.terms)) * (4 + long(factor)) + len(inside) * self.n // 32, where)
                product = inside | {atom.side}  # the form has the term: factor times [product] times atom.affine
                for s in product:
                    slope = factor * atom.affine[next(i for i, x in enumerate(self.planes[abs(s) - 1]) if x)]
                    steps, others = jumps.setdefault(abs(s), {}), product - {s}
                    steps[others] = steps.get(others, 0) + (slope if s > 0 else -slope)
                todo += [(factor * c, b, product) for c, b in atom.terms]
        return {k: whole for k, jump in jumps.items() if (whole := self.whole_steps(jump))[0]}

    def sides(self, g: list[int]) -> Sides:
        """On which sides of all planes a place is; many pieces share a corner, at which values are found once."""
        if tuple(g) not in self.signs:
            above = below = 0
            spend(len(self.parallel) * (1 + work(len(g), 64, longest([g])) + len(self.planes) // 2000), "planes")
            for normal, constants, bits in self.parallel:
                value, scale = -sum(map(mul, normal, g)), g[-1]  # the constants are to be compared with the ratio
                first = last = 0 if value < 0 else len(bits) - 1
                if scale:
                    last = bisect_right(constants, value // scale)
                    first = last if value % scale else bisect_left(constants, value // scale)
                elif not value:
                    continue
                above, below = above | bits[-1] ^ bits[last], below | bits[first]
            self.signs[tuple(g)] = Sides(above, below)
        return self.signs[tuple(g)]

    @functools.cached_property
    def parallel(self) -> list[tuple[tuple[int, ...], list[int], list[int]]]:
        """Planes with one normal: their constants in order, and one bit for each plane of the first k, for every k."""
        spend(len(self.planes) * (4 + len(self.planes) // 500), "planes")
        found: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for k, (*normal, constant) in enumerate(self.planes, 1):
            found.setdefault((*normal,), []).append((constant, 1 << k))
        some = [(normal, sorted(own)) for normal, own in found.items()]
        return [(a, [c for c, _ in own], [*accumulate((b for _, b in own), or_, initial=0)]) for a, own in some]

    def inside(self, places: Iterable[list[int]]) -> Sides:
        """The sides of a point inside the hull of some places: next to the first one, on the way to the second, next to
        that way on the way to the third, and so on. A plane that has no side contains all places."""
        return functools.reduce(Sides.inside, map(self.sides, places))

    def whole_steps(self, jump: dict[frozenset[int], Fraction]) -> tuple[Steps, Fraction]:
        """A step function in integers without a common divisor, without terms that are 0; and the positive factor."""
        numbers, d = over_one(list(jump.values()))
        divisor = math.gcd(*numbers) or 1
        steps = {product: c // divisor for product, c in zip(jump, numbers, strict=True) if c}
        return steps, Fraction(divisor, d)

    def is_zero(self, steps: Steps, cone: Cone, where: str) -> bool:
        """Whether a step function is 0 on the cone, but for its boundary and the planes."""
        todo = [(steps, cone)]
        for steps, part in each(todo, LIMIT, where, f"the bends are not known with {LIMIT} regions"):
            names = {abs(s) for product in steps for s in product}
            spend(2 * len(steps) + sum(map(len, steps)), where)
            left = local(steps, {k: part.side(self.planes[k - 1]) for k in names}.__getitem__)
            cuts = set().union(*left)
            if left and not cuts:
                return False
            if left:
                often = Counter(abs(s) for product in left for s in product)
                row = self.planes[max(often, key=lambda k: often[k]) - 1]
                todo += [(left, part.cut(r)) for r in (row, minus(row))]
        return True


# --- Neurons that are gates everywhere --------------------------------------------------------------------------------
#
# A neuron reads Y, a sum of an affine function, hinges and gates, and is to be [l > 0] Y: Y must have the sign of l, or
# be 0, at every point. Two ways to see that: Y is a sum of fans; or Y is 0 where l is, and grows along a vector across
# that plane.


def is_gate(circuit: Circuit, form: Form, row: list[int], along: list[int], where: str) -> bool:
    """Whether the form has the sign of the row, or is 0, everywhere: by fans, or along a vector if there is one."""
    affine, terms, _ = circuit.whole(form)
    spend((20 + len(affine)) * len(terms), where)
    if along:
        grows = dot(row, along) > 0 and slopes(circuit, affine, terms, along, {})[0] >= 0
        return grows and is_zero_on(circuit, row, form, where)
    hinges = [(c, circuit.atoms[a].row) for c, a in terms if circuit.atoms[a].affine is circuit.atoms[a].row]
    return len(hinges) == len(terms) and of_fans(row, affine, hinges)


def slopes(
    circuit: Circuit, affine: list[int], terms: Terms, u: list[int], known: dict[int, tuple[int, int]]
) -> tuple[int, int]:
    """Bounds of the slope of a sum along a vector. What begins on one plane, [l > 0] Y, has slopes between 0 and
    those of Y; so has relu(Y)."""
    spend(4 + len(u) // 8 + 4 * len(terms), "slopes")
    low = high = dot(affine, u)
    for (side, weight), gates in by_plane(circuit, terms).items():
        across = dot(circuit.planes[abs(side) - 1], u)
        least = most = weight * across * (1 if side > 0 else -1)
        low, high = (low, high) if side > 0 else (low + weight * across, high + weight * across)
        for c, a in gates:
            if a not in known:
                known[a] = slopes(circuit, circuit.atoms[a].affine, circuit.atoms[a].terms, u, known)
            x, y = sorted(c * z for z in known[a])
            least, most = least + x, most + y
        low, high = low + min(least, 0), high + max(most, 0)
    return low, high


def by_plane(circuit: Circuit, terms: Terms) -> dict[tuple[int, int], Terms]:
    """The gates of a sum by their side, with the weight of the hinge that begins on the same plane; for a side of
    -k - 1 that is to be read as the weight w in w relu(l) = w l + w relu(-l)."""
    weights, gates = dict[int, int](), dict[int, Terms]()
    for c, a in terms:
        if (side := circuit.atoms[a].side) and circuit.atoms[a].affine is circuit.atoms[a].row:
            weights[side] = weights.get(side, 0) + c
        else:
            gates.setdefault(side, []).append((c, a))
    found = {(side, weights.pop(abs(side), 0)): some for side, some in gates.items()}
    return found | {(side, c): [] for side, c in weights.items()}


def is_zero_on(circuit: Circuit, row: list[int], form: Form, where: str) -> bool:
    """Whether a form is 0 on all of a plane: there it is one of n - 1 coordinates, without bends, and 0 at points
    that span the plane."""
    k = next(i for i, x in enumerate(row) if x)

    def on_plane(g: list[int]) -> list[int]:  # a positive multiple, without coordinate k
        return [
            abs(row[k]) * x - (y if row[k] > 0 else -y) * g[k]
            for i, (x, y) in enumerate(zip(g, row, strict=True))
            if i != k
        ]

    def reduced(affine: list[int], terms: Terms, scale: int) -> Form:
        total = {i: Fraction(x, scale * abs(row[k])) for i, x in enumerate(on_plane(affine)) if x}
        for c, a in terms:
            spend(2 + 2 * len(values[a]) + long(c), where)
            for i, x in values[a].items():
                total[i] = total.get(i, Fraction(0)) + Fraction(c, scale) * x
        return {i: x for i, x in total.items() if x}

    flat, values = Circuit(circuit.n - 1, []), dict[int, Form]()
    affine, terms, d = circuit.whole(form)
    needed, todo = set[int](), [a for _, a in terms]
    for a in each(todo, 10**6, where, "there are too many neurons"):
        todo += [b for _, b in circuit.atoms[a].terms if b not in needed] if a not in needed else []
        needed.add(a)
    for a in sorted(needed):
        atom = circuit.atoms[a]
        if not atom.everywhere:
            return False
        values[a] = flat.atom(on_plane(atom.row), reduced(atom.affine, atom.terms, 1), atom.affine is atom.row)
    total = reduced(affine, terms, d)
    rest, factors, _ = flat.whole(total)
    points = [[int(i == j) for i in range(circuit.n - 1)] + [1] for j in range(circuit.n)]
    if any(dot(rest, x) + sum(c * flat.value(a, x, {}) for c, a in factors) for x in points):
        return False
    sections = ((flat.planes[h - 1], steps) for h, (steps, _) in flat.bends(total, where).items())
    return all(flat.is_zero(steps, region(circuit.n - 1, [h, minus(h)]), where) for h, steps in sections)


def of_fans(row: list[int], affine: list[int], hinges: list[tuple[int, list[int]]]) -> bool:
    """Whether an affine function plus a sum of c relu(h) has the sign of the row l, or is 0, everywhere.

    Hinges that meet the plane in the same place are a fan: h = x l + y t for one t. If a fan is s t on the plane, then
    divided by l what is more than s t is a function of t / l: it is constant at both ends and extreme where a hinge
    begins. All s t and the affine function must add up to a multiple of l. Everything is multiplied by |l_k| here."""
    k = next(i for i, x in enumerate(row) if x)
    rest, fans = [abs(row[k]) * x for x in affine], dict[tuple[int, ...], list[tuple[int, int, int]]]()
    for c, h in hinges:
        x, *trace = (
            (-z if row[k] < 0 else z) for z in (h[k], *(u * row[k] - v * h[k] for u, v in zip(h, row, strict=True)))
        )
        y = math.gcd(*trace) * (1 if next((z for z in trace if z), 1) > 0 else -1)
        if y and not any(trace[:-1]):
            return False  # the two are parallel
        fans.setdefault(tuple(z // y for z in trace) if y else (), []).append((c, x, y))
    low, high = Fraction(0), Fraction(0)  # above the plane at least this times l, below at most this times -l
    for t, fan in fans.items():
        spend(len(fan) ** 2, "fans")
        s = sum(c * y for c, _, y in fan if y > 0)
        if s != sum(c * y for c, _, y in fan if y < 0):
            return False
        rest = [u + s * v for u, v in zip(rest, t, strict=True)] if t else rest
        values = [[fan_value(fan, s, l, -l * x * (1 if y > 0 else -1), abs(y)) for _, x, y in fan] for l in (1, -1)]
        low, high = low + min(values[0]), high + max(values[1])
    along = Fraction(rest[k], row[k])
    return all(u == along * v for u, v in zip(rest, row, strict=True)) and low + along >= 0 >= high - along


def fan_value(fan: list[tuple[int, int, int]], s: int, l: int, t: int, scale: int) -> Fraction:
    """The fan less s t where l is 1 or -1, at t / scale; for what is parallel, the scale is 0 and t does not matter."""
    one = scale or 1
    return Fraction(sum(c * max(0, l * x * one + y * t) for c, x, y in fan) - s * t, one)


# --- The proof --------------------------------------------------------------------------------------------------------


def read_roles(roles: Any, layers: Layers, limits: list[list[int]], circuit: Circuit) -> list[Form]:
    """The outputs as forms. What the proof says of the neurons above the first hidden layer is shown on the way."""
    cones = dict[tuple[int, ...], Cone]()
    domain = cones[*range(len(limits)),] = region(circuit.n, limits)
    values: list[Form | None] = [{i: 1} for i in range(circuit.n)]
    for l, layer in enumerate(layers[:-1]):
        inputs = [circuit.reads(weights, values, f"layer {l}, neuron {i}") for i, weights in enumerate(layer)]
        values = [circuit.hinge_on(domain, form) for form in inputs] if l == 0 else []
        sides = range(-len(circuit.planes), len(circuit.planes) + 1)
        for i, (form, role) in enumerate(zip(inputs, roles[l - 1], strict=True) if l else []):
            where = f"layer {l}, neuron {i}"
            if role is None:
                values.append(None)
                continue
            kind = next((k for k in ("gate", "carry") if type(role) is dict and k in role), "zero")
            everywhere = kind == "gate" and "along" in role
            more: dict[str, Any] = {"along": [Rational]} if everywhere else {"within": [range(len(limits))]}
            side, hint = read(role, {kind: sides if kind == "gate" else True} | more, where)
            need(side, where, "there is no plane 0")
            if everywhere:
                need(len(hint) in (0, circuit.n), where, "`along` is not a vector")
                vector = [*over_one(hint)[0], 0] if hint else []
                need(is_gate(circuit, form, circuit.row(side), vector, where), where, "this is not shown to be a gate")
            else:
                cone = cones[*hint] = cones.get((*hint,)) or region(circuit.n, [limits[r] for r in hint])
                for sign in (1, -1) if kind == "gate" else (1,) if kind == "carry" else (-1,):
                    part = cone.cut(circuit.row(sign * side)) if kind == "gate" else cone
                    circuit.need_sign(form, sign, part, where)
            if kind == "gate":
                values.append(circuit.atom(circuit.row(side), form, False))
                circuit.atoms[-1] = circuit.atoms[-1]._replace(everywhere=everywhere)
            else:
                values.append(form if kind == "carry" else {})
    return [circuit.reads(weights, values, f"output {o}") for o, weights in enumerate(layers[-1])]


def common_sign(values: list[int]) -> int:
    """1 if nothing is negative, -1 if nothing is positive, else 0."""
    return 1 if min(values, default=0) >= 0 else -1 if max(values) <= 0 else 0


def on_section(plane: int, planes: list[list[int]], places: list[list[int]], steps: Steps) -> dict[int, int]:
    """The sides of the planes of a step function where a plane meets a cone, from the values of all of them at places
    that span the cone: the section is spanned by those on the plane and by those between places on its two sides."""
    own = [dot(planes[plane - 1], g) for g in places]
    pairs = [(i, j) for i, u in enumerate(own) if u > 0 for j, v in enumerate(own) if v < 0]
    found = {}
    names = {abs(s) for product in steps for s in product}
    spend(len(names) * (len(pairs) + len(places) * (1 + len(places[0]) // 8)) // 4, "sections")
    for k in names:
        values = [dot(planes[k - 1], g) for g in places]
        between = [own[i] * values[j] - own[j] * values[i] for i, j in pairs]
        found[k] = common_sign(between + [v for u, v in zip(own, values, strict=True) if u == 0])
    return found


class Known:
    """The affine functions that the outputs are, times their scales, on pieces that were looked at, by facets."""

    def __init__(self, circuit: Circuit, outputs: list[Output]) -> None:
        self.circuit, self.outputs = circuit, outputs
        self.beyond: dict[Facet, tuple[Sides, list[list[int]]]] = {}
        self.held: dict[tuple[int, int], list[tuple[int, int, int]]] = {}

    def laws(self, cone: Cone, inside: Sides) -> list[list[int]]:
        """The affine functions on a piece on which no output bends, of which `inside` is a point."""
        spend(len(self.outputs) * len(self.circuit.atoms), "atoms")
        facets = facets_of(cone)
        known = next((facet for facet in facets if facet in self.beyond), None)
        laws = self.open(inside) if known is None else self.across(known, inside)
        for facet in facets:
            if self.beyond.pop(facet, None) is None:
                self.beyond[facet] = inside, laws
        return laws

    def open(self, inside: Sides) -> list[list[int]]:
        """The sums of what is open at a point. An atom whose plane contains the piece is 0 on it."""
        return [self.circuit.fold(inside, rest, {a: c for c, a in terms})[0] for (rest, terms, _), _ in self.outputs]

    def across(self, facet: Facet, inside: Sides) -> list[list[int]]:
        """The same from a piece with the same facet: if that is on the other side of a plane, with the jump there."""
        there, laws = self.beyond[facet]
        on = self.circuit.inside(list(g) for g in sorted(facet))
        apart = (inside.above & there.below | inside.below & there.above) & ~(on.above | on.below)
        if not apart:
            return laws
        plane = apart.bit_length() - 1
        need(apart == 1 << plane, "planes", "an entry is repeated")  # a facet spans its plane
        row, found = self.circuit.planes[plane - 1], list[list[int]]()
        for o, law in enumerate(laws):
            (_, _, scale), bends = self.outputs[o]
            jump = sum(c for up, down, c in self.bits(o, plane) if not (up & ~on.above or down & ~on.below))
            unit = Fraction(bends[plane][1] if jump else 0, next(x for x in row if x))
            factor = inside.at(plane) * scale * unit * jump
            need(factor.denominator == 1, "planes", f"the network is not continuous on plane {plane - 1}")
            found.append([x + factor.numerator * y for x, y in zip(law, row, strict=True)])
        return found

    def bits(self, o: int, plane: int) -> list[tuple[int, int, int]]:
        """Of the products of a jump one bit for each plane above which, and for each below which, one is not 0; and the
        factors."""
        if (o, plane) not in self.held:
            steps = self.outputs[o][1].get(plane, ({}, 0))[0]
            spend(len(steps) * (1 + len(self.circuit.planes) // 256), "planes")
            signs = [[sum(1 << v * s for s in product if v * s > 0) for v in (1, -1)] for product in steps]
            self.held[o, plane] = [(up, down, c) for (up, down), c in zip(signs, steps.values(), strict=True)]
        return self.held[o, plane]


def facets_of(cone: Cone) -> list[Facet]:
    """The facets of a pointed cone with an interior, but for one at infinity, by their rays: the largest faces."""
    if cone.lines or not cone.is_solid():
        return []
    spend(cone.rows * (len(cone.rays) + cone.rows) // 4, "facets")
    faces = {frozenset(tuple(g) for g, bits in cone.rays if bits >> r & 1) for r in range(cone.rows)}
    return [one for one in faces if any(g[-1] for g in one) and not any(one < other for other in faces)]


def need_affine(cone: Cone, circuit: Circuit, bends: Jumps, sides: Sides, where: str) -> None:
    """(3): an output does not bend inside a piece."""
    places, cut = cone.generators(), sides.cut()
    spend(len(circuit.planes) // 20 + len(cut), where)
    need(not cut or cone.is_solid(), where, "it has no interior, and a plane cuts it")
    for plane in cut:
        left = local(bends.get(plane, ({}, 0))[0], sides.of)
        if left:
            spend(len(places) * len(left), where)
            left = local(left, on_section(plane, circuit.planes, places, left).__getitem__)
        if left:
            row = circuit.planes[plane - 1]
            zero = circuit.is_zero(left, cone.cut(row).cut(minus(row)), where)
            need(zero, where, f"the network bends inside, on plane {plane - 1}", places)


def check_piece(piece: Piece, cone: Cone, known: Known, j: int) -> None:
    """The network does not bend inside the piece, and what it is there is the law at the generators."""
    places = cone.generators()
    signs = [known.circuit.sides(g) for g in places]
    sides = functools.reduce(Sides.around, signs)
    for o, (_, bends) in enumerate(known.outputs):
        need_affine(cone, known.circuit, bends, sides, f"output {o}, piece {j}")
    laws = known.laws(cone, functools.reduce(Sides.inside, signs))
    for o, (own, (law, d), ((_, _, scale), _)) in enumerate(zip(laws, piece.laws, known.outputs, strict=True)):
        spend(2 * len(places), f"output {o}, piece {j}")
        for i, x in enumerate(places):
            meant = law[i] * x[-1] if piece.corners else dot(law, x)
            if dot(own, x) * d != meant * scale:
                base = x if x[-1] else mix(1, next(g for g in places if g[-1]), 1, x)
                raise Refused(f"output {o}, piece {j}: network and function differ at {show(base)}", [base])


def bends(law: Law, layers: Layers, proof: Any) -> Fraction:
    """0, if the proof shows that the network is the function on every piece."""
    n = law.n
    body = {"planes": [[Rational, n + 1]], "limits": [[Rational, n + 1]], "roles": [[Any]]}
    _, planes, limits, roles = read_proof(proof, "bends", n, 0, body)
    need(all(any(row[:-1]) for row in planes), "planes", "one has no slope")
    fits = [len(x) for x in roles] == [len(x) for x in layers[1:-1]]
    need(fits, "roles", "there must be one for each neuron")
    need(len(layers) < 100, "network", "too many layers")  # for the depth of recursion
    circuit = Circuit(n, [mix(1, row, 0, row) for row in (over_one(v)[0] for v in planes)])
    rows = [half_space(row)[0] for row in limits]
    forms = enumerate(read_roles(roles, layers, rows, circuit))
    known = Known(circuit, [(circuit.whole(form), circuit.bends(form, f"output {o}")) for o, form in forms])
    for j, piece in share(law.pieces):
        cone = piece_cone(piece, n)
        spend(len(rows) * (1 + (len(cone.rays) + 2 * len(cone.lines)) * (1 + n // 8) // 4), f"piece {j}")
        inside = all(dot(row, g) >= 0 for row in rows for g in cone.generators())
        need(inside, "limits", f"piece {j} is not inside")
        if any(g[-1] for g, _ in cone.rays):  # otherwise the piece is empty
            check_piece(piece, cone, known, j)
    return Fraction(0)
