"""How a long step says how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Timer
from time import monotonic
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

from cpwl.doors import check_arguments

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called as ``progress(done, total, step)``; what it returns is not looked at."""

Shown: TypeAlias = Progress | Literal["auto"] | None
"""What users may give: a call, nothing, or "auto" for a bar."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_DELAY = 2.0  # seconds after which "auto" draws a bar


def shows_progress(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A decorator: ``progress="auto"`` draws a bar where a terminal or a notebook is attached, after two seconds.

    Other arguments than the function takes are a `CallError`, which says how it is called.

    >>> @shows_progress
    ... def count(*, progress=None):
    ...     progress(1, 2, "counting")
    >>> count(progress="auto")
    """

    @wraps(function)
    def call(*args: _P.args, **options: _P.kwargs) -> _R:
        try:
            if not isinstance(options.get("progress"), str) or options["progress"] != "auto":
                return function(*args, **options)
            with progress_bar(delay=_DELAY) as bar:
                options["progress"] = bar
                return function(*args, **options)
        except TypeError:
            check_arguments(function, args, options)
            raise

    return call


# Progress bars: on a terminal or in a notebook, and only for what takes long.


@contextmanager
def progress_bar(*, delay: float = 1.0) -> Iterator[Progress]:
    """A callback ``(done, total, what)`` that draws a bar on stderr or in a notebook, from `delay` seconds on.

    >>> with progress_bar() as progress:
    ...     progress(1, 2, "rows")
    """
    if not sys.stderr.isatty() and not _is_notebook():
        yield lambda _done, _total, _what: None
        return
    bar = _bar()
    began, task, title = monotonic(), None, ""
    last: tuple[int, int, str] | None = None

    def show(done: int, total: int, what: str) -> None:
        nonlocal task, title, last
        last = (done, total, what)
        if task is None and monotonic() - began < delay:
            return
        if task is None:
            bar.start()
            task = bar.add_task(what, total=total)
        elif what != title:  # a new step, with a clock of its own
            bar.reset(task)
        title = what
        bar.update(task, completed=done, total=total, description=what)

    # A step that says nothing for long is shown as well.
    timer = Timer(delay, lambda: None if last is None else show(*last))
    timer.daemon = True
    timer.start()
    try:
        yield show
    finally:
        timer.cancel()
        bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console() if _is_notebook() else Console(file=sys.stderr),
        transient=True,
    )


def _is_notebook() -> bool:
    """Whether a kernel of Jupyter runs us."""
    return "ipykernel" in sys.modules
