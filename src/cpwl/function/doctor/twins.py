"""Pieces cut by whole hyperplanes: all about them can be read off their rows, without a linear program.

Two pieces are *twins* across a hyperplane if their rows are the same but for the sense of that one. Then they have the
same facet there, whatever it is. If every row of every piece has a twin, except rows that all pieces have and that
bound the domain, then the number of pieces over a point is the same on both sides of every hyperplane, so the same
everywhere inside the domain, and it is 1 if it is 1 at one point. Neighbours are twins then, and if each pair agrees on
its hyperplane, the function is continuous.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from flint import fmpz_mat, nmod_mat
from numpy.typing import NDArray

from cpwl.function.cpwl import CPWL
from cpwl.geometry.facets import Hyperplanes, hyperplanes
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.geometry.probe import Probe

__all__ = ["is_sound_by_twins", "row_twins"]

_PRIME = 2**61 - 1


def row_twins(polyhedra: Polyhedra, planes: Hyperplanes) -> NDArray[np.int64]:
    """For each row the polyhedron whose rows are the same but for the sense of that one; -1 if there is none.

    >>> both = Polyhedra.from_lists([[[1, 0], [0, 1]], [[-1, 0], [0, 1]]], [[0, 0], [0, 0]])
    >>> row_twins(both, hyperplanes(both, 0.0))
    array([ 1, -1,  0, -1])
    """
    keys = list(zip(planes.number.tolist(), planes.side.tolist(), strict=True))
    pieces = [frozenset(keys[a:b]) for a, b in pairwise(polyhedra.start.tolist())]
    index = {piece: i for i, piece in enumerate(pieces)}
    owner = polyhedra.owner.tolist()
    return np.array(
        [index.get(pieces[i] - {(h, s)} | {(h, -s)}, -1) for i, (h, s) in zip(owner, keys, strict=True)],
        dtype=np.int64,
    )


def is_sound_by_twins(p: CPWL) -> bool:
    """Whether twins prove that the pieces of an exact function have interiors, cover its domain once, and agree.

    False says nothing: only that this proof does not apply.

    >>> from cpwl.function.shallow import random_shallow
    >>> is_sound_by_twins(random_shallow(4, 3, seed=0))
    True
    """
    if p.tol or p.num_pieces < 2:
        return False
    stack = p.polyhedra
    planes = hyperplanes(stack, 0.0)
    keys = np.stack([stack.owner, planes.number, planes.side], axis=1)
    if len(np.unique(keys[:, :2], axis=0)) < len(keys):
        return False  # a row that is there twice, or a piece on both sides of a hyperplane
    twin = row_twins(stack, planes)
    alone = keys[twin < 0]
    common, count = np.unique(alone[:, 1:], axis=0, return_counts=True)
    if (count != p.num_pieces).any() or not _is_domain(p, common, planes):
        return False
    if len({frozenset(map(tuple, rows.tolist())) for rows in np.split(keys[:, 1:], stack.start[1:-1])}) < p.num_pieces:
        return False
    return _are_solid(stack, planes) and _is_alone(stack) and _twins_agree(p, planes, twin)


def _is_domain(p: CPWL, common: NDArray[np.int64], planes: Hyperplanes) -> bool:
    """Whether the rows that all pieces share are those of the domain, if one was asserted."""
    if p.domain is None:
        return True
    if not len(p.domain.b) or not len(common):
        return len(p.domain.b) == len(common)
    rows = np.concatenate([p.polyhedra.integer(), p.domain.integer()])
    start = np.array([0, len(p.polyhedra.b), len(rows)], dtype=np.int64)
    view = np.concatenate([p.polyhedra.A, p.domain.A]), np.concatenate([p.polyhedra.b, p.domain.b])
    # Hyperplanes are numbered in order of appearance: those of the pieces keep their numbers.
    both = hyperplanes(Polyhedra(*view, start, rows), 0.0)
    asserted = np.unique(np.stack([both.number, both.side], axis=1)[len(planes.number) :], axis=0)
    return asserted.shape == common.shape and bool((asserted == common).all())


def _are_solid(stack: Polyhedra, planes: Hyperplanes) -> bool:
    """Whether each has an interior: at once if its normals are independent, which a prime may prove."""
    rows, seen = stack.integer(), dict[tuple[int, ...], bool]()
    probe = Probe(0.0)
    for i, (a, b) in enumerate(pairwise(stack.start.tolist())):
        numbers = tuple(sorted(planes.number[a:b].tolist()))
        if numbers not in seen:
            normals = fmpz_mat(b - a, stack.dim, rows[a:b, :-1].ravel().tolist())
            seen[numbers] = b - a <= stack.dim and nmod_mat(normals, _PRIME).rank() == b - a
        if not seen[numbers] and probe.interior(stack[i]) is None:
            return False
    return True


def _is_alone(stack: Polyhedra) -> bool:
    """Whether a point inside the first polyhedron is in no other."""
    inside = Probe(0.0).interior(stack[0])
    if inside is None:
        return False
    rows, below = stack.integer(), math.lcm(*(x.denominator for x in inside))
    place = np.array([int(x * below) for x in inside], dtype=object)
    outside = np.asarray(rows[:, :-1].dot(place) > rows[:, -1] * below, dtype=bool)
    beyond = np.zeros(len(stack), dtype=bool)
    beyond[stack.owner[outside]] = True
    return int((~beyond).sum()) == 1


def _twins_agree(p: CPWL, planes: Hyperplanes, twin: NDArray[np.int64]) -> bool:
    """Whether ``f_i - f_j`` is a multiple of the hyperplane between each pair of twins."""
    row = np.flatnonzero((twin >= 0) & (planes.side > 0))
    laws = p.laws.integer()
    f, g = laws[p.polyhedra.owner[row]], laws[twin[row]]
    difference = f[..., :-1] * g[..., -1:] - g[..., :-1] * f[..., -1:]
    a = p.polyhedra.integer()[row]
    plane = np.concatenate([a[:, :-1], -a[:, -1:]], axis=1)[:, None]
    k = np.argmax(plane[:, 0, :-1] != 0, axis=1)
    every = np.arange(len(row))
    lead, slope = plane[every, 0, k][:, None, None], difference[every, :, k][..., None]
    return bool((difference * lead == plane * slope).all())
