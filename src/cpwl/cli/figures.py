"""``cpwl figures``: the paper's figures, drawn from our own numbers."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cpwl.cli.options import progress_bar
from cpwl.cli.output import check_output, print_table

__all__ = ["figures"]

_PAPER = ("1", "2", "5")
_OWN = ("sizes", "errors", "times")
_ALL = (*_PAPER, *_OWN)


class Format(StrEnum):
    """The formats of figures."""

    png = "png"
    svg = "svg"
    pdf = "pdf"


def _numbers(only: str) -> str:
    for part in only.split(","):
        if part.strip() not in (*_ALL, "all"):
            raise typer.BadParameter(f"'{part}' is not one of {', '.join(_ALL)}, all.")
    return only


def figures(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", readable=False, help="The directory.")
    ] = Path(),
    only: Annotated[str, typer.Option(callback=_numbers, metavar="NAMES", help="Which ones.")] = "1,2,5",
    format: Annotated[Format, typer.Option(help="The kind of files.")] = Format.png,
    trials: Annotated[int | None, typer.Option(min=1, help="Functions to measure for each point of Figure 5.")] = None,
) -> None:
    """Draw Figures 1, 2 (bounds) and 5 (run times, measured anew) of the paper, or our own.

    Our own are measured, too: sizes (neurons against pieces, by every construction and bound), errors (in float32,
    against neurons) and times (against pieces). "all" are all six.
    """
    asked = {part.strip() for part in only.split(",")}
    names = [name for name in _ALL if name in asked or "all" in asked]
    if trials is not None and "5" not in names:
        raise typer.BadParameter("only Figure 5 is measured.", param_hint="'--trials'")
    from cpwl.files import make_folder

    make_folder(output)
    paths = {name: output / f"{'figure' if name in _PAPER else ''}{name}.{format.value}" for name in names}
    for path in paths.values():
        check_output(path)
    for name, path in paths.items():
        _draw(name, path, trials)
        print(path)


def _draw(name: str, path: Path, trials: int | None) -> None:
    from cpwl.errors import LimitError

    try:
        from cpwl.show.bound_figures import figure1, figure2
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise LimitError("matplotlib is not installed; run `pip install 'cpwl[plot]'`") from error
    if name == "5":
        _measure(path, {} if trials is None else {"trials": trials})
    elif name in _OWN:
        _measure_own(name, path)
    else:
        {"1": figure1, "2": figure2}[name](path)


def _measure_own(name: str, path: Path) -> None:
    from cpwl.show.error_figure import figure_of_errors
    from cpwl.show.size_figure import figure_of_sizes
    from cpwl.show.time_figure import figure_of_times

    own: dict[str, Callable[..., object]]
    own = {"sizes": figure_of_sizes, "errors": figure_of_errors, "times": figure_of_times}
    with progress_bar() as progress:
        own[name](path, progress=progress)


def _measure(path: Path, options: dict[str, int]) -> None:
    from cpwl.show.run_times import figure5, run_time_table

    with progress_bar() as progress:
        rows = figure5(path, progress=progress, **options)
    print_table(run_time_table(rows))
