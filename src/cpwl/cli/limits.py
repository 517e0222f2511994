"""``--timeout`` and ``--max-memory``: options that every command has which can run long."""

from __future__ import annotations

import inspect
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from time import monotonic
from typing import Annotated, Any, get_type_hints

import typer

from cpwl.cli.supervise import memory_in_use, memory_is_used, supervise, time_is_over
from cpwl.errors import LimitError
from cpwl.files import written

__all__ = ["BeyondLimit", "limited", "parse_memory"]

_LOOK = 0.05  # seconds between two looks at the memory in use
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


class BeyondLimit(KeyboardInterrupt):
    """The time or the memory that was allowed is used up.

    It is an interruption: searches that can end early return what they have found, as they do after Ctrl-C.
    """


@dataclass(slots=True)
class _Reached:
    """Why a limit has ended the command, if one has."""

    reason: str = ""


def limited(command: Callable[..., None], *, timeout: str = "timeout") -> Callable[..., None]:
    """The command with ``--timeout`` and ``--max-memory``; `timeout`: another name, where that is taken."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    option = f"--{timeout.replace('_', '-')}"
    more = {
        timeout: Annotated[
            float | None,
            typer.Option(min=0.001, metavar="SECONDS", help="End after so long, with exit code 2 and what was found."),
        ],
        "max_memory": Annotated[
            str | None,
            typer.Option(metavar="SIZE", help="End before more memory is used, such as 500M or 4G, with exit code 2."),
        ],
    }

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        seconds, size = (options.pop(name) for name in more)
        before, reached = len(written()), _Reached()
        try:
            with _watch(seconds, None if size is None else parse_memory(size), option, reached):
                command(*arguments, **options)
        except (typer.Exit, LimitError):
            raise
        except (Exception, BeyondLimit):
            # Some libraries turn the exception that ends them into one of their own.
            if not reached.reason:
                raise
            raise LimitError(f"{reached.reason}; {_left(written()[before:])}") from None

    kept = [each.replace(annotation=hints.get(name, each.annotation)) for name, each in signature.parameters.items()]
    kind = inspect.Parameter.KEYWORD_ONLY
    extra = [inspect.Parameter(name, kind, default=None, annotation=hint) for name, hint in more.items()]
    vars(run).pop("__wrapped__")  # typer would look at the signature of the command itself
    vars(run)["__signature__"] = signature.replace(parameters=[*kept, *extra])
    run.__annotations__ = {**hints, **more}
    return run


def _left(files: Sequence[str]) -> str:
    """What a command that was ended has written."""
    if not files:
        return "nothing was written"
    names = ", ".join(f"`{name}`" for name in files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
    return f"{names} had been written, and nothing else was"


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
def _watch(timeout: float | None, memory: int | None, option: str, reached: _Reached) -> Iterator[None]:
    """Raises `BeyondLimit` in the main thread when a limit is reached."""
    if (timeout is None and memory is None) or threading.current_thread() is not threading.main_thread():
        yield
        return
    began, done, tell = monotonic(), False, supervise(timeout, memory, option)

    def end(_number: int, _frame: object) -> None:
        if done or reached.reason:  # once: what was found is being saved now
            return
        tell()
        over_time = timeout is not None and monotonic() - began >= timeout
        reached.reason = time_is_over(timeout, option) if over_time else memory_is_used(memory_in_use())
        raise BeyondLimit(reached.reason)

    def look() -> None:
        while not over.wait(_LOOK):
            if memory is not None and memory_in_use() > memory:
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
        done = True
        over.set()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
