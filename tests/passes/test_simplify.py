"""Passes from network to network: the same function, exactly; never larger; the input itself when there is nothing."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpwl import Network
from cpwl.documents.write import network_document
from cpwl.errors import InputError
from cpwl.exact.rational import fraction_array
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.algorithms import end_to_end, identity, side_by_side
from cpwl.network.network import exact_layers
from cpwl.passes.simplify import (
    drop_unused,
    fold_linear,
    fold_stable,
    merge_proportional,
    ranges,
    remove_dependent,
    simplify,
)
from cpwl_check.line import Walk
from cpwl_check.pieces import read_network
from support.strategies import networks, points

PASSES = [drop_unused, merge_proportional, fold_stable, fold_linear, remove_dependent, simplify]
seeds = st.integers(0, 10**6)


def planted(seed, inputs=2, exact=True):
    """A random network in which neurons repeat, vanish, are constant, opposite, dependent or never read."""
    rng = np.random.default_rng(seed)
    layers, width = [], inputs
    for _ in range(int(rng.integers(1, 3))):
        rows = [fraction_array(rng.integers(-3, 4, width + 1)) for _ in range(int(rng.integers(1, 4)))]
        for _ in range(int(rng.integers(1, 6))):
            row = rows[int(rng.integers(len(rows)))]
            other = rows[int(rng.integers(len(rows)))]
            kind = int(rng.integers(6))
            new = [row, 2 * row, -row, row + other, -row - other, 0 * row][kind]
            rows.append(np.append(new[:-1], 1) if kind == 5 else new)
        rows = np.array(rows, dtype=object)[rng.permutation(len(rows))]
        layers.append((rows[:, :-1], rows[:, -1]))
        width = len(rows)
    last = fraction_array(rng.integers(-3, 4, (2, width))) * fraction_array(rng.integers(0, 2, width))
    layers.append((last, fraction_array(rng.integers(-3, 4, 2))))
    return Network(layers if exact else [(w.astype(float), b.astype(float)) for w, b in layers])


def cost(network):
    return network.sizes.neurons, network.sizes.nonzeros


def line_of(network):
    """Where a network on a line may bend, and what it is between, found by the walk of the stand-alone checker."""
    document = network_document(network)
    layers = read_network(document, 1, network.outputs)
    walk = Walk([Fraction(1)], layers)
    kept = [(t, b) for t, (a, b) in zip(walk.places, pairwise(walk.outputs), strict=True) if a != b]
    return walk.outputs[0], kept


def within(line, low, high):
    """The part of a line between two places: the law after the first, and breakpoints with the laws after them."""
    first, kept = line
    first = [first, *(law for t, law in kept if t <= low)][-1]
    return first, [(t, law) for t, law in kept if low < t < high]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("run", PASSES)
@given(seed=seeds, data=st.data())
def test_a_pass_keeps_the_function_and_never_grows(run, seed, data):
    """Values at rational points are equal as fractions; there are no more neurons, and no more weights for as many."""
    network = planted(seed)
    smaller = run(network)
    x = data.draw(points(2, 8))
    assert (smaller(x) == network(x)).all()
    assert cost(smaller) <= cost(network)
    assert smaller is network or smaller.sizes.neurons < network.sizes.neurons


@pytest.mark.one_in(2)
@pytest.mark.parametrize("run", PASSES)
@given(network=networks(inputs=1, max_width=4))
def test_on_a_line_the_function_is_proved_to_be_the_same(run, network):
    """All breakpoints and all laws between them, found by an independent program, stay what they are."""
    assert line_of(run(network)) == line_of(network)


@given(seed=seeds)
def test_planted_networks_on_a_line_are_proved_to_be_the_same(seed):
    """The same for networks full of redundancy, and all passes together."""
    network = planted(seed, inputs=1)
    assert line_of(simplify(network)) == line_of(network)


@given(seed=seeds)
def test_on_an_interval_the_function_is_proved_to_be_the_same(seed):
    """With the domain [-1, 2] all laws and breakpoints inside it stay; outside anything may happen."""
    network = planted(seed, inputs=1)
    both = [
        within(line_of(n), Fraction(-1), Fraction(2))
        for n in (network, simplify(network, domain=([[1], [-1]], [2, 1])))
    ]
    assert both[0] == both[1]


@given(seed=seeds)
def test_a_second_run_returns_its_input(seed):
    """What `simplify` leaves, it leaves alone: the same object comes back."""
    once = simplify(planted(seed))
    assert simplify(once) is once
    for run in PASSES:
        assert run(once) is once


@given(seed=seeds, data=st.data())
def test_on_a_box_values_inside_are_kept(seed, data):
    """With a domain the function is kept on it, and the result is no larger than without."""
    network = planted(seed)
    box = (np.vstack([np.eye(2), -np.eye(2)]), np.array([1, 2, 1, 2]))
    smaller = simplify(network, domain=box)
    x = data.draw(points(2, 8)) / 9
    assert (smaller(x) == network(x)).all()
    assert cost(smaller) <= cost(network)


@given(seed=seeds)
def test_float_networks_are_kept_to_the_last_bit(seed):
    """Weights of an imported network are the rationals that they are: the result has equal rational values."""
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((5, 2)).astype(np.float32).astype(float)
    weight = np.vstack([weight, weight[:2], 2 * weight[2:3]])
    bias = np.append(np.zeros(5), [0, 0, 0])
    network = Network([(weight, bias), (rng.standard_normal((2, 8)), rng.standard_normal(2))])
    smaller = simplify(network)
    assert smaller.sizes.neurons == 5
    x = fraction_array(rng.integers(-9, 9, (6, 2))) / 7
    assert (smaller(x) == network(x)).all()


def test_a_float_network_stays_one_if_its_new_weights_are_doubles():
    """1 + 2 is a double and 1 + 2^-60 is not: then the rational weights are kept beside."""
    rows = [[1.0], [1.0]]
    assert merge_proportional(Network([(rows, [0.0, 0.0]), ([[1.0, 2.0]], [0.0])])).exact is None
    merged = merge_proportional(Network([(rows, [0.0, 0.0]), ([[1.0, 2.0**-60]], [0.0])]))
    assert merged.exact is not None
    assert merged([[Fraction(1)]])[0, 0] == 1 + Fraction(1, 2**60)


@pytest.mark.parametrize("factor", [1, 2, Fraction(1, 3)])
def test_proportional_neurons_become_one(factor):
    """relu(c z) = c relu(z), also in the second layer, once the first has been merged."""
    w = fraction_array([[1, 2], [factor, 2 * factor]])
    network = Network([(w, fraction_array([1, factor])), ([[1, 0], [0, 3]], [-1, -3 * factor]), ([[1, 1]], [0])])
    assert merge_proportional(network).sizes.neurons == 2


def test_opposite_multiples_are_not_merged():
    """relu(z) and relu(-2z) are different functions."""
    network = Network([([[1], [-2]], [0, 0]), ([[1, 1]], [0])])
    assert merge_proportional(network) is network


def test_an_error_of_1e_30_is_not_merged():
    """Nearly equal neurons are different."""
    w = fraction_array([[1], [1 + Fraction(1, 10**30)]])
    network = Network([(w, [1, 1]), ([[1, -1]], [0])])
    assert simplify(network) is network


@pytest.mark.parametrize(("n", "k"), [(1, 3), (2, 4), (3, 5)])
def test_pairs_that_pass_dependent_functions_lose_a_neuron_each(n, k):
    """k pairs relu(z), relu(-z) in general position in R^n pass n independent functions: k - n neurons go."""
    rng = np.random.default_rng(k)
    w, b = fraction_array(rng.integers(1, 10, (k, n))), fraction_array([i * i + i + 1 for i in range(k)])
    network = Network([(np.vstack([w, -w]), np.append(b, -b)), (rng.integers(1, 9, (2, 2 * k)), [0, 0])])
    smaller = remove_dependent(network)
    assert smaller.sizes.neurons == 2 * k - (k - n)
    x = fraction_array(rng.integers(-9, 10, (20, n))) / 4
    assert (smaller(x) == network(x)).all()


def test_padding_with_identities_is_folded():
    """Algorithm 5 pads a shallow network with identity layers; they go, with all their neurons."""
    relu = Network([([[1]], [0]), ([[1]], [0])])
    padded = end_to_end(relu, identity(1, 4))
    assert padded.sizes.depth > 2
    assert simplify(padded).sizes == relu.sizes


def test_equal_networks_side_by_side_become_one():
    """Two copies of a network cost no more than one."""
    network = planted(5)
    both = simplify(side_by_side([network, network]))
    assert both.sizes.neurons == simplify(network).sizes.neurons


def test_neurons_that_are_stable_on_a_triangle_go():
    """On x, y >= 0, x + y <= 1: x + y - 2 is never positive, x + y + 1 and x - y + 1 always; one is enough for both."""
    rows, bias = [[1, 1], [1, 1], [1, -1], [2, -1]], [-2, 1, 1, 0]
    network = Network([(rows, bias), ([[1, 2, 3, 1]], [0])])
    triangle = Polyhedron.from_rows([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    smaller = fold_stable(network, triangle)
    assert smaller.sizes.neurons == 2
    x = fraction_array([[0, 0], [1, 0], [0, 1], ["1/3", "1/3"], ["1/5", "3/5"]])
    assert (smaller(x) == network(x)).all()


def test_programs_see_more_than_intervals_above_the_first_layer():
    """relu(x) + relu(-x) <= 1 for |x| <= 1, while intervals say 2: the second layer's neuron is always off."""
    network = Network([([[1], [-1]], [0, 0]), ([[1, 1], [1, 0]], [-1, 0]), ([[1, 1]], [0])])
    box = ([[1], [-1]], [1, 1])
    assert ranges(list(exact_layers(network)), box)[1][0][1] == 0
    assert fold_stable(network, box).sizes.neurons < network.sizes.neurons


@given(network=networks(inputs=2, max_width=4), data=st.data())
def test_ranges_hold(network, data):
    """No neuron reads anything outside its range at a point of the domain."""
    domain = ([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]], [1, 1, 1, 1, 1])
    layers = list(exact_layers(network))
    found = ranges(layers, domain)
    h = data.draw(points(2, 6)) / 20
    for (weight, bias), bounds in zip(layers[:-1], found, strict=True):
        z = (weight @ h.T + bias[:, None]).T
        for k, (low, high) in enumerate(bounds):
            assert low is None or (z[:, k] >= low).all()
            assert high is None or (z[:, k] <= high).all()
        h = np.where(z > 0, z, Fraction(0))


def test_a_constant_network_has_no_neurons():
    """If nothing depends on the input, one affine map is left."""
    network = Network([([[0, 0]], [2]), ([[3]], [-1]), ([[1], [2]], [0, 1])])
    smaller = simplify(network)
    assert smaller.sizes.neurons == 0
    assert smaller([[7.0, 8.0]]).tolist() == [[5.0, 11.0]]


@pytest.mark.parametrize("domain", [([[1], [-1]], [0, -1]), ([[1, 1], [-1, -1]], [0, -1])])
def test_an_empty_domain_is_refused(domain):
    """Nothing can be said on no points."""
    n = len(domain[0][0])
    network = Network([(np.ones((1, n)), [0]), ([[1]], [0])])
    with pytest.raises(InputError, match="the domain is empty"):
        simplify(network, domain=domain)


def test_a_domain_of_another_dimension_is_refused():
    """The domain must be one of the network's inputs."""
    network = Network([([[1, 1]], [0]), ([[1]], [0])])
    with pytest.raises(InputError, match="coordinates"):
        simplify(network, domain=Polyhedron.from_rows([[1]], [0]))
