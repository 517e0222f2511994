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

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.crossings import crossings
from cpwl.construct.blocks.hinges import hinge_network
from cpwl.construct.blocks.outwards import rounded_up
from cpwl.construct.blocks.shared_columns import shared_columns
from cpwl.construct.gates.plane.gate_lines import GateLines, Stars, choose_gate_lines, find_stars, with_more_lines
from cpwl.construct.gates.plane.lowering import Gate, lower
from cpwl.construct.gates.plane.multiplier import common_integers, keeps_sign, sharp_range
from cpwl.errors import ConstructionError
from cpwl.exact.integers import sign
from cpwl.exact.rational import to_float
from cpwl.function.bends.orient import orientations
from cpwl.function.bends.planar import PlanarBends, signed
from cpwl.network import Network

__all__ = ["PlaneGates", "plane_gates"]

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
