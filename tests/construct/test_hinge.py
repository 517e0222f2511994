"""One hidden layer: found exactly where it exists, as small as the flip rule allows, refused elsewhere."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpwl import CPWL, ConstructionError
from cpwl.exact.rational import fraction_array
from shallow import from_hidden_layer, random_shallow
from support.constructions import find_hinges, hinge
from support.functions import abs_sum, delaunay, five_pieces

small = st.integers(-3, 3)


def points(n, count=40, seed=0):
    return fraction_array(np.random.default_rng(seed).integers(-60, 60, (count, n))) / 7


@given(st.integers(1, 3), st.data())
def test_any_hidden_layer_is_found_again(n, data):
    """A sum of hinges with integer weights comes back with at most its own neurons plus two, and is the same."""
    w = data.draw(st.integers(1, 4))
    weight = data.draw(st.lists(st.lists(small, min_size=n, max_size=n).filter(any), min_size=w, max_size=w))
    bias = data.draw(st.lists(small, min_size=w, max_size=w))
    output = data.draw(st.lists(small.filter(bool), min_size=w, max_size=w))
    p = from_hidden_layer(weight, bias, output)
    network = hinge(p)
    x = points(n)
    assert (network(x) == p(x)).all()
    assert network.sizes.depth <= 2
    assert network.sizes.neurons <= w + 2


@pytest.mark.parametrize(("n", "w"), [(1, 7), (2, 6), (3, 5), (10, 5), (100, 5)])
def test_the_papers_functions_need_as_many_neurons_as_they_have(n, w):
    """A random function with w hinges and no affine part needs exactly w neurons, whatever its 2^w pieces."""
    p = random_shallow(n, w, seed=3)
    network = hinge(p)
    assert network.sizes.neurons == w
    x = points(n, 10)
    assert (network(x) == p(x)).all()


@pytest.mark.parametrize(("slope", "extra"), [(0, 0), (-1, 0), (-2, 0), (1, 1), ("1/2", 1)])
def test_the_flip_rule_in_one_dimension(slope, extra):
    """relu(x) + relu(x - 1) + slope x: slopes 0, -1 and -2 are absorbed by flipping 0, 1 or 2 hinges."""
    s = Fraction(slope)
    p = CPWL.from_breakpoints([0, 1], [0, 1 + s], left_slope=s, right_slope=2 + s)
    assert hinge(p).sizes.neurons == 2 + extra


@pytest.mark.parametrize(("rest", "extra"), [([0, 0], 0), ([-1, -1], 0), ([3, 0], 1), ([3, 5], 2)])
def test_the_flip_rule_in_the_plane(rest, extra):
    """relu(x) + relu(y) + rest: 0 neurons more if hinges can be flipped, 1 if it is along one of them, else 2."""
    cells = list(product((1, -1), repeat=2))
    A = [[[-s, 0], [0, -t]] for s, t in cells]
    gradient = [[(s > 0) + rest[0], (t > 0) + rest[1]] for s, t in cells]
    p = CPWL.from_pieces(A, [[0, 0]] * 4, gradient, [0] * 4)
    network = hinge(p)
    assert network.sizes.neurons == 2 + extra
    x = points(2)
    assert (network(x) == p(x)).all()


def test_a_bounded_domain_needs_one_neuron_for_any_rest():
    """On a box the affine rest is carried by one neuron that never goes below 0."""
    p = CPWL.from_grid(
        [[0, 1, 2], [0, 1, 2]], [[abs(i - 1) + abs(j - 1) + 5 * i + 3 * j for j in range(3)] for i in range(3)]
    )
    network = hinge(p)
    assert network.sizes.neurons == 3
    x = fraction_array(list(product(range(7), repeat=2))) / 3
    assert (network(x) == p(x)).all()


def test_fake_bends_cost_nothing():
    """Breakpoints and facets where nothing bends need no neuron."""
    assert hinge(CPWL.from_breakpoints(range(5), [0, 1, 2, 3, 4])).sizes.neurons == 0
    assert (
        hinge(CPWL.from_grid([range(4), range(4)], [[i + 2 * j for j in range(4)] for i in range(4)])).sizes.neurons
        == 0
    )


def test_vector_outputs_share_hinges():
    """Two outputs that bend at the same places use the same neurons."""
    p = CPWL.from_breakpoints([0, 1], [[0, 0], [1, 3]], left_slope=[0, 0], right_slope=[0, 5])
    network = hinge(p)
    assert network.sizes.neurons == 2
    x = points(1)
    assert (network(x) == p(x)).all()


@pytest.mark.parametrize("p", [five_pieces(), delaunay(2, 12, 0), delaunay(3, 8, 0)])
def test_functions_without_consistent_jumps_are_refused(p):
    """A bend that ends inside the domain is no hinge; the error names a piece."""
    with pytest.raises(ConstructionError) as caught:
        hinge(p)
    assert "piece" in caught.value.details


def test_the_sum_norm_is_one_hinge_a_coordinate_and_its_partner():
    """|x| + |y| + |z|: three hinges of jump 2, and the rest -x - y - z is absorbed by partners."""
    p = abs_sum(3)
    assert find_hinges(p).jump.ravel().tolist() == [2, 2, 2]
    x = points(3)
    assert (hinge(p)(x) == p(x)).all()
