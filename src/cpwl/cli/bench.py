"""``cpwl bench``: sizes and times of the constructions, measured side by side in one run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from cpwl.cli.limits import BeyondLimit
from cpwl.cli.options import progress_bar
from cpwl.cli.output import Code, check_output

__all__ = ["bench"]


def bench(
    tables: Annotated[
        list[str] | None, typer.Argument(metavar="[TABLE]...", help="sizes, speed, ...; all if none is named.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE.json", readable=False, help="Where the numbers go.")
    ] = Path("out/bench.json"),
    full: Annotated[
        bool, typer.Option("--full/--quick", help="Take the large sizes and perhaps half an hour, or two minutes.")
    ] = False,
    cases: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", exists=True, file_okay=False, help="Functions (*.json) to measure too."),
    ] = None,
) -> None:
    """Measure sizes by construction beside Algorithm 1, and speed beside what one would do instead."""
    from cpwl.show.bench import TABLES

    for name in tables or ():
        if name not in TABLES:
            raise typer.BadParameter(f"there is no table '{name}'; there are {', '.join(TABLES)}.", param_hint="TABLE")
    output.parent.mkdir(parents=True, exist_ok=True)
    check_output(output)
    from rich.console import Console

    from cpwl.files import write_text
    from cpwl.show.bench import measure, numbers

    with progress_bar() as progress:
        found, complete = [], False
        try:
            for name in tables or TABLES:
                found += measure([name], full=full, cases=cases, progress=progress)
            complete = True
        except BeyondLimit:
            if not found:
                raise
    write_text(output, json.dumps({**numbers(found, full), "complete": complete}, indent=1) + "\n")
    # A table has many columns; where nothing says how wide the page is, it is wide.
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 160)
    for table in found:
        console.print(table.rich())
        console.print(table.title, markup=False, soft_wrap=True)
    what = "" if complete else f": not complete, {len(found)} of {len(tables or TABLES)} tables"
    console.print(f"numbers: {output}{what}", markup=False, soft_wrap=True)
    raise typer.Exit(Code.DONE if complete else Code.UNDECIDED)
