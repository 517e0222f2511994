"""Asking a function or a network: its regions come a portion of the domain at a time.

The pieces of a function are one portion, so that the same lines of code answer for both.

All regions, laws and answers are exact. A limit on regions ends the search: then values are the best ones that were
seen, marked as such, and a yes is undecided.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from cpwl.doors import check_argument, check_call, check_count, check_limit, check_path, formerly, within_float64
from cpwl.errors import InputError, LimitError, counted
from cpwl.exact.integers import primitive
from cpwl.exact.rational import fraction, fraction_array, ratios
from cpwl.executors import More, check_executor
from cpwl.function import CPWL
from cpwl.function.answers import Answer, Extremum, Face, Lipschitz, Range, Solutions, point_text
from cpwl.function.questions.extent import Asked, asked, extreme, one_output
from cpwl.function.questions.sets import image_of, solutions
from cpwl.function.questions.slopes import bends, dependence, monotone, steepest
from cpwl.geometry.bodies import Bodies, body_of, integral_of, solid, stacked
from cpwl.geometry.polyhedra import Domain, Polyhedra, Polyhedron, as_domain
from cpwl.geometry.probe import bounding_box
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.pieces import Pieces, find_pieces, has_few_faces, pieces_of_subdivision
from cpwl.regions.subdivide import TooMany, subdivide
from cpwl.regions.tiles import Journal, Notes, Subdomain, searched, through_parts

# The regions of a network a portion of its domain at a time, so that they are never held all at once.
#
# A portion with too many regions is halved, and its halves are asked apart. Where a question looks across facets the
# halves overlap, so that each inner facet is inside one of them. Portions depend on network, domain and limits alone.
# A question is a function of a module with its arguments by name (`partial`), so that it can be sent away.


_DEEPEST = 200  # halvings of one part
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The network, what is asked of it, and how much of it at a time."""

    network: Network
    at_once: int
    max_regions: int | None
    overlap: bool
    question: Callable[[Asked], Any]

    def at(self, portion: Subdomain) -> tuple[int, bool]:
        """How many regions a portion may have, and whether that is the end of the search."""
        # Around a corner of many regions all of them stay together, however small it is: more must be held then.
        most = self.at_once << (len(portion.name) // (3 * self.network.inputs))
        last = self.max_regions is not None and self.max_regions < most
        return min(most, self.max_regions or most), last or len(portion.name) == _DEEPEST

    def halves(self, portion: Subdomain, _: int = 0) -> More:
        halves = _halves(portion.body, self.network.inputs, len(portion.name), self.overlap)
        return More([Subdomain((*portion.name, k), halves[k]) for k in (1, 0)])


def _attempt(limits: Limits, portion: Subdomain) -> Any:
    """How many regions there are, and the answer; or halves; or nothing, at the end of what is allowed."""
    most, last = limits.at(portion)
    try:
        made = subdivide(limits.network, portion.body, most=most, strict=True)
    except TooMany:
        return None if last else limits.halves(portion)
    pieces = pieces_of_subdivision(made, True, spans=True)[0]
    return len(pieces), limits.question(_asked(pieces))


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
        self.notes = None if journal is None else Notes(journal, limits.halves)
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
        for _, outcome in through_parts(_attempt, self.limits, Subdomain((), self.domain), self.executor, self.notes):
            if isinstance(outcome, More):
                continue
            if outcome is None or (most is not None and self.seen + outcome[0] > most):
                self.complete = False
                return
            self.seen += outcome[0]
            if self.progress is not None:
                self.progress(self.seen, most or self.seen, "regions")
            yield outcome[1]

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


@within_float64()
def ask(
    subject: CPWL | Network,
    *,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    max_regions: int | None = 100_000,
    at_once: int = 5_000,
    checkpoint: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Inquiry:
    """Ask questions about a function or a network on a domain; a network is examined region by region.

    Parameters
    ----------
    subject
        The function or the network.
    domain, box
        Where: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; everywhere if neither is given.
    max_regions
        Networks: stop after this many regions; the question is then undecided. None: no limit.
    at_once
        Networks: how many regions to hold in memory at a time; more if more of them meet in a point.
    checkpoint
        Networks: a folder that stores progress, for `range`, `argmin` and `argmax`. A search that was interrupted,
        even by ``kill -9``, continues from there. Use one folder for each question and output.
    executor
        Any `concurrent.futures.Executor`; answers do not depend on it.
    progress
        Called as ``progress(done, total, step)`` after each part; the total is the limit.

    >>> network = Network([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [0])])
    >>> asked = ask(network, box=(-1, 2))
    >>> print(asked.range()), print(asked.is_convex())
    [0, 4]
    yes: it is convex across all facets
    (None, None)
    """
    check_argument(subject, (Network, CPWL), "ask")
    check_limit(max_regions)
    check_count(at_once, "at_once", least=1)
    check_call(progress)
    check_executor(executor)
    if checkpoint is not None:
        check_path(checkpoint, "ask")
        if isinstance(subject, CPWL):
            raise InputError("`checkpoint` is for networks: questions about functions are answered at once")
    body = as_domain(domain, subject.inputs, box=box)
    return Inquiry(subject, body, max_regions, at_once, progress, executor, checkpoint)


@dataclass(frozen=True, slots=True, eq=False)
class Inquiry:
    """A function or a network on a domain, ready to be asked. Every question goes through all regions once."""

    subject: CPWL | Network
    domain: Polyhedron | None
    max_regions: int | None
    at_once: int
    progress: Progress | None
    executor: Executor | None = None
    checkpoint: str | os.PathLike[str] | None = None

    @within_float64()
    def range(self, *, output: int | str | None = None) -> Range:
        """The least and the largest value of an output, each with a point, or a ray if there is no bound."""
        return Range(*self._extremes(output, (-1, 1)))

    @within_float64()
    def argmax(self, *, output: int | str | None = None) -> Extremum:
        """The largest value of an output, with a point where it is attained."""
        return self._extremes(output, (1,))[0]

    @within_float64()
    def argmin(self, *, output: int | str | None = None) -> Extremum:
        """The least value of an output, with a point where it is attained."""
        return self._extremes(output, (-1,))[0]

    @within_float64()
    def lipschitz(self, norm: Any = 2, *, outputs: Any = None) -> Lipschitz:
        """The Lipschitz constant in a norm, 1, 2 or "inf", with two points that show it."""
        asked = self if outputs is None else replace(self, subject=self.subject[outputs])
        found, complete = asked._fold(partial(steepest, norm=norm), lambda a, b: a if a.high >= b.high else b)
        return replace(found, complete=complete)

    @within_float64()
    def is_convex(self, *, output: int | str | None = None) -> Answer:
        """Whether an output is convex: no comes with two points and their middle."""
        j = one_output(self.subject, output)
        return self._all(partial(bends, j=j, sense=1), overlap=True)

    @within_float64()
    def is_concave(self, *, output: int | str | None = None) -> Answer:
        """Whether an output is concave: no comes with two points and their middle."""
        j = one_output(self.subject, output)
        return self._all(partial(bends, j=j, sense=-1), overlap=True)

    @within_float64()
    def is_monotone(self, i: int = 0, *, increasing: bool | None = None, output: int | str | None = None) -> Answer:
        """Whether an output never falls along input `i` (`increasing` True), never rises (False), or either (None)."""
        check_count(i, "i", least=0, most=self.subject.inputs - 1)
        j = one_output(self.subject, output)
        if increasing is not None or isinstance(self.subject, CPWL):
            return self._all(partial(monotone, i=i, j=j, increasing=increasing))
        # One portion may rise and another fall: each direction is asked of all of them.
        rising = self._all(partial(monotone, i=i, j=j, increasing=True))
        falling = rising if rising.holds is not False else self._all(partial(monotone, i=i, j=j, increasing=False))
        if falling.holds is not False:
            return falling
        reason = f"{rising.reason}, and {falling.reason}"
        return Answer(False, reason, rising.points + falling.points, rising.values + falling.values)

    @within_float64()
    def depends_on(self, i: int, *, output: int | str | None = None) -> Answer:
        """Whether the values change with input `i`: two points that show it, or a proof that they do not."""
        check_count(i, "i", least=0, most=self.subject.inputs - 1)
        which = list(range(self.subject.outputs)) if output is None else [one_output(self.subject, output)]
        found = None
        for found in (walk := self._walk(partial(dependence, i=i, which=which))):
            if found:
                return found
        if not walk.complete or found is None:
            return Answer(None, walk.unfinished)
        return found if isinstance(self.subject, CPWL) else Answer(False, f"no region has a slope along input {i}")

    @within_float64()
    def integral(self, *, output: int | str | None = None) -> Fraction:
        """The integral of an output over a bounded domain, exactly; `LimitError` if there are too many regions."""
        return self._integral(output)[0]

    @within_float64()
    def mean(self, *, output: int | str | None = None) -> Fraction:
        """The mean of an output over a bounded domain, exactly; `LimitError` if there are too many regions."""
        total, volume = self._integral(output)
        return total / volume

    @within_float64()
    def solve(self, value: Any = 0) -> Solutions:
        """All points of the domain with that value; `LimitError` if there are too many regions."""
        faces: dict[frozenset[tuple[Any, ...]], Face] = {}
        for found in (walk := self._walk(partial(solutions, value=value))):
            for face in found.faces:
                key = frozenset(map(tuple, [*face.points.tolist(), *face.rays.tolist()]))
                faces.setdefault(key, face)
        walk.check()
        return Solutions(tuple(faces.values()))

    @formerly(place="domain")
    @within_float64()
    def inside(self, *, domain: Domain = None, box: tuple[Any, Any] | None = None) -> Answer:
        """Whether all values lie in ``A y <= b``, or in a box: no comes with a point that is mapped outside."""
        target = as_domain(domain, self.subject.outputs, box=box, flat=True)
        return self._all(partial(_inside, target=target))

    @within_float64()
    def is_robust(self, x: Any, radius: Any) -> Answer:
        """Whether no output exceeds the one that is the largest at `x`, in the whole box ``|x' - x|_inf <= radius``.

        A classifier that takes the largest of its outputs has one class there. A no comes with a point of the box
        where another output is larger. Inputs outside the domain of the question do not count.

        >>> network = Network([([[1, 0], [0, 1]], [0, 0]), ([[1, 0], [0, 1]], [0, 0])])
        >>> print(ask(network).is_robust([2, 0], "1/2"))
        yes: output 0 is the largest at every point
        >>> print(ask(network).is_robust([2, 0], 3).holds)
        False
        """
        centre, reach = fraction_array(x).reshape(-1), fraction(radius)
        if len(centre) != self.subject.inputs:
            given, inputs = counted(len(centre), "coordinate"), counted(self.subject.inputs, "input")
            raise InputError(f"`x` has {given}, but there are {inputs}")
        if self.subject.outputs < 2:
            raise InputError("a class is the largest of several outputs, but there is one output")
        if reach <= 0:
            raise InputError(f"`radius` is {radius}: give a number larger than 0")
        values = self.subject(centre[None])[0]
        if values[0] is None:
            raise InputError("the function is not defined at `x`")
        best = int(np.argmax(values))
        others = [j for j in range(self.subject.outputs) if j != best]
        rows = np.zeros((len(others), self.subject.outputs), dtype=object)
        rows[np.arange(len(others)), others] = 1
        rows[:, best] = -1
        around = as_domain(None, self.subject.inputs, box=(centre - reach, centre + reach))
        assert around is not None
        answer = replace(self, domain=around.meet(self.domain)).inside(domain=(rows, [0] * len(others)))
        if answer.holds is None:
            return answer
        if answer.holds:
            return replace(answer, reason=f"output {best} is the largest at every point")
        rival = int(np.argmax(answer.values[0]))
        where = point_text(answer.points[0])
        return replace(answer, reason=f"output {best} is the largest at `x`, but output {rival} at {where}")

    def _extremes(self, output: int | str | None, senses: tuple[int, ...]) -> list[Extremum]:
        """The largest value, with a sense of -1 the least; one search for all."""
        j = one_output(self.subject, output)
        question = partial(_extremes, j=j, senses=senses)
        if self.checkpoint is None or isinstance(self.subject, CPWL):
            found, complete = self._fold(question, partial(_better, senses), _are_unbounded)
        else:
            asked: dict[str, Any] = {"question": "extremes", "output": j, "senses": list(senses)}
            asked |= {"at_once": self.at_once, "keeps": (Extremum,)}
            with Journal(self.checkpoint, searched(self.subject, self.domain), **asked) as journal:
                found, complete = self._fold(question, partial(_better, senses), _are_unbounded, journal)
                if complete:
                    journal.finish()
        return [replace(each, complete=complete) for each in found]

    def _integral(self, output: int | str | None) -> tuple[Fraction, Fraction]:
        j, total, volume = one_output(self.subject, output), Fraction(0), Fraction(0)
        for one, two in (walk := self._walk(partial(_integral, j=j), once=True)):
            total, volume = total + one, volume + two
        walk.check()
        return total, volume

    def _fold(
        self,
        question: Callable[[Asked], _T],
        best: Callable[[_T, _T], _T],
        last: Callable[[_T], bool] | None = None,
        journal: Journal | None = None,
    ) -> tuple[_T, bool]:
        """The best answer of all portions, and whether these were all; `last` says when nothing can be better.

        An interrupted search with a journal ends with what it has seen.
        """
        found: _T | None = None
        walk = self._walk(question, journal=journal)
        try:
            for answer in walk:
                found = answer if found is None else best(found, answer)
                if last is not None and last(found):
                    return found, True
        except KeyboardInterrupt:
            if journal is None or found is None:
                raise
            return found, False
        if found is None:
            raise LimitError(walk.unfinished)
        return found, walk.complete

    def _all(self, question: Callable[[Asked], Answer], *, overlap: bool = False) -> Answer:
        """Yes if all portions say so; the first no ends the search."""
        answer = None
        for answer in (walk := self._walk(question, overlap=overlap)):
            if not answer:
                return answer
        if not walk.complete or answer is None:
            return Answer(None, walk.unfinished)
        return answer

    def _walk(
        self,
        question: Callable[[Asked], _T],
        *,
        overlap: bool = False,
        once: bool = False,
        journal: Journal | None = None,
    ) -> Portions[_T] | Whole[_T]:
        if isinstance(self.subject, CPWL):
            return Whole(question(asked(self.subject, self.domain, None, once=once)))
        if self.checkpoint is not None and journal is None:
            raise InputError("`checkpoint` keeps the search for `range`, `argmin` or `argmax`: ask this without it")
        limits = Limits(self.subject, self.at_once, self.max_regions, overlap, question)
        return Portions(limits, self.domain, self.executor, self.progress, journal)


def _extremes(about: Asked, j: int, senses: tuple[int, ...]) -> list[Extremum]:
    return [extreme(about, j, sense) for sense in senses]


def _better(senses: tuple[int, ...], one: list[Extremum], two: list[Extremum]) -> list[Extremum]:
    """For each sense the better one, the first if they are equal."""
    return [a if s * a.value >= s * b.value else b for s, a, b in zip(senses, one, two, strict=True)]


def _are_unbounded(best: list[Extremum]) -> bool:
    return all(each.ray is not None for each in best)


def _inside(about: Asked, target: Polyhedron | None) -> Answer:
    return image_of(about).inside(domain=target)


def _integral(about: Asked, j: int) -> tuple[Fraction, Fraction]:
    return integral_of(about.bodies, about.laws[:, j])
