"""Proofs of kind "multiplexed": accepted by the stand-alone checker, and refused when a hypothesis does not hold."""

import copy
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import fmpq

from construct.test_windows import CORNERS, PINWHEEL, network_on_a_box, table
from cpwl import CPWL, Network, certify, compile
from cpwl.construct.windows import multiplexed
from cpwl.construct.windows.multiplexed import _tilings, _with_cells, blocks_in, bodies_of, lower_tiles
from cpwl.construct.windows.plan import lifted
from cpwl.documents.write import function_document, network_document
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from cpwl_check.multiplexed import Side, middle, own_values
from cpwl_check.windows import Clamp, Part
from support.proofs import add_entry, refused, same, with_layer, without_regions

TABLES = {"plane": (2, 12), "plane, two outputs": (2, 6), "space": (3, 3), "four inputs": (4, 1)}


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
    if name == "triangle":  # a domain that is not a box
        return CPWL.from_simplices(
            [[0, 0], [4, 0], [0, 4], [1, 1], [2, 1]],
            [[0, 1, 4], [0, 4, 3], [0, 3, 2], [3, 4, 2], [1, 2, 4]],
            [0, 3, 1, 7, 2],
        )
    return table(*TABLES[name], outputs=2 if "two outputs" in name else None)


def tiled(p, parts):
    """A network with as many parts of every axis, in ``n + 1`` systems."""
    found = lifted(p)
    bodies = bodies_of(found.cells, found.lifting)
    tiling = _with_cells(*next(_tilings(bodies, (parts,) * p.dim)), bodies)
    blocks = blocks_in(found.cells, found.lifting, tiling, bodies)
    return lower_tiles(found.cells, found.lifting, tiling, blocks, found.share, found.base)


@cache
def made(name):
    p = function(name)
    network = tiled(p, 3 if p.dim == 2 else 2)
    proof = certify(p, network)
    assert proof.proved, proof.reason
    return p, network, proof.document


def triple(name):
    p, network, proof = made(name)
    return function_document(p), network_document(network), copy.deepcopy(proof)


@pytest.mark.parametrize("name", ["plane", "plane, two outputs", "space", "split", "polyhedra", "triangle"])
def test_equality_is_proved(name):
    """By this kind, and the checker says 0."""
    function, network, proof = triple(name)
    assert proof["kind"] == "multiplexed"
    assert check(function, network, proof) == 0


@pytest.mark.slow
def test_equality_is_proved_in_four_inputs():
    """The checker says 0."""
    function, network, proof = triple("four inputs")
    assert check(function, network, proof) == 0


@pytest.mark.slow
def test_compile_takes_them_where_they_are_smaller():
    """In float64; in float32 blocks are, which are more accurate."""
    p = table(2, 150)
    exact, single = (compile(p, construction="windows", precision=kind) for kind in ("float64", "float32"))
    assert exact.sizes.neurons < 0.9 * single.sizes.neurons
    assert single.error < 0.1 * 2**29 * exact.error


@pytest.mark.parametrize("size", ["1/10", "-1/1000000000000000000000000000000"])
@pytest.mark.parametrize("name", ["triangle", pytest.param("space", marks=pytest.mark.slow)])
def test_no_weight_may_be_off(name, size):
    """Every layer, some weights and biases each: refused, unless the network is still the function."""
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
            except ValueError:
                wrong += 1
            else:
                same(function, changed)
    assert wrong > 0.7 * 8 * len(network["layers"])


@pytest.mark.parametrize("name", ["plane", "plane, two outputs"])
def test_no_value_may_be_off(name):
    """A value of the table that is changed is refused."""
    function, network, proof = triple(name)
    for k in range(len(function["values"])):
        values = copy.deepcopy(function["values"])
        values[k][-1] = str(Fraction(values[k][-1]) + Fraction(1, 10**30))
        refused(function | {"values": values}, network, proof)


def test_hypothesis_1_pieces_are_bounded():
    """A piece that is a half-space is refused."""
    function, network, proof = triple("plane")
    piece = {"A": [[-1, 0]], "b": [0], "gradient": [[0, 0]], "offset": [0]}
    rest = {k: v for k, v in function.items() if k not in ("points", "simplices", "values")}
    refused(rest | {"pieces": [piece]}, network, proof | {"pieces": proof["pieces"][:1]}, "not bounded")


def test_hypothesis_2_knots_read_one_input():
    function, network, proof = triple("plane")
    refused(
        function, with_layer(network, 0, lambda layer: layer["entries"][0].__setitem__(2, 2)), proof, "weight 1 or -1"
    )


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda layer: layer["bias"].__setitem__(0, "1/2"), "bias 1"),
        (lambda layer: next(e for e in layer["entries"] if e[0] == 0).__setitem__(2, 1), "not a distance"),
        (lambda layer: layer["bias"].__setitem__(1, "1/1000000"), "one knot minus a multiple"),
        (lambda layer: [e.__setitem__(2, 2) for e in layer["entries"] if e[2] == 1], "one knot minus a multiple"),
    ],
)
def test_hypothesis_3_tiles(change, match):
    """Neurons of tiles that are none are refused, each for its reason."""
    function, network, proof = triple("plane")
    refused(function, with_layer(network, 1, change), proof, match)


def test_hypothesis_3_laws_fall_fast_enough():
    """All multiples of the distance in one neuron of a tile inside, a little less."""
    function, network, proof = triple("plane")
    rows = [e[0] for e in network["layers"][1]["entries"]]
    inside = next(k for k in range(0, max(rows), 3) if rows.count(k) == 4)

    def change(layer):
        for e in layer["entries"]:
            if e[0] == inside + 1 and Fraction(e[2]) < 0:
                e[2] = str(Fraction(e[2]) * (1 - Fraction(1, 10**30)))

    refused(function, with_layer(network, 1, change), proof, "fall fast enough")


def slots(proof):
    """Roots, and hinges with their roots, as neurons of the third layer."""
    groups = [group for side in proof["sides"] for group in side]
    return [group[0] for group in groups], [(k, group[0]) for group in groups for k in group[1:]]


def test_hypothesis_4_slots_have_one_constant():
    function, network, proof = triple("plane")
    root = slots(proof)[0][0]

    def change(layer):
        layer["bias"][root] = str(Fraction(layer["bias"][root]) + Fraction(1, 10**30))

    refused(function, with_layer(network, 2, change), proof, "not that of the others")


def test_hypothesis_4_roots_have_laws_where_hinges_have():
    """All that a root reads of the tile of one of its hinges is taken out."""
    function, network, proof = triple("plane")
    entries = network["layers"][2]["entries"]
    hinge, root = slots(proof)[1][0]
    tile = next(j // 3 for k, j, _ in entries if k == hinge)

    def change(layer):
        layer["entries"] = [e for e in layer["entries"] if (e[0], e[1] // 3) != (root, tile)]

    refused(function, with_layer(network, 2, change), proof, "no law for one of its tiles")


def test_hypothesis_4_the_root_comes_first():
    function, network, proof = triple("plane")
    group = next(group for side in proof["sides"] for group in side if len(group) > 1)
    group[:] = group[1:] + group[:1]
    refused(function, network, proof)


def test_hypothesis_5_tiles_of_a_slot_are_apart():
    """A slot gets a law in all tiles."""
    function, network, proof = triple("plane")
    root = slots(proof)[0][0]

    def change(layer):
        for t in range(network["layers"][1]["rows"] // 3):
            add_entry(layer, root, 3 * t, 1)

    refused(function, with_layer(network, 2, change), proof, "too near")


def test_hypothesis_6_the_constant_makes_slots_positive():
    """All constants of a side less, and the output's more."""
    function, network, proof = triple("plane")
    roots = [group[0] for group in proof["sides"][0]]
    less = 1 + max(Fraction(network["layers"][2]["bias"][k]) for k in roots)

    def change(layer):
        for k in roots:
            layer["bias"][k] = str(Fraction(layer["bias"][k]) - less)

    refused(function, with_layer(network, 2, change), proof, "negative")


def test_hypothesis_6_hinges_have_penalties():
    """Of each hinge in turn a smaller one, with the weights that keep its laws: it is positive between tiles."""
    function, network, proof = triple("plane")
    layer, width = network["layers"][2], 3
    for hinge, _ in slots(proof)[1]:
        bias = Fraction(layer["bias"][hinge])

        def change(layer, hinge=hinge, less=bias * Fraction(3, 4)):
            layer["bias"][hinge] = str(Fraction(layer["bias"][hinge]) - less)
            for t in {j // width for k, j, _ in layer["entries"] if k == hinge}:
                add_entry(layer, hinge, width * t, less)

        refused(function, with_layer(network, 2, change), proof, "penalty is too small")


def test_hypothesis_6_and_7_penalties_are_large_enough(monkeypatch):
    """A network that was made with too little of everything: with the penalties that it needs, laws are negative."""
    monkeypatch.setattr(multiplexed, "rounded_up", lambda value, _: value * fmpq(9, 10))
    p, _, proof = made("plane")
    refused(
        function_document(p), network_document(tiled(p, 3)), proof, "may be negative|a negative|penalty is too small"
    )


def test_hypothesis_7_blocks_are_affine_on_pieces():
    """A hinge that changes its sign inside a piece by very little is refused; where it does so outside, it is not."""
    places = [[0, 0, 1], [1, 0, 1], [0, 1, 1]]
    part, centre = Part(0, [0, 1, 2], [0], None), middle(places)
    for hinge, fine in (([1, 1, 0], True), ([1, 1, -2], True), ([10**30, 0, -1], False), ([1, 2, -1], False)):
        side = Side(Fraction(0), [{0: Clamp([0, 0, 1], [hinge], 1)}])
        if fine:
            own_values(0, side, [part], [centre], places, 1)
        else:
            with pytest.raises(Refused, match="not affine"):
                own_values(0, side, [part], [centre], places, 1)


def test_hypothesis_7_pieces_name_laws_of_their_side():
    function, network, proof = triple("plane")
    proof["pieces"][0] = proof["pieces"][0][::-1]
    refused(function, network, proof, "names no block")


def test_hypothesis_7_and_8_pieces_name_the_largest():
    function, network, proof = triple("plane")
    proof["pieces"][0] = next(row for row in proof["pieces"] if row[0] != proof["pieces"][0][0])
    refused(function, network, proof, "another value|too large|covers it|differ")


def test_hypothesis_8_no_block_of_a_tile_is_larger():
    """A root, or a hinge, whose slot no piece names for its tile is raised by a lot."""
    function, network, proof = triple("plane")
    count, named = network["layers"][2]["rows"], {name for row in proof["pieces"] for name in row}
    entries, root = network["layers"][2]["entries"], {k: k for k in slots(proof)[0]} | dict(slots(proof)[1])
    free = [i for i, (k, j, _) in enumerate(entries) if j % 3 == 0 and j // 3 * count + root[k] not in named]
    for is_root in (True, False):
        i = next(i for i in free if (root[entries[i][0]] == entries[i][0]) == is_root)

        def change(layer, i=i):
            layer["entries"][i][2] = str(Fraction(layer["entries"][i][2]) + 10**12)

        refused(function, with_layer(network, 2, change), proof, "too large")


def test_hypothesis_9_every_piece_is_covered():
    """All laws of a tile that no piece names are taken out."""
    function, network, proof = triple("plane")
    slots = network["layers"][2]["rows"]
    named = {name // slots for row in proof["pieces"] for name in row}
    bare = next(t for t in range(network["layers"][1]["rows"] // 3) if t not in named)

    def change(layer):
        layer["entries"] = [e for e in layer["entries"] if e[1] // 3 != bare]

    refused(function, with_layer(network, 2, change), proof, "covers it")


def test_hypothesis_10_maxima_compare_what_they_should():
    function, network, proof = triple("plane")
    changed = with_layer(network, 3, lambda layer: layer["entries"][0].__setitem__(2, "1000000000001/1000000000000"))
    refused(function, changed, proof, "neither compares")


def test_hypothesis_11_outputs_are_the_laws():
    function, network, proof = triple("plane")
    last = len(network["layers"]) - 1

    def change(layer):
        layer["bias"][0] = str(Fraction(layer["bias"][0]) + Fraction(1, 10**30))

    refused(function, with_layer(network, last, change), proof, "differ at")


def test_rounded_weights_are_bounded():
    """In float64, from the exact network: a bound, not equality."""
    p, network, _ = made("triangle")
    proof = certify(p, Network([(w.toarray(), b) for w, b in network.layers]), rounded_from=network)
    assert proof.proved, proof.reason
    assert proof.document["proof"]["kind"] == "multiplexed"
