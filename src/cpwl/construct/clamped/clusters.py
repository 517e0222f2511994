"""Clusters of corners on a line whose bump is a clamped gate, proposed in floats (docs/theory/float_quality.md).

Let ``r >= 0`` be given at the corners of a table, and let a cluster `C` be corners in a row on a line `l`. Its bump is
``p_C = sum over C of r_v hat_v``. On side `sigma` of `l` let `F_sigma` be the law of one triangle of the star plus the
jumps of `p_C` on the edges that leave `C` to that side, each as a hinge on the whole line that is 0 on the triangle.
The cluster is valid if on that side ``F_sigma = p_C`` on the star and ``F_sigma <= 0`` off it. Then, with multipliers
``M_sigma >= (F_sigma - p_C) / |l|`` on the other side, ``p_C = max(H+, H-)`` with ``H_sigma = relu(F_sigma - M_sigma
relu(-sigma l))``. All of these are affine on the cells of an arrangement of a few lines: its crossings decide.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.blocks.common import crossings, rounded_up
from cpwl.exact.integers import sign
from cpwl.exact.rational import from_flint
from cpwl.function.bends.table import Table

Floats = NDArray[np.float64]
_CLOSE = 1e-9  # floats nearer to 0 than this are looked at exactly, or count as 0 for the proposal
_BLOCK = 2**22  # numbers in one temporary array
_LINES = 2  # gate lines tried for a corner alone


class Ray(NamedTuple):
    """An edge that leaves the cluster: its line, and the triangles where the line's form is positive and negative."""

    line: int
    above: int
    below: int


@dataclass(frozen=True, slots=True)
class Half:
    """What a cluster has on one side of its line: triangles of its star, in part or whole, and rays."""

    line: int
    side: int
    triangles: tuple[int, ...]
    rays: tuple[Ray, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Corners in a row on a line, and the halves of their star."""

    corners: tuple[int, ...]
    line: int
    halves: tuple[Half, ...]
    rate: float = 0.0
    """The largest sum, over the halves, of the sizes of jumps and multiplier: what rounding is multiplied by."""

    @property
    def neurons(self) -> int:
        return len(self.halves)


class TableStars:
    """The triangles and neighbours of each corner, and on which side of a line a corner is."""

    def __init__(self, table: Table) -> None:
        self.table = table
        # Lists: single numbers are read many times faster from them than from arrays.
        self.corners: list[list[int]] = table.triangles.tolist()
        self.points: list[list[float]] = table.points.tolist()
        self.forms: list[list[float]] = table.forms.tolist()
        self.triangles: dict[int, list[int]] = defaultdict(list)
        for t, own in enumerate(self.corners):
            for v in own:
                self.triangles[v].append(t)
        self.neighbours: dict[int, list[int]] = defaultdict(list)
        self.on: dict[int, set[int]] = defaultdict(set)
        for (u, v), h in table.edge_line.items():
            self.neighbours[u].append(v)
            self.neighbours[v].append(u)
            self.on[h] |= {u, v}
        self.rim = dict(zip(table.boundary, table.inward, strict=True))
        self.outer = {v for h in table.boundary for v in self.on[h]}

    def value(self, line: int, corner: int) -> float:
        """The form of a line at a corner; 0 only if it is 0."""
        if corner in self.on[line]:
            return 0.0
        a, b, c = self.forms[line]
        x, y = self.points[corner]
        value = a * x + b * y + c
        if abs(value) > _CLOSE:
            return value
        exact = sum(int(f) * int(v) for f, v in zip(self.table.lines[line], self.table.places[corner], strict=True))
        return float(exact) / float(self.table.scale[line] * self.table.places[corner, 2])

    def half(self, corners: Sequence[int], line: int, side: int) -> Half:
        """The part of the star of a cluster on one side of its line."""
        table = self.table
        star = sorted({t for v in corners for t in self.triangles[v]})
        triangles = [t for t in star if max(side * self.value(line, v) for v in self.corners[t]) > 0]
        rays = []
        for v in corners:
            for a in self.neighbours[v]:
                edge = (v, a) if v < a else (a, v)
                own_two = table.edge_triangles[edge]
                if len(own_two) == 2 and side * self.value(line, a) > 0:
                    h = table.edge_line[edge]
                    far = next(u for u in self.corners[own_two[0]] if u not in edge)
                    rays.append(Ray(h, *(own_two if self.value(h, far) > 0 else own_two[::-1])))
        return Half(line, side, tuple(triangles), tuple(rays))

    def sides(self, half: Half, triangle: int) -> list[int]:
        """For each ray the sign of its form on the part of the triangle that belongs to the half, if it has one.

        It is that of a corner in that part, or else of one that the crossing with the half's line is nearer to.
        """
        found = []
        own = sorted(self.corners[triangle], key=lambda v: half.side * self.value(half.line, v) < 0)
        for ray in half.rays:
            value = next(value for v in own if (value := self.value(ray.line, v)))
            found.append(1 if value > 0 else -1)
        return found

    def cluster(self, corners: Sequence[int], line: int) -> Cluster:
        """The cluster, not yet known to be valid; on an edge of the domain it has one half."""
        sides = (self.rim[line],) if line in self.rim else (1, -1)
        return Cluster(tuple(corners), line, tuple(self.half(corners, line, s) for s in sides))

    def link(self, cluster: Cluster) -> set[int]:
        """The lines of the edges of the star that do not touch the cluster."""
        found = set()
        for t in {t for half in cluster.halves for t in half.triangles}:
            rest = sorted(v for v in self.corners[t] if v not in cluster.corners)
            if len(rest) == 2:
                found.add(self.table.edge_line[rest[0], rest[1]])
        return found


def propose(table: Table, r: Floats) -> list[Cluster]:
    """Clusters that are valid as far as floats can tell, each corner with ``r > 0`` among them also alone."""
    stars = TableStars(table)
    found: list[Cluster] = []
    waiting = _runs(stars, r) + _alone(stars, r)
    seen = set(waiting)
    while waiting:
        clusters = [stars.cluster(corners, line) for corners, line in waiting]
        verdicts = _examine(stars, clusters, r)
        waiting = []
        for cluster, verdict in zip(clusters, verdicts, strict=True):
            if verdict.valid or len(cluster.corners) == 1:  # a corner alone is always valid, however flat its star
                found.append(Cluster(cluster.corners, cluster.line, cluster.halves, verdict.rate))
            elif len(cluster.corners) > 2:
                k = len(cluster.corners) // 2
                halves = (_trimmed(part, r) for part in (cluster.corners[:k], cluster.corners[k:]))
                parts = [(part, cluster.line) for part in halves if part]
                waiting += [part for part in parts if part not in seen]
                seen |= set(waiting)
    return found


def _runs(stars: TableStars, r: Floats) -> list[tuple[tuple[int, ...], int]]:
    """Corners in a row, two or more, as long as they go; also without their ends."""
    table, found = stars.table, []
    for h, on in stars.on.items():
        a, b, _ = stars.forms[h]
        order = sorted(on, key=lambda v, a=a, b=b: b * stars.points[v][0] - a * stars.points[v][1])  # type: ignore[misc]
        if len(order) == 2 and h not in stars.rim and stars.outer & on:
            continue  # a corner on the boundary is cheaper there
        joined = [table.edge_line.get((min(u, v), max(u, v))) == h for u, v in itertools.pairwise(order)]
        run: list[int] = []
        for v, goes_on in zip(order, [*joined, False], strict=True):
            run.append(v)
            if not goes_on:
                found += [(part, h) for part in _parts(tuple(run), r)]
                run = []
    return found


def _parts(run: tuple[int, ...], r: Floats) -> list[tuple[int, ...]]:
    parts = dict.fromkeys(_trimmed(part, r) for part in (run, run[1:], run[:-1], run[1:-1]))
    return [part for part in parts if len(part) > 1]


def _trimmed(part: tuple[int, ...], r: Floats) -> tuple[int, ...]:
    """Without corners at its ends where there is nothing to add."""
    while part and r[part[0]] <= 0:
        part = part[1:]
    while part and r[part[-1]] <= 0:
        part = part[:-1]
    return part


def _alone(stars: TableStars, r: Floats) -> list[tuple[tuple[int, ...], int]]:
    """Each corner alone, on the line of a boundary edge or on some of the lines through it."""
    found: list[tuple[tuple[int, ...], int]] = []
    for v in np.flatnonzero(r > 0).tolist():
        lines = sorted({stars.table.edge_line[min(v, a), max(v, a)] for a in stars.neighbours[v]})
        rim = [h for h in lines if h in stars.rim]
        found += [((v,), h) for h in (rim[:1] or lines[:_LINES])]
    return found


class _FloatSums(NamedTuple):
    """`F` of halves: the law of one triangle, and hinges on lines, all padded to the same length."""

    law: Floats
    forms: Floats
    jumps: Floats

    def at(self, x: Floats) -> Floats:
        """Values ``(k, P)`` at points ``(k, P, 3)``."""
        hinges = np.maximum(x @ self.forms.transpose(0, 2, 1), 0.0)
        value: Floats = np.einsum("kpi,ki->kp", x, self.law) + np.einsum("kpr,kr->kp", hinges, self.jumps)
        return value


class _Validity(NamedTuple):
    valid: bool
    rate: float


def _examine(stars: TableStars, clusters: list[Cluster], r: Floats) -> list[_Validity]:
    """Which of the clusters are valid, and their rates."""
    lines = []
    for cluster in clusters:
        own = {ray.line for half in cluster.halves for ray in half.rays} | stars.link(cluster)
        lines.append(sorted(own | {cluster.line} | set(stars.table.boundary)))
    order = sorted(range(len(clusters)), key=lambda i: (len(clusters[i].halves), len(lines[i])))
    verdicts = [_Validity(False, 0.0)] * len(clusters)
    while order:
        sides, width = len(clusters[order[-1]].halves), len(lines[order[-1]])
        size = max(1, _BLOCK // (width * width * 24))
        block = [i for i in order[-size:] if len(clusters[i].halves) == sides]
        del order[-len(block) :]
        found = _examine_block(stars, [clusters[i] for i in block], [lines[i] for i in block], r)
        for i, verdict in zip(block, found, strict=True):
            verdicts[i] = verdict
    return verdicts


def _examine_block(stars: TableStars, clusters: list[Cluster], lines: list[list[int]], r: Floats) -> list[_Validity]:
    """The same for clusters with as many halves, all at once."""
    table = stars.table
    x, inside = _crossings(table, lines)
    gate = table.forms[[cluster.line for cluster in clusters]]
    l = np.einsum("kpi,ki->kp", x, gate)
    bump, star = _bump(stars, clusters, r, x)
    size = np.array([max(r[v] for v in cluster.corners) for cluster in clusters])[:, None]
    valid, rate = np.ones(len(clusters), dtype=bool), np.zeros(len(clusters))
    for i in range(len(clusters[0].halves)):
        halves = [cluster.halves[i] for cluster in clusters]
        total = _sum(stars, clusters, halves, r)
        value = total.at(x)
        side = l * np.array([half.side for half in halves])[:, None]
        wrong = np.where(star, np.abs(value - bump), value) > _CLOSE * 10 * size
        valid &= ~(wrong & inside & (side >= -_CLOSE)).any(axis=1)
        beyond = inside & (side < -_CLOSE)
        quotient = np.where(beyond, (value - bump) / np.where(beyond, -side, 1.0), 0.0)
        multiplier = np.maximum(quotient.max(axis=1, initial=0.0), 0.0)
        rate = np.maximum(rate, np.abs(total.jumps).sum(axis=1) + multiplier)
    return [_Validity(*verdict) for verdict in zip(valid.tolist(), rate.tolist(), strict=True)]


def _crossings(table: Table, lines: list[list[int]]) -> tuple[Floats, NDArray[np.bool_]]:
    """The points ``(x, y, 1)`` where two of the lines cross, and which of them are in the domain."""
    width = max(map(len, lines))
    forms = np.zeros((len(lines), width, 3))
    for k, own in enumerate(lines):
        forms[k, : len(own)] = table.forms[own]
    one, two = np.triu_indices(width, 1)
    a, b = forms[:, one], forms[:, two]
    w = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    proper = np.abs(w) > 1e-12
    w = np.where(proper, w, 1.0)
    x = (a[..., 1] * b[..., 2] - b[..., 1] * a[..., 2]) / w
    y = (a[..., 2] * b[..., 0] - b[..., 2] * a[..., 0]) / w
    points = np.stack([x, y, np.ones_like(x)], axis=-1)
    edges = table.forms[list(table.boundary)] * np.array(table.inward)[:, None]
    return points, proper & (points @ edges.T >= -_CLOSE).all(axis=-1)


def _bump(stars: TableStars, clusters: list[Cluster], r: Floats, x: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The values of the bumps at the points, and which points are in the stars."""
    table = stars.table
    own_stars = [sorted({t for half in cluster.halves for t in half.triangles}) for cluster in clusters]
    bump, inside = np.zeros(x.shape[:2]), np.zeros(x.shape[:2], dtype=bool)
    for k in range(max(map(len, own_stars))):
        has = np.array([i for i, star in enumerate(own_stars) if len(star) > k])
        own = np.array([own_stars[i][k] for i in has])
        weights = x[has] @ table.weights[own].transpose(0, 2, 1)
        heights = np.array([_heights(stars, clusters[i], int(t), r) for i, t in zip(has, own, strict=True)])
        within = (weights[..., 0] >= -_CLOSE) & (weights[..., 1] >= -_CLOSE) & (weights[..., 2] >= -_CLOSE)
        bump[has] = np.where(within, np.einsum("kpi,ki->kp", weights, heights), bump[has])
        inside[has] |= within
    return bump, inside


def _heights(stars: TableStars, cluster: Cluster, triangle: int, r: Floats) -> list[float]:
    """The values of the bump at the corners of a triangle."""
    return [float(r[v]) if v in cluster.corners else 0.0 for v in stars.corners[triangle]]


def _sum(stars: TableStars, clusters: list[Cluster], halves: list[Half], r: Floats) -> _FloatSums:
    table, width = stars.table, max(len(half.rays) for half in halves)
    law, forms, jumps = np.zeros((len(halves), 3)), np.zeros((len(halves), width, 3)), np.zeros((len(halves), width))
    for k, (cluster, half) in enumerate(zip(clusters, halves, strict=True)):
        laws = {t: np.array(_heights(stars, cluster, t, r)) @ table.weights[t] for t in half.triangles}
        law[k] = laws[half.triangles[0]]
        for i, (ray, side) in enumerate(zip(half.rays, stars.sides(half, half.triangles[0]), strict=True)):
            form = stars.forms[ray.line]
            jump = laws[ray.above] - laws[ray.below]
            axis = 0 if abs(form[0]) > abs(form[1]) else 1
            jumps[k, i] = jump[axis] / form[axis]
            forms[k, i] = -side * table.forms[ray.line]
    return _FloatSums(law, forms, jumps)


# The functions `F` of a cluster in rationals, and the proof at the crossings of its lines that it is valid.
#
# See `clamped_clusters` for what is proposed in floats; here it is decided, in integers.


Law = tuple[fmpq, fmpq, fmpq]


@dataclass(frozen=True, slots=True, eq=False)
class HalfSum:
    """`F` on one side: the laws of the triangles, and the jump of each ray on its line's form divided by its scale."""

    half: Half
    laws: dict[int, Law]
    jumps: tuple[fmpq, ...]
    multiplier: Fraction

    def oriented(self, stars: TableStars, start: int) -> list[int]:
        """The signs that make all hinges 0 on the triangle with number `start` in the half."""
        return [-side for side in stars.sides(self.half, self.half.triangles[start])]


@dataclass(frozen=True, slots=True, eq=False)
class Bump:
    """A cluster that was decided to be valid, with its exact sums."""

    cluster: Cluster
    sums: tuple[HalfSum, ...]


def exact_bump(stars: TableStars, cluster: Cluster, r: Sequence[fmpq]) -> Bump | None:
    """The cluster with exact sums and multipliers; None if it is not valid after all."""
    laws = {
        t: _law(stars, t, {v: r[v] for v in cluster.corners if v in stars.corners[t]})
        for half in cluster.halves
        for t in half.triangles
    }
    sums = []
    for half in cluster.halves:
        jumps = tuple(_jump(stars, ray.line, laws[ray.above], laws[ray.below]) for ray in half.rays)
        sums.append(HalfSum(half, {t: laws[t] for t in half.triangles}, jumps, Fraction(0)))
    least = _decide(stars, cluster, sums, laws)
    if least is None:
        return None
    rounded = [rounded_up(math.nextafter(float(m), math.inf)) if m else m for m in least]
    return Bump(cluster, tuple(replace(s, multiplier=m) for s, m in zip(sums, rounded, strict=True)))


def _law(stars: TableStars, triangle: int, heights: dict[int, fmpq]) -> Law:
    """The affine function with these values at corners of a triangle, and 0 at the others."""
    table, total = stars.table, [fmpq(0)] * 3
    for v, height in heights.items():
        rest = sorted(u for u in stars.corners[triangle] if u != v)
        form = table.lines[table.edge_line[rest[0], rest[1]]]
        place = table.places[v]
        own = fmpq(int(place[2]), sum(int(f) * int(x) for f, x in zip(form, place, strict=True))) * height
        total = [t + own * int(f) for t, f in zip(total, form, strict=True)]
    return total[0], total[1], total[2]


def _jump(stars: TableStars, line: int, above: Law, below: Law) -> fmpq:
    form, scale = stars.table.lines[line], stars.table.scale[line]
    axis = 0 if form[0] else 1
    return (above[axis] - below[axis]) * fmpq(scale.numerator, scale.denominator * int(form[axis]))


def _decide(stars: TableStars, cluster: Cluster, sums: list[HalfSum], laws: dict[int, Law]) -> list[Fraction] | None:
    """The least multipliers, None if the cluster is not valid: at all crossings, in integers."""
    table = stars.table
    lines = {ray.line for half in cluster.halves for ray in half.rays} | stars.link(cluster) | {cluster.line}
    edges = {table.edge_line[min(u, v), max(u, v)] for t in laws for u, v in _pairs(stars.corners[t])}
    boundary = table.lines[list(table.boundary)] * np.array(table.inward, dtype=object)[:, None]
    x = crossings(table.lines[sorted(lines - set(table.boundary))], boundary, bounded=True)
    order = sorted(lines | edges)
    at = dict(zip(order, (x @ table.lines[order].T).T, strict=True))
    scale = math.lcm(*(int(c.q) for law in laws.values() for c in law))
    scale = math.lcm(scale, *(w.denominator for s in sums for w in _weights(stars, s)))
    star, height = _exact_heights(stars, laws, x, at, scale)
    least = []
    for s in sums:
        value = _value(stars, s, x, at, scale)
        side = at[cluster.line] * s.half.side
        here = np.asarray(side >= 0, dtype=bool)
        if not np.where(star, value == height, value <= 0)[here].all():
            return None
        beyond = np.flatnonzero(~here & np.asarray(value > height, dtype=bool))
        rates = [Fraction(value[i] - height[i], -side[i]) for i in beyond]
        least.append(max(rates, default=Fraction(0)) * Fraction(table.scale[cluster.line]) / scale)
    return least


def _pairs(own: list[int]) -> list[tuple[int, int]]:
    return [(own[0], own[1]), (own[1], own[2]), (own[2], own[0])]


def _weights(stars: TableStars, s: HalfSum) -> list[Fraction]:
    """The jumps on the integer forms of the lines."""
    scale = [stars.table.scale[ray.line] for ray in s.half.rays]
    return [from_flint(w) / c for w, c in zip(s.jumps, scale, strict=True)]


def _value(
    stars: TableStars, s: HalfSum, x: NDArray[np.object_], at: dict[int, NDArray[np.object_]], scale: int
) -> NDArray[np.object_]:
    """`F` times `scale` times the last coordinate, at the points."""
    law = [int(c.p) * (scale // int(c.q)) for c in s.laws[s.half.triangles[0]]]
    total = np.asarray(x @ np.array(law, dtype=object))
    for ray, w, g in zip(s.half.rays, _weights(stars, s), s.oriented(stars, 0), strict=True):
        form = at[ray.line] * g
        total = total + np.where(form > 0, form, 0) * int(w * scale)
    return total


def _exact_heights(
    stars: TableStars,
    laws: dict[int, Law],
    x: NDArray[np.object_],
    at: dict[int, NDArray[np.object_]],
    scale: int,
) -> tuple[NDArray[np.bool_], NDArray[np.object_]]:
    """Which points are in the star, and the bump there, times `scale` and the last coordinate; 0 elsewhere."""
    table = stars.table
    inside, height = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=np.int64).astype(object)
    for t, law in laws.items():
        within = np.ones(len(x), dtype=bool)
        own = stars.corners[t]
        for (u, v), far in zip(_pairs(own), (own[2], own[0], own[1]), strict=True):
            h = table.edge_line[min(u, v), max(u, v)]
            side = int(sign(np.array([table.lines[h] @ table.places[far]]))[0])
            within &= np.asarray(at[h] * side >= 0, dtype=bool)
        whole = np.array([int(c.p) * (scale // int(c.q)) for c in law], dtype=object)
        height = np.where(within, x @ whole, height)
        inside |= within
    return inside, height
