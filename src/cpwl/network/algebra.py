"""Calculating with networks: what costs no more neurons than both have, a few for each maximum."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, chosen_numbers, method_of
from cpwl.errors import InputError, counted
from cpwl.exact.rational import fraction_array, fractions_for, is_number
from cpwl.network.algorithms import end_to_end, extrema, side_by_side
from cpwl.network.network import Network


@method_of(Network, "__add__", "__radd__")
def add(network: Network, other: Any) -> Network:
    if not isinstance(other, Network):
        return linear_image(network, _unit(network.outputs), other)
    _check_shapes(network, other)
    both = side_by_side([network, other])
    return linear_image(both, np.concatenate([_unit(network.outputs)] * 2, axis=1))


@method_of(Network, "__sub__")
def subtract(network: Network, other: Any) -> Network:
    if isinstance(other, Network):
        return add(network, -other)
    return add(network, list(-fractions_for(other, network.outputs, "outputs")))


@method_of(Network, "__mul__", "__rmul__")
def times(network: Network, factor: Any) -> Network:
    return linear_image(network, _unit(network.outputs) * fractions_for(factor, network.outputs, "outputs")[:, None])


@method_of(Network, "__rmatmul__")
def linear_image(network: Network, matrix: Any, shift: Any = 0) -> Network:
    weight = fraction_array(matrix)
    if weight.ndim != 2 or weight.shape[1] != network.outputs:
        raise InputError(
            f"a network with {counted(network.outputs, 'output')} takes as many columns, not {weight.shape}"
        )
    return end_to_end(network, Network([(weight, fractions_for(shift, len(weight), "outputs"))]))


@method_of(Network, "__getitem__")
def output(network: Network, j: Any) -> Network:
    return linear_image(network, _unit(network.outputs)[chosen_numbers(j, network.outputs, "output")])


@method_of(Network, "compose", "__matmul__")
def compose(network: Network, inner: Any) -> Network:
    if isinstance(inner, (tuple, list)) and len(inner) == 2:
        inner = Network([(fraction_array(inner[0]), fraction_array(inner[1]))])
    check_argument(inner, Network, "compose")
    return end_to_end(inner, network)


def extremum_of(networks: Sequence[Any], kind: Literal["max", "min"]) -> Network:
    """The maximum or minimum of networks and numbers, output by output, by a tournament of ReLUs (Algorithm 2)."""
    first = next(f for f in networks if not is_number(f))
    made = [f if isinstance(f, Network) else linear_image(first, _unit(first.outputs) * 0, f) for f in networks]
    for f in made:
        _check_shapes(first, f)
    count, m = len(made), first.outputs
    rows = [np.arange(j, count * m, m) for j in range(m)]
    best = extrema(_unit(count * m), [Fraction(0)] * (count * m), rows, kind)
    return end_to_end(side_by_side(made), best)


def _unit(size: int) -> NDArray[np.object_]:
    return fraction_array(np.eye(size, dtype=np.int64))


def _check_shapes(one: Network, two: Network) -> None:
    if (one.inputs, one.outputs) != (two.inputs, two.outputs):
        raise InputError(
            f"the first maps R^{one.inputs} to R^{one.outputs}, the second R^{two.inputs} to R^{two.outputs}"
        )
