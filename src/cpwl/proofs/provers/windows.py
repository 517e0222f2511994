"""Proofs of kinds "windows" and "multiplexed": which neurons are compared, and which is the largest on each piece.

The classes are read off the layers that take maxima; the largest clamp of a side, or the largest law that a slot has in
a tile, is looked for in the middle of each piece. All else is found out and decided by the stand-alone checker. See
docs/windows.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL
from cpwl.network.network import Network, exact_layers
from cpwl.proofs.entries import NotRecognised
from cpwl.proofs.question import Proposal, Question, places_of, proof_head
from cpwl_check.cones import piece_cone
from cpwl_check.multiplexed import Index, read_slots, read_tiles
from cpwl_check.pieces import Forms, Layers, half_space, over_one
from cpwl_check.windows import read_clamps, read_knots, read_second

_CLOSE = 1e-9  # of the size of the terms: what is nearer to the largest is looked at exactly
_PARTS = 30  # cuts one inside the other
_BLOCK = 2**22  # activations held at once


def propose_windows(question: Question) -> Iterator[Proposal]:
    """The one proposal for a network of windows; `NotRecognised` for other networks."""
    network, p = question.network, question.p
    if len(network.layers) < 4:
        raise NotRecognised("windows have three hidden layers or more")
    if _has_tiles(network):
        raise NotRecognised("these windows are multiplexed")
    sides = _sides(question.layers)
    places, corners = _corners(p)
    middles = np.array([places[own].sum(axis=0) / len(own) for own in corners], dtype=object)
    members = [sorted(k for own in side for k in own) for side in sides]
    named = np.stack([_largest(network, middles, own) for own in members], axis=1)
    entries: list[Any] = named.tolist()
    bent = _bent(network, places, corners, middles, named, members)
    if len(bent):
        cutter = _Clamps(question, members)
        for j in bent.tolist():
            entries[j] = cutter.parts(j)
    document = proof_head("windows", p.dim) | {"sides": sides, "pieces": entries}
    yield Proposal(Fraction(0), document)


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
    network, p = question.network, question.p
    if len(network.layers) < 4 or not _has_tiles(network):
        raise NotRecognised("no layer has the neurons of tiles")
    sides = _sides(question.layers)
    tiles = _Tiles(question, sides)
    places, corners = _corners(p)
    whole = [[*over_one([*x, Fraction(1)])[0]] for x in places.tolist()]
    most = [[tiles.value(s, x) for x in whole] for s in range(len(sides))]
    entries = [tiles.entry(j, own.tolist(), whole, most) for j, own in enumerate(corners)]
    yield Proposal(Fraction(0), proof_head("multiplexed", p.dim) | {"sides": sides, "pieces": entries})


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


def _corners(p: CPWL) -> tuple[NDArray[Any], list[NDArray[np.int64]]]:
    """All corners, exactly, and the numbers of each piece's."""
    places, corners = places_of(p)
    if (places[:, -1] == 0).any():
        raise NotRecognised("a piece is not bounded")
    return fraction_array(places[:, :-1]) / places[:, -1:], corners


def _bent(
    network: Network,
    places: NDArray[Any],
    corners: list[NDArray[np.int64]],
    middles: NDArray[Any],
    named: NDArray[np.int64],
    members: list[list[int]],
) -> NDArray[np.int64]:
    """Pieces on which the named clamp seems not to be affine, or not to be the largest at all corners.

    A convex function is affine iff in the middle it is the mean of its values at the corners.
    """
    count = np.array([len(own) for own in corners])
    owner, vertex = np.repeat(np.arange(len(corners)), count), np.concatenate(corners)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    x, y = places.astype(np.float64), middles.astype(np.float64)
    most, at = _reads(network, x, [named[owner, s] for s in range(len(members))], vertex, members)
    _, inside = _reads(network, y, list(named.T), np.arange(len(y)), members)
    off, off_inside = _taken_off(network, x), _taken_off(network, y)
    wrong = np.zeros(len(corners), dtype=bool)
    for s in range(len(members)):
        size = _CLOSE * float(np.abs(most[s]).max() + np.abs(off).max())
        np.logical_or.at(wrong, owner, at[s] < most[s][vertex] - size)
        mean = np.add.reduceat(at[s] - off[vertex], first) / count
        wrong |= np.abs(inside[s] - off_inside - mean) > size
    return np.flatnonzero(wrong)


def _taken_off(network: Network, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the clamps take off, up to sign and an affine function: the first one without its hinges."""
    (one, shift), (two, constant), (three, _) = network.layers[:3]
    value = np.maximum(one @ points.T + shift[:, None], 0.0)
    carries = (np.diff(two.indptr) == 1) & (constant == 0)
    value = np.where(carries[:, None], two @ value, 0.0)
    return np.asarray((three[[0]] @ value)[0], dtype=np.float64)


def _reads(
    network: Network,
    points: NDArray[np.float64],
    chosen: list[NDArray[np.int64]],
    at: NDArray[np.int64],
    members: list[list[int]],
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """For each side: what the largest clamp reads at every point, and what chosen clamps read at some of them."""
    most = [np.empty(len(points)) for _ in members]
    found = [np.empty(len(at)) for _ in members]
    weight, bias = network.layers[2]
    step = max(1, _BLOCK // len(bias))
    for start in range(0, len(points), step):
        value = points[start : start + step].T
        for first, constant in network.layers[:2]:
            value = np.maximum(first @ value + constant[:, None], 0.0)
        reads = weight @ value + bias[:, None]
        here = np.flatnonzero((at >= start) & (at < start + step))
        for s, own in enumerate(members):
            most[s][start : start + step] = reads[own].max(axis=0)
            found[s][here] = reads[chosen[s][here], at[here] - start]
    return most, found


class Cutter:
    """Cuts a piece into parts on which one neuron of each side is affine and the largest, in integers."""

    n: int
    pieces: list[Any]
    members: list[Any]
    """Of each side what `active` is asked for."""

    def active(self, own: Any, x: list[int]) -> tuple[int, list[int], int]:
        """The largest neuron at a point, its law there, and the denominator."""
        raise NotImplementedError

    def law(self, k: int, x: list[int], /) -> list[int]:
        """The law of a neuron at a point."""
        raise NotImplementedError

    def parts(self, j: int) -> Any:
        """The entry of a piece."""
        return self._entry(piece_cone(self.pieces[j], self.n), _PARTS)

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


def middle(ends: list[list[int]]) -> list[int]:
    """The mean of some places.

    >>> middle([[0, 1], [1, 2]])
    [1, 4]
    """
    common = math.lcm(*(g[-1] for g in ends))
    return [sum(column) for column in zip(*([v * (common // g[-1]) for v in g] for g in ends), strict=True)]


class _Clamps(Cutter):
    def __init__(self, question: Question, members: list[list[int]]) -> None:
        law, layers = question.law, question.layers
        places, _ = _corners(question.p)
        low, high = places.min(axis=0).tolist(), places.max(axis=0).tolist()
        knots = read_knots(layers[0], law.n)
        second = read_second(layers[1], knots, low, high)
        self.clamps, _ = read_clamps(layers[2], second, knots, low, high)
        self.members, self.n, self.pieces = members, law.n, law.pieces

    def active(self, own: list[int], x: list[int]) -> tuple[int, list[int], int]:
        k = max(own, key=lambda k: Fraction(self.clamps[k].at(x), self.clamps[k].scale))
        return k, self.law(k, x), self.clamps[k].scale

    def law(self, k: int, x: list[int], /) -> list[int]:
        clamp = self.clamps[k]
        law = clamp.affine
        for hinge in clamp.hinges:
            if sum(a * b for a, b in zip(hinge, x, strict=True)) > 0:
                law = [a + b for a, b in zip(law, hinge, strict=True)]
        return law


class _Tiles(Cutter):
    """Laws of slots in tiles; a name is the number of the tile times the number of neurons, plus that of the neuron."""

    def __init__(self, question: Question, sides: list[list[list[int]]]) -> None:
        law, layers = question.law, question.layers
        places, _ = _corners(question.p)
        low, high = places.min(axis=0).tolist(), places.max(axis=0).tolist()
        self.count, self.n, self.pieces = len(layers[2]), law.n, law.pieces
        self.tiles = read_tiles(layers[1], read_knots(layers[0], law.n), low, high)
        self.index = Index([[(a - 1, b + 1) for a, b in tile.ends] for tile in self.tiles])
        self.laws = [read_slots(layers[2], side, self.tiles).laws for side in sides]
        self.members = list(range(len(sides)))

    def active(self, own: int, x: list[int]) -> tuple[int, list[int], int]:
        point = [Fraction(v, x[-1]) for v in x[:-1]]
        best: tuple[int, int, list[int], int] | None = None
        for t in self.index.meeting([(v, v) for v in point]):
            if all(a <= v <= b for v, (a, b) in zip(point, self.tiles[t].ends, strict=True)):
                for k, (law, scale) in self.laws[own][t].items():
                    value = sum(map(mul, law, x))
                    if best is None or value * best[3] > best[0] * scale:
                        best = value, t * self.count + k, law, scale
        if best is None:
            raise NotRecognised(f"no tile has laws at x = {[str(v) for v in point]}")
        return best[1:]

    def law(self, k: int, _: list[int], /) -> list[int]:
        t, slot = divmod(k, self.count)
        return next(own[t][slot][0] for own in self.laws if slot in own[t])

    def value(self, side: int, x: list[int]) -> Fraction:
        """The largest law at a place."""
        _, law, scale = self.active(side, x)
        return Fraction(sum(map(mul, law, x)), scale * x[-1])

    def entry(self, j: int, own: list[int], places: list[list[int]], most: list[list[Fraction]]) -> Any:
        """The entry of a piece: names, where its laws in the middle are the largest at the corners, or parts."""
        names = []
        for s in self.members:
            name, law, scale = self.active(s, middle([places[v] for v in own]))
            if any(Fraction(sum(map(mul, law, places[v])), scale * places[v][-1]) < most[s][v] for v in own):
                return self.parts(j)
            names.append(name)
        return names


def _largest(network: Network, points: NDArray[Any], own: list[int]) -> NDArray[np.int64]:
    """At each point the clamp that reads most: floats propose, rationals decide what is close."""
    result = np.empty(len(points), dtype=np.int64)
    x = points.astype(np.float64).T
    step = max(1, _BLOCK // max(1, len(own)))
    weight, bias = network.layers[2]
    weight, bias = weight[own], bias[own]
    for start in range(0, len(points), step):
        value = x[:, start : start + step]
        for first, constant in network.layers[:2]:
            value = np.maximum(first @ value + constant[:, None], 0.0)
        reads = weight @ value + bias[:, None]
        size = abs(weight) @ value + np.abs(bias)[:, None]
        best = np.argmax(reads, axis=0)
        columns = np.arange(reads.shape[1])
        result[start : start + step] = np.array(own)[best]
        close = reads >= reads[best, columns] - _CLOSE * (size + size[best, columns])
        for column in np.flatnonzero(close.sum(axis=0) > 1):
            several = [own[k] for k in np.flatnonzero(close[:, column])]
            result[start + column] = _exactly(network, points[start + column], several)
    return result


def _exactly(network: Network, point: NDArray[Any], several: list[int]) -> int:
    """The clamp, of several, that reads most."""
    value = point
    layers = exact_layers(network)
    zero = Fraction(0)
    for weight, bias in layers[:2]:
        value = np.array([max(zero, v) for v in weight @ value + bias], dtype=object)
    reads = layers[2][0].take_rows(several) @ value + layers[2][1][several]
    return several[int(np.argmax(reads))]
