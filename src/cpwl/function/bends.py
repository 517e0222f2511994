"""Where a function bends: pairs of neighbouring pieces with the hyperplane between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.function.cpwl import CPWL
from cpwl.function.lineality import essential_coordinates, on_coordinates
from cpwl.function.parts import Mesh
from cpwl.geometry.facets import facets_of, hyperplanes
from cpwl.geometry.polyhedra import Polyhedra
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
    """Pieces whose rows are the same but for the sense of one are neighbours across it; other facets need a point."""
    coordinates = essential_coordinates(p)
    small = p if len(coordinates) == p.dim else on_coordinates(p, coordinates)
    stack = replace(small.polyhedra, exact=primitive(small.polyhedra.integer()))
    planes, probe = hyperplanes(stack, 0.0), Probe(0.0)
    keys = list(zip(planes.number.tolist(), planes.side.tolist(), strict=True))
    pieces = [frozenset(keys[a:b]) for a, b in pairwise(stack.start.tolist())]
    index = {piece: i for i, piece in enumerate(pieces)}
    holders: dict[tuple[int, int], list[int]] = {}
    for i, key in zip(stack.owner.tolist(), keys, strict=True):
        holders.setdefault(key, []).append(i)
    found: dict[tuple[int, int, int], int] = {}
    for i, piece in enumerate(pieces):
        rows = range(int(stack.start[i]), int(stack.start[i + 1]))
        twins = {r: index.get(piece - {keys[r]} | {(keys[r][0], -keys[r][1])}) for r in rows}
        for r, j in twins.items():
            if j is not None:
                _note(found, i, j, r, keys[r])
        if None in twins.values():
            for facet in facets_of(stack, planes, i, probe):
                h, s = keys[facet.row]
                across = holders.get((h, -s), []) if twins[facet.row] is None else []
                j = next((k for k in across if _holds(stack, k, facet.point)), None)
                if j is not None:
                    _note(found, i, j, facet.row, keys[facet.row])
    order = sorted(found)
    signed = primitive(p.polyhedra.integer()) * planes.side[:, None]
    pairs = np.array([key[:2] for key in order], dtype=np.int64).reshape(len(order), 2)
    return Neighbours(pairs[:, 0], pairs[:, 1], signed[[found[key] for key in order]])


def _note(found: dict[tuple[int, int, int], int], i: int, j: int, row: int, key: tuple[int, int]) -> None:
    """The piece on the side ``a.x <= b`` of the row with sense + comes first."""
    found.setdefault((i, j, key[0]) if key[1] > 0 else (j, i, key[0]), row)


def _holds(stack: Polyhedra, j: int, x: NDArray[Any]) -> bool:
    assert stack.exact is not None
    own = stack.exact[stack.start[j] : stack.start[j + 1]]
    return bool(((own[:, :-1] * x).sum(axis=1) <= own[:, -1]).all())
