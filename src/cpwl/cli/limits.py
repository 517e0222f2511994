"""The options that commands share, ``--timeout`` and ``--max-memory`` among them, and how these are kept."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated, Any, NoReturn, get_type_hints

import typer

from cpwl.cli.shared import Code, Said, say, working
from cpwl.errors import LimitError
from cpwl.files import written

# A command with a limit runs in a process of its own, so that it ends in time wherever it is.
#
# Python hears a signal between two of its own steps; a step may be minutes inside a library. The process that was
# started therefore only watches: it forks before anything heavy is loaded, the child does the work, and a child that
# does not hear that its time or its memory is used up is killed. What it has written is whole; drafts have no name.


_LOOK = 0.05  # seconds between two looks at the time, and at the memory
_DEAF = 1.0  # seconds after which a child that has not heard is killed
_ASKING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_OWN: ContextVar[bool] = ContextVar("own", default=False)


@contextmanager
def own_process() -> Iterator[None]:
    """Inside, this process is there for one command line and nothing else: it may be forked."""
    token = _OWN.set(hasattr(os, "fork"))
    try:
        yield
    finally:
        _OWN.reset(token)


def time_is_over(timeout: float | None, option: str) -> str:
    """The reason for which a command ends."""
    return f"the time limit of {timeout:g} s ({option}) was reached"


def memory_is_used(used: int) -> str:
    """The other one."""
    return f"the memory limit (--max-memory) was reached: {used / 1e6:,.0f} MB are in use"


def supervise(timeout: float | None, memory: int | None, option: str) -> Callable[[], None]:
    """Fork, where this process is ours to fork; returns in the child alone, with how to say that it has heard.

    The child is sent SIGALRM when a limit is reached.
    """
    if not _OWN.get():
        return lambda: None
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    room = tempfile.mkdtemp(prefix="cpwl-")
    # Whoever asks to end is heard when both know what to do about it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ASKING)
    parent, child = os.getpid(), os.fork()
    if child:
        os.close(writing)
        _watch_child(child, reading, Path(room), _Limits(timeout, memory, option))
    os.close(reading)
    tempfile.tempdir = room
    _die_with(parent)
    # Ctrl-C in a terminal reaches both processes; the parent passes on what it hears, whoever sent it.
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    if callable(interrupt):
        signal.signal(signal.SIGUSR1, lambda _, frame: interrupt(int(signal.SIGINT), frame))
    signal.signal(signal.SIGALRM, signal.SIG_IGN)  # as it is again when the command is over
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return lambda: _tell(writing)


def _tell(pipe: int) -> None:
    with contextlib.suppress(OSError):
        os.write(pipe, b".")


@dataclass(frozen=True, slots=True)
class _Limits:
    timeout: float | None
    memory: int | None
    option: str

    def reached(self, seconds: float, used: int) -> str:
        """The reason to end, if there is one."""
        if self.timeout is not None and seconds > self.timeout:
            return time_is_over(self.timeout, self.option)
        return memory_is_used(used) if self.memory is not None and used > self.memory else ""

    def patience(self, *, heard: bool) -> float:
        """Seconds until a child that was told to end is killed: one that has heard may be saving what it has found."""
        return max(10.0, (self.timeout or 0.0) / 4) if heard else _DEAF

    def far_beyond(self, used: int) -> bool:
        """Is so much memory in use that there is no time to be patient?"""
        return self.memory is not None and used > 1.25 * self.memory + 2e8


def _watch_child(child: int, pipe: int, room: Path, limits: _Limits) -> NoReturn:
    """Wait for the child, end it at the limit, and end with its exit code."""
    for number in _ASKING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: _pass_on(child, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ASKING)
    os.set_blocking(pipe, False)
    try:
        code = _code(_wait(child, pipe, limits))
    except _Killed as reason:
        code = int(say(f"error: {reason}", Code.UNDECIDED))
    shutil.rmtree(room, ignore_errors=True)
    os._exit(code)


class _Killed(Exception):
    """The child was killed, and why."""


def _pass_on(child: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGUSR1 if number == signal.SIGINT else number)


def _wait(child: int, pipe: int, limits: _Limits) -> int:
    """The status with which the child ended by itself; a child that does not end is killed."""
    began, told, heard, reason = monotonic(), 0.0, False, ""
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        now, used = monotonic(), 0
        if limits.memory is not None:
            used = sum(map(memory_in_use, _family(child)))
        if not told:
            reason = limits.reached(now - began, used)
            if reason:
                told = now
                _pass_on(child, signal.SIGALRM)
        else:
            heard = heard or _said(pipe)
            if now - told > limits.patience(heard=heard) or limits.far_beyond(used):
                _kill(child)
                raise _Killed(reason)
        sleep(_LOOK)


def _said(pipe: int) -> bool:
    try:
        return bool(os.read(pipe, 1))
    except OSError:  # nothing yet
        return False


def _kill(child: int) -> None:
    """End the child and what it has started."""
    for process in _family(child):
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)
    os.waitpid(child, 0)


def _code(status: int) -> int:
    """The exit code of the child; one that was ended from outside has decided nothing."""
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    bug = number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
    why = "this is a bug in cpwl or a library" if bug else "perhaps memory has run out"
    return int(say(f"error: the command was ended by signal {number}; {why}", Code.BUG if bug else Code.UNDECIDED))


def _family(root: int) -> list[int]:
    """A process and its descendants, as far as the system tells."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parents[int(entry.name)] = int((entry / "stat").read_text("latin-1").rpartition(")")[2].split()[1])
    found = [root]
    for process in found:  # grows while it is walked
        found += [each for each, parent in parents.items() if parent == process]
    return found


def memory_in_use(process: int | str = "self") -> int:
    """The resident memory of a process in bytes; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _die_with(parent: int) -> None:
    """The child does not outlive a parent that is killed (on Linux)."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(int(Code.UNDECIDED))


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


class BeyondLimit(KeyboardInterrupt):
    """The time or the memory that was allowed is used up.

    It is an interruption: searches that can end early return what they have found, as they do after Ctrl-C.
    """


@dataclass(slots=True)
class _Reached:
    """Why a limit has ended the command, if one has."""

    reason: str = ""


_SAID = {"as_json": Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]}
_WORK = {
    "workers": Annotated[int, typer.Option(min=1, help="Number of processes. The results do not depend on it.")],
    "dask": Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run the work on a Dask scheduler, such as tcp://host:8786.")
    ],
}
_TIMEOUT = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        metavar="SECONDS",
        help="Stop after SECONDS with exit status 2. Partial results are kept where they are useful.",
    ),
]
_MEMORY = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Stop when memory exceeds SIZE, such as 500M or 4G; the exit status is 2."),
]
_DEFAULTS = {"workers": 1, "as_json": False}


def command(function: Callable[..., Said | None]) -> Callable[..., None]:
    """A command with the options that commands share.

    All have ``--timeout`` (``--time-limit`` where that name is taken) and ``--max-memory``. One that says something
    (`Said`) has ``--json``, and one with a parameter `work` has ``--workers`` and ``--dask``.
    """
    hints = get_type_hints(function, include_extras=True)
    own = inspect.signature(function).parameters
    timeout = "time_limit" if "timeout" in own else "timeout"
    option = f"--{timeout.replace('_', '-')}"
    more: dict[str, Any] = {**(_WORK if "work" in own else {}), **(_SAID if hints["return"] is Said else {})}
    more |= {timeout: _TIMEOUT, "max_memory": _MEMORY}

    @wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        given = {name: options.pop(name) for name in more}
        if "work" in own:
            options["work"] = partial(working, given["workers"], given["dask"])
        size = given["max_memory"]
        before, reached = len(written()), _Reached()
        try:
            with _watch(given[timeout], None if size is None else parse_memory(size), option, reached):
                said = function(*arguments, **options)
                if said is not None:
                    said.show(given["as_json"])
        except (typer.Exit, LimitError):
            raise
        except (Exception, BeyondLimit):
            # Some libraries turn the exception that ends them into one of their own.
            if not reached.reason:
                raise
            raise LimitError(f"{reached.reason}; {_left(written()[before:])}") from None

    kept = [each.replace(annotation=hints[name]) for name, each in own.items() if name != "work"]
    kind = inspect.Parameter.KEYWORD_ONLY
    extra = [inspect.Parameter(name, kind, default=_DEFAULTS.get(name), annotation=hint) for name, hint in more.items()]
    vars(run).pop("__wrapped__")  # typer would look at the signature of the function itself
    vars(run)["__signature__"] = inspect.Signature([*kept, *extra])
    run.__annotations__ = {**hints, **more}
    return run


def _left(files: Sequence[str]) -> str:
    """What a command that was ended has written."""
    if not files:
        return "nothing was written"
    names = ", ".join(f"`{name}`" for name in files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
    return f"only {names} had been written"


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
