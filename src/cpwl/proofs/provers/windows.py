"""Proofs of kind "windows": which clamps are compared with each other, and which is the largest on each piece.

The classes are read off the layers that take maxima; the largest clamp of a side is looked for in the middle of each
piece. All else is found out and decided by the stand-alone checker. See docs/windows.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL
from cpwl.function.sample import inner_points
from cpwl.network.network import Network, exact_layers
from cpwl.proofs.document import proof_head
from cpwl.proofs.no_proof import NotRecognised
from cpwl.proofs.question import Proposal, Question

__all__ = ["propose_windows"]

_CLOSE = 1e-9  # of the size of the terms: what is nearer to the largest is looked at exactly
_BLOCK = 2**22  # activations held at once
Rows = list[dict[int, Any]]


def propose_windows(question: Question) -> Iterator[Proposal]:
    """The one proposal for a network of windows; `NotRecognised` for other networks."""
    network = question.network
    if len(network.layers) < 4:
        raise NotRecognised("windows have three hidden layers or more")
    sides = _sides(network)
    middles = _middles(question.p)
    named = np.stack([_largest(network, middles, sorted(k for own in side for k in own)) for side in sides], axis=1)
    document = proof_head("windows", question.p.dim) | {"sides": sides, "pieces": named.tolist()}
    yield Proposal(Fraction(0), document)


def _sides(network: Network) -> list[list[list[int]]]:
    """The classes of each side, in the order in which they are compared."""
    layers = exact_layers(network)
    above = [_rows(weight) for weight, _ in layers[3:-1]]
    if any(bias.any() for _, bias in layers[3:-1]):
        raise NotRecognised("a layer of maxima has a bias")
    groups = _groups(above[-1]) if above else _by_factors(layers[-1][0])
    sides = [[group] for group in groups]
    for rows in reversed(above):
        sides = [[below for group in side for below in _below(rows, group)] for side in sides]
    return sides


def _rows(weight: Any) -> Rows:
    rows: Rows = [{} for _ in range(weight.shape[0])]
    for i, j, value in zip(weight.rows.tolist(), weight.indices.tolist(), weight.data, strict=True):
        rows[i][j] = value
    return rows


def _groups(rows: Rows) -> list[list[int]]:
    """Neurons ``s(a - b)`` with the neuron `b` after them, and those that stand alone."""
    groups, k = [], 0
    while k < len(rows):
        size = 2 if any(v < 0 for v in rows[k].values()) else 1
        groups.append(list(range(k, min(k + size, len(rows)))))
        k += size
    return groups


def _by_factors(weight: Any) -> list[list[int]]:
    """Neurons that all outputs read with the same factors."""
    factors: dict[tuple[Any, ...], list[int]] = {}
    for j, column in enumerate(weight.toarray().T):
        factors.setdefault(tuple(column), []).append(j)
    return list(factors.values())


def _below(rows: Rows, group: list[int]) -> Iterator[list[int]]:
    """What a group compares or carries, in the layer below."""
    for k in group:
        yield sorted(j for j, v in rows[k].items() if v > 0)


def _middles(p: CPWL) -> NDArray[Any]:
    """A point of each piece."""
    if p.mesh is not None:
        corners = p.mesh.corners[p.mesh.simplices]
        size = corners.shape[1]
        whole = fraction_array(corners[..., :-1]) / corners[..., -1:]
        return np.asarray(whole.sum(axis=1) / size, dtype=object)
    found = inner_points(p, range(p.num_pieces))
    if len(found) < p.num_pieces:
        raise NotRecognised("a piece has no interior")
    return np.stack([fraction_array(found[i]) for i in range(p.num_pieces)])


def _largest(network: Network, points: NDArray[Any], own: list[int]) -> NDArray[np.int64]:
    """At each point the clamp that reads most: floats propose, rationals decide what is close."""
    result = np.empty(len(points), dtype=np.int64)
    x = points.astype(np.float64).T
    step = max(1, _BLOCK // max(1, len(own)))
    weight, bias = network.layers[2]
    weight, bias = weight[own], bias[own]
    for start in range(0, len(points), step):
        value = x[:, start : start + step]
        for first, constant in network.layers[:2]:
            value = np.maximum(first @ value + constant[:, None], 0.0)
        reads = weight @ value + bias[:, None]
        size = abs(weight) @ value + np.abs(bias)[:, None]
        best = np.argmax(reads, axis=0)
        columns = np.arange(reads.shape[1])
        result[start : start + step] = np.array(own)[best]
        close = reads >= reads[best, columns] - _CLOSE * (size + size[best, columns])
        for column in np.flatnonzero(close.sum(axis=0) > 1):
            several = [own[k] for k in np.flatnonzero(close[:, column])]
            result[start + column] = _exactly(network, points[start + column], several)
    return result


def _exactly(network: Network, point: NDArray[Any], several: list[int]) -> int:
    """The clamp, of several, that reads most."""
    value = point
    layers = exact_layers(network)
    zero = Fraction(0)
    for weight, bias in layers[:2]:
        value = np.array([max(zero, v) for v in weight @ value + bias], dtype=object)
    reads = layers[2][0].take_rows(several) @ value + layers[2][1][several]
    return several[int(np.argmax(reads))]
