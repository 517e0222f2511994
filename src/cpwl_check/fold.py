"""Check a proof for a network around the network of a simpler function, kind "fold".

**Theorem.** Let N be a network with L hidden layers, q a function, and let y be affine in what the first layer gives,
h = relu(W x + c). If

(1) the neurons that the proof names, in the L layers after the first, compute what those of N do at y, no other neuron
    of these layers reads one of them, and the layer after them reads them as multiples of the outputs of N,
    `need_inside`
(2) N is equal to q on the pieces of q that are named, by a proof of its own and since each has an interior, `fold`,
    `Walk.piece`
(3) cells cover each piece of p, y maps each of them into one of the pieces of q that the proof names for the piece, and
    no other neuron, read with the law of that piece of q in place of N, has both signs on a cell, `Walk`
(4) at all corners of each cell, and along its rays, the outputs read in this way are those of the law of p, `Walk.end`

then the network is equal to p on every piece. For by (2) and (3) N gives the law of the piece of q at all points of a
cell, so that by (1) all other neurons and the outputs are affine on it, and by (4) the outputs are the law of p.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from cpwl_check.budget import Refused, long, need, spend
from cpwl_check.cones import Cone, dot, minus, piece_cone, rows_and_laws, show, split
from cpwl_check.pieces import Bound, Form, Forms, Law, Layers, over_one, plus, read_function, read_network
from cpwl_check.reading import Rational, read, read_proof

Affine = list[Fraction]  # coefficients, and the constant


def fold(law: Law, layers: Layers, proof: Any, decide: Callable[[Law, Layers, Any], Bound]) -> Fraction:
    """The proven bound, which is 0: the network inside has a proof of its own, and cells show the rest."""
    n, widths = law.n, [len(layer) for layer in layers[:-1]]
    need(widths, "proof", "the network has no hidden layer")
    shape = {
        "place": [[Rational, widths[0] + 1]],
        "neurons": [[Any]],
        "reads": [[Any]],
        "network": Any,
        "function": Any,
        "at": [[Any], len(law.pieces)],
        "proof": {str: Any},
    }
    _, place, neurons, reads, network, function, at, inner = read_proof(proof, "fold", n, 0, shape)
    own = read_function(function)
    within = read_network(network, own.n, own.outputs)
    need(own.n == len(place) and len(within) == len(neurons) + 1 < len(layers), "proof", "its layers do not fit")
    reads = [read(row, [Rational, own.outputs], "proof.reads") for row in reads]
    rest = need_inside(layers, within, place, neurons, reads)
    try:
        bound = decide(own, within, inner)
    except Refused as reason:  # its places are those of the function inside
        raise Refused(f"the function inside: {reason}") from None
    need(bound == 0, "proof.proof", "the network inside must be equal to its function")
    walk = Walk(rest, len(within), reads, [dict(enumerate(row)) for row in place], own)
    for j, piece in enumerate(law.pieces):
        near = read(at[j], [range(len(own.pieces))], f"at, piece {j}")
        cone = piece_cone(piece, n)
        if any(g[-1] for g, _ in cone.rays):  # it is not empty
            walk.check(cone, near, [over(f, d) for f, d in rows_and_laws(piece)[1]], f"piece {j}")
    return Fraction(0)


def over(numbers: list[int], d: int) -> Affine:
    return [Fraction(v, d) for v in numbers]


def need_inside(
    layers: Layers, within: Layers, place: list[list[Rational]], neurons: list[list[Any]], reads: list[list[Rational]]
) -> Layers:
    """What is left of each layer when the network inside is taken off: its rows are the empty form."""
    rest: Layers = [layers[0]]
    before: list[int] = []
    for l, (layer, width) in enumerate(zip(layers[1:], map(len, layers), strict=False), start=1):
        where, last = f"layer {l}", l == len(within)
        if l > len(within):
            rest.append(layer)
            continue
        spend(sum(4 + len(form) for form in layer), where)
        inside = expanded(within[l - 1], place, before, width, l == 1)
        if last:
            need(len(reads) == len(layer), "proof.reads", "there must be a row for each neuron of its layer")
            left = []
            for form, row in zip(layer, reads, strict=True):
                for factor, read_inside in zip(row, inside, strict=True):
                    spend(len(read_inside) + sum(map(long, read_inside.values())), where)
                    form = plus(form, -factor, read_inside)
                left.append(form)
            mine = set(before)
        else:
            chosen = read(neurons[l - 1], [range(len(layer)), len(inside)], "proof.neurons")
            need(len(set(chosen)) == len(chosen), "proof.neurons", f"a neuron of layer {l} is named twice")
            for i, form in zip(chosen, inside, strict=True):
                need(layer[i] == form, f"{where}, neuron {i}", "it is not that of the network inside")
            left = [{} if i in set(chosen) else form for i, form in enumerate(layer)]
            mine, before = set(before), [int(i) for i in chosen]
        for i, form in enumerate(left):
            need(not mine & form.keys(), f"{where}, neuron {i}", "it reads the network inside")
        rest.append(left)
    return rest


def expanded(forms: Forms, place: list[list[Rational]], before: list[int], width: int, is_first: bool) -> Forms:
    """What the neurons of a layer inside read in the whole network: the first ones read y, the others each other."""
    made = []
    for form in forms:
        if not is_first:
            made.append({before[j] if j < len(before) else width: w for j, w in form.items()})
            continue
        total: Form = {width: form[len(place)]} if len(place) in form else {}
        for r, row in enumerate(place):
            if r in form:
                spend(len(row) + sum(map(long, row)), "place")
                total = plus(total, form[r], {j: v for j, v in enumerate(row) if v})
        made.append(total)
    return made


class Walk:
    """Cells on which the network is affine, piece after piece: each part of a cell that is cut is gone through."""

    def __init__(self, rest: Layers, inside: int, reads: list[list[Rational]], place: Forms, own: Law) -> None:
        self.rest, self.inside, self.reads, self.place, self.own = rest, inside, reads, place, own
        self.known: dict[int, tuple[list[list[int]], list[Affine]]] = {}

    def piece(self, k: int) -> tuple[list[list[int]], list[Affine]]:
        """The rows and laws of a piece of the function inside."""
        if k not in self.known:
            solid = piece_cone(self.own.pieces[k], self.own.n).is_solid()
            need(solid, f"the function inside, piece {k}", "it has no interior, where its law would count")
            rows, laws = rows_and_laws(self.own.pieces[k])
            self.known[k] = rows, [over(f, d) for f, d in laws]
        return self.known[k]

    def check(self, cone: Cone, near: list[int], laws: list[Affine], where: str) -> None:
        """Hypotheses (3) and (4) for a piece, with the pieces of q that are named for it."""
        n = len(laws[0]) - 1
        start = [[Fraction(int(i == j)) for j in range(n + 1)] for i in range(n)]
        cells = []
        for part, h in self.signs(cone, self.read(self.rest[0], start), where):
            y = self.read(self.place, h)
            for small, k in self.located(part, y, near, where):
                q = self.read([dict(enumerate(law)) for law in self.piece(k)[1]], y)
                cells.append((small, 1, h, q))
        while cells:
            part, l, values, q = cells.pop()
            forms = self.read(self.rest[l], values)
            if l == self.inside:
                given = self.read([dict(enumerate([*row, 0])) for row in self.reads], q)
                forms = [[u + v for u, v in zip(f, g, strict=True)] for f, g in zip(forms, given, strict=True)]
            if l < len(self.rest) - 1:
                cells += [(small, l + 1, after, q) for small, after in self.signs(part, forms, where)]
            else:
                self.end(part, forms, laws, where)

    def read(self, forms: Forms, values: list[Affine]) -> list[Affine]:
        """Affine functions of affine functions."""
        made = []
        for form in forms:
            total = [Fraction(0)] * len(values[0])
            for j, w in form.items():
                if w and j < len(values):
                    spend(2 + len(total) * (1 + long(w)) // 2 + sum(map(long, values[j])), "cells")
                    total = [u + w * v for u, v in zip(total, values[j], strict=True)]
            total[-1] += form.get(len(values), 0)
            made.append(total)
        return made

    def signs(self, cone: Cone, forms: list[Affine], where: str) -> Iterator[tuple[Cone, list[Affine]]]:
        """Parts on which none of the forms has both signs, and the positive part of each form there."""
        cells: list[tuple[Cone, list[Affine]]] = [(cone, [])]
        for form in forms:
            row, nothing, after = over_one(form)[0], [Fraction(0)] * len(form), []
            for part, done in cells:
                side = part.side(row) if any(row) else 1
                if side >= 0:
                    after.append((part.cut(row) if side == 0 else part, [*done, form]))
                if side <= 0:
                    after.append((part.cut(minus(row)) if side == 0 else part, [*done, nothing]))
                spend(2 + len(done) // 4, where)
            cells = after
        yield from cells

    def located(self, cone: Cone, y: list[Affine], near: list[int], where: str) -> Iterator[tuple[Cone, int]]:
        """Parts that y maps into one of the pieces that are named, with the number of that piece."""
        left = [cone]
        for k in near:
            rows = [over_one(form)[0] for form in self.read([dict(enumerate(row)) for row in self.piece(k)[0]], y)]
            parts, left = left, []
            for part in parts:
                inside, rest = split(part, rows)
                left += rest
                if inside is not None:
                    yield inside, k
        if left:
            raise Refused(f"{where}: a part is in none of the pieces that are named for it", left[0].generators()[:1])

    def end(self, part: Cone, outputs: list[Affine], laws: list[Affine], where: str) -> None:
        for o, (found, meant) in enumerate(zip(outputs, laws, strict=True)):
            if found == meant:
                continue
            apart = over_one([u - v for u, v in zip(found, meant, strict=True)])[0]
            for x in part.generators():
                part.pay(1, apart)
                if dot(apart, x):
                    raise Refused(f"output {o}, {where}: the network is not the law at {show(x)}", [x])
