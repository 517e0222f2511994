"""``cpwl equal``: exit codes, witnesses, and their replay."""

import json
from fractions import Fraction

import pytest

from cpwl import compile
from cpwl.cli import main
from cpwl.io import to_onnx
from cpwl.io.json import save
from cpwl.network.algorithms import extremum
from support.functions import abs_sum
from support.network_changes import shuffled, with_change


@pytest.fixture
def files(tmp_path):
    """Files of one function in several forms, and of another that is nearly the same."""
    p = abs_sum(2)
    network = compile(p).network
    save(p, tmp_path / "law.json")
    save(network, tmp_path / "net.json")
    to_onnx(network, tmp_path / "net.onnx")
    to_onnx(shuffled(network), tmp_path / "other.onnx")
    to_onnx(with_change(network, 1, 0, 0, 1e-6), tmp_path / "wrong.onnx")
    return tmp_path


@pytest.mark.parametrize("one", ["law.json", "net.json", "net.onnx", "other.onnx"])
@pytest.mark.parametrize("two", ["law.json", "net.onnx"])
def test_command_proves(files, capsys, one, two):
    """Functions and networks in any mixture: exit code 0."""
    assert main(["equal", str(files / one), str(files / two), "--box", "-1", "1"]) == 0
    assert capsys.readouterr().out.startswith("equal: ")


def test_command_refutes(files, capsys):
    """Exit code 1, with a witness that onnxruntime replays, for people and for machines."""
    pytest.importorskip("onnxruntime")
    arguments = ["equal", str(files / "net.onnx"), str(files / "wrong.onnx"), "--box", "-1", "1"]
    assert main(arguments) == 1
    assert "onnxruntime on" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["equal"] is False
    assert Fraction(answer["gap_exact"]) == Fraction(1e-6) + Fraction(1) - 1 or answer["gap"] > 0
    a, b = (answer["onnxruntime"][str(files / name)][0] for name in ("net.onnx", "wrong.onnx"))
    assert abs(a - b) == pytest.approx(answer["gap"], rel=1e-6)


def test_command_gives_up(files, capsys):
    """Exit code 2 beyond the limit."""
    to_onnx(extremum([[1, 0], [0, 1], [-1, -1]], [0, 0, 0]), files / "a.onnx")
    to_onnx(extremum([[0, 1], [-1, -1], [1, 0]], [0, 0, 0]), files / "b.onnx")
    assert main(["equal", str(files / "a.onnx"), str(files / "b.onnx"), "--max-regions", "2", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["equal"] is None


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["net.onnx", "nowhere.onnx"], 65), (["net.onnx", "law.json", "--box", "1", "0"], 64), (["net.onnx"], 64)],
)
def test_command_refuses(files, capsys, arguments, code):
    """Wrong usage is 64, bad input 65, each with one message."""
    assert main(["equal", *(str(files / a) if "." in a else a for a in arguments)]) == code
    assert "error" in capsys.readouterr().err
