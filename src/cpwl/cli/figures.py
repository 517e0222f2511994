"""``cpwl figures``: the paper's figures, drawn from our own numbers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cpwl.cli.output import check_output, print_table
from cpwl.cli.progress import progress_bar

__all__ = ["figures"]

_ALL = (1, 2, 5)


class Format(StrEnum):
    """The formats of figures."""

    png = "png"
    svg = "svg"
    pdf = "pdf"


def _numbers(only: str) -> str:
    for part in only.split(","):
        if part.strip() not in map(str, _ALL):
            raise typer.BadParameter(f"'{part}' is not one of {', '.join(map(str, _ALL))}.")
    return only


def figures(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", readable=False, help="The directory.")
    ] = Path(),
    only: Annotated[str, typer.Option(callback=_numbers, metavar="NUMBERS", help="Which ones.")] = "1,2,5",
    format: Annotated[Format, typer.Option(help="The kind of files.")] = Format.png,
    trials: Annotated[int | None, typer.Option(min=1, help="Functions to measure for each point of Figure 5.")] = None,
) -> None:
    """Draw Figures 1, 2 (bounds) and 5 (run times, measured anew) of the paper."""
    numbers = sorted({int(part) for part in only.split(",")})
    if trials is not None and 5 not in numbers:
        raise typer.BadParameter("only Figure 5 is measured.", param_hint="'--trials'")
    _make_directory(output)
    paths = {number: output / f"figure{number}.{format.value}" for number in numbers}
    for path in paths.values():
        check_output(path)
    for number, path in paths.items():
        _draw(number, path, trials)
        print(path)


def _make_directory(path: Path) -> None:
    from cpwl.errors import InputError

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot make the directory `{path}`: {error.strerror}"
        raise InputError(message, path=str(path)) from error


def _draw(number: int, path: Path, trials: int | None) -> None:
    from cpwl.errors import LimitError

    try:
        from cpwl.show.bound_figures import figure1, figure2
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise LimitError("matplotlib is not installed; run `pip install 'cpwl[plot]'`") from error
    if number == 5:
        _measure(path, {} if trials is None else {"trials": trials})
    else:
        {1: figure1, 2: figure2}[number](path)


def _measure(path: Path, options: dict[str, int]) -> None:
    from cpwl.show.run_times import figure5, run_time_table

    with progress_bar() as progress:
        rows = figure5(path, progress=progress, **options)
    print_table(run_time_table(rows))
