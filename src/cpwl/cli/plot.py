"""``cpwl plot``: a picture of a function or a network."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cpwl.cli.output import check_output

__all__ = ["plot"]

_ENDINGS = (".svg", ".png", ".pdf")


class Kind(StrEnum):
    """How a function is drawn."""

    auto = "auto"
    map = "map"
    surface = "surface"


def plot(
    source: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="A function or a network.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", readable=False, help="The picture: .svg, .png or .pdf.")
    ],
    kind: Annotated[Kind, typer.Option(help="How a function of two or more inputs is drawn.")] = Kind.auto,
    box: Annotated[
        tuple[str, str] | None, typer.Option(metavar="LO HI", help="Draw where all coordinates are in [LO, HI].")
    ] = None,
) -> None:
    """Draw a function as a curve, a map of pieces or a surface, or a network with its neurons and weights."""
    from cpwl.cli.box import box_domain
    from cpwl.cli.source import load_any
    from cpwl.network import Network

    if output.suffix.lower() not in _ENDINGS:
        raise typer.BadParameter(f"`{output}` ends in none of {', '.join(_ENDINGS)}.", param_hint="'--output'")
    check_output(output, source)
    held = load_any(source)
    if isinstance(held, Network):
        if box is not None or kind is not Kind.auto:
            raise typer.BadParameter(
                f"{source} holds a network, which is drawn layer by layer; `cpwl extract` finds its pieces.",
                param_hint="'--box'" if box is not None else "'--kind'",
            )
        _save(held.plot, output)
    else:
        box_domain(box, held.dim)  # says what is wrong with it
        _save(lambda: held.plot(kind=kind.value, box=box), output)
    print(output)


def _save(draw: Callable[[], Any], output: Path) -> None:
    """Draw without a screen, and write the file whole or not at all."""
    from io import BytesIO

    from cpwl.errors import LimitError
    from cpwl.files import write_bytes

    try:
        import matplotlib
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise LimitError("matplotlib is not installed; run `pip install 'cpwl[plot]'`") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ending = output.suffix.lower()[1:]
    # No time and no random names: the same function gives the same file.
    with matplotlib.rc_context({"svg.hashsalt": "cpwl", "figure.max_open_warning": 0}):
        figure = draw().figure
        held = BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending)
        figure.savefig(held, format=ending, bbox_inches="tight", dpi=160, metadata=metadata)
        plt.close(figure)
    write_bytes(output, held.getvalue())
