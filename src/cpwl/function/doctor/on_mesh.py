"""The health of a triangulated table, from its corners alone and exactly.

Let every facet belong to one simplex, or to two on its two sides, and let every facet that belongs to one only lie in a
supporting hyperplane of all corners. Then the simplices cover the convex hull of the corners equally often
everywhere (the number can change only across the boundary facets), so one point that is covered once settles it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import number_rows, sign, signs_at
from cpwl.function.answers import Finding, point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.notes import note_on_laws, note_on_planes, note_on_slivers, notes_on_scale
from cpwl.function.mesh import shared_facets

__all__ = ["examine_mesh", "mesh_notes"]


def examine_mesh(p: CPWL) -> list[Finding] | None:
    """Findings for a table whose simplices meet face to face; None says that facets must be examined instead."""
    mesh = p.mesh
    assert mesh is not None
    corner = number_rows(mesh.corners)[1][mesh.simplices]
    jump = _doubled_corner(p, corner)
    if jump is not None:
        return [jump]
    facets = shared_facets(corner)
    if (facets.count > 2).any():
        return None
    rows = p.polyhedra.integer()
    if not _on_opposite_sides(rows, mesh.corners, mesh.simplices, *facets.pairs()):
        return None
    used = np.unique(mesh.simplices)
    if not _supporting(p, rows, facets.alone(), used):
        return None
    return _covered_once(p, rows)


def mesh_notes(p: CPWL) -> list[Finding]:
    """What is noteworthy about a table, in arrays."""
    mesh = p.mesh
    assert mesh is not None
    everything, size = np.arange(p.num_pieces), p.dim + 1
    corner = mesh.points[mesh.simplices]
    extent = (corner.max(axis=1) - corner.min(axis=1)).max(axis=1)
    A, b = p.polyhedra.A.reshape(-1, size, p.dim), p.polyhedra.b.reshape(-1, size)
    # The largest ball in a simplex has the radius 1 / (1/h_0 + ... + 1/h_n), where h are its heights.
    height = (b - np.einsum("pkn,pkn->pk", A, corner)) / np.linalg.norm(A, axis=2)
    width = 2 / (1 / np.maximum(height, np.finfo(np.float64).tiny)).sum(axis=1)
    return [
        *note_on_slivers(everything, extent, width, corner.mean(axis=1)),
        *note_on_laws(p, everything),
        *note_on_planes(p, np.arange(len(p.polyhedra.b)), None),
        *notes_on_scale(p),
    ]


def _doubled_corner(p: CPWL, corner: NDArray[np.int64]) -> Finding | None:
    """Two points of the table at one place with different values, both in use."""
    mesh = p.mesh
    assert mesh is not None
    number, point = corner.ravel(), mesh.simplices.ravel()
    representative = np.full(number.max() + 1, -1, dtype=np.int64)
    representative[number[::-1]] = point[::-1]
    other = representative[number]
    values = mesh.values if mesh.exact_values is None else mesh.exact_values
    gap = (values[point] != values[other]).any(axis=1)
    if not gap.any():
        return None
    sizes = np.abs(mesh.values[point] - mesh.values[other]).max(axis=1)
    k = int(np.argmax(np.where(gap, sizes, -1.0)))
    a, b = int(other[k]), int(point[k])
    x = mesh.points[a]
    return Finding(
        "jump",
        "error",
        f"points {a} and {b} lie at the same place x = {point_text(x)} with different values "
        f"{point_text(mesh.values[a])} and {point_text(mesh.values[b])}: the function is not continuous there.",
        (int(k // corner.shape[1]),),
        x,
        float(sizes[k]),
    )


def _on_opposite_sides(
    rows: NDArray[np.object_],
    corners: NDArray[np.object_],
    simplices: NDArray[np.int64],
    one: NDArray[np.int64],
    two: NDArray[np.int64],
) -> bool:
    """Whether simplices that share a facet lie on its two sides: the far corner violates the facet's row."""
    size = simplices.shape[1]
    far = corners[simplices[two // size, two % size]]
    value = (rows[one][:, :-1] * far[:, :-1]).sum(axis=1) - rows[one][:, -1] * far[:, -1]
    return bool((sign(value) > 0).all())


def _supporting(p: CPWL, rows: NDArray[np.object_], boundary: NDArray[np.int64], used: NDArray[np.int64]) -> bool:
    """Whether no corner is beyond a boundary facet."""
    assert p.mesh is not None
    boundary = boundary[np.unique(p.polyhedra.A[boundary], axis=0, return_index=True)[1]]
    walls, corners = rows[boundary] * np.array([1] * p.dim + [-1], dtype=object), p.mesh.corners[used]
    return not any((signs_at(walls[k : k + 256], corners) > 0).any() for k in range(0, len(walls), 256))


def _covered_once(p: CPWL, rows: NDArray[np.object_]) -> list[Finding]:
    """The overlap of a table that covers its domain more than once, seen at one generic point."""
    mesh = p.mesh
    assert mesh is not None
    size = p.dim + 1
    corners = mesh.corners[mesh.simplices[0]]
    weight = np.array([2 * i * i + 97 for i in range(size)], dtype=object)  # a point inside, on no other face
    common = np.lcm.reduce(corners[:, -1])
    at = (corners * (weight * (common // corners[:, -1]))[:, None]).sum(axis=0)
    x = np.asarray(at[:-1] / at[-1], dtype=np.float64)
    gap = (p.polyhedra.A @ x - p.polyhedra.b).reshape(-1, size)
    near = np.flatnonzero((gap <= 1e-9 * (1 + np.abs(p.polyhedra.b).reshape(-1, size))).all(axis=1))
    own = rows.reshape(-1, size, size)[near]
    holds = near[((own[..., :-1] * at[:-1]).sum(axis=2) < own[..., -1] * at[-1]).all(axis=1)]
    if len(holds) < 2:
        return []
    i, j = int(holds[0]), int(holds[1])
    values = p.laws.gradient[[i, j]] @ x + p.laws.offset[[i, j]]
    return [
        Finding(
            "overlap",
            "error",
            f"pieces {i} and {j} overlap: x = {point_text(x)} is inside both, and they give "
            f"{point_text(values[0])} and {point_text(values[1])} there.",
            (i, j),
            x,
            float(np.abs(values[0] - values[1]).max()),
        )
    ]
