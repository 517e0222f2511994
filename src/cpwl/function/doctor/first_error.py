"""Is something wrong with a function? Proofs without linear programs that nothing is, and the first error if they fail.

Pieces cut by whole hyperplanes by their twins, tables by their corners, exact data by flags, and what is left facet by
facet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.exact.integers import are_multiples, number_rows, sign, signs_at
from cpwl.function.answers import Finding, point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.flags import is_sound_by_flags
from cpwl.function.lineality import divided
from cpwl.function.parts import shared_facets
from cpwl.geometry.facets import Hyperplanes, hyperplanes
from cpwl.geometry.polyhedra import Polyhedra, fact, intervals, joined
from cpwl.geometry.probe import Probe

# Pieces cut by whole hyperplanes: all about them can be read off their rows, without a linear program.
#
# Two pieces are *twins* across a hyperplane if their rows are the same but for the sense of that one. Then they have
# the same facet there, whatever it is. If every row of every piece has a twin, except rows that all pieces have and
# that bound the domain, then the number of pieces over a point is the same on both sides of every hyperplane, so the
# same everywhere inside the domain, and it is 1 if it is 1 at one point. Neighbours are twins then, and if each pair
# agrees on its hyperplane, the function is continuous.


def row_twins(polyhedra: Polyhedra, planes: Hyperplanes) -> NDArray[np.int64]:
    """For each row the polyhedron whose rows are the same but for the sense of that one; -1 if there is none.

    >>> both = Polyhedra.from_lists([[[1, 0], [0, 1]], [[-1, 0], [0, 1]]], [[0, 0], [0, 0]])
    >>> row_twins(both, hyperplanes(both, 0.0))
    array([ 1, -1,  0, -1])
    """
    keys = list(zip(planes.number.tolist(), planes.side.tolist(), strict=True))
    pieces = [frozenset(keys[a:b]) for a, b in pairwise(polyhedra.start.tolist())]
    index = {piece: i for i, piece in enumerate(pieces)}
    owner = polyhedra.owner.tolist()
    return np.array(
        [index.get(pieces[i] - {(h, s)} | {(h, -s)}, -1) for i, (h, s) in zip(owner, keys, strict=True)],
        dtype=np.int64,
    )


def is_sound_by_twins(p: CPWL) -> bool:
    """Whether twins prove that the pieces of an exact function have interiors, cover its domain once, and agree.

    False says nothing: only that this proof does not apply.

    >>> quadrants = [[[s, 0], [0, t]] for s in (1, -1) for t in (1, -1)]
    >>> is_sound_by_twins(CPWL.from_pieces(quadrants, [[0, 0]] * 4, [[0, 0], [0, 1], [1, 0], [1, 1]], [0] * 4))
    True
    """
    if p.tol or p.num_pieces < 2:
        return False
    stack = p.polyhedra
    planes = hyperplanes(stack, 0.0)
    keys = np.stack([stack.owner, planes.number, planes.side], axis=1)
    if len(np.unique(keys[:, :2], axis=0)) < len(keys):
        return False  # a row that is there twice, or a piece on both sides of a hyperplane
    twin = row_twins(stack, planes)
    alone = keys[twin < 0]
    common, count = np.unique(alone[:, 1:], axis=0, return_counts=True)
    if (count != p.num_pieces).any() or not _is_whole_domain(p, common, planes):
        return False
    if len({frozenset(map(tuple, rows.tolist())) for rows in np.split(keys[:, 1:], stack.start[1:-1])}) < p.num_pieces:
        return False
    return _are_solid(stack, planes) and _is_alone(stack) and _twins_agree(p, planes, twin)


def _is_whole_domain(p: CPWL, common: NDArray[np.int64], planes: Hyperplanes) -> bool:
    """Whether the rows that all pieces share are those of the domain, if one was asserted."""
    if p.domain is None:
        return True
    if not len(p.domain.b) or not len(common):
        return len(p.domain.b) == len(common)
    # Hyperplanes are numbered in order of appearance: those of the pieces keep their numbers.
    both = hyperplanes(joined([p.polyhedra, p.domain.alone()]), 0.0)
    asserted = np.unique(np.stack([both.number, both.side], axis=1)[len(planes.number) :], axis=0)
    return asserted.shape == common.shape and bool((asserted == common).all())


def _are_solid(stack: Polyhedra, planes: Hyperplanes) -> bool:
    """Whether each has an interior: at once if its normals are independent."""
    rows, seen = stack.integer(), dict[tuple[int, ...], bool]()
    probe = Probe(0.0)
    for i, (a, b) in enumerate(pairwise(stack.start.tolist())):
        numbers = tuple(sorted(planes.number[a:b].tolist()))
        if numbers not in seen:
            normals = fmpz_mat(b - a, stack.dim, rows[a:b, :-1].ravel().tolist())
            seen[numbers] = b - a <= stack.dim and normals.rank() == b - a
        if not seen[numbers] and probe.interior(stack[i]) is None:
            return False
    return True


def _is_alone(stack: Polyhedra) -> bool:
    """Whether a point inside the first polyhedron is in no other."""
    inside = Probe(0.0).interior(stack[0])
    if inside is None:
        return False
    rows, below = stack.integer(), math.lcm(*(x.denominator for x in inside))
    place = np.array([int(x * below) for x in inside], dtype=object)
    outside = np.asarray(rows[:, :-1].dot(place) > rows[:, -1] * below, dtype=bool)
    beyond = np.zeros(len(stack), dtype=bool)
    beyond[stack.owner[outside]] = True
    return int((~beyond).sum()) == 1


def _twins_agree(p: CPWL, planes: Hyperplanes, twin: NDArray[np.int64]) -> bool:
    """Whether ``f_i - f_j`` is a multiple of the hyperplane between each pair of twins."""
    row = np.flatnonzero((twin >= 0) & (planes.side > 0))
    laws = p.laws.integer()
    f, g = laws[p.polyhedra.owner[row]], laws[twin[row]]
    difference = f[..., :-1] * g[..., -1:] - g[..., :-1] * f[..., -1:]
    a = p.polyhedra.integer()[row]
    return bool(are_multiples(difference, np.concatenate([a[:, :-1], -a[:, -1:]], axis=1)[:, None]).all())


# Functions of one variable: intervals that follow each other, in arrays.


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """The pieces of a function of one variable from left to right."""

    order: NDArray[np.int64]
    ends: NDArray[np.object_]
    """Where each but the last ends and the next begins: rows ``(numerator, denominator)``."""
    low: Fraction | None
    """Where the first begins; None if it does not."""
    high: Fraction | None


@fact
def in_order(p: CPWL) -> Line | None:
    """The pieces of an exact function in order, if each has an interior and ends where the next begins; else None.

    Floats propose the order, integers decide. No piece may have two rows on one side.

    >>> in_order(CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=2)).ends
    array([[0, 1],
           [1, 1]], dtype=object)
    """
    if p.tol or p.dim != 1:
        return None
    rows, owner = p.polyhedra.integer(), p.polyhedra.owner
    upper, lower = (_ends(rows, owner, p.num_pieces, side) for side in (1, -1))
    if upper is None or lower is None:
        return None
    order = np.lexsort((upper[:, 1] == 0, intervals(p.polyhedra)[0]))
    upper, lower = upper[order], lower[order]
    ends, begins = upper[:-1], lower[1:]
    if (ends[:, 1] == 0).any() or (begins[:, 1] == 0).any():
        return None  # two pieces without an end on one side
    bounded = (lower[:, 1] != 0) & (upper[:, 1] != 0)
    width = upper[bounded, 0] * lower[bounded, 1] - lower[bounded, 0] * upper[bounded, 1]
    if (width <= 0).any() or (ends[:, 0] * begins[:, 1] != begins[:, 0] * ends[:, 1]).any():
        return None
    return Line(order, ends, _place(lower[0]), _place(upper[-1]))


def _place(end: NDArray[np.object_]) -> Fraction | None:
    return None if end[1] == 0 else Fraction(*end)


def _ends(rows: NDArray[np.object_], owner: NDArray[np.int64], count: int, side: int) -> NDArray[np.object_] | None:
    """The right or left end of each piece, ``(numerator, denominator)``, (0, 0) for none; None if one has several."""
    here = np.flatnonzero(rows[:, 0] > 0 if side > 0 else rows[:, 0] < 0)
    piece = owner[here]  # in order
    if (piece[1:] == piece[:-1]).any():
        return None
    ends = np.zeros((count, 2), dtype=object)
    ends[piece] = rows[here, ::-1] if side > 0 else -rows[here, ::-1]
    return ends


# A triangulated table, from its corners alone and exactly.
#
# Let every facet belong to one simplex, or to two on its two sides, and let every facet that belongs to one only lie in
# a supporting hyperplane of all corners. Then the simplices cover the convex hull of the corners equally often
# everywhere (the number can change only across the boundary facets), so one point that is covered once settles it.


def examine_mesh(p: CPWL) -> list[Finding] | None:
    """Findings for a table whose simplices meet face to face; None says that facets must be examined instead."""
    mesh = p.mesh
    assert mesh is not None
    corner = number_rows(mesh.corners)[1][mesh.simplices]
    jump = _doubled_corner(p, corner)
    if jump is not None:
        return [jump]
    facets = shared_facets(corner)
    if (facets.count > 2).any():
        return None
    rows = p.polyhedra.integer()
    if not _on_opposite_sides(rows, mesh.corners, mesh.simplices, *facets.pairs()):
        return None
    used = np.unique(mesh.simplices)
    if not _supporting(p, rows, facets.alone(), used):
        return None
    return _covered_once(p, rows)


def _doubled_corner(p: CPWL, corner: NDArray[np.int64]) -> Finding | None:
    """Two points of the table at one place with different values, both in use."""
    mesh = p.mesh
    assert mesh is not None
    number, point = corner.ravel(), mesh.simplices.ravel()
    representative = np.full(number.max() + 1, -1, dtype=np.int64)
    representative[number[::-1]] = point[::-1]
    other = representative[number]
    values = mesh.values if mesh.exact_values is None else mesh.exact_values
    gap = (values[point] != values[other]).any(axis=1)
    if not gap.any():
        return None
    sizes = np.abs(mesh.values[point] - mesh.values[other]).max(axis=1)
    k = int(np.argmax(np.where(gap, sizes, -1.0)))
    a, b = int(other[k]), int(point[k])
    x = mesh.points[a]
    return Finding(
        "jump",
        "error",
        f"points {a} and {b} lie at the same place x = {point_text(x)} with different values "
        f"{point_text(mesh.values[a])} and {point_text(mesh.values[b])}: the function is not continuous there.",
        (int(k // corner.shape[1]),),
        x,
        float(sizes[k]),
    )


def _on_opposite_sides(
    rows: NDArray[np.object_],
    corners: NDArray[np.object_],
    simplices: NDArray[np.int64],
    one: NDArray[np.int64],
    two: NDArray[np.int64],
) -> bool:
    """Whether simplices that share a facet lie on its two sides: the far corner violates the facet's row."""
    size = simplices.shape[1]
    far = corners[simplices[two // size, two % size]]
    value = (rows[one][:, :-1] * far[:, :-1]).sum(axis=1) - rows[one][:, -1] * far[:, -1]
    return bool((sign(value) > 0).all())


def _supporting(p: CPWL, rows: NDArray[np.object_], boundary: NDArray[np.int64], used: NDArray[np.int64]) -> bool:
    """Whether no corner is beyond a boundary facet."""
    assert p.mesh is not None
    boundary = boundary[np.unique(p.polyhedra.A[boundary], axis=0, return_index=True)[1]]
    walls, corners = rows[boundary] * np.array([1] * p.dim + [-1], dtype=object), p.mesh.corners[used]
    return not any((signs_at(walls[k : k + 256], corners) > 0).any() for k in range(0, len(walls), 256))


def _covered_once(p: CPWL, rows: NDArray[np.object_]) -> list[Finding]:
    """The overlap of a table that covers its domain more than once, seen at one generic point."""
    mesh = p.mesh
    assert mesh is not None
    size = p.dim + 1
    corners = mesh.corners[mesh.simplices[0]]
    weight = np.array([2 * i * i + 97 for i in range(size)], dtype=object)  # a point inside, on no other face
    common = np.lcm.reduce(corners[:, -1])
    at = (corners * (weight * (common // corners[:, -1]))[:, None]).sum(axis=0)
    x = np.asarray(at[:-1] / at[-1], dtype=np.float64)
    gap = (p.polyhedra.A @ x - p.polyhedra.b).reshape(-1, size)
    near = np.flatnonzero((gap <= 1e-9 * (1 + np.abs(p.polyhedra.b).reshape(-1, size))).all(axis=1))
    own = rows.reshape(-1, size, size)[near]
    holds = near[((own[..., :-1] * at[:-1]).sum(axis=2) < own[..., -1] * at[-1]).all(axis=1)]
    if len(holds) < 2:
        return []
    i, j = int(holds[0]), int(holds[1])
    values = p.laws.gradient[[i, j]] @ x + p.laws.offset[[i, j]]
    return [
        Finding(
            "overlap",
            "error",
            f"pieces {i} and {j} overlap: x = {point_text(x)} is inside both, and they give "
            f"{point_text(values[0])} and {point_text(values[1])} there.",
            (i, j),
            x,
            float(np.abs(values[0] - values[1]).max()),
        )
    ]


@fact
def first_error(p: CPWL) -> Finding | None:
    """Something that is wrong with `p`, not the worst but the first to be found; None if nothing is wrong.

    A function whose maker has proved it complete is not examined again.
    """
    if p.known is not None and p.known.complete:
        return None
    if p.mesh is not None:
        findings = examine_mesh(p)
        if findings is not None:
            return findings[0] if findings else None
    small = divided(p)
    error = None if is_sound(small.function) else PieceDoctor(small.function, form=True).first_error()
    return error if error is None or small.is_whole else moved_to(error, small.lift)


def is_sound(p: CPWL) -> bool:
    """Whether one of the proofs without linear programs applies."""
    return _is_sound_in_order(p) or is_sound_by_twins(p) or is_sound_by_flags(p)


def _is_sound_in_order(p: CPWL) -> bool:
    """Whether intervals follow each other, and their laws agree where they meet."""
    line = in_order(p)
    if line is None:
        return False
    if p.domain is not None:
        rows = p.domain.integer()
        low, high = (_ends(rows, np.zeros(len(rows), dtype=np.int64), 1, side) for side in (-1, 1))
        if low is None or high is None or (_place(low[0]), _place(high[0])) != (line.low, line.high):
            return False
    laws, ends = p.laws.integer()[line.order], line.ends[:, None]
    one, two = laws[:-1], laws[1:]
    rise = two[..., :2] * one[..., 2:] - one[..., :2] * two[..., 2:]
    return not (rise * ends).sum(axis=-1).any()


def moved_to(finding: Finding, move: Callable[[NDArray[Any]], NDArray[Any]]) -> Finding:
    """The finding at the point of the data that is meant."""
    if finding.point is None:
        return finding
    point = move(finding.point)
    message = finding.message.replace(point_text(finding.point), point_text(point))
    return replace(finding, message=message, point=point)
