"""Progress bars: on a terminal, and only for what takes more than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(*, delay: float = 1.0) -> Iterator[Callable[[int, int, str], None]]:
    """A callback ``(done, total, what)`` that draws a bar on stderr, from `delay` seconds on.

    >>> with progress_bar() as progress:
    ...     progress(1, 2, "rows")
    """
    if not sys.stderr.isatty():
        yield _ignore
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


def _ignore(_done: int, _total: int, _what: str) -> None:
    pass


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
