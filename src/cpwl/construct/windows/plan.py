"""Bounded cells in any dimension by windows on a convex lifting: accurate in float32, fewer neurons than gates.

Write ``p = U - W`` with `U` and `W` convex and affine on the cells of `p`. A convex function is the maximum of its
laws, and a maximum ignores far terms however they are rounded; less a separable convex function they are clamped to 0,
so that laws whose windows do not overlap can be added instead. See docs/windows.md.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.shared_columns import shared_columns
from cpwl.construct.plan import Plan
from cpwl.construct.windows.blocks import blocks_of
from cpwl.construct.windows.cells import Cells, simplicial, values_of
from cpwl.construct.windows.lifting import Lifting, Simplicial, lift
from cpwl.construct.windows.lowering import lower
from cpwl.construct.windows.supports import best_windows
from cpwl.errors import ConstructionError
from cpwl.exact.flint import from_flint_array, to_flint
from cpwl.function import CPWL
from cpwl.network.network import Network

__all__ = ["plan"]

_flint = np.frompyfunc(to_flint, 1, 1)


def plan(analysis: Analysis) -> Plan:
    """The plan of a network of windows; every weight is known before its size.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[1, 0, 2], [0, 3, 0], [1, 0, 1]])
    >>> plan(Analysis(p)).build()([[0.5, 1.0]]) == p([[0.5, 1.0]])
    array([[ True]])
    """
    function = analysis.exact.function
    return Plan.of("windows", network_of(function), analysis.sample.points)


def network_of(p: CPWL) -> Network:
    """The network of a function that is given exactly."""
    cells = _cells(p)
    basis, share, base = _independent(cells)
    if not basis:
        zero = np.full((len(base), p.dim), Fraction(0), dtype=object)
        return Network([(zero, np.asarray(from_flint_array(base), dtype=object))])
    cells = replace(cells, laws=cells.laws[basis])
    lifting = _lifted(cells, p)
    blocks = blocks_of(cells, lifting)
    return lower(cells, lifting, blocks, best_windows(cells, lifting, blocks), share, base)


def _cells(p: CPWL) -> Cells:
    if p.mesh is None:
        raise ConstructionError("windows are for tables, and this function is given by half-spaces")
    return simplicial(p.mesh, p.laws.integer())


def _lifted(cells: Cells, p: CPWL) -> Lifting:
    assert p.mesh is not None
    lifting = lift(cells, Simplicial.of(cells, p.mesh.corners[np.unique(p.mesh.simplices)]))
    if lifting is None:
        raise ConstructionError("no convex lifting of the cells was found")
    return lifting


def _independent(cells: Cells) -> tuple[list[int], NDArray[np.object_], NDArray[np.object_]]:
    """Outputs that are independent of the others and of 1, and all outputs as sums of these and a constant."""
    values = from_flint_array(values_of(cells))
    ones = np.full((1, values.shape[1]), Fraction(1), dtype=object)
    basis, share = shared_columns(np.concatenate([ones, values]).T)
    table = np.asarray(_flint(share[1:]), dtype=object)
    return [j - 1 for j in basis[1:]], table[:, 1:], table[:, 0]
