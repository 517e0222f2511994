"""The soak itself: small cases of every kind end well, and planted faults are noticed."""

import numpy as np
import pytest

import cpwl
from cpwl import Network
from soak.__main__ import Case, Slow, keep, run, smallest
from soak.families import FAMILIES
from soak.questions import PAIRS


@pytest.mark.one_in(8)
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(("kind", "family"), PAIRS)
def test_small_cases_end_well(kind, family, size):
    """Two of each kind and family, of the smallest sizes."""
    outcome = run(Case(kind, family, size, 5))
    assert outcome.verdict == "ok", outcome


def test_noise_in_a_plain_lattice_is_no_mistake_of_the_caller():
    """Regions of a network with noise: a plain lattice called their convex domain "not convex"."""
    outcome = run(Case("float", "extracted", 14, 690260891359))
    assert outcome.verdict == "ok", outcome


def test_a_proof_says_nothing_beyond_the_pieces():
    """A point that noise puts outside of every piece, by 1e-9: clamped gates saturate there."""
    outcome = run(Case("float", "optimiser", 7, 282170187783))
    assert outcome.verdict == "ok", outcome


def test_a_wrong_network_is_noticed(monkeypatch):
    """An output that is off by 1e-30 in rationals."""
    right = cpwl.compile

    def wrong(p, **options):
        made = right(p, **options)
        layers = [(weight, bias) for weight, bias in cpwl.network.network.exact_layers(made.network)]
        *rest, (weight, bias) = layers
        off = Network([*rest, (weight, bias + cpwl.exact.rational.fraction("1/1000000000000000000000000000000"))])
        return type("Made", (), {"network": off})()

    monkeypatch.setattr(cpwl, "compile", wrong)
    outcome = run(Case("exact", "breakpoints", 2, 5))
    assert (outcome.verdict, outcome.step) == ("wrong", "compile auto")


def test_an_overlooked_hole_is_noticed(monkeypatch):
    """An `equal` that says yes to everything."""
    monkeypatch.setattr(cpwl, "equal", lambda *_, **__: type("Verdict", (), {"equal": True, "witness": None})())
    outcome = run(Case("exact", "maxmin", 4, 5))
    assert outcome.verdict == "wrong"
    assert "accepts a law that is off" in outcome.message


def test_an_exception_is_noticed_and_kept_small(monkeypatch, tmp_path):
    """What raises is saved with the command that repeats it, at the smallest size that raises."""

    def fail(*_, **__):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(cpwl.CPWL, "merge", fail)
    outcome = smallest(run(Case("exact", "breakpoints", 6, 5)))
    assert (outcome.verdict, outcome.case.size) == ("raised", 1)
    keep(outcome, tmp_path)
    (folder,) = tmp_path.iterdir()
    assert "python -m soak --again exact breakpoints 1" in (folder / "what.txt").read_text("utf-8")


def test_truths_are_what_they_say():
    """The independent truths agree with formulas written out here, at a few points."""
    rng = np.random.default_rng(0)
    _, truth = FAMILIES["breakpoints"](rng, 3)
    slope = truth.value([10**5])[0] - truth.value([10**5 - 1])[0]
    assert truth.value([10**5 + 1])[0] == truth.value([10**5])[0] + slope


def test_an_alarm_inside_compiled_code_is_slow(monkeypatch):
    """Compiled code wraps the alarm in errors of its own, more than once: that is no disagreement."""

    def ring(*_, **__):
        try:
            raise SystemError("inner") from Slow()
        except SystemError as inner:
            raise SystemError("outer") from inner

    monkeypatch.setattr(cpwl, "compile", ring)
    assert run(Case("exact", "breakpoints", 2, 5)).verdict == "slow"
