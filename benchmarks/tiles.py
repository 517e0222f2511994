"""Cells of hyperplane arrangements in bounded memory, against the formula; one process, and several.

    python benchmarks/tiles.py [--planes 181] [--workers 2] [--size 100000]

391 planes in space make 9,963,072 cells.
"""

from __future__ import annotations

import argparse
import math
import resource
import time

import numpy as np

from cpwl import Network
from cpwl.cli.shared import executor_of
from cpwl.regions.extract import count_cells
from cpwl.regions.tiles import stream


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--planes", type=int, default=181)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    planes = options.planes
    weight, bias = rng.integers(-(10**6), 10**6, (planes, 3)), rng.integers(-(10**6), 10**6, planes)
    network = Network([(weight, bias), (np.ones((1, planes), dtype=int), [0])])
    began, cells, tiles = time.perf_counter(), 0, 0
    with executor_of(options.workers, None) as executor:
        for _, count in stream(network, None, count_cells, size=options.size, executor=executor):
            cells, tiles = cells + count, tiles + 1
    expected = sum(math.comb(planes, i) for i in range(4))
    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1e3
    print(f"{planes} planes, {options.workers} workers: {cells:,} cells in {tiles} tiles, by the formula {expected:,};")
    print(f"{time.perf_counter() - began:.1f} s, at most {most:,.0f} MB a process")


if __name__ == "__main__":
    main()
