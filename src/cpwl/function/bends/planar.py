"""Where and how strongly a function of two inputs bends: the jump along each line, from a sweep of its edges.

The laws on the two sides of a line ``l = a x + b y + c`` differ by a multiple `w` of `l`, the jump. Along the line `w`
is a step function. It is found from the edges of the pieces on either side, each side sorted for itself: so pieces
need not meet face to face, and may be unbounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import ratio_view
from cpwl.function.bends.edges import BEGIN, Edges, find_edges
from cpwl.function.cpwl import CPWL
from cpwl.geometry.facets import trim
from cpwl.geometry.polyhedra import fact
from cpwl.geometry.probe import Probe

__all__ = ["PlanarBends", "away_from", "find_bends", "power_of_two", "signed", "with_edges_only"]

_fraction = np.frompyfunc(Fraction, 2, 1)
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
    solid: NDArray[np.int64]
    """The pieces that have an interior."""


@fact
def with_edges_only(p: CPWL) -> CPWL:
    """The pieces that have an interior, without rows that touch their piece in a corner only: such a row is no edge."""
    if p.mesh is not None or p.complete:  # regions of a network have an interior, and their rows are their facets
        return p
    probe = Probe(0.0)
    thick = [i for i, body in enumerate(p.polyhedra) if probe.interior(body) is not None]
    p = p if len(thick) == p.num_pieces else p.take(np.array(thick, dtype=np.int64))
    return replace(p, polyhedra=trim(p.polyhedra, 0.0))


@fact
def find_bends(p: CPWL) -> PlanarBends:
    """The bends of an exact function of two inputs on a convex domain.

    >>> p = CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0], [1], [2]])
    >>> found = find_bends(p)
    >>> sorted(abs(found.lines).tolist()), found.vertices.tolist(), found.bounded
    ([[0, 1, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 1]], False)
    """
    edges = find_edges(p)
    sides = np.zeros((len(edges.lines), 2), dtype=bool)
    sides[edges.line, (edges.side > 0).astype(np.int64)] = True
    rim = np.asarray(~sides.all(axis=1))
    outer = rim[edges.line]
    on_rim = np.zeros(len(edges.points.place) + 2, dtype=bool)
    on_rim[edges.first[outer]] = on_rim[edges.last[outer]] = True
    on_rim[-2:] = True  # the last two places stand for the infinite ends
    sweep = _sweep(p, edges, ~outer)
    bent = np.unique(sweep.line[np.asarray(sweep.jump != 0).any(axis=1)])
    point, piece = _middle(p, edges)
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
        np.unique(edges.piece) if len(edges.piece) else np.array([piece], dtype=np.int64),
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
        torn = np.flatnonzero((rise * l[each, c][:, None] != l * rise[each, c][:, None]).any(axis=1))
        if len(torn):
            i, k = int(one[bent[torn[0]]]), int(two[bent[torn[0]]])
            raise InputError(f"pieces {i} and {k} disagree on their common edge", pieces=(i, k))
        jump[bent, j] = _fraction(rise[each, c] * power_of_two(l), f[:, 3] * g[:, 3] * l[each, c])
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


def _middle(p: CPWL, edges: Edges) -> tuple[NDArray[np.object_], int]:
    """A point inside the piece whose middle is nearest to the middle of them all, and that piece.

    The mean of the ends of a piece's edges; an edge without an end has one a step away.
    """
    if len(edges.piece) == 0:
        return np.array([0, 0, 1], dtype=object), 0
    view = ratio_view(edges.points.place[:, :2], edges.points.place[:, 2:])
    ends = np.concatenate([edges.first, edges.last])
    owner = np.concatenate([edges.piece, edges.piece])
    bounded = np.ones(p.num_pieces, dtype=bool)
    bounded[owner[ends < 0]] = False
    count = np.bincount(owner, minlength=p.num_pieces)
    candidates = np.flatnonzero(bounded & (count > 0)) if (bounded & (count > 0)).any() else np.flatnonzero(count)
    finite = ends >= 0
    middle = np.full((p.num_pieces, 2), np.nan)
    share = np.bincount(owner[finite], minlength=p.num_pieces)
    for k in (0, 1):
        with np.errstate(invalid="ignore"):
            middle[:, k] = np.bincount(owner[finite], view[ends[finite], k], p.num_pieces) / share
    middle = np.nan_to_num(middle)
    weight = middle[candidates] - (view.min(axis=0) + view.max(axis=0)) / 2 if len(view) else middle[candidates]
    piece = int(candidates[np.argmin((weight**2).sum(axis=1))])
    return _inside(edges, np.flatnonzero(edges.piece == piece)), piece


def _inside(edges: Edges, own: NDArray[np.int64]) -> NDArray[np.object_]:
    """A point inside the polygon with the given edges: a mean of points of all of them."""
    total, count = [Fraction(0), Fraction(0)], 0
    for i in own:
        l = edges.lines[edges.line[i]]
        known = [edges.points.place[k] for k in (edges.first[i], edges.last[i]) if k >= 0]
        square = int(l[0] ** 2 + l[1] ** 2)
        base = (
            [Fraction(v, known[0][2]) for v in known[0][:2]] if known else [Fraction(-l[2] * v, square) for v in l[:2]]
        )
        away = [Fraction(int(v), int(abs(l[0]) + abs(l[1]))) for v in (l[1], -l[0])]
        places = [[Fraction(v, k[2]) for v in k[:2]] for k in known]
        if edges.last[i] < 0:
            places.append([x + v for x, v in zip(base, away, strict=True)])
        if edges.first[i] < 0:
            places.append([x - v for x, v in zip(base, away, strict=True)])
        total = [t + sum(x[k] for x in places) for k, t in enumerate(total)]
        count += len(places)
    if len(own) == 1:  # a half-plane: one step inwards
        l, side = edges.lines[edges.line[own[0]]], int(edges.side[own[0]])
        total = [
            t + count * side * Fraction(int(v), int(abs(l[0]) + abs(l[1]))) for t, v in zip(total, l[:2], strict=True)
        ]
    x, y = (t / count for t in total)
    common = math.lcm(x.denominator, y.denominator)
    return np.array([int(x * common), int(y * common), common], dtype=object)
