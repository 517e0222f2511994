"""The smallest box around all pieces, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cpwl.function import CPWL
from cpwl.geometry.probe import Probe

__all__ = ["domain_box"]


def domain_box(p: CPWL) -> list[tuple[Fraction, Fraction]] | None:
    """Lower and upper end of each coordinate over all pieces; None if one has none.

    >>> domain_box(CPWL.from_simplices([[0, 0], ["1/3", 0], [0, 2]], [[0, 1, 2]], [1, 2, 3]))
    [(Fraction(0, 1), Fraction(1, 3)), (Fraction(0, 1), Fraction(2, 1))]
    """
    if p.mesh is not None:
        corners = p.mesh.corners[np.unique(p.mesh.simplices)]
        columns = [[Fraction(x[k], x[-1]) for x in corners] for k in range(p.dim)]
        return [(min(column), max(column)) for column in columns]
    probe, unit = Probe(0.0), np.eye(p.dim, dtype=np.int64).astype(object)
    ends: list[list[Fraction]] = [[] for _ in range(2 * p.dim)]
    for i in range(p.num_pieces):
        for k, (value, _) in enumerate(probe.maxima(p.polyhedra[i], [*-unit, *unit])):
            if value == np.inf:
                return None
            if value != -np.inf:  # the piece is empty
                ends[k].append(value)
    return [(-max(ends[k]), max(ends[p.dim + k])) for k in range(p.dim)] if ends[0] else None
