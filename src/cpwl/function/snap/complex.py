"""Float pieces as a complex: corners in floats, those that are meant to be one welded, and who has which.

Everything here is a proposal, made with tolerances; what is built on it is decided exactly afterwards. Unbounded pieces
are clipped by a large box, only to see who meets whom.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["FloatComplex", "Unfit", "float_complex"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

_MOST = 20_000  # sets of rows of one piece that are intersected
_BLOCK = 4e6  # floats in one temporary array
_ROUNDING = 2e-16
_USUAL = 1e-9  # the tolerance of float data, if nothing else is said
_ROUGH = 100.0  # times the usual noise from which on a row is one that is off


class Unfit(Exception):
    """The data does not lend itself to this way, in words."""


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
        tree, found = cKDTree(self.vertices), [np.zeros(0, dtype=np.int64)] * len(self)
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


def float_complex(polyhedra: Polyhedra, tol: float) -> FloatComplex:
    """The complex of pieces given by float rows; raises `Unfit` where it cannot be made."""
    length = np.linalg.norm(polyhedra.A, axis=1)
    A, b, start = polyhedra.A / length[:, None], polyhedra.b / length, polyhedra.start
    most = max(math.comb(int(k), polyhedra.dim) for k in np.diff(start))
    if most > _MOST:
        raise Unfit(f"a piece has {most} sets of rows that may meet in a corner")
    noise = _noises(A, b, float(np.abs(b).max(initial=0.0)) or 1.0, tol)[0]
    fine = min(tol, max(_USUAL, 1e3 * noise))  # a wider tolerance is for single rows that are off
    found, box = _corners(A, b, start, fine, noise), None
    reach = float(np.abs(found.points).max(initial=0.0)) or 1.0
    typical = float(np.median(np.abs(found.points).max(axis=1))) if len(found.points) else 0.0
    if _unbounded(A, start):
        box = (4 * reach + 1.0) * (1 + 0.1 * np.cos(1.0 + np.arange(2 * polyhedra.dim)))  # in general position
        A, b, start = _clipped(A, b, start, box)
        found = _corners(A, b, start, fine, noise)
        reach = float(np.abs(found.points).max(initial=0.0)) or 1.0
    if len(found.points) == 0:
        raise Unfit("no piece has a corner")
    noise, rough = _noises(A, b, reach, tol)
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


def _corners(A: _Floats, b: _Floats, start: _Ints, tol: float, noise: float) -> _Found:
    """All corners of all pieces: sets of as many rows as dimensions that meet in a point of the piece."""
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
            slack = 10 * tol * (1 + np.abs(x).max(axis=-1))
            i, j = np.nonzero(regular & (gap <= slack[..., None]).all(axis=2))
            condition = np.abs(np.linalg.inv(matrix[i, j])).sum(axis=2).max(axis=1)
            parts.append(_Found(np.asarray(x[i, j], dtype=np.float64), who[i], condition, row[i[:, None], sets[j]]))
    return _Found(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.owner for part in parts]),
        np.concatenate([part.condition for part in parts]),
        np.concatenate([part.rows for part in parts]),
    )


def _unbounded(A: _Floats, start: _Ints) -> bool:
    """Whether some piece has a ray: a direction held by one row less than dimensions that no row forbids."""
    n, length = A.shape[1], np.diff(start)
    if (length <= n).any():
        return True
    for count in np.unique(length).tolist():
        sets = np.array(list(itertools.combinations(range(count), n - 1)))
        pieces = np.flatnonzero(length == count)
        step = max(1, int(_BLOCK // (len(sets) * (count + n * n))))
        for k in range(0, len(pieces), step):
            rows = A[start[pieces[k : k + step]][:, None] + np.arange(count)]
            minors = [(-1) ** j * np.linalg.det(np.delete(rows[:, sets], j, axis=-1)) for j in range(n)]
            ray = np.stack(minors, axis=-1)
            size = np.linalg.norm(ray, axis=-1)
            ray = ray / np.where(size > 1e-9, size, 1.0)[..., None]
            rise = np.einsum("pcn,prn->pcr", ray, rows)
            allowed = (rise <= 1e-9).all(axis=2) | (rise >= -1e-9).all(axis=2)
            if (allowed & (size > 1e-9)).any():
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


def _noises(A: _Floats, b: _Floats, reach: float, tol: float) -> tuple[float, _Floats]:
    """How noisy rows are: a high quantile of their distances to the nearest one of the other sense, of those within
    `tol`; and for each row that or its own distance."""
    view = np.column_stack([A, b / reach])
    distance = np.asarray(cKDTree(view).query(-view, k=1, distance_upper_bound=10 * tol)[0])
    near = np.isfinite(distance)
    noise = float(max(np.quantile(distance[near], 0.98) if near.any() else 0.0, _ROUNDING))
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
    order, tree = np.argsort(found.condition * noisy, kind="stable"), cKDTree(found.points)
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
