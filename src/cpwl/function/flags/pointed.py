"""Pieces as pointed cones in homogeneous coordinates: those without interior left out, the endless cut along axes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.exact.integers import sign, unit_view
from cpwl.geometry.facets import Hyperplanes, hyperplanes
from cpwl.geometry.generators import MOST, Generators, generators, plane_rows
from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["Pointed", "exact_rank", "pointed"]

_SURE = 1e-9  # smallest singular values of entries up to 1 in floats are nearer than that


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
    return n if values[-1] > _SURE else n - 1


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
        choices = [_sides(set(own[:, k].tolist()) if i not in lines else {1, -1}) for k in range(polyhedra.dim)]
        parts = list(itertools.product(*choices))
        piece += [i] * len(parts)
        orthant += parts
    return np.array(piece, dtype=np.int64), np.array(orthant, dtype=np.int64).reshape(-1, polyhedra.dim)


def _sides(signs: set[int]) -> list[int]:
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
        found[who] = smallest > _SURE
        for i in who[smallest <= _SURE]:
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
