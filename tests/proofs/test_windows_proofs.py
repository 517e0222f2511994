"""Proofs of kind "windows": accepted by the stand-alone checker, and refused when anything in them is wrong."""

import copy
import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from construct.test_windows import CORNERS, PINWHEEL, network_on_a_box, table
from cpwl import CPWL, Network, certify, compile
from cpwl.documents.write import function_document, network_document
from cpwl_check import windows as windows_check
from cpwl_check.budget import STEPS, Refused, limited
from cpwl_check.decide import check
from support.proofs import add_entry, refused, rounded, same, with_layer, without_regions

LARGE = (2, 120)  # large enough for knots inside
TABLES = {
    "line": (1, 12),
    "plane": (2, 16),
    "plane, two outputs": (2, 6),
    "space": (3, 5),
    "four inputs": (4, 2),
}


@pytest.fixture(autouse=True)
def other_kinds():
    """These tests are about other kinds of proofs than "regions", which would come first."""
    with without_regions():
        yield


def function(name):
    if name == "split":
        return CPWL.from_simplices(CORNERS, PINWHEEL, [1, 2, 3, 4, 5, 9])
    if name == "polyhedra":
        return network_on_a_box((2, 5, 4, 2))
    return table(*TABLES.get(name, LARGE), outputs=2 if "two outputs" in name else None)


@cache
def made(name):
    p = function(name)
    network = compile(p, construction="windows", minimize="nonzeros").network  # blocks, not tiles
    proof = certify(p, network)
    assert proof.proved, proof.reason
    return p, network, proof.document


def triple(name):
    """The function, the network and the proof as documents, to be changed."""
    p, network, proof = made(name)
    return function_document(p), network_document(network), copy.deepcopy(proof)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [*TABLES, "split", "polyhedra"])
def test_equality_is_proved(name):
    """By this kind, and the checker says 0."""
    function, network, proof = triple(name)
    assert proof["kind"] == "windows"
    assert check(function, network, proof) == 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("size", ["1/10", "-1/1000000000000000000000000000000"])
def test_no_weight_may_be_off(name, size):
    """Every layer, some weights and biases each: off by very little, and nothing is proved.

    Unless it is true: where all corners of a cell are on one sphere, some cells are in two blocks.
    """
    function, network, proof = triple(name)
    rng = np.random.default_rng(1)
    wrong = 0
    for l in range(len(network["layers"])):
        for _ in range(8):

            def change(layer):
                if layer["entries"] and rng.random() < 0.7:
                    entry = layer["entries"][int(rng.integers(len(layer["entries"])))]
                    entry[2] = str(Fraction(entry[2]) + Fraction(size))
                else:
                    k = int(rng.integers(len(layer["bias"])))
                    layer["bias"][k] = str(Fraction(layer["bias"][k]) + Fraction(size))

            changed = with_layer(network, l, change)
            try:
                check(function, changed, proof)
            except Refused:
                wrong += 1
            else:
                same(function, changed)
    assert wrong > 0.9 * 8 * len(network["layers"])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["plane", "plane, two outputs", "space"])
def test_no_value_may_be_off(name):
    """A table with another value at one point is not the network's."""
    function, network, proof = triple(name)
    for k in range(len(function["values"])):
        values = copy.deepcopy(function["values"])
        values[k][-1] = str(Fraction(values[k][-1]) + Fraction(1, 10**30))
        refused(function | {"values": values}, network, proof)


def test_hypothesis_1_pieces_are_bounded():
    function, network, proof = triple("line")
    piece = {"A": [[-1]], "b": [0], "gradient": [[0]], "offset": [0]}
    rest = {k: v for k, v in function.items() if k not in ("points", "simplices", "values")}
    proof["pieces"] = proof["pieces"][:1]
    refused(rest | {"pieces": [piece]}, network, proof, "not bounded")


def test_hypothesis_2_knots_read_one_input():
    function, network, proof = triple("plane")
    twice = with_layer(network, 0, lambda layer: layer["entries"][0].__setitem__(2, 2))
    refused(function, twice, proof, "weight 1 or -1")


def inner_knots(function, network):
    """Neurons of the first layer that bend inside the domain, upwards."""
    points = [[Fraction(v) for v in x] for x in function["points"]]
    first = network["layers"][0]
    ends = [(min(x[i] for x in points), max(x[i] for x in points)) for i in range(len(points[0]))]
    return [k for k, i, w in first["entries"] if w == 1 and ends[i][0] < -Fraction(first["bias"][k]) < ends[i][1]]


def test_hypothesis_3_hinges_are_affine():
    """A hinge that reads one half of a knot in the middle."""
    function, network, proof = triple("large")
    knot = inner_knots(function, network)[0]
    rows = [e[0] for e in network["layers"][1]["entries"]]
    hinge = next(k for k in rows if rows.count(k) > 1)
    bent = with_layer(network, 1, lambda layer: add_entry(layer, hinge, knot, 1))
    refused(function, bent, proof, "not affine")


def carries_of(network, knots):
    """The neurons of the second layer that carry some of the first."""
    rows = [e[0] for e in network["layers"][1]["entries"]]
    return [i for i, j, w in network["layers"][1]["entries"] if rows.count(i) == 1 and w == 1 and j in knots]


def hinge_entries(network):
    """Entries of the third layer that read hinges: neurons of the second that read several."""
    several = [e[0] for e in network["layers"][1]["entries"]]
    return [i for i, e in enumerate(network["layers"][2]["entries"]) if several.count(e[1]) > 1]


def test_hypothesis_4_factors_are_not_negative():
    function, network, proof = triple("plane")
    i = hinge_entries(network)[0]
    negative = with_layer(network, 2, lambda layer: layer["entries"][i].__setitem__(2, -1))
    refused(function, negative, proof, "negative factor")


def test_hypothesis_4_all_clamps_take_off_the_same():
    function, network, proof = triple("large")
    carry = carries_of(network, inner_knots(function, network))[0]
    changed = with_layer(network, 2, lambda layer: add_entry(layer, 0, carry, 77))
    refused(function, changed, proof, "bends differ from those")


def test_hypothesis_4_what_is_taken_off_is_convex():
    """In all clamps a bend of R is turned over."""
    function, network, proof = triple("large")
    carry = carries_of(network, inner_knots(function, network))[0]

    def change(layer):
        for k in range(layer["rows"]):
            add_entry(layer, k, carry, 10**12)

    refused(function, with_layer(network, 2, change), proof, "not convex")


def test_hypothesis_5_hinges_keep_their_sign_on_a_piece():
    """One more piece, across a facet inside a block."""
    function, network, proof = triple("plane")
    cells = [set(own) for own in function["simplices"]]
    pairs = ((i, j) for i in range(len(cells)) for j in range(i) if len(cells[i] & cells[j]) == 2)
    i, j = next((i, j) for i, j in pairs if proof["pieces"][i] == proof["pieces"][j])
    (a, _), (c,), (d,) = cells[i] & cells[j], cells[i] - cells[j], cells[j] - cells[i]
    proof["pieces"].append(proof["pieces"][i])
    refused(function | {"simplices": [*function["simplices"], [a, c, d]]}, network, proof, "changes its sign")


def test_hypothesis_5_a_piece_names_a_clamp_of_each_side():
    function, network, proof = triple("plane")
    proof["pieces"][0] = proof["pieces"][0][::-1]
    refused(function, network, proof, "names no clamp")


def test_hypothesis_5_and_6_pieces_name_the_largest():
    """The clamp of another piece is not the largest."""
    function, network, proof = triple("plane")
    other = next(row for row in proof["pieces"] if row[0] != proof["pieces"][0][0])
    proof["pieces"][0] = other
    refused(function, network, proof, "changes its sign|another value|reads less than 0|too large")


def test_hypothesis_6_no_other_clamp_is_larger():
    """A function on some of its pieces only: a clamp that none of them names may be made larger nowhere near them."""
    function, network, proof = triple("plane")
    kept = [0]
    sides = proof["sides"]
    own = {k for j in kept for k in proof["pieces"][j]}
    rest = [k for side in sides for group in side for k in group if k not in own]
    part = function | {"simplices": [function["simplices"][j] for j in kept]}
    proof["pieces"] = [proof["pieces"][j] for j in kept]
    raised = with_layer(network, 2, lambda layer: layer["bias"].__setitem__(rest[0], 10**12))
    refused(part, raised, proof, "too large|overlap")


def test_hypothesis_7_boxes_of_a_class_do_not_overlap():
    """All clamps of a side in one class, and the sum taken of them."""
    p, network, proof = made("plane")
    sides = [[sorted(k for group in side for k in group)] for side in proof["sides"]]
    weight = np.zeros((1, network.layers[2][0].shape[0]))
    for side, sign in zip(sides, (-1, 1), strict=True):
        weight[0, side[0]] = sign
    layers = network_document(network)["layers"]
    last = network_document(Network([(weight, [0])]))["layers"][0] | {"bias": layers[-1]["bias"]}
    shorter = network_document(network) | {"layers": [*layers[:3], last]}
    refused(function_document(p), shorter, proof | {"sides": sides}, "overlap")


def test_hypothesis_8_maxima_compare_what_the_proof_says():
    function, network, proof = triple("plane")
    side = proof["sides"][0]
    side[0], side[1] = side[1], side[0]
    refused(function, network, proof, "neither compares")


def test_hypothesis_8_each_clamp_is_in_one_class():
    function, network, proof = triple("plane")
    proof["sides"][0][0].append(proof["sides"][0][1][0])
    refused(function, network, proof, "one class of one side")


def test_hypothesis_9_outputs_are_sums_of_sides():
    function, network, proof = triple("plane")
    more = with_layer(network, -1, lambda layer: layer["entries"][0].__setitem__(2, 2))
    refused(function, more, proof, "not a sum of multiples|add up to 0")


def test_hypothesis_9_factors_add_up_to_0():
    function, network, proof = triple("plane")

    def twice(layer):
        for entry in layer["entries"]:
            entry[2] = 2 if Fraction(entry[2]) > 0 else entry[2]

    refused(function, with_layer(network, -1, twice), proof, "add up to 0")


def test_networks_of_rounded_weights_are_proved():
    p, network, _ = made("space")
    for kind in ("float64", "float32"):
        proof = certify(p, rounded(network, kind), rounded_from=network)
        assert proof.proved, proof.reason
        assert proof.document["kind"] == "rounded"
        assert proof.document["proof"]["kind"] == "windows"


def test_float_data_has_a_proof():
    """Pieces given by rounded half-spaces: the proof is of a function near them, and says how near."""
    q = table(2, 6)
    rows = [q.polyhedra[i] for i in range(q.num_pieces)]
    scale = [np.abs(r.A).max(axis=1) * 3 for r in rows]
    A = [(r.A / s[:, None]).tolist() for r, s in zip(rows, scale, strict=True)]
    b = [(r.b / s).tolist() for r, s in zip(rows, scale, strict=True)]
    p = CPWL.from_pieces(A, b, q.laws.gradient[:, 0].tolist(), q.laws.offset[:, 0].tolist())
    assert p.tol > 0
    made_of = compile(p, construction="windows")
    proof = certify(p, made_of.network)
    assert proof.proved, proof.reason
    assert proof.document["kind"] == "near"


def leaves(node):
    return leaves(node["below"]) + leaves(node["above"]) if isinstance(node, dict) else [node]


def test_a_piece_is_cut_where_its_cells_meet():
    """Simplices that had to be split have parts in the proof; without the cut it is refused."""
    function, network, proof = triple("split")
    cut = [j for j, entry in enumerate(proof["pieces"]) if isinstance(entry, dict)]
    assert cut
    node = proof["pieces"][cut[0]]
    for other in leaves(node):
        entries = list(proof["pieces"])
        entries[cut[0]] = other
        refused(function, network, proof | {"pieces": entries})


@pytest.mark.parametrize("name", ["split", "polyhedra"])
def test_no_law_may_be_off(name):
    """Weights of the third layer off by very little, in networks with other cells than the pieces of a table."""
    function, network, proof = triple(name)
    rng = np.random.default_rng(2)
    for l in (0, 2, len(network["layers"]) - 1):
        for _ in range(6):
            k = int(rng.integers(len(network["layers"][l]["bias"])))

            def change(layer, k=k):
                layer["bias"][k] = str(Fraction(layer["bias"][k]) + Fraction(1, 10**30))

            refused(function, with_layer(network, l, change), proof)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("noise", [1e-15, 1e-12, 1e-9])
def test_noisy_half_spaces_are_compiled_and_proved(noise):
    """Regions of a network with noise in all rows and laws: proved near the data, column-major arrays and all."""
    q = network_on_a_box((2, 4, 3, 1))
    rng = np.random.default_rng(0)

    def noisy(a):
        return np.asfortranarray(a * (1 + noise * rng.uniform(-1, 1, np.shape(a))))

    rows = [q.polyhedra[i] for i in range(q.num_pieces)]
    gradient, offset = noisy(q.laws.gradient[:, 0]), noisy(q.laws.offset[:, 0])
    tol = max(1e-9, 20 * noise)
    p = CPWL.from_pieces([noisy(r.A) for r in rows], [noisy(r.b) for r in rows], gradient, offset, tol=tol)
    proof = certify(p, compile(p, construction="windows", max_error=1e-6).network)
    assert proof.proved, proof.reason
    assert proof.document["kind"] == "near"


ENDS = [Fraction(-3), Fraction(-1, 2)], [Fraction(4), Fraction(5, 3)]  # of a box


def _ground(rng, knots):
    """The bends of a convex R on a box in the plane, at rational places, and what the checker makes of them."""
    bends = {
        (i, ENDS[0][i] + (ENDS[1][i] - ENDS[0][i]) * Fraction(k, 7 * knots)): -Fraction(int(rng.integers(1, 9)), 4)
        for i in range(2)
        for k in rng.choice(np.arange(1, 7 * knots), knots, replace=False).tolist()
    }
    return bends, windows_check.make_ground(*ENDS, bends)


def _clamp(seed):
    rows = np.random.default_rng(seed).integers(-6, 7, (3, 3)).tolist()
    return windows_check.Clamp(rows[0], rows[1:], 4)


def _slow_box(part, bends):
    """Where an affine function over 4 may be more than R, axis by axis, from all places and values; None if nowhere."""
    places = [sorted({ENDS[0][i], ENDS[1][i], *(x for j, x in bends if j == i)}) for i in range(2)]
    phi = [
        [sum(-c * max(0, x - at) for (j, at), c in bends.items() if j == i) - Fraction(part[i], 4) * x for x in own]
        for i, own in enumerate(places)
    ]
    room = Fraction(part[-1], 4) - sum(map(min, phi))
    if room <= 0:
        return None
    box = []
    for i, (x, own) in enumerate(zip(places, phi, strict=True)):
        limit = room + min(own)
        inside = [place for place, v in zip(x, own, strict=True) if v < limit]
        for (a, u), (b, v) in itertools.pairwise(zip(x, own, strict=True)):
            inside += [a + (b - a) * (limit - u) / (v - u)] if (u < limit) != (v < limit) else []
        parts = [
            (end - ENDS[0][i]) * windows_check.FINE / (ENDS[1][i] - ENDS[0][i]) for end in (min(inside), max(inside))
        ]
        box.append((math.floor(parts[0]), math.floor(parts[1]) + 1))
    return box


@pytest.mark.parametrize("seed", range(20))
def test_boxes_of_clamps_by_all_places(seed):
    """Bisection in integers finds the box, and the value of R, that all places of an axis give in rationals."""
    rng = np.random.default_rng(seed)
    (bends, ground), clamp = _ground(rng, 6), _clamp(seed)
    parts = [clamp.affine]
    for hinge in clamp.hinges:
        parts += [[a + b for a, b in zip(part, hinge, strict=True)] for part in parts]
    boxes = [box for part in parts if (box := _slow_box(part, bends)) is not None]
    expected = [(min(a for a, _ in ends), max(b for _, b in ends)) for ends in zip(*boxes, strict=True)]
    assert windows_check.box_of(clamp, ground) == (expected or None)
    for t in range(5):
        x = [low + (high - low) * Fraction(t, 4) for low, high in zip(*ENDS, strict=True)]
        value = sum(-c * max(0, x[i] - at) for (i, at), c in bends.items())
        scale = math.lcm(*(v.denominator for v in x))
        assert ground.at([*(int(scale * v) for v in x), scale]) == value


def test_a_box_takes_steps_as_the_logarithm_of_the_knots():
    """A hundred times as many knots: not three times as many steps."""
    taken = []
    for knots in (20, 2000):
        _, ground = _ground(np.random.default_rng(0), knots)
        with limited() as run:
            for seed in range(20):
                windows_check.box_of(_clamp(seed), ground)
        taken.append(STEPS - run.left)
    assert taken[1] < 3 * taken[0]


def test_a_long_unit_is_paid_for():
    """Forty axes whose ends have denominators of 900 digits without common divisors: a step keeps 32 bytes at most."""
    low = [Fraction(1, 10**900 + 2 * i + 1) for i in range(40)]
    with limited(10**9) as run:
        ground = windows_check.make_ground(low, [Fraction(1)] * 40, {})
    kept = sum(v.bit_length() // 8 for rows in (ground.places, ground.values) for own in rows for v in own)
    assert 32 * (10**9 - run.left) > kept > 10**6
