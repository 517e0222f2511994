"""Four threads at once: the same bytes as one after the other."""

from __future__ import annotations

import importlib
import pkgutil
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cpwl
from cpwl import CPWL, Network, compile, extract
from cpwl.documents.write import document_text, function_document, network_document


def functions() -> list[CPWL]:
    rng = np.random.default_rng(5)
    x, y = np.meshgrid(np.arange(4), np.arange(4), indexing="ij")
    lines = CPWL.from_breakpoints(np.arange(12), rng.integers(-9, 9, 12))
    table = CPWL.from_grid([np.arange(4), np.arange(4)], (x * y) % 3)
    rows = [[[1, 0], [0, 1]], [[1, 0], [0, -1]], [[-1, 0], [0, 1]], [[-1, 0], [0, -1]]]
    noisy = [np.array(A, dtype=float) * (1 + 1e-13 * rng.standard_normal((2, 1))) for A in rows]
    laws = [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]
    return [lines, table, CPWL.from_pieces(noisy, [np.zeros(2)] * 4, laws, [0.0] * 4)]


def named() -> list[tuple[str, CPWL]]:
    """A function for each construction, and float data for those that take it."""
    lines, table, floats = functions()
    space = CPWL.from_maxmin([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, -1], [1, 1, 1, 0]], [[0, 1], [2], [3]])
    return [
        ("hinge", lines),
        ("univariate", lines),
        ("gates", table),
        ("gates", floats),
        ("gates", space),
        ("columns", table),
        ("windows", table),
        ("clamped", table),
        ("strips", table),
        ("lattice", space),
        ("lattice", floats),
        ("paper", space),
    ]


def compiled(p: CPWL, construction: Any = "auto") -> str:
    made = compile(p, construction=construction, certify=True)
    assert made.certificate is not None
    proof = made.certificate.text if made.certificate.proved else made.certificate.reason
    assert made.certificate.proved or construction != "auto"
    return document_text(network_document(made.network), made.construction) + proof


def extracted(seed: int) -> str:
    rng = np.random.default_rng(seed)
    network = Network([(rng.integers(-9, 9, (6, 2)), rng.integers(-9, 9, 6)), (rng.integers(-9, 9, (1, 6)), [0])])
    return document_text(function_document(extract(network)), None)


def test_compiling_in_threads_gives_the_same_bytes() -> None:
    every = functions() * 2
    alone = [compiled(p) for p in functions()] * 2
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(compiled, every)) == alone


@pytest.mark.slow
def test_every_construction_gives_the_same_bytes_in_threads() -> None:
    """New objects each time, so that no thread finds in a cache what another one has made."""
    alone = [compiled(p, name) for name, p in named()]
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(compiled, p, name) for _ in range(2) for name, p in named()]
        assert [run.result() for run in runs] == alone * 2


def test_caches_are_bounded() -> None:
    """Every cache of a function says how many it keeps, but for those of a fixed few names."""
    found = []
    for module in pkgutil.walk_packages(cpwl.__path__, "cpwl."):
        if not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if hasattr(value, "cache_info") and value.__module__ == module.name:
                    found.append((f"{module.name}.{name}", value.cache_info().maxsize))
    unbounded = {name for name, size in found if size is None}
    assert unbounded == {"cpwl.documents.read._validator"}
    assert len(found) >= 5
    assert all(size <= 4096 for _, size in found if size is not None)


def test_extracting_in_threads_gives_the_same_bytes() -> None:
    seeds = [1, 2, 3, 4] * 3
    alone = [extracted(seed) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(extracted, seeds)) == alone
