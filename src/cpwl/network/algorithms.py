"""Networks made of networks: Algorithms 2 to 5 of the paper.

Also `clipped`, which moves inputs to the nearest point of a box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import block_diag, csr_array, eye_array, vstack

from cpwl.errors import InputError, counted
from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix, block_diagonal, stack_rows
from cpwl.network.network import ExactLayer, Layer, Network, assemble, exact_layers, float_layer

# Inputs moved to the nearest point of a box, by two layers in front of a network.
#
# ``a = relu(x - low)`` and ``k = relu((high - low) - a)``: then ``high - k`` is `x` moved into the box, coordinate by
# coordinate. Far away nothing large is left to cancel: `k` is exactly 0 above the box, and ``high - low`` below it.


@dataclass(frozen=True, slots=True, eq=False)
class Clipped:
    """A network that moves its input into the box first, as the box and the network behind."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    inner: Network


def clipped(network: Network, low: Sequence[Fraction], high: Sequence[Fraction]) -> Network:
    """The network ``x -> network(nearest point of the box to x)``: 2 more neurons for each input, in 2 more layers.

    >>> inside = clipped(Network([([[2]], [1])]), [Fraction(0)], [Fraction(3)])
    >>> inside([[-5.0], [1.0], [9.0]]).ravel().tolist(), inside
    ([1.0, 3.0, 7.0], Network(1 -> 1 -> 1 -> 1))
    """
    n = network.inputs
    below, above = fraction_array(np.array(list(low), dtype=object)), fraction_array(np.array(list(high), dtype=object))
    (weight, bias), *rest = exact_layers(network)
    layers: list[ExactLayer] = [
        (_diagonal(1, n), -below),
        (_diagonal(-1, n), above - below),
        (-weight, fraction_array(bias + weight @ above)),
        *rest,
    ]
    return assemble([float_layer(layer) for layer in layers], layers)


def unclipped(network: Network) -> Clipped | None:
    """The box and the network behind, if the first two layers move the input into a box; else None.

    >>> found = unclipped(clipped(Network([([["1/3"]], [1])]), [Fraction(0)], [Fraction(3)]))
    >>> found.low, found.high, found.inner([["1/2"]])
    ((Fraction(0, 1),), (Fraction(3, 1),), array([[Fraction(7, 6)]], dtype=object))
    >>> unclipped(Network([([["1/3"]], [1])])) is None
    True
    """
    n = network.inputs
    if len(network.layers) < 3 or any(weight.shape != (n, n) or weight.nnz != n for weight, _ in network.layers[:2]):
        return None
    (first, minus_low), (second, width), (weight, bias), *rest = exact_layers(network)
    for layer, sign in ((first, 1), (second, -1)):
        if layer.rows.tolist() != layer.indices.tolist() or not all(v == sign for v in layer.data):
            return None
    if any(w < 0 for w in width):
        return None
    low, high = -minus_low, width - minus_low
    layers: list[ExactLayer] = [(-weight, fraction_array(bias + weight @ high)), *rest]
    inner = assemble([float_layer(layer) for layer in layers], layers)
    return Clipped(tuple(map(Fraction, low)), tuple(map(Fraction, high)), inner)


def _diagonal(value: int, n: int) -> RationalMatrix:
    return RationalMatrix.from_triples(range(n), range(n), [Fraction(value)] * n, (n, n))


# Algorithm 5 of the paper: the identity as a network of any depth.


def identity(n: int, depth: int) -> Network:
    """The network ``x -> x`` on R^n with `depth` layers: ``2 n (depth - 1)`` neurons, width ``2 n``.

    Algorithm 5: every coordinate is carried as ``x = s(x) - s(-x)``.

    >>> identity(1, 3).layers[1][0].toarray()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if n < 1 or depth < 1:
        raise InputError(f"an identity needs n >= 1 and depth >= 1, not n = {n} and depth = {depth}")
    if depth == 1:
        return assemble([(csr_array(eye_array(n)), np.zeros(n))])
    coordinate, sign = np.repeat(np.arange(n), 2), np.tile([1.0, -1.0], n)
    split = csr_array((sign, coordinate, np.arange(2 * n + 1)), shape=(2 * n, n))
    join = csr_array((sign, np.arange(2 * n), np.arange(0, 2 * n + 1, 2)), shape=(n, 2 * n))
    # All layers in between are one and the same object.
    middle = [(csr_array(split @ join), np.zeros(2 * n))] * (depth - 2)
    return assemble([(split, np.zeros(2 * n)), *middle, (join, np.zeros(n))])


# Algorithm 4 of the paper: the composition of two networks.


def end_to_end(first: Network, second: Network) -> Network:
    """The network ``x -> second(first(x))``: depth ``l_1 + l_2 - 1``, neurons ``n_1 + n_2``.

    Algorithm 4: the last layer of `first` and the first layer of `second` become one affine layer
    ``W_2 (W_1 h + b_1) + b_2``. It is computed in rationals if either network is rational; for two float
    networks it is computed, and rounded, in float64.

    >>> absolute = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> hat = Network([([[1], [-1]], [-1, 1]), ([[1, 1]], [0])])
    >>> end_to_end(absolute, hat)
    Network(1 -> 2 -> 2 -> 1)
    >>> end_to_end(absolute, hat)([[-1.0], [0.0], [2.0]]).ravel()
    array([0., 1., 1.])
    """
    if first.outputs != second.inputs:
        sizes = f"gives {counted(first.outputs, 'output')}, but the second takes {counted(second.inputs, 'input')}"
        raise InputError(f"the first network {sizes}", outputs=first.outputs, inputs=second.inputs)
    before, after = first.layers[:-1], second.layers[1:]
    if first.exact is None and second.exact is None:
        (inner, inner_bias), (outer, outer_bias) = first.layers[-1], second.layers[0]
        with np.errstate(over="ignore"):
            return assemble([*before, (outer @ inner, outer @ inner_bias + outer_bias), *after])
    left, right = exact_layers(first), exact_layers(second)
    merged = (right[0][0] @ left[-1][0], right[0][0] @ left[-1][1] + right[0][1])
    return assemble([*before, float_layer(merged), *after], [*left[:-1], merged, *right[1:]])


# Algorithm 3 of the paper: networks that share their input, as one network.


def side_by_side(networks: Sequence[Network]) -> Network:
    """The network ``x -> (g_1(x), ..., g_k(x))`` for networks `g_i` on the same R^n.

    Algorithm 3: shallower networks are followed by an identity (Algorithms 5 and 4), then first layers are
    stacked and all others put along a diagonal. With ``l = max l_i`` and `m_i` outputs it has depth `l`,
    ``sum n_i + 2 m_i (l - l_i)`` neurons and width at most ``sum max(w_i, 2 m_i)``.

    >>> relu = Network([([[1]], [0]), ([[1]], [0])])
    >>> double = Network([([[2]], [0])])
    >>> side_by_side([relu, double])
    Network(1 -> 3 -> 2)
    >>> side_by_side([relu, double])([-3.0])
    array([ 0., -6.])
    """
    networks = list(networks)
    if not networks:
        raise InputError("side by side needs at least one network")
    for i, network in enumerate(networks):
        if network.inputs != networks[0].inputs:
            message = f"network {i} takes {counted(network.inputs, 'input')}, but network 0 takes {networks[0].inputs}"
            raise InputError(message, network=i)
    depth = max(len(network.layers) for network in networks)
    missing = [depth - len(network.layers) for network in networks]
    padded = [end_to_end(g, identity(g.outputs, k + 1)) if k else g for g, k in zip(networks, missing, strict=True)]
    layers = [_combine([g.layers[i] for g in padded], block_diag if i else vstack) for i in range(depth)]
    if all(network.exact is None for network in networks):
        return assemble(layers)
    exact = [exact_layers(network) for network in padded]
    joins = [block_diagonal if i else stack_rows for i in range(depth)]
    return assemble(layers, [_combine([g[i] for g in exact], join) for i, join in enumerate(joins)])


def _combine(layers: Sequence[Any], join: Callable[[list[Any]], Any]) -> Any:
    """One layer of several: their weights joined, and all biases."""
    joint = join([weight for weight, _ in layers])
    weight = joint if isinstance(joint, RationalMatrix) else csr_array(joint)
    return weight, np.concatenate([bias for _, bias in layers])


# Algorithm 2 for many families of affine functions at once, side by side as by Algorithm 3.
#
# All families play their tournaments at the same time, one round a layer. A family that is down to one
# function keeps it as ``a = s(a) - s(-a)``, which is the identity of Algorithm 5: so padding is just further
# rounds, and the whole is the network that Algorithms 2-5 would build one family at a time, weight for weight.


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
    return _tournaments(functions, counts, np.concatenate(arrays).astype(np.int64), kind)


def _tournaments(
    functions: Network, counts: NDArray[np.int64], members: NDArray[np.int64], kind: Literal["max", "min"]
) -> Network:
    """The extremum of each family of outputs of an affine network, all families side by side.

    Family `i` has `counts[i]` outputs, and `members` lists them, family after family.
    """
    if kind not in ("max", "min"):
        raise InputError(f'`kind` must be "max" or "min", not {kind!r}', kind=kind)
    depth = int(counts.max() - 1).bit_length() + 1
    if depth == 1:
        first, exact_first = _differences(functions, members, np.full_like(members, -1))
        return assemble([first], None if exact_first is None else [exact_first])
    rounds = [_play(counts)]
    while len(rounds) < depth - 1:
        rounds.append(_play(rounds[-1].winners))
    plus, minus = (np.where(side >= 0, members[side], -1) for side in (rounds[0].plus, rounds[0].minus))
    if kind == "min":
        # min f = -max(-f): a tournament's first and last layers are negated. A family of one plays none.
        negate = (counts > 1)[rounds[0].family]
        plus, minus = np.where(negate, minus, plus), np.where(negate, plus, minus)
    first, exact_first = _differences(functions, plus, minus)
    weights = [_outcome(now, then, kind == "min") for now, then in zip(rounds, [*rounds[1:], None], strict=True)]
    layers = [first, *((weight, np.zeros(weight.shape[0])) for weight in weights)]
    return assemble(layers, None if exact_first is None else [exact_first, *map(_exact_signs, weights)])


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


def _signed(plus: NDArray[np.int64], minus: NDArray[np.int64], columns: int) -> csr_array[Any, tuple[int, int]]:
    """The matrix with 1 at `plus[i]` and -1 at `minus[i]` in row `i`; -1 for none; equal places cancel."""
    place = np.stack([minus, plus], axis=1)
    there = (place >= 0) & (minus != plus)[:, None]
    sign = np.broadcast_to([-1.0, 1.0], place.shape)[there]
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return csr_array((sign, place[there], indptr), shape=(len(plus), columns))


def _differences(
    functions: Network, plus: NDArray[np.int64], minus: NDArray[np.int64]
) -> tuple[Layer, ExactLayer | None]:
    """The layer of all ``f_plus[i] - f_minus[i]`` for the outputs of an affine network, with -1 for no function."""
    k = functions.outputs
    # Families overlap, so each difference is formed once.
    codes, place = np.unique((plus + 1) * (k + 1) + minus + 1, return_inverse=True)
    choice = _signed(codes // (k + 1) - 1, codes % (k + 1) - 1, k)
    choice.sort_indices()
    if functions.exact is None:
        weight, bias = functions.layers[0]
        with np.errstate(over="ignore"):
            return (csr_array((choice @ weight)[place]), (choice @ bias)[place]), None
    (exact_weight, exact_bias), (signs, _) = functions.exact[0], _exact_signs(choice)
    made = signs @ exact_weight, signs @ exact_bias
    view, view_bias = float_layer(made)
    return (csr_array(view[place]), view_bias[place]), (made[0].take_rows(place), made[1][place])


def _exact_signs(weight: csr_array[Any, tuple[int, int]]) -> ExactLayer:
    """A sorted matrix of 1 and -1 in rationals, without a bias."""
    data = _SIGNS[weight.data.astype(np.int64)]
    indptr, indices = weight.indptr.astype(np.int64), weight.indices.astype(np.int64)
    bias = np.full(weight.shape[0], _SIGNS[0], dtype=object)
    return RationalMatrix(weight.shape, indptr, indices, data), bias


# Algorithm 2 of the paper: the maximum or minimum of affine functions as a network.


def extremum(gradient: Any, offset: Any, kind: Literal["max", "min"] = "max") -> Network:
    """The network ``x -> max_i f_i(x)`` (or min) of `m` affine functions on R^n.

    ``f_i(x) = gradient[i] . x + offset[i]``; `gradient` may be dense, scipy sparse or a `RationalMatrix`.
    Algorithm 2: a tournament of ``max(a, b) = s(b - a) + s(a) - s(-a)``, with exactly `r(m)` neurons, `l(m)`
    layers and width `w(m)`. The network is exact when `gradient` or `offset` is rational; otherwise the first
    layer's differences are rounded in float64.

    >>> distance = extremum([[1], [-1]], [0, 0])
    >>> distance
    Network(1 -> 3 -> 1)
    >>> distance([[-2.0], [3.0]]).ravel()
    array([2., 3.])
    >>> extremum([[1], [0], [-1]], ["1/3", 0, 2], kind="min")([["-1"], ["5"]]).ravel()
    array([Fraction(-2, 3), Fraction(-3, 1)], dtype=object)
    """
    functions = Network([(gradient, offset)])
    m = functions.outputs
    return _tournaments(functions, np.array([m]), np.arange(m), kind)


# Equal neurons of the first layer made one: what networks side by side have in common.


def share_first_layer(network: Network, blocks: Sequence[int]) -> Network:
    """The same function, with first-layer neurons that occur in several blocks computed once.

    `blocks` has the number of first-layer neurons of each network that was put side by side. Equal means equal
    as numbers, so nothing is rounded. Within a block nothing is merged: its own structure stays readable.
    Returns its input when all blocks differ.

    >>> twice = Network([([[1.0], [-1.0], [1.0]], [0, 0, 0]), ([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0, 0])])
    >>> share_first_layer(twice, [2, 1])
    Network(1 -> 2 -> 2)
    """
    if len(network.layers) < 2:
        return network
    layers = list(exact_layers(network))
    weight, bias = layers[0]
    assert sum(blocks) == len(bias)
    block = np.repeat(np.arange(len(blocks)), blocks)
    seen: Counter[tuple[object, ...]] = Counter()
    numbers: dict[tuple[object, ...], int] = {}
    which = np.zeros(len(bias), dtype=np.int64)
    for i in range(len(bias)):
        entries = slice(weight.indptr[i], weight.indptr[i + 1])
        key = (*weight.indices[entries].tolist(), *weight.data[entries].tolist(), bias[i])
        occurrence = seen[key, block[i]]
        seen[key, block[i]] += 1
        which[i] = numbers.setdefault((key, occurrence), len(numbers))
    if len(numbers) == len(bias):
        return network
    first = np.unique(which, return_index=True)[1]
    layers[0] = weight.take_rows(first), bias[first]
    after, after_bias = layers[1]
    merged = RationalMatrix.from_triples(after.rows, which[after.indices], after.data, (after.shape[0], len(first)))
    layers[1] = (merged, after_bias)
    return assemble([float_layer(layer) for layer in layers], None if network.exact is None else layers)
