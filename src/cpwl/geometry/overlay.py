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
from cpwl.geometry.bodies import Bodies, joined_bodies, solid_among, stacked
from cpwl.geometry.generators import box_pairs, boxes_around
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
    found = [
        cut_pairs(first, second, pairs[k : k + _BLOCK, 0], pairs[k : k + _BLOCK, 1])
        for k in range(0, max(1, len(pairs)), _BLOCK)
    ]
    one, two = (np.concatenate([getattr(part, name) for part in found]) for name in ("one", "two"))
    return Overlay(one, two, joined_bodies([part.cells for part in found]))


def cut_pairs(first: Bodies, second: Bodies, one: NDArray[np.int64], two: NDArray[np.int64]) -> Overlay:
    """The intersections of some pairs, as far as they have an interior."""
    mine, my_pair, mine_needed, parted = _needed(second, two, first.polyhedra, one)
    yours, your_pair, yours_needed, parted_too = _needed(first, one, second.polyhedra, two)
    apart = parted | parted_too
    needs_mine, needs_yours = (np.zeros(len(one), dtype=bool) for _ in range(2))
    needs_mine[my_pair[mine_needed]] = True
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

    A form that vanishes on all of a body leaves it on side -1.
    """
    rows = np.column_stack([forms[:, :-1], -forms[:, -1:]]) if len(forms) else forms
    begin, count = bodies.spans.start, len(bodies)
    entry, owner = ranges(begin[:-1], np.diff(begin))
    signs = sides(rows, bodies.places, owner, bodies.spans.member[entry])
    up, down = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    up[owner[signs > 0]] = True
    down[owner[signs < 0]] = True
    constant = ~np.asarray((forms[:, :-1] != 0).any(axis=1), dtype=bool)
    unknown = ~bodies.known
    up[unknown], down[unknown] = True, True
    up[constant] = np.asarray(forms[constant, -1] > 0, dtype=bool)
    down[constant] = ~up[constant]
    below, above, both = np.flatnonzero(~up), np.flatnonzero(up & ~down), np.flatnonzero(up & down)
    number, side = [below, above], [np.full(len(below), -1), np.full(len(above), 1)]
    parts = [bodies.take(below), bodies.take(above)]
    for sense in (-1, 1):
        half = _half(bodies.take(both), -sense * rows[both])
        number.append(both[half[0]])
        side.append(np.full(len(half[0]), sense))
        parts.append(half[1])
    every, sign_of = np.concatenate(number), np.concatenate(side)
    order = np.lexsort((sign_of, every))
    return Sided(every[order], sign_of[order], joined_bodies(parts).take(order))


def _half(bodies: Bodies, rows: NDArray[np.object_]) -> tuple[NDArray[np.int64], Bodies]:
    """What one more row leaves of each body, as far as that has an interior."""
    polyhedra = bodies.polyhedra
    own = np.concatenate([polyhedra.owner, np.arange(len(bodies))])
    order = np.argsort(own, kind="stable")
    start = polyhedra.start + np.arange(len(bodies) + 1)
    from_both = np.concatenate([bodies.rows, rows])[order]
    return solid_among(stacked(primitive(from_both), start), bodies.known)


def cut_by(bodies: Bodies, number: NDArray[np.int64], walls: Polyhedra) -> tuple[NDArray[np.int64], Bodies]:
    """What polyhedron `k` of `walls` leaves of body ``number[k]``, where that has an interior: which `k`, and what."""
    row, pair, needed, parted = _needed(bodies, number, walls, np.arange(len(walls)))
    use = needed & ~parted[pair]
    some = np.zeros(len(walls), dtype=bool)
    some[pair[use]] = True
    whole, cut = np.flatnonzero(~parted & ~some), np.flatnonzero(~parted & some)
    place = np.full(len(walls), -1, dtype=np.int64)
    place[cut] = np.arange(len(cut))
    start = bodies.polyhedra.start
    own, owner = ranges(start[number[cut]], np.diff(start)[number[cut]])
    assert walls.exact is not None
    every = np.concatenate([owner, place[pair[use]]])
    order = np.argsort(every, kind="stable")
    rows = np.concatenate([bodies.rows[own], walls.exact[row[use]]])[order]
    first = np.searchsorted(every[order], np.arange(len(cut) + 1)).astype(np.int64)
    kept, parts = solid_among(stacked(rows, first), bodies.known[number[cut]])
    found = np.concatenate([whole, cut[kept]])
    final = np.argsort(found, kind="stable")
    return found[final], joined_bodies([bodies.take(number[whole]), parts]).take(final)


def repeated(body: Polyhedron, count: int) -> Polyhedra:
    """The same polyhedron so many times."""
    rows = primitive(body.integer())
    again = np.tile(np.arange(len(rows)), count)
    start = np.arange(count + 1, dtype=np.int64) * len(rows)
    one = stacked(rows, np.array([0, len(rows)], dtype=np.int64))
    return Polyhedra(one.A[again], one.b[again], start, rows[again])
