"""The stand-alone checker: hand-made proofs are accepted; every change of a proof, a network or a function is refused,
unless two slow oracles both say that what the changed files state is true."""

import ast
import io
import itertools
import json
import math
import random
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path

import pytest

import cpwl_check
from cpwl_check.archive import NAME, archive
from cpwl_check.budget import Refused
from cpwl_check.decide import KINDS, check
from cpwl_check.main import main, upwards
from cpwl_check.pieces import is_flat
from support.proof_examples import (
    BOUNDED,
    EXACT,
    a_neuron_less,
    a_value_is_carried,
    absolute_value,
    absolute_value_on_segments,
    affine,
    affine_by_corners,
    by_corners,
    cut_segment,
    documents,
    empty_piece,
    five_pieces,
    five_pieces_by_corners,
    in_a_box,
    inexact_by_corners,
    inexact_law,
    on_triangles,
    two_outputs,
)
from support.proof_oracle import claim_is_true, reference
from support.proofs import run_alone

TINY = Fraction(1, 10**30)
FOLDER = Path(cpwl_check.__file__).parent
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _digits():
    """`main` lifts a limit of the whole process."""
    limit = sys.get_int_max_str_digits()
    yield
    sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize("example", EXACT + BOUNDED)
def test_hand_made_proofs_are_accepted(example):
    """Each of them states what it proves, and both oracles agree."""
    p, network, proof = documents(example)
    proven = check(p, network, proof)
    assert proven == Fraction(proof["error_bound"])
    assert (proven == 0) == (example in EXACT)
    assert claim_is_true(p, network, proof)
    reference(p, network, proof)


# --- One change anywhere ----------------------------------------------------------------------------------------------

JUNK = (None, True, False, -1, 10**9, 0.5, "x", "1/0", "1e9", " 1", "١", math.nan, math.inf, [], {}, [[]], {"0": 1})


def is_number(value):
    try:
        return not isinstance(value, bool) and math.isfinite(Fraction(value))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return False


def written(x):
    return int(x) if x.denominator == 1 else str(x)


def other_values(value, junk):
    """What a value could have been by mistake: another number, a list or an object with one change, or junk."""
    if is_number(value):
        x = Fraction(value)
        yield from (written(y) for y in (x + 1, x - 1, x + (x or 1) * TINY, -x) if y != x)
    if isinstance(value, list):
        for i, x in enumerate(value):
            yield [*value[:i], *value[i + 1 :]]
            yield [*value[:i], x, x, *value[i + 1 :]]
            if value[i + 1 : i + 2] not in ([], [x]):
                yield [*value[:i], value[i + 1], x, *value[i + 2 :]]
    if isinstance(value, dict):
        for name, x in value.items():
            rest = {k: v for k, v in value.items() if k != name}
            yield rest
            if name.isdigit():
                yield from ({**rest, key: x} for key in (str(int(name) + 1), str(int(name) - 1), f"0{name}"))
        yield {**value, "0": 1}
    yield from itertools.islice(junk, 2)


def places(node):
    """Every place in a document, as a container and a key."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


def changes(document):
    """Make each change in place, one after the other, and undo it."""
    junk = itertools.cycle(JUNK)
    for container, key in list(places(document)):
        value = container[key]
        for other in other_values(value, junk):
            container[key] = other
            yield
        container[key] = value


def is_accepted(files):
    """Nothing but `Refused` may come of a wrong file."""
    try:
        check(*files)
    except Refused:
        return False
    return True


# The function of `a_neuron_less` is that of `five_pieces`.
CHANGED = [(e, i) for e in EXACT + BOUNDED for i in range(3) if (e, i) != (a_neuron_less, 0)]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("example", "which"), CHANGED)
def test_every_change_is_refused_or_true(example, which):
    """Whatever is accepted must be true, by a look at all linear pieces and by a second reading of the proof."""
    files = documents(example)
    for _ in changes(files[which]):
        if is_accepted(files):
            assert claim_is_true(*files)
            reference(*files)


@pytest.mark.parametrize("example", [absolute_value, absolute_value_on_segments, two_outputs, affine])
def test_no_weight_may_differ_by_1e_30(example):
    """Each weight, written or zero, and each bias of an exact network that has no idle neuron."""
    p, network, proof = documents(example)
    for layer in network["layers"]:
        taken = {(i, j) for i, j, _ in layer["entries"]}
        places = itertools.product(range(layer["rows"]), range(layer["columns"]))
        layer["entries"] += [[i, j, 0] for i, j in places if (i, j) not in taken]
        numbers = [(entry, 2) for entry in layer["entries"]] + [(layer["bias"], i) for i in range(layer["rows"])]
        for (container, key), change in itertools.product(numbers, (TINY, -TINY)):
            value = container[key]
            container[key] = str(Fraction(value) + change)
            with pytest.raises(Refused, match="does not compute this expression"):
                check(p, network, proof)
            container[key] = value
    check(p, network, proof)


SOME = [absolute_value, two_outputs, five_pieces, affine, a_value_is_carried]


@pytest.mark.parametrize("example", [*SOME, five_pieces_by_corners, affine_by_corners])
def test_no_law_may_differ_by_1e_30(example):
    """Each coefficient of each law, in each direction."""
    p, network, proof = documents(example)
    for piece in p["pieces"]:
        numbers = [(c, k) for c, k in places(piece) if c is not piece["A"] and is_number(c[k])]
        laws = [(c, k) for c, k in numbers if c is not piece["b"] and c not in piece["A"]]
        for (container, key), change in itertools.product(laws, (TINY, -TINY)):
            value = container[key]
            container[key] = str(Fraction(value) + change)
            assert not is_accepted([p, network, proof])
            container[key] = value


# --- Attacks ----------------------------------------------------------------------------------------------------------


def refusal(files):
    with pytest.raises(Refused) as caught:
        check(*files)
    return str(caught.value)


def put(document, path, value):
    """A copy of the document with one value replaced."""
    copy = json.loads(json.dumps(document))
    *containers, key = path
    inner = copy
    for name in containers:
        inner = inner[name]
    inner[key] = value
    return copy


FIRST = ("below", 0, 0, "members")
ATTACKS = [
    (absolute_value, ("kind",), "max-min", "max-min was replaced by kind expression: prove the network again"),
    (absolute_value, FIRST, {}, "output 0, below, piece 0: these members do not settle"),
    (absolute_value, FIRST, {"0": {"lambda": {}, "t": 0}}, "output 0, below, piece 0: these members do not settle"),
    (absolute_value, FIRST, {"2": {"lambda": {}, "t": 0}}, "component does not exist"),
    (absolute_value, FIRST, {"00": {"lambda": {}, "t": 0}}, "component does not exist"),
    (absolute_value, (*FIRST, "1", "lambda"), {"0": -2}, "piece 0, member 1: .* negative"),
    (absolute_value, (*FIRST, "1", "lambda"), {"1": 2}, "multiplier for a row that does not exist"),
    (absolute_value, (*FIRST, "1", "lambda"), {"-1": 2}, "multiplier for a row that does not exist"),
    (absolute_value, (*FIRST, "1", "lambda"), {"00": 2}, "multiplier for a row that does not exist"),
    (absolute_value, (*FIRST, "0"), {"empty": {}}, "not shown to be empty"),
    (absolute_value, (*FIRST, "0"), {"empty": {"0": 1}}, "identity"),
    (absolute_value, ("below", 0), [], "length 2"),
    (absolute_value, ("reach", 0, 0, "members"), {"1": {"lambda": {}, "t": 0}}, "identity"),
    (absolute_value, ("values", 0), ["sum", 0, 1], "value 0: this operation is unknown"),
    (absolute_value, ("values", 0), ["max", 0, 2], "value 0.*range"),
    (absolute_value, ("values", 0), ["max", True, 1], "value 0.*range"),
    (absolute_value, ("values", 0), ["min", 0, 1], "output 0: the network does not compute"),
    (absolute_value, ("output",), [-1], "range"),
    (absolute_value, ("output",), [0], "output 0: the network does not compute"),
    (absolute_value, ("inputs",), 2, "inputs"),
    (absolute_value, ("version",), True, "version"),
    (absolute_value, ("error_bound",), "-1/10", "error_bound"),
    (empty_piece, ("reach", 0, 2, "members", "0", "empty"), {"0": 2, "1": 1}, "identity"),
    (empty_piece, ("reach", 0, 2, "members", "0", "empty"), {"0": -1, "1": -1}, "negative"),
    (cut_segment, (*FIRST, "0"), {"lambda": {}, "t": 0}, "'t' is unknown"),
    (cut_segment, (*FIRST, "0", "lambda"), {"0": 1}, "multiplier for a row that does not exist"),
    (cut_segment, ("reach", 0, 0, "above", "cut"), [1, 0], "identity|empty"),
    (cut_segment, ("reach", 0, 0, "below", "members"), {"0": {"lambda": {}}, "1": {"lambda": {"2": 1}}}, "falls short"),
    (five_pieces_by_corners, ("below", 0, 3, "corners"), [2], "below, piece 3: these members do not settle"),
    (five_pieces_by_corners, ("below", 0, 3, "corners"), [2, 3, 1], "below, piece 3: a member falls short along a ray"),
    (five_pieces_by_corners, ("reach", 0, 0), {"corners": [0, 3]}, "reach, piece 0: a member falls short along a ray"),
    (five_pieces_by_corners, ("below", 0, 3, "corners"), [2, 4], "range"),
    (affine_by_corners, ("components", 0), [2, -3, "1/4"], "does not compute"),
    (inexact_by_corners, ("error_bound",), "9999/1000000", "reach, piece 1: .* error_bound"),
    (on_triangles, ("below", 0, 0), {"corners": [0, 1]}, "corners decide for a simplex"),
    (inexact_law, ("error_bound",), "9999/1000000", "reach, piece 1, member 1: .* error_bound"),
    (in_a_box, ("box", "proof"), None, "box"),
    (in_a_box, ("box", "high"), ["1/2"], "box, piece 0, entry 0"),
    (on_triangles, ("box", "high"), [1.5, "1/2"], "box, piece 0, entry 1: the piece is not inside"),
    (on_triangles, ("box", "low"), ["1/3", 0], "box, piece 0, entry 2: the piece is not inside"),
    (five_pieces, ("values", 2), ["max", 4, 5], "does not compute"),
    (five_pieces, ("reach", 0, 0, "cut"), [1, 0], "length 3"),
]


@pytest.mark.parametrize(("example", "path", "value", "reason"), ATTACKS)
def test_attacks_on_a_proof_are_refused_with_their_place(example, path, value, reason):
    """One false or malformed statement each."""
    p, network, proof = documents(example)
    with pytest.raises(Refused, match=reason):
        check(p, network, put(proof, path, value))


NETWORK_ATTACKS = [
    (("layers", 0, "entries", 0), [0, 0, 2, 0], "length 3"),
    (("layers", 0, "entries", 0), [-3, 0, 2], "layer 0: a weight at -3, 0"),
    (("layers", 0, "entries", 0), [0, -1, 2], "layer 0: a weight at 0, -1"),
    (("layers", 0, "entries", 0), [0, 1, 2], "layer 0: a weight at 0, 1"),
    (("layers", 0, "entries", 0), [0.0, 0, 2], "layer 0"),
    (("layers", 0, "entries", 0), ["0", 0, 2], "layer 0: a weight at 0, 0"),
    (("layers", 0, "entries", 1), [0, 0, 2], "layer 0: a weight at 0, 0"),
    (("layers", 0, "bias"), [0, 0], "biases"),
    (("layers", 1, "columns"), 4, "columns"),
    (("layers",), [], "no layers"),
    (("outputs",), 2, "outputs"),
    (("inputs",), 1.0, "inputs"),
    (("format",), "cpwl", "format"),
]


@pytest.mark.parametrize(("path", "value", "reason"), NETWORK_ATTACKS)
def test_attacks_on_a_network_are_refused_with_their_place(path, value, reason):
    """Weights at strange places, and sizes that do not fit."""
    p, network, proof = documents(absolute_value)
    with pytest.raises(Refused, match=reason):
        check(p, put(network, path, value), proof)


def test_a_weight_may_not_be_given_twice():
    """Not even with a difference that would be right if the two were added, or if the later one counted."""
    p, network, proof = documents(absolute_value)
    for weights in ((2, 2), (1, 1), (7, 2), (2, 0), (0, 2)):
        entries = [[0, 0, w] for w in weights] + network["layers"][0]["entries"][1:]
        assert "layer 0" in refusal([p, put(network, ("layers", 0, "entries"), entries), proof])


def test_more_outputs_than_the_function_has_are_refused():
    """The last layer must have as many rows as are stated."""
    p, network, proof = documents(absolute_value)
    last = network["layers"][1]
    last["rows"], last["bias"] = 2, [0, 0]
    assert "outputs" in refusal([p, network, proof])


def test_the_negative_of_a_max_of_mins_is_another_function():
    """The network gives -min(x, 1) where the function is min(x, 1), and the proof says nothing of it."""
    p, network, proof = documents(two_outputs)
    for entry in network["layers"][1]["entries"][3:]:
        entry[2] = -entry[2]
    assert not claim_is_true(p, network, proof)
    assert "output 1: the network does not compute this expression" in refusal([p, network, proof])


def test_a_box_that_misses_a_piece_is_refused():
    """An entry with a negative t would be an error elsewhere; for the box there is none."""
    p, network, proof = documents(in_a_box)
    proof["box"]["high"] = ["5/2"]
    proof["box"]["proof"][0][0]["t"] = "5/2"
    proof["box"]["proof"][1][0]["t"] = "-1/2"
    assert "box, piece 1, entry 0: the piece is not inside" in refusal([p, network, proof])


def test_a_stated_bound_may_be_larger_but_not_smaller():
    """It is returned as it is stated."""
    p, network, proof = documents(inexact_law)
    a = Fraction(proof["error_bound"])
    assert check(p, network, put(proof, ("error_bound",), str(a + TINY))) == a + TINY
    for wrong in (str(a - TINY), [1, 1], [1], [], None):
        assert not is_accepted([p, network, put(proof, ("error_bound",), wrong)])


def test_a_neuron_that_is_not_read_may_do_anything():
    """Dead neurons do not matter; a weight of 1e-30 on one does."""
    p, network, proof = documents(five_pieces)
    layer, following = network["layers"][:2]
    layer["rows"], following["columns"] = 7, 7
    layer["bias"].append(5)
    layer["entries"].append([6, 0, 3])
    check(p, network, proof)
    following["rows"] = 4
    following["bias"].append("1/7")
    following["entries"].append([3, 6, 1])
    network["layers"][2]["columns"] = 4
    check(p, network, proof)
    following["entries"].append([0, 6, str(TINY)])
    assert "does not compute" in refusal([p, network, proof])
    following["entries"][-1] = [0, 6, 0]
    network["layers"][2]["entries"].append([0, 3, str(TINY)])
    assert "does not compute" in refusal([p, network, proof])


def test_a_neuron_that_comes_twice_counts_twice():
    """max(x, 2x) = s(x) + s(x) - s(-x): the next layer must read 2 s(x), not s(x)."""
    p = {"format": "cpwl", "version": 1, "dim": 1, "outputs": 1}
    p["pieces"] = [
        {"A": [[1]], "b": [0], "gradient": [1], "offset": 0},
        {"A": [[-1]], "b": [0], "gradient": [2], "offset": 0},
    ]
    first = {"rows": 2, "columns": 1, "bias": [0, 0], "entries": [[0, 0, 1], [1, 0, -1]]}
    last = {"rows": 1, "columns": 2, "bias": [0], "entries": [[0, 0, 2], [0, 1, -1]]}
    network = {"format": "cpwl-network", "version": 1, "inputs": 1, "outputs": 1, "layers": [first, last]}
    zero, one = {"lambda": {}, "t": 0}, {"lambda": {"0": 1}, "t": 0}
    below = [{"members": {"0": zero, "1": one}}, {"members": {"0": one, "1": zero}}]
    reach = [{"members": {"0": zero}}, {"members": {"1": zero}}]
    proof = {"format": "cpwl-proof", "version": 1, "kind": "expression", "inputs": 1, "components": [[1, 0], [2, 0]]}
    proof |= {"values": [["max", 0, 1]], "output": [2], "below": [below], "reach": [reach]}
    proof |= {"error_bound": 0, "box": None}
    assert check(p, network, proof) == 0
    assert claim_is_true(p, network, proof)
    last["entries"][0][2] = 1
    assert not claim_is_true(p, network, proof)
    assert not is_accepted([p, network, proof])


@pytest.mark.parametrize("example", [absolute_value, two_outputs, five_pieces])
def test_pieces_and_members_must_all_be_there(example):
    """A proof of another function: one with a piece more, less or elsewhere."""
    p, network, proof = documents(example)
    for pieces in (p["pieces"][1:], p["pieces"][:-1], [*p["pieces"], p["pieces"][0]], p["pieces"][::-1], []):
        assert not is_accepted([put(p, ("pieces",), pieces), network, proof])
    for name, o, j in itertools.product(("below", "reach"), range(p["outputs"]), range(len(p["pieces"]))):
        members = proof[name][o][j].get("members", {})
        for m in members:
            less = {k: entry for k, entry in members.items() if k != m}
            assert "do not settle" in refusal([p, network, put(proof, (name, o, j, "members"), less)])


@pytest.mark.parametrize("example", [absolute_value, two_outputs, five_pieces, a_value_is_carried, in_a_box])
def test_corners_show_what_multipliers_show(example):
    """The same bound, and nothing less."""
    files = documents(lambda: by_corners(example()))
    bound = check(*files)
    assert bound == check(*documents(example))
    if bound:
        assert "falls short" in refusal([*files[:2], put(files[2], ("error_bound",), str(bound - TINY))])


def test_a_function_without_pieces_is_refused():
    """Of no pieces at all, or of segments without interior, everything would be true."""
    p, network, proof = documents(absolute_value)
    proof["below"] = proof["reach"] = [[]]
    assert "no piece has an interior, of 0" in refusal([put(p, ("pieces",), []), network, proof])
    flat = {
        "format": "cpwl",
        "version": 1,
        "dim": 1,
        "outputs": 1,
        "points": [[0]],
        "simplices": [[0, 0]],
        "values": [7],
    }
    assert "no piece has an interior, of 1" in refusal([flat, network, proof])


def test_the_domain_and_notes_are_not_read():
    """What is proved is proved on every piece, whatever the rest of the file says."""
    p, network, proof = documents(absolute_value)
    p |= {"domain": {"A": [[1]], "b": [5]}, "tol": 1e-9, "note": "hello"}
    network["note"] = proof["note"] = "hello"
    assert check(p, network, proof) == 0


def test_flatness_is_decided_exactly():
    """Determinants of small integer matrices, against the sum over permutations."""
    rng = random.Random(1)
    for _ in range(300):
        n = rng.randint(1, 4)
        rows = [[rng.randint(-2, 2) for _ in range(n)] for _ in range(n)]
        total = 0
        for order in itertools.permutations(range(n)):
            swaps = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
            total += (-1) ** swaps * math.prod(rows[i][k] for i, k in enumerate(order))
        assert is_flat(rows) == (total == 0)


# --- The command line -------------------------------------------------------------------------------------------------


def write(folder, files):
    paths = [folder / name for name in ("law.json", "net.json", "law.proof.json")]
    for path, document in zip(paths, files, strict=True):
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return [str(path) for path in paths]


def test_it_runs_alone(tmp_path):
    """Without site-packages, the environment or the current folder: the verdict is one line."""
    paths = write(tmp_path, documents(five_pieces))
    counts = "in exact arithmetic (kind expression; 5 pieces; no domain is stated)"
    assert run_alone(paths, tmp_path) == (0, f"proved: network = function on every piece, {counts}\n", "")
    paths = write(tmp_path, documents(inexact_law))
    counts = "in exact arithmetic (kind expression; 2 pieces; no domain is stated)"
    said = f"|network - function| <= 0.01 on every piece, {counts}"
    assert run_alone([*paths, "--max-error", "0.01"], tmp_path) == (0, f"proved: {said}\n", "")
    more = "the bound allowed is 0.0001; --max-error sets another one"
    assert run_alone(paths, tmp_path) == (1, f"refused: only {said}: {more}\n", "")
    p, network, proof = documents(five_pieces)
    code, said, errors = run_alone(
        write(tmp_path, [p, put(network, ("layers", 1, "bias", 0), str(TINY)), proof]), tmp_path
    )
    assert (code, errors) == (1, "")
    assert said == "refused: output 0: the network does not compute this expression\n"
    code, said, errors = run_alone(paths[:2], tmp_path)
    assert (code, said) == (64, "")
    assert "usage" in errors


def verdict(capsys, folder, files):
    code = main([*write(folder, files), "--max-error", "1"])
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    return code, said.strip()


@pytest.mark.parametrize("example", BOUNDED)
def test_a_printed_bound_is_rounded_up(capsys, tmp_path, example):
    """What is printed has three digits and is at least what was proved; of the float for machines the next one below is
    not."""
    files = documents(example)
    code, said = verdict(capsys, tmp_path, files)
    bound = said.removeprefix("proved: |network - function| <= ").partition(" on every piece")[0]
    y = Fraction(files[2]["error_bound"])
    assert code == 0
    assert y <= Fraction(bound) < Fraction(101, 100) * y
    assert math.nextafter(upwards(y), 0) < y <= upwards(y)


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        (('"box"', '"box": null, "box"'), 1, "refused: proof: this is not an object"),
        (('"0": 2', '"0": 2, "0": 2'), 1, "refused: output 0, below"),
        (('"error_bound": 0', '"error_bound": NaN'), 1, "error_bound"),
        (('"error_bound": 0', '"error_bound": 1e400'), 1, "error_bound"),
        (('"error_bound": 0', '"error_bound": "1e999999999"'), 1, "error_bound"),
        (('"error_bound": 0', '"error_bound": 1e308'), 1, "error_bound"),
        (('"error_bound": 0', '"\\ud800é\\n": 0, "error_bound": 0'), 1, "unknown"),
        (('"error_bound": 0', '"error_bound": ' + "[" * 100_000), 65, "unreadable"),
        (('"error_bound": 0', '"error_bound": 0}'), 65, "unreadable"),
    ],
)
def test_strange_files_are_refused(capsys, tmp_path, change, code, reason):
    """Names that come twice, numbers that are none, and what is not JSON at all."""
    p, network, proof = documents(absolute_value)
    text = json.dumps(proof)
    assert change[0] in text
    found, said = verdict(capsys, tmp_path, [p, network, text.replace(*change, 1)])
    assert found == code
    assert reason in said
    assert said.isascii()


def test_unreadable_files_have_their_own_status(capsys, tmp_path):
    """No such file, a folder, and bytes that are no text."""
    paths = write(tmp_path, documents(absolute_value))
    for wrong in (str(tmp_path / "no.json"), str(tmp_path)):
        assert main([paths[0], wrong, paths[2]]) == 65
    Path(paths[1]).write_bytes(b"\xff\xfe\xff")
    assert main(paths) == 65
    assert capsys.readouterr().out.count("unreadable: ") == 3


def test_numbers_of_many_thousand_digits_are_read(tmp_path):
    """Python's limit for the length of integers is no limit for proofs; inside another program it stays as it is."""
    p, network, proof = documents(absolute_value)
    one, zeros = f"1{'0' * 5000}1", "0" * 5000
    proof["below"][0][0]["members"]["1"]["lambda"] = {"0": f"2{zeros}2/{one}"}
    network["layers"][0]["entries"][0][2] = f"2{zeros}2/{one}"
    assert "not a number" in refusal([p, network, proof])
    law = json.dumps(p).replace('"A": [[1]]', f'"A": [[{one}]]')
    assert run_alone(write(tmp_path, [law, network, proof]), tmp_path)[0] == 0
    network["layers"][0]["entries"][0][2] = f"2{zeros}3/{one}"
    assert run_alone(write(tmp_path, [law, network, proof]), tmp_path)[0] == 1


# --- The package itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_it_imports_the_standard_library_and_itself(path):
    """Nothing else, at any depth, and nothing relative."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert not any(node.level for node in nodes if isinstance(node, ast.ImportFrom))
    assert {name.partition(".")[0] for name in names} <= {*sys.stdlib_module_names, "cpwl_check"}


def test_the_archive_has_the_whole_package_and_the_same_bytes_each_time(tmp_path):
    """Every source file, as it is, and an entry for Python; from a copy the archive makes itself again."""
    made = archive()
    with zipfile.ZipFile(io.BytesIO(made)) as held:
        sources = {path.name: path.read_bytes() for path in FOLDER.glob("*.py")}
        assert {name: held.read(name) for name in held.namelist()} == {"__main__.py": sources["__main__.py"]} | {
            f"cpwl_check/{name}": text for name, text in sources.items()
        }
    (tmp_path / NAME).write_bytes(made)
    again = "import sys; sys.path.insert(0, 'cpwl_check.pyz'); from cpwl_check.archive import *"
    again += "; sys.exit(archive() != open(NAME, 'rb').read())"
    assert subprocess.run([sys.executable, "-I", "-S", "-c", again], cwd=tmp_path, check=False).returncode == 0


def test_the_module_is_the_same_program(tmp_path):
    """``python -m cpwl_check``, and wrong usage names it."""
    paths = write(tmp_path, documents(five_pieces))
    done = subprocess.run([sys.executable, "-m", "cpwl_check", *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == run_alone(paths, tmp_path)


def test_the_documentation_says_how_many_lines_check_a_proof():
    """What all kinds share and the module of one kind, to the next hundred."""
    lines = {path.stem: len(path.read_text(encoding="utf-8").splitlines()) for path in FOLDER.glob("*.py")}
    kinds = [lines[kind.replace("-", "_")] for kind in KINDS]
    shared = sum(lines[name] for name in ("budget", "reading", "pieces", "cones", "decide", "main"))
    least, most = (shared + min(kinds)) // 100 * 100, -(-(shared + max(kinds)) // 100) * 100
    assert f"that {least:,} to {most:,} lines of plain Python check" in (ROOT / "docs" / "index.md").read_text()
