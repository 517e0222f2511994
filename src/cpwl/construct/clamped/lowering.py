"""From bumps to a plain network: tiles, hinges, halves, and few neurons that take the larger half of many bumps.

With tiles there are four hidden layers, without three: clipped coordinates ``relu(x - X_i)`` and windows ``relu(X_i -
x)``; hinges, in clipped coordinates, and what is carried of these; the halves ``H+`` and ``H-`` of every bump; and for
bumps whose boxes do not overlap one neuron ``relu(sum of H+ - H-)``, which is the sum of their ``relu(H+ - H-)``
because at most one of them is not 0 anywhere. The sum of all ``H-`` passes the last layer in one neuron.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.blocks.common import colours
from cpwl.construct.clamped.clusters import Bump, Stars, Sum
from cpwl.exact.rational import from_flint, to_flint, to_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.network import Network

__all__ = ["hinges", "lower", "orient"]

# How the hinges of a line are oriented, and at which triangle the sum of each half starts: for small affine parts.


_ROUNDS = 2  # of choosing how hinges are oriented, and where sums start
_LARGE = 2.0  # times the median: a gate line with such a multiplier gets both of its hinges


@dataclass(frozen=True, slots=True, eq=False)
class Orientation:
    """Lines with both hinges, the side of each other line's one, and the triangle at which each half starts."""

    both: set[int]
    sense: dict[int, int]
    start: dict[tuple[int, int], int]

    def side(self, line: int, wanted: int) -> int:
        """The side of the hinge that is there: the one that is wanted, if it can be."""
        return wanted if line in self.both else self.sense[line]


def hinges(stars: Stars, bump: Bump, own: Sum, start: int) -> list[tuple[int, int, fmpq]]:
    """The hinges of `F`, with the one of the multiplier: lines, sides, weights."""
    sides = own.oriented(stars, start)
    found = [(ray.line, side, w) for ray, side, w in zip(own.half.rays, sides, own.jumps, strict=True)]
    if len(bump.sums) == 2:
        found.append((bump.cluster.line, -own.half.side, -to_flint(own.multiplier)))
    return [(h, side, w) for h, side, w in found if w != 0]


def orient(stars: Stars, bumps: list[Bump]) -> Orientation:
    """Chooses in turn for each line the side on which its hinges have more weight, and for each half where it starts.

    Where a hinge is there on the other side only, its whole form joins the affine part, and that costs accuracy.
    """
    keys = [(i, k) for i, bump in enumerate(bumps) for k in range(len(bump.sums))]
    both = _with_both(bumps)
    start = {key: int(np.argmin([_slope(law) for law in _laws(bumps, key)])) for key in keys}
    sense: dict[int, int] = {}
    for _ in range(_ROUNDS):
        need: dict[int, float] = defaultdict(float)
        for i, k in keys:
            for h, side, w in hinges(stars, bumps[i], bumps[i].sums[k], start[i, k]):
                need[h] += side * abs(float(from_flint(w)))
        sense = {h: 1 if v >= 0 else -1 for h, v in need.items()}
        start = {key: _best_start(stars, bumps, key, sense, both) for key in keys}
    return Orientation(both, sense, start)


def _with_both(bumps: list[Bump]) -> set[int]:
    """The gate lines of large multipliers."""
    largest: dict[int, float] = defaultdict(float)
    for bump in bumps:
        for own in bump.sums if len(bump.sums) == 2 else ():
            largest[bump.cluster.line] = max(largest[bump.cluster.line], float(own.multiplier))
    bound = _LARGE * float(np.median(list(largest.values()))) if largest else 0.0
    return {h for h, m in largest.items() if m >= bound}


def _laws(bumps: list[Bump], key: tuple[int, int]) -> list[tuple[fmpq, ...]]:
    own = bumps[key[0]].sums[key[1]]
    return [own.laws[t] for t in own.half.triangles]


def _slope(law: Sequence[fmpq]) -> float:
    return max(abs(float(from_flint(v))) for v in law[:2])


def _best_start(stars: Stars, bumps: list[Bump], key: tuple[int, int], sense: dict[int, int], both: set[int]) -> int:
    """The triangle that leaves the smallest affine part."""
    own = bumps[key[0]].sums[key[1]]
    unit = float(stars.table.unit)
    costs = []
    for t, law in enumerate(_laws(bumps, key)):
        rest = np.array([float(from_flint(v)) for v in law[:2]]) * unit
        for h, side, w in hinges(stars, bumps[key[0]], own, t):
            if h not in both and sense.get(h, side) != side:
                rest = rest + side * float(from_flint(w)) * np.array(stars.forms[h][:2])
        costs.append(float(np.abs(rest).max()))
    return int(np.argmin(costs))


# Clipped coordinates: knots that floats have exactly, and for each line and bump the largest knots below its stars.
#
# A hinge that reads ``relu(x - X_i)`` instead of `x` has small terms near its stars, so that little is rounded there.
# It
# is another function where ``x < X_i``; there a window ``-K relu(X_i - x)`` keeps the bump at 0.


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


Row = dict[int, fmpq]


@dataclass(slots=True)
class _Layer:
    """Neurons by what they are, made when they are first asked for; each has a row on the layer before, and a bias."""

    make: Callable[[Any], tuple[Row, fmpq]]
    names: dict[Any, int] = field(default_factory=dict)
    rows: list[tuple[Row, fmpq]] = field(default_factory=list)

    def __getitem__(self, name: Any) -> int:
        if name not in self.names:
            self.names[name] = len(self.rows)
            self.rows.append(self.make(name))
        return self.names[name]

    def layer(self, width: int) -> tuple[RationalMatrix, NDArray[np.object_]]:
        rows = [(i, j, from_flint(x)) for i, (row, _) in enumerate(self.rows) for j, x in sorted(row.items()) if x != 0]
        i, j, x = zip(*rows, strict=True)
        bias = np.array([from_flint(b) for _, b in self.rows], dtype=object)
        return RationalMatrix.from_triples(i, j, np.array(x, dtype=object), (len(self.rows), width)), bias


def lower(
    stars: Stars,
    outputs: Sequence[list[Bump]],
    orientation: Orientation,
    share: NDArray[np.object_],
    base: NDArray[np.object_],
    tiles: int,
) -> Network:
    """The network whose output `j` is ``base[j] + sum_k share[j, k] (sum of the bumps of outputs[k])``.

    The orientation is that of all bumps, one output's after the other's.
    """
    bumps = [bump for own in outputs for bump in own]
    return _Lowering(stars, bumps, orientation, make_tiles(stars, bumps, tiles)).network(outputs, share, base)


class _Lowering:
    """The layers of the network, from the inputs up."""

    def __init__(self, stars: Stars, bumps: list[Bump], orientation: Orientation, tiles: Tiles) -> None:
        self.stars, self.bumps, self.orientation, self.tiles = stars, bumps, orientation, tiles
        self.forms = {
            h: [to_flint(Fraction(int(v)) / stars.table.scale[h]) for v in stars.table.lines[h]] for h in tiles.line
        }
        self.knots = [[to_flint(x) for x in own] for own in tiles.knots]
        self.clip = _Layer(self._clipped)
        self.hinge = _Layer(self._hinge)
        self.half = _Layer(self._half)

    def network(self, outputs: Sequence[list[Bump]], share: NDArray[np.object_], base: NDArray[np.object_]) -> Network:
        last: list[Row] = []
        taken: list[int] = []
        number, boxes = 0, _boxes(self.stars, self.bumps)
        for k, own in enumerate(outputs):
            mine = range(number, number + len(own))
            number += len(own)
            own_boxes = boxes[list(mine)]
            colour = colours(own_boxes[:, :2], own_boxes[:, 2:])
            sums: dict[int, Row] = defaultdict(dict)
            carried: Row = {}
            for i, c in zip(mine, colour.tolist(), strict=True):
                sums[c][self.half[i, 0]] = fmpq(1)
                if len(self.bumps[i].sums) == 2:
                    sums[c][self.half[i, 1]] = fmpq(-1)
                    carried[self.half[i, 1]] = fmpq(1)
            rows = [sums[c] for c in sorted(sums)] + ([carried] if carried else [])
            last += rows
            taken += [k] * len(rows)
        top = _Layer(lambda i: (last[i], fmpq(0)), rows=[(row, fmpq(0)) for row in last])
        parts = [part for part in (self.clip, self.hinge, self.half, top) if part.rows]
        widths = [2, *(len(part.rows) for part in parts)]
        layers = [part.layer(width) for part, width in zip(parts, widths, strict=False)]
        return Network([*layers, (RationalMatrix.from_dense(share[:, taken]), base)])

    def _clipped(self, name: tuple[str, int, int]) -> tuple[Row, fmpq]:
        """``relu(x - X_i)`` and ``relu(X_i - x)``, and so for `y`."""
        kind, axis, i = name
        side = 1 if kind == "above" else -1
        return {axis: fmpq(side)}, -side * self.knots[axis][i]

    def _hinge(self, name: tuple[str, int, int]) -> tuple[Row, fmpq]:
        """A hinge of a line on one side, or what is carried of a clipped coordinate."""
        kind, h, side = name
        if kind != "line":
            # Without tiles it is a first neuron itself.
            return ({self.clip[kind, h, side]: fmpq(1)}, fmpq(0)) if self.tiles.count > 1 else self._clipped(name)
        a, b, c = (side * v for v in self.forms[h])
        if self.tiles.count == 1:
            return {0: a, 1: b}, c
        i, j = self.tiles.line[h]
        row = {self.clip["above", axis, k]: v for axis, k, v in ((0, i, a), (1, j, b)) if v != 0}
        return row, c + a * self.knots[0][i] + b * self.knots[1][j]

    def _half(self, name: tuple[int, int]) -> tuple[Row, fmpq]:
        """``F - M relu(-sigma l)``, and the windows."""
        number, k = name
        bump, (i, j) = self.bumps[number], self.tiles.bump[number]
        own = bump.sums[k]
        row: Row = defaultdict(fmpq)
        start = self.orientation.start[name]
        affine = list(own.laws[own.half.triangles[start]])
        for h, side, weight in hinges(self.stars, bump, own, start):
            known = self.orientation.side(h, side)
            row[self.hinge["line", h, known]] += weight
            if known != side:  # relu(l) = relu(-l) + l
                affine = [v + weight * side * f for v, f in zip(affine, self.forms[h], strict=True)]
        rate = sum(abs(float(from_flint(row[n]))) for n in row) / float(self.stars.table.unit)
        rate += max(abs(float(from_flint(v))) for v in affine[:2])
        for axis, at in ((0, i), (1, j)):
            if affine[axis] != 0:
                row[self.hinge["above", axis, at]] += affine[axis]
            if at:
                row[self.hinge["below", axis, at]] -= to_flint(penalty(self.tiles, number, rate))
        return row, affine[2] + affine[0] * self.knots[0][i] + affine[1] * self.knots[1][j]


def _boxes(stars: Stars, bumps: list[Bump]) -> NDArray[np.int64]:
    """Boxes around the stars, in ranks of coordinates, which are exact."""
    places = stars.table.places
    ranks = []
    for k in (0, 1):
        exact = [Fraction(x, w) for x, w in zip(places[:, k], places[:, 2], strict=True)]
        order = {x: i for i, x in enumerate(sorted(set(exact)))}
        ranks.append([order[x] for x in exact])
    rank = np.array(ranks).T
    found = []
    for bump in bumps:
        own = rank[sorted({v for half in bump.cluster.halves for t in half.triangles for v in stars.corners[t]})]
        found.append(np.concatenate([own.min(axis=0), own.max(axis=0)]))
    return np.array(found, dtype=np.int64).reshape(-1, 4)
