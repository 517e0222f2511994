"""Check a network of strips, kind "strip": strip_checker.py law.json net.json law.proof.json

**Theorem.** Every output is ``g_2 + relu(P) - relu(X)`` with ``P = g_1 - g_2 + X``, or without a switch ``g_1``, with
systems g_1, g_2 of hinges and gates. If

(1) pieces are bounded with interior, and lie between the first and the last break, `strip_plane_checker.Frame.piece`,
    `strip`
(2) neurons that are claimed to be linear read nothing negative, P and X have the signs that choose the system that is
    said to be right on each interval, or P rises from 0 there, `Bound.holds`, `rises`, `steepness`, `walk_through`
(3) no knot of the right system bends inside an interval, and gates read hinges only, `walk_through`, `claims`
(4) inside a strip a system bends inside no piece, and across every edge it jumps as the laws do,
    `strip_plane_checker.Strip.check`
(5) on one piece of each connected part of a strip its values are those of the law, `strip_plane_checker.Strip.compare`

then the network is the function on every piece.

It needs checker.py and strip_plane_checker.py beside it; checker.py reads the files and hands proofs of this kind over
to here, so either of the two may be called, for proofs of every kind. Only the standard library, only integers and
fractions.
Why this is a proof is in docs/strips.md, in the words used here.
"""

import runpy
import sys
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

Row = tuple[int, int, int]  # a xi + b eta + c up to a positive factor, or a point (W xi, W eta, W) with W > 0
Scaled = tuple[Row, int]  # a row over a positive denominator
Affine = list[Fraction]  # a xi + b eta + c
Atom = tuple[int, int]  # the output of a neuron: its hidden layer, its number
Form = dict[Atom, Fraction]  # a sum of factors times atoms
ONE: Atom = (-1, 0)  # the number 1
ZERO = Fraction(0)
CELLS = 16  # into which an interval may be cut
# Which system is right, 0 for both; 3 and 4 say that P rises from 0, where the interval begins, or to 0, where it ends.
SYSTEM = (0, 1, 2, 1, 2)
plane: Any = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("strip_plane_checker.py"))))


def plus(u: Form, factor: Fraction | int, v: Form) -> Form:
    total = u | {atom: u.get(atom, ZERO) + factor * x for atom, x in v.items()}
    return {atom: x for atom, x in total.items() if x}


class Circuit:
    """`reads[l][i]`: what a hidden neuron reads, in atoms; neurons that are claimed to be linear are no atoms."""

    def __init__(self, layers: list[Any], linear: list[list[int]], frame: Any) -> None:
        self.knots = [plane.whole(frame.affine(*(Fraction(f.get(i, 0)) for i in range(3)))) for f in layers[0]]
        self.reads: list[list[Form]] = [[]]
        values: list[Form] = [{(0, i): Fraction(1)} for i in range(len(self.knots))]
        for l, layer in enumerate(layers[1:], 1):
            forms = []
            for weights in layer:
                total: Form = defaultdict(Fraction)
                for j, w in weights.items():
                    for atom, x in values[j].items() if j < len(values) else [(ONE, Fraction(1))]:
                        total[atom] += w * x
                forms.append({atom: x for atom, x in total.items() if x})
            self.reads.append(forms)
            known = range(len(forms)) if l > len(linear) else linear[l - 1]
            values = [form if i in known else {(l, i): Fraction(1)} for i, form in enumerate(forms)]
            first: dict[Any, int] = {}
            for i, form in enumerate(forms):  # of functions of xi, relu(-F) is relu(F) - F, if there is a relu(F)
                if l == 1 and not any(k == 0 and self.knots[m][0][1] for k, m in form):
                    s = first.setdefault((frozenset(form), abs(form.get(ONE, ZERO))), i)
                    if s != i and not {s, i} & {*known} and not plus(forms[s], 1, form):
                        values[i] = plus(values[s], 1, form)
        self.outputs = values

    def falls(self, form: Form) -> list[tuple[int, Fraction]]:
        """Hinges with factors: a form falls at most as fast as its row on knots, and the falling ones of these, do."""
        total: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for (l, i), x in form.items():
            for (_, s), w in self.reads[2][i].items() if l == 2 else [((1, i), Fraction(1))] if l == 1 else []:
                total[s, x * w > 0] += x * w
        return [(s, x) for (s, _), x in total.items()]

    def below(self, form: Form, sign: int) -> dict[int, Fraction]:
        """Hinges with factors: less their sum, ``sign * form`` is at least its row on knots."""
        total: dict[int, Fraction] = defaultdict(Fraction)
        for (l, i), x in form.items():
            if l > 0 and sign * x < 0:  # a gate is at most the sum of its positive terms
                for (_, s), w in self.reads[2][i].items() if l == 2 else [((1, i), Fraction(1))]:
                    total[s] += abs(x) * max(w, ZERO)
        return total


class Walk:
    """Rows on knots, from left to right: what they are with the knots on that are on."""

    def __init__(self, knots: list[Scaled], rows: dict[Any, Form]) -> None:
        self.knots, self.on, self.integers = knots, [False] * len(knots), dict[Any, Scaled]()
        self.now = {name: [ZERO, ZERO, form.get(ONE, ZERO)] for name, form in rows.items()}
        self.readers: list[list[tuple[Any, Fraction]]] = [[] for _ in knots]
        for name, form in rows.items():
            for (l, k), x in form.items():
                if l == 0:
                    self.readers[k].append((name, x))

    def set(self, k: int, on: bool) -> bool:
        """Whether the knot has changed."""
        changed, self.on[k] = self.on[k] != on, on
        row, d = self.knots[k]
        for name, x in self.readers[k] if changed else []:
            w = (x if on else -x) / d
            self.now[name] = [u + w * v for u, v in zip(self.now[name], row, strict=True)]
            self.integers.pop(name, None)
        return changed

    def row(self, name: Any) -> Scaled:
        if name not in self.integers:
            self.integers[name] = plane.whole(self.now[name])
        return self.integers[name]


class Bound(NamedTuple):
    """The claim that `sign` times something is at least 0: its row on knots, and hinges that bound the rest."""

    name: Any
    sign: int
    hinges: dict[int, Fraction]

    def holds(self, walk: Walk, x: Row, high: dict[int, int], bits: int) -> bool:
        """Whether that is so at a point, with values times 2^bits rounded to the safe side."""
        row, d = walk.row(self.name)
        low = (self.sign * plane.dot(row, x) << bits) // (d * x[2])
        for s, factor in self.hinges.items():
            if s not in high:
                hinge, e = walk.row((1, s))
                high[s] = max(0, -((-plane.dot(hinge, x) << bits) // (e * x[2])))
            low += (-high[s] * factor.numerator) // factor.denominator
        return bool(low >= 0)


def rises(walk: Walk, name: Any, falls: list[tuple[int, Fraction]], steep: Fraction, bits: int) -> bool:
    """Whether something rises, where these knots are on, in all directions (1, s) with ``|s| <= steep``.

    Times 2^bits, rounded to the safe side."""
    (a, b, _), d = walk.row(name)
    n, m = steep.numerator, steep.denominator
    low = ((a * m - abs(b) * n) << bits) // (d * m)
    for s, factor in falls:
        (a, b, _), d = walk.row((1, s))
        most = abs(b) * n - (a if factor > 0 else -a) * m  # it falls at most at this rate, or not at all
        low += (-abs(factor.numerator) * max(0, most) << bits) // (d * m * factor.denominator)
    return low >= 0


def steepness(checker: Any, pieces: list[Any], polygon: list[Row], at: Fraction, where: str) -> Fraction:
    """How steep ways must be, at most, from the section of a polygon at one of its ends to all its points.

    That section must be covered by pieces that go on to both sides of it."""
    ends = [Fraction(x[1], x[2]) for x in polygon if Fraction(x[0], x[2]) == at]
    cover = []
    for piece in pieces:
        if piece.begin < at < piece.end:
            own = [Fraction(x[1], x[2]) for x in plane.between(piece.corners, at, at)]
            cover.append((min(own), max(own)))
    checker.need(ends and cover, where, "nothing is there where the switch begins")
    reach = min(ends)
    for low, high in sorted(cover):
        reach = max(reach, high) if low <= reach else reach
    checker.need(reach >= max(ends), where, "pieces do not cover the line where the switch begins")
    others = [(Fraction(x[0], x[2]), Fraction(x[1], x[2])) for x in polygon]
    ways = [max(ZERO, y - max(ends), min(ends) - y) / abs(x - at) for x, y in others if x != at]
    return max(ways, default=ZERO)


class System:
    """A sum of atoms, and the strips on which its hinges do not change."""

    def __init__(self, output: int, number: int, form: Form, circuit: Circuit) -> None:
        self.output, self.number, self.circuit = output, number, circuit
        self.hinges = {i: x for (l, i), x in form.items() if l == 1}
        self.gates = {i: x for (l, i), x in form.items() if l == 2}
        used = {*self.hinges, *(s for g in self.gates for _, s in circuit.reads[2][g])}
        self.knots = {k for f in (form, *(circuit.reads[1][s] for s in used)) for l, k in f if l == 0}
        self.strips: list[Any] = []
        self.goes_on = False

    def step(self, walk: Walk, begin: Fraction, end: Fraction, changed: set[int]) -> None:
        """One more interval: part of the last strip, or the first of another."""
        if self.goes_on and not self.knots & changed:
            self.strips[-1] = self.strips[-1]._replace(end=end)
            return
        hinges = [(x, walk.row((1, s))) for s, x in self.hinges.items()]
        reads = {g: self.circuit.reads[2][g] for g in self.gates}
        gates = [(x, [(w, walk.row((1, s))) for (_, s), w in reads[g].items()]) for g, x in self.gates.items()]
        where = f"output {self.output}, system {self.number}, strip {len(self.strips)}"
        affine = walk.now["system", self.output, self.number]
        self.strips.append(plane.Strip(where, self.output, begin, end, affine, hinges, gates))
        self.goes_on = True


def cells(knots: list[Scaled], polygon: list[Row]) -> tuple[dict[int, bool], list[tuple[list[Row], dict[int, bool]]]]:
    """The states of knots that do not cut a polygon, and its parts with the states of those that do."""
    on, parts = dict[int, bool](), [(polygon, dict[int, bool]())]
    for k, (row, _) in enumerate(knots):
        values = [plane.dot(row, x) for x in polygon]
        if min(values) >= 0 or max(values) <= 0:
            on[k] = max(values) > 0
        elif len(parts) <= CELLS:
            two = ((False, (-row[0], -row[1], -row[2])), (True, row))
            parts = [(plane.cut(p, side), states | {k: s}) for p, states in parts for s, side in two]
            parts = [(p, states) for p, states in parts if len(plane.hull(p)) > 2]
    return on, parts


def walk_through(
    checker: Any, circuit: Circuit, bounds: list[list[Bound]], rows: dict[Any, Form], systems: list[System], plan: Any
) -> None:
    """From interval to interval: shows the signs that are claimed there, and finds the strips of the systems."""
    pieces, breaks, right, bits = plan
    walk = Walk(circuit.knots, rows)
    for i, (begin, end) in enumerate(pairwise(breaks)):
        here = [piece.corners for piece in pieces if piece.begin < end and piece.end > begin]
        checker.spend(10 * len(here) + len(pieces) // 4, f"interval {i}")
        polygon = plane.hull([x for corners in here for x in plane.between(corners, begin, end)])
        if len(polygon) < 3:
            continue
        checker.spend(len(circuit.knots) * len(polygon), f"interval {i}")
        on, parts = cells(circuit.knots, polygon)
        checker.need(len(parts) <= CELLS, f"interval {i}", "too many knots bend here")
        changed = {k for k, state in on.items() if walk.set(k, state)}
        steep = None
        if right[i] > 2:
            next_to = (
                right[i - 1] if right[i] == 3 and i else right[i + 1] if right[i] == 4 and i + 1 < len(right) else 9
            )
            other = next_to in ((0, 2, 4) if right[i] == 3 else (0, 1, 3))
            checker.need(other, f"interval {i}", "the other system is not right where this one begins")
            steep = steepness(checker, pieces, polygon, begin if right[i] == 3 else end, f"interval {i}")
        for part, states in parts:
            changed |= {k for k, state in states.items() if walk.set(k, state)}
            rising = steep is None or all(
                rises(walk, n, circuit.falls(rows[n]), steep, bits) for n in rows if n[0] == "P"
            )
            checker.need(rising, f"interval {i}", "the sign of P is not shown: it does not rise")
            each = sum(2 + len(b.hinges) for b in bounds[right[i]])
            checker.spend(len(part) * each * (1 + bits // 500) // 2, f"interval {i}")
            for x in part:
                high: dict[int, int] = {}
                wrong = next((b for b in bounds[right[i]] if not b.holds(walk, x, high, bits)), None)
                checker.need(wrong is None, f"interval {i}", f"the sign of {wrong and wrong.name} is not shown")
        for system in systems:
            own = SYSTEM[right[i]] in (0, system.number)
            bent = own and system.knots - on.keys()
            checker.need(not bent, f"interval {i}", f"system {system.number} of output {system.output} bends there")
            if own:
                system.step(walk, begin, end, changed)
            system.goes_on = own


def strip(checker: Any, law: Any, layers: Any, proof: Any) -> Fraction:
    """0, if the proof shows that the network is the function on every piece. `checker` has what checker.py defines."""
    need, read, Rational = checker.need, checker.read, checker.Rational
    n, outputs, given = law.n, law.outputs, law.pieces
    need(n == 2 and len(layers) in (4, 5) and len(layers[-1]) == outputs, "files", "this is no network of strips")
    head = {"format": "cpwl-proof", "version": 1, "kind": "strip", "inputs": 2, "error_bound": 0}
    body = {"frame": [[Rational, 2], 2], "bits": range(10**5), "breaks": [Rational], "right": [range(5)]}
    more = {"linear": [[Any], len(layers) - 2], "chi": [Any, outputs], "starts": [[Rational, 2]]}
    *_, (t, u), bits, breaks, right, linear, chi, starts = read(proof, head | body | more, "proof")
    need(
        all(type(v) is int for v in t + u) and t[0] * u[1] != t[1] * u[0], "frame", "these are no independent integers"
    )
    linear = [read(own, [range(len(layers[l]))], f"linear[{l - 1}]") for l, own in enumerate(linear, 1)]
    frame, breaks = plane.Frame(t, u), [Fraction(x) for x in breaks]
    circuit = Circuit(layers, linear, frame)
    found = [frame.piece(checker, piece, f"piece {j}") for j, piece in enumerate(given)]
    pieces = [piece for piece in found if piece is not None]
    need(len(breaks) == len(right) + 1 > 1 and all(x < y for x, y in pairwise(breaks)), "breaks", "they must grow")
    all_in = pieces and all(breaks[0] <= piece.begin and piece.end <= breaks[-1] for piece in pieces)
    need(all_in, "breaks", "not all pieces are between them, or there are none")
    rows, bounds, systems = claims(checker, circuit, linear, chi)
    need(len(systems) > outputs or right == [1] * len(right), "right", "there is no second system")
    walk_through(checker, circuit, bounds, rows, systems, (pieces, breaks, right, bits))
    edges = plane.find_edges(checker, pieces)
    for i, part in enumerate(part for system in systems for part in system.strips):
        xi, eta = starts[i] if i < len(starts) else (0, 0)
        part.check(checker, pieces, edges, plane.whole([Fraction(xi), Fraction(eta), Fraction(1)])[0])
    return ZERO


def claims(checker: Any, circuit: Circuit, linear: list[list[int]], chi: list[Any]) -> tuple[Any, Any, Any]:
    """All rows on knots, the signs to be shown on intervals of each kind, and the systems.

    ``out = g_2 + relu(P) - relu(X)`` with ``P = g_1 - g_2 + X``; without a switch ``out = g_1``."""
    rows: dict[Any, Form] = {(1, s): form for s, form in enumerate(circuit.reads[1])}
    named: dict[Any, Form] = {("linear", l, i): circuit.reads[l][i] for l, own in enumerate(linear, 1) for i in own}
    signs, systems = dict.fromkeys(named, (1, 1, 1, 1, 1)), []
    for o, form in enumerate(circuit.outputs):
        switches = [atom for atom in form if atom[0] == 3]
        parts = [form]
        if switches:
            (c,) = checker.read(chi[o], [range(len(circuit.reads[1])), 1], f"chi[{o}]")
            factor, weight = form[switches[0]], form.get((1, c), ZERO)
            checker.need(factor > 0 > weight, f"output {o}", "this is no switch")
            two = {atom: x for atom, x in form.items() if atom not in (switches[0], (1, c))}
            P, X = plus({}, factor, circuit.reads[3][switches[0][1]]), plus({}, -weight, circuit.reads[1][c])
            parts = [plus(plus(two, 1, P), -1, X), two]
            named |= {("P", o): P, ("X", o): X}
            signs |= {("P", o): (0, 1, -1, 0, 0), ("X", o): (0, 1, -1, 1, -1)}  # by what is right on an interval
        for number, part in enumerate(parts, 1):
            named["system", o, number] = part
            systems.append(System(o, number, part, circuit))
    checker.need(len(systems) in (len(chi), 2 * len(chi)), "network", "not all outputs have a switch")
    for name, form in named.items():
        checker.need(all(l < 3 for l, _ in form), str(name), "it reads a switch")
    for g, form in enumerate(circuit.reads[2] if len(circuit.reads) > 3 else []):
        checker.need(g in linear[1] or all(l == 1 for l, _ in form), f"gate {g}", "it must read hinges only")
    shown = [{name: s[k] for name, s in signs.items() if s[k]} for k in range(5)]
    bounds = [[Bound(name, s, circuit.below(named[name], s)) for name, s in own.items()] for own in shown]
    return rows | named, bounds, systems


if __name__ == "__main__":
    sys.exit(runpy.run_path(str(Path(__file__).with_name("checker.py")))["main"](sys.argv[1:]))
