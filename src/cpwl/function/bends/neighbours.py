"""Where a function bends: pairs of neighbouring pieces with the hyperplane between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.twins import row_twins
from cpwl.function.lineality import divided
from cpwl.function.mesh import shared_facets
from cpwl.geometry.facets import Hyperplanes, facets_of, hyperplanes
from cpwl.geometry.polyhedra import Polyhedra, fact
from cpwl.geometry.probe import Probe

__all__ = ["Neighbours", "bend_planes", "neighbours"]


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Pieces `one` and `two` meet in a facet on the hyperplane ``a.x = b`` of a row; `one` has ``a.x <= b``.

    Every facet inside the domain is there at least once; a facet that several pieces share need not be there for
    each of them.
    """

    one: NDArray[np.int64]
    two: NDArray[np.int64]
    row: NDArray[np.object_]


@fact
def neighbours(p: CPWL) -> Neighbours:
    """Neighbours across facets: by corners for a face-to-face table, else by a point inside each facet. Exact data.

    >>> found = neighbours(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))
    >>> found.one, found.two, found.row
    (array([0]), array([1]), array([[1, 0]], dtype=object))
    """
    if p.known is not None and p.known.neighbours is not None:
        return _known_neighbours(p, p.known.neighbours)
    if p.mesh is None:
        return _facet_neighbours(p)
    facets, size = shared_facets(p.mesh.simplices), p.dim + 1
    again = np.delete(np.arange(len(facets.order)), facets.first)  # facets that another simplex had before
    one, two = facets.order[again - 1], facets.order[again]
    return Neighbours(one // size, two // size, p.polyhedra.integer()[one])


@fact
def bend_planes(p: CPWL) -> int:
    """The number of hyperplanes on which an exact function bends.

    >>> p = CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0], [1], [2]])
    >>> bend_planes(p)
    3
    """
    found, laws = neighbours(p), p.laws.integer()
    bent = found.row[(laws[found.one] != laws[found.two]).any(axis=(1, 2))]
    return len({max(tuple(row), tuple(-row)) for row in bent})


def _known_neighbours(p: CPWL, pairs: NDArray[np.int64]) -> Neighbours:
    """What the maker of the function knows; convex pieces share one facet at most, so each pair counts once."""
    first = np.unique(np.sort(pairs[:, :2], axis=1), axis=0, return_index=True)[1]
    one, two, row = pairs[np.sort(first)].T
    return Neighbours(one, two, primitive(p.polyhedra.integer()[row]))


def _facet_neighbours(p: CPWL) -> Neighbours:
    """Pieces whose rows are the same but for the sense of one are neighbours across it; other facets need a point."""
    small = divided(p).function
    stack = small.polyhedra.exactly()
    planes = hyperplanes(stack, 0.0)
    twin = row_twins(stack, planes)
    paired = np.flatnonzero((twin >= 0) & (planes.side > 0))
    pairs = [np.stack([stack.owner[paired], twin[paired], planes.number[paired]], axis=1)]
    pairs.append(_across_other_facets(stack, planes, twin))
    one, two, plane = np.unique(np.concatenate(pairs), axis=0).T
    # A hyperplane is one row, up to its sense, also with the coordinates that were left out.
    first = np.unique(planes.number, return_index=True)[1]
    rows = primitive(p.polyhedra.integer()[first]) * planes.side[first, None]
    return Neighbours(one, two, rows[plane])


def _across_other_facets(stack: Polyhedra, planes: Hyperplanes, twin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows (piece on side 1, piece on side -1, hyperplane) for facets on rows without a twin."""
    alone, owner, probe = np.flatnonzero(twin < 0), stack.owner, Probe(0.0)
    keys = list(zip(planes.number.tolist(), planes.side.tolist(), strict=True))
    holders: dict[tuple[int, int], list[int]] = {(keys[r][0], -keys[r][1]): [] for r in alone}
    for i, key in zip(owner.tolist(), keys, strict=True):
        if key in holders:
            holders[key].append(i)
    found = []
    for i in np.unique(owner[alone]).tolist():
        for facet in facets_of(stack, planes, i, probe):
            if twin[facet.row] >= 0:
                continue
            h, s = keys[facet.row]
            j = next((k for k in holders[h, -s] if _holds(stack, k, facet.point)), None)
            if j is not None:
                found.append((i, j, h) if s > 0 else (j, i, h))
    return np.array(found, dtype=np.int64).reshape(len(found), 3)


def _holds(stack: Polyhedra, j: int, x: NDArray[Any]) -> bool:
    assert stack.exact is not None
    own = stack.exact[stack.start[j] : stack.start[j + 1]]
    return bool(((own[:, :-1] * x).sum(axis=1) <= own[:, -1]).all())
