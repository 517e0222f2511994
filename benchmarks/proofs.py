"""Seconds of CPU that a proof takes against those of compiling: construction by construction, prover and checker apart.

    python benchmarks/proofs.py [constructions ..] [--cells 150] [--inputs 2 3 4] [--profile]

Tables are Delaunay triangulations of random points in a cube, their numbers thousandths; `prove` is everything that
`certify` does but for the stand-alone checker, `check` is the checker alone, on the documents. With `--profile` the
functions that take most are printed for both.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
import warnings
from collections.abc import Callable
from typing import Any

import cpwl
from cpwl import CPWL
from cpwl.proofs.question import Question
from cpwl_check.decide import check
from floats import delaunay

HEAD = f"{'construction':<14}{'n':>2}{'cells':>7}{'neurons':>9}{'compile':>9}{'prove':>8}{'check':>8}  kind"
PLANE = ("clamped", "strips")


def table(n: int, cells: int) -> CPWL:
    """A Delaunay table with about that number of cells."""
    points = max(2, round(cells / {1: 1, 2: 2, 3: 6.2, 4: 26}.get(n, 60)) - (0 if n == 2 else n))
    best = min((delaunay(n, k) for k in (points, points + 2 * n)), key=lambda p: abs(p.num_pieces - cells))
    return best


def seconds(action: Callable[[], Any], profile: bool) -> tuple[float, Any]:
    """Seconds of CPU, and the result."""
    watch = cProfile.Profile()
    start = time.process_time()
    if profile:
        watch.enable()
    result = action()
    watch.disable()
    spent = time.process_time() - start
    if profile:
        pstats.Stats(watch).sort_stats("tottime").print_stats(14)
    return spent, result


def row(construction: str, p: CPWL, profile: bool) -> None:
    """Measures and prints one row."""
    compiled, made = seconds(lambda: cpwl.compile(p, construction=construction, check=False), False)
    proved, certificate = seconds(lambda: cpwl.certify(p, made.network), profile)
    checked, kind = 0.0, certificate.statement
    if certificate.proved:
        asked = Question(p, made.network)
        documents = asked.function_document, asked.network_document, certificate.document
        checked, _ = seconds(lambda: check(*documents), profile)
        kind = certificate.kind
    print(
        f"{construction:<14}{p.dim:>2}{p.num_pieces:>7}{made.sizes.neurons:>9}{compiled:>9.1f}"
        f"{max(proved - checked, 0.0):>8.1f}{checked:>8.1f}  {kind}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("constructions", nargs="*", default=[])
    parser.add_argument("--cells", type=int, nargs="+", default=[150])
    parser.add_argument("--inputs", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", cpwl.CpwlWarning)
    print(HEAD)
    for n in options.inputs:
        for cells in options.cells:
            p = table(n, cells)
            for construction in options.constructions or ("gates", *PLANE, "lattice"):
                if n == 2 or construction not in PLANE:
                    row(construction, p, options.profile)


if __name__ == "__main__":
    main()
