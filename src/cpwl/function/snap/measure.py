"""How far an exact function is from float data: laws at the vertices of their pieces, vertices from their rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.function.cpwl import CPWL, Moved
from cpwl.function.parts import Laws
from cpwl.function.snap.complex import FloatComplex

__all__ = ["Measured", "lost_law", "measure"]

_Floats = NDArray[np.float64]


class Measured:
    """Sizes of the data against which moves are measured."""

    def __init__(self, p: CPWL, complex_: FloatComplex) -> None:
        self.p, self.complex = p, complex_
        slopes, offsets = np.abs(p.laws.gradient), np.abs(p.laws.offset)
        reach = complex_.reach
        self.slope = slopes.max(axis=(0, 2))
        self.level = np.maximum(offsets.max(axis=0), self.slope * reach)
        scale = slopes.sum(axis=2).max(axis=0) * reach + offsets.max(axis=0)
        self.scale = np.maximum(scale, 1e-6 * scale.max())  # an output that is nothing but noise has no size of its own
        self.owner = np.repeat(np.arange(len(complex_)), [len(own) for own in complex_.own])
        self.corner = np.concatenate(complex_.own)


def measure(
    of: Measured, laws: Laws, pieces: NDArray[np.int64], cells: NDArray[np.int64] | None, facet: float
) -> tuple[Moved, int, tuple[float, ...] | None]:
    """How far ``laws[k]`` is from the law of ``pieces[k]`` on that piece, or on the simplex ``cells[k]`` of it.

    Also of how many pieces the law moved, and where most.
    """
    p, complex_ = of.p, of.complex
    slopes, offsets = laws.gradient - p.laws.gradient[pieces], laws.offset - p.laws.offset[pieces]
    if cells is None:
        number = np.full(len(complex_), -1, dtype=np.int64)
        number[pieces] = np.arange(len(pieces))
        own = number[of.owner] >= 0
        which, corner = number[of.owner[own]], of.corner[own]
    else:
        which, corner = np.repeat(np.arange(len(cells)), cells.shape[1]), cells.ravel()
    points = complex_.vertices[corner]
    change = np.abs(np.einsum("kmn,kn->km", slopes[which], points) + offsets[which])
    relative = _ratio(change, of.scale).max(axis=1, initial=0.0)
    coefficient = max(
        float(_ratio(np.abs(slopes).max(axis=(0, 2), initial=0.0), of.slope).max()),
        float(_ratio(np.abs(offsets).max(axis=0, initial=0.0), of.level).max()),
    )
    value = float(relative.max(initial=0.0))
    moved = len(np.unique(pieces[(slopes != 0).any(axis=(1, 2)) | (offsets != 0).any(axis=1)]))
    where = tuple(points[int(np.argmax(relative))].tolist()) if value > 0 else None
    return Moved(coefficient, value, facet / complex_.reach), moved, where


def _ratio(change: _Floats, scale: _Floats) -> _Floats:
    return np.asarray(change / np.where(scale > 0, scale, 1.0))


def lost_law(of: Measured, function: CPWL, tol: float) -> str | None:
    """A piece without interior whose law the function is not near at one of its corners, in words."""
    p, complex_ = of.p, of.complex
    thin = np.flatnonzero(complex_.flat[of.owner])
    if len(thin) == 0:
        return None
    points, owner = complex_.vertices[of.corner[thin]], of.owner[thin]
    wanted = np.einsum("kmn,kn->km", p.laws.gradient[owner], points) + p.laws.offset[owner]
    lost = np.abs(function(points) - wanted) > 10 * tol * of.scale  # outside, where there is no value, is no evidence
    if not lost.any():
        return None
    i = int(owner[np.argmax(lost.any(axis=1))])
    return f"the law of piece {i}, which has next to no interior, would be lost."
