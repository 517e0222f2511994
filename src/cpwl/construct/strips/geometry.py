"""Slabs: where the affine functions that the slots hold change from strip to strip.

In a slab ``[a, b] x [low, high]`` lie the lines ``xi = a``, ``xi = b`` and a diagonal. Their hinges span all affine
functions, so right of the slab a sum of first-layer neurons can be any affine function, whatever it was to the left;
in the slab it is junk, between its values at the corners. There are two systems of slabs in different places: those of
the first lie inside the gaps that were cut, those of the second begin where they end and reach to the next gap, so that
they share a line. All numbers have few bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from cpwl.construct.strips.cuts import Cuts
from cpwl.construct.strips.slots import section, short
from cpwl.construct.strips.sweep import Sweep

__all__ = ["BOTH", "FIRST", "SECOND", "Geometry", "Interval", "Slab", "place_slabs"]

BOTH, FIRST, SECOND = 0, 1, 2
"""Which system is right on an interval."""


@dataclass(frozen=True, slots=True)
class Slab:
    """``[begin, end] x [low, high]`` in the frame, with its diagonal from the lower left to the upper right."""

    begin: Fraction
    end: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    """A part of the domain between two lines, the strips of both systems at its two ends, and which is right."""

    begin: Fraction
    end: Fraction
    low: Fraction
    high: Fraction
    right: int
    one: tuple[int, int]
    two: tuple[int, int]
    steep: float
    """How steeply a way must go at most from the line where `chi` is 0 to a point of the domain in the interval."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The slabs of the two systems, and the intervals between all their lines, from left to right."""

    first: tuple[Slab, ...]
    second: tuple[Slab, ...]
    intervals: tuple[Interval, ...]
    origin: tuple[Fraction, Fraction]
    """A point below and to the left of the domain."""
    unit: tuple[Fraction, Fraction]
    """Powers of two, about the width and the height of the domain."""


def place_slabs(cuts: Cuts) -> Geometry:
    """Slabs for the gaps of `cuts`: a first one in the middle of each, second ones from its end into the next gap."""
    corners = cuts.sweep.corners
    (x_low, y_low), (x_high, y_high) = corners.min(axis=0), corners.max(axis=0)
    room_x, room_y = x_high - x_low, y_high - y_low
    left, right = _below(x_low, room_x), -_below(-x_high, room_x)
    inner, before = [], []
    for q in cuts.gaps:
        u, w = cuts.sweep.gap(q)
        width = Fraction(2) ** int(np.frexp(0.6 * (w - u))[1] - 1)
        middle = short((u + w) / 2, (w - u) / 64)
        inner.append((middle - width / 2, middle + width / 2))
        before.append(middle - width * Fraction(3, 4))  # so that the proof finds it from the slab
    outer = [(b, u) for (_, b), u in zip(inner[:-1], before[1:], strict=True)]
    breaks = [x for (a, b), u in zip(inner, before, strict=True) for x in (u, a, b)]
    intervals = _intervals(cuts.sweep, [left, *breaks, right], len(inner))
    origin = (left, _below(y_low, room_y))
    unit = (_power(room_x), _power(room_y))
    return Geometry(_slabs(cuts.sweep, inner), _slabs(cuts.sweep, outer), intervals, origin, unit)


def _intervals(sweep: Sweep, breaks: list[Fraction], cuts: int) -> tuple[Interval, ...]:
    """The right ones are, for each cut: first, both, second; and first after the last."""
    found = []
    for i, (begin, end) in enumerate(pairwise(breaks)):
        k, part = divmod(i, 3)
        right = (FIRST, BOTH, SECOND)[part]
        one = (k, k + 1) if part == 2 else (k, k)
        two = (max(k - 1, 0), min(k, max(cuts - 1, 0))) if part == 0 else (k, k)
        low, high = _range(sweep, begin, end)
        steep = _steep(sweep, float(end if right == SECOND else begin), float(begin), float(end))
        found.append(Interval(begin, end, low, high, right, one, two, steep))
    return tuple(found)


def _steep(sweep: Sweep, at: float, begin: float, end: float) -> float:
    """The steepest of the shortest ways from the section of the domain at one end of an interval to its points."""
    left, right = sweep.corners[:, 0].min(), sweep.corners[:, 0].max()
    if not left <= at <= right:
        return 0.0
    low, high = section(sweep.corners, at, at)
    other = min(max(begin + end - at, left), right)
    points = [(x, y) for x, y in sweep.corners.tolist() if begin <= x <= end]
    points += [(other, y) for y in section(sweep.corners, other, other)]
    ways = [max(0.0, y - high, low - y) / abs(x - at) for x, y in points if x != at]
    return max(ways, default=0.0) * 1.001


def _slabs(sweep: Sweep, ends: list[tuple[Fraction, Fraction]]) -> tuple[Slab, ...]:
    return tuple(Slab(a, b, *_range(sweep, a, b)) for a, b in ends)


def _range(sweep: Sweep, begin: Fraction, end: Fraction) -> tuple[Fraction, Fraction]:
    """Short numbers below and above the domain between two abscissae."""
    low, high = section(sweep.corners, float(begin), float(end))
    room = float(np.ptp(sweep.corners[:, 1]))
    return _below(low, room), -_below(-high, room)


def _below(x: float, room: float) -> Fraction:
    """A short number that is less than `x` by at most a sixteenth of `room`."""
    unit = _power(room) / 16
    return (Fraction(x) - unit / 2**20) // unit * unit


def _power(room: float) -> Fraction:
    return Fraction(2) ** int(np.frexp(room)[1] - 1)
