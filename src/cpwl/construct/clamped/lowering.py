"""From bumps to a plain network: tiles, hinges, halves, and few neurons that take the larger half of many bumps.

With tiles there are four hidden layers, without three: clipped coordinates ``relu(x - X_i)`` and windows ``relu(X_i -
x)``; hinges, in clipped coordinates, and what is carried of these; the halves ``H+`` and ``H-`` of every bump; and for
bumps whose boxes do not overlap one neuron ``relu(sum of H+ - H-)``, which is the sum of their ``relu(H+ - H-)``
because at most one of them is not 0 anywhere. The sum of all ``H-`` passes the last layer in one neuron.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.blocks.colours import colours
from cpwl.construct.clamped.clusters import Stars
from cpwl.construct.clamped.exact import Bump
from cpwl.construct.clamped.orient import Orientation, hinges
from cpwl.construct.clamped.tiles import Tiles, make_tiles, penalty
from cpwl.exact.flint import from_flint, to_flint
from cpwl.exact.sparse import RationalMatrix
from cpwl.network import Network

__all__ = ["lower"]

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
