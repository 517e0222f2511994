"""``python -m soak --minutes 10``: random cases until time is up; every disagreement is saved, as small as can be."""

from __future__ import annotations

import argparse
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cpwl
from soak.questions import PAIRS, QUESTIONS, Wrong

_SECONDS = 60  # for one case


@dataclass(frozen=True, slots=True)
class Case:
    """A case, by what makes it again."""

    kind: str
    family: str
    size: int
    seed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case ended: "ok", "slow", or what is wrong, at which step."""

    case: Case
    step: str
    verdict: str
    message: str = ""
    about: tuple[Any, ...] = ()


class Slow(Exception):
    """A case takes longer than it may."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raises `Slow` after that much time of the processor: how busy the machine is does not matter."""

    def ring(*_: Any) -> None:
        raise Slow

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def reasons(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and the errors that led to it: compiled code wraps what it did not expect, more than once."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def run(case: Case) -> Outcome:
    """One case from its seed."""
    warnings.simplefilter("ignore")
    step = "make"
    try:
        with limited(_SECONDS):
            for name in QUESTIONS[case.kind](case.family, np.random.default_rng(case.seed), case.size):
                step = name
    except Slow:
        return Outcome(case, step, "slow")
    except Wrong as wrong:
        return Outcome(case, step, "wrong", str(wrong)[:500], wrong.about)
    except Exception as error:
        if any(isinstance(reason, Slow) for reason in reasons(error)):  # rung in the middle of compiled code
            return Outcome(case, step, "slow")
        lines = traceback.format_exc().splitlines()
        place = " | ".join(line.strip() for line in lines[-5:])
        return Outcome(case, step, "raised", f"{type(error).__name__}: {str(error)[:200]} [{place[:400]}]")
    return Outcome(case, "", "ok")


def smallest(outcome: Outcome) -> Outcome:
    """The same fault at a smaller size, if there is one."""
    c = outcome.case
    for size in range(1, c.size):
        for seed in (c.seed, c.seed + 1, c.seed + 2):
            other = run(Case(c.kind, c.family, size, seed))
            if (other.verdict, other.step) == (outcome.verdict, outcome.step):
                return other
    return outcome


def keep(outcome: Outcome, folder: Path) -> None:
    """The values concerned as files, and a line on how to make the case again."""
    c = outcome.case
    own = folder / f"{c.kind}-{c.family}-{c.size}-{c.seed}"
    own.mkdir(parents=True, exist_ok=True)
    for k, value in enumerate(outcome.about):
        cpwl.write(value, own / f"{k}.json")
    again = f"python -m soak --again {c.kind} {c.family} {c.size} {c.seed}"
    (own / "what.txt").write_text(f"{again}\n{outcome.step}: {outcome.verdict}\n{outcome.message}\n", encoding="utf-8")


def cases(seed: int, largest: int) -> Iterator[Case]:
    """All kinds and families in turn, sizes at random."""
    rng = np.random.default_rng(seed)
    while True:
        for kind, family in PAIRS:
            yield Case(kind, family, int(rng.integers(1, largest + 1)), int(rng.integers(1 << 40)))


def soak(minutes: float, seed: int, largest: int, workers: int, folder: Path) -> int:
    """Runs until time is up; the number of disagreements."""
    counts: Counter[tuple[str, str]] = Counter()
    end = time.monotonic() + 60 * minutes
    source, faults = cases(seed, largest), 0
    with ProcessPoolExecutor(workers) as pool:
        while time.monotonic() < end:
            for outcome in pool.map(run, [next(source) for _ in range(8 * workers)]):
                counts[outcome.case.kind, outcome.verdict] += 1
                if outcome.verdict in ("wrong", "raised"):
                    faults += 1
                    keep(smallest(outcome), folder)
                    print(f"{outcome.case}: {outcome.step}: {outcome.message}", flush=True)
                elif outcome.verdict == "slow":
                    print(f"{outcome.case}: {outcome.step}: more than {_SECONDS} s", flush=True)
    for (kind, verdict), count in sorted(counts.items()):
        print(f"{kind:8} {verdict:7} {count}")
    print(f"{sum(counts.values())} cases, {faults} disagreements" + (f", saved in {folder}" if faults else ""))
    return faults


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--largest", type=int, default=14, help="the largest size of a case")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
    parser.add_argument("--again", nargs=4, metavar=("KIND", "FAMILY", "SIZE", "SEED"))
    options = parser.parse_args()
    if options.again:
        kind, family, size, seed = options.again
        outcome = run(Case(kind, family, int(size), int(seed)))
        print(f"{outcome.step}: {outcome.verdict} {outcome.message}")
        return int(outcome.verdict != "ok")
    print(f"seed {options.seed}", flush=True)
    return int(soak(options.minutes, options.seed, options.largest, options.workers, options.out) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
