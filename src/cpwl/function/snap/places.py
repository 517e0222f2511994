"""Exact places for the vertices of a float complex: where exact laws agree, and on exact rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray
from scipy.linalg import qr

from cpwl.exact.rational import from_flint, to_flint

__all__ = ["agreeing", "place"]

_Floats = NDArray[np.float64]
_Row = Sequence[Fraction]


def place(rows: Sequence[_Row], near: _Floats, most: float) -> list[Fraction] | None:
    """A point with ``a.x = b`` for all rows ``(a, b)``, nearer than `most` to a float point; None if there is none.

    As few coordinates as there are independent rows are moved, those that are best determined.

    >>> place([[Fraction(1), Fraction(3), Fraction(1)]], np.array([0.25, 0.25 + 1e-12]), 1e-9)
    [Fraction(1, 4), Fraction(1, 4)]
    """
    point = [Fraction(x) for x in near.tolist()]
    rows = [row for row in rows if any(row)]
    if not rows:
        return point
    view = np.array([[x / (max(map(abs, row[:-1])) or 1) for x in row[:-1]] for row in rows], dtype=np.float64)
    order = qr(view, mode="r", pivoting=True)[-1].tolist()
    flat = [to_flint(row[j]) for row in rows for j in (*order, len(order))]
    reduced, rank = fmpq_mat(len(rows), len(order) + 1, flat).rref()
    pivots = [next(j for j in range(len(order) + 1) if reduced[i, j] != 0) for i in range(rank)]
    if len(order) in pivots:
        return None
    free = [j for j in range(len(order)) if j not in pivots]
    for i, j in enumerate(pivots):
        rest = sum((from_flint(reduced[i, k]) * point[order[k]] for k in free), Fraction(0))
        point[order[j]] = from_flint(reduced[i, len(order)]) - rest
    return point if np.abs(np.array(point, dtype=np.float64) - near).max() <= most else None


def agreeing(
    laws: Sequence[int],
    difference: Callable[[int, int], Sequence[_Row]],
    fixed: Sequence[_Row],
    near: _Floats,
    most: float,
) -> tuple[list[Fraction] | None, list[int]]:
    """A point on `fixed` rows where laws agree, and those that cannot: first come, first served.

    `difference` gives the rows on which two laws agree, output by output; None if the fixed rows alone have no point.
    """
    point, kept, rows, lost = place(fixed, near, most), list[int](), list(fixed), []
    for law in laws if point is not None else ():
        more = [*rows, *difference(kept[0], law)] if kept else rows
        found = place(more, near, most)
        if found is None:
            lost.append(law)
        else:
            point, rows = found, more
            kept.append(law)
    return point, lost
