"""Sizes and times side by side, from one run: what each construction costs on families of functions.

Algorithm 1's neurons are counted by the exact formula in the proof of Theorem 2, from rows that are computed here, and
its verdict is that of the row test. Times are for this machine, and only their ratios mean anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from scipy.spatial import Delaunay

from cpwl.compiler import compile
from cpwl.errors import ConstructionError
from cpwl.function import CPWL
from cpwl.function.shallow import random_shallow

__all__ = ["Measured", "bench_table", "measure_sizes"]

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """Means over seeds for one family: pieces, Algorithm 1's count and how often it is right, and ours."""

    family: str
    pieces: float
    algorithm1: float
    algorithm1_right: str
    neurons: dict[str, float]
    seconds: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The row for a JSON file."""
        return asdict(self)


def measure_sizes(*, seeds: int = 3, progress: Progress | None = None) -> list[Measured]:
    """Compiles every family with every construction that applies, `seeds` functions each."""
    families = list(_families())
    found = []
    for i, (name, make) in enumerate(families):
        if progress is not None:
            progress(i, len(families), name)
        found.append(_measure(name, [make(seed) for seed in range(seeds)]))
    return found


def bench_table(rows: list[Measured]) -> Table:
    """The rows for a terminal."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("functions (means)", no_wrap=True)
    names = sorted({name for row in rows for name in row.neurons})
    for head in ("pieces", "Algorithm 1", "right", *names):
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        cells = [f"{row.neurons[n]:,.0f}" if n in row.neurons else "-" for n in names]
        table.add_row(row.family, f"{row.pieces:,.0f}", f"{row.algorithm1:,.0f}", row.algorithm1_right, *cells)
    return table


def _measure(name: str, functions: list[CPWL]) -> Measured:
    neurons: dict[str, list[int]] = {}
    seconds: dict[str, list[float]] = {}
    counts, right = [], 0
    for p in functions:
        for construction in ("hinge", "gates", "lattice"):
            began = perf_counter()
            try:
                made = compile(p, construction=construction, check=False)
            except ConstructionError:
                continue
            seconds.setdefault(construction, []).append(perf_counter() - began)
            neurons.setdefault(construction, []).append(made.sizes.neurons)
            if construction == "lattice":
                counts.append(made.bounds["algorithm1"].neurons)
        right += _is_right(p)
    # A construction that applies to some functions of a family only has no mean.
    everywhere = {n for n, values in neurons.items() if len(values) == len(functions)}
    return Measured(
        name,
        mean(p.num_pieces for p in functions),
        mean(counts),
        f"{right}/{len(functions)}",
        {n: mean(neurons[n]) for n in sorted(everywhere)},
        {n: mean(seconds[n]) for n in sorted(everywhere)},
    )


def _is_right(p: CPWL) -> bool:
    try:
        compile(p, construction="paper")
    except ConstructionError:
        return False
    return True


def _families() -> Iterator[tuple[str, Callable[[int], CPWL]]]:
    yield "one hidden layer, 10-D", lambda seed: random_shallow(10, 5, seed)
    yield "Delaunay, box, 26 points", lambda seed: _delaunay(2, 22, seed)
    yield "Delaunay, box, 46 points", lambda seed: _delaunay(2, 42, seed)
    yield "8 x 8 grid", lambda seed: _grid(2, 8, seed)
    yield "Delaunay, 3-D, 27 points", lambda seed: _delaunay(3, 19, seed)
    yield "3 x 3 x 3 grid", lambda seed: _grid(3, 3, seed)


def _delaunay(n: int, points: int, seed: int) -> CPWL:
    """Random points in a box with its corners, values N(0, 1)."""
    rng = np.random.default_rng(seed)
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * n)).reshape(n, -1).T
    x = np.concatenate([rng.random((points, n)), corners])
    return CPWL.from_simplices(x, Delaunay(x).simplices, rng.standard_normal(len(x)))


def _grid(n: int, cells: int, seed: int) -> CPWL:
    values = np.random.default_rng(seed).standard_normal((cells + 1,) * n)
    return CPWL.from_grid([np.arange(cells + 1.0)] * n, values)
