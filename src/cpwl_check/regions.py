"""Check a proof that lists the regions of a network, kind "regions": for any network, and its error is exact.

A place is a row of integers: (x w, w) with w > 0 for the point x, (r, 0) for the direction r. A cell is the cone of all
sums of its places with factors >= 0; its points are those with w = 1. A piece X is the cone where its rows and w are
>= 0. A form is a row of X, w, or what a neuron reads, at a place: for a direction biases count 0.

**Theorem.** Let L be the directions in which no row of X and no neuron of the first layer changes, k its dimension, and
S the places that are 0 in k coordinates, in which no element of L but 0 is 0. Let D be the dimension of X less k. If

(1) places are different rows of integers without a common divisor, and w >= 0, `read_places`
(2) network and function do not differ along L, and all listed places are in S, `Body.section`, `Body.place`
(3) every place of every cell listed for X is in X, `Body.place`
(4) D is not larger than the checker found: n + 1 - k, or what the corners of X span, `Body.dimension`; if no cell is
    listed, X has no point, `Body.check`
(5) no neuron is positive at a place of a cell and negative at another place of that cell, `Body.cell`
(6) the faces of a cell are the sets of its places where some forms are 0 that are not 0 on all of it: each chain of
    largest faces in faces has D members and ends with a single place, and what is a largest face of a largest face of a
    face F is one of exactly two largest faces of F, `Faces`
(7) each largest face of a cell is where a row of X, or w, is 0, or it is a face of exactly one other cell, which is on
    the other side of it, `Body.cell`, `Body.join`
(8) at every place that is a direction, network and function have the same value, `Body.place`

then the supremum of ``|network - function|`` on X is the largest value at the listed points of X, for every piece X.
Why the theorem holds is in docs/theory/certificates.md.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from cpwl_check.budget import long, longest, need, spend, work
from cpwl_check.cones import dot, reduced, region, rows_and_laws, show
from cpwl_check.pieces import Bound, Law, Layers, Vector, over_one
from cpwl_check.reading import Rational, numbers, read, read_proof

Place = tuple[int, ...]
Facet = tuple[int, tuple[int, ...]]  # a set of places of a cell as bits; independent places that span it
WHERE = "cells"


class Values(NamedTuple):
    """What is known at a place: the neurons that are positive and negative there, as bits, and the outputs."""

    above: int
    below: int
    outputs: list[int]
    denominator: int


class Net:
    """A network, evaluated once at each place."""

    def __init__(self, layers: Layers, n: int) -> None:
        self.neurons = sum(map(len, layers[:-1]))
        self.layers, width = list[tuple[list[list[tuple[int, int]]], list[int], int, int]](), n
        for layer in layers:
            weights, d = over_one([w for form in layer for w in form.values()])
            rows, bias, start = list[list[tuple[int, int]]](), list[int](), 0
            for form in layer:
                own = dict(zip(form, weights[start:], strict=False))
                start += len(form)
                bias.append(own.pop(width, 0))
                rows.append(list(own.items()))
            self.layers.append((rows, bias, d, longest([weights])))
            width = len(layer)
        first = self.layers[0][0] if len(layers) > 1 else []  # without hidden layers nothing bends
        self.normals = reduced(([own.get(j, 0) for j in range(n)] for own in map(dict, first)), n)
        self.known: dict[Place, Values] = {}

    def at(self, place: Place) -> Values:
        if place not in self.known:
            values, last, d, above, below, bit = list(place[:-1]), place[-1], 1, 0, 0, 1
            for depth, (rows, bias, e, bits) in enumerate(self.layers):
                count = sum(map(len, rows)) + len(rows)
                spend(8 + count // 2 + 2 * work(count, bits, longest([values, [d * last]])), "network")
                values = [sum(w * values[j] for j, w in row) + b * last * d for row, b in zip(rows, bias, strict=True)]
                d *= e
                if depth + 1 < len(self.layers):
                    for v in values:
                        above, below, bit = above | bit * (v > 0), below | bit * (v < 0), bit << 1
                    values = [max(v, 0) for v in values]
                    divisor = math.gcd(d, *values)
                    values, d = [v // divisor for v in values], d // divisor
            self.known[place] = Values(above, below, values, d)
            spend(8 + bit.bit_length() // 64 + sum(v.bit_length() for v in values) // 256, "network")
        return self.known[place]


class Formula:
    """The laws of a piece, as a network without neurons."""

    def __init__(self, laws: list[Vector]) -> None:
        self.neurons, self.normals = 0, dict[int, list[int]]()
        self.laws, self.d = laws, math.lcm(*(d for _, d in laws))
        self.factors = [self.d // d for _, d in laws]
        self.bits = longest(f for f, _ in laws) + self.d.bit_length()

    def at(self, place: Place) -> Values:
        spend(2 + len(self.laws) * (2 + work(len(place), self.bits, longest([place]))), "laws")
        found = [dot(f, place) * factor for (f, _), factor in zip(self.laws, self.factors, strict=True)]
        return Values(0, 0, found, self.d)


# --- Linear algebra ---------------------------------------------------------------------------------------------------


def kernel(basis: dict[int, list[int]], width: int) -> list[list[int]]:
    """For each coordinate without a member of the basis a vector on which all of them are 0; of these coordinates it
    is not 0 in that one alone."""
    found = []
    for free in range(width):
        if free not in basis:
            spend(2 + width // 8, WHERE)
            d = 1
            for j, row in basis.items():
                d = math.lcm(d, row[j] // math.gcd(row[j], row[free]))
                spend(1 + long(d), WHERE)
            vector = [0] * width
            vector[free] = d
            for j, row in basis.items():
                vector[j] = -row[free] * d // row[j]
            found.append(vector)
    return found


# --- Faces ------------------------------------------------------------------------------------------------------------


class Faces:
    """Hypothesis (6): what cells of one combinatorial type have for faces. A set of places is held as bits."""

    def __init__(self) -> None:
        self.known: dict[tuple[frozenset[int], int, int], list[Facet]] = {}

    def of(self, zeros: set[int], count: int, dimension: int, where: str) -> list[Facet]:
        """The largest faces of a cell with that number of places, where `zeros` are the places on its forms."""
        key = (frozenset(zeros), count, dimension)
        spend(4 + len(zeros) * (1 + count // 256), where)
        if key not in self.known:
            largest = maximal(zeros, where)
            inside: dict[tuple[int, int], list[int]] = {}
            self.close((1 << count) - 1, dimension, largest, inside, where)
            self.known[key] = [
                (face, witnesses(face, dimension - 1, inside)) for face in inside[(1 << count) - 1, dimension]
            ]
        return self.known[key]

    def close(
        self, face: int, dimension: int, largest: list[int], inside: dict[tuple[int, int], list[int]], where: str
    ) -> None:
        """Finds the largest faces in a face, in those, and so on, and that they close up."""
        if dimension == 1:
            need(face & (face - 1) == 0, where, "faces do not end with single places")
            inside[face, 1] = []
            return
        spend(16 + len(largest) // 2, where)
        found = maximal({face & z for z in largest if face & z and face & z != face}, where)
        inside[face, dimension] = found
        seen: dict[int, int] = {}
        for one in found:
            if (one, dimension - 1) not in inside:
                self.close(one, dimension - 1, largest, inside, where)
            for ridge in inside[one, dimension - 1] or [0]:
                seen[ridge] = seen.get(ridge, 0) + 1
        spend(8 + 3 * len(seen), where)
        need(seen and set(seen.values()) == {2}, where, "faces do not close up: a place is missing, or is false")


def maximal(sets: set[int], where: str) -> list[int]:
    """Those that are in no other one."""
    found: list[int] = []
    for one in sorted(sets, key=int.bit_count, reverse=True):
        spend(1 + len(found) * (1 + one.bit_length() // 512) // 8, where)
        if not any(one & other == one for other in found):
            found.append(one)
    return found


def witnesses(face: int, dimension: int, inside: dict[tuple[int, int], list[int]]) -> tuple[int, ...]:
    """Places that span a face: of the faces of a chain, each has one that the one before it does not have."""
    chain = [face]
    while dimension > 1:
        face = inside[face, dimension][0]
        chain.append(face)
        dimension -= 1
    steps = [a & ~b for a, b in zip(chain, [*chain[1:], 0], strict=True)]
    return tuple((step & -step).bit_length() - 1 for step in steps)


# --- Pieces -----------------------------------------------------------------------------------------------------------


class Body:
    """A piece by its rows, with network and function on it, and what its cells show."""

    def __init__(
        self, rows: list[list[int]], places: list[Place], network: Net, function: Net | Formula, where: str
    ) -> None:
        self.n, self.all, self.network, self.function, self.where = len(places[0]) - 1, places, network, function, where
        self.rows = [[*[0] * self.n, 1], *rows]  # w is one of them
        self.bits = longest(self.rows)
        self.free = list[int]()  # coordinates that are 0 in S
        self.columns = list[int]()  # coordinates that tell elements of S in X apart
        self.known: dict[int, tuple[int, int]] = {}  # at a place, the forms that are positive, and that are negative
        self.open: dict[tuple[int, ...], tuple[list[int], int] | None] = {}  # largest faces, until they are shared
        self.worst: tuple[Fraction, int] = (Fraction(0), -1)

    def check(self, cells: list[list[int]], faces: Faces) -> tuple[Fraction, int]:
        """The supremum of the difference on the piece, and the number of a place where it is reached, or -1."""
        self.free = self.section()
        if not cells:
            rays = region(self.n, self.rows[1:]).rays
            need(not any(g[-1] for g, _ in rays), self.where, "it has points, and no cell is listed")
            return self.worst
        basis = reduced((self.all[i] for i in cells[0]), self.n + 1)
        self.columns = sorted(basis)
        self.dimension(len(basis))
        for cell in cells:
            self.cell(cell, faces)
        alone = next((key for key, one in self.open.items() if one is not None), None)
        need(alone is None, self.where, f"no other cell has the facet {alone}")
        return self.worst

    def section(self) -> list[int]:
        """The coordinates that are 0 in S, after network and function were seen not to differ along L."""
        normals = (row[: self.n] for row in (*self.function.normals.values(), *self.rows))
        basis = reduced(normals, self.n, self.network.normals)
        if len(basis) < self.n:
            for line in kernel(basis, self.n):
                self.difference((*line, 0))
        return [j for j in range(self.n) if j not in basis]

    def dimension(self, found: int) -> None:
        """The cells must have the dimension of the piece; if the piece is flat, that is what its generators span."""
        most = self.n + 1 - len(self.free)
        if found < most:
            flat = reduced(region(self.n, self.rows[1:]).generators(), self.n + 1)
            most = len(flat) - len(self.free)
        need(found == most, self.where, f"its first cell has {found - 1} dimensions, and the piece has {most - 1}")

    def difference(self, place: Place) -> Fraction:
        """How much network and function differ, at a place, before it is divided by w."""
        ours, theirs = self.network.at(place), self.function.at(place)
        d, e = ours.denominator, theirs.denominator
        off = max(abs(u * e - v * d) for u, v in zip(ours.outputs, theirs.outputs, strict=True))
        need(place[-1] or not off, self.where, f"they differ without bound: {show(list(place))}", [list(place)])
        spend(2 + long(d) + long(e), self.where)
        return Fraction(off, d * e)

    def place(self, i: int) -> tuple[int, int]:
        """The forms that are positive, and those that are negative, at a place; rows come first, w before all."""
        if i not in self.known:
            place = self.all[i]
            need(not any(place[j] for j in self.free), self.where, f"place {i} is not 0 in coordinates {self.free}")
            spend(4 + len(self.rows) * (2 + work(len(place), self.bits, longest([place]))), self.where)
            above = 0
            for r, row in enumerate(self.rows):
                v = dot(row, place)
                need(v >= 0, self.where, f"place {i} is outside")
                above |= (v > 0) << r
            below, shift = 0, len(self.rows)
            for side in (self.network, self.function):
                values = side.at(place)
                above, below, shift = above | values.above << shift, below | values.below << shift, shift + side.neurons
            self.known[i] = above, below
            off = self.difference(place)
            if place[-1]:
                self.worst = max(self.worst, (off / place[-1], i))
            spend(4 + shift // 64, self.where)
        return self.known[i]

    def cell(self, cell: list[int], faces: Faces) -> None:
        """Neurons keep their signs on the cell, and its largest faces are found, and joined with those of others."""
        signs = [self.place(i) for i in cell]
        above = below = 0
        for a, b in signs:
            above, below = above | a, below | b
        spend(16 + len(cell) * (4 + above.bit_length() // 256), self.where)
        need(not above & below, self.where, f"a neuron has both signs on the cell {cell}")
        alive, zeros = above | below, dict[int, int]()
        for k, (a, b) in enumerate(signs):
            left = alive & ~(a | b)
            spend(2 + left.bit_count() * (1 + alive.bit_length() // 256), self.where)
            while left:
                bit = left & -left
                zeros[bit] = zeros.get(bit, 0) | 1 << k
                left ^= bit
        walls = [z for bit, z in zeros.items() if bit >> len(self.rows) == 0]
        for face, span in faces.of(set(zeros.values()), len(cell), len(self.columns), self.where):
            spend(8 + len(walls) // 2 + len(cell), self.where)
            if not any(face & z == face for z in walls):
                key = tuple(sorted(i for k, i in enumerate(cell) if face >> k & 1))
                other = next(i for k, i in enumerate(cell) if not face >> k & 1)
                self.join(key, [cell[k] for k in span], other)

    def join(self, key: tuple[int, ...], span: list[int], other: int) -> None:
        """A largest face with these places: of this cell, on the side of the place `other`, and of another one."""
        inner = [self.all[other][j] for j in self.columns]
        if key not in self.open:
            rows = ([self.all[i][j] for j in self.columns] for i in span)
            normal = kernel(reduced(rows, len(inner)), len(inner))[0]
            self.open[key] = normal, dot(normal, inner)
        else:
            one = self.open[key]
            need(one is not None, self.where, f"more than two cells have the facet {key}")
            assert one is not None
            need(one[1] * dot(one[0], inner) < 0, self.where, f"two cells are on the same side of the facet {key}")
            self.open[key] = None
        spend(12 + work(len(inner), *[longest([inner])] * 2), self.where)


def read_places(value: Any, n: int) -> list[Place]:
    """Hypothesis (1)."""
    found = []
    for i, row in enumerate(read(value, [[Rational, n + 1]], "places")):
        need(all(type(x) is int for x in row) and row[-1] >= 0, f"places[{i}]", "these are not integers with w >= 0")
        need(math.gcd(*row) == 1, f"places[{i}]", "they have a common divisor, or are 0")
        spend(2 + work(len(row), *[longest([row])] * 2), "places")
        found.append(tuple(row))
    need(len(set(found)) == len(found), "places", "an entry is repeated")
    need(found, "places", "there are none")
    return found


def read_cells(value: Any, count: int, where: str) -> list[list[int]]:
    """Lists of numbers of places, none twice in a list."""
    cells: list[list[int]] = read(value, [[Any]], where)
    for k, cell in enumerate(cells):
        numbers(cell, f"{where}, cell {k}")
        spend(2 + len(cell), where)
        fits = cell and all(type(i) is int and 0 <= i < count for i in cell) and len(set(cell)) == len(cell)
        need(fits, f"{where}, cell {k}", f"this is not a list of different numbers from 0 to {count - 1}")
    return cells


def regions(law: Law, layers: Layers, proof: Any) -> Bound:
    """The supremum of ``|network - function|`` on the pieces of a function, which must be the one that is stated."""
    bodies = ((rows, Formula(laws)) for rows, laws in map(rows_and_laws, law.pieces))
    return supremum(law.n, bodies, layers, proof, len(law.pieces))


def between(first: Layers, second: Layers, n: int, domain: list[list[int]], proof: Any) -> Bound:
    """The supremum of ``|first - second|`` on a domain, which must be the one that is stated."""
    return supremum(n, ((domain, Net(first, n)) for _ in range(1)), second, proof, 1)


def supremum(
    n: int, bodies: Iterable[tuple[list[list[int]], Net | Formula]], layers: Layers, proof: Any, count: int
) -> Bound:
    """The same on some polyhedra, each given by rows that are at least 0 on it, for a function on each of them."""
    stated, rows, lists = read_proof(proof, "regions", n, Rational, {"places": Any, "pieces": [Any, count]})
    places = read_places(rows, n)
    network, faces, worst = Net(layers, n), Faces(), Fraction(0)
    for j, (cells, (normals, function)) in enumerate(zip(lists, bodies, strict=True)):
        body = Body(normals, places, network, function, f"piece {j}")
        worst = max(worst, body.check(read_cells(cells, len(places), f"piece {j}"), faces)[0])
    need(stated == worst, "error_bound", "it is not the supremum of |network - function|")
    return worst
