"""What a run may cost, and how it ends: `Refused` where a proof does not show something, `Undecided` at a limit.

Every loop whose length a file decides pays for its steps with `spend`, before or right after it: for the numbers that
it works on, for their length (`work`, `long`), and for what it keeps in memory, so that a step keeps some dozens of
bytes at most. So a run ends after a time that the size of the files bounds. `main` bounds the memory itself, too.
"""

import contextvars
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeVar

T = TypeVar("T")
# Steps are about a microsecond. A run has this number, and for k numbers in the files k min(k, MANY) / 4 more, but no
# more than MOST. Proofs that `certify` makes take 2 to 350 steps for each number; 1,200 for gates in R^4, 5,500 for
# gates near hundreds of noisy simplices in space.
STEPS = 3 * 10**6
MANY = 24_000
MOST = 5 * 10**8
FEW = 50_000  # steps for a question that is not part of the proof
DIGITS = 10_000  # of an integer in a file: reading one takes time that grows with the square of its length


class Run:
    """The steps that are left, and how many numbers were read."""

    def __init__(self, steps: int) -> None:
        self.left, self.read = steps, 0

    def grant(self, count: int) -> None:
        """More steps, for numbers that were read."""
        before, self.read = self.read, self.read + count
        self.left += min(MOST, self.read * min(self.read, MANY) // 4) - min(MOST, before * min(before, MANY) // 4)


RUN: contextvars.ContextVar[Run | None] = contextvars.ContextVar("RUN", default=None)
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


@contextmanager
def limited(steps: int | None = None) -> Iterator[Run]:
    """A run of its own, with its own budget; nothing is limited outside of one."""
    run = Run(STEPS if steps is None else steps)
    token = RUN.set(run)
    try:
        yield run
    except (MemoryError, RecursionError) as reason:
        raise Undecided(f"files: {type(reason).__name__}") from None
    finally:
        RUN.reset(token)


def need(condition: object, where: str, reason: str, places: list[list[int]] | None = None) -> None:
    if not condition:
        raise Refused(f"{where}: {reason}", places)


def spend(steps: int, where: str) -> None:
    """Takes steps off what the run may cost."""
    run = RUN.get()
    if run is not None:
        run.left -= steps
        if run.left < 0:
            raise Undecided(f"{where}: not decided within the steps that files of this size are given")


def work(n: int, a: int, b: int) -> int:
    """Steps that n products of numbers of a bits with numbers of b bits take; 0 if they are few and short."""
    return n * (2**17 + a * b) >> 20


def long(x: int | Fraction) -> int:
    """Steps that an operation with a number takes; 0 if it is short."""
    return (x.numerator.bit_length() + x.denominator.bit_length() >> 10) ** 2


def longest(vectors: Iterable[Iterable[int]]) -> int:
    """The bits of the longest entry."""
    return max((max(map(int.bit_length, v), default=0) for v in vectors), default=0)


def total(terms: Iterable[int | Fraction], where: str, start: Fraction = Fraction(0)) -> Fraction:
    """The sum. Denominators may multiply, so that long sums are paid for."""
    for x in terms:
        start += x
        spend(1 + long(start), where)
    return start


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
    mine, run = SHARE.get() or [0, 1, 0], RUN.get() or Run(0)
    before, (k, m, _) = run.left, mine
    yield from ((j, items[j]) for j in range(k * len(items) // m, (k + 1) * len(items) // m))
    mine[2] += before - run.left


def aside(question: Callable[[], T], steps: int = FEW) -> T | None:
    """The answer to a question that may stay open: None if it takes more than some of the steps that are left."""
    outer = RUN.get()
    inner = Run(steps if outer is None else min(steps, outer.left))
    token, most = RUN.set(inner), inner.left
    try:
        return question()
    except Undecided:
        return None
    finally:
        RUN.reset(token)
        if outer is not None:
            outer.left -= most - max(0, inner.left)
