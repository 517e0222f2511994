"""The wheel has everything in it: from a clean environment it runs the demonstration and draws a page."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as users get it, without network access."""
    pytest.importorskip("build", reason="build is not installed; run `make test`")
    pytest.importorskip("hatchling", reason="hatchling is not installed; run `make test`")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Scripts, styles, schema and data of the package too, and nothing beside the package."""
    there = {
        path.relative_to(ROOT / "src").as_posix()
        for package in ("cpwl", "cpwl_check")
        for path in (ROOT / "src" / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == there
    assert "cpwl/show/explorer/main.js" in held


@pytest.mark.slow
def test_the_wheel_runs_from_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    """Unpacked into a folder of its own, with the libraries it asks for and without this repository."""
    home = tmp_path / "installed"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(home),
        str(wheel),
    ]
    subprocess.run(command, check=True, capture_output=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONPATH"] = str(home)
    where = subprocess.run(
        [sys.executable, "-c", "import cpwl; print(cpwl.__file__)"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(home))
    done = subprocess.run(
        [sys.executable, "-m", "cpwl", "demo", "-o", "demo"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "report.html").exists()
    assert (tmp_path / "demo" / "five_pieces.html").stat().st_size > 50_000
