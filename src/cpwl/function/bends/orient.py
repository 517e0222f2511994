"""The bends of a function oriented away from another point: from each cell that its lines cut the domain into.

Along a line that is turned round the jump runs from its end to its start: ``start' = start + sum of steps`` and
``step' = -step``; the jump itself is that of `l` and of `-l`, which differ by an affine function.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import sign
from cpwl.function.bends.edges import cross
from cpwl.function.bends.planar import PlanarBends, away_from, signed
from cpwl.function.cpwl import CPWL

__all__ = ["orientations"]

_Polygon = list[NDArray[np.object_]]


def orientations(bends: PlanarBends, p: CPWL) -> Iterator[PlanarBends]:
    """The bends of `p` oriented away from a point of each cell of their lines but the one they have now.

    So what comes does not depend on how a function is cut into pieces.

    >>> from cpwl.function.bends.planar import find_bends
    >>> p = CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0], [1], [2]])
    >>> len(list(orientations(find_bends(p), p)))  # three lines through a point: six cells
    5
    """
    seen = {(1,) * len(bends.lines)}
    for cell in _cells(bends):
        point = _mean(cell)
        turn = away_from(bends.lines, point)
        if tuple(turn) not in seen:
            seen.add(tuple(turn))
            yield _turned(bends, turn, point, _law_at(p, point))


def _turned(
    bends: PlanarBends, turn: NDArray[np.int64], point: NDArray[np.object_], law: NDArray[np.object_]
) -> PlanarBends:
    end = bends.start.copy()
    np.add.at(end, bends.line, bends.step)
    start = np.where(turn[:, None] > 0, bends.start, end)
    step = signed(bends.step, turn[bends.line])
    return replace(bends, lines=bends.lines * turn[:, None], start=start, step=step, point=point, law=law)


def _law_at(p: CPWL, point: NDArray[np.object_]) -> NDArray[np.object_]:
    """The law at a point of the domain that is on no bend: that of any piece with it."""
    rows = p.polyhedra.integer()
    out = np.flatnonzero((rows[:, :2] * point[:2]).sum(axis=1) > rows[:, 2] * point[2])
    return np.asarray(p.laws.integer()[np.setdiff1d(np.arange(p.num_pieces), p.polyhedra.owner[out])[0]])


def _cells(bends: PlanarBends) -> list[_Polygon]:
    """The cells of the lines in the domain, polygons of places ``(X, Y, W)``; unbounded ones are clipped far out."""
    one, two = np.triu_indices(len(bends.lines), 1)
    places = cross(bends.lines[one], bends.lines[two])
    places = np.concatenate([places[places[:, 2] != 0], bends.vertices, bends.corners[bends.corners[:, 2] != 0]])
    far = 2 + 2 * max((abs(v) // abs(w) for x, y, w in places for v in (x, y)), default=0)
    cells = [[np.array([a * far, b * far, 1], dtype=object) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))]]
    for form in bends.boundary:
        cells = [part for cell in cells for part in _cut(cell, form)[:1] if part]
    for form in bends.lines:
        cells = [part for cell in cells for part in _cut(cell, form) if part]
    return cells


def _cut(cell: _Polygon, form: NDArray[np.object_]) -> tuple[_Polygon, _Polygon]:
    """What a polygon has where a form is at least 0, and where it is at most 0; empty where that has no interior."""
    at = sign(np.array(cell) @ form)
    if (at >= 0).all() or (at <= 0).all():
        return (cell, []) if (at >= 0).all() else ([], cell)
    above: _Polygon = []
    below: _Polygon = []
    for k, place in enumerate(cell):
        other = (k + 1) % len(cell)
        above += [place] if at[k] >= 0 else []
        below += [place] if at[k] <= 0 else []
        if at[k] * at[other] < 0:
            between = place * abs(form @ cell[other]) + cell[other] * abs(form @ place)
            between = between // math.gcd(*between)
            above.append(between)
            below.append(between)
    return above, below


def _mean(cell: _Polygon) -> NDArray[np.object_]:
    x, y = (sum((Fraction(place[k], place[2]) for place in cell), Fraction(0)) / len(cell) for k in (0, 1))
    common = math.lcm(x.denominator, y.denominator)
    return np.array([int(x * common), int(y * common), common], dtype=object)
