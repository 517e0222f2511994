"""Algorithm 2 of the paper: the maximum or minimum of affine functions as a network."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from cpwl.network.extrema import differences_of, tournaments
from cpwl.network.network import Network

__all__ = ["extremum"]


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
    return tournaments(differences_of(functions), np.array([m]), np.arange(m), kind)
