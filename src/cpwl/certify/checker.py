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
from operator import mul
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
        need(text or type(value) is int or (type(value) is float and math.isfinite(value)), where, "not a number")
        return value if type(value) is int else Fraction(value)
    if type(shape) is list:
        need(type(value) is list, where, "not a list")
        need(len(value) in (shape[1:] or [len(value)]), where, f"a list of {len(value)} must have length {shape[-1]}")
        return [read(x, shape[0], f"{where}[{i}]") for i, x in enumerate(value)]
    if type(shape) is dict:
        need(type(value) is dict, where, "not an object")
        if str in shape:
            return {name: read(x, shape[str], where) for name, x in value.items()}
        for name in shape.keys() ^ (value.keys() - NOT_READ):
            raise Refused(f"{where}: the field {name!a:.60} is {'missing' if name in shape else 'unknown'}")
        return [read(value[name], s, f"{where}.{name}") for name, s in shape.items()]
    if type(shape) is range:
        need(type(value) is int and value in shape, where, f"not in {shape}")
    elif shape is not Any:
        need(type(value) is type(shape) and value == shape, where, f"not {shape}")
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
    while matrix:
        (p, *pivot), *others = sorted(matrix, key=lambda row: row[0] == 0)
        if p == 0:
            return True
        matrix = [[(p * x - first * y) // before for x, y in zip(row, pivot, strict=True)] for first, *row in others]
        before = p
    return False


def terms(weights: dict[str, Rational], vectors: dict[str, Vector], sign: int, where: str) -> list[Term]:
    """Non-negative multiples of some of the vectors, which are named by their numbers, to be added or taken off."""
    need(weights.keys() <= vectors.keys(), where, "a multiplier for a number that has none")
    need(min(weights.values(), default=0) >= 0, where, "a negative multiplier")
    return [(sign * c, vectors[name]) for name, c in weights.items()]


class Piece(NamedTuple):
    """A piece, or the region of it that cuts have left. An affine function is held as the vector of its coefficients if
    the piece is given by rows, and of its values at the corners if it is a simplex. Either says all about it there.
    """

    laws: list[Vector]  # one an output
    rows: dict[str, Vector]  # b - a . x, by the number of the row
    next_row: int  # the number of the next cut; the facets of a simplex have numbers, but are not used
    corners: tuple[list[list[int]], int] | None  # of a simplex: (x, 1) of each, over one denominator

    def vector(self, f: Vector) -> Vector:
        """The affine function with coefficients `f`."""
        if self.corners is None:
            return f
        return [sum(map(mul, f[0], corner)) for corner in self.corners[0]], f[1] * self.corners[1]

    def least(self, sum_of: list[Term], where: str) -> Rational:
        """The least value of a sum at the corners; without corners it must be constant."""
        d = math.lcm(*(c.denominator * e for c, (_, e) in sum_of))
        factors = [c.numerator * (d // (c.denominator * e)) for c, (_, e) in sum_of]
        values = [sum(map(mul, factors, column)) for column in zip(*(v for _, (v, _) in sum_of), strict=True)]
        need(self.corners or not any(values[:-1]), where, "the slopes on the two sides of the identity differ")
        return Fraction(min(values) if self.corners else values[-1], d)

    def shortfall(self, entry: Any, h: list[Term], where: str, members: dict[str, Vector] | None = None) -> Rational:
        """The least `e` for which the entry proves ``h >= -e`` here; a mean of the `members` is first taken off `h`."""
        if type(entry) is dict and "empty" in entry:
            (weights,) = read(entry, {"empty": WEIGHTS}, where)
            below = terms(weights, self.rows, -1, where)  # on the region this is at most 0
            need(self.least([(0, self.laws[0]), *below], where) > 0, where, "the region is not shown to be empty")
            return 0
        shape = {"lambda": WEIGHTS} | ({} if self.corners else {"t": Rational}) | ({"mu": WEIGHTS} if members else {})
        weights, *others = read(entry, shape, where)
        if members:
            need(sum(others[-1].values()) == 1, where, "the sum of mu is not 1")
            h = h + terms(others[-1], members, -1, where)
        least = self.least(h + terms(weights, self.rows, -1, where), where)
        need(self.corners or least == others[0], where, "the constants on the two sides of the identity differ")
        return max(-least, 0)

    def reach(self, tree: Any, law: Vector, rows: list[list[int]], f: dict[int, Vector], where: str) -> Rational:
        """The least `e` for which the tree proves that every point here has a row that is at least the law - e."""
        e: Rational = 0
        todo = [(tree, self)]  # no recursion: a deep tree would exhaust it
        while todo:
            node, region = todo.pop()
            if type(node) is dict and "cut" in node:
                cut, *sides = read(node, {"cut": [Rational, len(law[0])], "below": Any, "above": Any}, where)
                for side, row in zip(sides, (cut, [-x for x in cut]), strict=True):
                    more = {str(region.next_row): self.vector(half_space(row))}
                    todo.append((side, region._replace(rows=region.rows | more, next_row=region.next_row + 1)))
            else:
                i, entries = read(node, {"row": range(len(rows)), "members": [Any]}, where)
                need(len(entries) == len(rows[i]), where, f"row {i} has {len(rows[i])} members")
                for m, entry in zip(rows[i], entries, strict=True):
                    e = max(e, region.shortfall(entry, [(1, f[m]), (-1, law)], f"{where}, member {m} of row {i}"))
        return e


def read_piece(piece: Any, n: int, outputs: int, where: str) -> Piece:
    A, b, gradient, offset = read(piece, {"A": [[Rational, n]], "b": [Rational], "gradient": [Any], "offset": Any}, where)
    need(len(A) == len(b), where, f"A has {len(A)} rows and b has {len(b)}")
    if outputs == 1 and not all(type(g) is list for g in gradient):
        gradient = [gradient]  # one law may be written without the outer list
    slopes = read(gradient, [[Rational, n], outputs], f"{where}, gradient")
    constants = read(offset if type(offset) is list else [offset], [Rational, outputs], f"{where}, offset")
    rows = [half_space([*a, c]) for a, c in zip(A, b, strict=True)]
    named = {str(r): row for r, row in enumerate(row for row in rows if any(row[0][:-1]) or row[0][-1] < 0)}
    return Piece([over_one([*g, c]) for g, c in zip(slopes, constants, strict=True)], named, len(named), None)


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
        if not is_flat(corners):
            laws = [over_one([values[v][o] for v in simplex]) for o in range(outputs)]
            pieces.append(Piece(laws, {}, n + 1, (corners, d)))
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


def refer(reference: Any, values: list[Value], where: str) -> Value:
    need(type(reference) is int and 0 < abs(reference) <= len(values), where, "a reference to no value")
    sign, rows, form = values[abs(reference) - 1]
    return (sign, rows, form) if reference > 0 else (-sign, rows, plus({}, -1, form))


def read_group(group: Any, values: list[Value], layer: list[Form], exact: bool, where: str) -> tuple[Value, list[Form]]:
    """The value of a group, and by how much its neurons read something else than it says (if `exact`, they must not)."""
    kind, size = ("max", 2) if type(group) is dict and "max" in group else ("carry", 1)
    references, neurons = read(group, {kind: [Any, size], "neurons": [range(len(layer)), size + 1]}, where)
    (sign, rows, u), *others = [refer(r, values, where) for r in references]
    said = [*(plus(v, -1, u) for _, _, v in others), u, plus({}, -1, u)]
    for other, more, _ in others:
        need(sign == other, where, "a maximum of a positive and a negative value")
        need(sign > 0 or len(rows) * len(more) <= MOST_ROWS, where, f"a minimum with more than {MOST_ROWS} rows")
        rows = rows | more if sign > 0 else frozenset(a | b for a in rows for b in more)
    form: Form = {}
    for i, factor in zip(neurons, (1, 1, -1)[-len(neurons) :], strict=True):  # s_i + s_j - s_k: a neuron may come twice
        form = plus(form, factor, {i: 1})
    off = [plus(layer[i], -1, f) for i, f in zip(neurons, said, strict=True)]
    for i, d in zip(neurons, off, strict=True):
        need(not (exact and d), f"{where}, neuron {i}", "the weights are not what the group says")
    return (sign, rows, form), off
