"""What a run may cost, and how it ends: `Refused` where a proof does not show something, `Undecided` at a limit."""

import contextvars
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")
STEPS = 3 * 10**6  # of about a microsecond: what a run may cost, besides a quarter of the square of the numbers read
RUN: contextvars.ContextVar[list[int] | None] = contextvars.ContextVar("RUN", default=None)  # steps left, numbers read
SHARE: contextvars.ContextVar[list[int] | None] = contextvars.ContextVar("SHARE", default=None)  # see `share`


class Refused(ValueError):
    """The proof does not show what it has to show; the message says where.

    At one of `places` network and function may be seen to differ: a positive multiple of (x, 1) is the point x, one of
    (x, 0) a direction in which to go far."""

    def __init__(self, message: str, places: list[list[int]] | None = None) -> None:
        super().__init__(message)
        self.places = places or []


class Undecided(Exception):
    """A limit was reached before the proof was accepted or refused."""


def need(condition: object, where: str, reason: str, places: list[list[int]] | None = None) -> None:
    if not condition:
        raise Refused(f"{where}: {reason}", places)


def spend(steps: int, where: str) -> None:
    """Takes steps off what the run may cost."""
    left = RUN.get()
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise Undecided(f"{where}: not decided within the steps that files of this size are given")


def each(todo: list[T], limit: int, where: str, reason: str) -> Iterator[T]:
    """The last one of a list that may grow, again and again until it is empty."""
    while todo:
        if not limit:
            raise Undecided(f"{where}: {reason}")
        limit -= 1
        spend(20, where)
        yield todo.pop()


def share(items: list[T]) -> Iterator[tuple[int, T]]:
    """All items with their numbers; or share k of m of them, where other runs look at the other shares. SHARE holds
    k, m and the steps that were spent on such items: a stranger's run has it unset, and looks at all."""
    run, left = SHARE.get() or [0, 1, 0], RUN.get() or [0]
    before, (k, m, _) = left[0], run
    yield from ((j, items[j]) for j in range(k * len(items) // m, (k + 1) * len(items) // m))
    run[2] += before - left[0]


FEW = 50_000  # steps for a question that is not part of the proof


def aside(question: Callable[[], T], steps: int = FEW) -> T | None:
    """The answer to a question that may stay open: None if it takes more than some steps."""
    token = RUN.set([steps, 0])
    try:
        return question()
    except Undecided:
        return None
    finally:
        RUN.reset(token)
