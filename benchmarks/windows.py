"""Delaunay tables: neurons and errors of windows beside other constructions: ``python benchmarks/windows.py [--full]``.

Random points of a cube with its corners, values N(0, 1); weights rounded once to the format, the network evaluated in
it at random points that both formats have, 100,000 or, for large tables, 20,000; errors relative to the range of the
values. "kappa" is what rounding the input to float32 costs: the largest slope times 2^-24, relative to the range. With
``--full`` larger tables, with ``--proofs`` how long a proof takes, and with ``--clamped`` twenty tables of the plane
beside clamped gates. With ``--multiplexed`` perturbed grids: "tiles" are windows for float64, which are multiplexed
where that is smaller, and "windows" those for float32, as in all other tables.
"""

from __future__ import annotations

import sys
import time
import warnings
from itertools import product

import numpy as np
from scipy.spatial import Delaunay

import cpwl
from cpwl.network.network import evaluate

SMALL = [(2, 100), (2, 500), (3, 20), (3, 80), (4, 24)]
LARGE = [(3, 300), (3, 1530), (4, 70)]
PERTURBED = [(2, 32), (3, 8), (3, 11)]  # inputs, and points on each axis
OTHERS = {2: ("gates", "clamped"), 3: ("gates",), 4: ("gates",)}
MOST = 1100  # cells up to which others are measured as well
POINTS, FEWER = 100_000, 20_000  # random points; fewer of them beyond that many cells


def table(n: int, count: int, seed: int = 0) -> tuple[cpwl.CPWL, float]:
    """The function of random points, and the largest slope over the range."""
    rng = np.random.default_rng(seed)
    corners = np.array(list(product((0.0, 1.0), repeat=n)))
    return delaunay(np.concatenate([corners, rng.random((count, n))]), rng)


def perturbed(n: int, count: int, seed: int = 0) -> tuple[cpwl.CPWL, float]:
    """The function of a grid, points moved by up to a quarter of a step, those of the boundary along it."""
    rng = np.random.default_rng(seed)
    points = np.array(list(product(np.linspace(0.0, 1.0, count), repeat=n)))
    for axis in range(n):
        free = (points[:, axis] > 0) & (points[:, axis] < 1)
        points[free, axis] += (rng.random(int(free.sum())) - 0.5) * 0.5 / (count - 1)
    return delaunay(points, rng)


def delaunay(points: np.ndarray, rng: np.random.Generator) -> tuple[cpwl.CPWL, float]:
    """The function on the Delaunay triangulation of points, values N(0, 1), and the largest slope over the range."""
    points = np.round(points * 2**20) / 2**20
    simplices = Delaunay(points).simplices
    volume = np.abs(np.linalg.det(points[simplices[:, 1:]] - points[simplices[:, :1]]))
    values = np.round(rng.standard_normal(len(points)) * 2**20) / 2**20
    p = cpwl.CPWL.from_simplices(points, simplices[volume > 1e-14], values)
    return p, float(np.linalg.norm(p.laws.gradient[:, 0], axis=1).max() / np.ptp(values))


def errors(network: cpwl.Network, p: cpwl.CPWL, count: int, seed: int = 1) -> tuple[float, float]:
    """The largest differences in float32 and float64, relative to the range."""
    x = np.random.default_rng(seed).random((count, p.dim)).astype(np.float32)
    true = p(x.astype(np.float64))
    inside = np.isfinite(true[:, 0])
    found = []
    for kind in (np.float32, np.float64):
        off = [
            np.abs(evaluate(network, x[k : k + 5000].astype(kind)) - true[k : k + 5000]) for k in range(0, count, 5000)
        ]
        found.append(float(np.concatenate(off)[inside].max() / np.ptp(true[inside])))
    return found[0], found[1]


def line(p: cpwl.CPWL, name: str, kappa: float) -> None:
    """Compiles, measures and prints."""
    start = time.process_time()
    construction, precision = ("windows", "float64") if name == "tiles" else (name, "float32")
    try:
        network = cpwl.compile(p, construction=construction, precision=precision, check=False).network
    except cpwl.CpwlError as reason:
        print(f"{p.dim:3} {p.num_pieces:7,}  {name:8} {str(reason)[:90]}", flush=True)
        return
    seconds = time.process_time() - start
    single, double = errors(network, p, FEWER if p.num_pieces > MOST else POINTS)
    sizes = f"{network.sizes.neurons:7,} {network.sizes.neurons / p.num_pieces:6.2f} {network.sizes.depth - 1:6}"
    row = f"{p.dim:3} {p.num_pieces:7,}  {name:8} {sizes}  {single:7.1e}  {double:7.1e}  {kappa:7.1e}  {seconds:6.1f} s"
    if "--proofs" in sys.argv:
        start = time.process_time()
        proved = cpwl.certify(p, network).proved
        row += f"  {'proved' if proved else 'NOT PROVED'} in {time.process_time() - start:.1f} s"
    print(row, flush=True)


def main() -> None:
    """A line for each table and construction."""
    warnings.simplefilter("ignore")
    print(
        f"{'n':>3} {'cells':>7}  {'':8} {'neurons':>7} {'a cell':>6} {'layers':>6}  float32  float64    kappa  CPU time"
    )
    if "--clamped" in sys.argv:
        for count, seed in product((20, 50, 100, 200), range(5)):
            p, slope = table(2, count, seed)
            for name in ("windows", "clamped"):
                line(p, name, slope * 2.0**-24)
        return
    if "--multiplexed" in sys.argv:
        for n, count in PERTURBED:
            p, slope = perturbed(n, count)
            for name in ("tiles", "windows"):
                line(p, name, slope * 2.0**-24)
        return
    for n, count in SMALL + (LARGE if "--full" in sys.argv else []):
        p, slope = table(n, count)
        for name in ("windows", *(OTHERS[n] if p.num_pieces <= MOST else ())):
            line(p, name, slope * 2.0**-24)


if __name__ == "__main__":
    main()
