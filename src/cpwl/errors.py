"""One exception tree: the caller's mistake, our limit and our bug are three different classes.

Every error says what is wrong, where, and what to do; the data behind the sentence is in ``details``.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

_LONGEST = 2000  # characters of a message


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "output"), counted(1200, "piece")
    ('1 output', '1,200 pieces')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def printable(message: str) -> str:
    r"""The message for any terminal: control characters written out, and what is too long cut in the middle.

    >>> printable("node `\x1b[31mred` is bad")
    'node `\\x1b[31mred` is bad'
    """
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 3 :]}"
    if message.replace("\n", "").isprintable():
        return message
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in message)


class CpwlError(Exception):
    """Base of all errors of this package.

    >>> error = InputError("piece 3 is empty", piece=3)
    >>> error.details["piece"]
    3
    """

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(printable(message))
        self.details: dict[str, Any] = details


class InputError(CpwlError, ValueError):
    """The caller's mistake: data that is not a continuous piecewise-linear function, or not readable."""


class LimitError(CpwlError):
    """Our limit: a valid request that this package cannot serve, with the reason."""


class ConstructionError(LimitError):
    """A construction does not apply to this function; ``details`` has the witness."""


class ProofError(CpwlError):
    """A claimed proof does not hold, or network and function differ; ``details`` has the witness."""


class InternalError(CpwlError):
    """Our bug: something that was proven impossible has happened."""


class SolverError(InternalError):
    """A linear-programming solver failed; no answer may be read off such a run."""


class CpwlWarning(UserWarning):
    """Something harmless was changed or is worth knowing, such as an empty piece that was dropped."""


# Will it fit into memory? Asked before something large is built, so that the answer is a sentence and not a crash.


_COLLECTION = Lock()
# One for each thread inside `rare_collection`, the first as it was outside.
_THRESHOLDS: list[tuple[int, int, int]] = []
_CGROUP = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")


def available_memory() -> float:
    """Bytes that this process may still use, as far as the system says: infinite if it does not."""
    return min(_free_in_system(), _free_in_group())


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
