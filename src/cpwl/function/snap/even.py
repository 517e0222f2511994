"""Points of tables moved by a little: onto an affine lattice, or hyperplanes that they are nearly on.

The floats of ``linspace(0, 1, 25)`` are not ``i/24``, so that bends of a table on them that should be on one line are
on many. Points within a few units in the last place of an affine lattice, even or turned, are moved to it; where there
is none, facets that are nearly on one hyperplane are. A table that is exactly straight stays as it is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import CpwlWarning
from cpwl.exact.integers import determinant, integer_rows, linked
from cpwl.exact.rational import fraction_array, ratios
from cpwl.function.cpwl import CPWL
from cpwl.function.make import parts_of_simplices
from cpwl.function.parts import Parts
from cpwl.function.snap.short import independent, onto, short

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]
# Points of a table moved by a little, so that facets which are nearly on one hyperplane are on one exactly.
#
# Rounded points of a straight edge are not on one line: a network bends once for each part of it, and the domain is not
# convex. Facets that go on straight across a ridge are one *flat*; a flat takes a hyperplane with short numbers; each
# point is moved onto its flats. More flats than dimensions meet in a point by an incidence theorem only, which no
# choice of numbers brings about: then those of the boundary count first, and the largest of the others. A lattice has
# them all.


# Points that lie on an affine lattice ``x_0 + M k``, `k` integers, but for noise: a grid turned, sheared, or refined.
#
# Then every two bends between lattice points that should be on one hyperplane are, whatever numbers stand for `x_0` and
# `M`: an affine map keeps what is straight.


_SNUG = 16.0  # how many times as far as another a simple number may be
_THIN = 1e-3  # of the product of their lengths: the least volume that the generators may span


def on_affine_lattice(points: _Floats, simplices: _Ints, little: _Floats) -> NDArray[np.object_] | None:
    """The points moved to an affine lattice, none by more than its `little`, as rationals; None if there is none.

    >>> turned = np.array([[0.0, 0.0], [0.8, 0.6], [-0.6, 0.8], [0.2, 1.4 + 1e-15]])
    >>> on_affine_lattice(turned, np.array([[0, 1, 2], [1, 2, 3]]), np.full(4, 1e-14))[3].tolist()
    [Fraction(1, 5), Fraction(7, 5)]
    """
    generators = _shortest(points, simplices, float(little.max()))
    if generators is None:
        return None
    centre = int(np.argmin(np.linalg.norm(points - points.mean(axis=0), axis=1)))
    numbers = _numbers(points - points[centre], generators)
    for _ in range(2):  # generators of one edge each are not known well enough for points far away
        if numbers is None:
            return None
        design = np.column_stack([np.ones(len(numbers)), numbers])
        fitted: _Floats = np.asarray(np.linalg.lstsq(design, points, rcond=None)[0], dtype=np.float64)
        again = _numbers(points - fitted[0], fitted[1:])
        if again is not None and np.array_equal(again, numbers):
            return _placed(points, numbers, fitted, little)
        numbers = again
    return None


def _shortest(points: _Floats, simplices: _Ints, little: float) -> _Floats | None:
    """Independent edges, the shortest there are, as rows."""
    n = points.shape[1]
    one, two = np.triu_indices(n + 1, k=1)
    pairs = np.unique(np.sort(np.stack([simplices[:, one].ravel(), simplices[:, two].ravel()], axis=1)), axis=0)
    edges = points[pairs[:, 1]] - points[pairs[:, 0]]
    length = np.linalg.norm(edges, axis=1)
    if length.min() <= 100 * little:
        return None
    order = np.argsort(length, kind="stable")
    rest = edges[order] / length[order][:, None]
    chosen: list[int] = []
    for _ in range(n):
        independent = np.linalg.norm(rest, axis=1) > _THIN
        if not independent.any():
            return None
        k = int(np.argmax(independent))
        chosen.append(int(order[k]))
        unit = rest[k] / np.linalg.norm(rest[k])
        rest = rest - np.outer(rest @ unit, unit)
    return np.asarray(edges[chosen])


def _numbers(steps: _Floats, generators: _Floats) -> NDArray[np.float64] | None:
    """The integers `k` with ``steps = k @ generators``, if they are integers beyond doubt."""
    numbers = np.linalg.solve(generators.T, steps.T).T
    whole = np.round(numbers)
    if np.abs(numbers - whole).max() > 0.05 or np.abs(whole).max() > 1e6:
        return None
    return whole if len(np.unique(whole, axis=0)) == len(whole) else None


def _placed(
    points: _Floats,
    numbers: _Floats,
    fitted: _Floats,
    little: _Floats,
) -> NDArray[np.object_] | None:
    """The points of the lattice with short numbers for its origin and generators, if all are near."""
    fine = float(little.min()) / (8 * (1 + len(fitted)))
    far = np.maximum(np.abs(numbers).max(axis=0), 1.0)
    origin = [short(x, fine, _SNUG) for x in fitted[0].tolist()]
    rows = [
        [short(x, fine / scale, _SNUG) for x in row]
        for row, scale in zip(fitted[1:].tolist(), far.tolist(), strict=True)
    ]
    exact = np.array([origin], dtype=object) + numbers.astype(np.int64).astype(object) @ np.array(rows, dtype=object)
    gap = np.abs(exact - fraction_array(points))
    return exact if bool((gap.astype(np.float64).max(axis=1) <= little).all()) else None


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
    label = linked(np.stack([one, two], axis=1), len(facets))
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
        may = np.flatnonzero(np.abs(np.linalg.det(spread)) <= most)
        same, around = same[may], around[may]
        centred = points[around] - points[around].mean(axis=1, keepdims=True)
        thin = np.linalg.svd(centred, compute_uv=False)[:, -1] <= little[around].max(axis=1)
        found.append((owner[same[thin]], owner[same[thin] + step]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])


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


_ULPS = 8  # units in the last place of the largest coordinate: what rounding may have moved another one by


def even_table(p: CPWL, tol: float = 0.0) -> tuple[Parts, float] | None:
    """The table on points moved to be even or straight, and how far; None if there is nothing to move.

    No point moves by more than rounding may have done, or straightened ones by more than `tol`, relative.

    >>> import numpy as np
    >>> from cpwl import CPWL
    >>> p = CPWL.from_grid([np.linspace(0, 1, 4)] * 2, np.arange(16).reshape(4, 4))
    >>> parts, far = even_table(p)
    >>> parts.mesh.corners[4].tolist(), far < 1e-15
    ([1, 0, 3], True)
    """
    if p.mesh is None:
        return None
    largest = float(np.abs(p.mesh.points).max())
    little = max(_ULPS * float(np.spacing(largest)), tol * largest)
    points = aligned(p.mesh.points, p.mesh.simplices, np.full(len(p.mesh.points), little))
    if points is None:
        return None
    far = np.abs(points - ratios(p.mesh.corners[:, :-1], p.mesh.corners[:, -1:])).max()
    if far == 0:
        return None
    values = p.mesh.values if p.mesh.exact_values is None else p.mesh.exact_values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CpwlWarning)  # slivers along a side that is straight now have no interior
        return parts_of_simplices(points, p.mesh.simplices, values), float(far)
