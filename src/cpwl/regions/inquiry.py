"""Asking a network: its regions come a part of the domain at a time, so that they are never held all at once.

A part with too many regions is halved, and its halves are asked apart. Where a question looks across facets the halves
overlap, so that each inner facet is inside one of them. All regions, laws and answers are exact. A limit on regions
ends the search: then values are the best ones that were seen, marked as such, and a yes is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from cpwl.doors import check_argument, check_call, check_count, check_limit, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.exact.integers import primitive
from cpwl.function.questions.answers import Answer, Extremum, Lipschitz, Range
from cpwl.function.questions.asked import Asked
from cpwl.function.questions.convexity import bends
from cpwl.function.questions.extent import extreme
from cpwl.function.questions.sets import Face, Solutions, image_of, solutions
from cpwl.function.questions.slopes import dependence, monotone, steepest
from cpwl.function.questions.volume import integral_of
from cpwl.geometry.bodies import Bodies, solid, stacked
from cpwl.geometry.box import bounding_box
from cpwl.geometry.polyhedra import Domain, Polyhedra, Polyhedron, as_domain
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.find import LOW, find_pieces
from cpwl.regions.pieces import Pieces, pieces_of_subdivision
from cpwl.regions.subdivide.subdivide import TooMany, essential_dimension, subdivide

__all__ = ["Inquiry", "ask"]

_DEEPEST = 200  # halvings of one part
_T = TypeVar("_T")


@within_float64()
def ask(
    network: Network,
    *,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    max_regions: int | None = 100_000,
    at_once: int = 5_000,
    progress: Progress | None = None,
) -> Inquiry:
    """The questions that a `CPWL` answers, asked of a network on a domain, region by region.

    Parameters
    ----------
    domain, box
        Where: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; all of R^n if neither is given.
    max_regions
        How many regions to look at before a question is left undecided; None: all of them.
    at_once
        How many regions to hold in memory at a time; more where so many meet in a point.
    progress
        Called as ``progress(done, total, step)`` after each part; the total is the limit.

    >>> network = Network([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [0])])
    >>> asked = ask(network, box=(-1, 2))
    >>> print(asked.range()), print(asked.is_convex())
    [0, 4]
    yes: it is convex across all facets
    (None, None)
    """
    check_argument(network, Network, "ask")
    check_limit(max_regions)
    check_count(at_once, "at_once", least=1)
    check_call(progress)
    body = as_domain(domain, network.inputs, box=box)
    return Inquiry(network, body, max_regions, at_once, progress)


@dataclass(frozen=True, slots=True, eq=False)
class Inquiry:
    """A network on a domain, ready to be asked. Every question goes through all regions once."""

    network: Network
    domain: Polyhedron | None
    max_regions: int | None
    at_once: int
    progress: Progress | None

    @within_float64()
    def range(self, *, output: int | None = None) -> Range:
        """The least and the largest value of an output, each with a point, or a ray if there is no bound."""
        return Range(self.argmin(output=output), self.argmax(output=output))

    @within_float64()
    def argmax(self, *, output: int | None = None) -> Extremum:
        """The largest value of an output, with a point where it is attained."""
        return self._extreme(output, 1)

    @within_float64()
    def argmin(self, *, output: int | None = None) -> Extremum:
        """The least value of an output, with a point where it is attained."""
        return self._extreme(output, -1)

    @within_float64()
    def lipschitz(self, norm: Any = 2, *, outputs: Any = None) -> Lipschitz:
        """The Lipschitz constant in a norm, 1, 2 or "inf", with two points that show it."""
        asked = self if outputs is None else replace(self, network=self.network[outputs])
        found, complete = asked._fold(lambda about: steepest(about, norm), lambda a, b: a if a.high >= b.high else b)
        return replace(found, complete=complete)

    @within_float64()
    def is_convex(self, *, output: int | None = None) -> Answer:
        """Whether an output is convex: no comes with two points and their middle."""
        j = self._output(output)
        return self._all(lambda about: bends(about, j, 1), overlap=True)

    @within_float64()
    def is_concave(self, *, output: int | None = None) -> Answer:
        """Whether an output is concave: no comes with two points and their middle."""
        j = self._output(output)
        return self._all(lambda about: bends(about, j, -1), overlap=True)

    @within_float64()
    def is_monotone(self, i: int = 0, *, increasing: bool = True, output: int | None = None) -> Answer:
        """Whether an output never falls along input `i`, or with `increasing` False never rises."""
        check_count(i, "i", least=0, most=self.network.inputs - 1)
        j = self._output(output)
        return self._all(lambda about: monotone(about, i, j, increasing))

    @within_float64()
    def depends_on(self, i: int, *, output: int | None = None) -> Answer:
        """Whether the network changes with input `i`: two points that show it, or a proof that it does not."""
        check_count(i, "i", least=0, most=self.network.inputs - 1)
        which = list(range(self.network.outputs)) if output is None else [self._output(output)]
        for about in (walk := self._walk()):
            found = dependence(about, i, which)
            if found:
                return found
        if not walk.complete:
            return Answer(None, walk.unfinished)
        return Answer(False, f"no region has a slope along input {i}")

    @within_float64()
    def integral(self, *, output: int | None = None) -> Fraction:
        """The integral of an output over a bounded domain, exactly; `LimitError` if there are too many regions."""
        return self._integral(output)[0]

    @within_float64()
    def mean(self, *, output: int | None = None) -> Fraction:
        """The mean of an output over a bounded domain, exactly; `LimitError` if there are too many regions."""
        total, volume = self._integral(output)
        return total / volume

    @within_float64()
    def solve(self, value: Any = 0) -> Solutions:
        """All points of the domain with that value; `LimitError` if there are too many regions."""
        faces: dict[frozenset[tuple[Any, ...]], Face] = {}
        for about in (walk := self._walk()):
            for face in solutions(about, value).faces:
                key = frozenset(map(tuple, [*face.points.tolist(), *face.rays.tolist()]))
                faces.setdefault(key, face)
        walk.check()
        return Solutions(tuple(faces.values()))

    @within_float64()
    def inside(self, domain: Domain = None, *, box: tuple[Any, Any] | None = None) -> Answer:
        """Whether all values lie in ``A y <= b``, or in a box: no comes with a point that is mapped outside."""
        target = as_domain(domain, self.network.outputs, box=box)
        return self._all(lambda about: image_of(about).inside(target))

    def _output(self, output: int | None) -> int:
        if output is None and self.network.outputs > 1:
            raise InputError(f"the network has {self.network.outputs} outputs: say which one, as `output=0`")
        if output is not None:
            check_count(output, "output", least=0, most=self.network.outputs - 1)
        return int(output or 0)

    def _extreme(self, output: int | None, sense: int) -> Extremum:
        j = self._output(output)
        found, complete = self._fold(
            lambda about: extreme(about, j, sense),
            lambda a, b: a if sense * a.value >= sense * b.value else b,
            lambda best: best.ray is not None,
        )
        return replace(found, complete=complete)

    def _integral(self, output: int | None) -> tuple[Fraction, Fraction]:
        j, total, volume = self._output(output), Fraction(0), Fraction(0)
        for about in (walk := self._walk()):
            one, two = integral_of(about.bodies, about.laws[:, j])
            total, volume = total + one, volume + two
        walk.check()
        return total, volume

    def _fold(
        self, question: Callable[[Asked], _T], best: Callable[[_T, _T], _T], last: Callable[[_T], bool] | None = None
    ) -> tuple[_T, bool]:
        """The best answer of all parts, and whether these were all; `last` says when nothing can be better."""
        found: _T | None = None
        for about in (walk := self._walk()):
            answer = question(about)
            found = answer if found is None else best(found, answer)
            if last is not None and last(found):
                return found, True
        if found is None:
            raise LimitError(walk.unfinished)
        return found, walk.complete

    def _all(self, question: Callable[[Asked], Answer], *, overlap: bool = False) -> Answer:
        """Yes if all parts say so; the first no ends the search."""
        answer = None
        for about in (walk := self._walk(overlap)):
            answer = question(about)
            if not answer:
                return answer
        if not walk.complete or answer is None:
            return Answer(None, walk.unfinished)
        return answer

    def _walk(self, overlap: bool = False) -> _Walk:
        return _Walk(self, overlap)


class _Walk:
    """The parts of the domain, one after the other, and whether they were all."""

    def __init__(self, inquiry: Inquiry, overlap: bool) -> None:
        self.inquiry, self.overlap = inquiry, overlap
        self.seen, self.complete = 0, True

    @property
    def unfinished(self) -> str:
        """Why not all regions were seen."""
        return f"stopped after {self.seen} regions; a larger `max_regions` goes on"

    def check(self) -> None:
        """Raise if not all regions were seen."""
        if not self.complete:
            raise LimitError(f"undecided: {self.unfinished}")

    def __iter__(self) -> Iterator[Asked]:
        it = self.inquiry
        if essential_dimension(it.network, it.domain) > LOW:
            yield from self._at_once()
            return
        waiting: list[tuple[Polyhedron | None, int]] = [(it.domain, 0)]
        while waiting:
            part, depth = waiting.pop()
            left = math.inf if it.max_regions is None else it.max_regions - self.seen
            if left <= 0:
                self.complete = False
                return
            # Around a corner of many regions all of them stay together, however small the part: more must be held then.
            most = it.at_once << (depth // (3 * it.network.inputs))
            try:
                made = subdivide(it.network, part, most=int(min(most, left)), strict=True)
            except TooMany:
                if left < most or depth == _DEEPEST:
                    self.complete = False
                    return
                waiting += [(half, depth + 1) for half in _halves(part, it.network.inputs, depth, self.overlap)]
                continue
            pieces = pieces_of_subdivision(made, True, spans=True)[0]
            self.seen += len(pieces)
            if it.progress is not None:
                it.progress(self.seen, it.max_regions or self.seen, "regions")
            yield _asked(pieces, it.network.inputs)

    def _at_once(self) -> Iterator[Asked]:
        """Many inputs: regions are walked through, and held, up to the limit."""
        it = self.inquiry
        pieces = find_pieces(it.network, it.domain, True, most=it.max_regions, progress=it.progress)
        self.seen, self.complete = len(pieces), pieces.complete
        yield _asked(pieces, it.network.inputs)


def _asked(pieces: Pieces, dim: int) -> Asked:
    """Regions as bodies; where all share a line their corners say nothing, and are left out."""
    rows = primitive(pieces.polyhedra.integer())
    polyhedra = stacked(rows, pieces.polyhedra.start)
    laws, every = pieces.laws.integer(), np.arange(len(pieces))
    if pieces.spans is not None and pieces.spans.rank == dim and pieces.spans.exact is not None:
        bodies = Bodies(polyhedra, pieces.spans)
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
    rows: dict[tuple[int, ...], tuple[Fraction, Any]] = {}
    for row in primitive(np.concatenate([one.integer(), two.integer()])):
        normal = primitive(row[None, :-1])[0]
        scale = Fraction(int(row[:-1][row[:-1] != 0][0]), int(normal[normal != 0][0]))
        right = Fraction(int(row[-1])) / scale
        key = tuple(normal)
        if key not in rows or right < rows[key][0]:
            rows[key] = right, row
    kept = np.array([row for _, row in rows.values()], dtype=object)
    return stacked(kept, np.array([0, len(kept)]))[0]
