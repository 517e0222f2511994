"""Linear regions of random networks: how many, and how fast they are found, with affine maps and adjacency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from bench import BenchTable
from cpwl.network import Network
from cpwl.progress import Progress
from cpwl.regions.extract import extract
from cpwl.regions.walk import walk

__all__ = ["Found", "gaussian_network", "measure_regions", "region_table"]

# Widths, the most cells to walk to (None: the whole complex), and what was wished for.
_FULL: tuple[tuple[tuple[int, ...], int | None, str], ...] = (
    ((2, 10, 10, 1), None, "0.05 s"),
    ((2, 32, 32, 1), None, "0.3 s"),
    ((4, 16, 16, 1), None, "5 s"),
    ((2, 64, 64, 64, 1), None, "10 s"),
    ((10, 8, 8, 1), None, "750 a second"),
    ((10, 8, 8, 1), 4000, "750 a second, walking"),
)
_QUICK: tuple[tuple[tuple[int, ...], int | None, str], ...] = (
    ((2, 10, 10, 1), None, "0.05 s"),
    ((2, 32, 32, 1), None, "0.3 s"),
    ((4, 8, 8, 1), None, ""),
    ((10, 8, 8, 1), 200, "750 a second, walking"),
)
_SOME = 2_000  # regions up to which they are found in rationals, too


@dataclass(frozen=True, slots=True)
class Found:
    """Regions of one network, all of R^n, and the seconds that they took."""

    network: str
    method: str
    regions: int
    complete: bool
    seconds: float
    goal: str
    exactly: float | None = None
    """Seconds with rows and laws in rationals; the others are floats, as the weights are."""


def gaussian_network(*widths: int, seed: int = 0) -> Network:
    """A network with standard normal weights and biases.

    >>> gaussian_network(2, 3, 1)
    Network(2 -> 3 -> 1)
    """
    rng = np.random.default_rng(seed)
    return Network([(rng.standard_normal((b, a)), rng.standard_normal(b)) for a, b in pairwise(widths)])


def measure_regions(*, full: bool = False, progress: Progress | None = None) -> list[Found]:
    """All rows; without `full` in a few seconds."""
    found = []
    work = _FULL if full else _QUICK
    extract(gaussian_network(2, 2, 1))  # what is only paid once
    for i, (widths, most, goal) in enumerate(work):
        name = "-".join(map(str, widths))
        if progress is not None:
            progress(i, len(work), name)
        network = gaussian_network(*widths)
        began = perf_counter()
        if most is None:
            p = extract(network)
            regions, complete = p.num_pieces, bool(p.complete)
        else:
            cells = walk(network, None, most=most)
            regions, complete = len(cells.signs), cells.complete
        seconds = perf_counter() - began
        exactly = None
        if most is None and regions <= _SOME:
            began = perf_counter()
            extract(network, exact=True)
            exactly = perf_counter() - began
        found.append(Found(name, "complex" if most is None else "walk", regions, complete, seconds, goal, exactly))
    return found


def region_table(rows: Sequence[Found]) -> BenchTable:
    """The rows for people."""
    columns = ("network", "method", "regions", "complete", "as floats, s", "a second", "exactly, s", "goal")
    cells = tuple(
        (
            row.network,
            row.method,
            f"{row.regions:,}",
            "yes" if row.complete else "no",
            f"{row.seconds:.3g}",
            f"{row.regions / row.seconds:,.0f}",
            "-" if row.exactly is None else f"{row.exactly:.3g}",
            row.goal,
        )
        for row in rows
    )
    title = "Linear regions of random networks on all of R^n, with affine maps and adjacency. Walks end early."
    dicts: tuple[dict[str, Any], ...] = tuple(asdict(row) for row in rows)
    return BenchTable("regions", title, columns, cells, dicts)
