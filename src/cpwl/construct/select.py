"""Which construction "auto" takes, and why: the smallest among those that are accurate enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import BLOCK, PRECISIONS, Minimize, Plan, Precision
from cpwl.errors import LimitError
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.evaluate import corners
from cpwl.network import Network, Sizes

SAFETY = 2.0  # deviations: onnxruntime's error was never seen to be more (docs/theory/float_quality.md)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A construction with its plan and the error predicted for it, relative to the range of the function."""

    plan: Plan
    error: float

    @classmethod
    def of(cls, plan: Plan, analysis: Analysis) -> Candidate:
        """The plan with its error in the precision asked for; `LimitError` if that does not reach its weights."""
        options = analysis.options
        most = float(np.finfo(np.float32 if options.precision == "float32" else np.float64).max)
        if not plan.largest <= most:
            kind = "float64" if options.precision == "exact" else options.precision
            raise LimitError(f"a weight of size {plan.largest:.1g} cannot be written in {kind}")
        return cls(plan, predicted_error(plan, analysis.options.precision, analysis.sample.range))

    @property
    def sizes(self) -> Sizes:
        """What the network will cost."""
        return self.plan.sizes


@dataclass(frozen=True, slots=True)
class Choice:
    """All that were planned, the best first, and why that one is the best."""

    candidates: tuple[Candidate, ...]
    reason: str
    accurate: bool
    """Whether the best is predicted to be accurate enough."""

    @property
    def best(self) -> Candidate:
        """The first."""
        return self.candidates[0]


def predicted_error(plan: Plan, precision: Precision, size: float) -> float:
    """The rounding error that a network will have, relative to the size of the values; 0 in exact arithmetic."""
    unit = PRECISIONS[precision][0]
    return SAFETY * unit * plan.magnitude / size if unit else 0.0


def select(candidates: Iterable[Candidate], minimize: Minimize, max_error: float) -> Choice:
    """The smallest that is predicted to be accurate enough; if none is, the most accurate; of equals the first.

    >>> from cpwl.network import Network
    >>> def plan(name, neurons, size):
    ...     return Candidate(Plan(name, Sizes(neurons, 2, neurons, 9), 1.0, 1.0, lambda: Network([([[1]], [0])])), size)
    >>> choice = select([plan("gates", 7, 1e-7), plan("lattice", 9, 1e-12)], "neurons", 1e-9)
    >>> choice.best.plan.construction, choice.reason
    ('lattice', 'fewest neurons within 1e-09')
    """
    every = list(candidates)
    good = [c for c in every if c.error <= max_error]
    poor = [c for c in every if c.error > max_error]
    good.sort(key=lambda c: (getattr(c.sizes, minimize), c.sizes.neurons, c.sizes.depth))
    poor.sort(key=lambda c: (c.error, getattr(c.sizes, minimize)))
    order = (*good, *poor)
    few = {
        "neurons": "fewest neurons",
        "depth": "fewest layers",
        "width": "smallest width",
        "nonzeros": "fewest weights",
        "bytes": "fewest bytes",
    }
    if not good:
        return Choice(order, f"none is predicted to be within {max_error:.3g}; this is the most accurate", False)
    return Choice(order, few[minimize] + (f" within {max_error:.3g}" if max_error else ""), True)


# How far a network is off the data it was made from, measured: at some points, in the arithmetic it is meant for.


_WORK = 2**26  # products of weights and activations in all
_POINTS = 20_000
_BLOCK = 2**22  # activations held at once
_FEW = 8  # points at which the function is evaluated in rationals


def measured_error(network: Network, analysis: Analysis) -> float | None:
    """The largest difference from the function at points of its pieces, relative to its range.

    None where no error is limited (in exact arithmetic, unless a limit was given), and where nothing was to be checked.
    A difference beyond the limit counts only if it is there with the values of the function in rationals: evaluating
    it rounds, too.

    >>> from cpwl.construct.plan import Options
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
    layers = [(weight.astype(kind), bias.astype(kind)) for weight, bias in network.layers]
    widest = max(weight.shape[1] for weight, _ in layers)
    with np.errstate(all="ignore"):  # beyond the format there are no numbers: that is an error without bound
        value = analysis.function(x.astype(np.float64))
        each = [_in_order(layers, x, block) for block in sorted({min(BLOCK, widest), widest})]
        error = np.stack([np.abs(found - value).max(axis=1) for found in each])
    error[~np.isfinite(each).all(axis=2)] = np.inf
    off, found = error.max(axis=0), np.asarray(each)[error.argmax(axis=0), np.arange(len(x))]
    known = np.flatnonzero(~np.isnan(off))  # rounding takes some points out of the domain
    worst = known[np.argsort(-off[known], kind="stable")][:_FEW]
    largest = float(off[worst].max(initial=0.0))
    if options.max_error * cloud.range < largest < np.inf:
        largest = _exactly(analysis.function, x[worst], found[worst])
    return largest / cloud.range


def _in_order(layers: Sequence[tuple[Any, Any]], x: NDArray[Any], block: int) -> NDArray[Any]:
    """The values of a network: each `block` of terms is summed in order, then added to the bias and the blocks before.

    Plain loops take all terms at once, matrix products of runtimes a few hundred.
    """
    step = max(1, _BLOCK // max(max(weight.shape) for weight, _ in layers))
    parts = [
        [(weight.tocsc()[:, c : c + block].tocsr(), c) for c in range(0, weight.shape[1], block)]
        for weight, _ in layers
    ]
    values = []
    for k in range(0, len(x), step):
        h = x[k : k + step].T
        for i, (_, bias) in enumerate(layers):
            h = np.maximum(h, 0) if i else h
            h = reduce(np.add, (weight @ h[c : c + block] for weight, c in parts[i]), bias[:, None])
        values.append(h.T)
    return np.concatenate(values)


def _exactly(p: CPWL, x: NDArray[Any], values: NDArray[np.float64]) -> float:
    """The largest difference of the values from those of the function, which is evaluated in rationals."""
    exact = p(fraction_array(x.astype(np.float64)))
    inside = [i for i, row in enumerate(exact) if row[0] is not None]
    return float(max((abs(fraction_array(values[i]) - exact[i]).max() for i in inside), default=0))
