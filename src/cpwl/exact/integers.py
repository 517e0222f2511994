"""Bulk exact data as integer rows: arrays of Python integers, one positive scale per row.

A half-space or a hyperplane is a row up to a positive factor, so integers hold it without denominators, and
NumPy's object arrays do a hundred thousand of them at once.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.errors import LimitError

_numerator = np.frompyfunc(lambda x: x.numerator, 1, 1)
_denominator = np.frompyfunc(lambda x: x.denominator, 1, 1)
_gcd = np.frompyfunc(math.gcd, 2, 1)
_lcm = np.frompyfunc(math.lcm, 2, 1, identity=1)
_sign = np.frompyfunc(lambda x: (x > 0) - (x < 0), 1, 1)


def integer_rows(view: NDArray[np.float64], exact: NDArray[np.object_] | None = None) -> NDArray[np.object_]:
    """Integers positively proportional to each row of `exact`, or of `view` where nothing was rounded.

    >>> integer_rows(np.array([[0.5, 0.75], [3.0, 6.0]]))
    array([[2, 3],
           [1, 2]], dtype=object)
    """
    if exact is not None:
        below = _denominator(exact)
        common = np.asarray(_lcm.reduce(below, axis=1), dtype=object)
        rows = _numerator(exact) * (common[:, None] // below)
        return primitive(rows)
    mantissa, exponent = np.frexp(view)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = np.where(whole == 0, np.iinfo(np.int32).max, exponent)
    lowest = exponent.min(axis=1, keepdims=True, initial=np.iinfo(np.int32).max)
    shift = np.where(whole == 0, 0, exponent - lowest)
    return primitive(np.left_shift(whole.astype(object), shift.astype(object)))


def homogeneous(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """Rationals ``(.., k)`` as integers ``(x, 1) * denominator``, one denominator for each row.

    >>> from fractions import Fraction
    >>> homogeneous(np.array([[Fraction(1, 2), Fraction(1, 3)]], dtype=object))
    array([[3, 2, 6]], dtype=object)
    """
    wide = np.concatenate([rows, np.ones((*rows.shape[:-1], 1), dtype=np.int64).astype(object)], axis=-1)
    return integer_rows(np.zeros(0), wide.reshape(-1, wide.shape[-1])).reshape(wide.shape)


def primitive(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """Each row divided by the greatest common divisor of its entries; the sign stays."""
    if rows.size == 0:
        return rows
    divisor = np.abs(_gcd.reduce(rows, axis=-1))  # of a single number it is that number, sign and all
    divisor = np.where(divisor == 0, 1, divisor)
    return np.asarray(rows // divisor[..., None], dtype=object)


def quotient(numerators: NDArray[np.object_], denominator: NDArray[np.object_]) -> NDArray[np.object_]:
    """Rows of numerators over one denominator, in lowest terms with the denominator positive and last."""
    rows = np.concatenate([numerators, denominator[..., None]], axis=-1)
    rows = rows * np.where(denominator < 0, -1, 1)[..., None]
    return primitive(rows)


def ratio_view(numerators: NDArray[np.object_], denominator: NDArray[np.object_]) -> NDArray[np.float64]:
    """Quotients of integers as doubles, each correctly rounded."""
    try:
        return np.asarray(numerators / denominator, dtype=np.float64)
    except OverflowError:
        raise LimitError("a slope or an offset is larger than any float64: scale the coordinates") from None


def sign(values: Any) -> NDArray[np.int64]:
    """Signs of exact numbers: -1, 0 or 1."""
    return np.asarray(_sign(values), dtype=np.int64)


def common_denominator(rows: NDArray[np.object_]) -> tuple[NDArray[np.object_], int] | None:
    """Rows ``(x, 1) * d`` as integers `x D` over one denominator `D`; None if that would take much larger integers.

    >>> common_denominator(np.array([[1, 2], [5, 3]], dtype=object))
    (array([[3],
           [10]], dtype=object), 6)
    """
    below = rows[:, -1]
    common = 1
    most = 4 * max((int(d).bit_length() for d in below), default=1) + 64
    for d in set(below.tolist()):
        common = math.lcm(common, d)
        if common.bit_length() > most:
            return None
    return np.asarray(rows[:, :-1] * (common // below)[:, None], dtype=object), common


def number_rows(rows: NDArray[np.object_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first of each kind of equal rows, in order of appearance, and for each row the number of its kind.

    >>> number_rows(np.array([[1, 2], [3, 4], [1, 2]], dtype=object))
    (array([0, 1]), array([0, 1, 0]))
    """
    numbers: dict[tuple[int, ...], int] = {}
    place = np.array([numbers.setdefault(tuple(row), len(numbers)) for row in rows.tolist()], dtype=np.int64)
    return np.unique(place, return_index=True)[1].astype(np.int64), place


def are_multiples(rows: NDArray[np.object_], of: NDArray[np.object_]) -> NDArray[np.bool_]:
    """For each row whether it is a multiple of another one, which is not 0.

    >>> are_multiples(np.array([[2, 4], [0, 0], [1, 3]], dtype=object), np.array([[1, 2]], dtype=object))
    array([ True,  True, False])
    """
    k = np.argmax(of != 0, axis=-1)[..., None]
    lead, own = np.take_along_axis(of, k, axis=-1), np.take_along_axis(rows, k, axis=-1)
    return np.asarray((rows * lead == of * own).all(axis=-1), dtype=bool)


def linked(pairs: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Labels for the numbers below `count`: equal where pairs ``(k, 2)`` lead from one to the other.

    >>> linked(np.array([[0, 2], [3, 1]]), 4)
    array([0, 1, 0, 1])
    """
    graph = scipy.sparse.coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(count, count))
    return scipy.sparse.csgraph.connected_components(graph, directed=False)[1].astype(np.int64)


def in_order(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same labels numbered in order of first appearance.

    >>> in_order(np.array([7, 2, 7, 5]))
    array([0, 1, 0, 2])
    """
    first, inverse = np.unique(labels, return_index=True, return_inverse=True)[1:]
    return np.argsort(np.argsort(first))[inverse.ravel()]


def unit_view(rows: NDArray[np.object_]) -> NDArray[np.float64]:
    """Rows scaled to largest entry 1, as floats: each entry is rounded once."""
    largest = np.abs(rows).max(axis=1, initial=0)
    largest = np.where(largest == 0, 1, largest)
    return np.asarray(rows / largest[:, None], dtype=np.float64)


def determinant(matrices: NDArray[np.object_]) -> NDArray[np.object_]:
    """Determinants of many square integer matrices.

    >>> determinant(np.array([[[2, 1], [1, 3]]], dtype=object))
    array([5], dtype=object)
    """
    return np.array([int(fmpz_mat(rows).det()) for rows in matrices.tolist()], dtype=object)


def maximal_minors(matrices: NDArray[np.object_]) -> NDArray[np.object_]:
    """The minors of all rows and as many columns, of many wide integer matrices at once, columns in order.

    Row after row, by expansion along the last one: minors of fewer rows serve several larger ones.

    >>> maximal_minors(np.array([[[2, 1, 0], [1, 3, 1]]], dtype=object))
    array([[5, 2, 1]], dtype=object)
    """
    rows, columns = matrices.shape[1:]
    known: dict[tuple[int, ...], NDArray[np.object_]] = {(c,): matrices[:, 0, c] for c in range(columns)}
    for k in range(1, rows):
        before, known = known, {}
        for some in combinations(range(columns), k + 1):
            terms = [matrices[:, k, c] * before[some[:i] + some[i + 1 :]] for i, c in enumerate(some)]
            known[some] = sum(terms[::-2]) - sum(terms[-2::-2])
    return np.stack(list(known.values()), axis=1)


def adjugate(matrices: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Determinants `d` and adjugates `d M^-1` of many square integer matrices.

    A singular matrix has determinant 0 and, here, an adjugate of zeros.

    >>> det, adj = adjugate(np.array([[[2, 1], [1, 3]]], dtype=object))
    >>> det, adj
    (array([5], dtype=object), array([[[3, -1],
            [-1, 2]]], dtype=object))
    """
    dets, entries = list[int](), list[int]()
    for matrix in map(fmpz_mat, matrices.tolist()):
        det = int(matrix.det())
        above, below = matrix.inv().numer_denom() if det else (matrix, 1)
        factor = det // int(below)
        dets.append(det)
        entries += [int(v) * factor for v in above.entries()]
    return np.array(dets, dtype=object), np.array(entries, dtype=object).reshape(matrices.shape)


# Floats first, integers if in doubt: the signs of scalar products of integer rows, exactly.
#
# The bound. `unit_view` rounds every entry once. A product of two entries is rounded once more, and a sum of `m` such
# products `m - 1` times. So a sum is off by at most ``(m + 2) u`` of the sizes of its terms, up to higher orders, with
# ``u = eps / 2``; `rounding` allows eight times that. Entries and products that underflow are off by the smallest
# float, which the smallest normal one covers for any `m` that fits into memory.


_EPS, _TINY = np.finfo(np.float64).eps, np.finfo(np.float64).tiny
_BLOCK = 1 << 22  # products held at once

Floats = NDArray[np.float64]
Integers = NDArray[np.object_]


def rounding(size: Floats, terms: int, largest: float = 1.0) -> Floats:
    """What a sum of products may be off by, if each factor was rounded once: a sum within that has no sign yet.

    `size` is the sum of the sizes of its `terms` products, and `largest` what one factor of a product is at most, the
    other being at most 1.
    """
    return np.asarray(4 * (terms + 2) * _EPS * size + _TINY * max(1.0, largest))


def signs_at(rows: Integers, places: Integers, view: Floats | None = None) -> NDArray[np.int64]:
    """``[r, k]``: the sign of the scalar product of row `r` and place `k`.

    `view` is ``unit_view(rows)``, for those who ask about the same rows again.

    >>> signs_at(np.array([[1, 0, -2]], dtype=object), np.array([[2, 5, 1], [7, 0, 3], [-1, 0, 0]], dtype=object))
    array([[ 0,  1, -1]])
    """
    left, right = unit_view(rows) if view is None else view, unit_view(places)
    value, size = left @ right.T, np.abs(left) @ np.abs(right).T
    found = np.sign(value).astype(np.int64)
    row, place = np.nonzero(np.abs(value) <= rounding(size, rows.shape[1]))
    found[row, place] = sign((rows[row] * places[place]).sum(axis=1))
    return found


def sides(rows: Integers, places: Integers, row: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int8]:
    """The sign of ``a.x - b`` for pairs of a row ``(a, b)`` and a corner ``(x, 1) * w``; of ``a.r`` for a ray.

    >>> rows, places = np.array([[1, 0, 2]], dtype=object), np.array([[2, 5, 1], [7, 0, 3], [-1, 0, 0]], dtype=object)
    >>> sides(rows, places, np.zeros(3, dtype=np.int64), np.arange(3))
    array([ 0,  1, -1], dtype=int8)
    """
    wall, view = unit_view(rows), unit_view(places)
    result = np.empty(len(row), dtype=np.int8)
    step = max(1, _BLOCK // rows.shape[1])
    for first in range(0, len(row), step):
        r, k = row[first : first + step], place[first : first + step]
        terms = wall[r] * view[k]
        value = terms[:, :-1].sum(axis=1) - terms[:, -1]
        found = np.sign(value).astype(np.int8)
        doubt = np.flatnonzero(np.abs(value) <= rounding(np.abs(terms).sum(axis=1), rows.shape[1]))
        # Polyhedra that have a row and a place in common ask the same question.
        asked, answer = np.unique(np.stack([r[doubt], k[doubt]], axis=1), axis=0, return_inverse=True)
        exact = rows[asked[:, 0]] * places[asked[:, 1]]
        found[doubt] = sign(exact[:, :-1].sum(axis=1) - exact[:, -1])[answer.ravel()]
        result[first : first + step] = found
    return result
