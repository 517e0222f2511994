"""Closed loops: iterates, equilibria, Lyapunov candidates and invariant sets, exactly; one report about a law.

A Lyapunov candidate decreases if the largest ``V(f(x)) - rate V(x)`` is negative. For a piecewise-linear `V` that is a
piecewise-linear function. For ``V(x) = x'P x`` it is a quadratic form on each
cell, and its maximum over a polytope is at a corner or inside a face on which it is strictly concave: along any other
direction of the face it is convex, hence no larger inside than at an end. So each face with a negative definite form
has one candidate, a solution of linear equations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_count, check_outside, formerly, within_float64
from cpwl.errors import InputError, InternalError, LimitError, counted
from cpwl.exact.integers import integer_rows, primitive
from cpwl.exact.rational import fraction, fraction_array, from_flint, to_flint
from cpwl.exact.simplex import Optimum, maximize
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import exactly, function_of, pieces_of, plus_affine
from cpwl.function.algebra.extremes import border_rows, need_convex
from cpwl.function.answers import Solutions, facts_html, number_text, point_text
from cpwl.function.questions.extent import Asked, asked
from cpwl.geometry.bodies import is_bounded, solid, stacked, volume_of
from cpwl.geometry.polyhedra import Domain, Polyhedra, Polyhedron, as_domain
from cpwl.geometry.probe import Probe
from cpwl.network import Network
from cpwl.network.algebra import linear_image
from cpwl.network.algorithms import side_by_side

__all__ = [
    "Decrease",
    "Invariance",
    "InvariantSet",
    "LoopReport",
    "SublevelSet",
    "closed_loop",
    "decrease",
    "equilibria",
    "is_invariant",
    "is_sublevel_invariant",
    "iterate",
    "loop_report",
    "maximal_invariant",
]

# Closed loops, and what they do in several steps.


_MOST_STEPS = 10_000
_F = TypeVar("_F", CPWL, Network)


@formerly(place="domain")
@within_float64()
def closed_loop(
    A: Any, B: Any, controller: _F, *, domain: Domain = None, box: tuple[Any, Any] | None = None, offset: Any = None
) -> _F:
    """The map ``x -> A x + B u(x) + c`` of a linear system under a control law, as a function or as a network.

    Parameters
    ----------
    A, B
        The matrices of the system, ``(n, n)`` and ``(n, m)``; numbers as everywhere, "1/10" for one tenth.
    controller
        The law `u`, a function R^n -> R^m or a network.
    domain, box
        Where to look at it: ``A x <= b`` or ``(low, high)``; everywhere the law is defined if neither is given. A
        network is defined everywhere, and takes neither.
    offset
        The vector `c`; zero if it is not given.

    >>> law = CPWL.from_breakpoints([-1, 1], [1, -1], left_slope=0, right_slope=0)
    >>> step = closed_loop([["3/2"]], [[1]], law)
    >>> step([["1/2"], ["4"]]).ravel()
    array([Fraction(1, 4), Fraction(5, 1)], dtype=object)
    """
    check_argument(controller, (CPWL, Network), "closed_loop")
    matrix, gain = (
        _matrix(A, controller.inputs, controller.inputs, "A"),
        _matrix(B, controller.inputs, controller.outputs, "B"),
    )
    shift = fraction_array([0] * len(matrix) if offset is None else offset)
    if shift.shape != (len(matrix),):
        raise InputError(f"`offset` must have {len(matrix)} entries, not {shift.shape}")
    if isinstance(controller, Network):
        if domain is not None or box is not None:
            raise InputError("a network is defined everywhere: leave `domain` and `box` out, or use `cpwl.extract`")
        plain = Network([(matrix, shift)])
        both = side_by_side([plain, controller])
        unit = fraction_array(np.eye(len(matrix), dtype=np.int64))
        return linear_image(both, np.concatenate([unit, gain], axis=1))
    return plus_affine(gain @ controller.restrict(domain=domain, box=box), matrix, shift)


def iterate(f: _F, k: int, *, outside: str = "error") -> _F:
    """The map after `k` steps, ``f(f(..f(x)..))``, as one function or one network.

    Parameters
    ----------
    f
        A map R^n -> R^n.
    k
        How many steps, from 1 to 10,000.
    outside
        For functions, where a step leaves the domain of `f`: "error", with a point that leaves, or "drop" such `x`.

    >>> tent = CPWL.from_grid([[0, 1, 2]], [0, 2, 0])
    >>> iterate(tent, 3).num_pieces
    8
    """
    check_argument(f, (CPWL, Network), "iterate")
    check_count(k, "k", least=1, most=_MOST_STEPS)
    outside = check_outside(outside)
    if f.inputs != f.outputs:
        raise InputError(f"only a map R^n -> R^n can be iterated: this one maps R^{f.inputs} to R^{f.outputs}")
    result = f
    for _ in range(int(k) - 1):
        result = f.compose(result) if isinstance(f, Network) else f.compose(result, outside=outside)
    return result


@formerly(place="domain")
def equilibria(f: CPWL, *, domain: Domain = None, box: tuple[Any, Any] | None = None) -> Solutions:
    """All `x` with ``f(x) = x``, exactly: points, segments, polyhedra.

    >>> tent = CPWL.from_grid([[0, 1, 2]], [0, 2, 0])
    >>> [x.tolist() for x in equilibria(tent).points]
    [[Fraction(0, 1)], [Fraction(4, 3)]]
    >>> [face.points.tolist() for face in equilibria(CPWL.from_grid([[0, 1, 3]], [0, 1, 0])).faces]
    [[[Fraction(0, 1)], [Fraction(1, 1)]]]
    """
    check_argument(f, CPWL, "equilibria")
    if f.inputs != f.outputs:
        raise InputError(f"only a map R^n -> R^n has equilibria: this one maps R^{f.inputs} to R^{f.outputs}")
    unit = fraction_array(np.eye(f.dim, dtype=np.int64))
    return plus_affine(f, -unit, [Fraction(0)] * f.dim).solve(0, domain=domain, box=box)


def _matrix(value: Any, rows: int, columns: int, name: str) -> NDArray[np.object_]:
    matrix = fraction_array(value)
    if matrix.shape != (rows, columns):
        raise InputError(f"`{name}` must be ({rows}, {columns}) for this law, not {matrix.shape}")
    return matrix


Point = NDArray[np.object_]


@dataclass(frozen=True, slots=True, eq=False)
class Decrease:
    """The largest value of ``V(f(x)) - rate V(x)``; the candidate falls, or stays, iff it is at most `margin`."""

    largest: Fraction | float
    point: Point
    """Where it is attained."""
    margin: Fraction = Fraction(0)
    """By how much it may rise, for systems whose numbers were rounded."""

    def __bool__(self) -> bool:
        return self.largest <= self.margin

    def __str__(self) -> str:
        within = f", within the margin {number_text(self.margin)}: the largest change is" if self.margin else ":"
        word = f"yes{within if self.largest > 0 else ': the largest change'}" if self else "no: it rises, by"
        return f"{word} {number_text(self.largest)}, at x = {point_text(self.point)}"

    def _repr_html_(self) -> str:
        return facts_html(self, {"largest": number_text(self.largest), "point": point_text(self.point)})


@within_float64()
def decrease(
    f: CPWL,
    candidate: Any,
    *,
    rate: Any = 1,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    margin: Any = 0,
) -> Decrease:
    """The largest step of a Lyapunov candidate: of ``V(f(x)) - rate V(x)`` over a bounded domain.

    Parameters
    ----------
    f
        The map R^n -> R^n.
    candidate
        A function R^n -> R, or a symmetric matrix `P` for ``V(x) = x'P x``.
    rate
        1: does it fall; less than 1: does it fall by that factor.
    domain, box
        Where; all of the domain of `f` if neither is given.
    margin
        How much a step may rise: 0, or what the rounding of the system is allowed to cost.

    >>> half = CPWL.from_grid([[-1, 0, 1]], ["1/2", 0, "1/2"])
    >>> print(decrease(half, [[1]], rate="1/4"))
    yes: the largest change 0, at x = (-1)
    >>> print(decrease(half, abs(CPWL.from_breakpoints([0, 1], [0, 1])), rate="1/4"))
    no: it rises, by 1/4, at x = (-1)
    """
    check_argument(f, CPWL, "decrease")
    if f.inputs != f.outputs:
        raise InputError(f"only a map R^n -> R^n has steps: this one maps R^{f.inputs} to R^{f.outputs}")
    factor, most = fraction(rate), _margin(margin)
    if isinstance(candidate, CPWL):
        here = f.restrict(domain=domain, box=box)
        same = plus_affine(0 * here, np.eye(f.dim, dtype=np.int64), [0] * f.dim)
        best = (candidate.compose(here) - factor * candidate.compose(same)).argmax()
        return Decrease(best.value, best.point if best.ray is None else best.point + best.ray, most)
    form = _form(candidate, f.dim, "`candidate` must be a function, or")
    about = asked(f, domain, box)
    if not is_bounded(about.bodies):
        raise InputError("the domain is not bounded: give one, as `box=(low, high)`")
    value, point = max((_largest(about, i, form, factor) for i in range(len(about.bodies))), key=lambda best: best[0])
    return Decrease(value, point, most)


def _form(value: Any, dim: int, must: str) -> Point:
    form = fraction_array(value)
    if form.shape != (dim, dim) or (form != form.T).any():
        raise InputError(f"{must} a symmetric matrix ({dim}, {dim})")
    return form


def _margin(value: Any) -> Fraction:
    found = fraction(value)
    if found < 0:
        raise InputError(f"`margin` must be at least 0, not {value!r:.50}")
    return found


def _law(about: Asked, i: int) -> tuple[Point, Point]:
    """Gradient and offset of the map on one cell."""
    return np.stack([about.slope(i, j) for j in range(about.dim)]), about.value(i, fraction_array([0] * about.dim))


def _largest(about: Asked, i: int, form: Point, rate: Fraction, after: int = 1) -> tuple[Fraction, Point]:
    """The largest value of ``after V(f(x)) - rate V(x)`` on one cell."""
    gradient, offset = _law(about, i)
    quadratic = after * (gradient.T @ form @ gradient) - rate * form
    linear = 2 * after * (gradient.T @ form @ offset)
    constant = after * (offset @ form @ offset)
    best: tuple[Fraction, Point] | None = None
    for x in _candidates(about, i, quadratic, linear):
        value = Fraction(x @ quadratic @ x + linear @ x + constant)
        if best is None or value > best[0]:
            best = value, x
    assert best is not None
    return best


def _candidates(about: Asked, i: int, quadratic: Point, linear: Point) -> Iterator[Point]:
    """The corners, and for each larger face the one point inside where the form may be largest."""
    first, last = about.bodies.polyhedra.start[i : i + 2]
    rows = about.bodies.rows[first:last]
    places = about.bodies.places[about.bodies.spans.of_piece(i)]
    corners = np.asarray(fraction_array(places[:, :-1]) / places[:, -1:])
    yield from corners
    tight = (rows[:, :-1].dot(places[:, :-1].T) - rows[:, -1:] * places[:, -1]) == 0
    for face in _faces(tight):
        x = _stationary(corners[sorted(face)], quadratic, linear)
        if x is not None and (rows[:, :-1].dot(x) <= rows[:, -1]).all():
            yield x


def _faces(tight: NDArray[Any]) -> set[frozenset[int]]:
    """All faces with two corners or more, as sets of corners: intersections of facets, and the whole."""
    facets = [frozenset(np.flatnonzero(row).tolist()) for row in tight]
    found = {frozenset(range(tight.shape[1]))}
    waiting = list(found)
    while waiting:
        face = waiting.pop()
        for facet in facets:
            part = face & facet
            if len(part) > 1 and part not in found:
                found.add(part)
                waiting.append(part)
    return found


def _stationary(corners: Point, quadratic: Point, linear: Point) -> Point | None:
    """Where the form is stationary on the flat of a face, if it is strictly concave there."""
    basis = _independent(corners[1:] - corners[0])
    hessian = basis @ quadratic @ basis.T
    if not _is_definite(-hessian):
        return None
    size = len(hessian)
    matrix = fmpq_mat(size, size, [to_flint(v) for v in hessian.ravel()])
    slope = basis @ (2 * (quadratic @ corners[0]) + linear)
    right = fmpq_mat(size, 1, [to_flint(-Fraction(v) / 2) for v in slope])
    steps = matrix.solve(right)
    share = np.array([from_flint(steps[k, 0]) for k in range(size)], dtype=object)
    return np.asarray(corners[0] + share @ basis)


def _is_definite(form: Point) -> bool:
    """Whether a symmetric matrix is positive definite: all leading minors are positive (Sylvester)."""
    blocks = (form[:k, :k] for k in range(1, len(form) + 1))
    return all(fmpq_mat(len(b), len(b), [to_flint(v) for v in b.ravel()]).det() > fmpq(0) for b in blocks)


def _independent(vectors: Point) -> Point:
    """As many of the vectors as are independent, early ones first."""
    columns = fmpq_mat(vectors.shape[1], vectors.shape[0], [to_flint(v) for v in vectors.T.ravel()])
    reduced, rank = columns.rref()
    lead = [next(j for j in range(columns.ncols()) if reduced[r, j] != 0) for r in range(rank)]
    return vectors[lead]


# Does a map keep a set inside itself? Yes with a proof that a few sums check, or a point that leaves.
#
# On each cell, where the map is ``x -> G x + o``, each row ``a.y <= b`` of the set must hold: ``a.G`` is a nonnegative
# combination of the rows of the cell whose right-hand sides add up to no more than ``b - a.o`` (Farkas). With a margin
# `e`, points may leave the set by `e` in each coordinate: `b` grows by ``e |a|_1``. With a disturbance ``w`` of a
# polytope, which the map adds, `b` shrinks by the largest ``a.w``, which has multipliers of its own.


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
    """Whether a set is kept; true in a condition if that is proved."""

    holds: bool
    set: Polyhedron
    proof: tuple[Step, ...]
    """One step for each cell; empty if the set is not kept."""
    point: Point | None = None
    """A point of the set that leaves it."""
    value: Point | None = None
    """Where it goes."""
    excess: Fraction = Fraction(0)
    """How far points leave the set, in the largest coordinate; negative if all stay inside by that much."""
    margin: Fraction = Fraction(0)
    """How far they may."""
    disturbance: Polyhedron | None = None
    """What may be added to each step."""
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
        return f"no: {goes}, which is not: by {number_text(self.excess)}"

    def _repr_html_(self) -> str:
        return facts_html(self, {"cells": len(self.proof) or None})

    def check(self) -> None:
        """Check the proof, sum by sum, in rationals; `InternalError` if a sum is wrong.

        That the cells cover the set is what makes the map a function: `CPWL.doctor` proves it.
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
    """Whether ``f(x)`` is in the set for every `x` in it: the set ``A x <= b``, a box, or the whole domain of `f`.

    The set must be bounded, and `f` defined on all of it. With a `margin`, ``f(x)`` may leave each row of the set by as
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
    most = _margin(margin)
    about, body = _on_set(f, domain, box)
    target = primitive(body.integer())
    noise = as_domain(disturbance, f.dim)
    pushed = [Optimum("optimal", Fraction(0), (Fraction(0),) * f.dim, {})] * len(target)
    if noise is not None:
        pushed = [maximize(primitive(noise.integer()), list(row[:-1])) for row in target]
        wrong = next((push.status for push in pushed if push.status != "optimal"), None)
        if wrong is not None:
            raise InputError(f"the disturbances are {'empty' if wrong == 'infeasible' else 'not bounded'}")
    steps, excess = [], []
    for i in range(len(about.bodies)):
        best, step = _step(about, i, target)
        steps.append(step)
        for row, one, push in zip(target, best, pushed, strict=True):
            assert one.value is not None
            assert one.point is not None
            assert push.value is not None
            assert push.point is not None
            over = one.value + (row[:-1] * step.offset).sum() + push.value - int(row[-1])
            excess.append(
                (
                    over / (int(np.abs(row[:-1]).sum()) or 1),
                    i,
                    np.array(one.point, dtype=object),
                    np.array(push.point, dtype=object),
                )
            )
    worst, i, x, w = max(excess, key=lambda entry: entry[0])
    if worst > most:
        point = fraction_array(x)
        return Invariance(False, body, (), point, about.value(i, point) + fraction_array(w), worst, most, noise)
    pushes = tuple((push.value or Fraction(0), push.multipliers or {}) for push in pushed)
    found = Invariance(True, body, tuple(steps), None, None, worst, most, noise, pushes)
    found.check()
    return found


def _on_set(f: CPWL, domain: Domain, box: tuple[Any, Any] | None) -> tuple[Asked, Polyhedron]:
    """The cells of a map on a bounded set on which it is defined, and the set."""
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
    return asked(whole, body), body


def _check_defined(body: Polyhedron, border: Point) -> None:
    probe = Probe(0.0)
    for row in border:
        value, point = probe.maximum(body, row[:-1])
        if value > row[-1]:
            if value == np.inf:
                raise InputError("the set is not bounded")
            raise InputError(f"the map is not defined at x = {point_text(point)}, a point of the set", point=point)


def _step(about: Asked, i: int, target: Point) -> tuple[list[Optimum], Step]:
    """The largest value of each row of the target on the image of a cell, and what proves it."""
    first, last = about.bodies.polyhedra.start[i : i + 2]
    rows = about.bodies.rows[first:last]
    gradient, offset = _law(about, i)
    best = [maximize(rows, list(fraction_array(row[:-1]) @ gradient)) for row in target]
    return best, Step(rows, gradient, offset, tuple(one.multipliers or {} for one in best))


# The largest invariant set.
#
# ``R_0`` is the set, and ``R_k+1`` the closure of the interior of ``{x in R_k: f(x) in R_k}``, a union of polytopes.
# If nothing is lost then ``f(x)`` is in ``R_k`` for a dense part of it, hence on all of it: `f` is continuous, ``R_k``
# closed. A closed invariant set in the first one that is the closure of its interior is in every ``R_k``, by induction.


@dataclass(frozen=True, slots=True, eq=False)
class InvariantSet:
    """The largest invariant set: polytopes whose interiors do not meet, none if no set with an interior is kept."""

    parts: tuple[Polyhedron, ...]
    steps: int
    """How many times something was cut away."""
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
        return any(bool((rows[:, :-1].dot(point) <= rows[:, -1]).all()) for rows in self._rows())

    def _rows(self) -> list[Point]:
        return [primitive(part.integer()) for part in self.parts]

    def check(self) -> None:
        """Check that each cell is mapped into a part, sum by sum, and that the volumes of cells and parts are equal."""
        rows = self._rows()
        none = Fraction(0)
        if not all(step.adds_up(rows[step.target], [none] * len(rows[step.target])) for step in self.proof):
            raise InternalError("a proof of invariance does not add up")
        if self.parts and not _volume([step.rows for step in self.proof]) == self.volume == _volume(rows):
            raise InternalError("the cells do not fill the invariant set")


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
    equilibrium that repels, are not found. A set that is cut smaller for ever is a `LimitError` after `max_steps`.

    >>> square = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    >>> f = CPWL.from_pieces([square], [[1] * 4], [[["1/2", 1], [0, "1/2"]]], [[0, 0]])
    >>> print(maximal_invariant(f))
    1 part, volume 7/2, found in 1 step, proved on 1 cell
    """
    check_argument(f, CPWL, "maximal_invariant")
    check_count(max_steps, "max_steps", least=1, most=_MOST_STEPS)
    about, body = _on_set(f, domain, box)
    if not is_bounded(about.bodies):
        raise InputError("the set is not bounded")
    laws = [_law(about, i) for i in range(len(about.bodies))]
    starts = about.bodies.polyhedra.start
    cells = [(about.bodies.rows[a:b], i) for i, (a, b) in enumerate(itertools.pairwise(starts.tolist()))]
    parts = [primitive(body.integer())]
    for number in range(int(max_steps)):
        kept, lost = _mapped_into(cells, laws, parts)
        if not lost:
            polyhedra = _stack(parts)
            steps = tuple(_proof(rows, laws[i], parts[j], j) for rows, i, j in kept)
            found = InvariantSet(tuple(polyhedra), number, _volume(parts), steps)
            found.check()
            return found
        if not kept:
            return InvariantSet((), number + 1, Fraction(0), ())
        parts = _merged([rows for rows, _, _ in kept])
        cells = [(rows, i) for rows, i, _ in kept]
    raise LimitError(
        f"the set is still cut smaller after {max_steps} steps: the volume is {number_text(_volume(parts))} now; "
        "begin with a smaller set, or raise `max_steps`",
        volume=_volume(parts),
    )


def _mapped_into(
    cells: list[tuple[Point, int]], laws: list[tuple[Point, Point]], parts: list[Point]
) -> tuple[list[tuple[Point, int, int]], bool]:
    """The cells cut into those that are mapped into a part, with its number, and whether anything is left over."""
    kept, lost = [], False
    for rows, i in cells:
        gradient, offset = laws[i]
        waiting = [rows]
        for j, part in enumerate(parts):
            linear = part[:, :-1].dot(gradient)
            right = part[:, -1] - part[:, :-1].dot(offset)
            still = ~np.asarray((linear != 0).any(axis=1), dtype=bool)
            if not waiting or (right[still] < 0).any():
                continue
            both = np.column_stack([linear, right])[~still]
            walls = integer_rows(np.ones(both.shape), both) if len(both) else np.zeros((0, rows.shape[1]), dtype=object)
            left = []
            for cell in waiting:
                inside, outside = _cut(cell, walls)
                left += outside
                kept += [] if inside is None else [(inside, i, j)]
            waiting = left
        lost = lost or bool(waiting)
    return kept, lost


def _cut(cell: Point, walls: Point) -> tuple[Point | None, list[Point]]:
    """The part of a cell that satisfies all rows, None if it has no interior, and the rest, in pieces."""
    outside = []
    for wall in walls:
        number, sides = solid(_stack([np.vstack([cell, -wall]), np.vstack([cell, wall])]))
        begin = sides.polyhedra.start.tolist()
        halves = {int(k): sides.rows[begin[at] : begin[at + 1]] for at, k in enumerate(number)}
        if 0 in halves:
            outside.append(halves[0])
        if 1 not in halves:
            return None, outside
        cell = halves[1]
    return cell, outside


def _merged(cells: list[Point]) -> list[Point]:
    """The same set in fewer polytopes, where neighbours make a convex one."""
    _, bodies = solid(_stack(cells))
    zero = np.zeros((len(bodies), 1, cells[0].shape[1] + 1), dtype=object)
    zero[..., -1] = 1
    found = function_of(bodies, zero, None).polyhedra
    return [primitive(part.integer()) for part in found]


def _proof(rows: Point, law: tuple[Point, Point], target: Point, j: int) -> Step:
    shares = (maximize(rows, list(fraction_array(row[:-1]) @ law[0])).multipliers or {} for row in target)
    return Step(rows, *law, tuple(shares), j)


# Sublevel sets ``{x: x'P x <= c}`` of a definite form.
#
# On a cell it is enough that ``V(f(x)) - s V(x) <= (1 - s) c`` for one share `s` in [0, 1]: then ``V(x) <= c`` implies
# ``V(f(x)) <= c``. The left side is a quadratic form, whose largest value on a polytope is exact. So is a point of the
# set that leaves it. A set for which neither is found is undecided.


_SHARES = tuple(Fraction(k, 8) for k in (8, 0, 4, 6, 2, 7, 1, 5, 3))


@dataclass(frozen=True, slots=True, eq=False)
class SublevelSet:
    """Whether ``{x: x'P x <= level}`` is kept; true in a condition if that is proved."""

    holds: bool
    level: Fraction
    shares: tuple[Fraction | None, ...]
    """For each cell an `s` with ``V(f(x)) - s V(x) <= (1 - s) level`` on it; None if the cell is outside the set."""
    point: Point | None = None
    """A point of the set that leaves it."""
    value: Point | None = None
    """Where it goes."""

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return f"yes: the sublevel set is kept, proved on {counted(len(self.shares), 'cell')}"
        return f"no: x = {point_text(self.point)} is in the set and goes to {point_text(self.value)}, which is not"


@within_float64()
def is_sublevel_invariant(f: CPWL, P: Any, level: Any) -> SublevelSet:
    """Whether ``f(x)'P f(x) <= level`` for every `x` with ``x'P x <= level``; `P` is positive definite.

    A yes is proved, a no has a point; where neither is found the question is undecided, a `LimitError`.

    >>> half = CPWL.from_grid([[-1, 0, 1]], ["1/2", 0, "1/2"])
    >>> print(is_sublevel_invariant(half, [[1]], 1))
    yes: the sublevel set is kept, proved on 2 cells
    """
    check_argument(f, CPWL, "is_sublevel_invariant")
    if f.inputs != f.outputs:
        raise InputError(f"only a map R^n -> R^n can keep a set: this one maps R^{f.inputs} to R^{f.outputs}")
    form, most = _form(P, f.dim, "`P` must be"), fraction(level)
    if not _is_definite(form) or most <= 0:
        raise InputError("`P` must be positive definite and `level` positive, so that the set has an interior")
    whole = exactly(f)
    need_convex(whole, "the map", "restrict it to a convex part")
    inverse = _inverse(form)
    for row in border_rows(pieces_of(whole)[1]):
        if row[-1] < 0 or most * (row[:-1] @ inverse @ row[:-1]) > row[-1] ** 2:
            raise InputError(
                f"the map is not defined on all of the set: row {row[:-1].tolist()} x <= {row[-1]} cuts it"
            )
    reach = [_root_above(most * inverse[k, k]) for k in range(f.dim)]
    about = asked(whole, None, ([-v for v in reach], reach))
    shares = [_share(about, i, form, most) for i in range(len(about.bodies))]
    open_cells = [i for i, share in enumerate(shares) if share == ()]
    if not open_cells:
        return SublevelSet(True, most, tuple(share[0] for share in shares))
    for i in open_cells:
        for rate in (Fraction(1), Fraction(0)):
            x = _largest(about, i, form, rate)[1]
            size = x @ form @ x
            inside = x if size <= most else x / _root_above(Fraction(size) / most)
            y = whole(inside[None])[0]
            if y @ form @ y > most:
                return SublevelSet(False, most, (), inside, y)
    raise LimitError(
        "undecided: no proof was found that the sublevel set is kept, and no point that leaves; try a smaller `level`"
    )


def _share(about: Asked, i: int, form: Point, level: Fraction) -> tuple[Fraction | None, ...]:
    """A share that proves the cell, None if it lies outside the set; nothing if none of the few does."""
    if -_largest(about, i, form, Fraction(1), after=0)[0] > level:
        return (None,)
    return tuple(itertools.islice((s for s in _SHARES if _largest(about, i, form, s)[0] <= (1 - s) * level), 1))


def _root_above(value: Fraction) -> Fraction:
    """A rational a little above the square root."""
    scale = 2**40
    return Fraction(math.isqrt(math.ceil(value * scale**2)) + 1, scale)


def _inverse(form: Point) -> Point:
    n = len(form)
    found = fmpq_mat(n, n, [to_flint(v) for v in form.ravel()]).inv()
    return np.array([[from_flint(found[r, c]) for c in range(n)] for r in range(n)], dtype=object)


# One report about a control law.


@dataclass(frozen=True, slots=True, eq=False)
class LoopReport:
    """What is proved about the loop of a plant and a law; true in a condition if the loop is feasible and stable."""

    loop: CPWL
    feasible: Invariance
    """Whether the loop never leaves the set: the law is then defined for ever."""
    rests: bool
    """Whether the origin is an equilibrium."""
    falls: Decrease | None
    """The largest ``V(f(x)) - rate V(x)`` on the set, for a definite ``V(x) = x'P x``, if `P` was given."""
    axioms: Any = None
    """The axioms of the plan (`cpwl.mpc`), if it was given, and whether each holds."""

    @property
    def stable(self) -> bool:
        """Whether every state of the set converges to the origin."""
        return bool(self.feasible) and self.rests and bool(self.falls or self.axioms)

    def __bool__(self) -> bool:
        return self.stable

    def __str__(self) -> str:
        lines = [
            f"feasible for ever: {self.feasible}",
            f"the origin is an equilibrium: {'yes' if self.rests else 'no'}",
        ]
        lines += [] if self.falls is None else [f"the candidate falls: {self.falls}"]
        lines += [] if self.axioms is None else [f"axioms of the plan: {self.axioms}"]
        if not self.stable and self.falls is None and self.axioms is None:
            lines.append("stability was not asked about: give `P`, or `plan`")
        return "\n".join([f"{'stable' if self.stable else 'not proved to be stable'}", *lines])


def loop_report(
    A: Any,
    B: Any,
    law: CPWL,
    *,
    P: Any = None,
    rate: Any = "999/1000",
    plan: Any = None,
    disturbance: Domain = None,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
) -> LoopReport:
    """Recursive feasibility and stability of ``x -> A x + B u(x)``, each with its proof or a point against it.

    Parameters
    ----------
    A, B, law
        The plant and the law, as for `closed_loop`.
    P, rate
        A positive definite matrix: ``V(x) = x'P x`` must fall to at most `rate` < 1 of itself in each step.
    plan
        The plan (`cpwl.mpc`) whose law this is: its axioms prove stability. Another plant or law is refused.
    disturbance
        What may be added to each step, as for `is_invariant`. Stability is about the loop without it.
    domain, box
        The set; the domain of the law if neither is given.

    >>> law = CPWL.from_breakpoints([-1, 1], [1, -1], left_slope=0, right_slope=0)
    >>> print(loop_report([["3/2"]], [[1]], law, P=[[1]], rate="1/4", box=(-1, 1)))
    stable
    feasible for ever: yes: the set is kept, proved on 1 cell
    the origin is an equilibrium: yes
    the candidate falls: yes: the largest change 0, at x = (-1)
    """
    loop = closed_loop(A, B, law)
    if not isinstance(loop, CPWL):
        raise InputError("`law` must be a function; `cpwl.extract` makes one of a network")
    if P is not None and not (_is_definite(_form(P, loop.dim, "`P` must be")) and fraction(rate) < 1):
        raise InputError("`P` must be positive definite and `rate` less than 1: otherwise nothing converges")
    if plan is not None:
        _check_plan(plan, A, B, law)
    kept = is_invariant(loop, domain=domain, box=box, disturbance=disturbance)
    falls = None if P is None else decrease(loop, P, rate=rate, domain=kept.set)
    zero = fraction_array(np.zeros((1, loop.dim), dtype=np.int64))
    rows = kept.set.integer()
    rests = bool((rows[:, -1] >= 0).all()) and not exactly(loop)(zero).any()
    return LoopReport(loop, kept, rests, falls, None if plan is None else plan.stability)


def _check_plan(plan: Any, A: Any, B: Any, law: CPWL) -> None:
    """Refuse a plan of another plant, and a law that is not known to be the optimiser of its program."""
    if (fraction_array(A) != plan.A).any() or (fraction_array(B) != plan.B).any():
        raise InputError("the plan is one of another plant: its `A` and `B` are different")
    known = None if law.known is None else law.known.optimal
    if (
        known is None
        or known.outputs != tuple(range(plan.inputs))
        or any(
            [from_flint(v) for v in getattr(known.program, name).entries()] != list(fraction_array(value).ravel())
            for name, value in plan.program.items()
        )
    ):
        raise InputError("this is not known to be the law of the plan, to which its axioms apply: use `plan.solve()`")
