"""Four threads at once: the same bytes as one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

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


def compiled(p: CPWL) -> str:
    made = compile(p, certificate=True)
    assert made.certificate is not None
    assert made.certificate.proved
    return document_text(network_document(made.network), made.construction)


def extracted(seed: int) -> str:
    rng = np.random.default_rng(seed)
    network = Network([(rng.integers(-9, 9, (6, 2)), rng.integers(-9, 9, 6)), (rng.integers(-9, 9, (1, 6)), [0])])
    return document_text(function_document(extract(network)), None)


def test_compiling_in_threads_gives_the_same_bytes() -> None:
    every = functions() * 4
    alone = [compiled(p) for p in functions()] * 4
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(compiled, every)) == alone


def test_extracting_in_threads_gives_the_same_bytes() -> None:
    seeds = [1, 2, 3, 4] * 3
    alone = [extracted(seed) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(extracted, seeds)) == alone
