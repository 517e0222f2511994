"""``cpwl count``: how many linear regions a network has."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from cpwl.cli.output import Code, print_json
from cpwl.cli.progress import progress_bar
from cpwl.cli.workers import Dask, Workers, executor_of

__all__ = ["count"]


def count(
    source: Annotated[Path, typer.Argument(metavar="MODEL", readable=False, help="The network: .onnx or .json.")],
    cells: Annotated[bool, typer.Option("--cells", help="Only activation cells, in bounded memory.")] = False,
    box: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LO HI", help="Only where every input is between these two numbers."),
    ] = None,
    max_regions: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many regions; the exit code is then 2.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", readable=False, help="Note counts there, and go on from there (with --cells)."),
    ] = None,
    workers: Workers = 1,
    dask: Dask = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Count the linear regions of a ReLU network: cells, convex pieces, connected pieces, laws."""
    if checkpoint is not None and not cells:
        raise typer.BadParameter("counts of cells are noted: add --cells.", param_hint="'--checkpoint'")
    from cpwl.cli.box import box_domain
    from cpwl.cli.source import load_network
    from cpwl.regions.count import count_regions

    network = load_network(source)
    began = perf_counter()
    with progress_bar() as progress, executor_of(workers, dask) as executor:
        found = count_regions(
            network,
            domain=box_domain(box, network.inputs),
            only="cells" if cells else None,
            max_regions=max_regions,
            checkpoint=checkpoint,
            executor=executor,
            progress=progress,
        )
    seconds = perf_counter() - began
    if as_json:
        print_json({"input": str(source), **asdict(found), "seconds": round(seconds, 6)})
    else:
        names = {name: number for name, number in asdict(found).items() if name != "complete" and number is not None}
        what = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in names.items())
        print(f"{source}: {'' if found.complete else 'at least '}{what} in {seconds:.2f} s")
    raise typer.Exit(Code.DONE if found.complete else Code.UNDECIDED)
