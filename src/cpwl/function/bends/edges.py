"""The edges of the pieces of a function of two inputs, on their lines, exactly.

Points are integer rows ``(X, Y, W)``, ``W > 0``, for ``(X/W, Y/W)``. A line is a primitive integer row ``(a, b, c)``
for ``a x + b y + c = 0``, the first slope that is not 0 positive, and runs in the direction ``(b, -a)``. Along one line
points are compared by their rank among all points in x, or in y if the line is vertical: integers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive, ratio_view, sign
from cpwl.function.cpwl import CPWL
from cpwl.geometry.facets import hyperplanes

__all__ = ["BEGIN", "END", "Edges", "Points", "cross", "find_edges", "number_rows"]

BEGIN, END = -1, -2
"""In the place of a point: the two infinite ends of a line."""


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


def find_edges(p: CPWL) -> Edges:
    """All edges of the pieces of an exact function of two inputs."""
    planes = hyperplanes(p.polyhedra, 0.0)
    count = int(planes.number.max(initial=-1)) + 1
    rows = primitive(p.polyhedra.integer()) * planes.side[:, None]
    lines = np.zeros((count, 3), dtype=object)
    lines[planes.number] = np.column_stack([rows[:, :2], -rows[:, 2]])
    owner, side = p.polyhedra.owner, -planes.side  # a row is a.x <= b: its piece is on the other side of its normal
    if p.mesh is not None:
        points, ends = _mesh_ends(p)
    else:
        # One row for each side of a line in each piece: a row may have been written twice.
        key = (owner * (count + 1) + planes.number) * 2 + (side > 0)
        keep = np.unique(key, return_index=True)[1]
        owner, side, number = owner[keep], side[keep], planes.number[keep]
        points, ends = _cut_ends(lines, owner, side, number)
        return _with_interior(lines, points, owner, side, number, ends)
    return _with_interior(lines, points, owner, side, planes.number, ends)


def number_rows(rows: NDArray[np.object_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first of each kind of equal rows, and for each row the number of its kind.

    >>> number_rows(np.array([[1, 2], [3, 4], [1, 2]], dtype=object))
    (array([0, 1]), array([0, 1, 0]))
    """
    numbers: dict[tuple[int, ...], int] = {}
    place = np.array([numbers.setdefault(tuple(row), len(numbers)) for row in rows.tolist()], dtype=np.int64)
    first = np.unique(place, return_index=True)[1] if len(place) else place
    return first.astype(np.int64), place


def cross(one: NDArray[np.object_], two: NDArray[np.object_]) -> NDArray[np.object_]:
    """The point on two lines, ``(X, Y, W)`` with any sign of `W`; 0 is parallel, with ``(X, Y)`` the direction."""
    (a, b, c), (d, e, f) = (np.moveaxis(rows, -1, 0) for rows in (one, two))
    return np.stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=-1)


def _mesh_ends(p: CPWL) -> tuple[Points, NDArray[np.int64]]:
    """Row `k` of a triangle is the edge without corner `k`."""
    assert p.mesh is not None
    first, place = number_rows(p.mesh.corners)
    corner = place[p.mesh.simplices]
    ends = np.stack([corner[:, [1, 2]], corner[:, [2, 0]], corner[:, [0, 1]]], axis=1).reshape(-1, 2)
    return _ranked(p.mesh.corners[first]), ends


def _cut_ends(
    lines: NDArray[np.object_], owner: NDArray[np.int64], side: NDArray[np.int64], number: NDArray[np.int64]
) -> tuple[Points, NDArray[np.int64]]:
    """What the other rows of its piece leave of the line of each row: two points, or twice the same if nothing."""
    start = np.searchsorted(owner, np.arange(owner.max(initial=-1) + 2))
    size = np.diff(start)[owner]
    one = np.repeat(np.arange(len(owner)), size)
    shift = np.arange(len(one)) - np.repeat(np.cumsum(size) - size, size)
    two = np.repeat(start[owner], size) + shift
    one, two = one[one != two], two[one != two]
    at, cut = lines[number[one]], lines[number[two]]
    meet = cross(at, cut)
    turn = sign(meet[:, 2])
    crossing = np.flatnonzero(turn)
    first, place = number_rows(primitive(meet[crossing] * turn[crossing, None]))
    points = _ranked((primitive(meet[crossing] * turn[crossing, None]))[first])
    # Along (b, -a) of the first line the second form grows at the rate -W: a lower end where its piece lies there.
    low = -turn * side[two] > 0
    ends = np.empty((len(owner), 2), dtype=np.int64)
    ends[:] = BEGIN, END
    position = points.position(at[crossing], place)
    for column, chosen, better in ((0, low[crossing], -1), (1, ~low[crossing], 1)):
        rows = np.flatnonzero(chosen)
        rows = rows[np.argsort(better * position[rows], kind="stable")][::-1]
        ends[one[crossing[rows]], column] = place[rows]  # the best one is written last
    parallel = np.flatnonzero(turn == 0)
    foot = np.column_stack([-at[parallel, 2:] * at[parallel, :2], (at[parallel, :2] ** 2).sum(axis=1)])
    outside = sign((foot * cut[parallel]).sum(axis=1)) * side[two[parallel]] < 0
    ends[one[parallel[outside]]] = BEGIN
    return points, ends


def _with_interior(
    lines: NDArray[np.object_],
    points: Points,
    owner: NDArray[np.int64],
    side: NDArray[np.int64],
    number: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> Edges:
    """Edges of positive length, in the direction of their lines, of pieces that are not within a line."""
    position = np.stack([points.position(lines[number], ends[:, k]) for k in (0, 1)], axis=1)
    turned = position[:, 0] > position[:, 1]
    long = position[:, 0] != position[:, 1]
    if (ends < 0).any():
        long &= ~turned  # cut ends are in order unless nothing is left between them
        turned[:] = False
    ends = np.where(turned[:, None], ends[:, ::-1], ends)
    # A piece without interior lies in one line, on both sides of which it has an edge.
    key = owner[long] * (len(lines) + 1) + number[long]
    both = np.intersect1d(key[side[long] > 0], key[side[long] < 0])
    keep = np.flatnonzero(long)[~np.isin(owner[long], both // (len(lines) + 1))]
    return Edges(lines, points, owner[keep], number[keep], side[keep], ends[keep, 0], ends[keep, 1])


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
