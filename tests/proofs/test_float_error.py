"""Bounds and predictions of what rounding does to a network, against exact evaluation."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from cpwl import CPWL, certify, compile
from cpwl.construct.plan import noise
from cpwl.exact.rational import fraction_array
from cpwl.network import Network
from cpwl.proofs.rounding import float_error
from support.functions import delaunay
from support.strategies import networks

FORMATS = {"float64": np.float64, "float32": np.float32}


def evaluate(network: Network, x: np.ndarray, dtype, order: int = 1) -> np.ndarray:
    """The network as it runs in that format, each sum one term after the other, forwards or backwards."""
    h = x.astype(dtype)
    for i, (weight, bias) in enumerate(network.layers):
        h = np.maximum(h, dtype(0)) if i else h
        dense = weight.toarray().astype(dtype)
        total = np.broadcast_to(bias.astype(dtype), (len(h), len(bias))) if order > 0 else np.zeros((), dtype)
        for j in range(dense.shape[1])[::order]:
            total = total + h[:, j : j + 1] * dense[:, j]
        h = total if order > 0 else total + bias.astype(dtype)
    return h


def largest_error(network: Network, x: np.ndarray, dtype) -> float:
    """Against the same points in rationals."""
    at = x.astype(dtype)
    true = network(fraction_array(at.astype(np.float64)))
    found = [evaluate(network, at, dtype, order) for order in (1, -1)]
    return max(
        float(abs(Fraction(float(v)) - t)) for run in found for v, t in zip(run.ravel(), true.ravel(), strict=True)
    )


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=60)
@given(network=networks(max_depth=4, max_width=4))
def test_no_order_of_summation_exceeds_the_bound(kind, network):
    """Rational weights, rounded: forwards and backwards, at points of the box, the error is within the bound."""
    low, high = np.full(network.inputs, -2.0), np.full(network.inputs, 3.0)
    x = np.random.default_rng(0).uniform(low, high, (12, network.inputs))
    assert largest_error(network, x, FORMATS[kind]) <= float_error(network, low, high, kind)


def test_a_network_that_rounds_nothing_has_a_tiny_bound():
    """|x| on a box of doubles: products and sums are exact, and the bound is a few units at most."""
    network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    assert float_error(network, np.array([-1.0]), np.array([1.0]), "float64") <= 4 * 2.0**-53


def test_values_that_the_format_does_not_hold_have_no_bound():
    """Where float32 overflows the bound is infinite, not wrong."""
    network = Network([([[1e30]], [0.0]), ([[1e30]], [0.0])])
    assert float_error(network, np.array([0.0]), np.array([1.0]), "float32") == np.inf


@pytest.mark.parametrize("construction", ["gates", "lattice"])
def test_predictions_are_about_right(construction):
    """The noise predicted and the largest error seen in float32 agree up to a factor of 8, either way."""
    p = delaunay(2, 30, 0)
    network = compile(p, construction=construction).network
    x = np.random.default_rng(1).random((1500, 2))
    inside = x[np.isfinite(p(x)).all(axis=1)]
    predicted = noise(network.layers, inside) * 2.0**-24
    assert predicted / 8 <= largest_error(network, inside[:300], np.float32) <= predicted * 8


def test_gate_networks_state_what_evaluation_adds():
    """The certificate of a gate network bounds evaluation in both formats, and not absurdly."""
    p = CPWL.from_grid([[0, 1, 2, 3]] * 2, np.arange(16).reshape(4, 4) ** 2 % 7)
    network = compile(p, construction="gates").network
    bound = certify(p, network).evaluation_bound
    assert bound is not None
    x = np.random.default_rng(0).random((300, 2)) * 3
    for kind, dtype in FORMATS.items():
        found = largest_error(network, x, dtype)
        assert found <= bound[kind] <= 1000 * found
