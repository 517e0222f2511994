"""Invariant sets: does a map keep a set inside itself, and which is the largest set that it keeps?

Yes with a proof that a few sums check, or a point that leaves. On each cell, where the map is ``x -> G x + o``, each
row ``a.y <= b`` of the set must hold: ``a.G`` is a nonnegative combination of the rows of the cell whose right-hand
sides add up to no more than ``b - a.o`` (Farkas). With a margin `e`, points may leave the set by `e` in each
coordinate: `b` grows by ``e |a|_1``. With a disturbance ``w`` of a polytope, which the map adds, `b` shrinks by the
largest ``a.w``, which has multipliers of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_count, formerly, within_float64
from cpwl.errors import InputError, InternalError, LimitError, counted
from cpwl.exact.integers import integer_rows, primitive
from cpwl.exact.rational import fraction, fraction_array
from cpwl.exact.simplex import Optimum, maximize
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import exactly, function_of, pieces_of
from cpwl.function.algebra.extremes import border_rows, need_convex
from cpwl.function.answers import facts_html, number_text, point_text
from cpwl.function.questions.extent import Asked, asked
from cpwl.geometry.bodies import Bodies, body_of, is_bounded, joined_bodies, solid, stacked, volume_of
from cpwl.geometry.overlay import split
from cpwl.geometry.polyhedra import Domain, Polyhedra, Polyhedron, as_domain
from cpwl.geometry.probe import Probe

MOST_STEPS = 10_000
Point = NDArray[np.object_]


def check_steps(f: Any, can: str) -> None:
    """Refuse what is not a map of a space into itself."""
    if f.inputs != f.outputs:
        raise InputError(f"only a map R^n -> R^n can {can}: this one maps R^{f.inputs} to R^{f.outputs}")


def margin_of(value: Any) -> Fraction:
    found = fraction(value)
    if found < 0:
        raise InputError(f"`margin` must be at least 0, not {value!r:.50}")
    return found


def law_on(about: Asked, i: int) -> tuple[Point, Point]:
    """Gradient and offset of the map on one cell."""
    return np.stack([about.slope(i, j) for j in range(about.dim)]), about.value(i, fraction_array([0] * about.dim))


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """On the cell ``rows`` (integers ``(a, b)``) the map is ``x -> gradient x + offset``.

    ``multipliers[k]`` are nonnegative numbers for the rows of the cell that prove row `k` of the set after the step.
    """

    rows: Point
    gradient: Point
    offset: Point
    multipliers: tuple[dict[int, Fraction], ...]
    target: int = 0
    """The part of the set that the cell is mapped into, where there are several."""

    def adds_up(self, target: Point, room: list[Fraction]) -> bool:
        """Whether the multipliers prove the rows ``(a, b)`` of the target, with that much room in each."""
        return len(self.multipliers) == len(target) and all(
            _adds_up(
                self.rows,
                share,
                fraction_array(row[:-1]) @ self.gradient,
                row[-1] + more - (row[:-1] * self.offset).sum(),
            )
            for row, more, share in zip(target, room, self.multipliers, strict=True)
        )


def _adds_up(rows: Point, share: dict[int, Fraction], goal: Point, right: Any) -> bool:
    """Whether nonnegative multiples of rows ``(a, b)`` add up to ``goal.x <= right``, or to less."""
    total = sum((v * fraction_array(rows[k]) for k, v in share.items()), np.append(goal, right) * 0)
    return min(share.values(), default=Fraction(0)) >= 0 and bool((total[:-1] == goal).all() and total[-1] <= right)


@dataclass(frozen=True, slots=True, eq=False)
class Invariance:
    """Whether a set is invariant; true as a condition if this is proved."""

    holds: bool
    set: Polyhedron
    proof: tuple[Step, ...]
    """One step for each cell; empty if the set is not invariant."""
    point: Point | None = None
    """A point of the set that leaves it."""
    value: Point | None = None
    """Its image."""
    excess: Fraction | float = Fraction(0)
    """The largest distance of an image from the set, in one coordinate; negative if all images are inside, and infinite
    where there is no bound."""
    margin: Fraction = Fraction(0)
    """The excess that is allowed."""
    disturbance: Polyhedron | None = None
    """The polyhedron of disturbances that are added to each step."""
    pushes: tuple[tuple[Fraction, dict[int, Fraction]], ...] = ()
    """For each row of the set the largest value on the disturbances, and multipliers that prove it."""

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            within = f" within the margin {number_text(self.margin)}" if self.excess > 0 else ""
            within += " under all disturbances" if self.disturbance is not None else ""
            return f"yes: the set is kept{within}, proved on {counted(len(self.proof), 'cell')}"
        goes = f"x = {point_text(self.point)} is in the set and goes to {point_text(self.value)}"
        far = "without bound" if self.excess == math.inf else f"by {number_text(self.excess)}"
        return f"no: {goes}, which is not: {far}"

    def _repr_html_(self) -> str:
        return facts_html(self, {"cells": len(self.proof) or None})

    def check(self) -> None:
        """Check the proof, sum by sum, in rationals; `InternalError` if a sum is wrong.

        `CPWL.doctor` proves that the cells cover the set.
        """
        target = primitive(self.set.integer())
        room = [self.margin * int(np.abs(row[:-1]).sum()) for row in target]
        if self.disturbance is not None:
            walls = primitive(self.disturbance.integer())
            for k, (row, (push, share)) in enumerate(zip(target, self.pushes, strict=True)):
                if not _adds_up(walls, share, fraction_array(row[:-1]), push):
                    raise InternalError("a proof of invariance does not add up")
                room[k] -= push
        if not all(step.adds_up(target, room) for step in self.proof):
            raise InternalError("a proof of invariance does not add up")


@formerly(place="domain")
@within_float64()
def is_invariant(
    f: CPWL,
    *,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    margin: Any = 0,
    disturbance: Domain = None,
) -> Invariance:
    """Decide whether ``f(x)`` is in the set for every `x` in it: the set ``A x <= b``, a box, or the domain of `f`.

    `f` must be defined on all of the set. With a `margin`, ``f(x)`` may leave each row of the set by as
    much as moving every coordinate by `margin` does: for systems whose numbers were rounded. The answer says by how
    much it does (`excess`). With a `disturbance`, a bounded polyhedron ``(A, b)``, ``f(x) + w`` must be in the set for
    every `w` in it, too.

    >>> tent = CPWL.from_grid([[0, 1, 2]], [0, 2, 0])
    >>> print(is_invariant(tent))
    yes: the set is kept, proved on 2 cells
    >>> print(is_invariant(tent, box=(0, 1)))
    no: x = (1) is in the set and goes to (2), which is not: by 1
    >>> half = CPWL.from_grid([[-1, 1]], ["-1/2", "1/2"])
    >>> print(is_invariant(half, disturbance=([[1], [-1]], ["1/2", "1/2"])))
    yes: the set is kept under all disturbances, proved on 1 cell
    """
    check_argument(f, CPWL, "is_invariant")
    most = margin_of(margin)
    about, body = _on_set(f, domain, box)
    target = primitive(body.integer())
    noise = as_domain(disturbance, f.dim)
    pushed = [Optimum("optimal", Fraction(0), (Fraction(0),) * f.dim, {})] * len(target)
    if noise is not None:
        pushed = [maximize(primitive(noise.integer()), list(row[:-1])) for row in target]
        wrong = next((push.status for push in pushed if push.status != "optimal"), None)
        if wrong is not None:
            raise InputError(f"the disturbances are {'empty' if wrong == 'infeasible' else 'not bounded'}")
    steps = []
    excess: list[tuple[Fraction | float, int, Point, Point]] = []
    for i in range(len(about.bodies)):
        first, last = about.bodies.polyhedra.start[i : i + 2]
        best, step = _step(about.bodies.rows[first:last], law_on(about, i), target)
        steps.append(step)
        for row, one, push in zip(target, best, pushed, strict=True):
            assert push.value is not None
            size, x = int(np.abs(row[:-1]).sum()), np.array(one.point, dtype=object)
            over = (row[:-1] * (step.gradient @ x + step.offset)).sum() + push.value - int(row[-1])
            if one.ray is not None:  # as far along it as the image leaves by more than is allowed
                ray = np.array(one.ray, dtype=object)
                x = x + ray * (max(most * size - over, 0) / (row[:-1] * (step.gradient @ ray)).sum() + 1)
            far = over / size if one.ray is None else math.inf
            excess.append((far, i, x, np.array(push.point, dtype=object)))
    # All of the space has no row, and no map leaves it.
    none = -math.inf, 0, fraction_array([]), fraction_array([])
    worst, i, point, w = max(excess, key=lambda entry: entry[0], default=none)
    if worst > most:
        return Invariance(False, body, (), point, about.value(i, point) + w, worst, most, noise)
    pushes = tuple((push.value or Fraction(0), push.multipliers or {}) for push in pushed)
    found = Invariance(True, body, tuple(steps), None, None, worst, most, noise, pushes)
    found.check()
    return found


def _on_set(f: CPWL, domain: Domain, box: tuple[Any, Any] | None) -> tuple[Asked, Polyhedron]:
    """The cells of a map on a bounded set on which it is defined, and the set."""
    check_steps(f, "leave a set invariant")
    whole = exactly(f)
    need_convex(whole, "the map", "restrict it to a convex part")
    border = border_rows(pieces_of(whole)[1])
    body = as_domain(domain, f.dim, box=box)
    if body is None:
        body = body_of(border)
    else:
        _check_defined(body, border)
    return asked(whole, body), body


def _check_defined(body: Polyhedron, border: Point) -> None:
    probe = Probe(0.0)
    for row in border:
        value, point = probe.maximum(body, row[:-1])
        if value > row[-1]:
            if value == np.inf:
                raise InputError("the set is not bounded")
            raise InputError(f"the map is not defined at x = {point_text(point)}, a point of the set", point=point)


def _step(rows: Point, law: tuple[Point, Point], target: Point, part: int = 0) -> tuple[list[Optimum], Step]:
    """The largest value of each row of the target on the image of a cell, and what proves it."""
    best = [maximize(rows, list(fraction_array(row[:-1]) @ law[0])) for row in target]
    return best, Step(rows, *law, tuple(one.multipliers or {} for one in best), part)


# The largest invariant set.
#
# ``R_0`` is the set, and ``R_k+1`` the closure of the interior of ``{x in R_k: f(x) in R_k}``, a union of polytopes.
# If nothing is lost then ``f(x)`` is in ``R_k`` for a dense part of it, hence on all of it: `f` is continuous, ``R_k``
# closed. A closed invariant set in the first one that is the closure of its interior is in every ``R_k``, by induction.


@dataclass(frozen=True, slots=True, eq=False)
class InvariantSet:
    """The largest invariant set: polytopes with disjoint interiors; none if no set with interior is invariant."""

    parts: tuple[Polyhedron, ...]
    steps: int
    """The number of iterations that removed a part of the set."""
    volume: Fraction
    proof: tuple[Step, ...]
    """Cells that fill the parts, each with the part that it is mapped into."""

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        if not self.parts:
            return f"no set with an interior is kept, found in {counted(self.steps, 'step')}"
        size = f"{counted(len(self.parts), 'part')}, volume {number_text(self.volume)}"
        return f"{size}, found in {counted(self.steps, 'step')}, proved on {counted(len(self.proof), 'cell')}"

    def __contains__(self, x: Any) -> bool:
        point = fraction_array(x)
        return any(bool((rows[:, :-1].dot(point) <= rows[:, -1]).all()) for rows in _each(self.parts))

    def check(self) -> None:
        """Check that each cell is mapped into a part, sum by sum, and that the volumes of cells and parts are equal."""
        rows = _each(self.parts)
        none = Fraction(0)
        if not all(step.adds_up(rows[step.target], [none] * len(rows[step.target])) for step in self.proof):
            raise InternalError("a proof of invariance does not add up")
        if self.parts and not _volume([step.rows for step in self.proof]) == self.volume == _volume(rows):
            raise InternalError("the cells do not fill the invariant set")


def _each(polyhedra: Iterable[Polyhedron]) -> list[Point]:
    """The rows of each polyhedron, primitive integers ``(a, b)``."""
    return [primitive(body.integer()) for body in polyhedra]


def _stack(cells: list[Point]) -> Polyhedra:
    return stacked(np.concatenate(cells), np.cumsum([0] + [len(rows) for rows in cells]).astype(np.int64))


def _volume(cells: list[Point]) -> Fraction:
    return volume_of(solid(_stack(cells))[1])


@within_float64()
def maximal_invariant(
    f: CPWL, *, domain: Domain = None, box: tuple[Any, Any] | None = None, max_steps: int = 100
) -> InvariantSet:
    """The largest part of a bounded set that the map never leaves: the set ``A x <= b``, a box, or the domain of `f`.

    It is the largest *closed set that is the closure of its interior*, a union of polytopes. Smaller sets, such as an
    equilibrium that repels, are not found. If the iteration does not end within `max_steps`, a `LimitError` is raised.

    >>> square = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    >>> f = CPWL.from_pieces([square], [[1] * 4], [[["1/2", 1], [0, "1/2"]]], [[0, 0]])
    >>> print(maximal_invariant(f))
    1 part, volume 7/2, found in 1 step, proved on 1 cell
    """
    check_argument(f, CPWL, "maximal_invariant")
    check_count(max_steps, "max_steps", least=1, most=MOST_STEPS)
    about, body = _on_set(f, domain, box)
    if not is_bounded(about.bodies):
        raise InputError("the set is not bounded")
    laws = [law_on(about, i) for i in range(len(about.bodies))]
    cells, law = about.bodies, np.arange(len(laws))
    parts = [primitive(body.integer())]
    for number in range(int(max_steps)):
        cells, law, part, lost = _mapped_into(cells, law, laws, parts)
        if not lost:
            entries = zip(_each(cells.polyhedra), law.tolist(), part.tolist(), strict=True)
            steps = tuple(_step(rows, laws[i], parts[j], j)[1] for rows, i, j in entries)
            found = InvariantSet(tuple(_stack(parts)), number, _volume(parts), steps)
            found.check()
            return found
        if not len(cells):
            return InvariantSet((), number + 1, Fraction(0), ())
        parts = _merged(cells)
    raise LimitError(
        f"the set still shrinks after {max_steps} steps: the volume is {number_text(_volume(parts))} now; "
        "begin with a smaller set, or raise `max_steps`",
        volume=_volume(parts),
    )


def _mapped_into(
    cells: Bodies, law: NDArray[np.int64], laws: list[tuple[Point, Point]], parts: list[Point]
) -> tuple[Bodies, NDArray[np.int64], NDArray[np.int64], bool]:
    """The cells cut into those that are mapped into a part, the law and the part of each; and whether any are left."""
    kept, numbers = [], []
    for j, part in enumerate(parts):
        waiting, rest = [], []
        for row in part:  # what is inside of the rows so far is cut by the next one
            forms = np.array([[*row[:-1].dot(g), row[:-1].dot(o) - row[-1]] for g, o in laws], dtype=object)
            sided = split(cells, integer_rows(np.ones(forms.shape), forms)[law])
            out, law_of = sided.side > 0, law[sided.number]
            waiting.append(sided.parts.take(np.flatnonzero(out)))
            rest.append(law_of[out])
            cells, law = sided.parts.take(np.flatnonzero(~out)), law_of[~out]
        kept.append(cells)
        numbers.append(np.stack([law, np.full(len(law), j)]))
        cells, law = joined_bodies(waiting), np.concatenate(rest)
    law_of, part_of = np.concatenate(numbers, axis=1)
    return joined_bodies(kept), law_of, part_of, len(cells) > 0


def _merged(cells: Bodies) -> list[Point]:
    """The same set in fewer polytopes, where neighbours make a convex one."""
    zero = np.zeros((len(cells), 1, cells.polyhedra.dim + 2), dtype=object)
    zero[..., -1] = 1
    return _each(function_of(cells, zero, None).polyhedra)
