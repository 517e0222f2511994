"""Equal and positively proportional neurons made one."""

from __future__ import annotations

from fractions import Fraction

from cpwl.network import Network
from cpwl.passes.rewrite import Layers, Removal, proportional, rewrite

__all__ = ["merge_proportional"]


def merge_proportional(network: Network) -> Network:
    """The same function with one neuron for all that read positive multiples of one affine function.

    ``relu(c z) = c relu(z)`` for ``c > 0``. Layer after layer, so that what becomes proportional is merged too.

    >>> network = Network([([[1], [2], [-1]], [1, 2, 0]), ([[1, 1, 1]], [0])])
    >>> [weight.toarray().tolist() for weight, _ in merge_proportional(network).layers]
    [[[1.0], [-1.0]], [[3.0, 1.0]]]
    """
    return rewrite(network, _repeated)


def _repeated(layers: Layers, l: int) -> Removal | None:
    weight, bias = layers[l]
    first: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, Fraction]] = {}
    terms: dict[int, dict[int, Fraction]] = {}
    for k in range(len(bias)):
        if weight.indptr[k] == weight.indptr[k + 1]:
            continue
        columns, row, factor = proportional(layers[l], k)
        i, unit = first.setdefault((columns, row), (k, factor))
        if i != k:
            terms[k] = {i: factor / unit}
    return Removal(terms, {}) if terms else None
