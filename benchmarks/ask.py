"""How long questions and sums take against the number of pieces: ``python benchmarks/ask.py [pieces ...]``.

A table of random heights on a square grid, asked everything, and calculated with: added to a second grid that is moved
by a third of a cell, and so on. Seconds of processor time, and for each step from one size to the next the exponent `e`
in ``time ~ pieces^e``: 1 is linear.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import pairwise
from time import process_time

import numpy as np

import cpwl
from cpwl import CPWL


def table(cells: int, seed: int, shift: int = 0) -> CPWL:
    """Heights at the corners of a grid of so many cells a side, two triangles each."""
    rng = np.random.default_rng(seed)
    axes = [3 * np.arange(cells + 1) + shift] * 2
    return CPWL.from_grid(axes, rng.integers(-50, 51, (cells + 1, cells + 1)))


def bowl(cells: int) -> CPWL:
    """A convex table: nothing ends the search for a bend the wrong way."""
    axis = np.arange(cells + 1) - cells // 2
    return CPWL.from_grid([axis, axis], axis[:, None] ** 2 + axis**2)


def questions(p: CPWL, q: CPWL, convex: CPWL) -> dict[str, Callable[[], object]]:
    """All of them, by name."""
    return {
        "range": lambda: p.range(),
        "lipschitz 2": lambda: p.lipschitz(2),
        "lipschitz inf": lambda: p.lipschitz("inf"),
        "is_convex": lambda: convex.is_convex(),
        "is_monotone": lambda: p.is_monotone(0),
        "depends_on": lambda: p.depends_on(0),
        "integral": lambda: p.integral(),
        "solve": lambda: p.solve("1/3"),
        "level_set": lambda: p.level_set("1/3").volume,
        "p + q": lambda: p + q,
        "maximum": lambda: cpwl.maximum(p, q),
        "abs": lambda: abs(p),
        "restrict": lambda: p.restrict(domain=([[1, 1]], [int(p.mesh.points.max())])),  # type: ignore[union-attr]
        "distance": lambda: p.distance(q),
    }


def main(sizes: list[int]) -> None:
    """One row for each question, one column for each size."""
    rows: dict[str, list[float]] = {}
    counts = []
    for size in sizes:
        cells = max(2, round(math.sqrt(size / 2)))
        p, q, convex = table(cells, 0), table(cells, 1, 1), bowl(cells)
        counts.append(p.num_pieces)
        for name, question in questions(p, q, convex).items():
            began = process_time()
            question()
            rows.setdefault(name, []).append(process_time() - began)
            print(f"{name}, {p.num_pieces} pieces: {rows[name][-1]:.2f} s", file=sys.stderr, flush=True)
    print("| question | " + " | ".join(f"{n:,} pieces" for n in counts) + " | exponents |")
    print("|---" * (len(counts) + 2) + "|")
    for name, times in rows.items():
        growth = zip(pairwise(times), pairwise(counts), strict=True)
        steps = [math.log(b / a) / math.log(m / n) for (a, b), (n, m) in growth]
        shown = [*(f"{t:.2f} s" for t in times), ", ".join(f"{e:.2f}" for e in steps)]
        print(f"| {name} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main([int(v) for v in sys.argv[1:]] or [1_000, 10_000, 100_000])
