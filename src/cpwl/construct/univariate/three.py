"""Three hidden layers on a line: about ``2 sqrt(2m)`` neurons, whatever the signs of the breakpoints.

The group `G` of switching slots, ``G = sum relu(Z_i) >= 0``, is to count with sign + on some cells and with - on
others, and it is 0 wherever that changes. With `X` a function that bends at the knots, at least `G` where the sign is +
and 0 where it is -, ``relu(G - X)`` is 0 there and `G` here. So the function is ``v - 2 relu(G - X)``, where `v` counts
`G` with sign +.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.univariate.carry import start_signs
from cpwl.construct.univariate.deep import carried, first_layer, moves
from cpwl.construct.univariate.slots import Bent, Slots, deal, knots_of, rational, residuals, values_at_knots
from cpwl.construct.univariate.switch import Switching
from cpwl.construct.univariate.weights import bent_weights, second_layer, slot_weights
from cpwl.exact.rational import from_flint, to_flint, upwards
from cpwl.exact.sparse import RationalMatrix
from cpwl.function.bends.profile import Profile
from cpwl.network import Network
from cpwl.network.network import ExactLayer, Layer, assemble, float_layer

__all__ = ["carries", "switching_slots", "three_layers"]

Objects = NDArray[np.object_]


def switching_slots(profile: Profile, plan: Switching) -> tuple[Slots, NDArray[np.int64]]:
    """The slots of a plan; and for the switching ones the sign with which they begin, 0 for the others."""
    cells = len(plan.cells)
    plus, minus, both = plan.slots
    sigma = np.repeat([[1], [-1], [1]], plan.slots, axis=0) * np.ones(cells, dtype=np.int64)
    sigma[plus + minus :] = plan.turns
    ready = np.ones(sigma.shape, dtype=bool)
    ready[plus + minus :] = plan.active
    output = np.zeros(len(sigma), dtype=np.int64)
    given = np.repeat([0, 0, plan.start], (plus, minus, both))
    return deal(profile, plan.plan, output, sigma, ready), given


def carries(profile: Profile, plan: Switching) -> int:
    """How many neurons carry affine parts, in the second and in the third layer."""
    slots, given = switching_slots(profile, plan)
    bounded = start_signs(profile, slots, given)[1][0]
    return (1 if bounded else 2) + (1 if _least(profile) is not None or _least(_negative(profile)) is not None else 2)


def three_layers(profile: Profile, plan: Switching) -> Network:
    """The network of a plan, for one output and a profile without `rest`."""
    if _least(profile) is None and _least(_negative(profile)) is not None:
        signs = (plan.slots[1], plan.slots[0], plan.slots[2])
        opposite = replace(plan, slots=signs, turns=tuple(-t for t in plan.turns))
        view, layers = _layers(_negative(profile), opposite)
        layers[-1] = (-layers[-1][0], -layers[-1][1])
    else:
        view, layers = _layers(profile, plan)
    return assemble([view if l == 1 else float_layer(layer) for l, layer in enumerate(layers)], layers)


def _layers(profile: Profile, plan: Switching) -> tuple[Layer, list[ExactLayer]]:
    """All layers, and the float64 view of the second."""
    slots, given = switching_slots(profile, plan)
    start, bounded = start_signs(profile, slots, given)
    values = values_at_knots(slots, profile, plan.plan, start)
    affine = residuals(slots, profile, plan.plan, start)
    index, cell = knots_of(plan.plan)
    knots = rational(*profile.places[index].T)
    switch, shift = bent_weights(_switch(slots, profile, values, start, given != 0, plan, cell), knots)
    rows, biases, ways = carried(profile, affine, knots, bounded)
    weights = slot_weights(slots, profile, plan.plan, start)
    view, second = second_layer(weights, [switch, *rows], [shift, *biases], len(knots) + 1)
    return view, [first_layer(profile, knots), second, *_top(profile, plan, ways[0])]


def _switch(
    slots: Slots,
    profile: Profile,
    reads: Objects,
    start: NDArray[np.int64],
    group: NDArray[np.bool_],
    plan: Switching,
    cell: NDArray[np.int64],
) -> Bent:
    """`X`: on a cell with sign + at least `G` at its knots (`G` is convex there), on others 0; outside as steep."""
    values = np.where(reads[group] > 0, reads[group], fmpq(0)).sum(axis=0)
    turns = np.array(plan.turns)
    level = np.array([_up(max(values[cell == j])) if t > 0 else fmpq(0) for j, t in enumerate(turns)], dtype=object)
    ends = slots.signs(start)[:, [0, -1]]
    outer = []
    for side in (0, -1):
        rising = group & (ends[:, side] > 0)
        outer.append(_up(sum(slots.sizes(profile, side)[rising], fmpq(0))) if turns[side] > 0 else fmpq(0))
    return Bent(level[cell][None], np.array([-outer[0]], dtype=object), np.array([outer[1]], dtype=object))


def _up(x: fmpq) -> fmpq:
    """A short number that is not smaller."""
    return to_flint(upwards(from_flint(x)))


def _top(profile: Profile, plan: Switching, ways: list[tuple[int, Fraction]]) -> list[ExactLayer]:
    """The third layer, `v` and ``G - X``, and the output."""
    plus, minus, both = plan.slots
    sums = [Fraction(1)] * plus + [Fraction(-1)] * minus + [Fraction(1)] * both + [Fraction(0)]
    v = [*sums, *(Fraction(s) for s, _ in ways)]
    constant = Fraction(0) if len(ways) == 2 else -ways[0][0] * ways[0][1]
    gate = [Fraction(0)] * (plus + minus) + [Fraction(1)] * both + [Fraction(-1)] + [Fraction(0)] * len(ways)
    found = moves(_least(profile), None, 1)  # v is at least the function
    rows = [[s * c for c in v] for s, _ in found] + [gate]
    bias = [s * constant + shift for s, shift in found] + [Fraction(0)]
    output = [Fraction(s) for s, _ in found] + [Fraction(-2)]
    last = Fraction(0) if len(found) == 2 else -found[0][1]
    return [
        (RationalMatrix.from_dense(rows), np.array(bias, dtype=object)),
        (RationalMatrix.from_dense([output]), np.array([last], dtype=object)),
    ]


def _least(profile: Profile) -> Fraction | None:
    """The least value of the function, None if it has none."""
    laws, places = profile.laws[:, 0], profile.places
    if (profile.low is None and laws[0, 0] > 0) or (profile.high is None and laws[-1, 0] < 0):
        return None
    values = [Fraction(a * n + b * e, d * e) for (a, b, d), (n, e) in zip(laws, places, strict=False)]
    ends = ((profile.low, laws[0]), (profile.high, laws[-1]))
    values += [Fraction((law[0] * t + law[1]) / law[2]) for t, law in ends if t is not None]
    return min(values)


def _negative(profile: Profile) -> Profile:
    return replace(profile, laws=profile.laws * np.array([-1, -1, 1], dtype=object), jump=-profile.jump)
