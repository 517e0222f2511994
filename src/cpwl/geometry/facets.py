"""Facets of polyhedra, and which of them lie on one hyperplane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from cpwl.exact.integers import in_order, linked, number_rows, primitive, sign, signs_at
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, fact
from cpwl.geometry.probe import Probe


@dataclass(frozen=True, slots=True)
class Facet:
    """Row `row` of the stack touches its polyhedron `piece` in a facet, and `point` is inside that facet.

    `places` are the integer corners ``(x, 1) w`` and rays ``(r, 0)`` that span the polyhedron, where they are known.
    """

    piece: int
    row: int
    point: NDArray[Any]
    places: NDArray[np.object_] | None = None


@dataclass(frozen=True, slots=True)
class Hyperplanes:
    """For each row of a stack the number of its hyperplane, and the side (1 or -1) that the row allows."""

    number: NDArray[np.int64]
    side: NDArray[np.int64]


@fact
def hyperplanes(polyhedra: Polyhedra, tol: float) -> Hyperplanes:
    """Numbers the hyperplanes ``a.x = b`` of all rows; equal exactly, or within `tol` for float data.

    >>> both = Polyhedra.from_lists([[[2]], [[-1]]], [[4], [-2]])
    >>> found = hyperplanes(both, 0.0)
    >>> found.number, found.side
    (array([0, 0]), array([ 1, -1]))
    """
    if tol == 0:
        rows = primitive(polyhedra.integer())
        first = np.argmax(rows[:, :-1] != 0, axis=1)
        side = sign(rows[np.arange(len(rows)), first]) if len(rows) else np.zeros(0, dtype=np.int64)
        return Hyperplanes(number_rows(rows * side[:, None])[1], side)
    length = np.linalg.norm(polyhedra.A, axis=1)
    view = np.column_stack([polyhedra.A, polyhedra.b]) / length[:, None]
    view[:, -1] /= polyhedra.unit(tol)
    # A fixed generic direction gives each hyperplane a sign that rounding does not flip.
    generic = np.cos(1.0 + np.arange(polyhedra.dim) * 2.3)
    side = np.where(view[:, :-1] @ generic < 0, -1, 1).astype(np.int64)
    return Hyperplanes(_clusters(view * side[:, None], tol), side)


def _clusters(rows: NDArray[np.float64], tol: float) -> NDArray[np.int64]:
    """Numbers for rows, in order of appearance, equal where steps of about 10 `tol` lead from one to the other.

    Many rows lie on one hyperplane: those that agree far better than that count as one point.
    """
    _, first, place = np.unique(np.round(rows / (tol / 2)), axis=0, return_index=True, return_inverse=True)
    pairs = scipy.spatial.cKDTree(rows[first]).query_pairs(10 * tol, output_type="ndarray")
    return in_order(linked(pairs, len(first))[place.ravel()])


@fact
def known_facets(_: Polyhedra) -> dict[int, list[Facet]]:
    """The facets of those exact polyhedra that somebody has asked for: they take a linear program for each row."""
    return {}


def facets_of(polyhedra: Polyhedra, planes: Hyperplanes, i: int, probe: Probe) -> list[Facet]:
    """The facets of polyhedron `i`, which must have an interior: its rows that are not redundant."""
    if probe.tol:
        return _facets_of(polyhedra, planes, i, probe)
    known = known_facets(polyhedra)
    if i not in known:
        known[i] = _facets_of(polyhedra, planes, i, probe)
    return known[i]


def _facets_of(polyhedra: Polyhedra, planes: Hyperplanes, i: int, probe: Probe) -> list[Facet]:
    rows = range(int(polyhedra.start[i]), int(polyhedra.start[i + 1]))
    distinct = {(int(planes.number[r]), int(planes.side[r])): r for r in reversed(rows)}
    keep = sorted(distinct.values())
    body = rows_of(polyhedra, keep)
    points = [probe.interior(body, on=[k]) for k in range(len(keep))]
    return [Facet(i, row, point) for row, point in zip(keep, points, strict=True) if point is not None]


def redundant_rows(
    polyhedra: Polyhedra,
    planes: Hyperplanes,
    facets: list[Facet],
    probe: Probe,
    closest: Callable[[int], NDArray[Any] | None] | None = None,
) -> list[tuple[int, NDArray[Any]]]:
    """The rows of a polyhedron that the rows of its facets imply, each with the point of it that comes closest.

    For float data a row without a facet of its own may still cut something off; within `tol` it must not. `closest`, if
    it is known, has that point for a row.
    """
    if not facets:
        return []
    i, own = facets[0].piece, {f.row for f in facets}
    twins = {(planes.number[f.row], planes.side[f.row]): f.point for f in facets}
    body = rows_of(polyhedra, sorted(own))
    closest = closest or (lambda r: probe.bound_at(body, rows_of(polyhedra, [r])))
    found = []
    for r in range(int(polyhedra.start[i]), int(polyhedra.start[i + 1])):
        point = twins.get((planes.number[r], planes.side[r]))
        point = closest(r) if point is None else point
        if r not in own and point is not None:
            found.append((r, point))
    return found


def rows_of(polyhedra: Polyhedra | Polyhedron, rows: Sequence[int]) -> Polyhedron:
    """The polyhedron of some rows of a stack, or of another one."""
    which = np.asarray(rows, dtype=np.int64)
    exact = None if polyhedra.exact is None else polyhedra.exact[which]
    return Polyhedron(polyhedra.A[which], polyhedra.b[which], exact)


# Which part of a facet do the polyhedra on its other side leave uncovered?


@dataclass(frozen=True, slots=True, eq=False)
class FacetCover:
    """Facets of a stack of polyhedra as sets of their own. For exact data the stack must carry its integers."""

    polyhedra: Polyhedra
    planes: Hyperplanes
    probe: Probe

    def body(self, facet: Facet, others: list[int]) -> Polyhedron:
        """The facet, met by the polyhedra `others`: row 0 is its own, to be held; the rest are off its plane."""
        plane = int(self.planes.number[facet.row])
        rows = [r for i in (facet.piece, *others) for r in self._rows_off(i, plane)]
        return rows_of(self.polyhedra, [facet.row, *rows])

    def closed(self, body: Polyhedron) -> Polyhedron:
        """The same with row 0 as an equation."""
        return body.meet(rows_of(body, [0]).opposite())

    def uncovered(
        self, facet: Facet, candidates: list[int], more: Sequence[list[int]] = ()
    ) -> tuple[NDArray[Any], Polyhedron] | None:
        """A point inside the facet that no candidate reaches, with the part of the facet around it; None if covered.

        The facet is cut along the rows of a candidate; what is outside one of them goes on to the next candidate. A row
        that holds wherever the facet ends cuts nothing. `more` are further candidates, each by its rows.
        """
        plane = int(self.planes.number[facet.row])
        every = [*(self._rows_off(j, plane) for j in candidates), *more]
        if facet.places is not None:
            cuts = [np.flatnonzero((self._sides(facet, rows) > 0).any(axis=1)).tolist() for rows in every]
            every = [[rows[k] for k in own] for rows, own in zip(every, cuts, strict=True)]
            if not all(every):
                return None
        waiting = [(self.body(facet, []), facet.point, list(range(len(every))))]
        while waiting:
            body, point, left = waiting.pop()
            if not left:
                return point, body
            j = next((k for k in left if self._holds(every[k], point)), left[0])
            rest = [k for k in left if k != j]
            for r in every[j]:
                row = rows_of(self.polyhedra, [r])
                outside = body.meet(row.opposite())
                beyond = self.probe.interior(outside, on=[0])
                if beyond is None:
                    continue
                waiting.append((outside, beyond, rest))
                body = body.meet(row)
                if self.probe.interior(body, on=[0]) is None:
                    break
        return None

    def touches(self, facet: Facet, other: int) -> bool:
        """Whether the facet and another polyhedron on its hyperplane have a part of it in common."""
        if facet.places is not None:
            rows = self._rows_off(other, int(self.planes.number[facet.row]))
            if (self._sides(facet, rows).min(axis=1) >= 0).any():
                return False  # they are on the two sides of a row
        return self.probe.interior(self.body(facet, [other]), on=[0]) is not None

    def _sides(self, facet: Facet, rows: list[int]) -> NDArray[np.int64]:
        """``[r, k]``: the sign of ``a.x - b`` of these rows at each known place of the facet."""
        assert self.polyhedra.exact is not None
        assert facet.places is not None
        own = self.polyhedra.exact[[facet.row, *rows]]
        found = signs_at(np.column_stack([own[:, :-1], -own[:, -1:]]), facet.places)
        return found[1:, found[0] == 0]

    def _rows_off(self, i: int, plane: int) -> list[int]:
        rows = range(int(self.polyhedra.start[i]), int(self.polyhedra.start[i + 1]))
        return [r for r in rows if self.planes.number[r] != plane]

    def _holds(self, rows: list[int], x: NDArray[Any]) -> bool:
        """Roughly whether the rows hold at `x`: only for choosing which candidate to try first."""
        return bool((self.polyhedra.A[rows] @ np.asarray(x, dtype=np.float64) <= self.polyhedra.b[rows]).all())
