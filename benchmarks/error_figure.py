"""What float32 does to each construction, against its neurons: the front from which "auto" chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bench_functions import grid, triangles
from cpwl.compiler import compile
from cpwl.construct.table import TABLE
from cpwl.errors import CpwlError
from cpwl.function import CPWL
from cpwl.function.evaluate import sample
from cpwl.network import Network
from cpwl.network.network import evaluate
from cpwl.progress import Progress
from paper_style import LOOKS, OTHER, logarithmic, row_of_panels

__all__ = ["Error", "figure_of_errors", "front", "measure_errors"]

TITLE = 'Error in float32 against hidden neurons: what "auto" chooses from'
FOOTNOTE = (
    "Largest difference at some points of all pieces, relative to the range; weights and arithmetic in float32. "
    "Line: no other network is both smaller and more accurate. Ring: what is taken by default, within 1e-5."
)
FLOOR = 1e-9
"""Errors below are drawn here: a logarithmic axis has no 0."""


@dataclass(frozen=True, slots=True)
class Error:
    """A network for one of the functions: its construction, neurons, and how far it was off in float32."""

    function: str
    construction: str
    neurons: int
    error: float
    taken: bool


def measure_errors(functions: dict[str, CPWL] | None = None, *, progress: Progress | None = None) -> list[Error]:
    """Build every construction that applies, and evaluate it in float32 at points of all pieces."""
    shown = _functions() if functions is None else functions
    found = []
    for done, (title, p) in enumerate(shown.items()):
        if progress is not None:
            progress(done, len(shown), title)
        taken = compile(p, precision="float32").construction
        for name in TABLE:
            if name == "paper":  # wrong on most of these, and never near the front
                continue
            try:
                network = compile(p, construction=name, precision="float32", max_error=1e9).network  # type: ignore[arg-type]
            except CpwlError:
                continue
            found.append(Error(title, name, network.sizes.neurons, _error(p, network), name == taken))
    return found


def _functions() -> dict[str, CPWL]:
    """A random table, a regular one, and one in space."""
    return {
        "60 random triangles": triangles(60),
        "8 x 8 grid, 128 triangles": grid(2, 8, 0),
        "3 x 3 x 3 grid, 162 simplices": grid(3, 3, 0),
    }


def _error(p: CPWL, network: Network) -> float:
    cloud = sample(p)
    x: NDArray[Any] = cloud.points.astype(np.float32)
    off = np.abs(evaluate(network, x) - p(x.astype(np.float64)))
    return float(np.nanmax(off)) / cloud.range


def front(rows: Sequence[Error]) -> list[Error]:
    """Those for which no other is at least as good in both respects and better in one, the smallest first.

    >>> some = [Error("", "a", 5, 1e-3, False), Error("", "b", 9, 1e-6, False), Error("", "c", 9, 1e-2, False)]
    >>> [row.construction for row in front(some)]
    ['a', 'b']
    """
    best: list[Error] = []
    for row in sorted(rows, key=lambda row: (row.neurons, row.error)):
        if not best or row.error < best[-1].error:
            best.append(row)
    return best


def figure_of_errors(path: str | Path, rows: list[Error] | None = None, *, progress: Progress | None = None) -> Figure:
    """Draw errors against neurons into `path` (.png, .svg or .pdf), one panel for each function."""
    rows = measure_errors(progress=progress) if rows is None else rows
    titles = list(dict.fromkeys(row.function for row in rows))
    with row_of_panels(TITLE, FOOTNOTE, len(titles), path, sharey=True) as (_, panels):
        for axes, title in zip(panels, titles, strict=True):
            logarithmic(axes, title, "hidden neurons")
            here = [row for row in rows if row.function == title]
            line = front(here)
            axes.plot([row.neurons for row in line], [max(row.error, FLOOR) for row in line], color="#bbbbbb", zorder=1)
            for row in here:
                colour, marker = LOOKS.get(row.construction, OTHER)
                at = (row.neurons, max(row.error, FLOOR))
                axes.plot(*at, color=colour, marker=marker, linestyle="none", markersize=8, label=row.construction)
                axes.annotate(
                    row.construction, at, xytext=(8, 5), textcoords="offset points", fontsize=8.5, color=colour
                )
                if row.taken:
                    axes.plot(*at, marker="o", markersize=17, mfc="none", mec="#333333", mew=1.4, label="taken")
            axes.axhline(1e-5, color="#999999", linestyle=":", linewidth=1)
            axes.margins(x=0.25, y=0.1)
        panels[0].set_ylabel("error in float32, relative")
    return panels[0].figure  # type: ignore[return-value]
