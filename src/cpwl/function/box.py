"""The smallest box around all pieces of a function, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.function.cpwl import CPWL
from cpwl.geometry.box import bounding_box
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import fact
from cpwl.geometry.probe import Probe

__all__ = ["box_around"]


@fact
def box_around(p: CPWL) -> list[tuple[Fraction, Fraction]] | None:
    """Lower and upper end of each coordinate over all pieces; None if one has none, or if all pieces are empty.

    >>> box_around(CPWL.from_simplices([[0, 0], ["1/3", 0], [0, 2]], [[0, 1, 2]], [1, 2, 3]))
    [(Fraction(0, 1), Fraction(1, 3)), (Fraction(0, 1), Fraction(2, 1))]
    """
    if p.mesh is not None:
        return _ends(p.mesh.corners[np.unique(p.mesh.simplices)])
    found = generators(p.polyhedra)
    places = found.places[np.unique(found.member)]
    if (places[:, -1] == 0).any():
        return None
    ends, probe = _ends(places), Probe(0.0)
    for i in np.flatnonzero(~found.known).tolist():  # these contain a line, are empty, or have many rows
        own = bounding_box(p.polyhedra[i], probe)
        for k, (low, high) in enumerate(own or ()):
            if low is None or high is None:
                return None
            if len(ends) == p.dim:
                ends[k] = min(ends[k][0], low), max(ends[k][1], high)
            else:
                ends.append((low, high))
    return ends or None


def _ends(places: NDArray[np.object_]) -> list[tuple[Fraction, Fraction]]:
    """The box around corners ``(x, 1) * w``; empty if there are none."""
    if not len(places):
        return []
    columns = [[Fraction(x[k], x[-1]) for x in places] for k in range(places.shape[1] - 1)]
    return [(min(column), max(column)) for column in columns]
