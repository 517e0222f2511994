"""Closed loops, and what they do in several steps."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_choice, check_count, within_float64
from cpwl.errors import InputError
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import plus_affine
from cpwl.function.questions.sets import Solutions
from cpwl.geometry.polyhedra import Domain
from cpwl.network import Network
from cpwl.network.algebra import linear_image
from cpwl.network.side_by_side import side_by_side

__all__ = ["closed_loop", "equilibria", "iterate"]

_MOST_STEPS = 10_000
_F = TypeVar("_F", CPWL, Network)


@within_float64()
def closed_loop(
    A: Any, B: Any, controller: _F, domain: Domain = None, *, box: tuple[Any, Any] | None = None, offset: Any = None
) -> _F:
    """The map ``x -> A x + B u(x) + c`` of a linear system under a control law, as a function or as a network.

    Parameters
    ----------
    A, B
        The matrices of the system, ``(n, n)`` and ``(n, m)``; numbers as everywhere, "1/10" for one tenth.
    controller
        The law `u`, a function R^n -> R^m or a network.
    domain, box
        Where to look at it: ``A x <= b`` or ``(low, high)``; everywhere the law is defined if neither is given. A
        network is defined everywhere, and takes neither.
    offset
        The vector `c`; zero if it is not given.

    >>> law = CPWL.from_breakpoints([-1, 1], [1, -1], left_slope=0, right_slope=0)
    >>> step = closed_loop([["3/2"]], [[1]], law)
    >>> step([["1/2"], ["4"]]).ravel()
    array([Fraction(1, 4), Fraction(5, 1)], dtype=object)
    """
    check_argument(controller, (CPWL, Network), "closed_loop")
    matrix, gain = (
        _matrix(A, controller.inputs, controller.inputs, "A"),
        _matrix(B, controller.inputs, controller.outputs, "B"),
    )
    shift = fraction_array([0] * len(matrix) if offset is None else offset)
    if shift.shape != (len(matrix),):
        raise InputError(f"`offset` must have {len(matrix)} entries, not {shift.shape}")
    if isinstance(controller, Network):
        if domain is not None or box is not None:
            raise InputError("a network is defined everywhere: leave `domain` and `box` out, or use `cpwl.extract`")
        plain = Network([(matrix, shift)])
        both = side_by_side([plain, controller])
        unit = fraction_array(np.eye(len(matrix), dtype=np.int64))
        return linear_image(both, np.concatenate([unit, gain], axis=1))
    return plus_affine(gain @ controller.restrict(domain, box=box), matrix, shift)


def iterate(f: _F, k: int, *, outside: str = "refuse") -> _F:
    """The map after `k` steps, ``f(f(..f(x)..))``, as one function or one network.

    Parameters
    ----------
    f
        A map R^n -> R^n.
    k
        How many steps, from 1 to 10,000.
    outside
        For functions, where a step leaves the domain of `f`: "refuse", with a point that leaves, or "drop" such `x`.

    >>> tent = CPWL.from_grid([[0, 1, 2]], [0, 2, 0])
    >>> iterate(tent, 3).num_pieces
    8
    """
    check_argument(f, (CPWL, Network), "iterate")
    check_count(k, "k", least=1, most=_MOST_STEPS)
    check_choice(outside, ("refuse", "drop"), "outside")
    if f.inputs != f.outputs:
        raise InputError(f"only a map R^n -> R^n can be iterated: this one maps R^{f.inputs} to R^{f.outputs}")
    result = f
    for _ in range(int(k) - 1):
        result = f.compose(result) if isinstance(f, Network) else f.compose(result, outside=outside)
    return result


def equilibria(f: CPWL, domain: Domain = None, *, box: tuple[Any, Any] | None = None) -> Solutions:
    """All `x` with ``f(x) = x``, exactly: points, segments, polyhedra.

    >>> tent = CPWL.from_grid([[0, 1, 2]], [0, 2, 0])
    >>> [x.tolist() for x in equilibria(tent).points]
    [[Fraction(0, 1)], [Fraction(4, 3)]]
    >>> [face.points.tolist() for face in equilibria(CPWL.from_grid([[0, 1, 3]], [0, 1, 0])).faces]
    [[[Fraction(0, 1)], [Fraction(1, 1)]]]
    """
    check_argument(f, CPWL, "equilibria")
    if f.inputs != f.outputs:
        raise InputError(f"only a map R^n -> R^n has equilibria: this one maps R^{f.inputs} to R^{f.outputs}")
    unit = fraction_array(np.eye(f.dim, dtype=np.int64))
    return plus_affine(f, -unit, [Fraction(0)] * f.dim).solve(0, domain=domain, box=box)


def _matrix(value: Any, rows: int, columns: int, name: str) -> NDArray[np.object_]:
    matrix = fraction_array(value)
    if matrix.shape != (rows, columns):
        raise InputError(f"`{name}` must be ({rows}, {columns}) for this law, not {matrix.shape}")
    return matrix
