"""Lower bounds: never above a network that exists, and sharp where the answer is known."""

import itertools
import math
import random

import numpy as np
import pytest

from cpwl import CPWL, Network, compile, extract
from cpwl.construct.analysis import Analysis
from cpwl.construct.lower_bounds import _fewest, _flats_on_hyperplanes, lower_bounds
from support.catalogue import compiled, names
from support.pinned import applicable


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", names(without="float"))
def test_no_network_is_smaller(name):
    """Every bound that speaks of a network's depth is at most its neurons."""
    for _, construction in applicable([name], ("hinge", "gates", "lattice")):
        made = compiled(name, construction)
        assert made is not None
        for bound in made.lower_bounds:
            assert bound.hidden_layers in (None, made.sizes.depth - 1)
            assert bound.neurons <= made.sizes.neurons


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_maximum_needs_a_neuron_more_than_its_rank(n):
    """max(x_1, .., x_n) is nowhere constant: at least n + 1 neurons; max(0, x_1, .., x_n) at least n."""
    unit = np.concatenate([np.eye(n, dtype=int), np.zeros((n, 1), dtype=int)], axis=1).tolist()
    zero = [[0] * (n + 1)]
    assert lower_bounds(Analysis(CPWL.from_maxmin(unit, [[i] for i in range(n)])))[0].neurons == n + 1
    assert lower_bounds(Analysis(CPWL.from_maxmin(unit + zero, [[i] for i in range(n + 1)])))[0].neurons == n


def test_one_hidden_layer_needs_every_hyperplane():
    """A function of one hidden layer is built with as many neurons as it bends on hyperplanes, or up to two more."""
    p = CPWL.from_breakpoints([0, 1, 2, 3], [0, 2, 1, 1], left_slope=0, right_slope=5)
    made = compile(p, construction="hinge")
    bound = next(b for b in made.lower_bounds if b.hidden_layers == 1 and "bends" in b.reason)
    assert bound.neurons == 4 <= made.sizes.neurons <= 6


def test_first_layer_lines_pass_through_vertices():
    """A tent over one inner point: its three or more lines meet in it, and one first-layer line passes through."""
    p = CPWL.from_simplices([[0, 0], [4, 0], [0, 4], [1, 1]], [[0, 1, 3], [1, 2, 3], [2, 0, 3]], [0, 0, 0, 1])
    assert any(b.hidden_layers == 2 and "1 points" in b.reason and b.neurons == 1 for b in lower_bounds(Analysis(p), 2))


@pytest.mark.parametrize("widths", [(2, 2), (4, 3), (3, 5), (2, 2, 2)])
@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_no_bound_is_above_a_random_network(inputs, widths):
    """The pieces of a network of small integers need at most its neurons, by every bound for its depth."""
    rng = np.random.default_rng([inputs, *widths])
    for _ in range(3):
        sizes = (inputs, *widths, 1)
        layers = [(rng.integers(-3, 4, (k, n)), rng.integers(-3, 4, k)) for n, k in itertools.pairwise(sizes)]
        p = extract(Network(layers), exact=True).merge()
        for bound in lower_bounds(Analysis(p), len(widths)):
            assert bound.neurons <= sum(widths), bound.reason


@pytest.mark.parametrize("seed", range(20))
def test_widths_are_searched_for_as_by_brute_force(seed):
    """The fewest neurons that satisfy all conditions, against all widths there are."""
    rng = random.Random(seed)
    n, hidden = rng.choice([1, 2]), rng.choice([2, 3])
    laws, points, most, crossed = rng.randint(1, 200), rng.choice([0, 25]), rng.randint(1, 4), rng.choice([0, 5])

    def fits(w):
        cells = [sum(math.comb(k, j) for j in range(n + 1)) for k in w]
        lines = sum(k * math.prod(cells[:i]) for i, k in enumerate(w[:-1]))
        return math.prod(cells) >= laws and lines * most >= points and w[0] >= crossed

    every = itertools.product(range(1, 30 if hidden == 2 else 18), repeat=hidden)
    assert _fewest(n, laws, points, most, crossed, hidden) == min(sum(w) for w in every if fits(w))


def test_conditions_together_need_more_than_each():
    """A rough grid of 10 x 10 boxes: nine lines with nine points each, and then many laws for the other layer."""
    p = CPWL.from_grid([range(11)] * 2, np.random.default_rng(0).integers(-9, 10, (11, 11)).tolist())
    *others, joint = sorted(lower_bounds(Analysis(p), 2), key=lambda bound: bound.neurons)
    assert joint.reason.startswith("all widths: ")
    assert "9 lines with 9 of them or more" in joint.reason
    assert max(bound.neurons for bound in others) < joint.neurons <= compile(p, construction="gates").sizes.neurons


def test_hyperplanes_of_the_first_layer_are_counted_in_space():
    """Theorem 16.7 for a 3-9-4-1 network: eight of its nine first hyperplanes have eight flats or more."""
    rng = np.random.default_rng(0)
    weights = [(rng.integers(-9, 10, (k, n)), rng.integers(-9, 10, k)) for n, k in ((3, 9), (9, 4), (4, 1))]
    p = extract(Network(weights), exact=True)
    joint = next(b for b in lower_bounds(Analysis(p), 2) if b.reason.startswith("all widths: "))
    assert "8 hyperplanes with 8 flats or more" in joint.reason
    assert 9 < joint.neurons <= 13


@pytest.mark.parametrize("n", [3, 4])
def test_flats_of_known_functions(n):
    """Hinges have none; a maximum of three forms has one flat, on three hyperplanes; of four forms each pair of forms
    has a hyperplane, and each triple a flat on three of them."""
    unit = np.concatenate([np.eye(n, dtype=int), np.zeros((n, 1), dtype=int)], axis=1).tolist()
    box = [[-2, -2, -2, -2][:n], [2, 2, 2, 2][:n]]
    hinges = extract(Network([(np.eye(n, dtype=int)[:3], [0, 1, -1]), ([[1, 2, 3]], [0])]), exact=True)
    assert len(_flats_on_hyperplanes(hinges)) == 0
    for forms, found in ((3, [1, 1, 1]), (4, [2, 2, 2, 2, 2, 2])):
        rows = [*unit, [0] * (n + 1)][-forms:]
        p = CPWL.from_maxmin(rows, [[i] for i in range(forms)]).restrict(box=box)
        assert sorted(_flats_on_hyperplanes(p).tolist()) == found


def test_an_affine_function_needs_nothing():
    """No neurons, and the reason says so."""
    assert [b.neurons for b in lower_bounds(Analysis(CPWL.from_maxmin([[1, 2, 3]], [[0]])))] == [0]


def test_an_affine_network_of_nearly_affine_data():
    """Two laws that differ by less than a constant within the tolerance: no hidden layer, and still a bound."""
    assert [b.hidden_layers for b in lower_bounds(Analysis(CPWL.from_maxmin([[1, 0], [-1, 0]], [[0], [1]])), 0)] == [
        None,
        None,
    ]
