"""Guesses what the neurons above the first hidden layer do: gates, carries, zeros, from values in floats.

A guess is a hint and no more: a wrong one makes a proof that the checker refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import ratio_view
from cpwl.function import CPWL
from cpwl.geometry.generators import generators
from cpwl.geometry.probe import Probe
from cpwl.network import Network
from cpwl.proofs.no_proof import NotRecognised
from cpwl.proofs.provers.zero_plane import exact_law, exactly_on, laws_at

__all__ = ["Role", "guess_roles", "points_in", "role_documents"]

Floats = NDArray[np.float64]
_CLOSE = 1e-7  # of the size of the terms: a sum this small may be 0
_MOST = 6000  # points
_BLOCK = 64  # planes at once
_PLACES = 8  # at which planes that are equal in floats are told apart


@dataclass(frozen=True, slots=True)
class Role:
    """A gate on a plane (its number + 1, with the sign of the side where it is open), a carry, or a zero."""

    kind: str
    side: int = 0


def role_documents(
    roles: list[list[Role]], vectors: list[list[list[int] | None]], within: Sequence[int]
) -> list[list[dict[str, Any]]]:
    """The roles as a proof writes them: of gates with a vector everywhere, of others within rows of the domain."""
    return [
        [_document(role, vector, within) for role, vector in zip(layer, some, strict=True)]
        for layer, some in zip(roles, vectors, strict=True)
    ]


def _document(role: Role, vector: list[int] | None, within: Sequence[int]) -> dict[str, Any]:
    where = {"within": list(within)} if vector is None else {"along": vector}
    return {role.kind: role.side if role.kind == "gate" else True} | where


def points_in(p: CPWL) -> Floats:
    """Some points of the domain: corners and inner points of the pieces, and far ones where they are unbounded."""
    if p.mesh is not None:
        corner, k = np.eye(p.dim + 1), p.dim + 1
        uneven = np.arange(2.0, k + 2.0) / np.arange(2.0, k + 2.0).sum()
        weights = np.concatenate([uneven[None], 0.9 * corner + 0.1 / k, 0.5 * corner + 0.5 * uneven])
        inner = np.einsum("wi,qij->wqj", weights, p.mesh.points[p.mesh.simplices]).reshape(-1, p.dim)
        return _thinned(np.concatenate([p.mesh.points[np.unique(p.mesh.simplices)], inner]))
    probe, found, spanned = Probe(1e-9), [], generators(p.polyhedra)
    for i, body in enumerate(p.polyhedra):
        places = spanned.places[spanned.member[spanned.start[i] : spanned.start[i + 1]]]
        if len(places):
            at, t = places[:, :-1], places[:, -1]
            finite = ratio_view(at[t != 0], t[t != 0][:, None])
            rays = at[t == 0].astype(np.float64)
            rays /= np.abs(rays).max(axis=1, keepdims=True)
            found += [finite, finite.mean(axis=0, keepdims=True)]
            found += [finite.mean(axis=0) + s * (rays + rays.mean(axis=0)) for s in (1.0, 30.0) if len(rays)]
        elif (x := probe.interior(body)) is not None:
            found.append(np.asarray(x, dtype=np.float64)[None])
    return _thinned(np.concatenate(found)) if found else np.zeros((0, p.dim))


def _thinned(points: Floats) -> Floats:
    """Not too many of the points, from all over the domain."""
    if len(points) <= _MOST:
        return points
    chosen = np.random.default_rng(0).choice(len(points), _MOST, replace=False)
    return points[np.sort(chosen)]


def guess_roles(
    network: Network, planes: NDArray[np.object_], points: Floats, *, quick: bool = False
) -> tuple[list[list[Role]], NDArray[np.object_]]:
    """A role for each neuron above the first hidden layer, and all planes: those given, where gates may be, and others.

    A `quick` guess does not care what a neuron is outside the domain, where nothing inside speaks against its plane.
    Raises `NotRecognised` for a neuron whose sum changes its sign, but not at a plane.
    """
    if len(network.layers) < 3:
        return [], planes
    inside = _sums(network, points)
    unit = ratio_view(planes, np.abs(planes[:, :-1]).max(axis=1, initial=1)[:, None])
    near, far = _flatness(network, unit, points)
    number = {tuple(row): k + 1 for k, row in enumerate(planes.tolist())}
    roles: list[list[Role]] = [[] for _ in inside]
    for layer, (value, size) in enumerate(inside):
        for i in range(value.shape[1]):
            relative = value[:, i] / size[:, i]
            if (relative >= -_CLOSE).all() or (relative <= _CLOSE).all():
                roles[layer].append(Role("carry" if (relative >= -_CLOSE).all() else "zero"))
                continue
            found = _gate(relative, unit, near[layer][:, i], far[layer][:, i], points)
            plane = None if found is None else _told_apart(network, layer, i, planes, unit, found.number, points)
            if found is None or max(found.doubt[:1] if quick else found.doubt) > _CLOSE:
                laws, at = laws_at(network, layer + 1, i, points)
                flat = _flatness(network, laws, points)
                other = _gate(relative, laws, flat[0][layer][:, i], flat[1][layer][:, i], points)
                clean = other is not None and max(other.doubt) <= _CLOSE
                if other is not None and (found is None or clean or other.doubt[0] < found.doubt[0]):
                    found, plane = other, exact_law(network, layer + 1, i, points[at[other.number]])
            if found is None or plane is None:
                raise NotRecognised(f"layer {layer + 1}, neuron {i} changes its sign, and not at one plane")
            roles[layer].append(Role("gate", found.sign * number.setdefault(plane, len(number) + 1)))
    return roles, np.array(list(number), dtype=object).reshape(-1, planes.shape[1])


def _told_apart(
    network: Network,
    layer: int,
    neuron: int,
    planes: NDArray[np.object_],
    unit: Floats,
    number: int,
    points: Floats,
) -> tuple[int, ...]:
    """The plane of this number, or one that floats take for the same, on which the neuron is 0 exactly."""
    apart = np.abs(unit - unit[number]).max(axis=1)
    twins = np.flatnonzero(apart <= _CLOSE * max(1.0, np.abs(points).max()))
    if len(twins) > 1:
        places = _on_planes(unit[[number]], points)[0, :_PLACES]
        number = twins[exactly_on(network, layer + 1, neuron, planes[twins], places)]
    return tuple(planes[number].tolist())


@dataclass(frozen=True, slots=True)
class _Gate:
    """A plane and the sign it has where a neuron is positive; `doubt` is small if nothing speaks against it.

    First, what does so at points of the domain; then, how far from 0 the neuron is on the plane far outside. That says
    less: on a bounded domain a neuron may be anything there.
    """

    number: int
    sign: int
    doubt: tuple[float, float]


def _gate(relative: Floats, unit: Floats, near: Floats, far: Floats, points: Floats) -> _Gate | None:
    """The best of the planes on which the neuron is 0: it has one sign on each side, and is 0 on it far away, too."""
    clear = np.abs(relative) > _CLOSE
    best: _Gate | None = None
    for k in np.flatnonzero(near < _CLOSE):
        sides = np.sign(points[clear] @ unit[k, :-1] + unit[k, -1])
        for sign in (1, -1):
            against = float(np.maximum(0.0, -sign * sides * relative[clear]).sum())
            doubt = (against, float(far[k]))
            if best is None or doubt < best.doubt:
                best = _Gate(int(k), sign, doubt)
    return best


def _flatness(network: Network, unit: Floats, points: Floats) -> tuple[list[Floats], list[Floats]]:
    """How far from 0 the neurons of each layer are on the planes ``(planes, neurons)``: in the domain, and far away."""
    widths = [weight.shape[0] for weight, _ in network.layers[1:-1]]
    found = tuple([np.zeros((len(unit), w)) for w in widths] for _ in range(2))
    middle = points.mean(axis=0)
    for first in range(0, len(unit), _BLOCK):
        block = unit[first : first + _BLOCK]
        for flat, cloud in zip(found, (points, middle + 1000.0 * (points - middle)), strict=True):
            on = _on_planes(block, cloud)
            for layer, (value, size) in enumerate(_sums(network, on.reshape(-1, network.inputs))):
                shape = (*on.shape[:2], value.shape[1])
                flat[layer][first : first + _BLOCK] = (np.abs(value) / size).reshape(shape).max(axis=1)
    return found[0], found[1]


def _sums(network: Network, points: Floats) -> list[tuple[Floats, Floats]]:
    """What the neurons above the first hidden layer read, and the sizes of the terms, layer by layer."""
    found = []
    values = points
    for layer, (weight, bias) in enumerate(network.layers[:-1]):
        sums = np.asarray(weight @ values.T).T + bias
        if layer:
            size = np.asarray(abs(weight) @ np.abs(values).T).T + np.abs(bias)
            # Where all terms are about 0 a sum says nothing.
            found.append((sums, np.maximum(size, 1e-6 * size.max(axis=0)) + (size.max(axis=0) == 0)))
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
