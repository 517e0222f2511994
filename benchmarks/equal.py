"""`equal` on tables that are cut in two ways, and on networks of many regions, with peaks of memory.

    python benchmarks/equal.py [tables | networks] [--large] [--src FOLDER]

Tables: a random triangulation of a square with exact values, and the same with every triangle cut in two, as pieces.
`equal` must prove that they are one function, and `merge` must undo the cuts. Networks: an arrangement of lines, or a
random network, against the same function through one more layer, on a box. Each row runs in a process of its own, so
that peaks are its own; with workers, the larger of the peaks of the parent and of a worker. Seconds are of CPU, of all
processes together; for networks also on the clock. `--src` measures another checkout, `--large` takes sizes that need
minutes, and `--only 2-1500-1,2` one network, here with two workers.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from pathlib import Path

TABLES = [300, 500, 5_000]
NETWORKS = [("2-32-32-1", 0), ("4-16-16-1", 0), ("2-150-1", 0), ("2-150-1", 2)]
LARGE_TABLES = [50_000]
LARGE_NETWORKS = [("2-1500-1", 1), ("2-1500-1", 2)]


def table_row(points: int) -> str:
    """Seconds for one table."""
    import time
    from fractions import Fraction

    import numpy as np
    from scipy.spatial import Delaunay

    import cpwl
    from cpwl import CPWL

    rng = np.random.default_rng(1)
    corners = [[0, 0], [0, 10**6], [10**6, 0], [10**6, 10**6]]
    x = np.concatenate([corners, rng.integers(1, 10**6, (points, 2))])
    z = [Fraction(int(v), 100) for v in rng.integers(-1000, 1000, len(x))]
    exact = [[Fraction(int(v), 1000) for v in row] for row in x]
    p = CPWL.from_simplices(exact, Delaunay(x).simplices.tolist(), z)
    turn, start, rows, laws = random.Random(2), p.polyhedra.start, p.polyhedra.integer(), p.laws.integer()
    A, b, slopes, offsets = [], [], [], []
    for i in range(p.num_pieces):
        own = rows[start[i] : start[i + 1]].tolist()
        middle = [sum(exact[v][k] for v in p.mesh.simplices[i]) / 3 for k in (0, 1)]
        a = [turn.randint(1, 9), turn.randint(-9, 9)]
        level = a[0] * middle[0] + a[1] * middle[1]
        *slope, offset, below = laws[i, 0].tolist()
        for side in (1, -1):
            A.append([row[:2] for row in own] + [[side * v for v in a]])
            b.append([row[2] for row in own] + [side * level])
            slopes.append([Fraction(v, below) for v in slope])
            offsets.append(Fraction(offset, below))
    q = CPWL.from_pieces(A, b, slopes, offsets)
    clock = time.process_time
    t = clock()
    same = cpwl.equal(p, q)
    equal = clock() - t
    again = CPWL.from_pieces(A, b, slopes, offsets)
    t = clock()
    merged = again.merge()
    merge = clock() - t
    broken = CPWL.from_pieces(A, b, slopes, [offsets[0] + Fraction(1, 10**30), *offsets[1:]])
    t = clock()
    other = cpwl.equal(p, broken)
    change = clock() - t
    assert same.equal is True
    assert other.equal is False
    assert merged.num_pieces == p.num_pieces
    return f"{p.num_pieces:>8,}{q.num_pieces:>9,}{equal:>8.2f}{change:>8.2f}{merge:>8.2f}"


def network_row(sizes: str, workers: int) -> str:
    """Seconds and memory for one network."""
    import resource
    import time
    from concurrent.futures import ProcessPoolExecutor
    from itertools import pairwise

    import numpy as np

    import cpwl
    from cpwl import Network

    rng, widths = np.random.default_rng(1), [int(v) for v in sizes.split("-")]
    layers = [
        (rng.integers(-99, 100, (b, a)).tolist(), rng.integers(-99, 100, b).tolist()) for a, b in pairwise(widths)
    ]
    unit = np.eye(widths[-2], dtype=int).tolist()
    first, second = Network(layers), Network([*layers[:-1], (unit, [0] * widths[-2]), layers[-1]])
    t = time.perf_counter()
    if workers:
        with ProcessPoolExecutor(workers) as pool:
            found = cpwl.equal(first, second, box=(-8, 8), executor=pool)
    else:
        found = cpwl.equal(first, second, box=(-8, 8))
    t = time.perf_counter() - t
    assert found.equal is True
    used = [resource.getrusage(kind) for kind in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu, peak = sum(one.ru_utime + one.ru_stime for one in used), max(one.ru_maxrss for one in used) / 1024
    return f"{sizes:<12}{workers or '-':>8}{found.regions:>11,}{cpu:>9.1f}{t:>9.1f}{peak:>8,.0f}"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="?", choices=["tables", "networks"])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", metavar="SIZES,WORKERS")
    parser.add_argument("--src", type=Path)
    parser.add_argument("--row", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        print(table_row(int(options.row[1])) if options.row[0] == "table" else network_row(*_pair(options.row[1])))
        return
    here = dict(os.environ)
    if options.src is not None:
        here["PYTHONPATH"] = str(options.src / "src")
    if options.which != "networks" and not options.only:
        print("\n triangles   pieces   equal  1e-30   merge  (seconds of CPU)")
        for points in TABLES + (LARGE_TABLES if options.large else []):
            _run("table", str(points), here)
    if options.which != "tables":
        print("\nnetwork      workers    regions    CPU s  clock s      MB")
        named = [f"{sizes},{workers}" for sizes, workers in NETWORKS + (LARGE_NETWORKS if options.large else [])]
        for name in [options.only] if options.only else named:
            _run("network", name, here)


def _pair(text: str) -> tuple[str, int]:
    sizes, workers = text.split(",")
    return sizes, int(workers)


def _run(kind: str, what: str, here: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, __file__, "--row", kind, what], env=here, capture_output=True, text=True, check=False
    )
    print(
        done.stdout.rstrip() if done.returncode == 0 else f"{what}: {done.stderr.strip().splitlines()[-1]}", flush=True
    )


if __name__ == "__main__":
    main()
