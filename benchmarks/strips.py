"""Strips: their neurons, and their predicted and measured errors in float64, without steps and with them.

Random points of the unit square with its corners, and even grids whose inner points are moved, with values N(0, 1)::

    python benchmarks/strips.py [V ..]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay

from cpwl import CPWL
from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import Plan
from cpwl.construct.strips.plan import lay_strips

Floats = NDArray[np.float64]
SEEDS = 2
POINTS = 20_000


def points_of(kind: str, count: int, rng: np.random.Generator) -> Floats:
    """`count` points, or as many as an even grid has."""
    if kind == "random":
        return np.concatenate([[[0, 0], [0, 1], [1, 0], [1, 1]], rng.random((count - 4, 2))])
    m = round(count**0.5)
    steps = np.linspace(0.0, 1.0, m)
    points = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    inner = ((points > 0) & (points < 1)).all(axis=1)
    points[inner] += rng.uniform(-0.35, 0.35, (inner.sum(), 2)) / (m - 1)
    return points


def row(kind: str, count: int, seed: int) -> tuple[float, ...]:
    """Triangles; neurons, predicted and measured error (relative to the range) without steps and with; CPU time."""
    rng = np.random.default_rng(seed)
    points = points_of(kind, count, rng)
    p = CPWL.from_simplices(points, Delaunay(points).simplices, rng.standard_normal(len(points)))
    analysis = Analysis(p)
    x = np.random.default_rng(0).random((POINTS, 2))
    truth = p(x)
    width, found, start = float(np.ptp(truth)), list[float](), time.process_time()
    for steps in (False, True):
        laid = lay_strips(analysis.exact, steps=steps)
        assert laid is not None
        made = Plan.of("strips", laid.network, analysis.sample.points)
        error = float(np.abs(laid.network(x) - truth).max()) / width
        found += [made.sizes.neurons, 2 * made.magnitude * 2.0**-53 / width, error]
    return p.num_pieces, *found, time.process_time() - start


def main() -> None:
    """Print the table."""
    counts = [int(v) for v in sys.argv[1:]] or [100, 300, 1000]
    print("points       V  triangles  neurons  predicted  measured  with steps  predicted  measured  CPU s")
    for kind in ("random", "grid"):
        for count in counts:
            each = np.array([row(kind, count, seed) for seed in range(SEEDS)])
            q, n, predicted, measured, more, better, seen, spent = each.mean(axis=0)
            print(
                f"{kind:6} {count:7,} {q:10.0f} {n:8.1f} {predicted:10.1e} {measured:9.1e}"
                f" {more:11.1f} {better:10.1e} {seen:9.1e} {spent:6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
