"""Small ReLU networks fitted to values, as near as possible where they are farthest off; nothing is proved here.

- `train`: gradient descent with fixed seeds, many networks at once (torch).
- `polish`: the largest error is a maximum of ``|f(x) - y|``, and `f` is almost affine in its weights near where they
  are. So each step is a linear program (Chebyshev) in a box around the weights: a sequential linear program.
- `fewer`: neurons are taken out, those that matter least first, as long as polishing what is left helps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import needed
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import exactly
from cpwl.function.coarser import chebyshev, corners_of
from cpwl.function.domain import box_around
from cpwl.network import Network
from cpwl.network.network import assemble, exact_layers

Floats = NDArray[np.float64]
Layers = list[tuple[Floats, Floats]]

_RATE = 1e-2  # of Adam, at the start
_POWER = 12  # of the norm that stands for the largest error in the second half
_BITS = 20  # of a weight: short numbers make exact distances cheap
SAFE = 0.97  # of the tolerance at points: between them the error is larger
_STEPS = 25  # linear programs for one network
_BOX = 0.05  # how far weights may move in the first step, where activations are at most 1
_USED = 3000  # points that programs see; points that their solutions miss are added


@dataclass(frozen=True, slots=True, eq=False)
class Goals:
    """Points of a bounded function, corners among them, the values there, the box around it, and the tolerances.

    Networks are fitted on the cube from -1 to 1 (`place`), to values in units of the tolerance (`goal`).
    """

    points: Floats
    values: Floats
    low: Floats
    high: Floats
    scale: Floats

    @classmethod
    def of(cls, p: CPWL, count: int, scale: Floats) -> Goals | None:
        """About that number of points; None if the domain is not bounded."""
        ends = box_around(exactly(p))
        if ends is None:
            return None
        low, high = np.asarray(ends, dtype=np.float64).T
        chance = np.random.default_rng(0)
        points, values = corners_of(exactly(p))
        if len(points) > count:
            points, values = (v[chance.permutation(len(v))[:count]] for v in (points, values))
        empty = cls(points, values, low, high, scale)
        share = np.clip(1.1 * chance.random((count, p.dim)) - 0.05, 0, 1)  # some of them on faces of the box
        return empty.plus(p, low + (high - low) * share)

    def plus(self, p: CPWL, more: Floats) -> Goals:
        """With further points, as far as they are in the domain."""
        heights = np.asarray(p(more), dtype=np.float64).reshape(len(more), -1)
        inside = np.isfinite(heights).all(axis=1)
        points, values = np.concatenate([self.points, more[inside]]), np.concatenate([self.values, heights[inside]])
        return replace(self, points=points, values=values)

    @property
    def width(self) -> Floats:
        """Half of the box, 1 where it is flat."""
        return np.asarray(np.where(self.high > self.low, self.high - self.low, 2.0) / 2)

    @property
    def middle(self) -> Floats:
        """Half way between the extremes of each output."""
        return np.asarray((self.values.max(axis=0) + self.values.min(axis=0)) / 2)

    @property
    def place(self) -> Floats:
        """The points in the cube."""
        return np.asarray((self.points - self.low) / self.width - 1)

    @property
    def goal(self) -> Floats:
        """The values in units of the tolerance, 0 in the middle."""
        return np.asarray((self.values - self.middle) / self.scale)

    def layers(self, network: Network) -> Layers:
        """A network as it acts on the cube."""
        found = [(weight.toarray(), bias.copy()) for weight, bias in network.layers]
        weight, bias = found[0]
        found[0] = weight * self.width, bias + weight @ (self.low + self.width)
        weight, bias = found[-1]
        found[-1] = weight / self.scale[:, None], (bias - self.middle) / self.scale
        return balanced(found, self.place)

    def network(self, layers: Layers) -> Network:
        """The network of layers that act on the cube, its weights rounded to short numbers, which are meant."""
        found = [(weight.copy(), bias.copy()) for weight, bias in layers]
        weight, bias = found[0]
        weight = weight / self.width
        found[0] = weight, bias - weight @ (self.low + self.width)
        weight, bias = found[-1]
        found[-1] = weight * self.scale[:, None], bias * self.scale + self.middle
        return with_short_numbers(found)


def with_short_numbers(layers: Any, bits: int = _BITS) -> Network:
    """The network with its weights rounded to short numbers, which are meant."""
    dense = [(weight if isinstance(weight, np.ndarray) else weight.toarray(), bias) for weight, bias in layers]
    short = Network([(_short(weight, bits), _short(bias, bits)) for weight, bias in dense])
    return assemble(short.layers, exact_layers(short))


def _short(x: Floats, bits: int) -> Floats:
    fraction, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(fraction * 2.0**bits), exponent - bits))


class Effort:
    """How much may still be done: a program counts by the square of the number of weights."""

    def __init__(self, budget: float) -> None:
        self.left = budget

    def take(self, weights: int) -> bool:
        """Whether there is room for one more program; if so, it counts."""
        self.left -= (weights / 100) ** 2 + 0.1
        return self.left >= 0


def check_torch() -> None:
    """Refuse to train where torch is not installed."""
    needed("torch", "training")


def train(
    points: Floats, values: Floats, widths: tuple[int, ...], *, seeds: int, steps: int, seed: int = 0
) -> list[Layers]:
    """Networks with hidden layers of these widths, one a seed, the one with the smallest largest error first.

    `points` are in the cube from -1 to 1, `values` about as large. The first half of the steps makes the mean square
    of the errors small, the second half a norm near the largest error. Adam, its rate falling as a cosine.
    """
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    chance = torch.Generator().manual_seed(seed)
    sizes = [points.shape[1], *widths, values.shape[1]]
    weights: list[Any] = []
    for k, (a, b) in enumerate(pairwise(sizes)):
        scale = math.sqrt(2 / a) * (2 if k == 0 else 1)
        weights.append(torch.randn(seeds, a, b, generator=chance) * scale)
        weights.append(torch.rand(seeds, 1, b, generator=chance) * 2 - 1)
    weights = [one.to(device).requires_grad_() for one in weights]
    x, goal = (torch.tensor(v, dtype=torch.float32, device=device) for v in (points, values))

    def outputs() -> Any:
        held = x.expand(seeds, -1, -1)
        for k in range(0, len(weights), 2):
            held = torch.baddbmm(weights[k + 1], held, weights[k])
            held = held.relu() if k < len(weights) - 2 else held
        return held

    rule = torch.optim.Adam(weights, lr=_RATE)
    for step in range(steps):
        rule.param_groups[0]["lr"] = _RATE * (0.5 + 0.5 * math.cos(math.pi * step / steps)) + 1e-5
        off = outputs() - goal
        square = (off**2).mean(dim=(1, 2))
        if step < steps // 2:
            loss = square.sum()
        else:
            loss = (square.sqrt() + ((off.abs() + 1e-9) ** _POWER).mean(dim=(1, 2)) ** (1 / _POWER)).sum()
        rule.zero_grad()
        loss.backward()
        rule.step()
    with torch.no_grad():
        order = (outputs() - goal).abs().amax(dim=(1, 2)).argsort().tolist()
    arrays = [one.detach().cpu().double().numpy() for one in weights]
    return [[(w[k].T, b[k, 0]) for w, b in zip(arrays[::2], arrays[1::2], strict=True)] for k in order]


# The largest error made smaller, without torch.


def _activations(layers: Layers, x: Floats) -> list[Floats]:
    """What goes into each layer, and what comes out of the last one."""
    held = [x]
    for k, (weight, bias) in enumerate(layers):
        x = x @ weight.T + bias
        x = np.maximum(x, 0) if k < len(layers) - 1 else x
        held.append(x)
    return held


def errors(layers: Layers, x: Floats, goal: Floats) -> Floats:
    """For each point the largest error of all outputs."""
    return np.asarray(np.abs(_activations(layers, x)[-1] - goal).max(axis=1))


def balanced(layers: Layers, x: Floats) -> Layers:
    """The same network with hidden neurons whose largest activation at `x` is 1; those that are never on go."""
    layers, held = list(layers), x
    for k in range(len(layers) - 1):
        (weight, bias), (after, shift) = layers[k : k + 2]
        held = np.maximum(held @ weight.T + bias, 0)
        top = held.max(axis=0)
        on = top > 1e-9 * top.max(initial=1e-9)
        on[0] |= not on.any()  # no layer is empty
        top, held = np.where(on, top, 1.0)[on], held[:, on]
        top = np.where(top > 0, top, 1.0)
        layers[k] = weight[on] / top[:, None], bias[on] / top
        layers[k + 1] = after[:, on] * top, shift
        held = held / top
    return layers


def _slopes(layers: Layers, held: list[Floats], at: NDArray[np.int64], j: int) -> Floats:
    """How output `j` changes with each weight that is not 0, and with each bias, at some points."""
    found: list[Floats] = []
    back = np.zeros((len(at), len(layers[-1][1])))
    back[:, j] = 1
    for k in reversed(range(len(layers))):
        weight = layers[k][0]
        row, column = np.nonzero(weight)
        found.insert(0, np.hstack([back[:, row] * held[k][at][:, column], back]))
        back = (back @ weight) * (held[k][at] > 0)
    return np.hstack(found)


def _moved(layers: Layers, step: Floats) -> Layers:
    """The network with its weights changed by a step, in the order of `_slopes`."""
    found, start = [], 0
    for weight, bias in layers:
        weight, (row, column) = weight.copy(), np.nonzero(weight)
        weight[row, column] += step[start : start + len(row)]
        start += len(row) + len(bias)
        found.append((weight, bias + step[start - len(bias) : start]))
    return found


def polish(layers: Layers, x: Floats, goal: Floats, work: Effort, enough: float = SAFE) -> tuple[Layers, float]:
    """The network with a smaller largest error at `x`, and that error; it ends early where `enough` is out of reach."""
    best, box, history = float(errors(layers, x, goal).max()), _BOX, list[float]()
    count = sum(int(np.count_nonzero(weight)) + len(bias) for weight, bias in layers)
    for step in range(_STEPS):
        history.append(best)
        if best <= enough or box < 1e-6 or not work.take(count):
            break
        if step >= 6 and (history[-6] - best) / 5 * (_STEPS - step) < best - enough:
            break
        held = _activations(layers, x)
        off = goal - held[-1]
        worst = np.flatnonzero(np.abs(off).ravel() > 0.6 * best)
        worst = worst[np.argsort(-np.abs(off).ravel()[worst])[: 3 * count]]
        at, output = np.divmod(worst, goal.shape[1])
        rows = np.empty((len(worst), count))
        for j in np.unique(output):
            rows[output == j] = _slopes(layers, held, at[output == j], int(j))
        found = chebyshev(rows, off[at, output], box)
        if found is None:
            box /= 4
            continue
        move = found[0]
        for _ in range(3):
            moved = _moved(layers, move)
            error = float(errors(moved, x, goal).max())
            if error < best:
                layers, best, box = moved, error, box * 1.3
                break
            move, box = move / 3, box / 2
    return layers, best


def fewer(layers: Layers, sample: Goals, work: Effort) -> list[Layers]:
    """The network with fewer and fewer neurons, as long as floats see it within the tolerance; the smallest last."""
    place, goal = sample.place, sample.goal
    used = np.sort(np.random.default_rng(2).permutation(len(place))[:_USED])
    used = np.union1d(used, np.arange(max(0, len(place) - 50), len(place)))  # the last ones were added

    def fitted(trial: Layers) -> Layers | None:
        nonlocal used
        for _ in range(4):
            trial, error = polish(trial, place[used], goal[used], work, 0.98 * SAFE)
            off = errors(trial, place, goal)
            if error > SAFE or off.max() <= SAFE:
                return trial if off.max() <= SAFE else None
            used = np.union1d(used, np.argsort(-off)[:300])
        return None

    first = fitted(balanced(layers, place[used]))
    if first is None:
        return []
    layers, found, failed = first, [first], 0
    many = max(1, sum(len(bias) for _, bias in layers[:-1]) // 8)
    while failed < 3 and work.left > 0:
        order = _least(layers, place[used][::3], goal[used][::3])
        chosen = order[:many] if many > 1 else order[failed : failed + 1]
        trial = fitted(balanced(_without(layers, chosen, place[used]), place[used])) if chosen else None
        if trial is not None:
            layers, failed = trial, 0
            found.append(trial)
        elif many > 1:
            many //= 2
        else:
            failed += 1
    return found


def _least(layers: Layers, x: Floats, goal: Floats) -> list[tuple[int, int]]:
    """Layer and number of each hidden neuron, the least needed first; one of each layer stays."""
    found = []
    for k, (_, bias) in enumerate(layers[:-1]):
        found += [(float(errors(_without(layers, [(k, i)], x), x, goal).max()), k, i) for i in range(len(bias))]
    order, left = list[tuple[int, int]](), [len(bias) for _, bias in layers[:-1]]
    for _, k, i in sorted(found):
        left[k] -= 1
        if left[k] > 0:
            order.append((k, i))
    return order


def _without(layers: Layers, neurons: list[tuple[int, int]], x: Floats) -> Layers:
    """The network without some neurons; the mean of each is added where it was read."""
    held, found = _activations(layers, x), list(layers)
    for k in {k for k, _ in neurons}:
        gone = np.array([i for l, i in neurons if l == k])
        (weight, bias), (after, shift) = found[k : k + 2]
        shift = shift + after[:, gone] @ held[k + 1][:, gone].mean(axis=0)
        kept = np.setdiff1d(np.arange(len(bias)), gone)
        found[k : k + 2] = [(weight[kept], bias[kept]), (after[:, kept], shift)]
    return found
