"""Bends that are nearly on one line are put on one: noisy grids, turned grids, and meshes of polygons."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay

import cpwl
from cpwl.function.make import kuhn_simplices
from cpwl.function.snap.even import aligned, flats_of, on_affine_lattice
from support.twins import twin


def grid(m, dim=2, seed=0):
    values = np.random.default_rng(seed).integers(-9, 9, (m,) * dim)
    return cpwl.CPWL.from_grid([np.arange(m)] * dim, values)


def turned_grid(m, angle=0.3, seed=0):
    """Points of a grid turned in floats, its triangles, and values."""
    points = np.stack(np.meshgrid(np.arange(m), np.arange(m), indexing="ij"), axis=-1).reshape(-1, 2).astype(float)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    values = np.random.default_rng(seed).integers(-9, 9, m * m).astype(float)
    return points @ turn.T, kuhn_simplices((m, m)), values


def polygon_mesh(sides, seed):
    """A triangulated polygon whose sides are subdivided in floats, as a mesher writes it."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(sides) / sides + seed
    corner = np.column_stack([np.cos(angle), np.sin(angle)])
    share = np.linspace(0, 1, 4)[:-1, None]
    rim = np.concatenate([corner[i] + share * (corner[(i + 1) % sides] - corner[i]) for i in range(sides)])
    points = np.concatenate([rim, rng.uniform(-0.4, 0.4, (8, 2))])
    triangles = Delaunay(points).simplices
    one, two = (points[triangles[:, k]] - points[triangles[:, 0]] for k in (1, 2))
    area = np.abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0])
    return points, triangles[area > 1e-12], rng.random(len(points))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("noise", [1e-15, 1e-10])
def test_noisy_half_spaces_of_a_grid_cost_no_more_than_the_grid(noise, fill):
    exact = grid(5)
    p = twin(exact, noise, 1, fill=fill).function()
    found = p.snap()
    assert found.way == "straight"
    assert found.moved.largest < 1e4 * noise
    c = cpwl.compile(p, max_error=1e-6)
    assert c.sizes.neurons <= cpwl.compile(exact).sizes.neurons


def test_the_distance_to_a_noisy_grid_is_proved():
    p = twin(grid(4), 1e-12, 1, repeat=True, far=1e6).function()
    c = cpwl.compile(p, certify=True)
    assert c.certificate.proved
    assert c.certificate.error_bound < 1e-9
    assert c.sizes.neurons <= cpwl.compile(grid(4)).sizes.neurons


def test_a_noisy_grid_in_space_costs_no_more_than_the_grid():
    exact = grid(3, 3)
    p = twin(exact, 1e-13, 1).function()
    assert p.snap().way == "straight"
    assert cpwl.compile(p).sizes.neurons <= cpwl.compile(exact).sizes.neurons


def test_a_turned_grid_costs_no_more_than_the_grid_and_is_proved():
    points, triangles, values = turned_grid(5)
    p = cpwl.CPWL.from_simplices(points, triangles, values)
    c = cpwl.compile(p, certify=True)
    straight = cpwl.CPWL.from_grid([np.arange(5)] * 2, values.reshape(5, 5).astype(int))
    assert c.sizes.neurons <= cpwl.compile(straight).sizes.neurons
    assert c.certificate.proved
    assert c.certificate.error_bound < 1e-11


@pytest.mark.one_in(2)
@pytest.mark.parametrize("sides", [5, 7])
def test_meshes_of_polygons_compile_although_their_sides_are_not_quite_straight(sides):
    points, triangles, values = polygon_mesh(sides, sides)
    p = cpwl.CPWL.from_simplices(points, triangles, values)
    assert not p.doctor().errors
    assert any(f.kind == "rounded points" for f in p.doctor())
    c = cpwl.compile(p, certify=True)
    assert c.certificate.proved
    assert c.certificate.error_bound < 1e-11
    x = 0.5 * np.random.default_rng(0).uniform(-1, 1, (200, 2))
    table = Delaunay(points)
    same = {frozenset(s) for s in table.simplices.tolist()} >= {frozenset(s) for s in triangles.tolist()}
    assert same  # the other program interpolates on the same triangles
    assert np.abs(c.network(x)[:, 0] - LinearNDInterpolator(table, values)(x)).max() < 1e-9


def test_a_construction_asked_for_by_name_takes_the_straight_table_too():
    p = cpwl.CPWL.from_simplices(*polygon_mesh(5, 5))
    c = cpwl.compile(p, construction="strips", certify=True)
    assert c.construction == "strips"
    assert c.certificate.proved
    assert "rounding" in c.reason


def test_no_error_allowed_means_that_nothing_is_moved():
    with pytest.raises(cpwl.InputError, match="allows no error"):
        cpwl.compile(cpwl.CPWL.from_simplices(*polygon_mesh(5, 5)), precision="exact")


def test_fractions_are_meant_as_they_are_however_small_the_dent():
    dent = Fraction(1, 10**18)
    points = [
        [Fraction(0), Fraction(0)],
        [Fraction(1, 3), dent],
        [Fraction(1), Fraction(0)],
        [Fraction(0), Fraction(1)],
    ]
    p = cpwl.CPWL.from_simplices(points, [[0, 1, 3], [1, 2, 3]], [0, 1, 5, 2])
    with pytest.raises(cpwl.InputError, match="convex"):
        cpwl.compile(p)


def test_a_dent_that_is_no_rounding_is_still_refused():
    points = np.array([[0.0, 0.0], [1 / 3, 1e-6], [1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(cpwl.InputError, match="convex"):
        cpwl.compile(cpwl.CPWL.from_simplices(points, [[0, 1, 3], [1, 2, 3]], [0.0, 1.0, 5.0, 2.0]))


def test_points_that_no_simplex_has_stay_where_they_are():
    points, triangles, _ = turned_grid(4)
    more = np.concatenate([[[17.3, 0.1]], points])
    moved = aligned(more, triangles + 1, np.full(len(more), 1e-14))
    assert moved is not None
    assert moved[0].tolist() == [Fraction(17.3), Fraction(0.1)]


def test_points_in_general_position_have_no_flats():
    points = np.random.default_rng(0).random((40, 2))
    triangles = Delaunay(points).simplices
    assert flats_of(points, triangles, np.full(40, 1e-13)) == []
    assert on_affine_lattice(points, triangles, np.full(40, 1e-13)) is None


def test_rounded_decimals_over_a_polygon_are_straightened_where_that_is_asked_for():
    points, triangles, values = polygon_mesh(7, 7)
    decimals = [[f"{x:.6f}" for x in point] for point in points]
    p = cpwl.CPWL.from_simplices(decimals, triangles, values)
    with pytest.raises(cpwl.InputError, match=r"If a dent of .* is rounding, `p\.snap\(.*, even=True\)"):
        cpwl.compile(p)
    found = p.snap(1e-4, even=True)
    assert found.way == "even"
    assert np.abs(found.function.mesh.points - points).max() < 1e-5
    assert cpwl.compile(found.function, certify=True).certificate.error_bound == 0


def test_slivers_along_a_side_are_left_out_only_where_that_is_asked_for():
    """In a triangle of no width that fills a dent the table is another function than beside it."""
    points = np.array([[0.0, 0.1], [1.0, 0.4], [1.0, 1.4], [0.0, 1.1], [0.3, 0.19], [0.7, 0.31]])
    triangles, values = [[0, 4, 3], [4, 2, 3], [4, 5, 2], [5, 1, 2], [0, 5, 4]], [0.0, 1.0, 2.0, 0.5, 3.0, 1.0]
    points[4] += [0, 2e-16]  # the side goes from point 0 to point 5 in two ways, and to point 1 bent
    points[5] += [0, 2e-16]
    p = cpwl.CPWL.from_simplices(points, triangles, values)
    with pytest.raises(cpwl.InputError, match="even=True"):
        cpwl.compile(p)
    found = p.snap(1e-13, even=True).function
    assert found.num_pieces == 4
    assert cpwl.compile(found, certify=True).certificate.error_bound == 0
