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
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import shared_columns
from cpwl.construct.clamped.clusters import Bump, Cluster, Stars, exact_bump, propose
from cpwl.construct.clamped.lowering import lower, orient
from cpwl.errors import ConstructionError, InputError, InternalError
from cpwl.exact.rational import to_flint, to_float
from cpwl.network import Network
from cpwl.network.noise import noise
from cpwl.search import exact_cover

__all__ = ["Clamped", "base_value", "clamped"]

_CARE = 1.0  # neurons that the largest rate that some corner needs is worth
_MOST = 4.0  # neurons that any rate is worth
_MANY = 4000  # triangles beyond which only one number of tiles is tried
_UNIT = 2.0**-24  # of float32
_TARGET = 1e-5 / 3  # relative error in float32 that is aimed at; predictions are right up to a factor of 3


@dataclass(frozen=True, slots=True, eq=False)
class Clamped:
    """The network, and what it was made of."""

    network: Network
    triangles: int
    """Of the table, after pieces were cut into triangles that meet face to face."""
    clusters: int
    """Bumps; those on an edge of the domain have one half, the others two."""
    tiles: int
    """Along each coordinate; 1: there is no layer of tiles."""
    magnitude: float
    """See `Plan`."""


def clamped(analysis: Analysis, *, tiles: int | None = None, target: float = _TARGET) -> Clamped:
    """A network with three or four hidden layers that equals a function of two inputs on its bounded convex domain.

    Pieces that are not triangles, or do not meet face to face, are cut until they are. `tiles` says into how many parts
    each coordinate is cut; otherwise few neurons decide among networks whose predicted error in float32, relative to
    the range, is at most `target`. Raises `ConstructionError` for other functions.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([range(4), range(4)], [[0, 0, 0, 0], [0, 3, 1, 0], [0, 2, 5, 0], [0, 0, 0, 0]])
    >>> made = clamped(Analysis(p))
    >>> made.triangles, made.clusters, made.network.sizes.neurons
    (18, 2, 16)
    >>> float(made.network([[1.5, 1.5]])[0, 0]), float(p([[1.5, 1.5]])[0, 0])
    (4.0, 4.0)
    """
    if tiles is not None and tiles < 1:
        raise InputError(f"`tiles` must be at least 1, not {tiles}", tiles=tiles)
    p, cloud = analysis.function, analysis.sample
    if p.dim != 2:
        raise ConstructionError(f"clamped gates are for functions of 2 inputs, and this one has {p.dim}", dim=p.dim)
    table = analysis.exact.table
    stars, count = Stars(table), len(table.triangles)
    best: Clamped | None = None
    for middle, tries in [(False, [tiles])] if tiles else _tries(count):
        outputs, share, base = _sums(stars, middle)
        clusters = sum(map(len, outputs))
        if clusters == 0:
            return Clamped(Network([([[0, 0]] * p.outputs, base)]), count, 0, 1, float(np.abs(to_float(base)).max()))
        orientation = orient(stars, [bump for own in outputs for bump in own])
        for number in tries:
            network = lower(stars, outputs, orientation, share, base, number)
            made = Clamped(network, count, clusters, number, noise(network.layers, cloud.points))
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


def _sums(stars: Stars, middle: bool) -> tuple[list[list[Bump]], NDArray[np.object_], NDArray[np.object_]]:
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


def _bumps(stars: Stars, heights: NDArray[np.object_]) -> list[Bump]:
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
