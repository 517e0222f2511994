"""The cells of a network as pieces, by the way that suits: the whole complex, or a walk from cell to cell."""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.function.cpwl import CPWL
from cpwl.function.sample import inner_points
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.pieces import Pieces, pieces_of_subdivision, pieces_of_walk
from cpwl.regions.subdivide.subdivide import TooMany, essential_dimension, subdivide
from cpwl.regions.walk.walk import walk

__all__ = ["LOW", "find_pieces"]

LOW = 8  # up to this many directions the whole complex is kept; beyond, its faces are too many
_AFTER_INTERRUPTION = 256  # regions to find when the whole complex was given up


def find_pieces(
    network: Network,
    domain: Polyhedron | None,
    exact: bool,
    *,
    most: int | None = None,
    resume: CPWL | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    spans: bool = False,
) -> Pieces:
    """The cells as pieces: by subdivision where there are few directions, otherwise by walking from cell to cell.

    With `spans` corners and rays are kept, where there are.
    """
    start = None if resume is None else _inner_points(resume, network.inputs)
    if essential_dimension(network, domain) <= LOW:
        try:
            made = subdivide(network, domain, most=most, progress=progress)
            return pieces_of_subdivision(made, exact, spans=spans)[0]
        except TooMany:
            pass
        except KeyboardInterrupt:
            # A part that takes no time; the complex that was under way is in no state to be used.
            most = min(most or _AFTER_INTERRUPTION, _AFTER_INTERRUPTION)
            return pieces_of_subdivision(subdivide(network, domain, most=most), exact, spans=spans)[0]
    return pieces_of_walk(walk(network, domain, most=most, start=start, executor=executor, progress=progress), exact)


def _inner_points(p: CPWL, dim: int) -> NDArray[np.float64]:
    """A point inside each piece."""
    if p.dim != dim:
        raise InputError(f"`resume` is a function of {p.dim} inputs, but the network has {dim}")
    points = inner_points(p, range(p.num_pieces)).values()
    return np.array([np.asarray(x, dtype=np.float64) for x in points]).reshape(-1, dim)
