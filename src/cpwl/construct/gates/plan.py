"""Gates: networks of linear size, right on every function; in the plane line gates, beyond it local functions.

The common lineality space is divided out first: a function of many inputs that bends in a plane is a planar one.
"""

from __future__ import annotations

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.construct.gates.plane.plan import line_gates
from cpwl.construct.gates.space.plan import plan_local_gates
from cpwl.construct.hinge import hinge
from cpwl.construct.plan import Plan
from cpwl.exact.flint import from_flint
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.lineality import divided
from cpwl.function.sample import sample
from cpwl.network import Network
from cpwl.network.end_to_end import end_to_end
from cpwl.network.identity import identity
from cpwl.network.side_by_side import side_by_side
from cpwl.progress import Progress

__all__ = ["gates", "plan_gates"]


def gates(p: CPWL, *, progress: Progress | None = None) -> Network:
    """A network whose size is linear in the pieces and their faces.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> gates(p).sizes.depth <= 3
    True
    """
    return plan_gates(p, progress=progress).build()


def plan_gates(p: CPWL, *, progress: Progress | None = None) -> Plan:
    """The plan of that network: its sizes, and how it will round.

    >>> plan = plan_gates(CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]]))
    >>> plan.construction, plan.sizes == plan.build().sizes
    ('gates', True)
    """
    small = divided(p)
    plan = _by_dimension(small.function, progress)
    if small.is_whole:
        return plan
    return Plan.of("gates", _lifted(p, small.coordinates, plan.build()), sample(p).points)


def _by_dimension(p: CPWL, progress: Progress | None) -> Plan:
    if p.dim > 2:
        return plan_local_gates(p, progress=progress)
    network = hinge(p) if p.dim == 1 else line_gates(p).network
    return Plan.of("gates", network, sample(p).points)


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
    assert rank == len(coordinates)
    basis = fmpq_mat(rank, p.dim, [reduced[i, j] for i in range(rank) for j in range(p.dim)])
    square = fmpq_mat(rank, rank, [basis[i, int(j)] for i in range(rank) for j in coordinates])
    solved = square.inv() * basis
    entries = [from_flint(v) for v in solved.entries()]
    return np.array(entries, dtype=object).reshape(rank, p.dim)
