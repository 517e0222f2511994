"""Where hyperplanes meet: the line on which `r` linear forms in ``r + 1`` variables vanish, with an error bound."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

__all__ = ["cross_product", "unit_rows"]

_EPS = float(np.finfo(np.float64).eps)
_TINY = 1e-290


def unit_rows(rows: NDArray[np.float64], error: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows and their error bounds times a power of two that brings the largest entry near 1: nothing is rounded."""
    with np.errstate(invalid="ignore"):
        exponent = np.frexp(np.abs(rows).max(axis=-1, keepdims=True))[1]
    return np.ldexp(rows, -exponent), np.ldexp(error, -exponent)


def cross_product(
    rows: NDArray[np.float64], error: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The signed maximal minors of many matrices ``(N, r, r + 1)`` known up to `error`, and bounds on their errors.

    Laplace expansion row by row over sets of columns, with a running error analysis.

    >>> cross_product(np.array([[[1.0, 0.0, -2.0], [0.0, 1.0, -3.0]]]), np.zeros((1, 2, 3)))[0]
    array([[2., 3., 1.]])
    """
    count, r, columns = rows.shape
    value: dict[tuple[int, ...], NDArray[np.float64]] = {(): np.ones(count)}
    bound: dict[tuple[int, ...], NDArray[np.float64]] = {(): np.zeros(count)}
    with np.errstate(all="ignore"):
        for k in range(r):
            a, e = rows[:, k], error[:, k]
            next_value: dict[tuple[int, ...], NDArray[np.float64]] = {}
            next_bound: dict[tuple[int, ...], NDArray[np.float64]] = {}
            for chosen in itertools.combinations(range(columns), k + 1):
                total, size, unsure = np.zeros(count), np.zeros(count), np.zeros(count)
                for place, c in enumerate(chosen):
                    rest = chosen[:place] + chosen[place + 1 :]
                    minor, off = value[rest], bound[rest]
                    term = a[:, c] * minor
                    # Expansion along the last row.
                    total = total + term if (k + place) % 2 == 0 else total - term
                    size += np.abs(term)
                    unsure += np.abs(a[:, c]) * off + e[:, c] * (np.abs(minor) + off)
                next_value[chosen] = total
                next_bound[chosen] = unsure * (1 + 16 * _EPS) + (k + 3) * _EPS * size + _TINY * (size > 0)
            value, bound = next_value, next_bound
    whole = tuple(range(columns))
    # The form with the minors as coefficients, of the sign that makes the last one the determinant itself.
    minors = [value[whole[:c] + whole[c + 1 :]] * (-1) ** (r - c) for c in whole]
    bounds = [bound[whole[:c] + whole[c + 1 :]] for c in whole]
    return np.stack(minors, axis=1), np.stack(bounds, axis=1)
