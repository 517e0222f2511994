"""The paper's Figure 5 measured anew: how long Algorithm 1 takes, ours beside a naive one.

The functions are the paper's: networks with one hidden layer and normal weights, `n` inputs and `q` pieces.
Ours decides every comparison in rationals, the naive program of `naive.py` in floats. The paper's own
seconds come from another machine: only those measured here, in one run, may be divided by each other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from rich.table import Table

from bound_figures import GRID, SHADES, check_suffix
from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import max_of_mins, rows_of
from cpwl.errors import InputError
from cpwl.function import CPWL
from cpwl.progress import Progress
from naive import naive
from paper_style import row_of_panels
from shallow import random_shallow

__all__ = [
    "CURVES",
    "RunTime",
    "draw_run_times",
    "figure5",
    "measure_run_times",
    "ordered",
    "run_time",
    "run_time_table",
]

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


@dataclass(frozen=True, slots=True)
class RunTime:
    """Mean seconds for functions of `n` inputs and `q` pieces; `paper` is None where it printed none.

    >>> RunTime(n=1, q=4, ours=0.002, naive=0.01, paper=0.009739432).ratio
    5.0
    """

    n: int
    q: int
    ours: float
    naive: float
    paper: float | None

    @property
    def ratio(self) -> float:
        """How many times as long as ours the naive program takes."""
        return self.naive / self.ours

    def to_dict(self) -> dict[str, float | None]:
        """The row for a JSON file."""
        seconds = {"ours_s": self.ours, "naive_s": self.naive, "paper_s": self.paper}
        return {"n": self.n, "q": self.q, **seconds, "naive_over_ours": self.ratio}


def measure_run_times(
    *,
    trials: int,
    dims: Sequence[int] = (1, 10, 100),
    pieces: Sequence[int] = (1, 2, 4, 8, 16, 32),
    progress: Progress | None = None,
) -> list[RunTime]:
    """Mean run times over `trials` random functions, one row for each number of inputs and of pieces.

    Making the functions is not timed. `progress` is called with ``(done, total, what)``.

    >>> [(row.n, row.q, row.paper) for row in measure_run_times(trials=1, dims=[10], pieces=[1, 2])]
    [(10, 1, 0.000912652), (10, 2, 0.007454562)]
    """
    if trials < 1:
        raise InputError(f"`trials` must be at least 1, not {trials}")
    widths = {(n, q): _width(n, q) for n in dims for q in pieces}
    printed = _printed()
    # The first call of a solver loads libraries; that is nobody's run time.
    run_time(random_shallow(1, 1, seed=0))
    rows: list[RunTime] = []
    total = len(widths) * trials
    for (n, q), width in widths.items():
        times = []
        for seed in range(trials):
            times.append(run_time(random_shallow(n, width, seed=seed)))
            if progress is not None:
                progress(len(rows) * trials + seed + 1, total, f"n = {n}, q = {q}")
        ours, theirs = (sum(column) / trials for column in zip(*times, strict=True))
        rows.append(RunTime(n, q, ours, theirs, printed.get((n, q))))
    return rows


def figure5(path: str | Path, *, trials: int = 5, progress: Progress | None = None) -> list[RunTime]:
    """Measure, and draw Figure 5 into `path` (.png, .svg or .pdf); returns what was measured."""
    check_suffix(path)
    rows = measure_run_times(trials=trials, progress=progress)
    draw_run_times(rows, path)
    return rows


def run_time_table(rows: Sequence[RunTime]) -> Table:
    """The run times as a table for a terminal."""
    table = Table(title="Run time of Algorithm 1 (seconds)", title_justify="left")
    for name in ("n", "q", "cpwl", "naive", "naive / cpwl", "paper (its machine)"):
        table.add_column(name, justify="right")
    for i, row in enumerate(rows):
        last = i + 1 == len(rows) or rows[i + 1].n != row.n
        seconds = ["-" if s is None else f"{s:.4f}" for s in (row.ours, row.naive, row.paper)]
        cells = [str(row.n), str(row.q), *seconds[:2], f"{row.ratio:.2g}", seconds[2]]
        table.add_row(*cells, end_section=last)
    return table


def _width(n: int, q: int) -> int:
    """The number of hidden neurons whose random function has `q` pieces."""
    width = q - 1 if n == 1 else q.bit_length() - 1
    if q < 1 or (n > 1 and (q != 2**width or width > n)):
        message = f"a random function of {n} inputs cannot have {q} pieces; take a power of 2 up to 2^n"
        raise InputError(message, n=n, q=q)
    return width


def run_time(p: CPWL) -> tuple[float, float]:
    """The seconds that ours and the naive program take for one function."""
    start = perf_counter()
    ordered(p)
    middle = perf_counter()
    naive(p)
    return middle - start, perf_counter() - middle


def ordered(p: CPWL) -> None:
    """Algorithm 1 as it is timed: the rows, and the network of them."""
    max_of_mins(p.components(0), rows_of(Analysis(p).orders[0]))


def _printed() -> dict[tuple[int, int], float]:
    """The seconds printed in the paper, by number of inputs and of pieces."""
    data = json.loads(Path(__file__).with_name("paper.json").read_text(encoding="utf-8"))
    return {(c["n"], int(q)): float(s) for c in data["run_times"] for q, s in c["coordinates"]}


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
