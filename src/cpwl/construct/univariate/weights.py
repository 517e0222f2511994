"""Weights of functions that bend at knots, on a first layer of ``relu(t - x_j)`` and one ``relu(x_1 - t)``.

The weight of a knot is by how much the slope changes there, of the first knot the slope to its right, of the last
neuron minus the slope to its left; the bias is the value at the first knot.

A slot has slope `S` and zero `z` on one cell and `S'` and `z'` on the next. Between their knots `e` and `b` it has
slope ``(S' (b - z') - S (e - z)) / (b - e)``, so it changes by ``(S' (b - z') - S (b - z)) / (b - e)`` at `e` and by
``(S (e - z) - S' (e - z')) / (b - e)`` at `b`. All of that is done in integers, over one denominator of all places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.construct.univariate.cells import Cells
from cpwl.construct.univariate.slots import Bent, Slots, knots_of, rational
from cpwl.errors import LimitError
from cpwl.exact.integers import common_denominator, ratio_view
from cpwl.exact.rational import from_flint_array, to_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.function.bends.profile import Profile
from cpwl.network.network import ExactLayer, Layer

__all__ = ["bent_weights", "second_layer", "slot_weights"]

Objects = NDArray[np.object_]
_BLOCK = 2**16  # bends whose weights are computed at once
_fraction = np.frompyfunc(Fraction, 2, 1)
_numerator = np.frompyfunc(lambda v: int(v.p), 1, 1)
_denominator = np.frompyfunc(lambda v: int(v.q), 1, 1)


def bent_weights(functions: Bent, knots: Objects) -> tuple[Objects, Objects]:
    """Weights of ``relu(t - x_j)`` and of ``relu(x_1 - t)``, and the bias, of functions given at the knots."""
    steps = np.diff(functions.values, axis=1) / np.diff(knots)
    slopes = np.concatenate([steps, functions.right[:, None]], axis=1)
    hinges = np.concatenate([slopes[:, :1], np.diff(slopes, axis=1)], axis=1)
    weights = np.concatenate([hinges, -functions.left[:, None]], axis=1)
    return from_flint_array(weights), from_flint_array(functions.values[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class SlotWeights:
    """What slots read, exactly when asked for; now as floats, each rounded once, and where it is not 0."""

    slots: Slots
    profile: Profile
    plan: Cells
    slope_sign: NDArray[np.int64]
    """The sign of the slope on each cell, ``(slots, cells)``."""
    view: NDArray[np.float64]
    """``(slots, r + 1)``."""
    filled: NDArray[np.bool_]
    bias: Objects

    def exact(self) -> Objects:
        """The weights that are not 0, row after row."""
        dense = np.empty(self.view.shape, dtype=object)
        for rows, columns, above, below in _entries(self.slots, self.profile, self.plan, self.slope_sign):
            dense[rows, columns] = _fraction(above, below)
        return np.asarray(dense[self.filled], dtype=object)


def slot_weights(slots: Slots, profile: Profile, plan: Cells, start: NDArray[np.int64]) -> SlotWeights:
    """The weights of all slots that begin with these signs."""
    slope_sign = -slots.signs(start)[:, :-1]
    knots, cell = knots_of(plan)
    shape = (len(slots.output), len(knots) + 1)
    view, filled = np.zeros(shape), np.zeros(shape, dtype=bool)
    for rows, columns, above, below in _entries(slots, profile, plan, slope_sign):
        view[rows, columns] = ratio_view(above, below)
        filled[rows, columns] = above != 0
    # The first knot ends or is inside the first cell.
    assert cell[0] == 0
    which = np.maximum(slots.which[:, 0], 0)
    slope = slope_sign[:, 0].astype(object) * slots.sizes(profile, 0)
    bias = from_flint_array(slope * (fmpq(*profile.places[knots[0]]) - rational(*profile.places[which].T)))
    return SlotWeights(slots, profile, plan, slope_sign, view, filled, np.asarray(bias, dtype=object))


_Entries = tuple[NDArray[np.int64], NDArray[np.int64], Objects, Objects]


def _entries(slots: Slots, profile: Profile, plan: Cells, slope_sign: NDArray[np.int64]) -> Iterator[_Entries]:
    """Rows, columns, numerators and denominators of all weights that may be other than 0."""
    above, below, places = _tables(slots, profile, slope_sign)
    knots, _ = knots_of(plan)
    rows = np.arange(len(slots.output))
    end = np.array([e for _, e in plan.cells[:-1]])
    column = np.searchsorted(knots, end)
    yield rows, np.full(len(rows), len(knots)), -above(rows, 0), below(rows, 0)
    if knots[0] != end[0]:  # a single in the first cell
        yield rows, np.zeros(len(rows), dtype=np.int64), above(rows, 0), below(rows, 0)
    step = max(1, _BLOCK // max(1, len(rows)))
    for first in range(0, len(end), step):
        block = np.arange(first, min(first + step, len(end)))
        i, j = (axis.ravel() for axis in np.meshgrid(rows, block, indexing="ij"))
        used = (slots.which[i, j] >= 0) | (slots.which[i, j + 1] >= 0)
        i, j = i[used], j[used]
        e, b = places[end[j]], places[end[j] + 1]
        z, other_z = places[slots.which[i, j]], places[slots.which[i, j + 1]]
        below_one, below_two = below(i, j), below(i, j + 1)
        one, two = above(i, j) * below_two, above(i, j + 1) * below_one  # slopes over a common denominator
        under = below_one * below_two * (b - e)
        leading = knots[0] == end[j]  # there the weight is the whole slope
        yield _settled(i, column[j], two * (b - other_z) - one * (np.where(leading, e, b) - z), under)
        yield _settled(i, column[j] + 1, one * (e - z) - two * (e - other_z), under)


def _tables(slots: Slots, profile: Profile, slope_sign: NDArray[np.int64]) -> tuple[Any, Any, Objects]:
    """Numerator and denominator of the slope of a slot on a cell (0 / 1 where it is 0), and places up to one factor."""

    def above(i: NDArray[np.int64], j: Any) -> Objects:
        which, o = slots.which[i, j], slots.output[i]
        size = np.where(which >= 0, np.abs(profile.jump[which, o]), 0)
        return np.asarray(np.where(slope_sign[i, j] > 0, size, -size), dtype=object)

    def below(i: NDArray[np.int64], j: Any) -> Objects:
        which = slots.which[i, j]
        return np.asarray(np.where(which >= 0, profile.below[which, slots.output[i]], 1), dtype=object)

    common = common_denominator(profile.places)
    places = rational(*profile.places.T) if common is None else common[0][:, 0]
    return above, below, places


def _settled(rows: NDArray[np.int64], columns: NDArray[np.int64], above: Objects, under: Objects) -> _Entries:
    """Integers also where places had to be rationals."""
    if len(above) and not isinstance(above[0], int):
        ratio = above / under
        above, under = _numerator(ratio), _denominator(ratio)
    return rows, columns, above, under


def second_layer(
    weights: SlotWeights, rows: list[Objects], biases: list[Objects], width: int
) -> tuple[Layer, ExactLayer]:
    """The layer of slots with some dense rows below, as floats and in rationals."""
    extra = np.concatenate(rows)
    count = len(weights.view)
    filled = np.zeros((count + len(extra), width), dtype=bool)
    filled[:count, : weights.filled.shape[1]] = weights.filled
    filled[count:] = extra != 0
    view = np.zeros(filled.shape)
    view[:count, : weights.view.shape[1]] = weights.view
    bias = np.concatenate([weights.bias, *biases])
    try:
        view[count:], bias_view = to_float(extra), to_float(bias)
    except OverflowError:
        raise LimitError("a weight of the second layer is too large for float64") from None
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int64)
    indices = np.nonzero(filled)[1].astype(np.int64)
    tail = extra[filled[count:]]
    exact = RationalMatrix(filled.shape, indptr, indices, lambda: np.concatenate([weights.exact(), tail]))
    return (csr_array(view), bias_view), (exact, bias)
