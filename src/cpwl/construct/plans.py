"""All plans for one function: what was planned, and what was not and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias

from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import Plan
from cpwl.construct.select import Candidate
from cpwl.construct.table import TABLE, in_order, in_range, ruled_out
from cpwl.errors import InputError, LimitError, rare_collection
from cpwl.executors import spread

FORMULA = "formula"
"""The network that the maker of the function knows, as that of a formula: it is one more to compare."""


class Plans:
    """The plans of some constructions, by name; `refused` and `skipped` say why there is none.

    What was refused does not apply. What was skipped need not be planned; `plan` does it all the same.
    """

    def __init__(self, analysis: Analysis, names: tuple[str, ...] = ()) -> None:
        self.analysis, self.auto = analysis, not names or len(names) > 1
        self.names = names or in_order(analysis)
        self.planned: dict[str, Candidate] = {}
        self.refused: dict[str, LimitError | InputError] = {}
        self.skipped: dict[str, str] = {}
        self._running: dict[str, Iterator[_Outcome]] = {}

    def complete(self, known: Mapping[str, Candidate]) -> None:
        """Plan all that no number rules out. `known` are candidates of another function that will do as well."""
        with closing(self):
            for name in self.names:
                if name in self.planned or name in self.refused:
                    continue
                self.tell(f"planning {name}")
                skip = ruled_out(name, self.analysis, {**known, **self.planned}) if self.auto else ""
                if skip:
                    self.skipped[name] = skip
                else:
                    self._start(name, known)
                    self.plan(name)
        if self.auto and (maker := self.analysis.function.known) is not None and maker.network is not None:
            try:
                with in_range():
                    plan = Plan.of(FORMULA, maker.network(), self.analysis.sample.points)
                self.planned[FORMULA] = Candidate.of(plan, self.analysis)
            except LimitError as error:
                self.refused[FORMULA] = error

    def plan(self, name: str) -> None:
        """Plan one construction; that it does not apply is an answer, unless nothing else was asked for."""
        self.skipped.pop(name, None)
        try:
            self.planned[name] = Candidate.of(self._plan(name), self.analysis)
        except (LimitError, InputError) as error:
            # What the doctor let pass within its tolerance may be too rough for a construction all the same.
            rough = self.analysis.options.check and self.analysis.function.tol > 0
            if not self.auto or (isinstance(error, InputError) and not rough):
                raise
            self.refused[name] = error

    def tell(self, what: str) -> None:
        """Report a step of planning."""
        options = self.analysis.options
        if options.progress is not None:
            done = len(self.planned) + len(self.refused) + len(self.skipped)
            options.progress(min(done, len(self.names)), len(self.names), what)

    # Plans of several constructions at the same time, by whoever has time.
    #
    # Whether a construction is planned at all may depend on what others have given (`ruled_out`). Plans of one rank are
    # made at the same time, and one that is ruled out when its turn comes is dropped: the result is that of one after
    # the other.

    def _start(self, name: str, known: Mapping[str, Candidate]) -> None:
        """Send off all plans of the same rank that are not ruled out yet, now that it is the turn of `name`.

        One alone is better made here, where the executor can share out its parts.
        """
        executor = self.analysis.options.executor
        if executor is None or name in self._running:
            return
        rest = self.names[self.names.index(name) :]
        wave = [other for other in rest if TABLE[other].rank == TABLE[name].rank and other not in self._running]
        wave = [other for other in wave if not ruled_out(other, self.analysis, {**known, **self.planned})]
        if len(wave) > 1:
            self._running |= dict.fromkeys(wave, spread(_planned, self.analysis, wave, executor, prepare=_alone))

    def _plan(self, name: str) -> Plan:
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
        """Call back what is no longer wanted."""
        for running in self._running.values():
            getattr(running, "close", lambda: None)()
        self._running.clear()


_Outcome: TypeAlias = tuple[str, Plan | LimitError | InputError, dict[str, Any]]


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
