"""A plan: what a construction would give, known before the network is assembled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.options import Minimize
from cpwl.network import Network, Sizes
from cpwl.network.network import Layer
from cpwl.network.noise import noise

__all__ = ["Least", "Plan"]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The sizes a construction will have, how accurate it will be in floats, how to build it, and what it took."""

    construction: str
    sizes: Sizes
    """What ``build().sizes`` will be, exactly."""
    magnitude: float
    """Times the unit roundoff, this predicts the largest rounding error of an evaluation (`cpwl.network.noise`)."""
    largest: float
    """The size of the largest weight or bias: a format that does not reach it cannot hold the network."""
    build: Callable[[], Network]
    """It can be sent to another process: a function of a module, with what it is given."""
    solves: int = 0
    """How many linear programs were solved for it, beside those of the analysis."""
    splits: int = 0
    """How often a piece had to be split to make a max-min form right."""

    @classmethod
    def of(
        cls, construction: str, network: Network, points: NDArray[np.float64], *, solves: int = 0, splits: int = 0
    ) -> Plan:
        """The plan of a construction that has to choose every weight before it knows its sizes.

        >>> plan = Plan.of("hinge", Network([([[1], [-1]], [0, 0]), ([[1, 3]], [0])]), np.array([[2.0]]))
        >>> plan.sizes.neurons, plan.largest
        (2, 3.0)
        """
        build = partial(_itself, network)
        return cls.of_layers(construction, network.sizes, network.layers, points, build, solves=solves, splits=splits)

    @classmethod
    def of_layers(
        cls,
        construction: str,
        sizes: Sizes,
        layers: Sequence[Layer],
        points: NDArray[np.float64],
        build: Callable[[], Network],
        *,
        solves: int = 0,
        splits: int = 0,
    ) -> Plan:
        """The plan of a network whose layers are known in floats."""
        largest = max(float(np.abs(part).max(initial=0.0)) for weight, bias in layers for part in (weight.data, bias))
        return cls(construction, sizes, noise(layers, points), largest, build, solves, splits)


@dataclass(frozen=True, slots=True)
class Least:
    """A lower bound on the network of a construction, proved before anything is planned."""

    neurons: int
    reason: str
    """Why there are at least as many neurons."""
    depth: int = 1

    def of(self, minimize: Minimize) -> int:
        """The bound on what is to be small; each neuron reads something, so that weights are at least as many.

        >>> Least(7, "seven bends", 3).of("nonzeros"), Least(7, "seven bends", 3).of("width")
        (7, 0)
        """
        return {"neurons": self.neurons, "depth": self.depth, "nonzeros": self.neurons, "width": 0}[minimize]


def _itself(network: Network) -> Network:
    return network
