"""``cpwl bench``: sizes, speed and whatever else is measured, side by side in one run.

Each table is one function in `TABLES`, from "as much time as it takes?" and a progress callback to a `BenchTable`.
Sizes are exact counts; times are for this machine, and only ratios and growth from one run mean anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from cpwl.errors import InputError
from cpwl.progress import Progress

__all__ = ["REMARKS", "TABLES", "BenchTable", "measure", "numbers"]

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
    from cpwl.show.bench_sizes import measure_sizes, size_table

    return size_table(measure_sizes(full=full, cases=cases, progress=progress))


def _speed(full: bool, _cases: Path | None, progress: Progress | None) -> BenchTable:
    from cpwl.show.bench_speed import measure_speed, speed_table

    return speed_table(measure_speed(full=full, progress=progress))


def _regions(full: bool, _cases: Path | None, progress: Progress | None) -> BenchTable:
    from cpwl.show.bench_regions import measure_regions, region_table

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
