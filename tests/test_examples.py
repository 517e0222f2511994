"""The example scripts run as they stand, and say what they promise."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import cpwl
from cpwl.construct.table import TABLE
from support.forks import Forks
from support.proofs import run_alone

SCRIPTS = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
Ran = tuple[str, Path]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Ran]]:
    """Runs a script in a folder and a process of its own, once: what it printed, and the folder."""
    with Forks() as forks:

        @cache
        def once(name: str) -> Ran:
            folder = tmp_path_factory.mktemp(name)
            script = next(script for script in SCRIPTS if script.stem == name)
            code, said, errors = forks.run(script, folder)
            assert code == 0, errors
            assert not errors
            return said, folder

        yield once


LONG = {"terrain", "compress_network", "ground_truth", "stays_inside"}  # notebooks that take some seconds


@pytest.mark.parametrize(
    "script", [pytest.param(s, id=s.stem, marks=[pytest.mark.slow] if s.stem in LONG else []) for s in SCRIPTS]
)
def test_script_runs(script: Path, run: Callable[[str], Ran]) -> None:
    """Each script ends well, prints something, and nothing to stderr."""
    assert run(script.stem)[0]


def test_counterexample_shows_the_failure(run: Callable[[str], Ran]) -> None:
    """The script shows both values at (0, 1) and the refusal with its witness."""
    said, _ = run("counterexample")
    assert "the function is -2.0 and Algorithm 1's network gives 0.0" in said
    assert "Algorithm 1 does not compute this function" in said
    assert "neurons gives -2.0" in said
    assert "proved: network = function on every piece" in said


def test_failures_are_the_rule(run: Callable[[str], Ran]) -> None:
    """Of the two functions of 87 triangles, Algorithm 1 is wrong on both, and the error is seen."""
    said, _ = run("failures")
    n, pieces, wrong, _, count, error = said.splitlines()[3].split()
    assert (n, pieces, wrong, count) == ("2", "87", "2", "2")
    assert float(error) > 0.01


def test_errors_are_those_of_the_formats(run: Callable[[str], Ran]) -> None:
    """Small tables: far below 1e-4 of the range in float32, and below 1e-12 in float64, for both constructions."""
    lines = [line.split() for line in run("float32_errors")[0].splitlines()[1:]]
    assert [line[0] for line in lines] == ["gates", "clamped"] * 2
    assert all(1e-9 < float(line[2]) < 1e-4 and float(line[3]) < 1e-12 for line in lines)


def test_exports_are_written_and_proved(run: Callable[[str], Ran]) -> None:
    """The pyramid's files are what they are said to be: the network computes it, and its proof holds for it."""
    _, folder = run("ten_lines")
    network = cpwl.io.from_onnx(folder / "pyramid.onnx")
    assert network([[1.0, 1.0]])[0, 0] == 1
    points, triangles = [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]], [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
    cpwl.write(cpwl.CPWL.from_simplices(points, triangles, [0, 0, 0, 0, 1]), folder / "pyramid.json")
    _check(folder, "pyramid.json", "pyramid.onnx", "pyramid.proof.json")


def test_control_law_is_proved_as_exported(run: Callable[[str], Ran]) -> None:
    """The proof beside ``law.onnx`` is accepted for the weights in that file and for the bundled law."""
    _, folder = run("control_law")
    with as_file(files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json")) as law:
        _check(folder, str(law), "law.onnx", "law.proof.json")


def test_the_pendulum_is_proved_and_written(run: Callable[[str], Ran]) -> None:
    """The loop is stable, the network is the optimiser, the header is there, and the loop comes to rest."""
    said, folder = run("pendulum_to_c")
    assert said.startswith("stable\n")
    assert "network = function on every piece, in exact arithmetic" in said
    assert "the function is the optimiser of the program, for all feasible parameters" in said
    assert "int pendulum(" in (folder / "pendulum.h").read_text()
    state = said.splitlines()[-1].partition("[")[2].strip("]").split()
    assert all(abs(float(v)) < 0.01 for v in state)


def test_the_table_is_what_the_model_computes(run: Callable[[str], Ran]) -> None:
    """onnxruntime, in float32, at the points of the table: as far off as was proved, and no farther."""
    said, folder = run("table_to_onnx")
    rows = np.loadtxt(folder / "torque.csv", delimiter=",", skiprows=1)
    session = onnxruntime.InferenceSession(str(folder / "torque.onnx"))
    found = session.run(None, {"X": rows[:, :2].astype(np.float32)})[0][:, 0]
    bounds = [float(v) for v in re.findall(r"(?:<=|at most) ([\d.e-]+)", said)]
    assert len(bounds) == 2
    assert np.abs(found - rows[:, 2]).max() <= sum(bounds) + 1e-6  # the points themselves are rounded to float32


def test_the_formula_is_optimised(run: Callable[[str], Ran]) -> None:
    """The optima are those of the formula on a fine grid, and the file is there."""
    said, folder = run("formula_to_milp")
    x, y = np.meshgrid(np.linspace(-2, 4, 601), np.linspace(-2, 4, 601))
    z = np.maximum(np.minimum(x + 2 * y - 1, 3), -x) - np.abs(y - 1) / 2
    best, constrained = (float(v) for v in re.findall(r"(?:largest value|with x \+ y <= 1:) ([\d.-]+)", said))
    assert abs(best - z.max()) < 1e-6
    assert abs(constrained - z[x + y <= 1 + 1e-9].max()) < 1e-6
    assert (folder / "tariff.mps").stat().st_size > 100


def test_the_benchmark_of_a_trained_network(run: Callable[[str], Ran]) -> None:
    """Four queries with their truth, and an equivalence query that is unsat but for rounding to float32."""
    said, folder = run("network_to_benchmark")
    assert said.count(": sat") == said.count(": unsat") == 2
    assert len((folder / "benchmark" / "instances.csv").read_text().splitlines()) == 4
    assert "unsat" in said.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "files"), [("pendulum", ("pendulum",)), pytest.param("terrain", ("terrain",), marks=pytest.mark.slow)]
)
def test_notebooks_prove_what_they_export(run: Callable[[str], Ran], name: str, files: tuple[str, ...]) -> None:
    """The proofs beside the exported networks hold: for the network as compiled, or for the weights in the file."""
    _, folder = run(name)
    for stem in files:
        _check(folder, f"{stem}.json", f"{stem}.onnx", f"{stem}.proof.json")
        assert (folder / f"{stem}.html").stat().st_size > 10_000


def test_the_pendulum_stands(run: Callable[[str], Ran]) -> None:
    """By the network and by the C code, from the same state to nearly upright."""
    said, folder = run("pendulum")
    angles = [float(line.split()[-1]) for line in said.splitlines() if "the angle is" in line]
    assert len(angles) == 2
    assert max(map(abs, angles)) < 0.01
    assert "int pendulum(" in (folder / "pendulum.h").read_text()


def test_the_tour_passes_every_construction(run: Callable[[str], Ran]) -> None:
    """One line each, and those that apply are proved."""
    said, _ = run("tour")
    assert [line.split()[0] for line in said.splitlines() if line.split()[0] in TABLE] == list(TABLE)
    assert said.count("proof of kind") >= 5


def test_scripts_are_notebooks() -> None:
    """The longer ones have cells of text and code, which editors show as notebooks."""
    for name in ("pendulum", "terrain", "compress_network", "ground_truth", "tour"):
        text = next(script for script in SCRIPTS if script.stem == name).read_text()
        assert text.startswith("# %% [markdown]\n# # ")
        assert text.count("\n# %%\n") >= 4


NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] if p.stem in LONG else []) for p in NOTEBOOKS]
)
def test_a_notebook_is_its_script_with_its_output(path: Path, run: Callable[[str], Ran]) -> None:
    """A notebook has the cells of the script, and what the script prints; `python docs/make_notebook.py` writes it."""
    text = path.with_suffix(".py").read_text("utf-8")
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [part.split("\n# %%")[0].strip() for part in text.split("\n# %%\n")[1:]]
    said, _ = run(path.stem)
    assert "".join(line for cell in cells for out in cell.get("outputs", ()) for line in out.get("text", ())) == said
    assert path.stat().st_size < 60_000


def test_all_notebooks_are_written() -> None:
    """The program that writes notebooks knows those that there are."""
    import runpy

    made = runpy.run_path(str(Path(__file__).parent.parent / "docs" / "make_notebook.py"))
    assert sorted(made["NOTEBOOKS"]) == [path.stem for path in NOTEBOOKS]


def test_the_c_code_of_the_pendulum_tests_itself(run: Callable[[str], Ran]) -> None:
    """The example writes a program beside the header that compares it with values, and prints PASS."""
    assert "PASS" in (run("pendulum_to_c")[1] / "pendulum_test.c").read_text()


def _check(folder: Path, law: str, network: str, proof: str) -> None:
    cpwl.write(cpwl.io.from_onnx(folder / network), folder / "weights.json")
    code, said, wrong = run_alone([folder / law, folder / "weights.json", folder / proof], folder)
    assert code == 0, said + wrong


@pytest.mark.slow
def test_the_closed_loop_stays_inside(run: Callable[[str], Ran]) -> None:
    """The set is kept, with a proof; a box is not, with a point; six steps are one network with a certificate."""
    said, _ = run("stays_inside")
    assert "is the set kept? yes: the set is kept, proved on 5 cells" in said
    assert re.search(r"is the box \[-1, 1\]\^2 kept\? no: x = \((-?1), \1\) is in the set", said)  # either corner
    assert "network = function on every piece, in exact arithmetic" in said
