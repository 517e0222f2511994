"""Proofs for float data: a consistent function near it, a proof for that, and how near it is."""

import copy
import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from cpwl import CPWL, ConstructionError, Network, ProofError, certify, compile, distance
from cpwl.documents.write import function_document, network_document
from cpwl.exact.rational import fraction_array
from cpwl.function.jump import largest_jump
from cpwl.io.mpqp import from_active_sets
from cpwl.network.network import exact_layers
from cpwl.proofs.provers.bends import propose_bends
from cpwl.proofs.provers.near import nearest
from cpwl.proofs.question import Question
from cpwl_check.budget import Refused
from cpwl_check.cones import piece_cone, region
from cpwl_check.decide import check
from cpwl_check.main import main
from cpwl_check.near import BITS, Leaves, farthest, steepness, unavoidable
from cpwl_check.pieces import read_function, read_network
from cpwl_check.reading import number
from shallow import random_shallow
from support.catalogue import function, names
from support.functions import delaunay, five_pieces, three_piece_cut
from support.proof_examples import function as function_of
from support.proof_examples import network
from support.proof_oracle import claim_is_true
from support.proofs import rounded, without_regions
from support.rational_pieces import piece_data, points_in_pieces, with_noise

FLOAT = [name for name in names("float") if name in names("bounded")]


@pytest.fixture(autouse=True)
def other_kinds():
    """These tests are about other kinds of proofs than "regions", which would come first."""
    with without_regions():
        yield


@cache
def made(name):
    """A float function, the network of gates near it, and its certificate; None where there is none."""
    p = function(name)
    try:
        network = compile(p, construction="gates").network
    except ConstructionError:
        return None
    return p, network, certify(p, network)


def with_proof(name):
    """The same, if it was proved by a function nearby."""
    found = made(name)
    if found is None or not found[2].proved or found[2].document["kind"] != "near":
        pytest.skip("no consistent function near it, or it needs none")
    return found


@pytest.mark.parametrize("name", FLOAT)
def test_the_bound_holds_on_every_piece(name):
    """At rational points of the pieces as they were given the network is within the bound of the law."""
    p, network, certificate = with_proof(name)
    pieces = piece_data(p)
    for j, x in points_in_pieces(p, 4, 0):
        value = network(fraction_array(np.array([x], dtype=object)))[0]
        laws = [sum((g * v for g, v in zip(law, [*x, 1], strict=True)), Fraction(0)) for law in pieces[j].laws]
        assert max(abs(u - v) for u, v in zip(value, laws, strict=True)) <= certificate.error_bound


@pytest.mark.parametrize("name", FLOAT)
def test_the_checker_agrees_and_refuses_a_smaller_bound(name):
    """The stand-alone checker shows the same bound, and nothing below it."""
    p, network, certificate = with_proof(name)
    documents = function_document(p), network_document(network), certificate.document
    assert check(*documents) == certificate.error_bound
    less = certificate.document | {"error_bound": str(certificate.error_bound * Fraction(999, 1000))}
    with pytest.raises(Refused):
        check(*documents[:2], less)


def mpc():
    return with_proof("control_law")


def test_a_real_control_law_is_within_a_billionth():
    """The explicit MPC law: fewer neurons than regions, and a bound that says something."""
    p, network, certificate = mpc()
    assert network.sizes.neurons < p.num_pieces
    assert certificate.error_bound < Fraction(1, 10**9)


def has_thirds(network):
    """Whether some weight is no float, so that rounding changes it."""
    return any(Fraction(float(v)) != v for weight, bias in exact_layers(network) for v in (*weight.data, *bias))


def test_rounded_weights_are_proved_too():
    """The float64 weights of the same network: the bound takes both in."""
    every = (found for found in map(made, FLOAT) if found is not None and found[2].kind == "near of bends")
    p, network, certificate = next(found for found in every if has_thirds(found[1]))
    other = rounded(network, np.float64)
    proof = certify(p, other, rounded_from=network)
    assert proof.document["proof"]["kind"] == "rounded"
    assert certificate.error_bound < proof.error_bound < Fraction(1, 10**9)
    assert check(function_document(p), network_document(other), proof.document) == proof.error_bound


def test_no_corrupted_proof_passes():
    """A wrong piece, a point outside, a missing tree, a moved law of the function inside: all refused."""
    p, network, certificate = mpc()
    head = function_document(p), network_document(network)

    def refused(change):
        document = copy.deepcopy(certificate.document)
        change(document)
        with pytest.raises(Refused):
            check(*head, document)

    refused(lambda d: d["pieces"].pop())
    refused(lambda d: d["pieces"].reverse())
    refused(lambda d: d["pieces"][0].update(points=[[1000] * p.dim]))
    refused(lambda d: d["pieces"].__setitem__(0, None))
    refused(lambda d: d["function"]["pieces"][0].update(offset=["1/7"]))
    refused(lambda d: d.update(proof=d))
    refused(lambda d: d["function"]["pieces"][0].update(b=[v + 1 for v in d["function"]["pieces"][0]["b"]]))


def test_a_network_that_is_off_is_not_proved():
    """A bias moved by 1e-3: a witness, never a proof."""
    p, network, _ = mpc()
    layers = [(w.toarray(), b.copy()) for w, b in exact_layers(network)]
    layers[-1][1][0] += Fraction(1, 1000)
    with pytest.raises(ProofError):
        certify(p, Network(layers))


UNBOUNDED = {
    "hinges": lambda: with_noise(random_shallow(2, 4, 3), 1e-13, 0),
    "hinges in space": lambda: with_noise(random_shallow(3, 3, 0), 1e-13, 1),
    "five pieces": lambda: with_noise(five_pieces(), 1e-12, 2),
    "hinges with lines": lambda: with_noise(random_shallow(7, 2, 0), 1e-13, 1),  # along lines data leaves its piece
}


@cache
def unbounded(name):
    p = UNBOUNDED[name]()
    network = compile(p, construction="gates").network
    return p, network, certify(p, network)


@pytest.mark.parametrize("name", sorted(UNBOUNDED))
def test_unbounded_data_is_proved_within_a_bound_that_grows(name):
    """At rational points of the pieces, far out too, the network is within a + b max|x_i| of the law; b is small."""
    p, network, certificate = unbounded(name)
    level, slope = certificate.error_bound
    assert certificate.document["kind"] == "near"
    assert level < Fraction(1, 10**9)
    assert slope < Fraction(1, 10**9)
    pieces = piece_data(p)
    for j, x in points_in_pieces(p, 6, 0):
        value = network(fraction_array(np.array([x], dtype=object)))[0]
        laws = [sum((g * v for g, v in zip(law, [*x, 1], strict=True)), Fraction(0)) for law in pieces[j].laws]
        assert max(abs(u - v) for u, v in zip(value, laws, strict=True)) <= level + slope * max(map(abs, x))


@pytest.mark.parametrize("name", sorted(UNBOUNDED))
def test_the_checker_refuses_unbounded_proofs_that_say_less(name):
    """A smaller a, a smaller b, none at all, a slope left out or turned, a region in another piece: all refused."""
    p, network, certificate = unbounded(name)
    head = function_document(p), network_document(network)
    assert check(*head, certificate.document) == certificate.error_bound
    a, b = certificate.error_bound

    def leaves(tree):
        if tree is None:
            return []
        return [tree] if "piece" in tree else leaves(tree["below"]) + leaves(tree["above"])

    def refused(change):
        document = copy.deepcopy(certificate.document)
        change(document)
        with pytest.raises(Refused):
            check(*head, document)

    def at_slopes(document, change):
        for tree in document["pieces"]:
            for leaf in leaves(tree):
                if "slope" in leaf:
                    change(leaf)

    count = len(certificate.document["function"]["pieces"])
    refused(lambda d: d.update(error_bound=[str(a * Fraction(999, 1000)), str(b)]))
    refused(lambda d: d.update(error_bound=[str(a), str(b * Fraction(999, 1000))]))
    refused(lambda d: d.update(error_bound=str(a)))
    refused(lambda d: at_slopes(d, lambda leaf: leaf.pop("slope")))
    refused(lambda d: at_slopes(d, lambda leaf: leaf.update(slope=[str(-Fraction(v)) for v in leaf["slope"]])))
    refused(lambda d: at_slopes(d, lambda leaf: leaf.update(piece=(leaf["piece"] + 1) % count)))


def beside(rng):
    """A law on [c, d] near that of a kinked function on [0, 1], or of one on [0, 1] x R, and networks of one layer.

    The network is the function there, whatever it is elsewhere; leaves name a partner for what is outside.
    """
    c, d, k = (Fraction(int(v), 16) for v in (rng.integers(-6, 4), rng.integers(8, 22), rng.integers(-9, 9)))
    f, s = ([Fraction(int(v), 8) for v in rng.integers(-8, 9, 2)] for _ in range(2))
    lined = bool(rng.integers(2))
    n = 1 + lined
    tilt = Fraction(int(rng.integers(-3, 4)), 64)
    rows = [[1, tilt][:n], [-1, -tilt][:n]], [d, -c]
    hinges = [[*[1, 0][:n], 0], [*[1, 0][:n], -1], [*[-1, 0][:n], 0], [*[1, 0][:n], 2], [*[-1, 0][:n], -2]]
    # On [0, 1]: s(x) = x, s(x - 1) = 0, s(-x) = 0, and what is linear is s(x + 2) - s(-x - 2) = x + 2.
    net = network(hinges, [[0, k, -k, s[0], -s[0], s[1] - 2 * s[0]]])
    law, meant = (
        function_of(n, [(*some, [g[0], *([0] * lined)], g[1])])
        for some, g in ((rows, f), (([[1, 0][:n], [-1, 0][:n]], [1, 0]), s))
    )
    inner = {"format": "cpwl-proof", "version": 1, "kind": "line", "inputs": n, "error_bound": 0}
    leaf = {"piece": 0, "points": [[0, 0][:n], [1, 0][:n]]} | ({"lines": [[0, 1]]} if lined else {})
    proof = {"format": "cpwl-proof", "version": 1, "kind": "near", "inputs": n, "error_bound": ["1000", "1000"]}
    proof |= {"function": meant, "proof": inner | {"direction": [1, 0][:n]}, "pieces": [leaf]}
    return json.loads(json.dumps([law, net, proof], default=str))


@pytest.mark.parametrize("seed", range(60))
def test_what_is_shown_beside_a_piece_is_true_at_all_corners_of_the_network(seed):
    """The least bound that the checker shows holds by a slow oracle, which looks at every linear piece of both."""
    law, net, proof = beside(np.random.default_rng(seed))
    read = [read_function(law), read_function(proof["function"])]
    layers = read_network(net, read[0].n, 1)
    a, b = farthest(*read, layers, proof["pieces"])
    proof["error_bound"] = [str(a), str(b)]
    assert check(law, net, proof) == (a, b)
    assert claim_is_true(law, net, proof)
    for less in ([str(a - Fraction(1, 10**30)), str(b)], [str(a), str(b - Fraction(1, 10**30))]):
        with pytest.raises(Refused):
            check(law, net, proof | {"error_bound": less})


@pytest.mark.parametrize("seed", range(20))
def test_the_steepness_holds_the_gradient_at_every_point_of_the_box(seed):
    """Exact gradients at rational points, from the neurons that are on there; and slopes everywhere hold them, too."""
    rng = np.random.default_rng(seed)
    sizes = [2, 4, 3, 1]
    weights = [rng.integers(-9, 10, (m, k + 1)) for k, m in pairwise(sizes)]
    layers = [
        [{j: Fraction(int(w), 7) for j, w in enumerate(row) if w} for row in weight] for weight in weights
    ]  # the bias comes last, as the checker holds it
    low = [Fraction(int(v), 5) for v in rng.integers(-9, 9, 2)]
    high = [v + Fraction(int(w), 11) for v, w in zip(low, rng.integers(0, 9, 2), strict=True)]
    local, everywhere = steepness(layers, 2, (low, high))[0], steepness(layers, 2, None)[0]
    for _ in range(20):
        t = rng.integers(0, 65, 2)
        x = [u + (v - u) * Fraction(int(s), 64) for u, v, s in zip(low, high, t, strict=True)]
        value, slope = np.array(x, dtype=object), np.array([[1, 0], [0, 1]], dtype=object)
        for depth, weight in enumerate(weights):
            matrix = np.array([[Fraction(int(w), 7) for w in row] for row in weight], dtype=object)
            value, slope = matrix[:, :-1] @ value + matrix[:, -1], matrix[:, :-1] @ slope
            if depth < 2:
                on = value > 0
                value, slope = np.where(on, value, 0), np.where(on[:, None], slope, 0)
        for k in range(2):
            assert local[k][0] <= slope[0, k] * 2**BITS <= local[k][1]
            assert everywhere[k][0] <= slope[0, k] * 2**BITS <= everywhere[k][1]


def test_a_small_box_tells_the_slope_exactly():
    """Where no neuron bends in the box the intervals are points, but for 2^-BITS."""
    layers = [[{0: 1, 1: 1}, {0: 1, 1: -3}], [{0: Fraction(1, 3), 1: 5, 2: 0}]]
    (slope,), (wide,) = (steepness(layers, 1, box)[0] for box in (([0], [1]), ([0], [4])))
    assert (slope[1] - slope[0]) <= 2
    assert abs(slope[0] - Fraction(2**BITS, 3)) <= 2
    assert wide[1] >= Fraction(16, 3) * 2**BITS


def test_what_is_inside_may_grow_and_a_partner_is_elsewhere():
    """A network that is within E' max|x_i| of the function inside is so at the partner, not at the point."""
    cases = (beside(np.random.default_rng(seed)) for seed in range(60))
    law, net, proof = next(case for case in cases if Fraction(case[0]["pieces"][0]["b"][0]) > 1)
    read = [read_function(law), read_function(proof["function"])]
    layers = read_network(net, read[0].n, 1)
    still, growing = (farthest(*read, layers, proof["pieces"], Fraction(v)) for v in (0, 1))
    assert growing[0] > still[0]


@cache
def uneven():
    """A table on `linspace` axes, the network for it on the even lattice, and the proof."""
    values = np.random.default_rng(5).integers(-9, 10, (4, 7))
    p = CPWL.from_grid([np.linspace(0, 1, 4), np.linspace(0, 0.7, 7)], values)
    even = p.snap(even=True).function
    network = compile(even, construction="gates").network
    return p, network, certify(p, network)


def test_a_table_on_a_lattice_that_rounding_has_moved_is_proved_near():
    """The network of the even table is within rounding of the table as given, by a slow oracle as well."""
    p, network, certificate = uneven()
    assert certificate.document["kind"] == "near"
    assert 0 < certificate.error_bound < Fraction(1, 10**12)
    documents = function_document(p), network_document(network), certificate.document
    assert "simplices" in documents[0]
    assert check(*documents) == certificate.error_bound
    assert claim_is_true(*documents)
    assert not claim_is_true(*documents[:2], certificate.document | {"error_bound": 0})


def test_the_checker_refuses_tables_that_are_farther_away():
    """A smaller bound, other simplices, boxes that do not hold them, one table with rows: all refused."""
    p, network, certificate = uneven()
    head = function_document(p), network_document(network)

    def refused(change, reason):
        document = copy.deepcopy(certificate.document)
        change(document)
        with pytest.raises(Refused, match=reason):
            check(*head, document)

    least = certificate.error_bound - Fraction(1, 10**30)
    other = certificate.document["pieces"][-1]["piece"]
    refused(lambda d: d.update(error_bound=str(least)), "its a is less than")
    refused(lambda d: d["pieces"][0].update(piece=other), "outside the box|its a is less than")
    refused(lambda d: d["pieces"][0].update(piece=other, box=None), "its a is less than")
    refused(lambda d: d["pieces"][0].update(box=[[0, 0], ["1/1000", 1]]), "outside the box")
    refused(lambda d: d["pieces"][0].update(cut=[1, 0, 0]), "unknown")
    refused(lambda d: d["pieces"].pop(), "length")
    refused(lambda d: d["function"]["values"].__setitem__(0, [7]), "the network is not|differ|is not the law|not equal")
    with pytest.raises(Refused, match="it has simplices, and the data has rows"):
        check(function_document(replace(p, mesh=None)), head[1], certificate.document)


def test_a_network_of_the_table_as_given_is_still_proved_equal():
    """That points are nearly even does not take away what can be shown."""
    p, _, _ = uneven()
    assert certify(p, compile(p, construction="gates").network).error_bound == 0


def test_a_network_that_is_off_by_more_than_rounding_is_refuted():
    """Nearly even points are no excuse for values that are off by 1e-6 of the slopes."""
    p, network, _ = uneven()
    layers = [(w.toarray(), b.copy()) for w, b in exact_layers(network)]
    layers[-1][1][0] += Fraction(1, 10**4)
    with pytest.raises(ProofError):
        certify(p, Network(layers))


def test_exactly_consistent_floats_on_the_whole_plane_are_proved_equal():
    """Integers in float arrays are what they say: the bound is 0, on all of R^2."""
    p = three_piece_cut()
    floats = CPWL.from_pieces(
        [body.integer()[:, :-1].astype(float) for body in p.polyhedra],
        [body.integer()[:, -1].astype(float) for body in p.polyhedra],
        p.laws.gradient,
        p.laws.offset,
    )
    assert floats.tol > 0
    network = compile(floats, construction="gates").network
    assert certify(floats, network).error_bound == 0


def in_space(points):
    """A random table on the Delaunay simplices of points of a cube, as half-spaces with noise."""
    return with_noise(delaunay(3, points, 1), 1e-13, 0)


def proved_in_space(points):
    """The data, the network of gates, its certificate, and the verdict of the stand-alone program on the files."""
    p = in_space(points)
    made = compile(p, construction="gates", certify=True)
    certificate = made.certificate
    documents = function_document(p), network_document(made.network), certificate.document
    assert certificate.kind == "near of bends"
    assert check(*documents) == certificate.error_bound
    return p, certificate, documents


def test_noisy_simplices_in_space_are_proved_near():
    """Three inputs: a bound against the data, and beside it what no function is nearer than."""
    p, certificate, documents = proved_in_space(9)
    assert 0 < certificate.unavoidable == largest_jump(p).unavoidable <= certificate.error_bound < Fraction(1, 10**9)
    assert unavoidable(read_function(documents[0]), documents[2]["jump"]) == certificate.unavoidable


def test_regions_cut_by_neurons_are_as_near_as_the_network_is():
    """A bounded region cut by the neurons shows the supremum of |N - f| on it, which a slow search confirms; on a
    region without bound, and with more in the leaf, such a leaf is refused."""
    rng = np.random.default_rng(5)
    layers = [(rng.integers(-3, 4, (4, 2)), rng.integers(-3, 4, 4)), (rng.integers(-3, 4, (3, 4)), [1, 0, -1])]
    net = Network([*layers, ([[1, -2, 1]], ["1/3"])])
    p = CPWL.from_pieces([[[1, 0], [-1, 0], [0, 1], [0, -1]]], [[1, 1, 1, 1]], [[2, -1]], [1])
    law = read_function(function_document(p))
    shown = Leaves(law, read_network(network_document(net), 2, 1), Fraction(0))
    part, cut = piece_cone(law.pieces[0], 2), {"cut by": "neurons"}
    level, slope = shown.shown(law.pieces[0], part, cut, "here")
    assert slope == 0
    assert abs(level - distance(p, net).largest) < Fraction(1, 10**50)
    grid = fraction_array(np.stack(np.meshgrid(*[np.linspace(-1, 1, 65)] * 2), axis=-1).reshape(-1, 2))
    seen = max(abs(u - v) for u, v in zip(net(grid)[:, 0], p(grid)[:, 0], strict=True))
    assert level - Fraction(1, 4) < seen <= level
    for other, leaf in ((region(2, [[1, 0, 1]]), cut), (part, cut | {"piece": 0}), (part, {"cut by": "hand"})):
        with pytest.raises(Refused):
            shown.shown(law.pieces[0], other, leaf, "here")


def by_neurons(p, net):
    """What a leaf that is cut by neurons shows for the only piece of a function."""
    law = read_function(function_document(p))
    shown = Leaves(law, read_network(network_document(net), p.dim, p.outputs), Fraction(0))
    return shown.shown(law.pieces[0], piece_cone(law.pieces[0], p.dim), {"cut by": "neurons"}, "here")[0]


@pytest.mark.parametrize("seed", range(6))
def test_only_open_neurons_cut_a_region_and_nothing_is_lost(seed):
    """Networks of four layers, with neurons that are dead, always on, or 0 at a corner of the region alone: the
    supremum of |N - f| is that of common cells, on small regions, on thin ones, and on one that all neurons cut."""
    rng = np.random.default_rng(seed)
    widths = [2, 5, 4, 3, 2]
    layers = [(rng.integers(-3, 4, (b, a)), rng.integers(-6, 7, b)) for a, b in pairwise(widths)]
    net = Network(layers)
    for low, high in (([-2, -2], [2, 2]), ([0, 1], [1, 2]), ([-3, Fraction(1, 10**15)], [3, Fraction(2, 10**15)])):
        b = [high[0], -low[0], high[1], -low[1]]
        slopes, offsets = rng.integers(-3, 4, (1, 2, 2)), rng.integers(-3, 4, (1, 2))
        p = CPWL.from_pieces([[[1, 0], [-1, 0], [0, 1], [0, -1]]], [b], slopes, offsets)
        assert abs(by_neurons(p, net) - distance(p, net).largest) < Fraction(1, 10**50)


@pytest.mark.parametrize("digits", [0, 15, 30])
def test_a_tiny_bump_of_the_network_is_seen_by_a_leaf_that_is_cut(digits):
    """A hat of height 1 over a short interval in a large region, behind a layer that is on everywhere."""
    w, place = Fraction(1, 10**digits), Fraction(1, 3)
    first = ([[1, 0], [0, 1]], [100, 100])
    second = ([[1, 0]] * 3, [-100 - place + w, -100 - place, -100 - place - w])
    net = Network([first, second, ([[1 / w, -2 / w, 1 / w]], [0])])
    p = CPWL.from_pieces([[[1, 0], [-1, 0], [0, 1], [0, -1]]], [[50] * 4], [[0, 0]], [0])
    assert abs(by_neurons(p, net) - 1) < Fraction(1, 10**20)


@pytest.mark.slow
def test_hundreds_of_noisy_simplices_in_space_are_proved_near():
    """More than 300 of them, which takes some minutes: thin ones at the hull are cut by the neurons of the network."""
    p, certificate, _ = proved_in_space(70)
    assert p.num_pieces > 300
    assert certificate.error_bound < Fraction(1, 10**7)


def test_the_verdict_tells_what_is_unavoidable(tmp_path, capsys):
    """The stand-alone program prints the bound and the part of it that overlapping pieces make unavoidable."""
    p, network, certificate = with_proof("noisy_table")
    files = [tmp_path / name for name in ("law.json", "net.json", "proof.json")]
    for path, document in zip(
        files, (function_document(p), network_document(network), certificate.document), strict=True
    ):
        path.write_text(json.dumps(document))
    assert main([*map(str, files), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert 0 < told["unavoidable"] <= certificate.unavoidable <= told["error_bound"]
    assert "no function is within" in told["reason"]


def test_numbers_whose_parts_are_short_enough_are_read():
    """A fraction may have more digits in all than Python reads in one integer."""
    long = "7" * 4000
    assert number(f"{long}/{'3' * 4000}") == Fraction(int(long), int("3" * 4000))


def not_facet_to_facet():
    """Three decisions of a quadratic program whose regions do not meet facet to facet (Spjotvold, Kerrigan, Jones,
    Tondel and Johansen 2006), exactly."""
    program = {
        "Q": np.eye(3, dtype=int),
        "H": np.zeros((3, 2), dtype=int),
        "c": [0, 0, 0],
        "A": [[1, 0, -1], [-1, 0, -1], [0, 1, -1], [0, -1, -1], ["3/4", "16/25", -1], ["-3/4", "-16/25", -1]],
        "b": [-1] * 6,
        "F": [[1, 0], [-1, 0], [0, -1], [0, 1], [1, 0], [-1, 0]],
        "A_t": [[1, 0], [-1, 0], [0, 1], [0, -1]],
        "b_t": ["3/2"] * 4,
    }
    active = [[0, 2], [0, 4], [1, 3], [1, 5], [2, 5], [3, 4]]
    active += [[0, 2, 4], [0, 2, 5], [0, 3, 4], [1, 2, 5], [1, 3, 4], [1, 3, 5]]
    return from_active_sets(program, active)


@pytest.mark.parametrize("seed", [0, 1])
def test_gates_on_planes_that_floats_cannot_tell_apart_are_proved(seed):
    """Rows of pieces that do not meet facet to facet differ by rounding: each gate is proved on its own one."""
    p = with_noise(not_facet_to_facet(), 1e-16, seed)
    certificate = certify(p, compile(p, construction="gates").network)
    assert certificate.proved
    assert certificate.error_bound < 1e-13


def test_a_gate_is_told_from_facets_of_the_hull_that_all_points_where_it_is_open_lie_on():
    """In floats nothing speaks against such a plane: a gate is taken for one on the plane where it is 0 exactly."""
    data = with_noise(delaunay(3, 14, 16), 1e-13, 0)
    p, made = replace(data.snap().function, mesh=None), compile(data, construction="gates").network
    proof = next(propose_bends(Question(p, made))).document
    assert check(function_document(p), network_document(made), proof) == 0


def test_rows_of_integers_beyond_float64_have_a_nearest_point():
    """Rows are compared by exact quotients: their integers may be longer than any float."""
    big = 10**400
    assert nearest([(big, 0), (-big, 2 * big)], [Fraction(3)], [], 1) == [Fraction(2)]
