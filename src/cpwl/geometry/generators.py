"""Corners and extreme rays of many polyhedra at once, exactly.

In homogeneous coordinates ``(x, w)`` a row is ``a.x - b w <= 0`` and the plane at infinity is ``w = 0``: corners and
rays alike are the lines in which `n` of these planes meet. Pieces of one function share planes, so every set of planes
is intersected once, whatever the number of pieces that have it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.exact.integers import primitive, ratio_view, unit_view
from cpwl.exact.integers import sides as sides_of
from cpwl.geometry.facets import Hyperplanes, hyperplanes
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, fact, picked

MOST = 6000  # sets of planes to try for one polyhedron: a few milliseconds; beyond, linear programs
_SMALL = 5  # dimensions in which floats say beforehand which planes meet outside
_BLOCK = 1 << 20  # signs in one temporary array


@dataclass(frozen=True, slots=True, eq=False)
class Generators:
    """Polyhedron `i` is spanned by ``places[member[start[i]:start[i + 1]]]``; none of them: it was not decided.

    A place is a row of integers, ``(x, 1) * w`` with ``w > 0`` for a corner and ``(r, 0)`` for an extreme ray; of float
    networks a row of floats, the largest of which is 1.
    """

    places: NDArray[Any]
    member: NDArray[np.int64]
    start: NDArray[np.int64]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which polyhedra were decided."""
        return np.diff(self.start) > 0

    @property
    def owner(self) -> NDArray[np.int64]:
        """The polyhedron of each member."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @property
    def rank(self) -> int:
        """In how many directions the polyhedra end: a coordinate along which all go on for ever is 0 at all places."""
        return int((self.places != 0).any(axis=0).sum()) - 1

    def of_piece(self, i: int) -> NDArray[np.int64]:
        """The places that span polyhedron `i`."""
        return self.member[self.start[i] : self.start[i + 1]]

    def take(self, which: NDArray[np.int64]) -> Generators:
        """Those of the polyhedra with the given numbers, in that order."""
        entry, start = picked(self.start, which)
        return Generators(self.places, self.member[entry], start)


@fact
def generators(polyhedra: Polyhedra) -> Generators:
    """The corners and rays of each polyhedron that has few rows, an interior or not, and contains no line.

    Few: at most `MOST` sets of as many planes as dimensions.

    >>> quadrants = Polyhedra.from_lists([[[-1, 0], [0, -1]], [[1, 0], [0, -1]], [[1, 0]]], [[0, 0], [0, 0], [0]])
    >>> found = generators(quadrants)
    >>> found.places[found.member[found.start[0] : found.start[1]]].tolist()
    [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    >>> found.known
    array([ True,  True, False])
    """
    if np.diff(polyhedra.start).max(initial=0) < polyhedra.dim:  # nobody has a corner, nor need integers be made
        none = np.zeros(0, dtype=np.int64)
        return Generators(np.zeros((0, polyhedra.dim + 1), dtype=object), none, np.zeros_like(polyhedra.start))
    planes = hyperplanes(polyhedra, 0.0)
    infinity = np.array([[0] * polyhedra.dim + [-1]], dtype=object)
    table = np.concatenate([plane_rows(polyhedra, planes), infinity])
    places: dict[tuple[int, ...], int] = {}
    owner, member = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for pieces, numbers, sides in _by_size(polyhedra, planes):
        step = max(1, _BLOCK // (numbers.shape[1] * math.comb(numbers.shape[1] + 1, polyhedra.dim)))
        for first in range(0, len(pieces), step):
            part = slice(first, first + step)
            who, what = _spanning(table, numbers[part], sides[part], places)
            owner.append(pieces[part][who])
            member.append(what)
    pairs = np.unique(np.stack([np.concatenate(owner), np.concatenate(member)], axis=1), axis=0)
    rows = np.array(list(places), dtype=object).reshape(len(places), polyhedra.dim + 1)
    # Rays alone span nothing that contains no line: such a polyhedron is empty, or contains one.
    corner = np.asarray(rows[pairs[:, 1], -1] != 0, dtype=bool)
    pairs = pairs[np.isin(pairs[:, 0], pairs[corner, 0])]
    start = np.searchsorted(pairs[:, 0], np.arange(len(polyhedra) + 1)).astype(np.int64)
    return Generators(rows, pairs[:, 1], start)


def corners_of(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """The corners and rays of ``a.x <= b`` for integer rows ``(a, b)``; none if it is empty, or was not decided.

    >>> corners_of(np.array([[-1, 0, 0], [0, -1, 0]], dtype=object)).tolist()
    [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    """
    view = unit_view(rows)
    found = generators(Polyhedron(view[:, :-1], view[:, -1], rows).alone())
    return np.asarray(found.places[found.member])


def plane_rows(polyhedra: Polyhedra, planes: Hyperplanes) -> NDArray[np.object_]:
    """One row ``(a, -b)`` of integers for each hyperplane, on its side 1."""
    first = np.unique(planes.number, return_index=True)[1]
    rows = primitive(polyhedra.integer()[first]) * planes.side[first, None].astype(object)
    return np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1)


def _by_size(
    polyhedra: Polyhedra, planes: Hyperplanes
) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Polyhedra with equal numbers of planes: their numbers, and for each its planes and its sides of them."""
    keys = np.unique(np.stack([polyhedra.owner, planes.number, planes.side], axis=1), axis=0)
    counts = np.bincount(keys[:, 0], minlength=len(polyhedra))
    found = []
    for size in np.unique(counts).tolist():
        if polyhedra.dim <= size and math.comb(size + 1, polyhedra.dim) <= MOST:
            pieces = np.flatnonzero(counts == size)
            own = keys[np.isin(keys[:, 0], pieces)].reshape(len(pieces), size, 3)
            found.append((pieces, own[..., 1], own[..., 2]))
    return found


def _spanning(
    table: NDArray[np.object_],
    numbers: NDArray[np.int64],
    sides: NDArray[np.int64],
    places: dict[tuple[int, ...], int],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (polyhedron, place) of what spans each; new places are added to those there are."""
    size, dim = numbers.shape[1], table.shape[1] - 1
    distinct, which = np.unique(numbers, axis=0, return_inverse=True)
    choices = np.array(list(itertools.combinations(range(size + 1), dim)), dtype=np.int64)
    wide = np.column_stack([distinct, np.full(len(distinct), len(table) - 1)])
    hopeful = _hopeful(table, numbers, sides, choices, which.ravel(), len(distinct))
    sets, at = np.unique(wide[:, choices][hopeful], axis=0, return_inverse=True)
    lines = [_meet(table[planes]) for planes in sets]
    number = np.array([-1 if line is None else places.setdefault(line, len(places)) for line in lines], dtype=np.int64)
    if not places:  # all planes are parallel, or floats have seen that nothing meets
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    place = np.full(hopeful.shape, -1, dtype=np.int64)
    place[hopeful] = number[at.ravel()]
    rows = np.array(list(places), dtype=object).reshape(len(places), dim + 1)
    # Each plane that did not hold a place has it on one of its sides.
    free = (choices[None] != np.arange(size)[:, None, None]).all(axis=2)
    u, j, c = np.nonzero(free & (place >= 0)[:, None])
    signs = np.zeros((len(distinct), size, len(choices)), dtype=np.int64)
    walls = np.concatenate([table[:, :-1], -table[:, -1:]], axis=1)
    signs[u, j, c] = sides_of(walls, rows, distinct[u, j], place[u, c])
    signs = signs[which.ravel()] * sides[..., None]
    place = place[which.ravel()]
    valid, direction = place >= 0, rows[place, -1] == 0
    inside = valid & (signs <= 0).all(axis=1)
    opposite = valid & direction & (signs >= 0).all(axis=1)
    who, what = np.nonzero(inside)
    back, line = np.nonzero(opposite)
    turned = {int(k): places.setdefault(tuple(-rows[k]), len(places)) for k in np.unique(place[back, line])}
    there = np.array([turned[int(k)] for k in place[back, line]], dtype=np.int64)
    return np.concatenate([who, back]), np.concatenate([place[who, what], there])


def _hopeful(
    table: NDArray[np.object_],
    numbers: NDArray[np.int64],
    sides: NDArray[np.int64],
    choices: NDArray[np.int64],
    which: NDArray[np.int64],
    count: int,
) -> NDArray[np.bool_]:
    """``[u, c]``: whether the planes of choice `c` may meet in a place of some polyhedron with the planes number `u`.

    No, where floats leave no doubt: entries are up to 1, so minors up to five by five are off by less than 1e-13, their
    vector, if it is longer than 1e-6, by less than 1e-7, relative, and the place is farther than that from the inside.
    """
    size, dim = numbers.shape[1], table.shape[1] - 1
    if dim > _SMALL:
        return np.ones((count, len(choices)), dtype=bool)
    view = unit_view(table)
    rows = np.concatenate([view[numbers], np.broadcast_to(view[-1], (len(numbers), 1, dim + 1))], axis=1)
    minors = [(-1) ** k * np.linalg.det(np.delete(rows[:, choices], k, axis=-1)) for k in range(dim + 1)]
    line = np.stack(minors, axis=-1)
    length = np.linalg.norm(line, axis=-1)
    known = length > 1e-6
    line = line / np.where(known, length, 1.0)[..., None]
    value = np.einsum("prk,pck->prc", rows[:, :size] * sides[..., None], line)
    value = np.concatenate([value, -line[..., -1][:, None]], axis=1)
    inside = (value <= 1e-6).all(axis=1) | (value >= -1e-6).all(axis=1)
    found = np.zeros((count, len(choices)), dtype=bool)
    np.logical_or.at(found, which, inside | ~known)
    return found


def _meet(rows: NDArray[np.object_]) -> tuple[int, ...] | None:
    """The line in which `n` planes of homogeneous coordinates meet, as integers with ``w >= 0``; None if in more."""
    n, size = rows.shape
    kernel, nullity = fmpz_mat(n, size, rows.ravel().tolist()).nullspace()
    if nullity != 1:
        return None
    line = [int(kernel[i, 0]) for i in range(size)]
    divisor = math.gcd(*line)
    lead = line[-1] or next(v for v in line if v)
    divisor = -divisor if lead < 0 else divisor
    return tuple(v // divisor for v in line)


# Boxes around polyhedra, and which of two families of boxes meet: before anything dearer is asked of pairs.


_FEW = 1 << 12  # pairs that are compared at once


def box_pairs(
    low: NDArray[np.float64], high: NDArray[np.float64], others: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Pairs ``(i, j)`` of boxes of two families that meet, in order: halved in turn along each axis until few are left.

    >>> box_pairs(np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]]), (np.array([[0.5]]), np.array([[2.5]])))
    array([[0, 0],
           [1, 0]])
    """
    found, count = [np.zeros(0, dtype=np.int64)], max(1, len(others[0]))  # pair (i, j) is i count + j
    # Boxes on both sides of a plane go both ways, but the pair belongs to the side of the larger one of its lower ends.
    waiting = [(np.arange(len(low)), np.arange(len(others[0])), 0, 0, np.full(low.shape[1], -np.inf))]
    while waiting:
        one, two, axis, idle, least = waiting.pop()
        if len(one) * len(two) <= _FEW or idle == low.shape[1]:
            meet = np.ones((len(one), len(two)), dtype=bool)
            for k, bound in enumerate(least):
                first, second = low[one, k][:, None], others[0][two, k]
                meet &= (first <= others[1][two, k]) & (second <= high[one, k][:, None])
                meet &= np.maximum(first, second) >= bound
            i, j = np.nonzero(meet)
            found.append(one[i] * count + two[j])
            continue
        middle = np.clip(np.concatenate([low[one, axis], others[0][two, axis]]), -1e300, 1e300)
        at = float(np.median(middle))
        parts = [
            (one[low[one, axis] <= at], two[others[0][two, axis] <= at]),
            (one[high[one, axis] > at], two[others[1][two, axis] > at]),
        ]
        useless = max(len(a) * len(b) for a, b in parts) > 0.75 * len(one) * len(two)
        turn = (axis + 1) % low.shape[1]
        if useless:
            waiting.append((one, two, turn, idle + 1, least))
        else:
            above = np.where(np.arange(low.shape[1]) == axis, np.nextafter(at, np.inf), least)
            waiting += [(*part, turn, 0, side) for part, side in zip(parts, (least, above), strict=True)]
    return np.stack(np.divmod(np.sort(np.concatenate(found)), count), axis=1)


def boxes_around(spans: Generators, count: int, dim: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Boxes around pieces, a little wide; infinite where there is no bound, or where none was computed."""
    low, high = np.full((count, dim), -np.inf), np.full((count, dim), np.inf)
    places, lengths = spans.places[spans.member], np.diff(spans.start)
    some = np.flatnonzero(lengths)
    if not len(some):
        return low, high
    ray = np.asarray(places[:, -1] == 0, dtype=bool)
    x = np.empty((len(places), dim))
    x[~ray] = ratio_view(places[~ray, :-1], places[~ray, -1:])
    bounds = []
    for way in (1, -1):
        # A ray leads to infinity, or along the box.
        x[ray] = np.where(np.asarray(places[ray, :-1] * way > 0, dtype=bool), np.inf, -np.inf)
        bounds.append(np.maximum.reduceat(np.where(ray[:, None], x, way * x), spans.start[some], axis=0))
    size = 1 + np.abs(np.where(ray[:, None], 0.0, x))
    margin = 1e-9 * np.maximum.reduceat(size, spans.start[some], axis=0)
    low[some], high[some] = -bounds[1] - margin, bounds[0] + margin
    return low, high
