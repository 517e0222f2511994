"""Planes on which a neuron may change its sign: where one of its own affine laws is 0."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.network import Network
from cpwl.network.network import exact_layers

__all__ = ["exact_law", "exactly_on", "laws_at"]

_MOST = 60  # laws to try
_DIGITS = 9


def laws_at(
    network: Network, layer: int, neuron: int, points: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The laws ``(a, c)`` that the neuron follows at the points, largest slope 1 in size; and a point for each.

    A gate is 0 on all of its plane, and so is the law of any of its linear regions that touch the plane. `layer` counts
    affine maps from 0.
    """
    clearest = np.argsort(-_clearance(network, layer, points), kind="stable")
    slopes, offset = _laws(network, layer, neuron, points[clearest])
    size = np.abs(slopes).max(axis=1)
    bent = np.flatnonzero(size > 1e-9 * size.max(initial=0.0))
    forms = np.column_stack([slopes, offset])[bent] / size[bent, None]
    forms *= np.sign(forms[np.arange(len(forms)), np.argmax(np.abs(forms[:, :-1]) > 1e-9, axis=1)])[:, None]
    _, first, count = np.unique(np.round(forms, _DIGITS), axis=0, return_index=True, return_counts=True)
    chosen = first[np.argsort(-count, kind="stable")[:_MOST]]
    return forms[chosen], clearest[bent[chosen]]


def _clearance(network: Network, layer: int, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """How clear the signs are at each point that decide which laws neurons follow: of the sums, relative to terms."""
    values, least = points.T, np.full(len(points), np.inf)
    for weight, bias in network.layers[:layer]:
        terms = abs(weight) @ np.abs(values) + np.abs(bias)[:, None]
        values = weight @ values + bias[:, None]
        least = np.minimum(least, (np.abs(values) / np.maximum(terms, np.finfo(np.float64).tiny)).min(axis=0))
        values = np.maximum(values, 0.0)
    return least


def _laws(
    network: Network, layer: int, neuron: int, points: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Slopes and offset of what the neuron reads, near each point."""
    values, active = points.T, []
    for weight, bias in network.layers[:layer]:
        values = weight @ values + bias[:, None]
        active.append(values > 0)
        values = np.maximum(values, 0.0)
    weight, bias = network.layers[layer]
    row = weight[[neuron]]
    total = np.asarray((row @ values).ravel()) + bias[neuron]
    back = np.repeat(row.toarray(), len(points), axis=0)
    for k in range(layer - 1, -1, -1):
        back = np.asarray((network.layers[k][0].T @ (back * active[k].T).T).T)
    return back, total - (back * points).sum(axis=1)


def exact_law(network: Network, layer: int, neuron: int, point: NDArray[np.float64]) -> tuple[int, ...] | None:
    """The law at one point, as integers without a common divisor, first slope positive; None if it is constant."""
    x = fraction_array(point)
    total, active = _exact_sum(network, layer, neuron, x)
    layers = exact_layers(network)
    back = layers[layer][0].take_rows(np.array([neuron])).toarray()[0]
    for k in range(layer - 1, -1, -1):
        which = np.flatnonzero(active[k] & (back != 0))
        back = back[which].dot(layers[k][0].take_rows(which).toarray()) if len(which) else np.zeros(1, dtype=object)
    if not back.any():
        return None
    form = [*back, total - (back * x).sum()]
    scale = math.lcm(*(v.denominator for v in form))
    whole = [int(v * scale) for v in form]
    divisor = math.gcd(*whole) * (1 if next(v for v in whole if v) > 0 else -1)
    return tuple(v // divisor for v in whole)


def _exact_sum(
    network: Network, layer: int, neuron: int, x: NDArray[np.object_]
) -> tuple[Any, list[NDArray[np.bool_]]]:
    """What the neuron reads at a rational point, and which neurons of the layers below are on there."""
    values, active = x, []
    layers = exact_layers(network)
    for weight, bias in layers[:layer]:
        values = weight @ values + bias
        active.append(np.asarray(values > 0, dtype=bool))
        values = np.where(active[-1], values, 0)
    weight, bias = layers[layer]
    return (weight.take_rows(np.array([neuron])) @ values)[0] + bias[neuron], active


def exactly_on(
    network: Network, layer: int, neuron: int, planes: NDArray[np.object_], places: NDArray[np.float64]
) -> int:
    """Of planes that floats cannot tell apart, the number of the one on which the neuron is 0 at most places.

    Each place is moved onto the plane, exactly, before the neuron is looked at.
    """
    zeros = []
    for plane in planes:
        k = int(np.argmax(np.abs(plane[:-1])))
        zeros.append(0)
        for place in places:
            x = fraction_array(place)
            x[k] -= Fraction(plane[:-1].dot(x) + plane[-1]) / plane[k]
            zeros[-1] += _exact_sum(network, layer, neuron, x)[0] == 0
    return int(np.argmax(zeros))
