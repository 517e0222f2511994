"""Tables: which simplices have a facet in common, and Kuhn grids."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import ConstructionError
from cpwl.function.parts import Mesh


@dataclass(frozen=True, slots=True, eq=False)
class SharedFacets:
    """Facets with equal corners: the group `g` has the facets ``order[first[g]:first[g] + count[g]]``.

    Facets are numbered simplex by simplex: facet ``i (n + 1) + k`` is the one of simplex `i` without its corner `k`.
    """

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]

    def alone(self) -> NDArray[np.int64]:
        """The facets of one simplex only."""
        return np.asarray(self.order[self.first[self.count == 1]])

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The facets that exactly two simplices have."""
        pair = self.first[self.count == 2]
        return self.order[pair], self.order[pair + 1]


def shared_facets(simplices: NDArray[np.int64]) -> SharedFacets:
    """The facets of all simplices (rows of corner numbers), grouped by their corners.

    >>> shared_facets(np.array([[0, 1, 2], [1, 2, 3]])).pairs()
    (array([0]), array([5]))
    """
    q, size = simplices.shape
    facets = np.stack([np.delete(simplices, k, axis=1) for k in range(size)], axis=1).reshape(q * size, size - 1)
    facets = np.sort(facets, axis=1)
    order = np.lexsort(facets.T[::-1]).astype(np.int64)
    new = np.ones(len(order), dtype=bool)
    new[1:] = (facets[order][1:] != facets[order][:-1]).any(axis=1)
    first = np.flatnonzero(new).astype(np.int64)
    return SharedFacets(order, first, np.diff(np.append(first, len(order))))


# Is a table a Kuhn grid? Its axes, the sense of its diagonals, and its values as an array.
#
# A Kuhn grid has a point for each choice of one coordinate on every axis, and its simplices go from one end of a box's
# diagonal to the other, one axis after the other. Diagonals may run down along some axes: those are mirrored.


@dataclass(frozen=True, slots=True, eq=False)
class KuhnGrid:
    """``values[k_1, .., k_n, output]`` at the point with number `k_i` on each axis, counted along the diagonals."""

    axes: tuple[NDArray[np.object_], ...]
    """The coordinates of each axis in order of their numbers: falling on a mirrored axis."""
    values: NDArray[np.object_]

    @property
    def steps(self) -> tuple[int, ...]:
        """The number of intervals on each axis."""
        return tuple(len(axis) - 1 for axis in self.axes)


def kuhn_grid(mesh: Mesh) -> KuhnGrid:
    """The table as a grid; raises `ConstructionError` with a simplex that does not fit.

    >>> from cpwl.function import CPWL
    >>> grid = kuhn_grid(CPWL.from_grid([[0, 1, 3], [0, 2]], [[0, 1], [2, 3], [4, 5]]).mesh)
    >>> grid.steps, grid.values[2, 1, 0]
    ((2, 1), Fraction(5, 1))
    """
    used = np.unique(mesh.simplices)
    axes, place = _axes(mesh.corners[used])
    count = [len(axis) for axis in axes]
    if len(used) != np.prod(count):
        raise ConstructionError(
            f"this table is not a grid: it has {len(used)} points, and its coordinates {' x '.join(map(str, count))}"
        )
    number = np.full(len(mesh.corners), -1, dtype=np.int64)
    number[used] = np.arange(len(used))
    cells = place[number[mesh.simplices]]
    falling = _falling(cells)
    last = np.array(count) - 1
    place, cells = (np.where(falling, last - k, k) for k in (place, cells))
    _check_chains(cells)
    exact = mesh.values if mesh.exact_values is None else mesh.exact_values
    values = np.empty((*count, exact.shape[1]), dtype=object)
    values[tuple(place.T)] = np.frompyfunc(Fraction, 1, 1)(exact[used])
    return KuhnGrid(tuple(axis[::-1] if down else axis for axis, down in zip(axes, falling, strict=True)), values)


def _axes(corners: NDArray[np.object_]) -> tuple[list[NDArray[np.object_]], NDArray[np.int64]]:
    """The coordinates that occur on each axis, in order, and the number of each corner's on every axis."""
    axes, places = [], []
    for k in range(corners.shape[1] - 1):
        coordinate = [Fraction(x[k], x[-1]) for x in corners.tolist()]
        axis = sorted(set(coordinate))
        number = {v: i for i, v in enumerate(axis)}
        axes.append(np.array(axis, dtype=object))
        places.append([number[v] for v in coordinate])
    return axes, np.array(places, dtype=np.int64).T


def _falling(cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The axes along which the diagonal of the first simplex runs down, the first axis being up."""
    first = cells[0]
    for i, x in enumerate(first):
        for y in first[i + 1 :]:
            if (np.abs(y - x) == 1).all():
                return np.asarray((y - x) * (y - x)[0] < 0)
    raise ConstructionError("this table is not a Kuhn grid: simplex 0 has no two corners across a box")


def _check_chains(cells: NDArray[np.int64]) -> None:
    """Every simplex goes up by one step of one axis after the other."""
    order = np.argsort(cells.sum(axis=2), axis=1, kind="stable")
    steps = np.diff(np.take_along_axis(cells, order[..., None], axis=1), axis=1)
    wrong = np.flatnonzero((steps.min(axis=(1, 2)) < 0) | (steps.sum(axis=2) != 1).any(axis=1))
    if len(wrong):
        raise ConstructionError(
            f"this table is not a Kuhn grid: simplex {wrong[0]} does not follow a diagonal", simplex=int(wrong[0])
        )


def is_even(axis: NDArray[Any]) -> bool:
    """Whether the coordinates follow each other at one distance."""
    return bool((np.diff(axis) == axis[1] - axis[0]).all())
