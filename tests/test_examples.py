"""The example scripts run as they stand, and say what they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_exports_are_written(tmp_path: Path) -> None:
    """The scripts that export leave a readable ONNX file in the folder they run in."""
    import cpwl

    _run(next(s for s in SCRIPTS if s.stem == "ten_lines"), tmp_path)
    network = cpwl.from_onnx(tmp_path / "pyramid.onnx")
    assert network([[1.0, 1.0]])[0, 0] == 1
