"""Laws of the segments between neighbouring points of a table: integer rows in lowest terms, in bulk.

Floats are integers times powers of two. For one segment let ``x = X 2^a`` and ``y = Y 2^b`` at both of its ends. Its
slope is ``R 2^(b - a) / D`` and its offset ``F 2^b / D`` with ``R = Y1 - Y0``, ``D = X1 - X0``, ``F = Y0 X1 - Y1 X0``.
If the exponents of neighbours are not too far apart, `X`, `Y`, `R` and `D` are machine integers; only `F` is longer.
Powers of two are counted apart, and `R` and `D` seldom have a common odd divisor, so that hardly any gcd of long
integers is left.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import quotient

__all__ = ["dyadic", "float_segments", "segments"]

Whole = NDArray[np.int64]
_ROOM = 9  # bits beyond the 53 of a float that fit: differences of two numbers below 2^62 do
_MANY = 10_000  # powers of two in 0: more than in any other number here
_gcd = np.frompyfunc(math.gcd, 2, 1)


def dyadic(x: NDArray[np.float64]) -> NDArray[np.object_]:
    """Floats as integer rows ``(numerator, denominator)`` in lowest terms.

    >>> dyadic(np.array([0.75, -3.0, 0.0]))
    array([[3, 4],
           [-3, 1],
           [0, 1]], dtype=object)
    """
    odd, twos = _odd(*_whole(x))
    numerator = np.left_shift(odd.astype(object), np.where(odd == 0, 0, np.maximum(twos, 0)).astype(object))
    powers = np.array([1 << k for k in range(max(0, int(-twos.min(initial=0))) + 1)], dtype=object)
    return np.stack([numerator, powers[np.maximum(-twos, 0)]], axis=-1)


def segments(at: NDArray[np.object_], height: NDArray[np.object_]) -> NDArray[np.object_]:
    """The laws of segments of rationals: ``(numerator, denominator)`` of `x` and of `y` at both ends, (2, ..., 2)."""
    (x0, d0), (x1, d1) = (np.moveaxis(end, -1, 0) for end in at)
    (y0, e0), (y1, e1) = (np.moveaxis(end, -1, 0) for end in height)
    run = x1 * d0 - x0 * d1
    rise = (y1 * e0 - y0 * e1) * d0 * d1  # slope = rise / (run e0 e1)
    offset = y0 * run * e1 * d0 - rise * x0  # over run e0 e1 d0
    return quotient(np.stack([rise * d0, offset], axis=-1), run * e0 * e1 * d0)


def float_segments(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.object_]:
    """Rows ``(slope, offset, 1) * denominator`` between neighbours of ``x`` (N,), for values `y` ``(N, k)``.

    >>> float_segments(np.array([0.0, 0.5, 2.0]), np.array([[1.0], [2.0], [0.0]]))[:, 0]
    array([[2, 1, 1],
           [-4, 8, 3]], dtype=object)
    """
    count, outputs = len(x) - 1, y.shape[1]
    laws = np.empty((count, outputs, 3), dtype=object)
    X, a, short = _pairs(x)
    for o in range(outputs):
        Y, b, short_too = _pairs(y[:, o])
        low_word = Y[0] * X[1] - Y[1] * X[0]  # F modulo 2^64
        easy = short & short_too & (low_word != 0)
        i = np.flatnonzero(easy)
        laws[i, o] = _machine(X[:, i], Y[:, i], a[i], b[i], low_word[i])
        i = np.flatnonzero(~easy)
        ends = np.stack([i, i + 1])
        laws[i, o] = segments(dyadic(x[ends]), dyadic(y[ends, o]))
    return laws


def _machine(X: Whole, Y: Whole, a: Whole, b: Whole, low_word: Whole) -> NDArray[np.object_]:
    """The rows where all but `F` are machine integers, and `F` has few powers of two."""
    rise, rise_twos = _odd(Y[1] - Y[0], 0 * a)
    run, run_twos = _odd(X[1] - X[0], 0 * a)
    F = Y[0].astype(object) * X[1].astype(object) - Y[1].astype(object) * X[0].astype(object)
    common = np.gcd(rise, run)
    shared = np.flatnonzero(common > 1)
    odd = np.asarray(_gcd(common[shared].astype(object), F[shared]), dtype=np.int64)
    rise[shared] //= odd
    run[shared] //= odd
    F[shared] //= odd
    # Powers of two of R 2^(b - a), F 2^b and D; then less what all three have.
    twos = np.stack([rise_twos + b - a, _odd(low_word, 0 * a)[1] + b, run_twos])
    least = twos.min(axis=0)
    move = b - least
    F = np.where(move >= 0, np.left_shift(F, np.maximum(move, 0).astype(object)), F)
    back = np.flatnonzero(move < 0)
    F[back] = np.right_shift(F[back], (-move[back]).astype(object))
    slope = np.left_shift(rise.astype(object), np.where(rise == 0, 0, twos[0] - least).astype(object))
    return np.stack([slope, F, np.left_shift(run.astype(object), (twos[2] - least).astype(object))], axis=-1)


def _whole(x: NDArray[np.float64]) -> tuple[Whole, Whole]:
    """Integers and exponents: ``x = whole 2^exponent``."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(mantissa, 53).astype(np.int64), exponent.astype(np.int64) - 53


def _odd(whole: Whole, exponent: Whole) -> tuple[Whole, Whole]:
    """The same with odd integers; 0 has a large exponent."""
    twos = np.frexp((whole & -whole).astype(np.uint64).astype(np.float64))[1].astype(np.int64) - 1
    return whole >> np.maximum(twos, 0), np.where(whole == 0, _MANY, exponent + twos)


def _pairs(x: NDArray[np.float64]) -> tuple[Whole, Whole, NDArray[np.bool_]]:
    """Neighbours as integers times one power of two each, ``(2, N - 1)`` and ``(N - 1,)``, and where these fit."""
    whole, exponent = _whole(x)
    exponent = np.where(whole == 0, _MANY, exponent)
    both, each = np.stack([whole[:-1], whole[1:]]), np.stack([exponent[:-1], exponent[1:]])
    low = each.min(axis=0)
    low = np.where(low == _MANY, 0, low)
    shift = np.where(both == 0, 0, each - low)
    fits = np.asarray((shift <= _ROOM).all(axis=0))
    return (both << np.minimum(shift, _ROOM)).astype(np.int64), low, fits
