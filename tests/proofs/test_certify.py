"""`certify` shown wrong networks and the checker shown wrong proofs: each change is refuted, refused, or harmless."""

import copy
import itertools
import json
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from cpwl import CPWL, Certificate, InputError, Network, ProofError, certify, compile, distance, extract
from cpwl.documents.write import function_document, network_document
from cpwl.exact.rational import fraction_array
from cpwl.network.algorithms import side_by_side
from cpwl.network.network import exact_layers
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from support.catalogue import compiled, function, names
from support.constructions import plain_lattice, shared_lattice
from support.functions import abs_sum, delaunay, five_pieces, three_piece_cut
from support.proofs import documents, rounded, without_regions
from support.rational_pieces import piece_data, points_in_pieces, vertices_of

TINY = Fraction(1, 10**30)


def parts(network):
    """The layers as dense arrays of rationals that may be changed."""
    return [[weight.toarray().astype(object), np.array(bias, dtype=object)] for weight, bias in exact_layers(network)]


def rational(layers):
    return Network([(fraction_array(weight), fraction_array(bias)) for weight, bias in layers])


def values(p, places):
    """The points of pairs (piece, point), and the values there of the pieces' laws."""
    pieces = piece_data(p)
    x = np.array([point for _, point in places], dtype=object)
    laws = [
        [law[-1] + sum(g * v for g, v in zip(law, point, strict=False)) for law in pieces[i].laws]
        for i, point in places
    ]
    return x, np.array(laws, dtype=object)


@cache
def samples(name):
    """Many rational points of a case and the values of its laws."""
    return values(function(name), points_in_pieces(function(name), 25, seed=3))


def outcome(p, network):
    """What `certify` says: the certificate, or the error."""
    try:
        return certify(p, network)
    except ProofError as error:
        return error


# --- changed networks ---------------------------------------------------------------------------------------------


def change_weight(layers, rng):
    """A weight that is there, off by 1e-30."""
    weight = layers[rng.integers(len(layers))][0]
    i, j = rng.permutation(np.argwhere(weight != 0))[0]
    weight[i, j] += TINY


def add_weight(layers, rng):
    """Any weight, there or not, off by 1e-30."""
    weight = layers[rng.integers(len(layers))][0]
    weight[rng.integers(weight.shape[0]), rng.integers(weight.shape[1])] += TINY


def flip_sign(layers, rng):
    weight = layers[rng.integers(len(layers))][0]
    i, j = rng.permutation(np.argwhere(weight != 0))[0]
    weight[i, j] *= -1


def change_bias(layers, rng):
    bias = layers[rng.integers(len(layers))][1]
    bias[rng.integers(len(bias))] += TINY


def move_bias(layers, rng):
    bias = layers[rng.integers(len(layers))][1]
    bias[rng.integers(len(bias))] += 1


def drop_neuron(layers, rng):
    k = rng.integers(len(layers) - 1)
    i = rng.integers(len(layers[k][1]))
    layers[k] = [np.delete(array, i, axis=0) for array in layers[k]]
    layers[k + 1][0] = np.delete(layers[k + 1][0], i, axis=1)


def swap_neurons(layers, rng):
    """Two neurons change places, but those that read them do not notice."""
    weight, bias = layers[rng.integers(len(layers) - 1)]
    i, j = rng.choice(len(bias), 2, replace=False)
    weight[[i, j]], bias[[i, j]] = weight[[j, i]], bias[[j, i]]


CHANGES = [change_weight, add_weight, flip_sign, change_bias, move_bias, drop_neuron, swap_neurons]
SMALL = [
    ("absolute_value", "lattice"),
    ("thirds_and_sevenths", "lattice"),
    ("sum_norm", "lattice"),
    ("wrong_for_algorithm_1", "lattice"),
    ("three_outputs", "lattice"),
    ("clipped_line", "paper"),
    ("sum_norm_in_space", "hinge"),
    ("point_contact", "gates"),
    ("kuhn_space", "gates"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize(("name", "construction"), SMALL)
def test_a_changed_network_is_refuted_or_harmless(name, construction, change):
    """A single change is refuted at a point where the values differ, in rationals; or it changes no value at all."""
    p, made = function(name), compiled(name, construction)
    for seed in range(3):
        layers = parts(made.network)
        change(layers, np.random.default_rng([seed, len(name)]))
        network = rational(layers)
        found = outcome(p, network)
        if isinstance(found, ProofError):
            x = fraction_array(found.details["point"])[None]
            assert (network(x) != p(x)).any()
            assert (network(x)[0] == found.details["network"]).all()
            assert (p(x)[0] == found.details["function"]).all()
        else:
            assert found.error_bound == 0 if found.proved else found.reason.startswith("not proved: ")
            x, expected = samples(name)
            assert (network(x) == expected).all()


def test_most_changes_are_refuted():
    """Of all those changes more than half are seen in some value, and refuted there."""
    tally = Counter()
    for change in CHANGES:
        for seed in range(3):
            layers = parts(compiled("wrong_for_algorithm_1", "lattice").network)
            change(layers, np.random.default_rng([seed, 77]))
            tally[type(outcome(function("wrong_for_algorithm_1"), rational(layers)))] += 1
    assert tally[ProofError] > tally[Certificate]


@pytest.mark.parametrize("layer", [0, 1, -1])
def test_an_error_of_1e30_is_found_in_any_layer(layer):
    """A weight of the first, a middle or the last layer of the network of |x| + |y|, off by 1e-30, is refuted."""
    p = abs_sum()
    layers = parts(compiled("sum_norm", "lattice").network)
    weight = layers[layer][0]
    i, j = np.argwhere(weight != 0)[0]
    weight[i, j] += TINY
    with pytest.raises(ProofError) as caught:
        certify(p, rational(layers))
    x = fraction_array(caught.value.details["point"])[None]
    assert rational(layers)(x)[0, 0] != p(x)[0, 0]


@pytest.mark.parametrize(
    ("p", "other"),
    [
        (abs_sum(), three_piece_cut()),
        (five_pieces(), three_piece_cut()),
        (delaunay(2, 9, 0), delaunay(2, 9, 1)),
        (CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1), CPWL.from_breakpoints([0, 1], [0, 1 + TINY])),
    ],
    ids=["norm", "five", "tables", "1e-30"],
)
def test_a_network_for_another_function_is_refuted(p, other):
    """The network of one function is no network of another: the witness shows both values."""
    network = plain_lattice(other).network
    with pytest.raises(ProofError) as caught:
        certify(p, network)
    x = fraction_array(caught.value.details["point"])[None]
    assert network(x)[0, 0] == caught.value.details["network"][0] != p(x)[0, 0] == caught.value.details["function"][0]


def test_a_network_of_other_dimensions_is_an_input_error():
    """Inputs and outputs must fit."""
    with pytest.raises(InputError, match="maps R\\^1 to R\\^1"):
        certify(abs_sum(), compiled("absolute_value", "lattice").network)


HINGES = Network([([[1, 0], [-1, 0], [0, 1], [0, -1]], [0] * 4), ([[1, 1, 1, 1]], [0])])


def test_a_network_built_differently_is_never_refuted():
    """|x| + |y| by four hinges is no max of mins, but it is right: proved in another way, or else not proved."""
    found = certify(abs_sum(), HINGES)
    assert found.error_bound == 0 if found.proved else found.reason.startswith("not proved: ")


def test_a_wrong_network_built_differently_is_refuted():
    """The same with one weight of a hinge off by 1e-30."""
    layers = parts(HINGES)
    layers[1][0][0, 0] += TINY
    with pytest.raises(ProofError) as caught:
        certify(abs_sum(), rational(layers))
    x = fraction_array(caught.value.details["point"])[None]
    assert rational(layers)(x)[0, 0] != abs_sum()(x)[0, 0]


def test_what_is_not_proved_cannot_be_saved(tmp_path):
    """Without a proof there is no proof file, and `save` says why."""
    p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    deep = Network([([["1"], ["-1"]], [1, 1]), ([["1", "0"], ["0", "1"]], [0, 0]), ([["1/2", "1/2"]], [-1])])
    unproved = Certificate(False, None, "not proved: for a reason", None, None)
    with pytest.raises(ProofError, match="for a reason"):
        unproved.save(tmp_path / "p.proof.json")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProofError, match="differ"):
        certify(p, deep)


# --- rounded weights ----------------------------------------------------------------------------------------------

ROUNDED = [
    "thirds_and_sevenths",
    "float_breakpoints",
    "tiny_breakpoints",
    "strips",
    "concave",
    "shallow_network",
    "random_in_ten",
    "two_outputs",
    "one_box",
    "kuhn_rationals",
    "strips_in_a_box",
    "table_cut_up",
    "huge_table",
    "mixed_table",
    "slivers",
    "delaunay_space",
    "delaunay_in_four",
    "delaunay_of_rationals",
    "opposite_outputs",
    "control_law",
    "noisy_table",
]


def largest(bound, x):
    """What a bound allows at each point."""
    if isinstance(bound, tuple):
        return np.array([bound[0] + bound[1] * max(abs(v) for v in point) for point in x], dtype=object)
    return np.full(len(x), bound, dtype=object)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize("form", ["plain", "shared"])
def test_rounded_weights_keep_to_their_bound(name, dtype, form):
    """|network - p| is within the proven bound at random points and corners of the pieces, in rationals.

    A plain max of mins is recognised from the rounded weights alone, a shared one is proved with the exact one at hand.
    """
    p = function(name)
    exact = plain(name) if form == "plain" else compiled(name, "lattice").network
    network = rounded(exact, dtype)
    proof = certify(p, network, rounded_from=None if form == "plain" else exact)
    assert proof.proved
    x, expected = values(p, points_in_pieces(p, 4, seed=1))
    assert (np.abs(network(x) - expected).max(axis=1) <= largest(proof.error_bound, x)).all()
    if p.tol == 0 and vertices_of(p):
        x = np.array(vertices_of(p), dtype=object)
        assert (np.abs(network(x) - p(x)).max(axis=1) <= largest(proof.error_bound, x)).all()


@pytest.mark.parametrize("name", ["strips", "concave", "kuhn_rationals", "delaunay_of_rationals"])
def test_bounds_of_rounded_weights_are_reached_within_a_factor(name):
    """The bound of float32 weights is no more than 30 times the difference at some point: no empty promise."""
    p = function(name)
    network = rounded(compiled(name, "lattice").network, np.float32)
    bound = certify(p, network).error_bound
    x, expected = values(p, points_in_pieces(p, 12, seed=1))
    assert (largest(bound, x) <= 30 * np.abs(network(x) - expected).max(axis=1)).any()


def test_weights_that_floats_hold_need_no_bound():
    """A network of integers is exact in float32 too."""
    proof = certify(five_pieces(), rounded(compiled("wrong_for_algorithm_1", "lattice").network, np.float32))
    assert proof.proved
    assert proof.error_bound == 0


def test_a_bound_that_is_too_large_is_a_failure():
    """`max_error` refuses float32 weights of thirds; without it they are accepted with their bound."""
    p = function("thirds_and_sevenths")
    network = rounded(compiled("thirds_and_sevenths", "lattice").network, np.float32)
    assert certify(p, network).proved
    with pytest.raises(ProofError):
        certify(p, network, max_error=1e-12)


# --- changed proofs -----------------------------------------------------------------------------------------------

# The construction, and the format to which its weights are rounded.
PROOFS = {
    "wrong_for_algorithm_1": ("lattice", None),
    "thirds_and_sevenths": ("lattice", None),
    "three_outputs": ("lattice", None),
    "table_to_repair": ("lattice", None),
    "strips_in_a_box": ("lattice", np.float32),
    "kuhn_rationals": ("lattice", np.float64),
    "concave": ("lattice", np.float32),
    "saddle": ("hinge", None),
    "star_of_cones": ("gates", None),
    "kuhn_space": ("gates", None),
}
LATTICES = [name for name, (construction, _) in PROOFS.items() if construction == "lattice"]
EXACT = [name for name, (_, dtype) in PROOFS.items() if dtype is None]


def plain(name):
    """A max of mins as the paper builds it, one network an output, side by side."""
    p = function(name)
    made = [plain_lattice(p, j).network for j in range(p.outputs)]
    return made[0] if len(made) == 1 else side_by_side(made)


def proved(name):
    """The network of a case."""
    construction, dtype = PROOFS[name]
    network = plain(name) if construction == "lattice" else compiled(name, construction).network
    return network if dtype is None else rounded(network, dtype)


@pytest.fixture(scope="module")
def proof_files(tmp_path_factory):
    """The three documents of each case, and the bound that is proved."""
    found = {}
    for name in PROOFS:
        network = proved(name)
        with without_regions():
            proof = certify(function(name), network)
        files = documents(tmp_path_factory.mktemp(name), function(name), network, proof)
        found[name] = files, check(*files)
    return found


def leaves(node, path=()):
    """The paths to all numbers of a document."""
    if isinstance(node, (dict, list)):
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(child, (*path, key))
    elif is_number(node):
        yield path


def is_number(value):
    try:
        return not isinstance(value, bool) and value is not None and Fraction(value) is not None
    except (TypeError, ValueError):
        return False


def kind_of(path):
    """The field that a path is in: its names without numbers."""
    return tuple(key for key in path if isinstance(key, str) and not key.isdigit())


def at(document, path):
    for key in path:
        document = document[key]
    return document


def with_value(document, path, value):
    changed = copy.deepcopy(document)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def written(x):
    return int(x) if x.denominator == 1 else str(x)


def by_kind(document, seed, each=4):
    """Some paths of every kind of field of a document, at random."""
    rng = np.random.default_rng(seed)
    kinds = {}
    for path in leaves(document):
        kinds.setdefault(kind_of(path), []).append(path)
    return [paths[i] for paths in kinds.values() for i in rng.permutation(len(paths))[:each]]


def verdict(files):
    """The bound that the checker finds proved, or None if it refuses."""
    try:
        return check(*files)
    except Refused:
        return None


def at_least(bound, other):
    pairs = [value if isinstance(value, tuple) else (value, Fraction(0)) for value in (bound, other)]
    return all(a >= b for a, b in zip(*pairs, strict=True))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", PROOFS)
def test_a_changed_number_of_a_proof_is_refused_or_proves_no_more(name, proof_files):
    """Function and network stay, one number of the proof changes: then no smaller bound is accepted than was proved.

    Of rounded weights a smaller bound may be stated, if it is true: at least the exact supremum of the difference.
    """
    (p, network, proof), bound = proof_files[name]
    truth = distance(function(name), proved(name)).largest if proof["kind"] == "rounded" else None
    for path in by_kind(proof, 0):
        number = Fraction(at(proof, path))
        for other in (number + 1, number - 1, -number, number + TINY, number - TINY, number / 2):
            if other == number:
                continue
            found = verdict((p, network, with_value(proof, path, written(other))))
            if path == ("error_bound",) and proof["kind"] == "rounded" and found is not None:
                assert found >= truth, path  # the prover states up to an eighth more than it needs
                continue
            assert found is None or at_least(found, bound), path


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [name for name in LATTICES if name in EXACT])
def test_what_an_exact_proof_rests_on_cannot_be_changed(name, proof_files):
    """In an exact proof, multipliers of rows, constants, components and values are what they must be."""
    (p, network, proof), _ = proof_files[name]
    simplices = "simplices" in p
    for path in by_kind(proof, 1, each=8):
        kind = kind_of(path)
        if {"error_bound", "cut", "box"} & set(kind):
            continue  # a larger bound or box and another cut may prove it too
        if simplices and "lambda" in kind:
            continue  # at the corners there is room
        for step in (TINY, -TINY, 1):
            number = Fraction(at(proof, path)) + step
            assert verdict((p, network, with_value(proof, path, written(number)))) is None, path


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", LATTICES)
def test_a_negative_multiplier_is_refused(name, proof_files):
    """Every multiplier made negative, one at a time: refused, even by 1e-30."""
    (p, network, proof), _ = proof_files[name]
    signed = [path for path in leaves(proof) if {"lambda", "empty"} & set(path)]
    rng = np.random.default_rng(2)
    for path in [signed[i] for i in rng.permutation(len(signed))[:40]]:
        for number in (-TINY, -Fraction(at(proof, path)) - TINY):
            assert verdict((p, network, with_value(proof, path, written(number)))) is None, path


@pytest.mark.parametrize("name", EXACT)
def test_a_changed_weight_is_refused_or_harmless(name, proof_files):
    """Function and proof stay, a weight of the exported network is off by 1e-30: refused, or no value changes."""
    (p, network, proof), _ = proof_files[name]
    x, expected = samples(name)
    rng = np.random.default_rng(3)
    weights = [path for path in leaves(network) if path[0] == "layers" and (path[-1] == 2 or path[2] == "bias")]
    for path in [weights[i] for i in rng.permutation(len(weights))[:30]]:
        changed = with_value(network, path, written(Fraction(at(network, path)) + TINY))
        if verdict((p, changed, proof)) is not None:
            assert (loaded(changed)(x) == expected).all(), path


def loaded(document):
    """The network of a document, read without the package's reader."""
    layers = []
    for layer in document["layers"]:
        weight = np.full((layer["rows"], layer["columns"]), Fraction(0), dtype=object)
        for i, j, value in layer["entries"]:
            weight[i, j] = Fraction(value)
        layers.append((weight, fraction_array(layer["bias"])))
    return Network(layers)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["wrong_for_algorithm_1", "thirds_and_sevenths", "saddle", "star_of_cones"])
def test_a_changed_function_is_refused_or_harmless(name, proof_files):
    """Network and proof stay, a number of the function is off by 1e-30: refused, or the network still computes it."""
    (p, network, proof), _ = proof_files[name]
    rng = np.random.default_rng(4)
    numbers = [path for path in leaves(p) if path[0] == "pieces"]
    for path in [numbers[i] for i in rng.permutation(len(numbers))[:40]]:
        changed = with_value(p, path, written(Fraction(at(p, path)) + TINY))
        if verdict((changed, network, proof)) is None:
            continue
        pieces = changed["pieces"]
        q = CPWL.from_pieces(*([piece[key] for piece in pieces] for key in ("A", "b", "gradient", "offset")))
        x, expected = values(q, points_in_pieces(q, 10, seed=0))
        assert (loaded(network)(x) == expected).all(), path


@pytest.mark.parametrize("name", ["wrong_for_algorithm_1", "kuhn_plane", "sum_norm_in_space"])
def test_one_unit_in_the_last_place_is_refused(name, tmp_path):
    """A float64 network that is claimed exact: a weight of any layer moved to the next double is refused."""
    p = function(name)
    network = rounded(compiled(name, "lattice").network, np.float64)
    with without_regions():  # where a weight has no effect they see that
        proof = certify(p, network)
    assert proof.error_bound == 0
    law, weights, document = documents(tmp_path, p, network, proof)
    assert check(law, weights, document) == 0
    for k, layer in enumerate(weights["layers"]):
        for e in range(0, len(layer["entries"]), max(1, len(layer["entries"]) // 8)):
            path = ("layers", k, "entries", e, 2)
            changed = with_value(weights, path, float(np.nextafter(at(weights, path), np.inf)))
            assert verdict((law, changed, document)) is None, path


@pytest.mark.parametrize("name", LATTICES)
def test_a_proof_with_something_left_out_is_refused(name, proof_files):
    """A value, a piece, a component or a field missing: refused."""
    (p, network, proof), _ = proof_files[name]

    def without(*path):
        changed = copy.deepcopy(proof)
        del at(changed, path[:-1])[path[-1]]
        return changed

    inner = () if proof["kind"] == "expression" else ("proof",)
    names = [("components",), ("values",), ("output",), ("below",), ("reach",), ("below", 0), ("reach", 0)]
    lists = [(*inner, *path) for path in names]
    for path in lists:
        for i in range(len(at(proof, path))):
            assert verdict((p, network, without(*path, i))) is None, (path, i)
    for key in proof:
        assert verdict((p, network, without(key))) is None, key
    pieces = "simplices" if "simplices" in p else "pieces"
    assert verdict(({**p, pieces: p[pieces][1:]}, network, proof)) is None
    assert verdict(({**p, pieces: [*p[pieces], p[pieces][0]]}, network, proof)) is None


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_of_another_function_is_refused(name, proof_files):
    """Every other function, and every other network, with this proof: refused."""
    (p, network, proof), _ = proof_files[name]
    for other, ((q, net, _), _) in proof_files.items():
        if other != name:
            assert verdict((q, network, proof)) is None
            assert verdict((p, net, proof)) is None
            assert verdict((q, net, proof)) is None


def test_a_proof_of_a_slightly_other_function_is_refused(tmp_path):
    """A table whose value at one corner is higher by 1e-30."""
    points, triangles = [[0, 0], [1, 0], [0, 1], [1, 1]], [[0, 1, 3], [0, 2, 3]]
    p = CPWL.from_simplices(points, triangles, [0, 1, 2, "1/3"])
    network = plain_lattice(p).network
    law, weights, document = documents(tmp_path, p, network, certify(p, network))
    assert check(law, weights, document) == 0
    law["values"][3] = [str(Fraction(1, 3) + TINY)]
    assert verdict((law, weights, document)) is None


@pytest.mark.parametrize("name", names("bounded")[:6])
def test_the_same_proof_twice(name):
    """`certify` is deterministic: the same bytes."""
    p, network = function(name), compiled(name, "lattice").network
    one, two = (json.dumps(certify(p, network).document) for _ in range(2))
    assert one == two


# --- shared lattices: expressions of maxima and minima ------------------------------------------------------------

SHARED = ["absolute_value", "wrong_for_algorithm_1", "three_outputs", "kuhn_rationals", "table_to_repair"]


@cache
def shared(name):
    """The network in which maxima and minima share neurons."""
    return shared_lattice(function(name)).network


@cache
def shared_files(name):
    """Function, network and proof as documents."""
    proof = certify(function(name), shared(name))
    assert proof.error_bound == 0
    written_proof = json.loads(json.dumps(proof.document))
    return json.loads(json.dumps(function_document(function(name)))), network_document(shared(name)), written_proof


@pytest.mark.one_in(3)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", SHARED)
def test_a_changed_shared_network_is_refuted_or_harmless(name, change):
    """A single change is refuted at a point, or it changes no value; what is proved is proved of equality."""
    assert len(shared(name).layers) > 1
    p = function(name)
    for seed in range(2):
        layers = parts(shared(name))
        change(layers, np.random.default_rng([seed, 5]))
        network = rational(layers)
        found = outcome(p, network)
        if isinstance(found, ProofError):
            x = fraction_array(found.details["point"])[None]
            assert (network(x) != p(x)).any()
        else:
            assert found.error_bound == 0 if found.proved else found.reason.startswith("not proved: ")
            x, expected = samples(name)
            assert (network(x) == expected).all()


@pytest.mark.parametrize("name", SHARED)
def test_a_changed_number_of_an_expression_proof_is_refused_or_proves_no_more(name):
    """Function and network stay, one number of the proof changes: nothing smaller than 0 can be proved, so it is 0."""
    p, network, proof = shared_files(name)
    assert check(p, network, proof) == 0
    for path in by_kind(proof, 0, each=2):
        number = Fraction(at(proof, path))
        for other in (number + 1, -number, number + TINY, number - TINY):
            if other != number:
                found = verdict((p, network, with_value(proof, path, written(other))))
                assert found is None or found >= 0, path


@pytest.mark.parametrize("name", SHARED)
def test_no_weight_of_a_shared_network_may_change(name):
    """Function and proof stay, a weight is off by 1e-30: refused, or no value changes."""
    p, network, proof = shared_files(name)
    x, expected = samples(name)
    rng = np.random.default_rng(3)
    weights = [path for path in leaves(network) if path[0] == "layers" and (path[-1] == 2 or path[2] == "bias")]
    for path in [weights[i] for i in rng.permutation(len(weights))[:20]]:
        changed = with_value(network, path, written(Fraction(at(network, path)) + TINY))
        if verdict((p, changed, proof)) is not None:
            assert (loaded(changed)(x) == expected).all(), path


@pytest.mark.parametrize("name", SHARED)
def test_other_operations_are_refused(name):
    """Each maximum made a minimum and the reverse, each operand another value, each settling member left out."""
    p, network, proof = shared_files(name)
    count = len(proof["components"])
    for k, (kind, u, v) in enumerate(proof["values"][:8]):
        other = {"max": "min", "min": "max"}[kind]
        for value in ([other, u, v], [kind, u, u], [kind, (u + 1) % count, v], [kind, u, count + k], ["sum", u, v]):
            if set(value[1:]) != {u, v} or value[0] != kind:
                assert verdict((p, network, with_value(proof, ("values", k), value))) is None
    for side, o in itertools.product(("below", "reach"), range(len(proof["output"]))):
        for j, tree in enumerate(proof[side][o][:6]):
            for member in tree.get("members", {}):
                rest = {m: entry for m, entry in tree["members"].items() if m != member}
                assert verdict((p, network, with_value(proof, (side, o, j, "members"), rest))) is None
    for key in proof:
        assert verdict((p, network, {k: v for k, v in proof.items() if k != key})) is None


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", ["thirds_and_sevenths", "strips", "concave", "kuhn_rationals", "delaunay_space"])
@pytest.mark.parametrize("told", [True, False], ids=["told", "guessed"])
def test_rounded_shared_networks_keep_to_their_bound(name, dtype, told):
    """With the exact network given, or guessed from the rounded weights: the bound holds at points of the pieces."""
    p = function(name)
    network = rounded(shared(name), dtype)
    proof = certify(p, network, rounded_from=shared(name) if told else None)
    assert proof.proved
    x, expected = values(p, points_in_pieces(p, 4, seed=1))
    assert (np.abs(network(x) - expected).max(axis=1) <= largest(proof.error_bound, x)).all()
    files = (json.loads(json.dumps(function_document(p))), network_document(network))
    assert check(*files, json.loads(json.dumps(proof.document))) == proof.error_bound


@pytest.mark.one_in(5)
@pytest.mark.parametrize("off", ["1/1000000000000000000000000000000", "1/10000000000", "1/1000000"])
def test_a_table_of_rounded_points_excuses_no_other_error(off):
    """A network of the even table is proved with the distance; one that is off both tables is refuted with a point."""
    axis = np.linspace(0, 1, 7)
    p = CPWL.from_grid([axis, axis], np.random.default_rng(0).normal(size=(7, 7)))
    network = compile(p).network
    certificate = certify(p, network)
    assert certificate.proved
    assert 0 < certificate.error_bound < 1e-12
    *layers, (weight, bias) = exact_layers(network)
    with pytest.raises(ProofError, match="differ") as caught:
        certify(p, Network([*layers, (weight, bias + Fraction(off))]))
    assert (caught.value.details["network"] != caught.value.details["function"]).any()


@pytest.mark.parametrize("shape", [(1, 4, 1), (2, 3, 1)])
def test_rounding_of_an_extraction_is_not_called_a_difference(shape):
    """The function of a float network, extracted in floats, is off by rounding; extracted exactly, it is proved."""
    rng = np.random.default_rng(0)
    network = Network([(rng.standard_normal((b, a)), rng.standard_normal(b)) for a, b in itertools.pairwise(shape)])
    rough = certify(extract(network), network)
    assert not rough.proved
    assert "refutes nothing" in rough.reason
    assert "exact=True" in rough.reason
    assert certify(extract(network, exact=True), network).error_bound == 0


def test_a_maximum_of_many_planes_is_proved_by_corners(tmp_path):
    """Tangents of a paraboloid, with unbounded pieces: the proof names components without multipliers, and no law of a
    piece may be off by 1e-30, nor may a piece reach beyond one of its rows."""
    slopes = np.random.default_rng(2).integers(-20, 21, (25, 2))
    laws = np.column_stack([2 * slopes, -(slopes**2).sum(axis=1)]).tolist()
    p = CPWL.from_maxmin(laws, [[k] for k in range(len(laws))])
    network = compile(p, construction="lattice").network
    files = documents(tmp_path, p, network, certify(p, network))
    assert check(*files) == 0
    assert sum("corners" in tree for tree in files[2]["below"][0]) > 10
    for j, piece in enumerate(files[0]["pieces"]):
        for change in (TINY, -TINY):
            other = with_value(files[0], ("pieces", j, "offset", 0), written(Fraction(piece["offset"][0]) + change))
            assert verdict((other, *files[1:])) is None
        less = {"A": piece["A"][1:], "b": piece["b"][1:]}
        assert verdict((with_value(files[0], ("pieces", j), piece | less), *files[1:])) is None


def test_an_affine_network_of_many_inputs():
    """A law that is the network needs no corners: R^1500 has too many lines for the steps of the checker."""

    def constant(n, value):
        return CPWL.from_pieces([np.zeros((0, n))], [[]], [[0] * n], [value])

    network, large = (Network([(np.zeros((1, n)), [3.0])]) for n in (2, 1500))
    assert certify(constant(1500, 3), large).proved
    proof = certify(constant(2, 3), network).document
    with pytest.raises(Refused):
        check(function_document(constant(2, 3 + Fraction(1, 10**30))), network_document(network), proof)
