"""Theorems 1 to 3: what suffices for any CPWL function with so many pieces or linear components.

As published. The proof of Theorem 3 stands; those of Theorems 1 and 2 rest on a max-min form with one row for
each piece, which for two or more inputs can be wrong unless the pieces are cut further.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cpwl.bounds.integers import ceil_log2, check_bits, positive, written
from cpwl.errors import InputError

__all__ = ["Bound", "phi", "theorem1", "theorem2", "theorem3"]


@dataclass(frozen=True, slots=True)
class Bound:
    """Upper bounds on the size of a network: layers, maximum width, and hidden neurons (Definition 5).

    >>> Bound(layers=3, width=6, neurons=11).neurons
    11
    """

    layers: int
    width: int
    neurons: int


def theorem1(q: int) -> Bound:
    """The size of a network for any CPWL function with `q` pieces: Theorem 2 at ``k = q``.

    Theorem 1. It does not depend on the number of inputs.

    >>> theorem1(2)
    Bound(layers=3, width=6, neurons=11)
    """
    q = positive(q, "q")
    return _bilinear(q, q)


def theorem2(k: int, q: int) -> Bound:
    """The size of a network for any CPWL function with `k` linear components and `q` pieces, ``k <= q``.

    With ``c(x) = ceil(log2 x)``: ``c(q) + c(k) + 1`` layers, width ``ceil(3 k / 2) q``, and
    ``(3 2^c(k) + 2 c(k) - 3) q + 3 2^c(q) - 2 c(k) - 3`` neurons. Theorem 2.
    An affine function cut into pieces, ``k = 1 < q``, is not what the theorem means (its `q` is the least number
    of pieces): the printed formulas, given here, then say width 0 but ``3 (2^c(q) - 1)`` neurons.

    >>> theorem2(3, 8)
    Bound(layers=6, width=40, neurons=121)
    >>> theorem2(1, 8)
    Bound(layers=4, width=0, neurons=21)
    """
    k, q = positive(k, "k"), positive(q, "q")
    if k > q:
        message = f"`k` = {written(k)} linear components need at least as many pieces, but `q` = {written(q)}"
        raise InputError(message, k=k, q=q)
    return _bilinear(k, q)


def theorem3(n: int, k: int) -> Bound:
    """The size of a network for any CPWL function of `n` inputs with `k` linear components.

    Theorem 3, which is Theorem 2 at ``q = phi(n, k)``.

    >>> theorem3(1, 5)
    Bound(layers=8, width=88, neurons=336)
    >>> theorem3(10**9, 5).neurons
    3615
    """
    n, k = positive(n, "n"), positive(k, "k")
    return _bilinear(k, phi(n, k))


def phi(n: int, k: int) -> int:
    """A number of convex pieces that suffices for any CPWL function of `n` inputs with `k` linear components.

    ``phi(n, k) = min(sum_{i <= n} binomial(k (k - 1) / 2, i), k!)`` bounds the number of orders in which the
    values of `k` affine functions can stand (Theorem 3, Lemma 1). For ``n >= k - 1`` it is ``k!``: the
    hyperplanes ``x_i = x_j`` make ``k!`` cells in essentially ``k - 1`` dimensions, and the sum is the most
    that any arrangement of as many hyperplanes can make.

    >>> [phi(n, 5) for n in (1, 2, 3, 4, 10**100)]
    [11, 56, 120, 120, 120]
    """
    n, k = positive(n, "n"), positive(k, "k")
    # 2^low <= k! < 2^(low + k), for a factor i lies in [2^b, 2^(b + 1)), b = floor(log2 i): few sums need k!.
    top = k.bit_length() - 1
    low = (k + 1) * top - 2 ** (top + 1) + 2
    if n >= k - 1:
        check_bits(low)
        return math.factorial(k)
    planes = k * (k - 1) // 2
    total = term = 1
    for i in range(n):
        if total.bit_length() > low + k:
            break
        term = term * (planes - i) // (i + 1)
        total += term
    return total if total.bit_length() <= low else min(total, math.factorial(k))


def _bilinear(k: int, q: int) -> Bound:
    c, d = ceil_log2(k), ceil_log2(q)
    neurons = (3 * 2**c + 2 * c - 3) * q + 3 * 2**d - 2 * c - 3
    return Bound(layers=d + c + 1, width=(3 * k + 1) // 2 * q if k > 1 else 0, neurons=neurons)
