"""Where and how strongly a function of two inputs bends: the jump along each line, from a sweep of its edges.

The laws on the two sides of a line ``l = a x + b y + c`` differ by a multiple `w` of `l`, the jump. Along the line `w`
is a step function. It is found from the edges of the pieces on either side, each side sorted for itself: so pieces
need not meet face to face, and may be unbounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import ConstructionError, InputError
from cpwl.exact.integers import are_multiples, ratio_view, sign
from cpwl.exact.rational import ratios
from cpwl.function.cpwl import CPWL
from cpwl.function.flags import spanned
from cpwl.function.form import Hulls, facet_members, middle, middles
from cpwl.geometry.bodies import solid
from cpwl.geometry.cells import Cell, cell_of, cut
from cpwl.geometry.polyhedra import fact

# The edges of the pieces of a function of two inputs, on their lines, exactly.
#
# Points are integer rows ``(X, Y, W)``, ``W > 0``, for ``(X/W, Y/W)``. A line is a primitive integer row ``(a, b, c)``
# for ``a x + b y + c = 0``, the first slope that is not 0 positive, and runs in the direction ``(b, -a)``. Along one
# line points are compared by their rank among all points in x, or in y if the line is vertical: integers only.


BEGIN, END = -1, -2
"""In the place of a point: the two infinite ends of a line."""
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Distinct points with their ranks in x and y; equal coordinates have equal ranks."""

    place: NDArray[np.object_]
    rank_x: NDArray[np.int64]
    rank_y: NDArray[np.int64]

    def position(self, lines: NDArray[np.object_], point: NDArray[np.int64]) -> NDArray[np.int64]:
        """Integers that grow along each line with its points; the infinite ends come first and last."""
        far = len(self.place) + 1
        slope = sign(lines[:, 1])
        known = np.maximum(point, 0)
        rank_x, rank_y = (np.append(rank, 0)[known] for rank in (self.rank_x, self.rank_y))
        along = np.where(slope == 0, -rank_y, slope * rank_x)
        return np.where(point == BEGIN, -far, np.where(point == END, far, along)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Edges of positive length of all pieces that have an interior.

    Edge `i` bounds `piece[i]`, which lies on the side `side[i]` of the line `line[i]`, from point `first[i]` to point
    `last[i]` along the line.
    """

    lines: NDArray[np.object_]
    points: Points
    piece: NDArray[np.int64]
    line: NDArray[np.int64]
    side: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


def find_edges(stack: Hulls) -> Edges:
    """All edges of what spans the pieces of an exact function of two inputs."""
    points = _ranked(np.where(stack.places[:, -1:] == 0, np.array([0, 0, 1], dtype=object), stack.places))
    piece, rows, ends = [_NONE], [_NONE], [np.zeros((0, 2), dtype=np.int64)]
    for who, r, members, lines in facet_members(stack):
        row = stack.polyhedra.start[who] + r
        line = stack.table[stack.planes.number[row]]
        two = np.tile([BEGIN, END], (len(who), 1))
        if not lines:  # a corner and another one, or a ray
            two = members[:, np.argsort(stack.places[members[0], 2] == 0, kind="stable")]
            other = stack.places[two[:, 1]]
            onwards = sign(other[:, 0] * line[:, 1] - other[:, 1] * line[:, 0]) > 0
            two[:, 1] = np.where(other[:, 2] != 0, two[:, 1], np.where(onwards, END, BEGIN))
            place = [points.position(line, two[:, k]) for k in (0, 1)]
            two[place[0] > place[1]] = two[place[0] > place[1], ::-1]
        piece.append(stack.piece[who])
        rows.append(row)
        ends.append(two)
    row = np.concatenate(rows)
    order = np.argsort(row)
    first, last = np.concatenate(ends)[order].T
    number, side = stack.planes.number[row[order]], -stack.planes.side[row[order]]
    # a row is a.x <= b: its piece is on the other side of its normal
    return Edges(stack.table, points, np.concatenate(piece)[order], number, side, first, last)


def cross(one: NDArray[np.object_], two: NDArray[np.object_]) -> NDArray[np.object_]:
    """The point on two lines, ``(X, Y, W)`` with any sign of `W`; 0 is parallel, with ``(X, Y)`` the direction."""
    (a, b, c), (d, e, f) = (np.moveaxis(rows, -1, 0) for rows in (one, two))
    return np.stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=-1)


def _ranked(place: NDArray[np.object_]) -> Points:
    return Points(place, _ranks(place[:, 0], place[:, 2]), _ranks(place[:, 1], place[:, 2]))


def _ranks(top: NDArray[np.object_], bottom: NDArray[np.object_]) -> NDArray[np.int64]:
    """The rank of each quotient among the distinct ones. Rounding keeps the order; its ties are compared exactly."""
    view = ratio_view(top, bottom)
    order = np.argsort(view, kind="stable")
    tied = np.flatnonzero(np.diff(view[order]) == 0)
    larger = np.diff(view[order]) > 0
    if len(tied):
        runs = np.split(tied, np.flatnonzero(np.diff(tied) > 1) + 1)
        for run in runs:  # a loop over coordinates that share their rounding
            block = order[run[0] : run[-1] + 2]
            if (top[block] * bottom[block[0]] == top[block[0]] * bottom[block]).all():
                continue
            scale = int(np.lcm.reduce(bottom[block]))
            exact = [int(t) * (scale // int(b)) for t, b in zip(top[block], bottom[block], strict=True)]
            inner = sorted(range(len(block)), key=exact.__getitem__)
            order[run[0] : run[-1] + 2] = block[inner]
            larger[run] = [exact[i] < exact[j] for i, j in pairwise(inner)]
    ranks = np.empty(len(view), dtype=np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(larger)])[: len(order)]
    return ranks


_power = np.frompyfunc(lambda a, b: 1 << (max(a, b).bit_length() - 1), 2, 1)


@dataclass(frozen=True, slots=True, eq=False)
class PlanarBends:
    """The bends of a function of two inputs with `m` outputs, all numbers exact.

    Lines are oriented away from a point inside one piece: there all forms are negative, or 0 and negative just to the
    right of it (and above). So ``p = law + sum_H start_H relu(l_H) + ...`` has that piece's law as its affine part.
    """

    lines: NDArray[np.object_]
    """``(k, 3)``: integer forms ``(a, b, c)`` of the bend lines; a line runs in the direction ``(b, -a)``."""
    scale: NDArray[np.object_]
    """Powers of two: jumps are multiples of `lines` divided by them, the larger slope of which is in [1, 2)."""
    start: NDArray[np.object_]
    """``(k, m)``: the jump where the line enters the domain."""
    vertices: NDArray[np.object_]
    """``(v, 3)``: the points inside the domain where a jump changes, ``(X, Y, W)`` with ``W > 0``."""
    vertex: NDArray[np.int64]
    line: NDArray[np.int64]
    step: NDArray[np.object_]
    """At `vertices[vertex[i]]` the jump along `lines[line[i]]` changes by `step[i]` (``m`` numbers)."""
    on: NDArray[np.int64]
    """Pairs (vertex, line): bend lines that are known to pass through the vertex, with a step there or not."""
    law: NDArray[np.object_]
    """``(m, 4)``: the law of the piece that the lines are oriented away from, integers with the denominator last."""
    point: NDArray[np.object_]
    """``(X, Y, W)`` inside that piece."""
    boundary: NDArray[np.object_]
    """Forms that are at least 0 on the domain, each 0 on one of its edges."""
    corners: NDArray[np.object_]
    """Corners ``(X, Y, W)`` of the domain, and its extreme rays with ``W = 0``."""
    bounded: bool


@fact
def with_edges_only(p: CPWL) -> CPWL:
    """The pieces that have an interior, without rows that touch their piece in a corner only: such a row is no edge."""
    if p.mesh is not None or p.complete:  # regions of a network have an interior, and their rows are their facets
        return p
    thick, bodies = solid(p.polyhedra)
    return replace(p if len(thick) == p.num_pieces else p.take(thick), polyhedra=bodies.polyhedra)


@fact
def find_bends(p: CPWL) -> PlanarBends:
    """The bends of an exact function of two inputs on a convex domain.

    >>> p = CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0], [1], [2]])
    >>> found = find_bends(p)
    >>> sorted(abs(found.lines).tolist()), found.vertices.tolist(), found.bounded
    ([[0, 1, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 1]], False)
    """
    stack = spanned(p)
    if isinstance(stack, str) or not len(stack.piece):
        raise ConstructionError(stack if isinstance(stack, str) else "no piece has an interior")
    edges = find_edges(stack)
    sides = np.zeros((len(edges.lines), 2), dtype=bool)
    sides[edges.line, (edges.side > 0).astype(np.int64)] = True
    rim = np.asarray(~sides.all(axis=1))
    outer = rim[edges.line]
    on_rim = np.zeros(len(edges.points.place) + 2, dtype=bool)
    on_rim[edges.first[outer]] = on_rim[edges.last[outer]] = True
    on_rim[-2:] = True  # the last two places stand for the infinite ends
    sweep = _sweep(p, edges, ~outer)
    bent = np.unique(sweep.line[np.asarray(sweep.jump != 0).any(axis=1)])
    point, piece = _middle(stack)
    lines = edges.lines[bent]
    turn = away_from(lines, point)
    number = np.full(len(edges.lines), -1, dtype=np.int64)
    number[bent] = np.arange(len(bent))
    start, end, at, line, step, passing = _steps(sweep, number, on_rim)
    start = np.where(turn[:, None] > 0, start, end)
    star = np.unique(at)
    inner = np.isin(passing[:, 0], star)
    boundary, corners, bounded = _domain(edges, outer)
    return PlanarBends(
        lines * turn[:, None],
        power_of_two(lines),
        start,
        edges.points.place[star],
        np.searchsorted(star, at),
        line,
        signed(step, turn[line]),
        np.column_stack([np.searchsorted(star, passing[inner, 0]), passing[inner, 1]]),
        p.laws.integer()[piece],
        point,
        boundary,
        corners,
        bounded,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Sweep:
    """Intervals of lines between consecutive ends of edges, in order, with the jumps on them."""

    line: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    jump: NDArray[np.object_]


def _sweep(p: CPWL, edges: Edges, inner: NDArray[np.bool_]) -> _Sweep:
    which = np.flatnonzero(inner)
    line, span = edges.line[which], 2 * (len(edges.points.place) + 2)
    ends = np.column_stack([edges.first[which], edges.last[which]])
    place = [edges.points.position(edges.lines[line], ends[:, k]) + line * span for k in (0, 1)]
    every, chosen = np.unique(np.concatenate(place), return_index=True)
    point, owner = np.concatenate([ends[:, 0], ends[:, 1]])[chosen], np.concatenate([line, line])[chosen]
    gap = np.flatnonzero(owner[1:] == owner[:-1])
    found = np.full((2, len(gap)), -1, dtype=np.int64)
    for k, side in enumerate((1, -1)):
        own = np.flatnonzero(edges.side[which] == side)
        own = own[np.argsort(place[0][own], kind="stable")]
        if len(own):
            before = np.searchsorted(place[0][own], every[gap], side="right") - 1
            edge = own[np.maximum(before, 0)]
            holds = (before >= 0) & (place[0][edge] <= every[gap]) & (every[gap] < place[1][edge])
            found[k] = np.where(holds, which[edge], -1)
    alone = np.flatnonzero((found[0] < 0) != (found[1] < 0))
    if len(alone):
        i = int(edges.piece[found[:, alone[0]].max()])
        raise InputError(f"an edge of piece {i} inside the domain has no piece on its other side", piece=i)
    jump = np.full((len(gap), p.outputs), Fraction(0), dtype=object)
    both = np.flatnonzero(found[0] >= 0)
    jump[both] = _jumps(p, edges, found[0][both], found[1][both])
    return _Sweep(owner[gap], point[gap], point[gap + 1], jump)


def _jumps(p: CPWL, edges: Edges, plus: NDArray[np.int64], minus: NDArray[np.int64]) -> NDArray[np.object_]:
    """``(f_plus - f_minus) / l`` for pairs of edges on one line, where the laws differ; that must divide exactly."""
    one, two = edges.piece[plus], edges.piece[minus]
    jump = np.full((len(plus), p.outputs), Fraction(0), dtype=object)
    for j in range(p.outputs):
        bent = np.flatnonzero(p.component[one, j] != p.component[two, j])
        rows = p.laws.integer()[:, j]
        f, g, l = rows[one[bent]], rows[two[bent]], edges.lines[edges.line[plus[bent]]]
        rise = f[:, :3] * g[:, 3:] - g[:, :3] * f[:, 3:]
        c = np.where(l[:, 0] != 0, 0, 1)
        each = np.arange(len(bent))
        torn = np.flatnonzero(~are_multiples(rise, l))
        if len(torn):
            i, k = int(one[bent[torn[0]]]), int(two[bent[torn[0]]])
            raise InputError(f"pieces {i} and {k} disagree on their common edge", pieces=(i, k))
        jump[bent, j] = ratios(rise[each, c] * power_of_two(l), f[:, 3] * g[:, 3] * l[each, c])
    return jump


def _steps(sweep: _Sweep, number: NDArray[np.int64], on_rim: NDArray[np.bool_]) -> tuple[Any, ...]:
    """First and last jumps of the bent lines; points, lines and sizes of the steps inside; all points passed inside."""
    keep = np.flatnonzero(number[sweep.line] >= 0)
    line, jump = number[sweep.line[keep]], sweep.jump[keep]
    opens = np.concatenate([[True], line[1:] != line[:-1]])[: len(line)]
    closes = np.concatenate([line[1:] != line[:-1], [True]])[: len(line)]
    before = np.concatenate([jump[-1:], jump[:-1]])
    before[opens] = Fraction(0)
    at = np.concatenate([sweep.first[keep], sweep.last[keep][closes]])
    size = np.concatenate([jump, -jump[closes]])
    both = np.flatnonzero(np.asarray(before != 0).any(axis=1))
    size[both] = jump[both] - before[both]
    owner = np.concatenate([line, line[closes]])
    start, end = jump[opens], jump[closes]
    start[~on_rim[sweep.first[keep][opens]]] = Fraction(0)
    end[~on_rim[sweep.last[keep][closes]]] = Fraction(0)
    inside = ~on_rim[at]
    moved = inside & (size != 0).any(axis=1)
    return start, end, at[moved], owner[moved], size[moved], np.column_stack([at[inside], owner[inside]])


def _domain(edges: Edges, outer: NDArray[np.bool_]) -> tuple[NDArray[np.object_], NDArray[np.object_], bool]:
    """Forms of the domain's edges, its corners and extreme rays, and whether it is bounded."""
    rim, first = np.unique(edges.line[outer], return_index=True)
    forms = edges.lines[rim] * edges.side[outer][first].astype(object)[:, None]
    ends = np.concatenate([edges.first[outer], edges.last[outer]])
    pairs = np.unique(np.column_stack([ends, np.tile(edges.line[outer], 2)]), axis=0)
    point, count = np.unique(pairs[pairs[:, 0] >= 0, 0], return_counts=True)
    corners = edges.points.place[point[count > 1]]
    rays = [sense * edges.lines[h] for end, h in pairs if end < 0 for sense in ((-1,) if end == BEGIN else (1,))]
    directions = np.array([[l[1], -l[0], 0] for l in rays], dtype=object).reshape(-1, 3)
    return forms, np.concatenate([corners, directions]), len(rim) > 0 and len(rays) == 0


def power_of_two(lines: NDArray[np.object_]) -> NDArray[np.object_]:
    """For each form the largest power of two that is at most its larger slope."""
    return np.asarray(_power(np.abs(lines[:, 0]), np.abs(lines[:, 1])), dtype=object)


def signed(values: NDArray[np.object_], side: NDArray[np.int64]) -> NDArray[np.object_]:
    """The rows times their signs; only those that change are touched."""
    result = values.copy()
    result[side < 0] = -values[side < 0]
    return result


def away_from(lines: NDArray[np.object_], point: NDArray[np.object_]) -> NDArray[np.int64]:
    """The sign that makes each form negative at the point; where it is 0, just to the right of the point, and above."""
    value = (lines * point).sum(axis=1)
    value = np.where(value != 0, value, np.where(lines[:, 0] != 0, lines[:, 0], lines[:, 1]))
    return np.where(value > 0, -1, 1).astype(np.int64)


def _middle(stack: Hulls) -> tuple[NDArray[np.object_], int]:
    """A point inside the piece whose middle is nearest to the middle of them all, bounded if one is, and that piece."""
    start, finite = stack.start, np.asarray(stack.places[:, -1] != 0, dtype=bool)
    view = ratio_view(stack.places, np.where(finite, stack.places[:, -1], 1)[:, None]) * finite[:, None]
    total = np.add.reduceat(view[stack.member], start[:-1])
    bounded = np.flatnonzero(total[:, 2] == np.diff(start))
    candidates = bounded if len(bounded) else np.arange(len(total))
    corners = view[finite, :2]
    far = (total[:, :2] / total[:, 2:])[candidates] - (corners.min(axis=0) + corners.max(axis=0)) / 2
    i = int(candidates[np.argmin((far**2).sum(axis=1))])
    return middles(stack)[i], int(stack.piece[i])


# The bends of a function oriented away from another point: from each cell that its lines cut the domain into.
#
# Along a line that is turned round the jump runs from its end to its start: ``start' = start + sum of steps`` and
# ``step' = -step``; the jump itself is that of `l` and of `-l`, which differ by an affine function.


def orientations(bends: PlanarBends, p: CPWL) -> Iterator[PlanarBends]:
    """The bends of `p` oriented away from a point of each cell of their lines but the one they have now.

    So what comes does not depend on how a function is cut into pieces.

    >>> from cpwl.function.bends.planar import find_bends
    >>> p = CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0], [1], [2]])
    >>> len(list(orientations(find_bends(p), p)))  # three lines through a point: six cells
    5
    """
    seen = {(1,) * len(bends.lines)}
    for cell in _cells(bends):
        point = middle(np.array([cell.places], dtype=object))[0]
        turn = away_from(bends.lines, point)
        if tuple(turn) not in seen:
            seen.add(tuple(turn))
            yield _turned(bends, turn, point, _law_at(p, point))


def _turned(
    bends: PlanarBends, turn: NDArray[np.int64], point: NDArray[np.object_], law: NDArray[np.object_]
) -> PlanarBends:
    end = bends.start.copy()
    np.add.at(end, bends.line, bends.step)
    start = np.where(turn[:, None] > 0, bends.start, end)
    step = signed(bends.step, turn[bends.line])
    return replace(bends, lines=bends.lines * turn[:, None], start=start, step=step, point=point, law=law)


def _law_at(p: CPWL, point: NDArray[np.object_]) -> NDArray[np.object_]:
    """The law at a point of the domain that is on no bend: that of any piece with it."""
    rows = p.polyhedra.integer()
    out = np.flatnonzero((rows[:, :2] * point[:2]).sum(axis=1) > rows[:, 2] * point[2])
    return np.asarray(p.laws.integer()[np.setdiff1d(np.arange(p.num_pieces), p.polyhedra.owner[out])[0]])


def _cells(bends: PlanarBends) -> list[Cell]:
    """The cells of the lines in the domain."""
    cells = [cell_of((-bends.boundary).tolist(), 2)]
    for form in bends.lines.tolist():
        halves = [cut(cell, tuple(sense * v for v in form)) for cell in cells for sense in (-1, 1)]
        cells = [half for half in halves if half.is_solid]
    return cells
