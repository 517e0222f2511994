"""The whole complex of a network: all faces and what bounds what, cut by one neuron at a time.

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

from cpwl.errors import InputError, InternalError, LimitError
from cpwl.exact.integers import adjugate, primitive, sign
from cpwl.geometry.polyhedra import Polyhedron, picked, ranges
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.forms import EPS, NeuronForms, first_rows

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
            entries, self.start[k] = picked(self.start[k], np.flatnonzero(masks[k]))
            self.sub[k] = number[self.sub[k][entries]]
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


# Where hyperplanes meet: the line on which `r` linear forms in ``r + 1`` variables vanish, with an error bound.


_TINY = 1e-290


def unit_rows(rows: NDArray[np.float64], error: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows and their error bounds times a power of two that brings the largest entry near 1: nothing is rounded."""
    with np.errstate(invalid="ignore"):
        exponent = np.frexp(np.abs(rows).max(axis=-1, keepdims=True))[1]
    return np.ldexp(rows, -exponent), np.ldexp(error, -exponent)


def cross_product(
    rows: NDArray[np.float64], error: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The signed maximal minors of many matrices ``(N, r, r + 1)`` known up to `error`, and bounds on their errors.

    Laplace expansion row by row over sets of columns, with a running error analysis.

    >>> cross_product(np.array([[[1.0, 0.0, -2.0], [0.0, 1.0, -3.0]]]), np.zeros((1, 2, 3)))[0]
    array([[2., 3., 1.]])
    """
    count, r, columns = rows.shape
    value: dict[tuple[int, ...], NDArray[np.float64]] = {(): np.ones(count)}
    bound: dict[tuple[int, ...], NDArray[np.float64]] = {(): np.zeros(count)}
    with np.errstate(all="ignore"):
        for k in range(r):
            a, e = rows[:, k], error[:, k]
            next_value: dict[tuple[int, ...], NDArray[np.float64]] = {}
            next_bound: dict[tuple[int, ...], NDArray[np.float64]] = {}
            for chosen in itertools.combinations(range(columns), k + 1):
                total, size, unsure = np.zeros(count), np.zeros(count), np.zeros(count)
                for place, c in enumerate(chosen):
                    rest = chosen[:place] + chosen[place + 1 :]
                    minor, off = value[rest], bound[rest]
                    term = a[:, c] * minor
                    # Expansion along the last row.
                    total = total + term if (k + place) % 2 == 0 else total - term
                    size += np.abs(term)
                    unsure += np.abs(a[:, c]) * off + e[:, c] * (np.abs(minor) + off)
                next_value[chosen] = total
                next_bound[chosen] = unsure * (1 + 16 * EPS) + (k + 3) * EPS * size + _TINY * (size > 0)
            value, bound = next_value, next_bound
    whole = tuple(range(columns))
    # The form with the minors as coefficients, of the sign that makes the last one the determinant itself.
    minors = [value[whole[:c] + whole[c + 1 :]] * (-1) ** (r - c) for c in whole]
    bounds = [bound[whole[:c] + whole[c + 1 :]] for c in whole]
    return np.stack(minors, axis=1), np.stack(bounds, axis=1)


# The vertices of a complex, points and directions alike: floats with error bounds, integers where those cannot tell.
#
# A vertex is held by `r` forms, so its floats come straight from them and no error piles up. Exactly it is a positive
# combination of the two ends of the edge that it cut, ``|z(u)| w + |z(w)| u``, worked out only where it is asked for.


_ROUGH = 1e-10  # relative error beyond which a vertex is computed exactly
_BLOCK = 2**16
_MOST_SIDES = 2**22  # numbers held at once


class Vertices:
    """Homogeneous coordinates ``(x, x_0)`` on the chosen columns, with componentwise error bounds.

    Vertices that a complex no longer has stay in the arrays: others may have been made from them. Vertex `i` of the
    complex is in place ``place[i]``.
    """

    def __init__(self, forms: NeuronForms, columns: NDArray[np.int64], start: NDArray[np.int64]) -> None:
        self.forms, self.columns = forms, columns
        self._exact = _corners_of_orthants(forms.exact_rows(start)[:, columns])
        self._view, self._error = _rounded(self._exact)
        count = len(self._exact)
        self.place = np.arange(count)
        self._known = np.ones(count, dtype=bool)
        self._parent = np.full((count, 2), -1, dtype=np.int64)
        self._form = np.full(count, -1, dtype=np.int64)
        self._age = np.zeros(count, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.place)

    @property
    def view(self) -> NDArray[np.float64]:
        """The coordinates of all vertices of the complex."""
        return self._view if len(self.place) == len(self._view) else self._view[self.place]

    @property
    def error(self) -> NDArray[np.float64]:
        """What may be wrong with `view`."""
        return self._error if len(self.place) == len(self._error) else self._error[self.place]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drops vertices from the complex."""
        self.place = self.place[mask]

    def signs(self, level: int, neuron: int, base: NDArray[np.int64]) -> NDArray[np.int8]:
        """The sign of a neuron at each vertex, decided; `base` is a cell of that level which holds the vertex."""
        forms = self.forms.levels[level]
        rows, error = forms.rows[neuron][:, self.columns], forms.error[neuron][:, self.columns]
        with np.errstate(all="ignore"):
            single = len(rows) == 1
            a, e = (rows[0], error[0]) if single else (rows[base], error[base])
            view, off = self.view, self.error
            terms = view * a
            value = terms.sum(axis=1)
            size = np.abs(terms).sum(axis=1)
            unsure = (np.abs(a) * off + e * (np.abs(view) + off)).sum(axis=1)
            bound = unsure * (1 + 32 * EPS) + 2 * (len(self.columns) + 2) * EPS * size + 1e-290
            sure = np.abs(value) > bound
        signs = np.sign(np.where(sure, value, 0.0)).astype(np.int8)
        doubtful = np.flatnonzero(~sure)
        if len(doubtful):
            whole = self.forms.exact_level(level, base[doubtful])[neuron, base[doubtful]][:, self.columns]
            signs[doubtful] = sign((whole * self.exactly(doubtful)).sum(axis=1))
        return signs

    def sides(self, level: int) -> NDArray[np.int8]:
        """For each neuron of a level with one cell the sign that it has at every vertex, or 0 where floats cannot tell.

        A form that is positive at all vertices and directions is positive between them, however they are cut later.
        """
        forms = self.forms.levels[level]
        width = len(forms.rows)
        if forms.cells > 1 or not 0 < width * len(self) <= _MOST_SIDES:
            return np.zeros(width, dtype=np.int8)
        with np.errstate(all="ignore"):
            a, e = forms.rows[:, 0, self.columns], forms.error[:, 0, self.columns]
            view, off = self.view, self.error
            value = a @ view.T
            unsure = np.abs(a) @ off.T + e @ (np.abs(view) + off).T
            bound = unsure * (1 + 32 * EPS) + 4 * (len(self.columns) + 2) * EPS * (np.abs(a) @ np.abs(view).T) + 1e-290
            over, under = (value > bound).all(axis=1), (value < -bound).all(axis=1)
        return np.where(over, 1, np.where(under, -1, 0)).astype(np.int8)

    def exactly(self, which: NDArray[np.int64]) -> NDArray[np.object_]:
        """Integer coordinates of some vertices, up to a positive factor."""
        return self._exactly(self.place[which])

    def _exactly(self, places: NDArray[np.int64]) -> NDArray[np.object_]:
        for group in self._ancestors(places):
            u, w = self._parent[group].T
            rows = self.forms.exact_rows(self._form[group])[:, self.columns]
            at_u = np.abs((rows * self._exact[u]).sum(axis=1))
            at_w = np.abs((rows * self._exact[w]).sum(axis=1))
            self._exact[group] = primitive(at_u[:, None] * self._exact[w] + at_w[:, None] * self._exact[u])
            self._known[group] = True
        return self._exact[places]

    def _ancestors(self, places: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The vertices that must be known first, and these, the oldest first."""
        waiting = np.unique(places[~self._known[places]])
        found = []
        while len(waiting):
            found.append(waiting)
            above = self._parent[waiting].ravel()
            waiting = np.unique(above[~self._known[above]])
        if not found:
            return []
        every = np.unique(np.concatenate(found))
        return [every[self._age[every] == age] for age in np.unique(self._age[every])]

    def add(self, edges: NDArray[np.int64], references: NDArray[np.int64]) -> None:
        """New vertices, on edges ``(u, w)`` and where the forms vanish, of which the last one cut the edge."""
        count, size = len(edges), len(self.columns)
        edges = self.place[edges]
        view, error = np.empty((count, size)), np.empty((count, size))
        poor = np.zeros(count, dtype=bool)
        for first in range(0, count, _BLOCK):
            some = slice(first, first + _BLOCK)
            view[some], error[some], poor[some] = self._meet(edges[some], references[some])
        old = len(self._view)
        self.place = np.concatenate([self.place, old + np.arange(count)])
        self._parent = np.concatenate([self._parent, edges])
        self._form = np.concatenate([self._form, references[:, -1]])
        self._age = np.concatenate([self._age, 1 + self._age[edges].max(axis=1)])
        self._known = np.concatenate([self._known, np.zeros(count, dtype=bool)])
        self._exact = np.concatenate([self._exact, np.empty((count, size), dtype=object)])
        self._view, self._error = np.concatenate([self._view, view]), np.concatenate([self._error, error])
        bad = old + np.flatnonzero(poor)
        if len(bad):
            self._view[bad], self._error[bad] = _rounded(self._exactly(bad))

    def _meet(
        self, edges: NDArray[np.int64], references: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Floats, error bounds, and where they are too rough or their sign is in doubt."""
        at = np.ix_(np.arange(len(self.forms.table)), self.columns)
        table, off = (self.forms.table, self.forms.table_error)
        if len(self.columns) != table.shape[1]:
            table, off = table[at], off[at]
        rows, error = unit_rows(table[references], off[references])
        view, error = cross_product(rows, error)
        with np.errstate(all="ignore"):
            # The vertex is in the cone of u and w: it has the sign of x_0 there or, at infinity, points their way.
            u, w = self._view[edges[:, 0]], self._view[edges[:, 1]]
            finite = (u[:, -1] > 0) | (w[:, -1] > 0)
            # Of equal length: then all of the cone is on the positive side of their sum.
            between = u / np.linalg.norm(u, axis=1, keepdims=True) + w / np.linalg.norm(w, axis=1, keepdims=True)
            along = (view * between).sum(axis=1)
            unsure = (error * np.abs(between)).sum(axis=1) + 1e-9 * np.abs(view).max(axis=1)
            side = np.where(finite, view[:, -1], along)
            clear = np.abs(side) > np.where(finite, error[:, -1], unsure)
            view = view * np.sign(side)[:, None]
            view, error = unit_rows(view, error)
            poor = ~(clear & (error.max(axis=1) <= _ROUGH))
        return view, error, poor


def _rounded(exact: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Integer rows as floats of size 1, and what rounding may have done."""
    largest = np.abs(exact).max(axis=1)
    view = np.asarray(exact / largest[:, None], dtype=np.float64)
    return view, EPS * np.abs(view)


def _corners_of_orthants(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """Where independent forms all vanish, and the directions in which one of them changes, up and down."""
    r = len(rows)
    point = np.array([[0] * r + [1]], dtype=object)
    if r == 0:
        return point
    det, adj = adjugate(rows[None, :, :-1])
    d, inverse = det[0], adj[0] * sign(det)[0]
    point[0, :-1] = -(inverse * rows[None, :, -1]).sum(axis=1)
    point[0, -1] = abs(d)
    rays = np.concatenate([inverse.T, np.zeros((r, 1), dtype=np.int64).astype(object)], axis=1)
    both = np.stack([rays, -rays], axis=1).reshape(2 * r, r + 1)
    return primitive(np.concatenate([point, both]))


# The complex of a network, from its domain and then neuron by neuron: cells, their signs, and all faces.


_MOST_DIRECTIONS = 10  # at the start there are 2 * 3^r faces
_MOST_BOUNDS = 50_000_000  # pairs of a face and what bounds it: about 2 GB


class TooMany(LimitError):
    """There are more faces than it is wise to keep."""


@dataclass(slots=True, eq=False)
class Subdivision:
    """A complex with its forms; ``signs[i, j]`` is the sign of neuron `j` on cell `i`, 0 if it vanishes on it."""

    forms: NeuronForms
    lattice: Lattice
    vertices: Vertices
    columns: NDArray[np.int64]
    signs: NDArray[np.int8]
    base: NDArray[np.int64]
    """The cell of the last level that each cell lies in."""
    whole: bool
    """False if cells were left out."""

    @property
    def cells(self) -> int:
        return len(self.signs)

    @property
    def complete(self) -> bool:
        """No cell was left out, facets of one cell are in the boundary of the domain, and faces add up as in a ball."""
        if not self.whole or self.lattice.dim == 0:
            return self.whole
        alone = self.lattice.forms[-2][self.lattice.cells_of_facets() == 1, 0]
        return bool((self.forms.decode(alone)[0] == 0).all()) and self.lattice.euler() == 1


def subdivide(
    network: Network,
    domain: Polyhedron | None,
    *,
    most: int | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Subdivision:
    """The complex of all cells of the network on the domain, or of `most` of them; `TooMany` for too many faces.

    With `strict` more than `most` cells are too many, too: as soon as there are, nothing is worked out any more.

    Every sign is decided, in integers where error bounds on floats cannot tell, so the complex is proved.
    """
    return _Subdivider(network, domain, most, strict, progress).run()


class _Subdivider:
    def __init__(
        self,
        network: Network,
        domain: Polyhedron | None,
        most: int | None,
        strict: bool,
        progress: Progress | None,
    ) -> None:
        self.network, self.most, self.strict, self.progress = network, most, strict, progress
        self.forms = NeuronForms(network, domain)
        self.whole = True
        self.done, self.total = 0, sum(weight.shape[0] for weight, _ in network.layers[:-1])
        self.walls = self.forms.levels[0].rows.shape[0] - 1
        self.chosen, columns = first_rows(network, self.forms)
        self.columns = np.array([*columns, network.inputs], dtype=np.int64)
        if len(columns) > _MOST_DIRECTIONS:
            raise TooMany(
                f"the network bends in {len(columns)} directions; all faces of its complex can be kept for at most "
                f"{_MOST_DIRECTIONS}",
                directions=len(columns),
            )
        # Rows of the domain come first, then the first layer.
        first = (1 + i if i < self.walls else int(self.forms.reference(1, i - self.walls, 0)) for i in self.chosen)
        references = np.array(list(first), dtype=np.int64)
        self.lattice = orthants(references, 0)
        self.vertices = Vertices(self.forms, self.columns, references)
        self.signs = np.zeros((self.lattice.counts[-1], self.total), dtype=np.int8)

    def run(self) -> Subdivision:
        """The domain first, then layer by layer."""
        self._start()
        base = np.zeros(self.lattice.counts[-1], dtype=np.int64)
        for l, (weight, _) in enumerate(self.network.layers[:-1], start=1):
            if l > 1:
                self.forms.advance(base, self.signs[:, self.done - weight.shape[1] : self.done] > 0)
                self.lattice.rebase()
            self._layer(l, weight.shape[0], {row - self.walls for row in self.chosen} if l == 1 else set())
            base = self.lattice.base[-1]
        return Subdivision(self.forms, self.lattice, self.vertices, self.columns, self.signs, base, self.whole)

    def _start(self) -> None:
        """Signs on the orthants of the chosen rows, and what is outside the domain is dropped."""
        known = {}
        for i, row in enumerate(self.chosen):
            signs = np.zeros(len(self.vertices), dtype=np.int8)
            signs[1 + 2 * i], signs[2 + 2 * i] = 1, -1
            known[row] = signs
            if row >= self.walls:
                self.signs[:, row - self.walls] = _as_signs(self.lattice.flags(signs)[-1])
        kept = np.ones(len(self.vertices), dtype=bool)
        for row in range(self.walls):
            if row in known:
                kept[kept] = self._restrict(known[row][kept])
        for row in range(self.walls):
            if row not in known:
                signs = self.vertices.signs(0, row + 1, self.lattice.base[0])
                self._cut(signs, np.array([1 + row]))
                self._restrict(self.vertices.signs(0, row + 1, self.lattice.base[0]))

    def _layer(self, level: int, width: int, skip: set[int]) -> None:
        cells = np.arange(self.forms.levels[level].cells)
        sides = self.vertices.sides(level)
        known = np.flatnonzero(sides)
        self.signs[:, self.done + known] = sides[known]
        for j in range(width):
            if j not in skip and sides[j] == 0:
                signs = self.vertices.signs(level, j, self.lattice.base[0])
                flag = self._cut(signs, self.forms.reference(level, j, cells))
                self.signs[:, self.done + j] = _as_signs(flag)
            if self.most is not None and len(self.signs) > self.most:
                if self.strict:
                    done, total = self.done + j + 1, self.total
                    raise TooMany(f"there are more than {self.most} cells", neurons=done, of=total)
                self._truncate(self.most)
            if sum(map(len, self.lattice.sub)) > _MOST_BOUNDS:
                raise TooMany(
                    "the complex of this network has more faces than can be kept; extract walks from cell to cell",
                    neurons=self.done + j + 1,
                    of=self.total,
                )
            if self.progress is not None:
                self.progress(self.done + j + 1, self.total, f"{len(self.signs):,} regions")
        self.done += width

    def _cut(self, signs: NDArray[np.int8], reference: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Cuts the lattice, adds the vertices, and returns for each cell the sign as a flag."""
        lattice = self.lattice
        old = len(self.vertices)
        ends = lattice.sub[1] if lattice.dim else None
        cut = lattice.cut(signs, reference)
        which = cut.cut[-1]
        if not len(which):
            return cut.flags[-1]
        assert ends is not None
        edges = ends.reshape(-1, 2)[cut.cut[1]]
        self.vertices.add(edges, lattice.forms[0][old:])
        self.signs = np.concatenate([self.signs, self.signs[which]])
        flags = cut.flags[-1]
        flags[which] = 1
        return np.concatenate([flags, np.full(len(which), 2, dtype=np.uint8)])

    def _truncate(self, most: int) -> None:
        """Only the first cells stay; they are cut further, and what comes out at the end is a part of all cells."""
        self.whole = False
        cells = np.arange(len(self.signs)) < most
        self._keep([np.ones(count, dtype=bool) for count in self.lattice.counts[:-1]] + [cells])

    def _restrict(self, signs: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Drops what is outside a row of the domain."""
        flags = self.lattice.flags(signs)
        masks = [flag != 2 for flag in flags]
        masks[-1] = flags[-1] == 1
        if not masks[-1].any():
            raise InputError("the domain has no interior: no point satisfies all of its rows strictly")
        return self._keep(masks)

    def _keep(self, masks: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Drops cells, and all faces that bound no cell then; returns which vertices are left."""
        for k in range(self.lattice.dim, 0, -1):
            used = np.zeros(len(masks[k - 1]), dtype=bool)
            used[self.lattice.sub[k][np.repeat(masks[k], np.diff(self.lattice.start[k]))]] = True
            if (used & ~masks[k - 1]).any():
                raise InternalError("a face on the wrong side of a row bounds one on the right side")
            masks[k - 1] = used
        self.signs = self.signs[masks[-1]]
        self.vertices.keep(masks[0])
        self.lattice.keep(masks)
        return masks[0]


def _as_signs(flag: NDArray[np.uint8]) -> NDArray[np.int8]:
    return np.where(flag == 1, 1, np.where(flag == 2, -1, 0)).astype(np.int8)
