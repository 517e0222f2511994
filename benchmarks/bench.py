"""``python benchmarks/bench.py [TABLE]...``: sizes, speed and regions, measured side by side in one run.

Each table is one function in `TABLES`, from "as much time as it takes?" and a progress callback to a `BenchTable`.
Sizes are exact counts; times are for this machine, and only ratios and growth from one run mean anything.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from cpwl.errors import InputError
from cpwl.files import make_folder, write_text
from cpwl.progress import Progress

__all__ = ["REMARKS", "TABLES", "BenchTable", "main", "measure", "numbers"]

REMARKS = ("beside", "goal")
"""Columns of words, which may be broken into lines."""


@dataclass(frozen=True, slots=True)
class BenchTable:
    """A table of results: `rows` for machines, `cells` of the same rows for people."""

    name: str
    title: str
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    rows: tuple[dict[str, Any], ...]

    def rich(self) -> Table:
        """The table for a terminal: words on the left, numbers on the right, remarks last."""
        table = Table(box=SIMPLE_HEAD)
        for column in self.columns:
            words = column in (self.columns[0], *REMARKS)
            table.add_column(column, justify="left" if words else "right", no_wrap=column not in REMARKS)
        for cells in self.cells:
            table.add_row(*cells)
        return table


def _sizes(full: bool, cases: Path | None, progress: Progress | None) -> BenchTable:
    from bench_sizes import measure_sizes, size_table

    return size_table(measure_sizes(full=full, cases=cases, progress=progress))


def _speed(full: bool, _cases: Path | None, progress: Progress | None) -> BenchTable:
    from bench_speed import measure_speed, speed_table

    return speed_table(measure_speed(full=full, progress=progress))


def _regions(full: bool, _cases: Path | None, progress: Progress | None) -> BenchTable:
    from bench_regions import measure_regions, region_table

    return region_table(measure_regions(full=full, progress=progress))


# One function a table: a further one goes here, with a file of its own beside `bench_sizes` and `bench_speed`.
TABLES: dict[str, Callable[[bool, Path | None, Progress | None], BenchTable]] = {
    "sizes": _sizes,
    "speed": _speed,
    "regions": _regions,
}
"""What can be measured, by name."""


def measure(
    names: Iterable[str] = (), *, full: bool = False, cases: Path | None = None, progress: Progress | None = None
) -> list[BenchTable]:
    """The tables of the given names, all if there are none.

    `full` takes the sizes that matter and perhaps half an hour; otherwise smaller ones and about two minutes. `cases`
    is a folder of functions in files (``*.json``) that are measured too.

    >>> measure(["prices"])
    Traceback (most recent call last):
    cpwl.errors.InputError: there is no table "prices"; there are sizes, speed, regions
    """
    chosen = list(names) or list(TABLES)
    for name in chosen:
        if name not in TABLES:
            raise InputError(f'there is no table "{name}"; there are {", ".join(TABLES)}', table=name)
    return [TABLES[name](full, cases, progress) for name in chosen]


def numbers(tables: Iterable[BenchTable], full: bool) -> dict[str, Any]:
    """What goes into the JSON file."""
    return {"full": full, **{table.name: list(table.rows) for table in tables}}


def main(argv: list[str] | None = None) -> None:
    """Measure, print each table when it is done, and write all numbers; a run that is interrupted has written some."""
    parser = argparse.ArgumentParser(prog="bench.py", description="Measure sizes, speed and regions.")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{', '.join(TABLES)}; all if none is named")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/bench.json"), help="where the numbers go")
    parser.add_argument("--full", action="store_true", help="take the large sizes and perhaps half an hour")
    parser.add_argument("--cases", type=Path, metavar="FOLDER", help="functions (*.json) to measure too")
    given = parser.parse_args(argv)
    for name in given.tables:
        if name not in TABLES:
            parser.error(f"there is no table '{name}'; there are {', '.join(TABLES)}")
    make_folder(given.output.parent)
    # A table has many columns; where nothing says how wide the page is, it is wide.
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 160)
    found: list[BenchTable] = []
    chosen = given.tables or list(TABLES)
    for name in chosen:
        found += measure([name], full=given.full, cases=given.cases)
        complete = len(found) == len(chosen)
        write_text(given.output, json.dumps({**numbers(found, given.full), "complete": complete}, indent=1) + "\n")
        console.print(found[-1].rich())
        console.print(found[-1].title, markup=False, soft_wrap=True)
    console.print(f"numbers: {given.output}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
