"""How many linear regions? Four numbers that go by that name."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cpwl.function.components import label_maps
from cpwl.geometry.polyhedra import as_domain
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.cells import is_short
from cpwl.regions.extract import as_function, find_pieces
from cpwl.regions.pieces import Pieces

__all__ = ["Regions", "connected_pieces", "count_regions"]


@dataclass(frozen=True, slots=True)
class Regions:
    """The meanings of "linear region" in the literature, from many to few.

    ``activation_cells >= convex_pieces >= connected_pieces >= laws``.
    """

    activation_cells: int
    """Sets with interior on which every hidden neuron keeps its sign; one for each activation pattern that occurs."""
    convex_pieces: int
    """Pieces after uniting cells of one law where the union is convex; the fewest possible may be fewer."""
    connected_pieces: int
    """Cells of one law that hang together across facets count as one: the maximal open connected sets of one law."""
    laws: int
    """Distinct affine maps: the number `k` of components."""
    complete: bool
    """Whether these are the numbers of the whole function, and not only of what was found within the limits."""


def count_regions(
    network: Network,
    *,
    domain: Any = None,
    max_regions: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Regions:
    """Counts the linear regions of a network in all four senses; equality of laws is decided in rationals.

    ``|x|`` from two neurons, and a third one that changes nothing:

    >>> count_regions(Network([([[1], [-1], [1]], [0, 0, -1]), ([[1, 1, 0]], [0])]))
    Regions(activation_cells=3, convex_pieces=2, connected_pieces=2, laws=2, complete=True)
    """
    polyhedron, exact = as_domain(domain, network.inputs), is_short(network)
    pieces = find_pieces(network, polyhedron, exact, most=max_regions, executor=executor, progress=progress, spans=True)
    merged = as_function(pieces, polyhedron, exact, merge=True)
    laws = label_maps(pieces.component)
    return Regions(len(pieces), merged.num_pieces, connected_pieces(pieces), int(laws.max()) + 1, pieces.complete)


def connected_pieces(pieces: Pieces) -> int:
    """The number of components of the graph of cells that share a facet and a law."""
    laws, owner = label_maps(pieces.component), pieces.polyhedra.owner
    inner = pieces.neighbour >= 0
    a, b = owner[inner], pieces.neighbour[inner]
    same = laws[a] == laws[b]
    graph = coo_array((np.ones(same.sum()), (a[same], b[same])), shape=(len(pieces), len(pieces)))
    return int(connected_components(graph, directed=False)[0])
