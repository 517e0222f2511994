"""A nearby exactly consistent function for float data: laws made equal, facets re-derived from ``f_i = f_j``.

What is tried, in this order, until the exact doctor finds nothing wrong:

1. the data as it is, every float being a rational;
2. the same pieces, each facet moved to where the snapped laws of its two sides are equal;
3. the same after merging pieces of one law (their cuts are no part of the function);
4. each law's region cut afresh, along the hyperplanes where the law meets its neighbours.

A row between pieces of one law, or on the boundary of the domain, stays as it is, and all pieces share it exactly.
Where three laws meet, their three hyperplanes meet of themselves; where more meet than that, rounded laws miss each
other, and there may be no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import integer_rows, primitive
from cpwl.function.components import label_components, label_maps
from cpwl.function.contacts import Contacts, Key
from cpwl.function.doctor import examine
from cpwl.function.merge import merge
from cpwl.function.parts import Laws, Parts
from cpwl.function.recut import recut
from cpwl.geometry.cover import FacetCover
from cpwl.geometry.facets import facets_of, hyperplanes
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["Moved", "Snapped", "snap"]


@dataclass(frozen=True, slots=True)
class Moved:
    """How far anything was moved."""

    coefficient: float = 0.0
    """The largest change of a coefficient of a law, relative to the largest one of its kind (slopes, offsets)."""
    value: float = 0.0
    """The largest change of a law on its piece, relative to the size of the values."""
    facet: float = 0.0
    """The largest distance from a facet to its new hyperplane, relative to the size of the coordinates."""

    @property
    def largest(self) -> float:
        """The largest of them all."""
        return max(self.coefficient, self.value, self.facet)


@dataclass(frozen=True, slots=True)
class Snapped:
    """An exactly consistent function near float data, or the reason why there is none to offer."""

    function: CPWL | None
    moved: Moved
    reason: str
    """Empty, or what stands in the way."""


def snap(p: CPWL, tol: float) -> Snapped:
    """Proposes an exactly consistent function of which nothing is farther than `tol` from `p`.

    Farther means relative, as `CPWL.tol` does: coefficients of laws against the largest slope and the largest
    offset, values against the size of the terms of ``g.x + o``, distances against the largest coordinate of a corner.
    All three are bounds over the box of the corners, also where a piece is unbounded. The function has ``tol == 0``
    and passes the exact doctor; pieces of one law may have been merged or cut otherwise.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[3.0]], [[-1.0]]], [[1.0], [-0.3333333333333333]], [[0.0], [3.0]], [0.0, -1.0])
    >>> found = snap(p, 1e-9)
    >>> found.function.polyhedra.integer()
    array([[3, 1],
           [-3, -1]], dtype=object)
    >>> found.moved.largest < 1e-15
    True
    """
    if not 0 < tol < 1:
        raise InputError(f"`tol` must be more than 0 and less than 1, not {tol}")
    make = type(p)._from_parts
    exactly = p if p.tol == 0 else make(Parts(p.polyhedra, p.laws, p.domain, 0.0, p.mesh))
    if examine(exactly, notes=False).healthy:
        return Snapped(exactly, Moved(), "")
    rough = make(Parts(p.polyhedra, p.laws, p.domain, tol))
    report = examine(rough, notes=False)
    if not report.healthy:
        return Snapped(None, Moved(), f"it is no function within {tol:g}, relative: {report.errors[0].message}")
    frame = Frame(rough)
    moved = _moved(frame)
    if moved.largest > tol:
        return Snapped(None, moved, f"something would move by {moved.largest:.2g}, more than {tol:g}, relative.")
    reason = frame.disagreement()
    if reason is None:
        for candidate in _candidates(frame):
            reason = _objection(frame, candidate)
            if reason is None:
                return Snapped(candidate, moved, "")
    return Snapped(None, Moved(), reason or "")


def _candidates(frame: Frame) -> Iterator[CPWL]:
    """Exact functions to try, the one most like the data first."""
    yield frame.rederived()
    merged = Frame(merge(frame.snapped()))
    yield merged.rederived()
    fresh = merged.recut()
    if fresh is not None:
        yield merge(fresh)


def _moved(frame: Frame) -> Moved:
    """How far the laws and the facets of the data are from what they are to become."""
    p, laws = frame.p, frame.laws
    given = p.laws.integer()
    change = np.abs(laws[..., :-1] / laws[..., -1:] - given[..., :-1] / given[..., -1:])
