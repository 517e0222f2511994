"""Values of a piecewise-linear function at many points, and some points of its domain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cpwl.doors import method_of, within_float64
from cpwl.errors import InputError, counted
from cpwl.exact.rational import points_of, to_float
from cpwl.function.cpwl import CPWL
from cpwl.geometry.locate import locate, locate_one
from cpwl.geometry.polyhedra import fact, intervals
from cpwl.geometry.probe import Probe


@method_of(CPWL, "__call__")
def evaluate(p: CPWL, x: ArrayLike) -> NDArray[Any]:
    one = _one_point(p, x)
    piece = -1 if one is None else locate_one(p.polyhedra, one, p.tol)
    if one is not None and piece >= 0:
        value: NDArray[Any] = p.laws.gradient[piece] @ one + p.laws.offset[piece]
        return value[None] if type(x) is np.ndarray and x.ndim == 2 else value
    return _evaluate(p, x)


def _one_point(p: CPWL, x: ArrayLike) -> NDArray[np.float64] | None:
    """A single point of floats as an array ``(n,)``, also of a batch of one; None for anything else."""
    if type(x) is np.ndarray and x.dtype == np.float64 and x.shape == (1, p.dim):
        return cast("NDArray[np.float64]", x[0])
    if type(x) is float and p.dim == 1:
        return np.array([x])
    if isinstance(x, (list, tuple)) and all(type(v) is float for v in x):
        x = np.array(x)
    if type(x) is np.ndarray and x.dtype == np.float64 and x.shape == (p.dim,) and p.dim > 1:
        return x
    return None


@within_float64()
def _evaluate(p: CPWL, x: ArrayLike) -> NDArray[Any]:
    points, single = as_points(x, p.dim)
    values = _exact_values(p, points) if points.dtype == object else _float_values(p, points)
    return values[0] if single else values


def as_points(x: ArrayLike, dim: int) -> tuple[NDArray[Any], bool]:
    """Points as ``(N, n)``, float64 or `Fraction`, and whether a single point ``(n,)`` was meant."""
    points = points_of(x)
    single = points.ndim == 0 or (points.ndim == 1 and dim != 1)
    if points.ndim < 2:
        points = points.reshape((-1, 1) if dim == 1 else (1, -1))
    if points.ndim != 2 or points.shape[1] != dim:
        raise InputError(f"`x` must be (N, {dim}) for a function of {counted(dim, 'input')}, not {np.shape(x)}")
    return points, single


def find_pieces(p: CPWL, x: NDArray[np.float64]) -> NDArray[np.int64]:
    """The number of a piece that holds each point, or -1 outside the domain."""
    bad = np.asarray(~np.isfinite(x).all(axis=1))
    safe = np.where(bad[:, None], 0.0, x)
    piece = locate(p.polyhedra, safe, p.tol)
    piece[bad] = -1
    return piece


def _float_values(p: CPWL, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Float values ``(N, m)``, NaN outside."""
    piece = find_pieces(p, x)
    value = np.einsum("pmn,pn->pm", p.laws.gradient[piece], x) + p.laws.offset[piece]
    value[piece < 0] = np.nan
    return np.asarray(value, dtype=np.float64)


def _exact_values(p: CPWL, x: NDArray[np.object_]) -> NDArray[np.object_]:
    """Rational values ``(N, m)`` at rational points, None outside; the float location only proposes."""
    rows, laws = p.polyhedra.integer(), p.laws.integer()
    start = p.polyhedra.start
    guess = find_pieces(p, to_float(x))
    result = np.full((len(x), p.outputs), None, dtype=object)
    for k, point in enumerate(x):
        piece = int(guess[k])
        own = rows[start[piece] : start[piece + 1]]
        if piece < 0 or not ((own[:, :-1] * point).sum(axis=1) <= own[:, -1]).all():
            inside = np.ones(p.num_pieces, dtype=bool)
            ok = (rows[:, :-1] * point).sum(axis=1) <= rows[:, -1]
            np.logical_and.at(inside, p.polyhedra.owner, ok.astype(bool))
            if not inside.any():
                continue
            piece = int(np.argmax(inside))
        law = laws[piece]
        result[k] = [Fraction((r[:-2] * point).sum() + r[-2]) / r[-1] for r in law]
    return result


# Some points of the domain, in floats: enough to see how large things are, never to prove anything.


_PIECES = 300  # pieces to look into
_INTERVALS = 4000  # of those on a line, where sums are as long as there are breakpoints
_MEANS = 4  # points in each of them


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Points of some pieces, and the range of the function's values there; without one, the size of its terms."""

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
    # A single point, as of one piece, has no spread, and a value that may be 0: then the terms of the laws have a size.
    terms = np.abs(p.laws.gradient) @ np.abs(points).max(axis=0) + np.abs(p.laws.offset)
    return Sample(points, spread or float(terms.max()) or 1.0)


def inner_points(p: CPWL, pieces: Iterable[int]) -> dict[int, NDArray[Any]]:
    """A point inside each of some pieces, as far as they have an interior; rational or float.

    What the maker of the function knows is taken; the rest takes a linear program each.
    """
    if p.known is not None and p.known.inner is not None:
        return {int(i): p.known.inner[i] for i in pieces}
    probe = Probe.of(p.polyhedra, p.tol)
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
