"""Commands that write programs for solvers: ``cpwl milp`` and ``cpwl vnnlib``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cpwl.cli.options import AsJson, Dtype, MaxNeurons, box_domain, box_of, within_neurons
from cpwl.cli.output import check_output, print_json
from cpwl.errors import counted

__all__ = ["milp", "vnnlib"]

# ``cpwl vnnlib``: verification queries about a network, with their answers.


def vnnlib(
    source: Annotated[Path, typer.Argument(metavar="IN", readable=False, help="File with a function or a network.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", readable=False, help="Output folder, new or empty.")
    ],
    box: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LO HI", help="Bounds of all inputs, or one pair LO,HI for each. Networks need them."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="OTHER", readable=False, help="Write queries about the difference to this function or network."
        ),
    ] = None,
    dtype: Annotated[Dtype, typer.Option(help="Type of the weights in the ONNX file.")] = "float32",
    margin: Annotated[
        float, typer.Option(help="Distance of a query from the extreme value, relative to the size of the output.")
    ] = 1e-3,
    timeout: Annotated[int, typer.Option(min=1, help="Timeout in seconds of each instance, for instances.csv.")] = 60,
    max_regions: Annotated[int, typer.Option(min=1, help="Stop after this many linear regions.")] = 100_000,
    max_neurons: MaxNeurons = None,
    as_json: AsJson = False,
) -> None:
    """Write a verification benchmark with known answers: instances.csv, ONNX and VNN-LIB files, ground_truth.json."""
    from cpwl.cli.options import load_any
    from cpwl.io.vnnlib import check_new_folder, to_vnnlib

    check_new_folder(output)
    held = load_any(source)
    made = to_vnnlib(
        within_neurons(held, max_neurons),
        output,
        box=box_of(box, held.inputs),
        against=None if against is None else within_neurons(load_any(against), max_neurons),
        dtype=dtype,
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
        print(f"{output}: {counted(len(made.queries), 'instance')}")


def milp(
    source: Annotated[Path, typer.Argument(metavar="IN", readable=False, help="File with a function or a network.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="OUT", readable=False, help="OUT.lp, OUT.mps, or OUT.onnx with bounds for OMLT."
        ),
    ],
    box: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LO HI", help="Bounds of all inputs, or one pair LO,HI for each. Networks need them."),
    ] = None,
    max_regions: Annotated[
        int,
        typer.Option(
            min=1, help="Compute exact neuron ranges up to this many linear regions; above it, proved outer bounds."
        ),
    ] = 5000,
    max_neurons: MaxNeurons = None,
    as_json: AsJson = False,
) -> None:
    """Write a mixed-integer program of a network, with exact neuron ranges as big-M constants."""
    endings = (".lp", ".mps", ".onnx")
    if output.suffix.lower() not in endings:
        raise typer.BadParameter(f"`{output}` must end in {', '.join(endings)}.", param_hint="'--output' / '-o'")
    check_output(output, source)
    if output.suffix.lower() == ".onnx":
        for what in ("bounds", "neurons"):
            check_output(Path(f"{output}.{what}.json"), source)
    from cpwl.cli.options import load_any
    from cpwl.io.milp import to_milp, to_omlt

    held = load_any(source)
    domain = box_domain(box, held.inputs)
    made = within_neurons(held, max_neurons)
    if output.suffix.lower() == ".onnx":
        bounds = to_omlt(made, output, domain=domain, max_regions=max_regions)
    else:
        bounds = to_milp(made, output, domain=domain, max_regions=max_regions).bounds
    if as_json:
        said = {"input": str(source), "output": str(output), "neurons": bounds.counts, "exact": bounds.exact}
        print_json({**said, "outputs": [[str(low), str(high)] for low, high in bounds.layers[-1]]})
    else:
        counts = ", ".join(f"{count} always {name}" for name, count in bounds.counts.items() if name != "open")
        print(f"{output}: {counts}, {bounds.counts['open']} with a binary; ranges of neurons are {bounds.how}")
