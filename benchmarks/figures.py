"""``python benchmarks/figures.py``: the paper's Figures 1, 2 and 5, drawn from our own numbers, or figures of our own.

Our own are measured, too: sizes (neurons against pieces, by every construction and bound), errors (in float32, against
neurons) and times (against pieces).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from bound_figures import figure1, figure2
from cpwl.files import make_folder
from error_figure import figure_of_errors
from run_times import figure5, run_time_table
from size_figure import figure_of_sizes
from time_figure import figure_of_times

__all__ = ["main"]

PAPER = ("1", "2", "5")
OWN = ("sizes", "errors", "times")


def main(argv: list[str] | None = None) -> None:
    """Draw the figures that are named, and print where they are."""
    parser = argparse.ArgumentParser(prog="figures.py", description="Draw figures of the paper, or our own.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join((*PAPER, *OWN))}; 1, 2 and 5 if none is named"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("out/figures"), metavar="DIR", help="the folder")
    parser.add_argument("--format", choices=("png", "svg", "pdf"), default="png", help="the kind of files")
    parser.add_argument("--trials", type=int, default=5, help="functions to measure for each point of Figure 5")
    given = parser.parse_args(argv)
    for name in given.names:
        if name not in (*PAPER, *OWN):
            parser.error(f"'{name}' is not one of {', '.join((*PAPER, *OWN))}")
    make_folder(given.output)
    for name in given.names or PAPER:
        path = given.output / f"{'figure' if name in PAPER else ''}{name}.{given.format}"
        if name == "5":
            Console(highlight=False).print(run_time_table(figure5(path, trials=given.trials)))
        elif name in PAPER:
            {"1": figure1, "2": figure2}[name](path)
        else:
            {"sizes": figure_of_sizes, "errors": figure_of_errors, "times": figure_of_times}[name](path)
        print(path)


if __name__ == "__main__":
    main()
