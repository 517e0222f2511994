"""Small ReLU networks fitted to values by gradient descent: many at once, with fixed seeds.

It needs torch, and nothing else of this package: a network that is trained proves nothing (`cpwl.proposals`).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["train"]

Floats = NDArray[np.float64]
Layers = list[tuple[Floats, Floats]]

_RATE = 1e-2  # of Adam, at the start
_POWER = 12  # of the norm that stands for the largest error in the second half


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
