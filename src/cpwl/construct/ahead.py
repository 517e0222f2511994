"""Plans of several constructions at the same time, by whoever has time; "auto" takes them one after the other.

Whether a construction is planned at all may depend on what others have given (`ruled_out`). Plans of one rank are made
at the same time, and one that is ruled out when its turn comes is dropped: the result is that of one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import Plan
from cpwl.construct.table import TABLE, Planned, ruled_out
from cpwl.doors import within_float64
from cpwl.errors import InputError, LimitError
from cpwl.executors import spread
from cpwl.limits import rare_collection

__all__ = ["Ahead", "in_range"]

_Outcome: TypeAlias = tuple[str, Plan | LimitError | InputError, dict[str, Any]]


@contextmanager
def in_range() -> Iterator[None]:
    """Refuse numbers with which floats, which propose every choice, overflow on the way."""
    try:
        with within_float64(), np.errstate(over="raise"):
            yield
    except FloatingPointError:
        raise LimitError("numbers of this function are so far apart in size that float64 overflows") from None


class Ahead:
    """The plans that are being made for one function, by name; each is asked for once."""

    def __init__(self, analysis: Analysis, names: tuple[str, ...]) -> None:
        self.analysis, self.names = analysis, names
        self._running: dict[str, Iterator[_Outcome]] = {}

    def start(self, name: str, planned: Planned) -> None:
        """Sends off all plans of the same rank that are not ruled out yet, now that it is the turn of `name`.

        One alone is better made here, where the executor can share out its parts.
        """
        executor = self.analysis.options.executor
        if executor is None or name in self._running:
            return
        turn = self.names.index(name)
        rank = TABLE[name].rank
        wave = [other for other in self.names[turn:] if TABLE[other].rank == rank and self._is_open(other, planned)]
        if len(wave) > 1:
            self._running |= dict.fromkeys(wave, _sent(self.analysis, wave, executor))

    def plan(self, name: str) -> Plan:
        """The plan of a construction; raises what planning raises."""
        running = self._running.pop(name, None)
        if running is None:
            with in_range():
                return TABLE[name].plan(self.analysis)
        # They come in the order of the table, as they are asked for.
        _, outcome, learned = next(found for found in running if found[0] == name)
        for part, value in learned.items():
            self.analysis.__dict__.setdefault(part, value)
        if isinstance(outcome, Plan):
            return outcome
        raise outcome

    def close(self) -> None:
        """Calls back what is no longer wanted."""
        for running in self._running.values():
            getattr(running, "close", lambda: None)()
        self._running.clear()

    def _is_open(self, name: str, planned: Planned) -> bool:
        return name not in self._running and not ruled_out(name, self.analysis, planned)


def _sent(analysis: Analysis, names: list[str], executor: Executor) -> Iterator[_Outcome]:
    return spread(_planned, analysis, names, executor, prepare=_alone)


def _alone(analysis: Analysis) -> Analysis:
    """The same, to be worked on by one worker alone: who waits for others of the pool it is in may wait for ever."""
    if analysis.options.executor is None:
        return analysis
    return replace(analysis, options=replace(analysis.options, executor=None, progress=None))


def _planned(analysis: Analysis, name: str) -> _Outcome:
    """A plan, or why there is none, and what was learned that "auto" asks for later."""
    outcome: Plan | LimitError | InputError
    try:
        with rare_collection(), in_range():
            outcome = TABLE[name].plan(analysis)
    except (LimitError, InputError) as error:
        outcome = error
    return name, outcome, {"orders": analysis.orders} if analysis.knows_orders else {}
