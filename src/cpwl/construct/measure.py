"""How far a network is off the data it was made from, measured: at some points, in the arithmetic it is meant for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.sample import corners
from cpwl.network import Network

__all__ = ["measured_error"]

_WORK = 2**26  # products of weights and activations in all
_POINTS = 20_000
_BLOCK = 2**22  # activations held at once
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
    kind: Any = np.float32 if options.precision == "float32" else np.float64
    most = min(_POINTS, max(1, _WORK // (1 + sum(weight.nnz for weight, _ in network.layers))))
    at = corners(analysis.function, -(-most // 2))
    points = np.concatenate([at, cloud.points[:: max(1, -(-len(cloud.points) // max(1, most - len(at))))]])
    if not len(points):
        return None  # no point inside a piece was found
    x: NDArray[Any] = points.astype(kind)
    with np.errstate(all="ignore"):  # beyond the format there are no numbers: that is an error without bound
        found = _in_order([(weight.astype(kind), bias.astype(kind)) for weight, bias in network.layers], x)
        off = np.abs(found - analysis.function(x.astype(np.float64))).max(axis=1)
    off[~np.isfinite(found).all(axis=1)] = np.inf
    known = np.flatnonzero(~np.isnan(off))  # rounding takes some points out of the domain
    worst = known[np.argsort(-off[known], kind="stable")][:_FEW]
    largest = float(off[worst].max(initial=0.0))
    if options.max_error * cloud.range < largest < np.inf:
        largest = _exactly(analysis.function, x[worst], found[worst])
    return largest / cloud.range


def _in_order(layers: Sequence[tuple[Any, Any]], x: NDArray[Any]) -> NDArray[Any]:
    """The values of a network whose sums are taken term by term, in the order of the weights, as runtimes do."""
    step = max(1, _BLOCK // max(max(weight.shape) for weight, _ in layers))
    values = []
    for k in range(0, len(x), step):
        h = x[k : k + step].T
        for i, (weight, bias) in enumerate(layers):
            h = weight @ (np.maximum(h, 0) if i else h) + bias[:, None]
        values.append(h.T)
    return np.concatenate(values)


def _exactly(p: CPWL, x: NDArray[Any], values: NDArray[np.float64]) -> float:
    """The largest difference of the values from those of the function, which is evaluated in rationals."""
    exact = p(fraction_array(x.astype(np.float64)))
    inside = [i for i, row in enumerate(exact) if row[0] is not None]
    return float(max((abs(fraction_array(values[i]) - exact[i]).max() for i in inside), default=0))
