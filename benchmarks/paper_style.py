"""Figures as for a paper: one row of panels under a title, a line of small print below, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from bound_figures import GRID, METADATA, STYLE, check_suffix
from cpwl.files import write_bytes

__all__ = ["LOOKS", "OTHER", "logarithmic", "row_of_panels"]

# One look for each construction and bound in all of our figures: colours that colour-blind readers tell apart
# (Okabe and Ito), and a marker each for those who print in grey.
LOOKS: dict[str, tuple[str, str]] = {
    "hinge": ("#000000", "s"),
    "univariate": ("#56B4E9", "o"),
    "gates": ("#0072B2", "o"),
    "columns": ("#009E73", "D"),
    "clamped": ("#CC79A7", "v"),
    "strips": ("#D55E00", "^"),
    "lattice": ("#E69F00", "P"),
    "windows": ("#7F3C8D", "*"),
    "paper": ("#888888", "X"),
}
OTHER = ("#666666", "h")
"""The look of what has none of its own yet."""


@contextmanager
def row_of_panels(
    title: str, footnote: str, count: int, path: str | Path, **options: Any
) -> Iterator[tuple[Figure, Sequence[Axes]]]:
    """A figure with so many panels beside each other, which is written to `path` at the end."""
    suffix = check_suffix(path)
    with style.context(["default", STYLE]):
        figure = Figure(figsize=(4.2 + 3.0 * count, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
        figure.supxlabel(footnote, x=0.01, ha="left", fontsize=8.5, color="#777777")
        yield figure, figure.subplots(1, count, squeeze=False, **options)[0]
        drawn = BytesIO()
        figure.savefig(drawn, format=suffix[1:], metadata=METADATA[suffix])
    write_bytes(path, drawn.getvalue())


def logarithmic(axes: Axes, title: str, x: str) -> None:
    """Both axes logarithmic, with a quiet grid."""
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0), numticks=12))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    axes.yaxis.set_major_locator(LogLocator(base=10, numticks=12))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
