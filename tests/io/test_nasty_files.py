"""Small files that ask for much end in one sentence, in seconds and without gigabytes; nothing in them is executed."""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from support.nasty import NASTY, Nasty, constant_outside, folded

HEAVY = {"columns.csv", "norm.txt", "many variables.txt", "alternating.onnx", "deep network.json", "bomb.npz"}
HEAVY |= {"unfolding.mat", "max.onnx", "long sum.txt", "divisions.txt"}
SOUND = {
    "same simplex.json",
    "wide network.json",
    "deep network.json",
    "far apart.json",
    "max.onnx",
    "alternating.onnx",
}
SOUND |= {"signs.txt", "long sum.txt", "divisions.txt"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return Nasty(tmp_path_factory.mktemp("nasty"))


@pytest.mark.parametrize("name", [name for name in NASTY if name not in HEAVY])
def test_it_is_refused_in_a_sentence(
    files: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files[name].parent)
    began = time.process_time()
    code = main(["info", str(files[name])])
    assert time.process_time() - began < 5
    assert code in ({0} if name in SOUND else {2, 65})
    said = capsys.readouterr().err
    assert len(said) < 3000
    assert said.startswith("error: ") is (code != 0)
    assert not Path("harm").exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the memory of a process is measured on POSIX systems")
@pytest.mark.parametrize("command", ["info", "compile", "extract", "count", "doctor"])
@pytest.mark.parametrize("name", NASTY)
def test_it_takes_seconds_and_megabytes(files: dict[str, Path], name: str, command: str, tmp_path: Path) -> None:
    """In a process of its own: at most 10 seconds and 1 GB."""
    more = {"compile": ["-o", str(tmp_path / "a.onnx")], "extract": ["-o", str(tmp_path / "a.json")]}
    limits = ["--timeout", "60"] if name in SOUND else []  # a network of ten thousand neurons may be hard
    child = os.fork()
    if not child:
        os.chdir(tmp_path)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (70, 70))
        os._exit(main([command, str(files[name]), *more.get(command, []), *limits]))
    _, status, used = os.wait4(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 1, 2, 65), name
    assert used.ru_utime + used.ru_stime < (65 if limits else 10)
    assert used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) < 2**30


def test_deep_formulas_share_their_parts() -> None:
    """A sawtooth of 2^40 teeth has too many pieces, and a small network, whose values are those of folding by hand."""
    formula = cpwl.io.Formula.from_text(folded(40))
    network = formula.network()
    assert network.sizes.neurons < 200
    for x in (0, 3, 2**40 - 1, 2**41 + 5):
        value = x
        for i in range(40):
            value = abs(value - 2 ** (39 - i))
        assert network(np.array([[x]], dtype=object))[0, 0] == value
    with pytest.raises(cpwl.LimitError, match="more than 10,000 pieces"):
        formula.function()
    same = cpwl.parse(f"{folded(40)} - {folded(40)} + x")
    assert same.num_pieces == 1


def test_weights_of_nodes_in_other_files_are_read_from_the_folder_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not from where the command runs."""
    (tmp_path / "model").mkdir()
    model = tmp_path / "model" / "a.onnx"
    model.write_bytes(constant_outside("weights"))
    (tmp_path / "weights").write_bytes(np.array([5.0, 7.0]).tobytes())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cpwl.InputError, match="cannot be read"):
        cpwl.io.from_onnx(model)
    (tmp_path / "model" / "weights").write_bytes(np.array([1.0, 2.0]).tobytes())
    assert cpwl.io.from_onnx(model)(np.zeros((1, 2))).tolist() == [[1.0, 2.0]]


def test_tables_of_many_inputs_are_estimated_before_they_are_cut(tmp_path: Path) -> None:
    """Seven inputs with two values each are 5,040 simplices, and read; twelve are 479 million, and refused."""
    for dim, ends in ((5, True), (12, False)):
        path = tmp_path / f"{dim}.csv"
        rows = (",".join(f"{i >> k & 1}" for k in range(dim)) + f",{i % 3}" for i in range(2**dim))
        path.write_text("\n".join(rows))
        if ends:
            assert cpwl.io.from_csv(path).num_pieces == 120
        else:
            with pytest.raises(cpwl.LimitError, match="479,001,600 simplices"):
                cpwl.io.from_csv(path)
