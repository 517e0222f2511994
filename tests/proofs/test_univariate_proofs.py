"""Proofs of kind "line": what is proved is true, and wrong networks, functions and proofs are refused."""

import copy
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from cpwl import CPWL, Network, ProofError, certify
from cpwl.documents.write import function_document, network_document
from cpwl.proofs.entries import NoProof
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from cpwl_check.line import Walk
from cpwl_check.pieces import read_network
from support.constructions import univariate
from support.line_functions import ridge, small_function
from support.proof_oracle import claim_is_true
from support.proofs import documents, prove_line, rounded, without_regions
from support.strategies import networks


@given(networks(inputs=1, outputs=1, max_depth=4, max_width=4), networks(inputs=1, outputs=1, max_width=2))
def test_the_walk_agrees_with_a_slow_comparison(network, other):
    """Accepted iff network and function agree at all corners of all linear pieces of both, found by clipping."""
    p = _line_function(other)
    for candidate in (network, other):
        stated = {"error_bound": 0}
        claim = claim_is_true(function_document(p), network_document(candidate), stated)
        try:
            prove_line(p, candidate)
            proved = True
        except NoProof:
            proved = False
        assert claim or not proved  # the slow comparison looks at |x| <= 64 only
        assert proved or candidate is not other


def _line_function(network):
    """A network on a line as a function: bends are among zeros found by the walk; pieces by interpolation between."""
    walk = Walk([Fraction(1)], read_network(network_document(network), 1, network.outputs))
    t = walk.places or [Fraction(0)]
    y = network(np.array(t, dtype=object)[:, None])[:, 0]
    first, last = walk.outputs[0][0][0], walk.outputs[-1][0][0]
    return CPWL.from_breakpoints(t, y, left_slope=first, right_slope=last)


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    p = small_function(8)  # every weight of its network counts
    network = univariate(p, layers=2)
    certificate = certify(p, network)
    return documents(tmp_path_factory.mktemp("line"), p, network, certificate)


def test_the_certificate_is_of_kind_line(proved):
    """What `certify` writes is accepted by the stand-alone checker, and shows equality."""
    assert proved[2]["kind"] == "line"
    assert check(*proved) == 0


def test_every_changed_weight_is_refused(proved):
    """Each weight and each bias moved by 1e-30, one at a time: the network is another one, and is refused."""
    function, network, proof = proved
    for l, layer in enumerate(network["layers"]):
        for k in range(len(layer["entries"]) + len(layer["bias"])):
            wrong = copy.deepcopy(network)
            if k < len(layer["entries"]):
                entry = wrong["layers"][l]["entries"][k]
                entry[2] = str(Fraction(entry[2]) + Fraction(1, 10**30))
            else:
                i = k - len(layer["entries"])
                wrong["layers"][l]["bias"][i] = str(Fraction(layer["bias"][i]) + Fraction(1, 10**30))
            with pytest.raises(Refused):
                check(function, wrong, proof)


def test_every_changed_law_is_refused(proved):
    """Each slope and each offset of the function moved by 1e-30."""
    function, network, proof = proved
    for j in range(len(function["pieces"])):
        for name in ("gradient", "offset"):
            wrong = copy.deepcopy(function)
            piece = wrong["pieces"][j]
            flat = np.ravel(piece[name]).tolist()
            flat[0] = str(Fraction(flat[0]) + Fraction(1, 10**30))
            piece[name] = [flat] if name == "gradient" else flat
            with pytest.raises(Refused):
                check(wrong, network, proof)


@pytest.mark.parametrize(
    "change",
    [
        {"direction": [0]},
        {"direction": []},
        {"direction": [1, 1]},
        {"direction": ["x"]},
        {"error_bound": "1/1000"},
        {"version": 2},
        {"inputs": 2},
        {"kind": "bends"},
        {"kind": "lines"},
        {"more": 1},
    ],
)
def test_a_changed_proof_is_refused(proved, change):
    """The proof has no field that may be something else; its direction may have any scale but 0."""
    function, network, proof = proved
    assert check(function, network, proof | {"direction": [-3]}) == 0
    with pytest.raises(Refused):
        check(function, network, proof | change)


def test_a_wrong_direction_is_refused():
    """A network that bends along another direction than the proof says is not walked along."""
    p = ridge(small_function(11), [2, -1], [0, 0])
    network = network_document(univariate(p, layers=2))
    proof = prove_line(p, univariate(p, layers=2))
    with pytest.raises(Refused, match="direction alone"):
        check(function_document(p), network, proof | {"direction": [2, 1]})


def test_a_difference_comes_with_a_point():
    """`certify` names a rational point at which a wrong network differs, also if by 1e-30 only."""
    p = small_function(4)
    network = univariate(p, layers=2)
    weight, bias = network.exact[-1]
    wrong = Network([*network.exact[:-1], (weight, bias + Fraction(1, 10**30))])
    with pytest.raises(ProofError, match="differ: at x ="):
        certify(p, wrong)


def test_rounded_weights_have_a_proven_bound():
    """Weights rounded to doubles: the exact network is proved by a walk, the rest is the bound of kind "rounded"."""
    p = CPWL.from_simplices(
        [[Fraction(i, 3)] for i in range(12)], [[i, i + 1] for i in range(11)], [i * i % 7 for i in range(12)]
    )
    exact = univariate(p, layers=2)
    network = rounded(exact, np.float64)
    with without_regions():
        certificate = certify(p, network, rounded_from=exact)
    assert certificate.proved
    assert certificate.document["proof"]["kind"] == "line"
    assert certify(p, network).error_bound <= certificate.error_bound < Fraction(1, 10**9)
