"""Check a proof for a network around the network of a simpler function, kind "fold".

**Theorem.** Let N be a network with L hidden layers, q a function, and let y be affine in what the first layer gives,
h = relu(W x + c). If

(1) the neurons that the proof names, in the L layers after the first, compute what those of N do at y, no other neuron
    of these layers reads one of them, and the layer after them reads them as multiples of the outputs of N,
    `need_inside`
(2) N is equal to q on the pieces of q that are named, by a proof of its own and since each has an interior, `fold`,
    `Walk.piece`
(3) cells cover each patch that the proof states, and each piece of p but for the patches that have its law; y maps each
    cell into one of the pieces of q that the proof names there, and no other neuron, read with the law of that piece in
    place of N, has both signs on the cell, `Walk`
(4) at all corners of each cell, and along its rays, the outputs read in this way are those of the law, `Walk.end`

then the network is equal to p on every piece. For by (2) and (3) N gives the law of the piece of q at all points of a
cell, so that by (1) all other neurons and the outputs are affine on it, and by (4) the outputs are the law of the patch
or piece. A patch is any polyhedron: where many pieces have one law, it is compared once.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from operator import mul
from typing import Any

from cpwl_check.budget import Refused, long, longest, need, spend, work
from cpwl_check.cones import Cone, dot, minus, outside, piece_cone, region, rows_and_laws, show, split
from cpwl_check.pieces import (
    Bound,
    Form,
    Forms,
    Law,
    Layers,
    Vector,
    common,
    half_space,
    plus,
    read_function,
    read_network,
)
from cpwl_check.reading import Rational, read, read_proof


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
        "patches": [Any],
        "at": [[Any], len(law.pieces)],
        "proof": {str: Any},
    }
    _, place, neurons, reads, network, function, stated, at, inner = read_proof(proof, "fold", n, 0, shape)
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
    walk = Walk(rest, len(within), reads, place, own)
    patches: list[tuple[list[list[int]], list[Vector]]] = []
    for i, patch in enumerate(stated):
        where = f"patch {i}"
        shape = {"A": [[Rational, n]], "b": [Rational], "piece": range(len(law.pieces)), "at": [range(len(own.pieces))]}
        A, b, j, near = read(patch, shape, where)
        need(len(A) == len(b), where, f"A has {len(A)} rows and b has {len(b)}")
        patches.append(([half_space([*a, c])[0] for a, c in zip(A, b, strict=True)], rows_and_laws(law.pieces[j])[1]))
        walk.check(region(n, patches[-1][0]), near, patches[-1][1], where)
    for j, piece in enumerate(law.pieces):
        where, laws = f"piece {j}", rows_and_laws(piece)[1]
        near = read(at[j], [range(len(own.pieces))], f"at, {where}")
        for part in outside(piece_cone(piece, n), [rows for rows, same in patches if same == laws]):
            walk.check(part, near, laws, where)
    return Fraction(0)


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
    """Cells on which the network is affine, piece after piece: each part of a cell that is cut is gone through.

    An affine function of x is its coefficients and its constant, integers over one denominator.
    """

    def __init__(
        self, rest: Layers, inside: int, reads: list[list[Rational]], place: list[list[Rational]], own: Law
    ) -> None:
        self.rest, self.inside, self.own = rest, inside, own
        self.reads: Forms = [dict(enumerate(row)) for row in reads]
        self.place: Forms = [dict(enumerate(row)) for row in place]
        self.known: dict[int, tuple[list[list[int]], list[Vector]]] = {}

    def piece(self, k: int) -> tuple[list[list[int]], list[Vector]]:
        """The rows and laws of a piece of the function inside."""
        if k not in self.known:
            solid = piece_cone(self.own.pieces[k], self.own.n).is_solid()
            need(solid, f"the function inside, piece {k}", "it has no interior, where its law would count")
            self.known[k] = rows_and_laws(self.own.pieces[k])
        return self.known[k]

    def check(self, cone: Cone, near: list[int], laws: list[Vector], where: str) -> None:
        """Hypotheses (3) and (4) for a region, with the pieces of q that are named for it, if it has a point."""
        if not any(g[-1] for g, _ in cone.rays):
            return
        cells = []
        for part, h in self.begun(cone, where):
            y = self.read(self.place, h)
            for small, k in self.located(part, y, near, where):
                q = self.read([dict(enumerate([Fraction(v, d) for v in f])) for f, d in self.piece(k)[1]], y)
                cells.append((small, 1, h, q))
        while cells:
            part, l, values, q = cells.pop()
            read_here = self.rest[l]
            if l == self.inside:  # the outputs of N come after the values and 1
                read_here = [
                    form | {len(values) + 1 + i: w for i, w in row.items()}
                    for form, row in zip(read_here, self.reads, strict=True)
                ]
            forms = self.read(read_here, values, q)
            if l < len(self.rest) - 1:
                cells += [(small, l + 1, after, q) for small, after in self.signs(part, forms, where)]
            else:
                self.end(part, forms, laws, where)

    def begun(self, cone: Cone, where: str) -> Iterator[tuple[Cone, list[Vector]]]:
        """Parts on which no neuron of the first layer has both signs, with what these neurons are there."""
        n = len(cone.rays[0][0]) - 1
        start: list[Vector] = [([int(i == j) for j in range(n + 1)], 1) for i in range(n)]
        return self.signs(cone, self.read(self.rest[0], start), where)

    def read(self, forms: Forms, values: list[Vector], more: list[Vector] | None = None) -> list[Vector]:
        """Affine functions of affine functions, of 1, and of some more."""
        width = len(values[0][0])
        known = [*values, ([0] * (width - 1) + [1], 1), *(more or [])]
        made = []
        for form in forms:
            terms = [(w.numerator, w.denominator * known[j][1], known[j][0]) for j, w in form.items() if w]
            d = common(e for _, e, _ in terms)
            scaled = [v * (d // e) for v, e, _ in terms]
            columns = list(zip(*(f for _, _, f in terms), strict=True)) or [()] * width
            total = [sum(map(mul, scaled, column)) for column in columns]
            spend(2 + len(terms) * (width + work(width, longest([scaled]), longest([total]))) // 4, "cells")
            divisor = math.gcd(d, *total)
            made.append(([v // divisor for v in total], d // divisor))
        return made

    def signs(self, cone: Cone, forms: list[Vector], where: str) -> Iterator[tuple[Cone, list[Vector]]]:
        """Parts on which none of the forms has both signs, and the positive part of each form there."""
        cells: list[tuple[Cone, list[Vector]]] = [(cone, [])]
        for form in forms:
            row, after = form[0], list[tuple[Cone, list[Vector]]]()
            for part, done in cells:
                side = part.side(row) if any(row) else 1
                if side >= 0:
                    after.append((part.cut(row) if side == 0 else part, [*done, form]))
                if side <= 0:
                    after.append((part.cut(minus(row)) if side == 0 else part, [*done, ([0] * len(row), 1)]))
                spend(2 + len(done) // 4, where)
            cells = after
        yield from cells

    def seen(self, k: int, y: list[Vector]) -> list[list[int]]:
        """The rows of a piece of the function inside at y, up to positive factors."""
        return [row for row, _ in self.read([dict(enumerate(row)) for row in self.piece(k)[0]], y)]

    def located(self, cone: Cone, y: list[Vector], near: list[int], where: str) -> Iterator[tuple[Cone, int]]:
        """Parts that y maps into one of the pieces that are named, with the number of that piece."""
        left = [cone]
        for k in near:
            if not left:
                return
            rows = self.seen(k, y)
            parts, left = left, []
            for part in parts:
                inside, rest = split(part, rows)
                left += rest
                if inside is not None:
                    yield inside, k
        if left:
            raise Refused(f"{where}: a part is in none of the pieces that are named for it", left[0].generators()[:1])

    def end(self, part: Cone, outputs: list[Vector], laws: list[Vector], where: str) -> None:
        for o, ((found, d), (meant, e)) in enumerate(zip(outputs, laws, strict=True)):
            if (found, d) == (meant, e):
                continue
            apart = [u * e - v * d for u, v in zip(found, meant, strict=True)]
            for x in part.generators():
                part.pay(1, apart)
                if dot(apart, x):
                    raise Refused(f"output {o}, {where}: the network is not the law at {show(x)}", [x])
