"""Two hidden layers on a line: knots, then slots; about ``2 sqrt(2m)`` neurons for `m` breakpoints.

The first layer has ``relu(t - x_j)`` for each knot and one ``relu(x_1 - t)``: what reads it may be any function that
bends at the knots. The second has the slots, and one or two neurons that carry the rest. See docs/univariate.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.univariate.carry import start_signs
from cpwl.construct.univariate.cells import Cells, Classes, best_cells
from cpwl.construct.univariate.slots import Bent, Slots, knots_of, rational, residuals, slots_of
from cpwl.construct.univariate.weights import bent_weights, second_layer, slot_weights
from cpwl.exact.rational import from_flint_array, to_flint
from cpwl.exact.sparse import RationalMatrix
from cpwl.function.bends.profile import Profile
from cpwl.network import Network
from cpwl.network.network import ExactLayer, assemble, float_layer

__all__ = ["carried", "first_layer", "moves", "two_layers", "two_layers_plan"]

Objects = NDArray[np.object_]
Range = tuple[Fraction | None, Fraction | None]


def two_layers_plan(profile: Profile, classes: Classes) -> tuple[Cells, int] | None:
    """Cells and slots with the fewest neurons, and how many these are; None if there are too few breakpoints."""
    plans = best_cells(classes)
    if not plans:
        return None
    slanted = sum(any(form) for form in profile.rest)
    best, fewest = plans[0], plans[0].neurons + 2 * profile.outputs + 2 * slanted + 1
    for plan in plans:
        if plan.neurons + profile.outputs + 3 * slanted >= fewest:
            break
        slots = slots_of(profile, plan, classes.kinds)
        _, bounded = start_signs(profile, slots)
        neurons = plan.knots + 1 + len(slots.output) + 2 * slanted + sum(1 if way else 2 for way in bounded)
        if neurons < fewest:
            best, fewest = plan, neurons
    return best, fewest


def two_layers(profile: Profile, plan: Cells, classes: Classes) -> Network:
    """The network of these cells; what is left of ``rest . x`` passes both layers by a pair of neurons each."""
    slots = slots_of(profile, plan, classes.kinds)
    start, bounded = start_signs(profile, slots)
    affine = residuals(slots, profile, plan, start)
    knots = rational(*profile.places[knots_of(plan)[0]].T)
    first = first_layer(profile, knots)
    rows, biases, ways = carried(profile, affine, knots, bounded)
    view, second = second_layer(slot_weights(slots, profile, plan, start), rows, biases, first[0].shape[0])
    last = _output(slots, ways)
    return assemble([float_layer(first), view, float_layer(last)], [first, second, last])


def first_layer(profile: Profile, knots: Objects) -> ExactLayer:
    """Hinges at the knots, one to the left of the first, and pairs for each `rest`."""
    exact = from_flint_array(knots)
    rows = [*np.outer(np.ones(len(knots), dtype=np.int64).astype(object), profile.direction), -profile.direction]
    bias = [*-exact, exact[0]]
    for form in profile.rest:
        if any(form):
            rows += [form, -form]
            bias += [Fraction(0), Fraction(0)]
    return RationalMatrix.from_dense(np.array(rows, dtype=object)), np.array(bias, dtype=object)


def carried(
    profile: Profile, affine: Bent, knots: Objects, bounded: list[int]
) -> tuple[list[Objects], list[Objects], list[list[tuple[int, Fraction]]]]:
    """The neurons that carry `A` of each output: rows, biases, and their signs with the shifts that they have."""
    slanted = [any(form) for form in profile.rest]
    width = len(knots) + 1 + 2 * sum(slanted)
    rows, biases = [], []
    ways: list[list[tuple[int, Fraction]]] = []
    for o, way in enumerate(bounded):
        own = Bent(affine.values[o : o + 1], affine.left[o : o + 1], affine.right[o : o + 1])
        row, constant = bent_weights(own, knots)
        row, (least, most) = _wide(row, width), _range(profile, own, knots)
        if slanted[o]:
            pair = len(knots) + 1 + 2 * sum(slanted[:o])
            row[0, pair : pair + 2] = Fraction(1), Fraction(-1)
            least = most = None
        ways.append(moves(least, most, way))
        for s, shift in ways[-1]:
            rows.append(s * row)
            biases.append(s * constant + shift)
    return rows, biases, ways


def moves(least: Fraction | None, most: Fraction | None, way: int) -> list[tuple[int, Fraction]]:
    """Signs and shifts with which something of this range is carried: one neuron if it has a bound, else two."""
    if least is not None and (way >= 0 or most is None):
        return [(1, -least)]
    return [(1, Fraction(0)), (-1, Fraction(0))] if most is None else [(-1, most)]


def _wide(rows: Objects, width: int) -> Objects:
    """The rows with zeros behind."""
    full = np.full((len(rows), width), Fraction(0), dtype=object)
    full[:, : rows.shape[1]] = rows
    return full


def _range(profile: Profile, own: Bent, knots: Objects) -> Range:
    """The least and the largest value on the domain of a single function that bends at the knots; None: no bound."""
    values = list(own.values[0])
    open_low = open_high = False
    for end, at, knot, outward in (
        (profile.low, own.values[0, 0], knots[0], -own.left[0]),
        (profile.high, own.values[0, -1], knots[-1], own.right[0]),
    ):
        if end is not None:
            values.append(at + outward * abs(to_flint(end) - knot))
        elif outward < 0:
            open_low = True
        elif outward > 0:
            open_high = True
    return (None if open_low else from_flint_array(min(values))), (None if open_high else from_flint_array(max(values)))


def _output(slots: Slots, ways: list[list[tuple[int, Fraction]]]) -> ExactLayer:
    count = len(slots.output)
    rows, columns, values = [*slots.output], [*range(count)], [Fraction(int(s)) for s in slots.sigma[:, 0]]
    bias = []
    for o, way in enumerate(ways):
        for s, _ in way:
            rows.append(o)
            columns.append(len(columns))
            values.append(Fraction(s))
        bias.append(Fraction(0) if len(way) == 2 else -way[0][0] * way[0][1])
    return RationalMatrix.from_triples(rows, columns, values, (len(ways), len(columns))), np.array(bias, dtype=object)
