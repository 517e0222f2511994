"""Two functions against each other: pieces that meet must have one law, and the domains must be the same."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.equality.regions import Compared, largest_on
from cpwl.equality.verdict import Apart, farther
from cpwl.exact.integers import primitive, ratio_view
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe
from cpwl.progress import Progress

__all__ = ["Pieces", "compare_pieces", "joined", "outside", "value_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The pieces of a function with what spans them: integer rows, generators where they are cheap, and boxes."""

    p: CPWL
    rows: list[NDArray[np.object_]]
    spanned: list[NDArray[np.object_]]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, p: CPWL) -> Pieces:
        """Corners and rays of each piece (none where they were not computed), and a box around it."""
        whole, start = p.polyhedra.integer(), p.polyhedra.start
        rows = [whole[start[i] : start[i + 1]] for i in range(p.num_pieces)]
        if p.mesh is not None:
            spanned = [p.mesh.corners[simplex] for simplex in p.mesh.simplices]
        else:
            made = generators(p.polyhedra)
            spanned = [made.places[made.member[made.start[i] : made.start[i + 1]]] for i in range(p.num_pieces)]
        boxes = [_box(places, p.polyhedra[i]) for i, places in enumerate(spanned)]
        low, high = (np.array([box[k] for box in boxes]).reshape(-1, p.dim) for k in (0, 1))
        return cls(p, rows, spanned, low, high)

    def polyhedron(self, i: int) -> Polyhedron:
        """Piece number `i`."""
        return self.p.polyhedra[i]


def compare_pieces(
    a: CPWL, b: CPWL, domain: Polyhedron | None, *, most: int | None = None, progress: Progress | None = None
) -> Compared:
    """All pieces of one function against those of the other that they meet, on the domain.

    Laws of two pieces whose intersection has an interior must be equal as rationals; otherwise their difference
    is maximised over the intersection. At most `most` pairs of pieces are looked at.
    """
    one, two, probe = Pieces.of(a), Pieces.of(b), Probe(0.0)
    laws, others = a.laws.integer(), b.laws.integer()
    numbers: dict[Any, int] = {}
    ids = [[numbers.setdefault(tuple(law.ravel()), len(numbers)) for law in both] for both in (laws, others)]
    apart: Apart | None = None
    count = 0
    for i, j in _pairs(one, two, progress):
        if count == most:
            return Compared(count, apart, False)
        count += 1
        if ids[0][i] == ids[1][j] or _separated(one, i, two, j) or _separated(two, j, one, i):
            continue
        body = joined(joined(one.polyhedron(i), two.polyhedron(j)), domain)
        if probe.interior(body) is not None:
            found = _largest(probe, body, laws[i], others[j])
            if found is not None:
                values = value_of(laws[i], found.point), value_of(others[j], found.point)
                apart = farther(apart, replace(found, values=values))
    return Compared(count, apart, True)


def outside(bodies: CPWL | Polyhedron, p: CPWL) -> NDArray[np.object_] | None:
    """A point of a polyhedron, or of the pieces of a function, where `p` is not defined; None if there is none.

    The domain of a function is convex, so it is what those rows leave that hold on all of its pieces.
    """
    border, probe = _border(p), Probe(0.0)
    if not len(border):
        return None
    if isinstance(bodies, Polyhedron):
        return _violating(probe, bodies, border)
    pieces = Pieces.of(bodies)
    for i, places in enumerate(pieces.spanned):
        if not len(places) or (_values(border, places) > 0).any():
            found = _violating(probe, pieces.polyhedron(i), border)
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


def joined(one: Polyhedron, other: Polyhedron | None) -> Polyhedron:
    """The intersection of two polyhedra."""
    if other is None:
        return one
    exact = np.concatenate([one.integer(), other.integer()])
    return Polyhedron(np.concatenate([one.A, other.A]), np.concatenate([one.b, other.b]), exact)


def value_of(law: NDArray[np.object_], point: NDArray[np.object_]) -> NDArray[np.object_]:
    """The value of an affine map, integer rows ``(gradient, offset, 1) * denominator``, at a rational point."""
    return np.asarray([Fraction((row[:-2] * point).sum() + row[-2]) / row[-1] for row in law], dtype=object)


def _pairs(one: Pieces, two: Pieces, progress: Progress | None) -> Iterator[tuple[int, int]]:
    """Pieces whose boxes meet."""
    for i in range(one.p.num_pieces):
        meet = (one.low[i] <= two.high).all(axis=1) & (two.low <= one.high[i]).all(axis=1)
        for j in np.flatnonzero(meet):
            yield i, int(j)
        if progress is not None:
            progress(i + 1, one.p.num_pieces, "pieces")


def _values(rows: NDArray[np.object_], places: NDArray[np.object_]) -> NDArray[np.object_]:
    """``a.x - b`` for each row and place, times the positive scale of the place; for a ray, ``a.r``."""
    flat = np.column_stack([rows[:, :-1], -rows[:, -1:]])
    return np.asarray((flat[:, None, :] * places[None]).sum(axis=2))


def _separated(one: Pieces, i: int, two: Pieces, j: int) -> bool:
    """Whether some row of the second piece leaves nothing of the first but points of its plane."""
    places = one.spanned[i]
    return bool(len(places) and len(two.rows[j]) and (_values(two.rows[j], places) >= 0).all(axis=1).any())


def _largest(probe: Probe, body: Polyhedron, law: NDArray[np.object_], other: NDArray[np.object_]) -> Apart | None:
    """Where two affine maps are farthest apart on a polyhedron with interior."""
    apart: Apart | None = None
    for f, g in zip(law, other, strict=True):
        form = fraction_array(f[:-1]) / f[-1] - fraction_array(g[:-1]) / g[-1]
        if (form != 0).any():
            apart = farther(apart, largest_on(probe, body, form))
    return apart


def _border(p: CPWL) -> NDArray[np.object_]:
    """The rows that hold on all pieces: those of a convex domain, and perhaps some more."""
    if p.domain is not None:
        return primitive(p.domain.integer())
    pieces, probe = Pieces.of(p), Probe(0.0)
    rows = np.array(list(dict.fromkeys(tuple(row) for row in primitive(p.polyhedra.integer()))), dtype=object)
    rows = rows.reshape(-1, p.dim + 1)
    for i in range(p.num_pieces):
        if not len(rows):
            break
        if len(pieces.spanned[i]):
            rows = rows[(_values(rows, pieces.spanned[i]) <= 0).all(axis=1)]
        elif probe.interior(pieces.polyhedron(i)) is not None:
            best = probe.maxima(pieces.polyhedron(i), [row[:-1] for row in rows])
            rows = rows[[value <= row[-1] for (value, _), row in zip(best, rows, strict=True)]]
    return rows


def _box(places: NDArray[np.object_], body: Polyhedron) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A box around a piece, a little wide; infinite where there is no bound, or where none was computed."""
    n = body.dim
    if not len(places):
        return np.full(n, -np.inf), np.full(n, np.inf)
    ray = places[:, -1] == 0
    x = ratio_view(places[~ray, :-1], places[~ray, -1:])
    margin = 1e-9 * (1 + np.abs(x).max(axis=0))
    low, high = x.min(axis=0) - margin, x.max(axis=0) + margin
    for direction in places[ray, :-1]:
        low[np.asarray(direction < 0, dtype=bool)] = -np.inf
        high[np.asarray(direction > 0, dtype=bool)] = np.inf
    return low, high
