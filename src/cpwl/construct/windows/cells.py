"""The cells of a function on a bounded domain: corners, laws, and who meets whom in a facet; all numbers exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.function.mesh import shared_facets
from cpwl.function.parts import Mesh
from cpwl.geometry.complex import Complex

__all__ = [
    "Cells",
    "first_cell",
    "of_complex",
    "of_table",
    "rationals",
    "simplicial",
    "to_floats",
    "values_at",
    "values_of",
]

_ratio = np.frompyfunc(lambda a, b: fmpq(int(a), int(b)), 2, 1)
_float = np.frompyfunc(lambda x: int(x.p) / int(x.q), 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Convex cells that cover a convex set, and an affine law for every output on each of them.

    Rationals are ``fmpq``; points are rows ``(x, 1)``, laws rows ``(gradient, offset)``.
    """

    whole: NDArray[np.object_]
    """``(V, n + 1)``: the corners as integers ``(x, 1) * d``."""
    places: NDArray[np.object_]
    """The same as rationals ``(x, 1)``."""
    points: NDArray[np.float64]
    """``(V, n)``: their float view."""
    corners: NDArray[np.int64]
    """``(q, k)``: the numbers of each cell's corners; where there are fewer than `k`, the first comes again."""
    laws: NDArray[np.object_]
    """``(m, q, n + 1)``"""
    pairs: NDArray[np.int64]
    """``(F, 2)``: cells that meet in a facet."""

    @property
    def dim(self) -> int:
        """The number of inputs."""
        return int(self.points.shape[1])

    def middles(self) -> NDArray[np.float64]:
        """A point inside each cell: the mean of its corners."""
        return np.asarray(self.points[self.corners].mean(axis=1))


def rationals(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """Integer rows ``(x, 1) * denominator`` as rationals, the last column left out."""
    return np.asarray(_ratio(rows[..., :-1], rows[..., -1:]), dtype=object)


def to_floats(values: NDArray[np.object_]) -> NDArray[np.float64]:
    """Rationals as doubles, each correctly rounded."""
    return np.asarray(_float(values), dtype=np.float64)


def values_at(laws: NDArray[np.object_], places: NDArray[np.object_]) -> NDArray[np.object_]:
    """Laws at points, row by row; the arrays broadcast."""
    return np.asarray((laws * places).sum(axis=-1), dtype=object)


def simplicial(whole: NDArray[np.object_], simplices: NDArray[np.int64], laws: NDArray[np.object_]) -> Cells:
    """Simplices on corners ``(x, 1) * d`` in integers; laws ``(m, q, n + 1)``."""
    size = simplices.shape[1]
    one, two = shared_facets(simplices).pairs()
    used, number = np.unique(simplices, return_inverse=True)
    corners = number.reshape(simplices.shape).astype(np.int64)
    return Cells(whole[used], *_places(whole[used]), corners, laws, np.stack([one // size, two // size], axis=1))


def of_table(mesh: Mesh, laws: NDArray[np.object_]) -> Cells:
    """The cells of a triangulated table; `laws` are the integer rows of its function, ``(q, m, n + 2)``."""
    return simplicial(mesh.corners, mesh.simplices, rationals(laws).transpose(1, 0, 2))


def of_complex(complex_: Complex, laws: NDArray[np.object_]) -> Cells:
    """The cells of a bounded face-to-face complex, with their laws."""
    n = complex_.dim
    members = complex_.faces[n].members
    most = max(map(len, members))
    corners = np.array([[*own, *[own[0]] * (most - len(own))] for own in members], dtype=np.int64)
    sides = complex_.above(n - 1, n)
    pairs = np.array([sides[f] for f in complex_.interior(n - 1)], dtype=np.int64).reshape(-1, 2)
    return Cells(complex_.generators, *_places(complex_.generators), corners, laws, pairs)


def _places(whole: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """Points ``(x, 1)`` as rationals, and `x` in floats."""
    exact = rationals(whole)
    return np.concatenate([exact, np.full((len(whole), 1), fmpq(1), dtype=object)], axis=1), to_floats(exact)


def first_cell(cells: Cells) -> NDArray[np.int64]:
    """For each corner a cell that has it."""
    first = np.empty(len(cells.places), dtype=np.int64)
    first[cells.corners.ravel()] = np.repeat(np.arange(len(cells.corners)), cells.corners.shape[1])
    return first


def values_of(cells: Cells) -> NDArray[np.object_]:
    """``(m, V)``: the values of `p` at the corners."""
    return values_at(cells.laws[:, first_cell(cells)], cells.places)
