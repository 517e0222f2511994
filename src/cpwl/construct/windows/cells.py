"""The cells of a function on a bounded domain: corners, laws, and who meets whom in a facet; all numbers exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.function.mesh import shared_facets
from cpwl.function.parts import Mesh

__all__ = ["Cells", "first_cell", "rationals", "simplicial", "to_floats", "values_at", "values_of"]

_ratio = np.frompyfunc(lambda a, b: fmpq(int(a), int(b)), 2, 1)
_float = np.frompyfunc(lambda x: int(x.p) / int(x.q), 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Convex cells that cover a convex set, and an affine law for every output on each of them.

    Rationals are ``fmpq``; points are rows ``(x, 1)``, laws rows ``(gradient, offset)``.
    """

    places: NDArray[np.object_]
    """``(V, n + 1)``: the corners."""
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


def simplicial(mesh: Mesh, laws: NDArray[Any]) -> Cells:
    """The cells of a triangulated table; `laws` are the integer rows of its function, ``(q, m, n + 2)``."""
    size = mesh.simplices.shape[1]
    one, two = shared_facets(mesh.simplices).pairs()
    used, number = np.unique(mesh.simplices, return_inverse=True)
    whole = mesh.corners[used]
    ones = np.full((len(used), 1), fmpq(1), dtype=object)
    return Cells(
        np.concatenate([rationals(whole), ones], axis=1),
        mesh.points[used],
        number.reshape(mesh.simplices.shape).astype(np.int64),
        rationals(laws).transpose(1, 0, 2),
        np.stack([one // size, two // size], axis=1),
    )


def first_cell(cells: Cells) -> NDArray[np.int64]:
    """For each corner a cell that has it."""
    first = np.empty(len(cells.places), dtype=np.int64)
    first[cells.corners.ravel()] = np.repeat(np.arange(len(cells.corners)), cells.corners.shape[1])
    return first


def values_of(cells: Cells) -> NDArray[np.object_]:
    """``(m, V)``: the values of `p` at the corners."""
    return values_at(cells.laws[:, first_cell(cells)], cells.places)
