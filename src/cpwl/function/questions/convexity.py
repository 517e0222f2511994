"""Convex or concave: a continuous function on a convex domain is convex iff it bends upwards across every inner facet.

Pieces with facets on one hyperplane, from both sides, whose boxes meet are candidates. Where two of them share a part
of a facet their laws differ by a multiple of its row, and the sign of the multiple is the bend. So a candidate whose
laws differ otherwise shares nothing, and only one that bends the wrong way must be shown to share a point.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import within_float64
from cpwl.exact.integers import sign
from cpwl.exact.rational import fraction_array
from cpwl.function.answers import Answer, number_text, point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.questions.asked import Asked, asked, one_output
from cpwl.geometry.bodies import Bodies, stacked
from cpwl.geometry.box_pairs import box_pairs, boxes_around
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["bends", "is_concave", "is_convex"]


@within_float64()
def is_convex(p: CPWL, *, output: int | None = None, domain: Any = None, box: Any = None) -> Answer:
    """Whether an output is convex: no comes with two points and their middle, where the function is too large."""
    return bends(asked(p, domain, box), one_output(p, output), 1)


@within_float64()
def is_concave(p: CPWL, *, output: int | None = None, domain: Any = None, box: Any = None) -> Answer:
    """Whether an output is concave: no comes with two points and their middle, where the function is too small."""
    return bends(asked(p, domain, box), one_output(p, output), -1)


def bends(about: Asked, j: int, sense: int) -> Answer:
    """Whether output `j` bends upwards everywhere, with `sense` -1 downwards."""
    word, slack = ("convex" if sense == 1 else "concave"), Fraction(0)
    one, two, row = _candidates(about.bodies)
    f, g = about.laws[one, j], about.laws[two, j]
    change = g[:, :-1] * f[:, -1:] - f[:, :-1] * g[:, -1:]
    wall = np.column_stack([about.bodies.rows[row, :-1], -about.bodies.rows[row, -1:]])
    bend = sign((change * wall).sum(axis=1)) * sense
    probe = Probe(0.0)
    for k in np.flatnonzero((bend < 0) & _proportional(change, wall)).tolist():
        size = max(abs(Fraction(int(v), int(f[k, -1] * g[k, -1]))) for v in change[k, :-1])
        if size <= about.noise:
            slack = max(slack, size)
            continue
        point = _shared(probe, about.bodies, int(one[k]), int(two[k]), int(row[k]))
        if point is not None:
            return _refuted(about, j, int(one[k]), int(two[k]), point, wall[k, :-1], word)
    return Answer(True, f"it is {word} across all facets", slack=slack, moved=about.moved)


def _candidates(bodies: Bodies) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Pieces on the two sides of a hyperplane that may share a facet there, and the row of the first."""
    planes = hyperplanes(bodies.polyhedra, 0.0)
    owner = bodies.polyhedra.owner
    low, high = boxes_around(bodies.spans, len(bodies), bodies.polyhedra.dim)
    sides = [np.flatnonzero(planes.side == s) for s in (1, -1)]
    # The number of the hyperplane is one more coordinate of the boxes.
    number = [planes.number[rows].astype(np.float64)[:, None] for rows in sides]
    lows = [np.concatenate([h, low[owner[rows]]], axis=1) for h, rows in zip(number, sides, strict=True)]
    highs = [np.concatenate([h, high[owner[rows]]], axis=1) for h, rows in zip(number, sides, strict=True)]
    if not len(sides[0]) or not len(sides[1]):
        return (np.zeros(0, dtype=np.int64),) * 3
    pairs = box_pairs(lows[0], highs[0], (lows[1], highs[1]))
    one, two = sides[0][pairs[:, 0]], sides[1][pairs[:, 1]]
    return owner[one], owner[two], one


def _proportional(change: NDArray[np.object_], wall: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Whether two rows are multiples of each other, for many pairs."""
    if not len(wall):
        return np.zeros(0, dtype=bool)
    lead = np.argmax(wall != 0, axis=1)
    at = np.arange(len(wall))
    cross = change * wall[at, lead][:, None] - wall * change[at, lead][:, None]
    return ~np.asarray((cross != 0).any(axis=1), dtype=bool)


def _shared(probe: Probe, bodies: Bodies, i: int, j: int, row: int) -> NDArray[np.object_] | None:
    """A point inside what two pieces share of the hyperplane of a row of the first, if that has an inside."""
    start = bodies.polyhedra.start
    mine = [r for r in range(start[i], start[i + 1]) if r != row]
    wall = tuple(-bodies.rows[row])
    yours = [r for r in range(start[j], start[j + 1]) if tuple(bodies.rows[r]) != wall]
    stack = stacked(bodies.rows[[row, *mine, *yours]], np.array([0, 1 + len(mine) + len(yours)]))
    body: Polyhedron = stack[0]
    found = probe.interior(body, on=[0])
    return None if found is None else fraction_array(found)


def _refuted(
    about: Asked, j: int, one: int, two: int, point: NDArray[np.object_], normal: NDArray[np.object_], word: str
) -> Answer:
    """Two points across the facet, as far away as both pieces allow, and their middle on it."""
    step = Fraction(1)
    for i, way in ((one, -1), (two, 1)):
        first, last = about.bodies.polyhedra.start[i : i + 2]
        rows = about.bodies.rows[first:last]
        room = rows[:, -1] - (rows[:, :-1] * point).sum(axis=1)
        speed = way * (rows[:, :-1] * normal).sum(axis=1)
        step = min([step, *(Fraction(r) / s for r, s in zip(room, speed, strict=True) if s > 0)])
    ends = np.asarray(point - step * normal), np.asarray(point + step * normal)
    values = (about.value(one, ends[0])[j], about.value(one, point)[j], about.value(two, ends[1])[j])
    reason = (
        f"not {word}: at x = {point_text(ends[0])}, their middle and {point_text(ends[1])} it is "
        f"{', '.join(number_text(v) for v in values)}"
    )
    shown = tuple(np.array([v], dtype=object) for v in values)
    return Answer(False, reason, (ends[0], point, ends[1]), shown, moved=about.moved)
