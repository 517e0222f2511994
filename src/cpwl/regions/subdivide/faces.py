"""All faces of a complex and what bounds what, cut by one hyperplane at a time.

Faces of dimension `k` are numbered from 0, and each lists the faces of dimension ``k - 1`` that bound it. Seen
homogeneously the complex is a fan in ``R^(r + 1)``, and its section has vertices for points and for directions alike,
so nothing is unbounded. A function that is affine on each cell and whose signs at the vertices are known cuts a face
iff it is positive at one vertex and negative at another. This holds in every position, generic or not (Edelsbrunner,
"Algorithms in Combinatorial Geometry", chapter 7; for networks and edges alone Berzins, "Polyhedral complex extraction
from ReLU networks using edge subdivision", 2023).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.geometry.ranges import ranges

__all__ = ["Cut", "Lattice", "orthants"]

_POSITIVE, _NEGATIVE, _BOTH = 1, 2, 3


@dataclass(slots=True, eq=False)
class Cut:
    """What a hyperplane did: the faces that it cut, by dimension, and which signs each face had."""

    cut: list[NDArray[np.int64]]
    flags: list[NDArray[np.uint8]]


class Lattice:
    """Faces by dimension ``0..r``; face `i` of dimension `k` is bounded by ``sub[k][start[k][i]:start[k][i + 1]]``.

    `forms[k]` has references to ``r - k`` independent forms that vanish on the face, and `base[k]` a cell of the last
    level of forms that holds it.
    """

    def __init__(
        self,
        start: list[NDArray[np.int64]],
        sub: list[NDArray[np.int64]],
        forms: list[NDArray[np.int64]],
    ) -> None:
        self.start, self.sub, self.forms = start, sub, forms
        self.base = [np.zeros(len(each), dtype=np.int64) for each in forms]

    @property
    def dim(self) -> int:
        return len(self.forms) - 1

    @property
    def counts(self) -> list[int]:
        """The number of faces of each dimension."""
        return [len(each) for each in self.forms]

    def flags(self, signs: NDArray[np.int8]) -> list[NDArray[np.uint8]]:
        """For each face whether it has positive (1) or negative (2) vertices, or both (3)."""
        flags = [np.where(signs > 0, _POSITIVE, np.where(signs < 0, _NEGATIVE, 0)).astype(np.uint8)]
        for k in range(1, self.dim + 1):
            flags.append(np.bitwise_or.reduceat(flags[-1][self.sub[k]], self.start[k][:-1]))
        return flags

    def cut(self, signs: NDArray[np.int8], reference: NDArray[np.int64]) -> Cut:
        """Cuts all faces that have vertices of both signs; `reference` has the form on each cell of the last level.

        The positive half of a face keeps its number; negative halves come after all old faces, in their order; and then
        the faces in which faces of the next dimension are cut.
        """
        flags = self.flags(signs)
        cut = [np.flatnonzero(each == _BOTH) for each in flags]
        counts, sizes = self.counts, [len(each) for each in cut]
        if not sizes[-1]:
            return Cut(cut, flags)
        half = [np.full(count, -1, dtype=np.int64) for count in counts]  # the new number of the negative half
        zero = [np.full(count, -1, dtype=np.int64) for count in counts]  # the number of the section
        for k in range(self.dim + 1):
            half[k][cut[k]] = counts[k] + np.arange(sizes[k])
            if k:
                zero[k][cut[k]] = counts[k - 1] + sizes[k - 1] + np.arange(sizes[k])
        sections = [self._section(k, cut, flags, zero) for k in range(1, self.dim + 1)]
        for k in range(self.dim, 0, -1):
            blocks = self._halves(k, cut[k], flags, half, zero)
            if k < self.dim:
                blocks.append(sections[k])  # of faces of dimension k + 1
            lengths = np.concatenate([each[0] for each in blocks])
            self.start[k] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            self.sub[k] = np.concatenate([each[1] for each in blocks])
        new = [
            np.column_stack([self.forms[k][cut[k]], reference[self.base[k][cut[k]]]]) for k in range(1, self.dim + 1)
        ]
        bases = [self.base[k][cut[k]] for k in range(self.dim + 1)]
        for k in range(self.dim + 1):
            parts = [self.forms[k], self.forms[k][cut[k]]]
            base = [self.base[k], bases[k]]
            if k < self.dim:
                parts.append(new[k])
                base.append(bases[k + 1])
            self.forms[k], self.base[k] = np.concatenate(parts), np.concatenate(base)
        return Cut(cut, flags)

    def _halves(
        self,
        k: int,
        cut: NDArray[np.int64],
        flags: list[NDArray[np.uint8]],
        half: list[NDArray[np.int64]],
        zero: list[NDArray[np.int64]],
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """What bounds the positive halves (and all faces that are not cut), and what bounds the negative ones."""
        start, sub = self.start[k], self.sub[k]
        owner_cut = flags[k] == _BOTH
        lengths = np.diff(start)
        entries, place = ranges(start[cut], lengths[cut])
        below = sub[entries]
        sign = flags[k - 1][below]
        drop = entries[sign == _NEGATIVE]
        keep = np.ones(len(sub), dtype=bool)
        keep[drop] = False
        # One more place at the end of each face that is cut, for its section.
        kept = np.add.reduceat(keep, start[:-1], dtype=np.int64) if len(drop) else lengths
        positive = kept + owner_cut
        ends = np.cumsum(positive)
        merged = np.empty(ends[-1], dtype=np.int64)
        free = np.ones(len(merged), dtype=bool)
        free[ends[cut] - 1] = False
        merged[free] = sub[keep]
        merged[ends[cut] - 1] = zero[k][cut]
        away = sign >= _NEGATIVE
        count = np.bincount(place[away], minlength=len(cut)) + 1
        ends = np.cumsum(count)
        other = np.empty(count.sum(), dtype=np.int64)
        free = np.ones(len(other), dtype=bool)
        free[ends - 1] = False
        other[free] = np.where(sign == _BOTH, half[k - 1][below], below)[away]
        other[ends - 1] = zero[k][cut]
        return [(positive, merged), (count, other)]

    def _section(
        self, k: int, cut: list[NDArray[np.int64]], flags: list[NDArray[np.uint8]], zero: list[NDArray[np.int64]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What bounds the sections of faces of dimension `k`.

        The sections of the faces below that are cut, and the faces of dimension ``k - 2`` in which the hyperplane
        touches: each of those is in one face below on the positive side.
        """
        if k == 1:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        which = cut[k]
        entries, place = ranges(self.start[k][which], np.diff(self.start[k])[which])
        below = self.sub[k][entries]
        sign = flags[k - 1][below]
        through = sign == _BOTH
        above = np.flatnonzero(sign == _POSITIVE)
        low = below[above]
        entries, index = ranges(self.start[k - 1][low], np.diff(self.start[k - 1])[low])
        bottom = self.sub[k - 1][entries]
        touching = flags[k - 2][bottom] == 0
        owner = np.concatenate([place[through], place[above[index[touching]]]])
        bounds = np.concatenate([zero[k - 1][below[through]], bottom[touching]])
        order = np.argsort(owner, kind="stable")
        return np.bincount(owner, minlength=len(which)), bounds[order]

    def keep(self, masks: list[NDArray[np.bool_]]) -> None:
        """Drops all faces outside the masks, which must hold whatever bounds a face that they hold."""
        for k in range(self.dim, 0, -1):
            number = np.cumsum(masks[k - 1]) - 1
            which = np.flatnonzero(masks[k])
            lengths = np.diff(self.start[k])[which]
            entries, _ = ranges(self.start[k][which], lengths)
            self.sub[k] = number[self.sub[k][entries]]
            self.start[k] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.forms = [each[mask] for each, mask in zip(self.forms, masks, strict=True)]
        self.base = [each[mask] for each, mask in zip(self.base, masks, strict=True)]

    def rebase(self) -> None:
        """Each cell becomes a cell of its own level of forms; every face takes one that holds it."""
        self.base[-1] = np.arange(len(self.forms[-1]))
        for k in range(self.dim, 0, -1):
            base = np.empty(len(self.forms[k - 1]), dtype=np.int64)
            base[self.sub[k]] = np.repeat(self.base[k], np.diff(self.start[k]))
            self.base[k - 1] = base

    def cells_of_facets(self) -> NDArray[np.int64]:
        """How many cells each face of dimension ``r - 1`` bounds: two inside, one on the boundary."""
        return np.bincount(self.sub[-1], minlength=len(self.forms[-2]))

    def vertices_of_cells(self) -> csr_array[Any, tuple[int, int]]:
        """Which vertices each cell has, as a sparse matrix."""
        counts = self.counts
        result = csr_array(np.eye(1)) if self.dim == 0 else self._matrix(self.dim, counts)
        for k in range(self.dim - 1, 0, -1):
            result = csr_array(result @ self._matrix(k, counts))
            result.data[:] = 1
        return result

    def _matrix(self, k: int, counts: list[int]) -> csr_array[Any, tuple[int, int]]:
        ones = np.ones(len(self.sub[k]), dtype=np.int32)
        return csr_array((ones, self.sub[k], self.start[k]), shape=(counts[k], counts[k - 1]))

    def euler(self) -> int:
        """The alternating number of faces: 1 for a ball, which a convex domain is."""
        return sum((-1) ** k * count for k, count in enumerate(self.counts))


def orthants(references: NDArray[np.int64], infinity: int) -> Lattice:
    """The complex of `r` independent hyperplanes: ``2^r`` simplicial cones.

    Vertex 0 is where they all meet; vertices ``1 + 2 i`` and ``2 + 2 i`` are the directions along which only form `i`
    changes, upwards and downwards. `references` are those of the forms, `infinity` that of ``x_0``.
    """
    r = len(references)
    faces: list[list[tuple[int, ...]]] = [[] for _ in range(r + 1)]
    for sides in itertools.product((0, 1, 2), repeat=r):
        rays = tuple(2 * i + side for i, side in enumerate(sides) if side)
        faces[len(rays)].append((0, *rays))
        if rays:
            faces[len(rays) - 1].append(rays)
    start, sub, forms = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], []
    for k in range(r + 1):
        faces[k].sort()
        refs = np.array([_vanishing(face, references, infinity) for face in faces[k]], dtype=np.int64)
        forms.append(refs.reshape(len(faces[k]), r - k))
        if k:
            number = {face: i for i, face in enumerate(faces[k - 1])}
            below = [number[face[:i] + face[i + 1 :]] for face in faces[k] for i in range(k + 1)]
            sub.append(np.array(below, dtype=np.int64))
            start.append(np.arange(0, len(below) + 1, k + 1, dtype=np.int64))
    return Lattice(start, sub, forms)


def _vanishing(face: tuple[int, ...], references: NDArray[np.int64], infinity: int) -> list[int]:
    moved = {(v - 1) // 2 for v in face if v}
    held = [int(reference) for i, reference in enumerate(references) if i not in moved]
    return held if 0 in face else [*held, infinity]
