"""Control laws as solvers leave them, floats with noise, against the same laws from active sets.

The oracle is the law in rationals: a network of the floats is no larger, and is proved near the floats.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import cpwl
from cpwl.construct.analysis import Analysis
from cpwl.construct.lattice import plan as lattice_plan
from cpwl.exact.rational import fraction_array
from cpwl.function.bends.table import bend_planes
from cpwl.function.snap.snap import meant_components
from cpwl.io.mpqp import read_mpqp
from support.proofs import without_regions
from support.twins import twin

DATA = Path(__file__).parent / "data"


@cache
def exact_law(name):
    """The law in rationals."""
    return read_mpqp(DATA / f"{name}.json")


def floats(name, noise, seed=0):
    """The same regions and laws as a solver leaves them: rounded, with noise in all numbers, and no domain."""
    return replace(twin(exact_law(name), noise, seed, fill=True, shuffle=True), domain=None).function()


@pytest.mark.parametrize("name", ["diU_N10", pytest.param("mi_N3", marks=pytest.mark.slow)])
def test_floats_cost_no_more(name):
    """By "auto", within seconds, and proved: laws that are constant but for noise are constant."""
    p = floats(name, 1e-15)
    made = cpwl.compile(p, certify=True)
    assert made.certificate.proved
    values = p(np.random.default_rng(0).uniform(-1, 1, (100, p.dim)))
    assert made.certificate.error_bound <= 1e-9 * np.ptp(values[np.isfinite(values)])
    assert made.sizes.neurons <= cpwl.compile(exact_law(name).merge()).sizes.neurons


def test_simple_numbers_are_taken_only_next_to_them():
    """A slope of 1e-15 is 0, one of 1e-9 is not; data that fits exactly stays as it is, 0.1 the float."""
    rows, right = [[[1.0, 0.0]], [[-1.0, 0.0]]], [[1e-17], [1e-17]]
    for slope, zero in ((1e-15, True), (1e-9, False)):
        p = cpwl.CPWL.from_pieces(rows, right, [[0.7, 0.3], [slope, 0.3]], [0.0, 0.0], tol=1e-9)
        assert (meant_components(p, 0)[1, 0] == 0) == zero
    p = cpwl.CPWL.from_pieces(rows, [[0.0], [0.0]], [[0.1, 0.0], [0.2, 0.0]], [0.0, 0.0], tol=1e-9)
    assert meant_components(p, 0)[0, 0] == Fraction(0.1)
    assert cpwl.compile(p, construction="lattice", certify=True).certificate.error_bound == 0


def test_a_lattice_of_the_floats_as_they_are_is_proved_too(monkeypatch):
    """Its leaves are the components of the data, not the simple numbers next to them."""
    p = floats("diU_N10", 1e-15)

    def as_they_are(p, output):
        rows = p.components(output).integer()[:, 0]
        return fraction_array(rows[:, :-1]) / rows[:, -1:]

    assert (as_they_are(p, 0) != meant_components(p, 0)).any()
    monkeypatch.setattr(Analysis, "simplest", property(lambda analysis: analysis))
    monkeypatch.setattr(lattice_plan, "meant_components", as_they_are)
    with without_regions():
        made = cpwl.compile(p, construction="lattice", certify=True)
    assert made.certificate.kind == "expression"
    assert made.certificate.error_bound < 1e-9


def planes(p):
    """The number of hyperplanes on which an exact function bends."""
    return bend_planes(p)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-13])
def test_bends_that_outputs_share_are_one(noise):
    """Two moves of a law with three states: as many bends and laws as the truth has, in numbers of moderate length."""
    truth = exact_law("mi_N3")
    found = floats("mi_N3", noise).snap()
    assert found.way == "laws"
    assert planes(found.function) == planes(truth)
    assert found.function.num_components == truth.num_components
    assert max(abs(int(v)).bit_length() for v in found.function.laws.integer().ravel()) < 400
    assert found.moved.value < 1e-9
