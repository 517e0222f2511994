"""What lies beyond a facet, and how far away: the width of a gap along the normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["Beyond", "Next"]

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Next:
    """The next piece on a ray: how far away it begins, and its rows that hold at the start already."""

    piece: int
    distance: float
    rows: list[int]


@dataclass(frozen=True, slots=True, eq=False)
class Beyond:
    """Rays through the pieces that are `solid`, in floats; `unit` is the size of the coordinates."""

    polyhedra: Polyhedra
    solid: NDArray[np.bool_]
    unit: float

    def next(self, piece: int, row: int, x: NDArray[Any]) -> Next | None:
        """The first other piece that a ray from `x`, on the facet of a row of a piece, meets; None if there is none."""
        rows, n = self.polyhedra, self.polyhedra.A[row] / np.linalg.norm(self.polyhedra.A[row])
        at = np.asarray(x, dtype=np.float64)
        length = np.linalg.norm(rows.A, axis=1)
        with np.errstate(all="ignore"):
            speed, room = rows.A @ n / length, (rows.b - rows.A @ at) / length
            small = _ROUNDING * (self.unit + np.abs(at).max(initial=0.0))
            along = np.abs(speed) <= _ROUNDING
            when = np.where(along, 0.0, room / speed)
        enter, leave = np.zeros(len(rows)), np.full(len(rows), np.inf)
        never = along & (room < -small)
        np.maximum.at(enter, rows.owner, np.where(never, np.inf, np.where(~along & (speed < 0), when, 0.0)))
        np.minimum.at(leave, rows.owner, np.where(~along & (speed > 0), when, np.inf))
        enter[~self.solid | ~(leave > enter + small)] = np.inf
        enter[piece] = np.inf
        j = int(np.argmin(enter))
        if not np.isfinite(enter[j]):
            return None
        own = np.arange(rows.start[j], rows.start[j + 1])
        return Next(j, float(enter[j]), own[room[own] >= -small].tolist())
