"""Polyhedra and cones that are cut again and again, held by what spans them, exactly.

In homogeneous coordinates ``(x, w)`` a polyhedron is a cone: corners are ``(x, 1) w`` with ``w > 0``, rays ``(r, 0)``,
and lines stand for both of their senses. A half-space ``a . x <= b`` is a row ``(a, -b)``, and cutting by it is one
step of the double description method (Motzkin and others 1953; Fukuda and Prodon 1996), all in integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TypeAlias

_Place: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """What spans a polyhedron: corners and rays, each with the rows (by bits) that it lies on, and lines."""

    rays: tuple[tuple[_Place, int], ...]
    lines: tuple[_Place, ...]
    rows: int
    """How many rows have cut it: the next one has this number."""

    @property
    def places(self) -> list[_Place]:
        """Corners and rays, and both senses of each line."""
        return [*(x for x, _ in self.rays), *self.lines, *(tuple(-v for v in x) for x in self.lines)]

    @property
    def has_point(self) -> bool:
        """Whether anything is left of it."""
        return any(x[-1] > 0 for x, _ in self.rays) or any(x[-1] for x in self.lines)

    @property
    def is_solid(self) -> bool:
        """Whether it has an interior: points, and no row that is tight at all of it."""
        return self.has_point and reduce(and_, (tight for _, tight in self.rays), (1 << self.rows) - 1) == 0


def cell_of(rows: Iterable[Sequence[int]], dim: int) -> Cell:
    """The polyhedron of all rows ``(a, -b)``: ``a . x <= b``.

    >>> [place for place, _ in cell_of([(-1, 0, 0), (0, -1, 0), (1, 1, -1)], 2).rays]
    [(0, 0, 1), (0, 1, 1), (1, 0, 1)]
    """
    return cone_of([(0,) * dim + (-1,), *rows], dim + 1)  # w >= 0


def cone_of(rows: Iterable[Sequence[int]], dim: int) -> Cell:
    """The cone of all `y` with ``row . y <= 0`` for each row: its extreme rays and lines.

    >>> [ray for ray, _ in cone_of([(-1, 0), (1, -1)], 2).rays]
    [(0, 1), (1, 1)]
    """
    cell = Cell((), tuple(tuple(int(i == k) for i in range(dim)) for k in range(dim)), 0)
    for row in rows:
        cell = cut(cell, tuple(row))
    return Cell(tuple(sorted(cell.rays)), cell.lines, cell.rows)


def spanned_by(places: Iterable[Sequence[int]], rows: Sequence[Sequence[int]]) -> Cell:
    """The cell of these rows, that of infinity included, whose corners and rays are known; it has no lines."""
    tight = [(tuple(x), sum(1 << k for k, row in enumerate(rows) if not _dot(row, x))) for x in places]
    return Cell(tuple(tight), (), len(rows))


def cut(cell: Cell, row: _Place) -> Cell:
    """The part of the cell on which ``row . (x, w) <= 0``."""
    bit = 1 << cell.rows
    along = next((line for line in cell.lines if _dot(row, line)), None)
    if along is not None:
        return _cut_line(cell, row, along, bit)
    values = [(place, tight, _dot(row, place)) for place, tight in cell.rays]
    kept = [(place, tight | bit if value == 0 else tight) for place, tight, value in values if value <= 0]
    inside = [entry for entry in values if entry[2] < 0]
    outside = [entry for entry in values if entry[2] > 0]
    masks = [tight for _, tight in cell.rays]
    few = len(row) - len(cell.lines) - 2
    for x, at_x, below in inside:
        for y, at_y, above in outside:
            common = at_x & at_y
            # An edge joins them iff no third one lies on all rows that both lie on; these hold all but two dimensions.
            if common.bit_count() >= few and sum(mask & common == common for mask in masks) == 2:
                kept.append((_primitive([above * u - below * v for u, v in zip(x, y, strict=True)]), common | bit))
    return Cell(tuple(kept), cell.lines, cell.rows + 1)


def _cut_line(cell: Cell, row: _Place, along: _Place, bit: int) -> Cell:
    """One line less: half of it stays as a ray, and everything else is moved along it onto the row."""
    slope = _dot(row, along)
    if slope > 0:
        along, slope = tuple(-v for v in along), -slope

    def moved(place: _Place) -> _Place:
        value = _dot(row, place)
        return _primitive([-slope * u + value * v for u, v in zip(place, along, strict=True)])

    rays = [(moved(place), tight | bit) for place, tight in cell.rays]
    lines = [moved(line) for line in cell.lines if line not in (along, tuple(-v for v in along))]
    return Cell((*rays, (along, bit - 1)), tuple(lines), cell.rows + 1)


def _dot(row: Sequence[int], place: Sequence[int]) -> int:
    return sum(a * x for a, x in zip(row, place, strict=True))


def _primitive(place: list[int]) -> _Place:
    divisor = math.gcd(*place) or 1
    return tuple(v // divisor for v in place)
