"""``--timeout`` and ``--max-memory``: options that every command has which can run long."""

from __future__ import annotations

import inspect
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from cpwl.errors import LimitError

__all__ = ["BeyondLimit", "limited", "parse_memory"]

_LOOK = 0.05  # seconds between two looks at the memory in use
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


class BeyondLimit(KeyboardInterrupt):
    """The time or the memory that was allowed is used up.

    It is an interruption: searches that can end early return what they have found, as they do after Ctrl-C.
    """


def limited(command: Callable[..., None]) -> Callable[..., None]:
    """The command with ``--timeout`` and ``--max-memory``."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    every = {
        "timeout": Annotated[
            float | None,
            typer.Option(min=0.001, metavar="SECONDS", help="End after so long, with exit code 2 and what was found."),
        ],
        "max_memory": Annotated[
            str | None,
            typer.Option(metavar="SIZE", help="End before more memory is used, such as 500M or 4G, with exit code 2."),
        ],
    }

    more = {name: hint for name, hint in every.items() if name not in signature.parameters}

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        timeout, max_memory = (options.pop(name) if name in more else None for name in every)
        try:
            with _watch(timeout, None if max_memory is None else parse_memory(max_memory)):
                command(*arguments, **options)
        except BeyondLimit as reason:
            raise LimitError(f"{reason}; nothing was written") from None

    kept = [each.replace(annotation=hints.get(name, each.annotation)) for name, each in signature.parameters.items()]
    kind = inspect.Parameter.KEYWORD_ONLY
    extra = [inspect.Parameter(name, kind, default=None, annotation=hint) for name, hint in more.items()]
    vars(run).pop("__wrapped__")  # typer would look at the signature of the command itself
    vars(run)["__signature__"] = signature.replace(parameters=[*kept, *extra])
    run.__annotations__ = {**hints, **more}
    return run


def parse_memory(text: str) -> int:
    """A number of bytes, such as 500M or 1.5G.

    >>> parse_memory("1.5G"), parse_memory("200MB")
    (1500000000, 200000000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text.lower())
    if found is None or float(found[1]) == 0:
        raise typer.BadParameter(f"'{text}' is not a size such as 500M or 4G.", param_hint="'--max-memory'")
    return int(float(found[1]) * _UNITS[found[2]])


@contextmanager
def _watch(timeout: float | None, memory: int | None) -> Iterator[None]:
    """Raises `BeyondLimit` in the main thread when a limit is reached."""
    if (timeout is None and memory is None) or threading.current_thread() is not threading.main_thread():
        yield
        return
    reason = "" if timeout is None else f"the time that --timeout allows, {timeout:g} s, is over"
    told = False

    def end(_number: int, _frame: object) -> None:
        nonlocal told
        if not told:  # once: what was found is being saved now
            told = True
            raise BeyondLimit(reason)

    def look() -> None:
        nonlocal reason
        while not over.wait(_LOOK):
            used = _memory_in_use()
            if memory is not None and used > memory:
                reason = f"more memory is in use, {used / 1e6:,.0f} MB, than --max-memory allows"
                os.kill(os.getpid(), signal.SIGALRM)
                return

    over, before = threading.Event(), signal.signal(signal.SIGALRM, end)
    watcher = threading.Thread(target=look, daemon=True)
    try:
        if memory is not None:
            watcher.start()
        if timeout is not None:
            signal.setitimer(signal.ITIMER_REAL, timeout)
        yield
    finally:
        told = True
        over.set()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _memory_in_use() -> int:
    """The resident memory of this process in bytes; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
