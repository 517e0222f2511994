"""A function as bodies with laws, all in integers, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import primitive
from cpwl.function.cpwl import CPWL
from cpwl.function.merge.merge import merge
from cpwl.function.parts import Laws, Parts
from cpwl.function.snap.snap import snap
from cpwl.geometry.bodies import Bodies, solid, stacked
from cpwl.geometry.polyhedra import Polyhedron, fact
from cpwl.geometry.spans import Spans

__all__ = ["common_domain", "exactly", "function_of", "pieces_of", "scaled", "summed"]

_FEW = 2000  # pieces that are merged at once: each takes linear programs


def exactly(p: CPWL) -> CPWL:
    """The function itself if its data is meant exactly, else the exactly consistent one that `CPWL.snap` finds near it.

    Float data without one is refused: nobody could say what its sum or maximum is between pieces that do not fit.
    """
    if p.complete is False:
        raise InputError(
            "a function that was extracted in part is not defined everywhere; `extract(resume=...)` goes on"
        )
    if p.tol == 0:
        return p
    found = snap(p, p.tol)
    if found.function is None:
        raise InputError(
            f"these pieces do not fit exactly, and no exact function is near them: {found.reason}\n"
            "  `p.doctor()` says where, and `p.snap(tol)` with a larger tolerance may find one."
        )
    return found.function


@fact
def pieces_of(p: CPWL) -> tuple[NDArray[np.int64], Bodies]:
    """The pieces that have an interior, with irredundant rows and generators, and their numbers. Exact data."""
    if p.mesh is not None:
        mesh = p.mesh
        start = p.polyhedra.start
        spans = Spans.of_simplices(mesh.points, mesh.corners, mesh.simplices)
        return np.arange(p.num_pieces), Bodies(stacked(primitive(p.polyhedra.integer()), start), spans)
    return solid(p.polyhedra)


def function_of(bodies: Bodies, laws: NDArray[np.object_], domain: Polyhedron | None) -> CPWL:
    """The function with those pieces and integer laws ``(gradient, offset, 1) * denominator``, merged where cheap."""
    parts = Parts(bodies.polyhedra, Laws.from_integer(primitive(laws)), domain, 0.0)
    made = CPWL.from_parts(parts)
    return merge(made) if made.num_pieces <= _FEW else made


def common_domain(one: Polyhedron | None, two: Polyhedron | None) -> Polyhedron | None:
    """The intersection of two asserted domains; None, what the pieces cover, if one was not asserted."""
    if one is None or two is None:
        return None
    if one is two:
        return one
    rows = np.concatenate([one.integer(), two.integer()])
    distinct = list(dict.fromkeys(map(tuple, primitive(rows).tolist())))
    exact = np.array(distinct, dtype=object).reshape(len(distinct), one.dim + 1)
    return stacked(exact, np.array([0, len(exact)]))[0]


def scaled(laws: NDArray[np.object_], factor: NDArray[np.object_]) -> NDArray[np.object_]:
    """Laws times rationals, one for each output."""
    above = np.array([f.numerator for f in factor], dtype=object)
    below = np.array([f.denominator for f in factor], dtype=object)
    return np.concatenate([laws[..., :-1] * above[:, None], laws[..., -1:] * below[:, None]], axis=-1)


def summed(laws: NDArray[np.object_], others: NDArray[np.object_]) -> NDArray[np.object_]:
    """The sums of integer laws ``(gradient, offset, 1) * denominator``."""
    above = laws[..., :-1] * others[..., -1:] + others[..., :-1] * laws[..., -1:]
    return np.concatenate([above, laws[..., -1:] * others[..., -1:]], axis=-1)
