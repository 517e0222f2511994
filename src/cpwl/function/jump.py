"""What float data leaves undetermined: the largest difference of two pieces at a point that both have.

Where pieces with laws `f` and `g` overlap, no function at all is nearer to both than ``|f - g| / 2``. On the overlap
that is largest at a corner. Floats say which pairs to look at, from the largest difference on down; the corner, that
it is a point of both pieces, and the difference there are exact. So what is found is a lower bound with a witness.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.function.answers import Jump
from cpwl.function.cpwl import CPWL
from cpwl.geometry.generators import box_pairs, corners_of
from cpwl.geometry.polyhedra import fact, ranges

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_NEAR = 10.0  # times `tol`, of the coordinates: a corner this near to another piece is where the two may overlap
_PAIRS = 300  # whose overlap is computed exactly
_MOST = 3000  # sets of rows that may meet in a corner of an overlap
_BLOCK = 1 << 22  # products of rows and corners at a time


@fact
def largest_jump(p: CPWL) -> Jump | None:
    """The largest jump of float data that is found; None if pieces agree wherever they meet, as far as is seen.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[0.5], [-0.25]], [[0.0], [1.0]], [0.0, 0.0], tol=0.9)
    >>> found = largest_jump(p)
    >>> found.size, found.pieces, found.where
    (Fraction(1, 2), (0, 1), (Fraction(1, 2),))
    """
    if p.tol == 0 or p.mesh is not None:
        return None
    first, second, likely = _likely(p)
    best: Jump | None = None
    for k in np.argsort(-likely, kind="stable")[:_PAIRS].tolist():
        if best is not None and likely[k] < float(best.size):
            break
        found = _exactly(p, int(first[k]), int(second[k]))
        if found is not None and (best is None or found.size > best.size):
            best = found
    return best


def _likely(p: CPWL) -> tuple[_Ints, _Ints, _Floats]:
    """Pairs of pieces one of which has a corner in or next to the other; how much they differ there, in floats."""
    stack, laws = p.polyhedra, p.laws
    found = stack.extents()
    pairs, size = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)]
    for who, corner in _inside(stack.A, stack.b, stack.start, found.owner, found.points, _NEAR * p.tol):
        x, own = found.points[corner], found.owner[corner]
        step = laws.gradient[own] - laws.gradient[who]
        size.append(np.abs(np.einsum("kmn,kn->km", step, x) + laws.offset[own] - laws.offset[who]).max(axis=1))
        pairs.append(np.sort(np.stack([own, who], axis=1), axis=1))
    some, number = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    most = np.zeros(len(some))
    np.maximum.at(most, number.ravel(), np.concatenate(size))
    keep = most > 0
    return some[keep, 0], some[keep, 1], most[keep]


def _inside(
    A: _Floats, b: _Floats, start: _Ints, owner: _Ints, points: _Floats, near: float
) -> list[tuple[_Ints, _Ints]]:
    """Pieces and the corners of others that are in them, or next to them."""
    if len(points) == 0:
        return []
    length = np.linalg.norm(A, axis=1)
    length[length == 0] = 1.0
    A, b, slack = A / length[:, None], b / length, near * float(np.abs(points).max())
    low, high = np.full((len(start) - 1, A.shape[1]), np.inf), np.full((len(start) - 1, A.shape[1]), -np.inf)
    np.minimum.at(low, owner, points)
    np.maximum.at(high, owner, points)
    corner, who = box_pairs(points - slack, points + slack, (low, high)).T
    corner, who = corner[owner[corner] != who], who[owner[corner] != who]
    step, found = max(1, _BLOCK // max(1, int(np.diff(start).max(initial=1)))), []
    for s in range(0, len(who), step):
        i, k = who[s : s + step], corner[s : s + step]
        row, pair = ranges(start[i], np.diff(start)[i])
        holds = np.ones(len(i), dtype=bool)
        holds[pair[np.einsum("kn,kn->k", A[row], points[k[pair]]) - b[row] > slack]] = False
        found.append((i[holds], k[holds]))
    return found


def _exactly(p: CPWL, i: int, j: int) -> Jump | None:
    """The largest jump of two pieces, at a corner of what they share; None if they share none."""
    rows = np.concatenate([p.polyhedra[i].integer(), p.polyhedra[j].integer()])
    if math.comb(len(rows), p.dim) > _MOST:
        return None
    one, two = p.laws.integer()[i], p.laws.integer()[j]
    best: Jump | None = None
    places = corners_of(rows)
    for place in places[places[:, -1] != 0]:
        for output, (f, g) in enumerate(zip(one, two, strict=True)):
            values = [Fraction(int(law[:-1].dot(place)), int(law[-1] * place[-1])) for law in (f, g)]
            size = abs(values[0] - values[1])
            if size and (best is None or size > best.size):
                where = tuple(Fraction(int(v), int(place[-1])) for v in place[:-1])
                best = Jump(size, (i, j), where, output)
    return best
