"""The smallest box around all pieces of a function, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cpwl.function.cpwl import CPWL
from cpwl.geometry.box import bounding_box
from cpwl.geometry.probe import Probe

__all__ = ["box_around"]


def box_around(p: CPWL) -> list[tuple[Fraction, Fraction]] | None:
    """Lower and upper end of each coordinate over all pieces; None if one has none, or if all pieces are empty.

    >>> box_around(CPWL.from_simplices([[0, 0], ["1/3", 0], [0, 2]], [[0, 1, 2]], [1, 2, 3]))
    [(Fraction(0, 1), Fraction(1, 3)), (Fraction(0, 1), Fraction(2, 1))]
    """
    if p.mesh is not None:
        corners = p.mesh.corners[np.unique(p.mesh.simplices)]
        columns = [[Fraction(x[k], x[-1]) for x in corners] for k in range(p.dim)]
        return [(min(column), max(column)) for column in columns]
    probe, ends = Probe(0.0), list[tuple[Fraction, Fraction]]()
    for body in p.polyhedra:
        own = bounding_box(body, probe)
        for k, (low, high) in enumerate(own or ()):
            if low is None or high is None:
                return None
            if len(ends) == p.dim:
                ends[k] = min(ends[k][0], low), max(ends[k][1], high)
            else:
                ends.append((low, high))
    return ends or None
