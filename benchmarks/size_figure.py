"""How many neurons each construction and each bound takes, by the number of pieces, for one to four inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from bench_functions import delaunay, random_breakpoints
from cpwl.bounds import hertrich2021, theorem1
from cpwl.construct.analysis import Analysis
from cpwl.construct.lower_bounds import lower_bounds
from cpwl.construct.table import TABLE
from cpwl.errors import CpwlError
from cpwl.function import CPWL
from cpwl.progress import Progress
from paper_style import LOOKS, OTHER, logarithmic, row_of_panels

__all__ = ["Size", "figure_of_sizes", "measure_sizes"]

TITLE = "Hidden neurons against pieces: every construction and bound, random functions of $n$ inputs"
FOOTNOTE = (
    "Random breakpoints ($n = 1$), random interpolants on Delaunay simplices. Constructions as planned, exact sizes. "
    "Grey: what is published, and what is proved to be needed at least. Algorithm 1 (paper) is wrong on many of these."
)
POINTS = {1: (4, 8, 16, 32, 64, 128, 256), 2: (4, 8, 16, 32, 64), 3: (3, 6, 12, 24), 4: (2, 4, 8)}
"""Points inside the box (breakpoints where there is one input), for each number of inputs."""
_BOUNDS = {"Theorem 1": "--", "Hertrich et al.": ":", "lower bound": "-."}  # and how they are drawn
_MOST = {"lattice": 300, "paper": 300}  # pieces up to which those that decide pairs are planned


@dataclass(frozen=True, slots=True)
class Size:
    """Neurons for a function of `n` inputs and `q` pieces, by a construction or a bound."""

    n: int
    q: int
    name: str
    neurons: int


def measure_sizes(points: dict[int, tuple[int, ...]] = POINTS, *, progress: Progress | None = None) -> list[Size]:
    """Plan every construction for functions of growing size.

    >>> {size.name for size in measure_sizes({1: (3,)})} >= {"hinge", "univariate", "Theorem 1", "lower bound"}
    True
    """
    work = [(n, count) for n, counts in points.items() for count in counts]
    found: list[Size] = []
    for done, (n, count) in enumerate(work):
        if progress is not None:
            progress(done, len(work), f"{n} inputs, {count} points")
        found += _sizes(random_breakpoints(count, 0) if n == 1 else delaunay(n, count, 0))
    return found


def _sizes(p: CPWL) -> Iterator[Size]:
    analysis = Analysis(p)
    n, q = p.dim, p.num_pieces
    for name, construction in TABLE.items():
        if q > _MOST.get(name, q):
            continue
        try:
            neurons = construction.plan(analysis).sizes.neurons
        except CpwlError:  # it does not apply; Algorithm 1 is wrong
            continue
        yield Size(n, q, name, neurons)
    yield Size(n, q, "Theorem 1", theorem1(q).neurons)
    yield Size(n, q, "Hertrich et al.", hertrich2021(n, p.num_components))
    yield Size(n, q, "lower bound", max(b.neurons for b in lower_bounds(analysis)))


def figure_of_sizes(path: str | Path, sizes: list[Size] | None = None, *, progress: Progress | None = None) -> Figure:
    """Draw neurons against pieces into `path` (.png, .svg or .pdf), one panel for each number of inputs."""
    rows = measure_sizes(progress=progress) if sizes is None else sizes
    dims = sorted({row.n for row in rows})
    top = max(row.neurons for row in rows if row.name != "Hertrich et al.")  # which would leave any page
    with row_of_panels(TITLE, FOOTNOTE, len(dims), path) as (figure, panels):
        for axes, n in zip(panels, dims, strict=True):
            logarithmic(axes, f"$n = {n}$", "pieces $q$")
            here = [row for row in rows if row.n == n]
            for name in dict.fromkeys(row.name for row in here):
                line = [(row.q, row.neurons) for row in here if row.name == name and row.neurons > 0]
                if line:
                    axes.plot(*zip(*line, strict=True), **_look(name), label=name)
            axes.set_ylim(0.8, 10 ** math.ceil(math.log10(top) + 0.5))
        panels[0].set_ylabel("hidden neurons")
        _legend(figure)
    return figure


def _look(name: str) -> dict[str, Any]:
    if name in _BOUNDS:
        return {"color": "#777777", "linestyle": _BOUNDS[name]}
    colour, marker = LOOKS.get(name, OTHER)
    return {"color": colour, "marker": marker}


def _legend(figure: Figure) -> None:
    """One legend for all panels, each name once."""
    lines = {line.get_label(): line for axes in figure.axes for line in axes.lines}
    order = [name for name in (*TABLE, *_BOUNDS) if name in lines]
    figure.legend([lines[name] for name in order], order, loc="outside right upper")
