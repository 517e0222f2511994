"""A rational point where network and function differ, if one is found among those worth trying."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.geometry.probe import Probe
from cpwl.network import Network

__all__ = ["find_difference"]

_MOST = 400  # pieces and corners to try: a search, not a proof


def find_difference(
    p: CPWL, network: Network, tolerance: Fraction, points: list[Any]
) -> tuple[NDArray[np.object_], NDArray[np.object_], NDArray[np.object_]] | None:
    """The point, the network's value and the function's, where they differ by more than `tolerance`; or None."""
    for x in [*points, *_candidates(p)]:
        at = fraction_array(np.asarray(x, dtype=object))
        ours = p(at[None])[0]
        if ours[0] is None:
            continue
        theirs = network(at[None])[0]
        if any(abs(a - b) > tolerance for a, b in zip(theirs, ours, strict=True)):
            return at, theirs, ours
    return None


def _candidates(p: CPWL) -> list[NDArray[Any]]:
    """Points inside the pieces, and the corners of a table, in floats taken exactly."""
    step = max(1, p.num_pieces // _MOST)
    if p.mesh is not None:
        corners = p.mesh.points[p.mesh.simplices[::step]]
        weights = np.array([i + 2.0 for i in range(p.dim + 1)])
        inner = np.einsum("i,qij->qj", weights / weights.sum(), corners)
        return [*inner, *corners.reshape(-1, p.dim)[: 2 * _MOST]]
    probe = Probe(1e-9)
    found = [probe.interior(p.polyhedra[i]) for i in range(0, p.num_pieces, step)]
    inside = [x for x in found if x is not None]
    shifts = [np.cos(1.0 + 2.3 * np.arange(p.dim) + k) for k in range(3)]
    return [*inside, *(x + s for x in inside[:50] for s in shifts), *(x + 100 * s for x in inside[:20] for s in shifts)]
