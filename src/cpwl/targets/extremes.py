"""The least and the largest value that each neuron reads on a bounded domain, exactly, and where.

Every neuron is affine on each linear region of the network, and the regions are bounded: its extreme values are
attained at their corners. Floats with a running error bound say at which corners they can be; there the network is
evaluated in rationals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.function.cpwl import CPWL
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import ExactLayer, Network, exact_layers
from cpwl.regions.extract import extract
from cpwl.targets.c.tree import cell_of

__all__ = ["Extreme", "corner_points", "extremes"]

Floats: TypeAlias = NDArray[np.float64]
_UNIT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The range of what a neuron reads, or of an output, and points where its ends are attained."""

    low: Fraction
    high: Fraction
    lowest: tuple[Fraction, ...]
    highest: tuple[Fraction, ...]


def extremes(network: Network, domain: Polyhedron, max_regions: int | None = None) -> list[list[Extreme]] | None:
    """For each layer, the last one included, the exact range of each neuron; None beyond that many regions.

    >>> from cpwl.geometry.polyhedra import box_polyhedron
    >>> network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> [(e.low, e.high) for e in extremes(network, box_polyhedron((-1, 2), 1))[1]]
    [(Fraction(0, 1), Fraction(2, 1))]
    """
    p = extract(network, domain=domain, exact=True, max_regions=max_regions)
    if not p.complete:
        return None
    places = corner_points(p)
    points = np.array([[Fraction(v, x[-1]) for v in x[:-1]] for x in places.tolist()], dtype=object)
    candidates = _candidates(network, points)
    chosen = np.unique(np.concatenate([np.flatnonzero(mask) for mask in candidates]))
    values = _exact_values(exact_layers(network), points[chosen])
    return [[_extreme(row, points[chosen]) for row in layer] for layer in values]


def corner_points(p: CPWL) -> NDArray[np.object_]:
    """The corners of all pieces, integer rows ``(x, 1) * w``; `InputError` if a piece is not bounded."""
    found = generators(p.polyhedra)
    places = {tuple(row) for row in found.places[np.unique(found.member)].tolist()}
    for i in np.flatnonzero(~found.known):
        rows = p.polyhedra[int(i)].integer()
        cell = cell_of([(*row[:-1], -row[-1]) for row in rows.tolist()], p.dim)
        places |= {place for place, _ in cell.rays} | {(*line[:-1], 0) for line in cell.lines}
    if any(place[-1] == 0 for place in places):
        raise InputError("the domain is not bounded: give a bounded one, such as `box=(-1, 1)`")
    return np.array(sorted(places), dtype=object).reshape(-1, p.dim + 1)


def _candidates(network: Network, points: NDArray[np.object_]) -> list[NDArray[np.bool_]]:
    """For each layer the points at which some neuron of it may be least or largest."""
    h = points.astype(np.float64).T
    error = _UNIT * np.abs(h)
    masks = []
    for i, (weight, bias) in enumerate(network.layers):
        if i:
            h = np.maximum(h, 0.0)
        size = abs(weight) @ (np.abs(h) + error) + np.abs(bias)[:, None]
        terms = np.diff(weight.indptr)[:, None] + 3  # products, sums, and weights that are rounded themselves
        error = abs(weight) @ error + 2 * terms * _UNIT * size
        h = weight @ h + bias[:, None]
        high = h + error >= (h - error).max(axis=1, keepdims=True)
        low = h - error <= (h + error).min(axis=1, keepdims=True)
        masks.append(np.asarray((high | low).any(axis=0)))
    return masks


def _exact_values(layers: tuple[ExactLayer, ...], points: NDArray[np.object_]) -> list[NDArray[np.object_]]:
    h: Any = points.T
    values = []
    for i, (weight, bias) in enumerate(layers):
        if i:
            h = np.where(h > 0, h, 0)
        h = weight @ h + bias[:, None]
        values.append(h)
    return values


def _extreme(row: NDArray[np.object_], points: NDArray[np.object_]) -> Extreme:
    least, most = int(np.argmin(row)), int(np.argmax(row))
    low, high = tuple(map(Fraction, points[least])), tuple(map(Fraction, points[most]))
    return Extreme(Fraction(row[least]), Fraction(row[most]), low, high)
