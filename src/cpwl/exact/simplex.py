"""Linear programs in rationals: take the basis that floats propose, verify it, pivot exactly if it fails.

The problem is always ``maximise c.x subject to A x <= b`` with free `x`. An answer carries its own proof:

- optimal: `multipliers` ``y >= 0`` with ``y A = c`` and ``y b = c x`` (weak duality);
- unbounded: a feasible `point` and a `ray` ``r`` with ``A r <= 0`` and ``c r > 0``;
- infeasible: `multipliers` ``y >= 0`` with ``y A = 0`` and ``y b < 0`` (Farkas).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.exact.rational import from_flint, to_flint

Status = Literal["optimal", "unbounded", "infeasible"]


@dataclass(frozen=True, slots=True)
class Optimum:
    """The answer to a linear program, with the numbers that prove it (see the module's text)."""

    status: Status
    value: Fraction | None = None
    point: tuple[Fraction, ...] | None = None
    multipliers: dict[int, Fraction] | None = None
    ray: tuple[Fraction, ...] | None = None


def maximize(
    rows: NDArray[np.object_], objective: Sequence[Any], active: Sequence[int] = (), free: Sequence[int] = ()
) -> Optimum:
    """Maximise `objective . x` over ``a.x <= b`` for each integer row ``(a, b)``, exactly.

    `active` and `free` are the rows and coordinates that a float solver left nonbasic at its optimum: a hint
    that makes this one solve and its transpose. A wrong hint costs time, never truth.

    >>> square = np.array([[1, 0, 1], [-1, 0, 0], [0, 1, 1], [0, -1, 0]], dtype=object)
    >>> best = maximize(square, [1, 3], active=[0, 2])
    >>> best.value, best.multipliers
    (Fraction(4, 1), {0: Fraction(1, 1), 2: Fraction(3, 1)})
    >>> maximize(square[:1], [0, 1]).status
    'unbounded'
    """
    size = rows.shape[1] - 1
    a = fmpq_mat(len(rows), size, [to_flint(v) for v in rows[:, :size].ravel()])
    b = fmpq_mat(len(rows), 1, [to_flint(v) for v in rows[:, size]])
    c = fmpq_mat(1, size, [to_flint(v) for v in objective])
    proposed = _start(a, b, active, free)
    if proposed is not None and proposed.is_feasible():
        return proposed.climb(c)
    walk = _feasible(a, b, proposed)
    return walk if isinstance(walk, Optimum) else walk.climb(c)


class _Walk:
    """A point held by independent rows, or frozen coordinates ``-1 - j``, as many as there are dimensions."""

    def __init__(self, a: fmpq_mat, b: fmpq_mat, held: list[int], inverse: fmpq_mat, point: fmpq_mat) -> None:
        self.a, self.b, self.held, self.inverse, self.point = a, b, held, inverse, point

    def slack(self) -> list[fmpq]:
        return [*(self.b - self.a * self.point).entries()]

    def is_feasible(self) -> bool:
        return all(s >= 0 for s in self.slack())

    def climb(self, c: fmpq_mat) -> Optimum:
        """Bland's rule from a feasible point; frozen coordinates are released first."""
        size = self.a.ncols()
        slack = self.slack()
        while True:
            price = [*(c * self.inverse).entries()]
            k = self._leaving(price)
            if k is None:
                multipliers = {h: from_flint(y) for h, y in zip(self.held, price, strict=True) if y != 0}
                value = (c * self.point)[0, 0]
                return Optimum("optimal", from_flint(value), self._tuple(self.point), multipliers)
            side = -1 if self.held[k] >= 0 or price[k] < 0 else 1
            direction = fmpq_mat(size, 1, [side * self.inverse[i, k] for i in range(size)])
            rate = [*(self.a * direction).entries()]
            steps = [(slack[i] / rate[i], i) for i in range(len(rate)) if rate[i] > 0]
            if not steps:
                return Optimum("unbounded", None, self._tuple(self.point), None, self._tuple(direction))
            step, entering = min(steps)
            self.point = self.point + direction * step
            slack = [s - step * r for s, r in zip(slack, rate, strict=True)]
            self._exchange(k, entering)

    def _leaving(self, price: list[fmpq]) -> int | None:
        frozen = [k for k, h in enumerate(self.held) if h < 0 and price[k] != 0]
        if frozen:
            return frozen[0]
        falling = [(h, k) for k, h in enumerate(self.held) if h >= 0 and price[k] < 0]
        return min(falling)[1] if falling else None

    def _exchange(self, k: int, entering: int) -> None:
        size = self.a.ncols()
        row = fmpq_mat(1, size, [self.a[entering, j] for j in range(size)])
        weights = row * self.inverse
        column = fmpq_mat(size, 1, [self.inverse[i, k] / weights[0, k] for i in range(size)])
        weights[0, k] = weights[0, k] - 1
        self.inverse = self.inverse - column * weights
        self.held[k] = entering

    @staticmethod
    def _tuple(vector: fmpq_mat) -> tuple[Fraction, ...]:
        return tuple(from_flint(v) for v in vector.entries())


def _start(a: fmpq_mat, b: fmpq_mat, active: Sequence[int], free: Sequence[int]) -> _Walk | None:
    size = a.ncols()
    held = [*(int(i) for i in active), *(-1 - int(j) for j in free)]
    if len(held) != size:
        return None
    entries = [a[h, j] if h >= 0 else int(-1 - h == j) for h in held for j in range(size)]
    right = fmpq_mat(size, 1, [b[h, 0] if h >= 0 else 0 for h in held])
    try:
        inverse = fmpq_mat(size, size, entries).inv()
    except ZeroDivisionError:
        return None
    return _Walk(a, b, held, inverse, inverse * right)


def _feasible(a: fmpq_mat, b: fmpq_mat, walk: _Walk | None) -> _Walk | Optimum:
    """A feasible point by minimising the largest violation, or the proof that there is none."""
    size, count = a.ncols(), a.nrows()
    point = walk.point if walk is not None else fmpq_mat(size, 1)
    slack = [*(b - a * point).entries()]
    if count and min(slack) < 0:
        worst = min(range(count), key=lambda i: slack[i])
        rows = [[*row, -1] for row in a.tolist()]
        wide = fmpq_mat([*rows, [0] * size + [-1]])
        right = fmpq_mat(count + 1, 1, [*b.entries(), 0])
        basis = fmpq_mat([*([int(i == j) for j in range(size + 1)] for i in range(size)), rows[worst]])
        start = fmpq_mat(size + 1, 1, [*point.entries(), -slack[worst]])
        lift = _Walk(wide, right, [*(-1 - j for j in range(size)), worst], basis.inv(), start)
        low = lift.climb(fmpq_mat(1, size + 1, [0] * size + [-1]))
        if low.value is not None and low.value < 0:
            assert low.multipliers is not None
            proof = {i: y for i, y in low.multipliers.items() if i < count}
            return Optimum("infeasible", multipliers=proof)
        point = fmpq_mat(size, 1, [lift.point[j, 0] for j in range(size)])
    unit = fmpq_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
    return _Walk(a, b, [-1 - j for j in range(size)], unit, point)
