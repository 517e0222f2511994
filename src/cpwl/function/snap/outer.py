"""What is beyond the box that clipped unbounded pieces: the same laws, with the facets that the pieces have there.

Beyond a box there are no corners. Its outside is cut into one sector a side, ``x`` beyond that side and not beyond any
earlier one, and each piece that reaches out has a part in some of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import integer_rows
from cpwl.function.snap.bodies import Differences
from cpwl.function.snap.cells import Cells, cell_polyhedra
from cpwl.function.snap.domain import Domain, whole_row
from cpwl.function.snap.loose import Work
from cpwl.geometry.bodies import solid

__all__ = ["outer_cells"]

_Row = NDArray[np.object_]


def outer_cells(
    work: Work, pieces: Sequence[int], differences: Differences, domain: Domain, sides: Sequence[_Row]
) -> Cells:
    """The parts of some pieces beyond the sides ``(a, b)`` of the box, with their laws."""
    found = Cells([], [])
    outside = [whole_row(list(row)) for row in sides]
    beyond: dict[tuple[int, int], list[int]] = {}
    for contact in work.contacts:
        beyond.setdefault((contact.piece, contact.row), []).append(contact.other)
    for i in pieces:
        if len(outside) and work.complex.on[i][:, -len(outside) :].any():
            rows = _far_rows(work, i, beyond, differences, domain, len(outside))
            for k, side in enumerate(outside):
                sector = [*rows, *outside[:k], -side]
                found.rows.append(np.array(sector, dtype=object))
                found.law.append(int(work.label[i]))
    if not found.law:
        return found
    kept, _ = solid(cell_polyhedra(found, work.p.dim))
    return Cells([found.rows[k] for k in kept], [found.law[k] for k in kept])


def _far_rows(
    work: Work,
    i: int,
    beyond: dict[tuple[int, int], list[int]],
    differences: Differences,
    domain: Domain,
    count: int,
) -> list[_Row]:
    """The exact rows of a piece that reach beyond the box."""
    complex_, label = work.complex, work.label
    on, cell = complex_.on[i], complex_.cells[i]
    outer = on[:, -count:].any(axis=1)
    found: list[_Row] = []
    for r in range(on.shape[1] - count):
        here = cell[on[:, r] & outer]
        if len(here) < complex_.dim - 1:
            continue
        others = [j for j in beyond.get((i, r), []) if np.isin(here, complex_.cells[j]).sum() >= complex_.dim - 1]
        for j in others:
            a, b = int(label[i]), int(label[j])
            row = differences.row(a, b) if a != b else _shared(work, min((i, r), _facing(j, i, beyond)))
            found.append(row if _is_within(row, complex_.centres[i]) else -row)
        if not others:
            touched = [k for k in domain.real if complex_.on_boundary[here, k].all()]
            found += [domain.row(k) for k in touched]
    return found


def _facing(j: int, i: int, beyond: dict[tuple[int, int], list[int]]) -> tuple[int, int]:
    """The row of piece `j` that has piece `i` beyond it."""
    return next(((piece, row) for (piece, row), others in beyond.items() if piece == j and i in others), (j, 10**9))


def _shared(work: Work, which: tuple[int, int]) -> _Row:
    """A row of the data, exactly."""
    A, b = work.complex.rows(which[0])
    return np.asarray(integer_rows(np.append(A[which[1]], b[which[1]])[None], None)[0])


def _is_within(row: _Row, centre: NDArray[np.float64]) -> bool:
    scale = max(abs(int(x)) for x in row[:-1])
    view = np.array([x / scale for x in row.tolist()], dtype=np.float64)
    return bool(view[:-1] @ centre <= view[-1])
