"""Exact convex pieces for exact laws on a float complex: every facet is where two laws are equal.

A region of one law is bounded by the hyperplanes where that law meets its neighbours, and by the domain. Where it is
not convex it is cut along these hyperplanes, so that every row is exact; no bend is added.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.function.snap.bodies import Body, Cutting, Differences
from cpwl.function.snap.complex import FloatComplex, Unfit
from cpwl.function.snap.contacts import Contact
from cpwl.function.snap.domain import Domain
from cpwl.function.snap.faces import Face
from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["Cells", "cell_polyhedra", "exact_cells"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_MOST = 20_000  # cells


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Convex pieces with integer rows ``(a, b)``, and the law of each."""

    rows: list[NDArray[np.object_]]
    law: list[int]


def exact_cells(
    domain: Domain,
    label: _Ints,
    laws: Mapping[int, Sequence[Fraction]] | Sequence[Sequence[Fraction]],
    faces: Sequence[Face],
    contacts: Sequence[Contact],
    regions: Sequence[list[int]],
) -> Cells:
    """The exact pieces of some regions, within a domain, for all contacts and faces that they have."""
    complex_, differences = domain.complex, Differences(laws)
    meets: list[dict[int, bool]] = [{} for _ in range(len(complex_))]
    for contact in contacts:
        if label[contact.piece] != label[contact.other]:
            meets[contact.piece][int(label[contact.other])] = True
    for face in faces:
        if not face.closed and len(set(face.laws)) >= 3 and not _follows(domain, differences, face):
            first, last = face.laws[0], face.laws[-1]
            for i in set.intersection(*(complex_.holders[v] for v in face.vertices)):
                for own, other in ((first, last), (last, first)):
                    if label[i] == own and own != other:
                        meets[i].setdefault(other, False)
    found, cutting = Cells([], []), Cutting(complex_, label, differences, contacts)
    for region in regions:
        bodies = [_body(complex_, i, meets[i]) for i in region]
        law, parts = int(label[region[0]]), []
        for pairs, points, widths in cutting.convex(law, bodies):
            rows = [differences.row(*pair) for pair in pairs] + [domain.row(k) for k in domain.touched(points, widths)]
            parts.append(pairs)
            found.rows.append(np.array(rows, dtype=object).reshape(len(rows), complex_.dim + 1))
            found.law.append(law)
        _check_covered(cutting, region, parts)
        if len(found.law) > _MOST:
            raise Unfit(f"there are more than {_MOST} convex parts of regions")
    return found


def _body(complex_: FloatComplex, i: int, meets: dict[int, bool]) -> Body:
    cell = complex_.cells[i]
    return Body(*complex_.rows(i), complex_.vertices[cell], complex_.widths[cell], meets)


def _check_covered(cutting: Cutting, region: list[int], parts: list[list[tuple[int, int]]]) -> None:
    """Every piece of a region must be in its parts: its centre, and points beside its corners."""
    complex_, count = cutting.complex, [len(cutting.complex.own[i]) for i in region]
    owner, corner = np.repeat(region, count), np.concatenate([complex_.own[i] for i in region])
    beside = 0.999 * complex_.vertices[corner] + 0.001 * complex_.centres[owner]
    points = np.vstack([complex_.centres[region], beside])
    least = [complex_.widths[complex_.own[i]].min() for i in region]
    widths = np.concatenate([least, complex_.widths[corner]])
    every = dict.fromkeys(itertools.chain.from_iterable(parts))
    within = {pair: cutting.heights(points, widths, *pair) <= 1 for pair in every}
    inside = np.zeros(len(points), dtype=bool)
    for pairs in parts:
        inside |= np.logical_and.reduce([within[pair] for pair in pairs]) if pairs else True
    if not inside.all():
        raise Unfit(f"piece {np.concatenate([region, owner])[np.argmin(inside)]} would get another law")


def _follows(domain: Domain, differences: Differences, face: Face) -> bool:
    """Whether the first and the last law of a face agree all along the boundary there: its row is theirs then."""
    first, last, complex_ = face.laws[0], face.laws[-1], domain.complex
    if first == last:
        return True
    a, b = differences.view(first, last)
    width = float(complex_.widths[list(face.vertices)].max())
    for k in np.flatnonzero(np.abs(domain.A @ face.point - domain.b) <= 3 * width).tolist():
        side = 1 if a @ domain.A[k] > 0 else -1
        off = np.abs(side * a - domain.A[k]).max() * complex_.reach + abs(side * b - domain.b[k])
        if off <= 1e3 * width:
            row = differences.row(first, last) * side
            if (domain.exact.setdefault(k, row) == row).all():
                return True
    return False


def cell_polyhedra(cells: Cells, dim: int) -> Polyhedra:
    """The cells as polyhedra, with a float view of a like size for all rows."""
    rows = primitive(np.concatenate([*cells.rows, np.zeros((0, dim + 1), dtype=object)]))
    scale = np.abs(rows[:, :-1]).max(axis=1, initial=1)
    view = np.asarray(rows / scale[:, None], dtype=np.float64)
    start = np.cumsum([0] + [len(part) for part in cells.rows]).astype(np.int64)
    return Polyhedra(view[:, :-1].copy(), view[:, -1].copy(), start, rows)
