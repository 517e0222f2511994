"""Activation cells counted tile by tile."""

from __future__ import annotations

from typing import Any

from cpwl.errors import InternalError
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import Network
from cpwl.regions.find import LOW
from cpwl.regions.subdivide.subdivide import TooMany, essential_dimension, subdivide
from cpwl.regions.tiles.stream import Errand
from cpwl.regions.tiles.tile import Tile
from cpwl.regions.walk.walk import walk

__all__ = ["COUNT", "count_cells"]


def count_cells(network: Network, body: Polyhedron | None, size: int) -> int:
    """How many cells there are on a tile; `TooMany` for more than `size`."""
    if essential_dimension(network, body) <= LOW:
        made = subdivide(network, body, most=size, strict=True)
        if not made.complete:
            raise InternalError("the cells of a tile do not add up to a ball")
        return made.cells
    found = walk(network, body, most=size)
    if not found.complete:
        raise TooMany(f"there are more than {size} cells")
    return len(found.signs)


def _note(_: Tile, count: int) -> int:
    return count


def _recall(_: Tile, noted: Any) -> int:
    return int(noted)


COUNT = Errand("cells", count_cells, _note, _recall)
