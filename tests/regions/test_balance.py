"""Weights of any size: the cells are those of the same network with weights of size 1."""

from itertools import pairwise

import numpy as np
import pytest

from cpwl import LimitError, Network, count_regions, extract
from cpwl.geometry.polyhedra import as_domain
from cpwl.regions.forms import balanced
from cpwl.regions.walk import walk

HALF = ([[1, -1]], [2])


def scaled(seed, exponents):
    """A network, and the same one with its neurons multiplied by powers of two, which rounds nothing."""
    rng = np.random.default_rng(seed)
    layers = [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in pairwise([2, 4, 3, 1])]
    if seed % 2:  # through one point, and one neuron twice
        layers = [(weight, 0 * bias) for weight, bias in layers]
        layers[0][0][0] = 2 * layers[0][0][1]
    before, other = np.ones(2), []
    for i, (weight, bias) in enumerate(layers):
        scale = 2.0 ** rng.choice(exponents, size=len(bias)) if i < 2 else np.ones(1)
        other.append((weight / before * scale[:, None], bias * scale))
        before = scale
    return Network(layers), Network(other)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("exponents", [[498], [-498], [0, 498, -498], [510, 300]])
@pytest.mark.parametrize("seed", range(4))
def test_cells_do_not_depend_on_the_size_of_weights(seed, exponents):
    """On a half-space, by both ways through the cells."""
    network, other = scaled(seed, exponents)
    expected = count_regions(network, domain=HALF)
    assert count_regions(other, domain=HALF) == expected
    walked = walk(other, as_domain(HALF, 2))
    assert (len(walked.signs), walked.complete) == (expected.activation_cells, True)


@pytest.mark.parametrize("seed", range(4))
def test_balancing_keeps_every_value(seed):
    """In rationals, at rational points."""
    _, other = scaled(seed, [498, -498, 7])
    x = np.array([["1/3", "-2"], ["5", "7/11"]])
    assert (balanced(other)(x) == other(x)).all()
    assert all(2**-2 < np.abs(weight.data).max() < 2**2 for weight, _ in balanced(other).layers[:-1])


def test_ordinary_networks_stay_the_same_object():
    """So nothing changes for them."""
    network = Network([([[1e-30, 1e30]], [0.5]), ([[1.0]], [0.0])])
    assert balanced(network) is network


def test_laws_beyond_floats_are_refused():
    """A slope of 1e400: a limit, not a region of nan."""
    network = Network([([[1.7e200]], [0.3]), ([[1.3e200]], [0.0])])
    with pytest.raises(LimitError, match="float64"):
        extract(network, exact=False)
