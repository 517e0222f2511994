"""What more workers gain, verb by verb, and that what comes out is the same; and memory while a range is streamed.

    python benchmarks/workers.py [--workers 1 2 4] [--only compile check]
    python benchmarks/workers.py --grid 99 --workers 4

The second form looks for the range of a network that is a sum of functions of one variable each, on the (K + 1)^3 cells
that K planes across each axis make; the range of the sum is the sum of the ranges.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bench_functions import delaunay, noisy, triangles
from cpwl import Network, ask, certify, compile, count_regions, equal, extract, extract_parts
from cpwl.cli.shared import executor_of
from cpwl.documents.write import document_text, function_document, network_document
from cpwl.proofs.kinds import settle


def arrangement(planes: int, seed: int = 0) -> Network:
    """Planes in space, with a weight for each."""
    rng = np.random.default_rng(seed)
    weight, bias = rng.integers(-(10**6), 10**6, (planes, 3)), rng.integers(-(10**6), 10**6, planes)
    return Network([(weight, bias), (rng.integers(-9, 10, (1, planes)), [0])])


def verbs() -> dict[str, Callable[[Executor | None], Any]]:
    """What is measured: a function of the executor each, whose result must not depend on it."""
    table, space = triangles(400), delaunay(3, 60, 0)
    gates = compile(space, construction="gates").network
    proof = certify(space, gates).document
    documents = function_document(space), network_document(gates), proof
    planes = arrangement(48)
    pieces = noisy(replace(extract(arrangement(9, 1), box=([-2] * 3, [2] * 3)), known=None))
    many = Network([(np.random.default_rng(1).integers(-9, 10, (16, 9)), np.arange(16)), (np.ones((1, 16)), [0])])
    scaled = Network([(7 * planes.layers[0][0], 7 * planes.layers[0][1]), (planes.layers[1][0], [0]), ([["1/7"]], [0])])
    return {
        "compile": lambda e: network_document(compile(table, executor=e).network),
        "certify": lambda e: certify(space, gates, executor=e).text,
        "check": lambda e: settle(*documents, e),
        "doctor": lambda e: pieces.doctor(executor=e),
        "extract_parts": lambda e: [
            document_text(function_document(part), None) for part in extract_parts(planes, size=1500, executor=e)
        ],
        "count": lambda e: count_regions(arrangement(130), only="cells", executor=e),
        "extract, many inputs": lambda e: document_text(
            function_document(extract(many, max_regions=4000, executor=e)), None
        ),
        "range": lambda e: [
            str(each.point)
            for each in vars_of(ask(planes, box=(-2, 2), max_regions=None, at_once=400, executor=e).range())
        ],
        "equal": lambda e: str(equal(planes, scaled, box=([-2] * 3, [2] * 3), executor=e)),
    }


def vars_of(found: Any) -> tuple[Any, Any]:
    """The two ends of a range."""
    return found.argmin, found.argmax


def scaling(counts: list[int], only: list[str]) -> None:
    """A row for each verb: the seconds with each number of workers."""
    print("| verb | " + " | ".join(f"{count}" for count in counts) + " | the same |")
    chosen = {name: verb for name, verb in verbs().items() if not only or name in only}
    seconds: dict[str, list[float]] = {name: [] for name in chosen}
    results: dict[str, set[str]] = {name: set() for name in chosen}
    for count in counts:
        with executor_of(count, None) as executor:
            if executor is not None:
                list(executor.map(_warm, range(4 * count)))
            for name, verb in chosen.items():
                began = time.perf_counter()
                found = verb(executor)
                seconds[name].append(time.perf_counter() - began)
                results[name].add(hashlib.sha256(repr(found).encode()).hexdigest())
    for name in chosen:
        print(f"| {name} | " + " | ".join(f"{s:.1f}" for s in seconds[name]) + f" | {len(results[name]) == 1} |")


def _warm(_: int) -> int:
    """Imports what the verbs need, in a worker."""
    compile(triangles(10))
    return 0


def separable(planes: int) -> tuple[Network, tuple[int, int]]:
    """The sum of a function of each of three variables, with that many bends; and its range on the box to `planes`."""
    rng = np.random.default_rng(0)
    jumps = rng.integers(-9, 10, (3, planes))
    weight = np.repeat(np.eye(3, dtype=int), planes, axis=0)
    network = Network([(weight, np.tile(-np.arange(planes), 3)), (jumps.reshape(1, -1), [0])])
    x = np.arange(planes + 1)
    ends = [np.maximum(0, x[:, None] - np.arange(planes)) @ row for row in jumps]
    return network, (sum(int(each.min()) for each in ends), sum(int(each.max()) for each in ends))


def _keep(seen: list[int], done: int, _total: int, _step: str) -> None:
    seen[0] = done


def streaming(planes: int, counts: list[int]) -> None:
    """The range on all cells of a grid, and the memory that it takes."""
    network, expected = separable(planes)
    for count in counts:
        seen: list[int] = [0]
        began = time.perf_counter()
        with executor_of(count, None) as executor:
            asked = ask(
                network,
                box=(-1, planes),
                max_regions=None,
                executor=executor,
                progress=partial(_keep, seen),
            )
            found = asked.range()
        most = [resource.getrusage(who).ru_maxrss / 1e3 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        print(f"{(planes + 1) ** 3:,} cells, {seen[0]:,} regions of portions, {count} workers: {found}; {expected}")
        print(f"{time.perf_counter() - began:.1f} s; at most {most[0]:,.0f} MB here, {most[1]:,.0f} MB a worker")
        assert (found.low, found.high) == expected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--grid", type=int)
    options = parser.parse_args()
    if options.grid is None:
        scaling(options.workers, options.only)
    else:
        streaming(options.grid, options.workers)


if __name__ == "__main__":
    main()
