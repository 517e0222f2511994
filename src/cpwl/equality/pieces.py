"""Two functions against each other: pieces that meet must have one law, and the domains must be the same."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.equality.regions import Compared, at_generators, largest_on
from cpwl.equality.verdict import Apart, farther
from cpwl.exact.integers import number_rows, primitive, ratio_view, rounding, signs_at
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import pieces_of
from cpwl.function.cpwl import generators_of
from cpwl.function.doctor.first_error import examine_mesh, first_error
from cpwl.function.flags import consistency
from cpwl.function.form import TooManyFaces, chains, hulls, together, totals
from cpwl.geometry.bodies import Bodies, stacked
from cpwl.geometry.facets import rows_of
from cpwl.geometry.generators import box_pairs, boxes_around, generators
from cpwl.geometry.overlay import cut_by, cut_pairs, repeated
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, ranges
from cpwl.geometry.probe import Probe
from cpwl.progress import Progress

_FIRST, _PAIRS = 1 << 10, 1 << 14  # at a time: at first, and at most

# Is a function defined on all of a polyhedron? A point where it is not, or None.


def is_whole(p: CPWL) -> bool:
    """Whether the pieces are known, or found, to cover a convex domain: no holes then."""
    return (p.known is not None and p.known.complete) or first_error(p) is None


def hole(body: Polyhedron, p: CPWL) -> NDArray[np.object_] | None:
    """A point inside the polyhedron where `p` is not defined; None if its pieces cover it.

    The polyhedron is cut along the rows of a piece that holds a point of it; each part outside one of them goes on to
    the next piece. For float data a hole that is thinner than `tol` is none.
    """
    probe = Probe(p.tol, p.polyhedra.unit())
    start = probe.interior(body)
    waiting = [] if start is None else [(body, start, np.arange(p.num_pieces))]
    while waiting:
        here, point, left = waiting.pop()
        i = _holder(p, point, left)
        if i is None:
            return fraction_array(point)
        left = left[left != i]
        piece = p.polyhedra[i]
        for row in (rows_of(piece, [k]) for k in range(len(piece.b))):
            outside = here.meet(row.opposite())
            beyond = probe.interior(outside)
            if beyond is not None:
                waiting.append((outside, beyond, left))
                here = here.meet(row)
                if probe.interior(here) is None:
                    break
    return None


def _holder(p: CPWL, point: NDArray[Any], left: NDArray[np.int64]) -> int | None:
    """A piece that holds the point: by floats with room to spare, exactly where they cannot tell."""
    x = np.asarray(point, dtype=np.float64)
    A, b = p.polyhedra.A, p.polyhedra.b
    slack = b - A @ x
    unsure = 1e-9 * (np.abs(A) @ np.abs(x) + np.abs(b)) + 1e-300
    worst = np.full(p.num_pieces, np.inf)
    np.minimum.at(worst, p.polyhedra.owner, slack / unsure)
    inside = left[worst[left] > 1]
    if len(inside):
        return int(inside[0])
    exact = fraction_array(point)
    for i in left[worst[left] >= -1].tolist():
        rows = p.polyhedra[i].integer()
        if p.tol or ((rows[:, :-1] * exact).sum(axis=1) <= rows[:, -1]).all():
            return int(i)
    return None


_INPUTS = 4  # a simplex has (n + 1)! flags
_FLAGS = 5_000_000  # of all types of pieces, about
_ROWS = 64  # or places, at a time
_NOWHERE = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What the normal forms of two exactly consistent functions say: a proof, whichever it is."""

    equal: bool
    same_domain: bool
    left: tuple[NDArray[np.int64], NDArray[np.int64]]
    """The pieces of both whose laws do not cancel: only there can they differ, if their domains are the same."""


def by_form(a: CPWL, b: CPWL, domain: Polyhedron | None) -> Told | None:
    """Compares two functions on a domain without looking at pairs of pieces; None if that does not decide.

    Both are sums of laws on pieces, and these sums are the same almost everywhere iff their normal forms are
    (`cpwl.function.form`). So if one of them is an exactly consistent function, so is the other, and they are equal.
    """
    if a.dim > _INPUTS or not (_is_consistent(a) or _is_consistent(b)):
        return None
    stacks = [f.polyhedra if domain is None else _cut_by(domain, f.polyhedra) for f in (a, b)]
    spans = [generators_of(f) if domain is None else generators(stack) for f, stack in zip((a, b), stacks, strict=True)]
    if domain is not None:
        stacks.append(repeated(domain, 1))
        spans.append(generators(stacks[-1]))
    try:
        stack = hulls(*together(stacks, spans))
        found = chains(stack, _FLAGS)
    except TooManyFaces:
        return None
    ends = np.cumsum([len(part) for part in stacks])
    whose = np.searchsorted(ends, stack.piece[found.part], side="right")
    laws = number_rows(np.concatenate([f.laws.integer().reshape(f.num_pieces, -1) for f in (a, b)]))[1]
    label = np.append(laws, np.full(len(stacks) - 2, -1))[stack.piece[found.part]]
    total = totals(np.column_stack([found.flats, label]), found.sign * np.array([1, -1, 0])[whose])
    left = np.unique(label[total != 0])
    covers = np.array([1, -1, 0] if domain is None else [1, 0, -1])[whose]
    same = not totals(found.flats, found.sign * covers).any()
    if len(left) == 0:
        return Told(True, True, _NOWHERE) if same else None  # they have one hole in the domain
    if domain is not None or not (_is_consistent(a) and _is_consistent(b)):
        return None
    mine = np.isin(laws, left)
    return Told(False, same, (np.flatnonzero(mine[: ends[0]]), np.flatnonzero(mine[ends[0] :])))


def _is_consistent(p: CPWL) -> bool:
    """Whether the data, as it is written, is proved to be a function: every point but a null set is in one piece."""
    if p.known is not None and p.known.complete and p.tol == 0:
        return True
    if p.mesh is not None and examine_mesh(p) == []:
        return True
    return consistency(p).consistent is True


def _cut_by(domain: Polyhedron, polyhedra: Polyhedra) -> Polyhedra:
    """Each polyhedron with the rows of the domain."""
    end, more = polyhedra.start[1:], primitive(domain.integer())
    at, count = np.repeat(end, len(more)), len(polyhedra)
    rows = np.insert(polyhedra.integer(), at, np.tile(more, (count, 1)), axis=0)
    return stacked(rows, polyhedra.start + len(more) * np.arange(count + 1))


def compare_pieces(
    a: CPWL,
    b: CPWL,
    domain: Polyhedron | None,
    *,
    told: Told | None = None,
    most: int | None = None,
    progress: Progress | None = None,
) -> Compared:
    """All pieces of one function against those of the other that they meet, on the domain.

    Laws of two pieces whose intersection has an interior must be equal as rationals; otherwise their difference
    is maximised over the intersection. At most `most` pairs of pieces are looked at, and only those that may differ
    after what the normal forms have `told`.
    """
    laws, others = a.laws.integer(), b.laws.integer()
    ids = number_rows(np.concatenate([law.reshape(len(law), -1) for law in (laws, others)]))[1]
    (mine, first), (yours, second) = pieces_of(a), pieces_of(b)
    if told is not None:
        here = [np.flatnonzero(np.isin(number, left)) for number, left in zip((mine, yours), told.left, strict=True)]
        (mine, first), (yours, second) = (mine[here[0]], first.take(here[0])), (yours[here[1]], second.take(here[1]))
    boxes = [boxes_around(bodies.spans, len(bodies), a.dim) for bodies in (first, second)]
    pairs = box_pairs(*boxes[0], boxes[1])
    complete = most is None or len(pairs) <= most
    pairs = pairs if complete else pairs[:most]
    left = pairs[ids[mine[pairs[:, 0]]] != ids[a.num_pieces + yours[pairs[:, 1]]]]
    apart = farthest_on_pairs(first, laws[mine], second, others[yours], left, domain, progress)
    return Compared(len(pairs), apart, complete)


def farthest_on_pairs(
    first: Bodies,
    laws: NDArray[np.object_],
    second: Bodies,
    others: NDArray[np.object_],
    pairs: NDArray[np.int64],
    domain: Polyhedron | None,
    progress: Progress | None = None,
) -> Apart | None:
    """Where the laws of two families of bodies are farthest apart, on the intersections of some pairs of them.

    The difference is affine on an intersection, so that its corners decide, or a ray along which it grows. Pairs come
    in order of a bound that needs no intersection (`bounds_on_pairs`), until it is at most what was found.
    """
    probe, apart = Probe(0.0), None
    most = bounds_on_pairs(first, laws, second, others, pairs)
    order = np.argsort(-most, kind="stable")
    start, size = 0, _FIRST
    while start < len(pairs) and (apart is None or apart.size < most[order[start]]):
        here = pairs[order[start : start + size]]
        found = cut_pairs(first, second, here[:, 0], here[:, 1])
        cells, one, two = found.cells, found.one, found.two
        if domain is not None:
            kept, cells = cut_by(cells, np.arange(len(cells)), repeated(domain, len(cells)))
            one, two = one[kept], two[kept]
        law, other = laws[one], others[two]
        rows = law[..., :-1] * other[..., -1:] - other[..., :-1] * law[..., -1:]
        below = law[..., -1] * other[..., -1]
        best: Apart | None = None
        for j in range(rows.shape[1]):
            different = np.flatnonzero(np.asarray((rows[:, j] != 0).any(axis=1), dtype=bool) & cells.known)
            if len(different):
                each = np.arange(len(cells))
                best = farther(best, at_generators(cells.spans, each, rows[:, j], below[:, j], different))
        for i in np.flatnonzero(~cells.known).tolist():
            shown = _largest(probe, cells.polyhedra[i], law[i], other[i])
            best = farther(best, None if shown is None else replace(shown, pair=i))
        if best is not None:
            values = value_of(law[best.pair], best.point), value_of(other[best.pair], best.point)
            apart = farther(apart, replace(best, values=values))
        start, size = start + size, min(2 * size, _PAIRS)
        if progress is not None:
            progress(min(start, len(pairs)), len(pairs), "pairs of pieces")
    if progress is not None and start < len(pairs):
        progress(len(pairs), len(pairs), "pairs of pieces")
    return apart


def bounds_on_pairs(
    first: Bodies, laws: NDArray[np.object_], second: Bodies, others: NDArray[np.object_], pairs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """For each pair what the laws differ by at most on the intersection, rounding included; infinite if not known.

    The difference is affine: it is bounded at the corners of either body, and on the box that their boxes have in
    common.
    """
    mine, yours = (ratio_view(law[..., :-1], law[..., -1:]) for law in (laws, others))
    n, found = mine.shape[-1] - 1, np.full(len(pairs), np.inf)
    (low, high), (bottom, top) = (boxes_around(bodies.spans, len(bodies), n) for bodies in (first, second))
    corners = [_corners(bodies) for bodies in (first, second)]
    largest = max(float(np.abs(v[np.isfinite(v)]).max(initial=0.0)) for v in (mine, yours, low, high, bottom, top))
    for k in range(0, len(pairs), _PAIRS):
        i, j = pairs[k : k + _PAIRS].T
        one, two, bound = mine[i], yours[j], found[k : k + _PAIRS]
        unit = np.ones((len(i), 1))
        least, last = np.maximum(low[i], bottom[j]), np.minimum(high[i], top[j])
        bound[:] = _between(one, two, np.hstack([least, unit]), np.hstack([last, unit]), largest)
        for bodies, places, which in zip((first, second), corners, (i, j), strict=True):
            start, length = bodies.spans.start[which], np.diff(bodies.spans.start)[which]
            entry, pair = ranges(start, length)
            x, some = places[bodies.spans.member[entry]], np.flatnonzero(length)
            off = _between(one[pair], two[pair], x, x, largest)
            if len(some):
                bound[some] = np.minimum(bound[some], np.maximum.reduceat(off, (np.cumsum(length) - length)[some]))
    return found


def _corners(bodies: Bodies) -> NDArray[np.float64]:
    """All corners ``(x, 1)`` in floats; not a number for a ray."""
    ray = np.asarray(bodies.places[:, -1:] == 0, dtype=bool)
    return np.where(ray, np.nan, ratio_view(bodies.places, np.where(ray, 1, bodies.places[:, -1:])))


def _between(
    one: NDArray[np.float64],
    two: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    largest: float,
) -> NDArray[np.float64]:
    """What laws ``(gradient, offset)`` differ by at most for ``(x, 1)`` between two ends; infinite where floats end."""
    with np.errstate(over="ignore", invalid="ignore"):
        minus, size = one - two, (np.abs(one) + np.abs(two)) * np.maximum(np.abs(low), np.abs(high))[:, None]
        ends = minus * low[:, None], minus * high[:, None]
        off = np.maximum(np.maximum(*ends).sum(axis=-1), -np.minimum(*ends).sum(axis=-1))
        off = (off + rounding(size.sum(axis=-1), low.shape[-1], largest)).max(axis=-1)
    return np.where(np.isnan(off), np.inf, off)


def outside(bodies: CPWL | Polyhedron, p: CPWL) -> NDArray[np.object_] | None:
    """A point of a polyhedron, or of the pieces of a function, where `p` is not defined; None if there is none.

    The domain of a function is convex, so it is what those rows leave that hold on all of its pieces.
    """
    rows, probe = border(p), Probe(0.0)
    if isinstance(bodies, Polyhedron):
        return _violating(probe, bodies, rows)
    if not len(rows):
        return None
    number, solid = pieces_of(bodies)
    beyond = np.zeros(len(solid.places), dtype=bool)
    for k in range(0, len(rows), _ROWS):
        beyond |= (_signs(rows[k : k + _ROWS], solid.places) > 0).any(axis=0)
    owner = np.repeat(np.arange(len(solid)), np.diff(solid.spans.start))
    asked = np.union1d(owner[beyond[solid.spans.member]], np.flatnonzero(~solid.known))
    found = (_violating(probe, bodies.polyhedra[int(number[i])], rows) for i in asked)
    return next((x for x in found if x is not None), None)


def _violating(probe: Probe, body: Polyhedron, rows: NDArray[np.object_]) -> NDArray[np.object_] | None:
    """A point of the polyhedron that violates one of the rows."""
    start = probe.interior(body)
    if start is None:
        return None
    for row in rows:
        value, point = probe.maximum(body, row[:-1])
        if value == math.inf:  # `point` is a ray: along it, as far as it takes
            room, speed = row[-1] - (row[:-1] * start).sum(), (row[:-1] * point).sum()
            return np.asarray(start + point * (max(Fraction(0), Fraction(room) / speed) + 1))
        if value > row[-1]:
            return fraction_array(point)
    return None


def value_of(law: NDArray[np.object_], point: NDArray[np.object_]) -> NDArray[np.object_]:
    """The value of an affine map, integer rows ``(gradient, offset, 1) * denominator``, at a rational point."""
    return np.asarray([Fraction((row[:-2] * point).sum() + row[-2]) / row[-1] for row in law], dtype=object)


def _signs(rows: NDArray[np.object_], places: NDArray[np.object_]) -> NDArray[np.int64]:
    """The signs of ``a.x - b`` for each row ``(a, b)`` and place; for a ray, of ``a.r``."""
    return signs_at(np.column_stack([rows[:, :-1], -rows[:, -1:]]), places)


def _largest(probe: Probe, body: Polyhedron, law: NDArray[np.object_], other: NDArray[np.object_]) -> Apart | None:
    """Where two affine maps are farthest apart on a polyhedron with interior."""
    apart: Apart | None = None
    for f, g in zip(law, other, strict=True):
        form = fraction_array(f[:-1]) / f[-1] - fraction_array(g[:-1]) / g[-1]
        if (form != 0).any():
            apart = farther(apart, largest_on(probe, body, form))
    return apart


def border(p: CPWL) -> NDArray[np.object_]:
    """The rows that hold on all pieces: those of a convex domain, and perhaps some more."""
    if p.domain is not None:
        return primitive(p.domain.integer())
    if p.complete:  # all regions of a network: without a domain, everywhere
        return np.zeros((0, p.dim + 1), dtype=object)
    rows = np.array(list(dict.fromkeys(map(tuple, primitive(p.polyhedra.integer()).tolist()))), dtype=object)
    rows = rows.reshape(-1, p.dim + 1)
    (number, solid), probe = pieces_of(p), Probe(0.0)
    places = solid.places[np.unique(solid.spans.member)]
    for k in range(0, len(places), _ROWS):
        rows = rows[(_signs(rows, places[k : k + _ROWS]) <= 0).all(axis=1)]
    for i in number[~solid.known].tolist():
        best = probe.maxima(p.polyhedra[i], [row[:-1] for row in rows])
        rows = rows[[value <= row[-1] for (value, _), row in zip(best, rows, strict=True)]]
    return rows
