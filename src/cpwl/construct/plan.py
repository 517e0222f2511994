"""A plan: what a construction would give, known before the network is assembled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cpwl.network import Network, Sizes
from cpwl.network.noise import noise

__all__ = ["Plan"]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The sizes a construction will have, how accurate it will be in floats, how to build it, and what it took."""

    construction: str
    sizes: Sizes
    """What ``build().sizes`` will be, exactly."""
    magnitude: float
    """Times the unit roundoff, this predicts the largest rounding error of an evaluation (`cpwl.network.noise`)."""
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

        >>> Plan.of("hinge", Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])]), np.array([[2.0]])).sizes.neurons
        2
        """
        return cls(
            construction, network.sizes, noise(network.layers, points), partial(_itself, network), solves, splits
        )


def _itself(network: Network) -> Network:
    return network
