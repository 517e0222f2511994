"""The size of a network for the maximum or minimum of `m` affine functions: layers, width and neurons.

A tree of ``max(a, b) = s(b - a) + s(a) - s(-a)``: a layer spends 3 neurons on each pair and 2
on a value left over.
"""

from __future__ import annotations

from cpwl.bounds.integers import ceil_log2, positive

__all__ = ["l", "r", "w"]


def l(m: int) -> int:  # noqa: E743 - the paper's letter
    """The number of layers of the extremum of `m` affine functions: ``ceil(log2 m) + 1``.

    Lemma 2, built by Algorithm 2.

    >>> [l(m) for m in range(1, 10)]
    [1, 2, 3, 3, 4, 4, 4, 4, 5]
    """
    return ceil_log2(positive(m, "m")) + 1


def w(m: int) -> int:
    """The maximum width of the extremum of `m` affine functions: ``ceil(3 m / 2)``, and 0 for ``m = 1``.

    Lemma 2, built by Algorithm 2.

    >>> [w(m) for m in range(1, 10)]
    [0, 3, 5, 6, 8, 9, 11, 12, 14]
    """
    m = positive(m, "m")
    return (3 * m + 1) // 2 if m > 1 else 0


def r(m: int) -> int:
    """The number of hidden neurons of the extremum of `m` affine functions.

    ``r(1) = 0``, ``r(m) = 3 m / 2 + r(m / 2)`` for even `m`, ``r(m) = 2 + 3 (m - 1) / 2 + r((m + 1) / 2)``
    for odd ``m > 1``. It increases strictly, and ``r(m) <= 3 (2^ceil(log2 m) - 1) < 6 m - 3``.
    Lemma 2, built by Algorithm 2.

    >>> [r(m) for m in range(1, 10)]
    [0, 3, 8, 9, 16, 17, 20, 21, 30]
    """
    m = positive(m, "m")
    neurons = 0
    while m > 1:
        pairs, left_over = divmod(m, 2)
        neurons += 3 * pairs + 2 * left_over
        m = pairs + left_over
    return neurons
