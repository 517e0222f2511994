"""Points of a table moved by a little, so that facets which are nearly on one hyperplane are on one exactly.

Rounded points of a straight edge are not on one line: a network bends once for each part of it, and the domain is not
convex. Facets that go on straight across a ridge are one *flat*; a flat takes a hyperplane with short numbers; each
point is moved onto its flats. More flats than dimensions meet in a point by an incidence theorem only, which no choice
of numbers brings about: then those of the boundary count first, and the largest of the others. A lattice has them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cpwl.exact.integers import determinant, integer_rows
from cpwl.exact.rational import fraction_array
from cpwl.function.snap.affine_lattice import on_affine_lattice
from cpwl.function.snap.onto import independent, onto
from cpwl.function.snap.short import short

__all__ = ["aligned", "flats_of", "straightened"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

_SNUG = 16.0
_SKEW = 1e-3  # the least singular value of normals that count as independent


@dataclass(frozen=True, slots=True)
class Flat:
    """Facets on one hyperplane ``normal . x = height``."""

    corners: _Ints
    normal: _Floats
    height: float
    size: int
    outer: bool


def aligned(points: _Floats, simplices: _Ints, little: _Floats, *, inside: bool = False) -> NDArray[np.object_] | None:
    """The points on an affine lattice, or else with flats made flat, as rationals.

    No point moves by more than its `little`, and none that is in no simplex. With `inside` the boundary alone is no
    reason to move any. None if nothing is to be done, or nothing can be.
    """
    if points.shape[1] == 1:
        return None
    used, number = np.unique(simplices, return_inverse=True)
    some, cells, small = points[used], number.reshape(simplices.shape), little[used]
    flats = flats_of(some, cells, small)
    if not flats or (inside and all(flat.outer for flat in flats)):
        return None
    moved = on_affine_lattice(some, cells, small)
    if moved is None:
        moved = straightened(some, flats, small)
    if moved is None:
        return None
    whole = fraction_array(points)
    whole[used] = moved
    return whole


def straightened(points: _Floats, flats: list[Flat], little: _Floats) -> NDArray[np.object_] | None:
    """The points with flats made flat; None if one would move by more than its `little`.

    >>> points = np.array([[0.0, 0.0], [1 / 3, 0.1], [1.0, 0.3], [0.0, 1.0]])
    >>> little = np.full(4, 1e-15)
    >>> exact = straightened(points, flats_of(points, np.array([[0, 1, 3], [1, 2, 3]]), little), little)
    >>> (exact[1] - exact[0])[0] * (exact[2] - exact[0])[1] == (exact[1] - exact[0])[1] * (exact[2] - exact[0])[0]
    True
    """
    exact = fraction_array(points)
    moved = exact.copy()
    meeting: dict[int, list[int]] = {}
    for k, flat in enumerate(flats):
        for v in flat.corners.tolist():
            meeting.setdefault(v, []).append(k)
    rows = [_row(flat, points, float(little.min())) for flat in flats]
    for v, those in meeting.items():
        normals = np.array([flats[k].normal for k in those])
        chosen = independent(normals, _SKEW)
        moved[v] = onto(exact[v], normals[chosen], [rows[those[k]] for k in chosen])
    gap = np.abs((moved - exact).astype(np.float64)).max(axis=1)
    return moved if bool((gap <= little).all()) else None


def flats_of(points: _Floats, simplices: _Ints, little: _Floats) -> list[Flat]:
    """The flats of at least two facets, the most important first; none if all of them are flat as they are."""
    n = points.shape[1]
    sides = np.sort(np.concatenate([np.delete(simplices, k, axis=1) for k in range(n + 1)]), axis=1)
    facets, count = np.unique(sides, axis=0, return_counts=True)
    one, two = _straight_pairs(points, facets, little)
    if not len(one):
        return []
    joined = coo_array((np.ones(len(one)), (one, two)), shape=(len(facets),) * 2)
    label = connected_components(joined, directed=False)[1]
    order = np.argsort(label, kind="stable")
    ends = np.flatnonzero(np.diff(label[order], prepend=-1, append=-1))
    found, crooked = [], False
    for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        if high - low < 2:
            continue
        those = order[low:high]
        corners = np.unique(facets[those])
        centre = points[corners].mean(axis=0)
        normal = np.linalg.svd(points[corners] - centre, full_matrices=False)[2][-1]
        gap = np.abs((points[corners] - centre) @ normal)
        if (gap <= little[corners]).all():
            crooked = crooked or not _is_flat(points, facets[those[0]], corners)
            found.append(Flat(corners, normal, float(normal @ centre), high - low, bool((count[those] == 1).any())))
    return sorted(found, key=lambda flat: (not flat.outer, -flat.size)) if crooked else []


def _is_flat(points: _Floats, facet: _Ints, corners: _Ints) -> bool:
    """Whether the corners lie on the hyperplane of a facet exactly, as the rationals that they are."""
    rest = np.setdiff1d(corners, facet)
    those = np.column_stack([np.tile(facet, (len(rest), 1)), rest])
    rows = integer_rows(np.column_stack([points[those.ravel()], np.ones(those.size)]))
    return not determinant(rows.reshape(*those.shape, -1)).any()


def _straight_pairs(points: _Floats, facets: _Ints, little: _Floats) -> tuple[_Ints, _Ints]:
    """Facets with a common ridge that are on one hyperplane but for a little: their points span no more."""
    size, n = len(facets), points.shape[1]
    ridges = np.concatenate([np.delete(facets, k, axis=1) for k in range(n)])
    apex, owner = facets.T.ravel(), np.tile(np.arange(size), n)
    order = np.lexsort(ridges.T)
    ridges, apex, owner = ridges[order], apex[order], owner[order]
    found: list[tuple[_Ints, _Ints]] = []
    for step in range(1, len(ridges)):
        same = np.flatnonzero((ridges[:-step] == ridges[step:]).all(axis=1))
        if not len(same):
            break
        around = np.column_stack([ridges[same], apex[same], apex[same + step]])
        spread = points[around[:, 1:]] - points[around[:, :1]]
        # No simplex that is thinner than this has more volume; few have as little.
        most = little[around].max(axis=1) * (4 * np.abs(spread).sum(axis=(1, 2))) ** (n - 1)
        may = np.flatnonzero(np.abs(_determinant(spread)) <= most)
        same, around = same[may], around[may]
        centred = points[around] - points[around].mean(axis=1, keepdims=True)
        thin = np.linalg.svd(centred, compute_uv=False)[:, -1] <= little[around].max(axis=1)
        found.append((owner[same[thin]], owner[same[thin] + step]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])


def _determinant(matrices: _Floats) -> _Floats:
    """Determinants, in the plane without a factorization each."""
    if matrices.shape[1] == 2:
        return np.asarray(matrices[:, 0, 0] * matrices[:, 1, 1] - matrices[:, 0, 1] * matrices[:, 1, 0])
    return np.asarray(np.linalg.det(matrices))


def _row(flat: Flat, points: _Floats, little: float) -> list[Fraction]:
    """The hyperplane of a flat, ``(a, b)``, with short numbers; its largest coefficient is 1."""
    lead = int(np.argmax(np.abs(flat.normal)))
    normal, n = flat.normal / flat.normal[lead], points.shape[1]
    fine = little / (8 * n)
    reach = max(float(np.ptp(points[flat.corners], axis=0).max()), 1e-300)
    numbers = [short(x, fine / reach, _SNUG) for x in normal.tolist()]
    # What rounding the slope does far from the origin, the height makes up for.
    rounded = np.array(numbers, dtype=np.float64)
    height = float((points[flat.corners] @ rounded).mean())
    return [*numbers, short(height, fine, _SNUG)]
