"""How far two functions are apart."""

from __future__ import annotations

from typing import Any

from cpwl.doors import check_argument, within_float64
from cpwl.function.algebra.arithmetic import output, subtract
from cpwl.function.algebra.domains import restrict
from cpwl.function.algebra.extremes import absolute, greatest
from cpwl.function.answers import Distance
from cpwl.function.cpwl import CPWL
from cpwl.function.questions.asked import asked
from cpwl.function.questions.extent import extreme
from cpwl.geometry.volume import integral_of, is_bounded

__all__ = ["distance"]


@within_float64()
def distance(p: CPWL, q: CPWL, *, domain: Any = None, box: Any = None) -> Distance:
    """The largest gap ``max |p - q|`` over all outputs where both are defined, with a point, and the mean gap."""
    check_argument(q, CPWL, "distance")
    difference = restrict(subtract(p, q), domain, box=box)
    gap = absolute(difference)
    if gap.outputs > 1:
        gap = greatest(tuple(output(gap, j) for j in range(gap.outputs)))
    about = asked(gap)
    best = extreme(about, 0, 1)
    mean = None
    if is_bounded(about.bodies):
        total, volume = integral_of(about.bodies, about.laws[:, 0])
        mean = total / volume
    point = best.point if best.ray is None else best.point + best.ray
    return Distance(best.value, point, mean)
