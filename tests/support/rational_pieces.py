"""Pieces in rationals, for tests: taken apart, cut up further, put together, and random points of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cpwl import CPWL
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe

__all__ = [
    "PieceData",
    "along",
    "cut_up",
    "cuts",
    "fan",
    "from_data",
    "piece_data",
    "points_in_pieces",
    "polygon_corners",
    "random_maxmin",
    "rings",
    "vertices_of",
    "with_noise",
]


@dataclass(frozen=True, slots=True)
class PieceData:
    """A piece in rationals: rows ``(a, b)`` for ``a.x <= b``, and a law ``(gradient, offset)`` for each output."""

    rows: tuple[tuple[Fraction, ...], ...]
    laws: tuple[tuple[Fraction, ...], ...]


def piece_data(p: CPWL) -> list[PieceData]:
    """The pieces of a function in rationals, as half-spaces even where a table is behind them."""
    rows, start, laws = p.polyhedra.integer(), p.polyhedra.start, p.laws.integer()
    return [
        PieceData(
            tuple(tuple(Fraction(v) for v in row) for row in rows[start[i] : start[i + 1]]),
            tuple(tuple(Fraction(v, law[-1]) for v in law[:-1]) for law in laws[i]),
        )
        for i in range(p.num_pieces)
    ]


def from_data(pieces: list[PieceData], **options: Any) -> CPWL:
    """The function with those pieces."""
    return CPWL.from_pieces(
        [[row[:-1] for row in piece.rows] for piece in pieces],
        [[row[-1] for row in piece.rows] for piece in pieces],
        [[law[:-1] for law in piece.laws] for piece in pieces],
        [[law[-1] for law in piece.laws] for piece in pieces],
        **options,
    )


def inner_point(piece: PieceData) -> list[Fraction]:
    """A rational point inside a piece."""
    dim = len(piece.laws[0]) - 1
    body = Polyhedron.from_rows([row[:-1] for row in piece.rows], [row[-1] for row in piece.rows], dim=dim)
    inside = Probe(0.0).interior(body)
    assert inside is not None
    return list(inside)


def cut_up(p: CPWL, normals: list[list[int]]) -> CPWL:
    """The same function with more pieces: for each normal the piece whose turn it is, is cut through its middle."""
    pieces = piece_data(p)
    for turn, normal in enumerate(normals):
        piece = pieces.pop((7 * turn) % len(pieces))
        if not any(normal):
            pieces.append(piece)
            continue
        # Simple numbers keep what is computed from the cut short; the point stays inside whatever is cut off.
        x = rounded_inside(piece, inner_point(piece))
        row = (*map(Fraction, normal), sum((a * v for a, v in zip(normal, x, strict=True)), Fraction(0)))
        other = tuple(-v for v in row)
        pieces += [PieceData((*piece.rows, row), piece.laws), PieceData((*piece.rows, other), piece.laws)]
    return from_data(pieces)


def rounded_inside(piece: PieceData, x: list[Fraction]) -> list[Fraction]:
    """A point with small denominators strictly inside the piece, near the point given."""
    for digits in (1, 3, 7, 30, 210, 10**4, 10**7, 10**12):
        near = [Fraction(round(v * digits), digits) for v in x]
        if all(sum(a * v for a, v in zip(row, near, strict=False)) < row[-1] for row in piece.rows):
            return near
    return x


def points_in_pieces(p: CPWL, count: int, seed: int) -> list[tuple[int, list[Fraction]]]:
    """Random rational points of every piece, its boundary included: pairs (piece, point).

    From a point inside go some way, at most to the boundary, in a random direction.
    """
    rng = np.random.default_rng(seed)
    found = []
    for i, piece in enumerate(piece_data(p)):
        inside = inner_point(piece)
        found.append((i, inside))
        for k in range(count):
            toward = [Fraction(int(v)) for v in rng.integers(-9, 10, size=p.dim)]
            length = first_row(piece, inside, toward)
            share = Fraction(1) if k % 3 == 0 else Fraction(int(rng.integers(1, 20)), 20)
            step = share * (Fraction(int(rng.integers(1, 1000))) if length is None else length)
            found.append((i, [x + step * v for x, v in zip(inside, toward, strict=True)]))
    return found


def first_row(piece: PieceData, x: list[Fraction], toward: list[Fraction]) -> Fraction | None:
    """How far one can go from a point of the piece in that direction; None for ever."""
    lengths = []
    for row in piece.rows:
        speed = sum(a * v for a, v in zip(row, toward, strict=False))
        if speed > 0:
            lengths.append((row[-1] - sum(a * v for a, v in zip(row, x, strict=False))) / speed)
    return min(lengths, default=None)


def polygon_corners(rows: Any) -> list[tuple[Fraction, Fraction]]:
    """The corners of a polygon ``a x + b y <= c``, by trying all pairs of rows."""
    corners = []
    for (a, b, c), (d, e, f) in itertools.combinations(rows, 2):
        det = a * e - b * d
        if det:
            x, y = Fraction(c * e - b * f, det), Fraction(a * f - c * d, det)
            if all(r[0] * x + r[1] * y <= r[2] for r in rows):
                corners.append((x, y))
    return list(dict.fromkeys(corners))


def vertices_of(p: CPWL) -> list[list[Fraction]]:
    """The corners of all pieces, for tables, intervals and polygons; otherwise none."""
    if p.mesh is not None:
        return [[Fraction(v, c[-1]) for v in c[:-1]] for c in p.mesh.corners[np.unique(p.mesh.simplices)]]
    pieces = piece_data(p)
    if p.dim == 1:
        return [[v] for v in sorted({row[1] / row[0] for piece in pieces for row in piece.rows})]
    if p.dim == 2:
        return [list(x) for x in dict.fromkeys(x for piece in pieces for x in polygon_corners(piece.rows))]
    return []


def along(direction: list[Any], knots: list[Any], slopes: list[Any], more: list[Any] | None = None) -> CPWL:
    """A function of ``direction . x`` with slopes between knots, 0 at the first knot; `more` are further rows."""
    d, knots, slopes = list(map(Fraction, direction)), list(map(Fraction, knots)), list(map(Fraction, slopes))
    value, pieces = Fraction(0), []
    for i, slope in enumerate(slopes):
        start = knots[max(i - 1, 0)]
        value += slopes[i - 1] * (knots[i - 1] - knots[i - 2]) if i > 1 else 0
        rows = [] if i == len(knots) else [(*d, knots[i])]
        rows += [] if i == 0 else [(*(-v for v in d), -knots[i - 1])]
        rows += [tuple(map(Fraction, (*a, c))) for a, c in more or []]
        pieces.append(PieceData(tuple(rows), ((*(slope * v for v in d), value - slope * start),)))
    return from_data(pieces)


def fan(rays: list[tuple[int, int]], heights: list[Any]) -> CPWL:
    """The function that is linear between neighbouring rays, with the given values at them; rays turn left."""
    z = list(map(Fraction, heights))
    A, laws = [], []
    for i in range(len(rays)):
        (a, b), (c, d) = rays[i], rays[(i + 1) % len(rays)]
        det, u, v = Fraction(a * d - b * c), z[i], z[(i + 1) % len(rays)]
        A.append([[b, -a], [-d, c]])
        laws.append([(u * d - v * b) / det, (v * a - u * c) / det])
    return CPWL.from_pieces(A, [[0, 0]] * len(rays), laws, [0] * len(rays))


def rings(radii: list[Any], values: list[Any], *, bounded: bool) -> CPWL:
    """A function of ``max(|x|, |y|)`` through the values at 0 and at the radii; the inner square is four triangles."""
    r, z = [Fraction(0), *map(Fraction, radii)], list(map(Fraction, values))
    A, b, laws, offset = [], [], [], []
    for k in range(len(r) if not bounded else len(r) - 1):
        j = min(k, len(r) - 2)
        slope = (z[j + 1] - z[j]) / (r[j + 1] - r[j])
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            sides = [[-x + y, -y + x], [-x - y, -y - x]]
            A.append([*sides, [-x, -y], *([[x, y]] if k < len(r) - 1 else [])])
            b.append([0, 0, -r[k], *([r[k + 1]] if k < len(r) - 1 else [])])
            laws.append([slope * x, slope * y])
            offset.append(z[j] - slope * r[j])
    return CPWL.from_pieces(A, b, laws, offset)


def random_maxmin(dim: int, components: int, rows: int, length: int, seed: int) -> CPWL:
    """A max-min expression of small integers."""
    rng = np.random.default_rng(seed)
    f = rng.integers(-4, 5, (components, dim + 1)).tolist()
    return CPWL.from_maxmin(f, [rng.permutation(components)[:length].tolist() for _ in range(rows)])


def cuts(dim: int, count: int, seed: int) -> list[list[int]]:
    """Normals to cut along."""
    normals: list[list[int]] = np.random.default_rng(seed).integers(-3, 4, (count, dim)).tolist()
    return normals


def with_noise(p: CPWL, size: float, seed: int) -> CPWL:
    """The function with every number of its pieces and laws off by about `size`, relative."""
    rng = np.random.default_rng(seed)

    def off(a: Any) -> Any:
        return a * (1 + size * rng.standard_normal(a.shape))

    return CPWL.from_pieces(
        [off(body.A) for body in p.polyhedra],
        [off(body.b) for body in p.polyhedra],
        off(p.laws.gradient),
        off(p.laws.offset),
    )
