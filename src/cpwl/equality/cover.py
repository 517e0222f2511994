"""Is a function defined on all of a polyhedron? A point where it is not, or None."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.doctor.first_error import first_error
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["hole", "is_whole", "joined"]


def is_whole(p: CPWL) -> bool:
    """Whether the pieces are known, or found, to cover a convex domain: no holes then."""
    return (p.known is not None and p.known.complete) or first_error(p) is None


def hole(body: Polyhedron, p: CPWL) -> NDArray[np.object_] | None:
    """A point inside the polyhedron where `p` is not defined; None if its pieces cover it.

    The polyhedron is cut along the rows of a piece that holds a point of it; each part outside one of them goes on to
    the next piece. For float data a hole that is thinner than `tol` is none.
    """
    probe = Probe(p.tol, p.polyhedra.unit())
    start = probe.interior(body)
    waiting = [] if start is None else [(body, start, np.arange(p.num_pieces))]
    while waiting:
        here, point, left = waiting.pop()
        i = _holder(p, point, left)
        if i is None:
            return fraction_array(point)
        left = left[left != i]
        for row in _rows(p.polyhedra[i]):
            outside = joined(here, _opposite(row))
            beyond = probe.interior(outside)
            if beyond is not None:
                waiting.append((outside, beyond, left))
                here = joined(here, row)
                if probe.interior(here) is None:
                    break
    return None


def joined(one: Polyhedron, other: Polyhedron | None) -> Polyhedron:
    """The intersection of two polyhedra."""
    if other is None:
        return one
    exact = np.concatenate([one.integer(), other.integer()])
    return Polyhedron(np.concatenate([one.A, other.A]), np.concatenate([one.b, other.b]), exact)


def _rows(body: Polyhedron) -> list[Polyhedron]:
    whole = body.integer()
    return [Polyhedron(body.A[k : k + 1], body.b[k : k + 1], whole[k : k + 1]) for k in range(len(body.b))]


def _opposite(row: Polyhedron) -> Polyhedron:
    return Polyhedron(-row.A, -row.b, -row.integer())


def _holder(p: CPWL, point: NDArray[Any], left: NDArray[np.int64]) -> int | None:
    """A piece that holds the point: by floats with room to spare, exactly where they cannot tell."""
    x = np.asarray(point, dtype=np.float64)
    A, b = p.polyhedra.A, p.polyhedra.b
    slack = b - A @ x
    unsure = 1e-9 * (np.abs(A) @ np.abs(x) + np.abs(b)) + 1e-300
    worst = np.full(p.num_pieces, np.inf)
    np.minimum.at(worst, p.polyhedra.owner, slack / unsure)
    inside = left[worst[left] > 1]
    if len(inside):
        return int(inside[0])
    exact = fraction_array(point)
    for i in left[worst[left] >= -1].tolist():
        rows = p.polyhedra[i].integer()
        if p.tol or ((rows[:, :-1] * exact).sum(axis=1) <= rows[:, -1]).all():
            return int(i)
    return None
