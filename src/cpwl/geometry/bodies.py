"""Polyhedra with an interior, by irredundant rows and by what spans them, many at once and exactly.

A polyhedron with generators has an interior iff no row is tight at all of them. Then its facets are its largest faces:
a row is one of a facet iff a corner is tight in it and no other row is tight at the same generators and at more. So
once corners and rays are known there is nothing left to solve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from flint import fmpq
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError
from cpwl.exact.integers import determinant, number_rows, primitive, ratio_view, sides, signs_at
from cpwl.exact.rational import from_flint
from cpwl.geometry.facets import facets_of, hyperplanes, known_facets, rows_of
from cpwl.geometry.generators import MOST, Generators, generators
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, end_to_end, fact, joined, ranges
from cpwl.geometry.probe import Probe

_LONGEST = 62  # generators that a mask of 64 bits tells apart
_BLOCK = 20_000  # polyhedra at a time


@dataclass(frozen=True, slots=True, eq=False)
class Bodies:
    """Polyhedra with an interior and irredundant integer rows; `spans` has generators in integers where known."""

    polyhedra: Polyhedra
    spans: Generators

    def __len__(self) -> int:
        return len(self.polyhedra)

    @property
    def rows(self) -> NDArray[np.object_]:
        """All rows ``(a, b)``, primitive integers."""
        assert self.polyhedra.exact is not None
        return self.polyhedra.exact

    @property
    def places(self) -> NDArray[np.object_]:
        """All corners ``(x, 1) * w`` and rays ``(r, 0)``."""
        return self.spans.places

    @property
    def spanning(self) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
        """What spans one body after the other: the number of the body, and the place."""
        return self.spans.owner, self.places[self.spans.member]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which of them have generators: the others contain a line, or have too many rows."""
        return self.spans.known

    def take(self, which: NDArray[np.int64]) -> Bodies:
        """Those with the given numbers, in that order."""
        return Bodies(self.polyhedra.take(which), self.spans.take(which))


def stacked(rows: NDArray[np.object_], start: NDArray[np.int64]) -> Polyhedra:
    """Polyhedra of primitive integer rows ``(a, b)``, the float view scaled to largest slope 1."""
    view = ratio_view(rows, np.abs(rows[:, :-1]).max(axis=1, initial=1)[:, None])
    return Polyhedra(view[:, :-1].copy(), view[:, -1].copy(), start, rows)


def body_of(rows: NDArray[np.object_]) -> Polyhedron:
    """The polyhedron of primitive integer rows ``(a, b)``."""
    return stacked(rows, np.array([0, len(rows)]))[0]


def compact(bodies: Bodies) -> Bodies:
    """The same bodies with every place once."""
    used, at = np.unique(bodies.spans.member, return_inverse=True)
    first, new = number_rows(bodies.places[used])
    return Bodies(bodies.polyhedra, Generators(bodies.places[used[first]], new[at.ravel()], bodies.spans.start))


def joined_bodies(parts: Sequence[Bodies]) -> Bodies:
    """Several stacks as one."""
    if len(parts) == 1:
        return parts[0]
    shift = np.cumsum([0] + [len(part.places) for part in parts])
    member = np.concatenate([part.spans.member + by for part, by in zip(parts, shift[:-1], strict=True)])
    spans = Generators(
        np.concatenate([part.places for part in parts]), member, end_to_end([part.spans.start for part in parts])
    )
    return Bodies(joined([part.polyhedra for part in parts]), spans)


@fact
def solid(polyhedra: Polyhedra) -> tuple[NDArray[np.int64], Bodies]:
    """The polyhedra that have an interior: their numbers, and the same without redundant rows.

    >>> strip = Polyhedra.from_lists([[[1, 0], [0, 1], [-1, -1], [1, 1]], [[1, 0], [-1, 0]]], [[1, 1, 0, 9], [0, 0]])
    >>> kept, bodies = solid(strip)
    >>> kept, bodies.rows.tolist()
    (array([0]), [[1, 0, 1], [0, 1, 1], [-1, -1, 0]])
    """
    return solid_among(polyhedra, np.zeros(len(polyhedra), dtype=bool))


def solid_among(
    polyhedra: Polyhedra, pointed: NDArray[np.bool_], *, full: bool = False
) -> tuple[NDArray[np.int64], Bodies]:
    """The same where some are known to contain no line: then one without corners is empty.

    `full` says that all have an interior.
    """
    parts, kept = [], []
    for first in range(0, len(polyhedra), _BLOCK):
        block = np.arange(first, min(first + _BLOCK, len(polyhedra)))
        for which, bodies in _solid(polyhedra.take(block), pointed[block], full):
            kept.append(block[which])
            parts.append(bodies)
    if not parts:
        none, zero = np.zeros((0, polyhedra.dim + 1), dtype=object), np.zeros(1, dtype=np.int64)
        return zero[:0], Bodies(stacked(none, zero), Generators(none, zero[:0], zero))
    number = np.concatenate(kept)
    order = np.argsort(number, kind="stable")
    return number[order], joined_bodies(parts).take(order)


def _solid(polyhedra: Polyhedra, pointed: NDArray[np.bool_], full: bool) -> list[tuple[NDArray[np.int64], Bodies]]:
    """By generators those that have them, by linear programs the others unless they are empty."""
    rows = primitive(polyhedra.integer())
    if polyhedra.exact is not None and (rows == polyhedra.exact).all():
        whole = polyhedra  # which may know its generators
    else:
        whole = Polyhedra(polyhedra.A, polyhedra.b, polyhedra.start, rows)
    found = generators(whole)
    count = np.diff(found.start)
    usable = (count > 0) & (count <= _LONGEST)
    result = []
    which = np.flatnonzero(usable)
    if len(which):
        result.append(_by_generators(Bodies(whole, found).take(which), which))
    size = np.diff(whole.start)
    tried = np.array([math.comb(int(k) + 1, whole.dim) <= MOST for k in size], dtype=bool)
    rest = np.flatnonzero(~usable & ~((count == 0) & pointed & tried))
    if len(rest):
        result.append(_by_programs(whole, rest, full))
    return result


def _by_generators(bodies: Bodies, number: NDArray[np.int64]) -> tuple[NDArray[np.int64], Bodies]:
    start, begin = bodies.polyhedra.start, bodies.spans.start
    owner = bodies.polyhedra.owner
    row, entry = _tight(bodies)
    mask = np.zeros(len(owner), dtype=np.int64)
    np.bitwise_or.at(mask, row, np.left_shift(np.int64(1), entry - begin[owner][row]))
    full = np.left_shift(np.int64(1), np.diff(begin)[owner]) - 1
    inner = np.ones(len(bodies), dtype=bool)
    inner[owner[mask == full]] = False
    corner = np.zeros(len(owner), dtype=bool)
    corner[row[np.asarray(bodies.places[bodies.spans.member[entry], -1] != 0, dtype=bool)]] = True
    facet = corner & ~_within_another(mask, corner, start, owner)
    kept = np.flatnonzero(inner)
    rows = np.flatnonzero(facet & inner[owner])
    new = np.searchsorted(owner[rows], np.append(kept, len(bodies))).astype(np.int64)
    chosen = bodies.take(kept)
    exact = bodies.rows[rows]
    polyhedra = Polyhedra(bodies.polyhedra.A[rows], bodies.polyhedra.b[rows], new, exact)
    return number[kept], Bodies(polyhedra, chosen.spans)


def _within_another(
    mask: NDArray[np.int64], corner: NDArray[np.bool_], start: NDArray[np.int64], owner: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The rows that are tight where another one is, which is tight at more places, or at the same and came first."""
    other, row = ranges(start[owner], np.diff(start)[owner])
    inside = (mask[row] & ~mask[other] == 0) & corner[other]
    beaten = inside & ((mask[row] != mask[other]) | (other < row))
    result = np.zeros(len(mask), dtype=bool)
    result[row[beaten]] = True
    return result


def _by_programs(polyhedra: Polyhedra, which: NDArray[np.int64], full: bool) -> tuple[NDArray[np.int64], Bodies]:
    """Interior and facets by linear programs, one polyhedron after the other."""
    planes, probe = hyperplanes(polyhedra, 0.0), Probe(0.0)
    kept, facets = [], []
    for i in which.tolist():
        if full or probe.interior(polyhedra[i]) is not None:
            kept.append(i)
            facets.append(facets_of(polyhedra, planes, i, probe))
    start = np.cumsum([0] + [len(own) for own in facets]).astype(np.int64)
    chosen = np.array([facet.row for own in facets for facet in own], dtype=np.int64)
    exact = polyhedra.exact
    assert exact is not None
    stack = Polyhedra(polyhedra.A[chosen], polyhedra.b[chosen], start, exact[chosen])
    for k, own in enumerate(facets):  # nobody need find them again
        known_facets(stack)[k] = [replace(f, piece=k, row=int(start[k]) + r) for r, f in enumerate(own)]
    none = np.zeros((0, polyhedra.dim + 1), dtype=object)
    nothing = Generators(none, chosen[:0], np.zeros(len(kept) + 1, dtype=np.int64))
    return np.array(kept, dtype=np.int64), Bodies(stack, nothing)


# Polyhedra without most of their redundant rows: floats propose which to keep, corners decide in integers.
#
# With an inner point as origin, row `i` becomes the point ``a_i / (b_i - a_i.x)``; the rows that matter are the corners
# of the convex hull of these points and 0. What floats leave out is verified: a row holds on a polyhedron without lines
# iff it holds at its corners and along its rays. A row that is kept in vain changes nothing.


def irredundant(polyhedra: Polyhedra, inner: NDArray[np.object_]) -> Polyhedra:
    """The same polyhedra, each with the interior point ``inner[i]``, by fewer rows; exact.

    >>> square = Polyhedra.from_lists([[[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]]], [[1, 1, 1, 1, 3]])
    >>> len(irredundant(square, np.zeros((1, 2), dtype=object)).b)
    4
    """
    kept = [_proposed(polyhedra, i, inner[i]) for i in range(len(polyhedra))]
    if polyhedra.dim == 1 or sum(map(len, kept)) == len(polyhedra.b):
        return _slim(polyhedra)
    proposed = _stack(polyhedra, kept)
    found = generators(proposed)
    unsure = []
    for i, rows in enumerate(kept):  # each polyhedron has corners of its own
        left_out = np.setdiff1d(np.arange(polyhedra.start[i], polyhedra.start[i + 1]), rows)
        places = found.places[found.of_piece(i)]
        if len(left_out) and not (len(places) and _hold(rows_of(polyhedra, left_out.tolist()).integer(), places)):
            unsure.append(i)
    if not unsure:
        return proposed
    slow = _slim(polyhedra.take(np.array(unsure)))
    bodies = {i: slow[k] for k, i in enumerate(unsure)}
    return joined([bodies.get(i, proposed[i]).alone() for i in range(len(polyhedra))])


def _slim(polyhedra: Polyhedra) -> Polyhedra:
    """Polyhedra with an interior without redundant rows, by corners or linear programs."""
    return solid_among(polyhedra, np.zeros(len(polyhedra), dtype=bool), full=True)[1].polyhedra


def _proposed(polyhedra: Polyhedra, i: int, inner: NDArray[np.object_]) -> NDArray[np.int64]:
    """The rows of one polyhedron that matter, as far as floats can tell; all of them where they cannot."""
    every = np.arange(polyhedra.start[i], polyhedra.start[i + 1])
    body = polyhedra[i]
    rows = primitive(body.integer())
    first = {tuple(row): k for k, row in reversed(list(enumerate(rows)))}
    distinct = np.array(sorted(first.values()), dtype=np.int64)
    x = np.asarray(inner, dtype=np.float64)
    A, b = body.A[distinct], body.b[distinct]
    slack = b - A @ x
    # A hull of N points in R^n has up to about 2 (N - n/2 choose n/2) facets: they must cost less than programs.
    faces = 2 * math.comb(max(len(distinct) - polyhedra.dim // 2, 0), polyhedra.dim // 2)
    if len(distinct) <= polyhedra.dim or not (slack > 0).all() or faces > MOST:
        return every[distinct]
    points = np.vstack([A / slack[:, None], np.zeros(polyhedra.dim)])
    try:
        corners = scipy.spatial.ConvexHull(points).vertices
    except (scipy.spatial.QhullError, ValueError):  # flat: the polyhedron contains a line
        return every[distinct]
    return np.asarray(every[distinct[np.sort(corners[corners < len(distinct)])]])


def _stack(polyhedra: Polyhedra, kept: list[NDArray[np.int64]]) -> Polyhedra:
    start = np.cumsum([0] + [len(rows) for rows in kept]).astype(np.int64)
    body = rows_of(polyhedra, np.concatenate(kept).tolist())
    return Polyhedra(body.A, body.b, start, body.exact)


def _hold(rows: NDArray[np.object_], places: NDArray[np.object_]) -> bool:
    """Whether ``a.x <= b`` holds at all places, for all rows."""
    laws = np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1)
    return bool((signs_at(laws, places) <= 0).all())


# Volumes and integrals of bounded pieces, exactly: each is cut into simplices from one of its corners.
#
# The integral of an affine function over a simplex is its volume times the mean of the values at the corners. A simplex
# of corners ``(x_k, 1) w_k`` has volume ``|det| / (n! w_0 .. w_n)``.


def is_bounded(bodies: Bodies) -> bool:
    """Whether all bodies are known to be bounded."""
    return bool(bodies.known.all()) and bool((bodies.places[bodies.spans.member, -1] != 0).all())


def volume_of(bodies: Bodies) -> Fraction:
    """The volume of all bodies together."""
    return _total(*_volumes(bodies)[1:]) if len(bodies) else Fraction(0)


def integral_of(bodies: Bodies, laws: NDArray[np.object_]) -> tuple[Fraction, Fraction]:
    """The integral of one law for each body, and the volume of them all."""
    if not len(bodies):
        return Fraction(0), Fraction(0)
    (owner, corners), above, below = _volumes(bodies)
    n = bodies.polyhedra.dim
    law = laws[owner]
    weights = bodies.places[corners]
    values = (weights * law[:, None, :-1]).sum(axis=2)  # times the weight of the corner and the denominator
    product = weights[..., -1].prod(axis=1)
    mean = (values * (product[:, None] // weights[..., -1])).sum(axis=1)
    return _total(above * mean, below * product * law[:, -1] * (n + 1)), _total(above, below)


def _volumes(bodies: Bodies) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], Any, Any]:
    if not bodies.known.all():
        raise LimitError("a piece contains a line, or has too many rows for its corners to be listed")
    if not is_bounded(bodies):
        raise InputError("the domain is not bounded: give one, as `box=(low, high)`")
    owner, corners = _simplices(bodies)
    weights = bodies.places[corners]
    above = np.abs(determinant(weights))
    return (owner, corners), above, weights[..., -1].prod(axis=1) * math.factorial(bodies.polyhedra.dim)


def _total(above: NDArray[np.object_], below: NDArray[np.object_]) -> Fraction:
    """The sum of many quotients, in a tree: numbers stay short as long as they can."""
    terms = [fmpq(int(a), int(b)) for a, b in zip(above, below, strict=True)]
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + terms[len(terms) & ~1 :]
    return from_flint(terms[0]) if terms else Fraction(0)


def _simplices(bodies: Bodies) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Simplices that fill the bodies: which body each is in, and the numbers of its corners."""
    n, begin = bodies.polyhedra.dim, bodies.spans.start
    count = np.diff(begin)
    plain = np.flatnonzero(count == n + 1)
    owners = [plain]
    corners = [bodies.spans.member[begin[plain][:, None] + np.arange(n + 1)]]
    rest = np.flatnonzero(count > n + 1)
    if len(rest):
        part = bodies.take(rest)
        found = _fans(part) if n == 2 else _pulled(part)
        owners.append(rest[found[0]])
        corners.append(found[1])
    return np.concatenate(owners), np.concatenate(corners)


def _tight(bodies: Bodies) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a row and an entry of the members that is tight in it."""
    begin, owner = bodies.spans.start, bodies.polyhedra.owner
    entry, row = ranges(begin[owner], np.diff(begin)[owner])
    touching = sides(bodies.rows, bodies.places, row, bodies.spans.member[entry]) == 0
    return row[touching], entry[touching]


def _fans(bodies: Bodies) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Polygons: one triangle for each edge that does not touch the first corner."""
    row, entry = _tight(bodies)
    first, second = entry[::2], entry[1::2]
    assert (row[::2] == row[1::2]).all()  # an edge has two corners
    owner = bodies.polyhedra.owner[row[::2]]
    apex = bodies.spans.start[owner]
    use = (first != apex) & (second != apex)
    member = bodies.spans.member
    return owner[use], np.stack([member[apex[use]], member[first[use]], member[second[use]]], axis=1)


def _pulled(bodies: Bodies) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Polytopes one by one: from a corner over the facets that it is not in, again and again."""
    row, entry = _tight(bodies)
    start, begin = bodies.polyhedra.start, bodies.spans.start
    masks = [0] * len(bodies.polyhedra.b)
    base = begin[bodies.polyhedra.owner]
    for r, e in zip(row.tolist(), entry.tolist(), strict=True):
        masks[r] |= 1 << (e - int(base[r]))
    owner, corners = [], []
    for i in range(len(bodies)):
        facets = masks[start[i] : start[i + 1]]
        own = bodies.spans.of_piece(i)
        for simplex in pulled_face((1 << len(own)) - 1, facets, bodies.polyhedra.dim):
            owner.append(i)
            corners.append(own[list(simplex)])
    return np.array(owner, dtype=np.int64), np.array(corners, dtype=np.int64).reshape(-1, bodies.polyhedra.dim + 1)


def pulled_face(face: int, facets: list[int], dim: int) -> list[tuple[int, ...]]:
    """The pulling triangulation of a face, corners as bits."""
    apex = (face & -face).bit_length() - 1
    if dim == 0:
        return [(apex,)]
    parts = {face & other for other in facets if face & other not in (0, face)}
    largest = [s for s in parts if not any(s != t and s & ~t == 0 for t in parts)]
    return [(apex, *rest) for s in sorted(largest) if not s >> apex & 1 for rest in pulled_face(s, facets, dim - 1)]
