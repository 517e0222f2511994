"""What was known before: the bounds of Arora et al. 2018, He et al. 2020 and Hertrich et al. 2021."""

from __future__ import annotations

from cpwl.bounds.integers import ceil_log2, check_bits, positive

__all__ = ["arora2018_hidden_layers", "he2020", "hertrich2021"]


def arora2018_hidden_layers(n: int) -> int:
    """The hidden layers that suffice for any CPWL function of `n` inputs: ``ceil(log2(n + 1))``.

    Arora, Basu, Mianjy and Mukherjee 2018, Theorem 2.1, as cited in Section 3.

    >>> [arora2018_hidden_layers(n) for n in (1, 2, 3, 4, 100)]
    [1, 2, 2, 3, 7]
    """
    return ceil_log2(positive(n, "n") + 1)


def he2020(n: int, k: int, q: int) -> int:
    """The neurons that suffice by He et al. for `n` inputs, `k` linear components and `q` pieces.

    ``n 2^(k q + (n + 1) (k - n - 1))`` if ``k >= n + 1``, else ``n 2^(k q)``: the paper's asymptotic
    statement with constant 1, as drawn in Figure 1 (``k = q`` or ``q = k!``) and Figure 2 (``q = k!``).
    He, Li, Xu and Zheng 2020, Theorem 5.2, as cited in Section 3.1.

    >>> he2020(1, 4, 4), he2020(10, 3, 6)
    (1048576, 2621440)
    """
    n, k, q = positive(n, "n"), positive(k, "k"), positive(q, "q")
    exponent = k * q + (n + 1) * max(k - n - 1, 0)
    check_bits(exponent)
    return n << exponent


def hertrich2021(n: int, k: int) -> int:
    """The neurons that suffice by Hertrich et al. for `n` inputs and `k` linear components.

    ``k^(2 n^2 + 3 n + 1) (ceil(log2(n + 1)) + 1)``: their width times the number of layers, with constant 1,
    as drawn in Figures 1 and 2. (The text has ``log2(n + 1)`` for the second factor; the figures do not.)
    Hertrich, Basu, Di Summa and Skutella 2021, Theorem 4.4, as cited in Section 3.1.

    >>> hertrich2021(1, 2), hertrich2021(2, 2)
    (128, 98304)
    """
    n, k = positive(n, "n"), positive(k, "k")
    exponent = 2 * n * n + 3 * n + 1
    check_bits(exponent * (k.bit_length() - 1))
    return int(k**exponent) * (ceil_log2(n + 1) + 1)
