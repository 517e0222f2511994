"""The regions of a network a portion of its domain at a time, so that they are never held all at once.

A portion with too many regions is halved, and its halves are asked apart. Where a question looks across facets the
halves overlap, so that each inner facet is inside one of them. Portions depend on network, domain and limits alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np

from cpwl.errors import LimitError
from cpwl.exact.integers import primitive
from cpwl.exact.rational import ratios
from cpwl.executors import More
from cpwl.function.questions.extent import Asked
from cpwl.geometry.bodies import Bodies, body_of, solid, stacked
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import bounding_box
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.pieces import Pieces, find_pieces, has_few_faces, pieces_of_subdivision
from cpwl.regions.subdivide.subdivide import TooMany, subdivide
from cpwl.regions.tiles import Journal, Notes, Part, through_parts

_DEEPEST = 200  # halvings of one part
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Question(Generic[_T]):
    """What is asked of the regions of each portion: a function of a module, so that it can be sent away."""

    function: Callable[..., _T]
    arguments: tuple[Any, ...]
    note: Callable[[_T], Any] | None = None
    recall: Callable[[Any], _T] | None = None
    """How an answer is written into a journal and read back, where that can be done."""

    def __call__(self, about: Asked) -> _T:
        return self.function(about, *self.arguments)


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The network, what is asked of it, and how much of it at a time."""

    network: Network
    at_once: int
    max_regions: int | None
    overlap: bool
    question: Question[Any]

    def at(self, portion: Part) -> tuple[int, bool]:
        """How many regions a portion may have, and whether that is the end of the search."""
        # Around a corner of many regions all of them stay together, however small it is: more must be held then.
        most = self.at_once << (len(portion.name) // (3 * self.network.inputs))
        last = self.max_regions is not None and self.max_regions < most
        return min(most, self.max_regions or most), last or len(portion.name) == _DEEPEST

    def halves(self, portion: Part) -> More:
        halves = _halves(portion.body, self.network.inputs, len(portion.name), self.overlap)
        return More([Part((*portion.name, k), halves[k]) for k in (1, 0)])


def _attempt(limits: Limits, portion: Part) -> Any:
    """How many regions there are, and the answer; or halves; or nothing, at the end of what is allowed."""
    most, last = limits.at(portion)
    try:
        made = subdivide(limits.network, portion.body, most=most, strict=True)
    except TooMany:
        return _NOTHING if last else limits.halves(portion)
    pieces = pieces_of_subdivision(made, True, spans=True)[0]
    return len(pieces), limits.question(_asked(pieces))


_NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Whole(Generic[_T]):
    """The one answer of a function, whose pieces are all there: a single portion."""

    answer: _T
    complete = True
    unfinished = ""

    def check(self) -> None:
        """All pieces were seen."""

    def __iter__(self) -> Iterator[_T]:
        yield self.answer


class Portions(Generic[_T]):
    """The answers of all portions, one after the other, and whether they were all."""

    def __init__(
        self,
        limits: Limits,
        domain: Polyhedron | None,
        executor: Executor | None,
        progress: Progress | None,
        journal: Journal | None,
    ) -> None:
        self.limits, self.domain, self.executor, self.progress = limits, domain, executor, progress
        self.notes = None if journal is None else Notes(journal, self._noted, self._recalled)
        self.seen, self.complete = 0, True

    @property
    def unfinished(self) -> str:
        """Why not all regions were seen."""
        return f"stopped after {self.seen} regions; a larger `max_regions` continues the search"

    def check(self) -> None:
        """Raise if not all regions were seen."""
        if not self.complete:
            raise LimitError(f"undecided: {self.unfinished}")

    def __iter__(self) -> Iterator[_T]:
        if not has_few_faces(self.limits.network, self.domain):
            yield self.limits.question(self._at_once())
            return
        most = self.limits.max_regions
        for _, outcome in through_parts(_attempt, self.limits, Part((), self.domain), self.executor, self.notes):
            if isinstance(outcome, More):
                continue
            if outcome == _NOTHING or (most is not None and self.seen + outcome[0] > most):
                self.complete = False
                return
            self.seen += outcome[0]
            if self.progress is not None:
                self.progress(self.seen, most or self.seen, "regions")
            yield outcome[1]

    def _noted(self, _: Part, outcome: Any) -> dict[str, Any] | None:
        if outcome == _NOTHING:
            return None
        if isinstance(outcome, More):
            return {"split": len(outcome.items)}
        assert self.limits.question.note is not None
        return {"regions": outcome[0], "done": self.limits.question.note(outcome[1])}

    def _recalled(self, portion: Part, noted: dict[str, Any]) -> Any:
        """What an earlier search has found on a portion."""
        if "split" in noted:
            return self.limits.halves(portion)
        assert self.limits.question.recall is not None
        return int(noted["regions"]), self.limits.question.recall(noted["done"])

    def _at_once(self) -> Asked:
        """Many inputs: regions are walked through, and held, up to the limit."""
        pieces = find_pieces(
            self.limits.network,
            self.domain,
            True,
            most=self.limits.max_regions,
            executor=self.executor,
            progress=self.progress,
        )
        self.seen, self.complete = len(pieces), pieces.complete
        return _asked(pieces)


def _asked(pieces: Pieces) -> Asked:
    """Regions as bodies; where all share a line their corners say nothing, and are left out."""
    rows = primitive(pieces.polyhedra.integer())
    polyhedra = stacked(rows, pieces.polyhedra.start)
    laws, every = pieces.laws.integer(), np.arange(len(pieces))
    spans = pieces.spans
    if spans is not None and spans.rank == polyhedra.dim and spans.places.dtype == object:
        bodies = Bodies(polyhedra, spans)
    else:
        every, bodies = solid(polyhedra)
    return Asked(bodies, laws[every], every, 0.0, Fraction(0))


def _halves(part: Polyhedron | None, dim: int, depth: int, overlap: bool) -> list[Polyhedron]:
    """Two parts of a part, cut along an axis: the longest side of its box, or one without an end."""
    ends = [(None, None)] * dim if part is None else bounding_box(part)
    assert ends is not None
    axis = max(range(dim), key=lambda k: (_length(ends[k]), -((k - depth) % dim)))
    low, high = ends[axis]
    size = Fraction(4**depth) if low is None or high is None else high - low
    if low is None and high is None:
        at = Fraction(0)
    elif low is None or high is None:
        at = (low if high is None else high) + (size if high is None else -size)  # type: ignore[operator]
    else:
        at = (low + high) / 2
    beyond = at + size / 16 if overlap else at
    unit = [int(k == axis) for k in range(dim)]
    walls = Polyhedra.from_lists([[unit], [[-v for v in unit]]], [[beyond], [-at]], dim=dim)
    if part is None:
        return list(walls)
    return [_both(part, wall) for wall in walls]


def _length(ends: tuple[Fraction | None, Fraction | None]) -> float:
    low, high = ends
    return math.inf if low is None or high is None else float(high - low)


def _both(one: Polyhedron, two: Polyhedron) -> Polyhedron:
    """The intersection; of rows with one normal the nearer is enough."""
    rows, nearest = primitive(one.meet(two).integer()), dict[tuple[int, ...], int]()
    scale = np.abs(np.gcd.reduce(rows[:, :-1], axis=1))  # of a single number it is that number, sign and all
    right = np.asarray(ratios(rows[:, -1], scale))
    for k, normal in enumerate(map(tuple, primitive(rows[:, :-1]).tolist())):
        if normal not in nearest or right[k] < right[nearest[normal]]:
            nearest[normal] = k
    return body_of(rows[list(nearest.values())])
