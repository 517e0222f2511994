"""Proofs of kind "regions": whatever is accepted is the exact supremum, by two slow oracles; and they always exist."""

import copy
import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, InputError, Network, ProofError, certify, compile, compress, extract
from cpwl.documents.write import network_document
from cpwl.exact.rational import fraction_array
from cpwl.io.json import save
from cpwl.proofs.provers.regions import list_common_regions, list_regions
from cpwl_check.budget import Refused, Undecided
from cpwl_check.decide import check
from cpwl_check.pieces import read_domain, read_function, read_network
from support.proof_examples import function, network, table
from support.proof_oracle import claim_is_true
from support.proofs import rounded, run_alone, without_regions, write_documents
from support.supremum import evaluated, supremum

TINY = Fraction(1, 10**30)
SIZES = {1: (3, 2), 2: (2, 2), 3: (2, 1), 4: (1, 1)}


def random_network(rng, n, outputs=1):
    """Small rational weights, some of them 0, so that neurons coincide, vanish, or bend at corners of pieces."""

    def layer(rows, columns):
        return [[rng.choice(["1/2", -1, 0, 1, 2, "-1/3", 1]) for _ in range(columns + 1)] for _ in range(rows)]

    widths = [n, *SIZES[n], outputs]
    return network(*(layer(b, a) for a, b in itertools.pairwise(widths)))


def rows_of(rng, n):
    """Rows of a piece: a box or a part of it, a simplex, a cone, a half-space, all of R^n, a flat or an empty piece."""
    unit = [[int(i == j) for j in range(n)] for i in range(n)]
    minus = [[-v for v in row] for row in unit]
    low = [rng.randint(-2, 1) for _ in range(n)]
    high = [v + rng.randint(1, 2) for v in low]
    box = ([*unit, *minus], [*high, *(-v for v in low)])
    slanted = [rng.randint(-2, 2) for _ in range(n)]
    match rng.randrange(8):
        case 0 | 1:
            return box
        case 2:
            return [*box[0], slanted], [*box[1], rng.randint(0, 2)]
        case 3:
            return [*minus, [1] * n], [*(-v for v in low), sum(low) + 1]
        case 4:
            return minus, [-v for v in low]
        case 5:
            return [slanted], [rng.randint(-1, 1)]
        case 6:
            return [*box[0], unit[0]], [*box[1], low[0]]  # flat
        case _:
            return [*box[0], unit[0]], [*box[1], low[0] - rng.randint(0, 1)]  # flat or empty


def far_law(net, rows, n, rng):
    """An affine function that the network follows far out, up to a constant, in a direction of a piece."""
    x = [Fraction(rng.randint(-9, 9) * 10**6 + rng.randint(1, 99)) for _ in range(n)]
    for a, b in zip(*rows, strict=True):  # pushed inside, if that is easy
        short = sum(u * v for u, v in zip(a, x, strict=True)) - b
        size = sum(u * u for u in a)
        if short > 0 and size:
            x = [v - u * (short / size + 1) for u, v in zip(a, x, strict=True)]
    step, values = Fraction(1, 10**6), evaluated(net, x)
    slopes = []
    for i in range(n):
        y = [v + step * (i == j) for j, v in enumerate(x)]
        slopes.append([(b - a) / step for a, b in zip(values, evaluated(net, y), strict=True)])
    return [[str(s[o]) for s in slopes] for o in range(len(values))], [
        str(v - sum(s[o] * c for s, c in zip(slopes, x, strict=True)) + rng.choice([0, 0, 1, Fraction(-1, 3)]))
        for o, v in enumerate(values)
    ]


def case(seed, n):
    """A function with pieces that may overlap, leave holes, be flat, empty or unbounded, and a network."""
    rng = random.Random(seed)
    outputs = rng.choice([1, 1, 2])
    net = random_network(rng, n, outputs)
    if rng.randrange(6) == 0:
        points = [[0] * n, *([rng.randint(1, 3) * (i == j) for j in range(n)] for i in range(n)), [2] * n]
        values = [[rng.randint(-2, 2) for _ in range(outputs)] for _ in points]
        simplices = [list(range(n + 1)), list(range(1, n + 2))]
        return table(points, simplices, values) | {"outputs": outputs}, net
    pieces = []
    for _ in range(rng.randint(1, 2)):
        rows = rows_of(rng, n)
        gradient = [[rng.randint(-2, 2) for _ in range(n)] for _ in range(outputs)]
        offset = [rng.choice([0, 1, "1/3"]) for _ in range(outputs)]
        if rng.randrange(2):
            gradient, offset = far_law(net, rows, n, rng)
        pieces.append((*rows, gradient, offset))
    return function(n, pieces, outputs), net


def proved(p, net, most=10**6):
    """The proof, or None where the difference has no bound."""
    law = read_function(p)
    try:
        return json.loads(json.dumps(list_regions(law, read_network(net, law.n, law.outputs), most)[0]))
    except Refused as reason:
        assert "without bound" in str(reason)  # noqa: PT017 - it is what it says
        return None


def has_substance(p, net, proof):
    """Whether some piece has an interior: otherwise every proof is refused."""
    try:
        check(p, net, proof)
    except Refused as reason:
        return "no piece has an interior" not in str(reason)
    return True


def compare(n, seeds):
    kept = []
    for seed in seeds:
        p, net = case(seed, n)
        proof, truth = proved(p, net), supremum(p, net)
        assert (proof is None) == (truth is None), seed
        if proof is not None and has_substance(p, net, proof):
            assert check(p, net, proof) == truth, seed
            kept.append((p, net, proof, truth))
    return kept


@pytest.mark.parametrize(("n", "count"), [(1, 60), (2, 40), (3, 6)])
def test_the_supremum_is_that_of_the_slow_oracle(n, count):
    """At all points where n hyperplanes meet; where there is no bound, there is no proof."""
    kept = compare(n, range(count))
    assert any(truth for *_, truth in kept)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "count"), [(1, 600), (2, 500), (3, 80), (4, 12)])
def test_the_supremum_is_that_of_the_slow_oracle_many_times(n, count):
    """The same, with other functions and networks."""
    compare(n, range(1000, 1000 + count))


# --- Wrong proofs -----------------------------------------------------------------------------------------------------


def primitive(row):
    scale = math.lcm(*(Fraction(v).denominator for v in row))
    whole = [int(v * scale) for v in row]
    divisor = math.gcd(*whole) or 1
    return [v // divisor for v in whole]


def moved(rng, place):
    """A place moved by 1e-30 in one coordinate, or by 1 in the last."""
    row = [Fraction(v) for v in place]
    k = rng.randrange(len(row))
    row[k] += rng.choice([1, -1]) * (TINY if k < len(row) - 1 else 1)
    return primitive(row)


def on_lists(rng, files):
    """Changes of lists: cells dropped, doubled, swapped, united; corners dropped, added, swapped; lists empty."""
    proof = files[2]
    j = rng.randrange(len(proof["pieces"]))
    cells = proof["pieces"][j]
    if not cells:
        cells.append([rng.randrange(len(proof["places"]))] if proof["places"] else [])
        return
    k, cell = (lambda k: (k, cells[k]))(rng.randrange(len(cells)))
    some = rng.randrange(len(proof["places"]))
    match rng.randrange(15):
        case 13:
            other = rng.choice([c for c in proof["pieces"] if c])
            m = rng.randrange(len(other))
            cells[k], other[m] = other[m], cells[k]
        case 14:
            i = rng.randrange(len(proof["places"]))
            proof["places"][i], proof["places"][some] = proof["places"][some], proof["places"][i]
        case 0:
            del cells[k]
        case 1:
            cells.append(list(cell))
        case 2:
            cells *= 2
        case 3:
            i = rng.randrange(len(proof["pieces"]))
            proof["pieces"][i], proof["pieces"][j] = proof["pieces"][j], proof["pieces"][i]
        case 4:
            cell += [i for i in cells[rng.randrange(len(cells))] if i not in cell]
        case 5:
            del cell[rng.randrange(len(cell))]
        case 6 if some not in cell:
            cell.append(some)
        case 7 if some not in cell:
            cell[rng.randrange(len(cell))] = some
        case 8:
            cells.clear()
        case 9:
            cell.clear()
        case 10:
            cells[k] = sorted(cell)[: files[0]["dim"] + 1]
        case 11:
            a, b = rng.choices(proof["places"], k=2)
            proof["places"].append(primitive([u + v for u, v in zip(a, b, strict=True)]))
            for one in rng.sample(cells, rng.randint(1, len(cells))):
                one.append(len(proof["places"]) - 1)
        case _:
            proof["pieces"].pop() if rng.randrange(2) else proof["pieces"].append([list(cell)])


def on_numbers(rng, files):
    """Changes of numbers by 1e-30: places, weights, biases, laws, rows and values, and the bound that is stated."""
    p, net, proof = files
    layer = rng.choice(net["layers"])
    match rng.randrange(7):
        case 0 | 1 if proof["places"]:
            k = rng.randrange(len(proof["places"]))
            proof["places"][k] = moved(rng, proof["places"][k])
        case 2:
            k = rng.randrange(len(layer["bias"]))
            layer["bias"][k] = str(Fraction(layer["bias"][k]) + TINY)
        case 3 if layer["entries"]:
            entry = rng.choice(layer["entries"])
            entry[2] = str(Fraction(entry[2]) - TINY)
        case 4 if "pieces" in p:
            piece = rng.choice(p["pieces"])
            piece["offset"][0] = str(Fraction(piece["offset"][0]) + TINY)
        case 5 if "pieces" in p:
            piece = rng.choice(p["pieces"])
            k = rng.randrange(len(piece["b"]))
            piece["b"][k] = str(Fraction(piece["b"][k]) + rng.choice([TINY, 1, -TINY]))
        case _:
            proof["error_bound"] = str(Fraction(proof["error_bound"]) + rng.choice([TINY, -TINY, 1]))


def survivors(n, seeds, tries):
    """How many mutants were tried, and those that were accepted, each true by two oracles."""
    count, accepted = 0, 0
    for p, net, proof, truth in compare(n, seeds):
        rng = random.Random(count)
        for _ in range(tries):
            files = copy.deepcopy([p, net, proof])
            (on_lists if rng.randrange(3) else on_numbers)(rng, files)
            count += 1
            try:
                bound = check(*files)
            except (Refused, Undecided):
                continue
            accepted += 1
            same = files[:2] == [p, net]
            assert bound == (truth if same else supremum(*files[:2])), files
            assert n > 2 or claim_is_true(files[0], files[1], {"error_bound": str(bound)}), files
    return count, accepted


def test_no_wrong_proof_is_accepted():
    """Cells, corners, weights, laws, rows and bounds changed, by 1e-30 where they are numbers."""
    count, accepted = survivors(2, range(12), 40)
    assert 0 < accepted < count / 4


@pytest.mark.slow
@pytest.mark.parametrize(("n", "seeds", "tries"), [(1, 200, 40), (2, 100, 60), (3, 30, 60), (4, 6, 40)])
def test_no_wrong_proof_is_accepted_of_many(n, seeds, tries):
    """The same, with other functions and networks."""
    count, accepted = survivors(n, range(5000, 5000 + seeds), tries)
    assert accepted < count / 2


# --- Two networks -----------------------------------------------------------------------------------------------------

BOX = {"A": [[1, 0], [0, 1], [-1, 0], [0, -1]], "b": [2, 2, 1, 1]}


def minus(first, second):
    """The network of the difference, side by side."""
    *hidden, last = [
        {
            "rows": a["rows"] + b["rows"],
            "columns": a["columns"] + b["columns"],
            "bias": a["bias"] + b["bias"],
            "entries": a["entries"] + [[i + a["rows"], j + a["columns"], w] for i, j, w in b["entries"]],
        }
        for a, b in zip(first["layers"], second["layers"], strict=True)
    ]
    n = first["inputs"]
    start = {**hidden[0], "columns": n, "entries": [[i, j % n, w] for i, j, w in hidden[0]["entries"]]}
    bias = str(Fraction(last["bias"][0]) - Fraction(last["bias"][1]))
    entries = [[0, j, w if i == 0 else str(-Fraction(w))] for i, j, w in last["entries"]]
    end = {"rows": 1, "columns": last["columns"], "bias": [bias], "entries": entries}
    return {**first, "layers": [start, *hidden[1:], end]}


def test_two_networks_are_compared_exactly():
    """The supremum of the difference on a box, by the slow oracle; on another domain nothing is proved."""
    refused = 0
    for seed in range(12):
        rng = random.Random(seed)
        first, second = (random_network(rng, 2) for _ in range(2))
        layers = [read_network(one, 2, 1) for one in (first, second)]
        proof = json.loads(json.dumps(list_common_regions(*layers, 2, read_domain(BOX, 2), 10**6)[0]))
        zero = function(2, [(BOX["A"], BOX["b"], [0, 0], 0)])
        assert check(first, second, proof, BOX) == supremum(zero, minus(first, second)), seed
        for domain in (None, BOX | {"b": [2, 2, 1, str(1 + TINY)]}, BOX | {"b": [2, 2, 1, str(1 - TINY)]}):
            with pytest.raises(Refused):
                check(first, second, proof, domain)
            refused += 1
        with pytest.raises(Refused, match="no interior"):
            check(first, second, proof, BOX | {"b": [2, 2, -2, 1]})
    assert refused == 36


def pairs_that_survive(seeds, tries):
    """Mutants of proofs about two networks: lists, places, weights, and the domain that is asked about."""
    count, accepted = 0, 0
    for seed in seeds:
        rng = random.Random(seed)
        first, second = (random_network(rng, 2) for _ in range(2))
        layers = [read_network(one, 2, 1) for one in (first, second)]
        proof = json.loads(json.dumps(list_common_regions(*layers, 2, read_domain(BOX, 2), 10**6)[0]))
        zero = function(2, [(BOX["A"], BOX["b"], [[0, 0]], [0])], 1)
        for _ in range(tries):
            files = copy.deepcopy([zero, second, proof])
            (on_lists if rng.randrange(2) else on_numbers)(rng, files)
            piece = files[0]["pieces"][0]
            domain, piece["offset"] = {"A": piece["A"], "b": piece["b"]}, [0]
            count += 1
            try:
                bound = check(first, files[1], files[2], domain)
            except (Refused, Undecided):
                continue
            accepted += 1
            difference = minus(first, files[1])
            assert bound == supremum(files[0], difference), files
            assert claim_is_true(files[0], difference, {"error_bound": str(bound)}), files
    return count, accepted


def test_no_wrong_proof_about_two_networks_is_accepted():
    """What is accepted is true by two slow oracles."""
    count, accepted = pairs_that_survive(range(4), 30)
    assert 0 < accepted < count / 3


@pytest.mark.slow
def test_no_wrong_proof_about_two_networks_is_accepted_of_many():
    count, accepted = pairs_that_survive(range(100, 160), 60)
    assert accepted < count / 2


# --- Networks that nothing else covers --------------------------------------------------------------------------------


def drawn(sizes, seed, dtype=np.float64):
    """A network with random weights."""
    rng = np.random.default_rng(seed)
    sides = itertools.pairwise(sizes)
    return Network([(rng.normal(size=(b, a)).astype(dtype), rng.normal(size=b).astype(dtype)) for a, b in sides])


def test_a_network_that_no_construction_made_is_proved(tmp_path):
    """A 2-8-8-1 network of floats against the pieces that were extracted from it, by the checker as a program."""
    network = drawn((2, 8, 8, 1), 0)
    p = extract(network, exact=True, box=(-2, 2))
    proof = certify(p, network)
    assert (proof.proved, proof.kind, proof.error_bound) == (True, "regions", 0)
    status, said, _ = run_alone(write_documents(tmp_path, p, network, proof), tmp_path)
    assert status == 0
    assert said.startswith("proved: network = function on every piece")
    exact = Network([(fraction_array(weight.toarray()), fraction_array(bias)) for weight, bias in network.layers])
    assert certify(extract(exact, box=(-2, 2)), exact).error_bound == 0


def test_weights_of_float32_have_their_exact_error():
    """What `certify` says of the rounded network is the supremum, which the slow oracle finds as well."""
    p = CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, "1/3"], [1, "1/7"], [0, 2]])
    exact = compile(p, construction="auto").network
    network = rounded(exact, np.float32)
    proof = certify(p, network)
    assert proof.kind == "regions"
    far = certify(p, network, max_error=1.0).error_bound
    assert 0 < proof.error_bound == far
    with without_regions():
        assert proof.error_bound <= certify(p, network, rounded_from=exact).error_bound
    with pytest.raises(ProofError, match="differ: at x"):
        certify(p, network, max_error=float(far) / 2)


def test_certify_compares_two_networks(tmp_path):
    """Equal, or a point where they differ; on a box, on rows, on all of R^n; and the checker is told where."""
    first = drawn((2, 5, 4, 1), 3)
    dead = drawn((2, 5, 4, 1), 3)
    weight, bias = dead.layers[0]
    second = Network([(np.vstack([weight.toarray(), [[1, 1]]]), np.append(bias, -9)), (
        np.hstack([dead.layers[1][0].toarray(), np.ones((4, 1))]), dead.layers[1][1]), dead.layers[2]])  # fmt: skip
    proof = certify(first, second, box=(-2, 2))
    assert str(proof) == "Certificate(the networks are equal where -2 <= x_i <= 2, in exact arithmetic)"
    assert certify(first, second, domain=([[1, 1]], [9])).proved
    assert certify(first, first, domain=([[0, 0]], [1])).domain == "on all of R^n"
    with pytest.raises(ProofError, match="the networks differ: at x ="):
        certify(first, second)
    off = Network([*first.layers[:-1], (first.layers[-1][0], first.layers[-1][1] + 2.0**-20)])
    with pytest.raises(ProofError, match="the networks differ"):
        certify(first, off, box=(-1, 1))
    found = certify(first, off, box=(-1, 1), max_error=1e-3)
    last = Fraction(float(off.layers[-1][1][0])) - Fraction(float(first.layers[-1][1][0]))
    assert found.error_bound == abs(last)
    save(first, tmp_path / "a.json")
    save(second, tmp_path / "b.json")
    proof.save(tmp_path / "proof.json")
    files = ["a.json", "b.json", "proof.json"]
    status, said, _ = run_alone([*files, "--box", "-2", "2"], tmp_path)
    assert (status, "where every coordinate is from -2 to 2" in said) == (0, True)
    for words, expected in ((["--box", "-2", "2.5"], 1), ([], 1), (["--box", "2", "-2"], 1), (["--box", "x", "2"], 64)):
        assert run_alone([*files, *words], tmp_path)[0] == expected
    assert "on all of R^n: " in (said := run_alone(files, tmp_path)[1])
    assert "add --box LOW HIGH" in said
    certify(first, second, box=([-2, 0], [2, 1])).save(tmp_path / "proof.json")
    for box, expected in (("-2,2 0,1", 0), ("-2,2 0,1.5", 1), ("-2,2", 1), ("-2,2 0,1 0,1", 1), ("-2,2 0,x", 64)):
        status, said, _ = run_alone([*files, "--box", *box.split()], tmp_path)
        assert status == expected
    assert "where -2 <= x0 <= 2, 0 <= x1 <= 1" in run_alone([*files, "--box", "-2,2", "0,1"], tmp_path)[1]
    with pytest.raises(InputError, match="has its own pieces"):
        certify(extract(first, box=(-1, 1)), first, box=(-1, 1))


def test_a_compressed_network_comes_with_a_proof():
    """Of the original and the smaller one, on the domain."""
    wasteful = Network([([[1], [2], [-1], [0]], [0, 0, 0, 1]), ([[1, 1, -1, 5]], [0])])
    found = compress(wasteful, certify=True)
    assert found.after.neurons < found.before.neurons
    assert found.certificate.proved
    assert check(network_document(wasteful), network_document(found.network), found.certificate.document) == 0
    assert compress(wasteful).certificate is None
