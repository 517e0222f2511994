"""An exactly consistent function on the pieces of float data: laws made equal, facets re-derived from ``f_i = f_j``.

What is tried, in this order, until the exact doctor finds nothing wrong:

1. the same pieces, each facet moved to where the snapped laws of its two sides are equal;
2. the same pieces with shared rows, and laws that are sums of hinges on them;
3. if all pieces are simplices with laws of their own (with laws in common: at the end), the table on their corners;
4. all this again after merging pieces of one law: cuts between them are no part of the function;
5. each law's region cut afresh, along the hyperplanes where the law meets its neighbours.

A row between pieces of one law, or on the boundary of the domain, stays as it is, and all pieces share it exactly.
Every step takes linear programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.function.cpwl import CPWL, Moved, Snapped
from cpwl.function.doctor.first_error import first_error
from cpwl.function.evaluate import find_pieces
from cpwl.function.merge import merge
from cpwl.function.parts import Laws
from cpwl.function.snap.frame import Frame
from cpwl.function.snap.welded import from_corners
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["snap_pieces"]


def snap_pieces(rough: CPWL) -> Snapped:
    """Proposes an exactly consistent function of which nothing is farther than its tolerance from `rough`.

    Coefficients of laws are measured against the largest slope and the largest offset, values against the size of the
    terms of ``g.x + o``, distances against the largest coordinate of a corner; all three are bounds over the box of the
    corners, also where a piece is unbounded.
    """
    error = first_error(rough)
    if error is not None:
        return Snapped(None, Moved(), f"it is no function within {rough.tol:g}, relative: {error.message}")
    frame, reason = Frame(rough), ""
    for candidate in _candidates(frame, _reach(frame)):
        objection = candidate if isinstance(candidate, str) else _objection(frame, candidate)
        if isinstance(candidate, _Candidate) and objection is None:
            return Snapped(candidate.function, candidate.moved, "", "pieces", *_counts(frame, candidate.function))
        reason = objection or reason
    return Snapped(None, Moved(), reason)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An exact function to try, and which of the data's laws each of its pieces has; None: piece by piece the same."""

    function: CPWL
    moved: Moved
    label: NDArray[np.int64] | None


def _counts(frame: Frame, function: CPWL) -> tuple[int, int]:
    """How many pieces of the data have a law, and how many facets a row, that the function does not have."""
    laws = {tuple(law.ravel()) for law in function.laws.integer()}
    rows = {tuple(row * sign) for row in function.polyhedra.integer() for sign in (1, -1)}
    own = frame.p.laws.integer()[list(frame.facets)]
    facets = [facet.row for each in frame.facets.values() for facet in each]
    lost = [tuple(row) not in rows for row in primitive(frame.p.polyhedra.integer()[facets])]
    return sum(tuple(law.ravel()) not in laws for law in own), sum(lost)


def _candidates(frame: Frame, reach: float) -> Iterator[_Candidate | str]:
    """Exact functions to try, the one most like the data first, or why one cannot be made."""
    yield from _with_pieces(frame, reach, Moved(), None)
    p, shared = frame.p, frame.snapped()
    rows = [(frame.contacts.facets[i][key].row, frame.shared_row(i, key)) for i, key in frame.rows]
    moved = _moved(p, shared.laws, rows, reach)
    number = {tuple(law.ravel()): int(frame.label[i]) for i, law in enumerate(frame.laws)}
    merged = Frame(merge(shared))
    if merged.p is not shared:
        label = np.array([number[tuple(law.ravel())] for law in merged.p.laws.integer()[list(merged.facets)]])
        yield from _with_pieces(merged, reach, moved, label)
    moved += _moved(merged.p, merged.p.laws, merged.replaced(), reach)
    if merged.disagreement() is None and moved.largest <= p.tol:
        fresh = merged.recut()
        if isinstance(fresh, str):
            yield fresh
        else:
            fresh = merge(fresh)
            label = np.array([number[tuple(law.ravel())] for law in fresh.laws.integer()])
            yield _Candidate(fresh, moved, label)
    if len(np.unique(frame.label)) < p.num_pieces:
        yield from _table(frame, reach, Moved(), None)


def _with_pieces(
    frame: Frame, reach: float, before: Moved, label: NDArray[np.int64] | None
) -> Iterator[_Candidate | str]:
    """Candidates on given pieces, which are themselves `before` away from the data."""
    p = frame.p
    split = frame.disagreement()
    if split is None:
        leaders = frame.snapped().laws
        yield _Candidate(frame.rederived(), before + _moved(p, leaders, frame.replaced(), reach), label)
    hinged = frame.hinged()
    if hinged is not None:
        rows = [(frame.contacts.facets[i][key].row, frame.shared_row(i, key)) for i, key in frame.rows]
        yield _Candidate(hinged, before + _moved(p, hinged.laws, rows, reach), label)
    if split is not None:  # after the hinges: of the two reasons this one tells more
        yield split
    if len(np.unique(frame.label)) == p.num_pieces:  # no two pieces share a law that would have to be kept
        yield from _table(frame, reach, before, label)


def _table(frame: Frame, reach: float, before: Moved, label: NDArray[np.int64] | None) -> Iterator[_Candidate]:
    """The table on the corners of the pieces, if they are simplices."""
    table = from_corners(frame, reach) if frame.p.domain is None else None
    if table is not None:
        rows = [f.row for i in range(frame.p.num_pieces) for f in frame.facets[i]]
        pairs = list(zip(rows, table.polyhedra.integer(), strict=True))
        yield _Candidate(table, before + _moved(frame.p, table.laws, pairs, reach), label)


def _moved(p: CPWL, laws: Laws, rows: list[tuple[int, NDArray[np.object_]]], reach: float) -> Moved:
    """Bounds on how far laws and rows are from what they are to become, over the box ``|x_i| <= reach``."""
    slopes, offsets = np.abs(p.laws.gradient - laws.gradient), np.abs(p.laws.offset - laws.offset)
    largest = np.abs(p.laws.gradient).max(axis=(0, 2))
    level = np.maximum(np.abs(p.laws.offset).max(axis=0), largest * reach)
    scale = np.abs(p.laws.gradient).sum(axis=2).max(axis=0) * reach + np.abs(p.laws.offset).max(axis=0)
    coefficient = max(_ratio(slopes.max(axis=(0, 2)), largest), _ratio(offsets.max(axis=0), level))
    value = _ratio((slopes.sum(axis=2) * reach + offsets).max(axis=0), scale)
    given = p.polyhedra.integer()
    return Moved(coefficient, value, max((_shift(given[r], row, reach) for r, row in rows), default=0.0))


def _ratio(change: NDArray[np.float64], scale: NDArray[np.float64]) -> float:
    return float((change / np.where(scale > 0, scale, 1.0)).max())


def _shift(old: NDArray[np.object_], new: NDArray[np.object_], reach: float) -> float:
    """How far the hyperplane `new` is from points of `old` in the box ``|x_i| <= reach``, at most, relative to it.

    There ``new - t old`` is the same as `new`; `t` is chosen to leave almost nothing of it. Laws that differ by a
    constant meet nowhere.
    """
    if not new[:-1].any():
        return np.inf
    k = int(np.argmax(np.abs(old[:-1])))
    rest = new * old[k] - old * new[k]
    size = abs(old[k]) * np.abs(new[:-1]).max()
    left = np.asarray(np.abs(rest) / size, dtype=np.float64)
    return float(left[:-1].sum() + left[-1] / reach)


def _reach(frame: Frame) -> float:
    """How far out the points inside the pieces, and the sides of their bounding boxes, lie."""
    inside = [np.abs(x).max() for x in frame.inside if x is not None]
    sides = np.abs(list(frame.boxes.values()))
    return float(max(np.max(inside), np.max(sides, where=np.isfinite(sides), initial=0.0))) or 1.0


def _objection(frame: Frame, candidate: _Candidate) -> str | None:
    """What speaks against a candidate: that something is too far from the data, or the exact doctor."""
    moved, function = candidate.moved.largest, candidate.function
    if moved > frame.p.tol:
        return f"something would move by {moved:.2g}, relative, which is more than {frame.p.tol:g}."
    error = first_error(function)
    if error is not None:
        return f"rounded laws and facets do not fit together exactly: {error.message}"
    return _lost(frame, function) or _strayed(frame, candidate)


def _lost(frame: Frame, candidate: CPWL) -> str | None:
    """A piece that the candidate does not cover, of which a point inside and one beside each facet are asked.

    Or, of a piece that is too thin to count, where its law would be missed by more than the tolerance.
    """
    p, probe = frame.p, Probe(frame.p.tol, frame.p.polyhedra.unit())
    scale = np.abs(p.laws.gradient).sum(axis=2).max(axis=0) * _reach(frame) + np.abs(p.laws.offset).max(axis=0)
    for i in range(p.num_pieces):
        if i in frame.facets:
            inside = np.asarray(frame.inside[i])
            x = np.array([inside, *(0.999 * f.point + 0.001 * inside for f in frame.facets[i])])
            if (find_pieces(candidate, x) < 0).any():
                return f"piece {i} would be lost."
            continue
        ends = probe.maxima(p.polyhedra[i], [*np.eye(p.dim), *-np.eye(p.dim)])
        x = np.array([point for value, point in ends if np.isfinite(value)]).reshape(-1, p.dim)
        gap = np.abs(candidate(x) - x @ p.laws.gradient[i].T - p.laws.offset[i])
        if (gap > p.tol * scale).any():  # a corner outside, where there is no value, is no evidence
            return f"the law of piece {i}, which has next to no interior, would be lost."
    return None


def _strayed(frame: Frame, candidate: _Candidate) -> str | None:
    """A piece in which the candidate has the law of another one, not only in a sliver thinner than the tolerance."""
    if candidate.label is None:
        return None
    probe, polyhedra = Probe(frame.p.tol, frame.p.polyhedra.unit()), candidate.function.polyhedra
    boxes = np.array([probe.box(body) for body in polyhedra])
    for i, (low, high) in frame.boxes.items():
        meets = (boxes[:, 0] <= high).all(axis=1) & (boxes[:, 1] >= low).all(axis=1)
        for j in np.flatnonzero(meets & (candidate.label != frame.label[i])):
            one, two = frame.p.polyhedra[i], polyhedra[int(j)]
            common = Polyhedron(np.concatenate([one.A, two.A]), np.concatenate([one.b, two.b]))
            if probe.interior(common) is not None:
                return f"piece {i} would get another law, and not only in a sliver."
    return None
