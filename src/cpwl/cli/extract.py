"""``cpwl extract``: the pieces of a network in a file."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpwl.cli.output import Code, check_output, print_json
from cpwl.cli.progress import progress_bar

if TYPE_CHECKING:
    from cpwl.function import CPWL
    from cpwl.network import Network

__all__ = ["extract"]


def extract(
    source: Annotated[Path, typer.Argument(metavar="MODEL", readable=False, help="The network: .onnx or .json.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT.json", readable=False, help="The pieces.")],
    max_regions: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many regions; the exit code is then 2.")
    ] = None,
    box: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LO HI", help="Only where every input is between these two numbers."),
    ] = None,
    merge: Annotated[bool, typer.Option("--merge", help="Unite regions of one law where the union is convex.")] = False,
    exact: Annotated[
        bool | None, typer.Option("--exact/--float", help="Write rationals, or floats.  [default: as the weights are]")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="PART.json", readable=False, help="Go on from what an earlier run found.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find every linear region of a ReLU network, with its affine map."""
    if output.suffix.lower() != ".json":
        raise typer.BadParameter(f"`{output}` must end in .json.", param_hint="'--output' / '-o'")
    if output.exists() and source.exists() and output.samefile(source):
        raise typer.BadParameter(f"`{output}` is the input, too.", param_hint="'--output' / '-o'")
    check_output(output)
    from cpwl.cli.network_file import load_network
    from cpwl.formats.json import save
    from cpwl.regions.extract import extract as extract_pieces

    network = load_network(source)
    known = None if resume is None else _load_pieces(resume)
    began = perf_counter()
    with progress_bar() as progress:
        p = extract_pieces(
            network,
            domain=_domain(box, network),
            merge=merge,
            max_regions=max_regions,
            exact=exact,
            resume=known,
            progress=progress,
        )
    seconds = perf_counter() - began
    save(p, output, note=None if p.complete else f"not complete: {p.num_pieces} regions of {source.name} and no more")
    _print(p, source, output, seconds, as_json)
    raise typer.Exit(Code.DONE if p.complete else Code.UNDECIDED)


def _load_pieces(path: Path) -> CPWL:
    from cpwl.errors import InputError
    from cpwl.formats.json import load
    from cpwl.function import CPWL

    p = load(path)
    if not isinstance(p, CPWL):
        raise InputError(f"{path} holds a network, not the pieces that an earlier run found", path=str(path))
    return p


def _domain(box: tuple[str, str] | None, network: Network) -> tuple[Any, Any] | None:
    """The box as rows: ``x_i <= hi`` and ``-x_i <= -lo``."""
    if box is None:
        return None
    from cpwl.errors import InputError
    from cpwl.exact.rational import fraction

    low, high = fraction(box[0]), fraction(box[1])
    if not low < high:
        raise InputError(f"the box from {box[0]} to {box[1]} has no interior")
    n = network.inputs
    unit = [[int(i == j) for j in range(n)] for i in range(n)]
    return [*unit, *([-v for v in row] for row in unit)], [high] * n + [-low] * n


def _print(p: CPWL, source: Path, output: Path, seconds: float, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "input": str(source),
                "output": str(output),
                "dim": p.dim,
                "outputs": p.outputs,
                "pieces": p.num_pieces,
                "components": p.num_components,
                "exact": p.tol == 0,
                "complete": bool(p.complete),
                "seconds": round(seconds, 6),
            }
        )
        return
    what = "all pieces found, every facet matched" if p.complete else "not complete; --resume goes on from here"
    print(f"{output}: {p.num_pieces:,} pieces, {p.num_components:,} laws in {seconds:.2f} s: {what}")
