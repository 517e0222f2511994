"""Pieces cut until every two of them, or of their parts, are told apart by one component.

For a part `X` of a piece let ``A(X)`` be the components that stay above the function on it, and for a part `Y` let
``D(Y)`` be those that stay below. Where ``A(X)`` and ``D(Y)`` have a component in common for all `X` and `Y`, a
monotone expression can be right on both (`separate`). For points that is always so: on the segment from `x` to `y`,
which lies in the convex domain, some component has ``f_m(x) >= p(x)`` and ``f_m(y) <= p(y)`` (the one-dimensional
lemma). So if ``A(X)`` and ``D(Y)`` have nothing in common, take a point inside each: their component cuts one of the
two, and there it is cut. It ends at the latest when no ``f_a = f_b`` cuts a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.errors import ConstructionError, InputError
from cpwl.exact.integers import primitive, sign, signs_at, unit_view
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import pieces_of
from cpwl.function.answers import point_text
from cpwl.function.order import Order, PieceOrder, value_tolerance
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedron, fact, ranges
from cpwl.geometry.probe import Probe
from cpwl.progress import Progress

# Parts of pieces, cut along planes: by their corners and rays where these are known, else by their rows.
#
# A polyhedron without lines is spanned by its corners and extreme rays, in homogeneous coordinates ``(x, 1)`` and
# ``(r, 0)``. Where ``law >= 0`` it is spanned by those of them with ``law >= 0``, and by the places where edges cross
# the plane: ``b u + a v`` for neighbours with values `a` and `-b` (double description: Motzkin, Raiffa, Thompson and
# Thrall 1953; two are neighbours iff no third is on all planes that both are on). Then signs at places decide
# everything, and no linear program is needed.


def cut(body: Polyhedron, law: NDArray[Any]) -> Polyhedron:
    """The part of the polyhedron where ``law <= 0``."""
    row = np.append(law[:-1], -law[-1])
    if row.dtype != object:
        return Polyhedron(np.concatenate([body.A, row[None, :-1]]), np.append(body.b, row[-1]))
    view = np.asarray(row / np.abs(row[:-1]).max(), dtype=np.float64)
    exact = np.concatenate([body.integer(), row[None]])
    return Polyhedron(np.concatenate([body.A, view[None, :-1]]), np.append(body.b, view[-1]), exact)


class Part(Protocol):
    """Part of a piece, with the number of its own component."""

    @property
    def own(self) -> int:
        """The component that the function follows there."""

    def point(self) -> NDArray[Any]:
        """A place ``(x, 1)`` inside, up to a positive factor."""

    def cut(self, law: NDArray[Any]) -> tuple[Part, Part] | None:
        """The parts where the law is at most 0 and at least 0; None if one of them has no interior."""

    def above(self, order: PieceOrder, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The components that are above its own; what is known stays so."""


def parts_of(p: CPWL, output: int, probe: Probe) -> list[Part]:
    """The pieces as parts."""
    own = p.component[:, output]
    if p.tol:
        return [Held(p.polyhedra[i], int(own[i]), probe) for i in range(p.num_pieces)]
    if p.mesh is not None:
        every = 2 ** (p.dim + 1) - 1
        tight = tuple(every - 2**k for k in range(p.dim + 1))  # corner k is on all facets but one
        cells = zip(p.mesh.simplices, own, strict=True)
        return [Spanned(p.mesh.corners[cell], tight, p.dim + 1, int(c)) for cell, c in cells]
    spanned = generators(p.polyhedra)
    parts: list[Part] = []
    for i, known in enumerate(spanned.known):
        body = p.polyhedra[i]
        places = spanned.places[spanned.member[spanned.start[i] : spanned.start[i + 1]]]
        parts.append(_spanned(body, places, int(own[i])) if known else Held(body, int(own[i]), probe))
    return parts


def _spanned(body: Polyhedron, places: NDArray[np.object_], own: int) -> Spanned:
    rows = body.integer()
    rows = np.concatenate([np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1), [[0] * body.dim + [1]]])
    on = (rows[:, None] * places[None]).sum(axis=2) == 0  # the plane at infinity comes last
    tight = tuple(sum(2**r for r in np.flatnonzero(column).tolist()) for column in on.T)
    return Spanned(places, tight, len(rows), own)


@dataclass(frozen=True, slots=True, eq=False)
class Spanned:
    """A part by the integer places that span it, and for each the bits of the planes that it is on."""

    places: NDArray[np.object_]
    tight: tuple[int, ...]
    planes: int
    own: int

    def point(self) -> NDArray[Any]:
        weight = self.places[:, -1]
        factor = np.array([max(1, weight.max() // w) if w else 1 for w in weight], dtype=object)
        return np.asarray((self.places * factor[:, None]).sum(axis=0))  # about the mean of the corners, in integers

    def cut(self, law: NDArray[Any]) -> tuple[Part, Part] | None:
        values = (self.places * law).sum(axis=1)
        signs = sign(values)
        if not ((signs > 0).any() and (signs < 0).any()):
            return None
        plane = 1 << self.planes
        tight = [t | plane if s == 0 else t for t, s in zip(self.tight, signs, strict=True)]
        pairs = [
            (u, v)
            for u in np.flatnonzero(signs > 0).tolist()
            for v in np.flatnonzero(signs < 0).tolist()
            if self._are_neighbours(u, v)
        ]
        one, two = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        between = primitive(self.places[two] * values[one, None] - self.places[one] * values[two, None])
        new = [self.tight[u] & self.tight[v] | plane for u, v in pairs]
        halves = []
        for side in (-1, 1):
            kept = np.flatnonzero(signs * side >= 0)
            places = np.concatenate([self.places[kept], between])
            halves.append(Spanned(places, (*(tight[k] for k in kept), *new), self.planes + 1, self.own))
        return halves[0], halves[1]

    def _are_neighbours(self, u: int, v: int) -> bool:
        common = self.tight[u] & self.tight[v]
        if common.bit_count() < self.places.shape[1] - 2:
            return False
        return not any(common & t == common for w, t in enumerate(self.tight) if w not in (u, v))

    def above(self, order: PieceOrder, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        result = known.copy()
        unknown = np.flatnonzero(~known)
        laws, view = laws_less_own(order, self.own)
        assert view is not None
        result[unknown] = (signs_at(laws[unknown], self.places, view[unknown]) >= 0).all(axis=1)
        return result


@lru_cache(maxsize=64)  # parts of one piece ask again and again
def laws_less_own(order: PieceOrder, own: int) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """All components less one, and for exact data the same as floats, each row scaled to size 1."""
    laws = order.differences(own)
    return laws, unit_view(laws) if laws.dtype == object else None


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A part by the rows that hold there."""

    body: Polyhedron
    own: int
    probe: Probe

    def point(self) -> NDArray[Any]:
        inside = self.probe.interior(self.body)
        if inside is None:
            raise InputError("a piece has no interior: leave it out, as `compile` does unless `check` is False")
        return np.append(inside, 1)

    def halves(self, law: NDArray[Any]) -> tuple[Held, Held]:
        """Both parts, whether they have an interior or not."""
        return Held(cut(self.body, law), self.own, self.probe), Held(cut(self.body, -law), self.own, self.probe)

    def cut(self, law: NDArray[Any]) -> tuple[Part, Part] | None:
        if not law[:-1].any():
            return None  # a parallel component cuts nothing
        halves = self.halves(law)
        return None if any(self.probe.interior(half.body) is None for half in halves) else halves

    def above(self, order: PieceOrder, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return order.above_on(self.probe, self.body, self.own, known)


Members = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Rows ``above`` and ``below`` of components, every two with one in common; no row contains another of its kind."""

    above: Members
    below: Members
    splits: int
    solves: int


@fact
def find_sides(p: CPWL, output: int, order: Order, progress: Progress | None = None) -> Sides:
    """The two tables for one output, with pieces cut where they have to be.

    >>> from cpwl.function.order import order_components
    >>> p = CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=0)
    >>> sides = find_sides(p, 0, order_components(p, 0))
    >>> sides.above.astype(int).tolist(), sides.below.astype(int).tolist()
    ([[1, 0, 1], [0, 1, 1]], [[1, 1, 0], [1, 0, 1]])
    """
    work = _Separation(p, output, order)
    while (pair := work.next_pair()) is not None:
        work.cut(*pair)
        if progress is not None:
            progress(work.splits, work.splits + int(work.apart.sum()), "telling pieces apart")
    return Sides(_smallest(work.members[0]), _smallest(work.members[1]), work.splits, work.probe.solves)


def _smallest(rows: Members) -> Members:
    """The rows that contain no other, each once, in order of first appearance."""
    rows = rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    common = rows.astype(np.float32) @ rows.T.astype(np.float32)
    inside = (common == rows.sum(axis=1)[None, :]) & ~np.eye(len(rows), dtype=bool)  # row j is inside row i
    return np.asarray(rows[~inside.any(axis=1)])


class _Separation:
    """The parts above (side 0) and below (side 1), their components, and which have none in common."""

    def __init__(self, p: CPWL, output: int, order: Order) -> None:
        self.probe = Probe.of(p.polyhedra, p.tol)
        work = PieceOrder.of(p, output, value_tolerance(p))
        turned = work.laws.copy()
        turned[:, : p.dim + 1] *= -1
        self.orders = (work, replace(work, laws=turned))  # a component below is above for the negative function
        pieces = parts_of(p, output, self.probe)
        self.parts: tuple[list[Part], list[Part]] = (pieces, list(pieces))
        self.members = [order.above.copy(), order.below.copy()]
        # A component cuts a part once: what noise leaves of its other side in a half is not cut off again.
        self.open = [np.ones_like(rows) for rows in self.members]
        above, below = (rows.astype(np.float32) for rows in self.members)
        self.apart = np.asarray(above @ below.T == 0)
        self.splits = 0

    def next_pair(self) -> tuple[int, int] | None:
        """A pair with nothing in common whose parts are in most such pairs; None if there is none."""
        one, two = np.divmod(np.flatnonzero(self.apart), self.apart.shape[1])
        if len(one) == 0:
            return None
        k = int(np.argmax(self.apart.sum(axis=1)[one] + self.apart.sum(axis=0)[two]))
        return int(one[k]), int(two[k])

    def cut(self, i: int, j: int) -> None:
        """One of the two parts, along a component that tells points inside them apart."""
        pair = (i, j)
        inside = [self.parts[side][pair[side]].point() for side in (0, 1)]
        both = np.flatnonzero(np.logical_and(*(self._at_least(side, pair[side], inside[side]) for side in (0, 1))))
        choices = []
        for side in (0, 1):
            helps = self._helps(side, pair)
            free = self.open[side][pair[side]] & ~self.members[side][pair[side]]
            choices += [(-helps[m], side, int(m)) for m in both if free[m]]
        for _, side, m in sorted(choices):
            part = self.parts[side][pair[side]]
            halves = part.cut(laws_less_own(self.orders[side], part.own)[0][m])
            if halves is not None:
                self._replace(side, pair[side], halves, m)
                return
        if self._is_thin(pair, choices):
            return
        x, y = (fraction_array(point[:-1]) / point[-1] for point in inside)
        if self.probe.tol:
            raise ConstructionError(
                f"no component explains the values between x = {point_text(y)} and x = {point_text(x)}: the domain is "
                "not convex, or the data too noisy to tell its components apart",
                point=y,
                other=x,
            )
        raise InputError(
            f"the domain is not convex: no component explains the values between x = {point_text(y)} and "
            f"x = {point_text(x)}; `p.doctor()` says where it is not",
            point=y,
            other=x,
        )

    def _is_thin(self, pair: tuple[int, int], choices: list[tuple[int, int, int]]) -> bool:
        """Whether a component is on the right side of a part but for a margin that is too thin to be anything.

        Noise moves the corner of a steep sliver by more than values may be off by. Then the part has the component.
        """
        for _, side, m in sorted(choices) if self.probe.tol else ():
            k = pair[side]
            part = self.parts[side][k]
            assert isinstance(part, Held)
            below, above = part.halves(laws_less_own(self.orders[side], part.own)[0][m])
            if self.probe.interior(below.body) is None and self.probe.interior(above.body) is not None:
                self.members[side][k, m] = True
                self.apart[(k, slice(None)) if side == 0 else (slice(None), k)] = self._apart_from(
                    side, self.members[side][k]
                )
                return True
        return False

    def _helps(self, side: int, pair: tuple[int, int]) -> NDArray[np.int64]:
        """For each component how many pairs with this part it would settle; one that settles this pair comes first."""
        others = self.members[1 - side]
        alone = self.apart[pair[0]] if side == 0 else self.apart[:, pair[1]]
        return np.asarray(others[alone].sum(axis=0) + len(others) * others[pair[1 - side]])

    def _replace(self, side: int, k: int, halves: tuple[Part, Part], m: int) -> None:
        """The first half takes the place of the part, the second comes last; this has the component of the cut."""
        known = self.members[side][k]
        rows = np.array([half.above(self.orders[side], known) for half in halves])
        rows[1, m] = True
        self.parts[side][k] = halves[0]
        self.parts[side].append(halves[1])
        self.members[side] = np.concatenate([self.members[side], rows[1:]])
        self.members[side][k] = rows[0]
        self.open[side][k, m] = False
        self.open[side] = np.concatenate([self.open[side], self.open[side][k : k + 1]])
        apart = self.apart if side == 0 else self.apart.T
        new = np.array([self._apart_from(side, row) for row in rows])
        apart = np.concatenate([apart, new[1:]])
        apart[k] = new[0]
        self.apart = apart if side == 0 else apart.T
        self.splits += 1

    def _apart_from(self, side: int, row: Members) -> Members:
        """Which parts of the other side have no component in common with a row of this one."""
        return ~np.asarray((self.members[1 - side] & row).any(axis=1))

    def _at_least(self, side: int, k: int, x: NDArray[Any]) -> Members:
        """Which components are, at the point, on that side of the part's own."""
        laws, view = laws_less_own(self.orders[side], self.parts[side][k].own)
        if view is not None and not any(isinstance(v, Fraction) for v in x):
            return np.asarray(signs_at(laws, x[None], view)[:, 0] >= 0)
        return np.asarray((laws * x).sum(axis=1) >= -self.orders[side].slack, dtype=bool)


# Maxima and minima of components that stay within a tolerance of the function: separation with a tolerance.
#
# Let ``A(X)`` be the components that are at least ``p - e`` on a piece `X`, ``D(Y)`` those that are at most ``p + e``
# on a piece `Y`. If a monotone formula is true when exactly the members of ``A(X)`` are true, for all `X`, and false
# when exactly those of ``D(Y)`` are false, for all `Y`, then it is within `e` of `p` (docs/theory/lattice.md). So the
# search of the lattice works unchanged with two relaxed tables, and leaves out components that it does not need.

_ROOM = 1e-9  # of the tolerance, for rounding


def relaxed(analysis: Analysis, tolerance: Sequence[Fraction]) -> list[Order] | None:
    """For each output the components within a tolerance above and below, as floats see them; None if corners are not
    known.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2, 3]], [0, 10, 21, 31])
    >>> [[int(v) for v in relaxed(Analysis(p), [Fraction(e)])[0].above.sum(axis=1)] for e in (0.25, 2)]
    [[2, 2, 2], [3, 3, 3]]
    """
    p = analysis.essential.function
    number, bodies = pieces_of(p)
    if not bodies.known.all() or len(number) != p.num_pieces:
        return None
    entry, owner = ranges(bodies.spans.start[:-1], np.diff(bodies.spans.start))
    first = bodies.spans.start[:-1]
    places = bodies.places[bodies.spans.member[entry]]
    weight = places[:, -1]
    size = np.where(weight > 0, weight, np.abs(places).max(axis=1))
    view = np.asarray(places / size[:, None], dtype=np.float64)  # corners have last coordinate 1, rays 0
    found = []
    for j, e in enumerate(tolerance):
        laws = p.components(j).coefficients()[:, 0]
        own = p.component[number, j]
        room = float(e) * (1 - _ROOM) * view[:, -1] + 1e-13 * np.abs(laws).max()
        low, high = _extremes(view, laws, own[owner], room, first)
        found.append(Order(low, high, 0))
    return found


def _extremes(
    view: NDArray[np.float64],
    laws: NDArray[np.float64],
    own: NDArray[np.int64],
    room: NDArray[np.float64],
    first: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which components are, at all places of a piece, above its own less the room, and below its own and the room."""
    values = view @ laws.T
    off = values - values[np.arange(len(view)), own][:, None]
    above = np.logical_and.reduceat(off >= -room[:, None], first)
    below = np.logical_and.reduceat(off <= room[:, None], first)
    return above, below
