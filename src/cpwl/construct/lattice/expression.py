"""Expressions of maxima and minima, put into an order of computation: what is joined with what, in how many layers.

A `Value` is an affine function, the maximum or minimum of two values, or a sum. ``max(a, b) = a + s(b - a)`` takes
one neuron, and nothing else if `a` is affine, since all affine functions pass a layer together; if neither is affine
one of the two has to be carried beside. So components are best added one at a time, to as many values in parallel as
there are; but every layer costs the neurons that carry the affine functions. `arrange` keeps to a number of layers
with as few joins of two values that are not affine as it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from cpwl.construct.lattice.separate import Formula, Kind

__all__ = ["Affine", "Extremum", "Sum", "Value", "arrange", "depth"]


@dataclass(frozen=True, slots=True)
class Affine:
    """``g . x + o``, as the numbers ``(g, o)``."""

    law: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Extremum:
    """The maximum or the minimum of two values."""

    kind: Kind
    one: Value
    two: Value


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of values, each with its factor."""

    terms: tuple[tuple[Fraction, Value], ...]


Value = Affine | Extremum | Sum


def arrange(formula: Formula, laws: Sequence[Affine], layers: int) -> Value:
    """The formula as a value that is done after at most that number of layers, or as few as it takes if that is more.

    >>> from cpwl.construct.lattice.separate import separate
    >>> import numpy as np
    >>> formula = separate(np.eye(4, dtype=bool), np.ones((1, 4), dtype=bool), 1)
    >>> x = [Affine((Fraction(m), Fraction(0))) for m in range(4)]
    >>> depth(arrange(formula, x, 3)), depth(arrange(formula, x, 2))
    (3, 2)
    """
    if formula.kind is None:
        return laws[formula.component]
    ordered = sorted(formula.parts, key=lambda part: (-part.depth, -part.leaves))
    return _join(formula.kind, ordered, [2**part.depth for part in ordered], laws, max(layers, formula.depth))


def depth(value: Value) -> int:
    """After how many layers it is done."""
    if isinstance(value, Extremum):
        return 1 + max(depth(value.one), depth(value.two))
    return max((depth(term) for _, term in value.terms), default=0) if isinstance(value, Sum) else 0


def _join(kind: Kind, parts: list[Formula], need: list[int], laws: Sequence[Affine], layers: int) -> Value:
    """The parts, deepest first, joined within the layers: a component last while the others can be done before."""
    if len(parts) == 1:
        return arrange(parts[0], laws, layers)
    half = 2 ** (layers - 1)
    if parts[-1].kind is None and sum(need[:-1]) <= half:
        last = laws[parts[-1].component]
        return Extremum(kind, last, _join(kind, parts[:-1], need[:-1], laws, layers - 1))
    # Powers of two in falling order fill one half exactly; components go where there is room, so that few are joined.
    cut, filled = 1, need[0]
    while cut < len(parts) - 1 and filled + need[cut] <= half:
        filled += need[cut]
        cut += 1
    one, two = ((parts[s], need[s]) for s in (slice(0, cut), slice(cut, None)))
    return Extremum(kind, _join(kind, *one, laws, layers - 1), _join(kind, *two, laws, layers - 1))
