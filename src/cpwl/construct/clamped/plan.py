"""Functions of two inputs by clamped gates: accurate in float32."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from cpwl.construct.analysis import Analysis
from cpwl.construct.clamped.clamped import clamped
from cpwl.construct.plan import Plan

__all__ = ["plan"]


def plan(analysis: Analysis) -> Plan:
    """The plan of `clamped`; the network is made on the way."""
    made = clamped(analysis)
    return Plan("clamped", made.network.sizes, made.magnitude, partial(attrgetter("network"), made))
