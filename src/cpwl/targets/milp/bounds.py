"""How far each neuron reads, up and down, on a bounded domain: exactly where the regions are few, else proved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from cpwl.errors import InputError
from cpwl.geometry.box import Range
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import Network, exact_layers
from cpwl.passes.ranges import ranges
from cpwl.targets.extremes import extremes

__all__ = ["NeuronBounds", "double_bound", "neuron_bounds"]

_INPUTS, _NEURONS = 6, 400  # beyond, regions are not looked for


@dataclass(frozen=True, slots=True)
class NeuronBounds:
    """Ranges of what the neurons read, hidden layers first and the outputs last.

    Attributes
    ----------
    layers : tuple
        For each layer the pairs ``(low, high)``.
    exact : bool
        Whether every range is attained: no smaller constant would do. Otherwise they are proved to hold, no more.
    """

    layers: tuple[tuple[tuple[Fraction, Fraction], ...], ...]
    exact: bool

    @property
    def how(self) -> str:
        """Where they come from."""
        return "exact, from the regions" if self.exact else "proved, from intervals and linear programs"

    def state(self, layer: int, neuron: int) -> Literal["on", "off", "open"]:
        """Whether a hidden neuron is always on (it reads nothing below 0), always off, or neither."""
        low, high = self.layers[layer][neuron]
        return "off" if high <= 0 else "on" if low >= 0 else "open"

    @property
    def counts(self) -> dict[str, int]:
        """How many hidden neurons are in each state."""
        states = [self.state(i, k) for i, layer in enumerate(self.layers[:-1]) for k in range(len(layer))]
        return {name: states.count(name) for name in ("on", "off", "open")}


def neuron_bounds(network: Network, domain: Polyhedron, max_regions: int | None = 5000) -> NeuronBounds:
    """The ranges of all neurons on a bounded domain.

    >>> from cpwl.geometry.polyhedra import box_polyhedron
    >>> network = Network([([[1], [1], [1]], [2, 0, -2]), ([[1, 1, 1]], [0])])
    >>> found = neuron_bounds(network, box_polyhedron((-1, 1), 1))
    >>> found.counts, found.exact, found.layers[1]
    ({'on': 1, 'off': 1, 'open': 1}, True, ((Fraction(1, 1), Fraction(4, 1)),))
    """
    few = network.inputs <= _INPUTS and network.sizes.neurons <= _NEURONS
    found = extremes(network, domain, max_regions) if few else None
    if found is not None:
        return NeuronBounds(tuple(tuple((e.low, e.high) for e in layer) for layer in found), True)
    layers = list(exact_layers(network))
    hidden = ranges(layers, domain)
    relu: list[Range] = [(max(low or Fraction(0), Fraction(0)), high) for low, high in hidden[-1]] if hidden else []
    last = _outputs(network, relu) if hidden else ranges([*layers, layers[-1]], domain)[0]
    return NeuronBounds(tuple(tuple(map(_bounded, layer)) for layer in [*hidden, last]), False)


def double_bound(value: Fraction, sense: int) -> float:
    """The nearest double that is not below (`sense` 1) or not above (-1) the number, which may be the number itself.

    >>> double_bound(Fraction(1), 1), double_bound(Fraction(1, 3), 1) > Fraction(1, 3)
    (1.0, True)
    """
    near = float(value)
    return near if (Fraction(near) - value) * sense >= 0 else math.nextafter(near, sense * math.inf)


def _outputs(network: Network, before: list[Range]) -> list[Range]:
    """The outputs by intervals of what the last hidden layer gives."""
    weight, bias = exact_layers(network)[-1]
    rows: list[list[Fraction]] = [[Fraction(b), Fraction(b)] for b in bias]
    for i, j, w in zip(weight.rows.tolist(), weight.indices.tolist(), weight.data, strict=True):
        low, high = map(Fraction, _bounded(before[j]))
        high = max(high, Fraction(0))
        rows[i][0] += min(w * low, w * high)
        rows[i][1] += max(w * low, w * high)
    return [(low, high) for low, high in rows]


def _bounded(ends: Range) -> tuple[Fraction, Fraction]:
    low, high = ends
    if low is None or high is None:
        raise InputError("the domain is not bounded: give a bounded one, such as `box=(-1, 1)`")
    return low, high
