"""A plan: what a construction would give, known before the network is assembled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from cpwl.network import Network, Sizes
from cpwl.progress import Progress

ConstructionName = Literal[
    "auto",
    "hinge",
    "univariate",
    "sums",
    "fold",
    "layers",
    "gates",
    "columns",
    "windows",
    "clamped",
    "strips",
    "lattice",
    "paper",
]
"""How to build a network (`cpwl.construct.table`)."""
Minimize = Literal["neurons", "depth", "width", "nonzeros", "bytes"]
"""What "auto" makes small."""
Precision = Literal["float64", "float32", "exact"]
"""The arithmetic in which the network will be evaluated."""
Weights = Literal["exact", "float64", "float32", "float16", "int16", "int8"]
"""With what weights a network is proved: as they are, or rounded to a type."""
Outside = Literal["free", "clip", "error"]
"""What is done with points outside a bounded domain."""
PRECISIONS: dict[str, tuple[float, float]] = {
    "float64": (2.0**-53, 1e-9),
    "float32": (2.0**-24, 1e-5),
    "exact": (0.0, 0.0),
}
"""The unit roundoff of each precision, and the error, relative to the range of the function, that is allowed."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile; the defaults predict no rounding error and work alone and in silence."""

    minimize: Minimize = "neurons"
    precision: Precision = "exact"
    max_error: float = 0.0
    """The largest error, relative to the range of the function, that is allowed."""
    check: bool = True
    """Whether Algorithm 1's rows are tested."""
    executor: Executor | None = None
    progress: Progress | None = None
    effort: float = 0.0
    """How much work a search for fewer neurons may take, once a network is built."""

    def __reduce__(self) -> tuple[type[Options], tuple[object, ...]]:
        """An executor and a progress bar stay in their process."""
        return Options, (self.minimize, self.precision, self.max_error, self.check)


DEFAULT = Options()
"""Nothing was said."""


def default_error(precision: Precision) -> float:
    """What `max_error` is where nothing is said.

    >>> default_error("float32")
    1e-05
    """
    return PRECISIONS[precision][1]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The sizes a construction will have, how accurate it will be in floats, how to build it, and what it took."""

    construction: str
    sizes: Sizes
    """What ``build().sizes`` will be, exactly."""
    magnitude: float
    """Times the unit roundoff, this predicts the largest rounding error of an evaluation (`cpwl.construct.plan`)."""
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
        layers = network.layers
        largest = max(float(np.abs(part).max(initial=0.0)) for weight, bias in layers for part in (weight.data, bias))
        build = partial(_itself, network)
        return cls(construction, network.sizes, noise(layers, points), largest, build, solves, splits)


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
        few = self.neurons
        return {"neurons": few, "depth": self.depth, "nonzeros": few, "width": 0, "bytes": 16 * few}[minimize]


def _itself(network: Network) -> Network:
    return network


# How rounding grows on the way through a network: a bound that holds with high probability, for long sums too.


Layers = Sequence[tuple[Any, NDArray[np.float64]]]
_BLOCK = 2**20  # activations held at once
_WORK, _LEAST = 2**23, 32  # products in all, which take a tenth of a second; but as many points at least
BLOCK = 256  # terms that onnxruntime's matrix product adds up before it adds them to the others


def noise(layers: Layers, points: ArrayLike) -> float:
    """The largest standard deviation of an output over some points, in units of the roundoff of the format.

    Every rounding counts as an independent relative error of one unit. Weights are rounded unless they are short,
    products unless the weight is a power of two, and so is every partial sum: in a sum of 400 terms the 399 partial
    sums count, in the order of the weights, as in plain loops, or in blocks of 256 terms, as in matrix products of
    onnxruntime, whichever is worse. (Several sums side by side, as in vector units, have smaller partial sums.)
    Terms that are 0 round nothing. The error of a neuron reaches the output with the slope that it has there: errors
    that cancel, as in ``a + relu(b - a)``, do so here too. Roundings behave as if they were independent (Higham and
    Mary 2019): two deviations are more than any error seen (docs/theory/float_quality.md).

    >>> noise([(csr_array([[3.0, 4.0, 0.1]]), np.zeros(1))], [[1.0, 1.0, 0.0]])  # 3^2 + (3 + 4)^2, and 4 is exact
    7.615773105863909
    """
    x = np.atleast_2d(np.asarray(points, dtype=np.float64))
    # Fewer points for a large network: a prediction may not take longer than the network took to build.
    work = sum(weight.nnz + weight.shape[0] for weight, _ in layers)
    x = x[:: max(1, min(-(-len(x) * work // _WORK), len(x) // _LEAST))]
    step = max(1, _BLOCK // max(weight.shape[0] for weight, _ in layers))
    with np.errstate(over="ignore", invalid="ignore"):  # squares beyond float64: nothing can be predicted
        blocks = [_variance(layers, x[i : i + step]) for i in range(0, len(x), step)]
    return float(np.sqrt(max(blocks, default=0.0)))


def _variance(layers: Layers, x: NDArray[np.float64]) -> float:
    value, on, local = x.T, [], []
    for weight, bias in layers:
        value, variance = _layer(csr_array(weight), bias, value)
        local.append(variance)
        on.append(value > 0)
        value = np.maximum(value, 0.0)
    most = 0.0
    for o in range(layers[-1][0].shape[0]):
        slope = np.zeros(local[-1].shape)
        slope[o] = 1.0
        total = local[-1][o]
        for k in range(len(layers) - 2, -1, -1):
            slope = (layers[k + 1][0].T @ slope) * on[k]
            total = total + (slope**2 * local[k]).sum(axis=0)
        most = max(most, float(np.nan_to_num(total, nan=np.inf, posinf=np.inf).max(initial=0.0)))
    return most


def _layer(
    weight: Any, bias: NDArray[np.float64], value: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums of a layer, and the variances of their roundings: the larger ones of both orders of a long sum."""
    total, variance = _sums(weight, bias[:, None], value, weight.shape[1])
    if weight.shape[1] > BLOCK:
        variance = np.maximum(variance, _sums(weight, bias[:, None], value, BLOCK)[1])
    return total, variance + np.where(_is_long(bias), bias**2, 0.0)[:, None]


def _sums(
    weight: Any, bias: NDArray[np.float64], value: NDArray[np.float64], block: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums of a layer and the variances of their roundings, of all rows at once, the longest first.

    The sum of each `block` of columns, term by term in their order, is added to the bias and the blocks before it. A
    loop over the terms of the longest row, or over rows if these are fewer.
    """
    count = np.diff(weight.indptr)
    if len(count) < count.max(initial=0):
        each = [_sum(weight[[i]], bias[i], value, block) for i in range(len(count))]
        return np.stack([total for total, _ in each]), np.stack([variance for _, variance in each])
    order = np.argsort(-count, kind="stable")
    start = weight.indptr[order]
    rounded = _roundings(weight.data)
    part, variance = np.zeros((2, len(order), value.shape[1]))
    whole = bias[order] + part
    last = np.zeros(len(order), dtype=np.int64)  # the block of the last term of each row

    def close(rows: NDArray[np.int64]) -> None:
        """Add the sum of a block to the blocks before it."""
        rounds = (whole[rows] != 0) & (part[rows] != 0)
        whole[rows] += part[rows]
        variance[rows] += np.where(rounds, whole[rows] ** 2, 0.0)
        part[rows] = 0.0

    rows = np.searchsorted(-count[order], -np.arange(count.max(initial=0)), side="left")  # longer than `k` terms
    for k, r in enumerate(rows.tolist()):
        at = start[:r] + k
        own = weight.indices[at] // block
        if (new := np.flatnonzero(own != last[:r])).size:
            close(new)
            last[new] = own[new]
        term = weight.data[at, None] * value[weight.indices[at]]
        sums = part[:r] != 0
        part[:r] += term
        variance[:r] += term**2 * rounded[at, None] + np.where(sums & (term != 0), part[:r] ** 2, 0.0)
    close(np.arange(len(order)))
    back = np.argsort(order, kind="stable")
    return whole[back], variance[back]


def _sum(
    weight: Any, bias: NDArray[np.float64], value: NDArray[np.float64], block: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same of a single row."""
    whole, variance = bias + np.zeros(value.shape[1]), np.zeros(value.shape[1])
    rounded = _roundings(weight.data)
    starts = np.flatnonzero(np.diff(weight.indices // block, prepend=-1))
    for a, b in pairwise([*starts.tolist(), weight.nnz]):
        term = weight.data[a:b, None] * value[weight.indices[a:b]]
        part = np.cumsum(term, axis=0)
        variance += (term**2 * rounded[a:b, None]).sum(axis=0)
        variance += np.where((part[:-1] != 0) & (term[1:] != 0), part[1:] ** 2, 0.0).sum(axis=0)
        rounds = (whole != 0) & (part[-1] != 0)
        whole += part[-1]
        variance += np.where(rounds, whole**2, 0.0)
    return whole, variance


def _roundings(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """How often a product rounds: short weights are what they are in any format; others are rounded once themselves."""
    return np.asarray((np.abs(np.frexp(weights)[0]) != 0.5) + _is_long(weights), dtype=np.int64)


def _is_long(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """1 for numbers that float32 does not have."""
    return np.asarray(values.astype(np.float32) != values, dtype=np.int64)
