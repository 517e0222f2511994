"""The functions `F` of a cluster in rationals, and the proof at the crossings of its lines that it is valid.

See `clamped_clusters` for what is proposed in floats; here it is decided, in integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.blocks.crossings import crossings
from cpwl.construct.blocks.outwards import rounded_up
from cpwl.construct.clamped.clusters import Cluster, Half, Stars
from cpwl.exact.flint import from_flint
from cpwl.exact.integers import sign

__all__ = ["Bump", "Sum", "exact_bump"]

Law = tuple[fmpq, fmpq, fmpq]


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """`F` on one side: the laws of the triangles, and the jump of each ray on its line's form divided by its scale."""

    half: Half
    laws: dict[int, Law]
    jumps: tuple[fmpq, ...]
    multiplier: Fraction

    def oriented(self, stars: Stars, start: int) -> list[int]:
        """The signs that make all hinges 0 on the triangle with number `start` in the half."""
        return [-side for side in stars.sides(self.half, self.half.triangles[start])]


@dataclass(frozen=True, slots=True, eq=False)
class Bump:
    """A cluster that was decided to be valid, with its exact sums."""

    cluster: Cluster
    sums: tuple[Sum, ...]


def exact_bump(stars: Stars, cluster: Cluster, r: Sequence[fmpq]) -> Bump | None:
    """The cluster with exact sums and multipliers; None if it is not valid after all."""
    laws = {
        t: _law(stars, t, {v: r[v] for v in cluster.corners if v in stars.corners[t]})
        for half in cluster.halves
        for t in half.triangles
    }
    sums = []
    for half in cluster.halves:
        jumps = tuple(_jump(stars, ray.line, laws[ray.above], laws[ray.below]) for ray in half.rays)
        sums.append(Sum(half, {t: laws[t] for t in half.triangles}, jumps, Fraction(0)))
    least = _decide(stars, cluster, sums, laws)
    if least is None:
        return None
    rounded = [rounded_up(math.nextafter(float(m), math.inf)) if m else m for m in least]
    return Bump(cluster, tuple(replace(s, multiplier=m) for s, m in zip(sums, rounded, strict=True)))


def _law(stars: Stars, triangle: int, heights: dict[int, fmpq]) -> Law:
    """The affine function with these values at corners of a triangle, and 0 at the others."""
    table, total = stars.table, [fmpq(0)] * 3
    for v, height in heights.items():
        rest = sorted(u for u in stars.corners[triangle] if u != v)
        form = table.lines[table.edge_line[rest[0], rest[1]]]
        place = table.places[v]
        own = fmpq(int(place[2]), sum(int(f) * int(x) for f, x in zip(form, place, strict=True))) * height
        total = [t + own * int(f) for t, f in zip(total, form, strict=True)]
    return total[0], total[1], total[2]


def _jump(stars: Stars, line: int, above: Law, below: Law) -> fmpq:
    form, scale = stars.table.lines[line], stars.table.scale[line]
    axis = 0 if form[0] else 1
    return (above[axis] - below[axis]) * fmpq(scale.numerator, scale.denominator * int(form[axis]))


def _decide(stars: Stars, cluster: Cluster, sums: list[Sum], laws: dict[int, Law]) -> list[Fraction] | None:
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
    star, height = _heights(stars, laws, x, at, scale)
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


def _weights(stars: Stars, s: Sum) -> list[Fraction]:
    """The jumps on the integer forms of the lines."""
    scale = [stars.table.scale[ray.line] for ray in s.half.rays]
    return [from_flint(w) / c for w, c in zip(s.jumps, scale, strict=True)]


def _value(
    stars: Stars, s: Sum, x: NDArray[np.object_], at: dict[int, NDArray[np.object_]], scale: int
) -> NDArray[np.object_]:
    """`F` times `scale` times the last coordinate, at the points."""
    law = [int(c.p) * (scale // int(c.q)) for c in s.laws[s.half.triangles[0]]]
    total = np.asarray(x @ np.array(law, dtype=object))
    for ray, w, g in zip(s.half.rays, _weights(stars, s), s.oriented(stars, 0), strict=True):
        form = at[ray.line] * g
        total = total + np.where(form > 0, form, 0) * int(w * scale)
    return total


def _heights(
    stars: Stars,
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
