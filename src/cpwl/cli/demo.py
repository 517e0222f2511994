"""``cpwl demo``: the bundled examples compiled before your eyes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpwl.cli.output import print_table
from cpwl.cli.progress import progress_bar

__all__ = ["demo"]


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The directory for what is made.")
    ] = Path("out/demo"),
) -> None:
    """Compile the bundled examples and compare the networks with the published bounds."""
    from cpwl.show.demo import NOTES, REPORT, demo_table, run_demo

    with progress_bar(delay=0.0) as progress:
        rows = run_demo(output, progress=progress)
    refused = [row.example.name for row in rows if row.failure is not None]
    lines = [""]
    lines += [f"{name}: Algorithm 1 is wrong there; its network is not written." for name in refused]
    lines += [*NOTES, ""]
    places = {"functions": "*.json", "networks": "*.onnx", "report": REPORT}
    lines += [f"{what + ':':<11}{output / name}" for what, name in places.items()]
    print_table(demo_table(rows), *lines)
