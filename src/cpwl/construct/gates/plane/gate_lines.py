"""Which lines become gates? Fewest neurons first, then small multipliers.

A gate line costs a neuron of layer 2, and one of layer 1 unless `p` bends on it. It costs nothing at all if it makes
its own hinge needless: a hinge ``alpha relu(l)`` and a gate that takes ``- M relu(l)`` cancel for ``M = alpha``, and
that is allowed if ``d + M l`` nowhere has the wrong sign. Then all points where the line's jump changes must be its
own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.blocks.common import crossings
from cpwl.exact.integers import primitive, ratio_view, sign
from cpwl.exact.rational import to_float
from cpwl.function.bends.planar import PlanarBends, away_from, cross, power_of_two, signed
from cpwl.search import cover

__all__ = [
    "GateLines",
    "Stars",
    "choose_gate_lines",
    "common_integers",
    "find_stars",
    "keeps_sign",
    "sharp_range",
    "with_more_lines",
]

# How large must the multiplier of a gate be? The range of ``-d / l`` over the domain, never from samples.
#
# A gate glues along a line ``l = 0`` on which ``d = sum_H c_H relu(h_H)`` vanishes. ``d + M l`` has the sign of `l` on
# the domain iff ``M >= sup(-d/l)``, and the opposite sign iff ``M <= inf(-d/l)``. On a cell cut out by the lines
# ``h_H = 0`` and the domain's edges ``d + M l`` is affine, so its sign is decided at corners and along extreme rays: at
# the crossings of these lines and, if the domain is unbounded, of the line at infinity. Crossings are exact integers;
# quotients of them are rounded once, and what rounding can do to the rest is added to the range.


_ULP = float(np.finfo(np.float64).eps)
_BLOCK = 2**21  # numbers in one temporary array


def sharp_range(
    line: NDArray[np.object_],
    hinges: NDArray[np.object_],
    scale: NDArray[np.object_],
    jump: NDArray[np.float64],
    points: NDArray[np.object_],
) -> tuple[float, float]:
    """Bounds on ``-d / l`` over the domain, tight up to rounding, from all `crossings` of the hinges in it.

    The hinges are divided by `scale`, of which the line's is the last, and have one `jump` each, correctly rounded.
    Takes time in the cube of the number of hinges.
    """
    below = points @ line
    points, below = points[below != 0], below[below != 0]
    if len(points) == 0:
        return 0.0, 0.0
    above = points @ hinges.T
    share = ratio_view(np.where(above > 0, above, 0) * scale[-1], np.abs(below)[:, None] * scale[:-1])
    value = -(share @ jump) * sign(below)
    slack = (len(jump) + 4) * _ULP * (share @ np.abs(jump))
    return float((value - slack).min()), float((value + slack).max())


def keeps_sign(
    line: NDArray[np.object_],
    hinges: NDArray[np.object_],
    scale: NDArray[np.object_],
    jump: NDArray[np.object_],
    points: NDArray[np.object_],
    multiplier: Fraction,
) -> int:
    """1 if ``d + M l`` is nowhere of the other sign than `l`, -1 if nowhere of the same, else 0; all in integers.

    It may be 0 in more places than `l` is. The rest is as for `sharp_range`, `jump` exact.
    """
    below = points @ line
    above = points @ hinges.T
    whole, times, _ = common_integers(jump, scale[:-1], multiplier, scale[-1])
    value = sign(np.where(above > 0, above, 0) @ whole + below * times) * sign(below)
    return 1 if (value >= 0).all() else -1 if (value <= 0).all() else 0


def common_integers(
    jump: NDArray[np.object_], scale: NDArray[np.object_], multiplier: Fraction, own: int
) -> tuple[NDArray[np.object_], int, int]:
    """``jump / scale`` and ``multiplier / own`` as integers over one denominator, which comes last."""
    below = [c.denominator * int(s) for c, s in zip(jump, scale, strict=True)]
    common = math.lcm(multiplier.denominator * int(own), *below)
    whole = [c.numerator * (common // b) for c, b in zip(jump, below, strict=True)]
    times = multiplier.numerator * (common // (multiplier.denominator * int(own)))
    return np.array(whole, dtype=object), times, common


def star_ranges(
    normals: NDArray[np.object_], scale: NDArray[np.object_], jump: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Bounds on ``-d / l`` over the plane for stars of `k` lines, each of them as the gate: ``(v, k, m, 2)``.

    At a point with lines of the given `normals` ``(v, k, 2)`` and steps of their jumps, `d` has the bends that make `l`
    a gate for that point alone; ``-d / l`` depends on the direction only. The ranges of the points on a gate line add
    up to bounds for the whole gate, in time linear in their number. Normals are divided by `scale` ``(v, k)``, and so
    are the results by that of their gate; `jump` ``(v, k, m)`` is multiplied by it, and correctly rounded.
    """
    v, k, m = jump.shape
    result = np.empty((v, k, m, 2))
    size = max(1, _BLOCK // max(1, k**3 * m))
    for first in range(0, v, size):
        block = slice(first, first + size)
        a, b = normals[block, :, 0], normals[block, :, 1]
        # turn[., H, r] = n_H . (direction of r), antisymmetric; each quotient rounded once.
        turn = ratio_view(
            a[:, :, None] * b[:, None] - b[:, :, None] * a[:, None], scale[block, :, None] * scale[block, None]
        )
        flip = np.sign(turn)  # [., g, H]: on which side of gate g the line H runs to
        with np.errstate(divide="ignore", invalid="ignore"):
            for sense in (1.0, -1.0):
                # s(-flip_gH h_H) at direction r, over |l_g|.
                share = np.maximum(-flip[:, :, :, None] * turn[:, None] * sense, 0.0) / np.abs(turn)[:, :, None]
                share = np.where(turn[:, :, None] == 0, 0.0, share)
                term = flip[..., None] * jump[block][:, None]
                value = -np.einsum("vghr,vghm->vgmr", share, term) * (np.sign(turn) * sense)[:, :, None]
                slack = (k + 8) * _ULP * np.einsum("vghr,vghm->vgmr", share, np.abs(term))
                low, high = (value - slack).min(axis=-1), (value + slack).max(axis=-1)
                if sense < 0:
                    low, high = np.minimum(low, result[block][..., 0]), np.maximum(high, result[block][..., 1])
                result[block] = np.stack([low, high], axis=-1)
    return result


_PAIRS = 2**18  # pairs of points and lines that are all tried for incidence
_FEW = 60  # points up to which lines through three of them are looked for
_SPARE = 1500  # points up to which needless hinges are looked for


@dataclass(frozen=True, slots=True, eq=False)
class Stars:
    """Steps and bounds on ``-d / l``, ``(pairs, m)``, for pairs of a vertex and a line through it."""

    vertex: NDArray[np.int64]
    line: NDArray[np.int64]
    step: NDArray[np.object_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class GateLines:
    """For each vertex its gate line; and for gates that spare a hinge, by line, the sign that ``d + M l`` has."""

    owner: NDArray[np.int64]
    spared: dict[int, int]


def with_more_lines(bends: PlanarBends) -> PlanarBends:
    """The same with further pairs of vertices and lines: those not seen on an edge, and new lines through three."""
    if len(bends.lines) * len(bends.vertices) > _PAIRS:
        return bends
    lines = bends.lines
    if len(bends.vertices) <= _FEW:
        lines = np.concatenate([lines, _lines_through_three(bends)])
    on = np.argwhere(bends.vertices @ lines.T == 0)
    zero = np.full((len(lines) - len(bends.lines), bends.start.shape[1]), Fraction(0), dtype=object)
    start, scale = np.concatenate([bends.start, zero]), power_of_two(lines)
    return replace(bends, lines=lines, scale=scale, start=start, on=on)


def _lines_through_three(bends: PlanarBends) -> NDArray[np.object_]:
    """New lines through at least three vertices, oriented like the others."""
    one, two = np.triu_indices(len(bends.vertices), 1)
    rows = primitive(cross(bends.vertices[one], bends.vertices[two]))
    rows = rows * away_from(rows, bends.point).astype(object)[:, None]
    count: dict[tuple[int, ...], int] = {}
    for row in map(tuple, rows):
        count[row] = count.get(row, 0) + 1
    known = set(map(tuple, bends.lines))
    fresh = [row for row, pairs in count.items() if pairs >= 3 and row not in known]
    return np.array(fresh, dtype=object).reshape(-1, 3)


def find_stars(bends: PlanarBends) -> Stars:
    """For all known pairs at once; points with equally many lines together."""
    m, count = bends.step.shape[1], len(bends.lines)
    vertex, line = np.unique(bends.on, axis=0).T
    step = np.full((len(vertex), m), Fraction(0), dtype=object)
    step[np.searchsorted(vertex * count + line, bends.vertex * count + bends.line)] = bends.step
    jump = to_float(step)
    low, high = np.zeros((len(vertex), m)), np.zeros((len(vertex), m))
    degree = np.bincount(vertex)
    first = np.cumsum(degree) - degree
    for k in np.unique(degree):
        own = first[degree == k][:, None] + np.arange(k)
        found = star_ranges(bends.lines[line[own], :2], bends.scale[line[own]], jump[own])
        low[own], high[own] = found[..., 0], found[..., 1]
    return Stars(vertex, line, step, low, high)


def choose_gate_lines(
    bends: PlanarBends, stars: Stars, count: int, *, spare: bool, favoured: int | None = None
) -> GateLines:
    """A gate line for each vertex; the first `count` lines are those on which the function bends.

    Among choices of equally many neurons one with the `favoured` line, if there is one."""
    size = np.zeros(len(bends.lines))
    own = np.minimum(np.maximum(stars.high, 0.0), np.maximum(-stars.low, 0.0)).sum(axis=1)
    np.add.at(size, stars.line, own)
    # Fewest neurons first: all multipliers together weigh less than one.
    weight = 1 / (size.max(initial=0.0) or 1.0) / (len(bends.vertices) + 1)
    cost = np.where(np.arange(len(size)) < count, 1.0, 2.0) + size * weight
    signs = _spared(bends, stars) if spare else {}
    lone = np.array(sorted(signs), dtype=np.int64)
    stepped = (stars.step != 0).any(axis=1)
    more = np.flatnonzero(np.isin(stars.line, lone) & stepped)
    column = np.concatenate([stars.line, len(size) + np.searchsorted(lone, stars.line[more])])
    alone = np.arange(len(size) + len(lone)) >= len(size)
    vertex = np.concatenate([stars.vertex, stars.vertex[more]])
    cost = np.concatenate([cost, np.full(len(lone), 0.5 * weight)])
    if favoured is not None:
        cost[np.concatenate([np.arange(len(size)), lone]) == favoured] -= 0.5 * weight
    chosen = cover(vertex, column, cost, alone)
    # A spared hinge takes all its points; otherwise a point takes the line with the smallest multiplier.
    usable = np.flatnonzero(np.isin(column, chosen))
    rank = np.where(alone[column[usable]], -1.0, np.concatenate([own, own[more]])[usable])
    order = np.lexsort((column[usable], rank, vertex[usable]))
    seen, first = np.unique(vertex[usable][order], return_index=True)
    assert len(seen) == len(bends.vertices)
    best = column[usable][order][first]
    taken = {int(lone[k - len(size)]) for k in np.unique(best) if k >= len(size)}
    owner = np.where(best < len(size), best, lone[np.maximum(best - len(size), 0)] if len(lone) else best)
    return GateLines(owner.astype(np.int64), {h: signs[h] for h in sorted(taken)})


def _spared(bends: PlanarBends, stars: Stars) -> dict[int, int]:
    """Lines whose hinge their gate would make needless, with the sign of ``d + M l``; for one output only."""
    if bends.step.shape[1] > 1 or len(bends.vertices) > _SPARE:
        return {}
    found = {}
    for h in _likely(bends, stars):
        mine = np.unique(bends.vertex[bends.line == h])
        group = np.flatnonzero(np.isin(bends.vertex, mine) & (bends.line != h))
        l, others = bends.lines[h], bends.lines[bends.line[group]]
        side = sign(l[0] * others[:, 1] - l[1] * others[:, 0])
        inward, scale = signed(-others, side), bends.scale[np.append(bends.line[group], h)]
        points = crossings(inward, bends.boundary, bounded=bends.bounded)
        way = keeps_sign(l, inward, scale, signed(bends.step[group, 0], side), points, bends.start[h, 0])
        if way:
            found[int(h)] = way
    return found


def _likely(bends: PlanarBends, stars: Stars) -> NDArray[np.int64]:
    """Lines of which nothing near their points speaks against it, in floats.

    At each point the jump of the line before it must lie outside the range that this point needs, always on one side.
    """
    which = np.flatnonzero((stars.step != 0).any(axis=1))
    line = stars.line[which]
    x = ratio_view(bends.vertices, bends.vertices[:, 2:])[stars.vertex[which]]
    unit = ratio_view(bends.lines, bends.scale[:, None])[line]
    order = np.lexsort((unit[:, 1] * x[:, 0] - unit[:, 0] * x[:, 1], line))
    which, line = which[order], line[order]
    step = to_float(stars.step[which, 0])
    start = to_float(bends.start[:, 0])
    total = np.cumsum(step)
    opens = np.searchsorted(line, line)
    before = start[line] + (total - step) - (total - step)[opens]
    slack = 1e-9 * (np.abs(stars.low[which, 0]) + np.abs(stars.high[which, 0]) + np.abs(before))
    above, below = before >= stars.high[which, 0] - slack, before <= stars.low[which, 0] + slack
    bad = np.zeros((2, len(bends.lines)), dtype=bool)
    np.logical_or.at(bad[0], line, ~above)
    np.logical_or.at(bad[1], line, ~below)
    return np.intersect1d(np.flatnonzero(~bad.all(axis=0)), line)
