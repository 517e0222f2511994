"""Which components stay above, and which below, the function on each piece.

``above[i, m]`` says ``f_m >= p`` on piece `i` (the paper's set `A_i`), ``below[i, m]`` says ``f_m <= p`` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import ConstructionError, InternalError, check_memory
from cpwl.exact.integers import primitive, ratio_view, rounding, sign, signs_at, unit_view
from cpwl.executors import spread
from cpwl.function.cpwl import CPWL, generators_of
from cpwl.function.parts import scale_of
from cpwl.geometry.generators import Generators, corners_of
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, ranges
from cpwl.geometry.probe import Probe
from cpwl.progress import Progress

_BLOCK = 1 << 23  # numbers in one temporary array: 64 MB of doubles

# The order of components at corners and along rays: one matrix product for some components at a time.
#
# A function that is affine is at least 0 on a polyhedron without lines iff it is so at the corners and along the rays.
# For exact data floats decide where a bound on their rounding allows it, and integers elsewhere. Every float is a
# rational, so the corners of float pieces are known exactly, too; components may be off there by what values may be off
# by. Float pieces with a ray are left to linear programs, and so are those with a corner far beyond all others: noise
# makes parallel rows meet there, and how far is an accident.


_FAR = 16  # units, as far as `Probe` looks

Relation = NDArray[np.bool_]


def order_at_generators(
    laws: NDArray[Any], component: NDArray[np.int64], spanned: Generators, unit: float = 1.0, slack: float = 0
) -> tuple[Relation, Relation, Relation]:
    """``above[i, m]``: ``f_m >= f_c`` on piece `i` with component `c`, ``below``, and which pieces are decided.

    `laws` has one row a component: integers ``(g, o, 1) * denominator``, or floats ``(g, o, 1)`` of data whose
    coordinates are of the size `unit` and whose values may be off by `slack`.
    """
    exact = laws.dtype == object
    law = ratio_view(laws[:, :-1], laws[:, -1:]) if exact else laws[:, :-1]
    view, known = (unit_view(spanned.places), spanned.known) if exact else _corners(spanned, unit)
    above = np.zeros((len(component), len(laws)), dtype=bool)
    below, pieces = np.zeros_like(above), np.flatnonzero(known)
    if not len(pieces):
        return above, below, known
    lengths = np.diff(spanned.start)[pieces]
    entry, owner = ranges(spanned.start[pieces], lengths)
    place, own = spanned.member[entry], component[pieces][owner]
    asked, row = _questions(laws, spanned.places, place, own) if exact else (np.arange(len(place)),) * 2
    at, largest = view[place[asked]], float(np.abs(law).max(initial=0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        value, size = (at * law[own[asked]]).sum(axis=1), np.abs(at) @ np.abs(law).max(axis=0, initial=0.0)
        bound = 2 * rounding(size, law.shape[1], largest) if exact else np.full(len(asked), slack)
    step = max(1, _BLOCK // len(place))
    for first in range(0, len(laws), step):
        some = slice(first, first + step)
        with np.errstate(over="ignore", invalid="ignore"):
            gap = at @ law[some].T - value[:, None]
            signs = (gap > bound[:, None]).astype(np.int8) - (gap < -bound[:, None])
        if exact:  # where floats do not tell, an overflow included
            k, m = np.nonzero(signs == 0)
            one, two = laws[first + m], laws[own[asked[k]]]
            difference = one[:, :-1] * two[:, -1:] - two[:, :-1] * one[:, -1:]
            signs[k, m] = sign((difference * spanned.places[place[asked[k]]]).sum(axis=1))
        every, begin = signs[row], np.cumsum(lengths) - lengths
        above[pieces, some] = np.minimum.reduceat(every, begin, axis=0) >= 0
        below[pieces, some] = np.maximum.reduceat(every, begin, axis=0) <= 0
    return above, below, known


def _questions(
    laws: NDArray[np.object_], places: NDArray[np.object_], place: NDArray[np.int64], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Entries with different values, and the number of that of each: for a continuous function one at each place."""
    _, first, number = np.unique(place, return_index=True, return_inverse=True)
    number, one = number.ravel(), first[number.ravel()]
    value, below = (laws[own, :-1] * places[place]).sum(axis=1), laws[own, -1]
    other = np.flatnonzero(value * below[one] != value[one] * below)
    number[other] = len(first) + np.arange(len(other))
    return np.concatenate([first, other]), number


def _corners(spanned: Generators, unit: float) -> tuple[NDArray[np.float64], Relation]:
    """The corners ``(x, 1)`` in floats, and which polyhedra have nothing but corners, none of them far away."""
    weight = spanned.places[:, -1]
    limit = int(_FAR * unit) + 1
    near = np.asarray((weight > 0) & (np.abs(spanned.places[:, :-1]).max(axis=1, initial=0) <= limit * weight))
    corners = np.zeros(spanned.places.shape)
    corners[near] = ratio_view(spanned.places[near], spanned.places[near, -1:])
    bounded = spanned.known
    bounded[spanned.owner[~near[spanned.member]]] = False
    return corners, bounded


# The order of components on general pieces: refuted by known points, else one LP each.


@dataclass(frozen=True, slots=True, eq=False)
class PieceOrder:
    """Decides ``f_m >= f_c`` and ``f_m <= f_c`` on pieces; holds arrays only, so that it can be sent away.

    `laws` has one row a component, ``(g, o, 1)`` times a denominator: integers for exact data, else floats with values
    that may be off by `slack`.
    """

    polyhedra: Polyhedra
    laws: NDArray[Any]
    component: NDArray[np.int64]
    tol: float
    slack: float

    @classmethod
    def of(cls, p: CPWL, output: int, slack: float) -> PieceOrder:
        """The decisions to be made for one output of `p`."""
        own = p.components(output)
        view = own.coefficients()[:, 0]
        laws = own.integer()[:, 0] if p.tol == 0 else np.column_stack([view, np.ones(len(view))])
        return cls(p.polyhedra, laws, p.component[:, output], p.tol, slack)

    @property
    def is_exact(self) -> bool:
        """Whether laws are integers, and nothing is off."""
        return bool(self.laws.dtype == object)

    def __call__(self, pieces: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], int]:
        """Both relations for the given pieces, and how many linear programs that took."""
        probe = Probe.of(self.polyhedra, self.tol)
        found = np.zeros((2, len(pieces), len(self.laws)), dtype=bool)
        for k, i in enumerate(pieces.tolist()):
            body, difference = self.polyhedra[i], self.differences(self.component[i])
            places = self._first_places(probe, body)
            stated = self._stated(body)
            for relation, laws in zip(found, (difference, -difference), strict=True):
                relation[k] = True
                for place in places[:1]:
                    relation[k] = laws.dot(place) >= -self.slack
                for m in np.flatnonzero(relation[k]).tolist():
                    if not stated or tuple(primitive(laws[m][None])[0]) not in stated:
                        relation[k, m] = self._holds(probe, body, laws[m], places)
        return found[0], found[1], probe.solves

    def _stated(self, body: Polyhedron) -> set[tuple[int, ...]]:
        """The laws that rows of exact pieces say to be at least 0, as on the pieces of a maximum, and 0 itself."""
        if not self.is_exact:
            return set()
        rows = body.integer()
        laws = primitive(np.column_stack([-rows[:, :-1], rows[:, -1:]]))
        return {(0,) * (body.dim + 1), *map(tuple, laws.tolist())}

    def _first_places(self, probe: Probe, body: Polyhedron) -> list[NDArray[Any]]:
        inside = probe.interior(body)
        return [] if inside is None else [np.append(inside, 1)]

    def above_on(self, probe: Probe, body: Polyhedron, own: int, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """``f_m >= f_own`` on a part of a piece, where what held on the piece still holds."""
        above = known.copy()
        difference = self.differences(own)
        if self.is_exact and len(places := corners_of(body.integer())):
            return np.asarray((signs_at(difference, places) >= 0).all(axis=1))
        seen = self._first_places(probe, body)
        for m in np.flatnonzero(~known):
            above[m] = self._holds(probe, body, difference[m], seen)
        return above

    def differences(self, c: int, which: Any = slice(None)) -> NDArray[Any]:
        """``f_m - f_c`` for every `m`, or those given, as rows ``(g, o)``, each times both denominators."""
        own, laws = self.laws[c], self.laws[which]
        return np.asarray(laws[:, :-1] * own[-1] - own[:-1] * laws[:, -1:])

    def _holds(self, probe: Probe, body: Polyhedron, law: NDArray[Any], places: list[NDArray[Any]]) -> bool:
        """Whether ``law >= 0`` on the piece; `places` are points ``(x, 1)`` and rays ``(r, 0)`` seen in it."""
        if any((law * place).sum() < -self.slack for place in places):
            return False
        value, where = probe.maximum(body, -law[:-1])
        if value == -np.inf:
            return True  # nothing there
        unbounded = value == np.inf
        place = np.append(where, 0 if unbounded else 1)
        if (self.is_exact or not unbounded) and not any((place == other).all() for other in places):
            places.append(place)
        return bool(not unbounded and value <= law[-1] + self.slack)


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The two relations between pieces and components of one output, and the LPs that were needed."""

    above: NDArray[np.bool_]
    below: NDArray[np.bool_]
    solves: int


def value_tolerance(p: CPWL) -> float:
    """What counts as equal values for float data: `tol` of the largest values, and not less than rounding (`Scale`).

    All outputs count together, so that one that is 0 up to rounding is 0. For exact data it is the integer 0, which
    rounds nothing that it is added to.
    """
    if p.tol == 0:
        return 0
    return float(scale_of(p.polyhedra, p.laws, p.tol).slack(p.tol).max(initial=0.0))


def order_components(
    p: CPWL, output: int, *, executor: Executor | None = None, progress: Progress | None = None
) -> Order:
    """Decides both relations for every piece and component of one output (step 5 of Algorithm 1).

    The corners of a simplex decide everything on it, so a triangulated table needs no linear program; nor do exact
    pieces with few rows, which are decided at their corners and rays, and float pieces that are bounded or have
    independent rows. Other pieces are decided one at a time; an `executor` shares them out, and the result does not
    depend on it.
    """
    count = int(p.component[:, output].max()) + 1
    check_memory(
        2.0 * p.num_pieces * count,
        f"comparing {count:,} components on {p.num_pieces:,} pieces",
        'Use construction="gates", which compares neighbours only.',
    )
    work = PieceOrder.of(p, output, value_tolerance(p))
    unit = 1.0 if work.is_exact else scale_of(p.polyhedra, p.laws, p.tol).unit
    above, below, known = order_at_generators(work.laws, work.component, generators_of(p), unit, work.slack)
    if not (work.is_exact or known.all()):
        *cones, new = order_on_cones(p.polyhedra, work.laws[:, :-1], work.component, p.tol, work.slack)
        above[new], below[new] = cones[0][new], cones[1][new]
        known = known | new
    left = np.flatnonzero(~known)
    done, solves = p.num_pieces - len(left), 0
    blocks = np.array_split(left, min(len(left), 64)) if len(left) else []
    answers = spread(PieceOrder.__call__, work, blocks, executor)
    for block, (over, under, count) in zip(blocks, answers, strict=True):
        above[block], below[block] = over, under
        done, solves = done + len(block), solves + count
        if progress is not None:
            progress(done, p.num_pieces, "ordering components")
    return Order(above, below, solves)


# Are the rows of a max-min form valid? The test of the *below* condition, row by row and piece by piece.
#
# A row `B` stands for ``min_{m in B} f_m``. It is valid if that never exceeds `p`. On piece `j` one member that stays
# below `p` proves it; otherwise a linear program looks for the largest excess.


@dataclass(frozen=True, slots=True)
class Excess:
    """Row number `row` is larger than the function by `amount` at `point`, which lies in piece `piece`.

    `amount` is infinite where the excess grows without bound; then it is at least 1 at `point`.
    """

    row: int
    piece: int
    point: NDArray[Any]
    amount: float


def find_excess(
    p: CPWL, output: int, order: Order, rows: Sequence[NDArray[np.int64]], progress: Progress | None = None
) -> Excess | None:
    """The first of many rows that exceeds the function somewhere, with a witness; None if all are valid."""
    work, probe = PieceOrder.of(p, output, value_tolerance(p)), Probe.of(p.polyhedra, p.tol)
    seen: set[bytes] = set()
    for i, row in enumerate(rows):
        if row.tobytes() not in seen:
            seen.add(row.tobytes())
            for j in np.flatnonzero(~order.below[:, row].any(axis=1)).tolist():
                point, value = _largest_excess(work, probe, row, j)
                if value > work.slack:
                    return Excess(i, j, point, float(value))
        if progress is not None:
            progress(i + 1, len(rows), "checking rows")
    return None


def _largest_excess(work: PieceOrder, probe: Probe, row: NDArray[np.int64], j: int) -> tuple[NDArray[Any], Any]:
    """The largest excess of the row on piece `j` and where; at a place with at least 1 if it has no bound."""
    program, dim = _program(work, row, j), work.polyhedra.dim
    value, where = probe.maximum(program, [0] * dim + [1])
    if value == np.inf:
        floor = Polyhedron(np.append(np.zeros(dim), -1.0)[None], np.array([-1.0]))
        seen = probe.interior(program.meet(floor))  # where the excess is at least 1
        if seen is None and not work.is_exact:
            message = f"whether a row stays below the function on piece {j} cannot be told from noise, far out"
            raise ConstructionError(message, row=row, piece=j)
        if seen is None:
            raise InternalError("an unbounded excess is nowhere 1", row=row, piece=j)
        return seen[:-1], value
    return where[:-1], value


def _program(work: PieceOrder, row: NDArray[np.int64], j: int) -> Polyhedron:
    """The points ``(x, v)`` with ``v <= f_m - p`` for all `m` in the row and `x` in piece `j`."""
    body, own = work.polyhedra[j], int(work.component[j])
    law, d = work.differences(own, row), work.laws[row, -1] * work.laws[own, -1]
    rows = body.integer() if work.is_exact else np.column_stack([body.A, body.b])
    above = np.column_stack([-law[:, :-1], d, law[:, -1]])
    inside = np.column_stack([rows[:, :-1], rows[:, -1] * 0, rows[:, -1]])
    both = np.concatenate([above, inside])
    if not work.is_exact:
        return Polyhedron(both[:, :-1], both[:, -1])
    view = np.asarray(both / np.abs(both[:, :-1]).max(axis=1)[:, None], dtype=np.float64)
    return Polyhedron(view[:, :-1], view[:, -1], both)


# The order of components on float pieces whose rows are independent: no more rows than inputs, and no linear program.
#
# On ``{a_r . x <= b_r}`` with independent rows the law ``g . x + o`` is bounded below iff ``g = - sum l_r a_r`` with
# all ``l_r >= 0``. There is one such `l` at most (the rows are independent), and then the least value is ``o - l . b``,
# taken where all rows with ``l_r > 0`` are equalities. Few hyperplanes in many dimensions have only such pieces.


_DEPENDENT = 1e-6  # the smallest singular value of rows of length 1 that are independent
_STEEP = 100  # times the tolerance: slopes that count as 0, against the largest slope


def order_on_cones(
    polyhedra: Polyhedra, laws: NDArray[np.float64], component: NDArray[np.int64], tol: float, slack: float
) -> tuple[Relation, Relation, Relation]:
    """``above[i, m]``: ``f_m >= f_c`` on piece `i` with component `c`, ``below``, and which pieces are decided."""
    above = np.zeros((len(component), len(laws)), dtype=bool)
    below, known = np.zeros_like(above), np.zeros(len(component), dtype=bool)
    length, n = np.diff(polyhedra.start), polyhedra.dim
    little = _STEEP * tol * float(np.abs(laws[:, :-1]).max(initial=0.0))
    for count in np.unique(length[length <= n]).tolist():
        every = np.flatnonzero(length == count)
        step = max(1, _BLOCK // (len(laws) * (n + count + 1)))
        for first in range(0, len(every), step):
            some = every[first : first + step]
            rows = polyhedra.start[some][:, None] + np.arange(count)
            A, b = polyhedra.A[rows], polyhedra.b[rows]
            size = np.linalg.norm(A, axis=2, keepdims=True)
            size = np.where(size > 0, size, 1.0)
            A, b = A / size, b / size[..., 0]
            left, values, right = np.linalg.svd(A, full_matrices=False)
            fits = values.min(axis=1, initial=1.0) > _DEPENDENT
            some, A, b = some[fits], A[fits], b[fits]
            inverse = np.swapaxes(right[fits], 1, 2) @ (np.swapaxes(left[fits], 1, 2) / values[fits][..., None])
            difference = laws[None] - laws[component[some]][:, None]
            weight = -difference[..., :-1] @ inverse
            rest = np.abs(difference[..., :-1] + weight @ A).max(axis=2, initial=0.0) <= little
            for relation, side, offset in (
                (above, weight, difference[..., -1]),
                (below, -weight, -difference[..., -1]),
            ):
                least = offset - np.einsum("pmk,pk->pm", np.maximum(side, 0.0), b)
                relation[some] = rest & (side >= -little).all(axis=2) & (least >= -slack)
            known[some] = True
    return above, below, known
