"""Exactly consistent or not, decided without linear programs: cancellation of flags.

A *flag* of a piece is a chain of its faces ``F_k < .. < F_(n-1)``, one of each dimension, where `F_k` is a corner or
holds the end of its flat (`cpwl.function.form`). Its *key* is the chain of their flats (a point, a line, .., a
hyperplane `h`) and the law of the piece restricted to `h`, everything exact; its *sign* is the product of the sides.

Theorem. If the signs of every key on a hyperplane that has parts of pieces on both sides add up to 0, then the pieces
cover a convex set equally often everywhere, and at almost every point of its interior the laws of the two sides of a
facet agree. So if one inner point of a piece is in no other, the pieces are an exactly consistent function. Statement
and proof: docs/theory/flags.md.

Pieces may be bounded or not, need not meet face to face, several may have one law, and there may be any number of
outputs. Every key is a few integers: the time is that of sorting them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import method_of
from cpwl.errors import InputError, LimitError
from cpwl.exact.integers import number_rows, primitive, sign, signs_at
from cpwl.function.answers import point_text
from cpwl.function.cpwl import CPWL, generators_of
from cpwl.function.form import Hulls, TooManyFaces, chains, exact_rank, hulls, totals, unique_rows
from cpwl.geometry.facets import Hyperplanes, hyperplanes
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedra, fact

_FEW = 12  # pieces that are looked at first
_DIMENSIONS = 5  # a simplex has (n + 1)! flags
_FLAGS = {4: 5_000_000, 5: 200_000}  # of all types of pieces, about, 20 microseconds each; beyond, linear programs


@dataclass(frozen=True, slots=True)
class Consistency:
    """Whether pieces are an exactly consistent function; None: not decided."""

    consistent: bool | None
    reason: str
    """Empty, or what speaks against it, with a witness where there is one."""
    flat: tuple[int, ...] = ()
    """The pieces without interior: they do not count."""


@dataclass(frozen=True, slots=True, eq=False)
class Seams:
    """The hyperplanes on which the sum over all flags is not 0: the boundary of what is covered, and what is wrong.

    Numbers are of the hyperplanes of `spanned`. Everywhere else the facets on the two sides of a hyperplane are the
    same sets with the same laws, up to null sets.
    """

    inner: NDArray[np.int64]
    """Those with parts of pieces on both sides: facets or laws do not fit there."""
    outer: NDArray[np.int64]
    """Those that all pieces are on one side of, and that are no rows of the domain, if one was asserted."""
    sticks_out: bool
    """Whether a piece reaches beyond the domain that was asserted."""
    where: str
    """A facet on the first inner one, in words."""


@fact
def spanned(p: CPWL) -> Hulls | str:
    """What spans the pieces of `p` that have an interior, every number taken as it is; or why that takes too long."""
    try:
        return hulls(p.polyhedra, generators_of(p))
    except TooManyFaces as limit:
        return str(limit)


@fact
def seams(p: CPWL) -> Seams | str:
    """Where the sum of flags does not vanish; or why it was not computed."""
    stack = spanned(p)
    if isinstance(stack, str) or not len(stack.piece):
        return stack if isinstance(stack, str) else "no piece has an interior"
    if p.dim > _DIMENSIONS:
        return f"{p.dim} inputs"
    try:
        found = chains(stack, _FLAGS.get(p.dim, math.inf))
    except TooManyFaces as limit:
        return str(limit)
    flags = np.flatnonzero(found.row >= 0)  # a piece alone is not on a hyperplane
    row = found.row[flags]
    plane = stack.planes.number[row]
    keys = np.column_stack([found.flats[flags], _law_numbers(p, stack)[row], plane])
    total = totals(keys, found.sign[flags])
    left = np.unique(plane[total != 0])
    places, where = stack.directions(), ""
    signs = signs_at(stack.table[left], places)
    both = (signs > 0).any(axis=1) & (signs < 0).any(axis=1)
    inner, outer = left[both], left[~both]
    if len(inner):
        flag = flags[np.flatnonzero((total != 0) & (plane == inner[0]))[0]]
        place = stack.places[found.span[flag, 0]]
        at = np.asarray(place[:-1] / place[-1], dtype=np.float64)
        where = f"that of piece {stack.piece[found.part[flag]]} around x = {point_text(at)}"
    if p.domain is None:
        return Seams(inner, outer[:0], False, where)
    rows = p.domain.integer() * np.array([1] * p.dim + [-1], dtype=object)
    asserted = {tuple(r) for r in primitive(rows)}
    side = -np.sign(signs[~both].sum(axis=1)).astype(object)
    new = [tuple(r) not in asserted for r in primitive(stack.table[outer] * side[:, None])]
    return Seams(inner, outer[np.array(new, dtype=bool)], bool((signs_at(rows, places) > 0).any()), where)


@fact
def consistency(p: CPWL) -> Consistency:
    """Whether the data of `p`, every number taken as the rational that it is, is an exactly consistent function.

    Pieces without interior do not count. Not decided where there are more than five inputs, and where a piece has very
    many rows or pieces have very many flags.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[1.0, 0.0]], [[-1.0, 0.0]]], [[0.5], [-0.5]], [[0.0, 0.0], [2.0, 0.0]], [0.0, -1.0])
    >>> p.tol, consistency(p)
    (1e-09, Consistency(consistent=True, reason='', flat=()))
    """
    if p.dim > _DIMENSIONS:
        return Consistency(None, f"{p.dim} inputs")
    if _is_hopeless(p.polyhedra, hyperplanes(p.polyhedra, 0.0)):
        return Consistency(False, "the facets of most pieces have no exact counterpart")
    stack, found = spanned(p), seams(p)
    if isinstance(stack, str) or isinstance(found, str):
        empty = not isinstance(stack, str) and not len(stack.piece)
        return Consistency(False if empty else None, str(found))
    reason = _covered_twice(stack) or ""
    if len(found.inner):
        reason = f"the facets beside {found.where} do not fit it exactly, or their laws do not"
    elif found.sticks_out:
        reason = "a piece reaches beyond the domain"
    elif len(found.outer):
        reason = "the pieces do not cover the domain"
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
        own = spanned.places[spanned.of_piece(i)]
        plane = np.append(integer[r, :-1], -integer[r, -1])[None]
        on = own[signs_at(plane, own)[0] == 0] if len(own) else own
        if len(on) >= polyhedra.dim and (signs_at(plane, places) > 0).any():
            return exact_rank(on) == polyhedra.dim and exact_rank(own) > polyhedra.dim
    return False


def is_sound_by_flags(p: CPWL) -> bool:
    """Whether flags prove that the pieces of an exact function have interiors, cover its domain once, and agree.

    False says nothing: only that this proof does not apply.
    """
    if p.tol:
        return False
    found = consistency(p)
    return bool(found.consistent) and not found.flat


def _law_numbers(p: CPWL, stack: Hulls) -> NDArray[np.int64]:
    """For each row of the stack a number for the law of its piece restricted to its hyperplane, all outputs."""
    owner, plane = stack.piece[stack.polyhedra.owner], stack.planes.number
    pairs, at = np.unique(np.stack([owner, plane], axis=1), axis=0, return_inverse=True)
    h, each = stack.table[pairs[:, 1]], np.arange(len(pairs))
    pivot = np.argmax(h[:, :-1] != 0, axis=1)
    lead, parts = h[each, pivot], []
    for law in np.moveaxis(p.laws.integer()[pairs[:, 0]], 1, 0):
        rest = law[:, :-1] * lead[:, None] - h * law[each, pivot][:, None]
        parts.append(primitive(np.column_stack([rest, law[:, -1] * lead]) * sign(lead)[:, None].astype(object)))
    return number_rows(np.concatenate(parts, axis=1))[1][at.ravel()]


def _covered_twice(stack: Hulls) -> str | None:
    """Whether an inner point of the first piece is in another one, too."""
    own = stack.places[stack.member[: stack.start[1]]]
    point = (own * np.array([2 * k * k + 97 for k in range(len(own))], dtype=object)[:, None]).sum(axis=0)
    sides = signs_at(stack.table, point[None])[:, 0]
    out = sides[stack.planes.number] * stack.planes.side > 0
    beyond = np.zeros(len(stack.polyhedra), dtype=bool)
    beyond[stack.polyhedra.owner[out]] = True
    again = stack.piece[1:][~beyond[1:]]
    return f"pieces {stack.piece[0]} and {again[0]} overlap" if len(again) else None


# What a function is, in a few bytes: its normal form, hashed.


_INPUTS = 4  # a simplex has (n + 1)! flags


@method_of(CPWL, "fingerprint")
@fact
def fingerprint(p: CPWL, key: bytes = b"") -> str:
    if not isinstance(key, bytes) or len(key) > blake2b.MAX_KEY_SIZE:
        raise InputError(f"`key` must be bytes, at most {blake2b.MAX_KEY_SIZE} of them")
    if p.dim > _INPUTS:
        raise LimitError(f"fingerprints are for at most {_INPUTS} inputs, and this function has {p.dim}")
    laws = primitive(p.laws.integer()).reshape(p.num_pieces, -1)
    result = blake2b(f"cpwl 1 {p.dim} {p.outputs}".encode(), key=key, digest_size=32)
    stack = spanned(p)
    try:
        if isinstance(stack, str):
            raise TooManyFaces(stack)
        found = chains(stack, _FLAGS[4]) if len(stack.piece) else None
    except TooManyFaces as limit:
        raise LimitError(f"a fingerprint of this function would take too long: {limit}") from None
    if found is None:
        return result.hexdigest()
    first, label = number_rows(laws)
    keys = np.column_stack([found.flats, label[stack.piece[found.part]]])
    total = totals(keys, found.sign)
    left, at = unique_rows(keys[total != 0])
    times = np.zeros(len(left), dtype=np.int64)
    times[at] = total[total != 0]
    names = [*found.names, laws[first]]
    columns = [_digests(rows, column, key) for rows, column in zip(names, left.T, strict=True)]
    for term in sorted(b"".join([*parts, b"%d" % k]) for *parts, k in zip(*columns, times.tolist(), strict=True)):
        result.update(blake2b(term, key=key, digest_size=32).digest())
    return result.hexdigest()


def _digests(rows: NDArray[np.object_], number: NDArray[np.int64], key: bytes) -> list[bytes]:
    """For each number the digest of its integers; -1 has none."""
    known = {k: blake2b(repr(list(map(int, rows[k]))).encode(), key=key, digest_size=32).digest() for k in set(number)}
    return [b"" if k < 0 else known[k] for k in number.tolist()]


@method_of(CPWL, "__eq__")
def is_same(p: CPWL, other: object) -> Any:
    if not isinstance(other, CPWL):
        return NotImplemented
    if p is other or (p.dim, p.outputs) != (other.dim, other.outputs):
        return p is other
    try:
        return fingerprint(p) == fingerprint(other) and consistency(p).consistent is True
    except LimitError:
        return False


@method_of(CPWL, "__hash__")
def hashed(p: CPWL) -> int:
    try:
        return hash(fingerprint(p))
    except LimitError:
        return hash((p.dim, p.outputs))
