"""Commands about files: ``cpwl convert`` and ``cpwl info``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpwl.cli.options import AsJson, Layout, load_any
from cpwl.cli.output import check_output, print_json

if TYPE_CHECKING:
    from cpwl.function import CPWL
    from cpwl.network import Network

__all__ = ["convert", "info"]

# ``cpwl info``: what a file holds; without a file, the kinds of files there are.


def info(
    source: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", readable=False, help="File with a function or a network.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe the content of a file. Without a file, list the supported formats."""
    if source is None:
        said = _kinds()
    else:
        from cpwl.cli.options import load_any
        from cpwl.io.endings import recognized

        held, door = load_any(source), recognized(source)
        said = {"input": str(source), **({} if door is None else {"file": door.what}), **summary(held)}
    if as_json:
        print_json(said)
    else:
        for name, value in said.items():
            print(f"{name}: {_plain(value)}")


def summary(held: CPWL | Network) -> dict[str, Any]:
    """Kind, sizes and how exact the numbers are."""
    from cpwl.network import Network

    if isinstance(held, Network):
        sizes = held.sizes
        return {
            "kind": "network",
            "inputs": held.inputs,
            "outputs": held.outputs,
            "layers": sizes.depth,
            "neurons": sizes.neurons,
            "width": sizes.width,
            "nonzeros": sizes.nonzeros,
            "numbers": "floats" if held.exact is None else "rationals",
        }
    return {
        "kind": "function",
        "inputs": held.dim,
        "outputs": held.outputs,
        "pieces": held.num_pieces,
        "components": held.num_components,
        "numbers": "exact" if held.tol == 0 else f"floats, within {held.tol:g}",
        "table": held.mesh is not None,
    }


def _kinds() -> dict[str, Any]:
    from cpwl.io.endings import doors

    tables = {"read": doors("read"), "written": doors("written")}
    return {verb: {door.ending: door.what for door in found} for verb, found in tables.items()}


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "".join(f"\n  {name}: {what}" for name, what in value.items())
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", readable=False, help="File with a function or a network.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", readable=False, help="Output file; its ending selects the format.")
    ],
    layout: Layout = None,
    as_json: AsJson = False,
) -> None:
    """Convert a file to another format; `cpwl info` lists the formats."""
    from cpwl.io.endings import write, writer_of

    door = writer_of(output)
    check_output(output, source, hint="'OUT'")
    held = load_any(source, layout)
    write(held, output)
    if as_json:
        print_json({"input": str(source), "output": str(output), "kind": door.what, "holds": repr(held)})
    else:
        print(f"{output}: {held!r}, as {door.what}")
