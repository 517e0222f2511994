"""The table of proof kinds, and that nothing is proved but what the stand-alone checker accepted, as it is saved."""

import itertools
import json
import random
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, ConstructionError, InputError, Network, ProofError, certify, compile, extract, solve_mpqp
from cpwl.documents.write import function_document, network_document
from cpwl.io.json import save
from cpwl.proofs.certify import Certificate
from cpwl.proofs.kinds import KINDS
from cpwl_check import decide as every
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from support.catalogue import BY_NAME, SOLE, compiled, function
from support.programs import projection
from support.proofs import documents, rounded, without_regions

HINGE = Network([([[1, 0]], [0]), ([[1]], [0])])
HALVES = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[0, 0], [1, 0]], [0, 0])


def test_each_kind_of_the_table_has_a_checker():
    """A module of its own, of the same name."""
    # A network of integers is made with its proof (`certify_integers`); no other network has one.
    assert {kind.name for kind in KINDS} | {"integer"} == set(every.KINDS)
    for kind, decides in (every.PLAIN | every.HOLDING).items():
        assert decides.__module__ == f"cpwl_check.{kind.replace('-', '_')}"


def networks():
    """A question for each kind: function, network, and the exact network where that is rounded."""
    yield function("plane_hinge"), compiled("plane_hinge", "lattice").network, None
    yield function("one_box"), compiled("one_box", "auto").network, None
    yield function("sawtooth"), compiled("sawtooth", "auto").network, None
    exact = compiled("wrong_for_algorithm_1", "gates").network
    yield function("wrong_for_algorithm_1"), exact, None
    few = CPWL.from_grid([[0, 1, 3], [0, 2, 3]], [[0, 3, 1], [2, -1, 4], [1, 5, 0]])
    yield few, compile(few, construction="clamped").network, None
    yield few, compile(few, construction="gates").network, None
    yield few, compile(few, construction="strips").network, None
    apart = SOLE["sums"][0]()
    yield apart, compile(apart, construction="sums").network, None
    even = SOLE["fold"][0]()
    yield even, compile(even, construction="fold").network, None
    exact = compiled("thirds_and_sevenths", "auto").network
    yield function("thirds_and_sevenths"), rounded(exact, np.float64), exact
    yield function("rounded_thirds"), compiled("rounded_thirds", "gates").network, None
    yield function("one_box"), compile(function("one_box"), outside="clip").network, None
    law = solve_mpqp(projection([[1], [-1]], [1, 1]))
    yield law, compile(law).network, None


def test_what_another_kind_refuses_is_no_obstacle():
    """Clamped gates of two outputs, which the prover of windows takes for windows until its checker refuses."""
    values = [[[0, 1], [1, 2], [2, 0]], [[2, 1], [0, 0], [1, 5]], [[5, 1], [1, 2], [1, 1]]]
    p = CPWL.from_grid([[0, "1/3", 1], ["1/7", 2, 3]], values)
    assert certify(p, compile(p, construction="clamped").network).kind == "clamped"


def test_a_saturation_inside_its_pieces_is_no_clipped_network():
    """``min(1, max(x, -1))`` on -3 <= x <= 3 in two neurons: what is behind the saturation is x, not the function."""
    rows = [[[1], [-1]], [[-1], [1]], [[1], [-1]]]
    p = CPWL.from_pieces(rows, [[1, 1], [-1, 3], [-1, 3]], [[1], [0], [0]], [0, 1, -1])
    assert certify(p, Network([([[1]], [1]), ([[-1]], [2]), ([[-1]], [1])])).error_bound == 0


@pytest.mark.parametrize("refused", [True, False])
def test_the_checker_has_the_last_word(tmp_path, monkeypatch, refused):
    """For every kind: what it accepts is proved, with the bound that it found; what it refuses is not."""
    asked = []

    def decide(law, weights, proof):
        asked.append((law, weights, proof))
        if refused:
            raise Refused("no", [])
        return check(law, weights, proof)

    monkeypatch.setattr("cpwl.proofs.kinds.check", decide)
    seen = set()
    for (p, network, exact), kinds in itertools.product(networks(), (nullcontext, without_regions)):
        asked.clear()
        with kinds():
            proof = certify(p, network, rounded_from=exact)
        assert proof.proved is not refused
        assert asked
        if not refused:
            seen.add(proof.document["kind"])
            saved = documents(tmp_path, p, network, proof)
            assert json.loads(json.dumps(asked[-1])) == json.loads(json.dumps(saved))
            assert check(*saved) == proof.error_bound
    assert refused or seen >= {kind.name for kind in KINDS} - {
        "columns",
        "windows",
        "multiplexed",
    }  # they have tests of their own


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_proved_is_what_is_saved(tmp_path, name):
    """The document of a function and that of its network are the files that `save` writes."""
    for value, document in ((function(name), function_document), (compiled(name, "auto").network, network_document)):
        save(value, tmp_path / "file.json")
        assert json.loads((tmp_path / "file.json").read_text("utf-8")) == document(value)


# --- Functions with lines ---------------------------------------------------------------------------------------------


def few_bends(seed, exactly):
    """A function on R^4 to R^8 that bends in fewer directions than it has inputs."""
    rng = random.Random(seed)
    n, m = rng.randint(4, 8), rng.randint(1, 3)
    row = [[Fraction(rng.randint(-4, 4), rng.choice([1, 1, 2])) for _ in range(n)] for _ in range(m)]
    bias, factor = ([rng.randint(-4, 4) for _ in range(m)] for _ in range(2))
    return extract(Network([(row, bias), ([factor], [0])]), exact=exactly)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_functions_with_lines_are_proved_on_all_coordinates(tmp_path, seed, exactly):
    """Multipliers are found on the coordinates that matter, and hold with the rows of the file on all of them."""
    p = few_bends(seed, exactly)
    for construction in ("hinge", "lattice"):
        network = compile(p, construction=construction).network
        proof = certify(p, network)
        assert proof.proved, proof.reason
        assert check(*documents(tmp_path, p, network, proof)) == proof.error_bound


def test_a_row_with_a_divisor_on_some_coordinates_only(tmp_path):
    """2 x + y <= 2 is x <= 1 on the line y = 0; its multiplier is that of 2 x + y <= 2."""
    A = [[[2.0, 1.0, 0.0, 0.0]], [[-2.0, -1.0, 0.0, 0.0]]]
    p = CPWL.from_pieces(A, [[2.0], [-2.0]], [[0.0] * 4, [2.0, 1.0, 0.0, 0.0]], [0.0, -2.0])
    network = compile(p, construction="lattice").network
    proof = certify(p, network)
    assert proof.proved
    assert check(*documents(tmp_path, p, network, proof)) == proof.error_bound


# --- Noise far out ----------------------------------------------------------------------------------------------------


def thirds(n, seed):
    """A network whose weights are no doubles; as a function in floats its laws fit up to rounding."""
    rng = random.Random(seed)
    row = [[Fraction(rng.randint(-4, 4), 3) for _ in range(n)] for _ in range(3)]
    return Network([(row, [rng.randint(-4, 4) for _ in range(3)]), ([[1, 2, -3]], [0])])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_noise_is_no_difference_however_far_out(seed):
    """On R^n values of float data differ by as much as one likes if one goes far enough: that refutes nothing."""
    p = extract(thirds(4, seed), exact=False)
    for construction in ("hinge", "lattice"):
        try:
            network = compile(p, construction=construction).network
        except ConstructionError:
            continue
        certify(p, network)  # no ProofError


def test_a_wrong_slope_is_a_difference_far_out():
    """Of float data on all of R^n, too: 1e-3 of the slope."""
    A = [[[1.0, 0.0]], [[-1.0, 0.0]]]
    p = CPWL.from_pieces(A, [[0.0], [0.0]], [[0.0, 0.0], [1.0 / 3, 0.0]], [0.0, 0.0])
    with pytest.raises(ProofError, match="differ"):
        certify(p, Network([([[1 / 3 + 1e-3, 0.0]], [0.0]), ([[1.0]], [0.0])]))


# --- Doors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [int, float])
def test_a_function_without_interior_is_refused(numbers):
    """All pieces empty, or flat: there is nothing to prove."""
    for b in ([-1, -1], [1, -1]):
        rows = [[numbers(1), numbers(0)], [numbers(-1), numbers(0)]]
        p = CPWL.from_pieces([rows], [[numbers(v) for v in b]], [[numbers(1), numbers(0)]], [numbers(0)])
        with pytest.raises(InputError, match="no piece of the function has an interior"):
            certify(p, HINGE)


def test_an_empty_piece_beside_others_is_no_obstacle():
    """Unbounded ones, for which a network of strips was looked for."""
    A = [[[1, 0]], [[-1, 0]], [[1, 0], [-1, 0]]]
    p = CPWL.from_pieces(A, [[0], [0], [-1, -1]], [[0, 0], [1, 0], [2, 2]], [0, 0, 0])
    assert certify(p, HINGE).error_bound == 0
    deep = Network([([[1, 1]] * 2, [0, 1]), ([[1, 1], [1, -1]], [0, 0]), ([[1, -1], [1, 1]], [0, 0]), ([[1, 1]], [0])])
    with pytest.raises(ProofError, match="differ"):
        certify(p, deep)


def test_swapped_and_strange_arguments_are_named():
    """One sentence each."""
    for p, network in ((HINGE, HALVES), (HALVES, compile(HALVES)), (HALVES, None), ("p", HINGE)):
        with pytest.raises(InputError, match="certify"):
            certify(p, network)
    with pytest.raises(InputError, match="maps"):
        certify(HALVES, HINGE, rounded_from=Network([([[1]], [0])]))


def test_a_certificate_is_one_short_line():
    """In a notebook; the document may be long."""
    proof = certify(HALVES, HINGE)
    assert repr(proof) == "Certificate(network = function on every piece, in exact arithmetic)"
    assert len(repr(Certificate(False, None, "not proved: " + "x" * 1000, None, None))) < 120
    assert proof.kind == proof.document["kind"]


def test_a_certificate_is_written_whole_or_not_at_all(tmp_path):
    """As `save` writes: a missing folder is an InputError, a link is followed, and nothing else is left behind."""
    proof = certify(HALVES, HINGE)
    with pytest.raises(InputError, match="cannot write"):
        proof.save(tmp_path / "missing" / "a.json")
    target, link = tmp_path / "a.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    proof.save(link)
    assert link.is_symlink()
    assert json.loads(target.read_text("utf-8")) == proof.document
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "link.json"}
    with pytest.raises(ProofError, match="no proof to save"):
        Certificate(False, None, "why", None, None).save(target)


def test_a_large_bound_refutes_nothing_unless_it_was_limited():
    """Two large weights that cancel, on the whole line: the bound by sizes is large, and the values are right."""
    p = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[0.0], [0.0]], [[0.0], [1.0]], [0.0, 0.0])
    large = Network([([[1], [1]], [0, 0]), ([[10**6 + 1, -(10**6)]], [0])])
    near = Network([([[1.0 + 1e-9], [1.0 + 1e-9]], [0.0, 0.0]), ([[1e6 + 1, -1e6]], [0.0])])
    proof = certify(p, near, rounded_from=large)
    assert not proof.proved
    assert "which is more than" in proof.reason
    with pytest.raises(ProofError, match="which is more than"):
        certify(p, near, rounded_from=large, max_error=1e-4)
