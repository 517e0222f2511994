"""Maxima and minima, and a function on less of the space or on all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import formerly, method_of, within_float64
from cpwl.errors import InputError
from cpwl.exact.integers import number_rows, signs_at
from cpwl.exact.rational import fraction, is_number
from cpwl.function.algebra.arithmetic import check_shapes, common_domain, exactly, function_of, pieces_of
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.first_error import first_error
from cpwl.function.flags import consistency
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.bodies import Bodies, body_of, joined_bodies, stacked
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.overlay import cut_by, overlay, repeated, split
from cpwl.geometry.polyhedra import Polyhedron, as_domain
from cpwl.geometry.probe import Probe

# The rows that bound the domain of a function, read off its pieces.
#
# A hyperplane with facets inside a convex domain has pieces on both sides; one that bounds it has them on one side.


def is_border(bodies: Bodies) -> NDArray[np.bool_]:
    """For each row whether its hyperplane has pieces on one side only."""
    planes = hyperplanes(bodies.polyhedra, 0.0)
    count = int(planes.number.max(initial=-1)) + 1
    both = np.zeros((2, count), dtype=bool)
    both[(planes.side + 1) // 2, planes.number] = True
    return np.asarray(~(both[0] & both[1])[planes.number])


def border_rows(bodies: Bodies) -> NDArray[np.object_]:
    """The rows ``(a, b)`` of the domain, each once."""
    rows = bodies.rows[is_border(bodies)]
    return rows[number_rows(rows)[0]]


def inside_border(bodies: Bodies, others: Bodies) -> NDArray[np.bool_]:
    """Which bodies are inside the convex set that the others cover."""
    rows = border_rows(others)
    result = np.ones(len(bodies), dtype=bool)
    if not len(rows):
        return result
    used, where = np.unique(bodies.spans.member, return_inverse=True)
    places = bodies.places[used]
    outside = np.asarray((signs_at(np.column_stack([rows[:, :-1], -rows[:, -1:]]), places) > 0).any(axis=0))
    result[bodies.spans.owner[outside[where.ravel()]]] = False
    probe, walls = Probe(0.0), body_of(rows)
    for i in np.flatnonzero(~bodies.known).tolist():
        result[i] = probe.bounds(bodies.polyhedra[i], walls)
    return result


def need_convex(p: CPWL, name: str, instead: str) -> None:
    """Refuse a function with a hole or a corner cut out of its domain, which no row of the border would show.

    Decided by flags, for up to five inputs.
    """
    sound = consistency(p)
    if sound.consistent is False:
        raise InputError(
            f"{name} is not continuous on a convex domain: {sound.reason}.\n  `p.doctor()` says more; {instead}."
        )


@method_of(CPWL, "restrict")
@formerly(place="domain")
def restrict(p: CPWL, *, domain: Any = None, box: Any = None) -> CPWL:
    body = as_domain(domain, p.dim, box=box)
    if body is None:
        return p
    whole = exactly(p)
    number, bodies = pieces_of(whole)
    kept, cells = cut_by(bodies, np.arange(len(bodies)), repeated(body, len(bodies)))
    if not len(cells):
        raise InputError("the function is not defined at any inner point of this domain")
    made = function_of(cells, whole.laws.integer()[number[kept]], common_domain(whole.domain, body))
    return made.with_names_of(p)


@method_of(CPWL, "extend")
def extend(p: CPWL) -> CPWL:
    whole = exactly(p)
    number, bodies = pieces_of(whole)
    inner = np.flatnonzero(~is_border(bodies))
    start = np.searchsorted(bodies.polyhedra.owner[inner], np.arange(len(bodies) + 1)).astype(np.int64)
    rows = bodies.rows[inner]
    everywhere = Polyhedron(np.zeros((0, p.dim)), np.zeros(0))
    laws = Laws.from_integer(whole.laws.integer()[number])
    made = CPWL.from_parts(Parts(stacked(rows, start), laws, everywhere, 0.0))
    error = first_error(made)
    if error is not None:
        raise InputError(
            f"the pieces at the border do not extend to a function on all of R^{p.dim}: {error.message}",
            point=error.point,
        )
    return made


# Maxima and minima of functions, output by output: each common piece is cut where two laws are equal.


Integers = NDArray[np.object_]


@within_float64()
def greatest(functions: tuple[Any, ...], sense: int = 1) -> CPWL:
    """The maximum of functions and numbers, with `sense` -1 the minimum: halves against halves."""
    if len(functions) == 1:
        return exactly(functions[0])
    half = len(functions) // 2
    one, two = (part[0] if len(part) == 1 else greatest(part, sense) for part in (functions[:half], functions[half:]))
    if is_number(one):
        one, two = two, one
    one = exactly(one)
    return _against_number(one, two, sense) if is_number(two) else _of_two(one, exactly(two), sense)


def least(functions: tuple[Any, ...]) -> CPWL:
    """The minimum of functions and numbers."""
    return greatest(functions, -1)


@method_of(CPWL, "__abs__")
def absolute(p: CPWL) -> CPWL:
    whole = exactly(p)
    number, bodies = pieces_of(whole)
    laws = whole.laws.integer()[number]
    negative = np.concatenate([-laws[..., :-1], laws[..., -1:]], axis=-1)
    return _chosen(bodies, laws, negative, 1, whole.domain)


@method_of(CPWL, "clip")
def clip(p: CPWL, low: Any = None, high: Any = None) -> CPWL:
    for bound in (low, high):
        if bound is not None and not is_number(bound):
            raise InputError(f"a bound of `clip` is a number or None, not a {type(bound).__name__}")
    if low is not None and high is not None and fraction(low) > fraction(high):
        raise InputError(f"`low` is {low}, which is more than `high`, {high}")
    made = exactly(p) if low is None else greatest((p, low))
    return made if high is None else greatest((made, high), -1)


def _against_number(p: CPWL, number: Any, sense: int) -> CPWL:
    kept, bodies = pieces_of(p)
    laws, value = p.laws.integer()[kept], fraction(number)
    level = np.zeros_like(laws)
    level[..., -2:] = [value.numerator, value.denominator]
    return _chosen(bodies, laws, level, sense, p.domain)


def _chosen(bodies: Bodies, laws: Integers, others: Integers, sense: int, domain: Any) -> CPWL:
    """The larger of two laws on each body; a body on which one law is the larger is not cut."""
    number, side, parts = _sides(bodies, laws, others)
    first = (side == sense)[..., None]
    return function_of(parts, np.where(first, laws[number], others[number]), domain)


def _of_two(p: CPWL, q: CPWL, sense: int) -> CPWL:
    check_shapes(p, q)
    (mine, one), (yours, two) = pieces_of(p), pieces_of(q)
    laws, others = p.laws.integer()[mine], q.laws.integer()[yours]
    found = overlay(one, two)
    if not len(found.cells):
        raise InputError("the domains of these functions have no inner point in common")
    number, side, parts = _sides(found.cells, laws[found.one], others[found.two])
    i, j = found.one[number], found.two[number]
    left = np.ones(len(number), dtype=bool)
    bodies, chosen = [], []
    for cell, wanted, own, law, other, rival in ((i, sense, one, laws, q, two), (j, -sense, two, others, p, one)):
        if consistency(other).consistent is False:
            continue  # a hole in its domain is in no row of the border: all pieces are cut
        whole = _unrivalled(cell, (side == wanted).all(axis=1), own, rival)
        left &= ~np.isin(cell, whole)
        bodies.append(own.take(whole))
        chosen.append(law[whole])
    rest = np.flatnonzero(left)
    bodies.append(parts.take(rest))
    chosen.append(np.where((side[rest] == sense)[..., None], laws[i[rest]], others[j[rest]]))
    return function_of(joined_bodies(bodies), np.concatenate(chosen), common_domain(p.domain, q.domain))


def _unrivalled(cell: NDArray[np.int64], wins: NDArray[np.bool_], own: Bodies, other: Bodies) -> NDArray[np.int64]:
    """The pieces that win in all their cells and are inside the other's domain: they stay as they are."""
    lost = np.zeros(len(own), dtype=bool)
    lost[cell[~wins]] = True
    some = np.zeros(len(own), dtype=bool)
    some[cell] = True
    which = np.flatnonzero(some & ~lost)
    return which[inside_border(own.take(which), other)]


def _sides(bodies: Bodies, laws: Integers, others: Integers) -> tuple[NDArray[np.int64], NDArray[np.int64], Bodies]:
    """Bodies cut along ``law = other`` of each output in turn: their numbers, and for each output which is larger."""
    number = np.arange(len(bodies))
    side = np.zeros((len(bodies), 0), dtype=np.int64)
    for k in range(laws.shape[1]):
        f, g = laws[number, k], others[number, k]
        found = split(bodies, f[:, :-1] * g[:, -1:] - g[:, :-1] * f[:, -1:])
        number, bodies = number[found.number], found.parts
        side = np.column_stack([side[found.number], found.side])
    return number, side, bodies
