"""``cpwl convert``: from one kind of file to another, the function or the network in it unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpwl.cli.output import check_output, print_json
from cpwl.cli.source import Layout, load_any

__all__ = ["convert"]


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", readable=False, help="A function or a network.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", readable=False, help="Where it goes; its ending says how.")],
    layout: Layout = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write what a file holds as a file of another kind; `cpwl info` lists the kinds."""
    from cpwl.endings import write, writer_of

    door = writer_of(output)
    check_output(output, source, hint="'OUT'")
    held = load_any(source, layout)
    write(held, output)
    if as_json:
        print_json({"input": str(source), "output": str(output), "kind": door.what, "holds": repr(held)})
    else:
        print(f"{output}: {held!r}, as {door.what}")
