"""`equal`: proofs, witnesses and gaps against all activation patterns tried one by one, and planted differences."""

import itertools
import json
import math
import warnings
from fractions import Fraction

import catalogue
import hypothesis.strategies as st
import numpy as np
import pytest
from functions import abs_sum, five_pieces
from hypothesis import given, settings
from strategies import networks, points

from cpwl import CPWL, compile, extract, to_onnx
from cpwl.cli import main
from cpwl.equality import Verdict, decide, equal, regions
from cpwl.equality.difference import difference, law_of_pattern
from cpwl.errors import CpwlWarning, InputError
from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import fraction_array
from cpwl.exact.simplex import maximize
from cpwl.formats.json import save
from cpwl.network import Network, extremum, identity
from cpwl.network.network import exact_layers


def box(n, low=-1, high=1):
    """The rows of the box ``[low, high]^n``."""
    return [*np.eye(n, dtype=int), *-np.eye(n, dtype=int)], [high] * n + [-low] * n


def states(network, rows):
    """All pairs (rows, law) of activation patterns, closed and perhaps without interior, that hold somewhere."""
    n = network.inputs
    layers = [(weight.toarray(), bias) for weight, bias in exact_layers(network)]
    h = np.concatenate([fraction_array(np.eye(n)), fraction_array(np.zeros((n, 1)))], axis=1)
    found = [(rows, h)]
    for weight, bias in layers[:-1]:
        following = []
        for known, h in found:
            z = weight @ h
            z[:, -1] += bias
            for on in itertools.product((False, True), repeat=len(bias)):
                side = np.array([[-1 if s else 1] for s in on], dtype=object)
                more = known + [[*row[:-1], -row[-1]] for row in side * z]
                if lp(more, [0] * n).status != "infeasible":
                    following.append((more, z * np.array([[int(s)] for s in on], dtype=object)))
        found = following
    weight, bias = layers[-1]
    for known, h in found:
        law = weight @ h
        law[:, -1] += bias
        yield known, law


def lp(rows, objective):
    """The largest value of the objective, exactly."""
    rows = fraction_array(np.array(rows, dtype=object).reshape(-1, len(objective) + 1))
    return maximize(integer_rows(np.zeros(rows.shape), rows), [Fraction(v) for v in objective])


def largest(a, b, domain=None):
    """The largest difference by trying all patterns of both networks: a slow, independent reference."""
    frame = [] if domain is None else [[*map(Fraction, row), Fraction(v)] for row, v in zip(*domain, strict=True)]
    best = Fraction(0)
    for rows, law in states(a, frame):
        for more, other in states(b, rows):
            for form in [*(law - other), *(other - law)]:
                top = lp(more, form[:-1])
                if top.status == "unbounded":
                    return math.inf
                if top.status == "optimal":
                    best = max(best, top.value + form[-1])
    return best


def shuffled(network, seed=0):
    """The same function in other clothes: hidden neurons permuted, scaled by powers of two, and one of them halved."""
    rng = np.random.default_rng(seed)
    layers = [[weight.toarray(), bias] for weight, bias in exact_layers(network)]
    for i in range(len(layers) - 1):
        order = rng.permutation(len(layers[i][1]))
        scale = np.array([Fraction(2) ** int(e) for e in rng.integers(-2, 3, len(order))], dtype=object)
        layers[i][0], layers[i][1] = layers[i][0][order] * scale[:, None], layers[i][1][order] * scale
        layers[i + 1][0] = layers[i + 1][0][:, order] / scale
        layers[i][0], layers[i][1] = (
            np.vstack([layers[i][0], layers[i][0][:1]]),
            np.append(layers[i][1], layers[i][1][0]),
        )
        half = layers[i + 1][0][:, :1] / 2
        layers[i + 1][0] = np.hstack([half, layers[i + 1][0][:, 1:], half])
    return Network(layers)


def with_change(network, layer, row, column, change):
    """The network with one weight changed."""
    layers = [[weight.toarray(), bias] for weight, bias in exact_layers(network)]
    layers[layer][0][row, column] += Fraction(change)
    return Network(layers)


def normal(sizes, seed=0):
    """A random float network."""
    rng = np.random.default_rng(seed)
    return Network([(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in itertools.pairwise(sizes)])


def trained(seed=0):
    """A network of 2-6-6-1 after some steps of training towards ``|x| - max(x, y)``, in float64."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(seed)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 1)).double()
    x = torch.rand(256, 2, dtype=torch.float64) * 2 - 1
    goal = x[:, :1].abs() - x.max(dim=1, keepdim=True).values
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        ((model(x) - goal) ** 2).mean().backward()
        optimizer.step()
    return model


# Networks


@settings(max_examples=25)
@given(st.data())
def test_gap_is_that_of_the_reference(data):
    """On a box the verdict, the gap and the witness agree with all activation patterns tried one by one."""
    n = data.draw(st.integers(1, 2))
    a, b = (data.draw(networks(inputs=n, outputs=1, max_width=2)) for _ in range(2))
    verdict, gap = equal(a, b, domain=box(n, -2, 3)), largest(a, b, box(n, -2, 3))
    assert verdict.gap == gap
    assert verdict.equal is (gap == 0)
    if gap:
        assert np.abs(a(verdict.witness) - b(verdict.witness)).max() == gap
        assert all(-2 <= x <= 3 for x in verdict.witness)


@settings(max_examples=20)
@given(st.data())
def test_gap_on_all_of_space_is_that_of_the_reference(data):
    """Without a domain the gap may be infinite, and is so exactly where the reference says so."""
    n = data.draw(st.integers(1, 2))
    a, b = (data.draw(networks(inputs=n, outputs=1, max_width=2, max_depth=2)) for _ in range(2))
    verdict, gap = equal(a, b), largest(a, b)
    assert verdict.gap == gap
    if gap:
        difference_there = np.abs(a(verdict.witness) - b(verdict.witness)).max()
        assert difference_there > 0 if gap == math.inf else difference_there == gap


@settings(max_examples=30)
@given(networks(max_width=4))
def test_other_clothes_are_equal(network):
    """Permuting, scaling and splitting neurons changes nothing, on all of space and on a box."""
    other = shuffled(network)
    assert equal(network, other).equal
    assert equal(network, other, domain=box(network.inputs)).gap == 0


@settings(max_examples=30)
@given(st.data())
def test_difference_is_exact(data):
    """The network of the difference has the difference as its value, in rationals."""
    n, m = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    a, b = (data.draw(networks(inputs=n, outputs=m)) for _ in range(2))
    x = data.draw(points(n))
    assert (difference(a, b)(x) == a(x) - b(x)).all()


@settings(max_examples=30)
@given(st.data())
def test_law_of_the_pattern_at_a_point(data):
    """The law of the pattern that holds at a point has the value of the network there."""
    network = data.draw(networks())
    x = data.draw(points(network.inputs, 1))[0]
    h, on = x, []
    for weight, bias in exact_layers(network)[:-1]:
        z = weight @ h + bias
        on += [v > 0 for v in z]
        h = np.array([max(v, Fraction(0)) for v in z], dtype=object)
    law = law_of_pattern(network, np.array(on, dtype=bool))
    assert (law[:, :-1] @ x + law[:, -1] == network(x)).all()


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("sizes", [(2, 8, 8, 1), (3, 6, 5, 2), (1, 10, 10, 3)])
def test_planted_differences(sizes, layer):
    """One weight changed by 1e-9 is found, with a point that shows it and the largest difference on a box."""
    a, x = normal(sizes), np.random.default_rng(1).uniform(-1, 1, size=(40, sizes[0]))
    places = np.ndindex(*a.layers[layer][0].shape)
    changed = (with_change(a, layer, *place, 1e-9) for place in places)
    # Neurons may be off on the whole box: the first change that a few points show is taken.
    b = next(b for b in changed if (a(fraction_array(x)) != b(fraction_array(x))).any())
    verdict = equal(a, b, domain=box(sizes[0]))
    assert verdict.equal is False
    there = np.abs(a(verdict.witness) - b(verdict.witness)).max()
    assert there == verdict.gap > 0
    assert verdict.gap >= np.abs(a(fraction_array(x)) - b(fraction_array(x))).max()


def test_a_difference_that_no_float_sees():
    """A weight changed by 1e-30 is found, and the gap on [-1, 1] is exactly that."""
    a = Network([([["1"], ["-1"]], ["1/3", 0]), ([[1, 1]], [0])])
    b = with_change(a, 1, 0, 0, Fraction(1, 10**30))
    assert equal(a, b, domain=box(1)).gap == Fraction(4, 3) / 10**30


def test_a_difference_in_a_small_place():
    """A bump of width 1e-6 far from the origin is found by the regions, whatever random points see."""
    tent = [([[1.0]] * 3, [-5.0, -5.0000005, -5.000001])], [([[1.0, -2.0, 1.0]], [0.0])]
    bump = Network([tent[0][0], tent[1][0]])
    verdict = equal(bump, Network([([[0.0]], [0.0])]))
    assert verdict.equal is False
    assert abs(verdict.witness[0] - Fraction(5.0000005)) < Fraction(1, 10**6)
    assert 4e-7 < verdict.gap < 6e-7


def test_maxima_in_any_order():
    """The maximum of five affine functions is the same network in any order of them."""
    gradient, offset = np.array([[1, 0], [0, 1], [-1, -1], [2, -1], [0, -2]]), np.arange(5)
    order = [3, 1, 4, 0, 2]
    assert equal(extremum(gradient, offset), extremum(gradient[order], offset[order])).equal


def test_depth_does_not_matter():
    """A network followed by an identity of any depth is the same function."""
    from cpwl.network import end_to_end

    network = Network([([["1/3", 2], [0, 1]], [1, 0]), ([[1, -1]], ["1/7"])])
    assert equal(network, end_to_end(network, identity(1, 4))).equal


def test_limits_leave_it_undecided():
    """Beyond `max_regions` nothing is claimed, unless a difference was seen."""
    a = extremum([[1, 0], [0, 1], [-1, -1]], [0, 0, 0])
    b = extremum([[0, 1], [-1, -1], [1, 0]], [0, 0, 0])
    verdict = equal(a, b, max_regions=2)
    assert (verdict.equal, verdict.witness, verdict.gap) == (None, None, None)
    assert verdict.statement == "undecided: compared on 2 linear regions, and there are more than 2"
    p = five_pieces()
    assert equal(p, p.merge().take(np.arange(4, -1, -1)), max_regions=2).equal is None
    assert equal(p, compile(p).network, domain=box(2), max_regions=2).equal is None
    verdict = equal(a, with_change(b, 0, 0, 0, 1), max_regions=2)
    assert verdict.equal is False
    assert verdict.gap is None


def test_truth_of_a_verdict():
    """A verdict is true only where equality was proved."""
    assert equal(identity(2, 1), identity(2, 3))
    assert not equal(identity(1, 1), Network([([[2]], [0])]))
    assert not Verdict(None, None, (None, None), None, 0, "")


@settings(max_examples=12)
@given(st.data())
def test_walking_and_subdividing_agree(data):
    """Both ways to go through all regions give the same gap, on boxes and on all of space."""
    n = data.draw(st.integers(1, 3))
    a, b = (data.draw(networks(inputs=n, outputs=2, max_width=3)) for _ in range(2))
    domain = data.draw(st.sampled_from([None, box(n, -2, 1)]))
    ours = equal(a, b, domain=domain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "_LOW", 0)
        walked = equal(a, b, domain=domain)
    assert (walked.equal, walked.gap) == (ours.equal, ours.gap)
    if walked.witness is not None:
        assert (a(walked.witness) != b(walked.witness)).any()


def test_many_inputs():
    """In ten dimensions a planted difference is found, and other clothes are proved equal."""
    a = normal((10, 6, 4, 1))
    assert equal(a, shuffled(a), domain=box(10)).equal
    verdict = equal(a, with_change(a, 2, 0, 0, "1/8"), domain=box(10))
    assert verdict.equal is False
    assert verdict.gap == np.abs(a(verdict.witness) - with_change(a, 2, 0, 0, "1/8")(verdict.witness)).max()


def test_trained_network_and_its_files(tmp_path):
    """The float64 file of a trained network is equal to it; the float32 file is within rounding, by the exact gap."""
    from cpwl import from_onnx, from_torch

    model = trained()
    network = from_torch(model)
    to_onnx(network, tmp_path / "a.onnx")
    to_onnx(network, tmp_path / "b.onnx", dtype="float32")
    assert equal(network, from_onnx(tmp_path / "a.onnx"), domain=box(2)).equal
    verdict = equal(network, from_onnx(tmp_path / "b.onnx"), domain=box(2))
    assert verdict.equal is False
    assert 0 < verdict.gap < 1e-5
    bias = [[weight.toarray(), offset.copy()] for weight, offset in network.layers]
    bias[-1][1][0] += 1e-9
    assert not equal(network, Network(bias), domain=box(2))


# Functions


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
    assert "certificate" in equal(p, network).reason
    assert "linear regions" in equal(p, network, domain=box(2)).reason
    assert equal(p, network, domain=box(2)).equal


@pytest.mark.parametrize(
    "name", ["five_pieces_cut_up", "bricks", "duplicates", "table_cut_up", "sum_norm_in_space_cut_up"]
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


# The command


@pytest.fixture
def files(tmp_path):
    """Files of one function in several forms, and of another that is nearly the same."""
    p = abs_sum(2)
    network = compile(p).network
    save(p, tmp_path / "law.json")
    save(network, tmp_path / "net.json")
    to_onnx(network, tmp_path / "net.onnx")
    to_onnx(shuffled(network), tmp_path / "other.onnx")
    to_onnx(with_change(network, 1, 0, 0, 1e-6), tmp_path / "wrong.onnx")
    return tmp_path


@pytest.mark.parametrize("one", ["law.json", "net.json", "net.onnx", "other.onnx"])
@pytest.mark.parametrize("two", ["law.json", "net.onnx"])
def test_command_proves(files, capsys, one, two):
    """Functions and networks in any mixture: exit code 0."""
    assert main(["equal", str(files / one), str(files / two), "--box", "-1", "1"]) == 0
    assert capsys.readouterr().out.startswith("equal: ")


def test_command_refutes(files, capsys):
    """Exit code 1, with a witness that onnxruntime replays, for people and for machines."""
    pytest.importorskip("onnxruntime")
    arguments = ["equal", str(files / "net.onnx"), str(files / "wrong.onnx"), "--box", "-1", "1"]
    assert main(arguments) == 1
    assert "onnxruntime on" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["equal"] is False
    assert Fraction(answer["gap_exact"]) == Fraction(1e-6) + Fraction(1) - 1 or answer["gap"] > 0
    a, b = (answer["onnxruntime"][str(files / name)][0] for name in ("net.onnx", "wrong.onnx"))
    assert abs(a - b) == pytest.approx(answer["gap"], rel=1e-6)


def test_command_gives_up(files, capsys):
    """Exit code 2 beyond the limit."""
    to_onnx(extremum([[1, 0], [0, 1], [-1, -1]], [0, 0, 0]), files / "a.onnx")
    to_onnx(extremum([[0, 1], [-1, -1], [1, 0]], [0, 0, 0]), files / "b.onnx")
    assert main(["equal", str(files / "a.onnx"), str(files / "b.onnx"), "--max-regions", "2", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["equal"] is None


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["net.onnx", "nowhere.onnx"], 65), (["net.onnx", "law.json", "--box", "1", "0"], 64), (["net.onnx"], 64)],
)
def test_command_refuses(files, capsys, arguments, code):
    """Wrong usage is 64, bad input 65, each with one message."""
    assert main(["equal", *(str(files / a) if "." in a else a for a in arguments)]) == code
    assert "error" in capsys.readouterr().err
