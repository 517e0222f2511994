"""Strips: fewer neurons than pieces for functions of two inputs on bounded domains."""

from __future__ import annotations

from functools import partial

from scipy.sparse import csr_array

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.hinges import hinge_network
from cpwl.construct.plan import Plan
from cpwl.construct.strips.layers import to_floats, to_network
from cpwl.construct.strips.strips import lay_strips

__all__ = ["plan"]


def plan(analysis: Analysis) -> Plan:
    """The sizes and the rounding errors of `strips`, without the network in rationals.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 2], [0, 0, 0]])
    >>> made = plan(Analysis(p))
    >>> made.sizes == made.build().sizes
    True
    """
    exact, points = analysis.exact, analysis.sample.points
    laid = lay_strips(exact)
    if laid is None:
        return Plan.of("strips", hinge_network(exact.solid), points)
    floats = [(csr_array(to_floats(weight)), to_floats(bias)) for weight, bias in laid.layers]
    return Plan.of_layers("strips", laid.sizes, floats, points, partial(to_network, laid.layers))
