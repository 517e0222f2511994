"""Proposals for `compile(within=...)`: smaller functions and networks that floats see within a tolerance.

Every source is a function ``(p, tolerance, most) -> Iterator[Proposal]``. It proposes functions or networks of fewer
than `most` neurons, the smallest first. A proposal proves nothing: it counts once its distance is computed exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.lattice.plan import shared_lattice
from cpwl.construct.lattice.sides import relaxed
from cpwl.errors import ConstructionError, InputError, LimitError
from cpwl.function import CPWL, coarser
from cpwl.function.algebra.arithmetic import exactly
from cpwl.function.coarser import Proposal, chebyshev
from cpwl.function.domain import box_around
from cpwl.network import Network
from cpwl.network.network import assemble, exact_layers
from cpwl.training import train

__all__ = ["Sample", "Source", "best_trained", "check_torch", "coarse", "formulas", "sources", "trained"]

Source = Callable[[CPWL, Sequence[Fraction], int], Iterator[Proposal[CPWL] | Proposal[Network]]]

_FACTORS = (3, 2, Fraction(3, 2), Fraction(5, 4), 1)
"""Times the tolerance, for tables of components: a formula stays nearer than they promise, often by half."""
_COMPARISONS = 2_000_000  # pieces times components: beyond, a formula takes minutes to find


def coarse(p: CPWL, tolerance: Sequence[Fraction], most: int) -> Iterator[Proposal[CPWL]]:
    """Functions with fewer pieces (`cpwl.function.coarser`): the tunnel, or even grids in order of their networks."""
    yield from coarser.propose(p, tolerance, _grid_neurons, most)


def _grid_neurons(shape: tuple[int, ...]) -> float:
    """About how many neurons the function on an even grid of this shape takes, or a path of so many links."""
    n = len(shape)
    if n == 1:
        return 0
    planes = sum(shape) - n + sum(a + b - 1 for a, b in itertools.combinations(shape, 2))
    columns = math.prod(shape) - math.prod(k - 1 for k in shape)
    return planes + (min(shape) + 2 - 2 * (min(shape) == 1) if n == 2 else 2 * columns / 3)


def formulas(p: CPWL, tolerance: Sequence[Fraction], most: int) -> Iterator[Proposal[Network]]:
    """Maxima and minima of some of the components, found with a tolerance (`relaxed`)."""
    whole = exactly(p)
    if whole.num_pieces * whole.num_components > _COMPARISONS:
        return
    analysis = Analysis(whole)
    known: dict[bytes, Network] = {}
    for factor in _FACTORS:
        orders = relaxed(analysis, [e * factor for e in tolerance])
        if orders is None:
            return
        key = b"".join(np.packbits(table).tobytes() for order in orders for table in (order.above, order.below))
        if key in known:
            continue
        try:
            known[key] = shared_lattice(analysis, orders).network
        except (ConstructionError, InputError, LimitError):
            continue
        if known[key].sizes.neurons >= most:  # a smaller tolerance makes a larger network
            break
    corners = coarser.corners_of(whole)
    limit = np.array([float(e) for e in tolerance])
    for network in sorted(known.values(), key=lambda network: network.sizes.neurons):
        if network.sizes.neurons < most and _seen_within(network, corners, limit):
            yield Proposal("formula", network)


def _seen_within(
    network: Network, corners: tuple[NDArray[np.float64], NDArray[np.float64]], limit: NDArray[np.float64]
) -> bool:
    """Whether a network is near enough at the corners of the pieces, up to rounding."""
    off = np.abs(network(corners[0]) - corners[1])
    return bool((off <= limit * (1 + 1e-6)).all())


# Trained networks, where torch is installed: below some 60 neurons in the plane they are smaller than grids.

_SHARES = (Fraction(3, 4), Fraction(1, 2), Fraction(3, 8), Fraction(1, 4), Fraction(3, 16))
"""Of the neurons that are to be undercut: the sizes that are trained, until one is not near enough."""
_SEEDS, _STEPS = 8, 2000
_POINTS, _SEEN = 1024, 20_000  # to train with, and to look at
_ROUNDS = 20  # of adding points that a program has not seen
_SAFE = 0.97  # of the tolerance at points: between them the error is larger


def trained(p: CPWL, tolerance: Sequence[Fraction], most: int) -> Iterator[Proposal[Network]]:
    """Networks with two hidden layers that were trained, the output layer fitted once more by a linear program."""
    sample = Sample.of(p, _SEEN)
    if sample is None:
        return
    scale = np.array([float(e) for e in tolerance])
    found: list[Network] = []
    for neurons in sorted({math.floor(most * share) for share in _SHARES}, reverse=True):
        if neurons < 2:
            break
        network = best_trained(sample, (neurons - neurons // 2, neurons // 2), scale, _SEEDS, _STEPS, _POINTS)
        if (np.abs(network(sample.points) - sample.values) / scale).max() > _SAFE:
            break
        found.append(network)
    yield from (Proposal("trained", network) for network in reversed(found))


def check_torch() -> None:
    """Refuse to train where torch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise LimitError("torch is not installed, so that no network can be trained; run `pip install torch`") from None


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Points of a bounded function, corners among them, its values there, and the box around it."""

    points: NDArray[np.float64]
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, p: CPWL, count: int) -> Sample | None:
        """About that number of points; None if the domain is not bounded."""
        ends = box_around(exactly(p))
        if ends is None:
            return None
        low, high = np.asarray(ends, dtype=np.float64).T
        chance = np.random.default_rng(0)
        points, values = coarser.corners_of(exactly(p))
        if len(points) > count:
            points, values = (v[chance.permutation(len(v))[:count]] for v in (points, values))
        more = low + (high - low) * chance.random((count, p.dim))
        heights = np.asarray(p(more), dtype=np.float64).reshape(count, -1)
        inside = np.isfinite(heights).all(axis=1)
        every = np.concatenate([points, more[inside]]), np.concatenate([values, heights[inside]])
        return cls(*every, low, high)


def best_trained(
    sample: Sample, widths: tuple[int, ...], scale: NDArray[np.float64], seeds: int, steps: int, count: int
) -> Network:
    """The best of some trained networks; errors are weighed by `scale`, and weights are rounded to short numbers."""
    chance = np.random.default_rng(1)
    few = np.sort(chance.permutation(len(sample.points))[:count])
    middle = (sample.values.max(axis=0) + sample.values.min(axis=0)) / 2
    height = (sample.values.max(axis=0) - sample.values.min(axis=0)).max() / 2 or 1.0
    width = np.where(sample.high > sample.low, sample.high - sample.low, 1.0)
    place = 2 * (sample.points - sample.low) / width - 1
    made = train(place[few], (sample.values[few] - middle) / height, widths, seeds=seeds, steps=steps)
    best, error = None, math.inf
    for layers in made[:4]:
        layers = [(_short(w), _short(b)) for w, b in layers]
        first, shift = layers[0]
        layers[0] = _short(2 * first / width), _short(shift - first @ (2 * sample.low / width + 1))
        last = _polished(layers[:-1], sample, scale, layers[-1], middle, height)
        network = Network([*layers[:-1], last])
        exact = assemble(network.layers, exact_layers(network))  # these numbers are meant
        seen = float((np.abs(exact(sample.points) - sample.values) / scale).max())
        if seen < error:
            best, error = exact, seen
    assert best is not None
    return best


def _short(x: NDArray[np.float64], bits: int = 16) -> NDArray[np.float64]:
    """Rounded to a few bits each: short numbers make exact distances cheap."""
    fraction, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(fraction * 2**bits), exponent - bits))


def _polished(
    hidden: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    sample: Sample,
    scale: NDArray[np.float64],
    last: tuple[NDArray[np.float64], NDArray[np.float64]],
    middle: NDArray[np.float64],
    height: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weights of the output layer that make the largest error at the sample small: one linear program an output.

    A program of few points first; points that its solution misses are added.
    """
    held = sample.points
    for weight, bias in hidden:
        held = np.maximum(held @ weight.T + bias, 0)
    size = np.maximum(np.abs(held).max(axis=0), 1e-9)
    rows = np.column_stack([held / size, np.ones(len(held))])
    found_weight, found_bias = height * last[0], height * last[1] + middle
    for j in range(sample.values.shape[1]):
        goal = (sample.values[:, j] - middle[j]) / scale[j]
        start = np.append(found_weight[j] * size, found_bias[j] - middle[j]) / scale[j]
        best, error = start, np.abs(rows @ start - goal).max()
        used = np.argsort(-np.abs(rows @ start - goal))[: 8 * rows.shape[1]]
        for _ in range(_ROUNDS):
            found = chebyshev(rows[used], goal[used])
            if found is None:
                break
            off = np.abs(rows @ found[0] - goal)
            if off.max() < error:
                best, error = found[0], off.max()
            if off.max() <= found[1] * 1.01:
                break
            used = np.union1d(used, np.argsort(-off)[: 2 * rows.shape[1]])
        found_weight[j], found_bias[j] = best[:-1] / size * scale[j], best[-1] * scale[j] + middle[j]
    return _short(found_weight, 24), _short(found_bias, 24)


def sources(*, train: bool) -> tuple[Source, ...]:
    """What is tried, in this order."""
    return (coarse, formulas, trained) if train else (coarse, formulas)
