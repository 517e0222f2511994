"""Check a proof that a ReLU network computes a piecewise-linear function: checker.py law.json net.json law.proof.json

Exit status 0: proved, 1: refused, 64: wrong usage, 65: a file cannot be read. What a proof says, and why it is one, is
in docs/proof.md; the words used here are from there. This file needs Python's standard library and nothing else, shares
no code with the package, and decides everything in integers and fractions.
"""

import json
import math
import re
import sys
from fractions import Fraction
from operator import add, mul
from pathlib import Path
from typing import Any, NamedTuple

Rational = int | Fraction
Vector = tuple[list[int], int]  # integers over one positive denominator: many times faster than fractions
Term = tuple[Rational, Vector]  # a vector with the factor that it has in a sum
Form = dict[int, Rational]  # a linear form: its nonzero coefficients; a bias is the coefficient after the last input's
Forms = list[Form]
Value = tuple[int, frozenset[frozenset[int]], Form]  # sign and rows of a max of mins; its form in the neurons (or in x)
RATIONAL = re.compile(r"[+-]?[0-9]+(/0*[1-9][0-9]*|\.[0-9]+)?")
COUNT = range(1, sys.maxsize)
WEIGHTS = {str: Rational}
NOT_READ = {"domain", "note", "tol"}  # what is proved is proved on every piece, whatever the domain


class Refused(ValueError):
    """The proof does not show what it has to show; the message says where."""


def need(condition: object, where: str, reason: str) -> None:
    if not condition:
        raise Refused(f"{where}: {reason}")


def read(value: Any, shape: Any, where: str) -> Any:
    """The value, its numbers exact, if it has the shape: `Rational`; a range, for an index in it; [shape] or [shape,
    length], for a list; {str: shape}, for an object; {"name": shape, ..}, for an object with these fields, which come
    back in this order; `Any`; else a constant. Types must be the same, so that true is not 1."""
    if shape is Rational:
        text = type(value) is str and RATIONAL.fullmatch(value)
        need(text or type(value) is int or (type(value) is float and math.isfinite(value)), where, "this is no number")
        return value if type(value) is int else Fraction(value)
    if type(shape) is list:
        need(type(value) is list, where, "this is no list")
        need(len(value) in (shape[1:] or [len(value)]), where, f"a list of {len(value)} must have length {shape[-1]}")
        return [read(x, shape[0], f"{where}[{i}]") for i, x in enumerate(value)]
    if type(shape) is dict:
        need(type(value) is dict, where, "this is no object")
        if str in shape:
            return {name: read(x, shape[str], where) for name, x in value.items()}
        for name in shape.keys() ^ (value.keys() - NOT_READ):
            raise Refused(f"{where}: the field {name!a:.60} is {'missing' if name in shape else 'unknown'}")
        return [read(value[name], s, f"{where}.{name}") for name, s in shape.items()]
    kind, options = (int, shape) if type(shape) is range else (type(shape), [shape])
    need(shape is Any or (type(value) is kind and value in options), where, f"this must be {shape}")
    return value


def over_one(numbers: list[Rational]) -> Vector:
    d = math.lcm(*(x.denominator for x in numbers))
    return [x.numerator * (d // x.denominator) for x in numbers], d


def half_space(row: list[Rational]) -> Vector:
    """``b - a . x`` of the row ``a . x <= b``, scaled to integers without a common divisor."""
    *a, b = over_one(row)[0]
    divisor = math.gcd(*a, b) or 1
    return [-x // divisor for x in a] + [b // divisor], 1


def is_flat(matrix: list[list[int]]) -> bool:
    """Whether the determinant is 0, by elimination without fractions (Bareiss 1968)."""
    before = 1
    while matrix and before:
        (p, *pivot), *others = sorted(matrix, key=lambda row: row[0] == 0)
        matrix = [[(p * x - first * y) // before for x, y in zip(row, pivot, strict=True)] for first, *row in others]
        before = p
    return before == 0


class Piece(NamedTuple):
    """A piece, or the region of it that cuts have left. An affine function is held as the vector of its coefficients if
    the piece is given by rows, and of its values at the corners if it is a simplex. Either says all about it there."""

    laws: list[Vector]  # one an output
    rows: dict[str, Vector]  # b - a . x, by its number; of a simplex, only cuts
    corners: list[list[int]] | None  # of a simplex: `scale` times (x, 1) of each
    scale: int

    def vector(self, f: Vector) -> Vector:
        """The affine function with coefficients `f`."""
        return f if self.corners is None else ([sum(map(mul, f[0], x)) for x in self.corners], f[1] * self.scale)

    def shortfall(self, entry: Any, h: list[Term], where: str, members: dict[str, Vector] | None = None) -> Fraction:
        """The least `e` for which the entry proves ``h >= -e`` here; a mean of the `members` is first taken off `h`."""
        empty = type(entry) is dict and "empty" in entry
        mean, members = members is not None and not empty, members or {}
        more = ({} if self.corners or empty else {"t": Rational}) | ({"mu": WEIGHTS} if mean else {})
        weights, *others = read(entry, {"empty" if empty else "lambda": WEIGHTS} | more, where)
        mu = others.pop() if mean else {}
        need(not mean or sum(mu.values()) == 1, where, "the sum of mu is not 1")
        terms = [(0, self.laws[0])] if empty else h
        for factors, vectors in ((weights, self.rows), (mu, members)):
            need(factors.keys() <= vectors.keys(), where, "there is a multiplier for a number that has none")
            need(min(factors.values(), default=0) >= 0, where, "there is a negative multiplier")
            terms = terms + [(-c, vectors[name]) for name, c in factors.items()]
        d = math.lcm(*(c.denominator * e for c, (_, e) in terms))
        scaled = [c.numerator * (d // (c.denominator * e)) for c, (_, e) in terms]
        rest = [sum(map(mul, scaled, column)) for column in zip(*(v for _, (v, _) in terms), strict=True)]
        least = Fraction(min(rest) if self.corners else rest[-1], d)
        holds = self.corners or (not any(rest[:-1]) and (empty or least == others[0]))
        need(holds, where, "the two sides of the identity differ")
        # Where it is empty, something that is at least 0 on the region was taken off 0, and something positive is left.
        need(least > 0 or not empty, where, "the region is not shown to be empty")
        return max(-least, Fraction(0))

    def reach(self, tree: Any, law: Vector, rows: list[list[int]], f: dict[int, Vector], where: str) -> Fraction:
        """The least `e` for which the tree proves that every point here has a row that is at least the law - e."""
        e, todo = Fraction(0), [(tree, self)]  # no recursion, which a deep tree would exhaust
        for node, region in todo:
            if type(node) is dict and "cut" in node:
                cut, below, above = read(node, {"cut": [Rational, len(law[0])], "below": Any, "above": Any}, where)
                number = str(len(region.rows) + (len(law[0]) if self.corners else 0))  # after the n + 1 facets
                for side, row in ((below, cut), (above, [-x for x in cut])):
                    todo.append((side, region._replace(rows=region.rows | {number: self.vector(half_space(row))})))
                continue
            i, entries = read(node, {"row": range(len(rows)), "members": [Any]}, where)
            need(len(entries) == len(rows[i]), where, f"row {i} has {len(rows[i])} members")
            for m, entry in zip(rows[i], entries, strict=True):
                e = max(e, region.shortfall(entry, [(1, f[m]), (-1, law)], f"{where}, member {m} of row {i}"))
        return e


def read_piece(piece: Any, n: int, outputs: int, where: str) -> Piece:
    shape = {"A": [[Rational, n]], "b": [Rational], "gradient": [Any], "offset": Any}
    A, b, gradient, offset = read(piece, shape, where)
    if outputs == 1 and not all(type(g) is list for g in gradient):
        gradient = [gradient]  # one law may be written without the outer list
    slopes = read(gradient, [[Rational, n], outputs], f"{where}, gradient")
    constants = read(offset if type(offset) is list else [offset], [Rational, outputs], f"{where}, offset")
    laws = [over_one([*g, c]) for g, c in zip(slopes, constants, strict=True)]
    need(len(A) == len(b), where, f"A has {len(A)} rows and b has {len(b)}")
    rows = [half_space([*a, c]) for a, c in zip(A, b, strict=True) if any(a) or c < 0]  # 0 . x <= 1 says nothing
    return Piece(laws, {str(r): row for r, row in enumerate(rows)}, None, 1)


def read_function(function: Any) -> tuple[int, int, list[Piece]]:
    """Inputs, outputs and pieces."""
    table = type(function) is dict and "simplices" in function
    names = ["points", "values", "simplices"] if table else ["pieces"]
    head = {"format": "cpwl", "version": 1, "dim": COUNT, "outputs": COUNT}
    _, _, n, outputs, *data = read(function, head | {name: [Any] for name in names}, "function")
    if not table:
        return n, outputs, [read_piece(piece, n, outputs, f"piece {j}") for j, piece in enumerate(data[0])]
    pieces = []
    points = [over_one([*x, 1])[0] for x in read(data[0], [[Rational, n]], "points")]  # d (x, 1)
    values = read([z if type(z) is list else [z] for z in data[1]], [[Rational, outputs], len(points)], "values")
    for simplex in read(data[2], [[range(len(points)), n + 1]], "simplices"):
        d = math.lcm(*(points[v][-1] for v in simplex))
        corners = [[x * (d // points[v][-1]) for x in points[v]] for v in simplex]
        if not is_flat(corners):
            laws = [over_one([values[v][o] for v in simplex]) for o in range(outputs)]
            pieces.append(Piece(laws, {}, corners, d))
    return n, outputs, pieces


def read_network(network: Any, n: int, outputs: int) -> list[Forms]:
    """What each neuron reads, layer by layer."""
    head = {"format": "cpwl-network", "version": 1, "inputs": n, "outputs": outputs}
    *_, layers = read(network, head | {"layers": [Any]}, "network")
    result, width = [], n
    for l, layer in enumerate(layers):
        shape = {"rows": COUNT, "columns": width, "bias": [Rational], "entries": [[Rational, 3]]}
        rows, _, bias, entries = read(layer, shape, f"layer {l}")
        need(len(bias) == rows, f"layer {l}", f"{rows} rows and {len(bias)} biases")
        neurons: list[Form] = [{width: x} for x in bias]
        for i, j, weight in entries:
            fits = type(i) is type(j) is int and 0 <= i < rows and 0 <= j < width and j not in neurons[i]
            need(fits, f"layer {l}", f"a weight at {i}, {j}, which is outside or has one")
            neurons[i][j] = weight
        result.append([{j: x for j, x in neuron.items() if x} for neuron in neurons])
        width = rows
    return result


def plus(u: Form, factor: int, v: Form) -> Form:
    total = u | {i: u.get(i, 0) + factor * x for i, x in v.items()}
    return {i: x for i, x in total.items() if x}


def read_layer(groups: list[Any], before: list[Value], layers: list[Forms], l: int) -> tuple[list[Value], list[Forms]]:
    """The values of the groups of layer `l`, and for each neuron of a group what it reads less what the group says."""
    level = {s * k: (s * sign, rows, plus({}, s, f)) for k, (sign, rows, f) in enumerate(before, 1) for s in (1, -1)}
    values, off = [], []
    for g, group in enumerate(groups):
        kind = "output" if l == len(layers) - 1 else "max" if type(group) is dict and "max" in group else "carry"
        few, many, where = {"max": 2}.get(kind, 1), {"max": 3, "carry": 2, "output": 1}[kind], f"layer {l}, {kind} {g}"
        references, neurons = read(group, {kind: [Any, few], "neurons": [range(len(layers[l])), many]}, where)
        need(all(type(r) is int and r in level for r in references), where, "there is no such value to refer to")
        (sign, rows, u), *others = [level[r] for r in references]
        for other, more, _ in others:
            need(sign == other, where, "a maximum of a positive and a negative value")
            need(sign > 0 or len(rows) * len(more) <= 10**6, where, "too many rows")  # could be squared in every layer
            rows = rows | more if sign > 0 else frozenset(a | b for a in rows for b in more)
        said = [*(plus(v, -1, u) for _, _, v in others), u, plus({}, -1, u)][:many]
        off.append([plus(layers[l][i], -1, form) for i, form in zip(neurons, said, strict=True)])
        need(l == 0 or not any(off[-1]), where, f"the neurons {neurons} do not read what it says")
        # s_i + s_j - s_k as a form; the same neuron may come twice
        values.append((sign, rows, {i: c for i in neurons if (c := neurons.count(i) - 2 * (i == neurons[-1]))}))
    return values, off


def sandwich(claim: Any, o: int, meant: Value, components: list[list[Rational]], pieces: list[Piece]) -> Fraction:
    """The least `e` for which *below* and *reach* are proved for output `o` and the rows that the network computes."""
    shape = {"rows": [[range(len(components))]], "below": [[Any, len(pieces)]], "reach": [Any, len(pieces)]}
    rows, below, trees = read(claim, shape, f"output {o}")
    need(meant[:2] == (1, frozenset(map(frozenset, rows))), f"output {o}", "the network does not compute these rows")
    need(len(below) == len(rows), f"output {o}", f"{len(rows)} rows, of which {len(below)} are shown to be below")
    e = Fraction(0)
    for j, piece in enumerate(pieces):
        law, f = piece.laws[o], {m: piece.vector(over_one(components[m])) for m in set().union(*rows)}
        for i, row in enumerate(rows):
            members = {str(m): f[m] for m in row}
            e = max(e, piece.shortfall(below[i][j], [(1, law)], f"output {o}, row {i} below piece {j}", members))
        e = max(e, piece.reach(trees[j], law, rows, f, f"output {o}, reach on piece {j}"))
    return e


def rounding(off: list[Forms], box: Any, n: int, pieces: list[Piece]) -> tuple[Rational, Rational]:
    """`E` as a + b max |x_i|: the largest sum, over the neurons of a group, of what they are off in the box."""
    low, high = [-1] * n, [1] * n
    if box is not None:
        low, high, proof = read(box, {"low": [Rational, n], "high": [Rational, n], "proof": Any}, "box")
        if proof is None and pieces[0].corners:
            proof = [[{"lambda": {}}] * (2 * n)] * len(pieces)  # that is, look at the corners
        for j, entries in enumerate(read(proof, [[Any, 2 * n], len(pieces)], "box.proof")):
            for i, entry in enumerate(entries):
                h = [(k == i - n) - (k == i) for k in range(n)] + [high[i] if i < n else -low[i - n]]
                short = pieces[j].shortfall(entry, [(1, pieces[j].vector(over_one(h)))], f"box, piece {j}, entry {i}")
                need(short == 0, f"box, piece {j}, entry {i}", "the piece is not inside")
    centre = [Fraction(x + y) / 2 for x, y in zip(low, high, strict=True)] + [Fraction(1)]
    half = [abs(Fraction(y - x)) / 2 for x, y in zip(low, high, strict=True)] + [Fraction(0)]
    constants = [sum(abs(sum((x * centre[i] for i, x in d.items()), Fraction(0))) for d in group) for group in off]
    slopes = [sum(abs(x * half[i]) for d in group for i, x in d.items()) for group in off]
    return (max(constants), max(slopes)) if box is None else (max(map(add, constants, slopes)), 0)


def check(function: Any, network: Any, proof: Any) -> Fraction | tuple[Fraction, Fraction]:
    """The proven bound of ``|network - function|``: a number, or (a, b) for ``a + b max |x_i|``; or `Refused`."""
    getattr(sys, "set_int_max_str_digits", int)(0)  # numbers may have many thousand digits
    n, outputs, pieces = read_function(function)
    layers = read_network(network, n, outputs)
    need(pieces and layers and len(layers[-1]) == outputs, "files", "no pieces, no layers, or not as many outputs")
    head = {"format": "cpwl-proof", "version": 1, "kind": "max-min", "inputs": n, "error_bound": Any, "box": Any}
    body = {"components": [[Rational, n + 1]], "outputs": [Any, outputs], "wiring": [[Any], len(layers) - 1]}
    *_, stated, box, components, claims, wiring, output = read(proof, head | body | {"output": [Any, outputs]}, "proof")
    values = [(1, frozenset([frozenset([m])]), {i: x for i, x in enumerate(f) if x}) for m, f in enumerate(components)]
    groups = [*wiring, [{"output": [r], "neurons": [o]} for o, r in enumerate(output)]]
    values, off = read_layer(groups[0], values, layers, 0)
    for l in range(1, len(layers)):
        values, _ = read_layer(groups[l], values, layers, l)
    e = max(sandwich(claim, o, values[o], components, pieces) for o, claim in enumerate(claims))
    a, b = rounding(off, box, n, pieces)
    bounds = read(stated if type(stated) is list else [stated, 0], [Rational, 2], "error_bound")
    need(a + e <= bounds[0] < 10**300 and b <= bounds[1] < 10**300, "error_bound", "this is not what is shown")
    return (Fraction(bounds[0]), Fraction(bounds[1])) if type(stated) is list else Fraction(bounds[0])


def load(path: str) -> Any:
    """A JSON file; an object in which a name comes twice is read as `...`, which is no object."""
    return json.loads(Path(path).read_bytes(), object_pairs_hook=lambda x: dict(x) if len(dict(x)) == len(x) else ...)


def main(paths: list[str]) -> int:
    if len(paths) != 3:
        print("usage: python checker.py law.json net.json law.proof.json", file=sys.stderr)
        return 64
    getattr(sys, "set_int_max_str_digits", int)(0)
    try:
        function, network, proof = map(load, paths)
        bound = check(function, network, proof)
    except (OSError, ValueError, RecursionError) as reason:
        refused = isinstance(reason, Refused)
        print(f"{'refused' if refused else 'unreadable'}: {reason}")
        return 1 if refused else 65
    bounds = bound if isinstance(bound, tuple) else (bound, Fraction(0))
    a, b = (x if (x := float(exact)) >= exact else math.nextafter(x, math.inf) for exact in bounds)
    pieces, rows = len(proof["outputs"][0]["reach"]), sum(len(output["rows"]) for output in proof["outputs"])
    equal = f"network = function on every piece ({pieces} pieces, {rows} rows)"
    near = f"|network - function| <= {a}{f' + {b} max |x_i|' if b else ''} on every piece"
    print("proved:", near if a or b else equal)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
