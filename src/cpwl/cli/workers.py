"""``--workers`` and ``--dask``: who does the work."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from cpwl.errors import InputError

__all__ = ["Dask", "Workers", "executor_of"]

Workers = Annotated[
    int, typer.Option(min=1, help="Processes that share the work; what is found does not depend on them.")
]
Dask = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler whose workers share the work: tcp://host:8786.")
]


@contextmanager
def executor_of(workers: int, dask: str | None) -> Iterator[Executor | None]:
    """An executor of so many processes, or of a Dask cluster; None for one process, which is this one."""
    if dask is not None:
        with _dask(dask) as executor:
            yield executor
    elif workers == 1:
        yield None
    else:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        # Not forked: threads of this process might hold locks.
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                yield pool
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        import distributed
    except ImportError:
        raise InputError("--dask needs Dask: install `cpwl[dask]`") from None
    library: Any = distributed
    try:
        client = library.Client(address, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"there is no Dask scheduler at `{address}`: {error}", address=address) from None
    with client, client.get_executor() as executor:
        yield executor
