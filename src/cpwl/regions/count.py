"""How many linear regions? Four numbers that go by that name."""

from __future__ import annotations

import os
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from scipy.sparse import coo_array

from cpwl.doors import check_argument, check_choice, check_limit, check_path, heard, within_float64
from cpwl.errors import InputError, InternalError
from cpwl.executors import check_executor
from cpwl.function.components import label_maps
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.network.network import Network
from cpwl.progress import Progress, Shown, shows_progress
from cpwl.regions.cells import find_pieces, has_few_faces, is_short
from cpwl.regions.extract import as_function
from cpwl.regions.pieces import Pieces
from cpwl.regions.subdivide.subdivide import TooMany, subdivide
from cpwl.regions.tiles.journal import Journal
from cpwl.regions.tiles.stream import Errand, Tile, stream
from cpwl.regions.walk.walk import walk

__all__ = ["COUNT", "Regions", "connected_pieces", "count_regions"]

# Activation cells counted tile by tile.


def count_cells(network: Network, body: Polyhedron | None, size: int) -> int:
    """How many cells there are on a tile; `TooMany` for more than `size`."""
    if has_few_faces(network, body):
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


@dataclass(frozen=True, slots=True)
class Regions:
    """The meanings of "linear region" in the literature, from many to few.

    ``activation_cells >= convex_pieces >= connected_pieces >= laws``.
    """

    activation_cells: int
    """Sets with interior on which every hidden neuron keeps its sign; one for each activation pattern that occurs."""
    convex_pieces: int | None
    """Pieces after uniting cells of one law where the union is convex; the fewest possible may be fewer. None, here and
    below: only cells were counted."""
    connected_pieces: int | None
    """Cells of one law that hang together across facets count as one: the maximal open connected sets of one law."""
    laws: int | None
    """Distinct affine maps: the number `k` of components."""
    complete: bool
    """Whether these are the numbers of the whole function, and not only of what was found within the limits."""


@shows_progress
@within_float64()
def count_regions(
    network: Network,
    *,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    only: Literal["cells"] | None = None,
    max_regions: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    progress: Shown = None,
) -> Regions:
    """Counts the linear regions of a network in all four senses; equality of laws is decided in rationals.

    Parameters
    ----------
    network
        The network, in any position: neurons may be repeated, dead, or meet in one point.
    domain, box
        Where to count: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; everywhere if neither is given.
    only
        "cells" counts activation cells alone, which is fastest; the other numbers are None then.
    max_regions
        Ends the search after so many cells; then `complete` is False.
    checkpoint
        A folder that keeps what was counted so far, for ``only="cells"``: a search that was ended, even by ``kill -9``,
        goes on from there.
    executor
        Any `concurrent.futures.Executor`: shares out networks of many inputs, and of more cells than memory holds,
        which are counted tile by tile. The numbers do not depend on it.
    progress
        Called as ``progress(done, total, step)``, or "auto": a bar after two seconds, on a terminal or in a notebook.

    Returns
    -------
    Regions
        The four numbers, and whether they are those of the whole function.

    Examples
    --------
    ``|x|`` from two neurons, and a third one that changes nothing:

    >>> network = Network([([[1], [-1], [1]], [0, 0, -1]), ([[1, 1, 0]], [0])])
    >>> count_regions(network)
    Regions(activation_cells=3, convex_pieces=2, connected_pieces=2, laws=2, complete=True)
    >>> count_regions(network, only="cells").activation_cells
    3
    """
    check_argument(network, Network, "count_regions")
    if only is not None:
        check_choice(only, ("cells",), "only")
    check_limit(max_regions)
    progress = heard(progress)
    check_executor(executor)
    if checkpoint is not None:
        check_path(checkpoint, "count_regions")
        if only != "cells":
            raise InputError('`checkpoint` keeps counts of cells: give only="cells", too')
    polyhedron = as_domain(domain, network.inputs, box=box)
    if only == "cells":
        count, complete = _count_cells(network, polyhedron, max_regions, checkpoint, executor, progress)
        return Regions(count, None, None, None, complete)
    exact = is_short(network)
    pieces = find_pieces(network, polyhedron, exact, most=max_regions, executor=executor, progress=progress, spans=True)
    merged = as_function(pieces, polyhedron, exact, merge=True)
    laws = label_maps(pieces.component)
    return Regions(len(pieces), merged.num_pieces, connected_pieces(pieces), int(laws.max()) + 1, pieces.complete)


def _count_cells(
    network: Network,
    domain: Polyhedron | None,
    most: int | None,
    checkpoint: str | os.PathLike[str] | None,
    executor: Executor | None,
    progress: Progress | None,
) -> tuple[int, bool]:
    """How many cells there are, and whether these are all; no rows, laws or neighbours are worked out."""
    if checkpoint is None and (most is not None or not has_few_faces(network, domain)):
        return _count_some(network, domain, most, executor, progress)
    with nullcontext() if checkpoint is None else Journal(checkpoint, network, domain, question="cells") as journal:
        total = 0
        tiles = stream(network, domain, COUNT, executor=executor, journal=journal, progress=progress)
        try:
            for _, count in tiles:
                total += count
                if most is not None and total > most:
                    return most, False
        except KeyboardInterrupt:
            return total, False
        return total, True


def _count_some(
    network: Network, domain: Polyhedron | None, most: int | None, executor: Executor | None, progress: Progress | None
) -> tuple[int, bool]:
    if most is not None and has_few_faces(network, domain):
        try:
            made = subdivide(network, domain, most=most, progress=progress)
            return made.cells, made.complete
        except TooMany:
            pass
    found = walk(network, domain, most=most, executor=executor, progress=progress)
    return len(found.signs), found.complete


def connected_pieces(pieces: Pieces) -> int:
    """The number of components of the graph of cells that share a facet and a law."""
    laws, owner = label_maps(pieces.component), pieces.polyhedra.owner
    inner = pieces.neighbour >= 0
    a, b = owner[inner], pieces.neighbour[inner]
    same = laws[a] == laws[b]
    graph = coo_array((np.ones(same.sum()), (a[same], b[same])), shape=(len(pieces), len(pieces)))
    return int(scipy.sparse.csgraph.connected_components(graph, directed=False)[0])
