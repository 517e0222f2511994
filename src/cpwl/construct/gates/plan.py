"""Gates: networks of linear size, right on every function; in the plane gates on lines, beyond it on planes.

The common lineality space is divided out first: a function of many inputs that bends in a plane is a planar one.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from operator import attrgetter

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.hinges import hinge_network
from cpwl.construct.gates.plane.plane_gates import plane_gates
from cpwl.construct.gates.space.space_gates import space_gates
from cpwl.construct.plan import Least, Plan
from cpwl.exact.rational import fraction_array, from_flint
from cpwl.function import CPWL
from cpwl.network import Network
from cpwl.network.algorithms import end_to_end, identity, side_by_side

__all__ = ["least", "plan"]


def plan(analysis: Analysis) -> Plan:
    """The plan of a network whose size is linear in the pieces and their faces.

    >>> made = plan(Analysis(CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])))
    >>> made.construction, made.sizes.depth, made.sizes == made.build().sizes
    ('gates', 2, True)
    """
    exact, points = analysis.exact, analysis.sample.points
    small = exact.essential
    if small is not exact:
        return Plan.of("gates", _lifted(exact.function, exact.divided.coordinates, _network(small)), points)
    if small.function.dim > 2:
        made = space_gates(small)
        return Plan.of_layers("gates", made.sizes, made.float_layers, points, partial(attrgetter("network"), made))
    return Plan.of("gates", _network(small), points)


def least(analysis: Analysis) -> Least:
    """At least one neuron for each hyperplane on which the function bends.

    A hinge changes its sign on one hyperplane, and a gate ``s(d + M l)`` where `l` does; a neuron that carries a sum
    never does. And the network bends only where one of its neurons changes its sign.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> least(Analysis(p)).neurons, plan(Analysis(p)).sizes.neurons
    (5, 5)
    """
    planes = analysis.exact.bend_planes
    return Least(planes, f"the function bends on {planes} hyperplanes", 2 if planes else 1)


def _network(analysis: Analysis) -> Network:
    dim = analysis.function.dim
    if dim > 2:
        return space_gates(analysis).network
    return hinge_network(analysis) if dim == 1 else plane_gates(analysis).network


def _lifted(p: CPWL, coordinates: NDArray[np.int64], network: Network) -> Network:
    """A network on some coordinates as one on all: ``p(x) = small(T x) + (f - f_small T)(x)``.

    With a basis `S` of all rows and differences of laws, ``T = S_J^-1 S`` keeps all their values; what is left is
    affine, and usually 0.
    """
    project = _projection(p, coordinates)
    inner = end_to_end(Network([(project, np.zeros(len(coordinates), dtype=np.int64).astype(object))]), network)
    law = fraction_array(p.laws.integer()[0, :, :-2]) / p.laws.integer()[0, :, -1:]
    rest = law - law[:, coordinates].dot(project)
    if not rest.any():
        return inner
    affine = Network([(rest, fraction_array(np.zeros(p.outputs)))])
    depth = len(inner.layers)
    both = side_by_side([inner, end_to_end(affine, identity(p.outputs, depth))])
    add = np.concatenate([np.eye(p.outputs, dtype=np.int64)] * 2, axis=1)
    return end_to_end(both, Network([(add, np.zeros(p.outputs, dtype=np.int64))]))


def _projection(p: CPWL, coordinates: NDArray[np.int64]) -> NDArray[np.object_]:
    """The matrix ``T = S_J^-1 S`` for a basis `S` of the rows and the differences of laws."""
    laws = p.laws.integer()
    slopes = laws[..., :-2] * laws[:1, :, -1:] - laws[:1, :, :-2] * laws[..., -1:]
    rows = {tuple(int(v) for v in row) for row in p.polyhedra.integer()[:, :-1]}
    rows |= {tuple(int(v) for v in row) for row in slopes.reshape(-1, p.dim) if any(row)}
    matrix = fmpq_mat(len(rows), p.dim, [fmpq(v) for row in sorted(rows) for v in row])
    reduced, rank = matrix.rref()
    if rank < len(coordinates):  # affine: no row and no bend, and any coordinate will do
        return np.array([[Fraction(int(j == c)) for j in range(p.dim)] for c in coordinates], dtype=object)
    basis = fmpq_mat(rank, p.dim, [reduced[i, j] for i in range(rank) for j in range(p.dim)])
    square = fmpq_mat(rank, rank, [basis[i, int(j)] for i in range(rank) for j in coordinates])
    solved = square.inv() * basis
    entries = [from_flint(v) for v in solved.entries()]
    return np.array(entries, dtype=object).reshape(rank, p.dim)
