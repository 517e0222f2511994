"""Regions of one law, cut into convex parts along the hyperplanes where the law meets others: in floats, a proposal.

Every comparison allows for the widths of the points compared, and for how far the exact hyperplane is from the facets
that it stands for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from cpwl.function.snap.complex import FloatComplex, Unfit
from cpwl.function.snap.contacts import Contact, spans
from cpwl.function.snap.domain import whole_row

__all__ = ["Body", "Cutting", "Differences"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
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
    pairs = cKDTree(points).query_pairs(width, output_type="ndarray")
    number = _components(pairs, len(points))
    incidence = coo_array((np.ones(len(points)), (owner, number)), shape=(count, number.max() + 1)).tocsr()
    shared = (incidence @ incidence.T).tocoo()
    links = [(int(i), int(j)) for i, j, many in zip(*shared.coords, shared.data, strict=True) if i < j and many >= n]
    group = list(range(count))
    _join(group, bodies, links)
    if any(_root(group, i) != _root(group, 0) for i in range(count)):
        low = np.array([body.points.min(axis=0) for body in bodies]) - width
        high = np.array([body.points.max(axis=0) for body in bodies])
        for i in range(count):
            near = np.flatnonzero(((low[i] <= high[:i]) & (low[:i] <= high[i])).all(axis=1))
            _join(group, bodies, [(i, j) for j in near.tolist()])
    parts: dict[int, list[Body]] = {}
    for i, body in enumerate(bodies):
        parts.setdefault(_root(group, i), []).append(body)
    return list(parts.values())


def _root(group: list[int], i: int) -> int:
    while group[i] != i:
        group[i] = group[group[i]]
        i = group[i]
    return i


def _join(group: list[int], bodies: list[Body], links: list[_Pair]) -> None:
    """Joins the groups of bodies that touch; those that hang together already are not looked at."""
    for i, j in links:
        one, two = _root(group, i), _root(group, j)
        if one != two and _touch(bodies[i], bodies[j]):
            group[one] = two


def _components(pairs: _Ints, count: int) -> _Ints:
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1])


def _touch(one: Body, two: Body) -> bool:
    """Whether two bodies share a part of a facet: the vertices of either in the other span a hyperplane."""
    points, widths = [], []
    for body, other in ((one, two), (two, one)):
        inside = (body.points @ other.A.T - other.b <= 30 * body.widths[:, None]).all(axis=1)
        points.append(body.points[inside])
        widths.append(body.widths[inside])
    found = np.concatenate(widths)
    return len(found) > 0 and spans(np.vstack(points), found, 100.0)
