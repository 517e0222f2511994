"""Functions of two inputs by gates on lines: two hidden layers, about 1.75 neurons a triangle, ``5 m`` for a grid.

Let `H` be the lines on which `p` bends, `V*` the points where a jump changes along its line, and `G` lines through all
of `V*`. At each point of `V*` the steps of the jumps balance: they are the bends of a function `S_v` on rays from `v`,
and ``p = law + sum_H start_H relu(h_H) + sum_v S_v``. The points on one gate line `l` are glued
(docs/theory/line_gates.md)::

    sum_v S_v = G- + [l > 0] d,    [l > 0] d = sigma relu(sigma (d + M l)) - M relu(l)

where `G-` has the bends on rays to the negative side, and ``d = sum_H c_H relu(h_H)`` all lines through the points,
each hinge oriented to be 0 where `l` begins: so `d` is 0 on `l`, and nothing has to be solved. That takes
``|H u G| + |G| + 4`` neurons, one less on a bounded domain, and less where a gate spares the hinge of its own line.
Choices for small rounding errors are those of docs/theory/float_quality.md: the smallest multiplier (`sigma = 1` or
`-1`), rounded outwards to 8 bits; among covers of equal size one of small multipliers; hinges that grow away
from the middle, which leaves one piece's law as the affine part; carriers near the middle. Where lines are few
hinges grow away from whichever of their cells, and gates are on whichever of equally many lines, leave the fewest
neurons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import crossings, rounded_up, shared_columns
from cpwl.construct.blocks.hinges import hinge_network
from cpwl.errors import ConstructionError
from cpwl.exact.integers import primitive, ratio_view, sign
from cpwl.exact.rational import to_float
from cpwl.function.bends.planar import PlanarBends, away_from, cross, orientations, power_of_two, signed
from cpwl.network import Network
from cpwl.network.program import Row, chained, pruned
from cpwl.search import cover

# Which lines become gates? Fewest neurons first, then small multipliers.
#
# A gate line costs a neuron of layer 2, and one of layer 1 unless `p` bends on it. It costs nothing at all if it makes
# its own hinge needless: a hinge ``alpha relu(l)`` and a gate that takes ``- M relu(l)`` cancel for ``M = alpha``, and
# that is allowed if ``d + M l`` nowhere has the wrong sign. Then all points where the line's jump changes must be its
# own.


# How large must the multiplier of a gate be? The range of ``-d / l`` over the domain, never from samples.
#
# A gate glues along a line ``l = 0`` on which ``d = sum_H c_H relu(h_H)`` vanishes. ``d + M l`` has the sign of `l` on
# the domain iff ``M >= sup(-d/l)``, and the opposite sign iff ``M <= inf(-d/l)``. On a cell cut out by the lines
# ``h_H = 0`` and the domain's edges ``d + M l`` is affine, so its sign is decided at corners and along extreme rays: at
# the crossings of these lines and, if the domain is unbounded, of the line at infinity. Crossings are exact integers;
# quotients of them are rounded once, and what rounding can do to the rest is added to the range.


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
_FEW_POINTS = 60  # points up to which lines through three of them are looked for
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
    if len(bends.vertices) <= _FEW_POINTS:
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


# From hinges and gates on lines to a plain network with two hidden layers.
#
# Layer 1: one neuron a hinge, and two of them get a partner ``relu(-h)``, so that affine functions pass. Layer 2: the
# gates, and carries for the sum of all the rest. Every carry is at least 0 on the domain: on a bounded one it is lifted
# by a constant, on an unbounded one the sum is split into its positive and its negative terms.


_ULP = float(np.finfo(np.float64).eps)
_NEAR = 64  # lines near the middle among which the two carriers are chosen
_FEW_CARRIED = 300  # lines up to which the constant of a carry is found from all their crossings


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """``sign * relu(sign * (sum weight_H relu(h_H) + affine))``, which is 0 where the form `line` is not positive.

    Forms are those of `PlanarBends`, divided by their scales; `affine` are integers, the denominator last.
    """

    line: int
    hinges: NDArray[np.int64]
    weight: NDArray[np.object_]
    affine: NDArray[np.object_]
    multiplier: Fraction
    sign: int
    output: NDArray[np.object_]
    """How much of it each output takes."""


def lower(bends: PlanarBends, alpha: NDArray[np.object_], gates: list[Gate], *, keep: bool) -> tuple[Network, int]:
    """The network of ``law + sum_H alpha_H relu(h_H) + sum of gates``, and how many hinges it has.

    Hinges that nothing reads are left out, unless `keep` asks for those of all gate lines.
    """
    lines = bends.lines
    used = (alpha != 0).any(axis=1)
    for gate in gates:
        used[gate.hinges] = True
        used[gate.line] |= keep
    one, two = _carriers(bends, lines, np.flatnonzero(used))
    used[[one, two]] = True
    hinge = np.cumsum(used) - 1  # the neuron of each line; the two partners come last
    hinges = int(used.sum())
    forms = np.concatenate([lines[used], -lines[[one, two]]])
    sizes = np.concatenate([bends.scale[used], bends.scale[[one, two]]])
    first = np.frompyfunc(Fraction, 2, 1)(forms, sizes[:, None])
    spread = _Spread(lines[one], lines[two], bends.scale[one], bends.scale[two], one, two, hinge, hinges)
    rows = [spread.row(g.hinges, g.weight, g.affine, g.sign) for g in gates]
    every = np.flatnonzero((alpha != 0).any(axis=1))
    sums = [spread.row(every, alpha[every, j], bends.law[j]) for j in range(alpha.shape[1])]
    basis, share = shared_columns(_dense([row for row, _ in sums], len(forms)))
    carried, out, constant = _carries(bends, forms, sizes, [sums[j][0] for j in basis])
    rows += carried
    last = np.full((alpha.shape[1], len(rows)), Fraction(0), dtype=object)
    for k, gate in enumerate(gates):
        last[:, k] = gate.output * gate.sign
    last[:, len(gates) :] = share @ out
    bias = np.array([shift for _, shift in sums], dtype=object) + share @ constant
    chain = [[Row({0: a, 1: b}, c) for a, b, c in first], [Row(*row) for row in rows]]
    chain.append([Row(dict(enumerate(own)), shift) for own, shift in zip(last, bias, strict=True)])
    return chained(chain if keep else pruned(chain), 2), hinges  # a gate may spare the hinge of its own line


_Row = dict[int, Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class _Spread:
    """Writes sums of hinges and affine functions as rows on the neurons of layer 1."""

    form_one: NDArray[np.object_]
    form_two: NDArray[np.object_]
    scale_one: int
    scale_two: int
    one: int
    two: int
    hinge: NDArray[np.int64]
    hinges: int

    def row(
        self, lines: NDArray[np.int64], weight: NDArray[np.object_], affine: NDArray[np.object_], sign: int = 1
    ) -> tuple[_Row, Fraction]:
        """The row of ``sign * (sum weight_H relu(h_H) + affine)``, and its bias."""
        (a, b, c), (d, e, f) = self.form_one, self.form_two
        x, y, z, below = affine
        det = a * e - b * d
        u, v = (x * e - y * d) * sign, (y * a - x * b) * sign
        row = dict(zip(self.hinge[lines].tolist(), weight if sign > 0 else -weight, strict=True))
        first, second = Fraction(u * self.scale_one, below * det), Fraction(v * self.scale_two, below * det)
        for k, partner, w in ((self.one, self.hinges, first), (self.two, self.hinges + 1, second)):
            k = int(self.hinge[k])
            row[k] = row[k] + w if k in row else w
            row[partner] = -w
        return {k: w for k, w in row.items() if w}, Fraction(z * det * sign - u * c - v * f, below * det)


def _carriers(bends: PlanarBends, lines: NDArray[np.object_], used: NDArray[np.int64]) -> tuple[int, int]:
    """Two lines near the middle and far from parallel: affine functions are small multiples of their forms."""
    every = np.arange(len(lines)) if len(used) < 2 else used
    unit = ratio_view(lines[every], np.abs(lines[every, :2]).max(axis=1)[:, None])
    length = np.hypot(unit[:, 0], unit[:, 1])
    x = ratio_view(bends.point, bends.point[2:])
    away = np.abs(unit @ x) / length
    near = np.argsort(away, kind="stable")[:_NEAR]
    normal = unit[near, :2] / length[near, None]
    turn = np.abs(normal[:, None, 0] * normal[None, :, 1] - normal[:, None, 1] * normal[None, :, 0])
    reach = away[near] + (np.median(away) or 1.0)
    one, two = np.unravel_index(np.argmax(turn / (reach[:, None] + reach[None])), turn.shape)
    if turn[one, two] < 1e-6:  # all lines near the middle are about parallel
        return _independent(lines, every)
    return int(every[near[min(one, two)]]), int(every[near[max(one, two)]])


def _independent(lines: NDArray[np.object_], every: NDArray[np.int64]) -> tuple[int, int]:
    a, b = lines[every[0], :2]
    other = np.flatnonzero(lines[every, 1] * a != lines[every, 0] * b)
    return int(every[0]), int(every[other[0]])


def _carries(
    bends: PlanarBends, forms: NDArray[np.object_], scale: NDArray[np.object_], sums: list[_Row]
) -> tuple[list[tuple[_Row, Fraction]], NDArray[np.object_], NDArray[np.object_]]:
    """Rows of neurons that carry the sums, their weights in each output, and the constants to add there."""
    count = len(sums)
    constant = np.full(count, Fraction(0), dtype=object)
    negative: _Row = {}
    for row in sums:
        for k, w in row.items():
            if w < 0:
                negative[k] = max(negative.get(k, Fraction(0)), -w)
    if not bends.bounded and negative:
        split = [
            {k: v for k in {**negative, **row} if (v := row.get(k, Fraction(0)) + negative.get(k, 0))} for row in sums
        ]
        out = np.full((count, count + 1), Fraction(0), dtype=object)
        out[np.arange(count), np.arange(count)], out[:, count] = Fraction(1), Fraction(-1)
        return [*((row, Fraction(0)) for row in split), (negative, Fraction(0))], out, constant
    out = np.full((count, count), Fraction(0), dtype=object)
    out[np.arange(count), np.arange(count)] = Fraction(1)
    lift = [rounded_up(-_least(bends, forms, scale, row)) if negative else Fraction(0) for row in sums]
    return list(zip(sums, lift, strict=True)), out, constant - np.array(lift, dtype=object)


def _least(bends: PlanarBends, forms: NDArray[np.object_], scale: NDArray[np.object_], row: _Row) -> float:
    """A lower bound of ``sum w_k relu(form_k / scale_k)`` over a bounded domain.

    From all crossings of the forms if they are few, otherwise term by term.
    """
    which = np.array(list(row), dtype=np.int64)
    weight = to_float(np.array(list(row.values()), dtype=object))
    own = forms[which]
    if len(which) <= _FEW_CARRIED:
        places = np.concatenate([crossings(own, bends.boundary, bounded=True), bends.corners])
        x = ratio_view(places, places[:, 2:])
        view = ratio_view(own, scale[which][:, None])
        value = np.maximum(x @ view.T, 0.0) @ weight
        slack = (len(which) + 12) * _ULP * (np.abs(x) @ (np.abs(view.T) @ np.abs(weight)))
        return float(min((value - slack).min(), 0.0))
    at = ratio_view(own @ bends.corners.T, scale[which][:, None] * bends.corners[:, 2])
    low = np.minimum(weight, 0.0) * np.maximum(at.max(axis=1), 0.0)
    return float(low.sum() * (1 + (len(low) + 6) * _ULP))


def _dense(rows: list[_Row], width: int) -> NDArray[np.object_]:
    """The rows as columns."""
    dense = np.full((width, len(rows)), Fraction(0), dtype=object)
    for j, row in enumerate(rows):
        for k, w in row.items():
            dense[k, j] = w
    return dense


_SHARP = 2**24  # products of crossings and hinges up to which multipliers are sharp
_MANY = 2000  # gates up to which they are
_FEW = 8  # lines up to which several gate lines and orientations are tried
_FEWER = 4  # lines up to which each gate line is tried with each orientation


@dataclass(frozen=True, slots=True, eq=False)
class PlaneGates:
    """The network, and what it was made of."""

    network: Network
    lines: int
    """``|H|``, the lines on which the function bends."""
    hinges: int
    """``|H u G|`` without the spared ones: the neurons of layer 1 without the two partners."""
    gate_lines: int
    """``|G|``, the lines along which something is glued; several outputs may need several gates on one."""
    vertices: int
    """``|V*|``, the points inside the domain where a jump changes along its line."""
    gates: tuple[Gate, ...]
    """The gates, in the order of the first neurons of layer 2; the carries come after them."""
    forms: NDArray[np.object_]
    """``(k, 3)``: the integer forms of the lines that the gates speak of, negative where a gate is 0."""
    sharp: bool
    """Whether multipliers are as small as 8 bits allow; otherwise they are bounds, point by point."""


def plane_gates(analysis: Analysis, *, spare: bool = True) -> PlaneGates:
    """A network with two hidden layers that equals a function of two inputs on its convex domain.

    Without points where a jump changes it has one hidden layer (`hinge_network`). Unless `spare`, every gate line keeps
    its hinge, and every gate is 0 on the negative side of its line only. Exact data.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0], [1], [2]])
    >>> made = plane_gates(Analysis(p), spare=False)
    >>> made.lines, made.gate_lines, made.network.sizes.neurons
    (3, 1, 7)
    """
    dim = analysis.function.dim
    if dim != 2:
        raise ConstructionError(f"gates on lines are for functions of 2 inputs, and this one has {dim}", dim=dim)
    bends = analysis.bends
    count = len(bends.lines)
    if len(bends.vertices) == 0:
        return PlaneGates(hinge_network(analysis.solid), count, count, 0, 0, (), bends.lines, True)
    found = _glued(bends, spare)
    if count > _FEW:
        return found
    ways = [bends, *orientations(bends, analysis.function)]
    favoured = list(range(count))
    if count > _FEWER:  # first the gate line, then the orientation
        found = min([found, *(_glued(bends, spare, h) for h in favoured)], key=_neurons)
        favoured = [gate.line for gate in found.gates[:1]]
    return min([found, *(_glued(way, spare, h) for way in ways for h in favoured)], key=_neurons)


def _neurons(made: PlaneGates) -> int:
    return made.network.sizes.neurons


def _glued(bends: PlanarBends, spare: bool, favoured: int | None = None) -> PlaneGates:
    """The network with hinges that grow away from the point that the bends are oriented away from."""
    count = len(bends.lines)
    bends = with_more_lines(bends)
    stars = find_stars(bends)
    chosen = choose_gate_lines(bends, stars, count, spare=spare, favoured=favoured)
    alpha, gates, sharp = _glue(bends, chosen, stars, spare)
    network, hinges = lower(bends, alpha, gates, keep=not spare)
    on = len(np.unique(chosen.owner))
    return PlaneGates(network, count, hinges, on, len(bends.vertices), tuple(gates), bends.lines, sharp)


def _glue(
    bends: PlanarBends, chosen: GateLines, stars: Stars, spare: bool
) -> tuple[NDArray[np.object_], list[Gate], bool]:
    """The weights of the hinges in the sum that is carried, and the gates."""
    gate = chosen.owner[bends.vertex]
    l, others = bends.lines[gate], bends.lines[bends.line]
    side = sign(l[:, 0] * others[:, 1] - l[:, 1] * others[:, 0])  # to which side of its gate a line runs; 0: it is it
    alpha = _to_negative_sides(bends, side)
    away = np.flatnonzero(side)
    away = away[np.argsort(gate[away], kind="stable")]
    lines = np.unique(chosen.owner)
    groups = np.split(away, np.searchsorted(gate[away], lines[1:]))
    edges = len(bends.boundary) + 1
    work = sum((len(group) + edges) ** 2 * len(group) for group in groups) // 2
    sharp = work <= _SHARP and len(groups) <= _MANY
    low, high = _bounds(chosen.owner, stars, len(bends.lines))
    gates = []
    for g, group in zip(
        lines, groups, strict=True
    ):  # A loop over gates: each has its own hinges and its own crossings.
        steps = signed(bends.step[group], side[group])
        forms, scale = bends.lines[bends.line[group]], bends.scale[np.append(bends.line[group], g)]
        inward = signed(-forms, side[group]) if sharp else forms
        points = crossings(inward, bends.boundary, bounded=bends.bounded) if sharp and g not in chosen.spared else None
        basis, share = shared_columns(steps)
        for b, j in enumerate(basis):
            if g in chosen.spared:
                multiplier, sense = alpha[g, 0], chosen.spared[int(g)]
            elif points is not None:
                multiplier, sense = _sharp(bends.lines[g], inward, scale, steps[:, j], points, spare)
            else:
                multiplier, sense = _smaller(low[g, j], high[g, j], spare)
            alpha[g] -= share[:, b] * multiplier
            up = side[group] > 0  # relu(-h) = relu(h) - h
            whole, times, common = common_integers(steps[up, j], scale[:-1][up], multiplier, scale[-1])
            affine = np.append(bends.lines[g] * times - whole @ forms[up], common)
            gates.append(Gate(int(g), bends.line[group], steps[:, j], affine, multiplier, sense, share[:, b]))
    return alpha, gates, sharp


def _to_negative_sides(bends: PlanarBends, side: NDArray[np.int64]) -> NDArray[np.object_]:
    """The jumps of the lines where they begin, and the steps on rays to the negative sides of their gates."""
    alpha = bends.start.copy()
    for i in np.flatnonzero(side < 0):  # A loop over steps: most are the first of their line, and 0 + x costs as x + y.
        h, step = bends.line[i], bends.step[i]
        alpha[h] = alpha[h] + step if alpha[h].any() else step
    return alpha


def _bounds(owner: NDArray[np.int64], stars: Stars, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds on ``-d / l`` for each gate line: the sums of those of its points, outwards by their rounding."""
    own = owner[stars.vertex] == stars.line
    low, high = np.zeros((2, count, stars.low.shape[1]))
    np.add.at(low, stars.line[own], np.minimum(stars.low[own], 0.0))
    np.add.at(high, stars.line[own], np.maximum(stars.high[own], 0.0))
    slack = 1 + (np.bincount(stars.line[own], minlength=count) + 4) * np.finfo(np.float64).eps
    return low * slack[:, None], high * slack[:, None]


def _sharp(
    line: NDArray[np.object_],
    hinges: NDArray[np.object_],
    scale: NDArray[np.object_],
    jump: NDArray[np.object_],
    points: NDArray[np.object_],
    spare: bool,
) -> tuple[Fraction, int]:
    """The smallest multiplier of 8 bits; 0 where that will do, which rounding cannot tell."""
    low, high = sharp_range(line, hinges, scale, to_float(jump), points)
    if spare and min(-low, high) <= 1e-9 * (high - low):
        sense = keeps_sign(line, hinges, scale, jump, points, Fraction(0))
        if sense:
            return Fraction(0), sense
    return _smaller(low, high, spare)


def _smaller(low: float, high: float, spare: bool) -> tuple[Fraction, int]:
    """The smaller of the two multipliers that will do, and the sign that goes with it.

    Unless hinges are spared it is not 0 and not tiny: then the gate is 0 on its line and nowhere near it.
    """
    least = 0.0 if spare else (high - low) / 256
    up, down = rounded_up(max(high, least)), rounded_up(max(-low, least))
    return (up, 1) if up <= down else (-down, -1)
