"""The largest and the least value: at a corner of a piece, or without bound along a ray; integrals and means.

Floats propose which corners may be best, and rationals decide among those that a rounding bound leaves.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import within_float64
from cpwl.exact.integers import sign
from cpwl.exact.rational import fraction_array
from cpwl.function.algebra.composition import inner_point
from cpwl.function.answers import Extremum, Range
from cpwl.function.cpwl import CPWL
from cpwl.function.questions.asked import Asked, asked, one_output
from cpwl.geometry.probe import Probe
from cpwl.geometry.ranges import ranges
from cpwl.geometry.volume import integral_of

__all__ = ["argmax", "argmin", "extreme", "integral", "mean", "value_range"]

_ROUNDING = 1e-12  # of a sum of a few products, relative to their sizes


@within_float64()
def value_range(p: CPWL, domain: Any = None, *, box: Any = None, output: int | None = None) -> Range:
    """The least and the largest value of an output on the domain, exactly, each with a point; or a ray if unbounded."""
    about, j = asked(p, domain, box), one_output(p, output)
    return Range(extreme(about, j, -1), extreme(about, j, 1))


@within_float64()
def argmax(p: CPWL, domain: Any = None, *, box: Any = None, output: int | None = None) -> Extremum:
    """The largest value of an output, and a point where it is attained, or a ray along which there is no bound."""
    return extreme(asked(p, domain, box), one_output(p, output), 1)


@within_float64()
def argmin(p: CPWL, domain: Any = None, *, box: Any = None, output: int | None = None) -> Extremum:
    """The least value of an output, and a point where it is attained, or a ray along which there is no bound."""
    return extreme(asked(p, domain, box), one_output(p, output), -1)


@within_float64()
def integral(p: CPWL, domain: Any = None, *, box: Any = None, output: int | None = None) -> Fraction:
    """The integral of an output over a bounded domain, exactly."""
    about, j = asked(p, domain, box), one_output(p, output)
    return integral_of(about.bodies, about.laws[:, j])[0]


@within_float64()
def mean(p: CPWL, domain: Any = None, *, box: Any = None, output: int | None = None) -> Fraction:
    """The mean value of an output over a bounded domain, exactly."""
    about, j = asked(p, domain, box), one_output(p, output)
    total, volume = integral_of(about.bodies, about.laws[:, j])
    return total / volume


def extreme(about: Asked, j: int, sense: int) -> Extremum:
    """The largest value of output `j`, with `sense` -1 the least."""
    bodies, laws = about.bodies, about.laws[:, j]
    entry, owner = ranges(bodies.spans.start[:-1], np.diff(bodies.spans.start))
    places = bodies.places[bodies.spans.member[entry]]
    corner = np.asarray(places[:, -1] != 0, dtype=bool)
    rays = np.flatnonzero(~corner)
    growing = rays[sign((laws[owner[rays], :-2] * places[rays, :-1]).sum(axis=1)) == sense]
    if len(growing):
        k = growing[0]
        own = np.flatnonzero(corner & (owner == owner[k]))[0]
        start = fraction_array(places[own, :-1]) / places[own, -1]
        return _unbounded(about, int(owner[k]), start, fraction_array(places[k, :-1]), sense)
    best: tuple[Fraction, Any, int] | None = None
    ends = np.flatnonzero(corner)
    for k in ends[_hopeful(laws, owner[ends], places[ends], sense)].tolist():
        i, place = int(owner[k]), places[k]
        value = Fraction((laws[i, :-1] * place).sum(), laws[i, -1] * place[-1])
        if best is None or sense * value > sense * best[0]:
            best = value, fraction_array(place[:-1]) / place[-1], i
    probe = Probe(0.0)
    for i in np.flatnonzero(~bodies.known).tolist():
        most, where = probe.maximum(bodies.polyhedra[i], sense * laws[i, :-2])
        if most == math.inf:
            return _unbounded(about, i, inner_point(bodies, i), fraction_array(where), sense)
        value = Fraction(sense * most + laws[i, -2]) / laws[i, -1]
        if best is None or sense * value > sense * best[0]:
            best = value, fraction_array(where), i
    assert best is not None
    return Extremum(best[0], best[1], None, int(about.number[best[2]]), about.moved)


def _hopeful(
    laws: NDArray[np.object_], owner: NDArray[np.int64], places: NDArray[np.object_], sense: int
) -> NDArray[np.int64]:
    """The corners that may be best, as far as floats can tell."""
    law = np.asarray(laws[:, :-1] / laws[:, -1:], dtype=np.float64)[owner]
    x = np.asarray(places / places[:, -1:], dtype=np.float64)
    terms = law * x
    value, size = sense * terms.sum(axis=1), np.abs(terms).sum(axis=1) * _ROUNDING + 1e-290
    return np.flatnonzero(value + size >= (value - size).max(initial=-np.inf))


def _unbounded(about: Asked, i: int, start: Any, ray: Any, sense: int) -> Extremum:
    return Extremum(sense * math.inf, np.asarray(start), np.asarray(ray), int(about.number[i]), about.moved)
