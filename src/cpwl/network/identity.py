"""Algorithm 5 of the paper: the identity as a network of any depth."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, eye_array

from cpwl.errors import InputError
from cpwl.network.network import Network, assemble

__all__ = ["identity"]


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
