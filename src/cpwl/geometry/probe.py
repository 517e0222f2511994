"""Questions about one polyhedron at a time, answered by linear programs and, for exact data, in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import SolverError
from cpwl.exact.integers import integer_rows
from cpwl.geometry.linear_program import FloatOptimum, LinearProgram
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron


class Probe:
    """Asks polyhedra for interior points, facets and largest values.

    With ``tol = 0`` every answer is decided in rationals: a float point is checked exactly, and where it fails
    an exact linear program decides. Otherwise anything thinner than `tol` has no interior: relative to its place and to
    `unit`, the size of the coordinates.

    >>> square = Polyhedron.from_rows([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 0, 1, 0])
    >>> Probe(0.0).interior(square)
    array([Fraction(1, 2), Fraction(1, 2)], dtype=object)
    """

    @classmethod
    def of(cls, stack: Polyhedra, tol: float) -> Probe:
        """A probe whose tolerance is relative to the size of these coordinates; rationals have no need of it."""
        return cls(tol, stack.unit(tol) if tol else None)

    def __init__(self, tol: float, unit: float | None = None) -> None:
        self.tol, self.unit = tol, 1.0 if unit is None else unit
        self._known = unit
        self._lp: LinearProgram | None = None
        self._rough: Probe | None = self if tol else None

    @property
    def solves(self) -> int:
        """How many linear programs were solved so far."""
        return 0 if self._lp is None else self._lp.solves

    def interior(self, polyhedron: Polyhedron, on: Sequence[int] = ()) -> NDArray[Any] | None:
        """A point strictly inside all rows, those in `on` held as equations; None if there is none.

        Rational for exact data, float otherwise.
        """
        if self.tol == 0 and polyhedron.dim == 1 and not on:
            return _inside_interval(polyhedron.integer())
        wide = self._inflated(polyhedron, on)
        lp = self._load(wide.A, wide.b)
        objective = np.append(np.zeros(polyhedron.dim), 1.0)
        if self.tol:
            return self._wide_enough(lp.maximize(objective), wide, objective)
        exact = self._proposed(lp, objective, polyhedron, on)
        if exact is not None:
            return exact
        best = lp.maximize_exactly(wide.integer(), [0] * polyhedron.dim + [1])
        if best.status != "optimal" or best.value is None or best.value <= 0:
            return None
        assert best.point is not None
        return np.array(best.point[:-1], dtype=object)

    def _wide_enough(
        self, found: FloatOptimum, wide: Polyhedron, objective: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """The centre of a largest ball, if that is larger than `tol` where it is.

        Rows that are parallel up to noise may leave more room far out, where `tol` is less: then one looks near by.
        """
        far = 16 * self.unit
        if found.status == "optimal" and np.abs(found.point[:-1]).max(initial=0.0) > far:
            if found.point[-1] > self.tol * (self.unit + np.abs(found.point[:-1]).max()):
                return found.point[:-1]
            n = wide.dim - 1
            box = np.column_stack([np.concatenate([np.eye(n), -np.eye(n)]), np.zeros(2 * n)])
            near = self._load(np.concatenate([wide.A, box]), np.append(wide.b, np.full(2 * n, far)))
            found = near.maximize(objective)
        size = self.unit + np.abs(found.point[:-1]).max(initial=0.0)
        return found.point[:-1] if found.status == "optimal" and found.point[-1] > self.tol * size else None

    def maximum(self, polyhedron: Polyhedron, objective: Any) -> tuple[Any, NDArray[Any]]:
        """The largest value of ``objective . x`` (``inf`` if unbounded) and a point, or a ray if unbounded.

        ``-inf`` says that the polyhedron is empty.
        """
        return self.maxima(polyhedron, [objective])[0]

    def maxima(self, polyhedron: Polyhedron, objectives: Sequence[Any]) -> list[tuple[Any, NDArray[Any]]]:
        """The same for many objectives over one polyhedron."""
        lp = self._load(polyhedron.A, polyhedron.b)
        if self.tol == 0:
            rows = polyhedron.integer()
            return [self._exact_maximum(lp, rows, objective) for objective in objectives]
        answers = []
        for objective in objectives:
            found = lp.maximize(np.asarray(objective, dtype=np.float64))
            value = {"optimal": found.value, "unbounded": np.inf, "infeasible": -np.inf}[found.status]
            answers.append((value, found.point))
        return answers

    def box(self, polyhedron: Polyhedron) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The corners of a bounding box, in floats and a little wide; infinite where there is no bound."""
        unit = np.eye(polyhedron.dim)
        best = np.array([value for value, _ in self._in_floats().maxima(polyhedron, [*unit, *-unit])])
        best += 1e-6 * (self.unit + np.where(np.isfinite(best), np.abs(best), 0.0))
        return -best[polyhedron.dim :], best[: polyhedron.dim]

    def ball(self, polyhedron: Polyhedron, most: float) -> tuple[NDArray[np.float64], float]:
        """The centre and the radius, at most `most`, of a largest ball inside, in the largest norm and in floats.

        >>> Probe(0.0).ball(Polyhedron.from_rows([[1, 0], [-1, 0]], [3, -1]), 10.0)[1]
        1.0
        """
        upwards = np.append(np.zeros(polyhedron.dim), 1.0)
        wide = np.column_stack([polyhedron.A, np.abs(polyhedron.A).sum(axis=1)])
        found = self._load(np.vstack([wide, upwards]), np.append(polyhedron.b, most)).maximize(upwards)
        return found.point[:-1], float(found.point[-1]) if found.status == "optimal" else 0.0

    def width(self, polyhedron: Polyhedron, on: Sequence[int] = ()) -> float:
        """Twice the radius of a largest ball inside, as `ball`, but on the rows that are held; at most 2 units.

        >>> round(Probe(1e-9).width(Polyhedron.from_rows([[1, 0], [0, 1], [0, -1]], [0, 0.25, 0]), on=[0]), 6)
        0.25
        """
        rough = self._in_floats()
        wide = rough._inflated(Polyhedron(polyhedron.A, polyhedron.b), on)
        upwards = np.append(np.zeros(polyhedron.dim), 1.0)
        try:
            found = rough._load(wide.A, wide.b).propose(upwards)
        except SolverError:
            return 0.0
        return 2 * max(float(found.point[-1]), 0.0) if found.status == "optimal" else 0.0

    def bounds(self, polyhedron: Polyhedron, rows: Polyhedron) -> bool:
        """Whether every one of the rows holds on the polyhedron, exactly or within `tol`.

        >>> square = Polyhedron.from_rows([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 0, 1, 0])
        >>> Probe(0.0).bounds(square, Polyhedron.from_rows([[1, 1]], [2]))
        True
        """
        return all(self._bound(polyhedron, rows, k) is not None for k in range(len(rows.b)))

    def bound_at(self, polyhedron: Polyhedron, row: Polyhedron) -> NDArray[Any] | None:
        """The point of the polyhedron where a single row comes closest; None if the row does not hold there."""
        return self._bound(polyhedron, row, 0)

    def _bound(self, polyhedron: Polyhedron, rows: Polyhedron, k: int) -> NDArray[Any] | None:
        if self.tol == 0:
            row = rows.integer()[k]
            value, point = self.maximum(polyhedron, row[:-1])
            return point if value <= row[-1] else None
        value, point = self.maximum(polyhedron, rows.A[k])
        slack = self.tol * np.abs(rows.A[k]).sum() * (self.unit + np.abs(point).max(initial=0.0))
        return point if value <= rows.b[k] + slack else None

    def _in_floats(self) -> Probe:
        self._rough = self._rough or Probe(1e-9, self._known)
        return self._rough

    def _exact_maximum(self, lp: LinearProgram, rows: NDArray[np.object_], objective: Any) -> tuple[Any, NDArray[Any]]:
        best = lp.maximize_exactly(rows, objective)
        if best.status == "infeasible":
            return -np.inf, np.zeros(0, dtype=object)
        where = best.point if best.status == "optimal" else best.ray
        return best.value if best.status == "optimal" else np.inf, np.array(where, dtype=object)

    def _load(self, A: NDArray[np.float64], b: NDArray[np.float64]) -> LinearProgram:
        unit = self._known if self.tol else None
        if self._lp is None:
            self._lp = LinearProgram(A, b, unit)
        else:
            self._lp.load(A, b, unit)
        return self._lp

    def _inflated(self, polyhedron: Polyhedron, on: Sequence[int]) -> Polyhedron:
        """One more variable `t`, at most 1 (float data: `unit`): how far rows may move inwards, in the largest norm."""
        rows = polyhedron.integer() if self.tol == 0 else np.column_stack([polyhedron.A, polyhedron.b])
        held = np.asarray(on, dtype=np.int64)
        left, right = rows[:, :-1], rows[:, -1]
        weight = np.abs(left).sum(axis=1)
        weight[held] = 0
        cap = np.array([[0] * polyhedron.dim + [1, 1]], dtype=rows.dtype)
        wide = np.column_stack([left, weight, right])
        wide = np.concatenate([wide, -wide[held], cap])
        if self.tol:
            wide[-1, -1] = self.unit
            return Polyhedron(wide[:, :-1], wide[:, -1])
        scale = np.abs(wide[:, :-1]).max(axis=1)
        view = np.asarray(wide / np.where(scale == 0, 1, scale)[:, None], dtype=np.float64)
        return Polyhedron(view[:, :-1], view[:, -1], wide)

    def _proposed(
        self, lp: LinearProgram, objective: NDArray[np.float64], polyhedron: Polyhedron, on: Sequence[int]
    ) -> NDArray[np.object_] | None:
        """What floats propose, if it is right; a solver that fails proposes nothing."""
        try:
            found = lp.propose(objective)
        except SolverError:
            return None
        if found.status != "optimal" or found.point[-1] <= 0:
            return None
        return self._strictly_inside(polyhedron, found.point[:-1], on)

    def _strictly_inside(
        self, polyhedron: Polyhedron, point: NDArray[np.float64], on: Sequence[int]
    ) -> NDArray[np.object_] | None:
        """The float point as a rational one, moved onto the held row, if it is strictly inside the others."""
        if len(on) > 1:
            return None
        rows = polyhedron.integer()
        place = integer_rows(np.append(point, 1.0)[None])[0]
        for r in on:  # solve the row for its largest slope
            k = int(np.argmax(np.abs(polyhedron.A[r])))
            rest = rows[r, -1] * place[-1] - (rows[r, :-1] * place[:-1]).sum() + rows[r, k] * place[k]
            place = place * abs(rows[r, k])
            place[k] = rest if rows[r, k] > 0 else -rest
        others = np.delete(np.arange(len(rows)), list(on))
        inside = (rows[others, :-1].dot(place[:-1]) < rows[others, -1] * place[-1]).all()
        return np.array([Fraction(v, place[-1]) for v in place[:-1]], dtype=object) if inside else None


def _inside_interval(rows: NDArray[np.object_]) -> NDArray[np.object_] | None:
    """A rational point strictly inside rows of one variable, well away from both ends where there is room."""
    if any(slope == 0 and right <= 0 for slope, right in rows):
        return None
    low = max((Fraction(right, slope) for slope, right in rows if slope < 0), default=None)
    high = min((Fraction(right, slope) for slope, right in rows if slope > 0), default=None)
    if low is None:
        return np.array([Fraction(0) if high is None else high - 1 - abs(high)], dtype=object)
    if high is None:
        return np.array([low + 1 + abs(low)], dtype=object)
    return np.array([(low + high) / 2], dtype=object) if low < high else None


# The smallest box around a polyhedron, exactly.


Range: TypeAlias = tuple[Fraction | None, Fraction | None]
"""The least and the largest value, None where there is no bound."""


def bounding_box(body: Polyhedron, probe: Probe | None = None) -> list[Range] | None:
    """The range of each coordinate; None if the polyhedron is empty. Rows of one coordinate need no program.

    >>> bounding_box(Polyhedron.from_rows([[1, 1], [-1, 0], [0, -1]], ["1/3", 0, 0]))
    [(Fraction(0, 1), Fraction(1, 3)), (Fraction(0, 1), Fraction(1, 3))]
    >>> bounding_box(Polyhedron.from_rows([[2, 0]], [1]))
    [(None, Fraction(1, 2)), (None, None)]
    """
    if is_box(body):
        return _of_box(body)
    unit = np.eye(body.dim, dtype=np.int64).astype(object)
    found = (probe or Probe(0.0)).maxima(body, [*unit, *-unit])
    if found[0][0] == -np.inf:
        return None
    most = [None if value == np.inf else Fraction(value) for value, _ in found]
    return [(None if m is None else -m, h) for h, m in zip(most[: body.dim], most[body.dim :], strict=True)]


def is_box(body: Polyhedron) -> bool:
    """Whether each row is about one coordinate."""
    return bool(((body.integer()[:, :-1] != 0).sum(axis=1) == 1).all())


def _of_box(body: Polyhedron) -> list[Range] | None:
    """The box that the rows say, each of one coordinate."""
    low: list[Fraction | None] = [None] * body.dim
    high: list[Fraction | None] = [None] * body.dim
    for row in body.integer():
        i = int(np.flatnonzero(row[:-1])[0])
        value = Fraction(row[-1], row[i])
        before = high[i] if row[i] > 0 else low[i]
        if row[i] > 0:
            high[i] = value if before is None else min(before, value)
        else:
            low[i] = value if before is None else max(before, value)
    ends = list(zip(low, high, strict=True))
    return None if any(a is not None and b is not None and a > b for a, b in ends) else ends
