"""The normal form of piecewise data: sums over chains of faces, the same however the data is cut.

Let ``u`` be a sum of labels on polyhedra with interiors: bounded or not, with lines or not, overlapping or not. Every
flat `F` (a point, a line, .., all of R^n) has an *orientation* and an *end*: the place that is reached along
``d_1 + e d_2 + e^2 d_3 + ..`` for ever smaller ``e > 0``, where the `d_k` are the reduced echelon basis of the
directions of `F`. For one polyhedron `X` with a label, the *form* is the sum over chains ``X = F_n > .. > F_k`` of its
faces, one of each dimension down to `k`, such that `F_k` is a corner or holds its end, of

    (product of the sides on which F_j lies of F_(j-1), j = n .. k + 1) * label * [flat of F_(n-1), .., flat of F_k]

Theorem. The form is linear in `u`, depends on `u` up to null sets only, and is zero only if `u` is. Proof, by
induction on the dimension: what belongs to chains through a hyperplane `h` is the form of the jump of `u` across
`h`, which does not depend on the cutting. If the form is zero, so are all jumps, hence `u` is constant; its value is
the one at the end of R^n, which is the chain without flats. See docs/theory/flags.md.

So two functions whose pieces, labelled by their laws, have one form are equal, and they are defined on the same set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.exact.integers import determinant, maximal_minors, number_rows, primitive, sides, sign, unit_view
from cpwl.exact.rational import pivots
from cpwl.geometry.cells import cell_of
from cpwl.geometry.facets import Hyperplanes, hyperplanes
from cpwl.geometry.generators import MOST, Generators, corners_of, generators, plane_rows
from cpwl.geometry.polyhedra import Polyhedra, end_to_end, joined, picked, ranges

# Polyhedra as hulls of corners, rays and lines, in homogeneous coordinates; those without interior are left out.


_SURE_RANK = 1e-9  # smallest singular values of entries up to 1 in floats are nearer than that

Numbers = NDArray[np.int64]
Integers = NDArray[np.object_]


class TooManyFaces(Exception):
    """The form would take too long, for the reason given: other ways decide."""


@dataclass(frozen=True, slots=True, eq=False)
class Hulls:
    """Polyhedra with interiors. Number `i` is spanned by ``places[member[start[i]:start[i + 1]]]``, of which the last
    ``lines[i]`` are whole lines."""

    polyhedra: Polyhedra
    planes: Hyperplanes
    table: Integers
    """One row ``(a, -b)`` for each hyperplane."""
    places: Integers
    member: Numbers
    start: Numbers
    lines: Numbers
    piece: Numbers
    """The number of each before those without interior were left out."""

    def directions(self) -> Integers:
        """All places, and the lines in both senses: what is on one side of a hyperplane here is so everywhere."""
        owner = np.repeat(np.arange(len(self.lines)), np.diff(self.start))
        line = np.arange(len(self.member)) >= self.start[1:][owner] - self.lines[owner]
        return np.concatenate([self.places[np.unique(self.member)], -self.places[np.unique(self.member[line])]])


def hulls(polyhedra: Polyhedra, spanned: Generators | None = None) -> Hulls:
    """What spans the polyhedra that have an interior; `spanned`, if known, has their corners and rays."""
    n, planes = polyhedra.dim, hyperplanes(polyhedra, 0.0)
    spanned = generators(polyhedra) if spanned is None else spanned
    places, lines = spanned.places, np.zeros(len(polyhedra), dtype=np.int64)
    member, start = spanned.member, spanned.start
    more: dict[int, tuple[Integers, Integers]] = {}
    for i in np.flatnonzero(~spanned.known).tolist():  # few: empty ones, and those that contain a line
        numbers = np.unique(planes.number[_own(polyhedra, i)])
        normals = polyhedra[i].integer()[:, :-1]
        if not _is_of_full_rank(polyhedra.A[_own(polyhedra, i)], normals, n):
            more[i] = _with_lines(polyhedra[i].integer(), i)
        elif math.comb(len(numbers) + 1, n) > MOST:
            if n > 2:  # in the plane there are no more corners than rows
                raise TooManyFaces(f"piece {i} has too many rows")
            spanning = cell_of((polyhedra[i].integer() * [*[1] * n, -1]).tolist(), n).rays
            places = np.array([place for place, _ in spanning], dtype=object).reshape(-1, n + 1)
            more[i] = places, places[:0]
    if more:
        places, member, start, lines = _joined(spanned, more)
    found = np.flatnonzero(_are_solid(places, member, start, n))
    (entry, begin), (rows, _) = picked(start, found), picked(polyhedra.start, found)
    number = np.unique(planes.number[rows], return_inverse=True)[1].astype(np.int64)
    taken, chosen = polyhedra.take(found), Hyperplanes(number, planes.side[rows])
    return Hulls(taken, chosen, plane_rows(taken, chosen), places, member[entry], begin, lines[found], found)


def together(stacks: Sequence[Polyhedra], spans: Sequence[Generators]) -> tuple[Polyhedra, Generators]:
    """Several families as one, with their corners and rays: equal places have one number."""
    first, number = number_rows(np.concatenate([span.places for span in spans]))
    begin = np.cumsum([0, *(len(span.places) for span in spans)])
    member = np.concatenate([number[k + span.member] for k, span in zip(begin, spans, strict=False)])
    places = np.concatenate([span.places for span in spans])[first]
    return joined(stacks).exactly(), Generators(places, member, end_to_end([span.start for span in spans]))


def _own(polyhedra: Polyhedra, i: int) -> slice:
    return slice(int(polyhedra.start[i]), int(polyhedra.start[i + 1]))


def _is_of_full_rank(view: NDArray[np.float64], rows: Integers, n: int) -> bool:
    if len(rows) < n:
        return False
    values = np.linalg.svd(view / np.abs(view).max(axis=1, keepdims=True), compute_uv=False)
    return bool(values[-1] > _SURE_RANK) or exact_rank(rows) == n


def exact_rank(rows: Integers) -> int:
    """The rank of an integer matrix."""
    return int(fmpz_mat(*rows.shape, rows.ravel().tolist()).rank()) if rows.size else 0


def _with_lines(rows: Integers, i: int) -> tuple[Integers, Integers]:
    """The corners and rays of a section of a polyhedron, across all of its lines, and a basis of these.

    With as many coordinates as the rows have rank, on which they keep it, the section is where the others are 0.
    """
    n = rows.shape[1] - 1
    if not len(rows):
        return np.eye(n + 1, dtype=np.int64).astype(object)[-1:], np.eye(n + 1, dtype=np.int64).astype(object)[:-1]
    normals = fmpz_mat(len(rows), n, rows[:, :-1].ravel().tolist())
    reduced, _, rank = normals.rref()
    kept = [*pivots(reduced, rank), n]
    section = primitive(rows[:, kept])
    if math.comb(len(np.unique(section.astype(str), axis=0)) + 1, rank) > MOST:
        raise TooManyFaces(f"piece {i} has too many rows")
    corners = corners_of(section)
    wide = np.zeros((len(corners), n + 1), dtype=np.int64).astype(object)
    wide[:, kept] = corners
    basis, nullity = normals.nullspace()
    lines = np.array([[int(basis[j, k]) for j in range(n)] + [0] for k in range(nullity)], dtype=object)
    return wide, primitive(lines)


def _joined(
    spanned: Generators, more: dict[int, tuple[Integers, Integers]]
) -> tuple[Integers, Numbers, Numbers, Numbers]:
    """Generators with those of some more polyhedra: places, members, where each begins, and numbers of lines."""
    known = {tuple(place): k for k, place in enumerate(spanned.places.tolist())}
    length, lines = np.diff(spanned.start), np.zeros(len(spanned.start) - 1, dtype=np.int64)
    fresh, owner = [], []
    for i, (corners, own) in more.items():
        if len(corners):
            fresh += [known.setdefault(tuple(place), len(known)) for place in [*corners.tolist(), *own.tolist()]]
            owner += [i] * (len(corners) + len(own))
            lines[i] = len(own)
    whose = np.concatenate([np.repeat(np.arange(len(length)), length), np.array(owner, dtype=np.int64)])
    order = np.argsort(whose, kind="stable")
    member = np.concatenate([spanned.member, np.array(fresh, dtype=np.int64)])[order]
    start = np.searchsorted(whose[order], np.arange(len(length) + 1)).astype(np.int64)
    return np.array(list(known), dtype=object).reshape(-1, spanned.places.shape[1]), member, start, lines


def _are_solid(places: Integers, member: Numbers, start: Numbers, n: int) -> NDArray[np.bool_]:
    """Which polyhedra have an interior: what spans them spans all dimensions."""
    view, size = unit_view(places), np.diff(start)
    found = np.zeros(len(size), dtype=bool)
    for count in np.unique(size[size > n]).tolist():
        who = np.flatnonzero(size == count)
        smallest = np.linalg.svd(view[member[start[who][:, None] + np.arange(count)]], compute_uv=False)[:, -1]
        found[who] = smallest > _SURE_RANK
        for i in who[smallest <= _SURE_RANK]:
            found[i] = exact_rank(places[member[start[i] : start[i + 1]]]) == n + 1
    return found


# The chains of faces of a polyhedron, type by type: which places are on which rows says all about its faces.


@dataclass(frozen=True, slots=True)
class _Type:
    """For each row the bit set of the places on it; the bit set of the rays, and that of the lines; how many places."""

    masks: tuple[int, ...]
    rays: int
    lines: int
    size: int


def _types(stack: Hulls) -> Iterator[tuple[_Type, Numbers]]:
    """Which places of a polyhedron are on which of its rows, as bit sets: those with equal ones are of one type."""
    start = stack.polyhedra.start
    shape = np.stack([np.diff(start), np.diff(stack.start), stack.lines], axis=1)
    walls = np.concatenate([stack.table[:, :-1], -stack.table[:, -1:]], axis=1)
    far = np.asarray(stack.places[:, -1] == 0, dtype=bool)
    for r, g, l in np.unique(shape, axis=0).tolist():
        who = np.flatnonzero((shape == [r, g, l]).all(axis=1))
        own = stack.member[stack.start[who][:, None] + np.arange(g)]
        plane = stack.planes.number[start[who][:, None] + np.arange(r)]
        row, place = np.repeat(plane, g, axis=1), np.tile(own, r)
        on = (sides(walls, stack.places, row.ravel(), place.ravel()) == 0).reshape(len(who), r, g)
        bits = np.packbits(np.concatenate([on, far[own][:, None]], axis=1), axis=2, bitorder="little")
        width = bits.shape[2]
        distinct, at = np.unique(bits.reshape(len(who), -1), axis=0, return_inverse=True)
        for k, sets in enumerate(distinct):
            *masks, rays = (int.from_bytes(part.tobytes(), "little") for part in sets.reshape(r + 1, width))
            lines = (1 << g) - (1 << g - l)
            yield _Type(tuple(masks), rays & ~lines, lines, g), who[at.ravel() == k]


@lru_cache(maxsize=4096)
def _chains_of(kind: _Type, n: int) -> tuple[Numbers, Numbers, Numbers]:
    """All chains of a type that end in a corner or in a face without bound.

    For each the row of its facet (-1: the polyhedron alone), the places ``g_0, .., g_n`` such that the first ``j + 1``
    span its face of dimension `j`, and the dimension `k` of its last face.
    """
    full = (1 << kind.size) - 1
    finite, rows = full & ~kind.rays & ~kind.lines, _facet_rows(kind)
    facets = list(rows)
    found: list[tuple[int, tuple[int, ...], int]] = []
    todo: list[tuple[int, int, tuple[int, ...], int]] = [(full, n, (), -1)]
    while todo:
        face, dim, tail, row = todo.pop()
        if dim == 0 or face & (kind.rays | kind.lines):
            found.append((row, (*_spanning(face, facets, finite), *tail), dim))
        todo += [
            (part, dim - 1, (_lowest(face & ~part), *tail), rows[part] if dim == n else row)
            for part in _below(face, facets, finite)
        ]
    return tuple(np.array(column, dtype=np.int64) for column in zip(*found, strict=True))  # type: ignore[return-value]


def _facet_rows(kind: _Type) -> dict[int, int]:
    """For each facet, as a bit set of places, the first row that it is on."""
    full = (1 << kind.size) - 1
    finite = full & ~kind.rays & ~kind.lines
    rows = {mask: r for r, mask in reversed(list(enumerate(kind.masks))) if mask & finite and mask != full}
    return {mask: rows[mask] for mask in _maximal(set(rows))}


def _below(face: int, facets: list[int], finite: int) -> list[int]:
    """The faces of a face that are one dimension smaller."""
    return _maximal({face & other for other in facets if face & other & finite} - {face})


def _spanning(face: int, facets: list[int], finite: int) -> tuple[int, ...]:
    """Places of a face that span it, a corner first, or a point of its smallest face and then the lines."""
    below = _below(face, facets, finite)
    if below:
        return (*_spanning(below[0], facets, finite), _lowest(face & ~below[0]))
    corner = _lowest(face & finite)
    return (corner, *(k for k in _bits(face) if k != corner))


def _maximal(masks: set[int]) -> list[int]:
    return [m for m in sorted(masks) if not any(m != k and m & k == m for k in masks)]


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def facet_members(stack: Hulls) -> Iterator[tuple[Numbers, int, Numbers, int]]:
    """The facets, each hyperplane of a piece once, type by type.

    The hulls, the row among their rows, the places that span the facets, and how many of these, the last, are lines.
    """
    for kind, who in _types(stack):
        own = stack.member[stack.start[who][:, None] + np.arange(kind.size)]
        for mask, r in _facet_rows(kind).items():
            yield who, r, own[:, _bits(mask)], (mask & kind.lines).bit_count()


def facets(stack: Hulls) -> tuple[Numbers, Numbers, Integers]:
    """The facets: the piece, the row among its rows, and a place inside."""
    piece, rows, inside = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], [stack.places[:0]]
    for hull, r, members, lines in facet_members(stack):
        piece.append(stack.piece[hull])
        rows.append(np.full(len(hull), r, dtype=np.int64))
        inside.append(middle(stack.places[members[:, : members.shape[1] - lines]]))
    who, row = np.concatenate(piece), np.concatenate(rows)
    order = np.lexsort([row, who])
    return who[order], row[order], np.concatenate(inside)[order]


def facet_twins(stack: Hulls) -> Numbers:
    """For each row of the stack the polyhedron that has the same facet on its other side; -1 where there is none.

    >>> squares = Polyhedra.from_lists([[[1, 0], [-1, 0], [0, 1], [0, -1]]] * 2, [[1, 0, 1, 0], [2, -1, 1, 0]])
    >>> facet_twins(hulls(squares.exactly())).tolist()
    [1, -1, -1, -1, -1, 0, -1, -1]
    """
    found: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for who, r, members, _ in facet_members(stack):
        rows = stack.polyhedra.start[who] + r
        keys = np.column_stack([stack.planes.number[rows], np.sort(members, axis=1)]).tolist()
        for key, row, i in zip(keys, rows.tolist(), who.tolist(), strict=True):
            found.setdefault(tuple(key), []).append((row, i))
    twin = np.full(len(stack.polyhedra.b), -1, dtype=np.int64)
    for ends in found.values():
        if len(ends) == 2 and stack.planes.side[ends[0][0]] != stack.planes.side[ends[1][0]]:
            (one, i), (two, j) = ends
            twin[one], twin[two] = j, i
    return twin


def middles(stack: Hulls) -> Integers:
    """A place inside each polyhedron: the mean of its corners, moved by all of its rays."""
    size, found = np.diff(stack.start) - stack.lines, np.zeros((len(stack.lines), stack.places.shape[1]), dtype=object)
    for count in np.unique(size).tolist():
        who = np.flatnonzero(size == count)
        found[who] = middle(stack.places[stack.member[stack.start[who][:, None] + np.arange(count)]])
    return found


def middle(places: Integers) -> Integers:
    """For each row of places ``(x w, w)`` the mean of those with w > 0, plus all directions: (x w, w), primitive."""
    weight = places[..., -1]
    common = np.lcm.reduce(np.where(weight == 0, 1, weight), axis=1)
    count = (weight != 0).sum(axis=1).astype(object)
    factor = np.where(weight == 0, (common * count)[:, None], common[:, None] // np.where(weight == 0, 1, weight))
    return primitive((places * factor[..., None]).sum(axis=1))


def _bits(mask: int) -> list[int]:
    return [k for k in range(mask.bit_length()) if mask >> k & 1]


# All chains of all polyhedra: the numbers of their flats, and their signs.


_SURE = 1e-9  # determinants of entries up to 1 in floats are nearer than that, up to six by six


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """The chains of a stack of hulls, those that end neither in a corner nor in a face with its end left out."""

    flats: Numbers
    """A row for each chain: the numbers of its flats of dimension 0 to n - 1, -1 below its last one."""
    sign: Numbers
    part: Numbers
    """The number of the hull."""
    row: Numbers
    """The row of the stack that its facet is on; -1 for a hull alone."""
    span: Numbers
    """Places ``g_0, .., g_n`` such that the first ``k + 1`` span the face of dimension `k`."""
    names: list[Integers]
    """For each dimension the flats that have a number, by integers that say which they are."""


def chains(stack: Hulls, most: float = math.inf) -> Chains:
    """All chains of the form; `TooManyFaces` if they are more than about `most`."""
    n, kinds = stack.polyhedra.dim, list(_types(stack))
    if sum(kind.size for kind, _ in kinds) * math.factorial(n) > most:
        raise TooManyFaces("pieces with too many flags")
    spans, rows, depths, parts = [], [], [], []
    for kind, who in kinds:
        facet, flag, depth = _chains_of(kind, n)
        own = stack.member[stack.start[who][:, None] + np.arange(kind.size)]
        spans.append(own[:, flag].reshape(-1, n + 1))
        row = stack.polyhedra.start[who][:, None] + facet
        rows.append(np.where(facet < 0, -1, row).ravel())
        depths.append(np.tile(depth, len(who)))
        parts.append(np.repeat(who, len(flag)))
    span, row, depth, part = (np.concatenate(v) for v in (spans, rows, depths, parts))
    flats = np.full((len(span), n), -1, dtype=np.int64)
    turned = np.ones(len(span), dtype=np.int64)  # how the spanning places of the last face lie to its orientation
    kept = np.ones(len(span), dtype=bool)
    alone, axes = part[depth == n], np.eye(n + 1, dtype=np.int64).astype(object)[None, :-1]
    kept[depth == n] = _hold(stack, alone, np.zeros_like(alone), axes)
    flats[depth == 0, 0] = span[depth == 0, 0]
    names = [stack.places, *[stack.table] * (n - 1)]
    for k in range(1, n):
        here = np.flatnonzero(depth <= k)
        if k == n - 1:
            flats[here, k] = stack.planes.number[row[here]]
            here = here[depth[here] == k]
        if len(here):
            found = _flats(stack.places, span[here, : k + 1])
            if k < n - 1:
                flats[here, k], names[k] = found.number, found.rows
            last = depth[here] == k
            turned[here[last]] = found.lead[last]
            kept[here[last]] = _hold(stack, part[here[last]], *found.ends(stack.places, last))
    signs = np.where(depth == n, 1, _orientation(span, stack.places) * turned)
    return Chains(flats[kept], signs[kept], part[kept], row[kept], span[kept], names)


@dataclass(frozen=True, slots=True, eq=False)
class _Flats:
    """Flats by their numbers; the sign of the first Pluecker coordinate of each spanning set that is not 0, which is
    how the set lies to the orientation of its flat; and one spanning set for each number."""

    number: Numbers
    lead: Numbers
    spanning: Numbers
    rows: Integers
    """For each number the Pluecker coordinates, primitive, the first that is not 0 positive."""

    def ends(self, places: Integers, which: NDArray[np.bool_]) -> tuple[Numbers, Integers]:
        """For some flats the reduced echelon basis of their directions, as places ``(d, 0)``: which, and all bases."""
        numbers, at = np.unique(self.number[which], return_inverse=True)
        k = self.spanning.shape[1] - 1
        found = np.zeros((len(numbers), k, places.shape[1]), dtype=np.int64).astype(object)
        for i, own in enumerate(places[self.spanning[numbers]]):
            finite = int(np.argmax(own[:, -1] != 0))
            base, rest = own[finite], np.delete(own, finite, axis=0)
            d = rest[:, :-1] * base[-1] - base[:-1] * rest[:, -1:]
            reduced, below, _ = fmpz_mat(*d.shape, d.ravel().tolist()).rref()
            turn = 1 if below > 0 else -1
            found[i, :, :-1] = np.array([int(v) * turn for v in reduced.entries()], dtype=object).reshape(d.shape)
        return at.astype(np.int64).ravel(), found


def _flats(places: Integers, spanning: Numbers) -> _Flats:
    """Numbers for flats given by independent places, equal for equal flats: by their Pluecker coordinates."""
    order = np.argsort(spanning, axis=1)
    parity = np.linalg.det(np.eye(spanning.shape[1])[order]).round().astype(np.int64)
    sets, at = unique_rows(np.take_along_axis(spanning, order, axis=1))
    rows = primitive(maximal_minors(places[sets]))
    lead = sign(rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)])
    first, number = number_rows(rows * lead[:, None])
    return _Flats(number[at], lead[at] * parity, sets[first], (rows * lead[:, None])[first])


def _hold(stack: Hulls, part: Numbers, flat: Numbers, ends: Integers) -> NDArray[np.bool_]:
    """Whether faces on flats hold the ends of these: no row of their polyhedron grows along ``d_1 + e d_2 + ..``."""
    pairs, at = unique_rows(np.stack([part, flat], axis=1))
    start, size = stack.polyhedra.start, ends.shape[1]
    row, pair = ranges(start[pairs[:, 0]], np.diff(start)[pairs[:, 0]])
    lead = np.zeros(len(row), dtype=np.int64)
    rows, places = stack.polyhedra.integer(), ends.reshape(-1, ends.shape[2])
    for k in range(size):
        left = np.flatnonzero(lead == 0)
        if len(left):
            lead[left] = sides(rows, places, row[left], pairs[pair[left], 1] * size + k)
    good = np.ones(len(pairs), dtype=bool)
    good[pair[lead > 0]] = False
    return good[at]


def _orientation(span: Numbers, places: Integers) -> Numbers:
    """The signs of the determinants of rows of places."""
    view = unit_view(places)
    with np.errstate(all="ignore"):  # what is too small for floats is decided in integers
        value = np.linalg.det(view[span])
    unsure = ~((np.abs(value) > _SURE) & np.isfinite(value))
    signs = np.where(unsure, 0, np.sign(value)).astype(np.int64)
    if unsure.any():
        signs[unsure] = sign(determinant(places[span[unsure]]))
    return np.asarray(signs, dtype=np.int64)


def totals(keys: Numbers, signs: Numbers) -> Numbers:
    """For each row of numbers the sum of the signs of all rows that are equal to it."""
    distinct, at = unique_rows(keys)
    total = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(total, at, signs)
    return np.asarray(total[at])


def unique_rows(rows: Numbers) -> tuple[Numbers, Numbers]:
    """Distinct rows of numbers from -1 on, and which of them each is: as one number, where that fits."""
    size = rows.max(axis=0, initial=0) + 2
    if math.prod(size.tolist()) >= 1 << 62:
        distinct, at = np.unique(rows, axis=0, return_inverse=True)
        return distinct, at.ravel()
    scale = np.array([math.prod(size[k + 1 :].tolist()) for k in range(len(size))], dtype=np.int64)
    _, first, at = np.unique((rows + 1) @ scale, return_index=True, return_inverse=True)
    return rows[first], at
