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

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.sparse import coo_array

from cpwl.exact.integers import primitive, ratio_view
from cpwl.exact.rational import fraction_array
from cpwl.function.answers import point_text
from cpwl.function.components import label_maps
from cpwl.function.cpwl import CPWL, Moved, Snapped
from cpwl.function.doctor.first_error import first_error
from cpwl.function.evaluate import find_pieces
from cpwl.function.make import parts_of_simplices
from cpwl.function.merge import Contacts, Key, merge
from cpwl.function.parts import Laws, Parts
from cpwl.function.snap.short import meant_laws
from cpwl.geometry.facets import facets_of, hyperplanes
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["integer_polyhedra", "snap_pieces"]

# What a float function would be exactly: one law a component, one hyperplane for the facets that share it.


# The regions of the laws, cut into convex pieces afresh and exactly.
#
# The region where a function follows one law is bounded by the hyperplanes where that law meets its neighbours, and by
# the domain. So it is a union of cells of the arrangement of these hyperplanes in the domain, and no other cut is
# needed.
# Where hyperplanes that should meet in one place miss each other by rounding, there is a cell that is next to nothing:
# no
# law is known there, and nothing is offered.


_MOST = 2000  # cells for one law


def recut(
    domain: NDArray[np.object_],
    planes: dict[int, NDArray[np.object_]],
    law_at: Callable[[NDArray[np.float64]], NDArray[np.int64]],
    tol: float,
) -> tuple[Polyhedra, NDArray[np.int64]] | str:
    """Convex pieces and their laws: for each law the cells of its hyperplanes in which it is the law.

    All rows ``(a, b)`` are integers. `law_at` says which law holds around each of some points. In words: what stands
    in the way, such as a cell that is thinner than `tol`.
    """
    exact, rough = Probe(0.0), Probe(tol)
    pieces: list[NDArray[np.object_]] = []
    laws: list[int] = []
    for law, rows in planes.items():
        cells = _cells(domain, rows, exact)
        if cells is None:
            return f"the hyperplanes where laws meet have more than {_MOST} cells."
        for cell, point in cells:
            if rough.interior(_polyhedron(cell)) is None:
                return (
                    f"more hyperplanes than there are dimensions meet at x = {point_text(point)}, "
                    f"but only within rounding."
                )
        points = np.array([np.asarray(point, dtype=np.float64) for _, point in cells])
        holds = np.flatnonzero(law_at(points) == law)
        pieces += [cells[k][0] for k in holds]
        laws += [law] * len(holds)
    return integer_polyhedra(pieces, domain.shape[1] - 1), np.array(laws, dtype=np.int64)


def _cells(
    domain: NDArray[np.object_], planes: NDArray[np.object_], probe: Probe
) -> list[tuple[NDArray[np.object_], NDArray[Any]]] | None:
    """The cells with interior that hyperplanes cut out of a polyhedron, each with a point inside."""
    start = probe.interior(_polyhedron(domain))
    if start is None:
        return []
    cells = [(domain, start)]
    for plane in planes:
        parts = []
        for rows, _ in cells:
            for side in (plane, -plane):
                part = np.concatenate([rows, side[None]])
                point = probe.interior(_polyhedron(part))
                if point is not None:
                    parts.append((part, point))
        cells = parts
        if len(cells) > _MOST:
            return None
    return cells


def integer_polyhedra(pieces: list[NDArray[np.object_]], dim: int) -> Polyhedra:
    """Polyhedra of integer rows ``(a, b)``, with a float view of a like size for all rows."""
    rows = np.concatenate([*pieces, np.zeros((0, dim + 1), dtype=object)])
    scale = np.abs(rows[:, :-1]).max(axis=1, initial=1)
    view = ratio_view(rows, scale[:, None])
    start = np.cumsum([0] + [len(piece) for piece in pieces]).astype(np.int64)
    return Polyhedra(view[:, :-1].copy(), view[:, -1].copy(), start, rows)


def _polyhedron(rows: NDArray[np.object_]) -> Polyhedron:
    return integer_polyhedra([rows], rows.shape[1] - 1)[0]


_Row = NDArray[np.object_]


class Frame:
    """The facets of a healthy function with a tolerance, who touches whom, and the exact rows to use instead.

    Between pieces of different laws a facet's row becomes ``f_i - f_j``. Other rows stay as they are, and all
    facets within the tolerance of one hyperplane take the first row there is, one of the domain if it has one.
    """

    def __init__(self, p: CPWL) -> None:
        assert p.tol > 0
        self.p, self.label = p, label_maps(p.component)
        self.laws = meant_laws(p)
        self.given = p.polyhedra if p.domain is None else _join(p.polyhedra, p.domain)
        self.integer = self.given.integer()
        self.planes = hyperplanes(self.given, p.tol)
        self.instead = self._instead()
        probe = Probe(p.tol, p.polyhedra.unit())
        self.inside = [probe.interior(body) for body in p.polyhedra]
        self.facets = {
            i: facets_of(p.polyhedra, self.planes, i, probe) for i, x in enumerate(self.inside) if x is not None
        }
        self.boxes = {i: probe.box(p.polyhedra[i]) for i in self.facets}
        everywhere = np.zeros(p.num_pieces, dtype=np.int64)
        self.contacts = Contacts(p.polyhedra, self.planes, everywhere, self.facets, probe)
        self.bends = self._bends()
        self.rows = self._rows()

    def _instead(self) -> NDArray[np.int64]:
        """For each row the one that its hyperplane takes."""
        count = len(self.p.polyhedra.b)
        order = [*range(count, len(self.given.b)), *range(count)]
        first = {int(self.planes.number[r]): r for r in reversed(order)}
        return np.array([first[h] for h in self.planes.number.tolist()], dtype=np.int64)

    def _bends(self) -> dict[tuple[int, Key], dict[int, _Row]]:
        """For each facet and each other law on its other side the exact row between the two."""
        found = {}
        for (i, key), near in self.contacts.neighbours.items():
            others = {int(self.label[j]): j for j in sorted(near, reverse=True) if self.label[j] != self.label[i]}
            side = self.p.polyhedra.A[self.contacts.facets[i][key].row]
            if others:
                found[i, key] = {law: self._between(i, j, side) for law, j in sorted(others.items())}
        return found

    def _between(self, i: int, j: int, side: NDArray[np.float64]) -> _Row:
        """The exact hyperplane between two laws, as a row on the side of a float row."""
        slopes = np.abs(self.p.laws.gradient[i] - self.p.laws.gradient[j]).max(axis=1)
        row: _Row = self.differences(i, j)[int(np.argmax(slopes))]
        along = (row[:-1] / np.abs(row[:-1]).max(initial=1)).astype(np.float64) @ side
        return np.asarray(row if along > 0 else -row)

    def differences(self, i: int, j: int) -> NDArray[np.object_]:
        """``f_i - f_j`` for each output as integer rows ``(g, -o)``, primitive."""
        f, g = self.laws[i], self.laws[j]
        rows = primitive(f[:, :-1] * g[:, -1:] - g[:, :-1] * f[:, -1:])
        rows[:, -1] *= -1
        return rows

    def disagreement(self) -> str | None:
        """Several outputs must bend on the very same hyperplanes: where they do not, in words."""
        for (i, key), rows in self.bends.items():
            for j in sorted(self.contacts.neighbours[i, key]):
                row = rows.get(int(self.label[j]))
                if row is None:
                    continue
                for other in self.differences(i, j):
                    if other.any() and (other != row).any() and (other != -row).any():
                        return (
                            f"several outputs bend between pieces {i} and {j}, on hyperplanes that agree only within "
                            f"rounding: exact laws must come from what made the function."
                        )
        return None

    def _rows(self) -> dict[tuple[int, Key], list[_Row]]:
        """For each facet the exact rows that take the place of its row."""
        bent = {key[0]: next(iter(rows.values())) * key[1] for (_, key), rows in reversed(self.bends.items())}
        found = {}
        for i, facets in self.contacts.facets.items():
            for h, s in facets:
                row = bent[h] * s if h in bent else self.shared_row(i, (h, s))
                found[i, (h, s)] = list(self.bends.get((i, (h, s)), {0: row}).values())
        return found

    def replaced(self) -> list[tuple[int, _Row]]:
        """The rows of facets, by their numbers, with the exact rows that take their places."""
        return [(self.contacts.facets[i][key].row, row) for (i, key), rows in self.rows.items() for row in rows]

    def shared_row(self, i: int, key: Key) -> _Row:
        """The row that the facet shares with all others on its hyperplane, on its own side."""
        kept = self.instead[self.contacts.facets[i][key].row]
        return np.asarray(self.integer[kept] * int(self.planes.side[kept] * key[1]))

    def snapped(self) -> CPWL:
        """The function with its laws made equal and its rows shared, still with its tolerance."""
        count, p = len(self.p.polyhedra.b), self.p
        kept = self.instead[:count]
        turn = self.planes.side[:count] * self.planes.side[kept]
        exact = None if self.given.exact is None else self.given.exact[kept] * turn.astype(object)[:, None]
        A, b = self.given.A[kept] * turn[:, None], self.given.b[kept] * turn
        laws = Laws.from_integer(self.laws)
        return CPWL.from_parts(Parts(Polyhedra(A, b, p.polyhedra.start, exact), laws, p.domain, p.tol))

    def rederived(self) -> CPWL:
        """The exact function on the same pieces."""
        return self._exact(self._pieces(self.rows), Laws.from_integer(self.laws[list(self.facets)]))

    def hinged(self) -> CPWL | None:
        """The exact function on the same pieces and rows, with laws that are sums of hinges."""
        laws = _hinged_laws(self)
        rows = {(i, key): [self.shared_row(i, key)] for i, key in self.rows}
        return None if laws is None else self._exact(self._pieces(rows), laws)

    def _pieces(self, rows: dict[tuple[int, Key], list[_Row]]) -> Polyhedra:
        pieces = [[row for key in self.contacts.facets[i] for row in rows[i, key]] for i in self.facets]
        shape = (-1, self.p.dim + 1)
        return integer_polyhedra([np.array(piece, dtype=object).reshape(shape) for piece in pieces], self.p.dim)

    def recut(self) -> CPWL | str:
        """The exact function with each law's region cut along the hyperplanes where that law meets others.

        Or what stands in the way, in words.
        """
        domain = self._domain()
        planes: dict[int, dict[tuple[int, ...], _Row]] = {int(law): {} for law in np.unique(self.label)}
        for (i, _), rows in self.bends.items():
            for row in rows.values():
                turned = row if row[np.argmax(row != 0)] > 0 else -row
                planes[int(self.label[i])][tuple(turned)] = turned
        cuts = {
            law: np.array(list(rows.values()), dtype=object).reshape(-1, self.p.dim + 1) for law, rows in planes.items()
        }
        found = recut(domain, cuts, lambda x: self.label[find_pieces(self.p, x)], self.p.tol)
        if isinstance(found, str):
            return found
        first = {int(law): i for i, law in reversed(list(enumerate(self.label)))}
        return self._exact(found[0], Laws.from_integer(self.laws[[first[int(law)] for law in found[1]]]))

    def _domain(self) -> NDArray[np.object_]:
        """The exact rows of the domain: those asserted, or of hyperplanes with pieces on one side only."""
        if self.p.domain is not None:
            return self.p.domain.integer()
        keys = {key for facets in self.contacts.facets.values() for key in facets}
        outer = {key for key in keys if (key[0], -key[1]) not in keys}
        rows = {key: self.rows[i, key][0] for i, facets in self.contacts.facets.items() for key in outer & set(facets)}
        return np.array([rows[key] for key in sorted(rows)], dtype=object).reshape(-1, self.p.dim + 1)

    def _exact(self, polyhedra: Polyhedra, laws: Laws) -> CPWL:
        return CPWL.from_parts(Parts(polyhedra, laws, self.p.domain, 0.0))


def _join(polyhedra: Polyhedra, rows: Polyhedron) -> Polyhedra:
    """The stack with one more polyhedron."""
    exact = None
    if polyhedra.exact is not None or rows.exact is not None:
        exact = np.concatenate([polyhedra.integer(), rows.integer()])
    start = np.append(polyhedra.start, polyhedra.start[-1] + len(rows.b))
    return Polyhedra(np.concatenate([polyhedra.A, rows.A]), np.concatenate([polyhedra.b, rows.b]), start, exact)


def _hinged_laws(frame: Frame) -> Laws | None:
    """The laws of all pieces as sums of hinges on the shared rows, from the first piece on; None if some have no way.

    If the slope jumps by the same amount all along each hyperplane, as in a network with one hidden layer, the law
    changes by ``t_h (a_h.x - b_h)`` whenever `h` is crossed. Then one law, the rows and the numbers `t_h` give all
    laws. Where hyperplanes cross, four laws meet, and only laws of this form meet exactly.

    Only a proposal: whether these laws are those of the function is to be seen.
    """
    turns = _turns(frame)
    first = min(frame.facets)
    laws = {first: _fractions(frame.laws[first])}
    waiting = deque([first])
    while waiting:
        i = waiting.popleft()
        for key in frame.contacts.facets[i]:
            for j in sorted(frame.contacts.neighbours.get((i, key), ())):
                if j not in laws:
                    laws[j] = laws[i] + key[1] * turns[key[0]]
                    waiting.append(j)
    if len(laws) < frame.p.num_pieces:
        return None
    table = np.array([laws[i] for i in range(frame.p.num_pieces)], dtype=object)
    return Laws.from_lists(table[..., :-1], table[..., -1], frame.p.num_pieces, frame.p.dim)


def _turns(frame: Frame) -> dict[int, NDArray[np.object_]]:
    """For each hyperplane what the laws gain on the way from its side 1 to its side -1, one row an output."""
    largest: dict[int, float] = {}
    found = {}
    for (i, (h, s)), near in sorted(frame.contacts.neighbours.items()):
        row = fraction_array(frame.shared_row(i, (h, s)))
        k = int(np.argmax(np.abs(row[:-1])))
        for j in sorted(near):
            change = frame.p.laws.gradient[j, :, k] - frame.p.laws.gradient[i, :, k]
            size = float(np.abs(change).max())
            if s > 0 and size > largest.get(h, -1.0):
                largest[h] = size
                steps = [Fraction(float(c)) / row[k] for c in change]
                found[h] = np.array([[t * v for v in (*row[:-1], -row[-1])] for t in steps], dtype=object)
    return found


def _fractions(law: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.array([[Fraction(v, row[-1]) for v in row[:-1]] for row in law], dtype=object)


# Simplices given by rounded half-spaces and laws, put together again from their corners.
#
# Around a corner of a triangulation there are more laws than can meet exactly by chance. But a triangulated table is
# exactly consistent whatever its numbers are: so corners that nearly coincide become one, each takes the value of one
# of
# its laws, and the laws follow from the values.


def from_corners(frame: Frame, reach: float) -> CPWL | None:
    """The table on the corners of the pieces, simplex by simplex; None if that is not what they are.

    Corner `k` of a piece is the one off its facet number `k`. Corners closer than 10 tol, relative to `reach`, are one.
    """
    p, size = frame.p, frame.p.dim + 1
    if any(len(facets) != size for facets in frame.facets.values()) or len(frame.facets) < p.num_pieces:
        return None
    rows = np.array([[f.row for f in frame.facets[i]] for i in range(p.num_pieces)])
    others = np.array([np.delete(np.arange(size), k) for k in range(size)])
    try:
        corners = np.linalg.solve(p.polyhedra.A[rows[:, others]], p.polyhedra.b[rows[:, others]][..., None])[..., 0]
    except np.linalg.LinAlgError:  # as many facets as a simplex, but unbounded
        return None
    points = corners.reshape(-1, p.dim)
    pairs = scipy.spatial.cKDTree(points).query_pairs(10 * p.tol * reach, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(points), len(points)))
    number = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    cells = number.reshape(-1, size)
    if (np.diff(np.sort(cells, axis=1), axis=1) == 0).any():
        return None
    first = np.unique(number, return_index=True)[1]
    owner = first // size
    values = np.einsum("vmn,vn->vm", p.laws.gradient[owner], points[first]) + p.laws.offset[owner]
    return CPWL.from_parts(parts_of_simplices(points[first], cells, values))


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
