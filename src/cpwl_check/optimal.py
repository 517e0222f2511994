"""Check a proof that a network is the optimiser of a program for all its feasible parameters, kind "optimal".

The program is ``min 1/2 u'Qu + (H x + c)'u`` over ``A u <= b + F x`` (the first `equalities` rows are equations) for
parameters `x` with ``A_t x <= b_t``. `X` are the feasible parameters: those for which some `u` satisfies all of that.

**Theorem.** Let p be the function of the file, and let regions be given by rows, with an affine u = U(x) each. If

(1) Q is symmetric and positive semidefinite, `read_program`, `is_definite`
(2) every region has an interior, and there is one; on it ``A U <= b + F x``, with equality in equations, and
    ``A_t x <= b_t``, `Region.check_feasible`
(3) at each corner, ray and line of a region some basis has multipliers m >= 0 (of equations, of any sign) with
    ``Q U + H x + c + A'm = 0``, and rows of a basis hold as equations for all x, `Region.check_optimal`
(4) every row of a region is an edge or covered: an edge is ``y'(b + F x) + z'(b_t - A_t x) >= 0`` with ``y'A = 0``,
    z >= 0 and y >= 0, but for equations; or regions that lie on its other side cover the facet, `check_beyond`
(5) every region lies in a piece of p, where p has the outputs of U that the proof names, `check_piece`
(6) the network is within the stated bound of p on every piece, by a proof of its own, `optimal`

then for every x in X the outputs of the network are within the bound of the entries of an optimiser; if Q is definite,
of the optimiser, which is unique. The regions cover X exactly.

For, on a region U is feasible, by (2); by (3) it is optimal: multipliers at a point are the same mean of those at the
corners and rays as the point itself, and only rows that hold as equations have any; with (1) that suffices. So regions
lie in X. They cover it: suppose an open part of X is in none. A generic segment from inside a region to that part stays
inside X, which is convex, and avoids all faces of codimension 2. At its last point in the union it leaves through the
inside of a facet. That is no edge, which by (4) is positive inside X. So the point is in a region on the other side,
and inside one of its facets, on the same hyperplane: that region contains the points just beyond, a contradiction. What
regions cover is closed, so it is X.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from cpwl_check.budget import longest, need, spend, work
from cpwl_check.cones import Cone, dot, minus, outside, reduced, region
from cpwl_check.pieces import Bound, Law, Layers, common, half_space, over_one, pair, read_bound
from cpwl_check.reading import WEIGHTS, Rational, read, read_proof

Matrix = list[list[int]]


class Program(NamedTuple):
    """The program in integers: `scale` times Q, (H, c), A and (F, b); and rows of bounds b_t - A_t x."""

    n: int
    equalities: int
    scale: int
    Q: Matrix
    gradient: Matrix
    A: Matrix
    right: Matrix
    bounds: Matrix


class Region(NamedTuple):
    """A region with its law U, and the multipliers of each of its bases, in integers over the denominator `d`."""

    rows: Matrix
    cone: Cone
    law: Matrix
    d: int
    bases: list[tuple[list[int], Matrix]]
    where: str

    def check_feasible(self, program: Program) -> list[list[int]]:
        """Hypothesis (2); the slack of each row as an affine function."""
        need(self.cone.is_solid(), self.where, "it has no interior")
        slack = []
        every = combinations(program.A, self.law, program.n + 1, self.where)
        for i, (moved, right) in enumerate(zip(every, program.right, strict=True)):
            row = [v * self.d - u for v, u in zip(right, moved, strict=True)]
            if i < program.equalities:
                need(not any(row), self.where, f"equation {i} does not hold")
            else:
                need(self.is_nonnegative(row), self.where, f"row {i} of A does not hold everywhere")
            slack.append(row)
        for i, row in enumerate(program.bounds):
            need(self.is_nonnegative(row), self.where, f"row {i} of A_t does not hold everywhere")
        return slack

    def check_optimal(self, program: Program, slack: Matrix) -> None:
        """Hypothesis (3)."""
        good = [False] * len(self.cone.generators())
        left = list(combinations(program.Q, self.law, program.n + 1, self.where))
        for basis, multipliers in self.bases:
            need(len(set(basis)) == len(basis), self.where, "a basis names a row twice")
            for i in basis:
                need(not any(slack[i]), self.where, f"row {i} is in a basis, and does not hold as an equation")
            columns = [[program.A[i][j] for i in basis] for j in range(len(program.Q))]
            push = combinations(columns, multipliers, program.n + 1, self.where)
            for j, each in enumerate(zip(left, program.gradient, push, strict=True)):
                rest = [u + v * self.d + m for u, v, m in zip(*each, strict=True)]
                need(not any(rest), self.where, f"Q U + H x + c + A'm is not 0 in entry {j}")
            signed = [m for i, m in zip(basis, multipliers, strict=True) if i >= program.equalities]
            for row in signed:
                self.cone.pay(1, row, self.where)
            for k, g in enumerate(self.cone.generators()):
                good[k] = good[k] or all(dot(row, g) >= 0 for row in signed)
        need(all(good), self.where, "at a corner or ray of it no basis has multipliers that are not negative")

    def is_nonnegative(self, row: list[int]) -> bool:
        """Whether an affine function is at least 0 on the region."""
        self.cone.pay(1, row, self.where)
        return all(dot(row, g) >= 0 for g in self.cone.generators())


def combinations(weights: Iterable[Sequence[int]], vectors: Matrix, size: int, where: str) -> Iterator[list[int]]:
    """For each list of weights the sum of so many multiples of the vectors."""
    columns, bits = list(zip(*vectors, strict=True)) or [()] * size, longest(vectors)
    for row in weights:
        spend(1 + len(row) * size // 16 + work(len(row) * size, longest([row]), bits), where)
        yield [dot(row, column) for column in columns]


def optimal(law: Law, layers: Layers, proof: Any, decide: Callable[[Law, Layers, Any], Bound]) -> Bound:
    """The proven bound of ``|network - u*|``, for all feasible parameters."""
    n = law.n
    body = {"program": {str: Any}, "outputs": [Any, law.outputs], "edges": [Any], "regions": [Any], "proof": {str: Any}}
    stated, matrices, outputs, edges, regions, inner = read_proof(proof, "optimal", n, Any, body)
    need(inner.get("kind") != "optimal", "proof.proof", "it must be of another kind")
    program = read_program(matrices, n)
    is_definite(program)
    chosen = read(outputs, [range(len(program.Q))], "outputs")
    valid = [read_edge(edge, program, f"edge {k}") for k, edge in enumerate(edges)]
    need(regions, "regions", "there are none")
    found = [read_region(entry, program, f"region {k}") for k, entry in enumerate(regions)]
    for k, one in enumerate(found):
        one.check_optimal(program, one.check_feasible(program))
        check_piece(one, regions[k]["piece"], law, chosen)
    for k, one in enumerate(found):
        beyond = read(regions[k]["beyond"], [Any, len(one.rows)], f"region {k}, beyond")
        for f, entry in enumerate(beyond):
            check_beyond(one, f, entry, found, valid)
    bound, shown = read_bound(stated), pair(decide(law, layers, inner))
    fits = all(least <= most for least, most in zip(shown, pair(bound), strict=True))
    need(fits, "error_bound", "it is less than the bound that is shown for the function")
    return bound


def read_program(matrices: Any, n: int) -> Program:
    """The program in integers; hypothesis (1), that Q is symmetric."""
    A = read(matrices.get("A"), [[Rational]], "program.A")
    need(A and A[0], "program.A", "it is empty")
    m, moves = len(A), len(A[0])
    shape = {"equalities": range(m + 1), "Q": [[Rational, moves], moves], "H": [[Rational, n], moves]}
    shape |= {"c": [Rational, moves], "A": [[Rational, moves], m], "F": [[Rational, n], m], "b": [Rational, m]}
    equalities, Q, H, c, A, F, b, A_t, b_t = read(
        matrices, shape | {"A_t": [[Rational, n]], "b_t": [Rational]}, "program"
    )
    need(len(A_t) == len(b_t), "program.A_t", f"it has {len(A_t)} rows and b_t has {len(b_t)}")
    need(all(Q[i][j] == Q[j][i] for i in range(moves) for j in range(i)), "program.Q", "it is not symmetric")
    gradient = [[*row, v] for row, v in zip(H, c, strict=True)]
    right = [[*row, v] for row, v in zip(F, b, strict=True)]
    scale = common(v.denominator for rows in (Q, gradient, A, right) for row in rows for v in row)
    size = moves * moves + 2 * m * (moves + n)
    spend(1 + size * (32 + scale.bit_length()) // 64, "program")
    Q, gradient, A, right = (
        [[v.numerator * (scale // v.denominator) for v in row] for row in rows] for rows in (Q, gradient, A, right)
    )
    bounds = [half_space([*row, v])[0] for row, v in zip(A_t, b_t, strict=True)]
    return Program(n, equalities, scale, Q, gradient, A, right, bounds)


def is_definite(program: Program) -> bool:
    """Hypothesis (1), by elimination without fractions; and whether Q is definite, so that optimisers are unique."""
    rest, before, definite = program.Q, 1, True
    while rest:
        bits = max(max(map(abs, row)) for row in rest).bit_length()
        spend(1 + len(rest) ** 2 + work(2 * len(rest) ** 2, bits, bits), "program.Q")
        (p, *pivot), *others = rest
        need(p > 0 or (p == 0 and not any(pivot)), "program.Q", "it is not positive semidefinite")
        definite = definite and p > 0
        if p:
            rest = [[(p * x - first * y) // before for x, y in zip(row, pivot, strict=True)] for first, *row in others]
            before = p
        else:  # by symmetry its column is 0, too
            rest = [row[1:] for row in others]
    return definite


def read_edge(edge: Any, program: Program, where: str) -> list[int]:
    """A row that is at least 0 on X, as primitive integers; hypothesis (4)."""
    y, z = read(edge, {"y": WEIGHTS, "z": WEIGHTS}, where)
    counts = ((y, len(program.A), program.equalities), (z, len(program.bounds), 0))
    weights = []
    for given, count, free in counts:
        need(given.keys() <= set(map(str, range(count))), where, "there is a multiplier for a row that does not exist")
        need(all(v >= 0 for i, v in given.items() if int(i) >= free), where, "there is a negative multiplier")
        whole, d = over_one(list(given.values()))
        weights.append(([int(i) for i in given], whole, d))
    (rows, left, d), (bounds, right, e) = weights
    (zero,) = combinations([left], [program.A[i] for i in rows], len(program.Q), where)
    need(not any(zero), where, "y'A is not 0")
    (one,) = combinations([left], [program.right[i] for i in rows], program.n + 1, where)
    (two,) = combinations([right], [program.bounds[i] for i in bounds], program.n + 1, where)
    total = [e * u + d * program.scale * v for u, v in zip(one, two, strict=True)]
    divisor = math.gcd(*total) or 1
    return [v // divisor for v in total]


def read_region(entry: Any, program: Program, where: str) -> Region:
    """The region, with its corners and rays; numbers of its law and of its bases over one denominator."""
    n, moves = program.n, len(program.Q)
    fields = {
        "piece": Any,
        "rows": [[Rational, n + 1]],
        "law": [[Rational, n + 1], moves],
        "bases": [Any],
        "beyond": Any,
    }
    _, rows, law, bases, _ = read(entry, fields, where)
    names, numbers = [], [v for row in law for v in row]
    for k, basis in enumerate(bases):
        shape = {"rows": [range(len(program.A))], "multipliers": [[Rational, n + 1]]}
        members, multipliers = read(basis, shape, f"{where}, basis {k}")
        need(len(members) == len(multipliers), f"{where}, basis {k}", "it does not have a multiplier for each row")
        names.append(members)
        numbers += [v for row in multipliers for v in row]
    flat, d = over_one(numbers)
    table = [flat[k : k + n + 1] for k in range(0, len(flat), n + 1)]
    start, made = moves, []
    for members in names:
        made.append((members, table[start : start + len(members)]))
        start += len(members)
    facets = [half_space(row)[0] for row in rows]
    return Region(facets, region(n, facets), table[:moves], d, made, where)


def check_piece(one: Region, piece: Any, law: Law, outputs: list[int]) -> None:
    """Hypothesis (5)."""
    j = read(piece, range(len(law.pieces)), f"{one.where}, piece")
    need(not law.pieces[j].corners, f"piece {j}", "the pieces of an optimiser must be given by rows")
    for row, _ in law.pieces[j].rows.values():
        need(one.is_nonnegative(row), one.where, f"it is not in piece {j}")
    for (values, d), k in zip(law.pieces[j].laws, outputs, strict=True):
        same = all(v * one.d == u * d for v, u in zip(values, one.law[k], strict=True))
        need(same, one.where, f"piece {j} does not have its law")


def check_beyond(one: Region, f: int, entry: Any, found: list[Region], edges: Matrix) -> None:
    """Hypothesis (4)."""
    row, where = one.rows[f], f"{one.where}, row {f}"
    if type(entry) is dict and "edge" in entry:
        k = read(entry, {"edge": range(len(edges))}, where)[0]
        need(edges[k] == row, where, f"it is not edge {k}")
        return
    others = [found[k] for k in read(entry, {"regions": [range(len(found))]}, where)[0]]
    need(others, where, "nothing covers it")
    for other in others:
        need(other.is_nonnegative(minus(row)), where, f"{other.where} does not lie beyond it")
    one.cone.pay(1 + sum(len(other.rows) for other in others), row, where)
    on = [g for g in one.cone.generators() if not dot(row, g)]
    if len(others) == 1:
        need(all(dot(r, g) >= 0 for r in others[0].rows for g in on), where, f"{others[0].where} does not cover it")
        return
    for part in outside(one.cone.cut(minus(row)), [other.rows for other in others]):
        rank = len(reduced(part.generators(), len(row) - 1))
        need(rank < len(row) - 1, where, "a part of it is not covered")
