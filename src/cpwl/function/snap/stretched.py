"""Coordinates of very different sizes, stretched by powers of 2 to about one size, and back: nothing is rounded.

Tolerances compare coordinates with each other, so an axis of 1e-6 beside one of 1e6 would be nothing but noise. With
``y_k = 2^e_k x_k`` a row ``a.x <= b`` is ``sum (2^-e_k a_k) y_k <= b``, and a law likewise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import Laws, Mesh, Parts
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron

__all__ = ["stretched", "uneven"]

_Ints = NDArray[np.int64]
_EVEN = 10  # powers of 2 between the sizes of coordinates that are no trouble


def uneven(polyhedra: Polyhedra) -> _Ints | None:
    """The powers of 2 that make coordinates of one size, if they are of very different sizes; else None.

    How large a coordinate is, is told by where rows meet its axis: a low quantile, as rows may hardly depend on it.
    """
    A, b = polyhedra.A, polyhedra.b
    powers = []
    for column in A.T:
        used = (column != 0) & (b != 0)
        if not used.any():
            return None
        powers.append(-int(np.round(np.quantile(np.log2(np.abs(b[used])) - np.log2(np.abs(column[used])), 0.25))))
    found = np.array(powers, dtype=np.int64)
    return found if np.ptp(found) > _EVEN else None


def stretched(p: CPWL, powers: _Ints) -> CPWL:
    """The function of ``y_k = 2^e_k x_k``; domain, tolerance and corners go along."""
    parts = Parts(
        _polyhedra(p.polyhedra, powers),
        _laws(p.laws, powers),
        None if p.domain is None else _domain(p.domain, powers),
        p.tol,
        None if p.mesh is None else _mesh(p.mesh, powers),
    )
    return CPWL.from_parts(parts)


def _polyhedra(polyhedra: Polyhedra, powers: _Ints) -> Polyhedra:
    return Polyhedra(polyhedra.A * np.exp2(-powers), polyhedra.b, polyhedra.start, _rows(polyhedra.exact, powers))


def _domain(domain: Polyhedron, powers: _Ints) -> Polyhedron:
    return Polyhedron(domain.A * np.exp2(-powers), domain.b, _rows(domain.exact, powers))


def _rows(exact: NDArray[np.object_] | None, powers: _Ints) -> NDArray[np.object_] | None:
    return None if exact is None else primitive(_shifted(exact, np.append(-powers, 0)))


def _laws(laws: Laws, powers: _Ints) -> Laws:
    exact = None if laws.exact is None else primitive(_shifted(laws.exact, np.append(-powers, [0, 0])))
    return Laws(laws.gradient * np.exp2(-powers), laws.offset, exact)


def _mesh(mesh: Mesh, powers: _Ints) -> Mesh:
    corners = primitive(_shifted(mesh.corners, np.append(powers, 0)))
    return replace(mesh, points=mesh.points * np.exp2(powers), corners=corners)


def _shifted(rows: NDArray[np.object_], powers: _Ints) -> NDArray[np.object_]:
    """Integers times powers of 2, column by column, and all of them by one more so that they stay integers."""
    factors = np.array([1 << int(k) for k in powers - powers.min()], dtype=object)
    return np.asarray(rows * factors)
