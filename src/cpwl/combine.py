"""Several functions as one, or several networks: maxima, minima, all side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from cpwl.doors import check_argument, check_list
from cpwl.errors import InputError
from cpwl.exact.rational import is_number
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import side_by_side
from cpwl.function.algebra.extremes import greatest, least
from cpwl.network import Network
from cpwl.network.algebra import extremum_of
from cpwl.network.algorithms import side_by_side as networks_side_by_side


@overload
def maximum(first: CPWL, *others: Any) -> CPWL: ...
@overload
def maximum(first: Network, *others: Any) -> Network: ...
@overload
def maximum(first: Any, *others: Any) -> Any: ...
def maximum(first: Any, *others: Any) -> Any:
    """The pointwise maximum of functions, or of networks, and numbers; output by output, where all are defined.

    >>> p = CPWL.from_breakpoints([0, 1], [0, 1])
    >>> maximum(p, -p, "1/2")([["-2"], ["1/3"]]).ravel()
    array([Fraction(2, 1), Fraction(1, 2)], dtype=object)
    """
    return _extreme((first, *others), "maximum")


@overload
def minimum(first: CPWL, *others: Any) -> CPWL: ...
@overload
def minimum(first: Network, *others: Any) -> Network: ...
@overload
def minimum(first: Any, *others: Any) -> Any: ...
def minimum(first: Any, *others: Any) -> Any:
    """The pointwise minimum of functions, or of networks, and numbers; output by output, where all are defined."""
    return _extreme((first, *others), "minimum")


@overload
def stack(functions: Sequence[CPWL]) -> CPWL: ...
@overload
def stack(functions: Sequence[Network]) -> Network: ...
def stack(functions: Sequence[Any]) -> Any:
    """The function ``x -> (p_1(x), p_2(x), ..)`` of several functions, or networks, of the same inputs.

    >>> p = CPWL.from_breakpoints([0, 1], [0, 1])
    >>> stack([p, 2 * p])([[3.0]])
    array([[3., 6.]])
    """
    check_list(functions, "functions")
    if len(functions) and isinstance(functions[0], Network):
        for network in functions:
            check_argument(network, Network, "stack")
        return networks_side_by_side(functions)
    for p in functions:
        check_argument(p, CPWL, "stack")
    return side_by_side(functions)


def _extreme(functions: tuple[Any, ...], verb: str) -> CPWL | Network:
    real = [f for f in functions if not is_number(f)]
    if not real:
        raise InputError(f"`{verb}` takes at least one function or network, not only numbers")
    kind = Network if isinstance(real[0], Network) else CPWL
    for f in real:
        check_argument(f, kind, verb)
    if kind is Network:
        return extremum_of(functions, "max" if verb == "maximum" else "min")
    return greatest(functions) if verb == "maximum" else least(functions)
