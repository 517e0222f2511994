"""The size of the network that Algorithm 1 builds for a max-min form with rows of given sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from cpwl.bounds.extremum import l, r, w
from cpwl.bounds.integers import positive
from cpwl.bounds.theorems import Bound
from cpwl.errors import InputError

__all__ = ["algorithm1"]


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
