"""Signs of ``f_m - p`` at the corners of a triangulated table: floats first, integers where floats cannot say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import integer_rows, sign
from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import Mesh

__all__ = ["mesh_signs"]


def mesh_signs(p: CPWL, output: int, some: slice = slice(None)) -> NDArray[np.int8]:
    """``sign(f_m(v) - p(v))`` for each, or some, components `m` and corners `v`, exactly."""
    mesh = p.mesh
    assert mesh is not None
    every = p.components(output)
    laws = every.take(np.arange(len(every.offset))[some])
    gradient, offset = laws.gradient[:, 0], laws.offset[:, 0]
    difference = gradient @ mesh.points.T + offset[:, None] - mesh.values[:, output]
    size = np.abs(gradient) @ np.abs(mesh.points).T + np.abs(offset)[:, None] + np.abs(mesh.values[:, output])
    # Each input is rounded once and a sum of n + 2 terms is rounded n + 1 times: twice that is safe.
    unsure = np.abs(difference) <= 2 * (p.dim + 4) * np.finfo(np.float64).eps * size
    signs = np.sign(difference).astype(np.int8)
    component, corner = np.nonzero(unsure)
    signs[component, corner] = _exact_signs(laws.integer()[component, 0], mesh, corner, output)
    return signs


def _exact_signs(rows: NDArray[np.object_], mesh: Mesh, corner: NDArray[np.int64], output: int) -> NDArray[np.int64]:
    """Law ``(g, o) / d`` at ``(x, w) / w`` against the value ``t / u``: the sign of ``u (g, o).(x, w) - t d w``."""
    values = np.column_stack([mesh.values[:, output], np.ones(len(mesh.values))])
    exact = None if mesh.exact_values is None else mesh.exact_values[:, output]
    exact = None if exact is None else np.column_stack([exact, fraction_array(np.ones(len(exact)))])
    top, bottom = integer_rows(values, exact)[corner].T
    at = mesh.corners[corner]
    law = (rows[:, :-1] * at).sum(axis=1)
    return sign(bottom * law - top * rows[:, -1] * at[:, -1])
