"""``cpwl milp``: a function or a network as a mixed-integer linear program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpwl.cli.box import box_domain
from cpwl.cli.neurons import MaxNeurons, within_neurons
from cpwl.cli.output import check_output, print_json

__all__ = ["milp"]


def milp(
    source: Annotated[Path, typer.Argument(metavar="IN", readable=False, help="A function or a network.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="OUT", readable=False, help="OUT.lp or OUT.mps; OUT.onnx with bounds for OMLT."
        ),
    ],
    box: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LO HI", help="Where every input is between these two; a network needs it."),
    ] = None,
    max_regions: Annotated[
        int, typer.Option(min=1, help="Beyond so many regions, ranges of neurons are proved, not exact.")
    ] = 5000,
    max_neurons: MaxNeurons = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a mixed-integer program of a network, with the exact range of every neuron as its constants."""
    endings = (".lp", ".mps", ".onnx")
    if output.suffix.lower() not in endings:
        raise typer.BadParameter(f"`{output}` must end in {', '.join(endings)}.", param_hint="'--output' / '-o'")
    check_output(output, source)
    if output.suffix.lower() == ".onnx":
        for what in ("bounds", "neurons"):
            check_output(Path(f"{output}.{what}.json"), source)
    from cpwl.cli.source import load_any
    from cpwl.targets.milp import to_milp, to_omlt

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
