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
from cpwl.exact.integers import primitive, sides
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import pieces_of
from cpwl.function.doctor.first_error import first_error
from cpwl.geometry.bodies import Bodies
from cpwl.geometry.generators import Spans, box_pairs, boxes_around, generators
from cpwl.geometry.overlay import cut_by, cut_pairs, repeated
from cpwl.geometry.polyhedra import Polyhedron, ranges
from cpwl.geometry.probe import Probe
from cpwl.progress import Progress

__all__ = [
    "Pieces",
    "border",
    "compare_pieces",
    "farthest_on_pairs",
    "hole",
    "is_whole",
    "joined",
    "outside",
    "value_of",
]

_PAIRS = 1 << 16  # at a time

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
        for row in _rows(p.polyhedra[i]):
            outside = joined(here, _opposite(row))
            beyond = probe.interior(outside)
            if beyond is not None:
                waiting.append((outside, beyond, left))
                here = joined(here, row)
                if probe.interior(here) is None:
                    break
    return None


def joined(one: Polyhedron, other: Polyhedron | None) -> Polyhedron:
    """The intersection of two polyhedra."""
    if other is None:
        return one
    exact = np.concatenate([one.integer(), other.integer()])
    return Polyhedron(np.concatenate([one.A, other.A]), np.concatenate([one.b, other.b]), exact)


def _rows(body: Polyhedron) -> list[Polyhedron]:
    whole = body.integer()
    return [Polyhedron(body.A[k : k + 1], body.b[k : k + 1], whole[k : k + 1]) for k in range(len(body.b))]


def _opposite(row: Polyhedron) -> Polyhedron:
    return Polyhedron(-row.A, -row.b, -row.integer())


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


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The pieces of a function with what spans them: integer rows, generators where they are cheap, and boxes."""

    p: CPWL
    rows: NDArray[np.object_]
    spans: Spans
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, p: CPWL) -> Pieces:
        """Corners and rays of each piece (none where they were not computed), and a box around it."""
        spans = Spans.of_simplices(p.mesh.points, p.mesh.corners, p.mesh.simplices) if p.mesh is not None else None
        spans = Spans.of(generators(p.polyhedra)) if spans is None else spans
        return cls(p, p.polyhedra.integer(), spans, *boxes_around(spans, p.num_pieces, p.dim))

    def polyhedron(self, i: int) -> Polyhedron:
        """Piece number `i`."""
        return self.p.polyhedra[i]

    def spanned(self, i: int) -> NDArray[np.object_]:
        """The corners and rays of a piece, none if they are not known."""
        assert self.spans.exact is not None
        return self.spans.exact[self.spans.of_piece(i)]


def compare_pieces(
    a: CPWL, b: CPWL, domain: Polyhedron | None, *, most: int | None = None, progress: Progress | None = None
) -> Compared:
    """All pieces of one function against those of the other that they meet, on the domain.

    Laws of two pieces whose intersection has an interior must be equal as rationals; otherwise their difference
    is maximised over the intersection. At most `most` pairs of pieces are looked at.
    """
    one, two = Pieces.of(a), Pieces.of(b)
    laws, others = a.laws.integer(), b.laws.integer()
    numbers: dict[Any, int] = {}
    ids = [
        np.array([numbers.setdefault(tuple(law.ravel()), len(numbers)) for law in both], dtype=np.int64)
        for both in (laws, others)
    ]
    pairs = box_pairs(one.low, one.high, (two.low, two.high))
    count, complete = len(pairs), most is None or len(pairs) <= most
    pairs = pairs if complete else pairs[:most]
    left = pairs[ids[0][pairs[:, 0]] != ids[1][pairs[:, 1]]]
    left = left[~_separated(one, left[:, 0], two, left[:, 1])]
    left = left[~_separated(two, left[:, 1], one, left[:, 0])]
    (mine, first), (yours, second) = pieces_of(a), pieces_of(b)
    place = [np.full(p.num_pieces, -1, dtype=np.int64) for p in (a, b)]
    for at, number in zip(place, (mine, yours), strict=True):
        at[number] = np.arange(len(number))
    solid = np.column_stack([place[0][left[:, 0]], place[1][left[:, 1]]])
    solid = solid[(solid >= 0).all(axis=1)]
    apart = farthest_on_pairs(first, laws[mine], second, others[yours], solid, domain, progress)
    return Compared(min(count, len(pairs)), apart, complete)


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

    The difference is affine on an intersection, so that its corners decide, or a ray along which it grows.
    """
    probe, apart = Probe(0.0), None
    for k in range(0, len(pairs), _PAIRS):
        found = cut_pairs(first, second, pairs[k : k + _PAIRS, 0], pairs[k : k + _PAIRS, 1])
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
                best = farther(best, _at_corners(cells, rows[:, j], below[:, j], different))
        for i in np.flatnonzero(~cells.known).tolist():
            shown = _largest(probe, cells.polyhedra[i], law[i], other[i])
            best = farther(best, None if shown is None else replace(shown, pair=i))
        if best is not None:
            values = value_of(law[best.pair], best.point), value_of(other[best.pair], best.point)
            apart = farther(apart, replace(best, values=values))
        if progress is not None:
            progress(min(k + _PAIRS, len(pairs)), len(pairs), "pairs of pieces")
    return apart


def _at_corners(
    cells: Bodies, rows: NDArray[np.object_], below: NDArray[np.object_], different: NDArray[np.int64]
) -> Apart | None:
    """The largest difference at the corners of some bodies, infinite if it changes along a ray."""
    entry, owner = ranges(cells.spans.start[different], np.diff(cells.spans.start)[different])
    return at_generators(cells.places[cells.spans.member[entry]], different[owner], rows, below)


def outside(bodies: CPWL | Polyhedron, p: CPWL) -> NDArray[np.object_] | None:
    """A point of a polyhedron, or of the pieces of a function, where `p` is not defined; None if there is none.

    The domain of a function is convex, so it is what those rows leave that hold on all of its pieces.
    """
    rows, probe = border(p), Probe(0.0)
    if not len(rows):
        return None
    if isinstance(bodies, Polyhedron):
        return _violating(probe, bodies, rows)
    pieces = Pieces.of(bodies)
    for i in range(bodies.num_pieces):
        places = pieces.spanned(i)
        if not len(places) or (_values(rows, places) > 0).any():
            found = _violating(probe, pieces.polyhedron(i), rows)
            if found is not None:
                return found
    return None


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


def _values(rows: NDArray[np.object_], places: NDArray[np.object_]) -> NDArray[np.object_]:
    """``a.x - b`` for each row and place, times the positive scale of the place; for a ray, ``a.r``."""
    flat = np.column_stack([rows[:, :-1], -rows[:, -1:]])
    return np.asarray((flat[:, None, :] * places[None]).sum(axis=2))


def _separated(one: Pieces, i: NDArray[np.int64], two: Pieces, j: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For pairs of pieces, whether some row of the second leaves nothing of the first but points of its plane."""
    assert one.spans.exact is not None
    start = two.p.polyhedra.start
    row, pair = ranges(start[j], np.diff(start)[j])
    lengths = np.diff(one.spans.start)
    some = lengths[i[pair]] > 0
    row, pair = row[some], pair[some]
    entry, question = ranges(one.spans.start[i[pair]], lengths[i[pair]])
    signs = sides(two.rows, one.spans.exact, row[question], one.spans.member[entry])
    cuts = np.ones(len(row), dtype=bool)
    cuts[question[signs < 0]] = False
    result = np.zeros(len(i), dtype=bool)
    result[pair[cuts]] = True
    return result


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
    pieces, probe = Pieces.of(p), Probe(0.0)
    rows = np.array(list(dict.fromkeys(tuple(row) for row in primitive(p.polyhedra.integer()))), dtype=object)
    rows = rows.reshape(-1, p.dim + 1)
    for i in range(p.num_pieces):
        if not len(rows):
            break
        places = pieces.spanned(i)
        if len(places):
            rows = rows[(_values(rows, places) <= 0).all(axis=1)]
        elif probe.interior(pieces.polyhedron(i)) is not None:
            best = probe.maxima(pieces.polyhedron(i), [row[:-1] for row in rows])
            rows = rows[[value <= row[-1] for (value, _), row in zip(best, rows, strict=True)]]
    return rows
