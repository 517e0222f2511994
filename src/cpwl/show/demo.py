"""The demonstration: the bundled examples compiled, exported, and laid side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from cpwl.errors import InputError
from cpwl.formats.json import save
from cpwl.formats.onnx import to_onnx
from cpwl.function.report import point_text
from cpwl.show.bundled import bundled_examples
from cpwl.show.report import write_report
from cpwl.show.row import Row, compile_example, power_of_ten

__all__ = ["NOTES", "REPORT", "demo_table", "run_demo"]

Progress = Callable[[int, int, str], None]

REPORT = "report.html"
NOTES = (
    "He et al. 2020, Hertrich et al. 2021 (both up to a constant) and Theorem 2: hidden neurons, as published.",
    "max error seen (sampled): the largest difference at 10,000 random points. A measurement, not a proof.",
)
"""What the table's columns mean."""


def run_demo(folder: str | Path, *, progress: Progress | None = None) -> list[Row]:
    """Compile every bundled example into `folder`: a JSON file, an ONNX file, and one report on all.

    A network found to be wrong is reported and not written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot make the directory `{folder}`: {error.strerror or error}"
        raise InputError(message, path=str(folder)) from error
    examples = list(bundled_examples())
    rows: list[Row] = []
    for i, example in enumerate(examples):
        if progress is not None:
            progress(i, len(examples), example.name)
        rows.append(_export(compile_example(example), folder))
    write_report(rows, folder / REPORT)
    return rows


def demo_table(rows: Sequence[Row]) -> Table:
    """The rows as a table for a terminal of 80 columns or more."""
    table = Table(box=SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    table.add_column("function", no_wrap=True, style="bold")
    heads = ("in-\nputs", "pie-\nces", "com-\npon.", "He\net al.", "Her-\ntrich\net al.", "Theo-\nrem 2")
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("our\nneu-\nrons", justify="right", style="bold green", no_wrap=True)
    for head in ("depth", "max error\nseen\n(sampled)", "sec."):
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        p = row.example.function
        table.add_row(
            row.example.name,
            str(p.dim),
            str(p.num_pieces),
            str(p.num_components),
            *(_power(bound) for bound in (row.he, row.hertrich, row.theorem2)),
            f"{row.sizes.neurons:,}" if row.failure is None else Text("none", style="bold red"),
            str(row.sizes.depth) if row.failure is None else "",
            _error(row.max_error) if row.failure is None else _wrong(row),
            f"{row.seconds:.2f}",
        )
    return table


def _export(row: Row, folder: Path) -> Row:
    law = folder / f"{row.example.slug}.json"
    save(row.example.function, law, note=row.example.about)
    if row.failure is not None:
        return replace(row, files=(law,))
    network = folder / f"{row.example.slug}.onnx"
    to_onnx(row.network, network)
    return replace(row, files=(law, network))


def _power(count: int) -> str:
    base, exponent = power_of_ten(count)
    return f"{base}^{exponent}" if exponent else base


def _error(value: float) -> str:
    return f"{value:.0e}" if value else "0"


def _wrong(row: Row) -> Text:
    assert row.failure is not None
    return Text(f"wrong by {row.failure.amount:.4g}\nat {point_text(row.failure.point)}", style="bold red")
