"""`equal`: proofs, witnesses and gaps against all activation patterns tried one by one, and planted differences."""

import itertools
import math
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from cpwl import compile
from cpwl.equality import Verdict, equal, regions
from cpwl.equality.regions import difference, law_of_pattern
from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import fraction_array
from cpwl.exact.simplex import maximize
from cpwl.io import to_onnx
from cpwl.network import Network
from cpwl.network.algorithms import extremum, identity
from cpwl.network.network import exact_layers
from support.functions import five_pieces
from support.network_changes import box, normal, shuffled, with_change
from support.strategies import networks, points


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


@pytest.mark.one_in(2)
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
    from cpwl.network.algorithms import end_to_end

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


@pytest.mark.slow
def test_trained_network_and_its_files(tmp_path):
    """The float64 file of a trained network is equal to it; the float32 file is within rounding, by the exact gap."""
    from cpwl.io import from_onnx, from_torch

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


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_statement_where_doubles_cannot_tell(outputs):
    """Several outputs, one of which differs by 1e-30: the sentence says by how much."""
    gradient, offset = [[Fraction(1, 3)]] * outputs, [Fraction(1)] * outputs
    a, b = Network([(gradient, offset)]), Network([(gradient, [*offset[:-1], 1 + Fraction(1, 10**30)])])
    statement = equal(a, b).statement
    assert "1e-30 apart" in statement
    assert statement.startswith("different: at x = ")
