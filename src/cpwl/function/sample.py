"""Some points of a function's domain, in floats: enough to see how large things are, never to prove anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.function.cpwl import CPWL
from cpwl.geometry.polyhedra import fact
from cpwl.geometry.probe import Probe

__all__ = ["Sample", "inner_points", "sample"]

_PIECES = 300  # pieces to look into
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
    points = _in_simplices(p) if p.mesh is not None else _in_pieces(p)
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


def _chosen(p: CPWL) -> NDArray[np.int64]:
    return np.arange(0, p.num_pieces, -(-p.num_pieces // _PIECES))


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
