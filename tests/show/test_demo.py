"""The demonstration: what it prints is what it wrote, and what it wrote computes the functions, by proof."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import cpwl
import cpwl.show.bundled
from cpwl.cli import main
from cpwl.function.answers import bound_text
from cpwl.function.picture import polygons
from cpwl.show.bundled import (
    NOTES,
    Checked,
    DemoRow,
    Example,
    bundled_examples,
    check_proof,
    compile_example,
    demo_table,
    failures,
    index_of,
    run_demo,
)

EXAMPLES = {example.slug: example for example in bundled_examples()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "new"


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[DemoRow]:
    return run_demo(folder)


def test_every_file_is_there_and_no_other(rows: list[DemoRow], folder: Path) -> None:
    """Five files and a page a function, the checker, one table, and nothing half-written."""
    ends = (".json", ".onnx", ".proof.json", ".network.json", ".exact.proof.json")
    names = {f"{slug}{end}" for slug in EXAMPLES for end in ends}
    pages = {f"{slug}.html" for slug in EXAMPLES}
    assert {path.name for path in folder.iterdir()} == names | pages | {"report.html", "cpwl_check.pyz"}
    assert {path.name for row in rows for path in row.files} == names


@pytest.mark.parametrize("slug", sorted(EXAMPLES))
def test_onnx_files_compute_the_functions(rows: list[DemoRow], folder: Path, slug: str) -> None:
    """In onnxruntime each network agrees with its function at random points of the domain."""
    assert rows
    example = EXAMPLES[slug]
    x = np.random.default_rng(1).uniform(example.low, example.high, (400, example.function.dim))
    y = example.function(x)
    inside = ~np.isnan(y).any(axis=1)
    assert inside.sum() > 50
    session = onnxruntime.InferenceSession(folder / f"{slug}.onnx", providers=["CPUExecutionProvider"])
    found = np.array([session.run(None, {"X": point[None]})[0][0] for point in x[inside]])
    np.testing.assert_allclose(found, y[inside], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("slug", sorted(EXAMPLES))
def test_json_files_hold_the_functions(rows: list[DemoRow], folder: Path, slug: str) -> None:
    """What is loaded from the JSON file has the pieces and the values of the example."""
    assert rows
    p, q = EXAMPLES[slug].function, cpwl.read(folder / f"{slug}.json")
    assert isinstance(q, cpwl.CPWL)
    assert q.num_pieces == p.num_pieces
    x = np.random.default_rng(2).uniform(EXAMPLES[slug].low, EXAMPLES[slug].high, (50, p.dim))
    np.testing.assert_array_equal(p(x), q(x))


def test_every_exact_network_is_proved(rows: list[DemoRow]) -> None:
    """The checker accepts the proof of every network; for rational data it is a proof of equality."""
    for row in rows:
        assert row.verdict.accepted, row.verdict.text
        if row.example.function.tol == 0:
            assert row.exact.error_bound == 0
            assert row.proof == "= proved"
            assert "network = function" in row.verdict.text


def test_the_bound_of_the_float_law_is_not_rounded_down(rows: list[DemoRow]) -> None:
    """What the table shows for the control law, which only nearly fits, is at least what was proved."""
    (row,) = (row for row in rows if row.example.function.tol > 0)
    bound = row.exact.error_bound
    assert isinstance(bound, Fraction)
    assert bound <= Fraction(row.proof.removeprefix("<= ")) <= 2 * bound
    assert 0 < bound < Fraction(1, 10**12)


@given(st.fractions(min_value=0))
def test_rounding_up(x: Fraction) -> None:
    """Three digits, and at least the number, by less than one in a hundred."""
    assert x <= Fraction(bound_text(x)) <= Fraction(101, 100) * x


@pytest.mark.one_in(3)
@pytest.mark.parametrize("slug", sorted(EXAMPLES))
def test_onnx_weights_are_proved(rows: list[DemoRow], folder: Path, tmp_path: Path, slug: str) -> None:
    """The proof beside each ONNX file is accepted for the weights in that file."""
    assert rows
    cpwl.write(cpwl.io.from_onnx(folder / f"{slug}.onnx"), tmp_path / "weights.json")
    verdict = check_proof(folder / f"{slug}.json", tmp_path / "weights.json", folder / f"{slug}.proof.json")
    assert verdict.accepted, verdict.text


@pytest.mark.one_in(3)
@pytest.mark.parametrize("slug", sorted(EXAMPLES))
def test_a_corrupted_proof_is_refused(rows: list[DemoRow], tmp_path: Path, slug: str) -> None:
    """Change one component of the proof by 1e-30, or one bias of the network, and the checker says no."""
    files = next(row.files for row in rows if row.example.slug == slug)
    proof, network = (json.loads(path.read_text()) for path in (files.proof, files.network))
    if "components" in proof:  # the other kind has hints only
        row = proof["components"][0]
        row[-1] = str(Fraction(row[-1]) + Fraction(1, 10**30))
        (tmp_path / "proof.json").write_text(json.dumps(proof))
        verdict = check_proof(files.law, files.network, tmp_path / "proof.json")
        assert not verdict.accepted
        assert verdict.text.startswith("refused")
    bias = network["layers"][-1]["bias"]
    bias[0] = str(Fraction(bias[0]) + Fraction(1, 10**9))
    (tmp_path / "network.json").write_text(json.dumps(network))
    verdict = check_proof(files.law, tmp_path / "network.json", files.proof)
    assert not verdict.accepted
    assert verdict.text.startswith("refused")


def test_the_printed_command_checks_again(rows: list[DemoRow], folder: Path) -> None:
    """The command line below the table works in the folder as it is, with Python alone."""
    row = max(rows, key=lambda row: row.sizes.neurons)
    command = [sys.executable, *row.recheck.split()[1:]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={}, check=False)
    assert done.returncode == 0, done.stderr
    assert "network = function" in done.stdout


def test_algorithm_1_is_wrong_where_it_is_said_to_be(rows: list[DemoRow]) -> None:
    """At each witness the function and the network of Algorithm 1, built again as printed, do differ."""
    assert {row.example.slug for row in rows if row.failure is not None} == {"plane", "space", "five_pieces"}
    for row in rows:
        if (failure := row.failure) is None:
            continue
        p = row.example.function
        as_printed = cpwl.compile(p, construction="paper", check=False).network
        assert failure.function_value == p(failure.point)[0]
        assert failure.network_value == as_printed(failure.point)[0]
        assert failure.amount > 1


def test_table_has_the_numbers_of_the_files(rows: list[DemoRow], folder: Path) -> None:
    """Inputs, pieces, components, bounds, Algorithm 1, neurons and layers, each counted in another way."""
    lines = _printed(rows).splitlines()
    for slug, example in EXAMPLES.items():
        p = example.function
        (line,) = (line for line in lines if line.startswith(example.name + " "))
        weights = [weight for weight, _ in cpwl.io.from_onnx(folder / f"{slug}.onnx").layers]
        as_printed = cpwl.compile(p, construction="paper", check=False).network
        cells = line.removeprefix(example.name).split()
        assert cells[:3] == [str(p.dim), str(p.num_pieces), str(p.num_components)]
        assert cells[4] == f"{cpwl.bounds.theorem2(p.num_components, p.num_pieces).neurons:,}"
        assert cells[5] == f"{as_printed.sizes.neurons:,}"
        assert cells[6] == f"{sum(weight.shape[0] for weight in weights[:-1]):,}"
        assert cells[7] == str(len(weights))
        assert cells[8] in ("=", "<=")


def test_ours_are_the_smallest(rows: list[DemoRow]) -> None:
    """No network is larger than Algorithm 1's, which is within Theorem 2, which is below what came before."""
    for row in rows:
        assert row.sizes.neurons <= row.algorithm1 <= row.theorem2 <= row.hertrich


def test_table_fits_80_columns_and_names_everything(rows: list[DemoRow]) -> None:
    """In a terminal of 80 columns no cell of the table is cut, and the failures are spelled out."""
    text = _printed(rows)
    assert "…" not in text
    assert "…" not in _printed([replace(row, seconds=123.4) for row in rows])  # on a busy machine
    assert text.count("wrong by") == 3
    assert all(example.name in text for example in EXAMPLES.values())
    assert max(map(len, NOTES)) <= 80
    assert max(map(len, failures(rows))) <= 78  # indented by 2


def test_a_refused_proof_is_shown_and_fails(
    rows: list[DemoRow], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the checker says no, the table says so, stderr says why, and the command exits with 1."""
    refused = [replace(rows[0], verdict=Checked(False, "refused: made up")), *rows[1:]]
    monkeypatch.setattr("cpwl.show.bundled.run_demo", lambda *_, **__: refused)
    assert main(["demo"]) == 1
    said = capsys.readouterr()
    assert "refused" in said.out
    assert "affine.exact.proof.json: refused: made up" in said.err


def test_second_run_replaces_the_first(
    rows: list[DemoRow],
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command runs into a folder that is full already, with the same bytes but for the times."""
    assert rows
    again = [EXAMPLES[name] for name in ("five_pieces", "table", "norm")]
    monkeypatch.setattr(cpwl.show.bundled, "bundled_examples", lambda: again)
    shutil.copytree(folder, tmp_path / "full")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for made in (tmp_path / "full").glob("five_pieces*"):
        made.write_bytes(b"something else")
    folder = tmp_path / "full"
    assert main(["demo", "-o", str(folder)]) == 0
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert before.keys() == after.keys()
    assert all(before[name] == after[name] for name in before if name != "report.html")
    assert str(folder / "report.html") in capsys.readouterr().out


def test_a_file_in_the_way_is_one_clear_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the folder cannot be made, the command says so and exits with 65."""
    (tmp_path / "file").write_text("")
    assert main(["demo", "-o", str(tmp_path / "file")]) == 65
    assert "cannot make the folder" in capsys.readouterr().err


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()


def test_the_table_is_one_whole_page(rows: list[DemoRow], folder: Path) -> None:
    """All tags are closed, and every reference is to a file beside it."""
    assert rows
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert '<meta name="viewport" content="width=device-width' in text
    page = _Page(text)
    assert not page.open
    assert set(page.links) == {path.name for row in rows for path in (*row.files, row.files.page)}
    assert "http" not in text


def test_the_page_has_the_numbers_of_the_table(rows: list[DemoRow], folder: Path) -> None:
    """Neurons of every function, every failure of Algorithm 1 with its witness, and every verdict."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert text.count("wrong by") == sum(row.failure is not None for row in rows) == text.count(" instead of ")
    assert text.count("= proved<") == sum(row.exact.error_bound == 0 for row in rows)
    assert all(f">{row.sizes.neurons:,}<" in text for row in rows)


def test_the_page_escapes_names(tmp_path: Path) -> None:
    """A name with markup in it is shown, not obeyed."""
    p = cpwl.CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    text = index_of([compile_example(Example("<b>&", "x", "<script>", p, -1, 1), tmp_path)]).html
    assert "&lt;b&gt;&amp;" in text
    assert "<script>" not in text


@pytest.mark.parametrize("slug", ["norm", "table", "plane", "five_pieces"])
def test_polygons_tile_the_square(slug: str) -> None:
    """What is drawn of pieces that cover the plane has the area of the square, and the function's values."""
    example = EXAMPLES[slug]
    shapes = polygons(example.function, example.low, example.high)
    total = 0.0
    for shape in shapes:
        x, y = shape.corners.T
        total += abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
        np.testing.assert_allclose(example.function(shape.corners)[:, 0], shape.values, atol=1e-12)
    assert total == pytest.approx((example.high - example.low) ** 2)


def test_slices_show_the_function() -> None:
    """In three dimensions, what is drawn of the plane through a point has the function's values there."""
    example, through = EXAMPLES["space"], np.array([1.0, 2.0, -3.0])
    shapes = polygons(example.function, example.low, example.high, through=through)
    assert len(shapes) > 10
    for shape in shapes:
        middle = np.array([*shape.corners.mean(axis=0), -3.0])
        assert example.function(middle)[0] == pytest.approx(shape.values.mean())


def _printed(rows: list[DemoRow]) -> str:
    out = StringIO()
    Console(width=80, file=out).print(demo_table(rows))
    return out.getvalue()
