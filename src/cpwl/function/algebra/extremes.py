"""Maxima and minima of functions, output by output: each common piece is cut where two laws are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import within_float64
from cpwl.errors import InputError
from cpwl.exact.rational import fraction, is_number
from cpwl.function.algebra.border import inside_border
from cpwl.function.algebra.pieces import common_domain, exactly, function_of, pieces_of
from cpwl.function.cpwl import CPWL
from cpwl.function.flags.consistency import consistency
from cpwl.geometry.bodies import Bodies, joined_bodies
from cpwl.geometry.overlay import overlay, split

__all__ = ["absolute", "clip", "greatest", "least", "positive_part"]

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


def positive_part(p: CPWL) -> CPWL:
    """The function ``x -> max(0, p(x))``, output by output."""
    return greatest((p, 0))


@within_float64()
def absolute(p: CPWL) -> CPWL:
    """The function ``x -> |p(x)|``, output by output."""
    whole = exactly(p)
    number, bodies = pieces_of(whole)
    laws = whole.laws.integer()[number]
    return _chosen(bodies, laws, _negative(laws), 1, whole.domain)


def clip(p: CPWL, low: Any = None, high: Any = None) -> CPWL:
    """The function ``x -> min(max(p(x), low), high)``; a bound that is None is left out."""
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
    if (p.dim, p.outputs) != (q.dim, q.outputs):
        raise InputError(f"the first maps R^{p.dim} to R^{p.outputs}, the second R^{q.dim} to R^{q.outputs}")
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


def _negative(laws: Integers) -> Integers:
    return np.concatenate([-laws[..., :-1], laws[..., -1:]], axis=-1)
