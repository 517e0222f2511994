"""The naive Algorithm 1 that benchmarks compare with is a fair one: same function, same sizes."""

from __future__ import annotations

import numpy as np
import pytest

import cpwl
from cpwl.network import Network
from cpwl.show.bundled import five_pieces
from naive import naive
from shallow import random_shallow

FUNCTIONS = {
    "affine": lambda: cpwl.CPWL.from_pieces([np.zeros((0, 3))], [[]], [[1, -2, 3]], [4]),
    "absolute values": lambda: cpwl.CPWL.from_maxmin(
        [[1, 1, 0], [1, -1, 0], [-1, 1, 0], [-1, -1, 0]], [[0], [1], [2], [3]]
    ),
    "breakpoints": lambda: cpwl.CPWL.from_breakpoints([0, 1, 2, 4, 5], [0, 2, 1, 1, -3]),
    "grid": lambda: cpwl.CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 1, 0], [1, 3, -1], [0, 2, 5]]),
    "random, n = 1": lambda: random_shallow(1, 5, seed=1),
    "random, n = 3": lambda: random_shallow(3, 3, seed=2),
    "random, n = 10": lambda: random_shallow(10, 3, seed=3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_naive_and_ours_have_the_same_sizes(name: str) -> None:
    """Neurons, depth and width are those of the paper's construction, which both follow."""
    p = FUNCTIONS[name]()
    mine, ours = Network(naive(p)).sizes, cpwl.compile(p, construction="paper", check=False).sizes
    assert (mine.neurons, mine.depth, mine.width) == (ours.neurons, ours.depth, ours.width)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_naive_and_ours_compute_the_same_function(name: str) -> None:
    """At random points, in the domain or not, both networks agree up to rounding."""
    p = FUNCTIONS[name]()
    x = np.random.default_rng(0).uniform(-6, 6, (200, p.dim))
    ours = cpwl.compile(p, construction="paper", check=False).network(x)
    np.testing.assert_allclose(Network(naive(p))(x), ours, rtol=1e-9, atol=1e-9)


def test_naive_has_the_failure_of_algorithm_1() -> None:
    """On the function of five pieces it is wrong where ours refuses: at (0, 1) it gives 0 in place of -2."""
    p = five_pieces()
    assert p([[0.0, 1.0]])[0, 0] == -2
    assert Network(naive(p))([[0.0, 1.0]])[0, 0] == pytest.approx(0)


def test_several_outputs_are_refused() -> None:
    """Algorithm 1 is for scalar functions."""
    p = cpwl.CPWL.from_breakpoints([0, 1], [[0, 1], [1, 0]])
    with pytest.raises(cpwl.InputError, match="one output"):
        naive(p)
