"""Exact functions near float data, made from its float complex: no linear programs, near-linear in the pieces.

1. *Simplices.* Regions of one law that are simplices: a table on their welded corners, consistent whatever its numbers;
   first on corners that put bends on one line which nearly are (`straight`).
2. *Laws.* The laws are the unknowns: exact ones near them that meet where they are meant to (`laws`), every facet where
   two of them are equal, regions that are not convex cut along their own hyperplanes (`cells`).
3. *Together.* Each output on pieces of its own, and the common refinement of all, with laws that are made exact
   together, so that what outputs share stays shared.
4. *Patches.* As 2 for all laws but a few, whose pieces are cut into simplices that meet all others (`patched`).
5. *Triangles.* Every piece cut into simplices over welded corners: always consistent where pieces meet face to face,
   but with more bends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cpwl.function.cpwl import CPWL, Moved
from cpwl.function.flags import consistency
from cpwl.function.jump import largest_jump
from cpwl.function.make import polyhedra_from_integers
from cpwl.function.parts import Laws, Parts
from cpwl.function.snap.cells import Domain, exact_cells, pulled, simplices_of, table
from cpwl.function.snap.complex import Face, Meetings, Unfit, parallel_laws
from cpwl.function.snap.even import aligned
from cpwl.function.snap.laws import Broken, exact_laws, fix_in_turn
from cpwl.function.snap.loose import Work, loosened, measure
from cpwl.function.snap.patched import patched
from cpwl.function.snap.relations import Relation, noise_of, relations_of
from cpwl.geometry.bodies import Bodies, solid
from cpwl.geometry.overlay import overlay
from cpwl.geometry.polyhedra import Polyhedron

__all__ = ["WAYS", "Nearby", "ways"]

_Law = list[Fraction]
_Ints = NDArray[np.int64]
# Several outputs with laws of their own, made exact together: hyperplanes and places that they share stay shared.
#
# The laws of all outputs are the unknowns, each once. Where two outputs bend on one facet their jumps there are
# multiples of each other; around a face of codimension 2 the jumps of all outputs lie in one plane; and each output has
# the relations that it has alone. All are fixed one after the other.


_Floats = NDArray[np.float64]


def laws_together(laws: _Floats, meetings: Meetings, reach: float, tol: float) -> list[list[_Law]]:
    """Exact laws near ``laws[k, j]`` for all outputs `j`, which meet and bend where they are meant to; or `Unfit`."""
    weight = np.append(np.full(laws.shape[2] - 1, reach), 1.0)
    size = np.abs(laws * weight).max(axis=(0, 2))
    scale = np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))  # outputs of about one size, nothing rounded
    every, number = _stacked(laws * scale[:, None])
    little = tol * float(np.abs(every * weight).max())
    relations = _of_each(every, number, meetings, weight, little) + _of_several(number, meetings)
    fixed = fix_in_turn(every, relations, weight, little)
    if fixed.broken:
        raise Unfit(f"{len(fixed.broken)} laws of several outputs do not meet exactly with all that they are to meet")
    back = [Fraction(1 / s) for s in scale.tolist()]
    return [[[x * s for x in fixed.laws[k]] for k, s in zip(row, back, strict=True)] for row in number.tolist()]


def _stacked(laws: _Floats) -> tuple[_Floats, _Ints]:
    """The distinct laws of all outputs, one output after the other, and the number of each."""
    every, number, start = [], [], 0
    for output in laws.transpose(1, 0, 2):
        distinct, place = np.unique(output, axis=0, return_inverse=True)
        every.append(distinct)
        number.append(place.ravel() + start)
        start += len(distinct)
    return np.concatenate(every), np.stack(number, axis=1)


def _of_each(every: _Floats, number: _Ints, meetings: Meetings, weight: _Floats, little: float) -> list[Relation]:
    """The relations that the outputs have by themselves."""
    found: list[Relation] = []
    for own in number.T:
        faces = [_renumbered(face, own) for face in meetings.faces]
        triples = meetings.parallel(every[own])
        parallel = list(dict.fromkeys(tuple(sorted({int(own[k]) for k in three})) for three in triples))
        noise = noise_of(every, faces, weight, little)
        found += relations_of(every, faces, [three for three in parallel if len(three) == 3], weight, noise)
    return found


def _renumbered(face: Face, own: _Ints) -> Face:
    """A face with the laws of one output around it."""
    ring = [int(own[k]) for k in face.laws]
    laws = [law for k, law in enumerate(ring) if law != ring[k - 1] or (k == 0 and not face.closed)]
    return replace(face, laws=tuple(laws) or (ring[0],))


def _of_several(number: _Ints, meetings: Meetings) -> list[Relation]:
    """The relations among outputs: facets on which several bend, and faces around which several do."""
    found: dict[Relation, None] = {}
    for a, b in meetings.pairs:
        bent = number[a] != number[b]
        if bent.sum() > 1:
            pairs = [
                tuple(sorted(pair)) for pair in zip(number[a][bent].tolist(), number[b][bent].tolist(), strict=True)
            ]
            found[_grouped("shared", pairs)] = None
    for face in meetings.faces:
        if face.closed:
            groups = [tuple(sorted(set(own.tolist()))) for own in number[list(face.laws)].T]
            groups = [group for group in groups if len(group) > 1]
            if len(groups) > 1 and sum(len(group) - 1 for group in groups) > 2:
                found[_grouped("span", groups)] = None
    return list(found)


def _grouped(kind: Literal["shared", "span"], groups: Sequence[tuple[int, ...]]) -> Relation:
    return Relation(kind, tuple(law for group in groups for law in group), tuple(map(len, groups)))


# Several outputs that bend in different places: each made exact by itself, on the common refinement of their pieces.
#
# Where two outputs are meant to bend in one place, their exact bends are next to each other, with slivers between:
# exact all the same, at the price of one bend more.


_Family = tuple[Bodies, NDArray[np.object_]]


def refined(outputs: Sequence[Parts], domain: Polyhedron | None) -> Parts:
    """The function with the outputs of several exact ones, in that order, where all of them are defined."""
    bodies, laws = reduce(_overlaid, map(_family, outputs))
    return Parts(bodies.polyhedra, Laws.from_integer(laws), domain, 0.0)


def _family(parts: Parts) -> _Family:
    """The pieces with an interior, and their laws."""
    kept, bodies = solid(parts.polyhedra)
    return bodies, parts.laws.integer()[kept]


def _overlaid(one: _Family, two: _Family) -> _Family:
    """The intersections that have an interior, with the laws of both."""
    found = overlay(one[0], two[0])
    return found.cells, np.concatenate([one[1][found.one], two[1][found.two]], axis=1)


_FEW = 50  # simplices of which the laws may be made to meet
_USUAL = 1e-9  # what float data is off by; a wider tolerance is for what cannot be kept
_SIMPLE = 2**20  # a denominator below which numbers are meant
_FAR = 5e-10  # how far laws may move, relative to the range: half of what `compile` allows unasked
_TIMES = 50  # and how many times what the data leaves open


@dataclass(frozen=True, slots=True, eq=False)
class Nearby:
    """An exact function to try, and how far it is from the data."""

    parts: Parts
    moved: Moved
    laws: int
    facets: int
    patches: int
    where: tuple[float, ...] | None
    places: tuple[tuple[float, ...], ...] = ()


def by_simplices(work: Work, straight: bool = False) -> Nearby:
    """The table on welded corners of pieces, or of regions, that are simplices."""
    if work.is_of_simplices:
        cells, pieces = simplices_of(work.complex)
        groups = [[int(i)] for i in pieces]
    else:
        groups = work.regions
        cells = np.array([_simplex(work, region) for region in groups])
        pieces = np.array([region[0] for region in groups])
    if straight:
        exact = aligned(work.complex.vertices, cells, work.complex.widths, inside=True)
        if exact is None:
            raise Unfit("no bends can be put on one line")
        parts = replace(table(exact, work.p.laws, cells, pieces), domain=work.p.domain)
    else:
        parts = _on_corners(work, cells, pieces)
    whose = np.zeros(len(work.complex), dtype=np.int64)
    known = np.zeros(len(work.complex), dtype=bool)
    for k, group in enumerate(groups):
        whose[group], known[group] = k, True
    return _measured(work, parts, parts.laws.take(whose), known, _from_rows(work), 0)


def by_straight_simplices(work: Work) -> Nearby:
    """The same on corners that are moved until bends which are nearly on one line, or hyperplane, are."""
    return by_simplices(work, straight=True)


def _on_corners(work: Work, cells: _Ints, pieces: _Ints) -> Parts:
    """The table on welded corners, those on the boundary exactly on the rows of the domain.

    It holds all of the data, unless its laws would move by much more than the data itself leaves open: then all but the
    tips of slivers. A proof is of the tips, too, so that a domain without them is seldom proved to be nearer."""
    p = work.p
    parts = table(Domain(work.complex, p.domain).vertices(), p.laws, cells, pieces)
    if p.domain is None and (far := _farthest(work, parts, cells, pieces)) > max(_FAR, _TIMES * _open(p, parts)):
        tight = table(Domain(work.complex, None, tight=True).vertices(), p.laws, cells, pieces)
        parts = tight if _farthest(work, tight, cells, pieces) < far / 4 else parts
    return replace(parts, domain=p.domain)


def _open(p: CPWL, parts: Parts) -> float:
    """Half of the largest jump in the data, relative to the range of the values."""
    assert parts.mesh is not None
    jump = largest_jump(p)
    spread = float(np.ptp(parts.mesh.values, axis=0).max())
    return 0.0 if jump is None or spread == 0 else float(jump.unavoidable) / spread


def _farthest(work: Work, parts: Parts, cells: _Ints, pieces: _Ints) -> float:
    """The largest change of a law at a corner of its simplex, relative to the range of the values."""
    assert parts.mesh is not None
    slopes, corners = parts.laws.gradient - work.p.laws.gradient[pieces], work.complex.vertices[cells]
    change = np.einsum("smn,scn->scm", slopes, corners) + (parts.laws.offset - work.p.laws.offset[pieces])[:, None]
    spread = np.ptp(parts.mesh.values.reshape(len(parts.mesh.points), -1), axis=0)
    return float((np.abs(change).max(axis=(0, 1)) / np.where(spread > 0, spread, 1.0)).max())


def _simplex(work: Work, region: list[int]) -> _Ints:
    """The corners of a region that is a simplex: where all but one of its hyperplanes meet."""
    complex_, n = work.complex, work.p.dim
    inner = {(c.piece, c.row) for c in work.contacts if work.label[c.piece] == work.label[c.other]}
    outer = {(c.piece, c.row) for c in work.contacts if work.label[c.piece] != work.label[c.other]}
    corners = np.unique(np.concatenate([complex_.cells[i] for i in region]))
    points, planes = complex_.vertices[corners], []
    for i in region:
        A, b = complex_.rows(i)
        for r in range(len(b)):
            on = complex_.on[i][:, r].sum() >= n
            if on and ((i, r) in outer or (i, r) not in inner):
                planes.append(np.abs(points @ A[r] - b[r]) <= 20 * complex_.widths[corners])
    facets = np.unique(np.array([plane for plane in planes if plane.sum() >= n]), axis=0)
    found = corners[facets.sum(axis=0) >= n]
    if len(facets) != n + 1 or len(found) != n + 1:
        raise Unfit(f"the region of the law of piece {region[0]} is not a simplex")
    return np.asarray(found)


def by_laws(work: Work) -> Nearby:
    """Laws as unknowns."""
    if work.is_of_simplices and len(work.complex.solid) > _FEW:
        raise Unfit("around the corners of simplices more laws meet than rounding leaves free")
    return _with_laws(work, *_exact_laws(work))


def _with_laws(work: Work, whole: list[_Law], laws: list[list[_Law]]) -> Nearby:
    """The function of exact laws, which all bend where `whole`, one law for each, does."""
    p, complex_, label = work.p, work.complex, work.label
    exact = np.array(laws, dtype=object)
    each = Laws.from_lists(exact[..., :-1], exact[..., -1], len(exact), p.dim)
    is_simple = max(x.denominator for x in exact.ravel()) < _SIMPLE
    for meant in (False, True) if is_simple and p.domain is None else (False,):
        domain = Domain(complex_, p.domain, meant=meant)
        cells = exact_cells(domain, label, whole, work.faces, work.contacts, work.regions)
        polyhedra = polyhedra_from_integers(cells.rows, p.dim)
        parts = Parts(polyhedra, each.take(np.array(cells.law, dtype=np.int64)), p.domain, 0.0)
        if is_simple and consistency(CPWL.from_parts(parts)).consistent:
            break
    whose, loose = Laws(each.gradient[label].copy(), each.offset[label].copy()), np.zeros(len(label), dtype=bool)
    facets = _from_bends(work, whose, loose)
    work.broken |= _on_facets(work, facets > p.tol * complex_.reach)
    return _measured(work, parts, whose, ~loose, facets, 0)


def _exact_laws(work: Work) -> tuple[list[list[Fraction]], list[list[list[Fraction]]]]:
    """Exact laws with no wider a tolerance than it takes."""
    meetings, reach, tol = _meetings(work, work.faces), work.complex.reach, work.p.tol
    if tol > _USUAL:
        with suppress(Unfit):
            return exact_laws(work.laws, meetings, reach, _USUAL)
    try:
        return exact_laws(work.laws, meetings, reach, tol)
    except Broken as found:
        work.broken = found.laws
        raise


def _meetings(work: Work, faces: list[Face]) -> Meetings:
    """Where laws meet, in all the places of the complex."""
    label = work.label
    pairs = [(int(label[c.piece]), int(label[c.other])) for c in work.contacts if label[c.piece] != label[c.other]]
    return Meetings(faces, pairs, lambda whole: parallel_laws(work.complex, label, whole), work.complex.box is not None)


def by_patches(work: Work) -> Nearby:
    """Laws as unknowns, but for a few: their pieces are cut up."""
    if work.is_of_simplices:
        raise Unfit("all pieces are simplices")
    found = patched(work)
    facets = _from_bends(work, found.laws, found.loose)
    near = _measured(work, found.parts, found.laws, ~found.loose, facets, int(found.loose.sum()))
    near = replace(near, places=tuple(tuple(work.complex.centres[some[0]].tolist()) for some in found.patches))
    if found.off <= near.moved.value:
        return near
    moved = replace(near.moved, value=found.off)
    return replace(near, moved=moved, where=found.where, laws=near.laws + int(found.loose.sum()))


def by_triangles(work: Work) -> Nearby:
    """Every piece cut into simplices."""
    if work.is_of_simplices:
        raise Unfit("all pieces are simplices")
    cells, pieces = pulled(work.complex)
    parts = _on_corners(work, cells, pieces)
    facets, counts = _from_rows(work), np.bincount(pieces)
    moved, count, where = measure(work.measured, parts.laws, pieces, cells, float(facets.max(initial=0.0)))
    return Nearby(parts, moved, count, int((facets > 0).sum()), int((counts > 1).sum()), where)


def by_outputs_together(work: Work) -> Nearby:
    """Each output on pieces of its own, with laws that are made exact together: what they share stays shared."""
    meetings = _meetings(work, work.faces)
    laws = laws_together(work.laws, meetings, work.complex.reach, work.p.tol)
    found = []
    for j, alone in enumerate(_alone(work)):
        first = np.unique(alone.label, return_index=True)[1]
        own = [laws[k][j] for k in work.label[first].tolist()]
        found.append(_with_laws(alone, own, [[law] for law in own]))
    return _refined(work, found)


def _alone(work: Work) -> Iterator[Work]:
    """The outputs one by one, on the same complex."""
    p = work.p
    for j in range(p.outputs):
        part = np.array([j])
        laws = Laws(p.laws.gradient[:, part].copy(), p.laws.offset[:, part].copy())
        alone = Work(CPWL.from_parts(Parts(p.polyhedra, laws, p.domain, p.tol)), work.complex)
        alone.contacts = work.contacts
        yield alone


def _refined(work: Work, found: Sequence[Nearby]) -> Nearby:
    """The outputs on the common refinement of their pieces."""
    parts = refined([near.parts for near in found], work.p.domain)
    moved = Moved(*(max(getattr(near.moved, name) for near in found) for name in ("coefficient", "value", "facet")))
    farthest = max(found, key=lambda near: near.moved.value)
    return Nearby(parts, moved, max(near.laws for near in found), max(near.facets for near in found), 0, farthest.where)


WAYS: dict[str, Callable[[Work], Nearby]] = {
    "straight": by_straight_simplices,
    "simplices": by_simplices,
    "laws": by_laws,
    "together": by_outputs_together,
    "patches": by_patches,
    "triangles": by_triangles,
}
"""The ways, in the order in which they are tried."""


def ways(work: Work) -> list[str]:
    """The ways that are worth trying; laws that several pieces share are kept first of all, where there are few."""
    shared = len(work.given) < len(work.complex.solid) <= _FEW
    names = ["straight", "laws", "simplices", "together", "patches", "triangles"] if shared else list(WAYS)
    return [name for name in names if name != "together" or work.p.outputs > 1]


def _measured(
    work: Work, parts: Parts, laws: Laws, known: NDArray[np.bool_], facets: NDArray[np.float64], patches: int
) -> Nearby:
    pieces = np.flatnonzero(known)
    moved, count, where = measure(work.measured, laws.take(pieces), pieces, None, float(facets.max(initial=0.0)))
    return Nearby(parts, moved, count, int((facets > 0).sum()), patches, where)


def _from_rows(work: Work) -> NDArray[np.float64]:
    """How far the welded corners are from the rows of the pieces that have them."""
    complex_, found = work.complex, []
    for i, own in enumerate(complex_.own):
        A, b = complex_.rows(i)
        gap = np.abs(complex_.vertices[own] @ A.T - b)
        found.append(np.where(gap <= 20 * complex_.widths[own][:, None], gap, 0.0).max(axis=0, initial=0.0))
    return np.concatenate(found)


def _on_facets(work: Work, wrong: NDArray[np.bool_]) -> frozenset[int]:
    """Laws, one on each of some facets between laws."""
    pairs = [(int(work.label[c.piece]), int(work.label[c.other])) for c in work.contacts]
    bends = [frozenset(pair) for pair in pairs if pair[0] != pair[1]]
    return loosened(work, [pair for pair, off in zip(bends, wrong.tolist(), strict=True) if off], frozenset())


def _from_bends(work: Work, laws: Laws, loose: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How far the vertices of facets between laws are from where these laws, one a piece, are equal now."""
    complex_, label, found = work.complex, work.label, []
    for contact in work.contacts:
        a, b = contact.piece, contact.other
        if label[a] != label[b] and not loose[[a, b]].any():
            j = int(np.argmax(np.abs(laws.gradient[a] - laws.gradient[b]).max(axis=1)))
            slope, offset = laws.gradient[a, j] - laws.gradient[b, j], laws.offset[a, j] - laws.offset[b, j]
            points = complex_.vertices[complex_.cells[a][complex_.on[a][:, contact.row]]]
            common = np.array([v for v in points if np.isfinite(v).all()])
            gap = np.abs(common @ slope + offset) / max(float(np.linalg.norm(slope)), 1e-300)
            found.append(float(gap.max(initial=0.0)))
    return np.array(found)
