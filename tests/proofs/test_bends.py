"""Proofs of kind "bends": networks of hinges and gates are proved, and every wrong one is refused."""

import copy
import itertools
import json
import random
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial import Delaunay

from cpwl import CPWL, Network, certify
from cpwl.documents.write import function_document, network_document
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe
from cpwl.proofs import question
from cpwl.proofs.entries import NoProof
from cpwl.proofs.provers.bends import _POINTS, _domain
from cpwl_check.bends import Known, of_fans
from cpwl_check.budget import Refused, Undecided
from cpwl_check.cones import dot, region
from cpwl_check.decide import check
from cpwl_check.main import main
from support.constructions import hinge, plane_gates, space_gates
from support.proofs import prove_bends

TINY = Fraction(1, 10**30)


def star():
    """max(0, x, y) = s(x) + [y > x] (s(y) - s(x)), a gate that needs no multiplier (docs/theory/gates.md)."""
    p = CPWL.from_maxmin([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0], [1], [2]])
    layers = [([[1, 0], [0, 1]], [0, 0]), ([[-1, 1], [1, 0]], [0, 0]), ([[1, 1]], [0])]
    return p, Network(layers)


def slanted_star(multiplier=1):
    """The same with one: [l > 0] d = s(d + M l) - M s(l) for l = y - x, and M l = M s(l) - M s(-l)."""
    first = ([[1, 0], [0, 1], [-1, 1], [1, -1]], [0, 0, 0, 0])
    second = ([[-1, 1, multiplier, -multiplier], [1, 0, 0, 0], [0, 0, 1, 0]], [0, 0, 0])
    return star()[0], Network([first, second, ([[1, 1, -multiplier]], [0])])


def arrangement(n, w, seed, *, dependent=False):
    """A function with one hidden layer of `w` neurons on R^n, by its pieces."""
    rng = np.random.default_rng(seed)
    normals = rng.integers(1, 6, size=(w, n)) * rng.choice([-1, 1], size=(w, n))
    if dependent:
        normals[-1] = normals[0] + normals[1] if n > 1 else normals[0]
    bias, weight = rng.integers(-5, 6, size=w), rng.integers(1, 5, size=w) * rng.choice([-1, 1], size=w)
    A, b, gradient, offset = [], [], [], []
    for signs in itertools.product((1, -1), repeat=w):
        s = np.array(signs)
        rows, right = (-normals * s[:, None]).tolist(), (bias * s).tolist()
        if Probe(0.0).interior(Polyhedron.from_rows(rows, right)) is None:
            continue
        A.append(rows)
        b.append(right)
        on = s > 0
        gradient.append((weight[on] @ normals[on] + rng.integers(0, 1) + 2).tolist())
        offset.append(int(weight[on] @ bias[on]) + 1)
    return CPWL.from_pieces(A, b, gradient, offset)


def delaunay(n, count, seed):
    """Random values at random points of a box, all integers."""
    rng = np.random.default_rng(seed)
    corners = np.array(list(itertools.product((0, 1000), repeat=n)))
    points = np.unique(np.concatenate([rng.integers(1, 1000, size=(count, n)), corners]), axis=0)
    simplices = Delaunay(points).simplices
    volume = np.linalg.det(np.concatenate([points[simplices], np.ones((len(simplices), n + 1, 1))], axis=2))
    values = rng.integers(-50, 50, size=len(points))
    return CPWL.from_simplices(points.tolist(), simplices[np.abs(volume) > 0.5].tolist(), values.tolist())


def files(p, network):
    """The three documents, the proof included."""
    return [function_document(p), network_document(network), prove_bends(p, network)]


# --- Accepted ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_hinge_networks_are_proved(n):
    """One hidden layer, with its affine rest and flips, in any dimension."""
    for seed, dependent in itertools.product((n, n + 1), (False, True)):
        p = arrangement(n, 3 if n == 1 else 4, seed, dependent=dependent)
        assert check(*files(p, hinge(p))) == 0


def test_hinges_of_many_inputs_are_proved():
    """32 pieces in R^70: the lines in the pieces are kept as lines."""
    p = arrangement(70, 5, 0)
    assert check(*files(p, hinge(p))) == 0


@pytest.mark.parametrize("make", [star, slanted_star])
def test_stars_by_hand_are_proved(make):
    """Two hidden layers, on all of the plane."""
    assert check(*files(*make())) == 0


@pytest.mark.parametrize(("count", "seed"), [(1, 0), (6, 1), (20, 1), (20, 2)])
def test_line_gates_are_proved(count, seed):
    """Triangulated tables."""

    p = delaunay(2, count, seed)
    assert check(*files(p, plane_gates(p).network)) == 0


def test_line_gates_of_a_grid_are_proved():
    """Many points on one gate."""

    values = np.random.default_rng(0).integers(-9, 9, size=(6, 6))
    p = CPWL.from_grid([list(range(6))] * 2, values.tolist())
    assert check(*files(p, plane_gates(p).network)) == 0


@pytest.mark.parametrize(("n", "count"), [(2, 6), (3, 1), (3, 4)])
def test_local_gates_are_proved(n, count):
    """Up to three hidden layers, with gates on gates."""

    p = delaunay(n, count, 1)
    assert check(*files(p, space_gates(p).network)) == 0


def test_two_outputs_are_proved_together():
    """One gate serves both."""
    p, _ = star()
    laws = p.laws.integer()
    rows, start = p.polyhedra.integer(), p.polyhedra.start
    own = [rows[start[i] : start[i + 1]] for i in range(p.num_pieces)]
    gradient = [[list(law[0, :2]), [2 * law[0, 0], 2 * law[0, 1] + 1]] for law in laws]
    two = CPWL.from_pieces(
        [r[:, :2].tolist() for r in own], [r[:, 2].tolist() for r in own], gradient, [[0, 3]] * len(own)
    )
    pair = Network(
        [
            ([[1, 0], [0, 1], [0, -1]], [0, 0, 0]),
            ([[-1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 0, 0, 0]),
            ([[1, 1, 0, 0], [2, 2, 1, -1]], [0, 3]),
        ]
    )
    assert check(*files(two, pair)) == 0


def test_the_checker_says_so(capsys, tmp_path):
    """As a program: one line and status 0."""
    paths = [tmp_path / name for name in ("law.json", "net.json", "law.proof.json")]
    for path, document in zip(paths, files(*star()), strict=True):
        path.write_text(json.dumps(document), encoding="utf-8")
    limit = sys.get_int_max_str_digits()
    assert main([str(path) for path in paths]) == 0
    sys.set_int_max_str_digits(limit)
    assert capsys.readouterr().out.startswith("proved: network = function on every piece")


# --- Refused ----------------------------------------------------------------------------------------------------------


def examples():
    """Small functions with networks that are proved."""

    table = delaunay(2, 4, 3)
    solid = delaunay(3, 1, 0)
    line = arrangement(2, 3, 5)
    return [
        star(),
        slanted_star(),
        (line, hinge(line)),
        (table, plane_gates(table).network),
        (solid, space_gates(solid).network),
    ]


EXAMPLES = range(5)


def in_regions(documents):
    """The same with gates that are shown on the domain, by cutting it, and not everywhere."""
    function, weights, proof = copy.deepcopy(documents)
    for role in itertools.chain(*proof["roles"]):
        if role.pop("along", None) is not None:
            role["within"] = list(range(len(proof["limits"])))
    return function, weights, proof


def is_refused(documents):
    try:
        check(*documents)
    except Refused:
        return True
    return False


def differ(p, network, points):
    """Whether a network in a document differs from the function at one of the points."""
    layers = []
    for layer in network["layers"]:
        weight = np.full((layer["rows"], layer["columns"]), Fraction(0), dtype=object)
        for i, j, w in layer["entries"]:
            weight[i, j] = Fraction(w)
        layers.append((weight, np.array([Fraction(v) for v in layer["bias"]], dtype=object)))
    values = points.T
    for k, (weight, bias) in enumerate(layers):
        values = weight.dot(np.where(values > 0, values, 0) if k else values) + bias[:, None]
    return bool((p(points) != values.T).any())


def inner_points(p, count=40):
    rng = random.Random(0)
    if p.mesh is not None:
        for_simplex = [
            [[Fraction(int(v), int(x[-1])) for v in x[:-1]] for x in p.mesh.corners[s]] for s in p.mesh.simplices
        ]
        weights = [[Fraction(rng.randint(1, 99)) for _ in range(p.dim + 1)] for _ in range(count)]
        return np.array(
            [
                [sum(w * x[k] for w, x in zip(ws, corners, strict=True)) / sum(ws) for k in range(p.dim)]
                for corners in for_simplex
                for ws in weights
            ],
            dtype=object,
        )
    return np.array(
        [[Fraction(rng.randint(-999, 999), 97) for _ in range(p.dim)] for _ in range(8 * count)], dtype=object
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", EXAMPLES)
@pytest.mark.parametrize("change", ["relative", "tiny"])
def test_no_single_weight_may_change(number, change):
    """By 1e-9 of itself, or by 1e-30; a change that is accepted must change nothing on the domain."""
    p, network = examples()[number]
    function, weights, proof = files(p, network)
    points = inner_points(p, 10)
    rng = random.Random(number)
    places = [(l, e) for l, layer in enumerate(weights["layers"]) for e in range(len(layer["entries"]))]
    refused = 0
    chosen = rng.sample(places, min(len(places), 40))
    for l, e in chosen:
        other = copy.deepcopy(weights)
        entry = other["layers"][l]["entries"][e]
        value = Fraction(entry[2])
        entry[2] = str(value * (1 + Fraction(1, 10**9)) if change == "relative" else value + TINY)
        if is_refused([function, other, proof]):
            refused += 1
        else:
            assert not differ(p, other, points)
    assert refused >= 0.9 * len(chosen)
    assert check(function, weights, proof) == 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", EXAMPLES)
def test_no_bias_may_change(number):
    """By 1e-30 in either direction; unless that changes nothing on the domain."""
    p, network = examples()[number]
    function, weights, proof = files(p, network)
    points, refused, tried = inner_points(p, 10), 0, 0
    for l, layer in enumerate(weights["layers"]):
        for i, sign in itertools.product(range(min(layer["rows"], 12)), (1, -1)):
            other = copy.deepcopy(weights)
            other["layers"][l]["bias"][i] = str(Fraction(layer["bias"][i]) + sign * TINY)
            refused, tried = refused + is_refused([function, other, proof]), tried + 1
            assert is_refused([function, other, proof]) or not differ(p, other, points), (l, i)
    assert refused > 0.8 * tried


@pytest.mark.parametrize("number", EXAMPLES)
def test_no_value_of_the_function_may_change(number):
    """By 1e-12, in one place."""
    p, network = examples()[number]
    function, weights, proof = files(p, network)
    size = len(function["values"] if "values" in function else function["pieces"])
    for i in range(size):
        other = copy.deepcopy(function)
        if "values" in other:
            other["values"][i][0] = str(Fraction(other["values"][i][0]) + Fraction(1, 10**12))
        else:
            other["pieces"][i]["offset"][0] = str(Fraction(other["pieces"][i]["offset"][0]) + Fraction(1, 10**12))
        assert is_refused([other, weights, proof]), i


@pytest.mark.parametrize("number", EXAMPLES)
def test_no_neuron_may_be_removed(number):
    """Its weight in the next layer set to 0."""
    p, network = examples()[number]
    function, weights, proof = files(p, network)
    points = inner_points(p, 10)
    for l in range(1, len(weights["layers"])):
        for j in range(weights["layers"][l]["columns"]):
            other = copy.deepcopy(weights)
            other["layers"][l]["entries"] = [e for e in other["layers"][l]["entries"] if e[1] != j]
            assert is_refused([function, other, proof]) or not differ(p, other, points), (l, j)


def test_a_multiplier_that_is_slightly_too_small_is_refused():
    """max(0, x, y) = s(y) + [l > 0] d, l = x - y, d = s(x) - s(y), as -(s(-d + M l) - M s(l)): it takes M >= 1."""
    p = star()[0]

    def network(m):
        first = ([[1, 0], [0, 1], [1, -1], [-1, 1]], [0, 0, 0, 0])
        second = ([[-1, 1, m, f"-{m}"], [0, 1, 0, 0], [0, 0, 1, 0]], [0, 0, 0])
        return Network([first, second, ([[-1, 1, m]], [0])])

    function, weights, proof = files(p, network(1))
    assert check(function, weights, proof) == 0
    assert check(function, network_document(network("3/2")), proof) == 0
    regions = in_regions((function, weights, proof))[2]
    for m in (1 - Fraction(1, 10**12), 1 - TINY, Fraction(1, 2)):
        with pytest.raises(Refused, match="layer 1, neuron 0: this is not shown to be a gate"):
            check(function, network_document(network(str(m))), proof)
        with pytest.raises(Refused, match="layer 1, neuron 0: this has the wrong sign"):
            check(function, network_document(network(str(m))), regions)
    with pytest.raises(NoProof) as caught:
        prove_bends(p, network(str(1 - TINY)))
    points = np.array(caught.value.points, dtype=object)
    assert (network(str(1 - TINY))(points) != p(points)).any()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", EXAMPLES)
def test_no_hint_may_be_false(number):
    """Each role and plane changed, moved or left out; a hint that is accepted was not needed or is true too."""
    p, network = examples()[number]
    function, weights, proof = files(p, network)
    accepted = 0
    for l, layer in enumerate(proof["roles"]):
        for i, role in enumerate(layer):
            others = [None, {}, {"gate": 0, "within": []}, {"carry": True}, {"zero": True, "within": []}]
            hint = {name: value for name, value in role.items() if name in ("along", "within")}
            others += [{"gate": -role["gate"]} | hint] if "gate" in role else []
            others += [{"gate": role["gate"], "along": u} for u in ([0] * p.dim, [1] * (p.dim + 1)) if "along" in role]
            others += [role | {"along": [-v for v in role["along"]]}] if role.get("along") else []
            others += [{"carry": True, "along": []}, role | {"along": [], "within": []}]
            others += [{"carry": False, "within": []}, {"gate": True, "within": []}, {"carry": True, "within": [-1]}]
            for other in others:
                wrong = copy.deepcopy(proof)
                wrong["roles"][l][i] = other
                accepted += not is_refused([function, weights, wrong])
    assert accepted == 0
    for k in range(len(proof["planes"]) if proof["roles"] else 0):
        wrong = copy.deepcopy(proof)
        wrong["planes"][k][-1] = str(Fraction(wrong["planes"][k][-1]) + TINY)
        used = any(abs(role.get("gate", 0)) == k + 1 for layer in proof["roles"] for role in layer)
        assert is_refused([function, weights, wrong]) or not used
    for k in range(len(proof["limits"])):
        wrong = copy.deepcopy(proof)
        wrong["limits"][k][-1] = str(Fraction(wrong["limits"][k][-1]) - TINY)
        with pytest.raises(Refused, match=r"limits|layer"):
            check(function, weights, wrong)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("error_bound",), 1, "error_bound"),
        (("error_bound",), False, "error_bound"),
        (("roles",), [], "roles"),
        (("roles", 0), [], "roles"),
        (("planes", 0), [0, 0, 1], "no slope"),
        (("planes", 0), [0, 0], "length"),
        (("planes", 0), ["1/0", 0, 0], "not a number"),
        (("planes", 1), "planes 0", "planes"),
        (("inputs",), 3, "inputs"),
        (("limits",), [[0, 0, -1]], "limits"),
        (("limits",), None, "limits"),
        (("roles", 0, 0, "within"), [0], "within"),
        (("roles", 0, 0, "gate"), 99, "gate"),
        (("roles", 0, 0, "gate"), "1", "gate"),
    ],
)
def test_malformed_proofs_are_refused_with_their_place(path, value, reason):
    """Never an exception of another kind."""
    function, weights, proof = files(*star())
    inner = proof
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = list(proof["planes"][0]) if value == "planes 0" else value
    with pytest.raises(Refused, match=reason):
        check(function, weights, proof)


def test_a_piece_without_interior_is_not_looked_past():
    """The segment y = 0 with a law that is right at its corners only is refused, and so is a bend inside it."""
    bent = {"A": [[0, 1], [0, -1], [1, 0], [-1, 0]], "b": [0, 0, 1, 1], "gradient": [[0, 0]], "offset": [1]}
    function = {"format": "cpwl", "version": 1, "dim": 2, "outputs": 1, "pieces": [bent]}
    solid = {"A": [[-1, 0]], "b": [0], "gradient": [[1, 0]], "offset": [0]}  # without one nothing is proved
    function["pieces"].append(solid)
    weights = network_document(Network([([[1, 0], [-1, 0]], [0, 0]), ([[1, 1]], [0])]))  # |x|
    proof = {
        "format": "cpwl-proof",
        "version": 1,
        "kind": "bends",
        "inputs": 2,
        "planes": [],
        "limits": [],
        "roles": [],
    }
    with pytest.raises(Refused, match="it has no interior, and a plane cuts it"):
        check(function, weights, proof | {"error_bound": 0})
    bent["A"].append([1, 0])
    bent["b"].append(0)
    bent["gradient"], bent["offset"] = [[-1, 0]], [0]
    assert check(function, weights, proof | {"error_bound": 0}) == 0
    bent["b"][-1] = -2  # now it is empty
    bent["offset"] = [5]
    assert check(function, weights, proof | {"error_bound": 0}) == 0


def test_cones_are_what_their_rows_say():
    """Generators by double description, against all small integer points."""
    rng = random.Random(2)
    for _ in range(60):
        n = rng.randint(1, 3)
        rows = [[rng.randint(-2, 2) for _ in range(n + 1)] for _ in range(rng.randint(0, 6))]
        cone = region(n, rows)
        for g in cone.generators():
            assert all(dot(row, g) >= 0 for row in rows)
            assert g[-1] >= 0
        functional = [rng.randint(-3, 3) for _ in range(n + 1)]
        inside = [x for x in itertools.product(range(-3, 4), repeat=n) if all(dot(row, [*x, 1]) >= 0 for row in rows)]
        if all(dot(functional, g) >= 0 for g in cone.generators()):
            assert all(dot(functional, [*x, 1]) >= 0 for x in inside)
        for ray, bits in cone.rays:
            tight = [dot(row, ray) == 0 for row in [[0] * n + [1], *rows]]
            assert bits == sum(1 << i for i, zero in enumerate(tight) if zero)


# --- Right, but not proved --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: delaunay(2, 12, 0),
        lambda: delaunay(3, 4, 1),
        lambda: arrangement(2, 4, 0),
        lambda: arrangement(3, 4, 1, dependent=True),
        lambda: CPWL.from_grid([[0, 1, 2, 4]] * 2, np.arange(16).reshape(4, 4) ** 2 % 7),
    ],
)
def test_laws_from_neighbours_are_those_of_open_atoms(make, monkeypatch):
    """What is carried across a facet is the sum over all neurons, on every piece; and it is asked for."""
    p, counts = make(), [0, 0]
    across = Known.across

    def compared(self, facet, inside):
        laws = across(self, facet, inside)
        assert laws == self.open(inside)
        counts[0] += 1
        counts[1] += laws != self.beyond[facet][1]
        return laws

    monkeypatch.setattr(Known, "across", compared)
    documents = files(p, (plane_gates(p) if p.dim == 2 else space_gates(p)).network)
    counts[:] = [0, 0]
    check(*documents)
    assert counts[0] >= p.num_pieces // 2
    assert counts[1] > 0


@pytest.mark.parametrize("number", range(4))
def test_an_overlapping_piece_with_another_law_is_refused(number):
    """Also where it has a facet in common with a piece on the same side, or none with an interior."""
    p = arrangement(2, 4, 0)
    function, network, proof = files(p, plane_gates(p).network)
    check(function, network, proof)
    pieces = function["pieces"]
    for place in (0, len(pieces)):
        wrong = pieces[number] | {"gradient": pieces[number - 1]["gradient"], "offset": pieces[number - 1]["offset"]}
        with pytest.raises(Refused):
            check(function | {"pieces": [*pieces[:place], wrong, *pieces[place:]]}, network, proof)
        check(function | {"pieces": [*pieces[:place], pieces[number], *pieces[place:]]}, network, proof)


def test_what_is_not_recognised_is_not_called_wrong():
    """max(0, x, y) as max(max(0, x), y): the second neuron changes its sign on a bent line."""
    p = star()[0]
    network = Network([([[1, 0], [0, 1], [0, -1]], [0, 0, 0]), ([[-1, 1, -1], [1, 0, 0]], [0, 0]), ([[1, 1]], [0])])
    with pytest.raises(NoProof):
        prove_bends(p, network)


def test_too_many_regions_are_not_decided(monkeypatch):
    """Work is bounded, and running out is no refusal."""
    documents = in_regions(files(*star()))
    check(*documents)
    monkeypatch.setattr("cpwl_check.bends.LIMIT", 1)
    with pytest.raises(Undecided, match="regions"):
        check(*documents)


def test_roles_are_guessed_from_points_of_all_pieces():
    """However many there are: 2,000 squares in a row, 10,000 corners and middles."""
    square = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    count = 2000
    bounds = [[k + 1, -k, 1, 0] for k in range(count)]
    p = CPWL.from_pieces([square] * count, bounds, [[0, 0]] * count, [0] * count)
    x = question.thinned(question._points(p), _POINTS)[:, 0]
    assert len(x) == 6000
    assert np.histogram(x, bins=10, range=(0, count))[0].min() > 500


@pytest.mark.parametrize("number", EXAMPLES)
def test_gates_are_shown_on_regions_too(number):
    """As in proofs without vectors."""
    documents = files(*examples()[number])
    assert check(*documents) == check(*in_regions(documents)) == 0


def test_gates_of_gates_are_shown_along_a_vector():
    """In space the gates of corners read gates of edges: each has a vector, and weights off by 1e-30 are refused."""
    p = delaunay(3, 4, 1)
    function, weights, proof = files(p, space_gates(p).network)
    vectors = [role["along"] for layer in proof["roles"][1:] for role in layer if "gate" in role]
    assert vectors
    assert all(len(u) == 3 for u in vectors)
    assert check(function, weights, proof) == 0
    assert certify(p, space_gates(p).network).kind == "bends"  # among all kinds
    row = next(i for i, role in enumerate(proof["roles"][1]) if "gate" in role)
    entries = [k for k, entry in enumerate(weights["layers"][2]["entries"]) if entry[0] == row]
    for k in entries[:6]:
        other = copy.deepcopy(weights)
        other["layers"][2]["entries"][k][2] = str(Fraction(other["layers"][2]["entries"][k][2]) + TINY)
        assert is_refused([function, other, proof])


def sum_of_hinges(draw):
    """A row, and an affine function and hinges of one or two fans with few different numbers, 0 on the plane or not."""
    row = [draw.choice([-2, -1, 1, 3]), draw.choice([-1, 0, 2]), draw.choice([-1, 0, 1])]
    m = draw.randint(-2, 6)
    affine, hinges = [m * a for a in row], []
    for across in ([0, 1, 0], [0, 2, 3])[: draw.randint(1, 2)]:
        for _ in range(draw.randint(1, 3)):
            c, x, y = draw.choice([-2, -1, 1, 2]), draw.choice([-2, -1, 0, 1, 2]), draw.choice([-2, -1, 1, 2])
            hinges.append((c, [x * a + y * b for a, b in zip(row, across, strict=True)]))
            # Two hinges that are one on the plane, less what they are there.
            z = draw.choice([-1, 0, 1])
            hinges.append((-c, [z * a + y * b for a, b in zip(row, across, strict=True)]))
    return row, affine, hinges[: len(hinges) - (draw.random() < 0.2)]


def test_fans_have_the_sign_of_their_plane():
    """What is taken for a gate has the sign of its row at all points of a grid, and is 0 where the row is."""
    draw = random.Random(0)
    # The points (a, b) / 3, as integers: all that is compared grows with a positive factor.
    grid = [(a, b, 3) for a in range(-12, 13) for b in range(-12, 13)]
    seen = {True: 0, False: 0}
    for _ in range(200):
        row, affine, hinges = sum_of_hinges(draw)
        found = of_fans(row, affine, hinges)
        seen[found] += 1
        if found:
            signs = [(dot(row, x), dot(affine, x) + sum(c * max(0, dot(h, x)) for c, h in hinges)) for x in grid]
            assert all(l * y >= 0 and (l or not y) for l, y in signs), (row, affine, hinges)
    assert min(seen.values()) > 20


def test_rows_longer_than_any_float_bound_the_domain():
    """Corners with denominators of 400 digits: the four sides of the quadrilateral are found."""
    t = Fraction(1, 10**400)
    corners = [[0, 0], [Fraction(1, 3) + t, 0], [0, 1], [Fraction(1, 2), 1]]
    p = CPWL.from_simplices(corners, [[0, 1, 2], [1, 2, 3]], [0, 1, 2, t])
    assert len(_domain(p)) == 4


def test_one_layer_is_proved_without_corners_from_the_prover(monkeypatch):
    """No neuron has a role to be guessed: planes alone are the hints, and the corners are the checker's business."""
    p = arrangement(3, 5, seed=0)
    network = hinge(p)
    monkeypatch.setattr(question, "generators", None)
    monkeypatch.setattr(question, "_points", None)
    assert prove_bends(p, network)["roles"] == []
