"""The demonstration: what it prints is what it wrote, and what it wrote computes the functions."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from rich.console import Console

import cpwl
from cpwl.cli import main
from cpwl.show.bundled import Example, bundled_examples, five_pieces
from cpwl.show.demo import demo_table, run_demo
from cpwl.show.pictures import polygons
from cpwl.show.report import write_report
from cpwl.show.row import Row, compile_example

EXAMPLES = {example.slug: example for example in bundled_examples()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "new"


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Row]:
    return run_demo(folder)


def test_every_file_is_there_and_no_other(rows: list[Row], folder: Path) -> None:
    """A function each, a network for each but the refused one, one report, and nothing half-written."""
    names = {f"{slug}.json" for slug in EXAMPLES} | {f"{slug}.onnx" for slug in EXAMPLES}
    assert {path.name for path in folder.iterdir()} == (names | {"report.html"}) - {"five_pieces.onnx"}
    assert {path for row in rows for path in row.files} == set(folder.iterdir()) - {folder / "report.html"}


@pytest.mark.parametrize("slug", sorted(EXAMPLES.keys() - {"five_pieces"}))
def test_onnx_files_compute_the_functions(rows: list[Row], folder: Path, slug: str) -> None:
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
def test_json_files_hold_the_functions(rows: list[Row], folder: Path, slug: str) -> None:
    """What is loaded from the JSON file has the pieces and the values of the example."""
    assert rows
    p, q = EXAMPLES[slug].function, cpwl.load(folder / f"{slug}.json")
    assert isinstance(q, cpwl.CPWL)
    assert q.num_pieces == p.num_pieces
    x = np.random.default_rng(2).uniform(EXAMPLES[slug].low, EXAMPLES[slug].high, (50, p.dim))
    np.testing.assert_array_equal(p(x), q(x))


def test_networks_are_no_larger_than_theorem_2(rows: list[Row]) -> None:
    """Every network stays within the paper's bound, and the bounds before it are larger still."""
    for row in rows:
        assert row.sizes.neurons <= row.theorem2
        assert row.theorem2 <= min(row.he, row.hertrich)


def test_errors_seen_are_roundings(rows: list[Row]) -> None:
    """Networks that are not refused differ from their functions by rounding only, where they were sampled."""
    assert all(row.max_error < 1e-12 for row in rows if row.failure is None)
    assert all(row.samples == 10_000 for row in rows)


def test_the_counterexample_is_an_honest_row(rows: list[Row]) -> None:
    """The five-piece function is refused with a witness at which the two values do differ."""
    refused = [row for row in rows if row.failure is not None]
    assert [row.example.slug for row in refused] == ["five_pieces"]
    failure = refused[0].failure
    assert failure is not None
    assert failure.function_value == five_pieces()(failure.point)[0]
    assert failure.network_value == refused[0].network(failure.point)[0]
    assert failure.amount >= 1


def test_table_fits_80_columns_and_names_everything(rows: list[Row]) -> None:
    """In a terminal of 80 columns no cell of the table is cut, and the failure is spelled out."""
    out = StringIO()
    Console(width=80, file=out).print(demo_table(rows))
    text = out.getvalue()
    assert "…" not in text
    assert "wrong by" in text
    assert all(example.name in text for example in EXAMPLES.values())


def test_second_run_replaces_the_first(rows: list[Row], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command runs into a folder that is full already, with the same bytes but for the times."""
    assert rows
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(["demo", "-o", str(folder)]) == 0
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert before.keys() == after.keys()
    assert all(before[name] == after[name] for name in before if name != "report.html")
    assert str(folder / "report.html") in capsys.readouterr().out


def test_a_file_in_the_way_is_one_clear_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the folder cannot be made, the command says so and exits with 65."""
    (tmp_path / "file").write_text("")
    assert main(["demo", "-o", str(tmp_path / "file")]) == 65
    assert "cannot make the directory" in capsys.readouterr().err


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


def test_report_is_one_whole_page(rows: list[Row], folder: Path) -> None:
    """All tags are closed, ids are unique, and every reference stays within the page."""
    assert rows
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = _Page(text)
    assert not page.open
    assert len(page.ids) == len(set(page.ids))
    used = [link.removeprefix("#") for link in page.links] + re.findall(r"url\(#([^)]+)\)", text)
    assert set(used) <= set(page.ids)
    assert "http" not in text


def test_report_escapes_names(tmp_path: Path) -> None:
    """A name with markup in it is shown, not obeyed."""
    p = cpwl.CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    row = compile_example(Example("<b>&", "x", "<script>", p, -1, 1), samples=10)
    write_report([row], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;&amp;" in text
    assert "<script>" not in text


@pytest.mark.parametrize("slug", ["norm", "table", "five_pieces"])
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
