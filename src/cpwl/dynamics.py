"""Closed loops: iterates, equilibria and Lyapunov candidates, exactly; one report about a law.

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
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_count, check_outside, formerly, within_float64
from cpwl.errors import InputError, LimitError, counted
from cpwl.exact.rational import (
    exact_matrix,
    fraction,
    fraction_array,
    fractions_of,
    independent,
    negative_direction,
)
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import exactly, pieces_of, plus_affine
from cpwl.function.algebra.extremes import border_rows, need_convex
from cpwl.function.answers import Solutions, facts_html, number_text, point_text
from cpwl.function.questions.extent import Asked, asked
from cpwl.geometry.bodies import is_bounded
from cpwl.geometry.polyhedra import Domain
from cpwl.invariant import (
    MOST_STEPS,
    Invariance,
    InvariantSet,
    Point,
    check_steps,
    is_invariant,
    law_on,
    margin_of,
    maximal_invariant,
)
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
        The set of states: ``A x <= b`` or ``(low, high)``; the domain of the law if neither is given. A
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
        The number of steps, from 1 to 10,000.
    outside
        For functions, if a step leaves the domain of `f`: "error", with a point that leaves, or "drop" these `x`.

    >>> tent = CPWL.from_grid([[0, 1, 2]], [0, 2, 0])
    >>> iterate(tent, 3).num_pieces
    8
    """
    check_argument(f, (CPWL, Network), "iterate")
    check_count(k, "k", least=1, most=MOST_STEPS)
    outside = check_outside(outside)
    check_steps(f, "be iterated")
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
    check_steps(f, "have equilibria")
    unit = fraction_array(np.eye(f.dim, dtype=np.int64))
    return plus_affine(f, -unit, [Fraction(0)] * f.dim).solve(0, domain=domain, box=box)


def _matrix(value: Any, rows: int, columns: int, name: str) -> NDArray[np.object_]:
    matrix = fraction_array(value)
    if matrix.shape != (rows, columns):
        raise InputError(f"`{name}` must be ({rows}, {columns}) for this law, not {matrix.shape}")
    return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Decrease:
    """The maximum of ``V(f(x)) - rate V(x)``. The candidate decreases if and only if it is at most `margin`."""

    largest: Fraction | float
    point: Point
    """Where it is attained."""
    margin: Fraction = Fraction(0)
    """The increase that is allowed, for systems with rounded numbers."""

    def __bool__(self) -> bool:
        return self.largest <= self.margin

    def __str__(self) -> str:
        within = f", within the margin {number_text(self.margin)}: the largest change is" if self.margin else ":"
        if self.largest == math.inf:
            return f"no: it rises without bound, as at x = {point_text(self.point)}"
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
    """The maximum of ``V(f(x)) - rate V(x)`` over a bounded domain, for a Lyapunov candidate `V`.

    Parameters
    ----------
    f
        The map R^n -> R^n.
    candidate
        A function R^n -> R, or a symmetric matrix `P` for ``V(x) = x'P x``.
    rate
        1: the candidate must not increase; less than 1: it must decrease by this factor.
    domain, box
        Where; all of the domain of `f` if neither is given.
    margin
        The increase that is allowed in a step: 0, or a tolerance for a system with rounded numbers.

    >>> half = CPWL.from_grid([[-1, 0, 1]], ["1/2", 0, "1/2"])
    >>> print(decrease(half, [[1]], rate="1/4"))
    yes: the largest change 0, at x = (-1)
    >>> print(decrease(half, abs(CPWL.from_breakpoints([0, 1], [0, 1])), rate="1/4"))
    no: it rises, by 1/4, at x = (-1)
    """
    check_argument(f, CPWL, "decrease")
    check_steps(f, "be stepped")
    factor, most = fraction(rate), margin_of(margin)
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


def _largest(about: Asked, i: int, form: Point, rate: Fraction, after: int = 1) -> tuple[Fraction, Point]:
    """The largest value of ``after V(f(x)) - rate V(x)`` on one cell."""
    gradient, offset = law_on(about, i)
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
    steps = corners[1:] - corners[0]
    basis = steps[independent(exact_matrix(steps), list(range(len(steps))))]
    hessian = exact_matrix(basis @ quadratic @ basis.T)
    if negative_direction(-hessian) is not None:
        return None
    slope = basis @ (2 * (quadratic @ corners[0]) + linear)
    share = np.array(fractions_of(hessian.solve(exact_matrix(slope[:, None] / Fraction(-2)))), dtype=object)
    return np.asarray(corners[0] + share @ basis)


# Sublevel sets ``{x: x'P x <= c}`` of a definite form.
#
# On a cell it is enough that ``V(f(x)) - s V(x) <= (1 - s) c`` for one share `s` in [0, 1]: then ``V(x) <= c`` implies
# ``V(f(x)) <= c``. The left side is a quadratic form, whose largest value on a polytope is exact. So is a point of the
# set that leaves it. A set for which neither is found is undecided.


_SHARES = tuple(Fraction(k, 8) for k in (8, 0, 4, 6, 2, 7, 1, 5, 3))


@dataclass(frozen=True, slots=True, eq=False)
class SublevelSet:
    """Whether the sublevel set ``{x: x'P x <= level}`` is invariant; true as a condition if this is proved."""

    holds: bool
    level: Fraction
    shares: tuple[Fraction | None, ...]
    """For each cell an `s` with ``V(f(x)) - s V(x) <= (1 - s) level`` on it; None if the cell is outside the set."""
    point: Point | None = None
    """A point of the set that leaves it."""
    value: Point | None = None
    """Its image."""

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return f"yes: the sublevel set is kept, proved on {counted(len(self.shares), 'cell')}"
        return f"no: x = {point_text(self.point)} is in the set and goes to {point_text(self.value)}, which is not"


@within_float64()
def is_sublevel_invariant(f: CPWL, P: Any, level: Any) -> SublevelSet:
    """Whether ``f(x)'P f(x) <= level`` for every `x` with ``x'P x <= level``; `P` is positive definite.

    A yes is proved, and a no has a point. If neither is found, a `LimitError` is raised.

    >>> half = CPWL.from_grid([[-1, 0, 1]], ["1/2", 0, "1/2"])
    >>> print(is_sublevel_invariant(half, [[1]], 1))
    yes: the sublevel set is kept, proved on 2 cells
    """
    check_argument(f, CPWL, "is_sublevel_invariant")
    check_steps(f, "leave a set invariant")
    form, most = _form(P, f.dim, "`P` must be"), fraction(level)
    if negative_direction(exact_matrix(form)) is not None or most <= 0:
        raise InputError("`P` must be positive definite and `level` positive, so that the set has an interior")
    whole = exactly(f)
    need_convex(whole, "the map", "restrict it to a convex part")
    inverse = np.array(fractions_of(exact_matrix(form).inv()), dtype=object).reshape(form.shape)
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


# One report about a control law.


@dataclass(frozen=True, slots=True, eq=False)
class LoopReport:
    """The proved properties of a closed loop; true as a condition if the loop is feasible and stable."""

    loop: CPWL
    feasible: Invariance
    """Whether the loop never leaves the set; the law is then defined in all future steps."""
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
    """Prove recursive feasibility and stability of ``x -> A x + B u(x)``, or find a point against them.

    Parameters
    ----------
    A, B, law
        The plant and the law, as for `closed_loop`.
    P, rate
        A positive definite matrix: each step must multiply ``V(x) = x'P x`` by at most `rate` < 1.
    plan
        The plan (`cpwl.mpc`) whose law this is: its axioms prove stability. Another plant or law is refused. `A` and
        `B` are ``plan.loop``, which also steps previous inputs where rates are bounded.
    disturbance
        The disturbance of each step, as for `is_invariant`. Stability is about the loop without it.
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
        raise InputError("`law` must be a function; `cpwl.extract` computes the function of a network")
    form = None if P is None else exact_matrix(_form(P, loop.dim, "`P` must be"))
    if form is not None and (negative_direction(form) is not None or fraction(rate) >= 1):
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
    if any((fraction_array(given) != own).any() for given, own in zip((A, B), plan.loop, strict=True)):
        raise InputError("the plan belongs to another plant: `plan.loop` has the matrices of its parameters")
    known = None if law.known is None else law.known.optimal
    if (
        known is None
        or known.outputs != tuple(range(plan.inputs))
        or any(
            fractions_of(getattr(known.program, name)) != list(fraction_array(value).ravel())
            for name, value in plan.program.items()
        )
    ):
        raise InputError("the axioms of a plan apply to its own law only: use the result of `plan.solve()`")
