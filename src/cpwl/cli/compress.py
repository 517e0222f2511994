"""``cpwl compress``: a smaller network that is proved equal."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpwl.cli.box import box_domain
from cpwl.cli.equal import summary
from cpwl.cli.neurons import MaxNeurons, check_neurons
from cpwl.cli.output import check_output, print_json
from cpwl.cli.progress import progress_bar
from cpwl.cli.source import load_network
from cpwl.cli.workers import Dask, Workers, executor_of

if TYPE_CHECKING:
    from cpwl.compressor import Compressed
    from cpwl.equality import Verdict
    from cpwl.network import Sizes

__all__ = ["compress"]


def compress(
    source: Annotated[Path, typer.Argument(metavar="IN", readable=False, help="The network: .onnx or .json.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", readable=False, help="OUT.onnx, or OUT.json (exact).")
    ],
    box: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LO HI", help="Keep it equal where all coordinates are in [LO, HI]."),
    ] = None,
    max_regions: Annotated[
        int, typer.Option(min=1, help="Take the network apart only if it has at most so many linear regions.")
    ] = 2_000,
    max_neurons: MaxNeurons = None,
    workers: Workers = 1,
    dask: Dask = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a smaller network that is proved equal to the one given, or that one if none is found."""
    suffix = output.suffix.lower()
    if suffix not in (".onnx", ".json"):
        raise typer.BadParameter(f"`{output}` must end in .onnx or .json.", param_hint="'--output' / '-o'")
    check_output(output, source)
    from cpwl.compressor import compress as shrink
    from cpwl.equality import equal

    network = load_network(source)
    domain = box_domain(box, network.inputs)
    with progress_bar() as progress, executor_of(workers, dask) as executor:
        found = shrink(network, domain=domain, max_regions=max_regions, executor=executor, progress=progress)
        check_neurons(found.after.neurons, max_neurons)
        _write(found, output)
        # What was written is rounded to float64: the proof is about that file, too, or says how far it is off.
        written = equal(network, load_network(output), domain=domain, executor=executor, progress=progress)
    if as_json:
        sizes = {"before": asdict(found.before), "after": asdict(found.after)}
        proofs = {"proof": summary(found.verdict), "written": summary(written)}
        print_json({"input": str(source), "output": str(output), "method": found.method, **sizes, **proofs})
    else:
        _print(found, written, source, output)


def _write(found: Compressed, output: Path) -> None:
    if output.suffix.lower() == ".json":
        from cpwl.formats.json import save

        save(found.network, output)
    else:
        from cpwl.formats.onnx.write import to_onnx

        to_onnx(found.network, output)


def _print(found: Compressed, written: Verdict, source: Path, output: Path) -> None:
    print(f"{source}: {_counts(found.before)}")
    if found.method == "unchanged":
        print(f"{output}: the same network; no smaller one was found")
        return
    print(f"{output}: {_counts(found.after)} ({found.method})")
    print(f"proved equal: {found.verdict.reason}")
    if not written.equal:
        print(f"as written, rounded to float64: {_rounding(written.gap)}")


def _counts(sizes: Sizes) -> str:
    return f"{sizes.neurons:,} neurons, {sizes.depth} layers, {sizes.nonzeros:,} nonzero weights"


def _rounding(gap: Any) -> str:
    if gap is None:
        return "how far that is off was not computed"
    if gap == math.inf:
        return "differs without bound far out; --box gives the largest difference on a box"
    return f"differs by at most {float(gap):.3g}"
