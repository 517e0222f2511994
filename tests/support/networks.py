"""The regions of random networks, exactly."""

from __future__ import annotations

import numpy as np

import cpwl
from cpwl import CPWL

__all__ = ["regions", "small_regions"]


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


def _regions(inputs, widths, layer, box) -> CPWL:
    layers, size = [], inputs
    for width in widths:
        layers.append(layer(width, size))
        size = width
    domain = None if box is None else (np.vstack([np.eye(inputs), -np.eye(inputs)]), np.full(2 * inputs, box))
    return cpwl.extract(cpwl.Network(layers), exact=True, domain=domain)
