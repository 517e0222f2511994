"""A rational point where network and function differ, if one is found among those worth trying."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array, to_float
from cpwl.function import CPWL
from cpwl.geometry.probe import Probe
from cpwl.network import Network

__all__ = ["find_difference"]

_PIECES = 400  # how many pieces to look at, at most: a search, not a proof
_TRIES = 24  # points in each of them
_WORK = 10**6  # products of rationals that an exact search may cost
_LARGEST = 16  # of the float differences, how many to look at exactly

Point = NDArray[np.object_]


def find_difference(
    p: CPWL, network: Network, tolerance: Fraction, points: list[Any]
) -> tuple[Point, Point, Point] | None:
    """The point, the network's value and the function's, where they differ by more than `tolerance`; or None.

    First the given points, then points of the pieces: where floats differ most, and then all of them in rationals,
    since floats see no difference of 1e-30.
    """
    for x in points:
        found = _differ(p, network, tolerance, fraction_array(np.asarray(x, dtype=object))[None])
        if found is not None:
            return found
    places = np.array(list(_places(p)), dtype=object).reshape(-1, p.dim)
    at = to_float(places)
    with np.errstate(all="ignore"):
        gap = np.abs(network(at) - p(at)).max(axis=1)
    gap = np.where(np.isfinite(gap), gap, 0.0)
    first = np.argsort(-gap, kind="stable")[:_LARGEST]
    count = max(_PIECES // 4, _WORK // (network.sizes.nonzeros + 1))
    for block in [first, *np.array_split(np.arange(min(len(places), count)), count // 32 + 1)]:
        found = _differ(p, network, tolerance, places[block]) if len(block) else None
        if found is not None:
            return found
    return None


def _differ(p: CPWL, network: Network, tolerance: Fraction, x: Point) -> tuple[Point, Point, Point] | None:
    """The first of some points at which the difference is too large."""
    ours = p(x)
    inside = np.array([row[0] is not None for row in ours])
    x, ours = x[inside], ours[inside]
    if len(x) == 0:
        return None
    theirs = network(x)
    far = np.flatnonzero((np.abs(theirs - ours) > tolerance).any(axis=1))
    return (x[far[0]], theirs[far[0]], ours[far[0]]) if len(far) else None


def _places(p: CPWL) -> Iterator[Point]:
    """Rational points of the pieces: first one inside each, then others towards their boundaries and corners."""
    step = -(-p.num_pieces // _PIECES)
    pieces = range(0, p.num_pieces, step)
    rng = np.random.default_rng(0)
    if p.mesh is not None:
        corners = p.mesh.corners[p.mesh.simplices[::step]]
        exact = fraction_array(corners[..., :-1]) / corners[..., -1:]
        for k in range(_TRIES + p.dim + 1):
            weight = np.arange(2, p.dim + 3) if k == 0 else rng.integers(1, 4, p.dim + 1) ** 3
            if k >= _TRIES:
                weight = np.arange(p.dim + 1) == k - _TRIES  # a corner
            share = fraction_array(weight.astype(np.int64)) / int(weight.sum())
            yield from (exact * share[:, None]).sum(axis=1)
        return
    probe = Probe(p.tol)
    inner = {i: fraction_array(x) for i in pieces if (x := probe.interior(p.polyhedra[i])) is not None}
    rows, start = p.polyhedra.integer(), p.polyhedra.start
    yield from inner.values()
    for k in range(1, _TRIES):
        for i, x in inner.items():
            toward = rng.integers(-4, 5, p.dim)
            if k % 3 == 0:
                value, corner = probe.maximum(p.polyhedra[i], toward)
                if np.isfinite(float(value)):
                    yield fraction_array(corner)
            else:
                # On the boundary, which belongs to the piece, and on the way to it; or farther and farther out.
                share = Fraction(1) if k % 3 == 1 else Fraction(k, _TRIES)
                length = _length(rows[start[i] : start[i + 1]], x, toward, 10 ** (k // 3))
                yield x + share * length * fraction_array(toward)


def _length(rows: NDArray[np.object_], x: Point, toward: NDArray[np.int64], most: int) -> Fraction:
    """How far one can go from a point of the polyhedron in that direction, at most so far."""
    speed = (rows[:, :-1] * toward).sum(axis=1)
    room = rows[:, -1] - (rows[:, :-1] * x).sum(axis=1)
    return min((Fraction(r) / s for r, s in zip(room, speed, strict=True) if s > 0), default=Fraction(most))
