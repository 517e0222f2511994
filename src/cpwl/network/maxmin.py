"""Steps 9 to 13 of Algorithm 1 for exact laws: minima side by side, then their maximum."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.exact.integers import common_denominator, ratio_view
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.end_to_end import end_to_end
from cpwl.network.extrema import Differences, exact_signs, signed, tournaments
from cpwl.network.network import ExactLayer, Layer, Network

__all__ = ["maxmin"]

_fractions = np.frompyfunc(Fraction, 2, 1)


def maxmin(laws: NDArray[np.object_], rows: Sequence[NDArray[np.int64]]) -> Network:
    """The network ``x -> max_i min_{m in rows[i]} f_m(x)``, laws as integers ``(gradient, offset, 1) * denominator``.

    Weight for weight ``end_to_end(extrema(f, rows, "min"), extremum(identity, "max"))``: the minima side by side, then
    the maximum of their values (Algorithms 2 to 5).

    >>> laws = np.array([[1, 0, 1], [-1, 0, 1], [0, 1, 3]], dtype=object)
    >>> maxmin(laws, [np.array([0, 1]), np.array([2])])(["-1/2"])
    array([Fraction(1, 3)], dtype=object)
    """
    counts = np.array([len(row) for row in rows], dtype=np.int64)
    minima = tournaments(_of_integers(laws), counts, np.concatenate(rows), "min")
    several = np.array([len(rows)])
    return end_to_end(minima, tournaments(_of_coordinates(len(rows)), several, np.arange(len(rows)), "max"))


def _of_integers(laws: NDArray[np.object_]) -> Differences:
    """The layer of all ``f_plus[i] - f_minus[i]`` for integer laws; its weights become `Fraction` when asked for."""
    k, n = len(laws), laws.shape[1] - 2
    zero = np.array([[0] * (n + 1) + [1]], dtype=object)
    table = np.concatenate([laws, zero])

    def layer(plus: NDArray[np.int64], minus: NDArray[np.int64]) -> tuple[Layer, ExactLayer | None]:
        codes, place = np.unique((plus + 1) * (k + 1) + minus + 1, return_inverse=True)
        top, below = _subtract(table, codes // (k + 1) - 1, codes % (k + 1) - 1)
        view = ratio_view(top, below[:, None])
        there = view[:, :-1] != 0
        lost = np.nonzero(~there)  # zero, or too small for a float
        there[lost] = top[lost] != 0
        lengths = there.sum(axis=1)[place]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        columns = np.nonzero(there[place])[1]
        floats = csr_array((view[:, :-1][place][there[place]], columns, indptr), shape=(len(place), n))

        def entries() -> NDArray[np.object_]:
            made = np.zeros(there.shape, dtype=object)
            made[there] = _fractions(top[:, :-1][there], np.repeat(below, there.sum(axis=1)))
            return np.asarray(made[place][there[place]])

        exact = RationalMatrix((len(place), n), indptr.copy(), columns.copy(), entries)
        return (floats, view[place, -1]), (exact, np.asarray(_fractions(top[:, -1], below))[place])

    return layer


def _subtract(
    table: NDArray[np.object_], plus: NDArray[np.int64], minus: NDArray[np.int64]
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Numerators and denominators of ``f_plus - f_minus``; -1 is the last row, zero."""
    common = common_denominator(table)
    if common is not None:
        whole, denominator = common
        return whole[plus] - whole[minus], np.full(len(plus), denominator, dtype=object)
    f, g = table[plus], table[minus]
    return f[:, :-1] * g[:, -1:] - g[:, :-1] * f[:, -1:], f[:, -1] * g[:, -1]


def _of_coordinates(k: int) -> Differences:
    """The layer of all ``x_plus[i] - x_minus[i]`` for `k` coordinates."""

    def layer(plus: NDArray[np.int64], minus: NDArray[np.int64]) -> tuple[Layer, ExactLayer | None]:
        choice = signed(plus, minus, k)
        return (choice, np.zeros(len(plus))), exact_signs(choice)

    return layer
