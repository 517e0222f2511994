"""The float complex of pieces: welded vertices, which of them lie on which rows, and where laws meet.

First the complex itself; then neighbours across facets and the regions of one law; then the faces of codimension 2 with
the laws around each, in order, where all conditions on laws are.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from cpwl.exact.integers import linked
from cpwl.geometry.polyhedra import Polyhedra

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

_MOST = 200_000  # sets of rows of one piece that are intersected
_WORK = 5_000_000  # and of all pieces
_BLOCK = 4e6  # floats in one temporary array
_ROUNDING = 2e-16
_USUAL = 1e-9  # the tolerance of float data, if nothing else is said
_ROUGH = 100.0  # times the usual noise from which on a row is one that is off


class Unfit(Exception):
    """The data does not lend itself to this way, in words."""


class Gap(Unfit):
    """A facet has nothing beyond it: the domain is not convex, or rows are noisier than they seem."""


@dataclass(eq=False)
class FloatComplex:
    """Pieces with rows of length 1, and their welded corners."""

    A: _Floats
    b: _Floats
    start: _Ints
    tol: float
    box: _Floats | None
    """Where unbounded pieces are clipped: ``x <= box[:n]`` and ``-x <= box[n:]``, the last rows of each piece then."""
    reach: float
    """The largest coordinate of a corner."""
    noise: float
    """How far apart the rows of the two sides of a facet are."""
    vertices: _Floats
    widths: _Floats
    """For each vertex: what is nearer than that may be the same point."""
    typical: float
    """The size of coordinates below which noise does not become smaller."""
    own: list[_Ints]
    """The corners of each piece."""
    corners: _Floats
    """All corners before they were welded."""

    @property
    def dim(self) -> int:
        return int(self.A.shape[1])

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def width(self) -> float:
        """The largest of all widths."""
        return float(self.widths.max())

    def size(self, points: _Floats) -> _Floats:
        """How large coordinates count against which noise is measured, point by point."""
        return np.asarray(np.maximum(np.abs(points).max(axis=-1), self.typical))

    def width_of(self, points: _Floats, condition: _Floats) -> _Floats:
        """What is nearer than that to points in which rows meet, with such conditions, may be the same point."""
        return np.minimum(_width(self.size(points), condition, self.noise, self.tol), self.width)

    def rows(self, i: int) -> tuple[_Floats, _Floats]:
        """The rows of a piece."""
        part = slice(self.start[i], self.start[i + 1])
        return self.A[part], self.b[part]

    @cached_property
    def flat(self) -> NDArray[np.bool_]:
        """Which pieces have too few corners for an interior: thinner than the noise."""
        return np.array([len(own) <= self.dim for own in self.own])

    @cached_property
    def solid(self) -> list[int]:
        return [int(i) for i in np.flatnonzero(~self.flat)]

    @cached_property
    def centres(self) -> _Floats:
        """The mean of the corners of each piece."""
        nothing = np.full(self.dim, np.nan)
        return np.array([self.vertices[own].mean(axis=0) if len(own) else nothing for own in self.own])

    @cached_property
    def cells(self) -> list[_Ints]:
        """For each piece its corners and those of others that lie on it (T-junctions)."""
        tree, found = scipy.spatial.cKDTree(self.vertices), [np.zeros(0, dtype=np.int64)] * len(self)
        solid = np.array(self.solid, dtype=np.int64)
        far = [np.linalg.norm(self.vertices[self.own[i]] - self.centres[i], axis=1).max() for i in solid]
        near: list[list[int]] = list(tree.query_ball_point(self.centres[solid], np.array(far) + 2 * self.width))
        for i, some in zip(solid.tolist(), near, strict=True):
            A, b = self.rows(i)
            candidates = np.array(sorted(some), dtype=np.int64)
            found[i] = candidates[
                (self.vertices[candidates] @ A.T - b <= 3 * self.widths[candidates][:, None]).all(axis=1)
            ]
        return found

    @cached_property
    def on(self) -> list[NDArray[np.bool_]]:
        """``on[i][k, r]``: whether vertex ``cells[i][k]`` is on row `r` of piece `i`."""
        found = []
        for i, cell in enumerate(self.cells):
            A, b = self.rows(i)
            found.append(np.abs(self.vertices[cell] @ A.T - b) <= 3 * self.widths[cell][:, None])
        return found

    @cached_property
    def holders(self) -> list[set[int]]:
        """The pieces that each vertex is a point of."""
        found: list[set[int]] = [set() for _ in self.vertices]
        for i in self.solid:
            for v in self.cells[i].tolist():
                found[v].add(i)
        return found

    @cached_property
    def boundary(self) -> _Ints:
        """Rows that all vertices satisfy and at least as many as dimensions lie on, one for each hyperplane."""
        view = np.column_stack([self.A, self.b / self.reach])
        first = np.unique(np.round(view / (1e3 * self.tol)), axis=0, return_index=True)[1]
        kept: list[int] = []
        for r in first.tolist():
            gap = self.vertices @ self.A[r] - self.b[r]
            supports = (gap <= 3 * self.widths).all() and (gap >= -3 * self.widths).sum() >= self.dim
            if supports and not any(np.abs(view[r] - view[k]).max() <= 1e4 * self.tol for k in kept):
                kept.append(r)
        return np.array(kept, dtype=np.int64)

    @cached_property
    def on_boundary(self) -> NDArray[np.bool_]:
        """``[v, k]``: whether a vertex is on a row of the boundary, within a little more than the width."""
        gap = self.vertices @ self.A[self.boundary].T - self.b[self.boundary]
        return np.asarray(np.abs(gap) <= 20 * self.widths[:, None])


def float_complex(polyhedra: Polyhedra, tol: float, least: float = 0.0) -> FloatComplex:
    """The complex of pieces given by float rows with noise of at least that; raises `Unfit` where it cannot be made."""
    length = np.linalg.norm(polyhedra.A, axis=1)
    A, b, start = polyhedra.A / length[:, None], polyhedra.b / length, polyhedra.start
    sets = [math.comb(k, polyhedra.dim) for k in np.diff(start).tolist()]
    if max(sets) > _MOST or sum(sets) > _WORK:
        raise Unfit(f"pieces have {sum(sets)} sets of rows that may meet in a corner, one of them {max(sets)}")
    noise = _noises(A, b, float(np.abs(b).max(initial=0.0)) or 1.0, tol, least)[0]
    unit, sizes = polyhedra.unit(tol), np.abs(polyhedra.extents().points).max(axis=1)
    usual = float(np.median(sizes)) if len(sizes) else 0.0
    unit = usual if usual > 1e-6 * unit else unit  # single corners are far away, and others in the origin
    fine = min(tol, max(_USUAL, 1e3 * noise))  # a wider tolerance is for single rows that are off
    found, box = _corners(A, b, start, unit, fine, noise), None
    reach = float(np.abs(found.points).max(initial=0.0)) or 1.0
    typical = float(np.median(np.abs(found.points).max(axis=1))) if len(found.points) else 0.0
    if _unbounded(A, b, start, 10 * tol * reach):
        box = (4 * reach + unit) * (1 + 0.1 * np.cos(1.0 + np.arange(2 * polyhedra.dim)))  # in general position
        A, b, start = _clipped(A, b, start, box)
        found = _corners(A, b, start, unit, fine, noise)
        reach = float(np.abs(found.points).max(initial=0.0)) or 1.0
    if len(found.points) == 0:
        raise Unfit("no piece has a corner")
    noise, rough = _noises(A, b, reach, tol, least)
    typical = typical if typical > 1e-6 * reach else reach  # corners in the origin have no size
    size = np.maximum(np.abs(found.points).max(axis=1), typical)
    number, leaders, apart = _welded(found, A, b, size, noise, rough, tol)
    widths = np.maximum(_width(size, found.condition, noise, tol), 2 * apart)[leaders]
    pairs = np.unique(np.stack([found.owner, number], axis=1), axis=0)
    own = np.split(pairs[:, 1], np.searchsorted(pairs[:, 0], np.arange(1, len(start) - 1)))
    return FloatComplex(A, b, start, fine, box, reach, noise, found.points[leaders], widths, typical, own, found.points)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Corners in floats: of which piece, how ill-conditioned, and the rows that meet there."""

    points: _Floats
    owner: _Ints
    condition: _Floats
    rows: _Ints


def _corners(A: _Floats, b: _Floats, start: _Ints, unit: float, tol: float, noise: float) -> _Found:
    """All corners of all pieces: sets of as many rows as dimensions that meet in a point of the piece.

    `unit` is the usual size of the coordinates.
    """
    n, length = A.shape[1], np.diff(start)
    parts = [_Found(np.zeros((0, n)), np.zeros(0, int), np.zeros(0), np.zeros((0, n), int))]
    for count in np.unique(length[length >= n]).tolist():
        sets = np.array(list(itertools.combinations(range(count), n)))
        pieces = np.flatnonzero(length == count)
        step = max(1, int(_BLOCK // (len(sets) * (count + n * n))))
        for k in range(0, len(pieces), step):
            who = pieces[k : k + step]
            row = start[who][:, None] + np.arange(count)
            left, right = A[row], b[row]
            matrix = left[:, sets]
            regular = np.abs(np.linalg.det(matrix)) > max(1e-13, 30 * noise)
            matrix = np.where(regular[..., None, None], matrix, np.eye(n))
            x = np.linalg.solve(matrix, right[:, sets][..., None])[..., 0]
            gap = np.einsum("pcn,prn->pcr", x, left) - right[:, None, :]
            slack = 10 * tol * (unit + np.abs(x).max(axis=-1))
            i, j = np.nonzero(regular & (gap <= slack[..., None]).all(axis=2))
            condition = np.abs(np.linalg.inv(matrix[i, j])).sum(axis=2).max(axis=1)
            parts.append(_Found(np.asarray(x[i, j], dtype=np.float64), who[i], condition, row[i[:, None], sets[j]]))
    return _Found(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.owner for part in parts]),
        np.concatenate([part.condition for part in parts]),
        np.concatenate([part.rows for part in parts]),
    )


def _unbounded(A: _Floats, b: _Floats, start: _Ints, little: float) -> bool:
    """Whether some piece has a ray: a direction held by one row less than dimensions that no row forbids.

    Pieces between two opposite rows that are a `little` apart do not count: they are thinner than the noise.
    """
    n, length = A.shape[1], np.diff(start)
    if (length <= n).any():
        return True
    for count in np.unique(length).tolist():
        sets = np.array(list(itertools.combinations(range(count), n - 1)))
        pieces = np.flatnonzero(length == count)
        step = max(1, int(_BLOCK // (len(sets) * (count + n * n))))
        for k in range(0, len(pieces), step):
            which = start[pieces[k : k + step]][:, None] + np.arange(count)
            rows, right = A[which], b[which]
            minors = [(-1) ** j * np.linalg.det(np.delete(rows[:, sets], j, axis=-1)) for j in range(n)]
            ray = np.stack(minors, axis=-1)
            size = np.linalg.norm(ray, axis=-1)
            ray = ray / np.where(size > 1e-9, size, 1.0)[..., None]
            rise = np.einsum("pcn,prn->pcr", ray, rows)
            allowed = (rise <= 1e-9).all(axis=2) | (rise >= -1e-9).all(axis=2)
            for i in np.flatnonzero((allowed & (size > 1e-9)).any(axis=1)).tolist():
                turned = np.abs(rows[i][:, None] + rows[i]).max(axis=2) + np.abs(right[i][:, None] + right[i])
                if turned.min() > little:
                    return True
    return False


def _clipped(A: _Floats, b: _Floats, start: _Ints, box: _Floats) -> tuple[_Floats, _Floats, _Ints]:
    """Every piece with the rows of a box after its own."""
    n, count = A.shape[1], len(start) - 1
    end = np.repeat(start[1:], 2 * n)
    sides = np.tile(np.concatenate([np.eye(n), -np.eye(n)]), (count, 1))
    return (
        np.insert(A, end, sides, axis=0),
        np.insert(b, end, np.tile(box, count)),
        start + 2 * n * np.arange(count + 1),
    )


def _noises(A: _Floats, b: _Floats, reach: float, tol: float, least: float) -> tuple[float, _Floats]:
    """How noisy rows are: a high quantile of their distances to the nearest one of the other sense, of those within
    `tol`; and for each row that or its own distance."""
    view = np.column_stack([A, b / reach])
    distance = np.asarray(scipy.spatial.cKDTree(view).query(-view, k=1, distance_upper_bound=10 * tol)[0])
    near = np.isfinite(distance)
    noise = float(max(np.quantile(distance[near], 0.98) if near.any() else 0.0, _ROUNDING, least))
    return noise, np.maximum(np.where(near, distance, 0.0), noise)


def _width(size: _Floats, condition: _Floats, noise: float | _Floats, tol: float) -> _Floats:
    """How far points of some size, in which rows with such conditions meet, may be from where they are meant to be."""
    return np.asarray(np.minimum(1e3 * tol * size, np.maximum(1e-13, 20 * noise * condition) * size))


def _welded(
    found: _Found, A: _Floats, b: _Floats, size: _Floats, usual: float, rough: _Floats, tol: float
) -> tuple[_Ints, _Ints, _Floats]:
    """Numbers for corners, equal for those that are one; the corner that stands for each; how far it is from `rough`
    rows, noisier than usual.

    Well-conditioned corners of quiet rows lead; each other one joins the nearest leader that lies on all its rows.
    """
    noise = rough[found.rows].max(axis=1, initial=usual)
    noisy = np.where(noise > _ROUGH * usual, noise, usual)
    radius, slack = _width(size, found.condition, noisy, tol), 50 * noisy * size
    order, tree = np.argsort(found.condition * noisy, kind="stable"), scipy.spatial.cKDTree(found.points)
    lead, apart = np.full(len(order), -1, dtype=np.int64), np.zeros(len(order))
    near = tree.query_ball_point(found.points[order], np.minimum(1e3 * tol * size, 2 * radius)[order])
    for k, some in zip(order.tolist(), near, strict=True):
        leaders = np.array([j for j in some if lead[j] == j], dtype=np.int64)
        lead[k] = k
        if len(leaders):
            rows = found.rows[k]
            gap = np.abs(found.points[leaders] @ A[rows].T - b[rows])
            fits = (gap <= slack[k] + radius[leaders][:, None]).all(axis=1)
            away = np.abs(found.points[leaders] - found.points[k]).max(axis=1)
            if fits.any():
                best = int(np.argmin(np.where(fits, away, np.inf)))
                lead[k] = leaders[best]
                if noisy[k] > usual:
                    apart[lead[k]] = max(apart[lead[k]], gap[best].max())
    leaders, number = np.unique(lead, return_inverse=True)
    return number.ravel(), leaders, apart


# Which laws meet where in a float complex: neighbours across facets, regions of one law.


@dataclass(frozen=True, slots=True)
class Contact:
    """Piece `piece` touches piece `other` in a part of its facet on its row number `row`."""

    piece: int
    row: int
    other: int


def spans(points: _Floats, widths: _Floats, times: float = 30.0) -> bool:
    """Whether points span a hyperplane, even if each is moved by so many times its width."""
    n = points.shape[1]
    if len(points) < n:
        return False
    little = times * float(widths.max())
    if n == 2:
        return bool(np.ptp(points, axis=0).max() > little)
    return bool((np.linalg.svd(points[1:] - points[0], compute_uv=False) > little).sum() == n - 1)


def contacts_of(complex_: FloatComplex) -> list[Contact]:
    """All contacts; raises `Gap` at a facet with nothing beyond it that is not on the boundary."""
    found: list[Contact] = []
    n = complex_.dim
    for i in complex_.solid:
        cell, on = complex_.cells[i], complex_.on[i]
        seen: set[tuple[int, ...]] = set()
        for r in np.flatnonzero(on.sum(axis=0) >= n).tolist():
            here = cell[on[:, r]]
            if tuple(here) in seen or not spans(complex_.vertices[here], complex_.widths[here]):
                continue
            seen.add(tuple(here))
            others = _beyond(complex_, i, int(complex_.start[i]) + r, here)
            found += [Contact(i, r, j) for j in others]
            if not others and not complex_.on_boundary[here].all(axis=0).any():
                raise Gap(f"a facet of piece {i} has nothing beyond it and is not on the boundary of a convex domain")
    return found


def _beyond(complex_: FloatComplex, i: int, row: int, here: _Ints) -> list[int]:
    """The pieces on the other side of a facet with these vertices."""
    counts = Counter(j for v in here.tolist() for j in complex_.holders[v] if j != i)
    found = []
    for j, many in counts.items():
        if many < complex_.dim:
            continue
        common = [v for v in here.tolist() if j in complex_.holders[v]]
        own = complex_.own[j]
        over = complex_.vertices[own] @ complex_.A[row] - complex_.b[row] > 3 * complex_.widths[own]
        if over.any() and spans(complex_.vertices[common], complex_.widths[common]):
            found.append(j)
    return found


def regions_of(complex_: FloatComplex, label: _Ints, contacts: list[Contact]) -> list[list[int]]:
    """The pieces with interior, in groups that follow one law and hang together."""
    pairs = [(c.piece, c.other) for c in contacts if label[c.piece] == label[c.other]]
    number = linked(np.array(pairs, dtype=np.int64).reshape(-1, 2), len(complex_))
    groups: dict[int, list[int]] = {}
    for i in complex_.solid:
        groups.setdefault(int(number[i]), []).append(i)
    return list(groups.values())


# Faces of codimension 2 of a float complex, and the laws around each, in order.
#
# There all conditions on laws are: three laws meet of themselves, as ``(f1 - f2) + (f2 - f3) + (f3 - f1) = 0``; four or
# more must have hyperplanes of differences that share the face.


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """A face of codimension 2: a point inside, its vertices, the laws around it, and whether they go all around."""

    point: _Floats
    vertices: tuple[int, ...]
    laws: tuple[int, ...]
    """In cyclic order, neighbours different; on the boundary of the domain from one side of it to the other."""
    closed: bool


def faces_of(complex_: FloatComplex, label: _Ints) -> list[Face]:
    """The faces of codimension 2 at which there is more than one law."""
    n, found = complex_.dim, {}
    sets = ((v,) for v in range(len(complex_.vertices))) if n == 2 else _vertex_sets(complex_)
    for vertices in sets:
        if vertices in found:
            continue
        holders = sorted(set.intersection(*(complex_.holders[v] for v in vertices)))
        if len({int(label[i]) for i in holders}) > 1:
            found[vertices] = _around(complex_, label, vertices, holders)
    return list(found.values())


def _vertex_sets(complex_: FloatComplex) -> list[tuple[int, ...]]:
    """The vertices of the faces in which two facets of a piece meet; in space one segment of an edge after another."""
    n = complex_.dim
    found: dict[tuple[int, ...], None] = {}
    for i in complex_.solid:  # rows of pieces differ in number, and so do the vertices on them
        cell, on = complex_.cells[i], complex_.on[i]
        common = on.T.astype(np.int64) @ on.astype(np.int64)
        rows = [r for r in range(on.shape[1]) if common[r, r] >= n]
        for r, s in itertools.combinations(rows, 2):
            if common[r, s] < n - 1:
                continue
            here = cell[on[:, r] & on[:, s]]
            points = complex_.vertices[here]
            if (n > 3 or len(here) > 2) and _rank(points, 1e2 * complex_.widths[here].max()) != n - 2:
                continue
            if n == 3:
                along = np.linalg.svd(points - points.mean(axis=0))[2][0]
                line = here[np.argsort(points @ along)].tolist()
                found.update({(min(u, v), max(u, v)): None for u, v in itertools.pairwise(line)})
            else:
                found[tuple(sorted(here.tolist()))] = None
    return list(found)


def _rank(points: _Floats, little: float) -> int:
    """The dimension of the affine hull of some points, but for a little."""
    return int((np.linalg.svd(points - points.mean(axis=0), compute_uv=False) > little).sum())


def _around(complex_: FloatComplex, label: _Ints, vertices: tuple[int, ...], holders: list[int]) -> Face:
    """The laws of the pieces around a face, by the angle of their centres across it."""
    points = complex_.vertices[list(vertices)]
    middle = points.mean(axis=0)
    across = np.linalg.svd(points - middle)[2][complex_.dim - 2 :] if len(points) > 1 else np.eye(complex_.dim)
    angle = np.arctan2(*((complex_.centres[holders] - middle) @ across.T).T[::-1])
    order = np.argsort(angle)
    ring = label[np.array(holders)[order]].tolist()
    gap = complex_.A[complex_.boundary] @ middle - complex_.b[complex_.boundary]
    closed = not (np.abs(gap) <= 3 * complex_.widths[list(vertices)].max()).any()
    if not closed:  # start after the largest gap
        turn = np.diff(np.append(angle[order], angle[order[0]] + 2 * np.pi))
        first = int(np.argmax(turn)) + 1
        ring = ring[first:] + ring[:first]
    laws = [law for k, law in enumerate(ring) if law != ring[k - 1] or (k == 0 and not closed)]
    return Face(middle, vertices, tuple(laws) or (ring[0],), closed)


def parallel_laws(complex_: FloatComplex, label: _Ints, laws: _Floats) -> list[tuple[int, ...]]:
    """Triples of laws with parallel facets on one unbounded region: their gradients lie on a line."""
    if complex_.box is None:
        return []
    n = complex_.dim
    touch: dict[int, set[int]] = {}
    found: set[tuple[int, ...]] = set()
    far = np.flatnonzero((np.abs(complex_.vertices) >= 0.8 * np.abs(complex_.box).min()).any(axis=1))
    for v in far.tolist():
        here = {int(label[i]) for i in complex_.holders[v]}
        for law in here:
            touch.setdefault(law, set()).update(here - {law})
    for law, others in touch.items():
        near = sorted(others)
        steps = laws[near, :n] - laws[law, :n]
        length = np.linalg.norm(steps, axis=1)
        unit = steps / np.where(length > 0, length, 1.0)[:, None]
        for i, j in itertools.combinations(range(len(near)), 2):
            bent = length[i] > 0 and length[j] > 0
            apart = np.linalg.norm(unit[i] - unit[j] * np.sign(unit[i] @ unit[j]))
            if bent and apart <= 1e3 * max(complex_.tol, complex_.noise):
                found.add(tuple(sorted((law, near[i], near[j]))))
    return sorted(found)


# Where the laws of a float complex meet.


@dataclass(frozen=True, slots=True, eq=False)
class Meetings:
    """Where laws meet: faces of codimension 2, pairs with a facet in common, and parallel facets far out."""

    faces: Sequence[Face]
    pairs: Sequence[tuple[int, int]]
    parallel: Callable[[NDArray[np.float64]], list[tuple[int, ...]]]
    """For laws of one output, the triples with parallel facets on one unbounded region."""
    unbounded: bool
