"""``cpwl vnnlib``: verification queries about a network, with their answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cpwl.cli.box import box_domain
from cpwl.cli.compile import Dtype
from cpwl.cli.neurons import MaxNeurons, within_neurons
from cpwl.cli.output import print_json

__all__ = ["vnnlib"]


def vnnlib(
    source: Annotated[Path, typer.Argument(metavar="IN", readable=False, help="A function or a network.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", readable=False, help="A new folder, or an empty one.")
    ],
    box: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LO HI", help="Every input is between these two; a network needs it."),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="OTHER", readable=False, help="Ask whether the two differ, instead.")
    ] = None,
    dtype: Annotated[Dtype, typer.Option(help="The type of the ONNX file.")] = Dtype.float32,
    margin: Annotated[float, typer.Option(help="How near to the extreme value a query is, relative.")] = 1e-3,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds for each instance, for instances.csv.")] = 60,
    max_regions: Annotated[int, typer.Option(min=1, help="Give up beyond so many regions.")] = 100_000,
    max_neurons: MaxNeurons = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a benchmark whose answers are known: instances.csv, ONNX and VNN-LIB files, ground_truth.json."""
    from cpwl.cli.source import load_any
    from cpwl.targets.vnnlib import check_new_folder, to_vnnlib

    check_new_folder(output)
    box_domain(box, 1)  # numbers, the first below the second
    made = to_vnnlib(
        within_neurons(load_any(source), max_neurons),
        output,
        box=box,
        against=None if against is None else within_neurons(load_any(against), max_neurons),
        dtype=dtype.value,
        margin=margin,
        timeout=timeout,
        max_regions=max_regions,
    )
    if as_json:
        queries: list[dict[str, Any]] = [
            {"name": q.name, "answer": q.answer, "value": str(q.value)} for q in made.queries
        ]
        print_json({"input": str(source), "output": str(output), "queries": queries})
    else:
        for query in made.queries:
            print(f"{query.name}: {query.answer}: {query.about}")
        print(f"{output}: {len(made.queries)} instances")
