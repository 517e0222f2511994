"""The check in the browser: its verdicts are those of `cpwl_check`, on right statements and on changed ones."""

from __future__ import annotations

import json
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cpwl
from cpwl.documents.write import function_document, network_document
from cpwl.network.network import rounded
from cpwl.show.explorer.facts import Examined
from cpwl.show.explorer.page import statements
from cpwl_check.budget import Refused, Undecided
from cpwl_check.decide import check
from support.catalogue import function, names
from support.mutations import damaged_numbers
from support.network_changes import box, normal, with_change

PROGRAM = Path(__file__).with_name("verify.js")
SMALL = [name for name in names(without="float") if function(name).num_pieces <= 30 and function(name).dim <= 3]
LINE, PLANE, SPACE = "sawtooth", "wrong_for_algorithm_1", "sum_norm_in_space"


def statement(p: cpwl.CPWL, network: cpwl.Network, bound: Fraction) -> dict[str, Any]:
    """What a page says of a network that was proved to be that near."""
    proof = cpwl.Certificate(True, bound, "", None, {"kind": "bends"})
    said = statements(Examined((), None, (("", proof),), None, None, (), ((p, network),)))
    assert said is not None
    return said


def verdicts(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the script of the page decides, run by node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    text = "".join(json.dumps(one) + "\n" for one in said)
    done = subprocess.run([node, str(PROGRAM)], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def accepted(p: cpwl.CPWL, network: cpwl.Network, proof: Any) -> Fraction | None:
    """The bound that `cpwl_check` finds proved; None where it refuses, or finds a bound that grows."""
    try:
        bound = check(function_document(p), network_document(network), proof)
    except (Refused, Undecided):
        return None
    return None if isinstance(bound, tuple) else Fraction(bound)


def test_what_is_proved_is_confirmed() -> None:
    """Compiled networks are the function; with rounded weights they are as near as was proved."""
    said = []
    for name in SMALL[::9]:
        p = function(name)
        network = cpwl.compile(p).network
        proof = cpwl.certify(p, network)
        assert accepted(p, network, proof.document) == 0
        said.append(statement(p, network, Fraction(0)))
        near = cpwl.certify(p, rounded(network, "float32"), rounded_from=network, max_error=1)
        if near.proved and isinstance(near.error_bound, Fraction):
            said.append(statement(p, rounded(network, "float32"), near.error_bound))
    found = verdicts(said)
    assert len(found) > len(SMALL) / 9
    assert all(one["holds"] and one["solid"] and not one["endless"] for one in found)


@pytest.mark.parametrize("name", [LINE, PLANE, SPACE, "kuhn_plane", "point_contact", "strips_in_a_box", "half_plane"])
def test_the_largest_difference_is_exact(name: str) -> None:
    """Of a network with a changed weight it is the supremum that `distance` finds, or there is none."""
    p = function(name)
    network = cpwl.compile(p).network
    wrong = [with_change(network, len(network.layers) - 1, 0, 0, change) for change in (1, "1/7", Fraction(1, 10**30))]
    wrong += [with_change(network, 0, 0, 0, change) for change in ("1/3", Fraction(-1, 10**30))]
    exact = [cpwl.distance(p, other).largest for other in wrong]
    for one, largest in zip(verdicts([statement(p, other, Fraction(0)) for other in wrong]), exact, strict=True):
        assert one["endless"] == (not isinstance(largest, Fraction))
        assert one["holds"] == (largest == 0)
        if isinstance(largest, Fraction):
            assert Fraction(one["worst"]) == largest


@pytest.mark.parametrize("name", [LINE, PLANE, "kuhn_plane", "point_contact"])
def test_changed_proofs(name: str) -> None:
    """Whatever bound `cpwl_check` accepts from a damaged proof of a changed or unchanged network is confirmed."""
    p, rng = function(name), np.random.default_rng(0)
    network = cpwl.compile(p).network
    proof = cpwl.certify(p, network).document
    changed = with_change(network, 0, 0, 0, Fraction(1, 10**20))
    said = []
    for _ in range(40):
        document = json.loads(damaged_numbers(proof, rng))
        for other in (network, changed):
            bound = accepted(p, other, document)
            if bound is not None:
                said.append(statement(p, other, bound))
    assert said
    assert all(one["holds"] for one in verdicts(said))


def test_a_smaller_bound_is_refuted() -> None:
    """The bound of a proof of kind "regions" is exact: both accept it, and neither anything less."""
    p = function("kuhn_plane")
    other = with_change(cpwl.compile(p).network, 0, 0, 0, "1/5")
    proof = cpwl.certify(p, other, max_error=100)
    assert proof.kind == "regions"
    bound = proof.error_bound
    assert isinstance(bound, Fraction)
    less = bound * (1 - Fraction(1, 10**30))
    assert proof.document is not None
    assert accepted(p, other, proof.document) == bound
    assert accepted(p, other, {**proof.document, "error_bound": str(less)}) is None
    assert [one["holds"] for one in verdicts([statement(p, other, bound), statement(p, other, less)])] == [True, False]


def test_pieces_without_interior_prove_nothing() -> None:
    """Of a function that has no solid piece nothing is confirmed, as `cpwl_check` refuses it."""
    p = cpwl.CPWL.from_pieces([[[1, 0], [-1, 0]]], [[0, 0]], [[0, 0]], [0], tol=0)
    network = cpwl.Network([([[0, 0]], [0])])
    (one,) = verdicts([statement(p, network, Fraction(0))])
    assert not one["holds"]
    assert not one["solid"]


@pytest.mark.parametrize("sizes", [(1, 4, 3, 1), (2, 4, 3, 2), (3, 4, 1), (2, 5, 1)])
def test_cells_are_all_looked_at(sizes: tuple[int, ...]) -> None:
    """A random network against 0, on one box: the difference is largest at a corner of any of its regions."""
    n, m = sizes[0], sizes[-1]
    p = cpwl.CPWL.from_pieces([box(n)[0]], [box(n)[1]], [[[0] * n] * m], [[0] * m])
    networks = [normal(sizes, seed) for seed in range(6)]
    exact = [cpwl.distance(p, network).largest for network in networks]
    found = verdicts([statement(p, network, Fraction(0)) for network in networks])
    assert [Fraction(one["worst"]) for one in found] == exact
