"""Algorithm 2 for many families of affine functions at once, side by side as by Algorithm 3.

All families play their tournaments at the same time, one round a layer. A family that is down to one
function keeps it as ``a = s(a) - s(-a)``, which is the identity of Algorithm 5: so padding is just further
rounds, and the whole is the network that Algorithms 2-5 would build one family at a time, weight for weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from cpwl.errors import InputError
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import ExactLayer, Layer, Network, assemble, float_layer

__all__ = ["Differences", "differences_of", "exact_signs", "extrema", "signed", "tournaments"]

Differences: TypeAlias = "Callable[[NDArray[np.int64], NDArray[np.int64]], tuple[Layer, ExactLayer | None]]"
"""Makes the layer of all ``f_plus[i] - f_minus[i]``, with -1 for no function."""

# Indexed by 1 and -1: all hidden weights share two objects.
_SIGNS = np.array([Fraction(0), Fraction(1), Fraction(-1)], dtype=object)


def extrema(gradient: Any, offset: Any, rows: Sequence[ArrayLike], kind: Literal["max", "min"] = "max") -> Network:
    """The network ``x -> (max_{j in rows[0]} f_j(x), max_{j in rows[1]} f_j(x), ...)`` (or min).

    ``f_j(x) = gradient[j] . x + offset[j]``; each row lists at least one `j`. Sizes and weights are those of
    ``side_by_side([extremum(gradient[row], offset[row], kind) for row in rows])`` (Algorithms 2 and 3). The
    network is exact when `gradient` or `offset` is rational; otherwise the first layer's differences are
    rounded in float64.

    >>> network = extrema([[1], [-1], [0]], [0, 0, 1], [[0, 1], [2], [0, 1, 2]])
    >>> network
    Network(1 -> 10 -> 7 -> 3)
    >>> network([0.5])
    array([0.5, 1. , 1. ])
    """
    functions = Network([(gradient, offset)])
    arrays = [np.asarray(row) for row in rows]
    if not arrays:
        raise InputError("extrema need at least one row of functions")
    for i, row in enumerate(arrays):
        if row.ndim != 1 or not len(row) or row.dtype.kind not in "iu":
            raise InputError(f"row {i} must be a list of at least one index, not {row!r}", row=i)
        if not 0 <= row.min() <= row.max() < functions.outputs:
            message = f"row {i} has an index outside 0 .. {functions.outputs - 1}: {row!r}"
            raise InputError(message, row=i)
    counts = np.array([len(row) for row in arrays], dtype=np.int64)
    return tournaments(differences_of(functions), counts, np.concatenate(arrays).astype(np.int64), kind)


def tournaments(
    differences: Differences, counts: NDArray[np.int64], members: NDArray[np.int64], kind: Literal["max", "min"]
) -> Network:
    """The extremum of each family of functions, all families side by side.

    `differences` makes the first layer; family `i` has `counts[i]` functions, and `members` lists them, family after
    family.
    """
    if kind not in ("max", "min"):
        raise InputError(f'`kind` must be "max" or "min", not {kind!r}', kind=kind)
    depth = int(counts.max() - 1).bit_length() + 1
    if depth == 1:
        first, exact_first = differences(members, np.full_like(members, -1))
        return assemble([first], None if exact_first is None else [exact_first])
    rounds = [_play(counts)]
    while len(rounds) < depth - 1:
        rounds.append(_play(rounds[-1].winners))
    plus, minus = (np.where(side >= 0, members[side], -1) for side in (rounds[0].plus, rounds[0].minus))
    if kind == "min":
        # min f = -max(-f): a tournament's first and last layers are negated. A family of one plays none.
        negate = (counts > 1)[rounds[0].family]
        plus, minus = np.where(negate, minus, plus), np.where(negate, plus, minus)
    first, exact_first = differences(plus, minus)
    weights = [_outcome(now, then, kind == "min") for now, then in zip(rounds, [*rounds[1:], None], strict=True)]
    layers = [first, *((weight, np.zeros(weight.shape[0])) for weight in weights)]
    return assemble(layers, None if exact_first is None else [exact_first, *map(exact_signs, weights)])


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """One round of all tournaments, where ``max(a, b) = s(b - a) + s(a) - s(-a)`` takes three neurons.

    Neuron `i`, of family `family[i]`, is ``s(a_plus[i] - a_minus[i])`` for the players `a`, with -1 for none.
    A match has `match_size` neurons: 3, or 2 for a player without an opponent. `winners` counts the winners
    of each family, who are the players of the next round; `final` marks the matches that decide a family.
    """

    plus: NDArray[np.int64]
    minus: NDArray[np.int64]
    family: NDArray[np.int64]
    match_size: NDArray[np.int64]
    winners: NDArray[np.int64]
    final: NDArray[np.bool_]


def _play(counts: NDArray[np.int64]) -> _Round:
    """The round in which each family of `counts[i]` players meets two by two, in order."""
    winners = (counts + 1) // 2
    family = np.repeat(np.arange(len(counts)), winners)
    pair = _count_up(winners)
    single = 2 * pair + 1 == counts[family]
    first = np.repeat(np.cumsum(counts) - counts, winners) + 2 * pair
    match_size = np.where(single, 2, 3)
    # Neurons of a match: b - a, a, -a; a player without an opponent has only the last two.
    role = _count_up(match_size) + np.repeat(single, match_size)
    a = np.repeat(first, match_size)
    plus = np.select([role == 0, role == 1], [a + 1, a], -1)
    minus = np.where(role == 1, -1, a)
    return _Round(plus, minus, np.repeat(family, match_size), match_size, winners, (counts == 2)[family])


def _count_up(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers 0 .. size - 1 for each size, one after the other."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _outcome(played: _Round, then: _Round | None, negate_finals: bool) -> csr_array[Any, tuple[int, int]]:
    """The layer after a round: each match's neurons add up to its winner by ``[1 1 -1]`` or ``[1 -1]``.

    The winners are the outputs, or meet each other in the next round.
    """
    sign = np.where(played.plus < 0, -1.0, 1.0)
    if negate_finals:
        sign = np.where(np.repeat(played.final, played.match_size), -sign, sign)
    start = np.concatenate([[0], np.cumsum(played.match_size)])
    if then is None:
        return csr_array((sign, np.arange(len(sign)), start), shape=(len(played.match_size), len(sign)))
    # A neuron reads the matches of its players, `minus` before `plus`.
    player = np.stack([then.minus, then.plus], axis=1)
    there = player >= 0
    sizes = np.where(there, played.match_size[player], 0)
    side = np.broadcast_to([-1.0, 1.0], player.shape)[there]
    column = np.repeat(start[player[there]], sizes[there]) + _count_up(sizes[there])
    indptr = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])
    data = np.repeat(side, sizes[there]) * sign[column]
    return csr_array((data, column, indptr), shape=(len(player), len(sign)))


def signed(plus: NDArray[np.int64], minus: NDArray[np.int64], columns: int) -> csr_array[Any, tuple[int, int]]:
    """The matrix with 1 at `plus[i]` and -1 at `minus[i]` in row `i`; -1 for none; equal places cancel."""
    place = np.stack([minus, plus], axis=1)
    there = (place >= 0) & (minus != plus)[:, None]
    sign = np.broadcast_to([-1.0, 1.0], place.shape)[there]
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return csr_array((sign, place[there], indptr), shape=(len(plus), columns))


def differences_of(functions: Network) -> Differences:
    """The layer of all ``f_plus[i] - f_minus[i]`` for the outputs of an affine network."""
    k = functions.outputs
    weight, bias = functions.layers[0]

    def layer(plus: NDArray[np.int64], minus: NDArray[np.int64]) -> tuple[Layer, ExactLayer | None]:
        # Families overlap, so each difference is formed once.
        codes, place = np.unique((plus + 1) * (k + 1) + minus + 1, return_inverse=True)
        choice = signed(codes // (k + 1) - 1, codes % (k + 1) - 1, k)
        choice.sort_indices()
        if functions.exact is None:
            with np.errstate(over="ignore"):
                return (csr_array((choice @ weight)[place]), (choice @ bias)[place]), None
        exact_choice, _ = exact_signs(choice)
        exact_weight, exact_bias = exact_choice @ functions.exact[0][0], exact_choice @ functions.exact[0][1]
        view, view_bias = float_layer((exact_weight, exact_bias))
        return (csr_array(view[place]), view_bias[place]), (exact_weight.take_rows(place), exact_bias[place])

    return layer


def exact_signs(weight: csr_array[Any, tuple[int, int]]) -> ExactLayer:
    """A sorted matrix of 1 and -1 in rationals, without a bias."""
    data = _SIGNS[weight.data.astype(np.int64)]
    indptr, indices = weight.indptr.astype(np.int64), weight.indices.astype(np.int64)
    bias = np.full(weight.shape[0], _SIGNS[0], dtype=object)
    return RationalMatrix(weight.shape, indptr, indices, data), bias
