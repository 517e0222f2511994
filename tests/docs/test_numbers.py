"""What the pages state is what there is: numbers of tables, lists of kinds, names of files, formulas."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import cpwl
from cpwl.construct.table import TABLE
from cpwl_check import budget
from cpwl_check.decide import KINDS

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def readme() -> ModuleType:
    """The program that measures the numbers of README.md."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import readme
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return readme


def test_tables_of_the_readme_are_as_measured(readme: ModuleType) -> None:
    """Every row is in the file that ``python benchmarks/readme.py`` writes, and the other way round."""
    found = json.loads(readme.FILE.read_text("utf-8"))
    rows = [readme.size_text(*each) for each in found["sizes"].items()]
    rows += [readme.float_text(*each) for each in found["floats"].items()]
    assert (list(found["sizes"]), list(found["floats"])) == (list(readme.SIZES), list(readme.FLOATS))
    assert [row for row in rows if f"\n{row}\n" not in README] == []
    assert len(re.findall(r"^\| [^|]+ \| \d[\d,]* \|", README, re.MULTILINE)) == len(rows)


def test_the_ways_to_run_a_function_are_as_measured() -> None:
    """Rows and sentences are those of the file that ``python benchmarks/ways.py`` writes, all in one run."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import ways
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    rows = json.loads(ways.FILE.read_text("utf-8"))
    page = (ROOT / "docs" / "comparison.md").read_text("utf-8")
    assert list(rows) == list(ways.cases())
    assert f"\n{ways.table(rows)}\n" in page
    assert [said for said in ways.ratios(rows) if said not in page] == []
    assert ways.ratios(rows)[0] in README


def test_tolerances_are_as_measured() -> None:
    """Each row of the table of tolerances is in the file that ``python benchmarks/within.py --save`` writes, proved."""
    found = json.loads((ROOT / "benchmarks" / "within.json").read_text("utf-8"))
    page = (ROOT / "docs" / "howto" / "within.md").read_text("utf-8")
    shown = dict(re.findall(r"^\| `(\w+)`: [^|]*\|([\d |]+)\|$", page, re.MULTILINE))
    assert set(shown) == set(found)
    for name, cells in shown.items():
        rows = found[name]["rows"]
        assert [int(cell) for cell in cells.split("|")] == [row["neurons"] for row in rows]
        assert all(row["proved"] for row in rows)


def test_trained_networks_are_as_measured() -> None:
    """The errors of trained networks, of the sizes in the table above them, are those that ``--fit`` has saved."""
    found = json.loads((ROOT / "benchmarks" / "within.json").read_text("utf-8"))
    page = (ROOT / "docs" / "howto" / "within.md").read_text("utf-8")
    shown = dict(re.findall(r"^\| `(\w+)` \|([\d. |]+)\|$", page, re.MULTILINE))
    assert set(shown) == set(found)
    for name, cells in shown.items():
        errors = [100 * found[name]["trained"][str(row["neurons"])] for row in found[name]["rows"]]
        assert cells.replace(" ", "").split("|") == [f"{error:.1f}" for error in errors]


@pytest.mark.filterwarnings("ignore::cpwl.CpwlWarning")
@pytest.mark.parametrize("name", ["maximum of 20 planes", "explicit MPC law (bundled, floats)"])
def test_measured_sizes_are_those_of_today(readme: ModuleType, name: str) -> None:
    """The rows that are measured at once."""
    assert readme.measure_size(name) == json.loads(readme.FILE.read_text("utf-8"))["sizes"][name]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cpwl.CpwlWarning")
def test_measured_float_sizes_are_those_of_today(readme: ModuleType) -> None:
    """The others that end soon."""
    found = json.loads(readme.FILE.read_text("utf-8"))
    for name in ("12 x 12 grid", "saturation, 21 x 21 samples"):
        assert {**readme.measure_float(name), "bound": ""} == {**found["floats"][name], "bound": ""}


def test_the_controller_of_the_readme_has_as_many_neurons() -> None:
    """The plant is read off the page, and so is the number."""
    (plant,) = re.findall(r"^plan = cpwl\.mpc\((.*)\)$", README, re.MULTILINE)
    (neurons,) = re.findall(r"# (\d+) neurons, proved to be the optimiser", README)
    law = eval(f"cpwl.mpc({plant})", {"cpwl": cpwl}).solve()
    assert cpwl.compile(law).sizes.neurons == int(neurons)


def test_pages_list_every_kind_of_proof() -> None:
    """The glossary and the page about proofs."""
    (line,) = re.findall(r"^\| \*\*kind\*\* \| (.*) \|$", (ROOT / "docs/glossary.md").read_text("utf-8"), re.MULTILINE)
    assert set(KINDS) == set(re.findall(r"[a-z-]+", line.partition(": ")[2].partition(";")[0]))
    table = (ROOT / "docs/proof.md").read_text("utf-8").partition("## Proof kinds")[2].partition("\n\n")[0]
    assert set(KINDS) == set(re.findall(r"^\| \[([a-z-]+)\]", table, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_are_whole_and_name_files_that_are_there(page: Path) -> None:
    """No marks of a merge, no release that there is not, and no file of ours that has gone."""
    text = page.read_text("utf-8")
    assert not re.search(r"^(<<<<<<<|=======|>>>>>>>)", text, re.MULTILINE)
    assert not re.search(r"pip install [\"']?cpwl", text), "there is no release: say how to install from a checkout"
    every = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if ".venv" not in path.parts]
    named = re.findall(r"`([\w/]+\.py)`", text) if page.name != "CHANGELOG.md" else []
    assert [name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in every)] == []


def test_formulas_can_be_typeset() -> None:
    """By the KaTeX of the site; and without what Markdown would take for itself on a forge."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    program = ROOT / "tests" / "docs" / "formulas.js"
    pages = [str(page) for page in PAGES if "$" in page.read_text("utf-8")]
    done = subprocess.run([node, str(program), *pages], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[0]) > 1000


def test_points_per_second_on_a_gpu_are_those_that_were_saved() -> None:
    """Every row of the table in docs/comparison.md is one of benchmarks/gpu.json."""
    saved = json.loads((ROOT / "benchmarks" / "gpu.json").read_text("utf-8"))["rows"]
    page = (ROOT / "docs" / "comparison.md").read_text("utf-8").partition("### On a GPU")[2].partition("\n## ")[0]
    found = re.findall(r"^\| ([^|]+) \| (network|lookup) \| ([\d,]+) million \| \S+ \| ([\d,]+) million", page, re.M)
    shown = {
        (case, way, dtype): n for case, way, *ns in found for dtype, n in zip(("float64", "float32"), ns, strict=True)
    }
    assert shown == {(r["case"], r["way"], r["dtype"]): f"{r['points_per_second'] / 1e6:,.0f}" for r in saved}


def test_the_table_of_solved_programs_is_as_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row of benchmarks/mpc.json is on the page; laws and networks are proved; what PPOPT lost has its rows."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    solve = importlib.import_module("solve")
    rows = json.loads(solve.FILE.read_text("utf-8"))
    page = (ROOT / "docs" / "howto" / "control_laws.md").read_text("utf-8")
    assert len(rows) >= 15
    for name, row in rows.items():
        assert solve.shown(name, row) in page
        assert row["proof"].startswith("optimal of"), name


def test_the_readme_counts_and_names_all_constructions() -> None:
    """Their number in words, and a link to the page of each, in the table of sizes or below it."""
    words = dict(enumerate(("nine", "ten", "eleven", "twelve", "thirteen"), start=9))
    (said,) = re.findall(r"`cpwl` has (\w+) ways to build a network", README)
    assert words[len(TABLE)] == said
    section = README.partition("## Network sizes")[2].partition("\n## ")[0]
    assert set(TABLE) <= set(re.findall(r"\]\(docs/(\w+)\.md\)", section))


def test_the_length_of_the_checker_is_as_the_home_page_says() -> None:
    """What all kinds share, and the shortest and the longest kind with it, in lines."""
    home = (ROOT / "docs/index.md").read_text("utf-8")
    ((low, high),) = re.findall(r"([\d,]+) to ([\d,]+) lines of plain Python", home)
    lines = {path.stem: len(path.read_text("utf-8").splitlines()) for path in (ROOT / "src/cpwl_check").glob("*.py")}
    shared = sum(lines[name] for name in ("budget", "reading", "pieces", "cones", "decide", "main"))
    kinds = [lines[kind] for kind in KINDS]
    for stated, counted in ((low, shared + min(kinds)), (high, shared + max(kinds))):
        assert abs(int(stated.replace(",", "")) - counted) <= 0.15 * counted


def test_the_budget_of_the_checker_is_as_the_page_says() -> None:
    """Steps for every run, for the numbers in the files, and at most."""
    page = (ROOT / "docs/proof.md").read_text("utf-8")
    words = (f"{budget.STEPS // 10**6} million", f"`k min(k, {budget.MANY}) / 4`", f"{budget.MOST // 10**6} million")
    assert "{}, plus {} for `k` numbers in the files, but at most {}".format(*words) in page


def test_limits_are_the_same_on_all_pages() -> None:
    """How many pieces a proof of gates in four dimensions takes: README and the page about other tools."""
    (here,) = re.findall(r"and for (\d+) pieces in four", README)
    (there,) = re.findall(
        r"gates in four dimensions for more than about (\d+)", (ROOT / "docs/comparison.md").read_text("utf-8")
    )
    assert here == there


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_claim_no_more_than_is_so(page: Path) -> None:
    """A proof is not always found, a network is the smallest *found*, and data may be refused."""
    beyond = r"every (result|network) has a proof|as small as (it )?can be|smallest possible|always (finds|proves)"
    assert re.findall(f"(?i){beyond}|provably minimal|the optimal network", page.read_text("utf-8")) == []
