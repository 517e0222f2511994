"""Seconds of CPU that `construction="lattice"` takes, for exact pieces and for float pieces with noise.

    python benchmarks/lattices.py [--full] [--cases FOLDER]

Networks are extracted on a box; Delaunay tables are given as half-spaces. Noise is 1e-12, relative, on all rows and
laws. `--cases` has control laws in JSON, as for floats.py.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

import cpwl
from cpwl import CPWL
from floats import delaunay, noisy

NOISE = 1e-12


def network(widths: tuple[int, ...], seed: int = 1) -> CPWL:
    """All pieces of a random network on a box."""
    rng, layers = np.random.default_rng(seed), []
    for size, width in pairwise(widths[:-1]):
        layers.append((rng.integers(-8, 9, (width, size)) / 4, rng.integers(-8, 9, width) / 8))
    layers.append((rng.integers(-8, 9, (widths[-1], widths[-2])) / 4, np.zeros(widths[-1])))
    n = widths[0]
    box = (np.vstack([np.eye(n), -np.eye(n)]), np.ones(2 * n))
    return cpwl.extract(cpwl.Network(layers), domain=box, exact=True)


def data(full: bool, folder: Path | None) -> Iterator[tuple[str, CPWL]]:
    exact = {f"network {'-'.join(map(str, w))}": network(w) for w in ((2, 10, 8, 1), (3, 8, 6, 2))}
    for n, points in ((2, 100), (2, 500), (3, 60)) if full else ((2, 100), (3, 30)):
        exact[f"Delaunay, n = {n}"] = delaunay(n, points)
        yield f"Delaunay, n = {n}", exact[f"Delaunay, n = {n}"]
        yield f"Delaunay, n = {n}, noise", noisy(exact[f"Delaunay, n = {n}"], NOISE)
    for name, p in list(exact.items())[:2]:
        yield name, p
        yield f"{name}, noise", noisy(p, NOISE)
    for path in sorted(folder.rglob("*.json")) if folder is not None else []:
        pieces = json.loads(path.read_text("utf-8"))["pieces"]
        yield path.stem, CPWL.from_pieces(*([np.array(piece[key]) for piece in pieces] for key in "AbFg"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--cases", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", cpwl.CpwlWarning)
    print(f"{'data':<32}{'pieces':>7}{'outputs':>8}{'neurons':>9}{'snap s':>8}{'rest s':>8}")
    for name, p in data(options.full, options.cases):
        start = time.process_time()
        if p.tol:
            p.snap(p.tol)  # `compile` examines float data by it
        snapped = time.process_time()
        made = cpwl.compile(p, construction="lattice")
        rest = time.process_time() - snapped
        line = f"{name:<32}{p.num_pieces:>7}{p.outputs:>8}{made.sizes.neurons:>9}"
        print(f"{line}{snapped - start:>8.1f}{rest:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
