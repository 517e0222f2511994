"""How often is Algorithm 1 of the paper wrong? Random interpolants, every row decided exactly.

Each function interpolates normal values at random points, on their Delaunay triangulation. The algorithm has one row
for each simplex, and is wrong if a row exceeds the function anywhere. The error is the largest at 2,000 random points.
`python examples/failures.py 20` takes 20 functions for each line and some minutes; by default, two small ones.
"""

import sys

import numpy as np
from scipy.spatial import Delaunay

import cpwl
from cpwl.function.order import order_components


def interpolant(n: int, points: int, seed: int) -> cpwl.CPWL:
    rng = np.random.default_rng(seed)
    x = rng.random((points, n))
    return cpwl.CPWL.from_simplices(x, Delaunay(x).simplices, rng.standard_normal(points))


def is_refused(p: cpwl.CPWL) -> bool:
    try:
        cpwl.compile(p, construction="paper")
    except cpwl.ConstructionError:
        return True
    return False


def largest_error(p: cpwl.CPWL) -> float:
    """The form ``max over pieces i of min over m in A_i of f_m`` at random points, without building its network."""
    x = np.random.default_rng(0).random((2000, p.dim))
    x = x[~np.isnan(p(x)[:, 0])]
    laws = p.components()
    f = x @ laws.gradient[:, 0].T + laws.offset[:, 0]
    rows = [f[:, above].min(axis=1) for above in order_components(p, 0).above]
    return float(np.abs(np.max(rows, axis=0) - p(x)[:, 0]).max())


count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
cases = [(2, 10), (2, 20), (2, 50), (3, 8), (3, 12), (3, 20), (3, 40), (4, 12), (4, 22)]
print("inputs  pieces (mean)  Algorithm 1 wrong  median of the largest error where it is")
for n, points in cases if count > 2 else cases[:4]:
    functions = [interpolant(n, points, seed) for seed in range(count)]
    errors = [largest_error(p) for p in functions if is_refused(p)]
    pieces = np.mean([p.num_pieces for p in functions])
    middle = np.median(errors) if errors else 0.0
    print(f"{n:6}  {pieces:13.0f}  {len(errors):8} of {count:2}     {middle:.2f}", flush=True)
