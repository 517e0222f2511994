"""Two slow answers to "is this proof right?", sharing no code with the checker nor with the package.

`claim_is_true` does not look at the proof: it compares network and function at all corners of all linear pieces of
both. `reference` reads docs/proof.md a second time: identities at n + 1 points, expressions on 0-1 inputs, and network
and expression at all corners of the linear pieces of the network. Both expect documents of the right shape.
"""

import itertools
import math
from fractions import Fraction

__all__ = ["claim_is_true", "reference"]

FAR = Fraction(64)


def rationals(numbers):
    return [Fraction(x) for x in numbers]


def dot(form, x):
    """An affine function, coefficients with the constant last, at a point."""
    return sum((g * v for g, v in zip(form, x, strict=False)), form[-1])


def stated_bound(proof):
    stated = proof["error_bound"]
    return rationals(stated if isinstance(stated, list) else [stated, 0])


def as_list(value):
    return value if isinstance(value, list) else [value]


def weights(layer):
    """Rows of weights with the bias last."""
    rows = [[Fraction(0)] * layer["columns"] + [Fraction(b)] for b in layer["bias"]]
    for i, j, w in layer["entries"]:
        rows[i][j] = Fraction(w)
    return rows


# --- Pieces -----------------------------------------------------------------------------------------------------------


def pieces_of(p):
    """For each piece its rows as b - a . x (none for a simplex), its corners (None without), and its laws."""
    if "simplices" in p:
        points = [rationals(x) for x in p["points"]]
        values = [rationals(as_list(z)) for z in p["values"]]
        for simplex in p["simplices"]:
            corners = [points[v] for v in simplex]
            laws = [through(corners, [values[v][o] for v in simplex]) for o in range(p["outputs"])]
            if None not in laws:
                yield [], corners, laws
        return
    for piece in p["pieces"]:
        gradient = piece["gradient"] if isinstance(piece["gradient"][0], list) else [piece["gradient"]]
        laws = [rationals([*g, c]) for g, c in zip(gradient, as_list(piece["offset"]), strict=True)]
        rows = [rationals([*a, c]) for a, c in zip(piece["A"], piece["b"], strict=True)]
        yield [primitive(row) for row in rows if any(row[:-1]) or row[-1] < 0], None, laws


def primitive(row):
    """b - a . x of the row (a, b), in the smallest integers."""
    scale = math.lcm(*(v.denominator for v in row))
    divisor = math.gcd(*(int(v * scale) for v in row)) or 1
    return [v * scale / divisor * (1 if i == len(row) - 1 else -1) for i, v in enumerate(row)]


def through(points, heights):
    """The affine function with these values at these points, by elimination; None if the points are dependent."""
    rows = [[*x, Fraction(1), z] for x, z in zip(points, heights, strict=True)]
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [v - rows[i][k] * w for v, w in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


# --- The claim --------------------------------------------------------------------------------------------------------


def claim_is_true(p, network, proof):
    """Whether |network - function| is within the stated bound at all corners of all linear pieces of both.

    For one or two inputs; unbounded pieces are looked at for |x_i| <= 64.
    """
    a, b = stated_bound(proof)
    n = p["dim"]
    for rows, corners, laws in pieces_of(p):
        for cell, forms in linear_cells(network, Region(n, rows, corners, laws).polygon(), n):
            for x, (form, law) in itertools.product(cell, zip(forms, laws, strict=True)):
                if abs(dot(form, x) - dot(law, x)) > a + b * max(map(abs, x)):
                    return False
    return True


def square():
    return [(-FAR, -FAR), (FAR, -FAR), (FAR, FAR), (-FAR, FAR)]


def clip(polygon, form):
    """The part of a convex polygon, or of a segment, where the affine function is at least 0."""
    kept = []
    for x, y in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        u, v = dot(form, x), dot(form, y)
        if u >= 0:
            kept.append(x)
        if u * v < 0:
            kept.append([r + (s - r) * u / (u - v) for r, s in zip(x, y, strict=True)])
    return kept


def linear_cells(network, polygon, n):
    """Parts of the polygon on which the network is affine, with its outputs there."""
    cells = [(polygon, [[Fraction(i == j) for j in range(n + 1)] for i in range(n)])] if polygon else []
    *hidden, last = [weights(layer) for layer in network["layers"]]
    for matrix in hidden:
        cells = [split for cell, forms in cells for split in rectify(cell, images(matrix, forms))]
    return [(cell, images(last, forms)) for cell, forms in cells]


def images(matrix, forms):
    """What neurons with these weights read, as affine functions of x."""
    total = []
    for *row, bias in matrix:
        columns = zip(*forms, strict=True)
        total.append([sum((w * v for w, v in zip(row, column, strict=True)), Fraction(0)) for column in columns])
        total[-1][-1] += bias
    return total


def rectify(cell, forms):
    """The parts of the cell by which neurons are on, with what they give."""
    parts = [(cell, [])]
    for form in forms:
        new = []
        for part, done in parts:
            values = [dot(form, x) for x in part]
            if max(values) > 0:
                new.append((clip(part, form), [*done, form]))
            if min(values) < 0 or not any(values):
                new.append((clip(part, [-v for v in form]), [*done, [Fraction(0)] * len(form)]))
        parts = new
    return parts


# --- The proof --------------------------------------------------------------------------------------------------------


def reference(p, network, proof):
    """Fails if the proof does not show what it states."""
    n, components = p["dim"], [rationals(f) for f in proof["components"]]
    pieces = [Region(n, rows, corners, laws) for rows, corners, laws in pieces_of(p)]
    assert n == network["inputs"] == proof["inputs"]
    assert p["outputs"] == network["outputs"] == len(proof["output"])
    gaps = [Fraction(0)]
    for side, name in ((-1, "below"), (1, "reach")):
        for o, trees in enumerate(proof[name]):
            for piece, tree in zip(pieces, trees, strict=True):
                for leaf, more in piece.leaves(tree, o, side, components):
                    gaps += more
                    bits = [(m in leaf) == (side > 0) for m in range(len(components))]
                    assert values_of(proof, bits)[o] == (side > 0)
    for piece in pieces:
        for cell, forms in linear_cells(network, piece.polygon(), n):
            for x in cell:
                assert values_of(proof, [dot(f, x) for f in components]) == [dot(form, x) for form in forms]
    if proof["box"] is not None:
        for j, piece in enumerate(pieces):
            piece.check_inside(proof["box"], j)
    assert max(gaps) <= stated_bound(proof)[0]


def values_of(proof, values):
    """The outputs for these values of the components."""
    values = list(values)
    for kind, u, v in proof["values"]:
        values.append({"max": max, "min": min}[kind](values[u], values[v]))
    return [values[k] for k in proof["output"]]


class Region:
    """A piece with cuts; identities are tested at the corners, or at 0 and the unit vectors."""

    def __init__(self, n, rows, corners, laws):
        self.n, self.rows, self.corners, self.laws = n, rows, corners, laws
        self.points = corners or [[Fraction(i == j) for j in range(n)] for i in range(n + 1)]

    def gap(self, entry, h):
        """How far the entry lets `h` be below 0."""
        first = 0 if self.corners is None else self.n + 1
        given = {int(r): Fraction(v) for r, v in entry["empty" if "empty" in entry else "lambda"].items()}
        assert all(v >= 0 and r >= first for r, v in given.items())
        shown = [sum((v * dot(self.rows[r - first], x) for r, v in given.items()), Fraction(0)) for x in self.points]
        if "empty" in entry:
            assert max(shown) < 0
            assert self.corners or len(set(shown)) == 1
            return Fraction(0)
        rest = [h(x) - v for x, v in zip(self.points, shown, strict=True)]
        assert self.corners or set(rest) == {Fraction(entry["t"])}
        return max(-min(rest), Fraction(0))

    def polygon(self):
        polygon = self.corners or [list(x) for x in ([(-FAR,), (FAR,)], square())[self.n - 1]]
        for row in self.rows:
            polygon = clip(polygon, row)
        return polygon

    def leaves(self, tree, o, side, components):
        """For each leaf its members, and how far their entries let them be on the wrong side of the law."""
        if "corners" in tree:
            steps = [
                [side * (u - v) for u, v in zip(components[m], self.laws[o], strict=True)] for m in tree["corners"]
            ]
            gaps = [max(-dot(step, x), Fraction(0)) for step in steps for x in self.polygon()]
            return [(set(tree["corners"]), gaps)]
        if "cut" not in tree:
            members = {int(m): entry for m, entry in tree["members"].items()}
            law = self.laws[o]
            gaps = [
                self.gap(entry, lambda x, m=m: side * (dot(components[m], x) - dot(law, x)))
                for m, entry in members.items()
            ]
            return [(set(members), gaps)]
        cut = rationals(tree["cut"])
        sides = [(tree["below"], cut), (tree["above"], [-v for v in cut])]
        cuts = [(part, Region(self.n, [*self.rows, primitive(row)], self.corners, self.laws)) for part, row in sides]
        return [leaf for part, region in cuts for leaf in region.leaves(part, o, side, components)]

    def check_inside(self, box, j):
        low, high = rationals(box["low"]), rationals(box["high"])
        entries = [{"lambda": {}}] * 2 * self.n if self.corners else box["proof"][j]
        for k in range(self.n):
            assert self.gap(entries[k], lambda x, k=k: high[k] - x[k]) == 0
            assert self.gap(entries[self.n + k], lambda x, k=k: x[k] - low[k]) == 0
