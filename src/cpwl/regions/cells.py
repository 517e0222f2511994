"""All cells of a network on a domain, as arrays: generators, laws, signs, rows and neighbours."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.errors import InputError, check_memory
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import Laws
from cpwl.function.sample import inner_points
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, as_domain, ranges
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.pieces import Pieces, pieces_of_subdivision, pieces_of_walk
from cpwl.regions.subdivide.subdivide import Subdivision, TooMany, essential_dimension, subdivide
from cpwl.regions.walk.walk import walk


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The full-dimensional cells of a network: on each of them every neuron keeps its sign.

    Cell `i` is the set of all convex combinations of its points, plus nonnegative combinations of its rays, plus
    the common `lines`; its generators are ``member[start[i]:start[i + 1]]``, where numbers from ``len(points)`` on
    are rays. Cells are sorted by activation pattern.
    """

    points: NDArray[np.float64]
    """Vertices ``(P, n)``."""
    rays: NDArray[np.float64]
    """Directions ``(R, n)``."""
    lines: NDArray[np.float64]
    """A basis ``(n - r, n)`` of the directions in which nothing ever changes."""
    start: NDArray[np.int64]
    member: NDArray[np.int64]
    laws: Laws
    """The affine map on each cell."""
    component: NDArray[np.int64]
    """``component[i, j]``: a number for the law of output `j` on cell `i`; equal iff the laws are, as rationals."""
    signs: NDArray[np.int8]
    """``signs[i, j]``: the sign of hidden neuron `j` on the inside of cell `i`; 0 iff it vanishes on all of it."""
    polyhedra: Polyhedra
    """The cells by irredundant rows ``A x <= b``."""
    neighbour: NDArray[np.int64]
    """For each row of `polyhedra` the cell across that facet, -1 on the boundary of the domain."""
    inside: NDArray[np.float64]
    """A point inside each cell."""
    generators: NDArray[np.object_] | None
    """Integer rows ``(x, 1) * w`` of the points, then ``(r, 0)`` of the rays, where exact numbers were asked for."""
    complete: bool
    """Every facet has a neighbour or lies on the boundary of the domain, and the faces add up as those of a ball do."""

    def __len__(self) -> int:
        return len(self.start) - 1


def cells(
    network: Network, domain: Any = None, *, exact: bool | None = None, progress: Progress | None = None
) -> Cells:
    """All cells of the network on R^n, or on the polyhedron `domain` ``(A, b)``, with vertices and directions.

    Time and memory grow with the number of all faces, about ``2^r`` for each cell where `r` is the number of directions
    in which the network bends: `LimitError` where there are too many. `exact` asks for integers beside the floats; the
    combinatorics is proved either way.

    >>> found = cells(Network([([[1.0, 0.0], [0.0, 1.0]], [0.0, -1.0]), ([[1.0, 1.0]], [0.0])]))
    >>> len(found), found.points, len(found.rays), found.signs.tolist()
    (4, array([[0., 1.]]), 4, [[-1, -1], [-1, 1], [1, -1], [1, 1]])
    """
    polyhedron = as_domain(domain, network.inputs)
    return cells_of(subdivide(network, polyhedron, progress=progress), is_short(network) if exact is None else exact)


def is_short(network: Network) -> bool:
    """Whether the weights are rationals, or floats of few digits such as 0.5: then exact laws stay short."""
    if network.exact is not None:
        return True
    for weight, bias in network.layers:
        mantissa, _ = np.frexp(np.concatenate([weight.data, bias]))
        if (np.ldexp(mantissa, 16) % 1 != 0).any():
            return False
    return True


def cells_of(made: Subdivision, exact: bool) -> Cells:
    """The complex in the order of activation patterns."""
    pieces, order = pieces_of_subdivision(made, exact)
    start, member, (points, rays), generators = _generators(made, order, exact)
    return Cells(
        points=points,
        rays=rays,
        lines=_lines(made),
        start=start,
        member=member,
        generators=generators,
        **{each.name: getattr(pieces, each.name) for each in fields(Pieces) if each.name != "spans"},
    )


def _generators(
    made: Subdivision, order: NDArray[np.int64], exact: bool
) -> tuple[
    NDArray[np.int64], NDArray[np.int64], tuple[NDArray[np.float64], NDArray[np.float64]], NDArray[np.object_] | None
]:
    """Which vertices each cell has, points numbered first; and the vertices themselves."""
    lattice, vertices, n = made.lattice, made.vertices, made.forms.dim
    finite = vertices.view[:, -1] > 0
    sequence = np.concatenate([np.flatnonzero(finite), np.flatnonzero(~finite)])
    number = np.empty(len(sequence), dtype=np.int64)
    number[sequence] = np.arange(len(sequence))
    members = lattice.vertices_of_cells()
    lengths = np.diff(members.indptr)[order]
    entries, owner = ranges(members.indptr[order].astype(np.int64), lengths)
    member = number[members.indices[entries]]
    member = member[np.lexsort((member, owner))]
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    full = np.zeros((len(sequence), n + 1))
    full[:, made.columns] = vertices.view[sequence]
    count = int(finite.sum())
    points = full[:count, :-1] / full[:count, -1:]
    generators = None
    if exact:
        generators = np.zeros((len(sequence), n + 1), dtype=np.int64).astype(object)
        generators[:, made.columns] = vertices.exactly(sequence)
    return start, member, (points, full[count:, :-1].copy()), generators


def _lines(made: Subdivision) -> NDArray[np.float64]:
    """The directions in which no first neuron and no row of the domain changes."""
    n = made.forms.dim
    if len(made.columns) == n + 1:
        return np.zeros((0, n))
    none = np.zeros(1, dtype=np.int64)
    levels = (0, 1) if len(made.forms.network.layers) > 1 else (0,)
    rows = np.concatenate([made.forms.exact_level(l, none)[:, 0, :-1] for l in levels])
    # FLINT ends the process where memory ends.
    check_memory(32.0 * rows.shape[1] ** 2, f"the lines of a function of {rows.shape[1]:,} inputs", "Use fewer inputs.")
    basis, rank = fmpz_mat([[int(v) for v in row] for row in rows]).nullspace()
    columns = [[int(basis[i, j]) for i in range(n)] for j in range(rank)]
    return np.array([[v / max(map(abs, column)) for v in column] for column in columns], dtype=np.float64)


# The cells of a network as pieces, by the way that suits: the whole complex, or a walk from cell to cell.


_LOW = 8  # up to this many directions the whole complex is kept; beyond, its faces are too many
_LOW_IN_BOX = 6  # the same on a domain with many rows: a cube alone has 3^n faces
_AFTER_INTERRUPTION = 256  # regions to find when the whole complex was given up


def has_few_faces(network: Network, domain: Polyhedron | None) -> bool:
    """Whether the whole complex is kept: there are few directions, or a walk would take longer."""
    directions = essential_dimension(network, domain)
    return directions <= (_LOW if domain is None or len(domain.b) < directions else _LOW_IN_BOX)


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
    whole: bool = False,
) -> Pieces:
    """The cells as pieces: by subdivision where there are few directions, otherwise by walking from cell to cell.

    With `spans` corners and rays are kept, where there are. An interruption gives a part, unless only the `whole` is of
    use: then it is raised.
    """
    start = None if resume is None else _inner_points(resume, network.inputs)
    if has_few_faces(network, domain):
        try:
            made = subdivide(network, domain, most=most, progress=progress)
            return pieces_of_subdivision(made, exact, spans=spans)[0]
        except TooMany:
            pass
        except KeyboardInterrupt:
            if whole:
                raise
            # A part that takes no time; the complex that was under way is in no state to be used.
            most = min(most or _AFTER_INTERRUPTION, _AFTER_INTERRUPTION)
            part = pieces_of_subdivision(subdivide(network, domain, most=most), exact, spans=spans)[0]
            if part.complete:
                raise  # nothing is lost by ending, and whoever asked for it must be told
            return part
    found = walk(network, domain, most=most, start=start, executor=executor, progress=progress, whole=whole)
    return pieces_of_walk(found, exact)


def _inner_points(p: CPWL, dim: int) -> NDArray[np.float64]:
    """A point inside each piece."""
    if p.dim != dim:
        raise InputError(f"`resume` is a function of {p.dim} inputs, but the network has {dim}")
    points = inner_points(p, range(p.num_pieces)).values()
    return np.array([np.asarray(x, dtype=np.float64) for x in points]).reshape(-1, dim)
