"""The regions of the laws, cut into convex pieces afresh and exactly.

The region where a function follows one law is bounded by the hyperplanes where that law meets its neighbours, and by
the domain. So it is a union of cells of the arrangement of these hyperplanes in the domain, and no other cut is needed.
Where hyperplanes that should meet in one place miss each other by rounding, there is a cell that is next to nothing: no
law is known there, and nothing is offered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import ratio_view
from cpwl.function.answers import point_text
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["integer_polyhedra", "recut"]

_MOST = 2000  # cells for one law


def recut(
    domain: NDArray[np.object_],
    planes: dict[int, NDArray[np.object_]],
    law_at: Callable[[NDArray[np.float64]], NDArray[np.int64]],
    tol: float,
) -> tuple[Polyhedra, NDArray[np.int64]] | str:
    """Convex pieces and their laws: for each law the cells of its hyperplanes in which it is the law.

    All rows ``(a, b)`` are integers. `law_at` says which law holds around each of some points. In words: what stands
    in the way, such as a cell that is thinner than `tol`.
    """
    exact, rough = Probe(0.0), Probe(tol)
    pieces: list[NDArray[np.object_]] = []
    laws: list[int] = []
    for law, rows in planes.items():
        cells = _cells(domain, rows, exact)
        if cells is None:
            return f"the hyperplanes where laws meet have more than {_MOST} cells."
        for cell, point in cells:
            if rough.interior(_polyhedron(cell)) is None:
                return (
                    f"more hyperplanes than there are dimensions meet at x = {point_text(point)}, "
                    f"but only within rounding."
                )
        points = np.array([np.asarray(point, dtype=np.float64) for _, point in cells])
        holds = np.flatnonzero(law_at(points) == law)
        pieces += [cells[k][0] for k in holds]
        laws += [law] * len(holds)
    return integer_polyhedra(pieces, domain.shape[1] - 1), np.array(laws, dtype=np.int64)


def _cells(
    domain: NDArray[np.object_], planes: NDArray[np.object_], probe: Probe
) -> list[tuple[NDArray[np.object_], NDArray[Any]]] | None:
    """The cells with interior that hyperplanes cut out of a polyhedron, each with a point inside."""
    start = probe.interior(_polyhedron(domain))
    if start is None:
        return []
    cells = [(domain, start)]
    for plane in planes:
        parts = []
        for rows, _ in cells:
            for side in (plane, -plane):
                part = np.concatenate([rows, side[None]])
                point = probe.interior(_polyhedron(part))
                if point is not None:
                    parts.append((part, point))
        cells = parts
        if len(cells) > _MOST:
            return None
    return cells


def integer_polyhedra(pieces: list[NDArray[np.object_]], dim: int) -> Polyhedra:
    """Polyhedra of integer rows ``(a, b)``, with a float view of a like size for all rows."""
    rows = np.concatenate([*pieces, np.zeros((0, dim + 1), dtype=object)])
    scale = np.abs(rows[:, :-1]).max(axis=1, initial=1)
    view = ratio_view(rows, scale[:, None])
    start = np.cumsum([0] + [len(piece) for piece in pieces]).astype(np.int64)
    return Polyhedra(view[:, :-1].copy(), view[:, -1].copy(), start, rows)


def _polyhedron(rows: NDArray[np.object_]) -> Polyhedron:
    return integer_polyhedra([rows], rows.shape[1] - 1)[0]
