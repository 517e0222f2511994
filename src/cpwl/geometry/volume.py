"""Volumes and integrals of bounded pieces, exactly: each is cut into simplices from one of its corners.

The integral of an affine function over a simplex is its volume times the mean of the values at the corners. A simplex
of corners ``(x_k, 1) w_k`` has volume ``|det| / (n! w_0 .. w_n)``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError
from cpwl.exact.flint import from_flint
from cpwl.exact.integers import determinant
from cpwl.exact.signs import sides
from cpwl.geometry.bodies import Bodies
from cpwl.geometry.ranges import ranges

__all__ = ["integral_of", "is_bounded", "volume_of"]


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
        for simplex in _simplices_of((1 << len(own)) - 1, facets, bodies.polyhedra.dim):
            owner.append(i)
            corners.append(own[list(simplex)])
    return np.array(owner, dtype=np.int64), np.array(corners, dtype=np.int64).reshape(-1, bodies.polyhedra.dim + 1)


def _simplices_of(face: int, facets: list[int], dim: int) -> list[tuple[int, ...]]:
    """The pulling triangulation of a face, corners as bits."""
    apex = (face & -face).bit_length() - 1
    if dim == 0:
        return [(apex,)]
    parts = {face & other for other in facets if face & other not in (0, face)}
    largest = [s for s in parts if not any(s != t and s & ~t == 0 for t in parts)]
    return [(apex, *rest) for s in sorted(largest) if not s >> apex & 1 for rest in _simplices_of(s, facets, dim - 1)]
