"""The work that the ways to an exact function share: its measures, and laws that are at odds with those around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cpwl.function.components import label_maps
from cpwl.function.cpwl import CPWL, Moved
from cpwl.function.parts import Laws
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
from cpwl.function.snap.laws import Broken, exact_laws
from cpwl.function.snap.relations import below_gap

__all__ = [
    "Tight",
    "Work",
    "conflicting",
    "far_laws",
    "loosened",
    "lost_law",
    "measure",
    "mended",
    "most_loose",
    "tight_laws",
]

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


_Law = list[Fraction]
_MANY = 0.6  # laws a piece from which on simplices are what the data is made of
_ROUNDS = 6  # of loosening what cannot be solved
_SHARE = 0.2  # of the pieces may be loose, or a few
_FEW = 3
_SAME = 10.0  # times the noise within which a law is what others say
_USUAL = 1e-9  # a wide tolerance is for what is loose


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
        self.broken: frozenset[int] = frozenset()  # laws that were found not to meet all that they are meant to meet

    @cached_property
    def contacts(self) -> list[Contact]:
        return contacts_of(self.complex)

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

    @cached_property
    def corners_of_laws(self) -> dict[int, int]:
        """How many vertices the pieces of each law have."""
        found = dict.fromkeys(range(len(self.given)), 0)
        for i in self.complex.solid:
            found[int(self.label[i])] += len(self.complex.cells[i])
        return found

    @property
    def is_of_simplices(self) -> bool:
        """Whether nearly every piece has a law of its own, and all have as many corners as a simplex."""
        size = self.p.dim + 1
        many = len(self.given) > _MANY * len(self.complex.solid)
        return many and self.complex.box is None and all(len(self.complex.own[i]) == size for i in self.complex.solid)


@dataclass(frozen=True, slots=True, eq=False)
class Tight:
    """Exact laws by their numbers: of all that are not loose, and of those that hold far out."""

    whole: dict[int, _Law]
    """A combination of the outputs that bends wherever one of them does."""
    laws: dict[int, list[_Law]]
    loose: frozenset[int]


def most_loose(work: Work) -> int:
    """How many pieces may be loose before it is no local matter any more."""
    return max(_FEW, int(_SHARE * len(work.complex.solid)))


def far_laws(work: Work) -> frozenset[int]:
    """The laws with pieces that were clipped."""
    complex_, sides = work.complex, 2 * work.p.dim
    if complex_.box is None:
        return frozenset()
    return frozenset(int(work.label[i]) for i in complex_.solid if complex_.on[i][:, -sides:].any())


def tight_laws(work: Work) -> Tight:
    """Exact laws that meet wherever they are meant to, but for those that had to be loosened; or `Unfit`."""
    loose = work.broken | loosened(work, conflicting(work, work.laws), far_laws(work))
    for _ in range(_ROUNDS):
        try:
            return _solved(work, loose)
        except Broken as found:
            if found.laws <= loose:  # they hold far out only, and do not fit there
                raise Unfit(_far_out(work, min(found.laws))) from None
            loose |= found.laws
        _check_local(work, loose)
    raise Unfit("laws that do not meet exactly are too many to be loosened")


def _far_out(work: Work, law: int) -> str:
    """Which law does not meet others far away, in words."""
    i = next(i for i in work.complex.solid if work.label[i] == law)
    far = work.complex.vertices[work.complex.cells[i]]
    ray = far[int(np.argmax(np.abs(far).max(axis=1)))]
    where = ", ".join(f"{x:.4g}" for x in ray / np.abs(ray).max())
    return f"the law of piece {i} does not meet others exactly far away, around the direction ({where})"


def _check_local(work: Work, loose: frozenset[int]) -> None:
    many = sum(int(work.label[i]) in loose for i in work.complex.solid)
    if many > most_loose(work):
        raise Unfit(f"the laws of {many} pieces do not meet exactly with all that they are meant to meet")


def _solved(work: Work, loose: frozenset[int]) -> Tight:
    """Exact laws with some loosened; `Broken` has the numbers of those that cannot be solved for."""
    _check_local(work, loose)
    far, label = far_laws(work), work.label
    kept = [k for k in range(len(work.laws)) if k not in loose or k in far]
    number = {k: j for j, k in enumerate(kept)}
    faces = [replace(face, laws=tuple(number[k] for k in face.laws)) for face in _reduced(work.faces, loose)]
    pairs = [
        (number[a], number[b])
        for a, b, out in _touching(work)
        if (a not in loose and b not in loose) or (out and a in number and b in number)
    ]

    def parallel(whole: _Floats) -> list[tuple[int, ...]]:
        every = np.zeros((len(work.laws), whole.shape[1]))
        every[kept] = whole
        triples = parallel_laws(work.complex, label, every)
        return [tuple(number[k] for k in triple) for triple in triples if all(k in number for k in triple)]

    meetings = Meetings(faces, pairs, parallel, work.complex.box is not None)
    objection: Unfit | None = None
    for tol in dict.fromkeys((min(_USUAL, work.p.tol), work.p.tol)):
        try:
            whole, laws = exact_laws(work.laws[kept], meetings, work.complex.reach, tol)
            return Tight(dict(zip(kept, whole, strict=True)), dict(zip(kept, laws, strict=True)), loose)
        except Broken as found:
            objection = Broken(frozenset(kept[j] for j in found.laws))
    assert objection is not None
    raise objection


def _touching(work: Work) -> Iterable[tuple[int, int, bool]]:
    """Pairs of laws with a facet in common, and whether they have one that was clipped."""
    complex_, label, sides = work.complex, work.label, 2 * work.p.dim
    for contact in work.contacts:
        a, b = int(label[contact.piece]), int(label[contact.other])
        if a != b:
            on = complex_.on[contact.piece]
            clipped = complex_.box is not None and on[on[:, contact.row], -sides:].any()
            yield a, b, bool(clipped)


def _reduced(faces: Sequence[Face], loose: frozenset[int]) -> list[Face]:
    """The faces without loose laws; where less than four are left around one they meet of themselves."""
    found = []
    for face in faces:
        kept = [k for k in face.laws if k not in loose]
        if len(kept) < len(face.laws):
            ring = [k for j, k in enumerate(kept) if k != kept[j - 1] or len(kept) == 1]
            if len(set(ring)) < 4:
                continue
            face = replace(face, laws=tuple(ring))
        found.append(face)
    return found


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


def loosened(work: Work, conflicts: Sequence[frozenset[int]], kept: frozenset[int]) -> frozenset[int]:
    """Laws, one of every conflict: those in most conflicts first, then those of fewest corners; if possible not `kept`.

    >>> from types import SimpleNamespace
    >>> work = SimpleNamespace(corners_of_laws={0: 3, 1: 4, 2: 5, 3: 6})
    >>> sorted(loosened(work, [frozenset({0, 2}), frozenset({1, 2}), frozenset({0, 3})], frozenset()))
    [0, 1]
    """
    left, found = list(conflicts), set()
    while left:
        count = Counter(law for conflict in left for law in conflict)
        best = max(count, key=lambda law: (law not in kept, count[law], -work.corners_of_laws[law], law))
        found.add(best)
        left = [conflict for conflict in left if best not in conflict]
    return frozenset(found)
