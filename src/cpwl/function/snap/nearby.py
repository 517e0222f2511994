"""Exact functions near float data, made from its float complex: no linear programs, near-linear in the pieces.

1. *Simplices.* Regions of one law that are simplices: a table on their welded corners, consistent whatever its numbers;
   first on corners that put bends on one line which nearly are (`straight`).
2. *Laws.* The laws are the unknowns: exact ones near them that meet where they are meant to (`laws`), every facet where
   two of them are equal, regions that are not convex cut along their own hyperplanes (`cells`).
3. *Triangles.* Every piece cut into simplices over welded corners: always consistent where pieces meet face to face,
   but with more bends.

What they share is `Work`: the complex, who meets whom, laws that are at odds with those around them, measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import homogeneous
from cpwl.function.cpwl import CPWL, Moved
from cpwl.function.flags import consistency
from cpwl.function.jump import largest_jump
from cpwl.function.make import polyhedra_from_integers
from cpwl.function.parts import Laws, Parts, label_maps
from cpwl.function.snap.cells import Domain, exact_cells, pulled, simplices_of, table
from cpwl.function.snap.complex import (
    Contact,
    Face,
    FloatComplex,
    Meetings,
    Unfit,
    contacts_of,
    faces_of,
    float_complex,
    parallel_laws,
    regions_of,
)
from cpwl.function.snap.even import aligned
from cpwl.function.snap.laws import exact_laws
from cpwl.function.snap.relations import below_gap
from cpwl.geometry.bodies import solid
from cpwl.geometry.overlay import overlay

_Law = list[Fraction]
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

# How far an exact function is from float data: laws at the vertices of their pieces, vertices from their rows.


class Measured:
    """Sizes of the data against which moves are measured."""

    def __init__(self, p: CPWL, complex_: FloatComplex) -> None:
        self.p, self.complex = p, complex_
        slopes, offsets = np.abs(p.laws.gradient), np.abs(p.laws.offset)
        reach = complex_.reach
        self.slope = slopes.max(axis=(0, 2))
        self.level = np.maximum(offsets.max(axis=0), self.slope * reach)
        scale = slopes.sum(axis=2).max(axis=0) * reach + offsets.max(axis=0)
        self.scale = np.maximum(scale, 1e-6 * scale.max())  # an output that is nothing but noise has no size of its own
        self.owner = np.repeat(np.arange(len(complex_)), [len(own) for own in complex_.own])
        self.corner = np.concatenate(complex_.own)


def measure(
    of: Measured, laws: Laws, pieces: NDArray[np.int64], cells: NDArray[np.int64] | None, facet: float
) -> tuple[Moved, int, tuple[float, ...] | None]:
    """How far ``laws[k]`` is from the law of ``pieces[k]`` on that piece, or on the simplex ``cells[k]`` of it.

    Also of how many pieces the law moved, and where most.
    """
    p, complex_ = of.p, of.complex
    slopes, offsets = laws.gradient - p.laws.gradient[pieces], laws.offset - p.laws.offset[pieces]
    if cells is None:
        number = np.full(len(complex_), -1, dtype=np.int64)
        number[pieces] = np.arange(len(pieces))
        own = number[of.owner] >= 0
        which, corner = number[of.owner[own]], of.corner[own]
    else:
        which, corner = np.repeat(np.arange(len(cells)), cells.shape[1]), cells.ravel()
    points = complex_.vertices[corner]
    change = np.abs(np.einsum("kmn,kn->km", slopes[which], points) + offsets[which])
    relative = _ratio(change, of.scale).max(axis=1, initial=0.0)
    coefficient = max(
        float(_ratio(np.abs(slopes).max(axis=(0, 2), initial=0.0), of.slope).max()),
        float(_ratio(np.abs(offsets).max(axis=0, initial=0.0), of.level).max()),
    )
    value = float(relative.max(initial=0.0))
    moved = len(np.unique(pieces[(slopes != 0).any(axis=(1, 2)) | (offsets != 0).any(axis=1)]))
    where = tuple(points[int(np.argmax(relative))].tolist()) if value > 0 else None
    return Moved(coefficient, value, facet / complex_.reach), moved, where


def _ratio(change: _Floats, scale: _Floats) -> _Floats:
    return np.asarray(change / np.where(scale > 0, scale, 1.0))


def lost_law(of: Measured, function: CPWL, tol: float) -> str | None:
    """A piece without interior whose law the function is not near at one of its corners, in words."""
    p, complex_ = of.p, of.complex
    thin = np.flatnonzero(complex_.flat[of.owner])
    if len(thin) == 0:
        return None
    points, owner = complex_.vertices[of.corner[thin]], of.owner[thin]
    wanted = np.einsum("kmn,kn->km", p.laws.gradient[owner], points) + p.laws.offset[owner]
    lost = np.abs(function(points) - wanted) > 10 * tol * of.scale  # outside, where there is no value, is no evidence
    if not lost.any():
        return None
    i = int(owner[np.argmax(lost.any(axis=1))])
    return f"the law of piece {i}, which has next to no interior, would be lost."


_MANY = 0.6  # laws a piece from which on simplices are what the data is made of
_SAME = 10.0  # times the noise within which a law is what others say


class Work:
    """What the ways share: the complex of the data, its laws in classes, and who meets whom."""

    def __init__(self, p: CPWL, complex_: FloatComplex | None = None, least: float = 0.0) -> None:
        self.p = p
        self.complex: FloatComplex = float_complex(p.polyhedra, p.tol, least) if complex_ is None else complex_
        if not self.complex.solid:
            raise Unfit("no piece is thicker than the noise")
        self.label = label_maps(p.component)
        first = np.unique(self.label, return_index=True)[1]
        # Each output of a class takes the law of the first piece of its component.
        leader = np.stack([p.representatives(j)[p.component[first, j]] for j in range(p.outputs)], axis=1)
        self.given = p.laws.coefficients()[leader, np.arange(p.outputs)]
        self.measured = Measured(p, self.complex)

    @cached_property
    def contacts(self) -> list[Contact]:
        return contacts_of(self.complex)

    def bends(self, contact: Contact) -> bool:
        """Whether two laws meet there."""
        return bool(self.label[contact.piece] != self.label[contact.other])

    @cached_property
    def regions(self) -> list[list[int]]:
        return regions_of(self.complex, self.label, self.contacts)

    @cached_property
    def laws(self) -> NDArray[np.float64]:
        """The laws by their classes; those that are at odds with all around them as these say."""
        return mended(self)

    @cached_property
    def faces(self) -> list[Face]:
        return faces_of(self.complex, self.label)

    @property
    def is_of_simplices(self) -> bool:
        """Whether nearly every piece has a law of its own, and all have as many corners as a simplex."""
        size = self.p.dim + 1
        many = len(self.given) > _MANY * len(self.complex.solid)
        return many and self.complex.box is None and all(len(self.complex.own[i]) == size for i in self.complex.solid)


def mended(work: Work) -> _Floats:
    """The laws of the data, but those that others contradict as these say: through their values at its vertices.

    Trusted are the laws in no conflict. A law that is in one and has vertices enough with trusted ones is asked whether
    it has the values of these there; if not it takes them, and is trusted from then on. What does not end all conflicts
    of a law is not done, nor what would move it by more than the tolerance.
    """
    laws: _Floats = work.given
    conflicts = conflicting(work, laws)
    doubtful, found = set().union(*conflicts), laws.copy()
    while True:
        said = {law: _as_others_say(work, found, law, doubtful) for law in sorted(doubtful)}
        known = {law: said_of for law, said_of in said.items() if said_of is not None}
        if not known:
            break
        for law, new in known.items():
            found[law] = new
        doubtful -= known.keys()
    left = frozenset().union(*conflicting(work, found)) if len(conflicts) else frozenset[int]()
    changed = [k for k in range(len(laws)) if k not in left and (found[k] != laws[k]).any()]
    laws = laws.copy()
    laws[changed] = found[changed]
    return laws


def _as_others_say(work: Work, laws: _Floats, law: int, doubtful: set[int]) -> _Floats | None:
    """The law itself if it has the values of trusted laws at the vertices of its pieces, or the one that has them.

    None if it is not known, or too far.
    """
    complex_, label = work.complex, work.label
    cells = [complex_.cells[i] for i in complex_.solid if label[i] == law]
    points, values, widths = [], [], []
    for v in np.unique(np.concatenate(cells)).tolist():
        trusted = sorted({int(label[i]) for i in complex_.holders[v]} - {law} - doubtful)
        if trusted:
            points.append(np.append(complex_.vertices[v], 1.0))
            values.append(np.median(laws[trusted] @ points[-1], axis=0))
            widths.append(complex_.widths[v])
    if len(points) <= complex_.dim:
        return None
    scale, slopes = work.measured.scale, np.abs(laws[law, :, :-1]).sum(axis=1)
    away = np.abs(np.array(points) @ laws[law].T - np.array(values))
    if (away <= _SAME * (complex_.noise * scale + np.array(widths)[:, None] * slopes)).all():
        return np.asarray(laws[law].copy())
    weight = (min(widths) / np.array(widths))[:, None]
    found, _, rank, _ = np.linalg.lstsq(np.array(points) * weight, np.array(values) * weight, rcond=1e-10)
    change = np.abs(np.array(points) @ found - np.array(points) @ laws[law].T)
    near = bool((change <= 10 * work.p.tol * scale).all())
    return np.asarray(found.T, dtype=np.float64) if near and rank > complex_.dim else None


def conflicting(work: Work, given: _Floats) -> list[frozenset[int]]:
    """The laws around faces at which they miss each other by much more than they do elsewhere."""
    rings = [face.laws for face in work.faces if face.closed and len(set(face.laws)) > 3]
    weight = np.append(np.full(work.p.dim, work.complex.reach), 1.0)
    view = given * weight
    view = view / np.maximum(np.abs(view).max(axis=(0, 2)), 1e-300)[:, None]
    off = np.zeros(len(rings))
    for k, ring in enumerate(rings):
        laws = view[sorted(set(ring))].transpose(1, 0, 2)
        off[k] = np.linalg.svd(laws[:, 1:] - laws[:, :1], compute_uv=False)[:, 2].max()
    limit = below_gap(off, 1e-14)
    return [frozenset(ring) for ring, x in zip(rings, off.tolist(), strict=True) if x > 10 * limit]


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
        # On the rows of the domain first: thin parts of the data would lie outside of the table.
        points = Domain(work.complex, work.p.domain, tight=True).vertices().astype(np.float64)
        exact = aligned(points, cells, work.complex.widths, inside=True)
        if exact is None:
            raise Unfit("no bends can be put on one line")
        parts = replace(table(exact, work.p.laws, cells, pieces), domain=work.p.domain)
    else:
        parts = _on_corners(work, cells, pieces)
    whose = np.zeros(len(work.complex), dtype=np.int64)
    known = np.zeros(len(work.complex), dtype=bool)
    for k, group in enumerate(groups):
        whose[group], known[group] = k, True
    return _measured(work, parts, parts.laws.take(whose), known, _from_rows(work))


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
    corners = np.unique(np.concatenate([complex_.cells[i] for i in region]))
    points, planes = complex_.vertices[corners], []
    inner, outer = (
        {(c.piece, complex_.on[c.piece][:, c.row].tobytes()) for c in work.contacts if work.bends(c) == bent}
        for bent in (False, True)
    )
    for i in region:
        A, b = complex_.rows(i)
        for r in range(len(b)):
            on = complex_.on[i][:, r]
            if on.sum() >= n and ((i, on.tobytes()) in outer or (i, on.tobytes()) not in inner):
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
    laws = _exact_laws(work)
    if work.p.outputs == 1:
        return _with_laws(work, [own for (own,) in laws])
    # Each output on pieces of its own: where they share a bend, it is one row.
    found = []
    for j, alone in enumerate(_alone(work)):
        first = np.unique(alone.label, return_index=True)[1]
        found.append(_with_laws(alone, [laws[k][j] for k in work.label[first].tolist()]))
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
    kept, bodies = solid(found[0].parts.polyhedra)
    laws = found[0].parts.laws.integer()[kept]
    for near in found[1:]:
        kept, others = solid(near.parts.polyhedra)
        both = overlay(bodies, others)
        laws = np.concatenate([laws[both.one], near.parts.laws.integer()[kept[both.two]]], axis=1)
        bodies = both.cells
    moved = Moved(*(max(getattr(near.moved, name) for near in found) for name in ("coefficient", "value", "facet")))
    farthest = max(found, key=lambda near: near.moved.value)
    parts = Parts(bodies.polyhedra, Laws.from_integer(laws), work.p.domain, 0.0)
    return Nearby(parts, moved, max(near.laws for near in found), max(near.facets for near in found), 0, farthest.where)


def _with_laws(work: Work, laws: list[_Law]) -> Nearby:
    """The function of exact laws of one output."""
    p, complex_, label = work.p, work.complex, work.label
    exact = np.array(laws, dtype=object)[:, None]
    each = Laws.from_integer(homogeneous(exact))
    is_simple = max(x.denominator for x in exact.ravel()) < _SIMPLE
    for meant in (False, True) if is_simple and p.domain is None else (False,):
        domain = Domain(complex_, p.domain, meant=meant)
        cells = exact_cells(domain, label, laws, work.faces, work.contacts, work.regions)
        polyhedra = polyhedra_from_integers(cells.rows, p.dim)
        parts = Parts(polyhedra, each.take(np.array(cells.law, dtype=np.int64)), p.domain, 0.0)
        if is_simple and consistency(CPWL.from_parts(parts)).consistent:
            break
    whose = Laws(each.gradient[label].copy(), each.offset[label].copy())
    return _measured(work, parts, whose, np.ones(len(label), dtype=bool), _from_bends(work, whose))


def _exact_laws(work: Work) -> list[list[_Law]]:
    """Exact laws with no wider a tolerance than it takes."""
    meetings, reach, tol = _meetings(work), work.complex.reach, work.p.tol
    objection = Unfit("no laws")
    for in_turn in (False, True):
        for much in dict.fromkeys((min(_USUAL, tol), tol)):
            try:
                return exact_laws(work.laws, meetings, reach, much, in_turn)
            except Unfit as reason:
                objection = reason
    raise objection


def _meetings(work: Work) -> Meetings:
    """Where laws meet, in all the places of the complex."""
    label = work.label
    pairs = [(int(label[c.piece]), int(label[c.other])) for c in work.contacts if work.bends(c)]
    unbounded = work.complex.box is not None
    return Meetings(work.faces, pairs, lambda whole: parallel_laws(work.complex, label, whole), unbounded)


def by_triangles(work: Work) -> Nearby:
    """Every piece cut into simplices."""
    if work.is_of_simplices:
        raise Unfit("all pieces are simplices")
    cells, pieces = pulled(work.complex)
    parts = _on_corners(work, cells, pieces)
    facets, counts = _from_rows(work), np.bincount(pieces)
    moved, count, where = measure(work.measured, parts.laws, pieces, cells, float(facets.max(initial=0.0)))
    return Nearby(parts, moved, count, int((facets > 0).sum()), int((counts > 1).sum()), where)


WAYS: dict[str, Callable[[Work], Nearby]] = {
    "straight": by_straight_simplices,
    "simplices": by_simplices,
    "laws": by_laws,
    "triangles": by_triangles,
}
"""The ways, in the order in which they are tried."""


def ways(work: Work) -> list[str]:
    """The ways that are worth trying; laws that several pieces share are kept first of all, where there are few."""
    shared = len(work.given) < len(work.complex.solid) <= _FEW
    return ["straight", "laws", "simplices", "triangles"] if shared else list(WAYS)


def _measured(work: Work, parts: Parts, laws: Laws, known: NDArray[np.bool_], facets: NDArray[np.float64]) -> Nearby:
    pieces = np.flatnonzero(known)
    moved, count, where = measure(work.measured, laws.take(pieces), pieces, None, float(facets.max(initial=0.0)))
    return Nearby(parts, moved, count, int((facets > 0).sum()), 0, where)


def _from_rows(work: Work) -> NDArray[np.float64]:
    """How far the welded corners are from the rows of the pieces that have them."""
    complex_, found = work.complex, []
    for i, own in enumerate(complex_.own):
        A, b = complex_.rows(i)
        gap = np.abs(complex_.vertices[own] @ A.T - b)
        found.append(np.where(gap <= 20 * complex_.widths[own][:, None], gap, 0.0).max(axis=0, initial=0.0))
    return np.concatenate(found)


def _from_bends(work: Work, laws: Laws) -> NDArray[np.float64]:
    """How far the vertices of facets between laws are from where these laws, one a piece, are equal now."""
    complex_, label, found = work.complex, work.label, []
    for contact in work.contacts:
        a, b = contact.piece, contact.other
        if label[a] != label[b]:
            j = int(np.argmax(np.abs(laws.gradient[a] - laws.gradient[b]).max(axis=1)))
            slope, offset = laws.gradient[a, j] - laws.gradient[b, j], laws.offset[a, j] - laws.offset[b, j]
            points = complex_.vertices[complex_.cells[a][complex_.on[a][:, contact.row]]]
            common = np.array([v for v in points if np.isfinite(v).all()])
            gap = np.abs(common @ slope + offset) / max(float(np.linalg.norm(slope)), 1e-300)
            found.append(float(gap.max(initial=0.0)))
    return np.array(found)
