"""The order of components at corners and along rays: one matrix product for all of them, then ranks.

A function that is affine is at least 0 on a polyhedron without lines iff it is so at the corners and along the rays. So
at each place the components are put in order once, and every question ``f_m >= f_c on piece i`` compares ranks.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import common_denominator, ratio_view, unit_view
from cpwl.geometry.generators import Generators

__all__ = ["order_at_generators", "rank_laws"]

_BLOCK = 1 << 24  # comparisons in one temporary array
_EPS, _TINY = np.finfo(np.float64).eps, np.finfo(np.float64).tiny


def order_at_generators(
    laws: NDArray[np.object_], component: NDArray[np.int64], spanned: Generators
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """``above[i, m]``: ``f_m >= f_c`` on piece `i` with component `c`, and ``below``; for pieces that are known.

    `laws` are integer rows ``(g, o, 1) * denominator``, one a component.
    """
    pieces = np.flatnonzero(spanned.known)
    above = np.zeros((len(component), len(laws)), dtype=bool)
    below = np.zeros_like(above)
    ranks = rank_laws(laws, spanned.places)
    lengths = np.diff(spanned.start)
    # Blocks of pieces with so many places in all that the table of comparisons stays small.
    limit = max(1, _BLOCK // len(laws))
    cuts = np.flatnonzero(np.diff(spanned.start[pieces] // limit)) + 1
    for some in np.split(pieces, cuts):
        if not len(some):
            continue
        member = spanned.member[spanned.start[some[0]] : spanned.start[some[-1] + 1]]
        own = ranks[member, np.repeat(component[some], lengths[some])][:, None]
        first = spanned.start[some] - spanned.start[some[0]]
        at = ranks[member]
        above[some] = np.logical_and.reduceat(at >= own, first, axis=0)
        below[some] = np.logical_and.reduceat(at <= own, first, axis=0)
    return above, below


def rank_laws(laws: NDArray[np.object_], places: NDArray[np.object_]) -> NDArray[np.int32]:
    """``[g, m]``: the place of component `m` in the order of the values at place `g`; equal values, equal ranks.

    Floats decide where their values are further apart than a bound on their rounding; within a chain of closer ones
    integers do.

    >>> rank_laws(np.array([[1, 0, 1], [0, 2, 1], [1, 1, 2]], dtype=object), np.array([[2, 1], [1, 0]], dtype=object))
    array([[1, 1, 0],
           [2, 0, 1]], dtype=int32)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        value, bound = _values(laws, places)
    order = np.argsort(value, axis=1, kind="stable")
    close = np.zeros((len(places), len(laws) + 1), dtype=bool)
    with np.errstate(invalid="ignore"):
        gap = np.diff(np.take_along_axis(value, order, axis=1), axis=1)
    close[:, 1:-1] = ~(gap > 2 * bound[:, None])  # so that an overflow is no answer
    ranks = np.cumsum(~close[:, :-1], axis=1, dtype=np.int32) - 1
    place, position = np.nonzero(close[:, :-1] | close[:, 1:])
    if len(place):
        ranks = _refine(laws, places, order, ranks, place, position)
    result = np.empty_like(ranks)
    np.put_along_axis(result, order, ranks, axis=1)
    return result


def _values(laws: NDArray[np.object_], places: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Float values ``[g, m]`` up to a positive factor for each place, and a bound on their errors at each place."""
    law, at = ratio_view(laws[:, :-1], laws[:, -1:]), unit_view(places)
    size = np.abs(at) @ np.abs(law).max(axis=0, initial=0.0)
    # Each input is rounded once and a sum of n + 1 products n + 1 times: twice that is safe.
    count = laws.shape[1] + 3
    return at @ law.T, 2 * count * (_EPS * size + _TINY * (1 + np.abs(law).max(initial=0.0)))


def _refine(
    laws: NDArray[np.object_],
    places: NDArray[np.object_],
    order: NDArray[np.int64],
    chain: NDArray[np.int32],
    place: NDArray[np.int64],
    position: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Ranks in which each chain of values that floats cannot tell apart is put in order exactly."""
    law = order[place, position]
    exact = _exact_values(laws, places, place, law)
    keys = (place * chain.shape[1] + chain[place, position]).tolist()
    by_value = sorted(range(len(keys)), key=list(zip(keys, exact, strict=True)).__getitem__)
    # Positions come chain by chain, so that what was sorted is written back in place.
    order[place, position] = law[by_value]
    sorted_keys, sorted_values = np.array(keys)[by_value], exact[by_value]
    larger = (np.diff(sorted_keys) == 0) & np.asarray(sorted_values[1:] != sorted_values[:-1], dtype=bool)
    step = np.concatenate([np.zeros((len(places), 1), dtype=bool), np.diff(chain, axis=1) > 0], axis=1)
    step[place[1:], position[1:]] |= larger
    return np.cumsum(step, axis=1, dtype=np.int32)


def _exact_values(
    laws: NDArray[np.object_], places: NDArray[np.object_], place: NDArray[np.int64], law: NDArray[np.int64]
) -> NDArray[Any]:
    """The values of laws at places: integers if one denominator serves all laws, else rationals."""
    whole = common_denominator(laws)
    if whole is not None:
        return np.asarray((whole[0][law] * places[place]).sum(axis=1))
    top = (laws[law, :-1] * places[place]).sum(axis=1)
    return np.array([Fraction(t, d) for t, d in zip(top, laws[law, -1], strict=True)], dtype=object)
