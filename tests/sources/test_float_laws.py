"""Control laws as solvers leave them, floats with noise, against the same laws from active sets.

The oracle is the law in rationals: a network of the floats may be a tenth larger, and is proved near the floats.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import cpwl
from cpwl.sources.mpqp.document import read_mpqp
from support.twins import twin

DATA = Path(__file__).parent / "data"


@cache
def exact_law(name):
    """The law in rationals."""
    return read_mpqp(DATA / f"{name}.json")


def floats(name, noise, seed=0):
    """The same regions and laws with rows of length 1, rounded, with noise in all numbers."""
    return twin(exact_law(name), noise, seed, fill=True, shuffle=True).function()


@pytest.mark.parametrize("name", ["diU_N10", pytest.param("mi_N3", marks=pytest.mark.slow)])
def test_floats_cost_at_most_a_tenth_more(name):
    """By "auto", within seconds, and proved."""
    p = floats(name, 1e-15)
    made = cpwl.compile(p, certificate=True)
    assert made.certificate.proved
    values = p(np.random.default_rng(0).uniform(-1, 1, (100, p.dim)))
    assert made.certificate.error_bound <= 1e-9 * np.ptp(values[np.isfinite(values)])
    assert made.sizes.neurons <= 1.1 * cpwl.compile(exact_law(name).merge()).sizes.neurons
