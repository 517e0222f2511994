"""A nearby exactly consistent function for float data.

What is tried, in this order, until one is exactly consistent:

1. the data as it is, every float being a rational;
2. what the float complex of the pieces proposes (`nearby`): a table on welded corners, exact laws that meet, all but a
   few laws with what is left cut up, triangles;
3. for few pieces, or many inputs, the pieces as they are with laws or rows moved (`on_pieces`), by linear programs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_number, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.function.cpwl import CPWL, Moved, Snapped
from cpwl.function.doctor.first_error import first_error
from cpwl.function.flags import consistency
from cpwl.function.jump import largest_jump
from cpwl.function.parts import Parts
from cpwl.function.snap.complex import Unfit
from cpwl.function.snap.even import even_table
from cpwl.function.snap.loose import Work
from cpwl.function.snap.measure import lost_law
from cpwl.function.snap.nearby import WAYS, Nearby, ways
from cpwl.function.snap.on_pieces import snap_pieces
from cpwl.function.snap.runs import snap_line
from cpwl.function.snap.stretched import stretched, uneven
from cpwl.geometry.polyhedra import fact

__all__ = ["evened", "near", "snap"]

_FEW = 200  # pieces up to which linear programs are worth the time
_INPUTS = 5  # more have too many corners


@within_float64()
def snap(p: CPWL, tol: float = 1e-9, *, even: bool = False) -> Snapped:
    """An exactly consistent function near float data, or why there is none to offer; see `CPWL.snap`."""
    check_number(tol, "tol", least=0.0)
    return _snapped(p, tol, even)


@fact
def _snapped(p: CPWL, tol: float, even: bool) -> Snapped:
    """Proposes an exactly consistent function of which nothing is farther than `tol` from `p`.

    Farther means relative, as `CPWL.tol` does: values against the size of the terms of ``g.x + o``, distances of facets
    against the largest coordinate of a corner. The function has ``tol == 0`` and is exactly consistent; pieces of one
    law may have been merged or cut otherwise, and where no domain was asserted its domain may be larger by rounding.
    With `even` the points of a table that are on an even lattice but for rounding are moved onto it first, and those
    that are nearly on one line, or hyperplane, onto it.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[3.0]], [[-1.0]]], [[1.0], [-0.3333333333333333]], [[0.0], [3.0]], [0.0, -1.0])
    >>> found = snap(p, 1e-9)
    >>> found.function.polyhedra.integer()
    array([[3, 1],
           [-3, -1]], dtype=object)
    >>> found.moved.largest < 1e-15
    True
    """
    if not 0 < tol < 1:
        raise InputError(f"`tol` must be more than 0 and less than 1, not {tol}")
    moved = evened(p, tol, tol) if even else None
    if moved is not None:
        return moved
    exactly = p if p.tol == 0 else CPWL.from_parts(Parts(p.polyhedra, p.laws, p.domain, 0.0, p.mesh))
    reason, flat = _examined(exactly)
    if not reason:
        return Snapped(exactly, Moved(), "", "exact", flat=flat)
    same = p.tol == tol and p.mesh is None and p.known is None
    rough = p if same else CPWL.from_parts(Parts(p.polyhedra, p.laws, p.domain, tol))
    powers = uneven(p.polyhedra) if p.dim > 1 else None
    found = near(rough, reason) if powers is None else _back(p, near(stretched(rough, powers), reason), powers)
    return replace(found, jump=largest_jump(rough))


def near(rough: CPWL, reason: str) -> Snapped:
    """The function of the first way that leads to one; `reason` is why the data itself is none."""
    if rough.dim == 1:
        return snap_line(rough)
    if rough.dim <= _INPUTS:
        tried = _from_complex(rough)
        if isinstance(tried, Snapped):
            return tried
        reason = tried
    if rough.num_pieces > _FEW:
        return Snapped(None, Moved(), reason)
    found = snap_pieces(rough)
    told = found.function is not None or rough.dim > _INPUTS
    return found if told else replace(found, reason=f"{found.reason} Other ways: {reason}")


def _back(p: CPWL, found: Snapped, powers: NDArray[np.int64]) -> Snapped:
    """What was found for stretched coordinates, for those of the data, with the domain that was asserted."""
    if found.function is None:
        return found
    q = stretched(found.function, -powers)
    function = CPWL.from_parts(Parts(q.polyhedra, q.laws, p.domain, 0.0, q.mesh))

    def back(x: tuple[float, ...]) -> tuple[float, ...]:
        return tuple((np.array(x) * np.exp2(-powers)).tolist())

    where = None if found.where is None else back(found.where)
    return replace(found, function=function, where=where, places=tuple(map(back, found.places)))


@fact
def evened(p: CPWL, tol: float, straight: float = 0.0) -> Snapped | None:
    """The table on even or straight points, if it is exactly consistent and none moves by more than `tol`, relative.

    Points count as straight within `straight`, relative, or else within rounding.
    """
    found = even_table(p, straight)
    if found is None or p.mesh is None:
        return None
    parts, far = found
    reach, slopes = np.abs(p.mesh.points).max(), np.abs(p.laws.gradient)
    scale = slopes.sum(axis=2).max(axis=0) * reach + np.abs(p.laws.offset).max(axis=0)
    same = _those(p, parts)
    before = p.laws.gradient[same]
    change = np.abs(parts.laws.gradient - before).max(axis=(0, 2)) / slopes.max(axis=(0, 2), initial=1e-300)
    value = (slopes.sum(axis=2).max(axis=0) * far / np.where(scale > 0, scale, 1.0)).max()
    moved = Moved(float(change.max()), float(value), far / float(reach))
    function = CPWL.from_parts(parts)
    if max(moved.value, moved.facet) > tol or first_error(function) is not None:
        return None
    laws = int((parts.laws.gradient != before).any(axis=(1, 2)).sum())
    return Snapped(function, moved, "", "even", laws, len(p.polyhedra.b))


def _those(p: CPWL, parts: Parts) -> NDArray[np.int64]:
    """The simplices of a table that are still there, slivers being flat where points are straight."""
    assert p.mesh is not None
    assert parts.mesh is not None
    left = set(map(tuple, parts.mesh.simplices.tolist()))
    return np.array([i for i, corners in enumerate(p.mesh.simplices.tolist()) if tuple(corners) in left])


def _examined(p: CPWL) -> tuple[str, tuple[int, ...] | None]:
    """What is wrong with exact data, empty if nothing is; and the pieces without interior, if somebody has looked."""
    if p.mesh is None and 2 <= p.dim <= _INPUTS:
        found = consistency(p)
        if found.consistent is not None:
            return found.reason, found.flat
    if p.mesh is None and p.dim > 1 and p.num_pieces > _FEW:
        return f"{p.num_pieces} pieces in {p.dim} dimensions are too many to decide by linear programs", None
    error = first_error(p)
    return "" if error is None else error.message, None


def _from_complex(p: CPWL) -> Snapped | str:
    """The first of the ways that leads to an exactly consistent function near the data, or why none does."""
    reasons = []
    try:
        work = Work(p)
    except Unfit as reason:
        return str(reason)
    for name in ways(work):
        try:
            near = WAYS[name](work)
            function = CPWL.from_parts(near.parts)
            objection = _too_far(near, p.tol) or _examined(function)[0] or lost_law(work.measured, function, p.tol)
        except (Unfit, InputError, LimitError) as reason:
            objection = str(reason)
        if not objection:
            flat = tuple(np.flatnonzero(work.complex.flat).tolist())
            counts = (near.laws, near.facets, near.patches)
            return Snapped(function, near.moved, "", name, *counts, near.where, near.places, flat)
        reasons.append(f"{name}: {objection}")
    return "; ".join(reasons)


def _too_far(near: Nearby, tol: float) -> str:
    far = max(near.moved.value, near.moved.facet)
    return f"something would move by {far:.2g}, relative, which is more than {tol:g}." if far > tol else ""
