"""A function as laws on a face-to-face complex, with its common lineality space divided out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from cpwl.construct.blocks.rational import Rational
from cpwl.construct.gates.space.terms import ZERO
from cpwl.errors import ConstructionError
from cpwl.function import CPWL
from cpwl.function.parts import Mesh
from cpwl.geometry.complex import Complex, from_simplices
from cpwl.geometry.corners import Corners
from cpwl.geometry.face_to_face import complex_of
from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["CELLS", "Divided", "divide", "vertices_of"]

CELLS = 20_000
"""Into how many cells pieces that do not meet face to face may be cut."""


@dataclass(frozen=True, slots=True, eq=False)
class Divided:
    """``p(x) = q(T x) + E x``: the complex and the laws of `q`, the rows of `T`, and one row of `E` an output."""

    complex: Complex
    laws: NDArray[np.object_]
    """Integer rows ``(gradient, offset, 1) * denominator`` by cell and output."""
    projection: list[list[Rational]]
    rest: list[list[Rational]]


def divide(p: CPWL, *, limit: int = CELLS) -> Divided | None:
    """The function on its complex, as one of as few coordinates as its pieces and bends have; None if it is affine.

    All rows `a` of the pieces lie in the row space of one echelon matrix `T`, so ``a = a_J T`` with its pivots `J`;
    so do the differences of laws (docs/theory/local_gates.md: cells without lines). Raises `LimitError` if there are
    more cells.
    """
    if p.tol != 0:
        raise ConstructionError(
            "gates need data that is exactly continuous; these pieces are floats that may be off by a tolerance: take "
            "`p.snap().function`"
        )
    laws = p.laws.integer()
    projection, pivots = _row_space(p, laws)
    if not pivots:
        return None
    if len(pivots) == p.dim:
        complex_, piece = _complex(p, limit)
        identity = [[fmpq(int(i == j)) for j in range(p.dim)] for i in range(p.dim)]
        return Divided(complex_, laws[piece], identity, [[ZERO] * p.dim for _ in range(p.outputs)])
    exact = p.polyhedra.integer()[:, [*pivots, p.dim]]
    polyhedra = Polyhedra(p.polyhedra.A[:, pivots].copy(), p.polyhedra.b, p.polyhedra.start, exact)
    complex_, piece = complex_of(polyhedra, limit=limit)
    rest = []
    for row in laws[0]:
        gradient = [fmpq(int(v), int(row[-1])) for v in row[:-2]]
        known = [sum((gradient[j] * t[k] for j, t in zip(pivots, projection, strict=True)), ZERO) for k in range(p.dim)]
        rest.append([g - v for g, v in zip(gradient, known, strict=True)])
    return Divided(complex_, laws[piece][..., [*pivots, p.dim, p.dim + 1]], projection, rest)


def _row_space(p: CPWL, laws: NDArray[np.object_]) -> tuple[list[list[Rational]], list[int]]:
    """A reduced echelon basis of all rows of pieces and differences of laws, and its pivots."""
    if p.mesh is not None:
        return [], list(range(p.dim))
    slopes = laws[..., :-2] * laws[:1, :, -1:] - laws[:1, :, :-2] * laws[..., -1:]
    vectors = np.concatenate([p.polyhedra.integer()[:, :-1], slopes.reshape(-1, p.dim)])
    rows = sorted({tuple(int(v) for v in row) for row in vectors if any(row)})
    if not rows:
        return [], []
    reduced, rank = fmpq_mat(fmpz_mat([list(row) for row in rows])).rref()
    basis = [[reduced[i, j] for j in range(p.dim)] for i in range(rank)]
    return basis, [next(j for j, v in enumerate(row) if v != 0) for row in basis]


def _complex(p: CPWL, limit: int) -> tuple[Complex, NDArray[np.int64]]:
    if p.mesh is not None:
        complex_ = from_simplices(p.mesh.corners, p.mesh.simplices)
        if _meets_face_to_face(p.mesh, p.polyhedra, complex_):
            return complex_, np.arange(p.num_pieces)
    return complex_of(p.polyhedra, limit=limit)


def _meets_face_to_face(mesh: Mesh, polyhedra: Polyhedra, complex_: Complex) -> bool:
    """Whether every facet has a simplex on each side or lies in the boundary of the convex domain."""
    n = complex_.dim
    cells = complex_.above(n - 1, n)
    crowded = next((own for own in cells if len(own) > 2), None)
    if crowded is not None:
        raise ConstructionError(f"simplices {crowded} share one facet: see `p.doctor()`", pieces=crowded)
    single = [
        (own[0], set(face)) for own, face in zip(cells, complex_.faces[n - 1].members, strict=True) if len(own) == 1
    ]
    rows = []
    for i, facet in single:
        k = next(k for k, v in enumerate(mesh.simplices[i].tolist()) if v not in facet)
        rows.append(i * (n + 1) + k)  # row k of a simplex is the facet without its corner k
    outward = polyhedra.integer()[rows]
    outward = np.concatenate([outward[:, :-1], -outward[:, -1:]], axis=1)
    used = np.unique(mesh.simplices)
    return not bool((Corners(mesh.corners[used]).signs(outward) > 0).any())


def vertices_of(complex_: Complex) -> list[Sequence[int]] | None:
    """The vertices in the boundary of a bounded domain; None if it is unbounded."""
    if not complex_.is_bounded:
        return None
    faces = complex_.faces[0]
    return [[int(v) for v in complex_.generators[faces.members[i][0]]] for i in np.flatnonzero(faces.boundary)]
