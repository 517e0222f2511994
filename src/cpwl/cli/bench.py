"""``cpwl bench``: sizes and times of the constructions, measured side by side in one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cpwl.cli.output import check_output, print_table
from cpwl.cli.progress import progress_bar

__all__ = ["bench"]


def bench(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE.json", readable=False, help="Where the numbers go.")
    ] = Path("out/bench.json"),
    seeds: Annotated[int, typer.Option(min=1, help="Functions in each family.")] = 3,
    trials: Annotated[int, typer.Option(min=1, help="Functions for each run time of Algorithm 1.")] = 2,
) -> None:
    """Measure sizes by construction, and the run time of Algorithm 1 beside a naive program."""
    output.parent.mkdir(parents=True, exist_ok=True)
    check_output(output)
    from cpwl.formats.atomic import write_text
    from cpwl.show.bench import bench_table, measure_sizes
    from cpwl.show.run_times import measure_run_times, run_time_table

    with progress_bar() as progress:
        sizes = measure_sizes(seeds=seeds, progress=progress)
        times = measure_run_times(trials=trials, pieces=(8, 32), progress=progress)
    numbers = {"sizes": [row.to_dict() for row in sizes], "run_times": [row.to_dict() for row in times]}
    write_text(output, json.dumps(numbers, indent=1) + "\n")
    print_table(bench_table(sizes), "Hidden neurons. Algorithm 1 is counted by its exact formula, and tested.")
    print_table(run_time_table(times), "Run time of Algorithm 1, ours and a naive program.", f"numbers: {output}")
