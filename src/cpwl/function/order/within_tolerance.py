"""The order of components on bounded float pieces: their values at the corners, within the tolerance.

Every float is a rational, so the corners of float pieces are known exactly (`generators`); components are compared
there in floats, and may be off by what values may be off by. Pieces with a ray are left to linear programs, and so are
those with a corner far beyond all others: noise makes parallel rows meet there, and how far is an accident.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import ratio_view
from cpwl.geometry.generators import Generators, generators
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron

__all__ = ["corners_within", "order_within"]

_FAR = 16  # units, as far as `Probe` looks
_BLOCK = 1 << 24  # numbers in one temporary array

Relation = NDArray[np.bool_]


def order_within(
    polyhedra: Polyhedra, laws: NDArray[np.float64], component: NDArray[np.int64], unit: float, slack: float
) -> tuple[Relation, Relation, Relation]:
    """``above[i, m]``: ``f_m >= f_c`` on piece `i` with component `c`, ``below``, and which pieces are decided."""
    spanned = generators(polyhedra)
    corners, bounded = _corners(spanned, unit)
    above = np.zeros((len(component), len(laws)), dtype=bool)
    below = np.zeros_like(above)
    sizes = np.diff(spanned.start)
    for c in np.unique(component[bounded]).tolist():
        difference = (laws - laws[c]).T
        own = np.flatnonzero((component == c) & bounded)
        step = max(1, _BLOCK // (len(laws) * int(sizes[own].max())))
        for first in range(0, len(own), step):
            some = own[first : first + step]
            member = np.concatenate([spanned.member[spanned.start[i] : spanned.start[i + 1]] for i in some])
            begins = np.concatenate([[0], np.cumsum(sizes[some])[:-1]])
            values = corners[member] @ difference
            above[some] = np.minimum.reduceat(values, begins, axis=0) >= -slack
            below[some] = np.maximum.reduceat(values, begins, axis=0) <= slack
    return above, below, bounded


def corners_within(body: Polyhedron, unit: float) -> NDArray[np.float64] | None:
    """The corners ``(x, 1)`` of one polyhedron, if it is bounded and none of them is far away; else None.

    >>> body = Polyhedron.from_rows([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [0.5, 0.0, 0.0])
    >>> sorted(corners_within(body, 1.0).tolist())
    [[0.0, 0.0, 1.0], [0.0, 0.5, 1.0], [0.5, 0.0, 1.0]]
    """
    alone = Polyhedra(body.A, body.b, np.array([0, len(body.b)]))
    spanned = generators(alone)
    corners, bounded = _corners(spanned, unit)
    return corners[spanned.member] if bounded[0] else None


def _corners(spanned: Generators, unit: float) -> tuple[NDArray[np.float64], Relation]:
    """The corners ``(x, 1)`` in floats, and which polyhedra have nothing but corners, none of them far away."""
    weight = spanned.places[:, -1]
    limit = int(_FAR * unit) + 1
    near = np.asarray((weight > 0) & (np.abs(spanned.places[:, :-1]).max(axis=1, initial=0) <= limit * weight))
    corners = np.zeros(spanned.places.shape)
    corners[near] = ratio_view(spanned.places[near], spanned.places[near, -1:])
    owner = np.repeat(np.arange(len(spanned.start) - 1), np.diff(spanned.start))
    bounded = spanned.known
    bounded[owner[~near[spanned.member]]] = False
    return corners, bounded
