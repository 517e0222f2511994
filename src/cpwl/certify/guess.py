"""Guesses what the neurons above the first hidden layer do: gates, carries, zeros, from values in floats.

A guess is a hint and no more: a wrong one makes a proof that the checker refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.certify.recover import NotRecognised
from cpwl.certify.zero_plane import zero_plane
from cpwl.exact.integers import ratio_view
from cpwl.function import CPWL
from cpwl.geometry.probe import Probe
from cpwl.geometry.vertices import corners
from cpwl.network import Network

__all__ = ["Role", "guess_roles", "points_in", "role_documents"]

Floats = NDArray[np.float64]
_CLOSE = 1e-7  # of the size of the terms: a sum this small may be 0
_MOST = 6000  # points
_BLOCK = 64  # planes at once


@dataclass(frozen=True, slots=True)
class Role:
    """A gate on a plane (its number + 1, with the sign of the side where it is open), a carry, or a zero."""

    kind: str
    side: int = 0


def role_documents(roles: list[list[Role]], within: Sequence[int]) -> list[list[dict[str, Any]]]:
    """The roles as a proof writes them, shown within those rows of the domain."""
    return [[{r.kind: r.side if r.kind == "gate" else True, "within": list(within)} for r in layer] for layer in roles]


def points_in(p: CPWL) -> Floats:
    """Some points of the domain: corners and inner points of the pieces, and far ones where they are unbounded."""
    if p.mesh is not None:
        corner, k = np.eye(p.dim + 1), p.dim + 1
        uneven = np.arange(2.0, k + 2.0) / np.arange(2.0, k + 2.0).sum()
        weights = np.concatenate([uneven[None], 0.9 * corner + 0.1 / k, 0.5 * corner + 0.5 * uneven])
        inner = np.einsum("wi,qij->wqj", weights, p.mesh.points[p.mesh.simplices]).reshape(-1, p.dim)
        return np.concatenate([p.mesh.points[np.unique(p.mesh.simplices)], inner])[:_MOST]
    probe, found = Probe(1e-9), []
    for body in p.polyhedra:
        extreme = corners(body.integer())
        if extreme is not None:
            at, t = extreme.places[:, :-1], extreme.places[:, -1]
            finite = ratio_view(at[t != 0], t[t != 0][:, None])
            rays = at[t == 0].astype(np.float64)
            rays /= np.abs(rays).max(axis=1, keepdims=True)
            found += [finite, finite.mean(axis=0, keepdims=True)]
            found += [finite.mean(axis=0) + s * (rays + rays.mean(axis=0)) for s in (1.0, 30.0) if len(rays)]
        elif (x := probe.interior(body)) is not None:
            found.append(np.asarray(x, dtype=np.float64)[None])
    return np.concatenate(found)[:_MOST] if found else np.zeros((0, p.dim))


def guess_roles(
    network: Network, planes: NDArray[np.object_], points: Floats
) -> tuple[list[list[Role]], NDArray[np.object_]]:
    """A role for each neuron above the first hidden layer, and all planes: those given, where gates may be, and others.

    Raises `NotRecognised` for a neuron whose sum changes its sign, but not at a plane.
    """
    if len(network.layers) < 3:
        return [], planes
    unit = ratio_view(planes, np.abs(planes[:, :-1]).max(axis=1)[:, None])
    inside = _sums(network, points)
    flat = [np.full((len(unit), size.shape[1]), np.inf) for _, size in inside]
    for first in range(0, len(unit), _BLOCK):
        on = _on_planes(unit[first : first + _BLOCK], points)
        for layer, (value, size) in enumerate(_sums(network, on.reshape(-1, network.inputs))):
            shape = (*on.shape[:2], value.shape[1])
            flat[layer][first : first + _BLOCK] = (np.abs(value) / size).reshape(shape).max(axis=1)
    number = {tuple(row): k + 1 for k, row in enumerate(planes.tolist())}
    roles: list[list[Role]] = [[] for _ in inside]
    for layer, (value, size) in enumerate(inside):
        for i in range(value.shape[1]):
            relative = value[:, i] / size[:, i]
            role = _role(relative, flat[layer][:, i], unit, points)
            if role is None:
                plane = zero_plane(network, layer + 1, i, points, relative)
                if plane is None:
                    raise NotRecognised(f"layer {layer + 1}, neuron {i} changes its sign, and not at one plane")
                form = ratio_view(np.array(plane, dtype=object), np.array(max(map(abs, plane[:-1])), dtype=object))
                side = 1 if (points @ form[:-1] + form[-1]) @ relative > 0 else -1
                role = Role("gate", side * number.setdefault(plane, len(number) + 1))
            roles[layer].append(role)
    return roles, np.array(list(number), dtype=object).reshape(-1, planes.shape[1])


def _role(relative: Floats, flat: Floats, unit: Floats, points: Floats) -> Role | None:
    """What values at points say, and how far from 0 the neuron is on each plane; None for a gate on another plane."""
    if (relative >= -_CLOSE).all():
        return Role("carry")
    if (relative <= _CLOSE).all():
        return Role("zero")
    best, least = None, np.inf
    clear = np.abs(relative) > _CLOSE
    for k in np.flatnonzero(flat < _CLOSE):
        sides = np.sign(points[clear] @ unit[k, :-1] + unit[k, -1])
        for side in (1, -1):
            wrong = np.maximum(0.0, -side * sides * relative[clear]).sum()
            if wrong < least:
                best, least = Role("gate", side * (int(k) + 1)), wrong
    return best


def _sums(network: Network, points: Floats) -> list[tuple[Floats, Floats]]:
    """What the neurons above the first hidden layer read, and the sizes of the terms, layer by layer."""
    found = []
    values = points
    for layer, (weight, bias) in enumerate(network.layers[:-1]):
        sums = np.asarray(weight @ values.T).T + bias
        if layer:
            size = np.asarray(abs(weight) @ np.abs(values).T).T + np.abs(bias)
            found.append((sums, np.where(size == 0, 1.0, size)))
        values = np.maximum(sums, 0.0)
    return found


def _on_planes(unit: Floats, points: Floats) -> Floats:
    """For each plane some points of the domain on it, between points of its two sides: ``(planes, 16 n, n)``.

    Where all points are on one side, it is the nearest ones.
    """
    count = 16 * points.shape[1]
    rng = np.random.default_rng(0)
    sides = points @ unit[:, :-1].T + unit[:, -1]
    found = np.empty((len(unit), count, points.shape[1]))
    for k, side in enumerate(sides.T):
        above, below = np.flatnonzero(side > 0), np.flatnonzero(side < 0)
        if len(above) == 0 or len(below) == 0:
            found[k] = points[np.argsort(np.abs(side))[np.arange(count) % len(points)]]
            continue
        i, j = rng.choice(above, count), rng.choice(below, count)
        share = side[i] / (side[i] - side[j])
        found[k] = points[i] + share[:, None] * (points[j] - points[i])
    return found
