"""Check a proof for a network on a line, kind "line".

**Theorem.** A walk along ``t = a . x`` knows for every neuron which affine function it reads between neighbouring
places, and so where it crosses 0 next, `Walk`. If

(1) the direction a is not 0, `line`
(2) every neuron reads a multiple of a . x plus a constant, but for pairs that read r and -r and are read with opposite
    weights, `Walk.along`, `Walk.pairs`
(3) on every stretch of t that a piece meets the network has the law of the piece at its generators, `check_piece`

then the network is the function on every piece.
Why this is a proof is in docs/proof.md.
"""

import heapq
from bisect import bisect_left, bisect_right
from fractions import Fraction
from typing import Any

from cpwl_check.budget import Refused, long, need, spend
from cpwl_check.cones import region
from cpwl_check.pieces import Form, Law, Layers, Piece, over_one
from cpwl_check.reading import Rational, read_proof

Affine = list[Fraction]  # an affine function of x: its slopes, and its value at 0


class Walk:
    """All neurons on the way along the line of ``t = a . x``: between two places each is affine, and on or off.

    `places` are those where an output may bend, `outputs` has the outputs' forms before, between and after them."""

    def __init__(self, a: list[Fraction], layers: Layers) -> None:
        self.a, self.n = a, len(a)
        self.at = next(i for i, v in enumerate(a) if v)  # a coordinate in which t changes
        self.layers = layers
        self.forms: list[list[Affine]] = []
        self.gives: list[list[Affine]] = []  # what a neuron reads where it is on, else nothing
        self.nothing = [Fraction(0)] * (self.n + 1)
        self.readers: list[list[list[tuple[int, Fraction]]]] = []
        self.fixed: list[dict[int, bool]] = []
        self.heap: list[tuple[Fraction, int, int]] = []
        self.places: list[Fraction] = []
        self.start()
        self.outputs: list[list[Affine]] = [[list(f) for f in self.forms[-1]]]
        self.go()

    def start(self) -> None:
        """Everything at the far left."""
        inputs = [[Fraction(i == j) for j in range(self.n + 1)] for i in range(self.n)]
        before = inputs
        for l, neurons in enumerate(self.layers):
            width = len(before)
            forms = []
            for weights in neurons:
                form = [Fraction(0)] * self.n + [Fraction(weights.get(width, 0))]
                spend(10 * (1 + self.n), "network")
                for j, w in weights.items():
                    spend(2 * (1 + self.n) * (1 + long(w) + long(form[-1])), "network")
                    if j < width:
                        form = [u + w * v for u, v in zip(form, before[j], strict=True)]
                forms.append(form)
            self.forms.append(forms)
            if l + 1 < len(self.layers):
                self.fixed.append(self.pairs(l))
                readers: list[list[tuple[int, Fraction]]] = [[] for _ in neurons]
                for k, weights in enumerate(self.layers[l + 1]):
                    for j, w in weights.items():
                        if j < len(neurons):
                            readers[j].append((k, Fraction(w)))
                self.readers.append(readers)
                signs = [self.sign_after(l, k, None) for k in range(len(neurons))]
                self.gives.append([f if on else self.nothing for f, on in zip(forms, signs, strict=True)])
                for k in range(len(neurons)):
                    self.plan(l, k, None)
                before = self.gives[l]

    def pairs(self, l: int) -> dict[int, bool]:
        """Neurons that read r and -r and are read with opposite weights everywhere: relu(r) - relu(-r) = r, so one may
        be taken to be always on and the other always off. For rows along `a` there is no need for it."""
        neurons, after = self.layers[l], self.layers[l + 1]
        columns: list[Form] = [{} for _ in neurons]
        for k, weights in enumerate(after):
            for j, w in weights.items():
                if j < len(neurons):
                    columns[j][k] = w
        fixed: dict[int, bool] = {}
        if self.n == 1:
            return fixed
        waiting: dict[Any, int] = {}
        for j, row in enumerate(neurons):
            mine = (frozenset(row.items()), frozenset(columns[j].items()))
            if mine in waiting:
                fixed[waiting.pop(mine)], fixed[j] = True, False
            else:
                waiting[tuple(frozenset((i, -v) for i, v in part.items()) for part in (row, columns[j]))] = j
        return fixed

    def along(self, l: int, k: int) -> tuple[Fraction, Fraction]:
        """What a neuron reads as ``alpha t + beta``."""
        *slopes, beta = self.forms[l][k]
        alpha = slopes[self.at] / self.a[self.at]
        good = self.n == 1 or all(s == alpha * v for s, v in zip(slopes, self.a, strict=True))
        need(good, f"layer {l}, neuron {k}", "it does not read a function of the direction alone")
        return alpha, beta

    def sign_after(self, l: int, k: int, t: Fraction | None) -> bool:
        """Whether a neuron is positive just after `t`; at the far left for None."""
        if k in self.fixed[l]:
            return self.fixed[l][k]
        alpha, beta = self.along(l, k)
        if t is None:
            return alpha < 0 or (alpha == 0 and beta > 0)
        value = alpha * t + beta
        return value > 0 or (value == 0 and alpha > 0)

    def plan(self, l: int, k: int, t: Fraction | None) -> None:
        """The next place where a neuron crosses 0, if there is one after `t`."""
        if k not in self.fixed[l]:
            alpha, beta = self.along(l, k)
            if alpha and (t is None or -beta / alpha > t):
                heapq.heappush(self.heap, (-beta / alpha, l, k))

    def go(self) -> None:
        """From place to place: neurons that cross 0 turn, layer by layer, and what reads them changes."""
        while self.heap:
            t = self.heap[0][0]
            touched: list[set[int]] = [set() for _ in self.layers]
            while self.heap and self.heap[0][0] == t:
                _, l, k = heapq.heappop(self.heap)
                touched[l].add(k)
            spend((20 + self.n) * (1 + t.denominator.bit_length() // 1000), "network")
            for l in range(len(self.gives)):
                for k in touched[l]:
                    self.turn(l, k, t, touched[l + 1])
            if touched[-1]:
                spend(4 * (1 + self.n) * len(self.forms[-1]), "network")
                self.places.append(t)
                self.outputs.append([list(f) for f in self.forms[-1]])

    def turn(self, l: int, k: int, t: Fraction, touched: set[int]) -> None:
        """A neuron crosses 0, or reads something else than before: so do those that read it, if it is or was on."""
        was = self.gives[l][k]
        self.gives[l][k] = now = self.forms[l][k] if self.sign_after(l, k, t) else self.nothing
        self.plan(l, k, t)
        step = [u - v for u, v in zip(now, was, strict=True)]
        spend((10 + sum(map(long, (*step, t))) + self.n * 10) * (1 + len(self.readers[l][k])), "network")
        if any(step):
            for reader, w in self.readers[l][k]:
                form = self.forms[l + 1][reader]
                self.forms[l + 1][reader] = [u + w * v for u, v in zip(form, step, strict=True)]
                touched.add(reader)


def line(law: Law, layers: Layers, proof: Any) -> Fraction:
    """0, if the network is the function on every piece; or `Refused`."""
    n = law.n
    _, direction = read_proof(proof, "line", n, 0, {"direction": [Rational, n]})
    need(any(direction), "direction", "it is 0")
    a = [Fraction(v) for v in direction]
    walk = Walk(a, layers)
    for j, piece in enumerate(law.pieces):
        rows = [row for row, _ in piece.rows.values()]
        generators = piece.corners or region(n, rows).generators()
        if any(g[-1] for g in generators):  # otherwise the piece is empty
            check_piece(walk, piece, generators, j)
    return Fraction(0)


def check_piece(walk: Walk, piece: Piece, generators: list[list[int]], j: int) -> None:
    """On every stretch of `t` that the piece meets the network has the law of the piece."""
    spend(2 * (1 + walk.n) * len(generators), f"piece {j}")
    tops = [(sum((u * v for u, v in zip(walk.a, g, strict=False)), Fraction(0)), g[-1]) for g in generators]
    ends = [Fraction(t, d) for t, d in tops if d]
    low = None if any(t < 0 for t, d in tops if not d) else min(ends)
    high = None if any(t > 0 for t, d in tops if not d) else max(ends)
    # Stretch i lies between places i - 1 and i. A piece of one single t meets two at most, which agree there.
    first = 0 if low is None else bisect_right(walk.places, low)
    last = len(walk.places) if high is None else max(first, bisect_left(walk.places, high))
    for i in range(first, last + 1):
        spend(4 * (1 + walk.n) * len(generators) * len(walk.outputs[i]), f"piece {j}")
        for o, form in enumerate(walk.outputs[i]):
            spend(len(generators) * sum(map(long, form)), f"piece {j}")
            law, d = piece.laws[o]
            for g, x in enumerate(generators):
                meant = law[g] * Fraction(1, d) if piece.corners else Fraction(sum(map(int.__mul__, law, x)), d)
                value = sum((u * v for u, v in zip(form, x, strict=True)), Fraction(0))
                if piece.corners:
                    value /= piece.scale
                if value != meant:
                    begin, end = stretch(walk, i, low, high)
                    said = f"the network is not the law where a.x is between {brief(begin)} and {brief(end)}"
                    raise Refused(f"output {o}, piece {j}: {said}", witnesses(walk.n, begin, end))


def stretch(walk: Walk, i: int, low: Fraction | None, high: Fraction | None) -> tuple[Fraction | None, Fraction | None]:
    """Where a stretch begins and ends inside a piece; None if it does not."""
    begin = max([v for v in (walk.places[i - 1] if i else None, low) if v is not None], default=None)
    end = min([v for v in (walk.places[i] if i < len(walk.places) else None, high) if v is not None], default=None)
    return begin, end


def brief(x: Fraction | None) -> str:
    """A place in a message, which must stay short."""
    long = x is not None and max(abs(x.numerator), x.denominator) >= 10**50
    return "a long number" if long else str(x)


def witnesses(n: int, begin: Fraction | None, end: Fraction | None) -> list[list[int]]:
    """For one input two points inside a stretch: two affine functions that are not equal differ at one of them."""
    if n > 1:
        return []
    first = begin if begin is not None else end - 1 if end is not None else Fraction(0)
    last = end if end is not None else first + 1
    return [over_one([x, 1])[0] for x in ((2 * first + last) / 3, (first + 2 * last) / 3)]
