"""The largest and the least value: at a corner of a piece, or without bound along a ray; integrals and means.

Values at corners are compared as floats, each rounded once, and as rationals where these are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_count, formerly, method_of
from cpwl.errors import InputError
from cpwl.exact.integers import ratio_view, sign
from cpwl.exact.rational import fraction_array
from cpwl.function.algebra.arithmetic import exactly, output, pieces_of, subtract
from cpwl.function.algebra.composition import inner_point
from cpwl.function.algebra.extremes import absolute, greatest, restrict
from cpwl.function.answers import Distance, Extremum, Range
from cpwl.function.cpwl import CPWL
from cpwl.function.snap.snap import snap
from cpwl.geometry.bodies import Bodies, integral_of, is_bounded
from cpwl.geometry.overlay import cut_by, disjoint, repeated
from cpwl.geometry.polyhedra import as_domain
from cpwl.geometry.probe import Probe

# What a question is about: exact pieces on a domain, with laws and their numbers in the function.


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Bodies that fill the domain asked about, each with its law."""

    bodies: Bodies
    laws: NDArray[np.object_]
    """Integer rows ``(gradient, offset, 1) * denominator``, one for each output."""
    number: NDArray[np.int64]
    """The piece of the (exact) function that each body is in."""
    moved: float
    """How far the exact function is from float data, relative."""
    noise: Fraction
    """Slopes up to this size cannot be told from 0; 0 for exact data."""

    @property
    def dim(self) -> int:
        return self.bodies.polyhedra.dim

    def value(self, i: int, point: NDArray[np.object_]) -> NDArray[np.object_]:
        """The values of the law of body `i` at a rational point."""
        law = self.laws[i]
        return np.array([Fraction((row[:-2] * point).sum() + row[-2]) / row[-1] for row in law], dtype=object)

    def slope(self, i: int, j: int) -> NDArray[np.object_]:
        """The gradient of output `j` on body `i`."""
        row = self.laws[i, j]
        return np.array([Fraction(v, row[-1]) for v in row[:-2]], dtype=object)


def asked(p: CPWL, domain: Any = None, box: Any = None, *, once: bool = False) -> Asked:
    """The exact pieces of a function on a domain: ``(A, b)``, a box, or all of its own.

    Pieces of one law may overlap. With `once`, no part is in two bodies: for volumes and integrals.
    Float data is asked through the exact function that `CPWL.snap` finds near it, and refused if there is none.
    """
    body = as_domain(domain, p.dim, box=box)
    whole = exactly(p)
    number, bodies = pieces_of(whole)
    if once:
        part, bodies = disjoint(bodies, np.unique(whole.component[number], axis=0, return_inverse=True)[1].ravel())
        number = number[part]
    if body is not None:
        kept, bodies = cut_by(bodies, np.arange(len(bodies)), repeated(body, len(bodies)))
        number = number[kept]
    if not len(bodies):
        raise InputError("the function is not defined at any inner point of this domain")
    moved, noise = 0.0, Fraction(0)
    if p.tol:
        moved = snap(p, p.tol).moved.largest
        noise = Fraction(p.tol) * Fraction(float(np.abs(p.laws.gradient).max(initial=0.0)))
    return Asked(bodies, whole.laws.integer()[number], number, moved, noise)


def one_output(p: Any, output: int | str | None) -> int:
    """The output that a question is about, by its number or its name (`CPWL.named`); the only one by default.

    `p` is a function, or a network, which has no names.
    """
    if output is None:
        if p.outputs > 1:
            what = "function" if isinstance(p, CPWL) else "network"
            raise InputError(f"the {what} has {p.outputs} outputs: choose one, as in `output=0`", option="output")
        return 0
    if isinstance(output, str):
        known, none = (p.names[p.inputs :], "`p.named` gives names") if isinstance(p, CPWL) else ((), "give a number")
        if output not in known:
            listed = ", ".join(f'"{name}"' for name in known) or f"none; {none}"
            raise InputError(f'there is no output "{output}"; the names of the outputs are {listed}', option="output")
        return known.index(output)
    check_count(output, "output", least=0, most=p.outputs - 1)
    return int(output)


@method_of(CPWL, "range")
@formerly(place="domain")
def value_range(p: CPWL, *, domain: Any = None, box: Any = None, output: int | str | None = None) -> Range:
    about, j = asked(p, domain, box), one_output(p, output)
    return Range(extreme(about, j, -1), extreme(about, j, 1))


@method_of(CPWL, "argmax")
@formerly(place="domain")
def argmax(p: CPWL, *, domain: Any = None, box: Any = None, output: int | str | None = None) -> Extremum:
    return extreme(asked(p, domain, box), one_output(p, output), 1)


@method_of(CPWL, "argmin")
@formerly(place="domain")
def argmin(p: CPWL, *, domain: Any = None, box: Any = None, output: int | str | None = None) -> Extremum:
    return extreme(asked(p, domain, box), one_output(p, output), -1)


@method_of(CPWL, "integral")
@formerly(place="domain")
def integral(p: CPWL, *, domain: Any = None, box: Any = None, output: int | str | None = None) -> Fraction:
    about, j = asked(p, domain, box, once=True), one_output(p, output)
    return integral_of(about.bodies, about.laws[:, j])[0]


@method_of(CPWL, "mean")
@formerly(place="domain")
def mean(p: CPWL, *, domain: Any = None, box: Any = None, output: int | str | None = None) -> Fraction:
    about, j = asked(p, domain, box, once=True), one_output(p, output)
    total, volume = integral_of(about.bodies, about.laws[:, j])
    return total / volume


def extreme(about: Asked, j: int, sense: int) -> Extremum:
    """The largest value of output `j`, with `sense` -1 the least."""
    bodies, laws = about.bodies, about.laws[:, j]
    owner, places = bodies.spanning
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
    law, at = laws[owner[ends]], places[ends]
    above, below = sense * (law[:, :-1] * at).sum(axis=1), law[:, -1] * at[:, -1]
    view = ratio_view(above, below)  # quotients are rounded correctly, so that they keep their order
    for k in np.flatnonzero(view == view.max(initial=-np.inf)).tolist():
        value = Fraction(sense * above[k], below[k])
        if best is None or sense * value > sense * best[0]:
            best = value, fraction_array(at[k, :-1]) / at[k, -1], int(owner[ends[k]])
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


def _unbounded(about: Asked, i: int, start: Any, ray: Any, sense: int) -> Extremum:
    """Without bound along the ray, whose largest entry is made 1: rays of corners are long integers."""
    return Extremum(sense * math.inf, np.asarray(start), ray / np.abs(ray).max(), int(about.number[i]), about.moved)


# How far two functions are apart.


@method_of(CPWL, "distance")
def distance(p: CPWL, q: CPWL, *, domain: Any = None, box: Any = None) -> Distance:
    check_argument(q, CPWL, "distance")
    difference = restrict(subtract(p, q), domain=domain, box=box)
    gap = absolute(difference)
    if gap.outputs > 1:
        gap = greatest(tuple(output(gap, j) for j in range(gap.outputs)))
    about = asked(gap, once=True)
    best = extreme(about, 0, 1)
    mean = None
    if is_bounded(about.bodies):
        total, volume = integral_of(about.bodies, about.laws[:, 0])
        mean = total / volume
    point = best.point if best.ray is None else best.point + best.ray
    return Distance(best.value, point, mean)
