"""A rational point where network and function differ, if one is found among those worth trying."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array, to_float
from cpwl.function import CPWL
from cpwl.function.evaluate import inner_points
from cpwl.geometry.probe import Probe
from cpwl.network import Network

_PIECES = 400  # how many pieces to look at, at most: a search, not a proof
_TRIES = 24  # points in each of them
_WORK = 10**6  # products of rationals that an exact search may cost
_LARGEST = 16  # of the float differences, how many to look at exactly
_MEANS = 200  # points of each piece in floats, to meet the linear regions of the network
_ACTIVATIONS = 2 * 10**7  # how many neurons at how many of them, at most

_FAR = (0, 3, 9, 20, 40, 80)  # powers of ten: an error of 1e-30 in a slope is seen far out

Point = NDArray[np.object_]


def points_at(p: CPWL, places: list[list[int]]) -> list[list[Fraction]]:
    """The places that a checker names, ``(x w, w)``, as points; a direction ``(r, 0)`` stands for points far out.

    They lie in that direction from the other places, or from some points of the pieces where there are none.
    """
    if any(x[-1] for x in places) or not places:
        return points_from(places)
    _, found = _places(p)
    return points_from(places, found[:: max(1, len(found) // 8)].tolist())


def points_from(places: list[list[int]], starts: list[list[Fraction]] | None = None) -> list[list[Fraction]]:
    """Places as points, and points farther and farther out in the directions among them, from these or from `starts`.

    >>> [[str(v) for v in x] for x in points_from([[1, 2], [3, 0]])[:3]]
    [['1/2'], ['7/2'], ['6001/2']]
    """
    points = [[Fraction(v, x[-1]) for v in x[:-1]] for x in places if x[-1]]
    directions = [x[:-1] for x in places if not x[-1]]
    for r in directions:
        points = points + [
            [a + 10**k * v for a, v in zip(x, r, strict=True)] for k in _FAR for x in starts or points[:8]
        ]
    return points


def find_difference(
    p: CPWL, network: Network, tolerance: Fraction, points: list[Any], unit: Fraction | None = None
) -> tuple[Point, Point, Point] | None:
    """The point, the network's value and the function's, where they differ by more than `tolerance`; or None.

    Noise in slopes is seen far out: with a `unit` the tolerance at `x` is that of points of this size, ``max |x_i|``
    over `unit` times larger where that is more than 1.

    First the given points, then points of the pieces: where floats differ most, and then all of them in rationals,
    since floats see no difference of 1e-30; then a point of each linear region of the network that is met.
    """
    for x in points:
        found = _differ(p, network, (tolerance, unit), fraction_array(np.asarray(x, dtype=object))[None])
        if found is not None:
            return found
    owner, places = _places(p)
    more = _between(owner, to_float(places), network)
    at = np.concatenate([to_float(places), more])
    with np.errstate(all="ignore"):
        gap = np.abs(network(at) - p(at)).max(axis=1)
    first = np.argsort(-np.where(np.isfinite(gap), gap, 0.0), kind="stable")[:_LARGEST]
    regions = more[_one_each(network, more)]
    count = max(_PIECES // 4, _WORK // (network.sizes.nonzeros + 1))
    for x in (fraction_array(at[first]), places[:count], fraction_array(regions[:count])):
        for block in np.array_split(x, len(x) // 32 + 1):
            found = _differ(p, network, (tolerance, unit), block)
            if found is not None:
                return found
    return None


def _between(owner: NDArray[np.int64], at: NDArray[np.float64], network: Network) -> NDArray[np.float64]:
    """Random means of a few of the points of each piece, which is convex; with the first, so that they are inside."""
    rng = np.random.default_rng(1)
    pieces = np.unique(owner)
    each = int(np.clip(_ACTIVATIONS // ((network.sizes.neurons + 1) * len(pieces)), 1, _MEANS))
    few = at.shape[1] + 1
    found = []
    for i in pieces:
        ends = at[owner == i]
        which = np.column_stack([np.zeros(each, dtype=np.int64), rng.integers(len(ends), size=(each, few - 1))])
        found.append((rng.dirichlet(np.ones(few), each)[:, :, None] * ends[which]).sum(axis=1))
    return np.concatenate(found)


def _one_each(network: Network, at: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first of the points in each linear region of the network, as floats see it."""
    signs: list[NDArray[np.bool_]] = []
    h = at.T
    for weight, bias in network.layers[:-1]:
        h = np.maximum(weight @ h + bias[:, None], 0.0)
        signs.append(h > 0)
    if not signs:
        return np.zeros(1, dtype=np.int64)
    pattern = np.packbits(np.concatenate(signs), axis=0)
    return np.sort(np.unique(pattern, axis=1, return_index=True)[1]).astype(np.int64)


def _differ(
    p: CPWL, network: Network, allowed: tuple[Fraction, Fraction | None], x: Point
) -> tuple[Point, Point, Point] | None:
    """The first of some points at which the difference is too large."""
    ours = p(x)
    inside = np.array([row[0] is not None for row in ours])
    x, ours = x[inside], ours[inside]
    if len(x) == 0:
        return None
    theirs = network(x)
    tolerance, unit = allowed
    limit = np.full(len(x), tolerance, dtype=object)
    if unit is not None and tolerance:
        limit = limit * np.maximum(1, np.abs(x).max(axis=1) / unit)
    far = np.flatnonzero((np.abs(theirs - ours) > limit[:, None]).any(axis=1))
    return (x[far[0]], theirs[far[0]], ours[far[0]]) if len(far) else None


def _places(p: CPWL) -> tuple[NDArray[np.int64], Point]:
    """Rational points of the pieces, with their pieces: first one inside each, then towards boundaries and corners."""
    found = list(_in_simplices(p) if p.mesh is not None else _in_pieces(p))
    return np.array([i for i, _ in found], dtype=np.int64), np.array([x for _, x in found]).reshape(-1, p.dim)


def _some(p: CPWL) -> range:
    return range(0, p.num_pieces, -(-p.num_pieces // _PIECES))


def _in_simplices(p: CPWL) -> Iterator[tuple[int, Point]]:
    assert p.mesh is not None
    rng = np.random.default_rng(0)
    corners = p.mesh.corners[p.mesh.simplices[_some(p)]]
    exact = fraction_array(corners[..., :-1]) / corners[..., -1:]
    for k in range(_TRIES + p.dim + 1):
        weight = np.arange(2, p.dim + 3) if k == 0 else rng.integers(1, 4, p.dim + 1) ** 3
        if k >= _TRIES:
            weight = np.arange(p.dim + 1) == k - _TRIES  # a corner
        share = fraction_array(weight.astype(np.int64)) / int(weight.sum())
        yield from zip(_some(p), (exact * share[:, None]).sum(axis=1), strict=True)


def _in_pieces(p: CPWL) -> Iterator[tuple[int, Point]]:
    rng = np.random.default_rng(0)
    probe = Probe.of(p.polyhedra, p.tol)
    inner = {i: fraction_array(x) for i, x in inner_points(p, _some(p)).items()}
    rows, start = p.polyhedra.integer(), p.polyhedra.start
    yield from inner.items()
    for k in range(1, _TRIES):
        for i, x in inner.items():
            toward = rng.integers(-4, 5, p.dim)
            if k % 3 == 0:
                value, corner = probe.maximum(p.polyhedra[i], toward)
                if np.isfinite(float(value)):
                    yield i, fraction_array(corner)
            else:
                # On the boundary, which belongs to the piece, and on the way to it; or farther and farther out.
                share = Fraction(1) if k % 3 == 1 else Fraction(k, _TRIES)
                length = _length(rows[start[i] : start[i + 1]], x, toward, 10 ** (k // 3))
                yield i, x + share * length * fraction_array(toward)


def _length(rows: NDArray[np.object_], x: Point, toward: NDArray[np.int64], most: int) -> Fraction:
    """How far one can go from a point of the polyhedron in that direction, at most so far."""
    speed = (rows[:, :-1] * toward).sum(axis=1)
    room = rows[:, -1] - (rows[:, :-1] * x).sum(axis=1)
    return min((Fraction(r) / s for r, s in zip(room, speed, strict=True) if s > 0), default=Fraction(most))
