"""The convex domain of an exact function near float data: exact rows, pushed out as far as the data reaches.

So it holds all of the data, or, where that would cost too much, the welded corners: the tip of a sliver may stick out
much farther than all else, and a row that reaches it stretches all pieces at the row. Where a domain was asserted it is
kept as it is. Rows of simple numbers can be taken as they were meant instead: hyperplanes that meet on such a row then
do so exactly, and the data sticks out by its noise.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import integer_rows
from cpwl.function.snap.complex import FloatComplex
from cpwl.function.snap.onto import independent, onto
from cpwl.geometry.polyhedra import Polyhedron

__all__ = ["Domain", "whole_row"]

_Floats = NDArray[np.float64]
_SMALL = 64  # the largest denominator of a simple number

_SKEW = 1e-6  # rows that are nearer to dependent count once


class Domain:
    """The rows of the boundary of a complex, exactly; those of the box that clipped it are not `real`."""

    def __init__(
        self, complex_: FloatComplex, asserted: Polyhedron | None, *, tight: bool = False, meant: bool = False
    ) -> None:
        self.complex = complex_
        self.slack = 10 * complex_.noise if meant else 0.0
        self.holds = complex_.vertices if tight else complex_.corners
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
        beyond = (self.holds @ row[:-1] - row[-1]).max()
        # No farther: all pieces at this row are stretched by that, and steep ones change most.
        return float(1.01 * max(beyond, 0.0) + 1e-15 * self.complex.reach)

    def vertices(self) -> NDArray[np.object_]:
        """The vertices of the complex, those on the boundary moved exactly onto its rows."""
        points = np.array([[Fraction(x) for x in v] for v in self.complex.vertices.tolist()], dtype=object)
        for v in np.flatnonzero(self.complex.on_boundary[:, self.real].any(axis=1)).tolist():
            rows = [k for k in self.real if self.complex.on_boundary[v, k]]
            chosen = [rows[k] for k in independent(self.A[rows], _SKEW)]
            points[v] = onto(points[v], self.A[chosen], [self.row(k).tolist() for k in chosen])
        return points


def whole_row(numbers: list[Fraction]) -> NDArray[np.object_]:
    """Integers positively proportional to some numbers."""
    row = np.array([numbers], dtype=object)
    return np.asarray(integer_rows(row.astype(np.float64), row)[0])


def _simple(x: float, slack: float) -> Fraction:
    """A number with a small denominator if the float is next to it; else the float."""
    near = Fraction(x).limit_denominator(_SMALL)
    little = Fraction(max(1e-14, slack)) * max(Fraction(1), abs(near))
    return near if abs(near - Fraction(x)) <= little else Fraction(x)
