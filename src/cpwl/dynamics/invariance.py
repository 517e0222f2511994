"""Does a map keep a set inside itself? Yes with a proof that a few sums check, or a point that leaves.

On each cell, where the map is ``x -> G x + o``, each row ``a.y <= b`` of the set must hold: ``a.G`` is a nonnegative
combination of the rows of the cell whose right-hand sides add up to no more than ``b - a.o`` (Farkas).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, within_float64
from cpwl.errors import InputError, InternalError
from cpwl.exact.integers import primitive
from cpwl.exact.rational import fraction_array
from cpwl.exact.simplex import maximize
from cpwl.function import CPWL
from cpwl.function.algebra.border import border_rows, need_convex
from cpwl.function.algebra.pieces import exactly, pieces_of
from cpwl.function.doctor.report import point_text
from cpwl.function.questions.asked import Asked, asked
from cpwl.function.questions.sets import image_of
from cpwl.geometry.bodies import stacked
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.geometry.probe import Probe

__all__ = ["Invariance", "Step", "is_invariant"]

Point = NDArray[np.object_]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """On the cell ``rows`` (integers ``(a, b)``) the map is ``x -> gradient x + offset``.

    ``multipliers[k]`` are nonnegative numbers for the rows of the cell that prove row `k` of the set after the step.
    """

    rows: Point
    gradient: Point
    offset: Point
    multipliers: tuple[dict[int, Fraction], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Invariance:
    """Whether a set is kept; true in a condition if that is proved."""

    holds: bool
    set: Polyhedron
    proof: tuple[Step, ...]
    """One step for each cell; empty if the set is not kept."""
    point: Point | None = None
    """A point of the set that leaves it."""
    value: Point | None = None
    """Where it goes."""

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return f"yes: the set is kept, proved on {len(self.proof)} cells"
        return f"no: x = {point_text(self.point)} is in the set and goes to {point_text(self.value)}, which is not"

    def check(self) -> None:
        """Check the proof, sum by sum, in rationals; `InternalError` if a sum is wrong.

        That the cells cover the set is what makes the map a function: `CPWL.doctor` proves it.
        """
        target = primitive(self.set.integer())
        for step in self.proof:
            for row, share in zip(target, step.multipliers, strict=True):
                goal = np.append(fraction_array(row[:-1]) @ step.gradient, row[-1] - (row[:-1] * step.offset).sum())
                total = sum((v * fraction_array(step.rows[k]) for k, v in share.items()), goal * 0)
                if (
                    min(share.values(), default=Fraction(0)) < 0
                    or (total[:-1] != goal[:-1]).any()
                    or total[-1] > goal[-1]
                ):
                    raise InternalError("a proof of invariance does not add up")


@within_float64()
def is_invariant(f: CPWL, domain: Domain = None, *, box: tuple[Any, Any] | None = None) -> Invariance:
    """Whether ``f(x)`` is in the set for every `x` in it: the set ``A x <= b``, a box, or the whole domain of `f`.

    The set must be bounded, and `f` defined on all of it.

    >>> tent = CPWL.from_grid([[0, 1, 2]], [0, 2, 0])
    >>> print(is_invariant(tent))
    yes: the set is kept, proved on 2 cells
    >>> print(is_invariant(tent, box=(0, 1)))
    no: x = (1) is in the set and goes to (2), which is not
    """
    check_argument(f, CPWL, "is_invariant")
    if f.inputs != f.outputs:
        raise InputError(f"only a map R^n -> R^n can keep a set: this one maps R^{f.inputs} to R^{f.outputs}")
    whole = exactly(f)
    need_convex(whole, "the map", "restrict it to a convex part")
    border = border_rows(pieces_of(whole)[1])
    body = as_domain(domain, f.dim, box=box)
    if body is None:
        body = stacked(border, np.array([0, len(border)]))[0]
    else:
        _check_defined(body, border)
    about = asked(whole, body)
    answer = image_of(about).inside(body)
    if not answer:
        return Invariance(False, body, (), answer.points[0], answer.values[0])
    found = Invariance(True, body, tuple(_step(about, i, body) for i in range(len(about.bodies))))
    found.check()
    return found


def _check_defined(body: Polyhedron, border: Point) -> None:
    probe = Probe(0.0)
    for row in border:
        value, point = probe.maximum(body, row[:-1])
        if value > row[-1]:
            if value == np.inf:
                raise InputError("the set is not bounded")
            raise InputError(f"the map is not defined at x = {point_text(point)}, a point of the set", point=point)


def _step(about: Asked, i: int, body: Polyhedron) -> Step:
    first, last = about.bodies.polyhedra.start[i : i + 2]
    rows = about.bodies.rows[first:last]
    gradient = np.stack([about.slope(i, j) for j in range(about.dim)])
    offset = about.value(i, fraction_array([0] * about.dim))
    multipliers = []
    for row in primitive(body.integer()):
        best = maximize(rows, list(fraction_array(row[:-1]) @ gradient))
        assert best.multipliers is not None
        multipliers.append(best.multipliers)
    return Step(rows, gradient, offset, tuple(multipliers))
