"""Bounded cells in any dimension by windows on a convex lifting: accurate in float32, fewer neurons than gates.

Write ``p = U - W`` with `U` and `W` convex and affine on the cells of `p`. A convex function is the maximum of its
laws, and a maximum ignores far terms however they are rounded; less a separable convex function they are clamped to 0,
so that laws whose windows do not overlap can be added instead. See docs/windows.md.
"""

from __future__ import annotations

from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import Least, Plan
from cpwl.construct.windows.lifted import lifted
from cpwl.construct.windows.lowering import MOST, best_windows, blocks_of, lower
from cpwl.errors import ConstructionError
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.network.network import Network

__all__ = ["least", "plan"]


def plan(analysis: Analysis) -> Plan:
    """The plan of a network of windows; every weight is known before its size.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[1, 0, 2], [0, 3, 0], [1, 0, 1]])
    >>> plan(Analysis(p)).build()([[0.5, 1.0]]) == p([[0.5, 1.0]])
    array([[ True]])
    """
    exact = analysis.exact
    function = exact.function
    if function.mesh is None and exact.box is None:
        raise ConstructionError("windows are for bounded domains: restrict this function to a box")
    return Plan.of("windows", network_of(function), analysis.sample.points)


def least(analysis: Analysis) -> Least | None:
    """At least nine neurons for eight distinct laws.

    Cells with different laws are different cells, and every cell is in one block of at most `MOST`. A block has a hinge
    for each cell but its root, and a neuron for each of the two or more sides.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[1, 0, 2], [0, 3, 0], [1, 0, 1]])
    >>> least(Analysis(p)).neurons, plan(Analysis(p)).sizes.neurons
    (9, 22)
    """
    laws = len(analysis.exact.distinct_laws)
    if laws == 1:
        return None
    return Least(laws + -(-laws // MOST), f"{laws} laws, {MOST} or fewer to a block", 4)


def network_of(p: CPWL) -> Network:
    """The network of a function that is given exactly."""
    laws = p.laws.integer()
    if (laws == laws[:1]).all():  # affine: no hidden layer
        law = fraction_array(laws[0, :, :-1]) / laws[0, :, -1:]
        return Network([(law[:, :-1], law[:, -1])])
    found = lifted(p)
    blocks = blocks_of(found.cells, found.lifting)
    windows = best_windows(found.cells, found.lifting, blocks)
    return lower(found.cells, found.lifting, blocks, windows, found.share, found.base)
