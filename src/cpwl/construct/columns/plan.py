"""Tables on Kuhn grids by columns: ``O(V^(1 - 1/n))`` neurons for `V` points in any dimension, accurate in float32.

Let ``r = z - base > 0`` be the values of the grid ``{0 .. m}^n`` above a base. For a column `v`, a point of the grid of
the first ``n - 1`` axes, let ``S_v`` be the integral of the step function that is ``r(v, k)`` on ``[k, k + 1]``. With
``t_0 = 0`` and ``t_c = x_c - v_c``, on the grid

    p(x) = base + sum over columns of s( min_c S_v(x_n + 1 - t_c) - max_c S_v(x_n - t_c) ).

For a Kuhn hat is ``s(1 - s(a - tau) - s(tau - b))`` with ``a = max t``, ``b = min t``, ``tau = x_n - k``: the length of
the part of ``[k, k + 1]`` in ``I = [x_n - b, x_n + 1 - a]``. So the hats of a column, with their values, add up to the
integral over `I`, and where `I` is reversed all are 0 and the difference is negative. See docs/columns.md.
"""

from __future__ import annotations

from cpwl.construct.analysis import Analysis
from cpwl.construct.columns.lowering import lower
from cpwl.construct.plan import Plan
from cpwl.errors import ConstructionError
from cpwl.function.mesh import kuhn_grid

__all__ = ["plan"]


def plan(analysis: Analysis) -> Plan:
    """The plan of the network of a Kuhn grid; every weight is known before its size.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2]] * 3, [[[i * j * k for i in range(3)] for j in range(3)] for k in range(3)])
    >>> plan(Analysis(p)).sizes.depth
    5
    """
    mesh = analysis.exact.function.mesh
    if mesh is None:
        raise ConstructionError("columns are for tables on grids, and this function is given by half-spaces")
    return Plan.of("columns", lower(kuhn_grid(mesh)), analysis.sample.points)
