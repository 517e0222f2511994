"""Draws the run times of Algorithm 1: one panel for each number of inputs, colours as in Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from cpwl.show.bound_figures import GRID, SHADES
from cpwl.show.paper_style import row_of_panels
from cpwl.show.run_times import RunTime

__all__ = ["draw_run_times"]

TITLE = "Figure 5.  Seconds that Algorithm 1 takes for a random function of $n$ inputs and $q$ pieces"
FOOTNOTE = (
    "Means over random functions, measured here in one run; the paper's seconds are from its own machine. "
    "cpwl decides in rationals, the naive program in floats."
)
# What each curve is: label, colour, marker, line.
CURVES = {
    "naive": ("naive: one LP call a decision", SHADES["hertrich"][2], "s", "-"),
    "paper": ("as printed in the paper", SHADES["he"][2], "D", (0, (4, 2))),
    "ours": ("cpwl", SHADES["ours"][1], "o", "-"),
}


def draw_run_times(rows: Sequence[RunTime], path: str | Path) -> Figure:
    """Draw the rows into `path` (.png, .svg or .pdf), both axes logarithmic."""
    dims = sorted({row.n for row in rows})
    with row_of_panels(TITLE, FOOTNOTE, len(dims), path, sharey=True) as (figure, panels):
        for axes, n in zip(panels, dims, strict=True):
            _draw_panel(axes, n, [row for row in rows if row.n == n])
        panels[0].set_ylabel("seconds")
        panels[0].legend(loc="upper left")
    return figure


def _draw_panel(axes: Axes, n: int, rows: Sequence[RunTime]) -> None:
    axes.set_title(f"$n = {n}$ input{'s' if n > 1 else ''}")
    axes.set_xlabel("pieces $q$")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator([row.q for row in rows]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda q, _: f"{q:g}"))
    axes.yaxis.set_major_locator(LogLocator(base=10))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda s, _: f"{s:g}"))
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for name, (label, colour, marker, line) in CURVES.items():
        points = [(row.q, getattr(row, name)) for row in rows if getattr(row, name) is not None]
        if points:
            x, y = zip(*points, strict=True)
            axes.plot(x, y, color=colour, marker=marker, linestyle=line, label=label)
    axes.text(0.98, 0.03, _summary(rows[-1]), transform=axes.transAxes, ha="right", color=CURVES["ours"][1])


def _summary(row: RunTime) -> str:
    times, word = (row.ratio, "faster") if row.ratio >= 1 else (1 / row.ratio, "slower")
    return f"{row.q} pieces: {times:.2g} times {word} than naive"
