"""Strips: where their neurons go, and their predicted and measured errors in float64.

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
from cpwl.construct.strips.plan import lay_strips
from cpwl.construct.strips.plan import plan as strips_plan

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
    """Triangles, neurons, knots, errors (relative to the range) and CPU time of a plan."""
    rng = np.random.default_rng(seed)
    points = points_of(kind, count, rng)
    p = CPWL.from_simplices(points, Delaunay(points).simplices, rng.standard_normal(len(points)))
    analysis = Analysis(p)
    x = np.random.default_rng(0).random((POINTS, 2))
    truth = p(x)
    start = time.process_time()
    made = strips_plan(analysis)
    network = made.build()
    spent = time.process_time() - start
    laid = lay_strips(analysis.exact)
    knots = len(laid.layers[0][1]) if laid is not None else 0
    width = float(np.ptp(truth))
    error = float(np.abs(network(x) - truth).max()) / width
    return p.num_pieces, network.sizes.neurons, knots, 2 * made.magnitude * 2.0**-53 / width, error, spent


def main() -> None:
    """Print the table."""
    counts = [int(v) for v in sys.argv[1:]] or [100, 300, 1000]
    print("points       V  triangles  neurons  a triangle  first layer  predicted  measured  CPU s")
    for kind in ("random", "grid"):
        for count in counts:
            each = np.array([row(kind, count, seed) for seed in range(SEEDS)])
            q, n, knots, predicted, measured, spent = each.mean(axis=0)
            print(
                f"{kind:6} {count:7,} {q:10.0f} {n:8.1f} {n / q:11.3f} {knots:12.1f}"
                f" {predicted:10.1e} {measured:9.1e} {spent:6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
