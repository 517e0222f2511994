"""Polyhedra with an interior, by irredundant rows and by what spans them, many at once and exactly.

A polyhedron with generators has an interior iff no row is tight at all of them. Then its facets are its largest faces:
a row is one of a facet iff a corner is tight in it and no other row is tight at the same generators and at more. So
once corners and rays are known there is nothing left to solve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive, unit_view
from cpwl.exact.signs import sides
from cpwl.geometry.facets import facets_of, hyperplanes
from cpwl.geometry.generators import MOST, generators
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.geometry.probe import Probe
from cpwl.geometry.ranges import ranges
from cpwl.geometry.spans import Spans

__all__ = ["Bodies", "joined_bodies", "solid", "stacked"]

_LONGEST = 62  # generators that a mask of 64 bits tells apart
_BLOCK = 20_000  # polyhedra at a time


@dataclass(frozen=True, slots=True, eq=False)
class Bodies:
    """Polyhedra with an interior and irredundant integer rows; `spans` has generators in integers where known."""

    polyhedra: Polyhedra
    spans: Spans

    def __len__(self) -> int:
        return len(self.polyhedra)

    @property
    def rows(self) -> NDArray[np.object_]:
        """All rows ``(a, b)``, primitive integers."""
        assert self.polyhedra.exact is not None
        return self.polyhedra.exact

    @property
    def places(self) -> NDArray[np.object_]:
        """All corners ``(x, 1) * w`` and rays ``(r, 0)``."""
        assert self.spans.exact is not None
        return self.spans.exact

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which of them have generators: the others contain a line, or have too many rows."""
        return np.asarray(np.diff(self.spans.start) > 0)

    def take(self, which: NDArray[np.int64]) -> Bodies:
        """Those with the given numbers, in that order."""
        entry, owner = ranges(self.spans.start[which], np.diff(self.spans.start)[which])
        start = np.searchsorted(owner, np.arange(len(which) + 1)).astype(np.int64)
        spans = Spans(self.spans.view, self.spans.exact, start, self.spans.member[entry], self.spans.rank)
        return Bodies(self.polyhedra.take(which), spans)


def stacked(rows: NDArray[np.object_], start: NDArray[np.int64]) -> Polyhedra:
    """Polyhedra of primitive integer rows ``(a, b)``, the float view scaled to largest slope 1."""
    scale = np.abs(rows[:, :-1]).max(axis=1) if len(rows) else np.ones(0, dtype=object)
    view = np.asarray(rows / scale[:, None], dtype=np.float64).reshape(rows.shape)
    return Polyhedra(view[:, :-1].copy(), view[:, -1].copy(), start, rows)


def joined_bodies(parts: Sequence[Bodies]) -> Bodies:
    """Several stacks as one."""
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate([part.rows for part in parts])
    start = _chained([part.polyhedra.start for part in parts])
    A, b = (np.concatenate([getattr(part.polyhedra, name) for part in parts]) for name in ("A", "b"))
    shift = np.cumsum([0] + [len(part.places) for part in parts])
    member = np.concatenate([part.spans.member + by for part, by in zip(parts, shift[:-1], strict=True)])
    view, places = np.concatenate([part.spans.view for part in parts]), np.concatenate([part.places for part in parts])
    begin = _chained([part.spans.start for part in parts])
    return Bodies(Polyhedra(A, b, start, rows), Spans(view, places, begin, member, rows.shape[1] - 1))


def _chained(starts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    lengths = np.concatenate([np.diff(start) for start in starts])
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def solid(polyhedra: Polyhedra, pointed: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int64], Bodies]:
    """The polyhedra that have an interior: their numbers, and the same without redundant rows.

    `pointed` says which of them are known to contain no line: then one without corners is empty.

    >>> strip = Polyhedra.from_lists([[[1, 0], [0, 1], [-1, -1], [1, 1]], [[1, 0], [-1, 0]]], [[1, 1, 0, 9], [0, 0]])
    >>> kept, bodies = solid(strip)
    >>> kept, bodies.rows.tolist()
    (array([0]), [[1, 0, 1], [0, 1, 1], [-1, -1, 0]])
    """
    sure = np.zeros(len(polyhedra), dtype=bool) if pointed is None else pointed
    parts, kept = [], []
    for first in range(0, len(polyhedra), _BLOCK):
        block = np.arange(first, min(first + _BLOCK, len(polyhedra)))
        for which, bodies in _solid(polyhedra.take(block), sure[block]):
            kept.append(block[which])
            parts.append(bodies)
    if not parts:
        return np.zeros(0, dtype=np.int64), _nothing(polyhedra.dim)
    number = np.concatenate(kept)
    order = np.argsort(number, kind="stable")
    return number[order], joined_bodies(parts).take(order)


def _nothing(dim: int) -> Bodies:
    none, zero = np.zeros((0, dim + 1), dtype=object), np.zeros(1, dtype=np.int64)
    return Bodies(stacked(none, zero), Spans(np.zeros((0, dim + 1)), none, zero, zero[:0], dim))


def _solid(polyhedra: Polyhedra, pointed: NDArray[np.bool_]) -> list[tuple[NDArray[np.int64], Bodies]]:
    """By generators those that have them, by linear programs the others unless they are empty."""
    whole = Polyhedra(polyhedra.A, polyhedra.b, polyhedra.start, primitive(polyhedra.integer()))
    found = generators(whole)
    count = np.diff(found.start)
    usable = (count > 0) & (count <= _LONGEST)
    spans = Spans(unit_view(found.places), found.places, found.start, found.member, whole.dim)
    result = []
    which = np.flatnonzero(usable)
    if len(which):
        result.append(_by_generators(Bodies(whole, spans).take(which), which))
    size = np.diff(whole.start)
    tried = np.array([math.comb(int(k) + 1, whole.dim) <= MOST for k in size], dtype=bool)
    rest = np.flatnonzero(~usable & ~((count == 0) & pointed & tried))
    if len(rest):
        result.append(_by_programs(whole, rest))
    return result


def _by_generators(bodies: Bodies, number: NDArray[np.int64]) -> tuple[NDArray[np.int64], Bodies]:
    start, begin = bodies.polyhedra.start, bodies.spans.start
    owner = bodies.polyhedra.owner
    entry, row = ranges(begin[owner], np.diff(begin)[owner])
    member = bodies.spans.member[entry]
    tight = sides(bodies.rows, bodies.places, row, member) == 0
    mask = np.zeros(len(owner), dtype=np.int64)
    np.bitwise_or.at(mask, row[tight], np.left_shift(np.int64(1), entry[tight] - begin[owner][row[tight]]))
    full = np.left_shift(np.int64(1), np.diff(begin)[owner]) - 1
    inner = np.ones(len(bodies), dtype=bool)
    inner[owner[mask == full]] = False
    corner = np.zeros(len(owner), dtype=bool)
    corner[row[tight & np.asarray(bodies.places[member, -1] != 0, dtype=bool)]] = True
    facet = corner & ~_within_another(mask, corner, start, owner)
    kept = np.flatnonzero(inner)
    rows = np.flatnonzero(facet & inner[owner])
    new = np.searchsorted(owner[rows], np.append(kept, len(bodies))).astype(np.int64)
    chosen = bodies.take(kept)
    exact = bodies.rows[rows]
    polyhedra = Polyhedra(bodies.polyhedra.A[rows], bodies.polyhedra.b[rows], new, exact)
    return number[kept], Bodies(polyhedra, chosen.spans)


def _within_another(
    mask: NDArray[np.int64], corner: NDArray[np.bool_], start: NDArray[np.int64], owner: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The rows that are tight where another one is, which is tight at more places, or at the same and came first."""
    other, row = ranges(start[owner], np.diff(start)[owner])
    inside = (mask[row] & ~mask[other] == 0) & corner[other]
    beaten = inside & ((mask[row] != mask[other]) | (other < row))
    result = np.zeros(len(mask), dtype=bool)
    result[row[beaten]] = True
    return result


def _by_programs(polyhedra: Polyhedra, which: NDArray[np.int64]) -> tuple[NDArray[np.int64], Bodies]:
    """Interior and facets by linear programs, one polyhedron after the other."""
    planes, probe = hyperplanes(polyhedra, 0.0), Probe(0.0)
    kept, rows = [], []
    for i in which.tolist():
        if probe.interior(polyhedra[i]) is not None:
            kept.append(i)
            rows.append([facet.row for facet in facets_of(polyhedra, planes, i, probe)])
    start = np.cumsum([0] + [len(own) for own in rows]).astype(np.int64)
    chosen = np.array([r for own in rows for r in own], dtype=np.int64)
    exact = polyhedra.exact
    assert exact is not None
    stack = Polyhedra(polyhedra.A[chosen], polyhedra.b[chosen], start, exact[chosen])
    none = np.zeros((0, polyhedra.dim + 1), dtype=object)
    spans = Spans(np.zeros((0, polyhedra.dim + 1)), none, np.zeros(len(kept) + 1, dtype=np.int64), chosen[:0], 0)
    return np.array(kept, dtype=np.int64), Bodies(stack, spans)
