"""The example scripts run as they stand, and say what they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path

import pytest

import cpwl
from cpwl.show.row import check_proof

SCRIPTS = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


def _run(script: Path, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_runs(script: Path, tmp_path: Path) -> None:
    """Each script ends well, prints something, and nothing to stderr."""
    assert _run(script, tmp_path)


def test_counterexample_shows_the_failure(tmp_path: Path) -> None:
    """The script shows both values at (0, 1) and the refusal with its witness."""
    said = _run(next(s for s in SCRIPTS if s.stem == "counterexample"), tmp_path)
    assert "the function is -2.0 and Algorithm 1's network gives 0.0" in said
    assert "Algorithm 1 does not compute this function" in said
    assert "neurons gives -2.0" in said
    assert "proved: network = function on every piece" in said


def test_exports_are_written_and_proved(tmp_path: Path) -> None:
    """The pyramid's files are what they are said to be: the network computes it, and its proof holds for it."""
    _run(next(s for s in SCRIPTS if s.stem == "ten_lines"), tmp_path)
    network = cpwl.from_onnx(tmp_path / "pyramid.onnx")
    assert network([[1.0, 1.0]])[0, 0] == 1
    points, triangles = [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]], [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
    cpwl.save(cpwl.CPWL.from_simplices(points, triangles, [0, 0, 0, 0, 1]), tmp_path / "pyramid.json")
    _check(tmp_path, "pyramid.json", "pyramid.onnx", "pyramid.proof.json")


def test_control_law_is_proved_as_exported(tmp_path: Path) -> None:
    """The proof beside ``law.onnx`` is accepted for the weights in that file and for the bundled law."""
    _run(next(s for s in SCRIPTS if s.stem == "control_law"), tmp_path)
    with as_file(files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json")) as law:
        _check(tmp_path, str(law), "law.onnx", "law.proof.json")


def _check(folder: Path, law: str, network: str, proof: str) -> None:
    cpwl.save(cpwl.from_onnx(folder / network), folder / "weights.json")
    verdict = check_proof(folder / law, folder / "weights.json", folder / proof)
    assert verdict.accepted, verdict.text
