"""Questions about slopes: the Lipschitz constant, monotonicity, dependence on inputs, convexity."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_count, check_switch, method_of
from cpwl.errors import InputError
from cpwl.exact.integers import are_multiples, sign
from cpwl.exact.rational import exact_matrix, fraction_array, negative_direction
from cpwl.function.algebra.arithmetic import output as output_of
from cpwl.function.algebra.composition import inner_point
from cpwl.function.answers import Answer, Lipschitz, number_text, point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.questions.extent import Asked, asked, one_output
from cpwl.geometry.bodies import Bodies, body_of
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.generators import box_pairs, boxes_around
from cpwl.geometry.probe import Probe

Floats = NDArray[np.float64]
_ROUNDING = 1e-12


@method_of(CPWL, "lipschitz")
def lipschitz(p: CPWL, norm: Any = 2, *, outputs: Any = None, domain: Any = None, box: Any = None) -> Lipschitz:
    return steepest(asked(p if outputs is None else output_of(p, outputs), domain, box), norm)


def steepest(about: Asked, norm: Any) -> Lipschitz:
    """The largest operator norm of a gradient."""
    if isinstance(norm, float) and norm in (1.0, 2.0, math.inf):
        norm = "inf" if norm == math.inf else int(norm)
    if isinstance(norm, bool) or not isinstance(norm, (int, str)) or norm not in (1, 2, "inf"):
        raise InputError(f'`norm` must be 1, 2 or "inf", not {reprlib.repr(norm)[:60]}')
    slopes = about.laws[..., :-2] / about.laws[..., -1:]
    size = _norms(np.asarray(slopes, dtype=np.float64), norm)
    near = np.flatnonzero(size >= size.max() * (1 - _ROUNDING))
    seen: dict[bytes, int] = {}
    best: tuple[Fraction, int] | None = None
    for i in near.tolist():
        key = repr(about.laws[i, :, :-2].tolist() + about.laws[i, :, -1].tolist()).encode()
        if key not in seen:
            seen[key] = i
            value = _norm_or_square(_gradient(about, i), norm)
            best = (value, i) if best is None or value > best[0] else best
    assert best is not None
    return _found(about, best[0], best[1], norm)


def _gradient(about: Asked, i: int) -> NDArray[np.object_]:
    return np.stack([about.slope(i, j) for j in range(about.laws.shape[1])])


def _norms(slopes: Floats, norm: Any) -> Floats:
    if norm == 2:
        return np.asarray(
            np.linalg.norm(slopes, 2, axis=(1, 2)) if slopes.shape[1] > 1 else np.linalg.norm(slopes[:, 0], axis=1)
        )
    return np.asarray(np.abs(slopes).sum(axis=1 if norm == 1 else 2).max(axis=1))


def _norm_or_square(gradient: NDArray[np.object_], norm: Any) -> Fraction:
    """The norm in rationals; in the Euclidean one its square, or for several outputs a lower bound on it."""
    if norm == 2:
        if min(gradient.shape) == 1:
            return Fraction((gradient * gradient).sum())
        return _rayleigh(gradient)[0]
    return Fraction(np.abs(gradient).sum(axis=0 if norm == 1 else 1).max())


def _rayleigh(gradient: NDArray[np.object_]) -> tuple[Fraction, NDArray[np.object_]]:
    """A lower bound on the square of the spectral norm, and the rational direction that shows it."""
    direction = np.linalg.svd(gradient.astype(np.float64))[2][0]
    v = fraction_array(np.round(direction, 12))
    image = gradient.dot(v)
    return Fraction((image * image).sum()) / Fraction((v * v).sum()), v


def _found(about: Asked, value: Fraction, i: int, norm: Any) -> Lipschitz:
    gradient = _gradient(about, i)
    if norm == 1:
        k = int(np.argmax(np.abs(gradient).sum(axis=0)))
        direction = np.array([Fraction(int(c == k)) for c in range(about.dim)], dtype=object)
        low = high = value
        square: Fraction | None = value * value
    elif norm == "inf":
        j = int(np.argmax(np.abs(gradient).sum(axis=1)))
        direction = np.array([Fraction(1 if v >= 0 else -1) for v in gradient[j]], dtype=object)
        low = high = value
        square = value * value
    else:
        low, high, square, direction = _euclidean(about, gradient, value)
    start, far = step_inside(about, i, direction)
    return Lipschitz(low, high, square, norm, int(about.number[i]), (start, far), about.moved)


def _euclidean(
    about: Asked, gradient: NDArray[np.object_], value: Fraction
) -> tuple[Fraction, Fraction, Fraction | None, NDArray[np.object_]]:
    if min(gradient.shape) == 1:
        direction = gradient[0] if len(gradient) == 1 else np.array([Fraction(1)], dtype=object)
        if not direction.any():
            direction = np.array([Fraction(1)] + [Fraction(0)] * (about.dim - 1), dtype=object)
        return *_root(value), value, direction
    top = value * (1 + Fraction(1, 10**9)) + Fraction(1, 10**30)
    # All pieces at once: no other gradient is larger than the bound.
    slopes = np.asarray(about.laws[..., :-2] / about.laws[..., -1:], dtype=np.float64)
    rivals = np.flatnonzero(_norms(slopes, 2) ** 2 >= float(top) * (1 - 1e-8))
    for i in rivals.tolist():
        while not _is_below(_gradient(about, i), top):
            top *= 1 + Fraction(1, 10**6)
    return _root(value)[0], _root(top)[1], None, _rayleigh(gradient)[1]


def _root(square: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around a root, equal if it is one."""
    scale = 10**30
    below = math.isqrt(square.numerator * square.denominator * scale**2)
    exact = below**2 == square.numerator * square.denominator * scale**2
    low = Fraction(below, square.denominator * scale)
    return low, low if exact else Fraction(below + 1, square.denominator * scale)


def _is_below(gradient: NDArray[np.object_], square: Fraction) -> bool:
    """Whether ``square - G G'`` is positive definite: then `square` is a bound."""
    unit = np.eye(len(gradient), dtype=np.int64).astype(object)
    return negative_direction(exact_matrix(square * unit - gradient.dot(gradient.T))) is None


def step_inside(
    about: Asked, i: int, direction: NDArray[np.object_]
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Two points inside body `i`, the second from the first along a direction, at most its whole length."""
    start = inner_point(about.bodies, i)
    return start, np.asarray(start + _room(about.bodies, i, start, direction) * direction)


def _room(bodies: Bodies, i: int, start: NDArray[np.object_], direction: NDArray[np.object_]) -> Fraction:
    """The longest step from a point of body `i` that stays in it, as a share of the direction; at most 1."""
    rows = bodies.rows[slice(*bodies.polyhedra.start[i : i + 2])]
    room, speed = rows[:, -1] - rows[:, :-1].dot(start), rows[:, :-1].dot(direction)
    steps: list[Fraction] = [Fraction(r) / s for r, s in zip(room, speed, strict=True) if s > 0]
    return min([Fraction(1), *steps])


@method_of(CPWL, "is_monotone")
def is_monotone(
    p: CPWL,
    i: int = 0,
    *,
    increasing: bool | None = None,
    output: int | str | None = None,
    domain: Any = None,
    box: Any = None,
) -> Answer:
    check_count(i, "i", least=0, most=p.dim - 1)
    return monotone(asked(p, domain, box), i, one_output(p, output), increasing)


def monotone(about: Asked, i: int, j: int, increasing: bool | None) -> Answer:
    """Whether output `j` never falls, or never rises, along input `i`."""
    if increasing is not None:
        check_switch(increasing, "increasing")
    signs = sign(about.laws[:, j, i])
    values = np.asarray(about.laws[:, j, i] / about.laws[:, j, -1], dtype=np.float64)
    against: list[tuple[NDArray[np.object_], ...]] = []
    for sense, word in ((1, "falls"), (-1, "rises")):
        if increasing is not None and increasing != (sense == 1):
            continue
        # Quotients are rounded correctly, so that they keep their order; signs are those of integers.
        worst = int(np.lexsort((signs * sense, sense * values))[0])
        slope = about.slope(worst, j)[i]
        if sense * slope >= -about.noise:
            slack = max(Fraction(0), -sense * slope)
            return Answer(True, f"it never {word} along input {i}", slack=slack, moved=about.moved)
        against.append(_along_input(about, worst, i, j))
    points = tuple(x for pair in against for x in pair[:2])
    reason = f"along input {i} it changes from " + ", and from ".join(
        f"{number_text(pair[2][0])} to {number_text(pair[3][0])}" for pair in against
    )
    return Answer(False, reason, points, tuple(x for pair in against for x in pair[2:]), moved=about.moved)


@method_of(CPWL, "depends_on")
def depends_on(p: CPWL, i: int, *, output: int | str | None = None, domain: Any = None, box: Any = None) -> Answer:
    check_count(i, "i", least=0, most=p.dim - 1)
    return dependence(asked(p, domain, box), i, range(p.outputs) if output is None else [one_output(p, output)])


def dependence(about: Asked, i: int, which: Iterable[int]) -> Answer:
    """Whether one of these outputs changes with input `i`."""
    best, where = Fraction(0), (0, 0)
    for j in which:
        rows = about.laws[:, j]
        size = np.abs(np.asarray(rows[:, i] / rows[:, -1], dtype=np.float64))
        worst = int(np.lexsort((np.abs(sign(rows[:, i])), size))[-1])
        slope = abs(about.slope(worst, j)[i])
        best, where = (slope, (worst, j)) if slope > best else (best, where)
    if best <= about.noise:
        return Answer(False, f"no piece has a slope along input {i}", slack=best, moved=about.moved)
    one, two, first, second = _along_input(about, where[0], i, where[1])
    reason = f"along input {i} it changes from {number_text(first[0])} to {number_text(second[0])}"
    return Answer(True, reason, (one, two), (first, second), moved=about.moved)


def _along_input(about: Asked, body: int, i: int, j: int) -> tuple[NDArray[np.object_], ...]:
    """Two points of a body that differ in input `i`, and the values of output `j` there."""
    direction = np.array([Fraction(int(k == i)) for k in range(about.dim)], dtype=object)
    one, two = step_inside(about, body, direction)
    return one, two, about.value(body, one)[j : j + 1], about.value(body, two)[j : j + 1]


# Convex or concave: a continuous function on a convex domain is convex iff it bends upwards across every inner facet.
#
# Pieces with facets on one hyperplane, from both sides, whose boxes meet are candidates. Where two of them share a part
# of a facet their laws differ by a multiple of its row, and the sign of the multiple is the bend. So a candidate whose
# laws differ otherwise shares nothing, and only one that bends the wrong way must be shown to share a point.


@method_of(CPWL, "is_convex")
def is_convex(p: CPWL, *, output: int | str | None = None, domain: Any = None, box: Any = None) -> Answer:
    return bends(asked(p, domain, box), one_output(p, output), 1)


@method_of(CPWL, "is_concave")
def is_concave(p: CPWL, *, output: int | str | None = None, domain: Any = None, box: Any = None) -> Answer:
    return bends(asked(p, domain, box), one_output(p, output), -1)


def bends(about: Asked, j: int, sense: int) -> Answer:
    """Whether output `j` bends upwards everywhere, with `sense` -1 downwards."""
    word, slack = ("convex" if sense == 1 else "concave"), Fraction(0)
    one, two, row = _candidates(about.bodies)
    f, g = about.laws[one, j], about.laws[two, j]
    change = g[:, :-1] * f[:, -1:] - f[:, :-1] * g[:, -1:]
    wall = np.column_stack([about.bodies.rows[row, :-1], -about.bodies.rows[row, -1:]])
    bend = sign((change * wall).sum(axis=1)) * sense
    probe = Probe(0.0)
    for k in np.flatnonzero((bend < 0) & are_multiples(change, wall)).tolist():
        size = max(abs(Fraction(int(v), int(f[k, -1] * g[k, -1]))) for v in change[k, :-1])
        if size <= about.noise:
            slack = max(slack, size)
            continue
        point = _shared(probe, about.bodies, int(one[k]), int(two[k]), int(row[k]))
        if point is not None:
            return _refuted(about, j, int(one[k]), int(two[k]), point, wall[k, :-1], word)
    return Answer(True, f"it is {word} across all facets", slack=slack, moved=about.moved)


def _candidates(bodies: Bodies) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Pieces on the two sides of a hyperplane that may share a facet there, and the row of the first."""
    planes = hyperplanes(bodies.polyhedra, 0.0)
    owner = bodies.polyhedra.owner
    low, high = boxes_around(bodies.spans, len(bodies), bodies.polyhedra.dim)
    sides = [np.flatnonzero(planes.side == s) for s in (1, -1)]
    # The number of the hyperplane is one more coordinate of the boxes.
    number = [planes.number[rows].astype(np.float64)[:, None] for rows in sides]
    lows = [np.concatenate([h, low[owner[rows]]], axis=1) for h, rows in zip(number, sides, strict=True)]
    highs = [np.concatenate([h, high[owner[rows]]], axis=1) for h, rows in zip(number, sides, strict=True)]
    if not len(sides[0]) or not len(sides[1]):
        return (np.zeros(0, dtype=np.int64),) * 3
    pairs = box_pairs(lows[0], highs[0], (lows[1], highs[1]))
    one, two = sides[0][pairs[:, 0]], sides[1][pairs[:, 1]]
    return owner[one], owner[two], one


def _shared(probe: Probe, bodies: Bodies, i: int, j: int, row: int) -> NDArray[np.object_] | None:
    """A point inside what two pieces share of the hyperplane of a row of the first, if that has an inside."""
    start = bodies.polyhedra.start
    mine = [r for r in range(start[i], start[i + 1]) if r != row]
    wall = tuple(-bodies.rows[row])
    yours = [r for r in range(start[j], start[j + 1]) if tuple(bodies.rows[r]) != wall]
    found = probe.interior(body_of(bodies.rows[[row, *mine, *yours]]), on=[0])
    return None if found is None else fraction_array(found)


def _refuted(
    about: Asked, j: int, one: int, two: int, point: NDArray[np.object_], normal: NDArray[np.object_], word: str
) -> Answer:
    """Two points across the facet, as far away as both pieces allow, and their middle on it."""
    step = min(_room(about.bodies, i, point, way * normal) for i, way in ((one, -1), (two, 1)))
    ends = np.asarray(point - step * normal), np.asarray(point + step * normal)
    values = (about.value(one, ends[0])[j], about.value(one, point)[j], about.value(two, ends[1])[j])
    reason = (
        f"not {word}: at x = {point_text(ends[0])}, at the midpoint and at {point_text(ends[1])} the values are "
        f"{', '.join(number_text(v) for v in values)}"
    )
    shown = tuple(np.array([v], dtype=object) for v in values)
    return Answer(False, reason, (ends[0], point, ends[1]), shown, moved=about.moved)
