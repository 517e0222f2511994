"""Symmetry: mirrors and the origin, decided exactly, and the part of a function that says all about it.

A mirror is a reflection ``R x = x - 2 l(x) d`` in ``{l = 0}`` with ``l(d) = 1``; a function has it if ``p(R x) = p(x)``
(sign 1) or ``p(R x) = -p(x)`` (sign -1). The mirrors that are looked for keep the box around all corners: they
change the sign of one coordinate, as seen from its centre, or swap two. `symmetry` is about ``x -> -x``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import integer_rows, primitive
from cpwl.exact.rational import fraction_array, to_float
from cpwl.function.algebra.arithmetic import pieces_of
from cpwl.function.algebra.composition import after
from cpwl.function.algebra.extremes import restrict
from cpwl.function.cpwl import CPWL, generators_of
from cpwl.function.domain import box_around, is_everything
from cpwl.function.evaluate import sample
from cpwl.geometry.bodies import Bodies, volume_of
from cpwl.geometry.overlay import overlay
from cpwl.geometry.polyhedra import fact

_POINTS = 40  # at which floats refuse what is not symmetric


@dataclass(frozen=True, slots=True, eq=False)
class Mirror:
    """The reflection in ``{form . (x, 1) = 0}`` along `axis`, and the sign that it gives a function."""

    form: NDArray[np.object_]
    axis: NDArray[np.object_]
    sign: int

    def __call__(self, directions: NDArray[np.object_]) -> NDArray[np.object_]:
        """The form at directions, without its constant."""
        return np.asarray(directions.dot(self.form[:-1]))


@fact
def symmetry(p: CPWL) -> int | None:
    """-1 if ``p(-x) = -p(x)`` for all `x`, 1 if ``p(-x) = p(x)``, exactly; None if neither, or if it is not known.

    >>> symmetry(CPWL.from_breakpoints([-1, 1], [1, -1], left_slope=0, right_slope=0))
    -1
    """
    if not _is_known(p):
        return None
    turn = -fraction_array(np.eye(p.dim, dtype=np.int64))
    return _sign(p, turn, np.zeros(p.dim, dtype=object) + Fraction(0))


@fact
def mirrors(p: CPWL) -> tuple[Mirror, ...]:
    """The mirrors of a function, those of single coordinates first. Exact data.

    >>> table = CPWL.from_grid([range(3), range(2)], [[0, 1], [5, 2], [0, 1]])
    >>> [(m.form.tolist(), m.sign) for m in mirrors(CPWL.from_breakpoints([0, 1, 2], [1, 0, 1]))]
    [([Fraction(1, 1), Fraction(-1, 1)], 1)]
    >>> mirrors(table)  # the diagonals of its boxes are not mirrored
    ()
    """
    if not _is_known(p):
        return ()
    n, known = p.dim, generators_of(p)
    corners = known.places[np.unique(known.member)]
    corners = corners[corners[:, -1] != 0]
    if not len(corners):
        corners = np.array([[0] * n + [1]], dtype=object)
    x = fraction_array(corners[:, :-1]) / corners[:, -1:]
    low, high = x.min(axis=0), x.max(axis=0)
    unit, centre = fraction_array(np.eye(n, dtype=np.int64)), (low + high) / 2
    size = np.array([(b - a) / 2 or Fraction(1) for a, b in zip(low, high, strict=True)], dtype=object)
    tried = [(unit[i], unit[i]) for i in range(n)]
    for i, j in combinations(range(n), 2):
        one, two = unit[i] / size[i], unit[j] / size[j]
        tried += [(one + s * two, (unit[i] * size[i] + s * unit[j] * size[j]) / 2) for s in (-1, 1)]
    found = []
    for normal, axis in tried:
        form = np.concatenate([normal, [-normal.dot(centre)]])
        sign = _sign(p, unit - 2 * np.outer(axis, normal), -2 * form[-1] * axis)
        if sign is not None:
            found.append(Mirror(form, axis, sign))
    return tuple(found)


def _is_known(p: CPWL) -> bool:
    """Whether the function is exact, not affine, and its corners, which decide, are known."""
    return not p.tol and p.num_components > 1 and bool(generators_of(p).known.all())


def _sign(p: CPWL, matrix: NDArray[np.object_], shift: NDArray[np.object_]) -> int | None:
    """The sign for which ``p(matrix x + shift)`` is that many times `p`: floats refuse, the common pieces decide."""
    cloud = sample(p)
    points = cloud.points[:: max(1, -(-len(cloud.points) // _POINTS))]
    share = np.random.default_rng(0).dirichlet(np.ones(len(points)), _POINTS)
    points = np.concatenate([points, share @ points])
    here, there = p(points), p(points @ to_float(matrix).T + to_float(shift))
    known = np.isfinite(there).all(axis=1) & np.isfinite(here).all(axis=1)
    if known.sum() * 2 < len(points):  # rounding takes points on the border out of the domain
        return None
    near = 1e-6 * cloud.range
    for sign in (1, -1):
        if np.abs(there - sign * here)[known].max(initial=0.0) <= near:
            return sign if _is_image(p, after(p, (matrix, shift)), sign) else None
    return None


def _is_image(p: CPWL, image: CPWL, sign: int) -> bool:
    """Whether a function is `sign` times the other one, and defined where that is.

    Then both have the same laws, which rounded data refutes before any two pieces are intersected.
    """
    (mine, bodies), (yours, others) = pieces_of(p), pieces_of(image)
    if _law_set(p.laws.integer()[mine], 1) != _law_set(image.laws.integer()[yours], sign):
        return False
    number = {rows: i for i, rows in enumerate(_row_sets(bodies))}
    same = np.array([number.get(rows, -1) for rows in _row_sets(others)], dtype=np.int64)
    whole = len(number) == len(same) and bool((np.sort(same) == np.arange(len(same))).all())
    common = None if whole else overlay(bodies, others)
    i, j = (same, np.arange(len(same))) if common is None else (common.one, common.two)
    one, two = p.laws.integer()[mine[i]], image.laws.integer()[yours[j]]
    if (one[..., :-1] * two[..., -1:] != sign * two[..., :-1] * one[..., -1:]).any():
        return False
    if common is None or is_everything(p):
        return True
    return box_around(p) is not None and volume_of(common.cells) == volume_of(bodies)


def _law_set(laws: NDArray[np.object_], sign: int) -> set[tuple[int, ...]]:
    """The laws of all outputs, times the sign, as primitive integers."""
    rows = np.concatenate([sign * laws[..., :-1], laws[..., -1:]], axis=-1)
    return set(map(tuple, primitive(rows.reshape(-1, rows.shape[-1])).reshape(len(rows), -1).tolist()))


def _row_sets(bodies: Bodies) -> list[frozenset[tuple[int, ...]]]:
    """The rows of each body, which are primitive and irredundant: equal ones are the same body."""
    rows = list(map(tuple, bodies.rows.tolist()))
    return [frozenset(rows[a:b]) for a, b in pairwise(bodies.polyhedra.start.tolist())]


def half_of(p: CPWL) -> tuple[int, CPWL]:
    """An axis and the function where that coordinate is not negative: the axis that cuts the fewest pieces."""
    unit = np.eye(p.dim + 1, dtype=np.int64).astype(object)[:-1]
    high, low = reach(p, unit)
    axis = int(np.argmin(((low < 0) & (high > 0)).sum(axis=0)))
    return axis, part_of(p, unit[axis : axis + 1])


def part_of(p: CPWL, forms: NDArray[np.object_]) -> CPWL:
    """The function where affine forms ``(a, b)`` are not negative; pieces that are not cut stay as they are."""
    high, low = reach(p, forms)
    some = (high > 0).all(axis=1)
    p = p.take(np.flatnonzero(some))
    if p.domain is None and not (low[some] < 0).any():
        return p
    return restrict(p, domain=(-forms[:, :-1], forms[:, -1]))


def reach(p: CPWL, forms: NDArray[np.object_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The largest and the smallest sign of each form on each piece, whose corners and rays must be known."""
    found = generators_of(p)
    whole = integer_rows(np.zeros(0), fraction_array(forms))
    signs = np.sign(found.places.dot(whole.T)).astype(np.int64)[found.member]
    return np.maximum.reduceat(signs, found.start[:-1]), np.minimum.reduceat(signs, found.start[:-1])


def together(found: Sequence[Mirror]) -> list[Mirror]:
    """Mirrors of which none changes the form of another, the first ones of those given."""
    kept: list[Mirror] = []
    for mirror in found:
        if all(not other(mirror.axis[None])[0] and not mirror(other.axis[None])[0] for other in kept):
            kept.append(mirror)
    return kept
