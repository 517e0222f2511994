"""Check a proof for hinges and gates, kind "bends": bends_checker.py law.json net.json law.proof.json

**Theorem.** Let D be the region that the limits leave. If

(1) every piece lies in D, `bends`
(2) every neuron above the first hidden layer that is read has the role that the proof says, on a region that contains
    D: a gate reads something that is at least 0 where its plane is and at most 0 where that is, a carry something that
    is at least 0, a zero something that is at most 0, `read_roles`, `Circuit.need_sign`; a gate perhaps everywhere,
    because this is so for fans of hinges, `bends_gate_checker.of_fans`, or because what it reads is 0 on its plane and
    grows along a vector across it, `bends_gate_checker.is_zero_on`, `bends_gate_checker.slopes`
(3) network and law agree at points that span the piece, for every piece and output, `check_piece`
(4) on every plane that cuts a piece, the jump of the network's slope across it is 0 on the section, `Circuit.bends`,
    `Circuit.is_zero`
(5) a piece that is not empty and has no interior is cut by no plane, `check_piece`

then the network is the function on every piece.

It needs checker.py and bends_gate_checker.py beside it. checker.py reads the files and hands proofs of this kind over
to here; so either of the two may be called, for proofs of every kind. Only the standard library, only integers and
fractions. Why the theorem holds is in docs/proof.md. Points and cones are held as in checker.py: a point x as a
positive multiple of (x, 1). `checker` has the functions of checker.py.
"""

import heapq
import math
import runpy
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from operator import mul
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

Rational = int | Fraction
Form = dict[int, Rational]  # a linear form: its nonzero coefficients
Steps = dict[frozenset[int], int]  # a sum of factors times products of indicators of half-spaces, see `Atom.side`
Jumps = dict[int, Steps]  # one for each plane
gates: Any = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("bends_gate_checker.py"))))
LIMIT = 20000  # regions into which one question may be cut


def dot(u: list[int], v: list[int]) -> int:
    return sum(map(mul, u, v))


def minus(v: list[int]) -> list[int]:
    return [-x for x in v]


class Sides(NamedTuple):
    """On which side of all planes some places are, one bit for each: where one is positive, and where one is negative.
    Of a plane that is 1 if it is negative nowhere, -1 if it is positive nowhere, else 0."""

    above: int
    below: int

    def of(self, k: int) -> int:
        return 1 if not self.below >> k & 1 else -1 if not self.above >> k & 1 else 0

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
    terms: list[tuple[int, int]]  # .. plus a sum of factors times atoms of lower numbers
    everywhere: bool = True  # that relu(Y) is so is known on all of R^n, and not only on a region


class Circuit:
    """What the neurons compute: forms with the coefficients of (x, 1), and that of atom i at place n + 1 + i."""

    def __init__(self, checker: Any, n: int, planes: list[list[int]]) -> None:
        self.checker = checker
        self.n, self.planes, self.atoms, self.hinges = n, planes, list[Atom](), dict[int, int]()
        self.known: dict[tuple[int, ...], dict[int, int]] = {}  # values at points: of atom i, of output o as ~o
        self.signs: dict[tuple[int, ...], Sides] = {}  # at places
        self.number = {tuple(v): s * (k + 1) for k, row in enumerate(planes) for s, v in ((1, row), (-1, minus(row)))}
        checker.need(len(self.number) == 2 * len(planes), "planes", "one comes twice")

    def reads(self, weights: Form, before: list[Form | None], where: str) -> Form:
        """What a neuron with these weights reads."""
        total: dict[int, Rational] = {self.n: weights.get(len(before), 0)}
        for j, weight in weights.items():
            form = before[j] if j < len(before) else {}
            self.checker.need(form is not None, where, f"it reads neuron {j}, which has no role")
            for i, x in (form or {}).items():
                total[i] = total.get(i, 0) + weight * x
        return {i: x for i, x in total.items() if x}

    def whole(self, form: Form) -> tuple[list[int], list[tuple[int, int]], int]:
        """A positive multiple of the form in integers: its affine part, its factors and atoms, and the multiple."""
        names = [i for i in form if i > self.n]
        numbers, d = self.checker.over_one([form.get(i, 0) for i in range(self.n + 1)] + [form[i] for i in names])
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

    def hinge_on(self, domain: Any, form: Form) -> Form:
        """The same on the domain: where the form has one sign there, it is the form itself, or 0."""
        row, _, _ = self.whole(form)
        side = domain.side(row) if any(row[:-1]) else 0
        return self.hinge(form) if side == 0 else form if side > 0 else {}

    def side_of(self, row: list[int]) -> int:
        """The number, as in `Atom.side`, of what is positive where a row is; its plane is added if it is new."""
        plane = self.checker.mix(1, row, 0, row)
        if tuple(plane) not in self.number:
            self.planes.append(plane)
            self.number |= {tuple(plane): len(self.planes), tuple(minus(plane)): -len(self.planes)}
        return self.number[tuple(plane)]

    def value(self, a: int, x: list[int], known: dict[int, int], most: bool = False) -> int:
        """Of an atom at a point; with `most` a bound above, at a sum of points at most the sum of those at each."""
        if a not in known:
            _, row, affine, terms, _ = self.atoms[a]
            self.checker.spend(1 + len(terms) // 2, "atoms")
            if most or affine is row:
                read = dot(affine, x) + sum(c * self.value(b, x, known, most) for c, b in terms if c > 0 or not most)
                known[a] = max(0, read)
            elif dot(row, x) > 0:
                known[a] = dot(affine, x) + sum(c * self.value(b, x, known) for c, b in terms)
            else:
                known[a] = 0
        return known[a]

    def need_sign(self, form: Form, sign: int, cone: Any, where: str) -> None:
        """Shows that `sign` times the form is at least 0 on the cone: by its generators, or else by those of halves."""
        affine, terms, _ = self.whole(form)
        todo = [(cone, [sign * x for x in affine], {a: sign * c for c, a in terms})]
        for part, rest, factors in self.checker.each(todo, LIMIT, where, f"the sign is not shown with {LIMIT} regions"):
            rest, factors = self.fold(part, rest, dict(factors))
            worst, place = 0, list[int]()
            generators = part.generators()
            self.checker.spend(len(generators) * (3 + len(factors)), where)
            for g in generators:
                # A concave bound: an atom is at least 0, and at most `most`. At generators only its values count.
                known: dict[int, int] = {}
                low = dot(rest, g) + sum(c * self.value(a, g, known, True) for a, c in factors.items() if c < 0)
                worst, place = (low, g) if low < worst else (worst, place)
            if worst:
                at, above = dict[int, int](), dict[int, int]()
                lost = {a: c * self.value(a, place, at) for a, c in factors.items()}
                lost |= {a: lost[a] - c * self.value(a, place, above, True) for a, c in factors.items() if c < 0}
                wrong = "this has the wrong sign at " + self.checker.show(place)
                self.checker.need(worst + sum(lost.values()) >= 0, where, wrong, [place])
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
        plane = self.planes[abs(side) - 1]
        self.atoms.append(Atom(side, plane if side > 0 else minus(plane), affine, terms))
        return {self.n + len(self.atoms): Fraction(1, d)}

    def fold(self, part: Any, rest: list[int], factors: dict[int, int]) -> tuple[list[int], dict[int, int]]:
        """The same sum there; atoms that are Y, or 0, all over the cone are replaced by that."""
        kept, todo = {}, [-a for a in factors]  # the last atom first: others may come up that it reads
        heapq.heapify(todo)
        while todo:
            if c := factors.pop(a := -heapq.heappop(todo), 0):
                atom = self.atoms[a]
                side = part.side(atom.row)
                if side > 0:
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
        for factor, a, inside in self.checker.each(todo, 10**7, where, "there are too many products of indicators"):
            atom = self.atoms[a]
            if -atom.side not in inside:
                product = inside | {atom.side}  # the form has the term: factor times [product] times atom.affine
                for s in product:
                    slope = factor * atom.affine[next(i for i, x in enumerate(self.planes[abs(s) - 1]) if x)]
                    steps, others = jumps.setdefault(abs(s), {}), product - {s}
                    steps[others] = steps.get(others, 0) + (slope if s > 0 else -slope)
                todo += [(factor * c, b, product) for c, b in atom.terms]
        return {k: whole for k, jump in jumps.items() if (whole := self.whole_steps(jump))}

    def sides(self, places: list[list[int]]) -> Sides:
        """On which sides of all planes some places are; many pieces share a corner, at which values are found once."""
        above = below = 0
        for g in places:
            if tuple(g) not in self.signs:
                self.checker.spend(len(self.planes), "planes")
                values = [dot(row, g) for row in reversed(self.planes)]
                over, under = ("".join("1" if v * s > 0 else "0" for v in values) + "0" for s in (1, -1))
                self.signs[tuple(g)] = Sides(int(over, 2), int(under, 2))
            one = self.signs[tuple(g)]
            above, below = above | one.above, below | one.below
        return Sides(above, below)

    def whole_steps(self, jump: dict[frozenset[int], Fraction]) -> Steps:
        """A positive multiple of a step function, in integers without a common divisor; without terms that are 0."""
        numbers = self.checker.over_one(list(jump.values()))[0]
        divisor = math.gcd(*numbers) or 1
        return {product: c // divisor for product, c in zip(jump, numbers, strict=True) if c}

    def is_zero(self, steps: Steps, cone: Any, where: str) -> bool:
        """Whether a step function is 0 on the cone, but for its boundary and the planes."""
        todo = [(steps, cone)]
        for steps, part in self.checker.each(todo, LIMIT, where, f"the bends are not known with {LIMIT} regions"):
            names = {abs(s) for product in steps for s in product}
            self.checker.spend(2 * len(steps), where)
            left = local(steps, {k: part.side(self.planes[k - 1]) for k in names}.__getitem__)
            cuts = set().union(*left)
            if left and not cuts:
                return False
            if left:
                often = Counter(abs(s) for product in left for s in product)
                row = self.planes[max(often, key=lambda k: often[k]) - 1]
                todo += [(left, part.cut(r)) for r in (row, minus(row))]
        return True


def read_roles(roles: Any, layers: Any, limits: list[list[int]], circuit: Circuit) -> list[Form]:
    """The outputs as forms. What the proof says of the neurons above the first hidden layer is shown on the way."""
    checker, cones = circuit.checker, dict[tuple[int, ...], Any]()
    domain = cones[*range(len(limits)),] = checker.region(circuit.n, limits)
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
            value = sides if kind == "gate" else True
            if kind == "gate" and "along" in role:
                side, along = checker.read(role, {kind: value, "along": [checker.Rational]}, where)
                checker.need(side, where, "there is no plane 0")
                checker.need(len(along) in (0, circuit.n), where, "`along` is no vector")
                row = circuit.planes[abs(side) - 1] if side > 0 else minus(circuit.planes[abs(side) - 1])
                vector = [*checker.over_one(along)[0], 0] if along else []
                checker.need(gates.is_gate(circuit, form, row, vector, where), where, "this is not shown to be a gate")
                values.append(circuit.atom(row, form, False))
                continue
            side, within = checker.read(role, {kind: value, "within": [range(len(limits))]}, where)
            cone = cones[*within] = cones.get((*within,)) or checker.region(circuit.n, [limits[r] for r in within])
            checker.need(side, where, "there is no plane 0")
            if kind != "gate":
                circuit.need_sign(form, 1 if kind == "carry" else -1, cone, where)
                values.append(form if kind == "carry" else {})
                continue
            row = circuit.planes[abs(side) - 1] if side > 0 else minus(circuit.planes[abs(side) - 1])
            circuit.need_sign(form, 1, cone.cut(row), where)
            circuit.need_sign(form, -1, cone.cut(minus(row)), where)
            values.append(circuit.atom(row, form, False))
            circuit.atoms[-1] = circuit.atoms[-1]._replace(everywhere=False)
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
    for k in {abs(s) for product in steps for s in product}:
        values = [dot(planes[k - 1], g) for g in places]
        between = [own[i] * values[j] - own[j] * values[i] for i, j in pairs]
        found[k] = common_sign(between + [v for u, v in zip(own, values, strict=True) if u == 0])
    return found


def check_piece(piece: Any, cone: Any, circuit: Circuit, outputs: list[tuple[Any, Jumps]], j: int) -> None:
    """The network does not bend inside the piece, and it is the law at points that span it."""
    checker = circuit.checker
    places = cone.generators()
    sides = circuit.sides(places)
    cut = sides.cut()
    checker.spend(len(circuit.planes) // 20 + len(cut), f"piece {j}")
    base = next(g for g, _ in cone.rays if g[-1])
    points = [g if g[-1] else checker.mix(1, base, 1, g) for g in places]
    known = [circuit.known.setdefault(tuple(x), {}) for x in points]
    solid = not cut or cone.is_solid()
    checker.need(solid, f"piece {j}", "it has no interior, and a plane cuts it")
    for o, ((affine, terms, scale), bends) in enumerate(outputs):
        (law, d), where = piece.laws[o], f"output {o}, piece {j}"
        checker.spend(2 * len(points) + len(cut), where)
        for i, x in enumerate(points):
            if ~o not in known[i]:  # corners are shared by many pieces
                checker.spend(2 + len(terms) // 4, where)
                known[i][~o] = dot(affine, x) + sum(c * circuit.value(a, x, known[i]) for c, a in terms)
            value = known[i][~o]
            meant = law[i] * x[-1] if piece.corners else dot(law, x)
            if value * d != meant * scale:
                raise checker.Refused(f"{where}: network and function differ at {checker.show(x)}", [x])
        for plane in cut:
            left = local(bends.get(plane, {}), sides.of)
            if left:
                checker.spend(len(places) * len(left), where)
                left = local(left, on_section(plane, circuit.planes, places, left).__getitem__)
            if left:
                row = circuit.planes[plane - 1]
                zero = circuit.is_zero(left, cone.cut(row).cut(minus(row)), where)
                checker.need(zero, where, f"the network bends inside, on plane {plane - 1}")


def bends(checker: Any, law: Any, layers: Any, proof: Any) -> Fraction:
    """0, if the proof shows that the network is the function on every piece."""
    n, number = law.n, checker.Rational
    head = {"format": "cpwl-proof", "version": 1, "kind": "bends", "inputs": n, "error_bound": 0}
    body = {"planes": [[number, n + 1]], "limits": [[number, n + 1]], "roles": [[Any]]}
    *_, planes, limits, roles = checker.read(proof, head | body, "proof")
    checker.need(all(any(row[:-1]) for row in planes), "planes", "one has no slope")
    fits = [len(x) for x in roles] == [len(x) for x in layers[1:-1]]
    checker.need(fits, "roles", "there is not one for each neuron")
    checker.need(len(layers) < 100, "network", "too many layers")  # for the depth of recursion
    circuit = Circuit(checker, n, [checker.mix(1, row, 0, row) for row in (checker.over_one(v)[0] for v in planes)])
    rows = [checker.half_space(row)[0] for row in limits]
    forms = enumerate(read_roles(roles, layers, rows, circuit))
    outputs = [(circuit.whole(form), circuit.bends(form, f"output {o}")) for o, form in forms]
    for j, piece in checker.share(law.pieces):
        cone = checker.piece_cone(piece, n)
        inside = all(dot(row, g) >= 0 for row in rows for g in cone.generators())
        checker.need(inside, "limits", f"piece {j} is not inside")
        if any(g[-1] for g, _ in cone.rays):  # otherwise the piece is empty
            check_piece(piece, cone, circuit, outputs, j)
    return Fraction(0)


if __name__ == "__main__":
    sys.exit(runpy.run_path(str(Path(__file__).with_name("checker.py")))["main"](sys.argv[1:]))
