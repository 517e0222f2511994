"""Exact convex pieces for exact laws on a float complex: every facet is where two laws are equal.

A region of one law is bounded by the hyperplanes where that law meets its neighbours, and by the domain. Where it is
not convex it is cut along these hyperplanes, so that every row is exact; no bend is added.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.sparse import coo_array

from cpwl.errors import CpwlWarning
from cpwl.exact.integers import integer_rows, linked
from cpwl.exact.sparse import Union
from cpwl.function.make import parts_of_simplices
from cpwl.function.parts import Laws, Parts
from cpwl.function.snap.complex import Contact, Face, FloatComplex, Unfit, spans
from cpwl.function.snap.short import independent, onto
from cpwl.geometry.bodies import pulled_face
from cpwl.geometry.polyhedra import Polyhedron

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]
# Regions of one law, cut into convex parts along the hyperplanes where the law meets others: in floats, a proposal.
#
# Every comparison allows for the widths of the points compared, and for how far the exact hyperplane is from the facets
# that it stands for.


# The convex domain of an exact function near float data: exact rows, pushed out as far as the data reaches.
#
# So it holds all of the data, or, where that would cost too much, the welded corners: the tip of a sliver may stick out
# much farther than all else, and a row that reaches it stretches all pieces at the row. Where a domain was asserted it
# is kept as it is. Rows of simple numbers can be taken as they were meant instead: hyperplanes that meet on such a row
# then do so exactly, and the data sticks out by its noise.


_SMALL = 64  # the largest denominator of a simple number

_SKEW = 1e-6  # rows that are nearer to dependent count once


class Domain:
    """The rows of the boundary of a complex, exactly; those of the box that clipped it are not `real`."""

    def __init__(
        self, complex_: FloatComplex, asserted: Polyhedron | None, *, tight: bool = False, meant: bool = False
    ) -> None:
        self.complex = complex_
        self.slack = 10 * complex_.noise if meant else 0.0
        self.holds = complex_.vertices if tight else complex_.corners
        self.A, self.b = complex_.A[complex_.boundary], complex_.b[complex_.boundary]
        self.exact: dict[int, NDArray[np.object_]] = {} if asserted is None else self._given(asserted)
        self.real = [k for k in range(len(self.b)) if not self._is_box(k)]

    def _given(self, asserted: Polyhedron) -> dict[int, NDArray[np.object_]]:
        """The rows of the domain that was asserted, by the float rows that they are near."""
        length = np.linalg.norm(asserted.A, axis=1)
        view = np.column_stack([asserted.A, asserted.b / self.complex.reach]) / length[:, None]
        found = {}
        for k, row in enumerate(np.column_stack([self.A, self.b / self.complex.reach])):
            near = np.abs(view - row).max(axis=1)
            if near.min(initial=np.inf) <= 1e3 * self.complex.tol:
                found[k] = asserted.integer()[int(np.argmin(near))]
        return found

    def _is_box(self, k: int) -> bool:
        box = self.complex.box
        if box is None:
            return False
        j = int(np.argmax(np.abs(self.A[k])))
        side = box[j if self.A[k, j] > 0 else self.complex.dim + j]
        return bool(abs(abs(self.A[k, j]) - 1) < 1e-12 and abs(self.b[k] - side) < 1e-9 * abs(side))

    def touched(self, points: _Floats, widths: _Floats) -> list[int]:
        """The real rows that a part with these vertices touches."""
        near = np.flatnonzero((np.abs(points @ self.A.T - self.b) <= 20 * widths[:, None]).any(axis=0))
        return [k for k in self.real if k in near]

    def row(self, k: int) -> NDArray[np.object_]:
        """Row number `k` as integers ``(a, b)``."""
        if k not in self.exact:
            given = [float(x) for x in (*self.A[k], self.b[k])]
            steepest = max(given[:-1], key=abs)
            meant = [_simple(x / abs(steepest), self.slack) for x in given] if self.slack else []
            numbers = [_simple(x, 0.0) for x in given]
            numbers[-1] += Fraction(self._excess(numbers))
            is_simple = len(meant) > 0 and all(x.denominator <= _SMALL for x in meant)
            self.exact[k] = whole_row(meant if is_simple else numbers)
        return self.exact[k]

    def _excess(self, numbers: list[Fraction]) -> float:
        """How far the data reaches beyond a row, and a little more."""
        row = np.array(numbers, dtype=np.float64)
        beyond = (self.holds @ row[:-1] - row[-1]).max()
        # No farther: all pieces at this row are stretched by that, and steep ones change most.
        return float(1.01 * max(beyond, 0.0) + 1e-15 * self.complex.reach)

    def vertices(self) -> NDArray[np.object_]:
        """The vertices of the complex, those on the boundary moved exactly onto its rows."""
        points = np.array([[Fraction(x) for x in v] for v in self.complex.vertices.tolist()], dtype=object)
        for v in np.flatnonzero(self.complex.on_boundary[:, self.real].any(axis=1)).tolist():
            rows = [k for k in self.real if self.complex.on_boundary[v, k]]
            chosen = [rows[k] for k in independent(self.A[rows], _SKEW)]
            points[v] = onto(points[v], self.A[chosen], [self.row(k).tolist() for k in chosen])
        return points


def whole_row(numbers: list[Fraction]) -> NDArray[np.object_]:
    """Integers positively proportional to some numbers."""
    row = np.array([numbers], dtype=object)
    return np.asarray(integer_rows(row.astype(np.float64), row)[0])


def _simple(x: float, slack: float) -> Fraction:
    """A number with a small denominator if the float is next to it; else the float."""
    near = Fraction(x).limit_denominator(_SMALL)
    little = Fraction(max(1e-14, slack)) * max(Fraction(1), abs(near))
    return near if abs(near - Fraction(x)) <= little else Fraction(x)


_Pair = tuple[int, int]


class Differences:
    """The hyperplanes where two exact laws are equal, as integer rows and as float rows of length 1."""

    def __init__(self, laws: Mapping[int, Sequence[Fraction]] | Sequence[Sequence[Fraction]]) -> None:
        self.laws = laws
        self._rows: dict[_Pair, NDArray[np.object_]] = {}
        self._views: dict[_Pair, tuple[_Floats, float]] = {}

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
class Body:
    """A convex part of a region: float rows, vertices, and the laws that it meets (False: only outside)."""

    A: _Floats
    b: _Floats
    points: _Floats
    widths: _Floats
    meets: dict[int, bool]


class Cutting:
    """Cuts regions along hyperplanes between exact laws."""

    def __init__(
        self, complex_: FloatComplex, label: _Ints, differences: Differences, contacts: Sequence[Contact]
    ) -> None:
        self.complex, self.differences = complex_, differences
        self._off: dict[_Pair, float] = {}
        for contact in contacts:
            a, b = sorted((int(label[contact.piece]), int(label[contact.other])))
            if a != b:
                cell = complex_.cells[contact.piece][complex_.on[contact.piece][:, contact.row]]
                both = cell[np.isin(cell, complex_.cells[contact.other])]
                points = complex_.vertices[both]
                normal, level = differences.view(a, b)
                off = (np.abs(points @ normal - level) / complex_.size(points)).max(initial=0.0)
                self._off[a, b] = max(self._off.get((a, b), 0.0), float(off))

    def heights(self, points: _Floats, widths: _Floats, a: int, b: int) -> _Floats:
        """How far points are beyond ``f_a <= f_b``, in units of what may as well be 0."""
        normal, level = self.differences.view(a, b)
        slack = 20 * widths + 3 * self._off.get((min(a, b), max(a, b)), 0.0) * self.complex.size(points)
        return np.asarray((points @ normal - level) / slack)

    def convex(self, law: int, bodies: list[Body]) -> Iterator[tuple[list[_Pair], _Floats, _Floats]]:
        """Cuts a region along its own hyperplanes; yields each part's rows, as pairs of laws, and its vertices."""
        waiting: list[tuple[list[Body], list[_Pair]]] = [(bodies, [])]
        while waiting:
            some, cuts = waiting.pop()
            for part in _connected(some):
                points = np.concatenate([body.points for body in part])
                widths = np.concatenate([body.widths for body in part])
                cut, rows = self._dividing(law, part, points, widths)
                if cut is None:
                    pairs = dict.fromkeys([*cuts, *rows])
                    yield [pair for pair in pairs if self.heights(points, widths, *pair).max() >= -1], points, widths
                    continue
                for pair in ((law, cut), (cut, law)):
                    half = [piece for body in part if (piece := self._half(body, law, pair)) is not None]
                    if half:
                        waiting.append((half, [*cuts, pair]))

    def _dividing(self, law: int, part: list[Body], points: _Floats, widths: _Floats) -> tuple[int | None, list[_Pair]]:
        """A law whose hyperplane has parts of the region on both sides, and cuts the fewest bodies; or all rows."""
        others = list(dict.fromkeys(other for body in part for other in body.meets))
        if not others:
            return None, []
        height = np.stack([self.heights(points, widths, law, other) for other in others], axis=1)
        first = np.cumsum([0] + [len(body.points) for body in part[:-1]])
        high, low = np.maximum.reduceat(height, first), np.minimum.reduceat(height, first)
        through = ((high > 1) & (low < -1)).sum(axis=0)
        above, below = high.max(axis=0) > 1, low.min(axis=0) < -1
        balance = np.abs(np.sign(height).sum(axis=0))
        choices = [(int(through[k]), int(balance[k]), other) for k, other in enumerate(others) if above[k] and below[k]]
        rows = [
            (law, other) if below[k] else (other, law) for k, other in enumerate(others) if not (above[k] and below[k])
        ]
        return (min(choices)[2] if choices else None), rows

    def _half(self, body: Body, law: int, pair: _Pair) -> Body | None:
        """The part of a body where the first law of a pair is at most the second."""
        height, n = self.heights(body.points, body.widths, *pair), body.A.shape[1]
        if height.max() <= 1:
            return body
        if height.min() >= -1:
            return None
        normal, level = self.differences.view(*pair)
        facets = (np.abs(body.points @ body.A.T - body.b) <= 20 * body.widths[:, None]).sum(axis=0) >= n
        A, b = np.vstack([body.A[facets], normal]), np.append(body.b[facets], level)
        points, widths = self._corners(A, b)
        if len(points) <= n:
            return None
        meets = {}
        for other, real in body.meets.items():
            here = np.abs(self.heights(points, widths, law, other)) <= 1
            if (here.any() and spans(points[here], widths[here])) or (not real and here.sum() >= n - 1):
                meets[other] = real
        return Body(A, b, points, widths, meets)

    def _corners(self, A: _Floats, b: _Floats) -> tuple[_Floats, _Floats]:
        """The corners of one float polytope, those that may be one as one, and their widths."""
        n = A.shape[1]
        sets = np.array(list(itertools.combinations(range(len(b)), n)))
        sets = sets[np.abs(np.linalg.det(A[sets])) > 1e-9]
        inverse = np.linalg.inv(A[sets])
        x = (inverse @ b[sets][..., None])[..., 0]
        widths = self.complex.width_of(x, np.abs(inverse).sum(axis=2).max(axis=1))
        inside = (x @ A.T - b <= 3 * widths[:, None]).all(axis=1)
        x, widths = x[inside], widths[inside]
        order = np.argsort(widths, kind="stable")
        x, widths = x[order], widths[order]
        near = np.abs(x[:, None] - x[None]).max(axis=2) <= 5 * (widths[:, None] + widths[None])
        kept = ~np.tril(near, -1).any(axis=1)
        return x[kept], widths[kept]


def _connected(bodies: list[Body]) -> list[list[Body]]:
    """The parts of a set of bodies that hang together through facets: by welded vertices, then pair by pair."""
    count, n = len(bodies), bodies[0].A.shape[1]
    if count == 1:
        return [bodies]
    points = np.concatenate([body.points for body in bodies])
    width = 30 * max(float(body.widths.max()) for body in bodies)
    owner = np.repeat(np.arange(count), [len(body.points) for body in bodies])
    pairs = scipy.spatial.cKDTree(points).query_pairs(width, output_type="ndarray")
    number = linked(pairs, len(points))
    incidence = coo_array((np.ones(len(points)), (owner, number)), shape=(count, number.max() + 1)).tocsr()
    shared = (incidence @ incidence.T).tocoo()
    links = [(int(i), int(j)) for i, j, many in zip(*shared.coords, shared.data, strict=True) if i < j and many >= n]
    group = Union[int]()
    _join(group, bodies, links)
    if any(group.find(i) != group.find(0) for i in range(count)):
        low = np.array([body.points.min(axis=0) for body in bodies]) - width
        high = np.array([body.points.max(axis=0) for body in bodies])
        for i in range(count):
            near = np.flatnonzero(((low[i] <= high[:i]) & (low[:i] <= high[i])).all(axis=1))
            _join(group, bodies, [(i, j) for j in near.tolist()])
    parts: dict[int, list[Body]] = {}
    for i, body in enumerate(bodies):
        parts.setdefault(group.find(i)[0], []).append(body)
    return list(parts.values())


def _join(group: Union[int], bodies: list[Body], links: list[_Pair]) -> None:
    """Joins the groups of bodies that touch; those that hang together already are not looked at."""
    for i, j in links:
        if group.find(i) != group.find(j) and _touch(bodies[i], bodies[j]):
            group.join(i, j)


def _touch(one: Body, two: Body) -> bool:
    """Whether two bodies share a part of a facet: the vertices of either in the other span a hyperplane."""
    points, widths = [], []
    for body, other in ((one, two), (two, one)):
        inside = (body.points @ other.A.T - other.b <= 30 * body.widths[:, None]).all(axis=1)
        points.append(body.points[inside])
        widths.append(body.widths[inside])
    found = np.concatenate(widths)
    return len(found) > 0 and spans(np.vstack(points), found, 100.0)


_MOST = 20_000  # cells


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Convex pieces with integer rows ``(a, b)``, and the law of each."""

    rows: list[NDArray[np.object_]]
    law: list[int]


def exact_cells(
    domain: Domain,
    label: _Ints,
    laws: Mapping[int, Sequence[Fraction]] | Sequence[Sequence[Fraction]],
    faces: Sequence[Face],
    contacts: Sequence[Contact],
    regions: Sequence[list[int]],
) -> Cells:
    """The exact pieces of some regions, within a domain, for all contacts and faces that they have."""
    complex_, differences = domain.complex, Differences(laws)
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
    found, cutting = Cells([], []), Cutting(complex_, label, differences, contacts)
    for region in regions:
        bodies = [_body(complex_, i, meets[i]) for i in region]
        law, parts = int(label[region[0]]), []
        for pairs, points, widths in cutting.convex(law, bodies):
            rows = [differences.row(*pair) for pair in pairs] + [domain.row(k) for k in domain.touched(points, widths)]
            parts.append(pairs)
            found.rows.append(np.array(rows, dtype=object).reshape(len(rows), complex_.dim + 1))
            found.law.append(law)
        _check_covered(cutting, region, parts)
        if len(found.law) > _MOST:
            raise Unfit(f"there are more than {_MOST} convex parts of regions")
    return found


def _body(complex_: FloatComplex, i: int, meets: dict[int, bool]) -> Body:
    cell = complex_.cells[i]
    return Body(*complex_.rows(i), complex_.vertices[cell], complex_.widths[cell], meets)


def _check_covered(cutting: Cutting, region: list[int], parts: list[list[tuple[int, int]]]) -> None:
    """Every piece of a region must be in its parts: its centre, and points beside its corners."""
    complex_, count = cutting.complex, [len(cutting.complex.own[i]) for i in region]
    owner, corner = np.repeat(region, count), np.concatenate([complex_.own[i] for i in region])
    beside = 0.999 * complex_.vertices[corner] + 0.001 * complex_.centres[owner]
    points = np.vstack([complex_.centres[region], beside])
    least = [complex_.widths[complex_.own[i]].min() for i in region]
    widths = np.concatenate([least, complex_.widths[corner]])
    every = dict.fromkeys(itertools.chain.from_iterable(parts))
    within = {pair: cutting.heights(points, widths, *pair) <= 1 for pair in every}
    inside = np.zeros(len(points), dtype=bool)
    for pairs in parts:
        inside |= np.logical_and.reduce([within[pair] for pair in pairs]) if pairs else True
    if not inside.all():
        raise Unfit(f"piece {np.concatenate([region, owner])[np.argmin(inside)]} would get another law")


def _follows(domain: Domain, differences: Differences, face: Face) -> bool:
    """Whether the first and the last law of a face agree all along the boundary there: its row is theirs then."""
    first, last, complex_ = face.laws[0], face.laws[-1], domain.complex
    if first == last:
        return True
    a, b = differences.view(first, last)
    width = float(complex_.widths[list(face.vertices)].max())
    for k in np.flatnonzero(np.abs(domain.A @ face.point - domain.b) <= 3 * width).tolist():
        side = 1 if a @ domain.A[k] > 0 else -1
        off = np.abs(side * a - domain.A[k]).max() * complex_.reach + abs(side * b - domain.b[k])
        if off <= 1e3 * width:
            row = differences.row(first, last) * side
            if (domain.exact.setdefault(k, row) == row).all():
                return True
    return False


# Simplices given by rounded half-spaces and laws, put together again from their welded corners.
#
# Around a corner of a triangulation there are more laws than can meet exactly by chance. But a triangulated table is
# exactly consistent whatever its numbers are: each corner takes the middle of what the laws around it say there.


def simplices_of(complex_: FloatComplex) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The corners of each piece, and the number of the piece, if all pieces are simplices.

    A simplex thinner than the noise has the welded corners that satisfy all its rows.
    """
    n = complex_.dim
    if complex_.box is not None:
        raise Unfit("a piece is unbounded")
    cells, pieces = [], []
    for i, own in enumerate(complex_.own):
        if len(own) <= n:
            A, b = complex_.rows(i)
            own = np.flatnonzero((complex_.vertices @ A.T - b <= complex_.widths[:, None]).all(axis=1))
            if len(own) <= n:
                continue
        if len(own) != n + 1:
            raise Unfit(f"piece {i} is not a simplex")
        cells.append(own)
        pieces.append(i)
    if not cells:
        raise Unfit("no piece has an interior")
    return np.array(cells), np.array(pieces)


def table(exact: NDArray[np.object_], laws: Laws, cells: NDArray[np.int64], pieces: NDArray[np.int64]) -> Parts:
    """The table on `exact` corners: at each the middle of what the laws of the pieces around say, as far from the
    least as from the largest."""
    vertices = exact.astype(np.float64)
    owner, corner = np.repeat(pieces, cells.shape[1]), cells.ravel()
    values = np.einsum("kmn,kn->km", laws.gradient[owner], vertices[corner]) + laws.offset[owner]
    used, number = np.unique(corner, return_inverse=True)
    low, high = (np.full((len(used), laws.outputs), side * np.inf) for side in (1, -1))
    np.minimum.at(low, number.ravel(), values)
    np.maximum.at(high, number.ravel(), values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CpwlWarning)  # of simplices without interior
        parts = parts_of_simplices(exact[used], number.reshape(cells.shape), low + (high - low) / 2)
    if len(parts.polyhedra) != len(cells):
        raise Unfit("some of the simplices have no interior")
    return parts


def pulled(complex_: FloatComplex) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every piece cut into simplices by pulling its first vertex, face by face: they meet if the pieces do."""
    n = complex_.dim
    if complex_.box is not None:
        raise Unfit("unbounded pieces are not triangulated")
    extra = sum(len(complex_.cells[i]) - len(complex_.own[i]) for i in complex_.solid)
    if extra and n > 2:
        raise Unfit(f"pieces do not meet face to face: {extra} corners lie in faces of others")
    cells: list[tuple[int, ...]] = []
    pieces: list[int] = []
    for i in complex_.solid:
        parts = _fan(complex_, i) if n == 2 else _pull(complex_, i)
        cells += parts
        pieces += [i] * len(parts)
    return np.array(cells), np.array(pieces)


def _fan(complex_: FloatComplex, i: int) -> list[tuple[int, ...]]:
    """Triangles of a polygon, with the corners of others on its sides: from the vertex that leaves the fattest."""
    cell = complex_.cells[i]
    around = complex_.vertices[cell] - complex_.centres[i]
    cell = cell[np.argsort(np.arctan2(around[:, 1], around[:, 0]))]
    points, count = complex_.vertices[cell], len(cell)
    best: tuple[float, list[tuple[int, ...]]] = (-np.inf, [])
    for s in range(count):
        ring = np.roll(np.arange(count), -s)
        one, two = points[ring[1:-1]] - points[s], points[ring[2:]] - points[s]
        area = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
        if area.min() > best[0]:
            best = (float(area.min()), [tuple(cell[[s, u, v]].tolist()) for u, v in pairwise(ring[1:])])
    return best[1]


def _pull(complex_: FloatComplex, i: int) -> list[tuple[int, ...]]:
    cell, on = complex_.cells[i], complex_.on[i]
    facets = [sum(1 << k for k in np.flatnonzero(own).tolist()) for own in on.T if own.sum() >= complex_.dim]
    return [tuple(cell[list(own)].tolist()) for own in pulled_face((1 << len(cell)) - 1, facets, complex_.dim)]
