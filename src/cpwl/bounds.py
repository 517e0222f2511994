"""Published bounds on the size of a ReLU network for a CPWL function: integers in, integers out, at any size.

Letters as in the paper: `n` inputs, `q` convex pieces, `k` distinct linear components. A network with
`layers` layers has one hidden layer less (Definition 5).

>>> theorem2(8, 20)
Bound(layers=9, width=240, neurons=627)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral

from cpwl.errors import InputError, LimitError

__all__ = [
    "Bound",
    "algorithm1",
    "arora2018_hidden_layers",
    "he2020",
    "hertrich2021",
    "l",
    "phi",
    "r",
    "theorem1",
    "theorem2",
    "theorem3",
    "w",
]

TITLES = {
    **{f"theorem{k}": f"Theorem {k}" for k in (1, 2, 3)},
    "algorithm1": "Algorithm 1",
    "arora2018": "Arora et al. 2018",
    "he2020": "He et al. 2020",
    "hertrich2021": "Hertrich et al. 2021",
}
"""How bounds are cited."""

# Positive integers at the door, their exact logarithm, and integers too large to compute.

_LARGEST_BITS = 2**32


def positive(value: object, name: str) -> int:
    """The positive integer `value` as a Python integer, or an `InputError` that names it.

    NumPy integers are integers; booleans and floats are not, whatever their value.

    >>> positive(7, "q")
    7
    >>> positive(0, "q")
    Traceback (most recent call last):
    cpwl.errors.InputError: `q` must be a positive integer, not 0
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        kind = type(value).__name__
        raise InputError(f"`{name}` must be a positive integer, not of type `{kind}`", name=name, value=value)
    number = int(value)
    if number < 1:
        raise InputError(f"`{name}` must be a positive integer, not {written(number)}", name=name, value=number)
    return number


def written(number: int) -> str:
    """`number` for a message; Python refuses to print integers of many thousand digits.

    >>> written(12), written(-(10**5000))
    ('12', 'about -2^16609')
    """
    bits = number.bit_length()
    return str(number) if bits <= 64 else f"about {'-' if number < 0 else ''}2^{bits - 1}"


def ceil_log2(m: int) -> int:
    """The least `c` with ``2^c >= m``, for a positive integer `m`.

    >>> [ceil_log2(m) for m in (1, 2, 3, 4, 5, 2**100, 2**100 + 1)]
    [0, 1, 2, 2, 3, 100, 101]
    """
    return (m - 1).bit_length()


def check_bits(bits: int) -> None:
    """Refuse to compute an integer of `bits` bits when it would fill the memory.

    >>> check_bits(10**12)
    Traceback (most recent call last):
    cpwl.errors.LimitError: this bound is an integer of 1000000000000 bits or more, too large to compute
    """
    if bits > _LARGEST_BITS:
        message = f"this bound is an integer of {written(bits)} bits or more, too large to compute"
        raise LimitError(message, bits=bits)


# Theorems 1 to 3: what suffices for any CPWL function with so many pieces or linear components.
#
# As published. The proof of Theorem 3 stands; those of Theorems 1 and 2 rest on a max-min form with one row for each
# piece, which for two or more inputs can be wrong unless the pieces are cut further.


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


# The size of a network for the maximum or minimum of `m` affine functions: layers, width and neurons.
#
# A tree of ``max(a, b) = s(b - a) + s(a) - s(-a)``: a layer spends 3 neurons on each pair and 2
# on a value left over.


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


# The size of the network that Algorithm 1 builds for a max-min form with rows of given sizes.


def algorithm1(sizes: Iterable[int]) -> Bound:
    """The size of Algorithm 1's network for ``max_i min_{m in A_i} f_m``, from the row sizes ``|A_i|``.

    With `q` rows and ``L = max_i l(|A_i|)``: ``l(q) + L - 1`` layers and
    ``r(q) + sum_i r(|A_i|) + 2 (L - l(|A_i|))`` neurons, both exact, and width at most
    ``max(sum_i max(w(|A_i|), 2), w(q))``, or 0 for one layer. Proof of Theorem 2.

    >>> algorithm1([1, 2, 2])
    Bound(layers=4, width=8, neurons=16)
    """
    if not isinstance(sizes, Iterable):
        raise InputError("`sizes` must be a sequence of positive integers, one for each row", sizes=sizes)
    rows = Counter(positive(size, f"sizes[{i}]") for i, size in enumerate(sizes))
    if not rows:
        raise InputError("`sizes` is empty, but a max-min form has at least one row")
    q, deepest = rows.total(), l(max(rows))
    layers = l(q) + deepest - 1
    neurons = r(q) + sum(count * (r(size) + 2 * (deepest - l(size))) for size, count in rows.items())
    width = max(sum(count * max(w(size), 2) for size, count in rows.items()), w(q))
    return Bound(layers=layers, width=width if layers > 1 else 0, neurons=neurons)


# What was known before: the bounds of Arora et al. 2018, He et al. 2020 and Hertrich et al. 2021.


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
