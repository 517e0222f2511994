"""Check a proof that a ReLU network computes a piecewise-linear function on every piece of it.

    python checker.py law.json net.json law.proof.json

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
Rows = frozenset[frozenset[int]]
Value = tuple[int, Rows, Form]  # plus or minus a max of mins, and how it is read off the neurons (level 0: off x)

RATIONAL = re.compile(r"[+-]?[0-9]+(/0*[1-9][0-9]*|\.[0-9]+)?")
COUNT = range(1, sys.maxsize)
WEIGHTS = {str: Rational}
NOT_READ = {"domain", "note", "tol"}  # what is proved is proved on every piece, whatever the domain
MOST_ROWS = 10**6  # a hostile wiring could square the number of rows in every layer


class Refused(ValueError):
    """The proof does not show what it has to show; the message says where."""


def need(condition: object, where: str, reason: str) -> None:
    if not condition:
        raise Refused(f"{where}: {reason}")


def read(value: Any, shape: Any, where: str) -> Any:
    """The value, its numbers exact, if it has the shape: `Rational`; a range, for an index in it; [shape] or [shape,
    length], for a list; {str: shape}, for an object; {"name": shape, ..}, for an object with these fields, which come
    back in this order; `Any`; else a constant. Types must be the same, so that true is not 1.
    """
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
    the piece is given by rows, and of its values at the corners if it is a simplex. Either says all about it there.
    """

    laws: list[Vector]  # one an output
    rows: dict[str, Vector]  # b - a . x, by its number; of a simplex, the facets (as barycentric coordinates) and cuts
    corners: tuple[list[list[int]], int] | None  # of a simplex: (x, 1) of each, over one denominator

    def vector(self, f: Vector) -> Vector:
        """The affine function with coefficients `f`."""
        if self.corners is None:
            return f
        return [sum(map(mul, f[0], corner)) for corner in self.corners[0]], f[1] * self.corners[1]

    def shortfall(self, entry: Any, h: list[Term], where: str, members: dict[str, Vector] | None = None) -> Rational:
        """The least `e` for which the entry proves ``h >= -e`` here; a mean of the `members` is first taken off `h`."""
        empty = type(entry) is dict and "empty" in entry
        extra = ({} if self.corners else {"t": Rational}) | ({"mu": WEIGHTS} if members else {})
        weights, *others = read(entry, {"empty": WEIGHTS} if empty else {"lambda": WEIGHTS} | extra, where)
        terms, multipliers = ([(0, self.laws[0])] if empty else h), [(weights, self.rows)]
        if members and not empty:
            need(sum(others[-1].values()) == 1, where, "the sum of mu is not 1")
            multipliers.append((others[-1], members))
        for factors, vectors in multipliers:
            need(factors.keys() <= vectors.keys(), where, "there is a multiplier for a number that has none")
            need(min(factors.values(), default=0) >= 0, where, "there is a negative multiplier")
            terms = terms + [(-c, vectors[name]) for name, c in factors.items()]
        d = math.lcm(*(c.denominator * e for c, (_, e) in terms))
        scaled = [c.numerator * (d // (c.denominator * e)) for c, (_, e) in terms]
        rest = [sum(map(mul, scaled, column)) for column in zip(*(v for _, (v, _) in terms), strict=True)]
        need(self.corners or not any(rest[:-1]), where, "the two sides of the identity have different slopes")
        t = Fraction(min(rest) if self.corners else rest[-1], d)
        if empty:  # then the sum that was taken off 0 is at least 0 on the region, and yet negative
            need(t > 0, where, "this does not show that the region is empty")
            return 0
        need(self.corners or t == others[0], where, "the two sides of the identity have different constants")
        return max(-t, 0)

    def reach(self, tree: Any, law: Vector, rows: list[list[int]], f: dict[int, Vector], where: str) -> Rational:
        """The least `e` for which the tree proves that every point here has a row that is at least the law - e."""
        e, todo = Fraction(0), [(tree, self)]  # a list and no recursion, which a deep tree would exhaust
        for node, region in todo:
            if type(node) is dict and "cut" in node:
                cut, below, above = read(node, {"cut": [Rational, len(law[0])], "below": Any, "above": Any}, where)
                for side, row in ((below, cut), (above, [-x for x in cut])):
                    more = {str(len(region.rows)): self.vector(half_space(row))}
                    todo.append((side, region._replace(rows=region.rows | more)))
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
    rows = [half_space([*a, c]) for a, c in zip(A, b, strict=True)]
    kept = [row for row in rows if any(row[0][:-1]) or row[0][-1] < 0]  # 0 . x <= b says nothing if b >= 0
    return Piece(laws, {str(r): row for r, row in enumerate(kept)}, None)


def read_function(function: Any) -> tuple[int, int, list[Piece]]:
    """Inputs, outputs and pieces."""
    table = type(function) is dict and "simplices" in function
    head = {"format": "cpwl", "version": 1, "dim": COUNT, "outputs": COUNT}
    lists = dict.fromkeys(("points", "values", "simplices") if table else ("pieces",), [Any])
    _, _, n, outputs, *data = read(function, head | lists, "function")
    if not table:
        return n, outputs, [read_piece(piece, n, outputs, f"piece {j}") for j, piece in enumerate(data[0])]
    pieces = []
    points = [over_one([*x, 1])[0] for x in read(data[0], [[Rational, n]], "points")]  # d (x, 1)
    values = read([z if type(z) is list else [z] for z in data[1]], [[Rational, outputs], len(points)], "values")
    for simplex in read(data[2], [[range(len(points)), n + 1]], "simplices"):
        d = math.lcm(*(points[v][-1] for v in simplex))
        corners = [[x * (d // points[v][-1]) for x in points[v]] for v in simplex]
        laws = [over_one([values[v][o] for v in simplex]) for o in range(outputs)]
        facets = {str(i): ([int(k == i) for k in range(n + 1)], 1) for i in range(n + 1)}
        pieces += [] if is_flat(corners) else [Piece(laws, facets, (corners, d))]
    return n, outputs, pieces


def read_network(network: Any, n: int, outputs: int) -> list[list[Form]]:
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
    need(result and width == outputs, "network", f"the last layer must have {outputs} rows")
    return result


def plus(u: Form, factor: int, v: Form) -> Form:
    total = u | {i: u.get(i, 0) + factor * x for i, x in v.items()}
    return {i: x for i, x in total.items() if x}


def read_group(
    group: Any, values: list[Value], layers: list[list[Form]], l: int, where: str
) -> tuple[Value, list[Form]]:
    """The value of a group of layer `l`, and what its neurons read less what it says; an output is a group of one."""
    kind = "output" if l == len(layers) - 1 else "max" if type(group) is dict and "max" in group else "carry"
    few, many = {"max": (2, 3), "carry": (1, 2), "output": (1, 1)}[kind]
    references, neurons = read(group, {kind: [Any, few], "neurons": [range(len(layers[l])), many]}, where)
    operands = []
    for r in references:
        need(type(r) is int and 0 < abs(r) <= len(values), where, "there is no such value on the level before")
        sign, rows, form = values[abs(r) - 1]
        operands.append((sign, rows, form) if r > 0 else (-sign, rows, plus({}, -1, form)))
    sign, rows, u = operands[0]
    for other, more, _ in operands[1:]:
        need(sign == other, where, "a maximum of a positive and a negative value")
        need(sign > 0 or len(rows) * len(more) <= MOST_ROWS, where, f"a minimum with more than {MOST_ROWS} rows")
        rows = rows | more if sign > 0 else frozenset(a | b for a in rows for b in more)
    said = [*(plus(v, -1, u) for _, _, v in operands[1:]), u, plus({}, -1, u)][:many]
    off = [plus(layers[l][i], -1, form) for i, form in zip(neurons, said, strict=True)]
    wrong = [i for i, d in zip(neurons, off, strict=True) if d]
    need(l == 0 or not wrong, where, f"neurons {wrong} do not read what it says")
    value: Form = {}  # s_i + s_j - s_k; the same neuron may come twice
    for i, factor in zip(neurons[::-1], (-1, 1, 1), strict=False):
        value = plus(value, factor, {i: 1})
    return (sign, rows, value), off


def sandwich(claim: Any, o: int, components: list[Vector], pieces: list[Piece]) -> tuple[Rows, Rational]:
    """The rows of output `o`, and the `e` for which *below* and *reach* are proved."""
    shape = {"rows": [[range(len(components))]], "below": [[Any, len(pieces)]], "reach": [Any, len(pieces)]}
    rows, below, trees = read(claim, shape, f"output {o}")
    need(rows and all(row and len(row) == len(set(row)) for row in rows), f"output {o}", "rows must be sets, not empty")
    need(len(below) == len(rows), f"output {o}", f"{len(rows)} rows, of which {len(below)} are shown to be below")
    e: Rational = 0
    for j, piece in enumerate(pieces):
        law, f = piece.laws[o], {m: piece.vector(components[m]) for m in set().union(*rows)}
        for i, row in enumerate(rows):
            members = {str(m): f[m] for m in row}
            e = max(e, piece.shortfall(below[i][j], [(1, law)], f"output {o}, row {i} below piece {j}", members))
        e = max(e, piece.reach(trees[j], law, rows, f, f"output {o}, reach on piece {j}"))
    return frozenset(map(frozenset, rows)), e


def rounding(off: list[list[Form]], box: Any, n: int, pieces: list[Piece]) -> tuple[Rational, Rational]:
    """`E` as a + b max |x_i|: the largest sum over a group of what its neurons are off."""
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
    centre = [*(Fraction(x + y) / 2 for x, y in zip(low, high, strict=True)), 1]
    half = [*(Fraction(y - x) / 2 for x, y in zip(low, high, strict=True)), 0]
    need(min(half) == 0, "box", "low is above high")
    constants = [sum(abs(sum(x * centre[i] for i, x in d.items())) for d in group) for group in off]
    slopes = [sum(abs(x) * half[i] for d in group for i, x in d.items()) for group in off]
    return (max(constants), max(slopes)) if box is None else (max(map(add, constants, slopes)), 0)


def check(function: Any, network: Any, proof: Any) -> Fraction | tuple[Fraction, Fraction]:
    """The bound of ``|network - function|`` that is proved: a number, or a, b for ``a + b max |x_i|``, or `Refused`."""
    n, outputs, pieces = read_function(function)
    need(pieces, "function", "there are no pieces")
    layers = read_network(network, n, outputs)
    head = {"format": "cpwl-proof", "version": 1, "kind": "max-min", "inputs": n, "components": [[Rational, n + 1]]}
    wires = {"outputs": [Any, outputs], "wiring": [[Any], len(layers) - 1], "output": [Any, outputs]}
    data = read(proof, head | wires | {"error_bound": Any, "box": Any}, "proof")
    components, claims, wiring, output, stated, box = data[4:]
    values = [(1, frozenset([frozenset([m])]), {i: x for i, x in enumerate(f) if x}) for m, f in enumerate(components)]
    last = [{"output": [r], "neurons": [o]} for o, r in enumerate(output)]
    for l, groups in enumerate([*wiring, last]):
        found = [read_group(group, values, layers, l, f"layer {l}, group {g}") for g, group in enumerate(groups)]
        off = off if l else [differences for _, differences in found]
        values = [value for value, _ in found]
    e: Rational = 0
    for o, (sign, rows, _) in enumerate(values):
        claimed, short = sandwich(claims[o], o, [over_one(f) for f in components], pieces)
        need(sign > 0 and rows == claimed, f"output {o}", "the network does not compute these rows")
        e = max(e, short)
    a, b = rounding(off, box, n, pieces)
    bounds = read(stated if type(stated) is list else [stated, 0], [Rational, 2], "error_bound")
    need(a + e <= bounds[0] and b <= bounds[1], "error_bound", f"only {float(a + e)} + {float(b)} |x| is shown")
    return (Fraction(bounds[0]), Fraction(bounds[1])) if type(stated) is list else Fraction(bounds[0])


def load(path: str) -> Any:
    """A JSON file; an object in which a name occurs twice becomes `...`, which is no object."""
    text = Path(path).read_text("utf-8")
    return json.loads(text, object_pairs_hook=lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else ...)


def main(paths: list[str]) -> int:
    if len(paths) != 3:
        print("usage: python checker.py law.json net.json law.proof.json", file=sys.stderr)
        return 64
    getattr(sys, "set_int_max_str_digits", int)(0)  # numbers may have many thousand digits
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
