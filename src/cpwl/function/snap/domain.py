"""The convex domain of an exact function near float data: exact rows, pushed out as far as the data reaches.

So it holds all of the data. Where a domain was asserted it is kept as it is. Rows of simple numbers can be taken as
they were meant instead: hyperplanes that meet on such a row then do so exactly, and the data sticks out by its noise.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.exact.flint import from_flint, to_flint
from cpwl.exact.integers import integer_rows
from cpwl.function.snap.complex import FloatComplex
from cpwl.geometry.polyhedra import Polyhedron

__all__ = ["Domain", "whole_row"]

_Floats = NDArray[np.float64]
_SMALL = 64  # the largest denominator of a simple number


class Domain:
    """The rows of the boundary of a complex, exactly; those of the box that clipped it are not `real`."""

    def __init__(self, complex_: FloatComplex, asserted: Polyhedron | None, meant: bool = False) -> None:
        self.complex = complex_
        self.slack = 10 * complex_.noise if meant else 0.0
        self.A, self.b = complex_.A[complex_.boundary], complex_.b[complex_.boundary]
        self.exact: dict[int, NDArray[np.object_]] = {} if asserted is None else self._given(asserted)
        self.real = [k for k in range(len(self.b)) if not self._is_box(k)]

    def _given(self, asserted: Polyhedron) -> dict[int, NDArray[np.object_]]:
        """The rows of the domain that was asserted, by the float rows that they are near."""
        length = np.linalg.norm(asserted.A, axis=1)
        view = np.column_stack([asserted.A, asserted.b / self.complex.reach]) / length[:, None]
        found = {}
        for k, row in enumerate(np.column_stack([self.A, self.b / self.complex.reach])):
            near = np.abs(view - row).max(axis=1)
            if near.min(initial=np.inf) <= 1e3 * self.complex.tol:
                found[k] = asserted.integer()[int(np.argmin(near))]
        return found

    def _is_box(self, k: int) -> bool:
        box = self.complex.box
        if box is None:
            return False
        j = int(np.argmax(np.abs(self.A[k])))
        side = box[j if self.A[k, j] > 0 else self.complex.dim + j]
        return bool(abs(abs(self.A[k, j]) - 1) < 1e-12 and abs(self.b[k] - side) < 1e-9 * abs(side))

    def touched(self, points: _Floats, widths: _Floats) -> list[int]:
        """The real rows that a part with these vertices touches."""
        near = np.flatnonzero((np.abs(points @ self.A.T - self.b) <= 20 * widths[:, None]).any(axis=0))
        return [k for k in self.real if k in near]

    def row(self, k: int) -> NDArray[np.object_]:
        """Row number `k` as integers ``(a, b)``."""
        if k not in self.exact:
            given = [float(x) for x in (*self.A[k], self.b[k])]
            steepest = max(given[:-1], key=abs)
            meant = [_simple(x / abs(steepest), self.slack) for x in given] if self.slack else []
            numbers = [_simple(x, 0.0) for x in given]
            numbers[-1] += Fraction(self._excess(numbers))
            is_simple = len(meant) > 0 and all(x.denominator <= _SMALL for x in meant)
            self.exact[k] = whole_row(meant if is_simple else numbers)
        return self.exact[k]

    def _excess(self, numbers: list[Fraction]) -> float:
        """How far the data reaches beyond a row, and a little more."""
        row = np.array(numbers, dtype=np.float64)
        beyond = (self.complex.corners @ row[:-1] - row[-1]).max()
        # No farther: all pieces at this row are stretched by that, and steep ones change most.
        return float(1.01 * max(beyond, 0.0) + 1e-15 * self.complex.reach)

    def vertices(self) -> NDArray[np.object_]:
        """The vertices of the complex, those on the boundary moved exactly onto its rows."""
        points = np.array([[Fraction(x) for x in v] for v in self.complex.vertices.tolist()], dtype=object)
        for v in np.flatnonzero(self.complex.on_boundary[:, self.real].any(axis=1)).tolist():
            rows = [k for k in self.real if self.complex.on_boundary[v, k]]
            points[v] = self._onto(points[v], rows)
        return points

    def _onto(self, point: NDArray[np.object_], rows: list[int]) -> NDArray[np.object_]:
        """The point with as many coordinates changed as it takes to be on all these rows that are independent."""
        chosen: list[int] = []
        for k in rows:
            more = len(chosen) < len(point) and np.linalg.svd(self.A[[*chosen, k]], compute_uv=False)[-1] > 1e-6
            if more:
                chosen.append(k)
        moved: list[int] = []
        for _ in chosen:
            free = [j for j in range(len(point)) if j not in moved]
            size = [abs(np.linalg.svd(self.A[chosen][:, [*moved, j]], compute_uv=False)[-1]) for j in free]
            moved.append(free[int(np.argmax(size))])
        exact = [self.row(k) for k in chosen]
        left = [[to_flint(row[j]) for j in moved] for row in exact]
        rest = [j for j in range(len(point)) if j not in moved]
        right = [[to_flint(row[-1] - sum((row[j] * point[j] for j in rest), Fraction(0)))] for row in exact]
        solved = fmpq_mat(left).solve(fmpq_mat(right))
        found = point.copy()
        found[moved] = [from_flint(solved[t, 0]) for t in range(len(moved))]
        return np.asarray(found)


def whole_row(numbers: list[Fraction]) -> NDArray[np.object_]:
    """Integers positively proportional to some numbers."""
    row = np.array([numbers], dtype=object)
    return np.asarray(integer_rows(row.astype(np.float64), row)[0])


def _simple(x: float, slack: float) -> Fraction:
    """A number with a small denominator if the float is next to it; else the float."""
    near = Fraction(x).limit_denominator(_SMALL)
    little = Fraction(max(1e-14, slack)) * max(Fraction(1), abs(near))
    return near if abs(near - Fraction(x)) <= little else Fraction(x)
