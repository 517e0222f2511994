"""One tile after the other, by whoever has time: what does not fit is split, what is done is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cpwl.errors import InternalError
from cpwl.executors import spread
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.subdivide.subdivide import TooMany, essential_dimension
from cpwl.regions.tiles.journal import Journal
from cpwl.regions.tiles.tile import Tile, split

__all__ = ["SIZE", "Errand", "stream"]

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
