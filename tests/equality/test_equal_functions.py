"""`equal` for functions, alone and against networks, and round trips between the two."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from cpwl import CPWL, certify, compile, extract
from cpwl.equality import decide, equal
from cpwl.errors import CpwlWarning, InputError
from cpwl.network import Network
from cpwl.network.algorithms import extremum, identity
from cpwl.network.network import exact_layers
from support import catalogue
from support.functions import five_pieces
from support.network_changes import box
from support.strategies import networks


def compiled(name):
    """A function of the catalogue and the network that is made of it, however float64 would round that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CpwlWarning)
        return catalogue.function(name), catalogue.compiled(name, "auto").network


def prove_by_regions(name, monkeypatch):
    """Equality without the help of a certificate."""
    monkeypatch.setattr(decide, "_is_certified", lambda *_: False)
    p, network = compiled(name)
    verdict = equal(network, p)
    assert verdict.equal, verdict.statement


FEW = [
    "constant",
    "hat",
    "half_line",
    "sum_norm",
    "half_plane",
    "point_contact",
    "star_fan",
    "nested_squares",
    "slivers",
]
FEW += ["strips", "kuhn_space", "three_outputs", "pinwheel_with_a_crease", "wrong_for_algorithm_1", "many_inputs"]


@pytest.mark.parametrize("name", FEW)
def test_compiled_networks_equal_their_functions(name, monkeypatch):
    """The network that is compiled from a function is proved equal to it region by region."""
    prove_by_regions(name, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in catalogue.names(without="float") if name not in FEW])
def test_the_whole_catalogue(name, monkeypatch):
    """The same for all exact functions of the catalogue."""
    prove_by_regions(name, monkeypatch)


@pytest.mark.parametrize("name", ["hat", "sum_norm", "kuhn_plane", "nested_squares", "three_outputs"])
def test_corrupted_networks_are_told_apart(name):
    """A changed offset is a difference everywhere, and the gap is exactly the change."""
    p, network = compiled(name)
    layers = [[weight, bias] for weight, bias in exact_layers(network)]
    layers[-1][1] = layers[-1][1] + Fraction(1, 10**12)
    for verdict in (equal(p, Network(layers)), equal(Network(layers), p)):
        assert verdict.equal is False
        assert verdict.gap == Fraction(1, 10**12)


def test_certificate_and_regions_agree():
    """What a certificate proves at once the regions prove, too."""
    p = five_pieces()
    network = compile(p).network
    assert certify(p, network).error_bound == 0
    assert "linear regions" in equal(p, network).reason
    assert equal(p, network).equal
    assert equal(p, network, domain=box(2)).equal


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "name", ["five_pieces_cut_up", "bricks", "delaunay_cut_up", "table_cut_up", "sum_norm_in_space_cut_up"]
)
def test_merged_functions_are_equal(name):
    """Merging pieces keeps the function."""
    p = catalogue.function(name)
    assert p.merge().num_pieces < p.num_pieces
    assert equal(p, p.merge()).equal
    assert equal(p.merge(), p).gap == 0


def test_tables_with_one_value_changed():
    """Two tables that differ in one value differ by exactly that much, at that point."""
    values = [[0, 1, 0], [2, "1/3", 1], [0, 1, 1]]
    p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], values)
    values[1][1] = Fraction(1, 3) + Fraction(1, 10**20)
    q = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], values)
    verdict = equal(p, q)
    assert verdict.witness.tolist() == [1, 1]
    assert verdict.gap == Fraction(1, 10**20)


def test_functions_on_all_of_space():
    """Differences of unbounded functions may grow without bound."""
    p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    q = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=2)
    verdict = equal(p, q)
    assert verdict.gap == math.inf
    assert p([verdict.witness])[0, 0] != q([verdict.witness])[0, 0]
    assert equal(p, q, domain=([[1]], [0])).equal


def test_functions_on_different_domains_differ():
    """A function on part of the domain of another is another function, with a point where one is not defined."""
    p, q = CPWL.from_breakpoints([0, 1], [0, 0]), CPWL.from_simplices([[0], [1]], [[0, 1]], [0, 0])
    for verdict in (equal(p, q), equal(q, p)):
        assert verdict.equal is False
        assert [v is None for v in verdict.values].count(True) == 1
    assert equal(p, q, domain=box(1, 0, 1)).equal


def test_function_against_network_on_its_domain():
    """A function with a bounded domain is compared there, and nowhere else."""
    p = CPWL.from_simplices([[0], [1]], [[0, 1]], [0, 1])
    assert equal(p, Network([([[1], [1]], [0, -1]), ([[1, 5]], [0])])).equal
    verdict = equal(p, Network([([[1], [1]], [0, "-1/2"]), ([[1, 5]], [0])]))
    assert (verdict.gap, verdict.witness.tolist()) == (Fraction(5, 2), [1])


def test_pieces_of_float_data_that_overlap():
    """Rounded data is taken as it is: the gap says by how much its own pieces disagree."""
    p, network = compiled("noisy_table")
    verdict = equal(network, p)
    assert verdict.equal is False
    assert 0 < verdict.gap < 1e-6
    assert np.abs(verdict.values[0] - verdict.values[1]).max() == verdict.gap


@pytest.mark.parametrize(
    ("a", "b", "domain", "message"),
    [
        (identity(1, 1), identity(2, 1), None, r"the first maps R\^1 to R\^1, the second R\^2 to R\^2"),
        (identity(1, 1), abs, None, "not a builtin_function_or_method"),
        (identity(1, 1), identity(1, 2), ([[1], [-1]], [0, 0]), "the domain has no interior"),
        (identity(1, 1), identity(1, 2), ([[1, 1]], [0]), "rows of length 2"),
        (
            CPWL.from_simplices([[0], [1]], [[0, 1]], [0, 1]),
            identity(1, 1),
            ([[1], [-1]], [2, 0]),
            r"not defined at x = \(2\)",
        ),
        (CPWL.from_simplices([[0], [1]], [[0, 1]], [0, 1]), identity(1, 1), ([[1]], [1]), "not defined at x"),
    ],
)
def test_refused_questions(a, b, domain, message):
    """What cannot be compared is refused in one sentence."""
    with pytest.raises(InputError, match=message):
        equal(a, b, domain=domain)


# Round trips


@settings(max_examples=12)
@given(networks(outputs=1))
def test_extracted_functions_equal_their_networks(network):
    """What is read off a network is the function that it computes, with its pieces merged or not."""
    for merge in (False, True):
        assert equal(extract(network, merge=merge), network).equal


@pytest.mark.parametrize("name", ["hat", "sum_norm", "five_pieces_cut_up", "point_contact", "strips"])
def test_compiled_and_extracted_is_the_function(name):
    """``extract(compile(p).network)`` equals `p`."""
    p, network = compiled(name)
    assert equal(extract(network, exact=True), p).equal


@pytest.mark.parametrize("seed", range(3))
def test_extracted_and_compiled_is_the_network(seed):
    """``compile(extract(network))`` equals the network, for floats of few digits on a box."""
    rng = np.random.default_rng(seed)
    network = Network(
        [(rng.integers(-4, 5, size=(3, 2)) / 4, rng.integers(-4, 5, size=3) / 4), (np.ones((1, 3)), [0.0])]
    )
    p = extract(network, domain=box(2), exact=True)
    assert equal(compile(p, construction="paper").network, network, domain=box(2)).equal


def test_partial_functions_are_refused():
    """What was extracted in part is no function on the whole domain."""
    network = extremum([[1, 0], [0, 1], [-1, -1]], [0, 0, 0])
    part = extract(network, max_regions=2)
    with pytest.raises(InputError, match="extracted in part"):
        equal(part, network)
