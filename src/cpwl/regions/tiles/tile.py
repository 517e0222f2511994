"""Tiles: cells of the first neurons of a network. No activation cell crosses the border of a tile.

Fix the order in which neurons are drawn, layer by layer. The first `r` of them cut the domain into polyhedra on which
they keep their signs, and later neurons only cut these further: so every activation cell lies in exactly one of the
polyhedra, and counts, pieces and extrema of the network are those of its tiles, put together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cpwl.exact.sparse import RationalMatrix
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import Network
from cpwl.regions.find import find_pieces
from cpwl.regions.pieces import Pieces

__all__ = ["Tile", "first_neurons", "split"]


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A part of the domain; `name` is the way to it: the third part of the first part is ``(0, 2)``."""

    name: tuple[int, ...]
    body: Polyhedron | None
    """None is all of R^n."""


def first_neurons(network: Network, count: int) -> Network:
    """A network with the first `count` hidden neurons, and their sum, which does not matter, as its output.

    >>> network = Network([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [-1]), ([[1]], [0])])
    >>> [weight.shape for weight, _ in first_neurons(network, 1).layers]
    [(1, 2), (1, 1)]
    >>> [weight.shape for weight, _ in first_neurons(network, 3).layers]
    [(2, 2), (1, 2), (1, 1)]
    """
    source = network.layers if network.exact is None else network.exact
    layers: list[tuple[Any, Any]] = []
    for weight, bias in source[:-1]:
        width = min(count, weight.shape[0])
        layers.append((_rows(weight, width), bias[:width]))
        count -= width
        if count <= 0:
            break
    width = layers[-1][0].shape[0] if layers else network.inputs
    return Network([*layers, (np.ones((1, width), dtype=np.int64), [0])])


def _rows(weight: Any, width: int) -> Any:
    if isinstance(weight, RationalMatrix):
        return weight.take_rows(np.arange(width))
    return weight[:width]


def split(network: Network, tile: Tile, parts: int) -> list[Tile]:
    """The tile cut by as many neurons as make at most `parts` parts; the order of neurons decides, nothing else."""
    total = sum(weight.shape[0] for weight, _ in network.layers[:-1])
    low, best = 1, None
    high = total
    while low <= high:
        middle = (low + high) // 2
        made = _cells(first_neurons(network, middle), tile.body, parts)
        if made is None:
            high = middle - 1
        else:
            low, best = middle + 1, made
    assert best is not None  # one neuron makes at most two parts
    return [Tile((*tile.name, i), best.polyhedra[i]) for i in range(len(best))]


def _cells(network: Network, body: Polyhedron | None, most: int) -> Pieces | None:
    """The cells with exact rows, or None if there are more than `most`."""
    made = find_pieces(network, body, True, most=most)
    return made if made.complete else None
