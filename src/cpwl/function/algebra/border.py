"""The rows that bound the domain of a function, read off its pieces.

A hyperplane with facets inside a convex domain has pieces on both sides; one that bounds it has them on one side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.function.cpwl import CPWL
from cpwl.function.flags.consistency import consistency
from cpwl.geometry.bodies import Bodies, stacked
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.geometry.probe import Probe
from cpwl.geometry.ranges import ranges
from cpwl.geometry.sides import sides

__all__ = ["border_rows", "inside_border", "is_border", "need_convex"]


def is_border(bodies: Bodies) -> NDArray[np.bool_]:
    """For each row whether its hyperplane has pieces on one side only."""
    planes = hyperplanes(bodies.polyhedra, 0.0)
    count = int(planes.number.max(initial=-1)) + 1
    both = np.zeros((2, count), dtype=bool)
    both[(planes.side + 1) // 2, planes.number] = True
    return np.asarray(~(both[0] & both[1])[planes.number])


def border_rows(bodies: Bodies) -> NDArray[np.object_]:
    """The rows ``(a, b)`` of the domain, each once."""
    rows = bodies.rows[is_border(bodies)]
    distinct = list(dict.fromkeys(map(tuple, rows.tolist())))
    return np.array(distinct, dtype=object).reshape(len(distinct), bodies.rows.shape[1])


def inside_border(bodies: Bodies, others: Bodies) -> NDArray[np.bool_]:
    """Which bodies are inside the convex set that the others cover."""
    rows = border_rows(others)
    result = np.ones(len(bodies), dtype=bool)
    if not len(rows):
        return result
    used, where = np.unique(bodies.spans.member, return_inverse=True)
    places = bodies.places[used]
    outside = np.zeros(len(places), dtype=bool)
    for k in range(len(rows)):  # a domain has few rows
        outside |= sides(rows[k : k + 1], places, np.zeros(len(places), dtype=np.int64), np.arange(len(places))) > 0
    _, owner = ranges(bodies.spans.start[:-1], np.diff(bodies.spans.start))
    result[owner[outside[where.ravel()]]] = False
    probe, walls = Probe(0.0), _one(rows)
    for i in np.flatnonzero(~bodies.known).tolist():
        result[i] = probe.bounds(bodies.polyhedra[i], walls[0])
    return result


def need_convex(p: CPWL, name: str, instead: str) -> None:
    """Refuse a function with a hole or a corner cut out of its domain, which no row of the border would show.

    Decided by flags, for two to five inputs; on a line every end of an interval is a row of the border.
    """
    sound = consistency(p)
    if sound.consistent is False:
        raise InputError(
            f"{name} is not continuous on a convex domain: {sound.reason}.\n  `p.doctor()` says more; {instead}."
        )


def _one(rows: NDArray[np.object_]) -> Polyhedra:
    return stacked(rows, np.array([0, len(rows)]))
