"""The common refinement of two families of polyhedra: every intersection that has an interior, once.

Boxes first, so that no pass runs over all pairs; then rows against generators. A row of one that leaves nothing of the
other parts them; a row that holds at all generators of the other is not needed. In the plane two convex sets whose
insides do not meet are parted by a row of one of them (an edge of the difference of two polygons is parallel to an edge
of one of them), so there only pairs that do meet are cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive, sides
from cpwl.geometry.bodies import Bodies, body_of, compact, joined_bodies, solid_among, stacked
from cpwl.geometry.generators import Generators, box_pairs, boxes_around
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, ranges

_BLOCK = 1 << 17  # pairs at a time


@dataclass(frozen=True, slots=True, eq=False)
class Overlay:
    """Cell `k` is the intersection of number ``one[k]`` of the first family and ``two[k]`` of the second."""

    one: NDArray[np.int64]
    two: NDArray[np.int64]
    cells: Bodies


def overlay(first: Bodies, second: Bodies) -> Overlay:
    """All cells of the common refinement, in order of the first family, then of the second.

    >>> from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
    >>> from cpwl.geometry.bodies import solid
    >>> halves = solid(Polyhedra.from_lists([[[1]], [[-1]]], [[0], [0]]))[1]
    >>> parts = solid(Polyhedra.from_lists([[[1]], [[-1]]], [[2], [-2]]))[1]
    >>> found = overlay(halves, parts)
    >>> found.one.tolist(), found.two.tolist(), found.cells.rows.tolist()
    ([0, 1, 1], [0, 0, 1], [[1, 0], [-1, 0], [1, 2], [-1, -2]])
    """
    dim = first.polyhedra.dim
    low, high = boxes_around(first.spans, len(first), dim)
    pairs = box_pairs(low, high, boxes_around(second.spans, len(second), dim))
    return _cut(first, second, pairs)


def _cut(first: Bodies, second: Bodies, pairs: NDArray[np.int64]) -> Overlay:
    """`cut_pairs`, so many at a time that tables stay small."""
    found = [cut_pairs(first, second, *pairs[k : k + _BLOCK].T) for k in range(0, max(1, len(pairs)), _BLOCK)]
    one, two = (np.concatenate([getattr(part, name) for part in found]) for name in ("one", "two"))
    return Overlay(one, two, joined_bodies([part.cells for part in found]))


def cut_pairs(first: Bodies, second: Bodies, one: NDArray[np.int64], two: NDArray[np.int64]) -> Overlay:
    """The intersections of some pairs, as far as they have an interior."""
    mine, my_pair, mine_needed, parted = _needed(second, two, first.polyhedra, one)
    yours, your_pair, yours_needed, parted_too = _needed(first, one, second.polyhedra, two)
    apart = parted | parted_too
    needs_mine, needs_yours = (np.zeros(len(one), dtype=bool) for _ in range(2))
    needs_mine[my_pair[mine_needed]] = True
    needs_mine[~second.known[two]] = True  # it may have redundant rows, or no interior
    needs_yours[your_pair[yours_needed]] = True
    whole = np.flatnonzero(~apart & ~needs_yours)  # inside the other: nothing is cut off
    other = np.flatnonzero(~apart & needs_yours & ~needs_mine)
    cut = np.flatnonzero(~apart & needs_yours & needs_mine)
    place = np.full(len(one), -1, dtype=np.int64)
    place[cut] = np.arange(len(cut))
    rows, owner = [], []
    # Of one family alone rows may be left out: where both have one row, neither of the two cuts the other.
    for stack, row, pair, needed in (
        (first, mine, my_pair, np.ones(len(mine), dtype=bool)),
        (second, yours, your_pair, yours_needed),
    ):
        use = needed & (place[pair] >= 0)
        rows.append(stack.rows[row[use]])
        owner.append(place[pair[use]])
    order = np.argsort(np.concatenate(owner), kind="stable")
    start = np.searchsorted(np.concatenate(owner)[order], np.arange(len(cut) + 1)).astype(np.int64)
    pointed = first.known[one[cut]] | second.known[two[cut]]
    kept, bodies = solid_among(stacked(np.concatenate(rows)[order], start), pointed)
    number = np.concatenate([whole, other, cut[kept]])
    cells = joined_bodies([first.take(one[whole]), second.take(two[other]), bodies])
    final = np.argsort(number, kind="stable")
    return Overlay(one[number][final], two[number][final], cells.take(final))


def _needed(
    spanned: Bodies, i: NDArray[np.int64], rowed: Polyhedra, j: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Rows of ``rowed[j]`` with their pairs, which of them cut ``spanned[i]``, and which pairs a row parts."""
    assert rowed.exact is not None
    start, begin = rowed.start, spanned.spans.start
    row, pair = ranges(start[j], np.diff(start)[j])
    entry, question = ranges(begin[i[pair]], np.diff(begin)[i[pair]])
    signs = sides(rowed.exact, spanned.places, row[question], spanned.spans.member[entry])
    needed = np.zeros(len(row), dtype=bool)
    needed[question[signs > 0]] = True
    beyond = np.ones(len(row), dtype=bool)
    beyond[question[signs < 0]] = False
    unknown = ~spanned.known[i[pair]]
    needed[unknown], beyond[unknown] = True, False
    parted = np.zeros(len(i), dtype=bool)
    parted[pair[beyond]] = True
    return row, pair, needed, parted


@dataclass(frozen=True, slots=True, eq=False)
class Sided:
    """Part `k` is the part of body ``number[k]`` where the form of that body is on side ``side[k]``, -1 or 1."""

    number: NDArray[np.int64]
    side: NDArray[np.int64]
    parts: Bodies


def split(bodies: Bodies, forms: NDArray[np.object_]) -> Sided:
    """Each body cut along the zero set of an affine form ``(g, o)`` of its own, integers up to a positive factor.

    A form that vanishes on all of a body leaves it on side -1. Every place is there once: parts may be cut again.
    """
    flat = ~np.asarray((forms[:, :-1] != 0).any(axis=1), dtype=bool)
    alone, some = np.flatnonzero(flat), np.flatnonzero(~flat)
    rows = primitive(np.column_stack([forms[some, :-1], -forms[some, -1:]]))
    both = np.tile(some, 2)
    kept, cells = cut_by(bodies, both, stacked(np.concatenate([rows, -rows]), np.arange(len(both) + 1)))
    number = np.concatenate([alone, both[kept]])
    side = np.concatenate([np.where(forms[alone, -1] > 0, 1, -1), np.where(kept < len(some), -1, 1)])
    order = np.lexsort((side, number))
    return Sided(number[order], side[order], compact(joined_bodies([bodies.take(alone), cells]).take(order)))


def cut_by(bodies: Bodies, number: NDArray[np.int64], walls: Polyhedra) -> tuple[NDArray[np.int64], Bodies]:
    """What polyhedron `k` of `walls` leaves of body ``number[k]``, where that has an interior: which `k`, and what."""
    none = np.zeros((0, walls.dim + 1), dtype=object)
    unknown = Generators(none, number[:0], np.zeros(len(walls) + 1, dtype=np.int64))
    found = cut_pairs(bodies, Bodies(walls, unknown), number, np.arange(len(walls)))
    return found.two, found.cells


def disjoint(bodies: Bodies, group: NDArray[np.int64]) -> tuple[NDArray[np.int64], Bodies]:
    """The same sets without what an earlier body of the same group covers: which body each part is of, and the parts.

    >>> from cpwl.geometry.bodies import solid, volume_of
    >>> from cpwl.geometry.polyhedra import Polyhedra
    >>> both = solid(Polyhedra.from_lists([[[1], [-1]], [[1], [-1]]], [[2, 0], [3, -1]]))[1]
    >>> number, parts = disjoint(both, np.array([0, 0]))
    >>> number.tolist(), str(volume_of(both)), str(volume_of(parts))
    ([0, 1], '4', '3')
    """
    number, some = np.arange(len(bodies)), np.flatnonzero(np.bincount(group)[group] > 1)
    shared = bodies.take(some)
    boxes = boxes_around(shared.spans, len(shared), shared.polyhedra.dim)
    pairs = some[box_pairs(*boxes, boxes)]
    met = _cut(bodies, bodies, pairs[(pairs[:, 0] < pairs[:, 1]) & (group[pairs[:, 0]] == group[pairs[:, 1]])])
    late, parts = np.unique(met.two), list[Bodies]()
    for j in late.tolist():  # few, if any: functions are rarely given by pieces that overlap
        rest = bodies.take(np.array([j]))
        for i in met.one[met.two == j].tolist():
            rest = _without(rest, bodies.polyhedra[i].integer())
        parts.append(rest)
    alone = np.setdiff1d(number, late)
    owner = np.repeat(late, [len(part) for part in parts])
    return np.concatenate([alone, owner]), joined_bodies([bodies.take(alone), *parts])


def _without(bodies: Bodies, rows: NDArray[np.object_]) -> Bodies:
    """What of the bodies is beyond some row, cut row by row."""
    beyond = list[Bodies]()
    for row in rows:
        each, walls = np.arange(len(bodies)), (repeated(body_of(own[None]), len(bodies)) for own in (-row, row))
        outer, bodies = (cut_by(bodies, each, wall)[1] for wall in walls)
        beyond.append(outer)
    return joined_bodies(beyond)


def repeated(body: Polyhedron, count: int) -> Polyhedra:
    """The same polyhedron so many times."""
    return body_of(primitive(body.integer())).alone().take(np.zeros(count, dtype=np.int64))
