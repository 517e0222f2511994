"""The box in which a function or a network is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import cpwl.function.picture as of_function
from cpwl.function import CPWL
from cpwl.network import Network

__all__ = ["window_of"]


def window_of(shown: CPWL | Network, box: tuple[Any, Any] | None = None) -> NDArray[np.float64]:
    """Rows ``(low, high)``, one an input; `box`, where given, is taken as it is.

    >>> window_of(Network([([[2, 0]], [4]), ([[1]], [0])])).tolist()
    [[-3.0, 3.0], [-3.0, 3.0]]
    """
    if isinstance(shown, CPWL):
        return of_function.window_of(shown, box)
    return _around_hinges(shown) if box is None else of_function.box_rows(box, shown.inputs)


def _around_hinges(network: Network) -> NDArray[np.float64]:
    """A cube around the origin that most hinges of the first layer cross."""
    weight, bias = network.layers[0]
    length = np.sqrt(np.asarray(weight.multiply(weight).sum(axis=1)).ravel())
    away = np.abs(bias[length > 0]) / length[length > 0]
    reach = 1.5 * float(np.quantile(away, 0.9)) if len(away) else 1.0
    return np.tile([-max(reach, 1.0), max(reach, 1.0)], (network.inputs, 1))
