"""Functions of two inputs by clamped gates: accurate in float32, because far terms are exactly 0 there too.

With ``r = z - min z >= 0`` at the corners of a triangulated table, ``p = min z + sum over clusters of p_C``, where the
clusters are rows of corners, each corner in one, and ``p_C = sum of r_v hat_v`` is a bump. Around another
base value than ``min z`` there are bumps of both signs, more but not as high. A bump is the larger one of two neurons,
its halves, each of which is exactly 0 in floats wherever it is clearly negative; on an edge of the domain it is one
neuron (docs/theory/float_quality.md). Bumps whose boxes do not overlap share the neuron that takes the larger half, so
with `L` lines, `C` clusters inside, `B` on the boundary and about ten colours there are about ``L + 2 C + B + 10``
neurons, two per triangle. See docs/clamped.md.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import colours, shared_columns
from cpwl.construct.clamped.clusters import Bump, Cluster, HalfSum, TableStars, exact_bump, propose
from cpwl.construct.plan import PRECISIONS, Least, Plan
from cpwl.construct.select import SAFETY
from cpwl.errors import ConstructionError, InternalError
from cpwl.exact.integers import determinant
from cpwl.exact.rational import from_flint, to_flint, to_float
from cpwl.function.bends.table import Table
from cpwl.network import Network
from cpwl.network.program import Row as Neuron
from cpwl.network.program import chained
from cpwl.search import exact_cover

# From bumps to a plain network: tiles, hinges, halves, and few neurons that take the larger half of many bumps.
#
# With tiles there are four hidden layers, without three: clipped coordinates ``relu(x - X_i)`` and windows ``relu(X_i
# - x)``; hinges, in clipped coordinates, and what is carried of these; the halves ``H+`` and ``H-`` of every bump;
# and for bumps whose boxes do not overlap one neuron ``relu(sum of H+ - H-)``, which is the sum of their ``relu(H+ -
# H-)`` because at most one of them is not 0 anywhere. The sum of all ``H-`` passes the last layer in one neuron.


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


def hinges(stars: TableStars, bump: Bump, own: HalfSum, start: int) -> list[tuple[int, int, fmpq]]:
    """The hinges of `F`, with the one of the multiplier: lines, sides, weights."""
    sides = own.oriented(stars, start)
    found = [(ray.line, side, w) for ray, side, w in zip(own.half.rays, sides, own.jumps, strict=True)]
    if len(bump.sums) == 2:
        found.append((bump.cluster.line, -own.half.side, -to_flint(own.multiplier)))
    return [(h, side, w) for h, side, w in found if w != 0]


def orient(stars: TableStars, bumps: list[Bump]) -> Orientation:
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


def _best_start(
    stars: TableStars, bumps: list[Bump], key: tuple[int, int], sense: dict[int, int], both: set[int]
) -> int:
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
# It is another function where ``x < X_i``; there a window ``-K relu(X_i - x)`` keeps the bump at 0.


Knots = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class ClampTiles:
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


def make_tiles(stars: TableStars, bumps: list[Bump], count: int) -> ClampTiles:
    """Tiles of ``count x count`` equal boxes, about; with one there are no windows."""
    places = stars.table.places
    exact = [[Fraction(x, w) for x, w in zip(places[:, k], places[:, 2], strict=True)] for k in (0, 1)]
    low, high = [min(own) for own in exact], [max(own) for own in exact]
    x, y = (_knots(a, b, count) for a, b in zip(low, high, strict=True))
    own = []
    for bump in bumps:
        star = {v for t in _triangles(bump) for v in stars.corners[t]}
        own.append((_below(x, min(exact[0][v] for v in star)), _below(y, min(exact[1][v] for v in star))))
    line: dict[int, Knots] = {}
    for bump, (i, j) in zip(bumps, own, strict=True):
        gate = {bump.cluster.line} if len(bump.sums) > 1 else set()
        for h in {ray.line for half in bump.cluster.halves for ray in half.rays} | gate:
            a, b = line.get(h, (i, j))
            line[h] = min(a, i), min(b, j)
    reach = float(sum((b - a for a, b in zip(low, high, strict=True)), Fraction(0))) * (1 + 1e-9)
    view = np.stack([to_float(np.array(part, dtype=object)) for part in exact], axis=1)
    room = []
    for bump, (i, j) in zip(bumps, own, strict=True):
        centres = view[stars.table.triangles[list(_triangles(bump))]].mean(axis=1)
        beyond = np.concatenate([view, centres]) - (float(x[i]), float(y[j]))
        room.append(float(beyond.min(axis=1).max()) * (1 - 1e-9))
    return ClampTiles((x, y), line, own, reach, room)


def _triangles(bump: Bump) -> set[int]:
    return {t for half in bump.cluster.halves for t in half.triangles}


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


def penalty(tiles: ClampTiles, number: int, rate: float) -> Fraction:
    """A power of two `K`: a sum that changes by at most `rate` a unit, and is at most 0 on the knots, is at most
    ``K (relu(X - x) + relu(Y - y))`` below them.

    From a point of the domain walk straight to one that is beyond the knots by `room`: after at most ``reach / room``
    times that sum of distances one is on them, inside the domain.
    """
    bound = rate * max(1.0, tiles.reach / tiles.room[number])
    return Fraction(2) ** (math.frexp(2 * bound)[1])


Row = dict[int, fmpq]


@dataclass(slots=True)
class _NamedLayer:
    """Neurons by what they are, made when they are first asked for; each has a row on the layer before, and a bias."""

    make: Callable[[Any], tuple[Row, fmpq]]
    names: dict[Any, int] = field(default_factory=dict)
    rows: list[tuple[Row, fmpq]] = field(default_factory=list)

    def __getitem__(self, name: Any) -> int:
        if name not in self.names:
            self.names[name] = len(self.rows)
            self.rows.append(self.make(name))
        return self.names[name]


def lower(
    stars: TableStars,
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
    return _ClampedLayers(stars, bumps, orientation, make_tiles(stars, bumps, tiles)).network(outputs, share, base)


class _ClampedLayers:
    """The layers of the network, from the inputs up."""

    def __init__(self, stars: TableStars, bumps: list[Bump], orientation: Orientation, tiles: ClampTiles) -> None:
        self.stars, self.bumps, self.orientation, self.tiles = stars, bumps, orientation, tiles
        self.forms = {
            h: [to_flint(Fraction(int(v)) / stars.table.scale[h]) for v in stars.table.lines[h]] for h in tiles.line
        }
        self.knots = [[to_flint(x) for x in own] for own in tiles.knots]
        self.clip = _NamedLayer(self._clipped)
        self.hinge = _NamedLayer(self._hinge)
        self.half = _NamedLayer(self._half)

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
        top = [(row, fmpq(0)) for row in last]
        parts = [part for part in (self.clip.rows, self.hinge.rows, self.half.rows, top) if part]
        ends = [({c: to_flint(own[k]) for c, k in enumerate(taken)}, b) for own, b in zip(share, base, strict=True)]
        return chained([[Neuron(*row) for row in rows] for rows in (*parts, ends)], 2)

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


def _boxes(stars: TableStars, bumps: list[Bump]) -> NDArray[np.int64]:
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


_CARE = 1.0  # neurons that the largest rate that some corner needs is worth
_MOST = 4.0  # neurons that any rate is worth
_MANY = 4000  # triangles beyond which only one number of tiles is tried
_UNIT = 2.0**-24  # of float32
_TARGET = 1e-5 / 3  # relative error in float32 that is aimed at; predictions are right up to a factor of 3


def clamped(analysis: Analysis, *, tiles: int | None = None, target: float = _TARGET) -> Plan:
    """A network with three or four hidden layers that equals a function of two inputs on its bounded convex domain.

    Pieces that are not triangles, or do not meet face to face, are cut until they are. `tiles` says into how many parts
    each coordinate is cut; otherwise few neurons decide among networks whose predicted error in float32, relative to
    the range, is at most `target`. Raises `ConstructionError` for other functions.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([range(4), range(4)], [[0, 0, 0, 0], [0, 3, 1, 0], [0, 2, 5, 0], [0, 0, 0, 0]])
    >>> made = clamped(Analysis(p))
    >>> made.sizes.neurons, float(made.build()([[1.5, 1.5]])[0, 0]), float(p([[1.5, 1.5]])[0, 0])
    (16, 4.0, 4.0)
    """
    p, cloud = analysis.function, analysis.sample
    if p.dim != 2:
        raise ConstructionError(f"clamped gates are for functions of 2 inputs, and this one has {p.dim}", dim=p.dim)
    table = analysis.exact.table
    stars = TableStars(table)
    best: Plan | None = None
    for middle, tries in [(False, [tiles])] if tiles else _tries(len(table.triangles)):
        outputs, share, base = _sums(stars, middle)
        if not any(outputs):
            return Plan.of("clamped", Network([([[0, 0]] * p.outputs, base)]), cloud.points)
        orientation = orient(stars, [bump for own in outputs for bump in own])
        for number in tries:
            made = Plan.of("clamped", lower(stars, outputs, orientation, share, base, number), cloud.points)
            best = made if best is None or made.magnitude < best.magnitude else best
            if made.magnitude * _UNIT <= target * cloud.range:
                return made
    assert best is not None
    return best


def _tries(triangles: int) -> list[tuple[bool, list[int]]]:
    """Whether to take a base value in the middle, and numbers of tiles to try: none, and about ``sqrt(q) / 2``."""
    root = math.sqrt(triangles) / 4
    if triangles > _MANY:
        return [(False, [round(2 * root)]), (True, [round(2 * root)])]
    parts = sorted({1, *(max(2, round(root * k)) for k in (1, 1.5, 2, 3, 4))})
    return [(False, parts[:3]), (True, parts[1:])]


def _sums(stars: TableStars, middle: bool) -> tuple[list[list[Bump]], NDArray[np.object_], NDArray[np.object_]]:
    """Lists of bumps, and every output as a constant plus a sum of factors times these lists.

    A list is for the part of an output above a base value, or below it. Outputs that depend on others are sums of them.
    """
    values = stars.table.values
    ones = np.full(len(values), Fraction(1), dtype=object)
    basis, share = shared_columns(np.column_stack([ones, values]))
    lists, factors, constant = [], [], share[1:, 0]
    for k, j in enumerate(basis[1:], start=1):
        base = base_value(values[:, j - 1], middle)
        constant = constant + share[1:, k] * base
        for sign in (1, -1):
            heights = np.array([max(sign * (v - base), Fraction(0)) for v in values[:, j - 1]], dtype=object)
            if heights.any():
                lists.append(_bumps(stars, heights))
                factors.append(sign * share[1:, k])
    return lists, np.array(factors, dtype=object).reshape(len(lists), values.shape[1]).T, constant


def base_value(values: NDArray[np.object_], middle: bool) -> Fraction:
    """The smallest value, or one that a third of the corners have and more than that; or the one in the middle.

    Corners with that value need no bump, and bumps of one sign can be large clusters; half of them above the middle one
    and half below are not as high.
    """
    order = sorted(values)
    often, times = max(Counter(order).items(), key=lambda item: (item[1], -item[0]))
    if 3 * times >= len(order) and times > order.count(order[0]):
        return Fraction(often)
    return Fraction(order[len(order) // 2] if middle else order[0])


def _bumps(stars: TableStars, heights: NDArray[np.object_]) -> list[Bump]:
    """Bumps whose sum is the function of the table with these heights, at least 0, at the corners."""
    r = to_float(heights)
    exact = [to_flint(v) for v in heights]
    candidates = propose(stars.table, r)
    known: dict[int, Bump] = {}
    while True:
        chosen = _choose(candidates, r)
        found = {j: known.get(j) or exact_bump(stars, candidates[j], exact) for j in chosen}
        known |= {j: bump for j, bump in found.items() if bump is not None}
        wrong = [j for j, bump in found.items() if bump is None]
        if not wrong:
            return [known[j] for j in chosen]
        if any(len(candidates[j].corners) == 1 for j in wrong):
            raise InternalError("a bump of one corner is not valid")
        kept = [j for j in range(len(candidates)) if j not in set(wrong)]
        candidates, known = [candidates[j] for j in kept], {i: known[j] for i, j in enumerate(kept) if j in known}


def _choose(candidates: list[Cluster], r: NDArray[np.float64]) -> list[int]:
    """An exact cover with few neurons; rates beyond what some corner needs in any case cost more."""
    members = [tuple(v for v in cluster.corners if r[v] > 0) for cluster in candidates]
    size = np.array([cluster.rate for cluster in candidates])
    needed: dict[int, float] = {}
    for own, m in zip(members, size.tolist(), strict=True):
        for v in own:
            needed[v] = min(m, needed.get(v, m))
    worst = max(needed.values(), default=0.0) or 1.0
    root = np.sqrt([len(own) for own in members])  # a long row is worth a larger rate
    care = _CARE * np.minimum((size / (worst * root)) ** 2, _MOST)
    cost = np.array([float(cluster.neurons) for cluster in candidates]) + care
    return exact_cover(members, cost)


def plan(analysis: Analysis) -> Plan:
    """The plan of `clamped`, with the tiles that the precision asked for needs; the network is made on the way."""
    options, unit = analysis.options, PRECISIONS[analysis.options.precision][0]
    target = options.max_error / SAFETY * PRECISIONS["float32"][0] / unit if unit else math.inf
    return clamped(analysis, target=target)


def least(analysis: Analysis) -> Least | None:
    """Hinges, halves and sums that are there whatever the clusters are (docs/auto.md has the proof).

    A line has a hinge if one of its edges `uv` bends in every bump that has `u` and not `v`, unless it is the line of
    that cluster and no multiplier meets it. A cluster has at most as many corners as its line, and two halves inside.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([range(4), range(4)], [[0, 0, 0, 0], [0, 3, 1, 0], [0, 2, 5, 0], [0, 0, 0, 0]])
    >>> least(Analysis(p)).neurons, plan(Analysis(p)).sizes.neurons
    (14, 16)
    """
    if analysis.function.dim != 2:
        return None
    table = analysis.exact.table
    output = next((j for j, own in enumerate(table.values.T) if (own != own[0]).any()), None)
    if output is None:
        return None
    values = table.values[:, output]
    bases = [base_value(values, middle) for middle in (False, True)]
    gated, others = _lines_with_hinges(table, values, bases)
    inside = np.ones(len(values), dtype=bool)
    inside[[v for edge, own in table.edge_triangles.items() if len(own) == 1 for v in edge]] = False
    line, corner = np.unique([(h, v) for edge, h in table.edge_line.items() for v in edge], axis=0).T
    half = np.where(np.isin(line, table.boundary), 1.0, 2.0)
    inside &= np.isin(np.arange(len(values)), corner)
    found = []
    for base in bases:
        clusters = halves = sums = 0
        for part in (np.asarray(values > base, dtype=bool), np.asarray(values < base, dtype=bool)):
            own = part[corner]
            clusters += _covers(line[own], corner[own], np.ones(int(own.sum())))
            halves += _covers(line[own], corner[own], half[own])
            sums += int(part.any()) + int(part[table.triangles].all(axis=1).any()) + int((part & inside).any())
        found.append((gated + max(others + clusters, halves) + sums, clusters))
    neurons, clusters = min(found)
    return Least(neurons, f"bumps bend on {gated + others} lines, and there are {clusters} clusters", 4)


def _covers(line: NDArray[np.int64], corner: NDArray[np.int64], cost: NDArray[np.float64]) -> int:
    """At least so much cost rows of corners that cover all corners, each on one line, from pairs ``(line, corner)``.

    A corner pays the smallest share that one of a full line would pay: together at most the cost of any row.
    """
    if len(line) == 0:
        return 0
    price = np.full(int(corner.max()) + 1, np.inf)
    np.minimum.at(price, corner, cost / np.bincount(line)[line])
    return math.ceil(float(price[np.isfinite(price)].sum()) - 1e-6)


def _lines_with_hinges(table: Table, values: NDArray[np.object_], bases: Sequence[Fraction]) -> tuple[int, int]:
    """The lines that have a hinge whatever the clusters are, and those that have one unless they are a cluster's."""
    inner = {edge: own for edge, own in table.edge_triangles.items() if len(own) == 2}
    ends = np.array(list(inner), dtype=np.int64).reshape(-1, 2)
    both = table.triangles[np.array(list(inner.values()), dtype=np.int64).reshape(-1, 2)]  # edges, triangles, corners
    far = both.sum(axis=2) - ends.sum(axis=1)[:, None]
    line = np.array([table.edge_line[edge] for edge in inner], dtype=np.int64)
    common = math.lcm(*(v.denominator for v in values))
    bent, concave = np.zeros((2, len(ends)), dtype=bool)
    for u, v in (ends.T, ends.T[::-1]):
        always, down = np.ones(len(ends), dtype=bool), np.ones(len(ends), dtype=bool)
        for base in bases:
            heights = np.array([int(abs(x - base) * common * base.denominator) for x in values], dtype=object)
            bends, falls = _bends(table, heights, u, v, *far.T)
            always, down = always & bends, down & bends & falls
        bent, concave = bent | always, concave | down
    gated = np.unique(line[concave])
    return len(gated), len(np.setdiff1d(line[bent], gated))


def _bends(
    table: Table,
    heights: NDArray[np.object_],
    u: NDArray[np.int64],
    v: NDArray[np.int64],
    w: NDArray[np.int64],
    x: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a bump that has `u` and not `v` bends on the edge between ``(u, v, w)`` and ``(u, v, x)``, with `w` and
    `x` in it or not: with ``x = a u + b v + c w`` iff its height at `x` is not `a` times that at `u` and `c` at `w`.

    And whether it bends down where neither is in it: iff `a` is positive.
    """
    places = table.places
    below = determinant(np.stack([places[u], places[v], places[w]], axis=1)) * places[x, 2]
    a = determinant(np.stack([places[x], places[v], places[w]], axis=1)) * places[u, 2] * heights[u]
    c = determinant(np.stack([places[u], places[v], places[x]], axis=1)) * places[w, 2] * heights[w]
    height = heights[x] * below
    bends = (heights[u] != 0) & (a != 0) & (a + c != 0) & (height != a) & (height != a + c)
    return np.asarray(bends, dtype=bool), np.asarray(a * below > 0, dtype=bool)
