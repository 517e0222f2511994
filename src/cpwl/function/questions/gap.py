"""How far two functions are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpwl.doors import check_argument, within_float64
from cpwl.function.algebra.arithmetic import subtract
from cpwl.function.algebra.extremes import absolute, greatest
from cpwl.function.questions.answers import Distance
from cpwl.function.questions.asked import asked
from cpwl.function.questions.extent import extreme
from cpwl.function.questions.volume import integral_of, is_bounded

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["distance"]


@within_float64()
def distance(p: CPWL, q: CPWL, *, domain: Any = None, box: Any = None) -> Distance:
    """The largest gap ``max |p - q|`` over all outputs where both are defined, with a point, and the mean gap.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_breakpoints([0, 1, 2], [0, 1, 0])
    >>> print(p.distance(CPWL.from_breakpoints([0, 2], [0, 0]), box=(0, 2)))
    at most 1, at x = (1), 1/2 in the mean
    """
    check_argument(q, type(p), "distance")
    difference = subtract(p, q).restrict(domain, box=box)
    gap = absolute(difference)
    if gap.outputs > 1:
        gap = greatest(tuple(gap[j] for j in range(gap.outputs)))
    about = asked(gap)
    best = extreme(about, 0, 1)
    mean = None
    if is_bounded(about.bodies):
        total, volume = integral_of(about.bodies, about.laws[:, 0])
        mean = total / volume
    point = best.point if best.ray is None else best.point + best.ray
    return Distance(best.value, point, mean)
