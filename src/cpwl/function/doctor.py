"""What is wrong with a function? Jumps, overlaps, gaps, domains that are not convex, pieces without interior.

Every decision is made in rationals for exact data, and within `tol` for float data. The reasoning behind "nothing is
wrong": if on every hyperplane the facets of the pieces on its two sides cover the same set once, up to the boundary
of a convex domain, then the number of pieces over a point is the same everywhere inside it; so it is 1 if it is 1
somewhere. And if neighbours agree on the hyperplane of their common facet, the function is continuous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cpwl.function.lineality import essential_coordinates, lift, on_coordinates
from cpwl.function.mesh_doctor import examine_mesh
from cpwl.function.piece_doctor import PieceDoctor
from cpwl.function.report import Finding, Report, point_text

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["examine"]


def examine(p: CPWL) -> Report:
    """All findings about `p`.

    A triangulated table whose simplices meet face to face is examined by its corners alone, in arrays. Anything
    else is examined facet by facet with linear programs, in as many dimensions as the function depends on.
    """
    if p.mesh is not None:
        findings = examine_mesh(p)
        if findings is not None:
            return Report.of(findings)
    coordinates = essential_coordinates(p)
    if len(coordinates) == p.dim:
        return Report.of(PieceDoctor(p).findings())
    small = on_coordinates(p, coordinates)
    return Report.of([_lifted(f, coordinates, p.dim) for f in PieceDoctor(small).findings()])


def _lifted(finding: Finding, coordinates: NDArray[np.int64], dim: int) -> Finding:
    point = None if finding.point is None else lift(finding.point, coordinates, dim)
    message = finding.message
    if finding.point is not None and point is not None:
        message = message.replace(point_text(finding.point), point_text(point))
    return Finding(finding.kind, finding.severity, message, finding.pieces, point, finding.size)
