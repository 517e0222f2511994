"""How far a network is off the data it was made from, measured: at some points, in the arithmetic it is meant for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.network import Network
from cpwl.network.network import evaluate

__all__ = ["measured_error"]

_WORK = 2**28  # products of weights and activations in all
_FEW = 8  # points at which the function is evaluated in rationals


def measured_error(network: Network, analysis: Analysis) -> float | None:
    """The largest difference from the function at points of its pieces, relative to its range.

    None where no error is limited (in exact arithmetic, unless a limit was given), and where nothing was to be checked.
    A difference beyond the limit counts only if it is there with the values of the function in rationals: evaluating
    it rounds, too.

    >>> from cpwl.construct.options import Options
    >>> known = Analysis(CPWL.from_breakpoints([0, 1, 2], [0, 1, 0]), Options(precision="float64", max_error=1e-9))
    >>> measured_error(Network([([[1]], [0])]), known) > 1
    True
    """
    options, cloud = analysis.options, analysis.sample
    if not options.max_error or not options.check:
        return None
    work = sum(weight.nnz for weight, _ in network.layers)
    kind: Any = np.float32 if options.precision == "float32" else np.float64
    x: NDArray[Any] = cloud.points[:: max(1, -(-len(cloud.points) * work // _WORK))].astype(kind)
    layers = [(weight.astype(kind), bias.astype(kind)) for weight, bias in network.layers]
    found = evaluate(layers, x)
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(found - analysis.function(x.astype(np.float64))).max(axis=1)
    known = np.flatnonzero(np.isfinite(off))  # rounding takes some points out of the domain
    worst = known[np.argsort(-off[known], kind="stable")][:_FEW]
    most = float(off[worst].max(initial=0.0))
    if most > options.max_error * cloud.range:
        most = _exactly(analysis.function, x[worst], found[worst])
    return most / cloud.range


def _exactly(p: CPWL, x: NDArray[Any], values: NDArray[np.float64]) -> float:
    """The largest difference of the values from those of the function, which is evaluated in rationals."""
    exact = p(fraction_array(x.astype(np.float64)))
    inside = [i for i, row in enumerate(exact) if row[0] is not None]
    return float(max((abs(fraction_array(values[i]) - exact[i]).max() for i in inside), default=0))
