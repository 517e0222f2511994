"""Proofs of kind "near", for float data: an exactly consistent function near it, a proof for that, and how near it is.

`CPWL.snap` proposes the function, the network is proved for it, and every piece of the data is cut into regions that
lie in one piece of the function each, or beside one. The stand-alone checker compares their laws there, in rationals,
at corners and along the rays. See docs/proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from operator import mul
from typing import Any

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.errors import SolverError
from cpwl.exact.integers import ratio_view
from cpwl.exact.rational import from_flint, text, to_flint
from cpwl.function import CPWL
from cpwl.function.jump import largest_jump
from cpwl.geometry.generators import boxes_around, generators
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.polyhedra import picked
from cpwl.proofs.entries import NoProof
from cpwl.proofs.question import Proposal, Question, proof_head
from cpwl_check.budget import Refused, Undecided, limited
from cpwl_check.cones import dot, minus, piece_cone, region
from cpwl_check.near import Leaves, Span, by_coefficients, farthest, gaps, gradient, partners, spanned
from cpwl_check.pieces import half_space, pair


def propose_near(question: Question, propose: Callable[[Question], Iterator[Proposal]]) -> Iterator[Proposal]:
    """Proofs that `propose` has for the function near the data, with what the distance of the two costs."""
    p = question.p
    inner = replace(question, p=_near(question))
    known: dict[Fraction, tuple[list[Any], tuple[Fraction, Fraction]]] = {}
    for proof in propose(inner):
        start = pair(proof.bound)
        if start[1] not in known:
            known[start[1]] = _cost(question, inner, start[1])
        trees, cost = known[start[1]]
        level, slope = start[0] + cost[0], start[1] + cost[1]
        bound = (level, slope) if slope else level
        fields = {"function": inner.function_document, "proof": proof.document, "pieces": trees} | _jump(p)
        yield Proposal(bound, proof_head("near", p.dim, bound) | fields)


def _jump(p: CPWL) -> dict[str, Any]:
    """Where two pieces of the data differ most: what no function comes nearer than."""
    jump = largest_jump(p)
    if jump is None:
        return {}
    return {"jump": {"pieces": [*jump.pieces], "point": [text(v) for v in jump.where], "output": jump.output}}


def _near(question: Question) -> CPWL:
    """The function near the data: for a table the one on an even lattice."""
    if question.undone is not None:
        return question.undone
    snapped = question.p.snap()
    if snapped.function is None:
        raise NotNear(f"no continuous function near this data was found: {snapped.reason}")
    return replace(snapped.function, mesh=None)


def _cost(question: Question, inner: Question, growth: Fraction) -> tuple[list[Any], tuple[Fraction, Fraction]]:
    """Trees of regions, and what the checker will find that the distance costs."""
    law, meant, layers = question.law, inner.law, question.layers
    try:
        if question.undone is None or question.undone.mesh is None:
            return regions(question.p, inner.p, by_coefficients(law), meant, layers, growth)
        trees = simplices(question.p, question.undone)
        return trees, farthest(law, meant, layers, trees, growth)
    except Refused as reason:
        raise NotNear(str(reason)) from None


# The pieces of float data, cut into regions that lie in one piece of an exact function each, or beside one.


_DEEP = 60  # cuts of one piece, one after the other
_LINES = 6  # lines in a piece of the data, each of which doubles the regions
_INPUTS = 5  # from more on a piece that is near one of the function is not cut
_NEAR = 1e-6  # how near that is, relative
_BOXES = 36  # in which slopes are bounded, for a table
_STEPS = 3 * 10**7  # of the checker, for cutting regions by neurons: about half a minute
_CUT = {"cut by": "neurons"}


Bounds = tuple[Fraction, Fraction]


def regions(
    p: CPWL, meant: CPWL, law: Any, near: Any, layers: Any, growth: Fraction = Fraction(0)
) -> tuple[list[dict[str, Any] | None], Bounds]:
    """For each piece of the data the tree of regions, each in a piece of the function or beside one; and ``(a, b)``:
    the network is within ``a + b max|x_i|`` of the data, but for what it is off the function.

    `law` and `near` are data and function, and `layers` the network, as the checker reads them; the network is within
    `growth` times ``max|x_i|`` of the function."""
    cover = _Cover(p, meant, law, near, layers, growth)
    trees = [cover.tree(j, piece_cone(piece, p.dim)) for j, piece in enumerate(law.pieces)]
    return trees, cover.sharpened()


def simplices(p: CPWL, other: CPWL) -> list[dict[str, Any] | None]:
    """Leaves for a table whose simplices are those of another, but for a little; a few boxes hold all of them."""
    assert p.mesh is not None
    assert other.mesh is not None
    if p.num_pieces != other.num_pieces:
        raise NotNear("the two tables do not have the same simplices")
    places = np.concatenate([p.mesh.points[p.mesh.simplices], other.mesh.points[other.mesh.simplices]], axis=1)
    low, high = places.min(axis=1), places.max(axis=1)
    width = np.maximum(high.max(axis=0) - low.min(axis=0), 1e-300)
    each = max(1, round(_BOXES ** (1 / p.dim)))
    block = np.minimum((each * (low + high - 2 * low.min(axis=0)) / (2 * width)).astype(np.int64), each - 1)
    whose = np.unique(block, axis=0, return_inverse=True)[1].ravel()
    boxes = []
    for k in range(whose.max() + 1):
        ends = np.nextafter(low[whose == k].min(axis=0), -np.inf), np.nextafter(high[whose == k].max(axis=0), np.inf)
        boxes.append([_texts([Fraction(v) for v in end.tolist()]) for end in ends])
    return [{"piece": i, "box": boxes[k]} for i, k in enumerate(whose.tolist())]


@dataclass(frozen=True, slots=True, eq=False)
class _Some:
    """Some pieces, and their rows of length 1 in floats; the first of each piece says nothing."""

    who: NDArray[np.int64]
    A: NDArray[np.float64]
    b: NDArray[np.float64]
    start: NDArray[np.int64]

    def excess(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far a point is outside of each."""
        return np.asarray(np.maximum.reduceat(self.A @ x - self.b, self.start))


class _Normals:
    """The rows of all pieces in floats."""

    def __init__(self, meant: CPWL) -> None:
        stack = meant.polyhedra
        length = np.linalg.norm(stack.A, axis=1)[:, None]
        before, nothing = stack.start[:-1], np.append(np.zeros(meant.dim), np.inf)
        self.rows = np.insert(np.column_stack([stack.A, stack.b]) / length, before, nothing, axis=0)
        self.start = stack.start + np.arange(len(stack.start))

    def of(self, who: NDArray[np.int64]) -> _Some:
        """Those of some pieces."""
        index, start = picked(self.start, who)
        return _Some(who, self.rows[index, :-1], self.rows[index, -1], start[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class _Loose:
    """A leaf whose region is beside a piece, and what it shows."""

    level: Fraction
    j: int
    cone: Any
    leaf: dict[str, Any]


class _Cover:
    """Regions of the data, each in a piece of the consistent function, or near one; and the worst bound so far."""

    def __init__(self, p: CPWL, meant: CPWL, law: Any, near: Any, layers: Any, growth: Fraction) -> None:
        self.n, self.law, self.near, self.layers, self.growth = p.dim, law, near, layers, growth
        stack = meant.polyhedra
        rows, bounds = stack.integer(), list(pairwise(stack.start.tolist()))
        self.given = [[[int(v) for v in row] for row in rows[a:b]] for a, b in bounds]
        self.rows = [[half_space(list(row))[0] for row in own] for own in self.given]
        span = generators(stack)
        self.low, self.high = boxes_around(span, meant.num_pieces, meant.dim)
        corners = span.places[span.places[:, -1] != 0]
        self.reach = float(np.abs(ratio_view(corners[:, :-1], corners[:, -1:])).max(initial=0.0)) or 1.0
        self.normals = _Normals(meant)
        self.bodies = dict[int, Span]()
        self.leaves, self.worst = Leaves(near, layers, growth), (Fraction(0), Fraction(0))
        self.loose = list[_Loose]()

    def tree(self, j: int, cone: Any, depth: int = 0, among: _Some | None = None) -> dict[str, Any] | None:
        """The piece that holds the region, or a cut and a tree for either side; None if no point is in it.

        `among` are the pieces that may meet it, if somebody has looked."""
        ends = cone.generators()
        if not any(g[-1] for g in ends):
            return None
        among = self.around(ends) if among is None else among
        if cone.lines or self.n > _INPUTS:
            leaf = self.beside(j, cone, ends, among)
            if leaf is not None:
                return self.shown(j, cone, leaf)
        if cone.lines:
            if len(cone.lines) > _LINES:
                raise NotNear(f"piece {j} of the data contains {len(cone.lines)} lines, one independent of the other")
            k = max(range(self.n), key=lambda t: abs(cone.lines[0][t]))
            return self.cut(j, cone, [int(t == k) for t in range(self.n + 1)], depth, among)
        i, held = self.holder(ends, among)
        beyond = [r for r, row in enumerate(self.rows[i]) if any(dot(row, g) < 0 for g in ends)]
        if not held:  # outside the domain: what is inside is cut off first
            beyond = [r for r in beyond if any(dot(self.rows[i][r], g) > 0 for g in ends)]
        if beyond and depth < _DEEP:
            return self.cut(j, cone, self.given[i][beyond[0]], depth, among)
        inside = held and not beyond
        if inside and all(g[-1] for g in ends):
            return self.shown(j, cone, {"piece": i})
        span = spanned(cone, f"piece {j}")
        return self.shown(j, cone, self.leaf(j, i, span, {} if inside else self.named(i, span)))

    def shown(self, j: int, cone: Any, leaf: dict[str, Any]) -> dict[str, Any]:
        """The leaf; what the checker will find that it shows is kept in mind."""
        level, slope = self.leaves.shown(self.law.pieces[j], cone, leaf, f"piece {j}")
        if "points" in leaf and not cone.lines and all(g[-1] for g, _ in cone.rays):
            self.loose.append(_Loose(level, j, cone, leaf))
        else:
            self.worst = max(self.worst[0], level), max(self.worst[1], slope)
        return leaf

    def sharpened(self) -> Bounds:
        """What all leaves show. Those beside a piece bound slopes of the network, which may be thousands of times too
        much; from the worst one on, they are cut by neurons instead, as long as that makes the whole bound smaller."""
        loose, steps = sorted(self.loose, key=lambda leaf: leaf.level), _STEPS
        level, slope = self.worst
        while loose and loose[-1].level > level and steps > 0:
            worst = loose[-1]
            with limited(steps) as run:
                try:
                    found = self.leaves.shown(self.law.pieces[worst.j], worst.cone, _CUT, f"piece {worst.j}")[0]
                except Undecided:
                    break
            steps = run.left
            level = max(level, min(found, worst.level))
            if found < worst.level:
                worst.leaf.clear()
                worst.leaf.update(_CUT)
            loose.pop()
        return max([level, *(leaf.level for leaf in loose[-1:])]), slope

    def around(self, ends: list[list[int]]) -> _Some:
        """The pieces whose boxes come near the box of a region."""
        points = np.array([[float(Fraction(v, g[-1])) for v in g[:-1]] for g in ends if g[-1]])
        slack = _NEAR * (self.reach + np.abs(points).max())
        low, high = points.min(axis=0) - slack, points.max(axis=0) + slack
        for g in ends:
            if not g[-1]:
                ray = np.array([float(v > 0) - float(v < 0) for v in g[:-1]])
                low, high = np.where(ray < 0, -np.inf, low), np.where(ray > 0, np.inf, high)
        return self.normals.of(np.flatnonzero(((self.low <= high) & (low <= self.high)).all(axis=1)))

    def cut(self, j: int, cone: Any, row: list[int], depth: int, among: _Some) -> dict[str, Any]:
        inner = half_space(list(row))[0]
        below, above = (self.tree(j, cone.cut(side), depth + 1, among) for side in (inner, minus(inner)))
        return {"cut": row, "below": below, "above": above}

    def holder(self, ends: list[list[int]], among: _Some) -> tuple[int, bool]:
        """The piece that an inner point of the region is in; or that comes nearest to it, and False."""
        if len(among.who) == 0:
            raise NotNear("a piece of the data is far outside the function near it")
        total = self.middle(ends)
        x = np.array([float(Fraction(v, total[-1])) for v in total[:-1]])
        excess = among.excess(x)
        slack = _NEAR * (self.reach + np.abs(x).max())
        for k in np.argsort(excess, kind="stable").tolist():
            if excess[k] > slack:
                break
            if all(dot(row, total) >= 0 for row in self.rows[among.who[k]]):
                return int(among.who[k]), True
        return int(among.who[np.argmin(excess)]), False

    def middle(self, ends: list[list[int]]) -> list[int]:
        """A place inside a region: its corners have about the same weight, and rays reach out as far as corners do."""
        most = max(g[-1] for g in ends)
        far = most * math.ceil(self.reach)
        weights = [max(1, most // g[-1] if g[-1] else far // max(map(abs, g))) for g in ends]
        return [sum(map(mul, weights, values)) for values in zip(*ends, strict=True)]

    def body(self, i: int) -> Span:
        """What spans a piece of the function."""
        if i not in self.bodies:
            self.bodies[i] = spanned(region(self.n, self.rows[i]), f"piece {i}")
        return self.bodies[i]

    def beside(self, j: int, cone: Any, ends: list[list[int]], among: _Some) -> dict[str, Any] | None:
        """A leaf for all of a region, if its corners, rays and lines are near some of one piece; None if not."""
        i, _ = self.holder(ends, among)
        span = spanned(cone, f"piece {j}")
        named = self.named(i, span)
        try:
            other = partners(self.rows[i], span, [*named.values()], f"piece {j}")
        except Refused:  # it has none of that sort
            return None
        for some, theirs, size in zip(span, other, (self.reach, 1.0, 1.0), strict=True):
            for x, y in zip(some, theirs, strict=True):
                if distance(x, y) > _NEAR * max(size, float(max(map(abs, x)))):
                    return None
        return self.leaf(j, i, span, named)

    def named(self, i: int, span: Span) -> dict[str, list[Point]]:
        """Points, directions and lines of a piece near those of a region that it does not have."""
        rows, body = self.rows[i], self.body(i)
        lines = [_line_near(x, body.lines) for x in span.lines]
        points = [nearest(rows, x, body.corners, 1) for x in span.corners]
        directions = [nearest(rows, x, [*body.rays, [Fraction(0)] * self.n], 0) for x in span.rays]
        found = {"points": points, "directions": directions, "lines": lines}
        pairs = zip(found.items(), span, strict=True)
        return {
            name: [y for x, y in zip(own, some, strict=True) if y is not None and y != x] for (name, some), own in pairs
        }

    def leaf(self, j: int, i: int, span: Span, named: dict[str, list[Point]]) -> dict[str, Any]:
        """A leaf, with a vector `h` so that ``h . r`` is at least what the laws differ by along each ray."""
        found: dict[str, Any] = {"piece": i}
        found |= {name: [_texts(x) for x in some] for name, some in named.items() if some}
        if not span.rays:
            return found
        where = f"piece {j}"
        other = partners(self.rows[i], span, [*named.values()] or [[], [], []], where)
        steep = gradient(self.layers, self.n, span, other, None, self.leaves.known, where)
        laws = zip(self.law.pieces[j].laws, self.near.pieces[i].laws, strict=True)
        off = [gaps(pair, span, other, J, self.growth) for pair, J in zip(laws, steep, strict=True)]
        corners, rays = ([max(e) for e in zip(*some, strict=True)] for some in zip(*(e[:2] for e in off), strict=True))
        if any(rays):
            found["slope"] = _texts(least_slope(span.corners, corners, span.rays, rays, self.reach))
        return found


def _line_near(x: Point, lines: list[Point]) -> Point | None:
    """The sum of lines, each 1 in a coordinate where the others are 0, that is `x` in these coordinates."""
    total = [Fraction(0)] * len(x)
    for line in lines:
        own = next(c for c, v in enumerate(line) if v == 1 and not any(o[c] for o in lines if o is not line))
        if x[own]:
            total = [u + x[own] * v for u, v in zip(total, line, strict=True)]
    return total if lines else None


def _texts(x: Point) -> list[int | str]:
    return [text(v) for v in x]


# Points and directions of a polyhedron near given ones, and how fast what differs may grow: proposals in rationals.


Point = list[Fraction]
Rows = Sequence[Sequence[int]]


class NotNear(NoProof):
    """There is no consistent function near the data, or it is not near enough to prove anything."""


def distance(x: Point, y: Point) -> Fraction:
    """The largest difference of coordinates."""
    return max(abs(u - v) for u, v in zip(x, y, strict=True))


def nearest(rows: Rows, x: Point, places: list[Point], last: int) -> Point | None:
    """A point near `x` where all rows ``(c, d)`` have ``c . x + d last >= 0``: `x` itself, one of `places`, or the foot
    of `x` on some rows, of which one more is taken as long as one is negative there."""
    foot: Point | None = x
    active: list[int] = []
    while foot is not None:
        place = [*foot, Fraction(last)]
        values = [sum((a * v for a, v in zip(row, place, strict=True)), Fraction(0)) for row in rows]
        if min(values, default=0) >= 0:
            break
        sizes = [float(value / (max(map(abs, row[:-1])) or 1)) for value, row in zip(values, rows, strict=True)]
        active.append(int(np.argmin(sizes)))
        foot = _foot([rows[r] for r in active], x, last) if len(active) <= len(x) else None
    if foot is not None and not active:
        return x
    found = [*places, foot] if foot is not None else places
    return min(found, key=lambda y: distance(x, y), default=None)


def _foot(rows: Rows, x: Point, last: int) -> Point | None:
    """The point nearest to `x` where all these rows are 0; None if they are dependent."""
    A = fmpq_mat([[to_flint(v) for v in row[:-1]] for row in rows])
    values = A * fmpq_mat([[to_flint(v)] for v in x]) + fmpq_mat([[to_flint(row[-1] * last)] for row in rows])
    try:
        step = A.transpose() * (A * A.transpose()).solve(values)
    except ZeroDivisionError:
        return None
    return [v - from_flint(step[k, 0]) for k, v in enumerate(x)]


def least_slope(
    corners: list[list[Fraction]], off: list[Fraction], rays: list[list[Fraction]], away: list[Fraction], reach: float
) -> list[Fraction]:
    """`h` with ``h . r >= away`` for all rays and small ``a + reach |h|_1``, where ``a + h . v >= off`` at corners.

    Floats propose; what is missing is made up for along a direction that all rays rise in.
    """
    n = len(rays[0])
    size = max(float(max(away)) * reach, float(max(off)), 1e-300)
    V, R = np.array(corners, dtype=np.float64) / reach, np.array(rays, dtype=np.float64)
    at_corners = np.column_stack([np.ones(len(V)), V, -V])
    along = np.column_stack([np.zeros(len(R)), R, -R])
    least = np.concatenate([np.array(off, dtype=np.float64) / size, np.array(away, dtype=np.float64) * reach / size])
    found = _smallest(np.concatenate([at_corners, along]), least)
    rising = _smallest(along[:, 1:], np.ones(len(R)))
    if rising is None:
        raise NotNear("a region of the data contains a line")
    slope = np.zeros(n) if found is None else found[1 : n + 1] - found[n + 1 :]
    h = [Fraction(float(v) * size / reach) for v in slope]
    up = [Fraction(float(v)) for v in rising[:n] - rising[n:]]
    short = max(e - sum(u * v for u, v in zip(h, ray, strict=True)) for e, ray in zip(away, rays, strict=True))
    if short > 0:
        rise = min(sum(u * v for u, v in zip(up, ray, strict=True)) for ray in rays)
        if rise <= 0:
            raise NotNear("a region of the data is too wide to bound what its laws differ by")
        h = [u + short / rise * v for u, v in zip(h, up, strict=True)]
    return h


def _smallest(rows: NDArray[np.float64], least: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The ``x >= 0`` with ``rows x >= least`` and the smallest sum, in floats; None if there is none."""
    count = rows.shape[1]
    program = LinearProgram(np.concatenate([-rows, -np.eye(count)]), np.append(-least, np.zeros(count)))
    try:
        found = program.propose(-np.ones(count))
    except SolverError:
        return None
    return found.point if found.status == "optimal" else None
