"""Check a proof for maxima and minima in any nesting, kind "expression".

**Theorem.** Let the expression of an output be made of components f_m by maxima and minima. If

(1) every piece lies in the box, if there is one, `pieces.need_inside`
(2) every output of the network has the same form in inputs and atoms (ReLUs of forms) as its expression, where the ReLU
    of a form is replaced by the form or by 0 only if that has a sign in the box, `trace`, `Circuit.relu`, `expression`
(3) *below*: on each region of a tree the components that are named are at most the law + e, and the expression is
    false if these are false and no others, `Claim.settle`, `Claim.at_corners`, `unsettled`
(4) *reach*: on each region of a tree the components that are named are at least the law - e, and the expression is
    true if these are true and no others, `Claim.settle`, `Claim.at_corners`, `unsettled`
(5) the stated bound is at least e, `expression`

then ``|network - p|`` is at most the stated bound on every piece. Why this is a proof is in docs/proof.md.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from cpwl_check.budget import long, longest, need, spend, work
from cpwl_check.cones import dot, piece_cone
from cpwl_check.pieces import Form, Law, Layers, Piece, Short, Vector, need_inside, over_one, plus
from cpwl_check.reading import Rational, read, read_proof

Interval = tuple[Rational, Rational]


class Value(NamedTuple):
    """A component, or a maximum or minimum of two values before it: its form, and bounds of it in the box."""

    kind: str
    parts: list[int]
    form: Form
    bounds: Interval


class Circuit:
    """All forms are in inputs and *atoms*, ReLUs of forms: factors of inputs 0 .. n - 1, of 1 (number n), and of atoms
    (from n + 1 on). Atoms of proportional and of opposite forms are one."""

    def __init__(self, n: int, box: list[Interval] | None) -> None:
        self.n, self.box = n, box
        self.atoms: dict[tuple[tuple[int, Rational], ...], int] = {}
        nothing = {frozenset[tuple[int, Rational]](): [Value("", [], {}, (0, 0))]}
        self.known = nothing if box is not None else {}  # values by the atoms in their forms
        self.having: dict[int, list[Value]] = {}  # and by each single one of these

    def affine_range(self, form: Form) -> Interval:
        """Bounds of the part of a form that has no atoms, in the box."""
        low = high = form.get(self.n, 0)
        for i, x in form.items():
            if i < self.n:
                assert self.box is not None
                a, b = sorted(x * end for end in self.box[i])
                low, high = low + a, high + b
        return low, high

    def sign(self, form: Form) -> int:
        """1 or -1 if a form is at least or at most 0, its atoms and the rest in the box; 0 if that is not seen."""
        if self.box is None and any(i < self.n for i in form):
            return 0
        low, high = self.affine_range(form)
        factors = [x for i, x in form.items() if i > self.n]
        if low >= 0 and min(factors, default=0) >= 0:
            return 1
        return -1 if high <= 0 and max(factors, default=0) <= 0 else 0

    def lower_bounds(self, form: Form) -> Iterator[Rational]:
        """Of a form that is a difference of two values plus something affine, in the box.

        One of the two has any atom of the form; so only values with the rarest one are looked at."""
        few = min((self.having.get(i, []) for i in form if i > self.n), key=len, default=[])
        for value in few:
            spend(2 + len(form) + len(value.form), "network")
            for two in self.known.get(self.name(plus(value.form, -1, form)), []):
                yield self.lower_bound(form, value, two)
            for one in self.known.get(self.name(plus(value.form, 1, form)), []):
                yield self.lower_bound(form, one, value)

    def lower_bound(self, form: Form, one: Value, two: Value) -> Rational:
        """Of the form, which is `one` less `two` plus something affine."""
        spend(2 * (len(form) + len(one.form) + len(two.form)), "network")
        low, _ = self.affine_range(plus(plus(form, -1, one.form), 1, two.form))
        return low + one.bounds[0] - two.bounds[1]

    def relu(self, form: Form, weights: Form | None = None) -> Form:
        """The ReLU of a form, as a form; with the weights with which a neuron above the first layer reads it."""
        sign = self.sign(form)
        if sign:
            return form if sign > 0 else {}
        lead = Fraction(form[min(i for i in form if i != self.n)])
        spend(2 * len(form) + sum(map(long, form.values())), "network")
        name = tuple((i, form[i] / lead) for i in sorted(form))
        if name not in self.atoms and weights is not None:
            if max(weights.values()) <= 0:  # neurons are at least 0
                return {}
            if min(weights.values()) >= 0 or any(low >= 0 for low in self.lower_bounds(form)):
                return form
            if any(low >= 0 for low in self.lower_bounds(plus({}, -1, form))):
                return {}
        atom: Form = {self.n + 1 + self.atoms.setdefault(name, len(self.atoms)): abs(lead)}
        return atom if lead > 0 else plus(form, 1, atom)  # s(-z) = s(z) - z

    def value(self, kind: str, parts: list[int], before: list[Value]) -> Value:
        u, v = (before[k] for k in parts)
        s, pick = (1, max) if kind == "max" else (-1, min)
        spend(2 + len(u.form) + len(v.form), "values")
        form = plus(u.form, s, self.relu(plus(plus({}, s, v.form), -s, u.form)))
        made = Value(kind, parts, form, (pick(u.bounds[0], v.bounds[0]), pick(u.bounds[1], v.bounds[1])))
        if self.box is not None:
            self.known.setdefault(self.name(form), []).append(made)
            for i in form:
                if i > self.n:
                    self.having.setdefault(i, []).append(made)
        return made

    def name(self, form: Form) -> frozenset[tuple[int, Rational]]:
        """The atoms of a form."""
        return frozenset((i, x) for i, x in form.items() if i > self.n)


def read_values(components: list[list[Rational]], listed: list[Any], circuit: Circuit) -> list[Value]:
    """The components, then each maximum and minimum of two values before it."""
    values = []
    for law in components:
        form = {i: x for i, x in enumerate(law) if x}
        values.append(Value("", [], form, circuit.affine_range(form) if circuit.box is not None else (0, 0)))
    for k, entry in enumerate(listed):
        where = f"value {k}"
        need(type(entry) is list and len(entry) == 3 and entry[0] in ("max", "min"), where, "this operation is unknown")
        parts = read(entry[1:], [range(len(values)), 2], where)
        values.append(circuit.value(entry[0], parts, values))
    return values


def total(weights: Form, neurons: list[Form]) -> Form:
    """What a neuron reads."""
    result: Form = {}
    for j, x in weights.items():
        for i, y in neurons[j].items():
            result[i] = result.get(i, 0) + x * y
    return {i: x for i, x in result.items() if x}


def trace(layers: Layers, circuit: Circuit) -> list[Form]:
    """The outputs of the network as forms, from the weights alone."""
    n = circuit.n
    neurons: list[Form] = [{i: 1} for i in range(n)]
    for l, layer in enumerate(layers):
        neurons = [*neurons, {n: 1}]  # the weight after the last is the bias
        spend(sum(1 + len(neurons[j]) for weights in layer for j in weights), f"layer {l}")
        reads = [total(weights, neurons) for weights in layer]
        if l < len(layers) - 1:
            reads = [circuit.relu(form, weights if l else None) for form, weights in zip(reads, layer, strict=True)]
        neurons = reads
    return neurons


def unsettled(values: list[Value], leaves: list[set[int]], side: int, output: int) -> int | None:
    """Side 1: a leaf whose components do not make the expression true, if they are true and no others (a maximum is
    "or"); side -1: one whose components do not make it false, if they are false and no others. None if there is none.
    One bit of an integer for each leaf, so that all of them are looked at together."""
    every = (1 << len(leaves)) - 1
    named = [0] * len(values)
    for k, members in enumerate(leaves):
        for m in members:
            named[m] |= 1 << k
    truth: list[int] = []
    for k, (kind, parts, _, _) in enumerate(values[: output + 1]):
        if not parts:
            truth.append(named[k] if side > 0 else every ^ named[k])
        elif kind == "max":
            truth.append(truth[parts[0]] | truth[parts[1]])
        else:
            truth.append(truth[parts[0]] & truth[parts[1]])
    wrong = truth[output] ^ every if side > 0 else truth[output]
    return (wrong & -wrong).bit_length() - 1 if wrong else None


class Claim(NamedTuple):
    """That output `o` of the function is at most (side -1) or at least (side 1) its expression, up to an error."""

    components: dict[str, tuple[int, Vector]]  # by name: its number, and its coefficients over one denominator
    values: list[Value]
    output: int  # the number of the value
    o: int
    side: int
    laws: list[Vector]  # the same, by number
    bits: int  # of the longest coefficient
    lowest: dict[tuple[int, ...], dict[tuple[int, ...], tuple[int, int]]]  # of some of them at places, see `least`

    def settle_all(self, pieces: list[Piece], trees: list[Any], where: str) -> Short:
        """The least error for which the trees, one a piece, prove it."""
        leaves: list[tuple[str, set[int]]] = []
        e = (Fraction(0), where)
        for j, (piece, tree) in enumerate(zip(pieces, trees, strict=True)):
            e = max(e, self.settle(piece, tree, f"{where}, piece {j}", leaves))
        named = sum(len(members) for _, members in leaves)
        spend((len(self.values) + named) * (1 + len(leaves) // 64), where)
        wrong = unsettled(self.values, [members for _, members in leaves], self.side, self.output)
        place = where if wrong is None else leaves[wrong][0]
        need(wrong is None, place, "these members do not settle the expression")
        return e

    def settle(self, piece: Piece, tree: Any, where: str, leaves: list[tuple[str, set[int]]]) -> Short:
        """The least error for which the tree proves it on a piece: cut into regions, on each of which some components
        are on that side of the law. These are added to the leaves: the whole expression must be so with them."""
        law, e, todo = piece.laws[self.o], (Fraction(0), where), [(tree, piece)]
        for node, region in todo:
            if (parts := region.cut(node, len(law[0]) - 1, where)) is not None:
                todo += parts
                continue
            if type(node) is dict and "corners" in node:
                (numbers,) = read(node, {"corners": [range(len(self.components))]}, where)
                leaves.append((where, set(numbers)))
                e = max(e, self.at_corners(region, numbers, where))
                continue
            (members,) = read(node, {"members": {str: Any}}, where)
            need(members.keys() <= self.components.keys(), where, "this component does not exist")
            leaves.append((where, {self.components[m][0] for m in members}))
            for m, entry in members.items():
                f = piece.vector(self.components[m][1])
                e = max(e, region.shortfall(entry, [(self.side, f), (-self.side, law)], f"{where}, member {m}"))
        return e

    def at_corners(self, region: Piece, members: list[int], where: str) -> Short:
        """The least error for which components are on that side of the law on a region: what is affine is at least 0
        there if it is so at all corners, along all rays, and along lines in either direction."""
        need(not region.corners, where, "corners decide for a simplex in any case")
        (law, d), worst = region.laws[self.o], Fraction(0)
        if all(self.laws[m] == (law, d) for m in members):
            return worst, where  # the law itself: there is nothing to compare
        places = piece_cone(region, len(law) - 1).generators()
        if not any(g[-1] for g in places):
            return worst, where  # no point is in it
        known = self.lowest.setdefault(tuple(members), {})
        for g in places if members else []:
            place = tuple(g)
            if place not in known:
                known[place] = self.least(g, members, where)
            value, c = known[place]
            short = self.side * dot(law, g) * c - value * d
            if short > 0:
                need(g[-1], where, "a member falls short along a ray")
                worst = max(worst, Fraction(short, c * d * g[-1]))
        return worst, where

    def least(self, g: list[int], members: list[int], where: str) -> tuple[int, int]:
        """The least of some components, on that side, at a place: a numerator and a denominator."""
        rows = [self.laws[m] for m in members]
        spend(len(rows) * (1 + work(len(g), self.bits, longest([g]))), where)
        best, one = self.side * dot(rows[0][0], g), rows[0][1]
        for f, c in rows:
            value = self.side * dot(f, g)
            if value * one < best * c:
                best, one = value, c
        return best, one


def expression(law: Law, layers: Layers, proof: Any) -> Fraction:
    """The proven bound of ``|network - function|``."""
    n, outputs, pieces = law.n, law.outputs, law.pieces
    body = {"components": [[Rational, n + 1]], "values": [Any], "output": [Any, outputs], "box": Any}
    trees = {"below": [[Any, len(pieces)], outputs], "reach": [[Any, len(pieces)], outputs]}
    shape = body | trees
    stated, components, listed, output, box, below, reach = read_proof(proof, "expression", n, Rational, shape)
    circuit = Circuit(n, need_inside(box, n, pieces))
    values = read_values(components, listed, circuit)
    meant = read(output, [range(len(values))], "output")
    for o, form in enumerate(trace(layers, circuit)):
        same = not plus(form, -1, values[meant[o]].form)
        need(same, f"output {o}", "the network does not compute this expression")
    laws = [over_one(law) for law in components]
    named, bits = {str(m): (m, f) for m, f in enumerate(laws)}, longest(f for f, _ in laws)
    e = (Fraction(0), "")
    for o, (k, *sides) in enumerate(zip(meant, below, reach, strict=True)):
        for side, kind, trees in ((-1, "below", sides[0]), (1, "reach", sides[1])):
            claim = Claim(named, values, k, o, side, laws, bits, {})
            e = max(e, claim.settle_all(pieces, trees, f"output {o}, {kind}"))
    need(e[0] <= stated < 10**300, e[1], "this falls short by more than error_bound")
    return Fraction(stated)
