"""Tables and breakpoints of rounded samples compile to the size of what was sampled, within a proved distance."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import cpwl
from cpwl import CPWL
from cpwl.documents.write import function_document, network_document
from cpwl.errors import ProofError
from cpwl.function.snap.line import ends_of_runs
from cpwl.function.snap.snap import undone
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from cpwl_check.pieces import read_function, solved

SAMPLED = {
    "the sum of two absolute values": lambda x, y: abs(x) + abs(y),
    "a saturation": lambda x, y: np.clip(0.3 * x - 0.3 * y, -0.12, 0.18),
    "a plane": lambda x, y: 0.1 * x + 0.7 * y - 0.3,
}


def sampled(f, m):
    axis = np.linspace(-1, 1, m)
    return CPWL.from_grid([axis, axis], f(axis[:, None], axis))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("m", [6, 11])
@pytest.mark.parametrize("name", SAMPLED)
def test_samples_of_a_function_with_few_pieces_cost_what_it_does(name, m):
    """The saturation has its bends on the diagonals of the grid only for a step of 0.2 or 0.4: 11 and 6 points."""
    c = cpwl.compile(sampled(SAMPLED[name], m), certify=True)
    assert c.sizes.neurons <= {"a plane": 1, "a saturation": 2 if m == 11 else 20}.get(name, 4)
    assert c.certificate.proved
    assert c.certificate.error_bound < 1e-14


def test_two_outputs_of_which_each_has_its_own_bends():
    axis = np.linspace(-1, 1, 7)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    p = CPWL.from_grid([axis, axis], np.stack([abs(x) - 0.1 * y, np.maximum(0.3 * y, 0.1)], axis=-1))
    c = cpwl.compile(p, certify=True)
    assert c.certificate.proved
    assert c.sizes.neurons < cpwl.compile(p, precision="exact").sizes.neurons


def test_in_space_many_laws_are_not_looked_for(monkeypatch):
    """Beyond the limit a table of samples is put on its even grid, and its laws stay as they are."""
    x, y, z = np.meshgrid(*[np.linspace(-1, 1, 4)] * 3, indexing="ij")
    values = np.sin(3 * x) * np.cos(2 * y) + z**2
    tables = [CPWL.from_grid([np.linspace(-1, 1, 4)] * 3, values) for _ in range(2)]
    one = undone(tables[0])
    monkeypatch.setattr("cpwl.function.snap.snap._LAWS", 10)
    two = undone(tables[1])
    assert one.num_components < two.num_components
    assert two.num_pieces == tables[1].num_pieces


def test_no_error_allowed_means_that_the_samples_are_taken_as_they_are():
    p = sampled(SAMPLED["a plane"], 4)
    c = cpwl.compile(p, precision="exact", certify=True)
    assert c.certificate.error_bound == 0
    assert c.sizes.neurons > cpwl.compile(p).sizes.neurons


def test_fractions_and_values_in_general_position_stay():
    rng = np.random.default_rng(0)
    assert undone(CPWL.from_grid([range(6), range(6)], rng.random((6, 6)))) is None
    axis = [Fraction(k, 7) for k in range(8)]
    bent = [[abs(x - Fraction(3, 7)) + Fraction(k, 10**20) for k in range(8)] for x in axis]
    assert undone(CPWL.from_grid([axis, range(8)], bent)) is None
    assert undone(CPWL.from_breakpoints(axis, [x + Fraction(k * k, 10**20) for k, x in enumerate(axis)])) is None


@pytest.mark.one_in(2)
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_runs_stay_within_the_tolerance_at_every_breakpoint(seed, bounded):
    """Both functions are straight between the breakpoints of the data, so that these decide."""
    rng = np.random.default_rng(seed)
    x = np.unique(rng.uniform(-2, 2, 60))
    y = np.interp(x, np.linspace(-2, 2, 5), rng.normal(size=5))
    p = CPWL.from_grid([x], y) if bounded else CPWL.from_breakpoints(x, y)
    q = undone(p)
    assert q.num_pieces < 0.5 * p.num_pieces
    assert np.abs(q(x[:, None]) - p(x[:, None])).max() < 1e-12
    certificate = cpwl.certify(p, cpwl.compile(q).network)
    assert certificate.proved


def test_ends_of_runs_are_within_reach_of_all_points_between():
    rng = np.random.default_rng(1)
    x, y = np.sort(rng.random(300)), np.cumsum(rng.normal(size=(300, 2)), axis=0) * 0.01
    little = np.array([0.02, 0.05])
    ends = ends_of_runs(x, y, little)
    assert ends[0] == 0
    assert ends[-1] == 299
    assert len(ends) < 250
    for a, b in itertools.pairwise(ends):
        share = ((x[a : b + 1] - x[a]) / (x[b] - x[a]))[:, None]
        chord = y[a] + share * (y[b] - y[a])
        assert (np.abs(y[a : b + 1] - chord) <= little + 1e-12).all()


def test_a_network_that_is_neither_is_refuted_however_little_it_is_off():
    p = sampled(SAMPLED["the sum of two absolute values"], 6)
    network = cpwl.compile(p).network
    *layers, (weight, bias) = network.exact
    off = cpwl.Network([*layers, (weight, bias + Fraction(1, 10**30))])
    with pytest.raises(ProofError):
        cpwl.certify(p, off)


def test_laws_of_simplices_are_solved_for_their_coefficients():
    p = CPWL.from_grid([[0, 1, 3], [0, Fraction(1, 3), 2]], [[1, 2, 0], [5, -1, 2], [0, 0, 7]])
    for piece, law in zip(read_function(function_document(p)).pieces, p.laws.integer(), strict=True):
        ((numbers, below),) = solved(piece)
        assert [Fraction(v, below) for v in numbers] == [Fraction(v, law[0][-1]) for v in law[0][:-1]]


def test_a_proof_for_another_table_is_refused():
    p = sampled(SAMPLED["the sum of two absolute values"], 6)
    c = cpwl.compile(p, certify=True)
    document = function_document(p)
    network = network_document(c.network)
    check(document, network, c.certificate.document)
    document["values"][0][0] = "2001/1000"
    with pytest.raises(Refused):
        check(document, network, c.certificate.document)


def test_a_function_inside_with_simplices_is_no_function_for_data_with_rows():
    p = sampled(SAMPLED["the sum of two absolute values"], 6)
    c = cpwl.compile(p, certify=True)
    rows = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[-1, 0], [1, 0]], [0, 0])
    proof = c.certificate.document | {"function": function_document(p), "pieces": [{"piece": 0}, {"piece": 1}]}
    with pytest.raises(Refused):
        check(function_document(rows), network_document(c.network), proof)
