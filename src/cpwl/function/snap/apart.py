"""Several outputs that bend in different places: each made exact by itself, on the common refinement of their pieces.

Where two outputs are meant to bend in one place, their exact bends are next to each other, with slivers between: exact
all the same, at the price of one bend more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from cpwl.function.parts import Laws, Parts
from cpwl.geometry.bodies import Bodies, solid
from cpwl.geometry.overlay import overlay
from cpwl.geometry.polyhedra import Polyhedron

__all__ = ["refined"]

_Family = tuple[Bodies, NDArray[np.object_]]


def refined(outputs: Sequence[Parts], domain: Polyhedron | None) -> Parts:
    """The function with the outputs of several exact ones, in that order, where all of them are defined."""
    bodies, laws = reduce(_overlaid, map(_family, outputs))
    return Parts(bodies.polyhedra, Laws.from_integer(laws), domain, 0.0)


def _family(parts: Parts) -> _Family:
    """The pieces with an interior, and their laws."""
    kept, bodies = solid(parts.polyhedra)
    return bodies, parts.laws.integer()[kept]


def _overlaid(one: _Family, two: _Family) -> _Family:
    """The intersections that have an interior, with the laws of both."""
    found = overlay(one[0], two[0])
    return found.cells, np.concatenate([one[1][found.one], two[1][found.two]], axis=1)
