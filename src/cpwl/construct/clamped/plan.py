"""Functions of two inputs by clamped gates: accurate in float32."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.clamped.clamped import base_value, clamped
from cpwl.construct.options import PRECISIONS
from cpwl.construct.plan import Least, Plan
from cpwl.construct.select import SAFETY
from cpwl.exact.integers import determinant
from cpwl.function.bends.table import Table

__all__ = ["least", "plan"]


def plan(analysis: Analysis) -> Plan:
    """The plan of `clamped`, with the tiles that the precision asked for needs; the network is made on the way."""
    options, unit = analysis.options, PRECISIONS[analysis.options.precision][0]
    target = options.max_error / SAFETY * PRECISIONS["float32"][0] / unit if unit else math.inf
    return Plan.of("clamped", clamped(analysis, target=target).network, analysis.sample.points)


def least(analysis: Analysis) -> Least | None:
    """At least one neuron for each line with an edge on which the bump of one of its ends bends, whatever its cluster.

    Such a line has a hinge, unless it is the line of that cluster; and each cluster has a half, a neuron of its own.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([range(4), range(4)], [[0, 0, 0, 0], [0, 3, 1, 0], [0, 2, 5, 0], [0, 0, 0, 0]])
    >>> least(Analysis(p)).neurons, plan(Analysis(p)).sizes.neurons
    (8, 16)
    """
    if analysis.function.dim != 2:
        return None
    table = analysis.exact.table
    output = next((j for j, own in enumerate(table.values.T) if (own != own[0]).any()), None)
    if output is None:
        return None
    inner = {edge: own for edge, own in table.edge_triangles.items() if len(own) == 2}
    ends = np.array(list(inner), dtype=np.int64).reshape(-1, 2)
    both = table.triangles[np.array(list(inner.values()), dtype=np.int64).reshape(-1, 2)]  # edges, triangles, corners
    far = both.sum(axis=2) - ends.sum(axis=1)[:, None]
    line = np.array([table.edge_line[edge] for edge in inner], dtype=np.int64)
    values = table.values[:, output]
    common = math.lcm(*(v.denominator for v in values))
    bent = np.zeros(len(ends), dtype=bool)
    bases = [base_value(values, middle) for middle in (False, True)]
    for u, v in (ends.T, ends.T[::-1]):
        always = np.ones(len(ends), dtype=bool)
        for base in bases:
            heights = np.array([int(abs(x - base) * common * base.denominator) for x in values], dtype=object)
            always &= _bends(table, heights, u, v, *far.T)
        bent |= always
    lines = len(np.unique(line[bent]))
    return Least(lines + 1, f"bumps bend on {lines} lines", 4)


def _bends(
    table: Table,
    heights: NDArray[np.object_],
    u: NDArray[np.int64],
    v: NDArray[np.int64],
    w: NDArray[np.int64],
    x: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether a bump that has `u` and not `v` bends on the edge between ``(u, v, w)`` and ``(u, v, x)``, with `w` and
    `x` in it or not: with ``x = a u + b v + c w`` iff its height at `x` is not `a` times that at `u` and `c` at `w`.
    """
    places = table.places
    below = determinant(np.stack([places[u], places[v], places[w]], axis=1)) * places[x, 2]
    a = determinant(np.stack([places[x], places[v], places[w]], axis=1)) * places[u, 2] * heights[u]
    c = determinant(np.stack([places[u], places[v], places[x]], axis=1)) * places[w, 2] * heights[w]
    height = heights[x] * below
    return np.asarray((heights[u] != 0) & (a != 0) & (a + c != 0) & (height != a) & (height != a + c), dtype=bool)
