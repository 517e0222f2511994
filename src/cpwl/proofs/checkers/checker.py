"""Check a proof that a ReLU network computes a piecewise-linear function: checker.py law.json net.json law.proof.json

Exit status 0: proved, 1: refused, 2: not decided (a limit was reached), 64: wrong usage, 65: unreadable file. A bound
above --max-error, by default 1e-4 of the largest coefficient of the laws, is refused. Only the standard library, no
code of the package, only integers and fractions. Here is what all kinds of proofs share: reading, pieces, geometry.
Each kind has a file beside this one, which begins with the theorem it relies on and its hypotheses, each with the name
of the function that checks it. Why they hold is in docs/proof.md.

Common to all kinds are these hypotheses:

(1) The files say what the format says: shapes, names, types, numbers. `read`, `read_function`, `read_network`
(2) Network and function have the same number of inputs and outputs. `check`
(3) Some piece has an interior, so that the statement is about something. `need_substance`
"""

import contextvars
import functools
import json
import math
import re
import runpy
import sys
from collections.abc import Iterator
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
RATIONAL = re.compile(r"[+-]?[0-9]+(/0*[1-9][0-9]*|\.[0-9]+)?")
COUNT = range(1, sys.maxsize)
WEIGHTS = {str: Rational}
NOT_READ = {"complete", "domain", "note", "tol"}  # what is proved is proved on every piece, whatever the domain
# Each in a file of its own.
PLAIN = ("max-min", "expression", "bends", "line", "clamped", "columns", "windows", "strip")
KINDS = (*PLAIN, "rounded", "near", "clipped")  # the last three hold a proof of another kind


# --- Limits -----------------------------------------------------------------------------------------------------------

STEPS = 3 * 10**6  # of about a microsecond: what a run may cost, besides a quarter of the square of the numbers read
RUN: contextvars.ContextVar[list[int] | None] = contextvars.ContextVar("RUN", default=None)  # steps left, numbers read
SHARE: contextvars.ContextVar[list[int] | None] = contextvars.ContextVar("SHARE", default=None)  # see `share`


class Refused(ValueError):
    """The proof does not show what it has to show; the message says where.

    At one of `places` network and function may be seen to differ: a positive multiple of (x, 1) is the point x, one of
    (x, 0) a direction in which to go far."""

    def __init__(self, message: str, places: list[list[int]] | None = None) -> None:
        super().__init__(message)
        self.places = places or []


class Undecided(Exception):
    """A limit was reached before the proof was accepted or refused."""


def need(condition: object, where: str, reason: str, places: list[list[int]] | None = None) -> None:
    if not condition:
        raise Refused(f"{where}: {reason}", places)


def spend(steps: int, where: str) -> None:
    """Takes steps off what the run may cost."""
    left = RUN.get()
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise Undecided(f"{where}: not decided within the steps that files of this size are given")


def each(todo: list[Any], limit: int, where: str, reason: str) -> Iterator[Any]:
    """The last one of a list that may grow, again and again until it is empty."""
    while todo:
        if not limit:
            raise Undecided(f"{where}: {reason}")
        limit -= 1
        spend(20, where)
        yield todo.pop()


def share(items: list[Any]) -> Iterator[tuple[int, Any]]:
    """All items with their numbers; or share k of m of them, where other runs look at the other shares. SHARE holds
    k, m and the steps that were spent on such items: a stranger's run has it unset, and looks at all."""
    run, left = SHARE.get() or [0, 1, 0], RUN.get() or [0]
    before, (k, m, _) = left[0], run
    yield from ((j, items[j]) for j in range(k * len(items) // m, (k + 1) * len(items) // m))
    run[2] += before - left[0]


# --- Reading ----------------------------------------------------------------------------------------------------------


def number(value: Any) -> Rational | None:
    """An integer, a finite float or one of "12", "1/3", "0.1", exactly; None for anything else."""
    if type(value) is int:
        return value
    if type(value) is float:
        return Fraction(value) if math.isfinite(value) else None
    limit = getattr(sys, "get_int_max_str_digits", int)() or math.inf  # of one integer; `main` lifts it
    short = type(value) is str and len(value) <= 2 * limit and max(map(len, value.split("/"))) <= limit
    return Fraction(value) if short and RATIONAL.fullmatch(value) else None


def numbers(values: list[Any], where: str) -> list[Rational]:
    found = [number(value) for value in values]
    if None in found:
        raise Refused(f"{where}[{found.index(None)}]: this is no number")
    if (left := RUN.get()) is not None:  # (m + k)^2 = m^2 + k (2 m + k)
        left[0] += len(found) * (2 * left[1] + len(found)) // 4
        left[1] += len(found)
    return found  # type: ignore[return-value]


def read(value: Any, shape: Any, where: str) -> Any:
    """The value, its numbers exact, if it has the shape: `Rational`; a range, for an index in it; [shape] or [shape,
    length], for a list; {str: shape}, for an object; {"name": shape, ..}, for an object with these fields, which come
    back in this order; `Any`; else a constant. Types must be the same, so that true is not 1."""
    if shape is Rational:
        return numbers([value], where)[0]
    if type(shape) is list:
        need(type(value) is list, where, "this is no list")
        need(len(value) in (shape[1:] or [len(value)]), where, f"a list of {len(value)} must have length {shape[-1]}")
        if shape[0] is Rational:
            return numbers(value, where)
        return value if shape[0] is Any else [read(x, shape[0], f"{where}[{i}]") for i, x in enumerate(value)]
    if type(shape) is dict:
        need(type(value) is dict, where, "this is no object")
        if shape == WEIGHTS:
            return dict(zip(value, numbers(list(value.values()), where), strict=True))
        if str in shape:
            return {name: read(x, shape[str], where) for name, x in value.items()}
        for name in shape.keys() ^ (value.keys() - NOT_READ):
            raise Refused(f"{where}: the field {name!a:.60} is {'missing' if name in shape else 'unknown'}")
        return [value[name] if s is Any else read(value[name], s, f"{where}.{name}") for name, s in shape.items()]
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
        spend(10 + (len(terms) + len(weights) + len(mu)) * len(h[0][1][0]) // 4, where)
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

    def cut(self, node: Any, n: int, where: str) -> list[tuple[Any, "Piece"]] | None:
        """For a node {"cut": row, "below": node, "above": node} the two nodes with their regions; None for a leaf."""
        if type(node) is not dict or "cut" not in node:
            return None
        cut, below, above = read(node, {"cut": [Rational, n + 1], "below": Any, "above": Any}, where)
        count = str(len(self.rows) + len(self.corners or []))  # a simplex has n + 1 facets
        spend(10 + len(self.rows), where)
        sides = ((below, cut), (above, [-x for x in cut]))
        return [(side, self._replace(rows=self.rows | {count: self.vector(half_space(row))})) for side, row in sides]


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
    return Piece(laws, {str(r): row for r, row in enumerate(rows)}, None, 1)


def read_function(function: Any) -> Law:
    """The function; a simplex without interior is left out, and a row 0 . x <= 1 says nothing."""
    table = type(function) is dict and "simplices" in function
    names = ["points", "values", "simplices"] if table else ["pieces"]
    head = {"format": "cpwl", "version": 1, "dim": COUNT, "outputs": COUNT}
    _, _, n, outputs, *data = read(function, head | {name: [Any] for name in names}, "function")
    domain = None
    if function.get("domain") is not None:
        A, b = read(function["domain"], {"A": [[Rational, n]], "b": [Rational]}, "domain")
        need(len(A) == len(b), "domain", f"A has {len(A)} rows and b has {len(b)}")
        domain = [half_space([*a, c])[0] for a, c in zip(A, b, strict=True)]
    if not table:
        pieces = [read_piece(piece, n, outputs, f"piece {j}") for j, piece in enumerate(data[0])]
        return Law(n, outputs, pieces, 0, domain)
    pieces = []
    points = [over_one([*x, 1])[0] for x in read(data[0], [[Rational, n]], "points")]  # d (x, 1)
    values = read([z if type(z) is list else [z] for z in data[1]], [[Rational, outputs], len(points)], "values")
    simplices = read(data[2], [[range(len(points)), n + 1]], "simplices")
    for simplex in simplices:
        d = math.lcm(*(points[v][-1] for v in simplex))
        corners = [[x * (d // points[v][-1]) for x in points[v]] for v in simplex]
        spend(n**3, "simplices")
        if not is_flat(corners):
            laws = [over_one([values[v][o] for v in simplex]) for o in range(outputs)]
            pieces.append(Piece(laws, {}, corners, d))
    return Law(n, outputs, pieces, len(simplices) - len(pieces), domain)


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


# --- Geometry: a point x is held as integers, a positive multiple of (x, 1), a direction as (x, 0) --------------------


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
        bit, where, size = 1 << self.rows, "geometry", max(map(abs, row)).bit_length() // 1000
        spend((2 + size) * (4 + len(self.rays) + len(self.lines)), where)
        for i, line in enumerate(self.lines):
            if v := dot(row, line):
                ray, v = (line, v) if v > 0 else (minus(line), -v)
                lines = [mix(v, g, -dot(row, g), ray) for g in self.lines[:i] + self.lines[i + 1 :]]
                rays = [(mix(v, g, -dot(row, g), ray), bits | bit) for g, bits in self.rays]
                return Cone(lines, [*rays, (ray, bit - 1)], self.rows + 1)
        values = [(dot(row, g), g, bits) for g, bits in self.rays]
        above, below = [x for x in values if x[0] > 0], [x for x in values if x[0] < 0]
        on = {bits | bit: g for v, g, bits in values if v == 0}
        # A new ray that is no sum of others is 0 in all independent rows but one; in as many before, without this one.
        few = len(row) - len(self.lines) - 2
        spend(len(above) * len(below) // 4, where)
        pairs = ((b & c, (u, h, -v, g)) for u, g, b in above for v, h, c in below)
        new = {both | bit: rest for both, rest in pairs if both.bit_count() >= few}
        # Of these, those are no sums of others for which no other one is 0 in more rows.
        spend(len(new) * (len(on) + len(new)) // 20, where)
        extreme = [b for b in new if not any(b & c == b != c for c in (*on, *new))]
        on = {b: mix(*new[b]) for b in extreme} | on
        return Cone(self.lines, [(g, bits) for _, g, bits in above] + [(g, b) for b, g in on.items()], self.rows + 1)

    def side(self, row: list[int]) -> int:
        """1 if the row is negative nowhere here, -1 if it is positive nowhere, 0 if it has both signs."""
        spend(1 + len(self.rays) // 2, "geometry")
        if any(dot(row, line) for line in self.lines):
            return 0
        values = [dot(row, g) for g, _ in self.rays]
        return 1 if min(values, default=0) >= 0 else -1 if max(values) <= 0 else 0

    def is_solid(self) -> bool:
        """Whether the points of the cone have an interior: no row, not even that of (x, 1), is 0 on all of it."""
        return bool(self.rays) and not functools.reduce(and_, (bits for _, bits in self.rays))


def region(n: int, rows: list[list[int]]) -> Cone:
    """The cone over the points where all rows are at least 0."""
    unit = [[int(i == j) for j in range(n + 1)] for i in range(n + 1)]
    return functools.reduce(Cone.cut, [unit[n], *rows], Cone(unit, [], 0))


def simplex_cone(corners: list[list[int]]) -> Cone:
    """The cone over a simplex: facet i is opposite corner i."""
    facets = 2 ** len(corners) - 1
    return Cone([], [(mix(1, x, 0, x), facets - 2**i) for i, x in enumerate(corners)], len(corners))


def piece_cone(piece: Piece, n: int) -> Cone:
    return simplex_cone(piece.corners) if piece.corners else region(n, [row for row, _ in piece.rows.values()])


def outside(part: Cone, bodies: list[list[list[int]]]) -> list[Cone]:
    """Convex parts that cover what some bodies, each given by rows that are at least 0 on it, leave of a region."""
    rest = [part]
    for rows in bodies:
        parts = []
        for part in rest:
            while (sides := [part.side(row) for row in rows]) and min(sides) == 0:
                cut = rows[sides.index(0)]
                parts.append(part.cut(minus(cut)))
                part = part.cut(cut)
            parts += [part] if min(sides, default=0) < 0 else []
        rest = parts
    return rest


# --- What the statement is about --------------------------------------------------------------------------------------

FEW = 50_000  # steps for a question that is not part of the proof


def aside(question: Any, *arguments: Any, steps: int = FEW) -> Any:
    """The answer to a question that may stay open: None if it takes more than some steps."""
    token = RUN.set([steps, 0])
    try:
        return question(*arguments)
    except Undecided:
        return None
    finally:
        RUN.reset(token)


def has_inner_point(rows: list[list[int]], n: int) -> bool:
    """Whether a point that is easily found is strictly inside: by relaxation in floats, verified exactly."""
    try:
        sizes = [math.hypot(*row[:-1]) or 1.0 for row in rows]
        unit = [[v / size for v in row] for row, size in zip(rows, sizes, strict=True)]
        x = [0.0] * n
        for step in range(40):
            values = [sum(map(mul, row, [*x, 1.0])) for row in unit]
            least = min(values, default=1.0)
            if least > 0:
                whole, d = over_one([Fraction(v) for v in x])
                return all(dot(row, [*whole, d]) > 0 for row in rows)
            push = 4.0 ** -(step // 2) - least
            x = [v + push * a for v, a in zip(x, unit[values.index(least)], strict=False)]
    except (OverflowError, ValueError):
        pass
    return False


def shape(piece: Piece, n: int) -> str:
    """Whether a piece is solid, flat or empty; or open, if that is not seen in a few steps."""
    if piece.corners or has_inner_point([row for row, _ in piece.rows.values()], n):
        return "solid"
    cone = aside(piece_cone, piece, n)
    if cone is None:
        return "open"
    return "solid" if cone.is_solid() else "flat" if any(g[-1] for g, _ in cone.rays) else "empty"


def need_substance(law: Law) -> None:
    """Hypothesis (3): of no pieces, or of pieces without interior, almost everything is true."""
    for piece in law.pieces:
        if shape(piece, law.n) in ("solid", "open"):
            return
    raise Refused(f"function: no piece has an interior, of {len(law.pieces) + law.flat}: there is nothing to prove")


# --- The verdict ------------------------------------------------------------------------------------------------------


@functools.cache
def beside(name: str) -> dict[str, Any]:
    """What a file beside this one defines."""
    path = Path(__file__).with_name(name)
    need(path.is_file(), "proof", f"for this kind {name} must lie beside the checker")
    return runpy.run_path(str(path))


def decide(law: Law, layers: list[Forms], proof: Any) -> Bound:
    """The bound that a proof of any kind shows for these pieces and weights; or `Refused`, or `Undecided`."""
    need(type(proof) is dict, "proof", "this is no object")
    kind = proof.get("kind")
    need(kind in KINDS, "proof.kind", f"this must be one of {', '.join(KINDS)}")
    name = str(kind).replace("-", "_")
    bound: Bound = beside(f"{name}_checker.py")[name](SimpleNamespace(**globals()), law, layers, proof)
    return bound


def check(function: Any, network: Any, proof: Any) -> Bound:
    """The proven bound of ``|network - function|``: a number, or (a, b) for ``a + b max |x_i|``.

    `Refused` if it is not shown; `Undecided` if that takes more steps than files of this size are given."""
    token = RUN.set([STEPS, 0])
    try:
        law = read_function(function)
        layers = read_network(network, law.n, law.outputs)
        need_substance(law)
        return decide(law, layers, proof)
    except (MemoryError, RecursionError) as reason:
        raise Undecided(f"files: {type(reason).__name__}") from None
    finally:
        RUN.reset(token)


def load(path: str) -> Any:
    """A JSON file; an object in which a name comes twice is read as `...`, which is no object."""
    return json.loads(Path(path).read_bytes(), object_pairs_hook=lambda x: dict(x) if len(dict(x)) == len(x) else ...)


def main(arguments: list[str]) -> int:
    """The exit status; verdict_checker.py beside this file prints the verdict."""
    status: int = beside("verdict_checker.py")["main"](SimpleNamespace(**globals()), arguments)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
