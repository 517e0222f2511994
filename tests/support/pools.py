"""Executors of every kind that is documented, each of two workers or more."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

__all__ = ["POOLS", "SPAWN", "pool_of"]

POOLS = ("threads", "processes", "loky", "dask")
SPAWN = multiprocessing.get_context("spawn")  # threads of other tests must not be forked


@contextmanager
def pool_of(kind: str) -> Iterator[Executor]:
    """An executor; what stands behind it is closed at the end."""
    if kind == "threads":
        with ThreadPoolExecutor(4) as pool:
            yield pool
    elif kind == "processes":
        with ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
            yield pool
    elif kind == "loky":
        loky = pytest.importorskip("loky")
        with loky.ProcessPoolExecutor(2) as pool:
            yield pool
    else:
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
            ) as cluster,
            distributed.Client(cluster) as client,
            client.get_executor() as pool,
        ):
            yield pool
