"""Laws as unknowns, but for a few that are loose: their pieces are cut into simplices that meet all others exactly.

Let `U` be the pieces of the loose laws. Every region with a facet in common with `U` is cut into simplices, too, and so
is `U`, over vertices in exact places: where all laws around that are not loose agree, and there they say the value. A
simplex of a region with an exact law then has that law, so that bends are added in `U` alone, and none where what the
neighbours dictate is affine. All other regions stay as they are (`cells`): they end where laws are equal.

Unbounded pieces are cut into simplices in the box that clipped them; beyond it their laws hold, loose or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import fraction_array, from_flint, to_flint
from cpwl.function.make import parts_of_simplices, polyhedra_from_integers
from cpwl.function.parts import Laws, Parts
from cpwl.function.snap.cells import (
    Cells,
    Differences,
    Domain,
    exact_cells,
    simplices_of_piece,
    whole_row,
)
from cpwl.function.snap.complex import Unfit
from cpwl.function.snap.loose import Tight, Work, far_laws, most_loose, tight_laws
from cpwl.geometry.bodies import solid
from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["Patched", "agreeing", "patched", "place"]

_Floats = NDArray[np.float64]
# Exact places for the vertices of a float complex: where exact laws agree, and on exact rows.


_Place = Sequence[Fraction]


def place(rows: Sequence[_Place], near: _Floats, most: float) -> list[Fraction] | None:
    """A point with ``a.x = b`` for all rows ``(a, b)``, nearer than `most` to a float point; None if there is none.

    As few coordinates as there are independent rows are moved, those that are best determined.

    >>> place([[Fraction(1), Fraction(3), Fraction(1)]], np.array([0.25, 0.25 + 1e-12]), 1e-9)
    [Fraction(1, 4), Fraction(1, 4)]
    """
    point = [Fraction(x) for x in near.tolist()]
    rows = [row for row in rows if any(row)]
    if not rows:
        return point
    view = np.array([[x / (max(map(abs, row[:-1])) or 1) for x in row[:-1]] for row in rows], dtype=np.float64)
    order = scipy.linalg.qr(view, mode="r", pivoting=True)[-1].tolist()
    flat = [to_flint(row[j]) for row in rows for j in (*order, len(order))]
    reduced, rank = fmpq_mat(len(rows), len(order) + 1, flat).rref()
    pivots = [next(j for j in range(len(order) + 1) if reduced[i, j] != 0) for i in range(rank)]
    if len(order) in pivots:
        return None
    free = [j for j in range(len(order)) if j not in pivots]
    for i, j in enumerate(pivots):
        rest = sum((from_flint(reduced[i, k]) * point[order[k]] for k in free), Fraction(0))
        point[order[j]] = from_flint(reduced[i, len(order)]) - rest
    return point if np.abs(np.array(point, dtype=np.float64) - near).max() <= most else None


def agreeing(
    laws: Sequence[int],
    difference: Callable[[int, int], Sequence[_Place]],
    fixed: Sequence[_Place],
    near: _Floats,
    most: float,
) -> tuple[list[Fraction] | None, list[int]]:
    """A point on `fixed` rows where laws agree, and those that cannot: first come, first served.

    `difference` gives the rows on which two laws agree, output by output; None if the fixed rows alone have no point.
    """
    point, kept, rows, lost = place(fixed, near, most), list[int](), list(fixed), []
    for law in laws if point is not None else ():
        more = [*rows, *difference(kept[0], law)] if kept else rows
        found = place(more, near, most)
        if found is None:
            lost.append(law)
        else:
            point, rows = found, more
            kept.append(law)
    return point, lost


# What is beyond the box that clipped unbounded pieces: the same laws, with the facets that the pieces have there.
#
# Beyond a box there are no corners. Its outside is cut into one sector a side, ``x`` beyond that side and not beyond
# any earlier one, and each piece that reaches out has a part in some of them.


_Row = NDArray[np.object_]


def outer_cells(
    work: Work, pieces: Sequence[int], differences: Differences, domain: Domain, sides: Sequence[_Row]
) -> Cells:
    """The parts of some pieces beyond the sides ``(a, b)`` of the box, with their laws."""
    found = Cells([], [])
    outside = [whole_row(list(row)) for row in sides]
    beyond: dict[tuple[int, int], list[int]] = {}
    for contact in work.contacts:
        beyond.setdefault((contact.piece, contact.row), []).append(contact.other)
    for i in pieces:
        if len(outside) and work.complex.on[i][:, -len(outside) :].any():
            rows = _far_rows(work, i, beyond, differences, domain, len(outside))
            for k, side in enumerate(outside):
                sector = [*rows, *outside[:k], -side]
                found.rows.append(np.array(sector, dtype=object))
                found.law.append(int(work.label[i]))
    if not found.law:
        return found
    kept, _ = solid(polyhedra_from_integers(found.rows, work.p.dim))
    return Cells([found.rows[k] for k in kept], [found.law[k] for k in kept])


def _far_rows(
    work: Work,
    i: int,
    beyond: dict[tuple[int, int], list[int]],
    differences: Differences,
    domain: Domain,
    count: int,
) -> list[_Row]:
    """The exact rows of a piece that reach beyond the box."""
    complex_, label = work.complex, work.label
    on, cell = complex_.on[i], complex_.cells[i]
    outer = on[:, -count:].any(axis=1)
    found: list[_Row] = []
    for r in range(on.shape[1] - count):
        here = cell[on[:, r] & outer]
        if len(here) < complex_.dim - 1:
            continue
        others = [j for j in beyond.get((i, r), []) if np.isin(here, complex_.cells[j]).sum() >= complex_.dim - 1]
        for j in others:
            a, b = int(label[i]), int(label[j])
            row = differences.row(a, b) if a != b else _shared(work, min((i, r), _facing(j, i, beyond)))
            found.append(row if _is_within(row, complex_.centres[i]) else -row)
        if not others:
            touched = [k for k in domain.real if complex_.on_boundary[here, k].all()]
            found += [domain.row(k) for k in touched]
    return found


def _facing(j: int, i: int, beyond: dict[tuple[int, int], list[int]]) -> tuple[int, int]:
    """The row of piece `j` that has piece `i` beyond it."""
    return next(((piece, row) for (piece, row), others in beyond.items() if piece == j and i in others), (j, 10**9))


def _shared(work: Work, which: tuple[int, int]) -> _Row:
    """A row of the data, exactly."""
    A, b = work.complex.rows(which[0])
    return np.asarray(integer_rows(np.append(A[which[1]], b[which[1]])[None], None)[0])


def _is_within(row: _Row, centre: NDArray[np.float64]) -> bool:
    scale = max(abs(int(x)) for x in row[:-1])
    view = np.array([x / scale for x in row.tolist()], dtype=np.float64)
    return bool(view[:-1] @ centre <= view[-1])


_Ints = NDArray[np.int64]
_Law = list[Fraction]
_FAR = 1e3  # widths by which a vertex may move


@dataclass(frozen=True, slots=True, eq=False)
class Patched:
    """The exact function, its law on each piece of the data that kept one, and what was cut up."""

    parts: Parts
    laws: Laws
    """One for each piece of the data; meaningless for those that are `loose`."""
    loose: NDArray[np.bool_]
    """The pieces that follow no law of their own any more."""
    off: float
    """How far the laws of loose pieces were from the values that their vertices have now, relative."""
    where: tuple[float, ...] | None
    patches: list[list[int]]
    """The loose pieces, in groups that hang together."""


def patched(work: Work) -> Patched:
    """An exact function near the data with all laws but a few; raises `Unfit` if these are no local matter."""
    tight = tight_laws(work)
    if not tight.loose:
        raise Unfit("all laws can be kept")
    while True:
        patch = _Patch(work, tight)
        more = patch.conflicts()
        if not more:
            return patch.result()
        tight = Tight(tight.whole, tight.laws, tight.loose | more)
        many = int(_Patch(work, tight).is_loose.sum())
        if many > most_loose(work):
            raise Unfit(f"too many laws violate continuity ({many} pieces): no local correction is possible")


class _Patch:
    """One choice of loose laws."""

    def __init__(self, work: Work, tight: Tight) -> None:
        self.work, self.tight, self.complex = work, tight, work.complex
        self.domain = Domain(work.complex, work.p.domain)
        self.far = far_laws(work)
        self.is_loose = np.array([int(law) in tight.loose for law in work.label]) & ~work.complex.flat
        self.points: dict[int, list[Fraction]] = {}
        self.agree: dict[int, int] = {}

    @cached_property
    def meshed(self) -> list[int]:
        """The pieces that are cut into simplices."""
        near = {c.piece for c in self.work.contacts if self.is_loose[c.other]}
        near |= set(np.flatnonzero(self.is_loose).tolist())
        return sorted(i for region in self.work.regions if near & set(region) for i in region)

    @cached_property
    def box_rows(self) -> list[NDArray[np.object_]]:
        """The rows of the box that clipped the pieces, exactly."""
        n, box = self.complex.dim, self.complex.box
        sides = np.concatenate([np.eye(n), -np.eye(n)])
        return (
            []
            if box is None
            else [
                np.array([*(int(x) for x in side), Fraction(float(b))], dtype=object)
                for side, b in zip(sides, box, strict=True)
            ]
        )

    def conflicts(self) -> frozenset[int]:
        """Places for all vertices of pieces that are meshed; the laws that would have to be loosened for that."""
        lost: set[int] = set()
        for v in np.unique(np.concatenate([self.complex.cells[i] for i in self.meshed])).tolist():
            near = self.complex.vertices[v]
            clipped = self._clipped(near)
            fixed = [self.box_rows[k] for k in clipped]
            fixed += [self.domain.row(k) for k in self.domain.real if self.complex.on_boundary[v, k]]
            laws = self._laws_at(v, bool(clipped))
            most = max(_FAR * float(self.complex.widths[v]), self.work.p.tol * float(self.complex.size(near)))
            point, more = agreeing(laws, self._difference, [list(row) for row in fixed], near, most)
            if point is None or (more and clipped):
                where = ", ".join(f"{x:.6g}" for x in near)
                raise Unfit(f"laws or sides of the domain do not meet exactly around x = ({where})")
            lost |= set(more)
            self.points[v] = point
            if set(laws) - set(more):
                self.agree[v] = next(law for law in laws if law not in more)
        return frozenset(lost)

    def _clipped(self, point: _Floats) -> list[int]:
        """The sides of the box that a vertex is on."""
        box = self.complex.box
        if box is None:
            return []
        return np.flatnonzero(np.abs(np.concatenate([point, -point]) - box) <= 1e-9 * np.abs(box)).tolist()

    def _laws_at(self, v: int, clipped: bool) -> list[int]:
        """The laws that hold at a vertex: those far out first, then those with many corners."""
        laws = {int(self.work.label[i]) for i in self.complex.holders[v]}
        held = [law for law in laws if law not in self.tight.loose or (clipped and law in self.far)]
        return sorted(held, key=lambda law: (law not in self.far, -self.work.corners_of_laws[law], law))

    def _difference(self, a: int, b: int) -> list[_Law]:
        """Where two laws agree, as rows ``(a, b)``, output by output."""
        pairs = zip(self.tight.laws[a], self.tight.laws[b], strict=True)
        rows = [[x - y for x, y in zip(one, two, strict=True)] for one, two in pairs]
        return [[*row[:-1], -row[-1]] for row in rows]

    def result(self) -> Patched:
        """The function, once all vertices have a place."""
        work, label = self.work, self.work.label
        mesh = self._mesh()
        meshed = set(self.meshed)
        rest = [region for region in work.regions if region[0] not in meshed]
        kept = [c for c in work.contacts if not self.is_loose[c.piece] and not self.is_loose[c.other]]
        faces = [face for face in work.faces if not set(face.laws) & self.tight.loose]
        differences = Differences(self.tight.whole)
        cells = exact_cells(self.domain, label, self.tight.whole, faces, kept, rest)
        outer = outer_cells(work, self.meshed, differences, self.domain, self.box_rows)
        each = self._each()
        parts = [(mesh.polyhedra, mesh.laws)]
        parts += [
            (polyhedra_from_integers(some.rows, work.p.dim), each.take(np.array(some.law, dtype=np.int64)))
            for some in (cells, outer)
            if some.law
        ]
        whose = Laws(each.gradient[label].copy(), each.offset[label].copy())
        off, where = self._off()
        return Patched(_joined(parts, work), whose, self.is_loose, off, where, self._groups())

    def _each(self) -> Laws:
        """The exact laws by number; for the loose ones those of the data."""
        exact = fraction_array(self.work.laws)
        for k, law in self.tight.laws.items():
            exact[k] = law
        return Laws.from_lists(exact[..., :-1], exact[..., -1], len(exact), self.work.p.dim)

    @cached_property
    def values(self) -> dict[int, list[Fraction]]:
        """The values at the vertices: of the laws that hold there, or the middle of what loose ones say."""
        found = {}
        for v, point in self.points.items():
            if v in self.agree:
                found[v] = [_at(law, point) for law in self.tight.laws[self.agree[v]]]
            else:
                around = self.work.laws[sorted({int(self.work.label[i]) for i in self.complex.holders[v]})]
                said = around @ np.append(self.complex.vertices[v], 1.0)
                low, high = said.min(axis=0), said.max(axis=0)
                found[v] = [Fraction(x) for x in (low + (high - low) / 2).tolist()]
        return found

    def _mesh(self) -> Parts:
        """The simplices of all pieces that are meshed; a piece that has none from vertex to vertex gets a centre."""
        points, values = dict(self.points), dict(self.values)
        cells: list[tuple[int, ...]] = []
        for i in self.meshed:
            found, centre = simplices_of_piece(self.complex, i, len(self.complex.vertices) + i)
            cells += found
            if centre is not None:
                law = int(self.work.label[i])
                points[len(self.complex.vertices) + i] = centre
                laws = self.tight.laws[law] if not self.is_loose[i] else fraction_array(self.work.laws[law])
                values[len(self.complex.vertices) + i] = [_at(row, centre) for row in laws]
        used, number = np.unique(np.array(cells), return_inverse=True)
        where = np.array([points[int(v)] for v in used], dtype=object)
        height = np.array([values[int(v)] for v in used], dtype=object)
        parts = parts_of_simplices(where, number.reshape(len(cells), -1), height)
        if len(parts.polyhedra) < len(cells):
            raise Unfit("some of the simplices of a patch have no interior")
        return parts

    def _off(self) -> tuple[float, tuple[float, ...] | None]:
        """How far laws of loose pieces are from the values of their vertices, relative, at most; and where."""
        worst: tuple[float, tuple[float, ...] | None] = (0.0, None)
        p, scale = self.work.p, self.work.measured.scale
        for i in np.flatnonzero(self.is_loose).tolist():
            for v in self.complex.cells[i].tolist():
                x = np.array(self.points[v], dtype=np.float64)
                said = p.laws.gradient[i] @ x + p.laws.offset[i]
                away = np.abs(np.array(self.values[v], dtype=np.float64) - said)
                off = float((away / np.where(scale > 0, scale, 1.0)).max())
                if off > worst[0]:
                    worst = (off, tuple(x.tolist()))
        return worst

    def _groups(self) -> list[list[int]]:
        """The loose pieces in groups that share vertices."""
        group = {int(i): {int(i)} for i in np.flatnonzero(self.is_loose)}
        for holders in self.complex.holders:
            some = [i for i in holders if i in group]
            for i in some[1:]:
                one, two = group[some[0]], group[i]
                if one is not two:
                    one |= two
                    group.update(dict.fromkeys(two, one))
        return [sorted(some) for some in {id(some): some for some in group.values()}.values()]


def _at(law: Sequence[Fraction], point: Iterable[Fraction]) -> Fraction:
    return sum((a * x for a, x in zip(law[:-1], point, strict=True)), law[-1])


def _joined(parts: Sequence[tuple[Polyhedra, Laws]], work: Work) -> Parts:
    """Pieces and laws of several kinds as one function."""
    rows = np.concatenate([polyhedra.integer() for polyhedra, _ in parts])
    laws = np.concatenate([each.integer() for _, each in parts])
    start = np.concatenate([[0], *(np.diff(polyhedra.start) for polyhedra, _ in parts)]).cumsum().astype(np.int64)
    cells = Cells([rows[a:b] for a, b in pairwise(start.tolist())], [0] * (len(start) - 1))
    return Parts(polyhedra_from_integers(cells.rows, work.p.dim), Laws.from_integer(laws), work.p.domain, 0.0)
