"""Some points of a function's domain, in floats: enough to see how large things are, never to prove anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.function.cpwl import CPWL
from cpwl.geometry.polyhedra import fact, intervals
from cpwl.geometry.probe import Probe

_PIECES = 300  # pieces to look into
_INTERVALS = 4000  # of those on a line, where sums are as long as there are breakpoints
_MEANS = 4  # points in each of them


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Points of some pieces, and the range of the function's values there; of a constant, its size."""

    points: NDArray[np.float64]
    range: float


@fact
def sample(p: CPWL) -> Sample:
    """Corners and inner points of a table's simplices; of other pieces a point inside, and points between those.

    The same function gives the same points. The range is the largest over the outputs.

    >>> s = sample(CPWL.from_breakpoints([0, 1, 2], [0, 3, 0], left_slope=0, right_slope=0))
    >>> s.points.shape[1]
    1
    """
    points = _on_a_line(p) if p.dim == 1 else _in_simplices(p) if p.mesh is not None else _in_pieces(p)
    values = p(points)
    values = values[np.isfinite(values).all(axis=1)]
    if len(values) == 0:
        return Sample(points, 1.0)
    spread = float((values.max(axis=0) - values.min(axis=0)).max())
    return Sample(points, spread or float(np.abs(values).max()) or 1.0)


def inner_points(p: CPWL, pieces: Iterable[int]) -> dict[int, NDArray[Any]]:
    """A point inside each of some pieces, as far as they have an interior; rational or float.

    What the maker of the function knows is taken; the rest takes a linear program each.
    """
    if p.known is not None and p.known.inner is not None:
        return {int(i): p.known.inner[i] for i in pieces}
    probe = Probe(p.tol)
    found = ((int(i), probe.interior(p.polyhedra[int(i)])) for i in pieces)
    return {i: x for i, x in found if x is not None}


def _chosen(p: CPWL, most: int = _PIECES) -> NDArray[np.int64]:
    return np.arange(0, p.num_pieces, -(-p.num_pieces // most))


def _on_a_line(p: CPWL) -> NDArray[np.float64]:
    """The ends of intervals, and points inside; half-lines are as long as the other intervals on average, or 1."""
    rng = np.random.default_rng(0)
    ends = np.stack(intervals(p.polyhedra), axis=1)[_chosen(p, _INTERVALS)]
    known = ends[np.isfinite(ends)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    more = float(high - low) / len(ends) or 1.0
    ends = np.clip(ends, low - more, high + more)
    ends = ends[ends[:, 0] <= ends[:, 1]]
    share = rng.random((_MEANS, len(ends)))
    inner = ends[:, 0] + share * (ends[:, 1] - ends[:, 0])
    return np.unique(np.concatenate([ends.ravel(), inner.ravel()]))[:, None]


def corners(p: CPWL, most: int) -> NDArray[np.float64]:
    """The points of a table, or the ends of intervals, at most so many, evenly chosen; none of other pieces."""
    if p.mesh is not None:
        whole = p.mesh.corners[np.unique(p.mesh.simplices)]
        whole = whole[:: -(-len(whole) // most)]
        return np.asarray(whole[:, :-1] / whole[:, -1:], dtype=np.float64)
    if p.dim > 1:
        return np.empty((0, p.dim))
    ends = np.stack(intervals(p.polyhedra), axis=1)[_chosen(p, max(1, most // 2))].ravel()
    return np.unique(ends[np.isfinite(ends)])[:, None]


def _in_simplices(p: CPWL) -> NDArray[np.float64]:
    assert p.mesh is not None
    rng = np.random.default_rng(0)
    whole = p.mesh.corners[p.mesh.simplices[_chosen(p)]]
    corners = np.asarray(whole[..., :-1] / whole[..., -1:], dtype=np.float64)
    share = rng.dirichlet(np.ones(p.dim + 1), (_MEANS, len(corners)))
    inner = np.einsum("mqk,qkn->mqn", share, corners).reshape(-1, p.dim)
    return np.concatenate([corners.reshape(-1, p.dim), inner])


def _in_pieces(p: CPWL) -> NDArray[np.float64]:
    """A point inside each, and the middles between two of them, which are in the domain if it is convex."""
    rng = np.random.default_rng(0)
    found = inner_points(p, _chosen(p)).values()
    inner = np.array([np.asarray(x, dtype=np.float64) for x in found]).reshape(-1, p.dim)
    one, two = rng.integers(len(inner), size=(2, _MEANS * len(inner))) if len(inner) else ([], [])
    between = (inner[one] + inner[two]) / 2
    return np.concatenate([inner, between])
