"""Dividing by the common lineality space: a function of 100 inputs that bends in 5 directions is a function of 5.

All rows and all differences of laws lie in the span `S` of the rows. Choose as many coordinates as `S` has dimensions
such that `S` keeps its rank on them; then setting the other coordinates to 0 loses no inequality and no difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.function.parts import Laws, Parts
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["essential_coordinates", "lift", "on_coordinates"]

_LOW = 4  # up to this dimension there is nothing to gain


def essential_coordinates(p: CPWL) -> NDArray[np.int64]:
    """Coordinates that suffice to decide everything about the pieces and the order of the laws."""
    everything = np.arange(p.dim, dtype=np.int64)
    distinct = np.unique(p.polyhedra.A, axis=0)
    differences = np.unique((p.laws.gradient - p.laws.gradient[:1]).reshape(-1, p.dim), axis=0)
    if p.dim < _LOW or np.linalg.matrix_rank(np.concatenate([distinct, differences])) == p.dim:
        return everything
    laws = p.laws.integer()
    slopes = laws[..., :-2] * laws[:1, :, -1:] - laws[:1, :, :-2] * laws[..., -1:]
    rows = {tuple(int(v) for v in row) for row in p.polyhedra.integer()[:, :-1]}
    rows |= {tuple(int(v) for v in row) for row in slopes.reshape(-1, p.dim) if any(row)}
    if p.domain is not None:
        rows |= {tuple(int(v) for v in row) for row in p.domain.integer()[:, :-1]}
    if not rows:
        return everything[:1]
    reduced, _, rank = fmpz_mat([list(row) for row in sorted(rows)]).rref()
    pivots = [next(j for j in range(p.dim) if reduced[i, j] != 0) for i in range(rank)]
    return np.array(pivots, dtype=np.int64)


def on_coordinates(p: CPWL, coordinates: NDArray[np.int64]) -> CPWL:
    """The function on the subspace where all other coordinates are 0."""
    columns = np.append(coordinates, p.dim)
    laws_exact = None if p.laws.exact is None else p.laws.exact[..., np.append(columns, p.dim + 1)]
    laws = Laws(p.laws.gradient[..., coordinates].copy(), p.laws.offset, laws_exact)
    exact = None if p.polyhedra.exact is None else p.polyhedra.exact[:, columns]
    polyhedra = Polyhedra(p.polyhedra.A[:, coordinates].copy(), p.polyhedra.b, p.polyhedra.start, exact)
    domain = p.domain
    if domain is not None:
        exact = None if domain.exact is None else domain.exact[:, columns]
        domain = Polyhedron(domain.A[:, coordinates].copy(), domain.b, exact)
    return type(p)._from_parts(Parts(polyhedra, laws, domain, p.tol))


def lift(point: NDArray[Any], coordinates: NDArray[np.int64], dim: int) -> NDArray[Any]:
    """The point with zeros in the coordinates that were left out."""
    full = np.zeros(dim, dtype=point.dtype)
    full[coordinates] = point
    return full
