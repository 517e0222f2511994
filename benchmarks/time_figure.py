"""How long compiling, proving and checking the doctor's questions take, by the number of pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from matplotlib.figure import Figure

from bench_functions import delaunay, grid, random_breakpoints
from cpwl.compiler import compile
from cpwl.function import CPWL
from cpwl.progress import Progress
from cpwl.proofs.certify import certify
from cpwl.regions.extract import extract
from paper_style import logarithmic, row_of_panels

__all__ = ["Time", "figure_of_times", "measure_times"]

TITLE = "Processor seconds against pieces"
FOOTNOTE = (
    "Measured here, once each. doctor: is it a continuous function? compile: plan all constructions, build the best. "
    "certify: prove and check. extract: find the network's regions again."
)
FAMILIES: dict[str, tuple[Callable[[int], CPWL], tuple[int, ...]]] = {
    "breakpoints on a line": (lambda size: random_breakpoints(size, 0), (10, 30, 100, 300)),
    "random triangles": (lambda size: delaunay(2, size, 0), (4, 10, 30)),
    "grids in the plane": (lambda size: grid(2, size, 0), (2, 4, 8)),
    "random tetrahedra": (lambda size: delaunay(3, size, 0), (2, 5)),
}
LOOK = {
    "doctor": ("#009E73", "D"),
    "compile": ("#0072B2", "o"),
    "certify": ("#D55E00", "^"),
    "extract": ("#CC79A7", "v"),
}
_EXTRACT = 100  # neurons up to which regions are looked for: they grow faster than anything else


@dataclass(frozen=True, slots=True)
class Time:
    """What a step took for a function of a family with `q` pieces."""

    family: str
    q: int
    step: str
    seconds: float


def measure_times(
    families: dict[str, tuple[Callable[[int], CPWL], tuple[int, ...]]] | None = None,
    *,
    progress: Progress | None = None,
) -> list[Time]:
    """Run every step once for each function of each family."""
    shown = FAMILIES if families is None else families
    work = [(name, make, size) for name, (make, sizes) in shown.items() for size in sizes]
    found = []
    for done, (name, make, size) in enumerate(work):
        if progress is not None:
            progress(done, len(work), f"{name}, {size}")
        found += [Time(name, q, step, seconds) for q, step, seconds in _steps(make(size))]
    return found


def _steps(p: CPWL) -> list[tuple[int, str, float]]:
    rows = []

    def timed(step: str, run: Callable[[], Any]) -> Any:
        start = process_time()
        result = run()
        rows.append((p.num_pieces, step, process_time() - start))
        return result

    timed("doctor", p.doctor)
    network = timed("compile", lambda: compile(p)).network
    timed("certify", lambda: certify(p, network))
    if network.sizes.neurons <= _EXTRACT:
        timed("extract", lambda: extract(network, max_regions=20_000))
    return rows


def figure_of_times(path: str | Path, rows: list[Time] | None = None, *, progress: Progress | None = None) -> Figure:
    """Draw seconds against pieces into `path` (.png, .svg or .pdf), one panel for each family."""
    rows = measure_times(progress=progress) if rows is None else rows
    families = list(dict.fromkeys(row.family for row in rows))
    with row_of_panels(TITLE, FOOTNOTE, len(families), path, sharey=True) as (figure, panels):
        for axes, family in zip(panels, families, strict=True):
            logarithmic(axes, family, "pieces $q$")
            for step, (colour, marker) in LOOK.items():
                line = [(row.q, max(row.seconds, 1e-4)) for row in rows if (row.family, row.step) == (family, step)]
                if line:
                    axes.plot(*zip(*line, strict=True), color=colour, marker=marker, label=step)
        panels[0].set_ylabel("seconds")
        panels[0].legend(loc="upper left")
    return figure
