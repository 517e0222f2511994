"""Functions on a line, and those that bend in one direction only."""

from __future__ import annotations

from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import Plan
from cpwl.construct.univariate.univariate import univariate

__all__ = ["plan"]


def plan(analysis: Analysis) -> Plan:
    """The plan of the smallest network with one, two or three hidden layers.

    >>> from cpwl.function import CPWL
    >>> made = plan(Analysis(CPWL.from_breakpoints(range(30), [i % 2 for i in range(30)])))
    >>> made.sizes.neurons, made.sizes == made.build().sizes
    (14, True)
    """
    network = univariate(analysis.exact, minimize=analysis.options.minimize)
    return Plan.of("univariate", network, analysis.sample.points)
