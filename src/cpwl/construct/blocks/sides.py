"""On which side of a hyperplane each piece lies: corners and rays decide where they are few, linear programs elsewhere.

A hyperplane that cuts a piece is of no use to those who ask, so one cut piece is all that is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.function import CPWL
from cpwl.geometry.corners import Corners
from cpwl.geometry.generators import generators
from cpwl.geometry.probe import Probe

__all__ = ["sides"]

_BLOCK = 4_000_000  # signs of forms at corners that are looked at in one go


def sides(p: CPWL, forms: NDArray[np.object_]) -> Iterator[NDArray[np.int64] | int]:
    """For each form ``(a, c)`` of integers the side of every piece, 1 where ``a.x + c >= 0`` and -1 where it is
    ``<= 0``; or, where it has both signs inside pieces, the number of one of them. Exact data.

    >>> p = CPWL.from_maxmin([[1, 0, 0], [0, 1, 0]], [[0], [1]])
    >>> list(sides(p, np.array([[1, -1, 0], [1, 1, 0]], dtype=object)))
    [array([-1,  1]), 0]
    """
    look = _Corners(p)
    start, count = 0, 1
    while start < len(forms):  # few at first: who asks may leave at the first hyperplane that cuts a piece
        yield from look.decide(forms[start : start + count])
        start, count = start + count, max(1, min(2 * count, _BLOCK // look.size))


class _Corners:
    """The corners and rays of the pieces that have few, and the rows of the others."""

    def __init__(self, p: CPWL) -> None:
        self.p, self.probe = p, Probe(0.0)
        if p.mesh is not None:
            self.corners, count = Corners(p.mesh.corners), p.dim + 1
            self.member, self.known = p.mesh.simplices.ravel(), np.arange(p.num_pieces)
            self.first = count * self.known
        else:
            spanned = generators(p.polyhedra)
            self.corners, self.member = Corners(spanned.places), spanned.member
            self.known = np.flatnonzero(spanned.known)
            self.first = spanned.start[self.known]
        self.others = np.setdiff1d(np.arange(p.num_pieces), self.known).tolist()
        self.rows = {i: set(map(tuple, primitive(p.polyhedra[i].integer()).tolist())) for i in self.others}
        self.size = max(1, len(self.member), len(self.corners.places))

    def decide(self, forms: NDArray[np.object_]) -> Iterator[NDArray[np.int64] | int]:
        found = np.zeros((len(forms), self.p.num_pieces), dtype=np.int64)
        if len(self.known):
            at = self.corners.signs(forms)[:, self.member]
            high = np.minimum.reduceat(at, self.first, axis=1) >= 0
            low = np.maximum.reduceat(at, self.first, axis=1) <= 0
            found[:, self.known] = np.where(high, 1, np.where(low, -1, 0))
        for form, side in zip(forms, found, strict=True):
            cut = self.known[side[self.known] == 0]
            yield int(cut[0]) if len(cut) else self._rest(form, side)

    def _rest(self, form: NDArray[np.object_], side: NDArray[np.int64]) -> NDArray[np.int64] | int:
        """The same with the pieces that have too many corners, up to the first that is cut."""
        row = primitive(np.append(form[:-1], -form[-1])[None])[0]
        below, above = tuple(row), tuple(-row)
        for i in self.others:
            found = -1 if below in self.rows[i] else 1 if above in self.rows[i] else self._range(i, form)
            if found == 0:
                return int(i)
            side[i] = found
        return side

    def _range(self, i: int, form: NDArray[np.object_]) -> int:
        """The side of a piece, 0 if it has points on both; by a linear program or two."""
        body = self.p.polyhedra[i]
        if self.probe.maximum(body, form[:-1])[0] + form[-1] <= 0:
            return -1
        return int(form[-1] - self.probe.maximum(body, -form[:-1])[0] >= 0)
