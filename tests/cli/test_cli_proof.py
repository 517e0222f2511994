"""``cpwl compile --certify``: the proof is of the file, each candidate is proved once, and no old proof is left."""

import json
import os
import re

import numpy as np
import pytest

import cpwl
from cpwl import compiler
from cpwl.cli import main
from cpwl.io.json import load
from cpwl.io.onnx.read import from_onnx
from cpwl.proofs.certify import Certificate
from support.json_examples import write

ABSOLUTE = {
    "format": "cpwl",
    "version": 1,
    "dim": 1,
    "outputs": 1,
    "pieces": [
        {"A": [[1], [-1]], "b": [0, 1], "gradient": [["-1/3"]], "offset": ["1/7"]},
        {"A": [[-1], [1]], "b": [0, 1], "gradient": [["1/3"]], "offset": ["1/7"]},
    ],
}


@pytest.fixture
def law(tmp_path):
    """The file of a function that no float weights give exactly."""
    return write(tmp_path / "law.json", ABSOLUTE)


def compile(law, output, *options):
    """The exit code of a proof."""
    return main(["compile", str(law), "-o", str(output), "--certify", *options])


@pytest.mark.parametrize("options", [("net.onnx",), ("net.onnx", "--dtype", "float32"), ("net.json",)])
def test_each_candidate_is_proved_once(law, tmp_path, monkeypatch, options, capsys):
    """One proof for one network, and the stand-alone checker accepts it for the file."""
    proved = []
    certify = compiler.certify
    monkeypatch.setattr(compiler, "certify", lambda *a, **k: proved.append(a) or certify(*a, **k))
    name, *rest = options
    assert compile(law, tmp_path / name, *rest) == 0
    assert len(proved) == 1
    proof = tmp_path / "net.proof.json"
    assert main(["check", str(law), str(tmp_path / name), str(proof)]) == 0
    network = load(tmp_path / name) if name.endswith("json") else from_onnx(tmp_path / name)
    assert network.inputs == proved[0][1].inputs
    assert "proved" in capsys.readouterr().out


@pytest.mark.parametrize(("bound", "code"), [("1e-9", 0), ("1e-12", 2), ("1e-30", 2)])
def test_a_larger_bound_than_asked_for_fails(law, tmp_path, bound, code, capsys):
    """In float32 the weights are off by 1e-8 of the range, in float64 by 1e-16; what the message offers passes."""
    dtype = "float64" if bound != "1e-12" else "float32"
    assert compile(law, tmp_path / "net.onnx", "--dtype", dtype, "--max-error", bound) == code
    if code:
        enough = re.search(r"--max-error allows \S+ of it; --max-error (\S+) would pass", capsys.readouterr().err)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["law.json"]
        assert compile(law, tmp_path / "net.onnx", "--dtype", dtype, "--max-error", enough[1]) == 0


def test_a_failed_proof_writes_nothing(law, tmp_path, monkeypatch, capsys):
    """The network and the proof of an earlier run are as they were."""
    output, proof = tmp_path / "net.onnx", tmp_path / "net.proof.json"
    assert compile(law, output) == 0
    before = output.read_bytes(), proof.read_bytes()
    monkeypatch.setattr(compiler, "certify", lambda *_, **__: Certificate(False, None, "not today", None, None))
    assert compile(law, output) == 2
    assert "nothing was written, because no proof was found: not today" in capsys.readouterr().err
    assert (output.read_bytes(), proof.read_bytes()) == before


def test_a_failed_write_leaves_no_old_proof_beside_a_new_network(law, tmp_path, monkeypatch):
    """The old proof goes before the new network comes."""
    output, proof = tmp_path / "net.onnx", tmp_path / "net.proof.json"
    proof.write_text("an old proof")

    replace = os.replace

    def full(draft, target):
        if os.fspath(target) == os.fspath(proof):
            raise OSError(28, "No space left on device")
        replace(draft, target)

    monkeypatch.setattr("cpwl.files.os.replace", full)
    assert compile(law, output) == 65
    assert not proof.exists()


def test_the_proof_must_not_be_the_input(tmp_path, capsys):
    """`x.proof.json` compiled into `x.onnx` would be overwritten by its own proof."""
    law = write(tmp_path / "x.proof.json", ABSOLUTE)
    before = law.read_bytes()
    assert compile(law, tmp_path / "x.onnx") == 64
    assert "is also the input, and the proof would go there" in capsys.readouterr().err
    assert law.read_bytes() == before


def test_pieces_without_interior_keep_their_numbers(tmp_path, capsys):
    """The proof is of the function in the file, whose flat pieces the compiler drops."""
    flat = {"A": [[1], [-1]], "b": [0, 0], "gradient": [[5]], "offset": ["1/7"]}
    law = write(tmp_path / "law.json", {**ABSOLUTE, "pieces": [flat, *ABSOLUTE["pieces"]]})
    assert compile(law, tmp_path / "net.json") == 0
    assert "pieces without interior were dropped: 0" in capsys.readouterr().err
    assert main(["check", *(str(tmp_path / n) for n in ("law.json", "net.json", "net.proof.json"))]) == 0


def test_the_bound_on_evaluation_is_that_of_the_file(law, tmp_path, capsys):
    """A float32 file has one for float32 alone."""
    assert compile(law, tmp_path / "net.onnx", "--dtype", "float32", "--json") == 0
    assert json.loads(capsys.readouterr().out)["evaluation_bound"].keys() == {"float32"}


def test_a_model_that_rounding_spoils_is_proved_in_exact_arithmetic_only(tmp_path, capsys):
    """(2^27 x + y) - 2^27 x is y; in float32 it is off by more than 1, as onnxruntime shows: a status of its own."""
    p = cpwl.CPWL.from_pieces([[[1, 0], [0, 1], [-1, 0], [0, -1]]], [[2, 2, -1, -1]], [[0, 1]], [0])
    spoiled = cpwl.Network([([[2**27, 1], [2**27, 0]], [0, 0]), ([[1, -1]], [0])])
    certificate = cpwl.certify(p, spoiled, max_error=0)
    law, network, exact, proof = (tmp_path / name for name in ("law.json", "net.onnx", "net.json", "proof.json"))
    cpwl.write(p, law)
    cpwl.write(spoiled, exact)
    cpwl.io.to_onnx(spoiled, network, dtype="float32")
    certificate.save(proof)
    session = pytest.importorskip("onnxruntime").InferenceSession(network.read_bytes())
    x = np.array([[1.3, 1.7]], dtype=np.float32)
    assert abs(session.run(None, {session.get_inputs()[0].name: x})[0][0, 0] - 1.7) > 1
    assert main(["check", str(law), str(exact), str(proof)]) == 0
    assert capsys.readouterr().out.startswith("proved: ")
    assert main(["check", str(law), str(network), str(proof)]) == 3
    assert capsys.readouterr().out.startswith("proved in exact arithmetic only: evaluated in float32 it may be off by ")
    from_file = cpwl.certify(p, from_onnx(network))
    assert from_file.proved
    assert "in exact arithmetic only: evaluated in float32" in from_file.statement


def test_the_statement_says_that_pieces_leave_a_part_of_the_domain(tmp_path, capsys):
    """In Python, and as `compile --no-check --certify` prints it."""
    half = {**ABSOLUTE, "pieces": ABSOLUTE["pieces"][:1], "domain": {"A": [[1], [-1]], "b": [1, 1]}}
    law = write(tmp_path / "half.json", half)
    assert main(["compile", str(law), "-o", str(tmp_path / "net.json"), "--no-check", "--certify"]) == 0
    assert "on every piece (1 in all; they do not cover the domain)" in capsys.readouterr().out
    p = load(law)
    said = cpwl.certify(p, load(tmp_path / "net.json")).statement
    assert "they do not cover the domain" in said


@pytest.mark.parametrize(("name", "text"), [("hat.csv", "x,y\n0,0\n1,1\n2,0\n"), ("law.txt", "max(x, 2*y) - 1")])
def test_the_function_may_be_in_any_file_that_was_compiled(tmp_path, name, text):
    """The checker sees its pieces; those of another function are refused."""
    law, other = tmp_path / name, tmp_path / f"other_{name}"
    law.write_text(text)
    other.write_text(text.replace("2", "3"))
    assert compile(law, tmp_path / "net.onnx") == 0
    files = [str(tmp_path / "net.onnx"), str(tmp_path / "net.proof.json")]
    assert main(["check", str(law), *files]) == 0
    assert main(["check", str(other), *files]) == 1


def test_files_in_another_order_refute_nothing(law, tmp_path, capsys):
    """LAW and NET exchanged, a proof in their place, or another kind of file: one sentence, and no verdict."""
    net, proof = tmp_path / "net.onnx", tmp_path / "net.proof.json"
    assert compile(law, net) == 0
    (tmp_path / "formula.txt").write_text("max(x, 0)")
    for files, said in (
        ((net, law, proof), f"LAW and NET are exchanged: write `cpwl check {law} {net} {proof}`"),
        ((law, law, proof), f"{law} holds a function, and not a network"),
        ((law, proof, net), f"{proof} holds a proof, and not a network"),
        ((proof, net, law), f"{proof} holds a proof, and not a function"),
        ((law, net, tmp_path / "formula.txt"), "formula.txt holds a function, and not a proof"),
        ((law, net, law), f"{law} holds a function, and not a proof"),
    ):
        assert main(["check", *map(str, files)]) == 65
        assert said in capsys.readouterr().err


def test_a_box_is_for_two_networks_and_one_pair(law, tmp_path, capsys):
    """A box that the checker cannot take is a mistake of the command line, no verdict."""
    net, proof = tmp_path / "net.json", tmp_path / "net.proof.json"
    assert compile(law, net) == 0
    assert main(["check", str(law), str(net), str(proof), "--box", "0", "1"]) == 64
    assert "a box is for two networks" in capsys.readouterr().err
    for box, said in ((["a", "1"], "not a number"), (["1", "0"], "not below"), (["0,1"], "one pair LO HI")):
        assert main(["check", str(net), str(net), str(proof), "--box", *box]) == 64
        assert said in capsys.readouterr().err


def test_a_plant_is_checked_as_its_law(tmp_path, capsys):
    """What `compile --certify` proves of a plant's law, `check` reads from the plant."""
    plant = {"A": [[1, 1], [0, 1]], "B": [[0], [1]], "Q": [[1, 0], [0, 1]], "R": [[1]], "N": 2, "u": [-1, 1]}
    path = write(tmp_path / "plant.json", plant | {"x": [[-5, -5], [5, 5]]})
    assert compile(path, tmp_path / "net.onnx") == 0
    assert main(["check", str(path), str(tmp_path / "net.onnx"), str(tmp_path / "net.proof.json")]) == 0
    assert "optimiser of the program" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "net.onnx"), str(path), str(tmp_path / "net.proof.json")]) == 65


def test_integers_say_how_they_are_read(tmp_path, capsys):
    """The format of inputs, the factors of outputs, and the command that checks the proof."""
    exact = write(
        tmp_path / "exact.json",
        ABSOLUTE
        | {
            "pieces": [
                {"A": [[1], [-1]], "b": [0, 1], "gradient": [[-1]], "offset": [0]},
                {"A": [[-1], [1]], "b": [0, 1], "gradient": [[1]], "offset": [0]},
            ]
        },
    )
    assert compile(exact, tmp_path / "net.onnx", "--dtype", "int8", "--inputs", "Q2.5") == 0
    said = capsys.readouterr().out
    assert "x are integers in Q2.5; outputs are divided by 32" in said
    (line,) = (line for line in said.splitlines() if line.startswith("check it: cpwl "))
    assert main(line.removeprefix("check it: cpwl ").split()) == 0


def test_other_files_are_no_plants(law, tmp_path, capsys):
    """A function is not called a plant with an unknown name, and a decimal horizon is shown as it is written."""
    assert main(["mpc", str(law), "-o", str(tmp_path / "law.h")]) == 65
    assert "not a plant" in capsys.readouterr().err
    plant = write(tmp_path / "plant.json", {"A": [[1]], "B": [[1]], "Q": [[1]], "R": [[1]], "N": 2.5})
    assert main(["mpc", str(plant), "-o", str(tmp_path / "law.h")]) == 65
    assert '"N" must be a whole number, not 2.5' in capsys.readouterr().err
