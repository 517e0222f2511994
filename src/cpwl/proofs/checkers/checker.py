"""Check a proof that a ReLU network computes a piecewise-linear function: checker.py law.json net.json law.proof.json

Exit status 0: proved, 1: refused, 64: wrong usage, 65: unreadable file. What a proof says, and why it is one, is in
docs/proof.md, in the words used here. Only the standard library, no code of the package, only integers and fractions.
"""

import functools
import json
import math
import re
import runpy
import sys
from fractions import Fraction
from operator import add, and_, mul
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

Rational = int | Fraction
Vector = tuple[list[int], int]  # integers over one positive denominator: many times faster than fractions
Term = tuple[Rational, Vector]  # a vector with the factor that it has in a sum
Short = tuple[Fraction, str]  # by how much something falls short, and where
Form = dict[int, Rational]  # a linear form: its nonzero coefficients; a bias is the coefficient after the last input's
Forms = list[Form]
Bound = Fraction | tuple[Fraction, Fraction]  # a number, or (a, b) for a + b max |x_i|
Value = tuple[int, frozenset[frozenset[int]], Form]  # sign and rows of a max of mins; its form in the neurons (or in x)
RATIONAL = re.compile(r"[+-]?[0-9]+(/0*[1-9][0-9]*|\.[0-9]+)?")
COUNT = range(1, sys.maxsize)
WEIGHTS = {str: Rational}
NOT_READ = {"domain", "note", "tol"}  # what is proved is proved on every piece, whatever the domain
BESIDE = ("rounded", "near", "line", "clamped", "expression", "strip")  # kinds that a file beside this one checks


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
        limit = getattr(sys, "get_int_max_str_digits", int)() or math.inf  # `main` lifts it
        text = type(value) is str and len(value) <= limit and RATIONAL.fullmatch(value)
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

    def shortfall(self, entry: Any, h: list[Term], where: str, members: dict[str, Vector] | None = None) -> Short:
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
        return max(-least, Fraction(0)), where

    def reach(self, tree: Any, law: Vector, rows: list[list[int]], f: dict[int, Vector], where: str) -> Short:
        """The least `e` for which the tree proves that every point here has a row that is at least the law - e."""
        e, todo = (Fraction(0), where), [(tree, self)]  # no recursion, which a deep tree would exhaust
        for node, region in todo:
            if type(node) is dict and "cut" in node:
                cut, below, above = read(node, {"cut": [Rational, len(law[0])], "below": Any, "above": Any}, where)
                number = str(len(region.rows) + len(self.corners or []))  # a simplex has n + 1 facets
                for side, row in ((below, cut), (above, [-x for x in cut])):
                    todo.append((side, region._replace(rows=region.rows | {number: self.vector(half_space(row))})))
                continue
            i, entries = read(node, {"row": range(len(rows)), "members": [Any]}, where)
            for m, entry in zip(rows[i], read(entries, [Any, len(rows[i])], where), strict=True):
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


def sandwich(claim: Any, o: int, meant: Value, components: list[list[Rational]], pieces: list[Piece]) -> Short:
    """The least `e` for which *below* and *reach* are proved for output `o` and the rows that the network computes."""
    k, q, number = len(components), len(pieces), len(meant[1])
    shape = {"rows": [[range(k)], number], "below": [[Any, q], number], "reach": [Any, q]}
    rows, below, trees = read(claim, shape, f"output {o}")
    need(meant[:2] == (1, frozenset(map(frozenset, rows))), f"output {o}", "the network does not compute these rows")
    e = (Fraction(0), "")
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
                h = over_one([(k == i - n) - (k == i) for k in range(n)] + [high[i] if i < n else -low[i - n]])
                short, where = pieces[j].shortfall(entry, [(1, pieces[j].vector(h))], f"box, piece {j}, entry {i}")
                need(short == 0, where, "the piece is not inside")
    centre = [Fraction(x + y) / 2 for x, y in zip(low, high, strict=True)] + [Fraction(1)]
    half = [abs(Fraction(y - x)) / 2 for x, y in zip(low, high, strict=True)] + [Fraction(0)]
    constants = [sum(abs(sum((x * centre[i] for i, x in d.items()), Fraction(0))) for d in group) for group in off]
    slopes = [sum(abs(x * half[i]) for d in group for i, x in d.items()) for group in off]
    return (max(constants), max(slopes)) if box is None else (max(map(add, constants, slopes)), 0)


# --- Proofs of kind "bends" -------------------------------------------------------------------------------------------
# A point x is held as integers, a positive multiple of (x, 1), a direction as (x, 0); all functions are homogeneous.

LIMIT = 20000  # regions into which one question may be cut
Steps = dict[frozenset[int], int]  # a sum of factors times products of indicators of half-spaces, see `Atom.side`
Jumps = dict[int, Steps]  # one for each plane


def dot(u: list[int], v: list[int]) -> int:
    return sum(map(mul, u, v))


def minus(v: list[int]) -> list[int]:
    return [-x for x in v]


def show(x: list[int]) -> str:
    short = [str(Fraction(v, x[-1] or 1)) for v in x[:-1]] if max(map(abs, x)) < 10**500 else "a place far away"
    return f"{'x =' if x[-1] else 'the end of'} {short}"


def mix(a: int, u: list[int], b: int, v: list[int]) -> list[int]:
    """``a u + b v``, up to a positive factor."""
    w = [a * x + b * y for x, y in zip(u, v, strict=True)]
    divisor = math.gcd(*w) or 1
    return [x // divisor for x in w]


class Cone(NamedTuple):
    """All sums of multiples of the lines and of non-negative multiples of the rays; at the same time, all places where
    some rows are at least 0. A ray has bit r set if row r is 0 there. No ray is a sum of others, up to lines."""

    lines: list[list[int]]
    rays: list[tuple[list[int], int]]
    rows: int

    def generators(self) -> list[list[int]]:
        return [ray for ray, _ in self.rays] + self.lines + [minus(line) for line in self.lines]

    def cut(self, row: list[int]) -> "Cone":
        """The part where the row is at least 0 (double description: Motzkin, Raiffa, Thompson and Thrall 1953)."""
        bit = 1 << self.rows
        for i, line in enumerate(self.lines):
            if v := dot(row, line):
                ray, v = (line, v) if v > 0 else (minus(line), -v)
                lines = [mix(v, g, -dot(row, g), ray) for g in self.lines[:i] + self.lines[i + 1 :]]
                rays = [(mix(v, g, -dot(row, g), ray), bits | bit) for g, bits in self.rays]
                return Cone(lines, [*rays, (ray, bit - 1)], self.rows + 1)
        values = [(dot(row, g), g, bits) for g, bits in self.rays]
        above, below = [x for x in values if x[0] > 0], [x for x in values if x[0] < 0]
        need(len(above) * len(below) <= 10**6, "geometry", "a region has too many corners")
        on = {bits | bit: g for v, g, bits in values if v == 0}
        new = {b & c | bit: (u, h, -v, g) for u, g, b in above for v, h, c in below}
        # Of the new rays those are no sums of others for which no other one is 0 in more rows.
        extreme = [b for b in new if not any(b & c == b != c for c in (*on, *new))]
        on = {b: mix(*new[b]) for b in extreme} | on
        return Cone(self.lines, [(g, bits) for _, g, bits in above] + [(g, b) for b, g in on.items()], self.rows + 1)

    def side(self, row: list[int]) -> int:
        """1 if the row is negative nowhere here, -1 if it is positive nowhere, 0 if it has both signs."""
        if any(dot(row, line) for line in self.lines):
            return 0
        values = [dot(row, g) for g, _ in self.rays]
        return 1 if min(values, default=0) >= 0 else -1 if max(values) <= 0 else 0


def region(n: int, rows: list[list[int]]) -> Cone:
    """The cone over the points where all rows are at least 0."""
    unit = [[int(i == j) for j in range(n + 1)] for i in range(n + 1)]
    return functools.reduce(Cone.cut, [unit[n], *rows], Cone(unit, [], 0))


def each(todo: list[Any], limit: int, where: str, reason: str) -> Any:
    """The last one of a list that may grow, again and again until it is empty; `Refused` if that takes too many."""
    while todo:
        need(limit, where, reason)
        limit -= 1
        yield todo.pop()


def local(steps: Steps, sides: dict[int, int]) -> Steps:
    """The same where the planes have these sides; a side of 0 leaves it open."""
    total: Steps = {}
    for product, factor in steps.items():
        signs = {s: sides[abs(s)] * (1 if s > 0 else -1) for s in product}
        if -1 not in signs.values():
            rest = frozenset(s for s, sign in signs.items() if sign == 0)
            total[rest] = total.get(rest, 0) + factor
    return {product: factor for product, factor in total.items() if factor}


class Atom(NamedTuple):
    """The output of a neuron: relu(Y), which is Y where l >= 0 and 0 where l <= 0. For a hinge Y = l."""

    side: int  # l is plane k if this is k + 1, and minus plane k if this is -(k + 1)
    row: list[int]  # l
    affine: list[int]  # Y is this ..
    terms: list[tuple[int, int]]  # .. plus a sum of factors times atoms of lower numbers


class Circuit:
    """What the neurons compute: forms with the coefficients of (x, 1), and that of atom i at place n + 1 + i."""

    def __init__(self, n: int, planes: list[list[int]]) -> None:
        self.n, self.planes, self.atoms, self.hinges = n, planes, list[Atom](), dict[int, int]()
        self.known: dict[tuple[int, ...], dict[int, int]] = {}  # values of atoms at points
        self.number = {tuple(v): s * (k + 1) for k, row in enumerate(planes) for s, v in ((1, row), (-1, minus(row)))}
        need(len(self.number) == 2 * len(planes), "planes", "one comes twice")

    def reads(self, weights: Form, before: list[Form | None], where: str) -> Form:
        """What a neuron with these weights reads."""
        total: dict[int, Rational] = {self.n: weights.get(len(before), 0)}
        for j, weight in weights.items():
            form = before[j] if j < len(before) else {}
            need(form is not None, where, f"it reads neuron {j}, which has no role")
            for i, x in (form or {}).items():
                total[i] = total.get(i, 0) + weight * x
        return {i: x for i, x in total.items() if x}

    def whole(self, form: Form) -> tuple[list[int], list[tuple[int, int]], int]:
        """A positive multiple of the form in integers: its affine part, its factors and atoms, and the multiple."""
        names = [i for i in form if i > self.n]
        numbers, d = over_one([form.get(i, 0) for i in range(self.n + 1)] + [form[i] for i in names])
        atoms = [(c, i - self.n - 1) for c, i in zip(numbers[self.n + 1 :], names, strict=True)]
        return numbers[: self.n + 1], atoms, d

    def hinge(self, form: Form) -> Form:
        """The ReLU of an affine form; relu(-l) is held as relu(l) - l."""
        row, _, d = self.whole(form)
        if not any(row[:-1]):
            return {self.n: form[self.n]} if row[-1] > 0 else {}
        plane = mix(1, row, 0, row)
        if tuple(plane) not in self.number:
            self.planes.append(plane)
            self.number |= {tuple(plane): len(self.planes), tuple(minus(plane)): -len(self.planes)}
        side = self.number[tuple(plane)]
        if abs(side) not in self.hinges:
            self.hinges[abs(side)] = len(self.atoms)
            self.atoms.append(Atom(abs(side), self.planes[abs(side) - 1], self.planes[abs(side) - 1], []))
        more: Form = {self.n + 1 + self.hinges[abs(side)]: Fraction(math.gcd(*row), d)}
        return more if side > 0 else form | more

    def value(self, a: int, x: list[int], known: dict[int, int], most: bool = False) -> int:
        """Of an atom at a point; with `most` a bound above, at a sum of points at most the sum of those at each."""
        if a not in known:
            _, row, affine, terms = self.atoms[a]
            read = dot(affine, x) + sum(c * self.value(b, x, known, most) for c, b in terms if c > 0 or not most)
            known[a] = max(0, read) if most else dot(row, x) > 0 and read
        return known[a]

    def need_sign(self, form: Form, sign: int, cone: Cone, where: str) -> None:
        """Shows that `sign` times the form is at least 0 on the cone: by its generators, or else by those of halves."""
        affine, terms, _ = self.whole(form)
        todo = [(cone, [sign * x for x in affine], {a: sign * c for c, a in terms})]
        for part, rest, factors in each(todo, LIMIT, where, f"the sign is not shown with {LIMIT} regions"):
            rest, factors = self.fold(part, rest, dict(factors))
            worst, place = 0, list[int]()
            for g in part.generators():
                # A concave bound: an atom is at least 0, and at most `most`. At generators only its values count.
                known: dict[int, int] = {}
                low = dot(rest, g) + sum(c * self.value(a, g, known, True) for a, c in factors.items() if c < 0)
                worst, place = (low, g) if low < worst else (worst, place)
            if worst:
                at, above = dict[int, int](), dict[int, int]()
                lost = {a: c * self.value(a, place, at) for a, c in factors.items()}
                lost |= {a: lost[a] - c * self.value(a, place, above, True) for a, c in factors.items() if c < 0}
                need(worst + sum(lost.values()) >= 0, where, "this has the wrong sign at " + show(place))
                row = self.atoms[max(lost, key=lambda a: lost[a])].row
                todo += [(part.cut(r), rest, factors) for r in (row, minus(row))]

    def fold(self, part: Cone, rest: list[int], factors: dict[int, int]) -> tuple[list[int], dict[int, int]]:
        """The same sum there; atoms that are Y, or 0, all over the cone are replaced by that."""
        kept = {}
        for a in range(max(factors, default=-1), -1, -1):
            if c := factors.get(a, 0):
                atom = self.atoms[a]
                side = part.side(atom.row)
                if side > 0:
                    rest = [x + c * y for x, y in zip(rest, atom.affine, strict=True)]
                    for d, b in atom.terms:
                        factors[b] = factors.get(b, 0) + c * d
                elif side == 0:
                    kept[a] = c
        return rest, kept

    def bends(self, form: Form, where: str) -> Jumps:
        """For each plane the jump of the slope across it, times a factor: a step function on the plane."""
        _, terms, _ = self.whole(form)
        todo, jumps = [(c, a, frozenset[int]()) for c, a in terms], Jumps()
        for factor, a, inside in each(todo, 10**7, where, "there are too many products of indicators"):
            atom = self.atoms[a]
            if -atom.side not in inside:
                product = inside | {atom.side}  # the form has the term: factor times [product] times atom.affine
                for s in product:
                    slope = factor * atom.affine[next(i for i, x in enumerate(self.planes[abs(s) - 1]) if x)]
                    steps, others = jumps.setdefault(abs(s), {}), product - {s}
                    steps[others] = steps.get(others, 0) + (slope if s > 0 else -slope)
                todo += [(factor * c, b, product) for c, b in atom.terms]
        return {k: nonzero for k, steps in jumps.items() if (nonzero := {p: c for p, c in steps.items() if c})}

    def is_zero(self, steps: Steps, cone: Cone, where: str) -> bool:
        """Whether a step function is 0 on the cone, but for its boundary and the planes."""
        todo = [(steps, cone)]
        for steps, part in each(todo, LIMIT, where, f"the bends are not known with {LIMIT} regions"):
            names = {abs(s) for product in steps for s in product}
            left = local(steps, {k: part.side(self.planes[k - 1]) for k in names})
            cuts = set().union(*left)
            if left and not cuts:
                return False
            if left:
                row = self.planes[abs(min(cuts)) - 1]
                todo += [(left, part.cut(r)) for r in (row, minus(row))]
        return True


def read_roles(roles: Any, layers: list[Forms], limits: list[list[int]], circuit: Circuit) -> list[Form]:
    """The outputs as forms. What the proof says of the neurons above the first hidden layer is shown on the way."""
    cones: dict[tuple[int, ...], Cone] = {}
    values: list[Form | None] = [{i: 1} for i in range(circuit.n)]
    for l, layer in enumerate(layers[:-1]):
        inputs = [circuit.reads(weights, values, f"layer {l}, neuron {i}") for i, weights in enumerate(layer)]
        values = [circuit.hinge(form) for form in inputs] if l == 0 else []
        sides = range(-len(circuit.planes), len(circuit.planes) + 1)
        for i, (form, role) in enumerate(zip(inputs, roles[l - 1], strict=True) if l else []):
            where = f"layer {l}, neuron {i}"
            if role is None:
                values.append(None)
                continue
            kind = next((k for k in ("gate", "carry") if type(role) is dict and k in role), "zero")
            side, within = read(role, {kind: sides if kind == "gate" else True, "within": [range(len(limits))]}, where)
            cone = cones[*within] = cones.get((*within,)) or region(circuit.n, [limits[r] for r in within])
            need(side, where, "there is no plane 0")
            if kind != "gate":
                circuit.need_sign(form, 1 if kind == "carry" else -1, cone, where)
                values.append(form if kind == "carry" else {})
                continue
            row = circuit.planes[abs(side) - 1] if side > 0 else minus(circuit.planes[abs(side) - 1])
            circuit.need_sign(form, 1, cone.cut(row), where)
            circuit.need_sign(form, -1, cone.cut(minus(row)), where)
            affine, terms, d = circuit.whole(form)
            values.append({circuit.n + 1 + len(circuit.atoms): Fraction(1, d)})
            circuit.atoms.append(Atom(side, row, affine, terms))
    return [circuit.reads(weights, values, f"output {o}") for o, weights in enumerate(layers[-1])]


def check_piece(piece: Piece, cone: Cone, circuit: Circuit, outputs: list[tuple[Any, Jumps]], j: int) -> None:
    """The network does not bend inside the piece, and it is the law at points that span it."""
    sides = {k: cone.side(row) for k, row in enumerate(circuit.planes, 1)}
    base = next(g for g, _ in cone.rays if g[-1])
    points = [g if g[-1] else mix(1, base, 1, g) for g in cone.generators()]
    known = [circuit.known.setdefault(tuple(x), {}) for x in points]
    tight = functools.reduce(and_, (bits for _, bits in cone.rays))
    need(all(sides.values()) or not tight, f"piece {j}", "it has no interior, and a plane cuts it")
    for o, ((affine, terms, scale), bends) in enumerate(outputs):
        (law, d), where = piece.laws[o], f"output {o}, piece {j}"
        for i, x in enumerate(points):
            value = dot(affine, x) + sum(c * circuit.value(a, x, known[i]) for c, a in terms)
            meant = law[i] * x[-1] if piece.corners else dot(law, x)
            if value * d != meant * scale:
                raise Refused(f"{where}: network and function differ at {show(x)}")
        for plane, steps in bends.items():
            if sides[plane] == 0 and (left := local(steps, sides)):
                row = circuit.planes[plane - 1]
                zero = circuit.is_zero(left, cone.cut(row).cut(minus(row)), where)
                need(zero, where, f"the network bends inside, on plane {plane - 1}")


def check_bends(proof: Any, n: int, pieces: list[Piece], layers: list[Forms]) -> Fraction:
    """0, if the proof shows that the network is the function on every piece; or `Refused`."""
    head = {"format": "cpwl-proof", "version": 1, "kind": "bends", "inputs": n, "error_bound": 0}
    body = {"planes": [[Rational, n + 1]], "limits": [[Rational, n + 1]], "roles": [[Any]]}
    *_, planes, limits, roles = read(proof, head | body, "proof")
    need(all(any(row[:-1]) for row in planes), "planes", "one has no slope")
    need([len(x) for x in roles] == [len(x) for x in layers[1:-1]], "roles", "there is not one for each neuron")
    need(len(layers) < 100, "network", "too many layers")  # for the depth of recursion
    circuit = Circuit(n, [mix(1, row, 0, row) for row in (over_one(plane)[0] for plane in planes)])
    rows = [half_space(row)[0] for row in limits]
    forms = enumerate(read_roles(roles, layers, rows, circuit))
    outputs = [(circuit.whole(form), circuit.bends(form, f"output {o}")) for o, form in forms]
    for j, piece in enumerate(pieces):
        cone = Cone([], [(mix(1, x, 0, x), 2 ** (n + 1) - 1 - 2**i) for i, x in enumerate(piece.corners or [])], n + 1)
        cone = cone if piece.corners else region(n, [row for row, _ in piece.rows.values()])
        need(all(dot(row, g) >= 0 for row in rows for g in cone.generators()), "limits", f"piece {j} is not inside")
        if any(g[-1] for g, _ in cone.rays):  # otherwise the piece is empty
            check_piece(piece, cone, circuit, outputs, j)
    return Fraction(0)


def check(function: Any, network: Any, proof: Any) -> Bound:
    """The proven bound of ``|network - function|``: a number, or (a, b) for ``a + b max |x_i|``; or `Refused`."""
    n, outputs, pieces = read_function(function)
    layers = read_network(network, n, outputs)
    need(pieces and layers and len(layers[-1]) == outputs, "files", "no pieces, no layers, or not as many outputs")
    if type(proof) is dict and proof.get("kind") == "bends":
        return check_bends(proof, n, pieces, layers)
    if type(proof) is dict and (kind := proof.get("kind")) in BESIDE:
        beside = Path(__file__).with_name(f"{kind}_checker.py")
        need(beside.is_file(), "proof", f"for this kind {beside.name} must lie beside the checker")
        bound: Bound = runpy.run_path(str(beside))[kind](SimpleNamespace(**globals()), function, network, proof)
        return bound
    head = {"format": "cpwl-proof", "version": 1, "kind": "max-min", "inputs": n, "error_bound": Any, "box": Any}
    body = {"components": [[Rational, n + 1]], "outputs": [Any, outputs], "wiring": [[Any], len(layers) - 1]}
    *_, stated, box, components, claims, wiring, output = read(proof, head | body | {"output": [Any, outputs]}, "proof")
    values = [(1, frozenset([frozenset([m])]), {i: x for i, x in enumerate(f) if x}) for m, f in enumerate(components)]
    groups = [*wiring, [{"output": [r], "neurons": [o]} for o, r in enumerate(output)]]
    values, off = read_layer(groups[0], values, layers, 0)
    for l in range(1, len(layers)):
        values, _ = read_layer(groups[l], values, layers, l)
    e, place = max(sandwich(claim, o, values[o], components, pieces) for o, claim in enumerate(claims))
    a, b = rounding(off, box, n, pieces)
    bounds = read(stated if type(stated) is list else [stated, 0], [Rational, 2], "error_bound")
    need(e <= bounds[0], place, "this falls short by more than error_bound")
    fits = a + e <= bounds[0] < 10**300 and b <= bounds[1] < 10**300
    need(fits, "layer 0", f"groups {[g for g, d in enumerate(off) if any(d)][:9]} are off by more than error_bound")
    return (Fraction(bounds[0]), Fraction(bounds[1])) if type(stated) is list else Fraction(bounds[0])


def load(path: str) -> Any:
    """A JSON file; an object in which a name comes twice is read as `...`, which is no object."""
    return json.loads(Path(path).read_bytes(), object_pairs_hook=lambda x: dict(x) if len(dict(x)) == len(x) else ...)


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
    parts = proof.get("outputs", [])
    size = f"{len(parts[0]['reach'])} pieces, {sum(len(x['rows']) for x in parts)} rows" if parts else "by bends"
    near = f"|network - function| <= {a}{f' + {b} max |x_i|' if b else ''} on every piece"
    print("proved:", near if a or b else f"network = function on every piece ({size})")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
