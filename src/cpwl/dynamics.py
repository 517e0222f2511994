"""Closed loops: iterates, equilibria, Lyapunov candidates and invariant sets, exactly.

A Lyapunov candidate decreases if the largest ``V(f(x)) - rate V(x)`` is negative. For a piecewise-linear `V` that is a
piecewise-linear function. For ``V(x) = x'P x`` it is a quadratic form on each
cell, and its maximum over a polytope is at a corner or inside a face on which it is strictly concave: along any other
direction of the face it is convex, hence no larger inside than at an end. So each face with a negative definite form
has one candidate, a solution of linear equations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_count, check_outside, formerly, within_float64
from cpwl.errors import InputError, InternalError, counted
from cpwl.exact.integers import primitive
from cpwl.exact.rational import fraction, fraction_array, from_flint, to_flint
from cpwl.exact.simplex import maximize
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import exactly, pieces_of, plus_affine
from cpwl.function.algebra.extremes import border_rows, need_convex
from cpwl.function.answers import Solutions, facts_html, number_text, point_text
from cpwl.function.questions.extent import Asked, asked
from cpwl.function.questions.sets import image_of
from cpwl.geometry.bodies import is_bounded, stacked
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.geometry.probe import Probe
from cpwl.network import Network
from cpwl.network.algebra import linear_image
from cpwl.network.algorithms import side_by_side

__all__ = ["Decrease", "Invariance", "closed_loop", "decrease", "equilibria", "is_invariant", "iterate"]

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
    form = fraction_array(candidate)
    if form.shape != (f.dim, f.dim) or (form != form.T).any():
        raise InputError(f"`candidate` must be a function, or a symmetric matrix ({f.dim}, {f.dim})")
    about = asked(f, domain, box)
    if not is_bounded(about.bodies):
        raise InputError("the domain is not bounded: give one, as `box=(low, high)`")
    value, point = max((_largest(about, i, form, factor) for i in range(len(about.bodies))), key=lambda best: best[0])
    return Decrease(value, point, most)


def _margin(value: Any) -> Fraction:
    found = fraction(value)
    if found < 0:
        raise InputError(f"`margin` must be at least 0, not {value!r:.50}")
    return found


def _largest(about: Asked, i: int, form: Point, rate: Fraction) -> tuple[Fraction, Point]:
    """The largest value on one cell."""
    gradient = np.stack([about.slope(i, j) for j in range(about.dim)])
    offset = about.value(i, fraction_array([0] * about.dim))
    quadratic = gradient.T @ form @ gradient - rate * form
    linear = 2 * (gradient.T @ form @ offset)
    constant = offset @ form @ offset
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
    size = len(hessian)
    matrix = fmpq_mat(size, size, [to_flint(v) for v in hessian.ravel()])
    for k in range(1, size + 1):  # negative definite: leading minors alternate (Sylvester)
        minor = fmpq_mat(k, k, [matrix[r, c] for r in range(k) for c in range(k)]).det()
        if (minor if k % 2 == 0 else -minor) <= fmpq(0):
            return None
    slope = basis @ (2 * (quadratic @ corners[0]) + linear)
    right = fmpq_mat(size, 1, [to_flint(-Fraction(v) / 2) for v in slope])
    steps = matrix.solve(right)
    share = np.array([from_flint(steps[k, 0]) for k in range(size)], dtype=object)
    return np.asarray(corners[0] + share @ basis)


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
# `e`, points may leave the set by `e` in each coordinate: `b` grows by ``e |a|_1``.


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
    excess: Fraction = Fraction(0)
    """How far points leave the set, in the largest coordinate; negative if all stay inside by that much."""
    margin: Fraction = Fraction(0)
    """How far they may."""

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            within = f" within the margin {number_text(self.margin)}" if self.excess > 0 else ""
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
        for step in self.proof:
            for row, share in zip(target, step.multipliers, strict=True):
                right = row[-1] + self.margin * int(np.abs(row[:-1]).sum())
                goal = np.append(fraction_array(row[:-1]) @ step.gradient, right - (row[:-1] * step.offset).sum())
                total = sum((v * fraction_array(step.rows[k]) for k, v in share.items()), goal * 0)
                if (
                    min(share.values(), default=Fraction(0)) < 0
                    or (total[:-1] != goal[:-1]).any()
                    or total[-1] > goal[-1]
                ):
                    raise InternalError("a proof of invariance does not add up")


@formerly(place="domain")
@within_float64()
def is_invariant(f: CPWL, *, domain: Domain = None, box: tuple[Any, Any] | None = None, margin: Any = 0) -> Invariance:
    """Whether ``f(x)`` is in the set for every `x` in it: the set ``A x <= b``, a box, or the whole domain of `f`.

    The set must be bounded, and `f` defined on all of it. With a `margin`, ``f(x)`` may leave each row of the set by as
    much as moving every coordinate by `margin` does: for systems whose numbers were rounded. The answer says by how
    much it does (`excess`).

    >>> tent = CPWL.from_grid([[0, 1, 2]], [0, 2, 0])
    >>> print(is_invariant(tent))
    yes: the set is kept, proved on 2 cells
    >>> print(is_invariant(tent, box=(0, 1)))
    no: x = (1) is in the set and goes to (2), which is not: by 1
    """
    check_argument(f, CPWL, "is_invariant")
    most = _margin(margin)
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
    steps, excess = zip(*(_step(about, i, body) for i in range(len(about.bodies))), strict=True)
    if max(excess) > most:
        answer = image_of(about).inside(domain=body)
        return Invariance(False, body, (), answer.points[0], answer.values[0], max(excess), most)
    found = Invariance(True, body, tuple(steps), excess=max(excess), margin=most)
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


def _step(about: Asked, i: int, body: Polyhedron) -> tuple[Step, Fraction]:
    """What proves a cell, and how far its points leave the set."""
    first, last = about.bodies.polyhedra.start[i : i + 2]
    rows = about.bodies.rows[first:last]
    gradient = np.stack([about.slope(i, j) for j in range(about.dim)])
    offset = about.value(i, fraction_array([0] * about.dim))
    multipliers, excess = [], []
    for row in primitive(body.integer()):
        best = maximize(rows, list(fraction_array(row[:-1]) @ gradient))
        assert best.multipliers is not None
        assert best.value is not None
        multipliers.append(best.multipliers)
        over = best.value + (row[:-1] * offset).sum() - int(row[-1])
        excess.append(over / (int(np.abs(row[:-1]).sum()) or 1))
    return Step(rows, gradient, offset, tuple(multipliers)), max(excess)
