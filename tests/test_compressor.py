"""`compress`: smaller networks, each proved equal, with exact evaluation and pinned sizes as the oracle."""

import itertools
import json
import warnings
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from cpwl import compressor
from cpwl.cli import main
from cpwl.compressor import compress
from cpwl.equality import equal
from cpwl.errors import CpwlWarning, InputError
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.io import from_onnx, to_onnx
from cpwl.io.json import load, save
from cpwl.network import Network
from cpwl.network.algorithms import extremum, identity, side_by_side
from cpwl.regions.pieces import find_pieces
from support import catalogue
from support.strategies import networks, points

BOX = ([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 1, 1, 1])


def compiled(name, construction):
    """A network of the catalogue, however float64 would round it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CpwlWarning)
        return catalogue.compiled(name, construction).network


def test_sixty_neurons_are_looked_at_on_the_domain():
    """Of 60 neurons 12 never bend in the box: they go although the regions are too many to be counted."""
    rng = np.random.default_rng(0)
    weight, bias = rng.integers(-3, 4, (60, 2)), rng.integers(-1, 2, 60)
    weight[:, 0] = rng.integers(1, 4, 60)
    bias[:12] = 10
    network = Network([(weight, bias), (rng.integers(1, 4, (1, 60)), [0])])
    assert compress(network, domain=BOX, max_regions=1).after.neurons <= 49  # one carries what the twelve were


@settings(max_examples=12)
@given(st.data())
def test_keeps_the_function_and_never_grows(data):
    """Exact values at rational points are kept, neurons and nonzeros do not grow, and the verdict says proved."""
    network = data.draw(networks(max_depth=3, max_width=2))
    found = compress(network)
    x = data.draw(points(network.inputs))
    assert (found.network(x) == network(x)).all()
    assert found.verdict.equal
    assert found.after == found.network.sizes
    assert (found.after.neurons, found.after.nonzeros) <= (found.before.neurons, found.before.nonzeros)


@pytest.mark.parametrize(
    ("name", "construction", "neurons"),
    [("hat", "paper", 3), ("sum_norm", "lattice", 4), ("absolute_value", "paper", 2), ("plane_hinge", "paper", 1)],
)
def test_networks_of_few_pieces_become_small(name, construction, neurons):
    """The paper's networks for hinge functions shrink to one neuron a bend, two where all of space needs both sides."""
    network = compiled(name, construction)
    found = compress(network)
    assert found.after.neurons == neurons <= found.before.neurons


def test_layers_are_read_off_many_regions():
    """Too many regions for other constructions: the layers of a network in space, with neurons that nobody needs."""
    rng = np.random.default_rng([9, 3, 10, 10, 1])
    layers = [(rng.integers(-9, 10, s) / 4, rng.integers(-9, 10, s[0]) / 2) for s in ((10, 3), (10, 10), (1, 10))]
    found = compress(Network(layers), box=(-1, 1), effort=0)
    assert found.method == "extract and compile"
    assert found.after.neurons <= 14


def test_duplicates_are_found():
    """A network beside itself, summed up, is as small as one of the two."""
    one = extremum([[1, 0], [0, 1], [-1, -1]], [0, 1, 2])
    layers = list(side_by_side([one, one]).layers)
    weight, bias = layers[-1]
    layers[-1] = weight[:1] + weight[1:], bias[:1] + bias[1:]
    assert compress(Network(layers)).after.neurons <= one.sizes.neurons


def test_domains_make_smaller_networks():
    """On a domain where a neuron is always on or off it is folded away; elsewhere it is kept."""
    network = Network([([[1, 0], [0, 1]], [5, -7]), ([[1, 1]], [0])])
    assert compress(network, domain=BOX).after.neurons == 0
    assert compress(network).after.neurons == 2


@settings(max_examples=25)
@given(st.data())
def test_neurons_that_never_bend(data):
    """Folding what is on, or off, in all regions of a domain keeps the values there, whatever is left."""
    network = data.draw(networks(inputs=2, max_width=4))
    domain = data.draw(st.sampled_from([None, BOX, ([[1, 0], [0, 1]], [1, 1])]))
    body = None if domain is None else Polyhedron.from_rows(*domain)
    pieces = find_pieces(network, body, True)
    other = compressor._folded(network, pieces.signs, body)
    x = data.draw(points(2)) / 9
    assert (other(x) == network(x)).all()


def test_nothing_smaller_gives_the_network_itself():
    """A network of one neuron stays as it is."""
    network = Network([([[1, 2]], [3]), ([[1]], [0])])
    found = compress(network)
    assert found.network is network
    assert found.method == "unchanged"


def test_wrong_candidates_are_not_kept(monkeypatch):
    """A pass that changes the function by 1e-12 is caught by the proof, and the original stays."""
    network = compiled("hat", "paper")
    wrong = Network([([[0]], [Fraction(1, 10**12)])])
    monkeypatch.setattr(compressor, "_candidates", lambda *_: iter([("simplify", wrong)]))
    assert compress(network).network is network


def test_only_networks():
    """Anything but a network is refused."""
    with pytest.raises(InputError, match="`compress` takes a Network, not an int"):
        compress(3)


def test_command_writes_a_smaller_file(tmp_path, capsys):
    """The file that is written holds a smaller network that is proved equal to the one read."""
    source, output = tmp_path / "in.onnx", tmp_path / "out.onnx"
    to_onnx(compiled("hat", "paper"), source)
    assert main(["compress", str(source), "-o", str(output)]) == 0
    assert "proved equal" in capsys.readouterr().out
    assert from_onnx(output).sizes.neurons == 3
    assert equal(from_onnx(source), from_onnx(output)).equal


def test_command_tells_how_far_rounding_is_off(tmp_path, capsys):
    """Weights that float64 cannot hold are rounded on the way out: JSON tells the exact gap of the file."""
    source, output = tmp_path / "in.json", tmp_path / "out.onnx"
    thirds = Network([([["1/3", 0], ["2/3", 0], [0, "-1/7"]], [0, 0, 0]), ([[1, 1, 1]], [0])])
    save(thirds, source)
    assert main(["compress", str(source), "-o", str(output), "--box", "-1", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["proof"]["equal"] is True
    assert answer["after"]["neurons"] == 2 < answer["before"]["neurons"]
    assert answer["written"]["equal"] is False
    assert Fraction(answer["written"]["gap_exact"]) == equal(thirds, from_onnx(output), domain=BOX).gap < 1e-15


def test_command_writes_exact_json(tmp_path, capsys):
    """A JSON file keeps rationals: what is written is equal."""
    source, output = tmp_path / "in.json", tmp_path / "out.json"
    network = Network([([["1/3"], ["2/3"]], [0, 0]), ([[1, 1]], [0])])
    save(network, source)
    assert main(["compress", str(source), "-o", str(output)]) == 0
    assert "rounded" not in capsys.readouterr().out
    assert equal(network, load(output)).equal


def test_command_keeps_what_is_small(tmp_path, capsys):
    """Where nothing smaller is found the network itself is written."""
    source, output = tmp_path / "in.onnx", tmp_path / "out.onnx"
    to_onnx(identity(2, 1), source)
    assert main(["compress", str(source), "-o", str(output)]) == 0
    assert "no smaller one was found" in capsys.readouterr().out
    assert np.array_equal(from_onnx(output)([[1.0, 2.0]]), [[1.0, 2.0]])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["in.onnx", "-o", "in.onnx"], 64), (["in.onnx", "-o", "out.txt"], 64), (["nowhere.onnx", "-o", "out.onnx"], 65)],
)
def test_command_refuses(tmp_path, capsys, arguments, code):
    """Wrong usage is 64, bad input 65, and nothing is written."""
    to_onnx(identity(1, 1), tmp_path / "in.onnx")
    assert main(["compress", *(str(tmp_path / a) if "." in a else a for a in arguments)]) == code
    assert "error" in capsys.readouterr().err
    assert {p.name for p in tmp_path.iterdir()} == {"in.onnx"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["star_fan", "nested_squares", "kuhn_plane"])
def test_larger_networks(name):
    """Networks of Algorithm 1 with hundreds of neurons shrink to a tenth."""
    found = compress(compiled(name, "paper"))
    assert found.verdict.equal
    assert 10 * found.after.neurons <= found.before.neurons


@pytest.mark.parametrize("widths", [(2, 24, 24, 1), (9, 12, 1)])
def test_an_interruption_is_not_answered_with_the_same_network(widths):
    """Neither where regions are subdivided nor where they are walked: a part of them says nothing."""
    rng = np.random.default_rng(0)
    layers = [(rng.normal(size=(k, n)), rng.normal(size=k)) for n, k in itertools.pairwise(widths)]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compress(Network(layers), progress=stop)
