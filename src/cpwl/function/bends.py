"""Where a function bends: pairs of neighbouring pieces with the hyperplane between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import Mesh
from cpwl.geometry.facets import facets_of, hyperplanes
from cpwl.geometry.probe import Probe

__all__ = ["Neighbours", "neighbours"]


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Pieces `one` and `two` meet in a facet on the hyperplane ``a.x = b`` of a row; `one` has ``a.x <= b``.

    Every facet inside the domain is there at least once; a facet that several pieces share need not be there for
    each of them.
    """

    one: NDArray[np.int64]
    two: NDArray[np.int64]
    row: NDArray[np.object_]


def neighbours(p: CPWL) -> Neighbours:
    """Neighbours across facets: by corners for a face-to-face table, else by a point inside each facet. Exact data.

    >>> found = neighbours(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))
    >>> found.one, found.two, found.row
    (array([0]), array([1]), array([[1, 0]], dtype=object))
    """
    pairs = None if p.mesh is None else _mesh_neighbours(p.mesh)
    if pairs is None:
        return _facet_neighbours(p)
    one, two = pairs
    size = p.dim + 1
    return Neighbours(one // size, two // size, p.polyhedra.integer()[one])


def _mesh_neighbours(mesh: Mesh) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Facets (numbered simplex by simplex) that have the same corners; None if one is inside another's."""
    corner = mesh.simplices
    q, size = corner.shape
    facets = np.sort(np.stack([np.delete(corner, i, axis=1) for i in range(size)], axis=1), axis=2)
    flat = facets.reshape(q * size, size - 1)
    order = np.lexsort(flat.T[::-1])
    same = (flat[order][1:] == flat[order][:-1]).all(axis=1)
    place = np.flatnonzero(same)
    return order[place], order[place + 1]


def _facet_neighbours(p: CPWL) -> Neighbours:
    exact = replace(p.polyhedra, exact=primitive(p.polyhedra.integer()))
    planes, probe = hyperplanes(exact, 0.0), Probe(0.0)
    holders: dict[tuple[int, int], list[int]] = {}
    for i, h, s in zip(exact.owner.tolist(), planes.number.tolist(), planes.side.tolist(), strict=True):
        holders.setdefault((h, s), []).append(i)
    found: dict[tuple[int, int, int], NDArray[Any]] = {}
    for i in range(p.num_pieces):
        for facet in facets_of(exact, planes, i, probe):
            h, s = int(planes.number[facet.row]), int(planes.side[facet.row])
            for j in holders.get((h, -s), ()):
                if _holds(exact.exact, exact.start, j, facet.point):
                    pair = (i, j, h) if s > 0 else (j, i, h)
                    found.setdefault(pair, exact.exact[facet.row] * s)  # type: ignore[index]
                    break
    keys = sorted(found)
    rows = np.array([found[key] for key in keys], dtype=object).reshape(len(keys), p.dim + 1)
    pairs = np.array([key[:2] for key in keys], dtype=np.int64).reshape(len(keys), 2)
    return Neighbours(pairs[:, 0], pairs[:, 1], rows)


def _holds(rows: NDArray[np.object_] | None, start: NDArray[np.int64], j: int, x: NDArray[Any]) -> bool:
    assert rows is not None
    own = rows[start[j] : start[j + 1]]
    return bool(((own[:, :-1] * x).sum(axis=1) <= own[:, -1]).all())
