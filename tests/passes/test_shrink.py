"""`shrink`: fewer neurons, where weights may be chosen anew; exact values and `equal` are the oracle."""

import warnings
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial import Delaunay

from cpwl import CPWL, certify, compile, compress, equal
from cpwl.cli import main
from cpwl.compilation import searched
from cpwl.errors import CpwlWarning, InputError
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.io.json import load, save
from cpwl.network import Network
from cpwl.passes.shrink import shrink
from cpwl.regions.pieces import find_pieces
from support import catalogue
from support.strategies import networks, points

BOX = ([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 1, 1, 1])


def table(count=12, seed=0):
    """A function on a random triangulation of integer points."""
    rng = np.random.default_rng(seed)
    at = np.unique(rng.integers(-20, 21, (count, 2)), axis=0)
    return CPWL.from_simplices(at.tolist(), Delaunay(at).simplices, rng.integers(-9, 10, len(at)).tolist())


def shrunk(network, domain=None, effort=10.0):
    """What is left of a network on a domain."""
    body = None if domain is None else Polyhedron.from_rows(*domain)
    return shrink(network, find_pieces(network, body, True, spans=True).spans, effort)


@settings(max_examples=40)
@given(st.data())
def test_keeps_the_function_and_never_grows(data):
    """Exact values at rational points are kept, on all of the plane or on a box, and no layer grows."""
    network = data.draw(networks(inputs=2, max_depth=4, max_width=4))
    domain = data.draw(st.sampled_from([None, BOX]))
    body = None if domain is None else Polyhedron.from_rows(*domain)
    found = searched(network, body, 1.0)
    x = data.draw(points(2)) / 9
    assert (found(x) == network(x)).all()
    assert found.sizes.neurons <= network.sizes.neurons
    assert equal(found, network, domain=domain).equal


def test_a_neuron_that_matters_only_where_nobody_looks():
    """relu(x - 1) is read by a neuron that is negative there: its weight may be 0, so both values of it will do."""
    network = Network([([[1], [1], [-1]], [0, -1, 0]), ([[-1, 7, 1]], [Fraction(1, 2)]), ([[1]], [0])])
    wasteful = Network([network.layers[0], ([[-1, "1/3", 1]], [Fraction(1, 2)]), network.layers[2]])
    assert shrunk(wasteful, ([[1], [-1]], [2, 2])).sizes.neurons == wasteful.sizes.neurons - 1
    assert shrunk(network, ([[1], [-1]], [2, 2])) is network  # 7 (x - 1) is positive again at 2


def test_two_neurons_that_are_one():
    """relu(-x - 1) + relu(x - 1) is relu(|x| - 1); with opposite signs they are not one."""
    first = ([[1], [-1]], [0, 0])
    both = Network([first, ([[-1, 1], [1, -1]], [-1, -1]), ([[3, 3]], [2])])
    assert shrunk(both).sizes.neurons == 3
    odd = Network([first, ([[-1, 1], [1, -1]], [-1, -1]), ([[3, -3]], [2])])
    assert shrunk(odd) is odd


def test_a_sum_that_is_nowhere_negative():
    """2 relu(z) - relu(z) is one relu, of either sign; relu(z) - relu(z - 1) is none of a function below."""
    first = ([[1], [-1]], [0, 0])
    for sign in (1, -1):
        twice = Network([first, ([[1, 1], [1, 1]], [-1, -1]), ([[2 * sign, -sign]], [0])])
        assert shrunk(twice).sizes.neurons <= 3
    step = Network([first, ([[1, 1], [1, 1]], [-1, -2]), ([[1, -1]], [0])])
    assert shrunk(step).sizes.neurons == 4


@pytest.mark.parametrize(("name", "most"), [("delaunay_of_rationals", 28), ("largest_coordinate_norm", 8)])
def test_networks_of_the_catalogue_become_smaller(name, most):
    """A search leaves fewer neurons than the smallest construction has, and `certify` proves them."""
    p = catalogue.function(name)
    found = compile(p, effort=10.0, certify=True)
    assert found.construction == "search"
    assert found.sizes.neurons <= most < compile(p).sizes.neurons
    assert found.certificate.proved
    assert certify(p, found.network).proved


def test_effort_limits_the_work():
    """No effort leaves the network as it is; more never leaves more neurons; the same effort gives the same weights."""
    network = compile(table()).network
    cells = find_pieces(network, None, True, spans=True).spans
    assert shrink(network, cells, 0.0) is network
    sizes = [shrink(network, cells, effort).sizes.neurons for effort in (0.005, 0.05, 5.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < network.sizes.neurons
    one, two = (shrink(network, cells, 5.0) for _ in range(2))
    assert all((a[0].toarray() == b[0].toarray()).all() for a, b in zip(one.exact, two.exact, strict=True))


def test_without_effort_compile_and_compress_do_not_search():
    """The result is that of a construction, and of the other methods."""
    p = table()
    assert compile(p).construction == "gates"
    network = compile(p).network
    with_search, without = compress(network), compress(network, effort=0)
    assert "search" in with_search.method
    assert "search" not in without.method
    assert with_search.after.neurons < without.after.neurons
    assert with_search.verdict.equal
    with pytest.raises(InputError, match="`effort` must be"):
        compile(p, effort=-1)


def test_a_wrong_result_of_the_search_is_not_taken(monkeypatch):
    """A network that differs by 1e-12 is not a candidate of `compile`."""
    p = table()
    best = compile(p).network
    *layers, (weight, bias) = best.exact
    wrong = Network([*layers, (weight, bias + Fraction(1, 10**12))])
    monkeypatch.setattr("cpwl.compilation.searched", lambda *_: wrong)
    assert compile(p, effort=1.0).construction == "gates"


def test_cells_with_lines_are_left_alone():
    """Cells without corners have no places: the network stays as it is."""
    network = Network([([[1, 0], [2, 1]], [0, 0]), ([[1, 0]], [0])])
    assert searched(Network([([[1, 0], [1, 0]], [0, 1]), ([[1, 1]], [0])]), None, 1.0).sizes.neurons == 2
    assert shrunk(network, BOX).sizes.neurons == 1


def test_float_data():
    """Float pieces are searched as the exact function near them, and the proof bounds the distance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CpwlWarning)
        found = compile(catalogue.function("delaunay_cut_up"), effort=10.0, certify=True)
    assert found.certificate.proved
    assert found.sizes.neurons < 12


def test_commands(tmp_path, capsys):
    """`--effort` of both commands."""
    save(table(), tmp_path / "f.json")
    assert main(["compile", str(tmp_path / "f.json"), "-o", str(tmp_path / "net.json")]) == 0
    assert main(["compile", str(tmp_path / "f.json"), "-o", str(tmp_path / "few.json"), "--effort", "5"]) == 0
    assert main(["compress", str(tmp_path / "net.json"), "-o", str(tmp_path / "less.json")]) == 0
    assert "then search" in capsys.readouterr().out
    sizes = {name: load(tmp_path / f"{name}.json").sizes.neurons for name in ("net", "few", "less")}
    assert sizes["few"] < sizes["net"]
    assert sizes["less"] < sizes["net"]
    assert equal(load(tmp_path / "f.json"), load(tmp_path / "few.json")).equal
