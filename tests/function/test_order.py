"""The order of components on float pieces: that of the exact function, without linear programs on bounded pieces."""

import numpy as np
import pytest

from cpwl import CPWL
from cpwl.exact.integers import integer_rows
from cpwl.function.order import PieceOrder, order_components, order_on_cones, value_tolerance
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.geometry.probe import Probe
from shallow import random_shallow
from support.catalogue import BY_NAME, names
from support.twins import catalogue_twin, twin

# Slivers of 1e-9 are nothing to data with a tolerance; the others have pieces without an interior.
BOUNDED = [name for name in names(without="float") if "bounded" in BY_NAME[name].tags and name != "slivers"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("variant", ["plain", "far 1e9", "repeated", "column-major", "two outputs"])
@pytest.mark.parametrize("name", BOUNDED)
def test_floats_without_noise_are_ordered_as_the_exact_function(name, variant):
    """Rounding alone changes no answer, and no linear program is asked: not even with rows that are far away."""
    p, data = catalogue_twin(name, variant, 0.0)
    q = data.function()
    for output in range(p.outputs):
        exact, found = order_components(p, output), order_components(q, output)
        if exact.above.shape == found.above.shape:
            np.testing.assert_array_equal(found.above, exact.above)
            np.testing.assert_array_equal(found.below, exact.below)
        assert found.solves == 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("noise", [1e-15, 1e-12])
@pytest.mark.parametrize("name", ["delaunay_plane", "delaunay_space", "delaunay_in_four"])
def test_noise_is_decided_as_linear_programs_do(name, noise):
    """Corners and linear programs give the same answers for data with noise."""
    _, data = catalogue_twin(name, "plain", noise)
    q = data.function()
    found = order_components(q, 0)
    above, below, solves = PieceOrder.of(q, 0, value_tolerance(q))(np.arange(q.num_pieces))
    assert solves > 0
    np.testing.assert_array_equal(found.above, above)
    np.testing.assert_array_equal(found.below, below)


def test_pieces_with_rays_are_left_to_linear_programs():
    """Parallel rows with noise meet 1e12 away, or not at all: that must not decide."""
    p = CPWL.from_pieces(
        [[[0, 1]], [[0, -1], [0, 1]], [[0, -1]]], [[0], [0, 1], [-1]], [[0, 0], [0, 1], [0, 3]], [0, 0, -2]
    )
    for noise in (0.0, 1e-13):
        q = twin(p, noise, fill=True).function()
        assert order_components(q, 0).solves > 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-12])
@pytest.mark.parametrize(("n", "count"), [(2, 2), (3, 3), (10, 3), (40, 4)])
def test_pieces_with_independent_rows_need_no_linear_programs(n, count, noise):
    """Few hyperplanes in many dimensions: the order is that of the exact function, and that of linear programs."""
    p = random_shallow(n, count, n)
    q = twin(p, noise).function()
    exact, found = order_components(p, 0), order_components(q, 0)
    assert found.solves == 0
    np.testing.assert_array_equal(found.above, exact.above)
    np.testing.assert_array_equal(found.below, exact.below)
    above, below, solves = PieceOrder.of(q, 0, value_tolerance(q))(np.arange(q.num_pieces))
    assert solves > 0
    np.testing.assert_array_equal(found.above, above)
    np.testing.assert_array_equal(found.below, below)


def test_rows_that_are_nearly_dependent_are_left_to_others():
    """Two rows 1e-9 apart do not say where they meet."""
    A = np.array([[1.0, 0.0, 0.0], [1.0, 1e-9, 0.0]])
    stack = Polyhedra(A, np.zeros(2), np.array([0, 2]))
    laws = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    assert not order_on_cones(stack, laws, np.array([0]), 1e-9, 1e-9)[2].any()


def test_polyhedra_without_any_corner_are_not_decided():
    """Nothing spans an empty polyhedron, nor one that contains a line."""
    rows = np.array([[1.0, 0.0, -1.0], [-1.0, 0.0, -1.0]])
    empty = Polyhedra(rows[:, :2], rows[:, 2], np.array([0, 2]), integer_rows(rows))
    assert not generators(empty).known.any()


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_say_it_prove_the_order_as_linear_programs_do(seed):
    """On the pieces of a maximum in R^10, with planes that are nowhere on top: an exact program for each pair."""
    rng = np.random.default_rng(seed)
    slopes = rng.integers(-9, 10, (7, 10))
    laws = np.column_stack([2 * slopes, -(slopes**2).sum(axis=1)])
    p = CPWL.from_maxmin(laws.tolist(), [[k] for k in range(7)])
    found, work, probe = order_components(p, 0), PieceOrder.of(p, 0, 0), Probe(0.0)
    for i in range(p.num_pieces):
        for m, law in enumerate(work.differences(int(work.component[i]))):
            assert found.above[i, m] == (probe.maximum(p.polyhedra[i], -law[:-1])[0] <= law[-1])
            assert found.below[i, m] == (probe.maximum(p.polyhedra[i], law[:-1])[0] <= -law[-1])
    assert found.below.all()
    assert found.solves <= p.num_pieces
