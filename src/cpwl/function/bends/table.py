"""A function of two inputs as a face-to-face table of triangles on a bounded convex domain, with its lines and edges.

Exact data are integers: places ``(X, Y, W)`` for the point ``(X/W, Y/W)``, forms ``(a, b, c)`` for ``a x + b y + c``.
Their float views are in coordinates in which the domain is about the unit square, so that floats propose well anywhere.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import ConstructionError
from cpwl.exact.integers import determinant, homogeneous, number_rows, primitive, ratio_view, sides, sign, signs_at
from cpwl.exact.rational import fraction_array, to_float
from cpwl.function.bends.planar import with_edges_only
from cpwl.function.bends.profile import profile_of
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.first_error import row_twins
from cpwl.function.flags import spanned
from cpwl.function.form import facets
from cpwl.function.lineality import divided
from cpwl.function.parts import shared_facets
from cpwl.geometry.complex import complex_of
from cpwl.geometry.facets import Hyperplanes, facets_of, hyperplanes
from cpwl.geometry.polyhedra import Polyhedra, fact, ranges
from cpwl.geometry.probe import Probe

# Where a function bends: pairs of neighbouring pieces with the hyperplane between them.

_PAIRS = 1 << 22  # pairs of a row and a place that are compared at once: 100 MB


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Pieces `one` and `two` meet in a facet on the hyperplane ``a.x = b`` of a row; `one` has ``a.x <= b``.

    Every facet inside the domain is there at least once; a facet that several pieces share need not be there for
    each of them.
    """

    one: NDArray[np.int64]
    two: NDArray[np.int64]
    row: NDArray[np.object_]


@fact
def neighbours(p: CPWL) -> Neighbours:
    """Neighbours across facets: by corners for a face-to-face table, else by a point inside each facet. Exact data.

    >>> found = neighbours(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))
    >>> found.one, found.two, found.row
    (array([0]), array([1]), array([[1, 0]], dtype=object))
    """
    if p.known is not None and p.known.neighbours is not None:
        return _known_neighbours(p, p.known.neighbours)
    if p.mesh is None:
        return _facet_neighbours(p)
    facets, size = shared_facets(p.mesh.simplices), p.dim + 1
    again = np.delete(np.arange(len(facets.order)), facets.first)  # facets that another simplex had before
    one, two = facets.order[again - 1], facets.order[again]
    return Neighbours(one // size, two // size, p.polyhedra.integer()[one])


@fact
def bend_planes(p: CPWL) -> int:
    """The number of hyperplanes on which an exact function bends.

    >>> p = CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0], [1], [2]])
    >>> bend_planes(p)
    3
    """
    if p.dim == 1:  # from left to right, whatever the pieces are
        return len(profile_of(p).places)
    found, laws = neighbours(p), p.laws.integer()
    bent = found.row[(laws[found.one] != laws[found.two]).any(axis=(1, 2))]
    return len({max(tuple(row), tuple(-row)) for row in bent})


def _known_neighbours(p: CPWL, pairs: NDArray[np.int64]) -> Neighbours:
    """What the maker of the function knows; convex pieces share one facet at most, so each pair counts once."""
    first = np.unique(np.sort(pairs[:, :2], axis=1), axis=0, return_index=True)[1]
    one, two, row = pairs[np.sort(first)].T
    return Neighbours(one, two, primitive(p.polyhedra.integer()[row]))


def _facet_neighbours(p: CPWL) -> Neighbours:
    """Pieces whose rows are the same but for the sense of one are neighbours across it; other facets need a point."""
    small = divided(p).function
    stack = small.polyhedra
    planes = hyperplanes(stack, 0.0)
    twin = row_twins(stack, planes)
    paired = np.flatnonzero((twin >= 0) & (planes.side > 0))
    pairs = [np.stack([stack.owner[paired], twin[paired], planes.number[paired]], axis=1)]
    pairs.append(_across_other_facets(small, planes, twin))
    one, two, plane = np.unique(np.concatenate(pairs), axis=0).T
    # A hyperplane is one row, up to its sense, also with the coordinates that were left out.
    first = np.unique(planes.number, return_index=True)[1]
    rows = primitive(p.polyhedra.integer()[first]) * planes.side[first, None]
    return Neighbours(one, two, rows[plane])


def _across_other_facets(p: CPWL, planes: Hyperplanes, twin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows (piece on side 1, piece on side -1, hyperplane) for facets on rows without a twin.

    Two facets on the two sides of a hyperplane have the same place inside where pieces meet face to face.
    """
    row, place = _places_in_facets(p, planes, twin)
    owner, plane, side = p.polyhedra.owner[row], planes.number[row], planes.side[row]
    keys = list(zip(plane.tolist(), side.tolist(), map(tuple, place.tolist()), strict=True))
    found = dict(zip(keys, owner.tolist(), strict=True))
    other = np.array([found.get((h, -s, x), -1) for h, s, x in keys], dtype=np.int64)
    alone = np.flatnonzero(other < 0)
    lying = np.unique(np.stack([2 * planes.number + (planes.side > 0), p.polyhedra.owner]), axis=1)
    beyond = 2 * plane[alone] + (side[alone] < 0)
    first = np.searchsorted(lying[0], beyond).astype(np.int64)
    candidate, k = ranges(first, np.searchsorted(lying[0], beyond, side="right") - first)
    other[alone] = _holding(p.polyhedra, lying[1][candidate], place[alone], k)
    one, two = np.where(side > 0, owner, other), np.where(side > 0, other, owner)
    return np.stack([one, two, plane], axis=1)[other >= 0]


def _places_in_facets(
    p: CPWL, planes: Hyperplanes, twin: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """The rows without a twin that are facets, and a place inside each: by corners, or else by linear programs."""
    spans, start = spanned(p), p.polyhedra.start
    if not isinstance(spans, str):
        piece, own, place = facets(spans)
        row = start[piece] + own
        return row[twin[row] < 0], place[twin[row] < 0]
    stack, probe = p.polyhedra.exactly(), Probe(0.0)
    own_facets = (facets_of(stack, planes, i, probe) for i in np.unique(stack.owner[twin < 0]).tolist())
    found = [facet for own in own_facets for facet in own if twin[facet.row] < 0]
    points = np.array([facet.point for facet in found], dtype=object).reshape(len(found), p.dim)
    return np.array([facet.row for facet in found], dtype=np.int64), homogeneous(points)


def _holding(
    stack: Polyhedra, candidates: NDArray[np.int64], places: NDArray[np.object_], asked: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each place the first of its candidates that contains it, -1 if none does; each candidate is for one place."""
    found, length = np.full(len(places), -1, dtype=np.int64), np.diff(stack.start)[candidates]
    block = np.cumsum(length) // _PAIRS
    for some in reversed(np.split(np.arange(len(candidates)), np.flatnonzero(np.diff(block)) + 1)):
        row, k = ranges(stack.start[candidates[some]], length[some])
        inside = np.ones(len(some), dtype=bool)
        inside[k[sides(stack.integer(), places, row, asked[some][k]) > 0]] = False
        held = some[inside][::-1]
        found[asked[held]] = candidates[held]  # the first one comes last
    return found


Integers = NDArray[np.object_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Triangles that meet face to face, the values at their corners, and the lines on which they have edges."""

    places: Integers
    """``(V, 3)``: the corners."""
    triangles: NDArray[np.int64]
    """``(q, 3)``: corner numbers."""
    values: NDArray[np.object_]
    """``(V, m)``: rationals."""
    lines: Integers
    """``(L, 3)``: primitive integer forms, first slope positive."""
    scale: NDArray[np.object_]
    """``(L,)``: what a form is divided by, so that its larger slope is 1 in unit coordinates."""
    edge_line: dict[tuple[int, int], int]
    """The line of each edge, by its two corners in order."""
    edge_triangles: dict[tuple[int, int], tuple[int, ...]]
    """The one or two triangles at each edge."""
    boundary: tuple[int, ...]
    """The lines of the domain's edges, each once."""
    inward: tuple[int, ...]
    """For each of them the sign that its form has in the domain."""
    unit: Fraction
    """The length of a unit, a power of two."""
    points: Floats
    """``(V, 2)``: the corners in unit coordinates."""
    forms: Floats
    """``(L, 3)``: ``lines / scale`` in unit coordinates."""
    weights: Floats
    """``(q, 3, 3)``: the barycentric coordinates of each triangle, as forms in unit coordinates."""


@fact
def table_of(p: CPWL) -> Table:
    """The table of an exact function of two inputs; pieces are cut into triangles that meet face to face.

    >>> p = CPWL.from_grid([[0, 1], [0, 1, 2]], [[0, 0, 0], [0, 1, 2]])
    >>> table = table_of(p)
    >>> len(table.places), len(table.triangles), len(table.lines), len(table.boundary)
    (6, 4, 7, 4)
    """
    if p.mesh is not None:
        used, corner = np.unique(p.mesh.simplices, return_inverse=True)
        values = p.mesh.values if p.mesh.exact_values is None else p.mesh.exact_values
        first, number = number_rows(p.mesh.corners[used])
        heights = fraction_array(values[used])
        if (heights[first][number] != heights).any():
            raise ConstructionError("two points of the table coincide and have different values")
        table = _table(p.mesh.corners[used[first]], number[corner.reshape(-1, 3)], heights[first])
        if table is not None:
            return table
        p = replace(p, mesh=None)
    table = _table(*_triangulated(p))
    if table is None:
        raise ConstructionError("the pieces do not cover a bounded convex domain face to face: see `p.doctor()`")
    return table


def _triangulated(p: CPWL) -> tuple[Integers, NDArray[np.int64], NDArray[np.object_]]:
    """Pieces given by half-spaces, refined until they meet face to face, as fans of triangles."""
    p = with_edges_only(p)
    if (np.diff(p.polyhedra.start) < 3).any():
        raise ConstructionError("a table of triangles needs a bounded domain, and a piece is unbounded")
    complex_, piece = complex_of(p.polyhedra)
    if not complex_.is_bounded:
        raise ConstructionError("a table of triangles needs a bounded domain, and a piece is unbounded")
    places = complex_.generators
    laws = p.laws.integer()
    values = np.empty((len(places), p.outputs), dtype=object)
    triangles = []
    for cell, i in zip(complex_.faces[2].members, piece, strict=True):
        at = np.array(cell)
        top = laws[i][None, :, :-1] * places[at][:, None]
        values[at] = fraction_array(top.sum(axis=2)) / (places[at][:, -1:] * laws[i][None, :, -1])
        x = ratio_view(places[at, :2], places[at, 2:])
        around = at[np.argsort(np.arctan2(*(x - x.mean(axis=0)).T[::-1]), kind="stable")]
        triangles += [(around[0], around[k], around[k + 1]) for k in range(1, len(around) - 1)]
    return places, np.array(triangles, dtype=np.int64), values


def _table(places: Integers, triangles: NDArray[np.int64], values: NDArray[np.object_]) -> Table | None:
    """None if the triangles do not meet face to face."""
    area = determinant(places[triangles])
    if (area == 0).any():
        return None
    turned = sign(area) < 0
    triangles = triangles.copy()
    triangles[turned, 1], triangles[turned, 2] = triangles[turned, 2], triangles[turned, 1].copy()
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    directed = set()
    for t, (a, b, c) in enumerate(triangles.tolist()):
        for u, v in ((a, b), (b, c), (c, a)):
            found[(u, v) if u < v else (v, u)].append(t)
            directed.add((u, v))
    if len(directed) < 3 * len(triangles):  # two triangles on one side of an edge
        return None
    edges = np.array(list(found), dtype=np.int64)
    lines, number = _lines(places, edges)
    edge_line = {edge: int(k) for edge, k in zip(found, number, strict=True)}
    boundary = sorted({edge_line[edge] for edge, own in found.items() if len(own) == 1})
    sides = signs_at(lines[boundary], places)
    inward = [1 if (row >= 0).all() else -1 if (row <= 0).all() else 0 for row in sides]
    if 0 in inward:
        return None
    middle, size = _unit(places)
    points = to_float((fraction_array(places[:, :2]) / places[:, 2:] - middle) / size)
    scale, forms = _forms(lines, middle, size)
    return Table(
        places,
        triangles,
        values,
        lines,
        scale,
        edge_line,
        {edge: tuple(own) for edge, own in found.items()},
        tuple(boundary),
        tuple(inward),
        size,
        points,
        forms,
        _shares(points[triangles]),
    )


def _shares(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each triangle the affine functions that are 1 at one corner and 0 at the others, in floats."""
    try:
        inverse = np.linalg.inv(np.concatenate([corners, np.ones((len(corners), 3, 1))], axis=2))
    except np.linalg.LinAlgError:
        raise ConstructionError(
            "a triangle of this table is too thin for float64; give its coordinates as exact numbers"
        ) from None
    return inverse.transpose(0, 2, 1)


def _lines(places: Integers, edges: NDArray[np.int64]) -> tuple[Integers, NDArray[np.int64]]:
    """The distinct lines of edges, and the line of each edge."""
    one, two = places[edges[:, 0]], places[edges[:, 1]]
    rows = np.stack([one[:, i] * two[:, j] - one[:, j] * two[:, i] for i, j in ((1, 2), (2, 0), (0, 1))], axis=1)
    signs = sign(rows[:, :2])
    rows = primitive(rows) * np.where(signs[:, 0] != 0, signs[:, 0], signs[:, 1]).astype(object)[:, None]
    first, number = number_rows(rows)
    return rows[first], number


def _unit(places: Integers) -> tuple[NDArray[np.object_], Fraction]:
    """The middle of the domain, and a power of two that is about its size."""
    x = ratio_view(places[:, :2], places[:, 2:])
    low, high = x.min(axis=0), x.max(axis=0)
    exponent = math.frexp(float((high - low).max()))[1]
    return fraction_array((low + high) / 2), Fraction(2) ** exponent


def _forms(lines: Integers, middle: NDArray[np.object_], size: Fraction) -> tuple[NDArray[np.object_], Floats]:
    slope = np.abs(lines[:, :2]).max(axis=1)
    scale = np.array([int(s) * size for s in slope], dtype=object)
    exact = np.column_stack([lines[:, :2] * size, lines[:, :2] @ middle + lines[:, 2]]) / scale[:, None]
    return scale, to_float(exact)
