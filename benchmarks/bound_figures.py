"""The paper's Figures 1 and 2: its bounds on the number of hidden neurons beside those known before.

Every value is computed by `cpwl.bounds`. The colour says whose bound a curve is; marker and shade say for how
many inputs `n`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from cpwl import bounds
from cpwl.doors import check_path
from cpwl.errors import InputError
from cpwl.files import write_bytes

__all__ = ["check_suffix", "figure1", "figure2"]

INK, GRID = "#333333", "#e4e4e4"
# One hue a bound, lighter with growing n: blue for the paper, orange and purple for those before it.
SHADES = {
    "ours": {1: "#08519c", 2: "#2171b5", 3: "#4292c6", 10: "#7fb2da"},
    "hertrich": {1: "#a63603", 2: "#d95f0e", 3: "#f0882f", 10: "#f7ad5e"},
    "he": {1: "#54278f", 2: "#756bb1", 3: "#9a8fc7", 10: "#b9aedd"},
}
MARKERS = {1: "o", 2: "s", 3: "D", 10: "^"}
STYLE = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.titlesize": 11,
    "figure.dpi": 100,
    "font.size": 10,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markeredgecolor": "white",
    "lines.markeredgewidth": 0.6,
    "lines.markersize": 5.5,
    "savefig.dpi": 160,
    "svg.hashsalt": "cpwl",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
ZERO = "Theorems 1 and 3 give 0 neurons at one piece or one linear component, below any logarithmic axis."
# What would make two runs differ: dates, and the version of the drawing library.
METADATA: dict[str, dict[str, None]] = {
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
}
# Higher than any axis, and still a float.
HIGHEST = 10**300


@dataclass(frozen=True, slots=True)
class Curve:
    """A bound as a function of its panel's variable; its label stands at `label_at` or in a legend."""

    label: str
    hue: str
    n: int
    neurons: Callable[[int], int]
    label_at: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes: the variable runs from 1 to `last`, the neurons from 1 to ``10^top``."""

    title: str
    variable: str
    last: int
    top: int
    curves: tuple[Curve, ...]


def figure1(path: str | Path) -> Figure:
    """Draw Figure 1 into `path` (.png, .svg or .pdf): the bounds by pieces and by linear components.

    Left Theorem 1, right Theorem 3, each with Hertrich et al. 2021 and with He et al. 2020, which takes
    ``k = q`` on the left and ``q = k!`` on the right.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [len(axes.lines) for axes in figure1(Path(folder) / "figure1.svg").axes]
    [4, 5]
    """
    title = "Figure 1.  Hidden neurons that suffice for any piecewise-linear function of $n$ inputs"
    footnote = f"He et al. with k = q on the left and q = k! on the right.  {ZERO}"
    return _draw(title, footnote, (_by_pieces(), _by_components()), path)


def figure2(path: str | Path) -> Figure:
    """Draw Figure 2 into `path` (.png, .svg or .pdf): how the bounds by linear components grow with `n`.

    Theorem 3, Hertrich et al. 2021, and He et al. 2020 at ``q = k!``, each for 1, 2, 3 and 10 inputs.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [len(axes.lines) for axes in figure2(Path(folder) / "figure2.svg").axes]
    [4, 4, 4]
    """
    title = "Figure 2.  Hidden neurons that suffice for $k$ linear components, by the number $n$ of inputs"
    families: tuple[tuple[str, str, Callable[[int, int], int]], ...] = (
        ("Theorem 3", "ours", lambda n, k: bounds.theorem3(n, k).neurons),
        ("Hertrich et al. 2021", "hertrich", bounds.hertrich2021),
        ("He et al. 2020", "he", lambda n, k: bounds.he2020(n, k, math.factorial(k))),
    )
    panels = tuple(
        Panel(name, "linear components $k$", 10, 18, tuple(_family(hue, neurons))) for name, hue, neurons in families
    )
    return _draw(title, f"He et al. with q = k!.  {ZERO}", panels, path)


def _by_pieces() -> Panel:
    curves = (
        Curve("Theorem 1, any $n$", "ours", 1, lambda q: bounds.theorem1(q).neurons, (20, 2e2)),
        Curve("Hertrich et al., $n = 1$", "hertrich", 1, partial(bounds.hertrich2021, 1), (20, 2.5e9)),
        Curve("Hertrich et al., $n = 2$", "hertrich", 2, partial(bounds.hertrich2021, 2), (12.1, 1.5e15)),
        Curve("He et al., $n = 1$", "he", 1, lambda q: bounds.he2020(1, q, q), (1.75, 1.5e16)),
    )
    return Panel("By number of pieces", "pieces $q$", 20, 17, curves)


def _by_components() -> Panel:
    curves = (
        Curve("Theorem 3, $n = 1$", "ours", 1, lambda k: bounds.theorem3(1, k).neurons, (20, 1.8e3)),
        Curve("Theorem 3, $n = 2$", "ours", 2, lambda k: bounds.theorem3(2, k).neurons, (20, 1.1e5)),
        Curve("Hertrich et al., $n = 1$", "hertrich", 1, partial(bounds.hertrich2021, 1), (20, 1e9)),
        Curve("Hertrich et al., $n = 2$", "hertrich", 2, partial(bounds.hertrich2021, 2), (6.2, 1.6e11)),
        Curve("He et al., $n = 1$", "he", 1, lambda k: bounds.he2020(1, k, math.factorial(k)), (3.5, 1.3e7)),
    )
    return Panel("By number of linear components", "linear components $k$", 20, 12, curves)


def _family(hue: str, neurons: Callable[[int, int], int]) -> Iterator[Curve]:
    for n in MARKERS:
        yield Curve(f"$n = {n}$", hue, n, partial(neurons, n))


def _points(curve: Curve, panel: Panel) -> tuple[list[int], list[float]]:
    """The points to draw: those above 0, up to the first beyond the top, whose segment leaves the panel."""
    x, y = [], []
    for v in range(1, panel.last + 1):
        value = curve.neurons(v)
        if value > 0:
            x.append(v)
            y.append(float(min(value, HIGHEST)))
        if value > 10**panel.top:
            break
    return x, y


def check_suffix(path: str | Path) -> str:
    """The ending of the file's name, which says in what format to draw."""
    check_path(path, "a figure")
    suffix = Path(path).suffix.lower()
    if suffix not in METADATA:
        message = f"cannot draw `{Path(path).name}`; its name must end in .pdf, .png or .svg"
        raise InputError(message, path=str(path))
    return suffix


def _draw(title: str, footnote: str, panels: tuple[Panel, ...], path: str | Path) -> Figure:
    suffix = check_suffix(path)
    with style.context(["default", STYLE]):
        figure = Figure(figsize=(4.2 + 3.0 * len(panels), 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
        figure.supxlabel(footnote, x=0.01, ha="left", fontsize=8.5, color="#777777")
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            _draw_panel(axes, panel)
        figure.axes[0].set_ylabel("hidden neurons")
        drawn = BytesIO()
        figure.savefig(drawn, format=suffix[1:], metadata=METADATA[suffix])
    write_bytes(path, drawn.getvalue())
    return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title)
    axes.set_xlabel(panel.variable)
    axes.set_yscale("log")
    axes.set_xlim(0.6, panel.last + 0.4)
    axes.set_ylim(1, 10**panel.top)
    axes.set_xticks([1, 5, 10, 15, 20] if panel.last == 20 else range(1, panel.last + 1))
    axes.yaxis.set_major_locator(LogLocator(base=1000))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for depth, curve in enumerate(panel.curves):
        colour = SHADES[curve.hue][curve.n]
        x, y = _points(curve, panel)
        axes.plot(x, y, color=colour, marker=MARKERS[curve.n], label=curve.label, zorder=9 - depth)
        if curve.label_at is not None:
            side = "right" if curve.label_at[0] == panel.last else "left"
            paper = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axes.text(*curve.label_at, curve.label, color=colour, ha=side, va="center", bbox=paper, zorder=2)
    if all(curve.label_at is None for curve in panel.curves):
        axes.legend(loc="upper left" if panel.curves[0].hue == "ours" else "lower right", reverse=True)
