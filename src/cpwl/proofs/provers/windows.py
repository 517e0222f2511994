"""Proofs of kinds "windows" and "multiplexed": which neurons are compared, and which is the largest on each piece.

The classes are read off the layers that take maxima; the largest clamp of a side, or the largest block that a slot has
in a tile, is looked for in the middle of each piece. All else is found out and decided by the stand-alone checker. See
docs/windows.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np

from cpwl.exact.rational import fraction_array
from cpwl.network.network import Network
from cpwl.proofs.entries import NotRecognised
from cpwl.proofs.question import Proposal, Question, places_of, proof_head
from cpwl_check.cones import piece_cone
from cpwl_check.multiplexed import Index, middle, read_blocks, read_tiles
from cpwl_check.pieces import Forms, Layers, half_space
from cpwl_check.windows import Clamp, read_clamps, read_knots, read_second

_CLOSE = 1e-9  # of the size of the terms: what is nearer to the largest is looked at exactly
_PARTS = 30  # cuts one inside the other


def propose_windows(question: Question) -> Iterator[Proposal]:
    """The one proposal for a network of windows; `NotRecognised` for other networks."""
    if len(question.network.layers) < 4:
        raise NotRecognised("windows have three hidden layers or more")
    if _has_tiles(question.network):
        raise NotRecognised("these windows are multiplexed")
    sides = _sides(question.layers)
    yield _Clamps(question, sides).proposal("windows", sides)


def _has_tiles(network: Network) -> bool:
    """Whether the biases of layer 2 are those of tiles: 1, and 0 for each input."""
    bias, n = network.layers[1][1], network.inputs
    return (
        len(network.layers) >= 4
        and len(bias) % (n + 1) == 0
        and bool((bias.reshape(-1, n + 1) == np.eye(n + 1)[0]).all())
    )


def propose_multiplexed(question: Question) -> Iterator[Proposal]:
    """The one proposal for a network of multiplexed windows; `NotRecognised` for other networks."""
    if len(question.network.layers) < 4 or not _has_tiles(question.network):
        raise NotRecognised("no layer has the neurons of tiles")
    sides = _sides(question.layers)
    yield _Tiles(question, sides).proposal("multiplexed", sides)


def _sides(layers: Layers) -> list[list[list[int]]]:
    """The classes of each side, in the order in which they are compared."""
    above = layers[3:-1]
    if any(len(below) in form for below, layer in zip(layers[2:], above, strict=False) for form in layer):
        raise NotRecognised("a layer of maxima has a bias")
    groups = _groups(above[-1]) if above else _by_factors(layers[-1], len(layers[-2]))
    sides = [[group] for group in groups]
    for rows in reversed(above):
        # What a group compares or carries, in the layer below.
        sides = [[sorted(j for j, v in rows[k].items() if v > 0) for group in side for k in group] for side in sides]
    return sides


def _groups(rows: Forms) -> list[list[int]]:
    """Neurons ``s(a - b)`` with the neuron `b` after them, and those that stand alone."""
    groups, k = [], 0
    while k < len(rows):
        size = 2 if any(v < 0 for v in rows[k].values()) else 1
        groups.append(list(range(k, min(k + size, len(rows)))))
        k += size
    return groups


def _by_factors(outputs: Forms, width: int) -> list[list[int]]:
    """Neurons that all outputs read with the same factors."""
    factors: dict[tuple[Any, ...], list[int]] = {}
    for j in range(width):
        factors.setdefault(tuple(form.get(j, 0) for form in outputs), []).append(j)
    return list(factors.values())


class Cutter:
    """Names a neuron of each side on every piece, or on its parts: it is affine there and the largest, in integers."""

    members: list[Any]
    """Of each side what `active` is asked for."""

    def __init__(self, question: Question) -> None:
        places, self.corners = places_of(question.p)
        if (places[:, -1] == 0).any():
            raise NotRecognised("a piece is not bounded")
        self.n, self.pieces = question.p.dim, question.law.pieces
        self.places: list[list[int]] = places.tolist()
        points = fraction_array(places[:, :-1]) / places[:, -1:]
        self.low, self.high = points.min(axis=0).tolist(), points.max(axis=0).tolist()

    def proposal(self, kind: str, sides: list[list[list[int]]]) -> Proposal:
        """The proof, with an entry for each piece."""
        most = [[self._value(*self.active(own, x)[1:], x) for x in self.places] for own in self.members]
        entries = [self._of_piece(j, own.tolist(), most) for j, own in enumerate(self.corners)]
        return Proposal(Fraction(0), proof_head(kind, self.n) | {"sides": sides, "pieces": entries})

    def _value(self, law: list[int], scale: int, x: list[int]) -> Fraction:
        return Fraction(sum(map(mul, law, x)), scale * x[-1])

    def _of_piece(self, j: int, own: list[int], most: list[list[Fraction]]) -> Any:
        """The entry of a piece: names, if their laws in its middle are the largest at its corners; or parts."""
        names = []
        for s, members in enumerate(self.members):
            name, law, scale = self.active(members, middle([self.places[v] for v in own]))
            if any(self._value(law, scale, self.places[v]) < most[s][v] for v in own):
                return self._entry(piece_cone(self.pieces[j], self.n), _PARTS)
            names.append(name)
        return names

    def active(self, own: Any, x: list[int]) -> tuple[int, list[int], int]:
        """The largest neuron at a point, its law there, and the denominator."""
        raise NotImplementedError

    def law(self, k: int, x: list[int], /) -> list[int]:
        """The law of a neuron at a point."""
        raise NotImplementedError

    def _entry(self, cone: Any, depth: int) -> Any:
        ends = [g for g in cone.generators() if g[-1]]
        if not ends:
            return [self.active(own, [0] * self.n + [1])[0] for own in self.members]
        names = []
        for own in self.members:
            k, law, scale = self.active(own, middle(ends))
            for g in ends:
                other, above, divisor = self.active(own, g)
                cut = [a * divisor - b * scale for a, b in zip(law, above, strict=True)]
                if other != k and sum(c * v for c, v in zip(cut, g, strict=True)) < 0:
                    return self._cut(cone, cut, depth)
                mine = self.law(k, g)
                bend = [a - b for a, b in zip(law, mine, strict=True)]
                if sum(c * v for c, v in zip(bend, g, strict=True)) < 0:
                    return self._cut(cone, bend, depth)
            names.append(k)
        return names

    def _cut(self, cone: Any, row: list[int], depth: int) -> Any:
        if not depth:
            raise NotRecognised("a piece has too many parts")
        cut: list[int | Fraction] = [*(-v for v in row[:-1]), row[-1]]
        half = half_space(cut)[0]
        below, above = cone.cut(half), cone.cut([-v for v in half])
        return {"cut": cut, "below": self._entry(below, depth - 1), "above": self._entry(above, depth - 1)}


class _Clamps(Cutter):
    """Clamps: floats propose those that may be the largest, integers decide."""

    def __init__(self, question: Question, sides: list[list[list[int]]]) -> None:
        super().__init__(question)
        layers, ends = question.layers, (self.low, self.high)
        knots = read_knots(layers[0], self.n)
        self.clamps, _ = read_clamps(layers[2], read_second(layers[1], knots, *ends), knots, *ends)
        self.first, (weight, bias) = question.network.layers[:2], question.network.layers[2]
        self.members = []
        for side in sides:
            own = sorted(k for group in side for k in group)
            self.members.append((own, weight[own], abs(weight[own]), bias[own]))

    def active(self, own: Any, x: list[int]) -> tuple[int, list[int], int]:
        names, weight, sizes, bias = own
        value = np.array([v / x[-1] for v in x[:-1]])
        for first, constant in self.first:
            value = np.maximum(first @ value + constant, 0.0)
        reads, doubt = weight @ value + bias, _CLOSE * (sizes @ value + np.abs(bias))
        near = np.flatnonzero(reads + doubt >= (reads - doubt).max())
        k = max((names[i] for i in near), key=lambda k: Fraction(self.clamps[k].at(x), self.clamps[k].scale))
        return k, self.law(k, x), self.clamps[k].scale

    def law(self, k: int, x: list[int], /) -> list[int]:
        return _law_at(self.clamps[k], x)


def _law_at(clamp: Clamp, x: list[int]) -> list[int]:
    """The law at a place: with the hinges that are positive there."""
    law = clamp.affine
    for hinge in clamp.hinges:
        if sum(map(mul, hinge, x)) > 0:
            law = [a + b for a, b in zip(law, hinge, strict=True)]
    return law


class _Tiles(Cutter):
    """Blocks of tiles; a name is the number of the tile times the number of neurons, plus that of the slot's root."""

    def __init__(self, question: Question, sides: list[list[list[int]]]) -> None:
        super().__init__(question)
        layers = question.layers
        self.count = len(layers[2])
        self.tiles = read_tiles(layers[1], read_knots(layers[0], self.n), self.low, self.high)
        self.index = Index([[(a - 1, b + 1) for a, b in tile.ends] for tile in self.tiles])
        self.blocks = [read_blocks(layers[2], side, self.tiles).blocks for side in sides]
        self.members = list(range(len(sides)))

    def active(self, own: int, x: list[int]) -> tuple[int, list[int], int]:
        point = [Fraction(v, x[-1]) for v in x[:-1]]
        best: tuple[int, int, Clamp] | None = None
        for t in self.index.meeting([(v, v) for v in point]):
            if all(a <= v <= b for v, (a, b) in zip(point, self.tiles[t].ends, strict=True)):
                for k, block in self.blocks[own][t].items():
                    value = block.at(x)
                    if best is None or value * best[2].scale > best[0] * block.scale:
                        best = value, t * self.count + k, block
        if best is None:
            raise NotRecognised(f"no tile has laws at x = {[str(v) for v in point]}")
        return best[1], _law_at(best[2], x), best[2].scale

    def law(self, k: int, x: list[int], /) -> list[int]:
        t, slot = divmod(k, self.count)
        return next(_law_at(own[t][slot], x) for own in self.blocks if slot in own[t])
