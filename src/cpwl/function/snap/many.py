"""Functions of many inputs that bend in few directions: the same function of few inputs, and the way back.

Rows that all pieces have bound the domain: without them the same laws are a function on a larger set. All other rows,
and all differences of laws, are combinations of as many directions as those rows have rank, up to noise. With `M` these
directions, the identity on as many coordinates, a row ``c`` there is ``c M`` for all inputs, and a law ``g`` is
``g M + r`` with one `r` for all laws. A consistent function stays one under this exact linear map, and on a convex
domain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL, Moved, Snapped
from cpwl.function.make import polyhedra_from_integers
from cpwl.function.parts import Laws, Parts
from cpwl.function.snap.cells import whole_row
from cpwl.function.snap.short import simple
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["Few", "in_few_directions", "moved_laws"]

_MEANT = 1e-3  # of the tolerance: what is nearer to a simple number is meant to be it
_FLAT = 1e3  # times the tolerance: directions that rows have no more of are noise


@dataclass(frozen=True, slots=True, eq=False)
class Few:
    """Float data on few coordinates."""

    data: CPWL
    whole: CPWL
    coordinates: NDArray[np.int64]
    directions: NDArray[np.object_]
    """One row of rationals for each coordinate that was kept."""
    rest: NDArray[np.object_]
    """What the slopes of all laws have beside, output by output."""
    shared: NDArray[np.object_]
    """Integer rows ``(a, b)`` of all pieces."""
    off: Moved
    """How far rows and laws are from what they are on few coordinates."""

    def lift(self, found: Snapped) -> Snapped:
        """An exact function near `data` as one near the whole data."""
        if found.function is None:
            return found
        moved, p = found.moved + self.off, self.whole
        far = max(moved.value, moved.facet)
        if far > p.tol:
            reason = f"something would move by {far:.2g}, relative, which is more than {p.tol:g}."
            return replace(found, function=None, moved=Moved(), reason=reason)
        q = found.function
        rows = [[*row[:-1].dot(self.directions), Fraction(int(row[-1]))] for row in q.polyhedra.integer()]
        whole = primitive(np.array([whole_row(row) for row in rows], dtype=object).reshape(-1, p.dim + 1))
        pieces = [np.concatenate([own, self.shared]) for own in np.split(whole, q.polyhedra.start[1:-1])]
        laws = fraction_array(q.laws.integer())
        slopes = (laws[..., :-2] / laws[..., -1:]).dot(self.directions) + self.rest
        exact = Laws.from_lists(slopes, laws[..., -2] / laws[..., -1], len(slopes), p.dim)
        function = CPWL.from_parts(Parts(polyhedra_from_integers(pieces, p.dim), exact, p.domain, 0.0))
        where = None if found.where is None else self._point(found.where)
        return replace(found, function=function, moved=moved, where=where, places=tuple(map(self._point, found.places)))

    def _point(self, x: tuple[float, ...]) -> tuple[float, ...]:
        full = np.zeros(self.whole.dim)
        full[self.coordinates] = x
        return tuple(full.tolist())


def in_few_directions(p: CPWL) -> Few | None:
    """Float data on as many coordinates as it bends in, and what was left out; None if these are all."""
    shared, own = _shared_rows(p)
    A, lengths = p.polyhedra.A[own], np.linalg.norm(p.polyhedra.A[own], axis=1)
    if not len(A):
        return None
    normals = A / lengths[:, None]
    sizes = np.linalg.svd(normals, compute_uv=False)
    rank = int((sizes > _FLAT * p.tol * sizes[0]).sum())
    if rank == p.dim:
        return None
    kept = np.sort(scipy.linalg.qr(normals, mode="r", pivoting=True)[1][:rank]).astype(np.int64)
    near = np.linalg.lstsq(normals[:, kept], normals, rcond=None)[0]
    directions = _meant(near, _MEANT * p.tol)
    directions[:, kept] = fraction_array(np.eye(rank, dtype=np.int64))
    view = directions.astype(np.float64)
    beside = p.laws.gradient - p.laws.gradient[..., kept] @ view
    largest = np.abs(p.laws.gradient).max(axis=(0, 2))
    rest = _meant(beside.mean(axis=0), _MEANT * p.tol * float(largest.max(initial=0.0)))
    rest[:, kept] = Fraction(0)
    rows = p.polyhedra.A[own][:, kept], p.polyhedra.b[own]
    start = np.searchsorted(own, p.polyhedra.start).astype(np.int64)
    data = Parts(
        Polyhedra(rows[0].copy(), rows[1].copy(), start),
        Laws(p.laws.gradient[..., kept].copy(), p.laws.offset),
        None,
        p.tol,
    )
    turned = float(np.abs(normals - normals[:, kept] @ view).sum(axis=1).max())
    off = moved_laws(p, np.abs(beside - rest.astype(np.float64))) + Moved(facet=turned)
    return Few(CPWL.from_parts(data), p, kept, directions, rest, shared, off)


def _meant(numbers: NDArray[np.float64], little: float) -> NDArray[np.object_]:
    found = np.empty(numbers.shape, dtype=object)
    found[:] = [[simple(x, little) for x in row] for row in numbers.tolist()]
    return found


def _shared_rows(p: CPWL) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Integer rows that bound the domain, asserted or rows of all pieces, and the numbers of rows that are others."""
    count, polyhedra = len(p.polyhedra.b), p.polyhedra
    if p.domain is not None:
        A, b = np.concatenate([polyhedra.A, p.domain.A]), np.concatenate([polyhedra.b, p.domain.b])
        planes = hyperplanes(Polyhedra(A, b, np.append(polyhedra.start, len(b)).astype(np.int64)), p.tol)
        key = 2 * planes.number + (planes.side > 0)
        return p.domain.integer(), np.flatnonzero(~np.isin(key[:count], key[count:]))
    planes = hyperplanes(polyhedra, p.tol)
    key = 2 * planes.number + (planes.side > 0)
    pairs = np.unique(np.stack([key, polyhedra.owner]), axis=1)
    keys, many = np.unique(pairs[0], return_counts=True)
    common = keys[many == p.num_pieces]
    first = [int(np.argmax(key == k)) for k in common]
    return polyhedra.integer()[first].reshape(-1, p.dim + 1), np.flatnonzero(~np.isin(key, common))


def moved_laws(p: CPWL, slopes: NDArray[np.float64], offsets: NDArray[np.float64] | float = 0.0) -> Moved:
    """How far laws are moved by changes ``[piece, output, ..]`` of slopes and offsets, as far out as corners are."""
    reach = p.polyhedra.unit(p.tol)
    largest = np.abs(p.laws.gradient).max(axis=(0, 2))
    scale = np.abs(p.laws.gradient).sum(axis=2).max(axis=0) * reach + np.abs(p.laws.offset).max(axis=0)
    coefficient = slopes.max(axis=(0, 2)) / np.where(largest > 0, largest, 1.0)
    value = (slopes.sum(axis=2) * reach + offsets).max(axis=0) / np.where(scale > 0, scale, 1.0)
    return Moved(float(coefficient.max()), float(value.max()))
