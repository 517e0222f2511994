"""Exactly consistent or not, decided without linear programs: cancellation of flags.

A *flag* of a piece is a chain of its faces ``F_0 < F_1 < .. < F_(n-1)``, one of each dimension. Its *key* is the chain
of their flats (a place, a line, .., a hyperplane `h`) and the law of the piece restricted to `h`, everything exact; its
*sign* is the orientation of ``(g_0, .., g_n)`` in homogeneous coordinates, `g_k` any corner or ray of `F_k` that is not
in ``F_(k-1)``, and `g_n` one that is not in ``F_(n-1)``.

Theorem. Let pieces with interiors be bounded, or lie in one orthant each. If the signs of every key on a hyperplane
that has parts of pieces on both sides add up to 0, then the pieces cover a convex set equally often everywhere, and at
almost every point of its interior the laws of the two sides of a facet agree. So if one inner point of a piece is in no
other, the pieces are an exactly consistent function.

Proof. Fix `h` and a law on it, and let `Z` be the sum of the facets there with that law, those of the one side counted
1, those of the other -1. Its jump across a flat `g` of `h` is the sum of the facets of these facets on `g`, signed in
the same way, and the orientation of a flag is that of its part in `g` times the side of the next generator. So by
induction on the dimension no flat is jumped across, `Z` is constant, and being 0 far away, or outside the orthant, it
is 0. (On a line the places at infinity are asked too.) Hence both sides of `h` are covered equally often, law by law.
The hyperplanes that were left out have all pieces on one side: they bound the convex set.

Pieces need not meet face to face, several may have one law, and there may be any number of outputs. Every key is a
few integers: the time is that of sorting them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import determinant, primitive, sign, unit_view
from cpwl.function.answers import point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.flags.chains import flags_of, types_of
from cpwl.function.flags.pointed import Pointed, exact_rank, pointed
from cpwl.geometry.facets import Hyperplanes, hyperplanes
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedra, fact

__all__ = ["Consistency", "consistency", "is_sound_by_flags"]

_FEW = 12  # pieces that are looked at first
_DIMENSIONS = 5  # a simplex has (n + 1)! flags
_FLAGS = 200_000  # of all types of pieces, about; beyond that linear programs are faster
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
    if sum(count for _, _, count in types_of(stack)) * math.factorial(p.dim) > _FLAGS and p.dim > 3:
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
        on = own[_sides(plane, own)[0] == 0] if len(own) else own
        if len(on) >= polyhedra.dim and (_sides(plane, places) > 0).any():
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
    signs = _sides(row[None], stack.spanned.places[np.unique(stack.spanned.member)])[0]
    return int(np.argmax(signs > 0)) if (signs > 0).any() and (signs < 0).any() else None


def _sides(rows: NDArray[np.object_], places: NDArray[np.object_]) -> NDArray[np.int64]:
    """On which side of each plane each place is."""
    value = unit_view(rows) @ unit_view(places).T
    signs = np.sign(value).astype(np.int64)
    size = rows.shape[1]
    r, k = np.nonzero(np.abs(value) <= 4 * (size + 2) * np.finfo(np.float64).eps * size)
    signs[r, k] = sign((rows[r] * places[k]).sum(axis=1))
    return np.asarray(signs, dtype=np.int64)


def _outside(p: CPWL, stack: Pointed, outer: NDArray[np.object_]) -> str | None:
    """The domain that was asserted must be the set that is covered: bounded by the same hyperplanes, all inside."""
    if p.domain is None:
        return None
    rows = p.domain.integer()
    rows = np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1)
    places = stack.spanned.places[np.unique(stack.spanned.member)]
    if (_sides(rows, places) > 0).any():
        return "a piece reaches beyond the domain"
    side = -np.sign(_sides(outer, places).sum(axis=1)).astype(object)
    asserted = {tuple(row) for row in primitive(rows)}
    if any(tuple(row) not in asserted for row in primitive(outer * side[:, None])):
        return "the pieces do not cover the domain"
    return None


def _covered_twice(stack: Pointed) -> str | None:
    """Whether an inner point of the first piece is in another one, too."""
    own = stack.spanned.places[stack.spanned.member[: stack.spanned.start[1]]]
    point = (own * np.array([2 * k * k + 97 for k in range(len(own))], dtype=object)[:, None]).sum(axis=0)
    sides = _sides(stack.table, point[None])[:, 0]
    out = sides[stack.planes.number] * stack.planes.side > 0
    beyond = np.zeros(len(stack.polyhedra), dtype=bool)
    beyond[stack.polyhedra.owner[out]] = True
    again = [stack.piece[i] for i in np.flatnonzero(~beyond) if stack.piece[i] != stack.piece[0]]
    return f"pieces {stack.piece[0]} and {again[0]} overlap" if again else None
