"""A clock that tests of commands set themselves: no test depends on how busy the machine is."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

__all__ = ["AtStep", "Clock", "at_step", "clock"]

AtStep = Callable[[int, Callable[[], object]], None]


class Clock:
    """The time as limits of commands see it: it stands still until it runs out."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def run_out(self) -> None:
        """All time is over, and the alarm rings, as it does by itself when that happens."""
        self.now += 1e9
        os.kill(os.getpid(), signal.SIGALRM)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of `--timeout` in this process."""
    clock = Clock()
    monkeypatch.setattr("cpwl.cli.limits.monotonic", clock)
    return clock


@pytest.fixture
def at_step(monkeypatch: pytest.MonkeyPatch) -> AtStep:
    """``at_step(n, action)``: the n-th time that a command on networks says how far it is, the action happens."""

    def arrange(step: int, action: Callable[[], object]) -> None:
        said = 0

        def say(_done: int, _total: int, _what: str) -> None:
            nonlocal said
            said += 1
            if said == step:
                action()

        @contextmanager
        def progress_bar() -> Iterator[Callable[[int, int, str], None]]:
            yield say

        monkeypatch.setattr("cpwl.cli.shared.progress_bar", progress_bar)

    return arrange
