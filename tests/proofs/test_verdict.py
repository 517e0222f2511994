"""The verdict of the stand-alone checker: its limits, what it counts, the kinds it names, the bounds it takes."""

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from cpwl.cli.compile import _answer
from cpwl_check.budget import DIGITS, MOST, RUN, STEPS, Undecided, aside, limited, spend
from cpwl_check.decide import check, checked
from cpwl_check.main import main
from cpwl_check.reading import numbers
from support.proof_attacks import ATTACKS, LARGER, sawtooth
from support.proof_examples import absolute_value, documents, function, inexact_law, network, table
from support.proofs import run_alone

HALVES = ([[1, 0]], [0]), ([[-1, 0]], [0])  # x <= 0 and x >= 0 in the plane


@pytest.fixture(autouse=True)
def _digits():
    """`main` lifts a limit of the whole process."""
    limit = sys.get_int_max_str_digits()
    yield
    sys.set_int_max_str_digits(limit)


def write(folder, files):
    paths = [folder / name for name in ("law.json", "net.json", "law.proof.json")]
    for path, document in zip(paths, files, strict=True):
        path.write_text(json.dumps(document), encoding="utf-8")
    return [str(path) for path in paths]


def verdict(capsys, folder, files, *options):
    code = main([*write(folder, files), *options, "--json"])
    return code, json.loads(capsys.readouterr().out)


def bends(n=1):
    proof = {"format": "cpwl-proof", "version": 1, "kind": "bends", "inputs": n, "error_bound": 0}
    return proof | {"planes": [], "limits": [], "roles": []}


def hinge(*pieces, domain=None):
    """s(x) in the plane on some pieces."""
    p = function(2, pieces) | ({} if domain is None else {"domain": domain})
    return [p, network([[1, 0, 0]], [[1, 0]]), bends(2)]


# --- Limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("attack", ATTACKS + LARGER)
def test_files_that_would_take_all_time_or_memory_are_not_decided(capsys, tmp_path, monkeypatch, attack):
    """With a fifteenth of the usual steps all of them end soon, with a few megabytes: what they do is paid for."""
    monkeypatch.setattr("cpwl_check.budget.STEPS", 200_000)
    monkeypatch.setattr("cpwl_check.budget.MANY", 16)
    files = attack()
    tracemalloc.start()
    code, found = verdict(capsys, tmp_path, files)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (code, found["verdict"]) == (2, "not decided")
    assert peak < 30 * 10**6


def test_long_numbers_are_not_read(tmp_path):
    """Not even where nobody looks at them: reading takes time that grows with the square of their length."""
    p, *rest = documents(absolute_value)
    for digits, expected in ((DIGITS, 0), (DIGITS + 1, 2)):
        paths = write(tmp_path, [p, *rest])
        Path(paths[0]).write_text(json.dumps(p)[:-1] + f', "note": {"7" * digits}}}')
        code, said, _ = run_alone(paths, tmp_path)
        assert code == expected
    assert f"law.json: it has a number of more than {DIGITS} digits" in said


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no endless file")
def test_the_program_has_a_limited_memory(tmp_path):
    """An endless file is not decided."""
    paths = write(tmp_path, documents(absolute_value))
    program = "import sys; from cpwl_check import main; main.MEMORY = 2**28; sys.exit(main.run(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "/dev/zero", *paths[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "not decided: out of memory\n")


def test_right_proofs_take_a_small_part_of_the_steps():
    """One of each kind."""
    from test_hypotheses import KINDS

    for make, _ in KINDS.values():
        with limited() as run:
            checked(*make())
        assert run.left > 0.99 * STEPS


def test_a_question_aside_is_paid_by_the_run():
    """It may take no more than is left, and what it took is gone."""
    with limited(100) as run:
        assert aside(lambda: spend(30, "here") or 7, steps=50) == 7
        assert run.left == 70
        assert aside(lambda: spend(60, "here"), steps=50) is None
        assert run.left == 20
        assert aside(lambda: spend(30, "here"), steps=50) is None
        assert run.left == 0


def test_running_out_is_no_refusal(capsys, tmp_path):
    """The sawtooth has too many places, and a limit of steps says nothing about the network."""
    code, found = verdict(capsys, tmp_path, sawtooth())
    assert (code, found["verdict"]) == (2, "not decided")
    assert "steps" in found["reason"]


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_a_lack_of_memory_is_no_refusal(capsys, tmp_path, monkeypatch, error):
    """Nor is a stack that is too deep."""

    def fail(*_):
        raise error

    monkeypatch.setattr("cpwl_check.decide.read_function", fail)
    assert verdict(capsys, tmp_path, documents(absolute_value))[0] == 2


def test_a_mistake_of_the_checker_is_no_refusal(capsys, tmp_path, monkeypatch):
    """It has a status of its own."""
    monkeypatch.setattr("cpwl_check.decide.need_substance", lambda law: law.nothing)
    code, found = verdict(capsys, tmp_path, documents(absolute_value))
    assert (code, found["verdict"]) == (70, "failed")


def test_the_budget_is_for_the_whole_run_and_grows_with_the_files():
    """Steps add up over questions, and what is left when one run ends is not there for the next."""
    with limited(10) as run:
        numbers([1] * 10, "here")
        assert (run.left, run.read) == (10 + 100 // 4, 10)
        spend(30, "here")
        with pytest.raises(Undecided):
            spend(6, "there")
        numbers([1] * 10**6, "here")
        assert run.left == 10 + MOST - 36
    assert RUN.get() is None
    check(*documents(absolute_value))
    assert RUN.get() is None


# --- Counts -----------------------------------------------------------------------------------------------------------


def test_pieces_that_are_empty_or_flat_are_counted(capsys, tmp_path):
    """Half-planes, a piece that is empty and one on a line; a piece is open if it has too many corners to tell."""
    left, right = (*HALVES[0], [0, 0], 0), (*HALVES[1], [1, 0], 0)
    nothing = ([[1, 0], [-1, 0]], [0, -1], [7, 7], 7)
    segment = ([[1, 0], [-1, 0]], [1, -1], [1, 0], 0)
    code, found = verdict(capsys, tmp_path, hinge(left, right, nothing, segment))
    assert code == 0
    assert [found[name] for name in ("pieces", "empty", "flat", "open")] == [4, 1, 1, 0]
    assert "4 pieces, 1 empty, 1 flat" in found["reason"]


def test_a_simplex_without_interior_is_counted(capsys, tmp_path):
    """Its values may contradict the others: it is left out, and the verdict says so."""
    p = table([[0], [1], [1]], [[0, 1], [1, 2]], [0, 1, 7])
    code, found = verdict(capsys, tmp_path, [p, network([[1, 0]]), bends()])
    assert (code, found["pieces"], found["flat"]) == (0, 2, 1)


def test_nothing_left_is_refused(capsys, tmp_path):
    """Of pieces that are all empty, or flat, almost everything is true."""
    nothing = ([[1, 0], [-1, 0]], [0, -1], [7, 7], 7)
    segment = ([[1, 0], [-1, 0]], [1, -1], [1, 0], 0)
    code, found = verdict(capsys, tmp_path, hinge(nothing, segment))
    assert code == 1
    assert "no piece has an interior, of 2" in found["reason"]


@pytest.mark.parametrize(
    ("high", "covers", "said"),
    [
        (1, True, "they cover the domain"),
        (10, False, "they do not cover the domain"),
        (0, False, "they do not cover the domain"),
        (-1, False, "they do not cover the domain"),
    ],
)
def test_the_verdict_says_whether_the_pieces_cover_the_domain(capsys, tmp_path, high, covers, said):
    """[0, 1]^2, cut in two, is all of [0, 1]^2, a tenth of [0, 1] x [0, 10], and not a flat or empty domain."""
    square = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    pieces = [([*square, a], [1, 0, 1, 0, 0], [1, 0], 0) for a in ([1, -1], [-1, 1])]
    code, found = verdict(capsys, tmp_path, hinge(*pieces, domain={"A": square, "b": [1, 0, high, 0]}))
    assert (code, found["covers_domain"]) == (0, covers)
    assert said in found["reason"]


def test_without_a_domain_nothing_is_said_about_its_cover(capsys, tmp_path):
    """The statement is about the pieces."""
    _, found = verdict(capsys, tmp_path, hinge((*HALVES[1], [1, 0], 0)))
    assert found["covers_domain"] is None
    assert "no domain is stated" in found["reason"]


# --- Bounds and kinds -------------------------------------------------------------------------------------------------


def far_off():
    """Function 0, network 1,000,000, bound 1,000,000."""
    p = function(1, [([], [], [0], 0)])
    proof = {"format": "cpwl-proof", "version": 1, "kind": "expression", "inputs": 1, "components": [[0, 1000000]]}
    below, reach = ([[{"members": {"0": {"lambda": {}, "t": t}}}]] for t in (-1000000, 1000000))
    proof |= {"values": [], "output": [0], "below": below, "reach": reach, "error_bound": 1000000, "box": None}
    return [p, network([[0, 1000000]]), proof]


def test_a_bound_must_be_small_enough(capsys, tmp_path):
    """By default 1e-4 of the largest coefficient of the laws; 0 asks for equality."""
    code, found = verdict(capsys, tmp_path, far_off())
    assert (code, found["error_bound"]) == (1, 1000000.0)
    assert "--max-error" in found["reason"]
    assert verdict(capsys, tmp_path, far_off(), "--max-error", "1e6")[0] == 0
    files = documents(inexact_law)
    assert verdict(capsys, tmp_path, files, "--max-error", "1/100")[0] == 0
    assert verdict(capsys, tmp_path, files, "--max-error", "0.00999")[0] == 1
    assert verdict(capsys, tmp_path, documents(absolute_value), "--max-error", "0")[0] == 0


def test_pieces_without_interior_do_not_raise_the_usual_error(capsys, tmp_path):
    """An empty piece may have any law, and a flat one: what is allowed follows from the others."""
    _, net, proof = far_off()
    nothing, point = ([[1], [-1]], [0, -1]), ([[1], [-1]], [0, 0])
    for A, b in (nothing, point):
        q = function(1, [([], [], [0], 0), (A, b, [0], 10**20)])
        gone = {"empty": {"0": 1, "1": 1}}
        trees = {}
        for name, t in (("below", 10**20 - 10**6), ("reach", 10**6 - 10**20)):
            entry = gone if b == nothing[1] else {"lambda": {}, "t": t}
            trees[name] = [[*proof[name][0], {"members": {"0": entry}}]]
        files = [q, net, proof | trees | {"error_bound": 10**20}]
        code, found = verdict(capsys, tmp_path, files)
        assert (code, found["error_bound"]) == (1, 1e20)
        assert "the bound allowed is 0.0001" in found["reason"]


def test_the_usual_error_of_a_table_is_that_of_its_laws(capsys, tmp_path):
    """Found from the values at the corners, exactly: 20 x on [0, 1/10] may be off by 0.002, and not by more."""
    p = table([[0], ["1/10"]], [[0, 1]], [0, 2])
    for off, expected in (("1/500", 0), ("2001/1000000", 1)):
        trees = [[{"members": {"0": {"lambda": {}}}}]]
        proof = {"format": "cpwl-proof", "version": 1, "kind": "expression", "inputs": 1, "components": [[20, 0]]}
        proof |= {"values": [], "output": [0], "below": trees, "reach": trees, "error_bound": off, "box": None}
        assert verdict(capsys, tmp_path, [p, network([[20, 0]]), proof])[0] == expected


@pytest.mark.parametrize("wrong", [["--max-error"], ["--max-error", "x"], ["--max-error", "-1"], ["--other"]])
def test_wrong_options_are_wrong_usage(capsys, tmp_path, wrong):
    """With a line that says what is right."""
    assert main([*write(tmp_path, documents(absolute_value)), *wrong]) == 64
    assert "usage" in capsys.readouterr().err


def test_the_kind_is_named(capsys, tmp_path):
    """And those inside it."""
    from test_hypotheses import KINDS

    names = {
        "expression": "expression",
        "bends": "bends",
        "line": "line",
        "clamped": "clamped",
        "strip": "strip",
        "rounded": "rounded of line",
        "near": "near of line",
    }
    for name, kind in names.items():
        code, found = verdict(capsys, tmp_path, KINDS[name][0](), "--max-error", "1")
        assert (code, found["kind"]) == (0, kind)
        assert f"(kind {kind};" in found["reason"]


# --- cpwl check -------------------------------------------------------------------------------------------------------


def cpwl(*arguments):
    command = [sys.executable, "-m", "cpwl", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_command_has_the_same_verdict(tmp_path):
    """With numbers for machines."""
    paths = write(tmp_path, far_off())
    code, said, _ = cpwl("check", *paths)
    assert code == 1
    assert said.startswith("refused: only |network - function| <= 1e+6 on every piece")
    code, said, _ = cpwl("check", *paths, "--max-error", "1e6", "--json")
    found = json.loads(said)
    assert (code, found["proved"], found["kind"]) == (0, True, "expression")
    assert (found["error_bound"], found["pieces"], found["empty"], found["flat"]) == (1000000.0, 1, 0, 0)
    assert cpwl("check", *paths, "--max-error", "-1")[0] == 64


def test_a_checker_that_was_ended_has_decided_nothing():
    """A signal, or a status without a verdict."""
    assert _answer(-9, "")[0] == 2
    assert "signal 9" in _answer(-9, "")[1]["reason"]
    assert _answer(1, "")[0] == 2


def slabs(n, width):
    """One piece of a box in R^n with law 0: all of it where x_1 is between 0 and `width`; a network that is 1."""
    A = [[int(i == k) * s for i in range(n)] for k in range(n) for s in (1, -1)]
    piece = {"A": A, "b": [width, 0, *[1] * (2 * n - 2)], "gradient": [0] * n, "offset": 1}
    law = {"format": "cpwl", "version": 1, "dim": n, "outputs": 1, "pieces": [piece]}
    layer = {"rows": 1, "columns": n, "bias": [1], "entries": []}
    network = {"format": "cpwl-network", "version": 1, "inputs": n, "outputs": 1, "layers": [layer]}
    proof = {"format": "cpwl-proof", "version": 1, "kind": "expression", "inputs": n, "error_bound": 0, "box": None}
    trees = [[{"members": {"0": {"lambda": {}, "t": 0}}}]]
    proof |= {"components": [[0] * n + [1]], "values": [], "output": [0], "below": trees, "reach": trees}
    return law, network, proof


@pytest.mark.parametrize(("n", "width", "status"), [(3, 1, 0), (17, 1, 0), (3, 0, 1), (17, 0, 2)])
def test_a_statement_about_nothing_is_not_proved(capsys, tmp_path, n, width, status):
    """A piece that is flat is refused; in R^17, where a few steps do not show whether it is, nothing is decided."""
    code, found = verdict(capsys, tmp_path, slabs(n, width))
    assert code == status
    assert "interior" in found["reason"] or status == 0
