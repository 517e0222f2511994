"""Functions and networks as a proof speaks of them: pieces with their laws, and what each neuron reads."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import mul
from typing import Any, NamedTuple, TypeVar

from cpwl_check.budget import long, longest, need, spend, total, work
from cpwl_check.reading import COUNT, WEIGHTS, Rational, read

Vector = tuple[list[int], int]  # integers over one positive denominator: many times faster than fractions
Term = tuple[Rational, Vector]  # a vector with the factor that it has in a sum
Short = tuple[Fraction, str]  # by how much something falls short, and where
Form = dict[int, Rational]  # a linear form: its nonzero coefficients; a bias is the coefficient after the last input's
Forms = list[Form]
Layers = list[Forms]  # a network: what each neuron reads, layer by layer
Bound = Fraction | tuple[Fraction, Fraction]  # a number, or (a, b) for a + b max |x_i|
Key = TypeVar("Key")
Number = TypeVar("Number", Fraction, Rational, int, float)
PRIME = 2**61 - 1
FIXED = 192  # bits behind the point of weights that are rounded, where that is paid for
LARGE = 10**300


def pair(bound: Bound) -> tuple[Fraction, Fraction]:
    """(a, b) of a bound; of a number b is 0."""
    return bound if isinstance(bound, tuple) else (bound, Fraction(0))


def read_bound(stated: Any) -> Bound:
    """The bound that a proof states."""
    a, b = read(stated if type(stated) is list else [stated, 0], [Rational, 2], "error_bound")
    need(max(a, b) < LARGE, "error_bound", "it is 10^300 or more")
    return (Fraction(a), Fraction(b)) if type(stated) is list else Fraction(a)


def plus(u: dict[Key, Number], factor: Number | int, v: dict[Key, Number]) -> dict[Key, Number]:
    """The form ``u + factor v``."""
    total = u | {i: u.get(i, 0) + factor * x for i, x in v.items()}
    return {i: x for i, x in total.items() if x}


def common(denominators: Iterable[int]) -> int:
    """The least common multiple, which may be as long as all of them together."""
    d = 1
    for e in denominators:
        if d % e:
            d = math.lcm(d, e)
            spend(long(d), "denominators")
    return d


def over_one(numbers: Sequence[Rational]) -> Vector:
    d = common(x.denominator for x in numbers)
    spend(1 + len(numbers) * (32 + d.bit_length()) // 256, "denominators")
    return [x.numerator * (d // x.denominator) for x in numbers], d


def half_space(row: list[Rational]) -> Vector:
    """``b - a . x`` of the row ``a . x <= b``, scaled to integers without a common divisor."""
    *a, b = over_one(row)[0]
    divisor = math.gcd(*a, b) or 1
    return [-x // divisor for x in a] + [b // divisor], 1


def is_flat(matrix: list[list[int]]) -> bool:
    """Whether the determinant is 0: it is not if it is not so modulo a prime."""
    return has_determinant_0(matrix, PRIME) and has_determinant_0(matrix, None)


def has_determinant_0(matrix: list[list[int]], prime: int | None) -> bool:
    """By elimination without fractions (Bareiss 1968), or modulo a prime."""
    before = 1
    while matrix and before:
        spend(1 + (work(2 * len(matrix) ** 2, *[longest(matrix)] * 2)), "simplices")
        (p, *pivot), *others = sorted(matrix, key=lambda row: row[0] == 0)
        parts = ([p * x - first * y for x, y in zip(row, pivot, strict=True)] for first, *row in others)
        matrix = [[x % prime if prime else x // before for x in row] for row in parts]
        before = p
    return before == 0


def solved(piece: "Piece") -> list[Vector]:
    """The coefficients of the affine functions that have the values of a simplex at its corners, by elimination."""
    count = len(piece.corners)
    rows = [
        [Fraction(v, piece.scale) for v in x] + [Fraction(f[k], d) for f, d in piece.laws]
        for k, x in enumerate(piece.corners)
    ]
    for j in range(count):  # the corners of a simplex that is not flat are independent: there is a pivot
        k = next(i for i in range(j, count) if rows[i][j])
        rows[j], rows[k] = rows[k], rows[j]
        rows[j] = [v / rows[j][j] for v in rows[j]]
        spend(count * (len(rows[j]) + sum(map(long, rows[j]))), "simplices")
        for i in range(count):
            if i != j and rows[i][j]:
                rows[i] = [u - rows[i][j] * v for u, v in zip(rows[i], rows[j], strict=True)]
    return [over_one([row[count + o] for row in rows]) for o in range(len(piece.laws))]


class Piece(NamedTuple):
    """A piece, or the region of it that cuts have left. An affine function is held as the vector of its coefficients if
    the piece is given by rows, and of its values at the corners if it is a simplex. Either says all about it there."""

    laws: list[Vector]  # one an output
    rows: dict[str, Vector]  # b - a . x, by its number; of a simplex, only cuts
    corners: list[list[int]]  # of a simplex: `scale` times (x, 1) of each; otherwise there are none
    scale: int

    def vector(self, f: Vector) -> Vector:
        """The affine function with coefficients `f`."""
        if not self.corners:
            return f
        spend(1 + work(len(f[0]) ** 2, longest([f[0]]), longest(self.corners)), "simplices")
        return [sum(map(mul, f[0], x)) for x in self.corners], f[1] * self.scale

    def shortfall(self, entry: Any, h: list[Term], where: str) -> Short:
        """The least `e` for which the entry proves ``h >= -e`` here."""
        empty = type(entry) is dict and "empty" in entry
        more = {} if self.corners or empty else {"t": Rational}
        weights, *others = read(entry, {"empty" if empty else "lambda": WEIGHTS} | more, where)
        terms = [(0, self.laws[0])] if empty else h
        spend(10 + (len(terms) + len(weights)) * len(h[0][1][0]) // 4, where)
        need(weights.keys() <= self.rows.keys(), where, "there is a multiplier for a row that does not exist")
        need(min(weights.values(), default=0) >= 0, where, "there is a negative multiplier")
        terms = terms + [(-c, self.rows[name]) for name, c in weights.items()]
        d = common(c.denominator * e for c, (_, e) in terms)
        scaled = [c.numerator * (d // (c.denominator * e)) for c, (_, e) in terms]
        rest = [sum(map(mul, scaled, column)) for column in zip(*(v for _, (v, _) in terms), strict=True)]
        spend(len(terms) * work(len(rest), longest([scaled]), longest([rest])), where)
        least = Fraction(min(rest) if self.corners else rest[-1], d)
        holds = self.corners or (not any(rest[:-1]) and (empty or least == others[0]))
        need(holds, where, "the two sides of the identity differ")
        # Where it is empty, something that is at least 0 on the region was taken off 0, and something positive is left.
        need(least > 0 or not empty, where, "the region is not shown to be empty")
        return max(-least, Fraction(0)), where

    def cut(self, node: Any, n: int, where: str) -> list[tuple[Any, "Piece"]] | None:
        """For a node {"cut": row, "below": node, "above": node} the two nodes with their regions; None for a leaf."""
        found = read_cut(node, n, where)
        if found is None:
            return None
        row, *sides = found
        count = str(len(self.rows) + len(self.corners))  # a simplex has n + 1 facets
        spend(10 + len(self.rows), where)
        both = zip(sides, (row, [-x for x in row]), strict=True)
        return [(side, self._replace(rows=self.rows | {count: self.vector((own, 1))})) for side, own in both]


def read_cut(node: Any, n: int, where: str) -> tuple[list[int], Any, Any] | None:
    """Of a node {"cut": row, "below": node, "above": node} the row that is at least 0 below, and the nodes; None for a
    leaf."""
    if type(node) is not dict or "cut" not in node:
        return None
    cut, below, above = read(node, {"cut": [Rational, n + 1], "below": Any, "above": Any}, where)
    return half_space(cut)[0], below, above


def laws_of(piece: Piece) -> list[Vector]:
    """The laws of a piece by their coefficients, those of a simplex, too."""
    return solved(piece) if piece.corners else piece.laws


class Law(NamedTuple):
    """The function of a file."""

    n: int
    outputs: int
    pieces: list[Piece]
    flat: int  # simplices without interior, which are left out
    domain: list[list[int]] | None  # the rows of the stated domain, as those of pieces


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
    return Piece(laws, {str(r): row for r, row in enumerate(rows)}, [], 1)


def read_function(function: Any) -> Law:
    """The function; a simplex without interior is left out, and a row 0 . x <= 1 says nothing."""
    table = type(function) is dict and "simplices" in function
    names = ["points", "values", "simplices"] if table else ["pieces"]
    head = {"format": "cpwl", "version": 1, "dim": COUNT, "outputs": COUNT}
    _, _, n, outputs, *data = read(function, head | {name: [Any] for name in names}, "function")
    domain = read_domain(function["domain"], n) if function.get("domain") is not None else None
    if not table:
        pieces = [read_piece(piece, n, outputs, f"piece {j}") for j, piece in enumerate(data[0])]
        return Law(n, outputs, pieces, 0, domain)
    pieces = []
    points = [over_one([*x, 1])[0] for x in read(data[0], [[Rational, n]], "points")]  # d (x, 1)
    values = read([z if type(z) is list else [z] for z in data[1]], [[Rational, outputs], len(points)], "values")
    simplices = read(data[2], [[range(len(points)), n + 1]], "simplices")
    for simplex in simplices:
        d = common(points[v][-1] for v in simplex)
        spend((n + 1) ** 2 * (64 + d.bit_length()) // 256, "simplices")
        corners = [[x * (d // points[v][-1]) for x in points[v]] for v in simplex]
        if not is_flat(corners):
            laws = [over_one([values[v][o] for v in simplex]) for o in range(outputs)]
            pieces.append(Piece(laws, {}, corners, d))
    return Law(n, outputs, pieces, len(simplices) - len(pieces), domain)


def read_domain(domain: Any, n: int) -> list[list[int]]:
    """Rows that are at least 0 on a polyhedron ``A x <= b``."""
    A, b = read(domain, {"A": [[Rational, n]], "b": [Rational]}, "domain")
    need(len(A) == len(b), "domain", f"A has {len(A)} rows and b has {len(b)}")
    return [half_space([*a, c])[0] for a, c in zip(A, b, strict=True)]


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
    need(result and width == outputs, "network", "it has no layers, or not as many outputs as it says")
    return result


def need_inside(box: Any, n: int, pieces: list[Piece]) -> list[tuple[Rational, Rational]] | None:
    """The ends of the box, after the proof that every piece lies in it; None without a box."""
    if box is None:
        return None
    low, high, proof = read(box, {"low": [Rational, n], "high": [Rational, n], "proof": Any}, "box")
    if proof is None and pieces[0].corners:
        proof = [[{"lambda": {}}] * (2 * n)] * len(pieces)  # that is, look at the corners
    for j, entries in enumerate(read(proof, [[Any, 2 * n], len(pieces)], "box.proof")):
        for i, entry in enumerate(entries):
            h = over_one([(k == i - n) - (k == i) for k in range(n)] + [high[i] if i < n else -low[i - n]])
            short, where = pieces[j].shortfall(entry, [(1, pieces[j].vector(h))], f"box, piece {j}, entry {i}")
            need(short == 0, where, "the piece is not inside")
    return list(zip(low, high, strict=True))


# --- Networks that are nearly the same --------------------------------------------------------------------------------


def difference(layers: Layers, exact: Layers, size: list[Fraction], one: Fraction) -> Fraction | None:
    """How far the outputs of two networks are apart, for inputs of these sizes; `one` is the size of the number 1. None
    if something on the way is 10^300 or more."""
    spend(2 * sum(len(form) for layer in (*layers, *exact) for form in layer), "network")
    off = [Fraction(0)] * len(size)
    for real, meant in zip(layers, exact, strict=True):
        size, off = [*size, one], [*off, Fraction(0)]  # a bias is multiplied with 1
        moved = [{j: v.get(j, 0) - w.get(j, 0) for j in v | w} for v, w in zip(real, meant, strict=True)]
        off = [added(d, size) + added(v, off) for d, v in zip(moved, real, strict=True)]
        size = [added(w, size) for w in meant]
        if max([*size, *off]) >= LARGE:
            return None
        size, off = [up(x) for x in size], [up(x) for x in off]
    return max(off)


def added(weights: Form, sizes: list[Fraction]) -> Fraction:
    return total((abs(Fraction(x)) * sizes[j] for j, x in weights.items()), "network")


def up(x: Fraction) -> Fraction:
    """A short number that is not smaller."""
    return Fraction(math.nextafter(x, math.inf)) if x else x


def fixed(layers: Layers) -> list[list[dict[int, int]]]:
    """All weights in multiples of 2^-FIXED, rounded downwards."""
    return [
        [{j: (w.numerator << FIXED) // w.denominator for j, w in form.items()} for form in layer] for layer in layers
    ]


def unfixed(layers: list[list[dict[int, int]]]) -> Layers:
    return [[{j: Fraction(w, 2**FIXED) for j, w in form.items()} for form in layer] for layer in layers]
