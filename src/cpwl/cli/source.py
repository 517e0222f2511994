"""What a file holds, whatever its kind: a function, a network, or either."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cpwl.errors import InputError

if TYPE_CHECKING:
    from cpwl.function import CPWL
    from cpwl.network import Network

__all__ = ["Layout", "load_any", "load_function", "load_network"]

Layout = Annotated[
    Literal["points", "matrix"] | None,
    typer.Option(help="How a CSV file is read: a point a line, or a matrix with its axes in the first column and row."),
]


def load_any(path: Path, layout: str | None = None) -> CPWL | Network:
    """The function or the network in a file, read by the ending of its name, or its content; else as JSON."""
    from cpwl.endings import read, recognized
    from cpwl.formats.json import load

    if recognized(path) is None and layout is None:
        return load(path)
    options: dict[str, Any] = {} if layout is None else {"layout": layout}
    return read(path, **options)


def load_network(path: Path) -> Network:
    """The network in a file, with the weights exactly as they stand there."""
    from cpwl.network import Network

    network = load_any(path)
    if not isinstance(network, Network):
        raise InputError(f"{path} holds a function, not a network", path=str(path))
    return network


def load_function(path: Path, otherwise: str, layout: str | None = None) -> CPWL:
    """The function in a file; if there is a network in it, `otherwise` ends the sentence that says so."""
    from cpwl.function import CPWL

    p = load_any(path, layout)
    if not isinstance(p, CPWL):
        raise InputError(f"{path} holds a network; {otherwise}", path=str(path))
    return p
