"""Calculating with networks: what costs no more neurons than both have, a few for each maximum."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, chosen_numbers
from cpwl.errors import InputError, counted
from cpwl.exact.rational import fraction_array, fractions_for, is_number
from cpwl.network.algorithms import end_to_end, extrema, side_by_side

if TYPE_CHECKING:
    from cpwl.network.network import Network


def add(network: Network, other: Any) -> Network:
    """The sum of two networks, side by side, or of a network and a constant; in rationals.

    >>> from cpwl import Network
    >>> relu = Network([([[1]], [0]), ([[1]], [0])])
    >>> (relu + relu @ ([[-1]], [0]) - "1/2")([["-3"]])
    array([[Fraction(5, 2)]], dtype=object)
    """
    if not isinstance(other, type(network)):
        return linear_image(network, _unit(network.outputs), other)
    _check_shapes(network, other)
    both = side_by_side([network, other])
    return linear_image(both, np.concatenate([_unit(network.outputs)] * 2, axis=1))


def subtract(network: Network, other: Any) -> Network:
    """The difference of two networks, or of a network and a constant."""
    if isinstance(other, type(network)):
        return add(network, negative(other))
    return add(network, list(-fractions_for(other, network.outputs, "outputs")))


def subtracted_from(network: Network, constant: Any) -> Network:
    """The network ``x -> constant - network(x)``."""
    return add(negative(network), constant)


def negative(network: Network) -> Network:
    """The network ``x -> -network(x)``."""
    return times(network, -1)


def times(network: Network, factor: Any) -> Network:
    """The multiple by a number, or by one for each output."""
    return linear_image(network, _unit(network.outputs) * fractions_for(factor, network.outputs, "outputs")[:, None])


def linear_image(network: Network, matrix: Any, shift: Any = 0) -> Network:
    """The network ``x -> M network(x) + s``, in rationals: only the last layer changes."""
    weight = fraction_array(matrix)
    if weight.ndim != 2 or weight.shape[1] != network.outputs:
        raise InputError(
            f"a network with {counted(network.outputs, 'output')} takes as many columns, not {weight.shape}"
        )
    return end_to_end(network, type(network)([(weight, fractions_for(shift, len(weight), "outputs"))]))


def output(network: Network, j: Any) -> Network:
    """Output `j` of a network, or those of a slice or list; neurons that are no longer read stay."""
    return linear_image(network, _unit(network.outputs)[chosen_numbers(j, network.outputs, "output")])


def compose(network: Network, inner: Any) -> Network:
    """The network ``x -> network(inner(x))`` of another network, or of an affine map ``(A, b)``.

    >>> from cpwl import Network
    >>> relu = Network([([[1]], [0]), ([[1]], [0])])
    >>> (relu @ relu).sizes.neurons, (relu @ ([[1, -1]], [0]))([[5.0, 3.0]])
    (2, array([[2.]]))
    """
    if isinstance(inner, (tuple, list)) and len(inner) == 2:
        inner = type(network)([(fraction_array(inner[0]), fraction_array(inner[1]))])
    check_argument(inner, type(network), "compose")
    return end_to_end(inner, network)


def extremum_of(networks: Sequence[Any], kind: Literal["max", "min"]) -> Network:
    """The maximum or minimum of networks and numbers, output by output, by a tournament of ReLUs (Algorithm 2)."""
    first = next(f for f in networks if not is_number(f))
    made = [f if isinstance(f, type(first)) else linear_image(first, _unit(first.outputs) * 0, f) for f in networks]
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
