"""Where polyhedra are and how large: corners and directions in floats, for scales and never for proofs.

A row that does not touch its polyhedron, such as a far ``x <= 1e30``, has no corner and so no say. Subsets of rows are
tried, all polyhedra with equally many rows at once; polyhedra with too many subsets ask linear programs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import SolverError
from cpwl.geometry.linear_program import LinearProgram

Floats = NDArray[np.float64]
_MOST = 3000  # subsets of rows to try for one polyhedron
_BLOCK = 1 << 18  # subsets at a time
_FLAT = 1e-6  # rows that are dependent up to this meet nowhere in particular
_SLACK = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Extents:
    """Corners ``points[k]`` of polyhedra ``owner[k]``, and unit directions ``rays[k]`` of ``ray_owner[k]``.

    A polyhedron that contains lines has the corners nearest to the origin, and the lines as two rays each.
    """

    owner: NDArray[np.int64]
    points: Floats
    ray_owner: NDArray[np.int64]
    rays: Floats

    def reach(self) -> float:
        """The largest coordinate of a corner; 0 if there is none."""
        return float(np.abs(self.points).max(initial=0.0))

    def unit(self, count: int, tol: float) -> float:
        """The size of the coordinates of `count` polyhedra: how far away from the origin a corner may be.

        Hyperplanes all through the origin have no size, nor have those that rounding has moved away from it: then 1. So
        it is if all polyhedra are unbounded and no corner is farther away than noise of a few hundred `tol`.
        """
        reach = self.reach()
        if not 1e-13 < reach < np.inf:
            return 1.0
        unbounded = reach <= 1e3 * tol and len(np.unique(self.ray_owner)) == count
        return 1.0 if unbounded else reach


def extents(A: Floats, b: Floats, start: NDArray[np.int64], *, rays: bool = True) -> Extents:
    """The corners, and unless they are not wanted the rays, of polyhedra given by stacked rows.

    >>> strip = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]]), np.array([2.0, 0.0, 0.0, 1e30])
    >>> found = extents(*strip, np.array([0, 4]))
    >>> found.points.tolist(), found.rays[0].tolist()
    ([[2.0, 0.0], [0.0, 0.0]], [0.0, 1.0])
    """
    n, sizes = A.shape[1], np.diff(start)
    length = np.linalg.norm(A, axis=1)
    length[length == 0] = 1.0
    with np.errstate(all="ignore"):
        A, b = A / length[:, None], b / length
    points, directions = [_none(n)], [_none(n)]
    for size in np.unique(sizes).tolist():
        pieces = np.flatnonzero(sizes == size)
        rows = start[pieces][:, None] + np.arange(size)
        for some, rank, basis in _by_rank(A[rows]):
            own, left, right = pieces[some], A[rows[some]] @ basis, b[rows[some]]
            if rays and rank < n:
                directions.append(_lines(own, basis))
            if rank == 0:
                points.append((own, np.zeros((len(own), n))))
            elif math.comb(size, rank) <= _MOST:
                points.append(_lifted(_corners(left, right), own, basis))
                directions += [_lifted(_rays(left), own, basis)] if rays else []
            else:
                points.append(_by_programs(own, A[rows[some]], right, rays))
    (owner, corners), (ray_owner, found) = (
        (np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))
        for parts in (points, directions)
    )
    return Extents(owner, corners, ray_owner, found)


_Found = tuple[NDArray[np.int64], Floats]


def _none(n: int) -> _Found:
    return np.zeros(0, dtype=np.int64), np.zeros((0, n))


def _by_rank(A: Floats) -> Iterator[tuple[NDArray[np.int64], int, Floats]]:
    """Polyhedra of one rank, and orthonormal bases ``(k, n, r)`` of what their rows span."""
    count, size, n = A.shape
    if size >= n and n <= 3:  # mostly the rank is full: then no basis is needed
        gram = np.einsum("kmi,kmj->kij", A, A)
        full = np.abs(np.linalg.det(gram)) > _FLAT
        if full.all():
            yield np.arange(count), n, np.broadcast_to(np.eye(n), (count, n, n))
            return
    _, values, vectors = np.linalg.svd(A) if size else (None, np.zeros((count, 0)), np.zeros((count, n, n)))
    ranks = (values > _FLAT).sum(axis=1)
    for rank in np.unique(ranks).tolist():
        some = np.flatnonzero(ranks == rank)
        basis = np.eye(n)[None].repeat(len(some), 0) if rank == n else np.swapaxes(vectors[some, :rank], 1, 2)
        yield some, rank, basis


def _lines(own: NDArray[np.int64], basis: Floats) -> _Found:
    """Both senses of directions that span what is orthogonal to a basis."""
    count, n, rank = basis.shape
    rest = np.linalg.svd(basis)[0][:, :, rank:] if rank else np.eye(n)[None].repeat(count, 0)
    both = np.concatenate([rest, -rest], axis=2)
    return np.repeat(own, both.shape[2]), np.swapaxes(both, 1, 2).reshape(-1, n)


def _lifted(found: _Found, own: NDArray[np.int64], basis: Floats) -> _Found:
    which, places = found
    return own[which], np.einsum("kir,kr->ki", basis[which], places)


def _subsets(count: int, size: int, take: int) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    every = list(itertools.combinations(range(size), take))
    chosen = np.array(every, dtype=np.int64).reshape(len(every), take)
    step = max(1, _BLOCK // max(1, len(chosen)))
    for first in range(0, count, step):
        yield slice(first, first + step), chosen


def _corners(A: Floats, b: Floats) -> _Found:
    """Solutions of as many rows as there are dimensions that satisfy the others, up to rounding."""
    count, size, rank = A.shape
    who, what = [np.zeros(0, dtype=np.int64)], [np.zeros((0, rank))]
    # The middle of the distances of rows, so that neither a far row nor rounding at the origin decides what is small.
    near = np.sort(np.where(b == 0, np.inf, np.abs(b)), axis=1)
    known = np.isfinite(near).sum(axis=1)
    usual = np.where(known > 0, near[np.arange(count), np.maximum(known - 1, 0) // 2], 0.0)
    for some, chosen in _subsets(count, size, rank):
        left, right = A[some][:, chosen], b[some][:, chosen]
        k, s = np.nonzero(np.abs(np.linalg.det(left)) > _FLAT)
        with np.errstate(all="ignore"):
            x = np.linalg.solve(left[k, s], right[k, s][..., None])[..., 0]
            over = np.einsum("kmr,kr->km", A[some][k], x) - b[some][k]
            slack = _SLACK * (np.abs(x).max(axis=1) + usual[some][k])
            inside = (over <= slack[:, None]).all(axis=1) & np.isfinite(x).all(axis=1)
        who.append(k[inside] + some.start)
        what.append(x[inside])
    return np.concatenate(who), np.concatenate(what)


def _rays(A: Floats) -> _Found:
    """Directions in which as many rows as there are dimensions but one stay equal and the others fall."""
    count, size, rank = A.shape
    who, what = [np.zeros(0, dtype=np.int64)], [np.zeros((0, rank))]
    for some, chosen in _subsets(count, size, rank - 1):
        left = A[some][:, chosen]
        one = np.ones((*left.shape[:2], 1, 1))
        _, values, vectors = np.linalg.svd(left) if rank > 1 else (None, one[..., 0], one)
        k, s = np.nonzero(values[..., -1] > _FLAT)
        for d in (vectors[k, s, -1], -vectors[k, s, -1]):
            falls = (np.einsum("kmr,kr->km", A[some][k], d) <= _SLACK).all(axis=1)
            who.append(k[falls] + some.start)
            what.append(d[falls])
    return np.concatenate(who), np.concatenate(what)


def _by_programs(own: NDArray[np.int64], A: Floats, b: Floats, rays: bool) -> _Found:
    """The ends in the directions of the axes, of each polyhedron by programs of its own; nothing where they fail."""
    who, what = [], []
    n = A.shape[2]
    for i, left, right in zip(own.tolist(), A, b, strict=True):
        known = np.sort(np.abs(right[right != 0]))
        lp = LinearProgram(left, right, unit=float(known[(len(known) - 1) // 2]) if len(known) else 1.0)
        for direction in (*np.eye(n), *-np.eye(n)) if rays else np.eye(n):
            try:
                found = lp.propose(direction)
            except SolverError:
                continue
            if found.status == "optimal":
                who.append(i)
                what.append(found.point)
    return np.array(who, dtype=np.int64), np.array(what).reshape(-1, n)
