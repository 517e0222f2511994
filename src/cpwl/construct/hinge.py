"""One hidden layer: ``p = r + sum_H w_H relu(l_H)``, where the jump is the same all along each hyperplane."""

from __future__ import annotations

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.hinges import hinge_network
from cpwl.construct.plan import Plan

__all__ = ["plan"]


def plan(analysis: Analysis) -> Plan:
    """The plan of the network with one neuron per hyperplane on which the function bends.

    >>> from cpwl.function import CPWL
    >>> plan(Analysis(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))).sizes.neurons
    2
    """
    return Plan.of("hinge", hinge_network(analysis.exact), analysis.sample.points)
