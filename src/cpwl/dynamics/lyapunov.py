"""Does a Lyapunov candidate fall in each step? The largest of ``V(f(x)) - rate V(x)``, exactly.

For a piecewise-linear `V` that is a piecewise-linear function. For ``V(x) = x'P x`` it is a quadratic form on each
cell, and its maximum over a polytope is at a corner or inside a face on which it is strictly concave: along any other
direction of the face it is convex, hence no larger inside than at an end. So each face with a negative definite form
has one candidate, a solution of linear equations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.doors import check_argument, within_float64
from cpwl.errors import InputError
from cpwl.exact.flint import from_flint, to_flint
from cpwl.exact.rational import fraction, fraction_array
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import plus_affine
from cpwl.function.doctor.report import point_text
from cpwl.function.questions.answers import number_text
from cpwl.function.questions.asked import Asked, asked
from cpwl.function.questions.volume import is_bounded
from cpwl.geometry.polyhedra import Domain

__all__ = ["Decrease", "decrease"]

Point = NDArray[np.object_]


@dataclass(frozen=True, slots=True, eq=False)
class Decrease:
    """The largest value of ``V(f(x)) - rate V(x)``; the candidate falls, or stays, iff it is at most 0."""

    largest: Fraction | float
    point: Point
    """Where it is attained."""

    def __bool__(self) -> bool:
        return self.largest <= 0

    def __str__(self) -> str:
        word = "yes: the largest change" if self else "no: it rises, by"
        return f"{word} {number_text(self.largest)}, at x = {point_text(self.point)}"


@within_float64()
def decrease(
    f: CPWL, candidate: Any, *, rate: Any = 1, domain: Domain = None, box: tuple[Any, Any] | None = None
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

    >>> half = CPWL.from_grid([[-1, 0, 1]], ["1/2", 0, "1/2"])
    >>> print(decrease(half, [[1]], rate="1/4"))
    yes: the largest change 0, at x = (-1)
    >>> print(decrease(half, abs(CPWL.from_breakpoints([0, 1], [0, 1])), rate="1/4"))
    no: it rises, by 1/4, at x = (-1)
    """
    check_argument(f, CPWL, "decrease")
    if f.inputs != f.outputs:
        raise InputError(f"only a map R^n -> R^n has steps: this one maps R^{f.inputs} to R^{f.outputs}")
    factor = fraction(rate)
    if isinstance(candidate, CPWL):
        here = f.restrict(domain, box=box)
        same = plus_affine(0 * here, np.eye(f.dim, dtype=np.int64), [0] * f.dim)
        best = (candidate.compose(here) - factor * candidate.compose(same)).argmax()
        return Decrease(best.value, best.point if best.ray is None else best.point + best.ray)
    form = fraction_array(candidate)
    if form.shape != (f.dim, f.dim) or (form != form.T).any():
        raise InputError(f"`candidate` must be a function, or a symmetric matrix ({f.dim}, {f.dim})")
    about = asked(f, domain, box)
    if not is_bounded(about.bodies):
        raise InputError("the domain is not bounded: give one, as `box=(low, high)`")
    value, point = max((_largest(about, i, form, factor) for i in range(len(about.bodies))), key=lambda best: best[0])
    return Decrease(value, point)


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
