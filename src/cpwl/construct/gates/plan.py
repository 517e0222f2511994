"""Gates: networks of linear size, right on every function; in the plane gates on lines, beyond it on planes.

The common lineality space is divided out first: a function of many inputs that bends in a plane is a planar one.
"""

from __future__ import annotations

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import lifted
from cpwl.construct.blocks.hinges import hinge_network
from cpwl.construct.gates.plane_gates import plane_gates
from cpwl.construct.gates.space_gates import cutting, space_gates
from cpwl.construct.plan import Least, Plan
from cpwl.errors import ConstructionError


def plan(analysis: Analysis) -> Plan:
    """The plan of a network whose size is linear in the pieces and their faces.

    >>> from cpwl.function import CPWL
    >>> made = plan(Analysis(CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])))
    >>> made.construction, made.sizes.depth, made.sizes == made.build().sizes
    ('gates', 2, True)
    """
    exact, points = analysis.exact, analysis.sample.points
    small = exact.essential
    if small.function.dim == 1:
        return Plan.of("gates", hinge_network(exact), points)
    network = (plane_gates if small.function.dim == 2 else space_gates)(small).network
    if small is not exact:
        network = lifted(exact.function, exact.divided.coordinates, network)
    return Plan.of("gates", network, points)


def least(analysis: Analysis) -> Least:
    """At least one neuron for each hyperplane on which the function bends.

    A hinge changes its sign on one hyperplane, and a gate ``s(d + M l)`` where `l` does; a neuron that carries a sum
    never does. And the network bends only where one of its neurons changes its sign.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> least(Analysis(p)).neurons, plan(Analysis(p)).sizes.neurons
    (5, 5)
    """
    planes = analysis.exact.bend_planes
    return Least(planes, f"the function bends on {planes} hyperplanes", 2 if planes else 1)


def work(analysis: Analysis) -> str:
    """Into how many cells pieces in space are cut, if "auto" leaves so many to others; else ""."""
    try:
        small = analysis.exact.essential
    except ConstructionError:
        return ""  # planning will say why
    return cutting(small) if small.function.dim > 2 else ""
