"""Functions on a line, and those that bend in one direction only: one hidden layer, or more with far fewer neurons.

With `m` breakpoints one hidden layer needs `m` or `m + 1` neurons. Two need about ``2 sqrt(2m)`` if positive and
negative breakpoints are mixed or all of one kind, three about as many whatever their order. See docs/univariate.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.hinges import hinge_network, one_layer
from cpwl.construct.options import Minimize
from cpwl.construct.plan import Plan
from cpwl.construct.univariate.cells import Classes, best_switching
from cpwl.construct.univariate.deep import carries, three_layers, two_layers, two_layers_plan
from cpwl.errors import ConstructionError, InputError
from cpwl.function.bends.profile import Profile
from cpwl.network import Network

__all__ = ["plan", "univariate"]

_Way = tuple[int, int, Callable[[], Network]]
"""Hidden layers, at least so many neurons, and how to build it."""
_MANY = 50_000  # breakpoints up to which three layers are planned


def univariate(
    analysis: Analysis, *, layers: Literal[1, 2, 3] | None = None, minimize: Minimize = "neurons"
) -> Network:
    """The network of a function on a line, or of one that bends in one direction, with one, two or three hidden layers.

    `layers` None takes what is smallest in the sense of `minimize`. Raises `ConstructionError` for other functions.

    >>> from cpwl.function import CPWL
    >>> zigzag = Analysis(CPWL.from_breakpoints(range(30), [i % 2 for i in range(30)]))
    >>> univariate(zigzag, layers=1).sizes.neurons, univariate(zigzag).sizes.neurons
    (29, 14)
    """
    if layers not in (None, 1, 2, 3):
        raise InputError(f"`layers` must be 1, 2, 3 or None, not {layers!r}")
    profile = analysis.profile
    wanted = 1 if minimize == "depth" and layers is None else layers
    ways = [way for way in _ways(analysis, wanted) if wanted in (None, way[0])]
    if not ways:
        raise ConstructionError(f"{len(profile.places)} breakpoints are too few for {layers} hidden layers")
    best: Network | None = None
    for _, neurons, build in sorted(ways, key=lambda way: way[:2][::-1]):
        if best is not None and minimize == "neurons" and neurons >= best.sizes.neurons:
            break
        network = build()
        if best is None or _cost(network, minimize) < _cost(best, minimize):
            best = network
    assert best is not None
    return best


def _cost(network: Network, minimize: Minimize) -> tuple[int, ...]:
    sizes = network.sizes
    return getattr(sizes, minimize), sizes.neurons, sizes.depth


def _ways(analysis: Analysis, wanted: int | None) -> Iterator[_Way]:
    """What can be built, each with its number of neurons (for one layer: the least that it may be)."""
    profile: Profile = analysis.profile
    m = len(profile.places)
    if wanted in (None, 1):
        yield 1, m, lambda: hinge_network(analysis) if profile.rest.any() else one_layer(profile)
    if m < 3 or wanted == 1:
        return
    classes = Classes.from_signs(np.where(profile.jump > 0, 1, np.where(profile.jump < 0, -1, 0)))
    found = two_layers_plan(profile, classes)
    least = m
    if found is not None:
        plan, neurons = found
        least = min(m, neurons)
        yield 2, neurons, lambda: two_layers(profile, plan, classes)
    if profile.outputs == 1 and not profile.rest.any() and (wanted == 3 or (wanted is None and m <= _MANY)):
        plans = best_switching(classes, 2 * m if wanted == 3 else least - 2)
        counted = [(switching.neurons + carries(profile, switching), i) for i, switching in enumerate(plans)]
        if counted:
            neurons, i = min(counted)
            yield 3, neurons, lambda: three_layers(profile, plans[i])


def plan(analysis: Analysis) -> Plan:
    """The plan of the smallest network with one, two or three hidden layers.

    >>> from cpwl.function import CPWL
    >>> made = plan(Analysis(CPWL.from_breakpoints(range(30), [i % 2 for i in range(30)])))
    >>> made.sizes.neurons, made.sizes == made.build().sizes
    (14, True)
    """
    network = univariate(analysis.exact, minimize=analysis.options.minimize)
    return Plan.of("univariate", network, analysis.sample.points)
