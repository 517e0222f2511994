"""Will it fit into memory? Asked before something large is built, so that the answer is a sentence and not a crash."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from cpwl.errors import LimitError

__all__ = ["available_memory", "check_memory", "rare_collection"]

_COLLECTION = Lock()
_THRESHOLDS: list[
    tuple[int, int, int]
] = []  # one for each thread inside `rare_collection`, the first as it was outside
_CGROUP = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")


def available_memory() -> float:
    """Bytes that this process may still use, as far as the system says: infinite if it does not."""
    free = [_free_in_system(), _free_in_group()]
    return min(free)


@contextmanager
def rare_collection() -> Iterator[None]:
    """Fewer runs of the garbage collector: rationals hold no cycles, and looking takes a quarter of the time.

    >>> with rare_collection():
    ...     gc.get_threshold()[0] >= 100_000
    True
    """
    with _COLLECTION:
        _THRESHOLDS.append(gc.get_threshold())
        first = _THRESHOLDS[0]
        gc.set_threshold(max(first[0], 100_000) if first[0] else 0, *first[1:])
    try:
        yield
    finally:
        with _COLLECTION:
            # Threads may leave in another order than they came: the last one out restores what the first one found.
            before = _THRESHOLDS[0]
            _THRESHOLDS.pop()
            if not _THRESHOLDS:
                gc.set_threshold(*before)


def check_memory(size: float, what: str, instead: str) -> None:
    """Raise `LimitError` if something of `size` bytes would not fit, with what to do instead.

    >>> check_memory(1e3, "a small network", "Nothing else is needed.")
    """
    free = available_memory()
    if size > free:
        message = f"{what} would take about {size / 1e9:,.0f} GB, and {free / 1e9:,.1f} GB are free.\n  {instead}"
        raise LimitError(message, bytes=size, available=free)


def _free_in_system() -> float:
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _free_in_group() -> float:
    """What a container leaves."""
    try:
        most = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        used = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
        return float("inf") if most == "max" else max(0.0, float(int(most) - used))
    except (OSError, ValueError):
        return float("inf")
