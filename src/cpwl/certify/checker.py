"""Check a proof that a ReLU network computes a piecewise-linear function on every piece of it.

    python checker.py law.json net.json law.proof.json

Exit status 0: proved, 1: refused, 64: wrong usage, 65: a file cannot be read. What a proof says, and why it is one, is
in docs/proof.md; the words used here are from there. This file needs Python's standard library and nothing else, shares
no code with the package, and decides everything in integers and fractions.
"""

from __future__ import annotations

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
Value = tuple[int, Rows, Form]  # sign and rows: what it stands for; form: how it is read off the layer (level 0: off x)

RATIONAL = re.compile(r"[+-]?[0-9]+(/0*[1-9][0-9]*|\.[0-9]+)?")
COUNT = range(1, sys.maxsize)
NOT_READ = {"domain", "note", "tol"}  # what is proved is proved on every piece, whatever the domain
MOST_ROWS = 10**6  # a hostile wiring could square the number of rows in every layer


class Refused(ValueError):
    """The proof does not show what it has to show; the message says where."""


class Piece(NamedTuple):
    """A piece, or the region of it that cuts have left.

    An affine function is held as the vector of its coefficients (g, o) if the piece is given by rows, and of its values
    at the corners if it is a simplex. Either says all about it on the piece.
    """

    laws: list[Vector]  # one an output
    rows: dict[str, Vector]  # b - a . x, by the number of the row
    next_row: int  # the number of the next cut; the facets of a simplex have numbers, but are not used
    corners: tuple[list[list[int]], int] | None  # of a simplex: (x, 1) of each, over one denominator


def need(condition: object, where: str, reason: str) -> None:
    if not condition:
        raise Refused(f"{where}: {reason}")


def read(value: Any, shape: Any, where: str) -> Any:
    """The value with exact numbers, if it has the shape: `Rational`, a number; a range, an index in it; [shape] and
    [shape, length], a list; {str: shape}, an object; {"name": shape, ..}, an object with these fields, which come back
    in this order; `Any`; else the constant itself. Types are compared with `is`, so that true is not 1.
    """
    if shape is Rational:
        if type(value) is float and math.isfinite(value):
            return int(value) if value.is_integer() else Fraction(value)
        need(type(value) is int or (type(value) is str and RATIONAL.fullmatch(value)), where, "not a number")
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
            raise Refused(f"{where}: {name!a:.60} is {'missing' if name in shape else 'not a field'}")
        return [read(value[name], s, f"{where}.{name}") for name, s in shape.items()]
    if shape is not Any and (type(value) is not int or value not in shape if type(shape) is range else type(value) is not type(shape) or value != shape)
    need(shape is Any or fits, where, f"must be {shape}")
    return value


def over_one(numbers: list[Rational]) -> Vector:
    d = math.lcm(*(x.denominator for x in numbers))
    return [x.numerator * (d // x.denominator) for x in numbers], d


def combine(terms: list[Term]) -> Vector:
    """The sum of the vectors times their factors."""
    d = math.lcm(*(c.denominator * e for c, (_, e) in terms))
    factors = [c.numerator * (d // (c.denominator * e)) for c, (_, e) in terms]
    return [sum(map(mul, factors, column)) for column in zip(*(v for _, (v, _) in terms), strict=True)], d


def on_piece(f: Vector, piece: Piece) -> Vector:
    """The vector on the piece of the affine function with coefficients `f`."""
    if piece.corners is None:
        return f
    return [sum(map(mul, f[0], corner)) for corner in piece.corners[0]], f[1] * piece.corners[1]


def half_space(row: list[Rational]) -> Vector | None:
    """``b - a . x`` of ``a . x <= b``, scaled to integers without a common divisor; None if ``a = 0 <= b``."""
    *a, b = over_one(row)[0]
    divisor = math.gcd(*a, b)
    return ([-x // divisor for x in a] + [b // divisor], 1) if any(a) or b < 0 else None


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


def read_function(function: Any) -> tuple[int, int, list[Piece]]:
    """Inputs, outputs and pieces."""
    table = type(function) is dict and "simplices" in function
    head = {"format": "cpwl", "version": 1, "dim": COUNT, "outputs": COUNT}
    lists = dict.fromkeys(("points", "values", "simplices") if table else ("pieces",), [Any])
    _, _, n, outputs, *data = read(function, head | lists, "function")
    if table:
        points = [over_one([*x, 1])[0] for x in read(data[0], [[Rational, n]], "points")]
        heights = [z if type(z) is list else [z] for z in data[1]]
        values = read(heights, [[Rational, outputs], len(points)], "values")
        simplices = read(data[2], [[range(len(points)), n + 1]], "simplices")
        pieces = [piece for simplex in simplices if (piece := simplex_piece(simplex, points, values))]
    else:
        pieces = [read_piece(piece, n, outputs, f"piece {j}") for j, piece in enumerate(data[0])]
    need(pieces, "function", "there are no pieces")
    return n, outputs, pieces


def read_piece(piece: Any, n: int, outputs: int, where: str) -> Piece:
    A, b, gradient, offset = read(piece, {"A": [[Rational, n]], "b": [Rational], "gradient": [Any], "offset": Any}, where)
    need(len(A) == len(b), where, f"A has {len(A)} rows and b has {len(b)}")
    if outputs == 1 and not all(type(g) is list for g in gradient):
        gradient = [gradient]  # one law may be written without the outer list
    slopes = read(gradient, [[Rational, n], outputs], f"{where}, gradient")
    constants = read(offset if type(offset) is list else [offset], [Rational, outputs], f"{where}, offset")
    laws = [over_one([*g, c]) for g, c in zip(slopes, constants, strict=True)]
    rows = filter(None, [half_space([*a, c]) for a, c in zip(A, b, strict=True)])
    named = {str(r): row for r, row in enumerate(rows)}
    return Piece(laws, named, len(named), None)


def simplex_piece(simplex: list[int], points: list[list[int]], values: list[list[Rational]]) -> Piece | None:
    """The simplex with those corners; points are given as d (x, 1). None if it has no interior."""
    d = math.lcm(*(points[v][-1] for v in simplex))
    corners = [[x * (d // points[v][-1]) for x in points[v]] for v in simplex]
    laws = [over_one(list(column)) for column in zip(*(values[v] for v in simplex), strict=True)]
    return None if is_flat(corners) else Piece(laws, {}, len(simplex), (corners, d))


def read_network(network: Any, n: int, outputs: int) -> list[list[Form]]:
    """What each neuron reads, layer by layer."""
    head = {"format": "cpwl-network", "version": 1, "inputs": n, "outputs": outputs}
    *_, layers = read(network, head | {"layers": [Any]}, "network")
    result, width = [], n
    for l, layer in enumerate(layers):
        shape = {"rows": COUNT, "columns": width, "bias": [Rational], "entries": [[Any, 3]]}
        rows, columns, bias, entries = read(layer, shape, f"layer {l}")
        need(len(bias) == rows, f"layer {l}", f"{rows} rows and {len(bias)} biases")
        neurons: list[Form] = [{columns: x} for x in bias]
        for e, (row, column, weight) in enumerate(entries):
            i, j = read(row, range(rows), f"layer {l}, entry {e}"), read(column, range(columns), f"layer {l}, entry {e}")
            need(j not in neurons[i], f"layer {l}, neuron {i}", f"two weights for input {j}")
            neurons[i][j] = read(weight, Rational, f"layer {l}, neuron {i}, input {j}")
        result.append([{j: x for j, x in neuron.items() if x} for neuron in neurons])
        width = rows
    need(result and width == outputs, "network", f"the last layer must have {outputs} rows")
    return result


def multipliers(weights: dict[str, Rational], vectors: dict[str, Vector], where: str) -> list[Term]:
    """Non-negative factors of some of the vectors, which are named by their numbers."""
    for name, c in weights.items():
        need(name in vectors, where, f"{name!a:.60} cannot have a multiplier here")
        need(c >= 0, where, f"the multiplier of {name} is negative")
    return [(c, vectors[name]) for name, c in weights.items()]


def shortfall(entry: Any, h: list[Term], piece: Piece, where: str, members: dict[str, Vector] | None = None) -> Rational:
    """The least `e` for which the entry proves ``h >= -e`` on the piece; a mean of the `members` is first taken off `h`."""
    by_rows = piece.corners is None
    if type(entry) is dict and "empty" in entry:
        (weights,) = read(entry, {"empty": {str: Rational}}, where)
        values, _ = combine(terms := multipliers(weights, piece.rows, where))
        # A sum that is at least 0 on the piece is a negative constant, or is negative at all corners.
        negative = terms and (values[-1] < 0 and not any(values[:-1]) if by_rows else max(values) < 0)
        need(negative, where, "the multipliers do not show that the region is empty")
        return 0
    shape = {"lambda": {str: Rational}} | ({"t": Rational} if by_rows else {}) | ({"mu": {str: Rational}} if members else {})
    weights, *more = read(entry, shape, where)
    if members:
        mean = multipliers(more.pop(), members, where)
        need(sum(c for c, _ in mean) == 1, where, "the sum of mu is not 1")
        h = h + [(-c, f) for c, f in mean]
    rest, d = combine(h + [(-c, row) for c, row in multipliers(weights, piece.rows, where)])
    if not by_rows:
        return Fraction(max(-min(rest), 0), d)
    t: Rational = more.pop()
    need(not any(rest[:-1]) and rest[-1] * t.denominator == t.numerator * d, where, "the identity does not hold")
    return max(-t, 0)


def reach(tree: Any, law: Vector, rows: list[list[int]], f: dict[int, Vector], piece: Piece, where: str) -> Rational:
    """The least `e` for which the tree proves that every point of the piece has a row that is at least the law - e."""
    worst: list[Rational] = [0]
    todo = [(tree, piece)]  # not by recursion, which a deep tree would exhaust
    while todo:
        node, region = todo.pop()
        if type(node) is dict and "cut" in node:
            cut, *sides = read(node, {"cut": [Rational], "below": Any, "above": Any}, where)
            for side, sign in zip(sides, (1, -1)):
                row = half_space([sign * x for x in cut])
                need(row ...)
                todo.append((side, region._replace(rows=region.rows | {str(region.next_row): on_piece(row, piece)}, next_row=region.next_row + 1)))
        else:
            i, entries = read(node, {"row": range(len(rows)), "members": [Any]}, where)
            need len
            worst += [shortfall(entry, [(1, f[m]), (-1, law)], region, f"{where}, member {m} of row {i}") for m, entry in zip(rows[i], entries)]
    return max(worst)


def claim_error(claim, o, components, pieces) -> tuple[Rows, Rational]:
    """The rows of output `o`, and the error `e` of *below* and *reach*."""
    shape = {"rows": [[range(len(components))]], "below": [[Any, len(pieces)]], "reach": [Any, len(pieces)]}
    rows, below, trees = read(claim, shape, f"output {o}")
    need(rows and all(row and len(set(row)) == len(row) for row in rows) and len(below) == len(rows), ...)
    e = [0]
    for j, piece in enumerate(pieces):
        f = {m: on_piece(components[m], piece) for row in rows for m in row}
        law = piece.laws[o]
        for i, row in enumerate(rows):
            members = {str(m): f[m] for m in row}
            e = max(e, shortfall(below[i][j], [(1, law)], piece, f"output {o}, row {i} below piece {j}", members))
        e = max(e, reach(trees[j], law, rows, f, piece, f"output {o}, reach on piece {j}"))
    return frozenset(map(frozenset, rows)), e


def plus(u: Form, factor: int, v: Form) -> Form:
    """u + factor v."""
    total = u | {i: u.get(i, 0) + factor * x for i, x in v.items()}
    return {i: x for i, x in total.items() if x}


def refer(reference: Any, values: list[Value], where: str) -> Value:
    need(type(reference) is int and 0 < abs(reference) <= len(values), where, "a reference to no value")
    sign, rows, form = values[abs(reference) - 1]
    return (sign, rows, form) if reference > 0 else (-sign, rows, plus({}, -1, form))


def larger(u, v, where) -> (sign, Rows):
    ...


def differences
