"""Check a proof for sums of functions of fewer inputs, kind "sums".

**Theorem.** Let every hidden neuron belong to one part, and let N_k be the network of the neurons of part k: it has
their output weights, and biases of its own. If

(1) no neuron reads one of another part, the first layer of part k reads x through L_k x alone, and the biases of the
    parts add up to those of the network, `part_layers`
(2) N_k is within E_k of a function q_k of fewer inputs, on its pieces, by a proof of its own, `sums`
(3) each piece of p lies, seen through L_k, in the piece of q_k that the proof names, `check_piece`
(4) on each piece of p the laws of these pieces add up to that of p, `check_piece`
(5) the stated bound is at least the sum of all E_k, `sums`

then ``|network - p|`` is at most the stated bound on every piece. For the network is the sum of all N_k(L_k x), by (1);
on a piece N_k(L_k x) is within E_k of the law of its piece of q_k, by (2) and (3); and these add up to p, by (4).
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from cpwl_check.budget import Refused, need, spend, total
from cpwl_check.cones import dot, piece_cone, rows_and_laws, show
from cpwl_check.pieces import Bound, Form, Law, Layers, Piece, Vector, over_one, pair, read_function
from cpwl_check.reading import Rational, read, read_proof


class Part(NamedTuple):
    """A function of the inputs L x: `rows` has L over a common denominator."""

    rows: list[list[int]]
    below: int
    law: Law
    at: list[int]
    known: dict[int, tuple[list[list[int]], list[Vector]]]  # rows that are at least 0 on a piece, and its laws

    def piece(self, k: int) -> tuple[list[list[int]], list[Vector]]:
        """Piece k by rows, and its laws by coefficients, also if it is a simplex."""
        if k not in self.known:
            self.known[k] = rows_and_laws(self.law.pieces[k])
        return self.known[k]

    def seen(self, x: list[int]) -> list[int]:
        """A place (x, w), seen through L; up to the positive factor `below`."""
        spend(1 + len(self.rows) * len(x) // 4, "parts")
        return [dot(row, x) for row in self.rows] + [self.below * x[-1]]


def sums(law: Law, layers: Layers, proof: Any, decide: Callable[[Law, Layers, Any], Bound]) -> Fraction:
    """The proven bound: each part of the network has a proof of its own, and their functions add up."""
    n, widths = law.n, [len(layer) for layer in layers[:-1]]
    stated, entries = read_proof(proof, "sums", n, Rational, {"parts": [Any]})
    need(widths and entries, "proof.parts", "there are none, or the network has no hidden layer")
    owner = [[-1] * width for width in widths]
    told = []
    for k, entry in enumerate(entries):
        where = f"part {k}"
        shape = {"rows": [[Rational, n]], "columns": [range(n)], "neurons": [[Any], len(widths)]}
        shape |= {"bias": [Rational, law.outputs], "function": Any, "at": [Any], "proof": {str: Any}}
        told.append(read(entry, shape, where))
        for l, width in enumerate(widths):
            for i in read(told[k][2][l], [range(width)], f"{where}, neurons"):
                need(owner[l][i] < 0, where, f"neuron {i} of layer {l} belongs to two parts")
                owner[l][i] = k
    need(min(map(min, owner)) >= 0, "proof.parts", "a neuron belongs to none")
    for o, form in enumerate(layers[-1]):
        biases = total((entry[3][o] for entry in told), "biases")
        need(biases == form.get(widths[-1], 0), f"output {o}", "the biases of the parts do not add up")
    parts, shown = [], Fraction(0)
    for k, (rows, columns, neurons, bias, function, at, inner) in enumerate(told):
        where = f"part {k}"
        need(inner.get("kind") != "sums", where, "its proof must be of another kind")
        own = read_function(function)
        need(own.outputs == law.outputs and own.n == len(rows) == len(columns), where, "its numbers do not fit")
        try:
            bound = decide(own, part_layers(layers, owner, k, rows, columns, neurons, bias), inner)
        except Refused as reason:  # its places are those of fewer inputs
            raise Refused(f"{where}: {reason}") from None
        need(not isinstance(bound, tuple), where, "its bound grows")
        shown += pair(bound)[0]
        flat, below = over_one([v for row in rows for v in row])
        places = read(at, [range(len(own.pieces)), len(law.pieces)], f"{where}, at")
        parts.append(Part([[*flat[r * n : r * n + n], 0] for r in range(len(rows))], below, own, places, {}))
    need(shown <= stated < 10**300, "error_bound", f"it is less than {float(shown):.3g}, which is shown")
    for j, piece in enumerate(law.pieces):
        check_piece(piece, law.n, parts, j)
    return Fraction(stated)


def part_layers(
    layers: Layers,
    owner: list[list[int]],
    k: int,
    rows: list[list[Rational]],
    columns: list[int],
    neurons: list[list[int]],
    bias: list[Rational],
) -> Layers:
    """The network of the neurons of one part, of the inputs L x: its first layer is V with V L as it stands."""
    unit = [[row[c] for c in columns] for row in rows]
    fits = unit == [[int(i == j) for j in range(len(rows))] for i in range(len(rows))]
    need(rows and fits, f"part {k}", "its rows are not the identity in its columns")
    number = {j: r for r, j in enumerate(columns)}
    made: Layers = []
    for l, layer in enumerate(layers):
        last, forms, width = l == len(layers) - 1, list[Form](), len(rows) if l == 0 else len(number)
        for i in range(len(layer)) if last else neurons[l]:
            where, form = f"layer {l}, neuron {i}", layer[i]
            constant = len(rows[0]) if l == 0 else len(owner[l - 1])
            spend(4 + len(form), where)
            read_here = {number[j]: w for j, w in form.items() if j in number}
            if l == 0:
                spend(len(rows) * len(rows[0]), where)
                for j in range(constant):
                    through = sum((read_here.get(r, 0) * row[j] for r, row in enumerate(rows)), Fraction(0))
                    need(through == form.get(j, 0), where, f"it does not read the inputs of part {k} alone")
            elif not last:
                own = all(owner[l - 1][j] == k for j in form if j < constant)
                need(own, where, "it reads a neuron of another part")
            level = bias[i] if last else form.get(constant, 0)
            forms.append(read_here | ({width: level} if level else {}))
        made.append(forms)
        if not last:
            need(neurons[l], f"part {k}", f"it has no neuron in layer {l}")
            number = {j: r for r, j in enumerate(neurons[l])}
    return made


def check_piece(piece: Piece, n: int, parts: list[Part], j: int) -> None:
    """A piece lies in its piece of each part, and at its corners and along its rays their laws add up to its own."""
    cone = piece_cone(piece, n)
    if not any(g[-1] for g, _ in cone.rays):
        return  # the piece is empty
    for i, x in enumerate(cone.generators()):
        values = [Fraction(0)] * len(piece.laws)
        for k, part in enumerate(parts):
            rows, laws = part.piece(part.at[j])
            place = part.seen(x)
            spend(1 + (len(rows) + 4 * len(laws)) * (1 + len(place) // 8), f"piece {j}")
            inside = all(dot(row, place) >= 0 for row in rows)
            need(inside, f"piece {j}", f"it does not lie in piece {part.at[j]} of part {k}")
            values = [v + Fraction(dot(f, place), d * part.below) for v, (f, d) in zip(values, laws, strict=True)]
        for o, (law, d) in enumerate(piece.laws):
            meant = law[i] * x[-1] if piece.corners else dot(law, x)
            if values[o] * d != meant:
                raise Refused(f"output {o}, piece {j}: the parts do not add up to the law at {show(x)}", [x])
