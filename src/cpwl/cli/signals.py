"""Asked to end: SIGTERM and SIGHUP are heard as Ctrl-C is, so that nothing is left half done.

Some libraries turn the exception that a signal raises inside them into one of their own: what was heard is noted.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Heard", "listening"]

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no last one


@dataclass(slots=True)
class Heard:
    """Which signal has asked the command to end, if one has."""

    number: int | None = None

    @property
    def code(self) -> int:
        """The exit code of a command that was asked to end."""
        return 128 + (self.number or int(signal.SIGINT))

    @property
    def message(self) -> str:
        """What is said about it."""
        return "interrupted" if self.number in (None, signal.SIGINT) else "terminated"


@contextmanager
def listening() -> Iterator[Heard]:
    """Raises KeyboardInterrupt in the main thread at these signals, unless the caller of this process ignores them.

    Steps that can end early then return what they have found, drafts of files are removed, and processes that were
    started are ended.
    """
    heard = Heard()

    def end(number: int, _frame: object) -> None:
        heard.number = number
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
        before = {
            number: signal.signal(number, end) for number in numbers if signal.getsignal(number) == signal.SIG_DFL
        }
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
