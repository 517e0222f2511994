"""Work shared out to any `concurrent.futures.Executor`: the same results in the same order, whoever did the work.

Chunks are made from the work alone, never from the number of workers, so floats come out the same.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any, TypeVar

from cpwl.errors import CpwlWarning, InputError

__all__ = ["check_executor", "spread"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 64  # tasks handed out before the first of them has come back: bounds what is held at once


def check_executor(executor: object) -> None:
    """Refuse what cannot take work."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise InputError(
            f"`executor` takes a concurrent.futures.Executor, such as ProcessPoolExecutor(), not {executor!r}"
        )


def spread(
    work: Callable[[Any, Item], Result], shared: Any, items: Iterable[Item], executor: Executor | None
) -> Iterator[Result]:
    """``work(shared, item)`` for each item, in order; `shared` is sent once where the executor can keep it.

    A worker that dies costs time, not results: what it leaves undone is done here, with a warning. `work` must be a
    function of a module and its arguments must pickle, since workers may be other processes.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     list(spread(divmod, 17, [2, 3, 5], pool))
    [(8, 1), (5, 2), (3, 2)]
    >>> list(spread(divmod, 17, [2, 3, 5], None))
    [(8, 1), (5, 2), (3, 2)]
    """
    if executor is None:
        yield from (work(shared, item) for item in items)
        return
    there = _placed(shared, executor)
    waiting: deque[tuple[Item, Future[Result] | None]] = deque()
    alive, rest = True, iter(items)
    try:
        while True:
            while alive and len(waiting) < _AHEAD and (item := next(rest, _END)) is not _END:
                future = _handed_out(executor, work, there, item)
                waiting.append((item, future))
                alive = alive and future is not None
            if not waiting:
                break
            item, future = waiting.popleft()
            result = _END if future is None else _outcome(future)
            if result is _END:
                if alive or future is None:
                    warnings.warn("a worker died; what it left undone is done in this process", CpwlWarning, 2)
                alive, result = False, work(shared, item)
            yield result
        yield from (work(shared, item) for item in rest)
    finally:
        for _, future in waiting:
            if future is not None:
                future.cancel()


_END: Any = object()


def _outcome(future: Future[Result]) -> Result:
    """What a task has returned, or `_END` if its worker died."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError):
        return _END  # type: ignore[no-any-return]


def _placed(shared: Any, executor: Executor) -> Any:
    """What all tasks need, sent to all workers once: Dask can, and resolves what it was given in return.

    A Dask executor is known by its client, without importing Dask.
    """
    client = getattr(executor, "_client", None)
    return shared if client is None else client.scatter(shared, broadcast=True, hash=False)


def _handed_out(
    executor: Executor, work: Callable[[Any, Item], Result], shared: Any, item: Item
) -> Future[Result] | None:
    """The task at a worker, or None if there are no workers any more."""
    try:
        return executor.submit(work, shared, item)
    except (BrokenExecutor, RuntimeError):  # a pool that was shut down raises RuntimeError
        return None
