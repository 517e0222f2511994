"""``cpwl demo``: the bundled examples compiled and proved before your eyes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cpwl.cli.output import Code, print_table
from cpwl.cli.progress import progress_bar

__all__ = ["demo"]


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The directory for what is made.")
    ] = Path("out/demo"),
) -> None:
    """Compile and prove the bundled examples, and compare the networks with the published bounds."""
    from cpwl.show.demo import NOTES, REPORT, demo_table, failures, run_demo

    with progress_bar(delay=0.0) as progress:
        rows = run_demo(output, progress=progress)
    places = {
        "functions": "*.json",
        "networks": "*.onnx (float64), *.network.json (exact)",
        "proofs": "*.proof.json (of the ONNX files), *.exact.proof.json",
        "pages": "*.html (each to be explored)",
        "report": REPORT,
    }
    largest = max(rows, key=lambda row: row.sizes.neurons)
    print_table(
        demo_table(rows),
        "",
        "What Algorithm 1 gives where it is wrong:",
        *(f"  {line}" for line in failures(rows)),
        "",
        *NOTES,
        "",
        *(f"{what + ':':<11}{output / name}" for what, name in places.items()),
        "",
        "Check a proof again, with nothing but Python:",
        f"  cd {output}",
        f"  {largest.recheck}",
    )
    refused = [row for row in rows if not row.verdict.accepted]
    for row in refused:
        print(f"error: {row.files.proof}: {row.verdict.text}", file=sys.stderr)
    if refused:
        raise typer.Exit(Code.REFUTED)
