"""Clipped coordinates: knots that floats have exactly, and for each line and bump the largest knots below its stars.

A hinge that reads ``relu(x - X_i)`` instead of `x` has small terms near its stars, so that little is rounded there. It
is another function where ``x < X_i``; there a window ``-K relu(X_i - x)`` keeps the bump at 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cpwl.construct.clamped.clusters import Stars
from cpwl.construct.clamped.exact import Bump
from cpwl.exact.rational import to_float

__all__ = ["Knots", "Tiles", "make_tiles", "penalty"]

Knots = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Tiles:
    """The knots of both coordinates, and those that lines and bumps begin at."""

    knots: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
    line: dict[int, Knots]
    bump: list[Knots]
    reach: float
    """The largest sum of the sides of a box around the domain, rounded up."""
    room: list[float]
    """For each bump a bound below on how far some point of the domain is beyond all its knots, in both coordinates."""

    @property
    def count(self) -> int:
        return len(self.knots[0])


def make_tiles(stars: Stars, bumps: list[Bump], count: int) -> Tiles:
    """Tiles of ``count x count`` equal boxes, about; with one there are no windows."""
    places = stars.table.places
    exact = [[Fraction(x, w) for x, w in zip(places[:, k], places[:, 2], strict=True)] for k in (0, 1)]
    low, high = [min(own) for own in exact], [max(own) for own in exact]
    x, y = (_knots(a, b, count) for a, b in zip(low, high, strict=True))
    lows = [_lowest(exact, _star(stars, bump)) for bump in bumps]
    own = [(_below(x, a), _below(y, b)) for a, b in lows]
    line: dict[int, Knots] = {}
    for bump, (i, j) in zip(bumps, own, strict=True):
        for h in _lines(bump):
            a, b = line.get(h, (i, j))
            line[h] = min(a, i), min(b, j)
    reach = float(sum((b - a for a, b in zip(low, high, strict=True)), Fraction(0))) * (1 + 1e-9)
    view = np.stack([to_float(np.array(part, dtype=object)) for part in exact], axis=1)
    room = []
    for bump, (i, j) in zip(bumps, own, strict=True):
        centres = view[stars.table.triangles[list(_triangles(bump))]].mean(axis=1)
        beyond = np.concatenate([view, centres]) - (float(x[i]), float(y[j]))
        room.append(float(beyond.min(axis=1).max()) * (1 - 1e-9))
    return Tiles((x, y), line, own, reach, room)


def _star(stars: Stars, bump: Bump) -> set[int]:
    return {v for t in _triangles(bump) for v in stars.corners[t]}


def _triangles(bump: Bump) -> set[int]:
    return {t for half in bump.cluster.halves for t in half.triangles}


def _lines(bump: Bump) -> Iterable[int]:
    gate = {bump.cluster.line} if len(bump.sums) > 1 else set()
    return {ray.line for half in bump.cluster.halves for ray in half.rays} | gate


def _lowest(exact: list[list[Fraction]], corners: set[int]) -> tuple[Fraction, Fraction]:
    return min(exact[0][v] for v in corners), min(exact[1][v] for v in corners)


def _knots(low: Fraction, high: Fraction, count: int) -> tuple[Fraction, ...]:
    """Equal steps, each rounded down to a number of float32; the first is at most `low`."""
    knots = [_single_below(low + (high - low) * i / count) for i in range(count)]
    return tuple(dict.fromkeys(knots))


def _single_below(x: Fraction) -> Fraction:
    near = np.float32(float(x))
    if Fraction(float(near)) > x:
        near = np.nextafter(near, np.float32(-math.inf))
    return Fraction(float(near)) if math.isfinite(near) else x


def _below(knots: tuple[Fraction, ...], x: Fraction) -> int:
    return max(i for i, knot in enumerate(knots) if knot <= x)


def penalty(tiles: Tiles, number: int, rate: float) -> Fraction:
    """A power of two `K`: a sum that changes by at most `rate` a unit, and is at most 0 on the knots, is at most
    ``K (relu(X - x) + relu(Y - y))`` below them.

    From a point of the domain walk straight to one that is beyond the knots by `room`: after at most ``reach / room``
    times that sum of distances one is on them, inside the domain.
    """
    bound = rate * max(1.0, tiles.reach / tiles.room[number])
    return Fraction(2) ** (math.frexp(2 * bound)[1])
