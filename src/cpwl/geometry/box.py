"""The smallest box around a polyhedron, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import numpy as np

from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["Range", "bounding_box", "is_box"]

Range: TypeAlias = tuple[Fraction | None, Fraction | None]
"""The least and the largest value, None where there is no bound."""


def bounding_box(body: Polyhedron, probe: Probe | None = None) -> list[Range] | None:
    """The range of each coordinate; None if the polyhedron is empty. Rows of one coordinate need no program.

    >>> bounding_box(Polyhedron.from_rows([[1, 1], [-1, 0], [0, -1]], ["1/3", 0, 0]))
    [(Fraction(0, 1), Fraction(1, 3)), (Fraction(0, 1), Fraction(1, 3))]
    >>> bounding_box(Polyhedron.from_rows([[2, 0]], [1]))
    [(None, Fraction(1, 2)), (None, None)]
    """
    if is_box(body):
        return _of_box(body)
    unit = np.eye(body.dim, dtype=np.int64).astype(object)
    found = (probe or Probe(0.0)).maxima(body, [*unit, *-unit])
    if found[0][0] == -np.inf:
        return None
    most = [None if value == np.inf else Fraction(value) for value, _ in found]
    return [(None if m is None else -m, h) for h, m in zip(most[: body.dim], most[body.dim :], strict=True)]


def is_box(body: Polyhedron) -> bool:
    """Whether each row is about one coordinate."""
    return bool(((body.integer()[:, :-1] != 0).sum(axis=1) == 1).all())


def _of_box(body: Polyhedron) -> list[Range] | None:
    """The box that the rows say, each of one coordinate."""
    low: list[Fraction | None] = [None] * body.dim
    high: list[Fraction | None] = [None] * body.dim
    for row in body.integer():
        i = int(np.flatnonzero(row[:-1])[0])
        value = Fraction(row[-1], row[i])
        before = high[i] if row[i] > 0 else low[i]
        if row[i] > 0:
            high[i] = value if before is None else min(before, value)
        else:
            low[i] = value if before is None else max(before, value)
    ends = list(zip(low, high, strict=True))
    return None if any(a is not None and b is not None and a > b for a, b in ends) else ends
