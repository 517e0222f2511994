"""Point location against brute force: inside, on boundaries, outside, with small pieces beside large ones."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay

from cpwl import CPWL
from cpwl.function.evaluate import find_pieces
from cpwl.geometry import locate as locate_module
from shallow import random_shallow
from support.functions import abs_sum, delaunay


def brute(p, x):
    """For each point the pieces that hold it, in rationals."""
    rows, owner = p.polyhedra.integer(), p.polyhedra.owner
    held = []
    for point in x:
        at = np.array([Fraction(float(v)) for v in point], dtype=object)
        outside = set(owner[np.asarray((rows[:, :-1] * at).sum(axis=1) > rows[:, -1], dtype=bool)].tolist())
        held.append(set(range(p.num_pieces)) - outside)
    return held


def uneven(seed=0):
    """Many tiny triangles in a corner of a square, and large ones elsewhere."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.random((80, 2)) * 1e-3, rng.random((5, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]])
    return CPWL.from_simplices(x, Delaunay(x).simplices, rng.standard_normal(len(x)))


TABLES = [delaunay(2, 60, 0), delaunay(3, 30, 1), uneven(), CPWL.from_grid([range(9), range(9)], np.eye(9))]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("p", TABLES)
@pytest.mark.parametrize("batch", [1, 1 << 15])
def test_points_are_found_where_they_are(p, batch, monkeypatch):
    """A piece that is found holds the point; where none is, none does. Few points and many take different grids."""
    monkeypatch.setattr(locate_module, "_BATCH", batch)
    rng = np.random.default_rng(2)
    low, high = p.mesh.points.min(axis=0), p.mesh.points.max(axis=0)
    x = low + (high - low) * rng.uniform(-0.1, 1.1, (200, p.dim))
    for piece, held in zip(find_pieces(p, x), brute(p, x), strict=True):
        assert piece in held if held else piece == -1


def by_rows(p):
    """The same pieces without their table, in floats with a tolerance."""
    rows = [slice(*p.polyhedra.start[i : i + 2]) for i in range(p.num_pieces)]
    A, b = [p.polyhedra.A[r] for r in rows], [p.polyhedra.b[r] for r in rows]
    return CPWL.from_pieces(A, b, p.laws.gradient[:, 0], p.laws.offset[:, 0])


PIECES = [
    by_rows(delaunay(2, 60, 0)),
    by_rows(uneven()),
    by_rows(delaunay(3, 30, 1)),
    random_shallow(2, 7, seed=1),
    random_shallow(3, 6, seed=2),
    random_shallow(4, 5, seed=3),
    CPWL.from_maxmin(
        [[2 * a, 2 * b, -a * a - b * b] for a in range(-3, 4) for b in (-2, 0, 3)], [[k] for k in range(21)]
    ),
]


@pytest.mark.parametrize("batch", [1, 1 << 15])
@pytest.mark.parametrize("p", PIECES)
def test_buckets_find_what_a_look_at_all_rows_finds(p, batch, monkeypatch):
    """Inside, on corners of the pieces, within rounding of them, outside, and far away where pieces are unbounded; in
    the grid for few points and in that for many."""
    monkeypatch.setattr(locate_module, "_BATCH", batch)
    coarse, fine = (locate_module._buckets(p.polyhedra, p.tol, cells) for cells in (0, locate_module._CELLS))
    assert coarse.size <= fine.size
    rng = np.random.default_rng(5)
    corners = p.polyhedra.extents().points
    size = np.abs(corners).max()
    near = np.concatenate([corners, corners + 1e-16 * size, corners * (1 + 1e-13), corners + 1e-6 * size])
    x = np.concatenate([near, *(rng.uniform(-s, s, (400, p.dim)) * size for s in (0.5, 1.5, 1e6))])
    all_rows = locate_module._locate_block(p.polyhedra, x, p.tol)
    np.testing.assert_array_equal(find_pieces(p, x) < 0, all_rows < 0)
    inside = all_rows >= 0
    law = p.laws.gradient[all_rows[inside], 0], p.laws.offset[all_rows[inside], 0]
    expected = (law[0] * x[inside]).sum(axis=1) + law[1]
    np.testing.assert_allclose(p(x[inside])[:, 0], expected, rtol=1e-9, atol=1e-9 * size)
    one_by_one = np.array([p(point) for point in x[::7]])
    np.testing.assert_allclose(one_by_one, p(x[::7]), rtol=1e-9, atol=1e-9 * size)


@pytest.mark.parametrize("p", [delaunay(2, 900, 0), by_rows(delaunay(2, 900, 0)), delaunay(3, 200, 1)])
def test_the_grid_is_built_once_and_a_bucket_has_few_pieces(p, monkeypatch):
    """However many pieces there are, a point looks at a few of them, and the second call builds nothing."""
    p([[0.5] * p.dim])
    monkeypatch.setattr(locate_module, "extents", None)
    x = np.random.default_rng(0).random((500, p.dim))
    p(x), p(x[0])
    grid = locate_module._buckets(p.polyhedra, p.tol, 0)
    cell = locate_module._cell_number(x, grid.origin, grid.cell, grid.size)
    assert np.mean(grid.first[cell + 1] - grid.first[cell]) < 5 * p.dim


@pytest.mark.parametrize("p", TABLES)
def test_corners_edges_and_their_neighbours_are_inside(p):
    """No point of the boundary between pieces, nor one within rounding of it, falls through."""
    corners = p.mesh.points[p.mesh.simplices]
    middles = (corners + np.roll(corners, 1, axis=1)) / 2
    x = np.concatenate([corners.reshape(-1, p.dim), middles.reshape(-1, p.dim)])
    values = p(x)
    assert not np.isnan(values).any()
    exact = p(np.array([[Fraction(float(v)) for v in corner] for corner in corners[0]], dtype=object))
    np.testing.assert_allclose(values[: p.dim + 1], exact.astype(float), atol=1e-12)


def test_values_are_those_of_scipy():
    """Linear interpolation on a Delaunay triangulation, beside the field's own program."""
    rng = np.random.default_rng(3)
    x, y = rng.random((500, 2)), rng.uniform(-0.2, 1.2, (5000, 2))
    mesh, z = Delaunay(x), rng.standard_normal(500)
    ours, theirs = CPWL.from_simplices(x, mesh.simplices, z)(y)[:, 0], LinearNDInterpolator(mesh, z)(y)
    assert (np.isnan(ours) == np.isnan(theirs)).all()
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("p", [random_shallow(3, 3, 0), random_shallow(12, 6, 1), abs_sum(3)])
def test_pieces_that_share_hyperplanes(p):
    """Pieces cut by few hyperplanes, whose rows are looked at once."""
    x = np.random.default_rng(4).standard_normal((60, p.dim)) * 2
    for piece, held in zip(find_pieces(p, x), brute(p, x), strict=True):
        assert piece in held
