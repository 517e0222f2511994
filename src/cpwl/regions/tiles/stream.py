"""One tile after the other, by whoever has time: what does not fit is split, what is done is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from cpwl.errors import InternalError
from cpwl.exact.sparse import RationalMatrix
from cpwl.executors import spread
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.cells import find_pieces
from cpwl.regions.pieces import Pieces
from cpwl.regions.subdivide.subdivide import TooMany, essential_dimension
from cpwl.regions.tiles.journal import Journal

__all__ = ["SIZE", "Errand", "Tile", "first_neurons", "split", "stream"]

# Tiles: cells of the first neurons of a network. No activation cell crosses the border of a tile.
#
# Fix the order in which neurons are drawn, layer by layer. The first `r` of them cut the domain into polyhedra on which
# they keep their signs, and later neurons only cut these further: so every activation cell lies in exactly one of the
# polyhedra, and counts, pieces and extrema of the network are those of its tiles, put together.


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


SIZE = 100_000  # cells of a tile: half a GB in R^4, a second's work
_FEWEST, _MOST = 8, 1024  # parts of a tile that is split
_ROOM = 4  # how much smaller than the limit parts should be, so that few are split again

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Errand(Generic[Result]):
    """What to find out on each tile, and how it is noted in a journal and read back; functions of a module.

    `work(network, body, size)` raises `TooMany` where the tile has more than `size` cells.
    """

    name: str
    work: Callable[[Network, Polyhedron | None, int], Result]
    note: Callable[[Tile, Result], Any]
    recall: Callable[[Tile, Any], Result]


@dataclass(frozen=True, slots=True)
class _Split:
    """A tile of too many cells: asked to be split into this many parts, and the parts."""

    asked: int
    tiles: list[Tile]


def stream(
    network: Network,
    domain: Polyhedron | None,
    errand: Errand[Result],
    *,
    size: int = SIZE,
    executor: Executor | None = None,
    journal: Journal | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Tile, Result]]:
    """The result of each tile, whole or split as the number of its cells demands; together they are the domain.

    The tiles depend on network, domain and `size` alone, and so do the results and their order.
    """
    waiting, done = [Tile((), domain)], 0
    shared = (network, size, errand.work)
    while waiting:
        fresh = [tile for tile in waiting if journal is None or journal.get(tile.name) is None]
        found = spread(_attempt, shared, fresh, executor)
        after: list[Tile] = []
        for tile in waiting:
            noted = None if journal is None else journal.get(tile.name)
            outcome: Any = next(found) if noted is None else _recalled(network, tile, noted, errand)
            if isinstance(outcome, _Split):
                if journal is not None and noted is None:
                    journal.add(tile.name, split=outcome.asked, parts=len(outcome.tiles))
                after += outcome.tiles
                continue
            if journal is not None and noted is None:
                journal.add(tile.name, done=errand.note(tile, outcome))
            done += 1
            if progress is not None:
                progress(done, done + len(waiting) + len(after), f"{done:,} tiles")
            yield tile, outcome
        waiting = after
    if journal is not None:
        journal.finish()


def _attempt(shared: tuple[Network, int, Callable[..., Result]], tile: Tile) -> Result | _Split:
    network, size, work = shared
    try:
        return work(network, tile.body, size)
    except TooMany as reason:
        parts = _parts(network, tile, reason)
        return _Split(parts, split(network, tile, parts))


def _parts(network: Network, tile: Tile, reason: TooMany) -> int:
    """How many parts would do: `m` neurons in general position make about ``m^d`` cells."""
    if "neurons" not in reason.details:
        return _FEWEST
    share = reason.details["of"] / reason.details["neurons"]
    expected = _ROOM * share ** min(essential_dimension(network, tile.body), 8)
    return int(min(max(expected, _FEWEST), _MOST))


def _recalled(network: Network, tile: Tile, noted: dict[str, Any], errand: Errand[Result]) -> Result | _Split:
    if "split" not in noted:
        return errand.recall(tile, noted["done"])
    tiles = split(network, tile, noted["split"])
    if len(tiles) != noted["parts"]:
        raise InternalError(f"tile {tile.name} was split into {noted['parts']} parts before and {len(tiles)} now")
    return _Split(noted["split"], tiles)
