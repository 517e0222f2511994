"""Sets that a function cuts out: where it has a value, where it is at most that, and what a polytope is mapped to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_switch, formerly, method_of, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.exact.integers import sign
from cpwl.exact.rational import fraction, fraction_array, fractions_for
from cpwl.function.answers import Answer, Face, LevelSet, Solutions, point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.form import exact_rank
from cpwl.function.questions.extent import Asked, asked, one_output
from cpwl.geometry.bodies import is_bounded
from cpwl.geometry.cells import cut, spanned_by
from cpwl.geometry.overlay import split
from cpwl.geometry.polyhedra import as_domain

Point = NDArray[np.object_]


@method_of(CPWL, "level_set")
def level_set(
    p: CPWL, value: Any, *, above: bool = False, output: int | str | None = None, domain: Any = None, box: Any = None
) -> LevelSet:
    check_switch(above, "above")
    about, j = asked(p, domain, box, once=True), one_output(p, output)
    found = split(about.bodies, _forms(about.laws[:, j], fraction(value)))
    which = np.flatnonzero(found.side == (1 if above else -1))
    parts = found.parts.take(which)
    return LevelSet(parts.polyhedra, about.number[found.number[which]], parts)


@method_of(CPWL, "solve")
def solve(p: CPWL, value: Any = 0, *, domain: Any = None, box: Any = None) -> Solutions:
    return solutions(asked(p, domain, box), value)


def solutions(about: Asked, value: Any) -> Solutions:
    """All solutions in the pieces asked about."""
    outputs = about.laws.shape[1]
    values = fractions_for(value, outputs, "outputs")
    if not about.bodies.known.all():
        raise LimitError("a piece contains a line, or has too many rows for its corners to be listed; give a `box`")
    forms = [_forms(about.laws[:, j], v) for j, v in enumerate(values)]
    faces: dict[frozenset[tuple[int, ...]], tuple[int, Point]] = {}
    sense = np.array([1] * about.dim + [-1], dtype=object)
    for i in _possible(about, forms):
        own = about.bodies.rows[slice(*about.bodies.polyhedra.start[i : i + 2])] * sense
        corners = about.bodies.places[about.bodies.spans.of_piece(i)]
        part = spanned_by(corners.tolist(), [[0] * about.dim + [-1], *own.tolist()])
        for form in forms:
            part = cut(cut(part, tuple(form[i].tolist())), tuple((-form[i]).tolist()))
        if part.has_point:
            places = sorted(place for place, _ in part.rays)
            faces.setdefault(frozenset(places), (i, np.array(places, dtype=object)))
    largest = _largest(faces)
    return Solutions(tuple(_face(int(about.number[i]), places) for i, places in largest))


def _forms(laws: Point, value: Fraction) -> Point:
    """Integer forms ``(g, o)`` of ``law - value``, each up to a positive factor."""
    last = laws[:, -2] * value.denominator - value.numerator * laws[:, -1]
    return np.column_stack([laws[:, :-2] * value.denominator, last])


def _possible(about: Asked, forms: list[Point]) -> list[int]:
    """The bodies on which every form has a zero, as the signs at generators tell."""
    owner, places = about.bodies.spanning
    good = np.ones(len(about.bodies), dtype=bool)
    for form in forms:
        signs = sign((form[owner] * places).sum(axis=1))
        up, down = np.zeros(len(good), dtype=bool), np.zeros(len(good), dtype=bool)
        up[owner[signs >= 0]] = True
        down[owner[signs <= 0]] = True
        good &= up & down
    return [int(i) for i in np.flatnonzero(good)]


def _largest(faces: dict[frozenset[tuple[int, ...]], tuple[int, Point]]) -> list[tuple[int, Point]]:
    """The faces whose generators are not among those of another: shared corners and edges count once."""
    holders: dict[tuple[int, ...], list[frozenset[tuple[int, ...]]]] = {}
    for key in faces:
        for place in key:
            holders.setdefault(place, []).append(key)
    return [found for key, found in faces.items() if not any(key < other for other in holders[next(iter(key))])]


def _face(piece: int, places: Point) -> Face:
    corner = np.asarray(places[:, -1] != 0, dtype=bool)
    points = fraction_array(places[corner, :-1]) / places[corner, -1:]
    return Face(piece, np.asarray(points), fraction_array(places[~corner, :-1]), exact_rank(places) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """What a function maps a polytope to: a union of polytopes, number `i` the hull of ``points[i]``."""

    points: tuple[Point, ...]
    """The images of the corners of each part, ``(k, m)`` rationals."""
    sources: tuple[Point, ...]
    """These corners."""
    pieces: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.points)

    @formerly(place="domain")
    def inside(self, *, domain: Any = None, box: Any = None) -> Answer:
        """Whether all of it lies in ``A y <= b``, or in a box: no comes with a point that is mapped outside."""
        m = self.points[0].shape[1]
        body = as_domain(domain, m, box=box, flat=True)
        rows = np.zeros((0, m + 1), dtype=object) if body is None else body.integer()
        values, points = np.concatenate(self.points), np.concatenate(self.sources)
        for row in rows:
            over = (values * row[:-1]).sum(axis=1) - row[-1]
            worst = int(np.argmax(over))
            if over[worst] > 0:
                reason = f"x = {point_text(points[worst])} is mapped to {point_text(values[worst])}, which is outside"
                return Answer(False, reason, (points[worst],), (values[worst],))
        return Answer(True, f"all corners of {len(self)} polytopes are mapped inside")


@formerly(place="domain")
@within_float64()
def image(p: CPWL, *, domain: Any = None, box: Any = None) -> Image:
    """The image of a bounded domain under `p`: a union of polytopes, given by corners, one for each piece it meets.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> found = image(p, box=(-2, 1))
    >>> len(found), bool(found.inside(box=(0, 2))), found.inside(box=(0, 1)).points
    (2, True, (array([Fraction(-2, 1)], dtype=object),))
    """
    if not (hasattr(p, "polyhedra") and hasattr(p, "laws")) or isinstance(p, type):
        raise InputError(
            f"`image` takes a CPWL, not a {type(p).__name__}: `cpwl.ask(network).inside(..)` asks a network"
        )
    return image_of(asked(p, domain, box))


def image_of(about: Asked) -> Image:
    """What the laws map the pieces to that are asked about."""
    if not is_bounded(about.bodies):
        raise InputError("`image` takes a bounded domain: give one, as `box=(low, high)`")
    points, sources = [], []
    for i in range(len(about.bodies)):
        places = about.bodies.places[about.bodies.spans.of_piece(i)]
        corners = np.asarray(fraction_array(places[:, :-1]) / places[:, -1:])
        sources.append(corners)
        points.append(np.array([about.value(i, x) for x in corners], dtype=object))
    return Image(tuple(points), tuple(sources), about.number)
