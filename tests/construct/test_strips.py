"""Networks of strips: equal to the function point by point in rationals, as small as the table, proved and refused."""

import copy
import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import Delaunay

from cpwl import CPWL, Network
from cpwl.documents.write import function_document, network_document
from cpwl.errors import ConstructionError
from cpwl.proofs.certify import certify
from cpwl.proofs.entries import NoProof, NotRecognised
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from cpwl_check.strip import Bends, by_interval
from support.constructions import plane_gates, planned, strips
from support.functions import five_pieces
from support.planar import delaunay_on_box, delaunay_on_hull, differences, grid, with_hanging_nodes
from support.proofs import prove_strips
from support.rational_pieces import cut_up, cuts, from_data, piece_data, rings


def unit_square(points, seed):
    """Random points of the unit square with its corners, values N(0, 1)."""
    rng = np.random.default_rng(seed)
    place = np.concatenate([[[0, 0], [0, 1], [1, 0], [1, 1]], rng.random((points - 4, 2))])
    return CPWL.from_simplices(place, Delaunay(place).simplices, rng.standard_normal(points))


def stretched(p):
    """The same table far from the origin, long and thin."""
    place = [[10**6 + Fraction(v, c[2] * 2**20) for v in c[:1]] + [c[1] * 2**9 // c[2] - 7] for c in p.mesh.corners]
    return CPWL.from_simplices(place, p.mesh.simplices, p.mesh.values)


FUNCTIONS = {
    "Delaunay 0": lambda: delaunay_on_box(8, 0),
    "Delaunay 1": lambda: delaunay_on_box(14, 1),
    "slanted sides 0": lambda: delaunay_on_hull(12, 0),
    "slanted sides 1": lambda: delaunay_on_hull(20, 1),
    "grid": lambda: grid(5, 0),
    "long and thin": lambda: stretched(delaunay_on_box(9, 2)),
    "hanging nodes": lambda: with_hanging_nodes(delaunay_on_box(6, 6)),
    "T-junctions": lambda: cut_up(delaunay_on_box(5, 3), cuts(2, 12, 0)),
    "rings": lambda: rings([1, 2, 4], [0, 3, 1, 2], bounded=True),
    "several outputs": lambda: delaunay_on_box(4, 4, outputs=2),
}


def files(p, network):
    """What the checker reads: function, network and proof."""
    return [function_document(p), network_document(network), prove_strips(p, network)]


@pytest.fixture(scope="module", params=[False, True], ids=["", "steps"])
def small(request):
    """A function on three strips with its network and proof."""
    p = delaunay_on_box(6, 11)
    made = strips(p, count=3, steps=request.param)
    assert len(made.cuts.gaps) == 2
    return p, files(p, made.network)


def after_slabs(network):
    """The layers from the slots on: the fourth from the end is the first that reads slabs, or their steps."""
    return network["layers"][-4:]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("steps", [False, True])
@pytest.mark.parametrize("count", [None, 1, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_network_equals_the_function(name, count, steps):
    """Exactly, at random points of every piece, at corners and on edges, for any number of strips."""
    p = FUNCTIONS[name]()
    made = strips(p, count=count, steps=steps)
    more = len(made.cuts.bases) + 2 if steps and made.cuts.slabs else 0
    assert made.network.sizes.neurons == made.cuts.neurons + more
    assert made.network.sizes.depth == (5 if made.cuts.gaps else 4) + bool(more)
    assert len(differences(p, made.network)) == 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_piece_is_proved(name):
    """The proof found from the weights alone is accepted, for one strip and for several."""
    p = FUNCTIONS[name]()
    for count, steps in ((None, False), (None, True), (1, True), (3, False), (3, True)):
        network = strips(p, count=count, steps=steps).network
        assert check(*json.loads(json.dumps(files(p, network)))) == 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_plan_is_what_is_built(name):
    """Neurons, depth, width and nonzeros, before there is a network."""
    plan = planned("strips", FUNCTIONS[name]())
    assert plan.sizes == plan.build().sizes
    assert plan.magnitude > 0


def test_certify_finds_the_proof():
    """Through the one door for all proofs, also for weights rounded to float64."""
    p = delaunay_on_box(6, 5)
    exact = strips(p, count=2).network
    assert certify(p, exact).error_bound == 0
    rounded = Network([(weight.toarray(), bias) for weight, bias in exact.layers])
    proof = certify(p, rounded, rounded_from=exact, max_error=1e-6)
    assert 0 < proof.error_bound < 1e-6
    assert check(function_document(p), network_document(rounded), proof.document) == proof.error_bound


def test_sizes_of_random_triangulations():
    """100 vertices: the mean over seeds is below that of the table."""
    sizes = [planned("strips", unit_square(100, seed)).sizes.neurons for seed in range(2)]
    assert np.mean(sizes) <= 195


@pytest.mark.slow
def test_sizes_of_large_triangulations():
    """1,000 vertices take fewer neurons than a third of the triangles, and are proved."""
    p = unit_square(1000, 0)
    network = strips(p).network
    assert network.sizes.neurons <= 600 < p.num_pieces / 3
    assert prove_strips(p, network)["kind"] == "strip"


def test_rounding_errors_are_as_predicted():
    """In float64 the error is within ten times what the plan says, either way."""
    p = unit_square(100, 1)
    plan = planned("strips", p)
    x = np.random.default_rng(0).random((2000, 2))
    error = np.abs(plan.build()(x) - p(x)).max()
    assert plan.magnitude * 2.0**-53 / 10 < error < plan.magnitude * 2.0**-53 * 10


def test_float_pieces_are_snapped():
    """Pieces with a tolerance are made exact first."""
    p = rings([1, 2], [0, 3, 1], bounded=True)
    data = piece_data(p)
    A, b = (
        [[[float(v) for v in row[:-1]] for row in piece.rows] for piece in data],
        [[float(r[-1]) for r in piece.rows] for piece in data],
    )
    q = CPWL.from_pieces(A, b, [[float(v) for v in x.laws[0][:-1]] for x in data], [float(x.laws[0][-1]) for x in data])
    assert q.tol > 0
    assert len(differences(p, strips(q).network)) == 0


def test_what_strips_cannot_do():
    """Unbounded domains and other numbers of inputs are refused with a reason."""
    with pytest.raises(ConstructionError, match="bounded"):
        strips(five_pieces())
    with pytest.raises(ConstructionError, match="2 inputs"):
        planned("strips", CPWL.from_breakpoints([0], [0], left_slope=0, right_slope=1))


def test_without_vertices_hinges_do():
    """A function that bends along whole lines has one hidden layer."""
    p = CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, 0], [1, 1], [3, 3]])
    made = strips(p)
    assert made.cuts is None
    assert made.network.sizes.depth == 2
    assert planned("strips", p).sizes == made.network.sizes


def test_other_networks_are_not_recognised():
    """Line gates are no strips, and no wrong proof is made of them."""
    p = delaunay_on_box(6, 5)
    with pytest.raises(NotRecognised):
        prove_strips(p, plane_gates(p).network)


def from_document(document):
    """The network that the checker reads."""
    layers = []
    for layer in document["layers"]:
        weight = np.full((layer["rows"], layer["columns"]), Fraction(0), dtype=object)
        for i, j, value in layer["entries"]:
            weight[i, j] = Fraction(value)
        layers.append((weight, [Fraction(v) for v in layer["bias"]]))
    return Network(layers)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("relative", [Fraction(1, 10**9), Fraction(-1, 10**30)])
def test_no_weight_may_change(small, relative):
    """A relative change of a weight or a bias, however small, is refused; every sixth of them is tried.

    Unless nothing changes: a slot that is 0 in a strip may as well be negative there. Then all values are the same.
    """
    p, (function, network, proof) = small
    tried, accepted = 0, []
    for l, layer in enumerate(network["layers"]):
        for k in [*range(l % 6, len(layer["entries"]), 6), *range(-1 - l % 6, -1 - len(layer["bias"]), -6)]:
            changed = copy.deepcopy(network)
            if k >= 0:
                entry = changed["layers"][l]["entries"][k]
                entry[2] = str(Fraction(entry[2]) * (1 + relative))
            else:
                bias = Fraction(layer["bias"][k])
                changed["layers"][l]["bias"][k] = str(bias + relative * max(1, abs(bias)))
            tried += 1
            try:
                check(function, changed, proof)
                accepted.append(changed)
            except Refused:
                pass
    assert len(accepted) < tried / 20
    assert all(len(differences(p, from_document(changed), count=9)) == 0 for changed in accepted)


def test_no_value_may_change(small):
    """A value of the function that is off by 1e-12 is refused, at every vertex."""
    _, (function, network, proof) = small
    for v in range(len(function["values"])):
        changed = copy.deepcopy(function)
        changed["values"][v][0] = str(Fraction(changed["values"][v][0]) + Fraction(1, 10**12))
        with pytest.raises(Refused):
            check(changed, network, proof)


def test_no_slot_may_be_missing(small):
    """A slot that is cut off, or that changes in one strip only, is refused."""
    _, (function, network, proof) = small
    slots = len(after_slabs(network)[0]["bias"]) - 4
    for s in range(0, slots, 2):
        changed = copy.deepcopy(network)
        reads = after_slabs(changed)[1]
        reads["entries"] = [e for e in reads["entries"] if e[1] != s]
        with pytest.raises(Refused):
            check(function, changed, proof)


def test_a_knot_may_not_move(small):
    """A line of a slab, moved with or without all that is read from it, is refused."""
    _, (function, network, proof) = small
    for i, bias in enumerate(network["layers"][0]["bias"]):
        changed = copy.deepcopy(network)
        changed["layers"][0]["bias"][i] = str(Fraction(bias) + Fraction(1, 10**6))
        with pytest.raises(Refused):
            check(function, changed, proof)


def test_steps_are_verified():
    """A neuron of the second layer that is no sum of two hinges is refused, wherever the network is right."""
    p = delaunay_on_box(6, 11)
    function, network, proof = files(p, strips(p, count=3, steps=True).network)
    step, ramp = 2, 2  # the first ones, after two coordinates
    wrong = {"grows with a ramp": copy.deepcopy(network), "reads two ramps": copy.deepcopy(network)}
    wrong["where its ramp is 0"] = copy.deepcopy(network)
    layers = [changed["layers"][1] for changed in wrong.values()]
    next(entry for entry in layers[0]["entries"] if entry[:2] == [step, ramp])[2] = "1"
    layers[1]["entries"].append([step, ramp + 1, "-1/1000000"])
    layers[2]["bias"][step + 1] = "0"  # of the height above the ramp
    for reason, changed in wrong.items():
        with pytest.raises(Refused, match=reason):
            check(function, changed, proof)
    with pytest.raises(Refused, match="linear"):
        check(function, network, proof | {"linear": [[], *proof["linear"], []]})


def test_steps_make_a_network_accurate():
    """They are taken where networks without them are not accurate enough, for one neuron a strip and two more."""
    p = unit_square(100, 1)
    flat, made = (planned("strips", p, precision="float64", max_error=error) for error in (1e-9, 1e-12))
    assert made.sizes.depth == flat.sizes.depth + 1
    assert flat.sizes.neurons < made.sizes.neurons < 1.2 * flat.sizes.neurons
    assert made.magnitude < flat.magnitude / 10
    x = np.random.default_rng(0).random((2000, 2))
    assert np.abs(made.build()(x) - p(x)).max() < made.magnitude * 2.0**-53 * 10


def test_a_switch_that_is_too_weak_is_refused(small):
    """With a thousandth of chi, junk of the slabs comes through; all jumps and values elsewhere are right."""
    _, (function, network, proof) = small
    changed = copy.deepcopy(network)
    (chi,) = proof["chi"][0]
    layer = after_slabs(changed)[0]
    for entry in layer["entries"]:
        if entry[0] in (chi, chi + 1):  # chi and its negative
            entry[2] = str(Fraction(entry[2]) / 1000)
    for i in (chi, chi + 1):
        layer["bias"][i] = str(Fraction(layer["bias"][i]) / 1000)
    with pytest.raises(Refused, match="sign"):
        check(function, changed, proof)


@pytest.mark.parametrize(
    ("factor", "reason"), [(Fraction(1, 1000), "may be on"), (-1, "damper is positive"), (0, "on")]
)
def test_gates_that_are_not_turned_off_are_refused(small, factor, reason):
    """In the slab of its own base what a gate reads must fall; with a thousandth of its damper it need not."""
    _, (function, network, proof) = small
    changed = copy.deepcopy(network)
    layer = after_slabs(changed)[1]
    damped = {entry[0]: Fraction(entry[2]) for entry in layer["entries"] if entry[1] in (0, 1)}  # what u and -u reach
    assert damped
    for entry in layer["entries"]:
        if entry[1] in (0, 1):
            entry[2] = str(factor * Fraction(entry[2]))
    for gate, size in damped.items():
        layer["bias"][gate] = str(Fraction(layer["bias"][gate]) + (1 - factor) * size)
    with pytest.raises(Refused, match=reason):
        check(function, changed, proof)


def test_a_proof_cannot_claim_more(small):
    """What a proof says is verified: linear neurons, which system is right where, and that nothing is left out."""
    _, (function, network, proof) = small
    right = proof["right"]
    wrong = [
        {"linear": [[*proof["linear"][0], 0], *proof["linear"][1:]]},
        {"linear": [proof["linear"][0], [*proof["linear"][1], 0], proof["linear"][2]]},
        {"linear": [*proof["linear"][:2], [0, 1]]},
        *(
            {"right": [[system, sign, off]] * len(right)}
            for system in range(3)
            for sign in range(3)
            for off in range(3)
        ),
        {"right": [[1, 1, 0], *right[1:]]},
        {"right": [*right[:-1], [right[-1][0], 2, 0]]},
        {"right": [[3 - system, *more] for system, *more in right]},
        {"right": [[system, 0, off] for system, _, off in right]},
        {"right": [[system, (3 - sign) % 3, off] for system, sign, off in right]},
        {"right": [[system, sign, 0] for system, sign, _ in right]},
        {"right": [[system, sign, 3 - off if off else 0] for system, sign, off in right]},
        *({"right": [*right[:i], [system, 0, off], *right[i + 1 :]]} for i, (system, s, off) in enumerate(right) if s),
        *({"right": [*right[:i], [system, s, 0], *right[i + 1 :]]} for i, (system, s, off) in enumerate(right) if off),
        *(
            {"right": [*right[:i], [system, s, off], *right[i + 1 :]]}
            for i, (system, s, _) in enumerate(right)
            for off in (1, 2)
            if not right[i][2]
        ),
        {"breaks": proof["breaks"][:-1], "right": proof["right"][:-1]},
        {"breaks": proof["breaks"][1:], "right": proof["right"][1:]},
        {"breaks": proof["breaks"][::-1]},
        {"chi": [[0]]},
        {"chi": [None]},
        {"frame": [[1, 2], [2, 4]]},
        {"kind": "strips"},
        {"error_bound": 1},
    ]
    for change in wrong:
        with pytest.raises(Refused):
            check(function, network, proof | change)


def test_hints_for_speed_do_not_matter(small):
    """Without the points to start from, and with a few bits more, the same is proved."""
    _, (function, network, proof) = small
    assert check(function, network, proof | {"starts": []}) == 0
    assert check(function, network, proof | {"bits": proof["bits"] + 7}) == 0


def test_pieces_of_another_function_are_refused():
    """The network of one function is not proved for another on the same pieces; the prover says so."""
    p, q = delaunay_on_box(6, 5), delaunay_on_box(6, 5)
    changed = CPWL.from_simplices(q.mesh.points, q.mesh.simplices, q.mesh.values + np.eye(len(q.mesh.points))[:, :1])
    with pytest.raises(NoProof):
        prove_strips(changed, strips(p, count=2).network)


@pytest.mark.parametrize("seed", range(30))
def test_kinks_of_a_gate(seed):
    """The kinks found rebuild relu(f) at points in between, from its slope at the far left."""
    rng = np.random.default_rng(seed)
    parts = [
        (Fraction(int(rng.integers(-3, 4)) or 1), Fraction(int(rng.integers(-3, 4)) or 2), Fraction(int(q), 2))
        for q in rng.permutation(9)[:4]
    ]

    def f(p):
        return max(Fraction(0), sum((w * max(k * (p - q), Fraction(0)) for w, k, q in parts), Fraction(0)))

    bends = Bends("here", Fraction(0), Fraction(1))
    try:
        kinks = bends.kinks(parts)
    except Refused:
        ends = [(f(Fraction(s * 10**6)), f(Fraction(s * 10**6 + s))) for s in (1, -1)]
        assert any(u == v > 0 for u, v in ends)
        return
    far = Fraction(-1000)
    slope = f(far + 1) - f(far)
    for p in [Fraction(i, 7) for i in range(-100, 160)]:
        assert f(far) + slope * (p - far) + sum(jump * max(p - q, Fraction(0)) for q, jump in kinks.items()) == f(p)


def test_no_value_of_a_table_and_no_law_of_a_piece_may_be_off_by_a_little():
    """Every point of a table, and every piece by itself, is looked at in some strip."""
    p = delaunay_on_box(12, 3)
    network = strips(p).network
    document, tiny = prove_strips(p, network), Fraction(1, 10**30)
    files = function_document(p), network_document(network)
    assert check(*files, document) == 0
    for v in range(len(files[0]["values"])):
        wrong = copy.deepcopy(files[0])
        (value,) = wrong["values"][v] if isinstance(wrong["values"][v], list) else (wrong["values"][v],)
        wrong["values"][v] = str(Fraction(value) + tiny)
        with pytest.raises(Refused):
            check(wrong, files[1], document)
    pieces = function_document(from_data(piece_data(p)))
    assert check(pieces, files[1], document) == 0
    for j in range(len(pieces["pieces"])):
        wrong = copy.deepcopy(pieces)
        wrong["pieces"][j]["offset"] = [str(Fraction(v) + tiny) for v in _listed(wrong["pieces"][j]["offset"])]
        with pytest.raises(Refused):
            check(wrong, files[1], document)


def _listed(offset):
    return offset if isinstance(offset, list) else [offset]


@pytest.mark.parametrize("seed", range(20))
def test_intervals_know_the_ranges_that_meet_their_inside(seed):
    rng = np.random.default_rng(seed)
    breaks = [Fraction(int(v), 3) for v in np.unique(rng.integers(0, 40, 9))]
    ends = [sorted(Fraction(int(v), 3) for v in rng.integers(-5, 45, 2)) for _ in range(40)]
    ranges = [(a, b) for a, b in ends if a < b]
    meant = [[k for k, (a, b) in enumerate(ranges) if a < d and b > c] for c, d in pairwise(breaks)]
    assert by_interval(breaks, ranges) == meant
