"""Exactly consistent or not, decided without linear programs: cancellation of flags.

A *flag* of a piece is a chain of its faces ``F_0 < F_1 < .. < F_(n-1)``, one of each dimension. Its *key* is the chain
of their flats (a place, a line, .., a hyperplane `h`) and the law of the piece restricted to `h`, everything exact; its
*sign* is the orientation of ``(g_0, .., g_n)`` in homogeneous coordinates, `g_k` any corner or ray of `F_k` that is not
in ``F_(k-1)``, and `g_n` one that is not in ``F_(n-1)``.

Theorem. Let pieces with interiors be bounded or planar, or let each lie in one orthant, which is then a part of the
key, less the coordinates that are 0 on `h`. If the signs of every key on a hyperplane that has parts of pieces on both
sides add up to 0, then the pieces cover a convex set equally often everywhere, and at almost every point of its
interior the laws of the two sides of a facet agree. So if one inner point of a piece is in no other, the pieces are an
exactly consistent function. Statement, proof, and why the orthant is needed: docs/theory/flags.md.

Pieces need not meet face to face, several may have one law, and there may be any number of outputs. Every key is a
few integers: the time is that of sorting them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.exact.integers import determinant, primitive, sides, sign, signs_at, unit_view
from cpwl.function.answers import point_text
from cpwl.function.cpwl import CPWL
from cpwl.geometry.facets import Hyperplanes, hyperplanes
from cpwl.geometry.generators import MOST, Generators, generators, plane_rows
from cpwl.geometry.polyhedra import Polyhedra, fact

__all__ = ["Consistency", "consistency", "is_sound_by_flags"]

# Pieces as pointed cones in homogeneous coordinates: those without interior left out, the endless cut along axes.


_SURE_RANK = 1e-9  # smallest singular values of entries up to 1 in floats are nearer than that


@dataclass(frozen=True, slots=True, eq=False)
class Pointed:
    """Pointed pieces with interiors; the piece each is a part of, and its orthant if they had to be cut (else 0)."""

    polyhedra: Polyhedra
    planes: Hyperplanes
    table: NDArray[np.object_]
    spanned: Generators
    piece: NDArray[np.int64]
    orthant: NDArray[np.int64]


def pointed(polyhedra: Polyhedra, planes: Hyperplanes) -> Pointed | str:
    """The pieces ready for the theorem, or why that would take too long."""
    n, count = polyhedra.dim, len(polyhedra)
    spanned = generators(polyhedra)
    unknown = np.flatnonzero(~spanned.known).tolist()
    lines = [i for i in unknown if _rank(polyhedra.A[_own(polyhedra, i)], n) < n]
    lines = [i for i in lines if exact_rank(polyhedra[i].integer()[:, :-1]) < n]
    piece, orthant = np.arange(count), np.zeros((count, n), dtype=np.int64)
    endless = bool((spanned.places[spanned.member, -1] == 0).any())
    if lines or (n > 2 and endless):
        piece, orthant = _orthants(polyhedra, spanned, set(lines))
        polyhedra = _cut(polyhedra, piece, orthant)
        planes = hyperplanes(polyhedra, 0.0)
        spanned = generators(polyhedra)
    many = [i for i in np.flatnonzero(~spanned.known) if _too_many(polyhedra, planes, int(i))]
    if many:
        return f"piece {piece[many[0]]} has too many rows"
    solid = np.flatnonzero(_solid(spanned, n))
    kept = Generators(spanned.places, *_picked(spanned.member, spanned.start, solid))
    rows = _picked(np.arange(len(polyhedra.b)), polyhedra.start, solid)[0]
    chosen = Hyperplanes(np.unique(planes.number[rows], return_inverse=True)[1].astype(np.int64), planes.side[rows])
    taken = polyhedra.take(solid)
    return Pointed(taken, chosen, plane_rows(taken, chosen), kept, piece[solid], orthant[solid])


def _own(polyhedra: Polyhedra, i: int) -> slice:
    return slice(int(polyhedra.start[i]), int(polyhedra.start[i + 1]))


def _rank(rows: NDArray[np.float64], n: int) -> int:
    """A rank that is never too large: `n` if floats leave no doubt, else less."""
    if len(rows) < n:
        return len(rows)
    values = np.linalg.svd(rows / np.abs(rows).max(axis=1, keepdims=True), compute_uv=False)
    return n if values[-1] > _SURE_RANK else n - 1


def exact_rank(rows: NDArray[np.object_]) -> int:
    """The rank of an integer matrix."""
    return int(fmpz_mat(*rows.shape, rows.ravel().tolist()).rank()) if rows.size else 0


def _too_many(polyhedra: Polyhedra, planes: Hyperplanes, i: int) -> bool:
    """Whether a piece has no known corners because nobody looked; if not it is empty or flat."""
    return math.comb(len(np.unique(planes.number[_own(polyhedra, i)])) + 1, polyhedra.dim) > MOST


def _orthants(
    polyhedra: Polyhedra, spanned: Generators, lines: set[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The parts in which the coordinate planes cut the pieces: which piece, and the signs of the coordinates."""
    signs = sign(spanned.places[:, :-1])
    piece, orthant = [], []
    for i in range(len(polyhedra)):  # few functions need this, and most of their pieces are in one orthant
        own = signs[spanned.member[spanned.start[i] : spanned.start[i + 1]]]
        if len(own) == 0 and i not in lines:
            continue  # empty, flat or with too many rows
        choices = [_directions(set(own[:, k].tolist()) if i not in lines else {1, -1}) for k in range(polyhedra.dim)]
        parts = list(itertools.product(*choices))
        piece += [i] * len(parts)
        orthant += parts
    return np.array(piece, dtype=np.int64), np.array(orthant, dtype=np.int64).reshape(-1, polyhedra.dim)


def _directions(signs: set[int]) -> list[int]:
    """The sides of a coordinate plane that a piece has points on."""
    return [s for s in (1, -1) if s in signs] or [1]


def _cut(polyhedra: Polyhedra, piece: NDArray[np.int64], orthant: NDArray[np.int64]) -> Polyhedra:
    """Each part with the rows of its piece and those of its orthant."""
    n, parts = polyhedra.dim, polyhedra.take(piece)
    end = parts.start[1:]
    more = np.zeros((len(piece) * n, n + 1), dtype=np.int64)
    more[np.arange(len(more)), np.tile(np.arange(n), len(piece))] = -orthant.ravel()
    rows = np.insert(parts.integer(), np.repeat(end, n), more.astype(object), axis=0)
    view = np.insert(np.column_stack([parts.A, parts.b]), np.repeat(end, n), more.astype(np.float64), axis=0)
    start = np.concatenate([[0], end + n * np.arange(1, len(piece) + 1)]).astype(np.int64)
    return Polyhedra(view[:, :-1].copy(), view[:, -1].copy(), start, rows)


def _solid(spanned: Generators, n: int) -> NDArray[np.bool_]:
    """Which polyhedra have an interior: their generators span all dimensions."""
    view, size = unit_view(spanned.places), np.diff(spanned.start)
    found = np.zeros(len(size), dtype=bool)
    for count in np.unique(size[size > n]).tolist():
        who = np.flatnonzero(size == count)
        member = spanned.member[spanned.start[who][:, None] + np.arange(count)]
        smallest = np.linalg.svd(view[member], compute_uv=False)[:, -1]
        found[who] = smallest > _SURE_RANK
        for i in who[smallest <= _SURE_RANK]:
            own = spanned.member[spanned.start[i] : spanned.start[i + 1]]
            found[i] = exact_rank(spanned.places[own]) == n + 1
    return found


def _picked(
    member: NDArray[np.int64], start: NDArray[np.int64], which: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Some of the groups ``member[start[i]:start[i + 1]]``, with where each begins."""
    length = np.diff(start)[which]
    begin = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    return member[np.repeat(start[which] - begin[:-1], length) + np.arange(begin[-1])], begin


# The flags of pieces, type by type: which corners and rays are on which rows says all about the faces of a piece.


Type = tuple[tuple[int, ...], int, int]
"""For each row the bit set of the generators on it, the bit set of the rays, and the number of generators."""


def types_of(stack: Pointed) -> dict[Type, list[int]]:
    """Which generators of a piece are on which of its rows, as bit sets: pieces with equal ones are of one type."""
    rows, members = np.diff(stack.polyhedra.start), np.diff(stack.spanned.start)
    owner = np.repeat(np.arange(len(rows)), rows * members)
    begin = np.concatenate([[0], np.cumsum(rows * members)])
    place = np.arange(begin[-1]) - begin[owner]
    row = stack.polyhedra.start[owner] + place // members[owner]
    point = stack.spanned.member[stack.spanned.start[owner] + place % members[owner]]
    on = _incident(stack.table, stack.spanned.places, stack.planes.number[row], point)
    far = np.asarray(stack.spanned.places[stack.spanned.member, -1] == 0, dtype=bool)
    types: dict[Type, list[int]] = {}
    for i, (r, g) in enumerate(zip(rows.tolist(), members.tolist(), strict=True)):
        masks = _bit_sets(on[begin[i] : begin[i + 1]].reshape(r, g))
        rays = _bit_sets(far[None, stack.spanned.start[i] : stack.spanned.start[i + 1]])[0]
        types.setdefault((masks, rays, g), []).append(i)
    return types


def _bit_sets(rows: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int.from_bytes(row.tobytes(), "little") for row in np.packbits(rows, axis=1, bitorder="little"))


def _incident(
    table: NDArray[np.object_], places: NDArray[np.object_], plane: NDArray[np.int64], point: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each point is on each plane: floats where they can tell, integers elsewhere."""
    walls = np.concatenate([table[:, :-1], -table[:, -1:]], axis=1)
    return np.asarray(sides(walls, places, plane, point) == 0)


@lru_cache(maxsize=4096)
def flags_of(masks: tuple[int, ...], rays: int, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All flags of a type: for each the row of its facet, and its generators ``g_0, .., g_n``.

    Of the faces at infinity only places are faces here.
    """
    rows = {mask: r for r, mask in reversed(list(enumerate(masks)))}
    facets = _maximal(set(rows) - {0})
    every = 0
    for facet in facets:
        every |= facet
    found: list[tuple[int, tuple[int, ...]]] = []
    for facet in facets:
        todo: list[tuple[int, int, tuple[int, ...]]] = [(facet, n - 1, (_lowest(every & ~facet),))]
        while todo:
            face, dim, tail = todo.pop()
            if dim == 1:
                u, v = _lowest(face), face.bit_length() - 1
                found += [(rows[facet], (u, v, *tail)), (rows[facet], (v, u, *tail))]
                continue
            parts = _maximal({face & other for other in facets if face & other & ~rays} - {face})
            todo += [(part, dim - 1, (_lowest(face & ~part), *tail)) for part in parts]
    return np.array([r for r, _ in found], dtype=np.int64), np.array([f for _, f in found], dtype=np.int64)


def _maximal(masks: set[int]) -> list[int]:
    return [m for m in sorted(masks) if not any(m != k and m & k == m for k in masks)]


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


_FEW = 12  # pieces that are looked at first
_DIMENSIONS = 5  # a simplex has (n + 1)! flags
_FLAGS = {4: 5_000_000, 5: 200_000}  # of all types of pieces, about, 20 microseconds each; beyond, linear programs
_SURE = 1e-9  # determinants of entries up to 1 in floats are nearer than that, up to six by six


@dataclass(frozen=True, slots=True)
class Consistency:
    """Whether pieces are an exactly consistent function; None: not decided."""

    consistent: bool | None
    reason: str
    """Empty, or what speaks against it, with a witness where there is one."""
    flat: tuple[int, ...] = ()
    """The pieces without interior: they do not count."""


@fact
def consistency(p: CPWL) -> Consistency:
    """Whether the data of `p`, every number taken as the rational that it is, is an exactly consistent function.

    Pieces without interior do not count. Not decided where there is one input, where there are more than five, and
    where a piece has very many rows or pieces have very many flags.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[1.0, 0.0]], [[-1.0, 0.0]]], [[0.5], [-0.5]], [[0.0, 0.0], [2.0, 0.0]], [0.0, -1.0])
    >>> p.tol, consistency(p)
    (1e-09, Consistency(consistent=True, reason='', flat=()))
    """
    if not 2 <= p.dim <= _DIMENSIONS:
        return Consistency(None, f"{p.dim} inputs")
    planes = hyperplanes(p.polyhedra, 0.0)
    if _is_hopeless(p.polyhedra, planes):
        return Consistency(False, "the facets of most pieces have no exact counterpart")
    stack = pointed(p.polyhedra, planes)
    if isinstance(stack, str):
        return Consistency(None, stack)
    if len(stack.polyhedra) == 0:
        return Consistency(False, "no piece has an interior")
    if sum(count for _, _, count in types_of(stack)) * math.factorial(p.dim) > _FLAGS.get(p.dim, math.inf):
        return Consistency(None, "pieces with too many flags")
    reason = _uncancelled(p, stack) or _covered_twice(stack) or ""
    flat = np.setdiff1d(np.arange(p.num_pieces), stack.piece).tolist()
    return Consistency(not reason, reason, tuple(flat))


def _is_hopeless(polyhedra: Polyhedra, planes: Hyperplanes) -> bool:
    """Whether a few pieces show that data is not consistent, as noisy data is not: a quick no, or nothing.

    A facet on a hyperplane that has rows on one side only must bound the domain, so no piece reaches beyond it.
    """
    some = np.unique(np.linspace(0, len(polyhedra) - 1, _FEW).astype(np.int64))
    few = polyhedra.take(some)
    spanned = generators(few)
    places = spanned.places[np.unique(spanned.member)]
    side = np.zeros((int(planes.number.max(initial=-1)) + 1, 2), dtype=bool)
    side[planes.number, (planes.side + 1) // 2] = True
    row = np.concatenate([np.arange(polyhedra.start[i], polyhedra.start[i + 1]) for i in some])
    single = np.flatnonzero(~side[planes.number[row]].all(axis=1))
    integer = few.integer()
    for r in single.tolist():
        i = int(few.owner[r])
        own = spanned.places[spanned.member[spanned.start[i] : spanned.start[i + 1]]]
        plane = np.append(integer[r, :-1], -integer[r, -1])[None]
        on = own[signs_at(plane, own)[0] == 0] if len(own) else own
        if len(on) >= polyhedra.dim and (signs_at(plane, places) > 0).any():
            return exact_rank(on) == polyhedra.dim and exact_rank(own) > polyhedra.dim
    return False


def is_sound_by_flags(p: CPWL) -> bool:
    """Whether flags prove that the pieces of an exact function have interiors, cover its domain once, and agree.

    False says nothing: only that this proof does not apply. In five dimensions linear programs are faster.
    """
    if p.tol or p.dim >= _DIMENSIONS:
        return False
    found = consistency(p)
    return bool(found.consistent) and not found.flat


def _uncancelled(p: CPWL, stack: Pointed) -> str | None:
    """Where facets on the two sides of a hyperplane do not cover the same, law by law, in words."""
    keys, signs, part = _keys(p, stack)
    distinct, at = np.unique(keys, axis=0, return_inverse=True)
    total = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(total, at.ravel(), signs)
    table = stack.table
    left = np.unique(distinct[total != 0, -1])
    for h in left.tolist():
        beyond = _beyond(stack, table[h])
        if beyond is not None:
            wrong = np.flatnonzero((total != 0) & (distinct[:, -1] == h))
            flag = int(np.flatnonzero(at.ravel() == wrong[0])[0])
            place = stack.spanned.places[keys[flag, 0]]
            where = place[:-1] / (place[-1] or max(np.abs(place)))
            how = "around x =" if place[-1] else "far away in the direction"
            return (
                f"the facets beside that of piece {stack.piece[part[flag]]} do not fit it exactly, "
                f"or their laws do not, {how} {point_text(np.asarray(where, dtype=np.float64))}"
            )
    return _outside(p, stack, table[left])


def _keys(p: CPWL, stack: Pointed) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """A row of numbers for each flag (place, flats, law, orthant, hyperplane), its sign, and its piece in the stack."""
    n, places = p.dim, stack.spanned.places
    view = unit_view(places)
    chains, rows, signs, parts = [], [], [], []
    for (masks, rays, count), who in types_of(stack).items():
        facet, flag = flags_of(masks, rays, n)
        own = stack.spanned.member[stack.spanned.start[who][:, None] + np.arange(count)]
        chain = own[:, flag].reshape(-1, n + 1)
        chains.append(chain)
        rows.append((stack.polyhedra.start[who][:, None] + facet).ravel())
        signs.append(_orientation(chain, places, view))
        parts.append(np.repeat(who, len(flag)))
    chain, row, part = np.concatenate(chains), np.concatenate(rows), np.concatenate(parts)
    flats = [_flat_numbers(places, chain[:, : k + 1]) for k in range(1, n - 1)]
    law = _law_numbers(p, stack)[row]
    plane = stack.planes.number[row]
    orthant = _facet_orthants(stack)[row]
    return np.stack([chain[:, 0], *flats, law, orthant, plane], axis=1), np.concatenate(signs), part


def _orientation(chain: NDArray[np.int64], places: NDArray[np.object_], view: NDArray[np.float64]) -> NDArray[np.int64]:
    """The signs of the determinants of chains of places."""
    with np.errstate(all="ignore"):  # what is too small for floats is decided in integers
        value = np.linalg.det(view[chain])
    unsure = ~((np.abs(value) > _SURE) & np.isfinite(value))
    signs = np.where(unsure, 0, np.sign(value)).astype(np.int64)
    if unsure.any():
        signs[unsure] = sign(determinant(places[chain[unsure]]))
    return np.asarray(signs, dtype=np.int64)


def _flat_numbers(places: NDArray[np.object_], spanning: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers for flats given by independent places, equal for equal flats: by their Pluecker coordinates."""
    sets, at = np.unique(np.sort(spanning, axis=1), axis=0, return_inverse=True)
    matrices = places[sets]
    minors = [
        determinant(matrices[:, :, list(columns)])
        for columns in itertools.combinations(range(places.shape[1]), sets.shape[1])
    ]
    return _numbered(np.stack(minors, axis=1))[at.ravel()]


def _numbered(rows: NDArray[np.object_]) -> NDArray[np.int64]:
    """Numbers for integer rows, equal for those that are proportional."""
    rows = primitive(rows)
    lead = np.argmax(rows != 0, axis=1)
    rows = rows * np.where(rows[np.arange(len(rows)), lead] < 0, -1, 1)[:, None]
    numbers: dict[tuple[int, ...], int] = {}
    return np.array([numbers.setdefault(tuple(row), len(numbers)) for row in rows], dtype=np.int64)


def _law_numbers(p: CPWL, stack: Pointed) -> NDArray[np.int64]:
    """For each row of the stack a number for the law of its piece restricted to its hyperplane, all outputs."""
    table = stack.table
    owner, plane = stack.piece[stack.polyhedra.owner], stack.planes.number
    pairs, at = np.unique(np.stack([owner, plane], axis=1), axis=0, return_inverse=True)
    h, each = table[pairs[:, 1]], np.arange(len(pairs))
    pivot = np.argmax(h[:, :-1] != 0, axis=1)
    lead, parts = h[each, pivot], []
    for law in np.moveaxis(p.laws.integer()[pairs[:, 0]], 1, 0):
        rest = law[:, :-1] * lead[:, None] - h * law[each, pivot][:, None]
        parts.append(primitive(np.column_stack([rest, law[:, -1] * lead]) * sign(lead)[:, None].astype(object)))
    numbers: dict[tuple[int, ...], int] = {}
    keys = np.concatenate(parts, axis=1)
    return np.array([numbers.setdefault(tuple(key), len(numbers)) for key in keys], dtype=np.int64)[at.ravel()]


def _facet_orthants(stack: Pointed) -> NDArray[np.int64]:
    """For each row a number for the orthant of its piece, coordinates that are 0 on its hyperplane left out."""
    table, n = stack.table, stack.polyhedra.dim
    single = (table[:, :-1] != 0).sum(axis=1) == 1
    coordinate = np.where(single & (table[:, -1] == 0), np.argmax(table[:, :-1] != 0, axis=1), n)
    signs = np.column_stack([stack.orthant, np.zeros(len(stack.orthant), dtype=np.int64)])[stack.polyhedra.owner]
    signs[np.arange(len(signs)), coordinate[stack.planes.number]] = 0
    return np.asarray((signs[:, :n] + 1) @ 3 ** np.arange(n), dtype=np.int64)


def _beyond(stack: Pointed, row: NDArray[np.object_]) -> int | None:
    """A place strictly on one side of a hyperplane where another one is strictly on the other side."""
    signs = signs_at(row[None], stack.spanned.places[np.unique(stack.spanned.member)])[0]
    return int(np.argmax(signs > 0)) if (signs > 0).any() and (signs < 0).any() else None


def _outside(p: CPWL, stack: Pointed, outer: NDArray[np.object_]) -> str | None:
    """The domain that was asserted must be the set that is covered: bounded by the same hyperplanes, all inside."""
    if p.domain is None:
        return None
    rows = p.domain.integer()
    rows = np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1)
    places = stack.spanned.places[np.unique(stack.spanned.member)]
    if (signs_at(rows, places) > 0).any():
        return "a piece reaches beyond the domain"
    side = -np.sign(signs_at(outer, places).sum(axis=1)).astype(object)
    asserted = {tuple(row) for row in primitive(rows)}
    if any(tuple(row) not in asserted for row in primitive(outer * side[:, None])):
        return "the pieces do not cover the domain"
    return None


def _covered_twice(stack: Pointed) -> str | None:
    """Whether an inner point of the first piece is in another one, too."""
    own = stack.spanned.places[stack.spanned.member[: stack.spanned.start[1]]]
    point = (own * np.array([2 * k * k + 97 for k in range(len(own))], dtype=object)[:, None]).sum(axis=0)
    sides = signs_at(stack.table, point[None])[:, 0]
    out = sides[stack.planes.number] * stack.planes.side > 0
    beyond = np.zeros(len(stack.polyhedra), dtype=bool)
    beyond[stack.polyhedra.owner[out]] = True
    again = [stack.piece[i] for i in np.flatnonzero(~beyond) if stack.piece[i] != stack.piece[0]]
    return f"pieces {stack.piece[0]} and {again[0]} overlap" if again else None
