"""The regions of random networks, exactly."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import cpwl
from cpwl import CPWL

__all__ = ["regions", "small_regions", "trained_regions"]


def regions(inputs, widths, outputs=1, seed=0, box=None) -> CPWL:
    """Of a network with weights of 24 bits, on a box or everywhere."""
    rng = np.random.default_rng(seed)

    def layer(width, size):
        weights = rng.standard_normal((width, size)) / np.sqrt(size)
        return weights.astype(np.float32).astype(float), rng.standard_normal(width).astype(np.float32) / 2.0

    return _regions(inputs, (*widths, outputs), layer, box)


def small_regions(inputs, widths, outputs=1, seed=0, box=None) -> CPWL:
    """Of a network whose weights are small multiples of 1/4 and 1/8: many hyperplanes meet."""
    rng = np.random.default_rng(seed)

    def layer(width, size):
        return rng.integers(-8, 9, (width, size)) / 4, rng.integers(-8, 9, width) / 8

    return _regions(inputs, (*widths, outputs), layer, box)


def trained_regions(inputs, widths, outputs=1, seed=0, box=None) -> CPWL:
    """Of a network that was fitted to a smooth function by gradient descent, with weights of 24 bits."""
    rng = np.random.default_rng(seed)
    sizes = (inputs, *widths, outputs)
    weights = [rng.standard_normal((m, n)) * np.sqrt(2 / n) for n, m in pairwise(sizes)]
    biases = [rng.standard_normal(m) / 10 for m in sizes[1:]]
    x = rng.uniform(-2, 2, (256, inputs))
    y = np.stack([np.cos(x.sum(axis=1) + k) + x[:, 0] * x[:, -1] / 4 for k in range(outputs)], axis=1)
    for _ in range(400):
        values = [x]
        for W, b in zip(weights[:-1], biases[:-1], strict=True):
            values.append(np.maximum(values[-1] @ W.T + b, 0))
        back = 2 * (values[-1] @ weights[-1].T + biases[-1] - y) / len(x)
        for k in range(len(weights))[::-1]:
            dW, db = back.T @ values[k], back.sum(axis=0)
            back = (back @ weights[k]) * (values[k] > 0)
            weights[k] -= 0.05 * dW
            biases[k] -= 0.05 * db
    layers = iter(
        [(W.astype(np.float32).astype(float), b.astype(np.float32)) for W, b in zip(weights, biases, strict=True)]
    )
    return _regions(inputs, sizes[1:], lambda *_: next(layers), box)


def _regions(inputs, widths, layer, box) -> CPWL:
    layers, size = [], inputs
    for width in widths:
        layers.append(layer(width, size))
        size = width
    domain = None if box is None else (np.vstack([np.eye(inputs), -np.eye(inputs)]), np.full(2 * inputs, box))
    return cpwl.extract(cpwl.Network(layers), exact=True, domain=domain)
