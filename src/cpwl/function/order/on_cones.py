"""The order of components on float pieces whose rows are independent: no more rows than inputs, and no linear program.

On ``{a_r . x <= b_r}`` with independent rows the law ``g . x + o`` is bounded below iff ``g = - sum l_r a_r`` with all
``l_r >= 0``. There is one such `l` at most (the rows are independent), and then the least value is ``o - l . b``, taken
where all rows with ``l_r > 0`` are equalities. Few hyperplanes in many dimensions have only such pieces.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["order_on_cones"]

_BLOCK = 1 << 23  # numbers in one temporary array
_DEPENDENT = 1e-6  # the smallest singular value of rows of length 1 that are independent
_STEEP = 100  # times the tolerance: slopes that count as 0, against the largest slope

Relation = NDArray[np.bool_]


def order_on_cones(
    polyhedra: Polyhedra, laws: NDArray[np.float64], component: NDArray[np.int64], tol: float, slack: float
) -> tuple[Relation, Relation, Relation]:
    """``above[i, m]``: ``f_m >= f_c`` on piece `i` with component `c`, ``below``, and which pieces are decided."""
    above = np.zeros((len(component), len(laws)), dtype=bool)
    below, known = np.zeros_like(above), np.zeros(len(component), dtype=bool)
    length, n = np.diff(polyhedra.start), polyhedra.dim
    little = _STEEP * tol * float(np.abs(laws[:, :-1]).max(initial=0.0))
    for count in np.unique(length[length <= n]).tolist():
        every = np.flatnonzero(length == count)
        step = max(1, _BLOCK // (len(laws) * (n + count + 1)))
        for first in range(0, len(every), step):
            some = every[first : first + step]
            rows = polyhedra.start[some][:, None] + np.arange(count)
            A, b = polyhedra.A[rows], polyhedra.b[rows]
            size = np.linalg.norm(A, axis=2, keepdims=True)
            size = np.where(size > 0, size, 1.0)
            A, b = A / size, b / size[..., 0]
            fits = np.linalg.svd(A, compute_uv=False).min(axis=1, initial=1.0) > _DEPENDENT
            some, A, b = some[fits], A[fits], b[fits]
            difference = laws[None] - laws[component[some]][:, None]
            weight = -difference[..., :-1] @ np.linalg.pinv(A)
            rest = np.abs(difference[..., :-1] + weight @ A).max(axis=2, initial=0.0) <= little
            for relation, side, offset in (
                (above, weight, difference[..., -1]),
                (below, -weight, -difference[..., -1]),
            ):
                least = offset - np.einsum("pmk,pk->pm", np.maximum(side, 0.0), b)
                relation[some] = rest & (side >= -little).all(axis=2) & (least >= -slack)
            known[some] = True
    return above, below, known
