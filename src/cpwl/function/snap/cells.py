"""Exact convex pieces for exact laws on a float complex: every facet is where two laws are equal.

A region of one law is bounded by the hyperplanes where that law meets its neighbours, and by the domain. Where it is
not convex it is cut along these hyperplanes, so that every row is exact; no bend is added.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from cpwl.exact.integers import primitive
from cpwl.function.snap.complex import FloatComplex, Unfit
from cpwl.function.snap.contacts import Contact, regions_of, spans
from cpwl.function.snap.domain import Domain, whole_row
from cpwl.function.snap.faces import Face
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron

__all__ = ["Cells", "cell_polyhedra", "exact_cells"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_MOST = 20_000  # cells


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Convex pieces with integer rows ``(a, b)``, and the law of each."""

    rows: list[NDArray[np.object_]]
    law: list[int]


class Differences:
    """The hyperplanes where two exact laws are equal, as integer rows and as float rows of length 1."""

    def __init__(self, laws: Sequence[Sequence[Fraction]]) -> None:
        self.laws = laws
        self._rows: dict[tuple[int, int], NDArray[np.object_]] = {}
        self._views: dict[tuple[int, int], tuple[_Floats, float]] = {}

    def row(self, a: int, b: int) -> NDArray[np.object_]:
        """``f_a <= f_b`` as ``(a, b)``."""
        if (a, b) not in self._rows:
            row = whole_row([x - y for x, y in zip(self.laws[a], self.laws[b], strict=True)])
            row[-1] = -row[-1]
            self._rows[a, b], self._rows[b, a] = row, -row
        return self._rows[a, b]

    def view(self, a: int, b: int) -> tuple[_Floats, float]:
        if (a, b) not in self._views:
            row = self.row(a, b)
            size = max(abs(v) for v in row[:-1])
            if size == 0:
                raise Unfit("two laws that meet differ by a constant")
            view = np.array([Fraction(v, size) for v in row], dtype=np.float64)
            length = float(np.linalg.norm(view[:-1]))
            self._views[a, b] = (view[:-1] / length, float(view[-1]) / length)
        return self._views[a, b]


@dataclass(frozen=True, slots=True, eq=False)
class _Body:
    """A convex part of a region: float rows, vertices, and the laws that it meets (False: only outside)."""

    A: _Floats
    b: _Floats
    points: _Floats
    meets: dict[int, bool]


def exact_cells(
    complex_: FloatComplex,
    label: _Ints,
    laws: Sequence[Sequence[Fraction]],
    faces: Sequence[Face],
    contacts: Sequence[Contact],
    asserted: Polyhedron | None = None,
) -> Cells:
    """The exact pieces of all regions, within the domain that was `asserted` if there is one."""
    differences = Differences(laws)
    domain = Domain(complex_, asserted)
    meets: list[dict[int, bool]] = [{} for _ in range(len(complex_))]
    for contact in contacts:
        if label[contact.piece] != label[contact.other]:
            meets[contact.piece][int(label[contact.other])] = True
    for face in faces:
        if not face.closed and len(set(face.laws)) >= 3 and not _follows(domain, differences, face):
            first, last = face.laws[0], face.laws[-1]
            for i in set.intersection(*(complex_.holders[v] for v in face.vertices)):
                for own, other in ((first, last), (last, first)):
                    if label[i] == own and own != other:
                        meets[i].setdefault(other, False)
    found = Cells([], [])
    for region in regions_of(complex_, label, list(contacts)):
        bodies = [_Body(*complex_.rows(i), complex_.vertices[complex_.cells[i]], meets[i]) for i in region]
        law, parts = int(label[region[0]]), []
        for pairs, points in _convex(law, bodies, differences, complex_.width):
            rows = [differences.row(*pair) for pair in pairs] + [domain.row(k) for k in domain.touched(points)]
            parts.append([differences.view(*pair) for pair in pairs])
            found.rows.append(np.array(rows, dtype=object).reshape(len(rows), complex_.dim + 1))
            found.law.append(law)
        _check_covered(complex_, region, parts)
        if len(found.law) > _MOST:
            raise Unfit(f"there are more than {_MOST} convex parts of regions")
    return found


def _check_covered(complex_: FloatComplex, region: list[int], parts: list[list[tuple[_Floats, float]]]) -> None:
    """Every piece of a region must be in its parts: its centre, and points beside its corners."""
    for i in region:
        centre = complex_.centres[i]
        points = np.vstack([centre, 0.999 * complex_.vertices[complex_.own[i]] + 0.001 * centre])
        inside = np.zeros(len(points), dtype=bool)
        for planes in parts:
            A = np.array([a for a, _ in planes]).reshape(-1, complex_.dim)
            inside |= (points @ A.T <= np.array([b for _, b in planes]) + complex_.width).all(axis=1)
        if not inside.all():
            raise Unfit(f"piece {i} would get another law")


def _follows(domain: Domain, differences: Differences, face: Face) -> bool:
    """Whether the first and the last law of a face agree all along the boundary there: its row is theirs then."""
    first, last, complex_ = face.laws[0], face.laws[-1], domain.complex
    if first == last:
        return True
    a, b = differences.view(first, last)
    for k in np.flatnonzero(np.abs(domain.A @ face.point - domain.b) <= 3 * complex_.width).tolist():
        side = 1 if a @ domain.A[k] > 0 else -1
        off = np.abs(side * a - domain.A[k]).max() * complex_.reach + abs(side * b - domain.b[k])
        if off <= 1e3 * complex_.width:
            row = differences.row(first, last) * side
            if (domain.exact.setdefault(k, row) == row).all():
                return True
    return False


def _convex(
    law: int, bodies: list[_Body], differences: Differences, width: float
) -> Iterator[tuple[list[tuple[int, int]], _Floats]]:
    """Cuts a region along its own hyperplanes; yields the rows of each part, as pairs of laws, and its vertices."""
    waiting: list[tuple[list[_Body], list[tuple[int, int]]]] = [(bodies, [])]
    while waiting:
        some, cuts = waiting.pop()
        for part in _connected(some, width):
            points = np.concatenate([body.points for body in part])
            cut, rows = _dividing(law, part, points, differences, width)
            if cut is None:
                pairs = dict.fromkeys([*cuts, *rows])
                touching = [pair for pair in pairs if _height(points, differences.view(*pair)).max() >= -20 * width]
                yield touching, points
                continue
            plane = differences.view(law, cut)
            for side, pair in ((1, (law, cut)), (-1, (cut, law))):
                half = [piece for body in part if (piece := _half(body, law, plane, side, differences, width))]
                if half:
                    waiting.append((half, [*cuts, pair]))


def _height(points: _Floats, plane: tuple[_Floats, float]) -> _Floats:
    return np.asarray(points @ plane[0] - plane[1])


def _dividing(
    law: int, part: list[_Body], points: _Floats, differences: Differences, width: float
) -> tuple[int | None, list[tuple[int, int]]]:
    """A law whose hyperplane has parts of the region on both sides, one that cuts the fewest bodies; or all rows."""
    others = list(dict.fromkeys(other for body in part for other in body.meets))
    if not others:
        return None, []
    planes = [differences.view(law, other) for other in others]
    height = points @ np.array([a for a, _ in planes]).T - np.array([b for _, b in planes])
    first = np.cumsum([0] + [len(body.points) for body in part[:-1]])
    high, low = np.maximum.reduceat(height, first), np.minimum.reduceat(height, first)
    through = ((high > 20 * width) & (low < -20 * width)).sum(axis=0)
    above, below = high.max(axis=0) > 20 * width, low.min(axis=0) < -20 * width
    balance = np.abs(np.sign(height).sum(axis=0))
    choices = [(int(through[k]), int(balance[k]), other) for k, other in enumerate(others) if above[k] and below[k]]
    rows = [(law, other) if below[k] else (other, law) for k, other in enumerate(others) if not (above[k] and below[k])]
    return (min(choices)[2] if choices else None), rows


def _half(
    body: _Body, law: int, plane: tuple[_Floats, float], side: int, differences: Differences, width: float
) -> _Body | None:
    """The part of a body on one side of a hyperplane."""
    height, n = side * _height(body.points, plane), body.A.shape[1]
    if height.max() <= 20 * width:
        return body
    if height.min() >= -20 * width:
        return None
    facets = (np.abs(body.points @ body.A.T - body.b) <= 20 * width).sum(axis=0) >= n
    A, b = np.vstack([body.A[facets], side * plane[0]]), np.append(body.b[facets], side * plane[1])
    points = _corners(A, b, 3 * width)
    if len(points) <= n:
        return None
    meets = {}
    for other, real in body.meets.items():
        here = points[np.abs(_height(points, differences.view(law, other))) <= 20 * width]
        if spans(here, 1e2 * width) or (not real and len(here) >= n - 1):
            meets[other] = real
    return _Body(A, b, points, meets)


def _corners(A: _Floats, b: _Floats, little: float) -> _Floats:
    """The corners of one float polytope, those closer than a little as one."""
    n = A.shape[1]
    sets = np.array(list(itertools.combinations(range(len(b)), n)))
    regular = np.abs(np.linalg.det(A[sets])) > 1e-9
    x = np.linalg.solve(A[sets[regular]], b[sets[regular]][..., None])[..., 0]
    x = x[(x @ A.T - b <= little).all(axis=1)]
    return x[np.unique(np.round(x / (10 * little)), axis=0, return_index=True)[1]]


def _connected(bodies: list[_Body], width: float) -> list[list[_Body]]:
    """The parts of a set of bodies that hang together through facets: by welded vertices, then pair by pair."""
    count, n = len(bodies), bodies[0].A.shape[1]
    if count == 1:
        return [bodies]
    points = np.concatenate([body.points for body in bodies])
    owner = np.repeat(np.arange(count), [len(body.points) for body in bodies])
    pairs = cKDTree(points).query_pairs(30 * width, output_type="ndarray")
    number = _components(pairs, len(points))
    incidence = coo_array((np.ones(len(points)), (owner, number)), shape=(count, number.max() + 1)).tocsr()
    shared = (incidence @ incidence.T).tocoo()
    links = [(i, j) for i, j, many in zip(*shared.coords, shared.data, strict=True) if i < j and many >= n]
    joined = [(i, j) for i, j in links if _touch(bodies[i], bodies[j], width)]
    group = _components(np.array(joined).reshape(-1, 2), count)
    if group.max() > 0:
        low = np.array([body.points.min(axis=0) for body in bodies]) - 30 * width
        high = np.array([body.points.max(axis=0) for body in bodies])
        for i in range(count):
            near = np.flatnonzero(((low[i] <= high[:i]) & (low[:i] <= high[i])).all(axis=1))
            joined += [(i, int(j)) for j in near if group[i] != group[j] and _touch(bodies[i], bodies[int(j)], width)]
        group = _components(np.array(joined).reshape(-1, 2), count)
    return [[bodies[i] for i in np.flatnonzero(group == k)] for k in range(int(group.max()) + 1)]


def _components(pairs: _Ints, count: int) -> _Ints:
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1])


def _touch(one: _Body, two: _Body, width: float) -> bool:
    """Whether two bodies share a part of a facet: the vertices of either in the other span a hyperplane."""
    inside = [
        body.points[(body.points @ other.A.T - other.b <= 30 * width).all(axis=1)]
        for body, other in ((one, two), (two, one))
    ]
    return spans(np.vstack(inside), 1e3 * width)


def cell_polyhedra(cells: Cells, dim: int) -> Polyhedra:
    """The cells as polyhedra, with a float view of a like size for all rows."""
    rows = primitive(np.concatenate([*cells.rows, np.zeros((0, dim + 1), dtype=object)]))
    scale = np.abs(rows[:, :-1]).max(axis=1, initial=1)
    view = np.asarray(rows / scale[:, None], dtype=np.float64)
    start = np.cumsum([0] + [len(part) for part in cells.rows]).astype(np.int64)
    return Polyhedra(view[:, :-1].copy(), view[:, -1].copy(), start, rows)
