"""The lattice of all outputs: shared, or plain where sharing would be deep or would cancel."""

from __future__ import annotations

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.max_of_mins import outputs_together
from cpwl.construct.lattice.plain import plain_lattice
from cpwl.construct.lattice.schedule import shared_lattice
from cpwl.construct.plan import Plan
from cpwl.construct.select import Candidate, select
from cpwl.errors import ConstructionError

__all__ = ["plan"]


def plan(analysis: Analysis) -> Plan:
    """The plan of a lattice; the search for a small expression is done here, its weights are all known then.

    >>> from cpwl.function import CPWL
    >>> plan(Analysis(CPWL.from_maxmin([[1, 0], [-1, 0]], [[0], [1]]))).sizes.neurons
    2
    """
    options, points = analysis.options, analysis.sample.points
    made = shared_lattice(analysis)
    shared = Plan.of("lattice", made.network, points, solves=made.solves, splits=made.splits)
    small = Candidate.of(shared, analysis)
    if options.minimize != "depth" and small.error <= options.max_error:
        return shared
    # Sharing makes networks small and deep, and laws that nearly depend on each other may cancel: a plain tournament is
    # larger, may have fewer layers, and has weights 1 and -1 beyond its first layer.
    try:
        parts = [plain_lattice(analysis, j) for j in range(analysis.function.outputs)]
    except ConstructionError:  # noise hides which rows are valid
        return shared
    solves = made.solves + sum(part.solves for part in parts)
    network = outputs_together([part.network for part in parts])
    plain = Plan.of("lattice", network, points, solves=solves, splits=made.splits)
    return select([small, Candidate.of(plain, analysis)], options.minimize, options.max_error).best.plan
