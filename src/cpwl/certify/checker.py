"""Check a proof that a ReLU network computes a piecewise-linear function: checker.py law.json net.json law.proof.json

Exit status 0: proved, 1: refused, 64: wrong usage, 65: unreadable file. What a proof says, and why it is one, is in
docs/proof.md, in the words used here. Only the standard library, no code of the package, only integers and fractions.
"""

import json
import math
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from operator import add, mul
from pathlib import Path
from typing import Any, NamedTuple

Rational = int | Fraction
Vector = tuple[list[int], int]  # integers over one positive denominator: many times faster than fractions
Term = tuple[Rational, Vector]  # a vector with the factor that it has in a sum
Short = tuple[Fraction, str]  # by how much something falls short, and where
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
# A point x is held as integers, a positive multiple of (x, 1), and a direction as (x, 0): all functions are homogeneous.

LIMIT = 20000  # regions into which one question may be cut


def dot(u: list[int], v: list[int]) -> int:
    return sum(map(mul, u, v))


def primitive(v: list[int]) -> list[int]:
    divisor = math.gcd(*v) or 1
    return [x // divisor for x in v]


class Cone(NamedTuple):
    """All sums of multiples of the lines and of non-negative multiples of the rays. It is also where some rows are at
    least 0; a ray has bit r of its number set if row r is 0 there. No ray is a sum of others, up to lines."""

    lines: list[list[int]]
    rays: list[tuple[list[int], int]]
    rows: int

    def generators(self) -> list[list[int]]:
        return [ray for ray, _ in self.rays] + self.lines + [[-x for x in line] for line in self.lines]

    def cut(self, row: list[int]) -> "Cone":
        """The part where the row is at least 0 (double description: Motzkin, Raiffa, Thompson and Thrall 1953)."""
        bit = 1 << self.rows
        for i, line in enumerate(self.lines):
            if v := dot(row, line):
                ray, v = (line, v) if v > 0 else ([-x for x in line], -v)
                others = [*self.lines[:i], *self.lines[i + 1 :], *(g for g, _ in self.rays)]
                moved = [primitive([v * x - dot(row, g) * y for x, y in zip(g, ray, strict=True)]) for g in others]
                k = len(self.lines) - 1
                rays = [(g, bits | bit) for g, (_, bits) in zip(moved[k:], self.rays, strict=True)]
                return Cone(moved[:k], [*rays, (ray, bit - 1)], self.rows + 1)
        values = [(dot(row, g), g, bits) for g, bits in self.rays]
        on = {bits | bit: g for v, g, bits in values if v == 0}
        above, below = [x for x in values if x[0] > 0], [x for x in values if x[0] < 0]
        need(len(above) * len(below) <= 10**6, "geometry", "a region has too many corners")
        new = {b & c | bit: (u, g, v, h) for u, g, b in above for v, h, c in below}
        # A new ray is extreme if no other one is in more of the rows.
        tight = [*on, *new]
        for bits in [b for b in new if not any(b & c == b != c for c in tight)]:
            u, g, v, h = new[bits]
            on.setdefault(bits, primitive([u * y - v * x for x, y in zip(g, h, strict=True)]))
        return Cone(self.lines, [(g, bits) for _, g, bits in above] + [(g, b) for b, g in on.items()], self.rows + 1)

    def side(self, row: list[int]) -> int:
        """1 or -1 if the row is nowhere negative or positive here; 0 if it changes its sign."""
        if any(dot(row, line) for line in self.lines):
            return 0
        values = [dot(row, g) for g, _ in self.rays]
        return 1 if min(values, default=0) >= 0 else -1 if max(values) <= 0 else 0


def region_of(n: int, rows: list[list[int]]) -> Cone:
    """The cone over the points where the rows are at least 0."""
    unit = [[int(i == j) for j in range(n + 1)] for i in range(n + 1)]
    cone = Cone(unit, [], 0)
    for row in [unit[n], *rows]:
        cone = cone.cut(row)
    return cone


class Atom(NamedTuple):
    """``[l > 0] Y``, where Y is 0 on l = 0 and has the sign of l; it is a hinge relu(l) if Y = l, else a gate."""

    side: int  # l is plane k if this is k + 1, and its negative if this is -(k + 1)
    row: list[int]  # l
    affine: list[int]  # Y is this ..
    terms: list[tuple[int, int]]  # .. plus factors times atoms of lower number

    def most(self, atoms: "list[Atom]", x: list[int]) -> int:
        """A bound above. It is sublinear: at a sum of points it is at most the sum of what it is at each."""
        return max(0, dot(self.affine, x) + sum(c * atoms[a].most(atoms, x) for c, a in self.terms if c > 0))

    def value(self, atoms: "list[Atom]", x: list[int]) -> int:
        if dot(self.row, x) <= 0:
            return 0
        return dot(self.affine, x) + sum(c * atoms[a].value(atoms, x) for c, a in self.terms)


Steps = dict[frozenset[int], int]  # a step function: a sum of factors times products of indicators of half-spaces


def local(steps: Steps, side: Callable[[int], int]) -> Steps:
    """The same where the planes have these sides; a side of 0 is not known."""
    total: Steps = {}
    for product, factor in steps.items():
        signs = {s: side(abs(s)) * (1 if s > 0 else -1) for s in product}
        if -1 not in signs.values():
            rest = frozenset(s for s, sign in signs.items() if sign == 0)
            total[rest] = total.get(rest, 0) + factor
    return {product: factor for product, factor in total.items() if factor}


class Circuit:
    """What the neurons compute: forms with the coefficients of (x, 1), and that of atom i at place n + 1 + i."""

    def __init__(self, n: int, planes: list[list[int]]) -> None:
        self.n, self.planes, self.atoms = n, planes, list[Atom]()
        self.number = {tuple(s * x for x in row): s * (k + 1) for k, row in enumerate(planes) for s in (1, -1)}
        self.hinges: dict[int, int] = {}
        need(len(self.number) == 2 * len(planes), "planes", "one comes twice")

    def combine(self, reads: Form, before: list[Form | None], where: str) -> Form:
        """What a neuron reads, as a form."""
        total: dict[int, Rational] = {self.n: reads.get(len(before), 0)}
        for j, weight in reads.items():
            if j < len(before):
                form = before[j]
                need(form is not None, where, f"neuron {j}, which has no role, is read")
                for i, x in (form or {}).items():
                    total[i] = total.get(i, 0) + weight * x
        return {i: x for i, x in total.items() if x}

    def whole(self, form: Form) -> tuple[list[int], list[tuple[int, int]], int]:
        """A positive multiple of the form in integers: its affine part, its factors of atoms, and the multiple."""
        names = [i for i in form if i > self.n]
        numbers, d = over_one([form.get(i, 0) for i in range(self.n + 1)] + [form[i] for i in names])
        atoms = [(c, i - self.n - 1) for c, i in zip(numbers[self.n + 1 :], names, strict=True)]
        return numbers[: self.n + 1], atoms, d

    def hinge(self, form: Form) -> Form:
        """The ReLU of an affine form; relu(-l) is held as relu(l) - l."""
        row, _, d = self.whole(form)
        if not any(row[:-1]):
            return {self.n: form[self.n]} if row[-1] > 0 else {}
        factor = Fraction(math.gcd(*row), d)
        plane = primitive(row)
        if tuple(plane) not in self.number:
            self.planes.append(plane)
            self.number |= {tuple(s * x for x in plane): s * len(self.planes) for s in (1, -1)}
        side = self.number[tuple(plane)]
        if abs(side) not in self.hinges:
            self.hinges[abs(side)] = len(self.atoms)
            self.atoms.append(Atom(abs(side), self.planes[abs(side) - 1], self.planes[abs(side) - 1], []))
        result: Form = {} if side > 0 else dict(form)
        return result | {self.n + 1 + self.hinges[abs(side)]: factor}

    def need_positive(self, form: Form, cone: Cone, sign: int, where: str) -> None:
        """Shows that `sign` times the form is at least 0 on a cone: by its corners, or else by halves of the cone."""
        affine, terms, _ = self.whole(form)
        todo = [(cone, [sign * x for x in affine], {a: sign * c for c, a in terms})]
        for _ in range(LIMIT):
            if not todo:
                return
            region, rest, factors = todo.pop()
            rest, factors = self.fold(region, rest, dict(factors))
            worst, place = 0, None
            for g in region.generators():
                # Its sum is concave: atoms are at least 0, and where they are taken off a sublinear bound is.
                low = dot(rest, g) + sum(c * self.atoms[a].most(self.atoms, g) for a, c in factors.items() if c < 0)
                worst, place = (low, g) if low < worst else (worst, place)
            if place is None:
                continue
            lost = {}
            for a, c in factors.items():
                atom = self.atoms[a]
                lost[a] = c * (atom.value(self.atoms, place) - (atom.most(self.atoms, place) if c < 0 else 0))
            need(worst + sum(lost.values()) >= 0, where, f"the wrong sign at {place}")
            row = self.atoms[max(lost, key=lambda a: lost[a])].row
            todo += [(region.cut(r), rest, factors) for r in (row, [-x for x in row])]
        raise Refused(f"{where}: the sign is not shown with {LIMIT} regions")

    def fold(self, region: Cone, rest: list[int], factors: dict[int, int]) -> tuple[list[int], dict[int, int]]:
        """A sum in which atoms that are Y, or 0, on all of the region are replaced by that."""
        kept = {}
        while factors:
            a = max(factors)
            c, atom = factors.pop(a), self.atoms[a]
            side = region.side(atom.row) if c else -1
            if side > 0:
                rest = [x + c * y for x, y in zip(rest, atom.affine, strict=True)]
                for d, b in atom.terms:
                    factors[b] = factors.get(b, 0) + c * d
            elif side == 0:
                kept[a] = c
        return rest, kept

    def products(self, form: Form, where: str) -> dict[frozenset[int], list[int]]:
        """The form (times what `whole` says) as a sum of products of indicators, each times an affine function."""
        affine, terms, _ = self.whole(form)
        total = {frozenset[int](): affine}
        todo = [(c, a, frozenset[int]()) for c, a in terms]
        while todo:
            c, a, inside = todo.pop()
            atom = self.atoms[a]
            if -atom.side not in inside:
                product = inside | {atom.side}
                old = total.setdefault(product, [0] * len(affine))
                total[product] = [x + c * y for x, y in zip(old, atom.affine, strict=True)]
                todo += [(c * d, b, product) for d, b in atom.terms]
                need(len(total) + len(todo) < 10**7, where, "there are too many products of indicators")
        return total

    def bends(self, form: Form, where: str) -> dict[int, Steps]:
        """For each plane the jump of the form's slope across it, times a factor: a step function on the plane."""
        jumps: dict[int, Steps] = {}
        for product, affine in self.products(form, where).items():
            for s in product:
                row = self.planes[abs(s) - 1]
                slope = affine[next(i for i, x in enumerate(row) if x)]
                steps, rest = jumps.setdefault(abs(s), {}), product - {s}
                steps[rest] = steps.get(rest, 0) + (slope if s > 0 else -slope)
        return {k: nonzero for k, steps in jumps.items() if (nonzero := local(steps, lambda _: 0))}

    def vanish(self, steps: Steps, cone: Cone, where: str) -> bool:
        """Whether a step function is 0 on a cone, up to its boundary and other planes."""
        todo = [(steps, cone)]
        for _ in range(LIMIT):
            if not todo:
                return True
            before, region = todo.pop()
            sides = {s: region.side(self.planes[s - 1]) for product in before for s in map(abs, product)}
            left = local(before, sides.__getitem__)
            cuts = set().union(*left)
            if left and not cuts:
                return False
            if left:
                row = self.planes[abs(min(cuts)) - 1]
                todo += [(left, region.cut(r)) for r in (row, [-x for x in row])]
        raise Refused(f"{where}: the bends are not compared with {LIMIT} regions")


def read_roles(roles: Any, layers: list[Forms], domain: list[list[int]], circuit: Circuit) -> list[Form]:
    """The outputs as forms; what the proof says of the neurons above the first hidden layer is shown first."""
    n = circuit.n
    regions: dict[tuple[int, ...], Cone] = {}
    values: list[Form | None] = [{i: 1} for i in range(n)]
    for l, layer in enumerate(layers):
        inputs = [circuit.combine(reads, values, f"layer {l}, neuron {i}") for i, reads in enumerate(layer)]
        if l == len(layers) - 1:
            return inputs
        values = []
        for i, form in enumerate(inputs):
            where, role = f"layer {l}, neuron {i}", None if l == 0 else roles[l - 1][i]
            if l == 0 or role is None:
                values.append(circuit.hinge(form) if l == 0 else None)
                continue
            kind = next((k for k in ("gate", "carry") if type(role) is dict and k in role), "zero")
            sides = range(-len(circuit.planes), len(circuit.planes) + 1)
            shape = {kind: sides if kind == "gate" else True, "within": [range(len(domain))]}
            side, within = read(role, shape, where)
            key = tuple(within)
            if key not in regions:
                regions[key] = region_of(n, [domain[r] for r in key])
            region = regions[key]
            if kind != "gate":
                circuit.need_positive(form, region, 1 if kind == "carry" else -1, where)
                values.append(form if kind == "carry" else {})
                continue
            need(side, where, "there is no plane 0")
            row = [x if side > 0 else -x for x in circuit.planes[abs(side) - 1]]
            circuit.need_positive(form, region.cut(row), 1, where)
            circuit.need_positive(form, region.cut([-x for x in row]), -1, where)
            affine, terms, d = circuit.whole(form)
            values.append({n + 1 + len(circuit.atoms): Fraction(1, d)})
            circuit.atoms.append(Atom(side, row, affine, terms))
    return []


def cone_of(piece: Piece, n: int) -> Cone:
    """The cone over a piece."""
    if piece.corners:
        return Cone([], [(primitive(x), 2 ** (n + 1) - 1 - 2**i) for i, x in enumerate(piece.corners)], n + 1)
    return region_of(n, [row for row, _ in piece.rows.values()])


class Located(NamedTuple):
    """The generators of all pieces, each once, and on which side of each plane they are: bit i is for generator i."""

    points: dict[tuple[int, ...], int]
    positive: list[int]
    negative: list[int]

    def side(self, plane: int, members: int) -> int:
        """Of plane number plane - 1 and some generators: as `Cone.side`."""
        above, below = self.positive[plane - 1] & members, self.negative[plane - 1] & members
        return 0 if above and below else -1 if below else 1


def locate(cones: list[Cone], planes: list[list[int]]) -> Located:
    points = {x: i for i, x in enumerate(dict.fromkeys(tuple(g) for cone in cones for g in cone.generators()))}
    signs = [[dot(row, x) for x in map(list, points)] for row in planes]
    positive, negative = (
        [int("".join("01"[s * x > 0] for x in reversed(values)) or "0", 2) for values in signs] for s in (1, -1)
    )
    return Located(points, positive, negative)


def check_bends(proof: Any, n: int, pieces: list[Piece], layers: list[Forms]) -> Fraction:
    """0, if the proof shows that the network equals the function on every piece; or `Refused`."""
    head = {"format": "cpwl-proof", "version": 1, "kind": "bends", "inputs": n, "error_bound": 0}
    body = {"planes": [[Rational, n + 1]], "limits": [[Rational, n + 1]], "roles": [[Any]], "sides": Any}
    *_, rows, limits, roles, sides = read(proof, head | body, "proof")
    need(all(any(row[:-1]) for row in rows), "planes", "one has no slope")
    need(len(layers) < 100, "files", "too many layers")
    need([len(x) for x in roles] == [len(x) for x in layers[1:-1]], "roles", "there is not one for each neuron")
    circuit = Circuit(n, [primitive(over_one(row)[0]) for row in rows])
    domain = [half_space(row)[0] for row in limits]
    forms = read_roles(roles, layers, domain, circuit)
    if sides is not None:
        need(not domain, "sides", "they are for proofs on all of space")
        check_sides(read(sides, [[Any], len(pieces)], "sides"), pieces, circuit, forms)
        return Fraction(0)
    cones = [cone_of(piece, n) for piece in pieces]
    located = locate(cones, circuit.planes)
    for x in map(list, located.points):
        need(all(dot(row, x) >= 0 for row in domain), "domain", f"a piece is not inside, at {x}")
    for o, form in enumerate(forms):
        bends = circuit.bends(form, f"output {o}")
        for j, (piece, cone) in enumerate(zip(pieces, cones, strict=True)):
            if any(g[-1] for g, _ in cone.rays):  # or else the piece is empty
                check_values(piece, cone, o, circuit, form, f"output {o}, piece {j}")
                check_piece(cone, circuit, bends, located, f"output {o}, piece {j}")
    return Fraction(0)


def check_values(piece: Piece, cone: Cone, o: int, circuit: Circuit, form: Form, where: str) -> None:
    """Network and law agree at points that span the piece."""
    affine, terms, scale = circuit.whole(form)
    law, d = piece.laws[o]
    base = next(g for g, _ in cone.rays if g[-1])
    for i, g in enumerate(cone.generators()):
        x = g if g[-1] else list(map(add, base, g))
        value = dot(affine, x) + sum(c * circuit.atoms[a].value(circuit.atoms, x) for c, a in terms)
        meant = law[i] * x[-1] if piece.corners else dot(law, x)
        need(
            value * d == meant * scale,
            where,
            f"network and function differ at {[str(Fraction(v, x[-1])) for v in x[:-1]]}",
        )


def check_piece(cone: Cone, circuit: Circuit, bends: dict[int, Steps], located: Located, where: str) -> None:
    """The network does not bend inside the piece."""
    members = sum(1 << located.points[tuple(g)] for g in cone.generators())
    common = -1
    for _, bits in cone.rays:
        common &= bits
    for plane, steps in bends.items():
        if located.side(plane, members) == 0:
            need(not common, where, "it has no interior, and a plane cuts it")
            left = local(steps, lambda k: located.side(k, members))
            if left:
                row = circuit.planes[plane - 1]
                section = cone.cut(row).cut([-x for x in row])
                need(circuit.vanish(left, section, where), where, f"the network bends inside, on the plane {row}")


def check_sides(sides: list[Any], pieces: list[Piece], circuit: Circuit, forms: list[Form]) -> None:
    """Every atom is Y or 0 on every piece, by entries; then the network is affine there, and must be the law."""
    products = [circuit.products(form, f"output {o}") for o, form in enumerate(forms)]
    numbers = range(-len(circuit.planes), len(circuit.planes) + 1)
    for j, (piece, claims) in enumerate(zip(pieces, sides, strict=True)):
        need(piece.corners is None, f"piece {j}", "sides are for pieces with rows")
        known: dict[int, int] = {}
        for k, (side, entry) in enumerate(read(claims, [[Any, 2]], f"sides, piece {j}")):
            where = f"piece {j}, side {k}"
            need(read(side, numbers, where), where, "there is no plane 0")
            known[abs(side)] = sign = 1 if side > 0 else -1
            row = [sign * x for x in circuit.planes[abs(side) - 1]]
            need(piece.shortfall(entry, [(1, (row, 1))], where)[0] == 0, where, "the piece is not on this side")
            if "empty" in entry:
                break
        else:
            for o, (form, terms) in enumerate(zip(forms, products, strict=True)):
                law, d = piece.laws[o]
                scale = circuit.whole(form)[2]
                for i, x in enumerate(law):
                    left = local({p: affine[i] for p, affine in terms.items()}, lambda s: known.get(s, 0))
                    same = left.keys() <= {frozenset()} and left.get(frozenset(), 0) * d == x * scale
                    need(same, f"output {o}, piece {j}", "the law is not shown to be the network's")


def check(function: Any, network: Any, proof: Any) -> Fraction | tuple[Fraction, Fraction]:
    """The proven bound of ``|network - function|``: a number, or (a, b) for ``a + b max |x_i|``; or `Refused`."""
    n, outputs, pieces = read_function(function)
    layers = read_network(network, n, outputs)
    need(pieces and layers and len(layers[-1]) == outputs, "files", "no pieces, no layers, or not as many outputs")
    if type(proof) is dict and proof.get("kind") == "bends":
        return check_bends(proof, n, pieces, layers)
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
    size = (
        f"{len(proof['planes'])} planes"
        if proof["kind"] == "bends"
        else (
            f"{len(proof['outputs'][0]['reach'])} pieces, {sum(len(claim['rows']) for claim in proof['outputs'])} rows"
        )
    )
    near = f"|network - function| <= {a}{f' + {b} max |x_i|' if b else ''} on every piece"
    print("proved:", near if a or b else f"network = function on every piece ({size})")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
