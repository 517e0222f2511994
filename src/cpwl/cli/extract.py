"""``cpwl extract``: the pieces of a network in a file."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from cpwl.cli.output import Code, check_output, print_json
from cpwl.cli.progress import progress_bar
from cpwl.cli.workers import Dask, Workers, executor_of

if TYPE_CHECKING:
    from cpwl.function import CPWL

__all__ = ["extract"]


def extract(
    source: Annotated[Path, typer.Argument(metavar="MODEL", readable=False, help="The network: .onnx or .json.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", readable=False, help="OUT.json, or a folder for parts.")
    ],
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
    workers: Workers = 1,
    dask: Dask = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find every linear region of a ReLU network, with its affine map."""
    if not output.suffix:
        _extract_parts(source, output, box, exact, (merge, max_regions, resume), workers, dask, as_json)
        return
    if output.suffix.lower() != ".json":
        message = f"`{output}` must end in .json, or be a folder, without an ending, for parts."
        raise typer.BadParameter(message, param_hint="'--output' / '-o'")
    check_output(output, source)
    from cpwl.cli.source import load_network
    from cpwl.errors import CpwlWarning
    from cpwl.formats.json import save
    from cpwl.regions.extract import extract as extract_pieces

    network = load_network(source)
    known = None if resume is None else _load_pieces(resume)
    began = perf_counter()
    with progress_bar() as progress, executor_of(workers, dask) as executor:
        p = extract_pieces(
            network,
            box=box,
            merge=merge,
            max_regions=max_regions,
            exact=exact,
            resume=known,
            executor=executor,
            progress=progress,
        )
    seconds = perf_counter() - began
    held = 0 if p.complete else _pieces_in(output)
    if held > p.num_pieces:
        message = f"{output} holds {held:,} pieces, more than the {p.num_pieces:,} found here: it is left as it is"
        warnings.warn(message, CpwlWarning, stacklevel=1)
    else:
        note = None if p.complete else f"not complete: {p.num_pieces} regions of {source.name} and no more"
        save(p, output, note=note)
    _print(p, source, output, seconds, as_json, saved=held <= p.num_pieces)
    raise typer.Exit(Code.DONE if p.complete else Code.UNDECIDED)


def _extract_parts(
    source: Path,
    folder: Path,
    box: tuple[str, str] | None,
    exact: bool | None,
    not_for_parts: tuple[bool, int | None, Path | None],
    workers: int,
    dask: str | None,
    as_json: bool,
) -> None:
    """Every part as a file of its own; a search that was ended goes on when the command is given again."""
    for given, name in zip(not_for_parts, ("merge", "max-regions", "resume"), strict=True):
        if given:
            raise typer.BadParameter(f"a folder of parts has no --{name}.", param_hint=f"'--{name}'")
    from cpwl.cli.box import box_domain
    from cpwl.cli.source import load_network
    from cpwl.regions.tiles.parts import extract_parts

    network = load_network(source)
    began, parts, pieces, complete = perf_counter(), 0, 0, False
    with progress_bar() as progress, executor_of(workers, dask) as executor:
        found = extract_parts(
            network,
            domain=box_domain(box, network.inputs),
            exact=exact,
            checkpoint=folder,
            executor=executor,
            progress=progress,
        )
        try:
            for part in found:
                parts, pieces = parts + 1, pieces + part.num_pieces
            complete = True
        except KeyboardInterrupt:
            pass
    seconds = perf_counter() - began
    if as_json:
        numbers = {"parts": parts, "pieces": pieces, "complete": complete, "seconds": round(seconds, 6)}
        print_json({"input": str(source), "output": str(folder), **numbers})
    else:
        what = "all of them" if complete else "not complete; the same command goes on from here"
        print(f"{folder}: {pieces:,} pieces in {parts:,} parts in {seconds:.2f} s: {what}")
    raise typer.Exit(Code.DONE if complete else Code.UNDECIDED)


def _pieces_in(path: Path) -> int:
    """How many pieces of a function a file holds; 0 if it is not there or holds something else."""
    from cpwl.errors import CpwlError

    try:
        return _load_pieces(path).num_pieces if path.exists() else 0
    except CpwlError:
        return 0


def _load_pieces(path: Path) -> CPWL:
    from cpwl.errors import InputError
    from cpwl.formats.json import load
    from cpwl.function import CPWL

    p = load(path)
    if not isinstance(p, CPWL):
        raise InputError(f"{path} holds a network, not the pieces that an earlier run found", path=str(path))
    return p


def _print(p: CPWL, source: Path, output: Path, seconds: float, as_json: bool, *, saved: bool) -> None:
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
                "saved": saved,
                "seconds": round(seconds, 6),
            }
        )
        return
    if not saved:
        return
    what = "all pieces found, every facet matched" if p.complete else "not complete; --resume goes on from here"
    print(f"{output}: {p.num_pieces:,} pieces, {p.num_components:,} laws in {seconds:.2f} s: {what}")
